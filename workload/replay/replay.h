/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replay: runs a program over a network. Recorded waiting is not replayed; it follows from the dependencies.
 *
 * A rank begins at its start offset. At every instant it is in one state, the first that applies: compute
 * (device or memory work runs), exposed communication (a communication is under way, waiting for peers
 * included; folded collectives and offloading, too), host (host work runs), idle. causes.h says what each
 * exposed communication is for and what it waits for. The span of a rank lasts from its start to the end of
 * its last operation: span = compute + exposed communication + host + idle.
 *
 * A collective waits until its last member arrives, then transfers. A message leaves when it is sent, whether
 * or not its receive is posted: buffers at the receiver are not bounded. The receive ends when it is posted
 * and the message has arrived. Wait and transfer are reported apart. A communication of recorded time and
 * unknown bytes (rlt_comm.timed) uses no link, and its algorithm is "recorded"; such a message waits for both
 * sides.
 */
#ifndef RLT_WORKLOAD_REPLAY_REPLAY_H
#define RLT_WORKLOAD_REPLAY_REPLAY_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/noise.h"
#include "workload/timing/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Selects the algorithm for collectives of a kind, a group size and a minimum size in bytes. */
typedef struct rlt_algorithm_rule {
    rlt_coll_kind kind;
    uint32_t members; /* 0: any number */
    uint64_t from_bytes;
    const rlt_algorithm *algorithm; /* NULL: chosen by the selector */
    const rlt_reacting *reacting;   /* used in place of the algorithm: a reactive protocol */
    uint32_t library;               /* as in the options, for this rule; 0: theirs */
} rlt_algorithm_rule;

/* At time when_ps, the bandwidth of these links becomes `factor` times the one they were built with; 0: they
 * fail. See net/network.h. */
typedef struct rlt_link_event {
    rlt_time when_ps;
    const uint32_t *links;
    uint32_t n;
    double factor;
} rlt_link_event;

typedef struct rlt_replay_options {
    const rlt_topology *topology;
    const rlt_placement *placement; /* NULL: the identity */
    rlt_routing routing;
    const rlt_net_model *model;
    rlt_endpoint endpoint;
    /* settings of the packet model, borrowed; NULL: the defaults */
    const rlt_packet_settings *packet;
    const rlt_algorithm *algorithm[RLT_COLL_KINDS]; /* NULL: chosen by the selector */
    uint32_t library; /* version of NCCL or RCCL that chooses, as in rlt_coll_request; 0: the endpoint's */
    /* Reactive protocols, in place of `algorithm`; only on the packet model; borrowed. A member begins when
     * it arrives. Parameter servers on ranks of their own are placed ranks outside the program. Collectives
     * of 0 bytes and of one member are left to algorithms. */
    const rlt_reacting *reacting[RLT_COLL_KINDS];
    /* every aggregating switch; NULL: derived from the collectives */
    const rlt_aggregator_config *aggregator;
    /* Rules, which precede `algorithm` and `reacting`: the last one that applies and can carry the collective
     * wins. Borrowed. */
    const rlt_algorithm_rule *rules;
    uint32_t n_rules;
    bool algorithm_where_able; /* a collective that the given algorithm cannot do goes to the selector */
    rlt_coll_params params;    /* parameters of algorithms; patterns by dimension of the topology */
    rlt_timing *timing;        /* NULL: the network is simulated */
    /* Speeds relative to the recording: 2 = twice as fast. */
    double host_scale, compute_scale, network_scale;
    double overlap_slowdown; /* slowdown of device work while its rank communicates; 1: none */
    /* per rank, in place of overlap_slowdown; NULL: the same for all */
    const double *rank_overlap_slowdown;
    /* per rank, times host_scale and compute_scale; NULL: 1 */
    const double *rank_host_scale, *rank_compute_scale;
    bool no_skew;                      /* all ranks start at 0 */
    const rlt_time *rank_delay_ps;     /* per rank, added to its start offset; NULL: 0 */
    const rlt_link_event *link_events; /* borrowed */
    uint32_t n_link_events;
    const rlt_noise *noise; /* borrowed */
    uint32_t n_noise;
    uint64_t seed;                    /* seed of the noise */
    const rlt_background *background; /* borrowed */
    uint32_t n_background;
    bool no_bounds; /* leaves bound_ps of collectives at 0, and does not call igraph, which finds cuts */
    rlt_time series_bin_ps;
    rlt_time until_ps; /* stops there with partial results; RLT_TIME_MAX: never */
} rlt_replay_options;

RLT_API rlt_replay_options rlt_replay_options_default(void);

/* Returns the time of an operation under the speeds of the options. `own`: factor on the speed of its rank's
 * compute, in place of rank_compute_scale; speeds of single ranks' hosts are left out. */
RLT_API rlt_time rlt_replay_scaled(const rlt_replay_options *o, rlt_op_kind kind, double own,
                                   rlt_time duration_ps);

typedef struct rlt_rank_result {
    rlt_time start_ps, end_ps; /* span = end_ps - start_ps */
    rlt_time compute_ps, exposed_comm_ps, host_ps, idle_ps;
    rlt_time comm_ps;      /* time with some communication under way (union) */
    rlt_time comm_wait_ps; /* sum over communications: from the rank's arrival to the last arrival */
    rlt_time comm_transfer_ps;
} rlt_rank_result;

typedef struct rlt_comm_result {
    /* -1: did not happen. Messages: time of sending and of delivery; the receive may come later. */
    rlt_time first_arrival_ps, last_arrival_ps, end_ps;
    rlt_time bound_ps;
    uint32_t last_member; /* the member that arrived last */
    const char *algorithm;
    uint32_t job; /* job of the fabric, for reactive protocols; else RLT_NONE */
} rlt_comm_result;

typedef struct rlt_op_result {
    rlt_time start_ps, end_ps; /* -1: did not happen */
    /* operation whose end let this one start (dependency or resource); RLT_NONE: the rank's start */
    uint32_t cause;
} rlt_op_result;

/* Kinds of stretches of the critical path. */
typedef enum rlt_path_kind {
    RLT_PATH_COMPUTE,
    RLT_PATH_HOST,
    RLT_PATH_DELAY,    /* gaps, and copies to and from the host */
    RLT_PATH_TRANSFER, /* folded collectives, too: they have no communication (rlt_op.comm) */
    RLT_PATH_START,    /* a rank's start offset */
} rlt_path_kind;
typedef struct rlt_path_item {
    rlt_path_kind kind;
    uint32_t op;
    rlt_time begin_ps, end_ps;
} rlt_path_item;

typedef struct rlt_replay rlt_replay;

/* Prepares a run. The program and everything the options point to are borrowed. */
RLT_API int rlt_replay_create(const rlt_program *p, const rlt_replay_options *o, rlt_replay **out,
                              rlt_error *err) RLT_MUST_USE;
/* Runs to the end. RLT_ESTALL if work is pending at the end; err->what names the wait-for cycle.
 * RLT_ECANCELLED after rlt_sim_stop, with the results up to then. */
RLT_API int rlt_replay_run(rlt_replay *r, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_replay_free(rlt_replay *r);

RLT_API rlt_sim *rlt_replay_sim(rlt_replay *r);
RLT_API rlt_time rlt_replay_time(const rlt_replay *r); /* end of the last operation */
/* Iteration i begins where i-1 ended (0 for the first) and ends with its last operation. */
RLT_API uint32_t rlt_replay_iterations(const rlt_replay *r);
RLT_API rlt_time rlt_replay_iteration_ps(const rlt_replay *r, uint32_t i);
RLT_API rlt_rank_result rlt_replay_rank(const rlt_replay *r, uint32_t rank);
RLT_API rlt_comm_result rlt_replay_comm(const rlt_replay *r, uint32_t comm);
RLT_API rlt_op_result rlt_replay_op(const rlt_replay *r, uint32_t op);
RLT_API const rlt_net *rlt_replay_net(const rlt_replay *r); /* NULL under a timing mode */
/* Jobs of reactive protocols; NULL: none. */
RLT_API const rlt_fabric *rlt_replay_fabric(const rlt_replay *r);
RLT_API rlt_background_result rlt_replay_background(const rlt_replay *r, uint32_t i);
/* Returns the critical path, latest stretch first; *items is malloc'ed. Adjacent stretches touch. The path
 * begins at time 0 and ends at the end of the run. */
RLT_API int rlt_replay_critical_path(const rlt_replay *r, rlt_path_item **items, uint32_t *n,
                                     rlt_error *err) RLT_MUST_USE;
RLT_API uint64_t rlt_replay_done_ops(const rlt_replay *r);

#ifdef __cplusplus
}
#endif
#endif
