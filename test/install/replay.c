/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays a trace over a topology: replay TRACE TOPOLOGY prints the time of each iteration. */
#include <stdio.h>

#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

int main(int argc, char **argv)
{
    rlt_error err = {0};
    rlt_topology *topology = NULL;
    rlt_program *program = NULL;
    rlt_replay *replay = NULL;
    rlt_read_options reading = {.first_step = -1, .last_step = -1};
    rlt_replay_options how = rlt_replay_options_default();
    if (argc != 3)
        return 2;
    const char *trace[] = {argv[1]};
    int rc = rlt_topology_load(argv[2], NULL, &topology, &err);
    if (!rc)
        rc = rlt_trace_read(trace, 1, &reading, &program, &err);
    how.topology = topology;
    how.endpoint = rc ? how.endpoint : *rlt_topology_endpoint(topology);
    if (!rc)
        rc = rlt_replay_create(program, &how, &replay, &err);
    if (!rc)
        rc = rlt_replay_run(replay, &err);
    for (uint32_t i = 0; !rc && i < rlt_replay_iterations(replay); i++)
        printf("iteration %u: %lld ps\n", i, (long long)rlt_replay_iteration_ps(replay, i));
    if (rc)
        fprintf(stderr, "%s: %s\n", err.where, err.what);
    rlt_replay_free(replay);
    rlt_program_free(program);
    rlt_topology_free(topology);
    return rc ? 1 : 0;
}
