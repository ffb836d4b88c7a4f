/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives listed step by step, built by hand. Tests the builder, the algorithm that runs them, and the
 * checker for shared blocks, for untracked messages, and for gather and scatter. Each defect is one change of
 * a correct plan, which passes in the same test.
 */
#include "test/support/support.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/listed_check.h"
#include "collectives/collective.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

enum { N = 4 };

static rlt_listing *begin(rlt_coll_kind kind, uint32_t n, uint32_t root, uint32_t blocks, uint8_t buffers,
                          uint8_t result)
{
    rlt_listing *l = NULL;
    rlt_error err = {0};
    const rlt_listing_head head = {"by_hand", kind, n, root, blocks, buffers, result};
    if (rlt_listing_create(&head, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_listing_source(l, "plan");
    return l;
}

static int end(rlt_listing *l, rlt_listed *out, rlt_error *err)
{
    *err = (rlt_error){0};
    int rc = rlt_listing_finish(l, out, err);
    if (!rc && (rc = rlt_listed_check(out, err)))
        rlt_listed_free(out);
    return rc;
}

static rlt_blocks one(uint32_t block)
{
    return (rlt_blocks){.first = block, .run = 1, .reps = 1};
}

static uint32_t add_send(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t block, bool reduce,
                         uint32_t line)
{
    rlt_step s;
    rlt_step_clear(&s);
    s.send = s.land = one(block);
    s.reduce = reduce;
    return rlt_listing_step(l, member, lane, &s, line);
}

static uint32_t add_nothing(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t line)
{
    rlt_step s;
    rlt_step_clear(&s);
    return rlt_listing_step(l, member, lane, &s, line);
}

/* Gather of `n` members. Each sends its block to the root, which has one lane for each of them. Lanes of a
 * member see the same blocks, and messages go from lane 0 to lane 1 of the root. */
static rlt_listing *gather(uint32_t n, uint32_t root, uint32_t skip, uint32_t misplaced)
{
    rlt_listing *l = begin(RLT_GATHER, n, root, n, 1, 0);
    for (uint32_t m = 0; m < n; m++)
        rlt_listing_lane(l, m);
    rlt_listing_lane(l, root);
    for (uint32_t m = 0; m < n; m++) {
        if (m == root || m == skip)
            continue;
        uint32_t s = add_send(l, m, 0, m, false, 100 + m), r = add_nothing(l, root, 1, 200 + m);
        if (m == misplaced)
            rlt_listing_at(l, m, 0, s)->land = one(root);
        rlt_listing_connect(l, (rlt_listing_place){m, 0, s}, (rlt_listing_place){root, 1, r});
    }
    return l;
}

static void gathers_end_at_the_root(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err;
    for (uint32_t root = 0; root < N; root++) {
        assert_int_equal(end(gather(N, root, RLT_NONE, RLT_NONE), &l, &err), 0);
        assert_int_equal(l.lanes, 2);
        rlt_listed_free(&l);
        uint32_t other = (root + 1) % N;
        assert_int_equal(end(gather(N, root, other, RLT_NONE), &l, &err), RLT_ECHECK);
        assert_non_null(strstr(err.what, "is empty"));
        if (root + 2 >= N)
            continue; /* here the missing block comes before the wrong one */
        char place[32];
        snprintf(place, sizeof place, "plan:%u: ", 200 + root + 2); /* the place where it landed */
        assert_int_equal(end(gather(N, root, RLT_NONE, root + 2), &l, &err), RLT_ECHECK);
        assert_non_null(strstr(err.what, "should be block"));
        assert_memory_equal(err.where, place, strlen(place));
    }
}

static rlt_listing *scatter(uint32_t n, uint32_t root, uint32_t wrong)
{
    rlt_listing *l = begin(RLT_SCATTER, n, root, n, 1, 0);
    for (uint32_t m = 0; m < n; m++)
        rlt_listing_lane(l, m);
    for (uint32_t m = 0; m < n; m++) {
        if (m == root)
            continue;
        uint32_t s = add_send(l, root, 0, m == wrong ? root : m, false, 10), r = add_nothing(l, m, 0, 20 + m);
        rlt_listing_connect(l, (rlt_listing_place){root, 0, s}, (rlt_listing_place){m, 0, r});
    }
    return l;
}

static void scatters_begin_at_the_root(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err;
    assert_int_equal(end(scatter(N, 1, RLT_NONE), &l, &err), 0);
    rlt_listed_free(&l);
    assert_int_equal(end(scatter(N, 1, 3), &l, &err), RLT_ECHECK);
    assert_non_null(strstr(err.what, "block 3 of the result is empty"));
}

/* All-reduce of two members: added at member 0, then sent back. */
static rlt_listing *both(bool back_adds, bool forgets)
{
    rlt_listing *l = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
    rlt_listing_lane(l, 0);
    rlt_listing_lane(l, 1);
    uint32_t s = add_send(l, 1, 0, 0, !forgets, 5), r = add_nothing(l, 0, 0, 6);
    rlt_listing_connect(l, (rlt_listing_place){1, 0, s}, (rlt_listing_place){0, 0, r});
    s = add_send(l, 0, 0, 0, back_adds, 7);
    r = add_nothing(l, 1, 0, 8);
    rlt_listing_connect(l, (rlt_listing_place){0, 0, s}, (rlt_listing_place){1, 0, r});
    return l;
}

static void contributions_count_once(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err;
    assert_int_equal(end(both(false, false), &l, &err), 0);
    rlt_listed_free(&l);
    assert_int_equal(end(both(true, false), &l, &err), RLT_ECHECK);
    assert_memory_equal(err.where, "plan:8:", 7);
    assert_non_null(strstr(err.what, "comes a second time"));
    assert_int_equal(end(both(false, true), &l, &err), RLT_ECHECK);
    assert_memory_equal(err.where, "plan:6:", 7);
    assert_non_null(strstr(err.what, "replaces the contribution of member 0"));
}

static void connect(rlt_listing *l, uint32_t from, uint32_t from_step, uint32_t to, uint32_t to_step)
{
    rlt_listing_connect(l, (rlt_listing_place){from, 0, from_step}, (rlt_listing_place){to, 0, to_step});
}

/* An all-reduce of two blocks that uses block 0 of member 0 as scratch: the sum there is replaced by what member 1 had,
 * and comes back later. Steps of member m have lines 10 (m + 1) and on. */
static rlt_listing *scratch(bool misplaces)
{
    rlt_listing *l = begin(RLT_ALL_REDUCE, 2, 0, 2, 1, 0);
    rlt_listing_lane(l, 0);
    rlt_listing_lane(l, 1);
    add_nothing(l, 0, 0, 10);
    add_send(l, 0, 0, 0, false, 11);
    add_nothing(l, 0, 0, 12);
    add_nothing(l, 0, 0, 13);
    add_nothing(l, 0, 0, 14);
    rlt_listing_at(l, 0, 0, add_send(l, 0, 0, misplaces ? 0 : 1, false, 15))->land = one(1);
    add_send(l, 1, 0, 0, true, 20);
    add_send(l, 1, 0, 0, false, 21);
    add_nothing(l, 1, 0, 22);
    add_send(l, 1, 0, 0, false, 23);
    add_send(l, 1, 0, 1, true, 24);
    add_nothing(l, 1, 0, 25);
    connect(l, 1, 0, 0, 0);
    connect(l, 1, 1, 0, 2);
    connect(l, 0, 1, 1, 2);
    connect(l, 1, 3, 0, 3);
    connect(l, 1, 4, 0, 4);
    connect(l, 0, 5, 1, 5);
    return l;
}

/* What is replaced and comes back is no defect; another defect beside it is named as itself. */
static void results_may_be_scratch(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err;
    assert_int_equal(end(scratch(false), &l, &err), 0);
    rlt_listed_free(&l);
    assert_int_equal(end(scratch(true), &l, &err), RLT_ECHECK);
    assert_string_equal(err.what, "block 1 of the result should be block 1, but is block 0");
    assert_memory_equal(err.where, "plan:25:", 8);
}

/* Lanes that wait for each other. The first must wait, so that the accesses are ordered. */
static void circles_of_lanes_are_found(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err;
    for (int circle = 0; circle < 2; circle++) {
        rlt_listing *b = begin(RLT_BARRIER, 1, 0, 1, 1, 0);
        rlt_listing_lane(b, 0);
        rlt_listing_lane(b, 0);
        add_nothing(b, 0, 0, 11);
        add_nothing(b, 0, 1, 12);
        rlt_listing_at(b, 0, 1, 0)->wait_lane = 0;
        if (circle)
            rlt_listing_at(b, 0, 0, 0)->wait_lane = 1;
        assert_int_equal(end(b, &l, &err), circle ? RLT_ECHECK : 0);
        if (!circle) {
            rlt_listed_free(&l);
            continue;
        }
        assert_non_null(strstr(err.what, "deadlock: a cycle of 2 waiting steps"));
        assert_memory_equal(err.where, "plan:1", 6);
    }
}

/* Lane i waits for lane i + 1, the last one for the first. A long circle is cut after eight steps. */
static void long_circles_are_cut(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 12; n++) {
        rlt_listed l;
        rlt_error err;
        char expected[80];
        rlt_listing *b = begin(RLT_BARRIER, 1, 0, 1, 1, 0);
        for (uint32_t i = 0; i < n; i++)
            rlt_listing_lane(b, 0);
        for (uint32_t i = 0; i < n; i++) {
            add_nothing(b, 0, i, 10 + i);
            rlt_listing_at(b, 0, i, 0)->wait_lane = (i + 1) % n;
        }
        assert_int_equal(end(b, &l, &err), RLT_ECHECK);
        snprintf(expected, sizeof expected, "deadlock: a cycle of %u waiting steps: ", n);
        assert_non_null(strstr(err.what, expected));
        assert_int_equal(strstr(err.what, ", ...") != NULL, n > 8);
    }
}

/* Each member sends to the next one after it has received: the circle names the lanes that have still to send. */
static void circles_of_members_are_named(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 8; n++) {
        rlt_listed l;
        rlt_error err;
        char expected[80];
        rlt_listing *b = begin(RLT_BARRIER, n, 0, 1, 1, 0);
        for (uint32_t m = 0; m < n; m++) {
            rlt_listing_lane(b, m);
            rlt_listing_lane(b, m);
            add_nothing(b, m, 1, 10 + m);
            add_send(b, m, 1, 0, false, 20 + m);
        }
        for (uint32_t m = 0; m < n; m++)
            rlt_listing_connect(b, (rlt_listing_place){m, 1, 1}, (rlt_listing_place){(m + 1) % n, 1, 0});
        assert_int_equal(end(b, &l, &err), RLT_ECHECK);
        snprintf(expected, sizeof expected, "deadlock: a cycle of %u waiting steps: ", n);
        assert_non_null(strstr(err.what, expected));
        for (uint32_t m = 0; m < n; m++) {
            snprintf(expected, sizeof expected, "member %u lane 1 step 0", m);
            assert_non_null(strstr(err.what, expected));
        }
    }
}

/* Lane 1 of member 1 writes a block. Its message could only follow a message that lane 0 received. A step
 * that reads the block must be ordered before or after it, by a wait or by the same lane. */
static void order_may_come_from_elsewhere(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) { /* no order, a wait, the same lane */
        rlt_listing *b = begin(RLT_BROADCAST, 3, 0, 1, 2, 0);
        rlt_listed l;
        rlt_error err;
        for (uint32_t m = 0; m < 3; m++)
            rlt_listing_lane(b, m);
        rlt_listing_lane(b, 1);
        uint32_t s = add_send(b, 0, 0, 0, false, 1), r = add_nothing(b, 1, 0, 2);
        rlt_listing_connect(b, (rlt_listing_place){0, 0, s}, (rlt_listing_place){1, 0, r});
        s = add_send(b, 1, 0, 0, false, 3);
        r = add_nothing(b, 2, 0, 4);
        rlt_listing_connect(b, (rlt_listing_place){1, 0, s}, (rlt_listing_place){2, 0, r});
        s = add_send(b, 2, 0, 0, false, 5);
        r = add_nothing(b, 1, 1, 6);
        rlt_listing_connect(b, (rlt_listing_place){2, 0, s}, (rlt_listing_place){1, 1, r});
        rlt_step copy;
        rlt_step_clear(&copy);
        copy.copy = 1;
        copy.land_buffer = 1;
        copy.send = copy.land = one(0);
        if (how == 1)
            copy.wait_lane = 1;
        rlt_listing_step(b, 1, how == 2 ? 1 : 0, &copy, 7);
        assert_int_equal(end(b, &l, &err), how == 0 ? RLT_ECHECK : 0);
        if (how == 0)
            assert_non_null(strstr(err.what, "neither waits for the other"));
        else
            rlt_listed_free(&l);
    }
}

/* For untracked data, only messages and waits are proven. Sizes are scaled in proportion. */
static void untracked_plans_have_messages_only(void **state)
{
    (void)state;
    for (int unmatched = 0; unmatched < 2; unmatched++) {
        rlt_listing *b = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
        rlt_listed l;
        rlt_error err;
        rlt_plan plan;
        rlt_step s;
        rlt_listing_untracked(b, 1000);
        rlt_listing_lane(b, 0);
        rlt_listing_lane(b, 1);
        rlt_step_clear(&s);
        s.send_bytes = 300;
        rlt_listing_step(b, 0, 0, &s, 3);
        add_nothing(b, 1, 0, 4);
        rlt_listing_connect(b, (rlt_listing_place){0, 0, 0}, (rlt_listing_place){1, 0, 0});
        rlt_listing_at(b, 1, 0, 0)->recv_count += (uint32_t)unmatched;
        assert_int_equal(end(b, &l, &err), unmatched ? RLT_ECHECK : 0);
        if (unmatched) {
            assert_memory_equal(err.where, "plan:4:", 7);
            continue;
        }
        rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 2, .bytes = 2500, .listed = &l};
        assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), 0);
        rlt_step_clear(&s);
        rlt_custom.step(&plan, 0, 0, 0, &s);
        assert_int_equal(s.send_bytes, 750);
        rlt_plan_free(&plan);
        rlt_listed_free(&l);
    }
}

/* A plan for another request is refused; the message names both sides of the difference. */
static void requests_must_fit(void **state)
{
    (void)state;
    rlt_listed l;
    rlt_error err = {0};
    rlt_plan plan;
    assert_int_equal(end(gather(N, 1, RLT_NONE, RLT_NONE), &l, &err), 0);
    rlt_coll_request req = {.kind = RLT_GATHER, .n = N, .root = 1, .bytes = 64, .listed = &l};
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), 0);
    rlt_plan_free(&plan);
    req.root = 0;
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), RLT_EUNSUPPORTED);
    req.root = 1;
    req.n = 5;
    err = (rlt_error){0};
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), RLT_ETOPOLOGY);
    assert_non_null(strstr(err.what, "for 4 ranks, but the group has 5"));
    req.n = N;
    req.kind = RLT_SCATTER;
    err = (rlt_error){0};
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "for gather, not for scatter"));
    req.listed = NULL;
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, NULL), RLT_EUNSUPPORTED);
    rlt_listed_free(&l);
}

/* Indices out of range are found before anything runs. */
static void wild_steps_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t wait_lane, wait_step, send_to, peer_step;
        rlt_blocks send;
        uint8_t buffer;
    } wild[] = {
        {9, 0, RLT_NONE, 0, {0, 1, 0, 1}, 0},          {0, 9, RLT_NONE, 0, {0, 1, 0, 1}, 0},
        {RLT_NONE, 0, 7, 0, {0, 1, 0, 1}, 0},          {RLT_NONE, 0, 0, 0, {0, 1, 0, 1}, 0},
        {RLT_NONE, 0, 1, 99, {0, 1, 0, 1}, 0},         {RLT_NONE, 0, 1, 0, {5, 1, 0, 1}, 0},
        {RLT_NONE, 0, 1, 0, {0, UINT32_MAX, 0, 1}, 0}, {RLT_NONE, 0, 1, 0, {0, 1u << 31, 0, 2}, 0},
        {RLT_NONE, 0, 1, 0, {0, 0, 0, 0}, 0},          {RLT_NONE, 0, 1, 0, {0, 1, 0, 1}, 9},
    };
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        rlt_listing *b = both(false, false);
        rlt_listed l;
        rlt_error err;
        rlt_step *s = rlt_listing_at(b, 0, 0, 1);
        s->wait_lane = wild[i].wait_lane;
        s->wait_step = wild[i].wait_step;
        s->send_to = wild[i].send_to == RLT_NONE ? s->send_to : wild[i].send_to;
        s->peer_step = wild[i].peer_step == 0 ? s->peer_step : wild[i].peer_step;
        s->send = s->land = wild[i].send;
        s->send_buffer = wild[i].buffer;
        assert_int_equal(end(b, &l, &err), RLT_ECHECK);
        assert_memory_equal(err.where, "plan:7:", 7);
    }
}

static void limits_hold(void **state)
{
    (void)state;
    rlt_listing *b = NULL;
    rlt_error err = {0};
    static const rlt_listing_head wrong[] = {{"x", RLT_ALL_REDUCE, 0, 0, 1, 1, 0},
                                             {"x", RLT_ALL_REDUCE, 1u << 30, 0, 1, 1, 0},
                                             {"x", RLT_ALL_REDUCE, 2, 2, 1, 1, 0},
                                             {"x", RLT_ALL_REDUCE, 2, 0, 0, 1, 0},
                                             {"x", RLT_ALL_REDUCE, 2, 0, 1, 1, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rlt_listing_create(&wrong[i], &b, &err), RLT_ERANGE);
    b = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
    for (uint32_t i = 0; i <= RLT_MAX_LANES; i++)
        rlt_listing_lane(b, 0);
    assert_true(rlt_listing_failed(b));
    rlt_listing_at(b, 0, 5000, 7)->reduce = 1; /* harmless by now */
    rlt_listed l;
    err = (rlt_error){0};
    assert_int_equal(rlt_listing_finish(b, &l, &err), RLT_ERANGE);
}

/* A step hears from one member, however often, or from several. */
static void who_is_heard(void **state)
{
    (void)state;
    rlt_listing *l = begin(RLT_ALL_GATHER, 3, 0, 3, 1, 0);
    for (uint32_t m = 0; m < 3; m++)
        rlt_listing_lane(l, m);
    rlt_listing_lane(l, 2);
    for (uint32_t i = 0; i < 2; i++) {
        add_send(l, 0, 0, 0, false, 0);
        add_send(l, 1, 0, 0, false, 0);
        add_nothing(l, 2, 0, 0);
    }
    assert_int_equal(add_nothing(l, 2, 1, 0), 0);
    rlt_listing_connect(l, (rlt_listing_place){0, 0, 0}, (rlt_listing_place){2, 0, 0});
    const rlt_step *hears = rlt_listing_at(l, 2, 0, 0);
    assert_true(hears->recv_from == 0 && hears->recv_count == 1);
    rlt_listing_connect(l, (rlt_listing_place){0, 0, 1}, (rlt_listing_place){2, 0, 0});
    assert_true(hears->recv_from == 0 && hears->recv_count == 2);
    rlt_listing_connect(l, (rlt_listing_place){1, 0, 0}, (rlt_listing_place){2, 0, 0});
    assert_true(hears->recv_from == RLT_NONE && hears->recv_count == 3);
    rlt_listing_connect(l, (rlt_listing_place){1, 0, 1}, (rlt_listing_place){2, 1, 0});
    hears = rlt_listing_at(l, 2, 1, 0);
    assert_true(hears->recv_from == 1 && hears->recv_count == 1);
    const rlt_step *sends = rlt_listing_at(l, 1, 0, 1);
    assert_true(sends->send_to == 2 && sends->peer_step == 0);
    assert_int_equal(rlt_listing_steps(l, 0, 0), 2);
    assert_false(rlt_listing_failed(l));
    rlt_listed out;
    assert_int_equal(rlt_listing_finish(l, &out, NULL), 0);
    /* flat: a lane of each member, the second one empty but for member 2 */
    static const uint32_t first[] = {0, 2, 2, 4, 4, 6, 7};
    assert_int_equal(out.lanes, 2);
    assert_memory_equal(out.first, first, sizeof first);
    assert_null(out.line); /* no step had one */
    static const uint32_t shifts[] = {0, 0, 0, 1, 0, 0, 0};
    for (int i = 0; i < 7; i++)
        assert_int_equal(out.steps[i].peer_shift, shifts[i]);
    rlt_listed_free(&out);
    rlt_listed_free(NULL);
    rlt_listing_free(NULL);
}

/* A place is named by its file and line, by its name, or by the algorithm that makes it. */
static void places_have_names(void **state)
{
    rlt_listed l;
    rlt_error err;
    char text[80];
    (void)state;
    assert_int_equal(end(gather(3, 1, RLT_NONE, RLT_NONE), &l, &err), 0);
    rlt_plan plan = {.algorithm = &rlt_custom, .lanes = 2, .req = {.n = 3, .listed = &l}};
    static const struct {
        uint32_t member, lane, step;
        const char *text;
    } rows[] = {
        {0, 0, 0, "plan:100: member 0, lane 0, step 0"}, {1, 1, 0, "plan:200: member 1, lane 1, step 0"},
        {1, 1, 1, "plan:202: member 1, lane 1, step 1"}, {1, 1, 2, "plan: member 1, lane 1, step 2"},
        {0, 0, 1, "plan: member 0, lane 0, step 1"},     {2, 0, 0, "plan:102: member 2, lane 0, step 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_step_place(&plan, rows[i].member, rows[i].lane, rows[i].step, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
    l.source[0] = '\0';
    rlt_step_place(&plan, 0, 0, 1, text, sizeof text);
    assert_string_equal(text, "by_hand: member 0, lane 0, step 1");
    plan.algorithm = &rlt_ring;
    rlt_step_place(&plan, 0, 0, 0, text, sizeof text);
    assert_string_equal(text, "ring: member 0, lane 0, step 0");
    rlt_listed_free(&l);
}

static void refusals_of_heads(void **state)
{
    static const struct {
        rlt_listing_head head;
        const char *what;
    } rows[] = {
        {{"x", RLT_ALL_REDUCE, 0, 0, 1, 1, 0}, "expected 1 to 65536 members, got 0"},
        {{"x", RLT_ALL_REDUCE, 65537, 0, 1, 1, 0}, "expected 1 to 65536 members, got 65537"},
        {{"x", RLT_ALL_REDUCE, 2, 2, 1, 1, 0}, "root 2 is not a member; expected 0 to 1"},
        {{"x", RLT_ALL_REDUCE, 2, 1, 0, 3, 1},
         "0 blocks, result buffer 1 of 3; expected at least one block and a result below the number of buffers"},
        {{"x", RLT_ALL_REDUCE, 2, 1, 5, 3, 3},
         "5 blocks, result buffer 3 of 3; expected at least one block and a result below the number of buffers"},
    };
    rlt_listing *l = NULL;
    rlt_listed out;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_listing_create(&rows[i].head, &l, &err), RLT_ERANGE);
        assert_string_equal(err.where, "x");
        assert_string_equal(err.what, rows[i].what);
    }
    const rlt_listing_head most = {"many", RLT_BARRIER, 65536, 65535, 1, 1, 0};
    assert_int_equal(rlt_listing_create(&most, &l, NULL), 0);
    for (uint32_t i = 0; i < 65; i++)
        assert_int_equal(rlt_listing_lane(l, 7), i);
    rlt_error err = {0};
    assert_int_equal(rlt_listing_finish(l, &out, &err), RLT_ERANGE);
    assert_string_equal(err.where, "many");
    assert_string_equal(err.what, "65536 members with 65 lanes are more than 4194304 lanes");
    assert_int_equal(rlt_listing_create(&most, &l, NULL), 0);
    for (uint32_t i = 0; i < 64; i++)
        rlt_listing_lane(l, 7);
    assert_int_equal(rlt_listing_finish(l, &out, NULL), 0);
    rlt_listed_free(&out);
    l = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
    for (uint32_t i = 0; i < RLT_MAX_LANES; i++)
        assert_int_equal(rlt_listing_lane(l, 0), i);
    assert_false(rlt_listing_failed(l));
    rlt_listing_lane(l, 0);
    assert_true(rlt_listing_failed(l));
    assert_int_equal(rlt_listing_steps(l, 0, 0), 0);
    err = (rlt_error){0};
    assert_int_equal(rlt_listing_finish(l, &out, &err), RLT_ERANGE);
    assert_string_equal(err.where, "plan");
}

/* A source of one letter stands in place of the name; without any lane there is one, of no steps. */
static void sources_and_no_lanes(void **state)
{
    const rlt_listing_head most = {"many", RLT_BARRIER, 65536, 65535, 1, 1, 0};
    rlt_listing *l = NULL;
    rlt_listed out;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_listing_create(&most, &l, NULL), 0);
    rlt_listing_source(l, "f");
    for (uint32_t i = 0; i < 65; i++)
        rlt_listing_lane(l, 7);
    assert_int_equal(rlt_listing_finish(l, &out, &err), RLT_ERANGE);
    assert_string_equal(err.where, "f");
    l = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
    rlt_listing_source(l, "g");
    for (uint32_t i = 0; i <= RLT_MAX_LANES; i++)
        rlt_listing_lane(l, 0);
    err = (rlt_error){0};
    assert_int_not_equal(rlt_listing_finish(l, &out, &err), 0);
    assert_string_equal(err.where, "g");
    l = begin(RLT_ALL_REDUCE, 2, 0, 1, 1, 0);
    assert_int_equal(rlt_listing_finish(l, &out, NULL), 0);
    assert_true(out.lanes == 1 && out.first[0] == 0 && out.first[2] == 0);
    rlt_listed_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_end_at_the_root),
        cmocka_unit_test(scatters_begin_at_the_root),
        cmocka_unit_test(contributions_count_once),
        cmocka_unit_test(circles_of_lanes_are_found),
        cmocka_unit_test(long_circles_are_cut),
        cmocka_unit_test(circles_of_members_are_named),
        cmocka_unit_test(order_may_come_from_elsewhere),
        cmocka_unit_test(untracked_plans_have_messages_only),
        cmocka_unit_test(requests_must_fit),
        cmocka_unit_test(wild_steps_are_refused),
        cmocka_unit_test(results_may_be_scratch),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(who_is_heard),
        cmocka_unit_test(places_have_names),
        cmocka_unit_test(refusals_of_heads),
        cmocka_unit_test(sources_and_no_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
