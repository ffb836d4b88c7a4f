/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan --with-network: the bandwidths of the network and the layout that are best together. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/interrupt.h"
#include "tools/design/design.h"
#include "tools/output/output.h"
#include "tools/output/sheet.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "workload/design/design.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/network.h"
#include "workload/experiment/layouts/why.h"
#include "workload/plan/plan.h"
#include "workload/plan/shares.h"

#define AT(field) .offset = offsetof(rlt_plan_bandwidths, field)
const rlt_option rlt_plan_bandwidth_options[] = {
    {"with-network", 0, RLT_PARAM_FLAG, NULL,
     "Search the bandwidth of each dimension, too, under --total or --budget. The topology is written out, "
     "such as ring:4@200GB/s,500ns*switch:8@50GB/s,2us; its bandwidths are the split to compare with.",
     AT(with_network)},
    {"total", 0, RLT_PARAM_RATE, "RATE",
     "Bandwidth of an accelerator, the sum over all dimensions, such as 500GB/s.", AT(total_Bps)},
    {"budget", 0, RLT_PARAM_TEXT, "DOLLARS", "Price of the network, such as '10M$'.", AT(budget)},
    {"steps", 0, RLT_PARAM_COUNT, "N",
     "The budget is cut into N equal parts, and each dimension gets a whole number of them.", AT(steps),
     .preset = "64", .min = 1, .max = RLT_MAX_STEPS},
    {"cost", 0, RLT_PARAM_TEXT, "PRICES",
     "Prices, as for 'ringlet design': libra, sc22, 2021, clos, or a JSON file.", AT(cost),
     .preset = "libra"},
    {"radix", 0, RLT_PARAM_COUNT, "PORTS",
     "Ports of a switch, for its price (default: one switch of any size; for clos 64).", AT(radix), .min = 4,
     .max = 1 << 16},
    {"levels", 0, RLT_PARAM_TEXT, "LIST",
     "Level of each dimension, for its price: chiplet, package, node or pod, innermost first.", AT(levels)},
    {0}};
#undef AT

static const rlt_column columns[] = {
    {"time_ps", "time", NULL, RLT_COL_TIME, 0, 0, "time of an iteration, folded"},
    {"slower", "slower", "%", RLT_COL_PERCENT, 0, 1, "time / that of the fastest, less 1"},
    {"whole_ps", "whole", NULL, RLT_COL_TIME, 0, 0, "time with all ranks simulated (--verify)"},
    {"bandwidths", "bandwidths", "GB/s", RLT_COL_TEXT, 0, 0, "bandwidth of each dimension, innermost first"},
    {"cost_dollars", "cost", "$", RLT_COL_REAL, 0, 0, "price of the network"},
    {"tokens_per_second", "tokens", "/s", RLT_COL_REAL, 0, 0, "training tokens a second"},
    {"model_flops_utilization", "MFU", "%", RLT_COL_PERCENT, 0, 1, "model FLOPs / (time x peak)"},
    {"memory_bytes", "memory", "GB", RLT_COL_REAL, 0, 1, "memory of the fullest stage"},
    {"layout", "layout", NULL, RLT_COL_TEXT, 0, 0, "sizes of the groups, and the settings of the training"},
    {"command", NULL, NULL, RLT_COL_TEXT, 0, 0, "command that runs it"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_plan_bandwidth_columns = {"layouts of a plan with its network", columns, N_COLUMNS};

typedef struct job {
    const rlt_plan_asked *asked;
    const rlt_parsed *args;
    bool priced;
    double dollars[RLT_MAX_DIMS]; /* price of a byte a second in each dimension, for all accelerators */
    rlt_network_plan plan;
    rlt_planned *rows;
    uint32_t n; /* rows shown */
} job;

/* ---- the budget ---- */

/* Reads dollars: "2500000$", "2.5M$", "10e6$". */
static int read_dollars(const char *text, double *out, rlt_error *err)
{
    static const struct {
        char letter;
        double times;
    } prefixes[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}};
    char *end;
    double x = strtod(text, &end);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (*end == prefixes[i].letter) {
            x *= prefixes[i].times;
            end++;
            break;
        }
    if (end == text || strcmp(end, "$") != 0 || !isfinite(x) || x <= 0)
        return rlt_fail(err, RLT_EUSAGE, "--budget", "expected dollars, such as '10M$', got '%s'", text);
    *out = x;
    return 0;
}

/* Finds the price of a byte a second, by the prices of `ringlet design`. */
static int find_prices(job *j, rlt_error *err)
{
    const rlt_plan_bandwidths *b = &j->asked->bandwidths;
    const rlt_design_settings settings = {.cost = b->cost,
                                          .radix = b->radix,
                                          .levels = b->levels,
                                          .unit = "GB/s",
                                          .objective = "perf",
                                          .loop = "no-overlap",
                                          .shared = "links"};
    rlt_design_setup u = {.s = NULL};
    rlt_design_net net = {.n = 0};
    rlt_design_candidate c = {.u = NULL};
    double given[RLT_MAX_DIMS];
    int rc = rlt_design_setup_open(&u, &settings, err);
    if (!rc && !(rc = rlt_design_read_net(j->asked->run.sim.topology, &net, given, &u.inputs, err)))
        rc = rlt_design_candidate_open(&c, &u, &net, err);
    memcpy(j->dollars, c.dollars, sizeof j->dollars);
    j->priced = true;
    rlt_design_candidate_free(&c);
    rlt_design_setup_free(&u);
    return rc;
}

static int read_budget(job *j, rlt_network_budget *out, rlt_error *err)
{
    const rlt_plan_bandwidths *b = &j->asked->bandwidths;
    double dollars = 0;
    *out = (rlt_network_budget){.setting = b->budget ? "--budget" : "--total", .steps = (uint32_t)b->steps};
    if (b->budget && rlt_given(j->args, "total"))
        return rlt_fail(err, RLT_EUSAGE, "--budget", "and --total are two budgets: give one of them");
    if (!b->budget && !b->total_Bps)
        return rlt_fail(err, RLT_EUSAGE, "--with-network", "needs --total RATE or --budget DOLLARS above 0");
    int rc = rlt_network_check(j->asked->run.sim.topology, err);
    if (!rc && b->budget)
        rc = read_dollars(b->budget, &dollars, err);
    if (!rc && (b->budget || rlt_given(j->args, "cost")))
        rc = find_prices(j, err);
    for (uint32_t d = 0; d < RLT_MAX_DIMS && !rc; d++) {
        out->most_Bps[d] = b->budget ? dollars / j->dollars[d] : (double)b->total_Bps;
        if (j->priced && !(j->dollars[d] > 0))
            out->most_Bps[d] = b->budget ? INFINITY : (double)b->total_Bps;
    }
    return rc;
}

/* ---- rows ---- */

static double cost_of(const job *j, const uint64_t bw_Bps[RLT_MAX_DIMS])
{
    double cost = 0;
    for (uint32_t d = 0; d < j->plan.n_dims; d++)
        cost += j->dollars[d] * (double)bw_Bps[d];
    return cost;
}

static const char *bandwidths_text(const job *j, const rlt_network_point *p, char *text, size_t size)
{
    double bw[RLT_MAX_DIMS];
    for (uint32_t d = 0; d < j->plan.n_dims; d++)
        bw[d] = (double)p->bw_Bps[d];
    return rlt_design_join(text, size, bw, j->plan.n_dims, 1e9, 3);
}

/* Runs the rows that are shown, each by its own command. */
static int run_rows(job *j, const rlt_layout_search *how, rlt_error *err)
{
    const rlt_network_plan *p = &j->plan;
    double limit = p->n ? (double)p->points[0].layout.time_ps * (1 + how->within) : 0;
    int rc = 0;
    j->rows = calloc((size_t)p->n + 1, sizeof *j->rows);
    if (!j->rows)
        return rlt_nomem(err);
    while (j->n < p->n && j->n < j->asked->top && !rc && !rlt_interrupted()) {
        const rlt_network_point *point = &p->points[j->n];
        rlt_plan_asked on = *j->asked;
        on.run.sim.topology = point->topology;
        if (j->n && (double)point->layout.time_ps > limit)
            break;
        rc = rlt_plan_run(&p->given, &on, j->args, &point->layout, &j->rows[j->n], err);
        j->n++;
    }
    return rc;
}

static void add_row(const job *j, rlt_sheet *sheet, uint32_t i)
{
    char layout[400], bw[200];
    const rlt_network_point *p = &j->plan.points[i];
    const rlt_planned *row = &j->rows[i];
    double best = (double)j->plan.points[0].layout.time_ps, memory = p->layout.memory_bytes;
    rlt_plan_describe(&j->plan.given, &p->layout, layout, sizeof layout);
    rlt_value whole = rlt_ps(row->whole_ps);
    whole.absent = row->whole_ps == 0;
    const rlt_value values[N_COLUMNS] = {rlt_ps(p->layout.time_ps),
                                         rlt_real((double)p->layout.time_ps / best - 1),
                                         whole,
                                         rlt_text(bandwidths_text(j, p, bw, sizeof bw)),
                                         j->priced ? rlt_real(cost_of(j, p->bw_Bps)) : rlt_absent(),
                                         rlt_real(row->tokens_per_s),
                                         rlt_real(row->mfu),
                                         rlt_real(sheet->format == RLT_FORMAT_TABLE ? memory / 1e9 : memory),
                                         rlt_text(layout),
                                         rlt_text(row->command)};
    rlt_sheet_row(sheet, values);
}

/* ---- gains by each freedom, and the certificate ---- */

static void put_freedom(const job *j, rlt_growing *t, const char *what, const rlt_network_point *p)
{
    char layout[400], bw[200];
    double given = (double)j->plan.as_given.layout.time_ps, time = (double)p->layout.time_ps;
    rlt_plan_describe(&j->plan.given, &p->layout, layout, sizeof layout);
    rlt_growing_add(t, "%-34s %.6g s (%+.1f %%): %s GB/s, %s\n", what, time / 1e12, 100 * (time / given - 1),
                    bandwidths_text(j, p, bw, sizeof bw), layout);
}

static void put_proof(const job *j, rlt_growing *t)
{
    const rlt_network_plan *p = &j->plan;
    double best = p->n ? (double)p->points[0].layout.time_ps : 0, least = (double)p->least_ps;
    if (p->proven && least >= best)
        rlt_growing_add(t, "proven: no layout of this space is faster on any split into %u parts",
                        p->budget.steps);
    else if (p->shares.faster)
        rlt_growing_add(t, "not proven: the bounds do not hold");
    else if (p->least_ps > 0)
        rlt_growing_add(t, "not proven: another layout or split may be up to %.1f %% faster",
                        100 * (1 - least / best));
    else
        rlt_growing_add(t, "not proven: stopped before the first bound");
    rlt_growing_add(t, ", in the folded simulation\n");
    if (p->shares.faster)
        rlt_growing_add(t,
                        "%" PRIu64 " of %" PRIu64
                        " networks with less bandwidth were faster than one with more, by up to %.2g %%\n",
                        p->shares.faster, p->shares.corners, 100 * p->shares.most_faster);
}

static void put_certificate(const job *j, rlt_growing *t)
{
    const rlt_layout_result *r = &j->plan.relaxed.result;
    const rlt_share_result *s = &j->plan.shares;
    rlt_growing_add(t,
                    "%.0f layouts = %.0f against a rule + %.0f out of memory + %.0f pruned by a bound + %.0f "
                    "equal to another + %u simulated where each dimension has the whole budget\n",
                    r->total, r->against_rules, r->out_of_memory, r->pruned, r->repeated, r->n);
    rlt_growing_add(t,
                    "%u layouts x %.0f splits = %.0f pruned by a bound + %.0f of layouts whose best split is "
                    "known + %.0f best ones; %" PRIu64 " simulated\n",
                    r->n, rlt_shares_count(j->plan.n_dims, j->plan.budget.steps), s->pruned, s->passed,
                    s->judged, s->corners);
}

static int write_legend(const job *j, rlt_growing *t, rlt_error *err)
{
    const rlt_network_plan *p = &j->plan;
    rlt_growing_add(t, "\n");
    for (uint32_t i = 0; i < j->n; i++)
        rlt_growing_add(t, "%2u  %s\n", i + 1, j->rows[i].command);
    rlt_growing_add(t, "\n");
    if (p->as_given.topology)
        put_freedom(j, t, "best layout, bandwidths as given:", &p->as_given);
    if (p->resplit.topology)
        put_freedom(j, t, "best split for that layout:", &p->resplit);
    if (p->n)
        put_freedom(j, t, "layout and split together:", &p->points[0]);
    rlt_growing_add(t, "\n");
    put_certificate(j, t);
    put_proof(j, t);
    return rlt_growing_whole(t, err);
}

static void put_point(const job *j, rlt_jw *w, const char *key, const rlt_network_point *p)
{
    char layout[400];
    if (!p->topology)
        return;
    rlt_plan_describe(&j->plan.given, &p->layout, layout, sizeof layout);
    rlt_jw_object(w, key);
    rlt_jw_i64(w, "time_ps", p->layout.time_ps);
    rlt_jw_string(w, "topology", p->topology);
    rlt_jw_string(w, "layout", layout);
    rlt_jw_end_object(w);
}

static void write_json(const job *j, rlt_jw *w)
{
    const rlt_layout_result *r = &j->plan.relaxed.result;
    const rlt_share_result *s = &j->plan.shares;
    put_point(j, w, "as_given", &j->plan.as_given);
    put_point(j, w, "best_split_for_that", &j->plan.resplit);
    rlt_jw_object(w, "certificate");
    rlt_jw_bool(w, "proven", j->plan.proven);
    rlt_jw_u64(w, "steps", j->plan.budget.steps);
    rlt_plan_counts_json(w, r);
    rlt_jw_double(w, "pairs", s->pairs, 0);
    rlt_jw_double(w, "pairs_pruned", s->pruned, 0);
    rlt_jw_double(w, "pairs_passed", s->passed, 0);
    rlt_jw_double(w, "pairs_judged", s->judged, 0);
    rlt_jw_u64(w, "networks_simulated", s->corners);
    rlt_jw_u64(w, "faster_with_less", s->faster);
    if (j->plan.least_ps < RLT_TIME_MAX)
        rlt_jw_i64(w, "least_bound_ps", j->plan.least_ps);
    rlt_jw_end_object(w);
}

/* Writes the result. `rc` is how the search ended; returns it, or the error met here. */
static int report(const job *j, int rc, rlt_error *err)
{
    rlt_sheet sheet;
    rlt_column shown[N_COLUMNS];
    rlt_growing legend = {.text = NULL};
    memcpy(shown, columns, sizeof shown);
    for (int i = 0; i < N_COLUMNS; i++)
        if ((!j->priced && strcmp(shown[i].name, "cost_dollars") == 0) ||
            (!j->asked->verify && strcmp(shown[i].name, "whole_ps") == 0))
            shown[i].title = NULL;
    int opened =
        rlt_sheet_open(&sheet, &j->asked->report, "plan", j->args, &j->plan.given.run.setup.inputs, err);
    if (opened)
        return opened;
    if (sheet.format == RLT_FORMAT_JSON)
        write_json(j, &sheet.json);
    rlt_sheet_heading(&sheet, shown, N_COLUMNS);
    for (uint32_t i = 0; i < j->n; i++)
        add_row(j, &sheet, i);
    int written = write_legend(j, &legend, rc ? NULL : err);
    rc = rlt_sheet_close(&sheet, written ? written : rc, legend.text ? legend.text : "", err);
    free(legend.text);
    return rc;
}

static int find(void *of, const rlt_layout_search *how, rlt_error *err)
{
    return rlt_network_find(of, how, err);
}

int rlt_plan_bandwidths_too(rlt_plan_workers *w, rlt_plan_asked *s, const rlt_parsed *args,
                            const rlt_layout_search *how, rlt_error *err)
{
    job j = {.asked = s, .args = args};
    rlt_network_budget budget;
    if (s->run.faults.failures)
        return rlt_fail(err, RLT_EUSAGE, "--failures", "does not go with --with-network");
    int rc = read_budget(&j, &budget, err);
    if (rc)
        return rc;
    rc = rlt_network_open(&j.plan, &budget, &s->run, args, err);
    if (!rc)
        rc = rlt_plan_watched(w, s->quiet, how, find, &j.plan, err);
    if (!rc && !j.plan.n)
        rc = rlt_layouts_why(&j.plan.given, how, err);
    else if (w->rank == 0 && (!rc || rc == RLT_ECANCELLED)) {
        int failed = run_rows(&j, how, err);
        rc = failed && failed != RLT_ECANCELLED ? failed : report(&j, rc, err);
    }
    for (uint32_t i = 0; i < j.n; i++)
        free(j.rows[i].command);
    free(j.rows);
    rlt_network_close(&j.plan);
    return rc;
}
