/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Readers of topology files and their shared parts. Internal to net/import/.
 */
#ifndef RLT_NET_IMPORT_READ_H
#define RLT_NET_IMPORT_READ_H

#include "net/import/import.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"

enum {
    RLT_MAX_FILE_NODES = 1 << 22,
    RLT_MAX_FILE_LINKS = 1 << 26,
    RLT_MAX_FILE_BYTES = 256 << 20,
    RLT_MAX_PARALLEL = 4096, /* largest "count" of a link */
};

/* Returns the default topology name: the file's base name without extension. NULL when out of memory. */
char *rlt__topo_stem(rlt_arena *arena, const char *path);
/* Parses "accelerator", "nic", "pcie", "cpu" or "switch"; false for another word. */
bool rlt__topo_kind(const char *word, rlt_node_kind *kind);
/* Returns false for a word that is neither "on" nor "off". */
bool rlt__topo_pxn(const char *word, rlt_pxn *pxn);
/* Returns the place behind an escape sequence of a terminal that begins at p, such as "\033[32m" for green; p
 * if none begins there. */
const char *rlt__skip_escape(const char *p, const char *end);
#define RLT__KINDS "accelerator, nic, pcie, cpu, switch"

/* The readers. `name` is the file's name in messages. */
int rlt_topology_from_json(const char *name, const char *text, size_t length, const rlt_import *import,
                           rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_graphml(const char *name, const char *text, size_t length, rlt_topology **out,
                              rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_astra(const char *name, const char *text, size_t length, rlt_topology **out,
                            rlt_error *err) RLT_MUST_USE;
int rlt_topology_from_compact(const char *text, const rlt_import *import, rlt_topology **out,
                              rlt_error *err) RLT_MUST_USE;
/* net/import/infragraph/: returns true for a text with the keys of an InfraGraph; reads it. */
bool rlt__topo_infragraph_is(const char *text, size_t length);
int rlt__topo_infragraph(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* net/import/amd/: returns true for the output of rocm-smi --showtopo or amd-smi topology --json; reads
 * it. */
bool rlt__topo_amd_smi_is(const char *text, size_t length);
int rlt__topo_amd_smi(const char *name, const char *text, size_t length, const rlt_import *import,
                      rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* Loads a topology that stands in a product, by the rules of rlt_topology_load. */
int rlt__topo_part(const char *spec, const rlt_import *import, rlt_topology **out,
                   rlt_error *err) RLT_MUST_USE;
/* Takes over the endpoint and the node of the topology that is the first dimension. */
void rlt__topo_node(const rlt_topology *first, rlt_topology_spec *spec);

#endif
