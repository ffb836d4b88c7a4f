/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps that all modes of `ringlet calibrate` share: input, machines, report. */
#include "tools/calibrate/job.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/select.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

int rlt_calib_read(rlt_calib_job *j, rlt_error *err)
{
    rlt_measure_hints hints = {.system = j->s->system,
                               .collective = j->s->collective,
                               .ranks = (uint32_t)j->s->ranks,
                               .nodes = (uint32_t)j->s->nodes};
    char system[300], skipped[512];
    const char *item = system;
    rlt_texts only = {&item, 1, 1};
    int rc = 0;
    for (int i = 0; i < j->args->n_operands && !rc; i++) {
        rc = rlt_measurements_read(&j->measured, j->args->operands[i], &hints, err);
        if (!rc && strcmp(j->args->operands[i], "-") != 0)
            rc = rlt_inputs_add_file(&j->inputs, "measurements", j->args->operands[i], err);
    }
    if (!rc && j->measured.skipped)
        rlt_note("%s", rlt_measurements_skipped(&j->measured, skipped, sizeof skipped));
    if (!rc && j->s->where.n)
        rc = rlt_select_filter(&j->measured, &j->s->where, err);
    if (!rc && j->s->system) {
        snprintf(system, sizeof system, "system=%.280s", j->s->system);
        rc = rlt_select_filter(&j->measured, &only, err);
        if (rc == RLT_ESCHEMA && err)
            snprintf(err->where, sizeof err->where, "--system");
    }
    return rc;
}

int rlt_calib_open_one(rlt_calib_job *j, rlt_error *err)
{
    int rc;
    j->machines = calloc(1, sizeof *j->machines);
    if (!j->machines)
        return rlt_nomem(err);
    rc = rlt_machine_open(&j->machines[0], &j->s->sim, j->s->sim.topology, err);
    j->n_machines = rc == 0;
    return rc ? rc : rlt_machine_rebuild(&j->machines[0], err);
}

void rlt_calib_close(rlt_calib_job *j)
{
    rlt_trial_free(&j->trial);
    for (uint32_t i = 0; i < j->n_machines; i++)
        rlt_machine_free(&j->machines[i]);
    free(j->machines);
    j->machines = NULL;
    j->n_machines = 0;
}

int rlt_calib_open_claiming(rlt_calib_job *j, const char *family, rlt_error *err)
{
    int rc = rlt_select_machines(&j->s->sim, family, &j->machines, &j->n_machines, err);
    if (!rc && j->n_machines == 0)
        return rlt_fail(err, RLT_ESCHEMA, family ? "--leave-one-out" : NULL,
                        "no topology%s%s names measured systems ({\"_calibration\": {\"systems\": [...]}}%s)",
                        family ? " of the family " : "", family ? family : "",
                        family ? "" : "; --topology takes one without");
    return rc;
}

int rlt_calib_place(rlt_calib_job *j, bool any, bool quiet, rlt_error *err)
{
    j->trial.machines = j->machines;
    j->trial.n_machines = j->n_machines;
    j->trial.threads = rlt_pool_threads(j->s->jobs);
    int rc = rlt_select_rows(&j->trial, &j->measured, any, quiet, err);
    return rc ? rc : rlt_select_groups(&j->trial, &j->measured, j->s->by, err);
}

/* ---- report ---- */

int rlt_calib_begin(rlt_calib_job *j, const char *path, rlt_error *err)
{
    j->report.format = rlt_format_of(j->s->format, path);
    if (j->report.format == RLT_FORMAT_JSON) {
        for (uint32_t i = 0; i < j->n_machines; i++)
            rlt_inputs_add(&j->inputs, "topology", j->machines[i].path,
                           rlt_topology_hash(j->machines[i].setup.topology));
        rlt_document_begin(&j->json, "calibrate", j->args, &j->inputs);
        j->report.json = &j->json;
        j->json_open = true;
        return 0;
    }
    int rc = rlt_file_open(&j->file, path, err);
    j->report.out = j->file.stream;
    return rc;
}

int rlt_calib_end(rlt_calib_job *j, const char *path, rlt_error *err)
{
    if (j->report.format == RLT_FORMAT_JSON) {
        if (j->partial)
            rlt_jw_bool(&j->json, "partial", true);
        j->json_open = false;
        return rlt_document_write(&j->json, path, err);
    }
    if (j->report.format == RLT_FORMAT_TABLE)
        fprintf(
            j->file.stream,
            "# error = |simulated / measured - 1|; median, p90: 50 %%, 90 %% of the rows have at most this "
            "error%s\n",
            j->s->clusters ? "" : ";\n# sim/meas: the median of simulated / measured");
    rlt_mark_partial(j->file.stream);
    return rlt_file_close(&j->file, err);
}

void rlt_calib_gap(const rlt_calib_job *j)
{
    if (j->report.format == RLT_FORMAT_TABLE)
        fputc('\n', j->file.stream);
}

int rlt_calib_fit(rlt_calib_job *j, rlt_calibration *c, rlt_error *err)
{
    int rc;
    c->trial = &j->trial;
    c->evaluations = (uint32_t)j->s->evaluations;
    c->progress = &j->progress;
    rlt_progress_start(&j->progress, "fitting");
    rc = rlt_calibrate(c, err);
    rlt_progress_clear();
    return rc;
}
