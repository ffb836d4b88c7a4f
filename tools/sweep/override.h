/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the command line changes in a study: `ringlet sweep STUDY --slots 16,32 -t 'switch:8@50GB/s,1us'`. An
 * option that is not the sweep's own is the name of an axis, whose values it replaces, or an option of what
 * the study runs, which goes into base. So a study whose file stands in the database is one without options.
 */
#ifndef RLT_TOOLS_SWEEP_OVERRIDE_H
#define RLT_TOOLS_SWEEP_OVERRIDE_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/command.h"

/* Takes those options out of argv, whose first word must be the study for there to be any. *text is the
 * study with them, malloc'ed; NULL where there were none. RLT_EUSAGE names the option. */
int rlt_sweep_override(const rlt_option_group *own, int *argc, char **argv, char **text,
                       rlt_error *err) RLT_MUST_USE;

#endif
