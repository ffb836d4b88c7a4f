/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbolic run of a plan. A cell is one block in one buffer of one member's lane. It knows which original
 * block its bytes are (tag), and whose contributions are summed in it (a set of members). A message is a copy
 * of cells, taken when the sending step starts; it lands once the step to which it is addressed has started.
 * Lanes advance until they block, in no particular order: the check refuses a plan whose outcome would depend
 * on the order.
 *
 * An untracked plan has no cells; only its messages and waits are run. The network may fetch a cell of
 * another member at any time. Such a cell must be unchanged since the start, or since its member last sent a
 * message to the fetching lane. It must not change any more.
 */
#include "collectives/check/checker.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/check/internal.h"
#include "collectives/check/matching.h"
#include "collectives/check/observe.h"
#include "collectives/check/races.h"
#include "collectives/collective.h"
#include "collectives/in_network/states.h"
#include "collectives/listed.h"
#include "sim/base/time.h"

typedef rlt__cell cell;
typedef rlt__mail message;
typedef rlt__place place;
typedef rlt__checker checker;

static void push(checker *x, uint32_t p)
{
    if (x->places[p].queued)
        return;
    x->places[p].queued = true;
    x->queue[(x->queue_head + x->queue_length++) % x->n_places] = p;
}

static uint32_t pop(checker *x)
{
    uint32_t p = x->queue[x->queue_head];
    x->queue_head = (x->queue_head + 1) % x->n_places;
    x->queue_length--;
    x->places[p].queued = false;
    return p;
}

static int send_one(checker *x, uint32_t p, uint32_t k, const rlt_step *s, uint32_t member)
{
    uint32_t q = member * x->lanes + (p % x->lanes + s->peer_shift) % x->lanes;
    place *to = &x->places[q];
    message *m = NULL;
    int rc = rlt__checker_take(x, p, k, s, &m);
    if (rc)
        return rc;
    message **end = &to->mail;
    while (*end)
        end = &(*end)->next;
    m->next = NULL;
    *end = m;
    push(x, q);
    return 0;
}

static int send(checker *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    int rc = 0;
    if (!RLT_LANDS_AT_ALL(s->verb))
        return send_one(x, p, k, s, s->send_to);
    rlt_reach r = rlt_reach_of(x->plan, p / x->lanes, p % x->lanes, k);
    for (uint32_t i = 0; i < r.n && !rc; i++)
        rc = send_one(x, p, k, s, r.first + i * r.stride);
    return rc;
}

static int copy(checker *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    message *m = NULL;
    int rc = s->send_to != RLT_NONE ? rlt__place_refuse(x->plan, x->err, p, k, "copies and sends")
                                    : rlt__checker_take(x, p, k, s, &m);
    if (rc)
        return rc;
    rc = rlt__checker_land(x, p, k, m);
    rlt__checker_drop(x, m);
    return rc;
}

/* Records a message's arrival: the sender's earlier steps in that lane are done. */
static void hear(checker *x, uint32_t p, const message *m)
{
    uint32_t *last = x->heard ? &x->heard[(size_t)p * x->n + m->from / x->lanes] : NULL;
    if (last && m->from % x->lanes == p % x->lanes && m->from_step > *last)
        *last = m->from_step;
}

/* Lands the messages addressed to the current step. */
static int receive(checker *x, uint32_t p, const rlt_step *s)
{
    place *here = &x->places[p];
    message **link = &here->mail;
    while (*link) {
        message *m = *link;
        if (m->to_step != here->step) {
            link = &m->next;
            continue;
        }
        uint32_t sender = m->from / x->lanes;
        if (s->recv_from != RLT_NONE && s->recv_from != sender)
            return rlt__place_refuse(x->plan, x->err, p, here->step,
                                     "waits for member %u, but gets a message from member %u step %u",
                                     s->recv_from, sender, m->from_step);
        if (m->clock)
            rlt_races_join(x->races, p, m->clock);
        int rc = rlt__checker_land(x, p, here->step, m);
        if (rc)
            return rc;
        hear(x, p, m);
        here->got++;
        *link = m->next;
        rlt__checker_drop(x, m);
    }
    return 0;
}

/* Starts the current step. Returns 1 if it started, 0 if it waits for another lane, or an error. */
static int start(checker *x, uint32_t p, const rlt_step *s)
{
    place *here = &x->places[p];
    if (s->wait_lane != RLT_NONE) {
        uint32_t other = p - p % x->lanes + s->wait_lane;
        if (s->wait_lane >= x->lanes || s->wait_step >= x->places[other].steps)
            return rlt__place_refuse(x->plan, x->err, p, here->step,
                                     "waits for step %u of lane %u, which does not exist", s->wait_step,
                                     s->wait_lane);
        here->waits_for_lane = x->places[other].step <= s->wait_step;
        if (here->waits_for_lane)
            return 0;
        if (x->races)
            rlt_races_wait(x->races, p, other, s->wait_step);
    }
    if (x->races)
        rlt_races_start(x->races, p, here->step);
    int rc = s->copy ? copy(x, p, here->step, s) : s->send_to != RLT_NONE ? send(x, p, here->step, s) : 0;
    if (rc)
        return rc;
    here->started = true;
    here->got = 0;
    return 1;
}

/* Runs a lane of a member as far as it can go. */
static int advance(checker *x, uint32_t p)
{
    place *here = &x->places[p];
    bool moved = false;
    while (here->step < here->steps) {
        rlt_step s;
        rlt__checker_step(x, p, here->step, &s);
        int rc = here->started ? 1 : start(x, p, &s);
        if (rc < 0)
            return rc;
        if (rc == 0)
            break;
        rc = receive(x, p, &s);
        if (rc)
            return rc;
        if (here->got < s.recv_count)
            break;
        if (x->races && (rc = rlt_races_done(x->races, p, here->step, x->err)))
            return rc;
        here->started = false;
        here->step++;
        moved = true;
    }
    for (uint32_t l = 0, first = p - p % x->lanes; moved && l < x->lanes; l++) {
        if (x->places[first + l].waits_for_lane)
            push(x, first + l);
    }
    return 0;
}

/* Names one circular wait: every place that is stuck waits for another one that is stuck. */
static int explain_deadlock(checker *x, uint32_t p)
{
    char text[400];
    uint32_t length = rlt__checker_circle(x, &p, text, sizeof text);
    return rlt__place_refuse(x->plan, x->err, p, x->places[p].step,
                             "deadlock: a cycle of %u waiting steps: %s%s", length, text,
                             length > 8 ? ", ..." : "");
}

/* Next place with cells of its own: every place, or the first place of each member if cells are shared. */
static uint32_t next_owner(const checker *x, uint32_t p)
{
    return p + (x->plan->shared ? x->lanes : 1);
}

static void fill(checker *x)
{
    for (uint32_t p = 0; p < x->n_places; p++) {
        x->places[p].steps = x->plan->algorithm->steps(x->plan, p / x->lanes, p % x->lanes);
        push(x, p);
    }
    for (uint32_t p = 0; p < x->n_places && !x->plan->untracked; p = next_owner(x, p))
        rlt__checker_fill(x, p);
}

static int check_plan(checker *x)
{
    const rlt_plan *plan = x->plan;
    if (plan->result >= plan->buffers || x->blocks == 0 || x->lanes == 0 || x->lanes > RLT_MAX_LANES)
        return rlt_fail(x->err, RLT_ECHECK, plan->algorithm->name,
                        "%u lanes, %u blocks, result buffer %u of %u; expected 1 to %d lanes, "
                        "at least one block, and a result below the number of buffers",
                        x->lanes, x->blocks, plan->result, plan->buffers, RLT_MAX_LANES);
    if (plan->untracked)
        return 0;
    int rc = rlt_states_check(plan, x->err);
    if (rc)
        return rc;
    double n_cells = (double)x->n * (plan->shared ? 1 : x->lanes) * plan->buffers * x->blocks,
           heard = plan->reduces ? (double)x->n * x->lanes * x->n * sizeof *x->heard : 0;
    if (n_cells * (double)(sizeof(cell) + (x->n + 63) / 64 * sizeof(uint64_t)) + heard >
        (double)RLT__MAX_STATE_BYTES)
        return rlt_fail(x->err, RLT_ERANGE, plan->algorithm->name,
                        "%u members x %u lanes x %u buffers x %u blocks are too many to check", x->n,
                        x->lanes, plan->buffers, x->blocks);
    return 0;
}

static int run(checker *x, uint64_t *want)
{
    int rc = rlt_plan_match(x->plan, x->err);
    while (rc == 0 && x->queue_length > 0)
        rc = advance(x, pop(x));
    for (uint32_t p = 0; rc == 0 && p < x->n_places; p++) {
        if (x->places[p].step < x->places[p].steps)
            rc = explain_deadlock(x, p);
    }
    if (x->plan->untracked)
        return rc;
    /* Wrong blocks first: they explain contributions that are missing elsewhere. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t p = 0; rc == 0 && p < x->n_places; p = next_owner(x, p)) {
            for (uint32_t b = 0; rc == 0 && b < x->blocks; b++)
                rc = rlt__checker_result(x, p, b, pass == 1, want);
        }
    }
    return rc;
}

static int run_all(checker *x)
{
    const rlt_plan *plan = x->plan;
    int rc = check_plan(x);
    if (rc)
        return rc;
    x->words = plan->untracked ? 0 : (x->n + 63) / 64;
    x->n_places = x->n * x->lanes;
    size_t n_cells =
        plan->untracked ? 0 : (size_t)(plan->shared ? x->n : x->n_places) * plan->buffers * x->blocks;
    uint64_t *want = malloc(sizeof *want * (x->words + 1));
    x->state.c = malloc((n_cells + 1) * sizeof *x->state.c);
    x->state.sets = calloc(n_cells * x->words + 1, sizeof *x->state.sets);
    x->places = calloc(x->n_places, sizeof *x->places);
    x->queue = malloc(x->n_places * sizeof *x->queue);
    if (!want || !x->state.c || !x->state.sets || !x->places || !x->queue)
        rc = rlt_nomem(x->err);
    if (!rc && plan->reduces && plan->algorithm->reach &&
        !(x->heard = calloc((size_t)x->n_places * x->n, sizeof *x->heard)))
        rc = rlt_nomem(x->err);
    if (!rc && plan->shared && !plan->untracked && x->lanes > 1)
        rc = rlt_races_create(plan, &x->races, x->err);
    if (!rc) {
        fill(x);
        rc = run(x, want);
    }
    for (uint32_t p = 0; x->places && p < x->n_places; p++) {
        for (message *m = x->places[p].mail, *next; m; m = next) {
            next = m->next;
            free(m);
        }
    }
    rlt_races_free(x->races);
    free(x->heard);
    free(x->queue);
    free(x->places);
    free(x->state.sets);
    free(x->state.c);
    free(want);
    return rc;
}

/*
 * A plan from a file may use the result buffer as scratch, so a smaller sum may replace a larger one there.
 * The first run allows this. If it ends with a lost contribution, a second, strict run finds the first step
 * that lost one.
 */
int rlt_plan_check_observed(const rlt_plan *plan, rlt_send_observer *observer, void *ctx, rlt_error *err)
{
    rlt_error first = {0}, second = {0};
    checker x = {.plan = plan,
                 .err = &first,
                 .n = plan->req.n,
                 .lanes = plan->lanes,
                 .blocks = plan->blocks,
                 .patient = plan->algorithm == &rlt_custom,
                 .observer = observer,
                 .observer_ctx = ctx};
    int rc = run_all(&x);
    if (rc == 0)
        return 0;
    if (x.lost && x.patient) {
        checker again = {.plan = plan, .err = &second, .n = x.n, .lanes = x.lanes, .blocks = x.blocks};
        if (run_all(&again) == RLT_ECHECK)
            first = second;
    }
    return rlt_fail(err, rc, first.where, "%s", first.what);
}

int rlt_plan_check(const rlt_plan *plan, rlt_error *err)
{
    return rlt_plan_check_observed(plan, NULL, NULL, err);
}
