/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options of a run: where each one goes, with random values; and what is refused, as a whole text of place and reason.
 * Two ranks compute 1 us each, and one sends 1 kB to the other.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/links.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/run_words.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/models/model.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

static const char pair[] =
    "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 1000b to 1 tag 5\nl2 requires l1\n}\n"
    "rank 1 {\nl1: recv 1000b from 0 tag 5\nl2: calc 1000\nl2 requires l1\n}\n";

#define NET  "topology=switch:4@1GB/s,500ns "
#define HERE NET "trace=TRACE "

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void speeds_at_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        static const char *const routings[] = {"dmodk", "ecmp", "spray"}, *const networks[] = {"flow",
                                                                                               "alpha-beta"};
        dice d = {.seed = seed};
        double speed[7];
        uint32_t slow = below(&d, 2), late = below(&d, 2), until = 1 + below(&d, 9), routing = below(&d, 3),
                 network = below(&d, 2);
        bool skew = below(&d, 2), series = below(&d, 2), other = below(&d, 2), slowdown = below(&d, 2);
        char words[500];
        asked a;
        rlt_error err;
        for (int i = 0; i < 7; i++)
            speed[i] = 0.5 * (1 + below(&d, 9));
        int used = snprintf(words, sizeof words,
                            HERE "network=%s routing=%s host-scale=%g compute-scale=%g network-scale=%g "
                                 "rank-scale=%u:host=%g rank-scale=%u:compute=%g rank-delay=%u=%uus",
                            networks[network], routings[routing], speed[0], speed[1], speed[2], slow,
                            speed[3], 1 - slow, speed[4], late, until);
        if (slowdown)
            used += snprintf(words + used, sizeof words - (size_t)used, " overlap-slowdown=%g", speed[5] + 1);
        if (series)
            used += snprintf(words + used, sizeof words - (size_t)used, " until=%us", until);
        if (other)
            snprintf(words + used, sizeof words - (size_t)used, " no-skew noise=lognormal:cv=0.1 seed=%u",
                     until);
        err = (rlt_error){0};
        if (read_words(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        a.run.args = &a.args;
        a.run.settings = &a.settings;
        a.run.unbounded = skew;
        a.run.series_ps = 7;
        if (rlt_run_load(&a.run, &err) || rlt_run_prepare(&a.run, &err) || rlt_run_simulate(&a.run, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        const rlt_replay_options *o = &a.run.options;
        assert_true(same(o->host_scale, speed[0]) && same(o->compute_scale, speed[1]));
        assert_true(same(o->network_scale, speed[2]));
        assert_true(same(o->rank_host_scale[slow], speed[3]) && same(o->rank_host_scale[1 - slow], 1));
        assert_true(same(o->rank_compute_scale[1 - slow], speed[4]) && same(o->rank_compute_scale[slow], 1));
        assert_true(same(o->overlap_slowdown, slowdown ? speed[5] + 1 : 1) && !o->rank_overlap_slowdown);
        assert_int_equal(o->rank_delay_ps[late], until * RLT_US);
        assert_int_equal(o->rank_delay_ps[1 - late], 0);
        assert_int_equal(o->until_ps, series ? until * RLT_S : rlt_replay_options_default().until_ps);
        assert_true(o->no_skew == other && o->no_bounds == skew && o->series_bin_ps == 7);
        assert_int_equal(o->n_noise, other);
        assert_int_equal(o->seed, other ? until : 1);
        assert_int_equal(o->routing, a.run.setup.routing);
        assert_string_equal(rlt_routing_name(o->routing), routings[routing]);
        assert_ptr_equal(o->topology, a.run.setup.topology);
        assert_ptr_equal(o->placement, &a.run.setup.placement);
        assert_ptr_equal(o->model, a.run.setup.model);
        assert_string_equal(o->model->name, networks[network]);
        assert_ptr_equal(o->packet, &a.run.setup.packet);
        assert_ptr_equal(o->aggregator, &a.run.setup.aggregator);
        assert_memory_equal(&o->endpoint, &a.run.setup.endpoint, sizeof o->endpoint);
        assert_memory_equal(&o->params, &a.run.setup.params, sizeof o->params);
        done(&a);
    }
}

/* Progress counts operations up to all of them, and the watch knows the simulation while it runs. */
typedef struct seen {
    uint64_t done, total;
    uint32_t begun, ended;
} seen;

static void progress(void *ctx, uint64_t done_ops, uint64_t total)
{
    seen *s = ctx;
    assert_true(done_ops >= s->done && done_ops <= total);
    s->done = done_ops;
    s->total = total;
}

static void running(void *ctx, rlt_sim *sim)
{
    seen *s = ctx;
    s->begun += sim != NULL;
    s->ended += sim == NULL;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void watched(void **state)
{
    asked a;
    rlt_error err = {0};
    seen s = {0};
    rlt_watch watch = {.ctx = &s, .progress = progress, .running = running, .stopped = never};
    (void)state;
    assert_int_equal(
        read_words(
            &a,
            "topology=switch:8@100GB/s,500ns model=transformer:layers=2,hidden=256,heads=2 network=packet "
            "layout=dp=4 train=batch=4,steps=3",
            &err),
        0);
    a.run.args = &a.args;
    a.run.settings = &a.settings;
    a.run.watch = &watch;
    assert_int_equal(rlt_run_load(&a.run, &err), 0);
    assert_int_equal(rlt_run_prepare(&a.run, &err), 0);
    assert_int_equal(rlt_run_simulate(&a.run, &err), 0);
    if (s.begun != 1 || s.ended != 1 || !s.done || s.total != a.run.program->n_ops)
        fail_msg("%u begun, %u ended, %llu of %llu", s.begun, s.ended, (unsigned long long)s.done,
                 (unsigned long long)s.total);
    assert_false(a.run.partial);
    assert_false(rlt_run_was_limited(&a.run, RLT_ECANCELLED));
    a.settings.until_ps = 1;
    assert_true(rlt_run_was_limited(&a.run, RLT_ECANCELLED));
    assert_false(rlt_run_was_limited(&a.run, 0));
    watch.stopped = always;
    assert_false(rlt_run_was_limited(&a.run, RLT_ECANCELLED));
    done(&a);
}

/* A second run borrows what the first one has loaded, and takes as long; closing it leaves the first one whole. */
static void stems(void **state)
{
    static const char *const words[] = {
        HERE, "topology=switch:4@1GB/s,500ns model=transformer:layers=4,hidden=64,heads=2 layout=tp=2,dp=2 "
              "train=batch=8"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        asked a, b;
        rlt_error err = {0};
        if (go(&a, words[i], &err) || read_words(&b, words[i], &err))
            fail_msg("%s: %s: %s", words[i], err.where, err.what);
        b.run.args = &b.args;
        b.run.settings = &b.settings;
        b.run.stem = &a.run;
        assert_int_equal(rlt_run_load(&b.run, &err), 0);
        assert_int_equal(rlt_run_prepare(&b.run, &err), 0);
        assert_int_equal(rlt_run_simulate(&b.run, &err), 0);
        assert_int_equal(rlt_run_check(&b.run, NULL, &err), 0);
        assert_ptr_equal(b.run.program, a.run.program);
        assert_int_equal(b.run.trains, i);
        assert_int_equal(b.run.training.size[RLT_AXIS_TP], i ? 2 : 0);
        assert_true(same(b.run.options.overlap_slowdown, a.run.options.overlap_slowdown));
        assert_int_equal(rlt_replay_time(b.run.replay), rlt_replay_time(a.run.replay));
        done(&b);
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), 0);
        done(&a);
    }
}

/* Settings of the training may stand behind the model; those of --layout and --train come later. */
static void settings_behind_the_model(void **state)
{
    static const struct {
        const char *words;
        uint64_t batch;
        uint32_t layers, microbatch;
    } rows[] = {{"model=transformer:layers=4,hidden=64,heads=2,batch=12,microbatch=3", 12, 4, 3},
                {"model=transformer:batch=12,layers=2,microbatch=3,hidden=64,heads=2", 12, 2, 3},
                {"model=transformer:layers=4,batch=12,hidden=64,heads=2 train=batch=24", 24, 4, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[300];
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, NET "layout=dp=4 %s", rows[i].words);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        const rlt_training *t = &a.run.training;
        assert_true(t->batch == rows[i].batch && t->microbatch == rows[i].microbatch);
        uint32_t blocks = 0;
        for (uint32_t k = 0; k < t->model->n_layers; k++)
            blocks += t->model->layers[k].work == RLT_WORK_ATTENTION;
        assert_int_equal(blocks, rows[i].layers);
        done(&a);
    }
}

/* Files that a run was made from: an operand is a trace, as --trace is. */
static void inputs_by_name(void **state)
{
    char *operands[] = {trace};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char words[200];
        asked a;
        rlt_error err = {0};
        uint32_t n = 0, traces = 0, jobs = 0;
        snprintf(words, sizeof words, k ? "topology=switch:6@1GB/s,500ns %s%s" : HERE, k == 2 ? "job=" : "",
                 k == 2 ? "TRACE@3,5" : "");
        if (read_words(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        a.args.operands = k == 1 ? operands : NULL;
        a.args.n_operands = k == 1;
        a.run.args = &a.args;
        a.run.settings = &a.settings;
        if (rlt_run_load(&a.run, &err) || rlt_run_prepare(&a.run, &err) || rlt_run_simulate(&a.run, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        for (; n < a.run.setup.inputs.n; n++) {
            if (strcmp(a.run.setup.inputs.items[n].what, "topology") == 0)
                continue;
            assert_string_equal(a.run.setup.inputs.items[n].path, trace);
            traces += strcmp(a.run.setup.inputs.items[n].what, "trace") == 0;
            jobs += strcmp(a.run.setup.inputs.items[n].what, "job") == 0;
        }
        assert_true(traces == (k < 2) && jobs == (k == 2));
        assert_int_equal(rlt_replay_time(a.run.replay), 4 * RLT_US);
        a.args.operands = NULL;
        a.args.n_operands = 0;
        done(&a);
    }
}

/* Timing modes of ASTRA-sim by name, with their file among the inputs. */
static void timing_modes(void **state)
{
    static const char *const modes[] = {"astra", "astra-aware"};
    static const char system[] =
        "{\"scheduling-policy\": \"LIFO\", \"endpoint-delay\": 10, \"active-chunks-per-dimension\": 1,"
        "\"preferred-dataset-splits\": 4, \"all-reduce-implementation\": [\"ring\"],"
        "\"all-gather-implementation\": [\"ring\"], \"reduce-scatter-implementation\": [\"ring\"],"
        "\"all-to-all-implementation\": [\"ring\"], \"local-mem-bw\": 50}";
    char path[] = "/tmp/ringlet-system-XXXXXX";
    (void)state;
    test_write_new(path, system, sizeof system - 1);
    for (int i = 0; i < 2; i++) {
        char words[300];
        asked a;
        rlt_error err;
        uint32_t n = 0;
        snprintf(words, sizeof words,
                 "topology=ring:4@1GB/s,500ns model=transformer:layers=4,hidden=64,heads=2 "
                 "layout=dp=4 train=batch=8 timing=%s astra-system=%s",
                 modes[i], path);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_ptr_equal(a.run.options.timing, a.run.timing);
        assert_string_equal(a.run.timing->name, modes[i]);
        rlt_link_class *links = (rlt_link_class *)&a;
        uint32_t n_links = 7;
        assert_int_equal(rlt_run_links(&a.run, true, &links, &n_links, &err), 0);
        assert_true(!links && !n_links);
        for (const rlt_run_column *c = rlt_comm_columns; c->shape.meaning; c++) /* without bounds */
            if (c->shape.title && strcmp(c->shape.title, "bound") == 0)
                assert_true(c->value(&a.run, 0).absent);
        for (uint32_t k = 0; k < a.run.setup.inputs.n; k++)
            n += strcmp(a.run.setup.inputs.items[k].what, "astra-system") == 0;
        assert_int_equal(n, 1);
        done(&a);
    }
    assert_int_equal(unlink(path), 0);
}

/* With other jobs the slowdown of work beside communication is that of each rank, unless it is given for all. */
static void slowdown_with_jobs(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        asked a;
        rlt_error err;
        if (go(&a,
               given ? "topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3,5 overlap-slowdown=1.5"
                     : "topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3,5",
               &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(a.run.options.rank_overlap_slowdown == NULL, given);
        assert_true(same(a.run.options.overlap_slowdown, given ? 1.5 : 1));
        done(&a);
    }
}

/* Rules are read anew with each network. Wrong ones leave none. */
static void rules_again(void **state)
{
    static const char *const texts[] = {"all_reduce=tree:1MiB:ring:2MiB:tree", "all_reduce=ring:1MiB", NULL};
    asked a;
    rlt_error err;
    (void)state;
    assert_int_equal(go(&a, HERE "algorithm=all_reduce=ring:1MiB:tree", &err), 0);
    assert_int_equal(a.run.options.n_rules, 2);
    a.settings.algorithm = texts[0];
    assert_int_equal(rlt_run_network(&a.run, &err), 0);
    assert_int_equal(a.run.options.n_rules, 3);
    assert_ptr_equal(a.run.options.rules, a.run.rules);
    a.settings.algorithm = texts[1];
    assert_int_equal(rlt_run_network(&a.run, &err), RLT_EUSAGE);
    assert_null(a.run.rules);
    a.settings.algorithm = texts[2];
    assert_int_equal(rlt_run_network(&a.run, &err), 0);
    assert_int_equal(a.run.options.n_rules, 0);
    done(&a);
}

/* A version of NCCL chooses over nodes of equal size, for reductions, broadcasts and all-gathers: the library of each
 * rule is tried, wherever it stands. */
static void libraries_of_rules(void **state)
{
    static const char *const kinds[] = {"all_reduce", "all_gather", "all_to_all", "broadcast"};
    static const char *const nets[] = {NET, "topology=hgx-h100-8*rail:2@400Gbps,500ns "};
    (void)state;
    for (uint32_t code = 0; code < 2 << 4; code++) {
        char words[500];
        asked a;
        rlt_error err = {0};
        bool bad = false;
        int used = snprintf(words, sizeof words,
                            "%smodel=transformer:layers=2,hidden=64,heads=2 any-memory "
                            "layout=dp=%d train=batch=16 algorithm=",
                            nets[code & 1], code & 1 ? 16 : 4);
        for (uint32_t k = 0; k < 4; k++) {
            const bool library = code >> (k + 1) & 1;
            used += snprintf(words + used, sizeof words - (size_t)used, "%s%s=%s", k ? "," : "", kinds[k],
                             library ? "auto=nccl-2.23" : "auto");
            bad = bad || (library && (!(code & 1) || k == 2));
        }
        int rc = read_words(&a, words, &err);
        a.run.args = &a.args;
        a.run.settings = &a.settings;
        if (rc || (rc = rlt_run_load(&a.run, &err)))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        rc = rlt_run_network(&a.run, &err);
        if (rc != (bad ? RLT_EUNSUPPORTED : 0))
            fail_msg("%s: %d: %s: %s", words, rc, err.where, err.what);
        done(&a);
    }
}

/* The same of a library for all kinds, which is asked for all-reduces. */
static void a_library_of_all(void **state)
{
    static const char *const words[] = {HERE "algorithm=auto=nccl-2.23", HERE "algorithm=auto"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        asked a;
        rlt_error err;
        const int rc = go(&a, words[i], &err);
        assert_int_equal(rc, i ? 0 : RLT_EUNSUPPORTED);
        assert_string_equal(err.where, i ? "" : "auto");
        done(&a);
    }
}

/* Settings of the protocol that a rule names, by its name or without. */
static void settings_of_protocols(void **state)
{
    static const char *const sets[] = {"set=switchml.window=7", "set=window=7"};
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char words[200];
        asked a;
        rlt_error err;
        snprintf(
            words, sizeof words,
            "topology=switch:4@1GB/s,500ns,in_network=reduce trace=TRACE algorithm=all_reduce=switchml %s",
            sets[i]);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        done(&a);
    }
}

static void refused(void **state)
{
#define MODEL NET "model=transformer:layers=4,hidden=64,heads=2 "
#define NEEDS                                                                                                \
    "--layout, --train, --strategy, --map, --any-memory and --fold-stages need --model, --fold that or --trace"
    static const struct {
        const char *words, *text; /* "where: what" */
    } rows[] = {
        {NET, "expected --trace, --model or --job"},
        {HERE "rank-scale=2:compute=2", "--rank-scale: expected a rank from 0 to 1, got 2"},
        {HERE "rank-scale=1:memory=2",
         "--rank-scale: expected RANK:host=X or RANK:compute=X, got '1:memory=2'"},
        {HERE "rank-scale=1=2", "--rank-scale: expected RANK:host=X or RANK:compute=X, got '1=2'"},
        {HERE "rank-scale=1:host=0", "--rank-scale: expected a speed above 0 for rank 1 (of 2)"},
        {HERE "rank-delay=2=1us", "--rank-delay: expected a rank from 0 to 1, got 2"},
        {HERE "rank-delay=1", "--rank-delay: expected NAME=VALUE, got '1'"},
        {HERE "host-scale=0",
         "expected speeds above 0 for --host-scale, --compute-scale and --network-scale"},
        {HERE "compute-scale=0",
         "expected speeds above 0 for --host-scale, --compute-scale and --network-scale"},
        {HERE "network-scale=0",
         "expected speeds above 0 for --host-scale, --compute-scale and --network-scale"},
        {HERE "until=0s", "--until: expected a time above 0"},
        {HERE "timing=astra", "--timing astra: needs --astra-system"},
        {HERE "timing=astra-aware", "--timing astra: needs --astra-system"},
        {HERE "astra-system=x.json", "--astra-system: needs --timing astra"},
        {HERE "link-event=acc0=0", "--link-event: expected TIME:LINK=X, such as 5ms:acc3=0.5, got 'acc0=0'"},
        {HERE "link-event=5us:acc0",
         "--link-event: expected TIME:LINK=X, such as 5ms:acc3=0.5, got '5us:acc0'"},
        {HERE "link-event=a=b:c", "--link-event: expected TIME:LINK=X, such as 5ms:acc3=0.5, got 'a=b:c'"},
        {HERE "link-event=5us:acc0=1000001", "--link-event: acc0: expected a factor of at most 1e6"},
        {HERE "iterations=5", "--iterations: needs --failures"},
        {HERE "failures=mtbf=10h", "--failures: needs --iterations"},
        {HERE "accelerator=h100-sxm", "--accelerator: needs --model"},
        {HERE "accelerator=h100-sxm layout=dp=2", "--accelerator: needs --model"},
        {HERE "layout=dp=3", NEEDS},
        {HERE "train=batch=3", NEEDS},
        {HERE "strategy=zero1", NEEDS},
        {HERE "map=dp:0", NEEDS},
        {HERE "any-memory", NEEDS},
        {HERE "fold-stages", NEEDS},
        {NET "fold", NEEDS},
        {HERE "verify-fold", "--verify-fold: needs --fold or --fold-stages"},
        {HERE "model=resnet50", "--trace: does not go with --model: give one of them"},
        {NET "model=resnet50 ideal", "--ideal: needs --trace: a generated workload has no stragglers"},
        {MODEL "map=dp=0 placement=x", "--map: places ranks: it does not go with --placement"},
        {MODEL "map=dp=0 layout=tp=2,order=dp-tp-cp-pp",
         "--map: orders the axes of the layout: it does not go with order="},
        {MODEL "map=dp=0 train=order=dp-tp-cp-pp",
         "--map: orders the axes of the layout: it does not go with order="},
        {MODEL "train=batch=x", "--train: batch: expected a whole number, got 'x'"},
        {MODEL "map=dp=1", "--map: dp: switch:4@1GB/s,500ns has dimensions 0 to 0, not 1"},
        {MODEL "map=dp=0 layout=tp=2", "--map: tp: has no dimension: expected one for each axis above 1"},
        {MODEL "map=tp=0 layout=tp=8", "--map: tp 8 does not fit dimension 0 of size 4"},
        {MODEL "map=tp=0,pp=0 layout=tp=2,pp=4",
         "--map: pp 4 does not fit the rest of dimension 0 (size 4): 2 are left"},
        {"topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3-4 fold",
         "--fold: is for a single workload: it does not go with --job"},
        {"topology=switch:6@1GB/s,500ns job=TRACE@3-4 model=resnet50 fold-stages",
         "--fold: is for a single workload: it does not go with --job"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        char all[1600];
        int rc = go(&a, rows[i].words, &err);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc != RLT_EUSAGE || strcmp(all, rows[i].text) != 0)
            fail_msg("%s: %d: %s\nnot %s", rows[i].words, rc, all, rows[i].text);
        done(&a);
    }
}

static int write_pair(void **state)
{
    (void)state;
    test_write_new(trace, pair, sizeof pair - 1);
    return 0;
}

static int remove_pair(void **state)
{
    (void)state;
    return unlink(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_at_random),
        cmocka_unit_test(watched),
        cmocka_unit_test(stems),
        cmocka_unit_test(settings_behind_the_model),
        cmocka_unit_test(inputs_by_name),
        cmocka_unit_test(timing_modes),
        cmocka_unit_test(slowdown_with_jobs),
        cmocka_unit_test(rules_again),
        cmocka_unit_test(libraries_of_rules),
        cmocka_unit_test(a_library_of_all),
        cmocka_unit_test(settings_of_protocols),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, write_pair, remove_pair);
}
