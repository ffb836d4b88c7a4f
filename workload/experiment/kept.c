/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/kept.h"

#include <string.h>

#include "sim/base/mem.h"

enum { MOST = 1 << 20 };

rlt_kept *rlt_kept_find(rlt_kept_all *all, const uint64_t key[2])
{
    for (uint32_t i = 0; i < all->n; i++) {
        rlt_kept *item = all->items[i];
        if (item->key[0] != key[0] || item->key[1] != key[1])
            continue;
        item->refs++;
        item->used = ++all->clock;
        return item;
    }
    return NULL;
}

int rlt_kept_add(rlt_kept_all *all, rlt_kept *item, const uint64_t key[2], const char *what, rlt_error *err)
{
    int rc = rlt_grow(&all->items, &all->capacity, sizeof *all->items, (uint64_t)all->n + 1, MOST, what, err);
    if (rc)
        return rc;
    memcpy(item->key, key, sizeof item->key);
    item->refs = 1;
    item->used = ++all->clock;
    all->items[all->n++] = item;
    return 0;
}

rlt_kept *rlt_kept_drop(rlt_kept_all *all)
{
    uint32_t oldest = all->n;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i]->refs == 0 && (oldest == all->n || all->items[i]->used < all->items[oldest]->used))
            oldest = i;
    if (oldest == all->n)
        return NULL;
    rlt_kept *item = all->items[oldest];
    all->items[oldest] = all->items[--all->n];
    return item;
}
