/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that a point of a study ran with, as a what-if takes them. */
#ifndef RLT_TOOLS_SERVE_OPTIONS_H
#define RLT_TOOLS_SERVE_OPTIONS_H

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "tools/serve/serve.h"

/* "options" {name: [texts]} and "left_out" [names that a what-if may not have] into an open object:
 * the study's base with what its axes or the named point set,
 * worked out as a sweep does. RLT_ERANGE: no such point. */
int rlt_point_options_json(const char *study, int64_t point, const rlt_runs *runs, rlt_jw *w,
                           rlt_error *err) RLT_MUST_USE;

#endif
