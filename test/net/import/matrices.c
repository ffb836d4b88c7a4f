/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrices of `nvidia-smi topo -m`, whose graphs are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/networks/imported.h"

#define GB UINT64_C(1000000000)
#define US ((rlt_time)1000000)

static void matrix_of_nvlinks(void **state)
{
    (void)state;
    rlt_topology *t = test_import("$ nvidia-smi topo -m\n"
                                  "     GPU0 GPU1 GPU2 GPU3 mlx5_0 CPU Affinity\n"
                                  "GPU0  X   NV1  NV2  SYS  PIX    0-19,40-59\n"
                                  "GPU1 NV1   X   SYS  NV2  PIX    0-19,40-59\n"
                                  "GPU2 NV2  SYS   X   NV1  SYS    20-39,60-79\n"
                                  "GPU3 SYS  NV2  NV1   X   SYS    20-39,60-79\n"
                                  "mlx5_0 PIX PIX SYS  SYS   X\n");
    test_both_ways(t, "gpu0", "gpu1", 25 * GB);
    test_both_ways(t, "gpu0", "gpu2", 50 * GB);
    test_both_ways(t, "gpu2", "gpu3", 25 * GB);
    assert_int_equal(test_between(t, "gpu0", "gpu3"), 0);
    test_both_ways(t, "gpu0", "pcie0", 12 * GB); /* three NVLinks: of the Volta generation */
    test_both_ways(t, "mlx5_0", "pcie0", 12 * GB);
    test_both_ways(t, "pcie0", "cpu0", 12 * GB);
    test_both_ways(t, "gpu3", "cpu1", 12 * GB);
    test_both_ways(t, "cpu0", "cpu1", 10 * GB);
    test_import_route(t, 0, 3, 0, "gpu0 > gpu1 > gpu3");
    rlt_topology_free(t);
}

static void matrix_of_pcie(void **state)
{
    (void)state;
    rlt_topology *t = test_import("GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 CPU Affinity NUMA Affinity\n"
                                  "GPU0 X PIX PXB PHB NODE SYS 0 0\n"
                                  "GPU1 PIX X PXB PHB NODE SYS 0 0\n"
                                  "GPU2 PXB PXB X PHB NODE SYS 0 0\n"
                                  "GPU3 PHB PHB PHB X NODE SYS 0 0\n"
                                  "GPU4 NODE NODE NODE NODE X SYS 0 0\n"
                                  "GPU5 SYS SYS SYS SYS SYS X 1 1\n");
    rlt_time end = 4 * US / 10;
    test_import_route(t, 0, 1, end, "gpu0 > pcie0 > gpu1");
    test_import_route(t, 0, 2, end, "gpu0 > pcie0 > pcie-upper0 > gpu2");
    test_import_route(t, 0, 3, end, "gpu0 > pcie0 > pcie-upper0 > host-bridge0 > gpu3");
    test_import_route(t, 0, 4, end, "gpu0 > pcie0 > pcie-upper0 > host-bridge0 > cpu0 > gpu4");
    test_import_route(t, 0, 5, end, "gpu0 > pcie0 > pcie-upper0 > host-bridge0 > cpu0 > cpu1 > gpu5");
    test_both_ways(t, "gpu0", "pcie0", 24 * GB);
    rlt_topology_free(t);
    /* Two GPUs with twelve NVLinks between them are bridged. NV4 between four is a mesh. NV8 between eight is
     * more than a GPU has. */
    t = test_import("GPU0 GPU1 CPU Affinity\nGPU0 X NV12 0-9\nGPU1 NV12 X 0-9\n");
    test_both_ways(t, "gpu0", "gpu1", 300 * GB);
    assert_int_equal(rlt_topology_nodes(t), 3);
    rlt_topology_free(t);
}

/* Eight GPUs with eight NVLinks to each other: more than a GPU has, so they lead to switches. */
static void eight_of_eight(void **state)
{
    static const struct {
        int links;
        uint64_t GBps, pcie_GBps;
        uint32_t in_network;
    } table[] = {{8, 200, 24, 0}, {18, 450, 48, RLT_CAN_REDUCE | RLT_CAN_MULTICAST}};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        char text[4096] = "GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 CPU Affinity\n";
        for (int i = 0; i < 8; i++) {
            snprintf(text + strlen(text), sizeof text - strlen(text), "GPU%d", i);
            for (int k = 0; k < 8; k++)
                snprintf(text + strlen(text), sizeof text - strlen(text), i == k ? " X" : " NV%d",
                         table[c].links);
            strcat(text, " 0-7\n");
        }
        rlt_topology *t = test_import(text);
        test_both_ways(t, "gpu7", "nvswitch", table[c].GBps * GB);
        test_both_ways(t, "gpu7", "cpu0", table[c].pcie_GBps * GB);
        assert_int_equal(test_between(t, "gpu0", "gpu1"), 0);
        assert_int_equal(rlt_topology_in_network(t, test_node(t, "nvswitch")), table[c].in_network);
        rlt_topology_free(t);
    }
}

static void wrong_matrices(void **state)
{
#define HEAD2 "GPU0 GPU1 CPU Affinity\n"
    (void)state;
    test_import_wrong(HEAD2 "GPU0 X PIX\nGPU1 SYS X\n", "f:3", "differs from the entry");
    test_import_wrong(HEAD2 "GPU0 X PIX\nGPU1 PIX\n", "f:3:6", "the row is shorter than the head");
    test_import_wrong(HEAD2 "GPU0 X PIX\n", "f:2:1", "the matrix ends before its last row");
    test_import_wrong(HEAD2 "GPU1 X PIX\n", "f:2:1",
                      "expected the rows in the order of the columns, got 'GPU1'");
    test_import_wrong(HEAD2 "GPU0 PIX X\n", "f:2:6", "expected X");
    test_import_wrong(HEAD2 "GPU0 X NV\nGPU1 NV X\n", "f:2:8", "expected X, NV#, PIX");
    test_import_wrong(HEAD2 "GPU0 X NV999\nGPU1 NV999 X\n", "f:2:8", "got 'NV999'");
    test_import_wrong(HEAD2 "GPU0 X NVx\nGPU1 NVx X\n", "f:2:8", "got 'NVx'");
    test_import_wrong("GPU0 NIC0 CPU\nGPU0 X NV2\nNIC0 NV2 X\n", "f:2:8", "NV# between GPUs");
    test_import_wrong(HEAD2 "GPU0 X X\nGPU1 X X\n", "f:2:8", "expected no X here, got 'X'");
    test_import_wrong(HEAD2 "GPU0 PIX PIX\nGPU1 PIX X\n", "f:2:6",
                      "expected X, a device and itself, got 'PIX'");
    test_import_wrong(HEAD2 "GPU0 X NV0\nGPU1 NV0 X\n", "f:2:8", "got 'NV0'");
    test_import_wrong(HEAD2 "GPU0 X NV1:\nGPU1 NV1: X\n", "f:2:8", "got 'NV1:'");
    test_import_wrong(HEAD2 "GPU0 X NV1/\nGPU1 NV1/ X\n", "f:2:8", "got 'NV1/'");
    test_import_wrong(HEAD2 "GPU0 X NV001\nGPU1 NV001 X\n", "f:2:8", "got 'NV001'");
    test_import_wrong(HEAD2 "GPU0 X MV1\nGPU1 MV1 X\n", "f:2:8", "got 'MV1'");
    test_import_wrong(HEAD2 "GPU0 X NV2\nGPU1 NV3 X\n", "f:3",
                      "the entry from GPU1 to GPU0 differs from the entry from GPU0 to GPU1");
    test_import_wrong("GPU0 NIC0 CPU\nGPU0 X PIX\nNIC0 NV2 X\n", "f:3:6", "NV# between GPUs");
    test_import_wrong("GPU0 NIC0 GPU1 CPU\n", "f:1:11", "expected the GPUs before other devices, got 'GPU1'");
}

/* Two GPUs at two CPUs, joined by so many NVLinks, as NCCL knows their generation; figures in GB/s. */
static void generations_by_nvlinks(void **state)
{
    static const struct {
        uint32_t links;
        uint64_t pcie, cpu;
    } rows[] = {{0, 24, 16}, {1, 12, 10},  {6, 12, 10},  {7, 24, 16},
                {9, 24, 16}, {12, 24, 16}, {13, 48, 22}, {18, 48, 22}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256], word[16] = "SYS";
        if (rows[i].links)
            snprintf(word, sizeof word, "NV%u", rows[i].links);
        snprintf(text, sizeof text, "GPU0 GPU1 CPU Affinity\r\nGPU0 X %s 0-9\r\nGPU1 %s X 10-19\r\n", word,
                 word);
        rlt_topology *t = test_import(text);
        assert_int_equal(rlt_topology_nodes(t), 4);
        assert_int_equal(test_between(t, "gpu0", "gpu1"), rows[i].links * 25 * GB);
        test_both_ways(t, "gpu0", "cpu0", rows[i].pcie * GB);
        test_both_ways(t, "gpu1", "cpu1", rows[i].pcie * GB);
        test_both_ways(t, "cpu0", "cpu1", rows[i].cpu * GB);
        rlt_topology_free(t);
    }
    /* The GPU with the most NVLinks tells, here the second one, with ten. */
    rlt_topology *most = test_import("GPU0 GPU1 GPU2\nGPU0 X NV1 SYS\nGPU1 NV1 X NV9\nGPU2 SYS NV9 X\n");
    test_both_ways(most, "gpu0", "cpu0", 24 * GB);
    rlt_topology_free(most);
    const rlt_import given = {.nvlink_Bps = 3 * GB, .pcie_Bps = 5 * GB, .cpu_Bps = 7 * GB};
    rlt_topology *t = test_import_with("GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n", &given); /* of one CPU each */
    test_both_ways(t, "gpu0", "gpu1", 6 * GB);
    test_both_ways(t, "gpu0", "cpu0", 5 * GB);
    test_both_ways(t, "cpu0", "cpu1", 7 * GB);
    rlt_topology_free(t);
}

/* Three GPUs: as many NVLinks to each other as one has, 18, lead there; more lead to NVSwitches if all are alike. */
static void more_nvlinks_than_a_gpu_has(void **state)
{
    static const struct {
        const char *text;
        uint32_t links; /* into the NVSwitch; 0: direct */
    } rows[] = {
        {"GPU0 GPU1 GPU2\nGPU0 X NV9 NV9\nGPU1 NV9 X NV9\nGPU2 NV9 NV9 X\n", 0},
        {"GPU0 GPU1 GPU2\nGPU0 X NV10 NV10\nGPU1 NV10 X NV10\nGPU2 NV10 NV10 X\n", 10},
        {"GPU0 GPU1 GPU2\nGPU0 X NV10 NV10\nGPU1 NV10 X NV9\nGPU2 NV10 NV9 X\n", 0},
        {"GPU0 GPU1 GPU2\nGPU0 X NV10 NV10\nGPU1 NV10 X PIX\nGPU2 NV10 PIX X\n", 0},
        {"GPU0 GPU1 GPU2\nGPU0 X NV18 NV18\nGPU1 NV18 X NV18\nGPU2 NV18 NV18 X\n", 18},
        {"GPU0 GPU1 GPU2\nGPU0 X NV99 NV99\nGPU1 NV99 X NV99\nGPU2 NV99 NV99 X\n", 99},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = test_import(rows[i].text);
        bool hopper = rows[i].links == 18;
        assert_int_equal(rlt_topology_find_node(t, "nvswitch") != RLT_NONE, rows[i].links > 0);
        if (rows[i].links) {
            test_both_ways(t, "gpu2", "nvswitch", rows[i].links * 25 * GB);
            assert_int_equal(rlt_topology_in_network(t, test_node(t, "nvswitch")),
                             hopper ? RLT_CAN_REDUCE | RLT_CAN_MULTICAST : 0);
            assert_non_null(strstr(rlt_topology_source(t), "NVLinks a GPU into NVSwitches"));
            assert_int_equal(strstr(rlt_topology_source(t), "replicate (NVLink SHARP)") != NULL, hopper);
        } else {
            assert_true(test_between(t, "gpu0", "gpu1") > 0);
        }
        rlt_topology_free(t);
    }
}

/* Headers of all kinds; escape sequences, also broken ones; driver 389 says SOC; names of a legend. */
static void heads_and_words(void **state)
{
    static const struct {
        const char *text;
        uint32_t nodes;
    } rows[] = {
        {"GPU0 CPU Affinity\nGPU0 X 0-9\n", 2},
        {"\nsome words\nGPU0 CPU\nGPU0 X\n", 2},
        {"see GPU1\nGPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n", 4},
        {"GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\n", 4},
        {"GPU0 mlx5_0 CPU\nGPU0 X PIX\nmlx5_0 PIX X\n", 4},
        {"GPU0 GPU1 NUMA Affinity\nGPU0 X PIX\nGPU1 PIX X\n", 4},
        {"GPU0 GPU1 GPU NUMA ID\nGPU0 X PIX\nGPU1 PIX X\n", 4},
        {"GPU0 GPU1\nGPU0 X SOC\nGPU1 SOC X\n", 4},
        {"\x1b[4mGPU0 GPU1\x1b[0m\nGPU0\x1b[1;31m X\x1b[0m PIX\nGPU1 PIX X", 4},
        {"GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X \x1b[", 4},
    };
    static const char *const none[] = {"GPU0",        "GPU0 X PIX\n", "GPU GPU1\n",
                                       "GPUx GPU1\n", "GPU: GPU1\n",  "GPU/ GPU1\n",
                                       "gpu0 GPU1\n", "GPU0 NI\n",    "GPU0 CPUs\n"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = test_import(rows[i].text);
        if (rlt_topology_nodes(t) != rows[i].nodes)
            fail_msg("row %zu: %u nodes", i, rlt_topology_nodes(t));
        rlt_topology_free(t);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        rlt_topology *t = NULL;
        assert_true(rlt_topology_read("f", none[i], strlen(none[i]), NULL, &t, NULL) < 0);
        assert_null(t);
    }
    rlt_topology *t =
        test_import("GPU0 NIC0 NIC1\nGPU0 X PIX PIX\nNIC0 PIX X PIX\nNIC1 PIX PIX X\n\nNIC Legend:\n\n"
                    "  NIC0: mlx5_3\n  NIC1 mlx5_4\n  NIC1:\n  NIC2: mlx5_5\n GPU0: me\n");
    assert_int_not_equal(rlt_topology_find_node(t, "mlx5_3"), RLT_NONE);
    assert_int_not_equal(rlt_topology_find_node(t, "NIC1"), RLT_NONE);
    assert_int_not_equal(rlt_topology_find_node(t, "gpu0"), RLT_NONE);
    rlt_topology_free(t);
}

/* Rings of a graph over the GPUs of a matrix, in the order of its rows. */
static void matrix_with_rings(void **state)
{
#define RINGS(last)                                                                                            \
    "<graphs><graph pattern=\"4\" speedintra=\"20\"><channel><gpu dev=\"0\"/><gpu dev=\"2\"/><gpu dev=\"" last \
    "\"/>"                                                                                                     \
    "</channel></graph></graphs>"
    static const char text[] = "GPU0 GPU1 GPU2\nGPU0 X NV1 NV1\nGPU1 NV1 X NV1\nGPU2 NV1 NV1 X\n";
    static const char right[] = RINGS("1"), wrong[] = RINGS("3");
    static const uint32_t expected[] = {0, 2, 1};
    rlt_import with = {.graph_name = "g", .graph_text = right, .graph_length = strlen(right)};
    rlt_error err = {0};
    (void)state;
    rlt_topology *t = test_import_with(text, &with);
    assert_int_equal(rlt_topology_rings(t), 1);
    test_expect_ring(t, 0, expected);
    rlt_topology_free(t);
    with = (rlt_import){.graph_name = "g", .graph_text = wrong, .graph_length = strlen(wrong)};
    assert_int_equal(rlt_topology_read("f", text, strlen(text), &with, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "channel 0: no GPU has the dev 3");
}

/* Names are cut after 60 characters, what a message quotes after 40. */
static void long_words(void **state)
{
    char text[400], cut[61];
    const char *a = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    (void)state;
    for (int length = 59; length < 63; length++) {
        snprintf(text, sizeof text, "GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\n\n  NIC0: %.*s\n", length, a);
        snprintf(cut, sizeof cut, "%.*s", length < 60 ? length : 60, a);
        rlt_topology *t = test_import(text);
        assert_int_not_equal(rlt_topology_find_node(t, cut), RLT_NONE);
        rlt_topology_free(t);
    }
    for (int length = 39; length < 43; length++) {
        snprintf(text, sizeof text, "GPU0 GPU1\nGPU0 X %.*s\nGPU1 PIX X\n", length, a);
        snprintf(cut, sizeof cut, "got '%.*s'", length < 40 ? length : 40, a);
        test_import_wrong(text, "f:2:8", cut);
    }
}

/* A thousand and twenty-four devices are the most. */
static void too_many_devices(void **state)
{
    static char text[1 << 14];
    (void)state;
    for (int n = 1024; n < 1026; n++) {
        size_t used = 0;
        for (int i = 0; i < n; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "GPU%d ", i);
        test_import_wrong(text, "f:1:1", n > 1024 ? "more than 1024 devices" : "ends before its last row");
    }
}

/* NVLinks hide who shares a CPU: the same affinity tells. Pairs further apart than their neighbours are counted. */
static void affinities_and_strange_pairs(void **state)
{
    (void)state;
    rlt_topology *t = test_import("GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV1 NV1 0-9\nGPU1 NV1 X NV1 0-9\n"
                                  "GPU2 NV1 NV1 X 0-8\n");
    assert_int_equal(rlt_topology_nodes(t), 3 + 2);
    test_both_ways(t, "gpu1", "cpu0", 12 * GB);
    test_both_ways(t, "gpu2", "cpu1", 12 * GB);
    rlt_topology_free(t);
    t = test_import(
        "GPU0 GPU1 GPU2 GPU3\nGPU0 X PIX SYS SYS\nGPU1 PIX X PIX SYS\nGPU2 SYS PIX X SYS\nGPU3 SYS SYS SYS X\n");
    assert_non_null(strstr(rlt_topology_source(t), " 1 pairs are said to be further apart"));
    assert_non_null(
        strstr(rlt_topology_source(t), "no NVLinks; PCIe 24 GB/s, between CPUs 16 GB/s (ASSUMED"));
    assert_int_equal(rlt_topology_nodes(t), 4 + 1 + 2);
    rlt_topology_free(t);
    t = test_import("GPU0 GPU1 GPU2\nGPU0 X NV1 SYS\nGPU1 NV1 X NV1\nGPU2 SYS NV1 X\n");
    assert_null(strstr(rlt_topology_source(t), "further apart"));
    assert_non_null(
        strstr(rlt_topology_source(t), " 1 pairs of GPUs without an NVLink go through a third one."));
    assert_non_null(strstr(rlt_topology_source(t), "NVLinks between GPUs at 25 GB/s each (ASSUMED"));
    rlt_topology_free(t);
    const rlt_import given = {.nvlink_Bps = 3 * GB, .pcie_Bps = 5 * GB, .cpu_Bps = 7 * GB};
    t = test_import_with("GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n", &given);
    assert_non_null(
        strstr(rlt_topology_source(t), "at 3 GB/s each (given); PCIe 5 GB/s, between CPUs 7 GB/s (given)"));
    assert_null(strstr(rlt_topology_source(t), "ASSUMED"));
    rlt_topology_free(t);
    const rlt_import one = {.pcie_Bps = 5 * GB}, other = {.cpu_Bps = 7 * GB};
    t = test_import_with("GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n", &one);
    assert_non_null(strstr(rlt_topology_source(t), "PCIe 5 GB/s, between CPUs 10 GB/s (ASSUMED"));
    rlt_topology_free(t);
    t = test_import_with("GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n", &other);
    assert_non_null(strstr(rlt_topology_source(t), "PCIe 12 GB/s, between CPUs 7 GB/s (ASSUMED"));
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_of_nvlinks),
        cmocka_unit_test(matrix_of_pcie),
        cmocka_unit_test(eight_of_eight),
        cmocka_unit_test(wrong_matrices),
        cmocka_unit_test(generations_by_nvlinks),
        cmocka_unit_test(more_nvlinks_than_a_gpu_has),
        cmocka_unit_test(heads_and_words),
        cmocka_unit_test(long_words),
        cmocka_unit_test(matrix_with_rings),
        cmocka_unit_test(too_many_devices),
        cmocka_unit_test(affinities_and_strange_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
