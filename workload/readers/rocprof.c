/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads recordings of AMD's rocprofv3. A process is one rank.
 *
 *   CSV    NAME_kernel_trace.csv of each process, and beside it, if they are there, NAME_hip_api_trace.csv
 *          (calls of the host), NAME_memory_copy_trace.csv, NAME_marker_api_trace.csv (steps) and
 *          NAME_rccl_api_trace.csv
 *   JSON   NAME_results.json: "rocprofiler-sdk-tool" lists processes. Their buffer_records hold the same
 *          kinds; names stand apart, in strings and kernel_symbols.
 *
 * Times are in ns. Calls and work share a correlation id. rocprofv3 does not record the bytes of RCCL's
 * operations.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/kineto.h"

#define MAX_FILE_BYTES  ((size_t)4 << 30)
#define LATEST_NS       UINT64_C(2000000000000000000)
#define MAX_DURATION_NS (RLT_TIME_MAX / RLT_NS)
enum { MAX_PATH_BYTES = 1 << 14 };

static const char kernels_end[] = "kernel_trace.csv", json_key[] = "rocprofiler-sdk-tool";

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
    int column[N_COLUMNS]; /* -1: absent */
    const char **given;    /* cells of a record in JSON; NULL: those of the line */
    rlt_error *err;
} table;

static const char *cell(const table *t, int column)
{
    return t->given ? t->given[column] : rlt_csv_cell(&t->csv, t->column[column]);
}

static void put_times(table *t, rlt_kin_event *e, uint64_t begin, uint64_t end, uint64_t correlation)
{
    *e = (rlt_kin_event){.ts = (int64_t)begin,
                         .dur = end > begin ? (int64_t)(end - begin) : 0,
                         .correlation = correlation ? (int64_t)correlation : -1,
                         .name = RLT_NONE,
                         .attributes = RLT_NONE};
    t->k->negative += end < begin;
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
    put_times(t, e, begin, end, correlation);
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

/* ---- JSON ---- */

/* A process while it is read: names of its operations, kernels and markers. */
typedef struct process {
    table t;
    rlt_json kinds;           /* by kind: names of its operations */
    rlt_map kernels, markers; /* by id, and by correlation: index into `names` */
    rlt_strings names;
    uint64_t correlation;
    const char *cells[N_COLUMNS];
    char text[N_COLUMNS][32];
} process;

static int keep_names(process *p, rlt_map *of, rlt_json list, const char *id, const char *name)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint64_t key = 0;
        const char *text = NULL;
        if ((rc = rlt_json_get_u64(v, id, true, INT64_MAX, &key, p->t.err)) ||
            (rc = rlt_json_get_string(v, name, true, &text, p->t.err)))
            return rc;
        uint32_t index = rlt_intern(&p->names, text, strlen(text));
        if (index == RLT_NONE || rlt_map_put(of, key, index))
            rc = rlt_nomem(p->t.err);
    }
    return rc;
}

static int get_object(process *p, rlt_json v, const char *key, rlt_json *out)
{
    *out = rlt_json_get(v, key);
    return rlt_json_is_object(*out) ? 0
                                    : rlt_json_fail(v, RLT_ESCHEMA, p->t.err, "expected an object %s", key);
}

/* Lets a cell be the number under `key`, or its handle if it is an object. */
static int take_number(process *p, int column, rlt_json object, const char *key)
{
    rlt_json v = rlt_json_get(object, key), handle = rlt_json_get(v, "handle");
    p->cells[column] = rlt_json_scalar(rlt_json_is(handle) ? handle : v, p->text[column], sizeof p->text[0]);
    if (p->cells[column])
        return 0;
    return rlt_json_fail(object, RLT_ESCHEMA, p->t.err, "expected a member %s, as rocprofv3 writes it", key);
}

/* Lets a cell be the name of the record's operation. */
static int take_operation(process *p, int column, rlt_json record)
{
    uint64_t kind = 0, operation = 0;
    int rc = rlt_json_get_u64(record, "kind", true, UINT16_MAX, &kind, p->t.err);
    rc = rc ? rc : rlt_json_get_u64(record, "operation", true, UINT16_MAX, &operation, p->t.err);
    if (rc)
        return rc;
    rlt_json names = rlt_json_get(rlt_json_at(p->kinds, (uint32_t)kind), "operations");
    p->cells[column] = rlt_json_string(rlt_json_at(names, (uint32_t)operation));
    return p->cells[column]
               ? 0
               : rlt_json_fail(record, RLT_ESCHEMA, p->t.err, "strings has no name of this operation");
}

static int put_kernel(process *p, rlt_json record)
{
    rlt_json info;
    uint64_t kernel = 0;
    int rc = get_object(p, record, "dispatch_info", &info);
    rc = rc ? rc : take_number(p, AGENT, info, "agent_id");
    rc = rc ? rc : take_number(p, QUEUE, info, "queue_id");
    rc = rc ? rc : rlt_json_get_u64(info, "kernel_id", true, INT64_MAX, &kernel, p->t.err);
    uint32_t name = rc ? RLT_NONE : rlt_map_get(&p->kernels, kernel);
    if (!rc && name == RLT_NONE)
        rc = rlt_json_fail(info, RLT_ESCHEMA, p->t.err, "kernel_symbols has no kernel %llu",
                           (unsigned long long)kernel);
    p->cells[NAME] = name == RLT_NONE ? "" : rlt_interned(&p->names, name);
    return rc;
}

static int put_copy(process *p, rlt_json record)
{
    int rc = take_operation(p, DIRECTION, record);
    return rc ? rc : take_number(p, TARGET, record, "dst_agent_id");
}

static int put_call(process *p, rlt_json record)
{
    int rc = take_operation(p, FUNCTION, record);
    return rc ? rc : take_number(p, THREAD, record, "thread_id");
}

static int put_marker(process *p, rlt_json record)
{
    uint32_t name = rlt_map_get(&p->markers, p->correlation);
    p->cells[FUNCTION] = name == RLT_NONE ? "" : rlt_interned(&p->names, name);
    return take_number(p, THREAD, record, "thread_id");
}

static const struct record {
    const char *key;
    int (*put)(process *p, rlt_json record); /* fills the cells */
    int (*take)(table *t, rlt_kin_event *e);
} records[] = {{"kernel_dispatch", put_kernel, take_kernel},
               {"memory_copy", put_copy, take_copy},
               {"hip_api", put_call, take_call},
               {"marker_api", put_marker, take_marker},
               {"rccl_api", put_call, take_rccl}};

static int take_record(process *p, const struct record *kind, rlt_json record)
{
    rlt_json stream = rlt_json_get(record, "stream_id"), id;
    uint64_t begin = 0, end = 0;
    rlt_kin_event e;
    int rc = get_object(p, record, "correlation_id", &id);
    rc = rc ? rc : rlt_json_get_u64(id, "internal", true, INT64_MAX, &p->correlation, p->t.err);
    rc = rc ? rc : rlt_json_get_u64(record, "start_timestamp", true, LATEST_NS, &begin, p->t.err);
    rc = rc ? rc : rlt_json_get_u64(record, "end_timestamp", true, LATEST_NS, &end, p->t.err);
    if (!rc && end > begin && end - begin > (uint64_t)MAX_DURATION_NS)
        rc = rlt_json_fail(record, RLT_ERANGE, p->t.err, "an event lasts more than 26 days");
    p->t.column[STREAM] = rlt_json_is(stream) ? 0 : -1;
    if (!rc && rlt_json_is(stream))
        rc = take_number(p, STREAM, record, "stream_id");
    if (rc || (rc = kind->put(p, record)))
        return rc;
    put_times(&p->t, &e, begin, end, p->correlation);
    return kind->take(&p->t, &e);
}

static int take_process(process *p, rlt_json v)
{
    rlt_json strings, all, metadata;
    int rc = get_object(p, v, "metadata", &metadata);
    rc = rc ? rc : take_number(p, PROCESS, metadata, "pid");
    rc = rc ? rc : get_object(p, v, "strings", &strings);
    rc = rc ? rc : get_object(p, v, "buffer_records", &all);
    if (rc)
        return rc;
    p->kinds = rlt_json_get(strings, "buffer_records");
    rc = keep_names(p, &p->markers, rlt_json_get(strings, "marker_api"), "key", "value");
    rc = rc ? rc
            : keep_names(p, &p->kernels, rlt_json_get(v, "kernel_symbols"), "kernel_id",
                         "formatted_kernel_name");
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        for (rlt_json r = rlt_json_first(rlt_json_get(all, records[i].key)); rlt_json_is(r) && !rc;
             r = rlt_json_next(r))
            rc = take_record(p, &records[i], r);
    return rc;
}

static int read_process(rlt_kin_run *run, const char *path, const char *mark, rlt_json v, rlt_error *err)
{
    process *p = calloc(1, sizeof *p);
    size_t begin, end;
    if (!p)
        return rlt_nomem(err);
    int rc = rlt__kin_add(run, path, &p->t.k, err);
    p->t.mark = mark;
    p->t.err = err;
    p->t.given = p->cells;
    rc = rc ? rc : take_process(p, v);
    if (!rc) {
        rlt_json_extent(v, &begin, &end);
        p->t.k->hash = rlt_hash_words(rlt_json_text(v.doc) + begin, end - begin, 0);
        rlt__kin_order_steps(p->t.k);
    }
    rlt_map_free(&p->kernels);
    rlt_map_free(&p->markers);
    rlt_strings_free(&p->names);
    free(p);
    return rc;
}

static int parse_json(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    rlt_json list = rlt_json_get(rlt_json_root(doc), json_key);
    if (rlt_json_count(list) == 0)
        rc = rlt_json_fail(rlt_json_root(doc), RLT_ESCHEMA, err, "expected a list %s", json_key);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_process(run, path, mark, v, err);
    rlt_json_free(doc);
    return rc;
}

/* ---- both ---- */

/* Returns the length of the name of the process, before the end of a kind; -1: the file is of another
 * kind. */
static int stem_of(const char *path, const struct kind *kind)
{
    size_t n = strlen(path), end = strlen(kind->end);
    return n >= end && strcmp(path + n - end, kind->end) == 0 ? (int)(n - end) : -1;
}

/* Returns true for a file that is read with the kernels of its process, or not needed: the JSON of a process
 * whose CSV is there, too, holds the same. */
static bool is_beside(const char *path)
{
    static const struct kind agents = {.end = "agent_info.csv"}, json = {.end = "results.json"};
    char csv[MAX_PATH_BYTES];
    int stem = stem_of(path, &json);
    bool beside = stem_of(path, &agents) >= 0;
    if (stem >= 0 && stem < (int)(sizeof csv - sizeof kernels_end)) {
        snprintf(csv, sizeof csv, "%.*s%s", stem, path, kernels_end);
        beside = access(csv, F_OK) == 0;
    }
    for (uint32_t i = 1; i < N_KINDS && !beside; i++)
        beside = stem_of(path, &kinds[i]) >= 0;
    return beside;
}

static bool begins_object(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && memchr(" \t\r\n", head[i], 4))
        i++;
    return i < n && head[i] == '{';
}

static int parse(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err)
{
    rlt_kin_recording *k;
    char beside[MAX_PATH_BYTES], head[64];
    size_t length = 0;
    int stem = stem_of(path, &kinds[0]), rc;
    if (is_beside(path))
        return 0;
    if ((rc = rlt_read_head(path, head, sizeof head, &length, err)))
        return rc;
    if (begins_object(head, length))
        return parse_json(run, path, mark, err);
    table *t = calloc(1, sizeof *t);
    if (!t)
        return rlt_nomem(err);
    rc = rlt__kin_add(run, path, &k, err);
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
    .device = "record with rocprofv3 --runtime-trace --output-format csv (or json)",
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
    if (begins_object(head, n) && rlt_contains(head, n, json_key))
        return 95;
    snprintf(first, sizeof first, "%.*s", (int)(line < sizeof first ? line : sizeof first - 1), head);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(first, words[i]))
            return 0;
    return 95;
}

const rlt_reader rlt_reader_rocprof = {
    .name = "rocprof",
    .summary = "rocprofv3 recordings of AMD GPUs: NAME_kernel_trace.csv or NAME_results.json of each rank",
    .probe = probe,
    .read = read_rocprof,
    .check = check_rocprof,
};
