/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The account of a link, as network models keep it. Internal to net/. A network uses one of two ways:
 *   spans   The interval of a transfer is known at issue. Intervals may overlap. They may begin in the
 *           future, but not in the past.
 *   live    A count of transfers present, for models that learn of an end when it happens.
 */
#ifndef RLT_NET_USAGE_INTERNAL_H
#define RLT_NET_USAGE_INTERNAL_H

#include <math.h>

#include "net/fold.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* Bins of a time series. A run that outgrows them doubles the width of the bins. */
enum { RLT_MAX_BINS = 1024 };

typedef struct rlt_account {
    uint64_t bytes, messages;
    rlt_time active; /* time of closed intervals */
    /* spans: the earliest interval not yet in `active`; live: `from` is the time when the link became
     * active */
    rlt_time from, to;
    uint32_t live;  /* live: transfers present */
    uint32_t later; /* spans: later disjoint intervals, ascending, or RLT_NONE */
} rlt_account;

typedef struct rlt_busy_span {
    rlt_time from, to;
    uint32_t next;
} rlt_busy_span;

typedef struct rlt_bins {
    double *bytes;
    uint32_t room;
    double rate; /* live: rate in bytes a picosecond since `since` */
    rlt_time since;
} rlt_bins;

/* Account of a link whose capacity may have changed: it was busy for busy_ps with the first `counted` bytes
 * and `part` of the next one. */
typedef struct rlt_capacity {
    rlt_time busy_ps;
    uint64_t counted, bw_Bps;
    double part;
} rlt_capacity;

struct rlt_usage {
    rlt_account *links;
    rlt_capacity *capacities; /* one per link; NULL: no capacity has changed */
    rlt_account *marked;      /* accounts at rlt_net_mark; NULL until then */
    const rlt_topology *topology;
    const rlt_net_fold *fold; /* links[] are its classes; NULL: links */
    double bandwidth_scale;
    rlt_time horizon; /* time at which the accounts were closed, or -1 */
    uint32_t n, bins;
    rlt_time bin_ps;
    rlt_bins *series; /* one per link, or NULL */
    rlt_pool spans;
    const struct rlt_packets *packets; /* network of packets behind these accounts; NULL: another model */
};

/* As rlt_usage_create, with an account per class of a fold (NULL: per link). */
int rlt__usage_create(const rlt_topology *t, const rlt_net_fold *fold, rlt_time bin_ps, rlt_usage **out,
                      rlt_error *err) RLT_MUST_USE;

/* Changes the capacity of a link from now on (0: it has failed). `under_way`: bytes carried so far by
 * transfers that have not been counted yet. RLT_ENOMEM. */
int rlt__usage_capacity(rlt_usage *u, uint32_t link, double under_way, uint64_t bw_Bps) RLT_MUST_USE;
/* Counts `bytes` that keep the link busy for busy_ps. The current capacity does not matter. */
void rlt__usage_busy(rlt_usage *u, uint32_t link, uint64_t bytes, rlt_time busy_ps);

int rlt__usage_span_slow(rlt_usage *u, uint32_t link, rlt_time now, rlt_time from, rlt_time to) RLT_MUST_USE;

static inline bool rlt__usage_extends(const rlt_account *a, rlt_time from)
{
    return from >= a->from && from <= a->to;
}

/* Returns true if an interval that begins at `from` needs no list. */
static inline bool rlt__usage_is_easy(const rlt_account *a, rlt_time now, rlt_time from)
{
    return a->later == RLT_NONE && (rlt__usage_extends(a, from) || a->to <= now);
}

static inline void rlt__usage_span_easy(rlt_account *a, rlt_time from, rlt_time to)
{
    if (!rlt__usage_extends(a, from)) {
        a->active += a->to - a->from;
        a->from = from;
        a->to = to;
    } else if (to > a->to) {
        a->to = to;
    }
}

/* Notes a transfer that is present in [from, to), from >= now. RLT_ENOMEM. */
static inline int rlt__usage_span(rlt_usage *u, uint32_t link, rlt_time now, rlt_time from, rlt_time to)
{
    if (!rlt__usage_is_easy(&u->links[link], now, from))
        return rlt__usage_span_slow(u, link, now, from, to);
    rlt__usage_span_easy(&u->links[link], from, to);
    return 0;
}

static inline void rlt__usage_join(rlt_usage *u, uint32_t link, rlt_time now, uint32_t messages)
{
    rlt_account *a = &u->links[link];
    if (a->live == 0)
        a->from = now;
    a->live += messages;
}

/* Notes that `messages` messages that joined leave together, each of `bytes` bytes. */
static inline void rlt__usage_leave(rlt_usage *u, uint32_t link, rlt_time now, uint64_t bytes,
                                    uint32_t messages)
{
    rlt_account *a = &u->links[link];
    a->bytes += bytes * messages;
    a->messages += messages;
    a->live -= messages;
    if (a->live == 0) {
        a->active += now - a->from;
        a->from = 0; /* equal to `to`: no interval is open */
    }
}

/* Closes the accounts at `now`: open intervals are cut there. */
void rlt__usage_settle(rlt_usage *u, rlt_time now);

/* Time series (only if u->series is set): spread adds bytes evenly over [from, to); rate sets a link's rate
 * from now on. RLT_ENOMEM. */
int rlt__usage_spread(rlt_usage *u, uint32_t link, rlt_time from, rlt_time to, double bytes) RLT_MUST_USE;
int rlt__usage_rate(rlt_usage *u, uint32_t link, rlt_time now, double rate) RLT_MUST_USE;

#endif
