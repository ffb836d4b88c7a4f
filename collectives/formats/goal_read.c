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
enum { MAX_WORD = 62 };

/* Kind of each byte for the lexer; 0: part of a word. */
enum { BLANK = 1, NEWLINE, MARK, SLASH, ZERO };
static const uint8_t kinds[256] = {
    [0] = ZERO,   [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = NEWLINE,
    ['{'] = MARK, ['}'] = MARK,  [':'] = MARK,   ['/'] = SLASH};

typedef struct reader {
    rlt_goal *g;
    const char *at, *end; /* the current word begins at `at`; *end is zero */
    uint32_t line;        /* where the current word stands */
    bool described;       /* whether our own comment describes the plan */
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

/* Skips a comment. Returns 1 if none begins here. */
static int skip_comment(reader *r)
{
    const char *from = r->at + 2, *to = from;
    if (r->at[1] == '/') {
        to = memchr(from, '\n', (size_t)(r->end - from));
        r->at = to ? to : r->end;
        return 0;
    }
    if (r->at[1] != '*')
        return 1;
    while (to < r->end && !(*to == '*' && to[1] == '/'))
        to++;
    if (to >= r->end)
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a comment without an end");
    int rc = read_description(r, from, (size_t)(to - from));
    for (; from < to; from++)
        r->line += *from == '\n';
    r->at = to + 2;
    return rc;
}

/* Skips blanks and comments, up to the next word. */
static int skip(reader *r)
{
    const char *p = r->at;
    for (;; p++) {
        uint8_t kind = kinds[(unsigned char)*p];
        if (kind == 0)
            break;
        if (kind == SLASH) {
            r->at = p;
            int rc = skip_comment(r);
            if (rc)
                return rc < 0 ? rc : 0;
            p = r->at - 1;
        } else if (kind > NEWLINE)
            break;
        r->line += kind == NEWLINE;
    }
    r->at = p;
    return 0;
}

/* Goes to the next word; `end` is the end of the current one. */
static inline int next(reader *r, const char *end)
{
    r->at = end + (*end == ' ');
    return kinds[(unsigned char)*r->at] ? skip(r) : 0;
}

static size_t word_length(const reader *r)
{
    const char *p = r->at;
    while (kinds[(unsigned char)*p] == 0)
        p++;
    return p > r->at ? (size_t)(p - r->at) : (size_t)(r->at < r->end); /* a mark is a word of its own */
}

/* Fails at a word that may not be here, or nowhere. */
static int expected(reader *r, const char *what)
{
    size_t n = word_length(r);
    if (n > MAX_WORD)
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a word of more than %d characters",
                             MAX_WORD);
    if (n && *r->at == '\0')
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "a zero byte");
    if (n)
        return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "expected %s, got '%.*s'", what, (int)n,
                             r->at);
    return rlt_goal_fail(r->g, r->line, RLT_EMALFORMED, r->err, "expected %s, got the end", what);
}

/* Returns the length of `word` if it is the current one, otherwise 0. */
static inline size_t is(const reader *r, const char *word)
{
    size_t n = strlen(word);
    bool same = (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
    return same && (kinds[(unsigned char)*word] || kinds[(unsigned char)r->at[n]]) ? n : 0;
}

/* Goes past `word`. Returns 1, or 0 if the current word is another. */
static inline int take(reader *r, const char *word)
{
    size_t n = is(r, word);
    int rc = n ? next(r, r->at + n) : 0;
    return rc ? rc : n > 0;
}

/* Goes past `word`, which must be here. */
static int need(reader *r, const char *word, const char *what)
{
    int rc = take(r, word);
    return rc > 0 ? 0 : rc < 0 ? rc : expected(r, what);
}

/* Reads the current word as a number and advances. suffix 'b': bytes; 0: no suffix. max: below 10^17. */
static int number(reader *r, const char *what, char suffix, uint64_t max, uint64_t *out)
{
    const uint64_t enough = 100000000000000000u;
    const char *p = r->at;
    uint64_t value = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value < enough ? value * 10 + (uint64_t)(*p - '0') : value;
    if (p == r->at || p - r->at > MAX_WORD)
        return expected(r, what);
    if (value > max && word_length(r) <= MAX_WORD)
        return rlt_goal_fail(r->g, r->line, RLT_ERANGE, r->err, "%s: '%.*s' is above %llu", what,
                             (int)word_length(r), r->at, (unsigned long long)max);
    p += suffix && *p == suffix;
    if (kinds[(unsigned char)*p] == 0 || p - r->at > MAX_WORD)
        return expected(r, what);
    *out = value;
    return next(r, p);
}

/* Reads the current word as a label and advances. */
static int label(reader *r, uint32_t *index)
{
    uint32_t known = r->labels.n;
    size_t n = word_length(r);
    if (n == 0 || n > MAX_WORD || kinds[(unsigned char)*r->at] == MARK || *r->at == '\0')
        return expected(r, "a label or '}'");
    *index = rlt_intern(&r->labels, r->at, n);
    if (*index == RLT_NONE)
        return rlt_nomem(r->err);
    if (*index == known) {
        int rc = 0;
        if (known == r->op_capacity)
            rc = rlt_grow(&r->label_op, &r->op_capacity, sizeof *r->label_op, (uint64_t)known + 1,
                          RLT_GOAL_MAX_OPS, "labels", r->err);
        if (!rc && known == r->line_capacity)
            rc = rlt_grow(&r->label_line, &r->line_capacity, sizeof *r->label_line, (uint64_t)known + 1,
                          RLT_GOAL_MAX_OPS, "labels", r->err);
        if (rc)
            return rc;
        r->label_op[known] = RLT_NONE;
        r->label_line[known] = r->line;
    }
    return next(r, r->at + n);
}

/* Reads "cpu 0", "nic 0": places within a LogGOPSim node. Plans ignore them. */
static int read_options(reader *r, rlt_goal_op *op)
{
    uint64_t value = 0;
    for (;;) {
        int rc = take(r, "tag");
        if (rc) {
            if (rc < 0 || (rc = number(r, "a tag", 0, UINT32_MAX - 1, &value)))
                return rc;
            op->tag = (uint32_t)value;
            continue;
        }
        bool cpu = is(r, "cpu");
        if ((rc = take(r, cpu ? "cpu" : "nic")) <= 0)
            return rc;
        if ((rc = number(r, "a number", 0, UINT16_MAX, &value)))
            return rc;
        *(cpu ? &op->cpu : &op->nic) = (uint16_t)value;
    }
}

static int read_message(reader *r, rlt_goal_op *op)
{
    bool send = op->type == RLT_GOAL_SEND;
    uint64_t peer = 0;
    int rc = number(r, "a size such as 8b", 'b', MAX_MESSAGE_BYTES, &op->bytes);
    if (rc)
        return rc;
    rc = send ? need(r, "to", "'to'") : need(r, "from", "'from'");
    if (rc || (rc = number(r, "a rank", 0, r->g->ranks - 1, &peer)))
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
    rlt_goal_op op = {.rank = rank, .line = r->line, .match = RLT_NONE};
    bool calc = is(r, "calc"), send = is(r, "send");
    if (!calc && !send && !is(r, "recv"))
        return expected(r, "send, recv or calc");
    if (r->label_op[label_index] != RLT_NONE)
        return rlt_goal_fail(g, op.line, RLT_ESCHEMA, r->err, "label '%s' is given twice",
                             rlt_interned(&r->labels, label_index));
    op.type = calc ? RLT_GOAL_NOP : send ? RLT_GOAL_SEND : RLT_GOAL_RECV;
    int rc = next(r, r->at + 4);
    if (rc || (rc = calc ? read_calc(r, &op) : read_message(r, &op)))
        return rc;
    if (g->n_ops == g->op_capacity &&
        (rc = rlt_grow(&g->ops, &g->op_capacity, sizeof *g->ops, (uint64_t)g->n_ops + 1, RLT_GOAL_MAX_OPS,
                       "operations", r->err)))
        return rc;
    r->label_op[label_index] = g->n_ops;
    g->ops[g->n_ops++] = op;
    return 0;
}

/* Reads a dependency between two labels; the labels may be defined later. */
static int read_edge(reader *r, uint32_t label_index, bool early)
{
    rlt_goal *g = r->g;
    rlt_goal_edge e = {.op = label_index, .early = early};
    int rc = label(r, &e.needs);
    if (rc)
        return rc;
    if (g->n_edges == g->edge_capacity &&
        (rc = rlt_grow(&g->edges, &g->edge_capacity, sizeof *g->edges, (uint64_t)g->n_edges + 1,
                       2 * RLT_GOAL_MAX_OPS, "dependencies", r->err)))
        return rc;
    g->edges[g->n_edges++] = e;
    return 0;
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

/* Reads an operation or a dependency. */
static int read_statement(reader *r, uint32_t rank)
{
    uint32_t index = 0;
    int rc = label(r, &index);
    if (rc)
        return rc;
    if ((rc = take(r, ":")))
        return rc < 0 ? rc : read_op(r, rank, index);
    if ((rc = take(r, "requires")))
        return rc < 0 ? rc : read_edge(r, index, false);
    if ((rc = take(r, "irequires")))
        return rc < 0 ? rc : read_edge(r, index, true);
    return expected(r, "':' or 'requires' after a label");
}

static int read_rank(reader *r)
{
    uint64_t rank = 0;
    uint32_t line = r->line, from = r->g->n_edges;
    int rc = need(r, "rank", "'rank'");
    if (rc || (rc = number(r, "a rank", 0, r->g->ranks - 1, &rank)))
        return rc;
    if (r->seen[rank])
        return rlt_goal_fail(r->g, line, RLT_ESCHEMA, r->err, "rank %llu is given twice",
                             (unsigned long long)rank);
    r->seen[rank] = 1;
    rlt_strings_free(&r->labels);
    if ((rc = need(r, "{", "'{'")))
        return rc;
    while ((rc = take(r, "}")) == 0)
        if ((rc = read_statement(r, (uint32_t)rank)))
            return rc;
    return rc < 0 ? rc : resolve_edges(r, from);
}

static int read_all(reader *r)
{
    uint64_t ranks = 0;
    int rc = skip(r);
    uint32_t line = r->line;
    if (rc || (rc = need(r, "num_ranks", "'num_ranks'")) ||
        (rc = number(r, "a number of ranks", 0, RLT_GOAL_MAX_RANKS, &ranks)))
        return rc;
    if (ranks == 0)
        return rlt_goal_fail(r->g, line, RLT_ESCHEMA, r->err, "num_ranks 0: expected at least one rank");
    r->g->ranks = (uint32_t)ranks;
    r->seen = calloc(ranks, 1);
    if (!r->seen)
        return rlt_nomem(r->err);
    while (!rc && r->at < r->end)
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
