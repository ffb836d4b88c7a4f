/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fit of the network's constants to several clusters at once, with a weak pull to their priors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/clusters.h"
#include "tools/calibrate/job.h"
#include "workload/setup/settings.h"

/* A constant of one class of network, or of all. */
typedef struct variable {
    const rlt_cluster_constant *k;
    const char *network; /* NULL: all */
    double prior, value;
    bool searched;
} variable;

typedef struct search {
    const rlt_clusters *c;
    rlt_calib_job *j;
    const rlt_cluster *own;
    variable v[RLT_MAX_CONSTANTS];
    uint32_t n, tried; /* tried: points simulated in the search */
    /* By case and constant: the value of its present time (NAN: none), and whether it changes that time. */
    double (*last)[RLT_MAX_CONSTANTS];
    bool (*touched)[RLT_MAX_CONSTANTS];
    bool *moved; /* by case: changed by the constant being probed */
} search;

/* Reads a shipped value, in the unit of the file. */
static double shipped(const rlt_cluster_constant *k, const rlt_endpoint *e)
{
    const rlt_param *p = rlt_params_find(rlt_endpoint_parameters(), k->name);
    char text[128];
    rlt_time time = 0;
    double value = 0;
    rlt_param_write(p, e, text, sizeof text);
    if (k->microseconds)
        return rlt_parse_duration(text, &time, NULL, NULL) ? 0 : (double)time / RLT_US;
    return rlt_parse_number(text, 0, &value, NULL, NULL) ? 0 : value;
}

static int add_variable(search *s, const rlt_cluster_constant *k, const char *network, rlt_error *err)
{
    variable v = {.k = k, .network = network, .prior = k->prior};
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].k == k && (!network || strcmp(s->v[i].network, network) == 0))
            return 0;
    if (s->n == RLT_MAX_CONSTANTS)
        return rlt_fail(err, RLT_ERANGE, s->j->s->clusters, "more than %d constants", RLT_MAX_CONSTANTS);
    if (s->own && !k->offset)
        v.prior = shipped(k, &s->own->shipped);
    else if (network && rlt_json_is(rlt_json_get(k->priors, network))) {
        int rc = rlt_json_get_double(k->priors, network, true, &v.prior, err);
        if (rc)
            return rc;
    }
    v.prior = fmin(fmax(v.prior, k->least), k->most);
    v.value = v.prior;
    s->v[s->n++] = v;
    return 0;
}

static int list_variables(search *s, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->c->n_constants && !rc; i++) {
        const rlt_cluster_constant *k = &s->c->constants[i];
        if (s->own || !k->by_network)
            rc = add_variable(s, k, NULL, err);
        for (uint32_t m = 0; m < s->j->n_machines && !s->own && k->by_network && !rc; m++)
            rc = add_variable(s, k, rlt_cluster_of(s->c, m)->network, err);
    }
    return rc;
}

static bool concerns(const search *s, const variable *v, uint32_t machine)
{
    const rlt_cluster *k = rlt_cluster_of(s->c, machine);
    return s->own ? k == s->own : !v->network || strcmp(v->network, k->network) == 0;
}

static int apply(search *s, uint32_t machine, rlt_error *err)
{
    rlt_machine *m = &s->j->machines[machine];
    int rc = 0;
    const rlt_endpoint *as_shipped = &rlt_cluster_of(s->c, machine)->shipped;
    m->setup.endpoint = *as_shipped;
    for (uint32_t i = 0; i < s->n && !rc; i++) {
        const variable *v = &s->v[i];
        char text[64];
        if (!concerns(s, v, machine))
            continue;
        double value = v->value + (v->k->offset ? shipped(v->k, as_shipped) : 0);
        snprintf(text, sizeof text, "%.6f%s", fmax(value, 0), v->k->microseconds ? "us" : "");
        rc = rlt_setup_set(&m->setup, v->k->name, text, err);
    }
    return rc;
}

/* Marks cases whose times stand: no constant that touches them has changed since. */
static void settle(search *s, bool all)
{
    for (uint32_t i = 0; i < s->j->trial.n_cases; i++) {
        rlt_trial_case *c = &s->j->trial.cases[i];
        c->settled = !all || (s->own && s->own->machine != c->machine);
        for (uint32_t k = 0; k < s->n && !all; k++)
            if (s->touched[i][k] && s->last[i][k] != s->v[k].value) {
                c->settled = false;
                s->last[i][k] = s->v[k].value;
            }
    }
}

static int simulate(search *s, int which, rlt_error *err)
{
    int rc = 0;
    for (uint32_t m = 0; m < s->j->n_machines && !rc; m++)
        rc = apply(s, m, err);
    settle(s, which != RLT_FITTED);
    return rc ? rc : rlt_trial_run(&s->j->trial, which, err);
}

/* Notes which cases a step of the constant, one way or the other, changes by more than 0.1 %. */
static int probe(search *s, uint32_t index, const rlt_time *base, rlt_error *err)
{
    const rlt_trial *t = &s->j->trial;
    variable *v = &s->v[index];
    int rc = 0;
    for (uint32_t i = 0; i < t->n_cases; i++)
        s->touched[i][index] = concerns(s, v, t->cases[i].machine);
    for (int side = 1; side > -2 && !rc && !v->searched; side -= 2) {
        v->value = fmin(fmax(v->prior + side * v->k->step, v->k->least), v->k->most);
        rc = v->value == v->prior ? 0 : simulate(s, RLT_FITTED, err);
        for (uint32_t r = 0; r < t->n_rows && !rc && v->value != v->prior; r++) {
            uint32_t at = t->rows[r].at;
            double was = (double)base[at], is = (double)t->cases[at].time_ps;
            if (!t->rows[r].held_out && fabs(is - was) > 1e-3 * was)
                s->moved[at] = v->searched = true;
        }
    }
    v->value = v->prior;
    if (!rc)
        rc = simulate(s, RLT_FITTED, err);
    for (uint32_t i = 0; i < t->n_cases; i++) {
        s->touched[i][index] = s->moved[i];
        s->moved[i] = false;
    }
    return rc;
}

/* Finds what each constant touches. One that touches no fitted row stays at its prior. */
static int choose(search *s, rlt_error *err)
{
    const rlt_trial *t = &s->j->trial;
    rlt_time *base = calloc((size_t)t->n_cases + 1, sizeof *base);
    int rc = base ? simulate(s, RLT_FITTED, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < t->n_cases && !rc; i++)
        base[i] = t->cases[i].time_ps;
    memset(s->touched, 0, t->n_cases * sizeof *s->touched);
    for (uint32_t i = 0; i < s->n && !rc; i++)
        rc = probe(s, i, base, err);
    free(base);
    return rc;
}

/* Logarithms of the fitted rows' times near a point, as a linear function of the searched constants. */
typedef struct model {
    const search *s;
    uint32_t rows, n;
    double *base, *slope; /* log(simulated / measured); [constant * rows + row] of its derivative */
    double at[RLT_MAX_CONSTANTS];
} model;

static double pull(const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return RLT_PULL * sum / (n ? n : 1);
}

static double model_misfit(void *ctx, const double *x, bool *stop)
{
    const model *m = ctx;
    double sum = 0;
    (void)stop;
    for (uint32_t r = 0; r < m->rows; r++) {
        double y = m->base[r];
        for (uint32_t k = 0; k < m->n; k++)
            y += m->slope[(size_t)k * m->rows + r] * (x[k] - m->at[k]);
        sum += fabs(y);
    }
    return sum / m->rows + pull(x, m->n);
}

/* Simulates at a point. Puts the fitted rows' log(simulated / measured) into y; returns the misfit. */
static int simulate_at(search *s, const double *x, double *y, double *misfit, rlt_error *err)
{
    const rlt_trial *t = &s->j->trial;
    uint32_t n = 0, row = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].searched) {
            s->v[i].value = s->v[i].prior + x[n] * s->v[i].k->step;
            n++;
        }
    s->tried++;
    int rc = simulate(s, RLT_FITTED, err);
    for (uint32_t r = 0; r < t->n_rows && !rc; r++)
        if (!t->rows[r].held_out)
            y[row++] = log((double)t->cases[t->rows[r].at].time_ps / (double)t->rows[r].m->time_ps);
    *misfit = rc ? INFINITY : rlt_trial_misfit(t) + pull(x, n);
    return rc;
}

/* Measures slopes around fit->x, whose times are m->base. */
static int linearise(search *s, model *m, const rlt_fit *fit, double *y, rlt_error *err)
{
    int rc = 0;
    memcpy(m->at, fit->x, sizeof m->at);
    for (uint32_t k = 0; k < m->n && !rc; k++) {
        double x[RLT_MAX_CONSTANTS], step = fit->x[k] + 0.2 <= fit->high[k] ? 0.2 : -0.2, ignored;
        memcpy(x, fit->x, sizeof x);
        x[k] += step;
        rc = simulate_at(s, x, y, &ignored, err);
        for (uint32_t r = 0; r < m->rows && !rc; r++)
            m->slope[(size_t)k * m->rows + r] = (y[r] - m->base[r]) / step;
    }
    return rc;
}

/* Minimises the linear model within `reach` steps of fit->x, then goes there if the simulated misfit is less
 * (*gain). */
static int advance(search *s, model *m, rlt_fit *fit, double reach, double *y, double *gain, rlt_error *err)
{
    rlt_fit near = *fit;
    double misfit;
    near.f = model_misfit;
    near.ctx = m;
    near.evaluations = 20000;
    near.step = reach / 2;
    for (uint32_t k = 0; k < fit->n; k++) {
        near.low[k] = fmax(fit->low[k], fit->x[k] - reach);
        near.high[k] = fmin(fit->high[k], fit->x[k] + reach);
    }
    int rc = rlt_fit_run(&near, err);
    if (!rc)
        rc = simulate_at(s, near.x, y, &misfit, err);
    if (rc)
        return rc;
    *gain = fit->least - misfit;
    if (*gain > 0) {
        memcpy(fit->x, near.x, sizeof fit->x);
        memcpy(m->base, y, m->rows * sizeof *y);
        fit->least = misfit;
    }
    return 0;
}

/* Rounds of linearising and advancing, from the priors on, until a round gains less than 0.1 %. A round in
 * vain halves the reach. */
static int rounds(search *s, model *m, rlt_fit *fit, double *y, rlt_error *err)
{
    double reach = 2, gain = 0;
    bool moved = true;
    int rc = simulate_at(s, fit->x, m->base, &fit->least, err);
    while (!rc && reach > 0.2 && s->tried < s->j->s->evaluations) {
        if (moved)
            rc = linearise(s, m, fit, y, err);
        if (!rc)
            rc = advance(s, m, fit, reach, y, &gain, err);
        moved = gain > 0;
        if (gain < 1e-3 * fit->least)
            reach /= 2;
    }
    return rc;
}

static int seek(search *s, rlt_error *err)
{
    const rlt_trial *t = &s->j->trial;
    model m = {.s = s};
    rlt_fit fit = {0};
    double *y = calloc((size_t)t->n_rows + 1, sizeof *y);
    int rc;
    for (uint32_t r = 0; r < t->n_rows; r++)
        m.rows += !t->rows[r].held_out;
    for (uint32_t i = 0; i < s->n; i++) {
        const variable *v = &s->v[i];
        if (!v->searched)
            continue;
        fit.low[fit.n] = (v->k->least - v->prior) / v->k->step;
        fit.high[fit.n++] = (v->k->most - v->prior) / v->k->step;
    }
    m.n = fit.n;
    m.base = calloc((size_t)m.rows + 1, sizeof *m.base);
    m.slope = calloc((size_t)m.rows * m.n + 1, sizeof *m.slope);
    rc = !y || !m.base || !m.slope ? rlt_nomem(err) : 0;
    if (!rc && m.n)
        rc = rounds(s, &m, &fit, y, err);
    if (!rc && m.n) /* leaves the constants at the best point */
        rc = simulate_at(s, fit.x, y, &fit.least, err);
    free(y);
    free(m.base);
    free(m.slope);
    return rc;
}

static void describe(const search *s, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < s->n && used < size; i++) {
        const variable *v = &s->v[i];
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s %s%.3f%s%s", i ? ", " : "", v->k->name,
                                 v->network ? " (" : "", v->network ? v->network : "", v->network ? ")" : "",
                                 v->k->offset && v->value >= 0 ? "+" : "", v->value,
                                 v->k->microseconds ? "us" : "", v->searched ? "" : " (no row)");
    }
}

int rlt_clusters_fit(const rlt_clusters *c, rlt_calib_job *j, const rlt_cluster *own, char *text, size_t size,
                     rlt_error *err)
{
    search s = {.c = c, .j = j, .own = own};
    int rc;
    uint32_t n = j->trial.n_cases;
    s.last = calloc((size_t)n + 1, sizeof *s.last);
    s.touched = calloc((size_t)n + 1, sizeof *s.touched);
    s.moved = calloc((size_t)n + 1, sizeof *s.moved);
    rc = s.last && s.touched && s.moved ? 0 : rlt_nomem(err);
    for (uint32_t m = 0; m < n && !rc; m++)
        for (uint32_t i = 0; i < RLT_MAX_CONSTANTS; i++) {
            s.last[m][i] = NAN;
            s.touched[m][i] = true;
        }
    if (!rc && !(rc = list_variables(&s, err)) && !(rc = choose(&s, err)) && !(rc = seek(&s, err)))
        rc = simulate(&s, RLT_FITTED | RLT_HELD_OUT, err);
    if (!rc && text)
        describe(&s, text, size);
    for (uint32_t i = 0; i < n; i++)
        j->trial.cases[i].settled = false;
    free(s.last);
    free(s.touched);
    free(s.moved);
    return rc;
}
