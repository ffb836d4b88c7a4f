/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares DASO's schedule, events and payloads with values worked out by hand from heat's published code. */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/daso/daso.h"

enum { RESNET50 = 25557032 };

typedef struct run {
    uint32_t from, skips, local, wait; /* epochs counted from 1, as in the table */
} run;

static void expect_schedule(rlt_daso *d, const run *runs, size_t n)
{
    rlt_daso_phase phases[200];
    rlt_error err = {0};
    assert_int_equal(rlt_daso_schedule(d, phases, &err), 0);
    for (uint32_t e = 0, at = 0; e < d->epochs; e++) {
        while (at + 1 < n && runs[at + 1].from <= e + 1)
            at++;
        if (phases[e].skips != runs[at].skips || phases[e].local != runs[at].local ||
            phases[e].wait != runs[at].wait)
            fail_msg("epoch %u: (%u,%u,%u)", e + 1, phases[e].skips, phases[e].local, phases[e].wait);
    }
}

static uint32_t epochs_with(const rlt_daso *d, uint32_t skips)
{
    rlt_daso_phase phases[200];
    uint32_t n = 0;
    assert_int_equal(rlt_daso_schedule(d, phases, NULL), 0);
    for (uint32_t e = 0; e < d->epochs; e++)
        n += phases[e].skips == skips;
    return n;
}

/* A constant loss, 90 epochs, four at each end: periods of 9 and 12 epochs. */
static void schedule(void **state)
{
    rlt_daso d = rlt_daso_default();
    run runs[64] = {{1, 0, 0, 0}};
    size_t n = 1;
    (void)state;
    d.max_skips = 4;
    for (uint32_t from = 5; from < 87; from += 9) {
        runs[n++] = (run){from, 4, 1, 1};
        runs[n++] = (run){from + 3, 2, 1, 1};
        runs[n++] = (run){from + 6, 1, 1, 1};
    }
    runs[n++] = (run){87, 0, 0, 0};
    while (n > 1 && runs[n - 2].from >= 87)
        runs[n - 2] = runs[n - 1], n--;
    expect_schedule(&d, runs, n);
    assert_int_equal(epochs_with(&d, 0), 8);
    assert_int_equal(epochs_with(&d, 4), 28);
    assert_int_equal(epochs_with(&d, 2), 27);
    assert_int_equal(epochs_with(&d, 1), 27);

    static const run eight[] = {{1, 0, 0, 0},  {5, 4, 1, 1},  {8, 2, 1, 1},  {11, 1, 1, 1}, {14, 8, 2, 2},
                                {17, 4, 1, 1}, {20, 2, 1, 1}, {23, 1, 1, 1}, {26, 8, 2, 2}, {29, 4, 1, 1},
                                {32, 2, 1, 1}, {35, 1, 1, 1}, {38, 8, 2, 2}, {41, 4, 1, 1}, {44, 2, 1, 1},
                                {47, 1, 1, 1}, {50, 8, 2, 2}, {53, 4, 1, 1}, {56, 2, 1, 1}, {59, 1, 1, 1},
                                {62, 8, 2, 2}, {65, 4, 1, 1}, {68, 2, 1, 1}, {71, 1, 1, 1}, {74, 8, 2, 2},
                                {77, 4, 1, 1}, {80, 2, 1, 1}, {83, 1, 1, 1}, {86, 8, 2, 2}, {87, 0, 0, 0}};
    d.max_skips = 8;
    expect_schedule(&d, eight, sizeof eight / sizeof *eight);
    assert_int_equal(epochs_with(&d, 0), 8);
    assert_int_equal(epochs_with(&d, 8), 19);
    assert_int_equal(epochs_with(&d, 4), 21);
    assert_int_equal(epochs_with(&d, 2), 21);
    assert_int_equal(epochs_with(&d, 1), 21);
}

/* A loss that falls by 10 % per epoch is never on a plateau. At 1 % it is, after the fourth epoch of cycling:
 * 0.99^k < 0.95 first holds at k = 6, so every plateau counts from an earlier best. */
static void schedule_of_losses(void **state)
{
    static const run falling[] = {{1, 0, 0, 0}, {5, 4, 1, 1}, {87, 0, 0, 0}};
    rlt_daso d = rlt_daso_default();
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_daso_set(&d, "loss", "6.9,0.9,0", &err), 0);
    expect_schedule(&d, falling, 3);
    /* The loss reaches its floor at the end: cycling continues. */
    assert_int_equal(rlt_daso_set(&d, "loss", "6.9,0.9,1.9", &err), 0);
    assert_true(epochs_with(&d, 1) > 0 && epochs_with(&d, 4) > 21);
    /* At 1 %: the best is epoch 4. Epochs 5, 6, 7 are no improvement (B halves), nor are 8 and 9; 10 has
     * 0.99^6 of it. */
    static const run slow[] = {{1, 0, 0, 0}, {5, 4, 1, 1}, {8, 2, 1, 1}, {14, 1, 1, 1}, {20, 0, 0, 0}};
    d.epochs = 23;
    d.max_skips = 4;
    assert_int_equal(rlt_daso_set(&d, "loss", "1,0.99,0", &err), 0);
    expect_schedule(&d, slow, 5);

    /* From a file, with the same result. */
    char path[] = "/tmp/daso_loss_XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    double loss = 1;
    fputs("# loss of each epoch\n\n", f);
    for (int i = 0; i < 23; i++)
        fprintf(f, "%.17g # %d\n", loss *= 0.99, i);
    fclose(f);
    assert_int_equal(rlt_daso_set(&d, "loss", path, &err), 0);
    expect_schedule(&d, slow, 5);
    d.epochs = 24;
    rlt_daso_phase phases[24];
    assert_int_equal(rlt_daso_schedule(&d, phases, &err), RLT_ESCHEMA);
    f = fopen(path, "w");
    fputs("1\n\nnot a number\n", f);
    fclose(f);
    memset(&err, 0, sizeof err);
    assert_true(rlt_daso_set(&d, "loss", path, &err) < 0);
    assert_non_null(strstr(err.where, ":3"));
    memset(&err, 0, sizeof err);
    assert_int_equal(rlt_daso_set(&d, "loss", "/nonexistent/loss", &err), RLT_EIO);
    remove(path);
    rlt_daso_free(&d);
}

/* Without warm-up the cycling variant stays in the blocking phase; the fixed one has its own end. */
static void schedule_of_variants(void **state)
{
    static const run never[] = {{1, 0, 0, 0}};
    static const run fixed[] = {{1, 4, 1, 1}, {87, 2, 0, 0}, {89, 0, 0, 0}};
    rlt_daso d = rlt_daso_default();
    (void)state;
    d.warmup = 0;
    expect_schedule(&d, never, 1);
    assert_int_equal(rlt_daso_set(&d, "variant", "fixed", NULL), 0);
    expect_schedule(&d, fixed, 3);
}

/* Writes a line with one word per batch: s<group>/<weight> sent, m<group>/<weight>@<batch sent> merged,
 * r<rank> useful and x<rank> redundant broadcasts, ! blocking, - no local sync. */
static void trace(const rlt_daso *d, rlt_daso_phase phase, char *text, size_t size)
{
    rlt_daso_epoch e = rlt_daso_epoch_begin(d, phase);
    rlt_daso_batch b;
    size_t used = 0;
    while (rlt_daso_epoch_next(&e, &b)) {
        used += (size_t)snprintf(text + used, size - used, "%s%u", used ? " " : "", b.batch);
        if (!b.local_sync)
            used += (size_t)snprintf(text + used, size - used, "-");
        if (b.sender != RLT_NONE)
            used += (size_t)snprintf(text + used, size - used, "s%u/%u", b.sender, b.weight);
        if (b.merger != RLT_NONE)
            used +=
                (size_t)snprintf(text + used, size - used, "m%u/%u@%u", b.merger, b.merge_weight, b.sent_at);
        if (b.relay != RLT_NONE)
            used += (size_t)snprintf(text + used, size - used, "%c%u", b.redundant ? 'x' : 'r', b.relay);
        if (b.blocking)
            used += (size_t)snprintf(text + used, size - used, "!");
    }
}

static void events(void **state)
{
    static const struct {
        uint32_t batches;
        rlt_daso_phase phase;
        const char *text;
    } cases[] = {
        /* the worked epoch: sends at 0, 4, 8, 9 by groups 0 to 3, the last one blocking */
        {10, {4, 1, 1}, "0s0/1 1m0/1@0r0 2 3 4s1/1x0 5m1/1@4r1 6 7 8s2/1x1 9s3/0m2/1@8r2!"},
        /* received only in the next sync, two batches after sending, with a weight of one */
        {6, {2, 1, 1}, "0s0/1 1 2s1/1m0/1@0r0 3 4s2/1m1/1@2r1 5s3/0m2/1@4r2!"},
        {4, {1, 1, 1}, "0s0/1 1s1/1m0/1@0r0 2s2/1m1/1@1r1 3s3/0m2/1@2r2!"},
        /* every second local sync between merging and sending, and always for the last batch */
        {17, {8, 2, 2}, "0s0/2 1 2m0/2@0r0 3- 4 5- 6 7- 8s1/2x0 9 10m1/2@8r1 11- 12 13- 14 15- 16s2/0x1!"},
        {14, {8, 2, 2}, "0s0/2 1 2m0/2@0r0 3- 4 5- 6 7- 8s1/2x0 9 10m1/2@8r1 11- 12 13s2/0x1!"},
        /* shorter waits at the end of the epoch: sent with 1, received one batch later */
        {11, {8, 1, 2}, "0s0/2 1 2m0/2@0r0 3 4 5 6 7 8s1/2x0 9m1/2@8r1 10s2/0x1!"},
        {3, {0, 0, 0}, "0s0/0! 1s1/0! 2s2/0!"},
        {6, {0, 0, 0}, "0s0/0! 1s1/0! 2s2/0! 3s3/0! 4s0/0! 5s1/0!"},
        {5, {2, 0, 0}, "0s0/0! 1 2s1/0! 3 4s2/0!"},
        {1, {4, 1, 1}, "0s0/0!"},
    };
    rlt_daso d = rlt_daso_default();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000] = "";
        d.batches = cases[i].batches;
        trace(&d, cases[i].phase, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    d.batches = 10;
    rlt_daso_sums s = rlt_daso_count(&d, (rlt_daso_phase){4, 1, 1}, RESNET50);
    assert_int_equal(s.sends, 4);
    assert_int_equal(s.broadcasts, 6);
    assert_int_equal(s.redundant, 2);
    assert_int_equal(s.merges, 3);
    assert_int_equal(s.blocking, 1);
}

/* ceil(n / B) + (1 if (n - 1) mod B != 0) syncs for all n and B. As many are merged or awaited as sent. */
static void counts(void **state)
{
    rlt_daso d = rlt_daso_default();
    (void)state;
    for (uint32_t n = 1; n <= 60; n++)
        for (uint32_t skips = 1; skips <= 16; skips++)
            for (uint32_t wait = 0; wait <= 5; wait++) {
                d.batches = n;
                rlt_daso_sums s = rlt_daso_count(&d, (rlt_daso_phase){skips, 1, wait}, 10);
                assert_int_equal(s.sends, (n + skips - 1) / skips + ((n - 1) % skips != 0));
                assert_int_equal(s.merges + s.blocking, s.sends);
                assert_int_equal(s.batches, n);
                assert_int_equal(s.local_syncs, n);
            }
}

static void bytes(void **state)
{
    static const uint64_t chunks[] = {5557032, 10000000, 10000000};
    rlt_daso d = rlt_daso_default();
    rlt_daso_phase cycling = {4, 1, 1}, blocking = {0, 0, 0};
    uint64_t sum = 0;
    (void)state;
    assert_int_equal(rlt_daso_chunks(&d, RESNET50), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rlt_daso_chunk(&d, RESNET50, i), chunks[i]);
        sum += chunks[i];
    }
    assert_int_equal(sum * rlt_daso_element_bytes(&d, cycling), 102228128);
    assert_int_equal(sum * rlt_daso_element_bytes(&d, blocking), 51114064);
    assert_int_equal(rlt_daso_chunks(&d, 20000000), 2);
    assert_int_equal(rlt_daso_chunk(&d, 20000000, 0), 10000000);
    assert_int_equal(rlt_daso_chunks(&d, 9), 1);
    assert_int_equal(rlt_daso_chunk(&d, 9, 0), 9);
    d.batches = 10;
    assert_int_equal(rlt_daso_count(&d, cycling, RESNET50).global_bytes, 4 * 102228128);
    assert_int_equal(rlt_daso_count(&d, cycling, RESNET50).broadcast_bytes, 6 * 102228128);
    assert_int_equal(rlt_daso_count(&d, blocking, RESNET50).global_bytes, 10 * 51114064);
    /* 1,281,167 images on 256 GPUs of 256: 19.5 batches; 2975 on 256 of 1: 11.6 */
    d.batches = 0;
    d.nodes = 64;
    assert_int_equal(rlt_daso_batches(&d), 20);
    d.samples = 2975;
    d.batch = 1;
    assert_int_equal(rlt_daso_batches(&d), 12);
}

static void shares(void **state)
{
    double local, each;
    (void)state;
    rlt_daso_merge_shares(4, 1, &local, &each);
    assert_true(fabs(local - 2.0 / 6) < 1e-15 && fabs(each - 1.0 / 6) < 1e-15);
    for (uint32_t p = 1; p <= 64; p++)
        for (uint32_t s = 0; s <= 8; s++) {
            rlt_daso_merge_shares(p, s, &local, &each);
            assert_true(fabs(local + p * each - 1) < 1e-12);
            assert_true(fabs(local / each - (s ? 2 * s : 1)) < 1e-12);
        }
}

static void settings(void **state)
{
    static const char *const bad[][2] = {
        {"nodes", "0"},        {"nodes", "-1"},    {"nodes", "4x"},   {"variant", "other"},
        {"horovod", "0.22"},   {"bucket", "25"},   {"cycle", "5"},    {"memory", "0"},
        {"jitter", "-0.1"},    {"stability", "2"}, {"downcast", "8"}, {"loss", "1,2,0"},
        {"skip_factor", "1"},  {"broadcast", "x"}, {"loss", "1,0.5"}, {"loss_each_batch", "1"},
        {"calibration", "no"}, {"max_skips", "0"}, {"memory", "12"},  {"seed", "1.5"},
    };
    rlt_daso d = rlt_daso_default();
    rlt_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&err, 0, sizeof err);
        if (rlt_daso_set(&d, bad[i][0], bad[i][1], &err) >= 0)
            fail_msg("%s=%s was taken", bad[i][0], bad[i][1]);
        assert_true(err.what[0] != '\0' && err.where[0] != '\0');
    }
    memset(&err, 0, sizeof err);
    assert_int_equal(rlt_daso_set(&d, "ffffffffffff", "3", &err), RLT_EUSAGE);
    for (const rlt_param *p = rlt_daso_parameters(); p->name; p++)
        assert_non_null(strstr(err.what, p->name));
    assert_int_equal(rlt_daso_set(&d, "horovod", "0.20", NULL), 0);
    assert_true(d.fusion_bytes == 64000000 && d.cycle_ps == 5 * RLT_MS);
    assert_int_equal(rlt_daso_set(&d, "staging", "25GB/s", NULL), 0);
    assert_int_equal(d.staging_Bps, 25000000000);
    assert_int_equal(rlt_daso_set(&d, "staging", "0", NULL), 0);
    assert_int_equal(d.staging_Bps, 0);
    assert_int_equal(rlt_daso_set(&d, "broadcast", "fused", NULL), 0);
    assert_false(d.broadcast_each);
    assert_int_equal(rlt_daso_set(&d, "jitter", "0.15", NULL), 0);
    assert_true(d.jitter == 0.15);
    d.downcast_bytes = 3;
    assert_int_equal(rlt_daso_check(&d, NULL), RLT_ESCHEMA);
    d = rlt_daso_default();
    d.epochs = 7;
    assert_int_equal(rlt_daso_check(&d, NULL), RLT_ESCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule),
        cmocka_unit_test(schedule_of_losses),
        cmocka_unit_test(schedule_of_variants),
        cmocka_unit_test(events),
        cmocka_unit_test(counts),
        cmocka_unit_test(bytes),
        cmocka_unit_test(shares),
        cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
