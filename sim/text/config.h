/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options from a file: `--config FILE`, of any command. The file is a JSON object whose members are the
 * command's options by their long names. A value is one of
 *   string, number  the option's value
 *   true            gives a flag
 *   list            gives the option once for each element
 *   object          the list "name=value,name=value" that several options take; for an option that takes a
 *                   JSON file (--topology), the content of that file
 * Keys that begin with '_' are comments. Options on the command line override those in
 * the file; repeatable options accumulate.
 */
#ifndef RLT_SIM_TEXT_CONFIG_H
#define RLT_SIM_TEXT_CONFIG_H

#include "sim/base/error.h"
#include "sim/base/options.h"

typedef struct rlt_config_word {
    char *text, *where; /* "file:line:column: key" */
    uint32_t file;      /* the how manieth */
} rlt_config_word;

typedef struct rlt_config {
    int argc;
    char **argv; /* the command's, with the file's options in front */
    rlt_config_word *owned;
    uint32_t n_owned, room, n_files;
} rlt_config;

/* Expands a --config in argv; without one the arguments stay as they are. RLT_EIO, RLT_EMALFORMED and
 * RLT_ESCHEMA with the place in the file. Free afterwards in every case. */
int rlt_config_expand(rlt_config *c, const rlt_option_group *groups, int argc, char **argv,
                      rlt_error *err) RLT_MUST_USE;
/* The options of one file alone; `whose` ends the complaint "no option ...". */
int rlt_config_file(rlt_config *c, const rlt_option_group *groups, const char *whose, const char *path,
                    rlt_error *err) RLT_MUST_USE;
/* Settings from what files say alone (zeroed memory; sim/base/options.h); the texts are the config's. */
int rlt_config_fill(const rlt_config *c, const rlt_option_group *groups, void *settings, rlt_parsed *out,
                    rlt_error *err) RLT_MUST_USE;
/* For options that set names (rlt_option.named): what a file says gives way to a later file and to the
 * command line, and RLT_EUSAGE where one of them says a name twice. */
int rlt_config_names(const rlt_config *c, rlt_parsed *p, rlt_error *err) RLT_MUST_USE;
/* An error of an option that came from a file gets its place there in place of "--NAME", and what was wrong
 * use is bad input. Returns the code. */
int rlt_config_locate(const rlt_config *c, const rlt_parsed *p, int rc, rlt_error *err);
void rlt_config_free(rlt_config *c);

#endif
