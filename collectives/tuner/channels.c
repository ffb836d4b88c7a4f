/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels, threads and chunks as in NCCL 2.30.7; rules of other versions are named where they differ. */
#include "collectives/tuner/channels.h"

#include <stdbool.h>
#include <stddef.h>

#include "collectives/tuner/constants.h"

enum {
    KIB = 1024,
    WARP = 32,
    MOST_THREADS = 640,
    MAX_CHANNELS = 64,
    MAX_CHANNELS_BEFORE_2_25 = 32,
    FEWEST_TRAFFIC = 32 * KIB,
    SLOW_NVLS_GBps = 150,
    SIMPLE_STEP = 4 * KIB * KIB / 8, /* an eighth of the buffer */
    LL_STEP = 512 * 8 * 16,          /* threads, lines, bytes of a line */
    LL128_STEP = 120 * 640 * 8
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t rlt_tuner_nvls_channels(const rlt_tuner_machine *m)
{
    uint32_t version = m->version.number;
    if (!m->nvswitch || !m->multicast || m->nvls.channels == 0 || m->arch < RLT_TUNER_HOPPER ||
        m->arch > RLT_TUNER_BLACKWELL)
        return 0;
    if (m->arch == RLT_TUNER_HOPPER || version < RLT__V2_25)
        return 16;
    if (m->nodes == 1)
        return version < RLT__V2_27 ? 32 : 24;
    if (version < RLT__V2_30 || m->nodes == 2 || m->nic_GBps < 48)
        return 32;
    return m->nic_GBps >= 96 && m->gpus > 8 ? 32 : 24;
}

uint32_t rlt_tuner_channels(const rlt_tuner_machine *m)
{
    uint32_t version = m->version.number;
    uint32_t most = version >= RLT__V2_25 ? MAX_CHANNELS : MAX_CHANNELS_BEFORE_2_25;
    uint32_t c = m->ring.channels, nvls = rlt_tuner_nvls_channels(m);
    bool hopper = m->arch == RLT_TUNER_HOPPER || (m->arch == RLT_TUNER_BLACKWELL && version >= RLT__V2_25);
    if (m->channels)
        return m->channels;
    if (m->tree.channels)
        c = smaller(c, m->tree.channels);
    c = smaller(most, 2 * c);
    if (m->collnet && m->collnet_chain.intra_GBps > m->collnet_chain.inter_GBps && m->gpus > 1)
        c = smaller(most, c + c / 2);
    if (hopper && m->nodes > 1 && m->ring.intra_GBps > 45 && (version < RLT__V2_20 ? 2 * c <= most : c < 16))
        c *= 2;
    if (version >= RLT__V2_20 && version < RLT__V2_28 && c < nvls)
        c = nvls;
    return c;
}

static uint32_t most_threads(const rlt_tuner_machine *m, rlt_tuner_algorithm a, rlt_tuner_protocol p)
{
    if (a != RLT_TUNER_RING && a != RLT_TUNER_TREE)
        return MOST_THREADS;
    if (p == RLT_TUNER_LL128)
        return MOST_THREADS;
    if (a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE && m->ring.intra_GBps * m->ring.channels <= 12)
        return 256;
    return 512;
}

/* Bytes that a thread should have before there are more channels. */
static uint64_t thread_bytes(const rlt_tuner_machine *m, rlt_tuner_algorithm a, rlt_tuner_protocol p)
{
    if (a == RLT_TUNER_COLLNET_DIRECT || a == RLT_TUNER_COLLNET_CHAIN)
        return 512;
    if (p == RLT_TUNER_SIMPLE)
        return 64;
    return a == RLT_TUNER_RING && p == RLT_TUNER_LL ? 8 * (uint64_t)m->nodes * m->gpus : 8;
}

/* CollNet Direct comes down by powers of two, with a lower threshold on the way. */
static uint32_t collnet_channels(uint64_t bytes, uint32_t c, uint32_t heads, uint64_t each)
{
    bool few = true;
    for (uint32_t floor = 16; floor >= 1 && few; floor /= 2)
        while ((few = bytes < (uint64_t)c * MOST_THREADS * heads * each) && c > floor) {
            if (c == floor + floor / 2)
                each /= 2;
            c--;
        }
    return c;
}

/* Spreads the call over at most c channels in cells of 32 KiB of traffic; LL counts four times. */
static uint32_t spread(const rlt_tuner_call *call, rlt_tuner_protocol p, uint32_t c)
{
    uint64_t traffic = call->bytes * (call->kind == RLT_TUNER_ALL_REDUCE ? 2 : 1);
    if (p == RLT_TUNER_LL)
        traffic *= 4;
    uint64_t cells = (traffic + FEWEST_TRAFFIC - 1) / FEWEST_TRAFFIC;
    uint64_t each = (traffic + (uint64_t)FEWEST_TRAFFIC * c - 1) / ((uint64_t)FEWEST_TRAFFIC * c);
    return cells ? (uint32_t)((cells + each - 1) / each) : 1;
}

static uint64_t halve(uint64_t chunk, uint64_t bytes, uint64_t channels, double loops, uint64_t least)
{
    while ((double)(bytes / (channels * chunk)) < loops && chunk > least)
        chunk /= 2;
    return chunk;
}

/* Largest chunks of NVLS and NVLSTree: on Blackwell between nodes they follow the NICs since 2.30. */
static void nvls_most(const rlt_tuner_machine *m, uint64_t *nvls, uint64_t *tree)
{
    double nic = m->nic_GBps;
    uint32_t g = m->gpus;
    *nvls = 128 * KIB;
    *tree = m->nodes >= 4 ? 64 * KIB : *nvls;
    if (m->arch != RLT_TUNER_BLACKWELL || m->version.number < RLT__V2_30 || m->nodes < 2 || nic < 48)
        return;
    if (m->nodes == 2 ? g <= 4 : nic >= 96 && g <= 8) {
        *nvls = *tree = 256 * KIB;
    } else if (m->nodes == 2) {
        bool near = g <= 8 && m->nvls.inter <= RLT_VIA_PXB && nic < 96;
        *tree = g >= 16 || near ? 64 * KIB : 128 * KIB;
    } else if (nic >= 96) {
        *tree = g < 32 ? 128 * KIB : 64 * KIB;
    } else {
        *tree = m->nvls.inter <= RLT_VIA_PXB ? 64 * KIB : 128 * KIB;
    }
}

static uint64_t nvls_chunk(const rlt_tuner_machine *m, uint64_t bytes, uint32_t channels, bool tree)
{
    uint64_t most, most_tree, at_once = (uint64_t)channels * m->nvls.channels;
    nvls_most(m, &most, &most_tree);
    uint64_t chunk = tree && most_tree < most ? most_tree : most;
    if (tree) {
        for (uint64_t loops = 16, next = 128; loops; loops /= 4, next /= 2)
            if (bytes < loops * at_once * chunk && chunk > next * KIB)
                chunk = next * KIB;
        return chunk;
    }
    const rlt_tuner_call sum = {.kind = RLT_TUNER_ALL_REDUCE, .bytes = bytes};
    if (m->nodes > 1 &&
        rlt_tuner_predict(m, &sum, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE).bandwidth_GBps < SLOW_NVLS_GBps)
        chunk = 32 * KIB;
    if (bytes < 64 * at_once * chunk && chunk > 64 * KIB)
        chunk = 64 * KIB;
    if (bytes < 8 * at_once * chunk)
        chunk = 32 * KIB;
    if (bytes < 2 * at_once * chunk)
        chunk = 16 * KIB;
    return chunk;
}

static uint64_t whole_chunk(rlt_tuner_protocol p, uint32_t steps)
{
    if (p == RLT_TUNER_LL)
        return LL_STEP / 2; /* half of a line is flags */
    return p == RLT_TUNER_LL128 ? LL128_STEP / 16 * 15 : (uint64_t)SIMPLE_STEP * steps;
}

static uint64_t collnet_chunk(const rlt_tuner_machine *m, uint64_t bytes, uint64_t channels, bool chain)
{
    uint64_t heads = chain ? 1 : m->collnet_direct.channels, depth = chain ? m->gpus : m->gpus > 1 ? 2 : 1;
    uint64_t chunk = chain ? 256 * KIB : SIMPLE_STEP;
    chunk = halve(chunk, bytes, channels * heads, (double)(depth * 64), 128 * KIB);
    chunk = halve(chunk, bytes, channels * heads, (double)(depth * 8), 64 * KIB);
    return halve(chunk, bytes, channels * heads, (double)(chain ? depth : depth * 8), 32 * KIB);
}

static uint64_t chunk_of(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                         rlt_tuner_protocol p, uint32_t channels)
{
    bool one_way = call->kind == RLT_TUNER_BROADCAST || call->kind == RLT_TUNER_REDUCE;
    uint64_t chunk = whole_chunk(p, a == RLT_TUNER_RING && !one_way ? 4 : 1), bytes = call->bytes;
    double g = m->gpus;
    switch (a) {
    case RLT_TUNER_COLLNET_DIRECT:
    case RLT_TUNER_COLLNET_CHAIN:
        return collnet_chunk(m, bytes, channels, a == RLT_TUNER_COLLNET_CHAIN);
    case RLT_TUNER_NVLS:
    case RLT_TUNER_NVLS_TREE:
        return nvls_chunk(m, bytes, channels, a == RLT_TUNER_NVLS_TREE);
    case RLT_TUNER_PAT:
        for (uint64_t loops = call->kind == RLT_TUNER_ALL_GATHER ? 32 : 16;
             chunk * channels * loops > bytes && chunk > 64 * KIB;)
            chunk /= 2;
        return chunk;
    case RLT_TUNER_TREE:
        if (p == RLT_TUNER_LL128) {
            double depth = 1 + rlt__log2(m->nodes) + 0.1 * g;
            chunk = halve(chunk, bytes, channels, depth * 64 / g, 128 * KIB);
            chunk = halve(chunk, bytes, channels, depth * 16 / g, 32 * KIB);
        }
        return chunk;
    default:
        return chunk;
    }
}

rlt_tuner_launch rlt_tuner_launch_of(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                     rlt_tuner_algorithm a, rlt_tuner_protocol p)
{
    static const uint64_t grain[RLT_TUNER_PROTOCOLS] = {16, 1920, 512};
    bool nvls = a == RLT_TUNER_NVLS || a == RLT_TUNER_NVLS_TREE, direct = a == RLT_TUNER_COLLNET_DIRECT;
    bool one_way = call->kind == RLT_TUNER_BROADCAST || call->kind == RLT_TUNER_REDUCE;
    uint32_t c = rlt_tuner_channels(m), threads = most_threads(m, a, p), on_switch;
    uint64_t each = thread_bytes(m, a, p), bytes = call->bytes;
    if (direct) {
        c = collnet_channels(bytes, c, m->collnet_direct.channels, each);
    } else if (nvls) {
        on_switch = rlt_tuner_nvls_channels(m);
        bool several = a == RLT_TUNER_NVLS && m->nodes > 1 && m->version.number >= RLT__V2_29;
        c = several ? smaller(on_switch, c) : on_switch;
    } else if (a != RLT_TUNER_PAT) {
        while (c >= 2 && bytes < c * threads * each)
            c--;
        while (threads % 128 == 0 && bytes < c * threads * each)
            threads /= 2;
    }
    if (a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE)
        threads += WARP;
    threads = a == RLT_TUNER_TREE ? MOST_THREADS : threads < 3 * WARP ? 3 * WARP : threads;
    if (!direct && a != RLT_TUNER_COLLNET_CHAIN)
        c = spread(call, p, c);
    uint64_t chunk = chunk_of(m, call, a, p, c) / grain[p] * grain[p];
    bool slices = a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE && !one_way;
    return (rlt_tuner_launch){
        .channels = c, .threads = threads, .chunk_bytes = chunk, .slice_bytes = slices ? chunk / 2 : chunk};
}
