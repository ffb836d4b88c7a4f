/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data races between lanes of a member that share blocks. If two steps access a block, and one of them
 * writes, the plan must order them: by the order of steps in a lane, by a wait for another lane, or by
 * messages.
 *
 * Order is tracked by vector clocks. The time of a place (member * lanes + lane) is 2 k + 1 while its step k
 * runs, and 2 k + 2 when step k is done. A read happens when a step starts; a write may happen until the step
 * is done. An access is ordered after another one if its place's clock contains that one's time. Internal to
 * collectives/.
 */
#ifndef RLT_COLLECTIVES_CHECK_RACES_H
#define RLT_COLLECTIVES_CHECK_RACES_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

typedef struct rlt_races rlt_races;

/* Creates the clocks, of n_places^2 words and more. If that is too much memory, orders that messages create
 * are left out (rlt_races_width is then 0); if it still is, RLT_ERANGE. */
int rlt_races_create(const rlt_plan *plan, rlt_races **out, rlt_error *err) RLT_MUST_USE;
void rlt_races_free(rlt_races *r);

/* Step k of place p starts; p has waited for a step of place `other`; step k is done. */
void rlt_races_start(rlt_races *r, uint32_t p, uint32_t k);
void rlt_races_wait(rlt_races *r, uint32_t p, uint32_t other, uint32_t step);
int rlt_races_done(rlt_races *r, uint32_t p, uint32_t k, rlt_error *err) RLT_MUST_USE;

/* Clock in a message: `width` words (0: none), copied when it is sent and joined when it lands. */
size_t rlt_races_width(const rlt_races *r);
const uint32_t *rlt_races_clock(const rlt_races *r, uint32_t p);
void rlt_races_join(rlt_races *r, uint32_t p, const uint32_t *clock);

/* Records that place p accesses a cell in step k. Returns false if step *step of *lane of the same member
 * accesses it without an order. */
bool rlt_races_read(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step);
bool rlt_races_write(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step);

#endif
