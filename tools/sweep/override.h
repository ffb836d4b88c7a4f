/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes of a study by the command line: `ringlet sweep STUDY --slots 16,32 -t 'switch:8@50GB/s,1us'`. An
 * option that the sweep itself lacks is one of two things. It is the name of an axis, whose values are
 * replaced, or an option of the command that the study runs, which is set in base. Without such options the
 * database records the file as it is.
 */
#ifndef RLT_TOOLS_SWEEP_OVERRIDE_H
#define RLT_TOOLS_SWEEP_OVERRIDE_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/command.h"

/* Removes these options from argv. They are recognised only if its first word is the study. *text is the
 * changed study, malloc'ed; NULL: unchanged. RLT_EUSAGE names the option. */
int rlt_sweep_override(const rlt_option_group *own, int *argc, char **argv, char **text,
                       rlt_error *err) RLT_MUST_USE;

#endif
