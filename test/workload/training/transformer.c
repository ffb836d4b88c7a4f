/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data-parallel transformer: its sums compared with published formulas and figures, its overlap with
 * cases by hand. */
#include <math.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/trainings/transformer.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

/* GPT-2 small has 124.4 M parameters (Radford et al. 2019;
 * the usual count with tied embeddings: 124 439 808). */
static void parameters_of_gpt2_small(void **state)
{
    rlt_model m = {0};
    (void)state;
    assert_int_equal(rlt_model_open("transformer", &m, NULL), 0);
    assert_int_equal(m.parameters, 124439808);
    rlt_model_free(&m);
}

/* Compute of a step: 3 x (24 b s l h^2 (1 + s / 6h) + 2 b s h V) FLOP (Narayanan et al., arXiv 2104.04473,
 * section 5.1). Gradients: 2 B per parameter. The optimizer reads and writes 28 B per parameter. All ranks
 * are equal. Other time bound by memory is below a millionth, because memory is that fast here. */
static void sums(void **state)
{
    enum { RANKS = 4, STEPS = 2 };
    rlt_program *p;
    rlt_error err = {0};
    rlt_model m = {0};
    (void)state;
    assert_int_equal(rlt_model_open("transformer", &m, &err), 0);
    rlt_accelerator a = test_flat_accelerator((uint64_t)1 << 62);
    rlt_training t = rlt_training_default();
    t.model = &m;
    t.accelerator = &a;
    t.microbatch = 8;
    t.steps = STEPS;
    assert_int_equal(rlt_training_plan(&t, RANKS, &err), 0);
    assert_int_equal(rlt_training_program(&t, &p, &err), 0);
    double b = 8, s = 1024, h = 768, l = 12, v = 50257;
    double flop = 3 * (24 * b * s * l * h * h * (1 + s / (6 * h)) + 2 * b * s * h * v);
    double compute_ps[RANKS] = {0};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_COMPUTE || p->ops[i].kind == RLT_OP_MEMORY)
            compute_ps[p->ops[i].rank] += (double)p->ops[i].duration_ps;
    for (uint32_t i = 0; i < p->n_comms; i++) {
        assert_int_equal(p->comms[i].kind, RLT_ALL_REDUCE);
        bytes += p->comms[i].bytes;
    }
    for (int r = 0; r < RANKS; r++)
        if (fabs(compute_ps[r] / STEPS * 1e-12 * 4e14 / flop - 1) > 1e-6)
            fail_msg("rank %d computes %.0f ps", r, compute_ps[r]);
    assert_int_equal(bytes, STEPS * 2 * m.parameters);
    assert_int_equal(p->n_steps, STEPS);
    assert_true(fabs(rlt_training_flop(&t) / (STEPS * RANKS * flop) - 1) < 1e-9);
    rlt_program_free(p);
    rlt_model_free(&m);
}

/* Buckets are sent one after the other, each once its gradients are ready. The exposed part is what outlasts
 * the backward pass. Ring of 8 over 450 GB/s without latency: a bucket of M bytes takes 14 steps of M / 8
 * bytes. */
static void overlap(void **state)
{
    rlt_topology *t;
    rlt_replay *r;
    rlt_error err = {0};
    rlt_program *p = test_transformer(8, 12, 1);
    (void)state;
    assert_int_equal(rlt_topology_load("switch:8@450GB/s,0ns", NULL, &t, &err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    assert_int_equal(rlt_replay_create(p, &o, &r, &err), 0);
    assert_int_equal(rlt_replay_run(r, &err), 0);
    rlt_rank_result k = rlt_replay_rank(r, 0);
    rlt_time computed = 0, backward_end = 0, free_at = 0;
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < p->rank_first[1]; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->kind == RLT_OP_COMPUTE)
            computed += op->duration_ps;
        if (op->kind != RLT_OP_COLLECTIVE)
            continue;
        backward_end = computed;
        rlt_time begin = backward_end > free_at ? backward_end : free_at;
        free_at = begin + 14 * rlt_transfer_time((p->comms[bucket++].bytes + 7) / 8, 450000000000u);
    }
    assert_true(bucket > 3);
    assert_int_equal(k.compute_ps + k.exposed_comm_ps, k.end_ps);
    assert_true(llabs(k.exposed_comm_ps - (free_at - backward_end)) <=
                14 * 3 * bucket); /* a byte of rounding per step */
    rlt_replay_free(r);
    rlt_topology_free(t);
    rlt_program_free(p);
}

/* Fewer ranks than accelerators use the first ones; more are refused. */
static void ranks(void **state)
{
    rlt_accelerator a = test_flat_accelerator(3350000000000u);
    rlt_training t = rlt_training_default();
    rlt_model m = {0};
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_model_open("transformer:layers=2", &m, &err), 0);
    t.model = &m;
    t.accelerator = &a;
    assert_int_equal(rlt_training_set(&t, "ranks", "6", &err), 0);
    assert_int_equal(rlt_training_set(&t, "tp", "2", &err), 0);
    rlt_training fewer = t, more = t;
    assert_int_equal(rlt_training_plan(&fewer, 8, &err), 0);
    assert_int_equal(rlt_training_ranks(&fewer), 6);
    assert_int_equal(fewer.size[RLT_AXIS_DP], 3);
    assert_int_equal(rlt_training_plan(&more, 4, &err), RLT_ERANGE);
    rlt_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_gpt2_small),
        cmocka_unit_test(sums),
        cmocka_unit_test(overlap),
        cmocka_unit_test(ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
