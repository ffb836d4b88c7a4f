/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of GOAL text: words, with comments between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/check/listed_check.h"
#include "collectives/collective.h"
#include "collectives/formats/goal_raw.h"
#include "collectives/formats/plan_file.h"
#include "collectives/formats/text.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define MAX_MESSAGE_BYTES ((uint64_t)1 << 48)
#define MAX_CALC_NS       ((uint64_t)1000000000000000) /* 11 days */
enum { MAX_WORD = 64 };

typedef struct reader {
    rlt_goal *g;
    const char *at, *end;
    uint32_t line;
    char word[MAX_WORD]; /* "": end of the text */
    uint32_t word_line;
    bool described; /* whether our own comment describes the plan */
    rlt_strings labels;
    uint32_t *label_op;   /* operation of each label of the current rank */
    uint32_t *label_line; /* line of each label's first use */
    uint32_t op_capacity, line_capacity;
    uint8_t *seen; /* ranks seen so far */
    rlt_error *err;
} reader;

/* Reads the comment in which our writer describes the plan. */
static int read_description(reader *r, const char *text, size_t length)
{
    char copy[256], kind[32] = "";
    unsigned long long bytes = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 255 ? length : 255), text);
    if (strncmp(copy, " ringlet plan: ", 15) != 0)
        return 0;
    rlt_error why = {0};
    if (sscanf(copy, " ringlet plan: %63s collective %31s root %u bytes %llu", r->g->name, kind, &r->g->root,
               &bytes) != 4)
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err,
                             "expected 'ringlet plan: NAME collective KIND root RANK bytes BYTES'");
    if (rlt_coll_parse(kind, &r->g->kind, &why))
        return rlt_goal_fail(r->g, r->line, RLT_ESCHEMA, r->err, "%s", why.what);
    if (bytes > MAX_MESSAGE_BYTES)
        return rlt_goal_fail(r->g, r->line, RLT_ERANGE, r->err, "%llu bytes are too many", bytes);
    r->g->bytes = bytes;
    r->described = true;
    return 0;
}

/* Skips blanks and comments. */
static int skip(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '\n')
            r->line++;
        if (strchr(" \t\r\n", *r->at) && *r->at) {
            r->at++;
        } else if (*r->at == '/' && r->end - r->at > 1 && r->at[1] == '*') {
            const char *from = r->at + 2, *to = from;
            while (to < r->end && !(*to == '*' && r->end - to > 1 && to[1] == '/'))
                to++;
            if (to >= r->end)
                return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a comment without an end");
            int rc = read_description(r, from, (size_t)(to - from));
            if (rc)
                return rc;
            for (; from < to; from++)
                r->line += *from == '\n';
            r->at = to + 2;
        } else if (*r->at == '/' && r->end - r->at > 1 && r->at[1] == '/') {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else {
            return 0;
        }
    }
    return 0;
}

static int next(reader *r)
{
    size_t n = 0;
    int rc = skip(r);
    r->word_line = r->line;
    r->word[0] = '\0';
    if (rc || r->at == r->end)
        return rc;
    while (r->at < r->end && !strchr(" \t\r\n{}:/", *r->at) && n + 1 < MAX_WORD)
        r->word[n++] = *r->at++;
    if (n == 0 || n + 1 == MAX_WORD) {
        if (n)
            return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a word of more than %d characters",
                                 MAX_WORD - 2);
        r->word[n++] = *r->at++;
    }
    r->word[n] = '\0';
    if (strlen(r->word) != n)
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a zero byte");
    return 0;
}

static bool is(const reader *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

static int expected(reader *r, const char *what)
{
    return rlt_goal_fail(r->g, r->word_line, RLT_EMALFORMED, r->err,
                         r->word[0] ? "expected %s, got '%s'" : "expected %s, got the end%s", what, r->word);
}

/* Reads the current word as a number and advances. suffix 'b': bytes; 0: no suffix. */
static int number(reader *r, const char *what, char suffix, uint64_t max, uint64_t *out)
{
    const char *p = r->word;
    uint64_t value = 0;
    if (*p < '0' || *p > '9')
        return expected(r, what);
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > max || value > (max - digit) / 10)
            return rlt_goal_fail(r->g, r->word_line, RLT_ERANGE, r->err, "%s: '%s' is above %llu", what,
                                 r->word, (unsigned long long)max);
        value = value * 10 + digit;
    }
    if (suffix && *p == suffix)
        p++;
    if (*p)
        return expected(r, what);
    *out = value;
    return next(r);
}

/* Reads the current word as a label and advances. */
static int label(reader *r, uint32_t *index)
{
    if (!r->word[0] || strchr("{}:", r->word[0]))
        return expected(r, "a label or '}'");
    uint32_t known = r->labels.n;
    *index = rlt_intern(&r->labels, r->word, strlen(r->word));
    if (*index == RLT_NONE)
        return rlt_nomem(r->err);
    if (*index == known) {
        int rc = rlt_grow(&r->label_op, &r->op_capacity, sizeof *r->label_op, (uint64_t)known + 1,
                          RLT_GOAL_MAX_OPS, "labels", r->err);
        if (!rc)
            rc = rlt_grow(&r->label_line, &r->line_capacity, sizeof *r->label_line, (uint64_t)known + 1,
                          RLT_GOAL_MAX_OPS, "labels", r->err);
        if (rc)
            return rc;
        r->label_op[known] = RLT_NONE;
        r->label_line[known] = r->word_line;
    }
    return next(r);
}

/* Reads "cpu 0", "nic 0": places within a LogGOPSim node. Plans ignore them. */
static int read_options(reader *r, rlt_goal_op *op)
{
    for (;;) {
        bool tag = is(r, "tag"), cpu = is(r, "cpu");
        uint64_t value = 0;
        if (!tag && !cpu && !is(r, "nic"))
            return 0;
        int rc = next(r);
        if (rc || (rc = number(r, tag ? "a tag" : "a number", 0, tag ? UINT32_MAX - 1 : UINT16_MAX, &value)))
            return rc;
        if (tag)
            op->tag = (uint32_t)value;
        else if (cpu)
            op->cpu = (uint16_t)value;
        else
            op->nic = (uint16_t)value;
    }
}

static int read_message(reader *r, rlt_goal_op *op)
{
    bool send = op->type == RLT_GOAL_SEND;
    uint64_t peer = 0;
    int rc = number(r, "a size such as 8b", 'b', MAX_MESSAGE_BYTES, &op->bytes);
    if (rc)
        return rc;
    if (!is(r, send ? "to" : "from"))
        return expected(r, send ? "'to'" : "'from'");
    if ((rc = next(r)) || (rc = number(r, "a rank", 0, r->g->ranks - 1, &peer)))
        return rc;
    op->peer = (uint32_t)peer;
    if (op->peer == op->rank)
        return rlt_goal_fail(r->g, op->line, RLT_ESCHEMA, r->err, "rank %u %s itself", op->rank,
                             send ? "sends to" : "receives from");
    return read_options(r, op);
}

static int read_calc(reader *r, rlt_goal_op *op)
{
    uint64_t ns = 0;
    int rc = number(r, "a time in ns", 0, MAX_CALC_NS, &ns);
    if (rc)
        return rc;
    op->bytes = ns;
    if (ns && !r->g->computes)
        return rlt_goal_fail(r->g, op->line, RLT_EUNSUPPORTED, r->err,
                             "calc %llu: a plan has no computation, expected calc 0", (unsigned long long)ns);
    return read_options(r, op);
}

static int read_op(reader *r, uint32_t rank, uint32_t label_index)
{
    rlt_goal *g = r->g;
    rlt_goal_op op = {.rank = rank, .line = r->word_line, .match = RLT_NONE};
    bool calc = is(r, "calc");
    if (!calc && !is(r, "send") && !is(r, "recv"))
        return expected(r, "send, recv or calc");
    if (r->label_op[label_index] != RLT_NONE)
        return rlt_goal_fail(g, op.line, RLT_ESCHEMA, r->err, "label '%s' is given twice",
                             rlt_interned(&r->labels, label_index));
    op.type = calc ? RLT_GOAL_NOP : is(r, "send") ? RLT_GOAL_SEND : RLT_GOAL_RECV;
    int rc = next(r);
    if (rc || (rc = calc ? read_calc(r, &op) : read_message(r, &op)))
        return rc;
    rc = rlt_grow(&g->ops, &g->op_capacity, sizeof *g->ops, (uint64_t)g->n_ops + 1, RLT_GOAL_MAX_OPS,
                  "operations", r->err);
    if (rc)
        return rc;
    r->label_op[label_index] = g->n_ops;
    g->ops[g->n_ops++] = op;
    return 0;
}

/* Reads a dependency between two labels; the labels may be defined later. */
static int read_edge(reader *r, uint32_t label_index)
{
    rlt_goal *g = r->g;
    rlt_goal_edge e = {.op = label_index, .early = is(r, "irequires")};
    int rc = next(r);
    if (rc || (rc = label(r, &e.needs)))
        return rc;
    rc = rlt_grow(&g->edges, &g->edge_capacity, sizeof *g->edges, (uint64_t)g->n_edges + 1,
                  2 * RLT_GOAL_MAX_OPS, "dependencies", r->err);
    if (!rc)
        g->edges[g->n_edges++] = e;
    return rc;
}

static int resolve_edges(reader *r, uint32_t from)
{
    for (uint32_t i = 0; i < r->labels.n; i++)
        if (r->label_op[i] == RLT_NONE)
            return rlt_goal_fail(r->g, r->label_line[i], RLT_ESCHEMA, r->err,
                                 "no operation has the label '%s'", rlt_interned(&r->labels, i));
    for (uint32_t i = from; i < r->g->n_edges; i++) {
        r->g->edges[i].op = r->label_op[r->g->edges[i].op];
        r->g->edges[i].needs = r->label_op[r->g->edges[i].needs];
    }
    return 0;
}

static int read_rank(reader *r)
{
    uint64_t rank = 0;
    uint32_t line = r->word_line, from = r->g->n_edges;
    int rc;
    if (!is(r, "rank"))
        return expected(r, "'rank'");
    if ((rc = next(r)) || (rc = number(r, "a rank", 0, r->g->ranks - 1, &rank)))
        return rc;
    if (r->seen[rank])
        return rlt_goal_fail(r->g, line, RLT_ESCHEMA, r->err, "rank %llu is given twice",
                             (unsigned long long)rank);
    r->seen[rank] = 1;
    if (!is(r, "{"))
        return expected(r, "'{'");
    rlt_strings_free(&r->labels);
    if ((rc = next(r)))
        return rc;
    while (!is(r, "}")) {
        uint32_t index = 0;
        if ((rc = label(r, &index)))
            return rc;
        if (is(r, ":"))
            rc = (rc = next(r)) ? rc : read_op(r, (uint32_t)rank, index);
        else if (is(r, "requires") || is(r, "irequires"))
            rc = read_edge(r, index);
        else
            rc = expected(r, "':' or 'requires' after a label");
        if (rc)
            return rc;
    }
    return (rc = next(r)) ? rc : resolve_edges(r, from);
}

static int read_all(reader *r)
{
    uint64_t ranks = 0;
    int rc = next(r);
    if (rc)
        return rc;
    uint32_t line = r->word_line;
    if (!is(r, "num_ranks"))
        return expected(r, "'num_ranks'");
    if ((rc = next(r)) || (rc = number(r, "a number of ranks", 0, RLT_GOAL_MAX_RANKS, &ranks)))
        return rc;
    if (ranks == 0)
        return rlt_goal_fail(r->g, line, RLT_ESCHEMA, r->err, "num_ranks 0: expected at least one rank");
    r->g->ranks = (uint32_t)ranks;
    r->seen = calloc(ranks, 1);
    if (!r->seen)
        return rlt_nomem(r->err);
    while (!rc && r->word[0])
        rc = read_rank(r);
    if (!rc && r->g->root >= r->g->ranks)
        rc = rlt_goal_fail(r->g, 1, RLT_ESCHEMA, r->err, "root %u is not a rank; expected 0 to %u",
                           r->g->root, r->g->ranks - 1);
    return rc;
}

int rlt_goal_scan(rlt_goal *g, const char *text, size_t length, bool *described, rlt_error *err)
{
    reader r = {.g = g, .at = text, .end = text + length, .line = 1, .err = err};
    int rc = read_all(&r);
    *described = r.described;
    rlt_strings_free(&r.labels);
    free(r.label_op);
    free(r.label_line);
    free(r.seen);
    return rc;
}

int rlt_goal_parse(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                   rlt_listed *out, rlt_error *err)
{
    rlt_goal g = {.file = file};
    bool described = false;
    int rc = rlt_goal_scan(&g, text, length, &described, err);
    if (!rc && !described && !hint)
        rc = rlt_fail(err, RLT_EUNSUPPORTED, file,
                      "the file names neither its collective nor its bytes: give exactly one collective "
                      "and one size with the file");
    if (!rc && !described) {
        const char *slash = strrchr(file, '/');
        rlt_plain_name(slash ? slash + 1 : file, g.name, sizeof g.name);
        g.kind = hint->kind;
        g.bytes = hint->bytes;
    }
    if (!rc)
        rc = rlt_goal_build(&g, out, err);
    if (!rc && (rc = rlt_listed_check(out, err)))
        rlt_listed_free(out);
    free(g.ops);
    free(g.edges);
    return rc;
}
