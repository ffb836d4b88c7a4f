/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes that would make the fastest layout faster, and faster layouts that lack only a little memory. Each
 * figure is a folded simulation under one change; nothing is extrapolated.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_ADVICE_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

enum { RLT_ADVICE_CHANGES = 8, RLT_ADVICE_NEAR = 5 };

/* A change of the cluster or the training. */
typedef struct rlt_layouts_change {
    const char *what;
    bool searched;          /* the point is the fastest under the change; else it is the layout as it was */
    rlt_layout_point point; /* time_ps: of as many samples as before; memory_bytes: maybe too many */
    double gain;            /* time before / time after, less 1 */
} rlt_layouts_change;

/* A layout that is faster than the fastest and needs more memory than there is. */
typedef struct rlt_layouts_near {
    rlt_layout_point point;
    double missing_bytes;
    char fits_with[96]; /* settings, each of which alone makes it fit: "recompute=full or zero=2"; "": none */
} rlt_layouts_near;

typedef struct rlt_layouts_advice {
    rlt_layouts_change changes[RLT_ADVICE_CHANGES]; /* the largest gain first */
    rlt_layouts_near near[RLT_ADVICE_NEAR];         /* the fastest first */
    uint32_t n_changes, n_near;
    bool looked_near; /* layouts out of reach were looked for */
} rlt_layouts_advice;

/* How much is asked: each of the first costs one simulation, each of the others a search. */
typedef struct rlt_layouts_advise {
    bool changes;  /* simulates the fastest layout under changes */
    bool searches; /* searches under changes, too */
    double
        reach; /* share of the memory that a layout just out of reach lacks at most; 0: none is looked for */
} rlt_layouts_advise;

/* Advises on a search that found a layout. `s`, `args` and `how` are those of the search. RLT_ECANCELLED if
 * stopped; `out` is then what is known. */
int rlt_layouts_advice_find(const rlt_layouts *l, const rlt_run_settings *s, const rlt_parsed *args,
                            const rlt_layout_search *how, const rlt_layouts_advise *asked,
                            rlt_layouts_advice *out, rlt_error *err) RLT_MUST_USE;

#endif
