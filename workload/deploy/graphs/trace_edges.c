/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dependencies between the operators of a trace, and its gradients. */
#include <stdbool.h>
#include <stdint.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"

enum { MAX_ITEMS = 1 << 27 };
#define MAX_BYTES ((uint64_t)1 << 62)

/* ---- dependencies ---- */

bool rlt__trace_is_operator(const rlt_trace_maker *m, uint32_t op)
{
    const rlt_trace_node *x = &m->nodes[op];
    return x->role == RLT_TRACE_DEVICE && (m->updates || x->pass != RLT_OPERATOR_UPDATE);
}

/* Returns the stream in whose order an operation stands, or RLT_NONE. */
static uint32_t stream_of(const rlt_trace_maker *m, uint32_t op)
{
    return m->recording && m->nodes[op].role == RLT_TRACE_DEVICE ? m->p->ops[op].resource : RLT_NONE;
}

/* Meets an operation. Of a stream, the last one is enough. `by`: the operation that waits, plus one. */
static int meet(rlt_trace_maker *m, uint32_t op, uint32_t by)
{
    uint32_t stream = stream_of(m, op);
    if (m->nodes[op].mark == by)
        return 0;
    m->nodes[op].mark = by;
    if (stream != RLT_NONE && m->stamp[stream] == by) {
        uint32_t *held = &m->met[m->slot[stream]];
        *held = m->nodes[op].place > m->nodes[*held].place ? op : *held;
        return 0;
    }
    int rc = rlt_grow(&m->met, &m->met_room, sizeof *m->met, (uint64_t)m->n_met + 1, MAX_ITEMS,
                      "dependencies", m->err);
    if (rc)
        return rc;
    if (stream != RLT_NONE) {
        m->stamp[stream] = by;
        m->slot[stream] = m->n_met;
    }
    m->met[m->n_met++] = op;
    return 0;
}

/* Collects what an operation waits for. */
static int collect(rlt_trace_maker *m, uint32_t op)
{
    const rlt_op *o = &m->p->ops[op];
    uint32_t stream = stream_of(m, op);
    int rc = 0;
    m->n_met = 0;
    for (uint32_t d = 0; d < o->n_deps && !rc; d++) {
        uint32_t on = m->p->deps[o->first_dep + d];
        const rlt_trace_node *x = &m->nodes[on];
        if (rlt__trace_is_operator(m, on))
            rc = meet(m, on, op + 1);
        for (uint32_t i = 0; i < x->n && !rlt__trace_is_operator(m, on) && !rc; i++)
            rc = meet(m, m->items[x->first + i], op + 1);
    }
    if (!rc && rlt__trace_is_operator(m, op) && stream != RLT_NONE && m->last[stream] != RLT_NONE)
        rc = meet(m, m->last[stream], op + 1);
    return rc;
}

/* Keeps the list of what an operation that vanishes waited for, for those who wait for it. */
static int keep(rlt_trace_maker *m, uint32_t op)
{
    rlt_trace_node *x = &m->nodes[op];
    bool itself = x->role == RLT_TRACE_GRADIENT && !m->recording;
    int rc = rlt_grow(&m->items, &m->items_room, sizeof *m->items, (uint64_t)m->n_items + m->n_met + 1,
                      MAX_ITEMS, "dependencies", m->err);
    if (rc)
        return rc;
    x->first = m->n_items;
    for (uint32_t i = 0; i < m->n_met; i++) {
        rlt_trace_node *y = &m->nodes[m->met[i]];
        if (y->role == RLT_TRACE_GRADIENT && x->role == RLT_TRACE_DEVICE) { /* an update */
            y->update = op;
            y->waiters++;
            x->waiters++;
        } else
            m->items[m->n_items++] = m->met[i];
    }
    if (itself)
        m->items[m->n_items++] = op;
    x->n = m->n_items - x->first;
    return 0;
}

static int add_edge(rlt_trace_maker *m, uint32_t from, uint32_t to)
{
    int rc = rlt_grow(&m->edges, &m->edges_room, sizeof *m->edges, (uint64_t)m->n_edges + 1, RLT_MAX_TENSORS,
                      "tensors", m->err);
    if (!rc)
        m->edges[m->n_edges++] = (rlt_trace_edge){from, to};
    return rc;
}

/* Adds the edges into an operator. A stream waits once for a place of another. */
static int add_edges(rlt_trace_maker *m, uint32_t op)
{
    uint32_t stream = stream_of(m, op);
    int rc = 0;
    for (uint32_t i = 0; i < m->n_met && !rc; i++) {
        uint32_t on = m->met[i], other = stream_of(m, on);
        rlt_trace_node *y = &m->nodes[on];
        if (y->role == RLT_TRACE_GRADIENT) {
            y->held_up = true;
            continue;
        }
        if (stream != RLT_NONE && other != RLT_NONE && stream != other) {
            uint64_t key = (uint64_t)stream << 32 | other;
            uint32_t seen = rlt_map_get(&m->seen, key);
            if (seen != RLT_NONE && seen >= y->place)
                continue;
            if (rlt_map_put(&m->seen, key, y->place))
                return rlt_nomem(m->err);
        }
        rc = add_edge(m, on, op);
    }
    if (stream != RLT_NONE)
        m->last[stream] = op;
    return rc;
}

int rlt__trace_edges(rlt_trace_maker *m)
{
    const rlt_program *p = m->p;
    int rc = 0;
    rlt_map_free(&m->seen);
    m->n_edges = m->n_items = 0;
    for (uint32_t r = 0; r < p->n_resources; r++) {
        m->last[r] = RLT_NONE;
        m->stamp[r] = 0;
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        rlt_trace_node *x = &m->nodes[i];
        x->first = x->n = x->mark = x->waiters = 0;
        x->held_up = false;
        if (p->ops[i].comm != RLT_NONE && p->ops[i].step == m->step && !m->updates) {
            rlt_coll_kind kind = p->comms[p->ops[i].comm].kind;
            x->role =
                kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER ? RLT_TRACE_GRADIENT : RLT_TRACE_GONE;
        }
    }
    for (uint32_t k = 0; k < p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        if (p->ops[op].step != m->step)
            continue;
        if (!(rc = collect(m, op)))
            rc = rlt__trace_is_operator(m, op) ? add_edges(m, op) : keep(m, op);
    }
    return rc;
}

/* ---- gradients ---- */

static int add_gradient(rlt_trace_maker *m, uint32_t op, uint32_t producer, uint64_t bytes)
{
    const rlt_trace_node *x = &m->nodes[op];
    if (bytes == 0)
        return 0;
    if (bytes > MAX_BYTES - m->bytes)
        return rlt_fail(m->err, RLT_ERANGE, rlt__trace_name(m, op),
                        "the reductions of gradients sum to more than 2^62 bytes");
    m->bytes += bytes;
    int rc = rlt_grow(&m->gradients, &m->gradients_room, sizeof *m->gradients, (uint64_t)m->n_gradients + 1,
                      RLT_MAX_OPERATORS, "gradients", m->err);
    if (!rc)
        m->gradients[m->n_gradients++] =
            (rlt_trace_gradient){producer, x->waiters == 1 ? x->update : RLT_NONE, bytes};
    return rc;
}

/* Adds the gradients of a reduction: one for each backward operator before it; in a recording, for the last
 * one. before: the operator before it in the order. *some: whether there is one. */
static int add_gradients(rlt_trace_maker *m, uint32_t op, uint32_t before, bool *some)
{
    const rlt_trace_node *x = &m->nodes[op];
    uint64_t bytes = m->p->comms[m->p->ops[op].comm].bytes;
    uint32_t n = 0, last = RLT_NONE, k = 0;
    int rc = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t on = m->items[x->first + i];
        if (!rlt__trace_is_operator(m, on) || m->nodes[on].pass != RLT_OPERATOR_BACKWARD)
            continue;
        n++;
        last = last == RLT_NONE || m->nodes[on].place > m->nodes[last].place ? on : last;
    }
    if (n == 0 && m->recording && before != RLT_NONE && m->nodes[before].pass == RLT_OPERATOR_BACKWARD) {
        n = 1; /* the wait is not recorded */
        last = before;
    }
    *some = n && bytes && !x->held_up;
    if (*some && m->recording)
        return add_gradient(m, op, last, bytes);
    for (uint32_t i = 0; i < x->n && *some && !rc; i++) {
        uint32_t on = m->items[x->first + i];
        if (rlt__trace_is_operator(m, on) && m->nodes[on].pass == RLT_OPERATOR_BACKWARD) {
            rc = add_gradient(m, op, on, bytes / n + (k < bytes % n));
            k++;
        }
    }
    return rc;
}

int rlt__trace_gradients(rlt_trace_maker *m)
{
    const rlt_program *p = m->p;
    uint32_t before = RLT_NONE;
    int rc = 0;
    for (uint32_t k = 0; k < p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        bool some = false;
        if (rlt__trace_is_operator(m, op))
            before = op;
        if (p->ops[op].step != m->step || p->ops[op].comm == RLT_NONE)
            continue;
        if (m->nodes[op].role == RLT_TRACE_GRADIENT)
            rc = add_gradients(m, op, before, &some);
        m->other += !some;
        m->other_bytes += some ? 0 : p->comms[p->ops[op].comm].bytes;
    }
    return rc;
}

/* ---- one piece ---- */

static uint32_t find_root(rlt_trace_maker *m, uint32_t i)
{
    while (m->nodes[i].root != i)
        i = m->nodes[i].root = m->nodes[m->nodes[i].root].root;
    return i;
}

int rlt__trace_join(rlt_trace_maker *m)
{
    uint32_t before = RLT_NONE, n = m->n_edges;
    int rc = 0;
    for (uint32_t i = 0; i < m->p->n_ops; i++)
        m->nodes[i].root = i;
    for (uint32_t e = 0; e < n; e++)
        m->nodes[find_root(m, m->edges[e].to)].root = find_root(m, m->edges[e].from);
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        if (!rlt__trace_is_operator(m, op))
            continue;
        if (before != RLT_NONE && find_root(m, op) != find_root(m, before)) {
            m->joined++;
            rc = add_edge(m, before, op);
            m->nodes[find_root(m, op)].root = find_root(m, before);
        }
        before = op;
    }
    return rc;
}
