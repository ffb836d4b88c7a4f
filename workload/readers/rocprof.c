/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads recordings of AMD's rocprofv3 (CSV): NAME_kernel_trace.csv of each process, which is one rank, and
 * beside it, if they are there, NAME_hip_api_trace.csv (calls of the host), NAME_memory_copy_trace.csv,
 * NAME_marker_api_trace.csv (steps) and NAME_rccl_api_trace.csv. Times are in ns. Calls and work share a
 * correlation id. rocprofv3 does not record the bytes of RCCL's operations.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/kineto.h"

#define MAX_FILE_BYTES  ((size_t)4 << 30)
#define LATEST_NS       UINT64_C(2000000000000000000)
#define MAX_DURATION_NS (RLT_TIME_MAX / RLT_NS)
enum { MAX_PATH_BYTES = 1 << 14 };

static const char kernels_end[] = "kernel_trace.csv";

enum {
    FUNCTION,
    THREAD,
    PROCESS,
    AGENT,
    QUEUE,
    STREAM,
    NAME,
    DIRECTION,
    TARGET,
    CORRELATION,
    BEGIN,
    END,
    N_COLUMNS
};
static const char *const column_names[] = {
    "Function",    "Thread_Id", "Process_Id",           "Agent_Id",       "Queue_Id",        "Stream_Id",
    "Kernel_Name", "Direction", "Destination_Agent_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"};

/* A file while it is read. */
typedef struct table {
    rlt_kin_recording *k;
    const char *mark;
    rlt_csv csv;
    int column[N_COLUMNS];
    rlt_error *err;
} table;

static const char *cell(const table *t, int column)
{
    return rlt_csv_cell(&t->csv, t->column[column]);
}

/* Reads times and correlation of the line. */
static int read_times(table *t, rlt_kin_event *e)
{
    uint64_t begin, end, correlation;
    int rc = rlt_csv_whole(&t->csv, t->column[BEGIN], LATEST_NS, &begin, t->err);
    rc = rc ? rc : rlt_csv_whole(&t->csv, t->column[END], LATEST_NS, &end, t->err);
    rc = rc ? rc : rlt_csv_whole(&t->csv, t->column[CORRELATION], INT64_MAX, &correlation, t->err);
    if (rc)
        return rc;
    *e = (rlt_kin_event){.ts = (int64_t)begin,
                         .dur = end > begin ? (int64_t)(end - begin) : 0,
                         .correlation = correlation ? (int64_t)correlation : -1,
                         .name = RLT_NONE,
                         .attributes = RLT_NONE};
    t->k->negative += end < begin;
    if (e->dur > MAX_DURATION_NS)
        return rlt_csv_fail(&t->csv, t->column[END], RLT_ERANGE, t->err, "an event lasts more than 26 days");
    return 0;
}

static int keep_work(table *t, rlt_kin_event *e, const char *name, const char *agent, const char *stream)
{
    size_t length = strlen(name);
    e->row = rlt__kin_row(t->k, 'd', agent, stream);
    e->name = rlt_intern(&t->k->strings, name, length < 120 ? length : 120);
    return e->name == RLT_NONE ? rlt_nomem(t->err) : rlt__kin_keep(t->k, e, t->err);
}

static int take_kernel(table *t, rlt_kin_event *e)
{
    const char *name = cell(t, NAME);
    e->cat = RLT_KIN_KERNEL;
    e->role = rlt__kin_is_nccl(name) ? RLT_KIN_NCCL : RLT_KIN_PLAIN;
    return keep_work(t, e, name, cell(t, AGENT), cell(t, t->column[STREAM] >= 0 ? STREAM : QUEUE));
}

static int take_copy(table *t, rlt_kin_event *e)
{
    const char *direction = cell(t, DIRECTION);
    e->cat = RLT_KIN_MEMORY;
    return keep_work(t, e,
                     strstr(direction, "HOST_TO_DEVICE")   ? "Memcpy HtoD"
                     : strstr(direction, "DEVICE_TO_HOST") ? "Memcpy DtoH"
                                                           : "Memcpy DtoD",
                     "copies", t->column[STREAM] >= 0 ? cell(t, STREAM) : cell(t, TARGET));
}

static int take_call(table *t, rlt_kin_event *e)
{
    e->cat = RLT_KIN_RUNTIME;
    e->role = (uint8_t)rlt__kin_runtime_role(cell(t, FUNCTION));
    e->row = rlt__kin_row(t->k, 'h', cell(t, PROCESS), cell(t, THREAD));
    return rlt__kin_keep(t->k, e, t->err);
}

static int take_marker(table *t, rlt_kin_event *e)
{
    const char *name = cell(t, FUNCTION);
    rlt_kin_step s = {.begin = e->ts, .end = rlt__kin_end(e)};
    if (strncmp(name, t->mark, strlen(t->mark)) != 0)
        return 0;
    s.row = rlt__kin_row(t->k, 'h', cell(t, PROCESS), cell(t, THREAD));
    return rlt__kin_keep_step(t->k, &s, t->err);
}

/* Waits inside a call of RCCL are its own. */
static int take_rccl(table *t, rlt_kin_event *e)
{
    const char *name = cell(t, FUNCTION);
    if (strncmp(name, "nccl", 4) != 0 || strstr(name, "Comm") || strcmp(name, "ncclGroupStart") == 0)
        return 0;
    e->cat = RLT_KIN_CPU_OP;
    e->role = RLT_KIN_COMMS;
    e->correlation = -1;
    e->row = rlt__kin_row(t->k, 'h', cell(t, PROCESS), cell(t, THREAD));
    return rlt__kin_keep(t->k, e, t->err);
}

static const struct kind {
    const char *end;                  /* end of the name of its file */
    uint32_t required[N_COLUMNS + 1]; /* columns, ends with N_COLUMNS */
    int (*take)(table *t, rlt_kin_event *e);
} kinds[] = {
    {kernels_end, {AGENT, QUEUE, NAME, CORRELATION, BEGIN, END, N_COLUMNS}, take_kernel},
    {"memory_copy_trace.csv", {DIRECTION, TARGET, CORRELATION, BEGIN, END, N_COLUMNS}, take_copy},
    {"hip_api_trace.csv", {FUNCTION, PROCESS, THREAD, CORRELATION, BEGIN, END, N_COLUMNS}, take_call},
    {"marker_api_trace.csv", {FUNCTION, PROCESS, THREAD, CORRELATION, BEGIN, END, N_COLUMNS}, take_marker},
    {"rccl_api_trace.csv", {FUNCTION, PROCESS, THREAD, CORRELATION, BEGIN, END, N_COLUMNS}, take_rccl}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int read_lines(table *t, const struct kind *kind, const char *path, const char *text, size_t length)
{
    rlt_kin_event e;
    int rc = rlt_csv_begin(&t->csv, path, text, length, t->err);
    for (int c = 0; c < N_COLUMNS && !rc; c++)
        t->column[c] = rlt_csv_column(&t->csv, column_names[c]);
    for (const uint32_t *c = kind->required; *c != N_COLUMNS && !rc; c++)
        if (t->column[*c] < 0)
            return rlt_fail(t->err, RLT_ESCHEMA, path, "expected a column %s, as rocprofv3 writes it",
                            column_names[*c]);
    while (!rc && (rc = rlt_csv_next(&t->csv, t->err)) == 1) {
        rc = read_times(t, &e);
        rc = rc ? rc : kind->take(t, &e);
    }
    return rc;
}

static int read_file(table *t, const struct kind *kind, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, t->err);
    rc = rc ? rc : read_lines(t, kind, path, text, length);
    if (!rc)
        t->k->hash = rlt_hash_words(text, length, t->k->hash);
    free(text);
    return rc;
}

/* Returns the length of the name of the process, before the end of a kind; -1: the file is of another
 * kind. */
static int stem_of(const char *path, const struct kind *kind)
{
    size_t n = strlen(path), end = strlen(kind->end);
    return n >= end && strcmp(path + n - end, kind->end) == 0 ? (int)(n - end) : -1;
}

/* Returns true for a file that is read with the kernels of its process, or not needed. */
static bool is_beside(const char *path)
{
    static const struct kind agents = {.end = "agent_info.csv"};
    bool beside = stem_of(path, &agents) >= 0;
    for (uint32_t i = 1; i < N_KINDS && !beside; i++)
        beside = stem_of(path, &kinds[i]) >= 0;
    return beside;
}

static int parse(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err)
{
    rlt_kin_recording *k;
    char beside[MAX_PATH_BYTES];
    int stem = stem_of(path, &kinds[0]);
    if (is_beside(path))
        return 0;
    table *t = calloc(1, sizeof *t);
    if (!t)
        return rlt_nomem(err);
    int rc = rlt__kin_add(run, path, &k, err);
    t->k = k;
    t->mark = mark;
    t->err = err;
    rc = rc ? rc : read_file(t, &kinds[0], path);
    for (uint32_t i = 1; i < N_KINDS && !rc && stem >= 0; i++) {
        int n = snprintf(beside, sizeof beside, "%.*s%s", stem, path, kinds[i].end);
        if (n > 0 && n < MAX_PATH_BYTES && access(beside, F_OK) == 0)
            rc = read_file(t, &kinds[i], beside);
    }
    if (!rc)
        rlt__kin_order_steps(k);
    free(t);
    return rc;
}

static const rlt_kin_format rocprof = {
    .reader = "rocprof",
    .parse = parse,
    .steps = "wrap each iteration in a roctx range, record with rocprofv3 --marker-trace, and name the "
             "prefix with --step-mark",
    .sizes = "rocprofv3 does not record them; give PyTorch's host execution traces "
             "(ExecutionTraceObserver) with --host-trace, or keep recorded times (--keep-waits)",
    .device = "record with rocprofv3 --runtime-trace --output-format csv",
    .syncs = "rocprofv3 does not record them",
};

static int read_rocprof(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                        rlt_error *err)
{
    return rlt__kin_read(&rocprof, paths, n, opts, out, err);
}

static int check_rocprof(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                         rlt_error *err)
{
    return rlt__kin_check(&rocprof, paths, n, opts, text, err);
}

static int probe(const char *path, const char *head, size_t n)
{
    static const char *const words[] = {"Kind", "Agent_Id", "Kernel_Name", "Start_Timestamp"};
    const char *end = memchr(head, '\n', n);
    size_t line = end ? (size_t)(end - head) : n;
    char first[2048];
    if (stem_of(path, &kinds[0]) >= 0 || is_beside(path))
        return 90;
    snprintf(first, sizeof first, "%.*s", (int)(line < sizeof first ? line : sizeof first - 1), head);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(first, words[i]))
            return 0;
    return 95;
}

const rlt_reader rlt_reader_rocprof = {
    .name = "rocprof",
    .summary = "rocprofv3 recordings of AMD GPUs (CSV), NAME_kernel_trace.csv of each rank",
    .probe = probe,
    .read = read_rocprof,
    .check = check_rocprof,
};
