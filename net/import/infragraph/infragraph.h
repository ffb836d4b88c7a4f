/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * InfraGraph (Keysight/infragraph, schema 2.4): clusters as devices, components, instances and edges, in YAML
 * or JSON. ASTRA-sim 3 reads the same files. The reader is declared in net/import/read.h, with the others.
 */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_INFRAGRAPH_H
#define RLT_NET_IMPORT_INFRAGRAPH_INFRAGRAPH_H

#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a topology as InfraGraph in JSON: the infrastructure, and annotations with all that it cannot say.
 * The reader makes the same topology of it. *text is malloc'ed. */
int rlt_topology_to_infragraph(const rlt_topology *t, char **text, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
