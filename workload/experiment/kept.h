/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Things found by a hash of what they were made from, some of them in use: where too many are kept, those go
 * that were not in use for longest. One thread. */
#ifndef RLT_WORKLOAD_EXPERIMENT_KEPT_H
#define RLT_WORKLOAD_EXPERIMENT_KEPT_H

#include <stdint.h>

#include "sim/base/error.h"

/* What each begins with. */
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

/* Used once more, until its refs are counted down; NULL: there is none. O(n). */
rlt_kept *rlt_kept_find(rlt_kept_all *all, const uint64_t key[2]);
/* Enters it, used once. RLT_ENOMEM, RLT_ERANGE. */
int rlt_kept_add(rlt_kept_all *all, rlt_kept *item, const uint64_t key[2], const char *what,
                 rlt_error *err) RLT_MUST_USE;
/* Takes out the one that was not in use for longest, for the caller to free; NULL: all are in use. */
rlt_kept *rlt_kept_drop(rlt_kept_all *all);

#endif
