/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a deployment: `ringlet deploy --report`. It is drawn by tools/report/page/77-deploy.js. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/shell.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/report.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/report/page.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/inputs.h"

/* Writes the command with the options that were given, except for names of outputs. */
static int command_json(rlt_jw *w, const rlt_parsed *args, rlt_error *err)
{
    char *line = NULL;
    size_t length;
    const rlt_option *o;
    FILE *f = rlt_text_stream(&line, &length);
    if (!f)
        return rlt_nomem(err);
    fputs("ringlet deploy", f);
    for (uint32_t i = 0; (o = rlt_option_at(args->groups, i, NULL)); i++) {
        if (!args->given[i] || o->unrecorded)
            continue;
        fprintf(f, " --%s", o->name);
        if (o->kind == RLT_PARAM_FLAG)
            continue;
        putc(' ', f);
        rlt_put_word(f, args->given[i]);
    }
    int rc = fclose(f) ? rlt_nomem(err) : 0;
    if (!rc)
        rlt_jw_string(w, "command_line", line);
    free(line);
    return rc;
}

/* The assumptions of the graph's reader. */
static void notes_json(rlt_jw *w, const char *notes)
{
    const char *cursor = notes, *line;
    size_t length;
    rlt_jw_array(w, "notes");
    while (cursor && (line = rlt_next_item(&cursor, '\n', &length))) {
        char *one = strndup(line, length);
        if (one && length)
            rlt_jw_string(w, NULL, one);
        free(one);
    }
    rlt_jw_end_array(w);
}

static void plans_json(rlt_jw *w, const rlt_deploy_found *f)
{
    rlt_jw_array(w, "plans");
    for (int i = 0; i < RLT_PLANS; i++) {
        const rlt_deploy_plan *p = &f->plans[i];
        if (!p->there)
            continue;
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "name", rlt_deploy_plan_name(i));
        rlt_jw_i64(w, "time_ps", p->tag.time_ps);
        if (p->judged_network)
            rlt_jw_i64(w, "network_time_ps", p->network.time_ps);
        else
            rlt_jw_null(w, "network_time_ps");
        rlt_jw_u64(w, "over", p->tag.over);
        rlt_jw_bool(w, "returned", i == f->best);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static void search_json(rlt_jw *w, const rlt_deploy_found *f, const rlt_deploy_settings *s, bool stopped)
{
    rlt_jw_string(w, "method", s->method);
    rlt_jw_u64(w, "budget", s->budget);
    rlt_jw_bool(w, "stopped", stopped);
    rlt_jw_u64(w, "judged", f->search->judged);
    rlt_jw_u64(w, "first_better", f->search->first_better);
    rlt_jw_u64(w, "judged_network", f->refined ? f->refined->judged : 0);
}

static void cluster_json(rlt_jw *w, const rlt_cluster *c)
{
    rlt_jw_string(w, "cluster", c->name);
    rlt_jw_array(w, "device_groups");
    for (uint32_t i = 0; i < c->n_groups; i++) {
        const rlt_device_group *g = &c->groups[i];
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "type", g->name);
        rlt_jw_u64(w, "count", g->n);
        rlt_jw_double(w, "factor", g->factor, 6);
        rlt_jw_u64(w, "memory_bytes", g->memory_bytes);
        rlt_jw_u64(w, "bandwidth_Bps", g->intra_Bps);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static void groups_json(rlt_jw *w, const rlt_deploy_found *f)
{
    const rlt_deployment *d = f->deployment;
    const uint16_t *point = f->plans[f->best].point;
    rlt_deploy_row row;
    rlt_jw_array(w, "groups");
    for (uint32_t i = 0; i < d->grouping->n; i++) {
        uint32_t duplicated = 0;
        for (uint32_t k = 0; k < d->graph->n_ops && f->best == RLT_PLAN_FACTORS; k++)
            duplicated += d->grouping->of_op[k] == i && f->broadcast[k];
        rlt_deploy_group_row(f, i, &row);
        rlt_jw_object(w, NULL);
        rlt_row_json(w, rlt_deploy_groups.list, rlt_deploy_groups.n, row.cells);
        rlt_jw_u64(w, "placement", d->actions[point[i]].placement);
        rlt_jw_bool(w, "baseline", point[i] == d->baseline[i]);
        rlt_jw_u64(w, "duplicated", duplicated);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

/* Writes the memory and the busy time of each device, by the reference's timing. */
static int devices_json(rlt_jw *w, const rlt_deploy_found *f, rlt_error *err)
{
    rlt_deployment *d = f->deployment;
    rlt_feedback by;
    rlt_verdict v;
    rlt_strategy s = *rlt_deployment_strategy(d, 0, f->plans[f->best].point);
    s.broadcast = f->best == RLT_PLAN_FACTORS ? f->broadcast : NULL;
    int rc = rlt_judge_tag(d->judges[0], &s, &v, &by, err);
    rlt_jw_array(w, "devices");
    for (uint32_t i = 0; i < d->cluster->n_devices && !rc; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "group", d->cluster->group_of[i]);
        rlt_jw_u64(w, "rank", d->cluster->rank_of[i]);
        rlt_jw_u64(w, "peak_bytes", by.peak_bytes[i]);
        rlt_jw_i64(w, "busy_ps", by.busy_ps[i]);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    return rc;
}

static int curves_json(rlt_jw *w, const rlt_deploy_found *f, rlt_error *err)
{
    int rc = 0;
    rlt_jw_array(w, "curves");
    for (int network = 0; network < (f->refined ? 2 : 1) && !rc; network++) {
        char *svg = NULL;
        if (!(rc = rlt_deploy_curve(f, network, &svg, err)))
            rlt_jw_string(w, NULL, svg);
        free(svg);
    }
    rlt_jw_end_array(w);
    return rc;
}

int rlt_deploy_page(const rlt_deploy_found *f, const rlt_parsed *args, const rlt_deploy_settings *s,
                    const rlt_inputs *in, bool stopped, rlt_error *err)
{
    const rlt_opgraph *g = f->deployment->graph;
    rlt_jw w;
    size_t length;
    rlt_document_begin(&w, "deploy", args, in);
    rlt_jw_string(&w, "kind", "deploy");
    rlt_jw_string(&w, "graph", g->name);
    rlt_jw_u64(&w, "operators", g->n_ops);
    rlt_jw_u64(&w, "parameter_bytes", g->parameter_bytes);
    rlt_jw_double(&w, "cut", f->cut, 6);
    cluster_json(&w, f->deployment->cluster);
    search_json(&w, f, s, stopped);
    plans_json(&w, f);
    groups_json(&w, f);
    int rc = command_json(&w, args, err);
    if (!rc)
        notes_json(&w, f->notes);
    if (!rc)
        rc = devices_json(&w, f, err);
    if (!rc)
        rc = curves_json(&w, f, err);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    if (!rc)
        rc = text ? rlt_page_write(s->page, text, length, err) : rlt_nomem(err);
    free(text);
    return rc;
}
