/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helper for test programs that need some training: a data-parallel transformer. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_TRANSFORMER_H
#define RLT_TEST_SUPPORT_TRAININGS_TRANSFORMER_H

#include <stdio.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

/* An accelerator with 400 TFLOPS for every product, no launch cost, and memory that only the optimizer waits
 * for, at memory_Bps. */
static inline rlt_accelerator test_flat_accelerator(uint64_t memory_Bps)
{
    rlt_accelerator a = {.name = "flat",
                         .memory_bytes = (uint64_t)1 << 50,
                         .memory_Bps = memory_Bps,
                         .peaks = {{"bf16", 400000000000000u}},
                         .n_peaks = 1,
                         .kernels = {.memory = 1, .backward = 1},
                         .overlap_slowdown = 1};
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        a.kernels.most[k] = 1;
    return a;
}

/* Makes GPT-2 small with `layers` layers and 8 sequences per rank. */
static inline rlt_program *test_transformer(uint32_t ranks, uint32_t layers, uint32_t steps)
{
    rlt_accelerator a = test_flat_accelerator(3350000000000u);
    rlt_training t = rlt_training_default();
    rlt_model m = {0};
    rlt_program *p = NULL;
    rlt_error err = {0};
    char spec[64];
    snprintf(spec, sizeof spec, "transformer:layers=%u", layers);
    assert_int_equal(rlt_model_open(spec, &m, &err), 0);
    t.model = &m;
    t.accelerator = &a;
    t.microbatch = 8;
    t.steps = steps;
    if (rlt_training_plan(&t, ranks, &err) || rlt_training_program(&t, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_model_free(&m);
    return p;
}

#endif
