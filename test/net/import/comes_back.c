/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Import, export, import is the identity: for each reader and each format that is written and read, over the
 * topologies that ship with ringlet and over names that files of strangers may have. A name that some format
 * cannot hold is refused when it is read, not when somebody needs the copy. Run from the root of the
 * repository.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "test/support/dice.h"
#include "test/support/networks/same_topology.h"

static void shipped(void **state)
{
    uint32_t n = 0;
    DIR *d = opendir("topologies");
    (void)state;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[300];
        rlt_topology *t = NULL;
        rlt_error err = {0};
        snprintf(path, sizeof path, "topologies/%s", e->d_name);
        if (!strstr(path, ".json"))
            continue;
        if (rlt_topology_load(path, "topologies", &t, &err) != 0)
            fail_msg("%s: %s", err.where, err.what);
        if (rlt_topology_links(t) <= 4096) {
            test_comes_back(t);
            n++;
        }
        rlt_topology_free(t);
    }
    closedir(d);
    assert_true(n > 20);
}

/* All that a topology can state. */
static const char everything[] =
    "{\"name\": \"all\", \"source\": \"by hand\", \"dims\": [2, 2], \"node_size\": 2, \"pxn\": \"on\",\n"
    "\"endpoint\": {\"launch\": \"7us\", \"protocols\": [{\"name\": \"LL\", \"message\": \"600ns\"}], "
    "\"protocol\": \"auto\"},\n"
    "\"auto\": {\"all_reduce\": \"tree:1MiB:ring\", \"all_gather\": \"ring\"},\n"
    "\"nodes\": [{\"id\": \"s\", \"kind\": \"switch\", \"in_network\": \"reduce+multicast\"}, {\"id\": \"a\", "
    "\"kind\": \"accelerator\", \"count\": 4}, {\"id\": \"n\", \"kind\": \"nic\", \"forwards\": false}, {\"id\": "
    "\"c\", \"kind\": \"cpu\"}, {\"id\": \"p\", \"kind\": \"pcie\"}],\n"
    "\"links\": [{\"src\": \"a0\", \"dst\": \"s\", \"bandwidth\": \"400Gbps\", \"latency\": \"0.5us\", "
    "\"count\": 2}, {\"src\": \"a1\", \"dst\": \"s\", \"bandwidth\": \"1B/s\", \"latency\": \"1ps\"}, {\"src\": "
    "\"a2\", \"dst\": \"s\", \"bandwidth\": \"1GB/s\", \"latency\": \"0\"}, {\"src\": \"a3\", \"dst\": \"s\", "
    "\"bandwidth\": \"999999999B/s\", \"latency\": \"1001ps\", \"duplex\": false}, {\"src\": \"s\", \"dst\": "
    "\"a3\", \"bandwidth\": \"3GB/s\", \"latency\": \"2ns\", \"duplex\": false}, {\"src\": \"p\", \"dst\": "
    "\"c\", \"bandwidth\": \"1GB/s\", \"latency\": \"1ns\"}, {\"src\": \"n\", \"dst\": \"c\", \"bandwidth\": "
    "\"1GB/s\", \"latency\": \"1ns\"}, {\"src\": \"a0\", \"dst\": \"a3\", \"bandwidth\": \"1GB/s\", "
    "\"latency\": \"1ns\"}],\n"
    "\"routes\": [{\"src\": \"a0\", \"dst\": \"a3\", \"via\": [\"s\"]}, {\"src\": \"a0\", \"dst\": \"a2\", "
    "\"via\": [\"s\"]}],\n\"rings\": [[0, 2, 1, 3], [3, 2, 1, 0]]}";

static rlt_topology *read_good(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_read("f", text, strlen(text), NULL, &t, &err) != 0)
        fail_msg("%s: %s\n%.200s", err.where, err.what, text);
    return t;
}

static void each_reader(void **state)
{
    static const char *const texts[] = {
        everything,
        "{\"dims\": [{\"shape\": \"torus\", \"sizes\": [4, 2], \"bandwidth\": \"100GB/s\", \"latency\": "
        "\"500ns\"}, {\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"50GB/s\", \"latency\": \"2us\"}], "
        "\"rings\": [[0, 1, 2, 3, 4, 5, 6, 7, 15, 14, 13, 12, 11, 10, 9, 8]]}",
        "<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/><key id=\"b\" "
        "for=\"edge\" attr.name=\"bandwidth\" attr.type=\"string\"/><key id=\"l\" for=\"edge\" "
        "attr.name=\"latency\" attr.type=\"string\"/><graph edgedefault=\"undirected\"><node id=\"a\"><data "
        "key=\"k\">accelerator</data></node><node id=\"s\"><data key=\"k\">switch</data></node><node "
        "id=\"b\"><data key=\"k\">accelerator</data></node><edge source=\"a\" target=\"s\"><data "
        "key=\"b\">1GB/s</data><data key=\"l\">1us</data></edge><edge source=\"b\" target=\"s\"><data "
        "key=\"b\">2GB/s</data><data key=\"l\">0</data></edge></graph></graphml>",
        "devices:\n- name: d\n  components: [{name: x, count: 3, choice: xpu}]\n"
        "  links: [{name: l, physical: {bandwidth: {gigabytes_per_second: 10}, latency: {ns: 100}}}]\n"
        "  edges: [{ep1: {component: x}, ep2: {component: x}, scheme: many2many, link: l}]\n"
        "instances: [{name: i, device: d, count: 1}]\n",
        "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, "
        "1000.0 ]\n",
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
        "modelid=\"49\"><pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
        "link_width=\"16\"><gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"><nvlink target=\"0000:02:00.0\" "
        "count=\"4\" tclass=\"0x030200\"/></gpu></pci><pci busid=\"0000:02:00.0\" class=\"0x030200\" "
        "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"1\" sm=\"80\" rank=\"1\" gdr=\"1\"><nvlink "
        "target=\"0000:01:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci></cpu></system>",
        "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"2\" speedintra=\"20\" "
        "speedinter=\"20\"><channel><gpu dev=\"0\"/><gpu dev=\"1\"/></channel><channel><gpu dev=\"1\"/><gpu "
        "dev=\"0\"/></channel></graph></graphs>",
        "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n",
        "[{\"gpu\": 0, \"bdf\": \"0000:01:00.0\", \"links\": [{\"gpu\": 1, \"weight\": 15, \"link_status\": "
        "\"ENABLED\", \"link_type\": \"XGMI\", \"num_hops\": 1, \"bandwidth\": \"50000-64000\"}]},\n{\"gpu\": "
        "1, \"bdf\": \"0000:02:00.0\", \"links\": [{\"gpu\": 0, \"weight\": 15, \"link_status\": \"ENABLED\", "
        "\"link_type\": \"XGMI\", \"num_hops\": 1, \"bandwidth\": \"50000-64000\"}]}]\n",
    };
    static const char *const compact[] = {
        "ring:4@200GB/s,500ns*switch:8@50GB/s,500ns",
        "hgx-h100-8*rail:4@400Gbps,2us,nics=4",
        "switch:8@450GB/s,500ns,in_network=reduce+multicast*fat-tree:16@50GB/s,500ns,hosts_per_leaf=4",
        "dgx1-v100-8*switch:2@25GB/s,2us,nics=4",
        "mesh:3x3@1GB/s,1us",
        "dragonfly:72@25GB/s,500ns,routers=4,hosts=2,global=2,groups=9"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlt_topology *t = read_good(texts[i]);
        test_comes_back(t);
        rlt_topology_free(t);
    }
    for (size_t i = 0; i < sizeof compact / sizeof *compact; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        if (rlt_topology_load(compact[i], "topologies", &t, &err) != 0)
            fail_msg("%s: %s", err.where, err.what);
        test_comes_back(t);
        rlt_topology_free(t);
    }
}

/* ---- names of strangers */

/* Draws a name of pieces that mean something in one of the formats, or that none can hold. */
static void draw_name(dice *d, char *name, size_t size)
{
    static const char *const pieces[] = {"a",
                                         "Z9",
                                         " ",
                                         "  ",
                                         "\t",
                                         "\n",
                                         "\r",
                                         "\x01",
                                         "\x1b[31m",
                                         "\x7f",
                                         "\xff",
                                         "\xc3",
                                         "\xc3\xbc",
                                         "\xf0\x9f\x98\x80",
                                         "\xef\xbf\xbf",
                                         "\xef\xbf\xbe",
                                         "\xc2\x9b",
                                         "<",
                                         ">",
                                         "&",
                                         "&amp;",
                                         "\"",
                                         "'",
                                         "]]>",
                                         "-->",
                                         "->",
                                         "\\",
                                         "\\u0041",
                                         "%s%n",
                                         "{",
                                         "}",
                                         "[0]",
                                         ":",
                                         ",",
                                         ";",
                                         "#2",
                                         "=",
                                         "*",
                                         "@",
                                         "/",
                                         "..",
                                         "null",
                                         "1e9",
                                         "\xed\xa0\x80"};
    uint32_t n = below(d, 6) + (below(d, 8) == 0 ? 60 : 0);
    name[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const char *piece = pieces[below(d, sizeof pieces / sizeof *pieces)];
        if (strlen(name) + strlen(piece) + 1 < size)
            strcat(name, piece);
    }
    if (below(d, 16) == 0) { /* about as long as a name may be */
        size_t length = 195 + below(d, 10);
        if (strlen(name) < length)
            memset(name + strlen(name), 'x', length - strlen(name)), name[length] = '\0';
    }
}

/* Writes a JSON string that reads as exactly these bytes, whether or not they are UTF-8. */
static void quote(char *out, const char *text)
{
    out += sprintf(out, "\"");
    for (; *text; text++)
        out += (unsigned char)*text < 0x20 || *text == '"' || *text == '\\'
                   ? sprintf(out, "\\u%04x", (unsigned char)*text)
                   : sprintf(out, "%c", *text);
    sprintf(out, "\"");
}

static bool reads(const char *file, const char *text, rlt_topology **t)
{
    rlt_error err = {0};
    int rc = rlt_topology_read(file, text, strlen(text), NULL, t, &err);
    assert_true(rc <= 0 && (rc == 0) == (*t != NULL));
    assert_true(rc == 0 || (err.where[0] && err.what[0]));
    return rc == 0;
}

static void hostile_names_in_json(void **state)
{
    enum { MOST = 1000 };
    static char name[4][MOST], quoted[4][6 * MOST + 3], text[60 * MOST];
    dice d = {.seed = 21};
    uint32_t taken = 0;
    (void)state;
    for (int i = 0; i < 1500; i++) {
        rlt_topology *t = NULL;
        for (int k = 0; k < 4; k++) {
            draw_name(&d, name[k], MOST);
            quote(quoted[k], name[k]);
        }
        const char *third = below(&d, 4) ? "\"s\"" : quoted[3];
        sprintf(
            text,
            "{\"name\": %s, \"source\": %s, \"nodes\": [{\"id\": %s, \"kind\": \"accelerator\"}, {\"id\": \"y\", "
            "\"kind\": \"accelerator\"}, {\"id\": %s, \"kind\": \"switch\"}], \"links\": [{\"src\": %s, "
            "\"dst\": %s, \"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}, {\"src\": %s, \"dst\": \"y\", "
            "\"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}]}",
            quoted[0], quoted[1], quoted[2], third, quoted[2], third, third);
        if (reads(below(&d, 2) && name[3][0] ? name[3] : "f", text, &t)) {
            test_comes_back(t);
            taken++;
        }
        rlt_topology_free(t);
    }
    assert_true(taken > 100);
}

static void hostile_hosts_in_a_log(void **state)
{
    static const char lines[] =
        "%s:1:5 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
        "b:1:5 [0] NCCL INFO comm 0x3 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
        "%s:1:5 [0] NCCL INFO Channel 00/01 : 0 1\n"
        "%s:1:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/3\n"
        "b:1:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n"
        "b:1:5 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0\n"
        "%s:1:5 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/3\n";
    static char text[8000], host[1000];
    dice d = {.seed = 22};
    uint32_t taken = 0;
    (void)state;
    for (int i = 0; i < 1500; i++) {
        rlt_topology *t = NULL;
        draw_name(&d, host, sizeof host);
        sprintf(text, lines, host, host, host, host);
        if (reads("f", text, &t)) {
            test_comes_back(t);
            taken++;
        }
        rlt_topology_free(t);
    }
    assert_true(taken > 100);
}

static rlt_topology *log_of(const char *host, const char *other)
{
    static char text[8000];
    sprintf(text,
            "%s:1:5 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
            "%s:2:5 [0] NCCL INFO comm 0x3 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
            "%s:1:5 [0] NCCL INFO Channel 00/01 : 0 1\n"
            "%s:1:5 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/3\n"
            "%s:2:5 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0\n",
            host, other, host, host, other);
    return read_good(text);
}

/* A terminal's colours and zeros that a file system left do not belong to a host's name, and hosts with long
 * names stay apart. */
static void hosts_are_told_apart(void **state)
{
    char a[192], b[192];
    (void)state;
    rlt_topology *t = log_of("\x01node7", "node8");
    assert_int_not_equal(rlt_topology_find_node(t, "node7 nic3 send"), UINT32_MAX);
    rlt_topology_free(t);
    memset(a, 'h', sizeof a);
    strcpy(a + 150, "a");
    memcpy(b, a, sizeof a);
    b[150] = 'b';
    t = log_of(a, b);
    strcat(a, " nic3 send");
    strcat(b, " nic0 send");
    assert_int_not_equal(rlt_topology_find_node(t, a), UINT32_MAX);
    assert_int_not_equal(rlt_topology_find_node(t, b), UINT32_MAX);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped),
        cmocka_unit_test(each_reader),
        cmocka_unit_test(hostile_names_in_json),
        cmocka_unit_test(hostile_hosts_in_a_log),
        cmocka_unit_test(hosts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
