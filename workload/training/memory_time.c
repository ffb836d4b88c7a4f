/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a rank over time, from the times of its passes. */
#include "workload/training/memory_time.h"

#include <stdlib.h>

#include "sim/base/mem.h"
#include "workload/training/internal.h"

uint32_t rlt_stage_rank(const rlt_training *t, const rlt_training_passes *p, uint32_t stage)
{
    uint32_t at[RLT_AXES_OF_LAYOUT] = {0};
    at[RLT_AXIS_PP] = stage;
    return rlt_folded_rank(t, p->folded, at);
}

/* Change of the numbers of microbatches that are kept and that are being recomputed. */
typedef struct change {
    rlt_time time_ps;
    int kept, again;
} change;

static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->time_ps > y->time_ps) - (x->time_ps < y->time_ps);
}

typedef struct times {
    const rlt_replay *replay;
    uint32_t origin; /* the first operation of the rank */
    rlt_time start_ps;
} times;

/* Return the end and the begin of a pass; -1: not yet. */
static rlt_time ended(const times *x, const rlt_training_pass *p)
{
    return p->last == RLT_NONE ? x->start_ps : rlt_replay_op(x->replay, x->origin + p->last).end_ps;
}
static rlt_time began(const times *x, const rlt_training_pass *p)
{
    return p->first == RLT_NONE ? ended(x, p) : rlt_replay_op(x->replay, x->origin + p->first).start_ps;
}

static void note(change *list, uint32_t *n, rlt_time time_ps, int kept, int again)
{
    if (time_ps >= 0)
        list[(*n)++] = (change){time_ps, kept, again};
}

/* Lists the changes in order of time. `list` has room for two per pass. */
static uint32_t find_changes(const rlt_training_pass *p, uint32_t passes, const times *x, change *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < passes; i++)
        switch (p[i].kind) {
        case RLT_PASS_FORWARD:
            note(list, &n, began(x, &p[i]), 1, 0);
            break;
        case RLT_PASS_BACKWARD:
            note(list, &n, began(x, &p[i]), 0, 1);
            note(list, &n, ended(x, &p[i]), p[i].apart ? 0 : -1, -1);
            break;
        case RLT_PASS_WEIGHTS:
            note(list, &n, ended(x, &p[i]), -1, 0);
            break;
        }
    qsort(list, n, sizeof *list, by_time);
    return n;
}

static void put(rlt_memory_curve *c, rlt_time time_ps, double bytes)
{
    if (c->n && c->steps[c->n - 1].bytes == bytes)
        return;
    c->steps[c->n++] = (rlt_memory_step){time_ps, bytes};
    if (c->n == 1 || bytes > c->peak_bytes) {
        c->peak_bytes = bytes;
        c->peak_ps = time_ps;
    }
}

/* Turns changes into steps. All changes of one instant are one step. */
static void walk(const rlt_training *t, const change *list, uint32_t n, rlt_time start_ps,
                 rlt_memory_curve *c)
{
    rlt_training_memory m = rlt_training_memory_of(t, c->stage);
    rlt__kept k = rlt__training_kept(t, c->stage);
    int kept = 0, again = 0;
    m.activations = 0;
    rlt__memory_sum(t, &m);
    c->base_bytes = m.total;
    if (n == 0 || list[0].time_ps > start_ps)
        put(c, start_ps, c->base_bytes);
    for (uint32_t i = 0; i < n; i++) {
        kept += list[i].kept;
        again += list[i].again;
        if (i + 1 < n && list[i + 1].time_ps == list[i].time_ps)
            continue;
        m.activations = rlt__kept_bytes(t, &k, (uint32_t)kept, again > 0);
        rlt__memory_sum(t, &m);
        put(c, list[i].time_ps, m.total);
    }
}

int rlt_memory_curve_of(const rlt_training *t, const rlt_training_passes *p, const rlt_program *program,
                        const rlt_replay *r, uint32_t rank, rlt_memory_curve *out, rlt_error *err)
{
    uint32_t ranks = rlt_folded_ranks(t, p->folded), at[RLT_AXES_OF_LAYOUT];
    *out = (rlt_memory_curve){0};
    if (rank >= ranks || rank >= program->n_ranks)
        return rlt_fail(err, RLT_ERANGE, "memory", "rank %u is not one of the %u ranks", rank, ranks);
    rlt_folded_place(t, p->folded, rank, at);
    out->stage = at[RLT_AXIS_PP];
    const rlt_stage_passes *s = &p->stages[out->stage];
    const times x = {r, program->rank_first[rank], rlt_replay_rank(r, rank).start_ps};
    if (program->rank_first[rank + 1] - x.origin != s->n_ops)
        return rlt_fail(err, RLT_ECHECK, "memory",
                        "rank %u has %u operations, but its stage %u was built with %u", rank,
                        program->rank_first[rank + 1] - x.origin, out->stage, s->n_ops);
    change *list = malloc(((size_t)s->n * 2 + 1) * sizeof *list);
    out->steps = malloc(((size_t)s->n * 2 + 1) * sizeof *out->steps);
    int rc = list && out->steps ? 0 : rlt_nomem(err);
    if (!rc)
        walk(t, list, find_changes(&p->at[s->first], s->n, &x, list), x.start_ps, out);
    else
        rlt_memory_curve_free(out);
    free(list);
    return rc;
}

void rlt_memory_curve_free(rlt_memory_curve *c)
{
    free(c->steps);
    c->steps = NULL;
    c->n = 0;
}
