/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which options of the command are those of a run, too. */
#ifndef RLT_TOOLS_PLAN_RUN_OPTIONS_H
#define RLT_TOOLS_PLAN_RUN_OPTIONS_H

#include <stdbool.h>

#include "sim/base/options.h"

/* Returns true if an option is one of `ringlet run`. */
bool rlt_plan_of_the_run(const rlt_option *o);

#endif
