/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search under other factors, with what its simulations share. Internal to this room. */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_WORLD_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_WORLD_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

typedef struct rlt__world {
    rlt_layouts l;
    rlt_timing *alone;
} rlt__world;

/* Opens a search as `as` under factors. Close it in every case, before `as`. */
int rlt__world_open(rlt__world *w, const rlt_layouts *as, const rlt_layout_factors *f,
                    rlt_error *err) RLT_MUST_USE;
/* Simulates a planned training, folded. RLT_ECANCELLED if stopped. */
int rlt__world_simulate(rlt__world *w, const rlt_training *t, const rlt_watch *watch, rlt_time *time_ps,
                        rlt_error *err) RLT_MUST_USE;
void rlt__world_close(rlt__world *w);

#endif
