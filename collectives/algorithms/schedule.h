/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Schedules: in which order the chunks of a collective go through the dimensions of a grid, and in which each
 * dimension serves them.
 *   pipeline   dimensions inwards-out; a chunk enters a phase when the chunk before it has left it. The
 *              scatter and the gather of two chunks may share a dimension.
 *   baseline   the same order of dimensions; but each dimension serves one chunk operation at a time
 *   themis     so, too; the order of each chunk balances the dimensions' loads (S. Rashidi, W. Won, S.
 *              Srinivasan, S. Sridharan, T. Krishna, "Themis", ISCA 2022, arXiv 2110.04478): it scatters in
 *              the dimension first that has least to do so far, in seconds of bytes / bandwidth, and gathers
 *              the other way round. Where that dimension lags behind the busiest by less than a sixteenth of
 *              the chunk would take there, the chunk goes inwards-out.
 * Among the chunks that wait for it a dimension serves the first come (fifo) or that with the fewest bytes in
 * this operation (scf, smallest chunk first), of equals the first come.
 *
 * All is settled when the plan is made: the queues are played through with the time of each operation alone
 * (bytes / bandwidth of the dimension and its latencies), and the order in which each dimension served
 * becomes a wait of each operation for the one before it. What happens in the network later changes times,
 * not orders. So all members serve the same order, and there is no deadlock: by the order in which operations
 * began when played, each waits only for earlier ones, of the same member, and its messages come from the
 * same operation of others. That holds with stragglers, too, which delay all that is queued behind them.
 *
 * A plan knows of no other collective: loads begin at zero with each.
 */
#ifndef RLT_COLLECTIVES_ALGORITHMS_SCHEDULE_H
#define RLT_COLLECTIVES_ALGORITHMS_SCHEDULE_H

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "sim/base/error.h"

/* The order of dimensions in which each chunk scatters, into orders[chunk][i] of g->n_dims. */
void rlt_schedule_orders(const rlt_plan *plan, const rlt_grid *g, uint8_t (*orders)[RLT_GRID_DIMS]);
/* Fills after_chunk and after_step of the phases of g->orders, one order
 * a chunk. O(chunks dims log chunks). */
int rlt_schedule_queues(const rlt_plan *plan, rlt_grid *g, rlt_error *err) RLT_MUST_USE;

#endif
