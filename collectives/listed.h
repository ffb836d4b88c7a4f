/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives written out step by step, read from a file (MSCCL XML, Chakra, JSON) or synthesised. A listed
 * collective is immutable data for one kind and one number of members; it serves any number of bytes. The
 * algorithm "custom" runs it (request.listed). The symbolic checker, the executor and the exporters treat it
 * like any plan.
 *
 * Steps are rlt_step with send_bytes 0; the plan computes send_bytes from the blocks sent and the request's
 * bytes. Lanes share one set of `blocks` blocks (plan->shared). If `separate`, each lane has `blocks` blocks
 * of its own. For shared blocks the checker also refuses unordered accesses of two lanes to a block, and
 * adding to an empty block. Members may have different numbers of steps in a lane, or none.
 *
 * In an untracked collective only the messages are known, not their contents. Its steps keep their own
 * send_bytes, valid for a collective of `bytes` bytes; for other sizes they are scaled in proportion and
 * rounded down. The checker then proves only that every message is awaited and that there is no circular
 * wait.
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
    char name[64];    /* name of the schedule, for tables and messages */
    char source[160]; /* file it was read from, or how it was made */
    rlt_coll_kind kind;
    uint32_t n, root, lanes, blocks;
    uint8_t buffers, result;
    bool separate, untracked;
    uint64_t bytes; /* untracked: size of the collective for which send_bytes hold */
    /* steps of (member, lane) are steps[first[i] .. first[i + 1]) with i = member * lanes + lane */
    uint32_t *first;
    rlt_step *steps;
    uint32_t *line; /* source line of each step, for messages; NULL: unknown */
    /* Original blocks that step i sends, tags[tag_first[i] .. tag_first[i + 1]); empty if they are the blocks
     * at the positions it sends from. The size of a block is that of its origin. NULL: all steps are so.
     * Filled by rlt_listed_check. */
    uint32_t *tag_first, *tags;
} rlt_listed;

extern const rlt_algorithm rlt_custom;

/* Frees what the struct owns, not the struct itself. */
void rlt_listed_free(rlt_listed *l);
/* Writes the place of a step for messages: "ring.xml:12: member 3, lane 0, step 4". A plan that comes from no
 * file shows the algorithm's name instead. */
void rlt_step_place(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t step, char *text,
                    size_t size);

/*
 * Builder of listed collectives: open lanes per member, then append steps. rlt_listing_finish hands
 * everything over and frees the builder; rlt_listing_free discards it. Errors (out of memory, limits) are
 * kept until finish, which reports the first one.
 */
typedef struct rlt_listing rlt_listing;
typedef struct rlt_listing_head {
    const char *name;
    rlt_coll_kind kind;
    uint32_t n, root, blocks; /* as in rlt_listed */
    uint8_t buffers, result;
} rlt_listing_head;
int rlt_listing_create(const rlt_listing_head *head, rlt_listing **out, rlt_error *err) RLT_MUST_USE;
/* Sets `source` of the result. */
void rlt_listing_source(rlt_listing *l, const char *source);
/* Makes the result `separate`, or untracked with the given size in bytes. */
void rlt_listing_separate(rlt_listing *l);
void rlt_listing_untracked(rlt_listing *l, uint64_t bytes);
/* Opens a lane of the member and returns its number. */
uint32_t rlt_listing_lane(rlt_listing *l, uint32_t member);
/* Appends a step and returns its number in the lane. line 0: unknown. */
uint32_t rlt_listing_step(rlt_listing *l, uint32_t member, uint32_t lane, const rlt_step *step,
                          uint32_t line);
/* Returns an appended step, to be completed (peer_step, peer_shift, recv_count, ...). Valid until the next
 * append. */
rlt_step *rlt_listing_at(rlt_listing *l, uint32_t member, uint32_t lane, uint32_t step);
/* Addresses the message of step `from` to step `to` of another member. Sets send_to and peer_step of the
 * sender (peer_shift follows in finish), recv_count and recv_from of the receiver. */
typedef struct rlt_listing_place {
    uint32_t member, lane, step;
} rlt_listing_place;
void rlt_listing_connect(rlt_listing *l, rlt_listing_place from, rlt_listing_place to);
/* Returns the number of steps in a lane so far. */
uint32_t rlt_listing_steps(const rlt_listing *l, uint32_t member, uint32_t lane);
/* Whether an error is pending that finish will report. Step numbers are meaningless from then on. */
bool rlt_listing_failed(const rlt_listing *l);
int rlt_listing_finish(rlt_listing *l, rlt_listed *out, rlt_error *err) RLT_MUST_USE;
void rlt_listing_free(rlt_listing *l);

#ifdef __cplusplus
}
#endif
#endif
