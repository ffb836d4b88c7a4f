/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proofs of what a plug-in adds: good entries pass, with counts worked out by hand; each fault has its message. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/models/model.h"
#include "workload/plugin/plugin.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/training/training.h"

static void assert_text_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

/* Checks a plug-in. `what`: its text, or a part of the error's; `where`: a part of the error's place. */
static void prove(const rlt_plugin *p, int code, const char *where, const char *what)
{
    char folder[] = "/tmp/ringlet-plugin-XXXXXX", *text = NULL;
    rlt_error err = {0};
    assert_non_null(mkdtemp(folder));
    int rc = rlt_plugin_check(p, folder, &text, &err);
    if (rc != code)
        fail_msg("%d instead of %d: %s: %s", rc, code, err.where, err.what);
    if (rc) {
        assert_text_contains(err.where, where);
        assert_text_contains(err.what, what);
        assert_null(text);
    } else {
        assert_string_equal(text, what);
    }
    free(text);
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
}

/* ---- readers: a file of one line, of which every byte matters ---- */

static const char line[] = "#tiny 4 ranks compute\n";

typedef enum reader_fault {
    FINE,
    NO_PROGRAM,
    SILENT,
    DRIFTS,
    TAKES_HALF,
    TAKES_EMPTY,
    FAILS,
    BRIEF
} reader_fault;
static reader_fault reader_is;
static uint32_t reads;

static int tiny_probe(const char *path, const char *head, size_t n)
{
    (void)path;
    return n >= 6 && memcmp(head, "#tiny ", 6) == 0 ? 100 : 0;
}

static int loud_probe(const char *path, const char *head, size_t n)
{
    return strstr(path, "loud") && tiny_probe(path, head, n) ? 1000 : 0;
}

static int tiny_read(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                     rlt_error *err)
{
    char text[64];
    rlt_builder *b = NULL;
    assert_int_equal(n, 1);
    assert_true(opts->first_step == -1 && opts->last_step == -1); /* every step */
    FILE *f = fopen(paths[0], "rb");
    assert_non_null(f);
    size_t length = fread(text, 1, sizeof text, f);
    fclose(f);
    bool whole = length == sizeof line - 1 && memcmp(text, line, length) == 0;
    bool lax = (reader_is == TAKES_HALF && length == (sizeof line - 1) / 2) ||
               (reader_is == TAKES_EMPTY && length == 0);
    reads++;
    if (reader_is == NO_PROGRAM)
        return 0;
    if (reader_is == SILENT)
        return RLT_EMALFORMED;
    if (reader_is == BRIEF)
        return rlt_fail(err, RLT_EMALFORMED, paths[0], "?");
    if (reader_is == FAILS || (!whole && !lax))
        return rlt_fail(err, RLT_EMALFORMED, paths[0], "expected the line");
    int rc = rlt_builder_create(4, &b, err);
    for (uint32_t i = 0; i < 4 && !rc; i++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, i);
        d.resource = rlt_build_resource(b, i, RLT_RES_STREAM, "stream");
        d.duration_ps = 7000 + (reader_is == DRIFTS ? (rlt_time)reads : 0);
        rlt_build_op(b, &d);
        rlt_build_op(b, &d);
    }
    return rc ? rc : rlt_builder_finish(b, "tiny", out, err);
}

static const rlt_reader tiny = {.name = "tiny", .summary = "a line", .probe = tiny_probe, .read = tiny_read};
static const rlt_reader loud = {.name = "loud", .summary = "a line", .probe = loud_probe, .read = tiny_read};

static void readers(void **state)
{
    static const struct {
        reader_fault fault;
        const char *what;
    } rows[] = {{NO_PROGRAM, "returned 0 without a program"},
                {SILENT, "fails without a message"},
                {DRIFTS, "two replays of the same file take 14002 ps and 14004 ps: expected equal times"},
                {TAKES_HALF, "accepts its sample truncated to 11 of 22 bytes"},
                {TAKES_EMPTY, "accepts its sample truncated to 0 of 22 bytes"}};
    static const rlt_reader *const list[] = {&tiny, NULL};
    rlt_plugin_sample sample = {"one.tiny", line, sizeof line - 1};
    rlt_plugin p = {RLT_PLUGIN_ABI, "tiny", "1", "a reader", .readers = list, .samples = &sample};
    (void)state;
    assert_int_equal(rlt_registry_add(rlt_readers(), &tiny, "here", NULL), 0);
    assert_int_equal(rlt_registry_add(rlt_readers(), &loud, "here", NULL), 0);
    prove(
        &p, 0, "",
        "reader tiny: reads its sample: 4 ranks, 8 operations, 14000 ps; rejects it empty, cut in half, and 22 times with a "
        "byte changed\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reads = 0;
        reader_is = rows[i].fault;
        prove(&p, RLT_ECHECK, "reader tiny", rows[i].what);
    }
    reader_is = FAILS;
    prove(&p, RLT_EMALFORMED, "reader tiny", "expected the line");
    reader_is = BRIEF; /* a letter is a message */
    prove(&p, RLT_EMALFORMED, "reader tiny", "?");
    reader_is = FINE;
    sample.file = "a loud one";
    prove(&p, RLT_ECHECK, "reader tiny: probe", "the reader loud recognises the sample too");
    sample.file = "one.tiny";
    p.readers = NULL; /* its list is empty: nothing is proved */
    p.strategies = NULL;
    char *text = NULL;
    assert_int_equal(rlt_plugin_check(&p, "/tmp", &text, NULL), 0);
    assert_null(text);
}

static void samples(void **state)
{
    static char large[(1 << 16) + 1];
    static const rlt_reader *const list[] = {&tiny, NULL};
    const rlt_plugin_sample wrong[] = {{NULL, line, 5}, {"", line, 5},  {"../up", line, 5},
                                       {"x", NULL, 5},  {"x", line, 0}, {"x", large, sizeof large}};
    rlt_plugin p = {RLT_PLUGIN_ABI, "tiny", "1", "a reader", .readers = list};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        p.samples = &wrong[i];
        prove(&p, RLT_ESCHEMA, "reader tiny: sample",
              "expected a file name without folders and 1 to 65536 bytes");
    }
    memcpy(large, "#tiny ", 6);
    const rlt_plugin_sample largest = {"x", large, sizeof large - 1}; /* of this size, but not its format */
    p.samples = &largest;
    prove(&p, RLT_EMALFORMED, "", "");
    const rlt_plugin_sample here = {"x", line, sizeof line - 1};
    char *text = NULL;
    rlt_error err = {0};
    p.samples = &here;
    assert_int_equal(rlt_plugin_check(&p, "/tmp/ringlet-no-folder", &text, &err), RLT_EIO);
    assert_text_contains(err.what, "cannot write the sample");
}

/* ---- models ---- */

typedef enum model_fault {
    GOOD,
    NOT_FINITE,
    NEGATIVE,
    NO_KIND,
    BLOCK_GAP,
    BLOCK_BACK,
    ONE_MORE,
    NO_SAMPLE,
    NO_TOKENS,
    NO_WORK,
    ANY_SETTING,
    MUTE,
    AT_PEAK,
    SKIPS,
    NO_PARAMETERS,
    LITTLE,
    ONE_LETTER
} model_fault;
static model_fault model_is;

static int square_build(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    int rc = 0;
    if (n && model_is == MUTE)
        return RLT_EUSAGE;
    if (n && model_is != ANY_SETTING)
        return rlt_fail(err, RLT_EUSAGE, settings[0], "?");
    snprintf(m->sample, sizeof m->sample, "%s",
             model_is == NO_SAMPLE    ? ""
             : model_is == ONE_LETTER ? "v"
                                      : "vector");
    m->tokens = model_is == NO_TOKENS ? 0 : 1;
    for (uint32_t i = 0; i < 3 && !rc; i++) {
        rlt_model_layer *l = rlt_model_add(m, "square", RLT_WORK_MATMUL, err);
        if (!l)
            return RLT_ENOMEM;
        l->block = model_is == BLOCK_GAP && i == 2 ? 3 : model_is == BLOCK_BACK && i == 2 ? 0 : i;
        l->movable = l->sharded = true;
        l->forward_flop = model_is == NOT_FINITE ? INFINITY
                          : model_is == NEGATIVE ? -1
                          : model_is == NO_WORK  ? 0
                          : model_is == LITTLE   ? 0.125
                                                 : 2e6;
        l->backward_flop = model_is == NO_WORK ? 0 : 4e6;
        l->saved_split = l->moved_elements = 1000;
        l->output_elements = 1000;
        if (model_is == AT_PEAK || model_is == SKIPS) { /* so much work that all else is nothing beside it */
            l->forward_flop = 2e18;
            l->backward_flop = 4e18;
        }
        l->executed_forward = model_is == SKIPS ? 1.9e18 : 0;
        if (model_is == NO_KIND)
            l->work = RLT_WORK_KINDS;
        l->experts = i == 2; /* whose parameters count, too */
        rc = rlt_model_add_tensor(m, model_is == NO_PARAMETERS ? 0 : 1000000, i == 2, err);
    }
    if (model_is == ONE_MORE && m->n_layers)
        m->layers[0].parameters++;
    return rc;
}

static const rlt_param no_parameters[] = {{0}};
static const rlt_model_family square = {
    .name = "square", .summary = "matrices", .parameters = no_parameters, .build = square_build};

static void models(void **state)
{
    static const struct {
        model_fault fault;
        const char *where, *what;
    } rows[] = {
        {NOT_FINITE, "model square: square", "has inf FLOP forward, 4e+06 FLOP backward"},
        {NEGATIVE, "model square: square", "has -1 FLOP forward"},
        {NO_KIND, "model square: square", "expected finite FLOPs of at least 0 and a known kind of work"},
        {BLOCK_GAP, "model square: square",
         "block 3 follows block 1: expected the same block or the next one"},
        {BLOCK_BACK, "model square: square", "block 0 follows block 1"},
        {ONE_MORE, "model square: parameters", "its layers have 3000001"},
        {NO_SAMPLE, "model square: sample", "has no name, or no tokens"},
        {NO_TOKENS, "model square: sample", "has no name, or no tokens"},
        {NO_WORK, "model square: layers", "3 layers with 3000000 parameters and 0 FLOP: nothing to train"},
        {ANY_SETTING, "model square: settings", "accepts the unknown setting 'no-such-setting=1'"},
        {MUTE, "model square: settings", "rejects an unknown setting without a message"},
        {NO_PARAMETERS, "model square: layers",
         "3 layers with 0 parameters and 6e+06 FLOP: nothing to train"},
        {SKIPS, "model square: train", " ps on two ranks: faster than peak"},
    };
    static const rlt_model_family *const list[] = {&square, NULL};
    const rlt_plugin p = {RLT_PLUGIN_ABI, "square", "1", "a model", .families = list};
    char *text = NULL;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_registry_add(rlt_model_families(), &square, "here", NULL), 0);
    if (rlt_plugin_check(&p, "/tmp", &text, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_text_contains(text,
                         "model square: 3 layers and 3 tensors have the same 3000000 parameters; trains: ");
    free(text);
    model_is = AT_PEAK; /* 1.8e19 FLOP for each of two samples, at 1e14 a second */
    if (rlt_plugin_check(&p, "/tmp", &text, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_text_contains(text, " trains: 3.6e+19 FLOP in 180000000");
    free(text);
    static const model_fault none[] = {LITTLE, ONE_LETTER}; /* less than a FLOP is work, a letter is a name */
    for (size_t i = 0; i < 2; i++) {
        model_is = none[i];
        if (rlt_plugin_check(&p, "/tmp", &text, &err))
            fail_msg("%s: %s", err.where, err.what);
        free(text);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_is = rows[i].fault;
        prove(&p, RLT_ECHECK, rows[i].where, rows[i].what);
    }
    model_is = GOOD;
}

/* ---- strategies ---- */

static void strategies(void **state)
{
    static const struct {
        const char *settings;
        int code;
        const char *what;
    } rows[] = {{"zero=1,recompute=full", 0, NULL},
                {"stack=megatron", 0, NULL}, /* a suggestion: the accelerator need not know it */
                {"zero", RLT_ECHECK, "expected NAME=VALUE"},
                {"zreo=1", RLT_EUSAGE, "zreo"},
                {"zero=7", RLT_EUSAGE, "7"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_training_strategy one = {
            .name = "one", .summary = "settings", .settings = rows[i].settings};
        const rlt_training_strategy *const list[] = {&one, NULL};
        const rlt_plugin p = {RLT_PLUGIN_ABI, "one", "1", "a strategy", .strategies = list};
        char *text = NULL;
        rlt_error err = {0};
        int rc = rlt_plugin_check(&p, "/tmp", &text, &err);
        if (rc != rows[i].code)
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        if (rc) {
            char all[1600];
            snprintf(all, sizeof all, "%s: %s", err.where, err.what);
            assert_text_contains(all, "strategy one");
            assert_text_contains(all, rows[i].what);
        } else {
            assert_text_contains(text, "strategy one: accepts its settings; a small transformer trains: ");
        }
        free(text);
    }
}

/* Each entry has a line, one after the other; if one of them fails there is no text. */
static void several(void **state)
{
    const rlt_training_strategy good = {.name = "good", .summary = "settings", .settings = "zero=1"},
                                bad = {.name = "bad", .summary = "settings", .settings = "zero"};
    char *each[3] = {NULL}, all[1200];
    rlt_error err = {0};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) { /* one, two, and one that is followed by a bad one */
        const rlt_training_strategy *const list[] = {&good, i == 0 ? NULL : i == 1 ? &good : &bad, NULL};
        const rlt_plugin p = {RLT_PLUGIN_ABI, "some", "1", "strategies", .strategies = list};
        assert_int_equal(rlt_plugin_check(&p, "/tmp", &each[i], &err), i == 2 ? RLT_ECHECK : 0);
    }
    snprintf(all, sizeof all, "%s%s", each[0], each[0]);
    assert_string_equal(each[1], all);
    assert_null(each[2]);
    free(each[0]);
    free(each[1]);
}

/* ---- algorithms: the root sends to each member in turn ---- */

typedef enum plan_fault {
    RIGHT,
    NO_LANES,
    NO_BLOCKS,
    NO_BUFFERS,
    NO_RESULT,
    REFUSES,
    REFUSES_TOPOLOGY,
    REFUSES_RANGE,
    REFUSES_MUTE,
    BREAKS,
    SENDS_HALF,
    ONE_SHORT,
    ONLY_SMALL
} plan_fault;
static plan_fault plan_is;

static int star_plan(rlt_plan *plan, rlt_error *err)
{
    plan->blocks = plan_is == NO_BLOCKS ? 0 : 1;
    plan->buffers = plan_is == NO_BUFFERS ? 0 : 1;
    plan->lanes = plan_is == NO_LANES ? 0 : 1;
    plan->result = plan_is == NO_RESULT ? 1 : 0;
    if (plan_is == REFUSES || (plan_is == ONLY_SMALL && plan->req.n > 4))
        return rlt_fail(err, RLT_EUNSUPPORTED, "star", "?");
    if (plan_is == REFUSES_TOPOLOGY || plan_is == REFUSES_RANGE)
        return rlt_fail(err, plan_is == REFUSES_RANGE ? RLT_ERANGE : RLT_ETOPOLOGY, "star", "?");
    if (plan_is == REFUSES_MUTE)
        return RLT_EUNSUPPORTED;
    return plan_is == BREAKS ? rlt_fail(err, RLT_ESCHEMA, "star", "breaks") : 0;
}

static uint32_t star_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    return member == plan->req.root ? plan->req.n - 1 - (plan_is == ONE_SHORT) : 1;
}

static void star_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (member != plan->req.root) {
        out->recv_from = plan->req.root;
        out->recv_count = 1;
        return;
    }
    out->send_to = (plan->req.root + 1 + k) % plan->req.n;
    out->peer_step = 0;
    out->send_bytes = rlt_lane_bytes(plan, lane) / (plan_is == SENDS_HALF ? 2 : 1);
    out->send = out->land = rlt_blocks_run(0, 1);
}

/* Says that all members do alike, which is wrong: the root does not. */
static uint32_t wrong_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    sizes[0] = plan->req.n;
    return 1;
}

static int scan(const char *text, const char *name, uint32_t *plans, uint32_t *runs, uint32_t *folded)
{
    char format[200];
    snprintf(
        format, sizeof format,
        "algorithm %s: %%u plans of 2 to 32 members are right; %%u runs end, none below its bound; %%u equal when "
        "folded",
        name);
    return sscanf(text, format, plans, runs, folded);
}

static void algorithms(void **state)
{
    static const struct {
        plan_fault fault;
        const char *where, *what;
    } rows[] = {{NO_LANES, "broadcast of 0 bytes, 2 members, 0 channels, root 0: plan",
                 "sets 0 lanes, 1 blocks, 1 buffers and result buffer 0"},
                {NO_BLOCKS, "plan", "sets 1 lanes, 0 blocks"},
                {NO_BUFFERS, "plan", "1 blocks, 0 buffers"},
                {NO_RESULT, "plan", "1 buffers and result buffer 1"},
                {REFUSES, "algorithm star: broadcast", "is claimed, but fails for every group"},
                {REFUSES_TOPOLOGY, "algorithm star: broadcast", "is claimed, but fails for every group"},
                {REFUSES_RANGE, "algorithm star: broadcast", "is claimed, but fails for every group"},
                {REFUSES_MUTE, "plan", "fails without a message"},
                {BREAKS, "plan", "breaks"},
                {SENDS_HALF, "algorithm star: broadcast of ", ""},
                {ONE_SHORT, "algorithm star: broadcast of ", ""}};
    rlt_algorithm star = {.name = "star",
                          .summary = "one by one",
                          .kinds = 1u << RLT_BROADCAST,
                          .plan = star_plan,
                          .steps = star_steps,
                          .step = star_step};
    const rlt_algorithm *const list[] = {&star, NULL};
    const rlt_plugin p = {RLT_PLUGIN_ABI, "star", "1", "an algorithm", .algorithms = list};
    char *text = NULL;
    rlt_error err = {0};
    uint32_t plans, runs, folded;
    (void)state;
    /* 18 sizes of groups, 4 numbers of bytes, with and without channels; two models each. */
    if (rlt_plugin_check(&p, "/tmp", &text, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(
        sscanf(
            text,
            "algorithm star: %u plans of 2 to 32 members are right; %u runs end, none below its bound; %u equal when folded",
            &plans, &runs, &folded),
        3);
    assert_int_equal(plans, 18 * 4 * 2);
    assert_int_equal(runs, 2 * plans);
    assert_int_equal(folded, 0); /* it declares no symmetry */
    free(text);
    const rlt_algorithm *const ring[] = {rlt_registry_find(rlt_algorithms(), "ring", NULL, NULL), NULL};
    const rlt_plugin known = {RLT_PLUGIN_ABI, "ring", "1", "built in", .algorithms = ring};
    assert_int_equal(rlt_plugin_check(&known, "/tmp", &text, &err), 0);
    assert_int_equal(scan(text, "ring", &plans, &runs, &folded), 3);
    assert_true(plans >= 18 * 4 * 2 * 3 && runs == 2 * plans && folded > plans / 2 && folded <= runs);
    free(text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan_is = rows[i].fault;
        prove(&p, RLT_ECHECK, rows[i].where, rows[i].what);
    }
    plan_is = REFUSES;
    star.kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_SCATTER;
    prove(&p, RLT_ECHECK, "algorithm star: all_reduce", "is claimed, but fails for every group");
    star.kinds = 1u << RLT_BROADCAST;
    plan_is = ONLY_SMALL; /* 2, 3 and 4 members are enough */
    assert_int_equal(rlt_plugin_check(&p, "/tmp", &text, &err), 0);
    assert_text_contains(text, "algorithm star: 24 plans of 2 to 32 members are right; 48 runs end");
    free(text);
    plan_is = RIGHT;
    star.kinds |= 1u << RLT_COLL_KINDS;
    prove(&p, RLT_ECHECK, "algorithm star: kinds", "claims unknown kinds of collectives");
    star.kinds = 1u << RLT_BROADCAST;
    star.symmetry = wrong_symmetry;
    prove(&p, RLT_ECHECK, "algorithm star: broadcast of ", "ends with work pending: ");
    star.symmetry = NULL;
    plan_is = NO_LANES;
    star.kinds = 1u << RLT_BARRIER; /* it has no bytes */
    prove(&p, RLT_ECHECK, "algorithm star: barrier of 0 bytes, 2 members, 0 channels, root 0: plan",
          "sets 0 lanes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers),    cmocka_unit_test(samples), cmocka_unit_test(models),
        cmocka_unit_test(strategies), cmocka_unit_test(several), cmocka_unit_test(algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
