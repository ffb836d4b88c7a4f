/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rail-optimised: the gpus_per_node accelerators of a node share an in-node switch. Accelerator i of
 * each of nodes_per_leaf nodes (a unit) hangs on rail leaf i of the unit; every leaf has one cable to
 * each spine. Bandwidth and latency of the dimension are those of the network cables;
 * nvlink_bandwidth and nvlink_latency are those inside the node. Routes: same node by the in-node
 * switch, same leaf by the leaf, else leaf, spine, leaf.
 *
 * Local switches: in-node switches, leaves (unit by unit, rail by rail), spines. Local links, up then down in
 * each pair:
 *   accelerator i to its in-node switch   2i
 *   accelerator i to its leaf             2n + 2i
 *   leaf l to spine s                     after these, in order of (l, s)
 */
#include <inttypes.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { GPUS, NODES, NODES_PER_LEAF, UNITS, SPINES, BASE_LEAF, BASE_SPINE };
enum { OVER };

static const rlt_param parameters[] = {
    RLT_DIM_COUNT("gpus_per_node", number[GPUS], .usual = "required", .help = "accelerators of a node"),
    {"nvlink_bandwidth", .kind = RLT_PARAM_RATE, RLT_FIELD(rlt_factor, cls[0].bw_Bps), .min = 1,
     .max = RLT_MAX_LINK_Bps, .usual = "required", .help = "bandwidth of an accelerator inside its node"},
    {"nvlink_latency", .kind = RLT_PARAM_DURATION, RLT_FIELD(rlt_factor, cls[0].latency_ps),
     .usual = "that of the dimension", .help = "latency of a link inside a node"},
    RLT_DIM_COUNT("nodes_per_leaf", number[NODES_PER_LEAF], .usual = "all", .help = "nodes of a unit"),
    RLT_DIM_COUNT("oversubscription", given[OVER], .preset = "1",
                  .help = "divides the cables that go up from a leaf"),
    RLT_DIM_COUNT("spines", number[SPINES], .usual = "nodes_per_leaf / oversubscription",
                  .help = "switches above the leaves"),
    RLT_DIM_IN_NETWORK,
    {0}};

static int lay_rails(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number, over = f->given[OVER];
    if (!v[GPUS] || !f->cls[0].bw_Bps)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "rail-optimised needs gpus_per_node and nvlink_bandwidth");
    if (f->n % v[GPUS])
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "gpus_per_node %" PRIu32 " does not divide size %" PRIu32, v[GPUS], f->n);
    v[NODES] = f->n / v[GPUS];
    if (!v[NODES_PER_LEAF])
        v[NODES_PER_LEAF] = v[NODES];
    if (v[NODES] % v[NODES_PER_LEAF])
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "nodes_per_leaf %" PRIu32 " does not divide the %" PRIu32 " nodes", v[NODES_PER_LEAF],
                        v[NODES]);
    if (v[NODES_PER_LEAF] % over)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "oversubscription %" PRIu32 " does not divide nodes_per_leaf %" PRIu32, over,
                        v[NODES_PER_LEAF]);
    if (v[SPINES] && rlt_dim_given(spec, "oversubscription"))
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "give spines or oversubscription, not both");
    v[UNITS] = v[NODES] / v[NODES_PER_LEAF];
    if (!v[SPINES])
        v[SPINES] = v[NODES_PER_LEAF] / over;
    return 0;
}

/* Sets the two classes; class 0 follows from the parameters. */
static int share_links(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    rlt_factor_links node = f->cls[0];
    int rc = rlt_factor_share(spec, f, 1, err);
    if (rc)
        return rc;
    f->cls[1] = f->cls[0];
    f->cls[0].bw_Bps = node.bw_Bps;
    if (rlt_dim_given(spec, "nvlink_latency"))
        f->cls[0].latency_ps = node.latency_ps;
    f->degree[0] = f->degree[1] = 1;
    f->bw_Bps = f->cls[0].bw_Bps + f->cls[1].bw_Bps;
    return 0;
}

/* Sets the longest route, by links and by latency. */
static int longest(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    const uint32_t *v = f->number;
    rlt_time node = f->cls[0].latency_ps, net = f->cls[1].latency_ps;
    if (node >= RLT_TIME_MAX / 4 || net >= RLT_TIME_MAX / 4)
        return rlt_fail(err, RLT_ERANGE, spec->where, "latency out of range");
    bool spine = v[NODES] > 1 && (v[GPUS] > 1 || v[UNITS] > 1);
    f->max_hops = spine ? 4 : f->n > 1 ? 2 : 0;
    rlt_time over_net = spine ? 4 * net : v[NODES] > 1 ? 2 * net : 0;
    rlt_time in_node = v[GPUS] > 1 ? 2 * node : 0;
    f->max_ps = over_net > in_node ? over_net : in_node;
    return 0;
}

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    int rc = lay_rails(spec, f, err);
    if (rc || (rc = share_links(spec, f, err)) != 0)
        return rc;
    uint64_t leaves = (uint64_t)v[GPUS] * v[UNITS];
    rc = rlt_factor_counts(spec, f, v[NODES] + leaves + v[SPINES], 4ull * f->n + 2 * leaves * v[SPINES], err);
    if (rc)
        return rc;
    f->split = v[BASE_LEAF] = 2 * f->n;
    v[BASE_SPINE] = 4 * f->n;
    return longest(spec, f, err);
}

static uint32_t leaf_of(const rlt_factor *f, uint32_t a)
{
    const uint32_t *v = f->number;
    return a / v[GPUS] / v[NODES_PER_LEAF] * v[GPUS] + a % v[GPUS];
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    const uint32_t *v = f->number;
    uint32_t low, high, first_leaf = f->n + v[NODES], first_spine = first_leaf + v[GPUS] * v[UNITS];
    if (link < v[BASE_LEAF]) {
        low = link / 2;
        high = f->n + low / v[GPUS];
    } else if (link < v[BASE_SPINE]) {
        low = (link - v[BASE_LEAF]) / 2;
        high = first_leaf + leaf_of(f, low);
    } else {
        low = first_leaf + (link - v[BASE_SPINE]) / 2 / v[SPINES];
        high = first_spine + (link - v[BASE_SPINE]) / 2 % v[SPINES];
    }
    *src = link % 2 ? high : low;
    *dst = link % 2 ? low : high;
}

/* D-mod-k uses the node of the destination, not the accelerator: all destinations at a leaf have the same
 * index in their node. */
static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    const uint32_t *v = f->number;
    if (src / v[GPUS] == dst / v[GPUS]) {
        links[0] = 2 * src;
        links[1] = 2 * dst + 1;
        return 2;
    }
    uint32_t from = leaf_of(f, src), to = leaf_of(f, dst), n = 0;
    links[n++] = v[BASE_LEAF] + 2 * src;
    if (from != to) {
        uint32_t s = (pick.by_destination ? dst / v[GPUS] : pick.value) % v[SPINES];
        links[n++] = v[BASE_SPINE] + 2 * (from * v[SPINES] + s);
        links[n++] = v[BASE_SPINE] + 2 * (to * v[SPINES] + s) + 1;
    }
    links[n++] = v[BASE_LEAF] + 2 * dst + 1;
    return n;
}

const rlt_shape rlt_shape_rail_optimised = {
    .info = {"rail-optimised",
             "nodes with an inner switch; equal positions of all nodes share a rail leaf; then spines",
             parameters},
    .build = build,
    .ends = ends,
    .route = route,
};
