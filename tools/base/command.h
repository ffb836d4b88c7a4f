/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A subcommand: one file with one const struct, entered in the table of tools/cli/commands.c.
 * tools/cli/main.c parses the command line by its tables and calls run with filled settings. run returns 0 or
 * a negative code with err filled; main turns that into "ringlet: WHERE: WHAT" and the exit status. Data goes
 * to standard output, messages to standard error (tools/base/message.h).
 *
 * A command may have verbs ("ringlet topo route ..."), which are commands of their own. Without a verb the
 * command's own run is called; if it has none, the verbs are listed.
 */
#ifndef RLT_TOOLS_BASE_COMMAND_H
#define RLT_TOOLS_BASE_COMMAND_H

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/options.h"

typedef struct rlt_command rlt_command;
struct rlt_command {
    const char *name, *summary;            /* one line, no full stop */
    const char *operands;                  /* as shown in the usage line: "T SRC DST"; NULL: none */
    const char *(*operand_at)(uint32_t i); /* words that an operand can be; NULL: none are known */
    int min_operands;                      /* checked before run */
    int max_operands;                      /* -1: any number */
    const char *description;               /* paragraphs for --help, separated by "\n\n" */
    const char *example;                   /* the last lines of --help: a command that works */
    const rlt_option_group *options;       /* NULL: none but --help */
    size_t settings_size;
    /* Before anything is parsed, argv being the whole command line: another executable takes over where it is
     * that which runs the command (tools/base/beside.h). Returns 0 where none does. NULL: none ever does. */
    int (*become)(char **argv, rlt_error *err);
    /* Takes words out of argv that the option tables do not know, before they are parsed; NULL: there are
     * none. argv[0] is the command's name; argv[*argc] stays NULL. */
    int (*take)(int *argc, char **argv, void *settings, rlt_error *err);
    int (*run)(const rlt_parsed *args, void *settings, rlt_error *err);
    void (*end)(void *settings);     /* frees what take and run left in settings; NULL: nothing */
    const rlt_command *const *verbs; /* NULL-terminated; NULL: none */
};

/* The table: command i, NULL past the end. */
const rlt_command *rlt_command_at(uint32_t i);

/* Help texts (tools/cli/help.c, tools/cli/generate.c). `name` is the whole name: "ringlet topo route". */
void rlt_print_help(FILE *out, const char *name, const rlt_command *c);
void rlt_print_overview(FILE *out);
extern const char rlt_config_help[]; /* of the option that every command takes */
void rlt_print_man(FILE *out);
void rlt_print_completion(FILE *out);

/* Prints text from column `column` on, broken at blanks to stay within a line, later lines indented. */
void rlt_wrap(FILE *out, const char *text, int column, int indent);

#endif
