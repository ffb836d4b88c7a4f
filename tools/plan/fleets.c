/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the best layouts over numbers of accelerators, or of a front, and where each number went. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/output/sheet.h"
#include "tools/plan/plan.h"
#include "tools/plan/workers.h"
#include "workload/experiment/layouts/fleets.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"

static const char *const ends[RLT_FLEET_ENDS] = {
    [RLT_FLEET_OPEN] = "not searched",          [RLT_FLEET_FOUND] = "with a layout",
    [RLT_FLEET_SLOWER] = "searched, no better", [RLT_FLEET_SKIPPED] = "skipped by a bound",
    [RLT_FLEET_FULL] = "out of memory",         [RLT_FLEET_AGAINST] = "against a rule"};

static uint32_t count_ends(const rlt_fleets *c, rlt_fleet_end end)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        n += c->at[i].end == end;
    return n;
}

/* Writes how many numbers ended in each way. Every number is counted once. */
static void describe(const rlt_fleets *c, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%u number%s of accelerators =", c->n, rlt_s(c->n));
    bool first = true;
    for (int end = 0; end < RLT_FLEET_ENDS && used < size; end++) {
        uint32_t n = count_ends(c, (rlt_fleet_end)end);
        if (n)
            used += (size_t)snprintf(text + used, size - used, "%s %u %s", first ? "" : " +", n, ends[end]);
        first = first && !n;
    }
}

static void print_counts(FILE *out, const rlt_fleets *c)
{
    char counts[256];
    describe(c, counts, sizeof counts);
    fprintf(out, "\n%s; %" PRIu64 " searches, %" PRIu64 " simulations\n", counts, c->searches, c->simulated);
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i].end == RLT_FLEET_AGAINST && c->at[i].why) {
            fprintf(out, "  against a rule: %u, such as: %s\n", c->at[i].ranks, c->at[i].why);
            break;
        }
}

/* Says what is known of the next number in a direction that is against no rule. */
static void print_neighbour(FILE *out, const rlt_fleets *c, uint32_t i, int step)
{
    const rlt_fleet *one = NULL;
    uint32_t between = 0;
    for (i += (uint32_t)step; i < c->n && !one; i += (uint32_t)step) {
        between += c->at[i].end == RLT_FLEET_AGAINST;
        one = c->at[i].end == RLT_FLEET_AGAINST ? NULL : &c->at[i];
    }
    if (!one)
        return;
    fprintf(out, "  the next %s number, %u: %s", step < 0 ? "smaller" : "larger", one->ranks, ends[one->end]);
    if (one->least_ps)
        fprintf(out, "; an iteration takes at least %.4g s", (double)one->least_ps / 1e12);
    if (between)
        fprintf(out, "; %u between are against a rule", between);
    fprintf(out, "\n");
}

static void print_proof(FILE *out, const rlt_fleets *c, const rlt_plan_asked *s)
{
    uint32_t best = c->n_found ? c->found[0].fleet : 0;
    if (!c->proven)
        fprintf(out, "not proven: the search was stopped\n");
    else if (s->front)
        fprintf(out, "proven: no layout of this space beats one of these %u in both of %s\n", c->n_found,
                s->front);
    else
        fprintf(out, "proven: no other number has a layout that is better by --objective %s\n", s->objective);
    if (s->front || !c->n_found)
        return;
    print_neighbour(out, c, best, -1);
    if (c->goals[0] != RLT_GOAL_ACCELERATORS)
        print_neighbour(out, c, best, 1);
    fprintf(out, "\non %u accelerators:", c->at[best].ranks);
    rlt_plan_print_certificate(out, &c->at[best].layouts->result);
}

static void fleets_json(rlt_jw *w, const rlt_fleets *c)
{
    rlt_jw_bool(w, "proven", c->proven);
    rlt_jw_u64(w, "searches", c->searches);
    rlt_jw_u64(w, "simulated", c->simulated);
    rlt_jw_array(w, "fleets");
    for (uint32_t i = 0; i < c->n; i++) {
        const rlt_fleet *one = &c->at[i];
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "accelerators", one->ranks);
        rlt_jw_string(w, "end", ends[one->end]);
        if (one->least_ps)
            rlt_jw_u64(w, "least_ps", (uint64_t)one->least_ps);
        if (one->end == RLT_FLEET_AGAINST && one->why)
            rlt_jw_string(w, "why", one->why);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static int search(void *fleets, const rlt_layout_search *how, rlt_error *err)
{
    return rlt_fleets_find(fleets, how, err);
}

/* Fails: no number meets the deadline. Searches the fastest layout without it. */
static int missed(const rlt_fleets *c, const rlt_plan_asked *s, const rlt_layout_search *how,
                  const char *counts, rlt_error *err)
{
    rlt_fleets any = {.goals = {RLT_GOAL_TIME}, .n_goals = 1};
    rlt_watch watch = rlt_interrupt_watcher();
    rlt_layout_search p = *how;
    p.watch = &watch;
    int rc = rlt_fleets_open(&any, s->accelerators, &s->run, c->args, err);
    if (!rc)
        rc = rlt_fleets_find(&any, &p, err);
    bool found = !rc && any.n_found;
    if (!rc)
        rc = rlt_plan_missed(s, found ? any.at[any.found[0].fleet].ranks : 0,
                             found ? any.found[0].point.time_ps : 0, counts, err);
    rlt_fleets_close(&any);
    return rc;
}

/* Says why no number has a layout. */
static int nothing(const rlt_fleets *c, const rlt_plan_asked *s, const rlt_layout_search *how, rlt_error *err)
{
    const char *rule = "";
    char counts[256] = "; ";
    describe(c, counts + 2, sizeof counts - 2);
    if (count_ends(c, RLT_FLEET_SLOWER) + count_ends(c, RLT_FLEET_SKIPPED))
        return missed(c, s, how, counts, err);
    for (uint32_t i = 0; i < c->n; i++)
        rule = c->at[i].end == RLT_FLEET_AGAINST && c->at[i].why ? c->at[i].why : rule;
    return rlt_fail(err, RLT_ERANGE, "plan", "no layout is possible on %u to %u accelerators%s%s%s",
                    c->at[0].ranks, c->at[c->n - 1].ranks, counts, *rule ? ", such as: " : "", rule);
}

static int report(const rlt_fleets *c, const rlt_plan_asked *s, const rlt_planned *rows, uint32_t n, int rc,
                  rlt_error *err)
{
    rlt_sheet sheet;
    rlt_column shown[RLT_PLAN_COLUMNS];
    rlt_plan_legend legend;
    rlt_time best = RLT_TIME_MAX;
    for (uint32_t i = 0; i < n; i++)
        best = rows[i].point->time_ps < best ? rows[i].point->time_ps : best;
    int opened = rlt_sheet_open(&sheet, &s->report, "plan", c->args, &c->given.run.setup.inputs, err);
    if (opened)
        return opened;
    if (sheet.format == RLT_FORMAT_JSON)
        fleets_json(&sheet.json, c);
    rlt_plan_heading(&sheet, s, shown);
    for (uint32_t i = 0; i < n; i++)
        rlt_plan_row(&sheet, s, &rows[i], best);
    if ((opened = rlt_plan_legend_open(&legend, &sheet, err)))
        return opened;
    FILE *below = legend.out;
    rlt_plan_print_commands(below, rows, n);
    print_counts(below, c);
    print_proof(below, c, s);
    if (c->n_found)
        rlt_plan_print_grounds(below, c->at[c->found[0].fleet].layouts);
    rlt_plan_worth_print(below, s);
    return rlt_plan_legend_close(&legend, &sheet, rc, err);
}

/* Runs the layouts of the answer, draws and reports them. */
static int show(const rlt_fleets *c, const rlt_plan_asked *s, const rlt_layout_search *how, int rc,
                rlt_error *err)
{
    uint32_t most = s->front && !rlt_given(c->args, "top") ? c->n_found : (uint32_t)s->top;
    uint32_t n = c->n_found < most ? c->n_found : most, shown = 0;
    if (!n && !rc)
        return nothing(c, s, how, err);
    rlt_planned *rows = calloc((size_t)n + 1, sizeof *rows);
    int failed = rows ? 0 : rlt_nomem(err);
    for (; shown < n && !failed && !rlt_interrupted(); shown++) {
        const rlt_layouts *l = c->at[c->found[shown].fleet].layouts;
        rlt_plan_asked with = *s;
        with.run.sim.topology = l->fixed.sim.topology; /* its outermost dimension may be resized */
        if (!(failed = rlt_plan_run(l, &with, c->args, &c->found[shown].point, &rows[shown], err)))
            failed = rlt_plan_goodput(l, s, &rows[shown], err);
    }
    if (!failed && s->plot)
        failed = rlt_plan_front_draw(s, rows, shown, err);
    rc = failed && failed != RLT_ECANCELLED ? failed : report(c, s, rows, shown, rc, err);
    if (s->plot)
        rlt_plot_keep(s->plot, rc);
    for (uint32_t i = 0; rows && i < n; i++)
        free(rows[i].command);
    free(rows);
    return rc;
}

int rlt_plan_fleets(rlt_plan_workers *w, rlt_plan_asked *s, const rlt_parsed *args,
                    const rlt_layout_search *how, rlt_error *err)
{
    rlt_fleets c = {.within = how->within};
    int rc, n = rlt_plan_goals(s, c.goals, err);
    if (n < 0)
        return n;
    c.n_goals = (uint32_t)n;
    rc = rlt_fleets_open(&c, s->accelerators, &s->run, args, err);
    if (!rc)
        rc = rlt_plan_worth_settle(s, &c.given, &s->worth, err);
    c.deadline_ps = s->worth.limit_ps;
    if (!rc)
        rc = rlt_plan_watched(w, s->quiet, how, search, &c, err);
    if (w->rank == 0 && (!rc || rc == RLT_ECANCELLED))
        rc = show(&c, s, how, rc, err);
    rlt_fleets_close(&c);
    return rc;
}
