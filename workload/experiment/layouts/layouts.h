/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best layout of a training: settings of a run, in which axes of the layout are open. */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_LAYOUTS_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_LAYOUTS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

/* Factors on what a prediction rests on; 1: as stated. */
typedef struct rlt_layout_factors {
    double bandwidth;  /* bandwidth of the outermost dimension of the topology (--dim-scale) */
    double efficiency; /* speed of accelerators (--compute-scale) */
    double half_sizes; /* loss of small microbatches (--train half_sizes) */
} rlt_layout_factors;
enum { RLT_LAYOUT_FACTORS = 3 };

/* A search. `run` has topology, model, accelerator, and the training with all settings that are no axes. */
typedef struct rlt_layouts {
    rlt_run run;
    rlt_run_settings fixed; /* the settings without the axes */
    char *layout, *train, *strategy;
    char **given; /* axes, as rlt_layout_space_open takes them */
    uint32_t n_given, given_room;
    rlt_layout_space space;
    rlt_layout_result result;
    const rlt_run_settings *asked; /* as opened; borrowed */
    /* Settings of a run that stand for factors, "NAME=VALUE"; "": none. half_sizes is in `train`. */
    char stated[2][64];
    char *factored_train;
    const char **dim_scales;
    rlt_layout_sample sample; /* n 0: nothing was drawn */
} rlt_layouts;

/* Opens a search from the settings of a run. An axis in --layout, --train or --strategy is fixed to its
 * value, or open over a list ("tp=2+4+8"), a range ("pp=1:8") or all values ("microbatch=auto"). Those that
 * are not named are open. On a zeroed struct; close it in every case. */
int rlt_layouts_open(rlt_layouts *l, const rlt_run_settings *s, const rlt_parsed *args,
                     rlt_error *err) RLT_MUST_USE;
/* Opens the same search with other factors, which multiply what its settings say. The factors are rounded to
 * six digits, as a command states them. On a zeroed struct; close it in every case, before `as`.
 * RLT_EUNSUPPORTED for a bandwidth where the outermost dimension is a graph. */
int rlt_layouts_open_as(rlt_layouts *l, const rlt_layouts *as, const rlt_layout_factors *f,
                        rlt_error *err) RLT_MUST_USE;
/* Searches. `how` has what is asked for; the rest of it is filled in here. */
int rlt_layouts_find(rlt_layouts *l, const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;
/* Draws n possible points of the space, and counts those that are faster than `than_ps` (rlt_layout_draw). */
int rlt_layouts_draw(rlt_layouts *l, const rlt_layout_search *how, uint32_t n, rlt_time than_ps,
                     rlt_error *err) RLT_MUST_USE;
/* Plans the training of a point. */
int rlt_layouts_training(const rlt_layouts *l, const rlt_layout_point *p, rlt_training *out,
                         rlt_error *err) RLT_MUST_USE;
/* Writes the values of --layout and --train that stand for a point. Both are malloc'ed. */
int rlt_layouts_settings(const rlt_layouts *l, const rlt_layout_point *p, char **layout, char **train,
                         rlt_error *err) RLT_MUST_USE;
void rlt_layouts_close(rlt_layouts *l);
/* Returns the ranks that layouts divide. */
uint32_t rlt_layouts_ranks(const rlt_layouts *l);

#endif
