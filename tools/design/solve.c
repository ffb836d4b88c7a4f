/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The best split of bandwidth.
 *
 *   B_i       bandwidth of dimension i
 *   share_ki  share of a byte of traffic shape k that dimension i carries
 *   tau_k     = max_i share_ki / B_i, time of a byte of shape k
 *   v_j       = max over two sides of a + p tau_k, time of choice j of an overlapped loop:
 *             a side takes a seconds plus p bytes of a shape
 *   T         = fixed + sum_k bytes_k tau_k + sum_j count_j v_j, the time
 *
 * Unknowns are logarithms: x_i = log(B_i / scale), s_k = log tau_k, u_j = log v_j. Each maximum becomes one
 * inequality per term:
 *
 *   minimise    log T, log cost, or log T + log cost
 *   subject to  log share_ki - x_i - s_k <= 0 for all k, i
 *               log(a + p e^s_k) - u_j <= 0 for both sides of each choice j
 *               the limits on the split; for least cost also T <= deadline
 *
 * Example: one shape with shares 0.8 and 0.2, and a total of 100 GB/s. The best split is 80 and 20 GB/s,
 * where both dimensions take 10 ps a byte.
 *
 * Times are divided by the time of the start, so that all are near one. T is convex in B and the limits are
 * linear, so a local optimum is the global one, and two searches that agree are enough. T times cost is not
 * convex: it is solved from several starts. Besides tools/calibrate/fit.c the only user of NLopt.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

static double cost_of(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS])
{
    double cost = p->fixed;
    for (uint32_t i = 0; i < p->model->n_dims; i++)
        cost += p->dollars[i] * bw[i];
    return cost;
}

double rlt_split_objective(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS])
{
    double t = rlt_design_time(p->model, bw);
    return p->goal == RLT_LEAST_TIME ? t : cost_of(p, bw) * (p->goal == RLT_LEAST_COST ? 1 : t);
}

#ifdef RLT_WITH_NLOPT
#include <nlopt.h>

enum { MAX_EVALUATIONS = 3000 };
#define MOST_BPS   1e15 /* upper bound where only the deadline bounds */
#define ACCEPTED   1e-7 /* largest violation of a limit, relative */
#define SETTLED    1e-9 /* share of a shape's time given up for a cheaper split */
#define KEPT       1e-9 /* the same for a step of a search */
#define AGREED     1e-8 /* relative difference of two results that agree */
#define WORTHWHILE 1e-6 /* least saving of cost for a split that is cheaper at equal time */

typedef struct solving {
    const rlt_split_problem *p;
    rlt_split *best;
    double scale_Bps, scale_s;
    uint32_t n, d, shapes; /* unknowns: n in all; d bandwidths, then shapes, then choices */
} solving;

typedef struct bound {
    const solving *s;
    const rlt_limit *limit; /* this limit, or, if NULL, one of: */
    uint32_t shape, dim, choice, side;
} bound;

/* Returns log(T / scale_s), and its gradient. */
static double log_time(const solving *s, const double *x, double *gradient)
{
    const rlt_design_model *m = s->p->model;
    double t = m->fixed_s / s->scale_s;
    for (uint32_t i = 0; i < s->n; i++) {
        double f = 0;
        if (i >= s->d + s->shapes)
            f = m->choices[i - s->d - s->shapes].count * exp(x[i]);
        else if (i >= s->d)
            f = m->bytes[i - s->d] / s->scale_Bps / s->scale_s * exp(x[i]);
        t += f;
        if (gradient)
            gradient[i] = f;
    }
    for (uint32_t i = 0; i < s->n && gradient; i++)
        gradient[i] /= t;
    return log(t);
}

/* Returns the log of the cost, and adds its gradient. */
static double add_log_cost(const solving *s, const double *x, double *gradient)
{
    double cost = s->p->fixed;
    for (uint32_t i = 0; i < s->d; i++)
        cost += s->p->dollars[i] * s->scale_Bps * exp(x[i]);
    for (uint32_t i = 0; i < s->d && gradient; i++)
        gradient[i] += s->p->dollars[i] * s->scale_Bps * exp(x[i]) / cost;
    return log(cost);
}

/* Keeps the split if it is better and violates limits by at most `but`. */
static void consider(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS], double but, rlt_split *best)
{
    double f = rlt_split_objective(p, bw), v = rlt_limits_violation(p->limits, bw);
    if (v > but || !(f < best->objective) ||
        (p->goal == RLT_LEAST_COST && rlt_design_time(p->model, bw) > p->deadline_s * (1 + but)))
        return;
    memcpy(best->bw, bw, sizeof best->bw);
    best->objective = f;
    best->violation = v;
}

/* Looks at every step of a search. NLopt would return only the best step that meets every bound to rounding,
 * which is often the first. */
static void keep(const solving *s, const double *x)
{
    double bw[RLT_MAX_DIMS] = {0};
    for (uint32_t i = 0; i < s->d; i++)
        bw[i] = s->scale_Bps * exp(x[i]);
    consider(s->p, bw, KEPT, s->best);
}

static double goal(unsigned n, const double *x, double *gradient, void *data)
{
    const solving *s = data;
    double f = 0;
    keep(s, x);
    if (s->p->goal != RLT_LEAST_COST)
        f = log_time(s, x, gradient);
    else if (gradient)
        memset(gradient, 0, n * sizeof *gradient);
    return s->p->goal == RLT_LEAST_TIME ? f : f + add_log_cost(s, x, gradient);
}

static double deadline_bound(unsigned n, const double *x, double *gradient, void *data)
{
    const solving *s = data;
    (void)n;
    return log_time(s, x, gradient) - log(s->p->deadline_s / s->scale_s);
}

static double shape_bound(unsigned n, const double *x, double *gradient, void *data)
{
    const bound *b = data;
    uint32_t at = b->s->d + b->shape;
    if (gradient) {
        memset(gradient, 0, n * sizeof *gradient);
        gradient[b->dim] = gradient[at] = -1;
    }
    return log(b->s->p->model->shapes[b->shape].share[b->dim]) - x[b->dim] - x[at];
}

static double choice_bound(unsigned n, const double *x, double *gradient, void *data)
{
    const bound *b = data;
    const solving *s = b->s;
    const rlt_design_choice *c = &s->p->model->choices[b->choice];
    uint32_t at = s->d + s->shapes + b->choice, shape = s->d + c->shape[b->side];
    double moved = 0, sum = c->seconds[b->side] / s->scale_s;
    if (c->shape[b->side] != RLT_NONE)
        moved = c->bytes[b->side] / s->scale_Bps / s->scale_s * exp(x[shape]);
    sum += moved;
    if (gradient) {
        memset(gradient, 0, n * sizeof *gradient);
        if (c->shape[b->side] != RLT_NONE)
            gradient[shape] = moved / sum;
        gradient[at] = -1;
    }
    return log(sum) - x[at];
}

static double limit_bound(unsigned n, const double *x, double *gradient, void *data)
{
    const bound *b = data;
    double sum = -b->limit->b, size = fabs(b->limit->b);
    for (uint32_t i = 0; i < b->s->d; i++)
        size = fmax(size, fabs(b->limit->a[i]) * b->s->scale_Bps);
    if (gradient)
        memset(gradient, 0, n * sizeof *gradient);
    for (uint32_t i = 0; i < b->s->d; i++) {
        double term = b->limit->a[i] * b->s->scale_Bps * exp(x[i]);
        sum += term;
        if (gradient)
            gradient[i] = term / size;
    }
    return sum / size;
}

/* Lists the bounds: each shape on each dimension it uses, both sides of each choice, each limit. */
static uint32_t list_bounds(const solving *s, bound *b)
{
    const rlt_design_model *m = s->p->model;
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->shapes; k++)
        for (uint32_t i = 0; i < s->d; i++)
            if (m->shapes[k].share[i] > 0)
                b[n++] = (bound){.s = s, .shape = k, .dim = i, .choice = RLT_NONE};
    for (uint32_t j = 0; j < m->n_choices; j++)
        for (uint32_t side = 0; side < 2; side++)
            if (m->choices[j].seconds[side] > 0 || m->choices[j].shape[side] != RLT_NONE)
                b[n++] = (bound){.s = s, .shape = RLT_NONE, .choice = j, .side = side};
    for (uint32_t i = 0; i < s->p->limits->n; i++)
        b[n++] = (bound){.s = s, .limit = &s->p->limits->items[i]};
    return n;
}

static nlopt_result add_bounds(nlopt_opt opt, bound *b, uint32_t n)
{
    nlopt_result r = NLOPT_SUCCESS;
    for (uint32_t i = 0; i < n && r > 0; i++) {
        if (b[i].limit && b[i].limit->equal)
            r = nlopt_add_equality_constraint(opt, limit_bound, &b[i], 1e-12);
        else
            r = nlopt_add_inequality_constraint(opt,
                                                b[i].limit                ? limit_bound
                                                : b[i].choice != RLT_NONE ? choice_bound
                                                                          : shape_bound,
                                                &b[i], 1e-12);
    }
    return r;
}

static void begin_at(const solving *s, const double bw[RLT_MAX_DIMS], double *x)
{
    const rlt_design_model *m = s->p->model;
    double tau[RLT_DESIGN_SHAPES];
    for (uint32_t i = 0; i < s->d; i++)
        x[i] = log(bw[i] / s->scale_Bps);
    for (uint32_t k = 0; k < s->shapes; k++) {
        tau[k] = 0;
        for (uint32_t i = 0; i < s->d; i++)
            tau[k] = fmax(tau[k], m->shapes[k].share[i] * s->scale_Bps / bw[i]);
        x[s->d + k] = log(tau[k]);
    }
    for (uint32_t j = 0; j < m->n_choices; j++) {
        const rlt_design_choice *c = &m->choices[j];
        double most = 1e-30;
        for (int side = 0; side < 2; side++) {
            uint32_t k = c->shape[side];
            double t = k == RLT_NONE ? 0 : c->bytes[side] * tau[k] / s->scale_Bps;
            most = fmax(most, (c->seconds[side] + t) / s->scale_s);
        }
        x[s->d + s->shapes + j] = log(most);
    }
}

static int solve_from(const rlt_split_problem *p, const double start[RLT_MAX_DIMS],
                      const double most[RLT_MAX_DIMS], rlt_split *best, rlt_error *err)
{
    const rlt_design_model *m = p->model;
    solving s = {.p = p, .best = best, .d = m->n_dims, .shapes = m->n_shapes};
    s.n = s.d + s.shapes + m->n_choices;
    for (uint32_t i = 0; i < s.d; i++)
        s.scale_Bps = fmax(s.scale_Bps, most[i]);
    s.scale_s = rlt_design_time(m, start);
    size_t rows = (size_t)s.shapes * s.d + 2 * (size_t)m->n_choices + p->limits->n;
    bound *b = calloc(rows + 1, sizeof *b);
    double *x = calloc(3 * (size_t)s.n, sizeof *x), *low = x ? x + s.n : NULL, *high = x ? low + s.n : NULL;
    nlopt_opt opt = nlopt_create(NLOPT_LD_SLSQP, s.n);
    int rc = b && x && opt ? 0 : rlt_nomem(err);
    if (rc)
        goto out;
    begin_at(&s, start, x);
    for (uint32_t i = 0; i < s.n; i++) {
        low[i] = i < s.d ? log(RLT_LEAST_BPS / s.scale_Bps) : -HUGE_VAL;
        high[i] = i < s.d ? log(fmax(most[i], RLT_LEAST_BPS) / s.scale_Bps) + 1e-9 : HUGE_VAL;
    }
    nlopt_result r = NLOPT_SUCCESS;
    double least;
    if (p->goal == RLT_LEAST_COST)
        r = nlopt_add_inequality_constraint(opt, deadline_bound, &s, 1e-12);
    bool ready = r > 0 && (r = nlopt_set_min_objective(opt, goal, &s)) > 0 &&
                 (r = nlopt_set_lower_bounds(opt, low)) > 0 && (r = nlopt_set_upper_bounds(opt, high)) > 0 &&
                 (r = add_bounds(opt, b, list_bounds(&s, b))) > 0 &&
                 (r = nlopt_set_ftol_rel(opt, 1e-14)) > 0 && (r = nlopt_set_xtol_rel(opt, 1e-13)) > 0 &&
                 (r = nlopt_set_maxeval(opt, MAX_EVALUATIONS)) > 0;
    if (ready)
        r = nlopt_optimize(opt, x, &least); /* may have stopped for rounding: `keep` saw every step */
    if (r == NLOPT_OUT_OF_MEMORY)
        rc = rlt_nomem(err);
    else if (!ready)
        rc = rlt_fail(err, RLT_ERANGE, NULL, "NLopt refuses the problem");
out:
    nlopt_destroy(opt);
    free(x);
    free(b);
    return rc;
}

/* Finds the cheapest split with the times of the shapes held: a linear program. Where prices are nearly
 * equal, the search's objective is too flat to find it. */
static void settle(const rlt_split_problem *p, rlt_split *best)
{
    const rlt_design_model *m = p->model;
    rlt_limits l = *p->limits;
    double bw[RLT_MAX_DIMS] = {0}, c[RLT_MAX_DIMS] = {0}, was = 0, is = 0;
    for (uint32_t i = 0; i < m->n_dims; i++) {
        rlt_limit *x = &l.items[l.n++];
        *x = (rlt_limit){0};
        x->a[i] = -1;
        c[i] = -p->dollars[i];
        for (uint32_t k = 0; k < m->n_shapes; k++) {
            double tau = 0;
            for (uint32_t d = 0; d < m->n_dims; d++)
                tau = fmax(tau, m->shapes[k].share[d] / best->bw[d]);
            x->b = fmin(x->b, -m->shapes[k].share[i] / tau * (1 - SETTLED));
        }
    }
    if (rlt_limits_most(&l, c, 0, bw) != RLT_LP_DONE || rlt_limits_violation(p->limits, bw) > ACCEPTED)
        return;
    for (uint32_t i = 0; i < m->n_dims; i++) {
        was += p->dollars[i] * best->bw[i];
        is += p->dollars[i] * bw[i];
    }
    double f = rlt_split_objective(p, bw);
    if (f > best->objective * (1 + 2 * SETTLED) ||
        is > was * (1 - (p->goal == RLT_LEAST_TIME ? WORTHWHILE : 0)))
        return;
    memcpy(best->bw, bw, sizeof best->bw);
    best->objective = f;
    best->violation = rlt_limits_violation(p->limits, bw);
}

bool rlt_split_available(void)
{
    return true;
}

enum { CORNERS = 2 * RLT_MAX_DIMS };

/* Mixes the corners of the feasible region with random weights of this start; start 0: equal weights. */
static void mix(const double corner[CORNERS][RLT_MAX_DIMS], uint32_t n, uint32_t d, uint32_t start,
                double bw[RLT_MAX_DIMS])
{
    double sum = 0;
    memset(bw, 0, RLT_MAX_DIMS * sizeof *bw);
    for (uint32_t k = 0; k < n; k++) {
        double u = start ? rlt_random_unit(1, start, 0, k) : 0.5, w = start ? u * u * u * u + 1e-3 : u;
        sum += w;
        for (uint32_t i = 0; i < d; i++)
            bw[i] += w * corner[k][i];
    }
    for (uint32_t i = 0; i < d; i++)
        bw[i] /= sum;
}

/* Returns the equal bandwidth that meets the deadline. It is the start where only the deadline bounds the
 * split. */
static double equal_for(const rlt_split_problem *p)
{
    double bw[RLT_MAX_DIMS], low = RLT_LEAST_BPS, high = MOST_BPS;
    for (int k = 0; k < 200 && high > low * (1 + 1e-12); k++) {
        double middle = sqrt(low * high);
        for (uint32_t i = 0; i < p->model->n_dims; i++)
            bw[i] = middle;
        if (rlt_design_time(p->model, bw) > p->deadline_s)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Finds corners of the feasible region. most[i] is the largest possible bandwidth of dimension i. */
static uint32_t find_corners(const rlt_split_problem *p, const rlt_limits *l,
                             double corner[CORNERS][RLT_MAX_DIMS], double most[RLT_MAX_DIMS])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < 2 * p->model->n_dims; k++) {
        double c[RLT_MAX_DIMS] = {0};
        c[k / 2] = k % 2 ? -1 : 1;
        if (rlt_limits_most(l, c, 0, corner[n]) != RLT_LP_DONE)
            continue;
        if (k % 2 == 0)
            most[k / 2] = corner[n][k / 2];
        n++;
    }
    return n;
}

/* Best objective reached by the searches, and how many reached it. */
typedef struct reached {
    double objective;
    uint32_t times;
} reached;

static void note(reached *r, const rlt_split *one)
{
    if (!isfinite(one->objective))
        return;
    if (one->objective < r->objective * (1 - AGREED))
        *r = (reached){one->objective, 1};
    else
        r->times += one->objective <= r->objective * (1 + AGREED);
}

/* Searches from up to p->starts points. Where a local optimum is global, it stops when two searches agree. */
static int try_all(const rlt_split_problem *p, const rlt_limits *l, rlt_split *out, rlt_error *err)
{
    double corner[CORNERS][RLT_MAX_DIMS] = {{0}}, most[RLT_MAX_DIMS] = {0}, bw[RLT_MAX_DIMS] = {0};
    uint32_t d = p->model->n_dims, n = find_corners(p, l, corner, most);
    double equal = p->goal == RLT_LEAST_COST ? equal_for(p) : 0;
    reached r = {.objective = INFINITY};
    int rc = 0;
    for (uint32_t i = 0; i < p->starts && !rc && (p->goal == RLT_LEAST_TIME_COST || r.times < 2); i++) {
        rlt_split one = {.objective = INFINITY};
        mix(corner, n, d, i, bw);
        for (uint32_t k = 0; k < d && p->goal == RLT_LEAST_COST; k++)
            bw[k] = fmin(i ? equal * (1 + 3 * rlt_random_unit(2, i, 0, k)) : equal, most[k]);
        consider(p, bw, ACCEPTED, out);
        rc = solve_from(p, bw, most, &one, err);
        note(&r, &one);
        if (one.objective < out->objective)
            *out = one;
    }
    return rc;
}

int rlt_split_solve(const rlt_split_problem *p, rlt_split *out, rlt_error *err)
{
    rlt_limits l = *p->limits;
    *out = (rlt_split){.objective = INFINITY};
    for (uint32_t i = 0; i < p->model->n_dims && p->goal == RLT_LEAST_COST; i++) {
        l.items[l.n] = (rlt_limit){.b = MOST_BPS};
        l.items[l.n++].a[i] = 1;
    }
    int rc = rlt_limits_check(&l, err);
    if (!rc)
        rc = try_all(p, &l, out, err);
    if (rc)
        return rc;
    if (!isfinite(out->objective) && p->goal == RLT_LEAST_COST)
        return rlt_fail(
            err, RLT_ECHECK, "--deadline",
            "no split within the limits reaches %.6g ms; without any communication an iteration takes %.6g "
            "ms",
            p->deadline_s * 1e3, p->model->fixed_s * 1e3);
    if (!isfinite(out->objective))
        return rlt_fail(err, RLT_ECHECK, NULL, "no split found that meets the limits within 1e-7");
    settle(p, out);
    return 0;
}
#else
bool rlt_split_available(void)
{
    return false;
}

int rlt_split_solve(const rlt_split_problem *p, rlt_split *out, rlt_error *err)
{
    (void)p;
    (void)out;
    return rlt_fail(
        err, RLT_EUSAGE, NULL,
        "this command needs NLopt, and this ringlet was built without it: install libnlopt-dev (Debian) and "
        "build again");
}
#endif
