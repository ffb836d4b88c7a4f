/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates: a pass over the operations in the order in which they started. */
#include "workload/replay/whatif/whatif.h"

#include <stdlib.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"

typedef enum reading { LOW, MIDDLE, HIGH } reading;

typedef struct started {
    rlt_time start_ps, end_ps;
    uint32_t op;
} started;

struct rlt_what_if {
    const rlt_replay *r;
    const rlt_program *p;
    const rlt_certificate *c;
    rlt_time launch_ps;
    started *order;
    uint32_t n;
    /* in the estimate at hand */
    rlt_time *start_ps;   /* by operation */
    uint32_t *last;       /* by resource: the operation that started last */
    rlt_time *arrived_ps; /* by communication: the last arrival; messages: the sending */
};

typedef struct change {
    rlt_part part;
    reading how;
    double speed;
} change;

static int by_start(const void *a, const void *b)
{
    const started *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    if (x->end_ps != y->end_ps)
        return x->end_ps < y->end_ps ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

int rlt_what_if_create(const rlt_replay *r, const rlt_program *p, const rlt_certificate *c,
                       rlt_time launch_ps, rlt_what_if **out, rlt_error *err)
{
    rlt_what_if *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w)
        return rlt_nomem(err);
    *w = (rlt_what_if){.r = r, .p = p, .c = c && c->by_op ? c : NULL, .launch_ps = launch_ps};
    w->order = malloc(((size_t)p->n_ops + 1) * sizeof *w->order);
    w->start_ps = calloc((size_t)p->n_ops + 1, sizeof *w->start_ps);
    w->last = malloc(((size_t)p->n_resources + 1) * sizeof *w->last);
    w->arrived_ps = malloc(((size_t)p->n_comms + 1) * sizeof *w->arrived_ps);
    if (!w->order || !w->start_ps || !w->last || !w->arrived_ps) {
        rlt_what_if_free(w);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        rlt_op_result o = rlt_replay_op(r, i);
        if (o.end_ps >= 0)
            w->order[w->n++] = (started){o.start_ps, o.end_ps, i};
    }
    qsort(w->order, w->n, sizeof *w->order, by_start);
    *out = w;
    return 0;
}

void rlt_what_if_free(rlt_what_if *w)
{
    if (!w)
        return;
    free(w->order);
    free(w->start_ps);
    free(w->last);
    free(w->arrived_ps);
    free(w);
}

static rlt_time least(rlt_time a, rlt_time b)
{
    return a < b ? a : b;
}

static rlt_time hidden(const rlt_what_if *w, uint32_t op)
{
    return w->c ? w->c->by_op[op] : 0;
}

/* Returns b for an operation without other members that took d. */
static rlt_time own_part(const rlt_what_if *w, uint32_t op, const change *by, rlt_time d)
{
    const rlt_op *o = &w->p->ops[op];
    bool gap = o->kind == RLT_OP_DELAY && o->purpose == RLT_FOR_UNKNOWN;
    bool works = o->kind == RLT_OP_COMPUTE || o->kind == RLT_OP_MEMORY;
    if (by->part == RLT_PART_NETWORK && o->kind == RLT_OP_DELAY && !gap) /* a folded collective */
        return by->how == LOW ? 0 : by->how == MIDDLE ? d - least(d, w->launch_ps) : d;
    if (by->part == RLT_PART_NETWORK)
        return by->how == HIGH ? least(d, hidden(w, op)) : 0;
    if (gap)
        return by->how == HIGH ? d : 0;
    if (by->part == RLT_PART_HOST)
        return o->kind == RLT_OP_HOST ? d : 0;
    return !works ? 0 : by->how == LOW ? d - least(d, hidden(w, op)) : d;
}

/* Returns b for a transfer that took d. */
static rlt_time transfer_part(const rlt_what_if *w, const rlt_comm *c, const change *by, rlt_time d)
{
    if (by->part != RLT_PART_NETWORK || d <= 0)
        return 0;
    if (c->timed)
        return by->how == LOW ? 0 : d;
    if (by->how == LOW)
        return least(d, rlt_replay_comm(w->r, (uint32_t)(c - w->p->comms)).bound_ps);
    return by->how == HIGH || c->kind == RLT_SEND_RECV ? d : d - least(d, w->launch_ps);
}

static rlt_time at_speed(rlt_time d, rlt_time b, double speed)
{
    if (speed == 1 || b <= 0)
        return d;
    double faster = (double)b / speed + 0.5;
    return faster >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : rlt_time_add(d - b, (rlt_time)faster);
}

/* Returns when an operation ends that has started. If it is a communication, all members have started. */
static rlt_time end_of(const rlt_what_if *w, uint32_t index, const change *by)
{
    const rlt_op *op = &w->p->ops[index];
    rlt_op_result o = rlt_replay_op(w->r, index);
    rlt_time start = w->start_ps[index], d = o.end_ps - o.start_ps;
    if (op->comm == RLT_NONE)
        return rlt_time_add(start, at_speed(d, own_part(w, index, by, d), by->speed));
    const rlt_comm *c = &w->p->comms[op->comm];
    rlt_comm_result res = rlt_replay_comm(w->r, op->comm);
    rlt_time end = c->kind == RLT_SEND_RECV && op->member == 1 ? least(o.end_ps, res.end_ps) : o.end_ps;
    d = end - res.last_arrival_ps;
    end = rlt_time_add(w->arrived_ps[op->comm], at_speed(d, transfer_part(w, c, by, d), by->speed));
    return end > start ? end : start; /* a receive may be posted after its message arrived */
}

static rlt_time latest(rlt_time a, rlt_time b)
{
    return a > b ? a : b;
}

/* Starts an operation: at its rank's start, after its dependencies, when its resource is free. All of these
 * come earlier in the order, and so do the members of the communications among them. */
static void start(rlt_what_if *w, uint32_t index, const change *by)
{
    const rlt_op *op = &w->p->ops[index];
    rlt_time at = rlt_replay_rank(w->r, op->rank).start_ps;
    for (uint32_t k = 0; k < op->n_deps; k++)
        at = latest(at, end_of(w, w->p->deps[op->first_dep + k], by));
    if (op->resource != RLT_NONE && w->last[op->resource] != RLT_NONE)
        at = latest(at, end_of(w, w->last[op->resource], by));
    if (op->resource != RLT_NONE)
        w->last[op->resource] = index;
    w->start_ps[index] = at;
    if (op->comm == RLT_NONE)
        return;
    const rlt_comm *c = &w->p->comms[op->comm];
    if (c->timed || c->kind != RLT_SEND_RECV || op->member == 0)
        w->arrived_ps[op->comm] = latest(w->arrived_ps[op->comm], at);
}

static rlt_time estimate(rlt_what_if *w, rlt_part part, reading how, double speed)
{
    const change by = {part, how, speed};
    rlt_time end = 0;
    for (uint32_t i = 0; i < w->p->n_resources; i++)
        w->last[i] = RLT_NONE;
    for (uint32_t i = 0; i < w->p->n_comms; i++)
        w->arrived_ps[i] = 0;
    for (uint32_t i = 0; i < w->n; i++)
        start(w, w->order[i].op, &by);
    for (uint32_t i = 0; i < w->n; i++)
        end = latest(end, end_of(w, w->order[i].op, &by));
    return end;
}

rlt_estimate rlt_what_if_estimate(rlt_what_if *w, rlt_part part, double speed)
{
    rlt_time low = estimate(w, part, LOW, speed), middle = estimate(w, part, MIDDLE, speed),
             high = estimate(w, part, HIGH, speed);
    return speed >= 1 ? (rlt_estimate){high, middle, low} : (rlt_estimate){low, middle, high};
}
