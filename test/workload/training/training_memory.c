/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of a rank over time: blocks that keep S elements and take 1 ms forward and 2 ms backward per sample,
 * on a network that takes almost no time. The peak is known for every schedule, and for one stage also its
 * time. The check before a run uses the same peak.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/trainings/blocks.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

enum {
    BLOCKS = 12,
    WEIGHTS = TEST_BLOCK_WEIGHTS,
    OUTPUT = TEST_BLOCK_OUTPUT,
    SAVED = 5000,
    STATE = 16,
    ELEMENT = 2,
    MAX_ROWS = 16
};
#define FAST "switch:%u@1000000GB/s,0ns"

typedef struct fixture {
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_training_passes passes;
    rlt_error err;
    /* Objects of the last run: */
    rlt_topology *topology;
    rlt_program *program;
    rlt_placement where;
    rlt_replay *replay;
} fixture;

static void open_fixture(fixture *f, const char *const *settings)
{
    memset(f, 0, sizeof *f);
    test_blocks(&f->model, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        f->model.layers[i].saved_whole = SAVED;
    f->accelerator = test_accelerator();
    f->t = rlt_training_default();
    f->t.model = &f->model;
    f->t.accelerator = &f->accelerator;
    f->t.passes = &f->passes;
    for (; *settings; settings += 2)
        if (rlt_training_set(&f->t, settings[0], settings[1], &f->err))
            fail_msg("%s: %s", f->err.where, f->err.what);
}

static void set(fixture *f, const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    assert_int_equal(rlt_training_set(&f->t, name, text, &f->err), 0);
}

static void close_run(fixture *f)
{
    rlt_replay_free(f->replay);
    rlt_program_free(f->program);
    rlt_placement_free(&f->where);
    rlt_topology_free(f->topology);
    f->replay = NULL;
    f->program = NULL;
    f->topology = NULL;
}

static void close_fixture(fixture *f)
{
    close_run(f);
    rlt_training_passes_free(&f->passes);
    rlt_model_free(&f->model);
}

static void run(fixture *f, uint32_t ranks, bool fold, rlt_time until_ps)
{
    char net[64];
    rlt_timing *alone = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    snprintf(net, sizeof net, FAST, ranks);
    close_run(f);
    assert_int_equal(rlt_topology_load(net, NULL, &f->topology, &f->err), 0);
    o.topology = f->topology;
    o.endpoint = *rlt_topology_endpoint(f->topology);
    if (until_ps)
        o.until_ps = until_ps;
    assert_int_equal(rlt_timing_alone(&o, &alone, &f->err), 0);
    if (rlt_training_plan(&f->t, ranks, &f->err) ||
        (fold ? rlt_training_fold(&f->t, RLT_FOLD_STAGES, &o, alone, &f->program, &f->where, &f->err)
              : rlt_training_program(&f->t, &f->program, &f->err)))
        fail_msg("%s: %s", f->err.where, f->err.what);
    o.placement = fold ? &f->where : NULL;
    assert_int_equal(rlt_replay_create(f->program, &o, &f->replay, &f->err), 0);
    int rc = rlt_replay_run(f->replay, &f->err);
    assert_int_equal(rc, until_ps ? RLT_ECANCELLED : 0);
    rlt_timing_free(alone);
}

static rlt_memory_curve curve(fixture *f, uint32_t rank)
{
    rlt_memory_curve c;
    if (rlt_memory_curve_of(&f->t, &f->passes, f->program, f->replay, rank, &c, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    for (uint32_t i = 1; i < c.n; i++) {
        assert_true(c.steps[i].time_ps > c.steps[i - 1].time_ps);
        assert_true(c.steps[i].bytes != c.steps[i - 1].bytes);
    }
    return c;
}

static void assert_bytes(double got, double expected, const char *what, uint32_t stage)
{
    if (fabs(got - expected) > 1e-6)
        fail_msg("%s, stage %u: %.3f bytes, expected %.3f", what, stage, got, expected);
}

/* Returns the microbatches (of a chunk) kept at once. ZB-H1: arXiv 2401.10241, section 2.3. Interleaved:
 * arXiv 2104.04473, section 2.2, with as many microbatches as stages, all at once. AxoNN: the limit of
 * microbatches under way, and one on its last stage. */
static uint32_t at_once(rlt_schedule schedule, uint32_t p, uint32_t v, uint32_t m, uint32_t s)
{
    uint32_t n = m * v, most = n;
    switch (schedule) {
    case RLT_SCHEDULE_1F1B:
        most = p - s;
        break;
    case RLT_SCHEDULE_INTERLEAVED:
        most = m == p ? n : 2 * (p - s - 1) + (v - 1) * p + 1;
        break;
    case RLT_SCHEDULE_ZERO_BUBBLE:
        most = p;
        break;
    case RLT_SCHEDULE_MESSAGE:
        most = s + 1 < p ? p : 1;
        break;
    default:
        break;
    }
    return most < n ? most : n;
}

static const struct {
    const char *schedule;
    uint32_t p, v, m;
} rows[] = {
    {"gpipe", 4, 1, 8},       {"gpipe", 1, 1, 3},       {"1f1b", 4, 1, 8},    {"1f1b", 4, 1, 2},
    {"1f1b", 1, 1, 4},        {"zero-bubble", 4, 1, 8}, {"message", 4, 1, 8}, {"zero-bubble", 6, 1, 3},
    {"interleaved", 4, 3, 8}, {"interleaved", 2, 6, 4}, {"message", 1, 1, 4}, {"interleaved", 3, 2, 3},
};

/* Every rank of every stage: the peak equals the closed form and that of the check, to the bit. The curve
 * ends where it began, at 16 bytes per parameter. With recomputation a block keeps its input (the first block
 * keeps nothing), and one block has all of it. */
static void peaks(void **state)
{
    static const char *const recompute[] = {"none", "full"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int full = 0; full < 2; full++)
            for (int fold = 0; fold < 2; fold++) {
                const uint32_t p = rows[i].p, v = rows[i].v, m = rows[i].m, blocks = BLOCKS / p;
                const char *const settings[] = {"schedule",  rows[i].schedule,
                                                "recompute", recompute[full],
                                                "steps",     "2",
                                                "overlap",   "off",
                                                NULL};
                fixture f;
                open_fixture(&f, settings);
                set(&f, "pp", p);
                set(&f, "vp", v);
                set(&f, "dp", 2);
                set(&f, "batch", 2 * m);
                run(&f, 2 * p, fold, 0);
                for (uint32_t r = 0; r < f.program->n_ranks; r++) {
                    rlt_memory_curve c = curve(&f, r);
                    uint32_t s = c.stage;
                    double n = at_once(f.t.schedule, p, v, m, s), whole = SAVED * blocks / v;
                    double in = OUTPUT * (double)(blocks - (s == 0)) / v;
                    double kept = full ? n * in + SAVED : n * whole, base = STATE * WEIGHTS * blocks;
                    assert_int_equal(s, fold ? r : r / 2);
                    assert_bytes(c.peak_bytes, base + ELEMENT * kept, rows[i].schedule, s);
                    assert_true(c.peak_bytes == rlt_training_memory_of(&f.t, s).total);
                    assert_true(c.base_bytes == base);
                    assert_true(c.steps[c.n - 1].bytes == base);
                    rlt_memory_curve_free(&c);
                }
                close_fixture(&f);
            }
}

/* One stage, GPipe: a step up each 12 ms, m times; then a step down each 24 ms. The integral of the kept
 * bytes is the sum over microbatches of the time from forward to backward pass. */
static void when(void **state)
{
    enum { M = 5 };
    static const char *const settings[] = {"schedule", "gpipe", NULL};
    fixture f;
    (void)state;
    open_fixture(&f, settings);
    set(&f, "batch", M);
    run(&f, 1, false, 0);
    rlt_memory_curve c = curve(&f, 0);
    assert_int_equal(c.n, 2 * M);
    for (uint32_t i = 0; i < c.n; i++) {
        uint32_t kept = i < M ? i + 1 : 2 * M - 1 - i;
        rlt_time at = i < M ? i * BLOCKS : M * BLOCKS + (i - M + 1) * 2 * BLOCKS;
        assert_bytes(c.steps[i].bytes, BLOCKS * (STATE * WEIGHTS + ELEMENT * SAVED * kept), "gpipe", i);
        assert_true(llabs((long long)(c.steps[i].time_ps - at * RLT_MS)) < RLT_US);
    }
    assert_true(c.peak_ps == c.steps[M - 1].time_ps);
    rlt_memory_curve_free(&c);
    /* Stopped in the second backward pass: one microbatch has been released, the others are kept until the
     * end. */
    run(&f, 1, false, (M + 3) * BLOCKS * RLT_MS);
    c = curve(&f, 0);
    assert_int_equal(c.n, M + 1);
    assert_bytes(c.steps[M].bytes, BLOCKS * (STATE * WEIGHTS + ELEMENT * SAVED * (M - 1)), "stopped", 0);
    rlt_memory_curve_free(&c);
    close_fixture(&f);
}

/* In a full pipeline a stage stays at its peak. The integral of the kept bytes is the peak times the M (t_f +
 * t_b) that a stage works, except for the p microbatches before and after. */
static void area(void **state)
{
    static const char *const names[] = {"1f1b", "zero-bubble"};
    enum { P = 4, M = 64 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *const settings[] = {"schedule", names[i], NULL};
        const double block_ms = BLOCKS / P;
        fixture f;
        open_fixture(&f, settings);
        set(&f, "pp", P);
        set(&f, "batch", M);
        run(&f, P, false, 0);
        for (uint32_t s = 0; s < P; s++) {
            rlt_memory_curve c = curve(&f, s);
            double base = c.base_bytes, kept_ms = 0, one = ELEMENT * SAVED * block_ms;
            for (uint32_t k = 0; k + 1 < c.n; k++)
                kept_ms += (c.steps[k].bytes - base) / one *
                           (double)(c.steps[k + 1].time_ps - c.steps[k].time_ps) / RLT_MS;
            double most = i ? P : P - s, full = 3 * block_ms * M * most;
            assert_true(fabs(kept_ms - full) <= 3 * block_ms * P * P);
            rlt_memory_curve_free(&c);
        }
        close_fixture(&f);
    }
}

/* A folded rank of a stage and each rank of the whole have the same curve, at the same times. */
static void folded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"schedule", rows[i].schedule, "overlap", "off", NULL};
        rlt_memory_curve one[MAX_ROWS];
        fixture f;
        open_fixture(&f, settings);
        set(&f, "pp", rows[i].p);
        set(&f, "vp", rows[i].v);
        set(&f, "dp", 2);
        set(&f, "batch", 2 * rows[i].m);
        run(&f, 2 * rows[i].p, true, 0);
        for (uint32_t s = 0; s < rows[i].p; s++)
            one[s] = curve(&f, s);
        run(&f, 2 * rows[i].p, false, 0);
        for (uint32_t r = 0; r < 2 * rows[i].p; r++) {
            rlt_memory_curve c = curve(&f, r), *o = &one[c.stage];
            assert_int_equal(c.n, o->n);
            for (uint32_t k = 0; k < c.n; k++) {
                assert_true(c.steps[k].bytes == o->steps[k].bytes);
                assert_true(llabs((long long)(c.steps[k].time_ps - o->steps[k].time_ps)) <= RLT_US);
            }
            rlt_memory_curve_free(&c);
        }
        for (uint32_t s = 0; s < rows[i].p; s++) {
            assert_int_equal(rlt_stage_rank(&f.t, &f.passes, s), 2 * s);
            rlt_memory_curve_free(&one[s]);
        }
        close_fixture(&f);
    }
}

/* Layers that communicate, gathered weights, a pass of several operations: recorded passes are complete and
 * disjoint, each (microbatch, chunk) occurs once per way and step, and every rank has the passes of its
 * stage. */
static void recorded(void **state)
{
    static const struct {
        uint32_t ranks;
        const char *settings[19];
    } cases[] = {
        {8, {"tp", "2", "pp", "2", "batch", "8", "sp", "on", "recompute", "full", NULL}},
        {8, {"pp", "2", "zero", "3", "batch", "8", "prefetch", "off", NULL}},
        {8, {"pp", "2", "zero", "3", "batch", "8", "schedule", "zero-bubble", NULL}},
        {8, {"tp", "2", "pp", "2", "cp", "2", "vp", "3", "schedule", "interleaved", "batch", "4", NULL}},
        {8, {"dp", "2", "pp", "4", "batch", "8", "schedule", "message", "order", "pp-dp", NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_fixture(&f, cases[i].settings);
        set(&f, "steps", 2);
        for (uint32_t k = 0; k < BLOCKS; k++)
            f.model.layers[k].tp_elements = f.model.layers[k].cp_elements = 64;
        run(&f, cases[i].ranks, false, 0);
        uint32_t kinds = f.t.schedule == RLT_SCHEDULE_ZERO_BUBBLE ? 3 : 2;
        uint32_t each = rlt_training_microbatches(&f.t) * f.t.vp;
        assert_int_equal(f.passes.n, f.t.size[RLT_AXIS_PP] * each * kinds * 2);
        for (uint32_t s = 0; s < f.passes.n_stages; s++) {
            const rlt_stage_passes *of = &f.passes.stages[s];
            uint32_t base = f.program->rank_first[rlt_stage_rank(&f.t, &f.passes, s)];
            uint8_t seen[3][256] = {{0}};
            assert_int_equal(of->n, each * kinds * 2);
            for (uint32_t k = 0; k < of->n; k++) {
                const rlt_training_pass *p = &f.passes.at[of->first + k];
                assert_true(p->first <= p->last && p->last < of->n_ops);
                assert_true(k == 0 || p->first >= p[-1].first);
                assert_true(f.program->ops[base + p->last].kind == RLT_OP_COMPUTE ||
                            f.program->ops[base + p->last].kind == RLT_OP_COLLECTIVE);
                seen[p->kind][p->microbatch * f.t.vp + p->chunk]++;
            }
            for (uint32_t k = 0; k < each * kinds; k++)
                assert_int_equal(seen[k / each][k % each], 2);
        }
        for (uint32_t r = 0; r < cases[i].ranks; r++) {
            rlt_memory_curve c = curve(&f, r);
            assert_true(c.steps[c.n - 1].bytes == c.base_bytes);
            double total = rlt_training_memory_of(&f.t, c.stage).total;
            assert_true(f.t.schedule == RLT_SCHEDULE_MESSAGE ? c.peak_bytes <= total : c.peak_bytes == total);
            rlt_memory_curve_free(&c);
        }
        close_fixture(&f);
    }
}

/* With all terms of a framework the peak over time is still that of the check, in every fixed schedule. */
static void frameworks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {
            "schedule",      rows[i].schedule, "zero",    "3",        "gathered", "2",       "reshard",
            "auto",          "loss",           "12",      "gradient", "4",        "context", "1GiB",
            "fragmentation", "1.25",           "overlap", "off",      NULL};
        fixture f;
        if (strcmp(rows[i].schedule, "message") == 0)
            continue;
        open_fixture(&f, settings);
        f.model.layers[BLOCKS - 1].logits = SAVED;
        f.model.layers[BLOCKS - 1].saved_split = 2.0 * SAVED;
        set(&f, "pp", rows[i].p);
        set(&f, "vp", rows[i].v);
        set(&f, "dp", 2);
        set(&f, "batch", 2 * rows[i].m);
        run(&f, 2 * rows[i].p, false, 0);
        for (uint32_t r = 0; r < 2 * rows[i].p; r++) {
            rlt_memory_curve c = curve(&f, r);
            rlt_training_memory m = rlt_training_memory_of(&f.t, c.stage);
            assert_true(c.peak_bytes == m.total);
            assert_bytes(c.base_bytes, 1.25 * (m.allocated - m.activations) + (1 << 30), "base", c.stage);
            rlt_memory_curve_free(&c);
        }
        close_fixture(&f);
    }
}

static void refused(void **state)
{
    static const char *const settings[] = {"pp", "2", "batch", "4", NULL};
    fixture f;
    rlt_memory_curve c;
    (void)state;
    open_fixture(&f, settings);
    run(&f, 2, false, 0);
    assert_int_equal(rlt_memory_curve_of(&f.t, &f.passes, f.program, f.replay, 2, &c, &f.err), RLT_ERANGE);
    f.passes.stages[1].n_ops++;
    f.err = (rlt_error){0};
    assert_int_equal(rlt_memory_curve_of(&f.t, &f.passes, f.program, f.replay, 1, &c, &f.err), RLT_ECHECK);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(peaks),    cmocka_unit_test(when),
                                       cmocka_unit_test(area),     cmocka_unit_test(folded),
                                       cmocka_unit_test(recorded), cmocka_unit_test(frameworks),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
