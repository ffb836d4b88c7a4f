/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point of `coll`. */
#include "collectives/executor.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/coll/react.h"
#include "tools/coll/row.h"
#include "tools/coll/single.h"
#include "tools/sweep/point.h"
#include "workload/experiment/figures.h"

enum { BUSBW = RLT_ROW_BOUND - 1, EVENTS = RLT_ROW_FACTOR + 1, MESSAGES = RLT_ROW_FACTOR + 2 };

/* What switches and servers did; nothing where none of them took part. */
static void take_protocol(rlt_outcome *o, const rlt_react_run *run)
{
    rlt_value fallback = rlt_react_fallback(run->results, run->tenants);
    rlt_outcome_integer(o, RLT_FIG_RETRANSMISSIONS, (int64_t)run->result.retransmissions);
    if (!fallback.absent)
        rlt_outcome_real(o, RLT_FIG_FALLBACK, fallback.real);
    if (run->node != RLT_NONE) {
        rlt_outcome_integer(o, RLT_FIG_PEAK, run->peak);
        rlt_outcome_real(o, RLT_FIG_MEAN, run->mean);
    }
    if (run->servers)
        rlt_outcome_integer(o, RLT_FIG_SERVER_BYTES, (int64_t)run->result.server_bytes);
}

static int take(void *ctx, const rlt_coll_single *one, rlt_error *err)
{
    rlt_point_job *e = ctx;
    rlt_outcome *o = &e->outcome;
    const rlt_value *v = one->row.values;
    rlt_outcome_integer(o, RLT_FIG_TIME, one->row.time_ps);
    rlt_outcome_integer(o, RLT_FIG_EVENTS, (int64_t)v[EVENTS].count);
    rlt_outcome_integer(o, RLT_FIG_MESSAGES, (int64_t)v[MESSAGES].count);
    if (!one->react.fabric)
        rlt_outcome_integer(o, RLT_FIG_BYTES, (int64_t)rlt_exec_net(one->run.exec)->bytes_offered);
    if (!v[BUSBW].absent)
        rlt_outcome_real(o, RLT_FIG_BUSBW, v[BUSBW].real);
    rlt_outcome_integer(o, RLT_FIG_BOUND, v[RLT_ROW_BOUND].time);
    if (!v[RLT_ROW_OF_PROTOCOLS + 1].absent)
        rlt_outcome_real(o, RLT_FIG_FAIRNESS, v[RLT_ROW_OF_PROTOCOLS + 1].real);
    if (one->react.fabric)
        take_protocol(o, &one->react);
    return rlt_link_figures_of(one->topology, one->usage, one->row.time_ps, e->study->links, o, err);
}

int rlt__point_coll(rlt_point_job *e, rlt_task *job, rlt_error *err)
{
    rlt_watch watch = rlt_task_watcher(job);
    return rlt_coll_single_run(&e->parsed, e->settings, &watch, take, e, err);
}
