/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ctrl-C: the running simulation stops and its partial results are written. A second Ctrl-C ends the program
 * at once. One simulation is watched at a time.
 *
 * Long work looks at the watch. What cannot, such as a call of another library, is ended by a thread after
 * 0.4 s: lines that were printed are passed on, flushed rows are kept, other incomplete files vanish.
 */
#ifndef RLT_TOOLS_BASE_INTERRUPT_H
#define RLT_TOOLS_BASE_INTERRUPT_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/sim.h"
#include "sim/watch.h"

/* Catches SIGINT and SIGTERM, ignores SIGPIPE and SIGXFSZ (a failed write reports them), and clears the flag
 * of an arrived signal: a program that goes on after it is not ended. Called at the start, before other
 * threads are there. */
void rlt_interrupt_init(void);
/* Returns when the thread that ends long work holds no lock, for which a child of fork would wait for ever.
 * Call it right before fork. */
void rlt_interrupt_before_fork(void);
/* Ends catching: a signal ends the program without a word. For a rank that has nothing left to say. */
void rlt_interrupt_release(void);
/* Sets the simulation to stop. Call with NULL before it is freed. */
void rlt_interrupt_watch(rlt_sim *sim);
/* The same as an interface of the library; notes are printed. */
rlt_watch rlt_interrupt_watcher(void);
/* Returns true if a signal has arrived. Loops over many simulations check it between two. */
bool rlt_interrupted(void);
/* For work that ended early: results written from now on are partial (tools/base/file.h). Replaces the error.
 * Returns RLT_ECANCELLED. */
int rlt_interrupted_result(rlt_error *err);

#endif
