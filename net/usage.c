/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts of links: unions of intervals, and time series. */
#include "net/usage.h"
#include "net/fold.h"
#include "net/topology/topology.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#include <stdlib.h>
#include <string.h>

int rlt_usage_create(const rlt_topology *t, rlt_time bin_ps, rlt_usage **out, rlt_error *err)
{
    return rlt__usage_create(t, NULL, bin_ps, out, err);
}

int rlt__usage_create(const rlt_topology *t, const rlt_net_fold *fold, rlt_time bin_ps, rlt_usage **out,
                      rlt_error *err)
{
    *out = NULL;
    if (bin_ps < 0 || bin_ps > RLT_TIME_MAX / RLT_MAX_BINS)
        return rlt_fail(err, RLT_ERANGE, NULL, "a bin of the time series of %lld ps", (long long)bin_ps);
    rlt_usage *u = calloc(1, sizeof(*u));
    if (!u)
        return rlt_nomem(err);
    u->topology = t;
    u->fold = fold;
    u->n = fold ? fold->n_classes : rlt_topology_links(t);
    u->bandwidth_scale = 1;
    u->bin_ps = bin_ps;
    u->horizon = -1;
    rlt_pool_init(&u->spans, sizeof(rlt_busy_span));
    u->links = calloc(u->n ? u->n : 1, sizeof(*u->links));
    if (bin_ps)
        u->series = calloc(u->n ? u->n : 1, sizeof(*u->series));
    if (!u->links || (bin_ps && !u->series)) {
        rlt_usage_free(u);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < u->n; i++)
        u->links[i].later = RLT_NONE;
    *out = u;
    return 0;
}

void rlt_usage_free(rlt_usage *u)
{
    if (!u)
        return;
    for (uint32_t i = 0; u->series && i < u->n; i++)
        free(u->series[i].bytes);
    free(u->series);
    free(u->links);
    free(u->marked);
    free(u->capacities);
    rlt_pool_free(&u->spans);
    free(u);
}

const rlt_net_fold *rlt_usage_fold(const rlt_usage *u)
{
    return u->fold;
}

static uint32_t place_of(const rlt_usage *u, uint32_t link)
{
    return u->fold ? rlt_net_fold_class(u->fold, link) : link;
}

static uint64_t built_Bps(const rlt_usage *u, uint32_t link)
{
    return rlt__scaled_bw(rlt_topology_link(u->topology, link).bw_Bps, u->bandwidth_scale);
}

/* Returns how long a link has been busy for `bytes` bytes and a part of one. */
static rlt_time busy_for(const rlt_capacity *c, uint64_t bytes, double part)
{
    if (bytes < c->counted || !c->bw_Bps)
        return c->busy_ps;
    double more = nearbyint((part - c->part) * (double)RLT_S / (double)c->bw_Bps);
    rlt_time busy = rlt_transfer_time(bytes - c->counted, c->bw_Bps) + (rlt_time)more;
    return busy > 0 ? rlt_time_add(c->busy_ps, busy) : c->busy_ps;
}

rlt_link_usage rlt_usage_link(const rlt_usage *u, uint32_t link)
{
    const rlt_account *a = &u->links[place_of(u, link)];
    const rlt_capacity *c = u->capacities ? &u->capacities[link] : NULL;
    uint64_t bw = c ? c->bw_Bps : built_Bps(u, link);
    rlt_time busy = c ? busy_for(c, a->bytes, 0) : rlt_transfer_time(a->bytes, bw);
    return (rlt_link_usage){a->bytes, busy, a->active, a->messages, bw};
}

/* ---- changes ---- */

int rlt__usage_capacity(rlt_usage *u, uint32_t link, double under_way, uint64_t bw_Bps)
{
    if (!u->capacities) {
        u->capacities = calloc(u->n ? u->n : 1, sizeof(*u->capacities));
        if (!u->capacities)
            return RLT_ENOMEM;
        for (uint32_t i = 0; i < u->n; i++)
            u->capacities[i].bw_Bps = built_Bps(u, i);
    }
    rlt_capacity *c = &u->capacities[link];
    uint64_t whole = (uint64_t)under_way, bytes = u->links[link].bytes + whole;
    double part = under_way - (double)whole;
    rlt_time busy = busy_for(c, bytes, part);
    bool later = bytes >= c->counted;
    *c = (rlt_capacity){busy, later ? bytes : c->counted, bw_Bps, later ? part : c->part};
    return 0;
}

void rlt__usage_busy(rlt_usage *u, uint32_t link, uint64_t bytes, rlt_time busy_ps)
{
    rlt_capacity *c = &u->capacities[link];
    c->counted += bytes;
    c->busy_ps = rlt_time_add(c->busy_ps, busy_ps);
}

/* ---- spans ---- */

static rlt_busy_span *span_at(const rlt_usage *u, uint32_t i)
{
    return rlt_pool_at(&u->spans, i);
}

/* Moves the first of the later intervals into the account. */
static void pull(rlt_usage *u, rlt_account *a)
{
    uint32_t i = a->later;
    const rlt_busy_span *s = span_at(u, i);
    a->from = s->from;
    a->to = s->to;
    a->later = s->next;
    rlt_pool_put(&u->spans, i);
}

static int insert_after(rlt_usage *u, rlt_account *a, uint32_t before, rlt_time from, rlt_time to)
{
    uint32_t i = rlt_pool_get(&u->spans);
    if (i == RLT_NONE)
        return RLT_ENOMEM;
    uint32_t *link = before == RLT_NONE ? &a->later : &span_at(u, before)->next;
    *span_at(u, i) = (rlt_busy_span){from, to, *link};
    *link = i;
    return 0;
}

/* Merges the intervals that `to` has reached: takes over the end of the last one. */
static void absorb(rlt_usage *u, uint32_t *next, rlt_time *to)
{
    while (*next != RLT_NONE && span_at(u, *next)->from <= *to) {
        uint32_t i = *next;
        const rlt_busy_span *s = span_at(u, i);
        if (s->to > *to)
            *to = s->to;
        *next = s->next;
        rlt_pool_put(&u->spans, i);
    }
}

int rlt__usage_span_slow(rlt_usage *u, uint32_t link, rlt_time now, rlt_time from, rlt_time to)
{
    rlt_account *a = &u->links[link];
    while (a->to <= now) {
        a->active += a->to - a->from;
        a->from = a->to = now;
        if (a->later == RLT_NONE)
            break;
        pull(u, a);
    }
    if (to < a->from) {
        int rc = insert_after(u, a, RLT_NONE, a->from, a->to);
        if (rc)
            return rc;
        a->from = from;
        a->to = to;
        return 0;
    }
    if (from <= a->to) {
        a->from = from < a->from ? from : a->from;
        a->to = to > a->to ? to : a->to;
        absorb(u, &a->later, &a->to);
        return 0;
    }
    uint32_t before = RLT_NONE, i = a->later;
    while (i != RLT_NONE && span_at(u, i)->to < from) {
        before = i;
        i = span_at(u, i)->next;
    }
    if (i == RLT_NONE || to < span_at(u, i)->from)
        return insert_after(u, a, before, from, to);
    rlt_busy_span *s = span_at(u, i);
    s->from = from < s->from ? from : s->from;
    s->to = to > s->to ? to : s->to;
    absorb(u, &s->next, &s->to);
    return 0;
}

static rlt_time cut(rlt_time from, rlt_time to, rlt_time now)
{
    return to <= now ? to - from : from < now ? now - from : 0;
}

static void cut_series(rlt_usage *u, rlt_time now)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->series[i].rate > 0 && rlt__usage_rate(u, i, now, 0))
            return;
    /* A cancelled run may have planned intervals beyond its end. */
    uint64_t last = (uint64_t)(now / u->bin_ps) + (now % u->bin_ps != 0);
    if (last < u->bins)
        u->bins = (uint32_t)last;
}

void rlt__usage_settle(rlt_usage *u, rlt_time now)
{
    u->horizon = now;
    for (uint32_t i = 0; i < u->n; i++) {
        rlt_account *a = &u->links[i];
        if (a->live) {
            a->active += now - a->from;
            a->from = now;
            continue;
        }
        for (;;) {
            a->active += cut(a->from, a->to, now);
            a->from = a->to = now;
            if (a->later == RLT_NONE)
                break;
            pull(u, a);
        }
        /* A link that is both a receive port and an inner link has two accounts in one. */
        if (a->active > now)
            a->active = now;
    }
    if (u->series)
        cut_series(u, now);
}

/* ---- time series ---- */

static void double_bins(rlt_usage *u)
{
    u->bin_ps *= 2;
    u->bins = (u->bins + 1) / 2;
    for (uint32_t i = 0; i < u->n; i++) {
        double *b = u->series[i].bytes;
        uint32_t room = u->series[i].room;
        for (uint32_t k = 0; k < room; k++) {
            double both = 2 * k < room ? b[2 * k] : 0;
            both += 2 * k + 1 < room ? b[2 * k + 1] : 0;
            b[k] = both;
        }
    }
}

static int bin_room(rlt_usage *u, uint32_t link, uint32_t bin)
{
    rlt_bins *s = &u->series[link];
    uint32_t before = s->room;
    if (bin >= before) {
        int rc =
            rlt_grow(&s->bytes, &s->room, sizeof(*s->bytes), (uint64_t)bin + 1, RLT_MAX_BINS, "bins", NULL);
        if (rc)
            return rc;
        memset(s->bytes + before, 0, (s->room - before) * sizeof(*s->bytes));
    }
    if (bin >= u->bins)
        u->bins = bin + 1;
    return 0;
}

int rlt__usage_spread(rlt_usage *u, uint32_t link, rlt_time from, rlt_time to, double bytes)
{
    if (bytes <= 0)
        return 0;
    rlt_time end = to > from ? to - 1 : from; /* last picosecond in the interval */
    while (end / u->bin_ps >= RLT_MAX_BINS)
        double_bins(u);
    uint32_t last = (uint32_t)(end / u->bin_ps);
    int rc = bin_room(u, link, last);
    if (rc)
        return rc;
    double *b = u->series[link].bytes;
    if (to <= from) {
        b[last] += bytes;
        return 0;
    }
    double per_ps = bytes / (double)(to - from);
    for (uint32_t k = (uint32_t)(from / u->bin_ps); k <= last; k++) {
        rlt_time lo = (rlt_time)k * u->bin_ps, hi = lo + u->bin_ps;
        b[k] += per_ps * (double)((hi < to ? hi : to) - (lo > from ? lo : from));
    }
    return 0;
}

int rlt__usage_rate(rlt_usage *u, uint32_t link, rlt_time now, double rate)
{
    rlt_bins *s = &u->series[link];
    int rc = s->rate > 0 ? rlt__usage_spread(u, link, s->since, now, s->rate * (double)(now - s->since)) : 0;
    s->rate = rate;
    s->since = now;
    return rc;
}

rlt_time rlt_usage_bin_ps(const rlt_usage *u)
{
    return u->bin_ps;
}

uint32_t rlt_usage_bins(const rlt_usage *u)
{
    return u->bins;
}

double rlt_usage_bin_bytes(const rlt_usage *u, uint32_t link, uint32_t bin)
{
    if (!u->series || bin >= u->bins)
        return 0;
    const rlt_bins *s = &u->series[place_of(u, link)];
    return bin < s->room ? s->bytes[bin] : 0;
}
