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

typedef struct calibrate_settings {
    rlt_settings sim;
    const char *format, *output, *plot;
    const char *fit, *hold_out, *system, *collective, *algorithm, *source, *leave_one_out;
    rlt_texts where;
    uint64_t ranks, nodes, evaluations, jobs;
    bool check, rows;
} calibrate_settings;

#define AT(field) .offset = offsetof(calibrate_settings, field)
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
     AT(output), .unrecorded = true},
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
    {"check", 0, RLT_PARAM_FLAG, NULL,
     "Do not fit: show the errors with the current constants, by system, collective and size.", AT(check)},
    {"leave-one-out", 0, RLT_PARAM_TEXT, "FAMILY",
     "Test the constants of a family of machines: those whose '_calibration' names it. For each measured "
     "system, fit the shared constants to the other systems, and show the errors for the one left out.",
     AT(leave_one_out)},
    {"rows", 0, RLT_PARAM_FLAG, NULL,
     "Show each measurement with its simulation (in CSV: in place of the summary).", AT(rows),
     .unrecorded = true},
    {"plot", 0, RLT_PARAM_TEXT, "FILE",
     "Also plot measured and simulated times over size as SVG: a panel for each system and collective, at "
     "most 12.",
     AT(plot), .unrecorded = true},
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
    {0}};
#undef AT

static const rlt_option_group options[] = {{"What to fit", fit_options, 0},
                                           {"Measurements", row_options, 0},
                                           {"Errors", check_options, 0},
                                           {"How to simulate", how_options, 0},
                                           {0}};

typedef struct job {
    const rlt_parsed *args;
    const calibrate_settings *s;
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
} job;

/* ---- input ---- */

static int read_measurements(job *j, rlt_error *err)
{
    rlt_measure_hints hints = {.system = j->s->system,
                               .collective = j->s->collective,
                               .ranks = (uint32_t)j->s->ranks,
                               .nodes = (uint32_t)j->s->nodes};
    char system[300], skipped[400];
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

static int open_one(job *j, rlt_error *err)
{
    int rc;
    j->machines = calloc(1, sizeof *j->machines);
    if (!j->machines)
        return rlt_nomem(err);
    rc = rlt_machine_open(&j->machines[0], &j->s->sim, j->s->sim.topology, err);
    j->n_machines = rc == 0;
    return rc ? rc : rlt_machine_rebuild(&j->machines[0], err);
}

static void close_machines(job *j)
{
    rlt_trial_free(&j->trial);
    for (uint32_t i = 0; i < j->n_machines; i++)
        rlt_machine_free(&j->machines[i]);
    free(j->machines);
    j->machines = NULL;
    j->n_machines = 0;
}

static int open_claiming(job *j, const char *family, rlt_error *err)
{
    int rc = rlt_select_machines(&j->s->sim, family, &j->machines, &j->n_machines, err);
    if (!rc && j->n_machines == 0)
        return rlt_fail(err, RLT_ESCHEMA, family ? "--leave-one-out" : NULL,
                        "no topology%s%s names measured systems ({\"_calibration\": {\"systems\": [...]}}%s)",
                        family ? " of the family " : "", family ? family : "",
                        family ? "" : "; --topology takes one without");
    return rc;
}

/* Checks whether all measurements belong to the machine: it claims no systems, or --system was given. Then
 * they must be of one system; otherwise --system is required. */
static int check_claims(const job *j, bool *any, rlt_error *err)
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

static int start_trial(job *j, bool any, bool quiet, rlt_error *err)
{
    j->trial.machines = j->machines;
    j->trial.n_machines = j->n_machines;
    j->trial.threads = rlt_pool_threads(j->s->jobs);
    return rlt_select_rows(&j->trial, &j->measured, any, quiet, err);
}

/* ---- report ---- */

static int begin_report(job *j, const char *path, rlt_error *err)
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

static int end_report(job *j, const char *path, rlt_error *err)
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
            "error;\n# sim/meas: the median of simulated / measured\n");
    return rlt_file_close(&j->file, err);
}

static void gap(const job *j)
{
    if (j->report.format == RLT_FORMAT_TABLE)
        fputc('\n', j->file.stream);
}

/* Returns true if the table of rows (or of classes) is written. CSV is one table: rows or classes. */
static bool shows(const job *j, bool rows)
{
    return j->report.format == RLT_FORMAT_CSV ? rows == j->s->rows : !rows || j->s->rows;
}

static int interrupted(rlt_error *err)
{
    *err = (rlt_error){0};
    return rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted: the results are partial");
}

/* ---- check, fit, leave one out ---- */

/* Plots, unless an interrupt left the results partial. */
static int draw(job *j, rlt_error *err)
{
    int rc = j->s->plot && !j->partial ? rlt_calib_plot(j->s->plot, &j->trial, err) : 0;
    j->drawn = j->s->plot && !j->partial && !rc;
    return rc;
}

static int show_check(job *j, const rlt_errors_row *rows, uint32_t n, rlt_error *err)
{
    int rc = begin_report(j, j->s->output, err);
    if (!rc && shows(j, false))
        rc = rlt_report_errors(&j->report, rows, n, NULL, 0, err);
    if (!rc && shows(j, true) && j->s->rows) {
        gap(j);
        rc = rlt_report_rows(&j->report, &j->trial, err);
    }
    return rc ? rc : end_report(j, j->s->output, err);
}

static int check(job *j, rlt_error *err)
{
    rlt_errors_row *rows = NULL;
    uint32_t n = 0;
    bool any = false;
    int rc = j->s->sim.topology ? open_one(j, err) : open_claiming(j, NULL, err);
    if (rc || (j->s->sim.topology && (rc = check_claims(j, &any, err))) ||
        (rc = start_trial(j, any, false, err)))
        return rc;
    rlt_progress_start(&j->progress, "simulating");
    j->trial.progress = &j->progress;
    rc = rlt_trial_run(&j->trial, RLT_FITTED | RLT_HELD_OUT, err);
    rlt_progress_end(&j->progress);
    j->partial = rc == RLT_ECANCELLED;
    if ((rc && !j->partial) || (rc = rlt_errors_table(&j->trial, false, &rows, &n, err)))
        return rc;
    if (!(rc = draw(j, err)))
        rc = show_check(j, rows, n, err);
    free(rows);
    return rc;
}

/* Returns the source of the constants for the topology file: --source, or the names of the measurement files
 * with their sources. */
static const char *source_text(const job *j, char *buffer, size_t size)
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

static int show_fit(job *j, const rlt_calibration *c, rlt_error *err)
{
    int rc = begin_report(j, "-", err);
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
    }
    if (!rc && shows(j, false) && !c->partial)
        rc = rlt_report_errors(&j->report, c->after, c->n_after, c->before, c->n_before, err);
    if (!rc && shows(j, true) && j->s->rows) {
        gap(j);
        rc = rlt_report_rows(&j->report, &j->trial, err);
    }
    return rc ? rc : end_report(j, "-", err);
}

static int run_fit(job *j, rlt_calibration *c, rlt_error *err)
{
    int rc;
    c->trial = &j->trial;
    c->evaluations = (uint32_t)j->s->evaluations;
    c->progress = &j->progress;
    rlt_progress_start(&j->progress, "fitting");
    rc = rlt_calibrate(c, err);
    rlt_progress_end(&j->progress);
    return rc;
}

static int fit(job *j, rlt_error *err)
{
    rlt_calibration c = {0};
    char source[2048];
    bool any, to_stdout = j->s->output && strcmp(j->s->output, "-") == 0;
    int rc = open_one(j, err);
    if (rc || (rc = check_claims(j, &any, err)) || (rc = start_trial(j, any, false, err)) ||
        (rc = rlt_select_held_out(&j->trial, j->s->hold_out, err)) ||
        (rc = rlt_constants_find(j->machines, 1, j->s->fit, c.constants, &c.n_constants, err)))
        return rc;
    rc = run_fit(j, &c, err);
    j->partial = c.partial;
    if (!rc)
        rc = draw(j, err);
    if (!rc && !to_stdout)
        rc = show_fit(j, &c, err);
    if (!rc && j->s->output)
        rc = rlt_calibration_write(&c, &j->machines[0], source_text(j, source, sizeof source), j->s->output,
                                   err);
    rlt_calibration_free(&c);
    return rc;
}

/* Lists the systems that have rows on these machines, each once. *out is malloc'ed; the names belong to the
 * table. */
static int list_systems(const rlt_trial *t, const char ***out, uint32_t *n, rlt_error *err)
{
    uint32_t capacity = 0;
    *out = NULL;
    *n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const char *system = t->rows[i].m->system;
        bool seen = false;
        for (uint32_t k = *n; k-- > 0 && !seen;)
            seen = strcmp((*out)[k], system) == 0;
        int rc = seen ? 0 : rlt_grow(out, &capacity, sizeof **out, (uint64_t)*n + 1, 4096, "systems", err);
        if (rc)
            return rc;
        if (!seen)
            (*out)[(*n)++] = system;
    }
    return 0;
}

/* Finds the constants of all machines but the one left out. Their start values are means over those machines,
 * so that nothing of the one left out leaks in. */
static int find_shared(job *j, const char *system, rlt_calibration *c, rlt_error *err)
{
    rlt_machine *others = calloc(j->n_machines, sizeof *others);
    uint32_t n = 0;
    int rc;
    if (!others)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < j->n_machines; i++) {
        bool fitted = false;
        for (uint32_t r = 0; r < j->trial.n_rows && !fitted; r++)
            fitted = j->trial.rows[r].machine == i && strcmp(j->trial.rows[r].m->system, system) != 0;
        if (fitted)
            others[n++] = j->machines[i];
    }
    rc = rlt_constants_find(others, n, j->s->fit, c->constants, &c->n_constants, err);
    free(others); /* only the array: the machines are borrowed */
    return rc;
}

/* Notes the constants that only the machine left out has: they keep the values of its file. */
static void tell_own(const job *j, const char *system, const rlt_calibration *c)
{
    rlt_constant own[RLT_MAX_CONSTANTS];
    char names[512] = "";
    uint32_t n = 0, row = 0, machine;
    rlt_error ignored = {0};
    while (row < j->trial.n_rows && strcmp(j->trial.rows[row].m->system, system) != 0)
        row++;
    machine = row < j->trial.n_rows ? j->trial.rows[row].machine : 0;
    if (j->s->fit || rlt_constants_find(&j->machines[machine], 1, NULL, own, &n, &ignored))
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool shared = false;
        for (uint32_t k = 0; k < c->n_constants && !shared; k++)
            shared = strcmp(c->constants[k].name, own[i].name) == 0;
        if (!shared)
            rlt_list_name(names, sizeof names, own[i].name);
    }
    if (names[0])
        rlt_note("%.100s: no other machine has %s: these keep the values of its file", system, names);
}

static int leave_out(job *j, const char *system, rlt_error *err)
{
    rlt_calibration c = {0};
    rlt_errors_row *held;
    uint32_t n = 0;
    int rc;
    for (uint32_t i = 0; i < j->trial.n_rows; i++)
        j->trial.rows[i].held_out = strcmp(j->trial.rows[i].m->system, system) == 0;
    if ((rc = find_shared(j, system, &c, err)) || (rc = run_fit(j, &c, err))) {
        rlt_calibration_free(&c);
        return rc;
    }
    tell_own(j, system, &c);
    held = c.after;
    for (uint32_t i = 0; i < c.n_after; i++)
        if (c.after[i].held_out == 1)
            held[n++] = c.after[i];
    j->partial = c.partial;
    if (j->report.format == RLT_FORMAT_TABLE) {
        gap(j);
        rlt_heading(j->file.stream, "%s left out", system);
        rc = rlt_report_constants(&j->report, c.constants, c.n_constants, err);
    } else if (j->report.format == RLT_FORMAT_JSON) {
        rlt_jw_object(&j->json, NULL);
        rlt_jw_string(&j->json, "left_out", system);
        rc = rlt_report_constants(&j->report, c.constants, c.n_constants, err);
    }
    if (!rc)
        rc = rlt_report_errors(&j->report, held, n, c.before, c.n_before, err);
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_end_object(&j->json);
    rlt_calibration_free(&c);
    return rc;
}

static int leave_each_out(job *j, rlt_error *err)
{
    const char *family = j->s->leave_one_out, **systems = NULL;
    uint32_t n = 0;
    int rc = open_claiming(j, family, err);
    if (rc || (rc = start_trial(j, false, false, err)) || (rc = list_systems(&j->trial, &systems, &n, err)))
        goto done;
    if (n < 2) {
        rc = rlt_fail(err, RLT_ESCHEMA, "--leave-one-out",
                      "only '%.100s' was measured: there is nothing else to fit to", n ? systems[0] : family);
        goto done;
    }
    if ((rc = begin_report(j, j->s->output, err)))
        goto done;
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_array(&j->json, "systems");
    for (uint32_t i = 0; i < n && !rc && !j->partial; i++) {
        close_machines(j); /* the next system starts again with the constants in the files */
        if (!(rc = open_claiming(j, family, err)) && !(rc = start_trial(j, false, true, err)))
            rc = leave_out(j, systems[i], err);
    }
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_end_array(&j->json);
    if (!rc)
        rc = end_report(j, j->s->output, err);
done:
    free(systems);
    return rc;
}

static int check_use(const calibrate_settings *s, rlt_error *err)
{
    if (s->check && s->leave_one_out)
        return rlt_fail(err, RLT_EUSAGE, "--check", "not together with --leave-one-out");
    if (s->leave_one_out && s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "not together with --leave-one-out");
    if (!s->check && !s->leave_one_out && !s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology",
                        "is required for a fit: the machine whose constants are fitted");
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
    job j = {.args = args, .s = settings};
    int rc = check_use(j.s, err);
    if (!rc && j.s->algorithm)
        rc = rlt_parse_algorithms(j.s->algorithm, j.trial.algorithms, err);
    if (!rc)
        rc = read_measurements(&j, err);
    if (!rc)
        rc = j.s->check ? check(&j, err) : j.s->leave_one_out ? leave_each_out(&j, err) : fit(&j, err);
    if (j.drawn)
        rlt_plot_keep(j.s->plot, rc);
    if (rc == RLT_ECANCELLED || (!rc && j.partial))
        rc = interrupted(err);
    if (j.json_open)
        rlt_document_drop(&j.json);
    if (j.file.stream)
        rlt_file_discard(&j.file);
    close_machines(&j);
    rlt_measurements_free(&j.measured);
    return rc;
}

static const rlt_columns *const tables[] = {&rlt_calib_tables[0], &rlt_calib_tables[1], &rlt_calib_tables[2],
                                            NULL};

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
        "constants, their source and the remaining errors; its other text is unchanged.\n\n--check fits "
        "nothing: it shows the errors of each measured system that a topology claims. --leave-one-out fits "
        "the constants shared by a family of machines to all systems but one, and shows the errors for that "
        "one.",
    .example = "ringlet calibrate -t dgx-a100-8 -c all_reduce nccl-tests.txt -o my-a100.json",
    .options = options,
    .settings_size = sizeof(calibrate_settings),
    .run = run,
    .tables = tables,
};
