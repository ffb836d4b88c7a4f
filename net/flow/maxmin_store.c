/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage of the solver: links, records of flows with their paths, and what can be read from them. */
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
    mm->level = malloc((n_links ? (size_t)n_links : 1) * sizeof(*mm->level));
    mm->shares = calloc(n_links ? n_links : 1, sizeof(*mm->shares));
    mm->bw_Bps = malloc((n_links ? (size_t)n_links : 1) * sizeof(*mm->bw_Bps));
    mm->kind = calloc(n_links ? n_links : 1, sizeof(*mm->kind));
    mm->loose = calloc(n_links ? n_links : 1, sizeof(*mm->loose));
    if (!mm->links || !mm->level || !mm->shares || !mm->bw_Bps || !mm->kind || !mm->loose) {
        rlt_maxmin_free(mm);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < n_links; i++) {
        rlt__mm_set_capacity(mm, i, bw_Bps[i]);
        mm->links[i].heap = RLT_NONE;
        mm->level[i] = INFINITY;
    }
    *out = mm;
    return 0;
}

/* A link without a valid share has at most one flow with a bottleneck, which was alone on all its links. */
void rlt__mm_make_exact(rlt_maxmin *mm, uint32_t link)
{
    rlt_mm_link *l = &mm->links[link];
    rlt_mm_share *s = &mm->shares[link];
    l->exact = 1;
    s->given = 0;
    if (l->own) {
        s->rate = rlt__mm_whole(mm, link, l->own_weight);
        s->key = rlt__mm_key(s->rate, 1);
    }
    for (uint32_t i = l->own; i < l->n; i++) {
        const rlt_mm_flow *f = &mm->flows[l->flows[i].flow];
        if (f->bottleneck == RLT_NONE)
            continue;
        rlt__mm_exact(mm, f->bottleneck);
        s->given += mm->shares[f->bottleneck].rate * (f->weight * rlt__mm_times(l->flows[i]));
    }
}

void rlt_maxmin_free(rlt_maxmin *mm)
{
    if (!mm)
        return;
    for (uint32_t i = 0; mm->links && i < mm->n_links; i++)
        free(mm->links[i].flows);
    free(mm->links);
    free(mm->level);
    free(mm->shares);
    rlt__mm_paths_free(mm);
    free(mm->bw_Bps);
    free(mm->kind);
    free(mm->loose);
    free(mm->flows);
    free(mm->finish);
    free(mm->long_hops);
    free(mm->completions);
    free(mm->touched.items);
    free(mm->started.items);
    free(mm->drained.items);
    free(mm->scratch.items);
    free(mm->component.items);
    free(mm->taken.items);
    free(mm->queued.items);
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
        rlt_grow(&mm->flows, &mm->flow_room, sizeof(*mm->flows), need, RLT_MM_MANY - 1, "flows", NULL))
        return RLT_NONE;
    if (need > mm->finish_room &&
        rlt_grow(&mm->finish, &mm->finish_room, sizeof(*mm->finish), need, RLT_MM_MANY - 1, "flows", NULL))
        return RLT_NONE;
    return mm->n_flows++;
}

/* Makes room for a path of n links in the record of a flow. */
int rlt__mm_long_path(rlt_maxmin *mm, uint32_t flow, uint32_t n)
{
    uint32_t c = size_class(n), run = long_get(mm, c);
    mm->flows[flow].hop[0] = (rlt_mm_hop){run, c};
    return run == RLT_NONE ? RLT_ENOMEM : 0;
}

/* As rlt__mm_set_other, for a flow of more than two links. */
static void set_bottleneck(rlt_maxmin *mm, rlt_mm_flow *f, bool plain)
{
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t times = rlt_maxmin_times(mm, &h[i]);
        bool known = plain && times == 1 && h[i].link != f->bottleneck;
        mm->links[h[i].link].flows[h[i].pos].other = known ? f->bottleneck : RLT_MM_MANY | times;
    }
}

void rlt__mm_set_other(rlt_maxmin *mm, uint32_t flow)
{
    rlt_mm_flow *f = &mm->flows[flow];
    bool plain = f->weight == 1 && f->bottleneck != RLT_NONE;
    if (f->n > 2)
        set_bottleneck(mm, f, plain);
    if (f->n != 2)
        return;
    const rlt_mm_hop *h = f->hop;
    uint32_t times[2] = {rlt_maxmin_times(mm, &h[0]), rlt_maxmin_times(mm, &h[1])};
    plain &= times[0] == 1 && times[1] == 1;
    mm->links[h[0].link].flows[h[0].pos].other = plain ? h[1].link : RLT_MM_MANY | times[0];
    mm->links[h[1].link].flows[h[1].pos].other = plain ? h[0].link : RLT_MM_MANY | times[1];
}

/* ---- rates and bytes ---- */

double rlt_maxmin_remaining(const rlt_maxmin *mm, uint32_t flow, rlt_time now)
{
    uint32_t b = mm->flows[flow].bottleneck;
    double left = b == RLT_NONE ? mm->finish[flow] : mm->finish[flow] - rlt__mm_served(mm, b, now);
    return left > 0 ? left : 0;
}

double rlt_maxmin_link_rate(const rlt_maxmin *mm, uint32_t link)
{
    const rlt_mm_link *l = &mm->links[link];
    double sum = 0;
    for (uint32_t i = 0; i < l->n; i++)
        sum += rlt_maxmin_rate(mm, l->flows[i].flow) *
               (mm->flows[l->flows[i].flow].weight * rlt__mm_times(l->flows[i]));
    return sum;
}
