/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet design dimensions: lists all shapes of network for a number of accelerators, and marks the Pareto
 * front. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/design/design.h"
#include "tools/design/search.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"

typedef struct dimensions_settings {
    rlt_design_settings design; /* must be first */
    uint64_t accelerators, min_dims, max_dims, largest;
    const char *shapes, *outermost, *study, *plot;
    rlt_time latency_ps;
    bool all;
} dimensions_settings;

#define AT(field) .offset = offsetof(dimensions_settings, field)
static const rlt_option own_options[] = {
    {"accelerators", 'n', RLT_PARAM_COUNT, "N", "How many.", AT(accelerators), .min = 2,
     .max = RLT_MAX_ACCELERATORS, .required = true},
    {"min-dims", 0, RLT_PARAM_COUNT, "D", "Fewest dimensions.", AT(min_dims), .preset = "1", .min = 1,
     .max = 5},
    {"max-dims", 0, RLT_PARAM_COUNT, "D", "Most dimensions.", AT(max_dims), .preset = "5", .min = 1,
     .max = 5},
    {"shapes", 0, RLT_PARAM_TEXT, "LIST",
     "Shapes of inner dimensions. Rings and fully connected ones have equal cost and closed form: the first "
     "named stands for both.",
     AT(shapes), .preset = "ring,fully-connected,switch"},
    {"outermost", 0, RLT_PARAM_TEXT, "SHAPE", "Shape of the outermost dimension.", AT(outermost),
     .preset = "switch"},
    {"largest", 0, RLT_PARAM_COUNT, "N", "Largest size of an inner dimension.", AT(largest), .preset = "16",
     .min = 2},
    {"latency", 0, RLT_PARAM_DURATION, "TIME", "Latency of each link in simulations.", AT(latency_ps),
     .preset = "500ns"},
    {"study", 0, RLT_PARAM_WORD, "WHAT",
     "added-dimension: for each workload and number of dimensions, find the cheapest network as fast as the "
     "best one of --min-dims dimensions with --total. Shows what it saves in bandwidth of network interfaces "
     "and in dollars.",
     AT(study), .words = "added-dimension"},
    {"all", 0, RLT_PARAM_FLAG, NULL, "List every shape, not only the Pareto front.", AT(all),
     .unrecorded = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE", "Also plot the result as SVG.", AT(plot), .unrecorded = true,
     .writes = true},
    {0}};
#undef AT
static const rlt_option_group options[] = {{"Shapes", own_options, 0},
                                           {"Workload", rlt_design_work_options, 0},
                                           {"Goal", rlt_design_goal_options, 0},
                                           {"Cost", rlt_design_cost_options, 0},
                                           {"Simulation", rlt_design_sim_options, 0},
                                           {"Report", rlt_design_report_options, 0},
                                           {0}};

static const rlt_column columns[] = {
    {"shape", "shape", NULL, RLT_COL_TEXT, 0, 0, "the network in one line"},
    {"dimensions", "dims", NULL, RLT_COL_COUNT, 0, 0, "number of dimensions"},
    {"front", "front", NULL, RLT_COL_TEXT, 0, 0,
     "* marks a shape that no other one beats in time and in cost"},
    {"bandwidths", "bandwidths", NULL, RLT_COL_TEXT, 0, 0,
     "bandwidth of each dimension, innermost first, in the unit of --unit"},
    {"nic", "NIC", NULL, RLT_COL_REAL, 0, 3, "bandwidth of the outermost dimension, in the unit of --unit"},
    {"time_ps", "time", "ms", RLT_COL_REAL, 0, 4, "time of an iteration in closed form"},
    {"simulated_ps", "simulated", "ms", RLT_COL_REAL, 0, 4, "time of an iteration, simulated"},
    {"simulated_over_model", "sim/model", NULL, RLT_COL_REAL, 0, 4, "simulated / closed form"},
    {"cost_dollars", "cost", "$", RLT_COL_REAL, 0, 0, "price of the network"},
    {"utilization", "utilization", "%", RLT_COL_TEXT, 0, 0, "utilization of each dimension, innermost first"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static int put_point(const rlt_design_setup *u, const rlt_point *p, rlt_table *t, rlt_error *err)
{
    rlt_design_candidate c;
    rlt_judged x = {0};
    char shape[200], bw[200], used[200];
    bool exact = t->format != RLT_FORMAT_TABLE;
    double unit = exact ? 1e-12 : 1e-3;
    int rc = rlt_design_candidate_open(&c, u, &p->net, err);
    x.time_s = p->time_s;
    if (!rc && p->front)
        rc = rlt_design_candidate_judge(&c, "front", p->split.bw, &x, err);
    rlt_value v[N_COLUMNS] = {
        rlt_text(rlt_design_shape_text(&p->net, shape, sizeof shape)),
        rlt_count(p->net.n),
        rlt_text(p->front ? "*" : ""),
        rlt_text(rlt_design_join(bw, sizeof bw, p->split.bw, p->net.n, u->cost.unit_Bps, exact ? 6 : 2)),
        rlt_real(rlt_point_nic(p) / u->cost.unit_Bps),
        rlt_real(p->time_s / unit),
        x.simulated ? rlt_real(x.simulated_s / unit) : rlt_absent(),
        x.simulated ? rlt_real(x.simulated_s / p->time_s) : rlt_absent(),
        rlt_real(p->cost),
        x.simulated ? rlt_text(rlt_design_join(used, sizeof used, x.utilization, p->net.n, exact ? 1 : 0.01,
                                               exact ? 6 : 1))
                    : rlt_absent(),
    };
    if (!rc)
        rlt_table_row(t, v);
    rlt_design_candidate_free(&c);
    return rc;
}

static int put_points(const rlt_design_setup *u, const rlt_points *p, bool all, rlt_table *t, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->n && !rc; i++)
        if (all || p->items[i].front)
            rc = put_point(u, &p->items[i], t, err);
    int end = rlt_table_end(t, err);
    return rc ? rc : end;
}

static int write_json(const rlt_parsed *args, const rlt_design_setup *u, const rlt_points *p, bool all,
                      rlt_error *err)
{
    rlt_jw w;
    rlt_table t = {0};
    rlt_document_begin(&w, "design dimensions", args, &u->inputs);
    rlt_jw_string(&w, "unit", u->s->unit);
    rlt_jw_string(&w, "prices", u->prices.name);
    rlt_jw_string(&w, "prices_source", u->prices.source);
    rlt_design_assumptions_json(u, &w);
    rlt_jw_u64(&w, "shapes", p->n);
    rlt_jw_u64(&w, "misfits", p->misfits);
    rlt_jw_u64(&w, "infeasible", p->infeasible);
    rlt_jw_u64(&w, "unpriced", p->unpriced);
    rlt_jw_array(&w, "designs");
    rlt_table_begin(&t, RLT_FORMAT_JSON, columns, N_COLUMNS, NULL, &w);
    int rc = put_points(u, p, all, &t, err);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    rlt_jw_end_array(&w);
    return rlt_document_write(&w, u->s->output, err);
}

/* Prints by how much listed speeds are behind any speeds, over the front. */
static void put_listed(const rlt_points *p, FILE *out)
{
    double least = INFINITY, most = 0;
    bool proven = true;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->items[i].front && p->items[i].split.leaves) {
            least = fmin(least, p->items[i].split.over_any);
            most = fmax(most, p->items[i].split.over_any);
            proven = proven && p->items[i].split.proven;
        }
    if (isfinite(least))
        fprintf(out,
                "# listed speeds (--nic): the best of each shape%s, %.3g to %.3g %% above the same shape "
                "with any speeds\n",
                proven ? ", proven" : ", not proven as other dimensions are free", fmax(least, 0) * 100,
                most * 100);
}

static int write_text(const rlt_design_setup *u, const rlt_points *p, bool all, rlt_format format,
                      rlt_error *err)
{
    rlt_file f = {0};
    rlt_table t = {0};
    int rc = rlt_file_open(&f, u->s->output, err);
    if (rc)
        return rc;
    rlt_table_begin(&t, format, columns, N_COLUMNS, f.stream, NULL);
    rc = put_points(u, p, all, &t, err);
    if (format == RLT_FORMAT_TABLE) {
        fprintf(
            f.stream,
            "# %u shapes, each with its best split; left out: %u not divisible into groups, %u that cannot "
            "meet the limits, %u with parts without a price\n",
            p->n, p->misfits, p->infeasible, p->unpriced);
        fprintf(f.stream, "# *: no other is as fast and cheaper, or as cheap and faster; bandwidths in %s\n",
                u->s->unit);
        put_listed(p, f.stream);
        rlt_design_assumptions(u, f.stream);
    }
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

/* Plots the front, and the front of each number of dimensions. */
static int draw(const dimensions_settings *s, const rlt_points *p, rlt_error *err)
{
    enum { LINES = 6 };
    static const char *const names[LINES] = {"front",        "1 dimension",  "2 dimensions",
                                             "3 dimensions", "4 dimensions", "5 dimensions"};
    rlt_plot_line lines[LINES];
    uint32_t n = 0;
    size_t room = (size_t)p->n + 1;
    double *x = calloc(2 * LINES * room, sizeof *x);
    if (!x)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < LINES; k++) {
        double *at = x + 2 * k * room, least = 0;
        uint32_t points = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            const rlt_point *q = &p->items[i];
            if (k ? q->net.n != k || (points && q->cost >= least) : !q->front)
                continue;
            at[points] = least = q->cost;
            at[room + points++] = q->time_s;
        }
        if (points)
            lines[n++] = (rlt_plot_line){
                .name = names[k], .x = at, .y = at + room, .n = points, .reference = k == 0, .look = k};
    }
    rlt_plot_panel panel = {"iteration time over cost",
                            "cost of the network",
                            "time of an iteration",
                            RLT_PLOT_DOLLARS,
                            RLT_PLOT_SECONDS,
                            lines,
                            n};
    int rc = rlt_plot_write(s->plot, "Networks, each with its best split", &panel, 1, 1, err);
    free(x);
    return rc;
}

static int search(const rlt_parsed *args, const dimensions_settings *s, rlt_design_setup *u,
                  const rlt_design_search *how, rlt_error *err)
{
    rlt_points p = {0};
    rlt_format format = rlt_format_of(s->design.format, s->design.output);
    int rc = rlt_design_search_run(how, u, u->goal, (double)s->design.deadline_ps * 1e-12, &p, err);
    if (!rc && p.n == 0)
        rc = rlt_fail(
            err, RLT_ECHECK, NULL,
            "no shape is left: %u not divisible into groups, %u that cannot meet the limits, %u with parts "
            "without a price",
            p.misfits, p.infeasible, p.unpriced);
    if (!rc) {
        rlt_points_order(&p);
        rc = s->plot ? draw(s, &p, err) : 0;
    }
    if (!rc) {
        rc = format == RLT_FORMAT_JSON ? write_json(args, u, &p, s->all, err)
                                       : write_text(u, &p, s->all, format, err);
        rlt_plot_keep(s->plot, rc);
    }
    rlt_points_free(&p);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    dimensions_settings *s = settings;
    rlt_design_setup u;
    rlt_design_search how = {.accelerators = s->accelerators,
                             .min_dims = (uint32_t)s->min_dims,
                             .max_dims = (uint32_t)s->max_dims,
                             .largest = (uint32_t)s->largest,
                             .latency_ps = s->latency_ps};
    if (s->min_dims > s->max_dims)
        return rlt_fail(err, RLT_EUSAGE, "--min-dims", "above --max-dims");
    if (s->design.levels || s->design.in_network)
        return rlt_fail(err, RLT_EUSAGE, s->design.levels ? "--levels" : "--in-network",
                        "applies to the dimensions of one network ('ringlet design bandwidth')");
    if (s->design.totals && rlt_parse_rate(s->design.totals, &s->design.total, "--total", err))
        return RLT_EUSAGE;
    int rc = rlt_design_search_shapes(&how, s->shapes, s->outermost, err);
    if (rc || (rc = rlt_design_setup_open(&u, &s->design, err)))
        return rc;
    u.shapes_vary = true;
    u.args = args;
    if (!(rc = rlt_design_setup_works(&u, s->accelerators, err)))
        rc = s->study ? rlt_design_added(args, &u, &how, s->plot, err) : search(args, s, &u, &how, err);
    rlt_design_setup_free(&u);
    return rc;
}

static const rlt_columns table = {"Shapes of a network: `ringlet design dimensions`, JSON `designs[]`",
                                  columns, N_COLUMNS};
static const rlt_columns *const tables[] = {&table, &rlt_added_columns, NULL};

const rlt_command rlt_design_dimensions = {
    .name = "dimensions",
    .summary = "dimensions worth building for a number of accelerators, by time and cost",
    .description =
        "Divides the accelerators into 1 to 5 dimensions in every way, and gives each shape its best split "
        "of bandwidth. Shows the shapes that no other beats in both iteration time and cost; these are also "
        "simulated. Limits are given by level (--constraint 'pod <= 100GB/s'), as numbers of dimensions "
        "differ between shapes. The outermost dimension is the pod, then inwards node, package, chiplet; "
        "with two dimensions package and pod.\n\n--study added-dimension shows the saving by each further "
        "dimension at equal iteration time.",
    .example =
        "ringlet design dimensions -n 1024 --workload gpt3-175b@tp=16,zero=2 --total 300GB/s --max-dims 3",
    .options = options,
    .settings_size = sizeof(dimensions_settings),
    .run = run,
    .tables = tables,
};
