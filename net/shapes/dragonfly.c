/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dragonfly (Kim, Dally, Scott, Abts: "Technology-driven, highly-scalable dragonfly topology", ISCA 2008):
 * `hosts` accelerators per router, `routers` fully connected in a group, `groups` connected to each other by
 * `global` cables per router. Every two groups share m = floor(routers * global / (groups - 1)) cables;
 * leftover ports stay empty.
 *
 *   Example: routers = 4, global = 2, groups = 5: 8 ports per group, 4 other groups, m = 2.
 *
 * Port j of a group sits at router j / global. Copy c of a cable is at port j + c (groups - 1). The
 * arrangement is one of
 *
 *   palmtree  port j of group i leads to group i - j - 1 (modulo groups); the default (Camarero, Vallejo,
 *             Beivide: "Topological characterization of Hamming and dragonfly networks", TACO 2014)
 *   absolute  port j of group i leads to group j for j < i, and to group j + 1 from j = i on
 *
 * Routes are minimal: at most one global cable, and one local one on each side of it.
 *
 * Local switches: routers, group by group. Local links: accelerator i up to its router 2i and down 2i + 1;
 * then in each group, router by router, the links to the others; then for each group, by other group and
 * copy, the global link out.
 */
#include <inttypes.h>
#include <string.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

enum { GROUPS, ROUTERS, HOSTS, GLOBAL, COPIES, ABSOLUTE, BASE_LOCAL, BASE_GLOBAL };

static const rlt_param parameters[] = {
    RLT_DIM_COUNT("groups", number[GROUPS], .usual = "required", .help = "of routers"),
    RLT_DIM_COUNT("routers", number[ROUTERS], .usual = "required", .help = "of a group"),
    RLT_DIM_COUNT("hosts", number[HOSTS], .usual = "what is left of the size",
                  .help = "accelerators of a router"),
    {"global", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_factor, number[GLOBAL]), .max = RLT_MAX_ACCELERATORS,
     .usual = "as few as reach all groups", .help = "cables of a router to other groups"},
    {"arrangement", .kind = RLT_PARAM_CHOICE, RLT_FIELD(rlt_factor, number[ABSOLUTE]),
     .words = "palmtree|absolute", .preset = "palmtree", .help = "which group a global cable leads to"},
    RLT_DIM_IN_NETWORK,
    {0}};

static int lay_groups(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    if (!v[GROUPS] || !v[ROUTERS])
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "a dragonfly needs groups and routers (of a group)");
    uint64_t routers = (uint64_t)v[GROUPS] * v[ROUTERS];
    if (!v[HOSTS])
        v[HOSTS] = routers <= f->n && f->n % routers == 0 ? (uint32_t)(f->n / routers) : 1;
    if (!rlt_dim_given(spec, "global"))
        v[GLOBAL] = (v[GROUPS] - 1 + v[ROUTERS] - 1) / v[ROUTERS];
    if (routers > f->n || routers * v[HOSTS] != f->n)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "groups %" PRIu32 " x routers %" PRIu32 " x hosts %" PRIu32 " is not size %" PRIu32,
                        v[GROUPS], v[ROUTERS], v[HOSTS], f->n);
    uint64_t ports = (uint64_t)v[ROUTERS] * v[GLOBAL];
    if (v[GROUPS] > 1 && ports < v[GROUPS] - 1)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "%" PRIu32 " routers with %" PRIu32 " global cables reach %" PRIu64 " of %" PRIu32
                        " other groups",
                        v[ROUTERS], v[GLOBAL], ports, v[GROUPS] - 1);
    if (ports > RLT_MAX_LINKS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "too many global cables");
    v[COPIES] = v[GROUPS] > 1 ? (uint32_t)(ports / (v[GROUPS] - 1)) : 0;
    return 0;
}

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t *v = f->number;
    int rc = lay_groups(spec, f, err);
    if (rc || (rc = rlt_factor_share(spec, f, 1, err)) != 0)
        return rc;
    uint64_t routers = (uint64_t)v[GROUPS] * v[ROUTERS], local = routers * (v[ROUTERS] - 1);
    uint64_t global = (uint64_t)v[GROUPS] * (v[GROUPS] - 1);
    if (local <= RLT_MAX_LINKS && global <= RLT_MAX_LINKS)
        global *= v[COPIES];
    f->degree[0] = 1;
    if ((rc = rlt_factor_counts(spec, f, routers, 2ull * f->n + local + global, err)) != 0)
        return rc;
    v[BASE_LOCAL] = 2 * f->n;
    v[BASE_GLOBAL] = v[BASE_LOCAL] + (uint32_t)local;
    uint32_t inside = v[ROUTERS] > 1 ? 3 : f->n > 1 ? 2 : 0;
    return rlt_factor_longest(spec, f, v[GROUPS] == 1 ? inside : v[ROUTERS] > 1 ? 5 : 3, err);
}

/* Returns the router within `group` that holds copy c of the cable to `other`. */
static uint32_t gateway(const rlt_factor *f, uint32_t group, uint32_t other, uint32_t c)
{
    const uint32_t *v = f->number;
    uint32_t port;
    if (v[ABSOLUTE])
        port = other < group ? other : other - 1;
    else
        port = group > other ? group - other - 1 : group + v[GROUPS] - other - 1;
    return (port + c * (v[GROUPS] - 1)) / v[GLOBAL];
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    const uint32_t *v = f->number;
    if (link < v[BASE_LOCAL]) {
        uint32_t router = f->n + link / 2 / v[HOSTS];
        *src = link % 2 ? router : link / 2;
        *dst = link % 2 ? link / 2 : router;
    } else if (link < v[BASE_GLOBAL]) {
        uint32_t k = link - v[BASE_LOCAL], others = v[ROUTERS] - 1;
        uint32_t router = k / others, at = router % v[ROUTERS], to = k % others;
        *src = f->n + router;
        *dst = f->n + router - at + (to < at ? to : to + 1);
    } else {
        uint32_t k = link - v[BASE_GLOBAL], c = k % v[COPIES], others = v[GROUPS] - 1;
        uint32_t group = k / v[COPIES] / others, other = k / v[COPIES] % others;
        other += other >= group;
        *src = f->n + group * v[ROUTERS] + gateway(f, group, other, c);
        *dst = f->n + other * v[ROUTERS] + gateway(f, other, group, c);
    }
}

static uint32_t local_link(const rlt_factor *f, uint32_t group, uint32_t from, uint32_t to)
{
    const uint32_t *v = f->number;
    return v[BASE_LOCAL] + (group * v[ROUTERS] + from) * (v[ROUTERS] - 1) + (to < from ? to : to - 1);
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    const uint32_t *v = f->number;
    uint32_t from = src / v[HOSTS], to = dst / v[HOSTS], n = 0;
    uint32_t group = from / v[ROUTERS], other = to / v[ROUTERS];
    from %= v[ROUTERS];
    to %= v[ROUTERS];
    links[n++] = 2 * src;
    if (group != other) {
        uint32_t c = (pick.by_destination ? dst : pick.value) % v[COPIES];
        uint32_t out = gateway(f, group, other, c), in = gateway(f, other, group, c);
        if (from != out)
            links[n++] = local_link(f, group, from, out);
        uint32_t index = other > group ? other - 1 : other;
        links[n++] = v[BASE_GLOBAL] + (group * (v[GROUPS] - 1) + index) * v[COPIES] + c;
        from = in;
    }
    if (from != to)
        links[n++] = local_link(f, other, from, to);
    links[n++] = 2 * dst + 1;
    return n;
}

const rlt_shape rlt_shape_dragonfly = {
    .info = {"dragonfly", "fully connected groups of routers, fully connected to each other; minimal routes",
             parameters},
    .build = build,
    .ends = ends,
    .route = route,
};
