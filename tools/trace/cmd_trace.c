/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet trace: convert, slice, check. The other verbs are in info.c and generate.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/trace/trace.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/whatif/certificate.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"

const rlt_option rlt_trace_network_options[] = {
    {"topology", 't', RLT_PARAM_TEXT, "T",
     "Network of the trace. Needed if a trace refers to its dimensions (Chakra's involved_dim, ASTRA-sim "
     "1.0's HYBRID_DATA_MODEL).",
     .offset = offsetof(rlt_trace_source, topology)},
    {0}};

static int take_dimensions(const char *topology, rlt_read_options *opts, rlt_error *err)
{
    rlt_topology *t = NULL;
    int rc = rlt_find_topology(topology, &t, err);
    if (!rc)
        rlt_trace_dimensions(t, opts);
    rlt_topology_free(t);
    return rc;
}

int rlt_trace_open(const rlt_parsed *args, const rlt_trace_source *s, rlt_program **out, rlt_error *err)
{
    rlt_read_options opts;
    rlt_replicate *replicate;
    int rc = rlt_trace_read_options(&s->reading, &opts, &replicate, err);
    if (rc)
        return rc;
    if (!s->topology || !(rc = take_dimensions(s->topology, &opts, err)))
        rc = rlt_find_trace((const char *const *)args->operands, (uint32_t)args->n_operands, &opts, out, err);
    free(replicate);
    if (!rc && (rc = rlt_trace_rescale(&s->reading, out, err))) {
        rlt_program_free(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- convert, slice */

typedef struct convert_settings {
    rlt_trace_source trace;
    rlt_trace_write_settings write;
} convert_settings;

const rlt_option rlt_trace_write_options[] = {
    {"output", 'o', RLT_PARAM_TEXT, "DIR", "Folder for the files; created if missing.",
     .offset = offsetof(rlt_trace_write_settings, output), .required = true, .unrecorded = true},
    {"prefix", 'p', RLT_PARAM_TEXT, "NAME", "Start of the file names, NAME.<rank>.et.",
     .offset = offsetof(rlt_trace_write_settings, prefix), .preset = "trace"},
    {0}};

int rlt_trace_write(const rlt_program *p, const rlt_trace_write_settings *w, rlt_error *err)
{
    int rc;
    if (mkdir(w->output, 0777) && errno != EEXIST)
        return rlt_fail(err, RLT_EIO, w->output, "cannot make the folder: %s", strerror(errno));
    if (strchr(w->prefix, '/'))
        return rlt_fail(err, RLT_EUSAGE, "--prefix", "expected a name without folders, got '%s'", w->prefix);
    rc = rlt_chakra_write(p, w->output, w->prefix, err);
    if (!rc)
        printf("%s/%s.<rank>.et: %u rank%s, %u operation%s, %u communication%s\n", w->output, w->prefix,
               p->n_ranks, rlt_s(p->n_ranks), p->n_ops, rlt_s(p->n_ops), p->n_comms, rlt_s(p->n_comms));
    return rc;
}

static const rlt_option_group convert_options[] = {
    {"Output", rlt_trace_write_options, offsetof(convert_settings, write)},
    {"Reading", rlt_trace_option_table, offsetof(convert_settings, trace.reading)},
    {"Network", rlt_trace_network_options, offsetof(convert_settings, trace)},
    {0}};

static int convert(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const convert_settings *s = settings;
    rlt_program *p = NULL;
    int rc = rlt_trace_open(args, &s->trace, &p, err);
    if (rc)
        return rc;
    rc = rlt_trace_write(p, &s->write, err);
    rlt_program_free(p);
    return rc;
}

static int slice(const rlt_parsed *args, void *settings, rlt_error *err)
{
    if (!rlt_given(args, "steps"))
        return rlt_fail(err, RLT_EUSAGE, "--steps", "is required: pass --steps FIRST:LAST");
    return convert(args, settings, err);
}

/* ---- check */

static const rlt_option_group check_options[] = {{"Reading", rlt_trace_option_table, 0}, {0}};

/* Prints the reader's lines. Returns the number of things that the recording lacks. *ranks: whether ranks are
 * among them. */
static uint32_t put_lines(const char *text, bool *ranks)
{
    static const char missing[] = "lacks: ranks";
    uint32_t lacks = 0;
    const char *cursor = text, *line;
    size_t length;
    while ((line = rlt_next_item(&cursor, '\n', &length))) {
        if (length)
            printf("%.*s\n", (int)length, line);
        lacks += strncmp(line, "lacks:", 6) == 0;
        *ranks = *ranks || strncmp(line, missing, sizeof missing - 1) == 0;
    }
    return lacks;
}

/* Prints the certificate. Adds to the number of things that the recording lacks. */
static int put_certificate(const rlt_program *p, uint32_t *lacks, rlt_error *err)
{
    rlt_certificate c;
    char text[400];
    int rc = rlt_certify(p, &c, err);
    if (rc)
        return rc;
    bool fails = rlt_certificate_fails(&c);
    if (rlt_certificate_text(&c, text, sizeof text)[0])
        printf(
            "%s: certificate: %s%s\n", fails ? "lacks" : "ok", text,
            fails
                ? ", more than half of what is exposed, so that 'ringlet run' refuses the recording; record "
                  "cuda_sync events, and warm up"
                : "");
    *lacks += fails;
    rlt_certificate_free(&c);
    return 0;
}

static int check_paths(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_error *err)
{
    const rlt_reader *reader;
    rlt_program *p = NULL;
    char *text = NULL;
    uint32_t lacks = 0;
    bool ranks = false;
    int rc = rlt_reader_for(paths[0], &reader, err);
    if (rc)
        return rc;
    printf("%s: %u file%s, read as %s\n", paths[0], n, n == 1 ? "" : "s", reader->name);
    if (reader->check && !(rc = reader->check(paths, n, opts, &text, err)))
        lacks = put_lines(text ? text : "", &ranks);
    free(text);
    if (!rc && !(rc = reader->read(paths, n, opts, &p, err))) {
        printf(
            "ok: %u rank%s, %u operation%s, %u communication%s, %u step%s; all dependencies and collectives "
            "match\n",
            p->n_ranks, rlt_s(p->n_ranks), p->n_ops, rlt_s(p->n_ops), p->n_comms, rlt_s(p->n_comms),
            p->n_steps, rlt_s(p->n_steps));
        rc = put_certificate(p, &lacks, err);
        rlt_program_free(p);
    }
    if (rc == RLT_ESCHEMA && ranks) { /* the files can be read, but there are too few: a check that failed */
        rc = RLT_ECHECK;
        if (err)
            err->code = rc;
    }
    if (!rc && lacks)
        return rlt_fail(err, RLT_ECHECK, paths[0], "the recording lacks %u thing%s for a good replay", lacks,
                        lacks == 1 ? "" : "s");
    return rc;
}

/* Names the files beside the trace. */
static int put_ignored(const char *const *specs, uint32_t n, rlt_error *err)
{
    char *names;
    uint32_t count;
    int rc = rlt_trace_ignored(specs, n, &names, &count, err);
    if (names)
        printf("ignored: %u file%s not of the trace: %s\n", count, rlt_s(count), names);
    free(names);
    return rc;
}

int rlt_trace_check(const char *const *specs, uint32_t n, const rlt_trace_settings *s, rlt_error *err)
{
    rlt_read_options opts;
    rlt_replicate *replicate = NULL;
    char **paths = NULL;
    uint32_t n_paths = 0;
    int rc = rlt_trace_read_options(s, &opts, &replicate, err);
    if (!rc)
        rc = rlt_find_trace_files(specs, n, &paths, &n_paths, err);
    if (!rc)
        rc = put_ignored(specs, n, err);
    if (!rc)
        rc = check_paths((const char *const *)paths, n_paths, &opts, err);
    free(paths);
    free(replicate);
    return rc;
}

static int check(const rlt_parsed *args, void *settings, rlt_error *err)
{
    return rlt_trace_check((const char *const *)args->operands, (uint32_t)args->n_operands, settings, err);
}

static const rlt_command cmd_convert = {
    .name = "convert",
    .summary = "convert any trace that is read to Chakra execution traces",
    .operands = "TRACE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Reads a trace and writes it as Chakra execution traces, one file a rank, for ASTRA-sim and ringlet.",
    .example = "ringlet trace convert recordings/ -o chakra/ --prefix dlrm",
    .options = convert_options,
    .settings_size = sizeof(convert_settings),
    .run = convert,
};
static const rlt_command cmd_slice = {
    .name = "slice",
    .summary = "some steps of a trace, as Chakra execution traces",
    .operands = "TRACE...",
    .min_operands = 1,
    .max_operands = -1,
    .description = "Extracts steps (iterations) from a trace and writes them as Chakra execution traces.",
    .example = "ringlet trace slice recordings/ --steps 2:3 -o slice/",
    .options = convert_options,
    .settings_size = sizeof(convert_settings),
    .run = slice,
};
static const rlt_command cmd_check = {
    .name = "check",
    .summary = "can it be replayed, and what does the recording lack",
    .operands = "TRACE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Reads a trace completely. Checks that dependencies have no cycle, and that the collectives of all "
        "ranks match. Lists what the recording lacks for a good replay, and how to record it. Exit status 1 "
        "if it lacks something, 3 if it cannot be read.",
    .example = "ringlet trace check recordings/",
    .options = check_options,
    .settings_size = sizeof(rlt_trace_settings),
    .run = check,
};
static const rlt_command *const verbs[] = {&rlt_trace_info, &rlt_trace_diff,     &cmd_convert, &cmd_slice,
                                           &cmd_check,      &rlt_trace_generate, NULL};

const rlt_command rlt_cmd_trace = {
    .name = "trace",
    .summary = "info, diff, convert, slice, check, generate",
    .description =
        "TRACE is a folder with one file a rank, the files themselves, or the PREFIX of files called "
        "PREFIX.<rank>.et. The format is detected from content; 'ringlet list readers' shows the known "
        "formats.",
    .example = "ringlet trace info recordings/",
    .verbs = verbs,
};
