/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The axes of some spaces with all their values, by hand; and which trainings of random spaces are the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/layouts.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { CASES = 60, PLANNED = 60 };

static void all_values(void **state)
{
    static const struct {
        const char *model, *batch;
        uint32_t ranks;
        const char *expected;
    } cases[] = {
        {"transformer:layers=4,hidden=256,heads=4,vocabulary=1000,sequence=128,experts=4,top_k=2", "12", 8,
         "tp=1+2+4 cp=1+2+4+8 pp=1+2+4 ep=1+2+4 microbatch=1+2+3+4+6+12 recompute=none+selective+full sp=on+off "
         "schedule=1f1b+interleaved+zero-bubble vp=1+2+3 zero=0+1+2+3 "},
        {"transformer:layers=2,hidden=512,heads=16,vocabulary=1000,sequence=128", "128", 36,
         "tp=1+2+3+4+6+9+12 cp=1+2+3+4+6+9+12 pp=1+2+3+4 ep=1 microbatch=1+2+4+8+16+32+64 "
         "recompute=none+selective+full sp=on+off schedule=1f1b+interleaved+zero-bubble vp=1+2 zero=0+1+2+3 "},
        {"transformer:layers=4,hidden=512,heads=16,vocabulary=1000,sequence=128,experts=8,top_k=1", "4", 1,
         "tp=1 cp=1 pp=1 ep=1 microbatch=1+2+4 recompute=none+selective+full sp=on+off "
         "schedule=1f1b+interleaved+zero-bubble vp=1 zero=0+1+2+3 "}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = {0};
        rlt_layout_space s;
        char text[1000] = "";
        test_begin(&f);
        assert_int_equal(rlt_model_open(cases[i].model, &f.model, &f.err), 0);
        test_set(&f, "batch", cases[i].batch);
        assert_int_equal(rlt_layout_space_open(&f.t, cases[i].ranks, NULL, 0, &s, &f.err), 0);
        for (uint32_t a = 0; a + 1 < s.n; a++)
            for (uint32_t v = 0; v < s.axes[a].n; v++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s%s",
                         v ? "+" : s.axes[a].name, v ? "" : "=", s.axes[a].values[v],
                         v + 1 < s.axes[a].n ? "" : " ");
        assert_string_equal(text, cases[i].expected);
        assert_string_equal(s.axes[s.n - 1].name, "order");
        assert_int_equal(s.axes[s.n - 1].n, 24);
        assert_string_equal(s.axes[s.n - 1].values[0], "tp-cp-dp-pp");
        assert_string_equal(s.axes[s.n - 1].values[23], "pp-dp-cp-tp");
        assert_true(s.known[0] == 4 && s.known[1] == 7 && s.known[2] == 10 && s.known[3] == 11);
        rlt_layout_space_free(&s);
        rlt_model_free(&f.model);
    }
}

/* The sizes of an order that are above one, as digits. */
static uint32_t order_of(const rlt_training *t)
{
    uint32_t digits = 0;
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++)
        if (t->size[t->order[i]] > 1)
            digits = digits * 10 + t->order[i] + 1;
    return digits;
}

/* sp does not matter with tp 1; ZeRO below 3 not with one copy; the order not for sizes of one. */
static bool same(const rlt_training *a, const rlt_training *b)
{
    bool copy = a->size[RLT_AXIS_DP] == 1 && a->size[RLT_AXIS_CP] == 1 && a->ep == 1;
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++)
        if (a->size[i] != b->size[i])
            return false;
    if (a->ep != b->ep || a->vp != b->vp || a->microbatch != b->microbatch || a->batch != b->batch)
        return false;
    if (a->recompute != b->recompute || a->schedule != b->schedule || order_of(a) != order_of(b))
        return false;
    if (a->sequence_parallel != b->sequence_parallel && a->size[RLT_AXIS_TP] > 1)
        return false;
    return a->zero == b->zero || (copy && a->zero < 3 && b->zero < 3);
}

/* Draws trainings that differ in few settings. */
static void same_runs(void **state)
{
    static rlt_training planned[PLANNED];
    dice r = {.seed = 51};
    uint32_t alike = 0, others = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        rlt_layout_space all;
        rlt_layout_point p = {.bound_ps = 0};
        uint32_t n = 0;
        layouts_draw(&l, &r);
        assert_int_equal(rlt_layout_space_open(&l.f.t, l.ranks, NULL, 0, &all, &l.f.err), 0);
        for (uint32_t k = 0; k < 400 && n < PLANNED; k++) {
            rlt_error why = {0};
            for (uint32_t a = 0; a < all.n; a++)
                if (below(&r, n ? 5 : 1) == 0)
                    p.at[a] = (uint16_t)below(&r, all.axes[a].n);
            n += !rlt_layout_training(&all, &l.f.t, l.ranks, &p, &planned[n], &why);
        }
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++) {
                bool expected = same(&planned[a], &planned[b]);
                assert_true(rlt_layout_same_run(&planned[a], &planned[b]) == expected);
                *(expected ? &alike : &others) += a != b;
            }
        rlt_layout_space_free(&all);
        layouts_free(&l);
    }
    printf("# %u pairs are the same run, %u are not\n", alike, others);
    assert_true(alike > CASES && others > CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_values), cmocka_unit_test(same_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
