/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The execution graph. Every reader and generator produces one; replay runs it. It is collected by a builder,
 * checked once, and then immutable, so that threads can share it.
 *
 * An operation belongs to a rank and, usually, to one of the rank's resources: a host thread, a stream, a
 * copy engine. A resource runs one operation at a time. Among ready operations it takes the one that was
 * built first. An operation starts when all operations it depends on have ended and its resource is free.
 * Dependencies stay inside a rank. Ranks meet only in collectives and point-to-point messages.
 *
 * Collectives are matched across ranks by order: the k-th collective that a rank issues on a group is the
 * same operation as the k-th of every other member. A send is matched with the k-th receive of the same
 * (source, destination, tag). Example: rank 0 sends 4 KiB and then 8 KiB to rank 1 with tag 7; rank 1's first
 * receive from rank 0 with tag 7 gets the 4 KiB. Unmatched sends and receives stay pending: the run stalls
 * and reports them.
 *
 * rlt_builder_finish refuses three things, naming rank and operation: a collective whose members disagree
 * (kind, size, root or count), cyclic dependencies, and unknown ids.
 *
 * Memory: 56 bytes per operation, 4 per dependency, 12 per member of a matched communication.
 */
#ifndef RLT_WORKLOAD_PROGRAM_PROGRAM_H
#define RLT_WORKLOAD_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_OPS = 1 << 28, RLT_MAX_RANKS = 1 << 24 };

typedef enum rlt_op_kind {
    RLT_OP_COMPUTE, /* device work */
    RLT_OP_MEMORY,  /* copies and sets on the device; counts as compute */
    RLT_OP_HOST,    /* host work */
    RLT_OP_DELAY,   /* nobody works; counts as idle, or as communication if it has a purpose */
    RLT_OP_COLLECTIVE,
    RLT_OP_SEND,
    RLT_OP_RECV,
} rlt_op_kind;

/* Purpose of a communication: the axis of the layout along which its ranks differ. */
typedef enum rlt_purpose {
    RLT_FOR_UNKNOWN,
    RLT_FOR_TP,
    RLT_FOR_CP,
    RLT_FOR_EP,
    RLT_FOR_DP,
    RLT_FOR_PP,
    RLT_FOR_OFFLOAD, /* copies between a device and its host; such an operation counts as communication */
    RLT_PURPOSES
} rlt_purpose;
/* Returns the purpose that the label of a group names, such as "tp of rank 0", "ep_dp_group 3" (data
 * parallelism of experts) or "TENSOR_MODEL_PARALLEL_GROUP". */
RLT_API rlt_purpose rlt_purpose_of(const char *label);

typedef enum rlt_resource_kind {
    RLT_RES_HOST,    /* a host thread */
    RLT_RES_STREAM,  /* a device stream */
    RLT_RES_COPY,    /* a copy engine or copy stream */
    RLT_RES_NETWORK, /* serialises communication that has no stream of its own */
    /* a device stream that takes operations in the order they became ready, not the order they were built */
    RLT_RES_ARRIVAL,
} rlt_resource_kind;

typedef struct rlt_resource {
    uint32_t rank;
    uint32_t name; /* index into the program's strings */
    rlt_resource_kind kind;
} rlt_resource;

typedef struct rlt_op {
    rlt_time duration_ps; /* compute, memory, host, delay: at scale 1; communication: 0 unless timed */
    rlt_time recorded_ps; /* recorded start since the program's epoch; -1: unknown */
    rlt_time recorded_duration_ps; /* recorded duration, for communication with the waiting; -1: unknown */
    uint32_t rank, resource;       /* resource RLT_NONE: starts as soon as it is ready */
    uint32_t first_dep, n_deps;
    uint32_t name;
    uint32_t comm;   /* index of the matched communication, or RLT_NONE */
    uint32_t member; /* member index in that communication */
    uint16_t step;   /* iteration of the trace, from 0 */
    uint8_t kind;
    uint8_t purpose; /* rlt_purpose */
} rlt_op;

/* A matched communication: a collective, or a send with its receive (kind RLT_SEND_RECV; member 0 sends). */
typedef struct rlt_comm {
    rlt_coll_kind kind;
    uint32_t group;    /* index into the program's groups */
    uint32_t root;     /* member index of the root */
    uint32_t sequence; /* k: this is the k-th communication on its group */
    uint32_t first_op; /* comm_ops[first_op + m] is the operation of member m */
    uint32_t step;
    uint64_t bytes; /* counted as in collectives/collective.h; all-to-all-v: the largest buffer of a member */
    /* True if the recording gives the duration but not the bytes. The communication starts once all members
     * are there, for messages too. Each member's operation then takes its own duration_ps, divided by the
     * network's scale. No link carries anything. */
    bool timed;
    /* all-to-all-v: n * n bytes by sender and receiver; gather with unequal shares: n shares; else NULL */
    const uint64_t *counts;
} rlt_comm;

typedef struct rlt_program {
    uint32_t n_ranks, n_ops, n_deps, n_resources, n_groups, n_comms, n_comm_ops, n_steps, n_notes;
    const rlt_op *ops; /* operations of rank r: ops[rank_first[r] .. rank_first[r + 1]), in the order built */
    const uint32_t *rank_first;
    const uint32_t *deps; /* operation indices */
    const rlt_resource *resources;
    const uint32_t *group_first; /* ranks of group g: group_ranks[group_first[g] .. group_first[g + 1]) */
    const uint32_t *group_ranks;
    /* label of each group, an index into the program's strings; "" for unnamed */
    const uint32_t *group_names;
    const rlt_comm *comms;
    const uint32_t *comm_ops;
    const rlt_time *rank_start_ps;    /* recorded start of each rank; the smallest is 0 */
    const rlt_time *rank_recorded_ps; /* recorded span of each rank's steps, for comparison; -1: unknown */
    /* Notes of the reader: what it ignored, replaced or assumed, and how often. */
    const struct rlt_note {
        const char *text;
        uint64_t count;
    } * notes;
    /* layers of the model, as the file or generator lists them; 0: unknown */
    uint32_t n_layers;
    uint64_t hash;                   /* hash of the inputs */
    const char *reader;              /* name of the reader or generator */
    struct rlt_program_store *store; /* owner of all arrays and strings */
} rlt_program;

RLT_API void rlt_program_free(rlt_program *p);
RLT_API const char *rlt_program_string(const rlt_program *p, uint32_t name);

typedef struct rlt_builder rlt_builder;

RLT_API int rlt_builder_create(uint32_t n_ranks, rlt_builder **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_builder_free(rlt_builder *b);

/* Functions below that return an index return RLT_NONE after a failure (no memory, a limit, a wrong
 * argument). The builder keeps the first failure and rlt_builder_finish reports it, so a reader may check
 * once at its end. */
RLT_API uint32_t rlt_build_string(rlt_builder *b, const char *s, size_t length);
RLT_API uint32_t rlt_build_resource(rlt_builder *b, uint32_t rank, rlt_resource_kind kind, const char *name);
/* Returns a group of ranks in member order. `label` names the group in messages and distinguishes
 * communicators over the same ranks (NCCL process groups match separately); "" for unnamed. Two calls with
 * equal label but different ranks are an error. */
RLT_API uint32_t rlt_build_group(rlt_builder *b, const char *label, const uint32_t *ranks, uint32_t n);

typedef struct rlt_op_desc {
    rlt_op_kind kind;
    uint32_t rank, resource, name;
    rlt_time duration_ps;
    rlt_time recorded_ps, recorded_duration_ps; /* -1: unknown */
    uint16_t step;
    rlt_purpose purpose; /* RLT_FOR_UNKNOWN: for collectives, what the label of the group says */
    /* collectives */
    rlt_coll_kind coll;
    uint32_t group, root;
    uint64_t bytes;
    const uint64_t *send_counts; /* all-to-all-v: bytes to each member, copied; NULL: equal shares */
    bool timed;                  /* communication only, see rlt_comm.timed; bytes must then be 0 */
    /* send and receive */
    uint32_t peer, tag;
} rlt_op_desc;
static inline rlt_op_desc rlt_op_desc_init(rlt_op_kind kind, uint32_t rank)
{
    rlt_op_desc d;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.rank = rank;
    d.resource = d.name = d.group = d.peer = RLT_NONE;
    d.recorded_ps = d.recorded_duration_ps = -1;
    return d;
}
/* Adds an operation. Returns its index, for rlt_build_dep. */
RLT_API uint32_t rlt_build_op(rlt_builder *b, const rlt_op_desc *d);
/* Makes `op` start after `on` has ended. Both belong to one rank; either may have been built first. */
RLT_API void rlt_build_dep(rlt_builder *b, uint32_t op, uint32_t on);
RLT_API void rlt_build_rank_start(rlt_builder *b, uint32_t rank, rlt_time recorded_ps);
RLT_API void rlt_build_rank_recorded(rlt_builder *b, uint32_t rank, rlt_time span_ps);
RLT_API void rlt_build_note(rlt_builder *b, uint64_t count, const char *fmt, ...) RLT_PRINTF(3);
RLT_API void rlt_build_hash(rlt_builder *b, uint64_t hash);
RLT_API void rlt_build_layers(rlt_builder *b, uint32_t n);
/* Records a failure of the caller, with its place. */
RLT_API void rlt_build_fail(rlt_builder *b, const rlt_error *err);
RLT_API bool rlt_build_failed(const rlt_builder *b);
/* Checks and matches the operations, and freezes the program. Frees the builder in every case. */
RLT_API int rlt_builder_finish(rlt_builder *b, const char *reader, rlt_program **out,
                               rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
