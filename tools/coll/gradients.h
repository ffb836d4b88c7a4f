/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gradients of several workers, for what the arithmetic of switches makes of their sums: of a distribution,
 * or from a file. Those of worker w are the same however many workers there are.
 */
#ifndef RLT_TOOLS_COLL_GRADIENTS_H
#define RLT_TOOLS_COLL_GRADIENTS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/setup/inputs.h"

/*
 * `source`:
 *   normal        a bell around 0; `size`: its standard deviation
 *   log-uniform   heavy tails: both signs, each order of magnitude from `size` down to 10^-8 of it as often
 *   a file        numbers, one a line (# begins a comment), or, named *.f32, floats of 32 bits,
 *                 little-endian; value i of worker w is number w * length + i, and after the last one comes
 *                 the first
 */
typedef struct rlt_gradients_ask {
    const char *source;
    uint32_t workers;
    uint64_t length; /* of each worker; 0: 65536, or as many as the file has */
    double size;
    uint64_t seed;
    const rlt_watch *watch;
} rlt_gradients_ask;

/* Zero-initialise; rlt_gradients_free frees what is there. */
typedef struct rlt_gradients {
    float *values;
    const float **x; /* by worker */
    uint64_t length;
} rlt_gradients;

/* Word i of what `source` can be beside a file; NULL past the end. */
const char *rlt_gradients_word(uint32_t i);
/* Enters a file into `in`. Errors name file and line; RLT_ECANCELLED. */
int rlt_gradients_make(const rlt_gradients_ask *ask, rlt_gradients *out, rlt_inputs *in,
                       rlt_error *err) RLT_MUST_USE;
void rlt_gradients_free(rlt_gradients *g);

#endif
