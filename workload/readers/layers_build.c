/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a program from a table of layers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/layers.h"

#define MAX_TOTAL_BYTES (UINT64_C(1) << 56)
enum { PS_PER_NS = 1000, MAX_OPS = 1 << 26 };

typedef struct maker {
    const rlt_layer_table *t;
    rlt_builder *b;
    uint32_t *groups[RLT_OVER_SCOPES]; /* by scope, then by rank */
    uint32_t size[RLT_OVER_SCOPES], stride[RLT_OVER_SCOPES];
    bool serial;
    const rlt_read_fold *fold;          /* NULL: all ranks are built */
    uint32_t *members[RLT_OVER_SCOPES]; /* folded: the group of rank 0 */
    uint64_t unused;                    /* communications over groups of one rank */
    /* The rank being built: */
    uint32_t rank, compute, stream[RLT_OVER_SCOPES];
    uint32_t last;     /* compute that the next one follows */
    uint32_t held[2];  /* communications that the next compute waits for; RLT_NONE: none */
    uint32_t *reduced; /* by layer: communication of its weight gradient */
} maker;

static const char *const scope_names[] = {"none", "all", "model", "data", "expert", "data-expert"};

static int set_sizes(maker *m, rlt_error *err)
{
    const rlt_layer_table *t = m->t;
    uint64_t per_stage = t->ranks / t->stages, data = per_stage / t->model;
    if (data * t->model * t->stages != t->ranks || data % t->expert)
        return rlt_fail(err, RLT_ESCHEMA, t->file,
                        "%" PRIu32 " ranks do not divide into %" PRIu32 " stages, model groups of %" PRIu32
                        " and expert groups of %" PRIu32,
                        t->ranks, t->stages, t->model, t->expert);
    const uint32_t size[] = {1, t->ranks, t->model, (uint32_t)data, t->expert, (uint32_t)data / t->expert};
    const uint32_t stride[] = {1, 1, 1, t->model, t->model, t->model * t->expert};
    for (uint32_t s = 0; s < RLT_OVER_SCOPES; s++) {
        m->size[s] = size[s];
        m->stride[s] = stride[s];
    }
    if ((uint64_t)(m->fold ? 1 : t->ranks) * (t->n * UINT64_C(8) + 1) > MAX_OPS)
        return rlt_fail(err, RLT_ERANGE, t->file,
                        "%" PRIu32 " layers on %" PRIu32 " ranks exceed %d operations; run --fold simulates "
                        "identical ranks once",
                        t->n, t->ranks, MAX_OPS);
    return 0;
}

static bool used(const rlt_layer_table *t, uint32_t scope)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t p = 0; p < 3; p++)
            if (t->layers[i].comm[p].any && t->layers[i].comm[p].scope == scope)
                return true;
    return false;
}

/* Makes all groups of a scope, each at its first rank. */
static int make_groups(maker *m, uint32_t scope, rlt_error *err)
{
    uint32_t n = m->size[scope], stride = m->stride[scope], ranks = m->t->ranks;
    uint32_t *members = malloc((size_t)n * sizeof *members), *of = malloc((size_t)ranks * sizeof *of);
    m->groups[scope] = of;
    if (!members || !of) {
        free(members);
        return rlt_nomem(err);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        char label[48];
        if (r / stride % n != 0)
            continue;
        for (uint32_t k = 0; k < n; k++)
            members[k] = r + k * stride;
        snprintf(label, sizeof label, "%s %" PRIu32, scope_names[scope], r);
        uint32_t group = rlt_build_group(m->b, label, members, n);
        for (uint32_t k = 0; k < n; k++)
            of[members[k]] = group;
    }
    free(members);
    return 0;
}

/* Lists the group of rank 0. */
static int list_members(maker *m, uint32_t scope, rlt_error *err)
{
    m->members[scope] = malloc((size_t)m->size[scope] * sizeof *m->members[scope]);
    for (uint32_t k = 0; k < m->size[scope] && m->members[scope]; k++)
        m->members[scope][k] = k * m->stride[scope];
    return m->members[scope] ? 0 : rlt_nomem(err);
}

static uint32_t name_of(maker *m, const rlt_layer *l, const char *what)
{
    char name[256];
    int n = snprintf(name, sizeof name, "%s %.200s", what, rlt_interned(&m->t->names, l->name));
    return rlt_build_string(m->b, name, (size_t)n);
}

static void hold(maker *m, uint32_t op)
{
    if (m->held[0] == RLT_NONE)
        m->held[0] = op;
    else
        m->held[1] = op;
}

static void follow(maker *m, uint32_t op)
{
    if (m->last != RLT_NONE)
        rlt_build_dep(m->b, op, m->last);
}

/* Makes an operation follow the last compute and the communications that hold it up. */
static void follow_held(maker *m, uint32_t op)
{
    follow(m, op);
    for (int i = 0; i < 2; i++)
        if (m->held[i] != RLT_NONE)
            rlt_build_dep(m->b, op, m->held[i]);
}

/* Adds compute, after the last one and the communications that hold it up. Adds none if it takes no time. */
static uint32_t compute(maker *m, const rlt_layer *l, const char *what, uint64_t ns)
{
    if (ns == 0)
        return RLT_NONE;
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, m->rank);
    d.resource = m->compute;
    d.duration_ps = (rlt_time)ns * PS_PER_NS;
    d.name = name_of(m, l, what);
    uint32_t op = rlt_build_op(m->b, &d);
    follow_held(m, op);
    m->held[0] = m->held[1] = RLT_NONE;
    m->last = op;
    return op;
}

/* Adds the communication of a phase, after the latest compute and the communications that hold that up.
 * RLT_NONE: none. */
static uint32_t communicate(maker *m, const rlt_layer *l, rlt_layer_phase phase, const char *what)
{
    const rlt_layer_comm *c = &l->comm[phase];
    uint32_t n = m->size[c->scope];
    uint64_t bytes = c->bytes;
    rlt_error err = {0};
    if (!c->any)
        return RLT_NONE;
    if (n < 2) {
        m->unused += m->rank == 0;
        return RLT_NONE;
    }
    if (c->kind == RLT_ALL_GATHER && m->t->gathers_shares)
        bytes = bytes > MAX_TOTAL_BYTES / n ? MAX_TOTAL_BYTES + 1 : bytes * n;
    if (bytes > MAX_TOTAL_BYTES) {
        (void)rlt__layer_fail(m->t, l->line, RLT_ERANGE, &err, "more than 2^56 bytes over %" PRIu32 " ranks",
                              n);
        rlt_build_fail(m->b, &err);
        return RLT_NONE;
    }
    rlt_op_desc d = rlt_op_desc_init(m->fold ? RLT_OP_DELAY : RLT_OP_COLLECTIVE, m->rank);
    d.resource = m->stream[m->serial ? 0 : c->scope];
    d.purpose = c->scope == RLT_OVER_MODEL ? RLT_FOR_TP : RLT_FOR_UNKNOWN;
    if (m->fold) {
        rlt_read_collective alone = {m->members[c->scope], n, (rlt_coll_kind)c->kind, bytes};
        if (m->fold->duration(m->fold->ctx, &alone, &d.duration_ps, &err)) {
            rlt_build_fail(m->b, &err);
            return RLT_NONE;
        }
        d.purpose = c->scope == RLT_OVER_MODEL    ? RLT_FOR_TP
                    : c->scope == RLT_OVER_EXPERT ? RLT_FOR_EP
                                                  : RLT_FOR_DP;
    } else {
        d.coll = (rlt_coll_kind)c->kind;
        d.group = m->groups[c->scope][m->rank];
        d.bytes = bytes;
    }
    d.name = name_of(m, l, what);
    uint32_t op = rlt_build_op(m->b, &d);
    follow_held(m, op);
    return op;
}

static void blocking(maker *m, const rlt_layer *l, rlt_layer_phase phase, const char *what)
{
    uint32_t op = communicate(m, l, phase, what);
    if (op != RLT_NONE) {
        m->held[0] = op; /* it follows the earlier ones */
        m->held[1] = RLT_NONE;
    }
}

static void forward(maker *m, const char *what, const char *exchange, uint32_t from, uint32_t to)
{
    const rlt_layer_table *t = m->t;
    uint32_t early = RLT_NONE;
    for (uint32_t i = from; i < to; i++) {
        const rlt_layer *l = &t->layers[i];
        (void)compute(m, l, what, l->compute_ns[RLT_FORWARD]);
        if (i == 0 && t->late != RLT_NONE)
            early = communicate(m, l, RLT_FORWARD, exchange);
        else
            blocking(m, l, RLT_FORWARD, exchange);
        if (i == t->late && early != RLT_NONE) {
            hold(m, early);
            early = RLT_NONE;
        }
    }
    if (early != RLT_NONE)
        hold(m, early);
}

static void weight_gradient(maker *m, uint32_t i)
{
    const rlt_layer *l = &m->t->layers[i];
    (void)compute(m, l, "weight gradient", l->compute_ns[RLT_WEIGHT_GRADIENT]);
    m->reduced[i] = communicate(m, l, RLT_WEIGHT_GRADIENT, "weight gradient of");
}

static void input_gradient(maker *m, uint32_t i, uint32_t *early)
{
    const rlt_layer *l = &m->t->layers[i];
    bool late = m->t->late != RLT_NONE;
    (void)compute(m, l, "input gradient", l->compute_ns[RLT_INPUT_GRADIENT]);
    if (i > 0 || !late)
        blocking(m, l, RLT_INPUT_GRADIENT, "input gradient of");
    else if (*early == RLT_NONE)
        *early = communicate(m, l, RLT_INPUT_GRADIENT, "input gradient of");
    /* The embedding's gradients are sent as soon as the layers above the bottom ones have computed them. */
    if (late && i == m->t->late + 1 && i > 0)
        *early = communicate(m, &m->t->layers[0], RLT_INPUT_GRADIENT, "input gradient of");
}

uint32_t rlt__layer_repeats(const rlt_layer_table *t, uint32_t i)
{
    uint32_t from = i;
    while (t->layers[i].recompute && from > 0 && !t->layers[from].checkpoint)
        from--;
    return from;
}

static void backward(maker *m)
{
    const rlt_layer_table *t = m->t;
    uint32_t early = RLT_NONE;
    for (uint32_t i = t->n; i-- > 0;) {
        forward(m, "recompute", "recompute of", rlt__layer_repeats(t, i), i);
        if (i == 0 && early != RLT_NONE)
            hold(m, early);
        if (!t->input_first)
            weight_gradient(m, i);
        input_gradient(m, i, &early);
        if (t->input_first)
            weight_gradient(m, i);
    }
}

static void update(maker *m)
{
    for (uint32_t i = m->t->n; i-- > 0;) {
        const rlt_layer *l = &m->t->layers[i];
        uint32_t op = compute(m, l, "update", l->update_ns);
        if (op != RLT_NONE && m->reduced[i] != RLT_NONE)
            rlt_build_dep(m->b, op, m->reduced[i]);
    }
}

static void make_rank(maker *m, uint32_t rank)
{
    m->rank = rank;
    m->last = m->held[0] = m->held[1] = RLT_NONE;
    m->compute = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "compute");
    for (uint32_t s = 0; s < RLT_OVER_SCOPES; s++) {
        char name[48];
        snprintf(name, sizeof name, "communication %s", scope_names[s]);
        if (m->serial ? s == 0 : m->groups[s] || m->members[s])
            m->stream[s] = rlt_build_resource(m->b, rank, m->serial ? RLT_RES_NETWORK : RLT_RES_STREAM,
                                              m->serial ? "network" : name);
    }
    forward(m, "forward", "output of", 0, m->t->n);
    backward(m);
    update(m);
}

static void make_notes(maker *m)
{
    const rlt_layer_table *t = m->t;
    for (uint32_t i = 0; i < t->n_notes; i++)
        rlt_build_note(m->b, t->notes[i].count, "%s", t->notes[i].text);
    if (m->fold)
        rlt_build_note(
            m->b, t->ranks,
            "identical ranks, of which rank 0 is simulated: a collective takes its time on an idle "
            "network");
    if (m->unused)
        rlt_build_note(m->b, m->unused, "communication over groups of one rank: left out");
}

static int make(maker *m, rlt_error *err)
{
    const rlt_layer_table *t = m->t;
    int rc = 0;
    for (uint32_t s = RLT_OVER_ALL; s < RLT_OVER_SCOPES && !rc; s++)
        if (m->size[s] > 1 && used(t, s))
            rc = m->fold ? list_members(m, s, err) : make_groups(m, s, err);
    m->reduced = malloc(((size_t)t->n + 1) * sizeof *m->reduced);
    if (!rc && !m->reduced)
        rc = rlt_nomem(err);
    for (uint32_t r = 0; r < (m->fold ? 1 : t->ranks) && !rc && !rlt_build_failed(m->b); r++)
        make_rank(m, r);
    if (!rc)
        make_notes(m);
    for (uint32_t s = 0; s < RLT_OVER_SCOPES; s++) {
        free(m->groups[s]);
        free(m->members[s]);
    }
    free(m->reduced);
    return rc;
}

int rlt__layers_build(const rlt_layer_table *t, const rlt_read_options *opts, const char *reader,
                      uint64_t hash, rlt_program **out, rlt_error *err)
{
    maker m = {.t = t, .serial = opts->serial_communication, .fold = opts->fold};
    rlt_error own = {0};
    int rc = set_sizes(&m, err);
    if (rc || (rc = rlt_builder_create(m.fold ? 1 : t->ranks, &m.b, err)))
        return rc;
    if ((rc = make(&m, err))) {
        rlt_builder_free(m.b);
        return rc;
    }
    rlt_build_hash(m.b, hash);
    rlt_build_layers(m.b, t->n);
    rc = rlt_builder_finish(m.b, reader, out, &own);
    if (rc && err && !err->code) {
        if (!strstr(own.where, t->file))
            rlt_error_prefix(&own, t->file);
        *err = own;
    }
    return rc;
}
