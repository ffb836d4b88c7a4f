/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How network models keep a link's account. Internal to net/. A model uses one of two ways on a network:
 *   spans   a transfer's interval is known at issue; intervals may overlap and begin in the future, never in
 *           the past
 *   live    a count of transfers present, for models that learn of an end when it happens
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

/* Bins of a time series; a run that outgrows them gets bins of twice the width. */
enum { RLT_MAX_BINS = 1024 };

typedef struct rlt_account {
    uint64_t bytes, messages;
    rlt_time active; /* time of the intervals that are over */
    /* spans: the earliest interval not yet in `active`; live: `from` is when the link became busy */
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
    double rate; /* live: bytes a picosecond since `since` */
    rlt_time since;
} rlt_bins;

/* Account of a link whose capacity may have changed: it was busy_ps for the first
 * `counted` bytes and a part of the next. */
typedef struct rlt_capacity {
    rlt_time busy_ps;
    uint64_t counted, bw_Bps;
    double part;
} rlt_capacity;

struct rlt_usage {
    rlt_account *links;
    rlt_capacity *capacities; /* NULL: none has changed */
    rlt_account *marked;      /* see rlt_net_mark; NULL until then */
    const rlt_topology *topology;
    const rlt_net_fold *fold; /* links[] are classes; NULL: links */
    double bandwidth_scale;
    rlt_time horizon; /* when the accounts were closed, or -1 */
    uint32_t n, bins;
    rlt_time bin_ps;
    rlt_bins *series; /* of each link, or NULL */
    rlt_pool spans;
    const struct rlt_packets *packets; /* whose accounts these are, or NULL */
};

/* As rlt_usage_create, with an account for each class of a fold (NULL: for each link). */
int rlt__usage_create(const rlt_topology *t, const rlt_net_fold *fold, rlt_time bin_ps, rlt_usage **out,
                      rlt_error *err) RLT_MUST_USE;

/* From now on the link has this capacity (0: it has failed); `under_way`: bytes carried so far by transfers
 * that have not been counted yet. RLT_ENOMEM. */
int rlt__usage_capacity(rlt_usage *u, uint32_t link, double under_way, uint64_t bw_Bps) RLT_MUST_USE;
/* These bytes, to be counted, keep the link busy for so long, whatever its capacity is now. */
void rlt__usage_busy(rlt_usage *u, uint32_t link, uint64_t bytes, rlt_time busy_ps);

int rlt__usage_span_slow(rlt_usage *u, uint32_t link, rlt_time now, rlt_time from, rlt_time to) RLT_MUST_USE;

static inline bool rlt__usage_extends(const rlt_account *a, rlt_time from)
{
    return from >= a->from && from <= a->to;
}

/* True if an interval that begins at `from` can go in without a list. */
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

/* A transfer is present in [from, to), from >= now. RLT_ENOMEM. */
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

/* `messages` that joined leave together, each of so many bytes. */
static inline void rlt__usage_leave(rlt_usage *u, uint32_t link, rlt_time now, uint64_t bytes,
                                    uint32_t messages)
{
    rlt_account *a = &u->links[link];
    a->bytes += bytes * messages;
    a->messages += messages;
    a->live -= messages;
    if (a->live == 0) {
        a->active += now - a->from;
        a->from = 0; /* = to: no interval is open */
    }
}

/* Closes what is open at `now`: intervals are cut there. */
void rlt__usage_settle(rlt_usage *u, rlt_time now);

/* Time series (only if u->series is set): bytes spread evenly over [from, to);
 * a link's rate from now on. RLT_ENOMEM. */
int rlt__usage_spread(rlt_usage *u, uint32_t link, rlt_time from, rlt_time to, double bytes) RLT_MUST_USE;
int rlt__usage_rate(rlt_usage *u, uint32_t link, rlt_time now, double rate) RLT_MUST_USE;

#endif
