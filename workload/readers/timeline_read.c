/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the table of a timeline (columns in any order), and meta-NAME.yaml beside trace-NAME.csv if it
 * exists. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "sim/text/yaml.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/layers.h"
#include "workload/readers/timeline.h"

#define MAX_FILE_BYTES  ((size_t)1 << 31)
#define MAX_STEP_NUMBER (UINT64_C(1) << 53)
enum { MAX_ROWS = 1 << 26, MAX_META_BYTES = 1 << 16, MAX_SECONDS = 1000000 };

enum { DP_RANK, STAGE, STEP, OPTYPE, START, DURATION, SEQ, CHUNK, N_COLUMNS };
static const char *const column_names[] = {"dp_rank",  "stage",    "step",   "optype",
                                           "start_ts", "duration", "seq_id", "mc"};

const rlt_tl_type rlt__tl_types[RLT_TL_KNOWN] = {
    {"forward-compute", RLT_TL_COMPUTE, 0, 0, NULL},
    {"backward-compute", RLT_TL_COMPUTE, 0, 0, NULL},
    {"optimizer", RLT_TL_COMPUTE, 0, 0, NULL},
    {"gc", RLT_TL_COMPUTE, 0, 0, NULL},
    {"forward-send", RLT_TL_SEND, RLT_SEND_RECV, 1, "forward-recv"},
    {"forward-recv", RLT_TL_RECV, RLT_SEND_RECV, -1, "forward-send"},
    {"backward-send", RLT_TL_SEND, RLT_SEND_RECV, -1, "backward-recv"},
    {"backward-recv", RLT_TL_RECV, RLT_SEND_RECV, 1, "backward-send"},
    {"params-all-gather", RLT_TL_DATA, RLT_ALL_GATHER, 0, NULL},
    {"grads-reduce-scatter", RLT_TL_DATA, RLT_REDUCE_SCATTER, 0, NULL},
    {"separate-grads-all-reduce", RLT_TL_DATA, RLT_ALL_REDUCE, 0, NULL},
    {"layernorm-grads-all-reduce", RLT_TL_ALONE, RLT_ALL_REDUCE, 0, NULL},
    {"embedding-grads-all-reduce", RLT_TL_ENDS, RLT_ALL_REDUCE, 0, NULL},
    {"optimizer-clip-main-grad", RLT_TL_ALL, RLT_ALL_REDUCE, 0, NULL},
};

static void free_timeline(rlt_job_timeline *t)
{
    rlt_strings_free(&t->names);
    free(t->ops);
    free(t->steps);
    free(t->span_ps);
    free(t->meetings);
    *t = (rlt_job_timeline){0};
}

int rlt__timeline_fail(const rlt_job_timeline *t, const rlt_tl_op *o, int code, rlt_error *err,
                       const char *fmt, ...)
{
    char where[384];
    va_list args;
    snprintf(where, sizeof where, "%.360s:%" PRIu32, t->file, o->line);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

typedef struct reading {
    rlt_job_timeline *t;
    rlt_csv csv;
    int column[N_COLUMNS];
    rlt_error *err;
} reading;

static int whole(reading *r, int column, uint64_t max, uint64_t *out)
{
    return rlt_csv_whole(&r->csv, r->column[column], max, out, r->err);
}

static int seconds(reading *r, int column, rlt_time *out)
{
    const char *s = rlt_csv_cell(&r->csv, r->column[column]);
    char *end = NULL;
    double x = s[strspn(s, "0123456789.eE+-")] ? -1 : strtod(s, &end);
    if (!end || end == s || *end || !(x >= 0 && x <= MAX_SECONDS))
        return rlt_csv_fail(&r->csv, -1, RLT_EMALFORMED, r->err,
                            "%s: expected seconds from 0 to %d, got '%s'", column_names[column], MAX_SECONDS,
                            s);
    *out = (rlt_time)(x * 1e12 + 0.5);
    return 0;
}

/* Refuses an operation of a second chunk of a stage, if chunks are given. */
static int check_chunk(reading *r)
{
    const char *s = rlt_csv_cell(&r->csv, r->column[CHUNK]);
    uint64_t chunk = 0;
    if (!s[0] || s[0] == '-')
        return 0;
    int rc = whole(r, CHUNK, UINT32_MAX, &chunk);
    return rc || chunk == 0
               ? rc
               : rlt_csv_fail(&r->csv, -1, RLT_EUNSUPPORTED, r->err,
                              "interleaved schedules (several chunks per stage) are not supported");
}

static int read_row(reading *r)
{
    rlt_job_timeline *t = r->t;
    rlt_tl_op o = {.line = r->csv.line, .meeting = RLT_NONE};
    uint64_t dp, stage, seq;
    int rc;
    if ((rc = whole(r, DP_RANK, RLT_TL_MAX_PLACE - 1, &dp)) ||
        (rc = whole(r, STAGE, RLT_TL_MAX_PLACE - 1, &stage)) ||
        (rc = whole(r, STEP, MAX_STEP_NUMBER, &o.number)) || (rc = whole(r, SEQ, RLT_TL_MAX_SEQ - 1, &seq)) ||
        (rc = seconds(r, START, &o.start_ps)) || (rc = seconds(r, DURATION, &o.duration_ps)) ||
        (rc = check_chunk(r)))
        return rc;
    const char *name = rlt_csv_cell(&r->csv, r->column[OPTYPE]);
    o.dp = (uint32_t)dp;
    o.stage = (uint32_t)stage;
    o.seq = (uint32_t)seq;
    o.type = rlt_intern(&t->names, name, strlen(name));
    if (o.type == RLT_NONE)
        return rlt_nomem(r->err);
    if (o.type >= RLT_TL_MAX_TYPES || !name[0])
        return rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, r->err,
                            name[0] ? "more than %d kinds of operation" : "optype: expected a name",
                            RLT_TL_MAX_TYPES);
    t->dp = o.dp >= t->dp ? o.dp + 1 : t->dp;
    t->pp = o.stage >= t->pp ? o.stage + 1 : t->pp;
    rc = rlt_grow(&t->ops, &t->capacity, sizeof *t->ops, (uint64_t)t->n + 1, MAX_ROWS, "operations", r->err);
    if (!rc)
        t->ops[t->n++] = o;
    return rc;
}

static int read_rows(reading *r, const char *text, size_t length)
{
    int rc = rlt_csv_begin(&r->csv, r->t->file, text, length, r->err);
    for (int k = 0; k < N_COLUMNS && !rc; k++) {
        r->column[k] = rlt_csv_column(&r->csv, column_names[k]);
        if (r->column[k] < 0 && k != CHUNK)
            rc = rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, r->err, "the column %s is missing", column_names[k]);
    }
    for (uint32_t i = 0; i < RLT_TL_KNOWN && !rc; i++)
        if (rlt_intern(&r->t->names, rlt__tl_types[i].name, strlen(rlt__tl_types[i].name)) != i)
            rc = rlt_nomem(r->err);
    if (rc)
        return rc;
    while ((rc = rlt_csv_next(&r->csv, r->err)) == 1 && (rc = read_row(r)) == 0)
        ;
    if (!rc && r->t->n == 0)
        rc = rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, r->err, "the file has no operations");
    return rc;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Keeps the steps asked for, by their place among all steps: step numbers have gaps. */
static int take_steps(rlt_job_timeline *t, const rlt_read_options *opts, rlt_error *err)
{
    uint32_t n = 0, first = 0, last, kept = 0;
    t->steps = malloc(t->n * sizeof *t->steps);
    if (!t->steps)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n; i++)
        t->steps[i] = t->ops[i].number;
    qsort(t->steps, t->n, sizeof *t->steps, by_number);
    for (uint32_t i = 0; i < t->n; i++)
        if (n == 0 || t->steps[i] != t->steps[n - 1])
            t->steps[n++] = t->steps[i];
    last = n - 1;
    if (opts->last_step >= 0) {
        first = opts->first_step < 0 ? 0 : (uint32_t)opts->first_step;
        last = (uint32_t)opts->last_step;
    }
    if (last >= n || first > last)
        return rlt_fail(err, RLT_ERANGE, t->file,
                        "expected steps within the recorded 0:%" PRIu32 ", got %" PRIu32 ":%" PRIu32, n - 1,
                        first, last);
    if (last - first >= UINT16_MAX)
        return rlt_fail(err, RLT_ERANGE, t->file, "more than %d steps", UINT16_MAX);
    for (uint32_t i = 0; i < t->n; i++) {
        const uint64_t *at = bsearch(&t->ops[i].number, t->steps, n, sizeof *t->steps, by_number);
        uint32_t step = (uint32_t)(at - t->steps);
        if (step < first || step > last)
            continue;
        t->ops[kept] = t->ops[i];
        t->ops[kept++].step = step - first;
    }
    t->n = kept;
    t->first_step = first;
    t->n_steps = last - first + 1;
    return 0;
}

/* Returns meta-NAME.yaml beside trace-NAME.csv; "" if the file has another name; NULL if memory is
 * exhausted. */
static char *meta_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t folder = (size_t)(name - path), length = strcspn(name, ".");
    char *out = calloc(strlen(path) + sizeof "meta-.yaml", 1);
    if (out && strncmp(name, "trace-", 6) == 0)
        sprintf(out, "%.*smeta-%.*s.yaml", (int)folder, path, (int)(length - 6), name + 6);
    return out;
}

/* Reads the sizes of the job and ignores other keys. */
static int read_meta(rlt_job_timeline *t, const char *path, const char *text, size_t length, rlt_error *err)
{
    enum { MOST = 999999999 };
    uint64_t dp = 0, pp = 0, chunks = 0;
    const struct {
        const char *name;
        uint64_t *to;
    } keys[] = {{"dp_size", &dp},
                {"pp_size", &pp},
                {"tp_size", &t->tp},
                {"vpp_size", &chunks},
                {"world_size", &t->world}};
    rlt_json_doc *doc;
    int rc = rlt_yaml_parse(path, text, length, &doc, err);
    for (size_t k = 0; k < sizeof keys / sizeof *keys && !rc; k++)
        rc = rlt_json_get_u64(rlt_json_root(doc), keys[k].name, false, MOST, keys[k].to, err);
    rlt_json_free(doc);
    if (rc)
        return rc;
    if ((dp && dp != t->dp) || (pp && pp != t->pp))
        return rlt_fail(err, RLT_ESCHEMA, path,
                        "says %" PRIu64 " x %" PRIu64
                        " data- and pipeline-parallel ranks, but %s has %" PRIu32 " x %" PRIu32,
                        dp, pp, t->file, t->dp, t->pp);
    if (chunks > 1)
        return rlt_fail(err, RLT_EUNSUPPORTED, path,
                        "interleaved schedules (several chunks per stage) are not supported");
    return 0;
}

static int load_meta(rlt_job_timeline *t, rlt_error *err)
{
    struct stat st;
    char *path = meta_path(t->file), *text = NULL;
    size_t length = 0;
    int rc = path ? 0 : rlt_nomem(err);
    if (!rc && path[0] && stat(path, &st) == 0) {
        rc = rlt_read_file(path, MAX_META_BYTES, &text, &length, err);
        if (!rc)
            rc = read_meta(t, path, text, length, err);
        if (!rc)
            t->hash = rlt_hash_bytes(text, length, t->hash);
    }
    free(text);
    free(path);
    return rc;
}

static int load_timeline(const char *path, const rlt_read_options *opts, rlt_job_timeline *t, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    reading *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    *t = (rlt_job_timeline){.file = path};
    r->t = t;
    r->err = err;
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, err);
    if (!rc)
        rc = read_rows(r, text, length);
    if (!rc) {
        t->hash = rlt_hash_bytes(text, length, 0);
        rc = load_meta(t, err);
    }
    if (!rc && (uint64_t)t->dp * t->pp > t->n)
        rc = rlt_fail(err, RLT_ESCHEMA, path,
                      "has %" PRIu32 " operations for %" PRIu32 " stages of %" PRIu32
                      " ranks: some rank has none",
                      t->n, t->pp, t->dp);
    if (!rc && (uint64_t)t->dp * t->pp > RLT_TL_MAX_PLACE)
        rc = rlt_fail(err, RLT_ERANGE, path, "more than %d ranks", RLT_TL_MAX_PLACE);
    if (!rc)
        rc = take_steps(t, opts, err);
    t->ranks = t->dp * t->pp;
    for (uint32_t i = 0; i < t->n; i++)
        t->ops[i].rank = t->ops[i].stage * t->dp + t->ops[i].dp;
    free(text);
    free(r);
    return rc;
}

static int read_timeline(const char *const *paths, uint32_t n, const rlt_read_options *opts,
                         rlt_program **out, rlt_error *err)
{
    rlt_job_timeline t = {0};
    *out = NULL;
    if (n != 1)
        return rlt_fail(err, RLT_EUSAGE, n ? paths[1] : NULL, "expected one timeline with all ranks");
    int rc = load_timeline(paths[0], opts, &t, err);
    if (!rc && opts->n_ranks && opts->n_ranks != t.ranks)
        rc = rlt_fail(err, RLT_ESCHEMA, paths[0], "has %" PRIu32 " ranks, not %" PRIu32, t.ranks,
                      opts->n_ranks);
    if (!rc)
        rc = rlt__timeline_waits(&t, opts->ideal, err);
    if (!rc)
        rc = rlt__timeline_build(&t, opts, out, err);
    free_timeline(&t);
    return rc;
}

static bool has_word(const char *line, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(line + i, word, length) == 0)
            return true;
    return false;
}

static int probe(const char *path, const char *head, size_t n)
{
    const char *end = n ? memchr(head, '\n', n) : NULL;
    (void)path;
    return end && has_word(head, (size_t)(end - head), "dp_rank") &&
                   has_word(head, (size_t)(end - head), "optype") &&
                   has_word(head, (size_t)(end - head), "start_ts")
               ? 95
               : 0;
}

const rlt_reader rlt_reader_timeline = {
    .name = "timeline",
    .summary = "StragglerAnalysis timelines of pipeline-parallel jobs (CSV), one file for all ranks",
    .ideals = true,
    .probe = probe,
    .read = read_timeline,
    .check = NULL,
};
