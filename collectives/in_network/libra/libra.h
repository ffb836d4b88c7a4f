/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libra (arXiv 2205.05243) on a fabric: the figures it reports beside every protocol's account. Its settings
 * make the workload (collectives/in_network/libra/workload.h), the place of the hot set in the switch
 * (collectives/in_network/libra/place.h) and the protocol: see collectives/in_network/libra/libra.c.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_LIBRA_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_LIBRA_H

#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_libra_report {
    double share;                       /* f: of all updates, what is hot */
    double packet_share;                /* of the packets */
    uint64_t updates;                   /* of a worker in a step */
    uint64_t parameters;                /* among which the hot ones were sought; 0: the share was given */
    uint64_t hot;                       /* parameters; 0: the share was given */
    uint64_t counted;                   /* updates looked at to find them */
    double touched;                     /* E[u_H] in a step */
    uint64_t hot_packets, cold_packets; /* of a worker in a step */
    uint64_t register_bytes;            /* slots x payload, of the fewest slots granted at a switch */
    double passes, passes_random;       /* of a hot packet as placed, and by chance */
    double law;                         /* n / (n (1 - f) + f) with the packets' f */
    uint32_t steps;
    /* Connections of the whole job, at the server with the most, and what they are without a switch that
     * adds: workers x servers, and workers. */
    uint64_t connections, connections_plain;
    uint32_t server_connections;
    uint32_t incast;  /* most packets that came to a server for one chunk, copies sent again included */
    uint64_t flushes; /* partial sums that a switch sent because time was over */
    /* Asynchronous: updates merged into a parameter since the value that their worker had last got. */
    double staleness_mean;
    uint32_t staleness_worst;
} rlt_libra_report;

/* What a job of Libra's did; RLT_EUSAGE for another job. After or before the run. */
int rlt_libra_report_of(const rlt_fabric *f, uint32_t job, rlt_libra_report *out,
                        rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
