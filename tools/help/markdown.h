/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Markdown that this tree uses: headings, paragraphs, lists, tables, code, and in lines code, bold,
 * links and pictures. Comments are left out. A text is split into blocks; a writer of blocks makes lines of
 * 80 columns for a terminal (render.c) or a man page (roff.c) of them.
 */
#ifndef RLT_TOOLS_HELP_MARKDOWN_H
#define RLT_TOOLS_HELP_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"

typedef enum rlt_block_kind {
    RLT_BLOCK_HEADING,
    RLT_BLOCK_PARAGRAPH,
    RLT_BLOCK_ITEM, /* one item of a list */
    RLT_BLOCK_CODE, /* its lines as they stand */
    RLT_BLOCK_TABLE,
} rlt_block_kind;

enum { RLT_TABLE_CELLS = 12 };

/* Cells of a table in reading order, `columns` for each row; the first row is the heading. */
typedef struct rlt_block_table {
    char **cells;
    size_t columns, rows;
} rlt_block_table;

typedef struct rlt_block {
    rlt_block_kind kind;
    int level;    /* heading: 1 to 6; item: columns before its mark */
    char mark[8]; /* mark of an item: "-", "2." */
    char *text;   /* one line, inline marks resolved; of code its lines; NULL for a table */
    rlt_block_table table;
} rlt_block;

typedef struct rlt_block_writer {
    /* Writes one block; `self` is the writer's. */
    void (*put)(void *self, const rlt_block *block);
    void *self;
    const char *from; /* path of the chapter, from which links lead; NULL: links stand without a place */
} rlt_block_writer;

/* Hands the blocks of text[0 .. n) to the writer, in order. RLT_ENOMEM. */
int rlt_markdown(const char *text, size_t n, const rlt_block_writer *w, rlt_error *err) RLT_MUST_USE;

/* Columns that n bytes of UTF-8 take. */
size_t rlt_text_width(const char *text, size_t n);

/* For a terminal of 80 columns. */
int rlt_render(FILE *out, const char *text, size_t n, const char *from, rlt_error *err) RLT_MUST_USE;

/* As the source of a man page: headings become subsections, rows of tables tagged paragraphs. */
int rlt_roff(FILE *out, const char *text, size_t n, const char *from, rlt_error *err) RLT_MUST_USE;
/* Text for roff: backslashes and dashes escaped, no line begins with a control character. */
void rlt_roff_text(FILE *out, const char *text);

#endif
