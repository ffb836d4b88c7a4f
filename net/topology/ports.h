/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports: how the accelerators inside reach a dimension of a product. The dimensions below make a node of
 * `stride` accelerators; the dimension joins `size` nodes. Internal to net/.
 *
 *   nics     A node has K NICs: NIC j serves accelerators j * stride / K onwards. Without `nics` every
 *            accelerator has a port of its own, and there are no NIC nodes; K is then `stride`.
 *   planes   The dimension consists of P equal networks; NIC j is in plane j mod P. P divides K. Without
 *            `planes` each NIC index has a plane of its own, P = K.
 *   pxn      Whether a message first moves inside its node to an accelerator at the receiver's NIC index, so
 *            that it stays on one rail (NCCL's PXN). If the planes differ, it has to.
 *   pcie     Bandwidth of an accelerator's link to its NIC; default: that of the NIC's port.
 *
 * Port of NIC j of node k in its plane: k * K / P + j / P. The shape of the dimension sees size * K / P
 * ports.
 *
 *   Example: switch:8@...*fat-tree:32@...,nics=4: accelerators 2j and 2j + 1 of a node share NIC j. Four fat
 * trees of 32 ports. With planes=1 it is one fat tree of 128.
 *
 * Where the innermost dimension is a graph that has NICs, those are used: an accelerator takes the nearest
 * (see part.h).
 */
#ifndef RLT_NET_TOPOLOGY_PORTS_H
#define RLT_NET_TOPOLOGY_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/shapes/factor.h"
#include "net/topology/frozen.h"
#include "net/topology/part.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/*
 * Reads the ports of dimension i, whose stride is known, and checks them. The shape then gets *out: the
 * specification without their parameters, for size * K / P ports.
 */
int rlt_ports_read(const rlt_dim_spec *spec, rlt_topology *t, uint32_t i, rlt_dim_spec *out,
                   rlt_error *err) RLT_MUST_USE;

/* Returns the index inside its node of the NIC that an accelerator uses. */
uint32_t rlt_port_nic(const rlt_topology *t, const rlt_product_dim *d, uint32_t accelerator);
/* Returns the node id of NIC j of node `node`, counted over the topology; of an accelerator, if it has a port
 * of its own. */
uint32_t rlt_port_node(const rlt_topology *t, const rlt_product_dim *d, uint32_t node, uint32_t nic);
/* Returns a link's bandwidth and latency; `local` is its number in the factor. */
static inline rlt_factor_links rlt_dim_link(const rlt_product_dim *d, uint32_t local)
{
    if (!d->f.part)
        return *rlt_factor_class(&d->f, local);
    const rlt_link *l = &d->f.part->graph->graph.links[local];
    return (rlt_factor_links){l->bw_Bps, l->latency_ps};
}

/* Returns the number of links, at most, from an accelerator to its port and from a port to its accelerator
 * together, and their latency. */
uint32_t rlt_port_hops(const rlt_topology *t, const rlt_product_dim *d);
rlt_time rlt_port_latency(const rlt_topology *t, const rlt_product_dim *d);
/* Returns the bandwidth of one accelerator into the dimension, which shared NICs divide; 0 if it differs. */
uint64_t rlt_dim_Bps(const rlt_product_dim *d);
/* Returns the bandwidth of the links of the dimension that leave an accelerator with coordinate x. */
uint64_t rlt_dim_egress(const rlt_product_dim *d, uint32_t x);

#endif
