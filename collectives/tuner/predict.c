/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's model of time (src/graph/tuning.cc). Values are rounded to float where the library stores floats. */
#include <stddef.h>

#include "collectives/tuner/channels.h"
#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"

typedef struct candidate {
    const rlt_tuner_machine *m;
    const rlt_tuner_call *call;
    rlt_tuner_algorithm a;
    rlt_tuner_protocol p;
    uint32_t version, ranks, steps, nodes_class;
    rlt_tuner_arch arch; /* row of the tables */
    rlt__tuner_constants c;
} candidate;

static double least(double a, double b)
{
    return b < a ? b : a;
}

static float leastf(float a, float b)
{
    return b < a ? b : a;
}

float rlt__tuner_posting_us(rlt_tuner_cpu cpu)
{
    return cpu == RLT_TUNER_AMD ? 2.0f : 1.0f;
}

uint32_t rlt__tuner_ring_steps(rlt_tuner_kind kind, uint32_t ranks)
{
    switch (kind) {
    case RLT_TUNER_ALL_REDUCE:
        return 2 * (ranks - 1);
    case RLT_TUNER_ALL_GATHER:
    case RLT_TUNER_REDUCE_SCATTER:
        return ranks - 1;
    default:
        return ranks;
    }
}

static bool shares(rlt_tuner_kind kind)
{
    return kind == RLT_TUNER_ALL_GATHER || kind == RLT_TUNER_REDUCE_SCATTER;
}

const rlt_tuner_pattern *rlt__tuner_pattern(const rlt_tuner_machine *m, rlt_tuner_algorithm a)
{
    switch (a) {
    case RLT_TUNER_RING:
        return &m->ring;
    case RLT_TUNER_COLLNET_DIRECT:
        return &m->collnet_direct;
    case RLT_TUNER_COLLNET_CHAIN:
        return &m->collnet_chain;
    case RLT_TUNER_NVLS:
    case RLT_TUNER_NVLS_TREE:
        return &m->nvls;
    default: /* PAT as well */
        return &m->tree;
    }
}

/* Bound of LL. Between nodes the row is the processor's, not the GPU's. */
static double ll_GBps(const candidate *k)
{
    bool amd = k->m->cpu == RLT_TUNER_AMD || (k->m->cpu == RLT_TUNER_MIXED && k->version >= RLT__V2_24);
    return k->c.ll[k->m->nodes == 1 ? k->arch : amd ? RLT_TUNER_AMPERE : RLT_TUNER_VOLTA][k->nodes_class];
}

static float ring_bus(const candidate *k, float bus)
{
    bool alone = k->m->gpus < 2 && k->version < RLT__V2_23;
    bool adds = k->call->kind == RLT_TUNER_ALL_REDUCE || k->call->kind == RLT_TUNER_REDUCE;
    double part = 0.5;
    if (k->version < RLT__V2_21)
        part = k->m->nodes > 1 || adds ? 1.0 / 4.0 : 1.0 / 3.0;
    if (k->p == RLT_TUNER_LL)
        return (float)least(ll_GBps(k), bus * part);
    if (k->p == RLT_TUNER_LL128)
        return (float)least(bus * (alone ? 0.7 : 0.92),
                            k->m->ring.channels * k->c.ring_ll128[k->arch][k->nodes_class]);
    return bus;
}

static float tree_bus(const candidate *k, float bus)
{
    uint32_t channels = k->m->tree.channels;
    bus = (float)least(bus * .92, channels * k->c.tree[k->arch][k->nodes_class]);
    if (k->p == RLT_TUNER_LL)
        bus = (float)least(bus * 1.0 / 3.8, ll_GBps(k));
    if (k->p == RLT_TUNER_LL128)
        bus = (float)least(bus * (k->m->nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                           channels * k->c.tree_ll128[k->arch][k->nodes_class]);
    if (k->m->tree.plain && k->version >= RLT__V2_18_3)
        bus = (float)(bus * .85);
    return bus;
}

/* Bandwidth of one NVLS channel since 2.28: what the switch, the network and the tree let through. */
static float nvls_channel(const candidate *k)
{
    static const float efficiency[RLT__NVIDIA_ARCHES] = {0, 0, 0.85f, 0.74f};
    const rlt_tuner_pattern *nvls = &k->m->nvls;
    float g = (float)k->m->gpus, c = (float)nvls->channels;
    float inside = (float)nvls->intra_GBps * efficiency[k->arch] * (c - 1) / c;
    float between = (float)nvls->inter_GBps;
    inside *= shares(k->call->kind) ? (g - 1) / g : 2.0f;
    if (k->a == RLT_TUNER_NVLS)
        return leastf(inside, between);
    return leastf(leastf(inside, between * (k->m->nodes <= 2 ? 2 : 1)),
                  (float)k->c.nvls_tree[k->arch][k->nodes_class]);
}

/* The same before 2.28, without an efficiency: it is in the ratio of bandwidths. */
static float old_nvls_channel(const candidate *k)
{
    const rlt_tuner_pattern *nvls = &k->m->nvls;
    float intra = (float)nvls->intra_GBps, inter = (float)nvls->inter_GBps, g = (float)k->m->gpus;
    if (k->version < RLT__V2_19)
        return k->m->nodes <= 2 ? intra : inter;
    if (k->a == RLT_TUNER_NVLS_TREE)
        return leastf(intra, k->m->nodes <= 2 ? inter : inter / 2);
    if (k->version >= RLT__V2_27 && shares(k->call->kind))
        return leastf(intra * (g - 1.0f) / g, inter * 0.9f);
    return leastf(intra, inter);
}

static float collnet_direct_bus(const candidate *k, float bus)
{
    const rlt_tuner_pattern *net = &k->m->collnet_direct;
    float g = (float)k->m->gpus;
    if (shares(k->call->kind) && k->version >= RLT__V2_27)
        return g * leastf((float)net->intra_GBps, (float)net->inter_GBps * 0.9f);
    if (shares(k->call->kind)) { /* measured at 1 and 8 GPUs a node */
        float w = (g - 1) / (8 - 1);
        return (float)(g * (float)net->intra_GBps * (w * 0.85 + (1 - w) * 0.95));
    }
    float factor = (float)(g / (1.0 * net->channels)); /* GPUs for each NIC */
    factor -= (factor - 1) / 2;
    bus /= factor;
    return k->arch >= RLT_TUNER_HOPPER ? (float)(bus * .85) : bus;
}

/* Bus bandwidth, GB/s. */
static float bus_of(const candidate *k)
{
    const rlt_tuner_pattern *found = rlt__tuner_pattern(k->m, k->a);
    bool collnet = k->a == RLT_TUNER_COLLNET_DIRECT || k->a == RLT_TUNER_COLLNET_CHAIN;
    float one = (float)(k->m->nodes <= 2 || collnet ? found->intra_GBps : found->inter_GBps);
    if (k->a == RLT_TUNER_NVLS || k->a == RLT_TUNER_NVLS_TREE)
        one = k->version < RLT__V2_28 ? old_nvls_channel(k) : nvls_channel(k);
    float bus = (float)found->channels * one;
    switch (k->a) {
    case RLT_TUNER_RING:
        return ring_bus(k, bus);
    case RLT_TUNER_TREE:
        return tree_bus(k, bus);
    case RLT_TUNER_COLLNET_DIRECT:
        return collnet_direct_bus(k, bus);
    case RLT_TUNER_PAT:
        return (float)(bus * (k->version < RLT__V2_24 ? .85 : .75));
    default:
        return bus;
    }
}

/* Algorithm bandwidth over bus bandwidth. */
static float ratio_of(const candidate *k)
{
    bool nvls = k->a == RLT_TUNER_NVLS || k->a == RLT_TUNER_NVLS_TREE;
    double nodes = k->m->nodes;
    if (k->a != RLT_TUNER_RING && shares(k->call->kind) &&
        (k->version >= RLT__V2_23 || k->a == RLT_TUNER_COLLNET_DIRECT))
        return 1;
    if (k->a == RLT_TUNER_RING || (nvls && k->version >= RLT__V2_28))
        return (float)(1.0 * k->ranks / k->steps);
    if (!nvls)
        return 0.5f;
    if (k->version >= RLT__V2_19)
        return (float)(5.0 / 6.0);
    if (k->a == RLT_TUNER_NVLS_TREE)
        return (float)(.70 * nodes / (2 * (nodes - 1)));
    return (float)(k->version < RLT__V2_18_3 ? .75 : 5.0 / 6.0);
}

static float ring_latency(const candidate *k, float hop, float net)
{
    const rlt_tuner_machine *m = k->m;
    uint32_t hardware = m->nodes > 1                   ? RLT__ON_NETWORK
                        : m->ring.intra == RLT_VIA_NVL ? RLT__ON_NVLINK
                                                       : RLT__ON_PCIE;
    if (k->call->kind == RLT_TUNER_BROADCAST || k->call->kind == RLT_TUNER_REDUCE) {
        float once = k->c.hop[hardware][RLT_TUNER_RING][k->p];
        if (!m->ring.unlike)
            return once;
        if (k->p == RLT_TUNER_SIMPLE)
            once = k->c.hop[hardware][RLT_TUNER_TREE][k->p];
        return (float)k->steps * once;
    }
    if (m->nodes > 1) {
        float posting = rlt__tuner_posting_us(m->cpu) * (k->p == RLT_TUNER_SIMPLE ? 3 : 1);
        hop = hop < posting ? posting : hop;
    }
    uint32_t between = m->nodes - 1;
    if (k->call->kind == RLT_TUNER_ALL_REDUCE)
        between = m->nodes == 1 ? 0 : k->version < RLT__V2_23 ? 2 * m->nodes : 2 * (m->nodes - 1);
    /* a ring of lone GPUs has fewer steps than releases before 2.23 count between nodes */
    return ((float)k->steps - (float)between) * hop + (float)between * net;
}

/* Latency for one call, us, before the correction for its size. */
static float latency_of(const candidate *k)
{
    const rlt_tuner_machine *m = k->m;
    const rlt_tuner_pattern *found = rlt__tuner_pattern(m, k->a);
    float base = k->c.base[k->a][k->p], peers = (float)(m->gpus - 1), log = (float)rlt__log2(m->nodes);
    float hop = k->c.hop[found->intra == RLT_VIA_NVL ? RLT__ON_NVLINK : RLT__ON_PCIE][k->a][k->p];
    bool exposed = m->gpus == 1 && k->version >= RLT__V2_23;
    float wire = k->c.hop[RLT__ON_NETWORK][exposed ? RLT_TUNER_TREE : k->a][k->p];
    float net = wire + (float)m->plugin_us;
    if (k->p == RLT_TUNER_SIMPLE) /* the flush */
        net += (float)m->plugin_us;
    switch (k->a) {
    case RLT_TUNER_RING:
        return base + ring_latency(k, hop, net);
    case RLT_TUNER_TREE:
        return base + 2 * (peers * hop + log * net);
    case RLT_TUNER_COLLNET_DIRECT:
        return (float)(base +
                       (2 * (leastf(1, peers) * hop + peers * (k->version < RLT__V2_19 ? 0.5 : 0.4)) + net));
    case RLT_TUNER_COLLNET_CHAIN:
        return base + (2 * peers * hop + net);
    case RLT_TUNER_NVLS:
        if (k->version < RLT__V2_19)
            return base + (m->nodes > 1 ? wire : 0);
        return m->nodes > 1 ? hop + net : hop;
    case RLT_TUNER_NVLS_TREE:
        if (k->version < RLT__V2_19)
            return base + (float)(2 * (m->nodes - 1)) * wire;
        return base + (hop + 2 * log * net);
    default: /* PAT */
        return (float)(base + (log * (net / 3.5) + k->ranks * 2.8));
    }
}

/* Applies NCCL's corrections for the size and fills in the time. */
static void correct(const candidate *k, float bandwidth, float latency, rlt_tuner_prediction *out)
{
    const rlt_tuner_machine *m = k->m;
    uint64_t bytes = k->call->bytes;
    bool reduces = k->call->kind == RLT_TUNER_ALL_REDUCE;
    uint64_t messages = (uint64_t)rlt_tuner_channels(m) * k->ranks;
    if (k->a == RLT_TUNER_TREE && reduces)
        bandwidth *= rlt__tree_correction(k->p, bytes, 23);
    if (k->a == RLT_TUNER_NVLS_TREE && k->arch == RLT_TUNER_BLACKWELL && k->version >= RLT__V2_29 &&
        m->cpu != RLT_TUNER_ARM && m->cpu != RLT_TUNER_POWER)
        bandwidth *= rlt__tree_correction(k->p, bytes, 24);
    if (k->a == RLT_TUNER_RING && k->p == RLT_TUNER_SIMPLE && m->nodes > 1 && reduces &&
        bytes / messages >= 64)
        latency = (float)(latency * (k->arch < RLT_TUNER_AMPERE ? 1.9 : 1.4));
    float time = latency + (float)bytes / (1000 * bandwidth);
    if (k->call->fp8 && k->a == RLT_TUNER_RING && k->ranks > 8 && k->version >= RLT__V2_24)
        time *= 1024; /* NCCL's way to put it last */
    out->latency_us = latency;
    out->bandwidth_GBps = bandwidth;
    out->time_us = time;
}

rlt_tuner_prediction rlt_tuner_predict(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                       rlt_tuner_algorithm a, rlt_tuner_protocol p)
{
    rlt_tuner_prediction out = {.algorithm = a, .protocol = p};
    candidate k = {.m = m, .call = call, .a = a, .p = p};
    out.excluded = rlt__tuner_excluded(m, call, a, p);
    if (out.excluded)
        return out;
    if (m->version.rccl) {
        rlt__rccl_predict(m, call, &out);
        return out;
    }
    k.version = m->version.number;
    k.ranks = m->nodes * m->gpus;
    k.steps = rlt__tuner_ring_steps(call->kind, k.ranks);
    k.nodes_class = m->nodes <= 2 ? m->nodes - 1 : 2;
    k.arch = m->arch == RLT_TUNER_BLACKWELL && k.version < RLT__V2_25 ? RLT_TUNER_HOPPER : m->arch;
    rlt__tuner_constants_of(k.version, &k.c);
    if (m->cpu == RLT_TUNER_POWER) /* NCCL favours trees there */
        k.c.hop[RLT__ON_PCIE][RLT_TUNER_TREE][RLT_TUNER_SIMPLE] =
            k.c.hop[RLT__ON_PCIE][RLT_TUNER_RING][RLT_TUNER_SIMPLE];
    correct(&k, bus_of(&k) * ratio_of(&k), latency_of(&k), &out);
    return out;
}

/* Moves the runnable candidate at `from` before those that take longer. */
static void sink(rlt_tuner_prediction *all, uint32_t from)
{
    rlt_tuner_prediction p = all[from];
    for (; from > 0 && p.time_us < all[from - 1].time_us; from--)
        all[from] = all[from - 1];
    all[from] = p;
}

uint32_t rlt_tuner_candidates(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                              rlt_tuner_prediction out[RLT_TUNER_CANDIDATES])
{
    rlt_tuner_prediction no[RLT_TUNER_CANDIDATES];
    uint32_t n = 0, n_no = 0;
    for (int a = 0; a < RLT_TUNER_ALGORITHMS; a++)
        for (int p = 0; p < RLT_TUNER_PROTOCOLS; p++) {
            rlt_tuner_prediction one =
                rlt_tuner_predict(m, call, (rlt_tuner_algorithm)a, (rlt_tuner_protocol)p);
            if (one.excluded) {
                no[n_no++] = one;
                continue;
            }
            out[n] = one;
            sink(out, n++);
        }
    for (uint32_t i = 0; i < n_no; i++)
        out[n + i] = no[i];
    return n;
}
