/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A machine under construction, for the readers of machine descriptions. Nodes and links are added as they
 * are found. Links between the same two nodes in one direction are merged into one with their summed
 * bandwidth, as in NCCL. Internal to net/import/.
 */
#ifndef RLT_NET_IMPORT_MACHINE_H
#define RLT_NET_IMPORT_MACHINE_H

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

typedef struct rlt__machine {
    const char *file;
    rlt_error *err;
    rlt_arena arena;
    rlt_graph_node *nodes;
    rlt_graph_link *links;
    const uint32_t **rings;
    rlt_static_route *routes;
    uint32_t n_nodes, n_links, n_rings, n_routes, n_accelerators;
    uint32_t node_capacity, link_capacity, ring_capacity, route_capacity;
    rlt_strings names;
    rlt_map pair; /* (src << 32 | dst) -> link */
    uint32_t n_logical, logical[RLT_MAX_DIMS];
    uint32_t node_size; /* accelerators of a node; 0: the first logical dimension */
    rlt_pxn pxn;
    bool parallel;                /* links between the same two nodes stay apart */
    const char *name;             /* NULL: that of the file */
    const rlt_endpoint *endpoint; /* NULL: NCCL's */
    rlt_choice *choices;
    uint32_t n_choices, choice_capacity;
} rlt__machine;

/*
 * Latencies that give a path NCCL's zero-load cost. The endpoint of rlt__machine_build has NCCL's ring
 * latency of a step over NVLink; a step over PCIe or the network costs this much more at each end. NCCL
 * src/graph/tuning.cc, LL: NVLink 0.6 us, PCIe 1.0 us, network 2.7 us.
 */
#define RLT__PCIE_END_PS    ((rlt_time)200000)
#define RLT__NETWORK_END_PS ((rlt_time)1050000)

/* Adds a node. Returns its index, or a negative code. A name that is already taken gets a number: "net
 * eth0#2". `place` (may be NULL) is borrowed and must outlive the machine. */
int64_t rlt__machine_node(rlt__machine *m, rlt_node_kind kind, bool relays, const char *place,
                          const char *name, ...) RLT_PRINTF(5);
/* Marks an NVSwitch as able to reduce and multicast (NVLink SHARP, from Hopper on; NCCL's NVLS from sm
 * 90). */
void rlt__machine_nvls(rlt__machine *m, uint32_t nvswitch);
int rlt__machine_link(rlt__machine *m, uint32_t src, uint32_t dst, uint64_t bw_Bps,
                      rlt_time latency_ps) RLT_MUST_USE;
int rlt__machine_duplex(rlt__machine *m, uint32_t a, uint32_t b, uint64_t bw_Bps,
                        rlt_time latency_ps) RLT_MUST_USE;
/* Adds a recommended ring: every accelerator once, by number. The order is copied. */
int rlt__machine_ring(rlt__machine *m, const uint32_t *order, uint32_t n) RLT_MUST_USE;
/* Adds a static route over the nodes `via`, which are copied. */
int rlt__machine_route(rlt__machine *m, uint32_t src, uint32_t dst, const uint32_t *via,
                       uint32_t n) RLT_MUST_USE;
/* Adds what the machine chose for a collective from a size on; those of one collective in order of size. */
int rlt__machine_choice(rlt__machine *m, const char *collective, const char *algorithm,
                        uint64_t from_bytes) RLT_MUST_USE;
/*
 * Adds routes between accelerators that have no link but a common neighbour, through the neighbour with the
 * most bandwidth. (If NVLinks join only some pairs of GPUs, NCCL relays through a GPU rather than using
 * PCIe.) *pairs is the number of such pairs.
 */
int rlt__machine_relay(rlt__machine *m, uint32_t *pairs) RLT_MUST_USE;
/* Builds the topology. */
int rlt__machine_build(rlt__machine *m, const char *source, uint64_t hash, rlt_topology **out) RLT_MUST_USE;
void rlt__machine_free(rlt__machine *m);

/* Formats a bandwidth for `source` texts: "25 GB/s". */
const char *rlt__rate(rlt__machine *m, uint64_t bw_Bps);

#endif
