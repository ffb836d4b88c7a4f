/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of measurements, and the choice of a reader for a file. */
#include "tools/calibrate/measure/measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/text/file.h"

#define MAX_BYTES ((uint64_t)1 << 48) /* limit of a collective */

int rlt_measure_fail(const rlt_measure_text *in, uint32_t line, int code, rlt_error *err, const char *fmt,
                     ...)
{
    char where[sizeof err->where];
    va_list args;
    snprintf(where, sizeof where, "%.400s:%u", in->path, line);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

int rlt_measure_skip(rlt_measurements *t, const rlt_measure_text *in, uint32_t line, rlt_error *why)
{
    if (why->code == RLT_ENOMEM)
        return RLT_ENOMEM;
    if (t->skipped++ == 0) {
        t->first_skipped.file = in->path;
        t->first_skipped.line = line;
        snprintf(t->first_skipped.why, sizeof t->first_skipped.why, "%.319s", why->what);
    }
    *why = (rlt_error){0};
    return 0;
}

int rlt_measure_us(const char *text, size_t length, rlt_time *time_ps)
{
    return rlt_parse_decimal(text, length, RLT_US, time_ps);
}

int rlt_measure_kind(const char *name, rlt_coll_kind *kind, rlt_error *err)
{
    char word[48];
    const char *slash = strrchr(name, '/');
    size_t length;
    snprintf(word, sizeof word, "%.47s", slash ? slash + 1 : name);
    length = strlen(word);
    if (length > 5 && strcmp(word + length - 5, "_perf") == 0)
        word[length - 5] = 0;
    rlt_make_printable(word);
    return rlt_coll_parse(word, kind, err);
}

int rlt_measure_add(rlt_measurements *t, const rlt_measurement *row, const char *where, rlt_error *err)
{
    int rc;
    if (row->time_ps <= 0 || row->time_ps > RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, where, "expected a time above zero");
    if (row->ranks < 1 || row->ranks > RLT_MAX_MEMBERS)
        return rlt_fail(err, RLT_ERANGE, where, "expected 1 to %d ranks, got %u", RLT_MAX_MEMBERS,
                        row->ranks);
    if (row->nodes < 1 || row->nodes > row->ranks)
        return rlt_fail(err, RLT_ERANGE, where, "%u ranks cannot be on %u nodes", row->ranks, row->nodes);
    if (row->bytes > MAX_BYTES)
        return rlt_fail(err, RLT_ERANGE, where, "%llu bytes are above the limit of 256 TiB",
                        (unsigned long long)row->bytes);
    rc = rlt_grow(&t->rows, &t->capacity, sizeof *t->rows, (uint64_t)t->n + 1, RLT_MAX_MEASUREMENTS,
                  "measurements", err);
    if (!rc) {
        t->rows[t->n] = *row;
        t->rows[t->n++].element = rlt_dtype_bytes(row->dtype);
    }
    return rc;
}

/* Returns the default system name: the file's base name without extension. */
static const char *stem_of(rlt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strchr(name, '.');
    return rlt_arena_strndup(arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* Reads a text by its form. JSON begins with a brace. CSV has a first line with commas, which nccl-tests
 * never prints before a '#'. */
static int read_text(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err)
{
    const char *p = in->text;
    size_t line;
    if (in->length >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    p += strspn(p, " \t\r\n");
    if (*p == '{')
        return rlt_measure_nccl_json(t, in, err);
    line = strcspn(p, "\r\n");
    if (*p != '#' && memchr(p, ',', line) && !strstr(in->text, "\n# nThread"))
        return rlt_measure_csv(t, in, err);
    return rlt_measure_nccl(t, in, err);
}

/* Reports a file without a usable row, with the first row skipped, if there is one. */
static int no_rows(const rlt_measurements *t, const rlt_measure_text *in, uint32_t skipped, rlt_error *err)
{
    bool here = skipped && t->first_skipped.file == in->path;
    if (here)
        return rlt_fail(err, RLT_ESCHEMA, in->path, "no row is usable: %u row%s skipped: row %u: %s", skipped,
                        skipped == 1 ? "" : "s", t->first_skipped.line, t->first_skipped.why);
    return rlt_fail(err, RLT_ESCHEMA, in->path, "no measurements%s",
                    skipped ? ": every row was skipped"
                            : ": expected a CSV with collective, n_ranks, size_bytes, time_us, or the "
                              "output of nccl-tests");
}

static int read_all(rlt_measurements *t, rlt_measure_text *in, const char *path, rlt_error *err)
{
    uint32_t before = t->n, skipped = t->skipped;
    int rc;
    in->path = rlt_arena_strdup(&t->arena, strcmp(path, "-") == 0 ? "standard input" : path);
    in->system = in->hints.system ? rlt_arena_strdup(&t->arena, in->hints.system) : stem_of(&t->arena, path);
    if (!in->path || !in->system)
        return rlt_nomem(err);
    if (strlen(in->text) != in->length)
        return rlt_fail(err, RLT_EMALFORMED, in->path, "not a text file: it has zero bytes");
    if (in->text[strspn(in->text, " \t\r\n")] == 0)
        return rlt_fail(err, RLT_EMALFORMED, in->path, "the file is empty");
    rc = read_text(t, in, err);
    if (!rc && t->n == before)
        rc = no_rows(t, in, t->skipped - skipped, err);
    return rc;
}

int rlt_measurements_read(rlt_measurements *t, const char *path, const rlt_measure_hints *hints,
                          rlt_error *err)
{
    rlt_measure_text in = {0};
    char *text = NULL;
    int rc = rlt_read_file(path, RLT_MEASURE_BYTES, &text, &in.length, err);
    if (rc)
        return rc;
    in.text = text;
    if (hints)
        in.hints = *hints;
    rc = read_all(t, &in, path, err);
    free(text);
    return rc;
}

const char *rlt_measurements_skipped(const rlt_measurements *t, char *text, size_t size)
{
    text[0] = 0;
    if (t->skipped) {
        const char *slash = strrchr(t->first_skipped.file, '/');
        snprintf(text, size, "%u row%s skipped: row %u of %.100s: %s", t->skipped, t->skipped == 1 ? "" : "s",
                 t->first_skipped.line, slash ? slash + 1 : t->first_skipped.file, t->first_skipped.why);
    }
    return text;
}

void rlt_measurements_free(rlt_measurements *t)
{
    free(t->rows);
    rlt_arena_free(&t->arena);
    *t = (rlt_measurements){0};
}
