/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kineto reader: the files of a run, their ranks, the window that is replayed, and the reader itself. */
#include "workload/readers/kineto/kineto.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/words.h"

/* Returns the number in "worker3_step_12", "rank-3" or "rank_3.json"; RLT_NONE: none. */
static uint32_t rank_in_path(const char *path)
{
    static const char *const words[] = {"worker", "rank"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (const char *at = strstr(name, words[w]); at; at = strstr(at + 1, words[w])) {
            const char *digits = at + strlen(words[w]);
            digits += *digits == '-' || *digits == '_' || *digits == '.';
            size_t n = strspn(digits, "0123456789");
            if (n > 0 && n < 8)
                return (uint32_t)strtoul(digits, NULL, 10);
        }
    return rlt_rank_in_name(path);
}

/* Finds ranks from the content; if no file has one, from the names; if no name has one, from the order. */
static void name_ranks(rlt_kin_run *run)
{
    if (run->opts->alone)
        for (uint32_t i = 0; i < run->n_files; i++)
            run->recordings[i].rank = run->recordings[i].world = 0;
    bool told = false, named = run->n_files > 1;
    for (uint32_t i = 0; i < run->n_files; i++) {
        told = told || run->recordings[i].rank != RLT_NONE;
        named = named && rank_in_path(run->recordings[i].path) != RLT_NONE;
    }
    for (uint32_t i = 0; i < run->n_files; i++)
        if (run->recordings[i].rank == RLT_NONE)
            run->recordings[i].rank =
                named || (told && run->n_files > 1) ? rank_in_path(run->recordings[i].path) : i;
}

static int count_ranks(rlt_kin_run *run, rlt_error *err)
{
    uint32_t world = 0;
    for (uint32_t i = 0; i < run->n_files; i++) {
        const rlt_kin_recording *k = &run->recordings[i];
        if (k->rank >= RLT_MAX_RANKS)
            return rlt_fail(
                err, RLT_ESCHEMA, k->path,
                "the rank is unknown: neither the content (distributedInfo) nor the file name gives it");
        world = k->rank + 1 > world ? k->rank + 1 : world;
        world = k->world > world ? k->world : world;
    }
    run->n_ranks = run->opts->n_ranks ? run->opts->n_ranks : world;
    return 0;
}

static int assign_ranks(rlt_kin_run *run, rlt_error *err)
{
    int rc = count_ranks(run, err);
    if (rc < 0)
        return rc;
    run->by_rank = malloc(run->n_ranks * sizeof *run->by_rank);
    if (!run->by_rank)
        return rlt_nomem(err);
    for (uint32_t r = 0; r < run->n_ranks; r++)
        run->by_rank[r] = RLT_NONE;
    for (uint32_t i = 0; i < run->n_files; i++) {
        const rlt_kin_recording *k = &run->recordings[i];
        if (k->rank >= run->n_ranks)
            return rlt_fail(err, RLT_ESCHEMA, k->path,
                            "is of rank %" PRIu32 ", but the number of ranks is %" PRIu32, k->rank,
                            run->n_ranks);
        if (run->by_rank[k->rank] != RLT_NONE)
            return rlt_fail(err, RLT_ESCHEMA, k->path,
                            "is of rank %" PRIu32 ", the same as %.300s: expected one recording per rank",
                            k->rank, run->recordings[run->by_rank[k->rank]].path);
        run->by_rank[k->rank] = i;
    }
    return 0;
}

static int replicate_ranks(rlt_kin_run *run, rlt_error *err)
{
    const rlt_read_options *o = run->opts;
    uint32_t missing = RLT_NONE;
    for (uint32_t r = run->n_ranks; r-- > 0;) {
        const rlt_replicate *chosen = NULL;
        if (run->by_rank[r] != RLT_NONE)
            continue;
        for (uint32_t i = 0; i < o->n_replicate; i++)
            if (o->replicate[i].rank == r || (o->replicate[i].rank == RLT_NONE && !chosen))
                chosen = &o->replicate[i];
        for (uint32_t i = 0; chosen && i < run->n_files; i++)
            if (run->recordings[i].rank == chosen->from)
                run->by_rank[r] = i;
        if (chosen && run->by_rank[r] == RLT_NONE)
            return rlt_fail(err, RLT_ESCHEMA, run->recordings[0].path,
                            "--replicate: rank %" PRIu32 " cannot be replaced by rank %" PRIu32
                            ", which has no recording",
                            r, chosen->from);
        if (!chosen)
            missing = r;
    }
    if (missing == RLT_NONE || o->keep_waits)
        return 0;
    return rlt_fail(err, RLT_ESCHEMA, run->recordings[0].path,
                    "rank %" PRIu32 " of %" PRIu32
                    " is missing; add its recording, or replace it by another: "
                    "--replicate %" PRIu32 "=%" PRIu32,
                    missing, run->n_ranks, missing, run->recordings[0].rank);
}

int rlt__kin_window(const rlt_kin_run *run, const rlt_kin_recording *k, rlt_kin_window *w, rlt_error *err)
{
    const rlt_read_options *o = run->opts;
    *w = (rlt_kin_window){.begin = INT64_MAX, .end = INT64_MIN};
    if (k->n_steps == 0) {
        if (o->step_mark)
            return rlt_fail(err, RLT_ESCHEMA, k->path, "no annotation begins with '%.80s'", o->step_mark);
        for (uint32_t i = 0; i < k->n_events; i++) {
            const rlt_kin_event *e = &k->events[i];
            w->begin = e->ts < w->begin ? e->ts : w->begin;
            w->end = rlt__kin_end(e) > w->end ? rlt__kin_end(e) : w->end;
        }
        if (k->n_events == 0)
            return rlt_fail(err, RLT_ESCHEMA, k->path, "the recording has no operations");
    }
    uint32_t found = k->n_steps ? k->n_steps : 1;
    uint32_t first = o->first_step < 0 ? 0 : (uint32_t)o->first_step;
    uint32_t last = o->last_step < 0 ? found - 1 : (uint32_t)o->last_step;
    if (first > last || last >= found)
        return rlt_fail(err, RLT_ERANGE, k->path,
                        "expected steps within the recorded 0:%" PRIu32 ", got %" PRIu32 ":%" PRIu32,
                        found - 1, first, last);
    if (k->n_steps > 0)
        *w = (rlt_kin_window){.begin = k->steps[first].begin,
                              .end = k->steps[last].end,
                              .first_step = first,
                              .n_steps = last - first + 1};
    if (w->end - w->begin > RLT_TIME_MAX / RLT_NS)
        return rlt_fail(err, RLT_ERANGE, k->path, "the recording spans more than 26 days");
    return 0;
}

/* Finds the begin of the earliest rank. All ranks must have equally many steps. */
static int find_epoch(rlt_kin_run *run, rlt_error *err)
{
    int64_t last = INT64_MIN;
    rlt_kin_window w, first = {0};
    run->epoch = INT64_MAX;
    for (uint32_t i = 0; i < run->n_files; i++) {
        const rlt_kin_recording *k = &run->recordings[i];
        int rc = rlt__kin_window(run, k, &w, err);
        if (rc < 0)
            return rc;
        if (i == 0)
            first = w;
        if (w.n_steps != first.n_steps)
            return rlt_fail(err, RLT_ESCHEMA, k->path,
                            "has %" PRIu32 " steps, but %.300s has %" PRIu32
                            ": choose steps that all recordings have (--steps)",
                            w.n_steps, run->recordings[0].path, first.n_steps);
        int64_t begin = k->base + w.begin;
        run->epoch = begin < run->epoch ? begin : run->epoch;
        last = begin > last ? begin : last;
    }
    if (last - run->epoch > RLT_TIME_MAX / RLT_NS / 2)
        return rlt_fail(
            err, RLT_ERANGE, run->recordings[0].path,
            "the clocks of the ranks differ by more than 13 days: expected recordings of one run");
    return 0;
}

static int load_host_traces(rlt_kin_run *run, rlt_error *err)
{
    char **paths = NULL;
    uint32_t n = 0;
    if (!run->opts->host_trace_dir)
        return 0;
    int rc = rlt_trace_files(&run->opts->host_trace_dir, 1, &paths, &n, err);
    if (rc < 0)
        return rc;
    run->host_traces = calloc((size_t)n + 1, sizeof *run->host_traces);
    if (!run->host_traces)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = rlt_host_trace_load(paths[i], &run->host_traces[i], err);
        run->n_host_traces += rc == 0;
    }
    for (uint32_t i = 0; i < run->n_host_traces; i++)
        if (n == 1 && run->host_traces[i].rank == RLT_NONE)
            run->host_traces[i].rank = run->n_files == 1 ? run->recordings[0].rank : 0;
    free(paths);
    return rc;
}

int rlt__kin_run_open(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                      const rlt_read_options *opts, rlt_kin_run *run, rlt_error *err)
{
    *run = (rlt_kin_run){.format = format, .opts = opts};
    if (n == 0 || n > RLT_KIN_MAX_FILES)
        return rlt_fail(err, RLT_EUSAGE, NULL, "got %" PRIu32 " recordings: expected 1 to %d", n,
                        (int)RLT_KIN_MAX_FILES);
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = format->parse(run, paths[i], opts->step_mark ? opts->step_mark : "ProfilerStep#", err);
    if (rc == 0 && run->n_files == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, paths[0], "no device work is recorded here; %s", format->device);
    if (rc == 0 && format->join)
        rc = format->join(run, err);
    if (rc == 0)
        name_ranks(run);
    rc = rc ? rc : assign_ranks(run, err);
    return rc ? rc : load_host_traces(run, err);
}

void rlt__kin_run_close(rlt_kin_run *run)
{
    for (uint32_t i = 0; i < run->n_files; i++)
        rlt__kin_recording_free(&run->recordings[i]);
    for (uint32_t i = 0; i < run->n_host_traces; i++)
        rlt_host_trace_free(&run->host_traces[i]);
    free(run->recordings);
    free(run->host_traces);
    free(run->by_rank);
}

static void note_files(const rlt_kin_run *run, rlt_builder *b)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < run->n_files; i++) {
        const rlt_kin_recording *k = &run->recordings[i];
        hash = rlt_mix64(hash ^ k->hash) + i;
        if (k->unknown_cats)
            rlt_build_note(b, k->unknown_cats, "events of an unknown category ('%s') ignored",
                           k->unknown_cat);
        if (k->no_time)
            rlt_build_note(b, k->no_time, "events without a time ignored");
        if (k->negative)
            rlt_build_note(b, k->negative, "events with a negative duration: taken as 0");
        if (k->n_steps == 0)
            rlt_build_note(b, 1, "recordings without step marks: taken as one step");
    }
    if (run->n_aligned)
        rlt_build_note(b, run->n_aligned,
                       "recordings with clocks aligned by the ends of collectives (by up to %" PRId64 " us)",
                       run->largest_offset / 1000);
    for (uint32_t i = 0; i < run->n_host_traces; i++)
        hash = rlt_mix64(hash ^ run->host_traces[i].hash) + i;
    rlt_build_hash(b, hash);
}

static bool played_later(const rlt_kin_run *run, uint32_t rank)
{
    for (uint32_t r = rank + 1; r < run->n_ranks; r++)
        if (run->by_rank[r] == run->by_rank[rank])
            return true;
    return false;
}

/* Builds the program. Frees a recording as soon as no further rank needs it: its events are as large as the
 * program. */
static int build(rlt_kin_run *run, rlt_program **out, rlt_error *err)
{
    rlt_builder *b;
    const char *path = NULL;
    int rc = rlt_builder_create(run->n_ranks, &b, err);
    if (rc < 0)
        return rc;
    note_files(run, b);
    for (uint32_t r = 0; r < run->n_ranks && rc == 0 && !rlt_build_failed(b); r++) {
        if (run->by_rank[r] == RLT_NONE)
            continue;
        rlt_kin_recording *k = &run->recordings[run->by_rank[r]];
        rc = rlt__kin_graph(run, k, r, b, err);
        path = rlt_build_failed(b) ? k->path : NULL;
        if (k->rank != r)
            rlt_build_note(b, 1, "ranks replaced by the recording of another rank");
        if (!played_later(run, r))
            rlt__kin_recording_free(k);
    }
    if (rc < 0) {
        rlt_builder_free(b);
        return rc;
    }
    rc = rlt_builder_finish(b, run->format->reader, out, err);
    if (rc < 0 && path && err && !err->where[0])
        rlt_error_prefix(err, path);
    return rc;
}

/* Finds the early collectives that all recordings have alike. Ranks match collectives by order, so one that
 * only some recordings contain cannot be simulated. */
static int share_early(rlt_kin_run *run, rlt_error *err)
{
    uint64_t *shared = NULL;
    int rc = 0;
    for (uint32_t i = 0; i < run->n_files && rc == 0 && !run->opts->keep_waits; i++) {
        rlt_kin_comms *c;
        rc = rlt__kin_survey(run, &run->recordings[i], &c, err);
        rc = rc ? rc : rlt__kin_comms_share(c, &shared, &run->n_early_shared, err);
        rlt__kin_comms_free(c);
    }
    free(shared);
    return rc;
}

int rlt__kin_read(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                  const rlt_read_options *opts, rlt_program **out, rlt_error *err)
{
    rlt_kin_run run;
    *out = NULL;
    int rc = rlt__kin_run_open(format, paths, n, opts, &run, err);
    rc = rc ? rc : replicate_ranks(&run, err);
    rc = rc ? rc : rlt__kin_align_clocks(&run, err);
    rc = rc ? rc : find_epoch(&run, err);
    rc = rc ? rc : share_early(&run, err);
    rc = rc ? rc : build(&run, out, err);
    rlt__kin_run_close(&run);
    return rc;
}

static const rlt_kin_format pytorch = {
    .reader = "kineto",
    .parse = rlt__kin_parse,
    .steps = "call profiler.step() once an iteration",
    .sizes = "record with PyTorch 2.4 or later and record_shapes=True, or give host execution traces "
             "(ExecutionTraceObserver) with --host-trace",
    .device = "profile with ProfilerActivity.CUDA",
    .host = "profile with ProfilerActivity.CPU",
    .syncs = "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)",
};

static int read_kineto(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                       rlt_error *err)
{
    return rlt__kin_read(&pytorch, paths, n, opts, out, err);
}

static int check_kineto(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                        rlt_error *err)
{
    return rlt__kin_check(&pytorch, paths, n, opts, text, err);
}

static int probe_kineto(const char *path, const char *head, size_t n)
{
    size_t at = 0;
    while (at < n && isspace((unsigned char)head[at]))
        at++;
    if (at == n || head[at] != '{')
        return 0;
    if (rlt_contains(head, n, "\"traceEvents\""))
        return 95;
    bool keys = rlt_contains(head, n, "\"schemaVersion\"") + rlt_contains(head, n, "\"deviceProperties\"") +
                    rlt_contains(head, n, "\"distributedInfo\"") +
                    rlt_contains(head, n, "\"baseTimeNanoseconds\"") >=
                2;
    return keys ? 90 : strstr(path, ".pt.trace.json") ? 60 : 0;
}

const rlt_reader rlt_reader_kineto = {
    .name = "kineto",
    .summary = "PyTorch profiler recordings (Kineto JSON, .json or .json.gz), one per rank",
    .probe = probe_kineto,
    .read = read_kineto,
    .check = check_kineto,
};
