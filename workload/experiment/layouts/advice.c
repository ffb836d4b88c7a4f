/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

static const double faster = 1.1, wider = 2, larger = 1.1;

/* An answer that is being looked for. */
typedef struct advising {
    const rlt_layouts *l;
    const rlt_run_settings *s;
    const rlt_parsed *args;
    const rlt_layout_search *how;
    const rlt_layout_point *best;
    rlt_layouts_advice *out;
} advising;

static void add_change(const advising *a, const char *what, bool searched, const rlt_layout_point *p)
{
    rlt_layouts_change one = {.what = what, .searched = searched, .point = *p};
    uint32_t i = a->out->n_changes;
    one.gain = (double)a->best->time_ps / (double)p->time_ps - 1;
    if (i == RLT_ADVICE_CHANGES || p->time_ps <= 0)
        return;
    for (; i > 0 && a->out->changes[i - 1].gain < one.gain; i--)
        a->out->changes[i] = a->out->changes[i - 1];
    a->out->changes[i] = one;
    a->out->n_changes++;
}

/* Simulates a training of the search `l`, and adds it. `times`: as many samples as before. */
static int simulate(const advising *a, const rlt_layouts *l, const rlt_training *t, uint32_t times,
                    const char *what, rlt_error *err)
{
    rlt_layout_point p = *a->best;
    int rc = rlt_layout_simulate(t, &l->run.options, true, NULL, a->how->watch, &p.time_ps, err);
    p.time_ps /= times;
    p.memory_bytes = rlt_training_fullest(t, NULL);
    if (!rc)
        add_change(a, what, false, &p);
    return rc;
}

/* Opens the search again under other settings. It simulates the fastest layout, or searches. */
static int again(const advising *a, const rlt_run_settings *s, bool searched, const char *what,
                 rlt_error *err)
{
    rlt_layouts l = {0};
    rlt_training t;
    rlt_layout_search how = *a->how;
    how.within = 0;
    int rc = rlt_layouts_open(&l, s, a->args, err);
    if (!rc && searched) {
        rc = rlt_layouts_find(&l, &how, err);
        if (!rc && l.result.n)
            add_change(a, what, true, &l.result.points[0]);
    } else if (!rc) {
        rc = rlt_layouts_training(&l, a->best, &t, err);
        if (!rc)
            rc = simulate(a, &l, &t, 1, what, err);
    }
    rlt_layouts_close(&l);
    return rc;
}

/* Doubles the bandwidth of a dimension. Links of a graph have none. */
static int widen(const advising *a, uint32_t dim, bool searched, const char *what, rlt_error *err)
{
    rlt_run_settings s = *a->s;
    rlt_error why = {0};
    char text[32];
    uint32_t n = s.sim.dim_scale.n;
    const char **items = calloc((size_t)n + 1, sizeof *items);
    if (!items)
        return rlt_nomem(err);
    if (n)
        memcpy(items, s.sim.dim_scale.items, n * sizeof *items);
    snprintf(text, sizeof text, "%u=%g", dim, wider);
    items[n] = text;
    s.sim.dim_scale = (rlt_texts){.items = items, .n = n + 1};
    int rc = again(a, &s, searched, what, &why);
    free(items);
    if (rc && rc != RLT_EUNSUPPORTED && rc != RLT_EUSAGE && err)
        *err = why;
    return rc == RLT_EUNSUPPORTED || rc == RLT_EUSAGE ? 0 : rc;
}

/* Changes of the training: more samples, nothing computed again. */
static int change_training(const advising *a, rlt_error *err)
{
    rlt_training t;
    rlt_error why = {0};
    int rc = rlt_layouts_training(a->l, a->best, &t, err);
    t.batch *= 2;
    if (!rc && t.size[RLT_AXIS_PP] > 1 && !rlt_training_plan(&t, rlt_layouts_ranks(a->l), &why))
        rc = simulate(a, a->l, &t, 2, "batch x 2, time of as many samples", err);
    t.batch /= 2;
    if (rc || t.recompute == RLT_RECOMPUTE_NONE)
        return rc;
    t.recompute = RLT_RECOMPUTE_NONE;
    rc = rlt_training_plan(&t, rlt_layouts_ranks(a->l), err);
    return rc ? rc : simulate(a, a->l, &t, 1, "nothing computed again", err);
}

static int change_all(const advising *a, bool searches, rlt_error *err)
{
    rlt_run_settings s = *a->s;
    uint32_t dims = rlt_topology_dims(a->l->run.setup.topology);
    s.compute_scale *= faster;
    int rc = again(a, &s, false, "accelerators 10 % faster", err);
    if (!rc && dims > 1)
        rc = widen(a, 0, false, "bandwidth of the innermost dimension x 2", err);
    if (!rc)
        rc = widen(a, dims - 1, false,
                   dims > 1 ? "bandwidth of the outermost dimension x 2" : "bandwidth x 2", err);
    if (!rc)
        rc = change_training(a, err);
    if (!rc && searches)
        rc = widen(a, dims - 1, true, dims > 1 ? "bandwidth of the outermost dimension x 2" : "bandwidth x 2",
                   err);
    return rc;
}

/* Searches with more memory. */
static int with_memory(const advising *a, double share, double within, rlt_layouts *l, rlt_error *err)
{
    rlt_layout_search how = *a->how;
    how.headroom = 1 - (1 - how.headroom) * (1 + share);
    how.within = within;
    *l = (rlt_layouts){0};
    int rc = rlt_layouts_open(l, a->s, a->args, err);
    return rc ? rc : rlt_layouts_find(l, &how, err);
}

/* Appends a setting that makes a training fit. */
static void try_setting(const rlt_training *t, const char *name, const char *value, double room, char *text,
                        size_t size)
{
    rlt_training other = *t;
    rlt_error why = {0};
    size_t used = strlen(text);
    if (rlt_training_set(&other, name, value, &why) ||
        rlt_training_plan(&other, rlt_training_ranks(t), &why) || rlt_training_fullest(&other, NULL) > room)
        return;
    if (used < size)
        snprintf(text + used, size - used, "%s%s=%s", used ? " or " : "", name, value);
}

/* Writes which settings would make a layout fit: the mildest of each kind. */
static void find_settings(const rlt_training *t, double room, char *text, size_t size)
{
    static const char *const recompute[] = {"selective", "full"};
    char value[16];
    size_t before = strlen(text);
    for (uint32_t b = t->microbatch - 1; b > 0 && strlen(text) == before; b--) {
        snprintf(value, sizeof value, "%u", b);
        try_setting(t, "microbatch", value, room, text, size);
    }
    before = strlen(text);
    for (uint32_t z = t->zero + 1; z <= 3 && strlen(text) == before; z++) {
        snprintf(value, sizeof value, "%u", z);
        try_setting(t, "zero", value, room, text, size);
    }
    before = strlen(text);
    for (int i = t->recompute == RLT_RECOMPUTE_NONE ? 0 : 1; i < 2 && strlen(text) == before; i++)
        if (t->recompute != RLT_RECOMPUTE_FULL)
            try_setting(t, "recompute", recompute[i], room, text, size);
}

/* Takes the layouts of a search with more memory that are faster and do not fit. */
static int take_near(const advising *a, const rlt_layouts *l, rlt_error *err)
{
    double room = (double)a->l->run.accelerator.memory_bytes * (1 - a->how->headroom);
    int rc = 0;
    for (uint32_t i = 0; i < l->result.n && a->out->n_near < RLT_ADVICE_NEAR && !rc; i++) {
        const rlt_layout_point *p = &l->result.points[i];
        rlt_layouts_near *near = &a->out->near[a->out->n_near];
        rlt_training t;
        if (p->memory_bytes <= room || p->time_ps >= a->best->time_ps)
            continue;
        *near = (rlt_layouts_near){.point = *p, .missing_bytes = p->memory_bytes - room};
        rc = rlt_layouts_training(l, p, &t, err);
        if (!rc)
            find_settings(&t, room, near->fits_with, sizeof near->fits_with);
        a->out->n_near++;
    }
    return rc;
}

int rlt_layouts_advice_find(const rlt_layouts *l, const rlt_run_settings *s, const rlt_parsed *args,
                            const rlt_layout_search *how, const rlt_layouts_advise *asked,
                            rlt_layouts_advice *out, rlt_error *err)
{
    advising a = {.l = l, .s = s, .args = args, .how = how, .best = l->result.points, .out = out};
    rlt_layouts more = {0};
    bool helps = true;
    int rc = 0;
    *out = (rlt_layouts_advice){.n_changes = 0};
    if (asked->changes)
        rc = change_all(&a, asked->searches, err);
    if (!rc && asked->searches) {
        rc = with_memory(&a, larger - 1, 0, &more, err);
        if (!rc && more.result.n) {
            add_change(&a, "10 % more memory", true, &more.result.points[0]);
            helps = asked->reach > larger - 1 || more.result.points[0].time_ps < a.best->time_ps;
        }
        rlt_layouts_close(&more);
    }
    if (!rc && asked->reach > 0 && helps) {
        rc = with_memory(&a, asked->reach, how->within, &more, err);
        if (!rc)
            rc = take_near(&a, &more, err);
        rlt_layouts_close(&more);
    }
    out->looked_near = !rc && asked->reach > 0;
    return rc;
}
