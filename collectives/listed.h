/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives written out step by step: read from a file (MSCCL XML, Chakra, JSON) or synthesised. A listed
 * collective is immutable data: for one kind, one number of members, any number of bytes. Run it by the
 * algorithm "custom" with request.listed; the symbolic checker, the executor and the exporters take it like
 * any other plan.
 *
 * Steps are rlt_step with send_bytes left 0: the plan fills them in from the spans and the request's bytes.
 * Lanes share one set of `blocks` blocks (plan->shared). Members may have fewer steps in a lane than others,
 * or none.
 */
#ifndef RLT_LISTED_H
#define RLT_LISTED_H

#include "collectives/algorithm.h"
#include "sim/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_listed {
    char name[64];    /* of the schedule, for tables and messages */
    char source[160]; /* the file it was read from, or how it was made */
    rlt_coll_kind kind;
    uint32_t n, root, lanes, blocks;
    uint8_t buffers, result;
    uint32_t *first; /* steps of (member, lane): steps[first[member * lanes + lane] .. first[... + 1]) */
    rlt_step *steps;
    uint32_t *line; /* of each step: its line in the file, for messages; NULL: none */
} rlt_listed;

RLT_API extern const rlt_algorithm rlt_custom;

/* Frees what the struct owns (not the struct). */
RLT_API void rlt_listed_free(rlt_listed *l);

/*
 * Builder: lanes are opened per member, steps appended. Freed by finish (which hands everything over) or
 * free. Running out of memory or over a limit is remembered and told by finish.
 */
typedef struct rlt_listing rlt_listing;
RLT_API int rlt_listing_create(const char *name, rlt_coll_kind kind, uint32_t n, uint32_t root,
                               uint32_t blocks, uint8_t buffers, uint8_t result, rlt_listing **out,
                               rlt_error *err) RLT_MUST_USE;
/* A new lane of the member: its number. */
RLT_API uint32_t rlt_listing_lane(rlt_listing *l, uint32_t member);
/* Appends a step (line 0: none) and returns its number in the lane. */
RLT_API uint32_t rlt_listing_step(rlt_listing *l, uint32_t member, uint32_t lane, const rlt_step *step,
                                  uint32_t line);
/* A step already appended, to be completed (peer_step, peer_shift, recv_count ...); valid until the next
 * append. */
RLT_API rlt_step *rlt_listing_at(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t step);
/* Number of lanes of a member so far. */
RLT_API uint32_t rlt_listing_lanes(const rlt_listing *l, uint32_t member);
RLT_API int rlt_listing_finish(rlt_listing *l, rlt_listed *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_listing_free(rlt_listing *l);

#ifdef __cplusplus
}
#endif
#endif
