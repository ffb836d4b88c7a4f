/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Companion executables, in the folder of this one. A command that needs a heavy library stands in a
 * companion, so that the common command starts without loading that library. Each companion is the whole
 * command and takes the same arguments.
 */
#ifndef RLT_TOOLS_BASE_BESIDE_H
#define RLT_TOOLS_BASE_BESIDE_H

#include <stdbool.h>

#include "sim/base/error.h"

typedef struct rlt_beside {
    const char *name;      /* file name */
    const char *command;   /* command that the companion runs */
    const char *need;      /* start of the message when it is missing, such as "several ranks need" */
    const char *package;   /* package of ringlet that has the file */
    const char *library;   /* library that it is linked with */
    const char *packages;  /* Debian packages that provide the library to a build */
    const char *otherwise; /* alternative offered in the message, such as ", or take --shard"; "": none */
} rlt_beside;

bool rlt_beside_there(const rlt_beside *b);
/* Fills `err` with the name of the missing file and how to get it. Returns RLT_EUNSUPPORTED. */
int rlt_beside_missing(const rlt_beside *b, rlt_error *err);
/* Replaces this process by `b`, with these arguments. Returns only on failure: RLT_EUNSUPPORTED if the
 * executable is missing, RLT_EIO if the system cannot run it. */
int rlt_beside_become(const rlt_beside *b, char **argv, rlt_error *err) RLT_MUST_USE;

#endif
