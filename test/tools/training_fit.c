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

/* Four groups: level 0.8 (1 + 1/4) = 1, the largest. Nine: 0.889 of nine, the eighth. */
static void levels(void **state)
{
    rlt_train_like like = {NULL, "s", true, RLT_LEAVE_GROUP, NULL};
    (void)state;
    rlt_train_rows t = make_rows(4);
    near(rlt_train_spread(&t, &like).high, 1.04);
    near(rlt_train_spread(&t, &like).low, 1 / 1.04);
    t = make_rows(9);
    near(rlt_train_spread(&t, &like).high, 1.08);
    like.without = &rows[8]; /* eight groups: 0.9 of them, the last of those that are left */
    near(rlt_train_spread(&t, &like).high, 1.08);
    like.dense = false;
    assert_true(rlt_train_spread(&t, &like).low == 0);
}

/* The same accelerator and stack weigh three times. Nine groups: level 0.889. The last, the largest, weighs 3
 * of 11, and the eight below it do not reach 9.8. A stack in common alone: 2 of 10, and they do not reach 8.9.
 * Nothing in common: 8 of 9 is reached. */
static void weights(void **state)
{
    rlt_train_like like = {&machines[8], "s", true, RLT_LEAVE_GROUP, NULL};
    (void)state;
    rlt_train_rows t = make_rows(9);
    for (int i = 0; i < 8; i++)
        strcpy(rows[i].training.stack, "other");
    near(rlt_train_spread(&t, &like).high, 1.09);
    rlt_accelerator stranger = {.name = "stranger"};
    like.accelerator = &stranger;
    near(rlt_train_spread(&t, &like).high, 1.09);
    like.stack = "none";
    near(rlt_train_spread(&t, &like).high, 1.08);
    /* Two rows in a group weigh one half each. Eight groups: level 0.9, 7.2 of 8; seven rows reach 7, and half a
     * row more 7.5. */
    rows[8].group = 7;
    near(rlt_train_spread(&t, &like).high, 1.08);
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
