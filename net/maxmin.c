/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flows and the links' lists of them, whose fronts are heaps of own flows by virtual finish. The levels are
 * computed in maxmin_solve.c; links by next completion are in maxmin_completions.c.
 */
#include "net/maxmin.h"

#include <math.h>
#include <stdlib.h>

/* Out of the way of the common case, so that it saves no registers. */
#define SELDOM __attribute__((noinline))

/* Whole picoseconds a byte, and bytes, whose product stays below the horizon. */
#define WHOLE_LIMIT (1u << 29)
#define WHOLE_BYTES (1u << 31)

int rlt_maxmin_create(uint32_t n_links, const uint64_t *bw_Bps, rlt_maxmin **out, rlt_error *err)
{
    rlt_maxmin *mm = calloc(1, sizeof(*mm));
    if (!mm)
        return rlt_nomem(err);
    mm->n_links = n_links;
    mm->free_flow = RLT_NONE;
    for (int i = 0; i < RLT_MM_CLASSES; i++)
        mm->free_long[i] = RLT_NONE;
    mm->links = calloc(n_links ? n_links : 1, sizeof(*mm->links));
    mm->levels = calloc(n_links ? n_links : 1, sizeof(*mm->levels));
    mm->bw_Bps = malloc((n_links ? (size_t)n_links : 1) * sizeof(*mm->bw_Bps));
    if (!mm->links || !mm->levels || !mm->bw_Bps) {
        rlt_maxmin_free(mm);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < n_links; i++) {
        uint64_t ps_per_byte = (uint64_t)RLT_S / bw_Bps[i];
        mm->bw_Bps[i] = bw_Bps[i];
        mm->links[i].capacity = (double)bw_Bps[i] * 1e-12;
        if ((uint64_t)RLT_S % bw_Bps[i] == 0 && ps_per_byte < WHOLE_LIMIT)
            mm->links[i].ps_per_byte = (uint32_t)ps_per_byte;
        mm->links[i].heap = RLT_NONE;
        mm->levels[i].level = INFINITY;
    }
    *out = mm;
    return 0;
}

void rlt_maxmin_free(rlt_maxmin *mm)
{
    if (!mm)
        return;
    for (uint32_t i = 0; mm->links && i < mm->n_links; i++)
        free(mm->links[i].flows);
    free(mm->links);
    free(mm->levels);
    free(mm->bw_Bps);
    free(mm->flows);
    free(mm->finish);
    free(mm->long_hops);
    free(mm->completions);
    free(mm->touched.items);
    free(mm->started.items);
    free(mm->drained.items);
    free(mm->scratch.items);
    free(mm->component.items);
    free(mm->moves.items);
    free(mm->groups.items);
    free(mm->candidates);
    free(mm);
}

/* Records of flows */

static uint32_t size_class(uint32_t n)
{
    uint32_t c = 2;
    while ((1u << c) < n)
        c++;
    return c;
}

/* A run of 1 << c hops, or RLT_NONE. */
static uint32_t long_get(rlt_maxmin *mm, uint32_t c)
{
    uint32_t i = mm->free_long[c];
    if (i != RLT_NONE) {
        mm->free_long[c] = mm->long_hops[i].link;
        return i;
    }
    uint64_t need = (uint64_t)mm->n_long + (1u << c);
    if (need > mm->long_room && rlt_grow(&mm->long_hops, &mm->long_room, sizeof(*mm->long_hops), need,
                                         UINT32_MAX - 1, "links of paths", NULL))
        return RLT_NONE;
    i = mm->n_long;
    mm->n_long = (uint32_t)need;
    return i;
}

static SELDOM uint32_t flow_get_slow(rlt_maxmin *mm)
{
    uint64_t need = (uint64_t)mm->n_flows + 1;
    if (need > mm->flow_room &&
        rlt_grow(&mm->flows, &mm->flow_room, sizeof(*mm->flows), need, UINT32_MAX - 1, "flows", NULL))
        return RLT_NONE;
    if (need > mm->finish_room &&
        rlt_grow(&mm->finish, &mm->finish_room, sizeof(*mm->finish), need, UINT32_MAX - 1, "flows", NULL))
        return RLT_NONE;
    return mm->n_flows++;
}

static inline uint32_t flow_get(rlt_maxmin *mm)
{
    uint32_t f = mm->free_flow;
    if (f == RLT_NONE)
        return flow_get_slow(mm);
    mm->free_flow = mm->flows[f].user;
    return f;
}

void rlt_maxmin_release(rlt_maxmin *mm, uint32_t flow)
{
    rlt_mm_flow *f = &mm->flows[flow];
    if (f->n > 2) {
        mm->long_hops[f->hop[0].link].link = mm->free_long[f->hop[0].pos];
        mm->free_long[f->hop[0].pos] = f->hop[0].link;
    }
    f->user = mm->free_flow;
    mm->free_flow = flow;
}

/* Links' lists */

static void set_pos(rlt_maxmin *mm, uint32_t flow, uint32_t link, uint32_t pos)
{
    rlt_mm_flow *f = &mm->flows[flow];
    rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    while (h->link != link)
        h++;
    h->pos = pos;
}

static uint32_t get_pos(const rlt_maxmin *mm, uint32_t flow, uint32_t link)
{
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, &mm->flows[flow]);
    while (h->link != link)
        h++;
    return h->pos;
}

static inline void put_entry(rlt_maxmin *mm, uint32_t link, uint32_t pos, rlt_mm_entry e)
{
    mm->links[link].flows[pos] = e;
    set_pos(mm, e.flow, link, pos);
}

/* Lists grow by a quarter: a burst holds millions of short ones. */
static SELDOM int list_room(rlt_mm_link *l)
{
    uint32_t room = l->room + l->room / 4 + 2;
    rlt_mm_entry *flows = room > l->room ? realloc(l->flows, (size_t)room * sizeof(*flows)) : NULL;
    if (!flows)
        return RLT_ENOMEM;
    l->flows = flows;
    l->room = room;
    return 0;
}

static SELDOM int touch(rlt_maxmin *mm, uint32_t link, uint32_t how)
{
    rlt_mm_link *l = &mm->links[link];
    if (!l->touched) {
        int rc = rlt__mm_append(&mm->touched, link);
        if (rc)
            return rc;
    }
    l->touched |= how;
    return 0;
}

static bool earlier(const rlt_maxmin *mm, uint32_t a, uint32_t b)
{
    return mm->finish[a] < mm->finish[b] || (mm->finish[a] == mm->finish[b] && a < b);
}

static void own_up(rlt_maxmin *mm, uint32_t link, uint32_t i)
{
    rlt_mm_entry *a = mm->links[link].flows;
    rlt_mm_entry e = a[i];
    while (i) {
        uint32_t parent = (i - 1) / 2;
        if (!earlier(mm, e.flow, a[parent].flow))
            break;
        put_entry(mm, link, i, a[parent]);
        i = parent;
    }
    put_entry(mm, link, i, e);
}

static void own_down(rlt_maxmin *mm, uint32_t link, uint32_t i)
{
    rlt_mm_entry *a = mm->links[link].flows;
    uint32_t n = mm->links[link].own;
    rlt_mm_entry e = a[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && earlier(mm, a[child + 1].flow, a[child].flow))
            child++;
        if (!earlier(mm, a[child].flow, e.flow))
            break;
        put_entry(mm, link, i, a[child]);
        i = child;
    }
    put_entry(mm, link, i, e);
}

/* The flow, already in the list, joins the own ones. */
void rlt__mm_own_insert(rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    rlt_mm_link *l = &mm->links[link];
    uint32_t pos = get_pos(mm, flow, link), last = l->own++;
    l->own_weight += mm->flows[flow].weight;
    rlt_mm_entry e = l->flows[pos];
    if (pos != last)
        put_entry(mm, link, pos, l->flows[last]);
    put_entry(mm, link, last, e);
    own_up(mm, link, last);
}

void rlt__mm_own_remove(rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    rlt_mm_link *l = &mm->links[link];
    uint32_t pos = get_pos(mm, flow, link), last = --l->own;
    l->own_weight -= mm->flows[flow].weight;
    if (pos == last)
        return;
    rlt_mm_entry e = l->flows[pos], moved = l->flows[last];
    put_entry(mm, link, last, e);
    put_entry(mm, link, pos, moved);
    if (pos && earlier(mm, moved.flow, l->flows[(pos - 1) / 2].flow))
        own_up(mm, link, pos);
    else
        own_down(mm, link, pos);
}

/*
 * A span rounded to the nearest picosecond, halves up. Doubles carry about 2^-50 of noise relative to the
 * span; what lies that near below a half counts as the half, so that equal flows on different links end
 * together.
 */
static rlt_time nearest(double span_ps)
{
    double x = span_ps + (0.5 + 0x1p-12 + span_ps * 0x1p-49);
    return x <= 0 ? 0 : x >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)x;
}

/* When an own flow of the link ends. */
static rlt_time own_end(const rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    const rlt_mm_link *l = &mm->links[link];
    return rlt_time_add(l->at, nearest((mm->finish[flow] - l->served) / mm->levels[link].level));
}

/* Next completion of a link, after `now`: what is nearer than that is less than a picosecond of service. */
rlt_time rlt__mm_link_next(const rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    if (!mm->links[link].own)
        return -1;
    rlt_time t = own_end(mm, link, mm->links[link].flows[0].flow);
    return t > now ? t : now + 1;
}

/* Starts */

void rlt__mm_set_other(rlt_maxmin *mm, uint32_t flow)
{
    const rlt_mm_flow *f = &mm->flows[flow];
    if (f->n != 2)
        return;
    const rlt_mm_hop *h = f->hop;
    bool plain = f->weight == 1 && f->bottleneck != RLT_NONE;
    mm->links[h[0].link].flows[h[0].pos].other = plain ? h[1].link : RLT_NONE;
    mm->links[h[1].link].flows[h[1].pos].other = plain ? h[0].link : RLT_NONE;
}

/* rlt__mm_completion for a link that is not in the heap: in lockstep traffic it goes to the end. */
static inline int add_completion(rlt_maxmin *mm, uint32_t link, rlt_time when)
{
    uint32_t i = mm->n_completions;
    if (!i || i == mm->completions_room || when < mm->latest)
        return rlt__mm_completion(mm, link, when);
    mm->latest = when;
    mm->completions[i] = (rlt_mm_completion){when, link};
    mm->links[link].heap = i;
    mm->n_completions = i + 1;
    return 0;
}

/* How long an undisturbed flow takes: in integers, so that it is exactly what rlt_transfer_time says. */
static inline rlt_time whole_span(const rlt_maxmin *mm, uint32_t link, uint64_t bytes)
{
    uint32_t ps_per_byte = mm->links[link].ps_per_byte;
    if (ps_per_byte && bytes < WHOLE_BYTES)
        return (rlt_time)(bytes * ps_per_byte);
    rlt_time span = rlt_transfer_time(bytes, mm->bw_Bps[link]);
    return span ? span : 1;
}

/* A flow that nothing else meets: only its narrowest link matters. When it ends. */
static inline rlt_time set_alone(rlt_maxmin *mm, uint32_t flow, uint32_t weight, uint64_t bytes,
                                 uint32_t narrowest, rlt_time now)
{
    rlt_mm_link *l = &mm->links[narrowest];
    mm->levels[narrowest].level = weight == 1 ? l->capacity : l->capacity / weight;
    l->own = 1;
    l->own_weight = weight;
    l->served = 0;
    l->at = now;
    mm->flows[flow].bottleneck = narrowest;
    if (weight != 1 && __builtin_mul_overflow(bytes, (uint64_t)weight, &bytes))
        return RLT_TIME_MAX;
    return now + whole_span(mm, narrowest, bytes); /* both at most RLT_TIME_MAX */
}

static inline uint32_t narrower(const rlt_maxmin *mm, uint32_t a, uint32_t b)
{
    double x = mm->links[a].capacity, y = mm->links[b].capacity;
    return x < y || (x == y && a < b) ? a : b;
}

int rlt__mm_try_alone(rlt_maxmin *mm, uint32_t flow, rlt_time now, bool *alone)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    uint32_t best = h[0].link;
    *alone = false;
    for (uint32_t i = 0; i < f->n; i++) {
        if (mm->links[h[i].link].n != 1)
            return 0;
        best = narrower(mm, h[i].link, best);
    }
    *alone = true;
    for (uint32_t i = 0; i < f->n; i++) {
        mm->levels[h[i].link].level = INFINITY;
        mm->links[h[i].link].own = mm->links[h[i].link].own_weight = 0;
    }
    rlt_time end = set_alone(mm, flow, f->weight, (uint64_t)mm->finish[flow], best, now);
    rlt__mm_set_other(mm, flow);
    return rlt__mm_completion(mm, best, end);
}

/* True if flow g, not yet served, has that path and size. */
static bool same_flow(const rlt_maxmin *mm, uint32_t g, rlt_time now, const uint32_t *links, uint32_t n,
                      uint64_t bytes)
{
    rlt_mm_flow *f = &mm->flows[g];
    if (f->n != n || mm->finish[g] != (double)bytes || f->weight == UINT32_MAX)
        return false;
    if (f->bottleneck != RLT_NONE) {
        const rlt_mm_link *b = &mm->links[f->bottleneck];
        if (b->own != 1 || b->served != 0 || b->at != now)
            return false;
    }
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < n; i++)
        if (h[i].link != links[i])
            return false;
    return true;
}

static SELDOM int touch_path(rlt_maxmin *mm, uint32_t flow, uint32_t how)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    int rc = 0;
    for (uint32_t i = 0; i < f->n && !rc; i++)
        rc = touch(mm, h[i].link, how);
    return rc;
}

/* One more message of an equal flow. */
static SELDOM int join(rlt_maxmin *mm, uint32_t flow, rlt_time now)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    f->weight++;
    for (uint32_t i = 0; i < f->n; i++)
        mm->links[h[i].link].weight++;
    if (f->bottleneck == RLT_NONE)
        return 0;
    mm->links[f->bottleneck].own_weight++;
    bool alone;
    int rc = rlt__mm_try_alone(mm, flow, now, &alone);
    if (rc || alone)
        return rc;
    rlt__mm_set_other(mm, flow);
    return touch_path(mm, flow, RLT_MM_JOINED);
}

/* Room for a path of n links in the record of a flow. */
static SELDOM int long_path(rlt_maxmin *mm, rlt_mm_flow *f, uint32_t n)
{
    uint32_t c = size_class(n), run = long_get(mm, c);
    f->hop[0] = (rlt_mm_hop){run, c};
    return run == RLT_NONE ? RLT_ENOMEM : 0;
}

/* A record with room for a path of n links. */
static inline uint32_t new_flow(rlt_maxmin *mm, uint32_t n)
{
    uint32_t flow = flow_get(mm);
    if (flow == RLT_NONE)
        return RLT_NONE;
    rlt_mm_flow *f = &mm->flows[flow];
    f->n = n;
    f->weight = 1;
    f->bottleneck = RLT_NONE;
    return n > 2 && long_path(mm, f, n) ? RLT_NONE : flow;
}

/* The flow, new on its links, meets others there. */
static SELDOM int begin_shared(rlt_maxmin *mm, uint32_t flow)
{
    int rc = touch_path(mm, flow, RLT_MM_JOINED);
    return rc ? rc : rlt__mm_append(&mm->started, flow);
}

uint32_t rlt_maxmin_start(rlt_maxmin *mm, rlt_time now, const uint32_t *links, uint32_t n, uint64_t bytes,
                          bool *merged)
{
    /* Equal messages usually come one after another: look at the latest flow of the first link only. */
    const rlt_mm_link *first = &mm->links[links[0]];
    *merged = first->n && same_flow(mm, first->flows[first->n - 1].flow, now, links, n, bytes);
    if (*merged) {
        uint32_t flow = first->flows[first->n - 1].flow;
        return join(mm, flow, now) ? RLT_NONE : flow;
    }
    uint32_t narrowest = links[0], others = 0;
    for (uint32_t i = 0; i < n; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        if (l->n == l->room && list_room(l))
            return RLT_NONE;
        others |= l->n;
        narrowest = narrower(mm, links[i], narrowest);
    }
    uint32_t flow = new_flow(mm, n);
    if (flow == RLT_NONE)
        return RLT_NONE;
    mm->finish[flow] = (double)bytes;
    rlt_mm_hop *h = rlt_maxmin_hops(mm, &mm->flows[flow]);
    for (uint32_t i = 0; i < n; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        h[i] = (rlt_mm_hop){links[i], l->n};
        l->flows[l->n++] = (rlt_mm_entry){flow, !others && n == 2 ? links[1 - i] : RLT_NONE};
        l->weight++;
    }
    mm->live++;
    if (others)
        return begin_shared(mm, flow) ? RLT_NONE : flow;
    int rc = add_completion(mm, narrowest, set_alone(mm, flow, 1, bytes, narrowest, now));
    if (mm->note_idle && !rc)
        rc = touch_path(mm, flow, RLT_MM_NOTED);
    return rc ? RLT_NONE : flow;
}

/* Ends */

/* Takes a flow, no longer among its bottleneck's own, off its links. */
static int unlist(rlt_maxmin *mm, uint32_t flow)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++) {
        rlt_mm_link *l = &mm->links[h[i].link];
        uint32_t last = --l->n;
        if (h[i].pos != last)
            put_entry(mm, h[i].link, h[i].pos, l->flows[last]);
        l->weight -= f->weight;
        if (!l->n)
            mm->levels[h[i].link].level = INFINITY;
        if (l->n || mm->note_idle) {
            int rc = touch(mm, h[i].link, l->n ? RLT_MM_LEFT : RLT_MM_NOTED);
            if (rc)
                return rc;
        }
    }
    mm->live--;
    return 0;
}

/* True if all own flows of the link end now. Visits those that do, from the top of the heap down. */
static SELDOM int all_end(rlt_maxmin *mm, uint32_t link, rlt_time now, bool *all)
{
    const rlt_mm_link *l = &mm->links[link];
    rlt_mm_list *queue = &mm->scratch;
    queue->n = 0;
    int rc = rlt__mm_append(queue, 0);
    for (uint32_t i = 0; i < queue->n && !rc; i++) {
        uint32_t child = 2 * queue->items[i] + 1;
        for (uint32_t k = child; k < child + 2 && k < l->own && !rc; k++)
            if (own_end(mm, link, l->flows[k].flow) <= now)
                rc = rlt__mm_append(queue, k);
    }
    *all = queue->n == l->own;
    return rc;
}

/* Takes the flows that end now off the link's own, and carries the rounding: what they were served too little
 * or too much is taken from or given to the own flows that stay. */
static int drain_link(rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    rlt_mm_link *l = &mm->links[link];
    bool all = true;
    int rc = l->own > 1 ? all_end(mm, link, now, &all) : 0;
    if (!rc && all) {
        for (uint32_t i = 0; i < l->own && !rc; i++)
            rc = rlt__mm_append(&mm->drained, l->flows[i].flow);
        l->own = l->own_weight = 0;
        l->served = 0;
        l->at = now;
        return rc;
    }
    double served = rlt__mm_served(mm, link, now), owed = 0;
    while (!rc && own_end(mm, link, l->flows[0].flow) <= now) { /* at least one will stay */
        uint32_t flow = l->flows[0].flow;
        owed += (mm->finish[flow] - served) * mm->flows[flow].weight;
        rlt__mm_own_remove(mm, link, flow);
        rc = rlt__mm_append(&mm->drained, flow);
    }
    l->served = served - owed / l->own_weight;
    l->at = now;
    return rc;
}

/* Lists the places in the heap whose completion is due, in mm->component: from the top down. */
static int due_places(rlt_maxmin *mm, rlt_time now)
{
    rlt_mm_list *due = &mm->component;
    int rc = 0;
    if (mm->n_completions && mm->completions[0].when <= now)
        rc = rlt__mm_append(due, 0);
    for (uint32_t i = 0; i < due->n && !rc; i++) {
        uint32_t child = 2 * due->items[i] + 1;
        for (uint32_t k = child; k < child + 2 && k < mm->n_completions && !rc; k++)
            if (mm->completions[k].when <= now)
                rc = rlt__mm_append(due, k);
    }
    return rc;
}

/* Takes the links whose completion is due out of the heap and lists them in mm->component: all at once where
 * they are all there are, as in lockstep traffic. */
static int take_due(rlt_maxmin *mm, rlt_time now)
{
    rlt_mm_list *due = &mm->component;
    int rc = 0;
    due->n = 0;
    if (mm->latest <= now) {
        for (uint32_t i = 0; i < mm->n_completions && !rc; i++) {
            mm->links[mm->completions[i].link].heap = RLT_NONE;
            rc = rlt__mm_append(due, mm->completions[i].link);
        }
        mm->n_completions = 0;
        return rc;
    }
    rc = due_places(mm, now);
    for (uint32_t i = 0; i < due->n; i++)
        due->items[i] = mm->completions[due->items[i]].link;
    for (uint32_t i = 0; i < due->n && !rc; i++)
        rc = rlt__mm_completion(mm, due->items[i], -1);
    return rc;
}

int rlt_maxmin_drain(rlt_maxmin *mm, rlt_time now)
{
    mm->drained.n = 0;
    int rc = take_due(mm, now);
    for (uint32_t i = 0; i < mm->component.n && !rc; i++)
        rc = drain_link(mm, mm->component.items[i], now);
    for (uint32_t i = 0; i < mm->drained.n && !rc; i++)
        rc = unlist(mm, mm->drained.items[i]);
    return rc;
}

double rlt_maxmin_remaining(const rlt_maxmin *mm, uint32_t flow, rlt_time now)
{
    uint32_t b = mm->flows[flow].bottleneck;
    double left = b == RLT_NONE ? mm->finish[flow] : mm->finish[flow] - rlt__mm_served(mm, b, now);
    return left > 0 ? left : 0;
}

double rlt_maxmin_link_rate(const rlt_maxmin *mm, uint32_t link)
{
    const rlt_mm_link *l = &mm->links[link];
    double sum = 0;
    for (uint32_t i = 0; i < l->n; i++)
        sum += rlt_maxmin_rate(mm, l->flows[i].flow) * mm->flows[l->flows[i].flow].weight;
    return sum;
}
