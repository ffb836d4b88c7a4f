/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that a library's tuner is told of, worked out by hand from topologies. */
#include "collectives/library.h"

#include <math.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/tuner/tuner.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
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
    ask(&a, "hgx-h100-8", NULL, 0);
    assert_false(a.known);
    done(&a);
    ask(&a, "switch:8@450GB/s,300ns*rail:2@400Gbps,500ns", NULL, 0);
    assert_false(a.known);
    done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_nics),
        cmocka_unit_test(rccl),
        cmocka_unit_test(not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
