/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of software stacks, and of the fields that accelerators share with them. Internal to
 * workload/models/. */
#ifndef RLT_WORKLOAD_MODELS_STACK_READ_H
#define RLT_WORKLOAD_MODELS_STACK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

/* Efficiencies below this are taken for a slip of the pen. */
#define RLT__LEAST 1e-6

/* Reads a number for each kind of work. `parent` is named in errors if there is no such object. */
int rlt__read_kinds(rlt_json v, rlt_json parent, bool required, rlt_json_bounds in,
                    double out[RLT_WORK_KINDS], rlt_error *err);
int rlt__read_factors(rlt_json object, rlt_precision_factors *f, rlt_error *err);
/* Read evidence (evidence.c): the spreads of a stack; the entries of an accelerator, RLT_MAX_EVIDENCE at
 * most. */
int rlt__read_spreads(rlt_json v, rlt_spread s[RLT_KINDS], rlt_error *err);
int rlt__read_evidence(rlt_json array, rlt_evidence *list, uint32_t *n, rlt_error *err);
/* Adds the stacks of an array to a list of RLT_MAX_STACKS places. */
int rlt__read_stacks(rlt_json array, rlt_stack *list, uint32_t *n, rlt_error *err);
/* Adds the stacks of the folders `stacks` beside the directories, except those of names that are there. */
int rlt__load_stacks(const char *dirs, rlt_stack *list, uint32_t *n, rlt_error *err);

#endif
