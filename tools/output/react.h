/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What switches that add up did, as JSON. */
#ifndef RLT_TOOLS_OUTPUT_REACT_H
#define RLT_TOOLS_OUTPUT_REACT_H

#include "net/aggregation/aggregator.h"
#include "sim/text/json.h"

/* What an aggregator counted, into an open object. */
void rlt_agg_counts_json(rlt_jw *w, const rlt_agg_counts *c);

#endif
