/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workers of a search: threads of this process (--jobs), and ranks under mpirun. Each rank makes the whole
 * search; the questions of a round are divided among the ranks, and all get all answers. So the result is the
 * same on each rank, and for any number of ranks and threads. Rank 0 prints.
 */
#ifndef RLT_TOOLS_PLAN_WORKERS_H
#define RLT_TOOLS_PLAN_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "tools/base/progress.h"
#include "tools/plan/answers.h"
#include "workload/plan/plan.h"

typedef struct rlt_plan_workers {
    uint32_t threads, ranks, rank;
    bool told;            /* an error of some rank is known to all */
    atomic_flag *busy;    /* by thread's worker */
    rlt_answers *answers; /* borrowed; NULL: none are kept */
    rlt_layout_hooks hooks;
    rlt_watch watch;
    rlt_progress bar; /* label NULL: none is shown */
    char label[100];
} rlt_plan_workers;

/* Sets the number of workers. `jobs` 0: a thread for each processor, or one for each rank if there are
 * several. Close it in every case. */
int rlt_plan_workers_open(rlt_plan_workers *w, uint64_t jobs, rlt_error *err) RLT_MUST_USE;
/* Ends the ranks, too. */
void rlt_plan_workers_close(rlt_plan_workers *w);
/* Makes the ranks agree how they fared: returns the error of the lowest rank that has one. All ranks call it
 * at the same place, those with an error as soon as they have it. */
int rlt_plan_agree(rlt_plan_workers *w, int rc, rlt_error *err) RLT_MUST_USE;
/* Runs a search on `of`, with workers, and a bar unless it is quiet, until Ctrl-C. What it finds is the same
 * on all ranks. `answers`, if they are set, are those of this search alone. */
typedef int rlt_plan_search(void *of, const rlt_layout_search *how, rlt_error *err);
int rlt_plan_watched(rlt_plan_workers *w, bool quiet, const rlt_layout_search *how, rlt_plan_search *search,
                     void *of, rlt_error *err) RLT_MUST_USE;

#endif
