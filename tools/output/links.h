/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each link did in a run, written as JSON, CSV or a table. Utilization is busy time (bytes / bandwidth)
 * over the time of the run.
 */
#ifndef RLT_TOOLS_OUTPUT_LINKS_H
#define RLT_TOOLS_OUTPUT_LINKS_H

#include "net/links.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/output.h"

/* "links": [{id, src, dst, dim, count, bytes, busy_ps, active_ps, utilization, [drops, losses, marks,
 * pauses, paused_ps, peak_bytes], [series_bytes]}] into an open object, and "series_bin_ps" where a series
 * was recorded and is asked for (links are then not folded). */
int rlt_links_json(rlt_jw *w, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   bool series, rlt_error *err) RLT_MUST_USE;
/* The same as CSV, every link, with a column for each bin of the series. */
int rlt_links_csv(const char *path, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps,
                  rlt_error *err) RLT_MUST_USE;
/* For people: links that carried something. */
int rlt_links_table(FILE *out, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                    rlt_error *err) RLT_MUST_USE;

#endif
