/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of a fabric, shared by its account (fabric.c), its switches (fabric_switch.c) and its jobs
 * (fabric_job.c). */
#ifndef RLT_COLLECTIVES_IN_NETWORK_FABRIC_H
#define RLT_COLLECTIVES_IN_NETWORK_FABRIC_H

#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Kind flag of a packet that the lose hook took: it travels, and is discarded on arrival. */
enum { RLT_PK_LOST = 0x80 };

/* Owner of an aggregator's job. */
typedef struct rlt_agg_owner {
    uint32_t job, tree, stop;
} rlt_agg_owner;

/* Timer of a slot that holds a chunk. */
typedef struct rlt_slot_clock {
    rlt_agg_owner owner;
    uint32_t chunk, slot;
    uint8_t version;
} rlt_slot_clock;

typedef struct rlt_fabric_switch_ {
    uint32_t node;
    rlt_aggregator *agg;
    rlt_slot_mode mode;
    uint32_t payload;
    rlt_agg_owner *owners; /* by number of the aggregator's job */
    uint32_t n_owners, owners_room;
    rlt_time passes_free; /* time when its recirculation ports are free */
} rlt_fabric_switch_;

struct rlt_fabric {
    rlt_fabric_config cfg;
    rlt_sim *sim;
    rlt_packets *packets;
    rlt_router *router;
    int on_timer, on_begin, on_close;
    rlt_fabric_job **jobs;
    uint32_t n_jobs, jobs_room;
    bool runs_alone; /* rlt_fabric_run drives it: no other traffic uses its packets */
    rlt_fabric_switch_ *switches;
    uint32_t n_switches, switches_room;
    rlt_map switch_of; /* node -> index of the switch */
    /* Delayed packets; timers of slots; number of packets drawn for faults: */
    rlt_pool held, clocks;
    uint64_t drawn;
    int on_held, on_clock, on_pass;
};

/* Sends a packet of a job, unless the lose hook takes it. `member` is the host at one of its ends. */
void rlt__fabric_send(rlt_fabric_job *j, rlt_packet *p, uint32_t member);
/* Sends a packet of a job, sometimes twice or delayed. */
void rlt__fabric_disturb(rlt_fabric_job *j, const rlt_packet *p);
/* Notify the client. */
void rlt__fabric_worker_done(rlt_fabric_job *j, uint32_t worker);
void rlt__fabric_job_done(rlt_fabric_job *j);
/* Event handlers: a delayed packet is due; a slot has timed out. */
void rlt__fabric_on_held(void *ctx, uint64_t payload);
void rlt__fabric_on_clock(void *ctx, uint64_t payload);
/* Handles a packet at a stop of its tree, after its extra passes if it needs any. */
void rlt__fabric_stop(rlt_fabric_job *j, const rlt_packet *p);
/* Returns true if the packet must first go through the recirculation ports; it is then handled later. */
bool rlt__fabric_recirculates(rlt_fabric_job *j, rlt_fabric_switch_ *s, const rlt_packet *p);
void rlt__fabric_on_pass(void *ctx, uint64_t payload);
/* Handles a packet after its last pass. */
void rlt__fabric_handle(rlt_fabric_job *j, const rlt_packet *p);
/* Frees the trees of a job and releases their slots. */
void rlt__fabric_uproot(rlt_fabric_job *j);

#endif
