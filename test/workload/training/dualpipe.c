/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DualPipe and DualPipeV: bubbles and memory of the published table (DeepSeek-AI, arXiv 2412.19437, table
 * 2, and the README of deepseek-ai/DualPipe), and communication that overlaps compute, worked out by hand.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/training/internal.h"
#include "workload/training/memory_time.h"
#include "workload/training/passes.h"
#include "workload/training/training.h"

#define FREE "switch:64@1000000GB/s,0ns"

/* Makes blocks of 1 ms forward and 2 ms backward, half of which are weight gradients. Messages are empty. */
static void open_blocks(fixture *f, uint32_t blocks, const char *schedule, uint32_t pp, uint32_t batch)
{
    char text[16];
    *f = (fixture){.err = {0}};
    test_blocks(&f->model, blocks);
    for (uint32_t i = 0; i < blocks; i++)
        f->model.layers[i].output_elements = 0;
    test_begin(f);
    test_set(f, "schedule", schedule);
    snprintf(text, sizeof text, "%u", pp);
    test_set(f, "pp", text);
    snprintf(text, sizeof text, "%u", batch);
    test_set(f, "batch", text);
    test_set(f, "overlap", "off");
}

typedef struct causes {
    rlt_rank_causes of[64];
    rlt_time time_ps;
    double gap; /* bytes between the peak over time and the closed form, summed over stages */
} causes;

static void run(fixture *f, uint32_t ranks, causes *out)
{
    rlt_training_passes passes = {0};
    rlt_topology *topology = NULL;
    rlt_replay *x = NULL;
    f->t.passes = &passes;
    rlt_program *p = test_program(f, ranks);
    assert_int_equal(rlt_topology_load(FREE, NULL, &topology, &f->err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = topology;
    o.endpoint = *rlt_topology_endpoint(topology);
    if (rlt_replay_create(p, &o, &x, &f->err) || rlt_replay_run(x, &f->err) ||
        rlt_replay_causes(x, out->of, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    out->time_ps = rlt_replay_time(x);
    out->gap = 0;
    for (uint32_t s = 0; s < f->t.size[RLT_AXIS_PP]; s++) {
        rlt_memory_curve c;
        uint32_t rank = rlt_stage_rank(&f->t, &passes, s);
        assert_int_equal(rlt_memory_curve_of(&f->t, &passes, p, x, rank, &c, &f->err), 0);
        out->gap += fabs(c.peak_bytes - rlt_training_memory_of(&f->t, s).total);
        rlt_memory_curve_free(&c);
    }
    f->t.passes = NULL;
    rlt_training_passes_free(&passes);
    rlt_replay_free(x);
    rlt_program_free(p);
    rlt_topology_free(topology);
}

typedef struct row {
    const char *schedule;
    uint32_t pp, batch, chunks;
    bool mixed; /* each second layer has no weights */
} row;

enum { ALL = 24 };

/* Makes layers of 1 + 2 ms, 1 of which are weight gradients, or by turns of 2 + 4 ms, 2 of which are, and 1
 * + 1 ms without. */
static void fill(fixture *f, bool mixed)
{
    for (uint32_t k = 0; k < ALL; k++) {
        rlt_model_layer *l = &f->model.layers[k];
        l->saved_whole = 10;
        if (!mixed)
            continue;
        l->parameters = k % 2 ? 0 : 2 * TEST_BLOCK_WEIGHTS;
        l->forward_flop = k % 2 ? 1e9 : 2e9;
        l->backward_flop = k % 2 ? 1e9 : 4e9;
    }
}

static void check_row(const row *w)
{
    uint32_t c = w->chunks, pp = w->pp;
    rlt_time part = RLT_MS * (rlt_time)(ALL / c) / (w->mixed ? 2 : 1), forward = part * (w->mixed ? 3 : 1),
             backward = part * (w->mixed ? 5 : 2), weights = part * (w->mixed ? 2 : 1),
             bubble = (c / 2 - 1) * (forward + 2 * backward - 3 * weights),
             all = w->batch * (forward + backward) * c / pp + bubble;
    fixture f;
    causes x;
    open_blocks(&f, ALL, w->schedule, pp, w->batch);
    test_set(&f, "sync_every", "2"); /* no gradients on the wire */
    fill(&f, w->mixed);
    run(&f, pp, &x);
    for (uint32_t r = 0; r < pp; r++) {
        if (x.of[r].ps[RLT_CAUSE_BUBBLE] != bubble)
            fail_msg("%s, pp %u, batch %u, rank %u: bubble %lld, expected %lld", w->schedule, pp, w->batch, r,
                     (long long)x.of[r].ps[RLT_CAUSE_BUBBLE], (long long)bubble);
        rlt_training_memory m = rlt_training_memory_of(&f.t, r);
        assert_int_equal(m.in_flight, c + 1);
        assert_true(m.activations == (c + 1.0) * (ALL / c) * 10 * 2);
        assert_true(m.parameters == 2.0 * (ALL / c) * TEST_BLOCK_WEIGHTS * 2);
    }
    assert_in_range(x.time_ps, all, all + 1); /* the optimizer takes 1 ps */
    assert_true(x.gap == 0);
    rlt_model_free(&f.model);
}

/* With c chunks of layers, a rank waits (c / 2 - 1) (F&B + B - 3 W), where F&B = F + B without
 * communication, if F = B - W: a forward pass takes as long as the gradients of inputs. A rank keeps c + 1
 * microbatches of a chunk, and has two chunks: with DualPipe twice the parameters of a stage of 1F1B. */
static void table(void **state)
{
    static const row rows[] = {
        {"dualpipe", 2, 4, 2, false},   {"dualpipe", 4, 8, 4, false},  {"dualpipe", 4, 20, 4, true},
        {"dualpipe", 8, 20, 8, false},  {"dualpipe", 8, 24, 8, false}, {"dualpipe", 12, 24, 12, true},
        {"dualpipev", 2, 4, 4, false},  {"dualpipev", 2, 9, 4, true},  {"dualpipev", 3, 6, 6, true},
        {"dualpipev", 4, 10, 8, false}, {"dualpipev", 6, 13, 12, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

/* Two stages of two ranks, four microbatches, one block of 1 + 2 ms on each: two turns F and one each of F,
 * B, the pair, B, B without weights and W are 12 ms, and no stage waits. A sum over two ranks takes c after
 * each pass. That of F in the pair is hidden behind the compute of B, so that 7 of 8 sums are left: 12 ms +
 * 7 c. */
static void hidden_sums(void **state)
{
    fixture f;
    rlt_time took[2];
    (void)state;
    for (int on = 0; on < 2; on++) {
        open_blocks(&f, 2, "dualpipe", 2, 4);
        test_set(&f, "sync_every", "2");
        test_set(&f, "tp", "2");
        for (uint32_t k = 0; k < 2; k++) {
            f.model.layers[k].forward_flop *= 2; /* tp halves it */
            f.model.layers[k].backward_flop *= 2;
            f.model.layers[k].tp_elements = on ? 250 : 0; /* 500 bytes at 1 MB/s: 0.5 ms */
        }
        rlt_program *p = test_program(&f, 4);
        took[on] = test_replay(p, "switch:4@1MB/s,0ns");
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
    assert_int_equal(took[0], 12 * RLT_MS);
    assert_int_equal(took[1], 12 * RLT_MS + 7 * RLT_MS / 2);
}

/* The same with experts. Copies of c = 0.25 ms go to them before a pass and come back after it. In the pair
 * both dispatches share the links and take 2 c, F computes, B computes beside the way back of F, and then
 * B's way back takes c. So the pair adds 3 c, and the six other passes 2 c each. */
static void hidden_copies(void **state)
{
    fixture f;
    (void)state;
    open_blocks(&f, 2, "dualpipe", 2, 8);
    test_set(&f, "dp", "2");
    test_set(&f, "ep", "2");
    for (uint32_t k = 0; k < 2; k++) {
        f.model.layers[k].parameters = 0;
        f.model.layers[k].expert_parameters = f.model.layers[k].experts = 2;
        f.model.layers[k].ep_elements = 250; /* half of 500 bytes leaves at 1 MB/s */
    }
    rlt_program *p = test_program(&f, 4);
    rlt_time took = test_replay(p, "switch:4@1MB/s,0ns"), expected = 12 * RLT_MS + (6 * 2 + 3) * RLT_MS / 4;
    if (took < expected || took > expected + 20 * RLT_US) /* and gradients of two experts */
        fail_msg("%lld, expected %lld", (long long)took, (long long)expected);
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* Tied weights of the first and the last layer. In DualPipe both stages have both chunks, and no copy to keep
 * alike. */
static void tied(void **state)
{
    static const struct {
        const char *schedule, *pp;
        bool copies;
    } rows[] = {
        {"dualpipe", "2", false}, {"dualpipe", "4", false}, {"1f1b", "4", true}, {"1f1b", "1", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f = {.err = {0}};
        const char *spec = "transformer:layers=8,hidden=64,heads=4,sequence=16,vocabulary=100,tied=yes";
        assert_int_equal(rlt_model_open(spec, &f.model, &f.err), 0);
        test_begin(&f);
        test_set(&f, "schedule", rows[i].schedule);
        test_set(&f, "pp", rows[i].pp);
        test_set(&f, "batch", "16");
        rlt_program_free(test_program(&f, (uint32_t)atoi(rows[i].pp)));
        assert_int_equal(f.t.home != f.t.away, rows[i].copies);
        rlt_model_free(&f.model);
    }
}

/* Gradients of both chunks are reduced over the ranks of both stages that have them, and ZeRO 1 divides the
 * state over all of these: 2 x 3 blocks of 1000 parameters over 2 x 2 ranks. */
static void copies(void **state)
{
    fixture f;
    uint64_t scattered = 0, gathered = 0;
    (void)state;
    open_blocks(&f, 12, "dualpipe", 4, 16);
    test_set(&f, "dp", "2");
    test_set(&f, "zero", "1");
    rlt_program *p = test_program(&f, 8);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        const rlt_comm *c = &p->comms[i];
        if (c->kind != RLT_REDUCE_SCATTER && c->kind != RLT_ALL_GATHER)
            continue;
        const uint32_t *ranks = p->group_ranks + p->group_first[c->group];
        uint32_t outer = ranks[0] == 0, expected[2][4] = {{2, 4, 3, 5}, {0, 6, 1, 7}};
        assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], 4);
        for (uint32_t k = 0; k < 4; k++) {
            bool found = false;
            for (uint32_t j = 0; j < 4; j++)
                found |= ranks[j] == expected[outer][k];
            assert_true(found);
        }
        *(c->kind == RLT_ALL_GATHER ? &gathered : &scattered) += c->bytes;
    }
    assert_int_equal(scattered, 2 * 6000 * 2); /* two groups */
    assert_int_equal(gathered, 2 * 6000 * 2);
    /* Each of them knows the others: stages s and 3 - s, two ranks each. */
    for (uint32_t r = 0; r < 8; r++) {
        uint32_t at[RLT_AXES_OF_LAYOUT], ranks[8], stage = r / 2, held = 0;
        rlt_training_place(&f.t, r, at);
        assert_int_equal(rlt__training_members(&f.t, at, RLT__GROUP_DP, ranks), 4);
        for (uint32_t k = 0; k < 4; k++) {
            assert_true(ranks[k] / 2 == stage || ranks[k] / 2 == 3 - stage);
            held |= 1u << ranks[k];
        }
        assert_int_equal(held, 3u << 2 * stage | 3u << 2 * (3 - stage));
    }
    rlt_training_memory m = rlt_training_memory_of(&f.t, 0);
    assert_true(m.parameters == 6000 * 2 && m.gradients == 6000 * 2 && m.optimizer == 6000 * 12 / 4);
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

static void refused(void **state)
{
    static const struct {
        const char *schedule, *name, *value, *message;
        uint32_t pp, batch;
    } rows[] = {
        {"dualpipe", NULL, NULL, "needs an even number of stages, got 3", 3, 12},
        {"dualpipe", NULL, NULL, "needs at least 8 microbatches, an even number, got 6", 4, 6},
        {"dualpipe", NULL, NULL, "needs at least 4 microbatches, an even number, got 5", 2, 5},
        {"dualpipev", NULL, NULL, "needs at least 8 microbatches, got 7", 4, 7},
        {"dualpipev", NULL, NULL, "needs at least two stages, got 1", 1, 7},
        {"dualpipev", "vp", "3", "two chunks per stage, got 3", 2, 8},
        {"dualpipe", "zero", "3", "cannot gather weights", 2, 8},
        {"dualpipev", NULL, NULL, "13 stages x 2 chunks exceed the model's 24 blocks", 13, 26},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_blocks(&f, 24, rows[i].schedule, rows[i].pp, rows[i].batch);
        if (rows[i].name)
            test_set(&f, rows[i].name, rows[i].value);
        assert_true(rlt_training_plan(&f.t, rows[i].pp, &f.err) < 0);
        if (!strstr(f.err.what, rows[i].message))
            fail_msg("'%s', expected '%s'", f.err.what, rows[i].message);
        rlt_model_free(&f.model);
    }
}

/* Parameters of the first of 9 layers, which does not repeat, tied to a block: in the opposite stage they need
 * no copy, in any other one they cannot be. */
static void refused_ties(void **state)
{
    (void)state;
    for (uint32_t tied = 3; tied < 9; tied++) { /* the last stage has 7 and 8 */
        fixture f;
        open_blocks(&f, 9, "dualpipe", 4, 16);
        f.model.layers[0].movable = false;
        f.model.layers[tied].tied_parameters = 10;
        bool opposite = tied >= 7;
        assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), opposite ? 0 : RLT_EUNSUPPORTED);
        assert_string_equal(f.err.where, opposite ? "" : "schedule");
        assert_string_equal(f.err.what,
                            opposite ? "" : "dualpipe needs tied parameters in the first and the last chunk");
        rlt_model_free(&f.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table),         cmocka_unit_test(hidden_sums),
                                       cmocka_unit_test(hidden_copies), cmocka_unit_test(copies),
                                       cmocka_unit_test(tied),          cmocka_unit_test(refused),
                                       cmocka_unit_test(refused_ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
