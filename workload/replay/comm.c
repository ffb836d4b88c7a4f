/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Communications of a replay: entered as the options say, begun by their members, and ended. */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

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
    req->endpoint = &r->options.endpoint;
    req->library = r->options.library;
    req->model = r->options.model;
    rlt_request_params(req, &r->options.params);
    return 0;
}

void rlt__replay_fail(rlt_replay *r, const rlt_error *e)
{
    rlt_sim_fail(r->sim, e->code, e->where, "%s", e->what);
}

rlt_plan *rlt__replay_plan(rlt_replay *r, comm_state *cs)
{
    if (cs->slot)
        return &cs->slot->plan;
    if ((cs->slot = r->spare))
        r->spare = cs->slot->next;
    else
        cs->slot = malloc(sizeof *cs->slot);
    if (!cs->slot)
        return NULL;
    cs->slot->plan = (rlt_plan){0};
    return &cs->slot->plan;
}

void rlt__replay_drop_plan(rlt_replay *r, comm_state *cs)
{
    if (!cs->slot)
        return;
    if (cs->slot->plan.algorithm)
        rlt_plan_free(&cs->slot->plan);
    cs->slot->next = r->spare;
    r->spare = cs->slot;
    cs->slot = NULL;
}

void rlt__replay_free_plans(rlt_replay *r)
{
    rlt__plan_slot *slot;
    for (uint32_t i = 0; r->comms && i < r->program->n_comms; i++)
        rlt__replay_drop_plan(r, &r->comms[i]);
    while ((slot = r->spare)) {
        r->spare = slot->next;
        free(slot);
    }
}

/* Enters a communication with a protocol or an algorithm. Both NULL: the choice picks an algorithm. */
static int enter(rlt_replay *r, uint32_t index, const rlt_coll_request *req, const rlt_algorithm *algorithm,
                 const rlt_reacting *reacting, rlt_error *err)
{
    comm_state *cs = &r->comms[index];
    if (reacting && req->bytes > 0 && req->n > 1)
        return rlt__replay_enter(r, index, reacting, req, err);
    rlt_plan *plan = rlt__replay_plan(r, cs);
    int rc = plan ? rlt_plan_create(algorithm, req, plan, err) : rlt_nomem(err);
    if (rc < 0)
        return rc;
    cs->result.algorithm = plan->algorithm->name;
    cs->exec_id =
        rlt_exec_add(r->exec, plan, &r->exec_client, index, req->kind == RLT_SEND_RECV ? RLT_EXEC_EAGER : 0);
    return 0;
}

/* Enters a communication by the last rule that applies and can carry it. Returns 0, or 1 if no rule applies,
 * or the error of the last applicable rule if none can. */
static int enter_by_rule(rlt_replay *r, uint32_t index, const rlt_coll_request *req, rlt_error *err)
{
    int rc = 1;
    rlt_error last = {0};
    for (uint32_t i = r->options.n_rules; i-- > 0;) {
        const rlt_algorithm_rule *rule = &r->options.rules[i];
        rlt_error why = {0};
        if (rule->kind != req->kind || (rule->members && rule->members != req->n) ||
            req->bytes < rule->from_bytes)
            continue;
        rlt_coll_request asked = *req;
        asked.library = rule->library ? rule->library : req->library;
        int failed = enter(r, index, &asked, rule->algorithm, rule->reacting, &why);
        if (failed == 0)
            return 0;
        if (failed != RLT_EUNSUPPORTED && failed != RLT_ETOPOLOGY)
            return rlt_fail(err, failed, why.where, "%s", why.what);
        if (rc == 1) {
            rc = failed;
            last = why;
        }
    }
    return rc == 1 ? rc : rlt_fail(err, rc, last.where, "%s", last.what);
}

/* Enters a communication as the options say. */
static int open_comm(rlt_replay *r, uint32_t index, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    const rlt_comm *comm = &r->program->comms[index];
    comm_state *cs = &r->comms[index];
    rlt_coll_request req;
    if (comm->timed) {
        cs->result.algorithm = "recorded";
        return 0;
    }
    int rc = request_of(r, comm, &req, err);
    if (rc < 0)
        return rc;
    if (o->timing) {
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
        begun = own; /* the receive was posted after its message left */
    rk->wait_ps += begun - own;
    rk->transfer_ps += now - begun;
    if (++cs->ended == cs->n)
        cs->result.end_ps = cs->delivered_ps >= 0 ? cs->delivered_ps : now;
    rlt__replay_end_op(r, op);
}

static void on_member_done(void *ctx, uint64_t cookie, uint32_t member)
{
    rlt__replay_end_member(ctx, (uint32_t)cookie, member);
}

/* The receive may be posted later; the network's time ends here. */
static void on_delivered(void *ctx, uint64_t cookie)
{
    rlt_replay *r = ctx;
    r->comms[cookie].delivered_ps = rlt_sim_now(r->sim);
}

/* Computes the bound of a communication that has ended. */
static int bound_of(rlt_replay *r, uint32_t index, rlt_time *out, rlt_error *err)
{
    const rlt_comm *comm = &r->program->comms[index];
    rlt__last_bound *last = comm->kind == RLT_SEND_RECV ? &r->bounds[comm->group] : NULL;
    rlt_bound bound;
    if (last && last->known && last->bytes == comm->bytes) {
        *out = last->bound_ps;
        return 0;
    }
    int rc = rlt_plan_bound(&r->comms[index].slot->plan, rlt__replay_built(r),
                            rlt__replay_fastest(&r->options), 1 / r->options.network_scale, &bound, err);
    if (rc < 0)
        return rc;
    *out = rlt_bound_under(&bound, r->options.model);
    if (last)
        *last = (rlt__last_bound){.bytes = comm->bytes, .bound_ps = *out, .known = true};
    return 0;
}

static void on_comm_done(void *ctx, uint64_t cookie)
{
    rlt_replay *r = ctx;
    comm_state *cs = &r->comms[cookie];
    rlt_error e = {0};
    if (!r->options.no_bounds && bound_of(r, (uint32_t)cookie, &cs->result.bound_ps, &e) < 0)
        rlt__replay_fail(r, &e);
    rlt__replay_drop_plan(r, cs);
}

/* Under a timing mode: the duration is over. The receive of a message may still be posted later. */
static void on_comm_end(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    const rlt_comm *comm = &r->program->comms[payload];
    uint32_t n = r->comms[payload].n;
    if (comm->kind == RLT_SEND_RECV && r->comms[payload].delivered_ps < 0)
        r->comms[payload].delivered_ps = rlt_sim_now(r->sim);
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

/* Starts a communication of recorded time: the last member has arrived, and each takes its recorded
 * duration. */
static void start_recorded(rlt_replay *r, const rlt_comm *comm)
{
    uint32_t n = r->comms[comm - r->program->comms].n;
    for (uint32_t m = 0; m < n; m++) {
        uint32_t op = r->program->comm_ops[comm->first_op + m];
        rlt_time end = rlt_time_add(rlt_sim_now(r->sim), rlt__replay_duration(r, &r->program->ops[op]));
        rlt_sim_at(r->sim, end, RLT_COMPLETE, r->on_timed_end, op);
    }
}

static void start_timed(rlt_replay *r, uint32_t index, uint32_t member)
{
    comm_state *cs = &r->comms[index];
    const rlt_comm *comm = &r->program->comms[index];
    bool message = comm->kind == RLT_SEND_RECV;
    rlt_coll_request req;
    rlt_time duration = 0;
    rlt_error e = {0};
    if (message ? member != 0 && cs->delivered_ps < 0 : cs->arrived < cs->n)
        return;
    if (cs->delivered_ps < 0 && (request_of(r, comm, &req, &e) < 0 ||
                                 r->options.timing->duration(r->options.timing, &req, &duration, &e) < 0)) {
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

/* Notes that a member has arrived. */
static void join(rlt_replay *r, uint32_t index, uint32_t member)
{
    const comm_state *cs = &r->comms[index];
    if (cs->result.job != RLT_NONE)
        rlt_fabric_arrive(r->fabric, cs->result.job, member);
    else if (!cs->waits && cs->exec_id != RLT_NONE)
        rlt_exec_arrive(r->exec, cs->exec_id, member);
}

void rlt__replay_arrive(rlt_replay *r, const rlt_op *op)
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
    /* A message begins when it is sent. A collective begins when its last member arrives. If several arrive
     * at one instant, the lowest is named, so that the order of events does not show. */
    bool begins =
        eager ? op->member == 0 : now > cs->result.last_arrival_ps || op->member < cs->result.last_member;
    if (begins)
        cs->result.last_member = op->member;
    if (begins || !eager)
        cs->result.last_arrival_ps = now;
    if (comm->timed) {
        if (cs->arrived == cs->n)
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
    for (uint32_t m = 0; m < r->comms[index].n; m++)
        if (r->ops[ops[m]].start_ps >= 0)
            join(r, index, m);
}

int rlt__replay_comm_handlers(rlt_replay *r, rlt_error *err)
{
    const rlt_handler_entry handlers[] = {{on_comm_end, &r->on_comm_end}, {on_timed_end, &r->on_timed_end}};
    r->exec_client = (rlt_exec_client){
        .ctx = r, .delivered = on_delivered, .member_done = on_member_done, .done = on_comm_done};
    return rlt_sim_register(r->sim, r, handlers, sizeof handlers / sizeof *handlers, err);
}
