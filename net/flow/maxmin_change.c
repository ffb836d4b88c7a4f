/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows that leave before their end, and links whose capacity changes. */
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
    if (mm->links[b].own == 0)
        rc = rlt__mm_completion(mm, b, -1);
    if (!rc)
        rc = rlt__mm_unlist(mm, flow);
    mm->flows[flow].bottleneck = RLT_NONE;
    return rc;
}

int rlt_maxmin_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps)
{
    if (mm->links[link].n)
        rlt__mm_exact(mm, link);
    rlt__mm_set_capacity(mm, link, bw_Bps);
    return mm->links[link].n ? rlt__mm_touch(mm, link, RLT_MM_CHANGED) : 0;
}
