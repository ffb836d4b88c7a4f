/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * direct and pairwise against a plain plan, written from the rounds that their files state: random sizes, windows,
 * lanes, counts and roots, every field of every step.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 3000, MAX_N = 9 };

static plain_plan plain;
static uint64_t counts[MAX_N * MAX_N];

/* Bytes of the block that goes from a member to another, or of the share of `block`. */
static uint64_t size_of(const rlt_coll_request *r, uint32_t lanes, uint32_t lane, uint32_t from,
                        uint32_t block)
{
    if (r->kind == RLT_BARRIER)
        return 0;
    if (r->counts && r->kind == RLT_ALL_TO_ALL)
        return plain_cut(r->counts[from * r->n + block], lanes, lane);
    if (r->counts)
        return plain_cut(r->counts[block], lanes, lane);
    uint32_t blocks = r->kind == RLT_BROADCAST || r->kind == RLT_REDUCE ? 1 : r->n;
    return plain_cut(plain_cut(r->bytes, blocks, block), lanes, lane);
}

/* Messages of one pass, from step `begin` on. Returns its number of steps. */
static uint32_t plain_pass(const rlt_coll_request *r, uint32_t w, bool exclusive, uint32_t lane,
                           uint32_t begin, bool reduce)
{
    uint32_t n = r->n;
    for (uint32_t j = 0; j + 1 < n; j++)
        for (uint32_t m = 0; m < n; m++) {
            uint32_t to = exclusive ? m ^ (j + 1) : (m + j + 1) % n;
            uint32_t heard = begin + (w ? j + w - 1 : n - 1);
            rlt_step *s = plain_message(&plain, lane, m, begin + j, to, heard);
            uint32_t block = r->kind == RLT_BARRIER ? 0 : reduce || r->kind == RLT_ALL_TO_ALL ? to : m;
            s->send = s->land = plain_run(block, 1);
            if (r->kind == RLT_ALL_TO_ALL)
                s->land.first = m;
            s->land_buffer = r->kind == RLT_ALL_TO_ALL || r->kind == RLT_BARRIER;
            s->send_bytes = size_of(r, plain.lanes, lane, m, block);
            s->reduce = reduce;
            s->nowait = w != 1;
        }
    /* A step that waits for everyone names nobody. */
    for (uint32_t m = 0; m < n && !w; m++)
        plain_step(&plain, m, lane, begin + n - 1)->recv_from = RLT_NONE;
    return w ? n - 1 + w - 1 : n;
}

static void plain_rooted(const rlt_coll_request *r, uint32_t w, uint32_t lane)
{
    bool down = r->kind == RLT_BROADCAST || r->kind == RLT_SCATTER;
    for (uint32_t j = 1; j < r->n; j++) {
        uint32_t other = (r->root + j) % r->n;
        rlt_step *s = down ? plain_message(&plain, lane, r->root, j - 1, other, 0)
                           : plain_message(&plain, lane, other, 0, r->root, 0);
        uint32_t block = r->kind == RLT_SCATTER || r->kind == RLT_GATHER ? other : 0;
        s->send = s->land = plain_run(block, 1);
        s->send_bytes = size_of(r, plain.lanes, lane, 0, block);
        s->reduce = r->kind == RLT_REDUCE;
        s->nowait = w != 1;
    }
    if (!down)
        plain_step(&plain, r->root, lane, 0)->recv_from = RLT_NONE;
}

static void plain_lane(const rlt_coll_request *r, uint32_t w, bool exclusive, uint32_t lane)
{
    if (r->n == 1)
        return;
    if (rlt_coll_rooted(r->kind)) {
        plain_rooted(r, w, lane);
        return;
    }
    bool apart = r->kind == RLT_ALL_TO_ALL || r->kind == RLT_BARRIER;
    for (uint32_t m = 0; m < r->n && apart; m++) {
        rlt_step *own = plain_step(&plain, m, lane, 0);
        own->copy = own->land_buffer = 1;
        own->send = own->land = plain_run(r->kind == RLT_BARRIER ? 0 : m, 1);
    }
    bool adds = r->kind != RLT_ALL_GATHER && r->kind != RLT_ALL_TO_ALL;
    uint32_t end = plain_pass(r, w, exclusive, lane, apart, adds);
    if (r->kind == RLT_ALL_REDUCE)
        plain_pass(r, w, exclusive, lane, end, false);
}

static void one_case(uint32_t number)
{
    dice d = {.seed = number};
    bool pairs = below(&d, 3) == 0;
    const rlt_algorithm *a = pairs ? &rlt_pairwise : &rlt_direct;
    rlt_coll_request r = {.kind = (rlt_coll_kind)below(&d, RLT_COLL_KINDS), .n = 1 + below(&d, MAX_N)};
    rlt_plan plan;
    rlt_error err = {0};
    if (!(a->kinds >> r.kind & 1))
        return;
    r.root = below(&d, r.n);
    r.bytes = r.kind == RLT_BARRIER ? 0 : roll(&d, below(&d, 2) ? 30 : 1000000);
    plain_draw_counts(&d, a, &r, counts, r.kind == RLT_ALL_TO_ALL ? r.n * r.n : r.n);
    r.params.channels = below(&d, 4);
    r.params.chunks = below(&d, 4);
    r.params.window = pairs ? 0 : below(&d, r.n + 3);
    uint32_t w = pairs ? 1 : r.params.window;
    bool apart = (r.kind == RLT_ALL_TO_ALL || r.kind == RLT_BARRIER) && r.n > 1;
    plain_clear(&plain, r.n,
                (r.params.channels ? r.params.channels : 1) * (r.params.chunks ? r.params.chunks : 1));
    for (uint32_t lane = 0; lane < plain.lanes; lane++)
        plain_lane(&r, w < r.n ? w : r.n - 1, pairs && (r.n & (r.n - 1)) == 0, lane);
    if (rlt_plan_create(a, &r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
    assert_int_equal(plan.buffers, apart ? 2 : 1);
    assert_int_equal(plan.result, apart);
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
