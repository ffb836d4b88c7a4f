/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/why.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/fits.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { MOST_GIVEN = 64, MOST_SHOWN = 3 };

/* A search, with the settings that are released in turn. */
typedef struct question {
    const rlt_layouts *l;
    const rlt_layout_search *how;
    double room, memory; /* with headroom; of the accelerator */
} question;

/* Looks for a layout without some of the settings: bit i stands for l->given[i]. If it finds one, or one that
 * needs least memory, `found` has its training. */
static int without(const question *q, uint64_t released, rlt_layout_fit *fit, rlt_training *found,
                   rlt_error *err)
{
    const char *left[MOST_GIVEN];
    const rlt_layouts *l = q->l;
    rlt_layout_space space;
    uint32_t n = 0, ranks = rlt_layouts_ranks(l);
    for (uint32_t i = 0; i < l->n_given && i < MOST_GIVEN; i++)
        if (!(released >> i & 1))
            left[n++] = l->given[i];
    int rc = rlt_layout_space_open(&l->run.training, ranks, left, n, &space, err);
    if (!rc)
        rc = rlt_layout_first_fit(&space, &l->run.training, ranks, q->room, q->how->watch, fit, err);
    if (!rc && fit->possible)
        rc = rlt_layout_training(&space, &l->run.training, ranks, &fit->point, found, err);
    rlt_layout_space_free(&space);
    return rc;
}

/* Returns the strategy, if it sets this axis to this value; else NULL. */
static const char *strategy_of(const rlt_layouts *l, const char *given)
{
    const rlt_training_strategy *s = NULL;
    const char *item, *list;
    char word[64];
    size_t length;
    if (!l->strategy)
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(l->strategy, ":"), l->strategy);
    s = rlt_registry_find(rlt_training_strategies(), word, NULL, NULL);
    list = s ? s->settings : NULL;
    while (list && (item = rlt_next_item(&list, ',', &length)))
        if (length == strlen(given) && strncmp(item, given, length) == 0)
            return s->name;
    return NULL;
}

static bool is_open(const char *given)
{
    return strcmp(given + strcspn(given, "="), "=auto") == 0;
}

/* Appends a name to a list, before the last one "and". */
static void append(char *text, size_t size, const char *name, bool last)
{
    size_t used = strlen(text);
    if (used < size)
        snprintf(text + used, size - used, "%s%s", used == 0 ? "" : last ? " and " : ", ", name);
}

/* Lists the settings in `which`, and after them `other`, unless it is NULL. */
static void list(const rlt_layouts *l, uint64_t which, const char *other, char *text, size_t size)
{
    *text = '\0';
    for (uint32_t i = 0; i < l->n_given; i++) {
        char name[120];
        if (!(which >> i & 1))
            continue;
        const char *strategy = strategy_of(l, l->given[i]);
        snprintf(name, sizeof name, "%.60s%s%.40s", l->given[i], strategy ? " of " : "",
                 strategy ? strategy : "");
        append(text, size, name, !other && which >> i == 1);
    }
    if (other)
        append(text, size, other, true);
}

static bool is_of_ranks(const rlt_error *rule)
{
    return strcmp(rule->where, "layout") == 0 || strcmp(rule->where, "ranks") == 0;
}

/* Names what a rule is about that is no axis; NULL: nothing. */
static const char *other_side(const rlt_layouts *l, const rlt_error *rule, char *text, size_t size)
{
    static const char *const of_model[] = {"tp", "cp", "pp", "ep", NULL};
    if (strcmp(rule->where, "batch") == 0)
        snprintf(text, size, "batch=%llu", (unsigned long long)l->run.training.batch);
    else if (is_of_ranks(rule) && l->run.training.size[RLT_AXIS_DP])
        snprintf(text, size, "dp=%u on %u accelerators", l->run.training.size[RLT_AXIS_DP],
                 rlt_layouts_ranks(l));
    else if (is_of_ranks(rule))
        snprintf(text, size, "%u accelerators", rlt_layouts_ranks(l));
    else
        for (uint32_t i = 0; of_model[i]; i++)
            if (strcmp(rule->where, of_model[i]) == 0)
                snprintf(text, size, "the model %.80s", l->run.training.model->name);
    return *text ? text : NULL;
}

/* Fails with a least set of settings without which a layout would be possible: releases one after the other,
 * and keeps those whose release would resolve the conflict. */
static int conflict(const question *q, const rlt_layout_fit *first, rlt_error *err)
{
    const rlt_layouts *l = q->l;
    rlt_layout_fit fit, why = *first;
    rlt_training t;
    uint64_t released = 0, kept = 0;
    char names[600], other[100] = "";
    for (uint32_t i = 0; i < l->n_given; i++) {
        int rc = without(q, released | (uint64_t)1 << i, &fit, &t, err);
        if (rc)
            return rc;
        if (fit.possible) {
            kept |= (uint64_t)1 << i;
            continue;
        }
        released |= (uint64_t)1 << i;
        why = fit;
    }
    if (!kept)
        return rlt_fail(err, RLT_ESCHEMA, "plan", "no layout of %s is possible: %s%s%s",
                        l->run.training.model->name, why.why.where, *why.why.where ? ": " : "", why.why.what);
    bool one = (kept & (kept - 1)) == 0;
    bool also =
        strcmp(why.why.where, "batch") == 0 || (is_of_ranks(&why.why) && l->run.training.size[RLT_AXIS_DP]);
    list(l, kept, one || also ? other_side(l, &why.why, other, sizeof other) : NULL, names, sizeof names);
    return rlt_fail(err, RLT_ESCHEMA, "plan",
                    one && !*other ? "%s is not possible: %s" : "%s cannot go together: %s", names,
                    why.why.what);
}

/* Writes the values that a training has for released settings. */
static void write_values(const question *q, uint64_t released, const rlt_training *t, char *text, size_t size)
{
    *text = '\0';
    for (uint32_t i = 0; i < q->l->n_given; i++) {
        char name[32], value[64], both[100];
        if (!(released >> i & 1))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(q->l->given[i], "="), q->l->given[i]);
        rlt_param_write(rlt_params_find(rlt_training_parameters(), name), t, value, sizeof value);
        snprintf(both, sizeof both, "%s=%s", name, value);
        append(text, size, both, true);
    }
}

/* Tries the release of some settings, and appends what would fit. */
static int try_release(const question *q, uint64_t released, uint32_t *shown, char *text, size_t size,
                       rlt_error *err)
{
    rlt_layout_fit fit;
    rlt_training t;
    char values[160];
    int rc = without(q, released, &fit, &t, err);
    if (rc || !fit.fits)
        return rc;
    write_values(q, released, &t, values, sizeof values);
    size_t used = strlen(text);
    if (used < size)
        snprintf(text + used, size - used, "%s%s (%.1f GB)", used ? "; or with " : "it would fit with ",
                 values, fit.point.memory_bytes / 1e9);
    ++*shown;
    return 0;
}

/* Lists the fewest releases after which a layout fits. */
static int releases(const question *q, char *text, size_t size, rlt_error *err)
{
    const rlt_layouts *l = q->l;
    uint32_t shown = 0;
    int rc = 0;
    for (uint32_t i = 0; i < l->n_given && shown < MOST_SHOWN && !rc; i++)
        if (!is_open(l->given[i]))
            rc = try_release(q, (uint64_t)1 << i, &shown, text, size, err);
    uint32_t singles = shown;
    for (uint32_t i = 0; i < l->n_given && !rc && !singles; i++)
        for (uint32_t k = 0; k < i && shown < MOST_SHOWN && !rc; k++)
            if (!is_open(l->given[i]) && !is_open(l->given[k]))
                rc = try_release(q, (uint64_t)1 << i | (uint64_t)1 << k, &shown, text, size, err);
    return rc;
}

/* Writes what a layout needs memory for: "tp=8 pp=2 dp=4 microbatch=1 recompute=full zero=1". */
static char *describe(const rlt_training *t, char *text, size_t size)
{
    static const char *const settings[] = {"tp", "cp", "pp", "dp", "ep", "microbatch", "recompute", "zero"};
    size_t used = 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings && used < size; i++) {
        char value[64];
        rlt_param_write(rlt_params_find(rlt_training_parameters(), settings[i]), t, value, sizeof value);
        if (strcmp(value, "1") != 0 || i > 4)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", settings[i], value);
    }
    return text;
}

/* Fails with how much memory is missing, and what would fit. */
static int too_large(const question *q, const rlt_layout_fit *least, const rlt_training *t, rlt_error *err)
{
    const rlt_layouts *l = q->l;
    char fixed[500], help[500] = "", room[100] = "", layout[160];
    uint64_t every = 0;
    rlt_layout_fit fit = {.fits = false};
    rlt_training open;
    uint32_t stage;
    for (uint32_t i = 0; i < l->n_given; i++)
        every |= (uint64_t)!is_open(l->given[i]) << i;
    int rc = releases(q, help, sizeof help, err);
    if (!rc && !*help && every)
        rc = without(q, every, &fit, &open, err);
    if (rc)
        return rc;
    if (fit.fits)
        snprintf(help, sizeof help, "it would fit with %s", describe(&open, layout, sizeof layout));
    rlt_training_fullest(t, &stage);
    describe(t, layout, sizeof layout);
    list(l, every, NULL, fixed, sizeof fixed);
    if (!*help)
        snprintf(help, sizeof help, "it %s",
                 least->point.memory_bytes <= q->memory ? "would fit without --headroom"
                                                        : "takes more accelerators, or more memory on each");
    if (q->room < q->memory)
        snprintf(room, sizeof room, " (%.1f with --headroom)", q->room / 1e9);
    return rlt_fail(err, RLT_ERANGE, "plan",
                    "no layout %s%s fits: the nearest (%s) needs %.1f GB on stage %u, %s has %.1f%s; %s",
                    every ? "with " : "of ", every ? fixed : l->run.training.model->name, layout,
                    least->point.memory_bytes / 1e9, stage, l->run.accelerator.name, q->memory / 1e9, room,
                    help);
}

int rlt_layouts_why(const rlt_layouts *l, const rlt_layout_search *how, rlt_error *err)
{
    question q = {.l = l, .how = how, .memory = (double)l->run.accelerator.memory_bytes};
    rlt_layout_fit fit;
    rlt_training t;
    q.room = q.memory * (1 - how->headroom);
    int rc = without(&q, 0, &fit, &t, err);
    if (rc || fit.fits)
        return rc;
    return fit.possible ? too_large(&q, &fit, &t, err) : conflict(&q, &fit, err);
}

/* Returns an axis of the space. */
static const rlt_layout_axis *axis_of(const rlt_layouts *l, const char *name)
{
    uint32_t i = 0;
    while (i + 1 < l->space.n && strcmp(l->space.axes[i].name, name) != 0)
        i++;
    return &l->space.axes[i];
}

static bool has_one(const rlt_layout_axis *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->values[i], "1") == 0)
            return true;
    return false;
}

/* Refuses a setting of `list` that has another value in `other`. */
static int check_lists(const char *option, const char *list, const char *of_other, const char *other,
                       rlt_error *err)
{
    const char *a, *b, *rest;
    size_t n, k;
    while (list && (a = rlt_next_item(&list, ',', &n)))
        for (rest = other; rest && (b = rlt_next_item(&rest, ',', &k));) {
            size_t name = strcspn(a, "=,") + 1;
            if (name > n || name > k || strncmp(a, b, name) != 0 || (n == k && strncmp(a, b, n) == 0))
                continue;
            return rlt_fail(err, RLT_EUSAGE, option, "%.*s and %.*s of %s cannot go together", (int)n, a,
                            (int)k, b, of_other);
        }
    return 0;
}

int rlt_layouts_check(const rlt_layouts *l, const rlt_run_settings *s, rlt_error *err)
{
    const rlt_layout_axis *pp = axis_of(l, "pp"), *vp = axis_of(l, "vp");
    const char *strategy = s->strategy ? strchr(s->strategy, ':') : NULL;
    const char *layout = s->layout && strcmp(s->layout, "auto") != 0 ? s->layout : NULL;
    int rc = check_lists("--train", s->train, "--layout", layout, err);
    if (!rc && strategy)
        rc = check_lists("--layout", layout, "--strategy", strategy + 1, err);
    if (!rc && strategy)
        rc = check_lists("--train", s->train, "--strategy", strategy + 1, err);
    if (!rc && pp->n == 1 && has_one(pp) && !has_one(vp))
        rc = rlt_fail(err, RLT_ESCHEMA, "--layout",
                      "pp=1 and vp=%s cannot go together: chunks need a pipeline of at least two stages",
                      vp->values[0]);
    return rc;
}
