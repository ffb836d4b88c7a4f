/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet help`: topics, terms, chapters and examples, from the Markdown of the tree and the tables of the
 * code. The command itself is rlt_cmd_help (tools/base/commands.h).
 */
#ifndef RLT_TOOLS_HELP_HELP_H
#define RLT_TOOLS_HELP_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tools/help/chapters.h"

/* A document is a malloc'ed text: a chapter with what its comments ask for and what is made from tables.
 * A line "<!-- show: HEADING -->" brings each section of that heading, wherever it stands; "<!-- see: WORDS
 * -->" a list of the sections whose headings contain one of the words. RLT_ENOMEM; *text is to be freed then,
 * too. */
int rlt_help_document(const rlt_chapter *c, char **text, rlt_error *err) RLT_MUST_USE;

/* The columns of results, as Markdown. */
void rlt_help_columns(rlt_growing *out);
/* The row of the column of that name, in JSON or in tables, in `document`, as Markdown: the number of rows
 * found. */
int rlt_help_column(rlt_growing *out, const char *document, const char *name, rlt_error *err) RLT_MUST_USE;

/* The entry of the glossary for a term, in any case and with blanks, dashes or underscores. */
bool rlt_help_term(const char *term, rlt_section *entry);
/* Name i of an entry's names, "busbw, bus bandwidth"; false past the last. */
enum { RLT_TERM = 64 };
bool rlt_help_term_name(const rlt_section *entry, int i, char name[RLT_TERM]);

/* Every place where `word` stands. Returns their number, or RLT_ENOMEM. */
int rlt_help_search(FILE *out, const char *word, rlt_error *err) RLT_MUST_USE;

/* The start of `word` in the first n bytes of text, in any case; NULL: it is not there. */
const char *rlt_help_find(const char *text, size_t n, const char *word);

/* Parts of man pages: a chapter by its name, or what stands below one of its headings. RLT_ENOMEM. */
int rlt_help_man(FILE *out, const char *chapter, const char *slug, rlt_error *err) RLT_MUST_USE;

#endif
