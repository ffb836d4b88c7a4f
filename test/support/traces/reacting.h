/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays with reactive protocols, on a star of 100 Gb/s, links of 1 us and a switch of 500 ns if nothing else is
 * said, with packets of 1024 + 82 bytes: tau = 88.48 ns. A failure ends the test with its message.
 */
#ifndef RLT_TEST_SUPPORT_TRACES_REACTING_H
#define RLT_TEST_SUPPORT_TRACES_REACTING_H

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { TAU = 88480, D = 1000000, S = 500000, CHUNK = 1024, WORKERS = 8 };
#define STAR "switch:9@100Gbps,1us,in_network=reduce+multicast"

/* Returns the time of an all-reduce of this many chunks: SwitchML, and all that send what it sends. */
static inline rlt_time time_of(uint32_t chunks)
{
    return (rlt_time)(chunks - 1) * TAU + 2 * (TAU + D) + S;
}

typedef struct fixture {
    rlt_builder *b;
    rlt_program *p;
    rlt_topology *t;
    rlt_placement placement;
    rlt_packet_settings packet;
    rlt_aggregator_config aggregator;
    rlt_reacting reacting;
    rlt_replay_options o;
    rlt_replay *r;
    rlt_error err;
} fixture;

static inline void open_reacting(rlt_reacting *x, const char *protocol)
{
    rlt_error err = {0};
    x->protocol = rlt_reactive_find(protocol, &err);
    assert_non_null(x->protocol);
    assert_int_equal(rlt_settings_preset(x->protocol, x->values, &err), 0);
}

static inline void open_fixture(fixture *f, const char *net, const char *protocol)
{
    *f = (fixture){.packet = rlt_packet_default()};
    assert_int_equal(rlt_builder_create(WORKERS, &f->b, &f->err), 0);
    assert_int_equal(rlt_topology_load(net, NULL, &f->t, &f->err), 0);
    assert_int_equal(rlt_placement_identity(f->t, rlt_topology_accelerators(f->t), &f->placement, &f->err),
                     0);
    f->packet.switch_ps = S;
    open_reacting(&f->reacting, protocol);
    f->o = rlt_replay_options_default();
    f->o.topology = f->t;
    f->o.placement = &f->placement;
    f->o.model = &rlt_net_packet;
    f->o.packet = &f->packet;
    f->o.aggregator = &f->aggregator;
    f->o.reacting[RLT_ALL_REDUCE] = &f->reacting;
}

static inline void close_fixture(fixture *f)
{
    rlt_replay_free(f->r);
    rlt_program_free(f->p);
    rlt_placement_free(&f->placement);
    rlt_topology_free(f->t);
}

/* Replays the program, which it finishes first. */
static inline int go(fixture *f)
{
    if (!f->p && rlt_builder_finish(f->b, "test", &f->p, &f->err) < 0)
        fail_msg("%s: %s", f->err.where, f->err.what);
    rlt_replay_free(f->r);
    f->r = NULL;
    f->err = (rlt_error){0};
    int rc = rlt_replay_create(f->p, &f->o, &f->r, &f->err);
    return rc ? rc : rlt_replay_run(f->r, &f->err);
}

#endif
