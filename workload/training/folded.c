/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Durations of collectives of a folded training, whose groups have members outside the program. */
#include <stdlib.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { MAX_GROUPS = 1 << 20, MAX_TIMES = 1 << 20 };

bool rlt__folded_away(const rlt__folded *f, int group)
{
    static const rlt_axis along[RLT__GROUPS] = {
        [RLT__GROUP_TP] = RLT_AXIS_TP,        [RLT__GROUP_CP] = RLT_AXIS_CP,
        [RLT__GROUP_DP] = RLT_AXIS_DP,        [RLT__GROUP_EP] = RLT_AXIS_DP,
        [RLT__GROUP_EXPERT_DP] = RLT_AXIS_DP, [RLT__GROUP_EXPERT_TP] = RLT_AXIS_TP,
        [RLT__GROUP_EP_ACROSS] = RLT_AXIS_DP, [RLT__GROUP_EP_INSIDE] = RLT_AXIS_DP,
        [RLT__GROUP_PP] = RLT_AXIS_PP,        [RLT__GROUP_TIED] = RLT_AXIS_PP,
        [RLT__GROUP_SHARD] = RLT_AXIS_DP,     [RLT__GROUP_REPLICA] = RLT_AXIS_DP};
    uint32_t axes = 1U << along[group];
    if (f && f->spread && group >= RLT__GROUP_EP && group < RLT__GROUP_EXPERT_TP)
        axes |= 1U << RLT_AXIS_TP;
    return f && f->axes & axes;
}

int rlt__folded_group(rlt__folded *f, const uint32_t *ranks, uint32_t n, uint32_t *index, rlt_error *err)
{
    int rc = rlt_grow(&f->groups, &f->groups_room, sizeof *f->groups, (uint64_t)f->n_groups + 1, MAX_GROUPS,
                      "groups", err);
    if (rc == 0)
        rc = rlt_group_create(f->how->topology, f->where, ranks, n, &f->groups[f->n_groups], err);
    if (rc == 0)
        *index = f->n_groups++;
    return rc;
}

int rlt__folded_time(rlt__folded *f, uint32_t group, rlt_coll_kind kind, uint64_t bytes,
                     rlt_time *duration_ps, rlt_error *err)
{
    for (uint32_t i = f->n_known; i-- > 0;)
        if (f->known[i].group == group && f->known[i].kind == kind && f->known[i].bytes == bytes) {
            *duration_ps = f->known[i].duration_ps;
            return 0;
        }
    rlt_coll_request req = rlt_group_request(&f->groups[group], kind, bytes);
    req.endpoint = &f->how->endpoint;
    req.library = f->how->library;
    rlt_request_params(&req, &f->how->params);
    int rc = f->alone->duration(f->alone, &req, duration_ps, err);
    if (rc == 0)
        rc = rlt_grow(&f->known, &f->known_room, sizeof *f->known, (uint64_t)f->n_known + 1, MAX_TIMES,
                      "collectives", err);
    if (rc == 0)
        f->known[f->n_known++] = (rlt__folded_known){group, kind, bytes, *duration_ps};
    return rc;
}

void rlt__folded_free(rlt__folded *f)
{
    for (uint32_t i = 0; i < f->n_groups; i++)
        rlt_group_free(&f->groups[i]);
    free(f->groups);
    free(f->known);
}
