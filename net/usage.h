/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link usage: per directed link the bytes carried, busy time = bytes / capacity, active time = some transfer
 * present; and, when asked for, bytes per bin of a time series. Exact integers; bytes of a transfer count
 * when its last byte has left (a cancelled run counts what has been carried). A link whose capacity changes
 * is busy for the bytes of each stretch over the capacity in it.
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
    uint64_t bw_Bps; /* capacity in force, a scale included; 0: it has failed */
} rlt_link_usage;

typedef struct rlt_usage rlt_usage;

/* bin_ps == 0: no time series. The number of bins is bounded; beyond it neighbouring bins are merged and
 * bin_ps doubles. */
RLT_API int rlt_usage_create(const rlt_topology *t, rlt_time bin_ps, rlt_usage **out,
                             rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_usage_free(rlt_usage *u);
RLT_API rlt_link_usage rlt_usage_link(const rlt_usage *u, uint32_t link);
/* How the network was folded; NULL: not. Links of a class have one usage. */
RLT_API const rlt_net_fold *rlt_usage_fold(const rlt_usage *u);
/* The time series: width of a bin now, number of bins in use, bytes of a link in a bin. */
RLT_API rlt_time rlt_usage_bin_ps(const rlt_usage *u);
RLT_API uint32_t rlt_usage_bins(const rlt_usage *u);
RLT_API double rlt_usage_bin_bytes(const rlt_usage *u, uint32_t link, uint32_t bin);

/* What happened at a link's port. */
typedef struct rlt_port_counts {
    uint64_t packets, marks, drops, losses, pauses;
    rlt_time paused_ps;
    uint64_t peak_bytes; /* the longest queue, with what was on the wire */
} rlt_port_counts;
/* False where the accounts are not of packets (net/packet/, which has this). */
RLT_API bool rlt_usage_port(const rlt_usage *u, uint32_t link, rlt_port_counts *out);

#ifdef __cplusplus
}
#endif
#endif
