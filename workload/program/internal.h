/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State shared by builder.c, match.c and program.c: the builder's growing arrays and the program's store.
 * rlt_builder_finish moves the arrays from the builder to the store.
 */
#ifndef RLT_WORKLOAD_PROGRAM_INTERNAL_H
#define RLT_WORKLOAD_PROGRAM_INTERNAL_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"

/* The request of a communication operation, kept until it is matched. */
typedef struct rlt_build_comm {
    rlt_coll_kind kind;
    uint32_t group, root; /* collectives */
    uint32_t peer, tag;   /* send and receive */
    uint64_t bytes;
    bool timed;
    const uint64_t *counts; /* one row of the count table, in the store's arena */
} rlt_build_comm;

typedef struct rlt_build_dep {
    uint32_t op, on;
} rlt_build_dep_pair;

typedef struct rlt_note rlt_note;

typedef struct rlt_program_store {
    rlt_program program;
    rlt_strings strings;
    rlt_arena arena; /* notes, count tables, the reader's name */
    rlt_op *ops;
    uint32_t *rank_first, *deps, *group_first, *group_ranks, *group_names, *comm_ops;
    rlt_resource *resources;
    rlt_comm *comms;
    rlt_time *rank_start_ps, *rank_recorded_ps;
    struct rlt_note *notes;
} rlt_program_store;

struct rlt_builder {
    rlt_error error; /* the first failure, or code 0 */
    rlt_program_store *store;
    uint32_t n_ranks, n_ops, n_deps, n_resources, n_groups, n_comms, n_notes;
    uint32_t ops_capacity, deps_capacity, resources_capacity, comms_capacity, notes_capacity;
    uint32_t group_first_capacity, group_ranks_capacity, n_group_ranks;
    /* Dependencies. As long as operations get them in the order of the operations, `needs` has those of
     * ops[i] at first_dep. Then `needs` is NULL and `deps` has all, in any order. */
    uint32_t *needs, last_dependent;
    rlt_build_dep_pair *deps;
    rlt_build_comm *comms;
    /* keys; the index of a key is that of its resource, group or note */
    rlt_strings resource_keys, group_keys, note_keys;
    uint32_t *group_labels;
    uint32_t group_labels_capacity;
    uint32_t *rank_stamp; /* used to find a rank that is named twice in a group */
    uint32_t stamp;
    rlt_map members; /* (group, rank) -> member, only for groups whose ranks do not ascend */
    uint8_t *group_ascending;
    uint32_t group_ascending_capacity;
    uint8_t *group_purposes; /* rlt_purpose, by the label */
    uint32_t group_purposes_capacity;
    uint64_t hash;
    uint32_t n_layers;
};

/* Writes the place of an operation, for messages: "rank 3: operation 17 'ncclAllReduce'". */
void rlt__op_place(const rlt_builder *b, uint32_t op, char *buffer, size_t size);
/* Writes the name of a group, for messages: its label in quotes, or its ranks. */
void rlt__group_text(const rlt_builder *b, uint32_t group, char *buffer, size_t size);
/* Moves the dependencies from `needs` to `deps`. */
int rlt__scatter_deps(rlt_builder *b) RLT_MUST_USE;
/* Returns the member index of a rank in a group, or RLT_NONE. */
uint32_t rlt__group_member(const rlt_builder *b, uint32_t group, uint32_t rank);
/* Matches collectives and messages. The operations must be in final order. Fills comms and comm_ops of the
 * store. */
int rlt__match(rlt_builder *b, rlt_error *err) RLT_MUST_USE;

#endif
