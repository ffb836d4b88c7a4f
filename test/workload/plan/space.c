/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spaces of layouts: texts of axes, errors by name, and points that stand for others, by hand. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/trainings/training.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

/* A training of 4 blocks and 24 samples. Without experts or context. */
static void begin(fixture *f)
{
    *f = (fixture){.err = {0}};
    test_blocks(&f->model, 4);
    test_begin(f);
    test_set(f, "batch", "24");
}

static uint32_t axis_of(const rlt_layout_space *s, const char *name)
{
    uint32_t i = 0;
    while (strcmp(s->axes[i].name, name) != 0)
        i++;
    return i;
}

/* Writes the values that a text gives an axis, "1+2", or the place and text of the error. */
static const char *values_of(uint32_t ranks, const char *given, const char *name)
{
    static char text[2048];
    fixture f;
    rlt_layout_space s;
    int n = 0;
    begin(&f);
    if (rlt_layout_space_open(&f.t, ranks, &given, 1, &s, &f.err)) {
        assert_true(f.err.code == RLT_EUSAGE || f.err.code == RLT_EMALFORMED);
        snprintf(text, sizeof text, "%s: %s", f.err.where, f.err.what);
    } else {
        const rlt_layout_axis *a = &s.axes[axis_of(&s, name)];
        for (uint32_t i = 0; i < a->n; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? "+" : "", a->values[i]);
    }
    rlt_layout_space_free(&s);
    rlt_model_free(&f.model);
    return text;
}

static void texts(void **state)
{
    (void)state;
    assert_string_equal(values_of(12, "tp=4+1+12", "tp"), "4+1+12");
    assert_string_equal(values_of(12, "tp=auto", "tp"), "1+2+3+4+6+12");
    assert_string_equal(values_of(12, "tp=2:6", "tp"), "2+3+4+6");
    assert_string_equal(values_of(7, "tp=auto", "tp"), "1+7");
    assert_string_equal(values_of(12, "tp=1", "pp"), "1+2+3+4+6"); /* 4 blocks, and 2 more stages */
    assert_string_equal(values_of(6, "tp=1", "pp"), "1+2+3+6");
    assert_string_equal(values_of(7, "tp=1", "pp"), "1");
    assert_string_equal(values_of(12, "tp=1", "cp"), "1"); /* nothing is exchanged */
    assert_string_equal(values_of(12, "tp=1", "ep"), "1");
    assert_string_equal(values_of(12, "tp=1", "vp"), "1+2+3");
    assert_string_equal(values_of(1, "tp=1", "vp"), "1");
    assert_string_equal(values_of(12, "tp=1", "microbatch"), "1+2+3+4+6+8+12+24");
    assert_string_equal(values_of(12, "microbatch=5:8", "microbatch"), "6+8");
    assert_string_equal(values_of(12, "zero=3+1", "zero"), "3+1");
    assert_string_equal(values_of(12, "schedule=gpipe+1f1b", "schedule"), "gpipe+1f1b");
    assert_string_equal(values_of(12, "etp=1+2", "etp"), "1+2");
    assert_string_equal(values_of(12, "order=pp-tp+tp", "order"), "pp-tp+tp");
}

static void assert_refused(const char *given, const char *where, const char *what)
{
    const char *text = values_of(12, given, "tp");
    size_t n = strlen(where);
    if (strncmp(text, where, n) != 0 || text[n] != ':' || !strstr(text, what))
        fail_msg("%s: '%s', expected %s: ... %s", given, text, where, what);
}

static void errors(void **state)
{
    (void)state;
    assert_refused("width=2", "width", "no axis");
    assert_refused("dp=2", "dp", "no axis");
    assert_refused("tp", "tp", "no axis");
    assert_refused("tpx=2", "tpx", "no axis");
    assert_refused("tp=two", "tp", "two");
    assert_refused("tp=0", "tp", "0");
    assert_refused("tp=", "tp", "");
    assert_refused("tp=2+", "tp", "");
    assert_refused("tp=2++4", "tp", "");
    assert_refused("schedule=3f5b", "schedule", "3f5b");
    assert_refused("zero=4", "zero", "4");
    assert_refused("zero=1:3", "zero", "1:3"); /* a list of words */
    assert_refused("sp=maybe", "sp", "maybe");
    assert_refused("order=tp-xp", "order", "tp-xp");
    assert_refused("order=auto+tp", "order", "auto");
    assert_refused("tp=1+auto", "tp", "auto");
    assert_refused("tp=8:2", "tp", "no value from 8:2");
    assert_refused("tp=5:5", "tp", "no value from 5:5 that can be tried on 12 ranks");
    assert_refused("tp=1:", "tp", "");
    assert_refused("tp=:4", "tp", "");
    assert_refused("tp=2+4+2", "tp", "'2' twice");
    assert_refused("tp=2+02", "tp", "'02' twice");
    assert_refused("order=tp-cp+tp-cp-dp-pp", "order", "twice");
    assert_refused("tp=000000000000000000000000000002", "tp", "longer than 23 characters");
    assert_refused("tp=000000000000000000000000000002:4", "tp", "longer than 23 characters");
}

static void without_batch(void **state)
{
    fixture f;
    rlt_layout_space s;
    const char *given = "microbatch=2";
    (void)state;
    begin(&f);
    f.t.batch = 0;
    assert_int_equal(rlt_layout_space_open(&f.t, 4, NULL, 0, &s, &f.err), RLT_EUSAGE);
    assert_string_equal(f.err.where, "microbatch");
    assert_non_null(strstr(f.err.what, "set batch"));
    rlt_layout_space_free(&s);
    assert_int_equal(rlt_layout_space_open(&f.t, 4, &given, 1, &s, &f.err), 0);
    rlt_layout_space_free(&s);
    rlt_model_free(&f.model);
}

/* Returns 'n' for a point that is against a rule, 'r' for one that repeats another, else '.'. The point has the
 * last value of each axis. */
static char last_point(const char *one, const char *other, const char *third, const char *base,
                       const char *value)
{
    static const char *const fixed[] = {"tp=1",          "cp=1",           "pp=1",   "ep=1",
                                        "microbatch=1",  "recompute=none", "sp=off", "order=tp-cp-dp-pp",
                                        "schedule=1f1b", "vp=1",           "zero=0"};
    const char *given[sizeof fixed / sizeof *fixed + 3];
    uint32_t n = sizeof fixed / sizeof *fixed;
    fixture f;
    rlt_layout_space s;
    rlt_training t;
    rlt_layout_point p = {.bound_ps = 0};
    memcpy(given, fixed, sizeof fixed);
    given[n++] = one;
    given[n++] = other;
    given[n++] = third;
    begin(&f);
    if (base)
        test_set(&f, base, value);
    if (rlt_layout_space_open(&f.t, 4, given, n, &s, &f.err))
        fail_msg("%s: %s", f.err.where, f.err.what);
    for (uint32_t i = 0; i < s.n; i++)
        p.at[i] = (uint16_t)(s.axes[i].n - 1);
    char c = rlt_layout_training(&s, &f.t, 4, &p, &t, &f.err) ? 'n'
             : rlt_layout_repeats(&s, &t, &p)                 ? 'r'
                                                              : '.';
    rlt_layout_space_free(&s);
    rlt_model_free(&f.model);
    return c;
}

static void repeats(void **state)
{
    (void)state;
    /* Sequence parallelism without tensor parallelism, but not if the other value is against a rule. */
    assert_int_equal(last_point("tp=1", "sp=off+on", "zero=0", NULL, NULL), 'r');
    assert_int_equal(last_point("tp=2", "sp=off+on", "zero=0", NULL, NULL), '.');
    assert_int_equal(last_point("tp=1", "sp=off+on", "zero=0", "tp_overlap", "on"), '.');
    assert_int_equal(last_point("tp=1", "sp=on+off", "zero=0", "tp_overlap", "on"), 'n');
    /* ZeRO with one copy of the weights. */
    assert_int_equal(last_point("pp=4", "zero=0+1", "tp=1", NULL, NULL), 'r');
    assert_int_equal(last_point("pp=4", "zero=2+1", "tp=1", NULL, NULL), 'r');
    assert_int_equal(last_point("pp=4", "zero=0+3", "tp=1", NULL, NULL), '.');
    assert_int_equal(last_point("pp=2", "zero=0+1", "tp=1", NULL, NULL), '.');
    /* Schedules of one stage. */
    assert_int_equal(last_point("pp=1", "schedule=1f1b+interleaved", "vp=1", NULL, NULL), 'r');
    assert_int_equal(last_point("pp=1", "schedule=1f1b+interleaved", "vp=1+2", NULL, NULL), 'r');
    assert_int_equal(last_point("pp=1", "schedule=1f1b+interleaved", "vp=2", NULL, NULL), '.');
    assert_int_equal(last_point("pp=1", "schedule=interleaved", "vp=1+2", NULL, NULL), '.');
    assert_int_equal(last_point("pp=1", "schedule=1f1b", "vp=1+2", NULL, NULL), 'n');
    assert_int_equal(last_point("pp=1", "schedule=gpipe+1f1b", "vp=1", NULL, NULL),
                     '.'); /* needs less memory */
    assert_int_equal(last_point("pp=2", "schedule=1f1b+interleaved", "vp=1", NULL, NULL), '.');
    /* Orders: axes of size 1 may stand anywhere. */
    assert_int_equal(last_point("order=tp-dp-pp-cp+cp-tp-dp-pp", "pp=2", "tp=2", NULL, NULL), 'r');
    assert_int_equal(last_point("order=tp-dp-pp-cp+pp-dp-tp-cp", "pp=2", "tp=2", NULL, NULL), '.');
    assert_int_equal(last_point("order=tp-dp-pp-cp+pp-dp-tp-cp", "pp=4", "tp=1", NULL, NULL), 'r');
    assert_int_equal(last_point("order=tp-dp-pp-cp+pp-dp-tp-cp", "pp=2", "tp=1", NULL, NULL), '.');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(errors),
                                       cmocka_unit_test(without_batch), cmocka_unit_test(repeats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
