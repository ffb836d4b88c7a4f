/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants of the tuner by version: latencies in us, bandwidths in GB/s. */
#ifndef RLT_COLLECTIVES_TUNER_CONSTANTS_H
#define RLT_COLLECTIVES_TUNER_CONSTANTS_H

#include "collectives/tuner/tuner.h"

enum { RLT__ON_NVLINK, RLT__ON_PCIE, RLT__ON_NETWORK, RLT__HARDWARE };
enum { RLT__NVIDIA_ARCHES = RLT_TUNER_BLACKWELL + 1, RLT__NODE_CLASSES = 3 /* 1, 2, more */ };

typedef double rlt__by_arch[RLT__NVIDIA_ARCHES][RLT__NODE_CLASSES];

typedef struct rlt__tuner_constants {
    float base[RLT_TUNER_ALGORITHMS][RLT_TUNER_PROTOCOLS];
    float hop[RLT__HARDWARE][RLT_TUNER_ALGORITHMS][RLT_TUNER_PROTOCOLS];
    rlt__by_arch ll;         /* bound of LL; between nodes the row is the processor's, see rlt__ll_GBps */
    rlt__by_arch ring_ll128; /* bounds of one channel */
    rlt__by_arch tree_ll128, tree, nvls_tree;
} rlt__tuner_constants;

/* First release of each change, as rlt_library_version.number. */
enum {
    RLT__V2_18_3 = 21803,
    RLT__V2_19 = 21900,
    RLT__V2_20 = 22000,
    RLT__V2_21 = 22100,
    RLT__V2_23 = 22300,
    RLT__V2_24 = 22400,
    RLT__V2_25 = 22500,
    RLT__V2_26 = 22600,
    RLT__V2_27 = 22700,
    RLT__V2_28 = 22800,
    RLT__V2_28_7 = 22807,
    RLT__V2_29 = 22900,
    RLT__V2_29_7 = 22907,
    RLT__V2_30 = 23000
};

/* Fills *out with NCCL's constants of a version. */
void rlt__tuner_constants_of(uint32_t version, rlt__tuner_constants *out);
/* Returns the factor on the bandwidth of trees for a size (float steps of a factor of two from 64 B). */
float rlt__tree_correction(rlt_tuner_protocol p, uint64_t bytes, uint32_t entries);
/* Floor of the logarithm to base 2; x > 0. */
uint32_t rlt__log2(uint64_t x);
/* Fills *out with the prediction of RCCL for a candidate that can run. */
void rlt__rccl_predict(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_prediction *out);
/* Returns the channels that an algorithm works with. */
const rlt_tuner_pattern *rlt__tuner_pattern(const rlt_tuner_machine *m, rlt_tuner_algorithm a);
/* Returns why a candidate cannot run, or NULL. */
const char *rlt__tuner_excluded(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                                rlt_tuner_protocol p);
/* Time that a processor takes to post a message to the network, us. */
float rlt__tuner_posting_us(rlt_tuner_cpu cpu);
/* Steps of a ring: from GPU to GPU in all. */
uint32_t rlt__tuner_ring_steps(rlt_tuner_kind kind, uint32_t ranks);

#endif
