/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links that a program uses. A training folded to a rank a stage sends a few messages over
 * a network of millions of links. Its network then keeps a state for these links only.
 */
#include <stdlib.h>

#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

bool rlt__used_pays(const rlt_topology *t, uint64_t pairs)
{
    enum { MANY = 64 }; /* links of the network for each pair */
    return pairs * MANY <= rlt_topology_links(t);
}

/* Returns true if all that uses the network are messages of members to each other, on routes known now. Trees
 * of switches that add up or replicate may take other links. */
static bool is_known(const rlt_replay *r)
{
    const rlt_replay_options *o = &r->options;
    return !rlt__replay_reacts(o) && !o->n_link_events && !o->n_background && !o->series_bin_ps &&
           o->routing == RLT_ROUTE_DMODK && (o->model->can & RLT_NET_FOLDS) &&
           rlt_topology_is_product(o->topology) && !rlt_topology_in_networks(o->topology);
}

static uint64_t count_pairs(const rlt_program *p)
{
    uint64_t pairs = 0;
    for (uint32_t g = 0; g < p->n_groups; g++) {
        uint64_t n = p->group_first[g + 1] - p->group_first[g];
        pairs += n * (n - 1);
    }
    return pairs;
}

static int add_route(rlt_router *router, rlt__used *u, uint32_t from, uint32_t to, rlt_error *err)
{
    rlt_path path;
    int rc = rlt_route(router, from, to, 0, &path);
    if (rc)
        return rlt_fail(err, rc, "replay", "no route from rank %u to rank %u", from, to);
    rc = rlt_grow(&u->links, &u->room, sizeof *u->links, (uint64_t)u->n + path.n, UINT32_MAX,
                  "links of messages", err);
    for (uint32_t k = 0; k < path.n && !rc; k++)
        u->links[u->n++] = path.links[k];
    return rc;
}

int rlt__used_add(rlt_router *router, rlt__used *u, const uint32_t *ranks, uint32_t n, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        for (uint32_t k = 0; k < n && !rc; k++)
            rc = i == k ? 0 : add_route(router, u, ranks ? ranks[i] : i, ranks ? ranks[k] : k, err);
    return rc;
}

int rlt__used_fold(const rlt_topology *t, rlt__used *u, rlt_net_fold *out, rlt_error *err)
{
    uint32_t n = 0;
    if (!u->n)
        return 0;
    rlt_sort_u32(u->links, u->n);
    for (uint32_t i = 0; i < u->n; i++)
        if (!n || u->links[i] != u->links[n - 1])
            u->links[n++] = u->links[i];
    return rlt_net_fold_used(t, u->links, n, out, err);
}

int rlt__replay_used(rlt_replay *r, rlt_error *err)
{
    const rlt_program *p = r->program;
    rlt__used u = {0};
    int rc = 0;
    if (!rlt__used_pays(r->options.topology, count_pairs(p)) || !is_known(r))
        return 0;
    for (uint32_t g = 0; g < p->n_groups && !rc; g++)
        rc = rlt__used_add(r->router, &u, p->group_ranks + p->group_first[g],
                           p->group_first[g + 1] - p->group_first[g], err);
    if (!rc)
        rc = rlt__used_fold(r->options.topology, &u, &r->used, err);
    free(u.links);
    return rc;
}
