/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the graph annotation that ringlet writes: all that nodes and links do not say. */
#include <stdlib.h>

#include "net/endpoint/endpoint.h"
#include "net/import/infragraph/build.h"
#include "net/import/infragraph/graph.h"
#include "net/import/machine.h"
#include "net/import/read.h"
#include "net/import/topo_json.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"

enum { MAX_LIST = 1 << 22 };

/* Numbers of a list, in memory of the arena. */
static int read_list(rlt_json v, rlt_arena *arena, uint32_t below, uint32_t **out, rlt_error *err)
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

static int read_dims(rlt_json v, rlt__machine *m, rlt_error *err)
{
    uint32_t *sizes;
    if (!rlt_json_is(v))
        return 0;
    if (rlt_json_count(v) > RLT_MAX_DIMS)
        return rlt_json_fail(v, RLT_ERANGE, err, "more than %d dimensions", RLT_MAX_DIMS);
    int rc = read_list(v, &m->arena, UINT32_MAX, &sizes, err);
    m->n_logical = rc ? 0 : rlt_json_count(v);
    for (uint32_t i = 0; i < m->n_logical; i++)
        m->logical[i] = sizes[i];
    return rc;
}

static int read_rings(rlt_json list, rlt__machine *m, rlt_error *err)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint32_t *ring;
        rc = read_list(v, &m->arena, m->n_accelerators, &ring, err);
        if (!rc && rlt_json_count(v) != m->n_accelerators)
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected every accelerator once");
        if (!rc)
            rc = rlt__machine_ring(m, ring, m->n_accelerators);
    }
    return rc;
}

/* Each route is the list of its nodes, with both ends. */
static int read_routes(rlt_json list, rlt__machine *m, rlt_error *err)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint32_t *at, n = rlt_json_count(v);
        rc = read_list(v, &m->arena, m->n_nodes, &at, err);
        if (!rc && n < 2)
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected the nodes of a route, with both ends");
        if (!rc)
            rc = rlt__machine_route(m, at[0], at[n - 1], at + 1, n - 2);
    }
    return rc;
}

int rlt__ig_own(const rlt__ig_graph *g, rlt__machine *m, rlt_endpoint *endpoint, const char **source)
{
    rlt_error *err = g->d->err;
    rlt_json v = rlt_json_get(g->own, "endpoint");
    const char *pxn = NULL;
    uint64_t node_size = 0;
    int rc;
    *endpoint = rlt_endpoint_default();
    m->endpoint = endpoint;
    *source = "";
    if ((rlt_json_is(v) && (rc = rlt__json_endpoint_read(v, endpoint, err)) < 0) ||
        (rc = rlt_json_get_string(g->own, "source", false, source, err)) < 0 ||
        (rc = rlt_json_get_string(g->own, "name", false, &m->name, err)) < 0 ||
        (rc = rlt_json_get_u64(g->own, "node_size", false, RLT_MAX_ACCELERATORS, &node_size, err)) < 0 ||
        (rc = rlt_json_get_string(g->own, "pxn", false, &pxn, err)) < 0 ||
        (rc = read_dims(rlt_json_get(g->own, "dims"), m, err)) < 0 ||
        (rc = read_rings(rlt_json_get(g->own, "rings"), m, err)) < 0)
        return rc;
    m->node_size = (uint32_t)node_size;
    if (pxn && !rlt__topo_pxn(pxn, &m->pxn))
        return rlt_json_fail(rlt_json_get(g->own, "pxn"), RLT_ESCHEMA, err, "expected on or off, got '%.40s'",
                             pxn);
    return read_routes(rlt_json_get(g->own, "routes"), m, err);
}
