/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of networks between nodes, and the cost of a step over them. */
#include "net/endpoint/internode.h"

#include <stddef.h>

enum { MILLION = 1000000, ONE_PATH_PS = 1000000 };

/* Payload over wire bytes under Simple. Measured: 189.6 of 200 GB/s by rings on two nodes of OCI (NCCL
 * 2.29.3); 128 of 133 GB/s by trees on three NVLink partitions of GB200, 0.85 on others. */
#define RINGS 945000
#define TREES 900000
/* Two nodes of one GPU: 41 of 50 GB/s where a NIC is beside the GPU (one NVIDIA/nccl thread), 32 where it is
 * at the other socket (Google Cloud, gIB). */
#define ALONE 870000
/* NCCL's total of LL between two nodes with Intel hosts (src/graph/tuning.cc). */
#define STAGING 39000000000u
#define US      1000000
/* 215 million messages a second (NVIDIA ConnectX-6 data sheet). */
#define GAP 4651

/* Before the first message threads of the host wake up, and receivers say where it may land. Fitted to small
 * collectives of two nodes with one GPU, which hide nothing of it (Google Cloud, gIB). */
#define WAKE (6 * US)

#define USUAL                                                                                                \
    .efficiency_ppm = RINGS, .tree_efficiency_ppm = TREES, .single_ppm = ALONE, .staging_Bps = STAGING,      \
    .launch_ps = WAKE

typedef struct class_row {
    const char *name, *source;
    rlt_internode internode;
    uint32_t plugin_us; /* reported to NCCL's tuner by the plug-in */
} class_row;

static const class_row classes[] = {
    {.name = "none",
     .source = "no costs beside the links",
     .internode = {.single_ppm = MILLION, .efficiency_ppm = MILLION, .tree_efficiency_ppm = MILLION}},
    {.name = "infiniband",
     .source =
         "fitted: NCCL's tree under LL on 2 and 4 nodes of 8 H100 with NDR meets its own formula within 2 %",
     .internode = {USUAL, .gap_ps = GAP, .peer_ps = 1 * US}},
    {.name = "roce",
     .source = "fitted: 2 nodes of 8 A100 at OCI, and 2 H200 at Google Cloud with gIB",
     .internode = {USUAL, .latency_ps = 5 * US, .rise_ps = 3 * US, .gap_ps = GAP, .peer_ps = 1 * US}},
    {.name = "efa",
     .source = "the plug-in reports 75 us (aws-ofi-nccl, platform-aws.cpp: p4d, p4de, p5); fitted: 2 p4de",
     .internode = {USUAL, .latency_ps = 66 * US, .rise_ps = 24 * US, .peer_ps = 2 * US, .no_LL128 = 1},
     .plugin_us = 75},
    {.name = "efa-v2",
     .source =
         "assumed for p5: the 20 us of AWS's tuner for small messages, the plug-in's 75 us for large ones",
     .internode = {USUAL, .latency_ps = 15 * US, .rise_ps = 55 * US, .peer_ps = 1 * US},
     .plugin_us = 75},
    {.name = "efa-v3",
     .source =
         "assumed for p5en, p6: AWS's tuner 18 us for small messages, the plug-in's 35 us for large ones",
     .internode = {USUAL, .latency_ps = 13 * US, .rise_ps = 17 * US, .peer_ps = 1 * US},
     .plugin_us = 35},
    {.name = "slingshot",
     .source = "assumed: as infiniband with 2 us more for libfabric's plug-in",
     .internode = {USUAL, .latency_ps = 2 * US, .peer_ps = 1 * US, .no_LL128 = 1}},
    {.name = "omni-path",
     .source = "assumed: as infiniband with 2 us more for PSM2",
     .internode = {USUAL, .latency_ps = 2 * US, .peer_ps = 1 * US, .no_LL128 = 1}},
    {.name = "ethernet",
     .source = "assumed: TCP sockets, 25 us a step, a tenth of the bandwidth for headers and copies",
     .internode = {.latency_ps = 25 * US,
                   .single_ppm = ALONE,
                   .efficiency_ppm = TREES,
                   .tree_efficiency_ppm = TREES,
                   .staging_Bps = STAGING,
                   .launch_ps = WAKE,
                   .peer_ps = 5 * US,
                   .no_LL128 = 1}},
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

/* Network latency of a step in ns: NCCL 2.30, src/graph/tuning.cc. PAT divides its 14 us by 3.5. Direct
 * messages have no figure there; they take the tree's. */
static const uint32_t hop_ns[RLT_HOPS][RLT_LINES] = {
    [RLT_HOP_RING] = {2700, 4000, 14000},        [RLT_HOP_TREE] = {5000, 8500, 14000},
    [RLT_HOP_NVLS_TREE] = {20900, 20900, 20900}, [RLT_HOP_COLLNET] = {31000, 31000, 31000},
    [RLT_HOP_PAT] = {4000, 4000, 4000},          [RLT_HOP_DIRECT] = {5000, 8500, 14000},
};

const char *rlt_internode_name(uint32_t i)
{
    return i < N_CLASSES ? classes[i].name : NULL;
}

const char *rlt_internode_source(uint32_t i)
{
    return i < N_CLASSES ? classes[i].source : NULL;
}

rlt_time rlt_internode_plugin(uint32_t i)
{
    return i < N_CLASSES ? (rlt_time)classes[i].plugin_us * US : 0;
}

rlt_internode rlt_internode_class(uint32_t i)
{
    rlt_internode f = classes[i < N_CLASSES ? i : 0].internode;
    f.kind = i < N_CLASSES ? i : 0;
    return f;
}

/* r(S) in millionths: log2(S / 8 KiB) / 2, by halves of an octave. */
static uint32_t risen_ppm(uint64_t bytes)
{
    const uint64_t begin = 8192;
    if (bytes <= begin)
        return 0;
    if (bytes >= 4 * begin)
        return MILLION;
    /* log2(x) for 1 <= x < 2, as a line: at most 0.09 too small */
    uint64_t doubled = bytes >= 2 * begin, base = begin << doubled;
    return (uint32_t)(doubled * MILLION / 2 + (bytes - base) * (MILLION / 2) / base);
}

rlt_internode_step rlt_internode_cost(const rlt_internode *f, const rlt_internode_use *use)
{
    rlt_internode_step s = {.wire_num = 1, .wire_den = 1};
    /* with one member a node NCCL counts the tree's latency for rings, too */
    rlt_hop hop = use->single && use->hop == RLT_HOP_RING ? RLT_HOP_TREE : use->hop;
    if (!f->kind)
        return s;
    rlt_time own = (rlt_time)hop_ns[hop][use->line] * 1000 - ONE_PATH_PS;
    rlt_time rise = (rlt_time)((__int128)f->rise_ps * risen_ppm(use->bytes) / MILLION);
    s.delay_ps = rlt_time_add(rlt_time_add(own, f->latency_ps), rise);
    s.gap_ps = f->gap_ps;
    switch (use->line) {
    case RLT_LINE_LL:
        if (f->staging_Bps)
            s.delay_ps = rlt_time_add(s.delay_ps, rlt_transfer_time(use->passed, f->staging_Bps));
        s.wire_num = 2;
        break;
    case RLT_LINE_LL128:
        s.wire_num = 128;
        s.wire_den = 120;
        break;
    default:
        s.wire_num = MILLION;
        s.wire_den = hop == RLT_HOP_TREE && !use->single ? f->tree_efficiency_ppm : f->efficiency_ppm;
        if (use->single)
            s.wire_den = (uint32_t)((uint64_t)s.wire_den * f->single_ppm / MILLION);
        if (s.wire_den == 0)
            s.wire_den = 1;
        break;
    }
    return s;
}
