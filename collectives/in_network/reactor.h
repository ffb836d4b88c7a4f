/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building blocks of reactive protocols: a job on a fabric, its trees, and the fixed behaviour of switches
 * (collectives/in_network/fabric_switch.c). Contributions of members (DATA) are added up at the stops of
 * their tree; sums go up, results come down to all members. Chunks that no switch adds up go to a parameter
 * server, if there are any.
 *
 * A protocol plans in start(): it names workers and servers, makes its trees and takes its slots. begin()
 * sends a worker's first packets; packet() handles a packet at a host; timer() handles a timer. The protocol
 * calls rlt_fabric_job_receive for every result: the job is done when every worker has every chunk.
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

/* Kinds of packets; key = chunk, flow = job; data = the sum, or the contribution, that it carries. */
typedef enum rlt_packet_kind {
    RLT_PK_DATA,     /* to a stop: contribution of a member or a stop */
    RLT_PK_RESULT,   /* down the tree, to a stop or a member */
    RLT_PK_ANSWER,   /* to a member alone: its copy was lost */
    RLT_PK_REPLY,    /* from a server to the root, which hands it on as a result */
    RLT_PK_SUM,      /* to a server: the sum of all workers */
    RLT_PK_PARTIAL,  /* to a server: the sum of some, aux = number of the note of whom */
    RLT_PK_ALONE,    /* to a server: a contribution that was not added up */
    RLT_PK_OWN = 32, /* from here on: the protocol's own, from host to host */
} rlt_packet_kind;

/* aux of DATA, RESULT, REPLY: number of the contributor at the stop, and slot. */
#define RLT_AUX(child, slot) ((uint32_t)(child) << 20 | (uint32_t)(slot))
static inline uint32_t rlt_aux_child(uint32_t aux)
{
    return aux >> 20;
}
static inline uint32_t rlt_aux_slot(uint32_t aux)
{
    return aux & 0xfffffu;
}

/* Flag of a PARTIAL: its slot's time was over. */
enum { RLT_PACKET_EXPIRED = 16 };

typedef struct rlt_fabric_job rlt_fabric_job;

struct rlt_reactive {
    const char *name, *summary;
    uint32_t kinds;            /* bit 1 << rlt_coll_kind for each that it does */
    uint32_t can;              /* RLT_REACTS_... */
    const rlt_param *settings; /* each in a slot of the job's values */
    /* Fills the job's plan; see above. */
    int (*start)(rlt_fabric_job *j, rlt_error *err);
    void (*begin)(rlt_fabric_job *j, uint32_t worker);
    /* At a host: of kinds RESULT and ANSWER, `who` is the worker; of SUM, PARTIAL and ALONE the server; of
     * OWN the member. */
    void (*packet)(rlt_fabric_job *j, const rlt_packet *p, uint32_t who);
    /* One of its OWN at a switch; NULL: sends none there. */
    void (*at_switch)(rlt_fabric_job *j, const rlt_packet *p);
    void (*timer)(rlt_fabric_job *j, uint64_t what);             /* NULL: sets none */
    uint32_t (*server)(const rlt_fabric_job *j, uint32_t chunk); /* which one's; NULL: they take turns */
    uint32_t (*servers)(const rlt_param_value *values);          /* apart from the workers; NULL: none */
    void (*release)(rlt_fabric_job *j); /* frees what `state` owns, then free(state); NULL: nothing */
};

/* A tree of a job: chunk c uses tree c mod n_trees. */
typedef struct rlt_fabric_job_tree {
    rlt_reduction *map;
    rlt_map stop_of;       /* node -> stop */
    uint32_t *agg_job;     /* of each stop, on its switch; RLT_NONE: does not add */
    uint32_t *agg;         /* of each stop, the fabric's number of its switch */
    uint32_t *up;          /* routes: of each contributor to its adder */
    uint32_t *down;        /* and back */
    uint32_t *branch;      /* of each branch */
    uint32_t *from_server; /* of each server to the root */
    uint32_t *to_server;   /* [stop * n_servers + server]: through the root */
} rlt_fabric_job_tree;

struct rlt_fabric_job {
    rlt_fabric *fabric;
    rlt_sim *sim;
    rlt_packets *packets;
    uint32_t number; /* = flow of its packets */
    rlt_react_request req;
    uint32_t *nodes;   /* of members */
    rlt_time *late;    /* of members */
    rlt_map member_of; /* node -> member */
    /* The protocol's plan: */
    uint32_t workers;   /* members 0 .. workers-1 contribute; */
    uint32_t n_servers; /* members first_server .. + n_servers-1 serve */
    uint32_t first_server;
    uint32_t chunks, window; /* the window a multiple of n_trees */
    uint32_t stride;         /* 0: every tree is of all workers; else tree t of t, t + stride, ... */
    uint32_t wire_bytes;     /* of a packet with a chunk */
    rlt_slot_mode mode;
    bool streaming;       /* CREDIT: streaming trees, locked */
    uint8_t packet_flags; /* of contributions and replies: RLT_PACKET_ECT */
    rlt_time ttl_ps;      /* switches send partial sums to a server after that time; 0: never */
    /* Contributions pass a switch more than once: passes beyond the first (a mean), through how many
     * recirculation ports, each of which takes so long for a packet; 0 ports: nothing is charged. */
    double more_passes;
    uint32_t pass_ports;
    rlt_time pass_ps;
    uint32_t n_trees;
    rlt_fabric_job_tree *trees;
    void *state;
    /* The account: */
    rlt_react_result result;
    uint64_t *expected; /* sum of a chunk */
    uint64_t *received; /* a bit for each (worker, chunk) */
    uint64_t missing;
    uint32_t *lacks;     /* chunks, of each worker */
    char fell_back[256]; /* why this is the fallback; "": it is not */
    bool done;
    bool closed; /* nothing is left but the result: packets and timers of it are nothing */
    /* Notes of whom partial sums are of: */
    rlt_pool notes;
    uint32_t note_words;
};

/* The value of a setting, by its place in the protocol's table. */
static inline rlt_param_value rlt_fabric_job_setting(const rlt_fabric_job *j, uint32_t i)
{
    return j->req.settings[i];
}

/* In start(): the last members serve, the others contribute; all contribute if no servers are set apart. */
int rlt_fabric_job_serve(rlt_fabric_job *j, uint64_t servers, rlt_error *err) RLT_MUST_USE;
/* In start(), once workers, servers, chunks, wire_bytes and mode are set: n trees over the workers, each
 * with `slots` slots at each of its adders, or an error with their reason. j->window is lowered to what is
 * granted in POOL and CREDIT. */
int rlt_fabric_job_plant(rlt_fabric_job *j, rlt_add_place place, uint32_t trees, uint32_t slots,
                         uint32_t payload, rlt_error *err) RLT_MUST_USE;
/* Whether packets of this fabric can be lost, or be there twice. */
bool rlt_fabric_job_lossy(const rlt_fabric_job *j);
/* RLT_EUNSUPPORTED where they can: for protocols that send nothing again. */
int rlt_fabric_job_needs_all(const rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
/* In start(), of a protocol without servers, once it has asked its switches, with *rc and the reason. False:
 * they agreed. True: start ends with *rc. Where they refused (RLT_EUNSUPPORTED, RLT_ETOPOLOGY) and `instead`,
 * the job is then a ring's between its hosts, and its result says why. */
bool rlt_fabric_job_refused(rlt_fabric_job *j, int *rc, bool instead, const rlt_error *why, rlt_error *err);
/* What worker w gives to a chunk. */
uint64_t rlt_contribution(const rlt_fabric_job *j, uint32_t chunk, uint32_t worker);
/* The worker that is member i of a tree. */
static inline uint32_t rlt_fabric_job_tree_worker(const rlt_fabric_job *j, uint32_t tree, uint32_t i)
{
    return j->stride ? i * j->stride + tree : i;
}
/* Sends a worker's packet of a chunk to its adder; returns when its last bit will have left. */
rlt_time rlt_fabric_job_contribute(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                   bool again);
/* The same with a slot, or with RLT_NONE alone to the chunk's server. */
rlt_time rlt_fabric_job_push(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot, bool again);
/* The same with another value than the worker's own: that of a group. */
rlt_time rlt_fabric_job_contribute_sum(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                       uint64_t sum);
/* A server's answer to all, through the root of the chunk's tree. */
void rlt_fabric_job_reply(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t slot, uint64_t sum);
/* A packet from member to member past the aggregators: ALONE, ANSWER, or of the protocol's own; returns when
 * its last bit will have left. */
rlt_time rlt_fabric_job_send(rlt_fabric_job *j, uint8_t kind, uint32_t from, uint32_t to, uint32_t bytes,
                             uint32_t chunk, uint32_t aux, uint64_t data);
/* One of OWN between any two nodes, on a route of rlt_packets_route; aux and key are the protocol's. */
void rlt_fabric_job_send_on(rlt_fabric_job *j, uint8_t kind, uint32_t src, uint32_t dst, uint32_t route,
                            uint32_t bytes, uint32_t chunk, uint32_t aux, uint64_t data);
/* A worker has a chunk's result. True: its first copy. A wrong sum fails the run. */
bool rlt_fabric_job_receive(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum);
/* A worker has sent a chunk so often and got no result: the run fails. */
void rlt_fabric_job_in_vain(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t tries);
/* From now on the sum of a chunk is that of these workers. */
void rlt_fabric_job_settle(rlt_fabric_job *j, uint32_t chunk, const uint64_t *bits);
/* timer(what) at that time; what < 2^48. */
rlt_event rlt_fabric_job_timer(rlt_fabric_job *j, rlt_time when, uint64_t what);
/* The bits of a PARTIAL's workers (valid until the next packet is sent); take() frees the note. */
const uint64_t *rlt_fabric_job_note(const rlt_fabric_job *j, uint32_t note);
void rlt_fabric_job_take_note(rlt_fabric_job *j, uint32_t note);
/* Where a chunk is added up: its tree, its slot and version there. */
static inline uint32_t rlt_fabric_job_slot(const rlt_fabric_job *j, uint32_t chunk)
{
    return chunk / j->n_trees % (j->window / j->n_trees);
}
/* HASH: the same where every chunk of the window has a slot of its own; else slots are hit by chance. */
uint32_t rlt_fabric_job_hashed_slot(const rlt_fabric_job *j, uint32_t chunk);
/* Who is in a sum, a bit each. A worker comes in; false: it was there. */
static inline bool rlt_seen_add(uint64_t *seen, uint32_t worker)
{
    uint64_t bit = UINT64_C(1) << (worker % 64);
    bool new = (seen[worker / 64] & bit) == 0;
    seen[worker / 64] |= bit;
    return new;
}

/* Several packets come in at once: how many, or 0 if one was there
 * already, since no sum can be told apart. */
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
/* The server of a chunk. */
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
