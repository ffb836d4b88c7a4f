/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that go by a name without folder and ending, looked for in directories that the caller lists as in
 * PATH: "topologies:/usr/share/ringlet/topologies", the first that has it counts. NULL lists none.
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

/* The path of the readable file `name`, as it stands or ending in .json, .graphml, .yml or .yaml. False:
 * there is none, or its path takes more than `size` bytes. */
bool rlt_find_file(const char *dirs, const char *name, char *path, size_t size);
/* The name most like `name` in all directories; false: none is near enough to be meant. */
bool rlt_find_near(const char *dirs, const char *name, char *near, size_t size);
/* Next directory of the list, which *dirs begins as; false past the end, and for one that is too long. */
bool rlt_find_next_dir(const char **dirs, char *dir, size_t size);

/* Names of the files with one of the endings ({".json", NULL}) in all directories, in order, each once. The
 * caller frees them with rlt_find_free, also after an error. Directories that cannot be opened hold none. */
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
