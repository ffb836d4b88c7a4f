/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A collective operation: its kind, members and bytes. Members are 0 .. n-1; ranks[] maps them to ranks.
 *
 * `bytes` follows nccl-tests:
 *   all-reduce, broadcast, reduce, all-to-all   buffer of one rank
 *   all-gather, gather                          total output
 *   reduce-scatter, scatter                     total input
 *   barrier                                     0
 *   point-to-point                              the message, from member 0 to member 1
 *
 * Bus bandwidth = bytes / time * factor (NVIDIA nccl-tests, doc/PERFORMANCE.md). The factor is 2(n-1)/n for
 * all-reduce; (n-1)/n for all-gather, reduce-scatter, all-to-all, gather and scatter; else 1. Example: an
 * all-reduce of 1 GB over 4 ranks in 10 ms has an algorithm bandwidth of 100 GB/s and a bus bandwidth of 150
 * GB/s.
 */
#ifndef RLT_COLLECTIVES_COLLECTIVE_H
#define RLT_COLLECTIVES_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint/endpoint.h"
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

/* Order in which chunks visit the dimensions, see collectives/algorithms/schedule.h. */
typedef enum rlt_chunk_schedule {
    RLT_PIPELINE,
    RLT_BASELINE,
    RLT_THEMIS,
    RLT_CHUNK_SCHEDULES
} rlt_chunk_schedule;
/* Order in which a dimension serves its waiting chunks. */
typedef enum rlt_chunk_order { RLT_FIFO, RLT_SCF, RLT_CHUNK_ORDERS } rlt_chunk_order;

enum { RLT_MAX_MEMBERS = 1 << 24 };

/* Value of a parameter that belongs to one algorithm; `row` is its row in that algorithm's table. */
typedef struct rlt_coll_own {
    const rlt_param *row;
    rlt_param_value value;
} rlt_coll_own;

/* Parameter values of algorithms; 0 selects the algorithm's default. rlt_algorithm.parameters says which
 * parameters an algorithm has. */
enum { RLT_MAX_OWN = 8 };
typedef struct rlt_coll_params {
    uint32_t channels, chunks, window, directions;
    /* number of parameter servers: the last members of the group, which also work */
    uint32_t servers;
    uint32_t schedule, order; /* rlt_chunk_schedule, rlt_chunk_order */
    uint32_t n_own;
    /* Name of the pattern inside each dimension, borrowed; NULL: the algorithm chooses by shape. */
    const char *patterns[RLT_MAX_DIMS];
    rlt_coll_own own[RLT_MAX_OWN];
} rlt_coll_params;

typedef struct rlt_coll_request {
    rlt_coll_kind kind;
    uint32_t n;            /* members */
    uint32_t root;         /* member, for broadcast, reduce, gather and scatter */
    const uint32_t *ranks; /* rank of each member, borrowed; NULL: member i is rank i */
    uint64_t bytes;
    /* Counts of the v-collectives, borrowed; NULL: even shares. All-to-all: counts[i * n + j] is the bytes
     * from member i to member j. All-gather, reduce-scatter, gather, scatter: counts[i] is the bytes of
     * member i's share; they sum up to `bytes`. */
    const uint64_t *counts;
    /* Dimensions of the group, innermost first, for hierarchical algorithms. The product of the sizes is n; a
     * member index is mixed radix in them. shapes[] names the shape of each dimension ("ring", "switch",
     * "fully-connected", ...), which selects its pattern. */
    uint32_t n_dims;
    uint32_t dims[RLT_MAX_DIMS];
    const char *shapes[RLT_MAX_DIMS];
    /* dimension of the topology that contains each one; RLT_NONE: not inside a single one */
    uint32_t axes[RLT_MAX_DIMS];
    /* Members of a node: members k * node .. (k + 1) * node - 1 are on one node, each k on another. n: all
     * are on one node; 0: unknown, or nodes have unequal numbers. */
    uint32_t node;
    /* Ring orders along real links, each a permutation of the members, borrowed; n_rings 0: natural order. */
    uint32_t n_rings;
    const uint32_t *const *rings;
    rlt_coll_params params;          /* patterns[] is by dimension of the group */
    const struct rlt_listed *listed; /* steps for the algorithm "custom", borrowed */
    uint32_t element;                /* bytes of an element; 0: unknown, at least 2 */
    uint32_t library; /* version whose tuner chooses, from rlt_library_read; 0: the endpoint's */
    /* Network model that will carry it; NULL: any. Algorithms that need what it cannot do are refused. */
    const struct rlt_net_model *model;
    /* Costs in force, borrowed until the plan is made; NULL: those of the topology. */
    const rlt_endpoint *endpoint;
    /* Where the ranks are, for algorithms that inspect the network; borrowed; NULL: unknown. */
    const rlt_topology *topology;
    const rlt_placement *placement;
} rlt_coll_request;

RLT_API const char *rlt_coll_name(rlt_coll_kind kind);
/* Name of the i-th pattern inside a dimension; NULL past the end. */
RLT_API const char *rlt_pattern_name(uint32_t i);
/* Parameter row for the pattern of one dimension; it fills a uint8_t with the pattern's number. */
RLT_API extern const rlt_param rlt_pattern_parameter;
/* Names of the schedules ("pipeline", ...) and of the orders ("fifo", ...); NULL past the end. */
RLT_API const char *rlt_chunk_schedule_name(uint32_t i);
RLT_API const char *rlt_chunk_order_name(uint32_t i);
/* Finds a kind by name, ignoring dashes and case ("AllReduce", "all-reduce"). The error lists the known
 * names. */
RLT_API int rlt_coll_parse(const char *name, rlt_coll_kind *kind, rlt_error *err) RLT_MUST_USE;
/* Whether one member is the root: broadcast, reduce, gather, scatter. */
static inline bool rlt_coll_rooted(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE || kind == RLT_GATHER || kind == RLT_SCATTER;
}
/* Bytes of an element type, named as in NCCL and nccl-tests; 0: unknown type. */
RLT_API uint32_t rlt_dtype_bytes(const char *name);
/* Bus bandwidth factor, see above. */
RLT_API double rlt_busbw_factor(rlt_coll_kind kind, uint32_t n);
/* Copies parameters whose patterns are by dimension of the topology into the request. */
RLT_API void rlt_request_params(rlt_coll_request *req, const rlt_coll_params *params);
/* Sets the request's patterns, by dimension of the group, from patterns by dimension of the topology. */
RLT_API void rlt_request_patterns(rlt_coll_request *req, const char *const by_dimension[RLT_MAX_DIMS]);
/* Rank of a member. */
static inline uint32_t rlt_member_rank(const rlt_coll_request *r, uint32_t member)
{
    return r->ranks ? r->ranks[member] : member;
}

/*
 * A process group and its place in the topology. The accelerators of the group may form a sub-grid of a
 * product (or of the file's logical dimensions). Then n_dims, dims and shapes describe that grid. Else the
 * group has one dimension. `rings` are the topology's recommended ring orders restricted to the group. The
 * rlt_group owns its arrays.
 */
typedef struct rlt_group {
    uint32_t n;
    uint32_t *ranks; /* owned; NULL: identity */
    uint32_t n_dims;
    uint32_t dims[RLT_MAX_DIMS];
    const char *shapes[RLT_MAX_DIMS]; /* borrowed from the topology */
    uint32_t axes[RLT_MAX_DIMS];      /* dimension of the topology that contains each one */
    uint32_t node;                    /* members of a node, as in rlt_coll_request */
    uint32_t n_rings;
    uint32_t **rings;             /* owned */
    const rlt_topology *topology; /* borrowed */
    const rlt_placement *placement;
} rlt_group;
/* Fills *out. ranks NULL: ranks 0 .. n-1. RLT_ERANGE for a rank outside the placement, RLT_ESCHEMA for a rank
 * that is named twice. Free with rlt_group_free. */
RLT_API int rlt_group_create(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n,
                             rlt_group *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_group_free(rlt_group *g);
/* Returns a request over the group. It borrows the group's arrays. */
RLT_API rlt_coll_request rlt_group_request(const rlt_group *g, rlt_coll_kind kind, uint64_t bytes);

/* Whether the request has a count for each member's share. */
static inline bool rlt_shares_counted(const rlt_coll_request *req)
{
    return req->counts && (req->kind == RLT_ALL_GATHER || req->kind == RLT_REDUCE_SCATTER ||
                           req->kind == RLT_GATHER || req->kind == RLT_SCATTER);
}

#ifdef __cplusplus
}
#endif
#endif
