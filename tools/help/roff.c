/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of Markdown as the source of a man page. */
#include <string.h>

#include "sim/base/error.h"
#include "tools/help/markdown.h"

void rlt_roff_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (text[0] == '\n' && text[1] == '\n')
            fputs("\n.PP", out);
        else
            fputc(*text, out);
    }
}

/* Without the backticks: a tag is bold. */
static void put_tag(FILE *out, const char *text)
{
    char one[2] = "";
    fputs(".TP\n.B ", out);
    for (; *text; text++) {
        one[0] = *text;
        if (*text != '`')
            rlt_roff_text(out, one);
    }
}

/* The first cell is the tag, the others the paragraph. */
static void put_table(FILE *out, const rlt_block_table *t)
{
    for (size_t i = 1; i < t->rows; i++) {
        char *const *row = t->cells + i * t->columns;
        put_tag(out, row[0]);
        for (size_t c = 1; c < t->columns; c++) {
            fputc('\n', out);
            rlt_roff_text(out, row[c]);
        }
        fputc('\n', out);
    }
}

static void put_block(void *self, const rlt_block *b)
{
    FILE *out = self;
    switch (b->kind) {
    case RLT_BLOCK_HEADING:
        if (b->level > 1) { /* the first is the page's own */
            fputs(".SS ", out);
            rlt_roff_text(out, b->text);
            fputc('\n', out);
        }
        break;
    case RLT_BLOCK_PARAGRAPH:
    case RLT_BLOCK_ITEM:
        fputs(".PP\n", out);
        rlt_roff_text(out, b->text);
        fputc('\n', out);
        break;
    case RLT_BLOCK_CODE:
        fputs(".PP\n.nf\n.RS\n", out);
        rlt_roff_text(out, b->text);
        fputs(".RE\n.fi\n", out);
        break;
    case RLT_BLOCK_TABLE:
        put_table(out, &b->table);
        break;
    }
}

int rlt_roff(FILE *out, const char *text, size_t n, const char *from, rlt_error *err)
{
    return rlt_markdown(text, n, &(rlt_block_writer){put_block, out, from}, err);
}
