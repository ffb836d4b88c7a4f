/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * InfraGraph (Keysight/infragraph, schema 2.4): clusters as devices, components, instances and edges, in YAML
 * or JSON. ASTRA-sim 3 reads the same files.
 */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_INFRAGRAPH_H
#define RLT_NET_IMPORT_INFRAGRAPH_INFRAGRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true for a text with the keys of an InfraGraph. */
bool rlt__topo_infragraph_is(const char *text, size_t length);
int rlt__topo_infragraph(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err) RLT_MUST_USE;

/* Writes a topology as InfraGraph in JSON: the infrastructure, and annotations with all that it cannot say. The
 * reader makes the same topology of it. *text is malloc'ed. */
RLT_API int rlt_topology_to_infragraph(const rlt_topology *t, char **text, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
