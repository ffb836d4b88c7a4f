/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rails: port j of every node hangs on leaf j of the node's unit of nodes_per_leaf nodes; every leaf has a
 * cable to each spine. Routes: over the leaf if both ports hang on it, else leaf, spine, leaf.
 *
 * Ports come node by node, ports_per_node each. Local switches: leaves (unit by unit, port by port), spines.
 * Local links, up then down in each pair:
 *   port i to its leaf    2i
 *   leaf l to spine s     after these, in order of (l, s)
 */
#include <inttypes.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { PORTS, NODES_PER_LEAF, UNITS, SPINES, BASE_SPINE };
enum { OVER };

static const rlt_param parameters[] = {
    RLT_DIM_COUNT("nodes_per_leaf", number[NODES_PER_LEAF], .usual = "all", .help = "nodes of a unit"),
    RLT_DIM_COUNT("oversubscription", given[OVER], .preset = "1",
                  .help = "divides the cables that go up from a leaf"),
    RLT_DIM_COUNT("spines", number[SPINES], .usual = "nodes_per_leaf / oversubscription",
                  .help = "switches above the leaves"),
    RLT_DIM_IN_NETWORK,
    {0}};

static int lay_out(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number, over = f->given[OVER];
    v[PORTS] = spec->ports_per_node ? spec->ports_per_node : 1;
    uint32_t nodes = f->n / v[PORTS];
    if (!v[NODES_PER_LEAF])
        v[NODES_PER_LEAF] = nodes;
    if (nodes % v[NODES_PER_LEAF])
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "nodes_per_leaf %" PRIu32 " does not divide the %" PRIu32 " nodes", v[NODES_PER_LEAF],
                        nodes);
    if (v[NODES_PER_LEAF] % over)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "oversubscription %" PRIu32 " does not divide nodes_per_leaf %" PRIu32, over,
                        v[NODES_PER_LEAF]);
    if (v[SPINES] && rlt_dim_given(spec, "oversubscription"))
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "give spines or oversubscription, not both");
    v[UNITS] = nodes / v[NODES_PER_LEAF];
    if (!v[SPINES])
        v[SPINES] = v[NODES_PER_LEAF] / over;
    return 0;
}

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    int rc = lay_out(spec, f, err);
    if (rc || (rc = rlt_factor_share(spec, f, 1, err)) != 0)
        return rc;
    uint64_t leaves = (uint64_t)v[PORTS] * v[UNITS], spines = leaves > 1 ? v[SPINES] : 0;
    f->degree[0] = 1;
    v[BASE_SPINE] = 2 * f->n;
    rc = rlt_factor_counts(spec, f, leaves + spines, 2ull * f->n + 2 * leaves * spines, err);
    return rc ? rc : rlt_factor_longest(spec, f, leaves > 1 ? 4 : f->n > 1 ? 2 : 0, err);
}

static uint32_t leaf_of(const rlt_factor *f, uint32_t port)
{
    const uint32_t *v = f->number;
    return port / v[PORTS] / v[NODES_PER_LEAF] * v[PORTS] + port % v[PORTS];
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    const uint32_t *v = f->number;
    uint32_t low, high, first_spine = f->n + v[PORTS] * v[UNITS];
    if (link < v[BASE_SPINE]) {
        low = link / 2;
        high = f->n + leaf_of(f, low);
    } else {
        low = f->n + (link - v[BASE_SPINE]) / 2 / v[SPINES];
        high = first_spine + (link - v[BASE_SPINE]) / 2 % v[SPINES];
    }
    *src = link % 2 ? high : low;
    *dst = link % 2 ? low : high;
}

/* D-mod-k counts the destinations leaf by leaf. */
static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    const uint32_t *v = f->number;
    uint32_t from = leaf_of(f, src), to = leaf_of(f, dst), n = 0;
    links[n++] = 2 * src;
    if (from != to) {
        uint32_t place = dst / v[PORTS] % v[NODES_PER_LEAF];
        uint32_t s = (pick.by_destination ? to * v[NODES_PER_LEAF] + place : pick.value) % v[SPINES];
        links[n++] = v[BASE_SPINE] + 2 * (from * v[SPINES] + s);
        links[n++] = v[BASE_SPINE] + 2 * (to * v[SPINES] + s) + 1;
    }
    links[n++] = 2 * dst + 1;
    return n;
}

/* The spine of a route stays if it does not depend on the leaf. */
static uint32_t turned(const rlt_factor *f, uint32_t link)
{
    const uint32_t *v = f->number;
    if (v[NODES_PER_LEAF] % v[SPINES])
        return RLT_NONE;
    if (link < v[BASE_SPINE])
        return link - 2 * (link / 2 % v[PORTS]);
    uint32_t leaf = (link - v[BASE_SPINE]) / 2 / v[SPINES];
    return link - 2 * v[SPINES] * (leaf % v[PORTS]);
}

static bool one_leaf(const rlt_factor *f)
{
    return f->number[UNITS] == 1;
}

const rlt_shape rlt_shape_rail = {
    .info = {"rail", "port j of every node on leaf j, then spines", parameters},
    .build = build,
    .ends = ends,
    .route = route,
    .turned = turned,
    .one_leaf = one_leaf,
};
