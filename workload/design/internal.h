/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of workload/design. */
#ifndef RLT_WORKLOAD_DESIGN_INTERNAL_H
#define RLT_WORKLOAD_DESIGN_INTERNAL_H

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/design/design.h"

typedef struct rlt__design_groups {
    rlt_design_group of[3]; /* by rlt_design_over */
} rlt__design_groups;

int rlt__design_groups_of(const rlt_design_net *net, const rlt_design_work *w, rlt__design_groups *out,
                          rlt_error *err) RLT_MUST_USE;

/* Returns the error of a failed rlt_design_work_add. */
int rlt__design_no_layer(const rlt_error *err);

/* ---- collectives event by event (collective.c) ---- */

typedef struct rlt__design_place {
    const rlt_design_net *net;
    const rlt_design_work *work;
    const rlt_design_how *how;
    const double *bw;
    rlt__design_groups groups;
} rlt__design_place;

typedef struct rlt__design_coll {
    rlt_coll_kind kind;
    rlt_design_over over;
    uint64_t bytes;
    rlt_time start_ps;
} rlt__design_coll;

/* Links that two simultaneous collectives have in common. */
typedef enum rlt__design_meeting {
    RLT__DESIGN_APART,   /* none */
    RLT__DESIGN_ONE_NET, /* some; one folded network represents them */
    /* some, as part of a ring or fully connected dimension; no folded network represents them */
    RLT__DESIGN_MIXED,
} rlt__design_meeting;
rlt__design_meeting rlt__design_meet(const rlt__design_place *p, rlt_design_over a, rlt_design_over b);

/* Simulates one collective, or two that meet on one network. Gives the end of the last one and the bytes that
 * left an accelerator, by dimension. Adds to the count of events. */
int rlt__design_collectives(const rlt__design_place *p, const rlt__design_coll *colls, uint32_t n,
                            rlt_time *end_ps, double sent[RLT_MAX_DIMS], uint64_t *events,
                            rlt_error *err) RLT_MUST_USE;

#endif
