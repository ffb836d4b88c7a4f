/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random models and clusters. The ranges are those of published profiles; nothing is taken from a model. */
#include "tools/deploy/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"

enum { MODEL = 0x3a0de1, CLUSTER = 0x3c1057, MOST_LAYERS = 64, MOST_EDGES = 2 * MOST_LAYERS };

/* A stream of random numbers. */
typedef struct dice {
    uint64_t seed, drawn;
    uint32_t entity, purpose;
} dice;

static double unit(dice *d)
{
    return rlt_random_unit(d->seed, d->entity, d->purpose, d->drawn++);
}

static uint32_t below(dice *d, uint32_t n)
{
    return (uint32_t)rlt_random_below(d->seed, d->entity, d->purpose, d->drawn++, n);
}

/* Between the two, evenly on a logarithmic scale. */
static double between(dice *d, double least, double most)
{
    return least * rlt_fixed_exp(unit(d) * rlt_fixed_log(most / least));
}

static double spread(dice *d, double cv)
{
    return rlt_random_lognormal(d->seed, d->entity, d->purpose, d->drawn++, cv);
}

/* Scales numbers so that they sum to `total`. */
static void scale_to(double *x, uint32_t n, double total)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += x[i];
    for (uint32_t i = 0; i < n && sum > 0; i++)
        x[i] *= total / sum;
}

/* Weights of the layers: even, growing, or mostly in a few layers at one end. */
static void draw_weights(dice *d, double *x, uint32_t n)
{
    uint32_t form = below(d, 4), few = 1 + below(d, 3);
    double growth = between(d, 1.02, 1.3), heavy = between(d, 2, 12);
    for (uint32_t i = 0; i < n; i++) {
        bool end = form == 2 ? i + few >= n : form == 3 && i < few;
        x[i] = form == 0 ? spread(d, 0.5) : pow(growth, i) * spread(d, 0.5);
        if (form >= 2)
            x[i] = end ? heavy * spread(d, 0.7) * n / few : spread(d, 0.7);
        if (below(d, 3) == 0 && !end)
            x[i] = 0; /* activations, pooling */
    }
    x[n - 1] += x[n - 1] > 0 ? 0 : 1;
    scale_to(x, n, between(d, 4e6, 1.5e9));
}

/* Times follow the outputs in part; layers of many weights at an end are short. */
static void draw_layers(dice *d, rlt_layer_node *layers, uint32_t n)
{
    double weights[MOST_LAYERS] = {0}, outputs[MOST_LAYERS], times[MOST_LAYERS];
    double shrink = between(d, 0.85, 1.0), back = 0.8 + 1.4 * unit(d), cv = between(d, 0.3, 1.5);
    draw_weights(d, weights, n);
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = pow(shrink, i) * spread(d, 0.6);
        times[i] = sqrt(outputs[i]) * spread(d, cv) * (weights[i] > 0 ? 1 : 0.2);
    }
    scale_to(outputs, n, between(d, 2e8, 2e10));
    scale_to(times, n, between(d, 20, 300));
    for (uint32_t i = 0; i < n; i++)
        layers[i] = (rlt_layer_node){.name = "layer",
                                     .kind = "random",
                                     .forward_ps = (rlt_time)(times[i] * (double)RLT_MS),
                                     .backward_ps = (rlt_time)(back * times[i] * (double)RLT_MS),
                                     .output_bytes = (uint64_t)outputs[i] / 4 * 4,
                                     .parameter_bytes = (uint64_t)weights[i] / 4 * 4};
}

int rlt_random_model(uint64_t seed, uint32_t k, rlt_opgraph **out, rlt_error *err)
{
    static const rlt_layer_costs costs = RLT_LAYER_COSTS_DEFAULT;
    rlt_layer_node layers[MOST_LAYERS];
    uint32_t edges[2 * MOST_EDGES], n_edges = 0;
    dice d = {seed, 0, k, MODEL};
    uint32_t n = (uint32_t)between(&d, 6, 61);
    double around = unit(&d) < 0.5 ? 0 : 0.4;
    char name[64];
    draw_layers(&d, layers, n);
    for (uint32_t i = 1; i < n; i++) {
        edges[2 * n_edges] = i - 1;
        edges[2 * n_edges++ + 1] = i;
        if (i + 2 < n && unit(&d) < around) {
            edges[2 * n_edges] = i - 1;
            edges[2 * n_edges++ + 1] = i + 2;
        }
    }
    snprintf(name, sizeof name, "random-%u", k);
    rlt_layer_graph g = {name, 64, layers, n, edges, n_edges};
    return rlt_opgraph_of_layers(&g, &costs, out, err);
}

static rlt_device_group draw_group(dice *d, uint32_t n, uint64_t intra_Bps)
{
    static const rlt_device_group types[] = {{.name = "v100", .factor = 1, .memory_bytes = 14ull << 30},
                                             {.name = "1080ti", .factor = 1.75, .memory_bytes = 9ull << 30},
                                             {.name = "p100", .factor = 1.5, .memory_bytes = 10ull << 30}};
    rlt_device_group g = types[below(d, 3)];
    g.n = n;
    g.intra_Bps = intra_Bps;
    return g;
}

int rlt_random_cluster(uint64_t seed, uint32_t k, bool eight, rlt_cluster *out, rlt_error *err)
{
    static const uint32_t sizes[] = {2, 3, 4, 6, 8};
    static const uint64_t inside[] = {8000000000, 20000000000, 3000000000};
    static const uint64_t outside[] = {2810000000, 5000000000};
    dice d = {seed, 0, k, eight ? CLUSTER + 1 : CLUSTER};
    uint32_t rack[RLT_MAX_DEVICE_GROUPS], devices = 0, groups = 0;
    uint64_t intra = inside[below(&d, 2)], inter = outside[below(&d, 2)];
    int rc = 0;
    *out = (rlt_cluster){.transfer_ps = 12 * RLT_US, .all_reduce = RLT_ALL_REDUCE_TAG};
    snprintf(out->name, sizeof out->name, "random-%u", k);
    while (!rc && (eight ? devices < 8 : groups < 4 && devices < 16 && (groups < 2 || unit(&d) < 0.5))) {
        uint32_t left = 8 - devices, n = eight ? 1 + below(&d, left < 4 ? left : 4) : sizes[below(&d, 5)];
        if (eight && groups == RLT_MAX_DEVICE_GROUPS - 1)
            n = left;
        rlt_device_group g = draw_group(&d, n, eight ? intra : inside[below(&d, 3)]);
        rack[groups++] = below(&d, 2);
        devices += n;
        rc = rlt_cluster_add(out, &g, err);
    }
    for (uint32_t i = 0; i < groups; i++)
        for (uint32_t m = 0; m < groups; m++)
            out->inter_Bps[i][m] = eight ? inter : outside[rack[i] == rack[m]];
    return rc ? rc : rlt_cluster_ready(out, err);
}
