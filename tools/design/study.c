/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Saving by each added dimension, at equal iteration time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/design/design.h"
#include "tools/design/search.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"

enum { MOST_DIMS = 5 };

typedef struct row {
    bool there, simulated;
    rlt_point best; /* cheapest network with this number of dimensions */
    double simulated_s, utilization[RLT_MAX_DIMS];
} row;

typedef struct added {
    const rlt_design_setup *u;
    const rlt_design_search *s;
    rlt_design_settings unbounded; /* the settings without a total */
    row (*rows)[MOST_DIMS];        /* per workload */
    double deadline_s[RLT_MAX_WORKS];
} added;

/* Returns the setup with one of the workloads alone, borrowed. */
static rlt_design_setup alone(const added *a, uint32_t work, bool bounded)
{
    rlt_design_setup u = *a->u;
    u.works[0] = a->u->works[work];
    u.weight[0] = 1;
    u.n_works = 1;
    if (!bounded)
        u.s = &a->unbounded;
    return u;
}

static int find_deadline(added *a, uint32_t work, rlt_error *err)
{
    rlt_design_setup u = alone(a, work, true);
    rlt_design_search fewest = *a->s;
    rlt_points p = {0};
    fewest.max_dims = fewest.min_dims;
    int rc = rlt_design_search_run(&fewest, &u, RLT_LEAST_TIME, 0, &p, err);
    if (!rc && p.n == 0)
        rc = rlt_fail(err, RLT_ECHECK, u.works[0].name, "no network of %u dimension%s meets the limits",
                      fewest.min_dims, rlt_s(fewest.min_dims));
    if (!rc) {
        rlt_points_order(&p);
        a->deadline_s[work] = p.items[0].time_s;
    }
    rlt_points_free(&p);
    return rc;
}

static int find_cheapest(added *a, uint32_t work, uint32_t dims, rlt_error *err)
{
    rlt_design_setup u = alone(a, work, false);
    rlt_design_search these = *a->s;
    rlt_points p = {0};
    rlt_design_candidate c;
    rlt_judged x;
    row *r = &a->rows[work][dims - 1];
    these.min_dims = these.max_dims = dims;
    int rc = rlt_design_search_run(&these, &u, RLT_LEAST_COST, a->deadline_s[work], &p, err);
    for (uint32_t i = 0; i < p.n && !rc; i++)
        if (!r->there || p.items[i].cost < r->best.cost * (1 - 1e-9)) {
            r->best = p.items[i];
            r->there = true;
        }
    rlt_points_free(&p);
    if (rc || !r->there)
        return rc;
    if (!(rc = rlt_design_candidate_open(&c, &u, &r->best.net, err)) &&
        !(rc = rlt_design_candidate_judge(&c, "", r->best.split.bw, &x, err))) {
        r->simulated = x.simulated;
        r->simulated_s = x.simulated_s;
        memcpy(r->utilization, x.utilization, sizeof r->utilization);
    }
    rlt_design_candidate_free(&c);
    return rc;
}

static const rlt_column columns[] = {
    {"workload", "workload", NULL, RLT_COL_TEXT, 0, 0, "workload that the network is for"},
    {"dimensions", "dims", NULL, RLT_COL_COUNT, 0, 0, "number of dimensions"},
    {"shape", "shape", NULL, RLT_COL_TEXT, 0, 0, "the network in one line"},
    {"bandwidths", "bandwidths", NULL, RLT_COL_TEXT, 0, 0,
     "bandwidth of each dimension, innermost first, in the unit of --unit"},
    {"nic", "NIC", NULL, RLT_COL_REAL, 0, 3, "bandwidth of the outermost dimension, in the unit of --unit"},
    {"nic_saved", "saved", "%", RLT_COL_PERCENT, 0, 1,
     "bandwidth of the outermost dimension saved against one dimension"},
    {"cost_dollars", "cost", "$", RLT_COL_REAL, 0, 0, "price of the network"},
    {"cost_saved", "saved", "%", RLT_COL_PERCENT, 0, 1, "cost saved against one dimension"},
    {"time_ps", "time", "ms", RLT_COL_REAL, 0, 4, "time of an iteration in closed form"},
    {"simulated_ps", "simulated", "ms", RLT_COL_REAL, 0, 4, "time of an iteration, simulated"},
    {"utilization", "utilization", "%", RLT_COL_TEXT, 0, 0, "utilization of each dimension, innermost first"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_added_columns = {"Saving by added dimensions: `ringlet design dimensions --study`",
                                       columns, N_COLUMNS};

static void put_rows(const added *a, rlt_table *t)
{
    bool exact = t->format != RLT_FORMAT_TABLE;
    double unit = exact ? 1e-12 : 1e-3, GBps = a->u->cost.unit_Bps;
    for (uint32_t w = 0; w < a->u->n_works; w++) {
        const row *first = &a->rows[w][a->s->min_dims - 1];
        for (uint32_t d = a->s->min_dims; d <= a->s->max_dims; d++) {
            const row *r = &a->rows[w][d - 1];
            const rlt_point *p = &r->best;
            char shape[200], bw[200], used[200];
            if (!r->there)
                continue;
            rlt_value v[N_COLUMNS] = {
                rlt_text(a->u->works[w].name),
                rlt_count(d),
                rlt_text(rlt_design_shape_text(&p->net, shape, sizeof shape)),
                rlt_text(rlt_design_join(bw, sizeof bw, p->split.bw, d, GBps, exact ? 6 : 2)),
                rlt_real(rlt_point_nic(p) / GBps),
                rlt_real(1 - rlt_point_nic(p) / rlt_point_nic(&first->best)),
                rlt_real(p->cost),
                rlt_real(1 - p->cost / first->best.cost),
                rlt_real(p->time_s / unit),
                r->simulated ? rlt_real(r->simulated_s / unit) : rlt_absent(),
                r->simulated ? rlt_text(rlt_design_join(used, sizeof used, r->utilization, d,
                                                        exact ? 1 : 0.01, exact ? 6 : 1))
                             : rlt_absent(),
            };
            rlt_table_row(t, v);
        }
    }
}

static int write_text(const added *a, rlt_format format, rlt_error *err)
{
    rlt_file f = {0};
    rlt_table t = {0};
    char rate[32];
    int rc = rlt_file_open(&f, a->u->s->output, err);
    if (rc)
        return rc;
    rlt_table_begin(&t, format, columns, N_COLUMNS, f.stream, NULL);
    put_rows(a, &t);
    rc = rlt_table_end(&t, err);
    if (format == RLT_FORMAT_TABLE) {
        fprintf(
            f.stream,
            "# %llu accelerators; each network is the cheapest with its number of dimensions that is as fast "
            "as the best of %u with %s for each accelerator\n",
            (unsigned long long)a->s->accelerators, a->s->min_dims,
            rlt_format_rate(rate, sizeof rate, a->u->s->total));
        fprintf(f.stream, "# bandwidths in %s; NIC: at the pod\n", a->u->s->unit);
        rlt_design_assumptions(a->u, f.stream);
    }
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int write_json(const rlt_parsed *args, const added *a, rlt_error *err)
{
    rlt_jw w;
    rlt_table t = {0};
    rlt_document_begin(&w, "design dimensions", args, &a->u->inputs);
    rlt_jw_string(&w, "study", "added-dimension");
    rlt_jw_string(&w, "unit", a->u->s->unit);
    rlt_jw_string(&w, "prices", a->u->prices.name);
    rlt_design_assumptions_json(a->u, &w);
    rlt_jw_array(&w, "designs");
    rlt_table_begin(&t, RLT_FORMAT_JSON, columns, N_COLUMNS, NULL, &w);
    put_rows(a, &t);
    int rc = rlt_table_end(&t, err);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    rlt_jw_end_array(&w);
    return rlt_document_write(&w, a->u->s->output, err);
}

/* Plots NIC bandwidth and cost over the number of dimensions, a line a workload. */
static int draw(const added *a, const char *path, rlt_error *err)
{
    enum { X, NIC, COST, KINDS };
    double xy[RLT_MAX_WORKS][KINDS][MOST_DIMS];
    rlt_plot_line lines[2][RLT_MAX_WORKS];
    for (uint32_t w = 0; w < a->u->n_works; w++) {
        uint32_t n = 0;
        for (uint32_t d = 0; d < MOST_DIMS; d++) {
            const row *r = &a->rows[w][d];
            if (!r->there)
                continue;
            xy[w][X][n] = d + 1;
            xy[w][NIC][n] = rlt_point_nic(&r->best) / a->u->cost.unit_Bps;
            xy[w][COST][n++] = r->best.cost;
        }
        for (int k = 0; k < 2; k++)
            lines[k][w] =
                (rlt_plot_line){.name = a->u->works[w].name, .x = xy[w][X], .y = xy[w][NIC + k], .n = n};
    }
    char nic[64];
    snprintf(nic, sizeof nic, "%s for each accelerator", a->u->s->unit);
    rlt_plot_panel panels[] = {{"bandwidth of network interfaces", "dimensions", nic, RLT_PLOT_COUNT,
                                RLT_PLOT_NUMBER, lines[0], a->u->n_works},
                               {"cost of the network", "dimensions", "all accelerators", RLT_PLOT_COUNT,
                                RLT_PLOT_DOLLARS, lines[1], a->u->n_works}};
    return rlt_plot_write_scaled(path, "What each added dimension saves at equal iteration time", panels, 2,
                                 2, &(rlt_plot_scales){.x_linear = true}, err);
}

int rlt_design_added(const rlt_parsed *args, rlt_design_setup *u, const rlt_design_search *s,
                     const char *plot, rlt_error *err)
{
    added a = {.u = u, .s = s, .unbounded = *u->s};
    rlt_format format = rlt_format_of(u->s->format, u->s->output);
    if (!u->s->total || u->goal != RLT_LEAST_TIME)
        return rlt_fail(err, RLT_EUSAGE, "--study", "needs --total, and --objective perf");
    a.unbounded.total = 0;
    a.rows = calloc(u->n_works, sizeof *a.rows);
    int rc = a.rows ? 0 : rlt_nomem(err);
    for (uint32_t w = 0; w < u->n_works && !rc; w++) {
        rc = find_deadline(&a, w, err);
        for (uint32_t d = s->min_dims; d <= s->max_dims && !rc; d++)
            rc = find_cheapest(&a, w, d, err);
    }
    if (!rc && plot)
        rc = draw(&a, plot, err);
    if (!rc) {
        rc = format == RLT_FORMAT_JSON ? write_json(args, &a, err) : write_text(&a, format, err);
        rlt_plot_keep(plot, rc);
    }
    free(a.rows);
    return rc;
}
