/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives written out step by step: read from a file (MSCCL XML, Chakra, JSON) or synthesised. A listed
 * collective is immutable data: for one kind, one number of members, any number of bytes. Run it by the
 * algorithm "custom" with request.listed; the symbolic checker, the executor and the exporters take it like
 * any other plan.
 *
 * Steps are rlt_step with send_bytes left 0: the plan fills them in from the blocks sent and the request's
 * bytes. Lanes share one set of `blocks` blocks (plan->shared), or, if `separate`, each has `blocks` of its
 * own as in a plan that is not shared. Where they share, the checker also refuses blocks that two lanes touch
 * in no order, and adding to a block that holds nothing. Members may have fewer steps in a lane than others,
 * or none.
 *
 * Untracked: only messages are known, not what is in them. Steps keep their own send_bytes, which are those
 * of a collective of `bytes` bytes; for other sizes they are scaled in proportion and rounded down. The
 * checker then proves that every message is awaited and that nothing waits in a circle, no more.
 */
#ifndef RLT_COLLECTIVES_LISTED_H
#define RLT_COLLECTIVES_LISTED_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_listed {
    char name[64];    /* of the schedule, for tables and messages */
    char source[160]; /* the file it was read from, or how it was made */
    rlt_coll_kind kind;
    uint32_t n, root, lanes, blocks;
    uint8_t buffers, result;
    bool separate, untracked;
    uint64_t bytes;  /* untracked: of the collective that the steps' send_bytes are of */
    uint32_t *first; /* steps of (member, lane): steps[first[member * lanes + lane] .. first[... + 1]) */
    rlt_step *steps;
    uint32_t *line; /* of each step: its line in the file, for messages; NULL: none */
    /* Original blocks that the steps send, where they are not the blocks that they are sent from: of step i,
     * tags[tag_first[i] .. tag_first[i + 1]), none where they are the same. A block is as large as where it
     * comes from says. NULL: all the same. Found by rlt_listed_check. */
    uint32_t *tag_first, *tags;
} rlt_listed;

extern const rlt_algorithm rlt_custom;

/* Frees what the struct owns (not the struct). */
void rlt_listed_free(rlt_listed *l);
/* The place of a step for messages: "ring.xml:12: member 3, lane 0, step 4", or with the algorithm's name
 * where the plan comes from no file. */
void rlt_step_place(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t step, char *text,
                    size_t size);

/*
 * Builder: lanes are opened per member, steps appended. Freed by finish (which hands everything over) or
 * free. Running out of memory or over a limit is remembered and told by finish.
 */
typedef struct rlt_listing rlt_listing;
typedef struct rlt_listing_head {
    const char *name;
    rlt_coll_kind kind;
    uint32_t n, root, blocks; /* as in rlt_listed */
    uint8_t buffers, result;
} rlt_listing_head;
int rlt_listing_create(const rlt_listing_head *head, rlt_listing **out, rlt_error *err) RLT_MUST_USE;
/* For `source` in the result. */
void rlt_listing_source(rlt_listing *l, const char *source);
/* Makes the result `separate`; untracked, of so many bytes. */
void rlt_listing_separate(rlt_listing *l);
void rlt_listing_untracked(rlt_listing *l, uint64_t bytes);
/* A new lane of the member: its number. */
uint32_t rlt_listing_lane(rlt_listing *l, uint32_t member);
/* Appends a step (line 0: none) and returns its number in the lane. */
uint32_t rlt_listing_step(rlt_listing *l, uint32_t member, uint32_t lane, const rlt_step *step,
                          uint32_t line);
/* A step already appended, to be completed (peer_step, peer_shift, recv_count
 * ...); valid until the next append. */
rlt_step *rlt_listing_at(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t step);
/* Addresses what a step sends to a step of another member: sets send_to, peer_step and, by finish, peer_shift
 * of the one; recv_count and recv_from of the other. */
typedef struct rlt_listing_place {
    uint32_t member, lane, step;
} rlt_listing_place;
void rlt_listing_connect(rlt_listing *l, rlt_listing_place from, rlt_listing_place to);
/* Number of steps in a lane so far. */
uint32_t rlt_listing_steps(const rlt_listing *l, uint32_t member, uint32_t lane);
/* Whether something went wrong that finish will tell; step numbers mean nothing from then on. */
bool rlt_listing_failed(const rlt_listing *l);
int rlt_listing_finish(rlt_listing *l, rlt_listed *out, rlt_error *err) RLT_MUST_USE;
void rlt_listing_free(rlt_listing *l);

#ifdef __cplusplus
}
#endif
#endif
