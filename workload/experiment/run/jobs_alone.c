/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends of jobs: next to each other, and each of them alone. */
#include <stdlib.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

rlt_time rlt_jobs_time(const rlt_run *r, uint32_t job)
{
    rlt_time end = 0;
    if (!r->jobs.n)
        return rlt_replay_time(r->replay);
    for (uint32_t i = r->jobs.first_rank[job]; i < r->jobs.first_rank[job + 1]; i++) {
        rlt_time t = rlt_replay_rank(r->replay, i).end_ps;
        end = t > end ? t : end;
    }
    return end;
}

static int replay_alone(const rlt_run *r, uint32_t job, rlt_time *end_ps, rlt_error *err)
{
    const rlt_jobs *j = &r->jobs;
    uint32_t first = j->first_rank[job], n = j->first_rank[job + 1] - first;
    rlt_replay_options o = r->options;
    rlt_placement where = {.n = n,
                           .accelerator = j->placement.accelerator + first,
                           .nic = j->placement.nic ? j->placement.nic + first : NULL};
    rlt_replay *replay = NULL;
    o.placement = &where;
    o.background = NULL;
    o.n_background = 0;
    o.rank_host_scale = o.rank_host_scale ? o.rank_host_scale + first : NULL;
    o.rank_compute_scale = o.rank_compute_scale ? o.rank_compute_scale + first : NULL;
    o.rank_delay_ps = o.rank_delay_ps ? o.rank_delay_ps + first : NULL;
    o.rank_overlap_slowdown = o.rank_overlap_slowdown ? o.rank_overlap_slowdown + first : NULL;
    int rc = rlt_replay_create(j->parts[job], &o, &replay, err);
    if (!rc) {
        rlt_watch_running(r->watch, rlt_replay_sim(replay));
        rc = rlt_replay_run(replay, err);
        rlt_watch_running(r->watch, NULL);
        *end_ps = rlt_replay_time(replay);
    }
    rlt_replay_free(replay);
    return rc;
}

int rlt_jobs_alone(rlt_run *r, rlt_error *err)
{
    rlt_jobs *j = &r->jobs;
    int rc = 0;
    if (!j->parts)
        return 0;
    rlt_time *alone = calloc(j->n, sizeof *alone);
    if (!alone)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < j->n && !rc; i++)
        rc = replay_alone(r, i, &alone[i], err);
    if (rc)
        free(alone);
    else
        j->alone_ps = alone;
    return rc;
}
