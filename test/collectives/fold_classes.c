/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classes of folded collectives counted by hand: which members and links are alike, which are not, and why
 * nothing is folded. Each case that folds is compared with the whole run.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/watch.h"
#include "test/support/networks/folded.h"
#include "test/support/support.h"

#define SWITCH8 "switch:8@50GB/s,500ns"
#define RING8   "ring:8@50GB/s,500ns"

static uint32_t classes_of(const char *topology, const rlt_algorithm *a, rlt_coll_kind kind, uint64_t bytes,
                           const char *slow, uint32_t ranks)
{
    fold_case c = {.topology = topology,
                   .slow = slow,
                   .algorithm = a,
                   .model = &rlt_net_flow,
                   .kind = kind,
                   .bytes = bytes,
                   .ranks = ranks};
    return compare(&c);
}

static void classes_by_hand(void **state)
{
    (void)state;
    assert_int_equal(classes_of(SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8000, NULL, 0), 1);
    assert_int_equal(classes_of(SWITCH8, &rlt_halving_doubling, RLT_ALL_REDUCE, 8000, NULL, 0), 1);
    assert_int_equal(classes_of("fully-connected:5@40GB/s,300ns", &rlt_direct, RLT_ALL_TO_ALL, 5000, NULL, 0),
                     1);
    assert_int_equal(classes_of(SWITCH8, &rlt_pat, RLT_ALL_GATHER, 8000, NULL, 0), 1);
    assert_int_equal(classes_of("switch:9@50GB/s,500ns", &rlt_pat, RLT_REDUCE_SCATTER, 9000, NULL, 0), 1);
    /* seven rings, in which every member has other neighbours */
    classes_of("fully-connected:8@70GB/s,300ns", &rlt_ring, RLT_ALL_REDUCE, 56000, NULL, 0);
    /* four rings over nodes of four: each member is first, last and between in another one */
    assert_int_equal(
        classes_of("ring:4@200GB/s,500ns*switch:6@50GB/s,500ns", &rlt_ring, RLT_ALL_REDUCE, 24000, NULL, 0),
        1);
    /* the root, and the others, which are all alike to it */
    assert_int_equal(classes_of(SWITCH8, &rlt_direct, RLT_REDUCE, 8000, NULL, 0), 2);
    /* the larger blocks travel round the ring: all members differ */
    assert_int_equal(classes_of(SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8003, NULL, 0), 8);
    /* every member sees the slow accelerator directly */
    assert_int_equal(classes_of(SWITCH8, &rlt_direct, RLT_REDUCE, 8000, "acc3", 0), 3);
    /* round a ring, every member is at another distance from it */
    assert_int_equal(classes_of(SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8000, "acc3", 0), 8);
    /* two rows of direct exchanges: the slow member, its row, its column, and the rest */
    assert_true(classes_of("fully-connected:4@30GB/s,100ns*fully-connected:4@30GB/s,100ns", &rlt_hierarchical,
                           RLT_ALL_REDUCE, 16000, "acc5", 0) <= 16);
    /* five ranks of two groups of four */
    classes_of("switch:4@50GB/s,500ns*switch:2@20GB/s,500ns", &rlt_direct, RLT_REDUCE, 5000, NULL, 5);
    /* equal classes: where senders are blocked, each has a port to send to */
    fold_case equal = {.topology = "switch:4@50GB/s,500ns*switch:2@20GB/s,500ns",
                       .algorithm = &rlt_direct,
                       .model = &rlt_net_alpha_beta,
                       .kind = RLT_ALL_TO_ALL,
                       .bytes = 4800,
                       .injection = RLT_INJECT_BLOCKING};
    assert_int_equal(compare(&equal), 4);
}

/* Switches that add up inside dimensions. */
static void in_the_network(void **state)
{
    (void)state;
    static const char *const nets[] = {
        "switch:4@50GB/s,500ns,in_network=reduce+multicast*switch:8@20GB/s,700ns,in_network=reduce+multicast",
        "ring:4@50GB/s,500ns*switch:3@20GB/s,700ns,in_network=reduce+multicast",
        "switch:4@50GB/s,500ns,in_network=reduce+multicast*ring:5@20GB/s,700ns",
        "ring:3@50GB/s,300ns*switch:4@20GB/s,700ns,in_network=reduce+multicast*switch:2@10GB/s,900ns",
    };
    static const char *const patterns[][3] = {
        {"nvls", "nvls"}, {"ring", "nvls"}, {"nvls", "ring"}, {"ring", "nvls"}};
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER};
    for (uint32_t i = 0; i < 4 * 3 * 8; i++) {
        uint32_t net = i / 24, v = i % 8;
        fold_case c = {.topology = nets[net],
                       .algorithm = &rlt_hierarchical,
                       .model = v & 1 ? &rlt_net_alpha_beta : &rlt_net_flow,
                       .injection = v & 2 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC,
                       .kind = kinds[i / 8 % 3],
                       .bytes = 960 * 48,
                       .chunks = v & 4 ? 8 : 1,
                       .patterns = {patterns[net][0], patterns[net][1], patterns[net][2]}};
        uint32_t classes = compare(&c);
        assert_true(v & 1 ? classes > 1 : classes == 1);
    }
}

#define ADDS "in_network=reduce+multicast"

/* Algorithms whose members take turns inside a node: a class for each node, where the network is the same for
 * all members of a node. It is not if a route's spine follows from its leaf, or if members share NICs. */
static void turns_of_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t nodes;
        bool inside, folds; /* whether the node's switch adds up; whether the plan folds */
    } machines[] = {
        {"hgx-h100-8*rail:3@400Gbps,500ns," ADDS, 3, true, true},
        {"hgx-h100-8*rail:6@400Gbps,500ns,nodes_per_leaf=3," ADDS, 6, true, true},
        {"hgx-h100-8*rail:6@400Gbps,500ns,nodes_per_leaf=3,spines=2," ADDS, 6, true, false},
        {"switch:4@300GB/s,100ns," ADDS "*fat-tree:8@25GB/s,500ns,hosts_per_leaf=2," ADDS, 8, true, true},
        {"switch:4@300GB/s,100ns," ADDS "*rail:4@25GB/s,500ns,pxn=off," ADDS, 4, true, true},
        {"switch:4@300GB/s,100ns," ADDS "*rail:4@25GB/s,500ns,nics=2," ADDS, 4, true, false},
        {"switch:4@300GB/s,100ns," ADDS "*fat-tree:4@25GB/s,500ns,planes=1," ADDS, 4, true, false},
        {"ring:4@300GB/s,100ns*switch:5@25GB/s,500ns," ADDS, 5, false, true},
        {"fully-connected:4@300GB/s,100ns*rail:4@25GB/s,500ns," ADDS, 4, false, true},
    };
    for (uint32_t i = 0; i < 16 * sizeof machines / sizeof *machines; i++) {
        uint32_t at = i / 16, nodes = machines[at].nodes, v = i % 16;
        fold_case c = {.topology = machines[at].name,
                       .algorithm = v & 8 ? &rlt_collnet : &rlt_nvls_tree,
                       .model = &rlt_net_flow,
                       .injection = v & 1 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC,
                       .kind = RLT_ALL_REDUCE,
                       .bytes = 960 * 4800 + (v % 8 == 7),
                       .channels = v & 2 ? 3 : 1,
                       .chunks = v & 4 ? 5 : 0};
        if (!machines[at].inside && c.algorithm == &rlt_nvls_tree)
            continue;
        uint32_t classes = compare(&c);
        if (machines[at].folds && v % 8 != 7)
            assert_int_equal(classes, nodes);
        else
            assert_true(classes > nodes);
    }
}

/* Folds a broadcast by chains over 4096 members of a switch, within some effort. Returns the fold's code. */
static int fold_chain(uint32_t percent, const rlt_watch *watch, rlt_error *err)
{
    test_group s;
    rlt_router *router = NULL;
    rlt_plan plan = {0};
    rlt_fold fold = {0};
    rlt_fold_options how = {.percent = percent, .watch = watch};
    test_group_open(&s, "switch:4096@50GB/s,500ns", 0);
    assert_int_equal(rlt_router_create(s.t, &s.p, RLT_ROUTE_DMODK, &router, err), 0);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_BROADCAST, 1 << 20);
    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, err), 0);
    int rc = rlt_fold_create(&plan, router, &how, &fold, err);
    rlt_plan_free(&plan);
    rlt_router_free(router);
    test_group_close(&s);
    return rc;
}

static bool at_once(void *ctx)
{
    (void)ctx;
    return true;
}

/* The search ends when it costs too much, and when the watch says so. */
static void it_gives_up(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_watch watch = {.stopped = at_once};
    assert_int_equal(fold_chain(10, NULL, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "over 10 %"));
    err = (rlt_error){0};
    assert_int_equal(fold_chain(RLT_FOLD_ANYWAY, NULL, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "no two members are alike"));
    err = (rlt_error){0};
    assert_int_equal(fold_chain(RLT_FOLD_ANYWAY, &watch, &err), RLT_ECANCELLED);
}

/* A fold, and what it may use. */
typedef struct detail {
    const char *topology;
    const rlt_algorithm *algorithm;
    rlt_coll_kind kind;
    uint64_t bytes;
    uint32_t n, ranks[16]; /* n 0: all */
    uint32_t root;
    rlt_routing routing;
    rlt_fold_options how;
    uint32_t classes, size[16], of_member[16]; /* classes 0: refused */
    const char *why;
} detail;

static void check_detail(const detail *d)
{
    test_group s;
    rlt_group g;
    rlt_router *router = NULL;
    rlt_plan plan = {0};
    rlt_fold fold = {0};
    rlt_error err = {0};
    test_group_open(&s, d->topology, 0);
    uint32_t n = d->n ? d->n : rlt_topology_accelerators(s.t);
    assert_int_equal(rlt_router_create(s.t, &s.p, d->routing, &router, &err), 0);
    assert_int_equal(rlt_group_create(s.t, &s.p, d->n ? d->ranks : NULL, n, &g, &err), 0);
    rlt_coll_request req = rlt_group_request(&g, d->kind, d->bytes);
    req.root = d->root;
    if (rlt_plan_create(d->algorithm, &req, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    int rc = rlt_fold_create(&plan, router, &d->how, &fold, &err);
    if (rc != (d->classes ? 0 : RLT_EUNSUPPORTED) || fold.n_classes != d->classes ||
        (d->why && strcmp(err.what, d->why) != 0))
        fail_msg("%s by %s: %d, %u classes, %s", d->topology, d->algorithm->name, rc, fold.n_classes,
                 err.what);
    if (d->why)
        assert_string_equal(err.where, d->algorithm->name);
    for (uint32_t c = 0; c < fold.n_classes; c++) {
        uint32_t first = 0;
        while (d->of_member[first] != c)
            first++;
        assert_int_equal(fold.rep[c], first);
        assert_int_equal(fold.size[c], d->size[c]);
    }
    for (uint32_t m = 0; m < n && fold.n_classes; m++)
        assert_int_equal(rlt_fold_class(&fold, m), d->of_member[m]);
    assert_true(rc == 0 || (!fold.rep && !fold.size && !fold.of_member));
    rlt_fold_free(&fold);
    rlt_plan_free(&plan);
    rlt_group_free(&g);
    rlt_router_free(router);
    test_group_close(&s);
}

#define LEAVES "fat-tree:16@50GB/s,500ns,hosts_per_leaf=4"
#define NODES  "switch:2@100GB/s,100ns*fat-tree:8@50GB/s,500ns,hosts_per_leaf=4"

/* Members at one place of their leaves are alike, where each leaf has them at the same places. */
static void leaves_are_alike(void **state)
{
    static const detail rows[] = {
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1600, .classes = 4, .size = {4, 4, 4, 4},
         .of_member = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
        {LEAVES,
         &rlt_ring,
         RLT_ALL_REDUCE,
         1600,
         8,
         {0, 1, 2, 3, 4, 5, 6, 7},
         .classes = 4,
         .size = {2, 2, 2, 2},
         .of_member = {0, 1, 2, 3, 0, 1, 2, 3}},
        {LEAVES,
         &rlt_ring,
         RLT_ALL_REDUCE,
         2400,
         6,
         {13, 15, 5, 7, 1, 3},
         .classes = 2,
         .size = {3, 3},
         .of_member = {0, 1, 0, 1, 0, 1}},
        {LEAVES,
         &rlt_ring,
         RLT_ALL_REDUCE,
         1600,
         4,
         {0, 4, 8, 12},
         .classes = 1,
         .size = {4},
         .of_member = {0, 0, 0, 0}},
        /* other places, another order, one leaf, a leaf twice, half of a block, uneven numbers */
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 1, 4, 6}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 1, 5, 4}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 2400, 3, {0, 1, 3}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 2400, 6, {0, 1, 4, 5, 2, 3}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 4000, 5, {0, 1, 4, 5, 8}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 1, 4, 8}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1601, 4, {0, 4, 8, 12}, .classes = 0},
        {LEAVES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 4, 8, 12}, .routing = RLT_ROUTE_ECMP},
        {LEAVES, &rlt_tree, RLT_ALL_REDUCE, 1600, 4, {0, 4, 8, 12}, .classes = 0},
        /* every second accelerator is on the first rail: two leaves of four nodes */
        {NODES,
         &rlt_ring,
         RLT_ALL_REDUCE,
         1600,
         8,
         {0, 2, 4, 6, 8, 10, 12, 14},
         .classes = 4,
         .size = {2, 2, 2, 2},
         .of_member = {0, 1, 2, 3, 0, 1, 2, 3}},
        {NODES,
         &rlt_ring,
         RLT_ALL_REDUCE,
         1600,
         4,
         {3, 5, 11, 13},
         .classes = 2,
         .size = {2, 2},
         .of_member = {0, 1, 0, 1}},
        /* members of both rails; the ends differ in both dimensions */
        {NODES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 3, 8, 10}, .classes = 0},
        {NODES, &rlt_ring, RLT_ALL_REDUCE, 1600, 4, {0, 2, 8, 11}, .classes = 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_detail(&rows[i]);
}

#define ANYWAY                                                                                               \
    {                                                                                                        \
        .percent = RLT_FOLD_ANYWAY                                                                           \
    }

static void members_are_alike(void **state)
{
    static const detail rows[] = {
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8000, .classes = 1, .size = {8}},
        /* the root receives from all others */
        {SWITCH8, &rlt_direct, RLT_REDUCE, 8000, .how = ANYWAY, .classes = 2, .size = {1, 7},
         .of_member = {0, 1, 1, 1, 1, 1, 1, 1}},
        {SWITCH8, &rlt_direct, RLT_REDUCE, 8000, .root = 3, .how = ANYWAY, .classes = 2, .size = {7, 1},
         .of_member = {0, 0, 0, 1, 0, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_detail(&rows[i]);
}

/* Each reason why nothing is folded. */
static void reasons_are_given(void **state)
{
    static const detail rows[] = {
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8003,
         .why = "8003 bytes are not a multiple of the plan's 8 blocks"},
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8000, .routing = RLT_ROUTE_ECMP,
         .why = "the routing is ecmp; expected dmodk"},
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8000, .routing = RLT_ROUTE_SPRAY, .how = ANYWAY,
         .why = "messages are sprayed over the routes"},
        {RING8,
         &rlt_ring,
         RLT_ALL_REDUCE,
         5000,
         5,
         {0, 1, 2, 3, 4},
         .why = "the group is not the whole topology in accelerator order"},
        {RING8,
         &rlt_ring,
         RLT_ALL_REDUCE,
         8000,
         8,
         {1, 0, 2, 3, 4, 5, 6, 7},
         .why = "the group is not the whole topology in accelerator order"},
        {SWITCH8,
         &rlt_ring,
         RLT_ALL_REDUCE,
         8000,
         1,
         {3},
         .how = ANYWAY,
         .why = "the group has only one member"},
        {SWITCH8, &rlt_tree, RLT_BROADCAST, 8000, .why = "the members of the plan are not alike"},
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8003, .how = ANYWAY, .why = "no two members are alike"},
        {SWITCH8, &rlt_ring, RLT_ALL_REDUCE, 8003, .how = {.percent = 1},
         .why = "finding those that are alike would cost over 1 % of that"},
        {SWITCH8, &rlt_direct, RLT_REDUCE, 8000,
         .how = {.percent = RLT_FOLD_ANYWAY, .blocking = true, .serialises = true},
         .why = "blocked senders wait their turn at a receiver's port"},
        {"switch:8@50GB/s,500ns," ADDS, &rlt_nvls, RLT_ALL_REDUCE, 8000, .how = ANYWAY,
         .why = "the algorithm aggregates in the network"},
        {"switch:4@50GB/s,100ns," ADDS "*switch:2@20GB/s,500ns,nics=4", &rlt_nvls_tree, RLT_ALL_REDUCE, 8000,
         .how = {.serialises = true}, .why = "the algorithm aggregates in the network"},
        {"switch:4@50GB/s,100ns," ADDS "*switch:2@20GB/s,500ns,nics=4",
         &rlt_nvls_tree,
         RLT_ALL_REDUCE,
         8000,
         4,
         {0, 1, 4, 5},
         .how = ANYWAY,
         .why = "the members of the plan are not alike"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_detail(&rows[i]);
    detail blocked = rows[9];
    blocked.how.blocking = false;
    blocked.classes = 2;
    blocked.size[0] = 1, blocked.size[1] = 7;
    for (int m = 1; m < 8; m++)
        blocked.of_member[m] = 1;
    blocked.why = NULL;
    check_detail(&blocked);
    blocked.how = (rlt_fold_options){.blocking = true, .percent = RLT_FOLD_ANYWAY};
    check_detail(&blocked);
}

/* Steps that repeat are leapt over: 2 (n - 1) steps of 20 ps a byte and two links of 500 ns take few events. */
static void repeated_steps_are_leapt_over(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t n = i / 2 ? 64 : 1024;
        fold_case c = {.topology = i / 2 ? "switch:64@50GB/s,500ns" : "switch:1024@50GB/s,500ns",
                       .algorithm = &rlt_ring,
                       .model = i % 2 ? &rlt_net_flow : &rlt_net_alpha_beta,
                       .kind = RLT_ALL_REDUCE,
                       .bytes = 67 * n};
        outcome o = run(&c, true);
        assert_int_equal(o.classes, 1);
        assert_int_equal(o.all.time_ps, 2 * (n - 1) * (20 * 67 + 1000000));
        assert_int_equal(o.all.messages, 2 * n * (n - 1));
        assert_int_equal(o.links[0].bytes, 2 * (n - 1) * 67);
        assert_true(o.all.events < 30);
        free(o.links);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_by_hand),   cmocka_unit_test(in_the_network),
        cmocka_unit_test(turns_of_nodes),    cmocka_unit_test(it_gives_up),
        cmocka_unit_test(leaves_are_alike),  cmocka_unit_test(members_are_alike),
        cmocka_unit_test(reasons_are_given), cmocka_unit_test(repeated_steps_are_leapt_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
