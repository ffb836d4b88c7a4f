/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A finished run as JSON (member names are stable, see tools/output/NAMES.md) and its ranks as CSV. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/sim.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/output/links.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"

/* Write names and times of dimensions into an open object: "exposed_dims": ["dim 0", "dim 0+1"], then for
 * each rank "exposed_by_dims_ps" in the same order, and "dims" for each communication. */
static void exposed_names(const rlt_exposed *e, rlt_jw *w)
{
    rlt_jw_array(w, "exposed_dims");
    for (uint32_t m = 0; m < e->n; m++) {
        char name[64] = "";
        if (!e->used[m])
            continue;
        for (uint32_t d = 0; d < RLT_MAX_DIMS; d++)
            if (m >> d & 1)
                snprintf(name + strlen(name), sizeof name - strlen(name), "%s%u", name[0] ? "+" : "dim ", d);
        rlt_jw_string(w, NULL, m ? name : "other");
    }
    rlt_jw_end_array(w);
}

static void exposed_rank(const rlt_exposed *e, uint32_t rank, rlt_jw *w)
{
    rlt_jw_array(w, "exposed_by_dims_ps");
    for (uint32_t m = 0; m < e->n; m++)
        if (e->used[m])
            rlt_jw_i64(w, NULL, e->ps[(size_t)rank * e->n + m]);
    rlt_jw_end_array(w);
}

static void exposed_comm(const rlt_exposed *e, uint32_t comm, rlt_jw *w)
{
    rlt_jw_array(w, "dims");
    for (uint32_t d = 0; d < RLT_MAX_DIMS; d++)
        if (e->dims[comm] >> d & 1)
            rlt_jw_u64(w, NULL, d);
    rlt_jw_end_array(w);
}

static void totals(const rlt_run *r, rlt_jw *w)
{
    rlt_rank_result k = rlt_replay_rank(r->replay, r->last_rank);
    rlt_jw_i64(w, "time_ps", rlt_replay_time(r->replay));
    rlt_jw_array(w, "iteration_time_ps");
    for (uint32_t i = 0; i < rlt_replay_iterations(r->replay); i++)
        rlt_jw_i64(w, NULL, rlt_replay_iteration_ps(r->replay, i));
    rlt_jw_end_array(w);
    if (rlt_run_slowdown(r) > 0)
        rlt_jw_double(w, "slowdown", rlt_run_slowdown(r), 6);
    rlt_jw_u64(w, "rank_of_totals", r->last_rank);
    rlt_jw_i64(w, "compute_ps", k.compute_ps);
    rlt_jw_i64(w, "exposed_comm_ps", k.exposed_comm_ps);
    rlt_run_causes_totals(r, w);
    rlt_jw_i64(w, "host_ps", k.host_ps);
    rlt_jw_i64(w, "idle_ps", k.idle_ps);
    rlt_jw_u64(w, "events", rlt_sim_events(rlt_replay_sim(r->replay)));
    rlt_jw_u64(w, "messages", rlt_replay_net(r->replay) ? rlt_replay_net(r->replay)->messages : 0);
    rlt_jw_u64(w, "operations", r->program->n_ops);
    rlt_jw_bool(w, "partial", r->partial);
}

void rlt_run_row_json(const rlt_run *r, const rlt_run_column *c, uint32_t i, const rlt_exposed *e, rlt_jw *w)
{
    for (; c->shape.meaning; c++) {
        rlt_value v = c->value ? c->value(r, i) : rlt_absent();
        if (!c->value)
            (c->shape.kind == RLT_COL_TIME ? exposed_rank : exposed_comm)(e, i, w);
        else if (v.absent && c->shape.kind == RLT_COL_TEXT)
            rlt_jw_string(w, c->shape.name, "");
        else if (!v.absent)
            rlt_row_json(w, &c->shape, 1, &v);
    }
}

static void rows(const rlt_run *r, const char *name, const rlt_run_column *c, uint32_t n,
                 const rlt_exposed *e, rlt_jw *w)
{
    rlt_jw_array(w, name);
    for (uint32_t i = 0; i < n; i++) {
        rlt_jw_object(w, NULL);
        rlt_run_row_json(r, c, i, e, w);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

static int links(const rlt_run *r, const rlt_run_asked *s, bool series, rlt_jw *w, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    if (net)
        return rlt_links_json(w, r->setup.topology, net->usage, rlt_run_end(r),
                              !s->report.links && !s->report.expand_links, series, err);
    rlt_jw_array(w, "links");
    rlt_jw_end_array(w);
    return 0;
}

int rlt_run_document(const rlt_run *r, const rlt_run_asked *s, bool full, rlt_jw *w, rlt_error *err)
{
    rlt_exposed exposed;
    int rc;
    rlt_document_begin(w, "run", r->args, &r->setup.inputs);
    if ((rc = rlt_run_exposed(r, &exposed, err)))
        return rc;
    rlt_setup_json(&r->setup, w);
    rlt_jw_string(w, "timing", r->timing ? r->timing->name : "network");
    rlt_jw_string(w, "workload", r->program->reader);
    totals(r, w);
    exposed_names(&exposed, w);
    rows(r, "ranks", rlt_rank_columns, r->program->n_ranks, &exposed, w);
    if (s->all)
        rows(r, "collectives", rlt_comm_columns, r->program->n_comms, &exposed, w);
    else
        rc = rlt_run_collectives_json(r, &exposed, w, err);
    rlt_exposed_free(&exposed);
    if (rc)
        return rc;
    rlt_run_react_json(r, w);
    if ((rc = rlt_run_training_json(r, w, err)))
        return rc;
    rlt_mapping_json(r, w);
    rlt_failures_json(r, w);
    rlt_link_events_json(r, w);
    if ((rc = rlt_jobs_json(r, w, err)) || (rc = links(r, s, full && r->settings->series_ps, w, err)) ||
        (rc = rlt_run_certificate_json(r, w, err)) ||
        ((s->explain || !full) && (rc = rlt_run_explain_json(r, w, err))))
        return rc;
    rlt_jw_array(w, "notes");
    for (uint32_t i = 0; i < r->program->n_notes; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "count", r->program->notes[i].count);
        rlt_jw_string(w, "text", r->program->notes[i].text);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    return 0;
}

int rlt_run_json(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err)
{
    rlt_jw w;
    int rc = rlt_run_document(r, s, true, &w, err);
    if (!rc)
        return rlt_document_write(&w, path, err);
    rlt_document_drop(&w);
    return rc;
}

int rlt_run_csv(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_column columns[RLT_MAX_COLUMNS];
    rlt_value (*value[RLT_MAX_COLUMNS])(const rlt_run *, uint32_t);
    rlt_value v[RLT_MAX_COLUMNS];
    uint32_t n = 0;
    for (const rlt_run_column *c = rlt_rank_columns; c->shape.meaning; c++)
        if (c->value && c->shape.name) {
            columns[n] = c->shape;
            value[n++] = c->value;
        }
    rlt_table t;
    rlt_table_begin(&t, RLT_FORMAT_CSV, columns, n, out, NULL);
    for (uint32_t i = 0; i < r->program->n_ranks; i++) {
        for (uint32_t k = 0; k < n; k++)
            v[k] = value[k](r, i);
        rlt_table_row(&t, v);
    }
    return rlt_table_end(&t, err);
}
