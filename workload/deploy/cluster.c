/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Device groups, and the reference's times of transfers and all-reduces between them. */
#include "workload/deploy/cluster.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

/* The all-reduce model was measured at this bandwidth, in bytes a second. */
#define MEASURED_Bps 2810e6

int rlt_cluster_add(rlt_cluster *c, const rlt_device_group *g, rlt_error *err)
{
    if (!g->name[0])
        return rlt_fail(err, RLT_EMALFORMED, "devices", "expected a type of devices, got nothing");
    if (c->n_groups == RLT_MAX_DEVICE_GROUPS)
        return rlt_fail(err, RLT_ERANGE, g->name, "expected at most %d device groups", RLT_MAX_DEVICE_GROUPS);
    c->groups[c->n_groups++] = *g;
    return 0;
}

static int check_group(const rlt_device_group *g, rlt_error *err)
{
    if (g->n == 0)
        return rlt_fail(err, RLT_EMALFORMED, g->name, "the device group has no devices");
    if (!(g->factor > 0 && g->factor <= 1e6))
        return rlt_fail(err, RLT_EMALFORMED, g->name, "expected a factor above 0, at most 1e6, got %g",
                        g->factor);
    if (g->memory_bytes == 0)
        return rlt_fail(err, RLT_EMALFORMED, g->name, "expected devices with memory, got 0 bytes");
    if (g->n > 1 && g->intra_Bps == 0)
        return rlt_fail(err, RLT_EMALFORMED, g->name,
                        "expected a bandwidth above 0 between the devices of the group");
    return 0;
}

static uint64_t hash_of(const rlt_cluster *c)
{
    uint64_t h = c->n_groups;
    for (uint32_t i = 0; i < c->n_groups; i++) {
        const rlt_device_group *g = &c->groups[i];
        uint64_t figures[] = {g->memory_bytes, g->intra_Bps, g->n};
        h = rlt_hash_bytes(g->name, strlen(g->name), h);
        h = rlt_hash_bytes(&g->factor, sizeof g->factor, h);
        h = rlt_hash_bytes(figures, sizeof figures, h);
        h = rlt_hash_bytes(c->inter_Bps[i], c->n_groups * sizeof c->inter_Bps[i][0], h);
    }
    return rlt_hash_bytes(c->rank_of, c->n_devices * sizeof c->rank_of[0], h);
}

int rlt_cluster_ready(rlt_cluster *c, rlt_error *err)
{
    uint64_t n = 0;
    int rc;
    if (c->n_groups == 0)
        return rlt_fail(err, RLT_EMALFORMED, c->name, "the cluster has no device groups");
    for (uint32_t i = 0; i < c->n_groups; i++) {
        rlt_device_group *g = &c->groups[i];
        if ((rc = check_group(g, err)))
            return rc;
        if (n + g->n > RLT_MAX_DEVICES)
            return rlt_fail(err, RLT_ERANGE, c->name, "expected at most %d devices", RLT_MAX_DEVICES);
        g->first = (uint32_t)n;
        for (uint32_t d = 0; d < g->n; d++)
            c->group_of[n++] = i;
        c->inter_Bps[i][i] = g->intra_Bps;
        for (uint32_t k = 0; k < i; k++)
            if (c->inter_Bps[i][k] == 0 || c->inter_Bps[i][k] != c->inter_Bps[k][i])
                return rlt_fail(err, RLT_EMALFORMED, g->name,
                                "expected one bandwidth above 0 to and from device group '%s'",
                                c->groups[k].name);
    }
    c->n_devices = (uint32_t)n;
    if (!c->topology)
        for (uint32_t d = 0; d < c->n_devices; d++)
            c->rank_of[d] = d;
    c->hash = hash_of(c);
    return 0;
}

void rlt_cluster_free(rlt_cluster *c)
{
    rlt_topology_free(c->topology);
    c->topology = NULL;
}

uint64_t rlt_cluster_bottleneck(const rlt_cluster *c, uint32_t placement)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < c->n_groups; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((placement >> i & 1) && (placement >> k & 1) && c->inter_Bps[i][k] < least)
                least = c->inter_Bps[i][k];
    for (uint32_t i = 0; i < c->n_groups && least == UINT64_MAX; i++)
        if (placement >> i & 1)
            return c->groups[i].intra_Bps;
    return least;
}

uint32_t rlt_cluster_devices(const rlt_cluster *c, uint32_t placement)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_groups; i++)
        n += placement >> i & 1 ? c->groups[i].n : 0;
    return n;
}

rlt_time rlt_cluster_all_reduce(const rlt_cluster *c, uint32_t placement, uint64_t bytes)
{
    const rlt_all_reduce_model *m = &c->all_reduce;
    double kb = (double)bytes / 1024, us = 0;
    for (int i = 0; i < 2; i++)
        us = fmax(us, m->slope[i] * kb + m->base[i]);
    return (rlt_time)nearbyint(us * MEASURED_Bps / (double)rlt_cluster_bottleneck(c, placement) *
                               (double)RLT_US);
}

rlt_time rlt_cluster_transfer(const rlt_cluster *c, uint32_t from, uint32_t to, uint64_t bytes)
{
    if (from == to)
        return 0;
    uint64_t bw = c->inter_Bps[c->group_of[from]][c->group_of[to]];
    return rlt_time_add(rlt_transfer_time(bytes, bw), c->transfer_ps);
}
