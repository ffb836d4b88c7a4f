/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first layout that fits, in spaces at random, against all their points one by one. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/drawing.h"
#include "test/support/layouts.h"
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
static uint32_t look(const layouts *l, drawing *r, double *least, double *any)
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

static void check(const layouts *l, uint32_t i, double room, uint32_t possible, double least)
{
    rlt_layout_fit fit;
    rlt_training t;
    rlt_error err = {0};
    assert_int_equal(rlt_layout_first_fit(&l->space, &l->f.t, l->ranks, room, NULL, &fit, &err), 0);
    if (fit.possible != (possible > 0))
        fail_msg("%s", layouts_name(l, i, "possible"));
    if (!possible) {
        assert_true(fit.why.code != 0);
        return;
    }
    if (goes_two_ways(&l->space))
        return;
    if (fit.fits != (least <= room))
        fail_msg("%s: %.17g of %.17g bytes", layouts_name(l, i, "fits"), least, room);
    assert_int_equal(rlt_layout_training(&l->space, &l->f.t, l->ranks, &fit.point, &t, &err), 0);
    assert_true(fit.point.memory_bytes == rlt_training_fullest(&t, NULL));
    assert_true(fit.fits ? fit.point.memory_bytes <= room : fit.point.memory_bytes == least);
}

static void all_points(void **state)
{
    drawing r = {.seed = 20260107};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
