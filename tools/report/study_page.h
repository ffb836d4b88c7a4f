/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a study: all points, to sort, filter and compare. */
#ifndef RLT_TOOLS_REPORT_STUDY_PAGE_H
#define RLT_TOOLS_REPORT_STUDY_PAGE_H

#include "sim/base/error.h"
#include "sim/text/json.h"

/* Writes {"kind": "study", "study" {name, text, hash, ringlet, points, command, objectives, columns, shard},
 * "axes"[] {name, pointers, values}, "figures"[], "rows"[] [point, name, coordinates, replica, status, error,
 * options, same_as, busiest_link, figures...], "links"[] [point, id, dim, count, bytes, busy_ps,
 * utilization], "links_left_out"}. The top object is left open. Free the writer in every case. */
int rlt_study_json(const char *path, rlt_jw *w, rlt_error *err) RLT_MUST_USE;
/* Writes the page to a file; "-" or NULL: standard output. */
int rlt_study_page_write(const char *path, const char *output, rlt_error *err) RLT_MUST_USE;

#endif
