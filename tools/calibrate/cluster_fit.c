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
    uint32_t n, at[RLT_MAX_CONSTANTS], tried;
    /* By case and constant: the value of its present time (NAN: none), and whether it changes that time. */
    double (*last)[RLT_MAX_CONSTANTS];
    bool (*touched)[RLT_MAX_CONSTANTS];
    bool *moved; /* by case: changed by the constant being probed */
    rlt_error why;
    int rc;
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

static double misfit_at(void *ctx, const double *x, bool *stop)
{
    search *s = ctx;
    double pull = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].searched) {
            s->v[i].value = s->v[i].prior + x[n] * s->v[i].k->step;
            pull += x[n] * x[n];
            n++;
        }
    s->why = (rlt_error){0};
    s->rc = simulate(s, RLT_FITTED, &s->why);
    *stop = s->rc == RLT_ECANCELLED || s->rc == RLT_ENOMEM;
    s->tried++;
    return s->rc ? INFINITY : rlt_trial_misfit(&s->j->trial) + RLT_PULL * pull / (n ? n : 1);
}

/* Notes which cases a step of the constant, one way or the other, changes by more than 0.1 %. */
static int probe(search *s, uint32_t index, const rlt_time *base, rlt_error *err)
{
    const rlt_trial *t = &s->j->trial;
    variable *v = &s->v[index];
    int rc = 0;
    for (uint32_t i = 0; i < t->n_cases; i++)
        s->touched[i][index] = concerns(s, v, t->cases[i].machine);
    for (int side = -1; side < 2 && !rc; side += 2) {
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

/* BOBYQA first, which needs few evaluations, then SBPLX with other steps from its result. */
static int seek(search *s, rlt_error *err)
{
    static const double steps[] = {1, 0.3, 2};
    enum { TURNS = sizeof steps / sizeof *steps };
    rlt_fit fit = {.f = misfit_at, .ctx = s};
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const variable *v = &s->v[i];
        if (!v->searched)
            continue;
        fit.low[n] = (v->k->least - v->prior) / v->k->step;
        fit.high[n++] = (v->k->most - v->prior) / v->k->step;
    }
    fit.n = n;
    s->tried = 0;
    for (int turn = 0; turn < TURNS && n && !rc && s->tried < s->j->s->evaluations; turn++) {
        fit.step = steps[turn];
        fit.smooth = turn == 0 && n > 1;
        fit.evaluations = (uint32_t)s->j->s->evaluations / (turn ? 4 : 2) + 1;
        rc = rlt_fit_run(&fit, err);
        if (!rc && !isfinite(fit.least))
            return rlt_fail(err, s->rc, s->why.where, "%s", s->why.what);
        if (s->rc == RLT_ECANCELLED)
            return rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted");
    }
    n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].searched)
            s->v[i].value = s->v[i].prior + fit.x[n++] * s->v[i].k->step;
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
