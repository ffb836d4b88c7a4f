/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a topology that the user names is on disk, for commands that read or write its file themselves. */
#ifndef RLT_LOCATE_H
#define RLT_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

/* False for "-", for a product written out, and where there is no such file. */
bool rlt_topology_path(const char *spec, char *path, size_t size);

#endif
