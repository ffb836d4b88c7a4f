/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helper for test programs of workloads: one replay over a network. */
#ifndef RLT_TEST_SUPPORT_TRACES_REPLAY_H
#define RLT_TEST_SUPPORT_TRACES_REPLAY_H

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

/* Returns the end of the last rank. */
static inline rlt_time test_replay(const rlt_program *p, const char *network)
{
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_replay *x = NULL;
    rlt_error err = {0};
    rlt_time end = 0;
    assert_int_equal(rlt_topology_load(network, "topologies", &t, &err), 0);
    assert_int_equal(rlt_placement_identity(t, p->n_ranks, &place, &err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.placement = &place;
    if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        end = rlt_replay_rank(x, r).end_ps > end ? rlt_replay_rank(x, r).end_ps : end;
    rlt_replay_free(x);
    rlt_placement_free(&place);
    rlt_topology_free(t);
    return end;
}

#endif
