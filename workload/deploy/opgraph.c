/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects an operator graph, checks and freezes it. */
#include "workload/deploy/opgraph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define MAX_SUM ((uint64_t)1 << 62)

typedef struct rlt_opgraph_store {
    rlt_opgraph graph;
    rlt_arena arena; /* everything but the two arrays below */
    rlt_operator *ops;
    rlt_tensor *tensors;
} rlt_opgraph_store;

struct rlt_opgraph_builder {
    rlt_opgraph_store *store;
    uint32_t n_ops, ops_room, n_tensors, tensors_room;
    rlt_error error;
};

int rlt_opgraph_begin(const char *name, rlt_opgraph_builder **out, rlt_error *err)
{
    *out = NULL;
    rlt_opgraph_builder *b = calloc(1, sizeof *b);
    rlt_opgraph_store *s = calloc(1, sizeof *s);
    if (!b || !s) {
        free(b);
        free(s);
        return rlt_nomem(err);
    }
    size_t length = strlen(name);
    if (length >= sizeof s->graph.name)
        length = sizeof s->graph.name - 1;
    memcpy(s->graph.name, name, length);
    s->graph.store = s;
    b->store = s;
    *out = b;
    return 0;
}

void rlt_opgraph_free(rlt_opgraph *g)
{
    if (!g)
        return;
    rlt_opgraph_store *s = g->store;
    rlt_arena_free(&s->arena);
    free(s->ops);
    free(s->tensors);
    free(s);
}

void rlt_opgraph_drop(rlt_opgraph_builder *b)
{
    if (!b)
        return;
    if (b->store)
        rlt_opgraph_free(&b->store->graph);
    free(b);
}

void rlt_opgraph_batch(rlt_opgraph_builder *b, uint32_t samples)
{
    b->store->graph.batch = samples;
}

void rlt_opgraph_unsized(rlt_opgraph_builder *b)
{
    b->store->graph.unsized = true;
}

static const char *copy_text(rlt_opgraph_builder *b, const char *s)
{
    char *copy = rlt_arena_strdup(&b->store->arena, s ? s : "");
    if (!copy && !b->error.code)
        (void)rlt_nomem(&b->error);
    return copy;
}

uint32_t rlt_opgraph_op(rlt_opgraph_builder *b, const rlt_operator *op)
{
    rlt_opgraph_store *s = b->store;
    if (b->error.code || rlt_grow(&s->ops, &b->ops_room, sizeof *s->ops, (uint64_t)b->n_ops + 1,
                                  RLT_MAX_OPERATORS, "operators", &b->error) < 0)
        return RLT_NONE;
    rlt_operator *o = &s->ops[b->n_ops];
    *o = *op;
    o->name = copy_text(b, op->name);
    o->kind = copy_text(b, op->kind);
    if (o->time_ps < 0 || o->launch_ps < 0 || o->time_ps >= RLT_TIME_MAX || o->launch_ps >= RLT_TIME_MAX)
        (void)rlt_fail(&b->error, RLT_ERANGE, op->name, "a time below 0 or beyond the clock's range");
    return b->error.code ? RLT_NONE : b->n_ops++;
}

void rlt_opgraph_tensor(rlt_opgraph_builder *b, const rlt_tensor *t)
{
    rlt_opgraph_store *s = b->store;
    if (b->error.code || rlt_grow(&s->tensors, &b->tensors_room, sizeof *s->tensors,
                                  (uint64_t)b->n_tensors + 1, RLT_MAX_TENSORS, "tensors", &b->error) < 0)
        return;
    s->tensors[b->n_tensors++] = *t;
}

/* Checks the ends of the tensors and what operators refer to. */
static int check_references(rlt_opgraph_builder *b, rlt_error *err)
{
    const rlt_opgraph_store *s = b->store;
    for (uint32_t i = 0; i < b->n_tensors; i++) {
        const rlt_tensor *t = &s->tensors[i];
        if (t->src >= b->n_ops || t->dst >= b->n_ops)
            return rlt_fail(err, RLT_EMALFORMED, s->graph.name,
                            "a tensor from operator %u to %u, but there are only %u operators", t->src,
                            t->dst, b->n_ops);
        if (t->src == t->dst)
            return rlt_fail(err, RLT_EMALFORMED, s->graph.name, "operator '%s' feeds itself",
                            s->ops[t->src].name);
    }
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const rlt_operator *o = &s->ops[i];
        if (o->forward >= b->n_ops)
            return rlt_fail(err, RLT_EMALFORMED, s->graph.name,
                            "operator '%s' belongs to a forward operator that does not exist", o->name);
        if (o->together != RLT_NONE && o->together >= b->n_ops)
            return rlt_fail(
                err, RLT_EMALFORMED, s->graph.name,
                "operators that stand together have number %u, where less than %u is possible: '%s'",
                o->together, b->n_ops, o->name);
    }
    return 0;
}

/* Adds up times and sizes. */
static int total(rlt_opgraph_builder *b, rlt_error *err)
{
    rlt_opgraph *g = &b->store->graph;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const rlt_operator *o = &b->store->ops[i];
        rlt_time *sum = o->pass == RLT_OPERATOR_FORWARD    ? &g->forward_ps
                        : o->pass == RLT_OPERATOR_BACKWARD ? &g->backward_ps
                                                           : &g->update_ps;
        *sum = rlt_time_add(*sum, o->time_ps);
        if (o->pass == RLT_OPERATOR_FORWARD)
            g->parameter_bytes += o->parameter_bytes;
        if (o->parameter_bytes >= MAX_SUM || o->kept_bytes >= MAX_SUM ||
            (bytes += o->parameter_bytes + o->kept_bytes) >= MAX_SUM)
            return rlt_fail(err, RLT_ERANGE, o->name,
                            "the sizes of the operators sum to more than 2^62 bytes");
    }
    for (uint32_t i = 0; i < b->n_tensors; i++) {
        const rlt_tensor *t = &b->store->tensors[i];
        if (t->bytes >= MAX_SUM || (bytes += t->bytes) >= MAX_SUM)
            return rlt_fail(err, RLT_ERANGE, b->store->ops[t->src].name,
                            "the sizes of the tensors sum to more than 2^62 bytes");
    }
    if (rlt_time_add(rlt_time_add(g->forward_ps, g->backward_ps), g->update_ps) >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, g->name, "the operators' times sum to more than the clock's range");
    if (g->forward_ps == 0 && g->backward_ps == 0)
        return rlt_fail(err, RLT_EMALFORMED, g->name,
                        "no operator has a time: expected a profile with compute times");
    return 0;
}

/* Sorts tensors by source, stably, and lists those into each operator. */
static int index_tensors(rlt_opgraph_builder *b, rlt_error *err)
{
    rlt_opgraph_store *s = b->store;
    uint32_t n = b->n_ops, m = b->n_tensors;
    uint32_t *out_first = rlt_arena_array(&s->arena, (size_t)n + 1, sizeof *out_first);
    uint32_t *in_first = rlt_arena_array(&s->arena, (size_t)n + 1, sizeof *in_first);
    uint32_t *in = rlt_arena_array(&s->arena, (size_t)m + 1, sizeof *in);
    uint32_t *at = rlt_arena_array(&s->arena, (size_t)n + 1, sizeof *at);
    rlt_tensor *sorted = rlt_arena_array(&s->arena, (size_t)m + 1, sizeof *sorted);
    if (!out_first || !in_first || !in || !at || !sorted)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < m; i++) {
        out_first[s->tensors[i].src + 1]++;
        in_first[s->tensors[i].dst + 1]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        out_first[i + 1] += out_first[i];
        in_first[i + 1] += in_first[i];
    }
    memcpy(at, out_first, (size_t)n * sizeof *at);
    for (uint32_t i = 0; i < m; i++)
        sorted[at[s->tensors[i].src]++] = s->tensors[i];
    memcpy(at, in_first, (size_t)n * sizeof *at);
    for (uint32_t i = 0; i < m; i++)
        in[at[sorted[i].dst]++] = i;
    s->graph.tensors = sorted;
    s->graph.out_first = out_first;
    s->graph.in_first = in_first;
    s->graph.in = in;
    return 0;
}

static bool sooner(const rlt_opgraph *g, const uint32_t *a, const uint32_t *b)
{
    (void)g;
    return *a < *b;
}
RLT_HEAP(ready, uint32_t, rlt_opgraph, sooner)

/* Finds the topological order. An operator that is never ready is on a cycle, or after one. */
static int sort(rlt_opgraph *g, rlt_arena *arena, rlt_error *err)
{
    uint32_t *order = rlt_arena_array(arena, g->n_ops, sizeof *order), n = 0, n_ready = 0;
    uint32_t *heap = malloc((size_t)g->n_ops * sizeof *heap),
             *waits = malloc((size_t)g->n_ops * sizeof *waits);
    int rc = order && heap && waits ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < g->n_ops && !rc; i++)
        if ((waits[i] = g->in_first[i + 1] - g->in_first[i]) == 0)
            ready_push(g, heap, &n_ready, i);
    while (!rc && n_ready) {
        uint32_t i = order[n++] = ready_pop(g, heap, &n_ready);
        for (uint32_t t = g->out_first[i]; t < g->out_first[i + 1]; t++)
            if (--waits[g->tensors[t].dst] == 0)
                ready_push(g, heap, &n_ready, g->tensors[t].dst);
    }
    if (!rc && n < g->n_ops) {
        uint32_t i = 0;
        while (waits[i] == 0)
            i++;
        rc = rlt_fail(err, RLT_EMALFORMED, g->name, "operator '%s' waits for itself: the graph has a cycle",
                      g->ops[i].name);
    }
    free(heap);
    free(waits);
    g->order = order;
    return rc;
}

/* Refuses a graph in several pieces: their relative order in time would be arbitrary. */
static int check_connected(const rlt_opgraph *g, rlt_error *err)
{
    uint32_t *stack = malloc((size_t)g->n_ops * sizeof *stack), n = 0, seen = 1;
    uint8_t *met = calloc(g->n_ops, 1);
    int rc = stack && met ? 0 : rlt_nomem(err);
    if (!rc) {
        stack[n++] = 0;
        met[0] = 1;
    }
    while (!rc && n) {
        uint32_t i = stack[--n];
        uint32_t outs = g->out_first[i + 1] - g->out_first[i], ins = g->in_first[i + 1] - g->in_first[i];
        for (uint32_t k = 0; k < outs + ins; k++) {
            uint32_t j = k < outs ? g->tensors[g->out_first[i] + k].dst
                                  : g->tensors[g->in[g->in_first[i] + k - outs]].src;
            if (met[j])
                continue;
            met[j] = 1;
            seen++;
            stack[n++] = j;
        }
    }
    if (!rc && seen < g->n_ops) {
        uint32_t i = 0;
        while (met[i])
            i++;
        rc = rlt_fail(err, RLT_EMALFORMED, g->name,
                      "operator '%s' is not connected to '%s': expected a graph in one piece", g->ops[i].name,
                      g->ops[0].name);
    }
    free(stack);
    free(met);
    return rc;
}

/* Hashes what decides a strategy's time: operators, tensors and their names. */
static uint64_t hash_of(const rlt_opgraph *g)
{
    uint64_t h = g->n_ops;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const rlt_operator *o = &g->ops[i];
        uint64_t figures[] = {(uint64_t)o->time_ps,
                              (uint64_t)o->launch_ps,
                              o->parameter_bytes,
                              o->kept_bytes,
                              (uint64_t)o->forward << 32 | o->together,
                              (uint64_t)o->pass << 1 | o->splittable};
        h = rlt_hash_bytes(o->name, strlen(o->name), h);
        h = rlt_hash_bytes(figures, sizeof figures, h);
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        uint64_t figures[] = {(uint64_t)t->src << 32 | t->dst, t->bytes, t->kind};
        h = rlt_hash_bytes(figures, sizeof figures, h);
    }
    return h;
}

int rlt_opgraph_finish(rlt_opgraph_builder *b, rlt_opgraph **out, rlt_error *err)
{
    rlt_opgraph *g = &b->store->graph;
    rlt_error kept = b->error;
    int rc = kept.code;
    *out = NULL;
    if (rc && err)
        *err = kept;
    if (!rc && b->n_ops == 0)
        rc = rlt_fail(err, RLT_EMALFORMED, g->name, "the graph has no operators");
    g->ops = b->store->ops;
    g->n_ops = b->n_ops;
    g->n_tensors = b->n_tensors;
    if (rc || (rc = check_references(b, err)) || (rc = total(b, err)) || (rc = index_tensors(b, err)) ||
        (rc = sort(g, &b->store->arena, err)) || (rc = check_connected(g, err))) {
        rlt_opgraph_drop(b);
        return rc;
    }
    g->hash = hash_of(g);
    free(b);
    *out = g;
    return 0;
}
