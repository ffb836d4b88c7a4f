/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups: the dimensions of the topology that a list of ranks spans, and the ring orders restricted to it.
 *
 * Let (c_0, c_1, ...) be a member's number in mixed radix. The group is a sub-grid if that member is on
 * accelerator base + sum of c_d * stride_d. Each d is another dimension of the topology: the whole of it, a
 * contiguous part, or every k-th place. Example: in a 4 x 4 grid, accelerators 1, 3, 9, 11 are a 2 x 2
 * sub-grid: every second place of both dimensions.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

typedef struct grid {
    uint32_t n_dims;
    uint32_t size[RLT_MAX_DIMS], stride[RLT_MAX_DIMS];
} grid;

static grid grid_of(const rlt_topology *t)
{
    grid g = {.n_dims = rlt_topology_dims(t)};
    uint32_t stride = 1;
    if (g.n_dims > RLT_MAX_DIMS)
        g.n_dims = RLT_MAX_DIMS;
    for (uint32_t d = 0; d < g.n_dims; d++) {
        g.size[d] = rlt_topology_dim(t, d).size;
        g.stride[d] = stride;
        stride *= g.size[d];
    }
    return g;
}

/* Returns the only dimension in which b differs from a, with b `*step` places above a. RLT_NONE if there is
 * none. */
static uint32_t single_step(const grid *g, uint32_t a, uint32_t b, uint32_t *step)
{
    uint32_t found = RLT_NONE;
    for (uint32_t d = 0; d < g->n_dims; d++) {
        uint32_t x = a / g->stride[d] % g->size[d], y = b / g->stride[d] % g->size[d];
        if (x == y)
            continue;
        if (found != RLT_NONE || y < x)
            return RLT_NONE;
        found = d;
        *step = y - x;
    }
    return found;
}

/* Whether members j * filled .. (j + 1) * filled - 1 are the first `filled` members moved by `offset`. */
static bool same_moved(const uint32_t *acc, uint32_t filled, uint32_t j, uint32_t offset)
{
    for (uint32_t i = 0; i < filled; i++) {
        if (acc[(size_t)j * filled + i] != acc[i] + offset)
            return false;
    }
    return true;
}

/* Fills the group's dimensions if its accelerators form a sub-grid. */
static bool find_subgrid(rlt_group *group, const rlt_topology *t, const uint32_t *acc)
{
    grid g = grid_of(t);
    uint32_t filled = 1, used = 0;
    while (filled < group->n) {
        uint32_t step = 0, d = single_step(&g, acc[0], acc[filled], &step);
        if (d == RLT_NONE || used >> d & 1)
            return false;
        used |= 1u << d;
        uint32_t place = acc[0] / g.stride[d] % g.size[d], size = 1;
        while ((uint64_t)(size + 1) * filled <= group->n && place + (uint64_t)size * step < g.size[d] &&
               same_moved(acc, filled, size, size * step * g.stride[d]))
            size++;
        if (size == 1 || group->n % ((uint64_t)filled * size) != 0)
            return false;
        group->dims[group->n_dims] = size;
        group->axes[group->n_dims] = d;
        group->shapes[group->n_dims++] = rlt_topology_dim(t, d).shape;
        filled *= size;
    }
    return group->n_dims > 0;
}

static void find_dims(rlt_group *group, const rlt_topology *t, const uint32_t *acc)
{
    if (find_subgrid(group, t, acc))
        return;
    group->n_dims = 1;
    group->dims[0] = group->n;
    group->shapes[0] = rlt_topology_dims(t) == 1 ? rlt_topology_dim(t, 0).shape : "switch";
    group->axes[0] = RLT_NONE;
}

/* Finds the members of a node, if they stand in order of nodes and are as many on each; else 0. */
static int members_of_node(const rlt_topology *t, const uint32_t *acc, uint32_t n, uint32_t *out,
                           rlt_error *err)
{
    uint32_t size = rlt_topology_node_size(t), most = rlt_topology_accelerators(t) / size, node = 1;
    while (node < n && acc[node] / size == acc[0] / size)
        node++;
    *out = 0;
    if (n % node || n / node > most)
        return 0;
    unsigned char *seen = calloc(most / 8 + 1, 1);
    bool regular = true;
    if (!seen)
        return rlt_nomem(err);
    for (uint32_t m = 0; m < n && regular; m++) {
        uint32_t at = acc[m] / size;
        if (m % node == 0) {
            regular = !(seen[at / 8] >> at % 8 & 1);
            seen[at / 8] |= (unsigned char)(1u << at % 8);
        } else {
            regular = at == acc[m - 1] / size;
        }
    }
    free(seen);
    *out = regular ? node : 0;
    return 0;
}

/* Restricts each recommended ring to the group's members, in the ring's order. */
static int find_rings(rlt_group *group, const rlt_topology *t, const uint32_t *acc, rlt_error *err)
{
    uint32_t rings = rlt_topology_rings(t), accelerators = rlt_topology_accelerators(t);
    if (rings == 0)
        return 0;
    int rc = 0;
    uint32_t *member = malloc(accelerators * sizeof *member);
    group->rings = calloc(rings, sizeof *group->rings);
    if (!member || !group->rings) {
        rc = rlt_nomem(err);
        goto out;
    }
    memset(member, 0xff, accelerators * sizeof *member); /* RLT_NONE */
    for (uint32_t m = 0; m < group->n; m++)
        member[acc[m]] = m;
    for (uint32_t r = 0; r < rings; r++) {
        const uint32_t *order = rlt_topology_ring(t, r);
        group->rings[r] = malloc(group->n * sizeof **group->rings);
        if (!group->rings[r]) {
            rc = rlt_nomem(err);
            goto out;
        }
        group->n_rings++;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < accelerators && kept < group->n; i++) {
            if (member[order[i]] != RLT_NONE)
                group->rings[r][kept++] = member[order[i]];
        }
    }
out:
    free(member);
    return rc;
}

/* Copies the ranks, unless they are 0 .. n-1, and looks up their accelerators. */
static int place_ranks(rlt_group *group, const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks,
                       uint32_t *acc, rlt_error *err)
{
    int rc = 0;
    bool identity = true;
    unsigned char *seen = calloc(p->n / 8 + 1, 1);
    if (!seen)
        return rlt_nomem(err);
    for (uint32_t m = 0; rc == 0 && m < group->n; m++) {
        uint32_t rank = ranks ? ranks[m] : m;
        identity = identity && rank == m;
        if (rank >= p->n) {
            rc = rlt_fail(err, RLT_ERANGE, "group", "rank %u does not exist; the placement has %u ranks",
                          rank, p->n);
        } else if (seen[rank / 8] >> rank % 8 & 1) {
            rc = rlt_fail(err, RLT_ESCHEMA, "group", "rank %u is named twice", rank);
        } else {
            seen[rank / 8] |= (unsigned char)(1u << rank % 8);
            acc[m] = rlt_placed(p, rank);
            if (acc[m] >= rlt_topology_accelerators(t))
                rc = rlt_fail(err, RLT_ERANGE, "group", "rank %u is on accelerator %u, which does not exist",
                              rank, acc[m]);
        }
    }
    free(seen);
    if (rc || identity)
        return rc;
    group->ranks = malloc(group->n * sizeof *group->ranks);
    if (!group->ranks)
        return rlt_nomem(err);
    memcpy(group->ranks, ranks, group->n * sizeof *group->ranks);
    return 0;
}

/* Whether the group is a whole product in order; its dimensions then need no search, whatever its size. */
static bool is_whole_product(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n)
{
    return !ranks && !p->accelerator && n > 1 && n == p->n && n == rlt_topology_accelerators(t) &&
           rlt_topology_is_product(t) && rlt_topology_rings(t) == 0;
}

static void whole_dims(rlt_group *group, const rlt_topology *t)
{
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        rlt_dim dim = rlt_topology_dim(t, d);
        if (dim.size == 1)
            continue;
        group->dims[group->n_dims] = dim.size;
        group->axes[group->n_dims] = d;
        group->shapes[group->n_dims++] = dim.shape;
    }
}

int rlt_group_create(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n,
                     rlt_group *out, rlt_error *err)
{
    *out = (rlt_group){.n = n, .topology = t, .placement = p};
    if (n == 0 || n > RLT_MAX_MEMBERS)
        return rlt_fail(err, RLT_ERANGE, "group", "expected 1 to %d ranks, got %u", RLT_MAX_MEMBERS, n);
    if (is_whole_product(t, p, ranks, n)) {
        whole_dims(out, t);
        out->node = rlt_topology_node_size(t);
        return 0;
    }
    uint32_t *acc = malloc(n * sizeof *acc);
    if (!acc)
        return rlt_nomem(err);
    int rc = place_ranks(out, t, p, ranks, acc, err);
    if (rc == 0) {
        find_dims(out, t, acc);
        rc = members_of_node(t, acc, n, &out->node, err);
    }
    if (rc == 0)
        rc = find_rings(out, t, acc, err);
    free(acc);
    if (rc)
        rlt_group_free(out);
    return rc;
}

void rlt_group_free(rlt_group *g)
{
    if (!g)
        return;
    for (uint32_t r = 0; r < g->n_rings; r++)
        free(g->rings[r]);
    free(g->rings);
    free(g->ranks);
    *g = (rlt_group){0};
}

rlt_coll_request rlt_group_request(const rlt_group *g, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_coll_request req = {.kind = kind,
                            .n = g->n,
                            .ranks = g->ranks,
                            .bytes = bytes,
                            .n_dims = g->n_dims,
                            .node = g->node,
                            .n_rings = g->n_rings,
                            .topology = g->topology,
                            .placement = g->placement};
    memcpy(req.dims, g->dims, sizeof req.dims);
    memcpy(req.shapes, g->shapes, sizeof req.shapes);
    memcpy(req.axes, g->axes, sizeof req.axes);
    req.rings = (const uint32_t *const *)g->rings;
    return req;
}
