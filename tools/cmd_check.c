/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet check: validates any input file. What a file is shows in its content. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/json.h"
#include "sim/mem.h"
#include "tools/commands.h"
#include "tools/message.h"
#include "tools/settings.h"
#include "tools/trace.h"
#include "workload/timing.h"

typedef struct check_settings {
    const char *as, *topology;
} check_settings;

static const rlt_option own_options[] = {
    {"as", 0, RLT_OPT_WORD, "KIND", "What the files are, where content should not decide.",
     .offset = offsetof(check_settings, as), .preset = "auto",
     .words = "auto|topology|placement|system|trace"},
    {"topology", 't', RLT_OPT_TEXT, "T", "The topology that placement and system files belong to.",
     .offset = offsetof(check_settings, topology)},
    {0}};
static const rlt_option_group options[] = {{"Options", own_options, 0}, {0}};

/* An object with one of these is no topology. */
static const char *kind_of_object(rlt_json root)
{
    static const char *const system[] = {"scheduling-policy", "endpoint-delay", "active-chunks-per-dimension",
                                         "preferred-dataset-splits", "all-reduce-implementation"};
    if (rlt_json_is_array(rlt_json_get(root, "ranks")))
        return "placement";
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (rlt_json_is(rlt_json_get(root, system[i])))
            return "system";
    return "topology";
}

static const char *kind_of(const char *path)
{
    const rlt_reader *reader;
    rlt_json_doc *doc = NULL;
    rlt_error ignored = {0};
    struct stat st;
    const char *kind = "topology";
    if (strcmp(path, "-") == 0)
        return kind;
    if (stat(path, &st)) {
        /* PREFIX of a trace? */
        char **paths = NULL;
        uint32_t n = 0;
        if (!strchr(path, '@') && rlt_trace_files(&path, 1, &paths, &n, &ignored) == 0 && n > 0)
            kind = "trace";
        free(paths);
        return kind;
    }
    if (S_ISDIR(st.st_mode) || rlt_reader_for(path, &reader, &ignored) == 0)
        return "trace";
    ignored = (rlt_error){0};
    if (rlt_json_load(path, &doc, &ignored) == 0)
        kind = kind_of_object(rlt_json_root(doc));
    rlt_json_free(doc);
    return kind;
}

static int check_topology(const char *path, rlt_error *err)
{
    rlt_topology *t = NULL;
    int rc = rlt_find_topology(path, &t, err);
    if (rc)
        return rc;
    printf("%s: ok: topology of %u accelerators, %u nodes, %u links\n", path, rlt_topology_accelerators(t),
           rlt_topology_nodes(t), rlt_topology_links(t));
    rlt_topology_free(t);
    return 0;
}

static int check_placement(const char *path, const char *topology, rlt_error *err)
{
    rlt_topology *t = NULL;
    rlt_placement p = {0};
    int rc;
    if (!topology)
        return rlt_fail(err, RLT_EUSAGE, path, "a placement: say which topology it is for with --topology T");
    if ((rc = rlt_find_topology(topology, &t, err)))
        return rc;
    rc = rlt_placement_load(path, t, &p, err);
    if (!rc)
        printf("%s: ok: placement of %u ranks on the %u accelerators of %s\n", path, p.n,
               rlt_topology_accelerators(t), rlt_topology_name(t));
    rlt_placement_free(&p);
    rlt_topology_free(t);
    return rc;
}

/* A topology with as many dimensions as the system file names algorithms, where the user gave none. */
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

static int check_one(const char *path, const check_settings *s, rlt_error *err)
{
    const char *kind = strcmp(s->as, "auto") == 0 ? kind_of(path) : s->as;
    if (strcmp(kind, "trace") == 0) {
        rlt_trace_settings none = {0};
        return rlt_trace_check(&path, 1, &none, err);
    }
    if (strcmp(kind, "placement") == 0)
        return check_placement(path, s->topology, err);
    if (strcmp(kind, "system") == 0)
        return check_system(path, s->topology, err);
    return check_topology(path, err);
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
        "Validates topologies, placements, ASTRA-sim system files and traces (a file, a folder or a prefix). "
        "Content decides what a file is. For each it prints what it holds, or file, line, column, the path "
        "of "
        "the bad value and what was expected. Exit status 0 if all are good, 3 if one is bad, 1 if a "
        "recording lacks something for a good replay.",
    .example = "ringlet check topologies/hgx-h100-8.json",
    .options = options,
    .settings_size = sizeof(check_settings),
    .run = run,
};
