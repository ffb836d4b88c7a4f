/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ctrl-C: the running simulation stops and its partial results are written; a second one ends the program at
 * once. One simulation is watched at a time.
 */
#ifndef RLT_TOOLS_BASE_INTERRUPT_H
#define RLT_TOOLS_BASE_INTERRUPT_H

#include <stdbool.h>

#include "sim/sim.h"
#include "sim/watch.h"

/* At the start: SIGINT and SIGTERM are caught, SIGPIPE is ignored (writing tells). None has arrived yet. */
void rlt_interrupt_init(void);
/* The simulation to stop; NULL before it is freed. */
void rlt_interrupt_watch(rlt_sim *sim);
/* The same as the library asks for it; notes are printed. */
rlt_watch rlt_interrupt_watcher(void);
/* Has one arrived? Loops over many simulations ask this between two. */
bool rlt_interrupted(void);

#endif
