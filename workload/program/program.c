/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the collected operations into the frozen program: sorted by rank, checked for cycles, matched. */
#include "workload/program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "workload/program/internal.h"

void rlt_program_free(rlt_program *p)
{
    if (!p)
        return;
    /* A finished program knows its store. An unfinished one is the first member of its store. */
    rlt_program_store *s = p->store ? p->store : (rlt_program_store *)(void *)p;
    rlt_strings_free(&s->strings);
    rlt_arena_free(&s->arena);
    free(s->ops);
    free(s->rank_first);
    free(s->deps);
    free(s->group_first);
    free(s->group_ranks);
    free(s->group_names);
    free(s->comm_ops);
    free(s->resources);
    free(s->comms);
    free(s->rank_start_ps);
    free(s->rank_recorded_ps);
    free(s->notes);
    free(s);
}

const char *rlt_program_string(const rlt_program *p, uint32_t name)
{
    return rlt_interned(&p->store->strings, name);
}

void rlt__op_place(const rlt_builder *b, uint32_t op, char *buffer, size_t size)
{
    if (op >= b->n_ops) {
        snprintf(buffer, size, "an operation");
        return;
    }
    const rlt_op *o = &b->store->ops[op];
    snprintf(buffer, size, "rank %" PRIu32 ": operation '%.100s'", o->rank,
             rlt_interned(&b->store->strings, o->name));
}

static bool is_by_rank(const rlt_builder *b)
{
    const rlt_op *ops = b->store->ops;
    for (uint32_t i = 1; i < b->n_ops; i++)
        if (ops[i].rank < ops[i - 1].rank)
            return false;
    return true;
}

/*
 * Sorts the operations by rank and keeps the order inside a rank. (*position)[i] is the new index of
 * operation i. Most readers build rank after rank: then nothing moves, and *position is NULL.
 */
static int order_by_rank(rlt_builder *b, uint32_t **position, rlt_error *err)
{
    rlt_program_store *s = b->store;
    s->rank_first = calloc((size_t)b->n_ranks + 1, sizeof *s->rank_first);
    if (!s->rank_first)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < b->n_ops; i++)
        s->rank_first[s->ops[i].rank + 1]++;
    for (uint32_t r = 0; r < b->n_ranks; r++)
        s->rank_first[r + 1] += s->rank_first[r];
    if (is_by_rank(b) && s->ops)
        return 0;
    if (b->needs && rlt__scatter_deps(b) < 0)
        return b->error.code;
    uint32_t *to = malloc(((size_t)b->n_ops + 1) * sizeof *to);
    uint32_t *next = malloc(b->n_ranks * sizeof *next);
    rlt_op *sorted = malloc(((size_t)b->n_ops + 1) * sizeof *sorted);
    if (!to || !next || !sorted) {
        free(to);
        free(next);
        free(sorted);
        return rlt_nomem(err);
    }
    memcpy(next, s->rank_first, b->n_ranks * sizeof *next);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        to[i] = next[s->ops[i].rank]++;
        sorted[to[i]] = s->ops[i];
    }
    free(next);
    free(s->ops);
    s->ops = sorted;
    *position = to;
    return 0;
}

/* Sorts the dependencies of each operation and drops repetitions. s->deps has them at first_dep, one
 * operation after the other. */
static void tidy_deps(rlt_builder *b)
{
    rlt_program_store *s = b->store;
    uint32_t used = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        uint32_t from = s->ops[i].first_dep, n = s->ops[i].n_deps;
        if (n > 1)
            rlt_sort_u32(s->deps + from, n);
        s->ops[i].first_dep = used;
        for (uint32_t k = from; k < from + n; k++)
            if (k == from || s->deps[k] != s->deps[used - 1])
                s->deps[used++] = s->deps[k];
        s->ops[i].n_deps = used - s->ops[i].first_dep;
    }
    s->program.n_deps = used;
}

static uint32_t moved(const uint32_t *position, uint32_t i)
{
    return position ? position[i] : i;
}

/* Gathers scattered dependencies of each operation. */
static int gather_deps(rlt_builder *b, const uint32_t *position, rlt_error *err)
{
    rlt_program_store *s = b->store;
    s->deps = malloc(((size_t)b->n_deps + 1) * sizeof *s->deps);
    if (!s->deps)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < b->n_ops; i++)
        s->ops[i].n_deps = 0;
    for (uint32_t i = 0; i < b->n_deps; i++)
        s->ops[moved(position, b->deps[i].op)].n_deps++;
    for (uint32_t i = 0, sum = 0; i < b->n_ops; i++) {
        s->ops[i].first_dep = sum;
        sum += s->ops[i].n_deps;
        s->ops[i].n_deps = 0;
    }
    for (uint32_t i = 0; i < b->n_deps; i++) {
        rlt_op *o = &s->ops[moved(position, b->deps[i].op)];
        s->deps[o->first_dep + o->n_deps++] = moved(position, b->deps[i].on);
    }
    free(b->deps);
    b->deps = NULL;
    return 0;
}

/* Lays out the dependencies of each operation, ascending and without repetitions. */
static int lay_out_deps(rlt_builder *b, const uint32_t *position, rlt_error *err)
{
    int rc = 0;
    if (b->needs) {
        b->store->deps = b->needs;
        b->needs = NULL;
    } else
        rc = gather_deps(b, position, err);
    if (rc == 0)
        tidy_deps(b);
    return rc;
}

/* Reports the cycle stack[from .. depth): each operation waits for the next one, the last for the first. */
static int fail_cycle(const rlt_builder *b, const uint32_t *stack, uint32_t from, uint32_t depth,
                      rlt_error *err)
{
    const rlt_program_store *s = b->store;
    char text[800];
    size_t used = 0;
    uint32_t length = depth - from;
    for (uint32_t i = 0; i <= length && used < sizeof text - 1; i++) {
        if (i == 6 && length > 7) {
            int n = snprintf(text + used, sizeof text - used, " -> ... (%" PRIu32 " in all)", length);
            used += n > 0 ? (size_t)n : 0;
            break;
        }
        const rlt_op *op = &s->ops[stack[from + i % length]];
        int n = snprintf(text + used, sizeof text - used, "%s'%.60s'", i ? " -> " : "",
                         rlt_interned(&s->strings, op->name));
        used += n > 0 ? (size_t)n : 0;
    }
    char where[200];
    rlt__op_place(b, stack[from], where, sizeof where);
    return rlt_fail(err, RLT_ESCHEMA, where, "operations wait for each other in a cycle: %s", text);
}

/* Searches depth first along the dependencies from `root`. marks: 0 not seen, 1 on the stack, 2 done. */
static int search_cycle(const rlt_builder *b, uint32_t root, uint8_t *marks, uint32_t *stack, uint32_t *at,
                        rlt_error *err)
{
    const rlt_program_store *s = b->store;
    uint32_t depth = 0;
    stack[depth] = root;
    at[depth++] = 0;
    marks[root] = 1;
    while (depth > 0) {
        const rlt_op *op = &s->ops[stack[depth - 1]];
        if (at[depth - 1] == op->n_deps) {
            marks[stack[--depth]] = 2;
            continue;
        }
        uint32_t on = s->deps[op->first_dep + at[depth - 1]++];
        if (marks[on] == 1) {
            uint32_t from = depth - 1;
            while (stack[from] != on)
                from--;
            return fail_cycle(b, stack, from, depth, err);
        }
        if (marks[on] == 0) {
            marks[on] = 1;
            stack[depth] = on;
            at[depth++] = 0;
        }
    }
    return 0;
}

/* Returns true if all dependencies point to operations built earlier: these cannot form a cycle. */
static bool points_back(const rlt_builder *b)
{
    const rlt_program_store *s = b->store;
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (s->ops[i].n_deps && s->deps[s->ops[i].first_dep + s->ops[i].n_deps - 1] >= i)
            return false;
    return true;
}

static int check_cycles(const rlt_builder *b, rlt_error *err)
{
    if (points_back(b))
        return 0;
    uint8_t *marks = calloc(b->n_ops, 1);
    uint32_t *stack = malloc((size_t)b->n_ops * sizeof *stack), *at = malloc((size_t)b->n_ops * sizeof *at);
    int rc = marks && stack && at ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < b->n_ops && rc == 0; i++)
        if (marks[i] == 0)
            rc = search_cycle(b, i, marks, stack, at, err);
    free(marks);
    free(stack);
    free(at);
    return rc;
}

/* Shifts the starts so that the earliest known one is 0. Ranks without a start begin at 0 as well. */
static void normalise_starts(rlt_program_store *s, uint32_t n_ranks)
{
    rlt_time least = INT64_MAX;
    for (uint32_t r = 0; r < n_ranks; r++)
        if (s->rank_start_ps[r] != INT64_MIN && s->rank_start_ps[r] < least)
            least = s->rank_start_ps[r];
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (s->rank_start_ps[r] == INT64_MIN) {
            s->rank_start_ps[r] = 0;
            continue;
        }
        uint64_t offset = (uint64_t)s->rank_start_ps[r] - (uint64_t)least;
        s->rank_start_ps[r] = offset > (uint64_t)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)offset;
    }
}

static int freeze(rlt_builder *b, const char *reader, rlt_program **out, rlt_error *err)
{
    rlt_program_store *s = b->store;
    rlt_program *p = &s->program;
    if (!s->group_first)
        s->group_first = calloc(1, sizeof *s->group_first);
    p->reader = rlt_arena_strdup(&s->arena, reader);
    if (!s->group_first || !p->reader)
        return rlt_nomem(err);
    normalise_starts(s, b->n_ranks);
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (s->ops[i].step >= p->n_steps)
            p->n_steps = s->ops[i].step + 1u;
    p->n_ranks = b->n_ranks;
    p->n_ops = b->n_ops;
    p->n_resources = b->n_resources;
    p->n_groups = b->n_groups;
    p->n_notes = b->n_notes;
    p->hash = b->hash;
    p->n_layers = b->n_layers;
    p->ops = s->ops;
    p->rank_first = s->rank_first;
    p->deps = s->deps;
    p->resources = s->resources;
    p->group_first = s->group_first;
    p->group_ranks = s->group_ranks;
    p->group_names = s->group_names = b->group_labels;
    b->group_labels = NULL;
    p->comms = s->comms;
    p->comm_ops = s->comm_ops;
    p->rank_start_ps = s->rank_start_ps;
    p->rank_recorded_ps = s->rank_recorded_ps;
    p->notes = s->notes;
    p->store = s;
    *out = p;
    b->store = NULL;
    return 0;
}

int rlt_builder_finish(rlt_builder *b, const char *reader, rlt_program **out, rlt_error *err)
{
    *out = NULL;
    uint32_t *position = NULL;
    int rc = b->error.code;
    if (rc < 0 && err && err->code == 0)
        *err = b->error;
    if (rc == 0)
        rc = order_by_rank(b, &position, &b->error);
    if (rc == 0)
        rc = lay_out_deps(b, position, &b->error);
    if (rc == 0)
        rc = check_cycles(b, &b->error);
    if (rc == 0)
        rc = rlt__match(b, &b->error);
    if (rc == 0)
        rc = b->error.code; /* a note or a group failed on the way */
    if (rc == 0)
        rc = freeze(b, reader, out, &b->error);
    if (rc < 0 && err && err->code == 0)
        *err = b->error;
    free(position);
    rlt_builder_free(b);
    return rc;
}
