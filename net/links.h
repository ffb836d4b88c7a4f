/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each link did in a run: alone, or in classes of those that did the same; the busiest one, named; and
 * the check that the accounts balance. Utilization is busy time (bytes / bandwidth) over the time of the run.
 */
#ifndef RLT_NET_LINKS_H
#define RLT_NET_LINKS_H

#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Links of the same dimension, bytes, busy and active time, and events of packets, stand in one class. */
typedef struct rlt_link_class {
    uint32_t first, count; /* lowest id, how many */
    rlt_link link;         /* of the first; bw_Bps as scaled for the run */
    rlt_link_usage usage;  /* of each */
    bool packets;          /* whether `port` is known */
    rlt_port_counts port;
    double utilization;
} rlt_link_class;
rlt_link_class rlt_link_class_of(const rlt_topology *t, const rlt_usage *u, uint32_t link, rlt_time time_ps);

/* All links in order of id or, `folded`, classes with the most utilized first. *list malloc'ed. */
int rlt_links_list(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   rlt_link_class **list, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* "gpu0->gpu3", or "dim 0 switch x 64" for a class. */
void rlt_link_class_name(const rlt_topology *t, const rlt_link_class *c, char *buffer, size_t size);

/* The link of the greatest utilization (the lowest id among equals) and its name: its class in a product
 * ("dim 1 switch up"), its ends in a graph ("gpu0 -> nic0"). link RLT_NONE: nothing was carried. */
typedef struct rlt_busiest {
    uint32_t link;
    double utilization;
    char name[160];
} rlt_busiest;
rlt_busiest rlt_links_busiest(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps);

/* Offered = delivered, and no link carried more than it could: RLT_ECHECK naming what does not balance. Under
 * alpha-beta links inside the network may be over capacity: then *over (may be NULL) names the worst one. */
int rlt_accounts_check(const rlt_net *net, const rlt_topology *t, rlt_time time_ps, rlt_busiest *over,
                       rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
