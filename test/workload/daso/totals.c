/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole trainings against a second sum: every epoch of the schedule is looked up among epochs replayed here, with
 * all their draws. Every field of the result, for random settings; times and bytes at their limits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/daso.h"
#include "workload/daso/daso.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { EPOCHS = 24, CASES = 60 };

static rlt_daso_result result; /* large */

/* The mean over the draws, to the nearest picosecond. NULL: Horovod. */
static rlt_time mean(const rlt_daso *d, const rlt_daso_work *w, const rlt_daso_phase *phase,
                     const char *network)
{
    rlt_time sum = 0, n = d->jitter > 0 ? d->draws : 1;
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        rlt_program *p = NULL;
        rlt_error err = {0};
        if (phase ? rlt_daso_program(d, w, *phase, i, &p, &err) : rlt_horovod_program(d, w, i, &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        sum += test_replay(p, network);
        rlt_program_free(p);
    }
    return (2 * sum + n) / (2 * n);
}

static bool same_sums(const rlt_daso_sums *a, const rlt_daso_sums *b)
{
    return a->batches == b->batches && a->local_syncs == b->local_syncs && a->sends == b->sends &&
           a->merges == b->merges && a->blocking == b->blocking && a->broadcasts == b->broadcasts &&
           a->redundant == b->redundant && a->global_bytes == b->global_bytes &&
           a->broadcast_bytes == b->broadcast_bytes;
}

static void draw(rlt_daso *d, test_model *m, dice *t)
{
    *d = rlt_daso_default();
    d->nodes = 1 + below(t, 3);
    d->gpus = 1 + below(t, 2);
    d->batches = 1 + below(t, 5);
    d->variant = below(t, 2) ? RLT_DASO_CYCLING : RLT_DASO_FIXED;
    d->epochs = 4 + below(t, EPOCHS - 4);
    d->warmup = below(t, 3);
    d->cooldown = below(t, 2);
    d->soft_cooldown = below(t, 2);
    d->patience = below(t, 2);
    d->max_skips = 1 + below(t, 6);
    d->first_skips = 1 + below(t, 5);
    d->downcast_bytes = 2 + 2 * below(t, 2);
    d->compressed_bytes = 2 + 2 * below(t, 2);
    d->jitter = below(t, 3) ? 0.3 : 0;
    d->draws = 1 + below(t, 4);
    *m = (test_model){.model.n_layers = 0};
    test_model_layer(m, "all", 1);
    test_model_tensor(m, 1 + below(t, 5000));
    test_model_tensor(m, 1 + below(t, 5000));
    test_model_finish(m, (rlt_time)(1 + roll(t, 900)) * RLT_US);
}

static void random_trainings(void **state)
{
    static test_model m;
    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        dice t = {.seed = 900 + k};
        rlt_daso d;
        rlt_daso_phase phases[EPOCHS];
        rlt_error err = {0};
        rlt_topology *net = NULL;
        char network[40];
        draw(&d, &m, &t);
        snprintf(network, sizeof network, "switch:%u@10GB/s,1us", d.nodes * d.gpus);
        assert_int_equal(rlt_topology_load(network, NULL, &net, &err), 0);
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = net;
        memset(&result, 0xff, sizeof result);
        if (rlt_daso_run(&d, &m.work, &o, &result, &err))
            fail_msg("case %u: %s: %s", k, err.where, err.what);
        assert_int_equal(rlt_daso_schedule(&d, phases, &err), 0);
        uint64_t parameters = m.tensors[0].elements + m.tensors[1].elements, global = 0, broadcast = 0;
        uint32_t n = 0, epochs = 0;
        rlt_time sum = 0;
        for (uint32_t e = 0; e < d.epochs; e++) {
            uint32_t i = 0;
            while (i < result.n_kinds && memcmp(&result.kinds[i].phase, &phases[e], sizeof *phases) != 0)
                i++;
            assert_true(i <= n && i < result.n_kinds); /* in order of first appearance */
            rlt_daso_kind *kind = &result.kinds[i];
            rlt_daso_sums sums = rlt_daso_count(&d, phases[e], parameters);
            if (i == n) {
                assert_int_equal(kind->epoch_ps, mean(&d, &m.work, &phases[e], network));
                assert_true(same_sums(&kind->sums, &sums));
                epochs += kind->epochs;
                n++;
            }
            sum += kind->epoch_ps;
            global += sums.global_bytes;
            broadcast += sums.broadcast_bytes;
            kind->epochs--;
        }
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(result.kinds[i].epochs, 0); /* all are counted */
        assert_true(n == result.n_kinds && epochs == d.epochs && result.batches == d.batches);
        rlt_time base = mean(&d, &m.work, NULL, network);
        assert_int_equal(result.daso_ps, sum);
        assert_int_equal(result.horovod_epoch_ps, base);
        assert_int_equal(result.horovod_ps, base * d.epochs);
        assert_int_equal(result.global_bytes, global);
        assert_int_equal(result.broadcast_bytes, broadcast);
        assert_int_equal(result.horovod_bytes, parameters * d.compressed_bytes * d.batches * d.epochs);
        assert_true(fabs(result.saving - (double)(result.horovod_ps - sum) / (double)result.horovod_ps) <
                    1e-12);
        rlt_topology_free(net);
    }
}

/* ---- limits ---- */

/* A single rank and one batch an epoch: the time of an epoch is that of the two layers, as there is nothing to
 * move. */
static int train(rlt_daso *d, uint64_t elements, rlt_time forward, rlt_time backward, rlt_error *err)
{
    static test_model m;
    rlt_topology *net = NULL;
    *err = (rlt_error){0};
    assert_int_equal(rlt_topology_load("switch:2@10GB/s,1us", NULL, &net, err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = net;
    m = (test_model){.model.n_layers = 0};
    test_model_layer(&m, "all", 1);
    test_model_tensor(&m, elements);
    test_model_finish(&m, 0);
    m.forward_ps[0] = forward;
    m.backward_ps[0] = backward;
    int rc = rlt_daso_run(d, &m.work, &o, &result, err);
    rlt_topology_free(net);
    return rc;
}

static rlt_daso alone(uint32_t epochs)
{
    rlt_daso d = rlt_daso_default();
    d.nodes = d.gpus = d.batches = 1;
    d.epochs = epochs;
    d.warmup = d.cooldown = 0;
    return d;
}

static void times(void **state)
{
    static const char *const text = "the training takes more than 26 days, the limit of simulated time";
    rlt_daso d = alone(2);
    rlt_error err;
    (void)state;
    assert_int_equal(train(&d, 0, RLT_TIME_MAX / 2 - 5, 4, &err), 0);
    assert_int_equal(result.daso_ps, RLT_TIME_MAX - 2);
    assert_int_equal(result.horovod_ps, RLT_TIME_MAX - 2);
    assert_true(fabs(result.saving) < 1e-15);
    assert_int_equal(train(&d, 0, RLT_TIME_MAX / 2 - 4, 4, &err), RLT_ERANGE);
    assert_string_equal(err.what, text);
    assert_int_equal(result.horovod_ps, 0);
    d.overhead_ps = 1; /* only Horovod's is too long */
    assert_int_equal(train(&d, 0, RLT_TIME_MAX / 2 - 5, 4, &err), RLT_ERANGE);
    assert_string_equal(err.what, text);
    assert_int_equal(result.daso_ps, RLT_TIME_MAX - 2);
    d = alone(1);
    assert_int_equal(train(&d, 0, RLT_TIME_MAX - 5, 4, &err), 0);
    assert_int_equal(result.daso_ps, RLT_TIME_MAX - 1);
    assert_true(train(&d, 0, RLT_TIME_MAX - 4, 4, &err) != 0);
    /* Nothing takes time: nothing is saved. */
    assert_int_equal(train(&d, 0, 0, 0, &err), 0);
    assert_true(result.daso_ps == 0 && result.horovod_ps == 0 && fabs(result.saving) < 1e-15);
}

/* Sums of 2^47 - 1 elements over many epochs: below 2^63 they are counted, above it each is refused by itself. */
static void bytes(void **state)
{
    static const struct {
        uint32_t epochs, downcast, compressed;
        bool taken, global, broadcast; /* these have been counted */
    } rows[] = {
        {16384, 2, 2, true, true, true},    {16385, 2, 2, false, true, false},
        {16385, 4, 2, false, false, false}, {16384, 4, 4, true, true, true},
        {40000, 2, 4, false, false, false}, {16385, 4, 4, false, false, false},
    };
    uint64_t elements = (UINT64_C(1) << 47) - 1;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_daso d = alone(rows[i].epochs);
        rlt_error err;
        d.chunk_elements = elements;
        d.memory_Bps = UINT64_C(1) << 62;
        d.downcast_bytes = rows[i].downcast;
        d.compressed_bytes = rows[i].compressed;
        int rc = train(&d, elements, 1, 1, &err);
        if ((rc == 0) != rows[i].taken)
            fail_msg("row %zu: %d, %s", i, rc, err.what);
        if (rc) {
            assert_int_equal(rc, RLT_ERANGE);
            assert_string_equal(err.what, "a rank sends more than 2^63 bytes, the limit, over the training");
        }
        uint64_t each = elements * rows[i].epochs;
        assert_int_equal(result.global_bytes, rows[i].global ? each * rows[i].downcast : 0);
        assert_int_equal(result.broadcast_bytes, rows[i].broadcast ? each * 4 : 0);
        assert_int_equal(result.horovod_bytes, rc ? 0 : each * rows[i].compressed);
    }
    /* Skips save bytes of DASO: only Horovod's are too many. */
    rlt_daso d = alone(4096);
    rlt_error err;
    d.variant = RLT_DASO_FIXED;
    d.max_skips = 8;
    d.batches = 9;
    d.chunk_elements = elements;
    d.memory_Bps = UINT64_C(1) << 62;
    assert_int_equal(train(&d, elements, 1, 1, &err), RLT_ERANGE);
    assert_int_equal(result.horovod_bytes, 0);
    assert_true(result.global_bytes > 0 && result.broadcast_bytes > 0 && result.horovod_ps > 0);
}

/* What cannot be replayed is told, by its own error, and no later sum is begun. */
static void errors(void **state)
{
    rlt_daso d = alone(3);
    rlt_error err;
    (void)state;
    d.nodes = 3; /* of two */
    assert_true(train(&d, 10, RLT_MS, RLT_MS, &err) < 0);
    assert_true(err.what[0] && result.n_kinds == 1 && result.kinds[0].epochs == 3);
    assert_true(result.daso_ps == 0 && result.horovod_ps == 0 && result.horovod_bytes == 0);
    d.nodes = 1 << 20;
    d.batches = 200;
    assert_int_equal(train(&d, 10, RLT_MS, RLT_MS, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "2 operations per batch x 209715200 batches"));
    assert_int_equal(result.n_kinds, 0);
    d = alone(0);
    memset(&result, 0xff, sizeof result);
    assert_int_equal(train(&d, 10, RLT_MS, RLT_MS, &err), RLT_ERANGE);
    assert_true(result.n_kinds == 0 && result.batches == 0 && result.horovod_ps == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_trainings), cmocka_unit_test(times),
                                       cmocka_unit_test(bytes), cmocka_unit_test(errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
