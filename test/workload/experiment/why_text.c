/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why no layout can run, word for word, for settings at random. The text is put together here, from walks over rules
 * and memory (workload/plan/fits.h) with settings left out: one after the other for a conflict; for memory each alone,
 * then in pairs, then all.
 */
#include "workload/experiment/layouts/why.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/fits.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { TEXT = 2000, MOST = 12 };

typedef struct asking {
    char layout[200], train[200];
    const char *strategy, *model;
    search_asked asked;
    rlt_layouts l;
} asking;

/* A setting of --layout or --train with some of its values, in one form or another. */
static void draw_axes(asking *a, dice *d, uint32_t of_10)
{
    static const struct {
        const char *name, *forms[6];
        bool of_train;
    } axes[] = {{"tp", {"1", "2", "4", "3", "2+4", "8"}, false},
                {"pp", {"1", "2", "4", "3", "2:4", "5"}, false},
                {"cp", {"1", "2", "4", "3", "1+3", "auto"}, false},
                {"vp", {"1", "2", "1", "1", "1:2", "3"}, false},
                {"microbatch", {"1", "2", "5", "8", "auto", "4"}, true},
                {"zero", {"0", "1", "2", "3", "auto", "0+1"}, true},
                {"recompute", {"none", "full", "none", "selective", "none+full", "auto"}, true},
                {"schedule", {"1f1b", "1f1b", "gpipe", "interleaved", "1f1b", "auto"}, true}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        char *text = axes[i].of_train ? a->train : a->layout;
        size_t used = strlen(text);
        if (below(d, 10) < of_10)
            snprintf(text + used, 200 - used, "%s%s=%s", used ? "," : "", axes[i].name,
                     axes[i].forms[below(d, 6)]);
    }
    if (below(d, 4) == 0) {
        size_t used = strlen(a->layout);
        snprintf(a->layout + used, 200 - used, "%sdp=%u", used ? "," : "", 1 + below(d, 4));
    }
}

static void draw(asking *a, dice *d, uint32_t of_10)
{
    static const char *const strategies[] = {"megatron", "torchtitan", "ddp", "zero2", "megatron:zero=2"};
    static const uint32_t batches[] = {4, 6, 7, 12, 16};
    *a = (asking){.model = "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256"};
    snprintf(a->train, sizeof a->train, "batch=%u%s", batches[below(d, 5)],
             below(d, 8) ? "" : ",offload=on,overlap=off");
    draw_axes(a, d, of_10);
    if (below(d, 2))
        a->strategy = strategies[below(d, 5)];
}

static void open_search(asking *a)
{
    const search_words w = {.topology = "switch:2@200GB/s,300ns*switch:2@20GB/s,2us",
                            .model = a->model,
                            .layout = *a->layout ? a->layout : NULL,
                            .train = a->train,
                            .strategy = a->strategy};
    search_open(&a->l, &a->asked, &w);
    assert_true(a->l.n_given <= MOST);
}

static void close_search(asking *a)
{
    rlt_layouts_close(&a->l);
    rlt_parsed_free(&a->asked.args);
}

/* ---- settings left out ---- */

typedef struct found {
    rlt_layout_fit fit;
    rlt_training training;
} found;

/* The layouts without settings, one bit for each. */
static found left_out(const asking *a, uint32_t bits, double room)
{
    found f = {0};
    rlt_layout_space space;
    rlt_error err = {0};
    const char *left[MOST];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->l.n_given; i++)
        if (!(bits & 1u << i))
            left[n++] = a->l.given[i];
    const rlt_training *base = &a->l.run.training;
    if (rlt_layout_space_open(base, 4, left, n, &space, &err) ||
        rlt_layout_first_fit(&space, base, 4, room, NULL, &f.fit, &err) ||
        (f.fit.possible && rlt_layout_training(&space, base, 4, &f.fit.point, &f.training, &err)))
        fail_msg("%s %s: %s: %s", a->layout, a->train, err.where, err.what);
    rlt_layout_space_free(&space);
    return f;
}

static bool is_open(const char *setting)
{
    size_t n = strlen(setting);
    return n > 5 && strcmp(setting + n - 5, "=auto") == 0;
}

static void say(char *text, const char *more)
{
    size_t used = strlen(text);
    assert_true(used + strlen(more) < TEXT);
    memcpy(text + used, more, strlen(more) + 1);
}

/* "tp=2, zero=1 of megatron and batch=7" */
static void say_settings(const asking *a, uint32_t bits, const char *other, char *text)
{
    static const struct {
        const char *strategy, *settings[2];
    } of[] = {{"megatron", {"zero=1", "schedule=1f1b"}},
              {"torchtitan", {"zero=3", "sp=on"}},
              {"ddp", {"zero=0", "zero=0"}},
              {"zero2", {"zero=2", "zero=2"}}};
    uint32_t n = (uint32_t)__builtin_popcount(bits) + (other != NULL), said = 0;
    for (uint32_t i = 0; i < a->l.n_given; i++) {
        if (!(bits & 1u << i))
            continue;
        say(text, said == 0 ? "" : said + 1 == n ? " and " : ", ");
        say(text, a->l.given[i]);
        said++;
        for (size_t k = 0; a->strategy && k < sizeof of / sizeof *of; k++)
            if (strncmp(a->strategy, of[k].strategy, strlen(of[k].strategy)) == 0 &&
                (strcmp(a->l.given[i], of[k].settings[0]) == 0 ||
                 strcmp(a->l.given[i], of[k].settings[1]) == 0)) {
                say(text, " of ");
                say(text, of[k].strategy);
            }
    }
    if (other) {
        say(text, said ? " and " : "");
        say(text, other);
    }
}

/* ---- conflicts ---- */

/* What a rule is about beside settings. A single setting goes with it; several do if it was asked for, too. */
static bool find_other(const asking *a, const char *where, bool one, char *other)
{
    const uint32_t dp = a->l.run.training.size[RLT_AXIS_DP];
    bool of_ranks = strcmp(where, "layout") == 0 || strcmp(where, "ranks") == 0;
    if (strcmp(where, "batch") == 0)
        snprintf(other, 100, "batch=%llu", (unsigned long long)a->l.run.training.batch);
    else if (of_ranks && dp)
        snprintf(other, 100, "dp=%u on 4 accelerators", dp);
    else if (of_ranks && one)
        snprintf(other, 100, "4 accelerators");
    else if (one && strlen(where) == 2 && strchr("tcpe", where[0]) && where[1] == 'p')
        snprintf(other, 100, "the model %s", a->l.run.training.model->name);
    else
        return false;
    return true;
}

static void expected_conflict(const asking *a, char *text)
{
    uint32_t out = 0, kept = 0;
    rlt_error rule = left_out(a, 0, 1e30).fit.why;
    char other[100];
    for (uint32_t i = 0; i < a->l.n_given; i++) {
        rlt_layout_fit fit = left_out(a, out | 1u << i, 1e30).fit;
        if (fit.possible) {
            kept |= 1u << i;
        } else {
            out |= 1u << i;
            rule = fit.why;
        }
    }
    *text = '\0';
    if (!kept) {
        snprintf(text, TEXT, "no layout of %s is possible: %s%s%s", a->l.run.training.model->name, rule.where,
                 *rule.where ? ": " : "", rule.what);
        return;
    }
    bool one = __builtin_popcount(kept) == 1, with = find_other(a, rule.where, one, other);
    say_settings(a, kept, with ? other : NULL, text);
    say(text, one && !with ? " is not possible: " : " cannot go together: ");
    say(text, rule.what);
}

static void conflicts_word_for_word(void **state)
{
    uint32_t seen[4] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < 350; seed++) {
        dice d = {.seed = seed};
        asking a;
        char want[TEXT];
        rlt_error err = {0};
        const rlt_layout_search how = {.headroom = 0};
        draw(&a, &d, 2 + (uint32_t)seed % 5);
        open_search(&a);
        bool possible = left_out(&a, 0, 1e30).fit.possible;
        int rc = rlt_layouts_why(&a.l, &how, &err);
        assert_int_equal(rc, possible ? 0 : RLT_ESCHEMA);
        if (!possible) {
            expected_conflict(&a, want);
            want[sizeof err.what - 1] = '\0';
            if (strcmp(err.what, want) != 0 || strcmp(err.where, "plan") != 0)
                fail_msg("%s %s: %s: %s\nnot %s", a.layout, a.train, err.where, err.what, want);
            seen[0] += strstr(want, " is not possible: ") != NULL;
            seen[1] += strstr(want, "the model ") != NULL;
            seen[2] += strstr(want, " on 4 accelerators cannot") != NULL;
            seen[3] += strstr(want, " of megatron") || strstr(want, " of torchtitan");
        }
        close_search(&a);
    }
    for (int i = 0; i < 4; i++)
        if (!seen[i])
            fail_msg("%u %u %u %u", seen[0], seen[1], seen[2], seen[3]);
}

/* ---- memory ---- */

static void say_value(const rlt_training *t, const char *setting, char *text)
{
    char name[32], value[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(setting, "="), setting);
    rlt_param_write(rlt_params_find(rlt_training_parameters(), name), t, value, sizeof value);
    say(text, name);
    say(text, "=");
    say(text, value);
}

/* "tp=4 microbatch=1 recompute=none zero=3": sizes above 1, and what else memory depends on. */
static void say_layout(const rlt_training *t, char *text)
{
    static const char *const rest[] = {"microbatch", "recompute", "zero"};
    const uint32_t sizes[] = {t->size[RLT_AXIS_TP], t->size[RLT_AXIS_CP], t->size[RLT_AXIS_PP],
                              t->size[RLT_AXIS_DP]};
    static const char *const names[] = {"tp", "cp", "pp", "dp"};
    for (size_t i = 0; i < 4; i++)
        if (sizes[i] > 1) {
            char one[24];
            snprintf(one, sizeof one, "%s=%u ", names[i], sizes[i]);
            say(text, one);
        }
    for (size_t i = 0; i < 3; i++) {
        say_value(t, rest[i], text);
        say(text, i < 2 ? " " : "");
    }
}

/* What fits without two settings; `one` twice: without it. */
static bool say_release(const asking *a, uint32_t one, uint32_t two, double room, char *text)
{
    char size[40];
    if (is_open(a->l.given[one]) || is_open(a->l.given[two]))
        return false;
    found f = left_out(a, 1u << one | 1u << two, room);
    if (!f.fit.fits)
        return false;
    say(text, *text ? "; or with " : "it would fit with ");
    say_value(&f.training, a->l.given[one], text);
    if (two != one) {
        say(text, " and ");
        say_value(&f.training, a->l.given[two], text);
    }
    snprintf(size, sizeof size, " (%.1f GB)", f.fit.point.memory_bytes / 1e9);
    say(text, size);
    return true;
}

/* Three releases at most: of one setting, or of two if none helps alone; else of all. Returns which kind. */
static int say_help(const asking *a, double room, double memory, double least, char *text)
{
    uint32_t n = 0, every = 0;
    for (uint32_t i = 0; i < a->l.n_given && n < 3; i++)
        n += say_release(a, i, i, room, text);
    if (n)
        return 0;
    for (uint32_t i = 0; i < a->l.n_given; i++)
        for (uint32_t k = 0; k < i && n < 3; k++)
            n += say_release(a, k, i, room, text);
    if (n)
        return 1;
    for (uint32_t i = 0; i < a->l.n_given; i++)
        every |= is_open(a->l.given[i]) ? 0 : 1u << i;
    found all = left_out(a, every, room);
    if (every && all.fit.fits) {
        say(text, "it would fit with ");
        say_layout(&all.training, text);
        return 2;
    }
    say(text, least > memory ? "it takes more accelerators, or more memory on each"
                             : "it would fit without --headroom");
    return least > memory ? 3 : 4;
}

static int expected_lack(const asking *a, double room, char *text)
{
    const double memory = (double)a->l.run.accelerator.memory_bytes;
    found f = left_out(a, 0, room);
    uint32_t every = 0, stage;
    char some[TEXT] = "", help[TEXT] = "";
    for (uint32_t i = 0; i < a->l.n_given; i++)
        every |= is_open(a->l.given[i]) ? 0 : 1u << i;
    *text = '\0';
    say(text, "no layout ");
    say(text, every ? "with " : "of ");
    if (every)
        say_settings(a, every, NULL, text);
    else
        say(text, a->l.run.training.model->name);
    say(text, " fits: the nearest (");
    say_layout(&f.training, text);
    rlt_training_fullest(&f.training, &stage);
    snprintf(some, sizeof some, ") needs %.1f GB on stage %u, %s has %.1f", f.fit.point.memory_bytes / 1e9,
             stage, a->l.run.accelerator.name, memory / 1e9);
    say(text, some);
    if (room < memory) {
        snprintf(some, sizeof some, " (%.1f with --headroom)", room / 1e9);
        say(text, some);
    }
    say(text, "; ");
    int kind = say_help(a, room, memory, f.fit.point.memory_bytes, help);
    say(text, help);
    return kind;
}

/* The least memory without any set of so many settings, or without all (3). */
static double least_without(const asking *a, uint32_t n)
{
    double least = 1e300;
    for (uint32_t bits = 0; bits < 1u << a->l.n_given; bits++) {
        if (n == 3 ? bits + 1 != 1u << a->l.n_given : (uint32_t)__builtin_popcount(bits) != n)
            continue;
        rlt_layout_fit fit = left_out(a, bits, 0).fit;
        least = fit.possible && fit.point.memory_bytes < least ? fit.point.memory_bytes : least;
    }
    return least;
}

/* Returns the kind of help. */
static int assert_lack(asking *a, double headroom)
{
    const double memory = (double)a->l.run.accelerator.memory_bytes;
    const rlt_layout_search how = {.headroom = headroom};
    rlt_error err = {0};
    char want[TEXT];
    int rc = rlt_layouts_why(&a->l, &how, &err), kind = expected_lack(a, memory * (1 - headroom), want);
    want[sizeof err.what - 1] = '\0';
    if (rc != RLT_ERANGE || strcmp(err.what, want) != 0 || strcmp(err.where, "plan") != 0)
        fail_msg("%s %s: %d: %s: %s\nnot %s", a->layout, a->train, rc, err.where, err.what, want);
    return kind;
}

static void lack_of_memory_word_for_word(void **state)
{
    uint32_t kinds[5] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        dice d = {.seed = seed};
        asking a;
        draw(&a, &d, 3 + (uint32_t)seed % 6);
        open_search(&a);
        const double memory = (double)a.l.run.accelerator.memory_bytes;
        double wanted = a.l.n_given > 7 ? 1e300 : least_without(&a, (uint32_t)seed % 4);
        if (wanted < memory && left_out(&a, 0, 1e30).fit.possible)
            kinds[assert_lack(&a, 1 - wanted * 0.9999 / memory)]++;
        close_search(&a);
    }
    for (int i = 0; i < 5; i++)
        if (!kinds[i] && i != 3) /* 3 follows */
            fail_msg("%u %u %u %u %u", kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]);
}

/* A model that is too large for four accelerators, with headroom and without. */
static void too_large_word_for_word(void **state)
{
    static const char *const layouts[] = {"", "tp=4", "tp=4,pp=1", "tp=auto"};
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        for (int k = -1; k < 2; k++) {
            asking a = {.model = "transformer:layers=8,hidden=32768,heads=64,vocabulary=8000,sequence=256",
                        .train = "batch=4"};
            snprintf(a.layout, sizeof a.layout, "%s", layouts[i]);
            open_search(&a);
            assert_int_equal(assert_lack(&a, 0.125 * k), 3);
            close_search(&a);
        }
}

/* ---- two settings that say two things ---- */

static void settings_that_say_two_things(void **state)
{
    static const struct {
        const char *layout, *train, *strategy;
        int code;
        const char *where, *what;
    } rows[] = {
        {"tp=2", "batch=8,tp=4", NULL, RLT_EUSAGE, "--train", "tp=4 and tp=2 of --layout cannot go together"},
        {"tp=2", "batch=8,tp=2", NULL, 0, "", ""},
        {"auto", "batch=8,tp=4", NULL, 0, "", ""},
        {"tp=2,pp=2", "batch=8", "megatron:pp=4", RLT_EUSAGE, "--layout",
         "pp=2 and pp=4 of --strategy cannot go together"},
        {"tp=2", "batch=8,zero=1", "megatron:zero=2", RLT_EUSAGE, "--train",
         "zero=1 and zero=2 of --strategy cannot go together"},
        {"tp=2", "batch=8,zero=1", "megatron:zero=1", 0, "", ""},
        {"pp=1,vp=2", "batch=8", NULL, RLT_ESCHEMA, "--layout",
         "pp=1 and vp=2 cannot go together: chunks need a pipeline of at least two stages"},
        {"tp=2,pp=2", "batch=8,zero=1,tp=2,pp=4", NULL, RLT_EUSAGE, "--train",
         "pp=4 and pp=2 of --layout cannot go together"},
        {"tp=2,pp=2", "batch=8", "megatron:cp=2,tp=4,pp=4", RLT_EUSAGE, "--layout",
         "tp=2 and tp=4 of --strategy cannot go together"},
        {"tp=2", "batch=8", "megatron:tp=22", RLT_EUSAGE, "--layout",
         "tp=2 and tp=22 of --strategy cannot go together"},
        {"auto", "batch=8", "megatron:tp=2", 0, "", ""},
        {NULL, "batch=8", "megatron", 0, "", ""},
        {"pp=1,vp=3", "batch=8,tp=2", NULL, RLT_ESCHEMA, "--layout",
         "pp=1 and vp=3 cannot go together: chunks need a pipeline of at least two stages"},
        {"pp=1,vp=1+2", "batch=8", NULL, 0, "", ""},
        {"pp=1+2,vp=2", "batch=8", NULL, 0, "", ""},
        {"pp=2,vp=2", "batch=8", NULL, 0, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search_asked a;
        rlt_layouts l;
        rlt_error err = {0};
        const search_words w = {.topology = "switch:4@200GB/s,300ns*switch:2@20GB/s,2us",
                                .model =
                                    "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
                                .layout = rows[i].layout,
                                .train = rows[i].train,
                                .strategy = rows[i].strategy};
        search_open(&l, &a, &w);
        int rc = rlt_layouts_check(&l, &a.settings, &err);
        if (rc != rows[i].code || strcmp(err.where, rows[i].where) != 0 ||
            strcmp(err.what, rows[i].what) != 0)
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        rlt_layouts_close(&l);
        rlt_parsed_free(&a.args);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicts_word_for_word),
        cmocka_unit_test(lack_of_memory_word_for_word),
        cmocka_unit_test(too_large_word_for_word),
        cmocka_unit_test(settings_that_say_two_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
