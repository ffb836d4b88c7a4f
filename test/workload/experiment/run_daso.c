/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trainings by DASO as a user asks for them: which words are meant, what a batch takes, and what is refused. */
#include "workload/experiment/run/daso.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "test/support/run_words.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

#define HERE "topology=switch:4@300GB/s,300ns*switch:2@25GB/s,2us model=resnet50 "

/* Opens a case of HERE, "strategy=daso:..." and other words; done_case frees both. */
static int load(asked *a, rlt_daso_case *c, const char *words, rlt_error *err)
{
    *err = (rlt_error){0};
    int rc = read_words(a, words, err);
    assert_int_equal(rc, 0);
    *c = (rlt_daso_case){.args = &a->args, .settings = &a->settings};
    return rlt_daso_case_load(c, err);
}

static void done_case(asked *a, rlt_daso_case *c)
{
    rlt_daso_case_close(c);
    rlt_parsed_free(&a->args);
}

static double batch_s(const rlt_daso_case *c)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < c->model.n_layers; i++) {
        assert_true(c->forward_ps[i] >= 0 && c->backward_ps[i] >= 0);
        sum += c->forward_ps[i] + c->backward_ps[i];
    }
    return (double)sum / 1e12;
}

static void names(void **state)
{
    static const struct {
        const char *strategy;
        bool is;
    } rows[] = {{"daso", true}, {"daso:", true},     {"daso:nodes=2", true}, {"dasos", false},
                {"das", false}, {"megatron", false}, {NULL, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_run_settings s = {.strategy = rows[i].strategy};
        assert_int_equal(rlt_run_is_daso(&s), rows[i].is);
    }
}

/* Nodes are as many as there is room for; the commas of a loss separate nothing. */
static void settings(void **state)
{
    static const struct {
        const char *strategy;
        uint32_t nodes, gpus, batch;
        double loss[3];
    } rows[] = {{"daso:gpus=4", 2, 4, 256, {0}},
                {"daso:gpus=2", 4, 2, 256, {0}},
                {"daso:gpus=3", 2, 3, 256, {0}},
                {"daso:gpus=4,nodes=1,batch=32", 1, 4, 32, {0}},
                {"daso:loss=7,0.5,1,gpus=2,batch=8", 4, 2, 8, {7, 0.5, 1}},
                {"daso:batch=8,gpus=4,loss=6,0.25,2", 2, 4, 8, {6, 0.25, 2}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_daso_case c;
        rlt_error err;
        char words[300];
        snprintf(words, sizeof words, HERE "strategy=%s", rows[i].strategy);
        if (load(&a, &c, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_int_equal(c.daso.nodes, rows[i].nodes);
        assert_int_equal(c.daso.gpus, rows[i].gpus);
        assert_int_equal(c.daso.batch, rows[i].batch);
        if (rows[i].loss[0] > 0) {
            assert_true(fabs(c.daso.loss.start - rows[i].loss[0]) < 1e-12);
            assert_true(fabs(c.daso.loss.ratio - rows[i].loss[1]) < 1e-12);
            assert_true(fabs(c.daso.loss.floor - rows[i].loss[2]) < 1e-12);
        }
        done_case(&a, &c);
    }
}

/* A measured batch is divided among the layers: a third of it forward. Else the accelerator computes it: a faster one
 * takes less, and more samples take longer. */
static void times(void **state)
{
    static const char *const words[] = {
        HERE "strategy=daso:gpus=4,batch_time=30ms",
        HERE "strategy=daso:gpus=4,batch=64 accelerator=a100-40gb",
        HERE "strategy=daso:gpus=4,batch=128 accelerator=a100-40gb",
        HERE "strategy=daso:gpus=4,batch=128 accelerator=h100-sxm",
        HERE "strategy=daso:gpus=4,batch=128 accelerator=a100-40gb train=precision=fp32",
        HERE "strategy=daso:gpus=4,batch=128 accelerator=a100-40gb train=precision=tf32"};
    double s[6];
    (void)state;
    for (int i = 0; i < 6; i++) {
        asked a;
        rlt_daso_case c;
        rlt_error err;
        if (load(&a, &c, words[i], &err))
            fail_msg("%s: %s: %s", words[i], err.where, err.what);
        s[i] = batch_s(&c);
        done_case(&a, &c);
    }
    assert_true(fabs(s[0] - 0.03) < 1e-9);
    assert_true(s[2] > 1.5 * s[1] && s[2] < 2.1 * s[1]);
    assert_true(s[3] < s[2]);
    assert_true(fabs(s[5] - s[2]) < 1e-15);
    assert_true(s[4] > 1.5 * s[2]); /* fp32 instead of tf32 */
}

static rlt_daso_result simulated(const char *words)
{
    asked a;
    rlt_daso_case c;
    rlt_error err;
    if (load(&a, &c, words, &err) || rlt_daso_case_simulate(&c, &err))
        fail_msg("%s: %s: %s", words, err.where, err.what);
    rlt_daso_result r = *c.result;
    done_case(&a, &c);
    return r;
}

/* A host or accelerator that is twice as fast takes half of the host's or the accelerator's times. */
static void scales(void **state)
{
#define FEW HERE "strategy=daso:gpus=4,samples=4096,batch=256,epochs=30,negotiation=0,cycle=0s,"
    static const char *const same[][2] = {
        {FEW "launch=40us,overhead=3ms,tensor=20us,batch_time=30ms host-scale=2",
         FEW "launch=20us,overhead=1500us,tensor=10us,batch_time=30ms"},
        {FEW "batch_time=60ms,memory=1000GB/s compute-scale=2", FEW "batch_time=30ms,memory=2000GB/s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        rlt_daso_result x = simulated(same[i][0]), y = simulated(same[i][1]);
        assert_int_equal(x.batches, 2);
        assert_true(x.daso_ps > 0 && x.horovod_ps > 0);
        assert_true(fabs((double)(x.daso_ps - y.daso_ps)) <
                    1e-6 * (double)y.daso_ps); /* layers are rounded */
        assert_true(fabs((double)(x.horovod_ps - y.horovod_ps)) < 1e-6 * (double)y.horovod_ps);
    }
}

/* Each collective takes the time that it takes alone. */
static void collectives_alone(void **state)
{
    static const char words[] = "topology=ring:8@2GB/s,1us model=resnet50 strategy=daso:gpus=4,samples=4096,"
                                "batch=256,epochs=30,batch_time=30ms";
    (void)state;
    asked a;
    rlt_daso_case c;
    rlt_error err;
    rlt_daso_result r = simulated(words), own;
    assert_int_equal(load(&a, &c, words, &err), 0);
    const rlt_daso_work w = {.model = &c.model, .forward_ps = c.forward_ps, .backward_ps = c.backward_ps};
    for (int alone = 0; alone < 2; alone++) {
        rlt_replay_options o = rlt_replay_options_default();
        rlt_timing *timing = NULL;
        o.topology = c.setup.topology;
        o.placement = &c.setup.placement;
        o.model = c.setup.model;
        o.endpoint = c.setup.endpoint;
        if (alone)
            assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        o.timing = timing;
        if (rlt_daso_run(&c.daso, &w, &o, &own, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(own.daso_ps == r.daso_ps && own.horovod_ps == r.horovod_ps, alone);
        rlt_timing_free(timing);
    }
    done_case(&a, &c);
}

static void refused(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *where, *what;
    } rows[] = {{"topology=switch:4@1GB/s,1us strategy=daso", RLT_EUSAGE, "--strategy daso", "needs --model"},
                {HERE "strategy=daso:nodes=3,gpus=4", RLT_EUSAGE, "--strategy daso",
                 "3 nodes of 4 GPUs do not fit 8 accelerators"},
                {HERE "strategy=daso:nodes=2,nodes=1", RLT_EUSAGE, "--strategy daso", "nodes"},
                {HERE "strategy=daso:nods=2", RLT_EUSAGE, "--strategy daso", "did you mean 'nodes'"},
                {HERE "strategy=daso:batch_time=0s", RLT_EUSAGE, "--strategy daso", "batch_time"},
                {HERE "strategy=daso:batch_time=many", RLT_EUSAGE, "--strategy daso", "many"},
                {HERE "strategy=daso:nodes", RLT_EUSAGE, "--strategy", "nodes"},
                {HERE "strategy=daso:loss=/nowhere/loss.txt", RLT_EIO, "--strategy daso", ""},
                {HERE "strategy=daso:loss=/dev/null", RLT_EUSAGE, "--strategy daso", "loss"},
                {HERE "strategy=daso:gpus=0", RLT_EUSAGE, "--strategy daso", "gpus"},
                {HERE "strategy=daso:gpus=4 accelerator=a100-41gb", RLT_ENAME, "", "a100"},
                {HERE "strategy=daso:gpus=4 train=batch=0", RLT_EUSAGE, "--train", "batch"},
                {"topology=switch:4@1GB/s,1us model=resnet51 strategy=daso:gpus=4", RLT_EUSAGE, "--model",
                 "did you mean 'resnet50'"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_daso_case c;
        rlt_error err;
        char all[1600];
        int rc = load(&a, &c, rows[i].words, &err);
        snprintf(all, sizeof all, "%s: %s", err.where, err.what);
        if (rc != rows[i].code || strncmp(all, rows[i].where, strlen(rows[i].where)) != 0 ||
            !strstr(all, rows[i].what))
            fail_msg("%s: %d: %s", rows[i].words, rc, all);
        assert_int_equal(err.code, rc);
        rlt_daso_case silent = {.args = &a.args, .settings = &a.settings};
        assert_int_equal(rlt_daso_case_load(&silent, NULL), rc);
        rlt_daso_case_close(&silent);
        done_case(&a, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),  cmocka_unit_test(settings),          cmocka_unit_test(times),
        cmocka_unit_test(scales), cmocka_unit_test(collectives_alone), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
