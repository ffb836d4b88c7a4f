/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of packets, written for tests from net/packet/README.md. It keeps a plain list of events,
 * one for each packet, hop and timer, and knows no trains, memos or silent packets. Random cases: trees of
 * switches whose links differ, messages that follow each other, windows, answers, buffers, losses, back-
 * pressure, links that fail, both ways of repair, sprayed packets, marks and rate control (dcqcn.c, which has a test of its own).
 *
 * The order of two events of one node at one instant is not part of the model: a case ends where it could
 * matter.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_PACKET_MODEL_H
#define RLT_TEST_SUPPORT_NETWORKS_PACKET_MODEL_H

#include "net/packet/dcqcn.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/networks/packet_case.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

enum { FLOWS = 2 * HOSTS * HOSTS, MOST_PACKETS = 6000, MOST_EVENTS = 20000 };

typedef enum event_kind {
    AT_NODE,
    AT_HOST,
    TIMER,
    PACE,
    LEFT,
    PAUSE,
    RESUME,
    CREDIT,
    FREE_PORT,
    TURN
} event_kind;

typedef struct unit { /* a packet */
    enum { DATA, DATA_ASKS, ACK, ACK_ALL, NAK, NOTICE } kind;
    uint32_t flow, bytes, place, by; /* the node where it is, or goes next, and the wire by which it came */
    uint32_t cuts;                   /* failures of that wire when it was put there */
    bool back, last, marked;
    uint64_t number, gap, missing;
    bool asks;
} unit;

typedef struct event {
    rlt_time t;
    event_kind kind;
    uint32_t of; /* a flow, a wire, or a host */
    unit u;
} event;

typedef struct hole {
    uint64_t first, n;
    bool asks;
} hole;

typedef struct stream { /* a flow */
    uint32_t src, dst, key;
    uint32_t messages[MESSAGES], n_messages, n_delivered;
    uint64_t ends[MESSAGES]; /* packets of the flow until the end of a message */
    uint64_t acked, next, sent, end;
    uint64_t expected, high, answered;
    bool asked, waits, armed, seen[MOST_PACKETS];
    hole holes[MOST_PACKETS];
    uint32_t first_hole, end_hole, tries;
    rlt_time progress, pace; /* pace: the earliest time of the next packet */
    bool paced, blocked;     /* blocked: a wire there or back has failed */
    rlt_dcqcn rate;
} stream;

typedef struct model {
    const test_case *c;
    outcome out;
    rlt_time now, tied;             /* when two events of one node met; -1: never */
    rlt_time closes, active[LINKS]; /* closes: when the accounts do */
    double carried[LINKS];
    event events[MOST_EVENTS];
    uint32_t n_events;
    stream flows[FLOWS];
    uint32_t n_flows;
    rlt_time free_at[LINKS];
    wire now_is[LINKS]; /* wires, as they are now */
    bool failed[LINKS];
    uint32_t cuts[LINKS], parked[MESSAGES], parked_from[MESSAGES], n_parked;
    struct {
        uint32_t round[FLOWS], n;
        bool busy, tells;
        uint32_t message;
    } ports[HOSTS];
    struct { /* with back-pressure: a port, and what the node at the end of its wire holds from it */
        unit queue[MOST_PACKETS], leaving;
        uint32_t first, end;
        bool busy, paused, asked;
        uint64_t held;
        int64_t credit;
    } wires[LINKS];
} model;

static void offer(model *m, uint32_t flow);
static void free_port(model *m, uint32_t host);
static void post(model *m, uint32_t message, uint32_t src);

static void at(model *m, rlt_time t, event_kind kind, uint32_t of, unit u)
{
    assert_true(m->n_events < MOST_EVENTS);
    m->events[m->n_events++] = (event){t, kind, of, u};
}

static bool is_lost(model *m, uint32_t wire_id)
{
    const rlt_packet_settings *s = &m->c->set;
    uint64_t before = m->out.packets[wire_id]++;
    bool lost = s->loss > 0 && rlt_random_unit(s->seed, wire_id, RLT_RANDOM_LOSS, before) < s->loss;
    for (uint32_t i = 0; i < s->lose.n; i++)
        lost = lost || (s->lose.items[i].link == wire_id && s->lose.items[i].number == before + 1);
    return lost;
}

/* A packet begins to leave at a time. Returns whether it is lost. */
static bool put_on(model *m, uint32_t id, rlt_time begin, unit u)
{
    const rlt_packet_settings *s = &m->c->set;
    const wire *w = &m->now_is[id];
    uint32_t host = u.back ? m->flows[u.flow].src : m->flows[u.flow].dst;
    rlt_time span = span_of(w, u.bytes), awaited = span;
    m->free_at[id] = begin + span;
    m->out.bytes[id] += u.bytes;
    if (begin < m->closes) {
        rlt_time busy = m->closes - begin < span ? m->closes - begin : span;
        m->active[id] += busy;
        m->carried[id] += span ? u.bytes * (double)busy / (double)span : u.bytes;
    }
    if (is_lost(m, id)) {
        m->out.losses[id]++;
        return true;
    }
    u.place = w->dst;
    u.by = id;
    u.cuts = m->cuts[id];
    if (w->dst < HOSTS) {
        at(m, begin + span + w->latency_ps, AT_HOST, w->dst, u);
        return false;
    }
    if (s->cut_through && s->header < u.bytes && m->now_is[wire_to(m->c, w->dst, host)].bw_Bps <= w->bw_Bps)
        awaited = span_of(w, s->header);
    at(m, begin + awaited + w->latency_ps + s->switch_ps, AT_NODE, w->dst, u);
    return false;
}

/* ---- back-pressure ---- */

static bool has_credit(const model *m, uint32_t id)
{
    return m->c->set.pause == RLT_PAUSE_CREDIT && m->c->wires[id].dst >= HOSTS;
}

static void back_to_sender(model *m, rlt_time t, event_kind kind, uint32_t id, uint32_t bytes)
{
    at(m, t + m->c->wires[id].latency_ps, kind, id, (unit){.bytes = bytes});
}

static void try_wire(model *m, uint32_t id)
{
    if (m->wires[id].busy || m->wires[id].first == m->wires[id].end || m->wires[id].paused)
        return;
    unit u = m->wires[id].queue[m->wires[id].first];
    if (has_credit(m, id)) {
        if (m->wires[id].credit < u.bytes)
            return;
        m->wires[id].credit -= u.bytes;
    }
    m->wires[id].first++;
    m->wires[id].busy = true;
    m->wires[id].leaving = u;
    at(m, m->now + span_of(&m->c->wires[id], u.bytes), LEFT, id, u);
    if (put_on(m, id, m->now, u) && has_credit(m, id))
        back_to_sender(m, m->free_at[id], CREDIT, id, u.bytes);
}

/* Marks a packet of data with `queue` bytes in front of it at a switch. */
static void may_mark(model *m, uint32_t id, unit *u, double queue)
{
    const rlt_packet_settings *s = &m->c->set;
    double low = (double)s->ecn_min, high = (double)s->ecn_max;
    if (!s->ecn_max || !s->dcqcn || u->back || u->place < HOSTS || queue <= low)
        return;
    double p = queue > high ? 1 : s->ecn_probability * (queue - low) / (high - low);
    if (rlt_random_unit(s->seed, id, RLT_RANDOM_MARK, m->out.packets[id]) >= p)
        return;
    u->marked = true;
    m->out.marks[id]++;
}

static void wait_in_line(model *m, uint32_t id, unit u)
{
    double queue = m->wires[id].busy ? m->wires[id].leaving.bytes : 0;
    assert_true(m->wires[id].end < MOST_PACKETS);
    for (uint32_t i = m->wires[id].first; i < m->wires[id].end; i++)
        queue += m->wires[id].queue[i].bytes;
    may_mark(m, id, &u, queue);
    m->wires[id].queue[m->wires[id].end++] = u;
    if (u.by != NOBODY) {
        m->wires[u.by].held += u.bytes;
        if (m->c->set.pause == RLT_PAUSE_PFC && !m->wires[u.by].asked &&
            m->wires[u.by].held > m->c->set.pause_at) {
            m->wires[u.by].asked = true;
            back_to_sender(m, m->now, PAUSE, u.by, 0);
        }
    }
    try_wire(m, id);
}

static void leave(model *m, uint32_t id)
{
    unit u = m->wires[id].leaving;
    m->wires[id].busy = false;
    if (u.by != NOBODY) {
        m->wires[u.by].held -= u.bytes;
        if (has_credit(m, u.by))
            back_to_sender(m, m->now, CREDIT, u.by, u.bytes);
        if (m->wires[u.by].asked && m->wires[u.by].held <= m->c->set.resume_at) {
            m->wires[u.by].asked = false;
            back_to_sender(m, m->now, RESUME, u.by, 0);
        }
    }
    try_wire(m, id);
    if (u.by == NOBODY && !u.back)
        free_port(m, u.place);
}

/* A node puts a packet on its next wire. */
static void forward(model *m, unit u)
{
    const rlt_packet_settings *s = &m->c->set;
    uint32_t host = u.back ? m->flows[u.flow].src : m->flows[u.flow].dst, id = wire_to(m->c, u.place, host);
    if (s->pause != RLT_PAUSE_NONE) {
        wait_in_line(m, id, u);
        return;
    }
    if (m->failed[id]) {
        m->out.losses[id]++;
        return;
    }
    rlt_time begin = m->free_at[id] > m->now ? m->free_at[id] : m->now;
    double queue = (double)(begin - m->now) * (double)m->now_is[id].bw_Bps / 1e12;
    if (u.place >= HOSTS && s->buffer) {
        double over = queue + u.bytes - (double)s->buffer;
        if (over > -1.5 && over < 1.5 && begin > m->now)
            m->tied = m->now; /* within the rounding of the packets in front */
        if (over > 0) {
            m->out.drops[id]++;
            return;
        }
    }
    may_mark(m, id, &u, queue);
    put_on(m, id, begin, u);
}

static bool has_work(const model *m, const stream *f)
{
    uint64_t window = m->c->set.window;
    if (f->blocked)
        return false;
    return f->first_hole < f->end_hole || (f->next < f->end && (!window || f->next - f->acked < window));
}

static rlt_time patience(const model *m, const stream *f)
{
    return m->c->set.rto_ps << (f->tries < 6 ? f->tries : 6);
}

/* Returns whether a packet is chosen: one that was asked for, or the next one. */
static bool choose(model *m, stream *f, unit *u)
{
    while (f->first_hole < f->end_hole) {
        hole *h = &f->holes[f->first_hole];
        while (h->n && h->first < f->acked)
            h->first++, h->n--;
        if (h->n) {
            u->number = h->first++;
            u->kind = --h->n == 0 && h->asks ? DATA_ASKS : DATA;
        }
        bool found = u->number != UINT64_MAX;
        f->first_hole += h->n == 0;
        if (found)
            return true;
    }
    if (!has_work(m, f))
        return false;
    u->number = f->next++;
    return true;
}

static void arm(model *m, uint32_t flow)
{
    m->flows[flow].armed = true;
    at(m, m->flows[flow].progress + patience(m, &m->flows[flow]), TIMER, flow, (unit){.flow = flow});
}

static bool send_one(model *m, uint32_t flow)
{
    stream *f = &m->flows[flow];
    const rlt_packet_settings *s = &m->c->set;
    unit u = {.kind = DATA, .flow = flow, .place = f->src, .by = NOBODY, .number = UINT64_MAX};
    if (f->blocked || !choose(m, f, &u))
        return false;
    uint32_t k = 0;
    while (u.number >= f->ends[k])
        k++;
    uint64_t first = k ? f->ends[k - 1] : 0, bytes = m->c->messages[f->messages[k]].bytes;
    u.last = u.number + 1 == f->ends[k];
    u.bytes = (uint32_t)(s->header + (u.last ? bytes - (u.number - first) * s->mtu : s->mtu));
    if (u.number >= f->sent) {
        f->sent = u.number + 1;
        m->ports[f->src].tells = u.last;
        m->ports[f->src].message = f->messages[k];
    }
    m->ports[f->src].busy = true;
    if (s->dcqcn)
        f->pace = m->now + rlt__dcqcn_sends(&f->rate, m->now, u.bytes);
    if ((m->c->n_turns || can_lose(s)) && !f->armed) {
        f->progress = m->now;
        arm(m, flow);
    }
    forward(m, u);
    if (s->pause == RLT_PAUSE_NONE)
        at(m, m->free_at[wire_to(m->c, f->src, f->dst)], FREE_PORT, f->src, u);
    return true;
}

static void serve(model *m, uint32_t host)
{
    while (m->ports[host].n) {
        uint32_t flow = m->ports[host].round[0];
        m->ports[host].n--;
        memmove(m->ports[host].round, m->ports[host].round + 1, m->ports[host].n * sizeof(uint32_t));
        m->flows[flow].waits = false;
        if (send_one(m, flow)) {
            offer(m, flow);
            return;
        }
    }
}

static void offer(model *m, uint32_t flow)
{
    stream *f = &m->flows[flow];
    if (f->waits || !has_work(m, f))
        return;
    if (f->pace > m->now) {
        if (!f->paced)
            at(m, f->pace, PACE, flow, (unit){.flow = flow});
        f->paced = true;
        return;
    }
    f->waits = true;
    m->ports[f->src].round[m->ports[f->src].n++] = flow;
    if (!m->ports[f->src].busy)
        serve(m, f->src);
}

/* The last byte of a packet of data has left its host. */
static void free_port(model *m, uint32_t host)
{
    bool tells = m->ports[host].tells;
    uint32_t message = m->ports[host].message;
    m->ports[host].busy = m->ports[host].tells = false;
    serve(m, host);
    if (tells)
        m->out.injected[message] = m->now;
}

static void answer(model *m, uint32_t flow, unit u)
{
    stream *f = &m->flows[flow];
    u.flow = flow;
    u.back = true;
    u.place = f->dst;
    u.by = NOBODY;
    u.bytes = (uint32_t)m->c->set.ack_bytes;
    u.number = f->expected;
    if (u.kind != NOTICE)
        f->answered = f->expected;
    forward(m, u);
}

static void ask_for(model *m, uint32_t flow, uint64_t first, uint64_t end, bool asks)
{
    uint64_t gap = first - m->flows[flow].expected;
    answer(m, flow, (unit){.kind = NAK, .gap = gap, .missing = end - first, .asks = asks});
}

/* Names up to 64 runs of missing packets. */
static void tell_missing(model *m, uint32_t flow)
{
    stream *f = &m->flows[flow];
    if (f->expected == f->high)
        answer(m, flow, (unit){.kind = ACK_ALL});
    uint64_t first = f->expected;
    for (uint32_t run = 1; first < f->high && run <= 64; run++) {
        uint64_t end = first, next;
        while (end < f->high && !f->seen[end])
            end++;
        for (next = end; next < f->high && f->seen[next];)
            next++;
        ask_for(m, flow, first, end, next == f->high || run == 64);
        first = next;
    }
}

static void deliver(model *m, uint32_t flow)
{
    stream *f = &m->flows[flow];
    while (f->n_delivered < f->n_messages && f->expected >= f->ends[f->n_delivered]) {
        uint32_t i = f->messages[f->n_delivered++];
        m->out.delivered[i] = m->now;
        if (i + CHAINS < MESSAGES)
            post(m, i + CHAINS, f->dst);
    }
}

static bool is_selective(const model *m)
{
    return m->c->set.selective || m->c->spray;
}

static void receive(model *m, const unit *u)
{
    const rlt_packet_settings *s = &m->c->set;
    stream *f = &m->flows[u->flow];
    bool fresh = u->number >= f->expected && !f->seen[u->number], ahead = u->number > f->high, due;
    uint64_t high = f->high, before = f->expected;
    if (u->marked && rlt__dcqcn_tells(&f->rate, m->now))
        answer(m, u->flow, (unit){.kind = NOTICE});
    if (!is_selective(m) && u->number != f->expected) {
        if (u->number < f->expected)
            answer(m, u->flow, (unit){.kind = ACK});
        else if (!f->asked)
            ask_for(m, u->flow, f->expected, f->expected + 1, false);
        f->asked = f->asked || u->number > f->expected;
        return;
    }
    f->asked = false;
    f->seen[u->number] = true;
    while (f->seen[f->expected])
        f->expected++;
    if (u->number >= f->high)
        f->high = u->number + 1;
    due = s->ack && f->expected != before && f->expected - f->answered >= s->ack;
    if (u->kind == DATA_ASKS)
        tell_missing(m, u->flow);
    else if (fresh && ahead && !m->c->spray) /* otherwise it may be on another way */
        ask_for(m, u->flow, high, u->number, false);
    /* An answer ends each message, and tells a sender that repeats itself. */
    else if (!fresh || due ||
             (s->ack && f->expected != before && f->n_delivered < f->n_messages &&
              f->expected >= f->ends[f->n_delivered]))
        answer(m, u->flow, (unit){.kind = ACK});
    if (f->expected != before)
        deliver(m, u->flow);
}

static void go_back(model *m, uint32_t flow)
{
    m->flows[flow].next = m->flows[flow].acked;
    offer(m, flow);
}

static void add_hole(model *m, uint32_t flow, hole h)
{
    stream *f = &m->flows[flow];
    assert_true(f->end_hole < MOST_PACKETS);
    f->holes[f->end_hole++] = h;
    offer(m, flow);
}

static void hear(model *m, const unit *u)
{
    stream *f = &m->flows[u->flow];
    if (u->kind == NOTICE) {
        rlt__dcqcn_cut(&f->rate, m->now);
        return;
    }
    if (u->number > f->acked) {
        f->acked = u->number;
        f->next = f->next < f->acked ? f->acked : f->next;
        f->tries = 0;
        f->progress = m->now;
        offer(m, u->flow);
    }
    if (u->kind == ACK_ALL && f->first_hole == f->end_hole && f->acked < f->next)
        go_back(m, u->flow);
    if (u->kind != NAK || u->number < f->acked)
        return;
    if (is_selective(m))
        add_hole(m, u->flow, (hole){u->number + u->gap, u->missing, u->asks});
    else
        go_back(m, u->flow);
}

static void lose_patience(model *m, uint32_t flow)
{
    stream *f = &m->flows[flow];
    f->armed = false;
    if (f->acked == f->sent || f->blocked)
        return;
    if (f->progress + patience(m, f) <= m->now) {
        if (f->tries == m->c->set.retries) {
            m->out.gave_up = true;
            return;
        }
        f->tries++;
        f->progress = m->now;
        if (is_selective(m))
            add_hole(m, flow, (hole){f->acked, 1, true});
        else
            go_back(m, flow);
    }
    if (!f->armed)
        arm(m, flow);
}

static bool has_way(const model *m, uint32_t src, uint32_t dst)
{
    for (uint32_t node = src; node != dst; node = m->c->wires[wire_to(m->c, node, dst)].dst)
        if (m->failed[wire_to(m->c, node, dst)])
            return false;
    return true;
}

static void post(model *m, uint32_t message, uint32_t src)
{
    const wanted *w = &m->c->messages[message];
    uint32_t dst = (src + w->dst) % HOSTS, i = 0;
    while (i < m->n_flows && (m->flows[i].src != src || m->flows[i].dst != dst || m->flows[i].key != w->key))
        i++;
    stream *f = &m->flows[i];
    if (!has_way(m, src, dst)) {
        m->parked_from[m->n_parked] = src;
        m->parked[m->n_parked++] = message;
        return;
    }
    if (i == m->n_flows) {
        m->n_flows++;
        *f = (stream){.src = src, .dst = dst, .key = w->key, .blocked = !has_way(m, dst, src)};
        rlt__dcqcn_init(&f->rate, slowest(m->c, src, dst));
    }
    if (f->acked == f->end)
        f->progress = m->now;
    f->end += w->bytes ? (w->bytes + m->c->set.mtu - 1) / m->c->set.mtu : 1;
    assert_true(f->end < MOST_PACKETS);
    f->messages[f->n_messages] = message;
    f->ends[f->n_messages++] = f->end;
    offer(m, i);
}

static void turn_wires(model *m, const turn *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->links[i];
        m->cuts[id] += t->factor == 0 && !m->failed[id];
        m->failed[id] = t->factor == 0;
        if (t->factor > 0)
            m->now_is[id].bw_Bps = (uint64_t)((double)m->c->wires[id].bw_Bps * t->factor);
    }
    for (uint32_t i = 0; i < HOSTS; i++)
        m->ports[i].n = 0;
    for (uint32_t i = 0; i < m->n_flows; i++) {
        stream *f = &m->flows[i];
        bool was = f->blocked;
        f->waits = false;
        f->blocked = !has_way(m, f->src, f->dst) || !has_way(m, f->dst, f->src);
        if (f->blocked || !was)
            continue;
        f->progress = m->now;
        f->tries = 0;
        if (!f->armed && f->acked < f->sent)
            arm(m, i);
    }
    for (uint32_t i = 0; i < m->n_flows; i++)
        offer(m, i);
    uint32_t n = m->n_parked, list[MESSAGES], from[MESSAGES];
    memcpy(list, m->parked, sizeof list);
    memcpy(from, m->parked_from, sizeof from);
    m->n_parked = 0;
    for (uint32_t i = 0; i < n; i++)
        post(m, list[i], from[i]);
}

static uint32_t node_of(const model *m, const event *e)
{
    if (e->kind == TIMER || e->kind == PACE)
        return m->flows[e->of].src;
    return e->kind >= LEFT && e->kind <= CREDIT ? m->c->wires[e->of].src : e->of;
}

/* Whether two events of one instant may have another outcome in the other order. A packet leaves, and credit
 * comes: the next packet leaves at that instant, whichever is first. */
static bool order_matters(const model *m, const event *a, const event *b)
{
    if (a->t == b->t && (a->kind == TURN || b->kind == TURN))
        return true;
    if (a->t != b->t || (a->kind == FREE_PORT) != (b->kind == FREE_PORT) || node_of(m, a) != node_of(m, b))
        return false;
    bool arrive = a->kind == AT_NODE && b->kind == AT_NODE, change = a->kind >= LEFT && b->kind >= LEFT;
    if (node_of(m, a) < HOSTS || m->c->set.pause == RLT_PAUSE_NONE)
        return !change;
    return arrive || (m->c->set.pause == RLT_PAUSE_PFC && !change);
}

/* Takes the next event off the list. */
static event next_event(model *m)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < m->n_events; i++) {
        const event *a = &m->events[i], *b = &m->events[best];
        if (a->t < b->t || (a->t == b->t && (a->kind == FREE_PORT) < (b->kind == FREE_PORT)))
            best = i;
    }
    event e = m->events[best];
    m->events[best] = m->events[--m->n_events];
    for (uint32_t i = 0; i < m->n_events && m->tied < 0; i++)
        if (order_matters(m, &m->events[i], &e))
            m->tied = e.t;
    return e;
}

static void happen(model *m, const event *e)
{
    if ((e->kind == AT_NODE || e->kind == AT_HOST) && m->cuts[e->u.by] != e->u.cuts) {
        m->out.losses[e->u.by]++;
        return;
    }
    switch (e->kind) {
    case TURN:
        turn_wires(m, &m->c->turns[e->of]);
        break;
    case AT_NODE:
        forward(m, e->u);
        break;
    case AT_HOST:
        e->u.back ? hear(m, &e->u) : receive(m, &e->u);
        break;
    case TIMER:
        lose_patience(m, e->of);
        break;
    case PACE:
        m->flows[e->of].paced = false;
        offer(m, e->of);
        break;
    case LEFT:
        leave(m, e->of);
        break;
    case PAUSE:
        m->wires[e->of].paused = true;
        break;
    case RESUME:
        m->wires[e->of].paused = false;
        try_wire(m, e->of);
        break;
    case CREDIT:
        m->wires[e->of].credit += e->u.bytes;
        try_wire(m, e->of);
        break;
    case FREE_PORT:
        free_port(m, e->of);
    }
}

static void run_reference(model *m)
{
    for (uint32_t i = 0; i < MESSAGES; i++)
        m->out.injected[i] = m->out.delivered[i] = -1;
    memcpy(m->now_is, m->c->wires, sizeof m->now_is);
    for (uint32_t i = 0; i < LINKS; i++)
        m->wires[i].credit = (int64_t)m->c->set.buffer;
    for (uint32_t i = 0; i < m->c->n_turns; i++)
        at(m, m->c->turns[i].at, TURN, i, (unit){.flow = 0});
    for (uint32_t i = 0; i < CHAINS; i++)
        post(m, i, m->c->from[i]);
    while (m->n_events && !m->out.gave_up && m->tied < 0) {
        event e = next_event(m);
        m->now = e.t;
        m->out.events++;
        happen(m, &e);
    }
}

#endif
