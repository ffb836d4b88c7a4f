/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flows that leave before their end, and links whose capacity changes.
 *
 * The solver assumes of a link that a flow joined or left: below x = min(level, capacity / flows) it was no
 * bottleneck before and is none after. This holds for a link whose capacity changes, too, with its old level
 * and its new capacity / flows.
 */
#include "net/flow/maxmin.h"
#include "sim/base/time.h"

/* Removes a flow from the list of flows that began at this instant and are not solved yet. */
static void not_started(rlt_maxmin *mm, uint32_t flow)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < mm->started.n; i++)
        if (mm->started.items[i] != flow)
            mm->started.items[n++] = mm->started.items[i];
    mm->started.n = n;
}

int rlt_maxmin_cancel(rlt_maxmin *mm, uint32_t flow)
{
    uint32_t b = mm->flows[flow].bottleneck;
    int rc = 0;
    if (b == RLT_NONE) {
        not_started(mm, flow);
        return rlt__mm_unlist(mm, flow);
    }
    rlt__mm_own_remove(mm, b, flow);
    mm->flows[flow].bottleneck = RLT_NONE;
    if (mm->links[b].own == 0)
        rc = rlt__mm_completion(mm, b, -1);
    return rc ? rc : rlt__mm_unlist(mm, flow);
}

int rlt_maxmin_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps)
{
    rlt__mm_set_capacity(mm, link, bw_Bps);
    return mm->links[link].n ? rlt__mm_touch(mm, link, RLT_MM_LEFT | RLT_MM_JOINED) : 0;
}
