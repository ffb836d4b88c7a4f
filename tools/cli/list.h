/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of `ringlet list` that list parameters: all that is told of one comes from its row
 * (sim/base/param.h). A list writes rows to a table that is begun with its columns, or, for people, text to
 * the table's stream.
 */
#ifndef RLT_TOOLS_CLI_LIST_H
#define RLT_TOOLS_CLI_LIST_H

#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "tools/output/output.h"

/* A name, what it is, and below in brackets what belongs to it, in lines that fit a terminal. */
void rlt_list_text(FILE *out, const char *name, const char *summary, const char *more);

/* "count; 1 to 16; default 4". Returns text. */
char *rlt_list_value(const rlt_param *p, char *text, size_t size);

/* Every parameter that is set by name beside the options, grouped by whose it is. */
enum { RLT_SETTING_COLUMNS = 9, RLT_OPTION_COLUMNS = 10 };
extern const rlt_column rlt_setting_columns[];
void rlt_list_settings(rlt_table *t);

/* Options of all commands, or of the one named ("topo", "route"). RLT_EUSAGE: there is none of that name. */
extern const rlt_column rlt_option_columns[];
int rlt_list_options(rlt_table *t, char *const *command, int n, rlt_error *err) RLT_MUST_USE;

#endif
