/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reactive protocols: the second kind of collective. What a host sends depends on what reaches it and when,
 * so there are no steps known beforehand. A protocol is begun, gets packets, and gets timers. It runs over
 * packets on links, with aggregators in the switches of its tree.
 *
 * A fabric is one network in one simulation. Any number of jobs, each with its protocol, share its links and
 * its switches' slots. Every contribution is a number of its own (64 bits, by chunk and worker) and is really
 * added up, modulo 2^64. A member that gets any other sum than that of all members, or lacks one at the end,
 * fails the run (RLT_ECHECK).
 *
 * This header is for users of protocols; collectives/in_network/reactor.h is for protocols. A new protocol is
 * one file with one const struct, entered in the list below.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_REACTIVE_H
#define RLT_COLLECTIVES_IN_NETWORK_REACTIVE_H

#include "collectives/collective.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_SETTINGS = 32, RLT_MAX_JOBS = 65535 };

typedef struct rlt_reactive rlt_reactive;
struct rlt_skew;

/* A protocol with the values of its settings. */
typedef struct rlt_reacting {
    const rlt_reactive *protocol;
    rlt_param_value values[RLT_MAX_SETTINGS];
} rlt_reacting;

/* The protocols, in the order of lists: a new one is a file and a line here. */
#define RLT_REACTIVES(X)                                                                                     \
    X(switchml)                                                                                              \
    X(ps_switch)                                                                                             \
    X(atp)                                                                                                   \
    X(sharp)                                                                                                 \
    X(host_ring)                                                                                             \
    X(libra)                                                                                                 \
    X(hierarchical_ina)
#define RLT_X(name) RLT_API extern const rlt_reactive rlt_##name;
RLT_REACTIVES(RLT_X)
#undef RLT_X

RLT_API const rlt_reactive *rlt_reactive_at(uint32_t i); /* NULL past the end */
RLT_API const rlt_reactive *rlt_reactive_find(const char *name, rlt_error *err);
RLT_API const char *rlt_reactive_name(const rlt_reactive *r);
RLT_API const char *rlt_reactive_summary(const rlt_reactive *r);
RLT_API const rlt_param *rlt_reactive_settings(const rlt_reactive *r); /* a table */

/* What a protocol can do, for callers that would else have to know it by name. */
enum { RLT_REACTS_TO_UPDATES = 1 }; /* its data may be updates of a file: rlt_skew_read */
RLT_API uint32_t rlt_reactive_can(const rlt_reactive *r);
/* Whether it does a kind of collective. */
RLT_API bool rlt_reactive_does(const rlt_reactive *r, rlt_coll_kind kind);
/* How many members it needs beside those that contribute: they serve, and come last. */
RLT_API uint32_t rlt_reacting_servers(const rlt_reacting *r);

/* The presets of a protocol, and one value by name and text. */
RLT_API int rlt_settings_preset(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS],
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_settings_set(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS],
                             const char *name, const char *text, rlt_error *err) RLT_MUST_USE;

/* Called from within the simulation. With a `done`, jobs give up slots and books once they are done; their
 * results stay. */
typedef struct rlt_fabric_client {
    void *ctx;
    void (*worker_done)(void *ctx, uint64_t cookie, uint32_t worker); /* has every chunk; may be NULL */
    void (*done)(void *ctx, uint64_t cookie);                         /* all workers; may be NULL */
} rlt_fabric_client;

typedef struct rlt_fabric_config {
    rlt_packets_config packets; /* its sim and client are the fabric's own */
    /* Inside another simulation (packets.sim), as a guest on its links; borrowed. NULL: on its own. */
    rlt_packets *host;
    rlt_fabric_client client;
    const rlt_placement *placement;
    /* Slots of every switch that adds; mode and payload follow the protocol; slots 0 without a memory: what
     * the first job asks for, times `jobs` or 1. */
    rlt_aggregator_config aggregator;
    /* For tests and studies: true loses this packet on its way, wherever that is. NULL: none. */
    bool (*lose)(void *ctx, uint32_t job, const rlt_packet *p, uint32_t member);
    void *lose_ctx;
    /* Likewise: probabilities that a packet is there twice, and that it is held back for up to `hold_ps`, so
     * that others overtake it; drawn with the packets' seed. */
    double twice, held;
    rlt_time hold_ps;
} rlt_fabric_config;

typedef struct rlt_react_request {
    const rlt_reactive *protocol;
    rlt_param_value settings[RLT_MAX_SETTINGS];
    rlt_coll_kind kind;
    uint32_t n;            /* members */
    const uint32_t *ranks; /* of members; NULL: 0 .. n-1; borrowed while adding */
    uint64_t bytes;
    rlt_time start_ps;
    const rlt_time *late_ps; /* by member, besides; NULL: none; borrowed while adding */
    bool arrives;            /* workers begin when rlt_fabric_arrive says so, instead */
    uint64_t cookie;         /* for the fabric's client */
    uint8_t priority;
    /* What runs instead, with these settings, where switches refuse the job; NULL: nothing. */
    const rlt_reactive *fallback;
    rlt_param_value fallback_settings[RLT_MAX_SETTINGS];
    /* Recorded popularity of the updated parameters (collectives/in_network/libra/workload.h), for Libra, in
     * place of the popularity in its settings; NULL: none. Borrowed while adding. */
    const struct rlt_skew *updates;
} rlt_react_request;

typedef struct rlt_react_result {
    const char *protocol; /* the one that ran */
    rlt_time time_ps;     /* from start_ps to the last receipt of the last member */
    rlt_time end_ps;      /* on the clock */
    uint32_t workers;     /* members that contribute */
    uint32_t servers;
    uint64_t chunks;
    uint32_t window; /* in force */
    uint32_t slots;  /* fewest granted at a switch */
    uint32_t adders, levels;
    uint64_t packets; /* sent by hosts */
    uint64_t retransmissions, timeouts;
    uint64_t duplicates;               /* results that a host had already */
    uint64_t lost;                     /* packets lost or dropped, of this job */
    uint64_t aggregated, unaggregated; /* reached a server: sums, and packets that were not added up */
    uint64_t server_bytes;             /* into servers */
    uint64_t left_out;                 /* contributions that came too late for their sums */
    char fallback[120];                /* why another protocol ran instead; "": it did not */
    rlt_agg_counts switches;           /* of all its switches together */
    const char *fell_back; /* why the fallback ran instead (until the fabric is freed); NULL: it did not */
} rlt_react_result;

typedef struct rlt_fabric rlt_fabric;

RLT_API int rlt_fabric_create(const rlt_fabric_config *cfg, rlt_fabric **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_fabric_free(rlt_fabric *f);
/* Enters a job. RLT_EUNSUPPORTED or RLT_ETOPOLOGY, with a reason, where switches refuse it (no slots, too
 * wide, none that can) and it has no fallback: the fabric is then as before. */
RLT_API int rlt_fabric_add(rlt_fabric *f, const rlt_react_request *req, uint32_t *job,
                           rlt_error *err) RLT_MUST_USE;
/* A worker of a job with `arrives` begins now. */
RLT_API void rlt_fabric_arrive(rlt_fabric *f, uint32_t job, uint32_t worker);
/* Runs all jobs to their end, of a fabric on its own. RLT_ESTALL names what waits for what, RLT_ECHECK a
 * wrong sum. */
RLT_API int rlt_fabric_run(rlt_fabric *f, rlt_error *err) RLT_MUST_USE;
/* What a job that is not done waits for. Returns whether there is one. */
RLT_API bool rlt_fabric_waits(const rlt_fabric *f, char *text, size_t size);
RLT_API rlt_react_result rlt_fabric_result(const rlt_fabric *f, uint32_t job);
RLT_API uint32_t rlt_fabric_jobs(const rlt_fabric *f);
/* What no network that adds up and replicates as this job's did, nor servers apart, can beat for its workers,
 * who are the first of the request's members; of a job between hosts alone, what these cannot. */
RLT_API int rlt_react_bound(const rlt_react_result *r, const rlt_coll_request *req, rlt_router *router,
                            double bandwidth_scale, rlt_time *bound_ps, rlt_error *err) RLT_MUST_USE;
RLT_API rlt_time rlt_fabric_end(const rlt_fabric *f); /* of the last job */
/* Jain's index of n rates, from their sum and the sum of their squares: 1 if all
 * are equal, 1 / n if one rate is all. */
static inline double rlt_jain(double sum, double squares, uint32_t n)
{
    return squares > 0 ? sum * sum / (n * squares) : 1;
}
/* Jain's index of the jobs' rates (bytes over time). */
RLT_API double rlt_fabric_fairness(const rlt_fabric *f);
RLT_API rlt_sim *rlt_fabric_sim(rlt_fabric *f);
RLT_API rlt_packets *rlt_fabric_packets(rlt_fabric *f); /* its usage: bytes and busy time of links */
/* Switches that add, in order of first use: node, aggregator. NULL past the end. */
RLT_API const rlt_aggregator *rlt_fabric_switch(const rlt_fabric *f, uint32_t i, uint32_t *node);

#ifdef __cplusplus
}
#endif
#endif
