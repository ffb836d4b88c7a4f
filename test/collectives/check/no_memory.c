/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k, while plans are proved and cycles are found: the answer is the same, or
 * there is no memory; and all memory is given back. Plans that need too much of it are refused.
 */
#include "test/support/failing.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/check/cycles.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "test/support/networks/idle.h"

typedef struct proof {
    const char *algorithm;
    rlt_coll_kind kind;
    uint32_t n, channels, chunks;
} proof;

static int prove(const void *what, uint64_t *result, rlt_error *err)
{
    const proof *p = what;
    rlt_plan plan = {0};
    rlt_coll_request req = {.kind = p->kind, .n = p->n, .bytes = 1 << 16};
    req.params.channels = p->channels;
    req.params.chunks = p->chunks;
    int rc = rlt_plan_create(rlt_algorithm_find(p->algorithm, NULL), &req, &plan, err);
    if (!rc)
        rc = rlt_plan_check(&plan, err);
    *result = plan.lanes;
    rlt_plan_free(&plan);
    return rc;
}

static void plans(void **state)
{
    static const proof proofs[] = {{"ring", RLT_ALL_REDUCE, 5, 2, 3},
                                   {"tree", RLT_ALL_REDUCE, 7, 1, 4},
                                   {"pat", RLT_ALL_GATHER, 6, 2, 1},
                                   {"direct", RLT_ALL_TO_ALL, 5, 1, 1},
                                   {"pairwise", RLT_ALL_TO_ALL, 4, 2, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++)
        assert_true(test_each_allocation(proofs[i].algorithm, prove, &proofs[i], false) > 10 ||
                    !TEST_COUNTED);
}

/* Two lanes of one member share its blocks, and one waits for the other: the check keeps clocks. */
static const char two_lanes[] =
    "<algo name=\"two\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\">"
    "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">"
    "<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" "
    "dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/></tb>"
    "<tb id=\"1\" send=\"-1\" recv=\"1\" chan=\"0\"><step s=\"0\" type=\"r\" srcbuf=\"o\" srcoff=\"1\" "
    "dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" depid=\"0\" deps=\"0\" hasdep=\"0\"/></tb></gpu>"
    "<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">"
    "<tb id=\"0\" send=\"0\" recv=\"0\" chan=\"0\"><step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"1\" "
    "dstbuf=\"o\" dstoff=\"1\" cnt=\"1\"/><step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"0\" "
    "dstbuf=\"o\" dstoff=\"0\" cnt=\"1\"/></tb></gpu></algo>";

static int read_plan(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_listed plan = {0};
    int rc = rlt_plan_parse("plan", what, strlen(what), NULL, &plan, err);
    *result = plan.lanes;
    rlt_listed_free(&plan);
    return rc;
}

static void files(void **state)
{
    (void)state;
    assert_true(test_each_allocation("two lanes", read_plan, two_lanes, false) > 10 || !TEST_COUNTED);
}

/* What was written is read, whatever fails on the way. */
static int write_and_read(const void *what, uint64_t *result, rlt_error *err)
{
    const proof *p = what;
    rlt_plan plan = {0};
    rlt_listed back = {0};
    rlt_coll_request req = {.kind = p->kind, .n = p->n, .bytes = 1 << 16};
    char *text = NULL;
    size_t length = 0;
    req.params.channels = p->channels;
    int rc = rlt_plan_create(rlt_algorithm_find(p->algorithm, NULL), &req, &plan, err);
    if (!rc)
        rc = rlt_plan_write(&plan, (rlt_plan_format)p->chunks, &text, &length, err);
    if (!rc)
        rc = rlt_plan_parse("plan", text, length, NULL, &back, err);
    *result = back.lanes + length;
    rlt_listed_free(&back);
    rlt_plan_free(&plan);
    free(text);
    return rc;
}

static void written(void **state)
{
    (void)state;
    for (uint32_t format = 0; format < RLT_PLAN_FORMATS; format++) {
        proof p = {"ring", RLT_ALL_REDUCE, 3, 2, format};
        assert_true(test_each_allocation(rlt_plan_format_name((rlt_plan_format)format), write_and_read, &p,
                                         false) > 10 ||
                    !TEST_COUNTED);
    }
}

/* A ring of 6 nodes of doubled edges and some across has cycles that must be searched for. */
static int find_cycles(const void *what, uint64_t *result, rlt_error *err)
{
    enum { N = 6 };
    uint8_t edges[N * N] = {0};
    uint32_t orders[N * N] = {0}, found = 0;
    (void)what;
    for (uint32_t u = 0; u < N; u++)
        for (uint32_t far = 1; far <= 2; far++) {
            edges[u * N + (u + far) % N] += 1;
            edges[(u + far) % N * N + u] += 1;
        }
    int rc = rlt_cycles_find(N, edges, N, orders, &found, err);
    *result = 0;
    for (uint32_t i = 0; !rc && i < found * N; i++)
        *result = *result * 7 + orders[i] + 1;
    return rc;
}

static void cycles(void **state)
{
    (void)state;
    assert_true(test_each_allocation("cycles", find_cycles, NULL, false) == 5 || !TEST_COUNTED);
}

/* Each lane of each member keeps from whom it has heard, a word for each: 16 x 5000^2 of 4 bytes are more than
 * 1 GiB, 1 x 5000^2 are not. 60000 blocks of 64 members take about 100 MB, those of 16 lanes more than 1 GiB;
 * lanes that share blocks have them once. */
static int idle_plan(rlt_plan *plan, rlt_error *err)
{
    (void)err;
    plan->lanes = plan->req.params.channels;
    plan->blocks = plan->buffers = 1;
    plan->reduces = plan->req.params.chunks < 2;
    plan->shared = plan->req.params.chunks == 3;
    if (!plan->reduces)
        plan->blocks = 60000;
    return 0;
}

static const rlt_algorithm idle = {.name = "idle",
                                   .summary = "does nothing",
                                   .kinds = UINT32_MAX,
                                   .plan = idle_plan,
                                   .steps = test_idle_steps,
                                   .step = test_idle_step};

static void limits(void **state)
{
    (void)state;
    for (uint32_t channels = 1; channels <= 16; channels += 15) {
        rlt_plan plan = {0};
        rlt_error err = {0};
        rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 5000, .bytes = 1 << 16};
        req.params.channels = channels;
        assert_int_equal(rlt_plan_create(&idle, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), channels == 1 ? RLT_ECHECK : RLT_ERANGE);
        rlt_plan_free(&plan);
    }
    for (uint32_t shared = 0; shared <= 1; shared++) {
        rlt_plan plan = {0};
        rlt_error err = {0};
        rlt_coll_request req = {.kind = RLT_BROADCAST, .n = 64, .bytes = 1 << 16};
        req.params.channels = 16;
        req.params.chunks = 2 + shared;
        assert_int_equal(rlt_plan_create(&idle, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), shared ? RLT_ECHECK : RLT_ERANGE);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(files),
                                       cmocka_unit_test(written), cmocka_unit_test(cycles),
                                       cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
