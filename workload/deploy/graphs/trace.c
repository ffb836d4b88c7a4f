/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes an operator graph of the trace of one rank, in any format of workload/readers. Device work becomes
 * operators. Host work, delays and communication vanish: who waited for them waits for what they waited for.
 * If there is host work, the trace is a recording, which does not say what device work needs. It then follows
 * the work before it on its stream. Of several steps, the one of median device time is taken.
 *
 * The first rule that holds gives the pass:
 *   1. "optimizer", "adam", "adagrad", "sgd", "multi_tensor_apply", "addcmul", "addcdiv" or the word "step" in
 *      the name (upper or lower case): update
 *   2. in a recording, launched by another thread than the first work: backward (PyTorch's autograd thread)
 *   3. "backward", "autograd", "wgrad", "dgrad", "bwd" or "_bw_" in the name: backward
 *   4. in others than recordings, "forward" in the name: forward
 *   5. before the first such backward work: forward; after the last: update; between: backward
 *
 * All-reduces and reduce-scatters after backward operators are of gradients. In others than recordings nothing
 * but updates may wait for them. The operator before one, its producer, yields a gradient of its bytes, for an
 * update operator with as many bytes of parameters. That has the time of the trace's update which alone waits
 * for it, if all updates have such gradients; else the trace's updates are added up and divided by bytes.
 *
 * Example: backward work of 3 ms and 1 ms, each all-reduced, 30 and 10 MB, then an optimizer step of 8 ms: two
 * updates of 6 and 2 ms.
 *
 * The weights of a gradient belong to a forward operator: of the producer's name without the word of the pass,
 * if that is in the name, else the one that runs as long before the end of the forward pass as the producer
 * runs after the beginning of the backward pass, both in shares of their pass.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { HEAD = 1 << 16, MAX_ITEMS = 1 << 27, NAME = 256 };

/* What becomes of an operation. */
typedef enum role { GONE, DEVICE, GRADIENT } role;

typedef struct node {
    uint32_t place;         /* in the order */
    uint32_t first, n;      /* GONE, GRADIENT: what it waits for, in the items */
    uint32_t thread;        /* resource of the host thread that launched it; RLT_NONE: unknown */
    uint32_t id;            /* operator; RLT_NONE: none */
    uint32_t mate;          /* backward work: the forward work that it belongs to */
    uint32_t root, waiters; /* its piece of the graph; gradients: updates that wait for it */
    uint32_t update;        /* gradients: the last of these updates. Updates: gradients they wait for */
    uint32_t mark;          /* number of the operation that met it last */
    uint8_t role, pass;     /* rlt_operator_pass */
    bool held_up;           /* gradients: work other than updates waits for it */
    uint64_t weights;       /* forward work: bytes */
} node;

typedef struct edge {
    uint32_t from, to; /* operations */
} edge;

typedef struct gradient {
    uint32_t producer, update; /* operations; update RLT_NONE: not known */
    uint64_t bytes;
} gradient;

typedef struct maker {
    const rlt_program *p;
    const rlt_graph_options *options;
    rlt_error *err;
    uint32_t step;
    bool recording;
    bool updates; /* the trace's updates are operators: there are no gradients */
    node *nodes;
    uint32_t *order;
    uint32_t *items, n_items, items_room; /* lists of operations */
    uint32_t *met, n_met, met_room;       /* what the present operation waits for */
    uint32_t *last, *slot, *stamp;        /* by resource */
    rlt_map seen;                         /* (stream, other stream) -> place waited for */
    edge *edges;
    gradient *gradients;
    uint32_t n_edges, edges_room, n_gradients, gradients_room;
    uint32_t joined, n_pass[3];
    uint64_t other, other_bytes; /* communication that is no gradient */
} maker;

static void note(const maker *m, const char *fmt, ...) RLT_PRINTF(2);
static void note(const maker *m, const char *fmt, ...)
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

static const char *name_of(const maker *m, uint32_t op)
{
    return rlt_program_string(m->p, m->p->ops[op].name);
}

static bool is_device(const rlt_op *o)
{
    return o->kind == RLT_OP_COMPUTE || o->kind == RLT_OP_MEMORY;
}

/* ---- step, order ---- */

static int compare_times(const void *a, const void *b)
{
    const rlt_time *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Chooses the step. Of two, the longer is taken. */
static int choose_step(maker *m, const char *path)
{
    const rlt_program *p = m->p;
    uint32_t n = 0, steps = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        steps = p->ops[i].step >= steps ? p->ops[i].step + 1u : steps;
    rlt_time *time = calloc((size_t)steps + 1, sizeof *time),
             *sorted = calloc((size_t)steps + 1, sizeof *time);
    int rc = time && sorted ? 0 : rlt_nomem(m->err);
    for (uint32_t i = 0; i < p->n_ops && !rc; i++)
        if (is_device(&p->ops[i]))
            time[p->ops[i].step] = rlt_time_add(time[p->ops[i].step], p->ops[i].duration_ps);
    for (uint32_t s = 0; s < steps && !rc; s++)
        if (time[s])
            sorted[n++] = time[s];
    if (!rc && n == 0)
        rc = rlt_fail(m->err, RLT_EMALFORMED, path,
                      "the trace has no device work that takes time: expected compute operations");
    if (!rc) {
        qsort(sorted, n, sizeof *sorted, compare_times);
        while (time[m->step] != sorted[n / 2])
            m->step++;
        if (n > 1)
            note(m, "step %" PRIu32 " of the trace is taken, of %" PRIu32 " with device work (median time)",
                 m->step, n);
    }
    free(time);
    free(sorted);
    return rc;
}

/* Puts operations in order: each follows those it waits for, otherwise as built. The builder has refused
 * cycles. */
static int find_order(maker *m)
{
    const rlt_program *p = m->p;
    uint32_t *stack = malloc(((size_t)p->n_ops + 1) * sizeof *stack), n = 0;
    if (!stack)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < p->n_ops; i++)
        m->nodes[i] = (node){.place = RLT_NONE, .thread = RLT_NONE, .update = RLT_NONE, .mate = RLT_NONE};
    for (uint32_t i = 0; i < p->n_ops; i++) {
        uint32_t depth = 0;
        if (m->nodes[i].place == RLT_NONE)
            stack[depth++] = i;
        while (depth) {
            uint32_t op = stack[depth - 1];
            node *x = &m->nodes[op]; /* x->n: dependencies looked at so far */
            while (x->n < p->ops[op].n_deps &&
                   m->nodes[p->deps[p->ops[op].first_dep + x->n]].place != RLT_NONE)
                x->n++;
            if (x->n < p->ops[op].n_deps)
                stack[depth++] = p->deps[p->ops[op].first_dep + x->n++];
            else {
                m->order[n] = op;
                x->place = n++;
                depth--;
            }
        }
    }
    free(stack);
    return 0;
}

/* ---- passes ---- */

/* Finds a word in upper or lower case. alone: no letter stands beside it. */
static const char *find_word(const char *name, const char *word, bool alone)
{
    size_t n = strlen(word);
    for (const char *at = name; *at; at++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)at[i]) == word[i])
            i++;
        bool letters =
            (at > name && isalpha((unsigned char)at[-1])) || (i == n && isalpha((unsigned char)at[n]));
        if (i == n && !(alone && letters))
            return at;
    }
    return NULL;
}

static bool any_word(const char *name, const char *const *words)
{
    while (*words && !find_word(name, *words, false))
        words++;
    return *words != NULL;
}

/* Finds out which host thread launched what, through delays. */
static void find_threads(maker *m)
{
    const rlt_program *p = m->p;
    for (uint32_t k = 0; k < p->n_ops; k++) {
        uint32_t op = m->order[k], place = 0;
        const rlt_op *o = &p->ops[op];
        node *x = &m->nodes[op];
        x->thread = o->kind == RLT_OP_HOST ? o->resource : RLT_NONE;
        for (uint32_t d = 0; d < o->n_deps && o->kind != RLT_OP_HOST; d++) {
            uint32_t on = p->deps[o->first_dep + d];
            const node *y = &m->nodes[on];
            bool launches = p->ops[on].kind == RLT_OP_HOST || p->ops[on].kind == RLT_OP_DELAY;
            if (launches && y->thread != RLT_NONE && y->place >= place) {
                x->thread = y->thread;
                place = y->place;
            }
        }
    }
}

/* Returns the pass by the rules 1 to 4, or RLT_NONE. main: thread of the first work. */
static uint32_t pass_of(const maker *m, uint32_t op, uint32_t main)
{
    static const char *const updates[] = {"optimizer",          "adam",    "adagrad", "sgd",
                                          "multi_tensor_apply", "addcmul", "addcdiv", NULL};
    static const char *const backward[] = {"backward", "autograd", "wgrad", "dgrad", "bwd", "_bw_", NULL};
    const char *name = name_of(m, op);
    uint32_t thread = m->nodes[op].thread;
    if (any_word(name, updates) || find_word(name, "step", true))
        return RLT_OPERATOR_UPDATE;
    if ((thread != RLT_NONE && thread != main) || any_word(name, backward))
        return RLT_OPERATOR_BACKWARD;
    return !m->recording && find_word(name, "forward", false) ? RLT_OPERATOR_FORWARD : RLT_NONE;
}

/* Gives device work its role and pass. */
static void find_passes(maker *m)
{
    const rlt_program *p = m->p;
    uint32_t main = RLT_NONE, first = RLT_NONE, last = 0;
    for (uint32_t k = 0; k < p->n_ops; k++) {
        uint32_t op = m->order[k], pass;
        node *x = &m->nodes[op];
        if (p->ops[op].step != m->step || !is_device(&p->ops[op]))
            continue;
        main = main == RLT_NONE ? x->thread : main;
        x->role = DEVICE;
        pass = pass_of(m, op, main);
        x->pass = (uint8_t)(pass == RLT_NONE ? UINT8_MAX : pass);
        if (pass == RLT_OPERATOR_BACKWARD) {
            first = first == RLT_NONE ? k : first;
            last = k;
        }
    }
    for (uint32_t k = 0; k < p->n_ops; k++) {
        node *x = &m->nodes[m->order[k]];
        if (x->role != DEVICE)
            continue;
        if (x->pass == UINT8_MAX)
            x->pass = k < first  ? RLT_OPERATOR_FORWARD
                      : k > last ? RLT_OPERATOR_UPDATE
                                 : RLT_OPERATOR_BACKWARD;
        m->n_pass[x->pass]++;
    }
    note(m,
         "passes are guessed from names, threads and order: %" PRIu32 " forward, %" PRIu32
         " backward and %" PRIu32 " update operations",
         m->n_pass[0], m->n_pass[1], m->n_pass[2]);
}

/* ---- dependencies ---- */

static bool is_operator(const maker *m, uint32_t op)
{
    const node *x = &m->nodes[op];
    return x->role == DEVICE && (m->updates || x->pass != RLT_OPERATOR_UPDATE);
}

/* Returns the stream in whose order an operation stands, or RLT_NONE. */
static uint32_t stream_of(const maker *m, uint32_t op)
{
    return m->recording && m->nodes[op].role == DEVICE ? m->p->ops[op].resource : RLT_NONE;
}

/* Meets an operation. Of a stream, the last one is enough. `by`: the operation that waits, plus one. */
static int meet(maker *m, uint32_t op, uint32_t by)
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
static int collect(maker *m, uint32_t op)
{
    const rlt_op *o = &m->p->ops[op];
    uint32_t stream = stream_of(m, op);
    int rc = 0;
    m->n_met = 0;
    for (uint32_t d = 0; d < o->n_deps && !rc; d++) {
        uint32_t on = m->p->deps[o->first_dep + d];
        const node *x = &m->nodes[on];
        if (is_operator(m, on))
            rc = meet(m, on, op + 1);
        for (uint32_t i = 0; i < x->n && !is_operator(m, on) && !rc; i++)
            rc = meet(m, m->items[x->first + i], op + 1);
    }
    if (!rc && is_operator(m, op) && stream != RLT_NONE && m->last[stream] != RLT_NONE)
        rc = meet(m, m->last[stream], op + 1);
    return rc;
}

/* Keeps the list of what an operation that vanishes waited for, for those who wait for it. */
static int keep(maker *m, uint32_t op)
{
    node *x = &m->nodes[op];
    bool itself = x->role == GRADIENT && !m->recording;
    int rc = rlt_grow(&m->items, &m->items_room, sizeof *m->items, (uint64_t)m->n_items + m->n_met + 1,
                      MAX_ITEMS, "dependencies", m->err);
    if (rc)
        return rc;
    x->first = m->n_items;
    for (uint32_t i = 0; i < m->n_met; i++) {
        node *y = &m->nodes[m->met[i]];
        if (y->role == GRADIENT && x->role == DEVICE) { /* an update */
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

static int add_edge(maker *m, uint32_t from, uint32_t to)
{
    int rc = rlt_grow(&m->edges, &m->edges_room, sizeof *m->edges, (uint64_t)m->n_edges + 1, RLT_MAX_TENSORS,
                      "tensors", m->err);
    if (!rc)
        m->edges[m->n_edges++] = (edge){from, to};
    return rc;
}

/* Adds the edges into an operator. A stream waits once for a place of another. */
static int add_edges(maker *m, uint32_t op)
{
    uint32_t stream = stream_of(m, op);
    int rc = 0;
    for (uint32_t i = 0; i < m->n_met && !rc; i++) {
        uint32_t on = m->met[i], other = stream_of(m, on);
        node *y = &m->nodes[on];
        if (y->role == GRADIENT) {
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

/* Finds the dependencies between operators. */
static int find_edges(maker *m)
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
        node *x = &m->nodes[i];
        x->first = x->n = x->mark = x->waiters = 0;
        x->held_up = false;
        if (p->ops[i].comm != RLT_NONE && p->ops[i].step == m->step && !m->updates) {
            rlt_coll_kind kind = p->comms[p->ops[i].comm].kind;
            x->role = kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER ? GRADIENT : GONE;
        }
    }
    for (uint32_t k = 0; k < p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        if (p->ops[op].step != m->step)
            continue;
        if (!(rc = collect(m, op)))
            rc = is_operator(m, op) ? add_edges(m, op) : keep(m, op);
    }
    return rc;
}

/* ---- gradients ---- */

static int add_gradient(maker *m, uint32_t op, uint32_t producer, uint64_t bytes)
{
    const node *x = &m->nodes[op];
    int rc = rlt_grow(&m->gradients, &m->gradients_room, sizeof *m->gradients, (uint64_t)m->n_gradients + 1,
                      RLT_MAX_OPERATORS, "gradients", m->err);
    if (!rc)
        m->gradients[m->n_gradients++] = (gradient){producer, x->waiters == 1 ? x->update : RLT_NONE, bytes};
    return rc;
}

/* Adds the gradients of a reduction: one for each backward operator before it; in a recording, for the last
 * one. before: the operator before it in the order. *some: whether there is one. */
static int add_gradients(maker *m, uint32_t op, uint32_t before, bool *some)
{
    const node *x = &m->nodes[op];
    uint64_t bytes = m->p->comms[m->p->ops[op].comm].bytes;
    uint32_t n = 0, last = RLT_NONE, k = 0;
    int rc = 0;
    if (x->n == 0 && m->recording && before != RLT_NONE && m->nodes[before].pass == RLT_OPERATOR_BACKWARD) {
        n = 1;
        last = before;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t on = m->items[x->first + i];
        if (!is_operator(m, on) || m->nodes[on].pass != RLT_OPERATOR_BACKWARD)
            continue;
        n++;
        last = last == RLT_NONE || m->nodes[on].place > m->nodes[last].place ? on : last;
    }
    *some = n && bytes && !x->held_up;
    if (*some && m->recording)
        return add_gradient(m, op, last, bytes);
    for (uint32_t i = 0; i < x->n && *some && !rc; i++) {
        uint32_t on = m->items[x->first + i];
        if (is_operator(m, on) && m->nodes[on].pass == RLT_OPERATOR_BACKWARD) {
            rc = add_gradient(m, op, on, bytes / n + (k < bytes % n));
            k++;
        }
    }
    return rc;
}

static int find_gradients(maker *m)
{
    const rlt_program *p = m->p;
    uint32_t before = RLT_NONE;
    int rc = 0;
    for (uint32_t k = 0; k < p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        bool some = false;
        if (is_operator(m, op))
            before = op;
        if (p->ops[op].step != m->step || p->ops[op].comm == RLT_NONE)
            continue;
        if (m->nodes[op].role == GRADIENT)
            rc = add_gradients(m, op, before, &some);
        m->other += !some;
        m->other_bytes += some ? 0 : p->comms[p->ops[op].comm].bytes;
    }
    return rc;
}

/* Returns true if each update waits for gradients and each gradient has an update of its own. */
static bool updates_known(const maker *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_gradients; i++)
        if (m->gradients[i].update == RLT_NONE)
            return false;
    for (uint32_t i = 0; i < m->p->n_ops; i++) {
        const node *x = &m->nodes[i];
        if (x->role == DEVICE && x->pass == RLT_OPERATOR_UPDATE) {
            n++;
            if (x->waiters == 0)
                return false;
        }
    }
    return n > 0;
}

/* ---- forward operators of backward ones ---- */

/* Writes a name without the word of its pass. Returns false if it has none. */
static bool without_pass(const char *name, uint32_t pass, char *out)
{
    const char *word = pass == RLT_OPERATOR_FORWARD ? "forward" : "backward",
               *at = find_word(name, word, false);
    if (at)
        snprintf(out, NAME, "%.*s%.100s", (int)(at - name > 100 ? 100 : at - name), name, at + strlen(word));
    return at != NULL;
}

/* Finds forward work by name. Names that appear twice do not count. */
static int find_names(maker *m, uint32_t *of_name, rlt_strings *names)
{
    char name[NAME];
    for (uint32_t i = 0; i < m->p->n_ops; i++) {
        const node *x = &m->nodes[i];
        if (x->role != DEVICE || x->pass != RLT_OPERATOR_FORWARD ||
            !without_pass(name_of(m, i), x->pass, name))
            continue;
        uint32_t before = names->n, s = rlt_intern(names, name, strlen(name));
        if (s == RLT_NONE)
            return rlt_nomem(m->err);
        of_name[s] = s < before ? RLT_NONE : i;
    }
    return 0;
}

/* Gives each backward operator the forward operator at the mirrored time, or that of its name. */
static int find_mates(maker *m)
{
    uint32_t n = m->p->n_ops, k = n;
    uint32_t *of_name = malloc(((size_t)n + 1) * sizeof *of_name);
    rlt_strings names = {0};
    double whole[2] = {0}, at[2] = {0};
    char name[NAME];
    int rc = of_name ? find_names(m, of_name, &names) : rlt_nomem(m->err);
    for (uint32_t i = 0; i < n; i++)
        if (m->nodes[i].role == DEVICE && m->nodes[i].pass != RLT_OPERATOR_UPDATE)
            whole[m->nodes[i].pass] += (double)m->p->ops[i].duration_ps;
    uint32_t mirrored = RLT_NONE;
    for (uint32_t b = 0; b < n && !rc; b++) {
        uint32_t op = m->order[b];
        node *x = &m->nodes[op];
        if (x->role != DEVICE || x->pass != RLT_OPERATOR_BACKWARD)
            continue;
        double share = (at[1] + (double)m->p->ops[op].duration_ps / 2) / (whole[1] > 0 ? whole[1] : 1);
        at[1] += (double)m->p->ops[op].duration_ps;
        while (k && (mirrored == RLT_NONE || at[0] < share * whole[0])) {
            const node *f = &m->nodes[m->order[--k]];
            if (f->role != DEVICE || f->pass != RLT_OPERATOR_FORWARD)
                continue;
            mirrored = m->order[k];
            at[0] += (double)m->p->ops[mirrored].duration_ps;
        }
        bool named = without_pass(name_of(m, op), x->pass, name);
        uint32_t s = named ? rlt_intern_find(&names, name, strlen(name)) : RLT_NONE;
        x->mate = s != RLT_NONE && of_name[s] != RLT_NONE ? of_name[s] : mirrored != RLT_NONE ? mirrored : op;
    }
    rlt_strings_free(&names);
    free(of_name);
    return rc;
}

/* ---- one piece ---- */

static uint32_t find_root(maker *m, uint32_t i)
{
    while (m->nodes[i].root != i)
        i = m->nodes[i].root = m->nodes[m->nodes[i].root].root;
    return i;
}

/* Joins pieces: the first operator of a piece waits for the operator before it. */
static int join_pieces(maker *m)
{
    uint32_t before = RLT_NONE, n = m->n_edges;
    int rc = 0;
    for (uint32_t i = 0; i < m->p->n_ops; i++)
        m->nodes[i].root = i;
    for (uint32_t e = 0; e < n; e++)
        m->nodes[find_root(m, m->edges[e].to)].root = find_root(m, m->edges[e].from);
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        if (!is_operator(m, op))
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

/* ---- building ---- */

/* Makes a name that no other operator has: "gemm", "gemm #2", ... */
static int new_name(maker *m, rlt_strings *names, rlt_map *used, const char *prefix, uint32_t op, char *out)
{
    const char *name = name_of(m, op);
    size_t length = (size_t)snprintf(out, NAME, "%s%.200s", prefix, *name ? name : "operation");
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

static int add_operators(maker *m, output *o)
{
    static const char *const kinds[] = {"Forward", "Backward", "Update"};
    char name[NAME];
    int rc = 0;
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) /* mates come later in the order than they are used */
        if (is_operator(m, m->order[k]))
            m->nodes[m->order[k]].id = o->n++;
    for (uint32_t k = 0; k < m->p->n_ops && !rc; k++) {
        uint32_t op = m->order[k];
        const node *x = &m->nodes[op];
        if (!is_operator(m, op) || (rc = new_name(m, &o->names, &o->used, "", op, name)))
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
        const node *from = &m->nodes[m->edges[e].from], *to = &m->nodes[m->edges[e].to];
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
static void fill_pools(maker *m, pool *pools, bool known)
{
    for (uint32_t i = 0; i < m->n_gradients; i++)
        pools[known ? m->gradients[i].update : 0].bytes += m->gradients[i].bytes;
    for (uint32_t i = 0; i < m->p->n_ops; i++)
        if (m->nodes[i].role == DEVICE && m->nodes[i].pass == RLT_OPERATOR_UPDATE)
            pools[known ? i : 0].time_ps =
                rlt_time_add(pools[known ? i : 0].time_ps, m->p->ops[i].duration_ps);
    double us = (double)pools[0].bytes / m->options->costs.update_bytes_per_us;
    if (m->n_pass[RLT_OPERATOR_UPDATE] == 0)
        pools[0].time_ps = us < 1e12 ? (rlt_time)nearbyint(us * (double)RLT_US) : RLT_TIME_MAX - 1;
}

static int add_updates(maker *m, output *o)
{
    bool known = updates_known(m);
    pool *pools = calloc((size_t)m->p->n_ops + 1, sizeof *pools);
    char name[NAME];
    int rc = pools ? 0 : rlt_nomem(m->err);
    if (!rc)
        fill_pools(m, pools, known);
    for (uint32_t i = 0; i < m->n_gradients && !rc; i++) {
        const gradient *g = &m->gradients[i];
        uint32_t forward = m->nodes[m->nodes[g->producer].mate].id, producer = m->nodes[g->producer].id;
        if ((rc = known ? new_name(m, &o->names, &o->used, "", g->update, name)
                        : new_name(m, &o->names, &o->used, "update ", g->producer, name)))
            break;
        uint32_t u =
            rlt_opgraph_op(o->b, &(rlt_operator){.name = name,
                                                 .kind = "Update",
                                                 .time_ps = take(&pools[known ? g->update : 0], g->bytes),
                                                 .parameter_bytes = g->bytes,
                                                 .forward = forward,
                                                 .together = forward,
                                                 .pass = RLT_OPERATOR_UPDATE});
        rlt_opgraph_tensor(o->b, &(rlt_tensor){producer, u, g->bytes, RLT_TENSOR_GRADIENT});
    }
    free(pools);
    if (!known && m->n_gradients && m->n_pass[RLT_OPERATOR_UPDATE])
        note(m, "the time of the %" PRIu32 " update operations is divided over the gradients by bytes",
             m->n_pass[RLT_OPERATOR_UPDATE]);
    else if (!known && m->n_gradients)
        note(m, "the trace has no update operations: their times follow from the bytes of parameters");
    return rc;
}

/* Says what was left out and assumed. */
static void tell(const maker *m, uint64_t bytes)
{
    char size[32];
    for (uint32_t i = 0; i < m->p->n_notes; i++)
        note(m, "trace: %.400s (%" PRIu64 ")", m->p->notes[i].text, m->p->notes[i].count);
    if (m->recording)
        note(m, "host work is left out; operations of a stream are taken to follow each other");
    if (m->n_gradients)
        note(m,
             "gradients are guessed: reductions after backward work, %s in %" PRIu32
             "; which forward operator has the weights follows from names or mirrored time",
             rlt_format_size(size, sizeof size, bytes), m->n_gradients);
    else
        note(m, "no reduction of gradients found: parameters are unknown, taken as 0 bytes, so that data "
                "parallelism looks cheaper than it is");
    if (m->other)
        note(m, "other communication is left out, the strategy decides it: %" PRIu64 " operations, %s",
             m->other, rlt_format_size(size, sizeof size, m->other_bytes));
    if (m->joined)
        note(m, "operators that wait for nothing recorded are taken to wait for the one before: %" PRIu32,
             m->joined);
    note(
        m,
        "sizes of tensors between operators and of activations are not in the trace: taken as 0 bytes, so that "
        "dividing the model looks cheaper than it is, and memory less");
    note(
        m,
        "every operator but updates is taken to divide the batch, its time with it; no launch time is added");
}

static int build(maker *m, const char *path, rlt_opgraph **out)
{
    output o = {0};
    char name[64];
    uint64_t bytes = 0;
    rlt__graph_name(path, name, sizeof name);
    int rc = rlt_opgraph_begin(name, &o.b, m->err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < m->n_gradients; i++) {
        const gradient *g = &m->gradients[i];
        m->nodes[m->nodes[g->producer].mate].weights += g->bytes;
        bytes += g->bytes;
    }
    rlt_opgraph_batch(o.b, m->options->batch);
    if (!(rc = add_operators(m, &o)))
        rc = add_updates(m, &o);
    rlt_strings_free(&o.names);
    rlt_map_free(&o.used);
    if (rc)
        rlt_opgraph_drop(o.b);
    else
        rc = rlt_opgraph_finish(o.b, out, m->err);
    if (!rc)
        tell(m, bytes);
    return rc;
}

/* ---- reading ---- */

static int make_room(maker *m)
{
    size_t n = (size_t)m->p->n_ops + 1, r = (size_t)m->p->n_resources + 1;
    m->nodes = malloc(n * sizeof *m->nodes);
    m->order = malloc(n * sizeof *m->order);
    m->last = malloc(r * sizeof *m->last);
    m->slot = malloc(r * sizeof *m->slot);
    m->stamp = malloc(r * sizeof *m->stamp);
    return m->nodes && m->order && m->last && m->slot && m->stamp ? 0 : rlt_nomem(m->err);
}

static int make(maker *m, const char *path, rlt_opgraph **out)
{
    int rc;
    if ((rc = make_room(m)) || (rc = choose_step(m, path)) || (rc = find_order(m)))
        return rc;
    for (uint32_t i = 0; i < m->p->n_ops; i++)
        m->recording |= m->p->ops[i].kind == RLT_OP_HOST && m->p->ops[i].step == m->step;
    if (m->recording)
        find_threads(m);
    find_passes(m);
    if ((rc = find_edges(m)) || (rc = find_gradients(m)))
        return rc;
    if (m->n_gradients == 0) {
        m->updates = true;
        rc = find_edges(m);
    }
    return rc || (rc = find_mates(m)) || (rc = join_pieces(m)) ? rc : build(m, path, out);
}

static void free_maker(maker *m)
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
    if (rc || (rc = rlt_trace_read(&path, 1, &how, &p, err)))
        return rc;
    maker m = {.p = p, .options = o, .err = err};
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
