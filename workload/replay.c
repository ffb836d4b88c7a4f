/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run of a program. Operations end in class RLT_COMPLETE and start in class RLT_START: at one instant
 * everything that ends has ended before anything starts, so a resource always takes the earliest-built of the
 * operations ready at that instant, whatever the order of events.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/bound.h"
#include "sim/mem.h"
#include "workload/replay_internal.h"

rlt_replay_options rlt_replay_options_default(void)
{
    rlt_replay_options o = {0};
    o.routing = RLT_ROUTE_DMODK;
    o.model = &rlt_net_flow;
    o.endpoint = rlt_endpoint_default();
    o.host_scale = o.compute_scale = o.network_scale = 1;
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

static int state_of(uint8_t kind)
{
    switch (kind) {
    case RLT_OP_COMPUTE:
    case RLT_OP_MEMORY:
        return RANK_COMPUTE;
    case RLT_OP_HOST:
        return RANK_HOST;
    case RLT_OP_DELAY:
        return RANK_IDLE;
    default:
        return RANK_COMM;
    }
}

static void enter_state(rlt_replay *r, const rlt_op *op, int by)
{
    rank_state *rk = &r->ranks[op->rank];
    int state = state_of(op->kind);
    account(rk, rlt_sim_now(r->sim));
    if (state != RANK_IDLE)
        rk->active[state] += (uint32_t)by;
}

static rlt_time scaled(rlt_time d, double scale)
{
    if (scale == 1.0 || d <= 0)
        return d;
    double t = (double)d / scale + 0.5;
    return t >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

static rlt_time duration_of(const rlt_replay *r, const rlt_op *op)
{
    const rlt_replay_options *o = &r->options;
    double scale = 1;
    if (op->kind >= RLT_OP_COLLECTIVE)
        scale = o->network_scale;
    else if (op->kind == RLT_OP_HOST)
        scale = o->host_scale * (o->rank_host_scale ? o->rank_host_scale[op->rank] : 1);
    else if (op->kind != RLT_OP_DELAY)
        scale = o->compute_scale * (o->rank_compute_scale ? o->rank_compute_scale[op->rank] : 1);
    if (op->kind != RLT_OP_DELAY)
        scale /= rlt__replay_noise(r, op);
    return scaled(op->duration_ps, scale);
}

/* Resources: a binary heap of ready operations each. */

static int heap_push(resource_state *res, uint32_t op)
{
    rlt_error ignored;
    if (rlt_grow(&res->heap, &res->capacity, sizeof *res->heap, (uint64_t)res->n + 1, RLT_MAX_OPS,
                 "ready operations", &ignored) < 0)
        return RLT_ENOMEM;
    uint32_t i = res->n++;
    for (; i && res->heap[(i - 1) / 2] > op; i = (i - 1) / 2)
        res->heap[i] = res->heap[(i - 1) / 2];
    res->heap[i] = op;
    return 0;
}

static uint32_t heap_pop(resource_state *res)
{
    uint32_t top = res->heap[0], last = res->heap[--res->n], i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= res->n)
            break;
        if (child + 1 < res->n && res->heap[child + 1] < res->heap[child])
            child++;
        if (res->heap[child] >= last)
            break;
        res->heap[i] = res->heap[child];
        i = child;
    }
    if (res->n)
        res->heap[i] = last;
    return top;
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
    if (heap_push(&r->resources[op->resource], index) < 0) {
        rlt_sim_fail(r->sim, RLT_ENOMEM, "replay", "out of memory");
        return;
    }
    dispatch_later(r, op->resource);
}

/* Ends of operations */

static void end_op(rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    op_state *st = &r->ops[index];
    rlt_time now = rlt_sim_now(r->sim);
    enter_state(r, op, -1);
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
    end_op(ctx, (uint32_t)payload);
}

/* Communication */

static int group_of(rlt_replay *r, uint32_t g, rlt_error *err)
{
    const rlt_program *p = r->program;
    rlt_group *group = &r->groups[g];
    if (group->n)
        return 0;
    return rlt_group_create(r->options.topology, &r->placement, p->group_ranks + p->group_first[g],
                            p->group_first[g + 1] - p->group_first[g], group, err);
}

static int request_of(rlt_replay *r, const rlt_comm *comm, rlt_coll_request *req, rlt_error *err)
{
    int rc = group_of(r, comm->group, err);
    if (rc < 0)
        return rc;
    *req = rlt_group_request(&r->groups[comm->group], comm->kind, comm->bytes);
    req->root = comm->root;
    req->counts = comm->counts;
    req->channels = r->options.channels;
    req->chunks = r->options.chunks;
    req->window = r->options.window;
    req->directions = r->options.directions;
    req->endpoint = &r->options.endpoint;
    req->servers = r->options.servers;
    rlt_request_patterns(req, r->options.patterns);
    return 0;
}

void rlt__replay_fail(rlt_replay *r, const rlt_error *e)
{
    rlt_sim_fail(r->sim, e->code, e->where, "%s", e->what);
}

/* Enters a communication by a protocol or an algorithm (NULL, NULL: the one chosen). */
static int enter(rlt_replay *r, uint32_t index, const rlt_coll_request *req, const rlt_algorithm *algorithm,
                 const rlt_reacting *reacting, rlt_error *err)
{
    comm_state *cs = &r->comms[index];
    if (reacting && req->bytes > 0 && req->n > 1)
        return rlt__replay_enter(r, index, reacting, req, err);
    int rc = rlt_plan_create(algorithm, req, &cs->plan, err);
    if (rc < 0)
        return rc;
    cs->result.algorithm = cs->plan.algorithm->name;
    cs->exec_id = rlt_exec_add(r->exec, &cs->plan, &r->exec_client, index,
                               req->kind == RLT_SEND_RECV ? RLT_EXEC_EAGER : 0);
    return 0;
}

/* By the last rule that applies and can: 0; none applies: 1; else why the first of them cannot. */
static int enter_by_rule(rlt_replay *r, uint32_t index, const rlt_coll_request *req, rlt_error *err)
{
    int rc = 1;
    for (uint32_t i = r->options.n_rules; i-- > 0;) {
        const rlt_algorithm_rule *rule = &r->options.rules[i];
        rlt_error why = {0};
        if (rule->kind != req->kind || (rule->members && rule->members != req->n) ||
            req->bytes < rule->from_bytes)
            continue;
        int failed = enter(r, index, req, rule->algorithm, rule->reacting, &why);
        if (failed == 0)
            return 0;
        if (rc == 1 || (failed != RLT_EUNSUPPORTED && failed != RLT_ETOPOLOGY))
            rc = rlt_fail(err, failed, why.where, "%s", why.what);
        if (failed != RLT_EUNSUPPORTED && failed != RLT_ETOPOLOGY)
            return rc;
    }
    return rc;
}

/* Enters a communication by what the options say. */
static int open_comm(rlt_replay *r, uint32_t index, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    const rlt_program *p = r->program;
    const rlt_comm *comm = &p->comms[index];
    comm_state *cs = &r->comms[index];
    rlt_coll_request req;
    if (comm->timed) {
        cs->plan.req.kind = comm->kind;
        cs->plan.req.n = p->group_first[comm->group + 1] - p->group_first[comm->group];
        cs->result.algorithm = "recorded";
        return 0;
    }
    int rc = request_of(r, comm, &req, err);
    if (rc < 0)
        return rc;
    if (o->timing) {
        cs->plan.req = req;
        cs->result.algorithm = o->timing->name;
        return 0;
    }
    const rlt_algorithm *a = o->algorithm[comm->kind];
    const rlt_reacting *reacting = o->reacting[comm->kind];
    rc = enter_by_rule(r, index, &req, err);
    if (rc == 1)
        rc = enter(r, index, &req, a && (a->kinds >> comm->kind & 1) ? a : NULL, reacting, err);
    if ((rc == RLT_EUNSUPPORTED || (rc == RLT_ETOPOLOGY && reacting)) && (a || reacting) &&
        o->algorithm_where_able)
        rc = enter(r, index, &req, NULL, NULL, err);
    return rc;
}

void rlt__replay_end_member(rlt_replay *r, uint32_t index, uint32_t member)
{
    const rlt_comm *comm = &r->program->comms[index];
    uint32_t op = r->program->comm_ops[comm->first_op + member];
    comm_state *cs = &r->comms[index];
    rank_state *rk = &r->ranks[r->program->ops[op].rank];
    rlt_time now = rlt_sim_now(r->sim), begun = cs->result.last_arrival_ps, own = r->ops[op].start_ps;
    if (begun < own)
        begun = own; /* a receive posted after its message left */
    rk->wait_ps += begun - own;
    rk->transfer_ps += now - begun;
    if (++cs->ended == cs->plan.req.n)
        cs->result.end_ps = now;
    end_op(r, op);
}

static void on_member_done(void *ctx, uint64_t cookie, uint32_t member)
{
    rlt__replay_end_member(ctx, (uint32_t)cookie, member);
}

static void on_comm_done(void *ctx, uint64_t cookie)
{
    rlt_replay *r = ctx;
    comm_state *cs = &r->comms[cookie];
    rlt_bound bound;
    rlt_error e = {0};
    if (rlt_plan_bound(&cs->plan, rlt__replay_built(r), rlt__replay_fastest(&r->options),
                       1 / r->options.network_scale, &bound, &e) < 0)
        rlt__replay_fail(r, &e);
    else
        cs->result.bound_ps = rlt_bound_under(&bound, r->options.model);
    rlt_plan_free(&cs->plan);
}

/* Under a timing mode: the duration is over. Of a message, the receive may be posted only later. */
static void on_comm_end(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    const rlt_comm *comm = &r->program->comms[payload];
    uint32_t n = r->comms[payload].plan.req.n;
    r->comms[payload].delivered = true;
    for (uint32_t m = 0; m < n; m++) {
        const op_state *st = &r->ops[r->program->comm_ops[comm->first_op + m]];
        if (st->start_ps >= 0 && st->end_ps < 0)
            rlt__replay_end_member(r, (uint32_t)payload, m);
    }
}

static void on_timed_end(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    const rlt_op *op = &r->program->ops[payload];
    rlt__replay_end_member(r, op->comm, op->member);
}

/* The last member is there: each takes the time that the recording tells. */
static void start_recorded(rlt_replay *r, const rlt_comm *comm)
{
    uint32_t n = r->comms[comm - r->program->comms].plan.req.n;
    for (uint32_t m = 0; m < n; m++) {
        uint32_t op = r->program->comm_ops[comm->first_op + m];
        rlt_time end = rlt_time_add(rlt_sim_now(r->sim), duration_of(r, &r->program->ops[op]));
        rlt_sim_at(r->sim, end, RLT_COMPLETE, r->on_timed_end, op);
    }
}

static void start_timed(rlt_replay *r, uint32_t index, uint32_t member)
{
    comm_state *cs = &r->comms[index];
    bool message = cs->plan.req.kind == RLT_SEND_RECV;
    rlt_time duration = 0;
    rlt_error e = {0};
    if (message ? member != 0 && !cs->delivered : cs->arrived < cs->plan.req.n)
        return;
    if (!cs->delivered && r->options.timing->duration(r->options.timing, &cs->plan.req, &duration, &e) < 0) {
        rlt__replay_fail(r, &e);
        return;
    }
    rlt_sim_at(r->sim, rlt_time_add(rlt_sim_now(r->sim), duration), RLT_COMPLETE, r->on_comm_end, index);
}

static void open_named(rlt_replay *r, uint32_t index, uint32_t name)
{
    rlt_error e = {0};
    if (open_comm(r, index, &e) == 0)
        return;
    rlt_error_prefix(&e, rlt_program_string(r->program, name));
    rlt__replay_fail(r, &e);
}

/* A member is there. */
static void join(rlt_replay *r, uint32_t index, uint32_t member)
{
    const comm_state *cs = &r->comms[index];
    if (cs->result.job != RLT_NONE)
        rlt_fabric_arrive(r->fabric, cs->result.job, member);
    else if (!cs->waits && cs->exec_id != RLT_NONE)
        rlt_exec_arrive(r->exec, cs->exec_id, member);
}

static void arrive(rlt_replay *r, const rlt_op *op)
{
    const rlt_comm *comm = &r->program->comms[op->comm];
    comm_state *cs = &r->comms[op->comm];
    rlt_time now = rlt_sim_now(r->sim);
    bool eager = comm->kind == RLT_SEND_RECV && !comm->timed;
    if (cs->arrived == 0) {
        cs->result.first_arrival_ps = now;
        open_named(r, op->comm, op->name);
    }
    cs->arrived++;
    /* A message begins when it is sent. A collective begins when its last member arrives; of several that
     * arrive at one instant the lowest is named: the order of events must not show. */
    bool begins =
        eager ? op->member == 0 : now > cs->result.last_arrival_ps || op->member < cs->result.last_member;
    if (begins)
        cs->result.last_member = op->member;
    if (begins || !eager)
        cs->result.last_arrival_ps = now;
    if (comm->timed) {
        if (cs->arrived == cs->plan.req.n)
            start_recorded(r, comm);
    } else if (r->options.timing)
        start_timed(r, op->comm, op->member);
    else
        join(r, op->comm, op->member);
}

void rlt__replay_reopen(rlt_replay *r, uint32_t index)
{
    const rlt_comm *comm = &r->program->comms[index];
    const uint32_t *ops = &r->program->comm_ops[comm->first_op];
    r->comms[index].waits = false;
    open_named(r, index, r->program->ops[ops[0]].name);
    for (uint32_t m = 0; m < r->comms[index].plan.req.n; m++)
        if (r->ops[ops[m]].start_ps >= 0)
            join(r, index, m);
}

/* Starts of operations */

static void start_op(rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    r->ops[index].start_ps = rlt_sim_now(r->sim);
    enter_state(r, op, 1);
    if (state_of(op->kind) == RANK_COMM) {
        if (op->comm != RLT_NONE)
            arrive(r, op);
        return;
    }
    rlt_sim_at(r->sim, rlt_time_add(rlt_sim_now(r->sim), duration_of(r, op)), RLT_COMPLETE, r->on_end, index);
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
    uint32_t index = heap_pop(res);
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
    r->step_end_ps = calloc((size_t)p->n_steps + 1, sizeof *r->step_end_ps);
    if (!r->ops || !r->resources || !r->ranks || !r->comms || !r->groups || !r->step_end_ps)
        return RLT_ENOMEM;
    for (uint32_t i = 0; i < p->n_ops; i++)
        r->ops[i] = (op_state){
            .ready_ps = -1, .start_ps = -1, .end_ps = -1, .cause = RLT_NONE, .missing = p->ops[i].n_deps + 1};
    for (uint32_t i = 0; i < p->n_resources; i++)
        r->resources[i].running = r->resources[i].last = RLT_NONE;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        r->ranks[i].start_ps = -1;
    for (uint32_t i = 0; i < p->n_comms; i++)
        r->comms[i].exec_id = r->comms[i].next = RLT_NONE;
    for (uint32_t i = 0; i < p->n_comms; i++)
        r->comms[i].result =
            (rlt_comm_result){.first_arrival_ps = -1, .last_arrival_ps = -1, .end_ps = -1, .job = RLT_NONE};
    return build_fan(r);
}

static int handlers(rlt_replay *r, rlt_error *err)
{
    int rc;
    if ((rc = r->on_rank_start = rlt_sim_handler(r->sim, on_rank_start, r)) < 0 ||
        (rc = r->on_start = rlt_sim_handler(r->sim, on_start, r)) < 0 ||
        (rc = r->on_end = rlt_sim_handler(r->sim, on_end, r)) < 0 ||
        (rc = r->on_dispatch = rlt_sim_handler(r->sim, on_dispatch, r)) < 0 ||
        (rc = r->on_comm_end = rlt_sim_handler(r->sim, on_comm_end, r)) < 0 ||
        (rc = r->on_timed_end = rlt_sim_handler(r->sim, on_timed_end, r)) < 0)
        return rlt_fail(err, rc, "replay", "too many event handlers in one simulation");
    return 0;
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
    r->exec_client = (rlt_exec_client){.ctx = r, .member_done = on_member_done, .done = on_comm_done};
    if ((rc = place(r, err)) < 0 || (rc = rlt_sim_create(&r->sim, err)) < 0)
        goto fail;
    if ((rc = allocate(r)) < 0) {
        rlt_nomem(err);
        goto fail;
    }
    if ((rc = handlers(r, err)) < 0 || (rc = open_network(r, err)) < 0 ||
        (rc = rlt__replay_faults(r, err)) < 0)
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
    int rc = rlt_sim_run(r->sim, r->options.until_ps, err);
    bool all = r->done == p->n_ops;
    for (uint32_t i = 0; i < p->n_ranks && !all; i++)
        if (r->ranks[i].start_ps >= 0) {
            account(&r->ranks[i], rlt_sim_now(r->sim));
            r->ranks[i].end_ps = rlt_sim_now(r->sim);
        }
    if (r->exec)
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
    for (uint32_t i = 0; r->comms && i < r->program->n_comms; i++)
        if (r->comms[i].plan.algorithm)
            rlt_plan_free(&r->comms[i].plan);
    rlt_fabric_free(r->fabric);
    rlt_exec_free(r->exec);
    rlt_router_free(r->router);
    rlt__replay_faults_free(r);
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
    free(r->lanes);
    free(r->step_end_ps);
    free(r);
}
