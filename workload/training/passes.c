/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/training/passes.h"

#include <stdlib.h>

#include "sim/base/mem.h"
#include "workload/program/program.h"

void rlt_training_passes_free(rlt_training_passes *p)
{
    free(p->stages);
    free(p->at);
    *p = (rlt_training_passes){0};
}

int rlt__passes_begin(rlt_training_passes *p, uint32_t stages, uint32_t folded, rlt_error *err)
{
    rlt_training_passes_free(p);
    p->stages = calloc((size_t)stages + 1, sizeof *p->stages);
    if (!p->stages)
        return rlt_nomem(err);
    p->n_stages = stages;
    p->folded = folded;
    return 0;
}

int rlt__passes_add(rlt_training_passes *p, uint32_t stage, const rlt_training_pass *pass, rlt_error *err)
{
    int rc = rlt_grow(&p->at, &p->room, sizeof *p->at, (uint64_t)p->n + 1, RLT_MAX_OPS, "passes", err);
    if (rc)
        return rc;
    if (p->stages[stage].n++ == 0)
        p->stages[stage].first = p->n;
    p->at[p->n++] = *pass;
    return 0;
}
