/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan that a test writes down message by message, to be compared with an algorithm's. */
#ifndef RLT_TEST_SUPPORT_PLAIN_PLAN_H
#define RLT_TEST_SUPPORT_PLAIN_PLAN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/time.h"
#include "test/support/dice.h"

enum { PLAIN_MEMBERS = 24, PLAIN_LANES = 20, PLAIN_STEPS = 96 };

typedef struct plain_plan {
    uint32_t n, lanes, steps[PLAIN_MEMBERS][PLAIN_LANES];
    rlt_step at[PLAIN_MEMBERS][PLAIN_LANES][PLAIN_STEPS];
} plain_plan;

static inline void plain_clear(plain_plan *p, uint32_t n, uint32_t lanes)
{
    assert_true(n <= PLAIN_MEMBERS && lanes <= PLAIN_LANES);
    p->n = n;
    p->lanes = lanes;
    memset(p->steps, 0, sizeof p->steps);
}

/* Step k of a lane, which has at least k + 1 steps from now on. */
static inline rlt_step *plain_step(plain_plan *p, uint32_t member, uint32_t lane, uint32_t k)
{
    assert_true(member < p->n && lane < p->lanes && k < PLAIN_STEPS);
    while (p->steps[member][lane] <= k)
        rlt_step_clear(&p->at[member][lane][p->steps[member][lane]++]);
    return &p->at[member][lane][k];
}

/* A message from step k of a member to step j of another one. */
static inline rlt_step *plain_message(plain_plan *p, uint32_t lane, uint32_t from, uint32_t k, uint32_t to,
                                      uint32_t j)
{
    rlt_step *hears = plain_step(p, to, lane, j), *s = plain_step(p, from, lane, k);
    hears->recv_from = hears->recv_count++ ? RLT_NONE : from;
    assert_int_equal(s->send_to, RLT_NONE);
    s->send_to = to;
    s->peer_step = j;
    return s;
}

/* Bytes of part i of a cut. */
static inline uint64_t plain_cut(uint64_t total, uint64_t parts, uint64_t i)
{
    return total / parts + (i < total % parts ? 1 : 0);
}

/* Draws the bytes of n blocks for half of the requests whose algorithm takes them. */
static inline void plain_draw_counts(dice *d, const rlt_algorithm *a, rlt_coll_request *r, uint64_t *counts,
                                     uint32_t n)
{
    if (!(a->counted >> r->kind & 1) || below(d, 2))
        return;
    r->counts = counts;
    r->bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        r->bytes += counts[i] = below(d, 4) ? roll(d, 1000) : 0;
}

static inline rlt_blocks plain_run(uint32_t first, uint32_t run)
{
    return (rlt_blocks){.first = first, .run = run, .reps = 1};
}

static inline bool plain_same_span(const rlt_blocks *a, const rlt_blocks *b)
{
    return a->first == b->first && a->run == b->run && a->reps == b->reps &&
           (a->reps < 2 || a->stride == b->stride);
}

static inline bool plain_same(const rlt_step *a, const rlt_step *b)
{
    bool moves = a->send_to != RLT_NONE || a->copy, waits = a->wait_lane != RLT_NONE;
    return a->send_to == b->send_to && a->send_bytes == b->send_bytes && a->recv_from == b->recv_from &&
           a->recv_count == b->recv_count && a->wait_lane == b->wait_lane && a->nowait == b->nowait &&
           a->copy == b->copy && a->verb == b->verb && a->turn == b->turn &&
           (!waits || a->wait_step == b->wait_step) &&
           (!moves ||
            (a->peer_step == b->peer_step && a->peer_shift == b->peer_shift && a->reduce == b->reduce &&
             a->send_buffer == b->send_buffer && a->land_buffer == b->land_buffer &&
             plain_same_span(&a->send, &b->send) && plain_same_span(&a->land, &b->land)));
}

static inline void plain_say(char text[300], const rlt_step *s)
{
    snprintf(text, 300,
             "to %d step %u, %llu B (%u+%u x%u by %u at %u+%u, %u>%u%s%s%s), from %d x%u, after %d/%u",
             (int)s->send_to, s->peer_step, (unsigned long long)s->send_bytes, s->send.first, s->send.run,
             s->send.reps, s->send.stride, s->land.first, s->land.run, s->send_buffer, s->land_buffer,
             s->reduce ? ", added" : "", s->nowait ? ", no wait" : "", s->copy ? ", copy" : "",
             (int)s->recv_from, s->recv_count, (int)s->wait_lane, s->wait_step);
}

static inline void plain_compare(const plain_plan *p, const rlt_plan *plan)
{
    const rlt_coll_request *r = &plan->req;
    assert_int_equal(plan->lanes, p->lanes);
    for (uint32_t m = 0; m < p->n; m++)
        for (uint32_t l = 0; l < p->lanes; l++) {
            uint32_t n = plan->algorithm->steps(plan, m, l);
            if (n != p->steps[m][l])
                fail_msg("%s by %s of %u, root %u: member %u lane %u has %u steps, expected %u",
                         rlt_coll_name(r->kind), plan->algorithm->name, r->n, r->root, m, l, n,
                         p->steps[m][l]);
            for (uint32_t k = 0; k < n; k++) {
                rlt_step s;
                rlt_step_clear(&s);
                plan->algorithm->step(plan, m, l, k, &s);
                if (plain_same(&s, &p->at[m][l][k]))
                    continue;
                char is[300], should[300];
                plain_say(is, &s);
                plain_say(should, &p->at[m][l][k]);
                fail_msg("%s by %s of %u, root %u: member %u lane %u step %u: %s; expected %s",
                         rlt_coll_name(r->kind), plan->algorithm->name, r->n, r->root, m, l, k, is, should);
            }
        }
}

#endif
