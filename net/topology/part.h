/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph as a dimension of a product: a node with its own switches, NICs and PCIe. Its routes are made once,
 * between each two of its accelerators and NICs. Internal to net/.
 */
#ifndef RLT_NET_TOPOLOGY_PART_H
#define RLT_NET_TOPOLOGY_PART_H

#include <stdint.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

enum { RLT_MAX_PART_ENDS = 1024 }; /* accelerators and NICs of a graph that is a dimension */

/* Ends 0 .. n-1 are the accelerators, n .. n + n_nics - 1 the NICs. */
struct rlt_part {
    rlt_topology *graph; /* owned */
    uint32_t n, n_nics;
    uint32_t *nic;    /* node of each NIC */
    uint32_t *nic_of; /* by accelerator: its NIC */
    uint32_t *first;  /* route from end a to end b: links[first[a * ends + b]], until the next one begins */
    uint32_t *links;
    uint32_t max_hops; /* of a route between accelerators, and to the NIC of one */
    rlt_time max_ps;
};

/* Makes a part. Takes the graph over, also when it fails. RLT_ERANGE for too many ends; RLT_ETOPOLOGY if an
 * accelerator reaches no NIC although there are some. O(ends^2 * hops). */
int rlt_part_create(rlt_topology *graph, const char *where, rlt_part **out, rlt_error *err) RLT_MUST_USE;
void rlt_part_free(rlt_part *p);
/* Fills the factor. */
void rlt_part_factor(const rlt_part *p, rlt_factor *f);
/* Returns the links from end a to end b, and their number. */
const uint32_t *rlt_part_route(const rlt_part *p, uint32_t a, uint32_t b, uint32_t *n);

#endif
