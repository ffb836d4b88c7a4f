/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A subcommand: one file with one const struct, entered in the table of tools/cli/commands.c.
 * tools/cli/main.c parses the command line by its tables and calls run with filled settings. run returns 0 or
 * a negative code with err filled. main turns the error into "ringlet: WHERE: WHAT" and an exit status. Data
 * goes to standard output, messages to standard error (tools/base/message.h).
 *
 * A command may have verbs ("ringlet topo route ..."), which are commands of their own. Without a verb the
 * command's own run is called. A command without run lists its verbs.
 */
#ifndef RLT_TOOLS_BASE_COMMAND_H
#define RLT_TOOLS_BASE_COMMAND_H

#include <stdio.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"

typedef struct rlt_command rlt_command;
struct rlt_command {
    const char *name, *summary;            /* one line, no full stop */
    const char *operands;                  /* as in the usage line, such as "T SRC DST"; NULL: none */
    const char *(*operand_at)(uint32_t i); /* operand word i; NULL: no fixed words */
    int min_operands;                      /* checked before run */
    int max_operands;                      /* -1: no limit */
    const char *description;               /* paragraphs for --help, separated by "\n\n" */
    const char *example;                   /* last lines of --help: a command that works */
    const rlt_option_group *options;       /* NULL: only --help */
    size_t settings_size;
    /* Runs another executable instead, if one is responsible for the command (tools/base/beside.h). Called
     * before parsing; argv is the whole command line. Returns 0 if this process goes on. NULL: this process
     * always goes on. */
    int (*become)(char **argv, rlt_error *err);
    /* Removes words from argv that the option tables do not know. Called before parsing; argv[0] is the
     * command's name, argv[*argc] stays NULL. NULL: there are no such words. */
    int (*take)(int *argc, char **argv, void *settings, rlt_error *err);
    int (*run)(const rlt_parsed *args, void *settings, rlt_error *err);
    void (*end)(void *settings);     /* frees what take and run left in settings; NULL: nothing to free */
    const rlt_command *const *verbs; /* NULL-terminated; NULL: none */
    /* Tables of its results, for `ringlet help columns`. NULL-terminated; NULL: none, or only tables that
     * another command lists. */
    const rlt_columns *const *tables;
};

/* Returns command i of the table, NULL past the end. */
const rlt_command *rlt_command_at(uint32_t i);

/* Help texts (help.c, man.c, completion.c, generate_json.c of tools/cli). `name` is whole: "ringlet topo
 * route". */
void rlt_print_help(FILE *out, const char *name, const rlt_command *c);
void rlt_print_overview(FILE *out);
extern const char rlt_config_help[]; /* help text of --config, which every command takes */
int rlt_print_man(FILE *out, rlt_error *err) RLT_MUST_USE;                          /* ringlet.1 */
int rlt_print_man_of(FILE *out, const rlt_command *c, rlt_error *err) RLT_MUST_USE; /* ringlet-COMMAND.1 */
void rlt_print_completion(FILE *out);
int rlt_print_tables(FILE *out, rlt_error *err) RLT_MUST_USE; /* commands and options as JSON */

/* Prints text from column `column` on, broken at blanks to fit a line; later lines are indented by
 * `indent`. */
void rlt_wrap(FILE *out, const char *text, int column, int indent);

#endif
