/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that a framework takes: each term of allocator.c by hand, for blocks of W weights that keep S
 * elements, with a head of H weights and L logits per sample; and a strategy as a whole, for Megatron-LM and
 * torchtitan.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { BLOCKS = 12, W = TEST_BLOCK_WEIGHTS, OUTPUT = TEST_BLOCK_OUTPUT, S = 5000, H = 300, L = 70000, E = 2 };

/* Sets NAME=VALUE,NAME=VALUE. */
static void set_all(fixture *f, const char *settings)
{
    char text[256], *rest = NULL;
    snprintf(text, sizeof text, "%s", settings);
    for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(one, '=');
        assert_non_null(value);
        *value++ = '\0';
        test_set(f, one, value);
    }
}

static void plan(fixture *f, uint32_t ranks)
{
    if (rlt_training_plan(&f->t, ranks, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
}

static void open_common(fixture *f, const char *settings)
{
    test_begin(f);
    set_all(f, settings);
}

static void open_blocks(fixture *f, const char *settings)
{
    memset(f, 0, sizeof *f);
    test_blocks(&f->model, BLOCKS + 1);
    for (uint32_t i = 0; i < BLOCKS; i++)
        f->model.layers[i].saved_whole = S;
    rlt_model_layer *head = &f->model.layers[BLOCKS];
    head->movable = false;
    head->parameters = H;
    head->saved_split = 2.0 * L;
    head->logits = L;
    head->output_elements = 0;
    open_common(f, settings);
}

static void open_model(fixture *f, const char *spec, const char *settings)
{
    memset(f, 0, sizeof *f);
    if (rlt_model_open(spec, &f->model, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    open_common(f, settings);
}

static void assert_close(double got, double expected, const char *what)
{
    if (fabs(got - expected) > 1e-9 * fabs(expected))
        fail_msg("%s: %.9g bytes, expected %.9g", what, got, expected);
}

static const char *strategy(const char *name)
{
    const rlt_training_strategy *s;
    for (uint32_t i = 0; (s = rlt_training_strategy_at(i)); i++)
        if (strcmp(s->name, name) == 0)
            return s->settings;
    fail_msg("no strategy %s", name);
    return "";
}

/* Megatron-LM in bf16 with a distributed optimizer: 2 bytes of weights, 4 of gradients, 12 / dp of optimizer
 * (its README: 6 + 12 / d bytes per parameter). */
static void megatron(void **state)
{
    (void)state;
    for (uint32_t dp = 1; dp <= 16; dp *= 2) {
        fixture f;
        open_blocks(&f, strategy("megatron"));
        plan(&f, dp);
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        double n = BLOCKS * W + H;
        assert_close(m.parameters, 2 * n, "weights");
        assert_close(m.gradients, 4 * n, "gradients");
        assert_close(m.parameters + m.gradients + m.optimizer, n * (6 + 12.0 / dp), "state");
        rlt_model_free(&f.model);
    }
}

/* The loss takes `loss` bytes per logit once, on the stage that has the head, divided by tensor and context
 * parallelism. With GPipe the other microbatches keep 4 bytes per logit. */
static void loss(void **state)
{
    static const struct {
        const char *settings;
        uint32_t ranks;
        double kept, logits; /* elements of blocks, bytes of logits on the last stage */
    } cases[] = {
        {"loss=12,batch=4", 1, BLOCKS * S, 12.0 * L},
        {"loss=12,microbatch=3,batch=3", 1, 3 * BLOCKS * S, 3 * 12.0 * L},
        {"loss=12,tp=4,sp=on,batch=1", 4, BLOCKS * S / 4.0, 12.0 * L / 4},
        {"loss=12,loss_split=16,tp=4,sp=on,batch=1", 4, BLOCKS * S / 4.0, 16.0 * L / 4},
        {"loss=12,loss_split=16,cp=2,batch=1", 2, BLOCKS * S / 2.0, 12.0 * L / 2},
        {"loss=6,pp=2,batch=8", 2, BLOCKS / 2 * S, 6.0 * L},
        {"loss=6,pp=2,batch=8,schedule=gpipe", 2, 8 * BLOCKS / 2 * S, 7 * 4.0 * L + 6.0 * L},
        {"loss=0,pp=2,batch=8,schedule=gpipe", 2, 8 * BLOCKS / 2 * S, 8 * 4.0 * L},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_blocks(&f, cases[i].settings);
        plan(&f, cases[i].ranks);
        rlt_training_memory m = rlt_training_memory_of(&f.t, f.t.size[RLT_AXIS_PP] - 1);
        assert_close(m.activations, E * cases[i].kept + cases[i].logits, cases[i].settings);
        rlt_model_free(&f.model);
    }
}

/* A backward pass adds the larger of the loss and of a recomputed block. */
static void larger(void **state)
{
    fixture f;
    (void)state;
    open_blocks(&f, "loss=4,recompute=full,batch=1");
    plan(&f, 1);
    double kept = E * OUTPUT * (BLOCKS - 1.0);
    assert_close(rlt_training_memory_of(&f.t, 0).activations, kept + 4.0 * L, "loss");
    f.model.layers[3].saved_whole = 3.0 * L;
    assert_close(rlt_training_memory_of(&f.t, 0).activations, kept + E * 3.0 * L, "block");
    f.model.layers[5].inner_gradients = L;
    assert_close(rlt_training_memory_of(&f.t, 0).activations, kept + E * 4.0 * L, "gradients in a layer");
    rlt_model_free(&f.model);
}

/* ZeRO 3 over two ranks. A backward pass has the gradients of a block twice, in 2 and 4 bytes, and those of the
 * head in 2, beside what is kept: nothing, since the loss is not counted and blocks keep nothing. */
static void gathered(void **state)
{
    static const struct {
        const char *settings;
        uint32_t ranks;
        double whole, backward; /* on the last stage */
    } cases[] = {
        {"gathered=2", 2, E * (2 * W + H), 6 * W + 2 * H},
        {"gathered=1", 2, E * (W + H), 6 * W + 2 * H},
        {"gathered=100", 2, E * (12 * W + H), 6 * W + 2 * H},
        {"gathered=0", 2, 0, 0},
        {"gathered=2,reshard=auto", 2, E * (2 * W + H), 6 * W + 2 * H},
        {"gathered=2,reshard=off", 2, (E + 4) * (12 * W + H), 6 * W + 2 * H},
        {"gathered=2,reshard=auto,pp=2,batch=8", 4, (E + 4) * (6 * W + H), 6 * W + 2 * H},
        {"gathered=2,reshard=auto,pp=2,vp=2,schedule=interleaved,batch=8", 4, (E + 4) * (6 * W + H),
         6 * W + 2 * H},
        /* As many microbatches as stages: gradients of one chunk, the one with the head. */
        {"gathered=2,reshard=auto,pp=2,vp=2,schedule=interleaved,batch=4", 4,
         E * (6 * W + H) + 4 * (3 * W + H), 6 * W + 2 * H},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_blocks(&f, "zero=3,gradient=4,dp=2");
        set_all(&f, cases[i].settings);
        for (uint32_t k = 0; k < BLOCKS; k++)
            f.model.layers[k].saved_whole = 0;
        f.model.layers[BLOCKS].saved_split = f.model.layers[BLOCKS].logits = 0;
        plan(&f, cases[i].ranks);
        rlt_training_memory m = rlt_training_memory_of(&f.t, f.t.size[RLT_AXIS_PP] - 1);
        assert_close(m.gathered, cases[i].whole, cases[i].settings);
        assert_close(m.activations, cases[i].backward, cases[i].settings);
        rlt_model_free(&f.model);
    }
}

static void reserved(void **state)
{
    fixture f;
    (void)state;
    open_blocks(&f, "fragmentation=1.25,context=1GiB,batch=1");
    plan(&f, 1);
    rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
    assert_close(m.allocated, 16 * (BLOCKS * W + H) + E * (BLOCKS * S + 2.0 * L), "allocated");
    assert_close(m.reserved, 1.25 * m.allocated, "reserved");
    assert_close(m.total, m.reserved + (1 << 30), "total");
    rlt_model_free(&f.model);
}

/* Llama 3 8B, a token and block: its input 4096, queries 4096, values 1024, the result of attention 4096 and two
 * elements per head, gate 14336, the block's output 4096. Beside them final norm, logits in 4 bytes, and all
 * of the block that is recomputed: norms 2 x 4096, inputs of attention and MLP 2 x 4096, queries, keys and
 * values 6144 and 64, the result of attention 4096, the MLP 3 x 14336. */
static void products(void **state)
{
    const double block = 4096 + 4096 + 1024 + 4096 + 2 * 32 + 14336 + 4096,
                 again = 4 * 4096 + 6144 + 64 + 4096 + 3 * 14336.0, s = 8192;
    fixture f;
    (void)state;
    open_model(&f, "llama3-8b:sequence=8192", "recompute=products,microbatch=2,batch=2");
    plan(&f, 1);
    assert_close(rlt_training_memory_of(&f.t, 0).activations,
                 2 * 2 * s * (32 * block + 4096 * 2 + 2 * 128256.0 + again), "products");
    rlt_model_free(&f.model);
}

/* torchtitan's table 2, of which the form follows by hand: state 16 n / 8, inputs of 32 blocks, final norm, and
 * logits' input, 12 bytes per logit, the weights of two blocks, embedding and head, times 1.15. */
static void torchtitan(void **state)
{
    const double n = 8030261248.0, block = 218112000, outside = 2 * 128256.0 * 4096 + 4096, tokens = 32768;
    fixture f;
    (void)state;
    open_model(&f, "llama3-8b:sequence=32768", strategy("torchtitan"));
    set_all(&f, "recompute=full,batch=8");
    plan(&f, 8);
    rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
    double hand = 2 * n + 2 * (2 * block + outside) + tokens * (2 * 34 * 4096.0 + 12 * 128256.0);
    assert_close(m.allocated, hand, "allocated");
    assert_close(m.reserved, 1.15 * hand, "reserved");
    assert_true(fabs(m.reserved / (83.9 * (1 << 30)) - 1) < 0.01); /* as published */
    rlt_model_free(&f.model);
}

static void nothing_saved(void **state)
{
    static const struct {
        const char *model, *settings;
        bool nothing;
    } cases[] = {{"gpt2-small:fused_attention=yes", "recompute=selective", true},
                 {"gpt2-small:fused_attention=yes", "recompute=none", false},
                 {"gpt2-small:fused_attention=yes", "recompute=full", false},
                 {"gpt2-small", "recompute=selective", false},
                 {"resnet50", "recompute=selective", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_model(&f, cases[i].model, cases[i].settings);
        plan(&f, 1);
        assert_int_equal(rlt_training_saves_nothing(&f.t), cases[i].nothing);
        f.model.layers[f.model.n_layers - 1].saved_scores = 1; /* one element is something */
        assert_false(rlt_training_saves_nothing(&f.t));
        f.model.layers[f.model.n_layers - 1].saved_scores = i == 3 ? 1 : 0;
        double selective = rlt_training_memory_of(&f.t, 0).total;
        test_set(&f, "recompute", "none");
        bool same = selective == rlt_training_memory_of(&f.t, 0).total;
        if (cases[i].nothing)
            assert_true(same);
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(megatron),   cmocka_unit_test(loss),
                                       cmocka_unit_test(larger),     cmocka_unit_test(gathered),
                                       cmocka_unit_test(reserved),   cmocka_unit_test(products),
                                       cmocka_unit_test(torchtitan), cmocka_unit_test(nothing_saved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
