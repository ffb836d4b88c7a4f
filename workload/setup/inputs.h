/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was read, with hashes: what the manifest of a result says of its inputs. */
#ifndef RLT_WORKLOAD_SETUP_INPUTS_H
#define RLT_WORKLOAD_SETUP_INPUTS_H

#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_MAX_INPUTS = 16 };

typedef struct rlt_inputs {
    uint32_t n;
    struct {
        const char *what, *path; /* "topology", as given; borrowed */
        uint64_t hash;
    } items[RLT_MAX_INPUTS];
} rlt_inputs;

/* Enters an input whose hash is known. */
void rlt_inputs_add(rlt_inputs *in, const char *what, const char *path, uint64_t hash);
/* Reads the file to hash it. */
int rlt_inputs_add_file(rlt_inputs *in, const char *what, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
