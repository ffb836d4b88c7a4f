/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet calibrate-training`: compares predicted iterations with measured ones, and fits efficiency
 * surfaces to them. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/models/accelerator.h"
#include "workload/setup/inputs.h"

typedef struct train_settings {
    bool check, leave_out, rows;
    const char *write, *format, *output, *source;
    uint64_t evaluations;
} train_settings;

#define AT(field) .offset = offsetof(train_settings, field)
static const rlt_option use_options[] = {
    {"check", 0, RLT_PARAM_FLAG, NULL, "Do not fit: show the errors with the current surfaces.", AT(check)},
    {"leave-model-out", 0, RLT_PARAM_FLAG, NULL,
     "Also show, for each model, the errors with surfaces fitted to the other models.", AT(leave_out)},
    {"write", 0, RLT_PARAM_TEXT, "DIR",
     "Write the accelerators' files with the fitted surfaces to this directory; their other text is "
     "unchanged.",
     AT(write), .unrecorded = true},
    {"source", 0, RLT_PARAM_TEXT, "TEXT",
     "Source of the surfaces, written to the files (default: the name of the table).", AT(source)},
    {"max-evaluations", 0, RLT_PARAM_COUNT, "N", "Most predictions of each group's rows in a fit.",
     AT(evaluations), .preset = "300", .min = 1, .max = 1000000},
    {0}};
static const rlt_option report_options[] = {
    {"rows", 0, RLT_PARAM_FLAG, NULL, "Show each run (in CSV: in place of the groups).", AT(rows),
     .unrecorded = true},
    RLT_FORMAT_OPTION(AT(format)),
    {"output", 'o', RLT_PARAM_TEXT, "FILE", "Write the report to this file (default: standard output).",
     AT(output), .unrecorded = true},
    {0}};
#undef AT
static const rlt_option_group options[] = {
    {"What to do", use_options, 0}, {"Report", report_options, 0}, {0}};

typedef struct job {
    const rlt_parsed *args;
    const train_settings *s;
    rlt_train_rows rows;
    rlt_train_predictor *predictor;
    rlt_inputs inputs;
    rlt_progress progress;
    rlt_format format;
    rlt_file file;
    rlt_jw json;
    bool json_open;
    double *ratios;
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
    rlt_progress_end(&j->progress);
    return rc;
}

static int fit_all(job *j, rlt_error *err)
{
    rlt_train_group *g;
    int rc = 0;
    for (uint32_t i = 0; !rc && (g = rlt_train_group_at(j->predictor, i)); i++) {
        rc = rlt_train_fit(j->predictor, &j->rows, i, NULL, (uint32_t)j->s->evaluations, err);
        g->fitted = g->machine.surfaces[0];
    }
    return rc;
}

/* Predicts the rows of a model with a surface that was fitted to the group's other models. */
static int leave_out(job *j, uint32_t group, const char *model, rlt_error *err)
{
    rlt_train_group *g = rlt_train_group_at(j->predictor, group);
    rlt_surface kept = g->machine.surfaces[0];
    int rc = rlt_train_fit(j->predictor, &j->rows, group, model, (uint32_t)j->s->evaluations, err);
    for (uint32_t i = 0; i < j->rows.n && !rc; i++) {
        rlt_train_row *r = &j->rows.rows[i];
        if (!*r->reason && r->dense && r->group == group && strcmp(r->shape.name, model) == 0)
            rc = rlt_train_predict(j->predictor, r, true, &r->left_out_s, err);
    }
    g->machine.surfaces[0] = kept;
    return rc;
}

static int leave_each_out(job *j, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < j->rows.n && !rc; i++) {
        const rlt_train_row *r = &j->rows.rows[i];
        if (!*r->reason && r->dense && r->left_out_s <= 0 &&
            rlt_train_group_at(j->predictor, r->group)->models > 1)
            rc = leave_out(j, r->group, r->shape.name, err);
    }
    return rc;
}

/* ---- report ---- */

static const rlt_column group_columns[] = {
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"precision", "precision", NULL, RLT_COL_TEXT, 0, 0, "number format of the computation"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"models", "models", NULL, RLT_COL_TEXT, 0, 0, "models of the group"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows of the group"},
    {"median", "median", "%", RLT_COL_PERCENT, 7, 1, "at least half of the rows are not above this error"},
    {"p90", "p90", "%", RLT_COL_PERCENT, 7, 1, "at least 90 % of the rows are not above this error"},
    {"worst", "worst", "%", RLT_COL_PERCENT, 8, 1, "largest error"},
    {"predicted_over_measured", "pred/meas", NULL, RLT_COL_REAL, 9, 3, "median of predicted / measured"},
    {"fitted", "fitted", NULL, RLT_COL_COUNT, 6, 0, "constants fitted to the group"},
    {"left_out_rows", "rows", "left out", RLT_COL_COUNT, 8, 0,
     "measured rows of models that were left out of the fit"},
    {"left_out_median", "median", "left out", RLT_COL_PERCENT, 8, 1,
     "at least half of these rows are not above this error"},
    {"left_out_p90", "p90", "left out", RLT_COL_PERCENT, 8, 1,
     "at least 90 % of these rows are not above this error"},
};
enum { N_GROUP = sizeof group_columns / sizeof *group_columns, N_SHORT = N_GROUP - 3 };

static const rlt_column row_columns[] = {
    {"line", "line", NULL, RLT_COL_COUNT, 5, 0, "line of the measured row"},
    {"model", "model", NULL, RLT_COL_TEXT, 0, 0, "name of the model"},
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"precision", "precision", NULL, RLT_COL_TEXT, 0, 0, "number format of the computation"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0, "accelerators of the training"},
    {"measured_s", "measured", "s", RLT_COL_REAL, 9, 4, "measured time of an iteration"},
    {"predicted_s", "predicted", "s", RLT_COL_REAL, 9, 4, "predicted time of an iteration"},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 1, "predicted / measured - 1"},
    {"left_out_error", "left out", "%", RLT_COL_PERCENT, 8, 1,
     "error of the row with its model left out of the fit"},
    {"not_covered", "not covered", NULL, RLT_COL_TEXT, 0, 0, "why the row could not be predicted"},
};
enum { N_ROW = sizeof row_columns / sizeof *row_columns };

enum { DENSE, MOE, OLD, CLASSES, ALL_GROUPS = -1 };
static const char *const classes[] = {"dense", "experts", "V100"};

static int class_of(const rlt_train_row *r)
{
    return !r->dense ? MOE : r->v100 ? OLD : DENSE;
}

static rlt_errors errors_of(job *j, int group, int class, bool left_out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->rows.n; i++) {
        const rlt_train_row *r = &j->rows.rows[i];
        double s = left_out ? r->left_out_s : r->predicted_s;
        if (!*r->reason && s > 0 && class_of(r) == class &&
            (group == ALL_GROUPS || r->group == (uint32_t)group))
            j->ratios[n++] = s / r->measured_s;
    }
    return n ? rlt_errors_of(j->ratios, n) : (rlt_errors){0};
}

static void put_group(job *j, rlt_table *t, const rlt_train_group *g, int group, int class)
{
    rlt_errors e = errors_of(j, group, class, false), out = errors_of(j, group, class, true);
    if (!e.rows)
        return;
    rlt_value v[N_GROUP] = {
        rlt_text(g ? g->accelerator : "all"),
        rlt_text(g ? g->precision : NULL),
        rlt_text(g ? g->stack : NULL),
        rlt_text(classes[class]),
        rlt_count(e.rows),
        rlt_real(e.median),
        rlt_real(e.p90),
        rlt_real(e.worst),
        rlt_real(e.ratio),
        g && !j->s->check && class != MOE ? rlt_count(g->n_fitted) : rlt_absent(),
        out.rows ? rlt_count(out.rows) : rlt_absent(),
        out.rows ? rlt_real(out.median) : rlt_absent(),
        out.rows ? rlt_real(out.p90) : rlt_absent(),
    };
    rlt_table_row(t, v);
}

static void begin_table(job *j, rlt_table *t, const char *name, const rlt_column *columns, uint32_t n)
{
    *t = (rlt_table){0};
    if (j->format == RLT_FORMAT_JSON)
        rlt_jw_array(&j->json, name);
    rlt_table_begin(t, j->format, columns, n, j->file.stream, &j->json);
}

static int end_table(job *j, rlt_table *t, rlt_error *err)
{
    int rc = rlt_table_end(t, err);
    if (j->format == RLT_FORMAT_JSON)
        rlt_jw_end_array(&j->json);
    return rc;
}

static int report_groups(job *j, rlt_error *err)
{
    rlt_table t;
    const rlt_train_group *g;
    begin_table(j, &t, "groups", group_columns, j->s->leave_out ? N_GROUP : N_SHORT);
    for (int class = 0; class < CLASSES; class ++) {
        for (uint32_t i = 0; (g = rlt_train_group_at(j->predictor, i)); i++)
            put_group(j, &t, g, (int)i, class);
        put_group(j, &t, NULL, ALL_GROUPS, class);
    }
    return end_table(j, &t, err);
}

static int report_rows(job *j, rlt_error *err)
{
    rlt_table t;
    begin_table(j, &t, "rows", row_columns, N_ROW);
    for (uint32_t i = 0; i < j->rows.n; i++) {
        const rlt_train_row *r = &j->rows.rows[i];
        bool known = r->predicted_s > 0;
        rlt_value v[N_ROW] = {
            rlt_count(r->line),
            rlt_text(r->model),
            rlt_text(*r->accelerator ? r->accelerator : NULL),
            rlt_text(*r->precision ? r->precision : NULL),
            rlt_text(*r->training.stack ? r->training.stack : NULL),
            rlt_count(r->ranks),
            rlt_real(r->measured_s),
            known ? rlt_real(r->predicted_s) : rlt_absent(),
            known ? rlt_real(r->predicted_s / r->measured_s - 1) : rlt_absent(),
            r->left_out_s > 0 ? rlt_real(r->left_out_s / r->measured_s - 1) : rlt_absent(),
            rlt_text(*r->reason ? r->reason : NULL),
        };
        rlt_table_row(&t, v);
    }
    return end_table(j, &t, err);
}

/* Prints the number of rows not covered, by reason. */
static void tell_reasons(const job *j)
{
    FILE *out = j->file.stream;
    fprintf(out, "# %u runs: %u covered, %u not%s\n", j->rows.n, j->rows.covered, j->rows.n - j->rows.covered,
            j->rows.covered < j->rows.n ? ":" : "");
    for (uint32_t i = 0; i < j->rows.n; i++) {
        const char *why = j->rows.rows[i].reason;
        bool told = !*why;
        for (uint32_t k = 0; k < i && !told; k++)
            told = strcmp(j->rows.rows[k].reason, why) == 0;
        if (told)
            continue;
        fprintf(out, "#   %s: line", why);
        for (uint32_t k = i; k < j->rows.n; k++)
            if (strcmp(j->rows.rows[k].reason, why) == 0)
                fprintf(out, " %u", j->rows.rows[k].line);
        fputc('\n', out);
    }
}

static int report(job *j, rlt_error *err)
{
    int rc = 0;
    bool csv = j->format == RLT_FORMAT_CSV;
    if (j->format == RLT_FORMAT_JSON) {
        rlt_document_begin(&j->json, "calibrate-training", j->args, &j->inputs);
        j->json_open = true;
        rlt_jw_u64(&j->json, "runs", j->rows.n);
        rlt_jw_u64(&j->json, "covered", j->rows.covered);
    } else if ((rc = rlt_file_open(&j->file, j->s->output, err)))
        return rc;
    if (!csv || !j->s->rows)
        rc = report_groups(j, err);
    if (!rc && j->format == RLT_FORMAT_TABLE) {
        fprintf(j->file.stream,
                "# error = |predicted / measured - 1|; left out: by surfaces fitted to the other models "
                "of the group\n");
        tell_reasons(j);
    }
    if (!rc && (j->s->rows || j->format == RLT_FORMAT_JSON))
        rc = report_rows(j, err);
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
    snprintf(source, sizeof source, "%s", slash ? slash + 1 : path);
    return rlt_train_write(j->predictor, j->s->write, j->s->source ? j->s->source : source, err);
}

static int work(job *j, rlt_error *err)
{
    const char *path = j->args->operands[0];
    int rc = rlt_train_rows_read(&j->rows, path, err);
    if (!rc && strcmp(path, "-") != 0)
        rc = rlt_inputs_add_file(&j->inputs, "measurements", path, err);
    if (rc || (rc = rlt_train_predictor_open(&j->rows, &j->predictor, err)))
        return rc;
    j->ratios = malloc(((size_t)j->rows.n + 1) * sizeof *j->ratios);
    if (!j->ratios)
        return rlt_nomem(err);
    j->format = rlt_format_of(j->s->format, j->s->output);
    if ((!j->s->check && (rc = fit_all(j, err))) || (rc = predict_all(j, err)) ||
        (j->s->leave_out && (rc = leave_each_out(j, err))) || (rc = report(j, err)))
        return rc;
    return j->s->write ? write_files(j, err) : 0;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    job j = {.args = args, .s = settings};
    int rc = 0;
    if (j.s->check && j.s->write)
        return rlt_fail(err, RLT_EUSAGE, "--write", "not together with --check, which fits nothing");
    if ((!j.s->check || j.s->leave_out) && !rlt_fit_available())
        return rlt_fit_run(NULL, err);
    rc = work(&j, err);
    if (j.json_open)
        rlt_document_drop(&j.json);
    if (j.file.stream)
        rlt_file_discard(&j.file);
    rlt_train_predictor_free(j.predictor);
    rlt_train_rows_free(&j.rows);
    free(j.ratios);
    return rc;
}

static const rlt_columns group_table = {"Groups of trainings: `ringlet calibrate-training`, JSON `groups[]`",
                                        group_columns, N_GROUP};
static const rlt_columns row_table = {"Measured trainings: `ringlet calibrate-training`, JSON `rows[]`",
                                      row_columns, N_ROW};
static const rlt_columns *const tables[] = {&group_table, &row_table, NULL};

const rlt_command rlt_cmd_calibrate_training = {
    .name = "calibrate-training",
    .summary = "fit accelerators' efficiencies to measured trainings, or show the errors of predictions",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Reads measured training runs: CSV with the columns model, gpu_system, n_gpus, tp, pp, dp, cp, vp, "
        "ep, sharding, global_batch, micro_batch, seq_len, precision, recompute, iteration_time_s and more. "
        "Predicts each iteration like 'ringlet run' with --model, --accelerator and --layout; collectives "
        "are timed alone, with one rank for each pipeline stage. Runs that cannot be predicted are listed "
        "with the reason.\n\nRows of one accelerator, precision and software stack share an efficiency "
        "surface. Its parameters are fitted to the rows of dense models (NLopt's SBPLX); mixture-of-experts "
        "models are only predicted. --check fits nothing. --leave-model-out also predicts each model by "
        "surfaces fitted without it.",
    .example = "ringlet calibrate-training --check ../shared/data/throughput/measured_training.csv",
    .options = options,
    .settings_size = sizeof(train_settings),
    .run = run,
    .tables = tables,
};
