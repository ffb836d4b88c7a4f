/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trains a model in a layout: train MODEL ACCELERATOR-FILE TOPOLOGY NAME=VALUE... prints an iteration's
 * time. */
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

static int lay_out(rlt_training *training, char **settings, uint32_t ranks, rlt_error *err)
{
    int rc = 0;
    for (; !rc && *settings; settings++) {
        char *equals = strchr(*settings, '=');
        if (!equals)
            return rlt_fail(err, RLT_EUSAGE, *settings, "expected NAME=VALUE");
        *equals = '\0';
        rc = rlt_training_set(training, *settings, equals + 1, err);
    }
    if (!rc)
        rc = rlt_training_plan(training, ranks, err);
    return rc ? rc : rlt_training_fits(training, err);
}

int main(int argc, char **argv)
{
    rlt_error err = {0};
    rlt_model model = {0};
    rlt_accelerator accelerator = {0};
    rlt_topology *topology = NULL;
    rlt_program *program = NULL;
    rlt_replay *replay = NULL;
    rlt_training training = rlt_training_default();
    rlt_replay_options how = rlt_replay_options_default();
    if (argc < 4)
        return 2;
    int rc = rlt_model_open(argv[1], &model, &err);
    training.model = &model;
    training.accelerator = &accelerator;
    if (!rc && !(rc = rlt_accelerator_load(argv[2], NULL, &accelerator, &err)) &&
        !(rc = rlt_topology_load(argv[3], NULL, &topology, &err)) &&
        !(rc = lay_out(&training, argv + 4, rlt_topology_accelerators(topology), &err)) &&
        !(rc = rlt_training_program(&training, &program, &err))) {
        how.topology = topology;
        how.endpoint = *rlt_topology_endpoint(topology);
        how.overlap_slowdown = accelerator.overlap_slowdown;
        rc = rlt_replay_create(program, &how, &replay, &err);
    }
    if (!rc && !(rc = rlt_replay_run(replay, &err)))
        printf("%u ranks: %lld ps\n", program->n_ranks, (long long)rlt_replay_iteration_ps(replay, 0));
    if (rc)
        fprintf(stderr, "%s: %s\n", err.where, err.what);
    rlt_replay_free(replay);
    rlt_program_free(program);
    rlt_topology_free(topology);
    rlt_model_free(&model);
    return rc ? 1 : 0;
}
