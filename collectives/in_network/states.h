/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a collective starts with and must end with, block by block, for the checker: the meaning of each kind,
 * as collectives/algorithm.h states it. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_IN_NETWORK_STATES_H
#define RLT_COLLECTIVES_IN_NETWORK_STATES_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

/* The contents of a block of the result: original block `tag`, with everybody's contribution or that of
 * member `one`. */
typedef struct rlt_wanted {
    uint32_t tag, one;
    bool all;
} rlt_wanted;

/* 0, or RLT_ECHECK: the plan's blocks cannot be those of its kind. */
int rlt_states_check(const rlt_plan *plan, rlt_error *err) RLT_MUST_USE;
/* Whether the member's buffer 0 holds the block at the start. */
bool rlt_block_held(const rlt_plan *plan, uint32_t member, uint32_t block);
/* What the block must be in the member's result; false where nothing is asked. */
bool rlt_block_wanted(const rlt_plan *plan, uint32_t member, uint32_t block, rlt_wanted *out);
/* Bytes of original block `tag` of member `from` in a lane: a block is as large as where it comes from says,
 * wherever it rests. */
uint64_t rlt_block_size(const rlt_plan *plan, uint32_t lane, uint32_t from, uint32_t tag);

#endif
