/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ranks as mixed-radix numbers of their places, with and without folded axes, beside a count from 0 on; the distance
 * between neighbours; the speeds that folded ranks take over; and which layouts are refused, with the whole text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/locate.h"
#include "workload/training/training.h"

enum { CASES = 300, MOST = 256 };

static void draw(rlt_training *t, dice *d)
{
    *t = rlt_training_default();
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        t->size[i] = 1 + below(d, 4);
        t->order[i] = (rlt_axis)i;
    }
    for (uint32_t i = RLT_AXES_OF_LAYOUT; i-- > 1;) {
        uint32_t k = below(d, i + 1);
        rlt_axis a = t->order[i];
        t->order[i] = t->order[k];
        t->order[k] = a;
    }
}

/* Moves to the next place: the innermost axis that is not at its end counts up, those inside it begin again. */
static bool count_up(const rlt_training *t, uint32_t folds, uint32_t *at)
{
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        rlt_axis a = t->order[i];
        if (!(folds >> a & 1) && ++at[a] < t->size[a])
            return true;
        at[a] = 0;
    }
    return false;
}

static void places_count_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_training t;
        draw(&t, &d);
        uint32_t folds = below(&d, 2) ? below(&d, 1u << RLT_AXES_OF_LAYOUT) : 0;
        uint32_t at[RLT_AXES_OF_LAYOUT] = {0}, got[RLT_AXES_OF_LAYOUT], rank = 0;
        do {
            if (!folds) {
                rlt_training_place(&t, rank, got);
                assert_memory_equal(got, at, sizeof at);
                assert_int_equal(rlt_training_rank(&t, at), rank);
            }
            rlt_folded_place(&t, folds, rank, got);
            assert_memory_equal(got, at, sizeof at);
            for (uint32_t a = 0; a < RLT_AXES_OF_LAYOUT; a++)
                got[a] = folds >> a & 1 ? below(&d, t.size[a]) : at[a]; /* a folded axis does not count */
            assert_int_equal(rlt_folded_rank(&t, folds, got), rank);
            rank++;
        } while (count_up(&t, folds, at));
        assert_int_equal(rlt_folded_ranks(&t, folds), rank);
        if (!folds)
            assert_int_equal(rlt_training_ranks(&t), rank);
    }
}

static void strides(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_training t;
        draw(&t, &d);
        for (uint32_t a = 0; a < RLT_AXES_OF_LAYOUT; a++) {
            uint32_t at[RLT_AXES_OF_LAYOUT] = {0};
            t.size[a] += t.size[a] == 1;
            at[a] = 1;
            assert_int_equal(rlt_training_stride(&t, (rlt_axis)a), rlt_training_rank(&t, at));
        }
    }
}

/* Each rank that is kept gets the least speed of all ranks that it stands for; also in place. */
static void speeds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        static const uint32_t some[] = {0, RLT_FOLD_PLANES, RLT_FOLD_STAGES};
        dice d = {.seed = seed};
        rlt_training t;
        double speed[MOST + 1], out[MOST + 1], want[MOST];
        draw(&t, &d);
        uint32_t folds = some[below(&d, 3)], kept = rlt_folded_ranks(&t, folds), n = rlt_training_ranks(&t);
        for (uint32_t r = 0; r <= n; r++)
            speed[r] = r < n ? 0.5 + fraction(&d) : 0.1;
        for (uint32_t k = 0; k < kept; k++) {
            want[k] = 9;
            for (uint32_t r = 0; r < n; r++) {
                uint32_t at[RLT_AXES_OF_LAYOUT];
                rlt_training_place(&t, r, at);
                if (rlt_folded_rank(&t, folds, at) == k && speed[r] < want[k])
                    want[k] = speed[r];
            }
        }
        for (uint32_t k = 0; k <= n; k++)
            out[k] = 7;
        rlt_folded_speeds(&t, folds, speed, out);
        assert_memory_equal(out, want, kept * sizeof *want);
        rlt_folded_speeds(&t, folds, speed, speed);
        assert_memory_equal(speed, want, kept * sizeof *want);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *layout;
        uint32_t ranks;
        int code;
        const char *text;
    } rows[] = {
        {"tp=2,pp=2", 8, 0, ""},
        {"tp=2,dp=4", 8, 0, ""},
        {"tp=2,pp=2", 10, RLT_ESCHEMA,
         "layout: 10 ranks are not a multiple of tp 2 x cp 1 x pp 2; dp=2 would use 8 of them"},
        {"tp=4,pp=2", 6, RLT_ESCHEMA, "layout: 6 ranks are not a multiple of tp 4 x cp 1 x pp 2"},
        {"tp=2,cp=2,dp=3,pp=2", 23, RLT_ERANGE,
         "layout: tp 2 x cp 2 x dp 3 x pp 2 = 24 ranks exceed the 23 ranks available"},
        {"tp=2,cp=2,dp=3,pp=2", 24, 0, ""},
        {"tp=2,dp=3,ep=2", 6, 0, ""},
        {"dp=4,ep=3", 4, RLT_ESCHEMA, "layout: ep 3 does not divide cp 1 x dp 4, nor these x tp 1 (etp=1)"},
        {"tp=4,dp=2,etp=3", 8, RLT_ESCHEMA, "layout: etp 3 does not divide tp 4"},
        {"tp=4,dp=2,ep=8,etp=2", 8, RLT_ESCHEMA, "layout: etp 2 x ep 8 do not divide tp 4 x cp 1 x dp 2"},
        {"tp=4,ep=2,dp=2", 8, RLT_ESCHEMA, "ep: NAME has no experts: expected ep=1"},
        {"tp=4,etp=2,dp=2", 8, RLT_ESCHEMA, "etp: NAME has no experts: expected no etp"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_training t = rlt_training_default();
        rlt_accelerator accelerator;
        rlt_model m;
        rlt_error err = {0};
        char want[300], got[1600];
        bool dense = strstr(rows[i].text, "NAME") != NULL;
        const char *name = dense ? "transformer:layers=4,hidden=64,heads=8"
                                 : "transformer:layers=4,hidden=64,heads=8,experts=8";
        assert_int_equal(rlt_model_open(name, &m, &err), 0);
        assert_int_equal(rlt_find_accelerator(RLT_DEFAULT_ACCELERATOR, &accelerator, &err), 0);
        t.model = &m;
        t.accelerator = &accelerator;
        assert_int_equal(rlt_training_apply(&t, rows[i].layout, "", &err), 0);
        int rc = rlt_training_plan(&t, rows[i].ranks, &err);
        snprintf(got, sizeof got, "%s%s%s", err.where, rc ? ": " : "", err.what);
        snprintf(want, sizeof want, "%.*s%s%s",
                 dense ? (int)(strstr(rows[i].text, "NAME") - rows[i].text) : 299, rows[i].text,
                 dense ? m.name : "", dense ? strstr(rows[i].text, "NAME") + 4 : "");
        if (rc != rows[i].code || strcmp(got, want) != 0)
            fail_msg("%s of %u: %d: '%s', not '%s'", rows[i].layout, rows[i].ranks, rc, got, want);
        rlt_model_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_count_up), cmocka_unit_test(strides),
                                       cmocka_unit_test(speeds), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
