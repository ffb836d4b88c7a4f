/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recurrence behind "removing the barrier": who waits for whom, without a network. */
#include <stdlib.h>

#include "sim/base/error.h"
#include "workload/daso/daso.h"
#include "workload/daso/internal.h"
#include "workload/program/program.h"

typedef struct recurrence {
    const rlt_straggler *s;
    double *clock; /* of nodes */
    bool pending;
    uint32_t due;    /* batch after which it is merged */
    double complete; /* when a pending sync is there */
} recurrence;

/* All nodes compute batch k; returns the slowest GPU's time. */
static double compute(recurrence *r, uint32_t k)
{
    const rlt_straggler *s = r->s;
    double slowest = 0;
    for (uint32_t p = 0; p < s->nodes; p++) {
        double of_node = 0;
        for (uint32_t i = 0; i < s->gpus; i++) {
            double d = rlt__dp_jitter(s->jitter, s->seed, p * s->gpus + i, 0, k);
            of_node = d > of_node ? d : of_node;
        }
        r->clock[p] += of_node;
        slowest = of_node > slowest ? of_node : slowest;
    }
    return slowest;
}

static double latest(const recurrence *r)
{
    double t = 0;
    for (uint32_t p = 0; p < r->s->nodes; p++)
        t = r->clock[p] > t ? r->clock[p] : t;
    return t;
}

static void exchange(recurrence *r, uint32_t k)
{
    const rlt_straggler *s = r->s;
    if (k % s->skips == 0 && !r->pending && (uint64_t)k + s->wait < s->batches) {
        r->complete = latest(r) + s->transfer;
        r->due = k + s->wait;
        r->pending = true;
    }
    if (!r->pending || k != r->due)
        return;
    for (uint32_t p = 0; p < s->nodes; p++)
        r->clock[p] = r->clock[p] > r->complete ? r->clock[p] : r->complete;
    r->pending = false;
}

int rlt_straggler_run(const rlt_straggler *s, rlt_straggler_result *out, rlt_error *err)
{
    if (!s->nodes || !s->gpus || !s->batches || !s->skips || !(s->jitter >= 0) || !(s->transfer >= 0) ||
        !(s->overhead >= 0) || (uint64_t)s->nodes * s->gpus > RLT_MAX_RANKS)
        return rlt_fail(err, RLT_ERANGE, "straggler", "counts must be above 0, times not below");
    recurrence r = {.s = s, .clock = calloc(s->nodes, sizeof *r.clock)};
    if (!r.clock)
        return rlt_nomem(err);
    out->baseline = 0;
    for (uint32_t k = 0; k < s->batches; k++) {
        out->baseline += compute(&r, k) + s->overhead;
        exchange(&r, k);
    }
    out->daso = latest(&r);
    out->saving = 1 - out->daso / out->baseline;
    free(r.clock);
    return 0;
}
