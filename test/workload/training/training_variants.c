/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Optimizers by name, hybrid sharding, local SGD, overlapped tensor parallelism and adapters: memory, FLOPs
 * and bytes on the wire against sums by hand.
 */
#include <math.h>
#include <stdio.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

enum { BLOCKS = 3, WEIGHTS = TEST_BLOCK_WEIGHTS };

/* Blocks of 1 ms forward and 2 ms backward, or a transformer. */
static void open_blocks(fixture *f)
{
    *f = (fixture){.err = {0}};
    strcpy(f->model.name, "blocks");
    test_blocks(&f->model, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_true(f->model.layers[i].parameters == WEIGHTS);
    test_begin(f);
}

#define SMALL                                                                                                \
    "transformer:layers=2,hidden=64,heads=1,ffn=256,vocabulary=10,sequence=8,bias=no,norm=rms,dropout=no,"   \
    "learned_positions=no,fused_attention=yes"
/* Its matrices: 64 x 192 for queries, keys and values, 64 x 64, 64 x 256, 256 x 64. */

static void open_small(fixture *f)
{
    *f = (fixture){.err = {0}};
    if (rlt_model_open(SMALL, &f->model, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    test_begin(f);
}

static rlt_time time_on(fixture *f, uint32_t ranks, const char *net)
{
    rlt_program *p = test_program(f, ranks);
    rlt_time end = test_replay(p, net);
    rlt_program_free(p);
    return end;
}

/* Returns the duration of the optimizer of the first rank. */
static rlt_time step_of(const rlt_program *p)
{
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (strcmp(rlt_program_string(p, p->ops[i].name), "optimizer") == 0)
            return p->ops[i].duration_ps;
    fail_msg("no optimizer");
    return 0;
}

/* Bytes of state per parameter with the master weight; the step reads and writes them, reads the gradient and
 * writes the weight, here at 1 GB/s. */
static void states(void **state)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } rows[] = {{"adam", 4 + 4 + 4}, {"adamw8bit", 4 + 1 + 1}, {"adafactor", 4},
                {"sgd", 4},          {"sgd-momentum", 4 + 4},  {"lion", 4 + 4}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int named = 0; named < 3; named++) { /* state=3 before or after the optimizer stays */
            fixture f;
            uint32_t bytes = named ? 3 : rows[i].bytes;
            open_blocks(&f);
            f.accelerator.memory_Bps = 1000000000;
            if (named == 1)
                test_set(&f, "state", "3");
            test_set(&f, "optimizer", rows[i].name);
            if (named == 2)
                test_set(&f, "state", "3");
            rlt_program *p = test_program(&f, 1);
            assert_true(rlt_training_memory_of(&f.t, 0).optimizer == BLOCKS * WEIGHTS * (double)bytes);
            assert_int_equal(step_of(p), BLOCKS * WEIGHTS * (2 * bytes + 4) * (uint64_t)RLT_NS);
            rlt_program_free(p);
            rlt_model_free(&f.model);
        }
}

/* Five iterations of X X^T, its square, and their product with X for each matrix, at 1 TFLOPS: a FLOP takes a
 * picosecond. ZeRO spreads the matrices over the ranks. */
static void muon(void **state)
{
    static const double large[] = {192, 64, 256, 256};
    double flop = 0;
    (void)state;
    for (int i = 0; i < 4; i++)
        flop += 2 * 5 * (2 * 64 * 64 * large[i] + 2 * 64.0 * 64 * 64 + 2 * 64 * 64 * large[i]);
    for (int zero = 0; zero < 2; zero++) {
        fixture f;
        open_small(&f);
        test_set(&f, "optimizer", "muon");
        test_set(&f, "zero", zero ? "1" : "0");
        rlt_program *p = test_program(&f, 4);
        if (fabs((double)step_of(p) - flop / (zero ? 4 : 1)) > 4) /* up to 2 ps of memory, and rounding */
            fail_msg("%lld ps, expected %g", (long long)step_of(p), flop / (zero ? 4 : 1));
        assert_true(rlt_training_memory_of(&f.t, 0).optimizer ==
                    8 * (double)f.model.parameters / (zero ? 4 : 1));
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

static void assert_members(const rlt_program *p, const rlt_comm *c, uint32_t by, uint32_t n)
{
    const uint32_t *ranks = p->group_ranks + p->group_first[c->group];
    assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], n);
    for (uint32_t i = 1; i < n; i++)
        assert_int_equal(ranks[i] - ranks[i - 1], by);
}

/* Eight ranks in two copies of four parts. Gradients are scattered over four neighbours, and their parts are
 * summed over the two ranks that hold the same one; weights are gathered from four. */
static void hybrid_sharding(void **state)
{
    fixture f;
    uint64_t scattered = 0, summed = 0, gathered = 0, n = (uint64_t)BLOCKS * WEIGHTS;
    (void)state;
    open_blocks(&f);
    test_set(&f, "zero", "3");
    test_set(&f, "shard", "4");
    rlt_program *p = test_program(&f, 8);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        const rlt_comm *c = &p->comms[i];
        bool sums = c->kind == RLT_ALL_REDUCE;
        assert_members(p, c, sums ? 4 : 1, sums ? 2 : 4);
        *(sums ? &summed : c->kind == RLT_REDUCE_SCATTER ? &scattered : &gathered) += c->bytes;
    }
    /* Two groups scatter and gather (twice, for both passes); four groups sum a quarter. */
    assert_int_equal(scattered, 2 * n * 2);
    assert_int_equal(gathered, 2 * 2 * n * 2);
    assert_int_equal(summed, 4 * (n * 2 / 4));
    rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
    assert_true(m.parameters == 2.0 * (double)n / 4);
    assert_true(m.gradients == 2.0 * (double)n / 4);
    assert_true(m.optimizer == 12.0 * (double)n / 4);
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* ZeRO 3 over four microbatches of n weights of 2 bytes. With resharding each of the four is gathered
 * forward and backward, and its gradients are scattered. Without, both happen once; `auto` means so in a
 * pipeline. */
static void whole_weights(void **state)
{
    static const struct {
        const char *reshard, *pp;
        uint64_t gathers, scatters;
    } rows[] = {{"on", "1", 2 * 4, 4}, {"off", "1", 1, 1}, {"auto", "1", 2 * 4, 4},
                {"on", "3", 2 * 4, 4}, {"off", "3", 1, 1}, {"auto", "3", 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int prefetch = 0; prefetch < 2; prefetch++) {
            fixture f;
            uint64_t bytes[RLT_COLL_KINDS] = {0}, n = (uint64_t)BLOCKS * WEIGHTS * 2;
            open_blocks(&f);
            test_set(&f, "zero", "3");
            test_set(&f, "reshard", rows[i].reshard);
            test_set(&f, "prefetch", prefetch ? "on" : "off");
            test_set(&f, "pp", rows[i].pp);
            test_set(&f, "dp", "2");
            test_set(&f, "batch", "8");
            test_set(&f, "steps", "2");
            rlt_program *p = test_program(&f, rows[i].pp[0] == '3' ? 6 : 2);
            for (uint32_t k = 0; k < p->n_comms; k++)
                bytes[p->comms[k].kind] += p->comms[k].bytes;
            assert_int_equal(bytes[RLT_ALL_GATHER], 2 * rows[i].gathers * n);
            assert_int_equal(bytes[RLT_REDUCE_SCATTER], 2 * rows[i].scatters * n);
            assert_int_equal(bytes[RLT_ALL_REDUCE], 0);
            rlt_program_free(p);
            rlt_model_free(&f.model);
        }
}

/* Six iterations with a sum of the parameters after every third, and nothing else on the wire. */
static void local_steps(void **state)
{
    fixture f;
    uint32_t sums = 0;
    (void)state;
    open_blocks(&f);
    test_set(&f, "sync_every", "3");
    test_set(&f, "steps", "6");
    rlt_program *p = test_program(&f, 4);
    for (uint32_t i = 0; i < p->n_comms; i++, sums++) {
        assert_int_equal(p->comms[i].kind, RLT_ALL_REDUCE);
        assert_int_equal(p->comms[i].bytes, BLOCKS * WEIGHTS * 2);
    }
    assert_int_equal(sums, 2);
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_COLLECTIVE)
            assert_int_equal(p->ops[i].step % 3, 2);
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* With f = 0.5 ms forward and 1 ms backward per block on two ranks, and m between them for gather and
 * scatter, a block takes 3 f + 2 m apart, and m + 2 f overlapped. */
static void overlapped_tensors(void **state)
{
    static const char net[] = "switch:2@1GB/s,0ns";
    rlt_time took[2];
    uint64_t bytes[2] = {0, 0};
    (void)state;
    for (int on = 0; on < 2; on++) {
        fixture f;
        open_blocks(&f);
        for (uint32_t i = 0; i < BLOCKS; i++)
            f.model.layers[i].tp_elements = 375000;
        test_set(&f, "tp", "2");
        test_set(&f, "sp", "on");
        test_set(&f, "tp_overlap", on ? "on" : "off");
        took[on] = time_on(&f, 2, net);
        rlt_program *p = test_program(&f, 2);
        for (uint32_t i = 0; i < p->n_comms; i++)
            bytes[on] += p->comms[i].bytes;
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
    double f = (double)RLT_MS / 2, m = ((double)took[0] / BLOCKS - 3 * f) / 2;
    assert_true(m > f && m < 2 * f);
    assert_true(fabs((double)took[1] / (BLOCKS * (m + 2 * f)) - 1) < 1e-3);
    assert_int_equal(bytes[1], bytes[0]);
    assert_int_equal(bytes[0], BLOCKS * 2 * 2 * 375000 * 2);
}

/* Inputs of 300 elements where outputs have 1000: the forward pass gathers 600 bytes and reduces 2000, the
 * backward pass the reverse, overlapped or not. Without sequence parallelism, the forward pass sums 2000 bytes
 * of outputs, the backward pass 600 bytes of gradients of inputs. */
static void narrow_inputs(void **state)
{
    static const char *const settings[][2] = {{"on", "off"}, {"on", "on"}, {"off", "off"}};
    (void)state;
    for (int v = 0; v < 3; v++) {
        fixture f;
        uint64_t small = 0, large = 0, gathered = 0;
        open_blocks(&f);
        for (uint32_t i = 0; i < BLOCKS; i++) {
            f.model.layers[i].tp_elements = 1000;
            f.model.layers[i].tp_inputs = 300;
        }
        test_set(&f, "tp", "2");
        test_set(&f, "sp", settings[v][0]);
        test_set(&f, "tp_overlap", settings[v][1]);
        rlt_program *p = test_program(&f, 2);
        for (uint32_t i = 0; i < p->n_comms; i++) {
            const rlt_comm *c = &p->comms[i];
            bool forward = i < p->n_comms / 2, gathers = c->kind == RLT_ALL_GATHER;
            assert_int_equal(c->kind, v == 2    ? RLT_ALL_REDUCE
                                      : gathers ? RLT_ALL_GATHER
                                                : RLT_REDUCE_SCATTER);
            assert_int_equal(c->bytes, forward == gathers ? 600 : 2000);
            gathered += gathers;
            *(c->bytes == 600 ? &small : &large) += 1;
        }
        assert_int_equal(small, v == 2 ? BLOCKS : 2 * BLOCKS);
        assert_int_equal(large, small);
        assert_int_equal(gathered, v == 2 ? 0 : 2 * BLOCKS);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* Adapters of rank 4 on the four matrices of both blocks: 4 (m + n) parameters each. Frozen weights have
 * neither gradients nor state nor products for them. */
static void adapters(void **state)
{
    const uint64_t sides = 2 * ((64 + 192) + (64 + 64) + (64 + 256) + (256 + 64)), trained = 4 * sides;
    double flop = 0;
    fixture f;
    uint64_t wire = 0;
    (void)state;
    open_small(&f);
    test_set(&f, "lora_rank", "4");
    rlt_program *p = test_program(&f, 4);
    rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
    assert_true(m.parameters == 2.0 * (double)(f.model.parameters + trained));
    assert_true(m.gradients == 2.0 * (double)trained);
    assert_true(m.optimizer == 12.0 * (double)trained);
    for (uint32_t i = 0; i < p->n_comms; i++)
        wire += p->comms[i].bytes;
    assert_int_equal(wire, 2 * trained);
    /* Forward and gradients of the inputs; attention has no weights, so twice; adapters three times. */
    for (uint32_t i = 0; i < f.model.n_layers; i++)
        flop += f.model.layers[i].forward_flop * (f.model.layers[i].work == RLT_WORK_ATTENTION ? 3 : 2);
    flop += 3 * 2.0 * 8 * (double)trained;
    assert_true(fabs(rlt_training_flop(&f.t) / (4 * flop) - 1) < 1e-12);
    rlt_time took = step_of(p);
    rlt_program_free(p);
    test_set(&f, "lora_rank", "0");
    p = test_program(&f, 4);
    assert_true(took <= step_of(p));
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

static void refused(void **state)
{
    static const struct {
        const char *settings[6], *where, *what;
    } rows[] = {
        {{"shard", "2"}, "shard", "needs zero=3, ep=1"},
        {{"shard", "3", "zero", "3"}, "shard", "3 does not divide dp 4"},
        {{"sync_every", "2", "zero", "1"}, "sync_every", "needs zero=0"},
        {{"tp_overlap", "on", "tp", "2"}, "tp_overlap", "needs sp=on"},
        {{"lora_rank", "2", "tp", "2"}, "lora_rank", "needs tp=1"},
        {{"lora_rank", "2"}, "lora_rank", "does not tell the shapes"},
        {{"optimizer", "muon"}, "optimizer", "does not tell the shapes"},
        {{"schedule", "message", "zero", "3"}, "schedule", "message supports dp and pp only"},
        {{"schedule", "message", "tp", "2"}, "schedule", "message supports dp and pp only"},
        {{"schedule", "message", "cp", "2"}, "schedule", "message supports dp and pp only"},
        {{"offload", "on", "overlap", "on"}, "offload", "needs zero=0, overlap=off"},
        {{"offload", "on", "overlap", "off", "zero", "1"}, "offload", "needs zero=0, overlap=off"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_blocks(&f);
        for (int k = 0; k < 6 && rows[i].settings[k]; k += 2)
            test_set(&f, rows[i].settings[k], rows[i].settings[k + 1]);
        int rc = rlt_training_plan(&f.t, 4, &f.err);
        if (rc != RLT_ESCHEMA || strcmp(f.err.where, rows[i].where) != 0 || !strstr(f.err.what, rows[i].what))
            fail_msg("row %zu: %d at '%s': '%s'", i, rc, f.err.where, f.err.what);
        rlt_model_free(&f.model);
    }
}

/* What only a model that tells the shapes of its matrices reaches, or a recurrent one; and unknown stacks. */
static void refused_of_models(void **state)
{
    static const struct {
        const char *settings[6];
        bool recurrent;
        int code;
        const char *where, *what;
    } rows[] = {
        {{"optimizer", "muon", "offload", "on", "overlap", "off"},
         false,
         RLT_ESCHEMA,
         "optimizer",
         "muon needs offload=off, lora_rank=0 and dense weights"},
        {{"optimizer", "muon", "lora_rank", "2"},
         false,
         RLT_ESCHEMA,
         "optimizer",
         "muon needs offload=off, lora_rank=0 and dense weights"},
        {{"cp", "2"}, true, RLT_ESCHEMA, "cp", "small passes a state from token to token: expected cp=1"},
        {{"stack", "bolts"}, false, RLT_EUNSUPPORTED, "stack", "no stack 'bolts'; known are: any, nuts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_small(&f);
        strcpy(f.model.name, "small");
        f.model.recurrent = rows[i].recurrent;
        strcpy(f.accelerator.stacks[0].name, "any");
        strcpy(f.accelerator.stacks[1].name, "nuts");
        f.accelerator.n_stacks = 2;
        for (int k = 0; k < 6 && rows[i].settings[k]; k += 2)
            test_set(&f, rows[i].settings[k], rows[i].settings[k + 1]);
        int rc = rlt_training_plan(&f.t, 4, &f.err);
        if (rc != rows[i].code || strcmp(f.err.where, rows[i].where) != 0 ||
            strcmp(f.err.what, rows[i].what) != 0)
            fail_msg("row %zu: %d at '%s': '%s'", i, rc, f.err.where, f.err.what);
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),          cmocka_unit_test(muon),
        cmocka_unit_test(hybrid_sharding), cmocka_unit_test(whole_weights),
        cmocka_unit_test(local_steps),     cmocka_unit_test(overlapped_tensors),
        cmocka_unit_test(narrow_inputs),   cmocka_unit_test(adapters),
        cmocka_unit_test(refused),         cmocka_unit_test(refused_of_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
