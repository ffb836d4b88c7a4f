/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the common command, which has no MPI: it hands over to the executable that has. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/base/beside.h"
#include "tools/base/pool.h"
#include "tools/sweep/ranks.h"
#include "tools/sweep/state.h"
#include "tools/sweep/study/study.h"

static const rlt_beside ranks = {.name = "ringlet-mpi",
                                 .need = "several ranks need",
                                 .package = "ringlet-mpi",
                                 .library = "Open MPI",
                                 .packages = "libopenmpi-dev openmpi-bin",
                                 .otherwise = ""};

const char *rlt_ranks_version(char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", rlt_beside_there(&ranks) ? "in ringlet-mpi" : "not built in");
    return buffer;
}

/* Returns true if a launcher started several ranks (variables of Open MPI, Slurm and Hydra). */
static bool launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                        "SLURM_STEP_NUM_TASKS"};
    bool pmix = getenv("PMIX_RANK") && getenv("SLURM_STEP_NUM_TASKS");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *n = getenv(names[i]);
        if (n && atoi(n) > 1 && (i < 2 || pmix))
            return true;
    }
    return false;
}

int rlt_ranks_become(const char *command, char **argv, rlt_error *err)
{
    rlt_beside of = ranks;
    of.command = command;
    if (strcmp(command, "sweep") == 0)
        of.otherwise = ", or take --shard";
    return launched() ? rlt_beside_become(&of, argv, err) : 0;
}

int rlt_ranks_begin(uint32_t *n, uint32_t *rank, rlt_error *err)
{
    (void)err;
    *n = 1;
    *rank = 0;
    return 0;
}

int rlt_ranks_run(rlt_sweep *w, const rlt_pool_work *work, rlt_error *err)
{
    (void)w;
    (void)work;
    return rlt_fail(err, RLT_EUNSUPPORTED, "sweep", "there is one rank");
}

int rlt_ranks_serve(rlt_sweep_study *study, rlt_error *err)
{
    (void)study;
    return rlt_fail(err, RLT_EUNSUPPORTED, "sweep", "there is one rank");
}

int rlt_ranks_text(const char *own, char **text, rlt_error *err)
{
    *text = own ? strdup(own) : NULL;
    return !own || *text ? 0 : rlt_nomem(err);
}

int rlt_ranks_share(void *items, size_t size, uint32_t n, int rc, rlt_error *err)
{
    (void)items;
    (void)size;
    (void)n;
    (void)err;
    return rc;
}

void rlt_ranks_end(uint32_t rank, bool served)
{
    (void)rank;
    (void)served;
}
