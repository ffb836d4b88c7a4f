/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: topologies in all formats and in compact form, and placements on them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/read.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"

/* The comparison of topologies is that of the tests; here a difference ends the program. */
#define assert_true(x)               FUZZ_CHECK(x)
#define assert_non_null(x)           FUZZ_CHECK(x)
#define assert_int_equal(a, b)       FUZZ_CHECK((a) == (b))
#define assert_string_equal(a, b)    FUZZ_CHECK(strcmp((a), (b)) == 0)
#define assert_memory_equal(a, b, n) FUZZ_CHECK(memcmp((a), (b), (n)) == 0)
#define fail_msg(...)                FUZZ_CHECK((fprintf(stderr, __VA_ARGS__), 0))
#include "test/support/networks/same_topology.h"

static void use_routes(const rlt_topology *t)
{
    static const rlt_routing kinds[] = {RLT_ROUTE_DMODK, RLT_ROUTE_ECMP, RLT_ROUTE_SPRAY};
    uint32_t n = rlt_topology_accelerators(t);
    rlt_placement place = {0};
    rlt_error err = {0};
    FUZZ_CHECK(rlt_placement_identity(t, n, &place, &err) == 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        rlt_router *router = NULL;
        rlt_path path;
        FUZZ_CHECK(rlt_router_create(t, &place, kinds[k], &router, &err) == 0);
        for (int i = 0; i < 8; i++) {
            int rc = rlt_route(router, fuzz_pick(n), fuzz_pick(n), fuzz_pick(4), &path);
            FUZZ_CHECK(rc == 0 || rc == RLT_ETOPOLOGY);
            for (uint32_t l = 0; rc == 0 && l < path.n; l++)
                FUZZ_CHECK(path.links[l] < rlt_topology_links(t));
        }
        rlt_router_free(router);
    }
    rlt_placement_free(&place);
}

static void use_topology(rlt_topology *t)
{
    rlt_topology_facts facts;
    rlt_error err = {0};
    FUZZ_CHECK(rlt_topology_accelerators(t) > 0);
    if (rlt_topology_links(t) <= 4096) {
        for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
            rlt_link l = rlt_topology_link(t, i);
            FUZZ_CHECK(l.bw_Bps > 0 && l.latency_ps >= 0);
            FUZZ_CHECK(l.src < rlt_topology_nodes(t) && l.dst < rlt_topology_nodes(t));
        }
        if (fuzz_pick(8) == 0) {
            fuzz_judge(rlt_topology_analyse(t, &facts, &err), &err, NULL);
            test_comes_back(t);
        }
        use_routes(t);
    }
    rlt_topology_free(t);
}

static void topology(const fuzz_input *in)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_read("input", in->text, in->n, NULL, &t, &err);
    fuzz_judge(rc, &err, "input");
    FUZZ_CHECK((rc == 0) == (t != NULL));
    if (t)
        use_topology(t);
}

static void compact(const fuzz_input *in)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (fuzz_names_device(in)) /* a product may name a file */
        return;
    int rc = rlt_topology_from_compact(in->text, NULL, &t, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK((rc == 0) == (t != NULL));
    if (t)
        use_topology(t);
}

static void placement(const fuzz_input *in)
{
    static const char graph[] =
        "{\"name\": \"g\", \"nodes\": [{\"id\": \"a0\", \"kind\": \"accelerator\"}, {\"id\": \"a1\", \"kind\": "
        "\"accelerator\"}, {\"id\": \"a2\", \"kind\": \"accelerator\"}, {\"id\": \"a3\", \"kind\": "
        "\"accelerator\"}, {\"id\": \"s\", \"kind\": \"switch\"}], \"links\": [{\"src\": \"a0\", \"dst\": \"s\", "
        "\"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}, {\"src\": \"a1\", \"dst\": \"s\", \"bandwidth\": "
        "\"1GB/s\", \"latency\": \"1us\"}, {\"src\": \"a2\", \"dst\": \"s\", \"bandwidth\": \"1GB/s\", "
        "\"latency\": \"1us\"}, {\"src\": \"a3\", \"dst\": \"s\", \"bandwidth\": \"1GB/s\", \"latency\": "
        "\"1us\"}]}";
    static rlt_topology *network;
    rlt_placement p = {0};
    rlt_error err = {0};
    if (!network)
        FUZZ_CHECK(rlt_topology_from_json("g", graph, strlen(graph), NULL, &network, &err) == 0);
    const char *path = fuzz_path(in, ".json");
    int rc = rlt_placement_load(path, network, &p, &err);
    fuzz_judge(rc, &err, path);
    for (uint32_t r = 0; rc == 0 && r < p.n; r++)
        FUZZ_CHECK(rlt_placed(&p, r) < rlt_topology_accelerators(network));
    rlt_placement_free(&p);
}

const fuzz_target fuzz_networks[] = {{"topology-json", .run = topology, .change = fuzz_change_json},
                                     {"topology-graphml", .run = topology},
                                     {"topology-astra", .run = topology},
                                     {"topology-infragraph", .run = topology},
                                     {"topology-nccl", .run = topology},
                                     {"topology-nvidia-smi", .run = topology},
                                     {"topology-amd", .run = topology},
                                     {"topology-text", .run = compact},
                                     {"placement", .run = placement, .change = fuzz_change_json},
                                     {0}};
