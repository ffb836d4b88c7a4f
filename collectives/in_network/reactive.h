/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reactive protocols, the second kind of collective. What a host sends depends on which packets arrive and
 * when, so the steps are not known beforehand. A protocol begins, handles packets and handles timers. It
 * sends packets over links, with aggregators in the switches of its tree.
 *
 * A fabric is one network in one simulation. It can carry any number of jobs, each with its own protocol; the
 * jobs share the links and the slots of the switches. Every contribution is a 64-bit number of its own,
 * derived from job, chunk and worker, and is really added, modulo 2^64. If a member receives anything but the
 * sum of all members, the run fails with RLT_ECHECK. If a member lacks a sum at the end, it fails with
 * RLT_ESTALL.
 *
 * This header is for users of protocols; collectives/in_network/reactor.h is for their authors. A new
 * protocol is one file with one const struct, entered in the list below.
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

/* A protocol and the values of its settings. */
typedef struct rlt_reacting {
    const rlt_reactive *protocol;
    rlt_param_value values[RLT_MAX_SETTINGS];
} rlt_reacting;

/* The protocols, in the order of lists. A new one is one file and one line here. */
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
RLT_API const rlt_param *rlt_reactive_settings(const rlt_reactive *r); /* table of its parameters */

/* Capabilities of a protocol, so that callers need not test its name. */
enum { RLT_REACTS_TO_UPDATES = 1 }; /* accepts recorded updates from a file: rlt_skew_read */
RLT_API uint32_t rlt_reactive_can(const rlt_reactive *r);
/* Whether the protocol supports a kind of collective. */
RLT_API bool rlt_reactive_does(const rlt_reactive *r, rlt_coll_kind kind);
/* Returns the number of dedicated servers that the protocol needs. They are the last members and do not
 * contribute. */
RLT_API uint32_t rlt_reacting_servers(const rlt_reacting *r);

/* Fills in the presets of a protocol; sets one value by name and text. */
RLT_API int rlt_settings_preset(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS],
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_settings_set(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS],
                             const char *name, const char *text, rlt_error *err) RLT_MUST_USE;

/* Callbacks from within the simulation. If `done` is set, a finished job gives up its slots and books; its
 * result stays. */
typedef struct rlt_fabric_client {
    void *ctx;
    /* the worker has every chunk; may be NULL */
    void (*worker_done)(void *ctx, uint64_t cookie, uint32_t worker);
    void (*done)(void *ctx, uint64_t cookie); /* all workers are done; may be NULL */
} rlt_fabric_client;

typedef struct rlt_fabric_config {
    rlt_packets_config packets; /* the fabric replaces its sim and client */
    /* Another simulation whose links the fabric uses as a guest (packets.sim); borrowed. NULL: the fabric is
     * alone. */
    rlt_packets *host;
    rlt_fabric_client client;
    const rlt_placement *placement;
    /* Slots of every aggregating switch. Mode and payload follow the protocol. If slots and memory are both
     * 0, a switch has as many slots as its first job asks for, times `jobs` (at least 1). */
    rlt_aggregator_config aggregator;
    /* For tests and studies: returns true to lose this packet in transit. NULL: no packet is lost so. */
    bool (*lose)(void *ctx, uint32_t job, const rlt_packet *p, uint32_t member);
    void *lose_ctx;
    /* For tests: probability that a packet is duplicated, and that it is delayed by up to `hold_ps`, so that
     * others overtake it. Drawn with the seed of the packets. */
    double twice, held;
    rlt_time hold_ps;
} rlt_fabric_config;

typedef struct rlt_react_request {
    const rlt_reactive *protocol;
    rlt_param_value settings[RLT_MAX_SETTINGS];
    rlt_coll_kind kind;
    uint32_t n;            /* members */
    const uint32_t *ranks; /* rank of each member; NULL: 0 .. n-1; borrowed during the call */
    uint64_t bytes;
    rlt_time start_ps;
    const rlt_time *late_ps; /* extra delay of each member's start; NULL: none; borrowed during the call */
    bool arrives;            /* workers begin at rlt_fabric_arrive instead of start_ps */
    uint64_t cookie;         /* passed to the fabric's client */
    uint8_t priority;
    /* Protocol that runs instead if switches refuse the job, and its settings; NULL: none, the job fails. */
    const rlt_reactive *fallback;
    rlt_param_value fallback_settings[RLT_MAX_SETTINGS];
    /* Recorded popularity of the parameters (collectives/in_network/libra/workload.h), for Libra; it replaces
     * the popularity in the settings. NULL: none. Borrowed during the call. */
    const struct rlt_skew *updates;
} rlt_react_request;

typedef struct rlt_react_result {
    const char *protocol; /* protocol that ran */
    rlt_time time_ps;     /* from start_ps until the last member received its last chunk */
    rlt_time end_ps;      /* absolute time of the end */
    uint32_t workers;     /* members that contribute */
    uint32_t servers;
    uint64_t chunks;
    uint32_t window; /* window in force, in chunks */
    uint32_t slots;  /* fewest slots granted at any switch */
    uint32_t adders, levels;
    uint64_t packets; /* packets sent by hosts */
    uint64_t retransmissions, timeouts;
    uint64_t duplicates; /* results that the host already had */
    uint64_t lost;       /* packets of this job lost or dropped */
    /* packets that reached a server: sums of all workers; contributions that no switch added */
    uint64_t aggregated, unaggregated;
    uint64_t server_bytes;   /* bytes received by servers */
    uint64_t left_out;       /* contributions that came too late for their sums */
    char fallback[120];      /* reason why a ring between the hosts ran instead; "": it did not */
    rlt_agg_counts switches; /* counts of all switches of the job together */
    /* reason why the request's fallback ran instead, valid until the fabric is freed; NULL: it did not */
    const char *fell_back;
} rlt_react_result;

typedef struct rlt_fabric rlt_fabric;

RLT_API int rlt_fabric_create(const rlt_fabric_config *cfg, rlt_fabric **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_fabric_free(rlt_fabric *f);
/* Adds a job and returns its number in *job. RLT_EUNSUPPORTED or RLT_ETOPOLOGY, with a reason, if switches
 * refuse it (no slots, too many contributors, no switch that adds) and it has no fallback; the fabric is then
 * unchanged. */
RLT_API int rlt_fabric_add(rlt_fabric *f, const rlt_react_request *req, uint32_t *job,
                           rlt_error *err) RLT_MUST_USE;
/* Starts a worker of a job with `arrives` now. */
RLT_API void rlt_fabric_arrive(rlt_fabric *f, uint32_t job, uint32_t worker);
/* Runs all jobs to their end; for a fabric that is not a guest. RLT_ESTALL names the rank and chunk that
 * wait, RLT_ECHECK a wrong sum. */
RLT_API int rlt_fabric_run(rlt_fabric *f, rlt_error *err) RLT_MUST_USE;
/* Returns whether some job is not done, and describes what it waits for. */
RLT_API bool rlt_fabric_waits(const rlt_fabric *f, char *text, size_t size);
RLT_API rlt_react_result rlt_fabric_result(const rlt_fabric *f, uint32_t job);
RLT_API uint32_t rlt_fabric_jobs(const rlt_fabric *f);
/* Computes a lower bound for a job: no network can serve its workers faster, given the helpers that the job
 * had. With aggregating switches or dedicated servers, the network may reduce and multicast; else it may not.
 * The workers are the first members of the request. *bound_ps is 0 if no bound is known. */
RLT_API int rlt_react_bound(const rlt_react_result *r, const rlt_coll_request *req, rlt_router *router,
                            double bandwidth_scale, rlt_time *bound_ps, rlt_error *err) RLT_MUST_USE;
RLT_API rlt_time rlt_fabric_end(const rlt_fabric *f); /* end of the last job */
/* Jain's fairness index of n rates, from their sum and the sum of their squares: (sum x)^2 / (n sum x^2). It
 * is 1 if all rates are equal, and 1 / n if one rate has everything. Example: rates 1, 1, 2 give 16 / 18 =
 * 0.89. */
static inline double rlt_jain(double sum, double squares, uint32_t n)
{
    return squares > 0 ? sum * sum / (n * squares) : 1;
}
/* Jain's fairness index of the jobs' rates (bytes over time). */
RLT_API double rlt_fabric_fairness(const rlt_fabric *f);
RLT_API rlt_sim *rlt_fabric_sim(rlt_fabric *f);
RLT_API rlt_packets *rlt_fabric_packets(rlt_fabric *f); /* usage of links: bytes and busy time */
/* Returns the i-th aggregating switch, in order of first use, and its node. NULL past the end. */
RLT_API const rlt_aggregator *rlt_fabric_switch(const rlt_fabric *f, uint32_t i, uint32_t *node);

#ifdef __cplusplus
}
#endif
#endif
