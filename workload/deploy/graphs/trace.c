/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the trace of one rank as an operator graph, by the rules in trace.h. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { HEAD = 1 << 16, NAME = 256 };

void rlt__trace_note(const rlt_trace_maker *m, const char *fmt, ...)
{
    char text[512];
    va_list args;
    if (!m->options->notes)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    rlt_growing_add(m->options->notes, "%s\n", text);
}

/* ---- building ---- */

/* Makes a name that no other operator has: "gemm", "gemm #2", ... Names of kernels can be longer than a line:
 * their ends are left out. */
static int new_name(rlt_trace_maker *m, rlt_strings *names, rlt_map *used, const char *prefix, uint32_t op,
                    char *out)
{
    const char *name = rlt__trace_name(m, op);
    size_t length = (size_t)snprintf(out, NAME, "%s%.60s", prefix, *name ? name : "operation");
    for (;;) {
        uint32_t before = names->n, s = rlt_intern(names, out, strlen(out)), count = 2;
        if (s == RLT_NONE)
            return rlt_nomem(m->err);
        if (s == before)
            return 0;
        out[length] = '\0';
        s = rlt_intern(names, out, length);
        count = rlt_map_get(used, s) == RLT_NONE ? count : rlt_map_get(used, s) + 1;
        if (rlt_map_put(used, s, count))
            return rlt_nomem(m->err);
        snprintf(out + length, NAME - length, " #%" PRIu32, count);
    }
}

typedef struct output {
    rlt_opgraph_builder *b;
    rlt_strings names;
    rlt_map used;
    uint32_t n;
} output;

static int add_operators(rlt_trace_maker *m, output *o)
{
    static const char *const kinds[] = {"Forward", "Backward", "Update"};
    char name[NAME];
    int rc = 0;
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) /* mates come later in the order than they are used */
        if (rlt__trace_is_operator(m, m->order[k]))
            m->nodes[m->order[k]].id = o->n++;
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        const rlt_trace_node *x = &m->nodes[op];
        if (!rlt__trace_is_operator(m, op) || (rc = new_name(m, &o->names, &o->used, "", op, name)))
            continue;
        uint32_t forward = x->mate == RLT_NONE ? x->id : m->nodes[x->mate].id;
        (void)rlt_opgraph_op(o->b, &(rlt_operator){.name = name,
                                                   .kind = kinds[x->pass],
                                                   .time_ps = m->p->ops[op].duration_ps,
                                                   .parameter_bytes = x->weights,
                                                   .forward = forward,
                                                   .together = x->weights ? x->id : RLT_NONE,
                                                   .pass = x->pass,
                                                   .splittable = x->pass != RLT_OPERATOR_UPDATE});
    }
    for (uint32_t e = 0; e < m->n_edges && !rc; e++) {
        const rlt_trace_node *from = &m->nodes[m->edges[e].from], *to = &m->nodes[m->edges[e].to];
        bool sum = to->pass == RLT_OPERATOR_UPDATE && from->pass != RLT_OPERATOR_UPDATE;
        rlt_opgraph_tensor(
            o->b, &(rlt_tensor){from->id, to->id, 0, sum ? RLT_TENSOR_GRADIENT : RLT_TENSOR_BATCHED});
    }
    return rc;
}

/* Bytes and time of the gradients that share updates of the trace. */
typedef struct pool {
    uint64_t bytes, so_far;
    rlt_time time_ps;
} pool;

/* Returns the share of the next gradient. Shares sum to the whole. */
static rlt_time take(pool *p, uint64_t bytes)
{
    double whole = (double)p->time_ps, all = (double)p->bytes;
    double from = floor(whole * ((double)p->so_far / all));
    p->so_far += bytes;
    return (rlt_time)(floor(whole * ((double)p->so_far / all)) - from);
}

/* Fills pools[operation] if updates are known, else pools[0]. */
static void fill_pools(rlt_trace_maker *m, pool *pools, bool known)
{
    for (uint32_t i = 0; i < m->n_gradients; i++)
        pools[known ? m->gradients[i].update : 0].bytes += m->gradients[i].bytes;
    for (uint32_t i = 0; i < m->p->n_ops; i++)
        if (m->nodes[i].role == RLT_TRACE_DEVICE && m->nodes[i].pass == RLT_OPERATOR_UPDATE)
            pools[known ? i : 0].time_ps =
                rlt_time_add(pools[known ? i : 0].time_ps, m->p->ops[i].duration_ps);
    double us = (double)pools[0].bytes / m->options->costs.update_bytes_per_us;
    if (m->n_pass[RLT_OPERATOR_UPDATE] == 0)
        pools[0].time_ps = us < 1e12 ? (rlt_time)nearbyint(us * (double)RLT_US) : RLT_TIME_MAX - 1;
}

/* Returns true if each update waits for gradients and each gradient has an update of its own. */
static bool updates_known(const rlt_trace_maker *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_gradients; i++)
        if (m->gradients[i].update == RLT_NONE)
            return false;
    for (uint32_t i = 0; i < m->p->n_ops; i++) {
        const rlt_trace_node *x = &m->nodes[i];
        if (x->role == RLT_TRACE_DEVICE && x->pass == RLT_OPERATOR_UPDATE) {
            n++;
            if (x->waiters == 0)
                return false;
        }
    }
    return n > 0;
}

static int add_updates(rlt_trace_maker *m, output *o)
{
    bool known = updates_known(m);
    pool *pools = calloc((size_t)m->p->n_ops + 1, sizeof *pools);
    char name[NAME];
    int rc = pools ? 0 : rlt_nomem(m->err);
    if (!rc)
        fill_pools(m, pools, known);
    for (uint32_t i = 0; i < m->n_gradients && !rc; i++) {
        const rlt_trace_gradient *g = &m->gradients[i];
        uint32_t forward = m->nodes[m->nodes[g->producer].mate].id, producer = m->nodes[g->producer].id;
        pool *of = &pools[known ? g->update : 0];
        bool own = known && of->bytes == g->bytes; /* the trace's update has this gradient alone */
        if ((rc = own ? new_name(m, &o->names, &o->used, "", g->update, name)
                      : new_name(m, &o->names, &o->used, "update ", g->producer, name)))
            break;
        uint32_t u = rlt_opgraph_op(o->b, &(rlt_operator){.name = name,
                                                          .kind = "Update",
                                                          .time_ps = take(of, g->bytes),
                                                          .parameter_bytes = g->bytes,
                                                          .forward = forward,
                                                          .together = forward,
                                                          .pass = RLT_OPERATOR_UPDATE});
        rlt_opgraph_tensor(o->b, &(rlt_tensor){producer, u, g->bytes, RLT_TENSOR_GRADIENT});
    }
    free(pools);
    if (!known && m->n_gradients && m->n_pass[RLT_OPERATOR_UPDATE])
        rlt__trace_note(m,
                        "the time of update operations is divided over the gradients by bytes (%" PRIu32 ")",
                        m->n_pass[RLT_OPERATOR_UPDATE]);
    else if (!known && m->n_gradients)
        rlt__trace_note(
            m, "the trace has no update operations: their times follow from the bytes of parameters");
    return rc;
}

/* Says what was left out and assumed. */
static void tell(const rlt_trace_maker *m)
{
    char size[32];
    for (uint32_t i = 0; i < m->p->n_notes; i++)
        rlt__trace_note(m, "trace: %.400s (%" PRIu64 ")", m->p->notes[i].text, m->p->notes[i].count);
    if (m->recording)
        rlt__trace_note(m, "host work is left out; operations of a stream are taken to follow each other");
    if (m->n_gradients)
        rlt__trace_note(m,
                        "gradients are guessed: reductions after backward work, %s in %" PRIu32
                        "; their weights are given to forward operators by name or mirrored time",
                        rlt_format_size(size, sizeof size, m->bytes), m->n_gradients);
    else
        rlt__trace_note(m,
                        "no reduction of gradients found: parameters are unknown, taken as 0 bytes, so data "
                        "parallelism looks cheaper than it is");
    if (m->other)
        rlt__trace_note(
            m, "communication other than that is left out, since the strategy decides it: %" PRIu64 ", %s",
            m->other, rlt_format_size(size, sizeof size, m->other_bytes));
    if (m->joined)
        rlt__trace_note(
            m, "operators without a recorded dependency are taken to follow the one before (%" PRIu32 ")",
            m->joined);
    rlt__trace_note(
        m, "sizes of tensors and activations are not in the trace: taken as 0 bytes, so dividing the model "
           "looks cheaper than it is; sufficient factors are not searched");
    rlt__trace_note(m, "every operator but updates is taken to divide the batch, and its time with it");
}

static int build(rlt_trace_maker *m, const char *path, rlt_opgraph **out)
{
    output o = {0};
    char name[64];
    rlt__graph_name(path, name, sizeof name);
    int rc = rlt_opgraph_begin(name, &o.b, m->err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < m->n_gradients; i++) {
        const rlt_trace_gradient *g = &m->gradients[i];
        m->nodes[m->nodes[g->producer].mate].weights += g->bytes;
    }
    rlt_opgraph_batch(o.b, m->options->batch);
    rlt_opgraph_unsized(o.b);
    if (!(rc = add_operators(m, &o)))
        rc = add_updates(m, &o);
    rlt_strings_free(&o.names);
    rlt_map_free(&o.used);
    if (rc)
        rlt_opgraph_drop(o.b);
    else
        rc = rlt_opgraph_finish(o.b, out, m->err);
    if (!rc)
        tell(m);
    return rc;
}

/* ---- reading ---- */

static int make_room(rlt_trace_maker *m)
{
    size_t n = (size_t)m->p->n_ops + 1, r = (size_t)m->p->n_resources + 1;
    m->nodes = malloc(n * sizeof *m->nodes);
    m->order = malloc(n * sizeof *m->order);
    m->last = malloc(r * sizeof *m->last);
    m->slot = malloc(r * sizeof *m->slot);
    m->stamp = malloc(r * sizeof *m->stamp);
    return m->nodes && m->order && m->last && m->slot && m->stamp ? 0 : rlt_nomem(m->err);
}

static int make(rlt_trace_maker *m, const char *path, rlt_opgraph **out)
{
    int rc;
    if ((rc = make_room(m)) || (rc = rlt__trace_step(m, path)) || (rc = rlt__trace_order(m)))
        return rc;
    rlt__trace_passes(m);
    if ((rc = rlt__trace_edges(m)) || (rc = rlt__trace_gradients(m)))
        return rc;
    if (m->n_gradients == 0) {
        m->updates = true;
        rc = rlt__trace_edges(m);
    }
    return rc || (rc = rlt__trace_mates(m)) || (rc = rlt__trace_join(m)) ? rc : build(m, path, out);
}

static void free_maker(rlt_trace_maker *m)
{
    free(m->nodes);
    free(m->order);
    free(m->items);
    free(m->met);
    free(m->last);
    free(m->slot);
    free(m->stamp);
    rlt_map_free(&m->seen);
    free(m->edges);
    free(m->gradients);
}

/* Requires one file: that of one rank. */
static int check_files(const char *path, rlt_error *err)
{
    char **files = NULL;
    uint32_t n = 0;
    if (strcmp(path, "-") == 0)
        return rlt_fail(err, RLT_EUSAGE, "standard input", "a trace is read from a file: expected its name");
    int rc = rlt_trace_files(&path, 1, &files, &n, err);
    if (!rc && n > 1)
        rc = rlt_fail(err, RLT_EUSAGE, path,
                      "has the traces of %" PRIu32
                      " ranks: expected that of one, from which the graph is made, such as %.300s",
                      n, files[0]);
    free(files);
    return rc;
}

static int read(const char *path, const char *text, size_t length, const rlt_graph_options *o,
                rlt_opgraph **out, rlt_error *err)
{
    rlt_read_options how = {.first_step = -1, .last_step = -1, .alone = true};
    rlt_program *p = NULL;
    (void)text;
    (void)length;
    int rc = check_files(path, err);
    if (rc)
        return rc;
    if ((rc = rlt_trace_read(&path, 1, &how, &p, err))) {
        if (err && !strstr(err->where, path))
            rlt_error_prefix(err, path);
        return rc;
    }
    rlt_trace_maker m = {.p = p, .options = o, .err = err};
    if (p->n_ranks > 1)
        rc = rlt_fail(err, RLT_EUSAGE, path,
                      "has the work of %" PRIu32
                      " ranks: expected the trace of one rank, from which the graph is made ('ringlet trace "
                      "convert' writes a file for each rank)",
                      p->n_ranks);
    else if (o->batch == 0)
        rc =
            rlt_fail(err, RLT_EUSAGE, path,
                     "a trace does not state its batch: expected the samples of the recorded rank (--batch)");
    else if (!(o->costs.update_bytes_per_us > 0))
        rc = rlt_fail(err, RLT_EUSAGE, path, "the optimizer needs more than 0 bytes a microsecond");
    else
        rc = make(&m, path, out);
    free_maker(&m);
    rlt_program_free(p);
    return rc;
}

static bool probe(const char *head, size_t n)
{
    const rlt_reader *r;
    int sure = 0;
    for (uint32_t i = 0; (r = rlt_reader_at(i)) && sure <= 0; i++)
        sure = r->probe("", head, n < HEAD ? n : HEAD);
    return sure > 0;
}

const rlt_graph_reader rlt__graph_trace = {
    .name = "trace",
    .summary = "trace of one rank, in a format of 'ringlet list readers' (Chakra, Kineto, ...)",
    .probe = probe,
    .read = read,
};
