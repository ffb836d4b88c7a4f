/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that a point of a study ran with, as the start of a what-if. */
#ifndef RLT_TOOLS_SERVE_OPTIONS_H
#define RLT_TOOLS_SERVE_OPTIONS_H

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/serve/serve.h"

/* Writes "options" {name: [texts]} and "left_out" [names that a what-if may not have] into an open object.
 * They are the study's base with the changes by its axes or by the named point, as in a sweep. RLT_ERANGE: no
 * such point. */
int rlt_point_options_json(const char *study, int64_t point, const rlt_runs *runs, rlt_jw *w,
                           rlt_error *err) RLT_MUST_USE;

#endif
