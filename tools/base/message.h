/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages on standard error ("ringlet: WHERE: WHAT", lower case, no full stop), and the exit status of each
 * kind of failure.
 */
#ifndef RLT_TOOLS_BASE_MESSAGE_H
#define RLT_TOOLS_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/words.h"

enum {
    RLT_EXIT_DONE = 0,
    RLT_EXIT_CHECK = 1,
    RLT_EXIT_USAGE = 2,
    RLT_EXIT_INPUT = 3,
    RLT_EXIT_STALL = 4,
    RLT_EXIT_IO = 5,
    RLT_EXIT_INTERRUPTED = 130,
};

/* Returns the exit status for a code of sim/base/error.h (0: done). */
int rlt_exit_status(int code);

/* Prints "ringlet: where: what". */
void rlt_say(const rlt_error *err);
/* For commands that go on after an error: prints the one already in `err`, if any, then keeps `why` there. */
void rlt_say_and_keep(rlt_error *err, const rlt_error *why);
/* Print "ringlet: warning: ..." and "ringlet: note: ...". */
void rlt_warn(const char *fmt, ...) RLT_PRINTF(1);
void rlt_note(const char *fmt, ...) RLT_PRINTF(1);

#endif
