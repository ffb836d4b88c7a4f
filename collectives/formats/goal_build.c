/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From GOAL operations to lanes. An operation continues the lane of one operation that it requires, and waits
 * for all others that it requires. If none of them is the last of a lane, it opens a new lane.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/formats/goal_raw.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

int rlt_goal_fail(const rlt_goal *g, uint32_t line, int code, rlt_error *err, const char *fmt, ...)
{
    char where[384];
    va_list args;
    snprintf(where, sizeof where, g->nodes ? "%s: node %u" : "%s:%u", g->file, line);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

int rlt_goal_beginnings(rlt_goal *g, rlt_error *err)
{
    uint32_t n = g->n_ops, n_edges = g->n_edges;
    uint32_t *begins = malloc(((size_t)n + 1) * sizeof *begins);
    int rc = 0;
    if (!begins)
        return rlt_nomem(err);
    memset(begins, 0xff, ((size_t)n + 1) * sizeof *begins);
    for (uint32_t i = 0; i < n_edges && !rc; i++) {
        const rlt_goal_edge *e = &g->edges[i];
        if (!e->early || begins[e->needs] != RLT_NONE)
            continue;
        rc = rlt_grow(&g->ops, &g->op_capacity, sizeof *g->ops, (uint64_t)g->n_ops + 1, 2 * RLT_GOAL_MAX_OPS,
                      "operations", err);
        if (!rc)
            rc = rlt_grow(&g->edges, &g->edge_capacity, sizeof *g->edges, (uint64_t)g->n_edges + 1,
                          4 * RLT_GOAL_MAX_OPS, "dependencies", err);
        if (rc)
            break;
        uint32_t of = g->edges[i].needs;
        g->ops[g->n_ops] = (rlt_goal_op){.type = RLT_GOAL_NOP,
                                         .rank = g->ops[of].rank,
                                         .cpu = g->ops[of].cpu,
                                         .line = g->ops[of].line,
                                         .match = RLT_NONE};
        begins[of] = g->n_ops++;
        g->edges[g->n_edges++] = (rlt_goal_edge){.op = of, .needs = begins[of]};
    }
    for (uint32_t i = 0; i < n_edges && !rc; i++) {
        rlt_goal_edge *e = &g->edges[i];
        if (e->early)
            e->needs = begins[e->needs];
        if (begins[e->op] != RLT_NONE)
            e->op = begins[e->op];
    }
    free(begins);
    return rc;
}

/* Puts each receive into the list of its (sender, receiver, tag). */
static int list_receives(rlt_goal *g, rlt_map *lists, uint32_t *first, uint32_t *last, uint32_t *after)
{
    for (uint32_t i = 0; i < g->n_ops; i++) {
        rlt_goal_op *o = &g->ops[i];
        if (o->type != RLT_GOAL_RECV)
            continue;
        uint64_t key = (uint64_t)o->peer << 48 | (uint64_t)o->rank << 32 | o->tag;
        o->list = rlt_map_get(lists, key);
        after[i] = RLT_NONE;
        if (o->list == RLT_NONE) {
            o->list = lists->n;
            first[o->list] = i;
            if (rlt_map_put(lists, key, o->list) < 0)
                return RLT_ENOMEM;
        } else
            after[last[o->list]] = i;
        last[o->list] = i;
    }
    return 0;
}

/* Gives each send the first receive that is left in its list. */
static int match_sends(rlt_goal *g, const rlt_map *lists, uint32_t *first, const uint32_t *after,
                       rlt_error *err)
{
    for (uint32_t i = 0; i < g->n_ops; i++) {
        rlt_goal_op *o = &g->ops[i];
        if (o->type != RLT_GOAL_SEND)
            continue;
        o->list = rlt_map_get(lists, (uint64_t)o->rank << 48 | (uint64_t)o->peer << 32 | o->tag);
        uint32_t r = o->list == RLT_NONE ? RLT_NONE : first[o->list];
        if (r == RLT_NONE)
            return rlt_goal_fail(
                g, o->line, RLT_ESCHEMA, err,
                "rank %u sends to rank %u with tag %u, but no operation receives this message", o->rank,
                o->peer, o->tag);
        if (g->ops[r].bytes != o->bytes)
            return rlt_goal_fail(
                g, g->ops[r].line, RLT_ESCHEMA, err, "receives %llu bytes, but rank %u sends %llu on line %u",
                (unsigned long long)g->ops[r].bytes, o->rank, (unsigned long long)o->bytes, o->line);
        o->match = r;
        g->ops[r].match = i;
        first[o->list] = after[r];
    }
    return 0;
}

int rlt_goal_match(rlt_goal *g, rlt_error *err)
{
    rlt_map lists = {0};
    size_t n = (size_t)g->n_ops + 1;
    uint32_t *first = malloc(3 * n * sizeof *first);
    int rc = first && !list_receives(g, &lists, first, first + n, first + 2 * n) ? 0 : rlt_nomem(err);
    if (!rc)
        rc = match_sends(g, &lists, first, first + 2 * n, err);
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        const rlt_goal_op *o = &g->ops[i];
        if (o->type == RLT_GOAL_RECV && o->match == RLT_NONE)
            rc = rlt_goal_fail(
                g, o->line, RLT_ESCHEMA, err,
                "rank %u receives from rank %u with tag %u, but no operation sends this message", o->rank,
                o->peer, o->tag);
    }
    rlt_map_free(&lists);
    free(first);
    return rc;
}

/* Dependencies as compressed rows: successors (then) and predecessors (needs) of each operation. */
typedef struct graph {
    uint32_t *then_first, *then, *needs_first, *needs, *missing, *order;
} graph;

static void free_graph(graph *x)
{
    free(x->then_first);
    free(x->then);
    free(x->needs_first);
    free(x->needs);
    free(x->missing);
    free(x->order);
}

static void fill_rows(const rlt_goal *g, bool needs, uint32_t *first, uint32_t *row)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        first[needs ? g->edges[i].op : g->edges[i].needs]++;
    for (uint32_t i = 0, sum = 0; i <= g->n_ops; i++) {
        sum += first[i];
        first[i] = sum;
    }
    for (uint32_t i = g->n_edges; i-- > 0;) {
        const rlt_goal_edge *e = &g->edges[i];
        row[--first[needs ? e->op : e->needs]] = needs ? e->needs : e->op;
    }
}

static int make_graph(const rlt_goal *g, graph *x, rlt_error *err)
{
    size_t n = (size_t)g->n_ops + 1, m = (size_t)g->n_edges + 1;
    *x = (graph){calloc(n, sizeof(uint32_t)),  malloc(m * sizeof(uint32_t)), calloc(n, sizeof(uint32_t)),
                 malloc(m * sizeof(uint32_t)), calloc(n, sizeof(uint32_t)),  malloc(n * sizeof(uint32_t))};
    if (!x->then_first || !x->then || !x->needs_first || !x->needs || !x->missing || !x->order)
        return rlt_nomem(err);
    fill_rows(g, false, x->then_first, x->then);
    fill_rows(g, true, x->needs_first, x->needs);
    return 0;
}

/* Sorts the operations topologically. Fails if they depend on each other in a circle. */
static int sort_ops(const rlt_goal *g, graph *x, rlt_error *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        x->missing[i] = x->needs_first[i + 1] - x->needs_first[i];
        if (x->missing[i] == 0)
            x->order[n++] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t o = x->order[i];
        for (uint32_t k = x->then_first[o]; k < x->then_first[o + 1]; k++)
            if (--x->missing[x->then[k]] == 0)
                x->order[n++] = x->then[k];
    }
    if (n == g->n_ops)
        return 0;
    uint32_t o = 0;
    while (x->missing[o] == 0)
        o++;
    for (uint32_t i = 0; i < g->n_ops; i++) { /* after n_ops steps back, o is on the circle */
        const uint32_t *needs = x->needs + x->needs_first[o];
        while (x->missing[*needs] == 0)
            needs++;
        o = *needs;
    }
    return rlt_goal_fail(g, g->ops[o].line, RLT_ESCHEMA, err,
                         "rank %u: this operation requires itself through other operations", g->ops[o].rank);
}

static void list_op(rlt_goal *g, rlt_listing *l, const graph *x, uint32_t i, uint32_t *tails)
{
    rlt_goal_op *o = &g->ops[i];
    const uint32_t *needs = x->needs + x->needs_first[i];
    uint32_t n = x->needs_first[i + 1] - x->needs_first[i], follows = RLT_NONE, left = 0;
    rlt_step s;
    for (uint32_t k = 0; k < n && follows == RLT_NONE; k++)
        if (tails[needs[k]])
            follows = needs[k];
    o->lane = follows == RLT_NONE ? rlt_listing_lane(l, o->rank) : g->ops[follows].lane;
    if (follows != RLT_NONE)
        tails[follows] = 0;
    for (uint32_t k = 0; k < n; k++)
        left += g->ops[needs[k]].lane != o->lane;
    rlt_step_clear(&s);
    for (uint32_t k = 0; k < n; k++) {
        if (g->ops[needs[k]].lane == o->lane)
            continue;
        s.wait_lane = g->ops[needs[k]].lane;
        s.wait_step = g->ops[needs[k]].step;
        if (--left > 0)
            rlt_listing_step(l, o->rank, o->lane, &s, g->nodes ? 0 : o->line);
    }
    s.send_bytes = o->type == RLT_GOAL_SEND ? o->bytes : 0;
    o->step = rlt_listing_step(l, o->rank, o->lane, &s, g->nodes ? 0 : o->line);
    tails[i] = 1;
}

static int list(rlt_goal *g, rlt_listing *l, const graph *x, rlt_error *err)
{
    uint32_t *tails = calloc((size_t)g->n_ops + 1, sizeof *tails);
    if (!tails)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < g->n_ops && !rlt_listing_failed(l); i++)
        list_op(g, l, x, x->order[i], tails);
    free(tails);
    for (uint32_t i = 0; i < g->n_ops && !rlt_listing_failed(l); i++) {
        const rlt_goal_op *o = &g->ops[i];
        if (o->type != RLT_GOAL_SEND)
            continue;
        const rlt_goal_op *match = &g->ops[o->match];
        rlt_listing_connect(l, (rlt_listing_place){o->rank, o->lane, o->step},
                            (rlt_listing_place){o->peer, match->lane, match->step});
    }
    return 0;
}

int rlt_goal_build(rlt_goal *g, rlt_listed *out, rlt_error *err)
{
    const rlt_listing_head head = {g->name, g->kind, g->ranks, g->root, 1, 1, 0};
    rlt_listing *l = NULL;
    graph x = {0};
    int rc;
    if ((rc = rlt_goal_match(g, err)) || (rc = rlt_goal_beginnings(g, err)) ||
        (rc = make_graph(g, &x, err)) || (rc = sort_ops(g, &x, err)) ||
        (rc = rlt_listing_create(&head, &l, err)))
        goto out;
    rlt_listing_source(l, g->file);
    rlt_listing_untracked(l, g->bytes);
    rc = list(g, l, &x, err);
    if (!rc) {
        rc = rlt_listing_finish(l, out, err);
        l = NULL;
    }
out:
    rlt_listing_free(l);
    free_graph(&x);
    return rc;
}
