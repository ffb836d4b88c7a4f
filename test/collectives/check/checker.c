/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checker must refuse every planted defect and name its step. Each broken algorithm is a correct one with
 * one changed step of one member; the correct one passes in the same test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

enum { N = 4 };

typedef struct defect {
    const char *name;
    const rlt_algorithm *of;
    rlt_coll_kind kind;
    uint32_t member, k; /* the changed step */
    void (*change)(rlt_step *s);
    uint32_t named_member, named_step;
    const char *says;
} defect;

/* CMocka runs tests one after another, so the step function below can read the current defect here. */
static const defect *current;

static int broken_plan(rlt_plan *plan, rlt_error *err)
{
    return current->of->plan(plan, err);
}

static uint32_t broken_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    return current->of->steps(plan, member, lane);
}

static void broken_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    current->of->step(plan, member, lane, k, out);
    if (member == current->member && k == current->k)
        current->change(out);
}

static const rlt_algorithm broken = {
    .name = "broken",
    .summary = "a sound algorithm with one step changed",
    .kinds = UINT32_MAX,
    .plan = broken_plan,
    .steps = broken_steps,
    .step = broken_step,
};

static void replace_not_add(rlt_step *s)
{
    s->reduce = 0;
}
static void add_not_replace(rlt_step *s)
{
    s->reduce = 1;
}
static void land_one_on(rlt_step *s)
{
    s->land.first = (s->land.first + 1) % N;
}
static void send_one_on(rlt_step *s)
{
    s->send.first = s->land.first = (s->send.first + 1) % N;
}
static void address_one_before(rlt_step *s)
{
    s->peer_step--;
}
static void address_nowhere(rlt_step *s)
{
    s->peer_step = 100;
}
static void do_not_wait(rlt_step *s)
{
    s->recv_count = 0;
}
static void wait_for_two(rlt_step *s)
{
    s->recv_count = 2;
}
static void do_not_send(rlt_step *s)
{
    s->send_to = RLT_NONE;
}
static void send_to_itself(rlt_step *s)
{
    s->send_to = 1;
}
static void send_outside(rlt_step *s)
{
    s->send_to = N;
}
static void expect_another(rlt_step *s)
{
    s->recv_from = (s->recv_from + 1) % N;
}
static void state_one_byte_more(rlt_step *s)
{
    s->send_bytes++;
}
static void land_half(rlt_step *s)
{
    s->send.run = 2;
}
static void name_too_many(rlt_step *s)
{
    s->send.run = s->land.run = N + 1;
}
static void name_buffer_two(rlt_step *s)
{
    s->land_buffer = 2;
}
static void wait_for_no_lane(rlt_step *s)
{
    s->wait_lane = 7;
    s->wait_step = 0;
}
static void wait_for_itself(rlt_step *s)
{
    s->wait_lane = 0;
    s->wait_step = 3;
}
static void copy_and_send(rlt_step *s)
{
    s->copy = 1;
}

/* Ring of 4: step k of member m is received by step k of member m + 1. Steps 0 .. 2 reduce, 3 .. 5
 * replace. */
static const defect defects[] = {
    {"lost: a sum overwritten", &rlt_ring, RLT_ALL_REDUCE, 2, 1, replace_not_add, 3, 1,
     "replaces the contribution"},
    {"doubled: a total added to a partial sum", &rlt_ring, RLT_ALL_REDUCE, 1, 3, add_not_replace, 2, 3,
     "second time"},
    {"misplaced in a sum", &rlt_ring, RLT_ALL_REDUCE, 2, 1, land_one_on, 3, 1, "added to block"},
    {"misplaced at the end", &rlt_ring, RLT_ALL_REDUCE, 2, 5, land_one_on, 3, 5, "should be block"},
    {"another block sent", &rlt_ring, RLT_ALL_GATHER, 1, 0, send_one_on, 1, 0, "holds nothing"},
    {"one step early", &rlt_ring, RLT_ALL_REDUCE, 0, 2, address_one_before, 1, 1, "member 0 step 2"},
    {"no such step", &rlt_ring, RLT_ALL_REDUCE, 0, 2, address_nowhere, 0, 2, "step 100 of member 1"},
    {"missing wait", &rlt_ring, RLT_ALL_REDUCE, 2, 2, do_not_wait, 2, 2, "member 1 step 2"},
    {"missing wait at a fan-in", &rlt_direct, RLT_ALL_TO_ALL, 2, 4, do_not_wait, 2, 4, "but 3 are sent"},
    {"waits for a message too many", &rlt_ring, RLT_ALL_REDUCE, 2, 2, wait_for_two, 2, 2, "but 1 are sent"},
    {"message never sent", &rlt_ring, RLT_ALL_REDUCE, 1, 2, do_not_send, 2, 2, "none is sent"},
    {"message never sent to a fan-in", &rlt_direct, RLT_ALL_TO_ALL, 1, 2, do_not_send, 3, 4,
     "but 2 are sent"},
    {"sent to itself", &rlt_ring, RLT_ALL_REDUCE, 1, 0, send_to_itself, 1, 0, "sends to member 1"},
    {"sent outside", &rlt_ring, RLT_ALL_REDUCE, 1, 0, send_outside, 1, 0, "sends to member 4"},
    {"wrong sender expected", &rlt_ring, RLT_ALL_REDUCE, 1, 1, expect_another, 1, 1, "waits for member 1"},
    {"wrong size", &rlt_ring, RLT_ALL_REDUCE, 3, 4, state_one_byte_more, 3, 4, "states 1001 bytes"},
    {"two blocks become one", &rlt_ring, RLT_ALL_REDUCE, 3, 4, land_half, 3, 4, "land as"},
    {"more blocks than there are", &rlt_ring, RLT_ALL_REDUCE, 3, 4, name_too_many, 3, 4,
     "expected 1 to 4 blocks"},
    {"no such buffer", &rlt_direct, RLT_ALL_TO_ALL, 3, 1, name_buffer_two, 3, 1,
     "names buffers 0 and 2; the plan has 2 buffers"},
    {"two messages on one block", &rlt_direct, RLT_ALL_GATHER, 1, 1, land_one_on, 3, 3, "depends on which"},
    {"no such lane", &rlt_ring, RLT_ALL_REDUCE, 0, 0, wait_for_no_lane, 0, 0, "does not exist"},
    {"waits for its own future", &rlt_ring, RLT_ALL_REDUCE, 0, 2, wait_for_itself, 0, 2, "cycle of 1 "},
    {"copies and sends", &rlt_ring, RLT_ALL_REDUCE, 0, 2, copy_and_send, 0, 2, "copies and sends"},
    {"contribution of a reduce lost", &rlt_direct, RLT_REDUCE, 2, 0, do_not_send, 1, 0, "but 2 are sent"},
    {"own share not kept", &rlt_direct, RLT_ALL_TO_ALL, 2, 0, land_one_on, 2, 0,
     "block 2 of the result is empty"},
};

static rlt_coll_request request(rlt_coll_kind kind)
{
    return (rlt_coll_request){.kind = kind, .n = N, .root = 1, .bytes = 4000};
}

static void check_defect(const defect *d)
{
    rlt_coll_request req = request(d->kind);
    rlt_error err = {0};
    rlt_plan plan;
    assert_int_equal(rlt_plan_create(d->of, &req, &plan, &err), 0);
    assert_int_equal(rlt_plan_check(&plan, &err), 0);
    rlt_plan_free(&plan);

    current = d;
    assert_int_equal(rlt_plan_create(&broken, &req, &plan, &err), 0);
    assert_int_equal(rlt_plan_check(&plan, &err), RLT_ECHECK);
    char where[64];
    snprintf(where, sizeof where, "broken: member %u, lane 0, step %u", d->named_member, d->named_step);
    if (strcmp(where, err.where) != 0 || !strstr(err.what, d->says))
        fail_msg("%s: expected '%s' with '%s', got '%s': %s", d->name, where, d->says, err.where, err.what);
    rlt_plan_free(&plan);
}

static void planted_defects_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++)
        check_defect(&defects[i]);
}

/* Broadcasts that never begin because everyone waits first: along the ring, or one lane for the other. */
static int circle_plan(rlt_plan *plan, rlt_error *err)
{
    (void)err;
    plan->lanes = 2;
    plan->blocks = 1;
    plan->buffers = 1;
    return 0;
}

static uint32_t two_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)plan, (void)member, (void)lane;
    return 2;
}

static void everyone_waits(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (k == 0) {
        out->recv_from = (member + N - 1) % N;
        out->recv_count = 1;
        return;
    }
    out->send_to = (member + 1) % N;
    out->send_bytes = rlt_lane_bytes(plan, lane);
    out->send = out->land = (rlt_blocks){.run = 1, .reps = 1};
}

static void lanes_wait(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    (void)plan, (void)member;
    if (k == 0) {
        out->wait_lane = 1 - lane;
        out->wait_step = 1;
    }
}

static void circles_are_found(void **state)
{
    (void)state;
    static const rlt_algorithm circles[2] = {
        {.name = "round",
         .kinds = UINT32_MAX,
         .plan = circle_plan,
         .steps = two_steps,
         .step = everyone_waits},
        {.name = "lanes", .kinds = UINT32_MAX, .plan = circle_plan, .steps = two_steps, .step = lanes_wait},
    };
    static const char *const says[2] = {"cycle of 4", "cycle of 2"};
    for (int i = 0; i < 2; i++) {
        rlt_coll_request req = request(RLT_BROADCAST);
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&circles[i], &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), RLT_ECHECK);
        assert_non_null(strstr(err.where, "step 0"));
        assert_non_null(strstr(err.what, says[i]));
        rlt_plan_free(&plan);
    }
}

/* A plan that does nothing leaves every result incomplete; only one member is ever complete. */
static uint32_t no_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)plan, (void)member, (void)lane;
    return 0;
}

static int idle_plan(rlt_plan *plan, rlt_error *err)
{
    (void)err;
    plan->lanes = 1;
    plan->blocks = plan->req.n;
    plan->buffers = 1;
    return 0;
}

static void idleness_is_refused(void **state)
{
    (void)state;
    static const rlt_algorithm idle = {
        .name = "idle", .kinds = UINT32_MAX, .plan = idle_plan, .steps = no_steps, .step = everyone_waits};
    for (int kind = 0; kind < RLT_SEND_RECV; kind++) {
        for (uint32_t n = 1; n <= 3; n++) {
            rlt_coll_request req = {.kind = (rlt_coll_kind)kind, .n = n, .bytes = 12};
            rlt_plan plan;
            rlt_error err = {0};
            assert_int_equal(rlt_plan_create(&idle, &req, &plan, &err), 0);
            assert_int_equal(rlt_plan_check(&plan, &err), n == 1 ? 0 : RLT_ECHECK);
            rlt_plan_free(&plan);
        }
    }
}

/* Contributions of more members than a word has bits. */
static void many_are_proved(void **state)
{
    (void)state;
    for (uint32_t n = 63; n <= 130; n += 67) {
        rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = n, .bytes = 4096};
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), 0);
        rlt_plan_free(&plan);
    }
}

static void size_is_limited(void **state)
{
    (void)state;
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 4096, .bytes = 4096};
    rlt_plan plan;
    rlt_error err = {0};
    assert_int_equal(rlt_plan_create(&rlt_ring, &req, &plan, &err), 0);
    assert_int_equal(rlt_plan_check(&plan, &err), RLT_ERANGE);
    rlt_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_defects_are_named), cmocka_unit_test(circles_are_found),
        cmocka_unit_test(idleness_is_refused),       cmocka_unit_test(many_are_proved),
        cmocka_unit_test(size_is_limited),
    };
    return cmocka_run_group_tests_name("checker", tests, NULL, NULL);
}
