/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes of a training, recorded while its program is built (memory_time.h reads them). */
#ifndef RLT_WORKLOAD_TRAINING_PASSES_H
#define RLT_WORKLOAD_TRAINING_PASSES_H

#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_pass { RLT_PASS_FORWARD, RLT_PASS_BACKWARD, RLT_PASS_WEIGHTS } rlt_pass;

/* A microbatch through a chunk, one way. Operations are counted from the first one of their rank. */
typedef struct rlt_training_pass {
    uint32_t first;             /* RLT_NONE: it takes no time, and is when `last` has ended */
    uint32_t last;              /* RLT_NONE: nothing came before it either */
    uint32_t microbatch, chunk; /* chunk of the stage */
    rlt_pass kind;
} rlt_training_pass;

typedef struct rlt_stage_passes {
    uint32_t first, n; /* of the passes */
    uint32_t n_ops;    /* of each rank of the stage */
} rlt_stage_passes;

/* Zero before the first use; every building begins anew. */
typedef struct rlt_training_passes {
    uint32_t folded; /* axes, as in rlt_training_fold */
    uint32_t n_stages, n, room;
    rlt_stage_passes *stages;
    rlt_training_pass *at; /* of a stage in the order built: not always that in which they run */
} rlt_training_passes;
void rlt_training_passes_free(rlt_training_passes *p);

/* Forgets what was recorded. */
int rlt__passes_begin(rlt_training_passes *p, uint32_t stages, uint32_t folded, rlt_error *err);
/* Those of a stage one behind the other. */
int rlt__passes_add(rlt_training_passes *p, uint32_t stage, const rlt_training_pass *pass, rlt_error *err);

#ifdef __cplusplus
}
#endif
#endif
