/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The algorithm "custom": runs a listed collective. It is not in the table of algorithms, since it needs
 * request.listed.
 */
#include <stdarg.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
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
        return refuse(l, RLT_ETOPOLOGY, err, "'%s' is a plan for %u ranks, but the group has %u", l->name,
                      l->n, plan->req.n);
    if (rlt_coll_rooted(l->kind) && plan->req.root != l->root)
        return refuse(l, RLT_EUNSUPPORTED, err, "the root of plan '%s' is member %u; expected member %u",
                      l->name, l->root, plan->req.root);
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
        plan->reduces |= l->steps[i].verb == RLT_VERB_REDUCE || l->steps[i].verb == RLT_VERB_REDUCE_ALL;
        plan->multicasts |= RLT_LANDS_AT_ALL(l->steps[i].verb);
    }
    return 0;
}

static uint32_t custom_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const uint32_t *first = plan->req.listed->first + (size_t)member * plan->lanes + lane;
    return first[1] - first[0];
}

/* Bytes of blocks that are stored in positions other than their own; a block has the size of its origin. */
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
