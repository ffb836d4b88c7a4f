/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that NCCL writes about a machine: its topology (NCCL_TOPO_DUMP_FILE), the graphs found in it
 * (NCCL_GRAPH_DUMP_FILE), and its log (NCCL_DEBUG=INFO). Internal to net/.
 */
#ifndef RLT_NET_IMPORT_NCCL_H
#define RLT_NET_IMPORT_NCCL_H

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

/* The ring graph of a graph dump: for each channel the dev numbers of its GPUs, in order. */
typedef struct rlt__nccl_rings {
    uint32_t n_rings, n; /* number of channels; GPUs in each */
    uint32_t *dev;       /* dev numbers, n_rings * n */
    uint64_t intra_Bps;  /* bandwidth of a channel inside a node, and between nodes; 0: not stated */
    uint64_t inter_Bps;
    bool network; /* true if the channels begin and end at NICs */
} rlt__nccl_rings;

/* Makes the rings of the import recommended ones; accelerator[dev] for dev below n. *said describes what was
 * done, or is "". */
int rlt__nccl_rings_add(rlt__machine *m, const rlt_import *import, const uint32_t *accelerator, uint32_t n,
                        const char **said) RLT_MUST_USE;

int rlt__topo_nccl_xml(const char *name, const char *text, size_t length, const rlt_import *import,
                       rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt__topo_nccl_graph(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err) RLT_MUST_USE;
int rlt__topo_nccl_log(const char *name, const char *text, size_t length, const rlt_import *import,
                       rlt_topology **out, rlt_error *err) RLT_MUST_USE;

#endif
