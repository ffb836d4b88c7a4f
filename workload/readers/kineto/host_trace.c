/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the record_param_comms nodes of a host execution trace. */
#include "workload/readers/kineto/host_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json_stream.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* Tokens of a node, in either schema. */
typedef struct node {
    const rlt_jpiece *piece;
    uint32_t values, types, outputs; /* lists */
    uint32_t attrs;                  /* RLT_NONE in the old schema */
} node;

static uint32_t attribute(const node *n, const char *name)
{
    const rlt_jpiece *p = n->piece;
    uint32_t a = n->attrs == RLT_NONE ? RLT_NONE : rlt_jpiece_first(p, n->attrs);
    for (; a != RLT_NONE; a = rlt_jpiece_after(p, n->attrs, a)) {
        const char *text = rlt_jpiece_text(p, rlt_jpiece_get(p, a, "name"));
        if (text && !strcmp(text, name))
            return rlt_jpiece_get(p, a, "value");
    }
    return n->attrs == RLT_NONE ? rlt_jpiece_get(p, 0, name) : RLT_NONE;
}

static uint64_t number(const rlt_jpiece *p, uint32_t token, uint64_t otherwise)
{
    const char *text = rlt_jpiece_text(p, token);
    int64_t v;
    return text && rlt_decimal_i64(text, 0, &v) && v >= 0 ? (uint64_t)v : otherwise;
}

/* Reads an attribute that is a rank or a number of ranks. One that is missing or negative leaves *out; one
 * that no job has is refused. */
static int read_ranks(const rlt_jstream *s, const node *n, const char *name, uint32_t *out, rlt_error *err)
{
    uint64_t v = number(n->piece, attribute(n, name), *out);
    if (v > RLT_MAX_RANKS)
        return rlt_jstream_fail(s, n->piece, RLT_ESCHEMA, err,
                                "\"%s\" is not a number of at most %d ranks: '%" PRIu64 "'", name,
                                RLT_MAX_RANKS, v);
    *out = (uint32_t)v;
    return 0;
}

static bool is_list(const rlt_jpiece *p, uint32_t token)
{
    return token < p->n_tokens && p->tokens[token].type == RLT_J_LIST;
}

static uint32_t child(const rlt_jpiece *p, uint32_t list, uint32_t index)
{
    uint32_t c = is_list(p, list) ? rlt_jpiece_first(p, list) : RLT_NONE;
    while (c != RLT_NONE && index-- > 0)
        c = rlt_jpiece_after(p, list, c);
    return c;
}

static bool is_negative(const rlt_jpiece *p, uint32_t token)
{
    const char *text = rlt_jpiece_text(p, token);
    int64_t v;
    return text && rlt_decimal_i64(text, 0, &v) && v < 0;
}

/* Adds the elements of a tensor [id, storage, offset, elements, bytes, device], or of a list of tensors.
 * Returns false if a tensor has a negative number of elements. */
static bool tensor(const rlt_jpiece *p, uint32_t value, uint64_t *elems, uint32_t *bytes)
{
    uint32_t first = child(p, value, 0);
    if (first == RLT_NONE)
        return true;
    if (is_list(p, first)) {
        bool good = true;
        for (uint32_t t = first; good && t != RLT_NONE; t = rlt_jpiece_after(p, value, t))
            if (!is_list(p, child(p, t, 0))) /* a list of lists of lists is no list of tensors */
                good = tensor(p, t, elems, bytes);
        return good;
    }
    uint64_t n = number(p, child(p, value, 3), 0), size = number(p, child(p, value, 4), 0);
    if (n < (uint64_t)1 << 50 && size <= 64) {
        *elems += n;
        *bytes = (uint32_t)size;
    }
    return !is_negative(p, child(p, value, 3));
}

static int add_splits(rlt_host_trace *t, const rlt_jpiece *p, uint32_t list, rlt_host_comm *c, rlt_error *err)
{
    c->first_split = t->n_splits;
    uint32_t e = is_list(p, list) ? rlt_jpiece_first(p, list) : RLT_NONE;
    for (; e != RLT_NONE; e = rlt_jpiece_after(p, list, e)) {
        int rc = rlt_grow(&t->splits, &t->splits_capacity, sizeof *t->splits, (uint64_t)t->n_splits + 1,
                          1u << 28, "split sizes", err);
        if (rc < 0)
            return rc;
        uint64_t v = number(p, e, 0);
        t->splits[t->n_splits++] = v < (uint64_t)1 << 50 ? v : 0;
        c->n_splits++;
    }
    return 0;
}

/* Returns the index of the operation's name among the inputs: the string before the split lists. */
static uint32_t name_index(const rlt_jpiece *p, uint32_t values)
{
    uint32_t i = 0, e = is_list(p, values) ? rlt_jpiece_first(p, values) : RLT_NONE;
    for (; e != RLT_NONE; e = rlt_jpiece_after(p, values, e), i++)
        if (p->tokens[e].type == RLT_J_STRING)
            return i;
    return RLT_NONE;
}

static uint32_t intern(rlt_host_trace *t, const char *text)
{
    return rlt_intern(&t->strings, text, strlen(text));
}

static int add_comm(rlt_host_trace *t, const rlt_jstream *s, const node *n, rlt_error *err)
{
    const rlt_jpiece *p = n->piece;
    uint32_t at = name_index(p, n->values);
    const char *name = rlt_jpiece_text(p, child(p, n->values, at));
    if (at == RLT_NONE || at < 2 || !name)
        return rlt_jstream_fail(s, p, RLT_ESCHEMA, err, "record_param_comms without an operation name");
    if (!strcmp(name, "wait")) {
        t->n_waits++;
        return 0;
    }
    rlt_host_comm c = {.order = number(p, attribute(n, "rf_id"), 0), .recorded_rank = -1};
    if (!tensor(p, child(p, n->values, 0), &c.in_elems, &c.elem_bytes) ||
        !tensor(p, child(p, n->outputs, 0), &c.out_elems, &c.elem_bytes) ||
        is_negative(p, attribute(n, "in_msg_nelems")) || is_negative(p, attribute(n, "out_msg_nelems")))
        return rlt_jstream_fail(s, p, RLT_ESCHEMA, err, "a buffer with a negative number of elements");
    c.in_elems = number(p, attribute(n, "in_msg_nelems"), c.in_elems);
    c.out_elems = number(p, attribute(n, "out_msg_nelems"), c.out_elems);
    int rc;
    if ((rc = read_ranks(s, n, "pg_size", &c.group_size, err)) < 0 ||
        (rc = read_ranks(s, n, "global_rank_start", &c.rank_start, err)) < 0 ||
        (rc = read_ranks(s, n, "global_rank_stride", &c.rank_stride, err)) < 0)
        return rc;
    uint32_t group = child(p, n->values, at - 2);
    group = is_list(p, group) ? child(p, group, 0) : group;
    c.group = intern(t, rlt_jpiece_text(p, group) ? rlt_jpiece_text(p, group) : "");
    c.name = intern(t, name);
    uint64_t rank = number(p, child(p, n->values, at - 1), RLT_NONE);
    c.recorded_rank = rank < RLT_MAX_RANKS ? (int64_t)rank : -1;
    if (c.group == RLT_NONE || c.name == RLT_NONE)
        return rlt_nomem(err);
    rc = add_splits(t, p, child(p, n->values, at + 1), &c, err);
    if (rc == 0)
        rc = rlt_grow(&t->comms, &t->comms_capacity, sizeof *t->comms, (uint64_t)t->n_comms + 1,
                      RLT_HOST_MAX_COMMS, "communications", err);
    if (rc == 0)
        t->comms[t->n_comms++] = c;
    return rc;
}

static int add_node(rlt_host_trace *t, const rlt_jstream *s, const rlt_jpiece *p, rlt_error *err)
{
    const char *name = rlt_jpiece_text(p, rlt_jpiece_get(p, 0, "name"));
    if (!name || strcmp(name, "record_param_comms") != 0)
        return 0;
    uint32_t in = rlt_jpiece_get(p, 0, "inputs"), out = rlt_jpiece_get(p, 0, "outputs");
    node n = {.piece = p, .values = in, .outputs = out, .attrs = RLT_NONE};
    if (in != RLT_NONE && p->tokens[in].type == RLT_J_OBJECT) {
        n.values = rlt_jpiece_get(p, in, "values");
        n.outputs = rlt_jpiece_get(p, out, "values");
        n.attrs = rlt_jpiece_get(p, 0, "attrs");
    }
    return add_comm(t, s, &n, err);
}

static int by_order(const void *a, const void *b)
{
    const rlt_host_comm *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1)
                                : (x->first_split > y->first_split) - (x->first_split < y->first_split);
}

/* Returns the rank that recorded the trace. All-reduce and all-to-all give the caller's rank; a broadcast
 * gives the root. */
static uint32_t own_rank(const rlt_host_trace *t)
{
    for (uint32_t i = 0; i < t->n_comms; i++) {
        const char *name = rlt_interned(&t->strings, t->comms[i].name);
        if (t->comms[i].recorded_rank >= 0 && (strstr(name, "allreduce") || strstr(name, "all_to_all")))
            return (uint32_t)t->comms[i].recorded_rank;
    }
    return rlt_rank_in_name(t->path);
}

static int read_nodes(rlt_host_trace *t, rlt_jstream *s, rlt_error *err)
{
    rlt_jpiece p;
    int rc, nodes = 0;
    while ((rc = rlt_jstream_next(s, &p, err)) == 1) {
        nodes += p.element;
        if (p.element && (rc = add_node(t, s, &p, err)) < 0)
            return rc;
    }
    if (rc == 0 && nodes == 0)
        return rlt_fail(err, RLT_ESCHEMA, t->path, "not a host execution trace: it has no \"nodes\"");
    t->hash = rlt_jstream_hash(s);
    return rc;
}

int rlt_host_trace_load(const char *path, rlt_host_trace *out, rlt_error *err)
{
    static const char *const members[] = {"nodes", NULL};
    rlt_jstream *s;
    *out = (rlt_host_trace){.rank = RLT_NONE, .path = strdup(path)};
    if (!out->path)
        return rlt_nomem(err);
    int rc = rlt_jstream_open(path, members, &s, err);
    if (rc == 0) {
        rc = read_nodes(out, s, err);
        rlt_jstream_close(s);
    }
    if (rc < 0) {
        rlt_host_trace_free(out);
        return rc;
    }
    if (out->n_comms > 0)
        qsort(out->comms, out->n_comms, sizeof *out->comms, by_order);
    out->rank = own_rank(out);
    return 0;
}

void rlt_host_trace_free(rlt_host_trace *t)
{
    free(t->path);
    free(t->comms);
    free(t->splits);
    rlt_strings_free(&t->strings);
    *t = (rlt_host_trace){.rank = RLT_NONE};
}
