/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experiments through the library: inputs loaded once, run on two threads, with the times of single runs. */
#include "workload/experiment/experiment.h"

#include <pthread.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/experiment/figures.h"

enum { N = 6 };

static rlt_experiment *all[N];
static int codes[N];

static void *every_second(void *first)
{
    for (rlt_experiment **e = first; e < all + N; e += 2) {
        rlt_error err = {0};
        codes[e - all] = rlt_experiment_run(*e, NULL, &err);
    }
    return NULL;
}

static void test_vary(void **state)
{
    static const char *const base[] = {"model=transformer:layers=2,hidden=256",
                                       "topology=ring:4@100GB/s,500ns", "no-skew"};
    static const char *const scales[N] = {"network-scale=1", "network-scale=2",  "network-scale=5",
                                          "network-scale=5", "network-scale=10", "network-scale=1"};
    rlt_experiments *shared;
    rlt_experiment *first;
    rlt_error err = {0};
    pthread_t other;
    double time_ps[N];
    (void)state;
    assert_int_equal(rlt_experiments_create(&shared, &err), 0);
    assert_int_equal(rlt_experiment_create(shared, base, 3, &first, &err), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(rlt_experiment_vary(first, &scales[i], 1, &all[i], &err), 0);
    assert_int_equal(pthread_create(&other, NULL, every_second, all + 1), 0);
    every_second(all);
    pthread_join(other, NULL);
    assert_int_equal(rlt_experiment_run(first, NULL, &err), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(codes[i], 0);
        assert_true(rlt_experiment_figure(all[i], "time_ps", &time_ps[i]));
        assert_int_equal(rlt_experiment_iterations(all[i]), 1);
        assert_int_equal(rlt_experiment_iteration_ps(all[i], 0), (rlt_time)time_ps[i]);
    }
    /* Equal settings are equal to the picosecond, on any thread; the default is a scale of 1. */
    assert_int_equal(rlt_experiment_iteration_ps(first, 0), rlt_experiment_iteration_ps(all[0], 0));
    assert_int_equal(rlt_experiment_iteration_ps(all[5], 0), rlt_experiment_iteration_ps(all[0], 0));
    assert_int_equal(rlt_experiment_iteration_ps(all[2], 0), rlt_experiment_iteration_ps(all[3], 0));
    assert_true(time_ps[1] < time_ps[0] && time_ps[2] < time_ps[1] && time_ps[4] < time_ps[2]);
    assert_false(rlt_experiment_figure(all[0], "speed", &time_ps[0]));
    for (int i = 0; i < N; i++)
        rlt_experiment_free(all[i]);
    rlt_experiment_free(first);
    rlt_experiments_free(shared);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *settings[2], *where, *what;
    } cases[] = {
        {{"topolgy=ring:4@1GB/s,0ns", "model=transformer"}, "topolgy", "did you mean 'topology'"},
        {{"topology", "model=transformer"}, "topology", "expected NAME=VALUE"},
        {{"model=transformer", "no-skew"}, "--topology", "is required"},
        {{"topology=ring:4@1GB/s,0ns", "no-skew"}, "", "expected --trace, --model or --job"},
        {{"topology=ring:4@1GB/s,0ns", "trace=/no/such/trace"}, "/no/such/trace", ""},
        {{"topology=no-such-place", "model=transformer"}, "no-such-place", "no such file"},
        {{"collective=all_reduce", "trace=traces/transformer-8"},
         "trace",
         "is a setting of a run: drop collective=NAME"},
        {{"topology=ring:4@1GB/s,0ns", "timing=loggops"},
         "",
         "--strategy daso and --timing loggops have results that an experiment cannot hold"},
        {{"topology=ring:4@1GB/s,0ns", "strategy=daso"},
         "",
         "--strategy daso and --timing loggops have results that an experiment cannot hold"},
        {{"bytes=1MB", "model=transformer"}, "bytes", "is a setting of a collective: add collective=NAME"},
        {{"collective=all_reduce", "qqqqqqqqqqqqqqqq=1"}, "qqqqqqqqqqqqqqqq", "no such setting"},
        {{"model=transformer", "qqqqqqqqqqqqqqqq"}, "qqqqqqqqqqqqqqqq", "no such setting"},
        {{"collective=all_reduce", "byte=1"}, "byte", "no such setting; did you mean 'bytes'?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_experiments *shared;
        rlt_experiment *e = NULL;
        rlt_error err = {0};
        assert_int_equal(rlt_experiments_create(&shared, &err), 0);
        assert_true(rlt_experiment_create(shared, cases[i].settings, 2, &e, &err) < 0);
        assert_null(e);
        assert_non_null(strstr(err.where, cases[i].where));
        assert_non_null(strstr(err.what, cases[i].what));
        rlt_experiments_free(shared);
    }
}

/* A collective, whichever setting says so, and a variation of it that outlives it without inputs of its own. */
static void collectives(void **state)
{
    static const char *const settings[] = {"collective=all_reduce", "topology=switch:4@50GB/s,500ns",
                                           "bytes=200kB", "algorithm=ring"};
    static const char *const last[] = {"topology=switch:4@50GB/s,500ns", "bytes=400kB", "algorithm=ring",
                                       "collective=all_reduce"};
    static const char *const half[] = {"bytes=200kB"};
    rlt_experiment *e[3];
    rlt_error err = {0};
    double value = 0;
    (void)state;
    assert_int_equal(rlt_experiment_create(NULL, settings, 4, &e[0], &err), 0);
    assert_int_equal(rlt_experiment_create(NULL, last, 4, &e[1], &err), 0);
    assert_int_equal(rlt_experiment_vary(e[1], half, 1, &e[2], &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_false(rlt_experiment_figure(e[i], "time_ps", &value)); /* not yet */
        assert_int_equal(rlt_experiment_iterations(e[i]), 0);
        assert_int_equal(rlt_experiment_run(e[i], NULL, &err), 0);
        assert_true(rlt_experiment_figure(e[i], "time_ps", &value));
        /* six steps of a quarter at 20 ps a byte, and 1 us each */
        assert_true(value == 6 * ((i == 1 ? 100000 : 50000) * 20 + 1000000.0));
        assert_int_equal(rlt_experiment_iterations(e[i]), 0);
        assert_false(rlt_experiment_figure(e[i], "busiest_link", &value)); /* a text */
        assert_false(rlt_experiment_figure(e[i], "model_flops_utilization", &value) ||
                     rlt_experiment_figure(e[i], "compute_ps", &value));
        assert_true(rlt_experiment_figure(e[i], "busbw_GBps", &value) && value > 0);
        err = (rlt_error){0};
        assert_int_equal(rlt_experiment_run(e[i], NULL, &err), RLT_EUSAGE);
        assert_string_equal(err.what, "an experiment runs once: make another with rlt_experiment_vary");
        rlt_experiment_free(e[i]);
    }
}

/* A column by its name; another name's error has the nearest one, or all. */
static void columns(void **state)
{
    rlt_error err = {0};
    (void)state;
    for (int i = 0; i < RLT_FIGURES; i++)
        assert_int_equal(rlt_figure_find(rlt_figure_infos[i].name, &err), i);
    assert_int_equal(rlt_figure_find("tme_ps", &err), RLT_FIGURES);
    assert_int_equal(err.code, RLT_ESCHEMA);
    assert_string_equal(err.what, "no column 'tme_ps'; did you mean 'time_ps'?");
    err = (rlt_error){0};
    assert_int_equal(rlt_figure_find("xyzzyxyzzy", &err), RLT_FIGURES);
    assert_int_equal(err.code, RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "no column 'xyzzyxyzzy'; there are "));
    assert_non_null(strstr(err.what, rlt_figure_infos[0].name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vary), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(collectives), cmocka_unit_test(columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
