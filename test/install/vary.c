/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An experiment on ten networks, two at a time: vary trace=TRACE topology=TOPOLOGY [NAME=VALUE...] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "workload/experiment/experiment.h"

static const char *const scales[] = {
    "network-scale=1", "network-scale=2", "network-scale=3", "network-scale=4", "network-scale=5",
    "network-scale=6", "network-scale=7", "network-scale=8", "network-scale=9", "network-scale=10"};
static rlt_experiment *all[10];

static void *every_second(void *first)
{
    rlt_error err = {0};
    for (rlt_experiment **e = first; e < all + 10; e += 2)
        if (rlt_experiment_run(*e, NULL, &err))
            fprintf(stderr, "%s: %s\n", err.where, err.what);
    return NULL;
}

int main(int argc, char **argv)
{
    rlt_error err = {0};
    pthread_t other;
    int rc = rlt_experiment_create(NULL, (const char *const *)argv + 1, (uint32_t)argc - 1, &all[0], &err);
    for (int i = 1; i < 10 && !rc; i++)
        rc = rlt_experiment_vary(all[0], &scales[i], 1, &all[i], &err);
    if (rc)
        return fprintf(stderr, "%s: %s\n", err.where, err.what), 1;
    pthread_create(&other, NULL, every_second, all + 1);
    every_second(all);
    pthread_join(other, NULL);
    for (int i = 0; i < 10; i++) {
        for (uint32_t k = 0; k < rlt_experiment_iterations(all[i]); k++)
            printf("%s: %lld ps\n", scales[i], (long long)rlt_experiment_iteration_ps(all[i], k));
        rlt_experiment_free(all[i]);
    }
}
