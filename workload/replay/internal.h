/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State of a replay, shared by replay.c (the run), comm.c (communications), react.c (reactive protocols),
 * faults.c (disturbances), result.c (results), causes.c (what held a
 * rank up), stall.c (the reason of a stall) and used.c (links that can be used).
 */
#ifndef RLT_WORKLOAD_REPLAY_INTERNAL_H
#define RLT_WORKLOAD_REPLAY_INTERNAL_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

typedef struct op_state {
    rlt_time ready_ps, start_ps, end_ps; /* -1: not yet */
    uint32_t cause;                      /* see rlt_op_result */
    uint32_t missing;                    /* dependencies not ended; the start of the rank counts as one */
} op_state;

typedef struct resource_state {
    uint32_t *heap; /* ready operations; the top is the earliest built, or the earliest ready */
    uint32_t n, capacity;
    uint32_t running, last; /* operations, or RLT_NONE */
    bool dispatching;       /* a dispatch event is scheduled */
    bool by_arrival;
} resource_state;

enum { RANK_COMPUTE, RANK_COMM, RANK_HOST, RANK_IDLE, RANK_STATES };

typedef struct rank_state {
    uint32_t active[RANK_IDLE]; /* operations under way, by state */
    uint32_t shared;            /* collectives under way, which slow compute down */
    rlt_time since_ps;          /* time up to which the rank is accounted */
    rlt_time spent_ps[RANK_STATES];
    rlt_time comm_ps;
    rlt_time start_ps, end_ps; /* start_ps -1: not begun */
    rlt_time wait_ps, transfer_ps;
} rank_state;

/* A plan is large, so a communication has one only while it is under way. */
typedef struct rlt__plan_slot {
    rlt_plan plan;
    struct rlt__plan_slot *next; /* next unused plan */
} rlt__plan_slot;

typedef struct comm_state {
    rlt__plan_slot *slot; /* NULL: no plan */
    uint32_t n;           /* members */
    uint32_t exec_id;
    uint32_t arrived, ended;
    rlt_time delivered_ps; /* messages: time of delivery; -1: not yet */
    bool waits;            /* waits for an earlier job of its group */
    uint32_t next;         /* next communication that waits for the same group, or RLT_NONE */
    rlt_comm_result result;
} comm_state;

/* Bound of a group's last message: messages of one size between the same ranks have one bound. */
typedef struct rlt__last_bound {
    uint64_t bytes;
    rlt_time bound_ps;
    bool known;
} rlt__last_bound;

/* Jobs of a group, which run one after the other: the running one and a queue. */
typedef struct rlt__lane {
    bool busy;
    uint32_t first, last;
} rlt__lane;

struct rlt__overlap; /* overlap.c */

struct rlt_replay {
    struct rlt__overlap *overlap; /* NULL: compute and communication do not slow each other down */
    const rlt_program *program;
    rlt_replay_options options;
    rlt_placement placement; /* the identity if the options give none */
    rlt_sim *sim;
    rlt_router *router;
    rlt_net_fold used; /* links that can be used; no classes: all */
    rlt_exec *exec;
    rlt_fabric *fabric; /* NULL: no reactive protocol */
    rlt__lane *lanes;   /* by group, for jobs of the fabric */
    rlt_group *groups;
    rlt__last_bound *bounds; /* by group */
    op_state *ops;
    uint32_t *fan_first, *fan; /* operations that depend on each operation */
    resource_state *resources;
    rank_state *ranks;
    comm_state *comms;
    rlt__plan_slot *spare; /* unused plans */
    rlt_exec_client exec_client;
    rlt_time *step_end_ps;
    uint64_t done;
    rlt_time end_ps;
    int on_rank_start, on_start, on_end, on_dispatch, on_comm_end, on_timed_end, on_next;
    bool own_placement, ran;
    rlt_event *link_events;             /* link events of the options that are still to come; NULL: none */
    rlt_router *bound_router;           /* routes of the network as built; NULL: same as `router` */
    struct rlt__background *background; /* NULL: none */
    double *compute_noise, *host_noise; /* factors by rank and step; NULL: none */
    double *op_noise;                   /* factors by operation; NULL: none */
};

/* used.c: links that messages between ranks can use. A network with a state for these only is the better one
 * if it pays: if the network has many more. */
typedef struct rlt__used {
    uint32_t *links, n, room; /* malloc'ed */
} rlt__used;
bool rlt__used_pays(const rlt_topology *t, uint64_t pairs);
/* Adds the routes between all pairs of n ranks (NULL: 0 .. n-1). */
int rlt__used_add(rlt_router *router, rlt__used *u, const uint32_t *ranks, uint32_t n,
                  rlt_error *err) RLT_MUST_USE;
/* Makes the fold of the links, if there are any. */
int rlt__used_fold(const rlt_topology *t, rlt__used *u, rlt_net_fold *out, rlt_error *err) RLT_MUST_USE;
/* used.c: fills r->used if few links of the network can be used, and it is known which. */
int rlt__replay_used(rlt_replay *r, rlt_error *err) RLT_MUST_USE;
/* faults.c: link events and noise. */
rlt_link_changes rlt__replay_changes(const rlt_replay_options *o);
/* Returns the greatest factor on bandwidths during the run. */
double rlt__replay_fastest(const rlt_replay_options *o);
int rlt__replay_faults(rlt_replay *r, rlt_error *err) RLT_MUST_USE;
double rlt__replay_noise(const rlt_replay *r, const rlt_op *op);
/* noise_ops.c: fills r->op_noise if some noise is by operation. RLT_EUSAGE if it does not suit the
 * program. */
int rlt__replay_noise_ops(rlt_replay *r, rlt_error *err);
/* Called when the last operation has ended. */
void rlt__replay_over(rlt_replay *r);
/* Called when the simulation has ended with rc. Returns the result of the run. */
int rlt__replay_ended(rlt_replay *r, int rc, rlt_error *err);
void rlt__replay_faults_free(rlt_replay *r);
/* background_run.c */
typedef struct rlt__background rlt__background;
int rlt__replay_background(rlt_replay *r, rlt_error *err) RLT_MUST_USE;
void rlt__background_over(rlt_replay *r);
/* Writes off the background traffic that is still under way at the end. */
void rlt__background_settle(rlt_replay *r);
void rlt__background_free(rlt_replay *r);

static inline rlt_router *rlt__replay_built(const rlt_replay *r)
{
    return r->bound_router ? r->bound_router : r->router;
}

/* Returns the state of a rank in which only this operation is under way. */
int rlt__replay_state(const rlt_op *op);
/* result.c. Returns the operation that let a transfer begin, and sets when: a collective depends on the
 * member that arrived last, a message on its sender. A receive that found its message there depends on
 * itself, as does a member that ended before the last one arrived, and an operation that communicates
 * nothing: *begin_ps stays as it is. */
uint32_t rlt__replay_beginner(const rlt_replay *r, uint32_t op, rlt_time *begin_ps);
/* Ends an operation now. */
void rlt__replay_end_op(rlt_replay *r, uint32_t op);
/* Returns the duration of an operation that does not use the network: no communication, or one of recorded
 * time. */
rlt_time rlt__replay_duration(const rlt_replay *r, const rlt_op *op);
/* comm.c. Returns the plan of a communication, a new one if it has none; NULL: out of memory. */
rlt_plan *rlt__replay_plan(rlt_replay *r, comm_state *cs);
/* comm.c. Gives the plan back for the next communication. */
void rlt__replay_drop_plan(rlt_replay *r, comm_state *cs);
void rlt__replay_free_plans(rlt_replay *r);
/* comm.c. Registers its event handlers. */
int rlt__replay_comm_handlers(rlt_replay *r, rlt_error *err);
void rlt__replay_arrive(rlt_replay *r, const rlt_op *op);
/* overlap.c: device work beside communication. Only if r->overlap is set. begin schedules the end. */
int rlt__overlap_create(rlt_replay *r, rlt_error *err);
void rlt__overlap_free(rlt_replay *r);
void rlt__overlap_begin(rlt_replay *r, uint32_t op, rlt_time duration_ps, bool slow);
void rlt__overlap_end(rlt_replay *r, uint32_t op);
/* Tells that a rank begins (`slow`) or stops communicating. */
void rlt__overlap_change(rlt_replay *r, uint32_t rank, bool slow);
/* Ends the part of one member of a communication. */
void rlt__replay_end_member(rlt_replay *r, uint32_t comm, uint32_t member);
void rlt__replay_fail(rlt_replay *r, const rlt_error *e);
/* Returns true if a reactive protocol may carry any collective. */
bool rlt__replay_reacts(const rlt_replay_options *o);
/* Creates the fabric on the links of the network. */
int rlt__replay_fabric(rlt_replay *r, rlt_error *err);
/* Enters a communication that waited for its group. Members that are already there arrive. */
void rlt__replay_reopen(rlt_replay *r, uint32_t comm);
/* Enters a communication as a job of its protocol, or queues it. RLT_EUNSUPPORTED or RLT_ETOPOLOGY if the
 * switches refuse it. */
int rlt__replay_enter(rlt_replay *r, uint32_t comm, const rlt_reacting *reacting, const rlt_coll_request *req,
                      rlt_error *err);
/* Fills err with the wait-for chain of the first pending operation; returns RLT_ESTALL. */
int rlt__replay_stall(const rlt_replay *r, rlt_error *err);

#endif
