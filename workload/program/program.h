/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The execution graph: what every reader and generator produces and replay runs. Built through a builder,
 * checked, then immutable and shareable between threads.
 *
 * An operation belongs to a rank and, usually, to one of its resources (a host thread, a stream, a copy
 * engine): a resource runs one operation at a time, among those ready the earliest built first. It starts
 * when all operations it depends on have ended and its resource is free. Dependencies stay inside a rank;
 * ranks meet in collectives and point-to-point messages only.
 *
 * Collectives are matched across ranks by order: the k-th collective that a rank issues on a group is the
 * same operation as the k-th of every other member. finish() refuses groups whose members disagree (other
 * kind, size, root, count), cyclic dependencies, and unknown ids, naming rank and operation. A send is
 * matched with the k-th receive of the same (source, destination, tag); those left over stay unmatched: the
 * run then ends with work pending and says so.
 *
 * Memory: 64 bytes an operation, 4 a dependency, 12 a matched member.
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
    RLT_OP_DELAY,   /* time passes, nobody works: counts as idle */
    RLT_OP_COLLECTIVE,
    RLT_OP_SEND,
    RLT_OP_RECV,
} rlt_op_kind;

typedef enum rlt_resource_kind {
    RLT_RES_HOST,    /* a host thread */
    RLT_RES_STREAM,  /* a device stream */
    RLT_RES_COPY,    /* a copy engine or copy stream */
    RLT_RES_NETWORK, /* serialises communication that has no stream of its own */
    RLT_RES_ARRIVAL, /* a device stream that takes what became ready first, not what was built first */
} rlt_resource_kind;

typedef struct rlt_resource {
    uint32_t rank;
    uint32_t name; /* of the program's strings */
    rlt_resource_kind kind;
} rlt_resource;

typedef struct rlt_op {
    rlt_time duration_ps; /* of compute, memory, host, delay at scale 1; of communication 0, or see timed */
    rlt_time recorded_ps; /* recorded start since the program's epoch, or -1 */
    rlt_time recorded_duration_ps; /* as recorded (with waiting, for communication), or -1 */
    uint32_t rank, resource;       /* resource RLT_NONE: none, starts when ready */
    uint32_t first_dep, n_deps;
    uint32_t name;
    uint32_t comm;   /* index of the matched communication, or RLT_NONE */
    uint32_t member; /* of it */
    uint16_t step;   /* iteration of the trace, 0, 1, ... */
    uint8_t kind;
} rlt_op;

/* A matched communication: a collective, or a send with its receive (kind RLT_SEND_RECV; member 0 sends). */
typedef struct rlt_comm {
    rlt_coll_kind kind;
    uint32_t group;    /* of the program's groups */
    uint32_t root;     /* member */
    uint32_t sequence; /* k-th on its group */
    uint32_t first_op; /* comm_ops[first_op + member] is member's operation */
    uint32_t step;
    uint64_t bytes; /* convention of collectives/collective.h; all-to-all-v: the largest buffer of a member */
    /* A recording told how long it takes and not its bytes: once all members are there, messages too, each
     * member's operation takes its own duration_ps (over the network's scale); no link carries anything. */
    bool timed;
    const uint64_t *counts; /* n * n; of a gather whose members differ, n shares; or NULL */
} rlt_comm;

typedef struct rlt_program {
    uint32_t n_ranks, n_ops, n_deps, n_resources, n_groups, n_comms, n_comm_ops, n_steps, n_notes;
    const rlt_op *ops; /* of rank r: ops[rank_first[r] .. rank_first[r + 1]) in the order built */
    const uint32_t *rank_first;
    const uint32_t *deps; /* operation indices */
    const rlt_resource *resources;
    const uint32_t *group_first; /* ranks of group g: group_ranks[group_first[g] .. group_first[g + 1]) */
    const uint32_t *group_ranks;
    const uint32_t *group_names; /* labels, of the program's strings; "" where there is none */
    const rlt_comm *comms;
    const uint32_t *comm_ops;
    const rlt_time *rank_start_ps;    /* recorded start offset of each rank, smallest 0 */
    const rlt_time *rank_recorded_ps; /* recorded span of each rank's steps, for comparison; -1: unknown */
    /* What a reader ignored, replaced or assumed: text and how often. */
    const struct rlt_note {
        const char *text;
        uint64_t count;
    } * notes;
    uint32_t n_layers;               /* of the model, as a file or generator lists them; 0: not told */
    uint64_t hash;                   /* of the inputs */
    const char *reader;              /* name of the reader or generator */
    struct rlt_program_store *store; /* owns everything */
} rlt_program;

RLT_API void rlt_program_free(rlt_program *p);
RLT_API const char *rlt_program_string(const rlt_program *p, uint32_t name);

typedef struct rlt_builder rlt_builder;

RLT_API int rlt_builder_create(uint32_t n_ranks, rlt_builder **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_builder_free(rlt_builder *b);

/* The functions below that return an index return RLT_NONE once anything has failed (no memory, a limit, a
 * wrong argument); the first failure is kept and rlt_builder_finish reports it, so a reader may check once at
 * its end. */
RLT_API uint32_t rlt_build_string(rlt_builder *b, const char *s, size_t length);
RLT_API uint32_t rlt_build_resource(rlt_builder *b, uint32_t rank, rlt_resource_kind kind, const char *name);
/* Group of ranks in member order. `label` distinguishes communicators over the same ranks (NCCL process
 * groups match separately) and names it in messages; two calls with equal label but other ranks are an error
 * (members disagree). "" for unnamed. */
RLT_API uint32_t rlt_build_group(rlt_builder *b, const char *label, const uint32_t *ranks, uint32_t n);

typedef struct rlt_op_desc {
    rlt_op_kind kind;
    uint32_t rank, resource, name;
    rlt_time duration_ps;
    rlt_time recorded_ps, recorded_duration_ps; /* -1: none */
    uint16_t step;
    /* collectives */
    rlt_coll_kind coll;
    uint32_t group, root;
    uint64_t bytes;
    const uint64_t *send_counts; /* all-to-all-v: bytes to each member, copied; NULL: even */
    bool timed;                  /* of communication: see rlt_comm; bytes are then 0 */
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
/* The operation's index for rlt_build_dep. */
RLT_API uint32_t rlt_build_op(rlt_builder *b, const rlt_op_desc *d);
/* `op` starts after `on` has ended; both of one rank, either may have been built first. */
RLT_API void rlt_build_dep(rlt_builder *b, uint32_t op, uint32_t on);
RLT_API void rlt_build_rank_start(rlt_builder *b, uint32_t rank, rlt_time recorded_ps);
RLT_API void rlt_build_rank_recorded(rlt_builder *b, uint32_t rank, rlt_time span_ps);
RLT_API void rlt_build_note(rlt_builder *b, uint64_t count, const char *fmt, ...) RLT_PRINTF(3);
RLT_API void rlt_build_hash(rlt_builder *b, uint64_t hash);
RLT_API void rlt_build_layers(rlt_builder *b, uint32_t n);
/* Records a failure of the caller's own, with its place. */
RLT_API void rlt_build_fail(rlt_builder *b, const rlt_error *err);
RLT_API bool rlt_build_failed(const rlt_builder *b);
/* Checks, matches, freezes. The builder is consumed (freed) in every case. */
RLT_API int rlt_builder_finish(rlt_builder *b, const char *reader, rlt_program **out,
                               rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
