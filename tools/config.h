/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options from a file: `--config FILE`, of any command. A JSON object whose members are the command's options
 * by their long names: a string or number is the value, true gives a flag, a list gives the option once for
 * each, and an object is the list "name=value,name=value" that several options take. Keys that begin with '_'
 * are comments. What the command line says too comes after, and is what holds.
 */
#ifndef RLT_CONFIG_H
#define RLT_CONFIG_H

#include "tools/options.h"

typedef struct rlt_config {
    int argc;
    char **argv; /* the command's, with the file's options in front */
    char **owned;
    uint32_t n_owned, room;
} rlt_config;

/* Expands a --config in argv; without one the arguments stay as they are. RLT_EIO, RLT_EMALFORMED and
 * RLT_ESCHEMA with the place in the file. Free afterwards in every case. */
int rlt_config_expand(rlt_config *c, const rlt_option_group *groups, int argc, char **argv,
                      rlt_error *err) RLT_MUST_USE;
void rlt_config_free(rlt_config *c);

#endif
