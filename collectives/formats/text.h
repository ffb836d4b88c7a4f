/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing text for the writers of plans. Zero-initialise it; rlt_growing_finish reports if memory ran out.
 * Internal to collectives/. */
#ifndef RLT_COLLECTIVES_FORMATS_TEXT_H
#define RLT_COLLECTIVES_FORMATS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

typedef struct rlt_growing {
    char *text;
    size_t length, capacity;
    bool failed;
} rlt_growing;

void rlt_growing_add(rlt_growing *t, const char *fmt, ...) RLT_PRINTF(2);
/* Hands the text over to the caller, or returns RLT_ENOMEM. */
int rlt_growing_finish(rlt_growing *t, char **text, size_t *length, rlt_error *err) RLT_MUST_USE;
/* Makes a name that all formats allow: characters other than letters, digits and "_-.+(),=:" become '_'. */
void rlt_plain_name(const char *name, char *out, size_t size);

#endif
