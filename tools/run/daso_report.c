/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result of a training by DASO, beside one by Horovod. */
#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/daso.h"
#include "workload/setup/settings.h"

static const rlt_column columns[] = {
    {"skips", "B", NULL, RLT_COL_COUNT, 4, 0, "batches between two global synchronisations"},
    {"local", "L", NULL, RLT_COL_COUNT, 4, 0, "batches between two synchronisations within a node"},
    {"wait", "W", NULL, RLT_COL_COUNT, 4, 0, "batches after which a global synchronisation is merged"},
    {"epochs", "epochs", NULL, RLT_COL_COUNT, 7, 0, "epochs with this schedule"},
    {"epoch_ps", "epoch", "us", RLT_COL_TIME, 14, 1, "time of such an epoch"},
    {"sends", "syncs", "an epoch", RLT_COL_COUNT, 9, 0, "global synchronisations of an epoch"},
    {"blocking", "blocking", NULL, RLT_COL_COUNT, 9, 0,
     "global synchronisations of an epoch that block until they end"},
    {"broadcasts", "broadcasts", NULL, RLT_COL_COUNT, 11, 0, "broadcasts within a node, in an epoch"},
    {"global_bytes", "between nodes", "a group", RLT_COL_SIZE, 14, 0,
     "bytes between nodes, for each group, in an epoch"},
};

const rlt_columns rlt_daso_columns = {"DASO: `ringlet run --strategy daso`", columns,
                                      sizeof columns / sizeof *columns};

static void put_rows(const rlt_daso_case *r, rlt_table *t)
{
    for (uint32_t i = 0; i < r->result->n_kinds; i++) {
        const rlt_daso_kind *k = &r->result->kinds[i];
        rlt_value v[] = {
            rlt_count(k->phase.skips),   rlt_count(k->phase.local),     rlt_count(k->phase.wait),
            rlt_count(k->epochs),        rlt_ps(k->epoch_ps),           rlt_count(k->sums.sends),
            rlt_count(k->sums.blocking), rlt_count(k->sums.broadcasts), rlt_count(k->sums.global_bytes)};
        rlt_table_row(t, v);
    }
}

static int put_table(const rlt_daso_case *r, FILE *out, rlt_error *err)
{
    enum { N = sizeof columns / sizeof *columns };
    const rlt_daso_result *x = r->result;
    char a[32], b[32], line[512];
    rlt_table t;
    rlt_time batch = 0;
    for (uint32_t i = 0; i < r->model.n_layers; i++)
        batch += r->forward_ps[i] + r->backward_ps[i];
    rlt_setup_line(&r->setup, line, sizeof line);
    fprintf(out, "%s on %s, %u nodes of %u; %u epochs of %u batches\n", r->model.name, r->accelerator.name,
            r->daso.nodes, r->daso.gpus, r->daso.epochs, x->batches);
    fprintf(out, "a batch: %u %ss a rank, %s of compute%s\n%s\n\n", r->daso.batch, r->model.sample,
            rlt_format_duration(a, sizeof a, batch),
            r->batch_ps > 0 ? "" : " (predicted; batch_time=273ms sets it)", line);
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, N, out, NULL);
    put_rows(r, &t);
    int rc = rlt_table_end(&t, err);
    fprintf(out, "\nDASO     %s\nHorovod  %s (an epoch %s)\nsaved    %.1f %%\n",
            rlt_format_duration(a, sizeof a, x->daso_ps), rlt_format_duration(b, sizeof b, x->horovod_ps),
            rlt_format_duration(line, sizeof line, x->horovod_epoch_ps), 100 * x->saving);
    return rc;
}

static int put_csv(const rlt_daso_case *r, FILE *out, rlt_error *err)
{
    rlt_table t;
    rlt_table_begin(&t, RLT_FORMAT_CSV, columns, sizeof columns / sizeof *columns, out, NULL);
    put_rows(r, &t);
    return rlt_table_end(&t, err);
}

static int put_json(const rlt_daso_case *r, const char *path, rlt_error *err)
{
    const rlt_daso_result *x = r->result;
    rlt_jw w;
    rlt_table t;
    rlt_document_begin(&w, "run --strategy daso", r->args, &r->setup.inputs);
    rlt_setup_json(&r->setup, &w);
    rlt_jw_i64(&w, "time_ps", x->daso_ps);
    rlt_jw_i64(&w, "horovod_ps", x->horovod_ps);
    rlt_jw_i64(&w, "horovod_epoch_ps", x->horovod_epoch_ps);
    rlt_jw_double(&w, "saving", x->saving, 6);
    rlt_jw_u64(&w, "batches", x->batches);
    rlt_jw_u64(&w, "global_bytes", x->global_bytes);
    rlt_jw_u64(&w, "broadcast_bytes", x->broadcast_bytes);
    rlt_jw_u64(&w, "horovod_bytes", x->horovod_bytes);
    rlt_jw_array(&w, "phases");
    rlt_table_begin(&t, RLT_FORMAT_JSON, columns, sizeof columns / sizeof *columns, NULL, &w);
    put_rows(r, &t);
    int rc = rlt_table_end(&t, err);
    rlt_jw_end_array(&w);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int report(const rlt_daso_case *r, const rlt_run_asked *s, rlt_error *err)
{
    rlt_file f = {0};
    char title[200];
    int rc;
    snprintf(title, sizeof title, "%.60s on %.60s, %u nodes of %u", r->model.name, r->accelerator.name,
             r->daso.nodes, r->daso.gpus);
    if (s->plot && (rc = rlt_daso_plot(&r->daso, r->result, title, s->plot, err)))
        return rc;
    if (rlt_format_of(s->report.format, s->report.output) == RLT_FORMAT_JSON)
        return put_json(r, s->report.output, err);
    if ((rc = rlt_file_open(&f, s->report.output, err)))
        return rc;
    rc = rlt_format_of(s->report.format, s->report.output) == RLT_FORMAT_CSV ? put_csv(r, f.stream, err)
                                                                             : put_table(r, f.stream, err);
    if (rc)
        rlt_file_discard(&f);
    return rc ? rc : rlt_file_close(&f, err);
}

int rlt_run_daso(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err)
{
    /* Options that apply. A training consists of many runs, so options about a single run are refused. */
    static const char *const taken[] = {
        "model",     "accelerator",   "train",      "strategy", "any-memory", "topology",
        "placement", "network",       "routing",    "set",      "injection",  "link-scale",
        "algorithm", "compute-scale", "host-scale", "format",   "output",     "network-scale",
        "plot",      "quiet",         "dim-scale",  NULL};
    int rc = rlt_given_only(args, taken, "--strategy daso", err);
    if (rc)
        return rc;
    rlt_daso_case r = {.args = args, .settings = &s->run};
    if (!(rc = rlt_daso_case_load(&r, err)) && !(rc = rlt_daso_case_simulate(&r, err)))
        rc = report(&r, s, err);
    rlt_daso_case_close(&r);
    return rc;
}
