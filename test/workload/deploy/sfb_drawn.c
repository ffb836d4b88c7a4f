/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of sufficient factors of random deployments against a plain model, written from sfb.h and from the
 * list of inputs at the head of sfb.c: every pair of operators is looked at.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/small_deployment.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/sfb.h"
#include "workload/deploy/strategy.h"

enum { CASES = 400 };

static rlt_action action_of(const test_deployment *x, uint32_t op)
{
    return x->s.actions[x->p.of_op[op]];
}

static bool on(const test_deployment *x, uint32_t op, uint32_t device)
{
    return (action_of(x, op).placement & 1u << x->c.group_of[device]) != 0;
}

/* Number of replicas, and the time of one share in microseconds with all of their factors. */
static uint32_t replicas(const test_deployment *x, uint32_t op, double *share_us)
{
    uint32_t n = 0;
    double factors = 0;
    for (uint32_t d = 0; d < x->c.n_devices; d++)
        if (on(x, op, d)) {
            n++;
            factors += x->c.groups[x->c.group_of[d]].factor;
        }
    *share_us = (double)x->ops[op].time_ps / 1e6 * (factors / n) / n;
    return n;
}

/* The smallest bandwidth between any two devices that run one of the two operators. */
static double bandwidth(const test_deployment *x, uint32_t a, uint32_t b)
{
    uint64_t least = UINT64_MAX;
    uint32_t groups = 0;
    for (uint32_t d = 0; d < x->c.n_devices; d++)
        groups |= on(x, a, d) || on(x, b, d) ? 1u << x->c.group_of[d] : 0;
    for (uint32_t i = 0; i < x->c.n_groups; i++)
        for (uint32_t k = 0; k < x->c.n_groups; k++) {
            uint64_t bw = i == k ? x->c.groups[i].intra_Bps : x->c.inter_Bps[i][k];
            bool counts = groups >> i & 1 && groups >> k & 1 && (i != k || groups == 1u << i);
            least = counts && bw < least ? bw : least;
        }
    return (double)least;
}

static bool parts(const test_deployment *x, uint32_t op)
{
    double ignored;
    uint8_t use = action_of(x, op).use;
    return x->ops[op].splittable && use != RLT_USE_MODEL && use != RLT_USE_DUPLICATE &&
           replicas(x, op, &ignored) > 1;
}

typedef struct model {
    bool free[TEST_OPS]; /* may be duplicated */
    double cost[TEST_OPS], gather[TEST_OPS];
    uint32_t edges[TEST_OPS][TEST_OPS];
} model;

/* One tensor out of an operator, or into one, that may be duplicated. */
static void see_tensor(const test_deployment *x, const rlt_tensor *t, model *m)
{
    double ignored;
    uint8_t use = action_of(x, t->dst).use, from = action_of(x, t->src).use;
    uint32_t a = action_of(x, t->src).placement, b = action_of(x, t->dst).placement;
    if (m->free[t->src] && t->kind == RLT_TENSOR_GRADIENT && x->ops[t->dst].pass == RLT_OPERATOR_UPDATE &&
        use == RLT_USE_ALL_REDUCE && a == b) {
        double n = replicas(x, t->src, &ignored);
        m->cost[t->src] -= 2 * (n - 1) / n * (double)t->bytes / bandwidth(x, t->src, t->src) * 1e6;
    }
    if (!m->free[t->dst] || t->kind != RLT_TENSOR_BATCHED)
        return;
    double n = replicas(x, t->dst, &ignored);
    double us = (n - 1) / n * (double)t->bytes / bandwidth(x, t->src, t->dst) * 1e6;
    bool whole = true; /* on all devices of the consumer */
    for (uint32_t d = 0; d < x->c.n_devices; d++)
        whole = whole && (!on(x, t->dst, d) || on(x, t->src, d));
    if (parts(x, t->src) && a == b) {
        m->gather[t->src] = fmax(m->gather[t->src], us);
        m->edges[t->src][t->dst]++;
    } else if (parts(x, t->src) || from == RLT_USE_MODEL || !whole)
        m->cost[t->dst] += us;
}

static void see(const test_deployment *x, double alpha, model *m)
{
    *m = (model){.free = {false}};
    for (uint32_t i = 0; i < x->n_ops; i++) {
        double share;
        uint32_t n = replicas(x, i, &share);
        m->free[i] = parts(x, i) && action_of(x, i).use == RLT_USE_ALL_REDUCE;
        m->cost[i] = (n - 1) * share + alpha;
    }
    for (uint32_t k = 0; k < x->n_tensors; k++)
        see_tensor(x, &x->tensors[k], m);
}

static void near(double is, double must, const char *what, uint64_t seed)
{
    if (!(fabs(is - must) <= 1e-9 * (1 + fabs(must))))
        fail_msg("case %llu, %s: %.12g, not %.12g", (unsigned long long)seed, what, is, must);
}

static void compare(const test_deployment *x, const rlt_sfb_problem *p, double alpha, uint64_t seed)
{
    model m;
    uint32_t edges = 0;
    see(x, alpha, &m);
    assert_int_equal(p->n_ops, x->n_ops);
    for (uint32_t i = 0; i < x->n_ops; i++) {
        assert_int_equal(p->forced[i], !m.free[i]);
        if (m.free[i])
            near(p->cost[i], m.cost[i], "cost", seed);
        near(p->gather[i], m.gather[i], "gather", seed);
        for (uint32_t k = 0; k < x->n_ops; k++)
            edges += m.edges[i][k];
    }
    assert_int_equal(p->n_edges, edges);
    for (uint32_t e = 0; e < p->n_edges; e++)
        assert_int_not_equal(m.edges[p->src[e]][p->dst[e]]--, 0);
}

static void random_deployments(void **state)
{
    test_deployment *x = malloc(sizeof *x);
    (void)state;
    assert_non_null(x);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_sfb_problem p;
        test_deployment_draw(x, &d);
        for (uint32_t i = 0; i < x->p.n; i++) /* most may be duplicated */
            if (below(&d, 3))
                x->s.actions[i].use = RLT_USE_ALL_REDUCE;
        double alpha = below(&d, 50);
        test_deployment_ok(x, rlt_sfb_problem_make(x->g, &x->p, &x->c, &x->s, alpha, &p, &x->err));
        compare(x, &p, alpha, seed);
        rlt_sfb_problem_free(&p);
        test_deployment_free(x);
    }
    free(x);
}

/* As many operators as a graph may have, which gain nothing, and one more. */
static void at_the_limit(void **state)
{
    rlt_sfb_problem p = {.n_ops = RLT_MAX_OPERATORS};
    uint8_t *x = calloc(RLT_MAX_OPERATORS, 1);
    rlt_error err = {0};
    double value;
    (void)state;
    p.cost = calloc(RLT_MAX_OPERATORS, sizeof *p.cost);
    p.gather = calloc(RLT_MAX_OPERATORS, sizeof *p.gather);
    p.forced = calloc(RLT_MAX_OPERATORS, 1);
    assert_true(x && p.cost && p.gather && p.forced);
    assert_int_equal(rlt_sfb_solve(&p, x, &value, &err), 0);
    assert_true(value == 0 && !x[RLT_MAX_OPERATORS - 1]);
    p.n_ops++;
    assert_int_equal(rlt_sfb_solve(&p, x, &value, &err), RLT_ERANGE);
    assert_string_equal(err.what, "1048577 operators and 0 tensors, where 1048576 and 4194304 are possible");
    rlt_sfb_problem_free(&p);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_deployments), cmocka_unit_test(at_the_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
