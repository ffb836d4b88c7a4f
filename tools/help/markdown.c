/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/help/markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "tools/help/chapters.h"

/* State of the reader. */
typedef struct reading {
    const char *at, *end;
    const rlt_block_writer *w;
    rlt_arena arena; /* memory of the current block */
    rlt_growing line;
    bool failed;
} reading;

size_t rlt_text_width(const char *text, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static size_t line_length(const reading *r, const char *line)
{
    const char *end = memchr(line, '\n', (size_t)(r->end - line));
    return (size_t)((end ? end : r->end) - line);
}

static const char *after(const reading *r, const char *line)
{
    line += line_length(r, line);
    return line < r->end ? line + 1 : line;
}

static bool begins(const reading *r, const char *line, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(r->end - line) >= n && memcmp(line, with, n) == 0;
}

/* The place that a link leads to: a chapter, an address, nothing for a place on the same page. */
static void put_place(rlt_growing *out, const char *from, const char *text, const char *link)
{
    rlt_chapter c;
    char name[RLT_CHAPTER_NAME];
    if (link[0] == '#' || !*link)
        return;
    if (rlt_chapter_linked(from, link, &c)) {
        const char *section = strchr(link, '#');
        if (strcmp(rlt_chapter_name(&c, name), text) == 0)
            return; /* the text says already what to ask for */
        rlt_growing_add(out, " (ringlet help %s%s)", rlt_chapter_name(&c, name), section ? section : "");
    } else if (!strstr(text, link))
        rlt_growing_add(out, " (%s)", link);
}

/* "[text](link)" at s; its length, 0: there is none. */
static size_t put_link(rlt_growing *out, const char *s, const char *end, const char *from)
{
    const char *close = s, *last;
    char text[256], link[256];
    for (int depth = 0; close < end; close++) {
        depth += *close == '[' ? 1 : *close == ']' ? -1 : 0;
        if (!depth)
            break;
    }
    if (close + 1 >= end || close[1] != '(' || !(last = memchr(close, ')', (size_t)(end - close))))
        return 0;
    snprintf(text, sizeof text, "%.*s", (int)(close - s - 1), s + 1);
    snprintf(link, sizeof link, "%.*s", (int)(last - close - 2), close + 2);
    rlt_growing_add(out, "%s", text);
    put_place(out, from, text, link);
    return (size_t)(last + 1 - s);
}

static void put_inline(rlt_growing *out, const char *s, const char *end, const char *from)
{
    bool code = false, blank = true;
    while (s < end) {
        size_t taken = 0;
        if (!code && *s == '!' && s + 1 < end && s[1] == '[') {
            const char *close = memchr(s, ']', (size_t)(end - s));
            const char *last = close ? memchr(close, ')', (size_t)(end - close)) : NULL;
            if (last) {
                rlt_growing_add(out, "[picture: %.*s]", (int)(close - s - 2), s + 2);
                taken = (size_t)(last + 1 - s);
            }
        } else if (!code && *s == '[')
            taken = put_link(out, s, end, from);
        else if (!code && *s == '*' && s + 1 < end && s[1] == '*')
            taken = 2;
        else if (*s == '\\' && s + 1 < end && (s[1] == '|' || (!code && ispunct((unsigned char)s[1])))) {
            rlt_growing_add(out, "%c", s[1]);
            taken = 2;
        } else if (isspace((unsigned char)*s)) {
            if (!blank)
                rlt_growing_add(out, "%c", ' ');
            blank = true;
            s++;
            continue;
        }
        code = code != (*s == '`');
        if (!taken) {
            rlt_growing_add(out, "%c", *s);
            taken = 1;
        }
        blank = false;
        s += taken;
    }
}

/* Inline marks resolved, blanks joined; lives until the block is written. NULL: out of memory. */
static char *resolve(reading *r, const char *s, const char *end)
{
    rlt_growing *made = &r->line;
    char *kept = NULL;
    made->length = 0;
    put_inline(made, s, end, r->w->from);
    if (!rlt_growing_whole(made, NULL))
        kept = rlt_arena_strndup(&r->arena, made->text,
                                 made->length && made->text[made->length - 1] == ' ' ? made->length - 1
                                                                                     : made->length);
    r->failed = r->failed || !kept;
    return kept;
}

static void put(reading *r, const rlt_block *b)
{
    if (!r->failed)
        r->w->put(r->w->self, b);
    rlt_arena_free(&r->arena);
}

static void read_heading(reading *r, int level)
{
    size_t n = line_length(r, r->at);
    rlt_block b = {.kind = RLT_BLOCK_HEADING, .level = level};
    b.text = resolve(r, r->at + level, r->at + n);
    r->at = after(r, r->at);
    put(r, &b);
}

static void read_code(reading *r)
{
    const char *from = r->at = after(r, r->at);
    while (r->at < r->end && !begins(r, r->at, "```"))
        r->at = after(r, r->at);
    rlt_block b = {.kind = RLT_BLOCK_CODE,
                   .text = rlt_arena_strndup(&r->arena, from, (size_t)(r->at - from))};
    r->failed = r->failed || !b.text;
    r->at = after(r, r->at);
    put(r, &b);
}

/* Cells of the row of a table at `line`, which begins with a bar; their number. */
static size_t read_row(reading *r, const char *line, char *cells[RLT_TABLE_CELLS])
{
    const char *end = line + line_length(r, line), *at = line + 1;
    size_t n = 0;
    while (at < end && n < RLT_TABLE_CELLS) {
        const char *bar = at;
        while (bar < end && *bar != '|')
            bar += *bar == '\\' && bar + 1 < end ? 2 : 1;
        bar = bar > end ? end : bar;
        if (bar == end && strspn(at, " \t\r") >= (size_t)(end - at))
            break;
        cells[n++] = resolve(r, at, bar);
        at = bar + 1;
    }
    return n;
}

static void read_table(reading *r)
{
    rlt_block b = {.kind = RLT_BLOCK_TABLE};
    char *first[RLT_TABLE_CELLS] = {0};
    size_t lines = 0;
    for (const char *line = r->at; line < r->end && *line == '|'; line = after(r, line))
        lines++;
    b.table.columns = read_row(r, r->at, first);
    b.table.cells = rlt_arena_array(&r->arena, lines * (b.table.columns + 1), sizeof(char *));
    r->failed = r->failed || !b.table.cells;
    for (size_t i = 0; i < lines; i++, r->at = after(r, r->at)) {
        char *row[RLT_TABLE_CELLS] = {0};
        if (r->failed || strspn(r->at, "|-: \t\r") >= line_length(r, r->at))
            continue;
        read_row(r, r->at, row);
        for (size_t c = 0; c < b.table.columns && !r->failed; c++)
            b.table.cells[b.table.rows * b.table.columns + c] = row[c] ? row[c] : resolve(r, "", "");
        b.table.rows++;
    }
    put(r, &b);
}

/* The mark of an item of a list ("- ", "2. ") behind `indent` blanks; its length, 0: the line is none. */
static size_t mark_length(const reading *r, const char *line, size_t *indent)
{
    size_t n = line_length(r, line), at = 0, digits;
    while (at < n && line[at] == ' ')
        at++;
    *indent = at;
    if (at + 1 < n && strchr("-*+", line[at]) && line[at + 1] == ' ')
        return 1;
    for (digits = 0; at + digits < n && isdigit((unsigned char)line[at + digits]);)
        digits++;
    return digits && digits < 4 && at + digits + 1 < n && line[at + digits] == '.' &&
                   line[at + digits + 1] == ' '
               ? digits + 1
               : 0;
}

static int heading_level(const reading *r, const char *line)
{
    int level = 0;
    while (line + level < r->end && line[level] == '#')
        level++;
    return level <= 6 && line + level < r->end && line[level] == ' ' ? level : 0;
}

static bool is_blank(const reading *r, const char *line)
{
    return strspn(line, " \t\r") >= line_length(r, line);
}

/* A paragraph or an item goes on until something else begins. */
static void read_text(reading *r)
{
    size_t indent = 0, mark = mark_length(r, r->at, &indent), ignored;
    rlt_block b = {.kind = mark ? RLT_BLOCK_ITEM : RLT_BLOCK_PARAGRAPH};
    const char *from = r->at + (mark ? indent + mark : 0), *line = after(r, r->at);
    if (mark) {
        b.level = (int)indent;
        snprintf(b.mark, sizeof b.mark, "%.*s", (int)mark, r->at + indent);
    }
    while (line < r->end && !is_blank(r, line) && *line != '|' && !heading_level(r, line) &&
           !begins(r, line, "```") && !begins(r, line, "<!--") && !mark_length(r, line, &ignored))
        line = after(r, line);
    b.text = resolve(r, from, line);
    r->at = line;
    put(r, &b);
}

static void skip_comment(reading *r)
{
    while (r->at < r->end && !begins(r, r->at, "-->"))
        r->at++;
    r->at = after(r, r->at);
}

int rlt_markdown(const char *text, size_t n, const rlt_block_writer *w, rlt_error *err)
{
    reading r = {.at = text, .end = text + n, .w = w};
    while (r.at < r.end && !r.failed) {
        int level = heading_level(&r, r.at);
        if (is_blank(&r, r.at))
            r.at = after(&r, r.at);
        else if (level)
            read_heading(&r, level);
        else if (begins(&r, r.at, "```"))
            read_code(&r);
        else if (*r.at == '|')
            read_table(&r);
        else if (begins(&r, r.at, "<!--"))
            skip_comment(&r);
        else
            read_text(&r);
    }
    rlt_arena_free(&r.arena);
    free(r.line.text);
    return r.failed ? rlt_nomem(err) : 0;
}
