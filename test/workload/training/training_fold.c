/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefetched weights, and trainings folded to a rank per stage: times that follow by hand, and the time of
 * all ranks. */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/fold.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

enum { BLOCKS = 12 };

typedef struct fixture {
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_error err;
} fixture;

/* Makes blocks that take 1 ms forward and 2 ms backward, and pass on 64 elements. */
static void open_fixture(fixture *f, const char *const *settings)
{
    memset(f, 0, sizeof *f);
    test_blocks(&f->model, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        f->model.layers[i].tp_elements = f->model.layers[i].cp_elements = TEST_BLOCK_OUTPUT;
    f->accelerator = test_accelerator();
    f->t = rlt_training_default();
    f->t.model = &f->model;
    f->t.accelerator = &f->accelerator;
    for (; *settings; settings += 2)
        if (rlt_training_set(&f->t, settings[0], settings[1], &f->err))
            fail_msg("%s: %s", f->err.where, f->err.what);
}

static rlt_time all_ranks(fixture *f, uint32_t ranks, const char *network)
{
    rlt_program *p = NULL;
    if (rlt_training_plan(&f->t, ranks, &f->err) || rlt_training_program(&f->t, &p, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    rlt_time end = test_replay(p, network);
    rlt_program_free(p);
    return end;
}

/* Two ranks, half of 2000 bytes each way at 2 MB/s: gathering and scattering take 0.5 ms each per block. With
 * prefetching only the first gather of each pass is exposed, and the last gradients: 3 B + 1.5 ms. Without it
 * every gather is exposed and, in the backward pass, shares the link with the gradients of the block before:
 * 1.5 B + 0.5 + 2 B + (B - 1) + 0.5 ms. */
static void prefetch(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        const char *const settings[] = {"zero", "3", "prefetch", on ? "on" : "off", NULL};
        fixture f;
        open_fixture(&f, settings);
        for (uint32_t i = 0; i < BLOCKS; i++)
            f.model.layers[i].tp_elements = f.model.layers[i].cp_elements = 0;
        double ms = (double)all_ranks(&f, 2, "switch:2@2MB/s,0ns") / RLT_MS;
        double expected = on ? 3 * BLOCKS + 1.5 : 4.5 * BLOCKS;
        if (fabs(ms - expected) > 1e-3)
            fail_msg("%s: %.4f ms, expected %.4f", on ? "ahead" : "not ahead", ms, expected);
        rlt_model_free(&f.model);
    }
}

/* If only a message of 128 bytes meets a collective, one rank per stage takes as long as all ranks. */
static void same_time(void **state)
{
    static const struct {
        uint32_t ranks, stages;
        const char *network, *settings[15];
    } rows[] = {
        {4, 1, "switch:4@1GB/s,1us", {"zero", "0"}},
        {8, 1, "switch:4@1GB/s,1us*switch:2@100MB/s,3us", {"zero", "3", "batch", "24"}},
        {8, 1, "switch:4@1GB/s,1us*switch:2@100MB/s,3us", {"tp", "4", "sp", "on", "overlap", "off"}},
        {8,
         2,
         "switch:4@1GB/s,1us*switch:2@100MB/s,3us",
         {"tp", "2", "pp", "2", "overlap", "off", "batch", "16"}},
        {8,
         4,
         "switch:8@1GB/s,1us",
         {"pp", "4", "schedule", "interleaved", "vp", "3", "cp", "2", "zero", "1", "overlap", "off", "batch",
          "8"}},
        {8,
         4,
         "switch:8@1GB/s,1us",
         {"pp", "4", "cp", "2", "split", "4-3-3-2", "overlap", "off", "batch", "8"}},
        {4, 2, "switch:4@1GB/s,1us", {"pp", "2", "drain", "on", "recompute", "full", "batch", "8"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        uint32_t n;
        open_fixture(&f, rows[i].settings);
        rlt_time all = all_ranks(&f, rows[i].ranks, rows[i].network);
        rlt_time one = test_folded(&f.t, rows[i].network, &n);
        assert_int_equal(n, rows[i].stages);
        if (llabs((long long)(all - one)) > all / 10000)
            fail_msg("row %zu: all ranks %lld ps, folded %lld ps", i, (long long)all, (long long)one);
        rlt_model_free(&f.model);
    }
}

/* The backward pass at half the efficiency takes twice as long, recomputation does not. A stack's own time
 * counts once per iteration. */
static void stack_factors(void **state)
{
    static const char *const settings[] = {"recompute", "full", "batch", "2", NULL};
    fixture f;
    (void)state;
    open_fixture(&f, settings);
    f.accelerator.kernels.backward = 0.5;
    f.accelerator.stacks[0] = (rlt_stack){.name = "any", .most = {1, 1, 1, 1, 1}, .host_ps = 7 * RLT_MS};
    f.accelerator.n_stacks = 1;
    double ms = (double)all_ranks(&f, 1, "switch:1@1GB/s,0ns") / RLT_MS;
    assert_true(fabs(ms - (2 * BLOCKS * (1 + 1 + 4) + 7)) < 1e-3);
    rlt_model_free(&f.model);
}

/* Embedding, 4 blocks of two layers, logits. With as many chunks as blocks, embedding and logits share a
 * chunk with a block. One more chunk has the logits alone, a second one also the embedding alone. More chunks
 * are refused. */
static void chunks(void **state)
{
    static const uint32_t begins[3][7] = {{0, 3, 5, 7, 10}, {0, 3, 5, 7, 9, 10}, {0, 1, 3, 5, 7, 9, 10}};
    static const char *const none[] = {NULL};
    (void)state;
    for (uint32_t more = 0; more < 3; more++) {
        fixture f;
        open_fixture(&f, none);
        f.model.n_layers = 10;
        for (uint32_t i = 0; i < 10; i++) {
            f.model.layers[i].movable = i % 2 && i < 9;
            f.model.layers[i].block = (i + 1) / 2;
        }
        f.t.size[RLT_AXIS_PP] = 4 + more;
        assert_int_equal(rlt_training_plan(&f.t, 4 + more, &f.err), 0);
        for (uint32_t c = 0; c < 4 + more; c++) {
            uint32_t first, end;
            rlt_training_layers(&f.t, c, &first, &end);
            assert_int_equal(first, begins[more][c]);
            assert_int_equal(end, begins[more][c + 1]);
        }
        f.t.size[RLT_AXIS_PP] = 7;
        f.t.size[RLT_AXIS_DP] = 1;
        f.t.batch = 7;
        assert_int_equal(rlt_training_plan(&f.t, 7, &f.err), RLT_ESCHEMA);
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prefetch), cmocka_unit_test(same_time),
                                       cmocka_unit_test(stack_factors), cmocka_unit_test(chunks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
