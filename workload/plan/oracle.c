/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge: one iteration, simulated. */
#include <stdlib.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/plan/plan.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

static int replay(const rlt_program *p, const rlt_replay_options *o, const rlt_watch *watch,
                  rlt_time *time_ps, rlt_error *err)
{
    rlt_replay *r = NULL;
    int rc = rlt_replay_create(p, o, &r, err);
    if (!rc) {
        rlt_watch_running(watch, rlt_replay_sim(r));
        rc = rlt_replay_run(r, err);
        rlt_watch_running(watch, NULL);
        *time_ps = rlt_replay_time(r);
    }
    rlt_replay_free(r);
    return rc;
}

/* Gives each stage the speed of its slowest rank. */
static int slow_stages(const rlt_training *t, rlt_replay_options *o, double **speeds, rlt_error *err)
{
    *speeds = malloc(((size_t)rlt_training_ranks(t) + 1) * sizeof **speeds);
    if (!*speeds)
        return rlt_nomem(err);
    rlt_folded_speeds(t, RLT_FOLD_STAGES, o->rank_compute_scale, *speeds);
    o->rank_compute_scale = *speeds;
    return 0;
}

int rlt_layout_simulate(const rlt_training *t, const rlt_replay_options *how, bool folded, rlt_timing *alone,
                        const rlt_watch *watch, rlt_time *time_ps, rlt_error *err)
{
    rlt_replay_options o = *how;
    rlt_placement stages = {0};
    rlt_program *program = NULL;
    rlt_timing *own = NULL;
    if (folded && !alone) {
        int made = rlt_timing_alone(how, &own, err);
        if (made)
            return made;
        alone = own;
    }
    double *speeds = NULL;
    rlt_watch_running(watch, folded ? rlt_timing_alone_sim(alone) : NULL);
    int rc = folded ? rlt_training_fold(t, RLT_FOLD_STAGES, how, alone, &program, &stages, err)
                    : rlt_training_program(t, &program, err);
    rlt_watch_running(watch, NULL);
    o.no_bounds = true;
    if (folded)
        o.placement = &stages;
    if (!rc && folded && o.rank_compute_scale)
        rc = slow_stages(t, &o, &speeds, err);
    if (!rc)
        rc = replay(program, &o, watch, time_ps, err);
    rlt_program_free(program);
    rlt_placement_free(&stages);
    rlt_timing_free(own);
    free(speeds);
    return rc;
}
