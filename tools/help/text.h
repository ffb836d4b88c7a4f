/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text that grows. Streams of open_memstream may lose what they have no memory for; this says so. */
#ifndef RLT_TOOLS_HELP_TEXT_H
#define RLT_TOOLS_HELP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

/* Zero-initialise. `bytes` is malloc'ed, freed by the owner, and ends with a NUL. NULL: nothing is there. */
typedef struct rlt_help_text {
    char *bytes;
    size_t n, capacity;
    bool failed; /* no memory: what was added since is not there */
} rlt_help_text;

void rlt_help_add(rlt_help_text *t, const char *bytes, size_t n);
void rlt_help_format(rlt_help_text *t, const char *fmt, ...) RLT_PRINTF(2);
/* RLT_ENOMEM if something is missing; else `bytes` is there. */
int rlt_help_whole(rlt_help_text *t, rlt_error *err) RLT_MUST_USE;

#endif
