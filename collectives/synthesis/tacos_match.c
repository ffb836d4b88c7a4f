/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Greedy matching on the time-expanded network. Whenever a link becomes free or a chunk arrives, the edges
 * that may have work are tried in random order, those with the earliest arrival first. A free edge takes a
 * chunk that its source holds and that its destination neither holds nor awaits.
 *
 * Restarts differ in their random numbers and in four rules. RAREST: take the rarest such chunk instead of
 * any. STAND_BACK: leave an edge idle if faster ones can bring all missing chunks sooner. DISTANT: do not
 * use a slow edge for a chunk that a nearer member has or awaits. EXCHANGE: an edge without such a chunk
 * takes one that is under way to its destination, and the transfer under way brings another one instead. The
 * choice of a chunk is thus final only at its arrival, as in the authors' program; but a transfer brings no
 * chunk that its source lacked when it began. The schedule with the earliest end wins.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/synthesis/tacos.h"
#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/random.h"
#include "sim/base/time.h"

enum { PURPOSE = 0x7ac05, RAREST = 1, STAND_BACK = 2, DISTANT = 4, EXCHANGE = 16 };
/* Budget of tried edges and visited chunks, after which no restart begins: a few tenths of a second. */
#define MAX_TRIES ((uint64_t)1 << 25)

typedef struct happening {
    rlt_time at;
    uint32_t send;
    uint32_t arrival; /* 1: the chunk arrives; 0: the links become free */
} happening;

typedef struct candidate {
    rlt_time cost;
    uint32_t edge, order;
} candidate;

typedef struct matching {
    const rlt_tacos_job *job;
    const rlt_tacos_net *net;
    uint32_t words; /* 64-bit words in a set of chunks */
    uint64_t *has;  /* chunks at each member */
    uint64_t *due;  /* chunks at each member or under way to it */
    uint64_t *used_Bps;
    uint64_t *could;   /* chunks that the current edge may bring */
    rlt_time *cost;    /* per edge: time until a chunk of the first one's size arrives */
    rlt_time *free_at; /* per edge: time when it is free again */
    uint32_t *holders; /* per chunk: members that have or await it */
    uint32_t *missing; /* per member: chunks that it neither has nor awaits */
    uint32_t *came;    /* per member and chunk: the instant when it came */
    uint32_t *began;   /* per send: the instant when it began */
    uint32_t *carries; /* per edge: its latest send */
    candidate *tries;
    uint8_t *listed; /* per edge: whether it is in `tries` */
    happening *heap;
    rlt_tacos_send *sends, *best;
    uint32_t n_tries, n_heap, n_sends, n_all;
    uint32_t restart, rules, instant;
    uint64_t drawn, tried;
    rlt_time now;
} matching;

static uint32_t source(const matching *m, uint32_t e)
{
    return m->job->reversed ? m->net->edges[e].dst : m->net->edges[e].src;
}

static uint32_t destination(const matching *m, uint32_t e)
{
    return m->job->reversed ? m->net->edges[e].src : m->net->edges[e].dst;
}

static uint32_t below(matching *m, uint32_t n)
{
    return (uint32_t)rlt_random_below(m->job->seed, m->restart, PURPOSE, m->drawn++, n);
}

static bool sooner(const matching *m, const happening *a, const happening *b)
{
    (void)m;
    if (a->at != b->at)
        return a->at < b->at;
    return a->send != b->send ? a->send < b->send : a->arrival < b->arrival;
}

RLT_HEAP(happenings, happening, matching, sooner)

/* Returns how long a chunk occupies the links of an edge; *arrival is the time from its start to its
 * arrival. */
static rlt_time hold(const matching *m, uint32_t e, uint64_t bytes, rlt_time *arrival)
{
    const rlt_tacos_edge *edge = &m->net->edges[e];
    rlt_message_cost cost = rlt_endpoint_cost(m->job->endpoint, bytes, edge->bw_Bps);
    rlt_time serial = rlt_transfer_time(cost.wire_bytes, edge->bw_Bps);
    *arrival = rlt_time_add(rlt_time_add(serial, edge->latency_ps), cost.delay_ps);
    return m->job->endpoint->injection == RLT_INJECT_BLOCKING ? *arrival : serial;
}

static void list(matching *m, uint32_t e)
{
    if (m->listed[e])
        return;
    m->listed[e] = 1;
    m->tries[m->n_tries++] = (candidate){.cost = m->cost[e], .edge = e};
}

static bool is_free(const matching *m, uint32_t e)
{
    const rlt_tacos_edge *edge = &m->net->edges[e];
    for (uint32_t i = edge->first; i < edge->first + edge->hops; i++)
        if (m->used_Bps[m->net->path[i]] + edge->bw_Bps > m->net->link_Bps[m->net->path[i]])
            return false;
    return true;
}

/* Sets m->could to the chunks that edge e may bring. */
static void find_possible(matching *m, uint32_t e)
{
    uint32_t to = destination(m, e);
    const uint64_t *has = m->has + (size_t)source(m, e) * m->words, *due = m->due + (size_t)to * m->words;
    for (uint32_t w = 0; w < m->words; w++)
        m->could[w] = has[w] & ~due[w];
    m->tried += m->words;
    if (!(m->rules & DISTANT))
        return;
    const uint32_t *first = m->job->reversed ? m->net->out_first : m->net->in_first;
    const uint32_t *rows = m->job->reversed ? m->net->out : m->net->in;
    for (uint32_t i = first[to]; i < first[to + 1]; i++) {
        const uint64_t *near = m->due + (size_t)source(m, rows[i]) * m->words;
        if (m->cost[rows[i]] >= m->cost[e])
            continue;
        for (uint32_t w = 0; w < m->words; w++)
            m->could[w] &= ~near[w];
        m->tried += m->words;
    }
}

/* Draws one of the chunks in m->could, or one of the rarest of them. RLT_NONE if there is none. */
static uint32_t draw(matching *m)
{
    uint32_t least = RLT_NONE, count = 0, picked = RLT_NONE;
    for (uint32_t w = 0; w < m->words; w++) {
        uint64_t could = m->could[w];
        if (!(m->rules & RAREST)) {
            count += (uint32_t)__builtin_popcountll(could);
            continue;
        }
        for (; could; could &= could - 1) {
            uint32_t h = m->holders[w * 64 + (uint32_t)__builtin_ctzll(could)];
            count = h < least ? 1 : count + (h == least);
            least = h < least ? h : least;
            m->tried++;
        }
    }
    if (!count)
        return RLT_NONE;
    uint32_t skip = count > 1 ? below(m, count) : 0;
    for (uint32_t w = 0; w < m->words && picked == RLT_NONE; w++) {
        for (uint64_t could = m->could[w]; could; could &= could - 1) {
            uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(could);
            if ((m->rules & RAREST) && m->holders[c] != least)
                continue;
            if (skip-- == 0) {
                picked = c;
                break;
            }
        }
    }
    return picked;
}

/* Whether the other edges into `to` could bring all its missing chunks before this edge is done. */
static bool stands_back(const matching *m, uint32_t e, uint32_t to)
{
    const uint32_t *first = m->job->reversed ? m->net->out_first : m->net->in_first;
    const uint32_t *rows = m->job->reversed ? m->net->out : m->net->in;
    rlt_time arrival, other;
    uint64_t could = 0;
    hold(m, e, m->job->bytes[0], &arrival);
    for (uint32_t i = first[to]; i < first[to + 1] && could < m->missing[to]; i++) {
        rlt_time each = hold(m, rows[i], m->job->bytes[0], &other);
        rlt_time begin = m->free_at[rows[i]] > m->now ? m->free_at[rows[i]] : m->now;
        rlt_time room = m->now + arrival - 1 - begin - (other - each);
        if (rows[i] != e && room >= each)
            could += each ? (uint64_t)(room / each) : UINT32_MAX;
    }
    return could >= m->missing[to];
}

static bool contains(const matching *m, const uint64_t *sets, uint32_t member, uint32_t chunk)
{
    return sets[(size_t)member * m->words + chunk / 64] >> chunk % 64 & 1;
}

/* Makes a member await a chunk, or no longer await it. */
static void await(matching *m, uint32_t member, uint32_t chunk, bool yes)
{
    uint64_t *due = &m->due[(size_t)member * m->words + chunk / 64], bit = (uint64_t)1 << chunk % 64;
    *due = yes ? *due | bit : *due & ~bit;
    m->holders[chunk] += yes ? 1 : UINT32_MAX;
    m->missing[member] += yes ? UINT32_MAX : 1;
}

/* Gives a transfer under way another chunk that its source held when it began and its destination lacks.
 * Chunks of one size only, so that its end remains. */
static bool exchange(matching *m, uint32_t send)
{
    rlt_tacos_send *s = &m->sends[send];
    uint32_t from = source(m, s->edge), to = destination(m, s->edge);
    const uint64_t *has = m->has + (size_t)from * m->words, *due = m->due + (size_t)to * m->words;
    for (uint32_t w = 0; w < m->words; w++) {
        m->could[w] = 0;
        for (uint64_t rest = has[w] & ~due[w]; rest; rest &= rest - 1) {
            uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(rest);
            bool fits = m->came[(size_t)from * m->job->chunks + c] <= m->began[send] &&
                        m->job->bytes[c] == m->job->bytes[s->chunk];
            m->could[w] |= fits ? rest & -rest : 0;
            m->tried++;
        }
    }
    uint32_t chunk = draw(m);
    if (chunk == RLT_NONE)
        return false;
    await(m, to, s->chunk, false);
    await(m, to, chunk, true);
    s->chunk = chunk;
    return true;
}

/* Finds a chunk for edge e, whose destination has or awaits all that e may bring: a transfer under way brings
 * one of them, and may as well bring another one. Returns the chunk; RLT_NONE if there is none. */
static uint32_t take_over(matching *m, uint32_t e)
{
    uint32_t from = source(m, e), to = destination(m, e);
    const uint32_t *first = m->job->reversed ? m->net->out_first : m->net->in_first;
    const uint32_t *rows = m->job->reversed ? m->net->out : m->net->in;
    uint32_t degree = first[to + 1] - first[to], skip = below(m, degree);
    for (uint32_t k = 0; k < degree; k++) {
        uint32_t i = m->carries[rows[first[to] + (k + skip) % degree]];
        uint32_t chunk = i == RLT_NONE ? 0 : m->sends[i].chunk;
        if (i != RLT_NONE && !contains(m, m->has, to, chunk) && contains(m, m->has, from, chunk) &&
            exchange(m, i))
            return chunk;
    }
    return RLT_NONE;
}

static void start(matching *m, uint32_t e, uint32_t chunk)
{
    uint32_t to = destination(m, e);
    const rlt_tacos_edge *edge = &m->net->edges[e];
    rlt_time arrival, busy = hold(m, e, m->job->bytes[chunk], &arrival);
    for (uint32_t i = edge->first; i < edge->first + edge->hops; i++)
        m->used_Bps[m->net->path[i]] += edge->bw_Bps;
    await(m, to, chunk, true);
    m->carries[e] = m->n_sends;
    m->began[m->n_sends] = m->instant;
    m->free_at[e] = rlt_time_add(m->now, busy);
    m->sends[m->n_sends] = (rlt_tacos_send){
        .start_ps = m->now, .end_ps = rlt_time_add(m->now, arrival), .edge = e, .chunk = chunk};
    happenings_push(m, m->heap, &m->n_heap,
                    (happening){.at = m->free_at[e], .send = m->n_sends, .arrival = 0});
    happenings_push(m, m->heap, &m->n_heap,
                    (happening){.at = m->sends[m->n_sends].end_ps, .send = m->n_sends, .arrival = 1});
    m->n_sends++;
}

static int by_cost(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void match_now(matching *m)
{
    for (uint32_t i = m->n_tries; i > 1; i--) {
        uint32_t j = below(m, i);
        candidate c = m->tries[i - 1];
        m->tries[i - 1] = m->tries[j];
        m->tries[j] = c;
    }
    for (uint32_t i = 0; m->net->uneven && i < m->n_tries; i++)
        m->tries[i].order = i;
    if (m->net->uneven)
        qsort(m->tries, m->n_tries, sizeof *m->tries, by_cost);
    m->tried += m->n_tries;
    for (uint32_t i = 0; i < m->n_tries; i++) {
        uint32_t e = m->tries[i].edge, to = destination(m, e);
        m->listed[e] = 0;
        if (!m->missing[to] || !is_free(m, e))
            continue;
        find_possible(m, e);
        uint32_t chunk = draw(m);
        if ((chunk == RLT_NONE && !(m->rules & EXCHANGE)) ||
            ((m->rules & STAND_BACK) && stands_back(m, e, to)))
            continue;
        if (chunk == RLT_NONE)
            chunk = take_over(m, e);
        if (chunk != RLT_NONE)
            start(m, e, chunk);
    }
    m->n_tries = 0;
    m->instant++;
}

static void apply(matching *m, happening h)
{
    const rlt_tacos_send *s = &m->sends[h.send];
    const rlt_tacos_edge *edge = &m->net->edges[s->edge];
    uint32_t at = destination(m, s->edge);
    if (h.arrival) {
        const uint32_t *first = m->job->reversed ? m->net->in_first : m->net->out_first;
        const uint32_t *rows = m->job->reversed ? m->net->in : m->net->out;
        m->has[(size_t)at * m->words + s->chunk / 64] |= (uint64_t)1 << s->chunk % 64;
        m->came[(size_t)at * m->job->chunks + s->chunk] = m->instant;
        for (uint32_t i = first[at]; i < first[at + 1]; i++)
            list(m, rows[i]);
        return;
    }
    for (uint32_t i = edge->first; i < edge->first + edge->hops; i++) {
        uint32_t link = m->net->path[i];
        m->used_Bps[link] -= edge->bw_Bps;
        for (uint32_t k = m->net->user_first[link]; k < m->net->user_first[link + 1]; k++)
            list(m, m->net->user[k]);
    }
}

static void reset(matching *m, uint32_t restart)
{
    uint32_t n = m->net->n, chunks = m->job->chunks;
    memset(m->has, 0, (size_t)n * m->words * sizeof *m->has);
    memset(m->used_Bps, 0, m->net->n_links * sizeof *m->used_Bps);
    memset(m->free_at, 0, m->net->n_edges * sizeof *m->free_at);
    for (uint32_t i = 0; i < n; i++)
        m->missing[i] = chunks;
    for (uint32_t c = 0; c < chunks; c++) {
        uint32_t o = m->job->owner[c];
        m->has[(size_t)o * m->words + c / 64] |= (uint64_t)1 << c % 64;
        m->came[(size_t)o * chunks + c] = 0;
        m->holders[c] = 1;
        m->missing[o]--;
    }
    memcpy(m->due, m->has, (size_t)n * m->words * sizeof *m->has);
    m->n_heap = m->n_sends = m->n_tries = 0;
    memset(m->carries, 0xff, m->net->n_edges * sizeof *m->carries); /* RLT_NONE */
    m->now = 0;
    m->instant = 0;
    m->drawn = 0;
    m->restart = restart;
    m->rules = restart & (RAREST | EXCHANGE);
    m->rules |= m->net->uneven ? ~restart & (STAND_BACK | DISTANT) : 0;
}

/* Runs one restart. Returns the time of the last arrival; RLT_TIME_MAX if it came to a standstill. */
static rlt_time run(matching *m, uint32_t restart)
{
    rlt_time last = 0;
    reset(m, restart);
    for (uint32_t e = 0; e < m->net->n_edges; e++)
        list(m, e);
    match_now(m);
    while (m->n_heap) {
        m->now = m->heap[0].at;
        while (m->n_heap && m->heap[0].at == m->now)
            apply(m, happenings_pop(m, m->heap, &m->n_heap));
        last = m->now;
        match_now(m);
    }
    return m->n_sends == m->n_all ? last : RLT_TIME_MAX;
}

static bool allocate(matching *m)
{
    const rlt_tacos_net *net = m->net;
    size_t sets = (size_t)net->n * m->words;
    m->has = malloc(sets * sizeof *m->has);
    m->due = malloc(sets * sizeof *m->due);
    m->used_Bps = malloc(net->n_links * sizeof *m->used_Bps);
    m->could = malloc(m->words * sizeof *m->could);
    m->cost = malloc(net->n_edges * sizeof *m->cost);
    m->free_at = malloc(net->n_edges * sizeof *m->free_at);
    m->holders = malloc(m->job->chunks * sizeof *m->holders);
    m->missing = malloc(net->n * sizeof *m->missing);
    m->tries = malloc(net->n_edges * sizeof *m->tries);
    m->came = malloc((size_t)net->n * m->job->chunks * sizeof *m->came);
    m->began = malloc((size_t)m->n_all * sizeof *m->began);
    m->carries = malloc(net->n_edges * sizeof *m->carries);
    m->listed = calloc(net->n_edges, 1);
    m->heap = malloc(2 * (size_t)m->n_all * sizeof *m->heap);
    m->sends = malloc((size_t)m->n_all * sizeof *m->sends);
    return m->has && m->due && m->used_Bps && m->could && m->cost && m->free_at && m->holders && m->missing &&
           m->came && m->began && m->carries && m->tries && m->listed && m->heap && m->sends;
}

static void release(matching *m)
{
    free(m->sends);
    free(m->heap);
    free(m->listed);
    free(m->carries);
    free(m->began);
    free(m->came);
    free(m->tries);
    free(m->missing);
    free(m->holders);
    free(m->free_at);
    free(m->cost);
    free(m->could);
    free(m->used_Bps);
    free(m->due);
    free(m->has);
}

int rlt_tacos_match(const rlt_tacos_job *job, rlt_tacos_send *sends, rlt_time *time_ps, uint64_t *tried,
                    rlt_error *err)
{
    matching m = {.job = job, .net = job->net, .words = (job->chunks + 63) / 64};
    rlt_time best = RLT_TIME_MAX;
    int rc = 0;
    m.n_all = job->chunks * (job->net->n - 1);
    if (!allocate(&m)) {
        rc = rlt_nomem(err);
        goto out;
    }
    for (uint32_t e = 0; e < job->net->n_edges; e++)
        hold(&m, e, job->bytes[0], &m.cost[e]);
    for (uint32_t r = 0; r < job->restarts || (r < 8 && best == RLT_TIME_MAX); r++) {
        if (best != RLT_TIME_MAX && m.tried > MAX_TRIES)
            break;
        rlt_time t = run(&m, r);
        if (t < best)
            memcpy(sends, m.sends, m.n_all * sizeof *sends);
        best = t < best ? t : best;
    }
    *time_ps = best;
    *tried += m.tried;
    if (best == RLT_TIME_MAX)
        rc = rlt_fail(err, RLT_ETOPOLOGY, "tacos", "the search found no further transfer");
out:
    release(&m);
    return rc;
}
