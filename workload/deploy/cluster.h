/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cluster of unlike devices: device groups, each of equal devices with one bandwidth among them, and a
 * bandwidth for each pair of groups. A decision places an operator on whole device groups.
 *
 * Device d of the cluster belongs to group group_of[d]; group g has devices first .. first + n - 1. Devices
 * are accelerators of the topology: rank_of[d].
 */
#ifndef RLT_WORKLOAD_DEPLOY_CLUSTER_H
#define RLT_WORKLOAD_DEPLOY_CLUSTER_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

struct rlt_topology;

enum { RLT_MAX_DEVICE_GROUPS = 8, RLT_MAX_DEVICES = 1024 };

typedef struct rlt_device_group {
    char name[64];         /* device type: "v100" */
    double factor;         /* time of an operator over its time on the reference device */
    uint64_t memory_bytes; /* of one device */
    uint64_t intra_Bps;    /* between any two devices of the group */
    uint32_t first, n;     /* devices */
} rlt_device_group;

/* Time of an all-reduce of x KB (1024 B): max(slope[0] x + base[0], slope[1] x + base[1]) us, at 2810 MB/s.
 * At b MB/s all four are multiplied by 2810 / b. Source: TAG's released default model. */
typedef struct rlt_all_reduce_model {
    double slope[2], base[2];
} rlt_all_reduce_model;
#define RLT_ALL_REDUCE_TAG                                                                                   \
    ((rlt_all_reduce_model){{0.043420241077615454, 0.27766802543921265},                                     \
                            {368.2013618677043, 211.91926070037152}})

typedef struct rlt_cluster {
    char name[64];
    uint32_t n_groups, n_devices;
    rlt_device_group groups[RLT_MAX_DEVICE_GROUPS];
    uint64_t inter_Bps[RLT_MAX_DEVICE_GROUPS][RLT_MAX_DEVICE_GROUPS]; /* symmetric; diagonal: intra_Bps */
    uint32_t group_of[RLT_MAX_DEVICES];
    uint32_t rank_of[RLT_MAX_DEVICES]; /* accelerator of the topology; without a topology: d itself */
    rlt_time transfer_ps;              /* fixed time of a transfer: 12 us in the reference */
    rlt_all_reduce_model all_reduce;
    struct rlt_topology *topology; /* NULL: the reference's timing only. Owned. */
    uint64_t hash;
} rlt_cluster;

/* Adds a device group, or fails with RLT_ERANGE. Call rlt_cluster_ready when all groups and inter_Bps are
 * set: it numbers the devices and checks every figure (zero bandwidths, factors, memory: RLT_EMALFORMED with
 * the group's name). */
int rlt_cluster_add(rlt_cluster *c, const rlt_device_group *g, rlt_error *err) RLT_MUST_USE;
int rlt_cluster_ready(rlt_cluster *c, rlt_error *err) RLT_MUST_USE;
void rlt_cluster_free(rlt_cluster *c);

/* A device type that is known by name, with its time relative to the reference device and its memory. */
typedef struct rlt_device_type {
    const char *name;
    double factor;
    uint64_t memory_bytes;
    const char *source;
} rlt_device_type;

/*
 * Loads a cluster. `spec` and `dirs` name a topology as in rlt_topology_load. `devices` says which
 * accelerators are what, in their order: "v100:4,1080ti:8,p100:4"; TYPE=FACTOR@MEMORY:N states a type of
 * one's own, such as "mine=1.3@24GiB:8". Each item is a device group. NULL: the topology file says it itself,
 * under "_devices":
 *
 *     "_devices": {"groups": [
 *         {"type": "v100", "count": 4, "factor": 1, "memory": "30GiB", "bandwidth": "8GB/s"},
 *                  ...], "between": "2810MB/s", "source": "..."}
 *
 * factor and memory may be left out for known types. Bandwidths serve the reference's timing. Without them
 * they are the smallest bandwidth on the routes between the group's devices, and between the devices of two
 * groups. Accelerators beyond the last group are not used. RLT_EMALFORMED, RLT_ESCHEMA with the place;
 * RLT_EUSAGE for `devices` that do not fit the topology.
 */
int rlt_cluster_load(const char *spec, const char *dirs, const char *devices, rlt_cluster *out,
                     rlt_error *err) RLT_MUST_USE;

/* Bandwidth that bounds a collective over these device groups (bit g of `placement`): intra_Bps of the only
 * group, or the smallest inter_Bps of a pair. */
uint64_t rlt_cluster_bottleneck(const rlt_cluster *c, uint32_t placement);
uint32_t rlt_cluster_devices(const rlt_cluster *c, uint32_t placement);
/* Time of an all-reduce over the devices of a placement, and of a transfer from device to device (0 on one
 * device). */
rlt_time rlt_cluster_all_reduce(const rlt_cluster *c, uint32_t placement, uint64_t bytes);
rlt_time rlt_cluster_transfer(const rlt_cluster *c, uint32_t from, uint32_t to, uint64_t bytes);

#endif
