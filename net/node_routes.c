/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes between the nodes of a graph. */
#include "net/node_routes.h"

#include <stdlib.h>

#include "net/node_ports.h"
#include "net/topology/frozen.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

struct rlt_node_routes {
    const rlt_topology *t;
    rlt_node_ports ports;
    rlt_graph_routes *inside, *outside;
};

int rlt_node_routes_create(const rlt_topology *t, size_t bytes, rlt_node_routes **out, rlt_error *err)
{
    *out = NULL;
    if (t->n_dims || t->graph.pxn == RLT_PXN_UNSTATED)
        return 0;
    rlt_node_routes *r = *out = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->t = t;
    int rc = rlt_node_ports_create(t, &r->ports, err);
    if (!rc)
        rc = rlt_graph_routes_create(t, bytes / 2, NULL, &r->inside, err);
    if (!rc)
        rc = rlt_graph_routes_create(t, bytes / 2, NULL, &r->outside, err);
    if (rc) {
        rlt_node_routes_free(r);
        *out = NULL;
        return rc;
    }
    rlt_graph_routes_relay(r->inside, r->ports.inside);
    rlt_graph_routes_relay(r->outside, r->ports.outside);
    return 0;
}

void rlt_node_routes_free(rlt_node_routes *r)
{
    if (!r)
        return;
    rlt_graph_routes_free(r->inside);
    rlt_graph_routes_free(r->outside);
    rlt_node_ports_free(&r->ports);
    free(r);
}

/* Goes from `src` to `dst` of one node, without leaving it if that is possible. */
static int move_inside(rlt_node_routes *r, rlt_graph_routes *any, uint32_t src, uint32_t dst,
                       rlt_graph_pick pick, rlt_walk *walk)
{
    if (pick.by_destination)
        pick.value = dst < r->t->accelerators ? dst % r->ports.node : 0;
    int rc = src == dst ? 0 : rlt_graph_routes_route(r->inside, src, dst, pick, walk);
    return rc == RLT_ETOPOLOGY ? rlt_graph_routes_route(any, src, dst, pick, walk) : rc;
}

/* Takes back what was added to a walk. */
static void go_back(rlt_walk *walk, const rlt_walk *before)
{
    walk->n = before->n;
    walk->latency_ps = before->latency_ps;
    walk->bw_Bps = before->bw_Bps;
}

/* Goes from node to node by the ports of both accelerators. On failure the walk has a part of the way. */
static int cross(rlt_node_routes *r, rlt_graph_routes *any, uint32_t src, uint32_t dst, rlt_graph_pick pick,
                 rlt_walk *walk)
{
    uint32_t out = r->ports.port[src], in = r->ports.port[dst];
    rlt_graph_pick to = pick;
    to.digits = true;
    if (pick.by_destination)
        to.value = r->ports.number[dst];
    int rc = move_inside(r, any, src, out, pick, walk);
    if (!rc)
        rc = rlt_graph_routes_route(r->outside, out, in, to, walk);
    if (!rc)
        rc = move_inside(r, any, in, dst, pick, walk);
    return rc;
}

int rlt_node_routes_route(rlt_node_routes *r, rlt_graph_routes *any, uint32_t src, uint32_t dst,
                          rlt_graph_pick pick, rlt_walk *walk)
{
    const rlt_node_ports *p = &r->ports;
    uint32_t relay = src - src % p->node + dst % p->node;
    int rc = RLT_ETOPOLOGY;
    if (rlt_map_get(&r->t->graph.route_of, (uint64_t)src << 32 | dst) != RLT_NONE)
        return rlt_graph_routes_route(any, src, dst, pick, walk);
    if (relay == dst)
        return move_inside(r, any, src, dst, pick, walk);
    const rlt_walk before = *walk;
    bool moves = r->t->graph.pxn == RLT_PXN_ON && p->place[src] != p->place[dst];
    if (!moves)
        rc = cross(r, any, src, dst, pick, walk);
    if (rc == RLT_ETOPOLOGY && relay != src) {
        go_back(walk, &before);
        rc = move_inside(r, any, src, relay, pick, walk);
        if (!rc)
            rc = cross(r, any, relay, dst, pick, walk);
    }
    if (rc != RLT_ETOPOLOGY)
        return rc;
    go_back(walk, &before);
    return rlt_graph_routes_route(any, src, dst, pick, walk);
}
