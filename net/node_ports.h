/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes of a graph: which of its switches and NICs belong to a node and which to the network, the NIC of each
 * accelerator, and routes that know them. Internal to net/ and to those who describe a machine.
 *
 *   inside   A NIC or an accelerator ends a node. Take both out: a piece of what is left belongs to a node if
 *            only accelerators of that node touch it, else to the network. So does a NIC that touches an
 *            accelerator or a piece of the node.
 *   NIC      An accelerator uses the nearest NIC of its node: one behind a CPU is farther than any other.
 *            Among equally near ones it takes the one that the fewest before it took. Without NICs its port
 *            is the accelerator itself.
 *   number   The ports of one piece of the network are numbered leaf by leaf; D-mod-k spreads by it.
 */
#ifndef RLT_NET_NODE_PORTS_H
#define RLT_NET_NODE_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"

typedef struct rlt_node_ports {
    uint32_t node;    /* accelerators of a node */
    uint32_t n_nics;  /* NICs of node 0; 0: none */
    uint32_t *of;     /* by vertex: its node, or RLT_NONE for the network */
    uint32_t *port;   /* by accelerator: vertex of its NIC, or itself */
    uint32_t *place;  /* by accelerator: index of its port inside its node */
    uint32_t *number; /* by accelerator: number of its port */
    uint8_t *inside;  /* by vertex: 1 if it relays between accelerators of its node */
    uint8_t *outside; /* by vertex: 1 if it relays between nodes */
} rlt_node_ports;

/* Finds the ports of a graph whose nodes are known. O(nodes + links + accelerators * size of a node). */
int rlt_node_ports_create(const rlt_topology *t, rlt_node_ports *out, rlt_error *err) RLT_MUST_USE;
void rlt_node_ports_free(rlt_node_ports *p);

/* The nodes of a machine and what joins them, for a description. */
typedef struct rlt_machines {
    uint32_t nodes, accelerators; /* nodes, and accelerators of one; 1 node: nothing says where nodes end */
    uint32_t nics;                /* NICs of a node, or ports of its accelerators */
    uint64_t nic_Bps;             /* bandwidth of one NIC into the network; 0: they differ */
    uint32_t planes;              /* networks among which they are dealt out; 0: unknown */
    rlt_pxn pxn;
} rlt_machines;
int rlt_machines_find(const rlt_topology *t, rlt_machines *out, rlt_error *err) RLT_MUST_USE;

#endif
