/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where hot parameters lie in a switch: in which packet, and in which register array. A packet of k values
 * that meets arrays, each of which it may touch once a pass, needs as many passes as values in its fullest
 * array; each pass beyond the first is a packet more through the recirculation port.
 *
 *   heat    parameters go by falling heat into packets, and a packet's values round the arrays: ceil(k / A)
 *           passes, and what is touched together travels together.
 *   random  arrays by chance: E[fullest of A bins after k balls] passes.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_PLACE_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_PLACE_H

#include <stdint.h>

#include "collectives/in_network/libra/workload.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_PACKET_VALUES = 1024, RLT_MAX_ARRAYS = 1024 };

typedef enum rlt_hot_order { RLT_PLACE_HEAT, RLT_PLACE_RANDOM } rlt_hot_order;

/* Passes of a packet whose values are spread evenly; the mean of those spread by chance, exact but for
 * rounding. 0 for no values; k and arrays within the limits above. */
uint32_t rlt_passes_even(uint32_t values, uint32_t arrays);
double rlt_passes_random(uint32_t values, uint32_t arrays);

typedef struct rlt_hot_layout {
    uint64_t n;      /* parameters */
    uint32_t values; /* of a packet */
    uint32_t arrays;
    uint64_t packets;
    uint16_t *array; /* of each parameter, in the order of the hot set; packet = index / values */
    uint32_t passes_most;
    double passes_mean; /* of packets */
    uint64_t entries;   /* of the fullest array: all arrays are as deep */
} rlt_hot_layout;

int rlt_hot_place(uint64_t n, uint32_t values, uint32_t arrays, rlt_hot_order order, uint64_t seed,
                  rlt_hot_layout *out, rlt_error *err) RLT_MUST_USE;
void rlt_hot_layout_free(rlt_hot_layout *l);

/* Packets with at least one update among those that one worker sends in a step of `updates`, and how much of
 * these is updates: hot parameters in packets by heat. */
double rlt_hot_packets_touched(const rlt_skew *k, const rlt_hot_set *h, uint32_t values, uint64_t updates,
                               double *fill);

/* What r = passes - 1 recirculations cost: packets through the pipeline grow (1 + r) fold, so its limit
 * falls; a packet is later by r of its own times at the recirculation port. */
typedef struct rlt_recirculation {
    double packets_per_s;
    double later_ps;
} rlt_recirculation;
rlt_recirculation rlt_recirculate(double passes, double packet_ps, double limit_per_s);

#ifdef __cplusplus
}
#endif
#endif
