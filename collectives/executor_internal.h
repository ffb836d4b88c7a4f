/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the executor keeps of collectives in flight. Internal to collectives/executor*.c. */
#ifndef RLT_COLLECTIVES_EXECUTOR_INTERNAL_H
#define RLT_COLLECTIVES_EXECUTOR_INTERNAL_H

#include "collectives/algorithm.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "net/network.h"
#include "net/topology/endpoint.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct rlt_exec_lane {
    uint64_t early;       /* bit i: one message for step `step + 1 + i` is here */
    rlt_time injected_ps; /* when the last send that told its time at issue is injected */
    uint32_t step, n_steps;
    int32_t missing;               /* messages that the current step waits for; below 0: not yet issued */
    uint32_t unsent;               /* sends whose end the network will tell */
    uint32_t waiters, next_waiter; /* lanes of this member that wait for a step of this one */
    uint32_t member;               /* its place among those that run */
    uint16_t number;               /* of the rlt_exec_lane */
    uint8_t state;                 /* of the current step: RLT_STEP_ISSUED, RLT_STEP_NOWAIT */
    uint8_t asleep;                /* why it must not run: 0, or RLT_LANE_NOT_BEGUN, ... */
} rlt_exec_lane;

/* State of a step, and why a lane is asleep. */
enum { RLT_STEP_ISSUED = 1, RLT_STEP_NOWAIT = 2 };
enum { RLT_LANE_NOT_BEGUN = 1, RLT_LANE_WAITING = 2, RLT_LANE_DONE = 4, RLT_LANE_LEAPING = 8 };

typedef struct rlt_exec_collective {
    const rlt_plan *plan;
    const rlt_fold *fold; /* one member of each class runs; NULL: all do */
    const rlt_exec_client *client;
    uint64_t cookie;
    rlt_exec_lane *lanes;     /* n * plan->lanes */
    uint32_t *lanes_left;     /* of a member */
    rlt_map crowd;            /* (lane << 32 | step) -> messages that the window cannot hold */
    const rlt_tuning *tuning; /* the plan's, or NULL */
    uint32_t n_lanes, capacity, members_capacity;
    uint32_t direct; /* lanes that a message reaches by itself: n_lanes; folded or eager: 0 */
    uint32_t arrived, members, members_left; /* members that run */
    rlt_step steady;                         /* folded to one lane: its last step, */
    rlt_time steady_ps;                      /* and when that began */
    bool leaping;
    uint32_t next_free;
    uint8_t flags, live, folded;
} rlt_exec_collective;

struct rlt_exec {
    rlt_sim *sim;
    rlt_net *net;
    rlt_exec_collective *all;
    uint32_t n, capacity, free_head, pending;
    uint32_t *ready; /* stack of (collective, lane) pairs whose step may have become complete */
    uint32_t n_ready, ready_capacity;
    uint32_t *reached; /* ranks of one transfer over a tree */
    uint32_t reached_capacity;
    rlt_time launch_ps;
    int on_launch, on_member_launch, on_wake, on_leap;
    uint8_t blocking;
};

#endif
