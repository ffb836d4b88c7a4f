/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of ASTRA-sim's system JSON, shared by its reader and the timing mode. */
#ifndef RLT_WORKLOAD_TIMING_ASTRA_SYSTEM_H
#define RLT_WORKLOAD_TIMING_ASTRA_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/program/reader.h"

typedef enum rlt_astra_algorithm {
    RLT_ASTRA_NONE,
    RLT_ASTRA_RING,
    RLT_ASTRA_DIRECT,
    RLT_ASTRA_HALVING_DOUBLING,
    RLT_ASTRA_TREE, /* doubleBinaryTree */
} rlt_astra_algorithm;

enum {
    RLT_ASTRA_ALL_REDUCE,
    RLT_ASTRA_ALL_GATHER,
    RLT_ASTRA_REDUCE_SCATTER,
    RLT_ASTRA_ALL_TO_ALL,
    RLT_ASTRA_KINDS
};

typedef struct rlt_astra_implementation {
    uint32_t n; /* algorithms named: one per dimension */
    bool one;   /* all dimensions count as one */
    bool custom, windowed;
    uint8_t algorithm[RLT_MAX_DIMS];
} rlt_astra_implementation;

typedef struct rlt_astra_system {
    uint64_t splits, active_chunks, endpoint_ns;
    uint64_t memory_Bps; /* bandwidth of local reductions; 0: they are free */
    bool baseline;       /* a full-size all-reduce in each dimension */
    bool roofline;
    bool shares_links; /* the congestion-aware back-end; set by the caller, not the file */
    uint64_t peak_Flops;
    rlt_astra_implementation implementation[RLT_ASTRA_KINDS];
} rlt_astra_system;

/* Loads a system file. Ignores keys that ASTRA-sim does not read either: its files have many. */
int rlt__astra_system_load(const char *path, rlt_astra_system *out, rlt_error *err) RLT_MUST_USE;

#endif
