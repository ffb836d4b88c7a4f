/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: traces of all formats, and files that stand beside them. What is read is replayed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/fuzz/fuzz.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"
#include "workload/replay/replay.h"
#include "workload/timing/loggops.h"
#include "workload/timing/timing.h"

static const rlt_topology *network(const char *spec)
{
    static rlt_topology *flat, *square;
    rlt_topology **t = spec[0] == 's' ? &flat : &square;
    rlt_error err = {0};
    if (!*t)
        FUZZ_CHECK(rlt_topology_load(spec, NULL, t, &err) == 0);
    return *t;
}

/* Replays at most a second of simulated time. A stall, an overflow or an impossible group is allowed. */
static void use_program(rlt_program *p)
{
    const rlt_topology *t = network("switch:8@50GB/s,500ns");
    rlt_replay_options o = rlt_replay_options_default();
    rlt_replay *r = NULL;
    rlt_error err = {0};
    o.topology = t;
    o.model = fuzz_pick(2) ? &rlt_net_alpha_beta : &rlt_net_flow;
    o.until_ps = RLT_S;
    if (p->n_ranks <= rlt_topology_accelerators(t)) {
        int rc = rlt_replay_create(p, &o, &r, &err);
        if (rc == 0)
            rc = rlt_replay_run(r, &err);
        fuzz_judge(rc, &err, NULL);
        rlt_replay_free(r);
    }
    rlt_program_free(p);
}

static void trace(const fuzz_input *in)
{
    static const rlt_replicate everyone = {RLT_NONE, 0};
    const rlt_reader *reader = in->with;
    rlt_read_options o = {.first_step = -1,
                          .last_step = -1,
                          .replicate = &everyone,
                          .n_replicate = 1,

                          .n_ranks =
                              reader == &rlt_reader_timeline || reader == &rlt_reader_deployment ? 0 : 4,
                          .n_dims = 2,
                          .dims = {2, 2}};
    const char *path = fuzz_path(in, reader == &rlt_reader_chakra ? ".0.et" : ".0.json");
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (fuzz_pick(8) == 0)
        o.n_replicate = 0;
    int likely = reader->probe(path, in->text, in->n);
    FUZZ_CHECK(likely >= 0 && likely <= 100);
    int rc = reader->read(&path, 1, &o, &p, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK((rc == 0) == (p != NULL));
    if (p)
        use_program(p);
    if (reader->check && fuzz_pick(8) == 0) {
        char *facts = NULL;
        err = (rlt_error){0};
        fuzz_judge(reader->check(&path, 1, &o, &facts, &err), &err, NULL);
        free(facts);
    }
}

static void host_trace(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".json");
    rlt_host_trace h = {0};
    rlt_error err = {0};
    fuzz_judge(rlt_host_trace_load(path, &h, &err), &err, path);
    rlt_host_trace_free(&h);
}

static void loggops(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".goal");
    rlt_loggops p = rlt_loggops_default();
    rlt_loggops_result r = {0};
    rlt_error err = {0};
    fuzz_judge(rlt_loggops_run(path, &p, &r, &err), &err, path);
    rlt_loggops_free(&r);
}

static void astra_system(const fuzz_input *in)
{
    rlt_read_options opts = {.first_step = -1, .last_step = -1};
    const char *path = fuzz_path(in, ".json");
    rlt_timing *timing = NULL;
    rlt_error err = {0};
    int rc = rlt_timing_astra(path, false, network("ring:4@200GB/s,500ns*switch:4@50GB/s,1us"), &opts,
                              &timing, &err);
    fuzz_judge(rc, &err, path);
    for (int kind = 0; rc == 0 && kind < 4; kind++) {
        rlt_coll_request req = {
            .kind = kind ? RLT_ALL_TO_ALL : RLT_ALL_REDUCE, .n = 16, .bytes = fuzz_pick(1u << 30)};
        rlt_time t = -1;
        rlt_error why = {0};
        int rc2 = timing->duration(timing, &req, &t, &why);
        FUZZ_CHECK(rc2 <= 0 && (rc2 < 0 || t >= 0));
    }
    rlt_timing_free(timing);
}

const fuzz_target fuzz_traces[] = {
    {"chakra", .run = trace, .with = &rlt_reader_chakra, .change = fuzz_change_protobuf},
    {"chakra-json", .run = trace, .with = &rlt_reader_chakra, .change = fuzz_change_json},
    {"kineto", .run = trace, .with = &rlt_reader_kineto, .change = fuzz_change_json},
    {"nsys", .run = trace, .with = &rlt_reader_nsys},
    {"rocprof", .run = trace, .with = &rlt_reader_rocprof},
    {"goal", .run = trace, .with = &rlt_reader_goal, .change = fuzz_change_goal},
    {"astra1", .run = trace, .with = &rlt_reader_astra1},
    {"simai", .run = trace, .with = &rlt_reader_simai},
    {"aicb", .run = trace, .with = &rlt_reader_aicb},
    {"pipedream", .run = trace, .with = &rlt_reader_pipedream},
    {"timeline", .run = trace, .with = &rlt_reader_timeline},
    {"deployment", .run = trace, .with = &rlt_reader_deployment, .change = fuzz_change_json},
    {"host-trace", .run = host_trace, .change = fuzz_change_json},
    {"loggops", .run = loggops, .change = fuzz_change_goal},
    {"astra-system", .run = astra_system, .change = fuzz_change_json},
    {0}};
