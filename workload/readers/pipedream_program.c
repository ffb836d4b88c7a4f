/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads PipeDream's profile (graph.txt) into a program of one minibatch.
 *
 * Without stages all ranks run all nodes: forward in an order that the edges allow, backward in reverse. They
 * reduce each node's parameters beside the backward pass. With stage_id, rank s * d + i is copy i of stage s.
 * Data that crosses a cut is sent once to each stage that needs it, and its gradient comes back with the same
 * size. The copies of a stage reduce its parameters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/layers.h"
#include "workload/readers/pipedream.h"
#include "workload/readers/pipedream_stages.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)

typedef struct reading {
    rlt_pipedream d;
    rlt_layer_table t;
    uint32_t *order; /* nodes, each after the nodes it needs */
    rlt_error *err;
} reading;

/* Sorts nodes into order[], each after the nodes it needs. */
static int sort_nodes(reading *r)
{
    const rlt_pipedream *d = &r->d;
    size_t n = (size_t)d->n + 1;
    uint32_t *missing = calloc(n, sizeof *missing), *first = calloc(n, sizeof *first), done = 0,
             *then = malloc(((size_t)d->n_edges + 1) * sizeof *then);
    int rc = 0;
    r->order = malloc(n * sizeof *r->order);
    if (!missing || !first || !then || !r->order) {
        rc = rlt_nomem(r->err);
        goto out;
    }
    for (uint32_t i = 0; i < d->n_edges; i++) {
        missing[d->edges[i].to]++;
        first[d->edges[i].from]++;
    }
    for (uint32_t i = 0, sum = 0; i <= d->n; i++)
        first[i] = sum += first[i];
    for (uint32_t i = d->n_edges; i-- > 0;)
        then[--first[d->edges[i].from]] = d->edges[i].to;
    for (uint32_t i = 0; i < d->n; i++)
        if (missing[i] == 0)
            r->order[done++] = i;
    for (uint32_t i = 0; i < done; i++)
        for (uint32_t k = first[r->order[i]]; k < first[r->order[i] + 1]; k++)
            if (--missing[then[k]] == 0)
                r->order[done++] = then[k];
    for (uint32_t i = 0; i < d->n && !rc; i++)
        if (missing[i])
            rc = rlt__layer_fail(&r->t, d->nodes[i].line, RLT_ESCHEMA, r->err,
                                 "the edges form a cycle through this node");
out:
    free(missing);
    free(first);
    free(then);
    return rc;
}

static uint64_t ns_of(rlt_time ps)
{
    return (uint64_t)((ps + RLT_NS / 2) / RLT_NS);
}

/* Builds the table in running order, the same for all ranks. */
static int build_alike(reading *r, const rlt_read_options *opts, uint64_t hash, rlt_program **out)
{
    rlt_layer_table *t = &r->t;
    t->layers = calloc(r->d.n, sizeof *t->layers);
    if (!t->layers)
        return rlt_nomem(r->err);
    t->n = t->capacity = r->d.n;
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_pipedream_node *k = &r->d.nodes[r->order[i]];
        rlt_layer *l = &t->layers[i];
        l->name = rlt_intern(&t->names, k->description, strlen(k->description));
        if (l->name == RLT_NONE)
            return rlt_nomem(r->err);
        l->line = k->line;
        l->compute_ns[RLT_FORWARD] = ns_of(k->forward_ps);
        l->compute_ns[RLT_INPUT_GRADIENT] = ns_of(k->backward_ps);
        l->comm[RLT_WEIGHT_GRADIENT] = (rlt_layer_comm){.any = k->parameter_bytes > 0,
                                                        .kind = RLT_ALL_REDUCE,
                                                        .scope = RLT_OVER_ALL,
                                                        .bytes = k->parameter_bytes};
    }
    t->input_first = true;
    t->model = t->expert = t->stages = 1;
    return rlt__layers_build(t, opts, "pipedream", hash, out, r->err);
}

static int build(reading *r, const char *const *paths, uint32_t n, const rlt_read_options *opts,
                 uint64_t hash, rlt_program **out)
{
    uint32_t stages = r->d.stages;
    int rc = rlt__layers_ranks(&r->t, paths, n, opts, stages ? stages : 2, r->err);
    if (rc || !stages)
        return rc ? rc : build_alike(r, opts, hash, out);
    if (!opts->n_ranks && r->t.ranks > stages)
        r->t.ranks -= r->t.ranks % stages; /* as many copies as fit */
    if (r->t.ranks % stages)
        return rlt_fail(r->err, RLT_ESCHEMA, paths[0],
                        "%" PRIu32 " ranks are not a multiple of %" PRIu32 " stages", r->t.ranks, stages);
    return rlt__pipedream_stages(&r->d, r->order, &r->t, hash, out, r->err);
}

static int read_pipedream(const char *const *paths, uint32_t n, const rlt_read_options *opts,
                          rlt_program **out, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    reading r = {.err = err, .t.late = RLT_NONE};
    *out = NULL;
    if (n == 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "no trace files");
    r.t.file = paths[0];
    int rc = rlt_read_file(paths[0], MAX_FILE_BYTES, &text, &length, err);
    if (!rc && !(rc = rlt__pipedream_parse(paths[0], text, length, &r.d, err)) && !(rc = sort_nodes(&r)))
        rc = build(&r, paths, n, opts, rlt_hash_bytes(text, length, 0), out);
    rlt__layers_free(&r.t);
    rlt__pipedream_free(&r.d);
    free(r.order);
    free(text);
    return rc;
}

static int probe(const char *path, const char *head, size_t n)
{
    (void)path;
    return rlt__pipedream_probe(head, n);
}

const rlt_reader rlt_reader_pipedream = {
    .name = "pipedream",
    .summary = "PipeDream's profile of a network's nodes (graph.txt), with or without stages",
    .probe = probe,
    .read = read_pipedream,
    .check = NULL,
};
