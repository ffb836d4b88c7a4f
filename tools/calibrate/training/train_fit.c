/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits efficiency surfaces to measured iterations, one for all dense rows of an accelerator, precision and
 * stack. Minimised is the mean of a robust function of log(predicted / measured). The efficiency of matrix
 * products is always fitted. Other parameters are fitted only if the rows determine them: enough different
 * values of the property that they depend on, and four rows per parameter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

/* Property of the rows that must vary for a parameter to be fitted. */
typedef enum varied { BY_ROWS, BY_RECOMPUTE, BY_SEQUENCE, BY_WIDTH, BY_TOKENS, BY_TP } varied;

typedef struct parameter {
    const char *name;
    size_t offset; /* offset of a double in rlt_surface, or of its host_ps */
    double least, most;
    bool square; /* searched as its square root, which resolves small values better */
    varied by;
    uint32_t values;
} parameter;

#define AT(field) offsetof(rlt_surface, field)
#define KIND(k)   (offsetof(rlt_surface, most) + (k) * sizeof(double))
/* In the order in which they are added to the fit. Host times are in picoseconds. */
static const parameter parameters[] = {
    {"matmul", KIND(RLT_WORK_MATMUL), 0.05, 1, false, BY_ROWS, 1},
    {"tp_power", AT(tp_power), 0, 2, false, BY_TP, 2},
    {"attention", KIND(RLT_WORK_ATTENTION), 0.02, 1, false, BY_SEQUENCE, 3},
    {"backward", AT(backward), 0.5, 1, false, BY_RECOMPUTE, 2},
    {"width_half", AT(width_half), 0, 2048, true, BY_WIDTH, 3},
    {"tokens_half", AT(tokens_half), 0, 8192, true, BY_TOKENS, 4},
    {"memory", AT(memory), 0.2, 1, false, BY_WIDTH, 4},
    {"host", AT(host_ps), 0, 0.5e12, true, BY_TOKENS, 4},
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters, ROWS_EACH = 4 };

static double get(const rlt_surface *s, const parameter *p)
{
    const char *at = (const char *)s + p->offset;
    double v = p->offset == AT(host_ps) ? (double)s->host_ps : *(const double *)(const void *)at;
    double x = (v - p->least) / (p->most - p->least);
    return p->square ? sqrt(x > 0 ? x : 0) : x;
}

static void put(rlt_surface *s, const parameter *p, double x)
{
    double v = p->least + (p->most - p->least) * (p->square ? x * x : x);
    if (p->offset == AT(host_ps))
        s->host_ps = (rlt_time)v;
    else
        *(double *)(void *)((char *)s + p->offset) = v;
}

typedef struct search {
    rlt_train_predictor *predictor;
    rlt_train_group *group;
    const rlt_train_row **rows;
    uint32_t n_rows;
    const parameter *chosen[N_PARAMETERS];
    uint32_t n;
    rlt_error why;
    int rc;
} search;

static double value_of(const rlt_train_row *r, varied by)
{
    switch (by) {
    case BY_RECOMPUTE:
        return r->training.recompute == RLT_RECOMPUTE_FULL;
    case BY_SEQUENCE:
        return r->shape.tokens;
    case BY_WIDTH:
        return r->shape.hidden;
    case BY_TOKENS:
        return (double)r->shape.tokens * r->training.microbatch;
    case BY_TP:
        return r->training.size[RLT_AXIS_TP];
    case BY_ROWS:
        break;
    }
    return 0;
}

static uint32_t different(const search *s, varied by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_rows; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = value_of(s->rows[k], by) == value_of(s->rows[i], by);
        n += !seen;
    }
    return n;
}

static double misfit_at(void *ctx, const double *x, bool *stop)
{
    const double scale = 0.05; /* larger errors count linearly, smaller ones squared */
    search *s = ctx;
    rlt_surface *surface = &s->group->machine.surfaces[0];
    double sum = 0;
    s->group->tried++;
    for (uint32_t i = 0; i < s->n; i++)
        put(surface, s->chosen[i], x[i]);
    for (uint32_t i = 0; i < s->n_rows; i++) {
        double got;
        s->rc = rlt_train_predict(s->predictor, s->rows[i], true, &got, &s->why);
        if (s->rc) {
            *stop = true;
            return INFINITY;
        }
        double e = log(got / s->rows[i]->measured_s) / scale;
        sum += sqrt(1 + e * e) - 1;
    }
    return sum / s->n_rows;
}

static void choose(search *s)
{
    for (uint32_t i = 0; i < N_PARAMETERS; i++)
        if (s->n == 0 ||
            (s->n_rows >= (s->n + 1) * ROWS_EACH && different(s, parameters[i].by) >= parameters[i].values))
            s->chosen[s->n++] = &parameters[i];
}

static int seek(search *s, uint32_t evaluations, rlt_error *err)
{
    static const double steps[] = {0.15, 0.05};
    rlt_fit fit = {.n = s->n, .smooth = s->n > 1, .f = misfit_at, .ctx = s};
    rlt_train_group *g = s->group;
    int rc = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double x = get(&g->machine.surfaces[0], s->chosen[i]);
        fit.x[i] = x < 0.001 ? 0.001 : x > 1 ? 1 : x;
        fit.high[i] = 1;
    }
    g->tried = 0;
    for (uint32_t k = 0; k < 2 && !rc && g->tried < evaluations; k++) {
        fit.step = steps[k];
        fit.evaluations = (evaluations - g->tried + 1) / (2 - k);
        rc = rlt_fit_run(&fit, err);
        if (!rc && s->rc)
            rc = rlt_fail(err, s->rc, s->why.where, "%s", s->why.what);
    }
    for (uint32_t i = 0; i < s->n; i++)
        put(&g->machine.surfaces[0], s->chosen[i], fit.x[i]);
    g->misfit = fit.least;
    g->n_fitted = s->n;
    return rc;
}

/* Rounds to the four digits that are written. */
static void round_off(rlt_surface *s)
{
    for (uint32_t i = 0; i < N_PARAMETERS; i++) {
        double *v = (double *)(void *)((char *)s + parameters[i].offset), x;
        char text[32];
        if (parameters[i].offset == AT(host_ps)) {
            s->host_ps = s->host_ps / RLT_US * RLT_US;
            continue;
        }
        snprintf(text, sizeof text, "%.4g", *v);
        if (rlt_parse_number(text, 0, &x, NULL, NULL) == 0)
            *v = x;
    }
}

int rlt_train_fit(rlt_train_predictor *p, rlt_train_rows *t, uint32_t group, const char *but,
                  uint32_t evaluations, rlt_error *err)
{
    search s = {.predictor = p, .group = rlt_train_group_at(p, group)};
    int rc = 0;
    s.rows = malloc(((size_t)t->n + 1) * sizeof(const rlt_train_row *));
    if (!s.rows)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_train_row *r = &t->rows[i];
        if (!*r->reason && r->dense && r->group == group && (!but || strcmp(but, r->shape.name) != 0))
            s.rows[s.n_rows++] = r;
    }
    s.group->n_fitted = 0;
    if (s.n_rows >= 2 || (but && s.n_rows)) {
        s.group->machine.surfaces[0] = s.group->start;
        choose(&s);
        rc = seek(&s, evaluations, err);
        round_off(&s.group->machine.surfaces[0]);
    }
    free(s.rows);
    return rc;
}
