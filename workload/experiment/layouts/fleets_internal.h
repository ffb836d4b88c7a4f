/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the files of fleets. */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_FLEETS_INTERNAL_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_FLEETS_INTERNAL_H

#include "sim/base/error.h"
#include "workload/experiment/layouts/fleets.h"

/* Fills the fleets from a list, in ascending order. */
int rlt__fleets_list(rlt_fleets *c, const char *list, rlt_error *err) RLT_MUST_USE;

#endif
