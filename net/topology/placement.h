/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement: the accelerator of each rank and, in graphs, its NIC. Default: rank r on accelerator r. File:
 * JSON {"ranks": [0, 2, "gpu5", {"accelerator": "gpu7", "nic": "mlx5_1"}, ...]}, with ids or node names. Each
 * accelerator appears at most once. Fewer ranks than accelerators make a fragmented or partial allocation.
 */
#ifndef RLT_NET_TOPOLOGY_PLACEMENT_H
#define RLT_NET_TOPOLOGY_PLACEMENT_H

#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_placement {
    uint32_t n;            /* number of ranks */
    uint32_t *accelerator; /* accelerator of each rank; NULL: identity */
    uint32_t *nic;         /* node id of each rank's NIC, or RLT_NONE; NULL: none given */
} rlt_placement;

/* Places ranks 0 .. n-1 on accelerators in order. RLT_ERANGE if the topology has fewer. */
RLT_API int rlt_placement_identity(const rlt_topology *t, uint32_t n, rlt_placement *out,
                                   rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_placement_load(const char *path, const rlt_topology *t, rlt_placement *out,
                               rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_placement_free(rlt_placement *p);

static inline uint32_t rlt_placed(const rlt_placement *p, uint32_t rank)
{
    return p->accelerator ? p->accelerator[rank] : rank;
}

#ifdef __cplusplus
}
#endif
#endif
