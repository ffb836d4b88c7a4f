/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random deployments: an operator graph, a cluster of up to three groups of up to three devices each, a division
 * of the operators, and a strategy.
 */
#ifndef RLT_TEST_SUPPORT_TRAININGS_SMALL_DEPLOYMENT_H
#define RLT_TEST_SUPPORT_TRAININGS_SMALL_DEPLOYMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

enum { TEST_OPS = 10, TEST_TENSORS = 20, TEST_DEVICES = 9 };

typedef struct test_deployment {
    rlt_operator ops[TEST_OPS];
    rlt_tensor tensors[TEST_TENSORS];
    uint32_t n_ops, n_tensors, of_op[TEST_OPS], order[TEST_OPS];
    rlt_opgraph *g;
    rlt_cluster c;
    rlt_grouping p;
    rlt_strategy s;
    rlt_error err;
} test_deployment;

static inline void test_deployment_ok(const test_deployment *x, int rc)
{
    if (rc)
        fail_msg("%d: %s: %s", rc, x->err.where, x->err.what);
}

static inline void test_deployment_graph(test_deployment *x, dice *d)
{
    static const char *const names[TEST_OPS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    rlt_opgraph_builder *b;
    const bool tiny = below(d, 5) == 0; /* a picosecond in all */
    x->n_ops = 2 + below(d, TEST_OPS - 1);
    for (uint32_t i = 0; i < x->n_ops; i++)
        x->order[i] = i;
    for (uint32_t i = x->n_ops; i-- > 1;) { /* an order in which operators may feed each other */
        uint32_t k = below(d, i + 1), kept = x->order[i];
        x->order[i] = x->order[k];
        x->order[k] = kept;
    }
    test_deployment_ok(x, rlt_opgraph_begin("random", &b, &x->err));
    for (uint32_t i = 0; i < x->n_ops; i++) {
        x->ops[i] = (rlt_operator){.name = names[i],
                                   .kind = "x",
                                   .time_ps = below(d, 4) || i == 0 ? (rlt_time)(1 + roll(d, 90000000))
                                              : below(d, 2)         ? 1000000
                                                                    : 0,
                                   .launch_ps = below(d, 2) ? 0 : 8000000,
                                   .parameter_bytes = below(d, 2) ? 0 : roll(d, 1000000),
                                   .kept_bytes = below(d, 2) ? 0 : roll(d, 1000000),
                                   .forward = i,
                                   .together = below(d, 3) ? RLT_NONE : below(d, x->n_ops),
                                   .pass = (uint8_t)below(d, 3),
                                   .splittable = below(d, 4) != 0};
        if (i == 0)
            x->ops[0].pass = RLT_OPERATOR_FORWARD;
        if (tiny)
            x->ops[i].time_ps = i == 0;
        assert_int_equal(rlt_opgraph_op(b, &x->ops[i]), i);
    }
    for (x->n_tensors = 0; x->n_tensors < TEST_TENSORS; x->n_tensors++) {
        uint32_t k = x->n_tensors, i = k + 1 < x->n_ops ? k + 1 : 1 + below(d, x->n_ops - 1);
        if (k + 1 >= x->n_ops && !below(d, 4))
            break;
        x->tensors[k] =
            (rlt_tensor){x->order[below(d, i)], x->order[i], roll(d, 3000000), (uint8_t)below(d, 3)};
        rlt_opgraph_tensor(b, &x->tensors[k]);
    }
    test_deployment_ok(x, rlt_opgraph_finish(b, &x->g, &x->err));
}

static inline void test_deployment_cluster(test_deployment *x, dice *d)
{
    static const double factors[] = {1, 1.5, 1.75, 0.3};
    uint32_t n = 1 + below(d, 3);
    x->c = (rlt_cluster){.name = "test", .transfer_ps = 12 * RLT_US, .all_reduce = RLT_ALL_REDUCE_TAG};
    for (uint32_t i = 0; i < n; i++) {
        rlt_device_group g = {.name = "t",
                              .factor = factors[below(d, 4)],
                              .memory_bytes = 500000 + roll(d, 4000000),
                              .intra_Bps = 1000000000 * (1 + roll(d, 5)),
                              .n = 1 + below(d, 3)};
        test_deployment_ok(x, rlt_cluster_add(&x->c, &g, &x->err));
        for (uint32_t k = 0; k < i; k++)
            x->c.inter_Bps[i][k] = x->c.inter_Bps[k][i] = 500000000 * (1 + roll(d, 3));
    }
    test_deployment_ok(x, rlt_cluster_ready(&x->c, &x->err));
}

static inline void test_deployment_draw(test_deployment *x, dice *d)
{
    uint32_t n = 1 + below(d, 4), to[TEST_OPS];
    test_deployment_graph(x, d);
    test_deployment_cluster(x, d);
    for (uint32_t i = 0; i < x->n_ops; i++)
        to[i] = below(d, n);
    test_deployment_ok(x, rlt_grouping_make(x->g, to, n, &x->p, &x->err));
    x->s = (rlt_strategy){.n = x->p.n, .actions = calloc(x->p.n, sizeof *x->s.actions)};
    if (below(d, 2))
        x->s.broadcast = calloc(x->n_ops, 1);
    for (uint32_t i = 0; i < x->p.n; i++) {
        uint32_t all = (1u << x->c.n_groups) - 1;
        x->s.actions[i] = (rlt_action){1 + below(d, all), (uint8_t)below(d, RLT_USES)};
        if (i && below(d, 2))
            x->s.actions[i] = x->s.actions[0];
    }
    for (uint32_t i = 0; x->s.broadcast && i < x->n_ops; i++)
        x->s.broadcast[i] = below(d, 4) == 0;
    memcpy(x->of_op, x->p.of_op, x->n_ops * sizeof *x->of_op);
}

static inline void test_deployment_free(test_deployment *x)
{
    rlt_strategy_free(&x->s);
    rlt_grouping_free(&x->p);
    rlt_opgraph_free(x->g);
}

#endif
