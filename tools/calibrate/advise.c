/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice after a fit that leaves large errors: the constant that should be free as well. Every number of the
 * endpoint and of the dimensions that is not free is tried alone, with factors from 1/8 to 8. The best few
 * are then fitted together with the free constants.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"

enum { TRIED_TOGETHER = 3, EVALUATIONS = 300, MAX_DIMS = 8 };

typedef struct candidate {
    rlt_constant constant;
    double misfit; /* alone */
    double value;  /* at that misfit */
} candidate;

/* Finds one named constant, unless it is in the list. */
static void add(rlt_machine *m, const char *name, const rlt_calibration *c, candidate *list, uint32_t *n)
{
    rlt_constant found[RLT_MAX_CONSTANTS];
    rlt_error ignored = {0};
    uint32_t k = 0;
    for (uint32_t i = 0; i < c->n_constants; i++)
        if (strcmp(c->constants[i].name, name) == 0)
            return;
    if (*n < RLT_MAX_CONSTANTS && rlt_constants_find(m, 1, name, found, &k, &ignored) == 0 && !found[0].whole)
        list[(*n)++] = (candidate){.constant = found[0]};
}

static int list_candidates(rlt_machine *m, const rlt_calibration *c, candidate *list, uint32_t *n,
                           rlt_error *err)
{
    static const char *const fields[] = {"bandwidth", "latency"};
    rlt_constant usual[RLT_MAX_CONSTANTS];
    rlt_json_doc *doc;
    rlt_error ignored = {0};
    uint32_t k = 0, dims;
    int rc = rlt_json_parse(m->path, m->text, m->length, &doc, err);
    *n = 0;
    if (rc)
        return rc;
    dims = rlt_json_count(rlt_json_get(rlt_json_root(doc), "dims"));
    rlt_json_free(doc);
    if (rlt_constants_find(m, 1, NULL, usual, &k, &ignored))
        k = 0;
    for (uint32_t i = 0; i < k; i++)
        add(m, usual[i].name, c, list, n);
    add(m, "clock", c, list, n);
    for (uint32_t d = 0; d < dims && d < MAX_DIMS; d++)
        for (int f = 0; f < 2; f++) {
            char name[32];
            snprintf(name, sizeof name, "dims.%u.%s", d, fields[f]);
            add(m, name, c, list, n);
        }
    return 0;
}

/* Runs the fitted rows with the constant at a value. Returns infinity where that fails. */
static int misfit_at(rlt_trial *t, rlt_constant *k, double value, double *misfit, rlt_error *err)
{
    rlt_error why = {0};
    k->value = fmin(k->high, fmax(k->low, value));
    int rc = rlt_constants_apply(&t->machines[0], k, 1, RLT_SEARCH_DIGITS, &why);
    if (!rc)
        rc = rlt_trial_run(t, RLT_FITTED, &why);
    *misfit = rc ? INFINITY : rlt_trial_misfit(t);
    return rc == RLT_ECANCELLED || rc == RLT_ENOMEM ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* Tries a candidate alone, then puts its value back. */
static int try_alone(rlt_trial *t, candidate *k, rlt_error *err)
{
    double start = k->constant.value, misfit;
    int rc = 0;
    k->misfit = INFINITY;
    for (double f = 0.125; f <= 8 && !rc; f *= sqrt(2))
        if (!(rc = misfit_at(t, &k->constant, start * f, &misfit, err)) && misfit < k->misfit) {
            k->misfit = misfit;
            k->value = k->constant.value;
        }
    return rc ? rc : misfit_at(t, &k->constant, start, &misfit, err);
}

static int by_misfit(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->misfit > y->misfit) - (x->misfit < y->misfit);
}

/* Fits the candidate with the constants that are free, then puts the text of the machine back. */
static int try_together(const rlt_calibration *c, const candidate *k, double *reach, rlt_error *err)
{
    rlt_machine *m = &c->trial->machines[0];
    rlt_calibration with = {.trial = c->trial, .evaluations = EVALUATIONS, .misfit = INFINITY};
    char *text = strdup(m->text);
    int rc;
    *reach = INFINITY;
    if (!text)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < c->n_constants && with.n_constants < RLT_MAX_CONSTANTS - 1; i++)
        if (!c->constants[i].frozen)
            with.constants[with.n_constants++] = c->constants[i];
    with.constants[with.n_constants] = k->constant;
    with.constants[with.n_constants++].value = k->value;
    if (!(rc = rlt_calibration_seek(&with, err)) &&
        !(rc = rlt_calibration_apply(&with, RLT_SEARCH_DIGITS, err)) &&
        !(rc = with.partial ? RLT_ECANCELLED : rlt_trial_run(c->trial, RLT_FITTED, err)))
        *reach = rlt_trial_large_error(c->trial);
    free(m->text);
    m->text = text;
    m->length = strlen(text);
    int back = rlt_machine_rebuild(m, rc ? NULL : err);
    return rc ? rc : back;
}

/* Tries all candidates alone and the best few together with the free constants. Leaves the machine's text
 * edited. */
static int seek_advice(const rlt_calibration *c, candidate *list, rlt_advice *out, rlt_error *err)
{
    uint32_t n;
    int rc = list_candidates(&c->trial->machines[0], c, list, &n, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = try_alone(c->trial, &list[i], err);
    if (!rc && n)
        qsort(list, n, sizeof *list, by_misfit);
    for (uint32_t i = 0; i < n && i < TRIED_TOGETHER && !rc; i++) {
        double reach;
        rc = try_together(c, &list[i], &reach, err);
        if (!rc && reach < out->reach) {
            out->reach = reach;
            snprintf(out->name, sizeof out->name, "%s", list[i].constant.name);
        }
    }
    return rc;
}

int rlt_calibration_advise(const rlt_calibration *c, rlt_advice *out, rlt_error *err)
{
    rlt_machine *m = &c->trial->machines[0];
    candidate *list = calloc(RLT_MAX_CONSTANTS, sizeof *list);
    char *text = strdup(m->text);
    int rc = list && text ? 0 : rlt_nomem(err);
    *out = (rlt_advice){.now = rlt_trial_large_error(c->trial)};
    out->reach = 0.9 * out->now;
    if (!rc)
        rc = seek_advice(c, list, out, err);
    if (text) {
        free(m->text);
        m->text = text;
        m->length = strlen(text);
        int back = rlt_machine_rebuild(m, rc ? NULL : err);
        rc = rc ? rc : back;
    }
    free(list);
    return rc ? rc : rlt_trial_run(c->trial, RLT_FITTED | RLT_HELD_OUT, err);
}
