/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proofs of `ringlet check` for a plug-in, one per kind of entry. */
#ifndef RLT_WORKLOAD_PLUGIN_INTERNAL_H
#define RLT_WORKLOAD_PLUGIN_INTERNAL_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"
#include "workload/models/model.h"
#include "workload/plugin/plugin.h"
#include "workload/program/reader.h"
#include "workload/training/training.h"

/* Each writes a summary of what it proved into line[0..size). */
int rlt__prove_algorithm(const rlt_algorithm *a, char *line, size_t size, rlt_error *err) RLT_MUST_USE;
int rlt__prove_reader(const rlt_reader *r, const rlt_plugin_sample *sample, const char *scratch, char *line,
                      size_t size, rlt_error *err) RLT_MUST_USE;
int rlt__prove_family(const rlt_model_family *f, char *line, size_t size, rlt_error *err) RLT_MUST_USE;
int rlt__prove_strategy(const rlt_training_strategy *s, char *line, size_t size, rlt_error *err) RLT_MUST_USE;

#endif
