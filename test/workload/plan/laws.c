/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laws of the best time T* of a space, for spaces at random: what can only help does not make it larger, and
 * scaling all speeds scales it. On a network without limits it is the optimum of compute, by hand.
 */
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/trainings/layouts.h"
#include "workload/models/accelerator.h"
#include "workload/plan/plan.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

enum { CASES = 80 };

static rlt_time best_of(const layouts *l, const rlt_layout_space *space, double headroom,
                        rlt_layout_point *point)
{
    rlt_error err = {0};
    rlt_layout_result r;
    rlt_layout_search s = {
        .base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = space, .headroom = headroom};
    if (rlt_layout_find(&s, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_time best = r.n ? r.points[0].time_ps : RLT_TIME_MAX;
    if (point && r.n)
        *point = r.points[0];
    rlt_layout_result_free(&r);
    return best;
}

/* Draws a case, with the memory between the least and the largest need. */
static void begin(layouts *l, dice *r)
{
    layouts_walk w = layouts_draw_walked(l, r, 6);
    double least = 0, most = 0;
    for (uint32_t k = 0; k < w.n; k++) {
        double bytes = w.points[k].memory_bytes;
        least = w.points[k].planned && (least <= 0 || bytes < least) ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    l->f.accelerator.memory_bytes = (uint64_t)(least + (most - least) * fraction(r)) + 1;
    free(w.points);
}

static void more_memory(void **state)
{
    dice r = {.seed = 21};
    uint32_t shorter = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        begin(&l, &r);
        rlt_time tight = best_of(&l, &l.space, 0.2, NULL), less = best_of(&l, &l.space, 0, NULL);
        l.f.accelerator.memory_bytes *= 2;
        rlt_time more = best_of(&l, &l.space, 0, NULL);
        if (less > tight || more > less)
            fail_msg("%s: %lld, %lld, %lld ps", layouts_name(&l, i, "memory"), (long long)tight,
                     (long long)less, (long long)more);
        shorter += more < tight;
        layouts_free(&l);
    }
    assert_true(shorter > CASES / 8);
}

/* Removes a value at random from each axis that has several. */
static void more_values(void **state)
{
    dice r = {.seed = 22};
    uint32_t shorter = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        begin(&l, &r);
        rlt_time all = best_of(&l, &l.space, 0, NULL);
        for (uint32_t a = 0; a < l.space.n; a++) {
            rlt_layout_space fewer = l.space;
            rlt_layout_axis *x = &fewer.axes[a];
            uint32_t gone = below(&r, x->n);
            if (x->n == 1)
                continue;
            x->values = malloc(x->n * sizeof *x->values);
            assert_non_null(x->values);
            memcpy(x->values, l.space.axes[a].values, x->n * sizeof *x->values);
            memcpy(x->values[gone], x->values[--x->n], sizeof *x->values);
            rlt_time some = best_of(&l, &fewer, 0, NULL);
            /* Without 1F1B, chunks of one stage may be interleaved. */
            if (all > some && strcmp(x->name, "schedule") != 0 && strcmp(x->name, "vp") != 0)
                fail_msg("%s: %lld ps, and %lld ps with fewer values of %s", layouts_name(&l, i, "values"),
                         (long long)all, (long long)some, x->name);
            shorter += all < some;
            free(x->values);
        }
        layouts_free(&l);
    }
    assert_true(shorter > CASES / 8);
}

/* Makes compute, memory and host k times faster. Times of settings are set to 0 before: they do not scale. */
static void speed_up(layouts *l, uint32_t k)
{
    rlt_accelerator *a = &l->f.accelerator;
    for (uint32_t i = 0; i < a->n_peaks; i++)
        a->peaks[i].Flops *= k;
    a->memory_Bps *= k;
    a->launch_ps /= k;
    a->kernels.host /= k;
    l->how.network_scale *= k; /* bandwidths times k, latencies by k */
}

static void all_faster(void **state)
{
    const uint32_t k = 4;
    dice r = {.seed = 23};
    double worst = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        rlt_layout_point point = {.bound_ps = 0};
        begin(&l, &r);
        l.f.t.pass_ps = l.f.t.host_ps = 0;
        l.f.t.split = RLT_CHUNKS_BLOCKS; /* rounding would decide ties of stages of equal time */
        rlt_time before = best_of(&l, &l.space, 0, &point);
        speed_up(&l, k);
        rlt_time after = best_of(&l, &l.space, 0, NULL);
        if (before == RLT_TIME_MAX) {
            assert_true(after == RLT_TIME_MAX);
        } else {
            double off = (double)after * k / (double)before - 1;
            off = off < 0 ? -off : off;
            worst = off > worst ? off : worst;
            if (off > 1e-6) /* each operation is rounded to a picosecond */
                fail_msg("%s: %lld ps, and %lld ps %u times faster", layouts_name(&l, i, "faster"),
                         (long long)before, (long long)after, k);
        }
        layouts_free(&l);
    }
    printf("# %u times faster: T* / %u within %.1e\n", k, k, worst);
}

static void links_faster(void **state)
{
    dice r = {.seed = 24};
    uint32_t shorter = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        begin(&l, &r);
        l.how.model = &rlt_net_alpha_beta;
        rlt_time before = best_of(&l, &l.space, 0, NULL);
        l.how.network_scale = 1.5;
        rlt_time after = best_of(&l, &l.space, 0, NULL);
        if (after > before)
            fail_msg("%s: %lld ps, and %lld ps with faster links", layouts_name(&l, i, "links"),
                     (long long)before, (long long)after);
        shorter += after < before;
        layouts_free(&l);
    }
    assert_true(shorter > CASES / 2);
}

/* Twice the samples take at most twice the time: the layout may do the same again. */
static void twice_the_batch(void **state)
{
    dice r = {.seed = 25};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        begin(&l, &r);
        l.f.accelerator.memory_bytes = (uint64_t)1 << 60;
        l.how.model = &rlt_net_alpha_beta;
        rlt_time once = best_of(&l, &l.space, 0, NULL);
        l.f.t.batch *= 2;
        rlt_time twice = best_of(&l, &l.space, 0, NULL);
        if (twice > 2 * once)
            fail_msg("%s: %lld ps, and %lld ps for twice the batch", layouts_name(&l, i, "batch"),
                     (long long)once, (long long)twice);
        layouts_free(&l);
    }
}

/* Returns the time of 1F1B with equal stages and messages that take no time: (m + p - 1) (f + b). */
static rlt_time by_hand(const layouts *l, uint32_t tp, uint32_t pp, uint32_t microbatch)
{
    rlt_time forward[64], backward[64], sum = 0;
    rlt_error err = {0};
    rlt_training t = l->f.t;
    uint32_t dp = l->ranks / tp / pp;
    if (l->ranks % (tp * pp) || t.batch % ((uint64_t)dp * microbatch) || t.model->n_layers % pp)
        return RLT_TIME_MAX;
    t.size[RLT_AXIS_TP] = tp;
    t.size[RLT_AXIS_PP] = pp;
    t.microbatch = microbatch;
    t.schedule = RLT_SCHEDULE_1F1B;
    assert_int_equal(rlt_training_plan(&t, l->ranks, &err), 0);
    assert_int_equal(rlt_training_layer_times(&t, forward, backward, &err), 0);
    for (uint32_t i = 0; i < t.model->n_layers / pp; i++)
        sum += forward[i] + backward[i];
    return sum * (rlt_time)(t.batch / dp / microbatch + pp - 1);
}

static void no_network(void **state)
{
    const char *given[] = {"schedule=1f1b", "recompute=none", "pp=1+2+3+4+6+12", "vp=1", "zero=0", "sp=off"};
    static const uint32_t ranks[] = {2, 3, 4, 6, 8, 9, 12, 16};
    dice r = {.seed = 26};
    (void)state;
    for (uint32_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        layouts l = {.ranks = ranks[i]};
        rlt_layout_point p = {.bound_ps = 0};
        test_blocks(&l.f.model, 12);
        test_begin(&l.f);
        l.f.accelerator.launch_ps = RLT_US * (1 + below(&r, 200)); /* fewer and larger kernels are faster */
        l.f.t.batch = 144 * (1 + below(&r, 2));
        snprintf(l.network, sizeof l.network, "switch:%u@1000000GB/s,0ns", l.ranks);
        l.how = rlt_replay_options_default();
        if (rlt_topology_load(l.network, NULL, &l.topology, &l.f.err) ||
            rlt_layout_space_open(&l.f.t, l.ranks, given, sizeof given / sizeof *given, &l.space, &l.f.err))
            fail_msg("%s: %s", l.f.err.where, l.f.err.what);
        l.how.topology = l.topology;
        l.how.endpoint = *rlt_topology_endpoint(l.topology);
        rlt_time best = best_of(&l, &l.space, 0, &p), optimum = RLT_TIME_MAX;
        for (uint32_t tp = 1; tp <= l.ranks; tp++)
            for (uint32_t pp = 1; pp <= l.ranks; pp++)
                for (uint32_t b = 1; b <= 64; b++) {
                    rlt_time t = by_hand(&l, tp, pp, b);
                    optimum = t < optimum ? t : optimum;
                }
        /* The optimizer's launch, and bytes on the network, are what the formula leaves out. */
        if (best < optimum || best > optimum + optimum / 1000 + 2 * l.f.accelerator.launch_ps)
            fail_msg("%u ranks: %lld ps, by hand %lld ps", l.ranks, (long long)best, (long long)optimum);
        layouts_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_memory),     cmocka_unit_test(more_values),
                                       cmocka_unit_test(all_faster),      cmocka_unit_test(links_faster),
                                       cmocka_unit_test(twice_the_batch), cmocka_unit_test(no_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
