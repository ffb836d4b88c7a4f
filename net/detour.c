/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links that change, and the graph in which routes around them are searched. */
#include "net/detour.h"

#include <stdlib.h>

#include "net/topology/frozen.h"
#include "sim/base/time.h"

static const size_t budget_bytes = (size_t)256 << 20;

int rlt_detour_create(const rlt_topology *t, rlt_detour **out, rlt_error *err)
{
    rlt_detour *d = *out = calloc(1, sizeof *d);
    if (!d)
        return rlt_nomem(err);
    d->t = t;
    d->bw_Bps = malloc(((size_t)t->links + 1) * sizeof *d->bw_Bps);
    if (!d->bw_Bps) {
        rlt_detour_free(d);
        *out = NULL;
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < t->links; i++)
        d->bw_Bps[i] = rlt_topology_link(t, i).bw_Bps;
    return 0;
}

void rlt_detour_free(rlt_detour *d)
{
    if (!d)
        return;
    rlt_graph_routes_free(d->reach);
    rlt_topology_free(d->whole);
    free(d->bw_Bps);
    free(d);
}

void rlt_detour_set(rlt_detour *d, uint32_t link, uint64_t bw_Bps)
{
    if ((bw_Bps == 0) != (d->bw_Bps[link] == 0)) {
        rlt_graph_routes_free(d->reach);
        d->reach = NULL;
    }
    d->bw_Bps[link] = bw_Bps;
}

uint32_t rlt_detour_failed(const rlt_detour *d, const uint32_t *links, uint32_t n, uint64_t *bw_Bps)
{
    *bw_Bps = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bw = d->bw_Bps[links[i]];
        if (bw == 0)
            return links[i];
        *bw_Bps = bw < *bw_Bps ? bw : *bw_Bps;
    }
    return RLT_NONE;
}

/* Makes a product an explicit graph, whose links keep their numbers. */
static int make_whole(const rlt_topology *t, rlt_topology **out)
{
    rlt_topology *w = *out = calloc(1, sizeof *w);
    if (!w)
        return RLT_ENOMEM;
    rlt_frozen_graph *g = &w->graph;
    size_t links = (size_t)t->links + 1, nodes = (size_t)t->nodes + 1;
    w->nodes = t->nodes;
    w->links = t->links;
    w->accelerators = t->accelerators;
    g->links = malloc(links * sizeof *g->links);
    g->forwards = malloc(nodes);
    g->out_first = calloc(nodes, sizeof *g->out_first);
    g->in_first = calloc(nodes, sizeof *g->in_first);
    g->out = malloc(links * sizeof *g->out);
    g->in = malloc(links * sizeof *g->in);
    if (!g->links || !g->forwards || !g->out_first || !g->in_first || !g->out || !g->in)
        return RLT_ENOMEM;
    for (uint32_t i = 0; i < t->links; i++)
        g->links[i] = rlt_topology_link(t, i);
    for (uint32_t v = 0; v < t->nodes; v++)
        g->forwards[v] = rlt_topology_forwards(t, v);
    rlt__graph_rows(w);
    return 0;
}

int rlt_detour_reach(rlt_detour *d, rlt_graph_routes **out)
{
    int rc = 0;
    if (d->t->n_dims && !d->whole && (rc = make_whole(d->t, &d->whole)) != 0) {
        rlt_topology_free(d->whole);
        d->whole = NULL;
    }
    if (!rc && !d->reach)
        rc = rlt_graph_routes_create(d->whole ? d->whole : d->t, budget_bytes, d->bw_Bps, &d->reach, NULL);
    *out = d->reach;
    return rc;
}
