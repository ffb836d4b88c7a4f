/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ctrl-C: the running simulation stops and its partial results are written. A second Ctrl-C ends the program
 * at once. One simulation is watched at a time.
 *
 * Long work looks at the watch. What cannot, such as a call of another library, is ended by a thread after
 * 0.4 s: lines that were printed are passed on, and output files that are incomplete vanish.
 */
#ifndef RLT_TOOLS_BASE_INTERRUPT_H
#define RLT_TOOLS_BASE_INTERRUPT_H

#include <stdbool.h>

#include "sim/sim.h"
#include "sim/watch.h"

/* Catches SIGINT and SIGTERM, ignores SIGPIPE (a failed write reports it), and clears the flag of an arrived
 * signal: a program that goes on after it is not ended. Called before there are other threads. */
void rlt_interrupt_init(void);
/* Ends catching: a signal ends the program without a word. For a rank that has nothing left to say. */
void rlt_interrupt_release(void);
/* Sets the simulation to stop. Call with NULL before it is freed. */
void rlt_interrupt_watch(rlt_sim *sim);
/* The same as an interface of the library; notes are printed. */
rlt_watch rlt_interrupt_watcher(void);
/* Returns true if a signal has arrived. Loops over many simulations check it between two. */
bool rlt_interrupted(void);

#endif
