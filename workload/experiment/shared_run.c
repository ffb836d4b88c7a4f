/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run with shared inputs, and its figures. */
#include "net/links.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/shared.h"
#include "workload/models/accelerator.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"

/* Lends a loaded run's workload data, beside the program, until the run ends. */
static void lend(const rlt_shared_work *work, rlt_run *r)
{
    r->jobs = work->stem.jobs;
    r->timing = work->stem.timing;
    if (!work->pinned.n)
        return;
    if (!r->setup.borrows_placement)
        rlt_placement_free(&r->setup.placement);
    r->setup.placement = work->pinned;
    r->setup.borrows_placement = true;
}

int rlt_shared_run(const rlt_shared_work *work, rlt_run *r, rlt_error *err)
{
    /* Cuts were found for shared workloads only; others would make this thread call igraph. */
    r->stem = work ? &work->stem : NULL;
    r->unbounded = !work;
    int rc = rlt_run_load(r, err);
    if (!rc && work)
        lend(work, r);
    if (!rc)
        rc = rlt_run_prepare(r, err);
    if (rc)
        return rc;
    rc = rlt_run_simulate(r, err);
    if (rlt_run_was_limited(r, rc))
        return 0;
    return rc ? rc : rlt_run_check(r, NULL, err);
}

void rlt_shared_run_end(const rlt_shared_work *work, rlt_run *r)
{
    if (work) {
        r->jobs = (rlt_jobs){0};
        r->timing = NULL;
    }
    rlt_run_close(r);
}

int rlt_run_figures(const rlt_run *r, rlt_figure_links links, rlt_outcome *o, rlt_error *err)
{
    rlt_rank_result k = rlt_replay_rank(r->replay, r->last_rank);
    const rlt_net *net = rlt_replay_net(r->replay);
    uint32_t n = rlt_replay_iterations(r->replay);
    rlt_time time = rlt_replay_time(r->replay);
    rlt_outcome_integer(o, RLT_FIG_TIME, time);
    if (n)
        rlt_outcome_integer(o, RLT_FIG_ITERATION, time / n);
    rlt_outcome_integer(o, RLT_FIG_COMPUTE, k.compute_ps);
    rlt_outcome_integer(o, RLT_FIG_COMM, k.exposed_comm_ps);
    rlt_outcome_integer(o, RLT_FIG_HOST, k.host_ps);
    rlt_outcome_integer(o, RLT_FIG_IDLE, k.idle_ps);
    static const rlt_figure of_cause[RLT_CAUSES] = {[RLT_CAUSE_BUBBLE] = RLT_FIG_BUBBLE,
                                                    [RLT_CAUSE_SKEW] = RLT_FIG_SKEW,
                                                    [RLT_CAUSE_WAIT] = RLT_FIG_WAIT,
                                                    [RLT_CAUSE_TP] = RLT_FIG_EXPOSED_TP,
                                                    [RLT_CAUSE_CP] = RLT_FIG_EXPOSED_CP,
                                                    [RLT_CAUSE_EP] = RLT_FIG_EXPOSED_EP,
                                                    [RLT_CAUSE_DP] = RLT_FIG_EXPOSED_DP,
                                                    [RLT_CAUSE_PP] = RLT_FIG_EXPOSED_PP,
                                                    [RLT_CAUSE_OFFLOAD] = RLT_FIG_EXPOSED_OFFLOAD,
                                                    [RLT_CAUSE_COMM] = RLT_FIG_EXPOSED_OTHER,
                                                    [RLT_CAUSE_ENDED] = RLT_FIG_ENDED};
    for (int c = 0; c < RLT_CAUSES; c++)
        if (of_cause[c])
            rlt_outcome_integer(o, of_cause[c], r->causes[r->last_rank].ps[c]);
    rlt_outcome_integer(o, RLT_FIG_EVENTS, (int64_t)rlt_sim_events(rlt_replay_sim(r->replay)));
    if (r->trains) {
        rlt_training_figures f = rlt_run_training_figures(r);
        rlt_outcome_integer(o, RLT_FIG_MEMORY, (int64_t)(f.memory_bytes + 0.5));
        rlt_outcome_real(o, RLT_FIG_MFU, f.utilization);
        rlt_outcome_real(o, RLT_FIG_TOKENS, f.tokens_per_s);
        o->assumed = f.grounds.basis == RLT_BASIS_ASSUMED;
        o->measured = !o->assumed;
        if (r->training.stack_auto)
            snprintf(o->stack, sizeof o->stack, "%s", r->training.stack);
    }
    if (!net)
        return 0;
    rlt_outcome_integer(o, RLT_FIG_MESSAGES, (int64_t)net->messages);
    rlt_outcome_integer(o, RLT_FIG_BYTES, (int64_t)net->bytes_offered);
    return rlt_link_figures_of(r->setup.topology, net->usage, rlt_run_end(r), links, o, err);
}
