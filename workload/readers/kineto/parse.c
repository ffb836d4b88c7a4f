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

/* Every key that is looked up. */
#define KEYS(X)                                                                                              \
    X(PH, "ph")                                                                                              \
    X(CAT, "cat")                                                                                            \
    X(NAME, "name")                                                                                          \
    X(TS, "ts")                                                                                              \
    X(DUR, "dur")                                                                                            \
    X(PID, "pid")                                                                                            \
    X(TID, "tid")                                                                                            \
    X(ARGS, "args")                                                                                          \
    X(CORRELATION, "correlation")                                                                            \
    X(STREAM, "stream")                                                                                      \
    X(DEVICE, "device")                                                                                      \
    X(SYNC_KIND, "cuda_sync_kind")                                                                           \
    X(WAIT_STREAM, "wait_on_stream")                                                                         \
    X(WAIT_RECORD, "wait_on_cuda_event_record_corr_id")                                                      \
    X(COLLECTIVE, "Collective name")                                                                         \
    X(IN_ELEMS, "In msg nelems")                                                                             \
    X(OUT_ELEMS, "Out msg nelems")                                                                           \
    X(DTYPE, "dtype")                                                                                        \
    X(GROUP_SIZE, "Group size")                                                                              \
    X(GROUP_NAME, "Process Group Name")                                                                      \
    X(GROUP_ID, "Process Group ID")                                                                          \
    X(GROUP_RANKS, "Process Group Ranks")                                                                    \
    X(RANK_START, "Global rank start")                                                                       \
    X(RANK_STRIDE, "Global rank stride")                                                                     \
    X(IN_SPLIT, "In split size")                                                                             \
    X(SRC_RANK, "Src Rank")                                                                                  \
    X(DST_RANK, "Dst Rank")                                                                                  \
    X(ROOT_RANK, "Root rank")                                                                                \
    X(RANK, "rank")                                                                                          \
    X(WORLD, "world_size")                                                                                   \
    X(GROUPS, "pg_config")                                                                                   \
    X(PG_NAME, "pg_name")                                                                                    \
    X(PG_SIZE, "pg_size")                                                                                    \
    X(PG_RANKS, "ranks")

#define KEY_INDEX(name, text) KEY_##name,
#define KEY_TEXT(name, text)  text,
typedef enum key { KEYS(KEY_INDEX) N_KEYS } key;
static const char *const keys[] = {KEYS(KEY_TEXT) NULL};

typedef struct parse {
    rlt_kin_recording *k;
    const rlt_jstream *stream;
    const char *mark;
    const rlt_jpiece *piece;
    uint32_t fields[N_KEYS], args[N_KEYS]; /* tokens of the event's values, and of those in its "args" */
    rlt_error *err;
} parse;

static const char *field(const parse *p, key k)
{
    return rlt_jpiece_text(p->piece, p->fields[k]);
}

static const char *arg(const parse *p, key k)
{
    return rlt_jpiece_text(p->piece, p->args[k]);
}

static int64_t arg_i64(const parse *p, key k, int64_t otherwise)
{
    const char *text = arg(p, k);
    int64_t v;
    return text && rlt_decimal_i64(text, 0, &v) ? v : otherwise;
}

/* Reads a number of elements; 0 if there is none. */
static int arg_elements(const parse *p, key k, uint64_t *out)
{
    const char *text = arg(p, k);
    int64_t v = 0;
    *out = 0;
    if (!text || !text[0])
        return 0;
    if (!rlt_decimal_i64(text, 0, &v) || v < 0 || v >= (int64_t)1 << 50)
        return rlt_jstream_fail(p->stream, p->piece, RLT_ESCHEMA, p->err,
                                "\"%s\" is not a number of elements: '%.40s'", keys[k], text);
    *out = (uint64_t)v;
    return 0;
}

/* Reads a rank or a number of ranks. A text that is missing, or a negative number, leaves *out. A number that
 * no job has is refused: without it, a recording of many ranks would be taken for one of a single rank. */
static int read_ranks(const parse *p, const char *name, const char *text, uint32_t *out)
{
    int64_t v;
    if (!text || !text[0])
        return 0;
    if (!rlt_decimal_i64(text, 0, &v) || v > RLT_MAX_RANKS)
        return rlt_jstream_fail(p->stream, p->piece, RLT_ESCHEMA, p->err,
                                "\"%s\" is not a number of at most %d ranks: '%.40s'", name, RLT_MAX_RANKS,
                                text);
    if (v >= 0)
        *out = (uint32_t)v;
    return 0;
}

static int arg_ranks(const parse *p, key k, uint32_t *out)
{
    return read_ranks(p, keys[k], arg(p, k), out);
}

static uint32_t intern(parse *p, const char *text)
{
    return rlt_intern(&p->k->strings, text, strlen(text));
}

static uint32_t intern_arg(parse *p, key k)
{
    const char *text = arg(p, k);
    return intern(p, text ? text : "");
}

static uint32_t stream_row(parse *p, const char *stream)
{
    const char *device = arg(p, KEY_DEVICE);
    return rlt__kin_row(p->k, 'd', device ? device : field(p, KEY_PID), stream);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int add_comm(parse *p, uint32_t *index)
{
    rlt_kin_comm c = {.name = intern_arg(p, KEY_COLLECTIVE),
                      .dtype = intern_arg(p, KEY_DTYPE),
                      .ranks = intern_arg(p, KEY_GROUP_RANKS),
                      .in_split = intern_arg(p, KEY_IN_SPLIT),
                      .source = arg_i64(p, KEY_SRC_RANK, -1),
                      .destination = arg_i64(p, KEY_DST_RANK, -1),
                      .root = arg_i64(p, KEY_ROOT_RANK, -1)};
    c.group = intern_arg(p, arg(p, KEY_GROUP_NAME) ? KEY_GROUP_NAME : KEY_GROUP_ID);
    int rc = arg_elements(p, KEY_IN_ELEMS, &c.in_elems);
    if (rc < 0 || (rc = arg_elements(p, KEY_OUT_ELEMS, &c.out_elems)) < 0 ||
        (rc = arg_ranks(p, KEY_GROUP_SIZE, &c.group_size)) < 0 ||
        (rc = arg_ranks(p, KEY_RANK_START, &c.rank_start)) < 0 ||
        (rc = arg_ranks(p, KEY_RANK_STRIDE, &c.rank_stride)) < 0)
        return rc;
    return rlt__kin_keep_comm(p->k, &c, index, p->err);
}

static int add_step(parse *p, const rlt_kin_event *e, const char *name)
{
    rlt_kin_step step = {.begin = e->ts, .end = rlt__kin_end(e)};
    if (!begins(name, p->mark))
        return 0;
    step.row = rlt__kin_row(p->k, 'h', field(p, KEY_PID), field(p, KEY_TID));
    return rlt__kin_keep_step(p->k, &step, p->err);
}

static int add_cpu_op(parse *p, rlt_kin_event *e, const char *name)
{
    e->cat = RLT_KIN_CPU_OP;
    e->row = rlt__kin_row(p->k, 'h', field(p, KEY_PID), field(p, KEY_TID));
    if (!strcmp(name, "record_param_comms")) {
        const char *what = arg(p, KEY_COLLECTIVE);
        e->role = what && !strcmp(what, "wait") ? RLT_KIN_COMMS_WAIT : RLT_KIN_COMMS;
        int rc = what && e->role == RLT_KIN_COMMS ? add_comm(p, &e->attributes) : 0;
        if (rc < 0)
            return rc;
    } else if (begins(name, "autograd::engine"))
        e->role = RLT_KIN_AUTOGRAD;
    return rlt__kin_keep(p->k, e, p->err);
}

static int add_runtime(parse *p, rlt_kin_event *e, const char *name)
{
    e->cat = RLT_KIN_RUNTIME;
    e->row = rlt__kin_row(p->k, 'h', field(p, KEY_PID), field(p, KEY_TID));
    e->role = (uint8_t)rlt__kin_runtime_role(name);
    return rlt__kin_keep(p->k, e, p->err);
}

static int add_device_work(parse *p, rlt_kin_event *e, const char *name, bool kernel)
{
    const char *stream = arg(p, KEY_STREAM);
    size_t length = strlen(name);
    e->cat = kernel ? RLT_KIN_KERNEL : RLT_KIN_MEMORY;
    e->row = stream_row(p, stream ? stream : field(p, KEY_TID));
    e->name = rlt_intern(&p->k->strings, name, length < 120 ? length : 120);
    if (e->name == RLT_NONE)
        return rlt_nomem(p->err);
    if (kernel && rlt__kin_is_nccl(name)) {
        e->role = RLT_KIN_NCCL;
        int rc = arg(p, KEY_COLLECTIVE) ? add_comm(p, &e->attributes) : 0;
        if (rc < 0)
            return rc;
    } else if (!kernel && strstr(name, "DtoH") && strstr(name, "Pageable"))
        e->role = RLT_KIN_PAGEABLE_DTOH;
    return rlt__kin_keep(p->k, e, p->err);
}

static int add_sync(parse *p, const rlt_kin_event *e, const char *name)
{
    const char *kind = arg(p, KEY_SYNC_KIND), *stream = arg(p, KEY_STREAM);
    int64_t source = arg_i64(p, KEY_WAIT_STREAM, -1), waiter = arg_i64(p, KEY_STREAM, -1);
    rlt_kin_sync s = {.correlation = e->correlation,
                      .record = arg_i64(p, KEY_WAIT_RECORD, -1),
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
        (s.source = stream_row(p, arg(p, KEY_WAIT_STREAM))) == RLT_NONE)
        return rlt_nomem(p->err);
    return rlt__kin_keep_sync(p->k, &s, p->err);
}

/* Reads begin and duration. Returns 1, or 0 if the event has none. */
static int read_times(parse *p, rlt_kin_event *e)
{
    const char *ts = field(p, KEY_TS), *dur = field(p, KEY_DUR);
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
#define NAMED(text, cat)                                                                                     \
    {                                                                                                        \
        text, sizeof text - 1, cat                                                                           \
    }
    static const struct {
        const char *name;
        size_t length;
        category cat;
    } cats[] = {
        NAMED("cpu_op", CAT_CPU_OP),
        NAMED("operator", CAT_CPU_OP),
        NAMED("user_annotation", CAT_ANNOTATION),
        NAMED("cuda_runtime", CAT_RUNTIME),
        NAMED("cuda_driver", CAT_RUNTIME),
        NAMED("hip_runtime", CAT_RUNTIME),
        NAMED("runtime", CAT_RUNTIME),
        NAMED("kernel", CAT_KERNEL),
        NAMED("gpu_memcpy", CAT_MEMORY),
        NAMED("memcpy", CAT_MEMORY),
        NAMED("gpu_memset", CAT_MEMORY),
        NAMED("memset", CAT_MEMORY),
        NAMED("cuda_sync", CAT_SYNC),
        NAMED("ac2g", CAT_IGNORED),
        NAMED("async_cpu_to_gpu", CAT_IGNORED),
        NAMED("fwdbwd", CAT_IGNORED),
        NAMED("python_function", CAT_IGNORED),
        NAMED("trace", CAT_IGNORED),
        NAMED("gpu_user_annotation", CAT_IGNORED),
        NAMED("cpu_instant_event", CAT_IGNORED),
        NAMED("overhead", CAT_IGNORED),
    };
#undef NAMED
    size_t length = strlen(cat);
    for (size_t i = 0; i < sizeof cats / sizeof *cats; i++)
        if (cats[i].length == length && !strcasecmp(cat, cats[i].name))
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
    rlt_jpiece_members(p->piece, 0, p->fields, N_KEYS);
    const char *phase = field(p, KEY_PH), *cat = field(p, KEY_CAT), *name = field(p, KEY_NAME);
    if (!phase || strcmp(phase, "X") != 0)
        return 0;
    cat = cat ? cat : "(none)";
    name = name ? name : "";
    category c = find_category(cat);
    if (c == CAT_UNKNOWN)
        count_unknown(p->k, cat);
    if (c == CAT_UNKNOWN || c == CAT_IGNORED)
        return 0;
    rlt_jpiece_members(p->piece, p->fields[KEY_ARGS], p->args, N_KEYS);
    rlt_kin_event e = {
        .correlation = arg_i64(p, KEY_CORRELATION, -1), .name = RLT_NONE, .attributes = RLT_NONE};
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
    const char *name = rlt_jpiece_text(j, rlt_jpiece_get(j, g, "pg_name"));
    const char *size = rlt_jpiece_text(j, rlt_jpiece_get(j, g, "pg_size"));
    rlt_kin_group group = {.name = intern(p, name ? name : "")};
    int rc = read_ranks(p, "pg_size", size, &group.size);
    if (!rc)
        rc = group_ranks(p, rlt_jpiece_get(j, g, "ranks"), &group.ranks);
    return rc ? rc : rlt__kin_keep_group(p->k, &group, p->err);
}

static int read_distributed(parse *p)
{
    const rlt_jpiece *j = p->piece;
    const char *rank = rlt_jpiece_text(j, rlt_jpiece_get(j, 0, "rank"));
    const char *world = rlt_jpiece_text(j, rlt_jpiece_get(j, 0, "world_size"));
    int rc = read_ranks(p, "rank", rank, &p->k->rank);
    if (!rc)
        rc = read_ranks(p, "world_size", world, &p->k->world);
    uint32_t list = rlt_jpiece_get(j, 0, "pg_config");
    uint32_t g = list == RLT_NONE ? RLT_NONE : rlt_jpiece_first(j, list);
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

int rlt__kin_parse(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err)
{
    static const char *const members[] = {"traceEvents", "distributedInfo", "baseTimeNanoseconds", NULL};
    rlt_jstream *s;
    rlt_kin_recording *k;
    int rc = rlt__kin_add(run, path, &k, err);
    if (rc < 0 || (rc = rlt_jstream_open(path, members, &s, err)) < 0)
        return rc;
    parse p = {.k = k, .stream = s, .mark = mark, .err = err};
    rlt_jstream_keys(s, keys);
    rc = read_pieces(&p, s);
    rlt_jstream_close(s);
    rlt__kin_order_steps(k);
    return rc;
}
