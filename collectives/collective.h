/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a collective is: kind, members, bytes. Members are 0 .. n-1; ranks[] maps them to ranks.
 *
 * `bytes` follows nccl-tests: all-reduce, broadcast, reduce, all-to-all: the buffer of one rank; all-gather,
 * gather: the total output; reduce-scatter, scatter: the total input; barrier: 0; point-to-point: the message
 * (member 0 sends to member 1). Bus bandwidth = bytes / time * factor: all-reduce 2(n-1)/n; all-gather,
 * reduce-scatter, all-to-all, gather, scatter (n-1)/n; others 1 (NVIDIA nccl-tests, doc/PERFORMANCE.md).
 */
#ifndef RLT_COLLECTIVES_COLLECTIVE_H
#define RLT_COLLECTIVES_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/endpoint.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name) */
#define RLT_COLLECTIVE_LIST(X)                                                                               \
    X(RLT_ALL_REDUCE, "all_reduce")                                                                          \
    X(RLT_REDUCE_SCATTER, "reduce_scatter")                                                                  \
    X(RLT_ALL_GATHER, "all_gather")                                                                          \
    X(RLT_ALL_TO_ALL, "all_to_all")                                                                          \
    X(RLT_BROADCAST, "broadcast")                                                                            \
    X(RLT_REDUCE, "reduce")                                                                                  \
    X(RLT_BARRIER, "barrier")                                                                                \
    X(RLT_SEND_RECV, "send_recv")                                                                            \
    X(RLT_GATHER, "gather")                                                                                  \
    X(RLT_SCATTER, "scatter")

typedef enum rlt_coll_kind {
#define RLT_X(e, name) e,
    RLT_COLLECTIVE_LIST(RLT_X)
#undef RLT_X
        RLT_COLL_KINDS
} rlt_coll_kind;

/* How chunks go through dimensions, see collectives/algorithms/schedule.h. */
typedef enum rlt_chunk_schedule {
    RLT_PIPELINE,
    RLT_BASELINE,
    RLT_THEMIS,
    RLT_CHUNK_SCHEDULES
} rlt_chunk_schedule;
/* Which of the chunks that wait for a dimension it serves next. */
typedef enum rlt_chunk_order { RLT_FIFO, RLT_SCF, RLT_CHUNK_ORDERS } rlt_chunk_order;

enum { RLT_MAX_MEMBERS = 1 << 24 };

/* Values of a parameter of one algorithm alone; `row` is that of its table. */
typedef struct rlt_coll_own {
    const rlt_param *row;
    rlt_param_value value;
} rlt_coll_own;

/* The parameters of algorithms, as one value; 0 means the algorithm's default. Which of them an algorithm
 * has, its table says (rlt_algorithm.parameters). */
enum { RLT_MAX_OWN = 8 };
typedef struct rlt_coll_params {
    uint32_t channels, chunks, window, directions;
    uint32_t servers;         /* parameter servers: the last members of the group also serve */
    uint32_t schedule, order; /* rlt_chunk_schedule, rlt_chunk_order */
    uint32_t n_own;
    /* Pattern inside each dimension, by name, borrowed; NULL: the algorithm chooses by shape. */
    const char *patterns[RLT_MAX_DIMS];
    rlt_coll_own own[RLT_MAX_OWN];
} rlt_coll_params;

typedef struct rlt_coll_request {
    rlt_coll_kind kind;
    uint32_t n;            /* members */
    uint32_t root;         /* member, for broadcast, reduce, gather and scatter */
    const uint32_t *ranks; /* rank of a member, borrowed; NULL: member i is rank i */
    uint64_t bytes;
    /* The v-collectives' counts, borrowed; NULL: even. All-to-all: bytes from member i to j at [i * n + j].
     * All-gather, reduce-scatter, gather, scatter: bytes of member i's share at [i], whose sum is `bytes`. */
    const uint64_t *counts;
    /* The group's own dimensions, innermost first, for hierarchical algorithms: product of sizes = n, member
     * index is mixed radix. shape[] tells which pattern suits a dimension ("ring", "switch",
     * "fully-connected", ...). */
    uint32_t n_dims;
    uint32_t dims[RLT_MAX_DIMS];
    const char *shapes[RLT_MAX_DIMS];
    uint32_t axes[RLT_MAX_DIMS]; /* the topology's dimension that each lies in; RLT_NONE: in none alone */
    /* Ring orders along real links, each a permutation of the members, borrowed; 0: natural order. */
    uint32_t n_rings;
    const uint32_t *const *rings;
    rlt_coll_params params;          /* patterns by dimension of the group */
    const struct rlt_listed *listed; /* steps made elsewhere, for the algorithm "custom"; borrowed */
    uint32_t element;                /* bytes of an element; 0: 2 or more */
    /* Costs in force, borrowed until the plan is made; NULL: the topology's. */
    const rlt_endpoint *endpoint;
    /* Where the ranks are, for algorithms that look at the network; borrowed; NULL: unknown. */
    const rlt_topology *topology;
    const rlt_placement *placement;
} rlt_coll_request;

RLT_API const char *rlt_coll_name(rlt_coll_kind kind);
/* The patterns inside a dimension; NULL past the end. */
RLT_API const char *rlt_pattern_name(uint32_t i);
/* The pattern of one dimension; the field is a uint8_t, its number. */
RLT_API extern const rlt_param rlt_pattern_parameter;
/* "pipeline", ..., "fifo", ...; NULL past the end. */
RLT_API const char *rlt_chunk_schedule_name(uint32_t i);
RLT_API const char *rlt_chunk_order_name(uint32_t i);
/* By name, dashes and case do not matter ("AllReduce", "all-reduce"); the error lists the known ones. */
RLT_API int rlt_coll_parse(const char *name, rlt_coll_kind *kind, rlt_error *err) RLT_MUST_USE;
/* Whether one member is the root: broadcast, reduce, gather, scatter. */
static inline bool rlt_coll_rooted(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE || kind == RLT_GATHER || kind == RLT_SCATTER;
}
/* Bytes of an element of a type as NCCL and its tests name them; 0: unknown. */
RLT_API uint32_t rlt_dtype_bytes(const char *name);
/* Bus bandwidth factor. */
RLT_API double rlt_busbw_factor(rlt_coll_kind kind, uint32_t n);
/* Parameters whose patterns are by dimension of the topology into the request. */
RLT_API void rlt_request_params(rlt_coll_request *req, const rlt_coll_params *params);
/* Patterns by dimension of the topology into those by dimension of the group. */
RLT_API void rlt_request_patterns(rlt_coll_request *req, const char *const by_dimension[RLT_MAX_DIMS]);
/* Rank of a member. */
static inline uint32_t rlt_member_rank(const rlt_coll_request *r, uint32_t member)
{
    return r->ranks ? r->ranks[member] : member;
}

/*
 * What the topology tells about a group: fills n_dims, dims, shapes when the group's accelerators form a
 * sub-grid of a product (or the file's logical dimensions), else one dimension; and rings, by restricting the
 * topology's recommended ring orders to the group. The arrays belong to the rlt_group.
 */
typedef struct rlt_group {
    uint32_t n;
    uint32_t *ranks; /* owned; NULL: identity */
    uint32_t n_dims;
    uint32_t dims[RLT_MAX_DIMS];
    const char *shapes[RLT_MAX_DIMS]; /* borrowed from the topology */
    uint32_t axes[RLT_MAX_DIMS];      /* the topology's dimensions that they lie in */
    uint32_t n_rings;
    uint32_t **rings;             /* owned */
    const rlt_topology *topology; /* borrowed */
    const rlt_placement *placement;
} rlt_group;
/* ranks NULL: 0 .. n-1. RLT_ERANGE for a rank outside the placement, RLT_ESCHEMA for one named twice. */
RLT_API int rlt_group_create(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n,
                             rlt_group *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_group_free(rlt_group *g);
/* A request over the group (borrowing from it). */
RLT_API rlt_coll_request rlt_group_request(const rlt_group *g, rlt_coll_kind kind, uint64_t bytes);

/* Whether the request says how large each member's share is. */
static inline bool rlt_shares_counted(const rlt_coll_request *req)
{
    return req->counts && (req->kind == RLT_ALL_GATHER || req->kind == RLT_REDUCE_SCATTER ||
                           req->kind == RLT_GATHER || req->kind == RLT_SCATTER);
}

#ifdef __cplusplus
}
#endif
#endif
