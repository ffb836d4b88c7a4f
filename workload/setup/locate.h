/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of named topologies, accelerators and studies, for this executable. */
#ifndef RLT_WORKLOAD_SETUP_LOCATE_H
#define RLT_WORKLOAD_SETUP_LOCATE_H

#include <limits.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/models/accelerator.h"

/* A list of directories in the format of sim/base/find.h. Use it at once: rlt_topology_dirs().list */
typedef struct rlt_dirs {
    char list[3 * PATH_MAX];
} rlt_dirs;
/* Returns ./topologies, ../topologies beside the executable, and the installed ones. */
rlt_dirs rlt_topology_dirs(void);
/* Returns ./workload/accelerators, the same beside the executable's folder, and the installed ones. */
rlt_dirs rlt_accelerator_dirs(void);

/* Finds a study: "-", a file, or the name of a shipped one in ./tools/sweep/examples, the same beside the
 * executable's folder, or the installed ones. RLT_EIO if there is none, with the nearest name. */
int rlt_study_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;
/* The same for weights of ringlet deploy, in ./tools/deploy/policy and so on. */
int rlt_weights_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;

/* The same for names of measured systems and models, in ./tools/calibrate/training and so on. */
int rlt_names_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;

/* rlt_topology_load and rlt_accelerator_load with these directories. */
int rlt_find_topology(const char *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt_find_accelerator(const char *spec, rlt_accelerator *out, rlt_error *err) RLT_MUST_USE;

#endif
