/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statistics of links after a run: one link at a time, or classes of links with equal statistics; the busiest
 * link by name; and the check that the accounts balance. Utilization is busy time (bytes / bandwidth) over
 * the time of the run.
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

/* A class: links with the same dimension, bytes, busy and active time, and packet events. */
typedef struct rlt_link_class {
    uint32_t first, count; /* lowest id; number of links */
    rlt_link link;         /* the first link; bw_Bps is scaled for the run */
    rlt_link_usage usage;  /* usage of each link in the class */
    bool packets;          /* true if `port` is known */
    rlt_port_counts port;
    double utilization;
} rlt_link_class;
rlt_link_class rlt_link_class_of(const rlt_topology *t, const rlt_usage *u, uint32_t link, rlt_time time_ps);

/* Lists all links in order of id, or, if `folded`, classes with the highest utilization first. *list is
 * malloc'ed. */
int rlt_links_list(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   rlt_link_class **list, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* Writes the name of a class: "gpu0->gpu3", or "dim 0 switch x 64" for several links. */
void rlt_link_class_name(const rlt_topology *t, const rlt_link_class *c, char *buffer, size_t size);

/* The link with the highest utilization (the lowest id among equals) and its name: its class in a product
 * ("dim 1 switch up"), its ends in a graph ("gpu0 -> nic0"). link is RLT_NONE if nothing was carried. */
typedef struct rlt_busiest {
    uint32_t link;
    double utilization;
    char name[160];
} rlt_busiest;
rlt_busiest rlt_links_busiest(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps);

/* Checks that offered = delivered and that no link carried more than its capacity. RLT_ECHECK names what does
 * not balance. Under alpha-beta, links inside the network may be over capacity: *over (may be NULL) then
 * names the worst one, with its load over its capacity while it was active as `utilization`. Example: two
 * messages that cross one link at the same time give 2. */
int rlt_accounts_check(const rlt_net *net, const rlt_topology *t, rlt_time time_ps, rlt_busiest *over,
                       rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
