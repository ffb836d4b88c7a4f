/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bruck, recursive_doubling, halving_doubling and point_to_point against plain plans, written from the rounds
 * at the head of their files: any number of members, random lanes and counts, every field of every step.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 2000 };

static plain_plan plain;
static uint64_t counts[PLAIN_MEMBERS];

static struct {
    rlt_coll_request r;
    uint32_t n, lane, blocks, rounds;
} c;

static uint64_t bytes_of(uint32_t block)
{
    uint64_t bytes = c.r.counts ? counts[block] : plain_cut(c.r.bytes, c.blocks, block);
    return plain_cut(bytes, plain.lanes, c.lane);
}

/* Fills in what a message carries, which lands where it was. */
static void carry(rlt_step *s, rlt_blocks span, bool reduce)
{
    s->send = s->land = span;
    s->send_bytes = 0;
    for (uint32_t i = 0; i < span.reps; i++)
        for (uint32_t j = 0; j < span.run; j++)
            s->send_bytes += bytes_of((span.first + i * span.stride + j) % c.blocks);
    s->reduce = reduce;
}

static void copied(uint32_t m, uint32_t k, uint8_t from, rlt_blocks send, uint8_t to, rlt_blocks land)
{
    rlt_step *s = plain_step(&plain, m, c.lane, k);
    s->copy = 1;
    s->send_buffer = from;
    s->send = send;
    s->land_buffer = to;
    s->land = land;
}

/* ---- bruck ---- */

static void gather_round(uint32_t m, uint32_t k)
{
    uint32_t has = 1u << k, lacks = c.n - has;
    rlt_step *s = plain_message(&plain, c.lane, m, k, (m + c.n - has) % c.n, k);
    carry(s, plain_run(m, has < lacks ? has : lacks), false);
}

static void barrier_round(uint32_t m, uint32_t k)
{
    uint32_t later = 1u << (c.rounds - k), w = (c.n + later - 1) / later,
             next = (c.n + later / 2 - 1) / (later / 2);
    bool others = next == 2 * w - 1;
    rlt_step *s = plain_message(&plain, c.lane, m, 3 * k, (m + w - others) % c.n, 3 * k);
    carry(s, plain_run(0, 1), false);
    s->send_buffer = others;
    s->land_buffer = 2;
    for (uint8_t to = 0; to < 2; to++) {
        copied(m, 3 * k + 1 + to, 2, plain_run(0, 1), to, plain_run(0, 1));
        plain_step(&plain, m, c.lane, 3 * k + 1 + to)->reduce = 1;
    }
}

/* The slots of a round: those with bit k set, all of equal runs but the last, perhaps. */
static uint32_t exchange_round(uint32_t m, uint32_t bit, uint32_t k)
{
    uint32_t many = 0, full = 0;
    uint64_t bytes = 0;
    for (uint32_t slot = 0; slot < c.n; slot++)
        if (slot & bit) { /* on its way from this far below, over `slot` in all */
            uint32_t from = (m + c.n - slot % bit) % c.n;
            bytes += bytes_of((from + slot) % c.n);
            many++;
            full += (slot | (bit - 1)) < c.n && slot % bit == 0;
        }
    uint32_t tail = many - full * bit;
    bool packs = full && tail;
    rlt_blocks runs = {.first = bit, .run = bit, .stride = 2 * bit, .reps = full};
    rlt_blocks last = plain_run((2 * full + 1) * bit, tail);
    uint32_t at = packs ? k + 2 : k;
    rlt_step *s = plain_message(&plain, c.lane, m, at, (m + bit) % c.n, at);
    s->send = s->land = packs ? plain_run(0, many) : full ? runs : last;
    s->send_buffer = s->land_buffer = packs ? 2 : 1;
    s->send_bytes = bytes;
    if (packs) {
        copied(m, k, 1, runs, 2, plain_run(0, full * bit));
        copied(m, k + 1, 1, last, 2, plain_run(full * bit, tail));
        copied(m, k + 3, 2, plain_run(0, full * bit), 1, runs);
        copied(m, k + 4, 2, plain_run(full * bit, tail), 1, last);
    }
    return packs ? k + 5 : k + 1;
}

static void plain_bruck(void)
{
    uint32_t k = 1, next = 1;
    for (uint32_t m = 0; m < c.n && c.r.kind == RLT_ALL_TO_ALL; m++)
        copied(m, 0, 0, plain_run(m, c.n), 1, plain_run(0, c.n));
    for (uint32_t round = 0; round < c.rounds; round++, k = next)
        for (uint32_t m = 0; m < c.n; m++)
            if (c.r.kind == RLT_ALL_TO_ALL)
                next = exchange_round(m, 1u << round, k);
            else
                (c.r.kind == RLT_ALL_GATHER ? gather_round : barrier_round)(m, round);
    for (uint32_t m = 0; m < c.n && c.r.kind == RLT_ALL_TO_ALL; m++) /* slot d is from member m - d */
        copied(m, k, 1, plain_run(0, c.n), 2,
               (rlt_blocks){.first = m, .run = 1, .stride = c.n - 1, .reps = c.n});
}

/* ---- recursive doubling ---- */

static void doubling_message(uint32_t from, uint32_t k, uint32_t to, uint32_t j, rlt_blocks gathered,
                             bool reduce)
{
    bool gathers = c.r.kind == RLT_ALL_GATHER;
    carry(plain_message(&plain, c.lane, from, k, to, j), gathers ? gathered : plain_run(0, 1),
          reduce && !gathers);
}

static void plain_doubling(uint32_t p)
{
    uint32_t core[PLAIN_MEMBERS + 1], numbers = 0;
    bool lent[PLAIN_MEMBERS] = {false};
    for (uint32_t m = 0; m < c.n; m++) {
        bool extra = m % 2 == 1 && m / 2 < c.n - p;
        if (extra) {
            doubling_message(m, 0, m - 1, 0, plain_run(m, 1), true);
            lent[m - 1] = true;
        } else
            core[numbers++] = m;
    }
    assert_int_equal(numbers, p);
    core[p] = c.n;
    for (uint32_t s = 0; 1u << s < p; s++)
        for (uint32_t v = 0; v < p; v++) {
            uint32_t to = core[v ^ 1u << s], begin = v - v % (1u << s), first = core[begin];
            doubling_message(core[v], s + lent[core[v]], to, s + lent[to],
                             plain_run(first, core[begin + (1u << s)] - first), true);
        }
    for (uint32_t m = 0; m < c.n; m++)
        if (lent[m])
            doubling_message(m, plain.steps[m][c.lane], m + 1, 0, plain_run((m + 2) % c.n, c.n - 1), false);
}

/* ---- halving and doubling ---- */

static uint32_t halving_round(uint32_t p, uint32_t s, uint32_t k, bool halves)
{
    for (uint32_t m = 0; m < p; m++) {
        uint32_t to = m ^ 1u << s, keeps = halves ? to : m;
        rlt_blocks span = {.first = keeps % (2u << s), .run = 1, .stride = 2u << s};
        for (uint32_t b = 0; b < c.blocks; b++)
            span.reps += b % p % (2u << s) == span.first;
        carry(plain_message(&plain, c.lane, m, k + (m + p < c.n), to, k + (to + p < c.n)), span, halves);
    }
    return k + 1;
}

static void plain_halving(uint32_t p)
{
    bool adds = c.r.kind != RLT_ALL_GATHER, spreads = c.r.kind != RLT_REDUCE_SCATTER;
    rlt_blocks all = plain_run(0, c.blocks);
    uint32_t k = 0;
    for (uint32_t e = p; e < c.n; e++) {
        rlt_blocks rest = plain_run((e + 1) % c.n, c.n - 1), own = plain_run(e, 1);
        carry(plain_message(&plain, c.lane, e, 0, e - p, 0), !adds ? own : spreads ? all : rest, adds);
    }
    for (uint32_t s = 0; 1u << s < p && adds; s++)
        k = halving_round(p, s, k, true);
    for (uint32_t s = c.rounds; s-- > 0 && spreads;)
        if (1u << s < p)
            k = halving_round(p, s, k, false);
    for (uint32_t e = p; e < c.n; e++) {
        rlt_blocks rest = plain_run((e + 1) % c.n, c.n - 1), own = plain_run(e, 1);
        carry(plain_message(&plain, c.lane, e - p, k + 1, e, 0),
              !spreads ? own
              : adds   ? all
                       : rest,
              !spreads);
    }
}

/* ---- the cases ---- */

static void plain_lane(const rlt_algorithm *a, uint32_t p)
{
    if (a == &rlt_point_to_point)
        carry(plain_message(&plain, c.lane, 0, 0, 1, 0), plain_run(0, 1), false);
    else if (c.n > 1 && a == &rlt_bruck)
        plain_bruck();
    else if (c.n > 1)
        (a == &rlt_recursive_doubling ? plain_doubling : plain_halving)(p);
}

static void check(const rlt_algorithm *a)
{
    rlt_plan plan;
    rlt_error err = {0};
    bool all = a == &rlt_bruck && c.r.kind == RLT_ALL_TO_ALL && c.n > 1;
    if (rlt_plan_create(a, &c.r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
    assert_int_equal(plan.blocks, c.blocks);
    assert_int_equal(plan.result, all ? 2 : 0);
    assert_int_equal(plan.buffers, all || (a == &rlt_bruck && c.r.kind == RLT_BARRIER && c.n > 1) ? 3 : 1);
    rlt_plan_free(&plan);
}

static void one_case(uint32_t number)
{
    static const rlt_algorithm *const list[] = {&rlt_bruck, &rlt_recursive_doubling, &rlt_halving_doubling,
                                                &rlt_point_to_point};
    const rlt_algorithm *a = list[number % 4];
    dice d = {.seed = number};
    uint32_t p = 1;
    memset(&c, 0, sizeof c);
    do
        c.r.kind = (rlt_coll_kind)below(&d, RLT_COLL_KINDS);
    while (!(a->kinds >> c.r.kind & 1));
    c.n = c.r.n = a == &rlt_point_to_point ? 2 : 1 + below(&d, PLAIN_MEMBERS);
    while (1u << c.rounds < c.n)
        c.rounds++;
    while (2 * p <= c.n)
        p *= 2;
    bool shares = c.r.kind == RLT_REDUCE_SCATTER || c.r.kind == RLT_ALL_GATHER || c.r.kind == RLT_ALL_TO_ALL;
    c.blocks = shares ? c.n : a == &rlt_halving_doubling ? p : 1;
    c.r.bytes = c.r.kind == RLT_BARRIER ? 0 : roll(&d, below(&d, 2) ? 60 : 100000);
    plain_draw_counts(&d, a, &c.r, counts, c.n);
    c.r.params.channels = below(&d, 3);
    c.r.params.chunks = a == &rlt_point_to_point ? 0 : below(&d, 4);
    plain_clear(&plain, c.n,
                (c.r.params.channels ? c.r.params.channels : 1) *
                    (c.r.params.chunks ? c.r.params.chunks : 1));
    for (c.lane = 0; c.lane < plain.lanes; c.lane++)
        plain_lane(a, p);
    check(a);
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
