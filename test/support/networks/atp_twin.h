/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of ATP, packet by packet, on one switch or on leaves below a spine: windows, slots, marks,
 * timeouts, times to live and servers. It is written from the rules in collectives/in_network/atp.c and
 * net/aggregation/aggregator.h, and it adds sets of workers instead of numbers.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_ATP_TWIN_H
#define RLT_TEST_SUPPORT_NETWORKS_ATP_TWIN_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { HOSTS = 16, NODES = 24, JOBS = 2, CHUNKS = 48, SLOTS = 16, EVENTS = 4096, PS_PER_BYTE = 80 };
enum { S_PS = 500000 };

/* What a packet is; the numbers of the library. */
enum kind { DATA, RESULT, ANSWER, REPLY, SUM, PARTIAL, ALONE };
enum what { PACKET, BEGIN, TIMER, CLOCK, EXPIRE };
/* What a switch is for a job: nothing, a place that copies results, or one that adds. */
enum stop { PASSES, COPIES, ADDS };

typedef struct packet {
    enum kind kind;
    uint32_t job, chunk, slot, bytes, set; /* set: the workers in the sum, a bit each */
    uint32_t src, to, via, at;             /* nodes; via: RLT_NONE, or where it must come by */
    bool ect, ce, resend, expired, lost;
} packet;

typedef struct event {
    rlt_time time;
    uint64_t order;
    enum what what;
    packet p; /* not a packet: job, chunk, slot, at (worker or switch) are used */
} event;

typedef struct bank {
    bool used, sent;
    uint32_t job, chunk, set, marks;
} bank;

typedef struct worker {
    uint32_t next, base, flying, gaps, left, silent;
    uint64_t cwnd;
    rlt_time heard;
    bool begun, marked, has[CHUNKS];
} worker;

typedef struct place {
    uint32_t chunk, seen, count;
    rlt_time replied;
    bool open, collided, marked, done, waits;
} place;

typedef struct twin_job {
    /* the case */
    uint32_t n, workers, servers, host[HOSTS], payload, wire, chunks, window, start, aggregators, gap, tries;
    uint32_t priority, increase;
    uint64_t bytes;
    rlt_time begins, late[HOSTS], rto, ttl;
    bool leave, spine_only;
    /* its run */
    enum stop stop[NODES];
    uint32_t root, adders, slots, granted[NODES], missing;
    worker at[HOSTS];
    place places[CHUNKS];
    uint32_t rounds[CHUNKS], sums[CHUNKS];
    bool said[CHUNKS];
    rlt_react_result r;
} twin_job;

typedef struct twin {
    uint32_t hosts, leaves, slots, mark_bytes, lose_percent, n_jobs, preempt; /* leaves 0: one switch */
    rlt_slot_sharing sharing;
    rlt_time latency[NODES]; /* of the link above a node */
    twin_job jobs[JOBS];
    rlt_time now, up[NODES], down[NODES];
    bank banks[NODES][JOBS][SLOTS];
    event *events;
    uint32_t n_events;
    uint64_t order;
    char stalled[200];
    /* the library's run */
    rlt_sim *sim;
} twin;

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* ---- the network ---- */

static uint32_t above(const twin *t, uint32_t node)
{
    return node < t->hosts ? t->hosts + (t->leaves ? node % t->leaves : 0) : t->hosts + t->leaves;
}

static void post(twin *t, rlt_time when, enum what what, packet p)
{
    assert_true(t->n_events < EVENTS);
    t->events[t->n_events++] = (event){when, t->order++, what, p};
}

/* Puts a packet on the next link of its way. */
static void put(twin *t, packet p)
{
    uint32_t goal = p.via != RLT_NONE ? p.via : p.to, next = above(t, p.at);
    if (p.at >= t->hosts && goal < t->hosts && above(t, goal) == p.at)
        next = goal;
    else if (p.at == t->hosts + t->leaves)
        next = goal < t->hosts ? above(t, goal) : goal;
    bool down = next < t->hosts || (p.at == t->hosts + t->leaves);
    rlt_time *free = down ? &t->down[next] : &t->up[p.at];
    rlt_time begin = *free > t->now ? *free : t->now;
    if (p.at >= t->hosts && p.ect && t->mark_bytes && begin - t->now > (rlt_time)t->mark_bytes * PS_PER_BYTE)
        p.ce = true;
    *free = begin + (rlt_time)p.bytes * PS_PER_BYTE;
    rlt_time after = t->latency[down ? next : p.at] + (next >= t->hosts ? S_PS : 0);
    p.at = next;
    post(t, *free + after, PACKET, p);
}

static bool is_lost(const twin *t, rlt_time now, enum kind kind, uint32_t src, uint32_t to, uint32_t chunk)
{
    uint64_t mix = rlt_mix64(
        (uint64_t)now ^ rlt_mix64((uint64_t)kind << 48 | (uint64_t)src << 40 | (uint64_t)to << 32 | chunk));
    return mix % 100 < t->lose_percent;
}

static void launch(twin *t, packet p)
{
    p.lost = is_lost(t, t->now, p.kind, p.src, p.to, p.chunk);
    put(t, p);
}

static uint32_t server_of(const twin_job *j, uint32_t chunk)
{
    return j->host[j->workers + chunk % j->servers];
}

/* ---- workers ---- */

static uint32_t slot_of(const twin_job *j, uint32_t number, uint32_t chunk)
{
    return j->slots ? rlt_slot_hash(number, chunk % j->window, j->rounds[chunk] & 0xff, j->slots) : 0;
}

static uint32_t room_of(const twin_job *j, const worker *w)
{
    uint64_t n = w->cwnd / j->wire;
    n = n > j->window ? j->window : n;
    return n ? (uint32_t)n : 1;
}

static void contribute(twin *t, uint32_t number, uint32_t who, uint32_t chunk, bool again)
{
    twin_job *j = &t->jobs[number];
    uint32_t host = j->host[who], to = above(t, host);
    if (j->stop[to] != ADDS)
        to = j->root;
    rlt_time begin = t->up[host] > t->now ? t->up[host] : t->now;
    rlt_time leaves = begin + (rlt_time)j->wire * PS_PER_BYTE;
    launch(t, (packet){.kind = DATA,
                       .job = number,
                       .chunk = chunk,
                       .slot = slot_of(j, number, chunk),
                       .bytes = j->wire,
                       .set = 1u << who,
                       .src = host,
                       .to = to,
                       .via = RLT_NONE,
                       .at = host,
                       .ect = true,
                       .resend = again});
    if (leaves > j->at[who].heard)
        j->at[who].heard = leaves;
    j->r.packets++;
    j->r.retransmissions += again;
}

static void fill(twin *t, uint32_t number, uint32_t who)
{
    twin_job *j = &t->jobs[number];
    worker *w = &j->at[who];
    uint32_t room = room_of(j, w);
    for (; w->next < j->chunks; w->next++) {
        if (w->has[w->next])
            continue;
        if (w->flying >= room || (w->next >= j->window && !w->has[w->next - j->window]))
            break;
        w->flying++;
        contribute(t, number, who, w->next, false);
    }
}

static rlt_time patience(const twin_job *j, const worker *w)
{
    rlt_time rto = j->rto;
    for (uint32_t i = 0; i < w->silent && i < 6; i++)
        rto *= 2;
    return rto;
}

static void set_timer(twin *t, uint32_t number, uint32_t who)
{
    const worker *w = &t->jobs[number].at[who];
    post(t, w->heard + patience(&t->jobs[number], w), TIMER, (packet){.job = number, .at = who});
}

static void begin(twin *t, uint32_t number, uint32_t who)
{
    twin_job *j = &t->jobs[number];
    worker *w = &j->at[who];
    w->begun = true;
    w->heard = t->now;
    w->cwnd = (uint64_t)j->start * j->wire;
    w->left = room_of(j, w);
    fill(t, number, who);
    if (w->base < j->chunks)
        set_timer(t, number, who);
}

static void timer(twin *t, uint32_t number, uint32_t who)
{
    twin_job *j = &t->jobs[number];
    worker *w = &j->at[who];
    if (w->base == j->chunks) /* it has everything: there is no timer any more */
        return;
    if (t->now - w->heard >= patience(j, w)) {
        j->r.timeouts++;
        if (++w->silent > j->tries) {
            snprintf(t->stalled, sizeof t->stalled,
                     "rank %u got no answer for chunk %u after %u consecutive timeouts (%" PRIu64
                     " packets were lost)",
                     j->host[who], w->base, w->silent, j->r.lost);
            return;
        }
        w->cwnd /= 2;
        w->gaps = 0;
        uint32_t room = room_of(j, w);
        for (uint32_t c = w->base; c < w->next && room; c++)
            if (!w->has[c]) {
                contribute(t, number, who, c, true);
                room--;
            }
        if (t->now > w->heard)
            w->heard = t->now;
        fill(t, number, who);
    }
    set_timer(t, number, who);
}

static void adapt(const twin_job *j, worker *w, bool marked)
{
    w->marked |= marked;
    if (w->left > 1) {
        w->left--;
        return;
    }
    uint64_t most = (uint64_t)j->window * j->wire;
    if (w->marked)
        w->cwnd /= 2;
    else
        w->cwnd += j->increase;
    w->cwnd = w->cwnd < j->wire ? j->wire : w->cwnd > most ? most : w->cwnd;
    w->marked = false;
    w->left = room_of(j, w);
}

static void at_worker(twin *t, const packet *p)
{
    twin_job *j = &t->jobs[p->job];
    uint32_t who = 0, c = p->chunk;
    while (j->host[who] != p->at)
        who++;
    worker *w = &j->at[who];
    if (w->has[c]) {
        j->r.duplicates++;
        return;
    }
    w->has[c] = true;
    if (--j->missing == 0) {
        j->r.end_ps = t->now;
        j->r.time_ps = t->now - j->begins;
    }
    w->silent = 0;
    if (t->now > w->heard)
        w->heard = t->now;
    if (c < w->next)
        w->flying--;
    if (c == w->base) {
        w->gaps = 0;
        while (w->base < j->chunks && w->has[w->base])
            w->base++;
    } else if (w->base < w->next && ++w->gaps == j->gap * j->servers) {
        contribute(t, p->job, who, w->base, true);
    }
    if (!w->begun)
        return;
    adapt(j, w, p->ce || j->said[c]);
    fill(t, p->job, who);
}

/* ---- switches ---- */

static uint32_t all_below(const twin *t, const twin_job *j, uint32_t node)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < j->workers; i++)
        if (node == j->root || above(t, j->host[i]) == node)
            set |= 1u << i;
    return set;
}

/* Sends what a switch has on to the server of a job, by way of the root. */
static void to_server(twin *t, uint32_t node, packet p, enum kind kind, uint32_t set)
{
    const twin_job *j = &t->jobs[p.job];
    p.kind = kind;
    p.set = set;
    p.src = kind == ALONE ? p.src : node;
    p.to = server_of(j, p.chunk);
    p.via = node == j->root ? RLT_NONE : j->root;
    p.at = node;
    launch(t, p);
}

static void evict(twin *t, uint32_t node, const bank *b, packet by)
{
    t->jobs[b->job].r.switches.evictions++;
    by.job = b->job;
    by.chunk = b->chunk;
    by.bytes = t->jobs[b->job].wire;
    to_server(t, node, by, PARTIAL, b->set);
}

static void forward(twin *t, uint32_t node, packet p)
{
    bool alone = p.src < t->hosts;
    to_server(t, node, p, alone ? ALONE : PARTIAL, p.set);
}

/* A sum that has just grown is sent if it is complete. */
static void settle(twin *t, uint32_t node, bank *b, packet p)
{
    twin_job *j = &t->jobs[p.job];
    if (b->set != all_below(t, j, node))
        return;
    j->r.switches.completions++;
    b->sent = true;
    p.ce |= b->marks > 0;
    if (node == j->root) {
        to_server(t, node, p, SUM, b->set);
        return;
    }
    p.set = b->set;
    p.src = p.at = node;
    p.to = j->root;
    p.via = RLT_NONE;
    p.resend = false;
    launch(t, p);
}

static void claim(twin *t, uint32_t node, bank *b, packet p)
{
    twin_job *j = &t->jobs[p.job];
    *b = (bank){true, false, p.job, p.chunk, p.set, p.ce};
    j->r.switches.contributions++;
    if (j->ttl)
        post(t, t->now + j->ttl, CLOCK, (packet){.job = p.job, .chunk = p.chunk, .slot = p.slot, .at = node});
    settle(t, node, b, p);
}

static bank *bank_at(twin *t, uint32_t node, uint32_t number, uint32_t slot)
{
    return &t->banks[node][t->sharing == RLT_SHARE_DYNAMIC ? 0 : number][slot];
}

static void taken(twin *t, uint32_t node, bank *b, const packet *p)
{
    rlt_agg_counts *n = &t->jobs[p->job].r.switches;
    n->collisions++;
    n->foreign += b->job != p->job;
    if (!t->preempt || t->jobs[p->job].priority <= t->jobs[b->job].priority || p->resend) {
        n->fallbacks++;
        forward(t, node, *p);
        return;
    }
    t->jobs[b->job].r.switches.preemptions++;
    if (!b->sent)
        evict(t, node, b, *p);
    claim(t, node, b, *p);
}

static void contribution(twin *t, uint32_t node, const packet *p)
{
    twin_job *j = &t->jobs[p->job];
    rlt_agg_counts *n = &j->r.switches;
    bank *b = bank_at(t, node, p->job, p->slot);
    n->packets++;
    if (j->granted[node] == 0) {
        n->fallbacks++;
        forward(t, node, *p);
    } else if (!b->used && !p->resend) {
        claim(t, node, b, *p);
    } else if (!b->used) {
        n->resends++;
        forward(t, node, *p);
    } else if (b->job != p->job || b->chunk != p->chunk) {
        taken(t, node, b, p);
    } else if (b->sent || p->resend) {
        n->resends++;
        if (b->sent)
            n->duplicates += (b->set & p->set) != 0;
        else
            evict(t, node, b, *p);
        b->used = b->sent;
        forward(t, node, *p);
    } else if (b->set & p->set) {
        n->duplicates++;
    } else {
        b->set |= p->set;
        b->marks += p->ce;
        n->contributions++;
        settle(t, node, b, *p);
    }
}

/* A result on its way down frees its slot, and is copied to all below. */
static void result(twin *t, uint32_t node, packet p)
{
    const twin_job *j = &t->jobs[p.job];
    if (j->stop[node] == ADDS && p.slot < j->granted[node]) {
        bank *b = bank_at(t, node, p.job, p.slot);
        if (b->used && b->job == p.job && b->chunk == p.chunk)
            b->used = false;
    }
    p.kind = RESULT;
    p.src = p.at = node;
    for (uint32_t leaf = t->hosts; node == j->root && leaf < t->hosts + t->leaves; leaf++)
        if (j->stop[leaf] != PASSES) {
            p.to = leaf;
            launch(t, p);
        }
    for (uint32_t i = 0; i < j->workers; i++) {
        uint32_t leaf = above(t, j->host[i]);
        if (leaf == node || (node == j->root && j->stop[leaf] == PASSES)) {
            p.to = j->host[i];
            launch(t, p);
        }
    }
}

static void clock_of(twin *t, const packet *c)
{
    twin_job *j = &t->jobs[c->job];
    bank *b = bank_at(t, c->at, c->job, c->slot);
    if (!b->used || b->sent || b->job != c->job || b->chunk != c->chunk)
        return;
    j->r.switches.partials++;
    b->sent = true;
    packet p = {.job = c->job, .chunk = c->chunk, .bytes = j->wire, .ect = true, .expired = true};
    to_server(t, c->at, p, PARTIAL, b->set);
}

/* ---- servers ---- */

static void reply(twin *t, uint32_t number, uint32_t chunk, place *x)
{
    twin_job *j = &t->jobs[number];
    uint32_t server = server_of(j, chunk);
    x->replied = t->now;
    j->r.packets++;
    launch(t, (packet){.kind = REPLY,
                       .job = number,
                       .chunk = chunk,
                       .slot = slot_of(j, number, chunk),
                       .bytes = j->wire,
                       .set = j->sums[chunk],
                       .src = server,
                       .at = server,
                       .to = j->root,
                       .via = RLT_NONE,
                       .ect = true});
}

static void finish(twin *t, uint32_t number, place *x)
{
    twin_job *j = &t->jobs[number];
    x->done = true;
    j->sums[x->chunk] = x->seen;
    j->said[x->chunk] = x->marked;
    if (x->chunk + j->window < j->chunks)
        j->rounds[x->chunk + j->window] = j->rounds[x->chunk] + x->collided;
    j->r.left_out += j->workers - x->count;
    reply(t, number, x->chunk, x);
}

static void answer_again(twin *t, const packet *p, place *x)
{
    twin_job *j = &t->jobs[p->job];
    bool recent = x->chunk != p->chunk || t->now - x->replied < j->rto / 2;
    bool asks = p->kind == ALONE && p->resend;
    if ((asks || (p->kind == PARTIAL && p->expired)) && !recent) {
        reply(t, p->job, p->chunk, x);
    } else if (asks) {
        uint32_t server = server_of(j, p->chunk);
        j->r.packets++;
        launch(t, (packet){.kind = ANSWER,
                           .job = p->job,
                           .chunk = p->chunk,
                           .bytes = j->wire,
                           .src = server,
                           .at = server,
                           .to = p->src,
                           .via = RLT_NONE});
    }
}

static void merge(twin *t, const packet *p, place *x)
{
    twin_job *j = &t->jobs[p->job];
    x->marked |= p->ce;
    if (p->kind == SUM) {
        x->count = j->workers;
    } else {
        x->collided |= !p->resend && !p->expired;
        if (!(x->seen & p->set)) {
            x->seen |= p->set;
            x->count += bits(p->set);
        }
    }
    if (x->count == j->workers || (j->leave && p->expired && j->adders == 1)) {
        finish(t, p->job, x);
    } else if (j->leave && p->expired && !x->waits) {
        x->waits = true;
        post(t, t->now + j->ttl, EXPIRE, *p);
    }
}

static void at_server(twin *t, const packet *p)
{
    twin_job *j = &t->jobs[p->job];
    place *x = &j->places[p->chunk % j->window];
    j->r.server_bytes += p->bytes;
    j->r.aggregated += p->kind == SUM;
    j->r.unaggregated += p->kind == ALONE;
    if (!x->open || p->chunk > x->chunk)
        *x = (place){.chunk = p->chunk, .open = true};
    if (p->chunk < x->chunk || x->done)
        answer_again(t, p, x);
    else
        merge(t, p, x);
}

/* ---- the run ---- */

static void arrive(twin *t, packet *p)
{
    if (p->at == p->via)
        p->via = RLT_NONE;
    if (p->at != p->to || p->via != RLT_NONE)
        put(t, *p);
    else if (p->lost)
        t->jobs[p->job].r.lost++;
    else if (p->at >= t->hosts && p->kind == DATA)
        contribution(t, p->at, p);
    else if (p->at >= t->hosts)
        result(t, p->at, *p);
    else if (p->kind == SUM || p->kind == PARTIAL || p->kind == ALONE)
        at_server(t, p);
    else
        at_worker(t, p);
}

static void happen(twin *t, event *e)
{
    twin_job *j = &t->jobs[e->p.job];
    place *x = &j->places[e->p.chunk % j->window];
    switch (e->what) {
    case PACKET:
        arrive(t, &e->p);
        break;
    case BEGIN:
        begin(t, e->p.job, e->p.at);
        break;
    case TIMER:
        timer(t, e->p.job, e->p.at);
        break;
    case CLOCK:
        clock_of(t, &e->p);
        break;
    case EXPIRE:
        if (x->chunk == e->p.chunk && !x->done)
            finish(t, e->p.job, x);
        break;
    }
}

/* Which switches add for a job: the root, and each leaf with two workers or more; and its slots there. */
static void plant(twin *t, uint32_t number)
{
    twin_job *j = &t->jobs[number];
    j->root = t->hosts + t->leaves;
    j->slots = 1 << 20;
    for (uint32_t v = t->hosts; v <= j->root; v++) {
        bool two = v == j->root || bits(all_below(t, j, v)) > 1;
        j->stop[v] = !two ? PASSES : v != j->root && j->spine_only ? COPIES : ADDS;
        if (j->stop[v] != ADDS)
            continue;
        uint32_t want = j->aggregators < t->slots ? j->aggregators : t->slots;
        if (t->sharing == RLT_SHARE_STATIC && t->n_jobs > 1 && want > t->slots / t->n_jobs)
            want = t->slots / t->n_jobs;
        if (number && t->sharing == RLT_SHARE_FIRST_COME && want > t->slots - t->jobs[0].granted[v])
            want = t->slots - t->jobs[0].granted[v];
        j->granted[v] = t->sharing == RLT_SHARE_DYNAMIC ? t->slots : want;
        j->slots = j->granted[v] < j->slots ? j->granted[v] : j->slots;
        j->adders++;
    }
}

/* At one instant packets come first, then what is begun; each in the order in which it was posted. */
static bool is_before(const event *a, const event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if ((a->what == PACKET) != (b->what == PACKET))
        return a->what == PACKET;
    return a->order < b->order;
}

static void twin_run(twin *t)
{
    t->events = calloc(EVENTS, sizeof *t->events);
    assert_non_null(t->events);
    for (uint32_t k = 0; k < t->n_jobs; k++) {
        twin_job *j = &t->jobs[k];
        plant(t, k);
        j->missing = j->workers * j->chunks;
        if (!j->missing)
            j->r.end_ps = j->begins;
        for (uint32_t i = 0; i < j->workers && j->missing; i++)
            post(t, j->begins + j->late[i], BEGIN, (packet){.job = k, .at = i});
    }
    while (t->n_events && !t->stalled[0]) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < t->n_events; i++) {
            if (is_before(&t->events[i], &t->events[first]))
                first = i;
        }
        event e = t->events[first];
        t->events[first] = t->events[--t->n_events];
        t->now = e.time;
        happen(t, &e);
    }
    free(t->events);
}

#endif
