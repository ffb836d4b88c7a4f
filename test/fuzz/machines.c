/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: what a user says of machines besides their topology: stacks, dispatchers, constants and measured
 * clusters, rings that NCCL found, networks to design. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/clusters.h"
#include "tools/calibrate/job.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/design/design.h"
#include "workload/design/design.h"
#include "workload/experts/experts.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/models/stack_read.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

static const rlt_settings simulated = {.network = "flow", .routing = "dmodk", .injection = "auto"};

/* A product may name a file; a number of many digits asks for a network of that size. */
static bool asks_for_too_much(const fuzz_input *in)
{
    return fuzz_names_device(in) || fuzz_has_long_number(in, 4);
}

static void stacks(const fuzz_input *in)
{
    static rlt_stack list[RLT_MAX_STACKS];
    uint32_t n = 0;
    rlt_error err = {0};
    int rc = rlt__load_stacks(fuzz_folder(in, "stacks"), list, &n, &err);
    fuzz_judge(rc, &err, "stacks/");
    FUZZ_CHECK(rc || n == 1);
    for (int k = 0; n && k < RLT_WORK_KINDS; k++)
        FUZZ_CHECK(list[0].most[k] >= 0.01 && list[0].most[k] <= 10);
    FUZZ_CHECK(!n || (*list[0].name && list[0].host_ps >= 0 && list[0].host_kernel_ps >= 0));
}

static void dispatchers(const fuzz_input *in)
{
    rlt_dispatcher list[2], found;
    uint32_t n = 0;
    rlt_error err = {0};
    int rc = rlt_dispatchers_load(fuzz_folder(in, "dispatchers"), list, 2, &n, &err);
    fuzz_judge(rc, &err, "dispatchers/");
    FUZZ_CHECK(rc || n == 1);
    if (n) {
        FUZZ_CHECK(rlt_dispatcher_find(list, n, list[0].name, &found, &err) == 0);
        FUZZ_CHECK(found.hidden >= 0 && found.hidden <= 1 && found.multiprocessors <= 0.9 &&
                   found.host_ps >= 0);
    }
}

/* Clusters are opened, and given a row that none of them can refuse by its numbers. */
static void clusters(const fuzz_input *in)
{
    rlt_calib_settings s = {.sim = simulated, .jobs = 1};
    rlt_calib_job j = {.s = &s};
    rlt_clusters c = {0};
    rlt_error err = {0};
    if (asks_for_too_much(in))
        return;
    s.clusters = fuzz_path(in, ".json");
    int rc = rlt_clusters_open(&c, &j, fuzz_pick(2), &err);
    fuzz_judge(rc, &err, NULL);
    for (uint32_t i = 0; rc == 0 && i < c.n; i++)
        FUZZ_CHECK(c.list[i].topology || c.list[i].apart);
    if (rc == 0) {
        rlt_measurement row = {
            .kind = RLT_ALL_REDUCE, .ranks = 2, .nodes = 1, .bytes = 4096, .time_ps = 1000000};
        static char system[] = "s", dtype[] = "float";
        row.system = system;
        row.dtype = dtype;
        j.measured = (rlt_measurements){.rows = &row, .n = 1};
        rc = rlt_clusters_place(&c, &j, &err);
        rlt_error_prefix(&err, "input");
        fuzz_judge(rc, &err, NULL);
    }
    rlt_calib_close(&j);
    rlt_clusters_free(&c);
}

/* A machine whose constants may change: they are found, doubled in the text of the file, and read again. */
static void constants(const fuzz_input *in)
{
    static rlt_machine m;
    static rlt_constant list[RLT_MAX_CONSTANTS];
    uint32_t n = 0;
    rlt_error err = {0};
    if (asks_for_too_much(in))
        return;
    int rc = rlt_machine_open(&m, &simulated, fuzz_path(in, ".json"), &err);
    bool there = rc == 0;
    if (!rc)
        rc = rlt_machine_rebuild(&m, &err);
    if (!rc)
        rc = rlt_machines_relate(&m, 1, fuzz_pick(2), &err);
    if (!rc)
        rc = rlt_constants_find(&m, 1, fuzz_pick(2) ? "launch=1us" : NULL, list, &n, &err);
    for (uint32_t i = 0; !rc && i < n; i++)
        list[i].value *= 2;
    if (!rc)
        rc = rlt_constants_apply(&m, list, n, 6, &err);
    rlt_error_prefix(&err, "input");
    fuzz_judge(rc, &err, NULL);
    if (there)
        rlt_machine_free(&m);
}

/* NCCL's rings beside its description of a machine of two GPUs. */
static void nccl_graph(const fuzz_input *in)
{
    static const char machine[] =
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">"
        "<pci busid=\"0000:06:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"><gpu dev=\"0\" sm=\"70\" "
        "rank=\"0\"><nvlink target=\"0000:07:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>"
        "<pci busid=\"0000:07:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"><gpu dev=\"1\" sm=\"70\" "
        "rank=\"1\"><nvlink target=\"0000:06:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci></cpu></system>";
    rlt_import with = {.graph_name = "input", .graph_text = in->text, .graph_length = in->n};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_read("machine", machine, sizeof machine - 1, &with, &t, &err);
    fuzz_judge(rc, &err, "input");
    FUZZ_CHECK((rc == 0) == (t != NULL));
    for (uint32_t i = 0; t && i < rlt_topology_rings(t); i++) /* each GPU once */
        FUZZ_CHECK(rlt_topology_ring(t, i)[0] + rlt_topology_ring(t, i)[1] == 1);
    rlt_topology_free(t);
}

/* The first line is the network, the second its levels, the third the dimensions that aggregate. */
static void design_network(const fuzz_input *in)
{
    static char copy[FUZZ_MOST_BYTES + 1];
    rlt_design_settings s = {.shared = "ideal"};
    rlt_design_setup u = {.s = &s};
    rlt_design_net net;
    double bw[RLT_MAX_DIMS];
    char *rest = copy;
    rlt_error err = {0};
    if (asks_for_too_much(in))
        return;
    memcpy(copy, in->text, in->n + 1);
    const char *spec = strtok_r(rest, "\n", &rest);
    s.levels = strtok_r(NULL, "\n", &rest);
    s.in_network = strtok_r(NULL, "\n", &rest);
    if (!spec)
        return;
    int rc = rlt_design_read_net(spec, &net, bw, &u.inputs, &err);
    if (!rc)
        rc = rlt_design_setup_net(&u, &net, &err);
    fuzz_judge(rc, &err, NULL);
    for (uint32_t i = 0; rc == 0 && i < net.n; i++)
        FUZZ_CHECK(net.dims[i].size > 1 && bw[i] > 0 && net.dims[i].latency_ps >= 0);
}

const fuzz_target fuzz_machines[] = {{"stacks", .run = stacks, .change = fuzz_change_json},
                                     {"dispatchers", .run = dispatchers, .change = fuzz_change_json},
                                     {"clusters", .run = clusters, .change = fuzz_change_json, .cost = 2},
                                     {"constants", .run = constants, .change = fuzz_change_json, .cost = 2},
                                     {"nccl-graph", .run = nccl_graph},
                                     {"design-network", .run = design_network},
                                     {0}};
