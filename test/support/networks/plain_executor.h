/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plain executor, written from collectives/executor.h and collectives/algorithm.h: plans of lanes, whole
 * or one member of each class, whose messages take given times. It tries every lane at every instant.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_PLAIN_EXECUTOR_H
#define RLT_TEST_SUPPORT_NETWORKS_PLAIN_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "net/network.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { PLANS = 5, MEMBERS = 6, RANKS = 8, LANES = 3, STEPS = 80 };

typedef struct lane {
    uint32_t n;
    rlt_step steps[STEPS];
    rlt_reach reach[STEPS];
    /* of the plain executor: */
    uint32_t at, got[STEPS], outstanding;
    bool issued, begun, done;
} lane;

/* Places are the members that run: all, or one of each class. */
typedef struct drawing {
    uint32_t n, lanes, places, ranks[MEMBERS], left[MEMBERS];
    uint32_t rep[MEMBERS], size[MEMBERS], class_of[MEMBERS];
    rlt_time added, arrives[MEMBERS], expected[MEMBERS], ended[MEMBERS], begins;
    bool eager, folded, together, begun, here[MEMBERS], live;
    lane all[MEMBERS][LANES];
    rlt_plan plan;
    rlt_fold fold;
    uint32_t id, done, delivered, n_sent;
} drawing;

typedef struct message {
    drawing *d;
    uint32_t place, number, step, verb;
    rlt_time latency, injection, at, released;
    bool later, sent, there, free;
    uint64_t tx, rx; /* of the executor */
    bool asked, injected;
} message;

static struct {
    drawing plans[PLANS];
    uint32_t n_plans, n_messages, in_flight, most_in_flight;
    message messages[PLANS * MEMBERS * LANES * STEPS];
    bool blocking, parts;
    uint8_t of_rank[RANKS];
    rlt_time now, setup, look;
    uint32_t seen;
    rlt_sim *sim;
    rlt_exec *x;
    rlt_net_client client;
    int on_injected, on_delivered;
} c;

static inline bool plain_step(drawing *d, uint32_t place, uint32_t number)
{
    lane *l = &d->all[place][number];
    if (!l->begun || l->done)
        return false;
    if (l->at == l->n) {
        l->done = l->outstanding == 0;
        if (l->done && --d->left[place] == 0)
            d->expected[place] = c.now;
        return l->done;
    }
    const rlt_step *s = &l->steps[l->at];
    if (!l->issued) {
        const lane *other = s->wait_lane == RLT_NONE ? NULL : &d->all[place][s->wait_lane];
        if (other && !other->done && other->at <= s->wait_step)
            return false;
        l->issued = true;
        if (s->send_to != RLT_NONE) {
            message *m = &c.messages[s->send_bytes];
            m->sent = true;
            m->at = c.now + m->latency;
            m->released = c.blocking ? m->at : c.now + m->injection;
            l->outstanding++;
        }
        return true;
    }
    if (l->got[l->at] < s->recv_count || (!s->nowait && l->outstanding))
        return false;
    l->at++;
    l->issued = false;
    return true;
}

static inline void plain_land(message *m)
{
    drawing *d = m->d;
    const lane *from = &d->all[m->place][m->number];
    const rlt_step *s = &from->steps[m->step];
    uint32_t there = (m->number + s->peer_shift) % d->lanes;
    m->there = true;
    if (!RLT_LANDS_AT_ALL(m->verb)) {
        uint32_t to = d->class_of[s->send_to];
        d->all[to][there].got[s->peer_step] += d->size[m->place] / d->size[to];
        return;
    }
    rlt_reach r = from->reach[m->step];
    for (uint32_t i = 0; i < r.n; i++)
        d->all[d->class_of[r.first + i * r.stride]][there].got[s->peer_step]++;
}

static inline void earlier(rlt_time *next, rlt_time t)
{
    if (t > c.now && t < *next)
        *next = t;
}

static inline void plain_begin(drawing *d, rlt_time *next)
{
    d->begins = d->arrives[0];
    for (uint32_t m = 0; m < d->n; m++)
        if (d->arrives[m] > d->begins)
            d->begins = d->arrives[m];
    for (uint32_t p = 0; p < d->places; p++) {
        rlt_time from = d->eager ? d->arrives[d->rep[p]] : d->begins;
        if (from == RLT_TIME_MAX || !d->here[p])
            continue;
        from += c.setup + d->plan.tuning.setup_ps;
        for (uint32_t k = 0; k < d->lanes; k++)
            d->all[p][k].begun = from <= c.now;
        earlier(next, from);
    }
}

/* Lands messages and frees their senders whose time has come. */
static inline void plain_messages(void)
{
    for (uint32_t i = 0; i < c.n_messages; i++) {
        message *m = &c.messages[i];
        if (m->sent && !m->there && m->at <= c.now)
            plain_land(m);
        if (m->sent && !m->free && m->released <= c.now) {
            m->d->all[m->place][m->number].outstanding--;
            m->free = true;
        }
    }
}

static inline void run_plainly(void)
{
    for (c.now = 0;;) {
        rlt_time next = RLT_TIME_MAX;
        for (uint32_t p = 0; p < c.n_plans; p++)
            plain_begin(&c.plans[p], &next);
        for (bool moved = true; moved;) {
            moved = false;
            plain_messages();
            for (uint32_t p = 0; p < c.n_plans; p++)
                for (uint32_t m = 0; m < c.plans[p].places; m++)
                    for (uint32_t k = 0; k < c.plans[p].lanes; k++)
                        moved = plain_step(&c.plans[p], m, k) || moved;
        }
        for (uint32_t i = 0; i < c.n_messages; i++) {
            earlier(&next, c.messages[i].sent ? c.messages[i].at : 0);
            earlier(&next, c.messages[i].sent ? c.messages[i].released : 0);
        }
        if (next == RLT_TIME_MAX)
            return;
        c.now = next;
    }
}

/* When all members that are here have ended; RLT_TIME_MAX: never. */
static inline rlt_time plain_end(const drawing *d)
{
    rlt_time end = -1;
    for (uint32_t p = 0; p < d->places; p++)
        if (d->here[p] && end != RLT_TIME_MAX)
            end = d->expected[p] < 0 ? RLT_TIME_MAX : d->expected[p] > end ? d->expected[p] : end;
    return end;
}

static inline bool has_any(const drawing *d)
{
    for (uint32_t p = 0; p < d->places; p++)
        if (d->here[p])
            return true;
    return false;
}

static inline bool ever_ends(const drawing *d)
{
    for (uint32_t p = 0; p < d->places; p++)
        if (d->here[p] && d->expected[p] < 0)
            return false;
    return has_any(d);
}

static inline void plain_text(const drawing *d, char text[200])
{
    uint32_t arrived = 0;
    for (uint32_t m = 0; m < d->n; m++)
        arrived += d->arrives[m] != RLT_TIME_MAX;
    for (uint32_t p = 0; p < d->places; p++)
        for (uint32_t k = 0; k < d->lanes; k++) {
            const lane *l = &d->all[p][k];
            if (!l->begun || l->done || l->at == l->n)
                continue;
            int n = snprintf(text, 200, "%s of %u ranks: rank %u waits in lane %u step %u",
                             rlt_coll_name(d->plan.req.kind), d->n, d->ranks[d->rep[p]], k, l->at);
            uint32_t from = l->steps[l->at].recv_from;
            if (from != RLT_NONE)
                snprintf(text + n, 200 - (size_t)n, " for rank %u", d->ranks[from]);
            return;
        }
    snprintf(text, 200, "%s of %u ranks: %u have arrived", rlt_coll_name(d->plan.req.kind), d->n, arrived);
}

#endif
