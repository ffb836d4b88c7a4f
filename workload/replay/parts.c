/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/replay/parts.h"

#include <stdlib.h>

int rlt_part_result_of(const rlt_program *p, const rlt_replay *r, uint32_t first, uint32_t end,
                       rlt_part_result *out, rlt_error *err)
{
    *out = (rlt_part_result){.last_rank = first};
    out->step_ps = calloc((size_t)p->n_steps + 1, sizeof *out->step_ps);
    if (!out->step_ps)
        return rlt_nomem(err);
    for (uint32_t i = p->rank_first[first]; i < p->rank_first[end]; i++) {
        rlt_time t = rlt_replay_op(r, i).end_ps;
        uint32_t step = p->ops[i].step;
        if (step >= out->n_steps)
            out->n_steps = step + 1;
        if (t > out->step_ps[step])
            out->step_ps[step] = t;
        if (t > out->end_ps) {
            out->end_ps = t;
            out->last_rank = p->ops[i].rank;
        }
    }
    for (uint32_t k = 1; k < out->n_steps; k++)
        if (out->step_ps[k] < out->step_ps[k - 1]) /* the step is empty, or ended before the previous one */
            out->step_ps[k] = out->step_ps[k - 1];
    for (uint32_t k = out->n_steps; k-- > 1;)
        out->step_ps[k] -= out->step_ps[k - 1];
    return 0;
}
