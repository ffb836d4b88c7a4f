/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that were read, with their hashes, for the manifest of a result. */
#ifndef RLT_WORKLOAD_SETUP_INPUTS_H
#define RLT_WORKLOAD_SETUP_INPUTS_H

#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_MAX_INPUTS = 16 };

typedef struct rlt_inputs {
    uint32_t n;
    struct {
        const char *what, *path; /* what: such as "topology"; path as given; both borrowed */
        uint64_t hash;
    } items[RLT_MAX_INPUTS];
} rlt_inputs;

/* Adds an input whose hash is known. */
void rlt_inputs_add(rlt_inputs *in, const char *what, const char *path, uint64_t hash);
/* Reads a file, hashes it and adds it. */
int rlt_inputs_add_file(rlt_inputs *in, const char *what, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
