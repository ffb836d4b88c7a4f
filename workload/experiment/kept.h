/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cache: items are found by a hash of their inputs, and some are in use. Beyond a limit it drops the items
 * that have been unused for longest. For one thread. */
#ifndef RLT_WORKLOAD_EXPERIMENT_KEPT_H
#define RLT_WORKLOAD_EXPERIMENT_KEPT_H

#include <stdint.h>

#include "sim/base/error.h"

/* First member of each item. */
typedef struct rlt_kept {
    uint64_t key[2];
    uint32_t refs;
    uint64_t used;
} rlt_kept;

typedef struct rlt_kept_all {
    rlt_kept **items;
    uint32_t n, capacity;
    uint64_t clock;
} rlt_kept_all;

/* Finds an item and counts one more user; the user decrements refs when done. NULL: not found. O(n). */
rlt_kept *rlt_kept_find(rlt_kept_all *all, const uint64_t key[2]);
/* Enters an item with one user. RLT_ENOMEM, RLT_ERANGE. */
int rlt_kept_add(rlt_kept_all *all, rlt_kept *item, const uint64_t key[2], const char *what,
                 rlt_error *err) RLT_MUST_USE;
/* Removes the item that has been unused for longest, for the caller to free. NULL: all are in use. */
rlt_kept *rlt_kept_drop(rlt_kept_all *all);

#endif
