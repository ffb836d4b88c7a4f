/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which measurements are compared with which machines, and which are held out of a fit. */
#ifndef RLT_TOOLS_CALIBRATE_SELECT_H
#define RLT_TOOLS_CALIBRATE_SELECT_H

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure.h"
#include "workload/setup/settings.h"

/* What --where takes. */
const rlt_param *rlt_select_parameters(void);
/* Keeps the rows that obey all filters, "dtype=half". RLT_EUSAGE; RLT_ESCHEMA when none is left. */
int rlt_select_filter(rlt_measurements *t, const rlt_texts *filters, rlt_error *err) RLT_MUST_USE;
/* The topologies that claim systems, smallest first (of a family, where one is given); *out is malloc'ed. */
int rlt_select_machines(const rlt_settings *how, const char *family, rlt_machine **out, uint32_t *n,
                        rlt_error *err) RLT_MUST_USE;
/* Each row to the first machine that claims its system and has room; `any`: that has room. Notes what is left
 * out, if not `quiet`. RLT_ESCHEMA when all is. */
int rlt_select_rows(rlt_trial *t, const rlt_measurements *from, bool any, bool quiet,
                    rlt_error *err) RLT_MUST_USE;
/* "none", "every-other" (of the sizes that occur), or sizes. */
int rlt_select_held_out(rlt_trial *t, const char *what, rlt_error *err) RLT_MUST_USE;

#endif
