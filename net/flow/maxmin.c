/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flows, and the list of flows of each link, whose front is a heap of own flows by virtual finish. Levels are
 * computed in maxmin_solve.c; maxmin_completions.c has the heap of links by next completion.
 */
#include "net/flow/maxmin.h"

#include <math.h>
#include <stdlib.h>

/* Keeps rare code out of line, so that the fast path saves no registers. */
#define SELDOM __attribute__((noinline))

/* Sizes below this, times whole picoseconds a byte, stay below the horizon. */
#define WHOLE_BYTES (1u << 31)

/* ---- lists of links ---- */

/* Finds a hop of a wide flow, whose hops are in the order of their links. */
static SELDOM rlt_mm_hop *find_wide(rlt_mm_hop *h, uint32_t n, uint32_t link)
{
    while (n > 1) {
        uint32_t half = n / 2;
        if (h[half].link <= link)
            h += half, n -= half;
        else
            n = half;
    }
    return h;
}

static inline rlt_mm_hop *hop_on(const rlt_maxmin *mm, uint32_t flow, uint32_t link)
{
    rlt_mm_flow *f = &mm->flows[flow];
    if (f->n <= 2)
        return &f->hop[f->hop[0].link != link];
    rlt_mm_hop *h = mm->long_hops + f->hop[0].link;
    if (f->n > RLT_MM_WIDE)
        return find_wide(h, f->n, link);
    while (h->link != link)
        h++;
    return h;
}

static inline void put_entry(rlt_maxmin *mm, uint32_t link, uint32_t pos, rlt_mm_entry e)
{
    mm->links[link].flows[pos] = e;
    hop_on(mm, e.flow, link)->pos = pos;
}

/* Grows a list by a quarter, since a burst holds millions of short lists. */
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

static SELDOM int touch_first(rlt_maxmin *mm, uint32_t link, uint32_t how)
{
    mm->links[link].touched = how;
    return rlt__mm_append(&mm->touched, link);
}

static inline int touch(rlt_maxmin *mm, uint32_t link, uint32_t how)
{
    rlt_mm_link *l = &mm->links[link];
    if (!l->touched)
        return touch_first(mm, link, how);
    l->touched |= how;
    return 0;
}

int rlt__mm_touch(rlt_maxmin *mm, uint32_t link, uint32_t how)
{
    return touch(mm, link, how);
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

/* Moves a flow, which is already in the list, to the own flows. */
void rlt__mm_own_insert(rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    rlt_mm_link *l = &mm->links[link];
    uint32_t pos = hop_on(mm, flow, link)->pos, last = l->own++;
    rlt_mm_entry e = l->flows[pos];
    l->own_weight += mm->flows[flow].weight * (mm->has_times ? rlt__mm_times(e) : 1);
    if (pos == last) { /* the usual case: flows that began together come one after the other */
        if (!last || !earlier(mm, flow, l->flows[(last - 1) / 2].flow))
            return;
    } else {
        put_entry(mm, link, pos, l->flows[last]);
        put_entry(mm, link, last, e);
    }
    own_up(mm, link, last);
}

void rlt__mm_own_remove(rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    rlt_mm_link *l = &mm->links[link];
    uint32_t pos = hop_on(mm, flow, link)->pos, last = --l->own;
    l->own_weight -= mm->flows[flow].weight * (mm->has_times ? rlt__mm_times(l->flows[pos]) : 1);
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
 * Rounds a span to the nearest picosecond, halves up. Doubles carry a noise of about 2^-50 of the span. A
 * value that is below a half by no more than that counts as the half, so that equal flows on different links
 * end together.
 */
static rlt_time nearest(double span_ps)
{
    double x = span_ps + (0.5 + 0x1p-12 + span_ps * 0x1p-49);
    return x <= 0 ? 0 : x >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)x;
}

/* Returns the end of an own flow of the link: at + (F - V) / level, with V at time `at`. */
static rlt_time own_end(const rlt_maxmin *mm, uint32_t link, uint32_t flow)
{
    const rlt_mm_link *l = &mm->links[link];
    return rlt_time_add(l->at, nearest((mm->finish[flow] - l->served) / mm->level[link]));
}

/* Returns the next completion of a link, at least now + 1: a flow that would end earlier lacks less than a
 * picosecond of service. */
rlt_time rlt__mm_link_next(const rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    if (!mm->links[link].own)
        return -1;
    rlt_time t = own_end(mm, link, mm->links[link].flows[0].flow);
    return t > now ? t : now + 1;
}

/* ---- starts ---- */

/* rlt__mm_completion for a link that is not in the heap. In lockstep traffic it goes to the end of the
 * heap. */
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

/* Returns the duration of an undisturbed flow. Computed in integers, so that it equals rlt_transfer_time. */
static inline rlt_time whole_span(const rlt_maxmin *mm, uint32_t link, uint64_t bytes)
{
    uint32_t ps_per_byte = mm->links[link].ps_per_byte;
    if (ps_per_byte && bytes < WHOLE_BYTES)
        return (rlt_time)(bytes * ps_per_byte);
    rlt_time span = rlt_transfer_time(bytes, mm->bw_Bps[link]);
    return span ? span : 1;
}

/* Gives a flow that is alone on its links its rate: only the narrowest link matters. Returns its end. */
static inline rlt_time set_alone(rlt_maxmin *mm, uint32_t flow, uint32_t weight, uint64_t bytes,
                                 uint32_t narrowest, rlt_time now)
{
    rlt_mm_link *l = &mm->links[narrowest];
    mm->level[narrowest] = weight == 1 ? l->capacity : rlt__mm_level(rlt__mm_whole(mm, narrowest, weight));
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

/* Returns the hop whose link gives each message the lowest rate, if the flow is alone. */
static SELDOM const rlt_mm_hop *narrowest_hop(const rlt_maxmin *mm, const rlt_mm_hop *h, uint32_t n)
{
    const rlt_mm_hop *best = h;
    for (uint32_t i = 1; i < n; i++) {
        unsigned __int128 a = (unsigned __int128)mm->bw_Bps[h[i].link] * rlt_maxmin_times(mm, best),
                          b = (unsigned __int128)mm->bw_Bps[best->link] * rlt_maxmin_times(mm, &h[i]);
        if (a < b || (a == b && h[i].link < best->link))
            best = &h[i];
    }
    return best;
}

int rlt__mm_try_alone(rlt_maxmin *mm, uint32_t flow, rlt_time now, bool *alone)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    *alone = false;
    for (uint32_t i = 0; i < f->n; i++)
        if (mm->links[h[i].link].n != 1)
            return 0;
    *alone = true;
    const rlt_mm_hop *best = narrowest_hop(mm, h, f->n);
    for (uint32_t i = 0; i < f->n; i++) {
        rlt_mm_link *l = &mm->links[h[i].link];
        mm->level[h[i].link] = INFINITY;
        l->own = l->exact = 0;
        l->own_weight = 0;
    }
    rlt_time end = set_alone(mm, flow, f->weight * rlt_maxmin_times(mm, best), (uint64_t)mm->finish[flow],
                             best->link, now);
    rlt__mm_set_other(mm, flow);
    return rlt__mm_completion(mm, best->link, end);
}

static SELDOM bool same_path(const rlt_maxmin *mm, uint32_t g, const uint32_t *links, const uint32_t *times,
                             uint32_t n)
{
    rlt_mm_hop *first = rlt_maxmin_hops(mm, &mm->flows[g]), *h = first;
    for (uint32_t i = 0; i < n; i++, h++) {
        if (n > RLT_MM_WIDE)
            h = find_wide(first, n, links[i]);
        if (h->link != links[i] || rlt_maxmin_times(mm, h) != (times ? times[i] : 1))
            return false;
    }
    return true;
}

/* Returns true if flow g has that path and size and has not been served yet. */
static inline bool same_flow(const rlt_maxmin *mm, uint32_t g, rlt_time now, const uint32_t *links,
                             const uint32_t *times, uint32_t n, uint64_t bytes)
{
    const rlt_mm_flow *f = &mm->flows[g];
    if (f->n != n || mm->finish[g] != (double)bytes || f->weight == UINT32_MAX)
        return false;
    if (f->bottleneck != RLT_NONE) {
        const rlt_mm_link *b = &mm->links[f->bottleneck];
        if (b->own != 1 || b->served != 0 || b->at != now)
            return false;
    }
    if (n > RLT_MM_WIDE || mm->has_times)
        return same_path(mm, g, links, times, n);
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, &mm->flows[g]);
    for (uint32_t i = 0; i < n; i++)
        if (h[i].link != links[i])
            return false;
    return true;
}

static inline int touch_path(rlt_maxmin *mm, uint32_t flow, uint32_t how)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    int rc = 0;
    for (uint32_t i = 0; i < f->n && !rc; i++)
        rc = touch(mm, h[i].link, how);
    return rc;
}

static int add_weight(rlt_mm_link *l, uint32_t times)
{
    return __builtin_add_overflow(l->weight, times, &l->weight) ? RLT_ERANGE : 0;
}

/* Adds one more message to an equal flow. */
static SELDOM int join(rlt_maxmin *mm, uint32_t flow, rlt_time now)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    if (f->bottleneck != RLT_NONE) {
        rlt__mm_exact(mm, f->bottleneck);
        rlt__mm_own_changed(mm, f->bottleneck, flow, 1);
    }
    f->weight++;
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t link = h[i].link, times = rlt_maxmin_times(mm, &h[i]);
        if (add_weight(&mm->links[link], times))
            return RLT_ERANGE;
        if (f->bottleneck != RLT_NONE && link != f->bottleneck && mm->links[link].exact)
            mm->shares[link].given += mm->shares[f->bottleneck].rate * times;
    }
    if (f->bottleneck == RLT_NONE)
        return 0;
    mm->links[f->bottleneck].own_weight += rlt_maxmin_times(mm, hop_on(mm, flow, f->bottleneck));
    bool alone;
    int rc = rlt__mm_try_alone(mm, flow, now, &alone);
    if (rc || alone)
        return rc;
    rlt__mm_set_other(mm, flow);
    return touch_path(mm, flow, RLT_MM_CHANGED);
}

static inline uint32_t flow_get(rlt_maxmin *mm)
{
    uint32_t f = mm->free_flow;
    if (f == RLT_NONE)
        return rlt__mm_new_record(mm);
    mm->free_flow = mm->flows[f].user;
    return f;
}

/* Returns a record with room for a path of n links. */
static inline uint32_t new_flow(rlt_maxmin *mm, uint32_t n)
{
    uint32_t flow = flow_get(mm);
    if (flow == RLT_NONE)
        return RLT_NONE;
    rlt_mm_flow *f = &mm->flows[flow];
    f->n = n;
    f->weight = 1;
    f->bottleneck = RLT_NONE;
    f->user = RLT_NONE; /* until the caller has it; for want of memory, it never does */
    return n > 2 && rlt__mm_long_path(mm, flow, n) ? RLT_NONE : flow;
}

/* Begins a flow that meets others on its links. */
static inline int begin_shared(rlt_maxmin *mm, uint32_t flow)
{
    int rc = touch_path(mm, flow, RLT_MM_CHANGED);
    return rc ? rc : rlt__mm_append(&mm->started, flow);
}

static int by_link(const void *a, const void *b)
{
    uint32_t x = ((const rlt_mm_hop *)a)->link, y = ((const rlt_mm_hop *)b)->link;
    return (x > y) - (x < y);
}

/* Puts a flow on the lists of its links, which have room. Not for the plain kind (two links, weight one). */
static SELDOM void enlist(rlt_maxmin *mm, uint32_t flow, const uint32_t *links, const uint32_t *times)
{
    rlt_mm_flow *f = &mm->flows[flow];
    rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        uint32_t k = times ? times[i] : 1;
        h[i] = (rlt_mm_hop){links[i], l->n};
        l->flows[l->n++] = (rlt_mm_entry){flow, RLT_MM_MANY | k};
        l->weight += k;
    }
    if (f->n > RLT_MM_WIDE)
        qsort(h, f->n, sizeof(*h), by_link);
}

/* Starts a flow on two links that have other flows. */
static SELDOM uint32_t start_shared(rlt_maxmin *mm, const uint32_t *links, uint64_t bytes)
{
    rlt_mm_link *a = &mm->links[links[0]], *b = &mm->links[links[1]];
    if ((a->n == a->room && list_room(a)) || (b->n == b->room && list_room(b)))
        return RLT_NONE;
    uint32_t flow = flow_get(mm);
    if (flow == RLT_NONE)
        return RLT_NONE;
    mm->flows[flow] = (rlt_mm_flow){.n = 2,
                                    .weight = 1,
                                    .bottleneck = RLT_NONE,
                                    .user = RLT_NONE,
                                    .hop = {{links[0], a->n}, {links[1], b->n}}};
    mm->finish[flow] = (double)bytes;
    a->flows[a->n++] = b->flows[b->n++] = (rlt_mm_entry){flow, RLT_MM_MANY | 1};
    a->weight++;
    b->weight++;
    mm->live++;
    int rc = touch(mm, links[0], RLT_MM_CHANGED);
    if (!rc)
        rc = touch(mm, links[1], RLT_MM_CHANGED);
    return rc || rlt__mm_append(&mm->started, flow) ? RLT_NONE : flow;
}

static SELDOM uint32_t start_any(rlt_maxmin *mm, rlt_time now, const uint32_t *links, uint32_t n,
                                 uint64_t bytes, bool *merged)
{
    /* Equal messages usually come one after another, so only the latest flow of the first link is
     * compared. */
    const rlt_mm_link *first = &mm->links[links[0]];
    *merged = first->n && same_flow(mm, first->flows[first->n - 1].flow, now, links, NULL, n, bytes);
    if (*merged) {
        uint32_t flow = first->flows[first->n - 1].flow;
        return join(mm, flow, now) ? RLT_NONE : flow;
    }
    if (n == 2 && (first->n || mm->links[links[1]].n))
        return start_shared(mm, links, bytes);
    uint32_t narrowest = links[0], others = 0;
    for (uint32_t i = 0; i < n; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        if (l->n == l->room && list_room(l))
            return RLT_NONE;
        others |= l->n;
    }
    for (uint32_t i = 1; i < n && !others; i++)
        narrowest = narrower(mm, links[i], narrowest);
    uint32_t flow = new_flow(mm, n);
    if (flow == RLT_NONE)
        return RLT_NONE;
    mm->finish[flow] = (double)bytes;
    if (n != 2)
        enlist(mm, flow, links, NULL);
    for (uint32_t i = 0; n == 2 && i < 2; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        mm->flows[flow].hop[i] = (rlt_mm_hop){links[i], l->n};
        l->flows[l->n++] = (rlt_mm_entry){flow, links[1 - i]};
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

/* Fast path for the most common case: two idle links of equal speed, and room everywhere. */
uint32_t rlt_maxmin_start(rlt_maxmin *mm, rlt_time now, const uint32_t *links, uint32_t n, uint64_t bytes,
                          bool *merged)
{
    uint32_t flow = mm->free_flow, place = mm->n_completions, narrowest = links[0];
    rlt_mm_link *a = &mm->links[narrowest];
    if (n != 2 || a->n || !a->room || flow == RLT_NONE || place == mm->completions_room || mm->note_idle)
        return start_any(mm, now, links, n, bytes, merged);
    uint32_t other = links[1];
    rlt_mm_link *b = &mm->links[other];
    uint32_t ps_per_byte = a->ps_per_byte;
    if (b->n || !b->room || !ps_per_byte || ps_per_byte != b->ps_per_byte || bytes >= WHOLE_BYTES)
        return start_any(mm, now, links, n, bytes, merged);
    rlt_time end = now + (rlt_time)(bytes * ps_per_byte);
    if (place && end < mm->latest)
        return start_any(mm, now, links, n, bytes, merged);
    *merged = false;
    if (other < narrowest) { /* equal capacity: the link with the lower number is the bottleneck */
        rlt_mm_link *swap = a;
        a = b, b = swap;
        narrowest = other;
    }
    rlt_mm_flow *f = &mm->flows[flow];
    mm->free_flow = f->user;
    *f = (rlt_mm_flow){.n = 2, .weight = 1, .bottleneck = narrowest, .hop = {{links[0], 0}, {other, 0}}};
    mm->finish[flow] = (double)bytes;
    mm->links[links[0]].flows[0] = (rlt_mm_entry){flow, other};
    mm->links[other].flows[0] = (rlt_mm_entry){flow, links[0]};
    a->load = (rlt_mm_load){.n = 1, .own = 1, .weight = 1, .own_weight = 1};
    b->load = (rlt_mm_load){.n = 1, .weight = 1};
    a->served = 0;
    a->at = now;
    a->heap = place;
    mm->level[narrowest] = a->capacity;
    mm->live++;
    mm->latest = end;
    mm->completions[place] = (rlt_mm_completion){end, narrowest};
    mm->n_completions = place + 1;
    return flow;
}

/* Starts a flow that takes a multiple of its rate of a link. Its entry there holds the multiple, see
 * rlt__mm_times. */
static uint32_t start_times(rlt_maxmin *mm, rlt_time now, const uint32_t *links, const uint32_t *times,
                            uint32_t n, uint64_t bytes, bool *merged)
{
    const rlt_mm_link *first = &mm->links[links[0]];
    mm->has_times = true;
    *merged = first->n && same_flow(mm, first->flows[first->n - 1].flow, now, links, times, n, bytes);
    if (*merged) {
        uint32_t flow = first->flows[first->n - 1].flow;
        return join(mm, flow, now) ? RLT_NONE : flow;
    }
    for (uint32_t i = 0; i < n; i++) {
        rlt_mm_link *l = &mm->links[links[i]];
        if ((l->n == l->room && list_room(l)) || (uint64_t)l->weight + times[i] >= RLT_MM_MANY)
            return RLT_NONE;
    }
    uint32_t flow = new_flow(mm, n);
    if (flow == RLT_NONE)
        return RLT_NONE;
    mm->finish[flow] = (double)bytes;
    enlist(mm, flow, links, times);
    mm->live++;
    return begin_shared(mm, flow) ? RLT_NONE : flow;
}

uint32_t rlt_maxmin_start_times(rlt_maxmin *mm, rlt_time now, const uint32_t *links, const uint32_t *times,
                                uint32_t n, uint64_t bytes, bool *merged)
{
    for (uint32_t i = 0; i < n; i++)
        if (times[i] != 1)
            return start_times(mm, now, links, times, n, bytes, merged);
    return rlt_maxmin_start(mm, now, links, n, bytes, merged);
}

/* ---- ends ---- */

int rlt__mm_unlist(rlt_maxmin *mm, uint32_t flow)
{
    rlt_mm_flow *f = &mm->flows[flow];
    rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    const bool has_times = mm->has_times;
    const uint32_t owner = f->bottleneck;
    const rlt_mm_rate rate = owner != RLT_NONE ? mm->shares[owner].rate : 0;
    if (owner != RLT_NONE)
        rlt__mm_own_changed(mm, owner, flow, -(int32_t)f->weight);
    for (uint32_t i = 0; i < f->n; i++) {
        rlt_mm_link *l = &mm->links[h[i].link];
        uint32_t pos = h[i].pos, last = --l->n, weight = f->weight;
        if (__builtin_expect(has_times, 0)) {
            h[i].pos = rlt__mm_times(l->flows[pos]);
            weight *= h[i].pos;
        }
        l->weight -= weight;
        if (l->exact && owner != RLT_NONE && owner != h[i].link)
            mm->shares[h[i].link].given -= weight == 1 ? rate : rate * weight;
        if (pos != last)
            put_entry(mm, h[i].link, pos, l->flows[last]);
        if (!l->n) {
            mm->level[h[i].link] = INFINITY;
            l->exact = 0;
        }
        if (l->n || mm->note_idle) {
            int rc = touch(mm, h[i].link, l->n ? RLT_MM_CHANGED : RLT_MM_NOTED);
            if (rc)
                return rc;
        }
    }
    mm->live--;
    return 0;
}

/* Sets *all to true if all own flows of the link end now. Visits only ending flows, from the top of the heap
 * down. */
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

/* Takes the flows that end now off the link's own flows, and carries the rounding. Let o be the bytes still
 * owed to the ended flows (negative if they got too much) and w the weight of the remaining own flows: V
 * decreases by o / w, so that the remaining flows get exactly the bytes that the others did not. */
static int drain_link(rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    rlt_mm_link *l = &mm->links[link];
    bool all = true;
    int rc = l->own > 1 ? all_end(mm, link, now, &all) : 0;
    if (!rc && all) {
        for (uint32_t i = 0; i < l->own && !rc; i++)
            rc = rlt__mm_append(&mm->drained, l->flows[i].flow);
        l->own = 0;
        l->own_weight = 0;
        l->served = 0;
        l->at = now;
        return rc;
    }
    double served = rlt__mm_served(mm, link, now), owed = 0;
    while (!rc && own_end(mm, link, l->flows[0].flow) <= now) { /* at least one flow stays */
        uint32_t flow = l->flows[0].flow;
        owed += (mm->finish[flow] - served) * (mm->flows[flow].weight * rlt__mm_times(l->flows[0]));
        rlt__mm_own_remove(mm, link, flow);
        rc = rlt__mm_append(&mm->drained, flow);
    }
    l->served = mm->loose[link] ? served : served - owed / l->own_weight;
    l->at = now;
    return rc;
}

/* Takes a flow that is alone on its two links off them; `link` is its bottleneck. */
static inline void leave_alone(rlt_maxmin *mm, uint32_t link, rlt_mm_entry e, rlt_time now)
{
    rlt_mm_link *l = &mm->links[link];
    l->load = mm->links[e.other].load = (rlt_mm_load){0};
    l->served = 0;
    l->at = now;
    mm->level[link] = INFINITY; /* the level of the other link is infinite already */
    mm->flows[e.flow].bottleneck = RLT_NONE;
}

/* Lists the flows of all links in the heap, which are all due. Takes the plain flows that are alone off their
 * links: in lockstep traffic all of them. *gone is their number. */
static int drain_all(rlt_maxmin *mm, rlt_time now, uint32_t *gone)
{
    const rlt_mm_completion *c = mm->completions;
    uint32_t alone = 0;
    int rc = 0;
    for (uint32_t i = 0; i < mm->n_completions && !rc; i++) {
        uint32_t link = c[i].link;
        rlt_mm_link *l = &mm->links[link];
        rlt_mm_entry e = l->flows[0];
        l->heap = RLT_NONE;
        if (l->n != 1 || e.other & RLT_MM_MANY || mm->links[e.other].n != 1) {
            rc = drain_link(mm, link, now);
            continue;
        }
        leave_alone(mm, link, e, now);
        alone++;
        rc = rlt__mm_append(&mm->drained, e.flow);
    }
    mm->n_completions = 0;
    mm->live -= alone;
    *gone = alone;
    return rc;
}

int rlt_maxmin_drain(rlt_maxmin *mm, rlt_time now)
{
    uint32_t gone = 0;
    int rc;
    mm->drained.n = 0;
    mm->drained_times = mm->has_times;
    if (mm->latest <= now && !mm->has_times && !mm->note_idle) {
        rc = drain_all(mm, now, &gone);
    } else {
        rc = rlt__mm_take_due(mm, now);
        for (uint32_t i = 0; i < mm->component.n && !rc; i++)
            rc = drain_link(mm, mm->component.items[i], now);
    }
    for (uint32_t i = 0; gone < mm->drained.n && i < mm->drained.n && !rc; i++)
        if (mm->flows[mm->drained.items[i]].bottleneck != RLT_NONE)
            rc = rlt__mm_unlist(mm, mm->drained.items[i]);
    return rc;
}
