/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k, while a program is replayed and explained: with noise, link events,
 * background traffic, overlap, rules, reactive protocols and collectives timed alone. The replay has the same result,
 * or says that there is no memory; and all memory is given back.
 */
#include "test/support/failing.h"

#include <stdint.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/background.h"
#include "workload/replay/causes.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"
#include "workload/replay/whatif/whatif.h"
#include "workload/timing/timing.h"

enum { RANKS = 4, STEPS = 2 };

typedef struct task {
    const char *name, *topology;
    bool alone, noise, link_events, background, overlap, rules, reacts, bounds;
} task;

/* Borrowed from the outside of the task, which only looks at the replay's part. */
static rlt_topology *topology;
static rlt_program *program;
static rlt_reacting reacting;

static void add_step(rlt_builder *b, uint32_t rank, uint32_t group, uint16_t step)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, rank);
    d.name = rlt_build_string(b, step ? "gemm" : "a gemm", step ? 4 : 6);
    d.duration_ps = (rlt_time)(1 + rank + step) * RLT_US;
    d.step = step;
    uint32_t work = rlt_build_op(b, &d);
    d.kind = RLT_OP_HOST;
    rlt_build_dep(b, rlt_build_op(b, &d), work);
    d = rlt_op_desc_init(RLT_OP_COLLECTIVE, rank);
    d.coll = RLT_ALL_REDUCE;
    d.group = group;
    d.bytes = 4096;
    d.step = step;
    uint32_t meet = rlt_build_op(b, &d);
    rlt_build_dep(b, meet, work);
    d = rlt_op_desc_init(rank % 2 ? RLT_OP_RECV : RLT_OP_SEND, rank);
    d.peer = rank ^ 1;
    d.bytes = 1000;
    d.step = step;
    rlt_build_dep(b, rlt_build_op(b, &d), meet);
}

static rlt_program *build(void)
{
    static const uint32_t ranks[RANKS] = {0, 1, 3, 2}; /* the group owns them */
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(RANKS, &b, &err), 0);
    uint32_t group = rlt_build_group(b, "all", ranks, RANKS);
    for (uint16_t s = 0; s < STEPS; s++)
        for (uint32_t r = 0; r < RANKS; r++)
            add_step(b, r, group, s);
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* What was not made is NULL. */
static int ask(const rlt_replay *r, uint64_t *result, rlt_error *err)
{
    rlt_certificate c;
    rlt_what_if *w = (rlt_what_if *)(uintptr_t)&c;
    int rc = rlt_certify(program, &c, err);
    if (rc) {
        assert_null(c.by_op);
        return rc;
    }
    rc = rlt_what_if_create(r, program, &c, 0, &w, err);
    if (rc)
        assert_null(w);
    else
        *result += (uint64_t)rlt_what_if_estimate(w, RLT_PART_COMPUTE, 2).ps;
    rlt_what_if_free(w);
    rlt_certificate_free(&c);
    return rc;
}

static int explain(const rlt_replay *r, uint64_t *result, rlt_error *err)
{
    rlt_rank_causes causes[RANKS];
    rlt_path_item *items = NULL;
    uint32_t n = 0;
    int rc = rlt_replay_causes(r, causes, err);
    if (!rc)
        rc = rlt_replay_critical_path(r, &items, &n, err);
    if (!rc)
        *result = (uint64_t)(rlt_replay_time(r) * 1000 + causes[1].ps[RLT_CAUSE_WAIT]) + n;
    free(items);
    return rc ? rc : ask(r, result, err);
}

static int replay(const void *what, uint64_t *result, rlt_error *err)
{
    static const rlt_noise noise[] = {{.kind = RLT_NOISE_MEASURED},
                                      {.kind = RLT_NOISE_LOGNORMAL, .on = RLT_NOISE_ON_BOTH, .cv = 0.1},
                                      {.kind = RLT_NOISE_OPERATION, .cv = 0.1}};
    static const uint32_t links[] = {0};
    static const rlt_link_event slower = {.when_ps = RLT_US, .links = links, .n = 1, .factor = 0.5};
    static const rlt_background flow = {.src = 0, .dst = 3, .rate_Bps = 1000000000, .bytes = 1000};
    static const double slowdowns[RANKS] = {1, 2, 1, 2};
    static rlt_aggregator_config aggregator;
    const task *t = what;
    rlt_algorithm_rule rule = {.kind = RLT_ALL_REDUCE, .algorithm = rlt_algorithm_find("tree", NULL)};
    rlt_packet_settings packet = rlt_packet_default();
    rlt_replay_options o = rlt_replay_options_default();
    rlt_replay *r = NULL;
    int rc = 0;
    o.topology = topology;
    o.endpoint = *rlt_topology_endpoint(topology);
    o.no_bounds = !t->bounds;
    o.noise = t->noise ? noise : NULL;
    o.n_noise = t->noise ? 3 : 0;
    o.link_events = t->link_events ? &slower : NULL;
    o.n_link_events = t->link_events;
    o.background = t->background ? &flow : NULL;
    o.n_background = t->background;
    o.rank_overlap_slowdown = t->overlap ? slowdowns : NULL;
    o.rules = t->rules ? &rule : NULL;
    o.n_rules = t->rules;
    if (t->reacts) {
        o.model = &rlt_net_packet;
        o.packet = &packet;
        o.aggregator = &aggregator;
        o.reacting[RLT_ALL_REDUCE] = &reacting;
    }
    if (t->alone)
        rc = rlt_timing_alone(&o, &o.timing, err);
    if (!rc)
        rc = rlt_replay_create(program, &o, &r, err);
    if (!rc)
        rc = rlt_replay_run(r, err);
    if (!rc)
        rc = explain(r, result, err);
    rlt_replay_free(r);
    rlt_timing_free(o.timing);
    return rc;
}

static void replays_without_memory(void **state)
{
    static const char star[] = "switch:8@50GB/s,500ns,in_network=reduce+multicast";
    static const char large[] = "switch:2@300GB/s,100ns*fat-tree:8192@50GB/s,500ns,levels=3,hosts_per_leaf=2";
    static const task tasks[] = {
        {.name = "noise", .topology = star, .noise = true, .rules = true},
        {.name = "links", .topology = star, .link_events = true, .background = true},
        {.name = "overlap", .topology = star, .overlap = true},
        {.name = "alone", .topology = star, .alone = true},
        {.name = "protocol", .topology = star, .reacts = true},
        {.name = "bounds", .topology = star, .bounds = true},
        {.name = "bounds of a protocol", .topology = star, .reacts = true, .bounds = true},
        {.name = "links used", .topology = large},
        {.name = "links used alone", .topology = large, .alone = true},
    };
    unsigned long failed = 0;
    rlt_error err = {0};
    (void)state;
    program = build();
    reacting.protocol = rlt_reactive_find("switchml", &err);
    assert_int_equal(rlt_settings_preset(reacting.protocol, reacting.values, &err), 0);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        assert_int_equal(rlt_topology_load(tasks[i].topology, NULL, &topology, &err), 0);
        failed += test_each_allocation(tasks[i].name, replay, &tasks[i], tasks[i].bounds);
        rlt_topology_free(topology);
    }
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 300);
    rlt_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(replays_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
