/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data-parallel transformer: its sums against published formulas and figures, its overlap against
 * hand-made cases. */
#include <math.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/models/generator.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

/* GPT-2 small has 124.4 M parameters (Radford et al. 2019;
 * the usual count with tied embeddings: 124 439 808). */
static void parameters_of_gpt2_small(void **state)
{
    rlt_transformer m = rlt_transformer_default();
    (void)state;
    assert_int_equal(rlt_transformer_parameters(&m), 124439808);
}

/* Compute over a step: 3 x (24 b s l h^2 (1 + s / 6h) + 2 b s h V) FLOP; gradients: 2 B a parameter; same on
 * every rank. */
static void sums(void **state)
{
    rlt_transformer m = rlt_transformer_default();
    rlt_program *p;
    rlt_error err = {0};
    (void)state;
    m.ranks = 4;
    m.steps = 2;
    assert_int_equal(rlt_transformer_program(&m, &p, &err), 0);
    double b = m.microbatch, s = m.sequence, h = m.hidden, l = m.layers, v = m.vocabulary;
    double flop = 3 * (24 * b * s * l * h * h * (1 + s / (6 * h)) + 2 * b * s * h * v);
    double compute_ps[4] = {0};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_COMPUTE)
            compute_ps[p->ops[i].rank] += (double)p->ops[i].duration_ps;
    for (uint32_t i = 0; i < p->n_comms; i++) {
        assert_int_equal(p->comms[i].kind, RLT_ALL_REDUCE);
        bytes += p->comms[i].bytes;
    }
    for (int r = 0; r < 4; r++)
        assert_true(fabs(compute_ps[r] / 2 * 1e-12 * (double)m.peak_Flops / flop - 1) < 1e-9);
    assert_int_equal(bytes, 2 * 2 * rlt_transformer_parameters(&m));
    assert_int_equal(p->n_steps, 2);
    rlt_program_free(p);
}

/* Buckets go out one after the other, each once its gradients are there;
 * exposed is what of them outlasts the backward pass. Ring of 8 over 450 GB/s without latency: a bucket of M
 * bytes takes 14 steps of M / 8 bytes. */
static void overlap(void **state)
{
    rlt_transformer m = rlt_transformer_default();
    rlt_topology *t;
    rlt_program *p;
    rlt_replay *r;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_transformer_program(&m, &p, &err), 0);
    assert_int_equal(rlt_topology_load("switch:8@450GB/s,0ns", NULL, &t, &err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    assert_int_equal(rlt_replay_create(p, &o, &r, &err), 0);
    assert_int_equal(rlt_replay_run(r, &err), 0);
    rlt_rank_result k = rlt_replay_rank(r, 0);
    rlt_time backward_end = 0, free_at = 0;
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < p->rank_first[1]; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->kind == RLT_OP_COMPUTE)
            backward_end += op->duration_ps;
        if (op->kind != RLT_OP_COLLECTIVE)
            continue;
        rlt_time begin = backward_end > free_at ? backward_end : free_at;
        free_at = begin + 14 * rlt_transfer_time((p->comms[bucket++].bytes + 7) / 8, 450000000000u);
    }
    assert_true(bucket > 3);
    assert_int_equal(k.compute_ps + k.exposed_comm_ps, k.end_ps);
    assert_true(llabs(k.exposed_comm_ps - (free_at - backward_end)) <=
                14 * 3 * bucket); /* a byte of rounding a step */
    rlt_replay_free(r);
    rlt_topology_free(t);
    rlt_program_free(p);
}

static void settings(void **state)
{
    rlt_transformer m = rlt_transformer_default();
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_transformer_set(&m, "layers", "24", &err), 0);
    assert_int_equal(m.layers, 24);
    assert_int_equal(rlt_transformer_set(&m, "bucket", "50MiB", &err), 0);
    assert_int_equal(m.bucket_bytes, 50 << 20);
    assert_true(rlt_transformer_set(&m, "bucket", "50", &err) < 0);
    memset(&err, 0, sizeof err);
    assert_true(rlt_transformer_set(&m, "layers", "-1", &err) < 0);
    memset(&err, 0, sizeof err);
    assert_int_equal(rlt_transformer_set(&m, "depth", "3", &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "layers"));
    memset(&err, 0, sizeof err);
    m.heads = 7;
    rlt_program *p = NULL;
    assert_int_equal(rlt_transformer_program(&m, &p, &err), RLT_ESCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_gpt2_small),
        cmocka_unit_test(sums),
        cmocka_unit_test(overlap),
        cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
