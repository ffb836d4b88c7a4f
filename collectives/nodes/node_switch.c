/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/nodes/node_switch.h"

#include "net/shapes/shapes.h"
#include "net/topology/topology.h"

enum { MAX_PLACES = 1 << 21, LEAST_CHUNKS = 4 };

int rlt_nodes_regular(const rlt_coll_request *req, const char *algorithm, rlt_error *err)
{
    if (req->node > 1 && req->node < req->n && req->n % req->node == 0)
        return 0;
    if (req->node == 0)
        return rlt_fail(err, RLT_ETOPOLOGY, algorithm,
                        "needs nodes with an equal number of members each, in order of nodes");
    return rlt_fail(err, RLT_ETOPOLOGY, algorithm,
                    "needs at least two nodes of at least two members; the %u members are %s", req->n,
                    req->node == 1 ? "on a node each" : "on one node");
}

uint32_t rlt_node_switch_can(const rlt_coll_request *req, bool inside)
{
    const rlt_topology *t = req->topology;
    uint32_t below = 1, dims = 0, can = 0;
    if (!t)
        return RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
    if (!rlt_topology_is_product(t))
        return rlt_topology_in_networks(t);
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        rlt_dim dim = rlt_topology_dim(t, d);
        bool in_node = below < rlt_topology_node_size(t);
        below *= dim.size;
        if (dim.size == 1 || in_node != inside)
            continue;
        can = dim.in_network;
        dims++;
    }
    return dims == 1 ? can : 0;
}

uint32_t rlt_node_chunks(const rlt_coll_request *req, uint32_t ways, uint64_t piece, uint32_t most)
{
    uint64_t lanes = (uint64_t)req->n * ways, chunks = req->bytes / ways / req->node / piece;
    uint64_t room = lanes < MAX_PLACES / LEAST_CHUNKS ? MAX_PLACES / lanes : LEAST_CHUNKS;
    if (ways > RLT_MAX_LANES)
        return 1;
    room = room > RLT_MAX_LANES / ways ? RLT_MAX_LANES / ways : room;
    room = room > most ? most : room;
    chunks = chunks > room ? room : chunks;
    return chunks ? (uint32_t)chunks : 1;
}
