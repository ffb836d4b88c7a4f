/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of trainings whose times can be computed by hand: 10^9 FLOPs forward and twice as many backward per
 * sample, on an accelerator of 10^12 FLOP/s without other limits. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_BLOCKS_H
#define RLT_TEST_SUPPORT_TRAININGS_BLOCKS_H

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

enum { TEST_BLOCK_WEIGHTS = 1000, TEST_BLOCK_OUTPUT = 64 };

/* Makes a model of one layer per block. */
static inline void test_blocks(rlt_model *m, uint32_t blocks)
{
    rlt_error err = {0};
    for (uint32_t i = 0; i < blocks; i++) {
        rlt_model_layer *l = rlt_model_add(m, "block", RLT_WORK_MATMUL, &err);
        assert_non_null(l);
        l->sharded = l->movable = true;
        l->block = i;
        l->parameters = TEST_BLOCK_WEIGHTS;
        l->forward_flop = 1e9;
        l->backward_flop = 2e9;
        l->output_elements = TEST_BLOCK_OUTPUT;
    }
    m->tokens = 1;
}

static inline rlt_accelerator test_accelerator(void)
{
    return (rlt_accelerator){.name = "test",
                             .memory_bytes = (uint64_t)1 << 40,
                             .memory_Bps = (uint64_t)1 << 60,
                             .peaks = {{"bf16", 1000000000000u}},
                             .n_peaks = 1,
                             .kernels = {.most = {1, 1, 1, 1, 1}, .memory = 1, .backward = 1, .host = 1},
                             .overlap_slowdown = 1};
}

#endif
