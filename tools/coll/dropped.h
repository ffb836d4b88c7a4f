/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms that dropped out of a list, and why: one entry for each algorithm and collective. */
#ifndef RLT_TOOLS_COLL_DROPPED_H
#define RLT_TOOLS_COLL_DROPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/text/json.h"

typedef struct rlt_dropped_entry {
    const char *algorithm; /* borrowed */
    rlt_coll_kind kind;
    uint64_t bytes; /* smallest size at which it dropped out */
    uint32_t sizes; /* number of sizes at which it did */
    bool quiet;     /* has no note */
    char reason[400];
} rlt_dropped_entry;

typedef struct rlt_dropped {
    rlt_dropped_entry *items;
    uint32_t n, capacity;
} rlt_dropped;

/* Notes that an algorithm dropped out at a size. The reason of its first size is kept. */
int rlt_drop(rlt_dropped *d, const rlt_dropped_entry *one, rlt_error *err) RLT_MUST_USE;
/* Prints a note for each algorithm, with the collectives that it dropped out of. `sizes` is the number of
 * sizes of each collective. */
void rlt_dropped_notes(const rlt_dropped *d, uint32_t sizes);
/* Writes "dropped": [...]. */
void rlt_dropped_json(rlt_jw *w, const rlt_dropped *d);
void rlt_dropped_free(rlt_dropped *d);

#endif
