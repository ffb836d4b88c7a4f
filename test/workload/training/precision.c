/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Formats of weights and activations: bytes on the wire and in memory of Llama 3 8B, counted by hand. It
 * has 32 blocks of h = 4096 and f = 14336 with keys and values of 1024: their products have h (h + 2 x
 * 1024) + h h + 3 h f weights. Embedding, logits (128256 words) and 65 norms stay at 16 bits.
 */
#include <math.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/models/precision.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

static const double h = 4096, ffn = 14336, blocks = 32, sequence = 8192,
                    inside = 32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336),
                    outside = 2 * 4096.0 * 128256 + 65 * 4096;

static void open_llama(fixture *f, const char *params, const char *activations)
{
    *f = (fixture){.err = {0}};
    if (rlt_model_open("llama3-8b:sequence=8192", &f->model, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    assert_true((double)f->model.parameters == inside + outside);
    test_begin(f);
    test_set(f, "param_precision", params);
    test_set(f, "activation_precision", activations);
}

static const struct {
    const char *name;
    double bytes;
} formats[] = {{"element", 2},
               {"bf16", 2},
               {"fp8", 1},
               {"mxfp8", 1 + 1.0 / 32}, /* a byte of scale for 32 elements */
               {"mxfp6", 0.75 + 1.0 / 32},
               {"mxfp4", 0.5 + 1.0 / 32},
               {"nvfp4", 0.5 + 1.0 / 16}, /* a byte of scale for 16 elements */
               {"fp32", 4}};
enum { FORMATS = sizeof formats / sizeof *formats };

static void bytes_of_formats(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < FORMATS; k++) {
        uint32_t i = 0;
        while (rlt_precision_word(i) && strcmp(rlt_precision_word(i), formats[k].name) != 0)
            i++;
        assert_non_null(rlt_precision_at(i));
        assert_true(rlt_precision_bytes(i, 2) == formats[k].bytes);
        assert_true(i == 0 || rlt_precision_at(i)->source[0] != '\0');
    }
    assert_true(rlt_precision_bytes(0, 4) == 4);
}

/* ZeRO 3 gathers all weights in the forward and in the backward pass, and keeps shards at 16 bits. Gathered
 * are two blocks with their norms, and what is outside. */
static void sharded(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < FORMATS; k++) {
        fixture f;
        double gathered = 0, scattered = 0, expected = inside * formats[k].bytes + outside * 2;
        open_llama(&f, formats[k].name, "element");
        test_set(&f, "zero", "3");
        test_set(&f, "gathered", "2");
        rlt_program *p = test_program(&f, 8);
        for (uint32_t i = 0; i < p->n_comms; i++)
            *(p->comms[i].kind == RLT_ALL_GATHER ? &gathered : &scattered) += (double)p->comms[i].bytes;
        if (fabs(gathered - 2 * expected) > 2 * 40 || scattered != 2 * (inside + outside))
            fail_msg("%s: gathered %.0f, expected %.0f", formats[k].name, gathered, 2 * expected);
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        assert_true(m.parameters == 2 * (inside + outside) / 8);
        expected = 2 * (inside / blocks * formats[k].bytes + 2 * h * 2) + (outside - 64 * h) * 2;
        assert_true(fabs(m.gathered - expected) < 1);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* ZeRO 1 holds whole weights in the format, and gathers them once, after the step. State stays at 12 bytes,
 * and gradients at 2. */
static void held(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < FORMATS; k++) {
        fixture f;
        double gathered = 0, weights = inside * formats[k].bytes + outside * 2;
        open_llama(&f, formats[k].name, "element");
        test_set(&f, "zero", "1");
        rlt_program *p = test_program(&f, 8);
        for (uint32_t i = 0; i < p->n_comms; i++)
            gathered += p->comms[i].kind == RLT_ALL_GATHER ? (double)p->comms[i].bytes : 0;
        assert_true(fabs(gathered - weights) < 1);
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        assert_true(fabs(m.parameters - weights) < 1);
        assert_true(m.gradients == 2 * (inside + outside) && m.optimizer == 12 * (inside + outside) / 8);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* Inputs of products of a block: two of s h, and of s f in the MLP, take b bytes in place of 2. The result
 * of fused attention, s h, stays, and has a copy of b bytes. Tensor parallelism divides the latter two, and
 * all with sequence parallelism. Messages stay at 16 bits. */
static void activations(void **state)
{
    (void)state;
    for (uint32_t k = 1; k < FORMATS; k++)
        for (int sp = 0; sp < 2; sp++) {
            fixture f, g;
            double b = formats[k].bytes, wide = 2 * h * (b - 2), split = ffn * (b - 2) + (b != 2 ? h * b : 0),
                   bytes[2] = {0, 0};
            fixture *both[] = {&f, &g};
            for (int i = 0; i < 2; i++) {
                open_llama(both[i], "element", i ? formats[k].name : "element");
                test_set(both[i], "tp", "4");
                test_set(both[i], "sp", sp ? "on" : "off");
                rlt_program *p = test_program(both[i], 4);
                for (uint32_t c = 0; c < p->n_comms; c++)
                    bytes[i] += (double)p->comms[c].bytes;
                rlt_program_free(p);
            }
            double expected = blocks * sequence * ((sp ? wide / 4 : wide) + split / 4),
                   found = rlt_training_memory_of(&g.t, 0).activations -
                           rlt_training_memory_of(&f.t, 0).activations;
            if (fabs(found - expected) > 1)
                fail_msg("%s: %.0f bytes more, expected %.0f", formats[k].name, found, expected);
            assert_true(bytes[0] == bytes[1]);
            rlt_model_free(&f.model);
            rlt_model_free(&g.model);
        }
}

/* With full recomputation blocks keep their inputs only, which are those of norms. What a block computes
 * again includes the narrow copies. */
static void recomputed(void **state)
{
    fixture f, g;
    (void)state;
    open_llama(&f, "element", "element");
    open_llama(&g, "element", "fp8");
    test_set(&f, "recompute", "full");
    test_set(&g, "recompute", "full");
    rlt_program_free(test_program(&f, 1));
    rlt_program_free(test_program(&g, 1));
    assert_true(rlt_training_memory_of(&g.t, 0).activations - rlt_training_memory_of(&f.t, 0).activations ==
                -sequence * (h + ffn));
    rlt_model_free(&f.model);
    rlt_model_free(&g.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_of_formats), cmocka_unit_test(sharded),
                                       cmocka_unit_test(held), cmocka_unit_test(activations),
                                       cmocka_unit_test(recomputed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
