/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One minibatch through PipeDream's stages: ranks run the nodes of their stage, messages cross the cuts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/layers.h"
#include "workload/readers/pipedream.h"
#include "workload/readers/pipedream_stages.h"

enum { MAX_OPS = 1 << 26 };

/* Output of a node for another stage. It is sent once and awaited by the first node there that needs it. Its
 * gradient returns when that node, the last one in the backward pass, is done. */
typedef struct crossing {
    uint32_t from, first; /* nodes */
    uint32_t next_from, next_first;
} crossing;

typedef struct maker {
    const rlt_pipedream *d;
    const rlt_layer_table *t;
    const uint32_t *order;
    rlt_builder *b;
    uint32_t copies;
    crossing *crossings;
    uint32_t n, capacity;
    uint32_t *place;              /* by node: its place in the order */
    uint32_t *by_from, *by_first; /* by node: index of its first crossing */
    uint32_t *groups;             /* by stage: the group of its copies */
    rlt_error *err;
    /* The rank being built: */
    uint32_t rank, stage, compute, stream, last;
} maker;

static int find_crossings(maker *m)
{
    const rlt_pipedream *d = m->d;
    rlt_map at = {0};
    int rc = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        m->place[m->order[i]] = i;
        m->by_from[i] = m->by_first[i] = RLT_NONE;
    }
    for (uint32_t i = 0; i < d->n_edges && !rc; i++) {
        uint32_t from = d->edges[i].from, to = d->edges[i].to, stage = d->nodes[to].stage;
        uint64_t key = (uint64_t)from << 32 | stage;
        if (stage == d->nodes[from].stage || d->nodes[from].output_bytes == 0)
            continue;
        uint32_t k = rlt_map_get(&at, key);
        if (k == RLT_NONE) {
            k = m->n;
            rc = rlt_grow(&m->crossings, &m->capacity, sizeof *m->crossings, (uint64_t)m->n + 1, 1 << 22,
                          "messages between stages", m->err);
            if (!rc && rlt_map_put(&at, key, k))
                rc = rlt_nomem(m->err);
            if (rc)
                break;
            m->crossings[m->n++] = (crossing){.from = from, .first = to};
        } else if (m->place[to] < m->place[m->crossings[k].first]) {
            m->crossings[k].first = to;
        }
    }
    for (uint32_t k = m->n; k-- > 0 && !rc;) {
        crossing *c = &m->crossings[k];
        c->next_from = m->by_from[c->from];
        c->next_first = m->by_first[c->first];
        m->by_from[c->from] = m->by_first[c->first] = k;
    }
    rlt_map_free(&at);
    return rc;
}

static uint32_t name_of(maker *m, const char *what, uint32_t node)
{
    char name[256];
    int n = snprintf(name, sizeof name, "%s %.200s", what, m->d->nodes[node].name);
    return rlt_build_string(m->b, name, (size_t)n);
}

static uint32_t message(maker *m, rlt_op_kind kind, const crossing *c, uint32_t stage, bool gradient)
{
    rlt_op_desc d = rlt_op_desc_init(kind, m->rank);
    d.peer = stage * m->copies + m->rank % m->copies;
    d.tag = c->from * 2 + gradient;
    d.bytes = m->d->nodes[c->from].output_bytes;
    d.purpose = RLT_FOR_PP;
    d.name = name_of(m, gradient ? "gradient of" : "output of", c->from);
    return rlt_build_op(m->b, &d);
}

/* Adds the compute of a node, after that of the node before. */
static uint32_t compute(maker *m, const char *what, uint32_t node, rlt_time time_ps)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, m->rank);
    d.resource = m->compute;
    d.duration_ps = time_ps;
    d.name = name_of(m, what, node);
    uint32_t op = rlt_build_op(m->b, &d);
    if (m->last != RLT_NONE)
        rlt_build_dep(m->b, op, m->last);
    m->last = op;
    return op;
}

static void forward(maker *m, uint32_t node)
{
    const rlt_pipedream *d = m->d;
    uint32_t op = compute(m, "forward", node, d->nodes[node].forward_ps);
    for (uint32_t k = m->by_first[node]; k != RLT_NONE; k = m->crossings[k].next_first) {
        const crossing *c = &m->crossings[k];
        rlt_build_dep(m->b, op, message(m, RLT_OP_RECV, c, d->nodes[c->from].stage, false));
    }
    for (uint32_t k = m->by_from[node]; k != RLT_NONE; k = m->crossings[k].next_from) {
        const crossing *c = &m->crossings[k];
        rlt_build_dep(m->b, message(m, RLT_OP_SEND, c, d->nodes[c->first].stage, false), op);
    }
}

static void reduce(maker *m, uint32_t node, uint32_t after)
{
    uint64_t bytes = m->d->nodes[node].parameter_bytes;
    if (bytes == 0 || m->copies < 2)
        return;
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, m->rank);
    d.resource = m->stream;
    d.coll = RLT_ALL_REDUCE;
    d.group = m->groups[m->stage];
    d.purpose = RLT_FOR_DP;
    d.bytes = bytes;
    d.name = name_of(m, "parameters of", node);
    rlt_build_dep(m->b, rlt_build_op(m->b, &d), after);
}

static void backward(maker *m, uint32_t node)
{
    const rlt_pipedream *d = m->d;
    uint32_t op = compute(m, "backward", node, d->nodes[node].backward_ps);
    for (uint32_t k = m->by_from[node]; k != RLT_NONE; k = m->crossings[k].next_from) {
        const crossing *c = &m->crossings[k];
        if (!d->nodes[node].input)
            rlt_build_dep(m->b, op, message(m, RLT_OP_RECV, c, d->nodes[c->first].stage, true));
    }
    for (uint32_t k = m->by_first[node]; k != RLT_NONE; k = m->crossings[k].next_first) {
        const crossing *c = &m->crossings[k];
        if (!d->nodes[c->from].input)
            rlt_build_dep(m->b, message(m, RLT_OP_SEND, c, d->nodes[c->from].stage, true), op);
    }
    reduce(m, node, op);
}

static void make_rank(maker *m, uint32_t rank)
{
    const rlt_pipedream *d = m->d;
    m->rank = rank;
    m->stage = rank / m->copies;
    m->last = RLT_NONE;
    m->compute = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "compute");
    m->stream = m->copies > 1 ? rlt_build_resource(m->b, rank, RLT_RES_STREAM, "communication") : RLT_NONE;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->nodes[m->order[i]].stage == m->stage)
            forward(m, m->order[i]);
    for (uint32_t i = d->n; i-- > 0;)
        if (d->nodes[m->order[i]].stage == m->stage)
            backward(m, m->order[i]);
}

static int make_groups(maker *m)
{
    uint32_t *members = malloc((size_t)m->copies * sizeof *members);
    m->groups = malloc((size_t)m->d->stages * sizeof *m->groups);
    if (!members || !m->groups) {
        free(members);
        return rlt_nomem(m->err);
    }
    for (uint32_t s = 0; s < m->d->stages; s++) {
        char label[32];
        for (uint32_t i = 0; i < m->copies; i++)
            members[i] = s * m->copies + i;
        snprintf(label, sizeof label, "stage %" PRIu32, s);
        m->groups[s] = m->copies > 1 ? rlt_build_group(m->b, label, members, m->copies) : RLT_NONE;
    }
    free(members);
    return 0;
}

static int make(maker *m)
{
    size_t n = m->d->n;
    m->place = malloc(n * sizeof *m->place);
    m->by_from = malloc(n * sizeof *m->by_from);
    m->by_first = malloc(n * sizeof *m->by_first);
    int rc = m->place && m->by_from && m->by_first ? find_crossings(m) : rlt_nomem(m->err);
    if (!rc)
        rc = make_groups(m);
    for (uint32_t r = 0; r < m->t->ranks && !rc && !rlt_build_failed(m->b); r++)
        make_rank(m, r);
    free(m->crossings);
    free(m->place);
    free(m->by_from);
    free(m->by_first);
    free(m->groups);
    return rc;
}

int rlt__pipedream_stages(const rlt_pipedream *d, const uint32_t *order, const rlt_layer_table *t,
                          uint64_t hash, rlt_program **out, rlt_error *err)
{
    maker m = {.d = d, .t = t, .order = order, .copies = t->ranks / d->stages, .err = err};
    rlt_error own = {0};
    if ((uint64_t)m.copies * (3 * (uint64_t)d->n + 4 * (uint64_t)d->n_edges) > MAX_OPS ||
        (uint64_t)t->ranks * d->n > UINT64_C(1) << 28)
        return rlt_fail(err, RLT_ERANGE, t->file,
                        "%" PRIu32 " nodes on %" PRIu32 " ranks exceed %d operations", d->n, t->ranks,
                        MAX_OPS);
    int rc = rlt_builder_create(t->ranks, &m.b, err);
    if (rc)
        return rc;
    if ((rc = make(&m))) {
        rlt_builder_free(m.b);
        return rc;
    }
    for (uint32_t i = 0; i < t->n_notes; i++)
        rlt_build_note(m.b, t->notes[i].count, "%s", t->notes[i].text);
    rlt_build_hash(m.b, hash);
    rlt_build_layers(m.b, d->n);
    rc = rlt_builder_finish(m.b, "pipedream", out, &own);
    if (rc && err && !err->code) {
        rlt_error_prefix(&own, t->file);
        *err = own;
    }
    return rc;
}
