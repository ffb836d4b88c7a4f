/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells whether lanes of a member that share blocks touch them in an order that the plan guarantees: by the
 * order of steps in a lane, by waiting for another lane, or by messages. Uses vector clocks: the time of a
 * place (member * lanes + lane) is 2 k + 1 while its step k runs and 2 k + 2 when it is done. Reads happen
 * when a step starts, writes until it is done. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_CHECK_RACES_H
#define RLT_COLLECTIVES_CHECK_RACES_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

typedef struct rlt_races rlt_races;

/* Memory is that of n_places^2 words and more; where that is too much, the orders that messages make are left
 * out (rlt_races_width is 0 then), where that is too much still, RLT_ERANGE. */
int rlt_races_create(const rlt_plan *plan, rlt_races **out, rlt_error *err) RLT_MUST_USE;
void rlt_races_free(rlt_races *r);

/* Step k of place p starts; it starts having waited for a step of another place; it is done. */
void rlt_races_start(rlt_races *r, uint32_t p, uint32_t k);
void rlt_races_wait(rlt_races *r, uint32_t p, uint32_t other, uint32_t step);
int rlt_races_done(rlt_races *r, uint32_t p, uint32_t k, rlt_error *err) RLT_MUST_USE;

/* What a message carries: `width` words (0: nothing), copied when it is sent, joined when it lands. */
size_t rlt_races_width(const rlt_races *r);
const uint32_t *rlt_races_clock(const rlt_races *r, uint32_t p);
void rlt_races_join(rlt_races *r, uint32_t p, const uint32_t *clock);

/* A place touches a cell in step k. False: so has step *step of *lane of the same member, in no order. */
bool rlt_races_read(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step);
bool rlt_races_write(rlt_races *r, size_t cell, uint32_t p, uint32_t k, uint32_t *lane, uint32_t *step);

#endif
