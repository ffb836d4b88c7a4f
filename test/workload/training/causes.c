/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Causes of a training's time: closed forms of bubbles, communication worked out by hand, and folding, which
 * changes none of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/trainings/blocks.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

enum { BLOCKS = 12, RANKS = 16 };
#define FREE "switch:16@1000000GB/s,0ns"

typedef struct fixture {
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_topology *topology;
    rlt_replay_options o;
    rlt_rank_causes causes[RANKS];
    rlt_time time_ps;
    uint32_t n; /* ranks of the program */
    rlt_error err;
} fixture;

/* Makes blocks of 1 ms forward and 2 ms backward, without communication inside. */
static void open_fixture(fixture *f, const char *network, const char *const *settings)
{
    memset(f, 0, sizeof *f);
    test_blocks(&f->model, BLOCKS);
    f->accelerator = test_accelerator();
    f->t = rlt_training_default();
    f->t.model = &f->model;
    f->t.accelerator = &f->accelerator;
    for (; *settings; settings += 2)
        if (rlt_training_set(&f->t, settings[0], settings[1], &f->err))
            fail_msg("%s: %s", f->err.where, f->err.what);
    assert_int_equal(rlt_topology_load(network, "topologies", &f->topology, &f->err), 0);
    f->o = rlt_replay_options_default();
    f->o.topology = f->topology;
    f->o.endpoint = *rlt_topology_endpoint(f->topology);
}

static void close_fixture(fixture *f)
{
    rlt_topology_free(f->topology);
    rlt_model_free(&f->model);
}

/* Runs a program and takes its causes, which must add up to the run on each rank. */
static void replay(fixture *f, rlt_program *p)
{
    rlt_replay *x = NULL;
    if (rlt_replay_create(p, &f->o, &x, &f->err) || rlt_replay_run(x, &f->err) ||
        rlt_replay_causes(x, f->causes, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    f->n = p->n_ranks;
    f->time_ps = rlt_replay_time(x);
    for (uint32_t i = 0; i < f->n; i++) {
        rlt_time sum = 0;
        for (int c = 0; c < RLT_CAUSES; c++) {
            assert_true(f->causes[i].ps[c] >= 0);
            sum += f->causes[i].ps[c];
        }
        rlt_time parts = f->causes[i].ps[RLT_CAUSE_BUBBLE];
        for (int b = 0; b < RLT_BUBBLES; b++) {
            assert_true(f->causes[i].bubble_ps[b] >= 0);
            parts -= f->causes[i].bubble_ps[b];
        }
        assert_int_equal(parts, 0);
        assert_int_equal(sum, f->time_ps);
    }
    rlt_replay_free(x);
    rlt_program_free(p);
}

static void run_all(fixture *f, uint32_t ranks)
{
    rlt_program *p = NULL;
    if (rlt_training_plan(&f->t, ranks, &f->err) || rlt_training_program(&f->t, &p, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    replay(f, p);
}

static void run_folded(fixture *f)
{
    rlt_placement where;
    rlt_timing *alone = NULL;
    rlt_program *p = NULL;
    assert_int_equal(rlt_timing_alone(&f->o, &alone, &f->err), 0);
    if (rlt_training_fold(&f->t, RLT_FOLD_STAGES, &f->o, alone, &p, &where, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    f->o.placement = &where;
    replay(f, p);
    f->o.placement = NULL;
    rlt_timing_free(alone);
    rlt_placement_free(&where);
}

/* Checks the parts of the bubble of `steps` iterations. */
static void check_parts(const fixture *f, rlt_time forward, rlt_time steps)
{
    for (uint32_t r = 0; r < f->n; r++) {
        const rlt_time expected[] = {[RLT_BUBBLE_WARM_UP] = steps * r * forward,
                                     [RLT_BUBBLE_INSIDE] = steps * (f->n - 1 - r) * 3 * forward,
                                     [RLT_BUBBLE_DRAIN] = steps * r * 2 * forward};
        for (int b = 0; b < RLT_BUBBLES; b++) {
            rlt_time part = f->causes[r].bubble_ps[b];
            if (llabs((long long)(part - expected[b])) > 4) /* a step of the optimizer takes 1 ps */
                fail_msg("rank %u, %s: %lld ps, expected %lld", r, rlt_bubble_name((rlt_bubble_part)b),
                         (long long)part, (long long)expected[b]);
        }
    }
}

/* Equal stages wait (p - 1) / (v m + p - 1) of an iteration, with v = 1 for GPipe and 1F1B (arXiv 2104.04473,
 * section 2.2). Empty messages take no time, so that this is exact; compute is the rest. With 12 / p blocks a
 * stage and m microbatches the iteration takes 36 (m + (p - 1) / v) / p ms.
 *
 * Stage r waits r f for its first microbatch, where f = 12 / (p v) ms is a forward pass of a chunk, and r b
 * after its last backward pass of b = 2 f; the rest, (p - 1 - r) (f + b), inside. A second iteration adds
 * as much again. */
static void bubble_law(void **state)
{
    static const struct {
        const char *schedule, *pp, *vp, *batch;
        uint32_t p, v, m;
    } rows[] = {{"gpipe", "2", "1", "4", 2, 1, 4},       {"gpipe", "4", "1", "8", 4, 1, 8},
                {"1f1b", "2", "1", "1", 2, 1, 1},        {"1f1b", "4", "1", "6", 4, 1, 6},
                {"1f1b", "12", "1", "24", 12, 1, 24},    {"interleaved", "2", "3", "4", 2, 3, 4},
                {"interleaved", "4", "3", "8", 4, 3, 8}, {"interleaved", "3", "2", "3", 3, 2, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"schedule", rows[i].schedule, "pp",      rows[i].pp, "vp", rows[i].vp,
                                        "batch",    rows[i].batch,    "overlap", "off",      NULL};
        fixture f;
        rlt_time p = rows[i].p, v = rows[i].v, m = rows[i].m;
        open_fixture(&f, FREE, settings);
        for (uint32_t k = 0; k < BLOCKS; k++)
            f.model.layers[k].output_elements = 0;
        run_all(&f, rows[i].p);
        assert_int_equal(f.time_ps * p * v, 36 * RLT_MS * (v * m + p - 1));
        check_parts(&f, 12 * RLT_MS / (p * v), 1);
        for (uint32_t k = 0; k < f.n; k++) {
            assert_int_equal(f.causes[k].ps[RLT_CAUSE_BUBBLE] * (v * m + p - 1), f.time_ps * (p - 1));
            assert_int_equal(f.causes[k].ps[RLT_CAUSE_COMPUTE], f.time_ps - f.causes[k].ps[RLT_CAUSE_BUBBLE]);
        }
        for (int drain = 0; drain < 2; drain++) {
            assert_int_equal(rlt_training_set(&f.t, "steps", "2", &f.err), 0);
            assert_int_equal(rlt_training_set(&f.t, "drain", drain ? "on" : "off", &f.err), 0);
            run_all(&f, rows[i].p);
            check_parts(&f, 12 * RLT_MS / (p * v), 2);
        }
        close_fixture(&f);
    }
}

/* One block a stage of 4 with the weight gradients apart: (p - 1)(t_f + t_b - t_w), here 3 ms each for a
 * stage of 3 blocks (arXiv 2401.10241, table 1). */
static void zero_bubble(void **state)
{
    static const char *const settings[] = {"schedule", "zero-bubble", "pp", "4", "batch", "8", NULL};
    fixture f;
    (void)state;
    open_fixture(&f, FREE, settings);
    for (uint32_t k = 0; k < BLOCKS; k++)
        f.model.layers[k].output_elements = 0;
    run_all(&f, 4);
    for (uint32_t k = 0; k < f.n; k++)
        assert_int_equal(f.causes[k].ps[RLT_CAUSE_BUBBLE], 3 * 3 * RLT_MS);
    close_fixture(&f);
}

/* Twelve blocks of 3 ms. On two ranks each transfer of 1000 bytes at 1 MB/s in both directions takes 0.5 ms
 * (gather, scatter) or 1 ms (all-reduce), without latency. */
static void exposed(void **state)
{
    static const struct {
        rlt_cause cause;
        rlt_time expected;
        const char *settings[9];
    } rows[] = {
        /* one bucket of 12000 gradients of 2 bytes, after the backward pass */
        {RLT_CAUSE_DP, 24 * RLT_MS, {"overlap", "off", "dp", "2"}},
        /* the rest of the last of 12 buckets of 2000 bytes, each as long as a block's backward pass */
        {RLT_CAUSE_DP, 2 * RLT_MS, {"bucket", "2000B", "first_bucket", "2000B", "dp", "2"}},
        /* forward and backward all-reduces of 500 elements of 2 bytes, 12 blocks */
        {RLT_CAUSE_TP, 24 * RLT_MS, {"tp", "2"}},
        /* keys and values of 500 elements of 2 bytes: gathered, and their gradients scattered */
        {RLT_CAUSE_CP, 12 * RLT_MS, {"cp", "2", "dp", "1"}},
        /* dispatch and combine in each pass send half of 500 elements of 2 bytes */
        {RLT_CAUSE_EP, 24 * RLT_MS, {"ep", "2", "dp", "2"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_fixture(&f, "switch:2@1MB/s,0ns", rows[i].settings);
        for (uint32_t k = 0; k < BLOCKS; k++) {
            rlt_model_layer *l = &f.model.layers[k];
            l->parameters = rows[i].cause == RLT_CAUSE_DP ? TEST_BLOCK_WEIGHTS : 0;
            l->tp_elements = rows[i].cause == RLT_CAUSE_TP ? 500 : 0;
            l->cp_elements = rows[i].cause == RLT_CAUSE_CP ? 500 : 0;
            l->ep_elements = rows[i].cause == RLT_CAUSE_EP ? 500 : 0;
            l->experts = rows[i].cause == RLT_CAUSE_EP ? 2 : 0;
        }
        run_all(&f, 2);
        for (uint32_t k = 0; k < f.n; k++) {
            rlt_time part = f.causes[k].ps[rows[i].cause];
            if (llabs((long long)(part - rows[i].expected)) > RLT_US)
                fail_msg("row %zu, rank %u: %lld ps, expected %lld", i, k, (long long)part,
                         (long long)rows[i].expected);
            assert_int_equal(part + f.causes[k].ps[RLT_CAUSE_COMPUTE], f.time_ps);
        }
        close_fixture(&f);
    }
}

/* Rank 1 of two computes at half speed and starts 5 ms late: rank 0 waits 36 + 5 ms for it in the one
 * all-reduce, and only the 5 ms are start skew; rank 1 itself is late by 5 ms at the start. In a second
 * iteration the ranks begin together. A rank that starts late but is ahead where they meet costs the others
 * nothing. In a pipeline the wait is the bubble's. */
static void late_rank(void **state)
{
    static const double speed[] = {1, 0.5};
    static const rlt_time delay[] = {0, 5 * RLT_MS}, early[] = {5 * RLT_MS, 0};
    static const char *const settings[] = {"overlap", "off", "dp", "2", NULL};
    static const char *const stages[] = {"overlap", "off", "pp", "2", "batch", "1", NULL};
    fixture f;
    (void)state;
    for (uint32_t iterations = 1; iterations <= 2; iterations++) {
        open_fixture(&f, FREE, settings);
        f.t.steps = iterations;
        f.o.rank_compute_scale = speed;
        f.o.rank_delay_ps = delay;
        run_all(&f, 2);
        assert_int_equal(f.causes[0].ps[RLT_CAUSE_SKEW], 5 * RLT_MS);
        assert_int_equal(f.causes[0].ps[RLT_CAUSE_WAIT], iterations * 36 * RLT_MS);
        assert_int_equal(f.causes[1].ps[RLT_CAUSE_SKEW], 5 * RLT_MS);
        assert_int_equal(f.causes[1].ps[RLT_CAUSE_WAIT], 0);
        assert_int_equal(f.causes[0].ps[RLT_CAUSE_BUBBLE], 0);
        f.o.rank_delay_ps = early;
        run_all(&f, 2);
        assert_int_equal(f.causes[0].ps[RLT_CAUSE_SKEW], 5 * RLT_MS);
        assert_int_equal(f.causes[0].ps[RLT_CAUSE_WAIT], (31 + (iterations - 1) * 36) * RLT_MS);
        assert_int_equal(f.causes[1].ps[RLT_CAUSE_SKEW] + f.causes[1].ps[RLT_CAUSE_WAIT], 0);
        close_fixture(&f);
    }
    open_fixture(&f, FREE, stages);
    for (uint32_t k = 0; k < BLOCKS; k++)
        f.model.layers[k].output_elements = 0;
    f.o.rank_compute_scale = speed;
    run_all(&f, 2); /* forward 6 and 12 ms, backward 24 and 12 ms */
    assert_int_equal(f.causes[0].ps[RLT_CAUSE_BUBBLE], 36 * RLT_MS);
    assert_int_equal(f.causes[1].ps[RLT_CAUSE_BUBBLE], 18 * RLT_MS);
    assert_int_equal(f.causes[0].bubble_ps[RLT_BUBBLE_INSIDE], 36 * RLT_MS);
    assert_int_equal(f.causes[1].bubble_ps[RLT_BUBBLE_WARM_UP], 6 * RLT_MS);
    assert_int_equal(f.causes[1].bubble_ps[RLT_BUBBLE_DRAIN], 12 * RLT_MS);
    assert_int_equal(f.causes[0].ps[RLT_CAUSE_SKEW] + f.causes[1].ps[RLT_CAUSE_SKEW], 0);
    close_fixture(&f);
}

/* Rank 3 of two pairs starts 5 ms late. Its tensor-parallel partner waits for it. The other pair, which sums
 * gradients with them, waits for ranks that waited: that is start skew, too. */
static void late_start_spreads(void **state)
{
    static const rlt_time delay[] = {0, 0, 0, 5 * RLT_MS};
    static const char *const settings[] = {"overlap", "off", "tp", "2", "dp", "2", NULL};
    fixture f;
    (void)state;
    open_fixture(&f, FREE, settings);
    for (uint32_t k = 0; k < BLOCKS; k++)
        f.model.layers[k].tp_elements = 500;
    f.o.rank_delay_ps = delay;
    run_all(&f, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(f.causes[i].ps[RLT_CAUSE_SKEW], 5 * RLT_MS);
        assert_int_equal(f.causes[i].ps[RLT_CAUSE_WAIT], 0);
    }
    close_fixture(&f);
}

/* The second stage is half as fast and never waits after its first message: the critical path leads through
 * its compute, not through messages that were there long before they were received. */
static void critical_path(void **state)
{
    static const double speed[] = {1, 0.5};
    static const char *const settings[] = {"overlap", "off", "pp", "2", "batch", "8", NULL};
    fixture f;
    rlt_program *p = NULL;
    rlt_replay *x = NULL;
    rlt_path_item *items;
    uint32_t n;
    rlt_time transfers = 0;
    (void)state;
    open_fixture(&f, "hgx-h100-8", settings);
    f.o.rank_compute_scale = speed;
    assert_int_equal(rlt_training_plan(&f.t, 2, &f.err), 0);
    assert_int_equal(rlt_training_program(&f.t, &p, &f.err), 0);
    assert_int_equal(rlt_replay_create(p, &f.o, &x, &f.err), 0);
    assert_int_equal(rlt_replay_run(x, &f.err), 0);
    assert_int_equal(rlt_replay_critical_path(x, &items, &n, &f.err), 0);
    for (uint32_t i = 0; i < n; i++)
        transfers += items[i].kind == RLT_PATH_TRANSFER ? items[i].end_ps - items[i].begin_ps : 0;
    /* A message of 128 bytes takes some microseconds, its receive a part of that even if it is there. */
    assert_true(transfers > 0 && transfers < RLT_MS / 2);
    free(items);
    rlt_replay_free(x);
    rlt_program_free(p);
    close_fixture(&f);
}

/* Copies to and from the host are offloading: 12 bytes there and back of each of 12000 parameters, at
 * 1 MB/s. */
static void offloading(void **state)
{
    static const char *const settings[] = {"offload", "on", "offload_bandwidth", "1MB/s", "overlap",
                                           "off",     NULL};
    fixture f;
    (void)state;
    open_fixture(&f, FREE, settings);
    run_all(&f, 1);
    assert_int_equal(f.causes[0].ps[RLT_CAUSE_OFFLOAD], 288 * RLT_MS);
    assert_int_equal(f.causes[0].ps[RLT_CAUSE_COMPUTE], 36 * RLT_MS);
    close_fixture(&f);
}

/* Each rank of a folded program has the causes of every rank of its stage, since no transfer meets another
 * one: messages are empty, and collectives of several groups of a rank do not overlap. */
static void same_causes(void **state)
{
    static const struct {
        uint32_t ranks;
        const char *settings[17];
    } rows[] = {
        {4, {"pp", "4", "batch", "8", "overlap", "off"}},
        {8, {"tp", "8", "sp", "on"}},
        {8, {"dp", "8", "zero", "0"}},
        {8, {"dp", "8", "zero", "3"}},
        {8, {"dp", "8", "zero", "2", "batch", "16"}},
        {8, {"ep", "4", "dp", "4", "cp", "2", "overlap", "off"}},
        {8, {"ep", "8", "dp", "8", "overlap", "off", "batch", "16"}},
        {8, {"pp", "2", "tp", "2", "dp", "2", "batch", "16", "overlap", "off"}},
        {8, {"pp", "2", "cp", "2", "dp", "2", "zero", "1", "batch", "16", "overlap", "off"}},
        {8, {"pp", "4", "schedule", "interleaved", "vp", "3", "dp", "2", "batch", "16", "overlap", "off"}},
        {8, {"pp", "2", "schedule", "interleaved", "vp", "2", "tp", "4", "batch", "4"}},
        {8, {"pp", "4", "schedule", "zero-bubble", "dp", "2", "batch", "16", "overlap", "off"}},
        {8, {"pp", "4", "schedule", "dualpipe", "dp", "2", "batch", "20", "overlap", "off"}},
        {8, {"pp", "2", "schedule", "dualpipe", "tp", "2", "dp", "2", "zero", "1", "batch", "12"}},
        {8, {"pp", "2", "schedule", "dualpipev", "tp", "2", "dp", "2", "batch", "10", "overlap", "off"}},
        {8, {"pp", "2", "schedule", "gpipe", "dp", "4", "zero", "3", "batch", "8"}},
        {8, {"pp", "2", "drain", "on", "recompute", "full", "tp", "2", "dp", "2", "batch", "8"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f, g;
        open_fixture(&f, "switch:8@1GB/s,1us", rows[i].settings);
        for (uint32_t k = 0; k < BLOCKS; k++) {
            rlt_model_layer *l = &f.model.layers[k];
            l->output_elements = 0;
            l->tp_elements = l->cp_elements = l->ep_elements = 2000;
            l->expert_parameters = 4000;
            l->experts = 8;
        }
        f.o.overlap_slowdown = 1.25;
        run_all(&f, rows[i].ranks);
        g = f;
        run_folded(&g);
        assert_int_equal(g.n, f.t.size[RLT_AXIS_PP]);
        if (g.time_ps != f.time_ps)
            fail_msg("row %zu: %lld ps, folded %lld", i, (long long)f.time_ps, (long long)g.time_ps);
        for (uint32_t r = 0; r < f.n; r++) {
            uint32_t at[RLT_AXES_OF_LAYOUT];
            rlt_training_place(&f.t, r, at);
            for (int b = 0; b < RLT_BUBBLES; b++)
                assert_int_equal(f.causes[r].bubble_ps[b], g.causes[at[RLT_AXIS_PP]].bubble_ps[b]);
            for (int c = 0; c < RLT_CAUSES; c++)
                if (f.causes[r].ps[c] != g.causes[at[RLT_AXIS_PP]].ps[c])
                    fail_msg("row %zu, rank %u, %s: %lld ps, folded %lld", i, r, rlt_cause_name((rlt_cause)c),
                             (long long)f.causes[r].ps[c], (long long)g.causes[at[RLT_AXIS_PP]].ps[c]);
        }
        assert_int_equal(g.causes[0].ps[RLT_CAUSE_IDLE] + g.causes[0].ps[RLT_CAUSE_COMM], 0);
        close_fixture(&f);
    }
}

static void labels(void **state)
{
    static const struct {
        const char *label;
        rlt_purpose purpose;
    } rows[] = {{"tp of rank 3", RLT_FOR_TP},         {"TENSOR_MODEL_PARALLEL_GROUP", RLT_FOR_TP},
                {"cp of rank 0", RLT_FOR_CP},         {"ep_group 4", RLT_FOR_EP},
                {"ep_dp_group 2", RLT_FOR_DP},        {"expert-dp of rank 1", RLT_FOR_DP},
                {"group mesh_dp_cp", RLT_FOR_DP},     {"data 7", RLT_FOR_DP},
                {"tied of rank 0", RLT_FOR_PP},       {"Pipeline 1", RLT_FOR_PP},
                {"default_pg", RLT_FOR_UNKNOWN},      {"model parallel", RLT_FOR_UNKNOWN},
                {"tensor and data", RLT_FOR_UNKNOWN}, {"", RLT_FOR_UNKNOWN},
                {"database", RLT_FOR_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rlt_purpose_of(rows[i].label) != rows[i].purpose)
            fail_msg("'%s': %d", rows[i].label, (int)rlt_purpose_of(rows[i].label));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubble_law), cmocka_unit_test(zero_bubble),        cmocka_unit_test(exposed),
        cmocka_unit_test(late_rank),  cmocka_unit_test(late_start_spreads), cmocka_unit_test(critical_path),
        cmocka_unit_test(offloading), cmocka_unit_test(same_causes),        cmocka_unit_test(labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
