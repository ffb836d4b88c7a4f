/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Readers of topology files: their results compared with counts worked out by hand, and the places of their
 * errors. Run from the root of the repository.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/text_file.h"

#define GB  UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

typedef int reader(const char *name, const char *text, size_t length, rlt_topology **out, rlt_error *err);

static int from_json(const char *name, const char *text, size_t length, rlt_topology **out, rlt_error *err)
{
    return rlt_topology_from_json(name, text, length, NULL, out, err);
}

static int compact(const char *name, const char *text, size_t length, rlt_topology **out, rlt_error *err)
{
    char *copy = strndup(text, length); /* NUL-terminated, as an argument would be */
    (void)name;
    assert_non_null(copy);
    int rc = rlt_topology_from_compact(copy, NULL, out, err);
    free(copy);
    return rc;
}

static rlt_topology *read_ok(reader *read, const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (read("f", text, strlen(text), &t, &err) != 0)
        fail_msg("%s\n%s: %s", text, err.where, err.what);
    return t;
}

static rlt_topology *load_ok(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, "topologies", &t, &err) != 0)
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return t;
}

/* ---- samples ---- */

static const struct sample {
    const char *name;
    uint32_t accelerators, nodes, links, rings, dims;
    double egress_GBps;
} samples[] = {
    {"dgx1-v100-8", 8, 8, 2 * 24, 6, 1, 6 * 25},
    {"dgx-a100-8", 8, 9, 16, 0, 1, 300},
    {"hgx-h100-8", 8, 9, 16, 0, 1, 450},
    {"gb300-tray-4", 4, 5, 8, 0, 1, 900},
    {"gb200-nvl72", 72, 73, 144, 0, 1, 900},
    {"gb300-nvl72", 72, 73, 144, 0, 1, 900},
    {"mi300x-8", 8, 8, 8 * 7, 0, 1, 7 * 48},
    {"v100-sxm2-4", 4, 4, 4 * 3, 6, 1, 6 * 25},
    {"a100-nc96-4", 4, 5, 2 * (2 + 4), 1, 1, 300 + 31.5},
    {"l40s-pcie-8", 8, 10, 2 * (8 + 1), 0, 1, 31.5},
    {"p4de-2x8", 16, 16 + 2 + 8 + 1, 2 * (16 + 16 + 8), 0, 2, 300 + 12.5},
    {"juwels-booster", 3648, 3648 + 4 * (152 + 19 * 6 + 6 * 8), 3648 * 3 + 4 * 2 * (912 + 152 * 6 + 114 * 8),
     0, 2, 325},
    {"summit", 2052, 2052 + 342 + 2052 + 1, 2 * (2052 + 2052 + 2052), 0, 2, 50 + 2.4},
    {"summit-data-parallel", 2052, 2052 + 342 + 6, 2 * (2052 + 2052), 0, 2, 50 + 14.4},
    {"pod-512-rail", 512, 512 + 64 + 16 + 32, 2 * (512 + 512 + 16 * 32), 0, 2, 450 + 50},
    {"fat-tree-3l-1024", 1024, 1024 + 128 + 128 + 64, 2 * (1024 + 1024 + 1024), 0, 1, 50},
    {"tpu-v4-4x4x4", 64, 64, 64 * 6, 0, 1, 300},
    {"tpu-v5p-8x8x8", 512, 512, 512 * 6, 0, 1, 600},
    {"tpu-v6e-16x16", 256, 256, 256 * 4, 0, 1, 400},
    {"rashidi-2d", 1024, 1024 + 8, 1024 * (2 + 2), 0, 2, 300},
    {"rashidi-3d", 1024, 1024 + 64, 1024 * (2 + 7 + 2), 0, 3, 300},
    {"rashidi-4d", 1024, 1024 + 128, 1024 * (2 + 7 + 2 + 2), 0, 4, 300},
    {"dgx-like-1024", 1024, 1024 + 128 + 8, 1024 * (2 + 2), 0, 2, 325},
    {"libra-3d", 4096, 4096 + 128, 4096 * (2 + 7 + 2), 0, 3, 500},
    {"libra-4d", 4096, 4096 + 128, 4096 * (2 + 7 + 2 + 2), 0, 4, 500},
    {"edr-sharp-128", 128, 128 + 8 + 16, 2 * (128 + 8 * 16), 0, 1, 12.5},
    {"xbar-256", 256, 257, 512, 0, 1, 50},
    {"leaf-spine-16", 16, 16 + 4 + 4, 2 * (16 + 4 * 4), 0, 1, 50},
    {"leaf-spine-64", 64, 64 + 4 + 16, 2 * (64 + 4 * 16), 0, 1, 50},
    {"leaf-spine-128", 128, 128 + 8 + 16, 2 * (128 + 8 * 16), 0, 1, 50},
    {"leaf-spine-256", 256, 256 + 16 + 16, 2 * (256 + 16 * 16), 0, 1, 50},
    {"testbed-4xv100-8x1080ti-4xp100", 16, 16 + 7 + 1, 2 * (16 + 7), 0, 1, 3},
    {"testbed-4xv100-4xv100", 8, 8 + 2 + 1, 2 * (8 + 2), 0, 1, 8},
    {"testbed-2xv100-4xp100-2x1080ti", 8, 8 + 4 + 1, 2 * (8 + 4), 0, 1, 3},
    {"leaf-spine-1024", 1024, 1024 + 32 + 32, 2 * (1024 + 32 * 32), 0, 1, 50},
};

enum { SAMPLES = sizeof samples / sizeof *samples };

static void samples_have_the_right_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct sample *s = &samples[i];
        rlt_topology *t = load_ok(s->name);
        uint64_t egress = rlt_topology_egress_Bps(t, s->accelerators - 1),
                 want = (uint64_t)(s->egress_GBps * 1e9);
        if (rlt_topology_accelerators(t) != s->accelerators || rlt_topology_nodes(t) != s->nodes ||
            rlt_topology_links(t) != s->links || rlt_topology_rings(t) != s->rings ||
            rlt_topology_dims(t) != s->dims)
            fail_msg("%s: %u accelerators, %u nodes, %u links, %u rings, %u dims", s->name,
                     rlt_topology_accelerators(t), rlt_topology_nodes(t), rlt_topology_links(t),
                     rlt_topology_rings(t), rlt_topology_dims(t));
        /* A seventh or a third of a GB/s is no whole number of bytes. */
        if (egress + 16 < want || egress > want + 16)
            fail_msg("%s: egress %llu", s->name, (unsigned long long)egress);
        assert_string_equal(rlt_topology_name(t), s->name);
        assert_true(strlen(rlt_topology_source(t)) > 40);
        rlt_topology_free(t);
    }
}

static void every_sample_is_in_the_table(void **state)
{
    (void)state;
    DIR *dir = opendir("topologies");
    assert_non_null(dir);
    size_t files = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        size_t n = strlen(e->d_name);
        files += n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
    }
    closedir(dir);
    assert_int_equal(files, SAMPLES);
}

/* NVLinks between the GPUs of a DGX-1V, as nvidia-smi topo -m prints them. */
static const int dgx1v[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                                {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

static void dgx1_is_the_published_cube_mesh(void **state)
{
    (void)state;
    rlt_topology *t = load_ok("dgx1-v100-8");
    int found[8][8] = {{0}}, used[8][8] = {{0}};
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        assert_true(l.bw_Bps == 25 * GB);
        found[l.src][l.dst]++;
    }
    assert_memory_equal(found, dgx1v, sizeof found);
    /* The rings are Hamiltonian; together they use every link exactly once. */
    for (uint32_t r = 0; r < rlt_topology_rings(t); r++) {
        const uint32_t *ring = rlt_topology_ring(t, r);
        unsigned seen = 0;
        for (int i = 0; i < 8; i++) {
            seen |= 1u << ring[i];
            used[ring[i]][ring[(i + 1) % 8]]++;
        }
        assert_int_equal(seen, 0xff);
    }
    assert_memory_equal(used, dgx1v, sizeof used);
    const rlt_endpoint *e = rlt_topology_endpoint(t);
    assert_int_equal(e->launch_ps, 6600000);
    assert_int_equal(e->n_protocols, 5);
    assert_int_equal(e->protocol, RLT_PROTOCOL_AUTO);
    assert_string_equal(e->protocols[1].name, "LL128");
    assert_int_equal(e->protocols[1].message_ps, 1900000);
    assert_int_equal(e->protocols[1].wire_num, 25);
    assert_int_equal(e->protocols[1].wire_den, 20);
    rlt_topology_free(t);
}

/* ---- JSON ---- */

static const char graph_text[] =
    "{\"name\":\"box\",\"source\":\"made up\",\n"
    " \"nodes\":[{\"id\":\"sw\",\"kind\":\"switch\"},{\"id\":\"gpu\",\"count\":2,\"kind\":\"accelerator\"},\n"
    "          {\"id\":\"gpuX\",\"kind\":\"accelerator\",\"forwards\":false}],\n"
    " \"links\":[{\"src\":\"gpu0\",\"dst\":\"sw\",\"bandwidth\":\"25GB/"
    "s\",\"latency\":\"1us\",\"count\":2},\n"
    "          {\"src\":\"gpu1\",\"dst\":\"sw\",\"bandwidth\":\"400Gbps\",\"latency\":\"500ns\"},\n"
    "          "
    "{\"src\":\"gpuX\",\"dst\":\"sw\",\"bandwidth\":\"10GB/s\",\"latency\":\"0\",\"duplex\":false},\n"
    "          {\"src\":\"sw\",\"dst\":\"gpuX\",\"bandwidth\":\"20GB/s\",\"latency\":0,\"duplex\":false}],\n"
    " \"routes\":[{\"src\":\"gpu0\",\"dst\":\"gpu1\",\"via\":[\"sw\"]}],\n"
    " \"dims\":[3],\"rings\":[[0,2,1],[\"gpuX\",\"gpu0\",\"gpu1\"]]}\n";

static void json_graph(void **state)
{
    (void)state;
    rlt_topology *t = read_ok(from_json, graph_text);
    assert_false(rlt_topology_is_product(t));
    assert_string_equal(rlt_topology_name(t), "box");
    assert_string_equal(rlt_topology_source(t), "made up");
    assert_int_equal(rlt_topology_accelerators(t), 3);
    assert_int_equal(rlt_topology_nodes(t), 4);
    assert_int_equal(rlt_topology_links(t), 4 + 2 + 1 + 1);
    assert_int_equal(rlt_topology_find_node(t, "gpuX"), 2);
    assert_int_equal(rlt_topology_node_kind(t, rlt_topology_find_node(t, "sw")), RLT_SWITCH);
    assert_true(rlt_topology_egress_Bps(t, 0) == 50 * GB);
    assert_true(rlt_topology_egress_Bps(t, 1) == 50 * GB);
    assert_true(rlt_topology_egress_Bps(t, 2) == 10 * GB);
    assert_true(rlt_topology_ingress_Bps(t, 2) == 20 * GB);
    assert_int_equal(rlt_topology_ring(t, 1)[0], 2);
    assert_int_equal(rlt_topology_dims(t), 1);
    assert_int_equal(rlt_topology_dim(t, 0).size, 3);
    rlt_topology_free(t);
}

static const char product_text[] =
    "{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"200GB/s\",\"latency\":\"500ns\"},\n"
    " {\"shape\":\"switch\",\"size\":8,\"link_bandwidth\":\"50GB/s\",\"latency\":\"0.7us\"}]}";

static void same_product_from_json_and_one_line(void **state)
{
    (void)state;
    rlt_topology *a = read_ok(from_json, product_text);
    rlt_topology *b = read_ok(compact, "RI:4@200GB/s,500ns*SW:8@400Gbps,700ns");
    assert_true(rlt_topology_is_product(a));
    assert_int_equal(rlt_topology_accelerators(a), 32);
    assert_int_equal(rlt_topology_links(a), 32 * 4);
    assert_int_equal(rlt_topology_links(a), rlt_topology_links(b));
    for (uint32_t i = 0; i < rlt_topology_links(a); i++) {
        rlt_link x = rlt_topology_link(a, i), y = rlt_topology_link(b, i);
        assert_int_equal(x.src, y.src);
        assert_int_equal(x.dst, y.dst);
        assert_true(x.bw_Bps == y.bw_Bps && x.bw_Bps == (x.dim == 0 ? 100 * GB : 50 * GB));
        assert_true(x.latency_ps == y.latency_ps && x.latency_ps == (x.dim == 0 ? 500000 : 700000));
    }
    rlt_topology_free(a);
    rlt_topology_free(b);
}

struct wrong {
    const char *text, *where, *what; /* the complete place, and a part of the message */
};

static void expect_all_wrong(reader *read, const struct wrong *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rlt_error err = {0};
        rlt_topology *t = (rlt_topology *)(void *)&err;
        int rc = read("f", table[i].text, strlen(table[i].text), &t, &err);
        if (rc >= 0 || rc != err.code || strcmp(err.where, table[i].where) != 0 ||
            !strstr(err.what, table[i].what))
            fail_msg("%s\nexpected '%s' with '%s', got %d '%s': %s", table[i].text, table[i].where,
                     table[i].what, rc, err.where, err.what);
        assert_null(t);
    }
}

#define NODES                                                                                                \
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},\n{\"id\":\"b\",\"kind\":\"accelerator\"}],\n"

static void wrong_json_names_its_place(void **state)
{
    (void)state;
    static const struct wrong table[] = {
        {"{", "f:1:2", "key"},
        {"[]", "f:1:1", "object"},
        {"{}", "f:1:1", "'dims'"},
        {"{\"dims\":[]}", "f:1:9: dims", "list of dimensions"},
        {"{\"dimz\":[]}", "f:1:9: dimz", "did you mean 'dims'?"},
        {"{\"dims\":[3]}", "f:1:10: dims[0]", "object"},
        {"{\"name\":7,\"dims\":[]}", "f:1:9: name", "string"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"50\",\"latency\":\"1us\"}]}",
         "f:2:38: dims[0].bandwidth", "unit"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":50,\"latency\":\"1us\"}]}",
         "f:2:38: dims[0].bandwidth", "unit"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":-4,\"bandwidth\":\"5GB/s\",\"latency\":\"1us\"}]}",
         "f:2:24: dims[0].size", "-4"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4.5,\"bandwidth\":\"5GB/s\",\"latency\":\"1us\"}]}",
         "f:2:24: dims[0].size", "whole"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":99999999999,\"bandwidth\":\"5GB/"
         "s\",\"latency\":\"1us\"}]}",
         "f:2:24: dims[0].size", "16777216"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"latency\":\"1us\"}]}", "f:2:1: dims[0]",
         "'bandwidth' or 'link_bandwidth'"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/s\",\"link_bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\"}]}",
         "f:2:1: dims[0]", "either"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/s\"}]}", "f:2:1: dims[0]",
         "'latency'"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}", "f:2:1: dims[0]",
         "'size'"},
        {"{\"dims\":[\n{\"shape\":\"rung\",\"size\":4,\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}",
         "f:2:1: dims[0]", "rung"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\",\"sizes\":[2,\"x\"]}]}",
         "f:2:73: dims[0].sizes[1]", "whole"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\",\"levels\":3}]}",
         "f:2:1: dims[0]", "levels"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\"}],\n\"rings\":[[0,1,2]]}",
         "f:3:10: rings[0]", "4"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\"}],\n\"rings\":[[0,1,2,1]]}",
         "f:3:17: rings[0][3]", "twice"},
        {"{\"dims\":[\n{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/"
         "s\",\"latency\":\"1us\"}],\n\"rings\":[[0,1,2,4]]}",
         "f:3:17: rings[0][3]", "0 to 3"},
        {"{\"endpoint\":{\"lunch\":\"1us\"},\"dims\":[]}", "f:1:22: endpoint.lunch", "'launch'"},
        {"{\"endpoint\":{\"launch\":\"1\"},\"dims\":[]}", "f:1:23: endpoint.launch", "unit"},
        {"{\"endpoint\":{\"injection\":\"wire\"},\"dims\":[]}", "f:1:26: endpoint.injection", "blocking"},
        {"{\"endpoint\":{\"protocol\":\"LL\"},\"dims\":[]}", "f:1:25: endpoint.protocol", "LL"},
        {"{\"endpoint\":{\"protocols\":[{\"name\":\"LL\",\"message\":\"1us\"},\n"
         "{\"name\":\"LL\",\"message\":\"2us\"}]}}",
         "f:2:9: endpoint.protocols[1].name", "the protocol 'LL' is given twice"},
        {"{\"endpoint\":{\"protocols\":[{\"name\":\"LL\",\"message\":\"1us\",\"wire\":\"8/"
         "16\"}]},\"dims\":[]}",
         "f:1:63: endpoint.protocols[0].wire", "16/8"},
        {"{\"endpoint\":{\"protocols\":[{\"name\":\"LL\",\"message\":\"1us\",\"wire\":\"8/"
         "0\"}]},\"dims\":[]}",
         "f:1:63: endpoint.protocols[0].wire", "16/8"},
        {"{\"nodes\":[]}", "f:1:1", "'links'"},
        {"{\"nodes\":[],\"links\":[]}", "f:1:10: nodes", "list of nodes"},
        {"{\"nodes\":[{\"id\":\"a\",\"kind\":\"gpu\"}],\"links\":[]}", "f:1:28: nodes[0].kind",
         "accelerator"},
        {"{\"nodes\":[{\"id\":\"a\",\"kind\":\"nic\"},\n{\"id\":\"a\",\"kind\":\"nic\"}],\"links\":[]}",
         "f:2:7: nodes[1].id", "two nodes"},
        {"{\"nodes\":[{\"id\":\"g1\",\"kind\":\"nic\"},\n{\"id\":\"g\",\"count\":2,\"kind\":\"nic\"}],"
         "\"links\":[]}",
         "f:2:7: nodes[1].id", "'g1'"},
        {"{\"nodes\":[{\"id\":\"g\",\"count\":4194305,\"kind\":\"nic\"}],\"links\":[]}",
         "f:1:29: nodes[0].count", "4194304"},
        {"{\"nodes\":[{\"id\":\"g\",\"count\":4194304,\"kind\":\"nic\"},{\"id\":\"h\",\"kind\":\"nic\"}],"
         "\"links\":[]}",
         "f:1:51: nodes[1]", "more than"},
        {NODES "\"links\":[{\"src\":\"a\",\"dst\":\"c\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}",
         "f:3:27: links[0].dst", "'c'"},
        {NODES "\"links\":[{\"src\":\"a\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}", "f:3:10: links[0]",
         "'dst'"},
        {NODES "\"links\":[{\"src\":\"a\",\"dst\":\"a\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}",
         "f:3:10: links[0]", "itself"},
        {NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"0B/s\",\"latency\":\"1us\"}]}",
         "f:3:43: links[0].bandwidth", "zero"},
        {NODES "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"1GB/s\",\"latency\":\"-1us\"}]}",
         "f:3:61: links[0].latency", ""},
        {NODES
         "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\",\"count\":0}]}",
         "f:3:75: links[0].count", "at least one"},
        {NODES
         "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\",\"lanes\":1}]}",
         "f:3:75: links[0].lanes", "unknown key"},
        {NODES "\"links\":[],\"dims\":[3]}", "f:3:19: dims", "multiply"},
        {NODES "\"links\":[],\"dims\":[0]}", "f:3:19: dims", "multiply"},
        {NODES "\"links\":[],\"dims\":{\"a\":1}}", "f:3:19: dims", "expected a list of 1 to"},
        {NODES "\"links\":[],\"node_size\":-1}", "f:3:24: node_size", "-1"},
        {NODES "\"links\":[],\"node_size\":0}", "f:3:24: node_size", "0 does not divide"},
        {NODES "\"links\":[],\"node_size\":3}", "f:3:24: node_size", "3 does not divide"},
        /* 2^64 + 4 */
        {"{\"nodes\":[{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"}],\"links\":[],\n"
         "\"dims\":[22324,8681,49477,384773]}",
         "f:2:8: dims", "multiply"},
        {NODES "\"links\":[],\"routes\":[{\"src\":\"a\",\"dst\":\"b\",\"via\":[\"z\"]}]}",
         "f:3:50: routes[0].via[0]", "'z'"},
        {NODES "\"links\":[]}", "f", ""},
    };
    expect_all_wrong(from_json, table, sizeof table / sizeof *table);
}

/* Routes of a star of 40: the first 1024 wrong ones are named by their line, those behind by their number. */
static void wrong_routes_name_their_place(void **state)
{
    enum { N = 40 };
    static const struct {
        uint32_t wrong;
        const char *where;
    } rows[] = {{0, "f:3:1: routes[0]"}, {1023, "f:1026:2: routes[1023]"}, {1024, "routes[1024]"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = 1 << 18, n = 0;
        char *text = malloc(size);
        assert_non_null(text);
#define PUT(...) n += (size_t)snprintf(text + n, size - n, __VA_ARGS__)
        PUT("{\"nodes\":[{\"id\":\"g\",\"count\":%d,\"kind\":\"accelerator\"},"
            "{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":[",
            N);
        for (int g = 0; g < N; g++)
            PUT("%s{\"src\":\"g%d\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}", g ? "," : "",
                g);
        PUT("],\n\"routes\":[\n");
        for (uint32_t k = 0; k < N * (N - 1); k++) {
            uint32_t src = k / (N - 1), dst = k % (N - 1);
            dst = k == rows[i].wrong ? src : dst + (dst >= src);
            PUT("%s{\"src\":\"g%u\",\"dst\":\"g%u\",\"via\":[\"s\"]}\n", k ? "," : "", src, dst);
        }
        PUT("]}");
#undef PUT
        const struct wrong row = {text, rows[i].where, "a route needs two different nodes"};
        expect_all_wrong(from_json, &row, 1);
        free(text);
    }
}

/* ---- one-liners ---- */

static void wrong_one_liners_name_the_column(void **state)
{
    (void)state;
    static const struct wrong table[] = {
        {"", ": column 1", "shape"},
        {":4@1GB/s,1us", ":4@1GB/s,1us: column 1", "expected a shape"},
        {"r:4@1GB/s,1us", "r:4@1GB/s,1us: column 1", "'r'"},
        {"ring", "ring: column 5", "':'"},
        {"ring:", "ring:: column 6", "size"},
        {"ring:x@1GB/s,1us", "ring:x@1GB/s,1us: column 6", "size"},
        {"ring:4", "ring:4: column 7", "'@'"},
        {"ring:4@50,1us", "ring:4@50,1us: column 8", "unit"},
        {"ring:4@0B/s,1us", "ring:4@0B/s,1us: column 8", "zero"},
        {"ring:4@1GB/s", "ring:4@1GB/s: column 13", "latency"},
        {"ring:4@1GB/s,7", "ring:4@1GB/s,7: column 14", "unit"},
        {"ring:4@1GB/s,1us,levels", "ring:4@1GB/s,1us,levels: column 18", "key=value"},
        {"ring:4@1GB/s,1us,levels=", "ring:4@1GB/s,1us,levels=: column 18",
         "expected key=value, got 'levels='"},
        {"ring:4@1GB/s,1us,=3", "ring:4@1GB/s,1us,=3: column 18", "expected key=value, got '=3'"},
        {"ring:4@1GB/s,1us,levels=3", "ring:4@1GB/s,1us,levels=3: column 1", "levels"},
        {"ring:4@1GB/s,1us*", "ring:4@1GB/s,1us*: column 18", "shape"},
        {"ring:4@1GB/s,1us*rung:4@1GB/s,1us", "ring:4@1GB/s,1us*rung:4@1GB/s,1us: column 18", "rung"},
        {"torus:4x@1GB/s,1us", "torus:4x@1GB/s,1us: column 7", "4x"},
        {"ring:99999999@1GB/s,1us", "ring:99999999@1GB/s,1us: column 6", "16777216"},
    };
    expect_all_wrong(compact, table, sizeof table / sizeof *table);
}

static void one_liners_take_parameters(void **state)
{
    (void)state;
    rlt_topology *t = read_ok(compact, "fat-tree:64@50GB/s,500ns,levels=2,hosts_per_leaf=16");
    assert_int_equal(rlt_topology_links(t), 256);
    rlt_topology_free(t);
    t = read_ok(compact, "torus:4x4x4@300GB/s,500ns*FC:3@2GB/s,0");
    assert_int_equal(rlt_topology_accelerators(t), 192);
    assert_int_equal(rlt_topology_links(t), 192 * (6 + 2));
    assert_true(rlt_topology_egress_Bps(t, 5) == 302 * GB);
    rlt_topology_free(t);
}

/* ---- network YAML ---- */

static const char yaml_text[] =
    "# two levels\r\ntopology: [ Ring, 'Switch' ]  # inner first\nnpus_count:\n  - 4\n  - 8\n"
    "bandwidth: [ 200.0,\n 50.5 ]\nlatency: [936.25, 2e3]\n";

static void yaml(void **state)
{
    (void)state;
    rlt_topology *t = read_ok(rlt_topology_from_astra, yaml_text);
    assert_int_equal(rlt_topology_accelerators(t), 32);
    assert_int_equal(rlt_topology_links(t), 128);
    for (uint32_t i = 0; i < 128; i++) {
        rlt_link l = rlt_topology_link(t, i);
        assert_true(l.bw_Bps == (l.dim == 0 ? 200 * GIB : 101 * (GIB / 2)));
        assert_int_equal(l.latency_ps, l.dim == 0 ? 936250 : 2000000);
    }
    rlt_topology_free(t);
}

static void wrong_yaml_names_its_place(void **state)
{
    (void)state;
    static const struct wrong table[] = {
        {"topology: [ Ring ]\n", "f", "'npus_count'"},
        {"topology: [ Ring ]\nnpus: [ 4 ]\n", "f:2:7: npus", "npus_count"},
        {"topology: Ring\n", "f:1:11: topology", "list"},
        {"Zone: [ Ring ]\n", "f:1:7: Zone", "unknown key 'Zone'"},
        {"topology [ Ring ]\n", "f:1:18", "':'"},
        {"topology: [ Ring, ]\n", "f:1:19", "word"},
        {"topology: [ Ring\n\n", "f:3:1", "']'"},
        {"topology: [ Ring ] x\n", "f:1:20", "end of the line"},
        {"topology: [ Ring ]\ntopology: [ Ring ]\n", "f:2:11: topology", "twice"},
        {"topology:\n  -Ring\n", "f:2:3: topology", "list"},
        {"topology: [ \"Ring ]\n", "f:1:20", "quote"},
        {"topology: [ Rung ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n", "f:1:13: topology[0]",
         "Rung"},
        {"topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n", "f:2:15: npus_count[0]",
         "expected a number from 2 to 16777216, got '1'"},
        {"topology: [ Ring ]\nnpus_count: [ 16777217 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
         "f:2:15: npus_count[0]", "got '16777217'"},
        {"topology: [ Ring, Switch ]\nnpus_count: [ 16777215, 2 ]\nbandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n",
         "f:1:19: dimension 1", "more than 16777216 accelerators"},
        {"topology: [ Ring ]\nnpus_count: [ 4.0 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
         "f:2:15: npus_count[0]", "4.0"},
        {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ -1 ]\nlatency: [ 1 ]\n", "f:3:14: bandwidth[0]",
         "-1"},
        {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1ns ]\n", "f:4:12: latency[0]",
         "1ns"},
        {"topology: [ Ring ]\nnpus_count: [ 4, 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n", "f",
         "npus_count has 2 entries, topology 1"},
        {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 0 ]\nlatency: [ 1 ]\n", "f:3:14: bandwidth[0]",
         "expected a bandwidth in GiB/s, got '0'"},
        {"topology: [a,b,c,d,e,f,g,h,i]\n", "f:1:28: topology[8]", "8 dimensions"},
    };
    expect_all_wrong(rlt_topology_from_astra, table, sizeof table / sizeof *table);
}

static void published_yaml_files(void **state)
{
    (void)state;
    static const char folder[] = "test/data/astra/net";
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    unsigned files = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        /* <Shape><size>x..._bw<first>-..._lat<first>-....yml */
        const char *bw = strstr(e->d_name, "_bw"), *lat = strstr(e->d_name, "_lat");
        char path[512];
        uint32_t accelerators = 1;
        if (!bw || !lat)
            continue;
        for (const char *p = e->d_name; p < bw; p++) {
            if (*p >= '0' && *p <= '9') {
                char *end;
                accelerators *= (uint32_t)strtoul(p, &end, 10);
                p = end - 1;
            }
        }
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        rlt_topology *t = load_ok(path);
        rlt_link first = rlt_topology_link(t, 0);
        assert_int_equal(rlt_topology_accelerators(t), accelerators);
        assert_true(first.bw_Bps == (uint64_t)atoi(bw + 3) * GIB);
        assert_true(first.latency_ps == atoi(lat + 4) * RLT_NS);
        rlt_topology_free(t);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
}

static void published_hgx_file(void **state)
{
    (void)state;
    static const char path[] = "../shared/data/chakra/HGX-H100-validated.yml";
    if (access(path, R_OK) != 0) {
        print_message("%s is missing\n", path);
        skip();
    }
    rlt_topology *t = load_ok(path);
    assert_int_equal(rlt_topology_accelerators(t), 8);
    assert_string_equal(rlt_topology_name(t), "HGX-H100-validated");
    assert_true(rlt_topology_link(t, 3).bw_Bps == 400 * GIB);
    assert_int_equal(rlt_topology_link(t, 3).latency_ps, 936250);
    rlt_topology_free(t);
}

/* ---- GraphML ---- */

#define GRAPHML(edge_type, nodes, edges)                                                                     \
    "<?xml version=\"1.0\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"                   \
    "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"                                 \
    "<key id=\"b\" for=\"edge\" attr.name=\"bandwidth\" attr.type=\"" edge_type "\"/>\n"                     \
    "<key id=\"l\" for=\"edge\" attr.name=\"latency\" attr.type=\"string\"/>\n"                              \
    "<graph edgedefault=\"undirected\">\n" nodes edges "</graph></graphml>\n"
#define NODE(id, kind) "<node id=\"" id "\"><data key=\"k\">" kind "</data></node>\n"
#define EDGE(a, b, bw, lat)                                                                                  \
    "<edge source=\"" a "\" target=\"" b "\"><data key=\"b\">" bw "</data><data key=\"l\">" lat              \
    "</data></edge>\n"

static const char graphml_text[] =
    GRAPHML("string", NODE("s", "switch") NODE("g0", "accelerator") NODE("g1", "accelerator"),
            EDGE("g0", "s", "25GB/s", "500ns") EDGE("s", "g1", "400Gbps", "1.5us"));

static void graphml(void **state)
{
    (void)state;
    rlt_topology *t = read_ok(rlt_topology_from_graphml, graphml_text);
    assert_int_equal(rlt_topology_accelerators(t), 2);
    assert_int_equal(rlt_topology_nodes(t), 3);
    assert_int_equal(rlt_topology_links(t), 4);
    assert_int_equal(rlt_topology_find_node(t, "g1"), 1);
    assert_true(rlt_topology_egress_Bps(t, 0) == 25 * GB && rlt_topology_ingress_Bps(t, 0) == 25 * GB);
    assert_true(rlt_topology_egress_Bps(t, 1) == 50 * GB && rlt_topology_ingress_Bps(t, 1) == 50 * GB);
    rlt_topology_free(t);
}

static void wrong_graphml_names_its_line(void **state)
{
    (void)state;
    static const struct wrong table[] = {
        {GRAPHML("string", NODE("a", "accelerator") NODE("b", "gpu"), EDGE("a", "b", "1GB/s", "0")), "f:8",
         ", got kind 'gpu'"},
        {GRAPHML("string", NODE("a", "accelerator") "<node id=\"b\"/>\n", EDGE("a", "b", "1GB/s", "0")),
         "f:8", "no kind"},
        {GRAPHML("double", NODE("a", "accelerator") NODE("b", "accelerator"), EDGE("a", "b", "1", "0")), "f",
         "missing unit"},
        {GRAPHML("string", NODE("a", "accelerator") NODE("b", "accelerator"), EDGE("a", "b", "1", "0")),
         "f:9: edge 0", "unit"},
        {GRAPHML("string", NODE("a", "accelerator") NODE("b", "accelerator"),
                 "<edge source=\"a\" target=\"b\"/>\n"),
         "f:9: edge 0", "missing bandwidth"},
        {GRAPHML("string", NODE("a", "accelerator") NODE("b", "accelerator"), EDGE("a", "a", "1GB/s", "0")),
         "f:9: edge 0", "itself"},
        {GRAPHML("string", NODE("a", "accelerator") NODE("b", "accelerator"), EDGE("a", "b", "0B/s", "0")),
         "f:9: edge 0", "zero"},
    };
    expect_all_wrong(rlt_topology_from_graphml, table, sizeof table / sizeof *table);
    static const char *const refused[] = {
        GRAPHML("string", NODE("a", "accelerator") NODE("b", "accelerator"), EDGE("a", "c", "1GB/s", "0")),
        GRAPHML("string", NODE("a", "accelerator") NODE("a", "accelerator"), EDGE("a", "a", "1GB/s", "0")),
        "<?xml version=\"1.0\"?><!DOCTYPE g [<!ENTITY x \"y\">]><graphml/>",
    };
    for (size_t i = 0; i < 3; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        assert_true(rlt_topology_from_graphml("f", refused[i], strlen(refused[i]), &t, &err) < 0);
        assert_true(err.what[0] != 0);
        assert_null(t);
    }
}

/* An exported file is read back as the same links. */
static void exported_graphml_reads_back(void **state)
{
    (void)state;
    rlt_topology *a = load_ok("dgx1-v100-8"), *b = NULL;
    rlt_error err = {0};
    char *text = NULL;
    int rc = rlt_topology_export(a, "graphml", &text, &err);
    if (rc == 0)
        rc = rlt_topology_from_graphml("f", text, strlen(text), &b, &err);
    if (rc != 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_topology_links(a), rlt_topology_links(b));
    int count[8][8] = {{0}};
    for (uint32_t i = 0; i < rlt_topology_links(b); i++) {
        rlt_link l = rlt_topology_link(b, i);
        assert_true(l.bw_Bps == 25 * GB && l.latency_ps == 0);
        count[l.src][l.dst]++;
    }
    assert_memory_equal(count, dgx1v, sizeof count);
    free(text);
    rlt_topology_free(a);
    rlt_topology_free(b);
}

/* ---- damage ---- */

/* Every prefix and every text with one flipped bit is accepted, or refused with a message; the sanitizers
 * watch. */
static void damage(reader *read, const char *sample)
{
    size_t n = strlen(sample), refused = 0;
    for (size_t i = 0; i < n + n * 8; i++) {
        size_t length = i < n ? i : n, bit = i < n ? 0 : i - n;
        rlt_topology *t = NULL;
        rlt_error err = {0};
        char *text = malloc(length + 1);
        assert_non_null(text);
        memcpy(text, sample, length);
        if (i >= n)
            text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        text[length] = 0;
        int rc = read("f", text, length, &t, &err);
        refused += rc < 0;
        assert_true(rc <= 0 && (rc == 0) == (t != NULL) && (rc == 0 || err.what[0]));
        rlt_topology_free(t);
        free(text);
    }
    assert_true(refused > n);
}

static void damaged_files_never_crash(void **state)
{
    (void)state;
    damage(from_json, graph_text);
    damage(from_json, product_text);
    damage(rlt_topology_from_astra, yaml_text);
    damage(compact, "RI:4@200GB/s,500ns*SW:8@50GB/s,500ns*torus:2x2@1GB/s,0");
    damage(rlt_topology_from_graphml, graphml_text);
}

/* ---- placements ---- */

static int place(const char *text, const rlt_topology *t, rlt_placement *p, rlt_error *err)
{
    char path[] = "/tmp/rlt-placement-XXXXXX";
    test_write_new(path, text, strlen(text));
    int rc = rlt_placement_load(path, t, p, err);
    unlink(path);
    return rc;
}

static void placements(void **state)
{
    (void)state;
    rlt_topology *t =
        read_ok(from_json,
                "{\"nodes\":[{\"id\":\"gpu\",\"count\":4,\"kind\":\"accelerator\"},{\"id\":\"n\",\"count\":2,"
                "\"kind\":\"nic\"}],"
                "\"links\":[{\"src\":\"gpu0\",\"dst\":\"n0\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
                "{\"src\":\"gpu1\",\"dst\":\"n0\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
                "{\"src\":\"gpu2\",\"dst\":\"n1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
                "{\"src\":\"gpu3\",\"dst\":\"n1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
                "{\"src\":\"n0\",\"dst\":\"n1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}]}");
    rlt_placement p;
    assert_int_equal(rlt_placement_identity(t, 4, &p, NULL), 0);
    assert_int_equal(rlt_placed(&p, 3), 3);
    rlt_placement_free(&p);
    assert_int_equal(rlt_placement_identity(t, 5, &p, NULL), RLT_ERANGE);
    assert_int_equal(place("{\"ranks\":[3,\"gpu0\",{\"accelerator\":\"gpu2\",\"nic\":\"n1\"}]}", t, &p, NULL),
                     0);
    assert_int_equal(p.n, 3);
    assert_int_equal(rlt_placed(&p, 0), 3);
    assert_int_equal(rlt_placed(&p, 1), 0);
    assert_int_equal(rlt_placed(&p, 2), 2);
    assert_int_equal(p.nic[1], RLT_NONE);
    assert_int_equal(p.nic[2], rlt_topology_find_node(t, "n1"));
    rlt_placement_free(&p);
    assert_int_equal(place("{\"ranks\":[1]}", t, &p, NULL), 0);
    assert_null(p.nic);
    rlt_placement_free(&p);
    static const struct {
        const char *text, *place, *what;
    } wrong[] = {
        {"{\"rank\":[0]}", ":1:9: rank", "did you mean 'ranks'?"},
        {"{\"ranks\":[]}", ":1:10: ranks", "list"},
        {"{\"ranks\":[0,4]}", ":1:13: ranks[1]", "0 to 3"},
        {"{\"ranks\":[0,\"n0\"]}", ":1:13: ranks[1]", "n0"},
        {"{\"ranks\":[0,\"gpu0\"]}", ":1:13: ranks[1]", "already"},
        {"{\"ranks\":[{\"nic\":\"n0\"}]}", ":1:11: ranks[0]", "'accelerator'"},
        {"{\"ranks\":[{\"accelerator\":0,\"nic\":\"gpu1\"}]}", ":1:34: ranks[0].nic", "gpu1"},
        {"{\"ranks\":[true]}", ":1:11: ranks[0]", "accelerator"},
        {"{\"ranks\":[0,1,2,3,0]}", ":1:10: ranks", "5 ranks"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_error err = {0};
        if (place(wrong[i].text, t, &p, &err) >= 0 || !strstr(err.where, wrong[i].place) ||
            !strstr(err.what, wrong[i].what))
            fail_msg("%s: got '%s': %s", wrong[i].text, err.where, err.what);
        assert_null(p.accelerator);
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_the_right_counts),
        cmocka_unit_test(every_sample_is_in_the_table),
        cmocka_unit_test(dgx1_is_the_published_cube_mesh),
        cmocka_unit_test(json_graph),
        cmocka_unit_test(same_product_from_json_and_one_line),
        cmocka_unit_test(wrong_json_names_its_place),
        cmocka_unit_test(wrong_routes_name_their_place),
        cmocka_unit_test(wrong_one_liners_name_the_column),
        cmocka_unit_test(one_liners_take_parameters),
        cmocka_unit_test(yaml),
        cmocka_unit_test(wrong_yaml_names_its_place),
        cmocka_unit_test(published_yaml_files),
        cmocka_unit_test(published_hgx_file),
        cmocka_unit_test(graphml),
        cmocka_unit_test(wrong_graphml_names_its_line),
        cmocka_unit_test(exported_graphml_reads_back),
        cmocka_unit_test(damaged_files_never_crash),
        cmocka_unit_test(placements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
