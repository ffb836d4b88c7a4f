/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the command says on standard error ("ringlet: WHERE: WHAT", lower case, no full stop), the exit status
 * of each kind of failure, and the nearest word to a mistyped one.
 */
#ifndef RLT_MESSAGE_H
#define RLT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

enum {
    RLT_EXIT_DONE = 0,
    RLT_EXIT_CHECK = 1,
    RLT_EXIT_USAGE = 2,
    RLT_EXIT_INPUT = 3,
    RLT_EXIT_STALL = 4,
    RLT_EXIT_IO = 5,
    RLT_EXIT_INTERRUPTED = 130,
};

/* The exit status for a code of sim/error.h (0: done). */
int rlt_exit_status(int code);

/* "ringlet: where: what". */
void rlt_say(const rlt_error *err);
/* For commands that go on after an error: the one already in err is said, `why` takes its place. */
void rlt_say_and_keep(rlt_error *err, const rlt_error *why);
/* "ringlet: warning: ..." and "ringlet: note: ...". */
void rlt_warn(const char *fmt, ...) RLT_PRINTF(1);
void rlt_note(const char *fmt, ...) RLT_PRINTF(1);

/* Running search for the candidate nearest to `word`; feed candidates, then read `best` (NULL: none is near
 * enough to be meant). Ties keep the first. */
typedef struct rlt_nearest {
    const char *word, *best;
    uint32_t distance;
} rlt_nearest;
rlt_nearest rlt_nearest_to(const char *word);
void rlt_nearest_try(rlt_nearest *n, const char *candidate);

/* Next item of a list separated by `separator`: its start and length, or NULL at the end. Items may be empty;
 * *cursor begins as the list. */
const char *rlt_next_item(const char **cursor, char separator, size_t *length);

#endif
