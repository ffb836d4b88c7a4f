/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A text that grows. Zero-initialise it. Additions after a failed allocation do nothing, and
 * rlt_growing_whole reports the failure.
 */
#ifndef RLT_SIM_BASE_TEXT_H
#define RLT_SIM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"

typedef struct rlt_growing {
    char *text; /* malloc'ed, owned by whoever holds the struct, ends with a NUL; NULL: nothing was added */
    size_t length, capacity;
    bool failed; /* out of memory: later additions are missing */
} rlt_growing;

void rlt_growing_add(rlt_growing *t, const char *fmt, ...) RLT_PRINTF(2);
void rlt_growing_bytes(rlt_growing *t, const char *bytes, size_t n);
/* Returns RLT_ENOMEM if something is missing. Otherwise `text` is there, if only "". */
int rlt_growing_whole(rlt_growing *t, rlt_error *err) RLT_MUST_USE;
/* Hands the text over to the caller, or frees it and returns RLT_ENOMEM. */
int rlt_growing_finish(rlt_growing *t, char **text, size_t *length, rlt_error *err) RLT_MUST_USE;
/* As open_memstream, which may lose bytes without a word when memory is short: here fclose fails if any is
 * missing. The text is there after fclose, NULL if that failed. Returns NULL without memory. */
FILE *rlt_text_stream(char **text, size_t *length) RLT_MUST_USE;

#endif
