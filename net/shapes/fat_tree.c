/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fat tree of two levels (leaf, spine) or three (leaf, aggregation, core). Every cable carries the bandwidth
 * of one accelerator each way. There is one cable from a leaf to each spine (of its pod), and from
 * aggregation switch a of each pod to each core switch of group a. Oversubscription divides the number of
 * cables that go up from a leaf.
 *
 * Local switches: leaves, then aggregation switches (or spines) pod by pod, then cores group by group. Local
 * links, up then down in each pair, in this order:
 *   accelerator i to its leaf               2i
 *   leaf l to spine a                       in order of (l, a)
 *   aggregation switch (pod, a) to core c   in order of (pod, a, c)
 */
#include <inttypes.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { HOSTS, LEAVES, SPINES, LEAVES_PER_POD, PODS, CORES, BASE_SPINE, BASE_CORE };
enum { LEVELS, OVER };

static const rlt_param parameters[] = {
    {"levels", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_factor, given[LEVELS]), .preset = "2", .min = 2,
     .max = 3, .help = "of switches"},
    RLT_DIM_COUNT("hosts_per_leaf", number[HOSTS], .usual = "divisor whose power `levels` reaches the size",
                  .help = "accelerators at a leaf"),
    RLT_DIM_COUNT("oversubscription", given[OVER], .preset = "1",
                  .help = "divides the cables that go up from a leaf"),
    RLT_DIM_COUNT("spines", number[SPINES], .usual = "hosts_per_leaf / oversubscription",
                  .help = "switches above the leaves, of a pod"),
    RLT_DIM_COUNT("leaves_per_pod", number[LEAVES_PER_POD], .usual = "divisor up to hosts_per_leaf",
                  .help = "of three levels"),
    RLT_DIM_COUNT("cores", number[CORES], .usual = "leaves_per_pod",
                  .help = "of three levels: those that a spine reaches"),
    RLT_DIM_IN_NETWORK,
    {0}};

/* Returns the smallest divisor of n whose `levels`-th power is at least n. */
static uint32_t default_hosts(uint32_t n, uint32_t levels)
{
    for (uint64_t r = 1; r < n; r++)
        if (n % r == 0 && (levels == 2 ? r * r : r * r * r) >= n)
            return (uint32_t)r;
    return n;
}

static uint32_t largest_divisor(uint32_t n, uint32_t at_most)
{
    uint32_t d = at_most < n ? at_most : n;
    while (n % d)
        d--;
    return d;
}

static int lay_leaves(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number, over = f->given[OVER];
    if (!v[HOSTS])
        v[HOSTS] = default_hosts(f->n, f->given[LEVELS]);
    if (f->n % v[HOSTS])
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "hosts_per_leaf %" PRIu32 " does not divide size %" PRIu32, v[HOSTS], f->n);
    if (v[HOSTS] % over)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "oversubscription %" PRIu32 " does not divide hosts_per_leaf %" PRIu32, over,
                        v[HOSTS]);
    if (v[SPINES] && rlt_dim_given(spec, "oversubscription"))
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "give spines or oversubscription, not both");
    v[LEAVES] = f->n / v[HOSTS];
    if (!v[SPINES])
        v[SPINES] = v[HOSTS] / over;
    return 0;
}

static int lay_pods(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    if (f->given[LEVELS] == 2) {
        if (v[LEAVES_PER_POD] || v[CORES])
            return rlt_fail(err, RLT_ESCHEMA, spec->where, "leaves_per_pod and cores need levels=3");
        v[LEAVES_PER_POD] = v[LEAVES];
        v[PODS] = 1;
        return 0;
    }
    if (!v[LEAVES_PER_POD])
        v[LEAVES_PER_POD] = largest_divisor(v[LEAVES], v[HOSTS]);
    if (v[LEAVES] % v[LEAVES_PER_POD])
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "leaves_per_pod %" PRIu32 " does not divide the %" PRIu32 " leaves",
                        v[LEAVES_PER_POD], v[LEAVES]);
    v[PODS] = v[LEAVES] / v[LEAVES_PER_POD];
    if (!v[CORES])
        v[CORES] = v[LEAVES_PER_POD];
    return 0;
}

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    int rc = lay_leaves(spec, f, err);
    if (rc || (rc = lay_pods(spec, f, err)) != 0 || (rc = rlt_factor_share(spec, f, 1, err)) != 0)
        return rc;
    /* No overflow: all factors are at most 2^24, and a product of two is checked before the third. */
    uint64_t aggregation = (uint64_t)v[PODS] * v[SPINES];
    uint64_t cables = (uint64_t)v[LEAVES] * v[SPINES];
    if (aggregation > RLT_MAX_LINKS || cables > RLT_MAX_LINKS)
        return rlt_factor_counts(spec, f, aggregation, 2 * cables, err);
    uint64_t core_cables = aggregation * v[CORES];
    f->degree[0] = 1;
    rc = rlt_factor_counts(spec, f, v[LEAVES] + aggregation + (uint64_t)v[SPINES] * v[CORES],
                           2 * (f->n + cables + core_cables), err);
    if (rc)
        return rc;
    v[BASE_SPINE] = 2 * f->n;
    v[BASE_CORE] = 2 * (f->n + (uint32_t)cables);
    return rlt_factor_longest(spec, f, v[PODS] > 1 ? 6 : v[LEAVES] > 1 ? 4 : f->n > 1 ? 2 : 0, err);
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    const uint32_t *v = f->number;
    uint32_t down = link % 2, low, high;
    if (link < v[BASE_SPINE]) {
        low = link / 2;
        high = f->n + low / v[HOSTS];
    } else if (link < v[BASE_CORE]) {
        uint32_t leaf = (link - v[BASE_SPINE]) / 2 / v[SPINES], a = (link - v[BASE_SPINE]) / 2 % v[SPINES];
        low = f->n + leaf;
        high = f->n + v[LEAVES] + leaf / v[LEAVES_PER_POD] * v[SPINES] + a;
    } else {
        uint32_t aggregation = (link - v[BASE_CORE]) / 2 / v[CORES], c = (link - v[BASE_CORE]) / 2 % v[CORES];
        low = f->n + v[LEAVES] + aggregation;
        high = f->n + v[LEAVES] + v[PODS] * v[SPINES] + aggregation % v[SPINES] * v[CORES] + c;
    }
    *src = down ? high : low;
    *dst = down ? low : high;
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    const uint32_t *v = f->number;
    uint32_t from = src / v[HOSTS], to = dst / v[HOSTS], n = 0;
    links[n++] = 2 * src;
    if (from != to) {
        uint32_t key = pick.by_destination ? dst : pick.value, a = key % v[SPINES];
        uint32_t from_pod = from / v[LEAVES_PER_POD], to_pod = to / v[LEAVES_PER_POD];
        links[n++] = v[BASE_SPINE] + 2 * (from * v[SPINES] + a);
        if (from_pod != to_pod) {
            uint32_t c = key / v[SPINES] % v[CORES];
            links[n++] = v[BASE_CORE] + 2 * ((from_pod * v[SPINES] + a) * v[CORES] + c);
            links[n++] = v[BASE_CORE] + 2 * ((to_pod * v[SPINES] + a) * v[CORES] + c) + 1;
        }
        links[n++] = v[BASE_SPINE] + 2 * (to * v[SPINES] + a) + 1;
    }
    links[n++] = 2 * dst + 1;
    return n;
}

/* A leaf, or a pod, if the place of a destination in it tells which spine and core D-mod-k takes. */
static uint32_t block(const rlt_factor *f)
{
    const uint32_t *v = f->number;
    if (v[PODS] == 1)
        return v[HOSTS] % v[SPINES] ? 0 : v[HOSTS];
    uint64_t pod = (uint64_t)v[HOSTS] * v[LEAVES_PER_POD];
    return pod % ((uint64_t)v[SPINES] * v[CORES]) ? 0 : (uint32_t)pod;
}

/* The cables of one pod to cores belong to no leaf, and carry nothing. */
static uint32_t block_runs(const rlt_factor *f, rlt_block_run *runs)
{
    const uint32_t *v = f->number;
    uint32_t leaves = v[PODS] == 1 ? 1 : v[LEAVES_PER_POD];
    runs[0] = (rlt_block_run){0, 2 * v[HOSTS] * leaves};
    runs[1] = (rlt_block_run){v[BASE_SPINE], 2 * v[SPINES] * leaves};
    runs[2] = (rlt_block_run){v[BASE_CORE], 2 * v[SPINES] * v[CORES]};
    return v[PODS] == 1 ? 2 : 3;
}

static uint32_t leaf(const rlt_factor *f)
{
    return f->number[HOSTS];
}

const rlt_shape rlt_shape_fat_tree = {
    .info = {"fat-tree", "leaf and spine switches, or three levels; up to the lowest common level, then down",
             parameters},
    .build = build,
    .ends = ends,
    .route = route,
    .block = block,
    .block_runs = block_runs,
    .leaf = leaf,
};
