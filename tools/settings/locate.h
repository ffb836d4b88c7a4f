/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a topology that the user names is on disk, for commands that read or write its file themselves. */
#ifndef RLT_TOOLS_SETTINGS_LOCATE_H
#define RLT_TOOLS_SETTINGS_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

#include "net/import/import.h"

/* False for "-", for a product written out, and where there is no such file. */
bool rlt_topology_path(const char *spec, char *path, size_t size);
/* A whole file, inflated if it is a gzip file. *text is malloc'ed, NUL-terminated and owned by the caller. */
int rlt_read_text(const char *path, char **text, size_t *length, rlt_error *err) RLT_MUST_USE;
/* rlt_find_topology, with what the user states of a machine; import NULL: nothing. */
int rlt_import_topology(const char *spec, const rlt_import *import, rlt_topology **out,
                        rlt_error *err) RLT_MUST_USE;

#endif
