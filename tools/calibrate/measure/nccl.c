/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measurements as nccl-tests prints them. Builds differ: some have no redop or root, some leave these cells
 * blank, some add columns for single iterations or a time of day. The heading defines the columns. A row with
 * fewer cells than columns lacks redop or root, the only cells that are ever blank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "tools/calibrate/measure/measure.h"

enum { MAX_WORDS = 40, MAX_HOSTS = 4096, HOST = 64 };

typedef struct words {
    uint32_t n;
    struct {
        const char *at;
        size_t length;
    } w[MAX_WORDS];
} words;

typedef struct nccl {
    rlt_measurements *t;
    const rlt_measure_text *in;
    uint32_t line;
    char collective[48];   /* from the file's own heading; "": none */
    uint32_t ranks, nodes; /* seen so far */
    char (*hosts)[HOST];   /* distinct hosts of the job */
    uint32_t host_capacity;
    bool listing;           /* the last line listed a rank */
    uint32_t n_columns;     /* 0: no heading yet */
    uint32_t out, in_place; /* columns of the times, out of place and in place */
    uint32_t wrong;         /* distance from a time's column to its count of wrong values; 0: none */
    const char *dtype;
} nccl;

static words split_words(const char *p, const char *end)
{
    words s = {0};
    while (p < end && s.n < MAX_WORDS) {
        while (p < end && strchr(" \t\r", *p))
            p++;
        if (p == end)
            break;
        s.w[s.n].at = p;
        while (p < end && !strchr(" \t\r", *p))
            p++;
        s.w[s.n].length = (size_t)(p - s.w[s.n].at);
        s.n++;
    }
    return s;
}

static bool is(const words *s, uint32_t i, const char *word)
{
    return i < s->n && s->w[i].length == strlen(word) && memcmp(s->w[i].at, word, s->w[i].length) == 0;
}

static bool number(const words *s, uint32_t i, uint64_t *n)
{
    char text[24];
    if (i >= s->n || s->w[i].length >= sizeof text)
        return false;
    memcpy(text, s->w[i].at, s->w[i].length);
    text[s->w[i].length] = 0;
    return rlt_parse_count(text, n, NULL, NULL) == 0;
}

static int note_host(nccl *r, const char *at, size_t length, rlt_error *err)
{
    char host[HOST];
    int rc;
    snprintf(host, sizeof host, "%.*s", (int)(length < HOST ? length : HOST - 1), at);
    for (uint32_t i = r->nodes; i-- > 0;)
        if (strcmp(r->hosts[i], host) == 0)
            return 0;
    rc = rlt_grow(&r->hosts, &r->host_capacity, sizeof *r->hosts, (uint64_t)r->nodes + 1, MAX_HOSTS, "hosts",
                  err);
    if (!rc)
        memcpy(r->hosts[r->nodes++], host, sizeof host);
    return rc;
}

/* Reads "#  Rank  0 Group  0 Pid   6899 on host device  0 [0000:04:00] NVIDIA H100"; older builds have no
 * group. Rank 0 starts a new run. */
static int read_rank(nccl *r, const words *s, rlt_error *err)
{
    uint64_t rank;
    if (!number(s, 2, &rank))
        return 0;
    if (rank >= RLT_MAX_MEMBERS)
        return rlt_measure_fail(r->in, r->line, RLT_ERANGE, err, "rank %llu", (unsigned long long)rank);
    if (!r->listing)
        r->ranks = r->nodes = 0;
    r->listing = true;
    r->ranks = rank + 1 > r->ranks ? (uint32_t)rank + 1 : r->ranks;
    for (uint32_t i = 3; i + 1 < s->n; i++)
        if (is(s, i, "on"))
            return note_host(r, s->w[i + 1].at, s->w[i + 1].length, err);
    return 0;
}

static int read_columns(nccl *r, const words *s, rlt_error *err)
{
    uint32_t times = 0;
    r->n_columns = s->n - 1;
    r->wrong = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        if (is(s, i, "cputime"))
            return rlt_measure_fail(r->in, r->line, RLT_EUNSUPPORTED, err,
                                    "these are times of the host (-C): measure without -C");
        if (is(s, i, "timestamp")) /* its cell is two words: date and time */
            r->n_columns++;
        if (is(s, i, "time") && times++ == 0)
            r->out = i - 1;
        else if (is(s, i, "time"))
            r->in_place = i - 1;
        if ((is(s, i, "#wrong") || is(s, i, "error")) && times == 1)
            r->wrong = i - 1 - r->out;
    }
    if (times != 2 || !is(s, 2, "count") || r->out < 3)
        return rlt_measure_fail(r->in, r->line, RLT_ESCHEMA, err,
                                "expected the columns size, count, type, and twice time, algbw, busbw");
    return 0;
}

static int read_comment(nccl *r, const words *s, rlt_error *err)
{
    uint32_t i;
    if (is(s, 1, "Rank"))
        return read_rank(r, s, err);
    r->listing = false;
    if (is(s, 1, "size"))
        return read_columns(r, s, err);
    for (i = 1; i + 1 < s->n; i++)
        if (is(s, i, "starting:") && is(s, i - 1, "test"))
            snprintf(r->collective, sizeof r->collective, "%.*s",
                     (int)(s->w[i + 1].length < 47 ? s->w[i + 1].length : 47), s->w[i + 1].at);
    return 0;
}

/* Returns false if the row reports wrong values. */
static bool is_right(const nccl *r, const words *s, uint32_t time)
{
    uint32_t i = time + r->wrong;
    return r->wrong == 0 || i >= s->n || is(s, i, "N/A") || is(s, i, "0") ||
           strspn(s->w[i].at, "0e+-.") >= s->w[i].length;
}

static int add_time(nccl *r, const words *s, uint32_t i, rlt_buffers buffers, const rlt_measurement *row,
                    rlt_error *err)
{
    rlt_measurement m = *row;
    char where[600];
    if (rlt_measure_us(s->w[i].at, s->w[i].length, &m.time_ps) || m.time_ps <= 0)
        return rlt_measure_fail(r->in, r->line, RLT_EMALFORMED, err, "expected a time above zero, got '%.*s'",
                                (int)(s->w[i].length < 40 ? s->w[i].length : 40), s->w[i].at);
    if (!is_right(r, s, i))
        return rlt_measure_fail(r->in, r->line, RLT_EMALFORMED, err, "the row reports wrong values");
    m.buffers = buffers;
    snprintf(where, sizeof where, "%.400s:%u", r->in->path, r->line);
    return rlt_measure_add(r->t, &m, where, err);
}

static int know_job(nccl *r, rlt_measurement *m, rlt_error *err)
{
    const char *name = r->collective[0] ? r->collective : r->in->hints.collective;
    rlt_error why = {0};
    if (!name)
        return rlt_measure_fail(r->in, r->line, RLT_ESCHEMA, err,
                                "the file does not name its collective: use --collective");
    if (rlt_measure_kind(name, &m->kind, &why))
        return rlt_measure_fail(r->in, r->line, RLT_ESCHEMA, err, "%s", why.what);
    m->ranks = r->ranks ? r->ranks : r->in->hints.ranks;
    m->nodes = r->nodes ? r->nodes : r->in->hints.nodes ? r->in->hints.nodes : 1;
    if (m->ranks == 0)
        return rlt_measure_fail(r->in, r->line, RLT_ESCHEMA, err,
                                "the file does not list its ranks: use --ranks");
    return 0;
}

/* Reads size and type of a row, which both of its measurements have in common. */
static int read_size(nccl *r, const words *s, rlt_measurement *m, rlt_error *err)
{
    uint32_t missing = r->n_columns - s->n;
    if (s->n > r->n_columns || missing + 3 > r->out)
        return rlt_measure_fail(r->in, r->line, RLT_EMALFORMED, err, "%u cells under %u columns", s->n,
                                r->n_columns);
    if (!number(s, 0, &m->bytes))
        return rlt_measure_fail(r->in, r->line, RLT_EMALFORMED, err, "expected a size in bytes, got '%.*s'",
                                (int)(s->w[0].length < 40 ? s->w[0].length : 40), s->w[0].at);
    if (!r->dtype || strlen(r->dtype) != s->w[2].length || memcmp(r->dtype, s->w[2].at, s->w[2].length) != 0)
        r->dtype = rlt_arena_strndup(&r->t->arena, s->w[2].at, s->w[2].length);
    m->dtype = r->dtype;
    return m->dtype ? 0 : rlt_nomem(err);
}

/* Reads a row. What it lacks is counted; what the job lacks is an error. */
static int read_line(nccl *r, const words *s, rlt_error *err)
{
    rlt_measurement m = {
        .system = r->in->system, .source = "", .note = "", .file = r->in->path, .line = r->line};
    rlt_error why = {0};
    int rc;
    if (r->n_columns == 0)
        return rlt_measure_fail(r->in, r->line, RLT_ESCHEMA, err,
                                "a row before the heading '# size count type ... time algbw busbw'");
    if ((rc = know_job(r, &m, err)))
        return rc;
    if (read_size(r, s, &m, &why)) {
        rc = rlt_measure_skip(r->t, r->in, r->line, &why);
        return rc ? rlt_nomem(err) : 0;
    }
    for (int k = 0; k < 2 && !rc; k++)
        if (add_time(r, s, (k ? r->in_place : r->out) - (r->n_columns - s->n),
                     k ? RLT_IN_PLACE : RLT_OUT_OF_PLACE, &m, &why))
            rc = rlt_measure_skip(r->t, r->in, r->line, &why);
    return rc ? rlt_nomem(err) : 0;
}

static bool all_digits(const words *s)
{
    for (size_t i = 0; s->n && i < s->w[0].length; i++)
        if (s->w[0].at[i] < '0' || s->w[0].at[i] > '9')
            return false;
    return s->n > 1;
}

int rlt_measure_nccl(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err)
{
    nccl r = {.t = t, .in = in};
    const char *end;
    int rc = 0;
    for (const char *p = in->text; *p && !rc; p = *end ? end + 1 : end) {
        words s;
        end = p + strcspn(p, "\n");
        r.line++;
        s = split_words(p, end);
        if (s.n && s.w[0].at[0] == '#')
            rc = read_comment(&r, &s, err);
        else if (all_digits(&s))
            rc = read_line(&r, &s, err);
    }
    free(r.hosts);
    return rc;
}
