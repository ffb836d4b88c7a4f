/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Schedules: the order in which each chunk visits the dimensions of a grid, and the order in which each
 * dimension serves the chunks.
 *   pipeline   Dimensions from the innermost to the outermost. A chunk enters a phase when the chunk before
 *              it has left it. The scatter of one chunk and the gather of another may share a dimension.
 *   baseline   The same order of dimensions, but each dimension serves one chunk operation at a time.
 *   themis     Like baseline, but the order of each chunk balances the loads of the dimensions (S. Rashidi,
 *              W. Won, S. Srinivasan, S. Sridharan, T. Krishna, "Themis", ISCA 2022, arXiv 2110.04478). A
 *              chunk scatters first in the dimension with the least load so far, in seconds of bytes /
 *              bandwidth, and gathers in the opposite order. Let the spread be the difference of load between
 *              the most and the least loaded dimension. If it is below 1/16 of the chunk's time in the
 *              latter, the chunk goes from the innermost to the outermost.
 * Among its waiting chunks, a dimension serves the first to come (fifo), or the one with the fewest bytes in
 * this operation (scf, smallest chunk first), ties by arrival.
 *
 * Everything is fixed when the plan is made. The queues are simulated with the isolated time of each
 * operation (bytes over the dimension's bandwidth, plus its latencies). The order in which a dimension served
 * its chunks becomes a wait of each operation for the one before it. Events in the network later change
 * times, not orders. There is no deadlock, with stragglers or without. In the order of the simulation, each
 * operation waits only for earlier ones of the same member. Its messages come from the same operation of
 * other members.
 *
 * A plan does not know other collectives: loads start at zero for each.
 */
#ifndef RLT_COLLECTIVES_ALGORITHMS_SCHEDULE_H
#define RLT_COLLECTIVES_ALGORITHMS_SCHEDULE_H

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "sim/base/error.h"

/* Fills orders[chunk][i], i < g->n_dims, with the dimensions in the order in which each chunk scatters. */
void rlt_schedule_orders(const rlt_plan *plan, const rlt_grid *g, uint8_t (*orders)[RLT_GRID_DIMS]);
/* Fills after_chunk and after_step of the phases of g->orders, one order per chunk. O(chunks dims log
 * chunks). */
int rlt_schedule_queues(const rlt_plan *plan, rlt_grid *g, rlt_error *err) RLT_MUST_USE;

#endif
