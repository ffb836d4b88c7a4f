/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a run: its JSON result and whatever else is at hand. */
#ifndef RLT_TOOLS_REPORT_RUN_PAGE_H
#define RLT_TOOLS_REPORT_RUN_PAGE_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/report/heat.h"
#include "tools/report/timeline.h"

enum { RLT_PAGE_EVENTS = 200000 };

typedef struct rlt_run_page {
    rlt_json run;                 /* the document's top object */
    rlt_timeline *timeline;       /* NULL: none */
    uint32_t events;              /* of the timeline are drawn apart, at most */
    const rlt_topology *topology; /* NULL: not known */
    const double *utilization;    /* of its links; NULL: taken from the document */
    const rlt_heat *heat;         /* NULL: taken from the document, where it has series */
} rlt_run_page;

/* Is this what `ringlet run --format json` writes? RLT_ESCHEMA naming what is not. */
int rlt_run_page_check(rlt_json run, rlt_error *err) RLT_MUST_USE;
/* What the document tells of each link, -1 where nothing: a class of links tells of all where it stands for a
 * whole dimension, else of its first. *out malloc'ed, also on failure. RLT_ENOMEM. */
int rlt_run_page_utilization(const rlt_topology *t, rlt_json run, double **out, rlt_error *err) RLT_MUST_USE;
/* Writes the page to a file; "-" or NULL: standard output. */
int rlt_run_page_write(const rlt_run_page *p, const char *path, rlt_error *err) RLT_MUST_USE;

#endif
