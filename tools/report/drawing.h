/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A topology, prepared for drawing on a page. A product is drawn one group per dimension: all groups of a
 * dimension are alike, and a link has the colour of the busiest link at its place. A graph is drawn whole. If
 * nodes or links are too many, only kinds of nodes are drawn.
 */
#ifndef RLT_TOOLS_REPORT_DRAWING_H
#define RLT_TOOLS_REPORT_DRAWING_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"

/* Writes "drawing": {name, source, product, accelerators, dims[] {shape, size, sizes, bandwidth_Bps,
 * latency_ps, links, groups, nodes[] [name, kind], edges[] [from, to, greatest, mean], kinds[] [from, to,
 * links, greatest, mean]}} into an open object. A dimension has nodes and edges or, if too large, kinds.
 * `utilization` has a value per link, NULL or below 0: unknown (null). RLT_ENOMEM. */
int rlt_drawing_json(const rlt_topology *t, const double *utilization, rlt_jw *w,
                     rlt_error *err) RLT_MUST_USE;

#endif
