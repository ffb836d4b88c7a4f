/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Optimizers by name: bytes of their state, and products of their step. Internal to training. */
#ifndef RLT_WORKLOAD_TRAINING_OPTIMIZERS_H
#define RLT_WORKLOAD_TRAINING_OPTIMIZERS_H

#include <stdint.h>

typedef struct rlt__optimizer {
    const char *name;
    uint32_t state_bytes; /* per parameter, with 4 of the master weight */
    uint32_t iterations;  /* of an orthogonalisation of each matrix; 0: none */
    const char *source;
} rlt__optimizer;

const rlt__optimizer *rlt__optimizer_at(uint32_t i);
const char *rlt__optimizer_word(uint32_t i); /* NULL past the end */

#endif
