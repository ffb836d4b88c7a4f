/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disturbances of a replay: links that change at given times, and noise on durations. */
#include <stdlib.h>

#include "collectives/executor.h"
#include "net/network.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"

/* ---- links ---- */

static void on_link_event(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    const rlt_link_event *e = &r->options.link_events[payload];
    rlt_net_link_event(rlt_exec_net(r->exec), e->links, e->n, e->factor);
}

rlt_link_changes rlt__replay_changes(const rlt_replay_options *o)
{
    rlt_link_changes c = o->n_link_events ? RLT_LINKS_CHANGE : RLT_LINKS_STAY;
    for (uint32_t i = 0; i < o->n_link_events; i++)
        if (o->link_events[i].factor == 0)
            c = RLT_LINKS_FAIL;
    return c;
}

double rlt__replay_fastest(const rlt_replay_options *o)
{
    double most = 1;
    for (uint32_t i = 0; i < o->n_link_events; i++)
        most = o->link_events[i].factor > most ? o->link_events[i].factor : most;
    return most * o->network_scale;
}

/* Schedules the link events before all others, so that everything else at their instant sees the change. */
static int plan_links(rlt_replay *r, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    if (!o->n_link_events)
        return 0;
    if (!r->exec)
        return rlt_fail(err, RLT_EUSAGE, "link events", "need a simulated network");
    if (r->fabric && rlt__replay_changes(o) == RLT_LINKS_FAIL)
        return rlt_fail(err, RLT_EUNSUPPORTED, "link events",
                        "reactive protocols do not change routes: their links must not fail");
    int handler, rc = rlt_sim_register(r->sim, r, &(rlt_handler_entry){on_link_event, &handler}, 1, err);
    if (rc)
        return rc;
    r->link_events = calloc(o->n_link_events, sizeof *r->link_events);
    if (!r->link_events)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < o->n_link_events; i++)
        r->link_events[i] = rlt_sim_at(r->sim, o->link_events[i].when_ps, RLT_COMPLETE, handler, i);
    /* Bounds hold for the network as built, at its greatest speed. */
    return rlt_router_create(o->topology, &r->placement, o->routing, &r->bound_router, err);
}

/* ---- noise ---- */

static int make_noise(rlt_replay *r, bool host, double **out, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    size_t n = (size_t)r->program->n_ranks * r->program->n_steps;
    bool any = false;
    for (uint32_t i = 0; i < o->n_noise; i++)
        any |= rlt_noise_is_on(&o->noise[i], host) && !rlt_noise_by_operation(&o->noise[i]);
    if (!any)
        return 0;
    double *f = *out = malloc((n + 1) * sizeof *f);
    if (!f)
        return rlt_nomem(err);
    for (size_t i = 0; i < n; i++)
        f[i] = 1;
    rlt_noise_fill(o->noise, o->n_noise, host, o->seed, r->program->n_ranks, r->program->n_steps, f);
    return 0;
}

double rlt__replay_noise(const rlt_replay *r, const rlt_op *op)
{
    const double *f = op->kind == RLT_OP_HOST ? r->host_noise : r->compute_noise;
    double own = r->op_noise ? r->op_noise[op - r->program->ops] : 1;
    return f ? own * f[(size_t)op->rank * r->program->n_steps + op->step] : own;
}

int rlt__replay_faults(rlt_replay *r, rlt_error *err)
{
    int rc = plan_links(r, err);
    if (!rc)
        rc = make_noise(r, false, &r->compute_noise, err);
    if (!rc)
        rc = make_noise(r, true, &r->host_noise, err);
    if (!rc)
        rc = rlt__replay_noise_ops(r, err);
    return rc ? rc : rlt__replay_background(r, err);
}

int rlt__replay_ended(rlt_replay *r, int rc, rlt_error *err)
{
    if (!r->background)
        return rc;
    rlt__background_settle(r);
    if (rc != RLT_ECANCELLED || r->done != r->program->n_ops)
        return rc;
    if (err)
        *err = (rlt_error){0};
    return 0;
}

void rlt__replay_over(rlt_replay *r)
{
    rlt_net *net = r->exec ? rlt_exec_net(r->exec) : NULL;
    if (net && (net->model->can & RLT_NET_PACKETS))
        rlt_net_settle(net);
    for (uint32_t i = 0; r->link_events && i < r->options.n_link_events; i++)
        rlt_sim_cancel(r->sim, r->link_events[i]);
    if (r->background)
        rlt__background_over(r);
}

void rlt__replay_faults_free(rlt_replay *r)
{
    rlt__background_free(r);
    rlt_router_free(r->bound_router);
    free(r->link_events);
    free(r->compute_noise);
    free(r->host_noise);
    free(r->op_noise);
}
