/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RCCL's tables of orders, src/graph/rome_models.cc of ROCm/rccl@0cbce2a, for 8 GPUs linked all to all. */
#include "collectives/nodes/xgmi.h"

#include <string.h>

static const uint32_t paths[RLT_XGMI_PATHS][RLT_XGMI_GPUS] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 2, 4, 3, 5, 7, 6}, {2, 5, 0, 3, 7, 1, 6, 4}, {3, 6, 1, 5, 2, 7, 4, 0},
    {4, 7, 0, 6, 5, 1, 3, 2}, {5, 4, 6, 3, 0, 7, 2, 1}, {6, 2, 0, 4, 1, 7, 5, 3}, {7, 3, 1, 4, 2, 6, 0, 5},
};

/* The second seven are the first seven backwards. */
static const uint32_t rings[RLT_XGMI_RINGS][RLT_XGMI_GPUS] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 7, 6}, {0, 2, 4, 1, 3, 6, 5, 7}, {0, 2, 4, 6, 1, 7, 3, 5},
    {0, 3, 1, 5, 2, 7, 4, 6}, {0, 3, 5, 1, 6, 2, 7, 4}, {0, 4, 1, 7, 3, 6, 2, 5}, {7, 6, 5, 4, 3, 2, 1, 0},
    {6, 7, 5, 4, 3, 2, 1, 0}, {7, 5, 6, 3, 1, 4, 2, 0}, {5, 3, 7, 1, 6, 4, 2, 0}, {6, 4, 7, 2, 5, 1, 3, 0},
    {4, 7, 2, 6, 1, 5, 3, 0}, {5, 2, 6, 3, 7, 1, 4, 0},
};

const uint32_t (*rlt_xgmi_paths(void))[RLT_XGMI_GPUS]
{
    return paths;
}

const uint32_t (*rlt_xgmi_rings(void))[RLT_XGMI_GPUS]
{
    return rings;
}

bool rlt_xgmi_nodes(const rlt_coll_request *req)
{
    uint32_t d = 0;
    while (d < req->n_dims && req->dims[d] == 1)
        d++;
    return req->node == RLT_XGMI_GPUS && req->node < req->n && d < req->n_dims &&
           req->dims[d] == RLT_XGMI_GPUS && req->shapes[d] && !strcmp(req->shapes[d], "fully-connected");
}

uint32_t rlt_xgmi_ring_at(uint32_t k, uint32_t place)
{
    uint32_t at = place / RLT_XGMI_GPUS, in = place % RLT_XGMI_GPUS;
    bool back = at % 2;
    return at * RLT_XGMI_GPUS + paths[k % RLT_XGMI_PATHS][back ? RLT_XGMI_GPUS - 1 - in : in];
}
