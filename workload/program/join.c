/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies programs one behind the other into one store. */
#include "workload/program/join.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/internal.h"

/* Totals of the parts before the one that is copied. */
typedef struct offsets {
    uint32_t ranks, ops, deps, resources, groups, group_ranks, comms, comm_ops, notes;
} offsets;

static offsets sizes_of(const rlt_program *p)
{
    return (offsets){p->n_ranks,     p->n_ops,      p->n_deps,
                     p->n_resources, p->n_groups,   p->n_groups ? p->group_first[p->n_groups] : 0,
                     p->n_comms,     p->n_comm_ops, p->n_notes};
}

static bool advance(offsets *at, const rlt_program *p)
{
    const offsets more = sizes_of(p);
    const uint32_t add[] = {more.ranks,       more.ops,   more.deps,     more.resources, more.groups,
                            more.group_ranks, more.comms, more.comm_ops, more.notes};
    uint32_t *to[] = {&at->ranks,       &at->ops,   &at->deps,     &at->resources, &at->groups,
                      &at->group_ranks, &at->comms, &at->comm_ops, &at->notes};
    bool fits = true;
    for (size_t i = 0; i < sizeof add / sizeof *add; i++)
        fits &= !__builtin_add_overflow(*to[i], add[i], to[i]);
    return fits && at->ops <= RLT_MAX_OPS && at->ranks <= RLT_MAX_RANKS;
}

static int allocate(rlt_program_store *s, const offsets *all)
{
    s->ops = malloc(((size_t)all->ops + 1) * sizeof *s->ops);
    s->rank_first = malloc(((size_t)all->ranks + 1) * sizeof *s->rank_first);
    s->deps = malloc(((size_t)all->deps + 1) * sizeof *s->deps);
    s->resources = malloc(((size_t)all->resources + 1) * sizeof *s->resources);
    s->group_first = malloc(((size_t)all->groups + 1) * sizeof *s->group_first);
    s->group_ranks = malloc(((size_t)all->group_ranks + 1) * sizeof *s->group_ranks);
    s->group_names = malloc(((size_t)all->groups + 1) * sizeof *s->group_names);
    s->comms = malloc(((size_t)all->comms + 1) * sizeof *s->comms);
    s->comm_ops = malloc(((size_t)all->comm_ops + 1) * sizeof *s->comm_ops);
    s->rank_start_ps = malloc(((size_t)all->ranks + 1) * sizeof *s->rank_start_ps);
    s->rank_recorded_ps = malloc(((size_t)all->ranks + 1) * sizeof *s->rank_recorded_ps);
    s->notes = malloc(((size_t)all->notes + 1) * sizeof *s->notes);
    return s->ops && s->rank_first && s->deps && s->resources && s->group_first && s->group_ranks &&
                   s->group_names && s->comms && s->comm_ops && s->rank_start_ps && s->rank_recorded_ps &&
                   s->notes
               ? 0
               : RLT_ENOMEM;
}

/* Replaces the index of a part's string by its index in the store. */
static bool copy_name(rlt_program_store *s, const rlt_program *p, uint32_t *name)
{
    if (*name == RLT_NONE)
        return true;
    const char *text = rlt_program_string(p, *name);
    *name = rlt_intern(&s->strings, text, strlen(text));
    return *name != RLT_NONE;
}

static bool copy_ops(rlt_program_store *s, const rlt_program *p, const offsets *at)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        rlt_op *op = &s->ops[at->ops + i];
        *op = p->ops[i];
        op->rank += at->ranks;
        op->first_dep += at->deps;
        if (op->resource != RLT_NONE)
            op->resource += at->resources;
        if (op->comm != RLT_NONE)
            op->comm += at->comms;
        if (!copy_name(s, p, &op->name))
            return false;
    }
    for (uint32_t i = 0; i < p->n_deps; i++)
        s->deps[at->deps + i] = p->deps[i] + at->ops;
    for (uint32_t i = 0; i < p->n_resources; i++) {
        s->resources[at->resources + i] = p->resources[i];
        s->resources[at->resources + i].rank += at->ranks;
        if (!copy_name(s, p, &s->resources[at->resources + i].name))
            return false;
    }
    return true;
}

static void copy_ranks(rlt_program_store *s, const rlt_program *p, const offsets *at)
{
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        s->rank_first[at->ranks + i] = p->rank_first[i] + at->ops;
        s->rank_start_ps[at->ranks + i] = p->rank_start_ps[i];
        s->rank_recorded_ps[at->ranks + i] = p->rank_recorded_ps[i];
    }
}

static bool copy_groups(rlt_program_store *s, const rlt_program *p, const offsets *at)
{
    for (uint32_t g = 0; g < p->n_groups; g++) {
        s->group_first[at->groups + g] = p->group_first[g] + at->group_ranks;
        s->group_names[at->groups + g] = p->group_names[g];
        if (!copy_name(s, p, &s->group_names[at->groups + g]))
            return false;
    }
    for (uint32_t i = 0; p->n_groups && i < p->group_first[p->n_groups]; i++)
        s->group_ranks[at->group_ranks + i] = p->group_ranks[i] + at->ranks;
    return true;
}

/* Copies a count table. A gather with unequal shares has a single row. */
static bool copy_counts(rlt_program_store *s, const rlt_program *p, rlt_comm *c, uint32_t group)
{
    size_t n = p->group_first[group + 1] - p->group_first[group];
    size_t entries = c->kind == RLT_ALL_TO_ALL ? n * n : n;
    uint64_t *copy = rlt_arena_array(&s->arena, entries, sizeof *copy);
    if (copy)
        memcpy(copy, c->counts, entries * sizeof *copy);
    c->counts = copy;
    return copy != NULL;
}

static bool copy_comms(rlt_program_store *s, const rlt_program *p, const offsets *at)
{
    for (uint32_t i = 0; i < p->n_comms; i++) {
        rlt_comm *c = &s->comms[at->comms + i];
        *c = p->comms[i];
        c->group += at->groups;
        c->first_op += at->comm_ops;
        if (c->counts && !copy_counts(s, p, c, p->comms[i].group))
            return false;
    }
    for (uint32_t i = 0; i < p->n_comm_ops; i++)
        s->comm_ops[at->comm_ops + i] = p->comm_ops[i] + at->ops;
    for (uint32_t i = 0; i < p->n_notes; i++) {
        struct rlt_note *note = &s->notes[at->notes + i];
        *note = (struct rlt_note){rlt_arena_strdup(&s->arena, p->notes[i].text), p->notes[i].count};
        if (!note->text)
            return false;
    }
    return true;
}

static void freeze(rlt_program_store *s, const offsets *all)
{
    rlt_program *p = &s->program;
    s->rank_first[all->ranks] = all->ops;
    s->group_first[all->groups] = all->group_ranks;
    p->n_ranks = all->ranks;
    p->n_ops = all->ops;
    p->n_deps = all->deps;
    p->n_resources = all->resources;
    p->n_groups = all->groups;
    p->n_comms = all->comms;
    p->n_comm_ops = all->comm_ops;
    p->n_notes = all->notes;
    p->ops = s->ops;
    p->rank_first = s->rank_first;
    p->deps = s->deps;
    p->resources = s->resources;
    p->group_first = s->group_first;
    p->group_ranks = s->group_ranks;
    p->group_names = s->group_names;
    p->comms = s->comms;
    p->comm_ops = s->comm_ops;
    p->rank_start_ps = s->rank_start_ps;
    p->rank_recorded_ps = s->rank_recorded_ps;
    p->notes = s->notes;
    p->store = s;
}

int rlt_program_join(const rlt_program *const *parts, uint32_t n, rlt_program **out, uint32_t *first_rank,
                     rlt_error *err)
{
    offsets all = {0}, at = {0};
    *out = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!advance(&all, parts[i]))
            return rlt_fail(err, RLT_ERANGE, NULL, "the programs together exceed %d operations or %d ranks",
                            RLT_MAX_OPS, RLT_MAX_RANKS);
    rlt_program_store *s = calloc(1, sizeof *s);
    bool done = s && allocate(s, &all) == 0;
    for (uint32_t i = 0; i < n && done; i++) {
        const rlt_program *p = parts[i];
        first_rank[i] = at.ranks;
        copy_ranks(s, p, &at);
        done = copy_ops(s, p, &at) && copy_groups(s, p, &at) && copy_comms(s, p, &at);
        if (p->n_steps > s->program.n_steps)
            s->program.n_steps = p->n_steps;
        s->program.hash = rlt_mix64(s->program.hash + p->hash + 1);
        (void)advance(&at, p);
    }
    first_rank[n] = all.ranks;
    if (done)
        s->program.reader = rlt_arena_strdup(&s->arena, n ? parts[0]->reader : "");
    if (!done || !s->program.reader) {
        rlt_program_free(s ? &s->program : NULL);
        return rlt_nomem(err);
    }
    freeze(s, &all);
    *out = &s->program;
    return 0;
}
