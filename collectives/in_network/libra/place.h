/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places of hot parameters in a switch: their packets and register arrays. A packet of k values may touch
 * each of the A arrays once per pass. So it needs as many passes as it has values in its fullest array. Each
 * pass beyond the first is one more packet through the recirculation port.
 *
 *   heat    Parameters fill packets by falling heat, and arrays in rotation: ceil(k / A) passes. Parameters
 *           that are updated together travel together.
 *   random  Arrays are drawn at random: E[fullest of A bins after k balls] passes.
 *
 * Example: k = 64, A = 32: 2 passes by heat.
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

/* Passes of a packet whose values are spread evenly over the arrays; mean passes if they are spread at
 * random, exact up to rounding. 0 for no values; values and arrays must be within the limits above. */
uint32_t rlt_passes_even(uint32_t values, uint32_t arrays);
double rlt_passes_random(uint32_t values, uint32_t arrays);

typedef struct rlt_hot_layout {
    uint64_t n;      /* number of parameters */
    uint32_t values; /* values in a packet */
    uint32_t arrays;
    uint64_t packets;
    uint16_t *array; /* array of each parameter, in the order of the hot set; its packet is index / values */
    uint32_t passes_most;
    double passes_mean; /* mean over packets */
    uint64_t entries;   /* entries of the fullest array: all arrays have this depth */
} rlt_hot_layout;

int rlt_hot_place(uint64_t n, uint32_t values, uint32_t arrays, rlt_hot_order order, uint64_t seed,
                  rlt_hot_layout *out, rlt_error *err) RLT_MUST_USE;
void rlt_hot_layout_free(rlt_hot_layout *l);

/* Expected number of hot packets that one worker sends in a step of `updates` updates: packets with at least
 * one update, with parameters in packets by heat. *fill is the share of their values that are updates. */
double rlt_hot_packets_touched(const rlt_skew *k, const rlt_hot_set *h, uint32_t values, uint64_t updates,
                               double *fill);

/* Cost of r = passes - 1 recirculations. The pipeline carries 1 + r times as many packets, so its limit falls
 * to limit / (1 + r). A packet is delayed by r times its own time at the recirculation port. */
typedef struct rlt_recirculation {
    double packets_per_s;
    double later_ps;
} rlt_recirculation;
rlt_recirculation rlt_recirculate(double passes, double packet_ps, double limit_per_s);

#ifdef __cplusplus
}
#endif
#endif
