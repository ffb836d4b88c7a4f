/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chakra execution traces as messages (mlcommons/chakra, schema/protobuf/et_def.proto): a file is a sequence
 * of (varint length, message); the first is GlobalMetadata, the others are nodes. This layer decodes nodes
 * and the attributes that matter; read.c gives them meaning. Texts point into the file's bytes.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_NODE_H
#define RLT_WORKLOAD_READERS_CHAKRA_NODE_H

#include "sim/base/error.h"
#include "workload/readers/chakra/protowire.h"

enum {
    RLT_CHAKRA_INVALID,
    RLT_CHAKRA_METADATA,
    RLT_CHAKRA_MEM_LOAD,
    RLT_CHAKRA_MEM_STORE,
    RLT_CHAKRA_COMP,
    RLT_CHAKRA_SEND,
    RLT_CHAKRA_RECV,
    RLT_CHAKRA_COLL,
    RLT_CHAKRA_TYPES,
};

/* comm_type */
enum {
    RLT_CHAKRA_ALL_REDUCE,
    RLT_CHAKRA_REDUCE,
    RLT_CHAKRA_ALL_GATHER,
    RLT_CHAKRA_GATHER,
    RLT_CHAKRA_SCATTER,
    RLT_CHAKRA_BROADCAST,
    RLT_CHAKRA_ALL_TO_ALL,
    RLT_CHAKRA_REDUCE_SCATTER,
    RLT_CHAKRA_REDUCE_SCATTER_BLOCK,
    RLT_CHAKRA_BARRIER,
};

/* Fields of AttributeProto: a scalar of kind k is field 3 + 2 k, its list 4 + 2 k. */
enum {
    RLT_CHAKRA_INT32 = 7,
    RLT_CHAKRA_INT64 = 9,
    RLT_CHAKRA_UINT32 = 11,
    RLT_CHAKRA_UINT64 = 13,
    RLT_CHAKRA_UINT64_LIST = 14,
    RLT_CHAKRA_BOOL = 27,
    RLT_CHAKRA_STRING = 29,
};

/* Attributes that are read; those that begin with ringlet_ are our writer's own, for what the format has no
 * place for: exact times, resources, steps. X(enumerator, name) */
#define RLT_CHAKRA_ATTR_LIST(X)                                                                              \
    X(IS_CPU_OP, "is_cpu_op")                                                                                \
    X(COMM_TYPE, "comm_type")                                                                                \
    X(COMM_SIZE, "comm_size")                                                                                \
    X(COMM_SRC, "comm_src")                                                                                  \
    X(COMM_DST, "comm_dst")                                                                                  \
    X(COMM_TAG, "comm_tag")                                                                                  \
    X(ROOT_RANK, "root_rank")                                                                                \
    X(PG_NAME, "pg_name")                                                                                    \
    X(INVOLVED_DIM, "involved_dim")                                                                          \
    X(NUM_OPS, "num_ops")                                                                                    \
    X(TENSOR_SIZE, "tensor_size")                                                                            \
    X(STREAM, "stream")                                                                                      \
    X(TID, "tid")                                                                                            \
    X(PID, "pid")                                                                                            \
    X(KIND, "ringlet_kind")                                                                                  \
    X(BYTES, "ringlet_bytes")                                                                                \
    X(COUNTS, "ringlet_counts")                                                                              \
    X(STEP, "ringlet_step")                                                                                  \
    X(RESOURCE, "ringlet_resource")                                                                          \
    X(DURATION, "ringlet_duration_ps")                                                                       \
    X(RECORDED, "ringlet_recorded_ps")                                                                       \
    X(RECORDED_DURATION, "ringlet_recorded_duration_ps")                                                     \
    X(RANKS, "ringlet_ranks")                                                                                \
    X(RANK_START, "ringlet_rank_start_ps")                                                                   \
    X(RANK_RECORDED, "ringlet_rank_recorded_ps")                                                             \
    X(GROUPS, "ringlet_groups")

typedef enum rlt_chakra_attr {
#define RLT_X(e, name) RLT_CHAKRA_ATTR_##e,
    RLT_CHAKRA_ATTR_LIST(RLT_X)
#undef RLT_X
        RLT_CHAKRA_ATTRS
} rlt_chakra_attr;

extern const char *const rlt__chakra_attr_names[RLT_CHAKRA_ATTRS];

typedef struct rlt_chakra_value {
    uint32_t field;   /* of AttributeProto; 0: there is no such attribute, or it has no value */
    uint64_t integer; /* scalar integers, sign-extended */
    rlt_pb bytes;     /* strings, and lists as they are */
} rlt_chakra_value;

typedef struct rlt_chakra_node {
    uint64_t id, start_us, duration_us;
    bool has_start, has_duration;
    uint32_t type;
    rlt_pb name, input_values;
    uint64_t *deps;                         /* grows; reused from node to node; free() at the end */
    uint32_t n_deps, n_ctrl, deps_capacity; /* control dependencies first */
    rlt_chakra_value attr[RLT_CHAKRA_ATTRS];
} rlt_chakra_node;

typedef struct rlt_chakra_file {
    const char *path;
    char *text;
    size_t length;
    rlt_pb rest;
} rlt_chakra_file;

/* Reads a file (gzip or not) and its metadata, whose attributes are left in `node`. */
int rlt__chakra_open(const char *path, rlt_chakra_file *f, rlt_chakra_node *node,
                     rlt_error *err) RLT_MUST_USE;
void rlt__chakra_close(rlt_chakra_file *f);
/* 1: the next node, 0: the end, or an error with the byte's offset. */
int rlt__chakra_next(rlt_chakra_file *f, rlt_chakra_node *node, rlt_error *err) RLT_MUST_USE;

/* How sure that these bytes begin a Chakra trace, 0 .. 100. */
int rlt__chakra_probe(const char *path, const char *head, size_t n);

/* Whether an attribute has a value of any kind. */
static inline bool rlt__chakra_has(const rlt_chakra_node *n, rlt_chakra_attr a)
{
    return n->attr[a].field != 0;
}
/* An integer attribute, of whatever integer member it was written as, also bool: 1 if it is there and in
 * [0, max], 0 if it is not there, RLT_ESCHEMA with the attribute's name otherwise. */
int rlt__chakra_u64(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t max, uint64_t *out,
                    rlt_error *err) RLT_MUST_USE;
/* Decodes an integer list, packed or not, of whatever integer kind; *n is the number found, of which at most
 * `max` are stored. */
int rlt__chakra_integers(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t *out, uint32_t max,
                         uint32_t *count, rlt_error *err) RLT_MUST_USE;

#endif
