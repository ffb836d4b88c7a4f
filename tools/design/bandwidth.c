/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet design bandwidth: the best split of bandwidth over the dimensions of one network. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/progress.h"
#include "tools/design/bandwidth.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "workload/experiment/coll/lists.h"

typedef struct bandwidth_settings {
    rlt_design_settings design; /* must be first */
    const char *topology, *plot;
} bandwidth_settings;

static const rlt_option own_options[] = {
    {"topology", 't', RLT_PARAM_TEXT, "T",
     "Network: a product of ring, fully-connected and switch. The bandwidths that it states are evaluated, "
     "too.",
     .offset = offsetof(bandwidth_settings, topology), .required = true},
    {0}};
static const rlt_option plot_options[] = {
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "With several budgets: also plot time, split and cost over the budget, as SVG.",
     .offset = offsetof(bandwidth_settings, plot), .unrecorded = true, .writes = true},
    {0}};
static const rlt_option_group options[] = {{"Network", own_options, 0},
                                           {"Workload", rlt_design_work_options, 0},
                                           {"Goal", rlt_design_goal_options, 0},
                                           {"Cost", rlt_design_cost_options, 0},
                                           {"Simulation", rlt_design_sim_options, 0},
                                           {"Report", rlt_design_report_options, 0},
                                           {"Plot", plot_options, 0},
                                           {0}};

typedef rlt_bandwidth_job job;

static const rlt_column columns[] = {
    {"split", "split", NULL, RLT_COL_TEXT, 0, 0, "split of the bandwidth: given, equal or chosen"},
    {"workload", "workload", NULL, RLT_COL_TEXT, 0, 0, "workload that the row is for; all: the weighted sum"},
    {"bandwidths", "bandwidths", NULL, RLT_COL_TEXT, 0, 0,
     "bandwidth of each dimension, innermost first, in the unit of --unit"},
    {"time_ps", "time", "ms", RLT_COL_REAL, 0, 4, "time of an iteration in closed form"},
    {"simulated_ps", "simulated", "ms", RLT_COL_REAL, 0, 4, "time of an iteration, simulated"},
    {"simulated_over_model", "sim/model", NULL, RLT_COL_REAL, 0, 4, "simulated / closed form"},
    {"speedup", "speed-up", NULL, RLT_COL_REAL, 0, 4, "time of the equal split / time"},
    {"cost_dollars", "cost", "$", RLT_COL_REAL, 0, 0, "price of the network"},
    {"per_cost_gain", "speed/$", NULL, RLT_COL_REAL, 0, 4, "speed per dollar / that of the equal split"},
    {"utilization", "utilization", "%", RLT_COL_TEXT, 0, 0, "utilization of each dimension, innermost first"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Writes a row. `work` is a workload; RLT_NONE: all, weighted. */
static void put_row(const job *j, rlt_table *t, const rlt_judged *x, uint32_t work)
{
    char bw[200], used[200];
    const rlt_judged *equal = &j->budgets->judged[RLT_SPLIT_EQUAL];
    bool all = work == RLT_NONE, csv = t->format == RLT_FORMAT_CSV;
    double s = all ? x->time_s : x->each_s[work], was = all ? equal->time_s : equal->each_s[work],
           sim = !x->simulated ? 0
                 : all         ? x->simulated_s
                               : (double)x->run[work].time_ps * 1e-12,
           unit = csv ? 1e-12 : 1e-3, speedup = was / s;
    const double *u = all ? x->utilization : x->run[work].utilization;
    rlt_value v[N_COLUMNS] = {
        rlt_text(x->name),
        rlt_text(all ? j->u.n_works > 1 ? "all" : j->u.works[0].name : j->u.works[work].name),
        rlt_text(rlt_design_join(bw, sizeof bw, x->bw, j->net.n, j->u.cost.unit_Bps, csv ? 6 : 3)),
        rlt_real(s / unit),
        sim > 0 ? rlt_real(sim / unit) : rlt_absent(),
        sim > 0 ? rlt_real(sim / s) : rlt_absent(),
        rlt_real(speedup),
        rlt_real(x->cost),
        rlt_real(speedup * equal->cost / x->cost),
        sim > 0 ? rlt_text(rlt_design_join(used, sizeof used, u, j->net.n, csv ? 1 : 0.01, csv ? 6 : 1))
                : rlt_absent(),
    };
    rlt_table_row(t, v);
}

static int write_rows(const job *j, rlt_format format, FILE *out, rlt_error *err)
{
    rlt_table t = {0};
    rlt_table_begin(&t, format, columns, N_COLUMNS, out, NULL);
    for (uint32_t i = 0; i < RLT_SPLITS && j->budgets->judged[i].name; i++) {
        put_row(j, &t, &j->budgets->judged[i], RLT_NONE);
        for (uint32_t w = 0; w < j->u.n_works && j->u.n_works > 1; w++)
            put_row(j, &t, &j->budgets->judged[i], w);
    }
    return rlt_table_end(&t, err);
}

/* Prints how many layers have collectives that share links under the chosen split. */
static void put_meeting(const job *j, FILE *out)
{
    const rlt_judged *chosen = &j->budgets->judged[RLT_SPLIT_CHOSEN];
    uint32_t contend = 0, composed = 0;
    for (uint32_t i = 0; i < j->u.n_works; i++) {
        contend += chosen->run[i].contending;
        composed += chosen->run[i].composed;
    }
    if (contend + composed)
        fprintf(
            out,
            "# simulated, as chosen: collectives share links in %u layer%s; they compete in %u, while in %u "
            "(over parts of a ring or fully connected dimension) each has the links to itself\n",
            contend + composed, rlt_s(contend + composed), contend, composed);
}

const char *rlt__bandwidth_goal(const job *j)
{
    static const char *const goals[] = {"least time", "least time x cost", "least cost in time"};
    return goals[j->u.goal];
}

void rlt__bandwidth_listed(const job *j, const rlt_budget *b, FILE *f)
{
    static const char *const what[] = {"time", "time x cost", "cost"};
    if (!b || !b->combinations)
        return;
    bool below = b->best.over_any < -1e-9; /* only a total that need not be spent allows this */
    fprintf(f,
            "# listed speeds (--nic): the best of %u combination%s%s; its %s is %.3g %% %s that of the best "
            "split of any speeds ('any')%s\n",
            b->combinations, rlt_s(b->combinations),
            b->best.proven ? ", proven" : ", not proven as other dimensions are free", what[j->u.goal],
            fabs(b->best.over_any) * 100, below ? "below" : "above",
            below ? ", which has all of --total" : "");
}

void rlt__bandwidth_free_switches(const job *j, FILE *f)
{
    for (uint32_t i = 0; i < j->net.n; i++) {
        const rlt_design_dim *d = &j->net.dims[i];
        if (d->block == RLT_BLOCK_SWITCH && j->u.prices.switch_port[d->level] <= 0)
            fprintf(f, "# dimension %u: these prices have no switch at the %s, so its ports are free\n",
                    i + 1, rlt_level_name(d->level));
    }
}

static int write_text(const job *j, rlt_format format, rlt_error *err)
{
    rlt_file f = {0};
    char shape[200];
    const rlt_design_setup *u = &j->u;
    int rc = rlt_file_open(&f, u->s->output, err);
    if (rc)
        return rc;
    if (format == RLT_FORMAT_TABLE)
        rlt_heading(f.stream, "%s, %llu accelerators: %s",
                    rlt_design_shape_text(&j->net, shape, sizeof shape),
                    (unsigned long long)rlt_design_size(&j->net), rlt__bandwidth_goal(j));
    rc = write_rows(j, format, f.stream, err);
    if (format == RLT_FORMAT_TABLE) {
        fprintf(f.stream,
                "# bandwidths in %s, innermost dimension first; speed-up and speed/$ against equal\n",
                u->s->unit);
        rlt__bandwidth_listed(j, j->budgets, f.stream);
        rlt_design_assumptions(u, f.stream);
        rlt__bandwidth_free_switches(j, f.stream);
        if (j->budgets->equal_breaks)
            fprintf(f.stream, "# the equal split, the reference, violates the limits\n");
        fprintf(f.stream, "# objective %.10g%s\n", j->budgets->best.objective,
                u->goal == RLT_LEAST_TIME   ? " s"
                : u->goal == RLT_LEAST_COST ? " $"
                                            : " s x $");
        if (j->budgets->closed)
            fprintf(f.stream, "# the closed form for these collectives gives %.10g s\n",
                    j->budgets->closed_s);
        put_meeting(j, f.stream);
    }
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static void put_list(rlt_jw *w, const char *key, const double *x, uint32_t n, double unit)
{
    rlt_jw_array(w, key);
    for (uint32_t d = 0; d < n; d++)
        rlt_jw_double(w, NULL, x[d] / unit, 9);
    rlt_jw_end_array(w);
}

static void put_times(rlt_jw *w, double s, bool simulated, double sim_s)
{
    rlt_jw_double(w, "time_ps", s * 1e12, 3);
    if (simulated)
        rlt_jw_i64(w, "simulated_ps", llround(sim_s * 1e12));
    else
        rlt_jw_null(w, "simulated_ps");
}

static void put_split(const job *j, const rlt_budget *b, const rlt_judged *x, rlt_jw *w)
{
    const rlt_judged *equal = &b->judged[RLT_SPLIT_EQUAL];
    uint32_t n = j->net.n;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "split", x->name);
    put_list(w, "bandwidth_Bps", x->bw, n, 1);
    put_list(w, "bandwidth", x->bw, n, j->u.cost.unit_Bps);
    put_times(w, x->time_s, x->simulated, x->simulated_s);
    rlt_jw_double(w, "speedup", equal->time_s / x->time_s, 9);
    rlt_jw_double(w, "cost_dollars", x->cost, 6);
    rlt_jw_double(w, "per_cost_gain", equal->time_s / x->time_s * equal->cost / x->cost, 9);
    if (x->simulated)
        put_list(w, "utilization", x->utilization, n, 1);
    rlt_jw_array(w, "workloads");
    for (uint32_t i = 0; i < j->u.n_works; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "workload", j->u.works[i].name);
        put_times(w, x->each_s[i], x->simulated, (double)x->run[i].time_ps * 1e-12);
        if (x->simulated) {
            rlt_jw_i64(w, "compute_ps", x->run[i].compute_ps);
            rlt_jw_u64(w, "events", x->run[i].events);
            rlt_jw_u64(w, "layers_contending", x->run[i].contending);
            rlt_jw_u64(w, "layers_composed", x->run[i].composed);
            put_list(w, "utilization", x->run[i].utilization, n, 1);
        }
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

void rlt__bandwidth_json(const job *j, const rlt_budget *b, rlt_jw *w)
{
    char shape[200];
    rlt_jw_string(w, "shape", rlt_design_shape_text(&j->net, shape, sizeof shape));
    rlt_jw_string(w, "objective", j->u.s->objective);
    rlt_jw_double(w, "objective_value", b->best.objective, 12);
    rlt_jw_string(w, "unit", j->u.s->unit);
    rlt_jw_string(w, "prices", j->u.prices.name);
    rlt_jw_string(w, "prices_source", j->u.prices.source);
    if (b->combinations) {
        rlt_jw_u64(w, "combinations", b->combinations);
        rlt_jw_u64(w, "combinations_solved", b->best.leaves);
        rlt_jw_bool(w, "proven", b->best.proven);
        rlt_jw_double(w, "over_any_speeds", b->best.over_any, 9);
    }
    if (b->closed)
        rlt_jw_double(w, "closed_form_ps", b->closed_s * 1e12, 3);
    rlt_jw_array(w, "splits");
    for (uint32_t i = 0; i < RLT_SPLITS && b->judged[i].name; i++)
        put_split(j, b, &b->judged[i], w);
    rlt_jw_end_array(w);
}

static int write_json(const job *j, rlt_error *err)
{
    rlt_jw w;
    rlt_document_begin(&w, "design bandwidth", j->args, &j->u.inputs);
    rlt_design_assumptions_json(&j->u, &w);
    rlt__bandwidth_json(j, j->budgets, &w);
    return rlt_document_write(&w, j->u.s->output, err);
}

/* Finds the closed form. It applies if the total is the only limit and the goal is least time. */
static void find_closed(const job *j, const rlt_design_candidate *c, rlt_budget *b)
{
    double bw[RLT_MAX_DIMS];
    b->closed = j->u.goal == RLT_LEAST_TIME && !c->listed && b->total_Bps && !j->u.s->constraint.n &&
                rlt_design_closed_form(&c->all, (double)b->total_Bps, bw);
    if (b->closed)
        b->closed_s = rlt_design_time(&c->all, bw);
}

static int judge_all(const job *j, const rlt_design_candidate *c, rlt_budget *b, rlt_error *err)
{
    double equal[RLT_MAX_DIMS] = {0}, total = 0;
    const rlt_judged *before = b > j->budgets ? &j->budgets->judged[RLT_SPLIT_GIVEN] : NULL;
    int rc = 0;
    for (uint32_t d = 0; d < j->net.n; d++)
        total += b->best.bw[d];
    for (uint32_t d = 0; d < j->net.n; d++)
        equal[d] = total / j->net.n;
    b->equal_breaks = rlt_limits_violation(&c->limits, equal) > 1e-6;
    if (before && before->name) /* the given bandwidths are the same in all budgets */
        b->judged[RLT_SPLIT_GIVEN] = *before;
    else
        rc = rlt_design_candidate_judge(c, "given", j->given, &b->judged[RLT_SPLIT_GIVEN], err);
    if (!rc)
        rc = rlt_design_candidate_judge(c, "chosen", b->best.bw, &b->judged[RLT_SPLIT_CHOSEN], err);
    if (!rc)
        rc = rlt_design_candidate_judge(c, "equal", equal, &b->judged[RLT_SPLIT_EQUAL], err);
    if (rc || !c->listed)
        return rc;
    b->combinations = c->combinations;
    return rlt_design_candidate_judge(c, "any", b->best.any_bw, &b->judged[RLT_SPLIT_ANY], err);
}

/* Solves one budget. With several budgets, one that has no split records the conflict in its row. */
static int work_on(job *j, rlt_budget *b, rlt_error *err)
{
    rlt_design_candidate c;
    rlt_error why = {0};
    j->settings.total = b->total_Bps;
    int rc = rlt_design_candidate_open(&c, &j->u, &j->net, err);
    if (!rc) {
        j->net = c.net;
        rc = rlt_design_candidate_solve(&c, j->u.goal, (double)j->settings.deadline_ps * 1e-12, &b->best,
                                        &why);
        if (rc == RLT_ECHECK && j->n > 1) {
            snprintf(b->conflict, sizeof b->conflict, "%s", why.what);
            rc = 0;
        } else if (rc) {
            *err = why;
        } else if (!(rc = judge_all(j, &c, b, err))) {
            find_closed(j, &c, b);
        }
    }
    rlt_design_candidate_free(&c);
    return rc;
}

static int read_budgets(job *j, const bandwidth_settings *s, rlt_error *err)
{
    uint64_t *totals = NULL;
    int rc = 0;
    j->n = 1;
    if (s->design.totals)
        rc = rlt_parse_rates(s->design.totals, "--total", RLT_MAX_BUDGETS, &totals, &j->n, err);
    if (!rc && s->plot && j->n == 1)
        rc = rlt_fail(err, RLT_EUSAGE, "--plot",
                      "needs several budgets, such as --total 100GB/s:1TB/s:+100GB/s");
    for (uint32_t i = 0; i < j->n && j->n > 1 && !rc; i++)
        if (totals[i] == 0)
            rc = rlt_fail(err, RLT_EUSAGE, "--total", "every budget must be above zero");
    if (!rc && !(j->budgets = calloc(j->n, sizeof *j->budgets)))
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < j->n && totals && !rc; i++)
        j->budgets[i].total_Bps = totals[i];
    free(totals);
    return rc;
}

static int work(job *j, const bandwidth_settings *s, rlt_error *err)
{
    rlt_progress progress;
    int rc = read_budgets(j, s, err);
    if (rc || (rc = rlt_design_setup_open(&j->u, &j->settings, err)) ||
        (rc = rlt_design_read_net(s->topology, &j->net, j->given, &j->u.inputs, err)) ||
        (j->u.args = j->args, rc = rlt_design_setup_works(&j->u, rlt_design_size(&j->net), err)))
        return rc;
    rlt_progress_start(&progress, "designing");
    for (uint32_t i = 0; i < j->n && !rc; i++) {
        rc = work_on(j, &j->budgets[i], err);
        rlt_progress_update(&progress, i + 1, j->n);
    }
    rlt_progress_clear();
    if (rc)
        return rc;
    if (j->n > 1)
        return rlt__bandwidth_budgets(j, err);
    rlt_format format = rlt_format_of(s->design.format, s->design.output);
    return format == RLT_FORMAT_JSON ? write_json(j, err) : write_text(j, format, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const bandwidth_settings *s = settings;
    job j = {.args = args, .settings = s->design, .plot = s->plot};
    int rc = work(&j, s, err);
    rlt_design_setup_free(&j.u);
    free(j.budgets);
    return rc;
}

static const rlt_columns table = {"Splits of the bandwidth: `ringlet design bandwidth`, JSON `splits[]`",
                                  columns, N_COLUMNS};
static const rlt_columns *const tables[] = {&table, &rlt_budget_columns, NULL};

const rlt_command rlt_design_bandwidth = {
    .name = "bandwidth",
    .summary = "the fastest split of bandwidth over the dimensions, or the best for its cost",
    .description =
        "Finds the bandwidth of each dimension that minimises iteration time, or time x cost, under linear "
        "limits. A collective takes max_i V_i / B_i, where B_i is the bandwidth of dimension i and V_i the "
        "bytes that an accelerator sends into it. NLopt's SLSQP finds the best split. It is then simulated, "
        "event by event, with hierarchical collectives in chunks; the table shows both times and the "
        "utilization of every dimension. It also shows the split that the topology states, and an equal "
        "split of the same total.\n\nModel groups (tp) fill dimensions from the innermost, data groups from "
        "the outermost. Forward and input-gradient collectives use model groups, weight-gradient ones data "
        "groups.\n\nIf no split meets the limits, conflicting limits are named and the exit status is "
        "1.\n\n--total takes several budgets, as a list or a range. The report then has a row for the best "
        "split of each; JSON has all three splits of each. Speed per dollar is relative to the first budget "
        "that has a split.",
    .example = "ringlet design bandwidth -t libra-4d --workload gpt3-175b@tp=16,zero=2 --total 500GB/s "
               "--objective perf-per-cost",
    .options = options,
    .settings_size = sizeof(bandwidth_settings),
    .run = run,
    .tables = tables,
};
