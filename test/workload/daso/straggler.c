/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variation between ranks: compares the recurrence with its reference, and whole programs with almost no
 * communication with the recurrence. Random recurrences against a second one. */
#include <math.h>
#include <stdio.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/daso/daso.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { CVS = 7 };
static const double cvs[CVS] = {0, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30};
/* 16 nodes of 4, B = 4, W = 1, 240 batches; ../shared/reference/daso.md, section 9: saving in %, within one
 * point because draws differ. */
static const double without[CVS] = {0.0, 5.9, 11.2, 15.7, 19.7, 23.2, 26.2};
static const double with_a_tenth[CVS] = {9.1, 13.6, 17.8, 21.3, 24.6, 27.5, 29.9};

static rlt_straggler sixteen(double jitter, double overhead)
{
    return (rlt_straggler){.nodes = 16,
                           .gpus = 4,
                           .batches = 240,
                           .skips = 4,
                           .wait = 1,
                           .jitter = jitter,
                           .overhead = overhead,
                           .seed = 11};
}

static double recurrence(const rlt_straggler *s)
{
    rlt_straggler_result r;
    rlt_error err = {0};
    assert_int_equal(rlt_straggler_run(s, &r, &err), 0);
    return 100 * r.saving;
}

static void within_a_point(double got, double want)
{
    if (fabs(got - want) > 1)
        fail_msg("saving %.2f %%, expected %.1f", got, want);
}

static void table(void **state)
{
    (void)state;
    for (int i = 0; i < CVS; i++) {
        rlt_straggler s = sixteen(cvs[i], 0), t = sixteen(cvs[i], 0.1);
        double known, burdened;
        assert_true(rlt_straggler_reference(&s, &known) && rlt_straggler_reference(&t, &burdened));
        assert_true(fabs(100 * known - without[i]) < 1e-9 && fabs(100 * burdened - with_a_tenth[i]) < 1e-9);
        within_a_point(recurrence(&s), without[i]);
        within_a_point(recurrence(&t), with_a_tenth[i]);
    }
}

/* CV 20 %: B = 1, 2, 4, 8 with W = max(1, B / 4). More skips never cost time. */
static void skips(void **state)
{
    static const double want[] = {19.6, 19.7, 19.7, 20.8};
    double before = 0;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        rlt_straggler s = sixteen(0.2, 0);
        s.skips = 1u << i;
        s.wait = s.skips < 8 ? 1 : 2;
        double saving = recurrence(&s), known = 0;
        assert_true(rlt_straggler_reference(&s, &known) && fabs(100 * known - want[i]) < 1e-9);
        within_a_point(saving, want[i]);
        assert_true(saving >= before);
        before = saving;
    }
}

/* One node waits only for itself, with either strategy. */
static void one_node(void **state)
{
    rlt_straggler s = sixteen(0.3, 0);
    (void)state;
    s.nodes = 1;
    assert_true(fabs(recurrence(&s)) < 1e-9);
    assert_false(rlt_straggler_reference(&s, &(double){0}));
    /* Without variation the overhead is saved: 0.1 / 1.1. A transfer shorter than the wait is free. */
    s = sixteen(0, 0.1);
    s.transfer = 1;
    assert_true(fabs(recurrence(&s) - 100 * (0.1 / 1.1)) < 1e-9);
    s.skips = 0;
    assert_int_equal(rlt_straggler_run(&s, &(rlt_straggler_result){0}, NULL), RLT_ERANGE);
}

/* Returns the seconds of a program of one layer and one parameter, over a network with almost no cost. */
static double replayed(const rlt_straggler *s, const rlt_daso *d, bool daso)
{
    rlt_model_layer layer = {.name = "all"};
    rlt_model_tensor tensor = {.elements = 1};
    rlt_model model = {.name = "one", .layers = &layer, .n_layers = 1, .tensors = &tensor, .n_tensors = 1};
    rlt_time forward = RLT_S / 3, backward = RLT_S - RLT_S / 3;
    rlt_daso_work w = {.model = &model, .forward_ps = &forward, .backward_ps = &backward};
    rlt_program *p = NULL;
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_replay *r = NULL;
    rlt_error err = {0};
    char network[100];
    snprintf(network, sizeof network, "fully-connected:%u@1TB/s,0ns*switch:%u@1TB/s,0ns", s->gpus, s->nodes);
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    assert_int_equal(rlt_placement_identity(t, s->nodes * s->gpus, &place, &err), 0);
    int rc = daso ? rlt_daso_program(d, &w, (rlt_daso_phase){s->skips, 1, s->wait}, 0, &p, &err)
                  : rlt_horovod_program(d, &w, 0, &p, &err);
    if (rc < 0)
        fail_msg("%s: %s", err.where, err.what);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.placement = &place;
    if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_time end = rlt_replay_time(r);
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_placement_free(&place);
    rlt_topology_free(t);
    return (double)end / (double)RLT_S;
}

static rlt_daso idle_network(const rlt_straggler *s)
{
    rlt_daso d = rlt_daso_default();
    d.nodes = s->nodes;
    d.gpus = s->gpus;
    d.batches = s->batches;
    d.jitter = s->jitter;
    d.seed = s->seed;
    d.overhead_ps = (rlt_time)(s->overhead * (double)RLT_S + 0.5);
    d.launch_ps = d.cycle_ps = d.negotiation_ps = 0;
    return d;
}

/* With the same draws both times are within 1e-8 of the recurrence (rounding to picoseconds, copies of one
 * parameter). The savings of the table follow. */
static void programs(void **state)
{
    (void)state;
    for (int i = 0; i < CVS; i++) {
        rlt_straggler s = sixteen(cvs[i], 0), t = sixteen(cvs[i], 0.1);
        rlt_straggler_result want, burdened;
        rlt_daso d = idle_network(&s), e = idle_network(&t);
        assert_int_equal(rlt_straggler_run(&s, &want, NULL), 0);
        assert_int_equal(rlt_straggler_run(&t, &burdened, NULL), 0);
        double daso = replayed(&s, &d, true), horovod = replayed(&s, &d, false),
               slower = replayed(&t, &e, false);
        assert_true(fabs(daso / want.daso - 1) < 1e-8);
        assert_true(fabs(horovod / want.baseline - 1) < 1e-8);
        assert_true(fabs(slower / burdened.baseline - 1) < 1e-8);
        within_a_point(100 * (1 - daso / horovod), without[i]);
        within_a_point(100 * (1 - daso / slower), with_a_tenth[i]);
    }
}

/* The header's recurrence, with the time at which the sync of each batch completes. */
static rlt_straggler_result second(const rlt_straggler *s)
{
    enum { MOST = 8 };
    rlt_straggler_result out = {0};
    double clock[MOST] = {0}, done[60];
    uint32_t began = RLT_NONE; /* the batch in which the pending sync began */
    for (uint32_t k = 0; k < s->batches; k++) {
        double all = 0;
        for (uint32_t r = 0; r < s->nodes * s->gpus; r++) {
            double node = 0;
            for (uint32_t g = r; g < r + s->gpus && r % s->gpus == 0; g++)
                node = fmax(node, rlt_random_lognormal(s->seed, g, 0x6a697474, k, s->jitter));
            clock[r / s->gpus] += node;
            all = fmax(all, node);
        }
        out.baseline += all + s->overhead;
        if (k % s->skips == 0 && began == RLT_NONE && k + s->wait < s->batches) {
            double last = 0;
            for (uint32_t p = 0; p < s->nodes; p++)
                last = fmax(last, clock[p]);
            began = k;
            done[k] = last + s->transfer;
        }
        if (began == RLT_NONE || k != began + s->wait)
            continue;
        for (uint32_t p = 0; p < s->nodes; p++)
            clock[p] = fmax(clock[p], done[began]);
        began = RLT_NONE;
    }
    for (uint32_t p = 0; p < s->nodes; p++)
        out.daso = fmax(out.daso, clock[p]);
    out.saving = 1 - out.daso / out.baseline;
    return out;
}

static void random_recurrences(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 400; k++) {
        dice t = {.seed = 60 + k};
        rlt_straggler s = {.nodes = 1 + below(&t, 5), .gpus = 1 + below(&t, 4), .batches = 1 + below(&t, 40)};
        s.skips = 1 + below(&t, 6);
        s.wait = below(&t, 8);
        s.jitter = 0.1 * below(&t, 4);
        s.transfer = 0.3 * below(&t, 4);
        s.overhead = 0.1 * below(&t, 3);
        s.seed = below(&t, 100);
        rlt_straggler_result got, want = second(&s);
        assert_int_equal(rlt_straggler_run(&s, &got, NULL), 0);
        assert_true(fabs(got.baseline - want.baseline) <= 1e-12 * want.baseline);
        assert_true(fabs(got.daso - want.daso) <= 1e-12 * want.daso);
        assert_true(fabs(got.saving - want.saving) <= 1e-12);
    }
}

/* Every count of 0 and every negative time is refused, and so are more GPUs than ranks. */
static void refused(void **state)
{
    static const rlt_straggler good = {.nodes = 1, .gpus = 1, .batches = 1, .skips = 1};
    rlt_straggler bad[] = {good, good, good, good, good, good, good, good, good};
    (void)state;
    bad[1].nodes = 0;
    bad[2].gpus = 0;
    bad[3].batches = 0;
    bad[4].skips = 0;
    bad[5].jitter = -0.1;
    bad[6].transfer = -0.1;
    bad[7].overhead = -0.1;
    bad[8].jitter = NAN;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        rlt_straggler_result got;
        assert_int_equal(rlt_straggler_run(&bad[i], &got, &err), i ? RLT_ERANGE : 0);
        assert_string_equal(err.what, i ? "expected counts above 0 and times of at least 0" : "");
    }
    rlt_error err = {0};
    rlt_straggler large = good;
    large.nodes = 4097;
    large.gpus = 4096;
    large.batches = 0;
    assert_int_equal(rlt_straggler_run(&large, &(rlt_straggler_result){0}, &err), RLT_ERANGE);
    assert_string_equal(err.what, "4097 nodes of 4096 GPUs exceed the limit of 16777216 GPUs");
    large.nodes = 4096;
    err = (rlt_error){0};
    assert_int_equal(rlt_straggler_run(&large, &(rlt_straggler_result){0}, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected counts above 0 and times of at least 0");
}

/* The other implementation's savings belong to its settings alone. */
static void references(void **state)
{
    rlt_straggler s = sixteen(0.2, 0);
    double saving = 0;
    (void)state;
    s.skips = 8;
    s.wait = 2;
    assert_true(rlt_straggler_reference(&s, &saving) && fabs(saving - 0.208) < 1e-12);
    for (int i = 0; i < 8; i++) {
        rlt_straggler x = s;
        x.nodes += i == 0;
        x.gpus += i == 1;
        x.batches += i == 2;
        x.transfer += i == 3 ? 1e-6 : 0;
        x.skips += i == 4;
        x.wait += i == 5;
        x.jitter += i == 6 ? 1e-6 : 0;
        x.overhead += i == 7 ? 1e-6 : 0;
        assert_false(rlt_straggler_reference(&x, &saving));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(skips),
        cmocka_unit_test(one_node),
        cmocka_unit_test(programs),
        cmocka_unit_test(random_recurrences),
        cmocka_unit_test(refused),
        cmocka_unit_test(references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
