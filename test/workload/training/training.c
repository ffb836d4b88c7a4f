/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trainings of small models whose times follow by hand: blocks of 1 ms forward and 2 ms backward per sample,
 * on a network that takes almost no time; memory by the formulas of the papers; traffic by conservation.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { BLOCKS = 12, WEIGHTS = TEST_BLOCK_WEIGHTS, OUTPUT = TEST_BLOCK_OUTPUT };
#define FAST "switch:%u@1000000GB/s,0ns"

static const rlt_time unit = RLT_MS;

static void open_fixture(fixture *f, uint32_t blocks)
{
    memset(f, 0, sizeof *f);
    strcpy(f->model.name, "blocks");
    test_blocks(&f->model, blocks);
    test_begin(f);
}

static rlt_time time_of(fixture *f, uint32_t ranks)
{
    char net[64];
    rlt_program *p = test_program(f, ranks);
    snprintf(net, sizeof net, FAST, ranks);
    rlt_time end = test_replay(p, net);
    rlt_program_free(p);
    return end;
}

static void assert_about(rlt_time got, double units)
{
    if (fabs((double)got / (double)unit - units) > 1e-3 * units)
        fail_msg("%.4f units, expected %.4f", (double)got / (double)unit, units);
}

/* m microbatches take m (t_f + t_b) plus the bubble: (p - 1)(t_f + t_b), divided by v if interleaved (arXiv
 * 2104.04473, section 2.2); for ZB-H1 (p - 1)(t_f + t_b - t_w), where t_b counts input gradients (arXiv
 * 2401.10241, table 1). */
static void bubbles(void **state)
{
    static const struct {
        const char *schedule;
        uint32_t stages, chunks, microbatches;
        double bubble; /* in units of a stage's t_f */
    } rows[] = {
        {"gpipe", 4, 1, 8, 3 * 3},         {"1f1b", 4, 1, 8, 3 * 3},        {"1f1b", 2, 1, 5, 1 * 3},
        {"1f1b", 6, 1, 3, 5 * 3},          {"interleaved", 4, 3, 8, 3},     {"interleaved", 2, 6, 4, 0.5},
        {"interleaved", 3, 2, 3, 2 * 1.5}, {"zero-bubble", 4, 1, 8, 3 * 1}, {"zero-bubble", 3, 1, 9, 2 * 1},
        {"message", 3, 1, 5, 6},           {"message", 4, 1, 16, 9},        {"message", 1, 1, 4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        char text[32];
        open_fixture(&f, BLOCKS);
        test_set(&f, "schedule", rows[i].schedule);
        snprintf(text, sizeof text, "%u", rows[i].stages);
        test_set(&f, "pp", text);
        snprintf(text, sizeof text, "%u", rows[i].chunks);
        test_set(&f, "vp", text);
        snprintf(text, sizeof text, "%u", rows[i].microbatches);
        test_set(&f, "batch", text);
        rlt_time took = time_of(&f, rows[i].stages);
        double blocks = (double)BLOCKS / rows[i].stages;
        double expected = blocks * (3 * rows[i].microbatches + rows[i].bubble);
        if (fabs((double)took / (double)unit - expected) > 1e-3 * expected)
            fail_msg("%s, %u stages: %.4f ms, expected %.4f", rows[i].schedule, rows[i].stages,
                     (double)took / (double)unit, expected);
        rlt_model_free(&f.model);
    }
}

static void recomputation(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, BLOCKS);
    test_set(&f, "recompute", "full");
    assert_about(time_of(&f, 1), BLOCKS * 4);
    rlt_model_free(&f.model);
}

/* A transformer has s tokens, l blocks of width h, a heads and V words. A sample takes F = 96 s l h^2 (1 + s
 * / 6h + V / 16 l h) FLOPs (AxoNN, IPDPS 2022, eq. 3): logits are not recomputed. Bytes kept (Korthikanti et
 * al., arXiv 2205.05198, sections 4 and 5): 2 s h per block; s h (34 + 5 a s / h) for the block that is
 * recomputed; s h for the embedding's dropout; 4 s h (1 + V / h) for the logits. */
static void recomputed_blocks(void **state)
{
    const double l = 4, h = 256, s = 128, a = 4, v = 1000;
    fixture f;
    rlt_model m;
    (void)state;
    open_fixture(&f, 1);
    rlt_model_free(&f.model);
    assert_int_equal(
        rlt_model_open("transformer:layers=4,hidden=256,heads=4,vocabulary=1000,sequence=128", &m, &f.err),
        0);
    f.t.model = &m;
    test_set(&f, "recompute", "full");
    double flop = 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
    assert_about(time_of(&f, 1), flop / 1e9);
    double bytes = s * h + 4 * s * h * (1 + v / h) + l * 2 * s * h + s * h * (34 + 5 * a * s / h);
    assert_true(fabs(rlt_training_memory_of(&f.t, 0).activations / bytes - 1) < 1e-12);
    rlt_model_free(&m);
}

/* Work bound by memory, by hand. Activations grow with the microbatch and are divided over tp. Weights do not
 * grow; they are divided over tp, those of experts over ep. The forward pass reads them; the backward pass
 * reads them, reads and writes their gradients, and moves 1.6 times the activations. A table is read only where
 * it is looked up. */
static void moved(void **state)
{
    enum { SAMPLES = 3, TP = 2, EP = 4, MOVED = 5000, DENSE = 4000, EXPERTS = 16000, TIED = 600 };
    static const struct {
        const char *main_gradient;
        double kept;
    } rows[] = {{"0", 2}, {"4", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int apart = 0; apart < 2; apart++) {
            fixture f;
            rlt_time forward[2], backward[2];
            open_fixture(&f, 2);
            rlt_model_layer *l = f.model.layers;
            for (int k = 0; k < 2; k++) {
                l[k].parameters = DENSE;
                l[k].moved_elements = MOVED;
                l[k].forward_flop = l[k].backward_flop = k == 0;
            }
            l[0].expert_parameters = EXPERTS;
            l[0].experts = EP;
            l[0].tied_parameters = TIED;
            l[1].work = RLT_WORK_LOOKUP;
            f.accelerator.memory_Bps = 1000000000;
            test_set(&f, "tp", "2");
            test_set(&f, "ep", "4");
            test_set(&f, "microbatch", "3");
            test_set(&f, "main_gradient", rows[i].main_gradient);
            test_set(&f, "schedule", apart ? "zero-bubble" : "1f1b");
            assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
            assert_int_equal(rlt_training_layer_times(&f.t, forward, backward, &f.err), 0);
            double a = 2.0 * SAMPLES * MOVED / TP, w = (DENSE + TIED + EXPERTS / (double)EP) / TP;
            double expected[4] = {a + 2 * w, 1.6 * a + (2 + 2 * rows[i].kept) * w, a, 1.6 * a};
            rlt_time got[4] = {forward[0], backward[0], forward[1], backward[1]};
            for (int k = 0; k < 4; k++)
                if (got[k] != (rlt_time)(expected[k] * RLT_NS))
                    fail_msg("case %zu %d %d: %lld ps, expected %.0f ns", i, apart, k, (long long)got[k],
                             expected[k]);
            rlt_model_free(&f.model);
        }
}

/* Makes an embedding before the blocks, whose matrix the logits use again. */
static void open_tied(fixture *f, uint32_t blocks, uint32_t matrix)
{
    open_fixture(f, blocks + 2);
    rlt_model_layer *first = f->model.layers, *last = &f->model.layers[blocks + 1];
    first->work = RLT_WORK_LOOKUP;
    first->movable = last->movable = false;
    first->parameters = matrix;
    last->tied_parameters = matrix;
    last->parameters = 0;
}

/* What is missing is named. */
static void without_model_or_accelerator(void **state)
{
    fixture f;
    (void)state;
    open_tied(&f, BLOCKS, 1000);
    for (int i = 0; i < 3; i++) {
        rlt_training t = f.t;
        rlt_model empty = {0};
        t.model = i == 0 ? NULL : i == 1 ? &empty : t.model;
        t.accelerator = i == 2 ? NULL : t.accelerator;
        assert_int_equal(rlt_training_plan(&t, 1, &f.err), RLT_EUSAGE);
        assert_string_equal(f.err.what, "needs a model with layers and an accelerator");
    }
    rlt_model_free(&f.model);
}

/* Four stages: the last one has a copy of the matrix, with gradient and state. After the gradients of the
 * data-parallel ranks, the pair sums its own (Megatron-LM's embedding group). Neither happens with one stage
 * or with independent copies. */
static void tied(void **state)
{
    enum { MATRIX = 30000, TP = 2, DP = 2 };
    static const struct {
        const char *pp, *tie;
        uint32_t pairs;
    } rows[] = {{"1", "on", 0}, {"4", "on", TP * DP}, {"4", "off", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_tied(&f, BLOCKS, MATRIX);
        test_set(&f, "pp", rows[i].pp);
        test_set(&f, "tie", rows[i].tie);
        test_set(&f, "tp", "2");
        test_set(&f, "dp", "2");
        test_set(&f, "batch", "8");
        rlt_program *p = test_program(&f, 0);
        uint32_t stages = f.t.size[RLT_AXIS_PP], pairs = 0;
        for (uint32_t s = 0; s < stages; s++) {
            uint32_t held = BLOCKS / stages * WEIGHTS + (s == 0 || s == stages - 1 ? MATRIX : 0);
            assert_true(rlt_training_memory_of(&f.t, s).total == 16.0 * held / TP);
        }
        uint64_t reduced = 0;
        for (uint32_t c = 0; c < p->n_comms; c++) {
            const uint32_t *g = &p->group_ranks[p->group_first[p->comms[c].group]];
            if (p->comms[c].kind != RLT_ALL_REDUCE)
                continue;
            reduced += p->comms[c].bytes;
            if (stages == 1 || g[1] - g[0] != 3 * TP * DP)
                continue;
            assert_int_equal(p->comms[c].bytes, MATRIX * 2 / TP);
            assert_int_equal(p->group_first[p->comms[c].group + 1] - p->group_first[p->comms[c].group], 2);
            pairs++;
        }
        assert_int_equal(pairs, rows[i].pairs);
        for (uint32_t r = 0; pairs && r < 16;
             r++) { /* rank 13 knows rank 1; ranks of inner stages have no partner */
            uint32_t at[RLT_AXES_OF_LAYOUT], ranks[2] = {99, 99}, stage = r / (TP * DP);
            rlt_training_place(&f.t, r, at);
            uint32_t n = rlt__training_members(&f.t, at, RLT__GROUP_TIED, ranks);
            assert_int_equal(n, stage == 0 || stage == 3 ? 2 : 0);
            assert_true(n == 0 || (ranks[0] == r % 4 && ranks[1] == r % 4 + 12));
        }
        /* By TP share: all parameters and the copy, and a pair per DP rank. */
        uint32_t copies = stages > 1 ? 2 : 1;
        assert_int_equal(reduced, 2 * (BLOCKS * WEIGHTS + copies * MATRIX) + 2 * pairs * MATRIX / TP);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* With the optimizer's state in the host's memory, a rank's first step of it waits for the sum of its tied
 * gradients, and later steps follow the first. */
static void tied_offloaded(void **state)
{
    static const char *const settings[][2] = {{"pp", "2"},       {"dp", "1"},
                                              {"batch", "4"},    {"overlap", "off"},
                                              {"offload", "on"}, {"offload_bucket", "1000"}};
    fixture f;
    (void)state;
    open_tied(&f, BLOCKS, 30000);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        test_set(&f, settings[i][0], settings[i][1]);
    rlt_program *p = test_program(&f, 2);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t steps = 0, sum = RLT_NONE;
        for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++) {
            const rlt_op *o = &p->ops[i];
            uint32_t waits = 0;
            if (strcmp(rlt_program_string(p, o->name), "tied gradients") == 0)
                sum = i;
            if (strcmp(rlt_program_string(p, o->name), "offloaded optimizer") != 0)
                continue;
            for (uint32_t k = 0; k < o->n_deps; k++)
                waits += p->deps[o->first_dep + k] == sum;
            assert_int_equal(waits, steps++ == 0);
        }
        assert_true(sum != RLT_NONE && steps > 1);
    }
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* Messages by rank: AxoNN's counts are m for the first and last stage, 2 m between (forward and backward). */
static void messages(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, BLOCKS);
    test_set(&f, "pp", "3");
    test_set(&f, "dp", "2");
    test_set(&f, "order", "pp-dp");
    test_set(&f, "batch", "10");
    test_set(&f, "schedule", "message");
    rlt_program *p = test_program(&f, 6);
    uint32_t received[6] = {0}, joined = 0;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        received[p->ops[i].rank] += p->ops[i].kind == RLT_OP_RECV;
        joined += strcmp(rlt_program_string(p, p->ops[i].name), "all microbatches") == 0;
    }
    assert_int_equal(joined, 6); /* the optimizer of each rank waits there */
    for (uint32_t r = 0; r < 6; r++) {
        uint32_t at[RLT_AXES_OF_LAYOUT];
        rlt_training_place(&f.t, r, at);
        assert_int_equal(at[RLT_AXIS_PP], r % 3); /* the ranks of a pipeline are consecutive */
        assert_int_equal(rlt_training_rank(&f.t, at), r);
        assert_int_equal(received[r], at[RLT_AXIS_PP] == 1 ? 10 : 5);
    }
    uint64_t reduced = 0;
    for (uint32_t i = 0; i < p->n_comms; i++) {
        if (p->comms[i].kind == RLT_SEND_RECV)
            assert_int_equal(p->comms[i].bytes, OUTPUT * 2);
        reduced += p->comms[i].kind == RLT_ALL_REDUCE ? p->comms[i].bytes : 0;
    }
    assert_int_equal(reduced, BLOCKS * WEIGHTS * 2); /* each gradient once, by the two ranks of its stage */
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* Bytes of gradients: every parameter counts once with any buckets; half of them in each of two stages;
 * compressed ones by the part that remains. ZeRO: reduce-scatter and all-gather of as many bytes. */
static void gradients(void **state)
{
    static const char *const buckets[] = {"1B", "5000B", "25MiB"};
    (void)state;
    for (int b = 0; b < 3; b++)
        for (int zero = 0; zero < 4; zero++)
            for (int overlap = 0; overlap < 2; overlap++) {
                fixture f;
                char text[8];
                uint64_t reduced = 0, gathered = 0;
                open_fixture(&f, BLOCKS);
                snprintf(text, sizeof text, "%d", zero);
                test_set(&f, "zero", text);
                test_set(&f, "bucket", buckets[b]);
                test_set(&f, "overlap", overlap ? "on" : "off");
                rlt_program *p = test_program(&f, 4);
                for (uint32_t i = 0; i < p->n_comms; i++) {
                    assert_int_equal(
                        p->group_first[p->comms[i].group + 1] - p->group_first[p->comms[i].group], 4);
                    bool gathers = p->comms[i].kind == RLT_ALL_GATHER;
                    assert_true(gathers || p->comms[i].kind == (zero ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE));
                    *(gathers ? &gathered : &reduced) += p->comms[i].bytes;
                }
                assert_int_equal(reduced, BLOCKS * WEIGHTS * 2);
                assert_int_equal(gathered, zero == 0   ? 0
                                           : zero == 3 ? 2 * BLOCKS * WEIGHTS * 2
                                                       : BLOCKS * WEIGHTS * 2);
                rlt_program_free(p);
                rlt_model_free(&f.model);
            }
}

/* Shares of one size: the last one is padded, so a collective has at most as many bytes more as it has members
 * less one. */
static void shares(void **state)
{
    static const uint32_t ranks[] = {3, 6, 12};
    uint32_t padded = 0;
    (void)state;
    for (int v = 0; v < 9; v++) {
        fixture f;
        char text[8];
        uint64_t bytes = 0;
        uint32_t dp = ranks[v / 3], zero = 1 + (uint32_t)v % 3;
        open_fixture(&f, BLOCKS);
        snprintf(text, sizeof text, "%u", zero);
        test_set(&f, "zero", text);
        test_set(&f, "bucket", "5000B");
        rlt_program *p = test_program(&f, dp);
        for (uint32_t i = 0; i < p->n_comms; i++) {
            assert_int_equal(p->comms[i].bytes % dp, 0);
            bytes += p->comms[i].bytes;
        }
        uint64_t exact = (zero == 3 ? 3 : 2) * (uint64_t)BLOCKS * WEIGHTS * 2;
        assert_in_range(bytes, exact, exact + (uint64_t)p->n_comms * (dp - 1));
        padded += bytes > exact;
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
    assert_true(padded > 0);
}

/* An iteration updates only the table rows that its samples look up, at most all rows: VECTORS elements per
 * sample, over 4 ranks, 2 of which share the tables. Gradients are kept, summed and stepped over for these
 * rows; state exists for all. */
static void tables(void **state)
{
    enum { VECTORS = 64, BATCH = 8, RANKS = 4, EP = 2 };
    static const struct {
        uint64_t parameters, learning;
    } rows[] = {{16000, VECTORS * BATCH / RANKS}, {200, 200 / EP}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        uint32_t seen = 0;
        open_fixture(&f, 2);
        rlt_model_layer *l = f.model.layers;
        uint64_t dense = l[1].parameters;
        l->parameters = 0;
        l->forward_flop = l->backward_flop = 0;
        l->work = RLT_WORK_LOOKUP;
        l->expert_parameters = rows[i].parameters;
        l->experts = 4;
        l->output_elements = VECTORS;
        l->moved_elements = 2 * VECTORS;
        f.accelerator.memory_Bps = 1000000000;
        test_set(&f, "ep", "2");
        test_set(&f, "batch", "8");
        rlt_program *p = test_program(&f, RANKS);
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        assert_true(m.gradients == 2.0 * (double)(dense + rows[i].learning));
        assert_true(m.optimizer == 12.0 * (double)(dense + rows[i].parameters / EP));
        for (uint32_t k = 0; k < p->n_ops; k++) {
            const rlt_op *op = &p->ops[k];
            const char *name = rlt_program_string(p, op->name);
            if (strcmp(name, "optimizer") == 0 && ++seen)
                assert_int_equal(op->duration_ps,
                                 (2 * 12 + 2 + 2) * (dense + rows[i].learning) * (uint64_t)RLT_NS);
            if (strcmp(name, "expert gradients") == 0 && ++seen)
                assert_int_equal(p->comms[op->comm].bytes, 2 * rows[i].learning);
        }
        assert_int_equal(seen, 2 * RANKS);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* Tensor parallelism: four all-reduces per block and microbatch of a transformer-like layer with one each
 * way, each of the microbatch's elements; with sequence parallelism a gather and a scatter of as many. */
static void inside_layers(void **state)
{
    (void)state;
    for (int sp = 0; sp < 2; sp++) {
        fixture f;
        uint32_t n[RLT_COLL_KINDS] = {0};
        open_fixture(&f, 3);
        for (uint32_t i = 0; i < 3; i++)
            f.model.layers[i].tp_elements = 512;
        test_set(&f, "tp", "4");
        test_set(&f, "sp", sp ? "on" : "off");
        test_set(&f, "microbatch", "2");
        test_set(&f, "batch", "10");
        rlt_program *p = test_program(&f, 4);
        for (uint32_t i = 0; i < p->n_comms; i++) {
            n[p->comms[i].kind]++;
            assert_int_equal(p->comms[i].bytes, 512 * 2 * 2);
        }
        assert_int_equal(n[RLT_ALL_REDUCE], sp ? 0 : 3 * 2 * 5);
        assert_int_equal(n[RLT_ALL_GATHER], sp ? 3 * 2 * 5 : 0);
        assert_int_equal(n[RLT_REDUCE_SCATTER], sp ? 3 * 2 * 5 : 0);
        rlt_program_free(p);
        assert_about(time_of(&f, 4), 3 * 3 * 10 / 4.0);
        rlt_model_free(&f.model);
    }
}

/* Activations kept at once, found by walking through a stage's turns. A forward pass adds those of a chunk;
 * the last pass of the microbatch (the one of weights, if they are apart) removes them. Most at once: all
 * microbatches for GPipe, the remaining stages for 1F1B, as many as stages for ZB-H1, whose weight gradients
 * lag (arXiv 2401.10241, section 2.3). For AxoNN, one on the last stage, which goes back at once, and the
 * limit on the others. */
static void in_flight(void **state)
{
    static const struct {
        const char *schedule, *chunks;
    } rows[] = {{"gpipe", "1"}, {"1f1b", "1"}, {"zero-bubble", "1"}, {"interleaved", "3"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t m = 4; m <= 12; m += 4) {
            fixture f;
            char text[8];
            open_fixture(&f, BLOCKS);
            test_set(&f, "schedule", rows[i].schedule);
            test_set(&f, "vp", rows[i].chunks);
            test_set(&f, "pp", "4");
            snprintf(text, sizeof text, "%u", m);
            test_set(&f, "batch", text);
            assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), 0);
            for (uint32_t s = 0; s < 4; s++) {
                rlt__turn *turns;
                uint32_t n, now = 0, most = 0;
                uint8_t last = i == 2 ? RLT__PASS_WEIGHTS : RLT__PASS_BACKWARD;
                assert_int_equal(rlt__training_turns(&f.t, s, &turns, &n, &f.err), 0);
                for (uint32_t k = 0; k < n; k++) {
                    now += turns[k].pass == RLT__PASS_FORWARD;
                    most = now > most ? now : most;
                    now -= turns[k].pass == last;
                }
                free(turns);
                assert_int_equal(now, 0);
                assert_int_equal(most, rlt_training_memory_of(&f.t, s).in_flight);
                if (i < 3)
                    assert_int_equal(most, i == 0 ? m : i == 1 ? 4 - s : 4);
            }
            test_set(&f, "vp", "1");
            test_set(&f, "schedule", "message");
            assert_int_equal(rlt_training_memory_of(&f.t, 3).in_flight, 1);
            assert_int_equal(rlt_training_memory_of(&f.t, 0).in_flight, 4);
            rlt_model_free(&f.model);
        }
}

/* 16 bytes per parameter; ZeRO divides 12, 14, 16 of them (arXiv 1910.02054, section 3). SAMO: 20 dense and
 * 24 f + 2 (IPDPS 2023): 4.4 at f = 0.1, equal with a quarter pruned. */
static void states(void **state)
{
    static const double zero[4] = {16, 4 + 12 / 8.0, 2 + 14 / 8.0, 16 / 8.0};
    static const struct {
        const char *sparsity;
        double bytes;
    } samo[] = {{"0", 20}, {"0.25", 20}, {"0.8", 6.8}, {"0.9", 4.4}};
    fixture f;
    (void)state;
    open_fixture(&f, BLOCKS);
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    for (uint32_t z = 0; z < 4; z++) {
        f.t.zero = z;
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        assert_true(fabs(m.total / (BLOCKS * WEIGHTS) - zero[z]) < 1e-9);
    }
    f.t.zero = 0;
    test_set(&f, "main_gradient", "4");
    for (size_t i = 0; i < sizeof samo / sizeof *samo; i++) {
        test_set(&f, "sparsity", samo[i].sparsity);
        rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
        assert_true(fabs(m.total / (BLOCKS * WEIGHTS) - samo[i].bytes) < 1e-9);
    }
    f.accelerator.memory_bytes = 1000;
    assert_int_equal(rlt_training_fits(&f.t, &f.err), RLT_ERANGE);
    assert_non_null(strstr(f.err.what, "stage 0 needs"));
    rlt_model_free(&f.model);
}

/* 2^29 operations at least, of which each step has 2^19. */
static void too_much_work(void **state)
{
    fixture f;
    rlt_program *p;
    (void)state;
    open_fixture(&f, 4);
    test_set(&f, "tp", "8");
    test_set(&f, "batch", "65536");
    test_set(&f, "steps", "1024");
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    assert_int_equal(rlt_training_program(&f.t, &p, &f.err), RLT_ERANGE);
    assert_string_equal(f.err.what, "8 ranks x 65536 microbatches x 1024 steps exceed the limit of 268435456 "
                                    "operations in a run");
    rlt_model_free(&f.model);
}

static void refused(void **state)
{
    static const struct {
        const char *name, *value, *says;
    } rows[] = {{"pp", "5", "blocks"},      {"tp", "3", "multiple"}, {"ep", "3", "divide"},
                {"batch", "7", "multiple"}, {"dp", "9", "ranks"},    {"vp", "2", "interleaved"},
                {"precision", "fp4", ""},   {"pp", "64", "multiple"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_fixture(&f, 4);
        test_set(&f, rows[i].name, rows[i].value);
        assert_true(rlt_training_plan(&f.t, i == 0 ? 10 : 8, &f.err) < 0);
        assert_non_null(strstr(f.err.what, rows[i].says));
        rlt_model_free(&f.model);
    }
    fixture f;
    open_fixture(&f, 4);
    static const char *const wrong[][2] = {{"tp", "0"},        {"tp", "x"},     {"schedule", "2f2b"},
                                           {"order", "tp-tp"}, {"order", "xp"}, {"sparsity", "1"},
                                           {"bucket", "5"},    {"zero", "4"},   {"steps", "0"},
                                           {"nothing", "1"},   {"host", "5"},   {"overlap", "yes"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(rlt_training_set(&f.t, wrong[i][0], wrong[i][1], &f.err) < 0);
    rlt_model_free(&f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles),
        cmocka_unit_test(recomputation),
        cmocka_unit_test(moved),
        cmocka_unit_test(recomputed_blocks),
        cmocka_unit_test(without_model_or_accelerator),
        cmocka_unit_test(tied),
        cmocka_unit_test(tied_offloaded),
        cmocka_unit_test(messages),
        cmocka_unit_test(gradients),
        cmocka_unit_test(shares),
        cmocka_unit_test(inside_layers),
        cmocka_unit_test(in_flight),
        cmocka_unit_test(states),
        cmocka_unit_test(refused),
        cmocka_unit_test(too_much_work),
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
