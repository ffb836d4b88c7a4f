/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "skip_impossible": drops places whose training cannot run, before they become points. The verdict depends
 * only on axes that change the network or the workload, so it is found once for all values of the others.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/base/interrupt.h"
#include "tools/sweep/point.h"
#include "tools/sweep/state.h"
#include "tools/sweep/study/study.h"
#include "tools/sweep/sweep.h"
#include "workload/experiment/shared.h"

struct rlt_sweep_judge {
    rlt_sweep_study *study;
    rlt_shared *inputs;
    bool matters[RLT_SWEEP_AXES];
    rlt_map known; /* reason + 1 by place on the axes that matter; 0: possible */
    rlt_point_job point;
    int failed; /* first error that ends the sweep */
    rlt_error why;
};

static bool changes_training(const rlt_sweep_study *s, const rlt_sweep_axis *a)
{
    for (uint32_t i = 0; i < a->n_places; i++) {
        const char *option = rlt_option_at(s->command->options, a->places[i].option, NULL)->name;
        if (rlt_shared_is_of_net(option) || rlt_shared_is_of_work(option))
            return true;
    }
    return false;
}

/* Marks the axes that the verdict depends on. A derived axis stands for those that it follows from. */
static void mark_axes(struct rlt_sweep_judge *j)
{
    const rlt_sweep_study *s = j->study;
    for (uint32_t i = 0; i < s->n_axes; i++)
        if (changes_training(s, &s->axes[i]))
            for (uint32_t k = 0; k < s->n_axes; k++)
                j->matters[k] |= s->axes[i].from ? s->axes[i].on[k] && !s->axes[k].from : k == i;
}

static int find_reason(struct rlt_sweep_judge *j, const uint32_t at[RLT_SWEEP_AXES], uint32_t *reason,
                       rlt_error *err)
{
    char why[160];
    rlt_point_job *e = &j->point;
    e->study = j->study;
    e->point = (rlt_sweep_point){.named = RLT_NONE};
    for (uint32_t i = 0; i < j->study->n_axes; i++)
        e->point.at[i] = at[i];
    int rc = rlt_point_judge(e, j->inputs, why, sizeof why, err);
    rlt_point_reset(e);
    *reason = RLT_NONE;
    return rc || !*why ? rc : rlt_sweep_reason(j->study, why, reason, err);
}

static uint32_t test(void *ctx, const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES])
{
    struct rlt_sweep_judge *j = ctx;
    uint64_t key = 0;
    uint32_t reason;
    for (uint32_t i = 0; i < s->n_axes; i++)
        key = j->matters[i] ? key * s->axes[i].n + at[i] : key;
    uint32_t known = rlt_map_get(&j->known, key);
    if (known != RLT_NONE)
        return known ? known - 1 : RLT_NONE;
    if (!j->failed && rlt_interrupted())
        j->failed = rlt_fail(&j->why, RLT_ECANCELLED, NULL, "interrupted while layouts were checked");
    if (j->failed)
        return RLT_NONE;
    j->failed = find_reason(j, at, &reason, &j->why);
    if (!j->failed && rlt_map_put(&j->known, key, reason == RLT_NONE ? 0 : reason + 1))
        j->failed = rlt_nomem(&j->why);
    return reason;
}

int rlt_sweep_skip(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err)
{
    if (!study->skip_impossible)
        return 0;
    struct rlt_sweep_judge *j = w->judge = calloc(1, sizeof *j);
    if (!j)
        return rlt_nomem(err);
    j->study = study;
    j->inputs = &w->inputs;
    mark_axes(j);
    study->test = test;
    study->test_ctx = j;
    rlt__sweep_note_inputs(w);
    int rc = rlt_sweep_count(study, err);
    return rc ? rc : rlt__sweep_skipped(w, err);
}

int rlt__sweep_skipped(const rlt_sweep *w, rlt_error *err)
{
    const struct rlt_sweep_judge *j = w->judge;
    return j && j->failed ? rlt_fail(err, j->failed, j->why.where[0] ? j->why.where : NULL, "%s", j->why.what)
                          : 0;
}

void rlt__sweep_skip_free(rlt_sweep *w)
{
    struct rlt_sweep_judge *j = w->judge;
    if (!j)
        return;
    j->study->test = NULL;
    rlt_map_free(&j->known);
    rlt_point_free(&j->point);
    free(j);
    w->judge = NULL;
}
