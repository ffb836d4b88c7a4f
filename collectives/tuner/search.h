/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's search for channels on one node (src/graph/search.cc), for nodes whose GPUs are all alike: each has
 * the same NVLink rate towards the others, and the same way to its NICs.
 *
 * All channels of a pattern have one speed b from a falling list. Let V be the NVLink rate of a GPU, P the
 * rate of a GPU's or a NIC card's PCIe lanes, F ports of rate R on K cards, g GPUs. C channels fit if
 *
 *     rings, trees   b (C - C / g rounded down) <= V        the last GPU of a channel does not send on
 *     NVLS           b (C + 1) <= V                         twice at the head, once at the others
 *     all            b (C / g up) <= P, b (C / K up) <= P, b (C / F up) <= R
 *
 * A ring inside one node is closed: b C <= V. The search starts at the largest b that one channel could have,
 * keeps the largest C b, goes down while b' > 0.49 b, and stops when C b >= V. Then the ring's channels are
 * doubled at half the speed if b >= 25 (Hopper and newer: not if b < 50 and C > 4). Trees need as many
 * channels as rings; inside the node their speed is raised while it is less than twice that of the network,
 * and NVLS the other way round.
 *
 *   Example: 8 H100, 8 NICs of 50 GB/s, PCIe 48, V = 370.8: 48 * 7 = 336 <= 370.8, so 8 rings of 48. NVLS:
 *   9 b <= 370.8, so 8 heads of 40. With V = 164.8 (H800): 4 rings of 40, then 8 of 22, which exceed V.
 *
 * Not modelled: GPUs with several NVLink rates (cube meshes are taken as one rate), PXN's own load on NVLink,
 * time-outs of the search, nodes that differ.
 */
#ifndef RLT_COLLECTIVES_TUNER_SEARCH_H
#define RLT_COLLECTIVES_TUNER_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/tuner/tuner.h"
#include "net/endpoint/version.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_tuner_node {
    rlt_library_version version;
    rlt_tuner_arch arch;
    rlt_tuner_cpu cpu;
    uint32_t nodes, gpus;
    /* NVLink rate of a GPU one way, as the library counts it: lanes * rlt_tuner_lane_GBps. 0: none, the GPUs
     * reach each other over PCIe. */
    double nvlink_GBps;
    bool nvswitch, multicast;
    rlt_tuner_path path;  /* from a GPU to its NIC */
    double pcie_GBps;     /* rate of that path: 16 lanes of PCIe 3, 4, 5, 6 count 12, 24, 48, 96 */
    uint32_t switch_gpus; /* GPUs at the PCIe switch of a NIC; 0: one */
    uint32_t nics;        /* ports of a node */
    uint32_t card_nics;   /* ports of a card; 0: one */
    double nic_GBps;      /* rate of a port: Mb/s / 8000 */
    bool collnet, collnet_shares;
    double plugin_us;
    bool split_nvlink; /* NVLink inside each of two sockets alone: rings need two channels */
} rlt_tuner_node;

/* Returns the rate of one NVLink lane (GB/s) in the library's counting, for a compute capability; 0: none. */
double rlt_tuner_lane_GBps(uint32_t capability);
/* Fills *out with the channels of every pattern. One node alone (nodes == 1) has no NICs in its channels. */
int rlt_tuner_search(const rlt_tuner_node *node, rlt_tuner_machine *out, rlt_error *err);
/* Returns the bus bandwidth of rings that the channels allow (GB/s): C b. */
double rlt_tuner_ring_bound_GBps(const rlt_tuner_machine *m);

#ifdef __cplusplus
}
#endif
#endif
