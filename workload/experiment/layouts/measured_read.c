/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured runs, from CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/measured.h"
#include "workload/experiment/run/training.h"
#include "workload/training/training.h"

enum { MAX_BYTES = 1 << 20, SECONDS = 64, NOTE, ALIKE };
static const double longest_s = 1e6;

/* Other names of columns, as ringlet calibrate-training has them, and those that are no settings. */
static const struct {
    const char *column, *setting;
    int kind;
} known[] = {{"seconds", NULL, SECONDS},
             {"iteration_s", NULL, SECONDS},
             {"iteration_time_s", NULL, SECONDS},
             {"micro_batch", "microbatch", 0},
             {"global_batch", "batch", 0},
             {"sequence_parallel", "sp", 0},
             {"sharding", "zero", 0},
             {"n_gpus", "ranks", 0},
             {"n", "ranks", 0},
             {"model", NULL, ALIKE},
             {"accelerator", NULL, ALIKE},
             {"gpu_system", NULL, ALIKE},
             {"source", NULL, NOTE},
             {"note", NULL, NOTE}};

typedef struct reader {
    rlt_csv csv;
    const char *setting[RLT_CSV_CELLS]; /* by column; NULL: none */
    int kind[RLT_CSV_CELLS];
    int seconds;
    char alike[RLT_CSV_CELLS][64]; /* cells of the first row */
} reader;

static int find_columns(reader *r, rlt_error *err)
{
    r->seconds = -1;
    for (uint32_t i = 0; i < r->csv.n_columns; i++) {
        const char *name = r->csv.columns[i];
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known && !found; k++)
            if (strcmp(known[k].column, name) == 0) {
                found = true;
                r->setting[i] = known[k].setting;
                r->kind[i] = known[k].kind;
            }
        if (!found && !rlt_params_find(rlt_training_parameters(), name))
            return rlt_csv_fail(
                &r->csv, -1, RLT_ESCHEMA, err,
                "column '%.40s' is no setting of a training: expected seconds, tp, pp, dp, cp, ep, "
                "vp, microbatch, batch, recompute, zero, ... ('ringlet list training' shows all)",
                name);
        if (!found)
            r->setting[i] = name;
        if (r->kind[i] == SECONDS)
            r->seconds = (int)i;
    }
    return r->seconds >= 0 ? 0
                           : rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, err,
                                          "no column has the measured times: expected seconds");
}

/* Checks that a cell is as in the first row. */
static int check_alike(reader *r, uint32_t i, bool first, rlt_error *err)
{
    const char *cell = rlt_csv_cell(&r->csv, (int)i);
    if (first)
        snprintf(r->alike[i], sizeof r->alike[i], "%.63s", cell);
    if (strncmp(r->alike[i], cell, sizeof r->alike[i] - 1) == 0)
        return 0;
    return rlt_csv_fail(&r->csv, (int)i, RLT_EMALFORMED, err,
                        "%s: the runs must be of one, '%s', not also '%.60s'", r->csv.columns[i], r->alike[i],
                        cell);
}

static int read_row(reader *r, bool first, rlt_measured_run *run, rlt_error *err)
{
    const char *time = rlt_csv_cell(&r->csv, r->seconds);
    size_t used = 0;
    *run = (rlt_measured_run){.line = r->csv.line};
    if (rlt_parse_number(time, 0, &run->measured_s, NULL, NULL) || !(run->measured_s > 0) ||
        run->measured_s > longest_s)
        return rlt_csv_fail(&r->csv, r->seconds, RLT_EMALFORMED, err,
                            "%s: expected the seconds of an iteration, got '%.40s'",
                            r->csv.columns[r->seconds], time);
    for (uint32_t i = 0; i < r->csv.n_columns && i < RLT_CSV_CELLS; i++) {
        const char *cell = rlt_csv_cell(&r->csv, (int)i);
        int rc = r->kind[i] == ALIKE ? check_alike(r, i, first, err) : 0;
        if (rc)
            return rc;
        if (!r->setting[i] || !*cell)
            continue;
        used += (size_t)snprintf(run->settings + used, sizeof run->settings - used, "%s%s=%s",
                                 used ? "," : "", r->setting[i], cell);
        if (used >= sizeof run->settings || strchr(cell, ','))
            return rlt_csv_fail(&r->csv, (int)i, RLT_EMALFORMED, err, "%s: is too long, or has a comma",
                                r->csv.columns[i]);
    }
    return 0;
}

/* Applies the axes that the search has fixed. */
static int apply_fixed(const rlt_layouts *l, rlt_training *t, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < l->n_given && !rc; i++)
        if (!strpbrk(l->given[i], "+:") && !strstr(l->given[i], "=auto"))
            rc = rlt_training_apply(t, l->given[i], "--layout", err);
    return rc;
}

/* A run that was measured did fit: the estimate may be off. Far beyond the memory, it is another run. */
static int check_memory(const rlt_training *t, rlt_error *err)
{
    const double slack = 1.25;
    double needs = rlt_training_fullest(t, NULL), has = (double)t->accelerator->memory_bytes;
    if (needs <= slack * has)
        return 0;
    return rlt_fail(err, RLT_ERANGE, "memory",
                    "needs %.1f GB of %.1f: is it a run of another model, or of other settings?", needs / 1e9,
                    has / 1e9);
}

int rlt__measured_training(const rlt_layouts *l, const rlt_measured *m, const rlt_measured_run *run,
                           rlt_training *out, rlt_error *err)
{
    char where[260];
    *out = l->run.training;
    int rc = apply_fixed(l, out, err);
    if (rc)
        return rc;
    snprintf(where, sizeof where, "%s:%u", m->path, run->line);
    if (rlt_training_apply(out, *run->settings ? run->settings : NULL, where, err))
        return err ? (err->code = RLT_EMALFORMED) : RLT_EMALFORMED;
    rc = rlt_training_plan(out, l->run.setup.placement.n, err);
    if (!rc)
        rc = check_memory(out, err);
    if (rc)
        rlt_error_prefix(err, where);
    return rc;
}

static int read_rows(const rlt_layouts *l, reader *r, rlt_measured *m, rlt_error *err)
{
    uint32_t room = 0;
    int rc = find_columns(r, err);
    while (!rc && (rc = rlt_csv_next(&r->csv, err)) > 0) {
        rlt_training t;
        rc = rlt_grow(&m->runs, &room, sizeof *m->runs, (uint64_t)m->n + 1, RLT_MEASURED_RUNS,
                      "measured runs", err);
        if (!rc)
            rc = read_row(r, m->n == 0, &m->runs[m->n], err);
        if (!rc)
            rc = rlt__measured_training(l, m, &m->runs[m->n], &t, err);
        m->n += rc == 0;
    }
    return rc || m->n ? rc : rlt_fail(err, RLT_EMALFORMED, m->path, "has no runs");
}

int rlt_measured_read(const rlt_layouts *l, const char *path, rlt_measured *out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    *out = (rlt_measured){.factors = {1, 1, 1}};
    snprintf(out->path, sizeof out->path, "%.199s", path);
    reader *r = calloc(1, sizeof *r);
    int rc = r ? rlt_read_file(path, MAX_BYTES, &text, &length, err) : rlt_nomem(err);
    if (!rc && !(rc = rlt_csv_begin(&r->csv, path, text, length, err)))
        rc = read_rows(l, r, out, err);
    free(text);
    free(r);
    return rc;
}

void rlt_measured_free(rlt_measured *m)
{
    free(m->runs);
    *m = (rlt_measured){0};
}
