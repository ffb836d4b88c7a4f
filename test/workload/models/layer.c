/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of a layer whose attention a software stack does not fuse, by hand. */
#include "workload/models/layer.h"

#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

enum { HEADS = 4, HEAD = 64, TOKENS = 128, SAMPLES = 2, PASSES = 5 };

/* Products at 1 TFLOPS with half of it for inner dimensions of 64; 1 GB/s of memory. */
static const rlt_roofline roofline = {.peak_Flops = 1000000000000,
                                      .peak_16_Flops = 1000000000000,
                                      .memory_Bps = 1000000000,
                                      .most = {1, 1, 1, 1, 1},
                                      .inputs_half = 64,
                                      .memory = 1,
                                      .backward = 0.5,
                                      .score_passes = PASSES};

static double time_of_scores(const char *spec, const rlt_roofline *f, rlt_layer_pass pass)
{
    const rlt_layer_share share = {
        .samples = SAMPLES, .tp = 1, .ep = 1, .element_bytes = 2, .gradient_bytes = 2, .slowdown = 3};
    rlt_model m;
    rlt_error err = {0};
    double ps = 0;
    if (rlt_model_open(spec, &m, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t i = 0; i < m.n_layers; i++)
        if (m.layers[i].work == RLT_WORK_ATTENTION)
            ps += rlt_layer_time(&m, i, f, &share, pass);
    rlt_model_free(&m);
    return ps;
}

#define SMALL "transformer:layers=1,hidden=256,heads=4,sequence=128,vocabulary=10"

/* Queries times keys have an inner dimension of 64 (half of the peak), scores times values one of 128 (two
 * thirds). Each takes 2 x 64 FLOPs a score. The backward pass has one product of the first kind and three of
 * the second, at half the efficiency, and moves 1.6 times the bytes. Moved are queries, keys, values and
 * results, and each score five times. It makes no difference whether the model fuses attention. */
static void scores_apart(void **state)
{
    static const char *const specs[] = {SMALL ",fused_attention=yes", SMALL, SMALL ",dropout=no"};
    const double scores = 1.0 * SAMPLES * HEADS * TOKENS * TOKENS, product = 2 * HEAD * scores / 1e12;
    const double moved = 2.0 * (SAMPLES * 4.0 * TOKENS * HEADS * HEAD + PASSES * scores) / 1e9;
    const double forward = product * 2 + product * 1.5 + moved,
                 backward = (product * 2 + 3 * product * 1.5) / 0.5 + 1.6 * moved;
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        double f = time_of_scores(specs[i], &roofline, RLT_LAYER_FORWARD) / 1e12,
               b = time_of_scores(specs[i], &roofline, RLT_LAYER_INPUTS) / 1e12;
        if (fabs(f / forward - 1) > 1e-6 || fabs(b / backward - 1) > 1e-6)
            fail_msg("%s: %.9g and %.9g s, expected %.9g and %.9g", specs[i], f, b, forward, backward);
        assert_true(time_of_scores(specs[i], &roofline, RLT_LAYER_WEIGHTS) == 0);
    }
}

/* Without score_passes, the model says what is moved: nothing of scores if it fuses attention, else 6.5 of
 * each, or 4 without dropout. */
static void as_the_model_says(void **state)
{
    static const struct {
        const char *spec;
        double passes;
    } rows[] = {{SMALL ",fused_attention=yes", 0}, {SMALL, 6.5}, {SMALL ",dropout=no", 4}};
    const double scores = 1.0 * SAMPLES * HEADS * TOKENS * TOKENS;
    rlt_roofline fast = roofline;
    (void)state;
    fast.score_passes = 0;
    fast.peak_Flops = fast.peak_16_Flops = (uint64_t)1 << 62;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double took = time_of_scores(rows[i].spec, &fast, RLT_LAYER_FORWARD) / 1e12;
        double moved = 2.0 * (SAMPLES * 4.0 * TOKENS * HEADS * HEAD + rows[i].passes * scores) / 1e9;
        assert_true(fabs(took / moved - 1) < 1e-6);
    }
}

/* A matrix product takes 2 FLOPs for each parameter and token, at half the efficiency in the backward pass, whose
 * two products are as large. */
static void products(void **state)
{
    const rlt_layer_share share = {
        .samples = SAMPLES, .tp = 1, .ep = 1, .element_bytes = 2, .gradient_bytes = 2, .slowdown = 1};
    rlt_roofline fast = roofline;
    rlt_model m;
    rlt_error err = {0};
    uint32_t found = 0;
    (void)state;
    fast.inputs_half = 0;
    fast.memory_Bps = (uint64_t)1 << 62;
    assert_int_equal(rlt_model_open(SMALL ",bias=no", &m, &err), 0);
    for (uint32_t i = 0; i < m.n_layers; i++) {
        const rlt_model_layer *l = &m.layers[i];
        if (!strstr(l->name, "mlp")) /* from 256 to 1024 and back */
            continue;
        double ps = 2.0 * 2 * 256 * 1024 * TOKENS * SAMPLES;
        found++;
        assert_true(fabs(rlt_layer_time(&m, i, &fast, &share, RLT_LAYER_FORWARD) / ps - 1) < 1e-6);
        assert_true(fabs(rlt_layer_time(&m, i, &fast, &share, RLT_LAYER_INPUTS) / ps - 2) < 1e-6);
        assert_true(fabs(rlt_layer_time(&m, i, &fast, &share, RLT_LAYER_WEIGHTS) / ps - 2) < 1e-6);
    }
    assert_int_equal(found, 1);
    rlt_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_apart),
        cmocka_unit_test(as_the_model_says),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
