/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of machines at their limits: NCCL's graphs of random rings against a plain count of the
 * channels over each link; the largest and the first refused numbers; terminals' escape sequences; texts
 * that end early.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/networks/imported.h"

#define MB UINT64_C(1000000)
#define GB UINT64_C(1000000000)

enum { MOST = 6, CHANNELS = 5, CASES = 150, DEVS = 1 << 14 };

/* ---- graphs of rings ---- */

typedef struct rings {
    uint32_t n, channels, dev[MOST]; /* in rising order */
    uint32_t order[CHANNELS][MOST];  /* index into dev */
    uint64_t intra_MBps, inter_MBps;
    bool network;
} rings;

static void throw_rings(dice *d, rings *r)
{
    uint32_t next = 0;
    *r = (rings){.n = 1 + (uint32_t)below(d, MOST), .channels = 1 + (uint32_t)below(d, CHANNELS)};
    r->network = r->n == 1 || below(d, 2);
    r->intra_MBps = 1 + below(d, 99999);
    r->inter_MBps = 1 + below(d, 99999);
    for (uint32_t i = 0; i < r->n; i++, next++)
        r->dev[i] = next += (uint32_t)below(d, below(d, 2) ? 3 : DEVS / MOST - 1);
    if (below(d, 4) == 0)
        r->dev[r->n - 1] = DEVS - 1;
    for (uint32_t c = 0; c < r->channels; c++)
        for (uint32_t i = 0; i < r->n; i++) {
            uint32_t k = (uint32_t)below(d, i + 1);
            r->order[c][i] = r->order[c][k];
            r->order[c][k] = i;
        }
}

static void write_rings(const rings *r, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size,
                                "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" speedintra=\"%" PRIu64
                                ".%03" PRIu64 "\" speedinter=\"%" PRIu64 ".%03" PRIu64 "\">",
                                r->intra_MBps / 1000, r->intra_MBps % 1000, r->inter_MBps / 1000,
                                r->inter_MBps % 1000);
    for (uint32_t c = 0; c < r->channels; c++) {
        n += (size_t)snprintf(text + n, size - n, "<channel>%s", r->network ? "<net dev=\"0\"/>" : "");
        for (uint32_t k = 0; k < r->n; k++)
            n += (size_t)snprintf(text + n, size - n, "<gpu dev=\"%" PRIu32 "\"/>", r->dev[r->order[c][k]]);
        n += (size_t)snprintf(text + n, size - n, "%s</channel>", r->network ? "<net dev=\"0\"/>" : "");
    }
    snprintf(text + n, size - n, "</graph></graphs>");
}

static void check_rings(const rings *r, const rlt_topology *t, uint64_t intra, uint64_t inter)
{
    uint32_t channels[MOST][MOST] = {0}, first[MOST] = {0}, last[MOST] = {0}, links = 0;
    char a[32], b[32];
    assert_int_equal(rlt_topology_accelerators(t), r->n);
    assert_int_equal(rlt_topology_nodes(t), r->n + r->network);
    assert_int_equal(rlt_topology_rings(t), r->channels);
    for (uint32_t c = 0; c < r->channels; c++) {
        const uint32_t *o = r->order[c];
        assert_memory_equal(rlt_topology_ring(t, c), o, r->n * sizeof *o);
        for (uint32_t k = 0; k + 1 < r->n; k++)
            channels[o[k]][o[k + 1]]++;
        first[o[0]]++;
        last[o[r->n - 1]]++;
        channels[o[r->n - 1]][o[0]] += !r->network;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        snprintf(a, sizeof a, "gpu%" PRIu32, r->dev[i]);
        assert_int_equal(test_node(t, a), i);
        for (uint32_t k = 0; k < r->n; k++) {
            snprintf(b, sizeof b, "gpu%" PRIu32, r->dev[k]);
            assert_true(test_between(t, a, b) == channels[i][k] * intra);
            links += channels[i][k] != 0;
        }
        if (!r->network)
            continue;
        assert_true(test_between(t, a, "network") == last[i] * inter);
        assert_true(test_between(t, "network", a) == first[i] * inter);
        links += (last[i] ? 1u : 0) + (first[i] ? 1u : 0);
    }
    assert_int_equal(rlt_topology_links(t), links);
}

static void graphs_of_random_rings(void **state)
{
    dice d = {.seed = 25};
    char text[8192];
    (void)state;
    for (int i = 0; i < CASES; i++) {
        rings r;
        throw_rings(&d, &r);
        write_rings(&r, text, sizeof text);
        rlt_topology *t = test_import(text);
        check_rings(&r, t, r.intra_MBps * MB, r.inter_MBps * MB);
        rlt_topology_free(t);
        rlt_import with = {.channel_Bps = below(&d, 2) * 7 * GB, .network_Bps = below(&d, 2) * 3 * GB};
        t = test_import_with(text, &with);
        check_rings(&r, t, with.channel_Bps ? with.channel_Bps : r.intra_MBps * MB,
                    with.network_Bps ? with.network_Bps : r.inter_MBps * MB);
        rlt_topology_free(t);
    }
}

#define GRAPH(speeds, channels) "<graphs><graph pattern=\"4\" " speeds ">" channels "</graph></graphs>"
#define PAIR(a, b)              "<channel><gpu dev=\"" a "\"/><gpu dev=\"" b "\"/></channel>"

static void limits_of_graphs(void **state)
{
    (void)state;
    rlt_topology_free(test_import(GRAPH("speedintra=\"100000\"", PAIR("0", "16383"))));
    test_import_wrong(GRAPH("speedintra=\"1\"", PAIR("0", "16384")), "f:1:66", "'dev' of <gpu>");
    test_import_wrong(GRAPH("speedintra=\"100000.000000001\"", PAIR("0", "1")), "f:1:9", "a number of GB/s");
    test_import_wrong(GRAPH("speedintra=\"-1\"", PAIR("0", "1")), "f:1:9", "a number of GB/s");
    test_import_wrong(GRAPH("speedintra=\"0\"", PAIR("0", "1")), "f", "no speed");
    test_import_wrong(GRAPH("speedintra=\"1\"", "<channel><net dev=\"0\"/><gpu dev=\"0\"/></channel>"), "f",
                      "no speed");
    test_import_wrong("<graphs><graph pattern=\"1001\"/></graphs>", "f:1:9", "'pattern'");
    test_import_wrong("<graphs><graph pattern=\"4\"/><graph pattern=\"4\"/></graphs>", "f:1:29",
                      "a second <graph> of rings");
    /* Only a graph's channels are rings. */
    rlt_topology *t = test_import("<graphs><other/><graph pattern=\"4\" speedintra=\"1\">" PAIR(
        "0", "1") "</graph><tree>" PAIR("0", "1") PAIR("1", "0") "</tree></graphs>");
    assert_int_equal(rlt_topology_rings(t), 1);
    rlt_topology_free(t);
    test_import_wrong("<graphs><graph pattern=\"1000\">" PAIR("0", "1") "</graph></graphs>", "f",
                      "no channel of a ring");
}

/* ---- the output of programs ---- */

static void escape_sequences(void **state)
{
    static const char *const underlined[] = {"\x1b[4m", "\x1b[m", "\x1b[1;31m", "\x1b[@", "\x1b[0~"};
    (void)state;
    for (size_t i = 0; i < sizeof underlined / sizeof *underlined; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "\t%sGPU0\tGPU1\tCPU Affinity%s\n%sGPU0%s\t X \tNV2\t0-9\nGPU1\tNV2%s\t X \t0-9\n",
                 underlined[i], underlined[i], underlined[i], underlined[i], underlined[i]);
        rlt_topology *t = test_import(text);
        assert_int_equal(rlt_topology_accelerators(t), 2);
        test_both_ways(t, "gpu0", "gpu1", 50 * GB);
        rlt_topology_free(t);
    }
}

/* The number of ranks of a host is stated once, or in several lines; one that does not state it changes
 * nothing. */
static void local_ranks_are_kept(void **state)
{
#define AT0    "a:10:11 [0] NCCL INFO "
#define STATED "comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
#define PLAIN  "comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1000\n"
#define SMALL  "comm 0x2 rank 0 nRanks 3 nNodes 1 localRanks 3 localRank 0 MNNVL 0\n"
#define RING   "Channel 00/01 : 0 1 2 3\n" AT0 "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0\n"
    static const char *const logs[] = {
        AT0 STATED AT0 RING,           AT0 STATED AT0 PLAIN AT0 RING, AT0 PLAIN AT0 STATED AT0 RING,
        AT0 STATED AT0 SMALL AT0 RING, AT0 SMALL AT0 STATED AT0 RING,
    };
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        rlt_topology *t = test_import(logs[i]);
        assert_int_equal(rlt_topology_dims(t), 2);
        assert_int_equal(rlt_topology_dim(t, 0).size, 2);
        assert_int_equal(test_between(t, "gpu1", "gpu2"), 0);
        rlt_topology_free(t);
    }
    /* A larger communicator does not take the ranks of a smaller one. */
    test_import_wrong(AT0 SMALL AT0 PLAIN AT0 RING, "f", "the log tells the host of 1 of 4 ranks");
}

/* The host is between the third and the second colon from the right; what is in front of it belongs to a
 * launcher. */
static void hosts_behind_a_launcher(void **state)
{
    static const char *const prefixes[] = {"", "x:", "x:y:", "job 7: ", "x:y:z:"};
    (void)state;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char text[512];
        const char *p = prefixes[i];
        snprintf(text, sizeof text,
                 "NCCL INFO a line without a process\n"
                 "%sh:10:11 [0] NCCL INFO Channel 00/01 : 0 1\n"
                 "%sh:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/5\n"
                 "%sk:20:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n",
                 p, p, p);
        rlt_topology *t = test_import(text);
        assert_int_equal(test_between(t, "gpu0", "h nic5 send"), 12500 * MB);
        assert_int_equal(test_between(t, "k nic0 receive", "gpu1"), 12500 * MB);
        rlt_topology_free(t);
    }
}

/* Lines that resemble connections and rings. */
static void other_lines_are_skipped(void **state)
{
    static const char *const lines[] = {
        "Channel 00 : x[1] -> 1[1] via P2P",
        "Channel 00 : 0[0] -> 0[0] via P2P",
        "Channel 00 : 1(1) -> 0[0] via P2P",
        "Channel 00 : 1[1] => 0[0] via P2P",
        "Channel 00 : 1[1] -> x[0] via P2P",
        "Channel 00 : 1[1] -> 0(0) via P2P",
        "Channel 00 : 1[1] -> 0[0] [send] over P2P",
        "Channel 00 : 1[1] -> 0[0] via X",
        "Channel 00 : 1[1] -> 0[0] via NET/IB/x",
        "Channel 00 : 1[1] -> 0[0] via NET/IB",
        "Channel 00 : 1[1] -> 0[0",
        "Channel 01/02 : 0",
        "Channel 01/02 :",
        "Channel 01/02 : 0 1 x",
        "Channel x/02 : 0 1 2",
        "Channel 01/02 0 1 2",
        "comm 0x1 rank x nranks 9",
        "comm 0x1 rank 0 nranks x",
        "comm 0x1 rank 9 nranks 9",
        "comm 0x1 rank 0 ranks 9",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 AT0 "%s\n" AT0 "Channel 00/01 : 0 1\n" AT0 "Channel 00 : 0[0] -> 1[1] via P2P/IPC\n",
                 lines[i]);
        rlt_topology *t = test_import(text);
        assert_int_equal(rlt_topology_accelerators(t), 2);
        assert_int_equal(rlt_topology_rings(t), 1);
        assert_int_equal(rlt_topology_links(t), 2);
        test_both_ways(t, "gpu0", "gpu1", 20 * GB);
        rlt_topology_free(t);
    }
}

/* ---- NCCL's topology file ---- */

static void parts_of_a_topology_file(void **state)
{
#define CPU          "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\">"
#define GPU(bus, in) "<pci busid=\"" bus "\" class=\"0x030200\" link_speed=\"\" link_width=\"0\">" in "</pci>"
#define LINKED(bus)  "<nvlink target=\"" bus "\" count=\"1\" tclass=\"0x030200\"/>"
    static const char bare[] = CPU GPU("1:0", "") GPU("2:0", "") "</cpu></system>";
    static const char linked[] = CPU GPU("1:0", "<gpu dev=\"0\" sm=\"70\" rank=\"0\">" LINKED("2:0") "</gpu>")
        GPU("2:0", "<gpu dev=\"1\" sm=\"70\" rank=\"1\">" LINKED(
                       "1:0") "</gpu>") "<nic><net dev=\"-1\" speed=\"-1\"/></nic></cpu></system>";
    static const char graph[] = GRAPH("speedintra=\"1\"", PAIR("0", "1"));
    rlt_import with = {.graph_name = "g", .graph_text = graph, .graph_length = strlen(graph)};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    /* GPUs without a dev number are in no ring. */
    assert_int_equal(rlt_topology_read("f", bare, strlen(bare), &with, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "channel 0: no GPU has the dev 0");
    t = test_import_with(linked, &with);
    assert_int_equal(rlt_topology_rings(t), 1);
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 20 * GB);
    (void)test_node(t, "net -1");
    assert_non_null(strstr(rlt_topology_source(t), "20 GB/s per NVLink (NCCL's figure for this generation)"));
    rlt_topology_free(t);
    t = test_import_with(linked, &(rlt_import){.nvlink_Bps = 5 * GB});
    assert_non_null(strstr(rlt_topology_source(t), "5 GB/s per NVLink (given)"));
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 5 * GB);
    rlt_topology_free(t);
}

/* ---- GraphML ---- */

#define GRAPHML_OF(dims, size, forwards, edge)                                                               \
    "<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>"                          \
    "<key id=\"f\" for=\"node\" attr.name=\"forwards\" attr.type=\"string\"/>"                               \
    "<key id=\"b\" for=\"edge\" attr.name=\"bandwidth\" attr.type=\"string\"/>"                              \
    "<key id=\"l\" for=\"edge\" attr.name=\"latency\" attr.type=\"string\"/>"                                \
    "<key id=\"n\" for=\"graph\" attr.name=\"node_size\" attr.type=\"string\"/>"                             \
    "<key id=\"d\" for=\"graph\" attr.name=\"dims\" attr.type=\"string\"/>"                                  \
    "<graph edgedefault=\"undirected\"><data key=\"n\">" size "</data><data key=\"d\">" dims "</data>"       \
    "<node id=\"a\"><data key=\"k\">accelerator</data><data key=\"f\">" forwards "</data></node>"            \
    "<node id=\"b\"><data key=\"k\">accelerator</data></node>"                                               \
    "<edge source=\"a\" target=\"b\">" edge "</edge></graph></graphml>"
#define GRAPHML(size, edge) GRAPHML_OF("", size, "", edge)
#define RATE                "<data key=\"b\">1GB/s</data>"
#define DELAY               "<data key=\"l\">1us</data>"

static void graphml_at_its_limits(void **state)
{
    (void)state;
    rlt_topology *t = test_import(GRAPHML("1", RATE DELAY));
    assert_int_equal(rlt_topology_node_size(t), 1);
    rlt_topology_free(t);
    t = test_import(GRAPHML("", DELAY RATE));
    assert_int_equal(rlt_topology_node_size(t), 2);
    rlt_topology_free(t);
    t = test_import(GRAPHML_OF("2x1", "", "true", DELAY RATE));
    assert_int_equal(rlt_topology_dims(t), 2);
    assert_int_equal(rlt_topology_dim(t, 0).size, 2);
    assert_int_equal(rlt_topology_dim(t, 1).size, 1);
    rlt_topology_free(t);
    rlt_topology_free(test_import(GRAPHML_OF("2", "", "false", DELAY RATE)));
    test_import_wrong(GRAPHML_OF("2x", "", "", DELAY RATE), "f", "expected dims such as 8 or 4x2");
    test_import_wrong(GRAPHML_OF("x2", "", "", DELAY RATE), "f", "expected dims such as 8 or 4x2");
    test_import_wrong(GRAPHML_OF("0x2", "", "", DELAY RATE), "f", "expected dims such as 8 or 4x2");
    test_import_wrong(GRAPHML_OF("4194305", "", "", DELAY RATE), "f", "expected dims such as 8 or 4x2");
    test_import_wrong(GRAPHML_OF("2", "", "m", DELAY RATE), "f:1", "expected forwards to be true or false");
    test_import_wrong(GRAPHML("4194304", RATE DELAY), "f", "node_size 4194304 does not divide the 2");
    test_import_wrong(GRAPHML("4194305", RATE DELAY), "f", "a number of accelerators, got '4194305'");
    test_import_wrong(GRAPHML("0", RATE DELAY), "f", "a number of accelerators, got '0'");
    test_import_wrong(GRAPHML("x", RATE DELAY), "f", "a number of accelerators, got 'x'");
    test_import_wrong(GRAPHML("1", RATE), "f:1: edge 0", "missing latency");
    test_import_wrong(GRAPHML("1", DELAY), "f:1: edge 0", "missing bandwidth");
    test_import_wrong(GRAPHML("1", ""), "f:1: edge 0", "missing bandwidth");
}

/* ---- any format ---- */

/* Only `length` bytes are read. */
static void text_ends_at_its_length(void **state)
{
    static const struct {
        const char *text, *what;
        size_t length;
    } table[] = {
        {"   {", "the file is empty", 2},      {" \t\r\n{", "the file is empty", 4},
        {"", "the file is empty", 0},          {"\xef\xbb\xbf ", "the file is empty", 4},
        {"\xef\xbb ", "no format that is", 3}, {"\x1f\x8b", "a gzip file", 2},
        {"\x1f\x8b", "no format that is", 1},  {"\xef\xbb\xbf \x1f\x8b", "a gzip file", 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        assert_int_equal(rlt_topology_read("f", table[i].text, table[i].length, NULL, &t, &err),
                         RLT_EMALFORMED);
        assert_null(t);
        assert_string_equal(err.where, "f");
        if (strncmp(err.what, table[i].what, strlen(table[i].what)) != 0)
            fail_msg("%zu: %s", i, err.what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_random_rings),   cmocka_unit_test(limits_of_graphs),
        cmocka_unit_test(escape_sequences),         cmocka_unit_test(local_ranks_are_kept),
        cmocka_unit_test(hosts_behind_a_launcher),  cmocka_unit_test(other_lines_are_skipped),
        cmocka_unit_test(parts_of_a_topology_file), cmocka_unit_test(graphml_at_its_limits),
        cmocka_unit_test(text_ends_at_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
