/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of a rank's communication groups. */
#include <string.h>

#include "workload/training/internal.h"
#include "workload/training/training.h"

const char *rlt__group_name(int group)
{
    static const char *const names[RLT__GROUPS] = {[RLT__GROUP_TP] = "tp",
                                                   [RLT__GROUP_CP] = "cp",
                                                   [RLT__GROUP_DP] = "dp",
                                                   [RLT__GROUP_EP] = "ep",
                                                   [RLT__GROUP_EXPERT_DP] = "expert-dp",
                                                   [RLT__GROUP_EP_ACROSS] = "ep across nodes",
                                                   [RLT__GROUP_EP_INSIDE] = "ep in a node",
                                                   [RLT__GROUP_EXPERT_TP] = "ep tp",
                                                   [RLT__GROUP_PP] = "pp",
                                                   [RLT__GROUP_TIED] = "tied",
                                                   [RLT__GROUP_SHARD] = "dp-shard",
                                                   [RLT__GROUP_REPLICA] = "dp-replica"};
    return names[group];
}

/* Returns the members of a data-parallel group of DualPipe: those of both stages that have its chunks. */
static uint32_t with_copies(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT], uint32_t *ranks,
                            uint32_t n)
{
    uint32_t at[RLT_AXES_OF_LAYOUT], pp = t->size[RLT_AXIS_PP], stage = where[RLT_AXIS_PP],
                                     low = stage < pp - 1 - stage ? stage : pp - 1 - stage;
    for (uint32_t i = 0; i < n; i++) {
        rlt_training_place(t, ranks[i], at);
        at[RLT_AXIS_PP] = low;
        ranks[i] = rlt_training_rank(t, at);
        at[RLT_AXIS_PP] = pp - 1 - low;
        ranks[n + i] = rlt_training_rank(t, at);
    }
    return 2 * n;
}

static uint32_t at_stages(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT], uint32_t *ranks)
{
    uint32_t at[RLT_AXES_OF_LAYOUT], stage = where[RLT_AXIS_PP];
    memcpy(at, where, sizeof at);
    if (t->home == t->away || (stage != t->home && stage != t->away))
        return 0;
    at[RLT_AXIS_PP] = t->home;
    ranks[0] = rlt_training_rank(t, at);
    at[RLT_AXIS_PP] = t->away;
    ranks[1] = rlt_training_rank(t, at);
    return 2;
}

/* Ranks of a stage, numbered as its axes are: every `step`-th from `first` on, below `end`. */
typedef struct every {
    uint32_t first, step, end;
} every;

/* Lists a group of the layout of experts. Ranks of a stage are numbered in the order tp, cp, dp. */
static uint32_t of_experts(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT], rlt__group group,
                           uint32_t *ranks)
{
    uint32_t tp = t->size[RLT_AXIS_TP], cp = t->size[RLT_AXIS_CP], etp = rlt_training_etp(t), n = 0;
    uint32_t mine = where[RLT_AXIS_TP] + tp * (where[RLT_AXIS_CP] + cp * where[RLT_AXIS_DP]);
    uint32_t at[RLT_AXES_OF_LAYOUT], each = etp * t->ep, all = tp * cp * t->size[RLT_AXIS_DP];
    uint32_t own = rlt_training_rank(t, where);
    memcpy(at, where, sizeof at);
    if (group == RLT__GROUP_EXPERT_TP && (etp == 1 || etp == tp))
        return 0;
    every e = group == RLT__GROUP_EXPERT_TP ? (every){mine / etp * etp, 1, mine / etp * etp + etp}
              : group == RLT__GROUP_EXPERT_DP
                  ? (every){mine % each, each, all}
                  : (every){mine / each * each + mine % etp, etp, mine / each * each + each};
    for (uint32_t i = e.first; i < e.end && i < all; i += e.step) {
        at[RLT_AXIS_TP] = i % tp;
        at[RLT_AXIS_CP] = i / tp % cp;
        at[RLT_AXIS_DP] = i / tp / cp;
        uint32_t r = rlt_training_rank(t, at), node = rlt__node(t);
        bool in = group == RLT__GROUP_EP_ACROSS   ? r % node == own % node
                  : group == RLT__GROUP_EP_INSIDE ? r / node == own / node
                                                  : true;
        if (in)
            ranks[n++] = r;
    }
    return n;
}

static uint32_t of_layout(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT], rlt__group group,
                          uint32_t *ranks)
{
    uint32_t at[RLT_AXES_OF_LAYOUT], cp = t->size[RLT_AXIS_CP], dp = t->size[RLT_AXIS_DP], n = 0;
    uint32_t mine = where[RLT_AXIS_DP] * cp + where[RLT_AXIS_CP];
    memcpy(at, where, sizeof at);
    if (group == RLT__GROUP_TIED)
        return at_stages(t, where, ranks);
    if ((group == RLT__GROUP_SHARD || group == RLT__GROUP_REPLICA) && !t->shard)
        return 0;
    if (group == RLT__GROUP_TP || group == RLT__GROUP_PP) {
        rlt_axis along = group == RLT__GROUP_TP ? RLT_AXIS_TP : RLT_AXIS_PP;
        for (uint32_t i = 0; i < t->size[along]; i++) {
            at[along] = i;
            ranks[n++] = rlt_training_rank(t, at);
        }
        return n;
    }
    if (group >= RLT__GROUP_EP && group <= RLT__GROUP_EXPERT_TP)
        return of_experts(t, where, group, ranks);
    every e = group == RLT__GROUP_CP ? (every){mine / cp * cp, 1, mine / cp * cp + cp}
              : group == RLT__GROUP_SHARD
                  ? (every){mine / t->shard * t->shard, 1, mine / t->shard * t->shard + t->shard}
              : group == RLT__GROUP_REPLICA ? (every){mine % t->shard, t->shard, cp * dp}
                                            : (every){0, 1, cp * dp};
    for (uint32_t i = e.first; i < e.end && i < cp * dp; i += e.step) {
        at[RLT_AXIS_CP] = i % cp;
        at[RLT_AXIS_DP] = i / cp;
        ranks[n++] = rlt_training_rank(t, at);
    }
    return n;
}

uint32_t rlt__training_members(const rlt_training *t, const uint32_t where[RLT_AXES_OF_LAYOUT],
                               rlt__group group, uint32_t *ranks)
{
    bool state = group == RLT__GROUP_DP || group == RLT__GROUP_EXPERT_DP;
    uint32_t n = of_layout(t, where, group, ranks);
    return state && t->schedule == RLT_SCHEDULE_DUALPIPE ? with_copies(t, where, ranks, n) : n;
}
