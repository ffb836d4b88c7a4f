/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AMD's descriptions of machines: small ones whose graphs are worked out by hand, and wrong ones with the
 * place of their error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/same_topology.h"

#define GB UINT64_C(1000000000)

static rlt_topology *import(const char *text, const rlt_import *stated)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_read("f", text, strlen(text), stated, &t, &err))
        fail_msg("%s: %s\n%s", err.where, err.what, text);
    return t;
}

/* Checks the only link from one node to another; 0: there is none. */
static void link_is(const rlt_topology *t, const char *from, const char *to, uint64_t bw_Bps,
                    rlt_time latency_ps)
{
    uint32_t src = rlt_topology_find_node(t, from), dst = rlt_topology_find_node(t, to), found = 0;
    assert_true(src != RLT_NONE && dst != RLT_NONE);
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        if (l.src != src || l.dst != dst)
            continue;
        if (l.bw_Bps != bw_Bps || l.latency_ps != latency_ps)
            fail_msg("%s to %s: %.0f B/s, %.0f ps", from, to, (double)l.bw_Bps, (double)l.latency_ps);
        found++;
    }
    if (found != (bw_Bps > 0))
        fail_msg("%u links from %s to %s", found, from, to);
}

static void cable_is(const rlt_topology *t, const char *a, const char *b, uint64_t bw_Bps,
                     rlt_time latency_ps)
{
    link_is(t, a, b, bw_Bps, latency_ps);
    link_is(t, b, a, bw_Bps, latency_ps);
}

/* Checks the node through which one GPU reaches another in two links. */
static void goes_through(const rlt_topology *t, uint32_t src, uint32_t dst, const char *node)
{
    rlt_placement p;
    rlt_router *r = NULL;
    rlt_path path;
    assert_int_equal(rlt_placement_identity(t, rlt_topology_accelerators(t), &p, NULL), 0);
    assert_int_equal(rlt_router_create(t, &p, RLT_ROUTE_DMODK, &r, NULL), 0);
    assert_int_equal(rlt_route(r, src, dst, 0, &path), 0);
    assert_int_equal(path.n, 2);
    assert_int_equal(rlt_topology_link(t, path.links[0]).dst, rlt_topology_find_node(t, node));
    rlt_router_free(r);
    rlt_placement_free(&p);
}

/* ---- rocm-smi --showtopo */

#define HEAD    "      GPU0 GPU1 GPU2 GPU3\n"
#define WEIGHTS "===== Weight between two GPUs =====\n" HEAD
#define HOPS    "===== Hops between two GPUs =====\n" HEAD
#define TYPES   "===== Link Type between two GPUs =====\n" HEAD
#define LINE_TYPE                                                                                            \
    "GPU0 0 XGMI XGMI PCIE\nGPU1 XGMI 0 XGMI PCIE\nGPU2 XGMI XGMI 0 PCIE\nGPU3 PCIE PCIE PCIE 0\n"
#define LINE_HOPS "GPU0 0 1 2 2\nGPU1 1 0 1 2\nGPU2 2 1 0 2\nGPU3 2 2 2 0\n"
#define NUMA      "===== Numa Nodes =====\n"

/* GPU 0 - GPU 1 - GPU 2 over xGMI; GPU 3 behind the CPU of another NUMA node. Three ways to write nodes; a
 * node that is not known (-1) is one of its own. */
static const char line[] =
    "some words before\n\n"
    "GPU0 is no matrix yet\n" WEIGHTS
    "GPU0 0 15 30 72\nGPU1 15 0 15 72\nGPU2 30 15 0 N/A\nGPU3 72 72 72 0\n\n" HOPS LINE_HOPS
    "a line between\nGPU[1] : Numa Node: 5\n" TYPES LINE_TYPE "GPU[0] : Numa Node: 6\n" NUMA
    "GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[0]\t\t: (Topology) Numa Affinity: 7\n"
    "GPU 1 : (Topology) Numa Node: 0 \r\nGPU[2] : (Topology) Numa Node: -1\n"
    "GPU[3] : (Topology) Numa Node: 19\n"
    "GPU[9] : (Topology) Numa Node: 3\nGPU[99999999] : Numa Node: 3\n==== End ====\n";

static void a_line_of_gpus(void **state)
{
    (void)state;
    rlt_topology *t = import(line, NULL);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    /* CPUs of node 0, of the unknown one and of node 19. Cables: 2 xGMI, 4 to CPUs, 3 between CPUs. */
    assert_int_equal(rlt_topology_nodes(t), 4 + 3);
    assert_int_equal(rlt_topology_links(t), 2 * (2 + 4 + 3));
    cable_is(t, "gpu0", "gpu1", 48 * GB, 200000);
    cable_is(t, "gpu1", "gpu2", 48 * GB, 200000);
    cable_is(t, "gpu0", "gpu2", 0, 0);
    cable_is(t, "gpu0", "cpu0", 48 * GB, 200000);
    cable_is(t, "gpu1", "cpu0", 48 * GB, 200000);
    cable_is(t, "gpu2", "cpu1", 48 * GB, 200000);
    cable_is(t, "gpu3", "cpu2", 48 * GB, 200000);
    cable_is(t, "cpu0", "cpu1", 16 * GB, 0);
    cable_is(t, "cpu0", "cpu2", 16 * GB, 0);
    cable_is(t, "cpu1", "cpu2", 16 * GB, 0);
    goes_through(t, 0, 2, "gpu1");
    goes_through(t, 2, 0, "gpu1");
    assert_non_null(strstr(rlt_topology_source(t), "4 GPUs; xGMI at 48 GB/s (ASSUMED"));
    assert_non_null(strstr(rlt_topology_source(t), "(ASSUMED). 1 pairs without an xGMI link"));
    rlt_topology_free(t);
    t = import(line, &(rlt_import){.xgmi_Bps = 50 * GB, .pcie_Bps = 30 * GB, .cpu_Bps = 20 * GB});
    cable_is(t, "gpu0", "gpu1", 50 * GB, 200000);
    cable_is(t, "gpu3", "cpu2", 30 * GB, 200000);
    cable_is(t, "cpu1", "cpu2", 20 * GB, 0);
    assert_non_null(strstr(rlt_topology_source(t), "50 GB/s (given)"));
    assert_non_null(strstr(rlt_topology_source(t), "20 GB/s (given)"));
    rlt_topology_free(t);
    t = import(line, &(rlt_import){.pcie_Bps = 30 * GB});
    assert_non_null(strstr(rlt_topology_source(t), "between CPUs 16 GB/s (ASSUMED)"));
    rlt_topology_free(t);
}

/* Without hops, a pair of more than the least weight has no link. */
static void weights_alone(void **state)
{
    static const char square[] =
        WEIGHTS "GPU0 0 15 30 15\nGPU1 15 0 15 30\nGPU2 30 15 0 15\nGPU3 15 30 15 0\n" TYPES
                "GPU0 0 XGMI XGMI XGMI\nGPU1 XGMI 0 XGMI XGMI\nGPU2 XGMI XGMI 0 XGMI\nGPU3 XGMI XGMI XGMI 0";
    (void)state;
    rlt_topology *t = import(square, NULL);
    cable_is(t, "gpu0", "gpu1", 48 * GB, 200000);
    cable_is(t, "gpu3", "gpu0", 48 * GB, 200000);
    cable_is(t, "gpu0", "gpu2", 0, 0);
    cable_is(t, "gpu1", "gpu3", 0, 0);
    assert_non_null(strstr(rlt_topology_source(t), " 2 pairs without an xGMI link"));
    rlt_topology_free(t);
    t = import("Link Type between two GPUs\n\tGPU0\tGPU1\nGPU0\t0\tXGMI\nGPU1\tXGMI\t0\n", NULL);
    cable_is(t, "gpu0", "gpu1", 48 * GB, 200000);
    rlt_topology_free(t);
}

/* Text is a table, JSON is a list with links. */
static void recognised(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"Link Type between two GPUs", true},
                {"{ Link Type between two GPUs", false},
                {"[ Link Type between two GPUs", false},
                {"[\"link_type\"]", false},
                {"[\"links\"]", false},
                {"[\"link_type\", \"links\"]", true},
                {"{\"link_type\", \"links\"}", false},
                {"", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rlt__topo_amd_smi_is(rows[i].text, strlen(rows[i].text)), rows[i].is);
}

/* One GPU hangs on a CPU, so that it has a link. */
static void one_gpu(void **state)
{
    (void)state;
    rlt_topology *t = import("== Link Type between two GPUs ==\n GPU0\nGPU0 0\n", NULL);
    assert_int_equal(rlt_topology_accelerators(t), 1);
    assert_int_equal(rlt_topology_nodes(t), 2);
    cable_is(t, "gpu0", "cpu0", 48 * GB, 200000);
    rlt_topology_free(t);
}

/* The protocols, also of machines that NCCL or nvidia-smi describes, have NCCL's ring constants, and are otherwise as a file that states no more would have them. */
static void protocols_of_machines(void **state)
{
    static const struct {
        const char *name;
        rlt_time message_ps;
        uint32_t wire_num, wire_den;
    } rows[] = {{"LL", 600000, 16, 8}, {"LL128", 1900000, 128, 120}, {"Simple", 3400000, 1, 1}};
    static const char *const machines[] = {
        "== Link Type between two GPUs ==\n GPU0\nGPU0 0\n",
        "<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x0302\"><gpu dev=\"0\"/>"
        "</pci></cpu></system>",
        "GPU0 CPU\nGPU0 X\n"};
    (void)state;
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        rlt_topology *t = import(machines[k], NULL);
        const rlt_endpoint *e = rlt_topology_endpoint(t);
        assert_int_equal(e->launch_ps, 6600000);
        assert_int_equal(e->n_protocols, 3);
        for (uint32_t i = 0; i < 3; i++) {
            const rlt_protocol *p = &e->protocols[i], usual = rlt_protocol_default();
            assert_string_equal(p->name, rows[i].name);
            assert_int_equal(p->message_ps, rows[i].message_ps);
            assert_true(p->wire_num == rows[i].wire_num && p->wire_den == rows[i].wire_den);
            assert_true(p->share_ppm == usual.share_ppm && p->fill_ppm == usual.fill_ppm);
            assert_true(p->serves == usual.serves && p->channel_bytes == usual.channel_bytes);
            assert_true(p->limit_bytes == usual.limit_bytes && p->fill_bytes == usual.fill_bytes);
        }
        rlt_topology_free(t);
    }
}

/* Three quarters of the greatest bandwidth remain; a pair that states none takes what is assumed. */
static void bandwidths(void **state)
{
    static const char text[] = "== Link Type between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 XGMI XGMI\n"
                               "GPU1 XGMI 0 XGMI\nGPU2 XGMI XGMI 0\n== Bandwidth between two GPUs ==\n"
                               " GPU0 GPU1 GPU2\nGPU0 N/A 50000-100000 N/A\nGPU1 50000-100000 0 80000\n"
                               "GPU2 0 80000 N/A\n";
    (void)state;
    rlt_topology *t = import(text, NULL);
    assert_int_equal(rlt_topology_nodes(t), 3);
    assert_int_equal(rlt_topology_links(t), 6);
    cable_is(t, "gpu0", "gpu1", 75 * GB, 200000);
    cable_is(t, "gpu1", "gpu2", 60 * GB, 200000);
    cable_is(t, "gpu0", "gpu2", 48 * GB, 200000);
    assert_non_null(strstr(rlt_topology_source(t), "xGMI at three quarters of the stated bandwidth;"));
    rlt_topology_free(t);
    t = import(text, &(rlt_import){.xgmi_Bps = 10 * GB});
    cable_is(t, "gpu0", "gpu1", 10 * GB, 200000);
    rlt_topology_free(t);
    t = import("== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
               "== Bandwidth between two GPUs ==\nGPU0 0 10000000\nGPU1 10000000-10000000 0\n",
               NULL); /* the largest one */
    cable_is(t, "gpu0", "gpu1", 7500 * GB, 200000);
    rlt_topology_free(t);
}

/* ---- amd-smi topology --json */

#define LINK(gpu, type, more) "{\"gpu\": " gpu ", \"link_type\": \"" type "\"" more "}"
#define GPU(gpu, links)       "{\"gpu\": " gpu ", \"links\": [" links "]}"

#define APART  ",\"num_hops\": 2, \"weight\": 20"
#define STATED ",\"bandwidth\": \"1-64000\""
#define FIRST                                                                                                \
    GPU("0", LINK("0", "SELF", "") "," LINK("1", "XGMI", STATED) "," LINK("2", "PCIE",                       \
                                                                          APART ",\"bandwidth\": \"N/A\""))
#define SECOND GPU("1", LINK("0", "XGMI", STATED ",\"num_hops\": \"N/A\"") "," LINK("2", "XGMI", APART))
#define THIRD  GPU("2", LINK("0", "PCIE", APART) "," LINK("1", "XGMI", APART))

static void json(void **state)
{
    static const char text[] = " \r\n\t[" FIRST "," SECOND "," THIRD "]";
    (void)state;
    rlt_topology *t = import(text, NULL);
    assert_int_equal(rlt_topology_accelerators(t), 3);
    assert_int_equal(rlt_topology_nodes(t), 3 + 1); /* NUMA nodes are not told: all GPUs on one CPU */
    cable_is(t, "gpu0", "gpu1", 48 * GB, 200000);
    cable_is(t, "gpu1", "gpu2", 0, 0); /* two hops */
    cable_is(t, "gpu2", "cpu0", 48 * GB, 200000);
    rlt_topology_free(t);
}

/* GPUs of two NUMA nodes without a link meet over their CPUs. */
static void apart(void **state)
{
    static const char text[] =
        "===== Weight between two GPUs =====\n GPU0 GPU1\nGPU0 0 72\nGPU1 72 0\n"
        "===== Hops between two GPUs =====\n GPU0 GPU1\nGPU0 0 2\nGPU1 2 0\n"
        "===== Link Type between two GPUs =====\n GPU0 GPU1\nGPU0 0 PCIE\nGPU1 PCIE 0\n" NUMA
        "GPU[0] : (Topology) Numa Node: 0\nGPU[1] : (Topology) Numa Node: 1\n";
    (void)state;
    rlt_topology *t = import(text, NULL);
    assert_int_equal(rlt_topology_nodes(t), 2 + 2);
    assert_int_equal(rlt_topology_links(t), 2 * 3);
    rlt_topology_free(t);
}

/* A weight that is not stated is no least weight. */
static void json_without_weights(void **state)
{
    static const char text[] =
        "[" GPU("0", LINK("1", "XGMI", "") "," LINK("2", "XGMI", ", \"weight\": 40")) "," GPU(
            "1", LINK("0", "XGMI", "") "," LINK(
                     "2", "XGMI", ", \"weight\": 20")) "," GPU("2",
                                                               LINK("0", "XGMI", ", \"weight\": 40") "," LINK(
                                                                   "1", "XGMI", ", \"weight\": 20")) "]";
    (void)state;
    rlt_topology *t = import(text, NULL);
    cable_is(t, "gpu0", "gpu1", 48 * GB, 200000);
    cable_is(t, "gpu1", "gpu2", 48 * GB, 200000);
    cable_is(t, "gpu0", "gpu2", 0, 0);
    rlt_topology_free(t);
}

static void wrong(void **state)
{
    static const struct {
        const char *text, *where, *what;
    } rows[] = {
        {TYPES, "f", "no type of link from GPU 0 to GPU 1"},
        {"Link Type between two GPUs\n", "f:1", "no matrix of rocm-smi --showtopo"},
        {TYPES "GPU1 0 0 0 0\n", "f:3", "expected a row for each GPU with an entry for each, got 'GPU1'"},
        {TYPES "GPU0 0 0 0\n", "f:3", "expected a row for each GPU"},
        {TYPES "GPU0 0 0 0 0 0\n", "f:3", "expected a row for each GPU"},
        {TYPES LINE_TYPE "GPU4 0 0 0 0\n", "f:7", "expected a row for each GPU"},
        {TYPES "GPU0 0 0123456789012345678901234567890123456789x 0 0\n", "f:3",
         "XGMI or PCIE, got '0123456789012345678901234567890123456789'"},
        {TYPES "GPU0 0 LINK 0 0\n", "f:3", "expected a type of link, XGMI or PCIE, got 'LINK'"},
        {TYPES LINE_TYPE "Hops between two GPUs\nGPU0 GPU1 GPU2\n", "f:8",
         "the matrices have different sizes"},
        {TYPES LINE_TYPE WEIGHTS "GPU0 0 123456789 0 0\n", "f:9", "expected a number, got '123456789'"},
        {TYPES LINE_TYPE WEIGHTS "GPU0 0 x 0 0\n", "f:9", "expected a number, got 'x'"},
        {TYPES "Bandwidth between two GPUs\nGPU0 0 -5 0 0\n", "f:4",
         "expected a bandwidth LOW-HIGH in MB/s, got '-5'"},
        {TYPES "Bandwidth between two GPUs\nGPU0 0 5- 0 0\n", "f:4", "expected a bandwidth"},
        {TYPES "Bandwidth between two GPUs\nGPU0 0 6-5 0 0\n", "f:4", "expected a bandwidth"},
        {TYPES "Bandwidth between two GPUs\nGPU0 0 0-10000001 0 0\n", "f:4", "expected a bandwidth"},
        {TYPES LINE_TYPE HOPS "GPU0 0 1 2 2\nGPU1 2 0 1 2\nGPU2 2 1 0 2\nGPU3 2 2 2 0\n", "f",
         "the entry from GPU 0 to GPU 1 differs from the entry back"},
        {TYPES "GPU0 0 XGMI XGMI PCIE\nGPU1 XGMI 0 XGMI PCIE\nGPU2 XGMI XGMI 0 PCIE\nGPU3 PCIE PCIE XGMI 0\n",
         "f", "the entry from GPU 2 to GPU 3 differs"},
        {"[{\"gpu\": 0, \"links\": 5, \"link_type\": 0}]", "f:1:2: [0]",
         "expected links, as amd-smi topology --json"},
        {"[" GPU("0", LINK("1", "XGMI", "")) "]", "f:1:31: [0].links[0].gpu", "from 0 to 0, got 1"},
        {"[" GPU("1", LINK("0", "XGMI", "")) "]", "f:1:10: [0].gpu", "from 0 to 0, got 1"},
        {"[" GPU("0", LINK("0", "ZGMI", "")) "]", "f:1", "got 'ZGMI'"},
        {"[" GPU("0", LINK("0", "SELF", ", \"num_hops\": -1")) "]", "f:1:67: [0].links[0].num_hops",
         "got -1"},
        {"[" GPU("0", LINK("0", "SELF", ", \"bandwidth\": \"2-1\"")) "]", "f:1", "got '2-1'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        int rc = rlt_topology_read("f", rows[i].text, strlen(rows[i].text), NULL, &t, &err);
        if (rc != RLT_ESCHEMA && rc != RLT_ERANGE)
            fail_msg("%d for %s", rc, rows[i].text);
        if (strcmp(err.where, rows[i].where) != 0 || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
        assert_null(t);
    }
}

/* A matrix of 256 GPUs is read, one of 257 or 300 is not. */
static void sizes(void **state)
{
    char text[4000];
    (void)state;
    for (int n = 256; n <= 300; n += n == 256 ? 1 : 43) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        size_t used = (size_t)snprintf(text, sizeof text, "Link Type between two GPUs\n");
        for (int i = 0; i < n; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "GPU%d ", i);
        assert_int_equal(rlt_topology_read("f", text, used, NULL, &t, &err), RLT_ESCHEMA);
        assert_non_null(
            strstr(err.what, n == 256 ? "no type of link from GPU 0 to GPU 1" : "more than 256 GPUs"));
    }
}

/* A list that has only one of the words of amd-smi is none of its lists: it is read as ringlet's own format. */
static void other_lists(void **state)
{
    static const char *const texts[] = {"[{\"gpu\": 0, \"links\": 5}]", "[{\"gpu\": 0, \"link_type\": 5}]",
                                        "[]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        assert_int_not_equal(rlt_topology_read("f", texts[i], strlen(texts[i]), NULL, &t, &err), 0);
        assert_null(strstr(err.what, "amd-smi"));
        assert_null(strstr(err.where, "[0].gpu"));
        assert_null(strstr(err.where, "[0].links"));
        assert_null(t);
    }
}

/* ---- random machines in both words */

enum { MOST = 7, CASES = 400, ROOM = 16000 };

typedef struct machine {
    uint32_t n;
    struct {
        bool xgmi;
        uint32_t hops, weight, high_MBps; /* hops and the rest are 0 if not told */
    } pair[MOST][MOST];
    bool hops, weights, rates;
} machine;

static void draw(machine *m, dice *d)
{
    *m = (machine){
        .n = 2 + below(d, MOST - 1), .hops = below(d, 2), .weights = below(d, 2), .rates = below(d, 2)};
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            m->pair[i][k].xgmi = below(d, 4) > 0;
            m->pair[i][k].hops = m->hops ? 1 + (below(d, 3) == 0) : 0;
            m->pair[i][k].weight = m->weights ? 10 + 5 * below(d, 3) : 0;
            m->pair[i][k].high_MBps = m->rates && below(d, 3) ? 1 + below(d, 10000000) : 0;
            m->pair[k][i] = m->pair[i][k];
        }
}

static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, ROOM - used, format, list);
    va_end(list);
}

static const char *blank(dice *d)
{
    static const char *const blanks[] = {" ", "  ", "\t", " \t "};
    return blanks[below(d, 4)];
}

enum { TYPE, HOP, WEIGHT, RATE };

static void add_matrix(char *text, const machine *m, dice *d, int what)
{
    static const char *const titles[] = {"= Link Type between two GPUs =", "Hops between two GPUs",
                                         "Weight between two GPUs", "== Bandwidth between two GPUs"};
    const char *end = below(d, 2) ? "\r\n" : "\n";
    add(text, "%s%s", titles[what], end);
    if (what == TYPE || below(d, 2))
        for (uint32_t i = 0; i < m->n; i++)
            add(text, "%sGPU%u%s", blank(d), i, i + 1 < m->n ? "" : end);
    for (uint32_t i = 0; i < m->n; i++) {
        if (below(d, 4) == 0)
            add(text, "words%s%s", blank(d), end);
        add(text, "%sGPU%u", below(d, 2) ? blank(d) : "", i);
        for (uint32_t k = 0; k < m->n; k++) {
            add(text, "%s", blank(d));
            if (what == TYPE)
                add(text, i == k ? "0" : m->pair[i][k].xgmi ? "XGMI" : "PCIE");
            else if (what == RATE && m->pair[i][k].high_MBps && below(d, 2))
                add(text, "%u", m->pair[i][k].high_MBps);
            else if (what == RATE && m->pair[i][k].high_MBps)
                add(text, "%u-%u", below(d, m->pair[i][k].high_MBps + 1), m->pair[i][k].high_MBps);
            else if (what == RATE)
                add(text, below(d, 2) ? "N/A" : "0");
            else
                add(text, "%u", what == HOP ? m->pair[i][k].hops : m->pair[i][k].weight);
        }
        add(text, "%s%s", below(d, 2) ? blank(d) : "", end);
    }
}

static void in_matrices(char *text, const machine *m, dice *d)
{
    *text = '\0';
    add_matrix(text, m, d, TYPE);
    if (m->rates)
        add_matrix(text, m, d, RATE);
    if (m->weights)
        add_matrix(text, m, d, WEIGHT);
    if (m->hops)
        add_matrix(text, m, d, HOP);
}

static void in_json(char *text, const machine *m, dice *d)
{
    *text = '\0';
    add(text, "[");
    for (uint32_t i = 0; i < m->n; i++) {
        add(text, "%s{\"gpu\": %u, \"links\": [", i ? "," : "", i);
        for (uint32_t k = 0; k < m->n; k++) {
            add(text, "%s{\"gpu\": %u, \"link_type\": \"%s\"", k ? ", " : "", k,
                i == k               ? "SELF"
                : m->pair[i][k].xgmi ? "XGMI"
                                     : "PCIE");
            if (m->hops || below(d, 2))
                add(text, m->hops ? ", \"num_hops\": %u" : ", \"num_hops\": \"N/A\"", m->pair[i][k].hops);
            if (m->weights || below(d, 2))
                add(text, m->weights ? ", \"weight\": %u" : ", \"weight\": null", m->pair[i][k].weight);
            if (m->pair[i][k].high_MBps || below(d, 2))
                add(text, m->pair[i][k].high_MBps ? ", \"bandwidth\": \"0-%u\"" : ", \"bandwidth\": \"N/A\"",
                    m->pair[i][k].high_MBps);
            add(text, "}");
        }
        add(text, "]}");
    }
    add(text, "]");
}

/* Pairs of one hop and the least weight have a cable of three quarters of its rate, in both ways of writing. */
static void random_machines(void **state)
{
    static char text[2][ROOM];
    dice d = {.seed = 1};
    (void)state;
    for (uint32_t c = 0; c < CASES; c++) {
        machine m;
        uint32_t least = UINT32_MAX;
        draw(&m, &d);
        in_matrices(text[0], &m, &d);
        in_json(text[1], &m, &d);
        assert_true(strlen(text[0]) + 1 < ROOM && strlen(text[1]) + 1 < ROOM);
        for (uint32_t i = 0; i < m.n; i++)
            for (uint32_t k = 0; k < m.n; k++)
                if (m.pair[i][k].xgmi && m.pair[i][k].weight && m.pair[i][k].weight < least)
                    least = m.pair[i][k].weight;
        rlt_topology *one = import(text[0], NULL), *other = import(text[1], NULL);
        for (uint32_t i = 0; i < m.n; i++)
            for (uint32_t k = 0; k < i; k++) {
                char a[20], b[20];
                bool joined = m.pair[i][k].xgmi && m.pair[i][k].hops <= 1 && m.pair[i][k].weight <= least;
                uint64_t rate = m.pair[i][k].high_MBps ? m.pair[i][k].high_MBps * UINT64_C(750000) : 48 * GB;
                snprintf(a, sizeof a, "gpu%u", i);
                snprintf(b, sizeof b, "gpu%u", k);
                cable_is(one, a, b, joined ? rate : 0, joined ? 200000 : 0);
            }
        test_same_topology(one, other);
        rlt_topology_free(one);
        rlt_topology_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_machines),
        cmocka_unit_test(a_line_of_gpus),
        cmocka_unit_test(weights_alone),
        cmocka_unit_test(recognised),
        cmocka_unit_test(one_gpu),
        cmocka_unit_test(protocols_of_machines),
        cmocka_unit_test(bandwidths),
        cmocka_unit_test(json),
        cmocka_unit_test(json_without_weights),
        cmocka_unit_test(apart),
        cmocka_unit_test(wrong),
        cmocka_unit_test(sizes),
        cmocka_unit_test(other_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
