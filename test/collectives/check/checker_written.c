/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans written down step by step, right and wrong ones. What the checker must say of each follows from the meaning
 * of steps in collectives/algorithm.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/check/observe.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

enum { MEMBERS = 10, LANES = 2, STEPS = 4 };

/* The plan under test. CMocka runs tests one after another. */
static struct {
    rlt_coll_kind kind;
    uint32_t n, lanes, blocks, buffers, result, root, stride;
    uint64_t bytes;
    bool shared, reduces, untracked;
    uint32_t steps[MEMBERS][LANES];
    rlt_step step[MEMBERS][LANES][STEPS];
} w;

static int written_plan(rlt_plan *plan, rlt_error *err)
{
    (void)err;
    plan->lanes = w.lanes;
    plan->blocks = w.blocks;
    plan->buffers = (uint8_t)w.buffers;
    plan->result = (uint8_t)w.result;
    plan->shared = w.shared;
    plan->reduces = w.reduces;
    plan->untracked = w.untracked;
    return 0;
}

static uint32_t written_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)plan;
    return w.steps[member][lane];
}

static void written_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    (void)plan;
    *out = w.step[member][lane][k];
}

/* Every member, or every w.stride-th one. */
static void some(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out)
{
    (void)lane, (void)k;
    *out = (rlt_reach){member % w.stride, w.stride, plan->req.n / w.stride};
}

static const rlt_algorithm written = {.name = "written",
                                      .summary = "steps of a test",
                                      .kinds = UINT32_MAX,
                                      .plan = written_plan,
                                      .steps = written_steps,
                                      .step = written_step};
static const rlt_algorithm reaching = {.name = "written",
                                       .summary = "steps of a test",
                                       .kinds = UINT32_MAX,
                                       .plan = written_plan,
                                       .steps = written_steps,
                                       .step = written_step,
                                       .reach = some};

static void begin(rlt_coll_kind kind, uint32_t n, uint32_t lanes, uint32_t blocks, bool shared)
{
    memset(&w, 0, sizeof w);
    w.kind = kind;
    w.n = n;
    w.lanes = lanes;
    w.blocks = blocks;
    w.buffers = w.stride = 1;
    w.shared = shared;
    w.bytes = (uint64_t)blocks * (shared ? 1 : lanes); /* a byte for each block */
}

static rlt_step *at(uint32_t member, uint32_t lane, uint32_t k)
{
    for (; w.steps[member][lane] <= k; w.steps[member][lane]++)
        rlt_step_clear(&w.step[member][lane][w.steps[member][lane]]);
    return &w.step[member][lane][k];
}

static rlt_step *moves(rlt_step *s, uint32_t block)
{
    s->send = s->land = (rlt_blocks){block, 1, 1, 1};
    return s;
}

static rlt_step *sends(rlt_step *s, uint32_t to, uint32_t to_step, uint32_t block)
{
    s->send_to = to;
    s->peer_step = to_step;
    s->send_bytes = 1;
    return moves(s, block);
}

static rlt_step *copies(rlt_step *s, uint32_t from, uint32_t to)
{
    moves(s, from)->copy = 1;
    s->land.first = to;
    return s;
}

static void awaits(rlt_step *s, uint32_t from, uint32_t count)
{
    s->recv_from = from;
    s->recv_count = count;
}

static void after(rlt_step *s, uint32_t lane, uint32_t step)
{
    s->wait_lane = lane;
    s->wait_step = step;
}

static int check(rlt_send_observer *observer, void *ctx, rlt_error *err)
{
    rlt_coll_request req = {.kind = w.kind, .n = w.n, .root = w.root, .bytes = w.bytes};
    rlt_plan plan;
    *err = (rlt_error){0};
    assert_int_equal(rlt_plan_create(w.reduces ? &reaching : &written, &req, &plan, err), 0);
    int rc = rlt_plan_check_observed(&plan, observer, ctx, err);
    rlt_plan_free(&plan);
    return rc;
}

static void right(void)
{
    rlt_error err;
    if (check(NULL, NULL, &err))
        fail_msg("refused: %s: %s", err.where, err.what);
}

static void wrong(uint32_t member, uint32_t lane, uint32_t step, const char *what)
{
    rlt_error err;
    char where[80];
    snprintf(where, sizeof where, "written: member %u, lane %u, step %u", member, lane, step);
    assert_int_equal(check(NULL, NULL, &err), RLT_ECHECK);
    assert_string_equal(err.what, what);
    assert_string_equal(err.where, where);
}

static void refused(int code, const char *what)
{
    rlt_error err;
    assert_int_equal(check(NULL, NULL, &err), code);
    assert_string_equal(err.where, "written");
    assert_string_equal(err.what, what);
}

/* ---- lanes that share blocks ---- */

/* Member 0 sends block 0 to member 1; another lane of member 1 sends it on to member 2. */
static rlt_step *relay(void)
{
    begin(RLT_BROADCAST, 3, 2, 1, true);
    sends(at(0, 0, 0), 1, 0, 0);
    awaits(at(1, 0, 0), 0, 1);
    awaits(at(2, 1, 0), 1, 1);
    return sends(at(1, 1, 0), 2, 0, 0);
}

static void a_lane_reads_what_another_writes(void **state)
{
    (void)state;
    after(relay(), 0, 0);
    right();
    relay();
    wrong(1, 1, 0, "reads block 0 of buffer 0, which lane 0 step 0 writes: neither waits for the other");
}

/* Both lanes of member 0 send block 0 to member 1. */
static rlt_step *twins(void)
{
    begin(RLT_BROADCAST, 2, 2, 1, true);
    for (uint32_t lane = 0; lane < 2; lane++) {
        sends(at(0, lane, 0), 1, 0, 0);
        awaits(at(1, lane, 0), 0, 1);
    }
    return at(1, 1, 0);
}

static void two_lanes_write(void **state)
{
    (void)state;
    after(twins(), 0, 0);
    right();
    twins();
    wrong(1, 1, 0, "writes block 0 of buffer 0, which lane 0 step 0 uses: neither waits for the other");
}

/* Lane 0 of member 0 sends block 0, lane 1 writes block 1 over it. */
static rlt_step *overwrites(void)
{
    begin(RLT_BROADCAST, 2, 2, 2, true);
    for (uint32_t b = 0; b < 2; b++) {
        sends(at(0, 0, b), 1, b, b);
        awaits(at(1, 0, b), 0, 1);
    }
    return copies(at(0, 1, 0), 1, 0);
}

static void a_lane_writes_what_another_reads(void **state)
{
    (void)state;
    overwrites();
    wrong(0, 1, 0, "writes block 0 of buffer 0, which lane 0 step 0 uses: neither waits for the other");
    after(overwrites(), 0, 0);
    wrong(0, 1, 0, "block 0 of the result should be block 0, but is block 1");
}

/* Who waits for a step knows nothing of the next one: lane 0 reads blocks 0, 1, 2 in turn. */
static void a_wait_covers_no_later_step(void **state)
{
    (void)state;
    for (uint32_t waited = 0; waited < 3; waited++) {
        begin(RLT_BROADCAST, 2, 2, 3, true);
        for (uint32_t b = 0; b < 3; b++) {
            sends(at(0, 0, b), 1, b, b);
            awaits(at(1, 0, b), 0, 1);
        }
        uint32_t onto = waited < 2 ? waited + 1 : 2;
        char what[120];
        snprintf(what, sizeof what,
                 waited < 2
                     ? "writes block %u of buffer 0, which lane 0 step %u uses: neither waits for the other"
                     : "block %u of the result should be block %u, but is block 0",
                 onto, onto);
        after(copies(at(0, 1, 0), 0, onto), 0, waited);
        wrong(0, 1, 0, what);
    }
}

/* What happened before may be known by way of another member: lane 0 of member 1 tells member 0, which tells
 * lane 1 of member 1. */
static void messages_order_lanes(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        begin(RLT_BROADCAST, 2, 2, 2, true);
        sends(at(0, 0, 0), 1, 0, 0);
        awaits(at(1, 0, 0), 0, 1);
        if (told) {
            sends(at(1, 0, 1), 0, 0, 0)->peer_shift = 1;
            awaits(at(0, 1, 0), 1, 1);
        }
        at(0, 1, 0);
        sends(at(0, 1, 1), 1, 0, 1);
        awaits(at(1, 1, 0), 0, 1);
        sends(at(1, 1, 1), 0, 2, 0);
        awaits(at(0, 1, 2), 1, 1);
        if (told)
            right();
        else
            wrong(1, 1, 1,
                  "reads block 0 of buffer 0, which lane 0 step 0 writes: neither waits for the other");
    }
}

/* ---- sums ---- */

static void sums_need_something_to_add_to(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        begin(RLT_BROADCAST, 2, 1, 1, shared);
        sends(at(0, 0, 0), 1, 0, 0)->reduce = 1;
        awaits(at(1, 0, 0), 0, 1);
        if (shared)
            wrong(1, 0, 0, "block 0 from member 0 step 0 is added to nothing: buffer 0 is empty there");
        else
            right(); /* the first to arrive */
    }
}

/* Members 1 and 2 send to buffer 1 of member 0 in one step, adding or not; then member 0 adds its own. */
static void gather_sum(bool first_adds, bool second_adds, bool own)
{
    begin(RLT_REDUCE, 3, 1, 1, false);
    w.buffers = 2;
    w.result = 1;
    for (uint32_t m = 1; m < 3; m++) {
        rlt_step *s = sends(at(m, 0, 0), 0, 0, 0);
        s->land_buffer = 1;
        s->reduce = m == 1 ? first_adds : second_adds;
    }
    awaits(at(0, 0, 0), RLT_NONE, 2);
    if (own) {
        rlt_step *s = copies(at(0, 0, 1), 0, 0);
        s->land_buffer = 1;
        s->reduce = 1;
    }
}

static void a_block_is_written_once_in_a_step(void **state)
{
    (void)state;
    static const char twice[] =
        "block 0 is written twice in this step, the second time by member 2 step 0: the "
        "result depends on which comes first";
    gather_sum(true, true, true);
    right();
    gather_sum(false, true, true);
    wrong(0, 0, 0, twice);
    gather_sum(true, false, true);
    wrong(0, 0, 0, twice);
    gather_sum(true, true, false);
    wrong(0, 0, 0, "block 0 of the result lacks the contribution of member 0");
    /* As the first, in two lanes, each with its own block. */
    gather_sum(false, true, true);
    w.lanes = 2;
    w.bytes = 2;
    for (uint32_t m = 0; m < 3; m++) {
        memcpy(w.step[m][1], w.step[m][0], sizeof w.step[m][0]);
        w.steps[m][1] = w.steps[m][0];
    }
    wrong(0, 0, 0, twice);
}

/* Member 1 sends its block 0 to member 0, which has one: where sums are wanted, its contribution is lost at once. */
static void sums_are_not_replaced(void **state)
{
    (void)state;
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE, RLT_REDUCE_SCATTER, RLT_BARRIER};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        begin(kinds[i], 2, 1, 2, false);
        w.bytes = kinds[i] == RLT_BARRIER ? 0 : 2;
        sends(at(1, 0, 0), 0, 0, 0)->send_bytes = w.bytes / 2;
        awaits(at(0, 0, 0), 1, 1);
        wrong(0, 0, 0, "block 0 from member 1 step 0 replaces the contribution of member 0");
    }
    begin(RLT_ALL_GATHER, 2, 1, 2, false);
    for (uint32_t m = 0; m < 2; m++) {
        for (uint32_t k = 0; k < 2; k++) { /* the same twice does no harm */
            sends(at(m, 0, k), 1 - m, k, m);
            awaits(at(m, 0, k), 1 - m, 1);
        }
    }
    right();
}

/* An all-to-all of two: block 1 of member 0 becomes block 0 of member 1. */
static void exchange(void)
{
    begin(RLT_ALL_TO_ALL, 2, 1, 2, false);
    w.buffers = 2;
    w.result = 1;
    for (uint32_t m = 0; m < 2; m++) {
        copies(at(m, 0, 0), m, m)->land_buffer = 1;
        rlt_step *s = sends(at(m, 0, 1), 1 - m, 1, 1 - m);
        s->land.first = m;
        s->land_buffer = 1;
        awaits(s, 1 - m, 1);
    }
}

static void contributions_of_others_are_named(void **state)
{
    (void)state;
    exchange();
    right();
    rlt_step *s = copies(at(1, 0, 2), 1, 0);
    s->land_buffer = 1;
    s->reduce = 1;
    wrong(1, 0, 2, "block 0 of the result contains a contribution of member 1");
}

static void what_was_never_written_is_said(void **state)
{
    (void)state;
    begin(RLT_REDUCE, 2, 1, 1, false);
    wrong(0, 0, 0, "block 0 of the result lacks the contribution of member 1 and was never written");
    begin(RLT_ALL_TO_ALL, 2, 1, 2, false);
    wrong(0, 0, 0, "block 1 of the result should be block 0, but is block 1 and was never written");
    begin(RLT_BROADCAST, 2, 1, 1, false);
    w.root = 1;
    wrong(0, 0, 0, "block 0 of the result is empty");
}

/* ---- sums that switches fetch ---- */

/* Both members copy their block to buffer 1. Member 1 then signals; member 0 fetches the sum into buffer 2, and sends
 * it to both. */
static void fetched(void)
{
    begin(RLT_ALL_REDUCE, 2, 1, 2, false);
    w.reduces = true;
    w.buffers = 3;
    w.result = 2;
    for (uint32_t m = 0; m < 2; m++) {
        rlt_step *s = copies(at(m, 0, 0), 0, 0);
        s->send.run = s->land.run = 2;
        s->land_buffer = 1;
    }
    rlt_step *signal = at(1, 0, 1), *fetch = at(0, 0, 1), *all = at(0, 0, 2);
    signal->send_to = 0;
    signal->peer_step = 0;
    awaits(at(0, 0, 0), 1, 1);
    sends(fetch, 0, 1, 0)->verb = RLT_VERB_REDUCE;
    fetch->send_buffer = 1;
    awaits(fetch, 0, 1);
    sends(all, 2, 2, 0)->verb = RLT_VERB_MULTICAST;
    all->send_buffer = 2;
    awaits(all, 0, 1);
    awaits(at(1, 0, 2), 0, 1);
    fetch->land_buffer = all->land_buffer = 2;
    fetch->send.run = fetch->land.run = all->send.run = all->land.run = 2;
    fetch->send_bytes = all->send_bytes = 2;
}

static void switches_fetch_what_is_ready(void **state)
{
    (void)state;
    fetched();
    right();

    fetched(); /* signals before it copies */
    rlt_step copy = *at(1, 0, 0);
    *at(1, 0, 0) = *at(1, 0, 1);
    *at(1, 0, 1) = copy;
    wrong(0, 0, 1, "fetches block 0 from member 1, which writes the same block: neither waits for the other");

    fetched();
    at(1, 0, 0)->send.first = 1; /* blocks 1 and 0, in this order */
    wrong(0, 0, 1, "fetches block 0 from member 1, which holds another block there");

    fetched();
    at(0, 0, 2)->land_buffer = 1;
    wrong(1, 0, 2, "writes block 0 of buffer 1, which a switch fetches");

    fetched(); /* a second fetch, of sums that member 0 has already */
    at(0, 0, 1)->land_buffer = 1;
    at(0, 0, 2)->verb = RLT_VERB_REDUCE;
    at(0, 0, 2)->send_to = 0;
    at(0, 0, 2)->send_buffer = 1;
    awaits(at(1, 0, 2), RLT_NONE, 0);
    wrong(0, 0, 2, "fetches the contribution of member 1 to block 0 twice");
}

static void only_signals_are_empty(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 2; k++) { /* a copy, a fetch */
        fetched();
        at(0, 0, k)->send.reps = at(0, 0, k)->land.reps = 0;
        wrong(0, 0, k,
              "moves 0 x 2 blocks from block 0 on to block 0 on; expected 1 to 2 blocks of the lane");
    }
    begin(RLT_BROADCAST, 2, 1, 2, false);
    at(0, 0, 0)->send_to = 1;
    awaits(at(1, 0, 0), 0, 1);
    wrong(0, 0, 0, "moves 0 x 0 blocks from block 0 on to block 0 on; expected 1 to 2 blocks of the lane");
}

/* ---- spans ---- */

typedef struct seen {
    uint32_t n, member, lane, step, tags[8];
    int answer;
} seen;

static int look(void *ctx, uint32_t member, uint32_t lane, uint32_t step, const uint32_t *tags, uint32_t n,
                rlt_error *err)
{
    seen *s = ctx;
    s->member = member;
    s->lane = lane;
    s->step = step;
    for (uint32_t i = 0; i < n; i++)
        s->tags[s->n++] = tags[i];
    return s->answer ? rlt_fail(err, s->answer, "observer", "has seen enough") : 0;
}

/* Blocks 6, 7, 1, 2 of 8 come to member 1 as 0, 1, 2, 3, and go home from there. 13 bytes: five blocks have two. */
static void displaced(void)
{
    begin(RLT_BROADCAST, 2, 1, 8, false);
    w.bytes = 13;
    w.buffers = 2;
    rlt_step *s = sends(at(0, 0, 0), 1, 0, 0);
    s->send = (rlt_blocks){6, 2, 3, 2};
    s->land = (rlt_blocks){0, 4, 1, 1};
    s->land_buffer = 1;
    s->send_bytes = 1 + 1 + 2 + 2;
    awaits(at(1, 0, 0), 0, 1);
    rlt_step *home = copies(at(1, 0, 1), 0, 0);
    home->send = s->land;
    home->land = s->send;
    home->send_buffer = 1;
    s = sends(at(0, 0, 1), 1, 2, 0);
    s->send = s->land = (rlt_blocks){0, 1, 3, 2}; /* 0, 3 */
    s->send_bytes = 4;
    awaits(at(1, 0, 2), 0, 1);
    s = sends(at(0, 0, 2), 1, 3, 0);
    s->send = s->land = (rlt_blocks){5, 1, 7, 2}; /* 5, 4: backwards */
    s->send_bytes = 3;
    awaits(at(1, 0, 3), 0, 1);
}

static void spans_wrap_round(void **state)
{
    (void)state;
    displaced();
    right();
    displaced();
    at(0, 0, 0)->send_bytes = 8;
    wrong(0, 0, 0, "states 8 bytes for a message of 6");
    displaced();
    at(1, 0, 1)->land.stride = 4;
    wrong(1, 0, 0, "block 1 of the result is empty");
    displaced();
    at(0, 0, 0)->land.reps = 2;
    wrong(0, 0, 0, "sends 2 x 2 blocks, but they land as 2 x 4; expected the same number");
    displaced();
    at(0, 0, 0)->send.first = 8;
    wrong(0, 0, 0, "moves 2 x 2 blocks from block 8 on to block 0 on; expected 1 to 8 blocks of the lane");
    displaced();
    at(0, 0, 0)->land.first = 8;
    wrong(0, 0, 0, "moves 2 x 2 blocks from block 6 on to block 8 on; expected 1 to 8 blocks of the lane");
    displaced();
    at(0, 0, 0)->send_buffer = 2;
    wrong(0, 0, 0, "names buffers 2 and 1; the plan has 2 buffers, counted from 0");
}

/* Member 1 sends its blocks 0 .. 3, which are 6, 7, 1, 2, back: only that message has other tags than places. */
static void observers_see_displaced_blocks(void **state)
{
    (void)state;
    static const uint32_t tags[] = {6, 7, 1, 2};
    rlt_error err;
    for (int answer = 0; answer >= RLT_ERANGE; answer += RLT_ERANGE) {
        seen s = {.answer = answer};
        displaced();
        rlt_step *back = sends(at(1, 0, 3), 0, 3, 0);
        back->send_buffer = back->land_buffer = 1;
        back->send = back->land = (rlt_blocks){0, 4, 1, 1};
        back->send_bytes = 6;
        awaits(at(0, 0, 3), 1, 1);
        assert_int_equal(check(look, &s, &err), answer);
        assert_int_equal(s.n, 4);
        assert_memory_equal(s.tags, tags, sizeof tags);
        assert_int_equal(s.member, 1);
        assert_int_equal(s.lane, 0);
        assert_int_equal(s.step, 3);
    }
}

/* ---- waits ---- */

/* Each of n members waits for the one before it, and sends then. */
static void round_of(uint32_t n)
{
    begin(RLT_BROADCAST, n, 1, 1, false);
    for (uint32_t m = 0; m < n; m++) {
        awaits(at(m, 0, 0), (m + n - 1) % n, 1);
        sends(at(m, 0, 1), (m + 1) % n, 0, 0);
    }
}

static void circles_are_told(void **state)
{
    (void)state;
    round_of(3);
    wrong(0, 0, 0,
          "deadlock: a cycle of 3 waiting steps: member 2 lane 0 step 0, member 1 lane 0 step 0, "
          "member 0 lane 0 step 0");
    round_of(10);
    wrong(0, 0, 0,
          "deadlock: a cycle of 10 waiting steps: member 9 lane 0 step 0, member 8 lane 0 step 0, "
          "member 7 lane 0 step 0, member 6 lane 0 step 0, member 5 lane 0 step 0, member 4 lane 0 step 0, "
          "member 3 lane 0 step 0, member 2 lane 0 step 0, ...");
    round_of(8);
    for (uint32_t m = 0; m < 8; m++)
        at(m, 0, 0)->recv_from = RLT_NONE; /* the sender has to be found */
    wrong(0, 0, 0,
          "deadlock: a cycle of 8 waiting steps: member 7 lane 0 step 0, member 6 lane 0 step 0, "
          "member 5 lane 0 step 0, member 4 lane 0 step 0, member 3 lane 0 step 0, member 2 lane 0 step 0, "
          "member 1 lane 0 step 0, member 0 lane 0 step 0");
}

/* Member 2 waits for member 1, which is in no circle itself: 1 waits for 0 and 0 for 1. Lane 1 of each sends. */
static void circles_cross_lanes(void **state)
{
    (void)state;
    begin(RLT_BROADCAST, 3, 2, 1, false);
    w.root = 2;
    for (uint32_t m = 0; m < 2; m++) {
        awaits(at(m, 0, 0), 1 - m, 1);
        sends(at(m, 1, 0), 1 - m, 0, 0)->peer_shift = 1; /* to lane 0 */
        after(at(m, 1, 0), 0, 0);
    }
    awaits(at(2, 0, 0), 1, 1);
    sends(at(1, 0, 1), 2, 0, 0);
    wrong(0, 0, 0,
          "deadlock: a cycle of 4 waiting steps: member 1 lane 1 step 0, member 1 lane 0 step 0, "
          "member 0 lane 1 step 0, member 0 lane 0 step 0");
}

/* Nobody multicasts before it has got the other's. */
static void circles_of_multicasts(void **state)
{
    (void)state;
    begin(RLT_ALL_GATHER, 2, 1, 2, false);
    w.reduces = true;
    for (uint32_t m = 0; m < 2; m++) {
        sends(at(m, 0, 1 + m), 2, 1 + m, m)->verb = RLT_VERB_MULTICAST;
        at(m, 0, 2)->recv_count = 1;
        at(m, 0, 1)->recv_count = 1;
    }
    right();
    after(at(0, 0, 1), 0, 2);
    wrong(0, 0, 1, "deadlock: a cycle of 1 waiting steps: member 0 lane 0 step 1");
    after(at(0, 0, 1), RLT_NONE, 0);
    at(0, 0, 0)->recv_count = 1; /* gets member 1's, which awaits member 0's */
    sends(at(1, 0, 2), 2, 0, 1)->verb = RLT_VERB_MULTICAST;
    at(1, 0, 0)->recv_count = 1;
    at(0, 0, 2)->recv_count = at(1, 0, 2)->recv_count = 0;
    wrong(1, 0, 0, "deadlock: a cycle of 1 waiting steps: member 1 lane 0 step 0");
}

/* Multicasts of even members reach even members only. Member 1 waits for member 3, not for member 0, which waits for it
 * without being in the circle. */
static void circles_of_some(void **state)
{
    (void)state;
    begin(RLT_BROADCAST, 4, 1, 1, false);
    w.reduces = true;
    w.stride = 2;
    awaits(at(0, 0, 0), 1, 2);
    at(2, 0, 0)->recv_count = 1;
    at(1, 0, 0)->recv_count = 1;
    at(3, 0, 0)->recv_count = 2;
    for (uint32_t m = 0; m < 4; m += 3)
        sends(at(m, 0, 1), 4, 0, 0)->verb = RLT_VERB_MULTICAST;
    sends(at(1, 0, 1), 0, 0, 0);
    sends(at(1, 0, 2), 3, 0, 0);
    wrong(1, 0, 0, "deadlock: a cycle of 2 waiting steps: member 3 lane 0 step 0, member 1 lane 0 step 0");
    /* The last even member waits for the multicast of the first, which waits for its message. */
    begin(RLT_BROADCAST, 8, 1, 1, false);
    w.reduces = true;
    w.stride = 2;
    awaits(at(0, 0, 0), 6, 1);
    sends(at(0, 0, 1), 8, 2, 0)->verb = RLT_VERB_MULTICAST;
    for (uint32_t m = 0; m < 8; m += 2)
        at(m, 0, 2)->recv_count = 1;
    sends(at(6, 0, 3), 0, 0, 0);
    wrong(0, 0, 0, "deadlock: a cycle of 2 waiting steps: member 6 lane 0 step 2, member 0 lane 0 step 0");
}

static void counts_of_messages(void **state)
{
    (void)state;
    twins();
    at(1, 0, 0)->recv_count = 3;
    wrong(1, 0, 0, "waits for 3 messages, but 1 are sent to this step, the last by member 0 step 0");
    twins();
    at(0, 1, 0)->peer_step = 1;
    wrong(0, 1, 0, "sends to step 1 of member 1, which has 1 steps");
    twins();
    at(0, 1, 0)->send_to = RLT_NONE;
    wrong(1, 1, 0, "waits for 1 messages, but none is sent to this step");
    twins();
    at(0, 1, 0)->peer_shift = 1;
    wrong(1, 0, 0, "waits for 1 messages, but 2 are sent to this step, the last by member 0 step 0");
    w.untracked = true; /* contents do not matter there */
    wrong(1, 0, 0, "waits for 1 messages, but 2 are sent to this step, the last by member 0 step 0");
    twins();
    w.untracked = true;
    right();
}

/* ---- plans that cannot be ---- */

static void shapes_of_plans(void **state)
{
    (void)state;
    static const struct {
        uint32_t lanes, blocks, buffers, result;
        const char *says;
    } all[] = {{0, 1, 1, 0, "0 lanes, 1 blocks, result buffer 0 of 1"},
               {4097, 1, 1, 0, "4097 lanes, 1 blocks, result buffer 0 of 1"},
               {1, 0, 1, 0, "1 lanes, 0 blocks, result buffer 0 of 1"},
               {1, 1, 1, 1, "1 lanes, 1 blocks, result buffer 1 of 1"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[240];
        begin(RLT_ALL_REDUCE, 1, 1, 1, false);
        w.lanes = all[i].lanes;
        w.blocks = all[i].blocks;
        w.buffers = all[i].buffers;
        w.result = all[i].result;
        snprintf(text, sizeof text,
                 "%s; expected 1 to 4096 lanes, at least one block, and a result below the number of buffers",
                 all[i].says);
        refused(RLT_ECHECK, text);
    }
    begin(RLT_ALL_TO_ALL, 2, 1, 3, false);
    refused(RLT_ECHECK, "an all-to-all of 2 members has 3 blocks; expected a multiple of 2");
}

static void sizes_of_plans(void **state)
{
    (void)state;
    begin(RLT_ALL_REDUCE, 2, 2, UINT32_MAX, false);
    w.buffers = 3;
    refused(RLT_ERANGE, "2 members x 2 lanes x 3 buffers x 4294967295 blocks are too many to check");
    begin(RLT_ALL_REDUCE, 1, 1, 1, false);
    w.steps[0][0] = (1u << 26) + 1;
    refused(RLT_ERANGE, "67108865 steps are too many to check");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_reads_what_another_writes),
        cmocka_unit_test(two_lanes_write),
        cmocka_unit_test(a_lane_writes_what_another_reads),
        cmocka_unit_test(a_wait_covers_no_later_step),
        cmocka_unit_test(messages_order_lanes),
        cmocka_unit_test(sums_need_something_to_add_to),
        cmocka_unit_test(a_block_is_written_once_in_a_step),
        cmocka_unit_test(sums_are_not_replaced),
        cmocka_unit_test(contributions_of_others_are_named),
        cmocka_unit_test(what_was_never_written_is_said),
        cmocka_unit_test(switches_fetch_what_is_ready),
        cmocka_unit_test(only_signals_are_empty),
        cmocka_unit_test(spans_wrap_round),
        cmocka_unit_test(observers_see_displaced_blocks),
        cmocka_unit_test(circles_are_told),
        cmocka_unit_test(circles_cross_lanes),
        cmocka_unit_test(circles_of_multicasts),
        cmocka_unit_test(circles_of_some),
        cmocka_unit_test(counts_of_messages),
        cmocka_unit_test(shapes_of_plans),
        cmocka_unit_test(sizes_of_plans),
    };
    return cmocka_run_group_tests_name("plans written down", tests, NULL, NULL);
}
