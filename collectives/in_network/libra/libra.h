/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libra (arXiv 2205.05243) on a fabric: the figures that it reports beside the account of every protocol. Its
 * settings define the workload (collectives/in_network/libra/workload.h), the place of the hot set in the
 * switch (collectives/in_network/libra/place.h) and the protocol (collectives/in_network/libra/libra.c).
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
    double share;                       /* f: hot share of all updates */
    double packet_share;                /* hot share of the packets */
    uint64_t updates;                   /* updates of a worker in a step */
    uint64_t parameters;                /* parameters of the model; 0: the share was given */
    uint64_t hot;                       /* number of hot parameters; 0: the share was given */
    uint64_t counted;                   /* updates counted to find them */
    double touched;                     /* E[u_H]: distinct hot parameters updated in a step */
    uint64_t hot_packets, cold_packets; /* packets of a worker in a step */
    uint64_t register_bytes;            /* fewest slots granted at a switch, times payload */
    double passes, passes_random;       /* mean passes of a hot packet: as placed, and with random arrays */
    double law;                         /* predicted gain n / (n (1 - f) + f), with the packets' f */
    uint32_t steps;
    /* Connections of the whole job, without an aggregating switch, and at the server with the most. Without a
     * switch, every worker has one to every server. */
    uint64_t connections, connections_plain;
    uint32_t server_connections;
    uint32_t incast;  /* most packets that a server received for one chunk, retransmissions included */
    uint64_t flushes; /* partial sums that a switch sent after `flush` */
    /* Asynchronous: updates merged into a parameter since the value from which a worker computed its
     * update. */
    double staleness_mean;
    uint32_t staleness_worst;
} rlt_libra_report;

/* Reports on a Libra job, before or after the run. RLT_EUSAGE for a job of another protocol. */
int rlt_libra_report_of(const rlt_fabric *f, uint32_t job, rlt_libra_report *out,
                        rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
