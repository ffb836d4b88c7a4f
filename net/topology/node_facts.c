/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of a node, found once, when a topology is built. */
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/ports.h"
#include "net/topology/topology.h"

/* Facts of a node in a product: the dimensions below the node's size are inside, the next one is the
 * network. */
static rlt_node_facts product_node(const rlt_topology *t)
{
    rlt_node_facts f = {.accelerators = t->node_size};
    f.in_network = f.outside = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        bool inside = d->stride < t->node_size;
        *(inside ? &f.in_network : &f.outside) &= d->f.in_network;
        if (inside) {
            f.inside_Bps += rlt_dim_egress(d, 0);
        } else if (f.nics == 0 && d->size > 1) {
            f.nics = d->nics;
            f.nic_Bps = d->f.bw_Bps;
        }
    }
    return f;
}

/* Facts of a node in a graph: NICs that the first node's accelerators reach, up to the nodes of the network. */
static rlt_node_facts graph_node(const rlt_topology *t)
{
    const rlt_frozen_graph *g = &t->graph;
    rlt_node_facts f = {.accelerators = t->node_size};
    uint32_t nics = 0, nodes = t->accelerators / (t->node_size ? t->node_size : 1);
    for (uint32_t v = 0; v < t->nodes; v++)
        nics += g->kind[v] == RLT_NIC;
    f.nics = nodes ? nics / nodes : 0;
    for (uint32_t i = g->out_first[0]; i < g->out_first[1]; i++) {
        const rlt_link *l = &g->links[g->out[i]];
        bool near = l->dst < t->node_size || g->kind[l->dst] == RLT_SWITCH;
        f.inside_Bps += near ? l->bw_Bps : 0;
    }
    for (uint32_t v = 0; v < t->nodes && f.nics; v++) {
        for (uint32_t i = g->out_first[v]; g->kind[v] == RLT_NIC && i < g->out_first[v + 1]; i++) {
            const rlt_link *l = &g->links[g->out[i]];
            if (g->kind[l->dst] == RLT_SWITCH && (f.nic_Bps == 0 || l->bw_Bps < f.nic_Bps))
                f.nic_Bps = l->bw_Bps;
        }
    }
    return f;
}

void rlt__find_node_facts(rlt_topology *t)
{
    t->node = t->n_dims ? product_node(t) : graph_node(t);
}
