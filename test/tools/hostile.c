/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged input of every format: good files are truncated, flipped, spliced and given hostile numbers,
 * thousands of times from a fixed seed. A reader may accept or refuse the result. It must not crash, hang or
 * leak. A refusal is a negative code with a place and one line that says what is wrong. Accepted input must
 * be usable: topologies are analysed, exported and routed, programs replayed.
 *
 * HOSTILE_ROUNDS multiplies the rounds, HOSTILE_SEED changes the seed. The input of a failing round is kept
 * in a file.
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
#include <zlib.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/import/read.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/late.h"
#include "sim/text/file.h"
#include "test/support/transformer.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"
#include "workload/replay/replay.h"
#include "workload/timing/loggops.h"
#include "workload/timing/timing.h"

enum { MAX_BYTES = 1 << 16, ROUND_SECONDS = 60 };

static char dir[] = "/tmp/ringlet-hostile-XXXXXX";
static char at[64]; /* name of the file of the round */
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

/* ---- damage */

typedef struct bytes {
    size_t n;
    char at[MAX_BYTES + 1];
} bytes;

/* Replaces `out` bytes at `where` by `n` of `with`. */
static void splice(bytes *b, size_t where, size_t out, const char *with, size_t n)
{
    if (where + out > b->n || b->n - out + n > MAX_BYTES)
        return;
    memmove(b->at + where + n, b->at + where + out, b->n - where - out);
    memcpy(b->at + where, with, n);
    b->n += n - out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void hostile_number(bytes *b)
{
    static const char *const numbers[] = {"-1",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "255",
                                          "65536",
                                          "1e999",
                                          "1e-999",
                                          "0.1",
                                          "NaN",
                                          "Infinity",
                                          "null",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          "[[[]]]",
                                          "00",
                                          "2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "123456789012345678901234567890123456789012345678901234567890",
                                          "%s%n"};
    const char *with = numbers[draw(sizeof numbers / sizeof *numbers)];
    size_t from = draw(b->n), end;
    while (from < b->n && !is_digit(b->at[from]))
        from++;
    for (end = from; end < b->n && is_digit(b->at[end]);)
        end++;
    splice(b, from, end - from, with, strlen(with));
}

/* Copies one stretch over another, so that keys, words and elements meet in unusual ways. */
static void transplant(bytes *b)
{
    char piece[256];
    size_t from = draw(b->n), n = 1 + draw(sizeof piece - 1), to = draw(b->n);
    if (n > b->n - from)
        n = b->n - from;
    memcpy(piece, b->at + from, n);
    size_t out = draw(2) ? 0 : draw(n + 1);
    splice(b, to, out < b->n - to ? out : b->n - to, piece, n);
}

static void damage(bytes *b)
{
    static const char marks[] = "{}[]\",:<>/=\n\\-#*@&;\0";
    char c;
    if (b->n == 0)
        return;
    size_t where = draw(b->n), n = 1 + draw(8);
    switch (draw(9)) {
    case 0:
        b->n = where;
        break;
    case 1:
        for (size_t i = 0; i < n; i++)
            b->at[draw(b->n)] ^= (char)(1 << draw(8));
        break;
    case 2:
        for (size_t i = 0; i < n; i++) {
            c = (char)draw(256);
            splice(b, where, 0, &c, 1);
        }
        break;
    case 3:
        n = 1 + draw(64);
        splice(b, where, n < b->n - where ? n : b->n - where, "", 0);
        break;
    case 4:
        b->at[where] = marks[draw(sizeof marks - 1)];
        break;
    case 5:
        b->at[where] = (char)(draw(2) ? 0xff : 0x80);
        break;
    case 6:
        transplant(b);
        break;
    default:
        hostile_number(b);
    }
}

/* ---- one round */

static void write_bytes(const bytes *b, bool compressed)
{
    if (compressed) {
        gzFile z = gzopen(at, "wb");
        assert_non_null(z);
        assert_int_equal(gzwrite(z, b->at, (unsigned)b->n), b->n);
        gzclose(z);
        return;
    }
    FILE *f = fopen(at, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->at, 1, b->n, f), b->n);
    fclose(f);
}

/* Checks that a refusal says where and what in one line. */
static void judge(int rc, const rlt_error *err)
{
    if (rc == 0)
        return;
    assert_true(rc < 0);
    assert_int_equal(err->code, rc);
    assert_true(err->where[0] && err->what[0]);
    for (const char *s = err->where; *s; s++)
        assert_true((unsigned char)*s >= 0x20);
    for (const char *s = err->what; *s; s++)
        assert_true((unsigned char)*s >= 0x20);
}

/* The same; the place must be in the file. */
static void judge_file(int rc, const rlt_error *err)
{
    judge(rc, err);
    assert_true(rc == 0 || strstr(err->where, at));
}

typedef void attempt(const bytes *b);

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void torture(const char *good, size_t n, uint32_t rounds, attempt *try)
{
    static bytes b;
    static int n_tests;
    snprintf(at, sizeof at, "%s/input-%d", dir, n_tests++);
    uint64_t seed = setting("HOSTILE_SEED", 1), total = rounds * setting("HOSTILE_ROUNDS", 1);
    assert_true(n <= MAX_BYTES);
    for (uint64_t i = 0; i < total; i++) {
        state = seed << 32 ^ i;
        memcpy(b.at, good, n);
        b.n = n;
        for (uint64_t k = i ? 1 + draw(3) : 0; k > 0; k--)
            damage(&b);
        b.at[b.n] = '\0';
        write_bytes(&b, false);
        alarm(ROUND_SECONDS);
        try(&b);
        alarm(0);
    }
    unlink(at);
}

/* ---- topologies */

static void use_routes(const rlt_topology *t)
{
    static const rlt_routing kinds[] = {RLT_ROUTE_DMODK, RLT_ROUTE_ECMP, RLT_ROUTE_SPRAY};
    uint32_t n = rlt_topology_accelerators(t);
    rlt_placement place = {0};
    rlt_error err = {0};
    assert_int_equal(rlt_placement_identity(t, n, &place, &err), 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        rlt_router *router = NULL;
        rlt_path path;
        assert_int_equal(rlt_router_create(t, &place, kinds[k], &router, &err), 0);
        for (int i = 0; i < 8; i++) {
            int rc = rlt_route(router, (uint32_t)draw(n), (uint32_t)draw(n), draw(4), &path);
            assert_true(rc == 0 || rc == RLT_ETOPOLOGY);
            for (uint32_t l = 0; rc == 0 && l < path.n; l++)
                assert_true(path.links[l] < rlt_topology_links(t));
        }
        rlt_router_free(router);
    }
    rlt_placement_free(&place);
}

static void use_topology(rlt_topology *t)
{
    rlt_topology_facts facts;
    rlt_error err = {0};
    char *text = NULL;
    assert_true(rlt_topology_accelerators(t) > 0);
    if (rlt_topology_links(t) <= 4096) {
        for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
            rlt_link l = rlt_topology_link(t, i);
            assert_true(l.bw_Bps > 0 && l.latency_ps >= 0);
            assert_true(l.src < rlt_topology_nodes(t) && l.dst < rlt_topology_nodes(t));
        }
        judge(rlt_topology_analyse(t, &facts, &err), &err);
        if (draw(8) == 0) {
            rlt_topology *again = NULL;
            assert_int_equal(rlt_topology_export(t, "json", &text, &err), 0);
            if (rlt_topology_from_json("exported", text, strlen(text), NULL, &again, &err))
                fail_msg("what was exported is refused: %s: %s", err.where, err.what);
            assert_int_equal(rlt_topology_links(again), rlt_topology_links(t));
            rlt_topology_free(again);
            free(text);
            assert_int_equal(rlt_topology_to_infragraph(t, &text, &err), 0);
            if (rlt_topology_read("written", text, strlen(text), NULL, &again, &err))
                fail_msg("what was written is refused: %s: %s", err.where, err.what);
            assert_int_equal(rlt_topology_links(again), rlt_topology_links(t));
            rlt_topology_free(again);
            free(text);
        }
        use_routes(t);
    }
    rlt_topology_free(t);
}

static void try_topology(const bytes *b)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)b;
    int rc = rlt_topology_load(at, NULL, &t, &err);
    judge_file(rc, &err);
    assert_int_equal(rc == 0, t != NULL);
    if (t)
        use_topology(t);
}

static void try_compact(const bytes *b)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    judge(rlt_topology_from_compact(b->at, NULL, &t, &err), &err);
    if (t)
        use_topology(t);
}

static const char graph_json[] = "{\"name\": \"g\", \"dims\": [2, 2], \"nodes\": [{\"id\": \"a0\", \"kind\": "
                                 "\"accelerator\"}, {\"id\": \"a1\", "
                                 "\"kind\": \"accelerator\", \"forwards\": true},\n {\"id\": \"a2\", "
                                 "\"kind\": \"accelerator\"}, {\"id\": \"a3\", "
                                 "\"kind\": \"accelerator\"}, {\"id\": \"s\", \"kind\": \"switch\"}],\n "
                                 "\"links\": [{\"src\": \"a0\", \"dst\": \"s\", "
                                 "\"bandwidth\": \"50GB/s\", \"latency\": \"500ns\"}, {\"src\": \"a1\", "
                                 "\"dst\": \"s\", \"bandwidth\": \"400Gbps\", "
                                 "\"latency\": \"0.5us\", \"count\": 2},\n {\"src\": \"a2\", \"dst\": \"s\", "
                                 "\"bandwidth\": \"50GB/s\", \"latency\": "
                                 "\"500ns\"}, {\"src\": \"a3\", \"dst\": \"s\", \"bandwidth\": \"50GB/s\", "
                                 "\"latency\": \"500ns\"}, {\"src\": \"a0\", "
                                 "\"dst\": \"a1\", \"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}], "
                                 "\"rings\": [[\"a0\", \"a1\", \"a2\", \"a3\"]]}\n";
static const char product_json[] = "{\"name\": \"p\", \"endpoint\": {\"injection\": \"nic\", \"message\": "
                                   "\"1us\", \"byte\": \"1ps\", \"protocol\": "
                                   "\"auto\", \"protocols\": [{\"name\": \"LL\", \"message\": \"0.6us\", "
                                   "\"wire\": \"16/8\"}]},\n \"dims\": [{\"shape\": "
                                   "\"ring\", \"size\": 4, \"bandwidth\": \"200GB/s\", \"latency\": "
                                   "\"500ns\"},\n {\"shape\": \"fat-tree\", \"size\": 8, "
                                   "\"bandwidth\": \"50GB/s\", \"latency\": \"500ns\", \"levels\": 2, "
                                   "\"oversubscription\": 2, \"hosts_per_leaf\": 4},\n "
                                   "{\"shape\": \"torus\", \"size\": 4, \"link_bandwidth\": \"1GB/s\", "
                                   "\"latency\": \"1us\", \"sizes\": \"2x2\"}]}\n";
static const char yaml[] =
    "# two dimensions\ntopology: [ Ring, Switch ]\nnpus_count: [ 4, 4 ]\nbandwidth: [ 200.0, 50.0 "
    "]  # GB/s\nlatency: [ 500.0, 1.5e3 ]\n";
static const char compact_form[] =
    "ring:4@200GB/s,500ns*fat-tree:8@50GB/s,1us,hosts_per_leaf=4*torus:4@1GB/s,0ns,sizes=2x2";

static void json_graphs(void **unused)
{
    (void)unused;
    torture(graph_json, strlen(graph_json), 1500, try_topology);
}

static void json_products(void **unused)
{
    (void)unused;
    torture(product_json, strlen(product_json), 1500, try_topology);
}

static void graphml(void **unused)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    char *text = NULL;
    (void)unused;
    assert_int_equal(rlt_topology_from_json("g", graph_json, strlen(graph_json), NULL, &t, &err), 0);
    assert_int_equal(rlt_topology_export(t, "graphml", &text, &err), 0);
    rlt_topology_free(t);
    torture(text, strlen(text), 1500, try_topology);
    free(text);
}

static void astra_networks(void **unused)
{
    (void)unused;
    torture(yaml, strlen(yaml), 1500, try_topology);
}

static const char infragraph_yaml[] =
    "name: two\ndevices:\n- name: nic card\n  components:\n  - {name: slot, count: 1, choice: custom, custom: "
    "{type: x}}\n  - {name: port, count: 2, choice: port}\n  links:\n  - {name: chip, physical: {bandwidth: "
    "{gigabytes_per_second: 64}, latency: {choice: ns, ns: 10}}}\n  edges:\n  - {ep1: {component: slot}, ep2: "
    "{component: 'port[0:2:1]'}, scheme: many2many, link: chip}\n- name: host\n  components: [{name: xpu, count: "
    "2, choice: xpu}, {name: sw, count: 1, choice: switch}, {name: nic card, count: 1, choice: device}]\n  "
    "links: [{name: l, description: long\n    text, physical: {bandwidth: {gigabits_per_second: 400}, latency: "
    "{us: 0.5}}}]\n  edges:\n  - {ep1: {component: xpu}, ep2: {component: sw}, scheme: many2many, link: l}\n  - "
    "{ep1: {component: sw}, ep2: {device: 'nic card[0]', component: slot}, scheme: one2one, link: l}\ninstances: "
    "[{name: h, device: host, count: 2}]\nlinks: [{name: c, physical: {bandwidth: {gigabits_per_second: 400}, "
    "latency: {ms: 0.001}}}]\nedges:\n- {ep1: {instance: 'h[0]', component: 'nic card[0].port'}, ep2: {instance: "
    "'h[1]', component: nic card.port}, scheme: one2one, link: c}\n";

static void infragraphs(void **unused)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    char *text = NULL;
    (void)unused;
    torture(infragraph_yaml, strlen(infragraph_yaml), 2000, try_topology);
    assert_int_equal(rlt_topology_from_json("g", graph_json, strlen(graph_json), NULL, &t, &err), 0);
    assert_int_equal(rlt_topology_to_infragraph(t, &text, &err), 0);
    rlt_topology_free(t);
    torture(text, strlen(text), 2000, try_topology);
    free(text);
}

static const char rocm_smi[] =
    "===== Weight between two GPUs =====\n      GPU0 GPU1 GPU2\nGPU0 0 15 72\nGPU1 15 0 72\nGPU2 72 72 0\n"
    "===== Hops between two GPUs =====\n      GPU0 GPU1 GPU2\nGPU0 0 1 3\nGPU1 1 0 3\nGPU2 3 3 0\n"
    "===== Link Type between two GPUs =====\n      GPU0 GPU1 GPU2\nGPU0 0 XGMI PCIE\nGPU1 XGMI 0 PCIE\nGPU2 "
    "PCIE PCIE 0\n===== Numa Nodes =====\nGPU[0] : (Topology) Numa Node: 0\nGPU[1] : (Topology) Numa Node: "
    "1\n";
static const char amd_smi[] =
    "[{\"gpu\": 0, \"links\": [{\"gpu\": 0, \"weight\": 0, \"link_type\": \"SELF\"}, {\"gpu\": 1, "
    "\"weight\": 15, \"link_type\": \"XGMI\", \"num_hops\": 1, \"bandwidth\": \"50000-64000\"}]},\n"
    "{\"gpu\": 1, \"links\": [{\"gpu\": 0, \"weight\": 15, \"link_type\": \"XGMI\", \"num_hops\": 1, "
    "\"bandwidth\": \"N/A\"}, {\"gpu\": 1, \"link_type\": \"SELF\"}]}]";

static void amd_machines(void **unused)
{
    (void)unused;
    torture(rocm_smi, strlen(rocm_smi), 1500, try_topology);
    torture(amd_smi, strlen(amd_smi), 1500, try_topology);
}

static void compact_forms(void **unused)
{
    (void)unused;
    torture(compact_form, strlen(compact_form), 3000, try_compact);
}

/* ---- files read together with a topology */

static rlt_topology *network;

static void try_placement(const bytes *b)
{
    rlt_placement p = {0};
    rlt_error err = {0};
    (void)b;
    int rc = rlt_placement_load(at, network, &p, &err);
    judge_file(rc, &err);
    for (uint32_t r = 0; rc == 0 && r < p.n; r++)
        assert_true(rlt_placed(&p, r) < rlt_topology_accelerators(network));
    rlt_placement_free(&p);
}

static void placements(void **unused)
{
    static const char good[] =
        "{\"ranks\": [3, \"a0\", {\"accelerator\": \"a1\", \"nic\": \"s\"}, {\"accelerator\": 2}]}";
    rlt_error err = {0};
    (void)unused;
    assert_int_equal(rlt_topology_from_json("g", graph_json, strlen(graph_json), NULL, &network, &err), 0);
    torture(good, strlen(good), 2000, try_placement);
    rlt_topology_free(network);
}

static void try_system(const bytes *b)
{
    rlt_read_options opts = {.first_step = -1, .last_step = -1};
    rlt_timing *timing = NULL;
    rlt_error err = {0};
    (void)b;
    int rc = rlt_timing_astra(at, false, network, &opts, &timing, &err);
    judge_file(rc, &err);
    for (int kind = 0; rc == 0 && kind < 4; kind++) {
        rlt_coll_request req = {
            .kind = kind ? RLT_ALL_TO_ALL : RLT_ALL_REDUCE, .n = 16, .bytes = draw(1u << 30)};
        rlt_time t = -1;
        rlt_error why = {0};
        int rc2 = timing->duration(timing, &req, &t, &why);
        assert_true(rc2 <= 0 && (rc2 < 0 || t >= 0));
    }
    rlt_timing_free(timing);
}

static void astra_systems(void **unused)
{
    static const char good[] =
        "{\"scheduling-policy\": \"LIFO\", \"endpoint-delay\": 10, \"active-chunks-per-dimension\": 1, "
        "\"preferred-dataset-splits\": 4, \"all-reduce-implementation\": [\"ring\", \"halvingDoubling\"], "
        "\"all-gather-implementation\": [\"ring\", \"direct\"], \"reduce-scatter-implementation\": "
        "[\"ring\", "
        "\"doubleBinaryTree\"], \"all-to-all-implementation\": [\"direct\", \"ring\"], "
        "\"collective-optimization\": "
        "\"localBWAware\", \"local-mem-bw\": 1600, \"roofline-enabled\": 0, \"peak-perf\": 900}";
    rlt_error err = {0};
    (void)unused;
    assert_int_equal(rlt_topology_from_astra("y", yaml, strlen(yaml), &network, &err), 0);
    torture(good, strlen(good), 2000, try_system);
    rlt_topology_free(network);
}

/* ---- traces */

/* Replays at most a second of simulated time. A stall, an overflow or an impossible group is allowed. */
static void use_program(rlt_program *p, const rlt_topology *t)
{
    rlt_replay_options o = rlt_replay_options_default();
    rlt_replay *r = NULL;
    rlt_error err = {0};
    o.topology = t;
    o.model = &rlt_net_alpha_beta;
    o.until_ps = RLT_S;
    if (p->n_ranks <= rlt_topology_accelerators(t)) {
        int rc = rlt_replay_create(p, &o, &r, &err);
        if (rc == 0)
            rc = rlt_replay_run(r, &err);
        judge(rc, &err);
        rlt_replay_free(r);
    }
    rlt_program_free(p);
}

static const rlt_reader *reader;

static void try_trace(const bytes *b)
{
    static const rlt_replicate everyone = {RLT_NONE, 0};
    rlt_read_options o = {
        .first_step = -1, .last_step = -1, .replicate = &everyone, .n_replicate = 1, .n_ranks = 4};
    const char *path = at;
    rlt_program *p = NULL;
    rlt_error err = {0};
    char *facts = NULL;
    (void)b;
    int rc = reader->read(&path, 1, &o, &p, &err);
    judge(rc, &err);
    assert_int_equal(rc == 0, p != NULL);
    if (p)
        use_program(p, network);
    if (reader->check && draw(8) == 0) {
        err = (rlt_error){0};
        reader->check(&path, 1, &o, &facts, &err);
        free(facts);
    }
}

static void try_compressed(const bytes *b)
{
    static bytes z;
    write_bytes(b, true);
    FILE *f = fopen(at, "rb");
    assert_non_null(f);
    z.n = fread(z.at, 1, MAX_BYTES, f);
    fclose(f);
    for (uint64_t k = draw(3); k > 0; k--)
        damage(&z);
    write_bytes(&z, false);
    try_trace(&z);
}

static const char chakra_list[] =
    "{\"workload_graph\": [{\"Id\": 1, \"Name\": \"a \\\"{\", \"NodeType\": 4, \"data_deps\": [], "
    "\"runtime\": 100, \"is_cpu_op\": false},\n{\"Id\": 2, \"Name\": \"b\", \"NodeType\": 7, "
    "\"data_deps\": [1], \"comm_type\": 0, \"comm_size\": 4096, \"pg_name\": \"0\"}, {\"Id\": 3, "
    "\"Name\": \"c\", \"NodeType\": 5, \"data_deps\": [2], \"comm_src\": 0, \"comm_dst\": 1, "
    "\"comm_size\": 8}], \"ngpus\": 4}";
static const char chakra_messages[] =
    "{\"version\": \"0.0.4\"}{\"id\": \"1\", \"name\": \"a\", \"type\": \"COMP_NODE\", "
    "\"durationMicros\": \"7\", \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": false}]}\n{\"id\": "
    "\"2\", \"type\": \"COMM_COLL_NODE\", \"ctrlDeps\": [\"1\"], \"inputs\": {\"values\": \"[]\"}, "
    "\"attr\": [{\"name\": \"comm_size\", \"int64Val\": \"4096\"}, {\"name\": \"involved_dim\", "
    "\"boolList\": {\"values\": [true]}}]}";

static void chakra(void **unused)
{
    rlt_program *p = test_transformer(4, 2, 1);
    rlt_error err = {0};
    char path[64], *good = NULL;
    size_t n;
    (void)unused;
    assert_int_equal(rlt_chakra_write(p, dir, "t", &err), 0);
    rlt_program_free(p);
    snprintf(path, sizeof path, "%s/t.0.et", dir);
    assert_int_equal(rlt_read_file(path, MAX_BYTES, &good, &n, &err), 0);
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns", NULL, &network, &err), 0);
    reader = &rlt_reader_chakra;
    torture(good, n, 1500, try_trace);
    torture(good, n, 500, try_compressed);
    free(good);
    torture(chakra_list, strlen(chakra_list), 1500, try_trace);
    torture(chakra_messages, strlen(chakra_messages), 1500, try_trace);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/t.%d.et", dir, i);
        unlink(path);
    }
    rlt_topology_free(network);
}

#define EVENT(cat, name, pid, tid, ts, dur, args)                                                            \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts  \
    ",\"dur\":" #dur ",\"args\":{" args "}},\n"
#define CALL(name, ts, dur, n)      EVENT("cuda_runtime", name, 1, 1, ts, dur, "\"correlation\":" #n)
#define ON(stream, n)               "\"device\":0,\"stream\":" #stream ",\"correlation\":" #n
#define KERNEL(name, s, ts, dur, n) EVENT("kernel", name, 0, s, ts, dur, ON(s, n))
static const char kineto_json[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":0,\"world_size\":4,\"pg_count\":"
    "1,"
    "\"pg_config\":[{\"pg_name\":\"0\",\"ranks\":[0,1,2,3],\"pg_size\":4}]},\"traceEvents\":[\n" EVENT(
        "user_annotation", "ProfilerStep#3", 1, 1, 0, 900,
        "") CALL("cudaLaunchKernel", 10, 5, 1) KERNEL("gemm", 7, 20, 100, 1) CALL("cudaEventRecord", 16, 1, 2)
        CALL("cudaStreamWaitEvent", 18, 1, 3) EVENT(
            "cuda_sync", "Stream Wait Event", 0, 20, 18, 1,
            "\"stream\":20,\"correlation\":3,\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":2")
            CALL("cudaLaunchKernel", 30, 5, 4)
                EVENT("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, 130, 200,
                      "\"device\":0,\"stream\":20,\"correlation\":4,\"Collective name\":\"allreduce\","
                      "\"In msg nelems\":1000000,\"Out msg nelems\":1000000,\"dtype\":\"Float\",\"Group "
                      "size\":4,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1, 2, 3]\"")
                    CALL("cudaLaunchKernel", 50, 5, 5) KERNEL("ncclDevKernel_SendRecv", 20, 400, 90, 5)
                        CALL("cudaMemcpyAsync", 60, 5, 6)
                            EVENT("gpu_memcpy", "Memcpy DtoH", 0, 7, 520, 10, ON(7, 6))
                                CALL("cudaDeviceSynchronize", 70, 500,
                                     7) "{\"ph\":\"i\",\"pid\":\"x\",\"ts\":1}],\"baseTimeNanoseconds\":0}\n";

static void kineto(void **unused)
{
    rlt_error err = {0};
    (void)unused;
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns", NULL, &network, &err), 0);
    reader = &rlt_reader_kineto;
    torture(kineto_json, strlen(kineto_json), 1500, try_trace);
    torture(kineto_json, strlen(kineto_json), 500, try_compressed);
    rlt_topology_free(network);
}

/* A recording of Nsight Systems: a kernel and an all-reduce, with marks, payloads, synchronisations. */
static const char nsys_sql[] =
    "PRAGMA page_size = 512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, "
    "demangledName);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, "
    "copyKind);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, correlationId, "
    "globalPid, syncType, eventId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId, correlationId, globalPid, eventId);"
    "CREATE TABLE NVTX_EVENTS (start, end, text, globalTid, textId, domainId, binaryData);"
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, type, name, offset);"
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce'), (3, 'cudaLaunchKernel'), "
    "(4, 'cudaDeviceSynchronize'), (5, 'cudaEventRecord'), (6, 'cudaStreamWaitEvent');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 9000, 0, 7, 1, 1677721600, 1), "
    "(9000, 30000, 0, 20, 4, 1677721600, 2), (31000, 32000, 0, 20, 5, 1677721600, 2);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (40000, 41000, 0, 7, 8, 1677721600, 2);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 1677721700, 1, 3), (1600, 1700, 1677721700, "
    "2, 5), (1800, 1900, 1677721700, 3, 6), (2100, 2200, 1677721700, 4, 3), (2600, 2700, 1677721700, 5, 3), "
    "(5000, 33000, 1677721700, 6, 4);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1800, 1900, 0, 20, 3, 1677721600, 2, 9), (5000, "
    "33000, 0, -1, 6, 1677721600, 4, 0);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (7, 2, 1677721600, 9);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (4, 0, 18, 'NCCL communicator ID', NULL), (4, 0, 5, 'No. of "
    "ranks', 8), (4, 0, 5, 'Rank', 12), (4, 5, 18, 'NCCL communicator ID', 0), (4, 5, 22, 'Message size "
    "[bytes]', 8), (4, 8, 22, 'Bytes', 0), (4, 8, 5, 'Peer rank', 8);"
    "INSERT INTO NVTX_EVENTS VALUES (900, 42000, 'ProfilerStep#1', 1677721700, NULL, 0, NULL),"
    "(100, 200, 'ncclCommInitRank', 1677721700, NULL, 4, "
    "X'04000000000000000000000000000000180000000000000038000000000000000700000000000000040000000000000000000000"
    "00000000'),"
    "(2000, 2300, 'ncclAllReduce', 1677721700, NULL, 4, "
    "X'04000000000000000500000000000000180000000000000038000000000000000700000000000000409c00000000000000000000"
    "00000000'), (2400, 2410, 'ncclGroupStart', 1677721700, NULL, 4, NULL),"
    "(2420, 2430, 'ncclSend', 1677721700, NULL, 4, "
    "X'0400000000000000080000000000000018000000000000003800000000000000409c00000000000001000000'),"
    "(2440, 2450, 'ncclRecv', 1677721700, NULL, 4, "
    "X'0400000000000000080000000000000018000000000000003800000000000000409c00000000000001000000'),"
    "(2500, 2800, 'ncclGroupEnd', 1677721700, NULL, 4, NULL);";

static void rocprof(void **unused)
{
    rlt_error err = {0};
    (void)unused;
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns", NULL, &network, &err), 0);
    reader = &rlt_reader_rocprof;
    static const char good[] =
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_"
        "Timestamp\"\n\"KERNEL_DISPATCH\",\"Agent 2\",1,\"gemm(int, float*)\",2,2000,9000\n\"KERNEL_DISPATCH\","
        "\"Agent 2\",1,\"memory\",0,9000,9500\n\"KERNEL_DISPATCH\",\"Agent 2\",2,\"ncclDevKernel_Generic\",4,"
        "9000,12000\n";
    static const char json[] =
        "{\"rocprofiler-sdk-tool\": [{\"metadata\": {\"pid\": 7}, \"strings\": {\"buffer_records\": [{\"kind\": "
        "\"HIP_RUNTIME_API\", \"operations\": [\"hipLaunchKernel\", \"hipDeviceSynchronize\"]}], \"marker_api\": "
        "[{\"key\": 1, \"value\": \"ProfilerStep#3\"}]}, \"kernel_symbols\": [{\"kernel_id\": 33, "
        "\"formatted_kernel_name\": \"gemm(int, float*)\"}], \"buffer_records\": {\"kernel_dispatch\": "
        "[{\"correlation_id\": {\"internal\": 2}, \"start_timestamp\": 2000, \"end_timestamp\": 9000, "
        "\"dispatch_info\": {\"agent_id\": {\"handle\": 4}, \"queue_id\": {\"handle\": 1}, \"kernel_id\": 33}, "
        "\"stream_id\": {\"handle\": 1}}], \"hip_api\": [{\"kind\": 0, \"operation\": 0, \"thread_id\": 70, "
        "\"correlation_id\": {\"internal\": 2}, \"start_timestamp\": 1000, \"end_timestamp\": 2000}, {\"kind\": 0, "
        "\"operation\": 1, \"thread_id\": 70, \"correlation_id\": {\"internal\": 5}, \"start_timestamp\": 2500, "
        "\"end_timestamp\": 9000}], \"marker_api\": [{\"thread_id\": 70, \"correlation_id\": {\"internal\": 1}, "
        "\"start_timestamp\": 1000, \"end_timestamp\": 10000}]}}]}";
    torture(good, strlen(good), 1000, try_trace);
    torture(json, strlen(json), 2000, try_trace);
    rlt_topology_free(network);
}

static struct {
    int (*open)(const char *path, void **db);
    int (*exec)(void *db, const char *sql, void *row, void *arg, char **message);
    int (*close)(void *db);
} sqlite;

static void nsys(void **unused)
{
    static const char *const names[] = {"sqlite3_open", "sqlite3_exec", "sqlite3_close", NULL};
    static const rlt_late_library library = {"libsqlite3.so.0", "libsqlite3-0", names, &sqlite};
    rlt_error err = {0};
    char path[64], *good = NULL;
    size_t n;
    void *db = NULL;
    (void)unused;
    if (rlt_late_load(&library, &err))
        skip();
    snprintf(path, sizeof path, "%s/good.sqlite", dir);
    assert_int_equal(sqlite.open(path, &db), 0);
    assert_int_equal(sqlite.exec(db, nsys_sql, NULL, NULL, NULL), 0);
    assert_int_equal(sqlite.close(db), 0);
    assert_int_equal(rlt_read_file(path, MAX_BYTES, &good, &n, &err), 0);
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns", NULL, &network, &err), 0);
    reader = &rlt_reader_nsys;
    torture(good, n, 1500, try_trace);
    free(good);
    unlink(path);
    rlt_topology_free(network);
}

static void try_host_trace(const bytes *b)
{
    rlt_host_trace h = {0};
    rlt_error err = {0};
    (void)b;
    judge_file(rlt_host_trace_load(at, &h, &err), &err);
    rlt_host_trace_free(&h);
}

static void host_traces(void **unused)
{
    static const char good[] = "{\"schema\":\"1.0.1\",\"pid\":7,\"nodes\":[{\"name\":\"record_param_comms\","
                               "\"id\":8,\"rf_id\":4,\"inputs\":"
                               "[[[1,2,0,300,4,\"cuda:0\"],[1,2,0,100,4,\"cuda:0\"]],5,94,0,\"all_to_allv\",["
                               "1,2],[3,4]],\"outputs\":"
                               "[[1,2,0,300,4,\"cuda:0\"]]},\n{\"name\":\"record_param_comms\",\"id\":8,"
                               "\"ctrl_deps\":3,\"inputs\":{\"values\":"
                               "[[[1,2,0,500,4,\"cuda:0\"]],9,[\"0\",\"default\"],1,\"allreduce\",[],[]],"
                               "\"types\":[]},\"outputs\":{\"values\":"
                               "[[1,2,0,500,4,\"cuda:0\"]]},\"attrs\":[{\"name\":\"rf_id\",\"value\":5},{"
                               "\"name\":\"pg_size\",\"value\":4}]},\n"
                               "{\"name\":\"record_param_comms\",\"id\":9,\"rf_id\":6,\"inputs\":[7,0,0,"
                               "\"wait\",[],[]],\"outputs\":[]}]}\n";
    (void)unused;
    torture(good, strlen(good), 2000, try_host_trace);
}

/* Readers of text name the file, and in most cases the line. */
static void try_text(const bytes *b)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = 4, .n_dims = 2, .dims = {2, 2}};
    const char *path = at;
    rlt_program *p = NULL;
    rlt_error err = {0};
    int rc = reader->read(&path, 1, &o, &p, &err);
    judge_file(rc, &err);
    assert_int_equal(rc == 0, p != NULL);
    assert_true(reader->probe(path, b->at, b->n) <= 100);
    if (p)
        use_program(p, network);
}

static void torture_text(const rlt_reader *r, const char *good, uint32_t rounds)
{
    rlt_error err = {0};
    assert_int_equal(rlt_topology_load("switch:4@50GB/s,500ns", NULL, &network, &err), 0);
    reader = r;
    torture(good, strlen(good), rounds, try_text);
    rlt_topology_free(network);
    network = NULL;
}

static const char goal_text[] =
    "num_ranks 4\n\nrank 0 {\nl1: calc 100\nl2: send 800b to 1 tag 3\nl2 requires l1\nl3: send 70000b to 2 "
    "tag 4 cpu 1 nic 1\nl3 irequires l1\n}\nrank 1 {\n/* late */\nr: recv 800b from 0 tag 3\nc: calc 20\nc "
    "requires r\ns: send 9b to 3\ns requires c\n}\nrank 2 {\nl1: recv 70000b from 0 tag 4\n}\nrank 3 {\nl1: "
    "recv 9b from 1\nl2: calc 0\nl2 requires l1\n}\n";

static void try_loggops(const bytes *b)
{
    rlt_loggops p = rlt_loggops_default();
    rlt_loggops_result r;
    rlt_error err = {0};
    (void)b;
    judge_file(rlt_loggops_run(at, &p, &r, &err), &err);
    rlt_loggops_free(&r);
}

static void goal(void **unused)
{
    (void)unused;
    torture_text(&rlt_reader_goal, goal_text, 2000);
    torture(goal_text, strlen(goal_text), 2000, try_loggops);
}

#define MEASURED                                                                                             \
    "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"

static void layers(void **unused)
{
    (void)unused;
    torture_text(
        &rlt_reader_astra1,
        "HYBRID_DLRM\t1\r\n3\t\r\ne -1 300 ALLTOALL 98304 300 ALLTOALL 98304 300 NONE 0 98\nb -1 1280 "
        "NONE 0 794 NONE 0 896 ALLREDUCE 13312 13\nt -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1000 1\n",
        1500);
    torture_text(
        &rlt_reader_astra1,
        "HYBRID_DATA_MODEL\n2\na -1 32 ALLGATHER 37632 32 ALLREDUCE 37632 32 ALLREDUCE 37632 3\nb -1 "
        "7 ALLGATHER 655 7 REDUCESCATTER 655 7 ALLREDUCE 655 749\n",
        1000);
    torture_text(
        &rlt_reader_simai,
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 8 ga: 1 all_gpus: "
        "4 checkpoints: 1 0 checkpoint_initiates: 1 1\n2\nn\t-1\t0\tBROADCAST\t16384\t1\tALLREDUCE\t"
        "99\t1\tREDUCESCATTER\t900\t100\nm -1 556000 ALLTOALL_EP 16777216 1 NONE 0 1 "
        "ALLREDUCE_DP_EP 77 1 \n",
        2000);
    torture_text(
        &rlt_reader_aicb,
        "[rank0 ~ rank3]\ncomm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_"
        "time,algbw,busbw,count\nCommType.all_reduce,CommGroup.dp_group,2,8,init,None,None,,None,None,None,"
        "1\nCommType.epoch_end,None,None,0,,None,None,,None,None,None,1\nCommType.broadcast,CommGroup.tp_"
        "group,2,40,forward,None,None,,0.25,None,None,1\nCommType.computation,None,None,0,c,None,None,,1.5,"
        "None,None,1\n",
        2000);
    torture_text(&rlt_reader_aicb,
                 MEASURED
                 "CommType.all_reduce,CommGroup.dp_group,2,8,init,None,None,,0.5,0,0,1\nCommType.all_"
                 "to_all,CommGroup.ep_group,None,40,f,None,None,,0.25,0,0,1\n",
                 1000);
    torture_text(
        &rlt_reader_pipedream,
        "node1 -- Input -- forward_compute_time=9.5, backward_compute_time=0.0, activation_size=8.0, "
        "parameter_size=0.0 -- stage_id=0\nnode2 -- Conv(3, (1, 1)) -- forward_compute_time=0.004, "
        "backward_compute_time=0.001, activation_size=[1000.0; 2000.0], parameter_size=64.0 -- "
        "stage_id=0\nnode3 -- Add -- forward_compute_time=0.1, backward_compute_time=0.2, "
        "activation_size=5, parameter_size=99.0 -- stage_id=1\n\tnode1 -- node2\n\tnode2 -- node3\n",
        2000);
}

static int set_up(void **unused)
{
    (void)unused;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    if (rmdir(dir) != 0)
        print_message("# %s has the inputs of the rounds that failed\n", dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_graphs),  cmocka_unit_test(json_products),  cmocka_unit_test(graphml),
        cmocka_unit_test(infragraphs),  cmocka_unit_test(astra_networks), cmocka_unit_test(compact_forms),
        cmocka_unit_test(placements),   cmocka_unit_test(astra_systems),  cmocka_unit_test(chakra),
        cmocka_unit_test(kineto),       cmocka_unit_test(host_traces),    cmocka_unit_test(goal),
        cmocka_unit_test(layers),       cmocka_unit_test(nsys),           cmocka_unit_test(rocprof),
        cmocka_unit_test(amd_machines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
