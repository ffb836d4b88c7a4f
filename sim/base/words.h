/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that users type: the nearest known word to a mistyped one, and the items of a list. */
#ifndef RLT_SIM_BASE_WORDS_H
#define RLT_SIM_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A running search for the candidate nearest to `word`. Feed candidates, then read `best`; NULL if none is
 * similar enough. The first of equal candidates wins. */
typedef struct rlt_nearest {
    const char *word, *best;
    uint32_t distance;
} rlt_nearest;
RLT_API rlt_nearest rlt_nearest_to(const char *word);
RLT_API void rlt_nearest_try(rlt_nearest *n, const char *candidate);

/* Returns the start and length of the next item of a list, or NULL at the end. Items may be empty. *cursor
 * starts as the list. */
RLT_API const char *rlt_next_item(const char **cursor, char separator, size_t *length);

/* Returns true if `name` is one of `words`, whose last is NULL. */
RLT_API bool rlt_is_one_of(const char *name, const char *const *words);

/* Returns true if `word` stands in the first n bytes of `text`. O(n). */
RLT_API bool rlt_contains(const char *text, size_t n, const char *word);

/* Returns RLT_EUSAGE, with the name as its place, if two items of the list "NAME=VALUE,NAME=VALUE" have the
 * same name. NULL is an empty list. Ignores items without '=' and blanks in front of names. O(n^2). */
RLT_API int rlt_names_once(const char *list, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
