/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the readers of topology files share. Internal to net/topo_*.c.
 */
#ifndef RLT_NET_IMPORT_READ_H
#define RLT_NET_IMPORT_READ_H

#include "net/topology/build.h"
#include "sim/base/mem.h"

enum {
    RLT_MAX_FILE_NODES = 1 << 22,
    RLT_MAX_FILE_LINKS = 1 << 26,
    RLT_MAX_FILE_BYTES = 256 << 20,
    RLT_MAX_PARALLEL = 4096, /* "count" of a link */
};

/* Default topology name: the file's base name without extension. NULL: no memory. */
char *rlt__topo_stem(rlt_arena *arena, const char *path);
/* "accelerator", "nic", "pcie", "cpu", "switch"; false for another word. */
bool rlt__topo_kind(const char *word, rlt_node_kind *kind);
#define RLT__KINDS "accelerator, nic, pcie, cpu, switch"

#endif
