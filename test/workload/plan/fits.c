/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first layout that fits, in spaces at random, against all their points one by one. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/fits.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { CASES = 400 };

/* Steps the odometer. Returns false at the end. */
static bool next(const rlt_layout_space *s, rlt_layout_point *p)
{
    for (uint32_t i = s->n; i-- > 0;) {
        if (++p->at[i] < s->axes[i].n)
            return true;
        p->at[i] = 0;
    }
    return false;
}

/* Returns the number of possible points, the bytes of the one that needs least, and those of a random one. */
static uint32_t look(const layouts *l, dice *r, double *least, double *any)
{
    rlt_layout_point p = {.bound_ps = 0};
    uint32_t n = 0;
    do {
        rlt_training t;
        rlt_error why = {0};
        if (rlt_layout_training(&l->space, &l->f.t, l->ranks, &p, &t, &why))
            continue;
        double bytes = rlt_training_fullest(&t, NULL);
        *least = n == 0 || bytes < *least ? bytes : *least;
        n++;
        *any = below(r, n) == 0 ? bytes : *any;
    } while (next(&l->space, &p));
    return n;
}

/* DualPipeV holds tied parameters once, where others hold them twice: it may need less than 1F1B. */
static bool goes_two_ways(const rlt_layout_space *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t v = 0; v < s->axes[i].n; v++)
            if (strncmp(s->axes[i].values[v], "dual", 4) == 0)
                return true;
    return false;
}

/* Lists the axes as they turn, the slowest first: sizes, microbatch, schedule, chunks, the rest. */
static void turning(const rlt_layout_space *s, uint32_t axes[RLT_LAYOUT_AXES])
{
    static const char *const pipeline[] = {"microbatch", "schedule", "vp"};
    uint32_t n = 0, sizes = s->known[RLT_LAYOUT_SIZES];
    for (uint32_t i = 0; i < sizes; i++)
        axes[n++] = i;
    for (int k = 0; k < 3; k++)
        for (uint32_t i = sizes; i < s->n; i++)
            if (strcmp(s->axes[i].name, pipeline[k]) == 0)
                axes[n++] = i;
    for (uint32_t i = sizes; i < s->n; i++) {
        const char *name = s->axes[i].name;
        if (strcmp(name, "microbatch") != 0 && strcmp(name, "schedule") != 0 && strcmp(name, "vp") != 0)
            axes[n++] = i;
    }
}

/* How late a rule is looked at; those of no list come last. */
static int turn_of(const char *rule)
{
    static const char *const turns[] = {"ranks", "layout", "tp", "cp",    "ep",      "etp",
                                        "batch", "vp",     "pp", "split", "schedule"};
    for (int i = 0; i < 11; i++)
        if (strcmp(turns[i], rule) == 0)
            return i;
    return 11;
}

/* Visits every point in that order. */
static rlt_layout_fit visit_all(const layouts *l, double room)
{
    const rlt_layout_space *s = &l->space;
    rlt_layout_fit e = {.possible = false};
    rlt_layout_point p = {.bound_ps = 0};
    uint32_t axes[RLT_LAYOUT_AXES], k = 0;
    int latest = -1;
    turning(s, axes);
    do {
        rlt_training t;
        rlt_error why = {0};
        if (rlt_layout_training(s, &l->f.t, l->ranks, &p, &t, &why)) {
            if (turn_of(why.where) > latest) {
                e.why = why;
                latest = turn_of(why.where);
            }
        } else {
            p.memory_bytes = rlt_training_fullest(&t, NULL);
            if (!e.possible || p.memory_bytes < e.point.memory_bytes)
                e.point = p;
            e.possible = true;
            e.fits = p.memory_bytes <= room;
            if (e.fits) {
                e.point = p;
                return e;
            }
        }
        for (k = s->n; k-- > 0;) {
            if (++p.at[axes[k]] < s->axes[axes[k]].n)
                break;
            p.at[axes[k]] = 0;
        }
    } while (k < s->n);
    return e;
}

static void check(const layouts *l, uint32_t i, double room, uint32_t possible, double least)
{
    rlt_layout_fit fit;
    rlt_training t;
    rlt_error err = {0};
    assert_int_equal(rlt_layout_first_fit(&l->space, &l->f.t, l->ranks, room, NULL, &fit, &err), 0);
    if (fit.possible != (possible > 0))
        fail_msg("%s", layouts_name(l, i, "possible"));
    rlt_layout_fit e = visit_all(l, room);
    if (!possible) {
        assert_true(fit.why.code == e.why.code && !fit.fits);
        assert_string_equal(fit.why.where, e.why.where);
        assert_string_equal(fit.why.what, e.why.what);
        return;
    }
    if (goes_two_ways(&l->space))
        return;
    if (fit.fits != (least <= room))
        fail_msg("%s: %.17g of %.17g bytes", layouts_name(l, i, "fits"), least, room);
    assert_memory_equal(fit.point.at, e.point.at, sizeof e.point.at);
    assert_true(fit.point.bound_ps == 0 && fit.point.time_ps == 0);
    assert_int_equal(rlt_layout_training(&l->space, &l->f.t, l->ranks, &fit.point, &t, &err), 0);
    assert_true(fit.point.memory_bytes == rlt_training_fullest(&t, NULL));
    assert_true(fit.fits ? fit.point.memory_bytes <= room : fit.point.memory_bytes == least);
}

static void all_points(void **state)
{
    dice r = {.seed = 20260107};
    uint32_t impossible = 0, fitted = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        double least = 0, any = 0;
        layouts_draw(&l, &r);
        uint32_t n = look(&l, &r, &least, &any);
        check(&l, i, any, n, least);
        check(&l, i, least, n, least);
        check(&l, i, least - 1, n, least);
        impossible += n == 0;
        fitted += n > 0;
        layouts_free(&l);
    }
    printf("# %u spaces with possible layouts, %u without\n", fitted, impossible);
    assert_true(fitted > CASES / 4 && impossible > CASES / 20);
}

/* Stops when it is asked the n-th time. */
static bool stops(void *ctx)
{
    uint32_t *left = ctx;
    return (*left)-- == 1;
}

static void stopped(void **state)
{
    dice r = {.seed = 6};
    uint32_t early = 0;
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        layouts l;
        layouts_draw(&l, &r);
        uint32_t left = UINT32_MAX, asked = 0;
        const rlt_watch watch = {.ctx = &left, .stopped = stops};
        for (uint32_t n = 0; n <= 4; n++) {
            rlt_error err = {0};
            rlt_layout_fit fit;
            left = n ? n : UINT32_MAX;
            int rc = rlt_layout_first_fit(&l.space, &l.f.t, l.ranks, 1, &watch, &fit, &err);
            asked = n ? asked : UINT32_MAX - left;
            assert_int_equal(rc, n && n <= asked ? RLT_ECANCELLED : 0);
            assert_true(rc == 0 || strcmp(err.what, "stopped") == 0);
            early += rc != 0;
        }
        layouts_free(&l);
    }
    assert_true(early > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_points), cmocka_unit_test(stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
