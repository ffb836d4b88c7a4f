/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experts laid out over tensor, context and data parallelism: members of groups, memory, and bytes on the wire
 * by hand, and folded trainings against whole ones. */
#include <math.h>
#include <stdio.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/blocks.h"
#include "test/support/trainings/fold.h"
#include "test/support/trainings/training.h"
#include "workload/experts/experts.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { EXPERTS = 8, TOP_K = 2, HIDDEN = 64, FFN = 32, TOKENS = 16 };
#define SMALL                                                                                                \
    "transformer:layers=2,hidden=64,heads=4,ffn=256,vocabulary=16,sequence=16,bias=no,norm=rms,dropout=no,"  \
    "learned_positions=no,fused_attention=yes,tied=no,experts=8,top_k=2,expert_ffn=32"

static void open_small(fixture *f, const char *const *settings)
{
    *f = (fixture){.err = {0}};
    if (rlt_model_open(SMALL, &f->model, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    test_begin(f);
    for (; *settings; settings += 2)
        test_set(f, settings[0], settings[1]);
}

/* Compares the members of a rank's group with those expected. */
static void expect_members(const rlt_training *t, rlt__group group, uint32_t rank, uint32_t n,
                           const uint32_t *expected)
{
    uint32_t at[RLT_AXES_OF_LAYOUT], ranks[16];
    rlt_training_place(t, rank, at);
    assert_int_equal(rlt__training_members(t, at, group, ranks), n);
    for (uint32_t k = 0; k < n; k++)
        if (ranks[k] != expected[k])
            fail_msg("group %d of rank %u: member %u is rank %u, expected %u", group, rank, k, ranks[k],
                     expected[k]);
}

/* 16 ranks: tp = 2, dp = 4, pp = 2, numbered with tp innermost, so that stage 0 has the ranks 0 to 7. */
static void members(void **state)
{
    static const struct {
        const char *ep, *etp;
        rlt__group group;
        uint32_t rank, n, ranks[8];
    } rows[] = {
        {"4", NULL, RLT__GROUP_EP, 1, 4, {1, 3, 5, 7}},
        {"4", NULL, RLT__GROUP_EXPERT_DP, 1, 1, {1}},
        {"2", NULL, RLT__GROUP_EP, 4, 2, {4, 6}},
        {"2", NULL, RLT__GROUP_EXPERT_DP, 4, 2, {0, 4}},
        {"4", "1", RLT__GROUP_EP, 1, 4, {0, 1, 2, 3}},
        {"4", "1", RLT__GROUP_EP, 13, 4, {12, 13, 14, 15}},
        {"4", "1", RLT__GROUP_EXPERT_DP, 1, 2, {1, 5}},
        {"8", NULL, RLT__GROUP_EP, 3, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"8", NULL, RLT__GROUP_EXPERT_DP, 3, 1, {3}},
        {"8", NULL, RLT__GROUP_EXPERT_TP, 3, 0, {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"tp", "2", "dp", "4", "pp", "2", "ep", rows[i].ep, NULL};
        fixture f;
        open_small(&f, settings);
        if (rows[i].etp)
            test_set(&f, "etp", rows[i].etp);
        assert_int_equal(rlt_training_plan(&f.t, 16, &f.err), 0);
        expect_members(&f.t, rows[i].group, rows[i].rank, rows[i].n, rows[i].ranks);
        rlt_model_free(&f.model);
    }
}

/* 16 ranks with tp = 2, cp = 2, dp = 4: rank = tp + 2 (cp + 2 dp). Experts (ep = 2, etp = 2) are laid out over four
 * neighbours, and shards of four divide the eight ranks of cp and dp. */
static void members_over_contexts(void **state)
{
    static const struct {
        rlt__group group;
        uint32_t rank, n, ranks[8];
    } rows[] = {
        {RLT__GROUP_TP, 10, 2, {10, 11}},
        {RLT__GROUP_CP, 5, 2, {5, 7}},
        {RLT__GROUP_CP, 14, 2, {12, 14}},
        {RLT__GROUP_DP, 5, 8, {1, 3, 5, 7, 9, 11, 13, 15}},
        {RLT__GROUP_EP, 6, 2, {4, 6}},
        {RLT__GROUP_EP, 15, 2, {13, 15}},
        {RLT__GROUP_EXPERT_DP, 6, 4, {2, 6, 10, 14}},
        {RLT__GROUP_EXPERT_DP, 13, 4, {1, 5, 9, 13}},
        {RLT__GROUP_SHARD, 3, 4, {1, 3, 5, 7}},
        {RLT__GROUP_SHARD, 11, 4, {9, 11, 13, 15}},
        {RLT__GROUP_REPLICA, 2, 2, {2, 10}},
        {RLT__GROUP_REPLICA, 15, 2, {7, 15}},
        {RLT__GROUP_EXPERT_TP, 6, 0, {0}},
    };
    static const char *const settings[] = {"tp", "2", "cp", "2", "dp", "4", "ep", "2", NULL};
    fixture f;
    (void)state;
    open_small(&f, settings);
    assert_int_equal(rlt_training_plan(&f.t, 16, &f.err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.t.shard = rows[i].group == RLT__GROUP_SHARD || rows[i].group == RLT__GROUP_REPLICA ? 4 : 0;
        expect_members(&f.t, rows[i].group, rows[i].rank, rows[i].n, rows[i].ranks);
    }
    rlt_model_free(&f.model);
}

/* tp = 4, dp = 2, etp = 2, ep = 4: pairs share an expert, and the even ranks hold the first halves. */
static void pairs(void **state)
{
    static const char *const settings[] = {"tp", "4", "dp", "2", "etp", "2", "ep", "4", NULL};
    static const uint32_t even[] = {0, 2, 4, 6}, pair[] = {2, 3};
    fixture f;
    uint32_t at[RLT_AXES_OF_LAYOUT], ranks[8];
    (void)state;
    open_small(&f, settings);
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    rlt_training_place(&f.t, 2, at);
    assert_int_equal(rlt__training_members(&f.t, at, RLT__GROUP_EP, ranks), 4);
    assert_memory_equal(ranks, even, sizeof even);
    assert_int_equal(rlt__training_members(&f.t, at, RLT__GROUP_EXPERT_TP, ranks), 2);
    assert_memory_equal(ranks, pair, sizeof pair);
    rlt_model_free(&f.model);
}

static void refused(void **state)
{
    static const struct {
        const char *ep, *etp, *why;
    } rows[] = {
        {"3", NULL, "ep 3 does not divide cp 1 x dp 4, nor these x tp 2 (etp=1)"},
        {"8", "2", "etp 2 x ep 8 do not divide tp 2 x cp 1 x dp 4"},
        {"4", "3", "etp 3 does not divide tp 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"tp", "2", "dp", "4", "pp", "2", "ep", rows[i].ep, NULL};
        fixture f;
        open_small(&f, settings);
        if (rows[i].etp)
            test_set(&f, "etp", rows[i].etp);
        assert_int_equal(rlt_training_plan(&f.t, 16, &f.err), RLT_ESCHEMA);
        assert_string_equal(f.err.what, rows[i].why);
        rlt_model_free(&f.model);
    }
}

/* A router that is not balanced over layers of unlike experts, and groups cut unequally by nodes of 3. */
static void refused_of_exchanges(void **state)
{
    static const char *const unlike[] = {"dp", "4", "ep", "4", "routing", "zipf:1", NULL},
                             *const cut[] = {"dp", "4",          "ep",        "4", "node",
                                             "3",  "dispatcher", "two-level", NULL};
    fixture f;
    rlt_program *p = NULL;
    (void)state;
    open_small(&f, unlike);
    for (uint32_t i = 0; i < f.model.n_layers / 2; i++)
        f.model.layers[i].experts /= 2;
    assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), RLT_EUNSUPPORTED);
    assert_string_equal(f.err.where, "routing");
    assert_string_equal(f.err.what, "layers have 4 and 8 experts: expected balanced");
    rlt_model_free(&f.model);
    open_small(&f, cut);
    assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), 0);
    assert_int_equal(rlt_training_program(&f.t, &p, &f.err), RLT_ESCHEMA);
    assert_string_equal(f.err.where, "dispatcher");
    assert_string_equal(f.err.what, "expert-parallel groups have unequal parts on nodes of 3 ranks");
    assert_null(p);
    rlt_model_free(&f.model);
}

static const rlt_model_layer *layer_of_experts(const rlt_model *m)
{
    for (uint32_t i = 0; i < m->n_layers; i++)
        if (m->layers[i].experts)
            return &m->layers[i];
    fail_msg("no experts");
    return NULL;
}

/* Sums the bytes of the first rank's communications of a name. */
static uint64_t bytes_of(const rlt_program *p, const char *name)
{
    uint64_t sum = 0;
    for (uint32_t i = p->rank_first[0]; i < p->rank_first[1]; i++)
        if (p->ops[i].comm != RLT_NONE && strcmp(rlt_program_string(p, p->ops[i].name), name) == 0)
            sum += p->comms[p->ops[i].comm].bytes;
    return sum;
}

/* Two blocks, each dispatching forward and backward. Gradients of experts are summed over their copies. */
static void bytes(void **state)
{
    static const struct {
        const char *ep, *etp, *sp;
        uint64_t shares, gradients; /* ranks that divide the copies; that divide the experts' gradients */
    } rows[] = {
        {"4", NULL, "on", 2, 0},  /* etp = 2: each rank sends half of the tokens */
        {"4", NULL, "off", 1, 0}, /* and all of them without sequence parallelism */
        {"4", "1", "on", 2, 4},   /* 2 experts on each of 4 ranks, 2 copies of them */
        {"8", NULL, "on", 2, 0},
        {"8", NULL, "off", 2, 0}, /* parts of the tokens are brought together again */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"tp", "2", "dp", "4", "ep", rows[i].ep, "sp", rows[i].sp, NULL};
        fixture f;
        open_small(&f, settings);
        if (rows[i].etp)
            test_set(&f, "etp", rows[i].etp);
        rlt_program *p = test_program(&f, 8);
        uint64_t copies = (uint64_t)TOP_K * TOKENS * HIDDEN * 2 / rows[i].shares, passes = 2 * 2;
        assert_int_equal(bytes_of(p, "expert dispatch"), passes * copies);
        assert_int_equal(bytes_of(p, "expert combine"), passes * copies);
        uint64_t all = 2 * layer_of_experts(&f.model)->expert_parameters;
        assert_true(all > 0);
        assert_int_equal(bytes_of(p, "expert gradients"),
                         rows[i].gradients ? all * 2 / rows[i].gradients : 0);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* ZeRO 3 gathers the experts of a block before each of its passes, 2 bytes a parameter: a quarter of all from the two
 * ranks that have it. The copies of one rank alone are not gathered. */
static void weights(void **state)
{
    static const char *const settings[] = {"tp", "2", "dp", "4", "ep", "4", "etp", "1", "zero", "3", NULL};
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        fixture f;
        open_small(&f, settings);
        if (alone)
            test_set(&f, "etp", "2");
        rlt_program *p = test_program(&f, 8);
        uint64_t passes = 2, all = 2 * layer_of_experts(&f.model)->expert_parameters;
        assert_int_equal(bytes_of(p, "expert weights"), alone ? 0 : passes * all / 4 * 2);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* With etp = 1 a rank holds 1 / ep of the experts; ZeRO divides their optimizer state over the copies. */
static void memory(void **state)
{
    static const char *const settings[] = {"tp", "2", "dp", "4", "ep", "4", "etp", "1", "zero", "1", NULL};
    fixture f, g;
    (void)state;
    open_small(&f, settings);
    open_small(&g, settings);
    test_set(&g, "etp", "2");
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    assert_int_equal(rlt_training_plan(&g.t, 8, &f.err), 0);
    double experts = 2 * (double)layer_of_experts(&f.model)->expert_parameters;
    rlt_training_memory a = rlt_training_memory_of(&f.t, 0), b = rlt_training_memory_of(&g.t, 0);
    /* weights: 1/4 of all against 1/8; state: 2 copies against 1 */
    assert_true(fabs(a.parameters - b.parameters - 2 * experts / 8) < 1);
    assert_true(fabs(a.optimizer - b.optimizer) < 1);
    rlt_model_free(&f.model);
    rlt_model_free(&g.model);
}

/* One rank per stage takes as long as all ranks if groups share no link. */
static void folds(void **state)
{
    static const struct {
        uint32_t ranks;
        const char *network, *settings[19];
    } rows[] = {
        {4, "switch:4@1GB/s,1us", {"tp", "2", "ep", "4", "sp", "on", "overlap", "off"}},
        {8, "switch:4@1GB/s,1us*switch:2@1GB/s,3us", {"tp", "2", "pp", "2", "ep", "4", "overlap", "off"}},
        {8, "switch:4@1GB/s,1us*switch:2@1GB/s,3us", {"tp", "4", "pp", "2", "ep", "2", "etp", "1"}},
        {8,
         "switch:4@1GB/s,1us*switch:2@1GB/s,3us",
         {"tp", "2", "ep", "8", "node", "4", "sp", "on", "overlap", "off", "dispatcher", "proxy"}},
        {8,
         "switch:4@1GB/s,1us*switch:2@1GB/s,3us",
         {"tp", "1", "ep", "8", "expert_overlap", "on", "overlap", "off", "batch", "8", "routing", "zipf:1"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        uint32_t n;
        open_small(&f, rows[i].settings);
        rlt_program *p = test_program(&f, rows[i].ranks);
        rlt_time all = test_replay(p, rows[i].network), one = test_folded(&f.t, rows[i].network, &n);
        assert_int_equal(n, f.t.size[RLT_AXIS_PP]);
        if (llabs((long long)(all - one)) > all / 10000)
            fail_msg("row %zu: all ranks %lld ps, folded %lld ps", i, (long long)all, (long long)one);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* Sums the time of the first rank's delays of a name. */
static rlt_time delays_of(const rlt_program *p, const char *name)
{
    rlt_time sum = 0;
    for (uint32_t i = p->rank_first[0]; i < p->rank_first[1]; i++)
        if (p->ops[i].kind == RLT_OP_DELAY && strcmp(rlt_program_string(p, p->ops[i].name), name) == 0)
            sum += p->ops[i].duration_ps;
    return sum;
}

static void set_dispatcher(fixture *f, const rlt_dispatcher *d)
{
    f->accelerator.dispatchers[f->accelerator.n_dispatchers++] = *d;
    test_set(f, "dispatcher", d->name);
}

/* 8 ranks on two nodes, 8 experts, top 2. Of two nodes a token has experts on D = 2 (1 - 6 / 28) = 11 / 7, so
 * (11 / 7) / 2 copies leave the node. Of 8 ranks it has experts on 2. A rank with 8 tokens of a copy of 128 B
 * sends 8 * 128 * 11 / 7 B over the network and 8 * 128 * 2 B inside, for each of two blocks and passes. */
static void two_level(void **state)
{
    static const char *const settings[] = {"tp", "2", "dp", "4", "ep", "8", "sp", "on", "node", "4", NULL};
    static const rlt_dispatcher slow = {
        .name = "slow", .algorithm = "proxy", .host_ps = 5 * RLT_US, .message_ps = RLT_US, .hidden = 1};
    fixture f;
    (void)state;
    for (int narrow = 0; narrow < 3; narrow++) {
        static const char *const words[] = {"element", "fp8", "fp8-both"};
        open_small(&f, settings);
        set_dispatcher(&f, &slow);
        test_set(&f, "dispatch_precision", words[narrow]);
        rlt_program *p = test_program(&f, 8);
        double network = TOKENS / 2.0 * HIDDEN * 2 * 11 / 7, inside = TOKENS / 2.0 * HIDDEN * 2 * 2,
               each = floor(network + 0.5) + inside, small = (network + inside) * (1 + 4.0 / 128) / 2,
               first = narrow ? small : each, back = narrow == 2 ? small : each;
        /* in fp8, of the forward pass or of both, 1 + 4 / 128 bytes an element in place of 2 */
        assert_true(fabs((double)bytes_of(p, "expert combine") - 4 * each) < 1);
        assert_true(fabs((double)bytes_of(p, "expert dispatch") - 2 * back - 2 * first) < 4);
        double messages = TOKENS / 2.0 * 11 / 14 * sqrt(2.0 / 4);
        assert_true(fabs((double)delays_of(p, "expert combine") / RLT_US - 4 * (5 + messages)) < 1e-3);
        for (uint32_t i = 0; i < p->n_ops; i++) /* each keeps a stream busy */
            assert_true(p->ops[i].kind != RLT_OP_DELAY || p->ops[i].resource != RLT_NONE);
        rlt_program_free(p);
        rlt_model_free(&f.model);
    }
}

/* The same if a router picks one of both nodes: 1 copy over the network, and of its 4 ranks a token has experts
 * on 4 (1 - 3 / 4 * 2 / 3) = 2. */
static void one_node(void **state)
{
    static const char *const settings[] = {"tp",          "2",  "dp",         "4",         "ep",
                                           "8",           "sp", "on",         "node",      "4",
                                           "token_nodes", "1",  "dispatcher", "two-level", NULL};
    fixture f;
    (void)state;
    open_small(&f, settings);
    rlt_program *p = test_program(&f, 8);
    assert_int_equal(bytes_of(p, "expert combine"), 4 * (TOKENS / 2 * HIDDEN * 2) * (1 + 2));
    rlt_program_free(p);
    rlt_model_free(&f.model);
}

/* Hot experts make their rank's products and its exchanges longer by the busiest share. */
static void hot(void **state)
{
    static const char *const settings[] = {"tp", "2", "dp", "4", "ep", "8", "sp", "on", NULL};
    fixture f;
    (void)state;
    open_small(&f, settings);
    test_set(&f, "routing", "zipf:1");
    rlt_program *p = test_program(&f, 8);
    double sum = 0;
    for (int e = 1; e <= EXPERTS; e++)
        sum += 1.0 / e;
    assert_true(fabs(f.t.load.experts - EXPERTS / sum) < 1e-9);
    double copies = TOP_K * TOKENS / 2.0 * HIDDEN * 2 * f.t.load.exchange;
    assert_true(fabs((double)bytes_of(p, "expert dispatch") - 4 * copies) < 4);
    rlt_program_free(p);
    test_set(&f, "capacity", "1.5");
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    assert_true(fabs(f.t.load.experts - 1.5) < 1e-9 && f.t.load.dropped > 0);
    test_set(&f, "routing", "balanced"); /* planned again, nothing of the old plan stays */
    assert_int_equal(rlt_training_plan(&f.t, 8, &f.err), 0);
    assert_true(f.t.load.experts == 1 && f.t.load.exchange == 1 && f.t.load.dropped == 0);
    rlt_model_free(&f.model);
}

static void unknown(void **state)
{
    static const char *const settings[] = {"dp", "4", "ep", "4", "dispatcher", "copyengine", NULL};
    fixture f;
    (void)state;
    open_small(&f, settings);
    assert_int_equal(rlt_training_plan(&f.t, 4, &f.err), RLT_EUSAGE);
    assert_string_equal(f.err.what, "no dispatcher 'copyengine'; did you mean 'copy-engine'?");
    rlt_model_free(&f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members),
                                       cmocka_unit_test(members_over_contexts),
                                       cmocka_unit_test(weights),
                                       cmocka_unit_test(pairs),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(bytes),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(folds),
                                       cmocka_unit_test(two_level),
                                       cmocka_unit_test(one_node),
                                       cmocka_unit_test(hot),
                                       cmocka_unit_test(unknown),
                                       cmocka_unit_test(refused_of_exchanges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
