/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Division of layers over chunks: by time against all divisions there are, by numbers against layers counted
 * by hand, and what both mean for memory and for the time of an iteration.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

enum { MOST = 16 };

/* Makes a layer of embeddings, `blocks` blocks and two layers of a head, in blocks of their own. Without ends
 * there are blocks only. */
static void open_model(fixture *f, uint32_t blocks, bool ends)
{
    *f = (fixture){.err = {0}};
    test_blocks(&f->model, blocks + (ends ? 3 : 0));
    for (uint32_t i = 0; i < f->model.n_layers && ends; i++)
        f->model.layers[i].movable = i > 0 && i <= blocks;
    test_begin(f);
    test_set(f, "sync_every", "2"); /* no gradients on the wire */
}

static void set_size(fixture *f, const char *name, uint32_t n)
{
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    test_set(f, name, text);
}

/* Returns the time of layers [first, end) in units of 10^9 FLOPs. */
static uint32_t work(const fixture *f, uint32_t first, uint32_t end)
{
    double sum = 0;
    for (uint32_t i = first; i < end; i++)
        sum += f->model.layers[i].forward_flop + f->model.layers[i].backward_flop;
    return (uint32_t)(sum / 1e9 + 0.5);
}

/* Returns the longest chunk of the best division of the layers from `first`, which begins a chunk. */
static uint32_t best_of_all(const fixture *f, uint32_t first, uint32_t chunks)
{
    uint32_t n = f->model.n_layers, best = UINT32_MAX;
    if (chunks == 1)
        return work(f, first, n);
    for (uint32_t i = first + 1; i < n; i++) {
        if (!f->model.layers[i].movable && !f->model.layers[i - 1].movable)
            continue; /* inside the head */
        uint32_t own = work(f, first, i), rest = best_of_all(f, i, chunks - 1);
        uint32_t longest = own > rest ? own : rest;
        best = longest < best ? longest : best;
    }
    return best;
}

/* Checks that chunks hold all layers in order. Returns the longest one. */
static uint32_t longest_of(const fixture *f, uint32_t chunks)
{
    uint32_t at = 0, longest = 0;
    for (uint32_t c = 0; c < chunks; c++) {
        uint32_t first, end;
        rlt_training_layers(&f->t, c, &first, &end);
        assert_int_equal(first, at);
        assert_true(end > first);
        at = end;
        uint32_t own = work(f, first, end);
        longest = own > longest ? own : longest;
    }
    assert_int_equal(at, f->model.n_layers);
    return longest;
}

static void by_time(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (uint32_t trial = 0; trial < 300; trial++) {
        fixture f;
        uint32_t blocks = 3 + trial % 7, chunks = 2 + trial % 4;
        open_model(&f, blocks, trial % 3 > 0);
        for (uint32_t i = 0; i < f.model.n_layers; i++) {
            seed = seed * 1664525 + 1013904223;
            uint32_t units = 1 + (seed >> 24) % (trial % 2 ? 20 : 3);
            f.model.layers[i].forward_flop = units * 1e9;
            f.model.layers[i].backward_flop = units * 2e9;
        }
        set_size(&f, "pp", chunks);
        test_set(&f, "split", "time");
        bool fits = chunks <= blocks + (trial % 3 > 0 ? 2 : 0);
        assert_int_equal(rlt_training_plan(&f.t, chunks, &f.err), fits ? 0 : RLT_ESCHEMA);
        uint32_t best = fits ? best_of_all(&f, 0, chunks) : 0;
        if (fits && longest_of(&f, chunks) != best)
            fail_msg("trial %u: longest chunk %u, best of all %u", trial, longest_of(&f, chunks), best);
        rlt_model_free(&f.model);
    }
}

/* Of divisions with the same longest chunk the most even one is taken. Times 4 1 1 1 1 on 3 chunks: the
 * longest is 4, and 1-2-2 is more even than 1-1-3 and 1-3-1. */
static void most_even(void **state)
{
    static const double units[] = {4, 1, 1, 1, 1};
    fixture f;
    char text[64];
    (void)state;
    open_model(&f, 5, false);
    for (uint32_t i = 0; i < 5; i++) {
        f.model.layers[i].forward_flop = units[i] * 1e9;
        f.model.layers[i].backward_flop = units[i] * 2e9;
    }
    set_size(&f, "pp", 3);
    test_set(&f, "split", "time");
    assert_int_equal(rlt_training_plan(&f.t, 3, &f.err), 0);
    assert_int_equal(f.t.n_split, 3);
    assert_int_equal(f.t.chunk_blocks[0], 1);
    assert_int_equal(f.t.chunk_blocks[1], 2);
    assert_int_equal(f.t.chunk_blocks[2], 2);
    rlt_param_write(rlt_params_find(rlt_training_parameters(), "split"), &f.t, text, sizeof text);
    assert_string_equal(text, "time");
    rlt_model_free(&f.model);
}

/* Embedding, 8 blocks, a head of two layers: first layers of the chunks that these numbers give. */
static void by_numbers(void **state)
{
    static const struct {
        const char *numbers;
        uint32_t chunks, begins[6];
    } rows[] = {
        {"2-2-2-2", 4, {0, 3, 5, 7, 11}},
        {"1-3-3-1", 4, {0, 2, 5, 8, 11}},
        {"0-4-4-0", 4, {0, 1, 5, 9, 11}},
        {"4-4-0", 3, {0, 5, 9, 11}},
        {"8", 1, {0, 11}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        fixture f;
        char text[64];
        open_model(&f, 8, true);
        set_size(&f, "pp", rows[k].chunks);
        test_set(&f, "split", rows[k].numbers);
        assert_int_equal(rlt_training_plan(&f.t, rows[k].chunks, &f.err), 0);
        longest_of(&f, rows[k].chunks);
        for (uint32_t c = 0; c < rows[k].chunks; c++) {
            uint32_t first, end;
            rlt_training_layers(&f.t, c, &first, &end);
            assert_int_equal(first, rows[k].begins[c]);
        }
        rlt_param_write(rlt_params_find(rlt_training_parameters(), "split"), &f.t, text, sizeof text);
        assert_string_equal(text, rows[k].numbers);
        rlt_model_free(&f.model);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *numbers, *what;
    } rows[] = {
        {"4-4", "2 numbers, but the pipeline has 4 chunks"},
        {"2-2-2-1", "the numbers add up to 7 blocks, but the model has 8"},
        {"4-0-2-2", "chunk 2 is empty: only the first may have embeddings alone, and the last logits alone"},
    };
    fixture f;
    (void)state;
    open_model(&f, 8, true);
    set_size(&f, "pp", 4);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        f.err = (rlt_error){0};
        test_set(&f, "split", rows[k].numbers);
        assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), RLT_ESCHEMA);
        assert_string_equal(f.err.where, "split");
        assert_string_equal(f.err.what, rows[k].what);
    }
    assert_int_equal(rlt_training_set(&f.t, "split", "2-x", &f.err), RLT_EUSAGE);
    assert_int_equal(rlt_training_set(&f.t, "split", "", &f.err), RLT_EUSAGE);
    rlt_model_free(&f.model);
}

/* Schedules that give chunks to stages in other ways: each stage has the parameters of its chunks. Weights
 * take 2 bytes. */
static void stages(void **state)
{
    static const struct {
        const char *schedule, *numbers;
        uint32_t pp, vp, blocks[4]; /* of each stage */
    } rows[] = {
        {"interleaved", "1-2-3-2", 2, 2, {4, 4}},
        {"interleaved", "1-1-5-1", 2, 2, {6, 2}},
        {"dualpipe", "1-2-3-2", 4, 1, {3, 5, 5, 3}},
        {"dualpipev", "1-2-4-1", 2, 1, {2, 6}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        fixture f;
        open_model(&f, 8, false);
        test_set(&f, "schedule", rows[k].schedule);
        set_size(&f, "pp", rows[k].pp);
        set_size(&f, "vp", rows[k].vp);
        test_set(&f, "batch", "8");
        test_set(&f, "split", rows[k].numbers);
        rlt_program *p = test_program(&f, rows[k].pp);
        for (uint32_t s = 0; s < rows[k].pp; s++)
            assert_int_equal((uint32_t)rlt_training_memory_of(&f.t, s).parameters,
                             2 * TEST_BLOCK_WEIGHTS * rows[k].blocks[s]);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* Two stages, 8 microbatches, blocks of 1 + 2 ms. With 3 and 1 blocks the first stage never waits: 8 x 9 ms.
 * With 2 and 2, 1F1B takes (8 + 1) x 6 ms; by time it is divided so. */
static void iteration(void **state)
{
    static const struct {
        const char *split;
        rlt_time ms;
    } rows[] = {{"3-1", 72}, {"2-2", 54}, {"time", 54}, {"blocks", 54}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        fixture f;
        open_model(&f, 4, false);
        for (uint32_t i = 0; i < 4; i++)
            f.model.layers[i].output_elements = 0;
        set_size(&f, "pp", 2);
        test_set(&f, "batch", "8");
        test_set(&f, "split", rows[k].split);
        rlt_program *p = test_program(&f, 2);
        rlt_time time = test_replay(p, "switch:2@1000000GB/s,0ns");
        assert_int_equal(time, rows[k].ms * RLT_MS);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* A training that is planned with another model finds its blocks as if it were the first one: here one block, after two. */
static void another_model(void **state)
{
    fixture f, fresh;
    (void)state;
    open_model(&f, 2, true);
    assert_int_equal(rlt_training_plan(&f.t, 1, &f.err), 0);
    assert_int_equal(f.t.blocks.n, 2);
    assert_int_equal(f.t.blocks.each, 1);
    open_model(&fresh, 1, true);
    assert_int_equal(rlt_training_plan(&fresh.t, 1, &fresh.err), 0);
    f.t.model = &fresh.model;
    assert_int_equal(rlt_training_plan(&f.t, 1, &f.err), 0);
    assert_ptr_equal(f.t.blocks.of, &fresh.model);
    assert_int_equal(f.t.blocks.n, 1);
    assert_int_equal(f.t.blocks.each, 0);
    assert_int_equal(f.t.blocks.first, fresh.t.blocks.first);
    assert_int_equal(f.t.blocks.head, fresh.t.blocks.head);
    assert_int_equal(f.t.blocks.alike, fresh.t.blocks.alike);
    assert_int_equal(f.t.blocks.alike_end, fresh.t.blocks.alike_end);
    assert_int_equal(f.t.blocks.period, fresh.t.blocks.period);
    rlt_model_free(&f.model);
    rlt_model_free(&fresh.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_time),      cmocka_unit_test(most_even),
                                       cmocka_unit_test(by_numbers),   cmocka_unit_test(refused),
                                       cmocka_unit_test(stages),       cmocka_unit_test(iteration),
                                       cmocka_unit_test(another_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
