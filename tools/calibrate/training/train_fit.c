/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The joint fit of accelerators and stacks: Gauss-Newton on log(predicted / measured), with priors. A
 * parameter x multiplies the constants in its scope by exp(x).
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/training/training.h"

/* Machines or stacks that share a parameter. */
typedef enum scope { ALL, GENERATION, MACHINE, STACK, PRECISION, PRECISION_OF_STACK } scope;

/* A kind of parameter. It multiplies a constant at `field` of a machine or of its stack `name`; a share stays
 * 1 at most. Others have a function; `name` is a generation, stack or precision. */
typedef struct kind {
    const char *name;
    scope scope;
    double width; /* standard deviation of the prior, in logarithms */
    enum { OF_MACHINE, SHARE_OF_MACHINE, OF_STACK, TIME_OF_STACK, BY_FUNCTION } how;
    size_t field;
    void (*set)(rlt_accelerator *a, const char *name, double x);
} kind;

static rlt_stack *stack_of(rlt_accelerator *a, const char *name)
{
    const rlt_stack *s = rlt_accelerator_stack(a, name);
    return s ? &a->stacks[s - a->stacks] : NULL;
}

static void scale_factor(rlt_precision_factors *f, const char *precision, double x)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i].precision, precision) == 0) {
            f->at[i].factor *= exp(x);
            return;
        }
    if (f->n < RLT_MAX_PEAKS) {
        snprintf(f->at[f->n].precision, sizeof f->at[0].precision, "%s", precision);
        f->at[f->n++].factor = exp(x);
    }
}

/* All three halves grow with the peak, to a power. */
static void set_growth(rlt_accelerator *a, const char *name, double x)
{
    uint64_t Flops = 0;
    (void)name;
    if (rlt_accelerator_peak(a, "fp16", &Flops, NULL))
        return;
    double factor = exp(x * log((double)Flops / 312e12));
    a->kernels.rows_half *= factor;
    a->kernels.outputs_half *= factor;
    a->kernels.inputs_half *= factor;
}
static void set_overlap(rlt_accelerator *a, const char *name, double x)
{
    (void)name;
    a->overlap_slowdown = 1 + (a->overlap_slowdown - 1) * exp(x);
}
static void set_host_factor(rlt_accelerator *a, const char *name, double x)
{
    (void)name;
    if (*a->processor)
        a->kernels.host *= exp(x);
}
static void set_precision(rlt_accelerator *a, const char *name, double x)
{
    uint64_t Flops;
    if (rlt_accelerator_peak(a, name, &Flops, NULL) == 0)
        scale_factor(&a->kernels.precisions, name, x);
    if (strcmp(name, "fp4") == 0 && rlt_accelerator_peak(a, "nvfp4", &Flops, NULL) == 0)
        scale_factor(&a->kernels.precisions, "nvfp4", x);
}
static void set_stack_fp8(rlt_accelerator *a, const char *name, double x)
{
    rlt_stack *s = stack_of(a, name);
    if (s)
        scale_factor(&s->precisions, "fp8", x);
}

#define MACHINE_AT(field) offsetof(rlt_accelerator, kernels.field), NULL
#define STACK_AT(field)   offsetof(rlt_stack, field), NULL
static const kind kinds[] = {
    {"matmul", GENERATION, 0.3, SHARE_OF_MACHINE, MACHINE_AT(most[RLT_WORK_MATMUL])},
    {"matmul of", MACHINE, 0.1, SHARE_OF_MACHINE, MACHINE_AT(most[RLT_WORK_MATMUL])},
    {"attention", GENERATION, 0.5, SHARE_OF_MACHINE, MACHINE_AT(most[RLT_WORK_ATTENTION])},
    {"memory", ALL, 0.1, SHARE_OF_MACHINE, MACHINE_AT(memory)},
    {"rows_half", ALL, 0.5, OF_MACHINE, MACHINE_AT(rows_half)},
    {"outputs_half", ALL, 0.5, OF_MACHINE, MACHINE_AT(outputs_half)},
    {"area_half", ALL, 0.5, OF_MACHINE, MACHINE_AT(area_half)},
    {"inputs_half", ALL, 0.5, OF_MACHINE, MACHINE_AT(inputs_half)},
    {"growth of halves", ALL, 0.3, BY_FUNCTION, 0, set_growth},
    {"backward", ALL, 0.1, SHARE_OF_MACHINE, MACHINE_AT(backward)},
    {"overlap_slowdown", ALL, 0.5, BY_FUNCTION, 0, set_overlap},
    {"host factor", ALL, 0.5, BY_FUNCTION, 0, set_host_factor},
    {"host of", GENERATION, 0.3, OF_MACHINE, MACHINE_AT(host)},
    {"precision", PRECISION, 0.2, BY_FUNCTION, 0, set_precision},
    {"stack matmul", STACK, 0.1, OF_STACK, STACK_AT(most[RLT_WORK_MATMUL])},
    {"stack attention", STACK, 0.3, OF_STACK, STACK_AT(most[RLT_WORK_ATTENTION])},
    {"stack fp8", PRECISION_OF_STACK, 0.15, BY_FUNCTION, 0, set_stack_fp8},
    {"host_kernel", STACK, 0.7, TIME_OF_STACK, STACK_AT(host_kernel_ps)},
    {"host_expert", STACK, 0.5, TIME_OF_STACK, STACK_AT(host_expert_ps)},
    {"host_pass", STACK, 0.5, TIME_OF_STACK, STACK_AT(host_pass_ps)},
    {"host", STACK, 1, TIME_OF_STACK, STACK_AT(host_ps)},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void *at(void *base, size_t offset)
{
    return (char *)base + offset;
}

static void set(const kind *k, rlt_accelerator *a, const char *name, double x)
{
    if (k->how == BY_FUNCTION) {
        k->set(a, name, x);
        return;
    }
    rlt_stack *s = k->how == OF_STACK || k->how == TIME_OF_STACK ? stack_of(a, name) : NULL;
    if (k->how == TIME_OF_STACK && s) {
        rlt_time *t = at(s, k->field);
        *t = (rlt_time)((double)*t * exp(x));
    } else if (k->how == OF_STACK && s) {
        *(double *)at(s, k->field) *= exp(x);
    } else if (k->how == OF_MACHINE || k->how == SHARE_OF_MACHINE) {
        double *e = at(a, k->field);
        *e *= exp(x);
        *e = k->how == SHARE_OF_MACHINE && *e > 1 ? 1 : *e;
    }
}

/* A parameter of the fit, as named in rlt_train_fit: "kind: name". */
static const char *name_of(const rlt_train_fit *f, uint32_t i)
{
    const char *colon = strstr(f->names[i], ": ");
    return colon ? colon + 2 : "";
}

static const kind *kind_of(const rlt_train_fit *f, uint32_t i)
{
    size_t n = strcspn(f->names[i], ":");
    for (int k = 0; k < N_KINDS; k++)
        if (strlen(kinds[k].name) == n && strncmp(kinds[k].name, f->names[i], n) == 0)
            return &kinds[k];
    return NULL;
}

static bool concerns(const kind *k, const char *name, const rlt_accelerator *a)
{
    switch (k->scope) {
    case GENERATION:
        return strcmp(*a->generation ? a->generation : a->name, name) == 0;
    case MACHINE:
        return strcmp(a->name, name) == 0;
    case ALL:
    case STACK:
    case PRECISION:
    case PRECISION_OF_STACK:
        break;
    }
    return true;
}

/* Returns true if a row's prediction can depend on the parameter. */
static bool touches(const kind *k, const char *name, const rlt_accelerator *a, const rlt_train_row *r)
{
    if (k->scope == PRECISION)
        return strcmp(r->training.precision, name) == 0;
    if (k->scope == STACK)
        return strcmp(r->training.stack, name) == 0;
    if (k->scope == PRECISION_OF_STACK)
        return strcmp(r->training.stack, name) == 0 && strcmp(r->training.precision, "fp8") == 0;
    return concerns(k, name, a);
}

void rlt_train_fit_apply(rlt_train_predictor *p, const rlt_train_fit *f, const double *x)
{
    for (uint32_t m = 0; m < f->n_machines; m++) {
        rlt_accelerator *a = rlt_train_machine(p, m);
        *a = f->start[m];
        for (uint32_t i = 0; i < f->n; i++) {
            const kind *k = kind_of(f, i);
            if (k && concerns(k, name_of(f, i), a))
                set(k, a, name_of(f, i), (x ? x : f->at)[i]);
        }
    }
}

/* Adds a parameter unless it is there. */
static void add(rlt_train_fit *f, const kind *k, const char *name)
{
    char text[RLT_TRAIN_NAME];
    snprintf(text, sizeof text, "%s%s%s", k->name, *name ? ": " : "", name);
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->names[i], text) == 0)
            return;
    if (f->n < RLT_MAX_FIT)
        snprintf(f->names[f->n++], sizeof f->names[0], "%s", text);
}

static bool is_time(int k, size_t field)
{
    return kinds[k].how == TIME_OF_STACK && kinds[k].field == field;
}

/* Lists the parameters that some row can depend on. */
static void list(rlt_train_predictor *p, const rlt_train_rows *t, bool own, rlt_train_fit *f)
{
    for (int k = 0; k < N_KINDS; k++)
        for (uint32_t i = 0; i < t->n && !(own && kinds[k].scope != GENERATION); i++) {
            const rlt_train_row *r = &t->rows[i];
            if (*r->reason)
                continue;
            const rlt_accelerator *a = rlt_train_machine(p, r->machine);
            const rlt_stack *s = rlt_accelerator_stack(a, r->training.stack);
            const char *precision = r->training.precision;
            bool narrow = strcmp(precision, "bf16") != 0 && strcmp(precision, "fp16") != 0;
            const char *names[] = {"",        *a->generation ? a->generation : a->name,
                                   a->name,   r->training.stack,
                                   precision, r->training.stack};
            if ((kinds[k].scope == PRECISION && !narrow) ||
                (kinds[k].scope == PRECISION_OF_STACK && strcmp(precision, "fp8") != 0) ||
                (is_time(k, offsetof(rlt_stack, host_expert_ps)) && (!s || !s->host_expert_ps || r->dense)) ||
                (is_time(k, offsetof(rlt_stack, host_pass_ps)) && (!s || !s->host_pass_ps)))
                continue;
            add(f, &kinds[k], names[kinds[k].scope]);
        }
}

/* Predicts rows with the current machines into out: log(predicted / measured). With `k`, only rows that the
 * parameter touches; others keep their values. */
static int residuals(rlt_train_predictor *p, const rlt_train_rows *t, const kind *k, const char *name,
                     double *out, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        const rlt_train_row *r = &t->rows[i];
        double s;
        if (*r->reason || (k && !touches(k, name, rlt_train_machine(p, r->machine), r)))
            continue;
        if (!(rc = rlt_train_predict(p, r, true, &s, err)))
            out[i] = log(s / r->measured_s);
    }
    return rc;
}

static int slopes(rlt_train_predictor *p, const rlt_train_rows *t, rlt_train_fit *f, rlt_error *err)
{
    const double step = 0.05;
    double x[RLT_MAX_FIT], *moved = malloc(((size_t)t->n + 1) * sizeof *moved);
    int rc = moved ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < f->n && !rc; i++) {
        const kind *k = kind_of(f, i);
        memcpy(x, f->at, sizeof x);
        memcpy(moved, f->residuals, t->n * sizeof *moved);
        x[i] += step;
        rlt_train_fit_apply(p, f, x);
        rc = residuals(p, t, k, name_of(f, i), moved, err);
        for (uint32_t row = 0; row < t->n; row++)
            f->slopes[(size_t)row * f->n + i] = (moved[row] - f->residuals[row]) / step;
    }
    rlt_train_fit_apply(p, f, NULL);
    free(moved);
    return rc;
}

/* Weight of a residual: quadratic loss up to `knee`, linear beyond. */
static double robust(double residual)
{
    const double knee = 0.1, size = fabs(residual);
    return size <= knee ? 1 : knee / size;
}

typedef bool skip_fn(const void *ctx, const rlt_train_row *row);

/* Solves a x = b in place of b. a is symmetric and positive definite, since the priors stand in its diagonal.
 * Only the lower half of a is read; it is overwritten. */
static void cholesky(double a[RLT_MAX_FIT][RLT_MAX_FIT], double *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            for (uint32_t k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(a[i][i]) : a[i][j] / a[j][j];
        }
        for (uint32_t k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* Solves for the step from x, where residuals and slopes are linear around f->at. */
static void solve(const rlt_train_rows *t, const rlt_train_fit *f, const double *x, double *step,
                  skip_fn *skip, const void *ctx)
{
    const double noise = 0.08;
    double a[RLT_MAX_FIT][RLT_MAX_FIT] = {{0}};
    for (uint32_t i = 0; i < f->n; i++) {
        /* A machine of the user's own may be farther from its file than generations are from each other. */
        double width = kind_of(f, i)->width * (f->own ? 3 : 1);
        a[i][i] = 1 / (width * width);
        step[i] = -x[i] / (width * width);
    }
    for (uint32_t row = 0; row < t->n; row++) {
        const double *j = f->slopes + (size_t)row * f->n;
        double r = f->residuals[row];
        if (*t->rows[row].reason || (skip && skip(ctx, &t->rows[row])))
            continue;
        for (uint32_t i = 0; i < f->n; i++)
            r += j[i] * (x[i] - f->at[i]);
        double w = t->rows[row].weight * robust(r) / (noise * noise);
        for (uint32_t i = 0; i < f->n; i++) {
            step[i] -= w * j[i] * r;
            for (uint32_t k = 0; k <= i; k++)
                a[i][k] += w * j[i] * j[k];
        }
    }
    cholesky(a, step, f->n);
}

/* Moves x to the solution of the linear problem; few rounds settle the robust weights. */
static void settle(const rlt_train_rows *t, const rlt_train_fit *f, double *x, skip_fn *skip, const void *ctx)
{
    enum { ROUNDS = 6 };
    double step[RLT_MAX_FIT];
    for (int k = 0; k < ROUNDS; k++) {
        solve(t, f, x, step, skip, ctx);
        for (uint32_t i = 0; i < f->n; i++)
            x[i] += step[i];
    }
}

int rlt_train_fit_run(rlt_train_predictor *p, rlt_train_rows *t, uint32_t rounds, bool own,
                      rlt_train_fit *out, rlt_error *err)
{
    const double furthest = 0.4;
    *out = (rlt_train_fit){0};
    out->own = own;
    list(p, t, own, out);
    while (rlt_train_machine(p, out->n_machines))
        out->n_machines++;
    out->start = malloc(((size_t)out->n_machines + 1) * sizeof *out->start);
    out->residuals = calloc((size_t)t->n + 1, sizeof *out->residuals);
    out->slopes = calloc(((size_t)t->n + 1) * (out->n + 1), sizeof *out->slopes);
    if (!out->start || !out->residuals || !out->slopes)
        return rlt_nomem(err);
    for (uint32_t m = 0; m < out->n_machines; m++) {
        if (!own)
            rlt_train_priors(rlt_train_machine(p, m));
        out->start[m] = *rlt_train_machine(p, m);
    }
    int rc = residuals(p, t, NULL, NULL, out->residuals, err);
    for (uint32_t k = 0; k < rounds && !rc; k++) {
        double x[RLT_MAX_FIT];
        if ((rc = slopes(p, t, out, err)))
            break;
        memcpy(x, out->at, sizeof x);
        settle(t, out, x, NULL, NULL);
        for (uint32_t i = 0; i < out->n; i++) {
            double d = x[i] - out->at[i];
            out->at[i] += d > furthest ? furthest : d < -furthest ? -furthest : d;
        }
        rlt_train_fit_apply(p, out, NULL);
        rc = residuals(p, t, NULL, NULL, out->residuals, err);
    }
    return rc;
}

void rlt_train_fit_without(rlt_train_predictor *p, const rlt_train_rows *t, rlt_train_fit *f, skip_fn *skip,
                           const void *ctx)
{
    double x[RLT_MAX_FIT];
    memcpy(x, f->at, sizeof x);
    settle(t, f, x, skip, ctx);
    rlt_train_fit_apply(p, f, x);
}

void rlt_train_fit_free(rlt_train_fit *f)
{
    free(f->start);
    free(f->residuals);
    free(f->slopes);
    *f = (rlt_train_fit){0};
}
