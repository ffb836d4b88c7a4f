/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contents of files, for several experiments to share. */
#include <stdlib.h>

#include "collectives/in_network/libra/workload.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/coll/coll.h"
#include "workload/setup/settings.h"

int rlt_coll_files_load(const rlt_coll_settings *settings, const rlt_parsed *args, rlt_coll_files *out,
                        rlt_error *err)
{
    rlt_coll_ask ask = {.settings = settings, .args = args};
    int rc = rlt_coll_open_one(&ask, err);
    *out = (rlt_coll_files){ask.plans, ask.n_plans, ask.counts, ask.setup.updates, ask.setup.inputs};
    ask.plans = NULL;
    ask.n_plans = 0;
    ask.counts = NULL;
    ask.setup.updates = NULL;
    rlt_coll_close(&ask);
    return rc;
}

void rlt_coll_files_free(rlt_coll_files *files)
{
    for (uint32_t i = 0; i < files->n_plans; i++)
        rlt_listed_free(&files->plans[i]);
    free(files->plans);
    free(files->counts);
    if (files->updates)
        rlt_skew_free(files->updates);
    free(files->updates);
    *files = (rlt_coll_files){0};
}

void rlt_coll_lend(rlt_coll_settings *settings, const rlt_coll_files *files)
{
    settings->files = files;
    settings->sim.updated = files->updates;
}
