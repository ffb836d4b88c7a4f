/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding by blocks of accelerators that the network lets exchange, such as the pods of a fat tree.
 *
 * Let b be the members in a block, so that member m is at place m mod b of block m / b of the group, and let
 * each block have its members at the same places. Let a group of symmetries of the plan move member m to
 * another with the same m mod b, and any m / b to any other. Each of these symmetries moves whole blocks, so
 * it is one of the network, too. Then the members m mod b are a class, and so is each link of a block.
 *
 *   Example: a ring of 8192 members over pods of 64: 64 classes. All of a pod's links together carry what
 *   the next pod's carry.
 */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/fold.h"
#include "net/fold.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

/* A dimension along which the members stand, and its blocks. */
typedef struct line {
    uint32_t dim, size, stride;
    uint32_t block;      /* accelerators of a block */
    uint32_t members, n; /* members of each block; blocks */
    uint32_t *blocks;    /* numbers of the blocks, in order of members */
} line;

static uint32_t place_of(const rlt_plan *plan, const rlt_router *router, uint32_t member)
{
    return rlt_placed(rlt_router_placement(router), rlt_member_rank(&plan->req, member));
}

/* Finds the dimension in which two accelerators differ. Returns false if it is not just one. */
static bool find_dim(const rlt_topology *t, uint32_t a, uint32_t b, line *l)
{
    uint32_t stride = 1, found = 0;
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        uint32_t size = rlt_topology_dim(t, d).size;
        if (a / stride % size != b / stride % size) {
            *l = (line){.dim = d, .size = size, .stride = stride};
            found++;
        }
        stride *= size;
    }
    return found == 1;
}

/* Whether every block of members is one of accelerators, the members at the same places of each. */
static bool find_blocks(const rlt_plan *plan, const rlt_router *router, line *l)
{
    uint32_t n = plan->req.n, first = place_of(plan, router, 0), x0 = first / l->stride % l->size, b = 1;
    while (b < n && place_of(plan, router, b) / l->stride % l->size / l->block == x0 / l->block)
        b++;
    l->members = b;
    l->n = n / b;
    bool regular = n % b == 0 && l->n > 1;
    for (uint32_t m = 0; m < n && regular; m++) {
        uint32_t at = place_of(plan, router, m), x = at / l->stride % l->size;
        uint32_t like = place_of(plan, router, m % b) / l->stride % l->size;
        if (m % b == 0)
            l->blocks[m / b] = x / l->block;
        regular = at - x * l->stride == first - x0 * l->stride && x / l->block == l->blocks[m / b] &&
                  x % l->block == like % l->block;
    }
    return regular;
}

static bool are_distinct(const line *l)
{
    unsigned char *seen = calloc((size_t)l->size / l->block + 1, 1);
    bool distinct = seen != NULL;
    for (uint32_t i = 0; i < l->n && distinct; i++)
        distinct = !seen[l->blocks[i]]++;
    free(seen);
    return distinct;
}

/* Whether symmetries of the plan take any block to any other and leave the places in blocks. Digits below the
 * size of a block stay. A digit that goes across it moves by multiples of what it has of a block. */
static bool moves_blocks(const rlt_plan *plan, uint32_t members)
{
    uint32_t sizes[RLT_MAX_TRANSLATIONS], low = 1, i = 0;
    uint32_t n = plan->algorithm->symmetry ? plan->algorithm->symmetry(plan, sizes) : 0;
    while (i < n && members % ((uint64_t)low * sizes[i]) == 0)
        low *= sizes[i++];
    return n && (low == members || (i < n && members % low == 0 && sizes[i] % (members / low) == 0));
}

static int fill(const rlt_plan *plan, const line *l, rlt_fold *out, rlt_error *err)
{
    uint32_t n = plan->req.n;
    int rc = rlt__fold_room(out, l->members, n, err);
    if (rc)
        return rc;
    for (uint32_t c = 0; c < l->members; c++) {
        out->rep[c] = c;
        out->size[c] = l->n;
    }
    for (uint32_t m = 0; m < n; m++)
        out->of_member[m] = m % l->members;
    return 0;
}

int rlt__fold_blocks(const rlt_plan *plan, rlt_router *router, rlt_fold *out, rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(router);
    line l = {0};
    if (!rlt_plan_is_even(plan) || rlt_router_routing(router) != RLT_ROUTE_DMODK ||
        rlt_router_placement(router)->nic || !rlt_topology_is_product(t) ||
        !find_dim(t, place_of(plan, router, 0), place_of(plan, router, plan->req.n - 1), &l) ||
        (l.block = rlt_topology_exchanges(t, l.dim)) == 0)
        return RLT_EUNSUPPORTED; /* the reason given by translations stands */
    l.blocks = malloc(plan->req.n * sizeof *l.blocks);
    int rc = l.blocks ? 0 : rlt_nomem(err);
    if (!rc && (!find_blocks(plan, router, &l) || !are_distinct(&l) || !moves_blocks(plan, l.members)))
        rc = RLT_EUNSUPPORTED;
    if (!rc)
        rc = rlt_net_fold_blocks(t, l.dim, place_of(plan, router, 0), l.blocks, l.n, &out->net, err);
    if (!rc)
        rc = fill(plan, &l, out, err);
    free(l.blocks);
    return rc;
}
