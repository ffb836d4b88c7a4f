/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of values, computed from their indices, so that a range needs no memory per value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/study.h"

/* Numbers from here on would print with an exponent at six digits, which sizes and counts do not accept. */
#define WHOLE 1e6

/* Reads an end of a range: a number and its unit. */
static int read_end(rlt_json range, const char *key, double *number, const char **text, const char **unit,
                    rlt_arena *arena, rlt_error *err)
{
    rlt_json v = rlt_json_get(range, key);
    rlt_json_tree *t = NULL;
    char *end;
    if (!rlt_json_is_string(v) && !rlt_json_is_number(v))
        return rlt_json_fail(rlt_json_is(v) ? v : range, RLT_ESCHEMA, err,
                             "expected from and to: numbers, or texts such as \"25GB/s\"");
    int rc = rlt_tree_make(arena, v, &t, err);
    if (rc)
        return rc;
    *text = t->text;
    *number = strtod(t->text, &end);
    *unit = end;
    return end != t->text && isfinite(*number)
               ? 0
               : rlt_json_fail(v, RLT_ESCHEMA, err, "expected a number, got '%s'", t->text);
}

int rlt__sweep_range(rlt_sweep_study *s, rlt_json v, rlt_sweep_axis *a, rlt_error *err)
{
    static const char *const keys[] = {"from", "to", "count", "scale", NULL};
    rlt_sweep_range *r = &a->range;
    const char *scale = "linear", *other;
    uint64_t n = 0;
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    if (rc || (rc = read_end(v, "from", &r->from, &r->first, &r->unit, &s->arena, err)) ||
        (rc = read_end(v, "to", &r->to, &r->last, &other, &s->arena, err)) ||
        (rc = rlt_json_get_u64(v, "count", true, RLT_SWEEP_VALUES, &n, err)) ||
        (rc = rlt_json_get_string(v, "scale", false, &scale, err)))
        return rc;
    r->logarithmic = strcmp(scale, "log") == 0;
    if (!r->logarithmic && strcmp(scale, "linear") != 0)
        return rlt_json_fail(rlt_json_get(v, "scale"), RLT_ESCHEMA, err, "expected linear or log, got '%s'",
                             scale);
    if (strcmp(r->unit, other) != 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "from and to have different units, '%s' and '%s': use one unit", r->unit, other);
    if (n < 2 || (r->logarithmic && (r->from <= 0 || r->to <= 0)))
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             n < 2 ? "expected a count of at least 2"
                                   : "a logarithmic scale needs ends above 0");
    r->from = r->logarithmic ? rlt_fixed_log(r->from) : r->from;
    r->to = r->logarithmic ? rlt_fixed_log(r->to) : r->to;
    r->at = v;
    a->n = (uint32_t)n;
    return 0;
}

static const char *text_of(const rlt_sweep_axis *a, uint32_t i, rlt_arena *arena)
{
    const rlt_sweep_range *r = &a->range;
    if (i == 0 || i == a->n - 1)
        return i ? r->last : r->first;
    double part = (double)i / (double)(a->n - 1), x = r->from + part * (r->to - r->from);
    x = r->logarithmic ? rlt_fixed_exp(x) : x;
    return rlt_arena_printf(arena, fabs(x) < WHOLE ? "%.6g%s" : "%.0f%s", x, r->unit);
}

int rlt_sweep_axis_value(const rlt_sweep_axis *a, uint32_t i, rlt_arena *arena, const rlt_json_tree **out,
                         rlt_error *err)
{
    if (a->shown) {
        *out = a->shown[i];
        return 0;
    }
    rlt_json_tree *node = rlt_arena_array(arena, 1, sizeof *node);
    const char *text = node ? text_of(a, i, arena) : NULL;
    if (!text)
        return rlt_nomem(err);
    *node = (rlt_json_tree){
        .kind = *a->range.unit ? RLT_TREE_STRING : RLT_TREE_NUMBER, .text = text, .at = a->range.at};
    *out = node;
    return 0;
}
