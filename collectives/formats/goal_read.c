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

/* A label of the current rank. Its operation is RLT_NONE until it is given. */
typedef struct label_use {
    uint32_t op;
    uint32_t line, offset; /* place of its first use */
    uint32_t number;       /* number behind the 'l', or RLT_NONE: another label */
} label_use;

typedef struct reader {
    rlt_goal *g;
    const char *text, *at, *end; /* the current word begins at `at`; *end is zero */
    uint32_t line;               /* where the current word stands */
    bool described;              /* whether our own comment describes the plan */
    label_use *labels;           /* in the order of their first use */
    uint32_t n_labels, labels_capacity;
    /* Index of each label made of 'l' and a number, if labels[index].number agrees: what earlier ranks left
     * need not be cleared. Labels with numbers from n_numbers on count as other labels. */
    uint32_t *numbered, n_numbers;
    rlt_strings others; /* other labels */
    uint32_t *other;    /* their indices among the labels */
    uint32_t other_capacity;
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
    uint8_t kind = kinds[(unsigned char)*end];
    r->line += kind == NEWLINE;
    r->at = end + (kind == BLANK || kind == NEWLINE);
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
static inline int need(reader *r, const char *word, const char *what)
{
    int rc = take(r, word);
    return rc > 0 ? 0 : rc < 0 ? rc : expected(r, what);
}

/* Reads digits at p. *value grows to at most 10^18, and then stays. Returns the end of the digits. */
static inline const char *digits(const reader *r, const char *p, uint64_t *value)
{
    const uint64_t enough = 100000000000000000u;
    uint64_t v = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (r->end - p >= 8) {
        /* The lowest high bit in `other` is that of the first byte that is no digit. The digits move up,
         * behind zeros; then pairs, fours and eights of them are added. */
        uint64_t w, other;
        memcpy(&w, p, sizeof w);
        w ^= 0x3030303030303030u;
        other = ((w + 0x7676767676767676u) | w) & 0x8080808080808080u;
        *value = 0;
        if (other & 128)
            return p;
        if (other) {
            int bits = __builtin_ctzll(other) - 7;
            w <<= 64 - bits;
            w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffu;
            w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffu;
            *value = (w * 10000 + (w >> 32)) & 0xffffffffu;
            return p + bits / 8;
        }
    }
#endif
    for (; *p >= '0' && *p <= '9'; p++)
        v = v < enough ? v * 10 + (uint64_t)(*p - '0') : v;
    *value = v;
    return p;
}

/* Reads the current word as a number and advances. suffix 'b': bytes; 0: no suffix. max: below 10^17. */
static inline int number(reader *r, const char *what, char suffix, uint64_t max, uint64_t *out)
{
    uint64_t value;
    const char *p = digits(r, r->at, &value);
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

/* Adds the current word to the labels of the rank. */
static int add_label(reader *r, uint32_t number)
{
    int rc = r->n_labels < r->labels_capacity
                 ? 0
                 : rlt_grow(&r->labels, &r->labels_capacity, sizeof *r->labels, (uint64_t)r->n_labels + 1,
                            RLT_GOAL_MAX_OPS, "labels", r->err);
    if (!rc)
        r->labels[r->n_labels++] = (label_use){
            .op = RLT_NONE, .line = r->line, .offset = (uint32_t)(r->at - r->text), .number = number};
    return rc;
}

/* Reads the current word, which is not 'l' and a small number, as a label and advances. */
static int other_label(reader *r, uint32_t *index)
{
    uint32_t known = r->others.n;
    size_t n = word_length(r);
    if (n == 0 || n > MAX_WORD || kinds[(unsigned char)*r->at] == MARK || *r->at == '\0')
        return expected(r, "a label or '}'");
    uint32_t i = rlt_intern(&r->others, r->at, n);
    if (i == RLT_NONE)
        return rlt_nomem(r->err);
    if (i == known) {
        int rc = rlt_grow(&r->other, &r->other_capacity, sizeof *r->other, (uint64_t)known + 1,
                          RLT_GOAL_MAX_OPS, "labels", r->err);
        if (rc || (rc = add_label(r, RLT_NONE)))
            return rc;
        r->other[i] = r->n_labels - 1;
    }
    *index = r->other[i];
    return next(r, r->at + n);
}

/* Reads the current word as a label and advances. */
static inline int label(reader *r, uint32_t *index)
{
    uint64_t number;
    if (*r->at != 'l')
        return other_label(r, index);
    const char *from = r->at + 1, *p = digits(r, from, &number);
    if (p == from || (*from == '0' && p > from + 1) || kinds[(unsigned char)*p] == 0 ||
        number >= r->n_numbers)
        return other_label(r, index);
    uint32_t i = r->numbered[number];
    if (i >= r->n_labels || r->labels[i].number != number) {
        r->numbered[number] = i = r->n_labels;
        int rc = add_label(r, (uint32_t)number);
        if (rc)
            return rc;
    }
    *index = i;
    return next(r, p);
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

/* Fails at a line, with the label in the middle of the message. */
static int bad_label(const reader *r, uint32_t line, uint32_t index, const char *before, const char *after)
{
    reader at = {.at = r->text + r->labels[index].offset, .end = r->end};
    return rlt_goal_fail(r->g, line, RLT_ESCHEMA, r->err, "%s'%.*s'%s", before, (int)word_length(&at), at.at,
                         after);
}

static int read_op(reader *r, uint32_t rank, uint32_t label_index)
{
    rlt_goal *g = r->g;
    rlt_goal_op op = {.rank = rank, .line = r->line, .match = RLT_NONE};
    bool calc = is(r, "calc"), send = is(r, "send");
    if (!calc && !send && !is(r, "recv"))
        return expected(r, "send, recv or calc");
    if (r->labels[label_index].op != RLT_NONE)
        return bad_label(r, op.line, label_index, "label ", " is given twice");
    op.type = calc ? RLT_GOAL_NOP : send ? RLT_GOAL_SEND : RLT_GOAL_RECV;
    int rc = next(r, r->at + 4);
    if (rc || (rc = calc ? read_calc(r, &op) : read_message(r, &op)))
        return rc;
    if (g->n_ops == g->op_capacity &&
        (rc = rlt_grow(&g->ops, &g->op_capacity, sizeof *g->ops, (uint64_t)g->n_ops + 1, RLT_GOAL_MAX_OPS,
                       "operations", r->err)))
        return rc;
    r->labels[label_index].op = g->n_ops;
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
    for (uint32_t i = 0; i < r->n_labels; i++)
        if (r->labels[i].op == RLT_NONE)
            return bad_label(r, r->labels[i].line, i, "no operation has the label ", "");
    for (uint32_t i = from; i < r->g->n_edges; i++) {
        r->g->edges[i].op = r->labels[r->g->edges[i].op].op;
        r->g->edges[i].needs = r->labels[r->g->edges[i].needs].op;
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
    r->n_labels = 0;
    rlt_strings_free(&r->others);
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
    r->numbered = calloc(r->n_numbers, sizeof *r->numbered);
    if (!r->seen || !r->numbered)
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
    reader r = {.g = g, .text = text, .at = text, .end = text + length, .line = 1, .err = err};
    /* A file that numbers its labels has fewer labels than bytes. */
    r.n_numbers = length < RLT_GOAL_MAX_OPS ? (uint32_t)length : RLT_GOAL_MAX_OPS;
    int rc = read_all(&r);
    *described = r.described;
    rlt_strings_free(&r.others);
    free(r.labels);
    free(r.numbered);
    free(r.other);
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
