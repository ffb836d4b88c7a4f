/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet run --compare A B`: two runs side by side, and the sources of their difference. Each is a result
 * (`--format json`) or a file of options (`--config`), which is then run. The causes of the time of the rank
 * that ends last add up to the run, so their differences add up to the difference of the runs. Results of
 * earlier versions have four states only.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/config.h"
#include "sim/text/json.h"
#include "sim/text/json_stream.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/replay/causes.h"

enum { STATES = 4, MAX_KINDS = 64, MAX_STATE_PS = INT32_MAX };

typedef struct transfers {
    char name[64]; /* "all_reduce by ring" */
    uint64_t count, bytes;
    rlt_time transfer_ps, wait_ps;
} transfers;

typedef struct side {
    const char *path;
    rlt_time time_ps, iteration_ps, state_ps[STATES], cause_ps[RLT_CAUSES];
    bool named; /* has causes */
    transfers kinds[MAX_KINDS];
    uint32_t n_kinds;
    char busiest[200];
    double utilization, memory_bytes;
    char basis[16], accelerator[64]; /* grounds of a training; "": none */
    char stack[32];                  /* chosen for it; "": none, or named by the user */
} side;

static const char *const state_keys[STATES] = {"compute_ps", "exposed_comm_ps", "host_ps", "idle_ps"};
static const char *const state_names[STATES] = {"compute", "exposed communication", "host", "idle"};

static const char *const members[] = {"schema_version", "time_ps", "compute_ps",        "exposed_comm_ps",
                                      "host_ps",        "idle_ps", "iteration_time_ps", "collectives",
                                      "links",          "training"};
enum { VERSION, TIME, FIRST_STATE, ITERATIONS = FIRST_STATE + STATES, COLLECTIVES, LINKS, TRAINING, MEMBERS };

/* Reads a result as a stream, since it may have hundreds of megabytes. */
typedef struct source {
    rlt_jstream *stream;
    rlt_jpiece piece;
    const char *wanted[MEMBERS + RLT_CAUSES + 1]; /* `members`, then the keys of causes, then NULL */
    uint32_t seen;                                /* bits of the required members that were found */
    uint32_t iterations;
} source;

static void list_wanted(source *f)
{
    uint32_t n = 0;
    for (; n < MEMBERS; n++)
        f->wanted[n] = members[n];
    for (int c = 0; c < RLT_CAUSES; c++)
        if (rlt_cause_key((rlt_cause)c))
            f->wanted[n++] = rlt_cause_key((rlt_cause)c);
}

static uint32_t member(const source *f, uint32_t object, const char *key)
{
    return rlt_jpiece_get(&f->piece, object, key);
}

static int expected(const source *f, const char *key, const char *what, rlt_error *err)
{
    return rlt_jstream_fail(f->stream, &f->piece, RLT_ESCHEMA, err, "%s: expected %s", key, what);
}

static int get_time(const source *f, uint32_t token, const char *key, rlt_time *out, rlt_error *err)
{
    const char *text = rlt_jpiece_text(&f->piece, token);
    if (!text || f->piece.tokens[token].type != RLT_J_NUMBER || !rlt_decimal_i64(text, 0, out) || *out < 0)
        return expected(f, key, "a whole number, not negative", err);
    return 0;
}

static int get_real(const source *f, uint32_t token, const char *key, double *out, rlt_error *err)
{
    const char *text = rlt_jpiece_text(&f->piece, token);
    if (!text || f->piece.tokens[token].type != RLT_J_NUMBER)
        return expected(f, key, "a number", err);
    *out = strtod(text, NULL);
    return 0;
}

static int get_text(const source *f, uint32_t token, const char *key, const char **out, rlt_error *err)
{
    *out = rlt_jpiece_text(&f->piece, token);
    return *out ? 0 : expected(f, key, "a text", err);
}

static int add_collective(side *s, const source *f, rlt_error *err)
{
    const char *kind, *algorithm;
    char name[64];
    rlt_time transfer = 0, wait = 0, bytes = 0, count = 1;
    uint32_t k = 0;
    int rc;
    if ((rc = get_text(f, member(f, 0, "collective"), "collective", &kind, err)) ||
        (rc = get_text(f, member(f, 0, "algorithm"), "algorithm", &algorithm, err)) ||
        (rc = get_time(f, member(f, 0, "bytes"), "bytes", &bytes, err)))
        return rc;
    if (member(f, 0, "transfer_ps") == RLT_NONE) /* this communication did not take place */
        return 0;
    if ((rc = get_time(f, member(f, 0, "transfer_ps"), "transfer_ps", &transfer, err)) ||
        (rc = get_time(f, member(f, 0, "wait_ps"), "wait_ps", &wait, err)) ||
        (member(f, 0, "count") != RLT_NONE &&
         (rc = get_time(f, member(f, 0, "count"), "count", &count, err))))
        return rc;
    snprintf(name, sizeof name, "%.28s by %.28s", kind, algorithm);
    while (k < s->n_kinds && strcmp(s->kinds[k].name, name) != 0)
        k++;
    if (k == MAX_KINDS)
        return rlt_jstream_fail(f->stream, &f->piece, RLT_ERANGE, err, "more than %d kinds of communication",
                                MAX_KINDS);
    if (k == s->n_kinds) {
        s->n_kinds++;
        memcpy(s->kinds[k].name, name, sizeof name);
    }
    s->kinds[k].count += (uint64_t)count;
    s->kinds[k].bytes += (uint64_t)bytes * (uint64_t)count;
    s->kinds[k].transfer_ps = rlt_time_add(s->kinds[k].transfer_ps, rlt_time_mul(transfer, (uint64_t)count));
    s->kinds[k].wait_ps = rlt_time_add(s->kinds[k].wait_ps, rlt_time_mul(wait, (uint64_t)count));
    return 0;
}

static int read_link(side *s, const source *f, rlt_error *err)
{
    double u = 0;
    const char *src = "", *dst = "";
    int rc;
    if ((rc = get_real(f, member(f, 0, "utilization"), "utilization", &u, err)) ||
        (rc = get_text(f, member(f, 0, "src"), "src", &src, err)) ||
        (rc = get_text(f, member(f, 0, "dst"), "dst", &dst, err)))
        return rc;
    if (u > s->utilization) {
        s->utilization = u;
        snprintf(s->busiest, sizeof s->busiest, "%.90s->%.90s", src, dst);
    }
    return 0;
}

/* Copies a text of the training, or of an object in it; "" if there is none. */
static void copy_text(const source *f, uint32_t object, const char *key, char *out, size_t size)
{
    uint32_t token = member(f, object, key);
    const char *text = token == RLT_NONE ? NULL : rlt_jpiece_text(&f->piece, token);
    snprintf(out, size, "%s", text ? text : "");
    rlt_make_printable(out);
}

static int read_training(side *s, const source *f, rlt_error *err)
{
    uint32_t stack = member(f, 0, "stack"),
             chosen = stack == RLT_NONE ? RLT_NONE : member(f, stack, "chosen");
    copy_text(f, 0, "basis", s->basis, sizeof s->basis);
    copy_text(f, 0, "accelerator", s->accelerator, sizeof s->accelerator);
    if (chosen != RLT_NONE && f->piece.tokens[chosen].type == RLT_J_TRUE)
        copy_text(f, stack, "name", s->stack, sizeof s->stack);
    const rlt_jpiece *p = &f->piece;
    uint32_t stages = rlt_jpiece_get(p, 0, "stages");
    int rc = 0;
    for (uint32_t v = rlt_jpiece_first(p, stages); !rc && v != RLT_NONE; v = rlt_jpiece_after(p, stages, v)) {
        double bytes = 0;
        rc = get_real(f, member(f, v, "memory_bytes"), "memory_bytes", &bytes, err);
        s->memory_bytes = bytes > s->memory_bytes ? bytes : s->memory_bytes;
    }
    return rc;
}

static int read_cause(side *s, const source *f, rlt_error *err)
{
    int c = 0;
    while (!rlt_cause_key((rlt_cause)c) || strcmp(rlt_cause_key((rlt_cause)c), f->piece.key) != 0)
        c++;
    s->named = true;
    return get_time(f, 0, f->piece.key, &s->cause_ps[c], err);
}

static int read_piece(side *s, source *f, rlt_error *err)
{
    uint32_t m = 0;
    while (f->wanted[m] && strcmp(f->wanted[m], f->piece.key) != 0)
        m++;
    f->seen |= 1u << m;
    switch (m) {
    case VERSION:
        return 0;
    case TIME:
        return get_time(f, 0, members[m], &s->time_ps, err);
    case ITERATIONS:
        f->iterations += f->piece.element;
        return 0;
    case COLLECTIVES:
        return f->piece.element ? add_collective(s, f, err) : 0;
    case LINKS:
        return f->piece.element ? read_link(s, f, err) : 0;
    case TRAINING:
        return read_training(s, f, err);
    default:
        return m < MEMBERS ? get_time(f, 0, members[m], &s->state_ps[m - FIRST_STATE], err)
                           : read_cause(s, f, err);
    }
}

/* Reads a result. Returns 1 if the file is none: it is then read as options, whose reader reports what is
 * wrong. */
static int read_result(side *s, const char *path, rlt_error *err)
{
    source f = {0};
    list_wanted(&f);
    int rc = rlt_jstream_open(path, f.wanted, &f.stream, err), more = 0;
    while (!rc && (more = rlt_jstream_next(f.stream, &f.piece, err)) > 0)
        rc = read_piece(s, &f, err);
    rc = rc ? rc : more;
    rlt_jstream_close(f.stream);
    if (!(f.seen & 1u << VERSION))
        return 1;
    for (uint32_t m = TIME; m < COLLECTIVES && !rc; m++)
        if (!(f.seen & 1u << m) || (m == ITERATIONS && f.iterations == 0))
            rc = rlt_fail(err, RLT_ESCHEMA, path,
                          "%s is missing: expected a result of 'ringlet run --format json'", members[m]);
    if (!rc)
        s->iteration_ps = s->time_ps / f.iterations;
    return rc;
}

/* Runs the options of a file and writes the result to `result`. */
static int run_options(const char *path, const char *result, rlt_error *err)
{
    const rlt_command *c = &rlt_cmd_run;
    char name[] = "run", option[] = "--config", *argv[] = {name, option, strdup(path), NULL};
    rlt_config config = {0};
    rlt_parsed parsed = {0};
    rlt_run_asked *s = calloc(1, sizeof *s);
    int rc = s && argv[2] ? rlt_config_expand(&config, c->options, 3, argv, err) : rlt_nomem(err);
    if (!rc)
        rc = rlt_options_parse(c->options, config.argc, config.argv, s, &parsed, err);
    if (!rc)
        rc = rlt_config_names(&config, &parsed, err);
    if (!rc && s->compare)
        rc = rlt_fail(err, RLT_EUSAGE, "--compare", "a file with \"compare\" cannot be compared");
    if (!rc && rlt_run_is_daso(&s->run))
        rc = rlt_fail(err, RLT_EUSAGE, "--strategy", "daso is many runs: it cannot be compared");
    if (!rc) {
        s->report.format = "json";
        s->report.output = result;
        s->explain = false;
        rc = c->run(&parsed, s, err);
    }
    if (rc && (rc = rlt_config_locate(&config, &parsed, rc, err)) == RLT_EUSAGE) {
        rlt_error_prefix(err, path);
        rc = err ? (err->code = RLT_ESCHEMA) : RLT_ESCHEMA;
    }
    rlt_parsed_free(&parsed);
    rlt_config_free(&config);
    free(argv[2]);
    free(s);
    return rc;
}

static int read_side(side *s, const char *path, rlt_error *err)
{
    char result[] = "/tmp/ringlet-compare-XXXXXX";
    int rc = read_result(s, path, err), fd;
    if (rc == 1) {
        if ((fd = mkstemp(result)) < 0)
            return rlt_fail(err, RLT_EIO, result, "cannot be made");
        close(fd);
        rlt_temporary_add(result);
        *s = (side){0};
        rc = run_options(path, result, err);
        if (!rc)
            rc = read_result(s, result, err);
        unlink(result);
        rlt_temporary_drop(result);
    }
    s->path = path;
    return rc;
}

static const rlt_column columns[] = {
    {"figure", "figure", NULL, RLT_COL_TEXT, 0, 0,
     "what is compared: a time of the run, a part of that of the rank that ends last, or a kind of transfer"},
    {"first", "first", NULL, RLT_COL_TEXT, 14, 0, "time in the first run"},
    {"second", "second", NULL, RLT_COL_TEXT, 14, 0, "time in the second run"},
    {"difference", "difference", NULL, RLT_COL_TEXT, 14, 0, "second - first"},
    {"share", "of the whole difference", "%", RLT_COL_PERCENT, 24, 1,
     "difference / sum of the differences of all states"},
};

const rlt_columns rlt_compare_columns = {"Difference of two runs: `ringlet run --compare`", columns,
                                         sizeof columns / sizeof *columns};

char *rlt_format_difference(char *buffer, size_t size, rlt_time a, rlt_time b)
{
    rlt_time d = b - a;
    buffer[0] = d < 0 ? '-' : '+';
    rlt_format_duration(buffer + 1, size - 1, d < 0 ? -d : d);
    return buffer;
}

static void row(rlt_table *t, const char *name, rlt_time a, rlt_time b, rlt_time whole)
{
    char first[32], second[32], difference[40];
    rlt_time d = b - a;
    rlt_format_duration(first, sizeof first, a);
    rlt_format_duration(second, sizeof second, b);
    rlt_format_difference(difference, sizeof difference, a, b);
    rlt_value v[] = {rlt_text(name), rlt_text(first), rlt_text(second), rlt_text(difference),
                     whole ? rlt_real((double)d / (double)whole) : rlt_absent()};
    rlt_table_row(t, v);
}

static const transfers *find(const side *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_kinds; i++)
        if (strcmp(s->kinds[i].name, name) == 0)
            return &s->kinds[i];
    return NULL;
}

/* Adds rows for the collectives of either side. They are not shares of the span: transfers may overlap
 * compute. */
static void transfer_rows(rlt_table *t, const side *a, const side *b)
{
    for (int pass = 0; pass < 2; pass++) {
        const side *from = pass ? b : a;
        for (uint32_t i = 0; i < from->n_kinds; i++) {
            const transfers *x = find(a, from->kinds[i].name), *y = find(b, from->kinds[i].name);
            char name[96];
            if (pass && x)
                continue;
            snprintf(name, sizeof name, "%s (%llu, %llu)", from->kinds[i].name,
                     (unsigned long long)(x ? x->count : 0), (unsigned long long)(y ? y->count : 0));
            row(t, name, x ? x->transfer_ps : 0, y ? y->transfer_ps : 0, 0);
        }
    }
}

/* Adds rows for the parts of the time, which add up to the whole difference: with `t` NULL, returns it. */
static rlt_time parts(rlt_table *t, const side *a, const side *b, rlt_time whole)
{
    enum { COMM = 1 }; /* the state that causes divide */
    bool named = a->named && b->named;
    rlt_time sum = 0;
    for (int i = 0; i < STATES; i++) {
        for (int c = 0; i == COMM && named && c < RLT_CAUSES; c++) {
            sum += b->cause_ps[c] - a->cause_ps[c];
            if (t && (a->cause_ps[c] || b->cause_ps[c]))
                row(t, rlt_cause_name((rlt_cause)c), a->cause_ps[c], b->cause_ps[c], whole);
        }
        if (i == COMM && named)
            continue;
        sum += b->state_ps[i] - a->state_ps[i];
        if (t)
            row(t, state_names[i], a->state_ps[i], b->state_ps[i], whole);
    }
    return sum;
}

static int put_table(const side *a, const side *b, FILE *out, rlt_error *err)
{
    char times[64];
    rlt_table t;
    rlt_time longer = b->time_ps - a->time_ps;
    fprintf(out, "first: %s; second: %s\n", a->path, b->path);
    rlt_heading(out, "\nthe rank that ends last");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, sizeof columns / sizeof *columns, out, NULL);
    row(&t, "total time", a->time_ps, b->time_ps, 0);
    row(&t, "an iteration", a->iteration_ps, b->iteration_ps, 0);
    (void)parts(&t, a, b, parts(NULL, a, b, 0));
    int rc = rlt_table_end(&t, err);
    if (rc)
        return rc;
    rlt_heading(out, "\ntransfers (how many of each), over all ranks, from the last arrival on");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, 4, out, NULL);
    transfer_rows(&t, a, b);
    rc = rlt_table_end(&t, err);
    fprintf(out, "\nbusiest link: %s at %.1f %%; %s at %.1f %%\n", a->busiest[0] ? a->busiest : "none",
            100 * a->utilization, b->busiest[0] ? b->busiest : "none", 100 * b->utilization);
    if (a->memory_bytes > 0 && b->memory_bytes > 0)
        fprintf(out, "memory of the fullest stage: %.2f GB; %.2f GB (%+.1f %%)\n", a->memory_bytes / 1e9,
                b->memory_bytes / 1e9, 100 * (b->memory_bytes / a->memory_bytes - 1));
    if (a->time_ps > 0 && b->time_ps / a->time_ps >= RLT_TIMES)
        fprintf(out, "the second takes %s times as long as the first\n",
                rlt_format_grouped(times, sizeof times, (double)b->time_ps / (double)a->time_ps));
    else if (a->time_ps > 0)
        fprintf(out, "the second takes %.2f %% %s time than the first\n",
                100 * (double)(longer < 0 ? -longer : longer) / (double)a->time_ps,
                longer < 0 ? "less" : "more");
    return rc;
}

/* Warns if the two rest on unlike evidence: their difference may be one of assumptions. */
static void warn_of_basis(const side *a, const side *b)
{
    const char *assumed = rlt_basis_name(RLT_BASIS_ASSUMED);
    bool first = strcmp(a->basis, assumed) == 0;
    if (*a->basis && *b->basis && first != (strcmp(b->basis, assumed) == 0))
        rlt_warn("the time on %s is %s, that on %s is assumed: their difference rests on no measurement",
                 first ? b->accelerator : a->accelerator, first ? b->basis : a->basis,
                 first ? a->accelerator : b->accelerator);
    else if (*a->stack && *b->stack && strcmp(a->stack, b->stack) != 0)
        rlt_warn("the stacks chosen differ, %s and %s: part of the difference is software's "
                 "(stack=NAME names one)",
                 a->stack, b->stack);
}

static int put_json(const side *sides, const rlt_parsed *args, const char *path, rlt_error *err)
{
    rlt_jw w;
    rlt_document_begin(&w, "run --compare", args, NULL);
    rlt_jw_array(&w, "runs");
    for (int k = 0; k < 2; k++) {
        const side *s = &sides[k];
        rlt_jw_object(&w, NULL);
        rlt_jw_string(&w, "path", s->path);
        rlt_jw_i64(&w, "time_ps", s->time_ps);
        rlt_jw_i64(&w, "iteration_ps", s->iteration_ps);
        for (int i = 0; i < STATES; i++)
            rlt_jw_i64(&w, state_keys[i], s->state_ps[i]);
        for (int c = 0; s->named && c < RLT_CAUSES; c++)
            if (rlt_cause_key((rlt_cause)c))
                rlt_jw_i64(&w, rlt_cause_key((rlt_cause)c), s->cause_ps[c]);
        rlt_jw_array(&w, "transfers");
        for (uint32_t i = 0; i < s->n_kinds; i++) {
            rlt_jw_object(&w, NULL);
            rlt_jw_string(&w, "what", s->kinds[i].name);
            rlt_jw_u64(&w, "count", s->kinds[i].count);
            rlt_jw_u64(&w, "bytes", s->kinds[i].bytes);
            rlt_jw_i64(&w, "transfer_ps", s->kinds[i].transfer_ps);
            rlt_jw_i64(&w, "wait_ps", s->kinds[i].wait_ps);
            rlt_jw_end_object(&w);
        }
        rlt_jw_end_array(&w);
        rlt_jw_double(&w, "utilization", s->utilization, 6);
        rlt_jw_double(&w, "memory_bytes", s->memory_bytes, 0);
        if (*s->basis)
            rlt_jw_string(&w, "basis", s->basis);
        rlt_jw_end_object(&w);
    }
    rlt_jw_end_array(&w);
    return rlt_document_write(&w, path, err);
}

int rlt_run_compare(const rlt_parsed *args, const rlt_run_asked *s, rlt_error *err)
{
    static const char *const taken[] = {"compare", "explain", "format", "output", "quiet", NULL};
    rlt_file f = {0};
    int rc = rlt_given_only(args, taken, "--compare: set options in the two files", err);
    if (rc)
        return rc;
    if (rlt_format_of(s->report.format, s->report.output) == RLT_FORMAT_CSV)
        return rlt_fail(err, RLT_EUSAGE, "--format", "--compare writes a table or json");
    if (args->n_operands != 2)
        return rlt_fail(err, RLT_EUSAGE, "--compare", "expected two files, got %d", args->n_operands);
    if (s->explain)
        rlt_note("--compare explains the difference by itself: --explain of one run adds its critical path");
    side *sides = calloc(2, sizeof *sides);
    if (!sides)
        return rlt_nomem(err);
    for (int k = 0; k < 2 && !rc; k++)
        rc = read_side(&sides[k], args->operands[k], err);
    if (!rc)
        warn_of_basis(&sides[0], &sides[1]);
    if (!rc && rlt_format_of(s->report.format, s->report.output) == RLT_FORMAT_JSON) {
        rc = put_json(sides, args, s->report.output, err);
    } else if (!rc && !(rc = rlt_file_open(&f, s->report.output, err))) {
        rc = put_table(&sides[0], &sides[1], f.stream, err);
        if (rc)
            rlt_file_discard(&f);
        else
            rc = rlt_file_close(&f, err);
    }
    free(sides);
    return rc;
}
