/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of NVIDIA/nccl, src/graph/tuning.cc, at the tags v2.18.1-1 to v2.30.7-1. */
#include "collectives/tuner/constants.h"

#include <string.h>

/* 2.30.7. Rows: tree, ring, CollNet Direct and Chain, NVLS, NVLSTree, PAT. Columns: LL, LL128, Simple. */
static const rlt__tuner_constants newest = {
    .base = {{6.8f, 14.0f, 8.4f}, {6.6f, 14.0f, 8.4f}, {0}, {0}, {0}, {0}, {8.0f, 8.0f, 8.0f}},
    .hop = {[RLT__ON_NVLINK] = {{0.6f, 1.25f, 4.0f},
                                {0.6f, 1.9f, 3.4f},
                                {0, 0, 3.7f},
                                {0, 0, 2.8f},
                                {0, 0, 25},
                                {0, 0, 25},
                                {0, 0, 4.0f}},
            [RLT__ON_PCIE] =
                {{1.0f, 1.9f, 4.0f}, {1.0f, 2.5f, 5.7f}, {0, 0, 3.7f}, {0, 0, 2.8f}, {0}, {0}, {0, 0, 4.0f}},
            [RLT__ON_NETWORK] = {{5.0f, 8.5f, 14},
                                 {2.7f, 4.0f, 14.0f},
                                 {0, 0, 31},
                                 {0, 0, 30},
                                 {0, 0, 18},
                                 {0, 0, 20.9f},
                                 {0, 0, 14}}},
    .ll = {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}},
    .ring_ll128 = {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}},
    .tree_ll128 = {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}},
    .tree = {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}},
    .nvls_tree = {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}},
};

static void set_row(rlt__by_arch table, rlt_tuner_arch arch, double one, double two, double more)
{
    table[arch][0] = one;
    table[arch][1] = two;
    table[arch][2] = more;
}

static void set_simple(rlt__tuner_constants *c, rlt_tuner_algorithm a, float nvlink, float pcie, float net)
{
    c->hop[RLT__ON_NVLINK][a][RLT_TUNER_SIMPLE] = nvlink;
    c->hop[RLT__ON_PCIE][a][RLT_TUNER_SIMPLE] = pcie;
    c->hop[RLT__ON_NETWORK][a][RLT_TUNER_SIMPLE] = net;
}

/* Blackwell before its own tables: twice Hopper. */
static void twice_hopper(rlt__by_arch table)
{
    for (uint32_t i = 0; i < RLT__NODE_CLASSES; i++)
        table[RLT_TUNER_BLACKWELL][i] = 2 * table[RLT_TUNER_HOPPER][i];
}

static void before_2_30(uint32_t version, rlt__tuner_constants *c)
{
    set_row(c->nvls_tree, RLT_TUNER_BLACKWELL, 0.0, 96.0, version < RLT__V2_28_7 ? 43.1 : 43.8);
    if (version < RLT__V2_29_7)
        set_row(c->ring_ll128, RLT_TUNER_BLACKWELL, 34.5, 34.6, 34.5);
    if (version < RLT__V2_29)
        set_row(c->ring_ll128, RLT_TUNER_BLACKWELL, 73.4, 34.6, 73.4);
    if (version < RLT__V2_28_7) {
        twice_hopper(c->ring_ll128);
        c->hop[RLT__ON_NETWORK][RLT_TUNER_NVLS_TREE][RLT_TUNER_SIMPLE] = 14;
    }
    if (version < RLT__V2_28) {
        twice_hopper(c->tree_ll128);
        twice_hopper(c->tree);
    }
}

static void before_2_23(uint32_t version, rlt__tuner_constants *c)
{
    c->base[RLT_TUNER_TREE][RLT_TUNER_SIMPLE] = 0;
    set_simple(c, RLT_TUNER_TREE, 28, 28, 28);
    if (version < RLT__V2_21) {
        set_row(c->ll, RLT_TUNER_HOPPER, 87.7, 22.5, 19.0);
        set_simple(c, RLT_TUNER_NVLS, 23, 0, 18);
        set_simple(c, RLT_TUNER_NVLS_TREE, 23, 0, 14);
    }
}

static void before_2_19(uint32_t version, rlt__tuner_constants *c)
{
    c->base[RLT_TUNER_NVLS][RLT_TUNER_SIMPLE] = c->base[RLT_TUNER_NVLS_TREE][RLT_TUNER_SIMPLE] = 23;
    set_simple(c, RLT_TUNER_TREE, 4, 6, 14);
    set_simple(c, RLT_TUNER_COLLNET_DIRECT, 8, 8, 10.7f);
    set_simple(c, RLT_TUNER_COLLNET_CHAIN, 4.75f, 8, 14);
    set_simple(c, RLT_TUNER_NVLS, 0, 0, 18);
    set_simple(c, RLT_TUNER_NVLS_TREE, 0, 0, 19);
    if (version < RLT__V2_18_3) {
        set_simple(c, RLT_TUNER_TREE, 28, 28, 28);
        c->tree[RLT_TUNER_HOPPER][2] = 33.0;
        c->tree_ll128[RLT_TUNER_HOPPER][2] = 36.7;
    }
}

void rlt__tuner_constants_of(uint32_t version, rlt__tuner_constants *out)
{
    memcpy(out, &newest, sizeof *out);
    if (version < RLT__V2_30)
        before_2_30(version, out);
    if (version < RLT__V2_23)
        before_2_23(version, out);
    if (version < RLT__V2_19)
        before_2_19(version, out);
}

uint32_t rlt__log2(uint64_t x)
{
    uint32_t log = 0;
    while (x >>= 1)
        log++;
    return log;
}

float rlt__tree_correction(rlt_tuner_protocol p, uint64_t bytes, uint32_t entries)
{
    /* tenths, for 64 B, 128 B, ... */
    static const uint8_t tenths[RLT_TUNER_PROTOCOLS][24] = {
        {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10},
        {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10, 10},
        {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9, 9},
    };
    uint32_t log = rlt__log2(bytes >> 6);
    /* dividing rounds as the decimal literal does */
    return bytes < 64 || log >= entries ? 1 : (float)tenths[p][log] / 10;
}
