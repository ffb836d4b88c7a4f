/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nvls, pat and ps against plain plans, written from the heads of their files: random sizes, roots, lanes, windows,
 * messages and counts, every field of every step.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 3000 };

static plain_plan plain;
static uint64_t counts[PLAIN_MEMBERS];

static struct {
    rlt_coll_request r;
    uint32_t n, lane, chunks, blocks;
} c;

static uint64_t size_of(uint32_t block)
{
    return plain_cut(c.r.counts ? counts[block] : plain_cut(c.r.bytes, c.blocks, block), plain.lanes, c.lane);
}

static void carry(rlt_step *s, uint32_t block)
{
    s->send = s->land = plain_run(block, 1);
    s->send_bytes = size_of(block);
}

static void hears(uint32_t member, uint32_t k, uint32_t count)
{
    rlt_step *s = plain_step(&plain, member, c.lane, k);
    s->recv_count = count;
    s->recv_from = RLT_NONE;
}

/* ---- nvls: a member fetches the sum of its share, and stores to all ---- */

static void verb(uint32_t member, uint32_t k, rlt_verb v, uint32_t to, uint32_t heard)
{
    bool sums = c.r.kind == RLT_ALL_REDUCE || c.r.kind == RLT_REDUCE_SCATTER || c.r.kind == RLT_REDUCE;
    rlt_step *s = plain_step(&plain, member, c.lane, k);
    s->verb = (uint8_t)v;
    s->send_to = to;
    s->peer_step = heard;
    s->land_buffer = sums;
    s->send_buffer = sums && v == RLT_VERB_MULTICAST;
    carry(s, rlt_coll_rooted(c.r.kind) ? 0 : member);
}

static void plain_nvls(uint32_t m)
{
    rlt_coll_kind kind = c.r.kind;
    uint32_t k = 0, window = c.r.params.window ? c.r.params.window : 1;
    if (kind == RLT_REDUCE && m != c.r.root)
        return;
    if (kind != RLT_ALL_GATHER && kind != RLT_BROADCAST) {
        verb(m, 0, RLT_VERB_REDUCE, m, 1);
        hears(m, 1, 1);
        k = 2;
        if (c.lane % c.chunks >= window) {
            rlt_step *s = plain_step(&plain, m, c.lane, 0);
            s->wait_lane = c.lane - window;
            s->wait_step = 0;
        }
    }
    if (kind == RLT_REDUCE || kind == RLT_REDUCE_SCATTER)
        return;
    if (kind != RLT_BROADCAST || m == c.r.root)
        verb(m, k, RLT_VERB_MULTICAST, c.n, k);
    hears(m, k, kind == RLT_BROADCAST ? 1 : c.n);
}

/* ---- pat: rounds of doubling or halving distances, shares in messages of at most `most` ---- */

static uint32_t pat_round(uint32_t m, uint32_t first, uint32_t distance, uint32_t most)
{
    bool gathers = c.r.kind == RLT_ALL_GATHER;
    uint32_t places[PLAIN_MEMBERS], shares = 0, n = c.n;
    for (uint32_t p = 0; p + distance < n; p += 2 * distance)
        places[shares++] = p;
    uint32_t messages = (shares + most - 1) / most;
    for (uint32_t i = 0; i < messages; i++) {
        uint32_t to = (gathers ? m + distance : m + n - distance) % n, at = gathers ? m : to;
        rlt_step *s = plain_message(&plain, c.lane, m, first + i, to, first + messages);
        s->reduce = !gathers;
        s->send.first = (at + n - places[i * most]) % n;
        s->send.run = 1;
        s->send.stride = (2 * n - 2 * distance % n) % n;
        for (uint32_t k = i * most; k < shares && k < (i + 1) * most; k++, s->send.reps++)
            s->send_bytes += size_of((at + n - places[k]) % n);
        s->land = s->send;
        if (i == 0 && c.lane % c.chunks > 0) {
            s->wait_lane = c.lane - 1;
            s->wait_step = first + messages - 1;
        }
    }
    return first + messages + 1;
}

static void plain_pat(uint32_t most)
{
    uint32_t first = 0, rounds = 0;
    while (1u << rounds < c.n)
        rounds++;
    for (uint32_t r = 0; r < rounds; r++) {
        uint32_t distance = 1u << (c.r.kind == RLT_ALL_GATHER ? rounds - 1 - r : r), next = first;
        for (uint32_t m = 0; m < c.n; m++)
            next = pat_round(m, first, distance, most);
        for (uint32_t m = 0; m < c.n; m++) /* several messages, all from one member */
            plain_step(&plain, m, c.lane, next - 1)->recv_from =
                (c.r.kind == RLT_ALL_GATHER ? m + c.n - distance : m + distance) % c.n;
        first = next;
    }
}

/* Shares of a message: a power of two, within so many bytes, or one. */
static uint32_t pat_shares(uint64_t aggregate)
{
    uint64_t share = c.r.bytes / c.n / plain.lanes;
    uint32_t shares = 1;
    while (shares < 64 && 2 * shares * share <= aggregate)
        shares *= 2;
    return shares;
}

/* ---- ps: the last members serve a block each ---- */

static bool pushes(uint32_t m)
{
    return c.r.kind != RLT_BROADCAST || m == c.r.root;
}

static bool pulls(uint32_t m)
{
    return c.r.kind == RLT_REDUCE ? m == c.r.root : c.r.kind != RLT_BROADCAST || m != c.r.root;
}

static bool serves(uint32_t m)
{
    return m >= c.n - c.blocks;
}

static uint32_t pushed_by(uint32_t m)
{
    return pushes(m) ? c.blocks - serves(m) : 0;
}

/* Step in which a member has pulled everything: behind its pushes, and its wait and messages as a server. */
static uint32_t pulled_at(uint32_t m)
{
    uint32_t k = pushed_by(m) + serves(m);
    for (uint32_t to = 0; to < c.n && serves(m); to++)
        k += to != m && pulls(to);
    return k;
}

static void plain_servers(uint32_t m)
{
    uint32_t first = c.n - c.blocks, k = 0;
    uint32_t start = serves(m) ? m - first + 1 : m;
    for (uint32_t i = 0; i < c.blocks && pushes(m); i++) {
        uint32_t block = (start + i) % c.blocks;
        if (first + block == m)
            continue;
        rlt_step *s = plain_message(&plain, c.lane, m, k++, first + block, pushed_by(first + block));
        s->reduce = c.r.kind != RLT_BROADCAST;
        s->nowait = 1;
        carry(s, block);
    }
    if (serves(m))
        plain_step(&plain, m, c.lane, k++);
    for (uint32_t d = 1; d < c.n && serves(m); d++) {
        uint32_t to = (m + d) % c.n;
        if (!pulls(to))
            continue;
        rlt_step *s = plain_message(&plain, c.lane, m, k++, to, pulled_at(to));
        s->nowait = 1;
        carry(s, m - first);
    }
    if (pulls(m))
        plain_step(&plain, m, c.lane, k);
}

/* ---- the cases ---- */

static void plain_lane(const rlt_algorithm *a, uint64_t aggregate)
{
    if (c.n == 1)
        return;
    if (a == &rlt_pat) {
        plain_pat(pat_shares(aggregate));
        return;
    }
    for (uint32_t m = 0; m < c.n; m++)
        (a == &rlt_nvls ? plain_nvls : plain_servers)(m);
    for (uint32_t m = 0; m < c.n; m++) /* their waits name nobody */
        for (uint32_t k = 0; k < plain.steps[m][c.lane]; k++)
            plain_step(&plain, m, c.lane, k)->recv_from = RLT_NONE;
}

static void one_case(uint32_t number)
{
    static const rlt_algorithm *const list[] = {&rlt_nvls, &rlt_pat, &rlt_parameter_server};
    const rlt_algorithm *a = list[number % 3];
    dice d = {.seed = number};
    rlt_plan plan;
    rlt_error err = {0};
    char text[32];
    memset(&c, 0, sizeof c);
    do
        c.r.kind = (rlt_coll_kind)below(&d, RLT_COLL_KINDS);
    while (!(a->kinds >> c.r.kind & 1));
    c.n = c.r.n = 1 + below(&d, a == &rlt_pat ? PLAIN_MEMBERS : 10);
    c.r.root = below(&d, c.n);
    c.r.bytes = c.r.kind == RLT_BARRIER ? 0 : roll(&d, below(&d, 2) ? 60 : 100000);
    plain_draw_counts(&d, a, &c.r, counts, c.n);
    c.r.params.channels = below(&d, 3);
    c.chunks = c.r.params.chunks = 1 + below(&d, 5);
    if (a == &rlt_nvls)
        c.r.params.window = below(&d, 4);
    if (a == &rlt_parameter_server)
        c.r.params.servers = below(&d, c.n + 1);
    c.blocks = a == &rlt_parameter_server  ? (c.r.params.servers ? c.r.params.servers : 1)
               : rlt_coll_rooted(c.r.kind) ? 1
                                           : c.n;
    uint64_t aggregate = 1 + roll(&d, 3000);
    snprintf(text, sizeof text, "%lluB", (unsigned long long)aggregate);
    assert_int_equal(rlt_coll_params_set(&c.r.params, "pat.aggregate", text, &err), 0);
    plain_clear(&plain, c.n, (c.r.params.channels == 2 ? 2 : 1) * c.chunks);
    for (c.lane = 0; c.lane < plain.lanes; c.lane++)
        plain_lane(a, aggregate);
    if (rlt_plan_create(a, &c.r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
    assert_int_equal(plan.blocks, c.blocks);
    rlt_plan_free(&plan);
}

static void as_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        one_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
