/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Evidence behind an accelerator's constants, which `ringlet calibrate-training` writes. In the accelerator's
 * file, an array "evidence" of objects:
 *
 *   stack          name of a stack
 *   precision      default: those that have no entry of their own
 *   kind           "dense" or "experts"
 *   rows           measured runs of this accelerator, stack and precision; 0: related ones only
 *   low, high      80 % of runs that the fit did not see lie within these times the predicted time
 *
 * In a stack's file, "spread": {"dense": {"low": 0.7, "high": 1.4}, "experts": ...}, for accelerators of
 * which nothing was measured.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/models/stack_read.h"

static const char *const kinds[RLT_KINDS + 1] = {"dense", "experts", NULL};

const char *rlt_basis_name(rlt_basis b)
{
    static const char *const names[] = {"fitted", "derived", "assumed"};
    return names[b];
}

char *rlt_grounds_text(rlt_grounds g, const rlt_accelerator *a, const char *stack, const char *precision,
                       char *text, size_t size)
{
    const char *basis = rlt_basis_name(g.basis);
    if (g.basis == RLT_BASIS_FITTED)
        snprintf(text, size, "%s: %u measured run%s on %s with %s in %s", basis, g.rows,
                 g.rows == 1 ? "" : "s", a->name, stack, precision);
    else if (g.basis == RLT_BASIS_DERIVED)
        snprintf(text, size, "%s: measured runs on %s, none of them on %s with %s in %s", basis,
                 *a->generation ? a->generation : a->name, a->name, stack, precision);
    else
        snprintf(text, size, "%s: no measured run of such a model on %s or its generation", basis, a->name);
    return text;
}

rlt_model_kind rlt_model_kind_of(const rlt_model *m)
{
    rlt_model_kind kind = RLT_KIND_OTHER;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const rlt_model_layer *l = &m->layers[i];
        if (l->work == RLT_WORK_CONVOLUTION || m->recurrent)
            return RLT_KIND_OTHER;
        if (l->experts && l->work != RLT_WORK_LOOKUP)
            kind = RLT_KIND_EXPERTS;
        else if (l->work == RLT_WORK_ATTENTION && kind == RLT_KIND_OTHER)
            kind = RLT_KIND_DENSE;
    }
    return kind;
}

/* ---- from files ---- */

static const rlt_json_bounds ratios = {1e-3, 1e3};

static int read_spread(rlt_json v, rlt_spread *s, rlt_error *err)
{
    int rc = rlt_json_get_within(v, "low", true, ratios, &s->low, err);
    if (!rc)
        rc = rlt_json_get_within(v, "high", true, ratios, &s->high, err);
    if (!rc && s->high < s->low)
        rc = rlt_json_fail(rlt_json_get(v, "high"), RLT_ERANGE, err, "expected at least low, %g", s->low);
    return rc;
}

int rlt__read_spreads(rlt_json v, rlt_spread s[RLT_KINDS], rlt_error *err)
{
    int rc = rlt_json_is(v) ? rlt_json_only(v, kinds, err) : 0;
    for (int k = 0; kinds[k] && !rc; k++)
        if (rlt_json_is(rlt_json_get(v, kinds[k])))
            rc = read_spread(rlt_json_get(v, kinds[k]), &s[k], err);
    return rc;
}

static int read_entry(rlt_json v, rlt_evidence *e, rlt_error *err)
{
    static const char *const keys[] = {"stack", "precision", "kind", "rows", "low", "high", NULL};
    char kind[16] = "";
    uint64_t rows = 0;
    int rc;
    *e = (rlt_evidence){.kind = RLT_KIND_OTHER};
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = rlt_json_get_text(v, "stack", true, e->stack, sizeof e->stack, err)) ||
        (rc = rlt_json_get_text(v, "precision", false, e->precision, sizeof e->precision, err)) ||
        (rc = rlt_json_get_text(v, "kind", true, kind, sizeof kind, err)) ||
        (rc = rlt_json_get_u64(v, "rows", true, UINT32_MAX, &rows, err)) ||
        (rc = read_spread(v, &e->spread, err)))
        return rc;
    e->rows = (uint32_t)rows;
    for (int k = 0; kinds[k]; k++)
        if (strcmp(kinds[k], kind) == 0)
            e->kind = (rlt_model_kind)k;
    return e->kind == RLT_KIND_OTHER
               ? rlt_json_fail(rlt_json_get(v, "kind"), RLT_ESCHEMA, err, "expected dense or experts")
               : 0;
}

int rlt__read_evidence(rlt_json array, rlt_evidence *list, uint32_t *n, rlt_error *err)
{
    int rc = 0;
    if (rlt_json_is(array) && !rlt_json_is_array(array))
        return rlt_json_fail(array, RLT_ESCHEMA, err, "expected an array of evidence");
    for (rlt_json v = rlt_json_first(array); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        if (*n == RLT_MAX_EVIDENCE)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d entries", RLT_MAX_EVIDENCE);
        rc = read_entry(v, &list[(*n)++], err);
    }
    return rc;
}

/* ---- what a prediction rests on ---- */

/* Returns the spread of a stack on accelerators that were not measured; that of "any" if it has none. */
static rlt_spread unmeasured(const rlt_accelerator *a, const char *stack, rlt_model_kind kind)
{
    const char *const names[] = {stack, "any"};
    if (kind == RLT_KIND_OTHER)
        kind = RLT_KIND_DENSE;
    for (int i = 0; i < 2; i++) {
        const rlt_stack *s = rlt_accelerator_stack(a, names[i]);
        if (s && s->spread[kind].low > 0)
            return s->spread[kind];
    }
    return (rlt_spread){0};
}

rlt_grounds rlt_accelerator_grounds(const rlt_accelerator *a, const char *stack, const char *precision,
                                    rlt_model_kind kind)
{
    rlt_grounds g = {.basis = RLT_BASIS_ASSUMED, .spread = unmeasured(a, stack, kind)};
    bool related = false;
    for (uint32_t i = 0; i < a->n_evidence; i++) {
        const rlt_evidence *e = &a->evidence[i];
        if (e->kind != kind)
            continue;
        if (g.basis == RLT_BASIS_ASSUMED)
            g.basis = RLT_BASIS_DERIVED;
        if (strcmp(e->stack, stack) != 0)
            continue;
        if (strcmp(e->precision, precision) == 0)
            return (rlt_grounds){e->rows ? RLT_BASIS_FITTED : RLT_BASIS_DERIVED, e->rows, e->spread};
        if (!*e->precision && !related) {
            g.spread = e->spread;
            related = true;
        }
    }
    return g;
}

const char *rlt_accelerator_best_stack(const rlt_accelerator *a, const char *precision, rlt_model_kind kind)
{
    const rlt_evidence *best = NULL;
    rlt_grounds least = {.basis = RLT_BASIS_ASSUMED};
    for (uint32_t i = 0; i < a->n_evidence; i++) {
        const rlt_evidence *e = &a->evidence[i];
        if (e->kind != kind || (*e->precision && strcmp(e->precision, precision) != 0) ||
            !rlt_accelerator_stack(a, e->stack))
            continue;
        rlt_grounds g = rlt_accelerator_grounds(a, e->stack, precision, kind);
        if (best &&
            (g.basis > least.basis || (g.basis == least.basis &&
                                       g.spread.high / g.spread.low >= least.spread.high / least.spread.low)))
            continue;
        best = e;
        least = g;
    }
    return best ? best->stack : "any";
}
