/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assigns measurements to machines, and selects those held out of a fit. */
#ifndef RLT_TOOLS_CALIBRATE_SELECT_H
#define RLT_TOOLS_CALIBRATE_SELECT_H

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "workload/setup/settings.h"

/* Returns the parameters of --where. */
const rlt_param *rlt_select_parameters(void);
/* Keeps rows that match all filters, such as "dtype=half". RLT_EUSAGE; RLT_ESCHEMA if none is left. */
int rlt_select_filter(rlt_measurements *t, const rlt_texts *filters, rlt_error *err) RLT_MUST_USE;
/* Returns whether a measurement matches all filters. RLT_EUSAGE as above. */
int rlt_select_matches(const rlt_measurement *m, const rlt_texts *filters, bool *out,
                       rlt_error *err) RLT_MUST_USE;
/* Lists the topologies that claim systems, smallest first; if a family is given, only its members. *out is
 * malloc'ed. */
int rlt_select_machines(const rlt_settings *how, const char *family, rlt_machine **out, uint32_t *n,
                        rlt_error *err) RLT_MUST_USE;
/* Assigns each row to the first machine that claims its system and has room; with `any`, to the first with
 * room. Notes the rows left out, unless `quiet`. RLT_ESCHEMA if all are. */
int rlt_select_rows(rlt_trial *t, const rlt_measurements *from, bool any, bool quiet,
                    rlt_error *err) RLT_MUST_USE;
/* Groups the rows by "system", "nodes", "site" or "family". Names are kept by the table of measurements. */
int rlt_select_groups(rlt_trial *t, rlt_measurements *from, const char *by, rlt_error *err) RLT_MUST_USE;
/* Holds out rows: "none", "every-other" (second of the sizes that occur), or the sizes listed. */
int rlt_select_held_out(rlt_trial *t, const char *what, rlt_error *err) RLT_MUST_USE;

#endif
