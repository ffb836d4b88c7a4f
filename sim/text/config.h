/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options from a file: every command takes `--config FILE`. The file is a JSON object whose members are the
 * command's options by their long names. A value is one of
 *   string, number  the option's value
 *   true            gives a flag
 *   list            gives the option once for each element
 *   object          the list "name=value,name=value" that several options take; for an option that takes a
 *                   JSON file (--topology), the content of that file
 * Keys that begin with '_' are comments. Options on the command line override those in the file; repeatable
 * options accumulate.
 */
#ifndef RLT_SIM_TEXT_CONFIG_H
#define RLT_SIM_TEXT_CONFIG_H

#include "sim/base/error.h"
#include "sim/base/options.h"

typedef struct rlt_config_word {
    char *text, *where; /* "file:line:column: key" */
    uint32_t file;      /* number of the file, from 1 */
} rlt_config_word;

typedef struct rlt_config {
    int argc;
    char **argv; /* the command's arguments, after the options from files */
    rlt_config_word *owned;
    uint32_t n_owned, room, n_files;
} rlt_config;

/* Expands every --config in argv; without one, the arguments stay as they are. RLT_EIO, RLT_EMALFORMED and
 * RLT_ESCHEMA with the place in the file. Free afterwards in every case. */
int rlt_config_expand(rlt_config *c, const rlt_option_group *groups, int argc, char **argv,
                      rlt_error *err) RLT_MUST_USE;
/* Reads the options of one file alone; `whose` ends the error message "no option ...". */
int rlt_config_file(rlt_config *c, const rlt_option_group *groups, const char *whose, const char *path,
                    rlt_error *err) RLT_MUST_USE;
/* Fills settings from files alone (`settings` is zeroed memory; see sim/base/options.h). The config owns the
 * texts. */
int rlt_config_fill(const rlt_config *c, const rlt_option_group *groups, void *settings, rlt_parsed *out,
                    rlt_error *err) RLT_MUST_USE;
/* Resolves options that set names (rlt_option.named): a file overrides earlier files, and the command line
 * overrides all files. RLT_EUSAGE if one of them sets a name twice. */
int rlt_config_names(const rlt_config *c, rlt_parsed *p, rlt_error *err) RLT_MUST_USE;
/* Corrects an error about an option that came from a file: its place becomes the place in the file instead of
 * "--NAME", and RLT_EUSAGE becomes RLT_ESCHEMA. Returns the code. */
int rlt_config_locate(const rlt_config *c, const rlt_parsed *p, int rc, rlt_error *err);
void rlt_config_free(rlt_config *c);

#endif
