/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that a user types: the known one nearest to a mistyped one, and the items of a list. */
#ifndef RLT_SIM_BASE_WORDS_H
#define RLT_SIM_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Running search for the candidate nearest to `word`; feed candidates, then read `best` (NULL: none is near
 * enough to be meant). Ties keep the first. */
typedef struct rlt_nearest {
    const char *word, *best;
    uint32_t distance;
} rlt_nearest;
RLT_API rlt_nearest rlt_nearest_to(const char *word);
RLT_API void rlt_nearest_try(rlt_nearest *n, const char *candidate);

/* Next item of a list separated by `separator`: its start and length, or NULL at the end. Items may be empty;
 * *cursor begins as the list. */
RLT_API const char *rlt_next_item(const char **cursor, char separator, size_t *length);

/* No two items of the list "NAME=VALUE,NAME=VALUE" (NULL: empty) may have the same name, else RLT_EUSAGE with
 * the name as its place. Items without '=' and blanks in front of names do not count. O(n^2). */
RLT_API int rlt_names_once(const char *list, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
