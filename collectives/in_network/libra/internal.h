/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of Libra, shared by its workers (libra.c), its servers (server.c) and its plan (plan.c). */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_INTERNAL_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_INTERNAL_H

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/reactor.h"
#include "collectives/in_network/window.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* State of a chunk at its server. */
typedef struct rlt__libra_chunk {
    uint64_t sum;
    rlt_time replied; /* time of the last answer to all; -1: none yet */
    uint32_t count;   /* workers in the sum */
    uint32_t packets; /* packets received for it */
} rlt__libra_chunk;

typedef struct rlt__libra {
    rlt_window window;
    uint32_t *left; /* answers that each worker lacks in its step */
    rlt__libra_chunk *chunks;
    uint64_t *seen; /* contributors, note_words words per chunk */
    /* Asynchronous: updates merged into the parameters of each packet, and the number of them that each
     * worker has received. */
    uint32_t *updates, *pulled;
    uint64_t stale_sum, stale_n;
    uint32_t stale_worst;
    uint32_t per_step; /* chunks of a step */
    bool async;
    double hot; /* hot share of the packets */
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

/* Chooses the hot set, its share of the packets and its place in the switch. Fills report, hot and
 * per_step. */
int rlt__libra_plan(rlt_fabric_job *j, rlt__libra *s, rlt_error *err) RLT_MUST_USE;
bool rlt__libra_is_hot(const rlt__libra *s, uint32_t chunk);
/* Slot of a hot chunk. It belongs to the chunk's parameters and is the same in every step. */
uint32_t rlt__libra_slot(const rlt_fabric_job *j, uint32_t chunk);
uint32_t rlt__libra_server(const rlt_fabric_job *j, uint32_t chunk);
/* Handles a packet at a server. */
void rlt__libra_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server);
/* Asynchronous: whether the server has this worker's contribution to a chunk. */
static inline bool rlt__libra_has(const rlt_fabric_job *j, const rlt__libra *s, uint32_t chunk,
                                  uint32_t worker)
{
    return s->seen[(size_t)chunk * j->note_words + worker / 64] >> (worker % 64) & 1;
}
/* Complete sum of a chunk. */
uint64_t rlt__libra_whole(const rlt_fabric_job *j, uint32_t chunk);

#endif
