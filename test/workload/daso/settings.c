/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings of DASO and Horovod: defaults and bounds as workload/daso/daso.h and heat name them, what each setting
 * sets, files of losses, and every refusal, word for word. Schedules of random settings and losses against the
 * rules of the header, epoch by epoch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/daso/daso.h"

#define GB UINT64_C(1000000000)
#define MB UINT64_C(1000000)

static bool is(double x, double y)
{
    return fabs(x - y) <= 1e-12 * fabs(y);
}

static void set(rlt_daso *d, const char *name, const char *value)
{
    rlt_error err = {0};
    if (rlt_daso_set(d, name, value, &err))
        fail_msg("%s=%s: %s: %s", name, value, err.where, err.what);
}

/* Of heat, of ResNet-50 on ImageNet, of 16 nodes with 4 A100, and of Horovod 0.21. */
static void defaults(void **state)
{
    rlt_daso d = rlt_daso_default();
    (void)state;
    assert_true(d.nodes == 16 && d.gpus == 4 && d.epochs == 90 && d.batches == 0);
    assert_true(d.samples == 1281167 && d.batch == 256);
    assert_true(d.variant == RLT_DASO_CYCLING && d.warmup == 4 && d.cooldown == 4 && d.soft_cooldown == 0);
    assert_true(is(d.stability, 0.05) && d.patience == 2 && d.max_skips == 8);
    assert_true(d.skip_factor == 2 && d.local_factor == 4);
    assert_true(d.first_skips == 4 && d.first_local == 1 && d.first_wait == 1);
    assert_true(is(d.loss.start, 1) && is(d.loss.ratio, 1) && d.loss.floor <= 0 && !d.loss.values);
    assert_true(d.chunk_elements == 10 * MB && d.downcast_bytes == 2 && d.broadcast_each);
    assert_true(d.launch_ps == 20 * RLT_US && d.bucket_bytes == 25 << 20 && d.first_bucket_bytes == 1 << 20);
    assert_true(d.memory_Bps == 1555 * GB && d.optimizer_bytes == 20 && !d.staging_Bps && !d.reduce_Bps);
    assert_true(d.jitter <= 0 && d.seed == 1 && d.draws == 1);
    assert_true(d.fusion_bytes == 128 * MB && d.cycle_ps == RLT_MS && d.negotiation_ps == 50 * RLT_US);
    assert_true(d.compressed_bytes == 2 && d.loss_each_batch && !d.overhead_ps && !d.tensor_ps);
    set(&d, "variant", "fixed");
    assert_true(d.variant == RLT_DASO_FIXED && d.warmup == 0 && d.cooldown == 2 && d.soft_cooldown == 2);
    assert_true(d.max_skips == 4 && d.first_skips == 4 && d.first_local == 1 && d.first_wait == 1);
    set(&d, "first_skips", "7");
    set(&d, "first_local", "3");
    set(&d, "first_wait", "2");
    set(&d, "variant", "cycling");
    assert_true(d.variant == RLT_DASO_CYCLING && d.warmup == 4 && d.cooldown == 4 && d.soft_cooldown == 0);
    assert_true(d.max_skips == 8 && d.first_skips == 4 && d.first_local == 1 && d.first_wait == 1);
    set(&d, "horovod", "0.20");
    assert_true(d.fusion_bytes == 64 * MB && d.cycle_ps == 5 * RLT_MS);
    set(&d, "horovod", "0.21");
    assert_true(d.fusion_bytes == 128 * MB && d.cycle_ps == RLT_MS);
    set(&d, "calibration", "juwels");
    assert_true(is(d.jitter, 0.18) && d.tensor_ps == 215 * RLT_US);
}

/* The least and the largest count of each setting are taken, one less and one more are not. */
static void bounds(void **state)
{
    static const struct {
        const char *name;
        uint64_t least, most;
    } rows[] = {
        {"nodes", 1, 1 << 20},        {"gpus", 1, 1 << 12},         {"epochs", 1, 1 << 20},
        {"batches", 0, 60000},        {"samples", 1, 1000000 * GB}, {"batch", 1, 1 << 24},
        {"warmup", 0, 1 << 20},       {"cooldown", 0, 1 << 20},     {"soft_cooldown", 0, 1 << 20},
        {"patience", 0, 1 << 20},     {"max_skips", 1, 1 << 16},    {"skip_factor", 2, 1 << 16},
        {"local_factor", 1, 1 << 16}, {"first_skips", 1, 1 << 16},  {"first_local", 0, 1 << 16},
        {"first_wait", 0, 1 << 16},   {"chunk", 1, 1000000 * GB},   {"downcast", 2, 4},
        {"optimizer", 0, 1 << 10},    {"seed", 0, 1000000 * GB},    {"draws", 1, 1 << 16},
        {"compressed", 2, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 4; k++) {
            rlt_daso d = rlt_daso_default();
            char text[32];
            if (k == 0 && !rows[i].least)
                continue;
            uint64_t value = k < 2 ? rows[i].least - (k == 0) : rows[i].most + (k == 3);
            snprintf(text, sizeof text, "%llu", (unsigned long long)value);
            bool taken = rlt_daso_set(&d, rows[i].name, text, NULL) == 0;
            if (taken != (k == 1 || k == 2))
                fail_msg("%s=%s: %d", rows[i].name, text, taken);
        }
}

/* ---- losses ---- */

static int set_file(rlt_daso *d, const char *text, size_t length, char path[64], rlt_error *err)
{
    snprintf(path, 64, "/tmp/ringlet-losses-XXXXXX");
    test_write_new(path, text, length);
    int rc = rlt_daso_set(d, "loss", path, err);
    unlink(path);
    return rc;
}

static void files_of_losses(void **state)
{
    static const struct {
        const char *text, *what;
        double values[4];
        uint32_t n, line; /* line of an error; 0: none */
    } rows[] = {
        {"6.5\n3\n", NULL, {6.5, 3}, 2, 0},
        {"6.5", NULL, {6.5}, 1, 0},
        {"# all\n\n  1.5 \t# first\r\n2\r\n#3\n \t \n0\n1e-3", NULL, {1.5, 2, 0, 1e-3}, 4, 0},
        {"", "the file has no losses: expected one number per line", {0}, 0, 0},
        {"# nothing\n\n", "the file has no losses: expected one number per line", {0}, 0, 0},
        {"1\nx\n", NULL, {0}, 0, 2},
        {"1\n\n2 3\n", NULL, {0}, 0, 3},
        {"-1\n", NULL, {0}, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_daso d = rlt_daso_default();
        rlt_error err = {0};
        char path[64], where[80];
        int rc = set_file(&d, rows[i].text, strlen(rows[i].text), path, &err);
        assert_int_equal(rc == 0, rows[i].n > 0);
        assert_int_equal(d.loss.n, rows[i].n);
        for (uint32_t k = 0; k < rows[i].n; k++)
            assert_true(is(d.loss.values[k], rows[i].values[k]));
        if (rows[i].what) {
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_string_equal(err.what, rows[i].what);
        }
        snprintf(where, sizeof where, "%s:%u", path, rows[i].line);
        if (rows[i].line && !strstr(err.where, where))
            fail_msg("'%s' instead of '%s'", err.where, where);
        rlt_daso_free(&d);
        assert_true(!d.loss.values && !d.loss.n);
    }
    rlt_daso d = rlt_daso_default();
    rlt_error err = {0};
    char path[64];
    assert_int_equal(set_file(&d, "1\n2\0\n3\n", 7, path, &err), RLT_EMALFORMED);
    assert_string_equal(err.what, "the file has a zero byte: expected text with one number per line");
    /* What was read before stays until something else can be read, and goes then. */
    assert_int_equal(set_file(&d, "1\n2\n", 4, path, &err), 0);
    assert_true(rlt_daso_set(&d, "loss", "/tmp/ringlet-no-such-file", &err) != 0);
    assert_true(d.loss.values && d.loss.n == 2);
    set(&d, "loss", "3.25");
    assert_true(!d.loss.values && !d.loss.n && is(d.loss.start, 3.25) && is(d.loss.ratio, 1));
    set(&d, "loss", "6.5,0.75,2");
    assert_true(is(d.loss.start, 6.5) && is(d.loss.ratio, 0.75) && is(d.loss.floor, 2));
    set(&d, "loss", "6.5,1,2");
    set(&d, "loss", "6.5,0,2");
    err = (rlt_error){0};
    assert_int_equal(rlt_daso_set(&d, "loss", "6.5,1.01,2", &err), RLT_EUSAGE);
    assert_string_equal(err.what, "expected a ratio of 0 to 1, got '1.01'");
    err = (rlt_error){0};
    assert_int_equal(rlt_daso_set(&d, "loss", "", &err), RLT_EUSAGE);
    assert_string_equal(err.what, "expected a number, START,RATIO,FLOOR or a file");
}

/* ---- what is refused ---- */

static void words(void **state)
{
    static const char *const rows[][3] = {
        {"variant", "Fixed", "expected cycling or fixed, got 'Fixed'"},
        {"horovod", "0.2", "expected 0.20 or 0.21, got '0.2'"},
        {"calibration", "jewels", "expected juwels, got 'jewels'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_daso d = rlt_daso_default();
        rlt_error err = {0};
        assert_int_equal(rlt_daso_set(&d, rows[i][0], rows[i][1], &err), RLT_EUSAGE);
        assert_string_equal(err.what, rows[i][2]);
    }
}

#define ABOVE "expected counts, sizes and rates above 0, and skip_factor above 1"
#define MOST  "expected at most 1048576 epochs, 65536 skips and 60000 batches"
#define RANKS "nodes x gpus exceed the limit of 16777216 ranks"
#define FULL  "expected 2 or 4 bytes per element on the wire"
#define SHARE "expected a jitter from 0 to 10 and a stability from 0 to 1"
#define LONG                                                                                                 \
    "warm-up and cool-down take 91 epochs, but the training has 90: raise epochs, or lower warmup or cooldown"

static void checks(void **state)
{
    static double losses[91];
    rlt_daso good = rlt_daso_default();
    (void)state;
#define WITH(code, text, ...)                                                                                \
    do {                                                                                                     \
        rlt_daso d = good;                                                                                   \
        rlt_error err = {0};                                                                                 \
        __VA_ARGS__;                                                                                         \
        assert_int_equal(rlt_daso_check(&d, &err), code);                                                    \
        assert_string_equal(err.what, text);                                                                 \
    } while (0)
    WITH(0, "", (void)d);
    WITH(RLT_ERANGE, ABOVE, d.nodes = 0);
    WITH(RLT_ERANGE, ABOVE, d.gpus = 0);
    WITH(RLT_ERANGE, ABOVE, d.epochs = 0);
    WITH(RLT_ERANGE, ABOVE, d.samples = 0);
    WITH(RLT_ERANGE, ABOVE, d.batch = 0);
    WITH(0, "", d.batches = 1; d.samples = 0; d.batch = 0);
    WITH(RLT_ERANGE, ABOVE, d.max_skips = 0);
    WITH(RLT_ERANGE, ABOVE, d.first_skips = 0);
    WITH(RLT_ERANGE, ABOVE, d.chunk_elements = 0);
    WITH(RLT_ERANGE, ABOVE, d.bucket_bytes = 0);
    WITH(RLT_ERANGE, ABOVE, d.first_bucket_bytes = 0);
    WITH(RLT_ERANGE, ABOVE, d.memory_Bps = 0);
    WITH(RLT_ERANGE, ABOVE, d.fusion_bytes = 0);
    WITH(RLT_ERANGE, ABOVE, d.draws = 0);
    WITH(RLT_ERANGE, ABOVE, d.local_factor = 0);
    WITH(RLT_ERANGE, ABOVE, d.skip_factor = 1);
    WITH(0, "", d.nodes = 1 << 22);
    WITH(RLT_ERANGE, RANKS, d.nodes = (1 << 22) + 1);
    WITH(RLT_ESCHEMA, FULL, d.downcast_bytes = 3);
    WITH(RLT_ESCHEMA, FULL, d.compressed_bytes = 1);
    WITH(0, "", d.downcast_bytes = d.compressed_bytes = 4);
    WITH(0, "", d.epochs = 1 << 20);
    WITH(RLT_ERANGE, MOST, d.epochs = (1 << 20) + 1);
    WITH(0, "", d.max_skips = 1 << 16);
    WITH(RLT_ERANGE, MOST, d.max_skips = (1 << 16) + 1);
    WITH(0, "", d.batches = 60000);
    WITH(RLT_ERANGE, MOST, d.batches = 60001);
    WITH(0, "", d.warmup = 30; d.cooldown = 30; d.soft_cooldown = 30);
    WITH(RLT_ESCHEMA, LONG, d.warmup = 31; d.cooldown = 30; d.soft_cooldown = 30);
    WITH(0, "", d.loss.values = losses; d.loss.n = 90);
    WITH(RLT_ESCHEMA, "the file has 89 losses for 90 epochs: expected one per epoch", d.loss.values = losses;
         d.loss.n = 89);
    WITH(0, "", d.jitter = 10; d.stability = 1);
    WITH(RLT_ERANGE, SHARE, d.jitter = 10.01);
    WITH(RLT_ERANGE, SHARE, d.jitter = -0.01);
    WITH(RLT_ERANGE, SHARE, d.stability = 1.01);
    WITH(RLT_ERANGE, SHARE, d.stability = -0.01);
#undef WITH
}

/* Samples over all GPUs and their batches, rounded up; one at least; and as many as can be counted. */
static void numbers_of_batches(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 2000; k++) {
        dice t = {.seed = k};
        rlt_daso d = {.nodes = 1 + below(&t, 4), .gpus = 1 + below(&t, 4), .batch = 1 + below(&t, 8)};
        uint32_t n = 0;
        d.samples = below(&t, 400);
        while ((uint64_t)n * d.nodes * d.gpus * d.batch < d.samples)
            n++;
        assert_int_equal(rlt_daso_batches(&d), n ? n : 1);
        d.batches = 1 + below(&t, 9);
        assert_int_equal(rlt_daso_batches(&d), d.batches);
        d.batches = 0;
        d.nodes = d.gpus = d.batch = 1;
        d.samples = (uint64_t)UINT32_MAX + below(&t, 3);
        assert_int_equal(rlt_daso_batches(&d), UINT32_MAX);
        d.batch = 0;
        assert_int_equal(rlt_daso_batches(&d), 1);
    }
}

/* ---- schedules ---- */

/* The phase of each epoch, by the rules: blocking at both ends; then B, L and W shrink at each plateau of the
 * loss, and are reset after B = 1. As in heat, cycling begins when the warm-up ends: without one it never
 * does. */
static void second_schedule(const rlt_daso *d, const double *loss, rlt_daso_phase *out)
{
    rlt_daso_phase now = {d->first_skips, d->first_local, d->first_wait};
    double best = INFINITY;
    uint32_t bad = 0;
    for (uint32_t e = 0; e < d->epochs; e++) {
        bool ends = e + d->cooldown >= d->epochs, begins = e < d->warmup || d->warmup == 0;
        bool soft = e + d->cooldown + d->soft_cooldown >= d->epochs;
        if (d->variant == RLT_DASO_FIXED) {
            rlt_daso_phase all = {d->max_skips, d->first_local, d->first_wait};
            out[e] = e < d->warmup || ends ? (rlt_daso_phase){0} : soft ? (rlt_daso_phase){2, 0, 0} : all;
            continue;
        }
        if (e > 0 && !begins && !ends) { /* the loss of the epoch before decides */
            bool better = loss[e - 1] < best * (1 - d->stability);
            best = better ? loss[e - 1] : best;
            bad = better ? 0 : bad + 1;
            if (bad > d->patience) {
                bad = 0;
                if (now.skips > 1) {
                    now.skips /= d->skip_factor;
                    now.local /= d->skip_factor;
                    now.wait = now.wait ? now.wait - 1 : 0;
                    if (now.skips) {
                        now.wait = now.wait ? now.wait : 1;
                        now.local = now.local ? now.local : 1;
                    }
                } else if (now.skips == 1) {
                    now.skips = d->max_skips;
                    now.local = now.wait = d->max_skips / d->local_factor;
                }
            }
        }
        out[e] = begins || ends ? (rlt_daso_phase){0} : now;
    }
}

static void schedules(void **state)
{
    enum { EPOCHS = 60 };
    (void)state;
    for (uint32_t k = 0; k < 3000; k++) {
        dice t = {.seed = 31 + k};
        rlt_daso d = rlt_daso_default();
        double loss[EPOCHS], above;
        rlt_daso_phase got[EPOCHS], want[EPOCHS];
        rlt_error err = {0};
        d.variant = below(&t, 3) ? RLT_DASO_CYCLING : RLT_DASO_FIXED;
        d.epochs = 1 + below(&t, EPOCHS);
        d.warmup = below(&t, d.epochs < 6 ? 1 : 6);
        d.cooldown = below(&t, d.epochs - d.warmup < 6 ? 1 : 6);
        d.soft_cooldown = below(&t, d.epochs - d.warmup - d.cooldown < 4 ? 1 : 4);
        d.patience = below(&t, 4);
        d.max_skips = 1 + below(&t, 20);
        d.skip_factor = 2 + below(&t, 3);
        d.local_factor = 1 + below(&t, 5);
        d.first_skips = 1 + below(&t, 9);
        d.first_local = below(&t, 4);
        d.first_wait = below(&t, 4);
        d.stability = 0.05 * below(&t, 4);
        d.loss =
            (rlt_daso_loss){.start = 1 + below(&t, 9), .ratio = 0.1 * below(&t, 11), .floor = below(&t, 2)};
        above = d.loss.start - d.loss.floor;
        bool listed = below(&t, 2);
        for (uint32_t e = 0; e < d.epochs; e++) {
            above *= d.loss.ratio;
            loss[e] = listed ? 1 + below(&t, 20) : d.loss.floor + above;
        }
        d.loss.values = listed ? loss : NULL;
        d.loss.n = d.epochs;
        if (rlt_daso_schedule(&d, got, &err))
            fail_msg("%s: %s", err.where, err.what);
        second_schedule(&d, loss, want);
        for (uint32_t e = 0; e < d.epochs; e++)
            if (memcmp(&got[e], &want[e], sizeof *got) != 0)
                fail_msg("case %u, epoch %u of %u: (%u, %u, %u) instead of (%u, %u, %u)", k, e, d.epochs,
                         got[e].skips, got[e].local, got[e].wait, want[e].skips, want[e].local, want[e].wait);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),  cmocka_unit_test(bounds), cmocka_unit_test(files_of_losses),
        cmocka_unit_test(words),     cmocka_unit_test(checks), cmocka_unit_test(numbers_of_batches),
        cmocka_unit_test(schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
