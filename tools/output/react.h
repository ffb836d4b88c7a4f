/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of aggregating switches, as JSON. */
#ifndef RLT_TOOLS_OUTPUT_REACT_H
#define RLT_TOOLS_OUTPUT_REACT_H

#include "net/aggregation/aggregator.h"
#include "sim/text/json.h"

/* Writes the counts of an aggregator into an open object. */
void rlt_agg_counts_json(rlt_jw *w, const rlt_agg_counts *c);

#endif
