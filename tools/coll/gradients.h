/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gradients of several workers, from a distribution or a file: the input of `ringlet coll arithmetic`. The
 * gradient of worker w does not depend on the number of workers.
 */
#ifndef RLT_TOOLS_COLL_GRADIENTS_H
#define RLT_TOOLS_COLL_GRADIENTS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/setup/inputs.h"

/*
 * `source`:
 *   normal        normal distribution around 0; `size` is its standard deviation
 *   log-uniform   heavy tails: both signs; each order of magnitude from 10^-8 * `size` to `size`
 *                 is equally likely
 *   a file        numbers, one a line (# begins a comment); or, if named *.f32, 32-bit floats,
 *                 little-endian. Value i of worker w is number w * length + i, modulo the count
 *                 of the file
 */
typedef struct rlt_gradients_ask {
    const char *source;
    uint32_t workers;
    uint64_t length; /* values per worker; 0: 65536, or all values of the file */
    double size;
    uint64_t seed;
    const rlt_watch *watch;
} rlt_gradients_ask;

/* Zero-initialise. rlt_gradients_free frees the contents. */
typedef struct rlt_gradients {
    float *values;
    const float **x; /* by worker */
    uint64_t length;
} rlt_gradients;

/* Returns word i that `source` can be besides a file; NULL past the end. */
const char *rlt_gradients_word(uint32_t i);
/* Fills `out`. Records a file in `in`. Errors name file and line. RLT_ECANCELLED. */
int rlt_gradients_make(const rlt_gradients_ask *ask, rlt_gradients *out, rlt_inputs *in,
                       rlt_error *err) RLT_MUST_USE;
void rlt_gradients_free(rlt_gradients *g);

#endif
