/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of machines as topologies: small machines whose graphs are worked out by hand. Damaged ones are in
 * test/fuzz. Run from the root of the repository.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/networks/imported.h"

#define MB UINT64_C(1000000)
#define GB UINT64_C(1000000000)
#define US ((rlt_time)1000000)

/* ---- NCCL's topology file ---- */

#define PCI(bus, class, in)                                                                                  \
    "<pci busid=\"0000:" bus ":00.0\" class=\"" class "\" link_speed=\"8 GT/s\" link_width=\"16\">" in       \
                                                      "</pci>\n"
#define V100(bus, n, in)                                                                                     \
    PCI(bus, "0x030200", "<gpu dev=\"" n "\" sm=\"70\" rank=\"" n "\" gdr=\"1\">" in "</gpu>")
#define NVLINK(bus, n) "<nvlink target=\"0000:" bus ":00.0\" count=\"" n "\" tclass=\"0x030200\"/>"
#define SWITCH(bus, n) "<nvlink target=\"0000:" bus ":00.0\" count=\"" n "\" tclass=\"0x068000\"/>"
#define BROADWELL(n, in)                                                                                     \
    "<cpu numaid=\"" n "\" affinity=\"ffff\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "        \
    "modelid=\"79\">\n" in "</cpu>\n"

/* Four of a DGX-1's GPUs: 0-1 and 2-3 by one NVLink, 0-2 and 1-3 by two. */
static const char dgx1[] = "<?xml version=\"1.0\"?>\n<!-- NCCL -->\n<system version=\"1\">\n" BROADWELL(
    "0", PCI("04", "0x060400",
             V100("06", "0", NVLINK("07", "1") NVLINK("85", "2"))
                 V100("07", "1", NVLINK("06", "1") NVLINK("86", "2"))
                     PCI("05", "0x020700",
                         "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" port=\"1\" guid=\"0x1\" "
                         "maxconn=\"131072\" gdr=\"1\"/></nic>")))
    BROADWELL("1", PCI("84", "0x060400",
                       V100("85", "2", NVLINK("06", "2") NVLINK("86", "1"))
                           V100("86", "3", NVLINK("07", "2") NVLINK("85", "1")))) "</system>\n";

static void nvlinks_and_pcie(void **state)
{
    (void)state;
    rlt_topology *t = test_import(dgx1);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    assert_int_equal(rlt_topology_nodes(t), 4 + 2 + 2 + 1 + 1);
    assert_int_equal(rlt_topology_links(t), 2 * (4 + 2 + 1 + 1) + 2 + 2 * 4);
    /* Gen3 x16: 12 GB/s; Broadwell's QPI 6 GB/s; Volta's NVLink 20 GB/s (NCCL src/graph/topo.h). */
    test_both_ways(t, "gpu0", "pcie 0000:04:00.0", 12 * GB);
    test_both_ways(t, "gpu3", "pcie 0000:84:00.0", 12 * GB);
    test_both_ways(t, "pcie 0000:04:00.0", "cpu0", 12 * GB);
    test_both_ways(t, "nic 0000:05:00.0", "pcie 0000:04:00.0", 12 * GB);
    test_both_ways(t, "nic 0000:05:00.0", "net mlx5_0", 12500 * MB);
    test_both_ways(t, "cpu0", "cpu1", 6 * GB);
    test_both_ways(t, "gpu0", "gpu1", 20 * GB);
    test_both_ways(t, "gpu0", "gpu2", 40 * GB);
    test_both_ways(t, "gpu1", "gpu3", 40 * GB);
    test_both_ways(t, "gpu2", "gpu3", 20 * GB);
    assert_int_equal(test_between(t, "gpu0", "gpu3"), 0);
    test_import_route(t, 0, 1, 0, "gpu0 > gpu1");
    test_import_route(t, 0, 3, 0, "gpu0 > gpu1 > gpu3"); /* 20 GB/s either way: the first one */
    assert_int_equal(rlt_topology_node_kind(t, test_node(t, "cpu0")), RLT_CPU);
    assert_int_equal(rlt_topology_node_kind(t, test_node(t, "pcie 0000:04:00.0")), RLT_PCIE);
    assert_int_equal(rlt_topology_node_kind(t, test_node(t, "nic 0000:05:00.0")), RLT_NIC);
    assert_int_equal(rlt_topology_endpoint(t)->launch_ps, 66 * US / 10);
    assert_string_equal(rlt_topology_endpoint(t)->protocols[0].name, "LL");
    rlt_topology_free(t);
    t = test_import_with(
        dgx1,
        &(rlt_import){.nvlink_Bps = 25 * GB, .pcie_Bps = 10 * GB, .cpu_Bps = 7 * GB, .network_Bps = GB});
    test_both_ways(t, "gpu0", "gpu2", 50 * GB);
    test_both_ways(t, "gpu0", "pcie 0000:04:00.0", 10 * GB);
    test_both_ways(t, "cpu0", "cpu1", 7 * GB);
    test_both_ways(t, "nic 0000:05:00.0", "net mlx5_0", GB);
    rlt_topology_free(t);
}

#define A100(bus, rank, in)                                                                                  \
    "<pci busid=\"0000:" bus ":00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">"   \
    "<gpu dev=\"" rank "\" sm=\"80\" rank=\"" rank "\" gdr=\"1\">" in "</gpu></pci>"

/* Ranks in another order than PCI addresses; links to four NVSwitches, one of which is listed as a bridge. */
static void nvswitches_are_one(void **state)
{
    static const char text[] =
        "<system version=\"1\"><cpu numaid=\"3\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
        "modelid=\"49\">" A100("01", "2", SWITCH("c4", "4") SWITCH("c5", "8"))
            A100("41", "0",
                 SWITCH("C4", "4") "<nvlink target=\"fffffff:ffff:ff\" count=\"8\" tclass=\"0x060400\"/>")
        /* */ "</cpu><cpu numaid=\"7\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
              "modelid=\"49\">"
        /* */ A100("81", "1", SWITCH("c4", "12") "<c2c bw=\"44000\" count=\"10\"/>")
        /* */ "<pci busid=\"0000:99:00.0\" class=\"0x010802\" link_speed=\"\" link_width=\"0\"/>"
              "<nic><net dev=\"4\" speed=\"-1\"/></nic></cpu></system>";
    (void)state;
    rlt_topology *t = test_import(text);
    assert_int_equal(rlt_topology_accelerators(t), 3);
    assert_int_equal(rlt_topology_nodes(t), 3 + 1 + 2 + 2); /* the disk is skipped */
    test_both_ways(t, "gpu0", "nvswitch", 12 * 20 * GB);
    test_both_ways(t, "gpu1", "nvswitch", 12 * 20 * GB);
    test_both_ways(t, "gpu2", "nvswitch", 12 * 20 * GB);
    test_both_ways(t, "gpu0", "cpu3", 24 * GB); /* Gen4 x16 */
    test_both_ways(t, "gpu2", "cpu3", 24 * GB);
    test_both_ways(t, "gpu1", "cpu7", 24 * GB + 440 * GB);
    test_both_ways(t, "cpu3", "cpu7", 16 * GB);              /* Rome */
    test_import_route(t, 0, 2, 0, "gpu0 > nvswitch > gpu2"); /* as few links as over PCIe, but less latency */
    uint32_t port = test_node(t, "net 4");
    for (uint32_t i = 0; i < rlt_topology_links(t); i++)
        if (rlt_topology_link(t, i).src == port)
            assert_true(rlt_topology_link(t, i).bw_Bps == 1250 * MB); /* NCCL's value for an unknown speed */
    rlt_topology_free(t);
}

static void pcie_only(void **state)
{
    (void)state;
    /* As in files for virtual machines: no <gpu>, no meaningful link_speed. */
    rlt_topology *t = test_import("<system version=\"1\"><cpu numaid=\"-1\" arch=\"arm64\">" PCI(
        "01", "0x060400",
        "<pci busid=\"2:0\" class=\"0x030000\" link_speed=\"Unknown\" link_width=\"0\"/>"
        "<pci busid=\"3:0\" class=\"0x030000\" link_speed=\"2.5 GT/s PCIe\" link_width=\"8\"/>") "</cpu></"
                                                                                                 "system>");
    assert_int_equal(rlt_topology_accelerators(t), 2);
    test_both_ways(t, "gpu0", "pcie 0000:01:00.0", 12 * GB);
    test_both_ways(t, "gpu1", "pcie 0000:01:00.0", 1500 * MB); /* 8 lanes x 1.5 Gb/s */
    /* NCCL: a step over PCIe takes 1.0 us with LL, over NVLink 0.6. */
    test_import_route(t, 0, 1, 4 * US / 10, "gpu0 > pcie 0000:01:00.0 > gpu1");
    rlt_topology_free(t);
}

#define INTEL(family, model)                                                                                 \
    "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"" family "\" modelid=\"" model "\""
#define AMD(family) "arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"" family "\" modelid=\"1\""

static void inter_cpu_bandwidths(void **state)
{
    static const struct {
        const char *cpu;
        uint64_t GBps;
    } table[] = {
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\"", 10},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\"", 22},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"207\"", 40},
        {"arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"25\" modelid=\"1\"", 24},
        {"arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\"", 16},
        {"arch=\"ppc64\"", 32},
        {"arch=\"arm64\"", 6},
        /* the ends of what NCCL takes as one generation */
        {INTEL("6", "84"), 6},
        {INTEL("5", "85"), 6},
        {INTEL("6", "142"), 10},
        {INTEL("6", "172"), 22},
        {INTEL("6", "173"), 40},
        {INTEL("6", "175"), 40},
        {INTEL("6", "176"), 22},
        {INTEL("6", "206"), 22},
        {AMD("23"), 16},
        {AMD("26"), 32},
        {AMD("175"), 24},
        {AMD("191"), 32},
        {"arch=\"x86_64\" vendor=\"CentaurHauls\" familyid=\"7\" modelid=\"91\"", 9},
        {"arch=\"x86_64\" vendor=\"CentaurHauls\" familyid=\"7\" modelid=\"92\"", 6},
        {"arch=\"x86_64\" vendor=\"  Shanghai  \" familyid=\"6\" modelid=\"91\"", 6},
        {"arch=\"x86_64\"", 5000}, /* NCCL's figure for what it does not know */
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "<system><cpu numaid=\"0\" %s>%s</cpu><cpu numaid=\"1\" %s>%s</cpu></system>", table[i].cpu,
                 PCI("01", "0x03", ""), table[i].cpu, PCI("02", "0x03", ""));
        rlt_topology *t = test_import(text);
        test_both_ways(t, "cpu0", "cpu1", table[i].GBps * GB);
        rlt_topology_free(t);
    }
}

static void hosts_meet_in_a_network(void **state)
{
#define HOST(hash, rank)                                                                                     \
    "<cpu host_hash=\"" hash "\" numaid=\"0\" arch=\"arm64\">" A100("01", rank, "")                          \
        PCI("02", "0x020000", "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\"/></nic>") "</cpu>"
    (void)state;
    rlt_topology *t = test_import("<system>" HOST("0x1", "1") HOST("0x2", "0") "</system>");
    test_both_ways(t, "host0 net mlx5_0", "network", 25 * GB);
    test_both_ways(t, "host1 net mlx5_0", "network", 25 * GB);
    assert_int_equal(test_between(t, "host0 cpu0", "host1 cpu0"), 0);
    test_both_ways(t, "gpu0", "host1 cpu0", 24 * GB);
    /* 0.2 us of PCIe at both GPUs and both NICs, and 2.1 us of the network. */
    test_import_route(
        t, 0, 1, 8 * US / 10 + 21 * US / 10,
        "gpu0 > host1 cpu0 > host1 nic 0000:02:00.0 > host1 net mlx5_0 > network > host0 net mlx5_0 > "
        "host0 nic 0000:02:00.0 > host0 cpu0 > gpu1");
    rlt_topology_free(t);
}

/* Hosts are nodes if their GPUs are consecutive. */
static void hosts_are_nodes(void **state)
{
#define TWO(hash, a, b)                                                                                      \
    "<cpu host_hash=\"" hash "\" numaid=\"0\" arch=\"arm64\">" A100("01", a, "") A100("03", b, "")           \
        PCI("02", "0x020000", "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\"/></nic>") "</cpu>"
    static const char *const texts[] = {"<system>" TWO("0x1", "2", "3") TWO("0x2", "1", "0") "</system>",
                                        "<system>" TWO("0x1", "0", "2") TWO("0x2", "1", "3") "</system>",
                                        "<system>" TWO("0x1", "0", "1") TWO("0x2", "2", "4")
                                            TWO("0x3", "3", "5") "</system>"};
    static const uint32_t sizes[] = {2, 4, 6};
    (void)state;
    for (int i = 0; i < 3; i++) {
        rlt_topology *t = test_import(texts[i]);
        assert_int_equal(rlt_topology_node_size(t), sizes[i]);
        rlt_topology_free(t);
    }
}

/* Hosts send through the GPU beside a NIC (PXN) if NVLinks join their GPUs. */
static void hosts_with_nvlinks(void **state)
{
#define ON(hash, in) "<cpu host_hash=\"" hash "\" numaid=\"0\" arch=\"arm64\">" in "</cpu>"
#define JOINED(a, b) A100("01", a, NVLINK("03", "4")) A100("03", b, NVLINK("01", "4"))
#define APART(a, b)  A100("01", a, "") A100("03", b, "")
#define PORT         PCI("02", "0x020000", "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\"/></nic>")
    static const struct {
        const char *text;
        rlt_pxn pxn;
    } rows[] = {
        {"<system>" ON("0x1", JOINED("0", "1") PORT) ON("0x2", JOINED("2", "3") PORT) "</system>",
         RLT_PXN_ON},
        {"<system>" ON("0x1", APART("0", "1") PORT) ON("0x2", APART("2", "3") PORT) "</system>",
         RLT_PXN_UNSTATED},
        {"<system>" ON("0x1", A100("01", "0", SWITCH("c4", "4")) PORT)
             ON("0x2", A100("01", "1", SWITCH("c4", "4")) PORT) "</system>",
         RLT_PXN_UNSTATED},
        {"<system>" ON("0x1", JOINED("0", "1") PORT) "</system>", RLT_PXN_UNSTATED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = test_import(rows[i].text);
        if (rlt_topology_pxn(t) != rows[i].pxn)
            fail_msg("row %zu: %d", i, (int)rlt_topology_pxn(t));
        rlt_topology_free(t);
    }
}

/* NCCL's speed of each generation with 16 lanes, and where messages enter and leave PCIe. */
static void generations_of_pcie(void **state)
{
    static const struct {
        const char *speed;
        uint64_t GBps;
    } rows[] = {{"2.5 GT/s", 3},       {"2.5 GT/s PCIe", 3}, {"5 GT/s", 6},    {"5.0 GT/s PCIe", 6},
                {"8.0 GT/s PCIe", 12}, {"16.0 GT/s", 24},    {"32 GT/s", 48},  {"64.0 GT/s PCIe", 96},
                {"7 GT/s", 12},        {"16", 12},           {"8.00 GT/s", 12}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "<system><cpu numaid=\"0\" arch=\"arm64\">" PCI(
                     "01", "0x060400",
                     "<pci busid=\"2:0\" class=\"0x030000\" link_speed=\"%s\" link_width=\"16\"/>" PCI(
                         "03", "0x020000",
                         "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\"/></nic>")) "</cpu>"
                                                                                       "</system>",
                 rows[i].speed);
        rlt_topology *t = test_import(text);
        test_both_ways(t, "gpu0", "pcie 0000:01:00.0", rows[i].GBps * GB);
        for (uint32_t k = 0; k < rlt_topology_links(t); k++) {
            rlt_link l = rlt_topology_link(t, k);
            uint32_t a = l.src < l.dst ? l.src : l.dst, b = l.src + l.dst - a;
            uint32_t pcie = test_node(t, "pcie 0000:01:00.0"), gpu = test_node(t, "gpu0");
            uint32_t nic = test_node(t, "nic 0000:03:00.0");
            bool end = (a == pcie || b == pcie) && (a == gpu || b == gpu || a == nic || b == nic);
            assert_int_equal(l.latency_ps, end ? 2 * US / 10 : 0);
        }
        rlt_topology_free(t);
    }
}

/* As NCCL lists the NIC of a socket, and virtual machines their CPUs. */
static void names_that_repeat(void **state)
{
#define ETH0 "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\"/></nic>"
    (void)state;
    rlt_topology *t = test_import("<system><cpu numaid=\"-1\">" PCI("01", "0x03", "") ETH0
                                  "</cpu><cpu numaid=\"-1\">" PCI("02", "0x03", "") ETH0 "</cpu></system>");
    test_both_ways(t, "gpu0", "cpu0", 12 * GB);
    test_both_ways(t, "gpu1", "cpu0#2", 12 * GB);
    assert_int_equal(rlt_topology_node_kind(t, test_node(t, "net eth0#2")), RLT_SWITCH);
    rlt_topology_free(t);
}

/* Elements that NCCL may add are passed over, with what is in them. */
static void unknown_elements(void **state)
{
    (void)state;
    rlt_topology *t =
        test_import("<system><new/>" BROADWELL("0", "<other>" V100("02", "1", "") "<cpu/></other>" V100(
                                                        "01", "0", "<more><gpu/></more>")) "</system>");
    assert_int_equal(rlt_topology_accelerators(t), 1);
    assert_int_equal(rlt_topology_nodes(t), 2);
    rlt_topology_free(t);
}

static void links_to_what_is_not_listed(void **state)
{
    (void)state;
    rlt_topology *t = test_import(
        "<system>" BROADWELL("0", V100("01", "0", NVLINK("99", "2") NVLINK("01", "4") NVLINK("02", "1"))
                                      V100("02", "1", "")) "</system>");
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 20 * GB);
    assert_int_equal(test_between(t, "gpu1", "gpu0"), 0); /* each GPU lists its own direction */
    assert_non_null(strstr(rlt_topology_source(t), "6 NVLinks lead to no other GPU"));
    rlt_topology_free(t);
}

static void wrong_topology_files(void **state)
{
#define CPU0 "<system>\n<cpu numaid=\"0\">\n"
    (void)state;
    test_import_wrong(CPU0 V100("01", "0", "") V100("01", "1", "") "</cpu></system>", "f:4:1",
                      "is listed twice");
    test_import_wrong(CPU0 V100("0a", "0", "") V100("0A", "1", "") "</cpu></system>", "f:4:1",
                      "is listed twice");
    test_import_wrong(CPU0 V100("01", "0", "") V100("02", "0", "") "</cpu></system>", "f:4:1",
                      "rank 0 is given to two GPUs");
    test_import_wrong(CPU0 V100("01", "7", "") V100("02", "7", "") "</cpu></system>", "f:4:1",
                      "rank 7 is given");
    test_import_wrong(CPU0 PCI("01", "0x03", "<gpu dev=\"0\" rank=\"16777217\"/>") "</cpu></system>",
                      "f:3:76", "'rank' of <gpu> to be an integer from -1 to 16777216");
    rlt_topology_free(
        test_import(CPU0 PCI("01", "0x03", "<gpu dev=\"0\" rank=\"-1\" sm=\"-1\"/>") "</cpu></system>"));
    test_import_wrong(CPU0 PCI("01", "0x03", "<gpu dev=\"0\" sm=\"-2\"/>") "</cpu></system>", "f:3:76",
                      "'sm' of <gpu> to be an integer from -1 to 10000");
    test_import_wrong(CPU0 "<pci class=\"0x03\"/></cpu></system>", "f:3:1", "<pci> has no 'busid'");
    test_import_wrong(CPU0 "<pci busid=\"\" class=\"0x03\"/></cpu></system>", "f:3:1", "a PCI address");
    test_import_wrong(CPU0 "<pci busid=\"1\" class=\"0x03\" link_width=\"-1\"/></cpu></system>", "f:3:1",
                      "'link_width' of <pci> to be an integer from 0 to 255");
    test_import_wrong(
        CPU0 PCI("02", "0x020000", "<nic><net name=\"a\" dev=\"1048577\"/></nic>") "</cpu></system>",
        "f:3:85", "'dev' of <net> to be an integer from -1 to 1048576");
    test_import_wrong(CPU0 "<gpu dev=\"0\"/></cpu></system>", "f:3:1", "<gpu> does not belong in <cpu>");
    test_import_wrong(CPU0 "<net dev=\"0\"/></cpu></system>", "f:3:1", "<net> does not belong in <cpu>");
    test_import_wrong(CPU0 "<nic><gpu dev=\"0\"/></nic></cpu></system>", "f:3:6",
                      "<gpu> does not belong in <nic>");
    test_import_wrong(CPU0 "<nvlink count=\"1\"/></cpu></system>", "f:3:1",
                      "<nvlink> does not belong in <cpu>");
    test_import_wrong(CPU0 V100("01", "0", SWITCH("02", "0")) "</cpu></system>", "f:3:118",
                      "'count' of <nvlink>");
    test_import_wrong(CPU0 V100("01", "0", SWITCH("02", "99999999999")) "</cpu></system>", "f:3:118",
                      "'count'");
    test_import_wrong(CPU0 PCI("01", "0x03", "<gpu dev=\"0\"/><gpu dev=\"1\"/>") "</cpu></system>", "f:3:90",
                      "a second <gpu>");
    test_import_wrong("<system><cpu/></system>", "f:1:9", "<cpu> has no 'numaid'");
    test_import_wrong("<system><pci busid=\"1\"/></system>", "f:1:9", "<pci> does not belong in <system>");
    test_import_wrong(CPU0 "</cpu></system>", "f", "no accelerator");
    test_import_wrong("<system/>", "f", "no accelerator");
    test_import_wrong("<system><cpu numaid=\"0\"></system>", "f:1:27", "mismatched tag");
    test_import_wrong(
        "<system><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\"><xgmi/></gpu></pci></cpu></system>",
        "f:1:53", "xGMI");
    test_import_wrong("<!DOCTYPE system [<!ENTITY a \"b\">]><system/>", "f:1:18", "document types");
    /* Two hosts without a network between them. */
    test_import_wrong("<system><cpu host_hash=\"1\" numaid=\"0\"><pci busid=\"1\" class=\"0x03\"/></cpu><cpu "
                      "host_hash=\"2\" numaid=\"0\"><pci busid=\"1\" class=\"0x03\"/></cpu></system>",
                      "f", "cannot reach");
}

/* ---- NCCL's graph dump ---- */

#define RING4(a, b, c, d)                                                                                    \
    "<channel><gpu dev=\"" a "\"/><gpu dev=\"" b "\"/><gpu dev=\"" c "\"/><gpu dev=\"" d "\"/></channel>\n"
#define GRAPHS(in)                                                                                           \
    "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" "                  \
    "speedintra=\"20.5\" speedinter=\"12\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"0\">\n" in     \
    "</graph>\n<graph id=\"1\" pattern=\"1\" speedintra=\"3\">" RING4("3", "2", "1",                         \
                                                                      "0") "</graph></graphs>\n"

static const char graphs[] =
    GRAPHS(RING4("0", "1", "3", "2") RING4("0", "2", "3", "1") RING4("0", "1", "3", "2"));

static void rings_of_a_graph(void **state)
{
    static const uint32_t forth[] = {0, 1, 3, 2}, back[] = {0, 2, 3, 1};
    (void)state;
    rlt_topology *t = test_import(graphs);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    assert_int_equal(rlt_topology_links(t), 8);
    assert_int_equal(rlt_topology_rings(t), 3);
    test_expect_ring(t, 0, forth);
    test_expect_ring(t, 1, back);
    test_expect_ring(t, 2, forth);
    assert_int_equal(test_between(t, "gpu0", "gpu1"), 41 * GB); /* two channels */
    assert_int_equal(test_between(t, "gpu1", "gpu0"), 20500 * MB);
    assert_int_equal(test_between(t, "gpu2", "gpu0"), 41 * GB);
    for (uint32_t i = 0; i < rlt_topology_links(t); i++)
        assert_int_equal(rlt_topology_link(t, i).latency_ps, 0); /* the endpoint has it */
    assert_null(strstr(rlt_topology_source(t), "joined to one network"));
    rlt_topology_free(t);
    t = test_import(
        "<graphs><graph pattern=\"4\" speedintra=\"20\"><channel><gpu dev=\"0\"/></channel></graph></graphs>");
    assert_int_equal(rlt_topology_accelerators(t), 1);
    assert_int_equal(rlt_topology_links(t), 0);
    rlt_topology_free(t);
    rlt_import with = {.graph_name = "g", .graph_text = graphs, .graph_length = strlen(graphs)};
    t = test_import_with(dgx1, &with);
    assert_int_equal(rlt_topology_rings(t), 3);
    test_expect_ring(t, 1, back);
    rlt_topology_free(t);
}

static void graph_over_the_network(void **state)
{
    (void)state;
    rlt_topology *t =
        test_import("<graphs><graph pattern=\"4\" speedintra=\"20\" speedinter=\"12.5\"><channel><net "
                    "dev=\"0\"/><gpu dev=\"1\"/><gpu dev=\"0\"/><net dev=\"0\"/></channel></graph></graphs>");
    assert_int_equal(test_between(t, "gpu1", "gpu0"), 20 * GB);
    assert_int_equal(test_between(t, "gpu0", "network"), 12500 * MB);
    assert_int_equal(test_between(t, "network", "gpu1"), 12500 * MB);
    assert_non_null(strstr(rlt_topology_source(t), "; the rings' ends are joined to one network"));
    rlt_topology_free(t);
    /* A ring's last GPU sends to the network, which sends to its first: by each channel. */
    t = test_import(
        "<graphs><graph pattern=\"4\" speedintra=\"20\" speedinter=\"12\"><channel><net dev=\"0\"/>"
        "<gpu dev=\"2\"/><gpu dev=\"0\"/><gpu dev=\"1\"/></channel><channel><gpu dev=\"2\"/><gpu "
        "dev=\"1\"/><gpu dev=\"0\"/></channel></graph></graphs>");
    assert_int_equal(test_between(t, "gpu1", "network"), 12 * GB);
    assert_int_equal(test_between(t, "gpu0", "network"), 12 * GB);
    assert_int_equal(test_between(t, "gpu2", "network"), 0);
    assert_int_equal(test_between(t, "network", "gpu2"), 24 * GB);
    rlt_topology_free(t);
}

static void wrong_graphs(void **state)
{
    (void)state;
    test_import_wrong(GRAPHS(RING4("0", "1", "3", "3")), "f", "4 GPUs, for a topology of 3");
    test_import_wrong(GRAPHS(RING4("0", "1", "3", "2") "<channel><gpu dev=\"0\"/></channel>"), "f:4:24",
                      "a ring of 1 GPUs, where those before have 4");
    test_import_wrong(GRAPHS("<channel>\n</channel>"), "f:4:1", "a <channel> without a <gpu>");
    test_import_wrong(GRAPHS(RING4("0", "-1", "3", "2")), "f:3:24", "'dev' of <gpu>");
    test_import_wrong(GRAPHS(RING4("0", "1", "3", "2") RING4("0", "1", "4", "2")), "f",
                      "channel 1: no GPU has the dev 4");
    test_import_wrong("<graphs/>", "f", "no channel of a ring");
    static const char *const speeds[] = {"fast", "-1", "100001", ""};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "<graphs><graph pattern=\"0\"/><graph pattern=\"4\" speedintra=\"%s\"><channel>"
                 "<gpu dev=\"1\"/><gpu dev=\"0\"/></channel></graph></graphs>",
                 speeds[i]);
        test_import_wrong(text, "f:1:29", "a number of GB/s");
    }
#define SLOW(speeds)                                                                                         \
    "<graphs><graph pattern=\"4\"" speeds                                                                    \
    "><channel><net dev=\"0\"/><gpu dev=\"1\"/><gpu dev=\"0\"/></channel></graph></graphs>"
    test_import_wrong(SLOW(""), "f", "--set link_bandwidth=25GB/s gives one");
    test_import_wrong(SLOW(" speedintra=\"20\""), "f", "--set network=25GB/s gives one");
    rlt_import with = {.graph_name = "g", .graph_text = graphs, .graph_length = strlen(graphs)};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    static const char two[] = "<system>" BROADWELL("0", V100("01", "0", "") V100("02", "1", "")) "</system>";
    assert_int_equal(rlt_topology_read("f", two, strlen(two), &with, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "g");
    assert_int_equal(rlt_topology_read("f", graphs, strlen(graphs), &with, &t, NULL), RLT_EUSAGE);
    err = (rlt_error){0};
    static const char hosts[] = "<system>" HOST("0x1", "1") HOST("0x2", "0") "</system>";
    assert_int_equal(rlt_topology_read("f", hosts, strlen(hosts), &with, &t, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "the topology of one host, not of 2"));
    err = (rlt_error){0};
    rlt_import other = {.graph_name = "g", .graph_text = two, .graph_length = strlen(two)};
    assert_int_equal(rlt_topology_read("f", two, strlen(two), &other, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "expected <graphs>, got <system>");
    static const char hole[] = "<system>" BROADWELL(
        "0", V100("01", "0", "") V100("02", "1", "") V100("03", "2", "") V100("04", "4", "")) "</system>";
    err = (rlt_error){0};
    assert_int_equal(rlt_topology_read("f", hole, strlen(hole), &with, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "channel 0: no GPU has the dev 3");
    static const char twice[] = GRAPHS(RING4("0", "1", "3", "1"));
    with = (rlt_import){.graph_name = "g", .graph_text = twice, .graph_length = strlen(twice)};
    err = (rlt_error){0};
    assert_int_equal(rlt_topology_read("f", dgx1, strlen(dgx1), &with, &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "g");
    assert_string_equal(err.what, "channel 0: the GPU of dev 1 twice");
}

/* ---- nvidia-smi topo -m ---- */

static const char smi_a100[] =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tNV12\tNV12\tPXB\tPXB\tSYS\t48-63,176-191\t3\t\tN/A\n"
    "GPU1\tNV12\t X \tNV12\tNV12\tPXB\tPXB\tSYS\t48-63,176-191\t3\t\tN/A\n"
    "GPU2\tNV12\tNV12\t X \tNV12\tSYS\tSYS\tNODE\t16-31,144-159\t1\t\tN/A\n"
    "GPU3\tNV12\tNV12\tNV12\t X \tSYS\tSYS\tNODE\t16-31,144-159\t1\t\tN/A\n"
    "NIC0\tPXB\tPXB\tSYS\tSYS\t X \tPIX\tSYS\t\t\t\t\n"
    "NIC1\tPXB\tPXB\tSYS\tSYS\tPIX\t X \tSYS\t\t\t\t\n"
    "NIC2\tSYS\tSYS\tNODE\tNODE\tSYS\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\n"
    "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n  NIC2: mlx5_2\n\n";

static void matrix_with_nvswitch(void **state)
{
    (void)state;
    rlt_topology *t = test_import(smi_a100);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    /* GPU0, GPU1 and the bridge of both NICs hang under one upper bridge; the others on their CPU. */
    assert_int_equal(rlt_topology_nodes(t), 4 + 3 + 2 + 2 + 1);
    test_both_ways(t, "gpu0", "nvswitch", 12 * 25 * GB);
    test_both_ways(t, "gpu3", "nvswitch", 12 * 25 * GB);
    test_both_ways(t, "gpu0", "pcie-upper0", 24 * GB);
    test_both_ways(t, "gpu1", "pcie-upper0", 24 * GB);
    test_both_ways(t, "mlx5_0", "pcie0", 24 * GB);
    test_both_ways(t, "mlx5_1", "pcie0", 24 * GB);
    test_both_ways(t, "pcie0", "pcie-upper0", 24 * GB);
    test_both_ways(t, "pcie-upper0", "cpu0", 24 * GB);
    test_both_ways(t, "gpu2", "cpu1", 24 * GB);
    test_both_ways(t, "mlx5_2", "cpu1", 24 * GB);
    test_both_ways(t, "cpu0", "cpu1", 16 * GB);
    test_import_route(t, 0, 3, 0, "gpu0 > nvswitch > gpu3");
    assert_non_null(strstr(rlt_topology_source(t), "ASSUMED"));
    rlt_topology_free(t);
    t = test_import_with(smi_a100, &(rlt_import){.nvlink_Bps = 20 * GB});
    test_both_ways(t, "gpu0", "nvswitch", 240 * GB);
    rlt_topology_free(t);
}

/* Ten NVLinks of each generation (ncclTopoNVLinkBw, NCCL src/graph/topo.h); from Hopper on, switches add. */
static void hopper_switches_add_up(void **state)
{
    static const struct {
        int sm, GBps;
    } links[] = {{50, 200}, {60, 180}, {61, 180}, {70, 200}, {75, 200},  {80, 200},
                 {86, 120}, {87, 200}, {89, 200}, {90, 206}, {100, 401}, {120, 401}};
    (void)state;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        int sm = links[i].sm;
        char text[1024];
        snprintf(
            text, sizeof text,
            "<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x0302\"><gpu dev=\"0\" sm=\"%d\"><nvlink "
            "target=\"9\" count=\"10\" tclass=\"0x068000\"/></gpu></pci></cpu></system>",
            sm);
        rlt_topology *t = test_import(text);
        assert_int_equal(rlt_topology_in_network(t, test_node(t, "nvswitch")),
                         sm < 90 ? 0 : RLT_CAN_REDUCE | RLT_CAN_MULTICAST);
        test_both_ways(t, "gpu0", "nvswitch", (uint64_t)links[i].GBps * GB);
        rlt_topology_free(t);
    }
}

/* ---- settings and formats ---- */

static int state_one(rlt_import *import, const char *setting)
{
    return rlt_params_set_text(rlt_import_parameters(), "an import", import, setting, NULL);
}

static void settings(void **state)
{
    rlt_import import = {0};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(state_one(&import, "nvlink=25GB/s"), 0);
    assert_int_equal(state_one(&import, "link_bandwidth=200Gbps"), 0);
    assert_int_equal(import.nvlink_Bps, 25 * GB);
    assert_int_equal(import.channel_Bps, 25 * GB);
    assert_int_equal(state_one(&import, "nvlinks=25GB/s"), RLT_EUSAGE);
    assert_int_equal(state_one(&import, "nvlink"), RLT_EUSAGE);
    assert_int_equal(state_one(&import, "=1GB/s"), RLT_EUSAGE);
    assert_true(state_one(&import, "nvlink=25") < 0);
    assert_true(state_one(&import, "nvlink=0GB/s") < 0);
    assert_int_equal(rlt_topology_read("f", dgx1, strlen(dgx1), &import, &t, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "link_bandwidth");
    test_import_wrong("", "f", "empty");
    test_import_wrong(" \t\r\n", "f", "the file is empty");
    test_import_wrong("\xef\xbb\xbf", "f", "the file is empty");
    test_import_wrong("\xef\xbb\xbf {", "f:1:6", "");
    test_import_wrong("\x1f\x8b", "f", "gzip");
    test_import_wrong("\x1f", "f", "no format that is read");
    test_import_wrong("\x1f\x8b\x08", "f", "gzip");
    test_import_wrong("!?", "f", "no format that is read");
    for (uint32_t i = 0; rlt_topology_format_at(i); i++)
        assert_true(rlt_topology_format_at(i)->name[0] && rlt_topology_format_at(i)->summary[0]);
    assert_null(rlt_topology_format_at(1000));
}

/* Formats are recognised behind comments, whatever these hold. */
static void behind_comments(void **state)
{
    char text[2000];
    (void)state;
    snprintf(text, sizeof text, "<!-- a ?> <graphs/> -->%s", strchr(dgx1, '\n'));
    rlt_topology_free(test_import(text));
    snprintf(text, sizeof text, "<?a --> <graphs/> ?>%s", strchr(dgx1, '\n'));
    rlt_topology_free(test_import(text));
    rlt_topology_free(
        test_import("# two\ntopology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n"));
    static const char first[] = "azAZ'\"";
    for (size_t i = 0; first[i]; i++) {
        bool quote = first[i] == '\'' || first[i] == '"';
        char where[32];
        snprintf(text, sizeof text, quote ? "%ck%c: 1" : "%c: 1", first[i], first[i]);
        snprintf(where, sizeof where, "f:1:%d: %c", quote ? 6 : 4, quote ? 'k' : first[i]);
        test_import_wrong(text, where, "unknown key");
    }
}

/* Texts that end within the name of their outermost element: nothing behind them is read. */
static void cut_names(void **state)
{
    static const char *const texts[] = {"<system", "<graphs", "<graph", "<s", "<", "<!--", "<?"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlt_topology *t = NULL;
        assert_int_equal(test_import_exactly(texts[i], &t, NULL), RLT_EMALFORMED);
    }
}

/* 1024 CPUs are read, 1025 are not. */
static void many_cpus(void **state)
{
    (void)state;
    for (uint32_t n = 1024; n <= 1025; n++) {
        size_t size = 100 * n + 500, at = 0;
        char *text = malloc(size);
        assert_non_null(text);
        at += (size_t)snprintf(text, size, "<system>\n");
        for (uint32_t i = 0; i < n; i++)
            at += (size_t)snprintf(text + at, size - at, "<cpu numaid=\"%u\" arch=\"arm64\">%s</cpu>\n", i,
                                   i ? "" : PCI("01", "0x03", ""));
        snprintf(text + at, size - at, "</system>");
        test_import_up_to(n == 1024, text, "f:1027:1", "more than 1024 CPUs");
        free(text);
    }
}

/* What is not found leaves no topology, whatever was there before. */
static void not_found(void **state)
{
    static const char *const specs[] = {"no-such-topology", "ring:4", "{", "test/net", ""};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        rlt_error err = {0};
        rlt_topology *t = (rlt_topology *)(void *)&err;
        assert_true(rlt_topology_import(specs[i], NULL, NULL, &t, &err) < 0);
        assert_null(t);
    }
    static const char *const texts[] = {"", "!?", "\x1f\x8b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlt_topology *t = (rlt_topology *)(void *)&i;
        assert_int_equal(rlt_topology_read("f", texts[i], strlen(texts[i]), NULL, &t, NULL), RLT_EMALFORMED);
        assert_null(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_found),
        cmocka_unit_test(behind_comments),
        cmocka_unit_test(many_cpus),
        cmocka_unit_test(cut_names),
        cmocka_unit_test(nvlinks_and_pcie),
        cmocka_unit_test(nvswitches_are_one),
        cmocka_unit_test(pcie_only),
        cmocka_unit_test(inter_cpu_bandwidths),
        cmocka_unit_test(hosts_meet_in_a_network),
        cmocka_unit_test(hosts_are_nodes),
        cmocka_unit_test(hosts_with_nvlinks),
        cmocka_unit_test(generations_of_pcie),
        cmocka_unit_test(names_that_repeat),
        cmocka_unit_test(unknown_elements),
        cmocka_unit_test(links_to_what_is_not_listed),
        cmocka_unit_test(wrong_topology_files),
        cmocka_unit_test(rings_of_a_graph),
        cmocka_unit_test(graph_over_the_network),
        cmocka_unit_test(wrong_graphs),
        cmocka_unit_test(matrix_with_nvswitch),
        cmocka_unit_test(hopper_switches_add_up),
        cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
