/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of algorithms, the creation of plans, and the arithmetic of lanes and spans. */
#include "collectives/algorithm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/network.h"
#include "net/topology/topology.h"

/* Keeps sums over members, and products with small counts, within 64 bits. */
#define MAX_BYTES ((uint64_t)1 << 48)

#define RLT_X(name) &rlt_##name,
static const rlt_algorithm *const table[] = {RLT_ALGORITHMS(RLT_X)};
#undef RLT_X
static rlt_registry registry = RLT_REGISTRY("algorithm", RLT_ESCHEMA, table);

rlt_registry *rlt_algorithms(void)
{
    return &registry;
}

const rlt_algorithm *rlt_algorithm_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_algorithm *rlt_algorithm_find(const char *name, rlt_error *err)
{
    return rlt_registry_find(&registry, name, NULL, err);
}

const rlt_algorithm *rlt_algorithm_usual(const rlt_coll_request *req)
{
    if (req->kind == RLT_SEND_RECV)
        return &rlt_point_to_point;
    if (req->counts || req->kind == RLT_GATHER || req->kind == RLT_SCATTER || req->kind == RLT_ALL_TO_ALL)
        return &rlt_direct;
    uint32_t dims = 0;
    for (uint32_t d = 0; d < req->n_dims && d < RLT_MAX_DIMS; d++)
        dims += req->dims[d] > 1;
    return dims > 1 ? &rlt_hierarchical : &rlt_ring;
}

/* Checks that the counts of shares sum up to the collective's bytes. An all-to-all's counts need no check:
 * they define it. */
static int check_counts(const rlt_coll_request *req, rlt_error *err)
{
    const char *name = rlt_coll_name(req->kind);
    uint64_t sum = 0;
    if (!req->counts || req->kind == RLT_ALL_TO_ALL)
        return 0;
    if (!rlt_shares_counted(req))
        return rlt_fail(err, RLT_EUNSUPPORTED, name, "takes no counts");
    for (uint32_t i = 0; i < req->n; i++) {
        if (req->counts[i] > MAX_BYTES)
            return rlt_fail(err, RLT_ERANGE, name, "a share of %llu bytes is above the limit of 256 TiB",
                            (unsigned long long)req->counts[i]);
        sum += req->counts[i];
        if (sum > MAX_BYTES)
            return rlt_fail(err, RLT_ERANGE, name, "the counts sum to more than 256 TiB");
    }
    if (sum == req->bytes)
        return 0;
    return rlt_fail(err, RLT_ESCHEMA, name, "the counts sum to %llu bytes, not to the collective's %llu",
                    (unsigned long long)sum, (unsigned long long)req->bytes);
}

int rlt__plan_checks(const rlt_coll_request *req, rlt_error *err)
{
    const char *name = rlt_coll_name(req->kind);
    if ((unsigned)req->kind >= RLT_COLL_KINDS)
        return rlt_fail(err, RLT_ERANGE, NULL, "unknown kind of collective %d", (int)req->kind);
    if (req->n == 0 || req->n > RLT_MAX_MEMBERS)
        return rlt_fail(err, RLT_ERANGE, name, "expected 1 to %d members, got %u", RLT_MAX_MEMBERS, req->n);
    if (req->bytes > MAX_BYTES)
        return rlt_fail(err, RLT_ERANGE, name, "%llu bytes are above the limit of 256 TiB",
                        (unsigned long long)req->bytes);
    if (rlt_coll_rooted(req->kind) && req->root >= req->n)
        return rlt_fail(err, RLT_ERANGE, name, "root %u is not a member; expected 0 to %u", req->root,
                        req->n - 1);
    if (req->kind == RLT_SEND_RECV && req->n != 2)
        return rlt_fail(err, RLT_ETOPOLOGY, name, "expected 2 members, got %u", req->n);
    if (req->params.directions > 2)
        return rlt_fail(err, RLT_ERANGE, name, "expected 1 or 2 directions, got %u", req->params.directions);
    if (req->params.schedule >= RLT_CHUNK_SCHEDULES || req->params.order >= RLT_CHUNK_ORDERS)
        return rlt_fail(err, RLT_ERANGE, name, "unknown schedule %u or order %u", req->params.schedule,
                        req->params.order);
    if (req->n_dims > RLT_MAX_DIMS)
        return rlt_fail(err, RLT_ERANGE, name, "%u dimensions are too many; the limit is %d", req->n_dims,
                        RLT_MAX_DIMS);
    uint64_t product = 1;
    for (uint32_t d = 0; d < req->n_dims; d++) {
        product *= req->dims[d];
        if (product == 0 || product > req->n)
            break;
    }
    if (req->n_dims > 0 && product != req->n)
        return rlt_fail(err, RLT_ETOPOLOGY, name,
                        "expected dimensions with a product of %u, the number of members", req->n);
    return check_counts(req, err);
}

/* Whether a parameter belongs to one algorithm alone: its field is a slot. */
static bool is_own(const rlt_param *p)
{
    return p->width == sizeof(rlt_param_value);
}

static int take_own(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_params *given = &plan->req.params;
    for (const rlt_param *p = plan->algorithm->parameters; p && p->name; p++) {
        uint32_t k = 0;
        int rc = 0;
        if (!is_own(p))
            continue;
        while (k < given->n_own && given->own[k].row != p)
            k++;
        if (k < given->n_own)
            plan->own[p->offset / sizeof *plan->own] = given->own[k].value;
        else if (p->preset && (rc = rlt_param_read(p, plan->own, p->preset, NULL, err)))
            return rc;
    }
    return 0;
}

/* Refuses a plan whose sums or copies the network model cannot make. */
static int check_model(const rlt_plan *plan, rlt_error *err)
{
    const rlt_net_model *model = plan->req.model;
    bool lacks_sums = plan->reduces && !model->reduce_to,
         lacks_copies = plan->multicasts && !model->multicast;
    if (!lacks_sums && !lacks_copies)
        return 0;
    return rlt_fail(err, RLT_EUNSUPPORTED, plan->algorithm->name, "the network model '%s' has no %s",
                    model->name, lacks_sums ? "in-network reduction" : "multicast");
}

int rlt__plan_untuned(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                      rlt_error *err)
{
    *out = (rlt_plan){0};
    int rc = rlt__plan_checks(req, err);
    if (rc)
        return rc;
    if (!(algorithm->kinds & 1u << req->kind))
        return rlt_fail(err, RLT_EUNSUPPORTED, algorithm->name, "does not support %s",
                        rlt_coll_name(req->kind));
    if (req->counts && !(algorithm->counted & 1u << req->kind))
        return rlt_fail(err, RLT_EUNSUPPORTED, algorithm->name,
                        "does not support %s with counts; use algorithm direct", rlt_coll_name(req->kind));
    out->algorithm = algorithm;
    out->req = *req;
    if ((rc = take_own(out, err)))
        return rc;
    if (req->kind == RLT_BARRIER)
        out->req.bytes = 0;
    rc = algorithm->plan(out, err);
    if (!rc && req->model)
        rc = check_model(out, err);
    if (rc)
        rlt_plan_free(out);
    return rc;
}

void rlt_plan_free(rlt_plan *plan)
{
    if (!plan)
        return;
    if (plan->data && plan->algorithm->release)
        plan->algorithm->release(plan);
    free(plan->data);
    *plan = (rlt_plan){0};
}

uint64_t rlt_lane_bytes(const rlt_plan *plan, uint32_t lane)
{
    if (plan->shared)
        return plan->req.bytes;
    if (rlt_shares_counted(&plan->req)) {
        uint64_t sum = 0;
        for (uint32_t b = 0; b < plan->req.n; b++)
            sum += rlt_counted_bytes(plan, lane, b);
        return sum;
    }
    uint64_t block = plan->req.bytes / plan->blocks, larger = plan->req.bytes % plan->blocks;
    uint64_t base = rlt_part_size(block, plan->lanes, lane);
    return base * plan->blocks + (rlt_part_size(block + 1, plan->lanes, lane) - base) * larger;
}

/* Returns how many of the `reps` indices first, first + stride, ... lie below `limit`. */
static uint64_t count_below(uint64_t first, uint64_t stride, uint64_t reps, uint64_t limit)
{
    if (first >= limit)
        return 0;
    if (stride == 0)
        return reps;
    uint64_t count = (limit - first + stride - 1) / stride;
    return count < reps ? count : reps;
}

static uint64_t counted_span_bytes(const rlt_plan *plan, uint32_t lane, rlt_blocks span)
{
    uint32_t n = plan->req.n;
    uint64_t total = 0;
    for (uint32_t r = 0; r < span.reps; r++) {
        uint32_t block = (uint32_t)((span.first + (uint64_t)r * span.stride) % n);
        for (uint32_t i = 0; i < span.run; i++, block = block + 1 == n ? 0 : block + 1)
            total += rlt_counted_bytes(plan, lane, block);
    }
    return total;
}

uint64_t rlt_blocks_bytes(const rlt_plan *plan, uint32_t lane, rlt_blocks span)
{
    if (rlt_shares_counted(&plan->req))
        return counted_span_bytes(plan, lane, span);
    uint64_t bytes = rlt_lane_bytes(plan, lane), rest = bytes % plan->blocks;
    uint64_t count = (uint64_t)span.run * span.reps, total = count * (bytes / plan->blocks);
    if (rest == 0 || count == 0)
        return total;
    if (span.run == 1 && span.first + (uint64_t)(span.reps - 1) * span.stride < plan->blocks)
        return total + count_below(span.first, span.stride, span.reps, rest);
    for (uint32_t r = 0; r < span.reps; r++) {
        uint64_t first = (span.first + (uint64_t)r * span.stride) % plan->blocks, end = first + span.run;
        total += count_below(first, 1, span.run, rest);
        if (end > plan->blocks)
            total += count_below(0, 1, end - plan->blocks, rest);
    }
    return total;
}
