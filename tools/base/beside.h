/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executables beside this one, in the same folder. What needs a library that most uses of the command do not
 * need stands in one of them, so that the command starts without that library. Each is the whole command: it
 * takes the same arguments.
 */
#ifndef RLT_TOOLS_BASE_BESIDE_H
#define RLT_TOOLS_BASE_BESIDE_H

#include <stdbool.h>

#include "sim/base/error.h"

typedef struct rlt_beside {
    const char *name;      /* of the file */
    const char *command;   /* that it runs */
    const char *need;      /* "several ranks need": how the message begins when it is missing */
    const char *library;   /* that it is linked with */
    const char *packages;  /* of Debian, that bring the library */
    const char *otherwise; /* ", or take --shard": what is left to do without it; "": nothing */
} rlt_beside;

bool rlt_beside_there(const rlt_beside *b);
/* RLT_EUNSUPPORTED: names the file, and what brings it. */
int rlt_beside_missing(const rlt_beside *b, rlt_error *err);
/* This process goes on as `b`, with these arguments. Returns only where that fails. RLT_EUNSUPPORTED: it is
 * missing; RLT_EIO: the system does not run it. */
int rlt_beside_become(const rlt_beside *b, char **argv, rlt_error *err) RLT_MUST_USE;

#endif
