/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of a run that has ended or was stopped, beside those of its replay: links, critical path. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_RESULT_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_RESULT_H

#include "collectives/collective.h"
#include "net/links.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

/* Returns the links, most utilized first, folded into classes of identical ones; `folded` false: a class per
 * link. *classes is malloc'ed; empty under a timing mode. */
int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n,
                  rlt_error *err) RLT_MUST_USE;
/* Returns the end of the simulation. Utilization is relative to it. */
rlt_time rlt_run_end(const rlt_run *r);

/* Totals of the critical path. Times by kind add up to the end of the run. */
typedef struct rlt_path_sum {
    rlt_path_item *items; /* from rlt_replay_critical_path; freed by rlt_path_sum_free */
    uint32_t n;
    rlt_time total_ps, by_kind_ps[RLT_PATH_START + 1];
    rlt_time by_purpose_ps[RLT_PURPOSES]; /* transfers and offloading */
    /* transfers and their number by collective; folded ones are left out */
    rlt_time by_coll_ps[RLT_COLL_KINDS];
    uint32_t by_coll[RLT_COLL_KINDS];
} rlt_path_sum;
int rlt_run_path(const rlt_run *r, rlt_path_sum *out, rlt_error *err) RLT_MUST_USE;
void rlt_path_sum_free(rlt_path_sum *p);

/* Returns "transfer", "compute", ... */
const char *rlt_path_name(rlt_path_kind kind);
/* Writes one line: the shares of the run, and the busiest link. */
int rlt_run_verdict(const rlt_run *r, char *buffer, size_t size, rlt_error *err) RLT_MUST_USE;

/* Returns the slowdown by stragglers: recorded time over the time of a run with --ideal. 0 for other runs. */
double rlt_run_slowdown(const rlt_run *r);

/* Returns the bandwidth that nccl-tests would print for a communication of this duration, in bytes per
 * second. */
double rlt_run_busbw(const rlt_run *r, uint32_t comm, rlt_time transfer_ps);
uint32_t rlt_run_comm_ranks(const rlt_run *r, uint32_t comm);

/* Figures of a training: bytes of the fullest stage, model FLOPs over the peak, tokens (samples) per second,
 * and the 80 % interval of an iteration (0: not known). */
typedef struct rlt_training_figures {
    double memory_bytes, utilization, tokens_per_s;
    uint32_t fullest;
    rlt_grounds grounds;
    double iteration_low_s, iteration_high_s;
} rlt_training_figures;
rlt_training_figures rlt_run_training_figures(const rlt_run *r);

#endif
