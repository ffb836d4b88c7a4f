/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One shape of network: the times of its workloads as functions of the split, its cost, its limits. */
#include <stdio.h>
#include <string.h>

#include "tools/design/design.h"
#include "tools/message.h"

enum { STARTS = 24 };

static void tell_workload(const rlt_design_work *w, rlt_error *err)
{
    if (err && !err->where[0])
        rlt_error_prefix(err, w->name[0] ? w->name : "--workload");
}

int rlt_candidate_open(rlt_candidate *c, rlt_design_setup *u, const rlt_design_net *net, bool limits,
                       rlt_error *err)
{
    const rlt_design_settings *s = u->s;
    double ranks = (double)rlt_design_size(net);
    int rc = 0;
    *c = (rlt_candidate){.u = u, .net = *net, .limits = {.n_dims = net->n}};
    if ((rc = rlt_design_setup_net(u, &c->net, err)))
        return rc;
    rlt_design_cost_rates(&u->cost, &c->net, c->rates);
    c->fixed = u->cost.npu * ranks;
    for (uint32_t i = 0; i < net->n; i++)
        c->dollars[i] = c->rates[i] * ranks;
    if (limits && s->total)
        rc = rlt_limits_total(&c->limits, (double)s->total, err);
    for (uint32_t i = 0; i < s->constraint.n && limits && !rc; i++)
        rc = rlt_limits_add(&c->limits, s->constraint.items[i], c->dollars, c->fixed, err);
    for (uint32_t i = 0; i < u->n_works && !rc; i++) {
        if ((rc = rlt_design_setup_work(u, i, rlt_design_size(net), &c->works[i], err)) ||
            (rc = rlt_design_model_add(&c->all, &c->net, &c->works[i], &u->loop, u->weight[i], err)) ||
            (rc = rlt_design_model_add(&c->each[i], &c->net, &c->works[i], &u->loop, 1, err)))
            tell_workload(&c->works[i], err);
    }
    return rc;
}

void rlt_candidate_free(rlt_candidate *c)
{
    for (uint32_t i = 0; i < RLT_MAX_WORKS; i++) {
        rlt_design_work_free(&c->works[i]);
        rlt_design_model_free(&c->each[i]);
    }
    rlt_design_model_free(&c->all);
}

int rlt_candidate_solve(const rlt_candidate *c, rlt_split *out, rlt_error *err)
{
    rlt_split_problem p = {.model = &c->all,
                           .limits = &c->limits,
                           .per_cost = c->u->per_cost,
                           .dollars = c->dollars,
                           .fixed = c->fixed,
                           .starts = STARTS};
    return rlt_split_solve(&p, out, err);
}

static int simulate(const rlt_candidate *c, rlt_judged *out, rlt_error *err)
{
    const rlt_design_setup *u = c->u;
    rlt_error why = {0};
    for (uint32_t i = 0; i < u->n_works; i++) {
        int rc = rlt_design_simulate(&c->net, &c->works[i], &u->loop, out->bw, &u->how, &out->run[i], &why);
        if (rc == RLT_EUNSUPPORTED)
            return 0;
        if (rc)
            return rlt_fail(err, rc, why.where, "%s", why.what);
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

int rlt_candidate_judge(const rlt_candidate *c, const char *name, const double bw[RLT_MAX_DIMS],
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

char *rlt_design_shape_text(const rlt_design_net *net, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t d = 0; d < net->n && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%s:%u", d ? "*" : "",
                                 rlt_block_name(net->dims[d].block), net->dims[d].size);
    return text;
}
