/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chakra execution traces as messages (mlcommons/chakra, schema/protobuf/et_def.proto). A file is a sequence
 * of (varint length, message). The first message is GlobalMetadata, the others are nodes. This layer decodes
 * nodes and the attributes that are used; read.c interprets them. Texts point into the bytes of the file.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_NODE_H
#define RLT_WORKLOAD_READERS_CHAKRA_NODE_H

#include "sim/base/error.h"
#include "sim/text/protowire.h"

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

/* Fields of AttributeProto: a scalar of kind k is field 3 + 2 k, a list of them field 4 + 2 k. */
enum {
    RLT_CHAKRA_INT32 = 7,
    RLT_CHAKRA_INT64 = 9,
    RLT_CHAKRA_UINT32 = 11,
    RLT_CHAKRA_UINT64 = 13,
    RLT_CHAKRA_UINT64_LIST = 14,
    RLT_CHAKRA_BOOL = 27,
    RLT_CHAKRA_STRING = 29,
};

/* Attributes that are read. Those with the prefix ringlet_ are our writer's own, for exact times, resources,
 * purposes and steps, which the format cannot hold. X(enumerator, name) */
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
    X(PURPOSE, "ringlet_purpose")                                                                            \
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

/* First letter of ringlet_resource, by rlt_resource_kind. */
#define RLT_CHAKRA_RESOURCES "hscna"

typedef enum rlt_chakra_attr {
#define RLT_X(e, name) RLT_CHAKRA_ATTR_##e,
    RLT_CHAKRA_ATTR_LIST(RLT_X)
#undef RLT_X
        RLT_CHAKRA_ATTRS
} rlt_chakra_attr;

extern const char *const rlt__chakra_attr_names[RLT_CHAKRA_ATTRS];

typedef struct rlt_chakra_value {
    uint32_t field;   /* field of AttributeProto; 0: no such attribute, or no value */
    uint64_t integer; /* scalar integers, sign-extended */
    rlt_pb bytes;     /* strings, and lists in encoded form */
} rlt_chakra_value;

typedef struct rlt_chakra_node {
    uint64_t id, start_us, duration_us;
    bool has_start, has_duration;
    uint32_t type;
    rlt_pb name, input_values;
    uint64_t *deps;                         /* grows; reused for each node; free() it at the end */
    uint32_t n_deps, n_ctrl, deps_capacity; /* control dependencies first */
    rlt_chakra_value attr[RLT_CHAKRA_ATTRS];
} rlt_chakra_node;

typedef struct rlt_chakra_file {
    const char *path;
    char *text;
    size_t length;
    rlt_pb rest;
} rlt_chakra_file;

/* Reads a file (gzip or not) and its metadata. Leaves the attributes of the metadata in `node`. */
int rlt__chakra_open(const char *path, rlt_chakra_file *f, rlt_chakra_node *node,
                     rlt_error *err) RLT_MUST_USE;
void rlt__chakra_close(rlt_chakra_file *f);
/* Reads the next node. Returns 1, 0 at the end, or an error with the byte offset. */
int rlt__chakra_next(rlt_chakra_file *f, rlt_chakra_node *node, rlt_error *err) RLT_MUST_USE;

/* Converts a trace in JSON to messages. Free *out with rlt__pb_out_free; after a failure it is empty. */
int rlt__chakra_from_json(const char *path, const char *text, size_t length, rlt_pb_out *out,
                          rlt_error *err) RLT_MUST_USE;
/* Returns true if these bytes begin a trace in JSON. */
bool rlt__chakra_is_json(const char *head, size_t n);

/* Returns how likely these bytes begin a Chakra trace, 0 to 100. */
int rlt__chakra_probe(const char *path, const char *head, size_t n);

/* Returns true if an attribute has a value of any kind. */
static inline bool rlt__chakra_has(const rlt_chakra_node *n, rlt_chakra_attr a)
{
    return n->attr[a].field != 0;
}
/* Reads an integer attribute of any integer kind, or bool. Returns 1 if it exists and is in [0, max], 0 if it
 * does not exist, else RLT_ESCHEMA with the name of the attribute. */
int rlt__chakra_u64(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t max, uint64_t *out,
                    rlt_error *err) RLT_MUST_USE;
/* Decodes a list of integers of any kind, packed or not. *n is their number, of which at most `max` are
 * stored. */
int rlt__chakra_integers(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t *out, uint32_t max,
                         uint32_t *count, rlt_error *err) RLT_MUST_USE;

#endif
