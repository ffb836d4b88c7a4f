/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Background traffic: message flows through the executor that also carries the program. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

enum { WINDOW = 2 };
/* time without progress after which the program is checked for a stall */
static const rlt_time rest_ps = RLT_S;

typedef struct flow {
    rlt_group group;
    uint32_t leaving; /* messages still leaving the source */
    bool held;        /* a message is due, but the window is full */
    rlt_background_result result;
} flow;

/* A message under way. The executor borrows its plan, so its address stays fixed. */
typedef struct sent {
    rlt_plan plan;
    uint32_t flow;
    struct sent *next; /* next free one */
    struct sent *made; /* the one allocated before */
} sent;

struct rlt__background {
    rlt_replay *replay;
    rlt_exec_client client;
    flow *flows;
    sent *free_sent, *all_sent;
    uint32_t n;
    uint64_t sent, sent_bytes, arrived_bytes;
    int issue;
    bool ceased;
    /* Time at which the program last moved, and its progress by then. */
    rlt_time moved_ps;
    uint64_t done, messages, delivered;
};

static sent *new_sent(rlt__background *b)
{
    sent *m = b->free_sent;
    if (m) {
        b->free_sent = m->next;
        return m;
    }
    if ((m = calloc(1, sizeof *m))) {
        m->made = b->all_sent;
        b->all_sent = m;
    }
    return m;
}

/* Returns true if a timed operation is running or a rank has not begun yet. */
static bool works(const rlt_replay *r)
{
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        if (r->ranks[i].start_ps < 0)
            return true;
    for (uint32_t i = 0; i < r->program->n_ops; i++)
        if (r->ops[i].start_ps >= 0 && r->ops[i].end_ps < 0 && r->program->ops[i].kind <= RLT_OP_DELAY)
            return true;
    return false;
}

static bool changes_to_come(const rlt_replay *r)
{
    for (uint32_t i = 0; i < r->options.n_link_events; i++)
        if (rlt_sim_pending(r->sim, r->link_events[i]))
            return true;
    return false;
}

/* Returns true if the program can still move. Looks closer only after a second without progress. */
static bool may_move(rlt__background *b)
{
    rlt_replay *r = b->replay;
    const rlt_net *net = rlt_exec_net(r->exec);
    rlt_time now = rlt_sim_now(r->sim);
    uint64_t messages = net->messages - b->sent, delivered = net->bytes_delivered - b->arrived_bytes;
    uint64_t in = net->bytes_offered + net->bytes_replicated,
             out = net->bytes_delivered + net->bytes_absorbed;
    char stuck[8] = "";
    if (r->done != b->done || messages != b->messages || delivered != b->delivered || now == 0) {
        b->done = r->done;
        b->messages = messages;
        b->delivered = delivered;
        b->moved_ps = now;
        return true;
    }
    if (now - b->moved_ps < rest_ps)
        return true;
    rlt_net_waits(net, stuck, sizeof stuck);
    bool carries = in - out > b->sent_bytes - b->arrived_bytes && !stuck[0];
    if (carries || works(r) || changes_to_come(r)) {
        b->moved_ps = now;
        return true;
    }
    return false;
}

static void issue(rlt__background *b, uint32_t i)
{
    rlt_replay *r = b->replay;
    flow *f = &b->flows[i];
    uint64_t bytes = r->options.background[i].bytes;
    rlt_coll_request req = rlt_group_request(&f->group, RLT_SEND_RECV, bytes);
    rlt_error e = {0};
    sent *m = new_sent(b);
    req.endpoint = &r->options.endpoint;
    if (!m || rlt_plan_create(NULL, &req, &m->plan, &e) < 0) {
        if (!m)
            rlt_nomem(&e);
        rlt__replay_fail(r, &e);
        return;
    }
    m->flow = i;
    f->leaving++;
    b->sent++;
    b->sent_bytes += bytes;
    uint32_t id = rlt_exec_add(r->exec, &m->plan, &b->client, (uint64_t)(uintptr_t)m, RLT_EXEC_EAGER);
    if (id != RLT_NONE)
        rlt_exec_arrive_all(r->exec, id);
}

/* Returns when the next message is due after one at `now`. */
static rlt_time next_due(const rlt_background *o, rlt_time now)
{
    rlt_time then = rlt_time_add(now, rlt_transfer_time(o->bytes, o->rate_Bps)), turn = o->on_ps + o->off_ps;
    return o->off_ps && then % turn >= o->on_ps ? rlt_time_add(then - then % turn, turn) : then;
}

static void on_issue(void *ctx, uint64_t payload)
{
    rlt__background *b = ctx;
    rlt_replay *r = b->replay;
    flow *f = &b->flows[payload];
    b->ceased = b->ceased || !may_move(b);
    if (b->ceased || r->done == r->program->n_ops)
        return;
    f->held = f->leaving == WINDOW;
    if (f->held)
        return;
    issue(b, (uint32_t)payload);
    rlt_time then = next_due(&r->options.background[payload], rlt_sim_now(r->sim));
    if (then < RLT_TIME_MAX)
        rlt_sim_at(r->sim, then, RLT_START, b->issue, payload);
}

/* A member is done. The source (member 0) leaves room in the window for a message that is held. */
static void on_member_done(void *ctx, uint64_t cookie, uint32_t member)
{
    rlt__background *b = ctx;
    uint32_t i = ((const sent *)(uintptr_t)cookie)->flow;
    flow *f = &b->flows[i];
    if (member != 0)
        return;
    f->leaving--;
    if (f->held)
        rlt_sim_at(b->replay->sim, rlt_sim_now(b->replay->sim), RLT_START, b->issue, i);
    f->held = false;
}

static void on_done(void *ctx, uint64_t cookie)
{
    rlt__background *b = ctx;
    sent *m = (sent *)(uintptr_t)cookie;
    flow *f = &b->flows[m->flow];
    uint64_t bytes = b->replay->options.background[m->flow].bytes;
    rlt_plan_free(&m->plan);
    m->plan = (rlt_plan){0};
    m->next = b->free_sent;
    b->free_sent = m;
    f->result.messages++;
    f->result.bytes += bytes;
    b->arrived_bytes += bytes;
}

static int open_flow(rlt_replay *r, uint32_t i, rlt_error *err)
{
    const rlt_background *o = &r->options.background[i];
    const uint32_t ranks[2] = {o->src, o->dst};
    char where[48];
    snprintf(where, sizeof where, "background flow %u", i);
    if (o->src >= r->placement.n || o->dst >= r->placement.n || o->src == o->dst || !o->rate_Bps ||
        !o->bytes || o->on_ps < 0 || o->off_ps < 0 || (o->off_ps && !o->on_ps))
        return rlt_fail(err, RLT_ERANGE, where,
                        "from rank %u to rank %u: expected two different ranks below %u, a rate "
                        "and a size above 0, and off only with on",
                        o->src, o->dst, r->placement.n);
    return rlt_group_create(r->options.topology, &r->placement, ranks, 2, &r->background->flows[i].group,
                            err);
}

int rlt__replay_background(rlt_replay *r, rlt_error *err)
{
    uint32_t n = r->options.n_background;
    int rc = 0;
    if (!n)
        return 0;
    if (!r->exec)
        return rlt_fail(err, RLT_EUSAGE, "background traffic", "needs a simulated network");
    rlt__background *b = r->background = calloc(1, sizeof *b);
    if (!b || !(b->flows = calloc(n, sizeof *b->flows)))
        return rlt_nomem(err);
    b->replay = r;
    b->n = n;
    b->client = (rlt_exec_client){.ctx = b, .member_done = on_member_done, .done = on_done};
    rc = rlt_sim_register(r->sim, b, &(rlt_handler_entry){on_issue, &b->issue}, 1, err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = open_flow(r, i, err);
        if (!rc)
            rlt_sim_at(r->sim, 0, RLT_START, b->issue, i);
    }
    return rc;
}

void rlt__background_over(rlt_replay *r)
{
    rlt_sim_stop(r->sim);
}

void rlt__background_settle(rlt_replay *r)
{
    const rlt__background *b = r->background;
    rlt_net *net = rlt_exec_net(r->exec);
    uint64_t in = net->bytes_offered + net->bytes_replicated,
             out = net->bytes_delivered + net->bytes_absorbed;
    uint64_t own = b->sent_bytes - b->arrived_bytes, left = in > out ? in - out : 0;
    net->bytes_abandoned = left < own ? left : own;
}

rlt_background_result rlt_replay_background(const rlt_replay *r, uint32_t i)
{
    return r->background->flows[i].result;
}

void rlt__background_free(rlt_replay *r)
{
    rlt__background *b = r->background;
    if (!b)
        return;
    for (uint32_t i = 0; b->flows && i < b->n; i++)
        rlt_group_free(&b->flows[i].group);
    while (b->all_sent) {
        sent *m = b->all_sent;
        b->all_sent = m->made;
        if (m->plan.algorithm)
            rlt_plan_free(&m->plan);
        free(m);
    }
    free(b->flows);
    free(b);
}
