/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads of experts: shares[m * experts + e] of the copies of member m go to expert e. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/file.h"
#include "workload/experts/experts.h"

typedef struct matrix {
    const rlt_expert_group *g;
    double *shares;
} matrix;

/* A text of numbers, read from left to right. */
typedef struct text {
    const char *name, *at, *begin;
    uint32_t line;
} text;

static int text_fail(const text *t, int code, rlt_error *err, const char *expected)
{
    char where[sizeof err->where];
    snprintf(where, sizeof where, "%.400s:%u:%u", t->name, t->line, (uint32_t)(t->at - t->begin) + 1);
    int n = (int)strcspn(t->at, "\n");
    return rlt_fail(err, code, where, "expected %s, got '%.*s'", expected, n && n < 20 ? n : 20,
                    n ? t->at : "the end");
}

static void skip_blanks(text *t)
{
    t->at += strspn(t->at, " \t\r");
}

/* Reads a line of counts, and turns them into shares. */
static int read_line(text *t, const rlt_expert_group *g, double *shares, rlt_error *err)
{
    double sum = 0;
    char expected[96];
    for (uint32_t e = 0; e < g->experts; e++) {
        char *end;
        skip_blanks(t);
        shares[e] = strtod(t->at, &end);
        if (end == t->at || !isfinite(shares[e]) || shares[e] < 0)
            return text_fail(t, RLT_EMALFORMED, err, "a count, 0 or more");
        t->at = end;
        skip_blanks(t);
        snprintf(expected, sizeof expected,
                 e + 1 < g->experts ? "a comma, after %u of %u counts"
                                    : "the end "
                                      "of the line after %u of %u counts",
                 e + 1, g->experts);
        if (e + 1 < g->experts ? *t->at != ',' : *t->at && *t->at != '\n')
            return text_fail(t, RLT_ESCHEMA, err, expected);
        sum += shares[e];
        t->at += *t->at == ',';
    }
    t->at = t->begin;
    if (sum <= 0)
        return text_fail(t, RLT_ESCHEMA, err, "a count above 0 in the line");
    for (uint32_t e = 0; e < g->experts; e++) {
        shares[e] /= sum;
        if (shares[e] * g->top_k > 1 + 1e-9)
            return text_fail(t, RLT_ESCHEMA, err, "no expert with more than one copy of each token");
    }
    return 0;
}

static int read_file(const char *path, const matrix *m, rlt_error *err)
{
    enum { MAX_TEXT = 1 << 26 };
    char *all = NULL;
    size_t length;
    uint32_t lines = 0, n = m->g->experts;
    int rc = rlt_read_file(path, MAX_TEXT, &all, &length, err);
    text t = {.name = path, .at = all, .begin = all, .line = 1};
    while (!rc && *t.at) {
        if (t.at[strspn(t.at, " \t\r")] != '\n') {
            if (lines == m->g->members)
                rc = text_fail(&t, RLT_ESCHEMA, err, "one line, or one for each expert-parallel rank");
            else if (!(rc = read_line(&t, m->g, m->shares + (size_t)lines * n, err)))
                lines++;
        }
        t.at += strcspn(t.at, "\n");
        t.at += *t.at != '\0';
        t.begin = t.at;
        t.line++;
    }
    if (!rc && lines != 1 && lines != m->g->members)
        rc = rlt_fail(err, RLT_ESCHEMA, path,
                      "%u lines: expected 1, or %u, one for each expert-parallel rank", lines, m->g->members);
    for (uint32_t i = 1; i < m->g->members && lines == 1 && !rc; i++)
        memcpy(m->shares + (size_t)i * n, m->shares, n * sizeof *m->shares);
    free(all);
    return rc;
}

/* Gives what is above one copy of each token to the experts below, in proportion. */
static void spill(double *shares, uint32_t n, uint32_t top_k)
{
    double most = 1.0 / top_k;
    for (uint32_t round = 0; round < n; round++) {
        double above = 0, below = 0;
        for (uint32_t e = 0; e < n; e++) {
            above += shares[e] > most ? shares[e] - most : 0;
            below += shares[e] < most ? shares[e] : 0;
        }
        if (above < 1e-12 || below <= 0)
            return;
        for (uint32_t e = 0; e < n; e++)
            shares[e] = shares[e] >= most ? most : shares[e] * (1 + above / below);
    }
}

static int zipf(const char *word, const matrix *m, rlt_error *err)
{
    char *end;
    double s = strtod(word, &end), sum = 0;
    uint32_t n = m->g->experts;
    if (end == word || *end || !(s >= 0 && s <= 10))
        return rlt_fail(err, RLT_EUSAGE, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:%.20s'",
                        word);
    for (uint32_t e = 0; e < n; e++)
        sum += m->shares[e] = pow(e + 1, -s);
    for (uint32_t e = 0; e < n; e++)
        m->shares[e] /= sum;
    spill(m->shares, n, m->g->top_k);
    for (uint32_t i = 1; i < m->g->members; i++)
        memcpy(m->shares + (size_t)i * n, m->shares, n * sizeof *m->shares);
    return 0;
}

static double drop(const matrix *m, double capacity)
{
    size_t n = (size_t)m->g->members * m->g->experts;
    double most = capacity / m->g->experts, dropped = 0;
    for (size_t i = 0; i < n && capacity > 0; i++)
        if (m->shares[i] > most) {
            dropped += m->shares[i] - most;
            m->shares[i] = most;
        }
    return dropped / m->g->members;
}

static void sum_up(const matrix *m, rlt_expert_load *out)
{
    uint32_t n = m->g->members, each = m->g->experts / n;
    double most = 0, moved = 0, even = (double)(n - 1) / n;
    for (uint32_t a = 0; a < n; a++) {
        double arrive = 0, in = 0, sent = 0;
        for (uint32_t b = 0; b < n; b++)
            for (uint32_t e = 0; e < each; e++) {
                double to = m->shares[(size_t)b * m->g->experts + a * each + e];
                arrive += to;
                in += b != a ? to : 0;
                sent += b != a ? m->shares[(size_t)a * m->g->experts + b * each + e] : 0;
            }
        most = arrive > most ? arrive : most;
        moved = in > moved ? in : moved;
        moved = sent > moved ? sent : moved;
    }
    out->experts = most;
    out->exchange = n > 1 ? moved / even : 1;
}

/* Reads a file. A word that is no file is told from an error in one. */
static int file_or_word(const char *routing, const matrix *m, rlt_error *err)
{
    rlt_error why = {0};
    int rc = read_file(routing, m, &why);
    if (rc == RLT_EIO)
        return rlt_fail(err, RLT_EIO, "routing", "expected balanced, zipf:S or a file of counts, got '%.80s'",
                        routing);
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

int rlt_routing_load(const char *routing, const rlt_expert_group *g, double capacity, rlt_expert_load *out,
                     rlt_error *err)
{
    size_t n = (size_t)g->members * g->experts;
    matrix m = {.g = g};
    int rc = 0;
    *out = (rlt_expert_load){.experts = 1, .exchange = 1};
    if (strcmp(routing, "balanced") == 0 && (capacity <= 0 || capacity >= 1))
        return 0;
    if (!(m.shares = malloc(n * sizeof *m.shares)))
        return rlt_nomem(err);
    if (strcmp(routing, "balanced") == 0)
        rc = zipf("0", &m, err);
    else if (strncmp(routing, "zipf:", 5) == 0)
        rc = zipf(routing + 5, &m, err);
    else
        rc = file_or_word(routing, &m, err);
    if (!rc) {
        out->dropped = drop(&m, capacity);
        sum_up(&m, out);
    }
    free(m.shares);
    return rc;
}
