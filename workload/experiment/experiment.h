/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment as a value: settings in, results out. Settings are texts "NAME=VALUE" (a flag: "NAME"). They
 * are the options of `ringlet run` that shape a run, such as "trace=traces/transformer-8",
 * "topology=hgx-h100-8" and "network-scale=2". With a setting such as "collective=all_reduce" the experiment
 * is one collective of one size by one algorithm, and settings are the options of `ringlet coll`:
 * "bytes=64MiB", "algorithm=ring". Nothing is printed.
 *
 * Names such as hgx-h100-8 are looked for in the folders of the environment variable RINGLET_DATA, in a
 * source tree, in ../share/ringlet beside this program, and where the library was installed.
 *
 * Experiments of one rlt_experiments share the inputs they load. Create, vary and free them on one thread,
 * which loads inputs and makes all calls to igraph. Run them on any threads, several at once. The shared
 * inputs must outlive the experiments. Errors name an option as "--NAME".
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

typedef struct rlt_experiments rlt_experiments; /* inputs that experiments share */
typedef struct rlt_experiment rlt_experiment;

RLT_API int rlt_experiments_create(rlt_experiments **out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_experiments_free(rlt_experiments *shared);

/* Creates an experiment: copies the settings, loads and checks what they name. `shared` NULL: it shares
 * inputs with its variations, and theirs; the last of them frees the inputs. */
RLT_API int rlt_experiment_create(rlt_experiments *shared, const char *const *settings, uint32_t n,
                                  rlt_experiment **out, rlt_error *err) RLT_MUST_USE;
/* Creates an experiment with the settings of another one, except those named here. */
RLT_API int rlt_experiment_vary(const rlt_experiment *from, const char *const *settings, uint32_t n,
                                rlt_experiment **out, rlt_error *err) RLT_MUST_USE;
/* Runs once, to the checked end or to the experiment's own "until". `watch` may be NULL. RLT_ECANCELLED if
 * stopped. */
RLT_API int rlt_experiment_run(rlt_experiment *e, const rlt_watch *watch, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_experiment_free(rlt_experiment *e);

/* Results of an experiment that has run: its iterations, and figures by the names of a sweep's columns, such
 * as "time_ps", "compute_ps", "exposed_comm_ps", "busiest_utilization". Returns false if it has no figure of
 * that name. A collective has no iterations. */
RLT_API uint32_t rlt_experiment_iterations(const rlt_experiment *e);
RLT_API rlt_time rlt_experiment_iteration_ps(const rlt_experiment *e, uint32_t i);
RLT_API bool rlt_experiment_figure(const rlt_experiment *e, const char *name, double *value);

#ifdef __cplusplus
}
#endif
#endif
