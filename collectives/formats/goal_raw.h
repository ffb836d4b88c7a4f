/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of ranks and their dependencies, as a GOAL file or another trace of messages states them.
 * Internal to the readers of such files. */
#ifndef RLT_COLLECTIVES_FORMATS_GOAL_RAW_H
#define RLT_COLLECTIVES_FORMATS_GOAL_RAW_H

#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

enum { RLT_GOAL_MAX_RANKS = 1 << 16, RLT_GOAL_MAX_OPS = 1 << 23 };

typedef enum rlt_goal_type { RLT_GOAL_SEND, RLT_GOAL_RECV, RLT_GOAL_NOP } rlt_goal_type;

typedef struct rlt_goal_op {
    uint8_t type;
    uint32_t rank, peer, tag, line;
    uint16_t cpu, nic;   /* index within the rank */
    uint64_t bytes;      /* size of a message; duration of a calc in ns */
    uint32_t match;      /* index of the other end; filled in later */
    uint32_t list;       /* equal for equal (sender, receiver, tag): 0, 1, ...; filled in with match */
    uint32_t lane, step; /* place in the plan; filled in later */
} rlt_goal_op;

/* `op` begins after the end of `needs`; with `early`, after its begin. */
typedef struct rlt_goal_edge {
    uint32_t op, needs;
    bool early;
} rlt_goal_edge;

typedef struct rlt_goal {
    const char *file;
    char name[64];
    rlt_coll_kind kind;
    uint32_t root, ranks;
    bool computes; /* calc may take time */
    bool nodes;    /* the file has no lines; `line` holds numbers of nodes */
    uint64_t bytes;
    rlt_goal_op *ops;
    rlt_goal_edge *edges;
    uint32_t n_ops, op_capacity, n_edges, edge_capacity;
} rlt_goal;

int rlt_goal_fail(const rlt_goal *g, uint32_t line, int code, rlt_error *err, const char *fmt, ...)
    RLT_PRINTF(5);
/* Reads text, with a zero byte behind it, into g, whose `file` and `computes` are set. *described is set if
 * the text is one of our own plans, which states its collective. The caller frees g->ops and g->edges, also
 * after a failure. */
int rlt_goal_scan(rlt_goal *g, const char *text, size_t length, bool *described, rlt_error *err) RLT_MUST_USE;
/* Removes early edges: puts an operation that does nothing before each one whose begin is awaited. The others
 * then wait for its end. */
int rlt_goal_beginnings(rlt_goal *g, rlt_error *err) RLT_MUST_USE;
/* Matches the k-th send of each (sender, receiver, tag) with the k-th receive. Their sizes must be equal. */
int rlt_goal_match(rlt_goal *g, rlt_error *err) RLT_MUST_USE;
/* Matches messages and arranges operations in lanes. The resulting plan is not checked yet. */
int rlt_goal_build(rlt_goal *g, rlt_listed *out, rlt_error *err) RLT_MUST_USE;

#endif
