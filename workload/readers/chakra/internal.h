/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading Chakra traces in two passes over the files: groups.c learns which ranks there are and which
 * of them take part in each process group, read.c builds the program.
 */
#ifndef RLT_WORKLOAD_READERS_CHAKRA_INTERNAL_H
#define RLT_WORKLOAD_READERS_CHAKRA_INTERNAL_H

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

/* What the first pass learns about a process group. */
typedef struct rlt_chakra_group {
    uint32_t *ranks; /* listed in the trace, or the ranks that use it, ascending */
    uint32_t n, capacity;
    bool listed, world;
    uint32_t built; /* of the builder, or RLT_NONE */
} rlt_chakra_group;

/* An all-to-all by its place in a process group: whether the ranks' sizes differ. */
typedef struct rlt_chakra_exchange {
    uint64_t bytes;
    bool differs;
} rlt_chakra_exchange;

typedef struct rlt_chakra_trace {
    const rlt_read_options *opts;
    uint32_t n_ranks;
    uint32_t n_steps;       /* of the trace, whatever is asked for */
    const char **rank_path; /* by rank; NULL: none */
    rlt_builder *builder;
    rlt_strings names; /* of process groups; indices are those of groups */
    rlt_chakra_group *groups;
    uint32_t groups_capacity;
    rlt_map exchange_at; /* (group, k) -> exchanges */
    rlt_chakra_exchange *exchanges;
    uint32_t n_exchanges, exchanges_capacity;
    uint32_t *issued; /* collectives of the current rank, by group */
    uint32_t issued_capacity;
    uint64_t first_start_us; /* of all files; UINT64_MAX: none */
    uint32_t *world;         /* 0, 1, 2, ...; NULL until needed */
} rlt_chakra_trace;

/* Index of the process group a node names, or RLT_NONE without memory. */
uint32_t rlt__chakra_group_name(rlt_chakra_trace *t, const rlt_chakra_node *node, rlt_error *err);
/* True for a collective, false for a host record of one. */
bool rlt__chakra_is_collective(const rlt_chakra_node *node);
/* Counts a collective of the current rank in its group: its k. */
uint32_t rlt__chakra_count(rlt_chakra_trace *t, uint32_t group);
/* First pass over all files. */
int rlt__chakra_scan(rlt_chakra_trace *t, rlt_error *err) RLT_MUST_USE;
/* The builder's group of a collective node of `rank`. */
int rlt__chakra_resolve(rlt_chakra_trace *t, uint32_t rank, const rlt_chakra_node *node, uint32_t name,
                        uint32_t *group, rlt_error *err) RLT_MUST_USE;
void rlt__chakra_groups_free(rlt_chakra_trace *t);

#endif
