/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the own flows of a link go: for each other link on their paths, the weight of the flows that cross
 * it. A change of the level costs one step for each such link, not for each flow. In a fat tree, 600 flows of
 * an uplink cross 70 other links.
 *
 * Flows that come and go are appended, with negative weights if they go. Before use, the entries of each link
 * are added up. The list is an aid: without memory for it, the solver looks at the flows.
 */
#include <stdlib.h>

#include "net/flow/maxmin.h"
#include "sim/base/mem.h"

/* Links with as many own flows get a list, and lose it when they have fewer than half. */
enum { MANY_OWN = 8 };

static void drop(rlt_mm_paths *p)
{
    free(p->items);
    *p = (rlt_mm_paths){0};
}

void rlt__mm_paths_free(rlt_maxmin *mm)
{
    for (uint32_t i = 0; mm->paths && i < mm->n_links; i++)
        free(mm->paths[i].items);
    free(mm->paths);
}

/* Adds up the entries of each link. `listed` of its share is the position of its first entry, plus one. */
static void tidy(rlt_maxmin *mm, rlt_mm_paths *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        rlt_mm_pair e = p->items[i];
        uint32_t *place = &mm->shares[e.link].listed;
        if (*place) {
            p->items[*place - 1].weight += e.weight;
        } else {
            p->items[n++] = e;
            *place = n;
        }
    }
    p->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        mm->shares[p->items[i].link].listed = 0;
        if (p->items[i].weight)
            p->items[p->n++] = p->items[i];
    }
    p->tidy = true;
}

static bool make_room(rlt_maxmin *mm, rlt_mm_paths *p, uint32_t more)
{
    if (p->room - p->n >= more)
        return true;
    tidy(mm, p);
    uint64_t need = 2 * (uint64_t)p->n + more;
    return need <= p->room ||
           !rlt_grow(&p->items, &p->room, sizeof(*p->items), need, UINT32_MAX, "links", NULL);
}

void rlt__mm_paths_change(rlt_maxmin *mm, uint32_t link, uint32_t flow, int32_t messages)
{
    rlt_mm_paths *p = &mm->paths[link];
    rlt_mm_flow *f = &mm->flows[flow];
    if (!p->items)
        return;
    if (mm->links[link].own < MANY_OWN / 2 || !make_room(mm, p, f->n)) {
        drop(p);
        return;
    }
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++)
        if (h[i].link != link)
            p->items[p->n++] = (rlt_mm_pair){h[i].link, messages * (int32_t)rlt_maxmin_times(mm, &h[i])};
    p->tidy = false;
}

/* Begins a list. */
static bool begin(rlt_maxmin *mm, uint32_t link)
{
    const rlt_mm_link *l = &mm->links[link];
    if (!mm->paths)
        mm->paths = calloc(mm->n_links, sizeof(*mm->paths));
    if (!mm->paths || !make_room(mm, &mm->paths[link], MANY_OWN))
        return false;
    for (uint32_t i = 0; i < l->own && mm->paths[link].items; i++) {
        uint32_t flow = l->flows[i].flow;
        rlt__mm_paths_change(mm, link, flow, (int32_t)mm->flows[flow].weight);
    }
    return mm->paths[link].items != NULL;
}

const rlt_mm_paths *rlt__mm_paths_of(rlt_maxmin *mm, uint32_t link)
{
    const rlt_mm_link *l = &mm->links[link];
    if (l->own < MANY_OWN && !(mm->paths && mm->paths[link].items))
        return NULL;
    if (!(mm->paths && mm->paths[link].items) && (mm->flows[l->flows[0].flow].n <= 2 || !begin(mm, link)))
        return NULL;
    rlt_mm_paths *p = &mm->paths[link];
    if (!p->tidy)
        tidy(mm, p);
    return p;
}
