/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compute beside communication. While a rank has a collective under way, waiting for peers included, its
 * device work advances at 1 / slowdown of full pace: kernels of both share multiprocessors and memory. The
 * remaining work of an operation is kept in whole picoseconds at full pace, rounded down at each change.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

struct rlt__overlap {
    double *slowdown;  /* by rank */
    uint32_t *running; /* by rank: its first device operation under way */
    struct work {
        rlt_event end;
        rlt_time left_ps, since_ps; /* left_ps: remaining work at full pace, as of since_ps */
        uint32_t next;
    } * work; /* by operation */
};

static double slowdown_of(const rlt_replay_options *o, uint32_t rank)
{
    return o->rank_overlap_slowdown ? o->rank_overlap_slowdown[rank] : o->overlap_slowdown;
}

int rlt__overlap_create(rlt_replay *r, rlt_error *err)
{
    const rlt_replay_options *options = &r->options;
    uint32_t n = r->program->n_ranks;
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        double slowdown = slowdown_of(options, i);
        if (slowdown < 1 || !(slowdown <= 1000))
            return rlt_fail(err, RLT_ERANGE, "overlap", "expected a slowdown from 1 to 1000");
        any |= slowdown > 1;
    }
    if (!any)
        return 0;
    struct rlt__overlap *o = calloc(1, sizeof *o);
    if (!(r->overlap = o))
        return rlt_nomem(err);
    o->slowdown = malloc(n * sizeof *o->slowdown);
    o->running = malloc(n * sizeof *o->running);
    o->work = calloc((size_t)r->program->n_ops + 1, sizeof *o->work);
    if (!o->slowdown || !o->running || !o->work)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        o->slowdown[i] = slowdown_of(options, i);
        o->running[i] = RLT_NONE;
    }
    return 0;
}

void rlt__overlap_free(rlt_replay *r)
{
    if (!r->overlap)
        return;
    free(r->overlap->slowdown);
    free(r->overlap->running);
    free(r->overlap->work);
    free(r->overlap);
}

static void plan_end(rlt_replay *r, uint32_t op, bool slow)
{
    struct work *w = &r->overlap->work[op];
    double slowdown = slow ? r->overlap->slowdown[r->program->ops[op].rank] : 1;
    double t = (double)w->left_ps * slowdown + 0.5;
    rlt_time takes = t < (double)RLT_TIME_MAX ? (rlt_time)t : RLT_TIME_MAX;
    w->since_ps = rlt_sim_now(r->sim);
    w->end = rlt_sim_at(r->sim, rlt_time_add(w->since_ps, takes), RLT_COMPLETE, r->on_end, op);
}

void rlt__overlap_begin(rlt_replay *r, uint32_t op, rlt_time duration_ps, bool slow)
{
    uint32_t rank = r->program->ops[op].rank;
    struct work *w = &r->overlap->work[op];
    w->left_ps = duration_ps;
    w->next = r->overlap->running[rank];
    r->overlap->running[rank] = op;
    plan_end(r, op, slow);
}

void rlt__overlap_end(rlt_replay *r, uint32_t op)
{
    uint32_t *at = &r->overlap->running[r->program->ops[op].rank];
    while (*at != op)
        at = &r->overlap->work[*at].next;
    *at = r->overlap->work[op].next;
}

void rlt__overlap_change(rlt_replay *r, uint32_t rank, bool slow)
{
    struct rlt__overlap *o = r->overlap;
    if (o->slowdown[rank] == 1)
        return;
    for (uint32_t op = o->running[rank]; op != RLT_NONE; op = o->work[op].next) {
        struct work *w = &o->work[op];
        rlt_time passed = rlt_sim_now(r->sim) - w->since_ps;
        rlt_time done =
            /* the pace was the other one until now */
            slow ? passed : (rlt_time)((double)passed / o->slowdown[rank]);
        if (!rlt_sim_cancel(r->sim, w->end))
            continue; /* ends at this instant */
        w->left_ps = done < w->left_ps ? w->left_ps - done : 0;
        plan_end(r, op, slow);
    }
}
