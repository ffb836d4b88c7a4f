/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Coarsest equitable partition of things that messages join. A message joins a few things, each in a place of
 * its own. A partition of things and messages is equitable if any two things of a class are joined, in each
 * place, by the same number of messages of each class, and if any two messages of a class join, in each
 * place, things of the same class. Among those that keep a given partition apart there is one with the fewest
 * classes.
 *
 *   Example: a chain of equal messages 0 -> 1 -> 2 -> 3 -> 4. Things are the members, and each message joins
 *   its sender in place 0 with its receiver in place 1. The ends differ from the rest, so their neighbours
 *   differ from 2, and in the end all five things differ.
 *
 * Method. A class that waits is taken as a splitter: whatever it joins is split by how often, and in which
 * places. Of the parts, all but the largest wait in turn, as the largest tells no more than the others and
 * the whole do (Hopcroft 1971; Cardon and Crochemore, TCS 19, 1982; Paige and Tarjan, SIAM J. Comput. 16,
 * 1987). An element is therefore in at most log2 of their number splitters, and the cost is O(m log m) for m
 * places. Elements are compared by sums of 64-bit hashes.
 */
#ifndef RLT_SIM_PARTITION_H
#define RLT_SIM_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Work of a search that may turn out not to be worth it, counted in instructions, roughly. */
typedef struct rlt_effort {
    uint64_t spent, limit;
    uint64_t looked;        /* value of `spent` when the watch was last asked */
    const rlt_watch *watch; /* NULL: never stopped */
} rlt_effort;

enum { RLT_EFFORT_LOOK = 1 << 20 };

/* Spends some effort. RLT_EUNSUPPORTED beyond the limit, RLT_ECANCELLED if the watch wants the end. */
static inline int rlt_effort_spend(rlt_effort *e, uint64_t work)
{
    e->spent += work;
    if (e->spent > e->limit)
        return RLT_EUNSUPPORTED;
    if (e->spent - e->looked < RLT_EFFORT_LOOK)
        return 0;
    e->looked = e->spent;
    return rlt_watch_stopped(e->watch) ? RLT_ECANCELLED : 0;
}

/* Things 0 .. n_things-1; message i joins joined[first[i] .. first[i + 1]), in the order of its places. */
typedef struct rlt_joins {
    uint32_t n_things, n_messages;
    const uint32_t *first, *joined;
} rlt_joins;

/* Fills class[0 .. n_things) with numbers below *n. Things, and messages, whose hashes differ are kept apart.
 * The numbers are no order. RLT_ENOMEM, or the codes of rlt_effort_spend, without a reason. */
int rlt_partition(const rlt_joins *joins, const uint64_t *of_thing, const uint64_t *of_message,
                  rlt_effort *effort, uint32_t *class, uint32_t *n) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
