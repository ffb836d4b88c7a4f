/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helper for tests of trainings: the time of one rank per pipeline stage. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_FOLD_H
#define RLT_TEST_SUPPORT_TRAININGS_FOLD_H

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

/* Returns the time of a planned training whose stages are folded to a rank each. *n is the number of ranks. */
static inline rlt_time test_folded(const rlt_training *t, const char *network, uint32_t *n)
{
    rlt_error err = {0};
    rlt_replay_options o = rlt_replay_options_default();
    rlt_topology *topology = NULL;
    rlt_placement where;
    rlt_timing *alone = NULL;
    rlt_program *p = NULL;
    rlt_replay *x = NULL;
    assert_int_equal(rlt_topology_load(network, NULL, &topology, &err), 0);
    o.topology = topology;
    o.endpoint = *rlt_topology_endpoint(topology);
    o.overlap_slowdown = t->accelerator->overlap_slowdown;
    assert_int_equal(rlt_timing_alone(&o, &alone, &err), 0);
    if (rlt_training_fold(t, RLT_FOLD_STAGES, &o, alone, &p, &where, &err))
        fail_msg("%s: %s", err.where, err.what);
    o.placement = &where;
    if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_time end = rlt_replay_time(x);
    *n = p->n_ranks;
    rlt_replay_free(x);
    rlt_program_free(p);
    rlt_timing_free(alone);
    rlt_placement_free(&where);
    rlt_topology_free(topology);
    return end;
}

#endif
