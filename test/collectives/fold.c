/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded runs against whole ones, to the picosecond and the byte, for every algorithm, kind, network model
 * and injection rule. Numbers of classes counted by hand. Folded rings of a million ranks against the closed
 * form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/networks/folded.h"
#include "test/support/support.h"

static void everything(void **state)
{
    (void)state;
    static const char *const topologies[] = {
        "switch:8@50GB/s,500ns",
        "ring:6@50GB/s,500ns",
        "fully-connected:5@40GB/s,300ns",
        "ring:4@200GB/s,500ns*switch:3@50GB/s,700ns",
        "fully-connected:3@90GB/s,100ns*ring:4@20GB/s,1us",
        "torus:4x4@80GB/s,500ns",
        "fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,oversubscription=2",
        "rail-optimised:16@50GB/s,1us,gpus_per_node=4,nvlink_bandwidth=200GB/s",
        "dgx1-v100-8",
    };
    static const uint64_t sizes[] = {960 * 48, 100003};
    uint32_t ran = 0, folded = 0;
    for (size_t t = 0; t < sizeof topologies / sizeof *topologies; t++) {
        for (uint32_t a = 0; rlt_algorithm_at(a); a++) {
            for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
                const rlt_algorithm *algorithm = rlt_algorithm_at(a);
                if (!(algorithm->kinds >> kind & 1) || kind == RLT_SEND_RECV)
                    continue;
                for (uint32_t v = 0; v < 8; v++) {
                    fold_case c = {.topology = topologies[t],
                                   .algorithm = algorithm,
                                   .kind = (rlt_coll_kind)kind,
                                   .model = v & 1 ? &rlt_net_flow : &rlt_net_alpha_beta,
                                   .injection = v & 2 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC,
                                   .root = v & 2,
                                   .bytes = sizes[v >> 2]};
                    uint32_t classes = compare(&c);
                    ran += classes > 0;
                    folded += classes > 0 && classes < 9;
                }
            }
        }
    }
    print_message("%u runs, %u of them folded to at most 8 classes\n", ran, folded);
    assert_true(folded > ran / 4);
}

/* Two accelerators at a PCIe switch with a NIC, two at another one, joined by their CPUs. */
static const char pcie_node[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\",\"count\":4},{\"id\":\"p\",\"kind\":\"pcie\",\"count\":2},"
    "{\"id\":\"u\",\"kind\":\"cpu\",\"count\":2},{\"id\":\"m\",\"kind\":\"nic\",\"count\":2}],\"links\":["
    "{\"src\":\"a0\",\"dst\":\"a1\",\"bandwidth\":\"100GB/s\",\"latency\":\"10ns\"},"
    "{\"src\":\"a2\",\"dst\":\"a3\",\"bandwidth\":\"100GB/s\",\"latency\":\"10ns\"},"
    "{\"src\":\"a0\",\"dst\":\"p0\",\"bandwidth\":\"20GB/s\",\"latency\":\"20ns\"},"
    "{\"src\":\"a1\",\"dst\":\"p0\",\"bandwidth\":\"20GB/s\",\"latency\":\"20ns\"},"
    "{\"src\":\"a2\",\"dst\":\"p1\",\"bandwidth\":\"20GB/s\",\"latency\":\"20ns\"},"
    "{\"src\":\"a3\",\"dst\":\"p1\",\"bandwidth\":\"20GB/s\",\"latency\":\"20ns\"},"
    "{\"src\":\"p0\",\"dst\":\"u0\",\"bandwidth\":\"20GB/s\",\"latency\":\"40ns\"},"
    "{\"src\":\"p1\",\"dst\":\"u1\",\"bandwidth\":\"20GB/s\",\"latency\":\"40ns\"},"
    "{\"src\":\"u0\",\"dst\":\"u1\",\"bandwidth\":\"10GB/s\",\"latency\":\"80ns\"},"
    "{\"src\":\"p0\",\"dst\":\"m0\",\"bandwidth\":\"20GB/s\",\"latency\":\"16ns\"},"
    "{\"src\":\"p1\",\"dst\":\"m1\",\"bandwidth\":\"20GB/s\",\"latency\":\"16ns\"}]}";

/* Writes a file that run() can name. */
static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Draws a case on the machine: any algorithm that does a kind, with any root, channels and chunks. */
static fold_case draw(dice *k, const char *topology)
{
    static const uint64_t sizes[] = {960 * 48, 100003, 4096, 1};
    fold_case c = {.topology = topology,
                   .model = below(k, 2) ? &rlt_net_flow : &rlt_net_alpha_beta,
                   .injection = below(k, 4) ? RLT_INJECT_NIC : RLT_INJECT_BLOCKING,
                   .bytes = sizes[below(k, 4)],
                   .root = below(k, 8),
                   .channels = below(k, 2) ? below(k, 9) : 0,
                   .chunks = below(k, 2) ? below(k, 4) : 0};
    uint32_t n = 0;
    while (rlt_algorithm_at(n))
        n++;
    do {
        c.algorithm = rlt_algorithm_at(below(k, n));
        c.kind = (rlt_coll_kind)below(k, RLT_COLL_KINDS);
    } while (!(c.algorithm->kinds >> c.kind & 1) || c.kind == RLT_SEND_RECV || c.algorithm == &rlt_nvls);
    if (c.kind == RLT_BARRIER)
        c.bytes = 0;
    return c;
}

/* Names that begin with '/' are files of the test's own folder. */
static const char *in_folder(const char *own, const char *name, char at[200])
{
    snprintf(at, 200, "%s%s", *name == '/' ? own : "", name);
    return at;
}

/* Nodes times networks: shared NICs, planes, moves inside the node or not, nodes that are graphs, spines; the
 * same as graphs. Random cases with a fixed seed. */
static void composed_machines(void **state)
{
    static const char *const machines[] = {
        "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns",
        "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns,pxn=off",
        "switch:4@300GB/s,100ns*rail:6@25GB/s,500ns,nodes_per_leaf=3,spines=2,pxn=off",
        "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns,nics=2,pcie=20GB/s",
        "switch:4@300GB/s,100ns*switch:3@25GB/s,500ns,nics=1",
        "switch:4@300GB/s,100ns*switch:4@25GB/s,500ns,nics=2,planes=1,pxn=off",
        "switch:4@300GB/s,100ns*fat-tree:4@25GB/s,500ns,hosts_per_leaf=2",
        "switch:2@300GB/s,100ns*fat-tree:8@25GB/s,500ns,hosts_per_leaf=4,planes=1,pxn=off",
        "switch:4@300GB/s,100ns*fat-tree:4@25GB/s,500ns,nics=2,hosts_per_leaf=2,oversubscription=2",
        "fully-connected:4@90GB/s,100ns*ring:4@20GB/s,1us",
        "switch:4@300GB/s,100ns*rail:6@25GB/s,500ns,nodes_per_leaf=3",
        "switch:2@300GB/s,100ns*fat-tree:12@25GB/s,500ns,levels=3,hosts_per_leaf=2,leaves_per_pod=3",
        "fully-connected:5@90GB/s,100ns*fat-tree:4@25GB/s,500ns,hosts_per_leaf=2",
        "mi300x-8*rail:2@400Gbps,2us",
        "hgx-h100-8*rail:2@400Gbps,2us",
        "v100-sxm2-4*rail:4@25GB/s,500ns,nics=2",
        "/node.json*rail:4@25GB/s,500ns",
        "/node.json*switch:3@25GB/s,500ns,planes=1,pxn=off",
        "/graph.json",
        "/graph-off.json",
    };
    static const char *const graphs[] = {"/graph.json", "/graph-off.json"};
    static const char *const of[] = {"/node.json*rail:4@25GB/s,500ns",
                                     "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns,nodes_per_leaf=2,pxn=off"};
    dice k = {.seed = 16};
    uint32_t ran = 0, folded = 0;
    char own[] = "/tmp/rlt-fold-XXXXXX", at[200];
    (void)state;
    assert_non_null(mkdtemp(own));
    write_text(in_folder(own, "/node.json", at), pcie_node);
    for (uint32_t i = 0; i < 2; i++) {
        rlt_topology *t;
        char *text;
        assert_int_equal(rlt_topology_load(in_folder(own, of[i], at), NULL, &t, NULL), 0);
        assert_int_equal(rlt_topology_export(t, "json", &text, NULL), 0);
        write_text(in_folder(own, graphs[i], at), text);
        free(text);
        rlt_topology_free(t);
    }
    for (uint32_t i = 0; i < 40 * sizeof machines / sizeof *machines; i++) {
        fold_case c = draw(&k, in_folder(own, machines[i / 40], at));
        uint32_t classes = compare(&c);
        ran += classes > 0;
        folded += classes > 0 && classes < 8;
    }
    print_message("%u runs, %u of them folded to fewer than 8 classes\n", ran, folded);
    assert_true(folded > ran / 4);
    remove(in_folder(own, "/node.json", at));
    remove(in_folder(own, graphs[0], at));
    remove(in_folder(own, graphs[1], at));
    assert_int_equal(rmdir(own), 0);
}

/* Draws a network of 2 to 64 ranks. */
static void draw_network(dice *k, char *text, size_t size)
{
    static const char *const links[] = {"50GB/s,500ns", "33GB/s,0ns", "7GB/s,333ns", "12345678901B/s,1us",
                                        "400Gbps,1234567ps"};
    const char *a = links[below(k, 5)], *b = links[below(k, 5)];
    uint32_t n = 2 + below(k, 15), m = 2 + below(k, 5), q = 2 + below(k, 4), three = m < 3 ? 3 : m;
    switch (below(k, 10)) {
    case 0:
        snprintf(text, size, "switch:%u@%s", n, a);
        break;
    case 1:
        snprintf(text, size, "fully-connected:%u@%s", n, a);
        break;
    case 2:
        snprintf(text, size, "switch:%u@%s*switch:%u@%s", m, a, q, b);
        break;
    case 3:
        snprintf(text, size, "fully-connected:%u@%s*switch:%u@%s", three, a, q, b);
        break;
    case 4:
        snprintf(text, size, "fat-tree:%u@%s,hosts_per_leaf=%u", 2 * q * m, a, 2 * q);
        break;
    case 5:
        snprintf(text, size, "fat-tree:%u@%s,levels=3,hosts_per_leaf=2,leaves_per_pod=2", 4 * m, a);
        break;
    case 6:
        snprintf(text, size, "switch:4@%s*rail:%u@%s", a, q, b);
        break;
    case 7:
        snprintf(text, size, "ring:%u@%s", n < 3 ? 3 : n, a);
        break;
    case 8:
        snprintf(text, size, "torus:%ux%u@%s", m, q, a);
        break;
    default:
        snprintf(text, size, "ring:%u@%s*switch:%u@%s", three, a, q, b);
        break;
    }
}

/* Flows that cross several links of a class, all equally full: what a completion is rounded by must not go to
 * the own flows of whichever link has the lowest number. Random cases seldom tell. */
static void long_way_round(void **state)
{
    (void)state;
    fold_case cases[] = {
        {.topology = "ring:13@33GB/s,0ns",
         .algorithm = &rlt_pairwise,
         .injection = RLT_INJECT_BLOCKING,
         .kind = RLT_ALL_TO_ALL,
         .bytes = 210210,
         .channels = 4,
         .chunks = 3},
        {.topology = "fully-connected:3@400Gbps,0ns*ring:5@33GB/s,333ns",
         .algorithm = &rlt_pat,
         .kind = RLT_REDUCE_SCATTER,
         .bytes = 46080,
         .chunks = 3},
        {.topology = "torus:6x5@33GB/s,0ns",
         .algorithm = &rlt_pairwise,
         .injection = RLT_INJECT_BLOCKING,
         .kind = RLT_ALL_REDUCE,
         .bytes = 210210,
         .root = 1,
         .channels = 2},
        {.topology = "ring:11@7GB/s,1234567ps", /* both directions are one class */
         .algorithm = &rlt_direct,
         .injection = RLT_INJECT_BLOCKING,
         .kind = RLT_REDUCE,
         .bytes = 46080,
         .root = 1},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].model = &rlt_net_flow;
        compare(&cases[i]);
        assert_true(cases[i].folds);
    }
}

/* Two thousand cases at random, or FOLD_CASES, ties included: messages of several lanes that reach a port, or
 * a member, at one instant. */
static void random_cases(void **state)
{
    (void)state;
    const char *asked = getenv("FOLD_CASES");
    unsigned long cases = asked ? strtoul(asked, NULL, 10) : 2000;
    dice k = {.seed = 16, .k = 1 << 20};
    uint32_t ran = 0, folded = 0;
    for (unsigned long i = 0; i < cases; i++) {
        char text[160];
        fold_case c = draw(&k, text);
        draw_network(&k, text, sizeof text);
        c.root = below(&k, 2);
        c.bytes += below(&k, 3) ? 0 : 210 * 1001;
        uint32_t classes = compare(&c);
        ran += classes > 0;
        folded += classes > 0 && c.folds;
    }
    print_message("%u runs, %u of them folded\n", ran, folded);
    assert_true(folded > cases / 5);
}

/* Whether two members' steps of one number differ in more than their peers. */
static bool differ(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_step a, b;
    rlt_step_clear(&a);
    rlt_step_clear(&b);
    plan->algorithm->step(plan, 0, lane, k, &a);
    plan->algorithm->step(plan, member, lane, k, &b);
    return (a.send_to == RLT_NONE) != (b.send_to == RLT_NONE) || a.send_bytes != b.send_bytes ||
           a.peer_step != b.peer_step || a.peer_shift != b.peer_shift || a.recv_count != b.recv_count ||
           a.wait_lane != b.wait_lane || a.wait_step != b.wait_step || a.nowait != b.nowait ||
           a.verb != b.verb || a.copy != b.copy;
}

/* Whether a member goes on to another peer at step k, or to another of its parallel links. */
static bool turns(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    rlt_step a, b;
    rlt_step_clear(&a);
    rlt_step_clear(&b);
    plan->algorithm->step(plan, member, lane, k - 1, &a);
    plan->algorithm->step(plan, member, lane, k, &b);
    return a.send_to != b.send_to || a.turn != b.turn;
}

/* Compares the steps of all members with those of the first. Returns the number of plans that say that they
 * are alike: 1 or 0. */
static uint32_t check_alike(const rlt_topology *t, const rlt_algorithm *a, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_placement place = {0};
    rlt_group group = {0};
    rlt_plan plan = {0};
    rlt_error err = {0};
    uint32_t n = rlt_topology_accelerators(t);
    assert_int_equal(rlt_placement_identity(t, n, &place, &err), 0);
    assert_int_equal(rlt_group_create(t, &place, NULL, n, &group, &err), 0);
    rlt_coll_request req = rlt_group_request(&group, kind, bytes);
    bool planned = rlt_plan_create(a, &req, &plan, &err) == 0;
    bool alike = planned && rlt_plan_is_even(&plan) && rlt_plan_is_alike(&plan);
    for (uint32_t m = 1; m < n && alike; m++) {
        for (uint32_t lane = 0; lane < plan.lanes; lane++) {
            uint32_t steps = a->steps(&plan, m, lane);
            assert_int_equal(steps, a->steps(&plan, 0, lane));
            for (uint32_t k = 0; k < steps; k++) {
                if (differ(&plan, m, lane, k) || (k && turns(&plan, m, lane, k) != turns(&plan, 0, lane, k)))
                    fail_msg("%s by %s: member %u, lane %u, step %u is unlike that of member 0",
                             rlt_coll_name(kind), a->name, m, lane, k);
            }
        }
    }
    rlt_plan_free(&plan);
    rlt_group_free(&group);
    rlt_placement_free(&place);
    return alike;
}

/* Every algorithm that says that its members are alike is right. */
static void alike(void **state)
{
    (void)state;
    static const char *const machines[] = {
        "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns",
        "switch:4@300GB/s,100ns*rail:3@25GB/s,500ns",
        "fully-connected:5@90GB/s,100ns",
        "mi300x-8*rail:3@400Gbps,2us",
        "ring:4@20GB/s,1us*switch:2@9GB/s,1us",
        "dgx1-v100-8",
    };
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        rlt_topology *t;
        rlt_error err = {0};
        if (rlt_topology_load(machines[i], "topologies", &t, &err) < 0)
            fail_msg("%s: %s", err.where, err.what);
        for (uint32_t a = 0; rlt_algorithm_at(a); a++)
            for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
                if ((rlt_algorithm_at(a)->kinds >> kind & 1) && kind != RLT_SEND_RECV)
                    found += check_alike(t, rlt_algorithm_at(a), (rlt_coll_kind)kind, 5 * 7 * 9 * 2048);
        rlt_topology_free(t);
    }
    print_message("%u plans of like members\n", found);
    assert_true(found > 100);
}

/*
 * 16 384 accelerators. Where every rail has one leaf, it is a switch for each index in the node: the time and
 * the events are those of the flat product, to the last one. Leaves of 64 nodes give 64 classes, one for each
 * place at a leaf; twice 64 times the events leave room for messages that no longer end at one instant.
 */
static void large_machines(void **state)
{
    (void)state;
    static const rlt_algorithm *const algorithms[] = {&rlt_ring, &rlt_hierarchical};
    uint64_t flat_events = 0;
    for (uint32_t i = 0; i < 2; i++) {
        fold_case c = {.topology = "hgx-h100-8*switch:2048@400Gbps,500ns",
                       .algorithm = algorithms[i],
                       .model = &rlt_net_flow,
                       .kind = RLT_ALL_REDUCE,
                       .bytes = 64 << 20};
        outcome flat = run(&c, true);
        assert_int_equal(flat.classes, 1);
        c.topology = "hgx-h100-8*rail:2048@400Gbps,500ns";
        outcome rail = run(&c, true);
        assert_int_equal(rail.classes, 1);
        assert_int_equal(rail.all.time_ps, flat.all.time_ps);
        assert_int_equal(rail.all.messages, flat.all.messages);
        assert_int_equal(rail.all.events, flat.all.events);
        flat_events = flat.all.events;
        free(flat.links);
        free(rail.links);
    }
    fold_case c = {.topology = "hgx-h100-8*fat-tree:2048@400Gbps,500ns",
                   .algorithm = &rlt_hierarchical,
                   .model = &rlt_net_flow,
                   .kind = RLT_ALL_REDUCE,
                   .bytes = 64 << 20};
    outcome tree = run(&c, true);
    assert_int_equal(tree.classes, 64);
    assert_true(tree.all.events < 2 * 64 * flat_events);
    free(tree.links);
}

/* 2 (n-1) steps of 20 ps a byte and two links of 500 ns. Neither memory nor time grows with n. */
static void millions(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {16384, 1000000};
    for (uint32_t i = 0; i < 4; i++) {
        char topology[64];
        uint64_t n = sizes[i / 2], m = 67;
        snprintf(topology, sizeof topology, "switch:%llu@50GB/s,500ns", (unsigned long long)n);
        fold_case c = {.topology = topology,
                       .algorithm = &rlt_ring,
                       .model = i % 2 ? &rlt_net_flow : &rlt_net_alpha_beta,
                       .kind = RLT_ALL_REDUCE,
                       .bytes = n * m};
        outcome o = run(&c, true);
        assert_int_equal(o.classes, 1);
        assert_int_equal(o.all.time_ps, 2 * (n - 1) * (20 * m + 1000000));
        assert_int_equal(o.all.messages, 2 * n * (n - 1));
        assert_int_equal(o.all.offered, 2 * n * (n - 1) * m);
        assert_true(o.all.events < 100);
        if (o.links)
            assert_int_equal(o.links[0].bytes, 2 * (n - 1) * m);
        free(o.links);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything),

        cmocka_unit_test(composed_machines), cmocka_unit_test(alike),    cmocka_unit_test(random_cases),
        cmocka_unit_test(large_machines),    cmocka_unit_test(millions), cmocka_unit_test(long_way_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
