/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of the ASTRA-sim timing mode. Times are whole nanoseconds, at most RLT_ASTRA_MAX_NS. */
#ifndef RLT_WORKLOAD_TIMING_ASTRA_MODEL_H
#define RLT_WORKLOAD_TIMING_ASTRA_MODEL_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/timing/astra_system.h"
#include "workload/timing/timing.h"

#define RLT_ASTRA_MAX_NS ((uint64_t)(RLT_TIME_MAX / RLT_NS))

/* Sum of products of steps and times, before it is checked against the limit. */
typedef unsigned __int128 rlt_astra_wide;

typedef enum rlt_astra_shape {
    RLT_ASTRA_SHAPE_RING,
    RLT_ASTRA_SHAPE_FULL,
    RLT_ASTRA_SHAPE_SWITCH,
} rlt_astra_shape;

typedef struct rlt_astra_dim {
    rlt_astra_shape shape;
    uint32_t size;
    uint64_t bw_Bps; /* bandwidth of a link */
    rlt_time latency_ps;
} rlt_astra_dim;

typedef struct rlt_astra {
    rlt_timing timing;
    rlt_astra_system system;
    uint32_t n_dims, n_ranks;
    rlt_astra_dim dims[RLT_MAX_DIMS];
} rlt_astra;

/* A list of ranks as a logical ring or group; list NULL: all ranks in order. */
typedef struct rlt_astra_ranks {
    const rlt_astra *a;
    const uint32_t *list;
    uint32_t n;
} rlt_astra_ranks;

/* A phase of a chunk, in one dimension. */
typedef struct rlt_astra_part {
    uint32_t dim;
    int kind; /* for the phases of an all-reduce: its own, or reduce-scatter and all-gather */
    uint8_t algorithm;
    uint64_t chunk;
} rlt_astra_part;

static inline uint64_t rlt__astra_bound(rlt_astra_wide ns)
{
    return ns > RLT_ASTRA_MAX_NS ? RLT_ASTRA_MAX_NS : (uint64_t)ns;
}

/* Returns the time of a local reduction, 3 floor(bytes / memory bandwidth): two reads and one write. */
uint64_t rlt__astra_reduce(const rlt_astra *a, uint64_t bytes);
/* Returns the time of a message between two ranks. It is charged in the lowest dimension in which they
 * differ. */
uint64_t rlt__astra_pair(const rlt_astra *a, uint32_t from, uint32_t to, uint64_t bytes);
int rlt__astra_unsupported(int kind, const char *why, rlt_error *err);
/* Checks that an algorithm has a closed form for n ranks. */
int rlt__astra_check(int kind, uint8_t algorithm, uint64_t n, rlt_error *err) RLT_MUST_USE;
/* Returns k if n = 2^k, else -1. */
int rlt__astra_log2(uint64_t n);
/* Computes the time of a chunk's phase in a dimension. */
int rlt__astra_phase(const rlt_astra *a, const rlt_astra_part *p, uint64_t *ns, rlt_error *err) RLT_MUST_USE;
/* Computes the time of a whole collective over a list of ranks as one dimension. */
int rlt__astra_listed(const rlt_astra_ranks *r, int kind, uint8_t algorithm, uint64_t chunk, uint32_t chunks,
                      uint64_t *end, rlt_error *err) RLT_MUST_USE;
/* Computes a doubleBinaryTree collective: all-reduce only, n a power of two. */
int rlt__astra_tree(const rlt_astra_ranks *r, uint64_t chunk, uint32_t chunks, uint64_t *end,
                    rlt_error *err) RLT_MUST_USE;

#endif
