/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program. Operations end in class RLT_COMPLETE and start in class RLT_START: at one instant every end
 * comes before any start. A resource therefore always takes the earliest-built operation that is ready at
 * that instant, whatever the order of events.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

rlt_replay_options rlt_replay_options_default(void)
{
    rlt_replay_options o = {0};
    o.routing = RLT_ROUTE_DMODK;
    o.model = &rlt_net_flow;
    o.endpoint = rlt_endpoint_default();
    o.host_scale = o.compute_scale = o.network_scale = o.overlap_slowdown = 1;
    o.until_ps = RLT_TIME_MAX;
    return o;
}

/* Accounts */

static void account(rank_state *rk, rlt_time now)
{
    rlt_time dt = now - rk->since_ps;
    int state = rk->active[RANK_COMPUTE] ? RANK_COMPUTE
                : rk->active[RANK_COMM]  ? RANK_COMM
                : rk->active[RANK_HOST]  ? RANK_HOST
                                         : RANK_IDLE;
    rk->spent_ps[state] += dt;
    if (rk->active[RANK_COMM])
        rk->comm_ps += dt;
    rk->since_ps = now;
}

int rlt__replay_state(const rlt_op *op)
{
    switch (op->kind) {
    case RLT_OP_COMPUTE:
        return RANK_COMPUTE;
    case RLT_OP_MEMORY:
        return op->purpose == RLT_FOR_OFFLOAD ? RANK_COMM : RANK_COMPUTE;
    case RLT_OP_HOST:
        return RANK_HOST;
    case RLT_OP_DELAY:
        return op->purpose == RLT_FOR_UNKNOWN ? RANK_IDLE : RANK_COMM;
    default:
        return RANK_COMM;
    }
}

/* Returns true for kernels that share multiprocessors and memory with compute. Messages between two ranks
 * are moved by copy engines or by few blocks of threads. */
static bool takes_shares(const rlt_op *op)
{
    return op->kind == RLT_OP_COLLECTIVE || (op->kind == RLT_OP_DELAY && op->purpose != RLT_FOR_UNKNOWN);
}

static void enter_state(rlt_replay *r, const rlt_op *op, int by)
{
    rank_state *rk = &r->ranks[op->rank];
    int state = rlt__replay_state(op);
    account(rk, rlt_sim_now(r->sim));
    if (state == RANK_IDLE)
        return;
    rk->active[state] += (uint32_t)by;
    if (!takes_shares(op))
        return;
    rk->shared += (uint32_t)by;
    if (r->overlap && rk->shared == (by > 0))
        rlt__overlap_change(r, op->rank, by > 0);
}

static rlt_time scaled(rlt_time d, double scale)
{
    if (scale == 1.0 || d <= 0)
        return d;
    double t = (double)d / scale + 0.5;
    return t >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

/* Returns the speed of operations of a kind, the same for all ranks. */
static double speed_of(const rlt_replay_options *o, rlt_op_kind kind)
{
    return kind == RLT_OP_DELAY        ? 1
           : kind >= RLT_OP_COLLECTIVE ? o->network_scale
           : kind == RLT_OP_HOST       ? o->host_scale
                                       : o->compute_scale;
}

static bool computes(rlt_op_kind kind)
{
    return kind != RLT_OP_DELAY && kind != RLT_OP_HOST && kind < RLT_OP_COLLECTIVE;
}

rlt_time rlt_replay_scaled(const rlt_replay_options *o, rlt_op_kind kind, double own, rlt_time duration_ps)
{
    return scaled(duration_ps, speed_of(o, kind) * (computes(kind) ? own : 1));
}

rlt_time rlt__replay_duration(const rlt_replay *r, const rlt_op *op)
{
    const rlt_replay_options *o = &r->options;
    double scale = speed_of(o, op->kind);
    if (op->kind == RLT_OP_HOST)
        scale *= o->rank_host_scale ? o->rank_host_scale[op->rank] : 1;
    else if (computes(op->kind))
        scale *= o->rank_compute_scale ? o->rank_compute_scale[op->rank] : 1;
    if (op->kind != RLT_OP_DELAY)
        scale /= rlt__replay_noise(r, op);
    return scaled(op->duration_ps, scale);
}

/* Resources: each has a binary heap of ready operations. */

typedef struct readiness {
    const op_state *ops;
    bool by_arrival;
} readiness;

static bool goes_first(const readiness *r, const uint32_t *a, const uint32_t *b)
{
    if (r->by_arrival && r->ops[*a].ready_ps != r->ops[*b].ready_ps)
        return r->ops[*a].ready_ps < r->ops[*b].ready_ps;
    return *a < *b;
}

RLT_HEAP(ready, uint32_t, readiness, goes_first)

static int heap_push(const rlt_replay *r, resource_state *res, uint32_t op)
{
    rlt_error ignored;
    if (rlt_grow(&res->heap, &res->capacity, sizeof *res->heap, (uint64_t)res->n + 1, RLT_MAX_OPS,
                 "ready operations", &ignored) < 0)
        return RLT_ENOMEM;
    ready_push(&(readiness){r->ops, res->by_arrival}, res->heap, &res->n, op);
    return 0;
}

static uint32_t heap_pop(const rlt_replay *r, resource_state *res)
{
    return ready_pop(&(readiness){r->ops, res->by_arrival}, res->heap, &res->n);
}

static void dispatch_later(rlt_replay *r, uint32_t resource)
{
    resource_state *res = &r->resources[resource];
    if (res->dispatching || res->running != RLT_NONE || !res->n)
        return;
    res->dispatching = true;
    rlt_sim_at(r->sim, rlt_sim_now(r->sim), RLT_START, r->on_dispatch, resource);
}

static void make_ready(rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    rlt_time now = rlt_sim_now(r->sim);
    r->ops[index].ready_ps = now;
    if (op->resource == RLT_NONE) {
        rlt_sim_at(r->sim, now, RLT_START, r->on_start, index);
        return;
    }
    if (heap_push(r, &r->resources[op->resource], index) < 0) {
        rlt_sim_fail(r->sim, RLT_ENOMEM, "replay", "out of memory");
        return;
    }
    dispatch_later(r, op->resource);
}

/* Ends of operations */

void rlt__replay_end_op(rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    op_state *st = &r->ops[index];
    rlt_time now = rlt_sim_now(r->sim);
    if (r->overlap && rlt__replay_state(op) == RANK_COMPUTE)
        rlt__overlap_end(r, index);
    enter_state(r, op, -1);
    if (op->kind < RLT_OP_COLLECTIVE && rlt__replay_state(op) == RANK_COMM)
        r->ranks[op->rank].transfer_ps += now - st->start_ps;
    st->end_ps = now;
    r->done++;
    r->end_ps = now;
    r->ranks[op->rank].end_ps = now;
    r->step_end_ps[op->step] = now;
    if (op->resource != RLT_NONE) {
        resource_state *res = &r->resources[op->resource];
        res->running = RLT_NONE;
        res->last = index;
        dispatch_later(r, op->resource);
    }
    if (r->done == r->program->n_ops)
        rlt__replay_over(r);
    for (uint32_t i = r->fan_first[index]; i < r->fan_first[index + 1]; i++) {
        op_state *next = &r->ops[r->fan[i]];
        if (--next->missing == 0) {
            next->cause = index;
            make_ready(r, r->fan[i]);
        }
    }
}

static void on_end(void *ctx, uint64_t payload)
{
    rlt__replay_end_op(ctx, (uint32_t)payload);
}

/* Starts of operations */

static void start_op(rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    r->ops[index].start_ps = rlt_sim_now(r->sim);
    enter_state(r, op, 1);
    if (op->kind >= RLT_OP_COLLECTIVE) {
        if (op->comm != RLT_NONE)
            rlt__replay_arrive(r, op);
        return;
    }
    rlt_time takes = rlt__replay_duration(r, op);
    if (r->overlap && rlt__replay_state(op) == RANK_COMPUTE)
        rlt__overlap_begin(r, index, takes, r->ranks[op->rank].shared > 0);
    else
        rlt_sim_at(r->sim, rlt_time_add(rlt_sim_now(r->sim), takes), RLT_COMPLETE, r->on_end, index);
}

static void on_start(void *ctx, uint64_t payload)
{
    start_op(ctx, (uint32_t)payload);
}

static void on_dispatch(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    resource_state *res = &r->resources[payload];
    res->dispatching = false;
    if (res->running != RLT_NONE || !res->n)
        return;
    uint32_t index = heap_pop(r, res);
    if (r->ops[index].ready_ps < rlt_sim_now(r->sim))
        r->ops[index].cause = res->last;
    res->running = index;
    start_op(r, index);
}

static void on_rank_start(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    const rlt_program *p = r->program;
    rank_state *rk = &r->ranks[payload];
    rk->start_ps = rk->end_ps = rk->since_ps = rlt_sim_now(r->sim);
    for (uint32_t i = p->rank_first[payload]; i < p->rank_first[payload + 1]; i++)
        if (--r->ops[i].missing == 0)
            make_ready(r, i);
}

/* Life */

static int build_fan(rlt_replay *r)
{
    const rlt_program *p = r->program;
    r->fan_first = calloc((size_t)p->n_ops + 2, sizeof *r->fan_first);
    r->fan = malloc(((size_t)p->n_deps + 1) * sizeof *r->fan);
    if (!r->fan_first || !r->fan)
        return RLT_ENOMEM;
    for (uint32_t i = 0; i < p->n_deps; i++)
        r->fan_first[p->deps[i] + 2]++;
    for (uint32_t i = 2; i < p->n_ops + 2; i++)
        r->fan_first[i] += r->fan_first[i - 1];
    for (uint32_t op = 0; op < p->n_ops; op++)
        for (uint32_t i = 0; i < p->ops[op].n_deps; i++)
            r->fan[r->fan_first[p->deps[p->ops[op].first_dep + i] + 1]++] = op;
    return 0;
}

static int allocate(rlt_replay *r)
{
    const rlt_program *p = r->program;
    r->ops = malloc(((size_t)p->n_ops + 1) * sizeof *r->ops);
    r->resources = calloc((size_t)p->n_resources + 1, sizeof *r->resources);
    r->ranks = calloc(p->n_ranks, sizeof *r->ranks);
    r->comms = calloc((size_t)p->n_comms + 1, sizeof *r->comms);
    r->groups = calloc((size_t)p->n_groups + 1, sizeof *r->groups);
    r->bounds = calloc((size_t)p->n_groups + 1, sizeof *r->bounds);
    r->step_end_ps = calloc((size_t)p->n_steps + 1, sizeof *r->step_end_ps);
    if (!r->ops || !r->resources || !r->ranks || !r->comms || !r->groups || !r->bounds || !r->step_end_ps)
        return RLT_ENOMEM;
    for (uint32_t i = 0; i < p->n_ops; i++)
        r->ops[i] = (op_state){
            .ready_ps = -1, .start_ps = -1, .end_ps = -1, .cause = RLT_NONE, .missing = p->ops[i].n_deps + 1};
    for (uint32_t i = 0; i < p->n_resources; i++) {
        r->resources[i].running = r->resources[i].last = RLT_NONE;
        r->resources[i].by_arrival = p->resources[i].kind == RLT_RES_ARRIVAL;
    }
    for (uint32_t i = 0; i < p->n_ranks; i++)
        r->ranks[i].start_ps = -1;
    for (uint32_t i = 0; i < p->n_comms; i++)
        r->comms[i] = (comm_state){
            .n = p->group_first[p->comms[i].group + 1] - p->group_first[p->comms[i].group],
            .exec_id = RLT_NONE,
            .next = RLT_NONE,
            .delivered_ps = -1,
            .result = {.first_arrival_ps = -1, .last_arrival_ps = -1, .end_ps = -1, .job = RLT_NONE}};
    return build_fan(r);
}

static int handlers(rlt_replay *r, rlt_error *err)
{
    const rlt_handler_entry own[] = {{on_rank_start, &r->on_rank_start},
                                     {on_start, &r->on_start},
                                     {on_end, &r->on_end},
                                     {on_dispatch, &r->on_dispatch}};
    int rc = rlt_sim_register(r->sim, r, own, sizeof own / sizeof *own, err);
    return rc ? rc : rlt__replay_comm_handlers(r, err);
}

static int open_network(rlt_replay *r, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    rlt_net_config cfg = {.sim = r->sim,
                          .endpoint = o->endpoint,
                          .bandwidth_scale = o->network_scale,
                          .latency_scale = 1 / o->network_scale,
                          .series_bin_ps = o->series_bin_ps,
                          .packet = o->packet,
                          .changes = rlt__replay_changes(o)};
    int rc = rlt_router_create(o->topology, &r->placement, o->routing, &r->router, err);
    if (rc < 0 || o->timing)
        return rc;
    cfg.router = r->router;
    if ((rc = rlt__replay_used(r, err)))
        return rc;
    cfg.fold = r->used.n_classes ? &r->used : NULL;
    rc = rlt_exec_create(o->model, &cfg, &r->exec, err);
    if (!rc && rlt__replay_reacts(o))
        rc = rlt__replay_fabric(r, err);
    return rc;
}

static int place(rlt_replay *r, rlt_error *err)
{
    const rlt_placement *given = r->options.placement;
    uint32_t n = r->program->n_ranks;
    if (!given) {
        r->own_placement = true;
        return rlt_placement_identity(r->options.topology, n, &r->placement, err);
    }
    if (given->n < n)
        return rlt_fail(err, RLT_ERANGE, "placement",
                        "the workload has %u ranks, but only %u are placed; the topology has %u accelerators",
                        n, given->n, rlt_topology_accelerators(r->options.topology));
    r->placement = *given;
    return 0;
}

int rlt_replay_create(const rlt_program *p, const rlt_replay_options *o, rlt_replay **out, rlt_error *err)
{
    rlt_replay *r = calloc(1, sizeof *r);
    int rc;
    if (!r)
        return rlt_nomem(err);
    r->program = p;
    r->options = *o;
    if ((rc = place(r, err)) < 0 || (rc = rlt_sim_create(&r->sim, err)) < 0)
        goto fail;
    if ((rc = allocate(r)) < 0) {
        rlt_nomem(err);
        goto fail;
    }
    if ((rc = handlers(r, err)) < 0 || (rc = open_network(r, err)) < 0 ||
        (rc = rlt__overlap_create(r, err)) < 0 || (rc = rlt__replay_faults(r, err)) < 0)
        goto fail;
    *out = r;
    return 0;
fail:
    rlt_replay_free(r);
    return rc;
}

int rlt_replay_run(rlt_replay *r, rlt_error *err)
{
    const rlt_program *p = r->program;
    if (r->ran)
        return rlt_fail(err, RLT_EUSAGE, "replay", "a replay runs once");
    r->ran = true;
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        rlt_time at = r->options.no_skew ? 0 : p->rank_start_ps[i];
        if (r->options.rank_delay_ps)
            at = rlt_time_add(at, r->options.rank_delay_ps[i]);
        rlt_sim_at(r->sim, at, RLT_START, r->on_rank_start, i);
    }
    int rc = rlt__replay_ended(r, rlt_sim_run(r->sim, r->options.until_ps, err), err);
    bool all = r->done == p->n_ops;
    for (uint32_t i = 0; i < p->n_ranks && !all; i++)
        if (r->ranks[i].start_ps >= 0) {
            account(&r->ranks[i], rlt_sim_now(r->sim));
            r->ranks[i].end_ps = rlt_sim_now(r->sim);
        }
    if (r->exec && rc != RLT_ENOMEM)
        rlt_net_settle(rlt_exec_net(r->exec));
    if (rc < 0 || all)
        return rc;
    if (r->options.until_ps < RLT_TIME_MAX && rlt_sim_now(r->sim) <= r->options.until_ps &&
        rlt_sim_more(r->sim))
        return rlt_fail(err, RLT_ECANCELLED, "replay", "stopped at the time limit");
    return rlt__replay_stall(r, err);
}

void rlt_replay_free(rlt_replay *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->resources && i < r->program->n_resources; i++)
        free(r->resources[i].heap);
    for (uint32_t i = 0; r->groups && i < r->program->n_groups; i++)
        rlt_group_free(&r->groups[i]);
    rlt__replay_free_plans(r);
    rlt_fabric_free(r->fabric);
    rlt_exec_free(r->exec);
    rlt_net_fold_free(&r->used);
    rlt_router_free(r->router);
    rlt__replay_faults_free(r);
    rlt__overlap_free(r);
    rlt_sim_free(r->sim);
    if (r->own_placement)
        rlt_placement_free(&r->placement);
    free(r->ops);
    free(r->fan_first);
    free(r->fan);
    free(r->resources);
    free(r->ranks);
    free(r->comms);
    free(r->groups);
    free(r->bounds);
    free(r->lanes);
    free(r->step_end_ps);
    free(r);
}
