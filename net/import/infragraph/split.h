/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A topology in parts, for the writer: cables between two nodes, groups of nodes (a machine with its
 * accelerators, or one node of the network), and the distinct ones among them, the devices. Internal to
 * net/import/infragraph/.
 */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_SPLIT_H
#define RLT_NET_IMPORT_INFRAGRAPH_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

/* All links between two nodes, low < high. */
typedef struct rlt__ig_cable {
    uint32_t low, high, kind; /* kind: index into `kinds` */
} rlt__ig_cable;

/* Directed links of a cable: one each way if `plain`, otherwise as the text says (ringlet_cables). */
typedef struct rlt__ig_cable_kind {
    bool plain;
    uint64_t bw_Bps; /* sum from low to high, or back if there is none */
    rlt_time latency_ps;
} rlt__ig_cable_kind;

typedef struct rlt__ig_split {
    const rlt_topology *t;
    rlt__ig_cable *cables; /* by low, then high */
    uint32_t n_cables;
    rlt__ig_cable_kind *kinds;
    rlt_strings kind_texts;          /* index = kind */
    uint32_t n_groups, n_machines;   /* machines come first */
    uint32_t *group, *place;         /* group of a node; its number among the nodes of its kind there */
    uint32_t *member_first, *member; /* nodes of group g: member[member_first[g] .. member_first[g + 1]) */
    uint32_t *inner_first, *inner;   /* cables inside group g, likewise */
    uint32_t *device, *instance;     /* device of a group, and which one of that device */
    uint32_t n_devices, *first_group, *count; /* a group of each device; number of its groups */
} rlt__ig_split;

int rlt__ig_split_make(const rlt_topology *t, rlt__ig_split *s, rlt_error *err) RLT_MUST_USE;
void rlt__ig_split_free(rlt__ig_split *s);

#endif
