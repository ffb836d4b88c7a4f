/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet calibrate: fits constants of a machine to measurements, and shows the errors of simulations. */
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
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/interrupt.h"
#include "tools/base/message.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/clusters.h"
#include "tools/calibrate/job.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/select.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

#define AT(field) .offset = offsetof(rlt_calib_settings, field)
static const rlt_option fit_options[] = {
    {"topology", 't', RLT_PARAM_TEXT, "T",
     "The machine: a topology file in JSON, or a name that 'ringlet list topologies' shows. Required for a "
     "fit. --check without it takes every topology that names measured systems in its '_calibration'.",
     AT(sim.topology)},
    {"fit", 0, RLT_PARAM_TEXT, "NAME[=START],...",
     "Constants to fit, by their names in the topology file: launch, protocols.LL.message, dims.0.bandwidth "
     "(the endpoint is searched first). A constant that is missing or zero needs START. Default: all "
     "durations, rates and fractions of the endpoint except zeros, its clock and tuner_... values.",
     AT(fit)},
    {"hold-out", 0, RLT_PARAM_TEXT, "SIZES",
     "Sizes that are excluded from the fit; their errors are shown separately: every-other (every second "
     "measured size), none, or sizes such as 1MiB,64MiB or 1KiB:1GiB:x4.",
     AT(hold_out), .preset = "every-other"},
    {"max-evaluations", 0, RLT_PARAM_COUNT, "N", "Most simulations of the whole table.", AT(evaluations),
     .preset = "2000", .min = 1, .max = 1000000},
    {"source", 0, RLT_PARAM_TEXT, "TEXT",
     "Source of the constants, written to the topology file (default: the names of the measurement files).",
     AT(source)},
    {"output", 'o', RLT_PARAM_TEXT, "FILE",
     "Write the topology with the fitted constants to this file; the rest of its text is unchanged. With "
     "--check or --leave-one-out: write the report.",
     AT(output), .unrecorded = true, .writes = true},
    {0}};
static const rlt_option row_options[] = {
    {"system", 0, RLT_PARAM_TEXT, "NAME",
     "Use only measurements of this system. Also the system of files that name none.", AT(system)},
    {"where", 'w', RLT_PARAM_LIST, "NAME=VALUE",
     "Use only matching measurements: collective, ranks, nodes, dtype, inplace (out or in), system. May be "
     "repeated.",
     AT(where)},
    {"collective", 'c', RLT_PARAM_TEXT, "NAME", "Collective of an nccl-tests file that does not name it.",
     AT(collective), .word_at = rlt_collective_word},
    {"ranks", 'r', RLT_PARAM_COUNT, "N", "Number of ranks of an nccl-tests file that does not give it.",
     AT(ranks), .min = 1, .max = RLT_MAX_MEMBERS},
    {"nodes", 0, RLT_PARAM_COUNT, "N", "Number of nodes of an nccl-tests file that does not give it.",
     AT(nodes), .min = 1, .max = RLT_MAX_MEMBERS},
    {0}};
static const rlt_option check_options[] = {
    {"clusters", 0, RLT_PARAM_TEXT, "FILE",
     "Clusters in place of topologies: a JSON file with the topology sentence, the settings and the class of "
     "network of each measured system, and the constants to fit. With --check, --leave-one-out all (--by "
     "system, site or family, the class of network) or --halves.",
     AT(clusters)},
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "Do not fit: show the errors with the current constants, by system, collective and size.", AT(check)},
    {"leave-one-out", 0, RLT_PARAM_TEXT, "FAMILY",
     "Test the constants of a family of machines: those whose '_calibration' names it; all: every machine. "
     "For each measured group, fit the shared constants to the other groups, and show the errors for the one "
     "left out, beside those of a fit to all groups.",
     AT(leave_one_out)},
    {"by", 0, RLT_PARAM_WORD, "GROUP",
     "Groups of --check and --leave-one-out: system, nodes (how many took part), site or family (both named "
     "in a topology's '_calibration').",
     AT(by), .preset = "system", .words = "system|nodes|site|family"},
    {"harness", 0, RLT_PARAM_WORD, "FROM",
     "With --leave-one-out: the constant of the measuring program ('harness' in '_calibration') of a machine "
     "left out is set by its smallest row (row), or is that of the other machines (shared).",
     AT(harness), .preset = "row", .words = "row|shared"},
    {"halves", 0, RLT_PARAM_FLAG, NULL,
     "Fit to every second size, predict the others, and show log-log interpolation of the fitted sizes "
     "beside it.",
     AT(halves)},
    {"rows", 0, RLT_PARAM_FLAG, NULL,
     "Show each measurement with its simulation (in CSV: in place of the summary).", AT(rows),
     .unrecorded = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Also plot measured and simulated times over size as SVG: a panel for each system and collective, at "
     "most 12.",
     AT(plot), .unrecorded = true, .writes = true},
    RLT_FORMAT_OPTION(AT(format)),
    {0}};
static const rlt_option how_options[] = {
    {"network", 'n', RLT_PARAM_WORD, "MODEL", "How transfers share the network.", AT(sim.network),
     .preset = "flow", .word_at = rlt_network_word},
    {"routing", 0, RLT_PARAM_WORD, "POLICY", "Choice among equal paths.", AT(sim.routing), .preset = "dmodk",
     .words = "dmodk|ecmp|spray"},
    {"algorithm", 'a', RLT_PARAM_TEXT, "[KIND=]NAME[,...]",
     "Algorithms: ring, or all_reduce=ring,all_to_all=direct (default: those that ringlet would choose).",
     AT(algorithm), .word_at = rlt_algorithm_word},
    {"set", 's', RLT_PARAM_LIST, "NAME=VALUE", "Override a parameter, as in 'ringlet coll'. May be repeated.",
     AT(sim.set), .named = true},
    {"jobs", 'j', RLT_PARAM_COUNT, "N", "Simulations at the same time (default: one per processor).",
     AT(jobs), .min = 1, .max = RLT_POOL_THREADS, .unrecorded = true},
    RLT_QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT

static const rlt_option_group options[] = {{"What to fit", fit_options, 0},
                                           {"Measurements", row_options, 0},
                                           {"Errors", check_options, 0},
                                           {"How to simulate", how_options, 0},
                                           {0}};

/* Checks whether all measurements belong to the machine: it claims no systems, or --system was given. Then
 * they must be of one system; otherwise --system is required. */
static int check_claims(const rlt_calib_job *j, bool *any, rlt_error *err)
{
    const rlt_measurements *t = &j->measured;
    *any = j->machines[0].n_systems == 0 || j->s->system != NULL;
    for (uint32_t i = 1; i < t->n && *any; i++)
        if (strcmp(t->rows[i].system, t->rows[0].system) != 0)
            return rlt_fail(
                err, RLT_EUSAGE, "--system",
                "the measurements are of several systems, '%.100s' and '%.100s': --system selects one",
                t->rows[0].system, t->rows[i].system);
    return 0;
}

/* Returns true if the table of rows (or of classes) is written. CSV is one table: rows or classes. */
static bool shows(const rlt_calib_job *j, bool rows)
{
    return j->report.format == RLT_FORMAT_CSV ? rows == j->s->rows : !rows || j->s->rows;
}

/* ---- check, fit, leave one out ---- */

/* Plots, unless an interrupt left the results partial. */
static int draw(rlt_calib_job *j, rlt_error *err)
{
    if (j->partial)
        rlt_results_are_partial();
    int rc = j->s->plot && !j->partial ? rlt_calib_plot(j->s->plot, &j->trial, err) : 0;
    j->drawn = j->s->plot && !j->partial && !rc;
    return rc;
}

static int show_check(rlt_calib_job *j, const rlt_errors_list *rows, rlt_error *err)
{
    int rc = rlt_calib_begin(j, j->s->output, err);
    if (!rc && shows(j, false))
        rc = rlt_report_errors(&j->report, rows, NULL, err);
    if (!rc && shows(j, true) && j->s->rows) {
        rlt_calib_gap(j);
        rc = rlt_report_rows(&j->report, &j->trial, err);
    }
    return rc ? rc : rlt_calib_end(j, j->s->output, err);
}

static int check(rlt_calib_job *j, rlt_error *err)
{
    rlt_errors_list rows = {0};
    bool any = false;
    int rc = j->s->sim.topology ? rlt_calib_open_one(j, err) : rlt_calib_open_claiming(j, NULL, err);
    if (rc || (j->s->sim.topology && (rc = check_claims(j, &any, err))) ||
        (rc = rlt_calib_place(j, any, false, err)))
        return rc;
    rlt_progress_start(&j->progress, "simulating");
    j->trial.progress = &j->progress;
    rc = rlt_trial_run(&j->trial, RLT_FITTED | RLT_HELD_OUT, err);
    rlt_progress_clear();
    j->partial = rc == RLT_ECANCELLED;
    if ((rc && !j->partial) || (rc = rlt_errors_table(&j->trial, false, false, &rows, err)))
        return rc;
    if (!(rc = draw(j, err)))
        rc = show_check(j, &rows, err);
    free(rows.rows);
    return rc;
}

/* Returns the source of the constants for the topology file: --source, or the names of the measurement files
 * with their sources. */
static const char *source_text(const rlt_calib_job *j, char *buffer, size_t size)
{
    size_t used = 0;
    if (j->s->source)
        return j->s->source;
    used = (size_t)snprintf(buffer, size, "ringlet calibrate, fitted to ");
    for (int i = 0; i < j->args->n_operands && used < size; i++) {
        const char *path = j->args->operands[i], *slash = strrchr(path, '/');
        used +=
            (size_t)snprintf(buffer + used, size - used, "%s%.200s", i ? ", " : "", slash ? slash + 1 : path);
    }
    for (uint32_t i = 0, n = 0; i < j->trial.n_rows && n < 4 && used < size; i++) {
        const char *source = j->trial.rows[i].m->source;
        if (*source && (i == 0 || strcmp(source, j->trial.rows[i - 1].m->source) != 0) &&
            !strstr(buffer, source)) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%.300s", n ? "; " : ": ", source);
            n++;
        }
    }
    return buffer;
}

/* Where much is left from 1 MiB on, finds what else to free, and says so. */
static int advise(rlt_calib_job *j, const rlt_calibration *c, rlt_advice *out, rlt_error *err)
{
    char names[700] = "";
    double left = rlt_trial_large_error(&j->trial);
    int rc;
    if (c->partial || left <= 0.1)
        return 0;
    rlt_progress_start(&j->progress, "looking for what else to free");
    rc = rlt_calibration_advise(c, out, err);
    rlt_progress_clear();
    if (rc == RLT_ECANCELLED) {
        *err = (rlt_error){0};
        j->partial = true;
        return 0;
    }
    for (uint32_t i = 0; i < c->n_constants; i++)
        if (!c->constants[i].frozen)
            rlt_list_name(names, sizeof names, c->constants[i].name);
    if (out->name[0])
        rlt_list_name(names, sizeof names, out->name);
    for (char *from = names, *to = names;; from++) {
        if (*from != ' ')
            *to++ = *from;
        if (!*from)
            break;
    }
    if (!rc && out->name[0])
        rlt_note("%.1f %% are left from 1 MiB on (median, fitted rows); with %s free, %.1f %%: --fit %s",
                 100 * out->now, out->name, 100 * out->reach, names);
    else if (!rc)
        rlt_note("%.1f %% are left from 1 MiB on (median, fitted rows), and no other constant lowers it by a "
                 "tenth: --algorithm may differ from what ran",
                 100 * out->now);
    return rc;
}

static void put_advice(rlt_jw *w, const rlt_advice *advice)
{
    if (advice->now <= 0)
        return;
    rlt_jw_object(w, "advice");
    rlt_jw_double(w, "median_left", advice->now, 4);
    if (advice->name[0]) {
        rlt_jw_string(w, "free", advice->name);
        rlt_jw_double(w, "median_reached", advice->reach, 4);
    }
    rlt_jw_end_object(w);
}

static int show_fit(rlt_calib_job *j, const rlt_calibration *c, const rlt_advice *advice, rlt_error *err)
{
    rlt_errors_list interpolated = {0};
    rlt_errors_beside beside = {.before = &c->before};
    int rc = rlt_calib_begin(j, "-", err);
    if (!rc && j->report.format != RLT_FORMAT_CSV)
        rc = rlt_report_constants(&j->report, c->constants, c->n_constants, err);
    if (!rc && j->report.format == RLT_FORMAT_TABLE)
        fprintf(j->file.stream,
                "\n# mean |log(simulated / measured)| of the rows fitted to: %.4f, was %.4f; %u of at most "
                "%u evaluations\n",
                c->misfit, c->misfit_before, c->tried, c->evaluations);
    if (!rc && j->report.format == RLT_FORMAT_JSON) {
        rlt_jw_double(&j->json, "mean_log_error", c->misfit, 6);
        rlt_jw_double(&j->json, "mean_log_error_before", c->misfit_before, 6);
        rlt_jw_u64(&j->json, "evaluations", c->tried);
        put_advice(&j->json, advice);
    }
    if (!rc && j->s->halves) {
        rlt_trial_interpolate(&j->trial);
        rc = rlt_errors_table(&j->trial, true, true, &interpolated, err);
        beside.interpolated = &interpolated;
    }
    if (!rc && shows(j, false) && !c->partial)
        rc = rlt_report_errors(&j->report, &c->after, &beside, err);
    free(interpolated.rows);
    if (!rc && shows(j, true) && j->s->rows) {
        rlt_calib_gap(j);
        rc = rlt_report_rows(&j->report, &j->trial, err);
    }
    return rc ? rc : rlt_calib_end(j, "-", err);
}

static int fit(rlt_calib_job *j, rlt_error *err)
{
    rlt_calibration c = {0};
    rlt_advice advice = {0};
    char source[2048];
    bool any, to_stdout = j->s->output && strcmp(j->s->output, "-") == 0;
    int rc = rlt_calib_open_one(j, err);
    if (rc || (rc = check_claims(j, &any, err)) || (rc = rlt_calib_place(j, any, false, err)) ||
        (rc = rlt_select_held_out(&j->trial, j->s->halves ? "every-other" : j->s->hold_out, err)) ||
        (rc = rlt_constants_find(j->machines, 1, j->s->fit, c.constants, &c.n_constants, err)))
        return rc;
    rc = rlt_calib_fit(j, &c, err);
    j->partial = c.partial;
    if (!rc)
        rc = advise(j, &c, &advice, err);
    if (!rc)
        rc = draw(j, err);
    if (!rc && !to_stdout)
        rc = show_fit(j, &c, &advice, err);
    if (!rc && j->s->output)
        rc = rlt_calibration_write(&c, &j->machines[0], source_text(j, source, sizeof source), j->s->output,
                                   err);
    rlt_calibration_free(&c);
    return rc;
}

static int check_use(const rlt_calib_settings *s, rlt_error *err)
{
    if (s->check && s->leave_one_out)
        return rlt_fail(err, RLT_EUSAGE, "--check", "not together with --leave-one-out");
    if (s->leave_one_out && s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "not together with --leave-one-out");
    if (!s->check && !s->leave_one_out && !s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology",
                        "is required for a fit: the machine whose constants are fitted");
    if (s->halves && (s->check || s->leave_one_out))
        return rlt_fail(err, RLT_EUSAGE, "--halves", "is for a fit: not together with %s",
                        s->check ? "--check" : "--leave-one-out");
    if (s->rows && s->leave_one_out)
        return rlt_fail(err, RLT_EUSAGE, "--rows", "not together with --leave-one-out");
    if (s->plot && s->leave_one_out)
        return rlt_fail(err, RLT_EUSAGE, "--plot", "not together with --leave-one-out");
    if (!s->check && !rlt_fit_available()) /* rlt_fit_run then reports how to get NLopt */
        return rlt_fit_run(NULL, err);
    return 0;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    rlt_calib_job j = {.args = args, .s = settings};
    int rc = j.s->clusters ? 0 : check_use(j.s, err);
    if (!rc && j.s->algorithm)
        rc = rlt_parse_algorithms(j.s->algorithm, j.trial.algorithms, err);
    if (!rc)
        rc = rlt_calib_read(&j, err);
    if (!rc)
        rc = j.s->clusters        ? rlt_calib_clusters(&j, err)
             : j.s->check         ? check(&j, err)
             : j.s->leave_one_out ? rlt_calib_leave_each_out(&j, err)
                                  : fit(&j, err);
    if (j.drawn)
        rlt_plot_keep(j.s->plot, rc);
    if (rc == RLT_ECANCELLED || (!rc && j.partial))
        rc = rlt_interrupted_result(err);
    if (j.json_open)
        rlt_document_drop(&j.json);
    if (j.file.stream)
        rlt_file_discard(&j.file);
    rlt_calib_close(&j);
    rlt_measurements_free(&j.measured);
    return rc;
}

static const rlt_columns *const tables[] = {&rlt_calib_tables[0], &rlt_calib_tables[1], &rlt_calib_tables[2],
                                            &rlt_cluster_table, NULL};

const rlt_command rlt_cmd_calibrate = {
    .name = "calibrate",
    .summary = "fit a machine's constants to measured collectives, or show the errors of simulations",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Reads measured collectives: CSV with the columns collective, n_ranks, size_bytes and time_us, or "
        "output of nccl-tests (text, or JSON by -J). Simulates each of them. Changes the constants of the "
        "topology's endpoint until the mean of |log(simulated / measured)| is least (NLopt's SBPLX). Errors "
        "at held-out sizes show how well the constants predict. -o writes the topology file with the "
        "constants, their source and the remaining errors; its other text is unchanged.\n\n"
        "A constant that no row determines keeps its value and is named; the others are shown with an "
        "interval and the rows that determine them. Rows with unusable cells are skipped and counted.\n\n"
        "--check fits nothing: it shows the errors of each measured system that a topology claims. "
        "--leave-one-out fits the constants shared by a family of machines to all systems but one, and shows "
        "the errors for that one.",
    .example = "ringlet calibrate -t dgx-a100-8 -c all_reduce nccl-tests.txt -o my-a100.json",
    .options = options,
    .settings_size = sizeof(rlt_calib_settings),
    .run = run,
    .tables = tables,
};
