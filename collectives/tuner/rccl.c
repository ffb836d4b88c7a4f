/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RCCL's model of time for MI300X: its tuning model 5 (ROCm/rccl@0cbce2a, src/graph/tuning.cc). A ratio for
 * each protocol takes the place of NCCL's bounds, and a correction by size applies to trees and, between
 * nodes, to rings. Models 0 to 4 (other GPUs and boxes) are not here.
 */
#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"

enum { SIZES = 27, CHAIN = RLT_TUNER_COLLNET_CHAIN };

/* Rows: tree, ring, CollNet Direct, CollNet Chain. */
static const float hops[RLT__HARDWARE][CHAIN + 1][RLT_TUNER_PROTOCOLS] = {
    [RLT__ON_NVLINK] = {{0.9f, 0, 2.3f}, {0.8f, 0, 2.1f}, {0, 0, 0.9f}, {0}},
    [RLT__ON_PCIE] = {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}, {0, 0, 5.7f}, {0, 0, 5.7f}},
    [RLT__ON_NETWORK] = {{10.5f, 0, 25.0f}, {9.5f, 0, 320.0f}, {0, 0, 10.5f}, {0}},
};
/* Bus bandwidth over channels * speed: up to two nodes, and more. */
static const float ratios[2][CHAIN + 1][RLT_TUNER_PROTOCOLS] = {
    {{0.06f, 0, 0.11f}, {0.08f, 0, 1}, {0, 0, 1}, {0, 0, 1}},
    {{0.06f, 0, 0.59f}, {0.08f, 0, 1}, {0, 0, 1}, {0, 0, 1}},
};
/* Tenths by size, 64 B, 128 B, ...: tree LL and Simple, ring LL and Simple. */
static const uint8_t tree_ll[SIZES] = {1,  1,  1, 1, 1, 1, 10, 10, 10, 10, 10, 6, 10, 9,
                                       10, 10, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1, 1};
static const uint8_t tree_simple[SIZES] = {1, 1, 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1, 1,
                                           1, 7, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 8};
static const uint8_t ring_ll[SIZES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 2, 10,
                                       4, 4, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1,  1};
static const uint8_t ring_simple[SIZES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1, 1,
                                           1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 10, 10, 10};

static float correction(const rlt_tuner_machine *m, const rlt_tuner_prediction *p, uint64_t bytes)
{
    bool ll = p->protocol == RLT_TUNER_LL;
    uint32_t log = rlt__log2(bytes >> 6);
    const uint8_t *tenths = NULL;
    if (p->algorithm == RLT_TUNER_TREE)
        tenths = ll ? tree_ll : tree_simple;
    else if (p->algorithm == RLT_TUNER_RING && m->nodes > 1)
        tenths = ll ? ring_ll : ring_simple;
    return tenths ? (float)tenths[log < SIZES ? log : SIZES - 1] / 10 : 1;
}

static float ring_latency(const rlt_tuner_machine *m, rlt_tuner_kind kind, rlt_tuner_protocol p)
{
    uint32_t inside = m->ring.intra == RLT_VIA_NVL ? RLT__ON_NVLINK : RLT__ON_PCIE;
    uint32_t steps = rlt__tuner_ring_steps(kind, m->nodes * m->gpus), between = m->nodes - 1;
    float hop = hops[inside][RLT_TUNER_RING][p];
    float net = m->plugin_us > 0 ? (float)m->plugin_us : hops[RLT__ON_NETWORK][RLT_TUNER_RING][p];
    float posting = rlt__tuner_posting_us(m->cpu) * (p == RLT_TUNER_SIMPLE ? 3 : 1);
    if (kind == RLT_TUNER_BROADCAST || kind == RLT_TUNER_REDUCE) {
        uint32_t at = m->nodes > 1 ? RLT__ON_NETWORK : inside;
        if (!m->ring.unlike)
            return hops[at][RLT_TUNER_RING][p];
        return (float)steps * hops[at][p == RLT_TUNER_SIMPLE ? RLT_TUNER_TREE : RLT_TUNER_RING][p];
    }
    if (m->nodes > 1 && hop < posting)
        hop = posting;
    if (p == RLT_TUNER_SIMPLE)
        net += (float)m->plugin_us;
    if (kind == RLT_TUNER_ALL_REDUCE)
        between = m->nodes > 1 ? 2 * m->nodes : 0;
    return ((float)steps - (float)between) * hop + (float)between * net;
}

static float latency_of(const rlt_tuner_machine *m, rlt_tuner_kind kind, const rlt_tuner_prediction *p)
{
    const rlt_tuner_pattern *found = rlt__tuner_pattern(m, p->algorithm);
    rlt_tuner_algorithm a = p->algorithm;
    float base = p->protocol == RLT_TUNER_SIMPLE ? 17 : 12, peers = (float)(m->gpus - 1);
    float hop = hops[found->intra == RLT_VIA_NVL ? RLT__ON_NVLINK : RLT__ON_PCIE][a][p->protocol];
    float net = m->plugin_us > 0 ? (float)m->plugin_us : hops[RLT__ON_NETWORK][a][p->protocol];
    if (p->protocol == RLT_TUNER_SIMPLE)
        net += (float)m->plugin_us;
    if (a == RLT_TUNER_RING)
        return base + ring_latency(m, kind, p->protocol);
    if (a == RLT_TUNER_TREE)
        return base + 2 * (peers * hop + (float)rlt__log2(m->nodes) * net);
    if (a == RLT_TUNER_COLLNET_DIRECT)
        return (float)(base + (2 * ((peers > 0 ? hop : 0) + peers * 0.4) + net));
    return base + (2 * peers * hop + net);
}

void rlt__rccl_predict(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_prediction *out)
{
    const rlt_tuner_pattern *found = rlt__tuner_pattern(m, out->algorithm);
    uint32_t ranks = m->nodes * m->gpus, steps = rlt__tuner_ring_steps(call->kind, ranks);
    bool ring = out->algorithm == RLT_TUNER_RING, collnet = out->algorithm >= RLT_TUNER_COLLNET_DIRECT;
    bool one_way = call->kind == RLT_TUNER_BROADCAST || call->kind == RLT_TUNER_REDUCE;
    bool shares = call->kind == RLT_TUNER_ALL_GATHER || call->kind == RLT_TUNER_REDUCE_SCATTER;
    float one = (float)(m->nodes <= 2 || collnet ? found->intra_GBps : found->inter_GBps);
    float bus = (float)found->channels * one * ratios[m->nodes > 2][out->algorithm][out->protocol];
    if (ring && out->protocol == RLT_TUNER_LL && one_way && m->nodes == 1)
        bus = (float)(bus * 1.65);
    if (ring)
        bus *= (float)(1.0 * ranks / steps);
    else if (!(shares && out->algorithm == RLT_TUNER_COLLNET_DIRECT))
        bus *= 0.5f;
    out->bandwidth_GBps = bus * correction(m, out, call->bytes);
    out->latency_us = latency_of(m, call->kind, out);
    out->time_us = (float)out->latency_us + (float)call->bytes / (1000 * (float)out->bandwidth_GBps);
}
