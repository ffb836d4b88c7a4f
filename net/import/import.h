/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topologies from what describes a machine, and the table of formats that are read. A description seldom has
 * every number a simulation needs: what it lacks is assumed, and rlt_topology_source says so.
 */
#ifndef RLT_NET_IMPORT_IMPORT_H
#define RLT_NET_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "net/topology/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the user states in place of what a format says or assumes; 0: not stated. Bytes a second, one
 * direction. */
typedef struct rlt_import {
    uint64_t nvlink_Bps;  /* one NVLink */
    uint64_t pcie_Bps;    /* the slot of a GPU or NIC, and between PCIe switches */
    uint64_t cpu_Bps;     /* between two CPUs */
    uint64_t network_Bps; /* a NIC's port */
    uint64_t channel_Bps; /* what one channel of a ring gets between two GPUs */
    /* NCCL's graph dump, whose rings are recommended; may be NULL. */
    const char *graph_name, *graph_text;
    size_t graph_length;
} rlt_import;

/* "nvlink=25GB/s"; RLT_EUSAGE for an unknown name, listing the known ones. */
RLT_API int rlt_import_set(rlt_import *import, const char *setting, rlt_error *err) RLT_MUST_USE;

/* Reads text[0..length) in whatever format its content shows. `name` is what messages call it; `import` may
 * be NULL. RLT_EUSAGE for a setting that the format has no use for. */
RLT_API int rlt_topology_import(const char *name, const char *text, size_t length, const rlt_import *import,
                                rlt_topology **out, rlt_error *err) RLT_MUST_USE;

/* The formats, for `ringlet list`; NULL past the end. */
typedef struct rlt_topology_format {
    const char *name, *summary;
    const char *settings; /* names that rlt_import_set takes for it, NULL: none */
} rlt_topology_format;
RLT_API const rlt_topology_format *rlt_topology_format_at(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
