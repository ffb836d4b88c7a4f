/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ASTRA-sim timing mode: closed forms by hand, and every measured row of the congestion-unaware back-end,
 * to the nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/reader.h"
#include "workload/timing/timing.h"

static char directory[] = "/tmp/ringlet-astra-XXXXXX";
static char system_path[64];

static void write_system(const char *text)
{
    FILE *f = fopen(system_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void write_simple(const char *algorithm, unsigned splits, unsigned active, const char *memory,
                         const char *more)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"scheduling-policy\": \"LIFO\", \"endpoint-delay\": 10, \"preferred-dataset-splits\": %u,"
             "\"active-chunks-per-dimension\": %u, \"local-mem-bw\": %s, \"all-reduce-implementation\": [%s],"
             "\"all-gather-implementation\": [%s], \"reduce-scatter-implementation\": [%s],"
             "\"all-to-all-implementation\": [%s]%s, \"boost-mode\": 0}",
             splits, active, memory, algorithm, algorithm, algorithm, algorithm, more);
    write_system(text);
}

static rlt_topology *topology(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, NULL, &t, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static int try_backend(bool aware, const char *spec, rlt_coll_kind kind, uint64_t bytes,
                       const uint32_t *ranks, uint32_t n, rlt_time *time, rlt_error *err)
{
    rlt_topology *t = topology(spec);
    rlt_timing *timing = NULL;
    rlt_read_options opts = {0};
    int rc = rlt_timing_astra(system_path, aware, t, &opts, &timing, err);
    if (rc == 0) {
        rlt_coll_request req = {
            .kind = kind, .n = n ? n : rlt_topology_accelerators(t), .ranks = ranks, .bytes = bytes};
        assert_true(opts.serial_communication);
        assert_string_equal(timing->name, aware ? "astra-aware" : "astra");
        rc = timing->duration(timing, &req, time, err);
    }
    rlt_timing_free(timing);
    rlt_topology_free(t);
    return rc;
}

static int try_time(const char *spec, rlt_coll_kind kind, uint64_t bytes, const uint32_t *ranks, uint32_t n,
                    rlt_time *time, rlt_error *err)
{
    return try_backend(false, spec, kind, bytes, ranks, n, time, err);
}

static rlt_time backend_ns(bool aware, const char *spec, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_time time = -1;
    rlt_error err = {0};
    if (try_backend(aware, spec, kind, bytes, NULL, 0, &time, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(time % RLT_NS, 0);
    return time / RLT_NS;
}

static rlt_time ns(const char *spec, rlt_coll_kind kind, uint64_t bytes)
{
    return backend_ns(false, spec, kind, bytes);
}

/* A ring link carries half of the dimension's bandwidth: 50 B/ns here. */
#define RING4   "ring:4@100GB/s,500ns"
#define SWITCH4 "switch:4@50GB/s,500ns"
#define FULL4   "fully-connected:4@150GB/s,500ns"

/* 4 MB on 4 ranks: m = 1 MB, 20000 ns on a link; R = 3 floor(10^6 / 1600) = 1875. */
static void ring_by_hand(void **state)
{
    (void)state;
    write_simple("\"ring\"", 1, 1, "0", "");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 4000000), 6 * 20500 + 7 * 10);
    assert_int_equal(ns(SWITCH4, RLT_ALL_REDUCE, 4000000), 6 * 21000 + 7 * 10);
    assert_int_equal(ns(FULL4, RLT_REDUCE_SCATTER, 4000000), 3 * 20500 + 4 * 10);
    assert_int_equal(ns(RING4, RLT_ALL_GATHER, 4000000), 3 * 20500 + 4 * 10); /* shard of 1 MB */
    assert_int_equal(ns(RING4, RLT_ALL_TO_ALL, 4000000), 6 * 20500 + 7 * 10); /* q = 6 */
    write_simple("\"ring\"", 1, 1, "1600", "");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 4000000), 6 * 20500 + 3 * 1875 + 7 * 10);
    assert_int_equal(ns(RING4, RLT_REDUCE_SCATTER, 4000000), 3 * (20500 + 1875) + 4 * 10);
    /* a broadcast is an all-reduce without reductions; a reduce has them */
    assert_int_equal(ns(RING4, RLT_BROADCAST, 4000000), 6 * 20500 + 7 * 10);
    assert_int_equal(ns(RING4, RLT_REDUCE, 4000000), 6 * 20500 + 3 * 1875 + 7 * 10);
}

/* Stored and forwarded: each of two hops takes 500 + 20000 ns. Two messages precede the last one of a direct
 * exchange. */
static void shared_links_by_hand(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_time time;
    write_simple("\"ring\"", 1, 1, "1600", "");
    assert_int_equal(backend_ns(true, RING4, RLT_ALL_REDUCE, 4000000), 6 * 20500 + 3 * 1875 + 7 * 10);
    assert_int_equal(backend_ns(true, SWITCH4, RLT_ALL_REDUCE, 4000000), 6 * 41000 + 3 * 1875 + 7 * 10);
    write_simple("\"direct\"", 1, 1, "1600", "");
    assert_int_equal(backend_ns(true, FULL4, RLT_ALL_TO_ALL, 4000000), 20500 + 2 * 10);
    assert_int_equal(backend_ns(true, SWITCH4, RLT_ALL_TO_ALL, 4000000), 2 * 20000 + 41000 + 2 * 10);
    assert_int_equal(try_backend(true, RING4, RLT_ALL_TO_ALL, 4000000, NULL, 0, &time, &err),
                     RLT_EUNSUPPORTED);
    assert_int_equal(try_backend(true, RING4 "*" SWITCH4, RLT_ALL_TO_ALL, 4000000, NULL, 0, &time, &err),
                     RLT_EUNSUPPORTED);
    write_simple("\"halvingDoubling\"", 1, 1, "1600", "");
    assert_int_equal(backend_ns(true, SWITCH4, RLT_REDUCE_SCATTER, 4000000),
                     2 * 40500 + 41000 + 1875 + 3 * 10);
    assert_int_equal(try_backend(true, RING4, RLT_REDUCE_SCATTER, 4000000, NULL, 0, &time, &err),
                     RLT_EUNSUPPORTED);
    write_simple("\"ring\"", 4, 2, "1600", "");
    assert_int_equal(try_backend(true, RING4, RLT_ALL_REDUCE, 4000000, NULL, 0, &time, &err),
                     RLT_EUNSUPPORTED);
}

static void direct_and_halving_by_hand(void **state)
{
    (void)state;
    write_simple("\"direct\"", 1, 1, "1600", "");
    assert_int_equal(ns(FULL4, RLT_ALL_REDUCE, 4000000), 2 * 20500 + 1875 + 3 * 10);
    assert_int_equal(ns(SWITCH4, RLT_REDUCE_SCATTER, 4000000), 21000 + 1875 + 2 * 10);
    assert_int_equal(ns(RING4, RLT_ALL_TO_ALL, 4000000), 21000 + 2 * 10); /* two hops to the far side */
    write_simple("\"halvingDoubling\"", 1, 1, "1600", "");
    /* halves of 2 MB and 1 MB: 40000 and 20000 ns; one reduction, of the second */
    assert_int_equal(ns(FULL4, RLT_ALL_REDUCE, 4000000), 2 * (40500 + 20500) + 1875 + 5 * 10);
    assert_int_equal(ns(RING4, RLT_REDUCE_SCATTER, 4000000), 40500 + 21000 + 1875 + 3 * 10);
    assert_int_equal(ns(SWITCH4, RLT_ALL_GATHER, 4000000), 21000 + 41000 + 3 * 10);
}

/* Four ranks: 1 and 3 are leaves below 2, and 2 is below the root 0: two messages of the whole chunk up, two
 * down. The nodes above the leaves reduce on each way: 2 and 0 on the way up, 2 on the way down. */
static void tree_by_hand(void **state)
{
    (void)state;
    write_simple("\"doubleBinaryTree\"", 1, 1, "1600", "");
    rlt_time step = 500 + 20000, reduce = 1875;
    assert_int_equal(ns(FULL4, RLT_ALL_REDUCE, 1000000), 4 * step + 3 * reduce + 5 * 10);
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 1000000), 4 * step + 2 * 500 + 3 * reduce + 5 * 10);
    /* the leaves of the second chunk's tree are inner nodes of the first, and are done with it a message
     * sooner */
    write_simple("\"doubleBinaryTree\"", 2, 1, "1600", "");
    assert_int_equal(ns(FULL4, RLT_ALL_REDUCE, 2000000), 7 * step + 6 * reduce + 9 * 10);
}

static void chunks_by_hand(void **state)
{
    (void)state;
    rlt_time one = 6 * 20500 + 7 * 10;
    write_simple("\"ring\"", 4, 1, "0", "");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 16000000), 4 * one);
    /* a size that the splits do not divide costs a fifth full chunk: c = 4000000, 16000003 / c rounds up */
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 16000003), 5 * one);
    write_simple("\"ring\"", 4, 3, "0", "");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 16000000), 2 * one); /* 3 at once, then 1 */
    /* less than a byte per NPU and chunk: c = 4, m = 1 takes floor(500 + 1/50) */
    write_simple("\"ring\"", 4, 1, "0", "");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 1), 4 * (6 * 500 + 7 * 10));
    assert_int_equal(ns(RING4, RLT_BARRIER, 0), 4 * (6 * 500 + 7 * 10));
    /* all-gather of shards smaller than the splits: chunks of one byte, for which ASTRA-sim does not end */
    assert_int_equal(ns(RING4, RLT_ALL_GATHER, 4), 3 * 500 + 4 * 10);
    write_system("{\"preferred-dataset-splits\": 1, \"endpoint-delay\": 0, \"all-reduce-implementation\": "
                 "[\"ring\"]}");
    assert_int_equal(ns(RING4, RLT_ALL_REDUCE, 4000000), 6 * 20500);
}

/* Ring of 4 (links 50 B/ns) below a switch of 2 (50 B/ns): RS, AR of a quarter, AG of a quarter. */
static void two_dimensions_by_hand(void **state)
{
    (void)state;
    const char *both = RING4 "*switch:2@50GB/s,1us";
    rlt_time scatter = 3 * 20500 + 4 * 10, across = 2 * (2000 + 10000) + 3 * 10, gather = 3 * 20500 + 4 * 10;
    write_simple("\"ring\", \"ring\"", 1, 1, "0", ", \"collective-optimization\": \"localBWAware\"");
    assert_int_equal(ns(both, RLT_ALL_REDUCE, 4000000), scatter + across + gather);
    /* two chunks: the ring is never idle, and the switch works beside it */
    write_simple("\"ring\", \"ring\"", 2, 1, "0", ", \"collective-optimization\": \"localBWAware\"");
    assert_int_equal(ns(both, RLT_ALL_REDUCE, 8000000), 2 * scatter + 2 * gather);
    write_simple("\"ring\", \"ring\"", 1, 1, "0", ", \"collective-optimization\": \"baseline\"");
    assert_int_equal(ns(both, RLT_ALL_REDUCE, 4000000), 6 * 20500 + 7 * 10 + 2 * (2000 + 40000) + 3 * 10);
}

/* A message that differs in both dimensions is charged in the first one. A group becomes a ring of its
 * ranks. */
static void groups_and_messages(void **state)
{
    (void)state;
    const char *both = RING4 "*switch:2@50GB/s,1us";
    const uint32_t cross[] = {0, 5}, far[] = {0, 4}, row[] = {0, 1, 2, 3}, uneven[] = {0, 1, 2};
    rlt_time t;
    rlt_error err = {0};
    write_simple("\"direct\", \"direct\"", 1, 1, "0", "");
    assert_int_equal(try_time(both, RLT_SEND_RECV, 1000000, cross, 2, &t, &err), 0);
    assert_int_equal(t, 20500 * RLT_NS);
    assert_int_equal(try_time(both, RLT_SEND_RECV, 1000000, far, 2, &t, &err), 0);
    assert_int_equal(t, 22000 * RLT_NS);
    assert_int_equal(try_time(both, RLT_ALL_REDUCE, 4000000, row, 4, &t, &err), 0);
    assert_int_equal(t, (6 * 20500 + 7 * 10) * RLT_NS);
    /* 0 -> 1 -> 2 take one hop, 2 -> 0 two: of 4 consecutive hops at most 2 are the long one */
    assert_int_equal(try_time(both, RLT_ALL_REDUCE, 3000000, uneven, 3, &t, &err), 0);
    assert_int_equal(t, (2 * 20500 + 2 * 21000 + 5 * 10) * RLT_NS);
    assert_int_equal(try_time(both, RLT_ALL_REDUCE, 3000000, uneven, 1, &t, &err), 0);
    assert_int_equal(t, 0);
}

static void refused(const char *spec, rlt_coll_kind kind, int code, const char *what)
{
    rlt_time t;
    rlt_error err = {0};
    assert_int_equal(try_time(spec, kind, 1000, NULL, 0, &t, &err), code);
    if (!strstr(err.what, what))
        fail_msg("got '%s: %s'", err.where, err.what);
}

static void says_what_it_cannot(void **state)
{
    (void)state;
    write_simple("\"doubleBinaryTree\"", 1, 1, "0", "");
    refused(RING4, RLT_ALL_GATHER, RLT_EUNSUPPORTED, "doubleBinaryTree");
    refused("switch:6@50GB/s,500ns", RLT_ALL_REDUCE, RLT_EUNSUPPORTED, "power of two");
    write_simple("\"halvingDoubling\"", 1, 1, "0", "");
    refused("switch:6@50GB/s,500ns", RLT_ALL_REDUCE, RLT_EUNSUPPORTED, "power of two");
    refused(RING4, RLT_ALL_TO_ALL, RLT_EUNSUPPORTED, "no all-to-all");
    write_simple("\"direct4\"", 1, 1, "0", "");
    refused(RING4, RLT_ALL_REDUCE, RLT_EUNSUPPORTED, "window");
    write_simple("\"ring\"", 1, 1, "0", "");
    refused(RING4 "*" SWITCH4, RLT_ALL_REDUCE, RLT_EUNSUPPORTED, "fewer algorithms");
    refused("mesh:4@50GB/s,500ns", RLT_ALL_REDUCE, RLT_EUNSUPPORTED, "mesh");
    refused("topologies/dgx1-v100-8.json", RLT_ALL_REDUCE, RLT_EUNSUPPORTED,
            "needs a product of rings, switches and fully-connected dimensions");
    write_simple("\"rings\"", 1, 1, "0", "");
    refused(RING4, RLT_ALL_REDUCE, RLT_ESCHEMA, "'rings'");
    write_simple("\"ring\"", 0, 1, "0", "");
    refused(RING4, RLT_ALL_REDUCE, RLT_ERANGE, "at least 1");
    write_system("{\"endpoint-delay\": 10}");
    refused(RING4, RLT_ALL_REDUCE, RLT_ESCHEMA, "preferred-dataset-splits");
    write_system("[1]");
    refused(RING4, RLT_ALL_REDUCE, RLT_ESCHEMA, "object");
    write_system("{");
    refused(RING4, RLT_ALL_REDUCE, RLT_EMALFORMED, "");
}

static void roofline_settings(void **state)
{
    (void)state;
    rlt_topology *t = topology(RING4);
    rlt_timing *timing = NULL;
    rlt_read_options opts = {0};
    write_simple("\"ring\"", 1, 1, "1600", ", \"roofline-enabled\": 1, \"peak-perf\": 900");
    assert_int_equal(rlt_timing_astra(system_path, false, t, &opts, &timing, NULL), 0);
    assert_int_equal(opts.peak_Flops, 900000000000000u);
    assert_int_equal(opts.memory_Bps, 1600000000000u);
    rlt_timing_free(timing);
    rlt_topology_free(t);
}

/* ---- measured rows */

#define DATA "test/data/astra/"
enum { MAX_COLUMNS = 16 };

/* Splits a line at commas in place; no field of these files is quoted. */
static int split(char *line, char **fields)
{
    int n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; p && n < MAX_COLUMNS;) {
        fields[n++] = p;
        p = strchr(p, ',');
        if (p)
            *p++ = '\0';
    }
    return n;
}

/* Finds the system and network files of a case. */
static bool find_inputs(const char *name, char *system, char *network, size_t size)
{
    FILE *f = fopen(DATA "dev_inputs.csv", "r");
    char line[2048], *fields[MAX_COLUMNS];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        if (split(line, fields) < 9 || strcmp(fields[0], name) != 0)
            continue;
        snprintf(system, size, DATA "%s", fields[7]);
        snprintf(network, size, DATA "%s", fields[8]);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Returns 1 if compared and equal, 0 if left out, -1 if it differs. */
static int compare(char **row)
{
    char system[256], network[256];
    rlt_coll_kind kind = RLT_ALL_REDUCE;
    rlt_error err = {0};
    rlt_time time = -1;
    uint64_t bytes = strtoull(row[5], NULL, 10);
    if (!find_inputs(row[0], system, network, sizeof system) || rlt_coll_parse(row[3], &kind, NULL) < 0)
        fail_msg("no inputs for %s", row[0]);
    rlt_topology *t = topology(network);
    rlt_timing *timing = NULL;
    rlt_read_options opts = {0};
    if (rlt_timing_astra(system, strcmp(row[1], "aware") == 0, t, &opts, &timing, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    rlt_coll_request req = {.kind = kind, .n = rlt_topology_accelerators(t), .bytes = bytes};
    if (kind == RLT_ALL_GATHER)
        req.bytes *= req.n;
    int rc = timing->duration(timing, &req, &time, &err);
    rlt_timing_free(timing);
    rlt_topology_free(t);
    if (rc < 0) {
        if (rc != RLT_EUNSUPPORTED)
            fail_msg("%s: %s: %s", row[0], err.where, err.what);
        print_message("left out: %s: %s\n", row[0], err.what);
        return 0;
    }
    if (time == strtoll(row[11], NULL, 10) * RLT_NS)
        return 1;
    print_error("%s: %lld ns, measured %s\n", row[0], (long long)(time / RLT_NS), row[11]);
    return -1;
}

static void measured_rows(void **state)
{
    (void)state;
    FILE *f = fopen(DATA "dev.csv", "r");
    assert_non_null(f);
    char line[2048], *row[MAX_COLUMNS];
    unsigned equal[2] = {0}, left_out[2] = {0}, wrong = 0;
    while (fgets(line, sizeof line, f)) {
        if (split(line, row) < 12 || strcmp(row[0], "case") == 0 || row[11][0] == '\0')
            continue;
        int same = compare(row), aware = strcmp(row[1], "aware") == 0;
        equal[aware] += same > 0;
        left_out[aware] += same == 0;
        wrong += same < 0;
    }
    fclose(f);
    fprintf(stderr,
            "congestion-unaware: %u rows equal to the nanosecond, %u without a stated form; "
            "congestion-aware: %u and %u\n",
            equal[0], left_out[0], equal[1], left_out[1]);
    assert_int_equal(wrong, 0);
    assert_int_equal(left_out[0], 0);
    assert_true(equal[0] > 100);
    /* left out of the 82 congestion-aware ones: 6 trees, 5 direct and 2 halving-doubling on a ring, 1 with a
     * window, 4 with several active chunks */
    assert_int_equal(equal[1], 64);
    assert_int_equal(left_out[1], 18);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(system_path, sizeof system_path, "%s/system.json", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(system_path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_links_by_hand),
        cmocka_unit_test(ring_by_hand),
        cmocka_unit_test(direct_and_halving_by_hand),
        cmocka_unit_test(tree_by_hand),
        cmocka_unit_test(chunks_by_hand),
        cmocka_unit_test(two_dimensions_by_hand),
        cmocka_unit_test(groups_and_messages),
        cmocka_unit_test(says_what_it_cannot),
        cmocka_unit_test(roofline_settings),
        cmocka_unit_test(measured_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
