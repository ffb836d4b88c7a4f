/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ranks and groups of a run. The largest communicator is the world if every recording has a place of its own
 * in it: that is its rank. Otherwise recordings are numbered in the order of files and devices. The members
 * of another communicator are the ranks that joined it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/kineto.h"
#include "workload/readers/nsys/nsys.h"

/* A rank's place in a communicator. Behind the last one stands a place that no member has. */
typedef struct place {
    uint64_t group; /* hash of name and size */
    uint32_t own, rank;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->own > y->own) - (x->own < y->own);
}

static uint64_t key_of(const rlt_kin_recording *k, const rlt_kin_group *g)
{
    const char *name = rlt_interned(&k->strings, g->name);
    return rlt_hash_bytes(name, strlen(name), g->size);
}

/* Returns the recording's first group of a size; NULL: none. */
static const rlt_kin_group *group_of_size(const rlt_kin_recording *k, uint32_t size)
{
    for (uint32_t i = 0; i < k->n_groups; i++)
        if (k->groups[i].size == size)
            return &k->groups[i];
    return NULL;
}

static int set_ranks(rlt_kin_run *run, rlt_error *err)
{
    uint32_t world = 0;
    uint64_t first = 0;
    for (uint32_t i = 0; i < run->n_files; i++)
        for (uint32_t g = 0; g < run->recordings[i].n_groups; g++)
            if (run->recordings[i].groups[g].size > world)
                world = run->recordings[i].groups[g].size;
    unsigned char *taken = calloc((size_t)world + 1, 1);
    if (!taken)
        return rlt_nomem(err);
    bool agree = world > 0;
    for (uint32_t i = 0; i < run->n_files && agree; i++) {
        const rlt_kin_group *g = group_of_size(&run->recordings[i], world);
        agree = g && !taken[g->own]++ && (i == 0 || key_of(&run->recordings[i], g) == first);
        first = agree && i == 0 ? key_of(&run->recordings[i], g) : first;
    }
    free(taken);
    for (uint32_t i = 0; i < run->n_files; i++) {
        const rlt_kin_group *g = agree ? group_of_size(&run->recordings[i], world) : NULL;
        run->recordings[i].world = g ? world : 0;
        run->recordings[i].rank = g ? g->own : run->n_files > 1 ? i : RLT_NONE;
    }
    return 0;
}

static int list_places(const rlt_kin_run *run, place **out, uint32_t *n, rlt_error *err)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < run->n_files; i++)
        total += run->recordings[i].n_groups;
    *out = malloc(((size_t)total + 1) * sizeof **out);
    *n = 0;
    if (!*out)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < run->n_files; i++)
        for (uint32_t g = 0; g < run->recordings[i].n_groups; g++) {
            const rlt_kin_group *x = &run->recordings[i].groups[g];
            (*out)[(*n)++] = (place){key_of(&run->recordings[i], x), x->own, run->recordings[i].rank};
        }
    qsort(*out, total, sizeof **out, by_place);
    (*out)[total] = (place){.own = UINT32_MAX};
    return 0;
}

static bool group_before(const void *thing, const void *group)
{
    return ((const place *)thing)->group < *(const uint64_t *)group;
}

/* Returns the first place of a group. n: the group starts nowhere. */
static uint32_t first_place(const place *places, uint32_t n, uint64_t group)
{
    return rlt__kin_first(places, n, sizeof *places, group_before, &group);
}

/* Writes the ranks of a group that is here as a whole, "0,1,2,". */
static int list_ranks(const place *places, uint32_t n, rlt_kin_recording *k, rlt_kin_group *g, rlt_error *err)
{
    uint64_t group = key_of(k, g);
    uint32_t at = first_place(places, n, group), used = 0;
    for (uint32_t i = 0; i < g->size; i++)
        if (places[at + i].group != group || places[at + i].own != i)
            return 0;
    char *text = malloc((size_t)g->size * 12 + 1);
    if (!text)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < g->size; i++)
        used += (uint32_t)snprintf(text + used, 12, "%u,", (unsigned)places[at + i].rank);
    g->ranks = rlt_intern(&k->strings, text, used);
    free(text);
    return g->ranks == RLT_NONE ? rlt_nomem(err) : 0;
}

/* Returns the rank of a member of a group; -1: unknown. */
static int64_t rank_of(const place *places, uint32_t n, const rlt_kin_recording *k, const rlt_kin_group *g,
                       int64_t member)
{
    uint64_t group = g ? key_of(k, g) : 0;
    uint32_t i = g ? first_place(places, n, group) : n;
    if (!g || g->size == k->world)
        return member;
    while (places[i].group == group && places[i].own < member)
        i++;
    return places[i].group == group && places[i].own == member ? (int64_t)places[i].rank : -1;
}

static bool is(const char *name, const char *what)
{
    return strcmp(name, what) == 0;
}

/* Completes a communication: NCCL's sizes count one member's part where the whole is meant here. */
static void complete(const place *places, uint32_t n, rlt_kin_recording *k, uint32_t ranks, rlt_kin_comm *c)
{
    const char *name = rlt_interned(&k->strings, c->name);
    const rlt_kin_group *g = NULL;
    for (uint32_t i = 0; i < k->n_groups && !g; i++)
        g = k->groups[i].name == c->group ? &k->groups[i] : NULL;
    c->group_size = g ? g->size : 0;
    uint64_t members = g ? g->size : ranks;
    if (is(name, "ReduceScatter") || is(name, "AlltoAll") || is(name, "AllToAll") || is(name, "Scatter"))
        c->in_elems = c->out_elems = c->in_elems * members;
    if (c->source >= 0)
        c->source = c->destination = rank_of(places, n, k, g, c->source);
}

int rlt__nsys_join(rlt_kin_run *run, rlt_error *err)
{
    place *places = NULL;
    uint32_t n = 0, ranks = run->opts->n_ranks;
    int rc = set_ranks(run, err);
    rc = rc ? rc : list_places(run, &places, &n, err);
    for (uint32_t i = 0; i < run->n_files && !run->opts->n_ranks; i++) {
        ranks = run->recordings[i].world > ranks ? run->recordings[i].world : ranks;
        ranks = run->n_files > ranks ? run->n_files : ranks;
    }
    for (uint32_t i = 0; i < run->n_files && rc == 0; i++) {
        rlt_kin_recording *k = &run->recordings[i];
        for (uint32_t g = 0; g < k->n_groups && rc == 0; g++)
            rc = list_ranks(places, n, k, &k->groups[g], err);
        for (uint32_t c = 0; c < k->n_comms && rc == 0; c++)
            complete(places, n, k, ranks, &k->comms[c]);
    }
    free(places);
    return rc;
}
