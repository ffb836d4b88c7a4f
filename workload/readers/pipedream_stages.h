/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PipeDream's graph with stages, between its reader and the builder of programs. */
#ifndef RLT_WORKLOAD_READERS_PIPEDREAM_STAGES_H
#define RLT_WORKLOAD_READERS_PIPEDREAM_STAGES_H

#include <stdint.h>

#include "sim/base/error.h"
#include "workload/program/program.h"
#include "workload/readers/layers.h"
#include "workload/readers/pipedream.h"

/* Builds the program. order: the nodes, each after the nodes it needs. t->ranks must be a multiple of the
 * number of stages; of the table, only file, ranks and notes are read. */
int rlt__pipedream_stages(const rlt_pipedream *d, const uint32_t *order, const rlt_layer_table *t,
                          uint64_t hash, rlt_program **out, rlt_error *err) RLT_MUST_USE;

#endif
