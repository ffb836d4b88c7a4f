/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heavy libraries, loaded when they are first used, so that a program that does without them starts faster.
 * Names are looked up as if the program were linked with the library: a preloaded one comes first.
 *
 * The table is a struct of pointers to functions, in the order of `names`. Example:
 *
 *     #define CALLS(X) X(create) X(destroy)
 *     #define POINTER(f) __typeof__(igraph_##f) *f;
 *     #define NAME(f) "igraph_" #f,
 *     static struct { CALLS(POINTER) } ig;
 *     static const char *const names[] = {CALLS(NAME) NULL};
 */
#ifndef RLT_SIM_LATE_H
#define RLT_SIM_LATE_H

#include "sim/base/error.h"

typedef struct rlt_late_library {
    const char *file;         /* name by which the loader finds it, such as "libigraph.so.3" */
    const char *package;      /* Debian package that brings it */
    const char *const *names; /* functions; ends with NULL */
    void *table;              /* receives one pointer per name */
} rlt_late_library;

/* Loads a library and fills its table, unless that is done. It stays loaded. Any thread. RLT_EUNSUPPORTED if
 * the library or a function is missing; then the table is not to be used. */
int rlt_late_load(const rlt_late_library *l, rlt_error *err) RLT_MUST_USE;

#endif
