/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of Markdown as lines of 80 columns. */
#include <string.h>

#include "sim/base/error.h"
#include "tools/help/markdown.h"
#include "tools/output/output.h"

enum { WIDTH = 80, GAP = 2, INDENT = 2, NARROWEST = 8 };

/* The next line of at most `width` columns: its bytes; *rest is where the one after it begins. Breaks at
 * blanks; within a word only where it is wider than a line and `hard`. */
static size_t next_line(const char *text, size_t width, bool hard, const char **rest)
{
    size_t fits = 0, at = 0;
    while (text[at]) {
        size_t word = at + strspn(text + at, " ");
        size_t end = word + strcspn(text + word, " ");
        if (rlt_text_width(text, end) > width && fits)
            break;
        fits = at = end;
        if (rlt_text_width(text, end) > width)
            break;
    }
    if (hard && rlt_text_width(text, fits) > width)
        for (fits = 0; rlt_text_width(text, fits + 1) <= width || ((unsigned char)text[fits] & 0xc0) == 0x80;)
            fits++;
    *rest = text + fits + strspn(text + fits, " ");
    return fits;
}

/* `text` from `column` on in lines of 80 columns, later lines indented; ends with a newline. */
static void put_lines(FILE *out, const char *text, size_t column, size_t indent)
{
    const char *rest;
    do {
        size_t n = next_line(text, WIDTH > column ? WIDTH - column : 1, false, &rest);
        fprintf(out, "%.*s\n", (int)n, text);
        text = rest;
        column = indent;
        if (*text)
            fprintf(out, "%*s", (int)indent, "");
    } while (*text);
}

static size_t longest_word(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t n = strcspn(text, " "), width = rlt_text_width(text, n);
        longest = width > longest ? width : longest;
        text += n + strspn(text + n, " ");
    }
    return longest;
}

typedef struct layout {
    size_t natural[RLT_TABLE_CELLS], word[RLT_TABLE_CELLS], width[RLT_TABLE_CELLS], columns;
} layout;

/* Every column as wide as it is, but none above `limit`, unless a word needs it. */
static size_t widths(layout *l, size_t limit, size_t words)
{
    size_t sum = GAP * (l->columns - 1);
    for (size_t c = 0; c < l->columns; c++) {
        size_t least = l->word[c] < words ? l->word[c] : words;
        l->width[c] = l->natural[c] < limit ? l->natural[c] : limit;
        l->width[c] = l->width[c] < least ? least : l->width[c];
        sum += l->width[c];
    }
    return sum;
}

/* False: too many columns to stand side by side. */
static bool lay_out(layout *l, const rlt_block_table *t)
{
    *l = (layout){.columns = t->columns};
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        size_t c = i % t->columns, width = rlt_text_width(t->cells[i], strlen(t->cells[i]));
        size_t word = longest_word(t->cells[i]);
        l->natural[c] = width > l->natural[c] ? width : l->natural[c];
        l->word[c] = word > l->word[c] ? word : l->word[c];
    }
    for (size_t words = WIDTH / 2; words >= NARROWEST; words /= 2) {
        size_t limit = WIDTH;
        while (limit > NARROWEST && widths(l, limit, words) > WIDTH)
            limit--;
        if (widths(l, limit, words) <= WIDTH)
            return true;
    }
    return false;
}

static void put_row(FILE *out, const layout *l, char *const *cells)
{
    const char *rest[RLT_TABLE_CELLS];
    bool more = true;
    for (size_t c = 0; c < l->columns; c++)
        rest[c] = cells[c];
    while (more) {
        size_t pending = 0; /* blanks that are written when something follows them */
        more = false;
        for (size_t c = 0; c < l->columns; c++) {
            const char *at = rest[c];
            size_t n = next_line(at, l->width[c], true, &rest[c]);
            if (n) {
                fprintf(out, "%*s%.*s", (int)pending, "", (int)n, at);
                pending = 0;
            }
            pending += l->width[c] - rlt_text_width(at, n) + GAP;
            more = more || *rest[c];
        }
        fputc('\n', out);
    }
}

/* Row by row: the first cell, and below it the others with what their column is called. */
static void put_records(FILE *out, const rlt_block_table *t)
{
    for (size_t i = 1; i < t->rows; i++) {
        char *const *row = t->cells + i * t->columns;
        put_lines(out, row[0], 0, INDENT);
        for (size_t c = 1; c < t->columns; c++)
            if (*row[c]) {
                int column = fprintf(out, "%*s%s%s", INDENT, "", t->cells[c], *t->cells[c] ? ": " : "");
                put_lines(out, row[c], (size_t)column, 2 * INDENT);
            }
    }
}

static void put_table(FILE *out, const rlt_block_table *t)
{
    layout l;
    bool headed = false;
    if (!t->rows || !t->columns)
        return;
    if (!lay_out(&l, t)) {
        put_records(out, t);
        return;
    }
    for (size_t c = 0; c < t->columns; c++)
        headed = headed || *t->cells[c];
    if (headed) {
        put_row(out, &l, t->cells);
        for (size_t c = 0; c < t->columns; c++) {
            for (size_t i = 0; i < l.width[c]; i++)
                fputc('-', out);
            fprintf(out, "%*s", c + 1 < t->columns ? GAP : 0, "");
        }
        fputc('\n', out);
    }
    for (size_t i = 1; i < t->rows; i++)
        put_row(out, &l, t->cells + i * t->columns);
}

typedef struct terminal {
    FILE *out;
    bool begun;
    rlt_block_kind last;
} terminal;

static void put_code(FILE *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(out, n ? "%*s%.*s\n" : "\n", n ? INDENT : 0, "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void put_block(void *self, const rlt_block *b)
{
    terminal *t = self;
    int column;
    if (t->begun && !(b->kind == RLT_BLOCK_ITEM && t->last == RLT_BLOCK_ITEM) && t->last != RLT_BLOCK_HEADING)
        fputc('\n', t->out);
    t->begun = true;
    t->last = b->kind;
    switch (b->kind) {
    case RLT_BLOCK_HEADING:
        rlt_heading(t->out, "%s", b->text);
        if (b->level == 1)
            fputc('\n', t->out);
        break;
    case RLT_BLOCK_PARAGRAPH:
        put_lines(t->out, b->text, 0, 0);
        break;
    case RLT_BLOCK_ITEM:
        column = fprintf(t->out, "%*s%s ", b->level, "", b->mark);
        put_lines(t->out, b->text, (size_t)column, (size_t)column);
        break;
    case RLT_BLOCK_CODE:
        put_code(t->out, b->text);
        break;
    case RLT_BLOCK_TABLE:
        put_table(t->out, &b->table);
        break;
    }
}

int rlt_render(FILE *out, const char *text, size_t n, const char *from, rlt_error *err)
{
    terminal t = {.out = out};
    return rlt_markdown(text, n, &(rlt_block_writer){put_block, &t, from}, err);
}
