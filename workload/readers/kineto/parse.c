/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses one Kineto file and keeps the events that are used. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json_stream.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/kineto.h"

/* Times, in Unix time or relative to a base, must be before the year 2033, so that sums and differences
 * fit. */
#define EARLIEST_NS (-1000000000000000000)
#define LATEST_NS   2000000000000000000
/* 26 days: the limit of simulated time */
#define MAX_DURATION_NS (RLT_TIME_MAX / RLT_NS)

typedef struct parse {
    rlt_kin_recording *k;
    const rlt_jstream *stream;
    const char *mark;
    const rlt_jpiece *piece;
    uint32_t args; /* token of the event's "args", or RLT_NONE */
    rlt_error *err;
} parse;

static const char *field(const parse *p, const char *key)
{
    return rlt_jpiece_text(p->piece, rlt_jpiece_get(p->piece, 0, key));
}

static const char *arg(const parse *p, const char *key)
{
    return rlt_jpiece_text(p->piece, rlt_jpiece_get(p->piece, p->args, key));
}

static int64_t arg_i64(const parse *p, const char *key, int64_t otherwise)
{
    const char *text = arg(p, key);
    int64_t v;
    return text && rlt_decimal_i64(text, 0, &v) ? v : otherwise;
}

/* Reads a number of elements; 0 if there is none. */
static int arg_elements(const parse *p, const char *key, uint64_t *out)
{
    const char *text = arg(p, key);
    int64_t v = 0;
    *out = 0;
    if (!text || !text[0])
        return 0;
    if (!rlt_decimal_i64(text, 0, &v) || v < 0 || v >= (int64_t)1 << 50)
        return rlt_jstream_fail(p->stream, p->piece, RLT_ESCHEMA, p->err,
                                "\"%s\" is not a number of elements: '%.40s'", key, text);
    *out = (uint64_t)v;
    return 0;
}

static uint32_t arg_ranks(const parse *p, const char *key)
{
    int64_t v = arg_i64(p, key, 0);
    return v > 0 && v < RLT_MAX_RANKS ? (uint32_t)v : 0;
}

static uint32_t intern(parse *p, const char *text)
{
    return rlt_intern(&p->k->strings, text, strlen(text));
}

static uint32_t intern_arg(parse *p, const char *key)
{
    const char *text = arg(p, key);
    return intern(p, text ? text : "");
}

static uint32_t row(parse *p, char kind, const char *outer, const char *inner)
{
    char text[160];
    int n = snprintf(text, sizeof text, "%c%.70s/%.70s", kind, outer ? outer : "", inner ? inner : "");
    return rlt_intern(&p->k->rows, text, (size_t)n);
}

static uint32_t stream_row(parse *p, const char *stream)
{
    const char *device = arg(p, "device");
    return row(p, 'd', device ? device : field(p, "pid"), stream);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the role of a runtime call. Names of CUDA and HIP differ only in their prefix. */
static rlt_kin_role runtime_role(const char *name)
{
    static const struct {
        const char *name;
        rlt_kin_role role;
    } roles[] = {
        {"DeviceSynchronize", RLT_KIN_DEVICE_SYNC},
        {"CtxSynchronize", RLT_KIN_DEVICE_SYNC},
        {"StreamSynchronize", RLT_KIN_STREAM_SYNC},
        {"EventSynchronize", RLT_KIN_EVENT_SYNC},
        {"Memcpy", RLT_KIN_BLOCKING_COPY},
        {"MemcpyWithStream", RLT_KIN_BLOCKING_COPY},
        {"MemcpyDtoH", RLT_KIN_BLOCKING_COPY},
        {"MemcpyHtoD", RLT_KIN_BLOCKING_COPY},
        {"MemcpyToSymbol", RLT_KIN_BLOCKING_COPY},
        {"MemcpyFromSymbol", RLT_KIN_BLOCKING_COPY},
        {"StreamWaitEvent", RLT_KIN_WAIT_EVENT},
        {"EventRecord", RLT_KIN_RECORD_EVENT},
        {"EventRecordWithFlags", RLT_KIN_RECORD_EVENT},
    };
    size_t skip = begins(name, "cuda") ? 4 : begins(name, "hip") ? 3 : begins(name, "cu") ? 2 : 0;
    if (skip == 0)
        return RLT_KIN_PLAIN;
    size_t n = strcspn(name + skip, "_"); /* ignores "_ptsz", "_v2" */
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i].name) == n && !strncmp(name + skip, roles[i].name, n))
            return roles[i].role;
    return RLT_KIN_PLAIN;
}

static int add_comm(parse *p, uint32_t *index)
{
    rlt_kin_recording *k = p->k;
    rlt_kin_comm c = {.name = intern_arg(p, "Collective name"),
                      .dtype = intern_arg(p, "dtype"),
                      .ranks = intern_arg(p, "Process Group Ranks"),
                      .in_split = intern_arg(p, "In split size"),
                      .group_size = arg_ranks(p, "Group size"),
                      .rank_start = arg_ranks(p, "Global rank start"),
                      .rank_stride = arg_ranks(p, "Global rank stride"),
                      .source = arg_i64(p, "Src Rank", -1),
                      .destination = arg_i64(p, "Dst Rank", -1),
                      .root = arg_i64(p, "Root rank", -1)};
    c.group = intern_arg(p, arg(p, "Process Group Name") ? "Process Group Name" : "Process Group ID");
    if (c.name == RLT_NONE || c.dtype == RLT_NONE || c.ranks == RLT_NONE || c.in_split == RLT_NONE ||
        c.group == RLT_NONE)
        return rlt_nomem(p->err);
    int rc = arg_elements(p, "In msg nelems", &c.in_elems);
    if (rc < 0 || (rc = arg_elements(p, "Out msg nelems", &c.out_elems)) < 0)
        return rc;
    rc = rlt_grow(&k->comms, &k->comms_capacity, sizeof *k->comms, (uint64_t)k->n_comms + 1,
                  RLT_KIN_MAX_EVENTS, "collectives", p->err);
    if (rc < 0)
        return rc;
    *index = k->n_comms;
    k->comms[k->n_comms++] = c;
    k->sized = true;
    return 0;
}

static int keep(parse *p, const rlt_kin_event *e)
{
    rlt_kin_recording *k = p->k;
    if (e->row == RLT_NONE)
        return rlt_nomem(p->err);
    int rc = rlt_grow(&k->events, &k->events_capacity, sizeof *k->events, (uint64_t)k->n_events + 1,
                      RLT_KIN_MAX_EVENTS, "events", p->err);
    if (rc == 0)
        k->events[k->n_events++] = *e;
    return rc;
}

static int add_step(parse *p, const rlt_kin_event *e, const char *name)
{
    rlt_kin_recording *k = p->k;
    if (!begins(name, p->mark))
        return 0;
    uint32_t thread = row(p, 'h', field(p, "pid"), field(p, "tid"));
    if (thread == RLT_NONE)
        return rlt_nomem(p->err);
    int rc = rlt_grow(&k->steps, &k->steps_capacity, sizeof *k->steps, (uint64_t)k->n_steps + 1,
                      RLT_KIN_MAX_STEPS, "steps", p->err);
    if (rc == 0)
        k->steps[k->n_steps++] = (rlt_kin_step){.begin = e->ts, .end = rlt__kin_end(e), .row = thread};
    return rc;
}

static int add_cpu_op(parse *p, rlt_kin_event *e, const char *name)
{
    e->cat = RLT_KIN_CPU_OP;
    e->row = row(p, 'h', field(p, "pid"), field(p, "tid"));
    if (!strcmp(name, "record_param_comms")) {
        const char *what = arg(p, "Collective name");
        e->role = what && !strcmp(what, "wait") ? RLT_KIN_COMMS_WAIT : RLT_KIN_COMMS;
        int rc = what && e->role == RLT_KIN_COMMS ? add_comm(p, &e->attributes) : 0;
        if (rc < 0)
            return rc;
    } else if (begins(name, "autograd::engine"))
        e->role = RLT_KIN_AUTOGRAD;
    return keep(p, e);
}

static int add_runtime(parse *p, rlt_kin_event *e, const char *name)
{
    e->cat = RLT_KIN_RUNTIME;
    e->row = row(p, 'h', field(p, "pid"), field(p, "tid"));
    e->role = (uint8_t)runtime_role(name);
    return keep(p, e);
}

static bool is_nccl(const char *name)
{
    return strncasecmp(name, "nccl", 4) == 0 || strncasecmp(name, "rccl", 4) == 0 ||
           strncasecmp(name, "void nccl", 9) == 0 || strncasecmp(name, "oneCCL", 6) == 0;
}

static int add_device_work(parse *p, rlt_kin_event *e, const char *name, bool kernel)
{
    const char *stream = arg(p, "stream");
    size_t length = strlen(name);
    e->cat = kernel ? RLT_KIN_KERNEL : RLT_KIN_MEMORY;
    e->row = stream_row(p, stream ? stream : field(p, "tid"));
    e->name = rlt_intern(&p->k->strings, name, length < 120 ? length : 120);
    if (e->name == RLT_NONE)
        return rlt_nomem(p->err);
    if (kernel && is_nccl(name)) {
        e->role = RLT_KIN_NCCL;
        int rc = arg(p, "Collective name") ? add_comm(p, &e->attributes) : 0;
        if (rc < 0)
            return rc;
    } else if (!kernel && strstr(name, "DtoH") && strstr(name, "Pageable"))
        e->role = RLT_KIN_PAGEABLE_DTOH;
    return keep(p, e);
}

static int add_sync(parse *p, const rlt_kin_event *e, const char *name)
{
    rlt_kin_recording *k = p->k;
    const char *kind = arg(p, "cuda_sync_kind"), *stream = arg(p, "stream");
    int64_t source = arg_i64(p, "wait_on_stream", -1), waiter = arg_i64(p, "stream", -1);
    rlt_kin_sync s = {.correlation = e->correlation,
                      .record = arg_i64(p, "wait_on_cuda_event_record_corr_id", -1),
                      .ts = e->ts,
                      .waiter = RLT_NONE,
                      .source = RLT_NONE,
                      .found = RLT_NONE};
    kind = kind ? kind : name;
    s.kind = !strcmp(kind, "Stream Wait Event") ? RLT_KIN_SYNC_STREAM_WAIT
             : !strcmp(kind, "Event Sync")      ? RLT_KIN_SYNC_EVENT
             : !strcmp(kind, "Stream Sync")     ? RLT_KIN_SYNC_STREAM
                                                : RLT_KIN_SYNC_CONTEXT;
    if (waiter >= 0 && waiter != UINT32_MAX && (s.waiter = stream_row(p, stream)) == RLT_NONE)
        return rlt_nomem(p->err);
    if (source >= 0 && source != UINT32_MAX &&
        (s.source = stream_row(p, arg(p, "wait_on_stream"))) == RLT_NONE)
        return rlt_nomem(p->err);
    int rc = rlt_grow(&k->syncs, &k->syncs_capacity, sizeof *k->syncs, (uint64_t)k->n_syncs + 1,
                      RLT_KIN_MAX_EVENTS, "synchronisations", p->err);
    if (rc == 0)
        k->syncs[k->n_syncs++] = s;
    return rc;
}

/* Reads begin and duration. Returns 1, or 0 if the event has none. */
static int read_times(parse *p, rlt_kin_event *e)
{
    const char *ts = field(p, "ts"), *dur = field(p, "dur");
    if (!ts) {
        p->k->no_time++;
        return 0;
    }
    if (!rlt_decimal_i64(ts, 3, &e->ts) || e->ts < EARLIEST_NS || e->ts > LATEST_NS)
        return rlt_jstream_fail(p->stream, p->piece, RLT_EMALFORMED, p->err,
                                "\"ts\" is not a time in microseconds: '%.40s'", ts);
    if (dur && !rlt_decimal_i64(dur, 3, &e->dur))
        return rlt_jstream_fail(p->stream, p->piece, RLT_EMALFORMED, p->err,
                                "\"dur\" is not a time in microseconds: '%.40s'", dur);
    if (e->dur < 0) {
        p->k->negative++;
        e->dur = 0;
    }
    if (e->dur > MAX_DURATION_NS)
        return rlt_jstream_fail(p->stream, p->piece, RLT_ERANGE, p->err, "an event lasts more than 26 days");
    return 1;
}

typedef enum category {
    CAT_CPU_OP,
    CAT_ANNOTATION,
    CAT_RUNTIME,
    CAT_KERNEL,
    CAT_MEMORY,
    CAT_SYNC,
    CAT_IGNORED,
    CAT_UNKNOWN,
} category;

static category find_category(const char *cat)
{
    static const struct {
        const char *name;
        category cat;
    } cats[] = {
        {"cpu_op", CAT_CPU_OP},
        {"operator", CAT_CPU_OP},
        {"user_annotation", CAT_ANNOTATION},
        {"cuda_runtime", CAT_RUNTIME},
        {"cuda_driver", CAT_RUNTIME},
        {"hip_runtime", CAT_RUNTIME},
        {"runtime", CAT_RUNTIME},
        {"kernel", CAT_KERNEL},
        {"gpu_memcpy", CAT_MEMORY},
        {"memcpy", CAT_MEMORY},
        {"gpu_memset", CAT_MEMORY},
        {"memset", CAT_MEMORY},
        {"cuda_sync", CAT_SYNC},
        {"ac2g", CAT_IGNORED},
        {"async_cpu_to_gpu", CAT_IGNORED},
        {"fwdbwd", CAT_IGNORED},
        {"python_function", CAT_IGNORED},
        {"trace", CAT_IGNORED},
        {"gpu_user_annotation", CAT_IGNORED},
        {"cpu_instant_event", CAT_IGNORED},
        {"overhead", CAT_IGNORED},
    };
    for (size_t i = 0; i < sizeof cats / sizeof *cats; i++)
        if (!strcasecmp(cat, cats[i].name))
            return cats[i].cat;
    return CAT_UNKNOWN;
}

static void count_unknown(rlt_kin_recording *k, const char *cat)
{
    if (k->unknown_cats++ == 0)
        for (size_t i = 0; i < sizeof k->unknown_cat - 1 && cat[i]; i++)
            k->unknown_cat[i] = isprint((unsigned char)cat[i]) ? cat[i] : '?';
}

static int add_event(parse *p)
{
    const char *phase = field(p, "ph"), *cat = field(p, "cat"), *name = field(p, "name");
    if (!phase || strcmp(phase, "X") != 0)
        return 0;
    cat = cat ? cat : "(none)";
    name = name ? name : "";
    p->args = rlt_jpiece_get(p->piece, 0, "args");
    category c = find_category(cat);
    if (c == CAT_UNKNOWN)
        count_unknown(p->k, cat);
    if (c == CAT_UNKNOWN || c == CAT_IGNORED)
        return 0;
    rlt_kin_event e = {
        .correlation = arg_i64(p, "correlation", -1), .name = RLT_NONE, .attributes = RLT_NONE};
    int rc = read_times(p, &e);
    if (rc <= 0)
        return rc;
    if (c == CAT_ANNOTATION || c == CAT_CPU_OP)
        rc = add_step(p, &e, name);
    if (rc < 0)
        return rc;
    return c == CAT_CPU_OP                      ? add_cpu_op(p, &e, name)
           : c == CAT_RUNTIME                   ? add_runtime(p, &e, name)
           : c == CAT_SYNC                      ? add_sync(p, &e, name)
           : c == CAT_KERNEL || c == CAT_MEMORY ? add_device_work(p, &e, name, c == CAT_KERNEL)
                                                : 0;
}

/* Reads the ranks of a group: a list of numbers, as the text "0,1,2". */
static int group_ranks(parse *p, uint32_t list, uint32_t *text)
{
    const rlt_jpiece *j = p->piece;
    char *s = NULL;
    uint32_t used = 0, capacity = 0;
    uint32_t r = list == RLT_NONE ? RLT_NONE : rlt_jpiece_first(j, list);
    int rc = rlt_grow(&s, &capacity, 1, 64, UINT32_MAX, "bytes", p->err);
    for (; rc == 0 && r != RLT_NONE; r = rlt_jpiece_after(j, list, r)) {
        const char *number = rlt_jpiece_text(j, r);
        rc = rlt_grow(&s, &capacity, 1, (uint64_t)used + 24, UINT32_MAX, "bytes", p->err);
        if (rc == 0 && number)
            used += (uint32_t)snprintf(s + used, 24, "%.20s,", number);
    }
    if (rc == 0 && (*text = rlt_intern(&p->k->strings, s, used)) == RLT_NONE)
        rc = rlt_nomem(p->err);
    free(s);
    return rc;
}

static int add_group(parse *p, uint32_t g)
{
    const rlt_jpiece *j = p->piece;
    rlt_kin_recording *k = p->k;
    const char *name = rlt_jpiece_text(j, rlt_jpiece_get(j, g, "pg_name"));
    const char *size = rlt_jpiece_text(j, rlt_jpiece_get(j, g, "pg_size"));
    int64_t n = 0;
    rlt_kin_group group = {.name = intern(p, name ? name : "")};
    if (size && rlt_decimal_i64(size, 0, &n) && n > 0 && n < RLT_MAX_RANKS)
        group.size = (uint32_t)n;
    int rc = group_ranks(p, rlt_jpiece_get(j, g, "ranks"), &group.ranks);
    if (rc == 0)
        rc = rlt_grow(&k->groups, &k->groups_capacity, sizeof *k->groups, (uint64_t)k->n_groups + 1,
                      RLT_KIN_MAX_EVENTS, "groups", p->err);
    if (rc == 0)
        k->groups[k->n_groups++] = group;
    return rc;
}

static int read_distributed(parse *p)
{
    const rlt_jpiece *j = p->piece;
    const char *rank = rlt_jpiece_text(j, rlt_jpiece_get(j, 0, "rank"));
    const char *world = rlt_jpiece_text(j, rlt_jpiece_get(j, 0, "world_size"));
    int64_t v;
    if (rank && rlt_decimal_i64(rank, 0, &v) && v >= 0 && v < RLT_MAX_RANKS)
        p->k->rank = (uint32_t)v;
    if (world && rlt_decimal_i64(world, 0, &v) && v > 0 && v <= RLT_MAX_RANKS)
        p->k->world = (uint32_t)v;
    uint32_t list = rlt_jpiece_get(j, 0, "pg_config");
    uint32_t g = list == RLT_NONE ? RLT_NONE : rlt_jpiece_first(j, list);
    int rc = 0;
    for (; g != RLT_NONE && rc == 0; g = rlt_jpiece_after(j, list, g))
        rc = add_group(p, g);
    return rc;
}

static int read_base(parse *p)
{
    const char *text = rlt_jpiece_text(p->piece, 0);
    if (!text || !rlt_decimal_i64(text, 0, &p->k->base) || p->k->base < 0 || p->k->base > LATEST_NS)
        return rlt_jstream_fail(p->stream, p->piece, RLT_EMALFORMED, p->err,
                                "\"baseTimeNanoseconds\" is not a number of nanoseconds");
    return 0;
}

static int read_pieces(parse *p, rlt_jstream *s)
{
    rlt_jpiece piece;
    bool listed = false;
    int rc;
    p->piece = &piece;
    while ((rc = rlt_jstream_next(s, &piece, p->err)) == 1) {
        if (!strcmp(piece.key, "traceEvents")) {
            listed = true;
            rc = piece.element ? add_event(p) : 0;
        } else if (!strcmp(piece.key, "distributedInfo"))
            rc = read_distributed(p);
        else if (!piece.element)
            rc = read_base(p);
        if (rc < 0)
            return rc;
    }
    if (rc == 0 && !listed)
        return rlt_fail(p->err, RLT_ESCHEMA, p->k->path,
                        "not a Kineto recording, or an empty one: it has no \"traceEvents\"");
    p->k->hash = rlt_jstream_hash(s);
    return rc;
}

static int by_begin(const void *a, const void *b)
{
    const rlt_kin_step *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : (x->end < y->end) - (x->end > y->end);
}

/* Sorts steps by time. Of overlapping steps (marked on several threads, or nested) it keeps the earlier
 * one. */
static void order_steps(rlt_kin_recording *k)
{
    uint32_t kept = 0;
    if (k->n_steps > 0)
        qsort(k->steps, k->n_steps, sizeof *k->steps, by_begin);
    for (uint32_t i = 0; i < k->n_steps; i++)
        if (kept == 0 || k->steps[i].begin >= k->steps[kept - 1].end)
            k->steps[kept++] = k->steps[i];
    k->n_steps = kept;
}

int rlt__kin_parse(const char *path, const char *mark, rlt_kin_recording *k, rlt_error *err)
{
    static const char *const members[] = {"traceEvents", "distributedInfo", "baseTimeNanoseconds", NULL};
    rlt_jstream *s;
    *k = (rlt_kin_recording){.path = path, .rank = RLT_NONE};
    int rc = rlt_jstream_open(path, members, &s, err);
    if (rc < 0)
        return rc;
    parse p = {.k = k, .stream = s, .mark = mark, .err = err};
    rc = read_pieces(&p, s);
    rlt_jstream_close(s);
    if (rc < 0)
        rlt__kin_recording_free(k);
    else
        order_steps(k);
    return rc;
}

void rlt__kin_recording_free(rlt_kin_recording *k)
{
    free(k->events);
    free(k->comms);
    free(k->syncs);
    free(k->steps);
    free(k->groups);
    rlt_strings_free(&k->strings);
    rlt_strings_free(&k->rows);
    *k = (rlt_kin_recording){.path = k->path, .rank = RLT_NONE};
}
