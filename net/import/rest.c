/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what a format of nodes and links has no place for, as net/topology/export.c writes it in JSON: the
 * endpoint, choices of algorithms, static routes and rings.
 */
#include "net/endpoint/endpoint.h"
#include "net/import/topo_json.h"
#include "net/topology/build.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"

enum { MAX_LIST = 1 << 22, MAX_LISTS = 1 << 20 };

int rlt__json_list_read(rlt_json v, rlt_arena *arena, uint32_t below, uint32_t **out, rlt_error *err)
{
    uint32_t n = rlt_json_count(v), i = 0;
    if (!rlt_json_is_array(v) || n > MAX_LIST || below == 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a list of numbers");
    *out = rlt_arena_array(arena, n + 1ull, sizeof **out);
    if (!*out)
        return rlt_nomem(err);
    for (rlt_json x = rlt_json_first(v); rlt_json_is(x); x = rlt_json_next(x)) {
        uint64_t value = 0;
        int rc = rlt_json_u64(x, below - 1, &value, err);
        if (rc < 0)
            return rc;
        (*out)[i++] = (uint32_t)value;
    }
    return 0;
}

static int too_many(rlt_json list, rlt_error *err)
{
    return rlt_json_count(list) <= MAX_LISTS
               ? 0
               : rlt_json_fail(list, RLT_ERANGE, err, "more than %d lists", MAX_LISTS);
}

static int read_rings(rlt_json list, uint32_t accelerators, rlt_arena *arena, rlt_topology_spec *spec,
                      rlt_error *err)
{
    const uint32_t **rings = rlt_arena_array(arena, rlt_json_count(list) + 1ull, sizeof *rings);
    int rc = rings ? too_many(list, err) : rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint32_t *ring;
        rc = rlt__json_list_read(v, arena, accelerators, &ring, err);
        if (!rc && rlt_json_count(v) != accelerators)
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected every accelerator once");
        if (!rc)
            rings[spec->n_rings++] = ring;
    }
    spec->rings = rings;
    return rc;
}

/* Each route is the list of its nodes, with both ends. */
static int read_routes(rlt_json list, uint32_t nodes, rlt_arena *arena, rlt_topology_spec *spec,
                       rlt_error *err)
{
    rlt_static_route *routes = rlt_arena_array(arena, rlt_json_count(list) + 1ull, sizeof *routes);
    int rc = routes ? too_many(list, err) : rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint32_t *at, n = rlt_json_count(v);
        rc = rlt__json_list_read(v, arena, nodes, &at, err);
        if (!rc && n < 2)
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected the nodes of a route, with both ends");
        if (!rc)
            routes[spec->n_routes++] = (rlt_static_route){
                .src = at[0], .dst = at[n - 1], .n = n - 2, .via = at + 1, .where = spec->where};
    }
    spec->routes = routes;
    return rc;
}

int rlt__json_rest_read(rlt_json v, uint32_t accelerators, rlt_arena *arena, rlt_topology_spec *spec,
                        rlt_error *err)
{
    rlt_json endpoint = rlt_json_get(v, "endpoint");
    int rc;
    spec->endpoint = rlt_endpoint_default();
    if ((rlt_json_is(endpoint) && (rc = rlt__json_endpoint_read(endpoint, &spec->endpoint, err)) < 0) ||
        (rc = rlt__json_choices_read(rlt_json_get(v, "auto"), arena, spec, err)) < 0 ||
        (rc = read_rings(rlt_json_get(v, "rings"), accelerators, arena, spec, err)) < 0)
        return rc;
    return read_routes(rlt_json_get(v, "routes"), spec->n_nodes, arena, spec, err);
}
