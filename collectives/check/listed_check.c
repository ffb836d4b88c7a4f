/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a listed collective, and finds the tags of its steps. */
#include "collectives/check/listed_check.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/observe.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/mem.h"

/* Tags of all steps, in the order in which the checker meets them. */
typedef struct found_tags {
    const rlt_listed *l;
    uint32_t *tags; /* sequence of (step, count, tags ...) */
    uint32_t n, capacity;
    uint32_t *counts; /* number of tags of each step */
    uint64_t total;
} found_tags;

enum { MAX_TAGS = 1 << 26 };

static int note_send(void *ctx, uint32_t member, uint32_t lane, uint32_t step, const uint32_t *tags,
                     uint32_t n, rlt_error *err)
{
    found_tags *f = ctx;
    uint32_t i = f->l->first[(size_t)member * f->l->lanes + lane] + step;
    int rc = rlt_grow(&f->tags, &f->capacity, sizeof *f->tags, (uint64_t)f->n + n + 2, MAX_TAGS,
                      "displaced blocks", err);
    if (rc)
        return rc;
    f->tags[f->n++] = i;
    f->tags[f->n++] = n;
    memcpy(f->tags + f->n, tags, n * sizeof *tags);
    f->n += n;
    f->counts[i] = n;
    f->total += n;
    return 0;
}

static int keep_tags(rlt_listed *l, const found_tags *f, rlt_error *err)
{
    uint32_t n_steps = l->first[(size_t)l->n * l->lanes];
    if (f->total == 0)
        return 0;
    l->tag_first = malloc(((size_t)n_steps + 1) * sizeof *l->tag_first);
    l->tags = malloc(f->total * sizeof *l->tags);
    if (!l->tag_first || !l->tags)
        return rlt_nomem(err);
    l->tag_first[0] = 0;
    for (uint32_t i = 0; i < n_steps; i++)
        l->tag_first[i + 1] = l->tag_first[i] + f->counts[i];
    for (uint32_t at = 0; at < f->n; at += 2 + f->tags[at + 1])
        memcpy(l->tags + l->tag_first[f->tags[at]], f->tags + at + 2, f->tags[at + 1] * sizeof *l->tags);
    return 0;
}

int rlt_listed_check(rlt_listed *l, rlt_error *err)
{
    /* One byte in each block of each lane: sizes then do not depend on tags, which are still unknown. */
    uint64_t even = (uint64_t)l->blocks * (l->separate ? l->lanes : 1);
    rlt_coll_request req = {.kind = l->kind, .n = l->n, .root = l->root, .listed = l};
    found_tags f = {.l = l};
    rlt_plan plan;
    req.bytes = l->untracked ? l->bytes : l->kind == RLT_BARRIER ? 0 : even;
    int rc = rlt_plan_create(&rlt_custom, &req, &plan, err);
    if (rc)
        return rc;
    free(l->tag_first);
    free(l->tags);
    l->tag_first = l->tags = NULL;
    f.counts = calloc((size_t)l->first[(size_t)l->n * l->lanes] + 1, sizeof *f.counts);
    rc = f.counts ? rlt_plan_check_observed(&plan, note_send, &f, err) : rlt_nomem(err);
    if (!rc)
        rc = keep_tags(l, &f, err);
    free(f.counts);
    free(f.tags);
    rlt_plan_free(&plan);
    return rc;
}
