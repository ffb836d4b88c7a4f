/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rewrites a strategy into an execution graph. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

enum { MAX_TASKS = 1 << 26 };

/* Bytes of memory for a byte of parameters: the weight, its gradient, and two moments of Adam. */
#define ADAM_COPIES 4

/* Where an operator runs, and whether its output is in parts. */
typedef struct place {
    const uint32_t *devices;
    uint32_t n, first; /* number of replicas, task of the first */
    bool parts;
} place;

typedef struct work {
    const rlt__rewriter *w;
    const rlt_strategy *strategy;
    rlt__execution *x;
    rlt_error *err;
    int rc;
} work;

/* ---- what stays the same ---- */

/* Finds where each operator stands in the time of its group, in topological order. Operators that stand
 * together have the position of the first. */
static void find_positions(const rlt_opgraph *g, const rlt_grouping *p, double *position, rlt_time *before,
                           uint32_t *first)
{
    for (uint32_t i = 0; i < p->n; i++)
        before[i] = 0;
    for (uint32_t i = 0; i < g->n_ops; i++)
        first[i] = RLT_NONE;
    for (uint32_t k = 0; k < g->n_ops; k++) {
        uint32_t i = g->order[k], t = g->ops[i].together, group = p->of_op[i];
        rlt_time whole = p->time_ps[group];
        position[i] = whole > 0 ? (double)before[group] / (double)whole : 0;
        before[group] += g->ops[i].time_ps;
        if (t == RLT_NONE)
            continue;
        if (first[t] == RLT_NONE)
            first[t] = i;
        position[i] = position[first[t]];
    }
}

static void list_devices(rlt__rewriter *w, uint32_t sets)
{
    const rlt_cluster *c = w->cluster;
    uint32_t n = 0;
    for (uint32_t p = 0; p < sets; p++) {
        w->device_first[p] = n;
        for (uint32_t d = 0; d < c->n_devices; d++)
            if (p >> c->group_of[d] & 1)
                w->devices[n++] = d;
    }
    w->device_first[sets] = n;
}

int rlt__rewriter_make(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, rlt__rewriter *out,
                       rlt_error *err)
{
    uint32_t sets = 1u << c->n_groups;
    rlt_time *before = malloc(((size_t)p->n + 1) * sizeof *before);
    uint32_t *first = malloc((size_t)g->n_ops * sizeof *first);
    *out = (rlt__rewriter){.graph = g, .grouping = p, .cluster = c};
    out->position = malloc((size_t)g->n_ops * sizeof *out->position);
    out->devices = malloc((size_t)sets * c->n_devices * sizeof *out->devices);
    out->device_first = malloc(((size_t)sets + 1) * sizeof *out->device_first);
    int rc = before && first && out->position && out->devices && out->device_first ? 0 : rlt_nomem(err);
    if (!rc) {
        find_positions(g, p, out->position, before, first);
        list_devices(out, sets);
    } else
        rlt__rewriter_free(out);
    free(before);
    free(first);
    return rc;
}

void rlt__rewriter_free(rlt__rewriter *w)
{
    free(w->position);
    free(w->devices);
    free(w->device_first);
    *w = (rlt__rewriter){0};
}

const uint32_t *rlt__placement_devices(const rlt__rewriter *w, uint32_t placement, uint32_t *n)
{
    *n = w->device_first[placement + 1] - w->device_first[placement];
    return w->devices + w->device_first[placement];
}

/* ---- tasks ---- */

static uint32_t add_task(work *k, const rlt__task *t)
{
    rlt__execution *x = k->x;
    if (k->rc || (x->n_tasks == x->tasks_room &&
                  (k->rc = rlt_grow(&x->tasks, &x->tasks_room, sizeof *x->tasks, (uint64_t)x->n_tasks + 1,
                                    MAX_TASKS, "tasks", k->err))))
        return 0;
    x->tasks[x->n_tasks] = *t;
    return x->n_tasks++;
}

static void add_edge(work *k, uint32_t from, uint32_t to)
{
    rlt__execution *x = k->x;
    if (k->rc || (2 * (uint64_t)x->n_edges + 2 > x->edges_room &&
                  (k->rc = rlt_grow(&x->edges, &x->edges_room, sizeof *x->edges, 2 * (uint64_t)x->n_edges + 2,
                                    2 * MAX_TASKS, "dependencies", k->err))))
        return;
    x->edges[2 * x->n_edges] = from;
    x->edges[2 * x->n_edges + 1] = to;
    x->n_edges++;
    x->tasks[to].waits++;
}

static place place_of(const work *k, uint32_t op)
{
    const rlt_operator *o = &k->w->graph->ops[op];
    rlt_action a = k->strategy->actions[k->w->grouping->of_op[op]];
    place p = {.first = k->x->first_task[op]};
    p.devices = rlt__placement_devices(k->w, a.placement, &p.n);
    if (a.use == RLT_USE_MODEL) {
        uint32_t at = (uint32_t)(k->w->position[op] * p.n);
        p.devices += at < p.n ? at : p.n - 1;
        p.n = 1;
    }
    p.parts = o->splittable && p.n > 1 && a.use != RLT_USE_DUPLICATE &&
              !(k->strategy->broadcast && k->strategy->broadcast[op]);
    return p;
}

static rlt_time time_of(const rlt_cluster *c, const rlt_operator *o, uint32_t device, uint32_t share)
{
    double whole = (double)o->time_ps * c->groups[c->group_of[device]].factor;
    return rlt_time_add((rlt_time)nearbyint(whole / share), o->launch_ps);
}

/* Adds the replicas of an operator, and what they keep in memory. */
static void add_replicas(work *k, uint32_t op)
{
    const rlt_operator *o = &k->w->graph->ops[op];
    k->x->first_task[op] = k->x->n_tasks;
    place p = place_of(k, op);
    uint32_t share = p.parts ? p.n : 1;
    k->x->replicas[op] = p.n;
    for (uint32_t i = 0; i < p.n && !k->rc; i++) {
        uint32_t d = p.devices[i];
        rlt__task t = {.kind = RLT__TASK_COMPUTE,
                       .op = op,
                       .from = d,
                       .to = d,
                       .time_ps = time_of(k->w->cluster, o, d, share)};
        (void)add_task(k, &t);
        if (o->pass == RLT_OPERATOR_UPDATE)
            k->x->bytes[d] += ADAM_COPIES * o->parameter_bytes;
        k->x->bytes[d] += o->kept_bytes / share;
    }
}

/* Makes `to` wait for `from`, by a transfer if they run on different devices. */
static void pass_on(work *k, uint32_t op, uint32_t from, uint32_t to, uint64_t bytes)
{
    uint32_t a = k->x->tasks[from].to, b = k->x->tasks[to].from;
    if (k->rc)
        return;
    if (a == b) {
        add_edge(k, from, to);
        return;
    }
    rlt__task t = {.kind = RLT__TASK_TRANSFER,
                   .op = op,
                   .from = a,
                   .to = b,
                   .bytes = bytes,
                   .time_ps = rlt_cluster_transfer(k->w->cluster, a, b, bytes)};
    uint32_t i = add_task(k, &t);
    add_edge(k, from, i);
    add_edge(k, i, to);
}

/* ---- conversions ---- */

/* S * part / whole, without overflow. */
static uint64_t share_of(uint64_t bytes, uint64_t part, uint64_t whole)
{
    return bytes / whole * part + bytes % whole * part / whole;
}

/* Slices of the batch in units of 1 / (a b): producer i has [i b, (i + 1) b), consumer j [j a, (j + 1) a). */
static void slices(work *k, const rlt_tensor *t, const place *from, const place *to)
{
    uint64_t a = from->n, b = to->n;
    for (uint64_t j = 0; j < b; j++)
        for (uint64_t i = j * a / b; i < a && i * b < (j + 1) * a; i++) {
            uint64_t low = i * b > j * a ? i * b : j * a;
            uint64_t high = (i + 1) * b < (j + 1) * a ? (i + 1) * b : (j + 1) * a;
            pass_on(k, t->src, from->first + (uint32_t)i, to->first + (uint32_t)j,
                    share_of(t->bytes, high - low, a * b));
        }
}

/* Every consumer takes what it needs from its own device, else `bytes` from the first producer. */
static void from_whole(work *k, const rlt_tensor *t, const place *from, const place *to, uint64_t bytes)
{
    for (uint32_t j = 0, i = 0; j < to->n; j++) {
        while (i < from->n && from->devices[i] < to->devices[j]) /* devices ascend */
            i++;
        bool own = i < from->n && from->devices[i] == to->devices[j];
        pass_on(k, t->src, from->first + (own ? i : 0), to->first + j, bytes);
    }
}

static void gather(work *k, const rlt_tensor *t, const place *from, const place *to)
{
    for (uint32_t j = 0; j < to->n; j++)
        for (uint32_t i = 0; i < from->n; i++)
            pass_on(k, t->src, from->first + i, to->first + j, share_of(t->bytes, 1, from->n));
}

static void all_reduce(work *k, const rlt_tensor *t, const place *from, const place *to)
{
    uint32_t placement = k->strategy->actions[k->w->grouping->of_op[t->dst]].placement;
    rlt__task c = {.kind = RLT__TASK_ALL_REDUCE,
                   .op = t->src,
                   .from = placement,
                   .to = RLT_NONE,
                   .bytes = t->bytes,
                   .time_ps = rlt_cluster_all_reduce(k->w->cluster, placement, t->bytes)};
    uint32_t i = add_task(k, &c);
    for (uint32_t r = 0; r < from->n; r++)
        add_edge(k, from->first + r, i);
    for (uint32_t r = 0; r < to->n; r++)
        add_edge(k, i, to->first + r);
}

static void by_server(work *k, const rlt_tensor *t, const place *from, const place *to)
{
    uint32_t server = to->devices[t->dst % to->n];
    rlt__task j = {.kind = RLT__TASK_JOIN, .op = t->src, .from = server, .to = server};
    uint32_t join = add_task(k, &j);
    for (uint32_t r = 0; r < from->n; r++)
        pass_on(k, t->src, from->first + r, join, t->bytes);
    for (uint32_t r = 0; r < to->n; r++)
        pass_on(k, t->src, join, to->first + r, t->bytes);
}

static void add_gradient(work *k, const rlt_tensor *t, const place *from, const place *to)
{
    bool same = from->n == to->n && memcmp(from->devices, to->devices, to->n * sizeof *to->devices) == 0;
    if (same && k->strategy->actions[k->w->grouping->of_op[t->dst]].use == RLT_USE_ALL_REDUCE)
        all_reduce(k, t, from, to);
    else
        by_server(k, t, from, to);
}

static void add_tensor(work *k, const rlt_tensor *t)
{
    place from = place_of(k, t->src), to = place_of(k, t->dst);
    bool same = from.devices == to.devices && from.n == to.n;
    bool splits = to.parts && t->kind == RLT_TENSOR_BATCHED;
    if (!from.parts)
        from_whole(k, t, &from, &to, splits ? share_of(t->bytes, 1, to.n) : t->bytes);
    else if (t->kind == RLT_TENSOR_GRADIENT)
        add_gradient(k, t, &from, &to);
    else if (splits && same)
        for (uint32_t i = 0; i < to.n; i++)
            add_edge(k, from.first + i, to.first + i);
    else if (splits)
        slices(k, t, &from, &to);
    else
        gather(k, t, &from, &to);
}

/* Lists the tasks after each task. */
static void index_edges(work *k)
{
    rlt__execution *x = k->x;
    uint32_t n = x->n_tasks;
    if (k->rc ||
        (k->rc = rlt_grow(&x->next_first, &x->next_first_room, sizeof *x->next_first, (uint64_t)n + 2,
                          MAX_TASKS + 2, "tasks", k->err)) ||
        (k->rc = rlt_grow(&x->next, &x->next_room, sizeof *x->next, (uint64_t)x->n_edges + 1, MAX_TASKS + 2,
                          "dependencies", k->err)))
        return;
    memset(x->next_first, 0, ((size_t)n + 2) * sizeof *x->next_first);
    /* Counts stand two places on, so that filling leaves each start in its place. */
    for (uint32_t e = 0; e < x->n_edges; e++)
        x->next_first[x->edges[2 * e] + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        x->next_first[i] += x->next_first[i - 1];
    for (uint32_t e = 0; e < x->n_edges; e++)
        x->next[x->next_first[x->edges[2 * e] + 1]++] = x->edges[2 * e + 1];
}

static int make_room(rlt__execution *x, const rlt_opgraph *g, const rlt_cluster *c, rlt_error *err)
{
    if (!x->first_task) {
        x->first_task = malloc((size_t)g->n_ops * sizeof *x->first_task);
        x->replicas = malloc((size_t)g->n_ops * sizeof *x->replicas);
        x->bytes = malloc((size_t)c->n_devices * sizeof *x->bytes);
    }
    if (!x->first_task || !x->replicas || !x->bytes)
        return rlt_nomem(err);
    memset(x->bytes, 0, (size_t)c->n_devices * sizeof *x->bytes);
    x->n_tasks = x->n_edges = 0;
    return 0;
}

int rlt__rewrite(const rlt__rewriter *w, const rlt_strategy *s, rlt__execution *x, rlt_error *err)
{
    const rlt_opgraph *g = w->graph;
    work k = {.w = w, .strategy = s, .x = x, .err = err};
    k.rc = make_room(x, g, w->cluster, err);
    for (uint32_t i = 0; i < g->n_ops && !k.rc; i++)
        add_replicas(&k, i);
    for (uint32_t i = 0; i < g->n_tensors && !k.rc; i++)
        add_tensor(&k, &g->tensors[i]);
    index_edges(&k);
    return k.rc;
}

void rlt__execution_free(rlt__execution *x)
{
    free(x->tasks);
    free(x->edges);
    free(x->next_first);
    free(x->next);
    free(x->first_task);
    free(x->replicas);
    free(x->bytes);
    *x = (rlt__execution){0};
}
