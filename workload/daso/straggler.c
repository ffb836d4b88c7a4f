/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recurrence of rlt_straggler (daso.h): waiting between ranks, without a network. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/watch.h"
#include "workload/daso/daso.h"
#include "workload/daso/internal.h"
#include "workload/program/program.h"

typedef struct recurrence {
    const rlt_straggler *s;
    double *clock; /* by node */
    bool pending;
    uint32_t due;    /* batch after which the sync is merged */
    double complete; /* when the pending sync completes */
} recurrence;

/* Advances all nodes by batch k. Returns the time of the slowest GPU. */
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
    if ((uint64_t)s->nodes * s->gpus > RLT_MAX_RANKS)
        return rlt_fail(err, RLT_ERANGE, "stragglers", "%u nodes of %u GPUs exceed the limit of %d GPUs",
                        s->nodes, s->gpus, RLT_MAX_RANKS);
    if (!s->nodes || !s->gpus || !s->batches || !s->skips || !(s->jitter >= 0) || !(s->transfer >= 0) ||
        !(s->overhead >= 0))
        return rlt_fail(err, RLT_ERANGE, "straggler", "expected counts above 0 and times of at least 0");
    recurrence r = {.s = s, .clock = calloc(s->nodes, sizeof *r.clock)};
    if (!r.clock)
        return rlt_nomem(err);
    out->baseline = 0;
    for (uint32_t k = 0; k < s->batches; k++) {
        if (rlt_watch_stopped(s->watch)) {
            free(r.clock);
            return rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted");
        }
        out->baseline += compute(&r, k) + s->overhead;
        exchange(&r, k);
    }
    out->daso = latest(&r);
    out->saving = 1 - out->daso / out->baseline;
    free(r.clock);
    return 0;
}

bool rlt_straggler_reference(const rlt_straggler *s, double *saving)
{
    /* Savings for 16 nodes of 4, 240 batches, transfers without time; draws of one seed. */
    static const struct {
        uint32_t skips, wait;
        double jitter, overhead, saving;
    } known[] = {
        {4, 1, 0, 0, 0},          {4, 1, 0.05, 0, 0.059},  {4, 1, 0.1, 0, 0.112},    {4, 1, 0.15, 0, 0.157},
        {4, 1, 0.2, 0, 0.197},    {4, 1, 0.25, 0, 0.232},  {4, 1, 0.3, 0, 0.262},    {4, 1, 0, 0.1, 0.091},
        {4, 1, 0.05, 0.1, 0.136}, {4, 1, 0.1, 0.1, 0.178}, {4, 1, 0.15, 0.1, 0.213}, {4, 1, 0.2, 0.1, 0.246},
        {4, 1, 0.25, 0.1, 0.275}, {4, 1, 0.3, 0.1, 0.299}, {1, 1, 0.2, 0, 0.196},    {2, 1, 0.2, 0, 0.197},
        {8, 2, 0.2, 0, 0.208},
    };
    if (s->nodes != 16 || s->gpus != 4 || s->batches != 240 || s->transfer > 0)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (s->skips == known[i].skips && s->wait == known[i].wait &&
            fabs(s->jitter - known[i].jitter) < 1e-9 && fabs(s->overhead - known[i].overhead) < 1e-9) {
            *saving = known[i].saving;
            return true;
        }
    return false;
}
