/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why no layout can run, for settings at random: what is named cannot go together, and could if one of it were
 * open; what would fit does. Both are asked of searches with other settings.
 */
#include "workload/experiment/layouts/why.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"

enum { CASES = 120, MOST = 11 };

/* Axes with values that may be fixed. microbatch and schedule stand in --train. */
static const struct {
    const char *name, *values[4];
    bool of_train;
} axes[MOST] = {{"tp", {"2", "4", "8", "3"}, false},
                {"pp", {"1", "2", "3", "4"}, false},
                {"cp", {"1", "2", "4", "8"}, false},
                {"vp", {"1", "2", "3", "4"}, false},
                {"sp", {"on", "off", "on", "on"}, false},
                {"microbatch", {"1", "5", "8", "16"}, true},
                {"schedule", {"1f1b", "interleaved", "gpipe", "1f1b"}, true},
                {"zero", {"0", "1", "2", "3"}, true},
                {"recompute", {"none", "full", "selective", "none"}, true},
                {"ep", {"1", "1", "1", "1"}, false},
                {"order", {"tp-cp-dp-pp", "dp-tp-cp-pp", "tp-cp-dp-pp", "tp-cp-dp-pp"}, false}};

/* A value of each axis; NULL: open. */
typedef struct fixed {
    const char *value[MOST];
    uint32_t batch;
    char layout[200], train[200];
    search_words words;
} fixed;

static void put_into_words(fixed *f)
{
    size_t used[2] = {0, (size_t)snprintf(f->train, sizeof f->train, "batch=%u", f->batch)};
    f->layout[0] = '\0';
    for (uint32_t i = 0; i < MOST; i++) {
        size_t *n = &used[axes[i].of_train];
        if (f->value[i])
            *n += (size_t)snprintf((axes[i].of_train ? f->train : f->layout) + *n, 200 - *n, "%s%s=%s",
                                   *n ? "," : "", axes[i].name, f->value[i]);
    }
    f->words = (search_words){.topology = "switch:4@200GB/s,300ns*switch:2@20GB/s,2us",
                              .model = "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
                              .layout = *f->layout ? f->layout : NULL,
                              .train = f->train};
}

/* Whether a point is against no rule; *fits: and has room. */
static bool is_possible(fixed *f, double headroom, bool *fits)
{
    search_asked a;
    rlt_layouts l;
    rlt_error err = {0};
    const rlt_layout_search one = {.most = 1, .headroom = headroom};
    put_into_words(f);
    search_open(&l, &a, &f->words);
    int rc = rlt_layouts_find(&l, &one, &err);
    bool found = rc == RLT_ECANCELLED || l.result.n > 0, full = l.result.out_of_memory > 0;
    if (rc && rc != RLT_ECANCELLED)
        fail_msg("%s: %s", err.where, err.what);
    if (fits)
        *fits = found;
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
    return found || full;
}

static int ask_why(fixed *f, double headroom, rlt_error *err)
{
    search_asked a;
    rlt_layouts l;
    const rlt_layout_search how = {.headroom = headroom};
    *err = (rlt_error){0};
    put_into_words(f);
    search_open(&l, &a, &f->words);
    int rc = rlt_layouts_why(&l, &how, err);
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
    return rc;
}

static bool is_named(const char *text, const fixed *f, uint32_t i)
{
    char word[40];
    snprintf(word, sizeof word, "%s=%s", axes[i].name, f->value[i] ? f->value[i] : "");
    const char *at = strstr(text, word), *after = at ? at + strlen(word) : NULL;
    return f->value[i] && at && (at == text || at[-1] == ' ') && strchr(" ,", *after);
}

static void assert_least_set(const fixed *f, const rlt_error *err)
{
    fixed some = *f;
    char names[sizeof err->what];
    uint32_t n = 0;
    snprintf(names, sizeof names, "%s", err->what);
    char *end = strstr(names, " cannot go together: "), *alone = strstr(names, " is not possible: ");
    if (!end && !alone)
        fail_msg("%s", err->what);
    (end ? end : alone)[1] = '\0';
    for (uint32_t i = 0; i < MOST; i++) {
        some.value[i] = is_named(names, f, i) ? f->value[i] : NULL;
        n += some.value[i] != NULL;
    }
    if (n == 0 || (alone && !end && n > 1) || is_possible(&some, 0, NULL))
        fail_msg("%s %s: %s", f->layout, f->train, err->what);
    for (uint32_t i = 0; i < MOST; i++) {
        fixed less = some;
        less.value[i] = NULL;
        if (some.value[i] && !is_possible(&less, 0, NULL))
            fail_msg("%s %s: %s; %s=%s may stay", f->layout, f->train, err->what, axes[i].name,
                     some.value[i]);
    }
    if (end && n == 1 && !strstr(names, " and "))
        fail_msg("%s", err->what);
    if (strstr(names, "batch=") == names || strstr(names, " batch=")) {
        char batch[24];
        snprintf(batch, sizeof batch, "batch=%u", f->batch);
        assert_non_null(strstr(names, batch));
    }
}

static void draw(fixed *f, dice *d)
{
    static const uint32_t batches[] = {8, 12, 16, 7};
    *f = (fixed){.batch = batches[below(d, 4)]};
    for (uint32_t i = 0; i < MOST; i++)
        if (below(d, 5) < 3)
            f->value[i] = axes[i].values[below(d, 4)];
}

static void what_is_named_cannot_go_together(void **state)
{
    uint32_t conflicts = 0;
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        fixed f;
        rlt_error err;
        draw(&f, &d);
        bool possible = is_possible(&f, 0, NULL);
        int rc = ask_why(&f, 0, &err);
        assert_int_equal(rc, possible ? 0 : RLT_ESCHEMA);
        if (!possible)
            assert_least_set(&f, &err);
        conflicts += !possible;
    }
    assert_in_range(conflicts, CASES / 4, CASES);
}

/* ---- memory ---- */

/* The least memory of a layout, whatever there is. */
static double least_memory(fixed *f)
{
    static search_walk walk;
    double least = 1e300;
    put_into_words(f);
    search_all(&f->words, -1000, &walk);
    for (uint32_t i = 0; i < walk.n; i++)
        least = walk.points[i].memory_bytes < least ? walk.points[i].memory_bytes : least;
    return least;
}

static bool fits_without(const fixed *f, uint32_t i, uint32_t k, double headroom)
{
    fixed open = *f;
    bool fits = false;
    if (!f->value[i] || !f->value[k])
        return false;
    open.value[i] = open.value[k] = NULL;
    return is_possible(&open, headroom, &fits) && fits;
}

/* Counts the settings, and the pairs of them, without which a layout fits. */
static void count_releases(const fixed *f, double headroom, uint32_t *singles, uint32_t *pairs)
{
    *singles = *pairs = 0;
    for (uint32_t i = 0; i < MOST; i++)
        *singles += fits_without(f, i, i, headroom);
    for (uint32_t i = 0; i < MOST && !*singles; i++)
        for (uint32_t k = 0; k < i; k++)
            *pairs += fits_without(f, i, k, headroom);
}

/* "it would fit with zero=3 (1.2 GB); or with pp=2 (...)": each does. Up to three are named, single ones if there are
 * any. Returns the number of pairs. */
static uint32_t assert_releases(const fixed *f, const char *text, double headroom)
{
    const char *at = strstr(text, "it would fit with ");
    uint32_t named = 0, singles, pairs;
    count_releases(f, headroom, &singles, &pairs);
    while (at && (at = strstr(at, "with ")) && (singles || pairs)) {
        uint32_t opened[MOST], n = 0;
        const char *end = strchr(at += 5, '(');
        for (uint32_t i = 0; i < MOST; i++) {
            char word[24];
            snprintf(word, sizeof word, "%s=", axes[i].name);
            const char *here = strstr(at, word);
            if (f->value[i] && here && end && here < end && (here == at || here[-1] == ' '))
                opened[n++] = i;
        }
        assert_int_equal(n, singles ? 1 : 2);
        assert_true(fits_without(f, opened[0], opened[n - 1], headroom));
        named++;
    }
    uint32_t all = singles ? singles : pairs;
    assert_int_equal(named, all < 3 ? all : 3);
    return singles ? 0 : pairs;
}

static double memory_of(const fixed *f)
{
    search_asked a;
    rlt_layouts l;
    search_open(&l, &a, &f->words);
    double bytes = (double)l.run.accelerator.memory_bytes;
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
    return bytes;
}

/* The least memory when any one setting is open. */
static double least_of_singles(const fixed *f)
{
    double least = 1e300;
    for (uint32_t i = 0; i < MOST; i++) {
        fixed open = *f;
        open.value[i] = NULL;
        double one = f->value[i] ? least_memory(&open) : 1e300;
        least = one < least ? one : least;
    }
    return least;
}

static uint32_t assert_too_large(fixed *f, double least, double share)
{
    rlt_error err;
    char gigabytes[40];
    double memory = memory_of(f), headroom = 1 - least * share / memory;
    assert_int_equal(ask_why(f, headroom, &err), RLT_ERANGE);
    snprintf(gigabytes, sizeof gigabytes, "needs %.1f GB on stage ", least_memory(f) / 1e9);
    if (!strstr(err.what, gigabytes) || !strstr(err.what, "with --headroom)"))
        fail_msg("%s %s: %s", gigabytes, f->layout, err.what);
    /* "the nearest (tp=4 cp=2 microbatch=8 recompute=none zero=3)": sizes above 1, which make 8 ranks. */
    const char *at = strstr(err.what, "the nearest (");
    uint32_t ranks = 1, named = 0;
    for (const char *word = at ? at + 13 : NULL; word && *word && *word != ')'; word += strcspn(word, " )")) {
        word += *word == ' ';
        bool size = strncmp(word + 1, "p=", 2) == 0 && strncmp(word, "ep", 2) != 0;
        uint32_t n = size ? (uint32_t)strtoul(word + 3, NULL, 10) : 1;
        assert_true(!size || n > 1);
        ranks *= n;
        named += !size;
    }
    assert_int_equal(ranks, 8);
    assert_int_equal(named, 3);
    return assert_releases(f, err.what, headroom);
}

static void what_would_fit_does(void **state)
{
    uint32_t pairs = 0;
    (void)state;
    for (uint64_t seed = 0, cases = 0; cases < 10; seed++) {
        dice d = {.seed = seed};
        fixed f;
        rlt_error err;
        uint32_t n = 0;
        draw(&f, &d);
        f.batch = 16;
        f.value[4] = "on";
        f.value[6] = "1f1b";
        f.value[3] = f.value[9] = "1";
        f.value[10] = "tp-cp-dp-pp";
        for (uint32_t i = 0; i < MOST; i++)
            n += f.value[i] != NULL;
        if (cases % 2) /* as many pairs as can be */
            for (uint32_t i = 0; i < MOST; n = MOST, i++)
                f.value[i] = f.value[i] ? f.value[i] : axes[i].values[below(&d, 4)];
        if (n < 8 || !is_possible(&f, 0, NULL))
            continue;
        double least = least_memory(&f);
        assert_int_equal(ask_why(&f, 1 - least * 1.0001 / memory_of(&f), &err), 0);
        assert_too_large(&f, least, 0.97);
        pairs += assert_too_large(&f, least_of_singles(&f), 0.999);
        cases++;
    }
    assert_true(pairs > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_cannot_go_together),
        cmocka_unit_test(what_would_fit_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
