/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PyTorch host execution traces (ExecutionTraceObserver), schemas 1.0.1 and 1.0.2-chakra and later, plain or
 * gzip. They have only host operators, without times. Kept are the communications that record_param_comms
 * gives, in call order: they provide sizes for a recording without sizes.
 */
#ifndef RLT_WORKLOAD_READERS_KINETO_HOST_TRACE_H
#define RLT_WORKLOAD_READERS_KINETO_HOST_TRACE_H

#include "sim/base/error.h"
#include "sim/base/map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_HOST_MAX_COMMS = 1 << 24 };

typedef struct rlt_host_comm {
    uint64_t order;                 /* rf_id of the call */
    uint64_t in_elems, out_elems;   /* of the local buffers; lists of tensors are summed */
    uint32_t elem_bytes;            /* 0: unknown */
    uint32_t name, group;           /* texts; in old schemas the group is a pointer, different on each rank */
    uint32_t first_split, n_splits; /* split of the send buffer, in elements of the first dimension */
    uint32_t group_size;            /* 0: unknown */
    uint32_t rank_start, rank_stride;
    int64_t recorded_rank; /* as the call gives it: own rank, or the root of broadcasts and reduces */
} rlt_host_comm;

typedef struct rlt_host_trace {
    char *path;
    uint32_t rank;        /* from the content, else from the name, else RLT_NONE */
    rlt_host_comm *comms; /* without waits, in call order */
    uint64_t *splits;
    uint32_t n_comms, comms_capacity, n_splits, splits_capacity;
    uint64_t n_waits, hash;
    rlt_strings strings;
} rlt_host_trace;

int rlt_host_trace_load(const char *path, rlt_host_trace *out, rlt_error *err) RLT_MUST_USE;
void rlt_host_trace_free(rlt_host_trace *t);

#ifdef __cplusplus
}
#endif
#endif
