/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet calibrate-training`: compares predicted iterations with measured ones, and fits accelerators and
 * stacks to them. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/training/report.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/models/accelerator.h"
#include "workload/setup/inputs.h"
#include "workload/setup/locate.h"

typedef struct train_settings {
    bool check, rows, sold, by_source, quiet;
    const char *leave_out, *write, *format, *output, *source, *names, *accelerator, *topology, *series;
    uint64_t rounds;
} train_settings;

#define AT(field) .offset = offsetof(train_settings, field)
static const rlt_option use_options[] = {
    {"check", 0, RLT_PARAM_FLAG, NULL, "Do not fit: show the errors with the current constants.", AT(check)},
    {"leave-out", 0, RLT_PARAM_TEXT, "WHAT",
     "Also predict the rows of each group (accelerator x stack x family of models), accelerator, source, "
     "generation or row by constants fitted without them; several with commas between them.",
     AT(leave_out)},
    {"accelerator", 'a', RLT_PARAM_TEXT, "NAME|FILE",
     "All rows were measured on this accelerator; only its efficiencies are fitted (default: the "
     "accelerator of each row, and all constants).",
     AT(accelerator)},
    {"topology", 't', RLT_PARAM_TEXT, "SPEC",
     "Network of rows whose system is not known and has no column topology.", AT(topology)},
    {"networks-as-sold", 0, RLT_PARAM_FLAG, NULL,
     "Take the networks of data sheets, where a site's network was measured, too.", AT(sold)},
    {"names", 0, RLT_PARAM_TEXT, "FILE",
     "Systems and models by the names in the tables (default: the shipped list).", AT(names)},
    {"write", 0, RLT_PARAM_TEXT, "DIR",
     "Write the files of accelerators and stacks with the fitted constants to this directory; their other "
     "text is unchanged.",
     AT(write), .unrecorded = true},
    {"source", 0, RLT_PARAM_TEXT, "TEXT",
     "Source of the constants, written to the files (default: the name of the first table).", AT(source)},
    {"rounds", 0, RLT_PARAM_COUNT, "N", "Rounds of the fit.", AT(rounds), .preset = "6", .min = 1,
     .max = 100},
    {0}};
static const rlt_option report_options[] = {
    {"rows", 0, RLT_PARAM_FLAG, NULL, "Show each run (in CSV: in place of the groups).", AT(rows),
     .unrecorded = true},
    {"by-source", 0, RLT_PARAM_FLAG, NULL, "Make one group of the runs of each source.", AT(by_source),
     .unrecorded = true},
    {"series", 0, RLT_PARAM_TEXT, "NAME,...",
     "Make one line of the groups of layouts whose names begin with each of these.", AT(series),
     .unrecorded = true},
    RLT_FORMAT_OPTION(AT(format)),
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Write the report to this file (default: standard output).",
     AT(output), .unrecorded = true, .writes = true},
    RLT_QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT
static const rlt_option_group options[] = {
    {"What to do", use_options, 0}, {"Report", report_options, 0}, {0}};

typedef struct job {
    const rlt_parsed *args;
    const train_settings *s;
    rlt_train_rows rows;
    rlt_train_predictor *predictor;
    rlt_train_fit fit;
    rlt_inputs inputs;
    rlt_progress progress;
    rlt_format format;
    rlt_file file;
    rlt_jw json;
    bool json_open;
    rlt_train_report report;
} job;

/* ---- predictions ---- */

static int predict_all(job *j, rlt_error *err)
{
    int rc = 0;
    uint32_t done = 0;
    rlt_progress_start(&j->progress, "simulating");
    for (uint32_t i = 0; i < j->rows.n && !rc; i++)
        if (!*j->rows.rows[i].reason) {
            rc = rlt_train_predict(j->predictor, &j->rows.rows[i], false, &j->rows.rows[i].predicted_s, err);
            rlt_progress_update(&j->progress, ++done, j->rows.covered);
        }
    rlt_progress_clear();
    return rc;
}

/* ---- rows left out ---- */

/* Reads --leave-out: names with commas between them. */
static int read_leave_out(job *j, rlt_error *err)
{
    const char *list = j->s->leave_out, *item;
    size_t length;
    while (list && (item = rlt_next_item(&list, ',', &length))) {
        rlt_leave by = 0;
        while (rlt_leave_name(by) &&
               (strlen(rlt_leave_name(by)) != length || strncmp(rlt_leave_name(by), item, length) != 0))
            by++;
        if (by == RLT_LEAVES || j->report.n_by == RLT_LEAVES)
            return rlt_fail(err, RLT_EUSAGE, "--leave-out",
                            "expected group, accelerator, source, generation, row, got '%.40s'", item);
        j->report.by[j->report.n_by++] = by;
    }
    return 0;
}

/* Leaves out what is asked for, and what the evidence in written files rests on. */
static int leave_out(job *j, rlt_error *err)
{
    static const rlt_leave written[] = {RLT_LEAVE_GROUP, RLT_LEAVE_ACCELERATOR, RLT_LEAVE_GENERATION};
    bool wanted[RLT_LEAVES] = {false};
    int rc = 0;
    for (uint32_t k = 0; k < j->report.n_by; k++)
        wanted[j->report.by[k]] = true;
    for (size_t k = 0; j->s->write && !j->s->accelerator && k < sizeof written / sizeof *written; k++)
        wanted[written[k]] = true;
    wanted[RLT_LEAVE_ROW] |= j->s->write && j->s->accelerator;
    for (rlt_leave by = 0; by < RLT_LEAVES && !rc; by++)
        if (wanted[by])
            rc = rlt_train_leave_out(j->predictor, &j->rows, &j->fit, by, err);
    return rc;
}

/* ---- report ---- */

static void report_fit(const job *j)
{
    FILE *out = j->file.stream;
    if (j->fit.n)
        rlt_heading(out, "\nfitted factors");
    for (uint32_t i = 0; i < j->fit.n; i++)
        fprintf(out, "%-40s x %.3f\n", j->fit.names[i], exp(j->fit.at[i]));
}

/* Shows runs that differ in the dispatcher only, if there are any. */
static int report_pairs(job *j, rlt_error *err)
{
    rlt_table t;
    rlt_train_pairs pairs = rlt_train_pairs_of(&j->rows, NULL);
    if (!pairs.n)
        return 0;
    rlt__report_begin(&j->report, &t, &rlt_train_pair_table, "dispatchers", "dispatchers");
    rlt_train_pairs_of(&j->rows, &t);
    int rc = rlt__report_end(&j->report, &t, err);
    if (!rc && j->format == RLT_FORMAT_TABLE)
        fprintf(j->file.stream, "%u of %u pairs that are more than 6 %% apart have the right sign\n",
                pairs.right, pairs.apart);
    return rc;
}

static int report_tables(job *j, rlt_error *err)
{
    const rlt_train_report *r = &j->report;
    int rc;
    if (j->format == RLT_FORMAT_CSV)
        return j->s->rows ? rlt__report_rows(r, err) : rlt__report_groups(r, err);
    if ((rc = rlt__report_summary(r, err)) || (rc = rlt__report_layouts(r, err)) ||
        (rc = rlt__report_groups(r, err)) || (rc = report_pairs(j, err)) ||
        (rc = rlt__report_worst(r, err)) || (rc = rlt__report_refused(r, err)))
        return rc;
    if (j->format == RLT_FORMAT_TABLE)
        report_fit(j);
    return j->s->rows || j->format == RLT_FORMAT_JSON ? rlt__report_rows(r, err) : 0;
}

static int report(job *j, rlt_error *err)
{
    int rc = 0;
    if (j->format == RLT_FORMAT_JSON) {
        rlt_document_begin(&j->json, "calibrate-training", j->args, &j->inputs);
        j->json_open = true;
        rlt_jw_u64(&j->json, "runs", j->rows.n);
        rlt_jw_u64(&j->json, "covered", j->rows.covered);
    } else if ((rc = rlt_file_open(&j->file, j->s->output, err)))
        return rc;
    j->report.rows = &j->rows;
    j->report.paths = j->args->operands;
    j->report.each = j->s->rows;
    j->report.by_source = j->s->by_source;
    j->report.series = j->s->series;
    j->report.format = j->format;
    j->report.out = j->file.stream;
    j->report.json = &j->json;
    rc = report_tables(j, err);
    if (j->json_open) {
        j->json_open = rc != 0;
        return rc ? rc : rlt_document_write(&j->json, j->s->output, err);
    }
    return rc ? rc : rlt_file_close(&j->file, err);
}

/* ---- the command ---- */

/* Writes the accelerators' files. Their source is --source, or the table's file name. */
static int write_files(job *j, rlt_error *err)
{
    const char *path = j->args->operands[0], *slash = strrchr(path, '/');
    char source[256];
    snprintf(source, sizeof source, "ringlet calibrate-training: fitted to %.200s", slash ? slash + 1 : path);
    return rlt_train_write(j->predictor, &j->rows, j->s->accelerator, j->s->write,
                           j->s->source ? j->s->source : source, err);
}

static int read_tables(job *j, rlt_error *err)
{
    char names[PATH_MAX];
    int rc = rlt_names_path(j->s->names ? j->s->names : "names", names, sizeof names, err);
    const rlt_train_reading how = {names, !j->s->sold, j->s->accelerator, j->s->topology};
    for (int i = 0; i < j->args->n_operands && !rc; i++) {
        const char *path = j->args->operands[i];
        rc = rlt_train_rows_read(&j->rows, path, &how, err);
        if (!rc && strcmp(path, "-") != 0)
            rc = rlt_inputs_add_file(&j->inputs, "measurements", path, err);
    }
    return rc;
}

static int fit(job *j, rlt_error *err)
{
    bool own = j->s->accelerator;
    int rc = j->s->write && !own ? rlt_train_predictor_relatives(j->predictor, err) : 0;
    if (!rc && !j->s->check)
        rc = rlt_train_fit_run(j->predictor, &j->rows, (uint32_t)j->s->rounds, own, &j->fit, err);
    return rc;
}

static int work(job *j, rlt_error *err)
{
    int rc = read_leave_out(j, err);
    if (rc || (rc = read_tables(j, err)) || (rc = rlt__series_known(&j->rows, j->s->series, err)) ||
        (rc = rlt_train_predictor_open(&j->rows, &j->predictor, err)))
        return rc;
    j->report.first = malloc(((size_t)j->rows.n + 1) * sizeof *j->report.first);
    j->report.second = malloc(((size_t)j->rows.n + 1) * sizeof *j->report.second);
    if (!j->report.first || !j->report.second)
        return rlt_nomem(err);
    j->format = rlt_format_of(j->s->format, j->s->output);
    if ((rc = fit(j, err)) || (rc = predict_all(j, err)) || (rc = leave_out(j, err)) || (rc = report(j, err)))
        return rc;
    if (j->s->write && j->rows.covered == 0)
        return rlt_fail(err, RLT_ESCHEMA, "--write", "nothing was fitted: no row could be predicted");
    return j->s->write ? write_files(j, err) : 0;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    job j = {.args = args, .s = settings};
    int rc = 0;
    if (j.s->check && j.s->write)
        return rlt_fail(err, RLT_EUSAGE, "--write", "not together with --check, which fits nothing");
    if (j.s->check && j.s->leave_out)
        return rlt_fail(err, RLT_EUSAGE, "--leave-out", "not together with --check, which fits nothing");
    rc = work(&j, err);
    if (j.json_open)
        rlt_document_drop(&j.json);
    if (j.file.stream)
        rlt_file_discard(&j.file);
    rlt_train_fit_free(&j.fit);
    rlt_train_predictor_free(j.predictor);
    rlt_train_rows_free(&j.rows);
    free(j.report.first);
    free(j.report.second);
    return rc;
}

static const rlt_columns *const tables[] = {&rlt__train_summary,   &rlt__train_layouts, &rlt__train_rankings,
                                            &rlt__train_groups,    &rlt__train_worst,   &rlt__train_refused,
                                            &rlt_train_pair_table, &rlt__train_rows,    NULL};

const rlt_command rlt_cmd_calibrate_training = {
    .name = "calibrate-training",
    .summary = "fit accelerators' efficiencies to measured trainings, or show the errors of predictions",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 16,
    .description =
        "Reads measured training runs: CSV with the columns model, gpu_system, n_gpus, tp, pp, dp, cp, "
        "vp, ep, sharding, global_batch, micro_batch, seq_len, precision, recompute, iteration_time_s and"
        " more. A model or system that the list of names does not know is a model as --model of 'ringlet "
        "run' takes it (a preset, a config.json), and an accelerator by name or file with a column "
        "topology, or --topology. Predicts each iteration like 'ringlet run'; collectives are timed "
        "alone, with one rank for each pipeline stage. Runs that cannot be predicted are refused with a "
        "reason and counted.\n\nConstants of all accelerators and stacks are fitted jointly, as factors "
        "with priors: few runs move them little. --leave-out shows errors of runs that the fit did not "
        "see, how many of them lie within their 80 % interval, and how well layouts are ranked. --write "
        "also writes these intervals. With --accelerator only the efficiencies of that accelerator are "
        "fitted: for a machine of your own and few runs.",
    .example = "ringlet calibrate-training --check ../shared/data/throughput/measured_training.csv",
    .options = options,
    .settings_size = sizeof(train_settings),
    .run = run,
    .tables = tables,
};
