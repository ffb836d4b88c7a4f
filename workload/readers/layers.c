/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text format that ASTRA-sim 1.0 and SimAI share: lines of 12 columns. */
#include "workload/readers/layers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"

#define MAX_NS    UINT64_C(1000000000000000) /* 11 days */
#define MAX_BYTES (UINT64_C(1) << 48)
enum { COLUMNS = 12, MAX_NAME = 200 };

int rlt__layer_fail(const rlt_layer_table *t, uint32_t line, int code, rlt_error *err, const char *fmt, ...)
{
    char where[384];
    va_list args;
    snprintf(where, sizeof where, "%.360s:%" PRIu32, t->file, line);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool rlt__text_line(const char **text, const char *end, uint32_t *line, const char **from, const char **to)
{
    if (*text >= end)
        return false;
    *from = *text;
    *to = memchr(*from, '\n', (size_t)(end - *from));
    *to = *to ? *to : end;
    *text = *to < end ? *to + 1 : *to;
    ++*line;
    while (*to > *from && ((*to)[-1] == '\r' || (*to)[-1] == ' '))
        --*to;
    return true;
}

int rlt__layer_line(const rlt_layer_table *t, const char **text, const char *end, uint32_t *line,
                    rlt_layer_line *out, rlt_error *err)
{
    const char *p = *text;
    out->n = 0;
    while (p < end && out->n == 0) {
        out->line = ++*line;
        while (p < end && *p != '\n') {
            if (is_blank(*p)) {
                p++;
                continue;
            }
            if (out->n == RLT_MAX_LAYER_WORDS)
                return rlt__layer_fail(t, *line, RLT_EMALFORMED, err, "more than %d words",
                                       RLT_MAX_LAYER_WORDS);
            const char *from = p;
            while (p < end && *p != '\n' && !is_blank(*p))
                if (*p++ == '\0')
                    return rlt__layer_fail(t, *line, RLT_EMALFORMED, err, "a zero byte");
            if (p - from > MAX_NAME)
                return rlt__layer_fail(t, *line, RLT_EMALFORMED, err, "a word of more than %d characters",
                                       MAX_NAME);
            out->at[out->n] = from;
            out->length[out->n++] = (uint32_t)(p - from);
        }
        p += p < end;
    }
    *text = p;
    return 0;
}

bool rlt__layer_word(const rlt_layer_line *l, uint32_t i, const char *word)
{
    return i < l->n && l->length[i] == strlen(word) && memcmp(l->at[i], word, l->length[i]) == 0;
}

static const struct comm_word {
    const char *word;
    int kind; /* -1: none */
} comm_words[] = {
    {"NONE", -1},
    {"ALLREDUCE", RLT_ALL_REDUCE},
    {"ALLGATHER", RLT_ALL_GATHER},
    {"REDUCESCATTER", RLT_REDUCE_SCATTER},
    {"ALLTOALL", RLT_ALL_TO_ALL},
    {"BROADCAST", RLT_BROADCAST},
};
enum { N_WORDS = sizeof comm_words / sizeof *comm_words };

/* Finds the kind of a word, and the scope of its suffix. NULL: unknown word. */
static const struct comm_word *find_comm(const rlt_layer_line *l, uint32_t i, rlt_layer_scope *suffix)
{
    static const struct {
        const char *text;
        rlt_layer_scope scope;
    } suffixes[] = {{"", RLT_OVER_NONE}, {"_EP", RLT_OVER_EXPERT}, {"_DP_EP", RLT_OVER_DATA_EXPERT}};
    for (size_t k = 0; k < N_WORDS && i < l->n; k++) {
        size_t n = strlen(comm_words[k].word);
        if (l->length[i] < n || memcmp(l->at[i], comm_words[k].word, n) != 0)
            continue;
        for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes; s++) {
            *suffix = suffixes[s].scope;
            if (l->length[i] - n == strlen(suffixes[s].text) &&
                memcmp(l->at[i] + n, suffixes[s].text, l->length[i] - n) == 0)
                return &comm_words[k];
        }
    }
    return NULL;
}

bool rlt__layer_is_row(const rlt_layer_line *l)
{
    rlt_layer_scope ignored;
    return l->n >= COLUMNS && find_comm(l, 3, &ignored) && find_comm(l, 6, &ignored) &&
           find_comm(l, 9, &ignored);
}

int rlt__layer_number(const rlt_layer_table *t, const rlt_layer_line *l, uint32_t i, const char *what,
                      uint64_t max, uint64_t *out, rlt_error *err)
{
    uint64_t v = 0;
    if (i >= l->n)
        return rlt__layer_fail(t, l->line, RLT_EMALFORMED, err, "expected %s, got the end of the line", what);
    for (uint32_t k = 0; k < l->length[i]; k++) {
        char c = l->at[i][k];
        if (c < '0' || c > '9')
            return rlt__layer_fail(t, l->line, RLT_EMALFORMED, err, "expected %s, got '%.*s'", what,
                                   (int)l->length[i], l->at[i]);
        uint64_t digit = (uint64_t)(c - '0');
        if (digit > max || v > (max - digit) / 10)
            return rlt__layer_fail(t, l->line, RLT_ERANGE, err, "%s: '%.*s' is above %" PRIu64, what,
                                   (int)l->length[i], l->at[i], max);
        v = v * 10 + digit;
    }
    *out = v;
    return 0;
}

static int read_comm(const rlt_layer_table *t, const rlt_layer_line *l, uint32_t i, rlt_layer_scope plain,
                     rlt_layer_comm *out, rlt_error *err)
{
    rlt_layer_scope suffix = RLT_OVER_NONE;
    const struct comm_word *w = find_comm(l, i, &suffix);
    if (!w)
        return rlt__layer_fail(t, l->line, RLT_ESCHEMA, err,
                               "expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST "
                               "(perhaps with _EP or _DP_EP), got '%.*s'",
                               (int)l->length[i], l->at[i]);
    int rc = rlt__layer_number(t, l, i + 1, "a size in bytes", MAX_BYTES, &out->bytes, err);
    out->any = !rc && w->kind >= 0 && out->bytes > 0;
    out->kind = (uint8_t)(w->kind >= 0 ? w->kind : 0);
    out->scope = (uint8_t)(suffix == RLT_OVER_NONE ? plain : suffix);
    return rc;
}

int rlt__layer_row(rlt_layer_table *t, const rlt_layer_line *l, rlt_error *err)
{
    rlt_layer x = {.line = l->line};
    int rc = 0;
    if (l->n < COLUMNS)
        return rlt__layer_fail(t, l->line, RLT_EMALFORMED, err, "expected a layer's %d columns, got %" PRIu32,
                               COLUMNS, l->n);
    for (uint32_t p = 0; p < 3 && !rc; p++) {
        rc = rlt__layer_number(t, l, 2 + 3 * p, "a time in ns", MAX_NS, &x.compute_ns[p], err);
        if (!rc)
            rc = read_comm(t, l, 3 + 3 * p, p == RLT_WEIGHT_GRADIENT ? RLT_OVER_DATA : RLT_OVER_MODEL,
                           &x.comm[p], err);
    }
    if (!rc)
        rc = rlt__layer_number(t, l, 11, "a time in ns", MAX_NS, &x.update_ns, err);
    if (!rc)
        rc = rlt_grow(&t->layers, &t->capacity, sizeof *t->layers, (uint64_t)t->n + 1, RLT_MAX_LAYERS,
                      "layers", err);
    if (rc)
        return rc;
    x.name = rlt_intern(&t->names, l->at[0], l->length[0]);
    if (x.name == RLT_NONE)
        return rlt_nomem(err);
    t->layers[t->n++] = x;
    return 0;
}

void rlt__layer_scopes(rlt_layer *l, rlt_layer_scope inner, rlt_layer_scope weight)
{
    l->comm[RLT_FORWARD].scope = l->comm[RLT_INPUT_GRADIENT].scope = (uint8_t)inner;
    l->comm[RLT_WEIGHT_GRADIENT].scope = (uint8_t)weight;
}

void rlt__layer_note(rlt_layer_table *t, const char *text, uint64_t count)
{
    if (count && t->n_notes < sizeof t->notes / sizeof *t->notes) {
        t->notes[t->n_notes].text = text;
        t->notes[t->n_notes++].count = count;
    }
}

int rlt__layers_ranks(rlt_layer_table *t, const char *const *paths, uint32_t n, const rlt_read_options *opts,
                      uint32_t otherwise, rlt_error *err)
{
    uint64_t places = opts->n_dims ? 1 : 0;
    if (n != 1)
        return rlt_fail(err, RLT_EUSAGE, paths[1],
                        "a table of layers covers all ranks: expected one file, got %" PRIu32, n);
    if (opts->last_step > 0)
        return rlt_fail(err, RLT_ERANGE, paths[0], "expected steps within the recorded 0:0, got %d:%d",
                        opts->first_step < 0 ? 0 : opts->first_step, opts->last_step);
    for (uint32_t d = 0; d < opts->n_dims && places <= RLT_MAX_RANKS; d++)
        places *= opts->dims[d];
    if (opts->n_ranks)
        t->ranks = opts->n_ranks;
    else if (!t->ranks && places && places <= RLT_MAX_RANKS)
        t->ranks = (uint32_t)places;
    if (!t->ranks) {
        t->ranks = otherwise;
        rlt__layer_note(t,
                        "number of ranks assumed, because the file does not give it; --trace-ranks sets it",
                        otherwise);
    }
    return 0;
}

void rlt__layers_free(rlt_layer_table *t)
{
    rlt_strings_free(&t->names);
    free(t->layers);
    *t = (rlt_layer_table){0};
}
