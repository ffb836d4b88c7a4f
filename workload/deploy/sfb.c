/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the 0/1 program of sufficient factors from a strategy, and solves it as a minimum cut.
 *
 * Gradients: tensors of kind RLT_TENSOR_GRADIENT from i into an update that stands on the devices of i and
 * uses all-reduce. Only they are all-reduced; a gradient that goes to a server, or to other devices, saves
 * nothing here.
 *
 * Inputs: batched tensors into i, by where their producer p keeps its output. Others are not gathered.
 *
 *     parts, on the devices of i             w_p is due once, unless p is duplicated too
 *     whole, on all devices of i             nothing: p cannot divide the batch, or is duplicated already
 *     otherwise (other devices, or only      each replica receives S instead of S / M anyway:
 *     one of them)                           (M - 1) / M * S / B is part of c_i, with B of both placements
 *
 * S_p is the largest tensor from p: consumers take the same output, and a smaller tensor is a share of it.
 * The launch of an operator is the same for a part as for the whole, so it is not in t_i.
 */
#include "workload/deploy/sfb.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/graph.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

typedef struct maker {
    const rlt_opgraph *graph;
    const rlt_grouping *grouping;
    const rlt_cluster *cluster;
    const rlt_strategy *strategy;
    rlt_sfb_problem *out;
} maker;

static rlt_action action_of(const maker *m, uint32_t op)
{
    return m->strategy->actions[m->grouping->of_op[op]];
}

/* Returns true if each replica of the operator has its slice of the batch. What the strategy broadcasts
 * already is decided anew, and does not count. */
static bool in_parts(const maker *m, uint32_t op)
{
    rlt_action a = action_of(m, op);
    return m->graph->ops[op].splittable && (a.use == RLT_USE_PS || a.use == RLT_USE_ALL_REDUCE) &&
           rlt_cluster_devices(m->cluster, a.placement) > 1;
}

/* (M - 1) / M * bytes over the bottleneck of a placement, in microseconds. */
static double share_us(const maker *m, uint32_t replicas, uint64_t bytes, uint32_t placement)
{
    double rest = (double)(replicas - 1) / replicas;
    return rest * (double)bytes / (double)rlt_cluster_bottleneck(m->cluster, placement) * 1e6;
}

/* Mean factor of the devices of a placement. */
static double mean_factor(const rlt_cluster *c, uint32_t placement)
{
    double sum = 0;
    for (uint32_t i = 0; i < c->n_groups; i++)
        sum += placement >> i & 1 ? c->groups[i].factor * c->groups[i].n : 0;
    return sum / rlt_cluster_devices(c, placement);
}

/* Adds one input of operator i to the program. */
static void add_input(const maker *m, uint32_t i, const rlt_tensor *t)
{
    rlt_sfb_problem *out = m->out;
    rlt_action a = action_of(m, i), b = action_of(m, t->src);
    uint32_t replicas = rlt_cluster_devices(m->cluster, a.placement);
    bool parts = in_parts(m, t->src);
    if (parts && a.placement == b.placement) {
        double w = share_us(m, replicas, t->bytes, a.placement);
        out->gather[t->src] = fmax(out->gather[t->src], w);
        out->src[out->n_edges] = t->src;
        out->dst[out->n_edges++] = i;
    } else if (parts || b.use == RLT_USE_MODEL || (a.placement & ~b.placement) != 0) {
        out->cost[i] += share_us(m, replicas, t->bytes, a.placement | b.placement);
    }
}

static void add_operator(const maker *m, uint32_t i, double alpha_us)
{
    const rlt_opgraph *g = m->graph;
    const rlt_operator *o = &g->ops[i];
    rlt_action a = action_of(m, i);
    uint32_t replicas = rlt_cluster_devices(m->cluster, a.placement);
    double *cost = &m->out->cost[i];
    *cost = alpha_us;
    m->out->forced[i] = !in_parts(m, i) || a.use != RLT_USE_ALL_REDUCE;
    if (m->out->forced[i])
        return;
    double part_us = (double)o->time_ps / (double)RLT_US * mean_factor(m->cluster, a.placement) / replicas;
    *cost += (replicas - 1) * part_us;
    for (uint32_t k = g->out_first[i]; k < g->out_first[i + 1]; k++) {
        const rlt_tensor *t = &g->tensors[k];
        rlt_action to = action_of(m, t->dst);
        if (t->kind == RLT_TENSOR_GRADIENT && g->ops[t->dst].pass == RLT_OPERATOR_UPDATE &&
            to.use == RLT_USE_ALL_REDUCE && to.placement == a.placement)
            *cost -= 2 * share_us(m, replicas, t->bytes, a.placement);
    }
    for (uint32_t k = g->in_first[i]; k < g->in_first[i + 1]; k++)
        if (g->tensors[g->in[k]].kind == RLT_TENSOR_BATCHED)
            add_input(m, i, &g->tensors[g->in[k]]);
}

int rlt_sfb_problem_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c,
                         const rlt_strategy *s, double alpha_us, rlt_sfb_problem *out, rlt_error *err)
{
    maker m = {.graph = g, .grouping = p, .cluster = c, .strategy = s, .out = out};
    size_t n = g->n_ops, edges = (size_t)g->n_tensors + 1;
    *out = (rlt_sfb_problem){.n_ops = g->n_ops};
    if (!(alpha_us >= 0 && isfinite(alpha_us)))
        return rlt_fail(err, RLT_EUSAGE, g->name,
                        "expected a fixed cost of duplication of at least 0 us, got %g", alpha_us);
    if (s->n != p->n)
        return rlt_fail(err, RLT_EUSAGE, g->name, "a strategy of %u groups for a grouping of %u", s->n, p->n);
    out->cost = calloc(n, sizeof *out->cost);
    out->gather = calloc(n, sizeof *out->gather);
    out->forced = calloc(n, 1);
    out->src = malloc(edges * sizeof *out->src);
    out->dst = malloc(edges * sizeof *out->dst);
    if (!out->cost || !out->gather || !out->forced || !out->src || !out->dst) {
        rlt_sfb_problem_free(out);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < g->n_ops; i++)
        add_operator(&m, i, alpha_us);
    return 0;
}

void rlt_sfb_problem_free(rlt_sfb_problem *p)
{
    free(p->cost);
    free(p->gather);
    free(p->forced);
    free(p->src);
    free(p->dst);
    *p = (rlt_sfb_problem){0};
}

/* ---- the cut ---- */

/*
 * Project selection: an arc a -> b of capacity w costs w if x_a = 1 and x_b = 0; the source has x = 1, the
 * sink x = 0. Forced operators are the sink.
 *
 *     source -> i   -c_i        if c_i < 0
 *     i -> sink     c_i         if c_i > 0
 *     j -> q_p      no limit    for each consumer j of p: q_p is b_p
 *     q_p -> p      w_p
 *
 * The arcs here are turned round, and source and sink change places: rlt_graph_min_cut makes the side of its
 * own source as large as possible, so an operator whose duplication gains nothing stays as it is, and the
 * solution does not depend on the order of the operators.
 *
 * Capacities are doubles, whose integers are exact below 2^53. They are whole picoseconds, or the least power
 * of two of them for which all finite ones add up to less than 2^51. "No limit" is their sum plus one. The
 * flow in an arc, and what an arc can still take, then stay below 2^53: the cut is exact.
 */
typedef struct arcs {
    uint32_t *src, *dst;
    double *capacity;
    uint32_t n, sink, source;
} arcs;

static void add_arc(arcs *a, uint32_t from, uint32_t to, double capacity)
{
    if (capacity <= 0 || from == to)
        return;
    a->src[a->n] = to;
    a->dst[a->n] = from;
    a->capacity[a->n++] = capacity;
}

/* Checks the program. Adds all finite capacities to *sum, picoseconds. */
static int check(const rlt_sfb_problem *p, double *sum, rlt_error *err)
{
    static const char place[] = "sufficient factors";
    if (p->n_ops > RLT_MAX_OPERATORS || p->n_edges > RLT_MAX_TENSORS)
        return rlt_fail(err, RLT_ERANGE, place, "%u operators and %u tensors, where %d and %d are possible",
                        p->n_ops, p->n_edges, RLT_MAX_OPERATORS, RLT_MAX_TENSORS);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        double all = fabs(p->cost[i]) + p->gather[i];
        if (!(all < 1e18) || !(p->gather[i] >= 0))
            return rlt_fail(err, RLT_ERANGE, place,
                            "operator %u costs %g us and its gather %g us: expected figures below 1e18 us, "
                            "and gathers of at least 0 us",
                            i, p->cost[i], p->gather[i]);
        *sum += all * (double)RLT_US + 2;
    }
    for (uint32_t e = 0; e < p->n_edges; e++)
        if (p->src[e] >= p->n_ops || p->dst[e] >= p->n_ops)
            return rlt_fail(err, RLT_EUSAGE, place,
                            "a tensor from operator %u to %u, but there are only %u operators", p->src[e],
                            p->dst[e], p->n_ops);
    return 0;
}

/* Fills the arcs. Returns the sum of the negative costs. */
static double fill(const rlt_sfb_problem *p, double per_us, arcs *a)
{
    double gain = 0, finite = 0;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        double c = nearbyint(p->cost[i] * per_us), w = nearbyint(p->gather[i] * per_us);
        uint32_t node = p->forced[i] ? a->sink : i;
        finite += fabs(c) + w;
        add_arc(a, p->n_ops + i, node, w);
        if (p->forced[i])
            continue;
        add_arc(a, i, a->sink, c);
        add_arc(a, a->source, i, -c);
        gain += c < 0 ? c : 0;
    }
    for (uint32_t e = 0; e < p->n_edges; e++)
        if (!p->forced[p->dst[e]])
            add_arc(a, p->dst[e], p->n_ops + p->src[e], finite + 1);
    return gain;
}

int rlt_sfb_solve(const rlt_sfb_problem *p, uint8_t *x, double *value, rlt_error *err)
{
    uint32_t n = p->n_ops;
    size_t room = 2 * (size_t)n + p->n_edges + 1;
    arcs a = {.sink = 2 * n, .source = 2 * n + 1};
    double sum = 0, per_us = (double)RLT_US, cut = 0, gain = 0;
    *value = 0;
    int rc = check(p, &sum, err);
    if (rc)
        return rc;
    for (; sum >= 0x1p51; sum /= 2)
        per_us /= 2;
    uint8_t *side = malloc(2 * (size_t)n + 2);
    a.src = malloc(room * sizeof *a.src);
    a.dst = malloc(room * sizeof *a.dst);
    a.capacity = malloc(room * sizeof *a.capacity);
    if (!side || !a.src || !a.dst || !a.capacity)
        rc = rlt_nomem(err);
    if (!rc && (gain = fill(p, per_us, &a)) < 0) {
        rlt_edges edges = {.n_nodes = 2 * n + 2, .n_edges = a.n, .src = a.src, .dst = a.dst};
        rc = rlt_graph_min_cut(&edges, a.capacity, a.sink, a.source, &cut, side, err);
    }
    for (uint32_t i = 0; i < n && !rc; i++)
        x[i] = gain < 0 && !p->forced[i] && !side[i];
    if (!rc)
        *value = (gain + cut) / per_us;
    free(side);
    free(a.src);
    free(a.dst);
    free(a.capacity);
    return rc;
}
