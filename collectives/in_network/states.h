/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial and final state of each kind of collective, block by block, for the checker. This is the meaning of
 * the kinds, as collectives/algorithm.h states it. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_IN_NETWORK_STATES_H
#define RLT_COLLECTIVES_IN_NETWORK_STATES_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* Required contents of a block of the result: original block `tag` with the contributions of all members, or
 * of member `one` alone. */
typedef struct rlt_wanted {
    uint32_t tag, one;
    bool all;
} rlt_wanted;

/* Returns 0, or RLT_ECHECK if the number of blocks is impossible for the plan's kind. */
int rlt_states_check(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;
/* Whether the member's buffer 0 holds the block at the start. */
bool rlt_block_held(const rlt_plan *plan, uint32_t member, uint32_t block);
/* Fills *out with the required contents of a block of the member's result. Returns false if nothing is
 * required. */
bool rlt_block_wanted(const rlt_plan *plan, uint32_t member, uint32_t block, rlt_wanted *out);
/* Bytes of member `from`'s original block `tag` in a lane. A block keeps the size of its origin wherever it
 * is stored. */
uint64_t rlt_block_size(const rlt_plan *plan, uint32_t lane, uint32_t from, uint32_t tag);

#endif
