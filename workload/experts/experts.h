/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experts by token: how many copies of its tokens a rank sends, over which way, and how unevenly they arrive.
 *
 * A token has copies for top_k of E experts, which lie in equal parts on the members of an expert-parallel
 * group, member 0 having the first ones. If a token's experts are any top_k of E, the parts (of P equal ones)
 * that have at least one of them number, in the mean,
 *
 *   D(P) = P (1 - C(E - E/P, top_k) / C(E, top_k))
 *
 * Example: 256 experts on 4 nodes, top 8: D = 4 (1 - 0.0964) = 3.614. On 8 nodes D = 5.30; if a router picks
 * 4 of these first (DeepSeek-AI, arXiv 2412.19437, section 2.1.2), a token's experts are any 8 of the 128
 * there, and D = 3.63.
 */
#ifndef RLT_WORKLOAD_EXPERTS_EXPERTS_H
#define RLT_WORKLOAD_EXPERTS_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the mean number of distinct parts that have experts of a token. */
RLT_API double rlt_distinct_parts(uint32_t parts, uint32_t experts, uint32_t top_k);

/* How unevenly experts are used, against equal shares. */
typedef struct rlt_expert_load {
    double experts;  /* copies for the busiest member's experts, over the mean without drops */
    double exchange; /* copies that the busiest member sends or receives, over those of equal shares */
    double dropped;  /* share of the copies that are above the capacity */
} rlt_expert_load;

/* Experts of a model and the group that shares them. */
typedef struct rlt_expert_group {
    uint32_t experts, top_k, members;
    uint32_t token_nodes; /* nodes that a token's experts are on, at most; 0: any */
} rlt_expert_group;

/*
 * Computes the load of a routing:
 *   balanced  equal shares
 *   zipf:S    expert i (from 1) gets a share in proportion to i^-S
 *   FILE      counts separated by commas: a line with one for each expert, or such a line for each member.
 *             Members have equally many tokens, so each line counts in proportion to its sum.
 * No expert gets more than one copy of a token: what zipf has above that goes to the others. Of each member's
 * copies an expert takes `capacity` times the equal share at most, and the rest is dropped; 0: no limit.
 *
 * Example: 4 experts on 2 members, top 1, loads 4, 2, 1, 1: the first member's experts get 6/8, 1.5 times the
 * mean. With a capacity of 1.2, 0.3 + 0.25 of 1 arrive there, 1.1 times the mean, and 0.2 is dropped.
 *
 * RLT_EUSAGE for another word; in a file RLT_EMALFORMED or RLT_ESCHEMA, with line and column.
 */
RLT_API int rlt_routing_load(const char *routing, const rlt_expert_group *g, double capacity,
                             rlt_expert_load *out, rlt_error *err) RLT_MUST_USE;

/* An algorithm that brings copies to experts and results back. */
typedef struct rlt_dispatch_algorithm {
    const char *name, *summary;
    bool per_node; /* one copy per node over the network, then copies to the ranks of the node that need it */
} rlt_dispatch_algorithm;
RLT_API rlt_registry *rlt_dispatch_algorithms(void);

/* Copies of a token, in the mean: buffers of all-to-alls among the ranks with the same place in their nodes
 * (`network`), and among those of a node (`inside`). Equal shares of both, own ones included. */
typedef struct rlt_dispatch_copies {
    double network, inside;
    double remote; /* copies that leave the node */
} rlt_dispatch_copies;
/* `node`: members in a node. An algorithm that is not per node has all copies in `network`, among all
 * members. */
RLT_API rlt_dispatch_copies rlt_dispatch_copies_of(const rlt_dispatch_algorithm *a, const rlt_expert_group *g,
                                                   uint32_t node);

/*
 * An implementation of an algorithm on a machine, from workload/dispatchers/. An exchange takes
 *
 *   host + max(remote copies * message * sqrt(nodes / 4), time of the all-to-alls)
 */
typedef struct rlt_dispatcher {
    char name[32], algorithm[32], source[512];
    rlt_time host_ps;       /* per exchange, before anything is sent */
    rlt_time message_ps;    /* per copy of a token to another node, in a group of four nodes */
    double hidden;          /* share of the rest that goes on beside compute, if it is overlapped */
    double multiprocessors; /* share of the accelerator's that it takes from compute meanwhile */
    double moved;           /* elements per element of a copy, read and written to pack and unpack it */
} rlt_dispatcher;

/* Loads the dispatchers of the folders `dispatchers` beside the directories (see sim/base/find.h).
 * RLT_ERANGE if they are more than `room`. */
RLT_API int rlt_dispatchers_load(const char *dirs, rlt_dispatcher *out, uint32_t room, uint32_t *n,
                                 rlt_error *err) RLT_MUST_USE;
/* Finds a dispatcher by name among n, else an algorithm without costs of its own. RLT_EUSAGE with the nearest
 * name. */
RLT_API int rlt_dispatcher_find(const rlt_dispatcher *all, uint32_t n, const char *name, rlt_dispatcher *out,
                                rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
