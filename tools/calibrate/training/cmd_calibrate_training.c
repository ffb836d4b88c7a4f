/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet calibrate-training`: compares predicted iterations with measured ones, and fits efficiency
 * surfaces to them. */
#include <limits.h>
#include <math.h>
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
#include "workload/setup/locate.h"

typedef struct train_settings {
    bool check, rows, sold;
    const char *leave_out, *write, *format, *output, *source, *names;
    uint64_t rounds;
} train_settings;

#define AT(field) .offset = offsetof(train_settings, field)
static const rlt_option use_options[] = {
    {"check", 0, RLT_PARAM_FLAG, NULL, "Do not fit: show the errors with the current constants.", AT(check)},
    {"leave-out", 0, RLT_PARAM_TEXT, "WHAT",
     "Also predict the rows of each group, accelerator or source by constants fitted without them.",
     AT(leave_out)},
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
    rlt_train_fit fit;
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

/* ---- rows left out ---- */

enum { BY_GROUP, BY_ACCELERATOR, BY_SOURCE };
typedef struct left {
    int by;
    const rlt_train_row *row;
} left;

/* Returns true if the row belongs to what is left out. */
static bool is_left(const void *ctx, const rlt_train_row *r)
{
    const left *l = ctx;
    if (l->by == BY_ACCELERATOR)
        return r->machine == l->row->machine;
    if (l->by == BY_SOURCE)
        return strcmp(r->source, l->row->source) == 0;
    return r->group == l->row->group;
}

static int leave_each_out(job *j, rlt_error *err)
{
    static const char *const words[] = {"group", "accelerator", "source"};
    left l = {.by = -1};
    int rc = 0;
    for (int k = 0; k < 3; k++)
        if (strcmp(j->s->leave_out, words[k]) == 0)
            l.by = k;
    if (l.by < 0)
        return rlt_fail(err, RLT_EUSAGE, "--leave-out", "expected group, accelerator or source, got '%s'",
                        j->s->leave_out);
    for (uint32_t i = 0; i < j->rows.n && !rc; i++) {
        l.row = &j->rows.rows[i];
        if (*l.row->reason || l.row->left_out_s > 0)
            continue;
        rlt_train_fit_without(j->predictor, &j->rows, &j->fit, is_left, &l);
        for (uint32_t k = i; k < j->rows.n && !rc; k++)
            if (!*j->rows.rows[k].reason && is_left(&l, &j->rows.rows[k]))
                rc = rlt_train_predict(j->predictor, &j->rows.rows[k], false, &j->rows.rows[k].left_out_s, err);
    }
    rlt_train_fit_apply(j->predictor, &j->fit, NULL);
    return rc;
}

/* ---- report ---- */

static const rlt_column group_columns[] = {
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"stack", "stack", NULL, RLT_COL_TEXT, 0, 0, "software whose efficiency was used"},
    {"family", "family", NULL, RLT_COL_TEXT, 0, 0, "models of the group"},
    {"rows", "rows", NULL, RLT_COL_COUNT, 5, 0, "measured rows of the group"},
    {"median", "median", "%", RLT_COL_PERCENT, 7, 1, "at least half of the rows are not above this error"},
    {"p90", "p90", "%", RLT_COL_PERCENT, 7, 1, "at least 90 % of the rows are not above this error"},
    {"worst", "worst", "%", RLT_COL_PERCENT, 8, 1, "largest error"},
    {"predicted_over_measured", "pred/meas", NULL, RLT_COL_REAL, 9, 3, "median of predicted / measured"},
    {"left_out_rows", "rows", "left out", RLT_COL_COUNT, 8, 0,
     "measured rows that were left out of the fit"},
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
     "error of the row if it is left out of the fit"},
    {"not_covered", "not covered", NULL, RLT_COL_TEXT, 0, 0, "why the row could not be predicted"},
};
enum { N_ROW = sizeof row_columns / sizeof *row_columns };

enum { DENSE, MOE, CLASSES, ALL_GROUPS = -1 };
static const char *const classes[] = {"dense", "experts"};

static rlt_errors errors_of(job *j, int group, int class, bool left_out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->rows.n; i++) {
        const rlt_train_row *r = &j->rows.rows[i];
        double s = left_out ? r->left_out_s : r->predicted_s;
        if (!*r->reason && s > 0 && r->dense == (class == DENSE) &&
            (group == ALL_GROUPS || r->group == (uint32_t)group))
            j->ratios[n++] = s / r->measured_s;
    }
    return n ? rlt_errors_of(j->ratios, n) : (rlt_errors){0};
}

/* Adds the line of a group, of which `r` is a row; NULL: of all rows. */
static void put_group(job *j, rlt_table *t, const rlt_train_row *r, int class)
{
    int group = r ? (int)r->group : ALL_GROUPS;
    rlt_errors e = errors_of(j, group, class, false), out = errors_of(j, group, class, true);
    if (!e.rows)
        return;
    rlt_value v[N_GROUP] = {
        rlt_text(r ? r->accelerator : "all"),
        rlt_text(r ? r->training.stack : NULL),
        rlt_text(r ? r->family : classes[class]),
        rlt_count(e.rows),
        rlt_real(e.median),
        rlt_real(e.p90),
        rlt_real(e.worst),
        rlt_real(e.ratio),
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
    begin_table(j, &t, "groups", group_columns, j->s->leave_out ? N_GROUP : N_SHORT);
    for (int class = 0; class < CLASSES; class ++) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < j->rows.n; i++) {
            const rlt_train_row *r = &j->rows.rows[i];
            if (*r->reason || r->group < next)
                continue;
            put_group(j, &t, r, class);
            next = r->group + 1;
        }
        put_group(j, &t, NULL, class);
    }
    return end_table(j, &t, err);
}

static void report_fit(const job *j)
{
    FILE *out = j->file.stream;
    for (uint32_t i = 0; i < j->fit.n; i++)
        fprintf(out, "# %-40s x %.3f\n", j->fit.names[i], exp(j->fit.at[i]));
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

/* Shows runs that differ in the dispatcher only, if there are any. */
static int report_pairs(job *j, rlt_error *err)
{
    rlt_table t;
    rlt_train_pairs pairs = rlt_train_pairs_of(&j->rows, NULL);
    if (!pairs.n)
        return 0;
    if (j->format == RLT_FORMAT_TABLE)
        fputc('\n', j->file.stream);
    begin_table(j, &t, "dispatchers", rlt_train_pair_table.list, rlt_train_pair_table.n);
    rlt_train_pairs_of(&j->rows, &t);
    int rc = end_table(j, &t, err);
    if (!rc && j->format == RLT_FORMAT_TABLE)
        fprintf(j->file.stream, "# %u of %u pairs that are more than 6 %% apart have the right sign\n",
                pairs.right, pairs.apart);
    return rc;
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
                "# error = |predicted / measured - 1|; left out: by constants fitted without the row's %s\n",
                j->s->leave_out ? j->s->leave_out : "group");
        report_fit(j);
        tell_reasons(j);
    }
    if (!rc && !csv)
        rc = report_pairs(j, err);
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

static int read_tables(job *j, rlt_error *err)
{
    char names[PATH_MAX];
    int rc = rlt_names_path(j->s->names ? j->s->names : "names", names, sizeof names, err);
    for (int i = 0; i < j->args->n_operands && !rc; i++) {
        const char *path = j->args->operands[i];
        rc = rlt_train_rows_read(&j->rows, path, names, !j->s->sold, err);
        if (!rc && strcmp(path, "-") != 0)
            rc = rlt_inputs_add_file(&j->inputs, "measurements", path, err);
    }
    return rc;
}

static int work(job *j, rlt_error *err)
{
    int rc = read_tables(j, err);
    if (rc || (rc = rlt_train_predictor_open(&j->rows, &j->predictor, err)))
        return rc;
    j->ratios = malloc(((size_t)j->rows.n + 1) * sizeof *j->ratios);
    if (!j->ratios)
        return rlt_nomem(err);
    j->format = rlt_format_of(j->s->format, j->s->output);
    if (j->s->write && (rc = rlt_train_predictor_relatives(j->predictor, err)))
        return rc;
    if ((!j->s->check &&
         (rc = rlt_train_fit_run(j->predictor, &j->rows, (uint32_t)j->s->rounds, &j->fit, err))) ||
        (rc = predict_all(j, err)) || (j->s->leave_out && (rc = leave_each_out(j, err))) ||
        (rc = report(j, err)))
        return rc;
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
    free(j.ratios);
    return rc;
}

static const rlt_columns group_table = {"Groups of trainings: `ringlet calibrate-training`, JSON `groups[]`",
                                        group_columns, N_GROUP};
static const rlt_columns row_table = {"Measured trainings: `ringlet calibrate-training`, JSON `rows[]`",
                                      row_columns, N_ROW};
static const rlt_columns *const tables[] = {&group_table, &row_table, &rlt_train_pair_table, NULL};

const rlt_command rlt_cmd_calibrate_training = {
    .name = "calibrate-training",
    .summary = "fit accelerators' efficiencies to measured trainings, or show the errors of predictions",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 16,
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
