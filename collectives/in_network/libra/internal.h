/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libra between its workers (libra.c), its servers (server.c) and its hot set (plan.c). */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_INTERNAL_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_INTERNAL_H

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/reactor.h"
#include "collectives/in_network/window.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* A chunk at its server. */
typedef struct rlt__libra_chunk {
    uint64_t sum;
    rlt_time replied; /* to all, when last; -1: never */
    uint32_t count;   /* workers in the sum */
    uint32_t packets; /* that came for it */
} rlt__libra_chunk;

typedef struct rlt__libra {
    rlt_window window;
    uint32_t *left; /* of each worker: answers until its step is over */
    rlt__libra_chunk *chunks;
    uint64_t *seen; /* note_words of each chunk */
    /* Asynchronous: updates merged into each packet's parameters; of these, what a worker has got. */
    uint32_t *updates, *pulled;
    uint64_t stale_sum, stale_n;
    uint32_t stale_worst;
    uint32_t per_step; /* chunks of a step */
    bool async;
    double hot; /* share of the packets */
    rlt_time flush, compute, connection;
    double jitter;
    uint64_t seed;
    rlt_libra_report report;
} rlt__libra;

enum {
    RLT__LIBRA_WINDOW,
    RLT__LIBRA_PAYLOAD,
    RLT__LIBRA_HEADER,
    RLT__LIBRA_SHARE,
    RLT__LIBRA_PARAMETERS,
    RLT__LIBRA_ZIPF,
    RLT__LIBRA_SAMPLE_STEPS,
    RLT__LIBRA_SAMPLED,
    RLT__LIBRA_MEMORY,
    RLT__LIBRA_ARRAYS,
    RLT__LIBRA_ORDER,
    RLT__LIBRA_RECIRCULATION,
    RLT__LIBRA_ENTRY,
    RLT__LIBRA_COLD_ENTRY,
    RLT__LIBRA_SERVERS,
    RLT__LIBRA_MODE,
    RLT__LIBRA_FLUSH,
    RLT__LIBRA_STEPS,
    RLT__LIBRA_COMPUTE,
    RLT__LIBRA_JITTER,
    RLT__LIBRA_CONN_COST,
    RLT__LIBRA_RTO,
    RLT__LIBRA_TRIES,
    RLT__LIBRA_PLACE,
    RLT__LIBRA_SEED,
};

/* The hot set, its share, its place in the switch: fills report, hot, per_step. */
int rlt__libra_plan(rlt_fabric_job *j, rlt__libra *s, rlt_error *err) RLT_MUST_USE;
bool rlt__libra_is_hot(const rlt__libra *s, uint32_t chunk);
/* The slot of a chunk: that of its parameters, the same in every step. */
uint32_t rlt__libra_slot(const rlt_fabric_job *j, uint32_t chunk);
uint32_t rlt__libra_server(const rlt_fabric_job *j, uint32_t chunk);
/* A packet at a server. */
void rlt__libra_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server);
/* Asynchronous: a server has this worker's part of a chunk. */
static inline bool rlt__libra_has(const rlt_fabric_job *j, const rlt__libra *s, uint32_t chunk,
                                  uint32_t worker)
{
    return s->seen[(size_t)chunk * j->note_words + worker / 64] >> (worker % 64) & 1;
}
/* The sum that a chunk is to have. */
uint64_t rlt__libra_whole(const rlt_fabric_job *j, uint32_t chunk);

#endif
