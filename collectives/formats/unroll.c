/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits the steps of a plan into single operations. */
#include "collectives/formats/unroll.h"

#include <stdlib.h>

#include "collectives/check/matching.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { MAX_OPS = 1 << 24 };

/* A message: the sending step, and the next message for the same receiving step. */
typedef struct arrival {
    uint32_t place, step, next, op;
} arrival;

typedef struct unroller {
    const rlt_plan *plan;
    rlt_unrolled *u;
    rlt_error *err;
    uint32_t lanes, n_places;
    bool wait_all;
    uint32_t *begin;    /* index of each place's step 0, over all places */
    uint32_t *mail;     /* per step: head of its list of messages */
    arrival *arrivals;  /* per sending step: its message */
    uint32_t *done;     /* per step: the operation with whose end the step ends */
    uint32_t *send_ops; /* per step: the operation that sends */
} unroller;

static rlt_step step_of(const unroller *x, uint32_t p, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    x->plan->algorithm->step(x->plan, p / x->lanes, p % x->lanes, k, &s);
    return s;
}

static int new_op(unroller *x, uint8_t type, uint32_t p, uint32_t k, uint32_t after, uint32_t *id)
{
    rlt_unrolled *u = x->u;
    int rc = rlt_grow(&u->ops, &u->op_capacity, sizeof *u->ops, (uint64_t)u->n_ops + 1, MAX_OPS,
                      "operations of a plan", x->err);
    if (rc)
        return rc;
    u->ops[u->n_ops] = (rlt_unrolled_op){.type = type,
                                         .member = p / x->lanes,
                                         .lane = p % x->lanes,
                                         .step = k,
                                         .other = RLT_NONE,
                                         .after = after,
                                         .wait = RLT_NONE};
    *id = u->n_ops++;
    return 0;
}

/* Appends the operations of a step. *last is the operation that the lane's next one depends on. */
static int unroll_step(unroller *x, uint32_t p, uint32_t k, uint32_t *last)
{
    rlt_step s = step_of(x, p, k);
    uint32_t g = x->begin[p] + k, op;
    int rc = 0;
    if (s.verb)
        return rlt_fail(x->err, RLT_EUNSUPPORTED, x->plan->algorithm->name,
                        "in-network reductions and multicasts cannot be written in this format");
    if (s.wait_lane != RLT_NONE)
        rc = new_op(x, RLT_OP_NOP, p, k, *last, last);
    if (!rc && s.copy)
        rc = new_op(x, RLT_OP_COPY, p, k, *last, last);
    if (!rc && s.send_to != RLT_NONE && !(rc = new_op(x, RLT_OP_SEND, p, k, *last, &op))) {
        x->send_ops[g] = op;
        *last = s.nowait && !x->wait_all ? *last : op;
    }
    for (uint32_t a = x->mail[g]; a != RLT_NONE && !rc; a = x->arrivals[a].next) {
        rc = new_op(x, RLT_OP_RECV, p, k, *last, last);
        x->arrivals[a].op = *last;
    }
    x->done[g] = *last;
    return rc;
}

/* Lists the messages of each step, those from lower places first. */
static void post(unroller *x)
{
    for (uint32_t p = x->n_places; p-- > 0;) {
        for (uint32_t k = x->begin[p + 1] - x->begin[p]; k-- > 0;) {
            rlt_step s = step_of(x, p, k);
            if (s.send_to == RLT_NONE || s.verb)
                continue;
            uint32_t g = x->begin[p] + k;
            uint32_t to = s.send_to * x->lanes + (p % x->lanes + s.peer_shift) % x->lanes;
            x->arrivals[g] = (arrival){p, k, x->mail[x->begin[to] + s.peer_step], RLT_NONE};
            x->mail[x->begin[to] + s.peer_step] = g;
        }
    }
}

/* Links both ends of each message, and each wait with the operation that it awaits. */
static void link_ops(unroller *x)
{
    for (uint32_t p = 0; p < x->n_places; p++) {
        for (uint32_t k = 0; k < x->begin[p + 1] - x->begin[p]; k++) {
            uint32_t g = x->begin[p] + k;
            if (x->send_ops[g] == RLT_NONE)
                continue;
            x->u->ops[x->send_ops[g]].other = x->arrivals[g].op;
            x->u->ops[x->arrivals[g].op].other = x->send_ops[g];
        }
    }
    for (uint32_t i = 0; i < x->u->n_ops; i++) {
        rlt_unrolled_op *o = &x->u->ops[i];
        if (o->type != RLT_OP_NOP)
            continue;
        rlt_step s = step_of(x, o->member * x->lanes + o->lane, o->step);
        o->wait = x->done[x->begin[o->member * x->lanes + s.wait_lane] + s.wait_step];
    }
}

static int unroll(unroller *x)
{
    uint32_t total = x->begin[x->n_places];
    for (uint32_t i = 0; i < total; i++)
        x->mail[i] = x->send_ops[i] = RLT_NONE;
    post(x);
    for (uint32_t p = 0; p < x->n_places; p++) {
        uint32_t last = RLT_NONE;
        if (p % x->lanes == 0)
            x->u->first[p / x->lanes] = x->u->n_ops;
        for (uint32_t k = 0; k < x->begin[p + 1] - x->begin[p]; k++) {
            int rc = unroll_step(x, p, k, &last);
            if (rc)
                return rc;
        }
    }
    x->u->first[x->plan->req.n] = x->u->n_ops;
    link_ops(x);
    return 0;
}

int rlt_unroll(const rlt_plan *plan, bool wait_all, rlt_unrolled *out, rlt_error *err)
{
    unroller x = {.plan = plan, .u = out, .err = err, .lanes = plan->lanes, .wait_all = wait_all};
    *out = (rlt_unrolled){0};
    int rc = rlt_plan_match(plan, err);
    if (rc)
        return rc;
    x.n_places = plan->req.n * plan->lanes;
    x.begin = malloc(((size_t)x.n_places + 1) * sizeof *x.begin);
    out->first = malloc(((size_t)plan->req.n + 1) * sizeof *out->first);
    uint64_t total = 0;
    for (uint32_t p = 0; x.begin && p < x.n_places; p++) {
        x.begin[p] = (uint32_t)total;
        total += plan->algorithm->steps(plan, p / x.lanes, p % x.lanes);
        if (total > MAX_OPS) {
            rc = rlt_fail(err, RLT_ERANGE, plan->algorithm->name, "more than %d steps", MAX_OPS);
            goto out;
        }
        x.begin[p + 1] = (uint32_t)total;
    }
    x.mail = malloc((total + 1) * sizeof *x.mail);
    x.arrivals = malloc((total + 1) * sizeof *x.arrivals);
    x.done = malloc((total + 1) * sizeof *x.done);
    x.send_ops = malloc((total + 1) * sizeof *x.send_ops);
    if (!x.begin || !out->first || !x.mail || !x.arrivals || !x.done || !x.send_ops)
        rc = rlt_nomem(err);
    else
        rc = unroll(&x);
out:
    free(x.begin);
    free(x.mail);
    free(x.arrivals);
    free(x.done);
    free(x.send_ops);
    if (rc)
        rlt_unrolled_free(out);
    return rc;
}

void rlt_unrolled_free(rlt_unrolled *u)
{
    free(u->ops);
    free(u->first);
    *u = (rlt_unrolled){0};
}
