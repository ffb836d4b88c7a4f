/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a run: its JSON result and optional data. */
#ifndef RLT_TOOLS_REPORT_RUN_PAGE_H
#define RLT_TOOLS_REPORT_RUN_PAGE_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/report/heat.h"
#include "tools/report/timeline.h"

enum { RLT_PAGE_EVENTS = 200000 };

typedef struct rlt_run_page {
    rlt_json run;                 /* top object of the document */
    rlt_timeline *timeline;       /* NULL: none */
    uint32_t events;              /* most events of the timeline that are drawn individually */
    const rlt_topology *topology; /* NULL: unknown */
    const double *utilization;    /* per link; NULL: taken from the document */
    const rlt_heat *heat;         /* NULL: taken from the document's series, if any */
} rlt_run_page;

/* Checks that the document is written by `ringlet run --format json`. RLT_ESCHEMA names the first
 * deviation. */
int rlt_run_page_check(rlt_json run, rlt_error *err) RLT_MUST_USE;
/* Reads the utilization of each link from the document, -1 if unknown. A class of links applies to all its
 * links if it is a whole dimension, else only to its first link. *out is malloc'ed, also on failure.
 * RLT_ENOMEM. */
int rlt_run_page_utilization(const rlt_topology *t, rlt_json run, double **out, rlt_error *err) RLT_MUST_USE;
/* Writes the page to a file; "-" or NULL: standard output. */
int rlt_run_page_write(const rlt_run_page *p, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
