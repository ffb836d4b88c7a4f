/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The alpha-beta model: a message is serialised at its first link (send port) and at its last one (receive
 * port). It is delivered latency + bytes / path bandwidth after its start, or later if the receive port is
 * still busy with other messages. The link of a path of one link is both: neighbours queue with the messages
 * that others send over the same last link. One event per message, and a second one only if it had to wait
 * for the receive port.
 *
 * Accounts: the send port and the links in between carry a message for bytes / their bandwidth from its
 * start; the receive port carries it for that long before its delivery. A path of one link is charged once,
 * as send port.
 */
#include <math.h>
#include <stdlib.h>

#include "net/network.h"
#include "net/network_internal.h"
#include "net/network_tree.h"
#include "net/route.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct port {
    rlt_time tx_free, rx_free;
    uint64_t bw_Bps, ps_per_byte; /* ps_per_byte is 0 if it is not a whole number */
} port;

/* One cache line. */
typedef struct message {
    uint64_t tx, rx, bytes, wire_bytes;
    rlt_time start, rx_span;
    uint32_t first, last; /* send port and receive port; both are RLT_NONE within an accelerator */
    /* Links in between, as a kept path. In a folded network see carry_classes. Plain messages: the next
     * message of the batch, or RLT_NONE. */
    uint32_t inner;
    bool live, plain; /* plain: two links, no time series */
    bool tree;        /* `inner` has all links of a tree with their roles */
    bool single;      /* the two ports are one link, charged as send port */
} message;

/* Shortcut: path and cost of a rank's last message, for the next one to the same rank. Requires at most two
 * links of equal bandwidth, a whole number of picoseconds a byte, a cost that does not depend on the size,
 * and no time series. */
typedef struct memo {
    uint32_t dst; /* RLT_NONE: empty */
    uint32_t first, last, ps_per_byte;
    uint64_t key;
    rlt_time tail_ps;
} memo;

/* Messages below this size, times a memo's ps_per_byte, stay below the horizon. */
#define MEMO_BYTES ((uint64_t)1 << 31)

typedef struct alpha_beta {
    rlt_net_core core;
    memo *memos; /* one per rank */
    uint32_t ranks;
    bool remembers;
    uint64_t key_mask;
    port *ports;
    rlt_account *accounts; /* accounts of the links, part of the usage */
    rlt_pool messages;
    rlt_batch batch;       /* plain messages that arrive together */
    rlt_arrivals line;     /* see rlt_net_config.orderly */
    int arrival, delivery; /* event handlers */
} alpha_beta;

static rlt_time span(const port *p, uint64_t bytes)
{
    if (p->ps_per_byte && bytes < (1u << 31))
        return (rlt_time)(bytes * p->ps_per_byte);
    return rlt_transfer_time(bytes, p->bw_Bps);
}

static int no_memory(alpha_beta *ab)
{
    return rlt_sim_fail(ab->core.sim, RLT_ENOMEM, NULL, "no memory for one more message");
}

static inline message *message_at(const alpha_beta *ab, uint32_t i)
{
    return (message *)(void *)ab->messages.items + i;
}

static inline void deliver(alpha_beta *ab, message *m, uint32_t index)
{
    uint64_t tx = m->tx, rx = m->rx;
    ab->core.base.bytes_delivered += m->bytes;
    m->live = false;
    rlt_pool_put(&ab->messages, index);
    ab->core.client.delivered(ab->core.client.ctx, tx, rx);
}

static void on_deliver(void *ctx, uint64_t payload)
{
    alpha_beta *ab = ctx;
    deliver(ab, message_at(ab, (uint32_t)payload), (uint32_t)payload);
}

/* Serialises the message at the rank's receive port. Returns the end of that. */
static inline rlt_time receive_until(alpha_beta *ab, const message *m, rlt_time now)
{
    port *p = &ab->ports[m->last];
    rlt_time end = p->rx_free + m->rx_span;
    if (end < now)
        end = now;
    p->rx_free = end;
    rlt_account *a = &ab->accounts[m->last];
    if (m->single)
        return end;
    a->bytes += m->wire_bytes;
    a->messages++;
    a->active += m->rx_span;
    if (__builtin_expect(ab->core.base.usage->capacities != NULL, 0)) /* as fast as when it was issued */
        rlt__usage_busy(ab->core.base.usage, m->last, m->wire_bytes, m->rx_span);
    return end;
}

/* Serialises a tree's data at the receive port of every rank. *end is the latest end. */
static int receive_tree(alpha_beta *ab, message *m, rlt_time now, rlt_time *end)
{
    const rlt_shares *s = &ab->core.shares;
    rlt_usage *u = ab->core.base.usage;
    int rc = rlt__shares_load(&ab->core, m->inner);
    rlt__path_drop(&ab->core, m->inner);
    m->inner = RLT_NONE;
    *end = now;
    for (uint32_t i = 0, n = s->n ? s->links[s->n - 1] : 0; i < n && !rc; i++) {
        if (s->times[i] != RLT_TREE_LAST)
            continue;
        m->last = s->links[i];
        m->rx_span = span(&ab->ports[m->last], m->wire_bytes);
        rlt_time then = receive_until(ab, m, now);
        if (u->series)
            rc = rlt__usage_spread(u, m->last, then - m->rx_span, then, (double)m->wire_bytes);
        if (then > *end)
            *end = then;
    }
    return rc;
}

static void arrive_tree(alpha_beta *ab, message *m, uint32_t index)
{
    rlt_time now = rlt_sim_now(ab->core.sim), end;
    if (receive_tree(ab, m, now, &end) != 0)
        no_memory(ab);
    else if (end > now)
        rlt_sim_post(ab->core.sim, end, RLT_COMPLETE, ab->delivery, index);
    else
        deliver(ab, m, index);
}

/* Serialises n more equal messages that arrived at the same time. Returns the end of the last one. */
static rlt_time receive_more(alpha_beta *ab, const message *m, rlt_time end, uint32_t n)
{
    rlt_account *a = &ab->accounts[m->last];
    rlt_time more;
    if (__builtin_mul_overflow(m->rx_span, (rlt_time)n, &more))
        more = RLT_TIME_MAX;
    a->bytes += m->wire_bytes * n;
    a->messages += n;
    a->active = rlt_time_add(a->active, more);
    return ab->ports[m->last].rx_free = rlt_time_add(end, more);
}

/* Frees the links in between. Returns how many of the messages that m stands for come to one port. */
static uint32_t pass_inner(alpha_beta *ab, message *m)
{
    const rlt_shares *s = &ab->core.shares;
    uint32_t fan_in = 1;
    if (m->inner == RLT_NONE)
        return 1;
    if (ab->core.fold)
        fan_in = rlt__shares_load(&ab->core, m->inner) == 0 ? s->times[s->n - 1] : 0;
    rlt__path_drop(&ab->core, m->inner);
    m->inner = RLT_NONE;
    return fan_in;
}

/* Handles the arrival of any message. */
__attribute__((noinline)) static void arrive_anyhow(alpha_beta *ab, message *m, uint32_t index)
{
    rlt_usage *u = ab->core.base.usage;
    if (m->tree) {
        arrive_tree(ab, m, index);
        return;
    }
    uint32_t fan_in = pass_inner(ab, m);
    if (fan_in == 0) {
        no_memory(ab);
        return;
    }
    if (m->last != RLT_NONE) {
        rlt_time now = rlt_sim_now(ab->core.sim), end = receive_until(ab, m, now), from = end - m->rx_span;
        if (fan_in > 1)
            end = receive_more(ab, m, end, fan_in - 1);
        if (u->series && !m->single &&
            rlt__usage_spread(u, m->last, from, end, (double)m->wire_bytes * fan_in) != 0) {
            no_memory(ab);
            return;
        }
        if (end > now) {
            rlt_sim_post(ab->core.sim, end, RLT_COMPLETE, ab->delivery, index);
            return;
        }
    }
    deliver(ab, m, index);
}

/* Handles the arrival of a plain message. */
static inline void arrive_plain(alpha_beta *ab, message *m, uint32_t index, rlt_time now)
{
    rlt_time end = receive_until(ab, m, now);
    if (end > now)
        rlt_sim_post(ab->core.sim, end, RLT_COMPLETE, ab->delivery, index);
    else
        deliver(ab, m, index);
}

/* Serves the messages that have arrived at this instant. */
static void on_serve(void *ctx, uint64_t payload)
{
    alpha_beta *ab = ctx;
    uint32_t n = ab->line.n;
    const rlt_arrival *a = rlt__line_take(&ab->line);
    (void)payload;
    for (uint32_t i = 0; i < n; i++) {
        message *m = message_at(ab, a[i].index);
        if (m->plain)
            arrive_plain(ab, m, a[i].index, rlt_sim_now(ab->core.sim));
        else
            arrive_anyhow(ab, m, a[i].index);
    }
}

/* The last byte of the message has reached the receive port, and so have those of all messages of the
 * batch. */
static void on_arrive(void *ctx, uint64_t payload)
{
    alpha_beta *ab = ctx;
    uint32_t index = (uint32_t)payload;
    message *m = message_at(ab, index);
    if (!m->plain) {
        arrive_anyhow(ab, m, index);
        return;
    }
    rlt_time now = rlt_sim_now(ab->core.sim);
    rlt__batch_close(&ab->batch);
    for (;;) {
        uint32_t next = m->inner;
        arrive_plain(ab, m, index, now);
        if (next == RLT_NONE)
            return;
        index = next;
        m = message_at(ab, index);
        rlt_sim_also(ab->core.sim);
    }
}

/* The same, if messages wait until all of the instant are there. */
static void on_arrive_in_line(void *ctx, uint64_t payload)
{
    alpha_beta *ab = ctx;
    uint32_t index = (uint32_t)payload;
    const message *m = message_at(ab, index);
    if (m->plain)
        rlt__batch_close(&ab->batch);
    for (;;) {
        rlt__line_up(&ab->core, &ab->line, &(rlt_arrival){m->rx, m->tx, m->last, index});
        if (!m->plain || m->inner == RLT_NONE)
            return;
        index = m->inner;
        m = message_at(ab, index);
        rlt_sim_also(ab->core.sim);
    }
}

/* Schedules the arrival of the message. */
static inline void arrive_at(alpha_beta *ab, message *m, uint32_t index, rlt_time then)
{
    if (m->plain && rlt__batch_takes(&ab->batch, ab->core.sim, then))
        message_at(ab, ab->batch.last)->inner = index;
    else
        rlt_sim_post(ab->core.sim, then, RLT_COMPLETE, ab->arrival, index);
    if (m->plain)
        rlt__batch_note(&ab->batch, ab->core.sim, then, index);
}

/* Charges a link for a message from `start` on, for its serialisation there. */
static int carry_link(alpha_beta *ab, const message *m, uint32_t link, rlt_time now, rlt_time start,
                      rlt_time *end)
{
    rlt_usage *u = ab->core.base.usage;
    *end = rlt_time_add(start, span(&ab->ports[link], m->wire_bytes));
    u->links[link].bytes += m->wire_bytes;
    u->links[link].messages++;
    int rc = rlt__usage_span(u, link, now, start, *end);
    return rc || !u->series ? rc : rlt__usage_spread(u, link, start, *end, (double)m->wire_bytes);
}

/* Charges the links in between. */
static int carry_inner(alpha_beta *ab, message *m, const rlt_path *p, rlt_time now)
{
    rlt_time end;
    for (uint32_t i = 1; i + 1 < p->n; i++) {
        int rc = carry_link(ab, m, p->links[i], now, m->start, &end);
        if (rc)
            return rc;
    }
    return rlt__path_keep(&ab->core, p->links + 1, p->n - 2, &m->inner);
}

static inline void fill_in(message *m, const rlt_message *msg, uint64_t wire_bytes, rlt_time start,
                           rlt_time rx_span)
{
    m->tx = msg->tx;
    m->rx = msg->rx;
    m->bytes = msg->bytes;
    m->wire_bytes = wire_bytes;
    m->start = start;
    m->rx_span = rx_span;
    m->inner = RLT_NONE;
    m->live = true;
    m->tree = m->single = false;
}

static void remember(alpha_beta *ab, const rlt_message *msg, const rlt_leg *leg)
{
    const rlt_path *p = &leg->path;
    const port *first = &ab->ports[p->links[0]], *last = &ab->ports[p->links[p->n - 1]];
    if (!ab->remembers || p->n > 2 || !first->ps_per_byte || first->bw_Bps != last->bw_Bps)
        return;
    ab->memos[msg->src] = (memo){.dst = msg->dst,
                                 .first = p->links[0],
                                 .last = p->links[p->n - 1],
                                 .ps_per_byte = (uint32_t)first->ps_per_byte,
                                 .key = msg->route_key & ab->key_mask,
                                 .tail_ps = leg->tail_ps};
}

/* Charges a message to its ports and, unless the network is folded, to the links in between. RLT_ENOMEM. */
static int carry(alpha_beta *ab, message *m, const rlt_path *p, const uint32_t *ends, rlt_time now,
                 rlt_time tx_end)
{
    rlt_usage *u = ab->core.base.usage;
    m->first = ends[0];
    m->last = ends[1];
    m->single = p->n == 1;
    m->plain = p->n == 2 && !u->series && !ab->core.fold;
    ab->accounts[m->first].bytes += m->wire_bytes;
    ab->accounts[m->first].messages++;
    int rc = rlt__usage_span(u, m->first, now, m->start, tx_end);
    if (!rc && u->series)
        rc = rlt__usage_spread(u, m->first, m->start, tx_end, (double)m->wire_bytes);
    return rc || p->n <= 2 || ab->core.fold ? rc : carry_inner(ab, m, p, now);
}

/* Charges the classes in between, and keeps them with the number of messages that reach the receive port at
 * once. */
static int carry_classes(alpha_beta *ab, message *m, const rlt_message *msg, const rlt_path *p,
                         uint32_t arriving, rlt_time now)
{
    const rlt_shares *s = &ab->core.shares;
    rlt_usage *u = ab->core.base.usage;
    int rc = rlt__net_shares(&ab->core, msg, p->links + 1, p->n > 2 ? p->n - 2 : 0);
    for (uint32_t i = 0; !rc && i < s->n; i++) {
        uint32_t class = s->links[i];
        rlt_time end = rlt_time_add(m->start, span(&ab->ports[class], m->wire_bytes));
        u->links[class].bytes += m->wire_bytes * s->times[i];
        u->links[class].messages += s->times[i];
        rc = rlt__usage_span(u, class, now, m->start, end);
        if (!rc && u->series)
            rc = rlt__usage_spread(u, class, m->start, end, (double)m->wire_bytes * s->times[i]);
    }
    if (!rc)
        rc = rlt__shares_push(&ab->core, RLT_NONE, arriving);
    return rc ? rc : rlt__shares_keep(&ab->core, &m->inner);
}

/* Sends any message. */
__attribute__((noinline)) static rlt_time send_anyhow(alpha_beta *ab, const rlt_message *msg)
{
    rlt_leg leg;
    if (rlt__net_leg(&ab->core, msg, &leg) != 0)
        return -1;
    uint32_t index = rlt_pool_get(&ab->messages);
    if (index == RLT_NONE) {
        no_memory(ab);
        return -1;
    }
    message *m = message_at(ab, index);
    rlt_time now = rlt_sim_now(ab->core.sim);
    const rlt_path *p = &leg.path;
    if (p->n == 0) {
        fill_in(m, msg, leg.wire_bytes, now, 0);
        m->bytes *= rlt__message_count(msg);
        m->first = m->last = RLT_NONE;
        m->plain = false;
        rlt_sim_post(ab->core.sim, rlt_time_add(now, leg.tail_ps), RLT_COMPLETE, ab->arrival, index);
        return now;
    }
    remember(ab, msg, &leg);

    uint32_t ends[2], arriving;
    if (rlt__net_ports(&ab->core, msg, p, ends, &arriving) != 0)
        return -1;
    port *first = &ab->ports[ends[0]];
    const port *last = &ab->ports[ends[1]];
    rlt_time tx_span = span(first, leg.wire_bytes);
    rlt_time rx_span = last->bw_Bps == first->bw_Bps ? tx_span : span(last, leg.wire_bytes);
    rlt_time path_span = p->bw_Bps == first->bw_Bps  ? tx_span
                         : p->bw_Bps == last->bw_Bps ? rx_span
                                                     : rlt_transfer_time(leg.wire_bytes, p->bw_Bps);
    rlt_time start = first->tx_free > now ? first->tx_free : now, tx_end = rlt_time_add(start, tx_span);
    first->tx_free = tx_end;
    fill_in(m, msg, leg.wire_bytes, start, rx_span);
    m->bytes *= rlt__message_count(msg);
    if (carry(ab, m, p, ends, now, tx_end) != 0 ||
        (ab->core.fold && carry_classes(ab, m, msg, p, arriving, now) != 0)) {
        no_memory(ab);
        return -1;
    }
    rlt_time tail = rlt_time_add(rlt_time_add(start, leg.tail_ps), path_span);
    arrive_at(ab, m, index, tail);
    return tx_end;
}

/* Fast path of send_anyhow, for a message that takes the route of its rank's last one. */
static rlt_time send(rlt_net *net, const rlt_message *msg)
{
    alpha_beta *ab = (alpha_beta *)net;
    if (msg->src >= ab->ranks)
        return send_anyhow(ab, msg);
    const memo *way = &ab->memos[msg->src];
    uint32_t index = ab->messages.free_head;
    if (way->dst != msg->dst || way->key != (msg->route_key & ab->key_mask) || msg->bytes >= MEMO_BYTES ||
        index == RLT_NONE)
        return send_anyhow(ab, msg);
    port *first = &ab->ports[way->first];
    rlt_account *a = &ab->accounts[way->first];
    rlt_time now = rlt_sim_now(ab->core.sim), start = first->tx_free > now ? first->tx_free : now;
    if (!rlt__usage_is_easy(a, now, start))
        return send_anyhow(ab, msg);
    index = rlt_pool_get(&ab->messages);
    message *m = message_at(ab, index);
    rlt_time port_span = (rlt_time)(msg->bytes * way->ps_per_byte), tx_end = rlt_time_add(start, port_span);
    first->tx_free = tx_end;
    fill_in(m, msg, msg->bytes, start, port_span);
    m->first = way->first;
    m->last = way->last;
    m->single = way->last == way->first;
    m->plain = !m->single;
    net->messages++;
    net->bytes_offered += msg->bytes;
    a->bytes += msg->bytes;
    a->messages++;
    rlt__usage_span_easy(a, start, tx_end);
    /* Three times below the horizon do not pass 63 bits; the queue refuses times beyond it. */
    arrive_at(ab, m, index, start + port_span + way->tail_ps);
    return tx_end;
}

/* Charges the links of a tree. Each send port begins when it is free; the links in between begin when the
 * last send port does. The start times of all links except the last are kept behind the links, as pairs: link
 * number, half of the time. */
static int carry_tree(alpha_beta *ab, message *m, rlt_time now, rlt_time *tx_end)
{
    const rlt_shares *s = &ab->core.shares;
    const uint32_t n = s->n;
    rlt_time end;
    int rc = 0;
    *tx_end = now;
    for (uint32_t i = 0; i < n && !rc; i++) {
        if (s->times[i] != RLT_TREE_FIRST)
            continue;
        port *p = &ab->ports[s->links[i]];
        rlt_time start = p->tx_free > now ? p->tx_free : now;
        rc = carry_link(ab, m, s->links[i], now, start, &p->tx_free);
        *tx_end = p->tx_free > *tx_end ? p->tx_free : *tx_end;
        m->start = start > m->start ? start : m->start;
        if (!rc)
            rc = rlt__shares_push(&ab->core, (uint32_t)((uint64_t)start >> 32), (uint32_t)start);
    }
    for (uint32_t i = 0; i < n && !rc; i++)
        if (s->times[i] == RLT_TREE_INNER)
            rc = carry_link(ab, m, s->links[i], now, m->start, &end);
    if (!rc)
        rc = rlt__shares_push(&ab->core, n, 0);
    return rc ? rc : rlt__shares_keep(&ab->core, &m->inner);
}

static rlt_time send_tree(alpha_beta *ab, const rlt_tree_message *tree, bool reduce)
{
    rlt_leg leg;
    if (ab->core.fold) {
        rlt_sim_fail(ab->core.sim, RLT_EUNSUPPORTED, NULL, "alpha-beta cannot fold transfers over a tree");
        return -1;
    }
    if (rlt__net_tree(&ab->core, tree, reduce, &leg) != 0)
        return -1;
    uint32_t index = rlt_pool_get(&ab->messages);
    if (index == RLT_NONE) {
        no_memory(ab);
        return -1;
    }
    const rlt_message msg = {.bytes = rlt__tree_bytes(tree, reduce), .tx = tree->tx, .rx = tree->rx};
    message *m = message_at(ab, index);
    rlt_time now = rlt_sim_now(ab->core.sim), tx_end;
    fill_in(m, &msg, leg.wire_bytes, now, 0);
    m->first = m->last = RLT_NONE;
    m->plain = false;
    m->tree = true;
    if (carry_tree(ab, m, now, &tx_end) != 0) {
        no_memory(ab);
        return -1;
    }
    rlt_time path_span = leg.path.n ? rlt_transfer_time(leg.wire_bytes, leg.path.bw_Bps) : 0;
    rlt_sim_post(ab->core.sim, rlt_time_add(rlt_time_add(m->start, leg.tail_ps), path_span), RLT_COMPLETE,
                 ab->arrival, index);
    return tx_end;
}

static rlt_time reduce_to(rlt_net *net, const rlt_tree_message *m)
{
    return send_tree((alpha_beta *)net, m, true);
}

static rlt_time multicast(rlt_net *net, const rlt_tree_message *m)
{
    return send_tree((alpha_beta *)net, m, false);
}

/* Takes back what `times` messages had not yet put on a link when the run ended. */
static void take_back(alpha_beta *ab, const message *m, rlt_time start, uint32_t link, uint32_t times,
                      rlt_time now)
{
    rlt_account *a = &ab->core.base.usage->links[link];
    rlt_time end = rlt_time_add(start, span(&ab->ports[link], m->wire_bytes));
    if (end <= now)
        return;
    double carried = now <= start ? 0 : (double)(now - start) / (double)(end - start);
    a->bytes -= (m->wire_bytes - (uint64_t)nearbyint(carried * (double)m->wire_bytes)) * times;
    a->messages -= times;
}

/* Takes back what a tree had not yet carried; c->shares is as carry_tree kept it. */
static void take_back_tree(alpha_beta *ab, const message *m, rlt_time now)
{
    const rlt_shares *s = &ab->core.shares;
    if (s->n == 0) /* already arrived */
        return;
    uint32_t n = s->links[s->n - 1], k = n;
    for (uint32_t i = 0; i < n; i++) {
        if (s->times[i] == RLT_TREE_FIRST) {
            take_back(ab, m, (rlt_time)((uint64_t)s->links[k] << 32 | s->times[k]), s->links[i], 1, now);
            k++;
        } else if (s->times[i] == RLT_TREE_INNER) {
            take_back(ab, m, m->start, s->links[i], 1, now);
        }
    }
}

static void take_back_message(alpha_beta *ab, const message *m, rlt_time now)
{
    const rlt_shares *s = &ab->core.shares;
    if (!m->tree)
        take_back(ab, m, m->start, m->first, 1, now);
    if (m->tree || ab->core.fold) {
        if (rlt__shares_load(&ab->core, m->inner) != 0)
            return;
        if (m->tree)
            take_back_tree(ab, m, now);
        for (uint32_t k = 0; !m->tree && k + 1 < s->n; k++)
            take_back(ab, m, m->start, s->links[k], s->times[k], now);
        return;
    }
    for (uint32_t r = m->plain ? RLT_NONE : m->inner; r != RLT_NONE; r = rlt__path_run(&ab->core, r)->next)
        for (uint32_t k = 0; k < rlt__path_run(&ab->core, r)->n; k++)
            take_back(ab, m, m->start, rlt__path_run(&ab->core, r)->links[k], 1, now);
}

static void settle(rlt_net *net)
{
    alpha_beta *ab = (alpha_beta *)net;
    rlt_time now = rlt_sim_now(ab->core.sim);
    for (uint32_t i = 0; i < ab->messages.n; i++) {
        const message *m = message_at(ab, i);
        if (m->live && (m->first != RLT_NONE || m->tree))
            take_back_message(ab, m, now);
    }
}

static void destroy(rlt_net *net)
{
    alpha_beta *ab = (alpha_beta *)net;
    rlt_pool_free(&ab->messages);
    free(ab->line.items);
    free(ab->ports);
    free(ab->memos);
    rlt__net_fini(&ab->core);
    free(ab);
}

static void set_port(port *p, uint64_t bw_Bps)
{
    uint64_t per_byte = (uint64_t)RLT_S / bw_Bps;
    p->bw_Bps = bw_Bps;
    p->ps_per_byte = (uint64_t)RLT_S % bw_Bps == 0 && per_byte < (1u << 29) ? per_byte : 0;
}

/* No message is issued over a failed link, so its port may stay as it is. */
static void relink(rlt_net *net, const uint32_t *links, uint32_t n)
{
    alpha_beta *ab = (alpha_beta *)net;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bw = rlt__net_link_Bps(&ab->core, links[i]);
        if (rlt__usage_capacity(net->usage, links[i], 0, bw) != 0)
            no_memory(ab);
        if (bw)
            set_port(&ab->ports[links[i]], bw);
    }
}

static int create_ports(alpha_beta *ab, const uint64_t *bw, rlt_error *err)
{
    uint32_t n = ab->core.base.usage->n;
    ab->ports = calloc(n ? n : 1, sizeof(*ab->ports));
    if (!ab->ports)
        return rlt_nomem(err);
    ab->accounts = ab->core.base.usage->links;
    for (uint32_t i = 0; i < n; i++)
        set_port(&ab->ports[i], bw[i]);
    return 0;
}

static int create_memos(alpha_beta *ab, rlt_error *err)
{
    rlt_routing routing = rlt_router_routing(ab->core.router);
    ab->ranks = ab->core.fold ? 0 : rlt_router_placement(ab->core.router)->n;
    ab->remembers = ab->ranks && ab->core.plain && routing != RLT_ROUTE_SPRAY &&
                    !ab->core.base.usage->series && ab->core.changes == RLT_LINKS_STAY;
    ab->key_mask = rlt_router_key_mask(ab->core.router);
    ab->memos = malloc((ab->ranks ? (size_t)ab->ranks : 1) * sizeof(*ab->memos));
    if (!ab->memos)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < ab->ranks; i++)
        ab->memos[i].dst = RLT_NONE;
    return 0;
}

static int create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    *out = NULL;
    alpha_beta *ab = calloc(1, sizeof(*ab));
    uint64_t *bw = NULL;
    if (!ab)
        return rlt_nomem(err);
    rlt_pool_init(&ab->messages, sizeof(message));
    int rc = rlt__net_init(&ab->core, &rlt_net_alpha_beta, cfg, &bw, err);
    if (!rc)
        rc = create_ports(ab, bw, err);
    if (!rc)
        rc = create_memos(ab, err);
    free(bw);
    if (!rc) {
        const rlt_handler_entry handlers[] = {{cfg->orderly ? on_arrive_in_line : on_arrive, &ab->arrival},
                                              {on_deliver, &ab->delivery},
                                              {on_serve, &ab->line.serve}};
        rc = rlt_sim_register(cfg->sim, ab, handlers, sizeof handlers / sizeof *handlers, err);
    }
    if (rc) {
        destroy(&ab->core.base);
        return rc;
    }
    *out = &ab->core.base;
    return 0;
}

const rlt_net_model rlt_net_alpha_beta = {
    .name = "alpha-beta",
    .summary = "latency + bytes / bandwidth, serialised at the ranks' send and receive ports only",
    .can = RLT_NET_FOLDS,
    .create = create,
    .destroy = destroy,
    .send = send,
    .reduce_to = reduce_to,
    .multicast = multicast,
    .settle = settle,
    .relink = relink,
};
