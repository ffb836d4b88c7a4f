/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that a library's tuner is told of, worked out by hand from topologies. */
#include "collectives/library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/selector.h"
#include "collectives/tuner/channels.h"
#include "collectives/tuner/search.h"
#include "collectives/tuner/tuner.h"
#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/endpoint/version.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MOST = 16 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

typedef struct asked {
    test_group s;
    rlt_group group;
    rlt_coll_request req;
    rlt_tuner_machine m;
    rlt_tuner_call call;
    bool known;
} asked;

/* Asks for an all-reduce of some ranks; n 0: of all. */
static void ask(asked *a, const char *topology, const uint32_t *ranks, uint32_t n)
{
    rlt_error err = {0};
    *a = (asked){.known = false};
    test_group_open(&a->s, topology, 0);
    if (rlt_group_create(a->s.t, &a->s.p, ranks, n ? n : rlt_topology_accelerators(a->s.t), &a->group, &err))
        fail_msg("%s: %s", err.where, err.what);
    a->req = rlt_group_request(&a->group, RLT_ALL_REDUCE, 1 << 20);
    a->known = rlt__library_knows(&a->req, rlt_topology_endpoint(a->s.t), &a->m, &a->call);
}

static void done(asked *a)
{
    rlt_group_free(&a->group);
    test_group_close(&a->s);
}

/* Members that use a part of the node's GPUs use that part of its NICs, but one at least. */
static void nodes_and_nics(void **state)
{
    static const struct {
        const char *topology;
        uint32_t ranks[MOST], n, nodes, gpus, nics;
        double nic_GBps;
    } rows[] = {
        {"hgx-h100-8*rail:2@400Gbps,500ns", {0}, 0, 2, 8, 8, 50},
        {"hgx-h100-8*rail:4@100Gbps,500ns", {0}, 0, 4, 8, 8, 12.5},
        {"hgx-h100-8*rail:2@400Gbps,500ns", {0, 1, 2, 3, 8, 9, 10, 11}, 8, 2, 4, 4, 50},
        {"hgx-h100-8*rail:2@400Gbps,500ns", {0, 1, 8, 9}, 4, 2, 2, 2, 50},
        {"hgx-h100-8*rail:2@400Gbps,500ns", {0, 8}, 2, 2, 1, 1, 50},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        ask(&a, rows[i].topology, rows[i].n ? rows[i].ranks : NULL, rows[i].n);
        if (!a.known || a.m.nodes != rows[i].nodes || a.m.gpus != rows[i].gpus || a.m.nics != rows[i].nics ||
            !near(a.m.nic_GBps, rows[i].nic_GBps))
            fail_msg("row %zu: %d, %u nodes of %u, %u NICs of %g GB/s", i, a.known, a.m.nodes, a.m.gpus,
                     a.m.nics, a.m.nic_GBps);
        assert_true(a.m.nvswitch && a.m.arch == RLT_TUNER_HOPPER);
        assert_true(a.call.bytes == 1 << 20 && a.call.kind == RLT_TUNER_ALL_REDUCE && !a.call.fp8);
        done(&a);
    }
}

/*
 * Eight MI300X, every two joined by 48 GB/s. Alone: 14 rings share 7 links of each GPU, 48 x 7 / 14 = 24 GB/s. Eight
 * nodes' paths: each has a NIC, or what a link carries if that is less.
 */
static void rccl(void **state)
{
    static const uint32_t four[] = {0, 1, 2, 3, 8, 9, 10, 11};
    asked a;
    (void)state;
    ask(&a, "mi300x-8", NULL, 0);
    assert_true(a.known && a.m.nodes == 1 && a.m.gpus == 8 && a.m.ring.channels == 14);
    assert_true(near(a.m.ring.intra_GBps, 24) && a.m.ring.inter_GBps <= 0 && a.m.ring.inter_GBps >= 0);
    assert_true(a.m.version.rccl);
    a.req.library = 22304; /* NCCL's, which knows no such GPU */
    assert_false(rlt__library_knows(&a.req, rlt_topology_endpoint(a.s.t), &a.m, &a.call));
    done(&a);
    ask(&a, "mi300x-8*rail:4@400Gbps,2us", NULL, 0);
    assert_true(a.known && a.m.nodes == 4 && a.m.ring.channels == 8 && a.m.nics == 8);
    assert_true(near(a.m.ring.intra_GBps, 48) && near(a.m.ring.inter_GBps, 48));
    done(&a);
    ask(&a, "mi300x-8*rail:4@200Gbps,2us", NULL, 0);
    assert_true(a.known && near(a.m.ring.intra_GBps, 25) && near(a.m.tree.inter_GBps, 25) &&
                near(a.m.nic_GBps, 25));
    done(&a);
    ask(&a, "mi300x-8*rail:2@200Gbps,2us", four, 8); /* half of each node: RCCL would search */
    assert_false(a.known);
    done(&a);
}

/* Kinds that NCCL's tuner has no tables for, one node, and GPUs of no known generation. */
static void not_known(void **state)
{
    asked a;
    (void)state;
    ask(&a, "hgx-h100-8*rail:2@400Gbps,500ns", NULL, 0);
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        bool has = kind == RLT_ALL_REDUCE || kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER ||
                   kind == RLT_BROADCAST || kind == RLT_REDUCE;
        a.req.kind = (rlt_coll_kind)kind;
        assert_int_equal(rlt__library_knows(&a.req, rlt_topology_endpoint(a.s.t), &a.m, &a.call), has);
    }
    a.req.kind = RLT_ALL_REDUCE;
    a.req.element = 1;
    assert_true(rlt__library_knows(&a.req, rlt_topology_endpoint(a.s.t), &a.m, &a.call) && a.call.fp8);
    a.req.node = 0;
    assert_false(rlt__library_knows(&a.req, rlt_topology_endpoint(a.s.t), &a.m, &a.call));
    done(&a);
    /* RCCL's boxes are fully connected */
    ask(&a, "switch:8@400GB/s,300ns*rail:2@400Gbps,500ns", NULL, 0);
    rlt_endpoint cdna3 = *rlt_topology_endpoint(a.s.t);
    cdna3.gpu = RLT_GPU_CDNA3;
    assert_false(rlt__library_knows(&a.req, &cdna3, &a.m, &a.call));
    done(&a);
    ask(&a, "hgx-h100-8", NULL, 0);
    assert_false(a.known);
    done(&a);
    ask(&a, "switch:8@450GB/s,300ns*rail:2@400Gbps,500ns", NULL, 0);
    assert_false(a.known);
    done(&a);
}

#define ADDS ",in_network=reduce+multicast"

/* A machine of several nodes, and what NCCL sees of it. */
typedef struct seen {
    const char *topology;
    uint32_t accelerators, nics;
    double inside_GBps, nic_GBps;
    bool multicast, sharp;
} seen;

static const seen machines[] = {
    {"switch:4@100GB/s,300ns*rail:3@25GB/s,500ns", 4, 4, 100, 25, false, false},
    {"switch:4@200GB/s,300ns" ADDS "*rail:3@12GB/s,500ns,nics=2", 4, 2, 200, 12, true, false},
    {"switch:4@200GB/s,300ns*rail:3@12GB/s,500ns,nics=1", 4, 1, 200, 12, false, false},
    {"switch:8@300GB/s,300ns" ADDS "*switch:2@50GB/s,500ns" ADDS, 8, 8, 300, 50, true, true},
    {"switch:2@150GB/s,300ns*switch:4@25GB/s,500ns" ADDS, 2, 2, 150, 25, false, true},
    {"switch:4@150GB/s,300ns*switch:4@25GB/s,500ns,in_network=reduce", 4, 4, 150, 25, false, false},
    {"switch:4@150GB/s,300ns*switch:4@0.5GB/s,500ns", 4, 4, 150, 0.5, false, false},
};
enum { MACHINES = sizeof machines / sizeof *machines };

static bool same(double a, double b)
{
    return a <= b && a >= b;
}

static void same_pattern(const rlt_tuner_pattern *a, const rlt_tuner_pattern *b)
{
    assert_int_equal(a->channels, b->channels);
    assert_true(same(a->intra_GBps, b->intra_GBps) && same(a->inter_GBps, b->inter_GBps));
    assert_true(a->intra == b->intra && a->inter == b->inter && a->plain == b->plain &&
                a->unlike == b->unlike);
}

static void same_machine(const rlt_tuner_machine *a, const rlt_tuner_machine *b)
{
    assert_int_equal(a->version.number, b->version.number);
    assert_int_equal(a->version.rccl, b->version.rccl);
    assert_true(a->arch == b->arch && a->newest == b->newest && a->cpu == b->cpu);
    assert_true(a->nodes == b->nodes && a->gpus == b->gpus && a->channels == b->channels);
    assert_int_equal(a->nics, b->nics);
    assert_true(same(a->nic_GBps, b->nic_GBps) && same(a->plugin_us, b->plugin_us));
    assert_true(a->nvswitch == b->nvswitch && a->multicast == b->multicast && a->collnet == b->collnet);
    assert_true(a->collnet_shares == b->collnet_shares && a->offload == b->offload);
    same_pattern(&a->ring, &b->ring);
    same_pattern(&a->tree, &b->tree);
    same_pattern(&a->nvls, &b->nvls);
    same_pattern(&a->collnet_chain, &b->collnet_chain);
    same_pattern(&a->collnet_direct, &b->collnet_direct);
}

static rlt_tuner_cpu cpu_for(rlt_host host)
{
    static const struct {
        rlt_host host;
        rlt_tuner_cpu cpu;
    } rows[] = {{RLT_HOST_INTEL, RLT_TUNER_INTEL},
                {RLT_HOST_AMD, RLT_TUNER_AMD},
                {RLT_HOST_ARM, RLT_TUNER_ARM},
                {RLT_HOST_POWER, RLT_TUNER_POWER}};
    for (size_t i = 0; i < 4; i++)
        if (rows[i].host == host)
            return rows[i].cpu;
    return RLT_TUNER_MIXED;
}

/* Draws what an endpoint says of its processors, version and network. */
static rlt_endpoint draw_endpoint(dice *k, const rlt_topology *t)
{
    static const rlt_host hosts[] = {RLT_HOST_INTEL, RLT_HOST_AMD, RLT_HOST_ARM, RLT_HOST_POWER};
    static const uint32_t versions[] = {0, 22304, 22703, 23004};
    static const char *const names[] = {"LL", "LL128", "Simple", "P2P", "NVLS"};
    rlt_endpoint e = *rlt_topology_endpoint(t);
    uint32_t kinds = 0;
    while (rlt_internode_name(kinds))
        kinds++;
    e.host = hosts[below(k, 4)];
    e.nccl = versions[below(k, 4)];
    e.internode.kind = below(k, kinds);
    e.internode.no_LL128 = below(k, 3) == 0;
    e.n_protocols = 1 + below(k, RLT_MAX_PROTOCOLS);
    for (uint32_t i = 0; i < e.n_protocols; i++) {
        uint32_t which = below(k, 5);
        e.protocols[i] = rlt_protocol_default();
        snprintf(e.protocols[i].name, sizeof e.protocols[i].name, "%s", names[which]);
        e.protocols[i].serves = which == 3 ? RLT_FOR_DIRECT : which == 4 ? RLT_FOR_NVLS : RLT_FOR_STEPS;
    }
    e.protocol = below(k, 2) ? RLT_PROTOCOL_AUTO : (int)below(k, e.n_protocols);
    return e;
}

/* Where this project has the algorithm, and lines other than Simple's only in rings and trees. */
static const rlt_algorithm *ours(const rlt_tuner_prediction *p, rlt_coll_kind kind)
{
    static const char *const names[RLT_TUNER_ALGORITHMS] = {[RLT_TUNER_RING] = "ring",
                                                            [RLT_TUNER_TREE] = "tree",
                                                            [RLT_TUNER_NVLS_TREE] = "nvls_tree",
                                                            [RLT_TUNER_COLLNET_DIRECT] = "collnet",
                                                            [RLT_TUNER_PAT] = "pat"};
    const rlt_algorithm *a = names[p->algorithm] ? rlt_algorithm_find(names[p->algorithm], NULL) : NULL;
    if (a && p->protocol != RLT_TUNER_SIMPLE && p->algorithm != RLT_TUNER_RING &&
        p->algorithm != RLT_TUNER_TREE)
        a = NULL;
    return a && a->kinds >> kind & 1 ? a : NULL;
}

/* Compares the candidates with the tuner's predictions, one by one. */
static uint32_t check_candidates(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_coll_kind kind,
                                 const rlt_endpoint *e, const rlt_algorithm *only)
{
    rlt_candidate got[RLT_MAX_CANDIDATES];
    rlt_tuner_prediction all[RLT_TUNER_CANDIDATES];
    uint32_t n = rlt__library_candidates(m, call, e, only, got), at = 0;
    rlt_tuner_candidates(m, call, all);
    for (uint32_t i = 0; i < RLT_TUNER_CANDIDATES; i++) {
        const rlt_algorithm *a = ours(&all[i], kind);
        uint32_t row = 0;
        while (a && row < e->n_protocols &&
               (e->protocols[row].serves != a->served_by ||
                (a->served_by == RLT_FOR_STEPS &&
                 strcmp(e->protocols[row].name, rlt_tuner_protocol_name(all[i].protocol)) != 0)))
            row++;
        if (!a || row == e->n_protocols || (only && only != a))
            continue;
        const rlt_candidate *c = &got[at++];
        bool off = all[i].protocol == RLT_TUNER_LL128 && e->internode.no_LL128;
        bool other = e->protocol != RLT_PROTOCOL_AUTO && e->protocol != (int)row &&
                     e->protocols[e->protocol].serves == RLT_FOR_STEPS;
        const char *why = all[i].excluded ? all[i].excluded
                          : off           ? "LL128 is off between nodes"
                          : other         ? "another protocol is set"
                                          : NULL;
        rlt_tuner_launch launch = {.channels = 1};
        if (!all[i].excluded)
            launch = rlt_tuner_launch_of(m, call, all[i].algorithm, all[i].protocol);
        assert_true(at <= n && c->algorithm == a && c->protocol == row);
        assert_true(c->channels == launch.channels && c->chunk_bytes == launch.chunk_bytes);
        assert_string_equal(c->excluded ? c->excluded : "", why ? why : "");
        rlt_time ps = all[i].time_us > 0 ? (rlt_time)llround(all[i].time_us * 1e6) : RLT_TIME_MAX;
        assert_true(c->estimate_ps == ps);
    }
    assert_int_equal(at, n);
    return n;
}

/* Figures of a generation of GPUs. */
typedef struct generation {
    rlt_gpu gpu;
    uint32_t capability;
    double lane_GBps, pcie_GBps;
} generation;

static const generation gpus[] = {{RLT_GPU_VOLTA, 70, 25, 12},
                                  {RLT_GPU_AMPERE, 80, 25, 24},
                                  {RLT_GPU_HOPPER, 90, 25, 48},
                                  {RLT_GPU_BLACKWELL, 100, 50, 96}};

/* The node that NCCL sees if `each` GPUs of every node take part. */
static rlt_tuner_node node_of(const seen *s, const generation *g, const rlt_coll_request *req,
                              const rlt_endpoint *e, uint32_t each)
{
    uint32_t nics = s->nics * each / s->accelerators;
    return (rlt_tuner_node){.version = {.number = req->library ? req->library
                                                  : e->nccl    ? e->nccl
                                                               : RLT_NCCL_NEWEST},
                            .arch = rlt_tuner_arch_of(g->capability),
                            .cpu = cpu_for(e->host),
                            .nodes = req->n / each,
                            .gpus = each,
                            .nvlink_GBps = s->inside_GBps / g->lane_GBps * rlt_tuner_lane_GBps(g->capability),
                            .nvswitch = true,
                            .multicast = s->multicast,
                            .path = RLT_VIA_PXB,
                            .pcie_GBps = g->pcie_GBps,
                            .switch_gpus = 2,
                            .nics = nics ? nics : 1,
                            .nic_GBps = s->nic_GBps,
                            .collnet = s->sharp,
                            .collnet_shares = s->sharp,
                            .plugin_us = (double)rlt_internode_plugin(e->internode.kind) / 1e6};
}

/* Compares a drawn machine. Returns its number of candidates; 0 if the search finds no channels. */
static uint32_t one_machine(dice *k, const seen *s)
{
    static const rlt_coll_kind kinds[RLT_TUNER_KINDS] = {[RLT_TUNER_ALL_REDUCE] = RLT_ALL_REDUCE,
                                                         [RLT_TUNER_ALL_GATHER] = RLT_ALL_GATHER,
                                                         [RLT_TUNER_REDUCE_SCATTER] = RLT_REDUCE_SCATTER,
                                                         [RLT_TUNER_BROADCAST] = RLT_BROADCAST,
                                                         [RLT_TUNER_REDUCE] = RLT_REDUCE};
    asked a;
    uint32_t ranks[64], n = 0, candidates = 0, each = 1 + below(k, s->accelerators), kind = below(k, 5);
    const generation *g = &gpus[below(k, 4)];
    test_group_open(&a.s, s->topology, 0);
    for (uint32_t r = 0; r < rlt_topology_accelerators(a.s.t); r++)
        if (r % s->accelerators < each)
            ranks[n++] = r;
    assert_int_equal(rlt_group_create(a.s.t, &a.s.p, ranks, n, &a.group, NULL), 0);
    rlt_endpoint e = draw_endpoint(k, a.s.t);
    e.gpu = g->gpu;
    a.req = rlt_group_request(&a.group, kinds[kind], roll(k, (uint64_t)1 << (4 + below(k, 28))));
    a.req.element = below(k, 2) ? 1 : 4;
    a.req.library = below(k, 3) ? 0 : 22901;
    rlt_tuner_node node = node_of(s, g, &a.req, &e, each);
    rlt_tuner_machine m;
    bool known = rlt_tuner_search(&node, &m, NULL) == 0;
    assert_int_equal(rlt__library_knows(&a.req, &e, &a.m, &a.call), known);
    if (known) {
        same_machine(&a.m, &m);
        assert_true(a.call.bytes == a.req.bytes && a.call.fp8 == (a.req.element == 1));
        assert_int_equal(a.call.kind, kind);
        candidates = check_candidates(&m, &a.call, kinds[kind], &e, NULL);
        check_candidates(&m, &a.call, kinds[kind], &e, below(k, 2) ? &rlt_ring : &rlt_tree);
    }
    done(&a);
    return candidates;
}

/* Every figure of a machine, by the generation of its GPUs; whole nodes and parts of them. */
static void machines_are_described(void **state)
{
    uint32_t candidates = 0;
    dice k = {.seed = 53};
    (void)state;
    for (uint32_t i = 0; i < 100 * MACHINES; i++)
        candidates += one_machine(&k, &machines[i % MACHINES]);
    print_message("%u candidates\n", candidates);
    assert_true(candidates > 600);
}

/* Nodes of any number of GPUs, every two joined by 60 GB/s: rings over all links of one node; over several nodes
 * only boxes of eight have paths. Dimensions of one member do not count. */
static void boxes_of_any_size(void **state)
{
    static const uint32_t sizes[] = {2, 3, 8};
    dice k = {.seed = 59};
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        char text[120];
        asked a;
        uint32_t g = sizes[i % 3], nodes = 1 + i / 3 % 3;
        int at = snprintf(text, sizeof text, "fully-connected:%u@%uGB/s,100ns", g, 60 * (g - 1));
        if (nodes > 1)
            snprintf(text + at, sizeof text - (size_t)at, "*rail:%u@%uGB/s,1us", nodes, 20 + i);
        test_group_open(&a.s, text, 0);
        a.group = (rlt_group){0};
        a.req = rlt_group_request(&a.s.g, RLT_ALL_GATHER, 1 << 20);
        rlt_endpoint e = draw_endpoint(&k, a.s.t);
        e.gpu = RLT_GPU_CDNA3;
        if (i % 2) {
            memmove(a.req.dims + 1, a.req.dims, 2 * sizeof *a.req.dims);
            memmove(a.req.shapes + 1, a.req.shapes, 2 * sizeof *a.req.shapes);
            a.req.dims[0] = 1;
            a.req.shapes[0] = "ring";
            a.req.n_dims++;
        }
        bool several = nodes > 1, known = !several || g == 8;
        assert_int_equal(rlt__library_knows(&a.req, &e, &a.m, &a.call), known);
        double path = 20 + i < 60 ? 20 + i : 60, ring = several ? path : 60.0 * (g - 1) / 14;
        rlt_tuner_pattern found = {.channels = several ? 8 : 14,
                                   .intra_GBps = a.m.ring.intra_GBps,
                                   .inter_GBps = a.m.ring.inter_GBps,
                                   .intra = RLT_VIA_NVL,
                                   .inter = RLT_VIA_PXB,
                                   .unlike = true};
        rlt_tuner_machine m = {.version = {.rccl = true, .number = a.m.version.number},
                               .arch = RLT_TUNER_MI300X,
                               .newest = RLT_TUNER_MI300X,
                               .cpu = cpu_for(e.host),
                               .nodes = nodes,
                               .gpus = g,
                               .ring = found,
                               .tree = found,
                               .nics = several ? g : a.m.nics,
                               .nic_GBps = several ? 20 + i : a.m.nic_GBps,
                               .plugin_us = (double)rlt_internode_plugin(e.internode.kind) / 1e6};
        if (known) {
            same_machine(&a.m, &m);
            assert_true(near(found.intra_GBps, ring) && near(found.inter_GBps, several ? path : 0));
        }
        rlt_group_free(&a.group);
        test_group_close(&a.s);
    }
}

/* Checks the candidates for some members of each node. Returns how many the network cannot do. */
static uint32_t check_possible(const char *topology, uint32_t each, rlt_coll_kind kind)
{
    test_group s;
    rlt_group g;
    rlt_candidate all[RLT_MAX_CANDIDATES];
    uint32_t ranks[64], n = 0, impossible = 0;
    test_group_open(&s, topology, 0);
    for (uint32_t r = 0; r < rlt_topology_accelerators(s.t); r++)
        if (r % 8 < each)
            ranks[n++] = r;
    assert_int_equal(rlt_group_create(s.t, &s.p, ranks, n, &g, NULL), 0);
    rlt_coll_request req = rlt_group_request(&g, kind, 1 << 20);
    uint32_t count = rlt_candidates(&req, all);
    assert_true(count > 1 && !all[0].excluded);
    for (uint32_t i = 0; i < count; i++) {
        rlt_plan plan;
        bool can = rlt__plan_untuned(all[i].algorithm, &req, &plan, NULL) == 0;
        if (can)
            rlt_plan_free(&plan);
        bool cannot = all[i].excluded && strcmp(all[i].excluded, "this network cannot do it") == 0;
        assert_true(all[i].excluded ? !(cannot && can) : can);
        assert_true(all[i].excluded || all[i].estimate_ps >= all[0].estimate_ps);
        impossible += cannot;
    }
    rlt_group_free(&g);
    test_group_close(&s);
    return impossible;
}

/* A candidate that no plan can follow is out: CollNet, where each node has one member. */
static void only_what_can_be_planned(void **state)
{
    static const char *const topologies[] = {"hgx-h100-8*rail:4@400Gbps,500ns" ADDS,
                                             "hgx-h100-8*switch:3@400Gbps,500ns,nics=4" ADDS,
                                             "hgx-h100-8*fat-tree:4@400Gbps,500ns,hosts_per_leaf=2"};
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t each = 1; each <= 8; each *= 2) {
            uint32_t out = i < 2 && each == 1;
            assert_int_equal(check_possible(topologies[i], each, RLT_ALL_REDUCE), out);
            assert_int_equal(check_possible(topologies[i], each, RLT_ALL_GATHER), out);
            assert_int_equal(check_possible(topologies[i], each, RLT_BROADCAST), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_nics),    cmocka_unit_test(rccl),
        cmocka_unit_test(not_known),         cmocka_unit_test(machines_are_described),
        cmocka_unit_test(boxes_of_any_size), cmocka_unit_test(only_what_can_be_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
