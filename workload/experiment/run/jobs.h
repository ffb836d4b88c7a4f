/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several jobs on one network, and background traffic: what is asked for, and what is made of it. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_JOBS_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_JOBS_H

#include <stdio.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"

typedef struct rlt_job_settings {
    rlt_texts job, background;
    bool alone;
} rlt_job_settings;
extern const rlt_option rlt_job_options[]; /* offsets in rlt_job_settings */

/* The settings resolved. */
typedef struct rlt_jobs {
    uint32_t n;               /* jobs; 0: there is only the command's own */
    bool own;                 /* the first is the command's own */
    uint32_t *first_rank;     /* n + 1 */
    char **names;             /* of those that are not */
    double *overlap_slowdown; /* per rank */
    rlt_program **parts;      /* with --alone: the jobs' programs */
    rlt_time *alone_ps;       /* and when each ends alone; NULL: not known */
    rlt_background *background;
    uint32_t n_background;
    rlt_placement placement; /* of all ranks; its n is 0 where the setup's holds */
} rlt_jobs;

struct rlt_run;

/* Reads the other jobs and makes one program of all
 * (in place of the run's own); finds background traffic's ranks. */
int rlt_jobs_open(struct rlt_run *r, const rlt_read_options *o, rlt_error *err) RLT_MUST_USE;
/* Into options of a replay, which borrow. */
void rlt_jobs_options(const rlt_jobs *j, rlt_replay_options *o);
void rlt_jobs_free(rlt_jobs *j);
/* When the last rank of a job ended. */
rlt_time rlt_jobs_time(const struct rlt_run *r, uint32_t job);
/* With --alone: replays each job without the others and background traffic. */
int rlt_jobs_alone(struct rlt_run *r, rlt_error *err) RLT_MUST_USE;

#endif
