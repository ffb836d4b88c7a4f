/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan --measured: factors learned from the user's runs, the layouts under them, and the next run to
 * measure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/output/output.h"
#include "tools/output/sheet.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/measured.h"
#include "workload/experiment/layouts/why.h"
#include "workload/plan/plan.h"
#include "workload/setup/inputs.h"

static const rlt_column columns[] = {
    {"time_ps", "time", NULL, RLT_COL_TIME, 0, 0, "time of an iteration under the learned factors, folded"},
    {"slower", "slower", "%", RLT_COL_PERCENT, 0, 1, "time / the fastest layout's, less 1"},
    {"uncertain", "uncertain", "+-%", RLT_COL_PERCENT, 0, 2,
     "standard deviation of the time over factors that agree with the runs"},
    {"runs", "run", NULL, RLT_COL_TEXT, 0, 0,
     "measured: one of the runs; next: the layout to measure next, whose time is the most uncertain"},
    {"tokens_per_second", "tokens", "/s", RLT_COL_REAL, 0, 0, "training tokens a second"},
    {"memory_bytes", "memory", "GB", RLT_COL_REAL, 0, 1, "memory of the fullest stage"},
    {"layout", "layout", NULL, RLT_COL_TEXT, 0, 0, "sizes of the groups, and the settings of the training"},
    {"command", NULL, NULL, RLT_COL_TEXT, 0, 0, "command that runs it"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_plan_measured_columns = {"layouts under factors learned from runs", columns, N_COLUMNS};

/* The search under the learned factors, and its rows. */
typedef struct learned {
    const rlt_plan_asked *asked;
    const rlt_parsed *args;
    rlt_measured *runs;
    rlt_layouts *given;
    rlt_layouts l; /* under the learned factors */
    uint32_t n;    /* rows */
    double *sd;
    uint32_t next; /* row; RLT_NONE: all rows are measured */
} learned;

/* Finds the rows, and which to measure next. */
static int look(learned *w, const rlt_layout_search *how, rlt_error *err)
{
    const rlt_layout_result *r = &w->l.result;
    int rc = rlt_layouts_find(&w->l, how, err);
    double limit = r->n ? (double)r->points[0].time_ps * (1 + how->within) : 0;
    while (!rc && w->n < r->n && w->n < w->asked->top && (double)r->points[w->n].time_ps <= limit)
        w->n++;
    w->sd = calloc((size_t)w->n + 1, sizeof *w->sd);
    w->next = RLT_NONE;
    if (!rc)
        rc = w->sd ? rlt_measured_uncertain(&w->l, w->runs, how->watch, r->points, w->n, w->sd, err)
                   : rlt_nomem(err);
    for (uint32_t i = 0; i < w->n && !rc; i++)
        if (!rlt_measured_has(&w->l, w->runs, &r->points[i]) &&
            (w->next == RLT_NONE || w->sd[i] > w->sd[w->next]))
            w->next = i;
    return rc;
}

static int add_row(rlt_sheet *sheet, const learned *w, uint32_t i, FILE *below, rlt_error *err)
{
    char layout[400];
    rlt_planned row = {0};
    const rlt_layout_point *p = &w->l.result.points[i];
    int rc = rlt_plan_run(&w->l, w->asked, w->args, p, &row, err);
    rlt_plan_describe(&w->l, p, layout, sizeof layout);
    const char *is = rlt_measured_has(&w->l, w->runs, p) ? "measured" : i == w->next ? "next" : "";
    const rlt_value values[N_COLUMNS] = {
        rlt_ps(p->time_ps),
        rlt_real((double)p->time_ps / (double)w->l.result.points[0].time_ps - 1),
        rlt_real(w->sd[i]),
        rlt_text(is),
        rlt_real(row.tokens_per_s),
        rlt_real(sheet->format == RLT_FORMAT_TABLE ? p->memory_bytes / 1e9 : p->memory_bytes),
        rlt_text(layout),
        rlt_text(row.command)};
    if (!rc) {
        rlt_sheet_row(sheet, values);
        fprintf(below, "%2u  %s\n", i + 1, row.command);
    }
    free(row.command);
    return rc;
}

static const char *const names[RLT_LAYOUT_FACTORS] = {"bandwidth", "efficiency", "half_sizes"};

static void print_learned(FILE *out, const rlt_measured *m)
{
    const double at[] = {m->factors.bandwidth, m->factors.efficiency, m->factors.half_sizes};
    fprintf(out, "\nlearned from %u run%s of %s:\n", m->n, rlt_s(m->n), m->path);
    for (uint32_t k = 0; k < RLT_LAYOUT_FACTORS; k++)
        if (k == 0 && m->bandwidth_is_fixed)
            fprintf(out, "  bandwidth   as stated: the outermost dimension is a graph\n");
        else
            fprintf(out, "  %-11s x %.4g, %.4g to %.4g\n", names[k], at[k], at[k] * exp(-m->sd[k]),
                    at[k] * exp(m->sd[k]));
    fprintf(out, "  error on the runs %.1f %%", 100 * m->error);
    if (m->n >= 3)
        fprintf(out, "; each left out %.1f %%", 100 * m->left_out);
    fprintf(out, "\n");
    for (uint32_t i = 0; i < m->n; i++) {
        const rlt_measured_run *run = &m->runs[i];
        fprintf(out, "  line %-4u measured %.4g s, predicted %+.1f %%", run->line, run->measured_s,
                100 * (run->predicted_s / run->measured_s - 1));
        if (run->left_out_s > 0)
            fprintf(out, ", left out %+.1f %%", 100 * (run->left_out_s / run->measured_s - 1));
        fprintf(out, "  %s\n", run->settings);
    }
}

static void learned_json(rlt_jw *w, const rlt_measured *m)
{
    const double at[] = {m->factors.bandwidth, m->factors.efficiency, m->factors.half_sizes};
    rlt_jw_object(w, "learned");
    for (uint32_t k = 0; k < RLT_LAYOUT_FACTORS; k++) {
        rlt_jw_object(w, names[k]);
        rlt_jw_double(w, "factor", at[k], 6);
        rlt_jw_double(w, "low", at[k] * exp(-m->sd[k]), 6);
        rlt_jw_double(w, "high", at[k] * exp(m->sd[k]), 6);
        rlt_jw_end_object(w);
    }
    rlt_jw_double(w, "error", m->error, 6);
    rlt_jw_double(w, "error_left_out", m->left_out, 6);
    rlt_jw_array(w, "runs");
    for (uint32_t i = 0; i < m->n; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "line", m->runs[i].line);
        rlt_jw_double(w, "measured_s", m->runs[i].measured_s, 9);
        rlt_jw_double(w, "predicted_s", m->runs[i].predicted_s, 9);
        rlt_jw_double(w, "left_out_s", m->runs[i].left_out_s, 9);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

static void print_next(FILE *out, const learned *w)
{
    char layout[400];
    if (w->next == RLT_NONE) {
        fprintf(out, "all layouts shown are measured\n");
        return;
    }
    rlt_plan_describe(&w->l, &w->l.result.points[w->next], layout, sizeof layout);
    fprintf(out, "measure next: row %u, %s (+- %.2f %%)\n", w->next + 1, layout, 100 * w->sd[w->next]);
}

static int report(const learned *w, rlt_error *err)
{
    rlt_sheet sheet;
    rlt_plan_legend legend;
    int rc = rlt_sheet_open(&sheet, &w->asked->report, "plan", w->args, &w->l.run.setup.inputs, err);
    if (rc)
        return rc;
    if (sheet.format == RLT_FORMAT_JSON) {
        rlt_plan_certificate_json(&sheet.json, &w->l.result);
        learned_json(&sheet.json, w->runs);
    }
    rlt_sheet_heading(&sheet, columns, N_COLUMNS);
    if ((rc = rlt_plan_legend_open(&legend, &sheet, err)))
        return rc;
    FILE *below = legend.out;
    fprintf(below, "\n");
    for (uint32_t i = 0; i < w->n && !rc && !rlt_interrupted(); i++)
        rc = add_row(&sheet, w, i, below, err);
    print_learned(below, w->runs);
    print_next(below, w);
    rlt_plan_print_certificate(below, &w->l.result);
    return rlt_plan_legend_close(&legend, &sheet, rc, err);
}

/* Refuses what would say the same as the factors. */
static int check(const rlt_parsed *args, rlt_error *err)
{
    static const char *const refused[] = {"--dim-scale", "--compute-scale", "--verify", "--failures", NULL};
    return rlt_plan_refuse(args, refused, "does not go with --measured", err);
}

/* Learns from the runs, and searches with what was learned. */
static int find(void *of, const rlt_layout_search *how, rlt_error *err)
{
    learned *w = of;
    int rc = rlt_measured_fit(w->given, how->watch, w->runs, err);
    if (!rc)
        rc = rlt_layouts_open_as(&w->l, w->given, &w->runs->factors, err);
    if (!rc)
        rc = rlt_inputs_add_file(&w->l.run.setup.inputs, "runs", w->asked->measured, err);
    return rc ? rc : look(w, how, err);
}

int rlt_plan_measured(rlt_plan_workers *workers, rlt_plan_asked *s, const rlt_parsed *args,
                      const rlt_layout_search *how, rlt_error *err)
{
    const double usual_within = 0.03;
    rlt_measured m = {0};
    rlt_layouts given = {0};
    learned w = {.asked = s, .args = args, .runs = &m, .given = &given};
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_layout_search p = *how;
    int rc = check(args, err);
    if (rc)
        return rc;
    if (!rlt_given(args, "within"))
        p.within = usual_within;
    if (!(rc = rlt_layouts_open(&given, &s->run, args, err)) &&
        !(rc = rlt_measured_read(&given, s->measured, &m, err)))
        rc = rlt_plan_watched(workers, s->quiet, &p, find, &w, err);
    p.watch = &watch;
    if (!rc && !w.l.result.n)
        rc = rlt_layouts_why(&w.l, &p, err);
    else if (!rc && workers->rank == 0)
        rc = report(&w, err);
    free(w.sd);
    rlt_layouts_close(&w.l);
    rlt_layouts_close(&given);
    rlt_measured_free(&m);
    return rc;
}
