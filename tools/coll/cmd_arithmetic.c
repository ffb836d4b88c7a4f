/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet coll arithmetic`: the errors that the arithmetic of switches makes in sums of gradients. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/quantise.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/interrupt.h"
#include "tools/base/progress.h"
#include "tools/coll/coll.h"
#include "tools/coll/gradients.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/output/sheet.h"
#include "workload/experiment/coll/lists.h"
#include "workload/setup/inputs.h"

enum { MAX_ROWS_OF_WORKERS = 64 };

typedef struct arithmetic_settings {
    const char *workers, *gradients, *modes;
    uint64_t values, seed;
    uint32_t block;
    double size, scale, limit;
    bool single, any_order;
    rlt_report_settings report;
} arithmetic_settings;

#define AT(field) RLT_FIELD(arithmetic_settings, field)
static const rlt_option input_options[] = {
    {"workers", 'w', RLT_PARAM_TEXT, "N[,...]",
     "Numbers of workers, whose gradients are summed: a number, a list, or a range such as 2:64:x2. The "
     "gradient of worker w is the same in all rows.",
     AT(workers), .preset = "2,8,32"},
    {"values", 'n', RLT_PARAM_COUNT, "N", "Values in a gradient (default: 65536, or all values of the file).",
     AT(values), .min = 1, .max = 1 << 27},
    {"gradients", 'g', RLT_PARAM_TEXT, "NAME|FILE",
     "normal: normal distribution around 0. log-uniform: heavy tails, both signs, each order of magnitude "
     "from 10^-8 of --size to --size equally likely. A file: one number a line (# begins a comment), or "
     "32-bit floats, little-endian, if named *.f32. Value i of worker w is number w x values + i of the "
     "file; after its end the file repeats.",
     AT(gradients), .preset = "normal", .word_at = rlt_gradients_word},
    {"size", 0, RLT_PARAM_NUMBER, "X", "normal: standard deviation; log-uniform: the largest |x|.", AT(size),
     .preset = "0.01", .max = 1e30},
    {"seed", 0, RLT_PARAM_COUNT, "N", "Seed of random gradients and orders.", AT(seed), .preset = "1"},
    {0}};
static const rlt_option arithmetic_options[] = {
    {"modes", 'm', RLT_PARAM_TEXT, "NAME[,...]",
     "block: integers; a block of values shares an exponent (SwitchML). fixed: integers of scale x value "
     "(ATP). table16, table32: floats added by tables of logarithms (NetFC, Libra). native: 32-bit floats.",
     AT(modes), .preset = "block,fixed,table16,table32,native", .word_at = rlt_num_name},
    {"block", 0, RLT_PARAM_COUNT, "N", "Values that share an exponent.", AT(block), .preset = "256", .min = 1,
     .max = 1 << 27},
    {"scale", 0, RLT_PARAM_NUMBER, "X", "fixed: factor applied to each value.", AT(scale),
     .preset = "1000000", .min = 1e-30, .max = 1e30},
    {"limit", 0, RLT_PARAM_NUMBER, "X", "fixed: sums with a larger |x| are left to the server.", AT(limit),
     .preset = "213", .min = 1e-30, .max = 1e38},
    {"single", 0, RLT_PARAM_FLAG, NULL, "block, fixed: hosts multiply in 32-bit floats, which is faster.",
     AT(single)},
    {"any-order", 0, RLT_PARAM_FLAG, NULL,
     "table16, table32, native: workers arrive in random order, a new one for each value.", AT(any_order)},
    {0}};
#undef AT
static const rlt_option_group groups[] = {
    {"Gradients", input_options, 0},
    {"Arithmetic", arithmetic_options, 0},
    {"Output", rlt_format_options, offsetof(arithmetic_settings, report)},
    {NULL, rlt_quiet_options, offsetof(arithmetic_settings, report)},
    {0}};

static const rlt_column columns[] = {
    {"workers", "workers", NULL, RLT_COL_COUNT, 7, 0, "contributions to each sum"},
    {"mode", "mode", NULL, RLT_COL_TEXT, 7, 0,
     "number format of the switch: block, fixed, table16, table32, native"},
    {"worst", "worst", NULL, RLT_COL_DIGITS, 9, 3, "largest error of a sum, absolute"},
    {"bound", "bound", NULL, RLT_COL_DIGITS, 9, 3, "largest error that theory allows"},
    {"worst_relative", "worst", "relative", RLT_COL_DIGITS, 10, 3,
     "largest error / sum of the absolute contributions"},
    {"mean_relative", "mean", "relative", RLT_COL_DIGITS, 10, 3,
     "mean of error / sum of the absolute contributions"},
    {"rms_relative", "rms", "relative", RLT_COL_DIGITS, 10, 3,
     "root mean square of the errors, relative, over all values together"},
    {"overflows", "overflows", NULL, RLT_COL_COUNT, 9, 0, "sums beyond the format's range"},
    {"underflows", "underflows", NULL, RLT_COL_COUNT, 10, 0, "contributions that became zero"},
    {"to_server", "to srv", NULL, RLT_COL_COUNT, 6, 0, "sums left to a server"},
    {"reproducible", "reproducible", NULL, RLT_COL_TEXT, 12, 0,
     "yes: the same result in any order of arrival"},
    {"table_bytes", "tables", NULL, RLT_COL_SIZE, 8, 0, "switch memory of the format's tables"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct job {
    const rlt_parsed *args;
    const arithmetic_settings *s;
    rlt_watch watch;
    rlt_progress progress;
    rlt_num_mode modes[RLT_NUM_MODES];
    uint32_t n_modes;
    uint64_t *workers;
    uint32_t n_workers, most;
    rlt_gradients gradients;
    rlt_inputs inputs;
    uint32_t done; /* rows written so far */
    rlt_sheet sheet;
} job;

static int read_modes(job *j, rlt_error *err)
{
    const char *cursor = j->s->modes, *item;
    size_t length;
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char name[32];
        rlt_num_mode mode;
        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), item);
        int rc = rlt_num_parse(name, "--modes", &mode, err);
        for (uint32_t i = 0; !rc && i < j->n_modes; i++)
            if (j->modes[i] == mode)
                rc = rlt_fail(err, RLT_EUSAGE, "--modes", "'%s' is given twice", name);
        if (rc)
            return rc;
        j->modes[j->n_modes++] = mode;
    }
    return 0;
}

static int read_workers(job *j, rlt_error *err)
{
    int rc =
        rlt_parse_counts(j->s->workers, "--workers", MAX_ROWS_OF_WORKERS, &j->workers, &j->n_workers, err);
    for (uint32_t i = 0; !rc && i < j->n_workers; i++) {
        if (j->workers[i] < 1 || j->workers[i] > RLT_MAX_SUMMANDS)
            rc = rlt_fail(err, RLT_EUSAGE, "--workers", "expected 1 to %d, got %" PRIu64, RLT_MAX_SUMMANDS,
                          j->workers[i]);
        else if (j->workers[i] > j->most)
            j->most = (uint32_t)j->workers[i];
    }
    return rc;
}

/* Prints the source of the numbers, for people. */
static void put_heading(const job *j)
{
    const arithmetic_settings *s = j->s;
    FILE *out = j->sheet.file.stream;
    if (j->inputs.n)
        fprintf(out, "# gradients: %s", s->gradients);
    else
        fprintf(out, "# gradients: %s, size %g", s->gradients, s->size);
    fprintf(out, "; %" PRIu64 " values, seed %" PRIu64 "; block %" PRIu32 ", scale %g, limit %g%s%s\n",
            j->gradients.length, s->seed, s->block, s->scale, s->limit, s->single ? ", single" : "",
            s->any_order ? ", any order" : "");
}

static int begin_output(job *j, rlt_error *err)
{
    const arithmetic_settings *s = j->s;
    int rc = rlt_sheet_open(&j->sheet, &s->report, "coll arithmetic", j->args, &j->inputs, err);
    if (rc)
        return rc;
    if (j->sheet.format == RLT_FORMAT_JSON) {
        rlt_jw_string(&j->sheet.json, "gradients", s->gradients);
        rlt_jw_u64(&j->sheet.json, "values", j->gradients.length);
        rlt_jw_u64(&j->sheet.json, "seed", s->seed);
    } else if (j->sheet.format == RLT_FORMAT_TABLE) {
        put_heading(j);
    }
    rlt_sheet_heading(&j->sheet, columns, COLUMNS);
    return 0;
}

static int put_row(job *j, uint32_t workers, rlt_num_mode mode, rlt_error *err)
{
    const arithmetic_settings *s = j->s;
    rlt_num_config cfg = {.mode = mode,
                          .block = s->block,
                          .single = s->single,
                          .scale = s->scale,
                          .limit = s->limit,
                          .any_order = s->any_order,
                          .seed = s->seed,
                          .watch = &j->watch};
    rlt_num_report r;
    int rc = rlt_num_sum(&cfg, workers, j->gradients.length, j->gradients.x, NULL, &r, err);
    if (rc)
        return rc;
    rlt_value v[COLUMNS] = {rlt_count(workers),
                            rlt_text(rlt_num_name(mode)),
                            rlt_real(r.worst),
                            r.bound > 0 ? rlt_real(r.bound) : rlt_absent(),
                            rlt_real(r.worst_relative),
                            rlt_real(r.mean_relative),
                            rlt_real(r.rms_relative),
                            rlt_count(r.overflows),
                            rlt_count(r.underflows),
                            rlt_count(r.outside),
                            rlt_text(r.reproducible ? "yes" : "no"),
                            r.table_bytes ? rlt_count(r.table_bytes) : rlt_absent()};
    rlt_sheet_row(&j->sheet, v);
    j->done++;
    return 0;
}

static int put_rows(job *j, rlt_error *err)
{
    int rc = 0;
    rlt_progress_start(&j->progress, "adding up");
    for (uint32_t i = 0; i < j->n_workers && !rc; i++)
        for (uint32_t m = 0; m < j->n_modes && !rc; m++) {
            rc = put_row(j, (uint32_t)j->workers[i], j->modes[m], err);
            rlt_progress_update(&j->progress, j->done, (uint64_t)j->n_workers * j->n_modes);
        }
    rlt_progress_clear();
    return rc;
}

static int work(job *j, rlt_error *err)
{
    const arithmetic_settings *s = j->s;
    int rc = read_modes(j, err);
    if (rc || (rc = read_workers(j, err)))
        return rc;
    rlt_gradients_ask ask = {s->gradients, j->most, s->values, s->size, s->seed, &j->watch};
    if ((rc = rlt_gradients_make(&ask, &j->gradients, &j->inputs, err)) || (rc = begin_output(j, err)))
        return rc;
    return rlt_sheet_close(
        &j->sheet, put_rows(j, err),
        "# worst: largest |sum - true sum|, and its bound in theory; relative: relative to the sum of all "
        "|x|,\n# rms over all values; to srv: sums left to the server; reproducible: independent of the "
        "order of arrival\n",
        err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    job j = {.args = args, .s = settings, .watch = rlt_interrupt_watcher()};
    int rc = work(&j, err);
    rlt_gradients_free(&j.gradients);
    free(j.workers);
    return rc;
}

static const rlt_columns table = {"Arithmetic of switches: `ringlet coll arithmetic`", columns, COLUMNS};
static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_coll_arithmetic = {
    .name = "arithmetic",
    .summary = "errors, overflows and table sizes of a switch's arithmetic",
    .description =
        "Sums gradients of several workers with the arithmetic of switches, which have no floats, and "
        "compares the results with the true sums. There is one row for each number of workers and mode, all "
        "for the same numbers.\n\nworst is the largest |sum - true sum| of all values; bound is its limit in "
        "theory. The bound of block is n^2 2^e / (2 (2^31 - 1)) for n workers and |x| < 2^e; fixed: n / (2 "
        "scale); native: (n - 1) 2^-24 of the sum of all |x|. Tables have no known bound, and no bound holds "
        "after overflows. Relative errors are relative to the sum of all |x|; rms is relative to the true "
        "sums, over all values. Overflows are sums or values beyond the format; underflows are values that "
        "became 0.",
    .example = "ringlet coll arithmetic --workers 2,8,32 --gradients log-uniform --modes block,fixed",
    .options = groups,
    .settings_size = sizeof(arithmetic_settings),
    .run = run,
    .tables = tables,
};
