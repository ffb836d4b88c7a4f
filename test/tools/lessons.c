/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random models and clusters, the features of a state, and the games that the policy learns from. */
#include "tools/deploy/lessons.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/random.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

static rlt_error err;

static void models(void **state)
{
    (void)state;
    uint64_t seen[40];
    for (uint32_t k = 0; k < 40; k++) {
        rlt_opgraph *a, *b;
        assert_int_equal(rlt_random_model(5, k, &a, &err), 0);
        assert_int_equal(rlt_random_model(5, k, &b, &err), 0);
        assert_true(a->hash == b->hash);
        assert_true(a->forward_ps >= 19 * RLT_MS && a->forward_ps <= 301 * RLT_MS);
        assert_true(a->parameter_bytes > 3000000 && a->parameter_bytes <= 1500000000);
        assert_true(a->n_ops >= 12 && a->n_ops <= 3 * 61);
        seen[k] = a->hash;
        for (uint32_t i = 0; i < k; i++)
            assert_true(seen[i] != seen[k]);
        rlt_opgraph_free(a);
        rlt_opgraph_free(b);
    }
}

static void clusters(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 40; k++) {
        rlt_cluster a, b;
        assert_int_equal(rlt_random_cluster(5, k, false, &a, &err), 0);
        assert_int_equal(rlt_random_cluster(5, k, false, &b, &err), 0);
        assert_true(a.hash == b.hash);
        assert_true(a.n_groups >= 2 && a.n_groups <= 4);
        assert_true(a.n_devices - a.groups[a.n_groups - 1].n < 16);
        assert_int_equal(rlt_random_cluster(5, k, true, &a, &err), 0);
        assert_int_equal(a.n_devices, 8);
        for (uint32_t i = 0; i < a.n_groups; i++)
            assert_true(a.groups[i].n >= 1 && a.groups[i].n <= 4 &&
                        a.groups[i].intra_Bps == a.groups[0].intra_Bps);
    }
}

/* A deployment of a random model on a random cluster, with a guide. */
typedef struct fixture {
    rlt_opgraph *graph;
    rlt_cluster cluster;
    rlt_grouping grouping;
    rlt_deployment d;
    rlt_policy *policy;
    rlt_guide *guide;
} fixture;

static void set_up(fixture *f, uint32_t k)
{
    static const rlt_policy_shape shape = {8, 2, 2};
    double cut;
    memset(f, 0, sizeof *f);
    assert_int_equal(rlt_random_model(1, k, &f->graph, &err), 0);
    assert_int_equal(rlt_random_cluster(1, k, false, &f->cluster, &err), 0);
    assert_int_equal(rlt_deploy_group(f->graph, 12, 5, &f->grouping, &cut, &err), 0);
    assert_int_equal(rlt_deployment_make(f->graph, &f->grouping, &f->cluster, false, 1, &f->d, &err), 0);
    assert_int_equal(rlt_policy_create(&shape, 1, &f->policy, &err), 0);
    assert_int_equal(rlt_guide_make(&f->d, f->policy, &f->guide, &err), 0);
}

static void tear_down(fixture *f)
{
    rlt_guide_free(f->guide);
    rlt_policy_free(f->policy);
    rlt_deployment_free(&f->d);
    rlt_grouping_free(&f->grouping);
    rlt_cluster_free(&f->cluster);
    rlt_opgraph_free(f->graph);
}

/* Each group appears in a base group's tensors: bytes that leave groups, summed over the flow edges. */
static double bytes_between(const fixture *f)
{
    double sum = 0;
    for (uint32_t i = 0; i < f->graph->n_tensors; i++) {
        const rlt_tensor *t = &f->graph->tensors[i];
        sum += f->grouping.of_op[t->src] != f->grouping.of_op[t->dst] ? (double)t->bytes : 0;
    }
    return sum;
}

static void features(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 6; k++) {
        fixture f;
        const rlt_policy_state *s;
        double squares = 0, weights = 0, flow = 0, scale;
        set_up(&f, k);
        uint16_t *point = malloc(f.grouping.n * sizeof *point);
        for (uint32_t i = 0; i < f.grouping.n; i++)
            point[i] = (uint16_t)(i % f.d.n_actions);
        assert_int_equal(rlt_guide_state(&f.d, 0, point, 1, &s, &err), 0);
        assert_int_equal(s->n_ops, f.grouping.n);
        assert_int_equal(s->n_devices, f.cluster.n_groups);
        assert_int_equal(s->n_actions, f.d.n_actions);
        for (uint32_t i = 0; i < s->n_ops; i++) {
            const double *x = s->ops + i * RLT_OP_FEATURES;
            squares += x[0] * x[0];
            weights += x[4];
            assert_true(x[0] > x[1] && x[1] > x[2] && x[2] > x[3] && x[3] > 0);
            assert_true(fabs(x[6] + x[7] + x[8] - 1) < 1e-12);
            assert_true(x[6 + f.d.actions[point[i]].use] > 0.5);
            assert_true(fabs(x[11] - (i < 1)) < 1e-12 && fabs(x[12] - (i == 1)) < 1e-12);
            for (uint32_t m = 0; m < s->n_devices; m++)
                assert_true(fabs(s->edges[RLT_EDGE_PLACE].features[(i * s->n_devices + m) * 5 + 4] -
                                 (f.d.actions[point[i]].placement >> m & 1)) < 1e-12);
        }
        assert_true(fabs(squares - 1) < 1e-9);
        for (uint32_t i = 0; i < s->edges[RLT_EDGE_PREV].n; i++)
            flow += s->edges[RLT_EDGE_PREV].features[i];
        /* Sizes share one scale: bytes between groups over bytes of weights is the same in either unit. */
        scale = (double)f.graph->parameter_bytes / weights;
        assert_true(fabs(flow * scale / bytes_between(&f) - 1) < 1e-6);
        for (uint32_t m = 0; m < s->n_devices; m++) {
            const double *x = s->devices + m * RLT_DEVICE_FEATURES;
            assert_true(fabs(x[0] - f.cluster.groups[m].n / 4.0) < 1e-12);
            assert_true(x[2] > 0 && x[2] <= 1 && x[3] >= 0 && x[4] >= 0 && x[4] <= 1);
        }
        free(point);
        tear_down(&f);
    }
}

static void games(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        fixture f;
        rlt_lessons plain = {0}, again = {0};
        set_up(&f, k);
        uint32_t n = f.grouping.n, actions = f.d.n_actions;
        assert_int_equal(rlt_lessons_play(&f.d, 3, 60, k % 2, &plain, &err), 0);
        assert_int_equal(rlt_lessons_play(&f.d, 3, 60, k % 2, &again, &err), 0);
        tear_down(&f); /* lessons keep their own arrays */
        assert_int_equal(plain.n, (n + 3) / 4);
        assert_int_equal(again.n, plain.n);
        for (uint32_t i = 0; i < plain.n; i++) {
            double sum = 0;
            for (uint32_t a = 0; a < actions; a++)
                sum += plain.list[i].target[a];
            assert_true(fabs(sum - 1) < 1e-12);
            assert_memory_equal(plain.list[i].target, again.list[i].target, actions * sizeof(double));
            assert_int_equal(plain.list[i].state.deciding, i);
            assert_true(fabs(plain.list[i].state.ops[i * RLT_OP_FEATURES + 12] - 1) < 1e-12);
            assert_true(rlt_lesson_entropy(&plain.list[i]) <= log(actions) + 1e-12);
        }
        uint32_t before = plain.n;
        assert_int_equal(rlt_lessons_move(&plain, &again, &err), 0);
        assert_int_equal(plain.n, 2 * before);
        assert_int_equal(again.n, 0);
        rlt_lessons_free(&plain);
        rlt_lessons_free(&again);
    }
}

/* Cross-entropy is at least the entropy of the visits, and that of a policy which knows nothing is log n. */
static void scores(void **state)
{
    (void)state;
    fixture f;
    rlt_lessons l = {0};
    rlt_lesson_scores sums = {0};
    rlt_policy_run *run;
    set_up(&f, 2);
    assert_int_equal(rlt_lessons_play(&f.d, 3, 60, false, &l, &err), 0);
    assert_true(l.n > 1);
    assert_int_equal(rlt_policy_run_create(f.policy, &run, &err), 0);
    assert_int_equal(rlt_lessons_score(&l, 1, run, &sums, &err), 0);
    assert_int_equal(sums.n, l.n - 1);
    assert_true(fabs(sums.uniform - sums.n * log(f.d.n_actions)) < 1e-9);
    assert_true(sums.least > 0 && sums.least < sums.uniform && sums.least < sums.cross_entropy);
    rlt_policy_run_free(run);
    rlt_lessons_free(&l);
    tear_down(&f);
}

/* Points that mean the same take the same time. */
static void equals(void **state)
{
    (void)state;
    uint32_t changed = 0;
    for (uint32_t k = 0; k < 8; k++) {
        fixture f;
        set_up(&f, k);
        rlt_search_problem p = rlt_deployment_problem(&f.d, false);
        uint16_t *point = malloc(p.n * sizeof *point), *meant = malloc(p.n * sizeof *meant);
        for (uint32_t round = 0; round < 20; round++) {
            rlt_judged a, b;
            for (uint32_t i = 0; i < p.n; i++)
                point[i] = (uint16_t)((i * 7 + round * 13 + k) % f.d.n_actions);
            memcpy(meant, point, p.n * sizeof *meant);
            p.canonical(&f.d, meant);
            changed += memcmp(meant, point, p.n * sizeof *meant) != 0;
            assert_int_equal(p.judge(&f.d, 0, point, &a, &err), 0);
            assert_int_equal(p.judge(&f.d, 0, meant, &b, &err), 0);
            assert_int_equal(a.cost, b.cost);
            assert_true(fabs(a.lacks - b.lacks) < 1e-12);
        }
        free(point);
        free(meant);
        tear_down(&f);
    }
    assert_true(changed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models), cmocka_unit_test(clusters), cmocka_unit_test(features),
        cmocka_unit_test(games),  cmocka_unit_test(equals),   cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
