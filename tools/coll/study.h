/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet coll --study ina`: where aggregation in the network wins, and by how much. A case is a size, a
 * number of workers, of tenants that each have so many, a loss and a straggler; it has a row for each
 * baseline (algorithms of steps on the packet model, and protocols between hosts) and, for each protocol that
 * adds up in switches, one for each number of slots and placement. A point is a case with slots and a
 * placement: its gain is the time of the best baseline over that of the best protocol.
 */
#ifndef RLT_TOOLS_COLL_STUDY_H
#define RLT_TOOLS_COLL_STUDY_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/coll/react.h"
#include "tools/output/output.h"
#include "tools/settings/settings.h"

typedef struct rlt_study_settings {
    const char *study, *workers, *slots, *loss, *straggler, *place;
} rlt_study_settings;
extern const rlt_option rlt_study_options[]; /* offsets in rlt_study_settings */

enum { RLT_STUDY_VALUES = 64, RLT_STUDY_WORD = 24 };
typedef enum rlt_study_axis {
    RLT_AXIS_SIZE,
    RLT_AXIS_WORKERS, /* of each tenant */
    RLT_AXIS_TENANTS,
    RLT_AXIS_LOSS,
    RLT_AXIS_STRAGGLER,
    RLT_AXIS_SLOTS, /* from here on: of protocols alone */
    RLT_AXIS_PLACE,
    RLT_AXES
} rlt_study_axis;

/* What an axis takes, and as text. */
typedef struct rlt_study_values {
    uint32_t n;
    uint64_t count[RLT_STUDY_VALUES]; /* size, workers, tenants, slots, straggler in picoseconds */
    double real[RLT_STUDY_VALUES];    /* loss */
    char text[RLT_STUDY_VALUES][RLT_STUDY_WORD];
} rlt_study_values;

typedef struct rlt_study_algorithm {
    const char *name;
    const rlt_algorithm *steps; /* or */
    const rlt_reacting *reacting;
    bool adds;   /* in switches; else it is a baseline, and slots and placement are nothing to it */
    bool placed; /* has a setting for where */
} rlt_study_algorithm;

typedef struct rlt_study_result {
    bool there;       /* else `why` tells, or it has not been run */
    uint32_t why;     /* of the study's reasons, from 1 */
    rlt_time time_ps; /* of the slowest tenant */
    double busbw_GBps;
    double fairness; /* Jain's index of the tenants' rates */
    bool adds;       /* some switch did */
    uint64_t retransmissions, server_bytes;
    rlt_value fallback;
    bool servers;
    uint32_t peak;
    double mean;
    rlt_time bin_ps; /* occupancy over time */
    uint32_t bins;
    double *occupancy;
} rlt_study_result;

enum { RLT_STUDY_ALGORITHMS = 32, RLT_STUDY_REASONS = 64, RLT_STUDY_REASON = 1600 };
typedef struct rlt_ina_study {
    const rlt_setup *setup;
    const rlt_report_settings *report;
    rlt_time series_ps;
    rlt_coll_kind kind;
    const char *plot;
    uint32_t jobs;
    rlt_study_values axes[RLT_AXES];
    bool shared;        /* tenants were asked for, be it one */
    rlt_group **groups; /* by [workers * values of tenants + tenants]: of each tenant; NULL: too many ranks */
    rlt_study_algorithm algorithms[RLT_STUDY_ALGORITHMS];
    uint32_t n_algorithms;
    rlt_study_result *results; /* see rlt_study_at */
    uint32_t n_results;
    char *reasons[RLT_STUDY_REASONS];
    uint32_t n_reasons;
    bool partial;
} rlt_ina_study;

/* Which value of each axis. */
typedef struct rlt_ina_point {
    uint32_t at[RLT_AXES];
} rlt_ina_point;

/* All points in order: the last axis goes round first. False past the end. */
bool rlt_study_point_at(const rlt_ina_study *s, uint32_t i, rlt_ina_point *p);
uint32_t rlt_study_points(const rlt_ina_study *s);
/* What an algorithm did at a point: baselines know neither slots nor placement. */
const rlt_study_result *rlt_study_at(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p);
/* Its time there, the straggler included; -1: none. */
rlt_time rlt_study_time(const rlt_ina_study *s, uint32_t algorithm, const rlt_ina_point *p);
/* The fastest of those that add up in switches, or of the baselines; RLT_NONE. */
uint32_t rlt_study_best(const rlt_ina_study *s, const rlt_ina_point *p, bool adds);
/* Best baseline over best protocol; 0: one of them is not there. */
double rlt_study_gain(const rlt_ina_study *s, const rlt_ina_point *p);

/* What the command has read: kind, sizes, algorithms as named (NULL: the usual ones). */
typedef struct rlt_study_ask {
    const rlt_study_settings *settings;
    const rlt_settings *sim;
    const rlt_report_settings *report;
    rlt_time series_ps;
    rlt_coll_kind kind;
    const uint64_t *sizes; /* NULL: the usual ones */
    uint32_t n_sizes;
    const char *algorithms, *plot, *tenants; /* NULL: the usual ones, none, one */
    bool network_given;
    uint32_t jobs;
} rlt_study_ask;
/* The lists given, and the usual ones; the setup is there. RLT_EUSAGE. */
int rlt_study_read_axes(rlt_ina_study *s, const rlt_study_ask *ask, rlt_error *err) RLT_MUST_USE;
int rlt_study_run(const rlt_study_ask *ask, const rlt_parsed *args, rlt_error *err) RLT_MUST_USE;
/* Writes table, CSV or JSON, and the plot (study_report.c, study_plot.c). */
int rlt_study_report(const rlt_ina_study *s, const rlt_parsed *args, rlt_error *err) RLT_MUST_USE;
int rlt_study_plot(const rlt_ina_study *s, rlt_error *err) RLT_MUST_USE;

#endif
