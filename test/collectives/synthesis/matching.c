/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The greedy matching against a second one, which is slow and simple: sets are arrays of bool, the next event is
 * searched, and every rule is written as tacos_match.c words it. With the same random numbers both must send
 * the same chunks at the same times, and count the same tries. Random networks: members, edges over one to three
 * links, capacities, latencies, sizes, owners, directions.
 */
#include "collectives/synthesis/tacos.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"

enum { MEMBERS = 6, EDGES = 40, LINKS = 12, CHUNKS = 140, SENDS = CHUNKS * (MEMBERS - 1), DRAWS = 0x7ac05 };

/* A network with its arrays. */
typedef struct world {
    rlt_tacos_net net;
    rlt_tacos_edge edges[EDGES];
    uint32_t path[3 * EDGES], user_first[LINKS + 1], user[3 * EDGES];
    uint32_t out_first[MEMBERS + 1], out[EDGES], in_first[MEMBERS + 1], in[EDGES];
    uint64_t link_Bps[LINKS], bytes[CHUNKS];
    uint32_t owner[CHUNKS];
    rlt_endpoint endpoint;
    rlt_tacos_job job;
} world;

/* What happens to a send: at `frees` its links are free, at `comes` its chunk is there. */
typedef struct transfer {
    rlt_tacos_send send;
    rlt_time frees;
    uint32_t began;
    bool freed, come;
} transfer;

typedef struct model {
    const world *w;
    bool has[MEMBERS][CHUNKS], due[MEMBERS][CHUNKS], could[CHUNKS];
    uint32_t came[MEMBERS][CHUNKS], instant, restart, queue[EDGES], queued, n;
    uint64_t drawn, tried;
    rlt_time now, free_at[EDGES];
    transfer t[SENDS];
    bool rarest, stand_back, distant, exchanges;
} model;

static uint32_t from_of(const world *w, uint32_t e)
{
    return w->job.reversed ? w->edges[e].dst : w->edges[e].src;
}

static uint32_t to_of(const world *w, uint32_t e)
{
    return w->job.reversed ? w->edges[e].src : w->edges[e].dst;
}

static rlt_time takes(const world *w, uint32_t e, uint64_t bytes, rlt_time *arrival)
{
    rlt_time busy = (rlt_time)((bytes * 1000000000000u + w->edges[e].bw_Bps / 2) / w->edges[e].bw_Bps);
    *arrival = busy + w->edges[e].latency_ps + w->endpoint.message_ps;
    return w->endpoint.injection == RLT_INJECT_BLOCKING ? *arrival : busy;
}

static uint32_t draw(model *m, uint32_t n)
{
    return (uint32_t)rlt_random_below(m->w->job.seed, m->restart, DRAWS, m->drawn++, n);
}

static uint32_t lacking(const model *m, uint32_t member)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < m->w->job.chunks; c++)
        n += !m->due[member][c];
    return n;
}

static uint32_t holders(const model *m, uint32_t chunk)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->w->net.n; i++)
        n += m->due[i][chunk];
    return n;
}

static bool fits(const model *m, uint32_t e)
{
    const world *w = m->w;
    for (uint32_t i = 0; i < w->edges[e].hops; i++) {
        uint32_t link = w->path[w->edges[e].first + i];
        uint64_t used = w->edges[e].bw_Bps;
        for (uint32_t s = 0; s < m->n; s++) {
            const rlt_tacos_edge *o = &w->edges[m->t[s].send.edge];
            for (uint32_t k = 0; k < o->hops && !m->t[s].freed; k++)
                used += w->path[o->first + k] == link ? o->bw_Bps : 0;
        }
        if (used > w->link_Bps[link])
            return false;
    }
    return true;
}

static uint32_t choose(model *m)
{
    uint32_t least = UINT32_MAX, count = 0, list[CHUNKS];
    for (uint32_t c = 0; c < m->w->job.chunks; c++)
        if (m->could[c] && holders(m, c) < least)
            least = holders(m, c);
    for (uint32_t c = 0; c < m->w->job.chunks; c++) {
        m->tried += m->could[c] && m->rarest;
        if (m->could[c] && (!m->rarest || holders(m, c) == least))
            list[count++] = c;
    }
    if (count == 0)
        return RLT_NONE;
    return list[count > 1 ? draw(m, count) : 0];
}

static void list_possible(model *m, uint32_t e)
{
    const world *w = m->w;
    uint32_t words = (w->job.chunks + 63) / 64;
    rlt_time mine, other;
    takes(w, e, w->bytes[0], &mine);
    for (uint32_t c = 0; c < w->job.chunks; c++)
        m->could[c] = m->has[from_of(w, e)][c] && !m->due[to_of(w, e)][c];
    m->tried += words;
    for (uint32_t o = 0; o < w->net.n_edges && m->distant; o++) {
        takes(w, o, w->bytes[0], &other);
        if (to_of(w, o) != to_of(w, e) || other >= mine)
            continue;
        m->tried += words;
        for (uint32_t c = 0; c < w->job.chunks; c++)
            m->could[c] &= !m->due[from_of(w, o)][c];
    }
}

/* Whether other edges bring all that the destination lacks before edge e could bring a chunk. */
static bool leaves_it(const model *m, uint32_t e)
{
    const world *w = m->w;
    rlt_time mine, other;
    uint64_t bring = 0, lacks = lacking(m, to_of(w, e));
    takes(w, e, w->bytes[0], &mine);
    for (uint32_t o = 0; o < w->net.n_edges; o++) {
        if (to_of(w, o) != to_of(w, e) || o == e)
            continue;
        rlt_time busy = takes(w, o, w->bytes[0], &other),
                 begin = m->free_at[o] > m->now ? m->free_at[o] : m->now;
        /* Chunk k arrives at begin + (k - 1) busy + other, which must be before now + mine. */
        for (uint64_t k = 1; bring < lacks && begin + (rlt_time)(k - 1) * busy + other < m->now + mine; k++)
            bring++;
    }
    return bring >= lacks;
}

static bool swap_chunk(model *m, transfer *t)
{
    const world *w = m->w;
    uint32_t from = from_of(w, t->send.edge), to = to_of(w, t->send.edge);
    for (uint32_t c = 0; c < w->job.chunks; c++) {
        bool open = m->has[from][c] && !m->due[to][c];
        m->tried += open;
        m->could[c] = open && m->came[from][c] <= t->began && w->bytes[c] == w->bytes[t->send.chunk];
    }
    uint32_t c = choose(m);
    if (c == RLT_NONE)
        return false;
    m->due[to][t->send.chunk] = false;
    m->due[to][c] = true;
    t->send.chunk = c;
    return true;
}

static uint32_t take_from_another(model *m, uint32_t e)
{
    const world *w = m->w;
    uint32_t into[EDGES], degree = 0, to = to_of(w, e);
    for (uint32_t o = 0; o < w->net.n_edges; o++)
        if (to_of(w, o) == to)
            into[degree++] = o;
    uint32_t skip = draw(m, degree);
    for (uint32_t k = 0; k < degree; k++) {
        transfer *last = NULL;
        for (uint32_t s = 0; s < m->n; s++)
            if (m->t[s].send.edge == into[(k + skip) % degree])
                last = &m->t[s];
        uint32_t c = last ? last->send.chunk : 0;
        if (last && !m->has[to][c] && m->has[from_of(w, e)][c] && swap_chunk(m, last))
            return c;
    }
    return RLT_NONE;
}

static void enqueue(model *m, uint32_t e)
{
    for (uint32_t i = 0; i < m->queued; i++)
        if (m->queue[i] == e)
            return;
    m->queue[m->queued++] = e;
}

static void match_all(model *m)
{
    const world *w = m->w;
    uint32_t n = m->queued, order[EDGES];
    memcpy(order, m->queue, sizeof order);
    m->queued = 0;
    m->tried += n;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = draw(m, i), last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0; k--) {
            rlt_time a, b;
            takes(w, order[k - 1], w->bytes[0], &a);
            takes(w, order[k], w->bytes[0], &b);
            if (a <= b)
                break;
            uint32_t first = order[k - 1];
            order[k - 1] = order[k];
            order[k] = first;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = order[i];
        if (lacking(m, to_of(w, e)) == 0 || !fits(m, e))
            continue;
        list_possible(m, e);
        uint32_t c = choose(m);
        if (c == RLT_NONE && !m->exchanges)
            continue;
        if (m->stand_back && leaves_it(m, e))
            continue;
        if (c == RLT_NONE)
            c = take_from_another(m, e);
        if (c == RLT_NONE)
            continue;
        rlt_time arrival, busy = takes(w, e, w->bytes[c], &arrival);
        m->due[to_of(w, e)][c] = true;
        m->free_at[e] = m->now + busy;
        m->t[m->n++] =
            (transfer){.send = {m->now, m->now + arrival, e, c}, .frees = m->now + busy, .began = m->instant};
    }
    m->instant++;
}

/* The next event: the earliest, of these that of the first send, its links before its arrival. */
static bool next(const model *m, uint32_t *send, bool *arrival)
{
    rlt_time at = RLT_TIME_MAX;
    for (uint32_t s = 0; s < m->n; s++) {
        if (!m->t[s].freed && m->t[s].frees < at) {
            at = m->t[s].frees;
            *send = s;
            *arrival = false;
        }
        if (!m->t[s].come && m->t[s].send.end_ps < at) {
            at = m->t[s].send.end_ps;
            *send = s;
            *arrival = true;
        }
    }
    return at < RLT_TIME_MAX;
}

static void happen(model *m, uint32_t send, bool arrival)
{
    const world *w = m->w;
    transfer *t = &m->t[send];
    uint32_t to = to_of(w, t->send.edge);
    if (arrival) {
        t->come = true;
        m->has[to][t->send.chunk] = true;
        m->came[to][t->send.chunk] = m->instant;
        for (uint32_t e = 0; e < w->net.n_edges; e++)
            if (from_of(w, e) == to)
                enqueue(m, e);
        return;
    }
    t->freed = true;
    const rlt_tacos_edge *edge = &w->edges[t->send.edge];
    for (uint32_t i = 0; i < edge->hops; i++)
        for (uint32_t e = 0; e < w->net.n_edges; e++)
            for (uint32_t k = 0; k < w->edges[e].hops; k++)
                if (w->path[w->edges[e].first + k] == w->path[edge->first + i])
                    enqueue(m, e);
}

static rlt_time play(model *m, uint32_t restart)
{
    const world *w = m->w;
    uint64_t tried = m->tried;
    *m = (model){.w = w, .tried = tried, .restart = restart};
    m->rarest = restart & 1;
    m->exchanges = restart & 16;
    m->stand_back = w->net.uneven && !(restart & 2);
    m->distant = w->net.uneven && !(restart & 4);
    for (uint32_t c = 0; c < w->job.chunks; c++)
        m->has[w->owner[c]][c] = m->due[w->owner[c]][c] = true;
    for (uint32_t e = 0; e < w->net.n_edges; e++)
        enqueue(m, e);
    match_all(m);
    uint32_t send;
    bool arrival;
    while (next(m, &send, &arrival)) {
        rlt_time at = m->now = arrival ? m->t[send].send.end_ps : m->t[send].frees;
        do {
            happen(m, send, arrival);
        } while (next(m, &send, &arrival) && (arrival ? m->t[send].send.end_ps : m->t[send].frees) == at);
        match_all(m);
    }
    return m->n == w->job.chunks * (w->net.n - 1) ? m->now : RLT_TIME_MAX;
}

/* Rows of what each of n keys has: edges by their source or destination, or by a link of their path. */
static void sort_rows(world *w, int by, uint32_t n, uint32_t *first, uint32_t *rows)
{
    uint32_t at = 0;
    for (uint32_t key = 0; key < n; key++) {
        first[key] = at;
        for (uint32_t e = 0; e < w->net.n_edges; e++) {
            const rlt_tacos_edge *x = &w->edges[e];
            for (uint32_t k = 0; k < (by == 2 ? x->hops : 1); k++)
                if ((by == 0 ? x->src : by == 1 ? x->dst : w->path[x->first + k]) == key)
                    rows[at++] = e;
        }
    }
    first[n] = at;
}

static void add_edge(world *w, dice *d, uint32_t src, uint32_t dst, bool even)
{
    rlt_tacos_edge *x = &w->edges[w->net.n_edges++];
    *x = (rlt_tacos_edge){src, dst, w->net.n_path, 1 + below(d, 3), UINT64_C(1000000000), RLT_US};
    if (!even) {
        x->bw_Bps *= 1 + below(d, 4);
        x->latency_ps = below(d, 4) * RLT_US / 2;
    }
    uint32_t start = below(d, w->net.n_links);
    for (uint32_t i = 0; i < x->hops; i++)
        w->path[w->net.n_path++] = (start + i) % w->net.n_links;
}

static void build(world *w, dice *d)
{
    bool even = below(d, 3) == 0, alike = below(d, 3) > 0;
    *w = (world){.net = {.n = 2 + below(d, MEMBERS - 1), .n_links = 3 + below(d, LINKS - 2)}};
    for (uint32_t i = 0; i < w->net.n; i++)
        add_edge(w, d, i, (i + 1) % w->net.n, even);
    for (uint32_t i = below(d, EDGES - MEMBERS); i > 0; i--) {
        uint32_t src = below(d, w->net.n);
        add_edge(w, d, src, (src + 1 + below(d, w->net.n - 1)) % w->net.n, even);
    }
    for (uint32_t e = 1; e < w->net.n_edges; e++)
        w->net.uneven |=
            w->edges[e].bw_Bps != w->edges[0].bw_Bps || w->edges[e].latency_ps != w->edges[0].latency_ps;
    for (uint32_t l = 0; l < w->net.n_links; l++)
        w->link_Bps[l] = (4 + below(d, 5)) * UINT64_C(1000000000);
    w->endpoint = (rlt_endpoint){.injection = below(d, 2) ? RLT_INJECT_NIC : RLT_INJECT_BLOCKING,
                                 .message_ps = below(d, 2) * 3000};
    uint32_t chunks = below(d, 8) ? 1 + below(d, 20) : 60 + below(d, CHUNKS - 60);
    for (uint32_t c = 0; c < chunks; c++) {
        w->owner[c] = below(d, w->net.n);
        w->bytes[c] = alike ? 1000 : 500 * (1 + below(d, 3));
    }
    w->net.edges = w->edges;
    w->net.path = w->path;
    w->net.link_Bps = w->link_Bps;
    sort_rows(w, 0, w->net.n, w->net.out_first = w->out_first, w->net.out = w->out);
    sort_rows(w, 1, w->net.n, w->net.in_first = w->in_first, w->net.in = w->in);
    sort_rows(w, 2, w->net.n_links, w->net.user_first = w->user_first, w->net.user = w->user);
    w->job = (rlt_tacos_job){.net = &w->net,
                             .reversed = below(d, 2),
                             .chunks = chunks,
                             .owner = w->owner,
                             .bytes = w->bytes,
                             .endpoint = &w->endpoint,
                             .seed = below(d, 100),
                             .restarts = 1 + below(d, 2) * below(d, 34)};
}

static void as_the_slow_one(void **state)
{
    (void)state;
    static world w;
    static model m;
    static rlt_tacos_send best[SENDS], sends[SENDS];
    uint32_t found = 0, none = 0;
    for (uint64_t i = 0; i < 300; i++) {
        dice d = {.seed = i};
        rlt_time least = RLT_TIME_MAX, time_ps = 0;
        uint64_t tried = 5;
        rlt_error err = {0};
        build(&w, &d);
        if (i % 25 == 24) { /* nothing enters member 0 */
            uint32_t kept = 0;
            for (uint32_t e = 0; e < w.net.n_edges; e++)
                if (to_of(&w, e) != 0)
                    w.edges[kept++] = w.edges[e];
            w.net.n_edges = kept;
            sort_rows(&w, 0, w.net.n, w.out_first, w.out);
            sort_rows(&w, 1, w.net.n, w.in_first, w.in);
            sort_rows(&w, 2, w.net.n_links, w.user_first, w.user);
        }
        m = (model){.w = &w};
        for (uint32_t r = 0; r < w.job.restarts || (r < 8 && least == RLT_TIME_MAX); r++) {
            rlt_time t = play(&m, r);
            for (uint32_t s = 0; s < m.n && t < least; s++)
                best[s] = m.t[s].send;
            least = t < least ? t : least;
        }
        uint32_t n = w.job.chunks * (w.net.n - 1);
        int rc = rlt_tacos_match(&w.job, sends, &time_ps, &tried, &err);
        assert_int_equal(rc, least == RLT_TIME_MAX ? RLT_ETOPOLOGY : 0);
        assert_int_equal(tried, 5 + m.tried);
        assert_int_equal(time_ps, least);
        none += rc != 0;
        found += rc == 0;
        for (uint32_t s = 0; s < n && rc == 0; s++)
            if (memcmp(&best[s], &sends[s], sizeof *best) != 0)
                fail_msg(
                    "case %u: send %u of chunk %u over edge %u at %lld, expected chunk %u over %u at %lld",
                    (unsigned)i, s, sends[s].chunk, sends[s].edge, (long long)sends[s].start_ps,
                    best[s].chunk, best[s].edge, (long long)best[s].start_ps);
    }
    assert_true(found > 200 && none > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_slow_one)};
    return cmocka_run_group_tests_name("matching", tests, NULL, NULL);
}
