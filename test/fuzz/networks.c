/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: topologies in all formats and in compact form, and placements on them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/import/read.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"

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

/* What is written must be read, as a topology of as many links. */
static void read_again(const rlt_topology *t, const char *text)
{
    rlt_topology *again = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_read("written", text, strlen(text), NULL, &again, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n%s\n", err.where, err.what, text);
    FUZZ_CHECK(rc == 0);
    FUZZ_CHECK(rlt_topology_links(again) == rlt_topology_links(t));
    FUZZ_CHECK(rlt_topology_accelerators(again) == rlt_topology_accelerators(t));
    rlt_topology_free(again);
}

static void use_topology(rlt_topology *t)
{
    static const char *const formats[] = {"json", "graphml"};
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
            char *text = NULL;
            fuzz_judge(rlt_topology_analyse(t, &facts, &err), &err, NULL);
            for (int k = 0; k < 2; k++) {
                FUZZ_CHECK(rlt_topology_export(t, formats[k], &text, &err) == 0);
                read_again(t, text);
                free(text);
            }
            FUZZ_CHECK(rlt_topology_to_infragraph(t, &text, &err) == 0);
            read_again(t, text);
            free(text);
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
    /* A product may name a file: that of a device has no end. */
    if (strstr(in->text, "/dev") || strstr(in->text, "/proc") || strstr(in->text, "/sys"))
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
