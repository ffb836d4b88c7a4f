/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run that has ended (or was stopped) did, beside what its replay tells: links, critical path. */
#ifndef RLT_WORKLOAD_EXPERIMENT_RUN_RESULT_H
#define RLT_WORKLOAD_EXPERIMENT_RUN_RESULT_H

#include "collectives/collective.h"
#include "net/links.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

/* All links folded into classes, most utilized first; `folded` false: every link its own. *classes malloc'ed;
 * none under a timing mode. */
int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n,
                  rlt_error *err) RLT_MUST_USE;
/* The instant at which the simulation ended: what utilization is relative to. */
rlt_time rlt_run_end(const rlt_run *r);

/* The critical path summed up. Times of its stretches by kind add up to the end of the run. */
typedef struct rlt_path_sum {
    rlt_path_item *items; /* as rlt_replay_critical_path gives them; freed by rlt_path_sum_free */
    uint32_t n;
    rlt_time total_ps, by_kind_ps[RLT_PATH_START + 1];
    rlt_time by_coll_ps[RLT_COLL_KINDS]; /* of the transfers */
    uint32_t by_coll[RLT_COLL_KINDS];    /* how many */
} rlt_path_sum;
int rlt_run_path(const rlt_run *r, rlt_path_sum *out, rlt_error *err) RLT_MUST_USE;
void rlt_path_sum_free(rlt_path_sum *p);

/* "transfer", "compute", ... */
const char *rlt_path_name(const rlt_run *r, rlt_path_kind kind);
/* One line: what share of the run is what, and the busiest link. */
int rlt_run_verdict(const rlt_run *r, char *buffer, size_t size, rlt_error *err) RLT_MUST_USE;

/* Recorded time over that of the run, which is as if without stragglers; 0: neither is known. */
double rlt_run_slowdown(const rlt_run *r);

/* Bandwidth that nccl-tests would print for a communication of this duration, bytes a second. */
double rlt_run_busbw(const rlt_run *r, uint32_t comm, rlt_time transfer_ps);
uint32_t rlt_run_comm_ranks(const rlt_run *r, uint32_t comm);

/* What a run that trains reaches: bytes of the fullest stage, model FLOPs over the peak, tokens (samples) a
 * second. */
typedef struct rlt_training_figures {
    double memory_bytes, utilization, tokens_per_s;
    uint32_t fullest;
} rlt_training_figures;
rlt_training_figures rlt_run_training_figures(const rlt_run *r);

#endif
