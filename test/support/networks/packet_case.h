/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases for the second model of packets (packet_model.h). */
#ifndef RLT_TEST_SUPPORT_NETWORKS_PACKET_CASE_H
#define RLT_TEST_SUPPORT_NETWORKS_PACKET_CASE_H

#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

static void draw_settings(test_case *c, dice *d)
{
    rlt_packet_settings *s = &c->set;
    *s = rlt_packet_default();
    s->mtu = 200 + roll(d, 2000);
    s->header = 1 + roll(d, 80);
    s->ack_bytes = 20 + roll(d, 100);
    s->ack = roll(d, 6);
    s->switch_ps = (rlt_time)roll(d, 500000);
    s->cut_through = (int)below(d, 2);
    s->selective = (int)below(d, 2);
    s->rto_ps = 20000000 + (rlt_time)roll(d, 30000000);
    s->retries = below(d, 4) ? 200 : 1 + roll(d, 3);
    s->seed = d->seed;
    bool repairs = below(d, 3) > 0;
    if (repairs && below(d, 4) > 0)
        s->loss = 0.06 * rlt_random_unit(d->seed, 1, 0, 0);
    for (uint32_t k = repairs ? below(d, 4) : 0; k > 0; k--) {
        s->lose.items[s->lose.n].link = below(d, LINKS);
        s->lose.items[s->lose.n++].number = 1 + roll(d, 60);
    }
    if (repairs && below(d, 2))
        s->buffer = (s->mtu + s->header) * (1 + roll(d, 8)) + roll(d, 100);
    if (below(d, 3) == 0) { /* a packet of any size fits */
        s->pause = below(d, 2) ? RLT_PAUSE_PFC : RLT_PAUSE_CREDIT;
        s->buffer = (s->mtu + s->header + s->ack_bytes) * (1 + roll(d, 4));
        s->pause_at = (s->mtu + s->header) * roll(d, 4) + roll(d, 300) + 1;
        s->resume_at = roll(d, s->pause_at);
    }
    if (s->ack == 0 && (repairs || below(d, 2)))
        s->ack = 1;
    if (s->ack && below(d, 2))
        s->window = s->ack + roll(d, 12);
}

/* Notifications are 50 us apart, so that some flows are cut more than once. */
static void draw_rates(test_case *c, dice *d)
{
    c->spray = below(d, 5) == 0;
    if (below(d, 4) || c->set.ack == 0)
        return;
    c->set.dcqcn = below(d, 4) > 0; /* marks without it: no packet may be marked */
    c->set.ecn_min = roll(d, 3000);
    c->set.ecn_max = 1 + c->set.ecn_min + roll(d, 20000);
    c->set.ecn_probability = rlt_random_unit(d->seed, 3, 0, 0);
}

/* Links that fail and come back, or change where no queue has a bound. A flow may be blocked to the end. */
static void draw_turns(test_case *c, dice *d)
{
    static const double factors[] = {0, 0, 1, 2, 4};
    bool plain = !c->set.buffer && !c->set.ecn_max;
    if (c->set.pause != RLT_PAUSE_NONE || c->set.ack == 0 || below(d, 3))
        return;
    c->n_turns = 2 + below(d, TURNS - 1);
    if (below(d, 3) == 0) { /* timeouts follow each other */
        c->set.loss = 0.4 * rlt_random_unit(d->seed, 4, 0, 0);
        c->set.rto_ps /= 8;
    }
    for (uint32_t i = 0; i < c->n_turns; i++) {
        turn *t = &c->turns[i];
        t->at = 1 + (rlt_time)roll(d, 60000000);
        t->factor = factors[below(d, plain ? 5 : 3)];
        t->n = 1 + below(d, 2);
        for (uint32_t k = 0; k < t->n; k++)
            t->links[k] = below(d, LINKS);
    }
    turn *last = &c->turns[c->n_turns - 1];
    if (below(d, 4) == 0)
        return;
    *last = (turn){.at = 70000000 + (rlt_time)roll(d, 50000000), .factor = 1, .n = LINKS};
    for (uint32_t k = 0; k < LINKS; k++)
        last->links[k] = k;
}

/* Long messages, so that many packets come behind one that is lost. */
static uint64_t draw_long(test_case *c)
{
    c->set.ack = 1;
    c->set.window = 0;
    c->set.selective = 1;
    c->set.loss = 0.01;
    c->set.buffer = 0;
    c->set.pause = RLT_PAUSE_NONE;
    c->set.rto_ps *= 10;
    return 12 * c->set.mtu;
}

static void draw_case(test_case *c, uint64_t seed)
{
    dice more = {.seed = seed + 1000000};
    dice d = {.seed = seed};
    *c = (test_case){0};
    draw_settings(c, &d);
    uint64_t size = seed % 25 == 0 ? draw_long(c) : c->set.mtu;
    draw_rates(c, &more);
    draw_turns(c, &more);
    /* With back-pressure, equal bandwidths would let packets come and go at one instant. */
    tree_draw(c, &d, c->set.pause == RLT_PAUSE_NONE, size);
}

static bool can_lose(const rlt_packet_settings *s)
{
    return s->loss > 0 || s->lose.n || (s->buffer && s->pause == RLT_PAUSE_NONE);
}

/* Bandwidth of the slowest wire between two hosts. */
static uint64_t slowest(const test_case *c, uint32_t src, uint32_t dst)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t node = src; node != dst;) {
        const wire *w = &c->wires[wire_to(c, node, dst)];
        least = w->bw_Bps < least ? w->bw_Bps : least;
        node = w->dst;
    }
    return least;
}

#endif
