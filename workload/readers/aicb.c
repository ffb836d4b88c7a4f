/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads AICB's physical workload (CSV): "[rank0 ~ rankN]", a heading, then one communication per line, in the
 * order in which every rank issues them; each follows the one before. Groups: tp_group has consecutive ranks;
 * dp_group and ep_group have ranks one tp group apart; ep_dp_group (dp_ep_group) has ranks one expert group
 * apart; pp_group has ranks as far apart as a stage is large; any other word means all ranks. Bytes are those
 * of the whole buffer; for an all-gather, of its result. _elapsed_time is in ms: the duration of a
 * computation, the recorded time of a communication. epoch_end ends a step; the first one ends the set-up of
 * a job.
 *
 * A measured list has no first line. Its ranks are the product of the sizes of tensor-parallel, data-parallel
 * and pipeline groups in it. Groups without a size ("None") have the size of that group elsewhere in the
 * list. Else, with a note, data- and expert-parallel groups take what fits, and others are of one rank.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/layers.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)
#define MAX_BYTES      (UINT64_C(1) << 48)
#define PS_PER_MS      1000000000.0
enum { MAX_ROWS = 1 << 20, MAX_OPS = 1 << 26, MAX_CLASSES = 16 };

enum { TYPE, GROUP, SIZE, BYTES, STAGE, ELAPSED, N_COLUMNS };
static const char *const column_names[] = {"comm_type", "comm_group", "comm_group_size",
                                           "msg_size",  "stage",      "_elapsed_time"};

typedef struct row {
    uint8_t kind, coll; /* rlt_op_kind, rlt_coll_kind */
    uint8_t place;      /* scope of the group: enum below */
    uint16_t step;
    uint32_t size, line, name;
    uint64_t bytes;
    rlt_time duration_ps; /* -1: unknown */
} row;

enum { ALL, TP, DP, EP, EP_DP, PP };
static const char *const place_names[] = {"all",         "tp_group", "dp_group",   "ep_group",
                                          "ep_dp_group", "pp_group", "dp_ep_group"};

/* The groups of n ranks, `stride` apart; the group of every rank. */
typedef struct class
{
    uint32_t place, stride, n, *groups;
} class;

typedef struct reading {
    rlt_layer_table t; /* holds file, names and ranks */
    rlt_csv csv;
    int column[N_COLUMNS];
    row *rows;
    uint32_t n, capacity, steps;
    uint64_t empty, untimed, unsized;
    class classes[MAX_CLASSES];
    uint32_t n_classes;
    uint32_t sizes[PP + 1]; /* group sizes by scope */
    rlt_error *err;
} reading;

static int fail_line(const reading *r, int code, const char *what, const char *cell)
{
    return rlt_csv_fail(&r->csv, -1, code, r->err, "%s, got '%.200s'", what, cell);
}

static const char *cell(const reading *r, int column)
{
    return rlt_csv_cell(&r->csv, r->column[column]);
}

static bool is_none(const char *text)
{
    return !text[0] || strcmp(text, "None") == 0;
}

static int whole(reading *r, int column, uint64_t max, uint64_t *out)
{
    return rlt_csv_whole(&r->csv, r->column[column], max, out, r->err);
}

static int elapsed(reading *r, rlt_time *out)
{
    const char *s = cell(r, ELAPSED);
    char *end = NULL;
    *out = -1;
    if (is_none(s))
        return 0;
    double ms = s[strspn(s, "0123456789.eE+-")] ? -1 : strtod(s, &end);
    if (!end || *end || !(ms >= 0 && ms <= 1e9))
        return fail_line(r, RLT_EMALFORMED, "_elapsed_time: expected a time in ms up to 10^9", s);
    *out = (rlt_time)(ms * PS_PER_MS + 0.5);
    return 0;
}

/* Reads "CommType.all_reduce", or a kind alone. */
static int read_type(reading *r, row *x)
{
    static const struct {
        const char *word;
        rlt_coll_kind kind;
    } words[] = {{"all_reduce", RLT_ALL_REDUCE},
                 {"all_gather", RLT_ALL_GATHER},
                 {"all_gather_into_tensor", RLT_ALL_GATHER},
                 {"reduce_scatter", RLT_REDUCE_SCATTER},
                 {"reduce_scatter_tensor", RLT_REDUCE_SCATTER},
                 {"all_to_all", RLT_ALL_TO_ALL},
                 {"all_to_all_single", RLT_ALL_TO_ALL},
                 {"broadcast", RLT_BROADCAST},
                 {"reduce", RLT_REDUCE},
                 {"barrier", RLT_BARRIER}};
    const char *text = cell(r, TYPE);
    text += strncmp(text, "CommType.", 9) == 0 ? 9 : 0;
    x->kind = RLT_OP_COLLECTIVE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        x->coll = (uint8_t)words[i].kind;
        if (strcmp(text, words[i].word) == 0)
            return 0;
    }
    x->kind = RLT_OP_COMPUTE;
    if (strcmp(text, "computation") == 0)
        return 0;
    if (strcmp(text, "isend") == 0 || strcmp(text, "irecv") == 0)
        return fail_line(r, RLT_EUNSUPPORTED, "messages between pipeline stages are not supported", text);
    return fail_line(r, RLT_ESCHEMA, "expected a kind of communication, computation or epoch_end", text);
}

static int read_group(reading *r, row *x)
{
    const char *text = cell(r, GROUP);
    uint64_t size = 0; /* until resolve_sizes */
    text += strncmp(text, "CommGroup.", 10) == 0 ? 10 : 0;
    x->place = ALL;
    for (uint8_t i = TP; i < sizeof place_names / sizeof *place_names; i++)
        if (strcmp(text, place_names[i]) == 0)
            x->place = i > PP ? EP_DP : i;
    int rc = x->place == ALL || is_none(cell(r, SIZE)) ? 0 : whole(r, SIZE, RLT_MAX_RANKS, &size);
    x->size = (uint32_t)size;
    if (rc || x->place == ALL)
        return rc;
    if (is_none(cell(r, SIZE)))
        return 0;
    if (size == 0 || (r->sizes[x->place] && r->sizes[x->place] != size))
        return fail_line(r, RLT_ESCHEMA,
                         "comm_group_size: expected the same size above 0 in all lines of a group",
                         cell(r, SIZE));
    r->sizes[x->place] = x->size;
    return 0;
}

static int read_row(reading *r)
{
    row x = {.line = r->csv.line, .step = (uint16_t)r->steps};
    int rc = 0;
    if (strcmp(cell(r, TYPE), "CommType.epoch_end") == 0 || strcmp(cell(r, TYPE), "epoch_end") == 0)
        return ++r->steps < UINT16_MAX
                   ? 0
                   : rlt_csv_fail(&r->csv, -1, RLT_ERANGE, r->err, "more than %d steps", UINT16_MAX - 1);
    if ((rc = read_type(r, &x)) || (rc = elapsed(r, &x.duration_ps)))
        return rc;
    if (x.kind == RLT_OP_COLLECTIVE &&
        ((rc = read_group(r, &x)) || (rc = whole(r, BYTES, MAX_BYTES, &x.bytes))))
        return rc;
    if (x.kind == RLT_OP_COLLECTIVE ? x.bytes == 0 && x.coll != RLT_BARRIER : x.duration_ps < 0) {
        *(x.kind == RLT_OP_COLLECTIVE ? &r->empty : &r->untimed) += 1;
        return 0;
    }
    x.name = rlt_intern(&r->t.names, cell(r, STAGE), strlen(cell(r, STAGE)));
    if (x.name == RLT_NONE)
        return rlt_nomem(r->err);
    rc = rlt_grow(&r->rows, &r->capacity, sizeof *r->rows, (uint64_t)r->n + 1, MAX_ROWS, "lines", r->err);
    if (!rc)
        r->rows[r->n++] = x;
    return rc;
}

/* Reads the first line, "[rank0 ~ rankN]", which is no row of the table, and moves *text behind it. */
static int read_ranks(reading *r, const char **text, size_t *length, uint32_t n_ranks)
{
    const char *end = memchr(*text, '\n', *length);
    unsigned first = 1, last = 0;
    char line[64];
    int used = 0;
    size_t n = end ? (size_t)(end - *text) : *length;
    n -= n && (*text)[n - 1] == '\r';
    snprintf(line, sizeof line, "%.*s", (int)(n < 63 ? n : 63), *text);
    if (sscanf(line, "[rank%7u ~ rank%8u]%n", &first, &last, &used) != 2 || line[used] || first != 0 ||
        last >= RLT_MAX_RANKS)
        return rlt_fail(r->err, RLT_EMALFORMED, r->t.file, "line 1: expected [rank0 ~ rankN], got '%s'",
                        line);
    r->t.ranks = n_ranks ? n_ranks : last + 1;
    size_t behind = end ? (size_t)(end - *text) + 1 : *length;
    *text += behind;
    *length -= behind;
    return 0;
}

/* Finds the number of ranks of a list that does not say it. */
static int find_ranks(reading *r, const rlt_read_options *opts)
{
    uint64_t groups = 1, places = opts->n_dims ? 1 : 0;
    for (uint32_t d = 0; d < opts->n_dims && places <= RLT_MAX_RANKS; d++)
        places *= opts->dims[d];
    for (uint32_t g = 0; g < 3; g++) {
        static const uint8_t axes[] = {TP, DP, PP};
        groups *= r->sizes[axes[g]] ? r->sizes[axes[g]] : 1;
    }
    groups = r->sizes[TP] || r->sizes[DP] || r->sizes[PP] ? groups : places;
    if (opts->n_ranks)
        groups = opts->n_ranks;
    if (groups == 0 || groups > RLT_MAX_RANKS)
        return rlt_fail(r->err, RLT_ESCHEMA, r->t.file,
                        "the list does not say how many ranks there are: pass --trace-ranks");
    r->t.ranks = (uint32_t)groups;
    return 0;
}

/* Gives rows of groups without a size the size of that group. */
static void resolve_sizes(reading *r)
{
    uint32_t tp = r->sizes[TP] ? r->sizes[TP] : 1, pp = r->sizes[PP] ? r->sizes[PP] : 1;
    uint32_t dp = r->sizes[DP] ? r->sizes[DP] : r->t.ranks / tp / pp;
    uint32_t ep = r->sizes[EP] ? r->sizes[EP] : 1;
    for (uint32_t i = 0; i < r->n && !r->sizes[EP] && dp; i++)
        ep = r->rows[i].kind == RLT_OP_COLLECTIVE && r->rows[i].place == EP ? dp : ep;
    const uint32_t largest[] = {r->t.ranks, tp, dp, ep, dp / ep, pp};
    for (uint32_t i = 0; i < r->n; i++) {
        row *x = &r->rows[i];
        if (x->kind != RLT_OP_COLLECTIVE || x->size)
            continue;
        r->unsized += x->place != ALL && !r->sizes[x->place];
        x->size = x->place != ALL && r->sizes[x->place] ? r->sizes[x->place] : largest[x->place];
        x->size = x->size ? x->size : 1;
    }
    r->sizes[EP] = ep;
}

static int read_rows(reading *r, const char *text, size_t length, const rlt_read_options *opts)
{
    bool measured = length > 0 && text[0] != '[';
    int rc = measured ? 0 : read_ranks(r, &text, &length, opts->n_ranks);
    if (!rc)
        rc = rlt_csv_begin(&r->csv, r->t.file, text, length, r->err);
    r->csv.line += !measured; /* the first line */
    for (int k = 0; k < N_COLUMNS && !rc; k++) {
        r->column[k] = rlt_csv_column(&r->csv, column_names[k]);
        if (r->column[k] < 0 && k <= BYTES)
            rc = rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, r->err, "the column %s is missing", column_names[k]);
    }
    if (rc)
        return rc;
    while ((rc = rlt_csv_next(&r->csv, r->err)) == 1 && (rc = read_row(r)) == 0)
        ;
    if (!rc && r->n == 0)
        rc = rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, r->err, "the file has no communication");
    if (!rc && measured)
        rc = find_ranks(r, opts);
    if (!rc)
        resolve_sizes(r);
    return rc;
}

/* Returns the distance between ranks of a group. */
static uint64_t stride_of(const reading *r, const row *x)
{
    uint64_t tp = r->sizes[TP] ? r->sizes[TP] : 1, ep = r->sizes[EP] ? r->sizes[EP] : 1;
    switch (x->place) {
    case DP:
    case EP:
        return tp;
    case EP_DP:
        return tp * ep;
    case PP:
        return r->t.ranks / x->size;
    default:
        return 1;
    }
}

/* Returns the groups of a row. They are made when first needed. */
static int class_of(reading *r, rlt_builder *b, const row *x, const class **out)
{
    uint64_t stride = stride_of(r, x);
    uint32_t k = 0, ranks = r->t.ranks, *members = NULL;
    while (k < r->n_classes && (r->classes[k].place != x->place || r->classes[k].n != x->size))
        k++;
    *out = &r->classes[k];
    if (k < r->n_classes)
        return 0;
    if (stride == 0 || stride > ranks || ranks % stride || ranks / stride % x->size || k == MAX_CLASSES)
        return rlt__layer_fail(&r->t, x->line, RLT_ESCHEMA, r->err,
                               "%" PRIu32 " ranks do not divide into groups of %" PRIu32
                               " with stride %" PRIu64,
                               ranks, x->size, stride);
    class *c = &r->classes[r->n_classes++];
    *c = (class){.place = x->place, .stride = (uint32_t)stride, .n = x->size};
    c->groups = malloc((size_t)ranks * sizeof *c->groups);
    members = malloc((size_t)c->n * sizeof *members);
    if (!c->groups || !members) {
        free(members);
        return rlt_nomem(r->err);
    }
    for (uint32_t q = 0; q < ranks; q++) {
        char label[48];
        if (q / c->stride % c->n != 0)
            continue;
        for (uint32_t i = 0; i < c->n; i++)
            members[i] = q + i * c->stride;
        snprintf(label, sizeof label, "%s %" PRIu32, place_names[c->place], q);
        uint32_t group = rlt_build_group(b, label, members, c->n);
        for (uint32_t i = 0; i < c->n; i++)
            c->groups[members[i]] = group;
    }
    free(members);
    return 0;
}

static int make_rank(reading *r, rlt_builder *b, uint32_t rank, uint32_t first, uint32_t last, bool keep)
{
    uint32_t before = RLT_NONE, stream = rlt_build_resource(b, rank, RLT_RES_STREAM, "stream");
    for (uint32_t i = 0; i < r->n; i++) {
        const row *x = &r->rows[i];
        const class *c = NULL;
        bool comm = x->kind == RLT_OP_COLLECTIVE;
        if (x->step < first || x->step > last)
            continue;
        int rc = comm ? class_of(r, b, x, &c) : 0;
        if (rc)
            return rc;
        if (comm && c->n < 2)
            continue;
        bool replayed = !comm || (keep && x->duration_ps >= 0);
        rlt_op_desc d = rlt_op_desc_init(replayed ? RLT_OP_COMPUTE : RLT_OP_COLLECTIVE, rank);
        const char *name = rlt_interned(&r->t.names, x->name);
        d.resource = stream;
        d.name = rlt_build_string(b, name, strlen(name));
        d.step = (uint16_t)(x->step - first);
        d.recorded_duration_ps = x->duration_ps;
        if (replayed) {
            d.duration_ps = x->duration_ps;
        } else {
            d.coll = (rlt_coll_kind)x->coll;
            d.group = c->groups[rank];
            d.bytes = x->coll == RLT_BARRIER ? 0 : x->bytes;
        }
        uint32_t op = rlt_build_op(b, &d);
        if (before != RLT_NONE)
            rlt_build_dep(b, op, before);
        before = op;
    }
    return 0;
}

static int make(reading *r, const rlt_read_options *opts, rlt_builder *b)
{
    uint32_t steps = r->rows[r->n - 1].step + 1u, first = 0, last = steps - 1;
    if (opts->last_step >= 0) {
        first = opts->first_step < 0 ? 0 : (uint32_t)opts->first_step;
        last = (uint32_t)opts->last_step;
    }
    if (last >= steps || first > last)
        return rlt_fail(r->err, RLT_ERANGE, r->t.file,
                        "expected steps within the recorded 0:%" PRIu32 ", got %" PRIu32 ":%" PRIu32,
                        steps - 1, first, last);
    int rc = 0;
    for (uint32_t q = 0; q < r->t.ranks && !rc && !rlt_build_failed(b); q++)
        rc = make_rank(r, b, q, first, last, opts->keep_waits);
    if (!rc && r->empty)
        rlt_build_note(b, r->empty, "communication without bytes: left out");
    if (!rc && r->unsized)
        rlt_build_note(b, r->unsized,
                       "groups whose size the list does not give: the largest that fits assumed");
    if (!rc && r->untimed)
        rlt_build_note(b, r->untimed, "computation without a time: left out");
    return rc;
}

static int build(reading *r, const rlt_read_options *opts, uint64_t hash, rlt_program **out)
{
    rlt_builder *b = NULL;
    rlt_error own = {0};
    if ((uint64_t)r->n * r->t.ranks > MAX_OPS)
        return rlt_fail(r->err, RLT_ERANGE, r->t.file,
                        "%" PRIu32 " lines on %" PRIu32 " ranks exceed %d operations", r->n, r->t.ranks,
                        MAX_OPS);
    int rc = rlt_builder_create(r->t.ranks, &b, r->err);
    if (rc)
        return rc;
    if ((rc = make(r, opts, b))) {
        rlt_builder_free(b);
        return rc;
    }
    rlt_build_hash(b, hash);
    rc = rlt_builder_finish(b, "aicb", out, &own);
    if (rc && r->err && !r->err->code) {
        rlt_error_prefix(&own, r->t.file);
        *r->err = own;
    }
    return rc;
}

static int read_aicb(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                     rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    *out = NULL;
    if (n != 1)
        return rlt_fail(err, RLT_EUSAGE, n ? paths[1] : NULL, "expected one AICB file for all ranks");
    reading *r = calloc(1, sizeof *r);
    if (!r)
        return rlt_nomem(err);
    r->t.file = paths[0];
    r->err = err;
    int rc = rlt_read_file(paths[0], MAX_FILE_BYTES, &text, &length, err);
    if (!rc && !(rc = read_rows(r, text, length, opts)))
        rc = build(r, opts, rlt_hash_bytes(text, length, 0), out);
    for (uint32_t k = 0; k < r->n_classes; k++)
        free(r->classes[k].groups);
    rlt__layers_free(&r->t);
    free(r->rows);
    free(r);
    free(text);
    return rc;
}

static int probe(const char *path, const char *head, size_t n)
{
    static const char *const begins[] = {"[rank0 ~ rank", "comm_type,comm_group,comm_group_size,msg_size"};
    (void)path;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (n > strlen(begins[i]) && memcmp(head, begins[i], strlen(begins[i])) == 0)
            return 95;
    return 0;
}

const rlt_reader rlt_reader_aicb = {
    .name = "aicb",
    .summary = "AICB's list of collectives (CSV), one file for all ranks",
    .probe = probe,
    .read = read_aicb,
    .check = NULL,
};
