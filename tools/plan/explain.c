/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says what binds the fastest layout, what would help it, and where the user's own stands. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/advice.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

/* Parts of the time of the rank that ends last. */
enum { COMPUTE, BUBBLE, TP, CP, EP, DP, PP, OTHER, HOST, PARTS };
static const char *const part_names[PARTS] = {"compute",
                                              "bubble",
                                              "tensor parallelism",
                                              "context parallelism",
                                              "expert parallelism",
                                              "data parallelism",
                                              "messages between stages",
                                              "other communication",
                                              "host"};
static const char *const part_keys[PARTS] = {"compute",    "bubble",        "exposed_tp",
                                             "exposed_cp", "exposed_ep",    "exposed_dp",
                                             "exposed_pp", "exposed_other", "host"};

typedef struct part {
    int what;
    double share; /* or seconds, of a difference */
} part;

static void parts_of(const rlt_planned *r, part out[PARTS])
{
    out[COMPUTE].share = r->compute;
    out[BUBBLE].share = r->bubble;
    for (int i = TP; i <= OTHER; i++)
        out[i].share = r->exposed[i - TP];
    out[HOST].share = r->host;
    for (int i = 0; i < PARTS; i++)
        out[i].what = i;
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(((const part *)a)->share), y = fabs(((const part *)b)->share);
    return x > y ? -1 : x < y ? 1 : ((const part *)a)->what - ((const part *)b)->what;
}

/* Returns where the groups of an axis communicate, with rank r on accelerator r. */
static const char *place_of(const rlt_layouts *l, const rlt_training *t, int what)
{
    static const rlt_axis axes[PARTS] = {
        [TP] = RLT_AXIS_TP, [CP] = RLT_AXIS_CP, [DP] = RLT_AXIS_DP, [PP] = RLT_AXIS_PP};
    uint64_t node = l->run.training.node;
    if ((what != TP && what != CP && what != DP && what != PP) || node < 2 || l->fixed.sim.placement)
        return "";
    uint64_t stride = rlt_training_stride(t, axes[what]);
    if (node % (stride * t->size[axes[what]]) == 0)
        return " (inside nodes)";
    return stride % node == 0 ? " (between nodes)" : " (inside and between nodes)";
}

static void print_binds(FILE *out, const rlt_layouts *l, const rlt_planned *best)
{
    const double least = 0.005;
    rlt_training t;
    rlt_error err = {0};
    part parts[PARTS];
    uint32_t stage;
    if (rlt_layouts_training(l, best->point, &t, &err))
        return;
    parts_of(best, parts);
    qsort(parts, PARTS, sizeof *parts, by_size);
    fprintf(out, "\ntime of layout 1:");
    for (int i = 0; i < PARTS && parts[i].share >= least; i++)
        fprintf(out, "%s %s%s %.1f %%", i ? "," : "", part_names[parts[i].what],
                place_of(l, &t, parts[i].what), 100 * parts[i].share);
    double bytes = rlt_training_fullest(&t, &stage);
    fprintf(out, "; memory %.0f %% full", 100 * bytes / (double)t.accelerator->memory_bytes);
    if (t.size[RLT_AXIS_PP] > 1)
        fprintf(out, " on stage %u of %u", stage, t.size[RLT_AXIS_PP]);
    fprintf(out, "\n");
}

static void print_changes(FILE *out, const rlt_layouts *l, const rlt_layouts_advice *a)
{
    const double least = 0.0005, memory = (double)l->run.accelerator.memory_bytes;
    char layout[400];
    for (uint32_t i = 0; i < a->n_changes; i++) {
        const rlt_layouts_change *c = &a->changes[i];
        if (i == 0)
            fprintf(out, "what would help:\n");
        if (c->gain < least && !c->searched)
            continue;
        fprintf(out, "  %5.1f %% faster  %s", 100 * (c->gain > 0 ? c->gain : 0), c->what);
        if (!c->searched && c->point.memory_bytes > memory)
            fprintf(out, " (%.1f GB are missing)", (c->point.memory_bytes - memory) / 1e9);
        if (c->searched && memcmp(c->point.at, l->result.points[0].at, sizeof c->point.at) != 0) {
            rlt_plan_describe(l, &c->point, layout, sizeof layout);
            fprintf(out, ", searched again: %s", layout);
        } else if (c->searched)
            fprintf(out, ", searched again: the same layout");
        fprintf(out, "\n");
    }
}

static void print_near(FILE *out, const rlt_layouts *l, const rlt_layouts_advice *a)
{
    char layout[400];
    double best = (double)l->result.points[0].time_ps;
    if (a->looked_near && !a->n_near)
        fprintf(out, "no faster layout is just out of reach\n");
    for (uint32_t i = 0; i < a->n_near; i++) {
        const rlt_layouts_near *n = &a->near[i];
        rlt_plan_describe(l, &n->point, layout, sizeof layout);
        fprintf(out, "%s  %.1f GB too large, %.4g s (%.1f %% faster)  %s", i ? "" : "just out of reach:\n",
                n->missing_bytes / 1e9, (double)n->point.time_ps / 1e12,
                100 * (best / (double)n->point.time_ps - 1), layout);
        fprintf(out, *n->fits_with ? "; would fit with %s\n" : "\n", n->fits_with);
    }
}

/* Counts the layouts that are faster than a time: at least, at most. */
static void count_faster(const rlt_layout_result *r, rlt_time time, double counts[2])
{
    counts[0] = 0;
    for (uint32_t i = 0; i < r->n; i++)
        counts[0] += r->points[i].time_ps < time;
    counts[1] = counts[0] + r->below_mark;
}

/* Says in what parts of the time two layouts differ, the largest first. */
static void print_differences(FILE *out, const rlt_planned *mine, const rlt_planned *best)
{
    const double least = 0.002; /* share of the time */
    part a[PARTS], b[PARTS];
    double seconds = (double)mine->time_ps / 1e12;
    int shown = 0;
    parts_of(mine, a);
    parts_of(best, b);
    for (int i = 0; i < PARTS; i++)
        a[i].share = a[i].share * seconds - b[i].share * (double)best->time_ps / 1e12;
    qsort(a, PARTS, sizeof *a, by_size);
    for (int i = 0; i < PARTS && fabs(a[i].share) >= least * seconds; i++, shown++)
        fprintf(out, "%s %.3g s %s %s", shown ? "," : ":", fabs(a[i].share), a[i].share > 0 ? "more" : "less",
                part_names[a[i].what]);
}

static void print_mine(FILE *out, const rlt_layouts *l, const rlt_plan_answer *a)
{
    const rlt_plan_mine *m = a->mine;
    double counts[2], best = (double)l->result.points[0].time_ps, slower;
    if (!m->asked)
        return;
    if (!m->runs) {
        fprintf(out, "mine cannot run: %s%s%s\n", m->why.where, *m->why.where ? ": " : "", m->why.what);
        return;
    }
    slower = 100 * ((double)m->run.time_ps / best - 1);
    fprintf(out, "mine: %.4g s, %.1f GB, %.1f %% %s than layout 1", (double)m->run.time_ps / 1e12,
            m->run.memory_bytes / 1e9, fabs(slower), slower < 0 ? "faster" : "slower");
    if (a->n && !a->rows[0].whole_ps)
        print_differences(out, &m->run, &a->rows[0]);
    count_faster(&l->result, m->run.time_ps, counts);
    if (counts[1] > counts[0])
        fprintf(out, "\n  faster layouts: at least %.0f, at most %.0f; --within %.0f%% counts them",
                counts[0], counts[1], ceil(slower));
    else
        fprintf(out, "\n  faster layouts: %.0f", counts[0]);
    fprintf(out, "\n  %s\n", m->run.command);
}

void rlt_plan_explain(FILE *out, const rlt_layouts *l, const rlt_plan_answer *a)
{
    if (!l->result.n)
        return;
    if (a->n)
        print_binds(out, l, &a->rows[0]);
    print_changes(out, l, a->advice);
    print_near(out, l, a->advice);
    print_mine(out, l, a);
}

static void shares_json(rlt_jw *w, const rlt_planned *r)
{
    part parts[PARTS];
    parts_of(r, parts);
    rlt_jw_object(w, "shares");
    for (int i = 0; i < PARTS; i++)
        rlt_jw_double(w, part_keys[i], parts[i].share, 6);
    rlt_jw_end_object(w);
}

static void mine_json(rlt_jw *w, const rlt_layouts *l, const rlt_plan_mine *m)
{
    double counts[2];
    if (!m->asked)
        return;
    rlt_jw_object(w, "mine");
    rlt_jw_bool(w, "runs", m->runs);
    if (!m->runs)
        rlt_jw_string(w, "error", m->why.what);
    else {
        count_faster(&l->result, m->run.time_ps, counts);
        rlt_jw_i64(w, "mine_ps", m->run.time_ps);
        rlt_jw_double(w, "faster_at_least", counts[0], 0);
        rlt_jw_double(w, "faster_at_most", counts[1], 0);
        rlt_jw_string(w, "run", m->run.command);
        shares_json(w, &m->run);
    }
    rlt_jw_end_object(w);
}

void rlt_plan_explain_json(rlt_jw *w, const rlt_layouts *l, const rlt_plan_answer *a)
{
    char layout[400];
    if (a->n) {
        rlt_jw_object(w, "binds");
        shares_json(w, &a->rows[0]);
        rlt_jw_end_object(w);
    }
    rlt_jw_array(w, "changes");
    for (uint32_t i = 0; i < a->advice->n_changes; i++) {
        const rlt_layouts_change *c = &a->advice->changes[i];
        rlt_plan_describe(l, &c->point, layout, sizeof layout);
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "what", c->what);
        rlt_jw_double(w, "gain", c->gain, 6);
        rlt_jw_bool(w, "searched", c->searched);
        rlt_jw_string(w, "with", layout);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "out_of_reach");
    for (uint32_t i = 0; i < a->advice->n_near; i++) {
        const rlt_layouts_near *n = &a->advice->near[i];
        rlt_plan_describe(l, &n->point, layout, sizeof layout);
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "with", layout);
        rlt_jw_i64(w, "needs_ps", n->point.time_ps);
        rlt_jw_double(w, "missing_bytes", n->missing_bytes, 0);
        rlt_jw_string(w, "would_fit_with", n->fits_with);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    mine_json(w, l, a->mine);
}
