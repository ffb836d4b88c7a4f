/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of workload/design*.c share. */
#ifndef RLT_DESIGN_INTERNAL_H
#define RLT_DESIGN_INTERNAL_H

#include "workload/design.h"

typedef struct rlt__design_groups {
    rlt_design_group of[3]; /* by rlt_design_over */
} rlt__design_groups;

int rlt__design_groups_of(const rlt_design_net *net, const rlt_design_work *w, rlt__design_groups *out,
                          rlt_error *err) RLT_MUST_USE;

/* Why rlt_design_work_add returned NULL. */
int rlt__design_no_layer(const rlt_error *err);

#endif
