/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An experiment between its settings and its figures: prepared on the thread that loads, run on any. */
#ifndef RLT_WORKLOAD_EXPERIMENT_PREPARED_H
#define RLT_WORKLOAD_EXPERIMENT_PREPARED_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "sim/watch.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/shared.h"
#include "workload/setup/settings.h"

/* Prepare everything, or one step: the network; the workload or the files of a collective; the cuts that
 * bounds need. */
int rlt_prepare_net(rlt_prepared *p, rlt_shared *s, rlt_error *err) RLT_MUST_USE;
int rlt_prepare_rest(rlt_prepared *p, rlt_shared *s, rlt_error *err) RLT_MUST_USE;
int rlt_prepare(rlt_prepared *p, rlt_shared *s, rlt_error *err) RLT_MUST_USE;
/* Runs once, to the checked end. The run stays in `keep` and must be ended by rlt_shared_run_end whatever is
 * returned; NULL: it is not kept. */
int rlt_prepared_run(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_run *keep,
                     rlt_outcome *out, rlt_error *err) RLT_MUST_USE;
/* Releases shared inputs. Call it on the thread that prepared. */
void rlt_prepared_end(rlt_prepared *p);

#endif
