/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of one `ringlet calibrate`: settings, measurements, machines, and the report being written. */
#ifndef RLT_TOOLS_CALIBRATE_JOB_H
#define RLT_TOOLS_CALIBRATE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

typedef struct rlt_calib_settings {
    rlt_settings sim;
    const char *format, *output, *plot;
    const char *fit, *hold_out, *system, *collective, *algorithm, *source, *leave_one_out, *by, *harness,
        *clusters;
    rlt_texts where;
    uint64_t ranks, nodes, evaluations, jobs;
    bool check, rows, halves, quiet;
} rlt_calib_settings;

typedef struct rlt_calib_job {
    const rlt_parsed *args;
    const rlt_calib_settings *s;
    rlt_measurements measured;
    rlt_trial trial;
    rlt_machine *machines; /* owned */
    uint32_t n_machines;
    rlt_inputs inputs;
    rlt_progress progress;
    bool partial, drawn;
    /* The report. */
    rlt_calib_report report;
    rlt_file file;
    rlt_jw json;
    bool json_open;
} rlt_calib_job;

/* Reads all measurement files, tells about skipped rows, and filters. */
int rlt_calib_read(rlt_calib_job *j, rlt_error *err) RLT_MUST_USE;
/* Opens the machine of --topology, or all that claim systems (of a family, unless it is NULL). */
int rlt_calib_open_one(rlt_calib_job *j, rlt_error *err) RLT_MUST_USE;
int rlt_calib_open_claiming(rlt_calib_job *j, const char *family, rlt_error *err) RLT_MUST_USE;
void rlt_calib_close(rlt_calib_job *j);
/* Places the measurements on the machines and groups them by --by. */
int rlt_calib_place(rlt_calib_job *j, bool any, bool quiet, rlt_error *err) RLT_MUST_USE;
/* Begin and end the report. */
int rlt_calib_begin(rlt_calib_job *j, const char *path, rlt_error *err) RLT_MUST_USE;
int rlt_calib_end(rlt_calib_job *j, const char *path, rlt_error *err) RLT_MUST_USE;
/* Writes an empty line between tables for people. */
void rlt_calib_gap(const rlt_calib_job *j);
/* Runs a fit whose constants were found, with progress. */
int rlt_calib_fit(rlt_calib_job *j, rlt_calibration *c, rlt_error *err) RLT_MUST_USE;
/* --leave-one-out. */
int rlt_calib_leave_each_out(rlt_calib_job *j, rlt_error *err) RLT_MUST_USE;

#endif
