/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Repair of losses. Unless they are sprayed, packets of a flow come in order, so a gap is a loss: the
 * receiver asks once for the missing packets. The timer of the sender finds other losses: retransmissions
 * lost again, losses at the end of a message, and losses of sprayed flows. Then go-back-N resends from the
 * first unacknowledged packet. Selective repeat sends the first missing packet, which asks the receiver for
 * the other missing ones, and so on until none is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/packet/internal.h"
#include "net/packet/packets.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Packets that a receiver keeps out of order. Later ones count as lost. */
enum { MOST_SEEN = 1 << 22, FEWEST_SEEN = 64 };

/* ---- packets seen beyond the first missing one ---- */

static bool is_seen(const rlt__flow *f, uint64_t packet)
{
    uint64_t bit = packet & (f->seen_bits - 1);
    return f->seen_bits && packet - f->expected < f->seen_bits && (f->seen[bit / 64] >> (bit % 64) & 1);
}

static void set_seen(rlt__flow *f, uint64_t packet, bool on)
{
    uint64_t bit = packet & (f->seen_bits - 1), mask = UINT64_C(1) << (bit % 64);
    if (on)
        f->seen[bit / 64] |= mask;
    else
        f->seen[bit / 64] &= ~mask;
}

/* Makes room for `packet`. Returns 1, 0 if it is too far ahead (it then counts as lost), or RLT_ENOMEM. */
static int reach(rlt__flow *f, uint64_t packet)
{
    uint64_t need = packet - f->expected + 1, bits = f->seen_bits ? f->seen_bits : FEWEST_SEEN;
    if (need <= f->seen_bits)
        return 1;
    if (need > MOST_SEEN)
        return 0;
    while (bits < need)
        bits *= 2;
    uint64_t *fresh = calloc(bits / 64, sizeof(*fresh));
    if (!fresh)
        return RLT_ENOMEM;
    for (uint64_t k = f->expected; k < f->high; k++)
        if (is_seen(f, k))
            fresh[(k & (bits - 1)) / 64] |= UINT64_C(1) << (k % 64);
    free(f->seen);
    f->seen = fresh;
    f->seen_bits = (uint32_t)bits;
    return 1;
}

/* Records a packet; advances `expected` over all packets that are there. Returns 0 or RLT_ENOMEM. */
static int keep(rlt__flow *f, uint64_t packet)
{
    if (packet > f->expected) {
        int there = reach(f, packet);
        if (there <= 0)
            return there;
        set_seen(f, packet, true);
    } else {
        f->expected++;
        while (f->expected < f->high && is_seen(f, f->expected)) {
            set_seen(f, f->expected, false);
            f->expected++;
        }
    }
    if (packet >= f->high)
        f->high = packet + 1;
    return 0;
}

/* ---- receiver ---- */

static void ask_for(rlt__packet_net *net, uint32_t flow, uint64_t first, uint64_t end, bool asks)
{
    const rlt__flow *f = &net->flows[flow];
    rlt__flow_answer(net, flow,
                     (rlt_packet){.kind = RLT__NAK,
                                  .key = (uint32_t)(first - f->expected),
                                  .aux = (uint32_t)(end - first) << 1 | asks});
}

/* Answers a packet that asks: lists the runs of missing packets (the last run asks again), or reports that
 * none is missing. */
static void tell_missing(rlt__packet_net *net, uint32_t flow)
{
    enum { MOST_RUNS = 64 };
    const rlt__flow *f = &net->flows[flow];
    uint64_t first = f->expected;
    if (first == f->high) {
        rlt__flow_answer(net, flow, (rlt_packet){.kind = RLT__ACK_ALL});
        return;
    }
    for (uint32_t run = 1; first < f->high; run++) {
        uint64_t end = first + 1, next;
        while (end < f->high && !is_seen(f, end))
            end++;
        for (next = end; next < f->high && is_seen(f, next);)
            next++;
        bool last = next >= f->high || run == MOST_RUNS;
        ask_for(net, flow, first, end, last);
        if (last)
            return;
        first = next;
    }
}

static void data_selective(rlt__packet_net *net, uint32_t flow, const rlt_packet *p)
{
    rlt__flow *f = &net->flows[flow];
    uint64_t high = f->high, before = f->expected;
    bool is_new = p->data >= f->expected && !is_seen(f, p->data);
    if (is_new && keep(f, p->data) < 0) {
        rlt__packet_no_memory(net);
        return;
    }
    if (p->kind == RLT__DATA_ASKS)
        tell_missing(net, flow);
    else if (is_new && !f->sprayed && p->data > high && f->high > high)
        ask_for(net, flow, high, p->data, false);
    else if (!is_new || (net->set.ack && f->expected != before &&
                         (f->expected >= f->receiving_end || f->expected - f->answered >= net->set.ack)))
        rlt__flow_answer(net, flow, (rlt_packet){.kind = RLT__ACK});
    if (f->expected != before)
        rlt__flow_received(net, flow);
}

static void data_go_back(rlt__packet_net *net, uint32_t flow, const rlt_packet *p)
{
    rlt__flow *f = &net->flows[flow];
    if (p->data < f->expected) {
        rlt__flow_answer(net, flow, (rlt_packet){.kind = RLT__ACK});
    } else if (!f->asked) {
        f->asked = true;
        ask_for(net, flow, f->expected, f->expected + 1, false);
    }
}

void rlt__repair_data(rlt__packet_net *net, uint32_t flow, const rlt_packet *p)
{
    if (net->selective)
        data_selective(net, flow, p);
    else
        data_go_back(net, flow, p);
}

/* ---- sender ---- */

static void add_hole(rlt__packet_net *net, uint32_t flow, uint64_t first, uint64_t n, bool asks)
{
    rlt__flow *f = &net->flows[flow];
    uint32_t i = rlt_pool_get(&net->holes);
    if (i == RLT_NONE) {
        rlt__packet_no_memory(net);
        return;
    }
    *(rlt__hole *)rlt_pool_at(&net->holes, i) = (rlt__hole){first, n, RLT_NONE, asks};
    if (f->holes == RLT_NONE)
        f->holes = i;
    else
        ((rlt__hole *)rlt_pool_at(&net->holes, f->last_hole))->next = i;
    f->last_hole = i;
    rlt__flow_offer(net, flow);
}

bool rlt__repair_next(rlt__packet_net *net, rlt__flow *f, uint64_t *packet, uint8_t *kind)
{
    while (f->holes != RLT_NONE) {
        uint32_t i = f->holes;
        rlt__hole *h = rlt_pool_at(&net->holes, i);
        while (h->n > 0 && h->first < f->acked) {
            h->first++;
            h->n--;
        }
        bool found = h->n > 0;
        if (found) {
            *packet = h->first++;
            h->n--;
            *kind = h->n == 0 && h->asks ? RLT__DATA_ASKS : RLT__DATA;
        }
        if (h->n == 0) {
            f->holes = h->next;
            rlt_pool_put(&net->holes, i);
        }
        if (found)
            return true;
    }
    return false;
}

static void go_back(rlt__packet_net *net, uint32_t flow)
{
    net->flows[flow].next = net->flows[flow].acked;
    rlt__flow_offer(net, flow);
}

void rlt__repair_nak(rlt__packet_net *net, uint32_t flow, const rlt_packet *p)
{
    const rlt__flow *f = &net->flows[flow];
    if (p->data < f->acked)
        return; /* a stale answer, about packets that have arrived since */
    if (net->selective)
        add_hole(net, flow, p->data + p->key, p->aux >> 1, p->aux & 1);
    else
        go_back(net, flow);
}

void rlt__repair_ack_all(rlt__packet_net *net, uint32_t flow)
{
    const rlt__flow *f = &net->flows[flow];
    if (f->holes == RLT_NONE && f->acked < f->next)
        go_back(net, flow);
}

static rlt_time patience(const rlt__packet_net *net, const rlt__flow *f)
{
    rlt_time t = net->set.rto_ps;
    for (uint32_t k = 0; k < f->tries && k < 6; k++)
        t = rlt_time_add(t, t);
    return t;
}

void rlt__repair_arm(rlt__packet_net *net, uint32_t flow)
{
    rlt__flow *f = &net->flows[flow];
    f->armed = true;
    rlt_sim_post_at(net->core.sim, rlt_time_add(f->progress_ps, patience(net, f)), RLT_COMPLETE,
                    rlt_tag_at(rlt_sim_tag(net->timeout), net->first_place + f->src_node), flow);
}

static void give_up(rlt__packet_net *net, const rlt__flow *f)
{
    char where[80];
    snprintf(where, sizeof(where), "flow from rank %u to rank %u", f->src, f->dst);
    rlt_sim_fail(
        net->core.sim, RLT_ESTALL, where,
        "gave up: packet %llu was not acknowledged after %u retransmissions (retries=%llu, rto=%lld ps, "
        "loss=%g)",
        (unsigned long long)f->acked, f->tries, (unsigned long long)net->set.retries,
        (long long)net->set.rto_ps, net->set.loss);
}

void rlt__repair_timeout(void *ctx, uint64_t payload)
{
    rlt__packet_net *net = ctx;
    uint32_t flow = (uint32_t)payload;
    rlt__flow *f = &net->flows[flow];
    rlt_time now = rlt_sim_now(net->core.sim);
    f->armed = false;
    if (f->acked == f->sent || f->blocked != RLT_NONE) /* the next packet, or a new route, arms it again */
        return;
    if (rlt_time_add(f->progress_ps, patience(net, f)) <= now) {
        if (f->tries == net->set.retries) {
            give_up(net, f);
            return;
        }
        f->tries++;
        f->progress_ps = now;
        if (net->selective)
            add_hole(net, flow, f->acked, 1, true);
        else
            go_back(net, flow);
    }
    if (!f->armed)
        rlt__repair_arm(net, flow);
}
