/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `ringlet coll`: what the user's lists mean, one simulated collective, and the table of all. */
#ifndef RLT_TOOLS_COLL_COLL_H
#define RLT_TOOLS_COLL_COLL_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/in_network/reactive.h"
#include "collectives/listed.h"
#include "net/links.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/pool.h"
#include "tools/output/report_options.h"
#include "workload/setup/settings.h"

/* "1KiB,4MiB", "1KiB:1GiB:x2", "0:1MiB:+64KiB", and mixtures. *sizes is malloc'ed. RLT_EUSAGE. */
int rlt_parse_sizes(const char *text, uint64_t **sizes, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* "100GB/s,200GB/s", "100GB/s:1TB/s:+100GB/s", likewise; `most` at most. Messages call them `option`. */
int rlt_parse_rates(const char *text, const char *option, uint32_t most, uint64_t **rates, uint32_t *n,
                    rlt_error *err) RLT_MUST_USE;
/* "2,8,32", "2:64:x2", likewise, for --workers. */
int rlt_parse_workers(const char *text, uint32_t most, uint64_t **workers, uint32_t *n,
                      rlt_error *err) RLT_MUST_USE;
/* "0-3,8,12-15" into ranks; *ranks is malloc'ed. RLT_EUSAGE. */
int rlt_parse_ranks(const char *text, uint32_t **ranks, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* rows * n numbers of bytes separated by blanks; *counts is malloc'ed. Errors name line and column. */
int rlt_read_counts(const char *path, uint32_t rows, uint32_t n, uint64_t **counts,
                    rlt_error *err) RLT_MUST_USE;

/* When one of several tenants' collectives ended. */
typedef struct rlt_coll_ended {
    rlt_time time_ps, bound_ps;
} rlt_coll_ended;

/* One collective, or those of several tenants at once, from plan to end. Zero-initialise; rlt_coll_end frees
 * what is there. */
typedef struct rlt_coll_run {
    rlt_sim *sim;
    rlt_router *router;
    rlt_exec *exec;
    rlt_plan plan;           /* of the first tenant */
    rlt_plan *others;        /* of the others */
    uint32_t planned;        /* tenants that have one */
    rlt_coll_ended *tenants; /* by tenant */
    rlt_fold fold;
    uint32_t simulated;         /* members: one of each class of the fold, or all */
    uint64_t bytes;             /* as asked for; the plan's are more where its blocks were made even */
    rlt_time time_ps, bound_ps; /* the longest of all tenants */
    rlt_busiest busiest;
    rlt_busiest over;           /* a link over capacity under alpha-beta; RLT_NONE: none */
    const rlt_watch *watch;     /* borrowed while it simulates */
    uint64_t expected_messages; /* for progress */
} rlt_coll_run;

typedef struct rlt_coll_how {
    const rlt_setup *setup;
    const rlt_algorithm *algorithm; /* NULL: chosen */
    bool check;                     /* run the symbolic checker first */
    uint32_t tenants;               /* collectives at once; 0: 1 */
    rlt_time straggler_ps;          /* the last rank begins so much later, and all wait for it */
    bool fold, verify_fold;         /* by symmetry; then also simulate all, and compare; of one tenant */
    rlt_time series_ps;
    const rlt_watch *watch; /* NULL: nobody looks on */
} rlt_coll_how;

/* Plans only: tells whether the algorithm can do the request (RLT_EUNSUPPORTED, RLT_ETOPOLOGY). `req` points
 * to the request of each tenant. */
int rlt_coll_plan(rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req,
                  rlt_error *err) RLT_MUST_USE;
/* Simulates the plan and checks the accounts and the bound. */
int rlt_coll_simulate(rlt_coll_run *run, const rlt_coll_how *how, rlt_error *err) RLT_MUST_USE;
void rlt_coll_end(rlt_coll_run *run);

/* The rows, for what they say together. Names are borrowed. */
typedef struct rlt_coll_point {
    rlt_coll_kind kind;
    const char *algorithm;
    uint64_t bytes;
    rlt_time time_ps, bound_ps;
    double bus_factor;
} rlt_coll_point;
typedef struct rlt_coll_points {
    rlt_coll_point *items;
    uint32_t n, capacity;
} rlt_coll_points;
int rlt_coll_note_point(rlt_coll_points *p, const rlt_coll_point *point, rlt_error *err) RLT_MUST_USE;
void rlt_coll_points_free(rlt_coll_points *p);
/* Where, between two neighbouring sizes, another algorithm becomes the fastest: as lines of comment, and as
 * "crossovers": [...]. */
void rlt_coll_put_crossings(FILE *out, const rlt_coll_points *p);
void rlt_coll_json_crossings(rlt_jw *w, const rlt_coll_points *p);
/* Time and bus bandwidth over size for each collective, one line an algorithm, the bound dashed: SVG. */
int rlt_coll_plot(const char *path, const char *title, const rlt_coll_points *p, rlt_error *err) RLT_MUST_USE;

/* What the command was asked for: each case by each algorithm is a row. */
enum { RLT_COLL_ALGORITHMS = 64 };
typedef struct rlt_coll_case {
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_coll_case;
typedef struct rlt_coll_ask {
    rlt_setup setup;
    const rlt_report_settings *report;
    rlt_time series_ps;
    rlt_group group, pair; /* pair: of send_recv; empty in a group of one */
    rlt_group *tenants;    /* of the group's ranks; NULL: it was not asked for tenants */
    uint32_t n_tenants;
    uint32_t root;    /* member */
    uint64_t *counts; /* of all_to_all; NULL: even */
    rlt_coll_case *cases;
    uint32_t n_cases, n_kinds, n_algorithms;
    const rlt_algorithm *algorithms[RLT_COLL_ALGORITHMS]; /* NULL: chosen */
    const rlt_reacting *reacting[RLT_COLL_ALGORITHMS];    /* in place of steps; NULL: steps */
    const rlt_listed *listed[RLT_COLL_ALGORITHMS];        /* of those that are plans from files */
    rlt_listed *plans;                                    /* owned */
    uint32_t n_plans;
    bool all_algorithms, check, fold, verify_fold, why;
    bool exact_workers;     /* the groups are of workers; servers apart are ranks beyond them */
    rlt_time straggler_ps;  /* how much later than the others the last worker of each job begins */
    uint32_t element;       /* bytes; 0: not said */
    uint32_t jobs;          /* threads */
    const char *plot;       /* file, or NULL */
    const char *collective; /* as the user wrote it */
} rlt_coll_ask;
/* The request of row i, borrowing from the ask; with tenants that of one of them. */
rlt_coll_request rlt_coll_request_of(const rlt_coll_ask *ask, uint32_t i, uint32_t tenant);
/* Simulates them all, on several threads, and writes the rows in order:
 * the same ones for any number of threads. */
int rlt_coll_table(const rlt_coll_ask *ask, const rlt_parsed *args, rlt_error *err) RLT_MUST_USE;

extern const rlt_command rlt_coll_arithmetic; /* ringlet coll arithmetic */

#endif
