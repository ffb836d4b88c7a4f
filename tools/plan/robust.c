/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan --robust: rows of the layouts with the least worst regret, and of the fastest nominal one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/output/output.h"
#include "tools/output/sheet.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/robust.h"
#include "workload/experiment/layouts/why.h"
#include "workload/plan/plan.h"

#define CASE(i, title)                                                                                       \
    {                                                                                                        \
        "case" #i "_ps", title, NULL, RLT_COL_TIME, 0, 0, "time of an iteration in case " #i                 \
    }
static const rlt_column columns[] = {
    {"kind", "", NULL, RLT_COL_TEXT, 0, 0, "robust, or nominal: the fastest layout if all factors are 1"},
    {"regret", "regret", "%", RLT_COL_PERCENT, 0, 1,
     "largest share over all cases by which the layout is slower than the fastest one of the case"},
    {"regret_case", "in case", NULL, RLT_COL_COUNT, 0, 0, "case of the largest regret"},
    CASE(0, "nominal"),
    CASE(1, "case 1"),
    CASE(2, "case 2"),
    CASE(3, "case 3"),
    CASE(4, "case 4"),
    CASE(5, "case 5"),
    CASE(6, "case 6"),
    CASE(7, "case 7"),
    CASE(8, "case 8"),
    {"layout", "layout", NULL, RLT_COL_TEXT, 0, 0, "sizes of the groups, and the settings of the training"},
    {"command", NULL, NULL, RLT_COL_TEXT, 0, 0, "command that runs it"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns, FIRST_CASE = 3, LAYOUT = FIRST_CASE + RLT_ROBUST_CASES };
const rlt_columns rlt_plan_robust_columns = {"robust layouts of a plan", columns, N_COLUMNS};

static bool same(const rlt_robust_point *a, const rlt_robust_point *b)
{
    return memcmp(a->point.at, b->point.at, sizeof a->point.at) == 0;
}

/* Adds a row, and its command to the lines below. */
static int add_row(rlt_sheet *sheet, const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                   const rlt_robust *r, const rlt_robust_point *p, FILE *below, rlt_error *err)
{
    char layout[400];
    rlt_planned row = {0};
    rlt_value values[N_COLUMNS];
    int rc = rlt_plan_run(l, s, args, &p->point, &row, err);
    rlt_plan_describe(l, &p->point, layout, sizeof layout);
    bool nominal = same(p, &r->nominal);
    values[0] = rlt_text(nominal && same(p, r->points) ? "both" : nominal ? "nominal" : "robust");
    values[1] = rlt_real(p->worst);
    values[2] = rlt_count(p->where);
    for (uint32_t c = 0; c < RLT_ROBUST_CASES; c++)
        values[FIRST_CASE + c] = c < r->n_cases ? rlt_ps(p->time_ps[c]) : rlt_absent();
    values[LAYOUT] = rlt_text(layout);
    values[LAYOUT + 1] = rlt_text(row.command);
    if (!rc)
        rlt_sheet_row(sheet, values);
    if (!rc && below)
        fprintf(below, "%s\n", row.command);
    free(row.command);
    return rc;
}

static void print_factors(FILE *out, const rlt_layout_factors *f)
{
    fprintf(out, "bandwidth x %.4g, efficiency x %.4g, half_sizes x %.4g", f->bandwidth, f->efficiency,
            f->half_sizes);
}

static void print_cases(FILE *out, const rlt_layouts *l, const rlt_robust *r)
{
    char layout[400], time[32];
    fprintf(out, "\n");
    for (uint32_t c = 0; c < r->n_cases; c++) {
        rlt_plan_describe(l, &r->cases[c].best, layout, sizeof layout);
        fprintf(out, "case %u: ", c);
        print_factors(out, &r->cases[c].at);
        fprintf(out, ": fastest %s, %s\n", rlt_format_duration(time, sizeof time, r->cases[c].best.time_ps),
                layout);
    }
    fprintf(out,
            "proven: no layout of this space has a worst regret below %.2f %% in these cases, in the folded "
            "simulation; %llu simulations\n",
            100 * r->points[0].worst, (unsigned long long)r->simulated);
    fprintf(out, "the fastest nominal layout has a worst regret of %.2f %%\n", 100 * r->nominal.worst);
}

static void cases_json(rlt_jw *w, const rlt_robust *r)
{
    rlt_jw_u64(w, "simulated", r->simulated);
    rlt_jw_double(w, "regret", r->points[0].worst, 6);
    rlt_jw_double(w, "nominal_regret", r->nominal.worst, 6);
    rlt_jw_array(w, "cases");
    for (uint32_t c = 0; c < r->n_cases; c++) {
        rlt_jw_object(w, NULL);
        rlt_jw_double(w, "bandwidth", r->cases[c].at.bandwidth, 6);
        rlt_jw_double(w, "efficiency", r->cases[c].at.efficiency, 6);
        rlt_jw_double(w, "half_sizes", r->cases[c].at.half_sizes, 6);
        rlt_jw_u64(w, "best_ps", (uint64_t)r->cases[c].best.time_ps);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static int report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args, const rlt_robust *r,
                  rlt_error *err)
{
    rlt_sheet sheet;
    rlt_column shown[N_COLUMNS];
    rlt_plan_legend legend;
    bool nominal = false;
    memcpy(shown, columns, sizeof shown);
    for (uint32_t c = r->n_cases; c < RLT_ROBUST_CASES; c++)
        shown[FIRST_CASE + c].title = NULL;
    int rc = rlt_sheet_open(&sheet, &s->report, "plan", args, &l->run.setup.inputs, err);
    if (rc)
        return rc;
    if (sheet.format == RLT_FORMAT_JSON)
        cases_json(&sheet.json, r);
    rlt_sheet_heading(&sheet, shown, N_COLUMNS);
    if ((rc = rlt_plan_legend_open(&legend, &sheet, err)))
        return rc;
    FILE *below = legend.out;
    fprintf(below, "\n");
    for (uint32_t i = 0; i < r->n && i < s->top && !rc; i++) {
        nominal = nominal || same(&r->points[i], &r->nominal);
        rc = add_row(&sheet, l, s, args, r, &r->points[i], below, err);
    }
    if (!rc && !nominal)
        rc = add_row(&sheet, l, s, args, r, &r->nominal, below, err);
    print_cases(below, l, r);
    return rlt_plan_legend_close(&legend, &sheet, rc, err);
}

/* A search under each case. */
typedef struct robust_search {
    rlt_layouts *l;
    const rlt_layout_ranges *ranges;
    rlt_robust *out;
} robust_search;

static int find(void *of, const rlt_layout_search *how, rlt_error *err)
{
    robust_search *r = of;
    return rlt_robust_find(r->l, r->ranges, how, r->out, err);
}

int rlt_plan_robust(rlt_plan_workers *w, rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_layout_search *how, rlt_error *err)
{
    static const char *const refused[] = {"--gap", "--most", "--verify", "--failures", NULL};
    rlt_layout_ranges ranges;
    rlt_robust r = {0};
    rlt_layouts l = {0};
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_layout_search p = *how;
    robust_search of = {&l, &ranges, &r};
    int rc = rlt_plan_refuse(args, refused, "does not go with --robust", err);
    if (rc)
        return rc;
    rc = rlt_layout_ranges_parse(s->robust, &ranges, err);
    if (rc)
        rlt_error_prefix(err, "--robust");
    else if (!(rc = rlt_layouts_open(&l, &s->run, args, err)))
        rc = rlt_plan_watched(w, s->quiet, how, find, &of, err);
    p.watch = &watch;
    if (!rc && !r.n)
        rc = rlt_layouts_why(&l, &p, err);
    else if (!rc && w->rank == 0)
        rc = report(&l, s, args, &r, err);
    rlt_robust_free(&r);
    rlt_layouts_close(&l);
    return rc;
}
