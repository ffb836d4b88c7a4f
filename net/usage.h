/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link usage: for each directed link the bytes carried, the busy time = bytes / capacity, and the active time
 * = time with some transfer present; optionally bytes per bin of a time series. Exact integers. The bytes of
 * a transfer count when its last byte has left; a cancelled run counts the bytes carried so far. If the
 * capacity of a link changes, each stretch of bytes is divided by the capacity in force.
 */
#ifndef RLT_NET_USAGE_H
#define RLT_NET_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/fold.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_link_usage {
    uint64_t bytes;
    rlt_time busy_ps;   /* bytes / capacity, rounded once */
    rlt_time active_ps; /* union of the intervals in which a transfer was present */
    uint64_t messages;
    uint64_t bw_Bps; /* current capacity, scaled; 0: the link has failed */
} rlt_link_usage;

typedef struct rlt_usage rlt_usage;

/* Creates the accounts. bin_ps == 0: no time series. The number of bins is bounded: when they run out,
 * neighbouring bins are merged and bin_ps doubles. */
RLT_API int rlt_usage_create(const rlt_topology *t, rlt_time bin_ps, rlt_usage **out,
                             rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_usage_free(rlt_usage *u);
RLT_API rlt_link_usage rlt_usage_link(const rlt_usage *u, uint32_t link);
/* Returns the fold of the network; NULL if it is not folded. Links of a class share one usage. */
RLT_API const rlt_net_fold *rlt_usage_fold(const rlt_usage *u);
/* The time series: current width of a bin, number of bins in use, bytes of a link in a bin. */
RLT_API rlt_time rlt_usage_bin_ps(const rlt_usage *u);
RLT_API uint32_t rlt_usage_bins(const rlt_usage *u);
RLT_API double rlt_usage_bin_bytes(const rlt_usage *u, uint32_t link, uint32_t bin);

/* Packet events at the port of a link. */
typedef struct rlt_port_counts {
    uint64_t packets, marks, drops, losses, pauses;
    rlt_time paused_ps;
    uint64_t peak_bytes; /* longest queue, including the bytes on the wire */
} rlt_port_counts;
/* Reads the packet events of a link. Returns false if the network has no packets (all models except
 * packet). */
RLT_API bool rlt_usage_port(const rlt_usage *u, uint32_t link, rlt_port_counts *out);

#ifdef __cplusplus
}
#endif
#endif
