/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment as a value: settings in, results out. Settings are texts "NAME=VALUE" (a flag: "NAME") of the
 * options of `ringlet run` that shape a run, such as "trace=traces/transformer-8", "topology=hgx-h100-8" and
 * "network-scale=2". With "collective=all_reduce" or another among them, it is one collective of one size by
 * one algorithm, and settings are the options of `ringlet coll`: "bytes=64MiB", "algorithm=ring". Nothing is
 * printed.
 *
 * Experiments of one rlt_experiments share what they load. Create, vary and free them on one thread, which
 * loads and does all that igraph has a part in; run them on any threads, several at once. The shared inputs
 * outlive the experiments. Errors name an option as "--NAME".
 */
#ifndef RLT_WORKLOAD_EXPERIMENT_EXPERIMENT_H
#define RLT_WORKLOAD_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_experiments rlt_experiments; /* what several share */
typedef struct rlt_experiment rlt_experiment;

RLT_API int rlt_experiments_create(rlt_experiments **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_experiments_free(rlt_experiments *shared);

/* Loads and checks what the settings name; they are copied. `shared` NULL: it shares with its variations, and
 * theirs, and what they share goes with the last of them. */
RLT_API int rlt_experiment_create(rlt_experiments *shared, const char *const *settings, uint32_t n,
                                  rlt_experiment **out, rlt_error *err) RLT_MUST_USE;
/* The settings of another one, but for those whose names are given here. */
RLT_API int rlt_experiment_vary(const rlt_experiment *from, const char *const *settings, uint32_t n,
                                rlt_experiment **out, rlt_error *err) RLT_MUST_USE;
/* Once, to its checked end (or its own "until"). `watch` may be NULL. RLT_ECANCELLED: it was stopped. */
RLT_API int rlt_experiment_run(rlt_experiment *e, const rlt_watch *watch, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_experiment_free(rlt_experiment *e);

/* What one that has run tells: its iterations, and figures by the names of a sweep's columns, such as
 * "time_ps", "compute_ps", "exposed_comm_ps", "busiest_utilization". False: it has none of that name. A
 * collective has no iterations. */
RLT_API uint32_t rlt_experiment_iterations(const rlt_experiment *e);
RLT_API rlt_time rlt_experiment_iteration_ps(const rlt_experiment *e, uint32_t i);
RLT_API bool rlt_experiment_figure(const rlt_experiment *e, const char *name, double *value);

#ifdef __cplusplus
}
#endif
#endif
