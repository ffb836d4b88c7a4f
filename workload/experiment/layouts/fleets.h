/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The best layout where the number of accelerators is open, too, and the layouts between which two goals
 * leave the choice (Pareto front).
 *
 * A fleet is a number N of accelerators: the topology's outermost dimension is resized. Each is searched
 * with a limit on the time of an iteration, t. All goals but memory grow with t when N is fixed, so that a
 * layout already found, with value v of a goal, says from which t on a fleet is no better:
 *
 *   time           t >= v
 *   work           t >= v / N        N t: accelerator-seconds; energy, price, and 1 / (tokens/s/accelerator)
 *   accelerators   any t if N >= v, none otherwise
 *   memory         unknown before the search: no limit
 *
 * It is no better in all goals from the largest of these times on. The limit is the least over the layouts
 * found, and the deadline.
 *
 * A fleet is skipped if its floor is above the limit: t >= F / (N P e), with F the FLOPs that the model
 * executes for a batch without recomputation, P the peak, and e the best efficiency of any stack. It holds
 * since no kernel is faster than P e, and N accelerators share F. Models with experts or adapters have no
 * floor, as they may leave work out. A layout below the floor ends the search with an error.
 *
 * Memory as a goal: a search finds the fastest layout; the next one may only use less memory, and so on until
 * nothing fits (epsilon-constraint method). Each step is a proven search. No other layout beats one of these
 * in both goals.
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_LAYOUTS_FLEETS_H
#define RLT_WORKLOAD_EXPERIMENT_LAYOUTS_FLEETS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"

typedef enum rlt_goal { RLT_GOAL_TIME, RLT_GOAL_WORK, RLT_GOAL_ACCELERATORS, RLT_GOAL_MEMORY } rlt_goal;

/* How the search of a fleet ended. */
typedef enum rlt_fleet_end {
    RLT_FLEET_OPEN,    /* not searched: stopped before */
    RLT_FLEET_FOUND,   /* has a layout within its limit */
    RLT_FLEET_SLOWER,  /* searched: no layout is within the limit */
    RLT_FLEET_SKIPPED, /* not searched: the floor is above the limit */
    RLT_FLEET_FULL,    /* no layout fits the memory */
    RLT_FLEET_AGAINST, /* every layout is against a rule, or the topology cannot have this size */
    RLT_FLEET_ENDS
} rlt_fleet_end;

typedef struct rlt_fleet {
    uint32_t ranks;
    rlt_fleet_end end;
    rlt_time least_ps;    /* no layout of this fleet is faster; 0: unknown */
    char *topology;       /* NULL: as the settings have it */
    rlt_layouts *layouts; /* open while a layout of the answer is this fleet's, with its first result */
    char *why;            /* AGAINST: the rule, malloc'ed; NULL: no rule is known */
} rlt_fleet;

/* A layout of the answer. */
typedef struct rlt_fleet_layout {
    uint32_t fleet;
    rlt_layout_point point;
    double value[2]; /* by goal: picoseconds, accelerator-picoseconds, accelerators, bytes */
} rlt_fleet_layout;

/* A question, then its answer. */
typedef struct rlt_fleets {
    rlt_goal goals[2];
    uint32_t n_goals;
    rlt_time deadline_ps; /* an iteration takes at most this; 0: no deadline */
    double within;        /* with one goal: all fleets within this share of the best */
    rlt_run_settings settings;
    const rlt_parsed *args;
    rlt_layouts given; /* with the topology of the settings: model, accelerator, training */
    double floor_work; /* F / (P e), in accelerator-picoseconds; 0: unknown */
    rlt_fleet *at;
    uint32_t n, room;
    rlt_fleet_layout *found; /* the best first; a front by the first goal */
    uint32_t n_found, found_room;
    uint64_t searches, simulated;
    bool proven;
} rlt_fleets;

/* Opens the fleets of `list`: "64:4096" (every multiple of the topology without its outermost dimension),
 * "64+128+256", or NULL: that of the settings alone. Goals, deadline and share are set already, the rest is
 * zero. Close it in every case. RLT_EUSAGE for a list that is none, for a number that is no multiple, and for
 * a topology whose outermost dimension is not written out (rail:32@400Gbps,2us). */
int rlt_fleets_open(rlt_fleets *c, const char *list, const rlt_run_settings *s, const rlt_parsed *args,
                    rlt_error *err) RLT_MUST_USE;
/* Searches. RLT_ECANCELLED if stopped: found is what was found, not proven. Nothing found is no error. */
int rlt_fleets_find(rlt_fleets *c, const rlt_layout_search *how, rlt_error *err) RLT_MUST_USE;
void rlt_fleets_close(rlt_fleets *c);

#endif
