/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The axes of a search and their values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/models/model.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

/* An axis that can be searched: its values are words, or counts that `counts` lists. */
typedef struct axis {
    const char *name;
    rlt_layout_level level;
    const char *const *words;
    bool (*counts)(const rlt_training *t, uint32_t ranks, uint32_t value);
    uint32_t (*most)(const rlt_training *t, uint32_t ranks);
    bool only_named; /* it is no axis of a space, unless its values are asked for */
} axis;

static uint32_t experts_of(const rlt_model *m)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < m->n_layers; i++)
        n = m->layers[i].experts > n ? m->layers[i].experts : n;
    return n;
}

static bool exchanges_context(const rlt_model *m)
{
    for (uint32_t i = 0; i < m->n_layers; i++)
        if (m->layers[i].cp_elements)
            return true;
    return false;
}

static bool divides_ranks(const rlt_training *t, uint32_t ranks, uint32_t value)
{
    (void)t;
    return ranks % value == 0;
}
static bool divides_batch(const rlt_training *t, uint32_t ranks, uint32_t value)
{
    (void)ranks;
    return t->batch % value == 0;
}
static bool any_count(const rlt_training *t, uint32_t ranks, uint32_t value)
{
    (void)t;
    (void)ranks;
    return value > 0;
}
static uint32_t most_tp(const rlt_training *t, uint32_t ranks)
{
    return t->model->heads && t->model->heads < ranks ? t->model->heads : ranks;
}
static uint32_t most_cp(const rlt_training *t, uint32_t ranks)
{
    const uint32_t usual = 16;
    uint32_t most = exchanges_context(t->model) ? usual : 1;
    return most < ranks ? most : ranks;
}
static uint32_t most_pp(const rlt_training *t, uint32_t ranks)
{
    uint32_t most = rlt__blocks_of(t->model) + 2;
    return most < ranks ? most : ranks;
}
static uint32_t most_ep(const rlt_training *t, uint32_t ranks)
{
    uint32_t most = experts_of(t->model);
    return most < ranks ? most : ranks;
}
static uint32_t most_microbatch(const rlt_training *t, uint32_t ranks)
{
    const uint32_t usual = 64;
    (void)ranks;
    return t->batch < usual ? (uint32_t)t->batch : usual;
}
static uint32_t most_vp(const rlt_training *t, uint32_t ranks)
{
    uint32_t most = rlt__blocks_of(t->model) / 2 + 1;
    return ranks > 1 ? most : 1;
}

static const char *const recomputes[] = {"none", "selective", "full", NULL};
static const char *const switches[] = {"on", "off", NULL};
static const char *const schedules[] = {"1f1b", "interleaved", "zero-bubble", NULL};
static const char *const dispatched[] = {"element", "fp8", "fp8-both", NULL};
static const char *const stages_of_zero[] = {"0", "1", "2", "3", NULL};
static const char *const orders[] = {
    "tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp", "tp-pp-dp-cp", "cp-tp-dp-pp",
    "cp-tp-pp-dp", "cp-dp-tp-pp", "cp-dp-pp-tp", "cp-pp-tp-dp", "cp-pp-dp-tp", "dp-tp-cp-pp", "dp-tp-pp-cp",
    "dp-cp-tp-pp", "dp-cp-pp-tp", "dp-pp-tp-cp", "dp-pp-cp-tp", "pp-tp-cp-dp", "pp-tp-dp-cp", "pp-cp-tp-dp",
    "pp-cp-dp-tp", "pp-dp-tp-cp", "pp-dp-cp-tp", NULL};

/* In the order of the tree. */
static const axis table[] = {
    {"tp", RLT_LAYOUT_SIZES, NULL, divides_ranks, most_tp, false},
    {"cp", RLT_LAYOUT_SIZES, NULL, divides_ranks, most_cp, false},
    {"pp", RLT_LAYOUT_SIZES, NULL, divides_ranks, most_pp, false},
    {"ep", RLT_LAYOUT_SIZES, NULL, divides_ranks, most_ep, false},
    {"etp", RLT_LAYOUT_SIZES, NULL, divides_ranks, most_tp, true},
    {"microbatch", RLT_LAYOUT_KERNELS, NULL, divides_batch, most_microbatch, false},
    {"recompute", RLT_LAYOUT_KERNELS, recomputes, NULL, NULL, false},
    {"sp", RLT_LAYOUT_KERNELS, switches, NULL, NULL, false},
    {"dispatch_precision", RLT_LAYOUT_KERNELS, dispatched, NULL, NULL, true},
    {"schedule", RLT_LAYOUT_STAGES, schedules, NULL, NULL, false},
    {"vp", RLT_LAYOUT_STAGES, NULL, any_count, most_vp, false},
    {"zero", RLT_LAYOUT_STAGES, stages_of_zero, NULL, NULL, false},
    {"order", RLT_LAYOUT_POINT, orders, NULL, NULL, false},
};
enum { N_AXES = sizeof table / sizeof *table };

bool rlt_layout_is_axis(const char *name)
{
    for (int i = 0; i < N_AXES; i++)
        if (strcmp(table[i].name, name) == 0)
            return true;
    return false;
}

static int add_value(rlt_layout_axis *a, const char *text, size_t length, rlt_error *err)
{
    char(*grown)[RLT_LAYOUT_WORD] = realloc(a->values, (a->n + 1) * sizeof *grown);
    if (!grown)
        return rlt_nomem(err);
    a->values = grown;
    if (length >= RLT_LAYOUT_WORD)
        return rlt_fail(err, RLT_EUSAGE, a->name, "a value is longer than %d characters",
                        RLT_LAYOUT_WORD - 1);
    snprintf(a->values[a->n++], RLT_LAYOUT_WORD, "%.*s", (int)length, text);
    return 0;
}

/* Adds the values of an axis that lie from `low` to `high`. */
static int add_all(const axis *x, const rlt_training *t, uint32_t ranks, const uint64_t range[2],
                   rlt_layout_axis *a, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; x->words && x->words[i] && !rc; i++)
        rc = add_value(a, x->words[i], strlen(x->words[i]), err);
    uint32_t most = x->most ? x->most(t, ranks) : 0;
    if (x->most && range[1] < most)
        most = (uint32_t)range[1];
    for (uint32_t v = 1; v <= most && !rc; v++) {
        char text[RLT_LAYOUT_WORD];
        if (v < range[0] || !x->counts(t, ranks, v))
            continue;
        int n = snprintf(text, sizeof text, "%u", v);
        rc = add_value(a, text, (size_t)n, err);
    }
    return rc;
}

/* Sets one value of an axis, in a copy that memcmp can compare. */
static int set_value(const rlt_training *base, const rlt_layout_axis *a, uint32_t i, rlt_training *out,
                     rlt_error *err)
{
    memcpy(out, base, sizeof *out);
    return rlt_training_set(out, a->name, a->values[i], err);
}

/* Checks the last value by setting it. "2" and "02" are the same value. */
static int check_value(const rlt_training *base, const rlt_layout_axis *a, rlt_error *err)
{
    rlt_training t, other;
    int rc =
        strcmp(a->values[a->n - 1], "auto") == 0
            ? rlt_fail(err, RLT_EUSAGE, a->name, "auto stands for all values, and cannot be one of a list")
            : set_value(base, a, a->n - 1, &t, err);
    for (uint32_t i = 0; i + 1 < a->n && !rc; i++) {
        rc = set_value(base, a, i, &other, err);
        if (!rc && memcmp(&t, &other, sizeof t) == 0)
            rc = rlt_fail(err, RLT_EUSAGE, a->name, "has the value '%s' twice", a->values[a->n - 1]);
    }
    return rc;
}

/* Reads "A:B" and adds the values between. */
static int read_range(const axis *x, const rlt_training *t, uint32_t ranks, const char *text,
                      rlt_layout_axis *a, rlt_error *err)
{
    uint64_t range[2];
    char low[RLT_LAYOUT_WORD];
    size_t length = strcspn(text, ":");
    if (length >= sizeof low)
        return rlt_fail(err, RLT_EUSAGE, a->name, "a value is longer than %d characters",
                        RLT_LAYOUT_WORD - 1);
    snprintf(low, sizeof low, "%.*s", (int)length, text);
    int rc = rlt_parse_count(low, &range[0], a->name, err);
    if (!rc)
        rc = rlt_parse_count(text + length + 1, &range[1], a->name, err);
    return rc ? rc : add_all(x, t, ranks, range, a, err);
}

/* Reads "auto", "A:B" or "A+B+C". */
static int read_values(const axis *x, const rlt_training *t, uint32_t ranks, const char *text,
                       rlt_layout_axis *a, rlt_error *err)
{
    static const uint64_t any[2] = {0, UINT32_MAX};
    bool list = strcmp(text, "auto") != 0 && (!x->most || !strchr(text, ':'));
    int rc = 0;
    if (!list)
        rc = strcmp(text, "auto") == 0 ? add_all(x, t, ranks, any, a, err)
                                       : read_range(x, t, ranks, text, a, err);
    if (!list && !rc && a->n == 0)
        rc = rlt_fail(err, RLT_EUSAGE, a->name, "has no value from %s that can be tried on %u ranks%s", text,
                      ranks, t->batch ? "" : ": set batch");
    for (const char *at = text; list && !rc; at++) {
        size_t length = strcspn(at, "+");
        rc = add_value(a, at, length, err);
        if (!rc)
            rc = check_value(t, a, err);
        at += length;
        if (!*at)
            break;
    }
    return rc;
}

int rlt_layout_space_open(const rlt_training *base, uint32_t ranks, const char *const *given,
                          uint32_t n_given, rlt_layout_space *out, rlt_error *err)
{
    *out = (rlt_layout_space){.n = 0};
    int rc = 0;
    for (uint32_t g = 0; g < n_given; g++) {
        char name[RLT_LAYOUT_WORD];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(given[g], "="), given[g]);
        if (!rlt_layout_is_axis(name) || !strchr(given[g], '='))
            return rlt_fail(err, RLT_EUSAGE, name, "is no axis of a search");
    }
    for (uint32_t i = 0; i < N_AXES && !rc; i++) {
        const axis *x = &table[i];
        const char *text = x->only_named ? NULL : "auto";
        size_t length = strlen(x->name);
        for (uint32_t g = 0; g < n_given; g++)
            if (strncmp(given[g], x->name, length) == 0 && given[g][length] == '=')
                text = given[g] + length + 1;
        if (!text)
            continue;
        for (uint32_t l = x->level; l < RLT_LAYOUT_LEVELS; l++)
            out->known[l]++;
        out->axes[out->n].name = x->name;
        rc = read_values(x, base, ranks, text, &out->axes[out->n++], err);
    }
    return rc;
}

void rlt_layout_space_free(rlt_layout_space *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->axes[i].values);
    *s = (rlt_layout_space){0};
}

double rlt_layout_size(const rlt_layout_space *s)
{
    double n = 1;
    for (uint32_t i = 0; i < s->n; i++)
        n *= s->axes[i].n;
    return n;
}

int rlt_layout_training(const rlt_layout_space *s, const rlt_training *base, uint32_t ranks,
                        const rlt_layout_point *p, rlt_training *out, rlt_error *err)
{
    int rc = 0;
    *out = *base;
    for (uint32_t i = 0; i < s->n && !rc; i++)
        rc = rlt_training_set(out, s->axes[i].name, s->axes[i].values[p->at[i]], err);
    if (!rc)
        rc = rlt_training_plan(out, ranks, err);
    return rc;
}

bool rlt_layout_same_order(const rlt_training *t, const rlt_axis *a, const rlt_axis *b)
{
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < RLT_AXES_OF_LAYOUT && t->size[a[i]] == 1)
            i++;
        while (k < RLT_AXES_OF_LAYOUT && t->size[b[k]] == 1)
            k++;
        if (i == RLT_AXES_OF_LAYOUT || k == RLT_AXES_OF_LAYOUT)
            return i == k;
        if (a[i] != b[k])
            return false;
    }
}

/* Returns true if a planned training with another value of this axis may be the same run. */
static bool may_repeat(const char *name, const rlt_training *t)
{
    if (strcmp(name, "sp") == 0)
        return t->size[RLT_AXIS_TP] == 1;
    if (strcmp(name, "zero") == 0)
        return t->size[RLT_AXIS_DP] * t->size[RLT_AXIS_CP] == 1 && t->ep == 1 && t->zero < 3;
    return strcmp(name, "order") == 0;
}

bool rlt_layout_same_run(const rlt_training *a, const rlt_training *b)
{
    return memcmp(a->size, b->size, sizeof a->size) == 0 && a->ep == b->ep && a->vp == b->vp &&
           a->microbatch == b->microbatch && a->recompute == b->recompute && a->schedule == b->schedule &&
           a->batch == b->batch && (a->sequence_parallel == b->sequence_parallel || may_repeat("sp", a)) &&
           (a->zero == b->zero || (may_repeat("zero", a) && b->zero < 3)) &&
           rlt_layout_same_order(a, a->order, b->order);
}

/* Returns true if a planned training is the same run with another value of an axis that may repeat, and this
 * value is against no rule. */
static bool with_value(const rlt_training *t, const rlt_layout_axis *a, uint32_t value)
{
    rlt_training other = *t;
    rlt_error why = {0};
    if (rlt_training_set(&other, a->name, a->values[value], &why) || (t->zero < 3 && other.zero == 3) ||
        !rlt_layout_same_order(t, t->order, other.order))
        return false;
    return !rlt_training_plan(&other, 0, &why);
}

/* Returns the index of a value of an axis; RLT_NONE: it has none. */
static uint32_t find_value(const rlt_layout_axis *a, const char *value)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->values[i], value) == 0)
            return i;
    return RLT_NONE;
}

/* Chunks of one stage are not interleaved, as in Megatron-LM: 1F1B stands for them, if it is in the space. */
static bool no_pipeline(const rlt_layout_space *s, const rlt_training *t)
{
    rlt_training other = *t;
    rlt_error why = {0};
    if (t->size[RLT_AXIS_PP] > 1 || t->schedule != RLT_SCHEDULE_INTERLEAVED)
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const rlt_layout_axis *a = &s->axes[i];
        if ((strcmp(a->name, "schedule") == 0 && find_value(a, "1f1b") == RLT_NONE) ||
            (strcmp(a->name, "vp") == 0 && find_value(a, "1") == RLT_NONE))
            return false;
    }
    other.schedule = RLT_SCHEDULE_1F1B;
    other.vp = 1;
    return !rlt_training_plan(&other, 0, &why);
}

bool rlt__layout_repeats(const rlt_layout_space *s, const rlt_training *t, const uint16_t *at,
                         rlt_layout_level level)
{
    uint32_t begin = level == RLT_LAYOUT_POINT ? s->known[RLT_LAYOUT_STAGES] : 0;
    for (uint32_t i = begin; i < s->known[level]; i++)
        for (uint32_t v = 0; v < at[i] && may_repeat(s->axes[i].name, t); v++)
            if (with_value(t, &s->axes[i], v))
                return true;
    return level < RLT_LAYOUT_POINT && no_pipeline(s, t);
}

bool rlt_layout_repeats(const rlt_layout_space *s, const rlt_training *t, const rlt_layout_point *p)
{
    return rlt__layout_repeats(s, t, p->at, RLT_LAYOUT_STAGES) ||
           rlt__layout_repeats(s, t, p->at, RLT_LAYOUT_POINT);
}
