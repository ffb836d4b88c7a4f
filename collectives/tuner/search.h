/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's search for channels on one node (src/graph/search.cc, src/graph/connect.cc), for nodes whose GPUs
 * are all alike: each has the same NVLink rate to the others and the same way to its NICs.
 *
 * A channel has one speed b from a falling list. Rings: all GPUs but the last send b over NVLink; the channel
 * enters and leaves through one port each. So C channels of b fit if
 *
 *     b (C - C / g rounded down) <= V          b (C / g rounded up) <= P          b <= port, per channel
 *
 * with V the NVLink rate of a GPU, P the rate of its way to the NIC. The search starts at the largest b that
 * one channel could have. It keeps the largest C b, goes down while b' > 0.49 b, and stops when C b >= V.
 *
 *   Example: 8 H100, 8 NICs of 50 GB/s, PCIe 48, V = 370.8: 48 * 7 = 336 <= 370.8, so 8 channels of 48.
 *   With V = 164.8 (H800): 4 channels of 40, then 8 of 22, which are more than V: 176 GB/s.
 */
#ifndef RLT_COLLECTIVES_TUNER_SEARCH_H
#define RLT_COLLECTIVES_TUNER_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/tuner/tuner.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_tuner_node {
    rlt_tuner_version version;
    rlt_tuner_arch arch;
    rlt_tuner_cpu cpu;
    uint32_t nodes, gpus;
    /* NVLink rate of a GPU one way, as the library counts it: lanes * rlt_tuner_lane_GBps; 0: none */
    double nvlink_GBps;
    bool nvswitch, multicast;
    rlt_tuner_path path; /* from a GPU to its NIC */
    double pcie_GBps;    /* rate of that path: 16 lanes of PCIe 3, 4, 5, 6 count 12, 24, 48, 96 */
    uint32_t nics;       /* ports; GPU i's are those with number i modulo g */
    double nic_GBps;     /* Mb/s / 8000 */
    bool collnet, collnet_shares;
    double plugin_us;
    bool split_nvlink; /* two sockets with NVLink inside each: rings need two channels */
} rlt_tuner_node;

/* Returns the rate of one NVLink lane (GB/s) in the library's counting, for a compute capability. */
RLT_API double rlt_tuner_lane_GBps(uint32_t capability);
/* Fills *out with the channels of every pattern. One node alone (nodes == 1) has no NICs in its channels. */
RLT_API int rlt_tuner_search(const rlt_tuner_node *node, rlt_tuner_machine *out, rlt_error *err);
/* Returns the bus bandwidth of rings that the channels allow (GB/s): C b, if NVLink carries it. */
RLT_API double rlt_tuner_ring_bound_GBps(const rlt_tuner_machine *m);

#ifdef __cplusplus
}
#endif
#endif
