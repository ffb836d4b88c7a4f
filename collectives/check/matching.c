/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts the messages addressed to every step, and compares with the number that the step awaits. */
#include "collectives/check/matching.h"

#include <stdarg.h>
#include <stdlib.h>

#include "collectives/listed.h"
#include "sim/base/time.h"

#define MAX_STEPS ((size_t)1 << 26)

/* Messages sent to a step: their number, and the last of them. */
typedef struct arrivals {
    uint32_t count, from, from_step;
} arrivals;

typedef struct matcher {
    const rlt_plan *plan;
    rlt_error *err;
    uint32_t n, lanes, n_places; /* places are numbered member * lanes + lane */
    /* index of each place's step 0; begin[n_places] is the number of all steps */
    size_t *begin;
    arrivals *arrivals;
} matcher;

int rlt__place_refuse(const rlt_plan *plan, rlt_error *err, uint32_t p, uint32_t step, const char *fmt, ...)
{
    char where[384];
    va_list args;
    rlt_step_place(plan, p / plan->lanes, p % plan->lanes, step, where, sizeof where);
    va_start(args, fmt);
    rlt_vfail(err, RLT_ECHECK, where, fmt, args);
    va_end(args);
    return RLT_ECHECK;
}

static int count_at(matcher *x, uint32_t p, uint32_t k, const rlt_step *s, uint32_t member)
{
    uint32_t q = member * x->lanes + (p % x->lanes + s->peer_shift) % x->lanes;
    size_t steps = x->begin[q + 1] - x->begin[q];
    if (s->peer_step >= steps)
        return rlt__place_refuse(x->plan, x->err, p, k, "sends to step %u of member %u, which has %zu steps",
                                 s->peer_step, member, steps);
    arrivals *a = &x->arrivals[x->begin[q] + s->peer_step];
    *a = (arrivals){.count = a->count + 1, .from = p / x->lanes, .from_step = k};
    return 0;
}

static int count_message(matcher *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    int rc = 0;
    if (s->send_to == RLT_NONE)
        return 0;
    if (RLT_LANDS_AT_ALL(s->verb) && s->send_to == x->n) {
        rlt_reach r = rlt_reach_of(x->plan, p / x->lanes, p % x->lanes, k);
        for (uint32_t i = 0; i < r.n && !rc; i++)
            rc = count_at(x, p, k, s, r.first + i * r.stride);
        return rc;
    }
    if (s->send_to >= x->n || (s->send_to == p / x->lanes && s->verb != RLT_VERB_REDUCE))
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "sends to member %u; expected another one from 0 to %u", s->send_to,
                                 x->n - 1);
    return count_at(x, p, k, s, s->send_to);
}

static int compare_count(matcher *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    const arrivals *a = &x->arrivals[x->begin[p] + k];
    if (a->count == s->recv_count)
        return 0;
    if (a->count == 0)
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "waits for %u messages, but none is sent to this step", s->recv_count);
    return rlt__place_refuse(
        x->plan, x->err, p, k,
        "waits for %u messages, but %u are sent to this step, the last by member %u step %u", s->recv_count,
        a->count, a->from, a->from_step);
}

static int each_step(matcher *x, int (*visit)(matcher *, uint32_t, uint32_t, const rlt_step *))
{
    for (uint32_t p = 0; p < x->n_places; p++) {
        for (uint32_t k = 0; k < x->begin[p + 1] - x->begin[p]; k++) {
            rlt_step s;
            rlt_step_clear(&s);
            x->plan->algorithm->step(x->plan, p / x->lanes, p % x->lanes, k, &s);
            int rc = visit(x, p, k, &s);
            if (rc)
                return rc;
        }
    }
    return 0;
}

int rlt_plan_match(const rlt_plan *plan, rlt_error *err)
{
    matcher x = {.plan = plan, .err = err, .n = plan->req.n, .lanes = plan->lanes};
    int rc;
    x.n_places = x.n * x.lanes;
    x.begin = malloc(((size_t)x.n_places + 1) * sizeof *x.begin);
    if (!x.begin)
        return rlt_nomem(err);
    x.begin[0] = 0;
    for (uint32_t p = 0; p < x.n_places; p++)
        x.begin[p + 1] = x.begin[p] + plan->algorithm->steps(plan, p / x.lanes, p % x.lanes);
    size_t total = x.begin[x.n_places];
    if (total > MAX_STEPS) {
        rc = rlt_fail(err, RLT_ERANGE, plan->algorithm->name, "%zu steps are too many to check", total);
        goto out;
    }
    x.arrivals = calloc(total + 1, sizeof *x.arrivals);
    rc = x.arrivals ? each_step(&x, count_message) : rlt_nomem(err);
    if (rc == 0)
        rc = each_step(&x, compare_count);
out:
    free(x.arrivals);
    free(x.begin);
    return rc;
}
