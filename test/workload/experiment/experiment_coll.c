/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective through the library: the closed form of a ring, refused settings, and files that are read
 * once for experiments on two threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/experiment/experiment.h"

static rlt_experiments *open_shared(void)
{
    rlt_experiments *shared = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_experiments_create(&shared, &err), 0);
    return shared;
}

static rlt_experiment *create(rlt_experiments *shared, const char *const *settings, uint32_t n)
{
    rlt_experiment *e = NULL;
    rlt_error err = {0};
    if (rlt_experiment_create(shared, settings, n, &e, &err))
        fail_msg("%s: %s", err.where, err.what);
    return e;
}

static rlt_experiment *vary(const rlt_experiment *from, const char *setting)
{
    rlt_experiment *e = NULL;
    rlt_error err = {0};
    if (rlt_experiment_vary(from, &setting, 1, &e, &err))
        fail_msg("%s: %s", err.where, err.what);
    return e;
}

static double figure(const rlt_experiment *e, const char *name)
{
    double value = -1;
    if (!rlt_experiment_figure(e, name, &value))
        fail_msg("no %s", name);
    return value;
}

/* Runs and frees it. Expects 2(n-1) consecutive messages of bytes/n, each over a link with half of the
 * topology's bandwidth, because a ring has two directions. */
static void hold_against_ring(rlt_experiment *e, int64_t bytes, int64_t latency_ps)
{
    enum { N = 8, STEPS = 2 * (N - 1), LINK_GBps = 50, PS_PER_NS = 1000 };
    int64_t time_ps = STEPS * (bytes / N / LINK_GBps * PS_PER_NS + latency_ps);
    rlt_error err = {0};
    assert_int_equal(rlt_experiment_run(e, NULL, &err), 0);
    assert_int_equal((int64_t)figure(e, "time_ps"), time_ps);
    assert_int_equal((int64_t)figure(e, "messages"), STEPS * N);
    assert_int_equal((int64_t)figure(e, "bytes"), STEPS * bytes);
    assert_true(figure(e, "bound_ps") <= (double)time_ps);
    /* nccl-tests: bytes over time, times 2(n-1)/n */
    double busbw = 2 * (N - 1.0) / N * (double)bytes / ((double)time_ps * 1e-12) * 1e-9;
    assert_float_equal(figure(e, "busbw_GBps"), busbw, 1e-9);
    assert_int_equal(rlt_experiment_iterations(e), 0);
    rlt_experiment_free(e);
}

static void test_ring(void **state)
{
    static const char *const settings[] = {"collective=all_reduce", "topology=ring:8@100GB/s,500ns",
                                           "bytes=80MB", "algorithm=ring"};
    rlt_experiments *shared = open_shared();
    rlt_experiment *e = create(shared, settings, 4);
    (void)state;
    hold_against_ring(vary(e, "bytes=400kB"), 400000, 500000);
    hold_against_ring(vary(e, "topology=ring:8@100GB/s,3us"), 80000000, 3000000);
    hold_against_ring(vary(e, "no-fold"), 80000000, 500000);
    hold_against_ring(e, 80000000, 500000);
    rlt_experiments_free(shared);
}

static void test_refusals(void **state)
{
    static const char *const net = "topology=ring:4@1GB/s,0ns", *const all_reduce = "collective=all_reduce";
    const struct {
        const char *settings[3], *where, *what;
    } cases[] = {
        {{net, "collective=all_redcue", "bytes=1MiB"}, "--collective", "did you mean 'all_reduce'"},
        {{all_reduce, "bytes=1MiB", "no-fold"}, "--topology", "is required"},
        {{net, all_reduce, "bytes=12 apples"}, "--bytes", "apples"},
        {{net, all_reduce, "bytes=1KiB,1MiB"}, "", "expected one collective, one size"},
        {{net, all_reduce, "algorithm=rng"}, "--algorithm", "did you mean 'ring'"},
        {{net, all_reduce, "algoritm=ring"}, "algoritm", "did you mean 'algorithm'"},
        {{net, all_reduce, "bytes"}, "bytes", "expected NAME=VALUE"},
        {{net, "bytes=1MiB", "algorithm=ring"}, "bytes", "add collective=NAME"},
        {{net, all_reduce, "trace=/no/such"}, "trace", "is a setting of a run"},
        {{net, "collective=all_gather", "counts=/no/such"}, "/no/such", ""},
        {{"topology=no-such-place", all_reduce, "bytes=1MiB"}, "no-such-place", "no such file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_experiments *shared = open_shared();
        rlt_experiment *e = NULL;
        rlt_error err = {0};
        assert_true(rlt_experiment_create(shared, cases[i].settings, 3, &e, &err) < 0);
        assert_null(e);
        if (!strstr(err.where, cases[i].where) || !strstr(err.what, cases[i].what))
            fail_msg("case %zu: %s: %s", i, err.where, err.what);
        rlt_experiments_free(shared);
    }
}

/* Without shared inputs, the experiment's own inputs are freed with the last of its variations. */
static void test_own_inputs(void **state)
{
    static const char *const settings[] = {"collective=all_reduce", "topology=ring:4@1GB/s,0ns",
                                           "bytes=1MiB"};
    rlt_experiment *e = create(NULL, settings, 3), *other = vary(e, "bytes=2MiB");
    rlt_error err = {0};
    (void)state;
    rlt_experiment_free(e);
    assert_int_equal(rlt_experiment_run(other, NULL, &err), 0);
    e = vary(other, "bytes=1MiB");
    rlt_experiment_free(other);
    assert_int_equal(rlt_experiment_run(e, NULL, &err), 0);
    rlt_experiment_free(e);
}

/* Variations are checked as well, although nothing is loaded for them. */
static void test_variation_refused(void **state)
{
    static const char *const settings[] = {"collective=all_reduce", "topology=ring:4@1GB/s,0ns",
                                           "bytes=1MiB"};
    static const char *const wrong = "algorithm=rng";
    rlt_experiments *shared = open_shared();
    rlt_experiment *e = create(shared, settings, 3), *other = NULL;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_experiment_vary(e, &wrong, 1, &other, &err), RLT_EUSAGE);
    assert_null(other);
    assert_string_equal(err.where, "--algorithm");
    rlt_experiment_free(e);
    rlt_experiments_free(shared);
}

enum { RUNS = 8 };
static rlt_experiment *all[RUNS];
static int codes[RUNS];

static void *every_second(void *first)
{
    for (rlt_experiment **e = first; e < all + RUNS; e += 2) {
        rlt_error err = {0};
        codes[e - all] = rlt_experiment_run(*e, NULL, &err);
    }
    return NULL;
}

static void test_shared(void **state)
{
    static const char *const networks[] = {"network=flow", "network=alpha-beta", "algorithm=ring",
                                           "algorithm=direct"};
    static const char *const names[] = {"time_ps",    "messages", "bytes",
                                        "busbw_GBps", "bound_ps", "busiest_utilization"};
    char path[] = "/tmp/ringlet_counts_XXXXXX", counts[64];
    const char *const settings[] = {"collective=all_gather", "topology=ring:4@100GB/s,500ns", counts};
    rlt_experiments *shared = open_shared();
    pthread_t other;
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0 && write(file, "1000 20000 3 400000\n", 20) == 20 && close(file) == 0);
    snprintf(counts, sizeof counts, "counts=%s", path);
    rlt_experiment *base = create(shared, settings, 3);
    unlink(path); /* the file was read for all */
    for (int i = 0; i < RUNS; i++)
        all[i] = vary(base, networks[i / 2]);
    assert_int_equal(pthread_create(&other, NULL, every_second, all + 1), 0);
    every_second(all);
    pthread_join(other, NULL);
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(codes[i], 0);
    for (int i = 0; i < RUNS; i += 2)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            assert_true(figure(all[i], names[k]) == figure(all[i + 1], names[k]));
    assert_true(figure(all[4], "time_ps") != figure(all[6], "time_ps"));
    for (int i = 0; i < RUNS; i++)
        rlt_experiment_free(all[i]);
    rlt_experiment_free(base);
    rlt_experiments_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ring), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_variation_refused),
                                       cmocka_unit_test(test_own_inputs), cmocka_unit_test(test_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
