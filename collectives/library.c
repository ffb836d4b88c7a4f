/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's and RCCL's tuner on a topology. */
#include "collectives/library.h"

#include <stddef.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/tuner/channels.h"
#include "collectives/tuner/search.h"
#include "net/endpoint/internode.h"
#include "net/endpoint/version.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#define GB 1e9
/* GPUs of an xGMI box for which RCCL has tables: paths between nodes, and rings inside one
 * (collectives/nodes/xgmi.h). */
enum { BOX = 8, PATHS = 8, RINGS = 14 };
enum { RCCL = 1 }; /* `library` of a request */

/* Figures of a generation: compute capability, raw rate of an NVLink lane, and the rate of 16 lanes of its
 * PCIe as NCCL counts them. */
static const struct {
    uint32_t capability;
    double lane_GBps, pcie_GBps;
} generations[] = {[RLT_GPU_VOLTA] = {70, 25, 12},
                   [RLT_GPU_AMPERE] = {80, 25, 24},
                   [RLT_GPU_HOPPER] = {90, 25, 48},
                   [RLT_GPU_BLACKWELL] = {100, 50, 96}};

static const rlt_coll_kind kinds[RLT_TUNER_KINDS] = {[RLT_TUNER_ALL_REDUCE] = RLT_ALL_REDUCE,
                                                     [RLT_TUNER_ALL_GATHER] = RLT_ALL_GATHER,
                                                     [RLT_TUNER_REDUCE_SCATTER] = RLT_REDUCE_SCATTER,
                                                     [RLT_TUNER_BROADCAST] = RLT_BROADCAST,
                                                     [RLT_TUNER_REDUCE] = RLT_REDUCE};

static bool kind_of(rlt_coll_kind kind, rlt_tuner_kind *out)
{
    for (uint32_t i = 0; i < RLT_TUNER_KINDS; i++) {
        if (kinds[i] == kind) {
            *out = (rlt_tuner_kind)i;
            return true;
        }
    }
    return false;
}

static uint32_t kind_bit(rlt_tuner_kind kind)
{
    return 1u << kinds[kind];
}

static rlt_tuner_cpu cpu_of(rlt_host host)
{
    return host == RLT_HOST_AMD     ? RLT_TUNER_AMD
           : host == RLT_HOST_ARM   ? RLT_TUNER_ARM
           : host == RLT_HOST_POWER ? RLT_TUNER_POWER
                                    : RLT_TUNER_INTEL;
}

/* NCCL sees the NIC ports of a node. Members that use a part of the node's GPUs use that part of the NICs. */
static rlt_tuner_node describe(const rlt_coll_request *req, const rlt_endpoint *e)
{
    const rlt_node_facts *f = rlt_topology_node(req->topology);
    double lane = generations[e->gpu].lane_GBps;
    uint32_t both = RLT_CAN_REDUCE | RLT_CAN_MULTICAST, capability = generations[e->gpu].capability;
    bool sharp = (f->outside & both) == both;
    uint32_t nics = f->nics > f->accelerators ? f->nics : f->nics * req->node / f->accelerators;
    double lanes = (double)f->inside_Bps / GB / lane;
    rlt_tuner_node node = {.arch = rlt_tuner_arch_of(capability),
                           .cpu = cpu_of(e->host),
                           .nodes = req->n / req->node,
                           .gpus = req->node,
                           .nvlink_GBps = lanes * rlt_tuner_lane_GBps(capability),
                           .nvswitch = true,
                           .switch_gpus = 2,
                           .multicast = (f->in_network & both) == both,
                           .path = RLT_VIA_PXB,
                           .pcie_GBps = generations[e->gpu].pcie_GBps,
                           .nics = nics ? nics : 1,
                           .nic_GBps = (double)f->nic_Bps / GB,
                           .collnet = sharp,
                           .collnet_shares = sharp, /* SHARP v3 */
                           .plugin_us = (double)rlt_internode_plugin(e->internode.kind) / 1e6};
    node.version.number = req->library ? req->library : e->nccl ? e->nccl : RLT_NCCL_NEWEST;
    return node;
}

/* Whether the members of a node are the whole of a fully connected dimension, the innermost one. */
static bool fully_connected(const rlt_coll_request *req)
{
    uint32_t d = 0;
    while (d < req->n_dims && req->dims[d] == 1)
        d++;
    return d < req->n_dims && req->dims[d] == req->node && req->shapes[d] &&
           strcmp(req->shapes[d], "fully-connected") == 0;
}

/* The machine as RCCL sees it. Several nodes: paths, each at the rate of a link or of its NIC. One node:
 * rings that use all links. False: RCCL would search. */
static bool describe_xgmi(const rlt_coll_request *req, const rlt_endpoint *e, rlt_tuner_machine *m)
{
    const rlt_node_facts *f = rlt_topology_node(req->topology);
    bool several = req->node < req->n;
    uint32_t g = req->node;
    if (!fully_connected(req) || f->accelerators < 2 || (several && g != BOX))
        return false;
    double link = (double)f->inside_Bps / GB / (f->accelerators - 1);
    double nic = (double)f->nic_Bps / GB * f->nics / PATHS, path = nic < link ? nic : link;
    rlt_tuner_pattern found = {.channels = several ? PATHS : RINGS,
                               .intra_GBps = several ? path : link * (g - 1) / RINGS,
                               .inter_GBps = several ? path : 0,
                               .intra = RLT_VIA_NVL,
                               .inter = RLT_VIA_PXB,
                               .unlike = true};
    *m = (rlt_tuner_machine){.arch = RLT_TUNER_MI300X,
                             .newest = RLT_TUNER_MI300X,
                             .cpu = cpu_of(e->host),
                             .nodes = req->n / g,
                             .gpus = g,
                             .ring = found,
                             .tree = found,
                             .nics = f->nics,
                             .nic_GBps = (double)f->nic_Bps / GB,
                             .plugin_us = (double)rlt_internode_plugin(e->internode.kind) / 1e6};
    return rlt_library_version_parse("rccl", &m->version, NULL) == 0 && rlt_tuner_check(m, NULL) == 0;
}

int rlt_library_read(const char *text, uint32_t *library, rlt_error *err)
{
    rlt_library_version v;
    int rc = rlt_library_version_parse(text, &v, err);
    if (!rc)
        *library = v.rccl ? RCCL : v.number;
    return rc;
}

bool rlt__library_knows(const rlt_coll_request *req, const rlt_endpoint *e, rlt_tuner_machine *m,
                        rlt_tuner_call *call)
{
    *call = (rlt_tuner_call){.bytes = req->bytes, .fp8 = req->element == 1};
    if (!req->topology || !req->node || !kind_of(req->kind, &call->kind) || e->gpu == RLT_GPU_UNKNOWN)
        return false;
    if (req->library && (req->library == RCCL) != (e->gpu == RLT_GPU_CDNA3))
        return false;
    if (e->gpu == RLT_GPU_CDNA3)
        return describe_xgmi(req, e, m);
    if (req->node == req->n)
        return false;
    rlt_tuner_node node = describe(req, e);
    return node.nic_GBps > 0 && rlt_tuner_search(&node, m, NULL) == 0;
}

/* The algorithm of this project that does what NCCL's does; NULL: none. */
static const rlt_algorithm *algorithm_of(rlt_tuner_algorithm a)
{
    switch (a) {
    case RLT_TUNER_RING:
        return &rlt_ring;
    case RLT_TUNER_TREE:
        return &rlt_tree;
    case RLT_TUNER_NVLS_TREE:
        return rlt_algorithm_find("nvls_tree", NULL);
    case RLT_TUNER_COLLNET_DIRECT:
        return rlt_algorithm_find("collnet", NULL);
    case RLT_TUNER_PAT:
        return rlt_algorithm_find("pat", NULL);
    default:
        return NULL;
    }
}

/* Row of the endpoint's protocol that serves an algorithm inside a node; RLT_NONE: there is none. */
static uint32_t protocol_of(const rlt_endpoint *e, const rlt_algorithm *a, rlt_tuner_protocol p)
{
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        if (e->protocols[i].serves != a->served_by)
            continue;
        if (a->served_by != RLT_FOR_STEPS || strcmp(e->protocols[i].name, rlt_tuner_protocol_name(p)) == 0)
            return i;
    }
    return RLT_NONE;
}

static const char *excluded(const rlt_endpoint *e, const rlt_tuner_prediction *p, uint32_t row)
{
    if (p->excluded)
        return p->excluded;
    if (p->protocol == RLT_TUNER_LL128 && e->internode.no_LL128)
        return "LL128 is off between nodes";
    if (e->protocol >= 0 && e->protocol != (int)row && e->protocols[e->protocol].serves == RLT_FOR_STEPS)
        return "another protocol is set";
    return NULL;
}

uint32_t rlt__library_candidates(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                 const rlt_endpoint *e, const rlt_algorithm *only,
                                 rlt_candidate out[RLT_MAX_CANDIDATES])
{
    rlt_tuner_prediction all[RLT_TUNER_CANDIDATES];
    uint32_t n = 0;
    (void)rlt_tuner_candidates(m, call, all);
    for (uint32_t i = 0; i < RLT_TUNER_CANDIDATES && n < RLT_MAX_CANDIDATES; i++) {
        const rlt_algorithm *a = algorithm_of(all[i].algorithm);
        if (a && !(a->kinds & kind_bit(call->kind)))
            continue;
        uint32_t row = a ? protocol_of(e, a, all[i].protocol) : RLT_NONE;
        bool lines = all[i].algorithm == RLT_TUNER_RING || all[i].algorithm == RLT_TUNER_TREE;
        if (row == RLT_NONE || (only && a != only) || (!lines && all[i].protocol != RLT_TUNER_SIMPLE))
            continue;
        rlt_time time = all[i].time_us > 0 ? (rlt_time)(all[i].time_us * 1e6 + 0.5) : RLT_TIME_MAX;
        rlt_tuner_launch launch = {.channels = 1};
        if (!all[i].excluded)
            launch = rlt_tuner_launch_of(m, call, all[i].algorithm, all[i].protocol);
        out[n++] = (rlt_candidate){.algorithm = a,
                                   .protocol = row,
                                   .channels = launch.channels,
                                   .chunk_bytes = launch.chunk_bytes,
                                   .estimate_ps = time,
                                   .excluded = excluded(e, &all[i], row)};
    }
    return n;
}
