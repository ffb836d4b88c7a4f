/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists for `ringlet list`: what files define, and parameters. All information about a parameter comes from
 * its row (sim/base/param.h). A list adds rows to a table that was begun with the list's columns. For people
 * it prints text to the table's stream instead.
 */
#ifndef RLT_TOOLS_CLI_LIST_H
#define RLT_TOOLS_CLI_LIST_H

#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "tools/output/output.h"

/* Prints a name, its summary, and below it `more` in brackets, wrapped to the terminal. */
void rlt_list_text(FILE *out, const char *name, const char *summary, const char *more);

/* Adds a row of a name, what it is, and its settings. */
void rlt_list_put(rlt_table *t, const char *name, const char *summary, const char *parameters);

/* List what files in the folders of workload/setup/locate.h define, and these folders. */
int rlt_list_traces(rlt_table *t, rlt_error *err) RLT_MUST_USE;
int rlt_list_studies(rlt_table *t, rlt_error *err) RLT_MUST_USE;
int rlt_list_stacks(rlt_table *t, rlt_error *err) RLT_MUST_USE;
int rlt_list_dispatchers(rlt_table *t, rlt_error *err) RLT_MUST_USE;
enum { RLT_FOLDER_COLUMNS = 3 };
extern const rlt_column rlt_folder_columns[];
int rlt_list_folders(rlt_table *t, rlt_error *err) RLT_MUST_USE;

/* Formats the form of a value, its range and its default ("": none), such as "count; 1 to 16; default 4" or
 * "time; required". Returns text. */
char *rlt_list_limits(const rlt_param *p, const char *form, const char *preset, char *text, size_t size);
/* The same for a setting, with its form and its default. */
char *rlt_list_value(const rlt_param *p, char *text, size_t size);

/* Lists every parameter that is set by name, apart from options, grouped by its owner. */
enum { RLT_SETTING_COLUMNS = 9, RLT_OPTION_COLUMNS = 10 };
extern const rlt_column rlt_setting_columns[];
void rlt_list_settings(rlt_table *t);

/* Lists the options of all commands, or of the named one ("topo", "route"). RLT_EUSAGE: no such command. */
extern const rlt_column rlt_option_columns[];
int rlt_list_options(rlt_table *t, char *const *command, int n, rlt_error *err) RLT_MUST_USE;

#endif
