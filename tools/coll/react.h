/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of switches and servers for a collective by a reactive protocol. */
#ifndef RLT_TOOLS_COLL_REACT_H
#define RLT_TOOLS_COLL_REACT_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "workload/experiment/coll/react.h"

/* Writes "in_network": {...} into an open object, with the occupancy over time if it was recorded. */
int rlt_react_json(rlt_jw *w, const rlt_react_run *run, const rlt_topology *t, rlt_error *err) RLT_MUST_USE;

#endif
