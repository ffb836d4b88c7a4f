/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads Chakra traces in two passes over the files: groups.c finds the ranks and the members of each process
 * group, read.c builds the program.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_INTERNAL_H
#define RLT_WORKLOAD_READERS_CHAKRA_INTERNAL_H

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

/* A process group, as the first pass finds it. */
typedef struct rlt_chakra_group {
    uint32_t *ranks; /* listed in the trace, or the ranks that use it; ascending */
    uint32_t n, capacity;
    bool listed, world;
    uint32_t built; /* index in the builder, or RLT_NONE */
} rlt_chakra_group;

/* An all-to-all, by its place in a process group: whether its size differs between ranks. */
typedef struct rlt_chakra_exchange {
    uint64_t bytes;
    bool differs;
} rlt_chakra_exchange;

typedef struct rlt_chakra_trace {
    const rlt_read_options *opts;
    uint32_t n_ranks;
    uint32_t n_steps;       /* steps in the trace, before selection */
    const char **rank_path; /* by rank; NULL: no file */
    rlt_builder *builder;
    rlt_strings names; /* names of process groups, with equal indices */
    rlt_chakra_group *groups;
    uint32_t groups_capacity;
    rlt_map exchange_at; /* (group, k) -> index into exchanges */
    rlt_chakra_exchange *exchanges;
    uint32_t n_exchanges, exchanges_capacity;
    uint32_t *issued; /* by group: collectives of the current rank so far */
    uint32_t issued_capacity;
    uint64_t first_start_us; /* earliest start in all files; UINT64_MAX: none */
    uint32_t *world;         /* 0, 1, 2, ...; NULL until needed */
} rlt_chakra_trace;

/* Returns the index of the process group that a node names; RLT_NONE if memory is exhausted. */
uint32_t rlt__chakra_group_name(rlt_chakra_trace *t, const rlt_chakra_node *node, rlt_error *err);
/* Returns true for a collective, false for a host record of one. */
bool rlt__chakra_is_collective(const rlt_chakra_node *node);
/* Counts a collective of the current rank in its group. Returns its k. */
uint32_t rlt__chakra_count(rlt_chakra_trace *t, uint32_t group);
/* Makes the first pass over all files. */
int rlt__chakra_scan(rlt_chakra_trace *t, rlt_error *err) RLT_MUST_USE;
/* Finds the builder's group for a collective node of `rank`. */
int rlt__chakra_resolve(rlt_chakra_trace *t, uint32_t rank, const rlt_chakra_node *node, uint32_t name,
                        uint32_t *group, rlt_error *err) RLT_MUST_USE;
void rlt__chakra_groups_free(rlt_chakra_trace *t);

#endif
