/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Best split, its time and its cost over the budget: a table and a plot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/design/bandwidth.h"
#include "tools/design/design.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "workload/design/design.h"

static const rlt_column columns[] = {
    {"total_Bps", "total", NULL, RLT_COL_RATE, 0, 0, "bandwidth of an accelerator, all dimensions together"},
    {"bandwidths", "bandwidths", NULL, RLT_COL_TEXT, 0, 0,
     "bandwidth of each dimension, innermost first, in the unit of --unit"},
    {"time_ps", "time", "ms", RLT_COL_REAL, 0, 4, "time of an iteration in closed form"},
    {"simulated_ps", "simulated", "ms", RLT_COL_REAL, 0, 4, "time of an iteration, simulated"},
    {"simulated_over_model", "sim/model", NULL, RLT_COL_REAL, 0, 4, "simulated / closed form"},
    {"speedup", "speed-up", NULL, RLT_COL_REAL, 0, 4, "time of the equal split / time"},
    {"cost_dollars", "cost", "$", RLT_COL_REAL, 0, 0, "price of the network"},
    {"per_cost_over_first", "speed/$", NULL, RLT_COL_REAL, 0, 4,
     "speed per dollar / that of the first total that has a split"},
    {"utilization", "utilization", "%", RLT_COL_TEXT, 0, 0, "utilization of each dimension, innermost first"},
    {"conflict", "conflict", NULL, RLT_COL_TEXT, 0, 0, "limits that cannot hold together"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_budget_columns = {
    "Several totals: `ringlet design bandwidth --total A,B`, JSON `budgets[]`", columns, N_COLUMNS};

static bool fits(const rlt_budget *b)
{
    return !*b->conflict;
}

static uint32_t count_conflicts(const rlt_bandwidth_job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n; i++)
        n += !fits(&j->budgets[i]);
    return n;
}

/* Returns the budget that speed per dollar is relative to; NULL: none meets the limits. */
static const rlt_budget *find_first(const rlt_bandwidth_job *j)
{
    for (uint32_t i = 0; i < j->n; i++)
        if (fits(&j->budgets[i]))
            return &j->budgets[i];
    return NULL;
}

static double per_cost(const rlt_budget *b)
{
    const rlt_judged *x = &b->judged[RLT_SPLIT_CHOSEN];
    return 1 / (x->time_s * x->cost);
}

static void put_row(const rlt_bandwidth_job *j, const rlt_budget *b, const rlt_budget *first, rlt_table *t)
{
    char bw[200], used[200];
    const rlt_judged *x = &b->judged[RLT_SPLIT_CHOSEN];
    bool csv = t->format == RLT_FORMAT_CSV, simulated = x->simulated;
    double unit = csv ? 1e-12 : 1e-3;
    rlt_value v[N_COLUMNS];
    v[0] = rlt_count(b->total_Bps);
    for (uint32_t i = 1; i < N_COLUMNS; i++)
        v[i] = rlt_absent();
    if (fits(b)) {
        v[1] = rlt_text(rlt_design_join(bw, sizeof bw, x->bw, j->net.n, j->u.cost.unit_Bps, csv ? 6 : 3));
        v[2] = rlt_real(x->time_s / unit);
        v[3] = simulated ? rlt_real(x->simulated_s / unit) : rlt_absent();
        v[4] = simulated ? rlt_real(x->simulated_s / x->time_s) : rlt_absent();
        v[5] = rlt_real(b->judged[RLT_SPLIT_EQUAL].time_s / x->time_s);
        v[6] = rlt_real(x->cost);
        v[7] = rlt_real(per_cost(b) / per_cost(first));
        if (simulated)
            v[8] = rlt_text(
                rlt_design_join(used, sizeof used, x->utilization, j->net.n, csv ? 1 : 0.01, csv ? 6 : 1));
    } else
        v[9] = rlt_text(b->conflict);
    rlt_table_row(t, v);
}

static int write_text(const rlt_bandwidth_job *j, rlt_format format, rlt_error *err)
{
    rlt_file f = {0};
    rlt_table t = {0};
    char shape[200];
    bool table = format == RLT_FORMAT_TABLE;
    int rc = rlt_file_open(&f, j->u.s->output, err);
    if (rc)
        return rc;
    if (table)
        rlt_heading(f.stream, "%s, %llu accelerators: %s, %u budgets",
                    rlt_design_shape_text(&j->net, shape, sizeof shape),
                    (unsigned long long)rlt_design_size(&j->net), rlt__bandwidth_goal(j), j->n);
    rlt_table_begin(&t, format, columns, table && !count_conflicts(j) ? N_COLUMNS - 1 : N_COLUMNS, f.stream,
                    NULL);
    for (uint32_t i = 0; i < j->n; i++)
        put_row(j, &j->budgets[i], find_first(j), &t);
    rc = rlt_table_end(&t, err);
    if (table) {
        fprintf(f.stream,
                "# the best split of each; bandwidths in %s, innermost dimension first; speed-up against the "
                "same total split equally; speed/$ against the first budget%s\n",
                j->u.s->unit, count_conflicts(j) ? " that meets the limits" : "");
        rlt__bandwidth_listed(j, find_first(j), f.stream);
        rlt_design_assumptions(&j->u, f.stream);
        rlt__bandwidth_free_switches(j, f.stream);
    }
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int write_json(const rlt_bandwidth_job *j, rlt_error *err)
{
    rlt_jw w;
    const rlt_budget *first = find_first(j);
    rlt_document_begin(&w, "design bandwidth", j->args, &j->u.inputs);
    rlt_design_assumptions_json(&j->u, &w);
    rlt_jw_array(&w, "budgets");
    for (uint32_t i = 0; i < j->n; i++) {
        const rlt_budget *b = &j->budgets[i];
        rlt_jw_object(&w, NULL);
        rlt_jw_u64(&w, "total_Bps", b->total_Bps);
        if (fits(b)) {
            rlt_jw_double(&w, "per_cost_over_first", per_cost(b) / per_cost(first), 9);
            rlt__bandwidth_json(j, b, &w);
        } else
            rlt_jw_string(&w, "conflict", b->conflict);
        rlt_jw_end_object(&w);
    }
    rlt_jw_end_array(&w);
    return rlt_document_write(&w, j->u.s->output, err);
}

/* ---- the plot ---- */

static int by_total(const void *a, const void *b)
{
    const rlt_budget *x = *(const rlt_budget *const *)a, *y = *(const rlt_budget *const *)b;
    return (x->total_Bps > y->total_Bps) - (x->total_Bps < y->total_Bps);
}

enum { TIME_CHOSEN, TIME_EQUAL, TIME_CLOSED, COST_CHOSEN, COST_EQUAL, BW, CURVES = BW + RLT_MAX_DIMS };

typedef struct curves {
    double *x, *y[CURVES]; /* n points each; x is the allocation that holds all */
    uint32_t n;
} curves;

static void add_point(curves *c, const rlt_budget *b, uint32_t dims, double unit_Bps)
{
    const rlt_judged *best = &b->judged[RLT_SPLIT_CHOSEN], *equal = &b->judged[RLT_SPLIT_EQUAL];
    c->x[c->n] = (double)b->total_Bps;
    c->y[TIME_CHOSEN][c->n] = best->simulated ? best->simulated_s : best->time_s;
    c->y[TIME_EQUAL][c->n] = equal->simulated ? equal->simulated_s : equal->time_s;
    c->y[TIME_CLOSED][c->n] = best->time_s;
    c->y[COST_CHOSEN][c->n] = best->cost;
    c->y[COST_EQUAL][c->n] = equal->cost;
    for (uint32_t d = 0; d < dims; d++)
        c->y[BW + d][c->n] = best->bw[d] / unit_Bps;
    c->n++;
}

/* Collects the budgets that meet the limits, smallest first. */
static int collect(const rlt_bandwidth_job *j, curves *c, rlt_error *err)
{
    const rlt_budget **order = malloc(j->n * sizeof *order);
    uint32_t n = 0;
    c->x = malloc((size_t)j->n * (CURVES + 1) * sizeof *c->x);
    if (!order || !c->x) {
        free(order);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < CURVES; i++)
        c->y[i] = c->x + (size_t)j->n * (i + 1);
    for (uint32_t i = 0; i < j->n; i++)
        if (fits(&j->budgets[i]))
            order[n++] = &j->budgets[i];
    qsort(order, n, sizeof *order, by_total);
    for (uint32_t i = 0; i < n; i++)
        add_point(c, order[i], j->net.n, j->u.cost.unit_Bps);
    free(order);
    return 0;
}

static rlt_plot_line line(const curves *c, int curve, const char *name, bool reference)
{
    return (rlt_plot_line){.name = name, .x = c->x, .y = c->y[curve], .n = c->n, .reference = reference};
}

static int draw(const rlt_bandwidth_job *j, rlt_error *err)
{
    enum { MARKS = 24 };
    curves c = {0};
    char names[RLT_MAX_DIMS][48], each[48], shape[200], title[400];
    bool simulated = !j->u.s->no_simulation;
    int rc = collect(j, &c, err);
    if (rc) {
        free(c.x);
        return rc;
    }
    rlt_plot_line time[] = {line(&c, TIME_CHOSEN, "best split", false),
                            line(&c, TIME_EQUAL, "equal split", false),
                            line(&c, TIME_CLOSED, "best split, closed form", true)};
    rlt_plot_line cost[] = {line(&c, COST_CHOSEN, "best split", false),
                            line(&c, COST_EQUAL, "equal split", false)};
    rlt_plot_line bw[RLT_MAX_DIMS];
    for (uint32_t d = 0; d < j->net.n; d++) {
        snprintf(names[d], sizeof names[d], "b%u: %s:%u", d + 1, rlt_block_name(j->net.dims[d].block),
                 j->net.dims[d].size);
        bw[d] = line(&c, (int)(BW + d), names[d], false);
    }
    const char *total = "bandwidth of an accelerator, all dimensions";
    snprintf(each, sizeof each, "%s in each dimension", j->u.s->unit);
    rlt_plot_panel panels[] = {{"iteration time", total, simulated ? "time, simulated" : "time, closed form",
                                RLT_PLOT_RATE, RLT_PLOT_SECONDS, time, simulated ? 3 : 2},
                               {"the best split", total, each, RLT_PLOT_RATE, RLT_PLOT_NUMBER, bw, j->net.n},
                               {"cost of the network", total, "dollars, all accelerators", RLT_PLOT_RATE,
                                RLT_PLOT_DOLLARS, cost, 2}};
    snprintf(title, sizeof title, "%s, %llu accelerators: %s at each budget",
             rlt_design_shape_text(&j->net, shape, sizeof shape),
             (unsigned long long)rlt_design_size(&j->net), rlt__bandwidth_goal(j));
    rc = rlt_plot_write_scaled(j->plot, title, panels, 3, 3, &(rlt_plot_scales){.marks = MARKS}, err);
    free(c.x);
    return rc;
}

int rlt__bandwidth_budgets(const rlt_bandwidth_job *j, rlt_error *err)
{
    rlt_format format = rlt_format_of(j->u.s->format, j->u.s->output);
    uint32_t bad = count_conflicts(j);
    bool drawn = j->plot && bad < j->n;
    int rc = drawn ? draw(j, err) : 0;
    if (rc)
        return rc;
    rc = format == RLT_FORMAT_JSON ? write_json(j, err) : write_text(j, format, err);
    if (drawn)
        rlt_plot_keep(j->plot, rc);
    if (!rc && bad)
        rc = rlt_fail(err, RLT_ECHECK, NULL, "%u of %u budgets %s no split that meets the limits%s", bad,
                      j->n, bad == 1 ? "has" : "have", j->plot && !drawn ? ": nothing to draw" : "");
    return rc;
}
