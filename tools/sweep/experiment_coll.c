/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point of `coll`. */
#include "collectives/executor.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/coll/row.h"
#include "tools/coll/single.h"
#include "tools/output/output.h"
#include "tools/sweep/experiment.h"
#include "tools/sweep/experiment_links.h"
#include "tools/sweep/study/figures.h"

enum { BUSBW = RLT_ROW_BOUND - 1, EVENTS = RLT_ROW_FACTOR + 1, MESSAGES = RLT_ROW_FACTOR + 2 };

static int take(void *ctx, const rlt_coll_single *one, rlt_error *err)
{
    rlt_experiment *e = ctx;
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
    return rlt__experiment_links(e, one->topology, one->usage, one->row.time_ps, o, err);
}

int rlt__experiment_coll(rlt_experiment *e, rlt_task *job, rlt_error *err)
{
    rlt_watch watch = rlt_task_watcher(job);
    return rlt_coll_single_run(&e->parsed, e->settings, &watch, take, e, err);
}
