/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network from lists of nodes and links. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_GRAPH_H
#define RLT_TEST_SUPPORT_NETWORKS_GRAPH_H

#include <stdint.h>

#include "net/endpoint/endpoint.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/support.h"

/* The caller frees it. A failure ends the test with its message. */
static inline rlt_topology *test_graph(const rlt_graph_node *nodes, uint32_t n_nodes,
                                       const rlt_graph_link *links, uint32_t n_links)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    rlt_topology_spec spec = {.name = "graph",
                              .source = "test",
                              .endpoint = rlt_endpoint_default(),
                              .n_nodes = n_nodes,
                              .n_links = n_links,
                              .nodes = nodes,
                              .links = links};
    if (rlt_topology_build(&spec, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

#endif
