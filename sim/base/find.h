/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds files by a name without directory and ending, in directories listed as in PATH:
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

/* Finds the readable file or folder `name`, as given or with .json, .graphml, .yml, .yaml, .graph.txt
 * or .weights appended. Returns false if there is none, or if its path takes more than `size` bytes. */
bool rlt_find_file(const char *dirs, const char *name, char *path, size_t size);
/* Reports that `spec` is no file and no name in the directories, with similar names. `what` is what was
 * looked for: "topology". `more` ends the message if no name is similar; it may be NULL. Returns RLT_ENAME;
 * RLT_EIO if `spec` has a slash or a dot and so means a file. */
int rlt_find_fail(const char *dirs, const char *what, const char *spec, const char *more, rlt_error *err);
/* Copies the next directory of the list to dir; *dirs is the rest of the list. Returns false at the end, and
 * for a directory that does not fit. */
bool rlt_find_next_dir(const char **dirs, char *dir, size_t size);

/* Lists the files with one of the endings ({".json", NULL}) in all directories, in order, each name once. The
 * ending "" stands for names without a dot; NULL for the endings that rlt_find_file knows. The caller frees
 * the list with rlt_find_free, also after an error. A directory that is not there counts as empty; one that
 * cannot be read is RLT_EIO. */
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
