/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Features of TAG (arXiv 2302.06126 and its released data preparation, with its slips mended: sizes are in
 * bytes throughout, the edges between groups carry their sizes, utilisation is a fraction).
 *
 * Scales: L = L2 norm over the groups of their computation time in us; B = the largest bandwidth in bytes a
 * us. Times are divided by L, bandwidths by B, sizes by L B.
 */
#include "tools/deploy/guide.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/policy/policy.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/locate.h"

enum { FRACTIONS = 4 }; /* the batch, and 1/2, 1/4, 1/8 of it */

/* Features of a trial. */
typedef struct features {
    double *ops, *devices, *place, *serve;
    double *log_p;
    rlt_policy_run *run;
    rlt_policy_state state;
} features;

struct rlt_guide {
    const rlt_policy *policy;
    uint32_t trials;
    double length, bandwidth;            /* L, B */
    double *times;                       /* by group and fraction: mean over the devices, us */
    double *device_times;                /* by group, device group and fraction: sum over its devices, us */
    double *parameters, *inside, *n_ops; /* by group: bytes, bytes, operators */
    uint32_t *pairs;                     /* groups that exchange tensors: from, to */
    double *pair_bytes;
    uint32_t n_pairs;
    uint32_t *src[RLT_EDGE_KINDS], *dst[RLT_EDGE_KINDS];
    double *link, *flow; /* features of links; of prev, and so of succ */
    uint32_t *placement;
    uint8_t *use;
    features *trial;
};

static double us(rlt_time t)
{
    return (double)t / (double)RLT_US;
}

static double op_us(const rlt_operator *o, double factor, uint32_t share)
{
    return us(o->time_ps) * factor / (o->splittable ? share : 1) + us(o->launch_ps);
}

static void sum_groups(rlt_guide *g, const rlt_deployment *d)
{
    const rlt_cluster *c = d->cluster;
    uint32_t n = d->grouping->n, k = c->n_groups;
    double squares = 0;
    for (uint32_t i = 0; i < d->graph->n_ops; i++) {
        const rlt_operator *o = &d->graph->ops[i];
        uint32_t group = d->grouping->of_op[i];
        g->n_ops[group]++;
        g->parameters[group] += o->pass == RLT_OPERATOR_FORWARD ? (double)o->parameter_bytes : 0;
        for (uint32_t m = 0; m < k; m++)
            for (uint32_t f = 0; f < FRACTIONS; f++) {
                double t = op_us(o, c->groups[m].factor, 1u << f) * c->groups[m].n;
                g->device_times[(group * k + m) * FRACTIONS + f] += t;
                g->times[group * FRACTIONS + f] += t / c->n_devices;
            }
    }
    for (uint32_t i = 0; i < n; i++)
        squares += g->times[i * FRACTIONS] * g->times[i * FRACTIONS];
    g->length = squares > 0 ? sqrt(squares) : 1;
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t m = 0; m < k; m++)
            g->bandwidth = fmax(g->bandwidth, (double)c->inter_Bps[i][m] / 1e6);
    g->bandwidth = g->bandwidth > 0 ? g->bandwidth : 1;
}

/* Adds up the tensors between each two groups, and inside each. */
static int sum_tensors(rlt_guide *g, const rlt_deployment *d, rlt_error *err)
{
    uint32_t n = d->grouping->n;
    double *bytes = calloc((size_t)n * n, sizeof *bytes);
    if (!bytes)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < d->graph->n_tensors; i++) {
        const rlt_tensor *t = &d->graph->tensors[i];
        uint32_t a = d->grouping->of_op[t->src], b = d->grouping->of_op[t->dst];
        if (a == b)
            g->inside[a] += (double)t->bytes;
        else {
            g->n_pairs += bytes[a * n + b] == 0;
            bytes[a * n + b] += (double)t->bytes + 1;
        }
    }
    g->pairs = malloc(((size_t)g->n_pairs + 1) * 2 * sizeof *g->pairs);
    g->pair_bytes = malloc(((size_t)g->n_pairs + 1) * sizeof *g->pair_bytes);
    g->n_pairs = 0;
    for (uint32_t i = 0; i < n * n && g->pairs && g->pair_bytes; i++)
        if (bytes[i] > 0) {
            g->pairs[2 * g->n_pairs] = i / n;
            g->pairs[2 * g->n_pairs + 1] = i % n;
            g->pair_bytes[g->n_pairs++] = bytes[i];
        }
    free(bytes);
    return g->pairs && g->pair_bytes ? 0 : rlt_nomem(err);
}

static uint32_t edges_of(const rlt_guide *g, const rlt_deployment *d, int kind)
{
    uint32_t n = d->grouping->n, k = d->cluster->n_groups;
    return kind == RLT_EDGE_LINK                            ? k * (k - 1)
           : kind == RLT_EDGE_PREV || kind == RLT_EDGE_SUCC ? g->n_pairs
                                                            : n * k;
}

/* Lists the edges of all kinds, which stay the same. */
static int list_edges(rlt_guide *g, const rlt_deployment *d, rlt_error *err)
{
    uint32_t k = d->cluster->n_groups;
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        uint32_t m = edges_of(g, d, e);
        g->src[e] = malloc(((size_t)m + 1) * sizeof(uint32_t));
        g->dst[e] = malloc(((size_t)m + 1) * sizeof(uint32_t));
        if (!g->src[e] || !g->dst[e])
            return rlt_nomem(err);
        for (uint32_t i = 0; i < m; i++) {
            uint32_t a = i / k, b = i % k;
            if (e == RLT_EDGE_LINK) {
                a = i / (k - 1);
                b = i % (k - 1) + (i % (k - 1) >= a);
                g->link[i] = (double)d->cluster->inter_Bps[a][b] / 1e6 / g->bandwidth;
            } else if (e == RLT_EDGE_PREV || e == RLT_EDGE_SUCC) {
                a = g->pairs[2 * i];
                b = g->pairs[2 * i + 1];
                g->flow[i] = g->pair_bytes[i] / (g->length * g->bandwidth);
            }
            bool back = e == RLT_EDGE_SUCC || e == RLT_EDGE_SERVE;
            g->src[e][i] = back ? b : a;
            g->dst[e][i] = back ? a : b;
        }
    }
    return 0;
}

static int make_trial(rlt_guide *g, const rlt_deployment *d, features *f, rlt_error *err)
{
    uint32_t n = d->grouping->n, k = d->cluster->n_groups;
    f->ops = calloc((size_t)n * RLT_OP_FEATURES, sizeof *f->ops);
    f->devices = calloc((size_t)k * RLT_DEVICE_FEATURES, sizeof *f->devices);
    f->place = calloc((size_t)n * k * RLT_PLACE_FEATURES, sizeof *f->place);
    f->log_p = calloc(d->n_actions, sizeof *f->log_p);
    if (!f->ops || !f->devices || !f->place || !f->log_p)
        return rlt_nomem(err);
    f->state = (rlt_policy_state){.n_ops = n,
                                  .n_devices = k,
                                  .ops = f->ops,
                                  .devices = f->devices,
                                  .n_actions = d->n_actions,
                                  .placement = g->placement,
                                  .way = g->use};
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        const double *x = e == RLT_EDGE_LINK                         ? g->link
                          : e == RLT_EDGE_PREV || e == RLT_EDGE_SUCC ? g->flow
                                                                     : f->place;
        f->state.edges[e] = (struct rlt_policy_edges){edges_of(g, d, e), g->src[e], g->dst[e], x};
    }
    return rlt_policy_run_create(g->policy, &f->run, err);
}

static int allocate(rlt_guide *g, const rlt_deployment *d, rlt_error *err)
{
    size_t n = d->grouping->n, k = d->cluster->n_groups;
    g->times = calloc(n * FRACTIONS, sizeof *g->times);
    g->device_times = calloc(n * k * FRACTIONS, sizeof *g->device_times);
    g->parameters = calloc(n, sizeof *g->parameters);
    g->inside = calloc(n, sizeof *g->inside);
    g->n_ops = calloc(n, sizeof *g->n_ops);
    g->link = calloc(k * k, sizeof *g->link);
    g->placement = calloc(d->n_actions, sizeof *g->placement);
    g->use = calloc(d->n_actions, sizeof *g->use);
    g->trial = calloc(d->trials, sizeof *g->trial);
    if (!g->times || !g->device_times || !g->parameters || !g->inside || !g->n_ops || !g->link ||
        !g->placement || !g->use || !g->trial)
        return rlt_nomem(err);
    g->trials = d->trials;
    for (uint32_t a = 0; a < d->n_actions; a++) {
        g->placement[a] = d->actions[a].placement;
        g->use[a] = d->actions[a].use < RLT_POLICY_WAYS ? d->actions[a].use : RLT_POLICY_WAYS - 1;
    }
    return 0;
}

int rlt_guide_policy(const char *weights, rlt_policy **out, rlt_error *err)
{
    char path[PATH_MAX];
    int rc = rlt_weights_path(weights ? weights : "tag.weights", path, sizeof path, err);
    return rc ? rc : rlt_policy_load(path, out, err);
}

int rlt_guide_make(rlt_deployment *d, const rlt_policy *p, rlt_guide **out, rlt_error *err)
{
    rlt_guide *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g)
        return rlt_nomem(err);
    g->policy = p;
    int rc = allocate(g, d, err);
    if (!rc) {
        sum_groups(g, d);
        rc = sum_tensors(g, d, err);
    }
    if (!rc && !(g->flow = calloc((size_t)g->n_pairs + 1, sizeof *g->flow)))
        rc = rlt_nomem(err);
    if (!rc)
        rc = list_edges(g, d, err);
    for (uint32_t i = 0; i < d->trials && !rc; i++)
        rc = make_trial(g, d, &g->trial[i], err);
    if (rc) {
        rlt_guide_free(g);
        return rc;
    }
    *out = d->guide = g;
    return 0;
}

void rlt_guide_free(rlt_guide *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; g->trial && i < g->trials; i++) {
        free(g->trial[i].ops);
        free(g->trial[i].devices);
        free(g->trial[i].place);
        free(g->trial[i].log_p);
        rlt_policy_run_free(g->trial[i].run);
    }
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        free(g->src[e]);
        free(g->dst[e]);
    }
    free(g->times);
    free(g->device_times);
    free(g->parameters);
    free(g->inside);
    free(g->n_ops);
    free(g->pairs);
    free(g->pair_bytes);
    free(g->link);
    free(g->flow);
    free(g->placement);
    free(g->use);
    free(g->trial);
    free(g);
}

/* ---- a state ---- */

static void fill_ops(const rlt_guide *g, const rlt_deployment *d, const rlt_strategy *s,
                     const rlt_feedback *f, uint32_t decided, double *ops)
{
    uint32_t n = d->grouping->n;
    memset(ops, 0, (size_t)n * RLT_OP_FEATURES * sizeof *ops);
    for (uint32_t i = 0; i < d->graph->n_ops; i++) {
        uint32_t group = d->grouping->of_op[i];
        double share = 1 / (g->n_ops[group] * g->length);
        ops[group * RLT_OP_FEATURES + 9] += us(f->makespan_ps[i]) * share;
        ops[group * RLT_OP_FEATURES + 10] += us(f->idle_after_ps[i]) * share;
    }
    for (uint32_t i = 0; i < n; i++) {
        double *x = ops + (size_t)i * RLT_OP_FEATURES;
        uint32_t use = s->actions[i].use < RLT_POLICY_WAYS ? s->actions[i].use : RLT_POLICY_WAYS - 1;
        for (uint32_t k = 0; k < FRACTIONS; k++)
            x[k] = g->times[i * FRACTIONS + k] / g->length;
        x[4] = g->parameters[i] / (g->length * g->bandwidth);
        x[5] = g->inside[i] / (g->length * g->bandwidth);
        x[6 + use] = 1;
        x[11] = i < decided;
        x[12] = i == decided;
    }
}

static void fill_devices(const rlt_guide *g, const rlt_deployment *d, const rlt_feedback *f, rlt_time time_ps,
                         double *devices)
{
    const rlt_cluster *c = d->cluster;
    for (uint32_t i = 0; i < c->n_groups; i++) {
        const rlt_device_group *m = &c->groups[i];
        double *x = devices + (size_t)i * RLT_DEVICE_FEATURES, peak = 0, busy = 0;
        for (uint32_t k = m->first; k < m->first + m->n; k++) {
            peak = fmax(peak, (double)f->peak_bytes[k]);
            busy += (double)f->busy_ps[k];
        }
        x[0] = m->n / 4.0;
        x[1] = log1p((double)m->memory_bytes / (g->length * g->bandwidth)); /* may be much above 1 */
        x[2] = (double)m->intra_Bps / 1e6 / g->bandwidth;
        x[3] = peak / (double)m->memory_bytes;
        x[4] = time_ps > 0 ? busy / m->n / (double)time_ps : 0;
    }
}

static void fill_places(const rlt_guide *g, const rlt_deployment *d, const rlt_strategy *s, double *place)
{
    uint32_t k = d->cluster->n_groups;
    for (uint32_t i = 0; i < d->grouping->n * k; i++) {
        for (uint32_t f = 0; f < FRACTIONS; f++)
            place[i * RLT_PLACE_FEATURES + f] = g->device_times[i * FRACTIONS + f] / g->length;
        place[i * RLT_PLACE_FEATURES + FRACTIONS] = s->actions[i / k].placement >> i % k & 1;
    }
}

int rlt_guide_state(rlt_deployment *d, uint32_t trial, const uint16_t *point, uint32_t decided,
                    const rlt_policy_state **out, rlt_error *err)
{
    rlt_guide *g = d->guide;
    features *x = &g->trial[trial];
    rlt_verdict v;
    rlt_feedback f;
    const rlt_strategy *s = rlt_deployment_strategy(d, trial, point);
    int rc = rlt_judge_tag(d->judges[trial], s, &v, &f, err);
    if (rc)
        return rc;
    fill_ops(g, d, s, &f, decided, x->ops);
    fill_devices(g, d, &f, v.time_ps, x->devices);
    fill_places(g, d, s, x->place);
    x->state.deciding = decided;
    *out = &x->state;
    return 0;
}

int rlt_guide_prior(void *deployment, uint32_t trial, const uint16_t *point, uint32_t decided,
                    double *probability, rlt_error *err)
{
    rlt_deployment *d = deployment;
    const rlt_policy_state *s;
    features *x = &d->guide->trial[trial];
    int rc = rlt_guide_state(d, trial, point, decided, &s, err);
    if (!rc)
        rc = rlt_policy_evaluate(x->run, s, x->log_p, err);
    for (uint32_t a = 0; a < d->n_actions && !rc; a++)
        probability[a] = exp(x->log_p[a]);
    return rc;
}
