/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing text, for the writers of plans. Internal to collectives/. Zero-initialise; running out of memory
 * is remembered and told at the end. */
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
/* Hands the text over, or RLT_ENOMEM. */
int rlt_growing_finish(rlt_growing *t, char **text, size_t *length, rlt_error *err) RLT_MUST_USE;
/* A name allowed in all the formats: characters other than letters, digits and "_-.+(),=:" become '_'. */
void rlt_plain_name(const char *name, char *out, size_t size);

#endif
