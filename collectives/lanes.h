/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the algorithms. The lanes of a plan are numbered (channel, direction, chunk), with the chunk
 * fastest. The block sizes of each lane are precomputed, so that steps need no division.
 */
#ifndef RLT_COLLECTIVES_LANES_H
#define RLT_COLLECTIVES_LANES_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_lane {
    uint64_t base; /* size of a block in bytes; the first `rest` blocks have one byte more */
    uint32_t rest;
    uint32_t channel, chunk;
    uint8_t reverse; /* runs in the opposite direction */
} rlt_lane;

/* Sets the plan's channels, directions and chunks, and lanes to their product. RLT_ERANGE above
 * RLT_MAX_LANES. */
RLT_API int rlt_lanes_set(rlt_plan *plan, uint32_t channels, uint32_t directions, uint32_t chunks,
                          rlt_error *err) RLT_MUST_USE;
/* Returns a lane's numbers; plan->blocks must be set. `chunks` is the number of lanes of one channel and
 * direction. */
RLT_API rlt_lane rlt_lane_at(const rlt_plan *plan, uint32_t lane, uint32_t chunks);
/* Makes plan->data a list of the numbers of all lanes; rlt_plan_free frees it. plan->blocks must be set. */
RLT_API int rlt_lanes_list(rlt_plan *plan, rlt_error *err) RLT_MUST_USE;

static inline uint64_t rlt_block_bytes(const rlt_lane *l, uint32_t block)
{
    return l->base + (block < l->rest);
}

static inline uint64_t rlt_share_bytes(const rlt_plan *plan, const rlt_lane *l, uint32_t lane, uint32_t block)
{
    return rlt_shares_counted(&plan->req) ? rlt_counted_bytes(plan, lane, block) : rlt_block_bytes(l, block);
}

/* A run of contiguous blocks. */
static inline rlt_blocks rlt_blocks_run(uint32_t first, uint32_t run)
{
    rlt_blocks b = {first, run, 0, 1};
    return b;
}

/* (a + 1) mod n and (a - 1) mod n without a division. */
static inline uint32_t rlt_next(uint32_t a, uint32_t n)
{
    return a + 1 == n ? 0 : a + 1;
}
static inline uint32_t rlt_previous(uint32_t a, uint32_t n)
{
    return a == 0 ? n - 1 : a - 1;
}
/* (a + b) mod n and (a - b) mod n for a, b in [0, n); n <= 2^31. */
static inline uint32_t rlt_plus(uint32_t a, uint32_t b, uint32_t n)
{
    uint32_t c = a + b;
    return c >= n ? c - n : c;
}
static inline uint32_t rlt_minus(uint32_t a, uint32_t b, uint32_t n)
{
    return a >= b ? a - b : a + n - b;
}

/* Symmetry groups, see rlt_algorithm.symmetry. Rotation of all members: */
static inline uint32_t rlt_one_cycle(const rlt_plan *plan, uint32_t *sizes)
{
    sizes[0] = plan->req.n;
    return 1;
}
/* exclusive-or of member numbers, if n is a power of two: */
static inline uint32_t rlt_exclusive_or(const rlt_plan *plan, uint32_t *sizes)
{
    uint32_t n = 0;
    if (plan->req.n & (plan->req.n - 1))
        return 0;
    for (uint32_t m = plan->req.n; m > 1; m /= 2)
        sizes[n++] = 2;
    return n;
}

/* floor(log2(n)), n > 0. */
static inline uint32_t rlt_log2(uint32_t n)
{
    uint32_t rounds = 0;
    while (n >>= 1)
        rounds++;
    return rounds;
}

#ifdef __cplusplus
}
#endif
#endif
