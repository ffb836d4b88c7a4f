/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of collectives in flight. Internal to collectives/executor*.c. */
#ifndef RLT_COLLECTIVES_EXECUTOR_INTERNAL_H
#define RLT_COLLECTIVES_EXECUTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct rlt_exec_lane {
    uint64_t early;       /* bit i: one message for step `step + 1 + i` has arrived */
    rlt_time injected_ps; /* end of the last injection whose time the network returned at issue */
    uint32_t step, n_steps;
    /* messages that the current step still waits for; below 0: arrived before the step was issued */
    int32_t missing;
    uint32_t unsent;               /* sends whose end the network will report later */
    uint32_t waiters, next_waiter; /* list of lanes of this member that wait for a step of this lane */
    uint32_t member;               /* index among the members that run */
    uint16_t number;               /* number of the lane within its member */
    uint8_t state;                 /* flags of the current step: RLT_STEP_ISSUED, RLT_STEP_NOWAIT */
    uint8_t asleep;                /* reason why it must not run: 0, or RLT_LANE_NOT_BEGUN, ... */
} rlt_exec_lane;

/* Flags of `state`, and values of `asleep`. */
enum { RLT_STEP_ISSUED = 1, RLT_STEP_NOWAIT = 2 };
enum { RLT_LANE_NOT_BEGUN = 1, RLT_LANE_WAITING = 2, RLT_LANE_DONE = 4, RLT_LANE_LEAPING = 8 };

typedef struct rlt_exec_collective {
    const rlt_plan *plan;
    const rlt_fold *fold; /* one member of each class runs; NULL: all members run */
    const rlt_exec_client *client;
    uint64_t cookie;
    rlt_exec_lane *lanes;     /* members * plan->lanes */
    uint32_t *lanes_left;     /* lanes that are not done, per member */
    rlt_map crowd;            /* (lane << 32 | step) -> number of early messages that `early` cannot hold */
    const rlt_tuning *tuning; /* the plan's, or NULL */
    uint32_t n_lanes, capacity, members_capacity;
    /* lanes below this index take the fast path of delivery: n_lanes; 0 if folded or eager */
    uint32_t direct;
    /* arrivals so far; members that run; members that are not done */
    uint32_t arrived, members, members_left;
    rlt_step steady;    /* folded to one lane: the step whose period is measured */
    rlt_time steady_ps; /* time when that step began */
    bool leaping;
    uint32_t under_way; /* folded: messages that have not arrived */
    uint32_t next_free;
    uint8_t flags, live, folded;
    bool orderly; /* its lanes go on in their order, see rlt_net_config.orderly */
} rlt_exec_collective;

struct rlt_exec {
    rlt_sim *sim;
    rlt_net *net;
    rlt_exec_collective *all;
    uint32_t n, capacity, free_head, pending;
    uint32_t *ready; /* stack of (collective, lane) pairs whose current step may be complete */
    uint32_t n_ready, ready_capacity;
    uint32_t *reached; /* scratch: ranks of one tree transfer */
    uint32_t reached_capacity;
    /* Lanes that may go on at this instant, as (collective, lane), see rlt_net_config.orderly. */
    uint64_t *reached_lanes;
    uint32_t n_reached_lanes, reached_lanes_room;
    const rlt_net_part *part; /* NULL: all ranks are here */
    rlt_time launch_ps;
    int on_order, on_launch, on_member_launch, on_wake, on_leap;
    uint8_t blocking, orderly;
};

/* Returns true if a member's rank is here, not in another part of the network. */
static inline bool rlt__exec_has(const rlt_exec *x, const rlt_plan *plan, uint32_t member)
{
    return !x->part || x->part->of_rank[rlt_member_rank(&plan->req, member)] == x->part->self;
}

#endif
