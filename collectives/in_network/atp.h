/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of ATP, shared by its workers (atp.c) and its servers (atp_server.c). */
#ifndef RLT_COLLECTIVES_IN_NETWORK_ATP_H
#define RLT_COLLECTIVES_IN_NETWORK_ATP_H

#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct rlt__atp_worker {
    uint32_t next;   /* first chunk that has never been sent */
    uint32_t base;   /* oldest missing chunk */
    uint32_t flying; /* number of chunks sent and still missing */
    uint32_t gaps;   /* results of later chunks since base became the oldest */
    uint32_t left;   /* results until the window is adapted */
    uint32_t silent; /* consecutive timeouts */
    uint64_t cwnd;   /* congestion window, bytes */
    rlt_time heard;  /* time of the last result, or of the last bit sent */
    rlt_event timer;
    bool begun, marked;
} rlt__atp_worker;

/* Flags in the answer to a chunk. */
enum { RLT__ATP_MARKED = 1 };

/* One place of the servers' window; it serves the chunks with this index modulo the window, one after
 * another. */
typedef struct rlt__atp_place {
    uint32_t chunk; /* the latest that came; at first 0, of which nothing is here */
    uint32_t count; /* workers in the sum */
    uint64_t sum;
    rlt_time replied; /* time of the last reply */
    bool collided, marked, done, waits;
} rlt__atp_place;

typedef struct rlt__atp {
    rlt__atp_worker *workers;
    uint64_t start, increase;
    rlt_time rto;
    uint32_t gap, tries;
    bool leave;
    /* Servers: */
    rlt__atp_place *places;
    uint64_t *seen; /* contributors, note_words words per place */
    /* By chunk: the sum in the answer, the hash round, the flags. A worker reads them only once it has the
     * answer that carries them. */
    uint64_t *sums;
    uint8_t *rounds, *said;
} rlt__atp;

int rlt__atp_open(rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
void rlt__atp_close(rlt__atp *s);
/* Aggregator of a chunk. */
uint32_t rlt__atp_slot(const rlt_fabric_job *j, uint32_t chunk);
/* Handles a packet at a server. */
void rlt__atp_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server);
/* Answers a chunk with the partial sums it has: the time to wait for the rest of the tree is over. */
void rlt__atp_expire(rlt_fabric_job *j, uint32_t chunk);

#endif
