/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage of the solver: links, and records of flows with their paths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/flow/maxmin.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* Limit of whole picoseconds a byte: times WHOLE_BYTES of maxmin.c it stays below the horizon. */
#define WHOLE_LIMIT (1u << 29)

void rlt__mm_set_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps)
{
    uint64_t ps_per_byte = (uint64_t)RLT_S / bw_Bps;
    bool whole = (uint64_t)RLT_S % bw_Bps == 0 && ps_per_byte < WHOLE_LIMIT;
    mm->bw_Bps[link] = bw_Bps;
    mm->links[link].capacity = (double)bw_Bps * 1e-12;
    mm->links[link].ps_per_byte = whole ? (uint32_t)ps_per_byte : 0;
}

int rlt_maxmin_create(uint32_t n_links, const uint64_t *bw_Bps, rlt_maxmin **out, rlt_error *err)
{
    rlt_maxmin *mm = calloc(1, sizeof(*mm));
    if (!mm)
        return rlt_nomem(err);
    mm->n_links = n_links;
    mm->free_flow = RLT_NONE;
    for (int i = 0; i < RLT_MM_CLASSES; i++)
        mm->free_long[i] = RLT_NONE;
    mm->links = calloc(n_links ? n_links : 1, sizeof(*mm->links));
    mm->levels = calloc(n_links ? n_links : 1, sizeof(*mm->levels));
    mm->bw_Bps = malloc((n_links ? (size_t)n_links : 1) * sizeof(*mm->bw_Bps));
    mm->kind = calloc(n_links ? n_links : 1, sizeof(*mm->kind));
    if (!mm->links || !mm->levels || !mm->bw_Bps || !mm->kind) {
        rlt_maxmin_free(mm);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < n_links; i++) {
        rlt__mm_set_capacity(mm, i, bw_Bps[i]);
        mm->links[i].heap = RLT_NONE;
        mm->levels[i].level = INFINITY;
    }
    *out = mm;
    return 0;
}

void rlt_maxmin_free(rlt_maxmin *mm)
{
    if (!mm)
        return;
    for (uint32_t i = 0; mm->links && i < mm->n_links; i++)
        free(mm->links[i].flows);
    free(mm->links);
    free(mm->levels);
    free(mm->bw_Bps);
    free(mm->kind);
    free(mm->flows);
    free(mm->finish);
    free(mm->seen);
    free(mm->long_hops);
    free(mm->completions);
    free(mm->touched.items);
    free(mm->started.items);
    free(mm->drained.items);
    free(mm->scratch.items);
    free(mm->component.items);
    free(mm->moves.items);
    free(mm->groups.items);
    free(mm->candidates);
    free(mm);
}

/* ---- records of flows ---- */

static uint32_t size_class(uint32_t n)
{
    uint32_t c = 2;
    while ((1u << c) < n)
        c++;
    return c;
}

/* Returns a run of 1 << c hops, or RLT_NONE. */
static uint32_t long_get(rlt_maxmin *mm, uint32_t c)
{
    uint32_t i = mm->free_long[c];
    if (i != RLT_NONE) {
        mm->free_long[c] = mm->long_hops[i].link;
        return i;
    }
    uint64_t need = (uint64_t)mm->n_long + (1u << c);
    if (need > mm->long_room && rlt_grow(&mm->long_hops, &mm->long_room, sizeof(*mm->long_hops), need,
                                         UINT32_MAX - 1, "links of paths", NULL))
        return RLT_NONE;
    i = mm->n_long;
    mm->n_long = (uint32_t)need;
    return i;
}

uint32_t rlt__mm_new_record(rlt_maxmin *mm)
{
    uint64_t need = (uint64_t)mm->n_flows + 1;
    if (need > mm->flow_room &&
        rlt_grow(&mm->flows, &mm->flow_room, sizeof(*mm->flows), need, UINT32_MAX - 1, "flows", NULL))
        return RLT_NONE;
    if (need > mm->finish_room &&
        rlt_grow(&mm->finish, &mm->finish_room, sizeof(*mm->finish), need, UINT32_MAX - 1, "flows", NULL))
        return RLT_NONE;
    return mm->n_flows++;
}

/* Makes room to mark every flow that there is room for. */
static int more_seen(rlt_maxmin *mm)
{
    uint32_t before = mm->seen_room;
    int rc = rlt_grow(&mm->seen, &mm->seen_room, sizeof(*mm->seen), mm->flow_room, UINT32_MAX, "flows", NULL);
    if (!rc)
        memset(mm->seen + before, 0, (size_t)(mm->seen_room - before) * sizeof(*mm->seen));
    return rc;
}

/* Makes room for a path of n links in the record of a flow. */
int rlt__mm_long_path(rlt_maxmin *mm, uint32_t flow, uint32_t n)
{
    uint32_t c = size_class(n), run = long_get(mm, c);
    mm->flows[flow].hop[0] = (rlt_mm_hop){run, c};
    if (run == RLT_NONE)
        return RLT_ENOMEM;
    return n > RLT_MM_WIDE && flow >= mm->seen_room ? more_seen(mm) : 0;
}
