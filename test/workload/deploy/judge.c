/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deployment: costs, actions, execution graphs and their two timings, against closed forms and the figures of
 * the reference's prototype. */
#include "workload/deploy/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

#define DATA "../shared/data/pipedream/"
#define GB   1000000000ull

static rlt_error err;

static void ok(int rc)
{
    if (rc)
        fail_msg("%d: %s: %s", rc, err.where, err.what);
}

/* A cluster with up to three device groups and one bandwidth between them. */
static rlt_cluster cluster(const rlt_device_group *groups, uint32_t n, uint64_t inter_Bps)
{
    rlt_cluster c = {.name = "test", .transfer_ps = 12 * RLT_US, .all_reduce = RLT_ALL_REDUCE_TAG};
    for (uint32_t i = 0; i < n; i++)
        ok(rlt_cluster_add(&c, &groups[i], &err));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            c.inter_Bps[i][k] = inter_Bps;
    ok(rlt_cluster_ready(&c, &err));
    return c;
}

/* The physical cluster of the reference. */
static rlt_cluster phys16(void)
{
    const rlt_device_group groups[] = {
        {.name = "v100", .factor = 1, .memory_bytes = 30ull << 30, .intra_Bps = 8 * GB, .n = 4},
        {.name = "1080ti", .factor = 1.75, .memory_bytes = 9ull << 30, .intra_Bps = 3 * GB, .n = 8},
        {.name = "p100", .factor = 1.5, .memory_bytes = 10ull << 30, .intra_Bps = 3 * GB, .n = 4},
    };
    return cluster(groups, 3, 2810000000);
}

static rlt_cluster equal(uint32_t n, uint64_t bw_Bps, uint64_t memory)
{
    rlt_device_group g = {.name = "gpu", .factor = 1, .memory_bytes = memory, .intra_Bps = bw_Bps, .n = n};
    return cluster(&g, 1, 2810000000);
}

static double us(rlt_time t)
{
    return (double)t / (double)RLT_US;
}

static void costs(void **state)
{
    static const struct {
        uint64_t kb;
        double us;
    } rows[] = {{1, 368.24},     {512, 390.43},     {1024, 496.25},
                {8192, 2486.58}, {65536, 18409.17}, {1048576, 291367.95}};
    /* Measured between machines, 4 MB and more. */
    static const double measured[] = {1359, 2581, 4788, 9267, 18460, 36235, 72982, 145867, 291205};
    rlt_cluster c = phys16(), fast = equal(4, 8 * GB, 1);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double slow = us(rlt_cluster_all_reduce(&c, 7, rows[i].kb * 1024));
        assert_true(fabs(slow - rows[i].us) < 0.006);
        assert_true(fabs(us(rlt_cluster_all_reduce(&fast, 1, rows[i].kb * 1024)) - slow * 0.35125) < 0.001);
    }
    for (uint32_t i = 0; i < sizeof measured / sizeof *measured; i++)
        assert_true(fabs(us(rlt_cluster_all_reduce(&c, 7, 4096ull * 1024 << i)) / measured[i] - 1) < 0.04);
    assert_true(fabs(us(rlt_cluster_transfer(&c, 0, 4, 1000000)) - 367.87) < 0.01);
    assert_int_equal(rlt_cluster_transfer(&c, 3, 3, 1000000), 0);
    assert_int_equal(rlt_cluster_bottleneck(&c, 2), 3 * GB);
    assert_int_equal(rlt_cluster_bottleneck(&c, 6), 2810000000);
}

static void action_counts(void **state)
{
    static const uint32_t expected[] = {3, 9, 21, 45, 93, 189, 381};
    (void)state;
    for (uint32_t n = 1; n <= 7; n++) {
        rlt_device_group groups[7];
        rlt_action *list;
        uint32_t count;
        for (uint32_t i = 0; i < n; i++)
            groups[i] =
                (rlt_device_group){.name = "g", .factor = 1, .memory_bytes = 1, .intra_Bps = 1, .n = 2};
        rlt_cluster c = cluster(groups, n, 1);
        ok(rlt_actions_list(&c, false, &list, &count, &err));
        assert_int_equal(count, expected[n - 1]);
        free(list);
        groups[0].n = 1; /* one set with a single device */
        c = cluster(groups, n, 1);
        ok(rlt_actions_list(&c, false, &list, &count, &err));
        assert_int_equal(count, expected[n - 1] - 2);
        free(list);
    }
}

static void rewards(void **state)
{
    rlt_verdict half = {.time_ps = 500}, less = {.time_ps = 100000}, over = {.time_ps = 1, .over = 1};
    (void)state;
    assert_true(fabs(rlt_deploy_reward(1000, &half) - 1) < 1e-12);
    assert_true(fabs(rlt_deploy_reward(456000, &less) - 1.3736) < 1e-4);
    assert_true(rlt_deploy_reward(750, &half) == 0.5);
    assert_true(rlt_deploy_reward(500, &half) == 0);
    assert_true(rlt_deploy_reward(125, &half) == -0.75);
    assert_true(rlt_deploy_reward(8500, &half) == 2);
    assert_true(rlt_deploy_reward(1000, &over) == -1);
}

/* ---- closed forms ---- */

enum { LAYERS = 3 };
static const rlt_layer_node chain[LAYERS] = {
    {.name = "in", .kind = "Input", .output_bytes = 4000, .input = true},
    {.name = "a",
     .kind = "Linear",
     .forward_ps = 4 * RLT_MS,
     .backward_ps = 8 * RLT_MS,
     .output_bytes = 8000,
     .parameter_bytes = 1 << 20},
    {.name = "b",
     .kind = "Linear",
     .forward_ps = 2 * RLT_MS,
     .backward_ps = 4 * RLT_MS,
     .output_bytes = 8000,
     .parameter_bytes = 1 << 20},
};
static const uint32_t chain_edges[] = {0, 1, 1, 2};

static rlt_opgraph *make_chain(void)
{
    rlt_opgraph *g;
    rlt_layer_costs none = {0, 1e12};
    ok(rlt_opgraph_of_layers(&(rlt_layer_graph){"chain", 8, chain, LAYERS, chain_edges, 2}, &none, &g, &err));
    return g;
}

/* Judges a graph whose base groups all take the same action. */
static rlt_verdict judge(const rlt_opgraph *g, const rlt_cluster *c, rlt_action a, rlt_feedback *f,
                         rlt_judge **keep)
{
    uint32_t *of_op = malloc(g->n_ops * sizeof *of_op), n;
    rlt_grouping *p = malloc(sizeof *p);
    rlt_strategy s;
    rlt_verdict v;
    ok(rlt_opgraph_base_groups(g, of_op, &n, &err));
    ok(rlt_grouping_make(g, of_op, n, p, &err));
    ok(rlt_judge_create(g, p, c, keep, &err));
    ok(rlt_strategy_uniform(p->n, a, &s, &err));
    ok(rlt_judge_tag(*keep, &s, &v, f, &err));
    rlt_strategy_free(&s);
    free(of_op);
    rlt_grouping_free(p);
    free(p);
    return v;
}

static rlt_time time_of(const rlt_opgraph *g, const rlt_cluster *c, rlt_action a)
{
    rlt_judge *j;
    rlt_verdict v = judge(g, c, a, NULL, &j);
    rlt_judge_free(j);
    return v.time_ps;
}

static void closed_forms(void **state)
{
    rlt_opgraph *g = make_chain();
    (void)state;
    assert_int_equal(g->n_ops, 3 + 2 + 2);
    assert_int_equal(g->n_tensors, 2 + 1 + 2 + 2);
    rlt_time update = (rlt_time)nearbyint((1 << 20) / 1e12 * (double)RLT_US);
    /* On one device all operators run one after the other. */
    rlt_cluster one = equal(1, GB, 1ull << 40);
    assert_int_equal(time_of(g, &one, (rlt_action){1, RLT_USE_ALL_REDUCE}), 18 * RLT_MS + 2 * update);
    /* On four that share the batch: a quarter, then a's all-reduce and update; b's is hidden by a's 2 ms. */
    rlt_cluster four = equal(4, 8 * GB, 1ull << 40);
    rlt_time reduce = rlt_cluster_all_reduce(&four, 1, 1 << 20);
    assert_true(reduce < 2 * RLT_MS);
    assert_int_equal(time_of(g, &four, (rlt_action){1, RLT_USE_ALL_REDUCE}),
                     18 * RLT_MS / 4 + reduce + update);
    /* Two all-reduces at once add up: they share one queue. */
    rlt_cluster slow = equal(4, 10000000, 1ull << 40);
    rlt_time long_one = rlt_cluster_all_reduce(&slow, 1, 1 << 20);
    assert_true(long_one > 2 * RLT_MS);
    assert_int_equal(time_of(g, &slow, (rlt_action){1, RLT_USE_ALL_REDUCE}),
                     (6 + 4) * RLT_MS / 4 + 2 * long_one + update);
    /* A server gets the gradients of three others over links of their own, and sends the sum to them. */
    rlt_time push = rlt_cluster_transfer(&four, 0, 1, 1 << 20);
    assert_int_equal(time_of(g, &four, (rlt_action){1, RLT_USE_PS}), 18 * RLT_MS / 4 + 2 * push + update);
    rlt_opgraph_free(g);
}

static void memory(void **state)
{
    rlt_opgraph *g = make_chain();
    rlt_judge *j;
    rlt_feedback f;
    const uint64_t needs = 2 * 4 * (1 << 20) + 4000 + 8000 + 8000, split = 2 * 4 * (1 << 20) + 20000 / 2;
    (void)state;
    for (uint64_t has = needs - 1; has <= needs; has++) {
        rlt_cluster one = equal(1, GB, has);
        rlt_verdict v = judge(g, &one, (rlt_action){1, RLT_USE_ALL_REDUCE}, &f, &j);
        assert_int_equal(v.over, has < needs);
        assert_int_equal(f.peak_bytes[0], needs);
        assert_int_equal(v.worst_device, has < needs ? 0 : RLT_NONE);
        rlt_judge_free(j);
    }
    rlt_cluster two = equal(2, GB, needs);
    rlt_verdict v = judge(g, &two, (rlt_action){1, RLT_USE_ALL_REDUCE}, &f, &j);
    assert_int_equal(v.over, 0);
    assert_int_equal(f.peak_bytes[1], split);
    for (uint32_t d = 0; d < 2; d++)
        assert_true(f.busy_ps[d] > 0 && f.busy_ps[d] <= v.time_ps);
    rlt_judge_free(j);
    rlt_opgraph_free(g);
}

/* ---- figures of the reference ---- */

static rlt_opgraph *load(const char *file)
{
    rlt_opgraph *g;
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    ok(rlt_opgraph_read(file, &o, &g, &err));
    return g;
}

static void uniform_actions(void **state)
{
    static const struct {
        rlt_action action;
        double ms;
    } rows[] = {{{1, RLT_USE_ALL_REDUCE}, 170.3}, {{1, RLT_USE_PS}, 172.5},
                {{2, RLT_USE_ALL_REDUCE}, 195.7}, {{2, RLT_USE_PS}, 328.7},
                {{7, RLT_USE_ALL_REDUCE}, 179.8}, {{7, RLT_USE_PS}, 1362.6}};
    (void)state;
    if (access(DATA "vgg16.graph.txt", R_OK) != 0) {
        print_message("    # SKIP " DATA " is not here\n");
        skip();
    }
    rlt_opgraph *g = load(DATA "vgg16.graph.txt");
    rlt_cluster c = phys16();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs((double)time_of(g, &c, rows[i].action) / (double)RLT_MS - rows[i].ms) < 0.06);
    rlt_opgraph_free(g);
}

/* A strategy of random actions. */
static rlt_strategy random_strategy(uint32_t n, const rlt_action *actions, uint32_t n_actions, uint64_t seed)
{
    rlt_strategy s;
    ok(rlt_strategy_uniform(n, actions[0], &s, &err));
    for (uint32_t i = 0; i < n; i++)
        s.actions[i] = actions[rlt_random_below(seed, i, 0, 0, n_actions)];
    return s;
}

static rlt_time replay(rlt_program *p)
{
    rlt_topology *t;
    rlt_replay *r;
    rlt_replay_options how = rlt_replay_options_default();
    ok(rlt_topology_load("switch:2@1GB/s,0ns", NULL, &t, &err));
    how.topology = t;
    ok(rlt_replay_create(p, &how, &r, &err));
    ok(rlt_replay_run(r, &err));
    rlt_time time = rlt_replay_time(r);
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_topology_free(t);
    return time;
}

/* The reference's timing is one more program: its replay takes as long as the judge says. Operators have odd
 * times, so that few tasks end together. */
static void timing_is_a_program(void **state)
{
    enum { N = 12 };
    rlt_layer_node layers[N];
    uint32_t edges[2 * N], of_op[3 * N], n_actions, n;
    char names[N][8];
    rlt_layer_costs costs = RLT_LAYER_COSTS_DEFAULT;
    rlt_cluster c = phys16();
    rlt_action *actions;
    (void)state;
    ok(rlt_actions_list(&c, true, &actions, &n_actions, &err));
    for (uint64_t seed = 1; seed <= 40; seed++) {
        for (uint32_t i = 0; i < N; i++) {
            snprintf(names[i], sizeof names[i], "n%u", i);
            layers[i] =
                (rlt_layer_node){.name = names[i],
                                 .kind = "x",
                                 .input = i == 0,
                                 .forward_ps = (rlt_time)rlt_random_below(seed, i, 1, 0, (uint64_t)RLT_MS),
                                 .backward_ps = (rlt_time)rlt_random_below(seed, i, 2, 0, (uint64_t)RLT_MS),
                                 .output_bytes = rlt_random_below(seed, i, 3, 0, 5000000),
                                 .parameter_bytes = i % 2 * rlt_random_below(seed, i, 4, 0, 9000000)};
            edges[2 * i] = i ? (uint32_t)rlt_random_below(seed, i, 5, 0, i) : 0;
            edges[2 * i + 1] = i;
        }
        rlt_opgraph *g;
        rlt_grouping p;
        rlt_judge *j;
        rlt_verdict v;
        rlt_program *program;
        ok(rlt_opgraph_of_layers(&(rlt_layer_graph){"random", 8, layers, N, edges + 2, N - 1}, &costs, &g,
                                 &err));
        ok(rlt_opgraph_base_groups(g, of_op, &n, &err));
        ok(rlt_grouping_make(g, of_op, n, &p, &err));
        ok(rlt_judge_create(g, &p, &c, &j, &err));
        rlt_strategy s = random_strategy(p.n, actions, n_actions, seed);
        ok(rlt_judge_program(j, &s, true, &program, &err));
        ok(rlt_judge_tag(j, &s, &v, NULL, &err));
        assert_int_equal(replay(program), v.time_ps);
        rlt_strategy_free(&s);
        rlt_judge_free(j);
        rlt_grouping_free(&p);
        rlt_opgraph_free(g);
    }
    free(actions);
}

/* Over a network that is fast and has no latency, only compute is left. */
static void network(void **state)
{
    rlt_opgraph *g = make_chain();
    rlt_cluster c = equal(4, 8 * GB, 1ull << 40);
    rlt_judge *j;
    rlt_grouping p;
    rlt_strategy s;
    rlt_verdict v;
    uint32_t of_op[16], n;
    (void)state;
    ok(rlt_opgraph_base_groups(g, of_op, &n, &err));
    ok(rlt_grouping_make(g, of_op, n, &p, &err));
    ok(rlt_judge_create(g, &p, &c, &j, &err));
    ok(rlt_strategy_uniform(p.n, (rlt_action){1, RLT_USE_ALL_REDUCE}, &s, &err));
    assert_int_equal(rlt_judge_network(j, &s, &v, &err), RLT_EUSAGE);
    ok(rlt_topology_load("switch:4@1000TB/s,0ns", NULL, &c.topology, &err));
    for (uint8_t use = 0; use < RLT_USES; use++) {
        for (uint32_t i = 0; i < p.n; i++)
            s.actions[i].use = use;
        ok(rlt_judge_network(j, &s, &v, &err));
        double ms = (double)v.time_ps / (double)RLT_MS;
        assert_true(fabs(ms - (use == RLT_USE_DUPLICATE || use == RLT_USE_MODEL ? 18 : 4.5)) < 0.001);
    }
    rlt_strategy_free(&s);
    rlt_judge_free(j);
    rlt_grouping_free(&p);
    rlt_cluster_free(&c);
    rlt_opgraph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs),
        cmocka_unit_test(action_counts),
        cmocka_unit_test(rewards),
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(memory),
        cmocka_unit_test(uniform_actions),
        cmocka_unit_test(timing_is_a_program),
        cmocka_unit_test(network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
