/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms that bring copies of tokens to experts, and the copies that each sends. */
#include "sim/base/registry.h"
#include "workload/experts/experts.h"

static const rlt_dispatch_algorithm algorithms[] = {
    {"alltoall", "an all-to-all of a copy for each token and expert (NCCL)", false},
    {"two-level", "a copy for each token and node over the network, then copies inside the node", true},
    {"proxy", "two-level by one-sided messages that a thread of the host posts (NVSHMEM, UCCL)", true},
    {"gpu", "two-level by one-sided messages that the GPU posts (IBGDA)", true},
    {"copy-engine", "a copy for each token and expert by copy engines, without multiprocessors", false},
};

static rlt_registry registry = RLT_REGISTRY_OF_ARRAY("dispatcher", RLT_EUSAGE, algorithms);

rlt_registry *rlt_dispatch_algorithms(void)
{
    return &registry;
}

double rlt_distinct_parts(uint32_t parts, uint32_t experts, uint32_t top_k)
{
    double none = 1, other = experts - (double)experts / parts;
    for (uint32_t i = 0; i < top_k; i++)
        none *= other > i ? (other - i) / (experts - i) : 0;
    return parts * (1 - none);
}

rlt_dispatch_copies rlt_dispatch_copies_of(const rlt_dispatch_algorithm *a, const rlt_expert_group *g,
                                           uint32_t node)
{
    uint32_t nodes = g->members / node,
             some = g->token_nodes && g->token_nodes < nodes ? g->token_nodes : nodes,
             experts = (uint32_t)((uint64_t)g->experts * some / nodes);
    double network = a->per_node ? rlt_distinct_parts(some, experts, g->top_k) : g->top_k;
    rlt_dispatch_copies c = {.network = network, .remote = network * (nodes - 1) / nodes};
    c.inside = a->per_node ? rlt_distinct_parts(some * node, experts, g->top_k) : 0;
    return c;
}
