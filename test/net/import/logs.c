/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of NCCL as topologies: short ones whose graphs are worked out by hand, and some of real runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "test/support/networks/imported.h"

#define MB UINT64_C(1000000)
#define GB UINT64_C(1000000000)
#define US ((rlt_time)1000000)

#define AT0 "a:10:11 [0] NCCL INFO "
#define AT1 "a:20:21 [1] NCCL INFO "

static void small_log(void **state)
{
    static const uint32_t forth[] = {0, 1, 2};
    (void)state;
    rlt_topology *t =
        test_import("some output\n"
                    "[1,0]<stdout>:h:1:2 [0] NCCL INFO Channel 00/03 :    0   1   2\n"
                    "h:1:2 [0] NCCL INFO Channel 01/03 :    0   2   1\r\n"
                    "h:1:2 [0] NCCL INFO Channel 02/03 :    0   1   2\n"
                    "0: h:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1\n"
                    "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
                    "h:1:3 [1] NCCL INFO Channel 01 : 1[1c000] -> 0[1a000] via SHM/direct/direct\n"
                    "h:1:4 [2] NCCL INFO Channel 02 : 2[2] -> 0[0] via direct shared memory\n"
                    "h:1:4 [2] NCCL INFO comm 0x1 rank 2 nranks 3 cudaDev 2 busId 3000 - Init COMPLETE\n");
    assert_int_equal(rlt_topology_accelerators(t), 3);
    assert_int_equal(rlt_topology_nodes(t), 3);
    assert_int_equal(rlt_topology_rings(t), 3);
    test_expect_ring(t, 0, forth);
    test_expect_ring(t, 2, forth);
    assert_int_equal(rlt_topology_links(t), 6);
    /* By default 20 GB/s per channel, through host memory 6. */
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 2 * 20 * GB);
    assert_int_equal(test_between(t, "gpu1", "gpu0"), 6 * GB);
    assert_int_equal(test_between(t, "gpu2", "gpu0"), 2 * 6 * GB);
    assert_non_null(strstr(rlt_topology_source(t), "ASSUMED"));
    rlt_topology_free(t);
}

/* Lines that nearly tell that GPU 0 sends to GPU 1 through host memory: only the first and the last do. */
static void nearly_connections(void **state)
{
    static const char *const lines[] = {
        "Channel 00/0 : 0[0] -> 1[1] via SHM/direct",    "Channel 00/0 : 0 -> 1[1] via SHM/direct",
        "Channel 00/0 : 0[0] -> 1 via SHM/direct",       "Channel 00/0 : 0[0 -> 1[1] via SHM/direct",
        "Channel 00/0 : 0[0] - 1[1] via SHM/direct",     "Channel 00/0 : x[0] -> 1[1] via SHM/direct",
        "Channel 00/0 : 0[0] -> x[1] via SHM/direct",    "Channel 00/0 : 0[0] -> 1[1] SHM/direct",
        "Channel 00/0 : 0[0] -> 1[1] via SHN/direct",    "Channel 00/0 : 0[0] -> 0[0] via SHM/direct",
        "Channel 00/0 0[0] -> 1[1] via SHM/direct",      "Channel 999/0 : 0[0] -> 1[1] via SHM/direct",
        "Channel 00/0 : 99999999[0] -> 1[1] via SHM/di", "Channel 00/0 : 0[0] -> 99999999[1] via SHM/di",
        "Channel 00/0 : 7[1] -> 0[0] via SHM/direct",    "Channel 00/0 : 0[0] -> 7[1] via SHM/direct",
        "Channel 00/0 : [0] -> 1[1] via SHM/direct",     "Channel 00/0 : 0] -> 1[1] via SHM/direct",
        "Channel 00/0 : 1[1] -> [0] via SHM/direct",     "Channel 00/0 : 0[0] -> 1] via SHM/direct",
        "Channel 00/0 : 1[1] -> 0[0] via SHM/direct",    "Channel 00/0 : 0[0] -> 1[1] [send] via SHM/direct"};
    const size_t n = sizeof lines / sizeof *lines;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 AT0 "comm 0x1 rank 0 nranks 2 cudaDev 0\n" AT1 "comm 0x2 rank 1 nranks 2 cudaDev 1\n" AT0
                     "Channel 00/01 : 0 1\n" AT0 "%s\n",
                 lines[i]);
        rlt_topology *t = test_import(text);
        bool told = i == 0 || i == n - 1;
        bool back = strstr(lines[i], ": 1[1] -> 0[0]");
        if (test_between(t, "gpu0", "gpu1") != (told ? 6 : 20) * GB ||
            test_between(t, "gpu1", "gpu0") != (back ? 6 : 20) * GB)
            fail_msg("%s: %.0f", lines[i], (double)test_between(t, "gpu0", "gpu1"));
        rlt_topology_free(t);
    }
}

/* Hosts as the log names them, also if rank 0 speaks last. */
static void rank_0_speaks_last(void **state)
{
    (void)state;
    rlt_topology *t = test_import("b:2:5 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0\n"
                                  "a:1:5 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0\n"
                                  "a:1:5 [0] NCCL INFO Channel 00/01 : 0 1\n"
                                  "a:1:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
                                  "a:1:5 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n"
                                  "b:2:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/1\n"
                                  "b:2:5 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/1\n");
    assert_int_equal(rlt_topology_dims(t), 2);
    assert_int_equal(test_between(t, "gpu0", "a nic0 send"), 12500 * MB);
    assert_int_equal(test_between(t, "b nic1 receive", "gpu1"), 12500 * MB);
    assert_int_equal(test_between(t, "a nic0 send", "network"), 12500 * MB);
    rlt_topology_free(t);
}

static rlt_topology *import_exactly(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (test_import_exactly(text, &t, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    return t;
}

/* Lines that NCCL did not write, or of which something is gone: their ring does not count. */
static void nearly_processes(void **state)
{
    static const char *const before[] = {
        "]",           "[]",        "0]",       "[0]",     " [0]",
        ":[0]",        "a:[0]",     "a:1:2 0]", "a:1 [0]", "a:1:2 [123456789]",
        "a:1:2 [0] x", "a:1:2 0 ]", "a:1:2",    ""};
    (void)state;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s NCCL INFO Channel 00/02 : 1 0\n" AT0 "Channel 01/02 : 0 1",
                 before[i]);
        rlt_topology *t = import_exactly(text);
        if (rlt_topology_rings(t) != 1)
            fail_msg("'%s': %u rings", before[i], rlt_topology_rings(t));
        rlt_topology_free(t);
    }
}

/* A launcher's words and colours before a host are not part of its name. */
static void hosts_behind_a_launcher(void **state)
{
    static const char *const words[][2] = {{"", ""},
                                           {"[1,0]<stdout>:", "[1,1]<stdout>:"},
                                           {"0: ", "1: "},
                                           {"\x1b[0m", "\x1b[32m\x1b[1;31m"},
                                           {"\x1b[0m0:\x1b[m", "\x1b[m"}};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[900];
        snprintf(text, sizeof text,
                 "%sa:1:5 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0\n"
                 "%sa:2:5 [1] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 1\n"
                 "%sa:1:5 [0] NCCL INFO Channel 00/01 : 0 1\n"
                 "%sa:1:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0\n"
                 "%sa:2:5 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0\n",
                 words[i][0], words[i][1], words[i][0], words[i][0], words[i][1]);
        rlt_topology *t = import_exactly(text);
        assert_int_equal(test_between(t, "gpu0", "a nic0 send"), 12500 * MB);
        assert_int_equal(test_between(t, "gpu1", "a nic0 send"), 12500 * MB);
        rlt_topology_free(t);
    }
}

/* What a smaller communicator says of its hosts is not said of the largest one. */
static void hosts_of_a_smaller_one(void **state)
{
    (void)state;
    rlt_topology *t =
        test_import(AT0 "comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n" AT0
                        "comm 0x2 rank 0 nranks 4 cudaDev 0\n" AT0 "Channel 00/01 : 0 1 2 3\n");
    assert_int_equal(rlt_topology_accelerators(t), 4);
    assert_int_equal(rlt_topology_dims(t), 1);
    rlt_topology_free(t);
}

/* Without rings each channel counts once, up to the last one. */
static void channels_of_connections(void **state)
{
    static const int channels[] = {0, 1, 63, 64, 65, 127, 64, 0};
    char text[2000] = AT0 "comm 0x1 rank 0 nranks 2 cudaDev 0\n" AT1 "comm 0x2 rank 1 nranks 2 cudaDev 1\n";
    (void)state;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 AT0 "Channel %02d : 0[0] -> 1[1] via P2P\n" AT1 "Channel %02d : 1[1] -> 0[0] via P2P\n",
                 channels[i], channels[i]);
    rlt_topology *t = test_import(text);
    test_both_ways(t, "gpu0", "gpu1", 6 * 20 * GB);
    rlt_topology_free(t);
    /* With a ring and a bandwidth that was measured inside the host. */
    t = test_import(AT0 "comm 0x1 rank 0 nranks 2 cudaDev 0\n" AT1 "comm 0x2 rank 1 nranks 2 cudaDev 1\n" AT0
                        "Channel 00/01 : 0 1\n busbw: 80 Gbps\n");
    test_both_ways(t, "gpu0", "gpu1", 10 * GB);
    assert_non_null(
        strstr(rlt_topology_source(t), "10 GB/s a channel of a ring (from the bus bandwidth measured"));
    assert_null(strstr(rlt_topology_source(t), "No rings"));
    rlt_topology_free(t);
    /* Host memory is no faster than what was measured. */
    t = test_import(AT0 "Channel 00/01 : 0 1\n" AT0 "Channel 00 : 0[0] -> 1[1] via SHM\n busbw: 24 Gbps\n");
    test_both_ways(t, "gpu0", "gpu1", 3 * GB);
    rlt_topology_free(t);
}

/* NICs of a channel that has no ring: what was measured is not theirs. */
static void nics_beside_the_rings(void **state)
{
    (void)state;
    rlt_topology *t = test_import(
        AT0 "comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n" AT0
            "Channel 00/02 : 0 1\n" AT0 "Channel 01/0 : 0[0] -> 1[1] [send] via NET/IB/0\n busbw: 80 Gbps\n");
    assert_non_null(strstr(rlt_topology_source(t), "12.5 GB/s a direction (ASSUMED"));
    rlt_topology_free(t);
}

/* A bandwidth of twenty digits is read, one of twenty-one is not. */
static void long_bandwidths(void **state)
{
    (void)state;
    for (int zeros = 16; zeros < 19; zeros++) {
        char text[600];
        snprintf(text, sizeof text,
                 AT0 "comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n" AT0
                     "Channel 00/01 : 0 1\n" AT0
                     "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n busbw: 80.%0*d Gbps\n",
                 zeros, 0);
        rlt_topology *t = test_import(text);
        assert_int_equal(rlt_topology_dims(t), 2);
        assert_int_equal(rlt_topology_dim(t, 0).size, 1);
        bool read = zeros + 3 <= 20;
        assert_int_equal(test_between(t, "gpu0", "node0 nic0 send"), read ? 10 * GB : 12500 * MB);
        assert_non_null(strstr(rlt_topology_source(t),
                               read ? "10 GB/s a direction (from" : "12.5 GB/s a direction (ASSUMED"));
        rlt_topology_free(t);
    }
}

static void hosts_in_a_log(void **state)
{
    static const char text[] =
        "a:1:5 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
        "a:2:5 [1] NCCL INFO comm 0x2 rank 1 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0\n"
        "b:1:5 [0] NCCL INFO comm 0x3 rank 2 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
        "b:2:5 [1] NCCL INFO comm 0x4 rank 3 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0\n"
        "a:1:5 [0] NCCL INFO Channel 00/02 : 0 1 2 3\n"
        "a:1:5 [0] NCCL INFO Channel 01/02 : 0 1 2 3\n"
        "a:2:5 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/AWS Libfabric/3/GDRDMA\n"
        "a:2:5 [1] NCCL INFO Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/3\n"
        "b:1:5 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IBext_v8/0/GDRDMA\n"
        "b:1:5 [0] NCCL INFO Channel 01/0 : 1[1] -> 2[0] [receive] via NET/IB/1\n"
        "b:2:5 [1] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [send] via NET/IB/0\n"
        "a:1:5 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0\n"
        /* a smaller communicator: its ranks 0 and 1 are on b */
        "b:1:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
        "b:1:9 [0] NCCL INFO Channel 00/01 : 0 1\n"
        "b:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n";
    static const char measured[] = " busbw: 80.0 Gbps\n busbw: 40 Gbps\n busbw: nan\n busbw: 90.0.0 Gbps\n";
    char both[sizeof text + sizeof measured];
    (void)state;
    rlt_topology *t = test_import(text);
    assert_int_equal(rlt_topology_rings(t), 2);
    assert_int_equal(rlt_topology_dims(t), 2);
    assert_int_equal(rlt_topology_dim(t, 0).size, 2);
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 2 * 20 * GB);
    assert_int_equal(test_between(t, "gpu1", "a nic3 send"), 12500 * MB);
    assert_int_equal(test_between(t, "a nic3 send", "network"), 12500 * MB);
    assert_int_equal(test_between(t, "network", "b nic0 receive"), 12500 * MB);
    assert_int_equal(test_between(t, "b nic1 receive", "gpu2"), 12500 * MB);
    test_import_route(t, 0, 2, 21 * US / 10, "gpu0 > gpu1 > a nic3 send > network > b nic0 receive > gpu2");
    rlt_topology_free(t);
    /* 10 GB/s measured over two rings: 5 each, and both leave through NIC 3 of a. */
    snprintf(both, sizeof both, "%s%s", text, measured);
    t = test_import(both);
    assert_int_equal(test_between(t, "a nic3 send", "network"), 10 * GB);
    assert_non_null(strstr(rlt_topology_source(t), "10 GB/s a direction (from the bus bandwidth measured"));
    assert_non_null(strstr(rlt_topology_source(t), "20 GB/s a channel of a ring (ASSUMED"));
    assert_null(strstr(rlt_topology_source(t), "Hosts by rank number"));
    rlt_topology_free(t);
    t = test_import_with(both, &(rlt_import){.network_Bps = 3 * GB});
    assert_non_null(strstr(rlt_topology_source(t), "3 GB/s a direction (given"));
    assert_non_null(strstr(rlt_topology_source(t), "20 GB/s a channel of a ring (ASSUMED"));
    rlt_topology_free(t);
    t = test_import_with(both, &(rlt_import){.network_Bps = 3 * GB, .channel_Bps = 7 * GB});
    assert_int_equal(test_between(t, "a nic3 send", "network"), 3 * GB);
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 14 * GB);
    rlt_topology_free(t);
}

/* A log that rank 0 alone wrote. */
static void log_of_one_rank(void **state)
{
    (void)state;
    rlt_topology *t = test_import(
        AT0 "comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n" AT0
            "Channel 00/01 : 0 1 2 3\n" AT0 "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0\n");
    assert_int_equal(rlt_topology_dims(t), 2);
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 20 * GB);
    assert_int_equal(test_between(t, "gpu2", "gpu3"), 20 * GB);
    assert_int_equal(test_between(t, "gpu1", "node0 nic0 send"), 12500 * MB);
    assert_int_equal(test_between(t, "gpu1", "gpu2"), 0);
    assert_non_null(strstr(rlt_topology_source(t), " Hosts by rank number: the log does not name all."));
    rlt_topology_free(t);
    t = test_import(AT0 "Channel 00/01 : 0 1 2 3\n");
    assert_int_equal(rlt_topology_dims(t), 1);
    assert_int_equal(rlt_topology_links(t), 4);
    rlt_topology_free(t);
}

/* NCCL prints only twenty ranks of a longer ring; then only connections count. */
static void long_rings_are_not_taken(void **state)
{
    char text[1 << 14] = AT0 "Channel 00/01 : 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n";
    (void)state;
    for (int i = 0; i < 24; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "a:%d:1 [%d] NCCL INFO comm 0x1 rank %d nranks 24 cudaDev 0\n"
                 "a:%d:1 [%d] NCCL INFO Channel 00 : %d[1] -> %d[2] via P2P/IPC\n",
                 i, i, i, i, i, i, (i + 1) % 24);
    rlt_topology *t = test_import(text);
    assert_int_equal(rlt_topology_accelerators(t), 24);
    assert_int_equal(rlt_topology_rings(t), 0);
    assert_int_equal(rlt_topology_links(t), 24);
    assert_non_null(strstr(rlt_topology_source(t), " No rings: NCCL prints no more"));
    rlt_topology_free(t);
}

static void wrong_logs(void **state)
{
    (void)state;
    test_import_wrong(AT0 "Channel 00/01 : 0 1 1\n", "f:1",
                      "channel 0 is no ring of 3 ranks: 1 is there twice");
    test_import_wrong("x\n" AT0 "Channel 07/01 : 0 1 9\n", "f:2", "9 is too large");
    test_import_wrong(AT0 "Channel 07/01 : 0 1 3\n", "f:1", "3 is too large");
    test_import_wrong("a:10:11 [0> NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0\n", "f", "no communicator");
    test_import_wrong(AT0 "comm 0x1 rank 0 nranks 65536 cudaDev 0\n", "f", "neither rings nor connections");
    test_import_wrong(AT0 "comm 0x1 rank 0 nranks 65537 cudaDev 0\n", "f", "no communicator");
    test_import_wrong(AT0 "Bootstrap : Using ib0\n", "f", "no communicator of two or more ranks");
    test_import_wrong(AT0 "comm 0x1 rank 0 nranks 2\n", "f", "neither rings nor connections");
    test_import_wrong(AT0 "Channel 00/01 : 0 1\n" AT0 "Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0\n", "f",
                      "the log tells the host of 1 of 2 ranks");
    test_import_wrong(AT0 "comm 0x1 rank 0 nranks 3\n" AT1 "comm 0x2 rank 1 nranks 3\n" AT0
                          "Channel 00 : 0[0] -> 1[1] via P2P/IPC\n",
                      "f", "");
}

/* ---- logs of real runs ---- */

static rlt_topology *real_log(const char *name)
{
    char path[256], *text = NULL;
    size_t length;
    struct stat st;
    rlt_topology *t = NULL;
    rlt_error err = {0};
    snprintf(path, sizeof path, "../shared/data/nccl_logs/%s", name);
    if (stat(path, &st) != 0) {
        print_message("%s is not here\n", path);
        skip();
    }
    if (rlt_read_file(path, 1 << 24, &text, &length, &err) ||
        rlt_topology_read(path, text, length, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    free(text);
    return t;
}

/* Four V100, all connected to each other: every order of the other three is a ring, twice. */
static void four_v100(void **state)
{
    (void)state;
    rlt_topology *t = real_log("n1_32gb_all_reduce_bench.txt.gz");
    uint32_t uses[4][4] = {{0}};
    assert_int_equal(rlt_topology_accelerators(t), 4);
    assert_int_equal(rlt_topology_rings(t), 12);
    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t *ring = rlt_topology_ring(t, i);
        uint32_t seen = 0;
        for (uint32_t k = 0; k < 4; k++) {
            seen |= 1u << ring[k];
            uses[ring[k]][ring[(k + 1) % 4]]++;
        }
        assert_int_equal(seen, 15);
        for (uint32_t k = 0; k < i % 6; k++)
            assert_int_not_equal(memcmp(ring, rlt_topology_ring(t, i - i % 6 + k), 4 * sizeof *ring), 0);
    }
    assert_int_equal(rlt_topology_links(t), 12);
    for (uint32_t i = 0; i < 12; i++) {
        rlt_link l = rlt_topology_link(t, i);
        assert_int_equal(uses[l.src][l.dst], 4);
        /* The run measured about 1000 Gb/s of bus bandwidth: each link gets four twelfths of it. */
        assert_true(l.bw_Bps > 40 * GB && l.bw_Bps < 43 * GB);
    }
    rlt_topology_free(t);
}

static void four_nodes(void **state)
{
    static const uint32_t forth[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint32_t back[] = {0, 3, 2, 1, 4, 7, 6, 5, 8, 11, 10, 9, 12, 15, 14, 13};
    (void)state;
    rlt_topology *t = real_log("all_reduce_bench-32gb-n4.txt.gz");
    assert_int_equal(rlt_topology_accelerators(t), 16);
    assert_int_equal(rlt_topology_rings(t), 4);
    for (uint32_t i = 0; i < 4; i++)
        test_expect_ring(t, i, i % 2 ? back : forth);
    assert_int_equal(rlt_topology_dims(t), 2);
    assert_int_equal(rlt_topology_dim(t, 0).size, 4);
    assert_int_equal(rlt_topology_dim(t, 1).size, 4);
    /* All four rings enter a node by its NIC 1: the measured 84.8 Gb/s. */
    uint64_t in = test_between(t, "network", "r6i6n4 nic1 receive");
    assert_true(in > 10500 * MB && in < 10700 * MB);
    assert_int_equal(test_between(t, "gpu3", "gpu4"), 0);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_log),
        cmocka_unit_test(nearly_connections),
        cmocka_unit_test(rank_0_speaks_last),
        cmocka_unit_test(hosts_of_a_smaller_one),
        cmocka_unit_test(channels_of_connections),
        cmocka_unit_test(nearly_processes),
        cmocka_unit_test(hosts_behind_a_launcher),
        cmocka_unit_test(long_bandwidths),
        cmocka_unit_test(nics_beside_the_rings),
        cmocka_unit_test(hosts_in_a_log),
        cmocka_unit_test(log_of_one_rank),
        cmocka_unit_test(long_rings_are_not_taken),
        cmocka_unit_test(wrong_logs),
        cmocka_unit_test(four_v100),
        cmocka_unit_test(four_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
