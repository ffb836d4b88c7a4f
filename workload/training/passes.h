/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes of a training, recorded while its program is built. Read by memory_time.h. */
#ifndef RLT_WORKLOAD_TRAINING_PASSES_H
#define RLT_WORKLOAD_TRAINING_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_pass { RLT_PASS_FORWARD, RLT_PASS_BACKWARD, RLT_PASS_WEIGHTS } rlt_pass;

/* A pass of a microbatch through a chunk. Operations are counted from the first one of the rank. */
typedef struct rlt_training_pass {
    uint32_t first;             /* RLT_NONE: the pass takes no time, at the end of `last` */
    uint32_t last;              /* RLT_NONE: also nothing before it */
    uint32_t microbatch, chunk; /* chunk: index within the stage */
    rlt_pass kind;
    bool apart; /* a backward pass whose weight gradients are a pass of their own */
} rlt_training_pass;

typedef struct rlt_stage_passes {
    uint32_t first, n; /* range of passes in `at` */
    uint32_t n_ops;    /* operations of each rank of the stage */
} rlt_stage_passes;

/* Initialise with zero. Every build starts anew. */
typedef struct rlt_training_passes {
    uint32_t folded; /* folded axes, as in rlt_training_fold */
    uint32_t n_stages, n, room;
    rlt_stage_passes *stages;
    /* passes of a stage, in the order built, which may differ from the order in time */
    rlt_training_pass *at;
} rlt_training_passes;
void rlt_training_passes_free(rlt_training_passes *p);

/* Clears the recording. */
int rlt__passes_begin(rlt_training_passes *p, uint32_t stages, uint32_t folded, rlt_error *err);
/* Adds a pass. The passes of a stage are added one after the other. */
int rlt__passes_add(rlt_training_passes *p, uint32_t stage, const rlt_training_pass *pass, rlt_error *err);

#ifdef __cplusplus
}
#endif
#endif
