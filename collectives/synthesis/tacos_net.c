/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the pairs of members that reach each other without passing a third member, and the links between
 * them. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/synthesis/tacos.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { MAX_PATHS = 1 << 24 };

void rlt_tacos_net_free(rlt_tacos_net *net)
{
    free(net->in);
    free(net->in_first);
    free(net->out);
    free(net->out_first);
    free(net->user);
    free(net->user_first);
    free(net->link_Bps);
    free(net->path);
    free(net->edges);
    *net = (rlt_tacos_net){0};
}

/* Finds or assigns a link's number among those in use. */
static int use_link(rlt_tacos_net *net, rlt_map *known, const rlt_topology *t, uint32_t link, uint32_t *out,
                    rlt_error *err)
{
    *out = rlt_map_get(known, link);
    if (*out != RLT_NONE)
        return 0;
    int rc = rlt_grow(&net->link_Bps, &net->link_capacity, sizeof *net->link_Bps, (uint64_t)net->n_links + 1,
                      MAX_PATHS, "links of a group", err);
    if (rc)
        return rc;
    if (rlt_map_put(known, link, net->n_links))
        return rlt_nomem(err);
    net->link_Bps[net->n_links] = rlt_topology_link(t, link).bw_Bps;
    *out = net->n_links++;
    return 0;
}

static int add_edge(rlt_tacos_net *net, rlt_map *known, const rlt_topology *t, uint32_t src, uint32_t dst,
                    const rlt_path *path, rlt_error *err)
{
    int rc = rlt_grow(&net->edges, &net->edge_capacity, sizeof *net->edges, (uint64_t)net->n_edges + 1,
                      MAX_PATHS, "pairs of neighbours", err);
    if (rc == 0)
        rc = rlt_grow(&net->path, &net->path_capacity, sizeof *net->path, (uint64_t)net->n_path + path->n,
                      MAX_PATHS, "links of all routes of a group", err);
    if (rc)
        return rc;
    net->edges[net->n_edges++] = (rlt_tacos_edge){.src = src,
                                                  .dst = dst,
                                                  .first = net->n_path,
                                                  .hops = path->n,
                                                  .bw_Bps = path->bw_Bps,
                                                  .latency_ps = path->latency_ps};
    for (uint32_t i = 0; i < path->n && rc == 0; i++)
        rc = use_link(net, known, t, path->links[i], &net->path[net->n_path++], err);
    return rc;
}

/* Whether a route passes an accelerator of another member. */
static bool passes_member(const rlt_topology *t, const rlt_path *path, const rlt_map *members)
{
    for (uint32_t i = 0; i + 1 < path->n; i++)
        if (rlt_map_get(members, rlt_topology_link(t, path->links[i]).dst) != RLT_NONE)
            return true;
    return false;
}

/* Context of the search for edges. */
typedef struct search {
    const rlt_coll_request *req;
    rlt_router *router;
    rlt_map *members; /* accelerator -> member */
    rlt_map *links;   /* link -> its number among those in use */
    rlt_map *ports;   /* first links of ways through switches that are taken */
} search;

/* Adds the edges of member i. Among members behind switches that one port reaches, only the next in number
 * (cyclically) gets an edge, unless `all`. */
static int edges_of(const search *s, uint32_t i, bool all, rlt_tacos_net *net, rlt_error *err)
{
    const rlt_coll_request *req = s->req;
    rlt_map *ports = s->ports;
    int rc = 0;
    for (uint32_t k = 1; k < req->n && rc == 0; k++) {
        uint32_t j = i + k < req->n ? i + k : i + k - req->n;
        rlt_path path;
        int none = rlt_route(s->router, rlt_member_rank(req, i), rlt_member_rank(req, j), 0, &path);
        if (none == RLT_ENOMEM)
            return rlt_nomem(err);
        if (none)
            continue;
        if (path.n == 0)
            return rlt_fail(err, RLT_ETOPOLOGY, "tacos", "two members share an accelerator");
        if (passes_member(req->topology, &path, s->members))
            continue;
        if (!all && path.n > 1 && rlt_map_get(ports, path.links[0]) != RLT_NONE)
            continue;
        if (path.n > 1 && rlt_map_put(ports, path.links[0], i))
            return rlt_nomem(err);
        rc = add_edge(net, s->links, req->topology, i, j, &path, err);
    }
    return rc;
}

/* Builds compressed rows of edges by source or by destination. */
static int rows_by(const rlt_tacos_net *net, bool by_src, uint32_t **first, uint32_t **rows)
{
    uint32_t *f = calloc((size_t)net->n + 2, sizeof *f), *r = calloc((size_t)net->n_edges + 1, sizeof *r);
    *first = f;
    *rows = r;
    if (!f || !r)
        return RLT_ENOMEM;
    for (uint32_t e = 0; e < net->n_edges; e++)
        f[(by_src ? net->edges[e].src : net->edges[e].dst) + 2]++;
    for (uint32_t i = 0; i < net->n; i++)
        f[i + 2] += f[i + 1];
    for (uint32_t e = 0; e < net->n_edges; e++)
        r[f[(by_src ? net->edges[e].src : net->edges[e].dst) + 1]++] = e;
    return 0;
}

static int rows_by_link(rlt_tacos_net *net)
{
    uint32_t *f = calloc((size_t)net->n_links + 2, sizeof *f),
             *r = calloc((size_t)net->n_path + 1, sizeof *r);
    net->user_first = f;
    net->user = r;
    if (!f || !r)
        return RLT_ENOMEM;
    for (uint32_t i = 0; i < net->n_path; i++)
        f[net->path[i] + 2]++;
    for (uint32_t i = 0; i < net->n_links; i++)
        f[i + 2] += f[i + 1];
    for (uint32_t e = 0; e < net->n_edges; e++)
        for (uint32_t i = 0; i < net->edges[e].hops; i++)
            r[f[net->path[net->edges[e].first + i] + 1]++] = e;
    return 0;
}

static int finish(rlt_tacos_net *net, rlt_error *err)
{
    for (uint32_t e = 1; e < net->n_edges; e++)
        net->uneven = net->uneven || net->edges[e].bw_Bps != net->edges[0].bw_Bps ||
                      net->edges[e].latency_ps != net->edges[0].latency_ps;
    if (rows_by(net, true, &net->out_first, &net->out) || rows_by(net, false, &net->in_first, &net->in) ||
        rows_by_link(net))
        return rlt_nomem(err);
    return 0;
}

/* Whether every member can be reached from the first one, along the edges or against them. */
static int reaches_all(const rlt_tacos_net *net, bool against, bool *yes)
{
    const uint32_t *first = against ? net->in_first : net->out_first, *rows = against ? net->in : net->out;
    uint32_t *queue = malloc(net->n * sizeof *queue), head = 0, tail = 0;
    uint8_t *seen = calloc(net->n, 1);
    if (queue && seen) {
        seen[0] = 1;
        queue[tail++] = 0;
    }
    while (head < tail) {
        uint32_t at = queue[head++];
        for (uint32_t i = first[at]; i < first[at + 1]; i++) {
            uint32_t to = against ? net->edges[rows[i]].src : net->edges[rows[i]].dst;
            if (!seen[to])
                queue[tail++] = to;
            seen[to] = 1;
        }
    }
    *yes = tail == net->n;
    free(seen);
    free(queue);
    return tail ? 0 : RLT_ENOMEM;
}

static int build(const search *s, bool all, rlt_tacos_net *net, bool *connected, rlt_error *err)
{
    bool forth = false, back = false;
    int rc = 0;
    *net = (rlt_tacos_net){.n = s->req->n};
    for (uint32_t i = 0; i < net->n && rc == 0; i++)
        rc = edges_of(s, i, all, net, err);
    if (rc == 0)
        rc = finish(net, err);
    if (rc == 0 && (reaches_all(net, false, &forth) || reaches_all(net, true, &back)))
        rc = rlt_nomem(err);
    *connected = forth && back;
    return rc;
}

int rlt_tacos_net_create(const rlt_coll_request *req, rlt_tacos_net *out, rlt_error *err)
{
    rlt_map members = {0}, links = {0}, ports = {0};
    search s = {.req = req, .members = &members, .links = &links, .ports = &ports};
    bool connected = false;
    *out = (rlt_tacos_net){0};
    int rc = rlt_router_create(req->topology, req->placement, RLT_ROUTE_DMODK, &s.router, err);
    for (uint32_t m = 0; m < req->n && rc == 0; m++)
        if (rlt_map_put(&members, rlt_placed(req->placement, rlt_member_rank(req, m)), m))
            rc = rlt_nomem(err);
    if (rc == 0)
        rc = build(&s, false, out, &connected, err);
    if (rc == 0 && !connected) {
        rlt_tacos_net_free(out);
        rlt_map_free(&links);
        rc = build(&s, true, out, &connected, err);
        if (rc == 0 && !connected)
            rc = rlt_fail(err, RLT_ETOPOLOGY, "tacos", "not every member can reach every other");
    }
    if (rc)
        rlt_tacos_net_free(out);
    rlt_router_free(s.router);
    rlt_map_free(&ports);
    rlt_map_free(&links);
    rlt_map_free(&members);
    return rc;
}
