/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Splits whose dimensions have speeds that are for sale: --nic 100Gbps,200Gbps,400Gbps.
 *
 * Branch and bound. A node has fixed the first k of these dimensions; the others may have any speed between
 * the slowest and the fastest of their lists. The optimum of that easier problem bounds every split below the
 * node, so a node whose bound is above the best split found is left out. T and cost are solved exactly
 * (solve.c). Time x cost is not convex; its bound is the least time times the least cost, both exact. A leaf
 * has fixed all of these dimensions. If dimensions remain, their best split is solved: for time x cost from
 * several starts, which is no proof.
 *
 * Example: speeds 100 and 200 in two dimensions, at most 300 in total. The root leaves both free, and takes
 * T = 1.0 at (180, 120). With b1 = 200 the best is b2 = 100 with T = 1.1. With b1 = 100 no split is below
 * 1.7, so its leaves are not looked at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "tools/design/design.h"
#include "workload/design/design.h"
#include "workload/experiment/coll/lists.h"

enum { MAX_COMBINATIONS = 1 << 16 };
#define SAME 1e-9 /* relative difference of results that count as equal */

/* ---- the lists ---- */

static int by_rate(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int read_rates(const char *text, rlt_nic *out, rlt_error *err)
{
    uint64_t *rates = NULL;
    uint32_t n = 0;
    int rc = rlt_parse_rates(text, "--nic", RLT_MAX_NIC_RATES, &rates, &n, err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        if ((double)rates[i] < RLT_LEAST_BPS)
            rc = rlt_fail(err, RLT_EUSAGE, "--nic", "every speed must be above zero");
        out->rate[i] = (double)rates[i];
    }
    free(rates);
    if (rc)
        return rc;
    qsort(out->rate, n, sizeof *out->rate, by_rate);
    for (uint32_t i = 0; i < n; i++)
        if (out->n == 0 || out->rate[i] > out->rate[out->n - 1])
            out->rate[out->n++] = out->rate[i];
    return 0;
}

/* Reads "RATES" (the pod), "LEVEL=RATES" or "bN=RATES". */
static int read_nic(const char *text, rlt_nic *out, rlt_error *err)
{
    const char *equals = strchr(text, '=');
    char *end = NULL;
    *out = (rlt_nic){.level = RLT_LEVEL_POD};
    if (!equals)
        return read_rates(text, out, err);
    for (int l = 0; l < RLT_LEVELS; l++) {
        const char *name = rlt_level_name((rlt_level)l);
        if (strlen(name) == (size_t)(equals - text) && strncmp(text, name, strlen(name)) == 0) {
            out->level = (rlt_level)l;
            return read_rates(equals + 1, out, err);
        }
    }
    unsigned long d = text[0] == 'b' && text[1] >= '1' && text[1] <= '9' ? strtoul(text + 1, &end, 10) : 0;
    if (end != equals || d > RLT_MAX_DIMS)
        return rlt_fail(err, RLT_EUSAGE, "--nic", "'%s': expected a level or b1 to b%d before '='", text,
                        RLT_MAX_DIMS);
    out->dim = (uint32_t)d;
    return read_rates(equals + 1, out, err);
}

int rlt_nics_read(rlt_nics *out, const rlt_texts *texts, rlt_error *err)
{
    int rc = 0;
    if (texts->n > RLT_MAX_NICS)
        return rlt_fail(err, RLT_EUSAGE, "--nic", "more than %d", RLT_MAX_NICS);
    for (uint32_t i = 0; i < texts->n && !rc; i++) {
        rc = read_nic(texts->items[i], &out->items[i], err);
        out->n = i + 1;
        for (uint32_t k = 0; k < i && !rc; k++)
            if (out->items[k].dim == out->items[i].dim && out->items[k].level == out->items[i].level)
                rc = rlt_fail(err, RLT_EUSAGE, "--nic", "'%s': the same dimensions have a list already",
                              texts->items[i]);
    }
    return rc;
}

/* Returns the list for a dimension, NULL if it may have any speed. A list for bN goes before one for a
 * level. */
static const rlt_nic *list_of(const rlt_nics *nics, const rlt_design_net *net, uint32_t d)
{
    const rlt_nic *found = NULL;
    for (uint32_t i = 0; i < nics->n; i++) {
        const rlt_nic *x = &nics->items[i];
        if (x->dim ? x->dim == d + 1 : !found && x->level == net->dims[d].level)
            found = x;
    }
    return found;
}

static int check_used(const rlt_nics *nics, const rlt_design_net *net, rlt_error *err)
{
    for (uint32_t i = 0; i < nics->n; i++) {
        const rlt_nic *x = &nics->items[i];
        bool used = false;
        for (uint32_t d = 0; d < net->n; d++)
            used |= list_of(nics, net, d) == x;
        if (!used && x->dim)
            return rlt_fail(err, RLT_EUSAGE, "--nic", "b%u: the network has %u dimensions", x->dim, net->n);
        if (!used)
            return rlt_fail(err, RLT_EUSAGE, "--nic", "no dimension without a list is at the level %s",
                            rlt_level_name(x->level));
    }
    return 0;
}

int rlt_nics_apply(rlt_design_candidate *c, rlt_error *err)
{
    uint64_t all = 1;
    uint32_t listed = 0;
    int rc = c->u->shapes_vary ? 0 : check_used(&c->u->nics, &c->net, err);
    for (uint32_t d = 0; d < c->net.n && !rc; d++) {
        c->nic[d] = list_of(&c->u->nics, &c->net, d);
        listed += c->nic[d] != NULL;
        all *= c->nic[d] ? c->nic[d]->n : 1;
        if (all > MAX_COMBINATIONS)
            rc = rlt_fail(err, RLT_EUSAGE, "--nic", "more than %d combinations of speeds", MAX_COMBINATIONS);
    }
    c->listed = listed;
    c->combinations = (uint32_t)all;
    return rc;
}

/* ---- branch and bound ---- */

typedef struct branching {
    const rlt_design_candidate *c;
    const rlt_split_problem *p;
    double fixed[RLT_MAX_DIMS]; /* chosen speeds; 0: open */
    rlt_split best;
    double best_cost;
    uint32_t leaves;
    rlt_error *err;
} branching;

static double cost_of(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS])
{
    double cost = p->fixed;
    for (uint32_t d = 0; d < p->model->n_dims; d++)
        cost += p->dollars[d] * bw[d];
    return cost;
}

/* Adds the limits of a node: a speed for each fixed dimension, a range for each open one. */
static int limit_node(const branching *b, rlt_limits *l)
{
    int rc = 0;
    *l = *b->p->limits;
    for (uint32_t d = 0; d < b->c->net.n && !rc; d++) {
        const rlt_nic *x = b->c->nic[d];
        if (x && b->fixed[d] > 0)
            rc = rlt_limits_range(l, d, b->fixed[d], b->fixed[d], b->err);
        else if (x)
            rc = rlt_limits_range(l, d, x->rate[0], x->rate[x->n - 1], b->err);
    }
    return rc;
}

/* Solves the node with its open dimensions free. *bound is below the objective of every split under it. */
static int relax(const branching *b, const rlt_limits *l, rlt_split *free_split, double *bound)
{
    rlt_split_problem p = *b->p;
    p.limits = l;
    p.goal = p.goal == RLT_LEAST_TIME_COST ? RLT_LEAST_TIME : p.goal;
    int rc = rlt_split_solve(&p, free_split, b->err);
    *bound = free_split->objective;
    if (rc || b->p->goal != RLT_LEAST_TIME_COST)
        return rc;
    double c[RLT_MAX_DIMS] = {0}, cheapest[RLT_MAX_DIMS] = {0};
    for (uint32_t d = 0; d < p.model->n_dims; d++)
        c[d] = -p.dollars[d];
    *bound *= rlt_limits_most(l, c, 0, cheapest) == RLT_LP_DONE ? cost_of(b->p, cheapest) : p.fixed;
    return 0;
}

/* Keeps the split if it is better; of equal ones the cheaper. */
static void keep(branching *b, const rlt_split *s)
{
    double cost = cost_of(b->p, s->bw);
    if (s->objective > b->best.objective * (1 + SAME) ||
        (s->objective > b->best.objective * (1 - SAME) && cost >= b->best_cost))
        return;
    b->best = *s;
    b->best_cost = cost;
}

static bool meets(const branching *b, const double bw[RLT_MAX_DIMS])
{
    return rlt_limits_violation(b->p->limits, bw) <= 1e-7 &&
           (b->p->goal != RLT_LEAST_COST ||
            rlt_design_time(b->p->model, bw) <= b->p->deadline_s * (1 + 1e-7));
}

static int solve_leaf(branching *b, const rlt_limits *l)
{
    rlt_split s = {0};
    int rc = 0;
    b->leaves++;
    if (b->c->listed < b->c->net.n) {
        rlt_split_problem p = *b->p;
        p.limits = l;
        rc = rlt_split_solve(&p, &s, b->err);
    }
    for (uint32_t d = 0; d < b->c->net.n; d++)
        if (b->fixed[d] > 0)
            s.bw[d] = b->fixed[d];
    if (rc || !meets(b, s.bw))
        return rc == RLT_ECHECK ? 0 : rc;
    s.objective = rlt_split_objective(b->p, s.bw);
    s.violation = rlt_limits_violation(b->p->limits, s.bw);
    keep(b, &s);
    return 0;
}

static int descend(branching *b, uint32_t d);

/* Tries the speeds of dimension d, the nearest to the free optimum first, so that good splits are found
 * early. */
static int branch(branching *b, uint32_t d, double near)
{
    const rlt_nic *x = b->c->nic[d];
    bool tried[RLT_MAX_NIC_RATES] = {false};
    int rc = 0;
    for (uint32_t k = 0; k < x->n && !rc; k++) {
        uint32_t next = RLT_NONE;
        for (uint32_t i = 0; i < x->n; i++)
            if (!tried[i] &&
                (next == RLT_NONE || fabs(log(x->rate[i] / near)) < fabs(log(x->rate[next] / near))))
                next = i;
        tried[next] = true;
        b->fixed[d] = x->rate[next];
        rc = descend(b, d + 1);
    }
    b->fixed[d] = 0;
    return rc;
}

static int descend(branching *b, uint32_t d)
{
    rlt_limits l;
    rlt_split open = {0};
    double bound = 0;
    while (d < b->c->net.n && !b->c->nic[d])
        d++;
    int rc = limit_node(b, &l);
    if (rc)
        return rc;
    if (d == b->c->net.n)
        return solve_leaf(b, &l);
    if ((rc = relax(b, &l, &open, &bound)))
        return rc == RLT_ECHECK ? 0 : rc;
    return bound > b->best.objective * (1 + SAME) ? 0 : branch(b, d, open.bw[d]);
}

int rlt_nics_solve(const rlt_design_candidate *c, const rlt_split_problem *p, rlt_split *out, rlt_error *err)
{
    rlt_error ignored = {0}, why = {0};
    rlt_limits l;
    rlt_split any = {0};
    branching b = {.c = c, .p = p, .best = {.objective = INFINITY}, .best_cost = INFINITY, .err = &why};
    rlt_limits same = *p->limits;
    rlt_split_problem free_speeds = *p;
    if (c->u->s->total)
        same.items[0].equal = true; /* as without lists: the whole budget */
    free_speeds.limits = &same;
    int rc = limit_node(&b, &l);
    if (!rc && rlt_split_solve(&free_speeds, &any, &ignored)) { /* perhaps only the lists bound a speed */
        free_speeds.limits = &l;
        rc = rlt_split_solve(&free_speeds, &any, &why);
    }
    if (!rc)
        rc = descend(&b, 0);
    if (rc)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    if (!isfinite(b.best.objective))
        return rlt_fail(err, RLT_ECHECK, "--nic", "no combination of these speeds meets the limits");
    *out = b.best;
    memcpy(out->any_bw, any.bw, sizeof out->any_bw);
    out->over_any = b.best.objective / any.objective - 1;
    out->leaves = b.leaves;
    out->proven = p->goal != RLT_LEAST_TIME_COST || c->listed == c->net.n;
    return 0;
}
