/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels of real nodes, and how a call is launched: NCCL's search, channels, threads and chunks. */
#include "collectives/tuner/search.h"
#include "collectives/tuner/channels.h"
#include "collectives/tuner/tuner.h"
#include "sim/base/error.h"
#include "test/support/networks/library.h"
#include "test/support/support.h"

typedef struct node_row {
    const char *name;
    uint32_t capability, lanes; /* of NVLink */
    uint32_t nodes, gpus;
    double pcie_GBps;
    uint32_t nics, card_nics;
    double nic_GBps;
    rlt_tuner_path path;
    bool split;
    uint32_t channels, used; /* expected: after doubling, with copies */
    double speed_GBps, bound_GBps;
} node_row;

static rlt_tuner_node node_of(const node_row *r)
{
    bool nvswitch = r->capability >= 80;
    return (rlt_tuner_node){.version = test_version("2.30.7"),
                            .arch = rlt_tuner_arch_of(r->capability),
                            .nodes = r->nodes,
                            .gpus = r->gpus,
                            .nvlink_GBps = r->lanes * rlt_tuner_lane_GBps(r->capability),
                            .nvswitch = nvswitch,
                            .multicast = r->capability >= 90,
                            .path = r->path,
                            .pcie_GBps = r->pcie_GBps,
                            .nics = r->nics,
                            .card_nics = r->card_nics,
                            .nic_GBps = r->nic_GBps,
                            .split_nvlink = r->split};
}

#define PXB RLT_VIA_PXB
#define PIX RLT_VIA_PIX
#define PHB RLT_VIA_PHB

/*
 * The reference's node types, each with the channels and the bound on the bus bandwidth of rings that it
 * states. "4 x 48" is what the first pass finds; NCCL then doubles it to 8 x 24 (4 channels, b < 50), as
 * nccl-tests issue 380 shows in its 1 to 4 NICs. p5's plug-in joins four ports, p5en's two. H800: 8 lanes.
 */
static const node_row nodes[] = {
    {"DGX A100", 80, 12, 2, 8, 24, 8, 1, 25, PXB, false, 8, 16, 24, 192},
    {"OCI A100, 16 ports", 80, 12, 2, 8, 24, 16, 2, 12.5, PXB, false, 16, 32, 12, 192},
    {"OCI A100, joined ports", 80, 12, 2, 8, 24, 8, 1, 25, PXB, false, 8, 16, 24, 192},
    {"DGX H100", 90, 18, 4, 8, 48, 8, 1, 50, PXB, false, 8, 16, 48, 384},
    {"HGX H100, 4 NICs", 90, 18, 5, 8, 48, 4, 1, 50, PXB, false, 8, 16, 24, 192},
    {"HGX H200, 1 NIC", 90, 18, 2, 8, 48, 1, 1, 50, PXB, false, 2, 4, 24, 48},
    {"HGX H200, 2 NICs", 90, 18, 2, 8, 48, 2, 1, 50, PXB, false, 4, 8, 24, 96},
    {"HGX H200, 3 NICs", 90, 18, 2, 8, 48, 3, 1, 50, PXB, false, 6, 12, 24, 144},
    {"p4d", 80, 12, 2, 8, 12, 4, 1, 12.5, PXB, false, 4, 8, 12, 48},
    {"p5", 90, 18, 2, 8, 48, 8, 1, 50, PXB, false, 8, 16, 48, 384},
    {"p5en", 90, 18, 2, 8, 48, 8, 1, 50, PXB, false, 8, 16, 48, 384},
    {"8 H100, bonded 2 x 200G", 90, 18, 3, 8, 48, 8, 1, 25, PXB, false, 8, 16, 24, 192},
    {"V100, 1 NIC", 70, 6, 4, 8, 12, 1, 1, 12.5, PIX, false, 1, 2, 12, 12},
    {"V100, 1 NIC, two sockets", 70, 6, 4, 8, 12, 1, 1, 12.5, PIX, true, 2, 4, 6, 12},
    {"V100, 2 NICs", 70, 6, 4, 8, 12, 2, 1, 12.5, PIX, false, 2, 4, 12, 24},
    {"V100, 4 NICs", 70, 6, 4, 8, 12, 4, 1, 12.5, PIX, false, 4, 8, 12, 48},
    /* through an Intel host bridge a flow takes 1.2 of PCIe: 12 does not fit, 10 does */
    {"V100, host bridge", 70, 6, 4, 8, 12, 4, 1, 12.5, PHB, false, 4, 8, 10, 40},
    {"H800", 90, 8, 4, 8, 48, 8, 1, 50, PXB, false, 8, 16, 22, 176},
    {"GB200, partitions of 4", 100, 18, 3, 4, 48, 4, 1, 50, RLT_VIA_P2C, false, 8, 16, 24, 192},
    {"GB200, partitions of 8", 100, 18, 3, 8, 48, 8, 1, 50, RLT_VIA_P2C, false, 8, 16, 48, 384},
    /* one node alone: 12 of 20 and 12 of 30 on NVSwitches, 24 channels in use */
    {"DGX A100 alone", 80, 12, 1, 8, 24, 0, 0, 0, PXB, false, 12, 24, 20, 240},
    {"DGX H100 alone", 90, 18, 1, 8, 48, 0, 0, 0, PXB, false, 12, 24, 30, 360},
};

static void node_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        rlt_tuner_node node = node_of(&nodes[i]);
        rlt_tuner_machine m;
        rlt_error err = {0};
        if (rlt_tuner_search(&node, &m, &err) != 0 || rlt_tuner_check(&m, &err) != 0)
            fail_msg("%s: %s: %s", nodes[i].name, err.where, err.what);
        double speed = node.nodes > 1 ? m.ring.inter_GBps : m.ring.intra_GBps;
        double bound = rlt_tuner_ring_bound_GBps(&m);
        if (m.ring.channels != nodes[i].channels || speed != nodes[i].speed_GBps ||
            bound != nodes[i].bound_GBps || rlt_tuner_channels(&m) != nodes[i].used)
            fail_msg("%s: %u channels of %g, %u used, %g GB/s", nodes[i].name, m.ring.channels, speed,
                     rlt_tuner_channels(&m), bound);
        assert_int_equal(m.tree.channels, m.ring.channels);
        /* what the last GPU of a channel need not send on fits NVLink */
        assert_true(node.nvlink_GBps == 0 || node.nodes == 1 ||
                    m.ring.channels / node.gpus * 7 * speed <= node.nvlink_GBps);
    }
}

/* Trees may be faster inside: 8 b 7/8 <= V, up to twice the network. NVLS: 9 b <= V, the network up to 2 b. */
static void other_patterns(void **state)
{
    static const struct {
        const char *name;
        double tree_intra, tree_inter;
        uint32_t heads;
        double nvls_intra, nvls_inter;
    } rows[] = {
        {"DGX A100", 30, 24, 0, 0, 0},
        {"DGX H100", 48, 48, 8, 40, 48},
        {"HGX H100, 4 NICs", 48, 24, 4, 48, 48},
        {"H800", 22, 22, 8, 17.5, 40},
        {"GB200, partitions of 8", 96, 48, 8, 48, 48},
        {"DGX H100 alone", 30, 0, 8, 40, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
            rlt_tuner_node node = node_of(&nodes[k]);
            rlt_tuner_machine m;
            if (strcmp(rows[i].name, nodes[k].name) != 0)
                continue;
            assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
            if (m.tree.intra_GBps != rows[i].tree_intra || m.tree.inter_GBps != rows[i].tree_inter ||
                m.nvls.channels != rows[i].heads || m.nvls.intra_GBps != rows[i].nvls_intra ||
                m.nvls.inter_GBps != rows[i].nvls_inter)
                fail_msg("%s: tree %g/%g, NVLS %u x %g/%g", rows[i].name, m.tree.intra_GBps,
                         m.tree.inter_GBps, m.nvls.channels, m.nvls.intra_GBps, m.nvls.inter_GBps);
            /* Hopper takes the plain tree unless two GPUs are at a NIC's switch */
            assert_int_equal(m.tree.plain, node.nodes > 1 && node.arch >= RLT_TUNER_HOPPER);
            node.switch_gpus = 2;
            assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
            assert_false(m.tree.plain);
        }
}

/* 4 nodes of 8 H100: 16 channels in use, 32 under 2.19, which doubled as long as they were 32 at most. */
static void channels_by_version(void **state)
{
    rlt_tuner_node node = node_of(&nodes[3]);
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(rlt_tuner_nvls_channels(&m), 16);
    node.version = test_version("2.19");
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(rlt_tuner_channels(&m), 32);
    /* H800: 8 rings of 22; 2.18 does not try 22, and halves 4 of 40 */
    rlt_tuner_node slow = node_of(&nodes[17]);
    assert_string_equal(nodes[17].name, "H800");
    slow.version = test_version("2.19.0");
    assert_int_equal(rlt_tuner_search(&slow, &m, NULL), 0);
    assert_true(m.ring.channels == 8 && m.ring.inter_GBps == 22);
    slow.version = test_version("2.18");
    assert_int_equal(rlt_tuner_search(&slow, &m, NULL), 0);
    assert_true(m.ring.channels == 8 && m.ring.inter_GBps == 20);
    node.version = test_version("2.24");
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(rlt_tuner_channels(&m), 16);
    node.arch = RLT_TUNER_BLACKWELL;
    node.nvlink_GBps = 18 * rlt_tuner_lane_GBps(100);
    node.version = test_version("2.27");
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    /* its list begins at 47.9: 16 * 24 is more than 8 * 47.9 */
    assert_true(m.ring.channels == 16 && m.ring.inter_GBps == 24);
    assert_int_equal(rlt_tuner_nvls_channels(&m), 32);
    node.nics = 2;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(rlt_tuner_channels(&m), 32); /* rings alone: 8; as many as NVLS */
    node.version = test_version("2.30");
    node.nodes = 4;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(rlt_tuner_nvls_channels(&m), 24);
}

/* DGX H100, 4 nodes, 16 channels, by hand. */
static void launches(void **state)
{
    enum { KIB = 1024, MIB = KIB * KIB };
    static const struct {
        rlt_tuner_kind kind;
        uint64_t bytes;
        rlt_tuner_algorithm a;
        rlt_tuner_protocol p;
        rlt_tuner_launch want;
    } rows[] = {
        /* all channels; chunks of four steps of 512 KiB, slices of two */
        {RLT_TUNER_ALL_REDUCE, (uint64_t)1 << 30, RLT_TUNER_RING, RLT_TUNER_SIMPLE, {16, 544, 2 * MIB, MIB}},
        {RLT_TUNER_BROADCAST,
         (uint64_t)1 << 30,
         RLT_TUNER_RING,
         RLT_TUNER_SIMPLE,
         {16, 544, 512 * KIB, 512 * KIB}},
        /* 512 threads * 64 B = 32 KiB for a channel */
        {RLT_TUNER_ALL_REDUCE, 256 * KIB, RLT_TUNER_RING, RLT_TUNER_SIMPLE, {8, 544, 2 * MIB, MIB}},
        {RLT_TUNER_ALL_REDUCE, 4 * KIB, RLT_TUNER_RING, RLT_TUNER_SIMPLE, {1, 96, 2 * MIB, MIB}},
        /* 512 * 8 * 32 B = 128 KiB for a channel of ring LL; trees do not count the ranks: 4 KiB, but 32 KiB
         * of traffic (8 bytes on the wire for each byte), so 4 */
        {RLT_TUNER_ALL_REDUCE, 256 * KIB, RLT_TUNER_RING, RLT_TUNER_LL, {2, 512, 32 * KIB, 32 * KIB}},
        {RLT_TUNER_ALL_REDUCE, 16 * KIB, RLT_TUNER_TREE, RLT_TUNER_LL, {4, 640, 32 * KIB, 32 * KIB}},
        /* 640 * 8 = 5 KiB for a channel of LL128: 12, in cells of 32 KiB of twice 64 KiB: 4. The chunk of
         * 576000 B is halved while 65536 / (4 chunk) = 0 < 3.8 * 64/8, and while it is above 32 KiB */
        {RLT_TUNER_ALL_REDUCE, 64 * KIB, RLT_TUNER_TREE, RLT_TUNER_LL128, {4, 640, 17280, 17280}},
        {RLT_TUNER_ALL_REDUCE,
         (uint64_t)1 << 30,
         RLT_TUNER_TREE,
         RLT_TUNER_SIMPLE,
         {16, 640, 512 * KIB, 512 * KIB}},
        /* 16 channels * 8 heads; from 4 nodes on 64 KiB */
        {RLT_TUNER_ALL_REDUCE,
         (uint64_t)1 << 30,
         RLT_TUNER_NVLS_TREE,
         RLT_TUNER_SIMPLE,
         {16, 640, 64 * KIB, 64 * KIB}},
        {RLT_TUNER_ALL_REDUCE, 2 * MIB, RLT_TUNER_NVLS_TREE, RLT_TUNER_SIMPLE, {16, 640, 32 * KIB, 32 * KIB}},
    };
    rlt_tuner_node node = node_of(&nodes[3]);
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_call call = {.kind = rows[i].kind, .bytes = rows[i].bytes};
        rlt_tuner_launch got = rlt_tuner_launch_of(&m, &call, rows[i].a, rows[i].p);
        if (memcmp(&got, &rows[i].want, sizeof got) != 0)
            fail_msg("row %zu: %u channels of %u threads, chunk %llu, slice %llu", i, got.channels,
                     got.threads, (unsigned long long)got.chunk_bytes, (unsigned long long)got.slice_bytes);
    }
}

/* NVLS in one node: 128 KiB, 64, 32 and 16 below 64, 8 and 2 times 16 channels * 8 heads * the chunk. */
static void nvls_chunks(void **state)
{
    rlt_tuner_node node = node_of(&nodes[sizeof nodes / sizeof *nodes - 1]);
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    for (uint32_t log = 20; log <= 32; log++) {
        rlt_tuner_call call = {.bytes = (uint64_t)1 << log};
        uint64_t want = log >= 30 ? 128 : log >= 26 ? 64 : log >= 23 ? 32 : 16;
        assert_int_equal(rlt_tuner_launch_of(&m, &call, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE).chunk_bytes,
                         want * 1024);
    }
}

/* LL128 on trees of 4 nodes of 8, 16 channels: depth 1 + 2 + 0.8. The chunk of 576000 B is halved below 30.4
 * chunks for a channel to 72000, and below 7.6 to 36000 and 18000; then cut to multiples of 1920. */
static void ll128_chunks(void **state)
{
    static const struct {
        uint64_t mib, chunk;
    } rows[] = {{4, 17280}, {8, 34560}, {16, 71040}, {64, 71040}, {4096, 576000}};
    rlt_tuner_node node = node_of(&nodes[3]);
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_call call = {.bytes = rows[i].mib << 20};
        assert_int_equal(rlt_tuner_launch_of(&m, &call, RLT_TUNER_TREE, RLT_TUNER_LL128).chunk_bytes,
                         rows[i].chunk);
    }
}

/* NVLSTree on Blackwell between nodes follows NICs, GPUs and their distance (src/transport/nvls.cc, 2.30.7).
 * The calls are large enough for whole chunks. */
static void blackwell_nvls_tree(void **state)
{
    static const struct {
        uint32_t nodes, gpus;
        double nic_GBps;
        rlt_tuner_path inter;
        uint32_t channels, chunk_KiB;
    } rows[] = {
        {2, 4, 50, RLT_VIA_PXB, 32, 256},   {2, 8, 50, RLT_VIA_PXB, 32, 64},
        {2, 8, 50, RLT_VIA_P2C, 32, 128},   {2, 8, 100, RLT_VIA_PXB, 32, 128},
        {2, 16, 100, RLT_VIA_P2C, 32, 64},  {4, 8, 100, RLT_VIA_PXB, 24, 256},
        {4, 16, 100, RLT_VIA_P2C, 32, 128}, {4, 32, 100, RLT_VIA_P2C, 32, 64},
        {4, 8, 50, RLT_VIA_PXB, 24, 64},    {4, 8, 50, RLT_VIA_P2C, 24, 128},
        {4, 8, 25, RLT_VIA_P2C, 32, 64},    {3, 8, 25, RLT_VIA_P2C, 32, 128},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_machine m = {.version = test_version("2.30.7"),
                               .arch = RLT_TUNER_BLACKWELL,
                               .nodes = rows[i].nodes,
                               .gpus = rows[i].gpus,
                               .nic_GBps = rows[i].nic_GBps,
                               .nvswitch = true,
                               .multicast = true,
                               .nvls = {.channels = 4, .inter = rows[i].inter}};
        rlt_tuner_call call = {.bytes = (uint64_t)1 << 36};
        rlt_tuner_launch got = rlt_tuner_launch_of(&m, &call, RLT_TUNER_NVLS_TREE, RLT_TUNER_SIMPLE);
        if (got.channels != rows[i].channels || got.chunk_bytes != rows[i].chunk_KiB * 1024)
            fail_msg("row %zu: %u channels, chunk %llu", i, got.channels,
                     (unsigned long long)got.chunk_bytes);
    }
}

/* Everywhere else chunks of NVLSTree are 128 KiB, and 64 KiB from four nodes on: on Hopper, and before 2.30. */
static void plain_nvls_tree(void **state)
{
    static const struct {
        const char *version;
        rlt_tuner_arch arch;
    } rows[] = {{"2.30.7", RLT_TUNER_HOPPER}, {"2.29.2", RLT_TUNER_BLACKWELL}, {"2.29.2", RLT_TUNER_HOPPER}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t n = 2; n <= 5; n++)
            for (uint32_t gpus = 4; gpus <= 16; gpus *= 2) {
                rlt_tuner_machine m = {.version = test_version(rows[i].version),
                                       .arch = rows[i].arch,
                                       .nodes = n,
                                       .gpus = gpus,
                                       .nic_GBps = 100,
                                       .nvswitch = true,
                                       .multicast = true,
                                       .nvls = {.channels = 4, .inter = RLT_VIA_PXB}};
                rlt_tuner_call call = {.bytes = (uint64_t)1 << 36};
                rlt_tuner_launch got = rlt_tuner_launch_of(&m, &call, RLT_TUNER_NVLS_TREE, RLT_TUNER_SIMPLE);
                assert_int_equal(got.chunk_bytes, (n < 4 ? 128 : 64) * 1024);
            }
}

/* Two GPUs a node, NVLink of 280. 10 x 48 is more than NVLink has, so the first pass ends; doubled, 20 x 24. As many fit at
 * 28, as every second hop leaves the node: 10 x 28. Before 2.20 nothing is raised, and 16 channels are the most. */
static void raised_rings(void **state)
{
    rlt_tuner_node node = {.version = test_version("2.30.7"),
                           .arch = RLT_TUNER_AMPERE,
                           .nodes = 2,
                           .gpus = 2,
                           .nvlink_GBps = 280,
                           .nvswitch = true,
                           .path = RLT_VIA_PXB,
                           .pcie_GBps = 290,
                           .nics = 20,
                           .nic_GBps = 50};
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(m.ring.channels, 20);
    assert_true(m.ring.intra_GBps == 28 && m.ring.inter_GBps == 28);
    node.version = test_version("2.19.3");
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(m.ring.channels, 16);
    assert_true(m.ring.intra_GBps == 24 && m.ring.inter_GBps == 24);
}

/* CollNet and PAT by hand, 16 channels. Direct, 8 heads: a channel should have 640 * 8 * 512 B; on the way down
 * the threshold is halved at 12 and at 6 channels, so 4 MiB takes 5. */
static void network_launches(void **state)
{
    enum { KIB = 1024, GIB = 1 << 30 };
    static const struct {
        rlt_tuner_kind kind;
        rlt_tuner_algorithm a;
        uint64_t bytes;
        uint32_t channels;
        uint64_t chunk;
    } rows[] = {
        {RLT_TUNER_ALL_REDUCE, RLT_TUNER_COLLNET_DIRECT, GIB, 16, 128 * KIB},
        {RLT_TUNER_ALL_REDUCE, RLT_TUNER_COLLNET_DIRECT, 4 << 20, 5, 32 * KIB},
        /* 640 * 512 B for a channel: 12 of 4 MiB; 8 GPUs deep, below 1 chunk for each: 32 KiB */
        {RLT_TUNER_ALL_REDUCE, RLT_TUNER_COLLNET_CHAIN, GIB, 16, 128 * KIB},
        {RLT_TUNER_ALL_REDUCE, RLT_TUNER_COLLNET_CHAIN, 4 << 20, 12, 32 * KIB},
        /* 8 * 24 GB/s * 16/15 / 2 < 150 GB/s: 32 KiB */
        {RLT_TUNER_ALL_REDUCE, RLT_TUNER_NVLS, (uint64_t)8 * GIB, 16, 32 * KIB},
        /* 32 times a chunk on every channel; 16 times for reduce-scatter; 64 KiB at least */
        {RLT_TUNER_ALL_GATHER, RLT_TUNER_PAT, GIB, 16, 512 * KIB},
        {RLT_TUNER_ALL_GATHER, RLT_TUNER_PAT, GIB / 8, 16, 256 * KIB},
        {RLT_TUNER_REDUCE_SCATTER, RLT_TUNER_PAT, GIB / 8, 16, 512 * KIB},
        {RLT_TUNER_ALL_GATHER, RLT_TUNER_PAT, 1 << 20, 16, 64 * KIB},
    };
    rlt_tuner_pattern p = {.channels = 8, .intra_GBps = 24, .inter_GBps = 24, .intra = RLT_VIA_NVL};
    rlt_tuner_machine m = {.version = test_version("2.30.7"),
                           .arch = RLT_TUNER_HOPPER,
                           .newest = RLT_TUNER_HOPPER,
                           .nodes = 4,
                           .gpus = 8,
                           .ring = p,
                           .tree = p,
                           .nvls = p,
                           .collnet_chain = p,
                           .collnet_direct = p,
                           .nvswitch = true,
                           .multicast = true,
                           .collnet = true};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_call call = {.kind = rows[i].kind, .bytes = rows[i].bytes};
        rlt_tuner_launch got = rlt_tuner_launch_of(&m, &call, rows[i].a, RLT_TUNER_SIMPLE);
        if (got.channels != rows[i].channels || got.chunk_bytes != rows[i].chunk || got.threads != 640)
            fail_msg("row %zu: %u channels, chunk %llu", i, got.channels,
                     (unsigned long long)got.chunk_bytes);
    }
}

static void lanes(void **state)
{
    (void)state;
    assert_true(rlt_tuner_lane_GBps(60) == 18 && rlt_tuner_lane_GBps(70) == 20 &&
                rlt_tuner_lane_GBps(80) == 20 && rlt_tuner_lane_GBps(86) == 12 &&
                rlt_tuner_lane_GBps(90) == 20.6 && rlt_tuner_lane_GBps(100) == 40.1 &&
                rlt_tuner_lane_GBps(35) == 0);
}

static void bad_nodes(void **state)
{
    rlt_tuner_node good = node_of(&nodes[0]), node;
    rlt_tuner_machine m;
    rlt_error err = {0};
    (void)state;
    node = good, node.nics = 0;
    assert_int_equal(rlt_tuner_search(&node, &m, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected 1 to 1024 NIC ports with a rate above 0");
    node = good, node.nic_GBps = 0.01, err = (rlt_error){0};
    assert_int_equal(rlt_tuner_search(&node, &m, &err), RLT_ETOPOLOGY);
    assert_string_equal(err.what, "no channel fits: the slowest tried has 0.12 GB/s");
    node = good, node.card_nics = 3, err = (rlt_error){0};
    assert_int_equal(rlt_tuner_search(&node, &m, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected the 8 ports to fill cards of 3");
    node = good, node.nodes = node.gpus = 1;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), RLT_ERANGE);
    node = good, node.nvlink_GBps = -1;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), RLT_ERANGE);
    node = good, node.pcie_GBps = 0;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), RLT_ERANGE);
    node = good, node.version = test_version("rccl");
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), RLT_EUNSUPPORTED);
}

/* Twice the channels that rings and trees share; half as many more with CollNet chains that are faster inside; twice
 * again on Hopper between nodes where a channel has more than 45 GB/s; at least those of NVLS from 2.20 to 2.27. */
static void channels_by_hand(void **state)
{
    static const struct {
        const char *nccl;
        rlt_tuner_arch arch;
        uint32_t nodes, ring, tree;
        double intra;
        bool multicast, collnet;
        uint32_t channels;
    } rows[] = {
        {"2.30", RLT_TUNER_HOPPER, 2, 4, 4, 46, false, false, 16},
        {"2.30", RLT_TUNER_HOPPER, 2, 4, 4, 45, false, false, 8},
        {"2.30", RLT_TUNER_HOPPER, 1, 4, 4, 46, false, false, 8},
        {"2.30", RLT_TUNER_AMPERE, 2, 4, 4, 46, false, false, 8},
        {"2.30", RLT_TUNER_HOPPER, 2, 8, 8, 46, false, false, 16},
        {"2.30", RLT_TUNER_HOPPER, 2, 7, 9, 46, false, false, 28},
        {"2.30", RLT_TUNER_HOPPER, 2, 7, 2, 40, false, false, 4},
        {"2.30", RLT_TUNER_HOPPER, 2, 7, 0, 40, false, false, 14},
        {"2.30", RLT_TUNER_AMPERE, 2, 40, 40, 40, false, false, 64},
        {"2.25.0", RLT_TUNER_AMPERE, 2, 40, 40, 40, false, false, 64},
        {"2.24", RLT_TUNER_AMPERE, 2, 40, 40, 40, false, false, 32},
        {"2.19", RLT_TUNER_HOPPER, 2, 8, 8, 46, false, false, 32},
        {"2.19", RLT_TUNER_HOPPER, 2, 9, 9, 46, false, false, 18},
        {"2.20.0", RLT_TUNER_HOPPER, 2, 8, 8, 46, false, false, 16},
        {"2.24", RLT_TUNER_BLACKWELL, 2, 4, 4, 46, false, false, 8},
        {"2.25.0", RLT_TUNER_BLACKWELL, 2, 4, 4, 46, false, false, 16},
        {"2.19", RLT_TUNER_HOPPER, 1, 4, 4, 46, true, false, 8},
        {"2.20.0", RLT_TUNER_HOPPER, 1, 4, 4, 46, true, false, 16},
        {"2.27", RLT_TUNER_HOPPER, 1, 9, 9, 46, true, false, 18},
        {"2.27", RLT_TUNER_HOPPER, 1, 4, 4, 46, true, false, 16},
        {"2.28.0", RLT_TUNER_HOPPER, 1, 4, 4, 46, true, false, 8},
        {"2.30", RLT_TUNER_AMPERE, 2, 4, 4, 46, false, true, 12},
        {"2.30", RLT_TUNER_AMPERE, 2, 24, 24, 46, false, true, 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_pattern p = {.channels = rows[i].ring, .intra_GBps = rows[i].intra, .inter_GBps = 40};
        rlt_tuner_machine m = {.version = test_version(rows[i].nccl),
                               .arch = rows[i].arch,
                               .nodes = rows[i].nodes,
                               .gpus = 8,
                               .ring = p,
                               .tree = p,
                               .nvls = p,
                               .collnet_chain = p,
                               .nvswitch = true,
                               .multicast = rows[i].multicast,
                               .collnet = rows[i].collnet};
        m.tree.channels = rows[i].tree;
        if (rlt_tuner_channels(&m) != rows[i].channels)
            fail_msg("row %zu: %u channels", i, rlt_tuner_channels(&m));
        m.channels = 5;
        assert_int_equal(rlt_tuner_channels(&m), 5);
        m.channels = 0;
        m.gpus = 1; /* chains need several GPUs; they must be faster inside */
        assert_true(!m.collnet || rlt_tuner_channels(&m) == (rows[i].ring > 4 ? 48 : 8));
        m.gpus = 8;
        m.collnet_chain.intra_GBps = 40;
        assert_true(!m.collnet || rlt_tuner_channels(&m) == (rows[i].ring > 4 ? 48 : 8));
    }
}

static void nvls_channels_by_hand(void **state)
{
    static const struct {
        const char *nccl;
        rlt_tuner_arch arch;
        uint32_t nodes, gpus;
        double nic_GBps;
        uint32_t channels;
    } rows[] = {
        {"2.30", RLT_TUNER_AMPERE, 1, 8, 50, 0},       {"2.30", RLT_TUNER_HOPPER, 1, 8, 50, 16},
        {"2.24", RLT_TUNER_BLACKWELL, 1, 8, 50, 16},   {"2.25.0", RLT_TUNER_BLACKWELL, 1, 8, 50, 32},
        {"2.26", RLT_TUNER_BLACKWELL, 1, 8, 50, 32},   {"2.27.0", RLT_TUNER_BLACKWELL, 1, 8, 50, 24},
        {"2.29", RLT_TUNER_BLACKWELL, 4, 8, 50, 32},   {"2.30.0", RLT_TUNER_BLACKWELL, 4, 8, 50, 24},
        {"2.30", RLT_TUNER_BLACKWELL, 2, 8, 50, 32},   {"2.30", RLT_TUNER_BLACKWELL, 3, 8, 48, 24},
        {"2.30", RLT_TUNER_BLACKWELL, 3, 8, 47.9, 32}, {"2.30", RLT_TUNER_BLACKWELL, 3, 8, 96, 24},
        {"2.30", RLT_TUNER_BLACKWELL, 3, 9, 96, 32},   {"2.30", RLT_TUNER_BLACKWELL, 3, 9, 95.9, 24},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_machine m = {.version = test_version(rows[i].nccl),
                               .arch = rows[i].arch,
                               .nodes = rows[i].nodes,
                               .gpus = rows[i].gpus,
                               .nic_GBps = rows[i].nic_GBps,
                               .nvswitch = true,
                               .multicast = true,
                               .nvls = {.channels = 4}};
        if (rlt_tuner_nvls_channels(&m) != rows[i].channels)
            fail_msg("row %zu: %u channels", i, rlt_tuner_nvls_channels(&m));
        m.multicast = false;
        assert_int_equal(rlt_tuner_nvls_channels(&m), 0);
        m.multicast = true;
        m.nvswitch = false;
        assert_int_equal(rlt_tuner_nvls_channels(&m), 0);
        m.nvswitch = true;
        m.nvls.channels = 0;
        assert_int_equal(rlt_tuner_nvls_channels(&m), 0);
    }
}

/* Nodes of 8 H100, 16 channels, at both sides of each size at which a chunk, the channels or the threads change. */
static void sizes_of_change(void **state)
{
    enum { KIB = 1024, MIB = KIB * KIB };
    const uint64_t GIB = (uint64_t)1 << 30;
    const struct {
        uint32_t nodes;
        rlt_tuner_kind kind;
        rlt_tuner_algorithm a;
        rlt_tuner_protocol p;
        uint64_t bytes; /* and one less */
        rlt_tuner_launch from, below;
    } rows[] = {
        /* Direct: two deep, 16 channels * 8 heads: below 128, 16 and 16 chunks for each */
        {4,
         0,
         RLT_TUNER_COLLNET_DIRECT,
         RLT_TUNER_SIMPLE,
         8 * GIB,
         {16, 640, 512 * KIB, 0},
         {16, 640, 256 * KIB, 0}},
        {4,
         0,
         RLT_TUNER_COLLNET_DIRECT,
         RLT_TUNER_SIMPLE,
         256 * MIB,
         {16, 640, 128 * KIB, 0},
         {16, 640, 64 * KIB, 0}},
        {4,
         0,
         RLT_TUNER_COLLNET_DIRECT,
         RLT_TUNER_SIMPLE,
         128 * MIB,
         {16, 640, 64 * KIB, 0},
         {16, 640, 32 * KIB, 0}},
        /* Chain: eight deep: below 512, 64 and 8 */
        {4,
         0,
         RLT_TUNER_COLLNET_CHAIN,
         RLT_TUNER_SIMPLE,
         2 * GIB,
         {16, 640, 256 * KIB, 0},
         {16, 640, 128 * KIB, 0}},
        {4,
         0,
         RLT_TUNER_COLLNET_CHAIN,
         RLT_TUNER_SIMPLE,
         128 * MIB,
         {16, 640, 128 * KIB, 0},
         {16, 640, 64 * KIB, 0}},
        {4,
         0,
         RLT_TUNER_COLLNET_CHAIN,
         RLT_TUNER_SIMPLE,
         8 * MIB,
         {16, 640, 64 * KIB, 0},
         {16, 640, 32 * KIB, 0}},
        /* 640 * 512 B for each channel of a chain */
        {4,
         0,
         RLT_TUNER_COLLNET_CHAIN,
         RLT_TUNER_SIMPLE,
         16 * 327680,
         {16, 640, 32 * KIB, 0},
         {15, 640, 32 * KIB, 0}},
        {4,
         0,
         RLT_TUNER_COLLNET_CHAIN,
         RLT_TUNER_SIMPLE,
         2 * 327680,
         {2, 640, 32 * KIB, 0},
         {1, 640, 64 * KIB, 0}},
        /* NVLSTree: 16 channels * 8 heads, below 4 and 1 chunk */
        {2,
         0,
         RLT_TUNER_NVLS_TREE,
         RLT_TUNER_SIMPLE,
         64 * MIB,
         {16, 640, 128 * KIB, 0},
         {16, 640, 64 * KIB, 0}},
        {2,
         0,
         RLT_TUNER_NVLS_TREE,
         RLT_TUNER_SIMPLE,
         8 * MIB,
         {16, 640, 64 * KIB, 0},
         {16, 640, 32 * KIB, 0}},
        /* NVLS in a node: below 64, 8 and 2 */
        {1, 0, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, GIB, {16, 640, 128 * KIB, 0}, {16, 640, 64 * KIB, 0}},
        {1, 0, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, 64 * MIB, {16, 640, 64 * KIB, 0}, {16, 640, 32 * KIB, 0}},
        {1, 0, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, 8 * MIB, {16, 640, 32 * KIB, 0}, {16, 640, 16 * KIB, 0}},
        /* cells of 32 KiB of traffic: 17 make two for each channel but one; twice the bytes of an all-reduce */
        {1,
         0,
         RLT_TUNER_NVLS,
         RLT_TUNER_SIMPLE,
         256 * KIB + 1,
         {9, 640, 16 * KIB, 0},
         {16, 640, 16 * KIB, 0}},
        {1, 0, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, 16 * KIB + 1, {2, 640, 16 * KIB, 0}, {1, 640, 16 * KIB, 0}},
        {1, 1, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, 32 * KIB + 1, {2, 640, 16 * KIB, 0}, {1, 640, 16 * KIB, 0}},
        {1, 1, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE, 1, {1, 640, 16 * KIB, 0}, {1, 640, 16 * KIB, 0}},
        /* rings: 512 threads of 64 B, a warp more; then half the threads. 15 channels share 32 cells by threes: 11 */
        {4, 0, RLT_TUNER_RING, RLT_TUNER_SIMPLE, 512 * KIB, {16, 544, 2 * MIB, MIB}, {11, 544, 2 * MIB, MIB}},
        {4, 0, RLT_TUNER_RING, RLT_TUNER_SIMPLE, 32 * KIB, {1, 544, 2 * MIB, MIB}, {1, 288, 2 * MIB, MIB}},
        {4, 0, RLT_TUNER_RING, RLT_TUNER_SIMPLE, 16 * KIB, {1, 288, 2 * MIB, MIB}, {1, 160, 2 * MIB, MIB}},
        {4, 0, RLT_TUNER_RING, RLT_TUNER_SIMPLE, 8 * KIB, {1, 160, 2 * MIB, MIB}, {1, 96, 2 * MIB, MIB}},
        /* LL: 8 B for each rank and thread, four times the traffic; half a line is flags */
        {4, 0, RLT_TUNER_RING, RLT_TUNER_LL, 128 * KIB, {1, 512, 32 * KIB, 0}, {1, 256, 32 * KIB, 0}},
        {4, 1, RLT_TUNER_RING, RLT_TUNER_LL, 256 * KIB, {2, 512, 32 * KIB, 0}, {1, 512, 32 * KIB, 0}},
        /* LL128: 640 threads of 8 B, 300 lines of 1920 B */
        {4, 1, RLT_TUNER_RING, RLT_TUNER_LL128, 32 * KIB + 1, {2, 640, 576000, 0}, {1, 640, 576000, 0}},
        /* one way: a step, and no slices */
        {4, 3, RLT_TUNER_RING, RLT_TUNER_SIMPLE, 32 * KIB, {1, 544, 512 * KIB, 0}, {1, 288, 512 * KIB, 0}},
    };
    rlt_tuner_pattern p = {.channels = 8, .intra_GBps = 40, .inter_GBps = 40, .intra = RLT_VIA_NVL};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        rlt_tuner_machine m = {.version = test_version("2.30.7"),
                               .arch = RLT_TUNER_HOPPER,
                               .newest = RLT_TUNER_HOPPER,
                               .nodes = rows[i / 2].nodes,
                               .gpus = 8,
                               .ring = p,
                               .tree = p,
                               .nvls = p,
                               .collnet_chain = p,
                               .collnet_direct = p,
                               .nvswitch = true,
                               .multicast = true,
                               .collnet = true};
        rlt_tuner_call call = {.kind = rows[i / 2].kind, .bytes = rows[i / 2].bytes - i % 2};
        rlt_tuner_launch got = rlt_tuner_launch_of(&m, &call, rows[i / 2].a, rows[i / 2].p);
        rlt_tuner_launch want = i % 2 ? rows[i / 2].below : rows[i / 2].from;
        want.slice_bytes = want.slice_bytes ? want.slice_bytes : want.chunk_bytes;
        if (got.channels != want.channels || got.threads != want.threads ||
            got.chunk_bytes != want.chunk_bytes || got.slice_bytes != want.slice_bytes)
            fail_msg("row %zu, %zu: %u channels of %u threads, chunk %llu, slice %llu", i / 2, i % 2,
                     got.channels, got.threads, (unsigned long long)got.chunk_bytes,
                     (unsigned long long)got.slice_bytes);
    }
}

/* A slow ring has 256 threads, up to 12 GB/s. */
static void slow_rings(void **state)
{
    static const struct {
        double intra;
        uint32_t channels, threads;
    } rows[] = {{12, 1, 288}, {12.5, 1, 544}, {6, 2, 288}, {6.5, 2, 544}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_pattern p = {.channels = rows[i].channels, .intra_GBps = rows[i].intra, .inter_GBps = 40};
        rlt_tuner_machine m = {.version = test_version("2.30"),
                               .arch = RLT_TUNER_AMPERE,
                               .nodes = 2,
                               .gpus = 8,
                               .ring = p,
                               .tree = p};
        rlt_tuner_call call = {.bytes = 1 << 30};
        assert_int_equal(rlt_tuner_launch_of(&m, &call, RLT_TUNER_RING, RLT_TUNER_SIMPLE).threads,
                         rows[i].threads);
        assert_int_equal(rlt_tuner_launch_of(&m, &call, RLT_TUNER_TREE, RLT_TUNER_SIMPLE).threads, 640);
        assert_int_equal(rlt_tuner_launch_of(&m, &call, RLT_TUNER_RING, RLT_TUNER_LL).threads, 512);
    }
}

/* One port of .36 GB/s: one ring of .24 fits, but three of .12, half the speed, are more. */
static void half_the_speed(void **state)
{
    rlt_tuner_node node = {.version = test_version("2.30"),
                           .arch = RLT_TUNER_AMPERE,
                           .nodes = 2,
                           .gpus = 1,
                           .path = RLT_VIA_PXB,
                           .pcie_GBps = 24,
                           .nics = 1,
                           .nic_GBps = .36};
    rlt_tuner_machine m;
    (void)state;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    assert_int_equal(m.ring.channels, 3);
    assert_true(m.ring.inter_GBps == .12 && m.ring.intra == RLT_VIA_LOC && m.ring.inter == RLT_VIA_PXB);
    assert_true(m.tree.plain);
    assert_true(rlt_tuner_ring_bound_GBps(&m) > .3599 && rlt_tuner_ring_bound_GBps(&m) < .3601);
}

static void limits_of_nodes(void **state)
{
    const rlt_tuner_node good = node_of(&nodes[0]);
    const struct {
        rlt_tuner_node node;
        const char *what; /* NULL: it is searched */
    } rows[] = {
        {{.gpus = 1025}, "expected at least two GPUs, and 1024 in a node at most"},
        {{.gpus = 0}, "expected at least two GPUs, and 1024 in a node at most"},
        {{.nvlink_GBps = 1e6 + 1}, "expected an NVLink rate from 0 to 1e+06 GB/s"},
        {{.pcie_GBps = 1e6 + 1}, "expected a PCIe rate above 0"},
        {{.nics = 1025}, "expected 1 to 1024 NIC ports with a rate above 0"},
        {{.nic_GBps = 1e6 + 1}, "expected 1 to 1024 NIC ports with a rate above 0"},
    };
    rlt_tuner_machine m;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_tuner_node node = good;
        rlt_error err = {0};
        node.gpus = i < 2 ? rows[i].node.gpus : good.gpus;
        node.nvlink_GBps = i == 2 ? rows[i].node.nvlink_GBps : good.nvlink_GBps;
        node.pcie_GBps = i == 3 ? rows[i].node.pcie_GBps : good.pcie_GBps;
        node.nics = i == 4 ? rows[i].node.nics : good.nics;
        node.nic_GBps = i == 5 ? rows[i].node.nic_GBps : good.nic_GBps;
        assert_int_equal(rlt_tuner_search(&node, &m, &err), RLT_ERANGE);
        assert_string_equal(err.where, "search");
        assert_string_equal(err.what, rows[i].what);
    }
    rlt_tuner_node node = good;
    node.nics = 1024;
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
    node = good, node.nodes = 1, node.nics = 0, node.nic_GBps = 0; /* one node needs no network */
    assert_int_equal(rlt_tuner_search(&node, &m, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_types),
        cmocka_unit_test(other_patterns),
        cmocka_unit_test(channels_by_version),
        cmocka_unit_test(launches),
        cmocka_unit_test(nvls_chunks),
        cmocka_unit_test(ll128_chunks),
        cmocka_unit_test(blackwell_nvls_tree),
        cmocka_unit_test(network_launches),
        cmocka_unit_test(lanes),
        cmocka_unit_test(bad_nodes),
        cmocka_unit_test(channels_by_hand),
        cmocka_unit_test(nvls_channels_by_hand),
        cmocka_unit_test(sizes_of_change),
        cmocka_unit_test(slow_rings),
        cmocka_unit_test(half_the_speed),
        cmocka_unit_test(limits_of_nodes),
        cmocka_unit_test(plain_nvls_tree),
        cmocka_unit_test(raised_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
