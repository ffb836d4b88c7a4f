/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ATP between its workers (atp.c) and its servers (atp_server.c). */
#ifndef RLT_COLLECTIVES_IN_NETWORK_ATP_H
#define RLT_COLLECTIVES_IN_NETWORK_ATP_H

#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct rlt__atp_worker {
    uint32_t next;   /* first chunk that was never sent */
    uint32_t base;   /* oldest that is missing */
    uint32_t flying; /* sent, and missing */
    uint32_t gaps;   /* results of later chunks since base is the oldest */
    uint32_t left;   /* results until the window is over */
    uint32_t silent; /* silences in a row */
    uint64_t cwnd;   /* bytes */
    rlt_time heard;  /* last result, or last bit sent */
    rlt_event timer;
    bool begun, marked;
} rlt__atp_worker;

/* What the answer to a chunk says besides the sum. */
enum { RLT__ATP_MARKED = 1 };

/* One place of the window at the servers: chunks chunk % window, one after another. */
typedef struct rlt__atp_place {
    uint32_t chunk; /* RLT_NONE: none yet */
    uint32_t count; /* workers in the sum */
    uint64_t sum;
    rlt_time replied; /* when last */
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
    uint64_t *seen; /* note_words of each place */
    /* By chunk: what was answered. A worker looks only once it has the answer that says so. */
    uint64_t *sums;
    uint8_t *rounds, *said;
} rlt__atp;

int rlt__atp_open(rlt_fabric_job *j, rlt_error *err) RLT_MUST_USE;
void rlt__atp_close(rlt__atp *s);
/* The aggregator of a chunk. */
uint32_t rlt__atp_slot(const rlt_fabric_job *j, uint32_t chunk);
/* A packet at a server. */
void rlt__atp_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server);
/* A chunk has waited long enough for the rest of a tree's partial sums. */
void rlt__atp_expire(rlt_fabric_job *j, uint32_t chunk);

#endif
