/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building blocks of reactive protocols: a job on a fabric, its trees, and the fixed behaviour of switches
 * (collectives/in_network/fabric_switch.c). A tree has stops, the switches at which packets of the job are
 * handled. Contributions (DATA) are added up at the stops; sums go up the tree, results go down to all
 * members. Chunks that the switches cannot aggregate fall back to a parameter server, if the job has one.
 *
 * A protocol plans in start(): it chooses workers and servers, plants its trees and takes slots. begin()
 * sends a worker's first packets, packet() handles a packet at a host, timer() handles a timer. The protocol
 * calls rlt_fabric_job_receive for every result. The job is done when every worker has every chunk.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_REACTOR_H
#define RLT_COLLECTIVES_IN_NETWORK_REACTOR_H

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of packets. key = chunk, flow = job, data = the contribution or sum in the packet. */
typedef enum rlt_packet_kind {
    RLT_PK_DATA,   /* to a stop: contribution of a member, or sum of a lower stop */
    RLT_PK_RESULT, /* down the tree, to a stop or a member: the sum */
    RLT_PK_ANSWER, /* to one member, whose copy was lost: the sum */
    RLT_PK_REPLY,  /* from a server to the root, which multicasts it as RESULT */
    RLT_PK_SUM,    /* to a server: sum of all workers */
    /* to a server: partial sum; aux is the index into `notes`, which lists its contributors */
    RLT_PK_PARTIAL,
    RLT_PK_ALONE,    /* to a server: contribution of one worker, not aggregated */
    RLT_PK_OWN = 32, /* first protocol-specific kind, from host to host or to a switch */
} rlt_packet_kind;

/* aux of DATA, RESULT and REPLY: index of the contributor at the stop (upper 12 bits), and slot (lower
 * 20). */
#define RLT_AUX(child, slot) ((uint32_t)(child) << 20 | (uint32_t)(slot))
static inline uint32_t rlt_aux_child(uint32_t aux)
{
    return aux >> 20;
}
static inline uint32_t rlt_aux_slot(uint32_t aux)
{
    return aux & 0xfffffu;
}

/* Flag of a PARTIAL: set if its slot timed out. */
enum { RLT_PACKET_EXPIRED = 16 };

typedef struct rlt_fabric_job rlt_fabric_job;

struct rlt_reactive {
    const char *name, *summary;
    uint32_t kinds;            /* supported kinds, a bit 1 << rlt_coll_kind each */
    uint32_t can;              /* RLT_REACTS_... */
    const rlt_param *settings; /* its parameters, each in a slot of the job's values */
    /* Fills the job's plan, see above. */
    int (*start)(rlt_fabric_job *j, rlt_error *err);
    void (*begin)(rlt_fabric_job *j, uint32_t worker);
    /* Handles a packet at a host. `who` is the worker for RESULT and ANSWER, the server for SUM, PARTIAL and
     * ALONE, the member for kinds from RLT_PK_OWN on. */
    void (*packet)(rlt_fabric_job *j, const rlt_packet *p, uint32_t who);
    /* Handles a protocol-specific packet (kind >= RLT_PK_OWN) at a switch. NULL if the protocol sends none
     * there. */
    void (*at_switch)(rlt_fabric_job *j, const rlt_packet *p);
    void (*timer)(rlt_fabric_job *j, uint64_t what);             /* NULL if the protocol sets no timers */
    uint32_t (*server)(const rlt_fabric_job *j, uint32_t chunk); /* server of a chunk; NULL: round robin */
    uint32_t (*servers)(const rlt_param_value *values);          /* number of dedicated servers; NULL: none */
    void (*release)(rlt_fabric_job *j); /* frees what `state` owns, not `state` itself; NULL: nothing */
};

/* A tree of a job. Chunk c uses tree c mod n_trees. */
typedef struct rlt_fabric_job_tree {
    rlt_reduction *map;
    rlt_map stop_of;       /* node -> index of the stop */
    uint32_t *agg_job;     /* number of the job at each stop's aggregator; RLT_NONE: the stop does not add */
    uint32_t *agg;         /* index of each stop's switch in the fabric */
    uint32_t *up;          /* route of each contributor to its adding stop */
    uint32_t *down;        /* route back */
    uint32_t *branch;      /* route of each branch */
    uint32_t *from_server; /* route of each server to the root */
    uint32_t *to_server;   /* route through the root, at [stop * n_servers + server] */
} rlt_fabric_job_tree;

struct rlt_fabric_job {
    rlt_fabric *fabric;
    rlt_sim *sim;
    rlt_packets *packets;
    uint32_t number; /* index of the job, the flow of its packets */
    rlt_react_request req;
    uint32_t *nodes;   /* node of each member */
    rlt_time *late;    /* start delay of each member */
    rlt_map member_of; /* node -> member */
    /* The protocol's plan: */
    uint32_t workers;   /* members 0 .. workers-1 contribute */
    uint32_t n_servers; /* members first_server .. first_server + n_servers-1 serve */
    uint32_t first_server;
    /* chunks of the job; chunks that a worker has under way, a multiple of n_trees */
    uint32_t chunks, window;
    /* 0: every tree has all workers; else tree t has the workers t, t + stride, ... */
    uint32_t stride;
    uint32_t wire_bytes; /* bytes on the wire, per chunk */
    rlt_slot_mode mode;
    bool streaming;       /* CREDIT: streaming trees under a lock */
    uint8_t packet_flags; /* flags of contributions and replies: RLT_PACKET_ECT */
    rlt_time ttl_ps;      /* age at which a switch sends a partial sum to a server; 0: never */
    /* Mean number of passes of a contribution beyond the first; number of recirculation ports that share them
     * (0: passes cost nothing); time of a packet on such a port. */
    double more_passes;
    uint32_t pass_ports;
    rlt_time pass_ps;
    uint32_t n_trees;
    rlt_fabric_job_tree *trees;
    void *state;
    /* The job's account: */
    rlt_react_result result;
    uint64_t *expected; /* sum expected for each chunk; 0: not computed yet */
    uint64_t *received; /* bitmap of received (worker, chunk) pairs */
    uint64_t missing;
    uint32_t *lacks;     /* number of missing chunks, per worker */
    char fell_back[256]; /* reason why this job is the fallback; "": it is not */
    bool done;
    bool closed; /* only the result is left; late packets and timers are ignored */
    /* Contributor lists of partial sums: bitmaps of note_words words, a bit per worker. */
    rlt_pool notes;
    uint32_t note_words;
};

/* Value of a setting, by its index in the protocol's table. */
static inline rlt_param_value rlt_fabric_job_setting(const rlt_fabric_job *j, uint32_t i)
{
    return j->req.settings[i];
}

/* In start(): makes the last `servers` members servers. If the protocol has dedicated servers, the other
 * members are the workers; else all members are. */
int rlt_fabric_job_serve(rlt_fabric_job *j, uint64_t servers, rlt_error *err) RLT_MUST_USE;
/* In start(), once workers, servers, chunks, wire_bytes and mode are set: makes `trees` trees over the
 * workers and takes `slots` slots at each adding stop. Fails with the reason of the switch that refused. In
 * modes POOL and CREDIT j->window is lowered to the slots granted. */
int rlt_fabric_job_plant(rlt_fabric_job *j, rlt_add_place place, uint32_t trees, uint32_t slots,
                         uint32_t payload, rlt_error *err) RLT_MUST_USE;
/* Whether this fabric can lose or duplicate packets. */
bool rlt_fabric_job_lossy(const rlt_fabric_job *j);
/* RLT_EUNSUPPORTED if the fabric is lossy, for protocols that never retransmit. */
int rlt_fabric_job_needs_all(const rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
/* In start() of a protocol without servers, after its request to the switches, with the result *rc and the
 * reason `why`. Returns false if the switches agreed. Returns true if start() must return *rc. If the
 * switches refused (RLT_EUNSUPPORTED, RLT_ETOPOLOGY) and `instead` is set, the job has become a ring between
 * its hosts, and its result gives the reason. */
bool rlt_fabric_job_refused(rlt_fabric_job *j, int *rc, bool instead, const rlt_error *why, rlt_error *err);
/* Contribution of a worker to a chunk. */
uint64_t rlt_contribution(const rlt_fabric_job *j, uint32_t chunk, uint32_t worker);
/* Worker that is member i of a tree. */
static inline uint32_t rlt_fabric_job_tree_worker(const rlt_fabric_job *j, uint32_t tree, uint32_t i)
{
    return j->stride ? i * j->stride + tree : i;
}
/* Sends a worker's contribution to its adding stop. Returns the time when its last bit leaves the host. */
rlt_time rlt_fabric_job_contribute(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                   bool again);
/* Like rlt_fabric_job_contribute; slot RLT_NONE sends it unaggregated to the chunk's server. */
rlt_time rlt_fabric_job_push(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot, bool again);
/* Like rlt_fabric_job_contribute, with another value than the worker's own, such as the sum of a group. */
rlt_time rlt_fabric_job_contribute_sum(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                       uint64_t sum);
/* Sends a server's answer to all workers, through the root of the chunk's tree. */
void rlt_fabric_job_reply(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t slot, uint64_t sum);
/* Sends a packet from member to member past the aggregators: ALONE, ANSWER or a protocol-specific kind.
 * Returns the time when its last bit leaves the host. */
rlt_time rlt_fabric_job_send(rlt_fabric_job *j, uint8_t kind, uint32_t from, uint32_t to, uint32_t bytes,
                             uint32_t chunk, uint32_t aux, uint64_t data);
/* Sends a protocol-specific packet between any two nodes, on a route from rlt_packets_route. The protocol
 * defines the meaning of aux and key. */
void rlt_fabric_job_send_on(rlt_fabric_job *j, uint8_t kind, uint32_t src, uint32_t dst, uint32_t route,
                            uint32_t bytes, uint32_t chunk, uint32_t aux, uint64_t data);
/* Records that a worker has a chunk's result. Returns true for the first copy. A wrong sum fails the run. */
bool rlt_fabric_job_receive(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum);
/* Fails the run: a worker has sent a chunk `tries` times and got no result. */
void rlt_fabric_job_in_vain(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t tries);
/* Redefines the expected sum of a chunk as the sum of the workers in `bits`. */
void rlt_fabric_job_settle(rlt_fabric_job *j, uint32_t chunk, const uint64_t *bits);
/* Calls timer(what) at time `when`; what < 2^48. */
rlt_event rlt_fabric_job_timer(rlt_fabric_job *j, rlt_time when, uint64_t what);
/* Contributors of a PARTIAL, valid until the next packet is sent. rlt_fabric_job_take_note frees the note. */
const uint64_t *rlt_fabric_job_note(const rlt_fabric_job *j, uint32_t note);
void rlt_fabric_job_take_note(rlt_fabric_job *j, uint32_t note);
/* Slot in which a chunk is added, and its version there (rlt_job_version). Example: one tree, window 4: chunk
 * 6 uses slot 2, version 1. */
static inline uint32_t rlt_fabric_job_slot(const rlt_fabric_job *j, uint32_t chunk)
{
    return chunk / j->n_trees % (j->window / j->n_trees);
}
/* Slot of a chunk in mode HASH: the slot above if every chunk of the window has one of its own, else a
 * hash. */
uint32_t rlt_fabric_job_hashed_slot(const rlt_fabric_job *j, uint32_t chunk);
/* Bitmap of the workers in a sum. Adds a worker; returns false if it was in the sum already. */
static inline bool rlt_seen_add(uint64_t *seen, uint32_t worker)
{
    uint64_t bit = UINT64_C(1) << (worker % 64);
    bool new = (seen[worker / 64] & bit) == 0;
    seen[worker / 64] |= bit;
    return new;
}

/* Adds the contributors `some` of a partial sum. Returns their number, or 0 if any of them is in the sum
 * already: a partial sum cannot be taken apart. */
static inline uint32_t rlt_seen_merge(uint64_t *seen, const uint64_t *some, uint32_t words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++)
        if (seen[i] & some[i])
            return 0;
    for (uint32_t i = 0; i < words; i++) {
        seen[i] |= some[i];
        n += (uint32_t)__builtin_popcountll(some[i]);
    }
    return n;
}

static inline uint8_t rlt_job_version(const rlt_fabric_job *j, uint32_t chunk)
{
    return chunk / j->n_trees / (j->window / j->n_trees) & 1;
}
/* Server of a chunk. */
static inline uint32_t rlt_fabric_job_server(const rlt_fabric_job *j, uint32_t chunk)
{
    if (j->n_servers < 2)
        return 0;
    return j->req.protocol->server ? j->req.protocol->server(j, chunk) : chunk % j->n_servers;
}

#ifdef __cplusplus
}
#endif
#endif
