/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads recordings of Nsight Systems, exported with `nsys export --type sqlite`. A file holds the processes
 * of one profiled command; each process that launched device work is a rank. Kernels, copies and runtime
 * calls share a correlation id inside a process. Synchronisations name streams and events. Sizes of
 * collectives come from the payloads that NCCL attaches to its NVTX ranges: see calls.c.
 */
#include "workload/readers/nsys/nsys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* Times must be before the year 2033, so that sums and differences fit. */
#define LATEST_NS       2000000000000000000
#define MAX_DURATION_NS (RLT_TIME_MAX / RLT_NS)
/* A thread's id is the low part of its global id; the rest is that of its process. */
#define THREAD_BITS 0xffffff
enum { MAX_PROCESSES = 1 << 16 };

int rlt__nsys_times(rlt_nsys_file *f, rlt_rows *r, int64_t *begin, int64_t *duration)
{
    int64_t end = rlt__row_number(r, 1);
    if (rlt__row_is_null(r, 0) || rlt__row_is_null(r, 1))
        return 0;
    *begin = rlt__row_number(r, 0);
    if (*begin < -LATEST_NS || *begin > LATEST_NS || end < -LATEST_NS || end > LATEST_NS)
        return rlt_fail(f->err, RLT_ERANGE, f->path, "table %s: a time outside +-2e18 ns", f->table);
    *duration = end > *begin ? end - *begin : 0;
    if (*duration > MAX_DURATION_NS)
        return rlt_fail(f->err, RLT_ERANGE, f->path, "table %s: an event lasts more than 26 days", f->table);
    f->hash = rlt_mix64(f->hash ^ (uint64_t)*begin) + (uint64_t)*duration;
    return 1;
}

int rlt__nsys_each(rlt_nsys_file *f, const char *sql, int (*take)(rlt_nsys_file *f, rlt_rows *r))
{
    rlt_rows *r = NULL;
    int rc = rlt__rows_open(f->db, sql, &r, f->err);
    while (rc == 0 && (rc = rlt__rows_next(r, f->err)) == 1)
        rc = take(f, r);
    rlt__rows_close(r);
    return rc;
}

static rlt_nsys_process *find_process(rlt_nsys_file *f, int64_t id)
{
    if (f->last < f->n_processes && f->processes[f->last].id == id)
        return &f->processes[f->last];
    for (uint32_t i = 0; i < f->n_processes; i++)
        if (f->processes[i].id == id)
            return &f->processes[f->last = i];
    return NULL;
}

rlt_kin_recording *rlt__nsys_recording(rlt_nsys_file *f, int64_t global)
{
    const rlt_nsys_process *p = find_process(f, global & ~(int64_t)THREAD_BITS);
    return p ? &f->run->recordings[p->recording] : NULL;
}

uint32_t rlt__nsys_thread(rlt_kin_recording *k, int64_t thread)
{
    return rlt__kin_row_of(k, 'h', thread >> 24 & THREAD_BITS, thread & THREAD_BITS);
}

static int add_process(rlt_nsys_file *f, int64_t id, int64_t device, rlt_nsys_process **out)
{
    rlt_kin_recording *k;
    int rc = rlt_grow(&f->processes, &f->processes_capacity, sizeof *f->processes,
                      (uint64_t)f->n_processes + 1, MAX_PROCESSES, "processes", f->err);
    rc = rc ? rc : rlt__kin_add(f->run, f->path, &k, f->err);
    if (rc)
        return rc;
    k->base = f->base;
    *out = &f->processes[f->n_processes++];
    **out = (rlt_nsys_process){.id = id, .device = device, .recording = f->run->n_files - 1};
    return 0;
}

/* ---- device work: begin, end, process, device, stream, correlation, name */

static int take_work(rlt_nsys_file *f, rlt_rows *r, rlt_kin_cat cat, const char *name, rlt_kin_role role)
{
    int64_t id = rlt__row_number(r, 2) & ~(int64_t)THREAD_BITS, device = rlt__row_number(r, 3);
    rlt_nsys_process *p = find_process(f, id);
    rlt_kin_event e = {.correlation = rlt__row_number(r, 5),
                       .attributes = RLT_NONE,
                       .cat = (uint8_t)cat,
                       .role = (uint8_t)role};
    size_t length = strlen(name);
    int rc = rlt__nsys_times(f, r, &e.ts, &e.dur);
    if (rc <= 0)
        return rc;
    if (!p && (rc = add_process(f, id, device, &p)) < 0)
        return rc;
    if (role == RLT_KIN_NCCL && !p->communicates) {
        p->communicates = true;
        p->device = device;
    }
    rlt_kin_recording *k = &f->run->recordings[p->recording];
    k->negative += rlt__row_number(r, 1) < e.ts;
    e.row = rlt__kin_row_of(k, 'd', device, rlt__row_number(r, 4));
    e.name = rlt_intern(&k->strings, name, length < 120 ? length : 120);
    return e.name == RLT_NONE ? rlt_nomem(f->err) : rlt__kin_keep(k, &e, f->err);
}

static int take_kernel(rlt_nsys_file *f, rlt_rows *r)
{
    const char *name = rlt__row_text(r, 6);
    return take_work(f, r, RLT_KIN_KERNEL, name, rlt__kin_is_nccl(name) ? RLT_KIN_NCCL : RLT_KIN_PLAIN);
}

static int take_graph(rlt_nsys_file *f, rlt_rows *r)
{
    return take_work(f, r, RLT_KIN_KERNEL, "CUDA graph", RLT_KIN_PLAIN);
}

/* Column 6 is the kind of the copy, column 7 whether host memory is pageable. */
static int take_copy(rlt_nsys_file *f, rlt_rows *r)
{
    int64_t kind = rlt__row_number(r, 6);
    const char *name = kind == 1    ? "Memcpy HtoD"
                       : kind == 2  ? "Memcpy DtoH"
                       : kind == 8  ? "Memcpy DtoD"
                       : kind == 10 ? "Memcpy PtoP"
                                    : "Memcpy";
    bool blocks = kind == 2 && rlt__row_number(r, 7);
    return take_work(f, r, RLT_KIN_MEMORY, name, blocks ? RLT_KIN_PAGEABLE_DTOH : RLT_KIN_PLAIN);
}

static int take_set(rlt_nsys_file *f, rlt_rows *r)
{
    return take_work(f, r, RLT_KIN_MEMORY, "Memset", RLT_KIN_PLAIN);
}

#define WORK "SELECT start, \"end\", globalPid, deviceId, streamId, correlationId, "

static int read_work(rlt_nsys_file *f)
{
    char sql[400];
    const char *name = "CUPTI_ACTIVITY_KIND_KERNEL";
    int rc = 0;
    if (rlt__database_has(f->db, f->table = name, NULL)) {
        snprintf(sql, sizeof sql, WORK "value FROM %s LEFT JOIN StringIds ON id = %s", name,
                 rlt__database_has(f->db, name, "demangledName") ? "demangledName" : "shortName");
        rc = rlt__nsys_each(f, sql, take_kernel);
    }
    f->table = name = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    if (!rc && rlt__database_has(f->db, name, NULL))
        rc = rlt__nsys_each(f, WORK "0 FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE", take_graph);
    f->table = name = "CUPTI_ACTIVITY_KIND_MEMCPY";
    if (!rc && rlt__database_has(f->db, name, NULL)) {
        bool kinds = rlt__database_has(f->db, name, "dstKind") &&
                     rlt__database_has(f->db, "ENUM_CUDA_MEM_KIND", "label");
        snprintf(sql, sizeof sql, WORK "copyKind, %s FROM %s",
                 kinds ? "dstKind IN (SELECT id FROM ENUM_CUDA_MEM_KIND WHERE label LIKE '%pageable%')" : "0",
                 name);
        rc = rlt__nsys_each(f, sql, take_copy);
    }
    f->table = name = "CUPTI_ACTIVITY_KIND_MEMSET";
    if (!rc && rlt__database_has(f->db, name, NULL))
        rc = rlt__nsys_each(f, WORK "0 FROM CUPTI_ACTIVITY_KIND_MEMSET", take_set);
    return rc;
}

/* ---- the host */

static int take_call(rlt_nsys_file *f, rlt_rows *r)
{
    rlt_kin_recording *k = rlt__nsys_recording(f, rlt__row_number(r, 2));
    rlt_kin_event e = {.correlation = rlt__row_number(r, 3),
                       .name = RLT_NONE,
                       .attributes = RLT_NONE,
                       .cat = RLT_KIN_RUNTIME,
                       .role = (uint8_t)rlt__kin_runtime_role(rlt__row_text(r, 4))};
    int rc = k ? rlt__nsys_times(f, r, &e.ts, &e.dur) : 0;
    if (rc <= 0)
        return rc;
    e.row = rlt__nsys_thread(k, rlt__row_number(r, 2));
    return rlt__kin_keep(k, &e, f->err);
}

static int take_record(rlt_nsys_file *f, rlt_rows *r)
{
    int rc = rlt_grow(&f->records, &f->records_capacity, sizeof *f->records, (uint64_t)f->n_records + 1,
                      RLT_KIN_MAX_EVENTS, "records of events", f->err);
    if (rc == 0)
        f->records[f->n_records++] = (rlt_nsys_record){rlt__row_number(r, 0), rlt__row_number(r, 1),
                                                       rlt__row_number(r, 2), rlt__row_number(r, 3)};
    return rc;
}

static int by_record(const void *a, const void *b)
{
    const rlt_nsys_record *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static bool is_before(const void *record, const void *call)
{
    return by_record(record, call) < 0;
}

/* Returns the last record of an event before a call; NULL: none. */
static const rlt_nsys_record *record_before(const rlt_nsys_file *f, const rlt_nsys_record *call)
{
    uint32_t n = rlt__kin_first(f->records, f->n_records, sizeof *f->records, is_before, call);
    const rlt_nsys_record *found = n ? &f->records[n - 1] : NULL;
    return found && found->process == call->process && found->event == call->event ? found : NULL;
}

/* begin, end, process, device, stream, correlation, kind, event */
static int take_sync(rlt_nsys_file *f, rlt_rows *r)
{
    static const rlt_kin_sync_kind kinds[] = {RLT_KIN_SYNC_CONTEXT, RLT_KIN_SYNC_EVENT,
                                              RLT_KIN_SYNC_STREAM_WAIT, RLT_KIN_SYNC_STREAM,
                                              RLT_KIN_SYNC_CONTEXT};
    int64_t device = rlt__row_number(r, 3), stream = rlt__row_number(r, 4), kind = rlt__row_number(r, 6);
    rlt_nsys_record call = {rlt__row_number(r, 2), rlt__row_number(r, 7), rlt__row_number(r, 5), 0};
    rlt_kin_recording *k = rlt__nsys_recording(f, call.process);
    const rlt_nsys_record *record = record_before(f, &call);
    int64_t begin, duration;
    int rc = k ? rlt__nsys_times(f, r, &begin, &duration) : 0;
    if (rc <= 0)
        return rc;
    rlt_kin_sync s = {.correlation = call.correlation,
                      .record = record ? record->correlation : -1,
                      .ts = begin,
                      .waiter = RLT_NONE,
                      .source = RLT_NONE,
                      .found = RLT_NONE,
                      .kind = kinds[kind < 0 || kind > 4 ? 0 : kind]};
    /* Without the record of its event, a wait is inferred from times. */
    if (s.kind == RLT_KIN_SYNC_STREAM_WAIT && !record)
        return 0;
    if (stream >= 0 && stream != UINT32_MAX &&
        (s.waiter = rlt__kin_row_of(k, 'd', device, stream)) == RLT_NONE)
        return rlt_nomem(f->err);
    if (record && (s.source = rlt__kin_row_of(k, 'd', device, record->stream)) == RLT_NONE)
        return rlt_nomem(f->err);
    return rlt__kin_keep_sync(k, &s, f->err);
}

static int read_syncs(rlt_nsys_file *f)
{
    int rc = 0;
    f->table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
    if (rlt__database_has(f->db, f->table, "eventId"))
        rc = rlt__nsys_each(f,
                            "SELECT globalPid, eventId, correlationId, streamId FROM "
                            "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                            take_record);
    if (f->n_records)
        qsort(f->records, f->n_records, sizeof *f->records, by_record);
    f->table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    if (!rc && rlt__database_has(f->db, f->table, "eventId"))
        rc = rlt__nsys_each(f, WORK "syncType, eventId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", take_sync);
    return rc;
}

static int read_calls(rlt_nsys_file *f)
{
    f->table = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!rlt__database_has(f->db, f->table, NULL))
        return 0;
    return rlt__nsys_each(f,
                          "SELECT start, \"end\", globalTid, correlationId, value FROM "
                          "CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN StringIds ON id = nameId",
                          take_call);
}

/* ---- a file */

static int take_base(rlt_nsys_file *f, rlt_rows *r)
{
    int64_t base = rlt__row_number(r, 0);
    f->base = base > 0 && base < LATEST_NS ? base : 0;
    return 0;
}

/* Whether a name is that of a report that was not exported. */
static bool is_report(const char *path)
{
    size_t n = strlen(path);
    return (n > 9 && strcmp(path + n - 9, ".nsys-rep") == 0) ||
           (n > 6 && strcmp(path + n - 6, ".qdrep") == 0);
}

static int open_file(rlt_nsys_file *f)
{
    if (is_report(f->path))
        return rlt_fail(f->err, RLT_EUNSUPPORTED, f->path,
                        "a report of Nsight Systems is read after its export: nsys export --type sqlite %s",
                        f->path);
    int rc = rlt__database_open(f->path, &f->db, f->err);
    if (rc)
        return rc;
    if (!rlt__database_has(f->db, "CUPTI_ACTIVITY_KIND_KERNEL", NULL) &&
        !rlt__database_has(f->db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NULL))
        return rlt_fail(f->err, RLT_ESCHEMA, f->path,
                        "a database, but not a recording with device work: expected a table "
                        "CUPTI_ACTIVITY_KIND_KERNEL (nsys profile --trace=cuda,nvtx; nsys export --type "
                        "sqlite)");
    if (rlt__database_has(f->db, f->table = "TARGET_INFO_SESSION_START_TIME", "utcEpochNs"))
        rc = rlt__nsys_each(f, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", take_base);
    return rc;
}

static int by_device(const void *a, const void *b)
{
    const rlt_nsys_process *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Orders the file's recordings by device, as ranks usually are. */
static int order(rlt_nsys_file *f, uint32_t first)
{
    rlt_kin_recording *sorted = malloc((size_t)f->n_processes * sizeof *sorted);
    if (!sorted)
        return rlt_nomem(f->err);
    qsort(f->processes, f->n_processes, sizeof *f->processes, by_device);
    f->last = 0;
    for (uint32_t i = 0; i < f->n_processes; i++) {
        sorted[i] = f->run->recordings[f->processes[i].recording];
        f->processes[i].recording = first + i;
    }
    for (uint32_t i = 0; i < f->n_processes; i++) {
        rlt_kin_recording *k = &f->run->recordings[first + i];
        *k = sorted[i];
        k->hash = rlt_mix64(f->hash + i);
    }
    free(sorted);
    return 0;
}

static int parse(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err)
{
    rlt_nsys_file f = {.run = run, .path = path, .mark = mark, .table = "", .err = err};
    uint32_t first = run->n_files;
    int rc = open_file(&f);
    rc = rc ? rc : read_work(&f);
    if (!rc && f.n_processes == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, path, "the recording has no device work");
    rc = rc ? rc : order(&f, first);
    rc = rc ? rc : read_calls(&f);
    rc = rc ? rc : read_syncs(&f);
    rc = rc ? rc : rlt__nsys_ranges(&f);
    rc = rc ? rc : rlt__nsys_match(&f);
    for (uint32_t i = first; i < run->n_files; i++)
        rlt__kin_order_steps(&run->recordings[i]);
    rlt__database_close(f.db);
    free(f.processes);
    free(f.records);
    free(f.entries);
    free(f.calls);
    return rc;
}

static const rlt_kin_format nsight = {
    .reader = "nsys",
    .parse = parse,
    .join = rlt__nsys_join,
    .steps = "wrap each iteration in an NVTX range and name its prefix with --step-mark",
    .sizes = "record NVTX ranges, too (nsys profile --trace=cuda,nvtx), with NCCL 2.20 or later, or keep "
             "recorded times (--keep-waits)",
    .device = "record with nsys profile --trace=cuda,nvtx",
    .syncs = "record with nsys profile --cuda-event-trace=true",
};

static int read_nsys(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                     rlt_error *err)
{
    return rlt__kin_read(&nsight, paths, n, opts, out, err);
}

static int check_nsys(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                      rlt_error *err)
{
    return rlt__kin_check(&nsight, paths, n, opts, text, err);
}

static int probe(const char *path, const char *head, size_t n)
{
    static const char magic[] = "SQLite format 3"; /* with its zero */
    if (n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0)
        return 70;
    return is_report(path) ? 70 : 0;
}

const rlt_reader rlt_reader_nsys = {
    .name = "nsys",
    .summary = "Nsight Systems recordings (nsys export --type sqlite), one or more ranks per file",
    .probe = probe,
    .read = read_nsys,
    .check = check_nsys,
};
