/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of a model: figures that follow from one another, memory that is checked or not, what a job is taken for.
 * A pass over s samples of t tokens that takes T seconds on n accelerators with peak P: s t / T tokens a second,
 * FLOP / (T n P) of the peak.
 */
#include "workload/experiment/run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/run_words.h"
#include "test/support/say.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/job_file.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

#define SMALL "model=transformer:layers=2,hidden=256,heads=4,sequence=128,vocabulary=1000 "
#define ON    "topology=switch:4@10GB/s,1us accelerator=h100-sxm "

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-13 * fabs(b);
}

static void figures(void **state)
{
    static const struct {
        const char *words;
        uint32_t batch, steps, ranks;
    } rows[] = {{ON SMALL "layout=dp=2 train=batch=4", 4, 1, 2},
                {ON SMALL "layout=dp=2 train=batch=4,steps=3", 4, 3, 2},
                {ON SMALL "layout=dp=4 train=batch=16,steps=2", 16, 2, 4},
                {ON SMALL "layout=dp=2,tp=2 train=batch=6,steps=2", 6, 2, 4}};
    (void)state;
    double flop_of_sample = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        if (go(&a, rows[i].words, &err))
            fail_msg("%s: %s: %s", rows[i].words, err.where, err.what);
        rlt_training_figures f = rlt_run_training_figures(&a.run);
        double pass_s = (double)rlt_replay_time(a.run.replay) / 1e12 / rows[i].steps;
        uint64_t peak = 0;
        assert_int_equal(rlt_accelerator_peak(&a.run.accelerator, a.run.training.precision, &peak, NULL), 0);
        assert_true(near(f.tokens_per_s, rows[i].batch * 128 / pass_s));
        double flop = f.utilization * pass_s * rows[i].ranks * (double)peak;
        flop_of_sample = flop_of_sample > 0 ? flop_of_sample : flop / rows[i].batch;
        assert_true(near(flop, flop_of_sample * rows[i].batch));
        assert_true(f.utilization > 0 && f.utilization < 1);
        assert_true(near(f.iteration_low_s, pass_s * f.grounds.spread.low));
        assert_true(near(f.iteration_high_s, pass_s * f.grounds.spread.high));
        assert_true(f.iteration_low_s < pass_s && pass_s < f.iteration_high_s);
        done(&a);
    }
    /* 2 layers of 12 h^2 + 2 s h for each token, 4 of 1000 x 256 for its word; a multiplication and an addition
     * forward, twice backward. */
    double weights = 2 * (12.0 * 256 * 256 + 2 * 128 * 256) + 1000.0 * 256;
    assert_true(flop_of_sample > 0.9 * 6 * 128 * weights && flop_of_sample < 1.1 * 6 * 128 * weights);
}

/* 70e9 parameters with 16 bytes each are more than 80 GB on each of four. */
static void memory(void **state)
{
    static const char model[] = ON "model=llama3-70b:layers=40 layout=dp=4 network=alpha-beta ";
    (void)state;
    for (int any = 0; any < 2; any++) {
        char words[200];
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, "%s%s", model, any ? "any-memory" : "no-skew");
        int rc = go(&a, words, &err);
        if ((rc == 0) != any || strcmp(err.where, any ? "" : "memory") != 0)
            fail_msg("%s: %d: %s: %s", words, rc, err.where, err.what);
        done(&a);
        /* A layout that does not fit the ranks is refused in both cases, and first. */
        snprintf(words, sizeof words, "%s%s", ON "model=llama3-70b layout=dp=3,tp=2 ",
                 any ? "any-memory" : "no-skew");
        assert_true(go(&a, words, &err) < 0 && err.what[0]);
        assert_string_not_equal(err.where, "memory");
        done(&a);
    }
}

/* A job that begins with "transformer" is a model if its name ends there. */
static void models_as_jobs(void **state)
{
    static const struct {
        const char *job;
        bool works;
        const char *what;
    } rows[] = {{"transformer:layers=1,hidden=64,heads=2,sequence=16@2-3", true, ""},
                {"transformer@2-3", true, ""},
                {"transformers:layers=1@2-3", false, "transformers"},
                {"transformer-8@2-3", false, "transformer-8"},
                {"llama3-8b@2-3", false, "is a model: to run it on an accelerator"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[300];
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, "topology=switch:4@10GB/s,1us network=alpha-beta job=%s", rows[i].job);
        int rc = go(&a, words, &err);
        if ((rc == 0) != rows[i].works ||
            (!strstr(err.what, rows[i].what) && !strstr(err.where, rows[i].what)))
            fail_msg("%s: %d: %s: %s", rows[i].job, rc, err.where, err.what);
        done(&a);
    }
}

/* A file of options has the name of a JSON file, and no reader of traces knows it. */
static void job_files(void **state)
{
    static const struct {
        const char *name, *text;
        bool is;
    } rows[] = {
        {"a.json", "{\"model\": \"resnet50\"}", true},
        {".json", "{\"model\": \"resnet50\"}", true},
        {"json", "{\"model\": \"resnet50\"}", false},
        {"b.txt", "{\"model\": \"resnet50\"}", false},
        {"c.jsonl", "{\"model\": \"resnet50\"}", false},
        {"d.json",
         "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 1, \"tid\": 1, "
         "\"ts\": 1, \"dur\": 1}]}",
         false}};
    char folder[] = "/tmp/ringlet-jobs-XXXXXX", before[4096];
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        FILE *f = fopen(rows[i].name, "w");
        assert_non_null(f);
        fputs(rows[i].text, f);
        fclose(f);
        if (rlt_is_job_file(rows[i].name) != rows[i].is)
            fail_msg("%s", rows[i].name);
        unlink(rows[i].name);
        assert_false(rlt_is_job_file(rows[i].name));
    }
    assert_int_equal(mkdir("e.json", 0700), 0);
    assert_false(rlt_is_job_file("e.json"));
    rmdir("e.json");
    assert_int_equal(chdir(before), 0);
    rmdir(folder);
}

/* Settings of a training may stand behind the model, behind the strategy, in --layout or in --train: wherever they are,
 * the training is the same. */
static void places_of_settings(void **state)
{
    static const char *const all[] = {"batch=24", "microbatch=3", "tp=2",
                                      "pp=2",     "dp=2",         "recompute=full",
                                      "zero=0",   "overlap=off",  "schedule=gpipe"};
    enum { SETTINGS = sizeof all / sizeof *all };
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        dice d = {.seed = seed};
        char texts[4][300] = {"transformer:layers=4,hidden=64,heads=4", "zero1", "", ""}, together[300] = "";
        size_t used[4] = {strlen(texts[0]), strlen(texts[1]), 0, 0}, whole = 0;
        rlt_training t[2];
        rlt_model m[2];
        rlt_accelerator a[2];
        rlt_error err = {0};
        for (uint32_t i = 0; i < SETTINGS; i++) {
            uint32_t to = below(&d, 5);
            if (to == 4)
                continue;
            test_say(texts[to], sizeof texts[to], &used[to], "%s%s",
                     to == 1 && !strchr(texts[1], ':') ? ":"
                     : used[to]                        ? ","
                                                       : "",
                     all[i]);
            test_say(together, sizeof together, &whole, "%s%s", whole ? "," : "", all[i]);
        }
        const rlt_run_settings apart = {.model = texts[0],
                                        .strategy = texts[1],
                                        .layout = used[2] ? texts[2] : NULL,
                                        .train = used[3] ? texts[3] : NULL},
                               one = {.model = "transformer:layers=4,hidden=64,heads=4",
                                      .strategy = "zero1",
                                      .train = whole ? together : NULL};
        memset(t, 0, sizeof t);
        if (rlt_training_read(&apart, &m[0], &a[0], &t[0], &err) ||
            rlt_training_read(&one, &m[1], &a[1], &t[1], &err))
            fail_msg("%s: %s: %s", together, err.where, err.what);
        assert_true(t[0].model == &m[0] && t[0].accelerator == &a[0]);
        assert_string_equal(a[0].name, "h100-sxm");
        assert_string_equal(m[0].name, m[1].name);
        assert_int_equal(m[0].n_layers, m[1].n_layers);
        t[0].model = t[1].model;
        t[0].accelerator = t[1].accelerator;
        assert_memory_equal(&t[0], &t[1], sizeof t[0]);
        rlt_model_free(&m[0]);
        rlt_model_free(&m[1]);
    }
}

static void wrong_settings(void **state)
{
    static const struct {
        rlt_run_settings s;
        const char *where, *what;
    } rows[] = {
        {{.model = "resnet50", .train = "batch=2,batch=3"}, "--train: batch", "is given twice"},
        {{.model = "resnet50", .layout = "dp=2,dp=3"}, "--layout: dp", "is given twice"},
        {{.model = "resnet50", .train = "batch"}, "--train", "batch"},
        {{.model = "resnet50", .train = "batch=many"}, "--train: batch", "many"},
        {{.model = "resnet50", .strategy = "zero1:batch=many"}, "--strategy: batch", "many"},
        {{.model = "resnet50", .strategy = "zero9"}, "--strategy", "unknown strategy 'zero9'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int silent = 0; silent < 2; silent++) {
            rlt_model m = {0};
            rlt_accelerator a;
            rlt_training t;
            rlt_error err = {0};
            int rc = rlt_training_read(&rows[i].s, &m, &a, &t, silent ? NULL : &err);
            if (rc != RLT_EUSAGE || (!silent && (err.code != rc || strcmp(err.where, rows[i].where) != 0 ||
                                                 !strstr(err.what, rows[i].what))))
                fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
            rlt_model_free(&m);
        }
}

/* A name without a value is not a setting of the training: the model refuses it. */
static void names_without_values(void **state)
{
    const rlt_run_settings s = {.model = "transformer:layers=4,batch"};
    rlt_model m = {0};
    rlt_accelerator a;
    rlt_training t;
    rlt_error err = {0};
    (void)state;
    assert_true(rlt_training_read(&s, &m, &a, &t, &err) < 0);
    assert_string_equal(err.where, "--model: transformer:layers=4,batch: batch");
    assert_string_equal(err.what, "expected NAME=VALUE, got 'batch'");
    rlt_model_free(&m);
}

/* What files of options may say: by themselves, as a job, and as a whole run with a topology. */
static void checked_files(void **state)
{
#define MODEL "\"model\": \"transformer:layers=2,hidden=64,heads=2\""
    static const struct {
        const char *text;
        int check, job, whole;
        const char *what; /* of the job; FILE is its path */
    } rows[] = {
        {"{" MODEL "}", 0, 0, RLT_ESCHEMA, ""},
        {"{" MODEL ", \"accelerator\": \"h100-sxn\"}", RLT_ENAME, RLT_ENAME, RLT_ESCHEMA,
         "FILE: h100-sxn: no such file, and no accelerator of that name; did you mean 'h100-sxm'?"},
        {"{" MODEL ",\n \"train\": \"batchh=2\"}", RLT_ESCHEMA, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:11: train: batchh: unknown setting of a training; did you mean 'batch'?"},
        {"{" MODEL ",\n \"fold\": true}", 0, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:10: fold: a folded training cannot be a job: run it alone"},
        {"{" MODEL ",\n \"fold-stages\": true}", 0, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:17: fold-stages: a folded training cannot be a job: run it alone"},
        {"{\"model\": \"resnet50\",\n \"strategy\": \"daso\"}", 0, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:14: strategy: daso cannot be a job: run it alone"},
        {"{" MODEL ",\n \"map\": \"dp=0\"}", 0, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:9: map: does not go with a job: list the accelerators of the job after the @"},
        {"{\"trace\": [\"x\"],\n \"accelerator\": \"h100-sxm\"}", RLT_ESCHEMA, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:17: accelerator: needs --model"},
        {"{}", RLT_ESCHEMA, RLT_ESCHEMA, RLT_ESCHEMA, "FILE: expected --trace, --model or --job"},
        {"{", RLT_EMALFORMED, RLT_EMALFORMED, RLT_EMALFORMED, "FILE:1:2: expected a key in double quotes"},
        {"{\"modell\": \"resnet50\"}", RLT_ESCHEMA, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:1:12: modell: no option of a job; did you mean 'model'?"},
        {"{" MODEL ",\n \"topology\": \"switch:4@1GB/s,1us\"}", RLT_ESCHEMA, RLT_ESCHEMA, 0,
         "FILE:2:14: topology: no option of a job"},
        {"{" MODEL ",\n \"topology\": \"swich:4@1GB/s,1us\"}", RLT_ESCHEMA, RLT_ESCHEMA, RLT_ESCHEMA,
         "FILE:2:14: topology: no option of a job"},
        {"{\"trace\": \"none.goal\"}", 0, RLT_EIO, RLT_ESCHEMA, "FILE: none.goal: no such file"},
    };
#undef MODEL
    char path[] = "/tmp/ringlet-jobs-XXXXXX.json";
    (void)state;
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0 && close(fd) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[200], want[300], all[1600];
        const char *rest = strncmp(rows[i].what, "FILE", 4) == 0 ? rows[i].what + 4 : rows[i].what;
        asked a;
        rlt_error err = {0};
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(rows[i].text, f) >= 0 && fclose(f) == 0);
        int rc = rlt_job_file_check(path, NULL, 0, &err);
        snprintf(want, sizeof want, "%s%s", *rest ? path : "", rest);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc != rows[i].check || (rc && strncmp(all, want, strlen(want)) != 0) || err.code != rc)
            fail_msg("%s: %d: '%s', not '%s'", rows[i].text, rc, all, want);
        assert_int_equal(rlt_job_file_check(path, NULL, 0, NULL), rc);
        err = (rlt_error){0};
        rc = rlt_job_file_check(path, test_run_groups, sizeof(rlt_run_settings), &err);
        if (rc != rows[i].whole || strncmp(err.where, path, rc ? strlen(path) : 0) != 0)
            fail_msg("%s: %d: %s: %s", rows[i].text, rc, err.where, err.what);
        if (rc && strstr(rows[i].text, "swich"))
            assert_non_null(strstr(err.where, ":2:14: topology: swich:4@1GB/s,1us"));
        snprintf(words, sizeof words, "topology=switch:4@10GB/s,1us job=%s@1,3", path);
        rc = go(&a, words, &err);
        snprintf(want, sizeof want, "%s%s%s", *rest ? "--job: " : "", *rest ? path : "", rest);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc != rows[i].job || strncmp(all, want, strlen(want)) != 0)
            fail_msg("%s: %d: '%s', not '%s'", rows[i].text, rc, all, want);
        done(&a);
    }
    assert_int_equal(unlink(path), 0);
}

/* The accelerator of a training by DASO is looked up, too. */
static void checked_accelerators(void **state)
{
    static const struct {
        const char *accelerator;
        int code;
    } rows[] = {{"h100-sxm", 0}, {"h100-sxn", RLT_ENAME}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-daso-XXXXXX", text[200];
        rlt_error err = {0};
        int n = snprintf(text, sizeof text,
                         "{\"model\": \"resnet50\", \"strategy\": \"daso\", \"accelerator\": \"%s\"}",
                         rows[i].accelerator);
        test_write_new(path, text, (size_t)n);
        assert_int_equal(rlt_job_file_check(path, NULL, 0, &err), rows[i].code);
        assert_int_equal(strstr(err.what, "did you mean 'h100-sxm'?") != NULL, rows[i].code != 0);
        assert_int_equal(unlink(path), 0);
    }
}

/* A job from a file, alone on the network, takes as long as a run of the same options with its ranks placed there. */
static void files_are_runs(void **state)
{
    static const struct {
        const char *file, *words, *at;
    } rows[] = {
        {"\"layout\": \"tp=2,dp=2\", \"train\": \"batch=8\"", "layout=tp=2,dp=2 train=batch=8", "1,3,4,6"},
        {"\"layout\": \"pp=2,dp=2\", \"train\": \"batch=8,order=auto\"",
         "layout=pp=2,dp=2 train=batch=8,order=auto", "0,7,1,6"},
        {"\"layout\": \"tp=2,dp=4\", \"train\": \"batch=16,order=dp-tp-cp-pp\"",
         "layout=tp=2,dp=4 train=batch=16,order=dp-tp-cp-pp", "0,4,1,5,2,6,3,7"},
        {"\"layout\": \"tp=2,dp=4\", \"train\": \"batch=16,order=tp-cp-dp-pp\"",
         "layout=tp=2,dp=4 train=batch=16,order=tp-cp-dp-pp", "0,4,1,5,2,6,3,7"},
        {"\"layout\": \"tp=2,dp=4\", \"train\": \"batch=16,order=auto\"",
         "layout=tp=2,dp=4 train=batch=16,order=auto", "0,4,1,5,2,6,3,7"},
        {"\"strategy\": \"zero1\", \"train\": \"batch=16\"", "strategy=zero1 train=batch=16", "0,4,1,5"},
        {"\"trace\": \"traces/transformer-8\"", "trace=traces/transformer-8", "7,6,5,4,3,2,1,0"},
        {"\"trace\": \"traces/transformer-8\", \"rescale\": \"@8=4\"",
         "trace=traces/transformer-8 rescale=@8=4", "2,6,4,0"},
        {"\"trace\": \"traces/transformer-8\", \"keep-waits\": true", "trace=traces/transformer-8 keep-waits",
         "7,6,5,4,3,2,1,0"},
    };
    char path[] = "/tmp/ringlet-jobs-XXXXXX.json", places[] = "/tmp/ringlet-places-XXXXXX";
    (void)state;
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0 && close(fd) == 0);
    fd = mkstemp(places);
    assert_true(fd >= 0 && close(fd) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[600];
        asked own, job;
        rlt_error err;
        bool trains = !strstr(rows[i].words, "trace=");
        FILE *f = fopen(path, "w"), *g = fopen(places, "w");
        assert_true(f && g);
        fprintf(f, "{%s%s}",
                trains
                    ? "\"model\": \"transformer:layers=2,hidden=256,heads=4,sequence=128,vocabulary=1000\","
                      "\"accelerator\": \"h20\", \"any-memory\": true, "
                    : "",
                rows[i].file);
        fprintf(g, "{\"ranks\": [%s]}", rows[i].at);
        assert_true(fclose(f) == 0 && fclose(g) == 0);
        snprintf(words, sizeof words, "topology=ring:4@10GB/s,1us*switch:2@2GB/s,3us placement=%s %s%s",
                 places, trains ? "accelerator=h20 any-memory " SMALL : "", rows[i].words);
        if (go(&own, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        snprintf(words, sizeof words, "topology=ring:4@10GB/s,1us*switch:2@2GB/s,3us job=%s@%s", path,
                 rows[i].at);
        if (go(&job, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        if (rlt_replay_time(job.run.replay) != rlt_replay_time(own.run.replay))
            fail_msg("%s: %lld, not %lld", rows[i].words, (long long)rlt_replay_time(job.run.replay),
                     (long long)rlt_replay_time(own.run.replay));
        double slowdown = trains ? own.run.accelerator.overlap_slowdown : 1;
        for (uint32_t r = 0; r < job.run.program->n_ranks; r++)
            assert_true(near(job.run.jobs.overlap_slowdown[r], slowdown));
        done(&own);
        done(&job);
    }
    assert_true(unlink(path) == 0 && unlink(places) == 0);
}

/* A run on a stem has the workload of the stem, and takes as long on the same network; on another one it takes the time
 * of a run of its own. */
static void stems(void **state)
{
    static const char *const networks[] = {ON, "topology=switch:4@2GB/s,5us accelerator=h100-sxm "};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char words[400];
        asked stem, own, a;
        rlt_error err;
        assert_int_equal(go(&stem, ON SMALL "layout=dp=2,tp=2 train=batch=6,steps=2", &err), 0);
        snprintf(words, sizeof words, "%s%s", networks[i], SMALL "layout=dp=2,tp=2 train=batch=6,steps=2");
        assert_int_equal(go(&own, words, &err), 0);
        assert_int_equal(read_words(&a, words, &err), 0);
        a.run = (rlt_run){.args = &a.args, .settings = &a.settings, .stem = &stem.run};
        if (rlt_run_load(&a.run, &err) || rlt_run_prepare(&a.run, &err) || rlt_run_simulate(&a.run, &err) ||
            rlt_run_check(&a.run, NULL, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_ptr_equal(a.run.program, stem.run.program);
        assert_true(a.run.trains && own.run.training.passes == &own.run.passes && own.run.passes.n > 0);
        assert_memory_equal(&a.run.trained, &stem.run.trained, sizeof a.run.trained);
        assert_memory_equal(&a.run.accelerator, &stem.run.accelerator, sizeof a.run.accelerator);
        assert_memory_equal(&a.run.training, &stem.run.training, sizeof a.run.training);
        assert_int_equal(rlt_replay_time(a.run.replay), rlt_replay_time(own.run.replay));
        assert_int_equal(rlt_replay_time(a.run.replay) == rlt_replay_time(stem.run.replay), i == 0);
        rlt_training_figures f = rlt_run_training_figures(&a.run), g = rlt_run_training_figures(&own.run);
        assert_true(near(f.tokens_per_s, g.tokens_per_s) && near(f.utilization, g.utilization) &&
                    near(f.memory_bytes, g.memory_bytes));
        done(&a);
        done(&own);
        done(&stem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(models_as_jobs),
                                       cmocka_unit_test(job_files),
                                       cmocka_unit_test(places_of_settings),
                                       cmocka_unit_test(wrong_settings),
                                       cmocka_unit_test(names_without_values),
                                       cmocka_unit_test(checked_files),
                                       cmocka_unit_test(checked_accelerators),
                                       cmocka_unit_test(files_are_runs),
                                       cmocka_unit_test(stems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
