/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of runs left out of a fit, and the ranking of layouts, against figures worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"

enum { ROWS = 9 };

static rlt_accelerator machines[ROWS];
static rlt_train_row rows[ROWS];

/* Makes runs of machines "a", "b", ... with one run each, measured at 1 s; run i was predicted to be off by
 * the factor 1 + 0.01 (i + 1). */
static rlt_train_rows make_rows(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        machines[i] = (rlt_accelerator){.name = {(char)('a' + i)}};
        rows[i] = (rlt_train_row){.group = i, .machine = i, .dense = true, .measured_s = 1};
        rows[i].training.accelerator = &machines[i];
        strcpy(rows[i].training.stack, "s");
        rows[i].left_out_s[RLT_LEAVE_GROUP] = 1 + 0.01 * (i + 1);
    }
    return (rlt_train_rows){.rows = rows, .n = n};
}

static void near(double x, double expected)
{
    if (fabs(x - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g, expected %.12g", x, expected);
}

/* Four groups: 3.2 of them, the last. Nine: 7.2, the eighth. */
static void levels(void **state)
{
    rlt_train_like like = {NULL, "s", true, RLT_LEAVE_GROUP, NULL};
    (void)state;
    rlt_train_rows t = make_rows(4);
    near(rlt_train_spread(&t, &like).high, 1.04);
    near(rlt_train_spread(&t, &like).low, 1 / 1.04);
    t = make_rows(9);
    near(rlt_train_spread(&t, &like).high, 1.08);
    like.without = &rows[6]; /* 6.4 of the eight others: the seventh of them */
    near(rlt_train_spread(&t, &like).high, 1.08);
    like.without = &rows[8];
    near(rlt_train_spread(&t, &like).high, 1.07);
    like.dense = false;
    assert_true(rlt_train_spread(&t, &like).low == 0);
}

/* The last of six is the largest. The same accelerator and stack weigh three times: 3 of 8, and the five below
 * do not reach 6.4. A stack in common alone: 2 of 7, they do not reach 5.6. Nothing in common: they reach
 * 4.8. */
static void weights(void **state)
{
    rlt_train_like like = {&machines[5], "s", true, RLT_LEAVE_GROUP, NULL};
    (void)state;
    rlt_train_rows t = make_rows(6);
    for (int i = 0; i < 5; i++)
        strcpy(rows[i].training.stack, "other");
    near(rlt_train_spread(&t, &like).high, 1.06);
    rlt_accelerator stranger = {.name = "stranger"};
    like.accelerator = &stranger;
    near(rlt_train_spread(&t, &like).high, 1.06);
    like.stack = "none";
    near(rlt_train_spread(&t, &like).high, 1.05);
    strcpy(stranger.generation, "g");
    strcpy(machines[5].generation, "g");
    near(rlt_train_spread(&t, &like).high, 1.06);
    /* Two rows in a group weigh one half each: of nine rows in eight groups, the seventh reaches 6.4. */
    t = make_rows(9);
    rows[8].group = 7;
    near(rlt_train_spread(&t, &like).high, 1.07);
}

static void together(void **state)
{
    (void)state;
    (void)make_rows(3);
    strcpy(machines[0].generation, "g");
    strcpy(machines[1].generation, "g");
    strcpy(rows[0].source, "p");
    strcpy(rows[2].source, "p");
    rows[1].source[0] = 'q';
    assert_true(rlt_train_together(RLT_LEAVE_GENERATION, &rows[0], &rows[1]));
    assert_false(rlt_train_together(RLT_LEAVE_GENERATION, &rows[0], &rows[2]));
    assert_true(rlt_train_together(RLT_LEAVE_GENERATION, &rows[2], &rows[2]));
    assert_false(rlt_train_together(RLT_LEAVE_ACCELERATOR, &rows[0], &rows[1]));
    assert_true(rlt_train_together(RLT_LEAVE_SOURCE, &rows[0], &rows[2]));
    assert_false(rlt_train_together(RLT_LEAVE_GROUP, &rows[0], &rows[2]));
    assert_false(rlt_train_together(RLT_LEAVE_ROW, &rows[0], &rows[1]));
}

/* Of six pairs, five are in order and one is not: tau = 4/6. The pick costs 11 s where 10 s is the least. */
static void rankings(void **state)
{
    static const double measured[] = {10, 11, 12, 13}, time[] = {6, 5, 7, 8}, equal[] = {1, 1, 1, 1};
    (void)state;
    rlt_ranking r = rlt_ranking_of(measured, time, 4);
    near(r.tau, 4.0 / 6);
    near(r.regret, 0.1);
    near(rlt_ranking_of(measured, measured, 4).tau, 1);
    assert_true(rlt_ranking_of(measured, measured, 4).regret == 0);
    assert_true(rlt_ranking_of(measured, equal, 4).tau == 0);
    assert_true(rlt_ranking_of(measured, time, 0).tau == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(weights),
        cmocka_unit_test(together),
        cmocka_unit_test(rankings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
