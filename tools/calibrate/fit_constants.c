/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fitting the constants of machines to measurements, and the record of it in the topology file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/json_edit.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"

/* Significant digits of a constant in the file: more than measurements support. */
enum { KEPT_DIGITS = 4 };

typedef struct search {
    rlt_calibration *c;
    uint32_t free[RLT_MAX_CONSTANTS]; /* indices of the constants that are fitted */
    uint32_t n;
    rlt_error why; /* error of the last point that failed */
    int rc;
} search;

int rlt_calibration_apply(rlt_calibration *c, int digits, rlt_error *err)
{
    rlt_constant list[RLT_MAX_CONSTANTS];
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < c->n_constants; i++)
        if (!c->constants[i].frozen || c->trial->n_machines > 1)
            list[n++] = c->constants[i];
    for (uint32_t i = 0; i < c->trial->n_machines && !rc; i++)
        rc = rlt_constants_apply(&c->trial->machines[i], list, n, digits, err);
    return rc;
}

/* The search runs over logarithms of constants, so that a factor weighs the same at any magnitude. */
static double misfit_at(void *ctx, const double *x, bool *stop)
{
    search *s = ctx;
    rlt_calibration *c = s->c;
    s->why = (rlt_error){0};
    for (uint32_t i = 0; i < s->n; i++)
        c->constants[s->free[i]].value = exp(x[i]);
    s->rc = rlt_calibration_apply(c, RLT_SEARCH_DIGITS, &s->why);
    if (!s->rc)
        s->rc = rlt_trial_run(c->trial, RLT_FITTED, &s->why);
    c->partial = s->rc == RLT_ECANCELLED;
    *stop = s->rc == RLT_ECANCELLED || s->rc == RLT_ENOMEM;
    c->tried++;
    if (c->progress)
        rlt_progress_update(c->progress, c->tried, c->evaluations);
    return s->rc ? INFINITY : rlt_trial_misfit(c->trial);
}

/* The method is local, and its result depends on the first steps. So the search restarts from its result with
 * other step sizes, until no step size improves the misfit by 0.1 %. */
int rlt_calibration_seek(rlt_calibration *c, rlt_error *err)
{
    static const double steps[] = {0.4, 1.0, 0.2};
    enum { N_STEPS = sizeof steps / sizeof *steps };
    search s = {.c = c};
    rlt_fit fit = {.f = misfit_at, .ctx = &s};
    uint32_t in_vain = 0;
    for (uint32_t i = 0; i < c->n_constants; i++) {
        const rlt_constant *k = &c->constants[i];
        if (k->frozen)
            continue;
        fit.x[s.n] = log(k->value);
        fit.low[s.n] = log(k->low);
        fit.high[s.n] = log(k->high);
        s.free[s.n++] = i;
    }
    fit.n = s.n;
    c->misfit = INFINITY;
    for (uint32_t turn = 0; in_vain < N_STEPS && c->tried < c->evaluations && !c->partial; turn++) {
        fit.step = steps[turn % N_STEPS];
        fit.evaluations = c->evaluations - c->tried;
        int rc = rlt_fit_run(&fit, err);
        if (rc)
            return rc;
        if (!isfinite(fit.least) && !isfinite(c->misfit) && !c->partial)
            return rlt_fail(err, s.rc, s.why.where, "%s", s.why.what);
        in_vain = fit.least < c->misfit * 0.999 ? 0 : in_vain + 1;
        c->misfit = fit.least < c->misfit ? fit.least : c->misfit;
    }
    if (!isfinite(c->misfit)) /* interrupted at the first point */
        c->misfit = c->misfit_before;
    for (uint32_t i = 0; i < s.n; i++)
        c->constants[s.free[i]].value = exp(fit.x[i]);
    return 0;
}

/* Makes an interrupt a partial result. */
static int stopped(rlt_calibration *c, int rc, rlt_error *err)
{
    if (rc != RLT_ECANCELLED)
        return rc;
    *err = (rlt_error){0};
    c->partial = true;
    return 0;
}

/* Runs the fitted machines once more, for all rows. An interrupt makes the result partial. */
static int run_after(rlt_calibration *c, rlt_error *err)
{
    int rc = stopped(c, rlt_trial_run(c->trial, RLT_FITTED | RLT_HELD_OUT, err), err);
    if (rc || c->partial)
        return rc;
    c->misfit = rlt_trial_misfit(c->trial);
    return rlt_errors_table(c->trial, true, false, &c->after, err);
}

int rlt_calibrate(rlt_calibration *c, rlt_error *err)
{
    int rc = rlt_trial_run(c->trial, RLT_FITTED | RLT_HELD_OUT, err);
    if (rc)
        return rc;
    c->misfit = c->misfit_before = rlt_trial_misfit(c->trial);
    if ((rc = rlt_errors_table(c->trial, true, false, &c->before, err)) ||
        (rc = stopped(c, rlt_constants_freeze(c, err), err)) ||
        (!c->partial && (rc = rlt_calibration_seek(c, err))) ||
        (!c->partial && (rc = stopped(c, rlt_constants_bound(c, err), err))) ||
        (rc = rlt_calibration_apply(c, KEPT_DIGITS, err)))
        return rc;
    return c->partial ? 0 : run_after(c, err);
}

void rlt_calibration_free(rlt_calibration *c)
{
    free(c->before.rows);
    free(c->after.rows);
    c->before = c->after = (rlt_errors_list){0};
}

static void residuals(const rlt_calibration *c, rlt_jw *w)
{
    rlt_jw_array(w, "residuals");
    for (uint32_t i = 0; i < c->after.n; i++) {
        const rlt_errors_row *r = &c->after.rows[i];
        if (r->kind == RLT_COLL_KINDS)
            continue;
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "system", r->system);
        rlt_jw_string(w, "collective", rlt_coll_name((rlt_coll_kind)r->kind));
        rlt_jw_string(w, "size", r->small ? "< 1 MiB" : ">= 1 MiB");
        rlt_jw_string(w, "rows", r->held_out ? "held out" : "fitted");
        rlt_jw_u64(w, "count", r->errors.rows);
        rlt_jw_double(w, "median", r->errors.median, 4);
        rlt_jw_double(w, "p90", r->errors.p90, 4);
        rlt_jw_double(w, "worst", r->errors.worst, 4);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

/* Puts each residual on a line of its own. The mark cannot occur inside a string: its quotes would be
 * escaped. */
static char *break_lines(char *text, rlt_error *err)
{
    static const char mark[] = "{\"system\"", with[] = "\n      ";
    size_t size = strlen(text) + 1, used = 0;
    char *out, *at;
    for (at = text; (at = strstr(at, mark)); at++)
        size += sizeof with - 1;
    out = malloc(size);
    if (!out)
        rlt_nomem(err);
    for (const char *p = text; out; p = at) {
        at = strstr(p + 1, mark);
        size_t n = at ? (size_t)(at - p) : strlen(p);
        memcpy(out + used, p, n);
        used += n;
        if (!at)
            break;
        memcpy(out + used, with, sizeof with - 1);
        used += sizeof with - 1;
    }
    if (out)
        out[used] = 0;
    free(text);
    return out;
}

static char *record(const rlt_calibration *c, const char *source, rlt_error *err)
{
    uint32_t held_out = 0;
    rlt_jw w;
    char *text;
    for (uint32_t i = 0; i < c->trial->n_rows; i++)
        held_out += c->trial->rows[i].held_out;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "source", source);
    rlt_jw_array(&w, "constants");
    for (uint32_t i = 0; i < c->n_constants; i++)
        if (!c->constants[i].frozen)
            rlt_jw_string(&w, NULL, c->constants[i].name);
    rlt_jw_end_array(&w);
    rlt_jw_u64(&w, "fitted_rows", c->trial->n_rows - held_out);
    rlt_jw_u64(&w, "held_out_rows", held_out);
    rlt_jw_double(&w, "mean_log_error_before", c->misfit_before, 4);
    rlt_jw_double(&w, "mean_log_error", c->misfit, 4);
    if (c->partial)
        rlt_jw_bool(&w, "partial", true);
    residuals(c, &w);
    rlt_jw_end_object(&w);
    text = rlt_jw_finish(&w, NULL);
    if (!text)
        rlt_nomem(err);
    return text ? break_lines(text, err) : NULL;
}

int rlt_calibration_write(const rlt_calibration *c, rlt_machine *m, const char *source, const char *path,
                          rlt_error *err)
{
    char where[32], *text = record(c, source, err);
    int rc;
    if (!text)
        return RLT_ENOMEM;
    snprintf(where, sizeof where, "%s.fit", m->key);
    rc = rlt_json_edit(m->path, &m->text, &m->length, where, text, err);
    free(text);
    return rc ? rc : rlt_file_write(path, m->text, m->length, err);
}
