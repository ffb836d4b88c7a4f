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
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/json.h"

static int read_dims(rlt_json v, rlt__machine *m, rlt_error *err)
{
    uint32_t *sizes;
    if (!rlt_json_is(v))
        return 0;
    if (rlt_json_count(v) > RLT_MAX_DIMS)
        return rlt_json_fail(v, RLT_ERANGE, err, "more than %d dimensions", RLT_MAX_DIMS);
    int rc = rlt__json_list_read(v, &m->arena, UINT32_MAX, &sizes, err);
    m->n_logical = rc ? 0 : rlt_json_count(v);
    for (uint32_t i = 0; i < m->n_logical; i++)
        m->logical[i] = sizes[i];
    return rc;
}

/* Hands rings, routes and choices over to the machine. */
static int take(const rlt_topology_spec *rest, rlt__machine *m)
{
    int rc = 0;
    for (uint32_t i = 0; i < rest->n_rings && !rc; i++)
        rc = rlt__machine_ring(m, rest->rings[i], m->n_accelerators);
    for (uint32_t i = 0; i < rest->n_routes && !rc; i++)
        rc = rlt__machine_route(m, rest->routes[i].src, rest->routes[i].dst, rest->routes[i].via,
                                rest->routes[i].n);
    for (uint32_t i = 0; i < rest->n_choices && !rc; i++)
        rc = rlt__machine_choice(m, rest->choices[i].collective, rest->choices[i].algorithm,
                                 rest->choices[i].from_bytes);
    return rc;
}

int rlt__ig_own(const rlt__ig_graph *g, rlt__machine *m, rlt_endpoint *endpoint, const char **source)
{
    rlt_error *err = g->d->err;
    rlt_topology_spec rest = {.n_nodes = m->n_nodes};
    const char *pxn = NULL;
    uint64_t node_size = 0;
    int rc;
    *source = "";
    if ((rc = rlt_json_get_string(g->own, "source", false, source, err)) < 0 ||
        (rc = rlt_json_get_string(g->own, "name", false, &m->name, err)) < 0 ||
        (rc = rlt_json_get_u64(g->own, "node_size", false, RLT_MAX_ACCELERATORS, &node_size, err)) < 0 ||
        (rc = rlt_json_get_string(g->own, "pxn", false, &pxn, err)) < 0 ||
        (rc = read_dims(rlt_json_get(g->own, "dims"), m, err)) < 0 ||
        (rc = rlt__json_rest_read(g->own, m->n_accelerators, &m->arena, &rest, err)) < 0)
        return rc;
    *endpoint = rest.endpoint;
    m->endpoint = endpoint;
    m->node_size = (uint32_t)node_size;
    if (pxn && !rlt__topo_pxn(pxn, &m->pxn))
        return rlt_json_fail(rlt_json_get(g->own, "pxn"), RLT_ESCHEMA, err, "expected on or off, got '%.40s'",
                             pxn);
    return take(&rest, m);
}
