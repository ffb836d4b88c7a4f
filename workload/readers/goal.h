/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GOAL files as traces, shared by the reader and LogGOPSim's cost model. */
#ifndef RLT_WORKLOAD_READERS_GOAL_H
#define RLT_WORKLOAD_READERS_GOAL_H

#include "collectives/formats/goal_raw.h"
#include "sim/base/error.h"

/* Reads, inflates and parses a file of messages and calculations, and matches its messages. *hash of the
 * text, unless NULL. */
int rlt__goal_load(const char *path, rlt_goal *out, uint64_t *hash, rlt_error *err) RLT_MUST_USE;
void rlt__goal_free(rlt_goal *g);

#endif
