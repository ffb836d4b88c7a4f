/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which entries of two sides are the same: by name, else by place. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "tools/trace/diff.h"
#include "workload/program/program.h"

/* MOST: per cent of the places that two names must share to be one operation. FEW: operations of one place
 * that are looked at. */
enum { MOST = 80, FEW = 8, MAX_PAIRS = 1 << 22 };

static void match_names(rlt_diff_side *a, rlt_diff_side *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const char *name = rlt_interned(&a->labels, a->entries[i].label);
        uint32_t label = rlt_intern_find(&b->labels, name, strlen(name));
        uint32_t at =
            label == RLT_NONE ? RLT_NONE : rlt_map_get(&b->index, (uint64_t)label << 3 | a->entries[i].part);
        a->entries[i].other = at;
        if (at != RLT_NONE)
            b->entries[at].other = i;
    }
}

/* The place of an operation whose name only one side has: the name before it on its resource that both sides
 * have, and which occurrence of that name it is. Hashed. */
typedef struct place {
    uint64_t at;
    uint32_t entry;
} place;

typedef struct places {
    place *list;
    uint32_t n;
} places;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Finds the places on the first recorded rank, in its last step. list has room for all its operations. */
static void walk(rlt_diff_side *s, uint32_t rank, uint64_t *last, uint32_t *seen, places *out)
{
    const rlt_program *p = s->program;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const rlt_op *op = &p->ops[i];
        uint32_t e = s->entry_of[i], r = op->resource == RLT_NONE ? p->n_resources : op->resource;
        if (e == RLT_NONE || s->entries[e].part != RLT_DIFF_COMPUTE || op->step + 1u != p->n_steps)
            continue;
        const char *name = rlt_interned(&s->labels, s->entries[e].label);
        if (s->entries[e].other == RLT_NONE) {
            out->list[out->n++] = (place){last[r], e};
            s->entries[e].placed++;
        } else
            last[r] = rlt_mix64(rlt_hash_bytes(name, strlen(name), 0) + seen[e]++);
    }
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, by_place);
}

static int find_places(rlt_diff_side *s, places *out, rlt_error *err)
{
    const rlt_program *p = s->program;
    uint32_t rank = 0;
    while (rank + 1 < p->n_ranks && s->span_ps[rank] <= 0)
        rank++;
    uint64_t *last = calloc((size_t)p->n_resources + 1, sizeof *last);
    uint32_t *seen = calloc((size_t)s->n + 1, sizeof *seen);
    *out =
        (places){malloc(((size_t)p->rank_first[rank + 1] - p->rank_first[rank] + 1) * sizeof *out->list), 0};
    int rc = last && seen && out->list ? 0 : rlt_nomem(err);
    if (!rc)
        walk(s, rank, last, seen, out);
    free(last);
    free(seen);
    return rc;
}

/* A pair of entries and how many places they share. */
typedef struct pair {
    uint32_t a, b, shared;
} pair;

typedef struct pairs {
    rlt_map index; /* (a, b) -> pair */
    pair *list;
    uint32_t n, capacity;
} pairs;

static int vote(pairs *v, uint32_t a, uint32_t b, rlt_error *err)
{
    uint64_t key = (uint64_t)a << 32 | b;
    uint32_t at = rlt_map_get(&v->index, key);
    if (at == RLT_NONE) {
        int rc = rlt_grow(&v->list, &v->capacity, sizeof *v->list, (uint64_t)v->n + 1, MAX_PAIRS,
                          "pairs of names", err);
        if (rc < 0)
            return rc;
        if (rlt_map_put(&v->index, key, v->n) < 0)
            return rlt_nomem(err);
        at = v->n;
        v->list[v->n++] = (pair){a, b, 0};
    }
    v->list[at].shared++;
    return 0;
}

/* Counts the places that each pair shares. Of a place that many operations have, the first few count. */
static int count_shared(const places *a, const places *b, pairs *v, rlt_error *err)
{
    uint32_t i = 0, k = 0;
    int rc = 0;
    while (i < a->n && k < b->n && !rc) {
        if (a->list[i].at != b->list[k].at) {
            a->list[i].at < b->list[k].at ? i++ : k++;
            continue;
        }
        uint64_t at = a->list[i].at;
        uint32_t m = 0, from = k;
        for (; i < a->n && a->list[i].at == at; i++, m++)
            for (k = from; k < b->n && b->list[k].at == at; k++)
                if (m < FEW && k - from < FEW && !rc)
                    rc = vote(v, a->list[i].entry, b->list[k].entry, err);
    }
    return rc;
}

static int most_shared(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->shared != y->shared)
        return x->shared < y->shared ? 1 : -1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* Matches pairs that share most of their places, those that share more first. */
static int match_places(rlt_diff_side *a, rlt_diff_side *b, rlt_error *err)
{
    places pa = {0}, pb = {0};
    pairs v = {.n = 0};
    int rc = find_places(a, &pa, err);
    rc = rc ? rc : find_places(b, &pb, err);
    rc = rc ? rc : count_shared(&pa, &pb, &v, err);
    if (v.n)
        qsort(v.list, v.n, sizeof *v.list, most_shared);
    for (uint32_t i = 0; i < v.n && !rc; i++) {
        rlt_diff_entry *x = &a->entries[v.list[i].a], *y = &b->entries[v.list[i].b];
        uint32_t more = x->placed > y->placed ? x->placed : y->placed;
        if (x->other != RLT_NONE || y->other != RLT_NONE || v.list[i].shared < more * MOST / 100.0)
            continue;
        x->other = v.list[i].b;
        y->other = v.list[i].a;
    }
    free(pa.list);
    free(pb.list);
    free(v.list);
    rlt_map_free(&v.index);
    return rc;
}

int rlt_diff_match(rlt_diff_side *a, rlt_diff_side *b, rlt_error *err)
{
    match_names(a, b);
    return match_places(a, b, err);
}
