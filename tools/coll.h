/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `ringlet coll`: what the user's lists mean, and one simulated collective. */
#ifndef RLT_COLL_H
#define RLT_COLL_H

#include "collectives/executor.h"
#include "tools/links.h"
#include "tools/progress.h"
#include "tools/settings.h"

/* "1KiB,4MiB", "1KiB:1GiB:x2", "0:1MiB:+64KiB", and mixtures. *sizes is malloc'ed. RLT_EUSAGE. */
int rlt_parse_sizes(const char *text, uint64_t **sizes, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* "0-3,8,12-15" into ranks; *ranks is malloc'ed. RLT_EUSAGE. */
int rlt_parse_ranks(const char *text, uint32_t **ranks, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* n * n numbers of bytes separated by blanks; *counts is malloc'ed. Errors name line and column. */
int rlt_read_counts(const char *path, uint32_t n, uint64_t **counts, rlt_error *err) RLT_MUST_USE;

/* One collective, from plan to end. Zero-initialise; rlt_coll_end frees what is there. */
typedef struct rlt_coll_run {
    rlt_sim *sim;
    rlt_router *router;
    rlt_exec *exec;
    rlt_plan plan;
    bool planned;
    rlt_time time_ps, bound_ps;
    rlt_busiest busiest;
    rlt_busiest over;                            /* a link over capacity under alpha-beta; RLT_NONE: none */
    uint64_t expected_messages, rows_done, rows; /* for progress */
} rlt_coll_run;

typedef struct rlt_coll_how {
    const rlt_setup *setup;
    const rlt_algorithm *algorithm; /* NULL: chosen */
    bool check;                     /* run the symbolic checker first */
    rlt_time series_ps;
    rlt_progress *progress;
    uint64_t rows_done, rows; /* of the whole table, for progress */
} rlt_coll_how;

/* Plans only: tells whether the algorithm can do the request (RLT_EUNSUPPORTED, RLT_ETOPOLOGY). */
int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req,
                  rlt_error *err) RLT_MUST_USE;
/* Simulates the plan and checks the accounts and the bound. */
int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;
void rlt_coll_end(rlt_coll_run *run);

#endif
