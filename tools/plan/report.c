/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of layouts, and the certificate: where each point of the space went. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/output/sheet.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/models/accelerator.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

static const rlt_column columns[RLT_PLAN_COLUMNS] = {
    {"time_ps", "time", NULL, RLT_COL_TIME, 0, 0, "time of an iteration, folded"},
    {"slower", "slower", "%", RLT_COL_PERCENT, 0, 1, "time / the fastest layout's, less 1"},
    {"whole_ps", "whole", NULL, RLT_COL_TIME, 0, 0, "time with all ranks simulated (--verify)"},
    {"expected_ps", "expected", NULL, RLT_COL_TIME, 0, 0, "mean time of an iteration with --failures"},
    {"goodput", "goodput", "%", RLT_COL_PERCENT, 0, 1, "time / expected time"},
    {"tokens_per_second", "tokens", "/s", RLT_COL_REAL, 0, 0, "training tokens a second"},
    {"model_flops_utilization", "MFU", "%", RLT_COL_PERCENT, 0, 1, "model FLOPs / (time x peak)"},
    {"memory_bytes", "memory", "GB", RLT_COL_REAL, 0, 1, "memory of the fullest stage"},
    {"bubble", "bubble", "%", RLT_COL_PERCENT, 0, 1,
     "share of the time in which the last rank waits for another stage"},
    {"exposed_tp", "tp", "exposed", RLT_COL_PERCENT, 0, 1, "share in which tensor parallelism holds it up"},
    {"exposed_cp", "cp", "%", RLT_COL_PERCENT, 0, 1, "the same, context parallelism"},
    {"exposed_ep", "ep", "%", RLT_COL_PERCENT, 0, 1, "the same, expert parallelism"},
    {"exposed_dp", "dp", "%", RLT_COL_PERCENT, 0, 1, "the same, data parallelism"},
    {"exposed_pp", "pp", "%", RLT_COL_PERCENT, 0, 1, "the same, messages between stages"},
    {"accelerators", "ranks", NULL, RLT_COL_COUNT, 0, 0, "number of accelerators"},
    {"tokens_per_second_accelerator", "per acc.", "/s", RLT_COL_REAL, 0, 0,
     "tokens a second and accelerator"},
    {"dollars", "price", "$", RLT_COL_REAL, 0, 0, "price of the accelerators to --tokens (10^12 without it)"},
    {"energy_kWh", "energy", "kWh", RLT_COL_REAL, 0, 0, "their energy to the same, without hosts"},
    {"days", "days", NULL, RLT_COL_REAL, 0, 1, "time to --tokens"},
    {"layout", "layout", NULL, RLT_COL_TEXT, 0, 0, "sizes of the groups, and the settings of the training"},
    {"command", NULL, NULL, RLT_COL_TEXT, 0, 0, "command that runs it"},
};
const rlt_columns rlt_plan_columns = {"layouts of a plan", columns, RLT_PLAN_COLUMNS};

void rlt_plan_describe(const rlt_layouts *l, const rlt_layout_point *p, char *text, size_t size)
{
    rlt_training t;
    rlt_error err = {0};
    size_t used = 0;
    *text = '\0';
    int dp = rlt_layouts_training(l, p, &t, &err) ? 0 : (int)t.size[RLT_AXIS_DP];
    for (uint32_t i = 0; i < l->space.n && used < size; i++) {
        const rlt_layout_axis *a = &l->space.axes[i];
        bool one = strcmp(a->values[p->at[i]], "1") == 0 && strcmp(a->name, "microbatch") != 0;
        if (one || (strcmp(a->name, "order") == 0 && a->n == 1))
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", a->name,
                                 a->values[p->at[i]]);
    }
    if (used < size && dp)
        snprintf(text + used, size - used, " dp=%d", dp);
}

static rlt_value known(double value, bool is)
{
    return is ? rlt_real(value) : rlt_absent();
}

void rlt_plan_row(rlt_sheet *sheet, const rlt_plan_asked *s, const rlt_planned *row, rlt_time best_ps)
{
    char layout[400];
    const rlt_layout_point *p = row->point;
    const rlt_plan_worth *w = &s->worth;
    uint32_t ranks = rlt_layouts_ranks(row->from);
    double best = (double)best_ps;
    rlt_plan_describe(row->from, p, layout, sizeof layout);
    rlt_value whole = rlt_ps(row->whole_ps);
    whole.absent = row->whole_ps == 0;
    rlt_value expected = rlt_ps(row->expected_ps), goodput = rlt_real(row->goodput);
    expected.absent = goodput.absent = row->expected_ps == 0;
    double memory = sheet->format == RLT_FORMAT_TABLE ? p->memory_bytes / 1e9 : p->memory_bytes;
    const rlt_value values[RLT_PLAN_COLUMNS] = {rlt_ps(p->time_ps),
                                                rlt_real((double)p->time_ps / best - 1),
                                                whole,
                                                expected,
                                                goodput,
                                                rlt_real(row->tokens_per_s),
                                                rlt_real(row->mfu),
                                                rlt_real(memory),
                                                rlt_real(row->bubble),
                                                rlt_real(row->exposed[0]),
                                                rlt_real(row->exposed[1]),
                                                rlt_real(row->exposed[2]),
                                                rlt_real(row->exposed[3]),
                                                rlt_real(row->exposed[4]),
                                                rlt_count(ranks),
                                                rlt_real(row->tokens_per_s / ranks),
                                                known(rlt_plan_dollars(w, row), w->price_h > 0),
                                                known(rlt_plan_kWh(w, row), w->power_w > 0),
                                                known(rlt_plan_seconds(w, row) / 86400, s->tokens != NULL),
                                                rlt_text(layout),
                                                rlt_text(row->command)};
    rlt_sheet_row(sheet, values);
}

/* Columns that say nothing here stand in no table. */
void rlt_plan_heading(rlt_sheet *sheet, const rlt_plan_asked *s, rlt_column shown[RLT_PLAN_COLUMNS])
{
    const struct {
        const char *name;
        bool shown;
    } some[] = {{"whole_ps", s->verify},
                {"expected_ps", s->run.faults.failures != NULL},
                {"goodput", s->run.faults.failures != NULL},
                {"accelerators", s->accelerators != NULL},
                {"dollars", s->worth.price_h > 0},
                {"energy_kWh", s->worth.power_w > 0},
                {"days", s->tokens != NULL}};
    memcpy(shown, columns, sizeof columns);
    for (int i = 0; i < RLT_PLAN_COLUMNS; i++)
        for (size_t k = 0; k < sizeof some / sizeof *some; k++)
            if (!some[k].shown && strcmp(shown[i].name, some[k].name) == 0)
                shown[i].title = NULL;
    rlt_sheet_heading(sheet, shown, RLT_PLAN_COLUMNS);
}

void rlt_plan_counts_json(rlt_jw *w, const rlt_layout_result *r)
{
    rlt_jw_double(w, "points", r->total, 0);
    rlt_jw_double(w, "repeated", r->repeated, 0);
    rlt_jw_double(w, "against_rules", r->against_rules, 0);
    rlt_jw_double(w, "out_of_memory", r->out_of_memory, 0);
    rlt_jw_double(w, "pruned", r->pruned, 0);
    rlt_jw_u64(w, "simulated", r->n);
}

void rlt_plan_certificate_json(rlt_jw *w, const rlt_layout_result *r)
{
    rlt_jw_object(w, "certificate");
    rlt_jw_bool(w, "proven", r->proven);
    rlt_plan_counts_json(w, r);
    rlt_jw_u64(w, "bounds", r->bounded);
    if (r->least_pruned_ps < RLT_TIME_MAX)
        rlt_jw_u64(w, "least_bound_ps", (uint64_t)r->least_pruned_ps);
    rlt_jw_array(w, "rules");
    for (uint32_t i = 0; i < r->n_reasons; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "setting", r->reasons[i].where);
        rlt_jw_string(w, "example", r->reasons[i].what);
        rlt_jw_double(w, "points", r->reasons[i].points, 0);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

static void print_proof(FILE *out, const rlt_layout_result *r)
{
    double best = r->n ? (double)r->points[0].time_ps : 0, least = (double)r->least_pruned_ps;
    if (!r->n)
        return;
    if (r->proven && (r->least_pruned_ps >= r->points[0].time_ps))
        fprintf(out, "proven: no layout of this space is faster in the folded simulation");
    else
        fprintf(out, "not proven: another layout may be up to %.1f %% faster", 100 * (1 - least / best));
    if (r->least_pruned_ps < RLT_TIME_MAX)
        fprintf(out, "; the least bound of the rest is %.4g s, the fastest takes %.4g s", least / 1e12,
                best / 1e12);
    fprintf(out, "\n");
}

void rlt_plan_print_certificate(FILE *out, const rlt_layout_result *r)
{
    fprintf(
        out,
        "\n%.0f points = %.0f against a rule + %.0f out of memory + %.0f pruned by a bound + %u simulated + "
        "%.0f equal to another\n",
        r->total, r->against_rules, r->out_of_memory, r->pruned, r->n, r->repeated);
    print_proof(out, r);
    for (uint32_t i = 0; i < r->n_reasons; i++)
        fprintf(out, "  rule: %.0f points, %s, such as: %s\n", r->reasons[i].points, r->reasons[i].where,
                r->reasons[i].what);
}

/* Returns the grounds of the times, the same for all rows: one accelerator, stack and precision. */
static rlt_grounds grounds_of(const rlt_layouts *l, rlt_training *t)
{
    rlt_error err = {0};
    if (!l->result.n || rlt_layouts_training(l, &l->result.points[0], t, &err))
        return (rlt_grounds){.basis = RLT_BASIS_ASSUMED};
    return rlt_accelerator_grounds(t->accelerator, t->stack, t->precision, rlt_model_kind_of(t->model));
}

void rlt_plan_print_grounds(FILE *out, const rlt_layouts *l)
{
    rlt_training t;
    char text[300];
    const rlt_grounds g = grounds_of(l, &t);
    const double low = g.spread.low, high = g.spread.high;
    if (!l->result.n)
        return;
    fprintf(out, "times are %s", rlt_grounds_text(g, t.accelerator, t.stack, t.precision, text, sizeof text));
    if (low > 0)
        fprintf(out, "; 80 %% of measured times are within %+.0f to %+.0f %%", 100 * (low - 1),
                100 * (high - 1));
    fprintf(out, "\n");
}

void rlt_plan_print_commands(FILE *out, const rlt_planned *rows, uint32_t n)
{
    fprintf(out, "\n");
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%2u  %s\n", i + 1, rows[i].command);
}

int rlt_plan_legend_open(rlt_plan_legend *l, rlt_sheet *sheet, rlt_error *err)
{
    *l = (rlt_plan_legend){.text = NULL};
    l->out = rlt_text_stream(&l->text, &l->length);
    return l->out ? 0 : rlt_sheet_close(sheet, rlt_nomem(err), "", err);
}

int rlt_plan_legend_close(rlt_plan_legend *l, rlt_sheet *sheet, int rc, rlt_error *err)
{
    if (fclose(l->out) && !rc)
        rc = rlt_nomem(err);
    rc = rlt_sheet_close(sheet, rc, l->text ? l->text : "", err);
    free(l->text);
    return rc;
}

int rlt_plan_report(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_plan_answer *a, rlt_error *err)
{
    int rc = a->rc;
    const rlt_layout_result *r = &l->result;
    rlt_sheet sheet;
    rlt_column shown[RLT_PLAN_COLUMNS];
    if (!rc && r->n && s->worth.limit_ps && r->points[0].time_ps > s->worth.limit_ps)
        return rlt_plan_missed(s, rlt_layouts_ranks(l), r->points[0].time_ps, "", err);
    if (!r->n && !rc)
        return rlt_fail(err, RLT_ERANGE, "plan", "no layout of this space can run");
    int opened = rlt_sheet_open(&sheet, &s->report, "plan", args, &l->run.setup.inputs, err);
    if (opened)
        return opened;
    if (sheet.format == RLT_FORMAT_JSON) {
        rlt_training t;
        rlt_grounds g = grounds_of(l, &t);
        rlt_plan_certificate_json(&sheet.json, r);
        rlt_plan_sample_json(&sheet.json, l);
        rlt_jw_u64(&sheet.json, "not_shown", a->more);
        rlt_jw_string(&sheet.json, "basis", rlt_basis_name(g.basis));
        rlt_jw_u64(&sheet.json, "rows", g.rows);
        rlt_jw_double(&sheet.json, "interval_low", g.spread.low, 4);
        rlt_jw_double(&sheet.json, "interval_high", g.spread.high, 4);
        rlt_plan_explain_json(&sheet.json, l, a);
    }
    rlt_plan_heading(&sheet, s, shown);
    for (uint32_t i = 0; i < a->n; i++)
        rlt_plan_row(&sheet, s, &a->rows[i], l->result.points[0].time_ps);
    rlt_plan_legend legend;
    if ((opened = rlt_plan_legend_open(&legend, &sheet, err)))
        return opened;
    FILE *below = legend.out;
    if (a->more)
        fprintf(below, "\n%u more within %s; --top %u shows all\n", a->more, s->within, a->n + a->more);
    rlt_plan_print_commands(below, a->rows, a->n);
    rlt_plan_explain(below, l, a);
    rlt_plan_print_certificate(below, r);
    rlt_plan_sample_print(below, l);
    rlt_plan_print_grounds(below, l);
    rlt_plan_worth_print(below, s);
    return rlt_plan_legend_close(&legend, &sheet, rc, err);
}
