/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network of a run with link utilization, for other programs: GraphML (Gephi, NetworkX, igraph, and
 * ringlet itself) and dot (Graphviz). */
#ifndef RLT_TOOLS_REPORT_NETWORK_TEXT_H
#define RLT_TOOLS_REPORT_NETWORK_TEXT_H

#include "net/topology/topology.h"
#include "sim/base/error.h"

/* Writes the network. Nodes have name, kind and forwards. Edges have bandwidth, latency, dim and, if known
 * (not below 0), utilization. `format` is "graphml" or "dot"; path "-" or NULL: standard output. RLT_EIO. */
int rlt_network_text(const rlt_topology *t, const double *utilization, const char *format, const char *path,
                     rlt_error *err) RLT_MUST_USE;

#endif
