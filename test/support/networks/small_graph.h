/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small graph of named nodes and cables, built as a topology. Include after cmocka.h. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_SMALL_GRAPH_H
#define RLT_TEST_SUPPORT_NETWORKS_SMALL_GRAPH_H

#include <stdint.h>

#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

/* The kind of a node follows from the first letter of its name. Each cable is two links, one after the other:
 * 1 GB/s there, 2 GB/s back, 1 ns each. */
typedef struct test_small {
    rlt_graph_node nodes[32];
    rlt_graph_link links[128];
    rlt_topology_spec spec;
} test_small;

static inline test_small test_small_graph(const char *const *names, const uint32_t (*pairs)[2],
                                          uint32_t n_pairs)
{
    test_small g = {.spec = {.name = "small"}};
    for (uint32_t i = 0; names[i]; i++) {
        char c = names[i][0];
        rlt_node_kind kind = c == 'g'   ? RLT_ACCELERATOR
                             : c == 'n' ? RLT_NIC
                             : c == 'p' ? RLT_PCIE
                             : c == 'c' ? RLT_CPU
                                        : RLT_SWITCH;
        g.nodes[g.spec.n_nodes++] = (rlt_graph_node){.name = names[i], .kind = kind, .forwards = -1};
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        g.links[2 * i] = (rlt_graph_link){
            .src = pairs[i][0], .dst = pairs[i][1], .bw_Bps = 1000000000, .latency_ps = 1000};
        g.links[2 * i + 1] = (rlt_graph_link){
            .src = pairs[i][1], .dst = pairs[i][0], .bw_Bps = 2000000000, .latency_ps = 1000};
    }
    g.spec.n_links = 2 * n_pairs;
    return g;
}

static inline int test_small_build(test_small *g, rlt_topology **t, rlt_error *err)
{
    g->spec.nodes = g->nodes;
    g->spec.links = g->links;
    *err = (rlt_error){0};
    return rlt_topology_build(&g->spec, t, err);
}

#endif
