/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chakra nodes of one collective: messages and their order, and the XML they were made from, if it is
 * kept. */
#include "workload/readers/chakra/custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/listed_check.h"
#include "collectives/collective.h"
#include "collectives/formats/goal_raw.h"
#include "collectives/formats/msccl.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

#define MAX_MESSAGE_BYTES ((uint64_t)1 << 48)

typedef struct custom {
    rlt_goal g;
    uint32_t *first; /* operations of rank r: g.ops[first[r] .. first[r + 1]) */
    char *xml;       /* from the first file */
    size_t xml_length;
    bool has_kind;
    rlt_error *err;
} custom;

/* Finds the text of an attribute in the metadata, the file's first message. NULL: none. */
static bool find_text(const rlt_chakra_file *f, const char *name, rlt_pb *out)
{
    rlt_pb all = {(const uint8_t *)f->text, (const uint8_t *)f->text + f->length}, message;
    rlt_pb_field field, inner;
    if (rlt__pb_piece(&all, &message))
        return false;
    while (rlt__pb_next(&message, &field) > 0) {
        rlt_pb attr = field.bytes;
        bool named = false;
        if (field.number != 2 || field.wire != RLT_PB_BYTES)
            continue;
        while (rlt__pb_next(&attr, &inner) > 0) {
            if (inner.number == 1 && inner.wire == RLT_PB_BYTES)
                named = (size_t)(inner.bytes.end - inner.bytes.at) == strlen(name) &&
                        memcmp(inner.bytes.at, name, strlen(name)) == 0;
            if (inner.number == RLT_CHAKRA_STRING && inner.wire == RLT_PB_BYTES && named) {
                *out = inner.bytes;
                return true;
            }
        }
    }
    return false;
}

static int read_metadata(custom *c, const rlt_chakra_file *f)
{
    rlt_pb text;
    char kind[32];
    rlt_error why = {0};
    if (find_text(f, "input_file", &text) && text.end - text.at > 5 && memcmp(text.at, "<algo", 5) == 0) {
        c->xml_length = (size_t)(text.end - text.at);
        c->xml = malloc(c->xml_length + 1);
        if (!c->xml)
            return rlt_nomem(c->err);
        memcpy(c->xml, text.at, c->xml_length);
        c->xml[c->xml_length] = '\0';
    }
    if (!find_text(f, "collective", &text))
        return 0;
    snprintf(kind, sizeof kind, "%.*s", (int)(text.end - text.at < 31 ? text.end - text.at : 31),
             (const char *)text.at);
    if (rlt_coll_parse(kind, &c->g.kind, &why))
        return rlt_fail(c->err, RLT_ESCHEMA, f->path, "metadata: %s", why.what);
    c->has_kind = true;
    return 0;
}

static int fail_node(custom *c, const rlt_chakra_file *f, const rlt_chakra_node *n, int code,
                     const char *what)
{
    char where[384];
    snprintf(where, sizeof where, "%s: node %llu", f->path, (unsigned long long)n->id);
    return rlt_fail(c->err, code, where, "%s", what);
}

static int read_message(custom *c, const rlt_chakra_file *f, const rlt_chakra_node *n, rlt_goal_op *op)
{
    bool send = n->type == RLT_CHAKRA_SEND;
    uint64_t peer = 0, tag = 0;
    int got_peer = rlt__chakra_u64(n, send ? RLT_CHAKRA_ATTR_COMM_DST : RLT_CHAKRA_ATTR_COMM_SRC,
                                   c->g.ranks - 1, &peer, c->err);
    int got_size = rlt__chakra_u64(n, RLT_CHAKRA_ATTR_COMM_SIZE, MAX_MESSAGE_BYTES, &op->bytes, c->err);
    int got_tag = rlt__chakra_u64(n, RLT_CHAKRA_ATTR_COMM_TAG, UINT32_MAX - 1, &tag, c->err);
    if (got_peer < 0 || got_size < 0 || got_tag < 0) {
        char where[384];
        snprintf(where, sizeof where, "%s: node %llu", f->path, (unsigned long long)n->id);
        rlt_error_prefix(c->err, where);
        return got_peer < 0 ? got_peer : got_size < 0 ? got_size : got_tag;
    }
    if (!got_peer || !got_size)
        return fail_node(c, f, n, RLT_ESCHEMA,
                         !got_size ? "a message without comm_size"
                         : send    ? "a send without comm_dst"
                                   : "a receive without comm_src");
    op->type = send ? RLT_GOAL_SEND : RLT_GOAL_RECV;
    op->peer = (uint32_t)peer;
    op->tag = (uint32_t)tag;
    return op->peer == op->rank ? fail_node(c, f, n, RLT_ESCHEMA, "a message from a rank to itself") : 0;
}

/* Reads a node. Its dependencies still are node ids. */
static int read_node(custom *c, const rlt_chakra_file *f, const rlt_chakra_node *n, uint32_t rank,
                     rlt_map *ids)
{
    rlt_goal *g = &c->g;
    rlt_goal_op op = {.type = RLT_GOAL_NOP, .rank = rank, .line = (uint32_t)n->id, .match = RLT_NONE};
    int rc = 0;
    if (n->type == RLT_CHAKRA_SEND || n->type == RLT_CHAKRA_RECV)
        rc = read_message(c, f, n, &op);
    else if (n->type != RLT_CHAKRA_COMP)
        rc = fail_node(c, f, n, RLT_EUNSUPPORTED,
                       "a custom collective consists of COMM_SEND, COMM_RECV and COMP nodes");
    if (!rc && n->id >= UINT32_MAX)
        rc = fail_node(c, f, n, RLT_ERANGE, "the node's number is above 2^32");
    if (!rc && rlt_map_get(ids, n->id) != RLT_NONE)
        rc = fail_node(c, f, n, RLT_ESCHEMA, "another node has the same number");
    if (!rc && rlt_map_put(ids, n->id, g->n_ops) < 0)
        rc = rlt_nomem(c->err);
    if (!rc)
        rc = rlt_grow(&g->ops, &g->op_capacity, sizeof *g->ops, (uint64_t)g->n_ops + 1, RLT_GOAL_MAX_OPS,
                      "nodes", c->err);
    if (!rc)
        rc = rlt_grow(&g->edges, &g->edge_capacity, sizeof *g->edges, (uint64_t)g->n_edges + n->n_deps,
                      2 * RLT_GOAL_MAX_OPS, "dependencies", c->err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n->n_deps; i++) {
        if (n->deps[i] >= UINT32_MAX)
            return fail_node(c, f, n, RLT_ESCHEMA, "depends on a node that is not in the file");
        g->edges[g->n_edges++] = (rlt_goal_edge){.op = g->n_ops, .needs = (uint32_t)n->deps[i]};
    }
    g->ops[g->n_ops++] = op;
    return 0;
}

static int read_nodes(custom *c, rlt_chakra_file *f, rlt_chakra_node *n, uint32_t rank)
{
    rlt_map ids = {0};
    uint32_t from = c->g.n_edges;
    int rc;
    while ((rc = rlt__chakra_next(f, n, c->err)) > 0)
        if ((rc = read_node(c, f, n, rank, &ids)) < 0)
            break;
    for (uint32_t i = from; i < c->g.n_edges && rc == 0; i++) {
        rlt_goal_edge *e = &c->g.edges[i];
        uint32_t needs = rlt_map_get(&ids, e->needs);
        n->id = c->g.ops[e->op].line;
        if (needs == RLT_NONE)
            rc = fail_node(c, f, n, RLT_ESCHEMA, "depends on a node that is not in the file");
        e->needs = needs;
    }
    rlt_map_free(&ids);
    return rc;
}

static int read_rank(custom *c, const char *path, uint32_t rank)
{
    rlt_chakra_file f;
    rlt_chakra_node n = {0};
    int rc = rlt__chakra_open(path, &f, &n, c->err);
    if (rc < 0)
        return rc;
    if (rank == 0)
        rc = read_metadata(c, &f);
    if (!rc)
        rc = read_nodes(c, &f, &n, rank);
    c->first[rank + 1] = c->g.n_ops;
    free(n.deps);
    rlt__chakra_close(&f);
    return rc < 0 ? rc : 0;
}

/* Finds the rank's next message from *at on. It must be `type` with `peer`; blocks 0: any size. */
static int expect(custom *c, const rlt_listed *l, uint32_t rank, uint32_t *at, uint8_t type, uint32_t peer,
                  uint64_t blocks, uint64_t *block_bytes)
{
    const rlt_goal *g = &c->g;
    while (*at < c->first[rank + 1] && g->ops[*at].type == RLT_GOAL_NOP)
        (*at)++;
    if (*at == c->first[rank + 1])
        return rlt_fail(c->err, RLT_ESCHEMA, g->file,
                        "rank %u has fewer messages than the plan '%s' in its metadata", rank, l->name);
    const rlt_goal_op *o = &g->ops[(*at)++];
    if (o->type != type || o->peer != peer)
        return rlt_goal_fail(g, o->line, RLT_ESCHEMA, c->err,
                             "rank %u %s rank %u, but the plan in the metadata %s rank %u there", rank,
                             o->type == RLT_GOAL_SEND ? "sends to" : "receives from", o->peer,
                             type == RLT_GOAL_SEND ? "sends to" : "receives from", peer);
    if (*block_bytes == 0 && blocks)
        *block_bytes = o->bytes / blocks;
    if (blocks && o->bytes != *block_bytes * blocks)
        return rlt_goal_fail(g, o->line, RLT_ESCHEMA, c->err,
                             "%llu bytes for %llu chunks, but the first message has %llu bytes per chunk",
                             (unsigned long long)o->bytes, (unsigned long long)blocks,
                             (unsigned long long)*block_bytes);
    return 0;
}

/* Compares the nodes with the plan that they were made from. */
static int compare(custom *c, const rlt_listed *l)
{
    uint64_t block_bytes = 0;
    int rc = rlt_goal_match(&c->g, c->err);
    for (uint32_t rank = 0; rank < l->n && !rc; rank++) {
        uint32_t at = c->first[rank];
        for (uint32_t p = rank * l->lanes; p < (rank + 1) * l->lanes; p++) {
            for (uint32_t i = l->first[p]; i < l->first[p + 1] && !rc; i++) {
                const rlt_step *s = &l->steps[i];
                if (s->recv_count)
                    rc = expect(c, l, rank, &at, RLT_GOAL_RECV, s->recv_from, 0, &block_bytes);
                if (!rc && s->send_to != RLT_NONE)
                    rc = expect(c, l, rank, &at, RLT_GOAL_SEND, s->send_to,
                                (uint64_t)s->send.run * s->send.reps, &block_bytes);
            }
        }
        while (!rc && at < c->first[rank + 1] && c->g.ops[at].type == RLT_GOAL_NOP)
            at++;
        if (!rc && at < c->first[rank + 1])
            rc = rlt_goal_fail(&c->g, c->g.ops[at].line, RLT_ESCHEMA, c->err,
                               "rank %u has more messages than the plan '%s' in its metadata", rank, l->name);
    }
    return rc;
}

static int make(custom *c, const rlt_goal_hint *hint, rlt_listed *out)
{
    int rc;
    if (c->xml) {
        char name[160];
        snprintf(name, sizeof name, "%.120s (metadata input_file)", c->g.file);
        rc = rlt_msccl_parse(name, c->xml, c->xml_length, out, c->err);
        if (!rc && out->n != c->g.ranks)
            rc = rlt_fail(c->err, RLT_ESCHEMA, c->g.file, "%u files for a plan of %u ranks", c->g.ranks,
                          out->n);
        return rc ? rc : compare(c, out);
    }
    if (!c->has_kind && !hint)
        return rlt_fail(c->err, RLT_EUNSUPPORTED, c->g.file, "the trace does not name its collective");
    if (!c->has_kind)
        c->g.kind = hint->kind;
    c->g.bytes = hint ? hint->bytes : 0;
    rc = rlt_goal_build(&c->g, out, c->err);
    return rc ? rc : rlt_listed_check(out, c->err);
}

int rlt_chakra_custom_load(const char *const *specs, uint32_t n_specs, const rlt_goal_hint *hint,
                           rlt_listed *out, rlt_error *err)
{
    custom c = {.err = err};
    char **paths = NULL;
    uint32_t n = 0;
    *out = (rlt_listed){0};
    int rc = rlt_trace_files(specs, n_specs, &paths, &n, err);
    if (rc)
        return rc;
    c.g.file = specs[0];
    c.g.nodes = true;
    c.g.ranks = n;
    snprintf(c.g.name, sizeof c.g.name, "chakra");
    c.first = calloc((size_t)n + 1, sizeof *c.first);
    if (n > RLT_GOAL_MAX_RANKS)
        rc = rlt_fail(err, RLT_ERANGE, specs[0], "%u ranks exceed the limit of %d", n, RLT_GOAL_MAX_RANKS);
    else if (!c.first)
        rc = rlt_nomem(err);
    for (uint32_t r = 0; r < n && !rc; r++)
        rc = read_rank(&c, paths[r], r);
    if (!rc)
        rc = make(&c, hint, out);
    if (rc)
        rlt_listed_free(out);
    free(c.first);
    free(c.xml);
    free(c.g.ops);
    free(c.g.edges);
    free(paths);
    return rc;
}
