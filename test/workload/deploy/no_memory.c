/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of each step of a deployment fails, for k = 1, 2, ...: reading a graph of each format, a
 * cluster, grouping, judging, the program, sufficient factors. The step says so, or has the same result, and gives
 * back all memory. */
#include "test/support/failing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/text/json.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/small_deployment.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/sfb.h"
#include "workload/deploy/strategy.h"
#include "workload/program/program.h"

#define SAMPLE "test/fuzz/corpus/"

static const char *const files[] = {SAMPLE "graph-onnx/convolution", SAMPLE "graph-onnx/two-products",
                                    SAMPLE "graph-pipedream/three-nodes", SAMPLE "graph-placement/operators",
                                    SAMPLE "graph-trace/step"};

/* A graph, or what is said about the file. */
static int read_graph(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_growing notes = {0};
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_opgraph *g = NULL;
    o.batch = 4;
    o.accelerator = "workload/accelerators/v100-sxm2-16gb.json";
    o.notes = &notes;
    int rc = rlt_opgraph_read(what, &o, &g, err);
    *result = rc ? (uint64_t)-rc << 32 : g->hash;
    rlt_opgraph_free(g);
    free(notes.text);
    return rc == RLT_ENOMEM ? rc : 0;
}

static void graphs(void **state)
{
    (void)state;
    test_each_file(files, sizeof files / sizeof *files, read_graph);
}

static int build_graph(const void *what, uint64_t *result, rlt_error *err)
{
    const test_deployment *x = what;
    rlt_opgraph_builder *b;
    rlt_opgraph *g = NULL;
    int rc = rlt_opgraph_begin("again", &b, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < x->n_ops; i++)
        (void)rlt_opgraph_op(b, &x->ops[i]);
    for (uint32_t i = 0; i < x->n_tensors; i++)
        rlt_opgraph_tensor(b, &x->tensors[i]);
    rc = rlt_opgraph_finish(b, &g, err);
    *result = rc ? 0 : g->hash;
    rlt_opgraph_free(g);
    return rc;
}

static int divide(const void *what, uint64_t *result, rlt_error *err)
{
    const test_deployment *x = what;
    uint32_t group[TEST_OPS], n = 0, n_actions = 0;
    rlt_action *list = NULL;
    rlt_grouping p = {0};
    rlt_strategy s = {0};
    int rc = rlt_opgraph_base_groups(x->g, group, &n, err);
    if (!rc)
        rc = rlt_grouping_make(x->g, group, n, &p, err);
    if (!rc)
        rc = rlt_strategy_uniform(n, (rlt_action){1, RLT_USE_PS}, &s, err);
    if (!rc)
        rc = rlt_actions_list(&x->c, true, &list, &n_actions, err);
    *result = (uint64_t)n << 32 | n_actions;
    free(list);
    rlt_strategy_free(&s);
    rlt_grouping_free(&p);
    return rc;
}

/* Leaves no pointer behind where it fails. */
static int make_program(rlt_judge *j, const rlt_strategy *s, bool tag, rlt_program **p, rlt_error *err)
{
    static rlt_program other;
    *p = &other;
    int rc = rlt_judge_program(j, s, tag, p, err);
    assert_true(rc ? !*p : *p && *p != &other);
    return rc;
}

static int judge(const void *what, uint64_t *result, rlt_error *err)
{
    const test_deployment *x = what;
    rlt_judge *j = NULL;
    rlt_program *p = NULL, *q = NULL;
    rlt_verdict v = {0};
    int rc = rlt_judge_create(x->g, &x->p, &x->c, &j, err);
    if (!rc)
        rc = rlt_judge_tag(j, &x->s, &v, NULL, err);
    if (!rc)
        rc = make_program(j, &x->s, false, &p, err);
    if (!rc)
        rc = make_program(j, &x->s, true, &q, err);
    *result = rc ? 0 : (uint64_t)v.time_ps ^ (uint64_t)p->n_ops << 32 ^ (uint64_t)q->n_ops << 48;
    rlt_program_free(p);
    rlt_program_free(q);
    rlt_judge_free(j);
    return rc;
}

static int duplicate(const void *what, uint64_t *result, rlt_error *err)
{
    const test_deployment *x = what;
    rlt_sfb_problem p = {0};
    uint8_t chosen[TEST_OPS] = {0};
    double value = 0;
    int rc = rlt_sfb_problem_make(x->g, &x->p, &x->c, &x->s, 1, &p, err);
    if (!rc)
        rc = rlt_sfb_solve(&p, chosen, &value, err);
    *result = (uint64_t)(-value * 1e6);
    for (uint32_t i = 0; i < x->n_ops; i++)
        *result = *result * 3 + chosen[i];
    rlt_sfb_problem_free(&p);
    return rc;
}

/* Writes the strategy and reads it. */
static int write_strategy(const void *what, uint64_t *result, rlt_error *err)
{
    const test_deployment *x = what;
    rlt_grouping p = {0};
    rlt_strategy s = {0};
    rlt_json_doc *doc = NULL;
    rlt_jw w;
    size_t length = 0;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_strategy_members(&w, x->g, &x->c, &x->p, &x->s);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    int rc = text ? rlt_json_parse("strategy", text, length, &doc, err) : RLT_ENOMEM;
    if (!rc)
        rc = rlt_strategy_read(doc, x->g, &x->c, &p, &s, err);
    *result = s.n;
    for (uint32_t i = 0; i < s.n; i++)
        *result = *result * 31 + s.actions[i].placement * 8 + s.actions[i].use;
    rlt_json_free(doc);
    rlt_strategy_free(&s);
    rlt_grouping_free(&p);
    free(text);
    return rc;
}

static void deployments(void **state)
{
    unsigned long failed = 0;
    test_deployment *x = calloc(1, sizeof *x);
    (void)state;
    assert_non_null(x);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        dice d = {.seed = seed};
        test_deployment_draw(x, &d);
        failed += test_each_allocation("a graph", build_graph, x, false);
        failed += test_each_allocation("groups", divide, x, false);
        failed += test_each_allocation("a judge", judge, x, false);
        failed += test_each_allocation("a strategy", write_strategy, x, false);
        for (uint32_t i = 0; i < x->p.n; i++)
            x->s.actions[i] = (rlt_action){(1u << x->c.n_groups) - 1, RLT_USE_ALL_REDUCE};
        failed += test_each_allocation("sufficient factors", duplicate, x, true);
        test_deployment_free(x);
    }
    free(x);
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

/* A cluster, and a strategy over its network. */
static int over_network(const void *what, uint64_t *result, rlt_error *err)
{
    const rlt_opgraph *g = what;
    uint32_t one[TEST_OPS] = {0};
    rlt_cluster c = {0};
    rlt_grouping p = {0};
    rlt_strategy s = {0};
    rlt_judge *j = NULL;
    rlt_verdict v = {0};
    int rc = rlt_cluster_load("testbed-4xv100-4xv100", "topologies", NULL, &c, err);
    if (rc)
        return rc;
    if (!(rc = rlt_grouping_make(g, one, 1, &p, err)) &&
        !(rc = rlt_strategy_uniform(1, (rlt_action){3, RLT_USE_PS}, &s, err)) &&
        !(rc = rlt_judge_create(g, &p, &c, &j, err)))
        rc = rlt_judge_network(j, &s, &v, err);
    *result = (uint64_t)v.time_ps;
    rlt_judge_free(j);
    rlt_strategy_free(&s);
    rlt_grouping_free(&p);
    rlt_cluster_free(&c);
    return rc;
}

static void networks(void **state)
{
    test_deployment *x = calloc(1, sizeof *x);
    dice d = {.seed = 1};
    (void)state;
    assert_non_null(x);
    test_deployment_draw(x, &d);
    unsigned long failed = test_each_allocation("a network", over_network, x->g, true);
    test_deployment_free(x);
    free(x);
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs),
        cmocka_unit_test(deployments),
        cmocka_unit_test(networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
