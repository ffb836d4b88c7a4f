/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shipped data: topologies, accelerators, traces, studies, ... A name is looked for in these folders, in this
 * order:
 *
 *   RINGLET_DATA      folders of the environment variable, as in PATH; laid out as PREFIX/share/ringlet
 *   .                 the current folder, if it is laid out as a source tree
 *   SELF/..           the source tree around the folder of this executable
 *   SELF/../share/ringlet   data installed with this executable, wherever both were moved
 *   PREFIX/share/ringlet    data of the prefix that was compiled in
 *
 * A program that uses the library sets RINGLET_DATA, or gives folders to rlt_topology_load and
 * rlt_accelerator_load.
 */
#ifndef RLT_WORKLOAD_SETUP_LOCATE_H
#define RLT_WORKLOAD_SETUP_LOCATE_H

#include <limits.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

typedef enum rlt_data_kind {
    RLT_DATA_TOPOLOGIES,
    RLT_DATA_ACCELERATORS,
    RLT_DATA_STACKS,
    RLT_DATA_DISPATCHERS,
    RLT_DATA_TRACES,
    RLT_DATA_STUDIES,
    RLT_DATA_WEIGHTS,
    RLT_DATA_MEASURED, /* names of measured systems and models */
    RLT_DATA_KINDS
} rlt_data_kind;

/* A list of folders in the format of sim/base/find.h. Use it at once: rlt_topology_dirs().list */
typedef struct rlt_dirs {
    char list[8 * PATH_MAX];
} rlt_dirs;
/* Returns the folders of a kind in the order of search. Folders that are not there are listed, too. */
rlt_dirs rlt_data_dirs(rlt_data_kind kind);
const char *rlt_data_name(rlt_data_kind kind);
rlt_dirs rlt_topology_dirs(void);
rlt_dirs rlt_accelerator_dirs(void);

/* Finds a study: "-", a file, or the name of a shipped one. Fails as rlt_find_fail does. */
int rlt_study_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;
/* The same for weights of ringlet deploy. */
int rlt_weights_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;
/* The same for names of measured systems and models. */
int rlt_names_path(const char *spec, char *path, size_t size, rlt_error *err) RLT_MUST_USE;

/* rlt_topology_load and rlt_accelerator_load with these folders. */
int rlt_find_topology(const char *spec, rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt_find_accelerator(const char *spec, rlt_accelerator *out, rlt_error *err) RLT_MUST_USE;
/* rlt_trace_read and rlt_trace_files. The only spec may be the name of a shipped trace. */
int rlt_find_trace(const char *const *specs, uint32_t n, const rlt_read_options *how, rlt_program **out,
                   rlt_error *err) RLT_MUST_USE;
int rlt_find_trace_files(const char *const *specs, uint32_t n, char ***paths, uint32_t *n_paths,
                         rlt_error *err) RLT_MUST_USE;

#endif
