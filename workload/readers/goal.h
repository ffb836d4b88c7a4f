/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GOAL files as traces: what the reader and LogGOPSim's cost model share. */
#ifndef RLT_WORKLOAD_READERS_GOAL_H
#define RLT_WORKLOAD_READERS_GOAL_H

#include "collectives/formats/goal_raw.h"
#include "sim/base/error.h"

/* Reads and inflates a file of messages and calculations;
 * messages are matched. *hash of its text, unless NULL. */
int rlt__goal_load(const char *path, rlt_goal *out, uint64_t *hash, rlt_error *err) RLT_MUST_USE;
void rlt__goal_free(rlt_goal *g);

#endif
