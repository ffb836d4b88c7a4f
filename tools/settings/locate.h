/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the topologies and accelerators that go by a name stand, for this executable. */
#ifndef RLT_TOOLS_SETTINGS_LOCATE_H
#define RLT_TOOLS_SETTINGS_LOCATE_H

#include <limits.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/models/accelerator.h"

/* A list of directories as sim/base/find.h has them. Use it at once: rlt_topology_dirs().list */
typedef struct rlt_dirs {
    char list[3 * PATH_MAX];
} rlt_dirs;
/* ./topologies, ../topologies beside the executable, and the installed ones. */
rlt_dirs rlt_topology_dirs(void);
/* ./workload/accelerators, the same beside the executable's folder, and the installed ones. */
rlt_dirs rlt_accelerator_dirs(void);

/* rlt_topology_load and rlt_accelerator_load with these directories. */
int rlt_find_topology(const char *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt_find_accelerator(const char *spec, rlt_accelerator *out, rlt_error *err) RLT_MUST_USE;

#endif
