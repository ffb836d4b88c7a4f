/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Progress of long runs: a bar with the time left, on standard error. It appears only on a terminal and after
 * the first second. One bar at a time.
 */
#ifndef RLT_TOOLS_BASE_PROGRESS_H
#define RLT_TOOLS_BASE_PROGRESS_H

#include <stdint.h>

typedef struct rlt_progress {
    const char *label; /* borrowed */
    double began_s, drawn_s;
    int enabled;
} rlt_progress;

/* Shows no bar from here on. */
void rlt_progress_hush(void);
/* Starts the bar. `label` says what is going on, such as "replaying". */
void rlt_progress_start(rlt_progress *p, const char *label);
/* Updates the bar. total 0: unknown; then only `done`, if it is not 0, and the elapsed time are shown. */
void rlt_progress_update(rlt_progress *p, uint64_t done, uint64_t total);
/* Wipes the bar: at the end, and before a message is printed. Any thread may call it. */
void rlt_progress_clear(void);

/* Returns true if colour and bold may be used on the stream: a terminal, NO_COLOR unset, TERM not "dumb". fd
 * is 1 or 2. */
int rlt_may_colour(int fd);

#endif
