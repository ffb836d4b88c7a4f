/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The algorithm "custom": runs what a listed collective says. It is in no table: there is nothing to run
 * without request.listed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/check/observe.h"
#include "collectives/formats/listed.h"
#include "sim/base/time.h"

static int refuse(const rlt_listed *l, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(4);

static int refuse(const rlt_listed *l, int code, rlt_error *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    rlt_vfail(err, code, l->source[0] ? l->source : l->name, fmt, args);
    va_end(args);
    return code;
}

static int custom_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_listed *l = plan->req.listed;
    if (!l)
        return rlt_fail(err, RLT_EUNSUPPORTED, "custom", "needs a plan from a file");
    if (plan->req.kind != l->kind)
        return refuse(l, RLT_EUNSUPPORTED, err, "'%s' is a plan for %s, not for %s", l->name,
                      rlt_coll_name(l->kind), rlt_coll_name(plan->req.kind));
    if (plan->req.n != l->n)
        return refuse(l, RLT_ETOPOLOGY, err, "'%s' is a plan for %u ranks, the group has %u", l->name, l->n,
                      plan->req.n);
    if (rlt_coll_rooted(l->kind) && plan->req.root != l->root)
        return refuse(l, RLT_EUNSUPPORTED, err, "'%s' has member %u as its root, not %u", l->name, l->root,
                      plan->req.root);
    if (l->untracked && l->bytes == 0 && plan->req.bytes != 0)
        return refuse(l, RLT_EUNSUPPORTED, err, "'%s' was made for 0 bytes and cannot be scaled to %llu",
                      l->name, (unsigned long long)plan->req.bytes);
    plan->lanes = l->lanes;
    plan->blocks = l->blocks;
    plan->buffers = l->buffers;
    plan->result = l->result;
    plan->shared = !l->separate;
    plan->untracked = l->untracked;
    plan->channels = plan->directions = 1;
    plan->chunks = l->lanes;
    for (uint32_t i = 0; i < l->first[(size_t)l->n * l->lanes]; i++) {
        plan->reduces |= l->steps[i].verb == RLT_VERB_REDUCE;
        plan->multicasts |= l->steps[i].verb == RLT_VERB_MULTICAST;
    }
    return 0;
}

static uint32_t custom_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const uint32_t *first = plan->req.listed->first + (size_t)member * plan->lanes + lane;
    return first[1] - first[0];
}

/* Of blocks that are not where they come from: as large as there. */
static uint64_t tagged_bytes(const rlt_plan *plan, uint32_t lane, const uint32_t *tags, uint32_t n)
{
    uint64_t bytes = rlt_lane_bytes(plan, lane), rest = bytes % plan->blocks;
    uint64_t total = n * (bytes / plan->blocks);
    for (uint32_t i = 0; rest && i < n; i++)
        total += tags[i] < rest;
    return total;
}

static void custom_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const rlt_listed *l = plan->req.listed;
    uint32_t i = l->first[(size_t)member * plan->lanes + lane] + k;
    *out = l->steps[i];
    if (out->send_to == RLT_NONE)
        return;
    if (l->untracked)
        out->send_bytes = l->bytes == plan->req.bytes
                              ? out->send_bytes
                              : (uint64_t)((unsigned __int128)out->send_bytes * plan->req.bytes / l->bytes);
    else if (l->tag_first && l->tag_first[i + 1] > l->tag_first[i])
        out->send_bytes =
            tagged_bytes(plan, lane, l->tags + l->tag_first[i], l->tag_first[i + 1] - l->tag_first[i]);
    else
        out->send_bytes = rlt_blocks_bytes(plan, lane, out->send);
}

const rlt_algorithm rlt_custom = {
    .name = "custom",
    .summary = "steps from a file: MSCCL XML, Chakra, GOAL, JSON",
    .kinds = (1u << RLT_COLL_KINDS) - 1,
    .plan = custom_plan,
    .steps = custom_steps,
    .step = custom_step,
};

void rlt_step_place(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t step, char *text,
                    size_t size)
{
    const rlt_listed *l = plan->algorithm == &rlt_custom ? plan->req.listed : NULL;
    const char *source = !l ? plan->algorithm->name : l->source[0] ? l->source : l->name;
    uint32_t first = l ? l->first[(size_t)member * plan->lanes + lane] : 0;
    uint32_t end = l ? l->first[(size_t)member * plan->lanes + lane + 1] : 0;
    uint32_t line = l && l->line && step < end - first ? l->line[first + step] : 0;
    if (line)
        snprintf(text, size, "%s:%u: member %u, lane %u, step %u", source, line, member, lane, step);
    else
        snprintf(text, size, "%s: member %u, lane %u, step %u", source, member, lane, step);
}

/* Tags of all steps in the order in which the checker meets them. */
typedef struct found_tags {
    const rlt_listed *l;
    uint32_t *tags; /* (step, count, tags ...) one after the other */
    uint32_t n, capacity;
    uint32_t *counts; /* of each step */
    uint64_t total;
} found_tags;

enum { MAX_TAGS = 1 << 26 };

static int note_send(void *ctx, uint32_t member, uint32_t lane, uint32_t step, const uint32_t *tags,
                     uint32_t n, rlt_error *err)
{
    found_tags *f = ctx;
    uint32_t i = f->l->first[(size_t)member * f->l->lanes + lane] + step;
    int rc = rlt_grow(&f->tags, &f->capacity, sizeof *f->tags, (uint64_t)f->n + n + 2, MAX_TAGS,
                      "blocks that rest in other places", err);
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
    /* One byte in each block of each lane: then a block's size says nothing, as its tag is still unknown. */
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
