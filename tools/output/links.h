/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage of each link in a run, written as JSON, CSV or a table. Utilization is busy time (bytes / bandwidth)
 * divided by the time of the run.
 */
#ifndef RLT_TOOLS_OUTPUT_LINKS_H
#define RLT_TOOLS_OUTPUT_LINKS_H

#include "net/links.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/output.h"

extern const rlt_columns rlt_link_columns;
/* Writes "links": [{id, src, dst, dim, count, bytes, busy_ps, active_ps, utilization, [drops, losses, marks,
 * pauses, paused_ps, peak_bytes], [series_bytes]}] into an open object. Adds "series_bin_ps" if a series was
 * recorded and `series` is true; links are then not folded. */
int rlt_links_json(rlt_jw *w, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   bool series, rlt_error *err) RLT_MUST_USE;
/* The same as CSV: every link, with a column for each bin of the series. */
int rlt_links_csv(const char *path, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps,
                  rlt_error *err) RLT_MUST_USE;
/* The same as a table for people: only links that carried something. */
int rlt_links_table(FILE *out, const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                    rlt_error *err) RLT_MUST_USE;

/* Writes "8 accelerators, 9 nodes, 16 links". */
char *rlt_topology_counts(const rlt_topology *t, char *text, size_t size);

/* Warns if a link inside the network was over capacity (see rlt_accounts_check). `what` is its traffic. */
void rlt_links_warn(const rlt_busiest *over, const char *what);

#endif
