/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measured runs from tables: columns at random in any order, which settings and trainings they say, and what is refused,
 * as a whole text. Memory comes from a walk over layouts.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/measured.h"
#include "workload/training/training.h"

static const search_words space = {.topology = "switch:4@300GB/s,500ns*switch:2@25GB/s,2us",
                                   .model =
                                       "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
                                   .layout = "cp=1,vp=1,sp=on,order=tp-cp-dp-pp",
                                   .train = "batch=32,recompute=none,schedule=1f1b"};

/* Columns in any order and under any of their names, with cells left empty: the settings of each run, as text. */
static void random_columns(void **state)
{
    static const struct {
        const char *column, *setting, *values[3]; /* setting NULL: for people */
    } columns[] = {{"tp", "tp", {"1", "2", "4"}},
                   {"pp", "pp", {"1", "2", "1"}},
                   {"micro_batch", "microbatch", {"1", "2", "1"}},
                   {"microbatch", "microbatch", {"1", "2", "1"}},
                   {"global_batch", "batch", {"32", "64", "128"}},
                   {"batch", "batch", {"32", "64", "128"}},
                   {"sequence_parallel", "sp", {"on", "off", "on"}},
                   {"sharding", "zero", {"0", "1", "3"}},
                   {"n_gpus", "ranks", {"8", "8", "8"}},
                   {"n", "ranks", {"8", "8", "8"}},
                   {"model", NULL, {"a", "a", "a"}},
                   {"accelerator", NULL, {"b c", "b c", "b c"}},
                   {"gpu_system", NULL, {"d", "d", "d"}},
                   {"source", NULL, {"x", "", "z"}},
                   {"note", NULL, {"", "w", "v"}}};
    static const char *const times[] = {"seconds", "iteration_s", "iteration_time_s"};
    enum { COLUMNS = sizeof columns / sizeof *columns, ROWS = 3 };
    search_asked asked;
    rlt_layouts l;
    (void)state;
    search_open(&l, &asked, &space);
    for (uint64_t seed = 0; seed < 80; seed++) {
        dice d = {.seed = seed};
        char path[] = "/tmp/ringlet-runs-XXXXXX", text[2000] = "", want[ROWS][320] = {""};
        uint32_t at[COLUMNS], n = below(&d, 7), time = below(&d, n + 1);
        double seconds_of[ROWS];
        rlt_measured m;
        rlt_error err = {0};
        for (uint32_t i = 0; i < n; i++) { /* no setting twice */
            bool twice = true;
            while (twice) {
                at[i] = below(&d, COLUMNS);
                twice = false;
                for (uint32_t k = 0; k < i; k++)
                    twice = twice || at[k] == at[i] ||
                            (columns[at[k]].setting && columns[at[i]].setting &&
                             strcmp(columns[at[k]].setting, columns[at[i]].setting) == 0);
            }
        }
        for (uint32_t row = 0; row <= ROWS; row++)
            for (uint32_t i = 0; i <= n; i++) {
                size_t used = strlen(text);
                const char *end = i == n ? "\n" : ",";
                if (i == time && row) {
                    seconds_of[row - 1] = 0.001 * (1 + below(&d, 1000));
                    snprintf(text + used, sizeof text - used, "%.3f%s", seconds_of[row - 1], end);
                } else if (i == time) {
                    snprintf(text + used, sizeof text - used, "%s%s", times[below(&d, 3)], end);
                } else {
                    uint32_t c = at[i > time ? i - 1 : i];
                    const char *value = columns[c].values[below(&d, 3)];
                    value = columns[c].setting && below(&d, 4) == 0 ? "" : value;
                    snprintf(text + used, sizeof text - used, "%s%s", row ? value : columns[c].column, end);
                    char *to = want[row ? row - 1 : 0];
                    if (row && columns[c].setting && *value)
                        snprintf(to + strlen(to), 320 - strlen(to), "%s%s=%s", *to ? "," : "",
                                 columns[c].setting, value);
                }
            }
        test_write_new(path, text, strlen(text));
        if (rlt_measured_read(&l, path, &m, &err))
            fail_msg("%s%s: %s", text, err.where, err.what);
        assert_int_equal(m.n, ROWS);
        assert_string_equal(m.path, path);
        assert_true(m.factors.bandwidth >= 1 && m.factors.bandwidth <= 1 && m.factors.efficiency >= 1 &&
                    m.factors.efficiency <= 1 && m.factors.half_sizes >= 1 && m.factors.half_sizes <= 1);
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_int_equal(m.runs[i].line, i + 2);
            assert_string_equal(m.runs[i].settings, want[i]);
            assert_true(fabs(m.runs[i].measured_s - seconds_of[i]) < 1e-12);
        }
        unlink(path);
        rlt_measured_free(&m);
        assert_true(!m.runs && !m.n);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

/* A cell left empty is what the search has fixed, else the default; an axis with several values is not fixed. */
static void what_is_fixed(void **state)
{
    static const struct {
        const char *layout;
        uint32_t tp, pp;
    } rows[] = {{"tp=2,pp=2", 2, 2}, {"tp=2+4,pp=2", 1, 2}, {"tp=2,pp=1:4", 2, 1}, {"tp=auto,pp=4", 1, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-runs-XXXXXX", text[] = "seconds,tp,pp\n0.1,,\n0.1,4,\n0.1,,2\n";
        search_asked asked;
        search_words w = space;
        rlt_layouts l;
        rlt_measured m;
        rlt_error err = {0};
        w.layout = rows[i].layout;
        test_write_new(path, text, sizeof text - 1);
        search_open(&l, &asked, &w);
        if (rows[i].pp == 4) /* no room for the second run: 4 x 4 ranks on 8 */
            assert_int_equal(rlt_measured_read(&l, path, &m, &err), RLT_ESCHEMA);
        else
            assert_int_equal(rlt_measured_read(&l, path, &m, &err), 0);
        for (uint32_t k = 0; k < m.n; k++) {
            rlt_training t;
            assert_int_equal(rlt__measured_training(&l, &m, &m.runs[k], &t, &err), 0);
            assert_int_equal(t.size[RLT_AXIS_TP], k == 1 ? 4 : rows[i].tp);
            assert_int_equal(t.size[RLT_AXIS_PP], k == 2 ? 2 : rows[i].pp);
            assert_int_equal(t.size[RLT_AXIS_DP], 8 / t.size[RLT_AXIS_TP] / t.size[RLT_AXIS_PP]);
        }
        unlink(path);
        rlt_measured_free(&m);
        rlt_layouts_close(&l);
        rlt_parsed_free(&asked.args);
    }
}

/* An estimate may be a quarter above the memory of a run that did fit, not more. */
static void memory_of_runs(void **state)
{
    static search_walk one;
    search_words w = space;
    uint32_t refused = 0, beyond = 0;
    (void)state;
    w.model = "transformer:layers=32,hidden=4096,heads=32,vocabulary=32000,sequence=2048";
    for (uint32_t i = 0; i < 24; i++) {
        char path[] = "/tmp/ringlet-runs-XXXXXX", text[120], layout[120], train[120], what[200], where[60];
        uint32_t microbatch = 1 + i % 8, tp = 1u << i / 8;
        search_asked asked;
        rlt_layouts l;
        rlt_measured m;
        rlt_error err = {0};
        snprintf(layout, sizeof layout, "cp=1,vp=1,sp=on,order=tp-cp-dp-pp,tp=%u,pp=1", tp);
        snprintf(train, sizeof train, "batch=%u,recompute=none,schedule=1f1b,zero=1,microbatch=%u",
                 8 / tp * microbatch, microbatch);
        int n = snprintf(text, sizeof text, "seconds,tp,pp,zero,microbatch\n5,%u,1,1,%u\n", tp, microbatch);
        w.layout = layout;
        w.train = train;
        search_all(&w, -1000, &one);
        assert_int_equal(one.n, 1);
        w.layout = space.layout;
        snprintf(train, sizeof train, "batch=%u,recompute=none,schedule=1f1b", 8 / tp * microbatch);
        search_open(&l, &asked, &w);
        test_write_new(path, text, (size_t)n);
        double has = (double)l.run.accelerator.memory_bytes, needs = one.points[0].memory_bytes;
        int rc = rlt_measured_read(&l, path, &m, &err);
        if (needs > 1.25 * has) {
            snprintf(what, sizeof what,
                     "needs %.1f GB of %.1f: is it a run of another model, or of other settings?",
                     needs / 1e9, has / 1e9);
            snprintf(where, sizeof where, "%s:2: memory", path);
            assert_int_equal(rc, RLT_ERANGE);
            assert_string_equal(err.what, what);
            assert_string_equal(err.where, where);
        } else {
            assert_int_equal(rc, 0);
        }
        refused += needs > 1.25 * has;
        beyond += rc == 0 && needs > has;
        unlink(path);
        rlt_measured_free(&m);
        rlt_layouts_close(&l);
        rlt_parsed_free(&asked.args);
    }
    if (!refused || !beyond)
        fail_msg("%u refused, %u beyond", refused, beyond);
}

/* Settings of a run have 319 characters. */
static void long_settings(void **state)
{
    search_asked asked;
    rlt_layouts l;
    (void)state;
    search_open(&l, &asked, &space);
    for (int length = 315; length < 319; length++) {
        char path[] = "/tmp/ringlet-runs-XXXXXX", text[400];
        rlt_measured m;
        rlt_error err = {0};
        int n = snprintf(text, sizeof text, "tp,seconds\n%0*d,0.1\n", length, 2);
        test_write_new(path, text, (size_t)n);
        assert_int_equal(rlt_measured_read(&l, path, &m, &err), RLT_EMALFORMED);
        assert_int_equal(strcmp(err.what, "tp: is too long, or has a comma") == 0, length > 316);
        unlink(path);
        rlt_measured_free(&m);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

/* Names that are as long as 63 characters are compared; what comes behind these is not. */
static void long_names(void **state)
{
    search_asked asked;
    rlt_layouts l;
    (void)state;
    search_open(&l, &asked, &space);
    for (size_t at = 61; at < 66; at++) {
        char path[] = "/tmp/ringlet-runs-XXXXXX", text[400], names[2][81];
        rlt_measured m;
        rlt_error err = {0};
        for (int i = 0; i < 2; i++) {
            memset(names[i], 'a', 80);
            names[i][80] = '\0';
        }
        names[1][at] = 'b';
        int n = snprintf(text, sizeof text, "model,tp,seconds\n%s,1,0.1\n%s,2,0.1\n", names[0], names[1]);
        test_write_new(path, text, (size_t)n);
        assert_int_equal(rlt_measured_read(&l, path, &m, &err), at < 63 ? RLT_EMALFORMED : 0);
        unlink(path);
        rlt_measured_free(&m);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

static void wrong_files(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *where, *what;
    } rows[] = {
        {"tp,speed,seconds\n1,2,3\n", RLT_ESCHEMA, ":1",
         "column 'speed' is no setting of a training: expected seconds, tp, pp, dp, cp, ep, vp, microbatch, batch, "
         "recompute, zero, ... ('ringlet list training' shows all)"},
        {"tp,pp\n1,2\n", RLT_ESCHEMA, ":1", "no column has the measured times: expected seconds"},
        {"tp,seconds\n1,0.1\n2,fast\n", RLT_EMALFORMED, ":3:3",
         "seconds: expected the seconds of an iteration, got 'fast'"},
        {"tp,seconds\n1,0\n", RLT_EMALFORMED, ":2:3",
         "seconds: expected the seconds of an iteration, got '0'"},
        {"tp,seconds\n1,-1\n", RLT_EMALFORMED, ":2:3",
         "seconds: expected the seconds of an iteration, got '-1'"},
        {"tp,iteration_s\n1,1000001\n", RLT_EMALFORMED, ":2:3",
         "iteration_s: expected the seconds of an iteration, got '1000001'"},
        {"tp,seconds\nmany,0.1\n", RLT_EMALFORMED, ":2", ""},
        {"tp,seconds\n3,0.1\n", RLT_ESCHEMA, ":2", "tp 3"},
        {"tp,dp,seconds\n8,8,0.1\n", 0, ":2", "64"},
        {"model,tp,seconds\na,1,0.1\nb,1,0.2\n", RLT_EMALFORMED, ":3:1",
         "model: the runs must be of one, 'a', not also 'b'"},
        {"tp,gpu_system,seconds\n1,x,0.1\n1,y,0.2\n", RLT_EMALFORMED, ":3:3",
         "gpu_system: the runs must be of one, 'x', not also 'y'"},
        {"tp,seconds\n", RLT_EMALFORMED, "", "has no runs"},
        {"tp,seconds\n\"1,2\",0.1\n", RLT_EMALFORMED, ":2:1", "tp: is too long, or has a comma"},
        {"", 0, "", ""}};
    search_asked asked;
    rlt_layouts l;
    (void)state;
    search_open(&l, &asked, &space);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-runs-XXXXXX", where[80];
        rlt_measured m;
        rlt_error err = {0};
        test_write_new(path, rows[i].text, strlen(rows[i].text));
        int rc = rlt_measured_read(&l, path, &m, &err);
        snprintf(where, sizeof where, "%s%s", path, rows[i].where);
        if (rc >= 0 || (rows[i].code && rc != rows[i].code) ||
            strncmp(err.where, where, strlen(where)) != 0 || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        if (strcmp(err.what, rows[i].what) == 0) /* the whole reason, so the whole place */
            assert_string_equal(err.where, where);
        unlink(path);
        rlt_measured_free(&m);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_columns), cmocka_unit_test(what_is_fixed), cmocka_unit_test(memory_of_runs),
        cmocka_unit_test(long_settings),  cmocka_unit_test(long_names),    cmocka_unit_test(wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
