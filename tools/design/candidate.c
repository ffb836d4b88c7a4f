/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One shape of network: times of its workloads as functions of the split, cost, and limits. */
#include <stdio.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

enum { STARTS = 24 };

static int add_limits(rlt_design_candidate *c, rlt_error *err)
{
    const rlt_design_settings *s = c->u->s;
    int rc = 0;
    for (uint32_t i = 0; i < c->net.n; i++)
        c->limits.level[i] = c->net.dims[i].level;
    if (s->total)
        rc = rlt_limits_total(&c->limits, (double)s->total, err);
    if (!rc && s->total && c->listed == c->net.n) { /* sums of listed speeds hardly ever equal the total */
        c->limits.items[0].equal = false;
        memcpy(strchr(c->limits.items[0].text, '='), "<", 1);
    }
    for (uint32_t i = 0; i < s->constraint.n && !rc; i++)
        rc = rlt_limits_add(&c->limits, s->constraint.items[i], c->dollars, c->fixed, err);
    return rc;
}

/* Refuses a part without a price: it would be free, and get all the bandwidth. */
static int check_prices(const rlt_design_setup *u, const rlt_design_net *net, rlt_error *err)
{
    for (uint32_t i = 0; i < net->n; i++)
        if (u->prices.lacks[net->dims[i].level])
            return rlt_fail(err, RLT_ESCHEMA, u->s->cost,
                            "has no prices for level '%s' of dimension %u; --levels sets the levels",
                            rlt_level_name(net->dims[i].level), i + 1);
    return 0;
}

int rlt_design_candidate_open(rlt_design_candidate *c, const rlt_design_setup *u, const rlt_design_net *net,
                              rlt_error *err)
{
    double ranks = (double)rlt_design_size(net);
    *c = (rlt_design_candidate){
        .u = u, .net = *net, .limits = {.n_dims = net->n, .shapes_vary = u->shapes_vary}};
    int rc = rlt_design_setup_net(u, &c->net, err);
    if (rc || (rc = u->shapes_vary ? 0 : check_prices(u, &c->net, err)))
        return rc;
    rlt_design_cost_rates(&u->cost, &c->net, c->rates);
    c->fixed = u->cost.npu * ranks;
    for (uint32_t i = 0; i < net->n; i++)
        c->dollars[i] = c->rates[i] * ranks;
    if (!(rc = rlt_nics_apply(c, err)))
        rc = add_limits(c, err);
    for (uint32_t i = 0; i < u->n_works && !rc; i++) {
        const rlt_design_work *w = &u->works[i];
        if ((rc = rlt_design_model_add(&c->all, &c->net, w, &u->loop, u->weight[i], err)) ||
            (rc = rlt_design_model_add(&c->each[i], &c->net, w, &u->loop, 1, err)))
            rlt_error_prefix(err, w->name);
    }
    return rc;
}

void rlt_design_candidate_free(rlt_design_candidate *c)
{
    for (uint32_t i = 0; i < RLT_MAX_WORKS; i++)
        rlt_design_model_free(&c->each[i]);
    rlt_design_model_free(&c->all);
}

int rlt_design_candidate_solve(const rlt_design_candidate *c, rlt_design_goal goal, double deadline_s,
                               rlt_split *out, rlt_error *err)
{
    rlt_split_problem p = {.model = &c->all,
                           .limits = &c->limits,
                           .goal = goal,
                           .deadline_s = deadline_s,
                           .dollars = c->dollars,
                           .fixed = c->fixed,
                           .starts = STARTS};
    return c->listed ? rlt_nics_solve(c, &p, out, err) : rlt_split_solve(&p, out, err);
}

static int simulate(const rlt_design_candidate *c, rlt_judged *out, rlt_error *err)
{
    const rlt_design_setup *u = c->u;
    for (uint32_t i = 0; i < u->n_works; i++) {
        int rc = rlt_design_simulate(&c->net, &u->works[i], &u->loop, out->bw, &u->how, &out->run[i], err);
        if (rc)
            return rc;
        double s = (double)out->run[i].time_ps * 1e-12 * u->weight[i];
        out->simulated_s += s;
        for (uint32_t d = 0; d < c->net.n; d++)
            out->utilization[d] += out->run[i].utilization[d] * s;
    }
    for (uint32_t d = 0; d < c->net.n && out->simulated_s > 0; d++)
        out->utilization[d] /= out->simulated_s;
    out->simulated = true;
    return 0;
}

int rlt_design_candidate_judge(const rlt_design_candidate *c, const char *name, const double bw[RLT_MAX_DIMS],
                               rlt_judged *out, rlt_error *err)
{
    *out = (rlt_judged){.name = name, .time_s = rlt_design_time(&c->all, bw), .cost = c->fixed};
    memcpy(out->bw, bw, sizeof out->bw);
    for (uint32_t i = 0; i < c->u->n_works; i++)
        out->each_s[i] = rlt_design_time(&c->each[i], bw);
    for (uint32_t d = 0; d < c->net.n; d++)
        out->cost += c->dollars[d] * bw[d];
    return c->u->s->no_simulation ? 0 : simulate(c, out, err);
}

char *rlt_design_join(char *text, size_t size, const double *x, uint32_t n, double unit, int decimals)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t d = 0; d < n && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%.*f", d ? "/" : "", decimals, x[d] / unit);
    return text;
}

char *rlt_design_shape_text(const rlt_design_net *net, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t d = 0; d < net->n && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%s:%u", d ? "*" : "",
                                 rlt_block_name(net->dims[d].block), net->dims[d].size);
    return text;
}
