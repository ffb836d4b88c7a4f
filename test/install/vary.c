/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays a trace over a topology, varies its network ten times on two threads: vary TRACE TOPOLOGY */
#include <pthread.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "workload/experiment/experiment.h"

static rlt_experiment *all[10];
static rlt_error errors[10];

static void *every_second(void *first)
{
    for (rlt_experiment **e = first; e < all + 10; e += 2)
        if (rlt_experiment_run(*e, NULL, &errors[e - all]))
            fprintf(stderr, "%s: %s\n", errors[e - all].where, errors[e - all].what);
    return NULL;
}

int main(int argc, char **argv)
{
    char text[3][512];
    const char *settings[] = {text[0], text[1], text[2]};
    rlt_experiments *shared;
    rlt_error err = {0};
    pthread_t other;
    if (argc != 3 || rlt_experiments_create(&shared, &err))
        return 2;
    snprintf(text[0], sizeof text[0], "trace=%s", argv[1]);
    snprintf(text[1], sizeof text[1], "topology=%s", argv[2]);
    for (int i = 0; i < 10; i++) {
        snprintf(text[2], sizeof text[2], "network-scale=%d", i + 1);
        if (rlt_experiment_create(shared, settings, 3, &all[i], &err))
            return fprintf(stderr, "%s: %s\n", err.where, err.what), 1;
    }
    pthread_create(&other, NULL, every_second, all + 1);
    every_second(all);
    pthread_join(other, NULL);
    for (int i = 0; i < 10; i++) {
        printf("network x %d:", i + 1);
        for (uint32_t k = 0; k < rlt_experiment_iterations(all[i]); k++)
            printf(" %lld ps", (long long)rlt_experiment_iteration_ps(all[i], k));
        putchar('\n');
        rlt_experiment_free(all[i]);
    }
    rlt_experiments_free(shared);
}
