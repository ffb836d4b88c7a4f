/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of ports and packets on links, written for tests from net/packet/packets.h. It keeps every
 * transmission of a link in a list, with its begin and its end, and knows no memos, easy ports or unheard
 * packets. Random cases: links that differ, routes that are walks, marks, buffers, losses, pauses, credits,
 * links that change and fail, a guest, packets that switches take, and accounts that close early.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_PORT_MODEL_H
#define RLT_TEST_SUPPORT_NETWORKS_PORT_MODEL_H

#include <math.h>

#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { HOSTS = 3, NODES = 7, EDGES = 12, WALKS = 8, LONGEST = 5, PACKETS = 120, STEPS = 60, NONE = 999 };

typedef struct edge {
    uint32_t src, dst;
    uint64_t bw_Bps;
    rlt_time latency_ps;
} edge;

typedef struct parcel {
    uint32_t walk, bytes;
    uint8_t flags;
} parcel;

/* At each step the client sends packets, or changes a link, or closes the accounts. */
typedef struct step {
    rlt_time at;
    enum { SENDS, CHANGES, SETTLES } what;
    uint32_t first, end, link; /* packets to send */
    uint64_t bw_Bps;
} step;

typedef struct port_case {
    rlt_packets_config cfg;
    bool guest, guest_left, ordered, even; /* even: many packets come at one instant */
    rlt_node_kind kinds[NODES];
    edge edges[EDGES];
    uint32_t walks[WALKS][LONGEST], lengths[WALKS];
    parcel parcels[PACKETS];
    step steps[STEPS];
} port_case;

/* How a packet ends, and which switches saw it. */
typedef struct fate {
    rlt_time arrived, left, dropped, seen_at[LONGEST];
    uint32_t link, hop, flags, sights, seen_by[LONGEST];
} fate;

typedef struct port_outcome {
    fate fates[PACKETS];
    rlt_port_counts ports[EDGES], then[STEPS]; /* then: of one link after each step */
    double peaks[EDGES], peaks_then[STEPS];    /* the model's, to a fraction of a byte */
    rlt_time leaves[PACKETS], active[EDGES];
    uint64_t under_way[STEPS], pending, events;
    double bytes[EDGES];
    char waits[400];
} port_outcome;

static inline void draw_graph(port_case *c, dice *d)
{
    static const rlt_node_kind inner[] = {RLT_SWITCH, RLT_SWITCH, RLT_SWITCH, RLT_NIC, RLT_CPU};
    static const uint64_t round[] = {1000000000, 4000000000, 10000000000, 25000000000};
    bool odd = c->cfg.pause != RLT_PAUSE_NONE || below(d, 2);
    c->even = !odd;
    for (uint32_t i = 0; i < NODES; i++)
        c->kinds[i] = i < HOSTS ? RLT_ACCELERATOR : inner[below(d, 5)];
    for (uint32_t i = 0; i < EDGES; i++) {
        edge *e = &c->edges[i];
        bool again = true;
        while (again) { /* a circle through all nodes, then others */
            e->src = i < NODES ? i * 3 % NODES : below(d, NODES);
            e->dst = i < NODES ? (i + 1) * 3 % NODES : (e->src + 1 + below(d, NODES - 1)) % NODES;
            again = false;
            for (uint32_t k = 0; k < i; k++)
                again |= c->edges[k].src == e->src && c->edges[k].dst == e->dst;
        }
        e->bw_Bps = odd ? 1000000000 + 2 * roll(d, UINT64_C(12000000000)) : round[below(d, 4)];
        e->latency_ps = (rlt_time)(odd ? 2 * roll(d, 500000) : 100000 * roll(d, 5));
    }
}

/* Relaying hosts are no switches, which cut through. */
static inline void draw_walks(port_case *c, dice *d)
{
    for (uint32_t w = 0; w < WALKS; w++) {
        uint32_t n = 0, length = below(d, 8) ? 1 + below(d, LONGEST) : 0, at = below(d, NODES);
        while (n < length && (n == 0 || !c->cfg.cut_through || c->kinds[at] != RLT_ACCELERATOR)) {
            uint32_t e = below(d, EDGES);
            if (c->edges[e].src != at)
                continue;
            c->walks[w][n++] = e;
            at = c->edges[e].dst;
        }
        c->lengths[w] = n;
    }
}

static inline void draw_config(port_case *c, dice *d)
{
    static const double scales[] = {1, 1, 2, 0.5};
    rlt_packets_config *f = &c->cfg;
    *f = (rlt_packets_config){.bandwidth_scale = scales[below(d, 4)],
                              .latency_scale = scales[below(d, 4)],
                              .seed = d->seed,
                              .header_bytes = 1 + below(d, 400),
                              .cut_through = below(d, 3) == 0};
    c->ordered = below(d, 2);
    f->switch_ps = below(d, 2) ? (rlt_time)roll(d, 300000) : 0;
    if (below(d, 3) == 0) /* the rest is for networks that lose, mark or hold back */
        return;
    if (below(d, 3) == 0)
        f->buffer_bytes = 1500 + roll(d, 6000);
    if (below(d, 3) == 0) {
        f->ecn_min_bytes = roll(d, 3000);
        f->ecn_max_bytes = f->ecn_min_bytes + roll(d, 5000);
        f->ecn_probability = rlt_random_unit(d->seed, 1, 0, 0);
    }
    if (below(d, 3) == 0)
        f->loss = 0.1 * rlt_random_unit(d->seed, 2, 0, 0);
    for (uint32_t k = below(d, 3) ? 0 : 1 + below(d, 5); k > 0; k--) {
        f->lose.items[f->lose.n].link = below(d, EDGES);
        f->lose.items[f->lose.n++].number = 1 + roll(d, 12);
    }
    if (below(d, 2)) { /* a packet of any size fits */
        f->pause = below(d, 2) ? RLT_PAUSE_PFC : RLT_PAUSE_CREDIT;
        f->buffer_bytes = 1500 + roll(d, 4000);
        f->pause_bytes = roll(d, 4000);
        f->resume_bytes = roll(d, f->pause_bytes + 1);
        c->ordered = false;
    }
    f->links_fail = below(d, 3) == 0;
    f->series_bin_ps = below(d, 4) ? 0 : 100000 + (rlt_time)roll(d, 1000000);
}

static inline void draw_steps(port_case *c, dice *d)
{
    uint32_t sent = 0, settles = below(d, 4) ? NONE : STEPS / 2 + below(d, STEPS / 2);
    bool change = below(d, 2);
    rlt_time t = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        step *s = &c->steps[i];
        t += 1 + (rlt_time)roll(d, below(d, 5) ? 300000 : 2000000);
        t = c->even ? (t / 100000 + 1) * 100000 : t;
        *s = (step){.at = t, .first = sent, .link = below(d, EDGES)};
        if (i == settles) {
            s->what = SETTLES;
        } else if (below(d, 6) == 0 && (change || c->cfg.links_fail)) {
            s->what = CHANGES;
            s->bw_Bps = c->cfg.links_fail && below(d, 2) ? 0 : 500000000 + 2 * roll(d, UINT64_C(6000000000));
        } else {
            sent += below(d, 6);
            sent = sent < PACKETS ? sent : PACKETS;
        }
        s->end = sent;
    }
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint8_t flags = below(d, 2) ? RLT_PACKET_ECT : 0;
        flags |= below(d, 3) == 0 ? RLT_PACKET_PROBE : 0;
        flags |= below(d, 3) == 0 ? RLT_PACKET_UNHEARD : 0;
        flags |= c->guest && below(d, 2) ? RLT_PACKET_GUEST : 0;
        flags |= below(d, 4) == 0 ? 16 | RLT_PACKET_RESEND : 0;
        uint32_t bytes = c->even ? 500 * (1 + below(d, 2)) : 1 + below(d, 1500);
        c->parcels[i] = (parcel){below(d, WALKS), bytes, flags};
    }
}

static inline bool takes(uint32_t node, uint64_t packet)
{
    return (node * 31 + packet * 7) % 5 == 0;
}

/* ---- the model ---- */

typedef enum moment_kind { COMES, LEAVES, DEPARTS, PAUSES, RESUMES, CREDITS, ACTS } moment_kind;

typedef struct moment {
    rlt_time t;
    moment_kind kind;
    uint32_t of, bytes; /* a packet, link or step; a credit */
    uint64_t order;
} moment;

typedef struct trip { /* a transmission */
    rlt_time from, to;
    uint32_t bytes;
} trip;

typedef struct port_model {
    const port_case *c;
    port_outcome out;
    bool tied, settled, mixed; /* mixed: a link changed with packets queued */
    rlt_time now, last;
    moment moments[4000];
    uint32_t n_moments;
    uint64_t order;
    struct {
        uint32_t hop, cuts; /* links crossed; failures of the last one when it was put there */
        bool unheard, marked;
    } packets[PACKETS];
    struct {
        uint64_t bw_Bps;
        rlt_time latency_ps;
        trip trips[8 * PACKETS];
        uint32_t n_trips, counted, cuts; /* counted: trips before the accounts were closed */
        bool failed;
        /* under back-pressure */
        uint32_t queue[4 * PACKETS], head, end, leaving, by;
        bool busy, paused, asked;
        uint64_t bytes, held;
        int64_t credit;
        rlt_time paused_at;
    } links[EDGES];
} port_model;

static inline uint32_t link_at(const port_model *m, uint32_t packet, uint32_t hop)
{
    uint32_t w = m->c->parcels[packet].walk;
    return hop < m->c->lengths[w] ? m->c->walks[w][hop] : NONE;
}

/* The link by which a packet came. */
static inline uint32_t came_by(const port_model *m, uint32_t packet)
{
    return m->packets[packet].hop ? link_at(m, packet, m->packets[packet].hop - 1) : NONE;
}

static inline rlt_node_kind end_of(const port_model *m, uint32_t link)
{
    return m->c->kinds[m->c->edges[link].dst];
}

static inline rlt_time time_of(const port_model *m, uint64_t bytes, uint32_t link)
{
    uint64_t bw = m->links[link].bw_Bps;
    return (rlt_time)(((unsigned __int128)bytes * 1000000000000 + bw / 2) / bw);
}

static inline void later(port_model *m, rlt_time t, moment_kind kind, uint32_t of, uint32_t bytes)
{
    assert_true(m->n_moments < 4000);
    m->moments[m->n_moments++] = (moment){t, kind, of, bytes, m->order++};
}

static inline bool is_guests(const port_model *m, uint32_t packet)
{
    return m->c->parcels[packet].flags & RLT_PACKET_GUEST;
}

static inline bool hears_left(const port_model *m, uint32_t packet)
{
    return is_guests(m, packet) ? m->c->guest_left : m->c->cfg.client.left != NULL;
}

/* Whether nothing but the arrival of packets can be seen. */
static inline bool is_simple(const port_model *m)
{
    const rlt_packets_config *f = &m->c->cfg;
    return !m->settled && !m->mixed && f->pause == RLT_PAUSE_NONE && !f->buffer_bytes && !f->ecn_max_bytes &&
           !(f->loss > 0) && !f->lose.n && !f->client.left && !m->c->guest_left && !f->series_bin_ps &&
           !f->links_fail;
}

/* Bytes of a link that have not left it. */
static inline double unsent(const port_model *m, uint32_t link)
{
    double bytes = 0;
    for (uint32_t i = m->links[link].n_trips; i-- > 0 && m->links[link].trips[i].to > m->now;) {
        const trip *t = &m->links[link].trips[i];
        rlt_time begin = t->from > m->now ? t->from : m->now;
        bytes += t->bytes * (double)(t->to - begin) / (double)(t->to - t->from);
    }
    return bytes;
}

/* What the client sees of a packet at its end. */
static inline void ends(port_model *m, uint32_t packet)
{
    uint8_t flags = m->c->parcels[packet].flags | (m->packets[packet].marked ? RLT_PACKET_CE : 0);
    m->out.fates[packet].flags = flags & ~(unsigned)RLT_PACKET_UNHEARD;
    m->out.fates[packet].hop = m->packets[packet].hop;
}

static inline void drops(port_model *m, uint32_t packet, uint32_t link)
{
    m->out.fates[packet].dropped = m->now;
    m->out.fates[packet].link = link;
    ends(m, packet);
    m->out.pending--;
}

static inline void may_mark(port_model *m, uint32_t packet, uint32_t link, double queue)
{
    const rlt_packets_config *f = &m->c->cfg;
    double low = (double)f->ecn_min_bytes, high = (double)f->ecn_max_bytes;
    if (!f->ecn_max_bytes || !(m->c->parcels[packet].flags & RLT_PACKET_ECT) || queue <= low ||
        m->c->edges[link].src < HOSTS)
        return;
    double p = queue > high ? 2 : f->ecn_probability * (queue - low) / (high - low);
    if (rlt_random_unit(f->seed, link, RLT_RANDOM_MARK, m->out.ports[link].packets) >= p)
        return;
    m->out.ports[link].marks++;
    m->packets[packet].marked = true;
}

/* Puts a packet on a link from a time on. Returns whether it is lost. */
static inline bool put_on_link(port_model *m, uint32_t packet, uint32_t link, rlt_time from)
{
    const rlt_packets_config *f = &m->c->cfg;
    uint32_t bytes = m->c->parcels[packet].bytes, next = link_at(m, packet, m->packets[packet].hop + 1);
    rlt_time span = time_of(m, bytes, link), awaited = span;
    uint64_t before = m->out.ports[link].packets++;
    bool lost = f->loss > 0 && rlt_random_unit(f->seed, link, RLT_RANDOM_LOSS, before) < f->loss;
    for (uint32_t i = 0; i < f->lose.n; i++)
        lost |= f->lose.items[i].link == link && f->lose.items[i].number == before + 1;
    assert_true(m->links[link].n_trips < 8 * PACKETS);
    m->links[link].trips[m->links[link].n_trips++] = (trip){from, from + span, bytes};
    if (lost) {
        m->out.ports[link].losses++;
        return true;
    }
    if (f->cut_through && f->header_bytes < bytes &&
        (next == NONE ? end_of(m, link) == RLT_SWITCH : m->links[next].bw_Bps <= m->links[link].bw_Bps))
        awaited = time_of(m, f->header_bytes, link);
    rlt_time comes = from + awaited + m->links[link].latency_ps;
    comes += end_of(m, link) == RLT_SWITCH ? f->switch_ps : 0;
    m->packets[packet].hop++;
    m->packets[packet].cuts = m->links[link].cuts;
    if (next == NONE && m->packets[packet].unheard && is_simple(m)) {
        m->out.pending--;
        m->out.events++;
        m->last = comes > m->last ? comes : m->last;
    } else {
        later(m, comes, COMES, packet, 0);
    }
    return false;
}

/* ---- back-pressure ---- */

static inline bool has_credit(const port_model *m, uint32_t link)
{
    return m->c->cfg.pause == RLT_PAUSE_CREDIT && m->c->edges[link].dst >= HOSTS;
}

static inline void give_back(port_model *m, rlt_time when, uint32_t link, uint32_t bytes)
{
    if (link != NONE && has_credit(m, link))
        later(m, when + m->links[link].latency_ps, CREDITS, link, bytes);
}

static inline void set_paused(port_model *m, uint32_t link, bool on)
{
    rlt_port_counts *p = &m->out.ports[link];
    if (m->links[link].paused && !on)
        p->paused_ps += m->now - m->links[link].paused_at;
    if (on && !m->links[link].paused) {
        p->pauses++;
        m->links[link].paused_at = m->now;
    }
    m->links[link].paused = on;
}

static inline void try_link(port_model *m, uint32_t link)
{
    if (m->links[link].busy || m->links[link].head == m->links[link].end)
        return;
    uint32_t packet = m->links[link].queue[m->links[link].head], bytes = m->c->parcels[packet].bytes;
    if (has_credit(m, link)) {
        set_paused(m, link, m->links[link].credit < (int64_t)bytes);
        m->links[link].credit -= m->links[link].paused ? 0 : bytes;
    }
    if (m->links[link].paused)
        return;
    m->links[link].head++;
    m->links[link].busy = true;
    m->links[link].leaving = packet;
    m->links[link].by = came_by(m, packet);
    rlt_time end = m->now + time_of(m, bytes, link);
    later(m, end, DEPARTS, link, 0);
    if (put_on_link(m, packet, link, m->now)) {
        give_back(m, end, link, bytes);
        drops(m, packet, link);
    }
}

static inline void release_held(port_model *m, uint32_t link, uint32_t bytes)
{
    m->links[link].held -= bytes;
    give_back(m, m->now, link, bytes);
    if (m->links[link].asked && m->links[link].held <= m->c->cfg.resume_bytes) {
        m->links[link].asked = false;
        later(m, m->now + m->links[link].latency_ps, RESUMES, link, 0);
    }
}

static inline void stand_in_line(port_model *m, uint32_t packet, uint32_t link)
{
    uint32_t by = came_by(m, packet), bytes = m->c->parcels[packet].bytes;
    may_mark(m, packet, link, (double)m->links[link].bytes);
    assert_true(m->links[link].end < 4 * PACKETS);
    m->links[link].queue[m->links[link].end++] = packet;
    m->links[link].bytes += bytes;
    m->out.peaks[link] = fmax(m->out.peaks[link], (double)m->links[link].bytes);
    if (by != NONE) {
        m->links[by].held += bytes;
        if (m->c->cfg.pause == RLT_PAUSE_PFC && m->c->edges[by].dst >= HOSTS && !m->links[by].asked &&
            m->links[by].held > m->c->cfg.pause_bytes) {
            m->links[by].asked = true;
            later(m, m->now + m->links[by].latency_ps, PAUSES, by, 0);
        }
    }
    try_link(m, link);
}

static inline void depart(port_model *m, uint32_t link)
{
    uint32_t packet = m->links[link].leaving, bytes = m->c->parcels[packet].bytes;
    m->links[link].busy = false;
    m->links[link].bytes -= bytes;
    if (m->links[link].by != NONE)
        release_held(m, m->links[link].by, bytes);
    else if (hears_left(m, packet))
        m->out.fates[packet].left = m->now;
    try_link(m, link);
}

/* ---- nodes ---- */

/* A packet is lost on a link that has failed, or in front of it. */
static inline void lose_at(port_model *m, uint32_t packet, uint32_t link)
{
    m->out.ports[link].losses++;
    if (m->packets[packet].hop == 0 && hears_left(m, packet))
        later(m, m->now, LEAVES, packet, 0);
    drops(m, packet, link);
}

static inline void queue_at(port_model *m, uint32_t packet, uint32_t link)
{
    const rlt_packets_config *f = &m->c->cfg;
    if (m->links[link].failed) {
        give_back(m, m->now, came_by(m, packet), m->c->parcels[packet].bytes);
        lose_at(m, packet, link);
        return;
    }
    if (f->pause != RLT_PAUSE_NONE) {
        stand_in_line(m, packet, link);
        return;
    }
    double queue = unsent(m, link), all = queue + m->c->parcels[packet].bytes;
    if (m->c->edges[link].src >= HOSTS && f->buffer_bytes) {
        m->tied |= queue > 0 && fabs(all - (double)f->buffer_bytes) < 1; /* within rounding */
        if (all > (double)f->buffer_bytes) {
            m->out.ports[link].drops++;
            drops(m, packet, link);
            return;
        }
    }
    may_mark(m, packet, link, queue);
    m->out.peaks[link] = fmax(m->out.peaks[link], all);
    uint32_t n = m->links[link].n_trips;
    rlt_time from = n && m->links[link].trips[n - 1].to > m->now ? m->links[link].trips[n - 1].to : m->now;
    bool at_source = m->packets[packet].hop == 0;
    bool lost = put_on_link(m, packet, link, from);
    if (at_source && hears_left(m, packet))
        later(m, m->links[link].trips[n].to, LEAVES, packet, 0);
    if (lost)
        drops(m, packet, link);
}

static inline void come(port_model *m, uint32_t packet)
{
    uint32_t by = came_by(m, packet), next = link_at(m, packet, m->packets[packet].hop);
    fate *f = &m->out.fates[packet];
    bool taken = false;
    if (by != NONE && m->links[by].cuts != m->packets[packet].cuts) {
        give_back(m, m->now, by, m->c->parcels[packet].bytes);
        lose_at(m, packet, by);
        return;
    }
    if (next != NONE && by != NONE && m->c->parcels[packet].flags & RLT_PACKET_PROBE &&
        end_of(m, by) == RLT_SWITCH && !is_guests(m, packet)) {
        f->seen_at[f->sights] = m->now;
        f->seen_by[f->sights++] = m->c->edges[by].dst;
        taken = takes(m->c->edges[by].dst, packet);
    }
    if (next != NONE && !taken) {
        queue_at(m, packet, next);
        return;
    }
    give_back(m, m->now, by, m->c->parcels[packet].bytes);
    m->out.pending--;
    if (taken)
        return;
    f->arrived = m->now;
    ends(m, packet);
}

/* ---- the client ---- */

static inline void change_link(port_model *m, uint32_t link, uint64_t bw_Bps)
{
    if (bw_Bps) {
        m->mixed |= unsent(m, link) > 0 && bw_Bps != m->links[link].bw_Bps;
        m->links[link].failed = false;
        m->links[link].bw_Bps = bw_Bps;
        return;
    }
    m->links[link].cuts += !m->links[link].failed;
    m->links[link].failed = true;
    while (m->links[link].head < m->links[link].end) {
        uint32_t packet = m->links[link].queue[m->links[link].head++], by = came_by(m, packet);
        m->links[link].bytes -= m->c->parcels[packet].bytes;
        if (by != NONE)
            release_held(m, by, m->c->parcels[packet].bytes);
        lose_at(m, packet, link);
    }
}

static inline void close_accounts(port_model *m)
{
    if (m->settled)
        return;
    m->settled = true;
    for (uint32_t i = 0; i < EDGES; i++) {
        m->links[i].counted = m->links[i].n_trips;
        for (uint32_t k = 0; k < m->links[i].n_trips; k++) {
            const trip *t = &m->links[i].trips[k];
            rlt_time to = t->to < m->now ? t->to : m->now, carried = to > t->from ? to - t->from : 0;
            m->out.active[i] += carried;
            m->out.bytes[i] += t->bytes * (double)carried / (double)(t->to - t->from);
        }
    }
}

static inline void send_parcel(port_model *m, uint32_t packet)
{
    const parcel *p = &m->c->parcels[packet];
    uint32_t link = link_at(m, packet, 0), n = link == NONE ? 0 : m->links[link].n_trips;
    m->out.pending++;
    m->packets[packet].unheard = p->flags & RLT_PACKET_UNHEARD && !(p->flags & RLT_PACKET_PROBE) &&
                                 m->c->lengths[p->walk] > 1 && is_simple(m);
    m->out.leaves[packet] = m->now;
    if (link == NONE) {
        later(m, m->now, COMES, packet, 0);
        return;
    }
    if (n && m->links[link].trips[n - 1].to > m->now)
        m->out.leaves[packet] = m->links[link].trips[n - 1].to;
    m->out.leaves[packet] += time_of(m, p->bytes, link);
    queue_at(m, packet, link);
}

static inline void act(port_model *m, uint32_t i)
{
    const step *s = &m->c->steps[i];
    if (s->what == CHANGES)
        change_link(m, s->link, s->bw_Bps);
    if (s->what == SETTLES)
        close_accounts(m);
    for (uint32_t k = s->first; k < s->end; k++)
        send_parcel(m, k);
    m->out.under_way[i] = m->out.pending;
    m->out.then[i] = m->out.ports[s->link];
    m->out.peaks_then[i] = m->out.peaks[s->link];
    if (m->links[s->link].paused)
        m->out.then[i].paused_ps += m->now - m->links[s->link].paused_at;
}

/* ---- the run ---- */

static inline bool is_before(const port_model *m, const moment *a, const moment *b)
{
    if (a->t != b->t)
        return a->t < b->t;
    if ((a->kind == ACTS) != (b->kind == ACTS))
        return b->kind == ACTS;
    if (m->c->ordered && a->kind == COMES && b->kind == COMES && came_by(m, a->of) != came_by(m, b->of))
        return came_by(m, a->of) < came_by(m, b->of);
    return a->order < b->order;
}

static inline uint32_t node_of(const port_model *m, const moment *a)
{
    if (a->kind == COMES)
        return came_by(m, a->of) == NONE ? NONE : m->c->edges[came_by(m, a->of)].dst;
    return a->kind == LEAVES || a->kind == ACTS ? NONE : m->c->edges[a->of].src;
}

/* With back-pressure the order of two events of a node at one instant is not promised. */
static inline bool are_tied(const port_model *m, const moment *a, const moment *b)
{
    bool credits = a->kind == CREDITS && b->kind == CREDITS && a->of == b->of;
    return m->c->cfg.pause != RLT_PAUSE_NONE && a->t == b->t && node_of(m, a) != NONE &&
           node_of(m, a) == node_of(m, b) && !credits;
}

static inline void happens(port_model *m, const moment *a)
{
    switch (a->kind) {
    case COMES:
        come(m, a->of);
        break;
    case LEAVES:
        m->out.fates[a->of].left = m->now;
        break;
    case DEPARTS:
        depart(m, a->of);
        break;
    case PAUSES:
        set_paused(m, a->of, true);
        break;
    case RESUMES:
        set_paused(m, a->of, false);
        try_link(m, a->of);
        break;
    case CREDITS:
        m->links[a->of].credit += a->bytes;
        try_link(m, a->of);
        break;
    case ACTS:
        act(m, a->of);
    }
}

/* The packet that the report of a stall names: the first one of the first port that waits. */
static inline void name_waiting(port_model *m)
{
    unsigned long long pending = m->out.pending;
    if (pending)
        snprintf(m->out.waits, sizeof m->out.waits, "%llu packets are under way", pending);
    for (uint32_t i = 0; i < EDGES && pending; i++) {
        if (m->links[i].head == m->links[i].end || m->links[i].busy)
            continue;
        uint32_t packet = m->links[i].queue[m->links[i].head], walk = m->c->parcels[packet].walk;
        const edge *first = &m->c->edges[m->c->walks[walk][0]], *at = &m->c->edges[i];
        const edge *last = &m->c->edges[m->c->walks[walk][m->c->lengths[walk] - 1]];
        int n =
            snprintf(m->out.waits, sizeof m->out.waits, "a packet of %u B from n%u to n%u waits at n%u->n%u",
                     m->c->parcels[packet].bytes, first->src, last->dst, at->src, at->dst);
        char *rest = m->out.waits + n;
        if (m->c->cfg.pause == RLT_PAUSE_CREDIT)
            snprintf(rest, 200, " for credit (available: %lld B); %llu packets are under way",
                     (long long)m->links[i].credit, pending);
        else
            snprintf(rest, 200, ", paused since %lld ps; %llu packets are under way",
                     (long long)m->links[i].paused_at, pending);
        return;
    }
}

static inline void begin_model(port_model *m, const port_case *c)
{
    memset(m, 0, sizeof *m);
    m->c = c;
    for (uint32_t i = 0; i < PACKETS; i++)
        m->out.fates[i].arrived = m->out.fates[i].left = m->out.fates[i].dropped = -1;
    for (uint32_t i = 0; i < EDGES; i++) {
        m->links[i].bw_Bps = (uint64_t)((double)c->edges[i].bw_Bps * c->cfg.bandwidth_scale);
        m->links[i].latency_ps = (rlt_time)((double)c->edges[i].latency_ps * c->cfg.latency_scale);
        m->links[i].credit = (int64_t)c->cfg.buffer_bytes;
    }
    for (uint32_t i = 0; i < STEPS; i++)
        later(m, c->steps[i].at, ACTS, i, 0);
}

static inline void run_model(port_model *m)
{
    while (m->n_moments && !m->tied) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < m->n_moments; i++)
            if (is_before(m, &m->moments[i], &m->moments[best]))
                best = i;
        moment a = m->moments[best];
        m->moments[best] = m->moments[--m->n_moments];
        for (uint32_t i = 0; i < m->n_moments; i++)
            m->tied |= are_tied(m, &m->moments[i], &a);
        m->now = a.t;
        m->out.events++;
        happens(m, &a);
    }
    for (uint32_t i = 0; i < EDGES; i++)
        if (m->links[i].paused)
            m->out.ports[i].paused_ps += m->now - m->links[i].paused_at;
    name_waiting(m);
    m->now = m->last > m->now ? m->last : m->now;
    close_accounts(m);
}

#endif
