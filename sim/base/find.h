/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds files by a name without directory and extension, in directories listed as in PATH:
 * "topologies:/usr/share/ringlet/topologies". The first directory that has the file wins. NULL lists no
 * directory.
 */
#ifndef RLT_SIM_BASE_FIND_H
#define RLT_SIM_BASE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the readable file `name`, as given or with .json, .graphml, .yml or .yaml appended. Returns false if
 * there is none, or if its path takes more than `size` bytes. */
bool rlt_find_file(const char *dirs, const char *name, char *path, size_t size);
/* Finds the name most similar to `name` in all directories. Returns false if none is similar enough. */
bool rlt_find_near(const char *dirs, const char *name, char *near, size_t size);
/* Copies the next directory of the list to dir; *dirs is the rest of the list. Returns false at the end, and
 * for a directory that does not fit. */
bool rlt_find_next_dir(const char **dirs, char *dir, size_t size);

/* Lists the files with one of the endings ({".json", NULL}) in all directories, in order, each name once. The
 * caller frees the list with rlt_find_free, also after an error. A directory that cannot be opened counts as
 * empty. */
typedef struct rlt_found {
    char **names;
    uint32_t n, capacity;
} rlt_found;
int rlt_find_all(const char *dirs, const char *const *endings, rlt_found *found, rlt_error *err) RLT_MUST_USE;
void rlt_find_free(rlt_found *found);

#ifdef __cplusplus
}
#endif
#endif
