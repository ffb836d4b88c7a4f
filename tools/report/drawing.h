/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A topology as a page draws it: each dimension of a product once (all its groups are alike; a link is as
 * busy as the busiest of those in its place), a graph whole; what has too many nodes or links to draw, by
 * kinds.
 */
#ifndef RLT_TOOLS_REPORT_DRAWING_H
#define RLT_TOOLS_REPORT_DRAWING_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"

/* "drawing": {name, source, product, accelerators, dims[] {shape, size, sizes, bandwidth_Bps, latency_ps,
 * links, groups, nodes[] [name, kind], edges[] [from, to, greatest, mean], kinds[] [from, to, links,
 * greatest, mean]}} into an open object. A dimension has nodes and edges or, when too large, kinds.
 * `utilization` of every link; NULL or below 0: unknown (null). RLT_ENOMEM. */
int rlt_drawing_json(const rlt_topology *t, const double *utilization, rlt_jw *w,
                     rlt_error *err) RLT_MUST_USE;

#endif
