/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a search, as a table, CSV or JSON. */
#include "tools/deploy/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/message.h"
#include "tools/deploy/deploy.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/output/sheet.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

const char *rlt_deploy_plan_name(int plan)
{
    static const char *const names[RLT_PLANS] = {"data parallel", "best uniform", "found", "refined",
                                                 "with factors"};
    return names[plan];
}

/* "4 v100, 8 1080ti": the device groups of a placement. */
static void devices_text(const rlt_cluster *c, uint32_t placement, char *text, size_t size)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < c->n_groups; i++) {
        char one[96];
        snprintf(one, sizeof one, "%u %s", c->groups[i].n, c->groups[i].name);
        if (placement >> i & 1)
            rlt_list_name(text, size, one);
    }
}

void rlt_deploy_group_row(const rlt_deploy_found *f, uint32_t group, rlt_deploy_row *row)
{
    const rlt_deployment *d = f->deployment;
    const rlt_action *a = &d->actions[f->plans[f->best].point[group]];
    uint32_t n = 0, first = RLT_NONE;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < d->graph->n_ops; k++) {
        uint32_t i = d->graph->order[k];
        if (d->grouping->of_op[i] != group)
            continue;
        first = first == RLT_NONE ? i : first;
        bytes += d->graph->ops[i].pass == RLT_OPERATOR_FORWARD ? d->graph->ops[i].parameter_bytes : 0;
        n++;
    }
    devices_text(d->cluster, a->placement, row->devices, sizeof row->devices);
    const rlt_value v[RLT_GROUP_COLUMNS] = {
        rlt_count(group),
        rlt_count(n),
        rlt_text(first == RLT_NONE ? NULL : d->graph->ops[first].name),
        rlt_ps(d->grouping->time_ps[group]),
        rlt_count(bytes),
        rlt_text(row->devices),
        rlt_text(rlt_use_name(a->use)),
        rlt_real((double)f->alone_ps[group] / (double)f->alone_ps[d->grouping->n] - 1),
    };
    memcpy(row->cells, v, sizeof v);
}

static void plan_line(FILE *out, const rlt_deploy_found *f, int plan)
{
    const rlt_deploy_plan *p = &f->plans[plan], *than = &f->plans[RLT_PLAN_DATA_PARALLEL];
    char tag[32], network[32] = "-";
    rlt_format_duration(tag, sizeof tag, p->tag.time_ps);
    if (p->judged_network)
        rlt_format_duration(network, sizeof network, p->network.time_ps);
    fprintf(out, "# %-14s %10s  %5.2fx  over the network %10s", rlt_deploy_plan_name(plan), tag,
            (double)than->tag.time_ps / (double)p->tag.time_ps, network);
    if (p->judged_network)
        fprintf(out, "  %5.2fx", (double)than->network.time_ps / (double)p->network.time_ps);
    fprintf(out, "%s%s\n", p->tag.over ? "  does not fit into memory" : "", plan == f->best ? "  *" : "");
}

static void heading(FILE *out, const rlt_deploy_found *f, const rlt_deploy_settings *s)
{
    const rlt_deployment *d = f->deployment;
    fprintf(out, "# %s on %s: %u operators in %u groups (%.0f %% of the bytes cross groups), %u devices\n",
            d->graph->name, d->cluster->name, d->graph->n_ops, d->grouping->n, f->cut * 100,
            d->cluster->n_devices);
    fprintf(out,
            "# %s judged %" PRIu64 " strategies, seed %" PRIu64 "; the first better than data parallelism: ",
            s->method, f->search->judged, s->seed);
    fprintf(out, f->search->first_better ? "number %" PRIu64 "\n" : "none\n", f->search->first_better);
    for (int i = 0; i < RLT_PLANS; i++)
        if (f->plans[i].there)
            plan_line(out, f, i);
    if (f->best == RLT_PLAN_FACTORS)
        fprintf(out, "# sufficient factors: %u operators are duplicated, and their inputs gathered\n",
                f->duplicated);
}

static void write_plan(rlt_jw *w, const char *key, const rlt_deploy_plan *p)
{
    rlt_jw_object(w, key);
    rlt_jw_i64(w, "time_ps", p->tag.time_ps);
    rlt_jw_bool(w, "fits", p->tag.over == 0);
    if (p->judged_network)
        rlt_jw_i64(w, "network_time_ps", p->network.time_ps);
    else
        rlt_jw_null(w, "network_time_ps");
    rlt_jw_end_object(w);
}

static void write_curve(rlt_jw *w, const rlt_search_result *r)
{
    rlt_jw_array(w, "curve");
    for (uint32_t i = 0; i < r->n_curve; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "judged", r->curve[i].judged);
        rlt_jw_i64(w, "time_ps", r->curve[i].cost);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static void write_members(rlt_jw *w, const rlt_deploy_found *f)
{
    static const char *const keys[RLT_PLANS] = {"data_parallel", "best_uniform", "found", "refined",
                                                "with_factors"};
    rlt_deployment *d = f->deployment;
    rlt_jw_object(w, "strategy");
    rlt_strategy s = *rlt_deployment_strategy(d, 0, f->plans[f->best].point);
    s.broadcast = f->best == RLT_PLAN_FACTORS ? f->broadcast : NULL;
    rlt_strategy_members(w, d->graph, d->cluster, d->grouping, &s);
    rlt_jw_end_object(w);
    for (int i = 0; i < RLT_PLANS; i++)
        if (f->plans[i].there)
            write_plan(w, keys[i], &f->plans[i]);
    rlt_jw_string(w, "returned", rlt_deploy_plan_name(f->best));
    rlt_jw_u64(w, "duplicated", f->best == RLT_PLAN_FACTORS ? f->duplicated : 0);
    rlt_jw_u64(w, "judged", f->search->judged);
    rlt_jw_u64(w, "judged_network", f->refined ? f->refined->judged : 0);
    rlt_jw_u64(w, "first_better", f->search->first_better);
    write_curve(w, f->search);
}

/* Lists the steps of a search, and its end. Returns the number of points. */
static uint32_t add_steps(const rlt_search_result *r, double *x, double *y)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_curve; i++) {
        x[n] = (double)r->curve[i].judged;
        y[n++] = (double)r->curve[i].cost / (double)RLT_S;
    }
    x[n] = (double)r->judged;
    y[n] = y[n - 1];
    return n + 1;
}

/* A panel of the plot, with its lines and their points. */
typedef struct picture {
    rlt_plot_line lines[2];
    double *points, ends[2], base[2];
} picture;

static int make_panel(picture *p, const rlt_search_result *r, rlt_time base_ps, const char *title,
                      rlt_plot_panel *panel, rlt_error *err)
{
    uint32_t room = r->n_curve + 1;
    p->points = malloc(2 * (size_t)room * sizeof *p->points);
    if (!p->points)
        return rlt_nomem(err);
    uint32_t n = add_steps(r, p->points, p->points + room);
    p->ends[0] = 1;
    p->ends[1] = (double)r->judged;
    p->base[0] = p->base[1] = (double)base_ps / (double)RLT_S;
    p->lines[0] =
        (rlt_plot_line){.name = "best so far", .x = p->points, .y = p->points + room, .n = n, .steps = true};
    p->lines[1] =
        (rlt_plot_line){.name = "data parallel", .x = p->ends, .y = p->base, .n = 2, .reference = true};
    *panel = (rlt_plot_panel){.title = title,
                              .x_label = "strategies judged",
                              .y_label = "iteration",
                              .y_unit = RLT_PLOT_SECONDS,
                              .lines = p->lines,
                              .n_lines = 2};
    return 0;
}

static int panel_of(const rlt_deploy_found *f, bool network, picture *p, rlt_plot_panel *panel,
                    rlt_error *err)
{
    const rlt_deploy_plan *dp = &f->plans[RLT_PLAN_DATA_PARALLEL];
    return network ? make_panel(p, f->refined, dp->network.time_ps, "over the network", panel, err)
                   : make_panel(p, f->search, dp->tag.time_ps, "by the reference's timing", panel, err);
}

/* Draws the searches, each beside data parallelism in its own timing. */
static int draw(const rlt_deploy_found *f, const char *path, rlt_error *err)
{
    picture pictures[2] = {0};
    rlt_plot_panel panels[2];
    int rc = panel_of(f, false, &pictures[0], &panels[0], err);
    if (!rc && f->refined)
        rc = panel_of(f, true, &pictures[1], &panels[1], err);
    uint32_t n = f->refined ? 2 : 1;
    if (!rc)
        rc = rlt_plot_write(path, f->deployment->graph->name, panels, n, n, err);
    free(pictures[0].points);
    free(pictures[1].points);
    return rc;
}

int rlt_deploy_curve(const rlt_deploy_found *f, bool network, char **svg, rlt_error *err)
{
    picture p = {0};
    rlt_plot_panel panel;
    int rc = panel_of(f, network, &p, &panel, err);
    if (!rc)
        rc = rlt_plot_text(f->deployment->graph->name, &panel, 1, 1, svg, err);
    free(p.points);
    return rc;
}

int rlt_deploy_report(const rlt_deploy_found *f, const rlt_parsed *args, const rlt_deploy_settings *s,
                      const rlt_inputs *in, int rc, rlt_error *err)
{
    rlt_sheet sheet;
    int opened = s->plot ? draw(f, s->plot, err) : 0;
    if (!opened && s->page)
        opened = rlt_deploy_page(f, args, s, in, rc == RLT_ECANCELLED, err);
    if (!opened)
        opened = rlt_sheet_open(&sheet, &s->report, "deploy", args, in, err);
    if (opened) {
        rlt_plot_keep(s->plot, opened);
        rlt_plot_keep(s->page, opened);
        return opened;
    }
    if (sheet.format == RLT_FORMAT_TABLE)
        heading(sheet.file.stream, f, s);
    if (sheet.format == RLT_FORMAT_JSON)
        write_members(&sheet.json, f);
    rlt_sheet_heading(&sheet, rlt_deploy_groups.list, rlt_deploy_groups.n);
    for (uint32_t i = 0; i < f->deployment->grouping->n; i++) {
        rlt_deploy_row row;
        rlt_deploy_group_row(f, i, &row);
        rlt_sheet_row(&sheet, row.cells);
    }
    if (f->best <= RLT_PLAN_UNIFORM)
        rlt_warn("over the network, no strategy found is faster than the %s one: it is returned",
                 rlt_deploy_plan_name(f->best));
    return rlt_sheet_close(
        &sheet, rc,
        "# compute: on the reference device; slower: the iteration if only this group is spread as "
        "under data parallelism\n",
        err);
}
