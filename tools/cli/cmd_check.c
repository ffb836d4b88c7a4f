/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet check: validates any input file. The kind of a file is found from its content. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/listed.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/message.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/training/train.h"
#include "tools/cli/check_plugin.h"
#include "tools/output/links.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "tools/trace/trace.h"
#include "workload/experiment/run/job_file.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"
#include "workload/timing/timing.h"

typedef struct check_settings {
    const char *as, *topology;
} check_settings;

static const rlt_option own_options[] = {
    {"as", 0, RLT_PARAM_WORD, "KIND", "Kind of the files (default: detected from content).",
     .offset = offsetof(check_settings, as), .preset = "auto",
     .words =
         "auto|topology|placement|system|trace|host-trace|accelerator|model|options|job|updates|training|"
         "collectives|plan|plugin|study"},
    {"topology", 't', RLT_PARAM_TEXT, "T", "Topology that placement and system files belong to.",
     .offset = offsetof(check_settings, topology)},
    {0}};
static const rlt_option_group options[] = {{"Options", own_options, 0}, {0}};

/* Keys that identify the kind of an object; the first key present decides. */
static const char *kind_of_object(rlt_json root)
{
    static const char *const keys[][2] = {{"axes", "study"},
                                          {"base", "study"},
                                          {"scheduling-policy", "system"},
                                          {"endpoint-delay", "system"},
                                          {"active-chunks-per-dimension", "system"},
                                          {"preferred-dataset-splits", "system"},
                                          {"all-reduce-implementation", "system"},
                                          {"programs", "plan"},
                                          {"blocks_of", "plan"},
                                          {"peaks", "accelerator"},
                                          {"kernels", "accelerator"},
                                          {"layers", "model"},
                                          {"model_type", "model"},
                                          {"architectures", "model"},
                                          {"topology", "options"},
                                          {"config", "collectives"},
                                          {"model", "job"},
                                          {"accelerator", "job"},
                                          {"layout", "job"},
                                          {"train", "job"},
                                          {"strategy", "job"},
                                          {"trace", "job"}};
    if (rlt_json_is_array(rlt_json_get(root, "ranks")))
        return "placement";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (rlt_json_is(rlt_json_get(root, keys[i][0])))
            return keys[i][1];
    return "topology";
}

static bool has_cell(const char *line, size_t length, const char *name)
{
    size_t n = strlen(name), at = 0;
    for (; at < length; at += strcspn(line + at, ",\r\n") + 1) {
        size_t cell = strcspn(line + at, ",\r\n");
        if ((cell == n && memcmp(line + at, name, n) == 0) ||
            (cell == n + 2 && line[at] == '"' && memcmp(line + at + 1, name, n) == 0))
            return true;
    }
    return false;
}

/* Returns the kind of a text that is not JSON: plans by their element, tables by their columns, counts by
 * being numbers. NULL: unknown. */
static const char *kind_of_text(const char *text)
{
    if (*text == '<')
        return strstr(text, "<algo") ? "plan" : NULL;
    if (strstr(text, "# nThread") || strstr(text, "# Collective test"))
        return "collectives";
    size_t length = strcspn(text, "\r\n");
    if (has_cell(text, length, "iteration_time_s") || has_cell(text, length, "gpu_system"))
        return "training";
    if (has_cell(text, length, "collective"))
        return "collectives";
    if (memchr(text, ',', length) && (has_cell(text, length, "name") || has_cell(text, length, "tensor") ||
                                      has_cell(text, length, "forward_flop")))
        return "model";
    while (*text) {
        text += strspn(text, " \t\r\n");
        if (*text != '#')
            break;
        text += strcspn(text, "\n");
    }
    length = strcspn(text, "\r\n");
    return length && strspn(text, "0123456789 \t") >= length ? "updates" : NULL;
}

/* Returns true if the file is of the kind that was tried. Keeps the error if it could not be read. */
static bool worked(int rc, const rlt_error *now, rlt_error *unread)
{
    if ((rc == RLT_EIO || rc == RLT_ENOMEM) && !unread->code)
        *unread = *now;
    return rc == 0;
}

static const char *kind_of_file(const char *path, rlt_error *unread)
{
    char head[4096 + 1];
    rlt_json_doc *doc = NULL;
    rlt_error now = {0};
    size_t n, blank;
    if (!worked(rlt_read_head(path, head, sizeof head - 1, &n, &now), &now, unread))
        n = 0;
    head[n] = '\0';
    n = strlen(path), blank = strspn(head, "\xef\xbb\xbf \t\r\n");
    const char *kind = head[blank] == '{' ? NULL : kind_of_text(head + blank);
    if (kind)
        return kind;
    if (n > 4 && strcmp(path + n - 4, ".csv") == 0)
        return "model"; /* its reader reports which columns are required */
    now = (rlt_error){0};
    kind = worked(rlt_json_load(path, &doc, &now), &now, unread) ? kind_of_object(rlt_json_root(doc))
                                                                 : "topology";
    rlt_json_free(doc);
    return kind;
}

static bool is_host_trace(const char *path, rlt_error *unread)
{
    enum { HEAD = 1 << 16 };
    char *head = malloc(HEAD);
    size_t n;
    rlt_error now = {0};
    int rc = head ? rlt_read_head(path, head, HEAD, &n, &now) : rlt_nomem(&now);
    bool is = worked(rc, &now, unread) && rlt_is_host_trace(head, n);
    free(head);
    return is;
}

static int see_nothing(void *ctx, const rlt_store_cell *cells, uint32_t n, rlt_error *err)
{
    (void)ctx, (void)cells, (void)n, (void)err;
    return 0;
}

/* Opens the database of a study. Returns NULL if the file is none. */
static rlt_store *open_database(const char *path)
{
    rlt_store *s = NULL;
    rlt_error ignored = {0};
    if (rlt_store_open(path, RLT_STORE_READ, &s, &ignored) == 0 &&
        rlt_store_query(s, "SELECT 1 FROM study, axis, point LIMIT 1", see_nothing, NULL, &ignored) == 0)
        return s;
    rlt_store_close(s);
    return NULL;
}

static bool is_database(const char *path)
{
    rlt_store *s = open_database(path);
    bool is = s != NULL;
    rlt_store_close(s);
    return is;
}

static bool is_shared_object(const char *path, rlt_error *unread)
{
    char head[4];
    size_t n;
    rlt_error now = {0};
    return worked(rlt_read_head(path, head, sizeof head, &n, &now), &now, unread) && n == sizeof head &&
           memcmp(head, "\177ELF", sizeof head) == 0;
}

static bool is_model(const char *spec)
{
    const char *settings = rlt_model_settings(spec);
    rlt_error ignored = {0};
    rlt_model m = {0};
    char *name = settings ? strndup(spec, (size_t)(settings - spec)) : strdup(spec);
    bool is = name && rlt_model_open(name, &m, &ignored) == 0;
    rlt_model_free(&m);
    free(name);
    return is;
}

/* Names of 'ringlet list' that other checks cover, and which. */
static const struct {
    rlt_data_kind kind;
    const char *text;
} elsewhere[] = {
    {RLT_DATA_STACKS, "is a stack of software: the check of any accelerator reads all stacks"},
    {RLT_DATA_DISPATCHERS, "is a dispatcher: the check of any accelerator reads all dispatchers"}};
static const char elsewhere_kind[] = "of another check", no_kind[] = "unknown"; /* compared by address */

/* Returns where a name is checked; NULL: it is none of these names. */
static const char *checked_elsewhere(const char *name)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (rlt_find_file(rlt_data_dirs(elsewhere[i].kind).list, name, path, sizeof path))
            return elsewhere[i].text;
    return NULL;
}

/* Says that a name is of no kind, and which name of any kind is nearest to it. */
static int unknown_name(const char *name, rlt_error *err)
{
    static const struct {
        const char *what;
        rlt_data_kind kind;
    } kinds[] = {{"topology", RLT_DATA_TOPOLOGIES},
                 {"accelerator", RLT_DATA_ACCELERATORS},
                 {"trace", RLT_DATA_TRACES},
                 {"study", RLT_DATA_STUDIES}};
    char best[NAME_MAX + 32] = "";
    rlt_nearest near = rlt_nearest_to(name);
    const char *known = NULL;
    int code = strchr(name, '.') ? RLT_EIO : RLT_ENAME; /* a dot means a file */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        rlt_found found;
        if (rlt_find_all(rlt_data_dirs(kinds[i].kind).list, NULL, &found, NULL) == 0)
            for (uint32_t k = 0; k < found.n; k++)
                rlt_nearest_try(&near, found.names[k]);
        if (near.best != known)
            snprintf(best, sizeof best, "%s '%s'", kinds[i].what, near.best);
        near.best = known = near.best ? best : NULL; /* outlives the list */
        rlt_find_free(&found);
    }
    for (uint32_t i = 0; rlt_model_preset_at(i); i++)
        rlt_nearest_try(&near, rlt_model_preset_at(i)->name);
    if (near.best != known)
        snprintf(best, sizeof best, "model '%s'", near.best);
    if (*best)
        return rlt_fail(err, code, name, "no such file, and nothing of that name; did you mean the %s?",
                        best);
    return rlt_fail(err, code, name,
                    "no such file, and nothing of that name: 'ringlet list' shows all names; dimensions are "
                    "written ring:4@200GB/s,500ns*switch:8@50GB/s,500ns");
}

/* Returns the kind of what is no file: a PREFIX of a trace, or a name of 'ringlet list'. */
static const char *kind_of_name(const char *name)
{
    char path[PATH_MAX], **paths = NULL;
    uint32_t n = 0;
    rlt_error ignored = {0};
    bool trace = !strchr(name, '@') && rlt_find_trace_files(&name, 1, &paths, &n, &ignored) == 0 && n > 0;
    free(paths);
    if (trace)
        return "trace";
    if (strchr(name, '/') || rlt_find_file(rlt_topology_dirs().list, name, path, sizeof path))
        return "topology";
    if (rlt_accelerator_path(name, rlt_accelerator_dirs().list, path, sizeof path))
        return "accelerator";
    if (rlt_find_file(rlt_data_dirs(RLT_DATA_STUDIES).list, name, path, sizeof path))
        return "study";
    if (is_model(name))
        return "model";
    return checked_elsewhere(name) ? elsewhere_kind : strpbrk(name, "@:*") ? "topology" : no_kind;
}

/* `unread` gets the error if the file could not be read: then the kind is a guess. */
static const char *kind_of(const char *path, rlt_error *unread)
{
    const rlt_reader *reader;
    rlt_error now = {0};
    struct stat st;
    const char *kind = "topology";
    if (strcmp(path, "-") == 0)
        return kind;
    if (stat(path, &st))
        return kind_of_name(path);
    if (S_ISREG(st.st_mode) && is_shared_object(path, unread))
        return "plugin";
    if (S_ISREG(st.st_mode) && is_host_trace(path, unread))
        return "host-trace";
    if (S_ISREG(st.st_mode) && is_database(path))
        return "study";
    return S_ISDIR(st.st_mode) || worked(rlt_reader_for(path, &reader, &now), &now, unread)
               ? "trace"
               : kind_of_file(path, unread);
}

static int check_topology(const char *path, rlt_error *err)
{
    char counts[100];
    rlt_topology *t = NULL;
    int rc = rlt_find_topology(path, &t, err);
    if (rc)
        return rc;
    printf("%s: ok: topology of %s\n", path, rlt_topology_counts(t, counts, sizeof counts));
    rlt_topology_free(t);
    return 0;
}

static int check_placement(const char *path, const char *topology, rlt_error *err)
{
    rlt_topology *t = NULL;
    rlt_placement p = {0};
    int rc;
    if (!topology)
        return rlt_fail(err, RLT_EUSAGE, path, "a placement needs its topology: --topology T");
    if ((rc = rlt_find_topology(topology, &t, err)))
        return rc;
    rc = rlt_placement_load(path, t, &p, err);
    if (!rc)
        printf("%s: ok: placement of %u rank%s on %s\n", path, p.n, rlt_s(p.n), rlt_topology_name(t));
    rlt_placement_free(&p);
    rlt_topology_free(t);
    return rc;
}

/* Makes a topology with one dimension per algorithm of the system file, if the user gave none. */
static int stand_in(const char *path, rlt_topology **t, rlt_error *err)
{
    char spec[RLT_MAX_DIMS * 24] = "";
    rlt_json_doc *doc = NULL;
    uint32_t n;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    n = rlt_json_count(rlt_json_get(rlt_json_root(doc), "all-reduce-implementation"));
    n = n < 1 ? 1 : n > RLT_MAX_DIMS ? RLT_MAX_DIMS : n;
    for (uint32_t d = 0; d < n; d++)
        strcat(spec, d ? "*switch:2@1GB/s,1ns" : "switch:2@1GB/s,1ns");
    rlt_json_free(doc);
    return rlt_topology_load(spec, NULL, t, err);
}

static int check_system(const char *path, const char *topology, rlt_error *err)
{
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    rlt_read_options opts = {.first_step = -1, .last_step = -1};
    int rc = topology ? rlt_find_topology(topology, &t, err) : stand_in(path, &t, err);
    if (rc)
        return rc;
    rc = rlt_timing_astra(path, false, t, &opts, &timing, err);
    if (!rc)
        printf("%s: ok: ASTRA-sim system%s%s\n", path, topology ? " for " : "",
               topology ? rlt_topology_name(t) : "");
    rlt_timing_free(timing);
    rlt_topology_free(t);
    return rc;
}

static int check_accelerator(const char *path, rlt_error *err)
{
    rlt_accelerator a;
    int rc = rlt_find_accelerator(path, &a, err);
    if (!rc)
        printf("%s: ok: accelerator %s, %.4g GB, %u peak%s\n", path, a.name, (double)a.memory_bytes / 1e9,
               a.n_peaks, rlt_s(a.n_peaks));
    return rc;
}

static int check_model(const char *path, rlt_error *err)
{
    rlt_model m = {0};
    int rc = rlt_model_open(path, &m, err);
    if (!rc)
        printf("%s: ok: model of %u layer%s, %llu parameters\n", path, m.n_layers, rlt_s(m.n_layers),
               (unsigned long long)rlt_model_sum(&m).parameters);
    rlt_model_free(&m);
    return rc;
}

static int check_database(rlt_store *s, const char *path, rlt_error *err)
{
    uint64_t done, failed;
    int64_t last, points;
    char dropped[400], failures[40] = "";
    int rc = rlt_store_count(s, &done, &failed, &last, err);
    rc = rc ? rc : rlt_store_scope(s, dropped, sizeof dropped, &points, err);
    if (!rc && failed)
        snprintf(failures, sizeof failures, ", %llu failed", (unsigned long long)failed);
    if (!rc)
        printf("%s: ok: database of a study: %llu of %lld point%s done%s\n", path, (unsigned long long)done,
               (long long)(points < 0 ? last + 1 : points), rlt_s((uint64_t)points), failures);
    rlt_store_close(s);
    return rc;
}

static int check_study(const char *spec, rlt_error *err)
{
    char path[PATH_MAX];
    rlt_sweep_study t = {0};
    int rc = rlt_study_path(spec, path, sizeof path, err);
    rlt_store *database = rc ? NULL : open_database(path);
    if (database)
        return check_database(database, path, err);
    rc = rc ? rc : rlt_sweep_study_read(path, &t, err);
    if (!rc)
        printf("%s: ok: study of %llu point%s over %u ax%ss\n", spec, (unsigned long long)t.points,
               rlt_s(t.points), t.n_axes, t.n_axes == 1 ? "i" : "e");
    rlt_sweep_study_free(&t);
    return rc;
}

static int check_options(const char *path, bool whole, rlt_error *err)
{
    int rc = rlt_job_file_check(path, whole ? rlt_cmd_run.options : NULL, rlt_cmd_run.settings_size, err);
    if (!rc)
        printf(whole ? "%s: ok: options of ringlet run\n" : "%s: ok: a job for ringlet run\n", path);
    return rc;
}

static int check_updates(const char *path, rlt_error *err)
{
    rlt_skew k = {0};
    int rc = rlt_skew_read(path, &k, err);
    if (!rc)
        printf("%s: ok: updates of %llu parameter%s, %.0f in all\n", path, (unsigned long long)k.n,
               rlt_s(k.n), k.sum);
    rlt_skew_free(&k);
    return rc;
}

static int check_training(const char *path, rlt_error *err)
{
    rlt_train_rows t = {0};
    char names[PATH_MAX], skipped[600] = "";
    int rc = rlt_names_path("names", names, sizeof names, err);
    const rlt_train_reading how = {.names = names, .measured = true};
    if (!rc)
        rc = rlt_train_rows_read(&t, path, &how, err);
    if (t.malformed)
        snprintf(skipped, sizeof skipped, "; %u row%s skipped: %s", t.malformed, rlt_s(t.malformed),
                 t.first_malformed);
    if (!rc)
        printf("%s: ok: %u measured training%s%s\n", path, t.n - t.malformed, rlt_s(t.n - t.malformed),
               skipped);
    rlt_train_rows_free(&t);
    return rc;
}

static int check_host_trace(const char *path, rlt_error *err)
{
    rlt_host_trace t = {0};
    char rank[24] = "";
    int rc = rlt_host_trace_load(path, &t, err);
    if (!rc && t.rank != RLT_NONE)
        snprintf(rank, sizeof rank, " of rank %u", t.rank);
    if (!rc)
        printf("%s: ok: host execution trace%s: %u communication%s; --host-trace gives their sizes to a "
               "recording\n",
               path, rank, t.n_comms, rlt_s(t.n_comms));
    rlt_host_trace_free(&t);
    return rc;
}

static int check_collectives(const char *path, rlt_error *err)
{
    /* Stand-ins for what the output of nccl-tests leaves out. */
    rlt_measure_hints hints = {.collective = "all_reduce", .ranks = 2};
    rlt_measurements t = {0};
    int rc = rlt_measurements_read(&t, path, &hints, err);
    char skipped[512];
    if (!rc)
        printf("%s: ok: %u measured collective%s%s%s\n", path, t.n, rlt_s(t.n), t.skipped ? "; " : "",
               rlt_measurements_skipped(&t, skipped, sizeof skipped));
    rlt_measurements_free(&t);
    return rc;
}

static int check_plan(const char *path, rlt_error *err)
{
    rlt_listed plan;
    int rc = rlt_plan_load(path, NULL, &plan, err);
    if (!rc)
        printf("%s: ok: plan %s: %s of %u ranks, %u steps; proven: %s\n", path, plan.name,
               rlt_coll_name(plan.kind), plan.n, plan.first[(size_t)plan.n * plan.lanes],
               plan.untracked ? "every message is awaited, and no rank waits for ever"
                              : "every contribution arrives once, and no rank waits for ever");
    rlt_listed_free(&plan);
    return rc;
}

static int check_as(const char *kind, const char *path, const check_settings *s, rlt_error *err)
{
    static const struct {
        const char *kind;
        int (*check)(const char *path, rlt_error *err);
    } simple[] = {{"accelerator", check_accelerator}, {"model", check_model},
                  {"updates", check_updates},         {"training", check_training},
                  {"collectives", check_collectives}, {"plan", check_plan},
                  {"topology", check_topology},       {"host-trace", check_host_trace},
                  {"plugin", rlt_check_plugin},       {"study", check_study}};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (strcmp(kind, simple[i].kind) == 0)
            return simple[i].check(path, err);
    if (strcmp(kind, "trace") == 0) {
        rlt_trace_settings none = {0};
        return rlt_trace_check(&path, 1, &none, err);
    }
    if (strcmp(kind, "placement") == 0)
        return check_placement(path, s->topology, err);
    if (strcmp(kind, "system") == 0)
        return check_system(path, s->topology, err);
    return check_options(path, strcmp(kind, "options") == 0, err);
}

/* Says in an error about a detected kind which one it is. */
static int check_one(const char *path, const check_settings *s, rlt_error *err)
{
    bool found = strcmp(s->as, "auto") == 0;
    rlt_error unread = {0};
    const char *kind = found ? kind_of(path, &unread) : s->as;
    if (unread.code)
        return rlt_fail(err, unread.code, unread.where, "%s", unread.what);
    if (kind == elsewhere_kind)
        return rlt_fail(err, RLT_EUNSUPPORTED, path, "%s", checked_elsewhere(path));
    if (kind == no_kind)
        return unknown_name(path, err);
    int rc = check_as(kind, path, s, err);
    size_t n = strlen(err->what);
    if (rc && found && rc != RLT_ECHECK && rc != RLT_EIO && n < sizeof err->what - 64)
        snprintf(err->what + n, sizeof err->what - n, " (taken as %s%s; --as says otherwise)",
                 strchr("aou", *kind) ? "an " : "a ", kind);
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    for (int i = 0; i < args->n_operands; i++) {
        rlt_error why = {0};
        fflush(stdout);
        if (check_one(args->operands[i], settings, &why))
            rlt_say_and_keep(err, &why);
    }
    return err->code;
}

const rlt_command rlt_cmd_check = {
    .name = "check",
    .summary = "validate any input file, with line and column",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Validates topologies, placements, traces (a file, a folder or a prefix), ASTRA-sim system files, "
        "accelerators, and models (tables of layers, CSV or JSON). Also options of 'ringlet run' "
        "(--config), jobs (--job), update counts (--updates), measured trainings (CSV) and measured "
        "collectives (CSV, nccl-tests), PyTorch's host traces, plans of collectives, which are proven, and"
        " studies and their databases. The kind of a file is detected from its content, and said. Prints a"
        " summary of each file, or file, line, column, the path of the bad value and what was expected. A "
        "row with a bad value in a table of measurements is skipped; their number and the first one are "
        "said. Names of 'ringlet list' are found, too. Exit status 0 if all are good, 3 if one is bad, 1 "
        "if a plan is wrong or a recording lacks something for a good replay. A plug-in (a shared object, "
        "see workload/plugin) is tested: algorithms over a grid of groups, readers on their samples, "
        "models and strategies by training.",
    .example = "ringlet check topologies/hgx-h100-8.json",
    .options = options,
    .settings_size = sizeof(check_settings),
    .run = run,
};
