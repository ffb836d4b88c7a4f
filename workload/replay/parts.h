/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of the parts of a joined program (workload/program/join.h). */
#ifndef RLT_WORKLOAD_REPLAY_PARTS_H
#define RLT_WORKLOAD_REPLAY_PARTS_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result of the ranks [first, end) of a joined program. */
typedef struct rlt_part_result {
    rlt_time end_ps;    /* end of their last operation */
    uint32_t last_rank; /* rank of that operation */
    uint32_t n_steps;
    /* malloc'ed; duration of each step, from the end of the one before (0 for the first) */
    rlt_time *step_ps;
} rlt_part_result;
int rlt_part_result_of(const rlt_program *p, const rlt_replay *r, uint32_t first, uint32_t end,
                       rlt_part_result *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
