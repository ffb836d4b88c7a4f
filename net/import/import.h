/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads topologies from a name, a file or a text, and lists the formats. A machine's description seldom has
 * every number that a simulation needs. Missing numbers are assumed, and rlt_topology_source says so.
 */
#ifndef RLT_NET_IMPORT_IMPORT_H
#define RLT_NET_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values that the user states instead of those in the file or assumed; 0: not stated. Bandwidths are in bytes
 * a second and one direction. */
typedef struct rlt_import {
    uint64_t nvlink_Bps;  /* one NVLink */
    uint64_t xgmi_Bps;    /* the xGMI links of two GPUs */
    uint64_t pcie_Bps;    /* the slot of a GPU or NIC, and between PCIe switches */
    uint64_t cpu_Bps;     /* between two CPUs */
    uint64_t network_Bps; /* a NIC's port */
    uint64_t channel_Bps; /* one channel of a ring, between two GPUs */
    uint64_t link_Bps;    /* a link of an InfraGraph that states no bandwidth */
    const char *latency;  /* its latency, as a duration; NULL: not stated */
    rlt_texts links;      /* links of an InfraGraph by name: "NAME:BANDWIDTH,LATENCY"; borrowed */
    uint64_t lenient;     /* 1: what InfraGraph's own service accepts silently */
    uint64_t unfolded;    /* 1: ports and connectors stay nodes */
    /* NCCL's graph dump, whose rings become the recommended ones; may be NULL. */
    const char *graph_name, *graph_text;
    size_t graph_length;
    /* Where topologies that stand inside this one are found, and how many it stands in itself. Set by
     * rlt_topology_import. */
    const char *dirs;
    uint32_t depth;
} rlt_import;

/* Returns the table of parameters of an rlt_import. */
RLT_API const rlt_param *rlt_import_parameters(void);

/*
 * Loads `spec`, which is one of
 *   a file     recognised by content
 *   "-"        standard input
 *   JSON text  as it would stand in a file
 *   a product  dimensions in compact form, innermost first: ring:4@200GB/s,500ns*switch:8@50GB/s,500ns
 *              Each is shape:size@bandwidth,latency[,key=value...], or the name or file of a topology
 *   a name     of a file in one of the directories `dirs` (see sim/base/find.h; NULL: none)
 * RLT_EMALFORMED and RLT_ESCHEMA with file:line:column; RLT_ETOPOLOGY (disconnected, no accelerator);
 * RLT_EIO. A name that is not found is RLT_EIO; the error suggests the nearest existing one.
 */
RLT_API int rlt_topology_load(const char *spec, const char *dirs, rlt_topology **out,
                              rlt_error *err) RLT_MUST_USE;
/* As rlt_topology_load, with values that the user states (NULL: none). RLT_EUSAGE for a value that the format
 * does not use. */
RLT_API int rlt_topology_import(const char *spec, const char *dirs, const rlt_import *import,
                                rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* Reads a topology from the text of a file; its content tells the format. `name` is the name of the text in
 * messages. */
RLT_API int rlt_topology_read(const char *name, const char *text, size_t length, const rlt_import *import,
                              rlt_topology **out, rlt_error *err) RLT_MUST_USE;
/* Finds the file that `spec` names. Returns false for "-", a product, JSON text, and if there is no such
 * file. */
RLT_API bool rlt_topology_path(const char *spec, const char *dirs, char *path, size_t size);

/* A format, for `ringlet list`. */
typedef struct rlt_topology_format {
    const char *name, *summary;
    const rlt_param *parameters; /* the rlt_import_parameters that it uses; NULL: none */
} rlt_topology_format;
RLT_API const rlt_topology_format *rlt_topology_format_at(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
