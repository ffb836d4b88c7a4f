/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coupled axes: values that follow from other axes, and rules over several axes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/expression.h"
#include "tools/sweep/study/study.h"

#define WHOLE_LIMIT 9007199254740992.0 /* 2^53: whole numbers are exact up to here */

int rlt_sweep_reason(rlt_sweep_study *s, const char *text, uint32_t *reason, rlt_error *err)
{
    for (*reason = 0; *reason < s->n_reasons; ++*reason)
        if (strcmp(s->reasons[*reason].text, text) == 0)
            return 0;
    int rc = rlt_grow(&s->reasons, &s->reasons_capacity, sizeof *s->reasons, (uint64_t)s->n_reasons + 1,
                      UINT16_MAX, "reasons", err);
    char *kept = rc ? NULL : rlt_arena_strdup(&s->arena, text);
    if (rc || !kept)
        return rc ? rc : rlt_nomem(err);
    s->reasons[s->n_reasons++] = (rlt_sweep_reasons){.text = kept};
    return 0;
}

/* Returns place `k` of the axes that a derived axis depends on, as coordinates. */
static void spread(const rlt_sweep_study *s, const rlt_sweep_axis *a, uint32_t k, uint32_t at[RLT_SWEEP_AXES])
{
    for (uint32_t i = s->n_axes; i-- > 0;)
        if (a->on[i] && !s->axes[i].from) {
            at[i] = k % s->axes[i].n;
            k /= s->axes[i].n;
        }
}

uint32_t rlt__sweep_derived(const rlt_sweep_study *s, const rlt_sweep_axis *a,
                            const uint32_t at[RLT_SWEEP_AXES])
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->n_axes; i++)
        if (a->on[i] && !s->axes[i].from)
            k = k * s->axes[i].n + at[i];
    return a->table[k];
}

/* Writes the value as JSON would. False: it is a fraction of whole numbers, or no number. */
static bool format_value(const rlt_sweep_value *v, char *text, size_t size)
{
    bool whole = v->number == floor(v->number) && fabs(v->number) < WHOLE_LIMIT;
    if (!whole && (!v->real || !isfinite(v->number)))
        return false;
    snprintf(text, size, whole ? "%.0f" : "%.6g", v->number);
    return true;
}

/* Finds the index of a value on the axis; adds the value if it is new. */
static int enter_value(rlt_sweep_study *s, rlt_sweep_axis *a, rlt_map *known, const char *text, uint32_t *i,
                       rlt_error *err)
{
    uint64_t key = rlt_hash_bytes(text, strlen(text), 0);
    *i = rlt_map_get(known, key);
    if (*i != RLT_NONE)
        return 0;
    rlt_json_tree *t = rlt_arena_array(&s->arena, 1, sizeof *t);
    char *kept = rlt_arena_strdup(&s->arena, text);
    if (!t || !kept)
        return rlt_nomem(err);
    *t = (rlt_json_tree){.kind = RLT_TREE_NUMBER, .text = kept, .at = a->range.at};
    *i = a->n;
    a->shown[a->n++] = t;
    return rlt_map_put(known, key, *i) ? rlt_nomem(err) : 0;
}

/* Computes the axis's value for all values of the axes that it depends on. */
static int tabulate(rlt_sweep_study *s, rlt_sweep_axis *a, uint32_t n, rlt_error *err)
{
    uint32_t at[RLT_SWEEP_AXES] = {0};
    rlt_map known = {0};
    int rc = 0;
    a->table = rlt_arena_array(&s->arena, n, sizeof *a->table);
    a->shown = rlt_arena_array(&s->arena, n, sizeof *a->shown);
    if (!a->table || !a->shown)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < n && !rc; k++) {
        rlt_sweep_value v;
        char text[40];
        bool there = true;
        a->table[k] = RLT_NONE;
        spread(s, a, k, at);
        for (uint32_t i = 0; i + 1 < s->n_axes && there; i++)
            if (a->on[i] && s->axes[i].from)
                there = (at[i] = rlt__sweep_derived(s, &s->axes[i], at)) != RLT_NONE;
        if (!there || (rc = rlt__sweep_evaluate(a->from, at, &v, err)))
            continue;
        if (v.kind != RLT_SWEEP_NUMBER)
            rc = rlt_json_fail(a->range.at, RLT_ESCHEMA, err, "expected a number as the value");
        else if (format_value(&v, text, sizeof text))
            rc = enter_value(s, a, &known, text, &a->table[k], err);
    }
    rlt_map_free(&known);
    return rc;
}

int rlt__sweep_derive(rlt_sweep_study *s, rlt_sweep_axis *a, rlt_json text, rlt_error *err)
{
    uint64_t n = 1;
    char reason[200];
    const rlt_sweep_expression *from;
    if (a->n_places != 1)
        return rlt_json_fail(text, RLT_ESCHEMA, err, "a value that follows from axes needs one pointer");
    int rc = rlt__sweep_compile(s, text, &from, err);
    if (rc)
        return rc;
    a->on = rlt_arena_array(&s->arena, RLT_SWEEP_AXES, sizeof *a->on);
    if (!a->on)
        return rlt_nomem(err);
    rlt__sweep_axes_used(from, a->on);
    for (uint32_t i = s->n_axes; i-- > 0;)
        for (uint32_t k = 0; a->on[i] && s->axes[i].from && k < i; k++)
            a->on[k] |= s->axes[i].on[k];
    for (uint32_t i = 0; i < s->n_axes; i++)
        n *= a->on[i] && !s->axes[i].from && n <= RLT_SWEEP_VALUES ? s->axes[i].n : 1;
    if (n > RLT_SWEEP_VALUES)
        return rlt_json_fail(text, RLT_ERANGE, err, "follows from axes with more than %d values together",
                             RLT_SWEEP_VALUES);
    a->range.at = text;
    a->from = from;
    snprintf(reason, sizeof reason, "%s is not whole: %.120s", a->name, rlt_json_string(text));
    if ((rc = rlt_sweep_reason(s, reason, &a->uneven, err)) || (rc = tabulate(s, a, (uint32_t)n, err)))
        return rc;
    return a->n ? 0 : rlt_json_fail(text, RLT_ESCHEMA, err, "is whole for no values of the other axes");
}

int rlt__sweep_conditions(rlt_sweep_study *s, rlt_json list, rlt_error *err)
{
    int rc = 0;
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of rules such as \"heads %% tp == 0\"");
    s->conditions = rlt_arena_array(&s->arena, rlt_json_count(list) + 1, sizeof *s->conditions);
    if (!s->conditions)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        rlt_sweep_condition *c = &s->conditions[s->n_conditions++];
        char reason[200];
        c->at = v;
        if (!rlt_json_is_string(v))
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a rule such as \"heads %% tp == 0\"");
        snprintf(reason, sizeof reason, "not %.180s", rlt_json_string(v));
        if (!(rc = rlt__sweep_compile(s, v, &c->holds, err)))
            rc = rlt_sweep_reason(s, reason, &c->reason, err);
    }
    return rc;
}

int rlt__sweep_meets(const rlt_sweep_condition *c, const uint32_t at[RLT_SWEEP_AXES], bool *holds,
                     rlt_error *err)
{
    rlt_sweep_value v;
    int rc = rlt__sweep_evaluate(c->holds, at, &v, err);
    *holds = !rc && v.kind == RLT_SWEEP_NUMBER && v.number != 0;
    if (!rc && v.kind != RLT_SWEEP_NUMBER)
        rc = rlt_json_fail(c->at, RLT_ESCHEMA, err, "expected a comparison such as tp <= 8");
    return rc;
}
