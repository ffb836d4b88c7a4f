/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes levels after a change by water filling (Bertsekas, Gallager: "Data Networks", 6.5.2), at the cost
 * of what changes.
 *
 * Water filling freezes links in the order of (key, kind, link), with the key of the level. Its result is
 * known for the flows and capacities before the change. The solver goes through the same order again, but
 * stops only at links that may differ:
 *
 *   held   the link keeps its level and its own flows, as far as the solver has come
 *   open   its own flows have lost their rate
 *   fixed  it has its level and its own flows in the new result
 *
 * A flow is open if it is new or its bottleneck is open. For a link with capacity c let `given` be the sum of
 * the rates of its other flows that are not open, and w the weight of its own and its open flows. If nothing
 * else changed, its level would be
 *
 *   x = (c - given) / w
 *
 * All links on the path of a flow that changed are candidates, in a heap by the key of x, or by that of their
 * old level if it is lower. When the solver comes to a candidate,
 *
 *   - x is higher than the old level, which is reached: the link opens. The other links on the paths of its
 *     own flows get a lower x and become candidates.
 *   - x is reached: the link is fixed. It takes open flows, and flows of held links that come later in the
 *     order. The other links on their paths, and those that lost them, get a higher x and become candidates.
 *
 * An x in the heap may be too low, since flows with a bottleneck between x and the old level are counted in
 * `given`. It is computed again when it is reached, with the flows that the link would take. A link that is
 * never reached keeps its level, and costs nothing.
 *
 *   Example: link A (10 GB/s) carries flows 1 and 2, link B (8 GB/s) carries flows 2 and 3. Rates are 6, 4
 *   and 4; the levels are 6 and 4. If flow 1 ends, A has no flow to own; B is not looked at. If flow 3 ends
 *   instead, x of B is 8: B opens at 4. Now x of A is (10 - 0) / 2 = 5. A is reached first: it is fixed at 5
 *   and takes flow 2. B has no own flow left.
 *
 * Rates are integers, so `given` is exact after any number of updates, and the result depends on the flows
 * and capacities alone.
 */
#include <math.h>

#include "net/flow/maxmin.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* Marks of a link in this solve, less the epoch. Links with older marks have not been reached. */
enum { HELD = 0, OPEN = 1, FIXED = 2, EPOCH = 4 };

static void next_epoch(rlt_maxmin *mm)
{
    if (mm->epoch > UINT32_MAX - 2 * EPOCH) {
        for (uint32_t i = 0; i < mm->n_links; i++)
            mm->shares[i].mark = 0;
        mm->epoch = 0;
    }
    mm->epoch += EPOCH;
}

bool rlt_maxmin_is_simple(rlt_maxmin *mm, const uint32_t *links, uint32_t n)
{
    next_epoch(mm);
    for (uint32_t i = 0; i < n; i++) {
        if (mm->shares[links[i]].mark == mm->epoch)
            return false;
        mm->shares[links[i]].mark = mm->epoch;
    }
    return true;
}

/* ---- heap of candidates ---- */

static inline rlt_mm_candidate candidate(const rlt_maxmin *mm, uint64_t key, uint32_t link)
{
    return (rlt_mm_candidate)key << 64 | (uint64_t)mm->kind[link] << 32 | link;
}

static inline void put(rlt_maxmin *mm, uint32_t i, rlt_mm_candidate c)
{
    mm->candidates[i] = c;
    mm->shares[(uint32_t)c].place = i;
}

static void candidate_up(rlt_maxmin *mm, uint32_t i, rlt_mm_candidate c)
{
    const rlt_mm_candidate *a = mm->candidates;
    for (uint32_t parent; i && a[parent = (i - 1) / 2] > c; i = parent)
        put(mm, i, a[parent]);
    put(mm, i, c);
}

/* Puts item c at position i or below. Behind the heap stands the largest number. */
static void candidate_down(rlt_maxmin *mm, uint32_t i, rlt_mm_candidate c)
{
    const rlt_mm_candidate *a = mm->candidates;
    for (uint32_t child; (child = 2 * i + 1) < mm->n_candidates; i = child) {
        child += (uint32_t)(a[child + 1] < a[child]);
        if (a[child] >= c)
            break;
        put(mm, i, a[child]);
    }
    put(mm, i, c);
}

/* Adds a link to the heap, or moves it forward. */
static void push(rlt_maxmin *mm, uint32_t link, uint64_t key, bool waits)
{
    uint32_t i = mm->shares[link].place;
    if (i == RLT_NONE) {
        mm->shares[link].waits = waits;
        mm->waiting += waits;
        i = mm->n_candidates++;
        mm->candidates[mm->n_candidates] = ~(rlt_mm_candidate)0;
    } else if (key >= (uint64_t)(mm->candidates[i] >> 64)) {
        return;
    }
    candidate_up(mm, i, candidate(mm, key, link));
}

static void drop(rlt_maxmin *mm, uint32_t link)
{
    uint32_t i = mm->shares[link].place, n = --mm->n_candidates;
    rlt_mm_candidate c = mm->candidates[n];
    mm->candidates[n] = ~(rlt_mm_candidate)0;
    mm->shares[link].place = RLT_NONE;
    mm->waiting -= mm->shares[link].waits;
    if (i == n)
        return;
    if (i && mm->candidates[(i - 1) / 2] > c)
        candidate_up(mm, i, c);
    else
        candidate_down(mm, i, c);
}

/* ---- links that may change ---- */

static rlt_mm_share *reach_first(rlt_maxmin *mm, uint32_t link)
{
    rlt_mm_share *s = &mm->shares[link];
    rlt__mm_exact(mm, link);
    if (!mm->links[link].own)
        s->key = RLT_MM_NEVER;
    s->open = s->listed = 0;
    s->place = RLT_NONE;
    s->mark = mm->epoch + HELD;
    mm->component.items[mm->component.n++] = link; /* has room */
    return s;
}

/* Call it before a flow on the link changes. */
static inline rlt_mm_share *reach(rlt_maxmin *mm, uint32_t link)
{
    rlt_mm_share *s = &mm->shares[link];
    return s->mark < mm->epoch ? reach_first(mm, link) : s;
}

static inline rlt_mm_rate left_on(const rlt_maxmin *mm, uint32_t link)
{
    return ((rlt_mm_rate)mm->bw_Bps[link] << RLT_MM_FRACTION) - mm->shares[link].given;
}

static inline rlt_mm_rate divide(rlt_mm_rate left, uint32_t weight)
{
    return left > 0 ? (rlt_mm_rate)((unsigned __int128)left / weight) : 0;
}

/* Returns the key of a level, which the solver has not yet passed. */
static inline uint64_t key_of(const rlt_maxmin *mm, rlt_mm_rate left, uint32_t weight)
{
    uint64_t key = left > 0 ? rlt__mm_key(left, weight) : 0;
    return key > mm->lowest ? key : mm->lowest;
}

/* Returns true if a link that owns no flow may have to: it is full, but for the rounding of levels. */
static inline bool is_full(const rlt_maxmin *mm, uint32_t link)
{
    return left_on(mm, link) <= (rlt_mm_rate)mm->bw_Bps[link] << (RLT_MM_FRACTION - 38);
}

/* Makes a link a candidate at the lowest level at which something may happen to it. */
static void queue(rlt_maxmin *mm, uint32_t link)
{
    const rlt_mm_share *s = &mm->shares[link];
    uint32_t weight = mm->links[link].own_weight + s->open;
    bool held = s->mark == mm->epoch + HELD && mm->links[link].own;
    if (weight) {
        uint64_t key = key_of(mm, left_on(mm, link), weight);
        push(mm, link, held && s->key < key ? s->key : key, held);
    } else if (is_full(mm, link)) {
        push(mm, link, mm->lowest, false);
    }
}

/* Makes a held link whose level rises a candidate at its old level. For others it is too early, or they are
 * candidates already. */
static inline void queue_rising(rlt_maxmin *mm, const rlt_mm_share *s, uint32_t link)
{
    if (s->place == RLT_NONE && s->key != RLT_MM_NEVER)
        push(mm, link, s->key, true);
}

/* Returns weight x multiple of an entry. */
static inline uint32_t weight_of(const rlt_maxmin *mm, rlt_mm_entry e)
{
    return e.other & RLT_MM_MANY ? mm->flows[e.flow].weight * (e.other & ~RLT_MM_MANY) : 1;
}

/* Accounts on another link of an own flow: `given` changes by `more` for each message, and the messages are
 * opened (+1) or no longer open (-1). */
static inline __attribute__((always_inline)) void account(rlt_maxmin *mm, uint32_t link, uint32_t weight,
                                                          rlt_mm_rate more, int opened)
{
    rlt_mm_share *s = reach(mm, link);
    s->given += weight == 1 ? more : more * weight;
    s->open += (uint32_t)opened * weight;
    if (opened > 0 && !s->listed) {
        s->listed = 1;
        mm->queued.items[mm->queued.n++] = link;
    } else if (!opened) {
        queue_rising(mm, s, link);
    }
}

static inline void account_hop(rlt_maxmin *mm, const rlt_mm_flow *f, const rlt_mm_hop *h, rlt_mm_rate more,
                               int opened)
{
    account(mm, h->link, f->weight * rlt_maxmin_times(mm, h), more, opened);
}

/* Accounts for a flow on its links other than `link`. */
static void account_flow(rlt_maxmin *mm, uint32_t flow, uint32_t link, rlt_mm_rate more, int opened)
{
    rlt_mm_flow *f = &mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++)
        if (h[i].link != link)
            account_hop(mm, f, &h[i], more, opened);
}

/* Accounts on all other links of the own flows of a link. */
static inline __attribute__((always_inline)) void account_own(rlt_maxmin *mm, uint32_t link, rlt_mm_rate more,
                                                              int opened)
{
    const rlt_mm_link *l = &mm->links[link];
    const rlt_mm_paths *p = rlt__mm_paths_of(mm, link);
    for (uint32_t i = 0; p && i < p->n; i++)
        account(mm, p->items[i].link, (uint32_t)p->items[i].weight, more, opened);
    for (uint32_t i = 0; !p && i < l->own; i++) {
        rlt_mm_entry e = l->flows[i];
        if (e.other & RLT_MM_MANY)
            account_flow(mm, e.flow, link, more, opened);
        else
            account(mm, e.other, 1, more, opened);
    }
}

static void queue_listed(rlt_maxmin *mm)
{
    for (uint32_t i = 0; i < mm->queued.n; i++) {
        mm->shares[mm->queued.items[i]].listed = 0;
        queue(mm, mm->queued.items[i]);
    }
    mm->queued.n = 0;
}

static void open_link(rlt_maxmin *mm, uint32_t link)
{
    rlt_mm_share *s = &mm->shares[link];
    s->mark = mm->epoch + OPEN;
    account_own(mm, link, -s->rate, +1);
    queue_listed(mm);
}

/* ---- candidates that are reached ---- */

/* A link at its level has this: capacity for its own flows, and their weight. */
typedef struct rlt_mm_claim {
    rlt_mm_rate left;
    uint32_t weight;
} rlt_mm_claim;

/* Lists the flows that a link takes if it is fixed now, in mm->taken: open ones, and unless the link is open,
 * those of held links that come later than candidate c. */
static void claim_flows(rlt_maxmin *mm, uint32_t link, rlt_mm_candidate c, rlt_mm_claim *claim)
{
    const rlt_mm_link *l = &mm->links[link];
    const rlt_mm_share *s = &mm->shares[link];
    const uint32_t epoch = mm->epoch;
    const uint64_t key = (uint64_t)(c >> 64);
    const bool all = s->mark != epoch + OPEN;
    uint32_t *taken = mm->taken.items, n = 0, open = s->open;
    for (uint32_t i = l->own; i < l->n && (open || all); i++) {
        rlt_mm_entry e = l->flows[i];
        uint32_t b = e.other & RLT_MM_MANY ? mm->flows[e.flow].bottleneck : e.other; /* not this link */
        const rlt_mm_share *v = &mm->shares[b];
        if (b == RLT_NONE || v->mark == epoch + OPEN) {
            open -= weight_of(mm, e);
        } else {
            if (v->key < key || v->mark == epoch + FIXED || (v->key == key && candidate(mm, key, b) < c))
                continue;
            uint32_t weight = weight_of(mm, e);
            claim->left += v->rate * weight;
            claim->weight += weight;
        }
        taken[n++] = i;
    }
    mm->taken.n = n;
}

/* Moves the flow at a position in the list of a link from its bottleneck, if it has one, to this link. */
static void take(rlt_maxmin *mm, uint32_t link, uint32_t pos, rlt_time now)
{
    rlt_mm_share *s = &mm->shares[link];
    rlt_mm_entry e = mm->links[link].flows[pos];
    rlt_mm_flow *f = &mm->flows[e.flow];
    uint32_t old = f->bottleneck, weight = weight_of(mm, e);
    bool open = old == RLT_NONE || mm->shares[old].mark == mm->epoch + OPEN;
    rlt_mm_rate before = open ? 0 : mm->shares[old].rate;
    if (f->n == 2)
        account_hop(mm, f, &f->hop[f->hop[0].link == link], s->rate - before, open ? -1 : 0);
    else
        account_flow(mm, e.flow, link, s->rate - before, open ? -1 : 0);
    if (old != RLT_NONE) { /* it has counted the flow among its own, not among others */
        const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
        while (h->link != old)
            h++;
        uint32_t on_old = f->weight * rlt_maxmin_times(mm, h);
        mm->shares[old].given += before * on_old;
        mm->shares[old].open += open ? on_old : 0;
        mm->finish[e.flow] -= rlt__mm_served(mm, old, now);
        rlt__mm_own_remove(mm, old, e.flow);
        rlt__mm_own_changed(mm, old, e.flow, -(int32_t)f->weight);
        mm->links[old].touched |= RLT_MM_STALE;
    }
    mm->waiting -= old == RLT_NONE;
    s->given -= before * weight;
    s->open -= open ? weight : 0;
    mm->finish[e.flow] += rlt__mm_served(mm, link, now);
    f->bottleneck = link;
    rlt__mm_own_insert(mm, link, e.flow);
    rlt__mm_own_changed(mm, link, e.flow, (int32_t)f->weight);
    if (old == RLT_NONE || f->n > 2)
        rlt__mm_set_other(mm, e.flow);
}

/* Sets the level of a link, after V was advanced to now. */
static void set_level(rlt_maxmin *mm, uint32_t link, double level, rlt_time now)
{
    rlt_mm_link *l = &mm->links[link];
    if (level == mm->level[link])
        return;
    l->served = l->own ? rlt__mm_served(mm, link, now) : 0;
    l->at = now;
    l->touched |= RLT_MM_STALE;
    mm->level[link] = level;
}

static void fix_link(rlt_maxmin *mm, uint32_t link, const rlt_mm_claim *claim, rlt_time now)
{
    rlt_mm_share *s = &mm->shares[link];
    rlt_mm_rate rate = divide(claim->left, claim->weight);
    if (rate == 0)
        rate = 1; /* only if the rounding of levels that differ by less than their keys added up */
    if (s->mark == mm->epoch + OPEN)
        account_own(mm, link, rate, -1);
    else
        account_own(mm, link, rate - s->rate, 0);
    set_level(mm, link, rlt__mm_level(rate), now);
    s->rate = rate;
    s->key = mm->lowest;
    s->mark = mm->epoch + FIXED;
    for (uint32_t i = 0; i < mm->taken.n; i++)
        take(mm, link, mm->taken.items[i], now);
    if (mm->taken.n)
        mm->links[link].touched |= RLT_MM_STALE;
}

/* Handles the first candidate c: computes its level again, and moves it back in the heap if that is higher.
 * Otherwise opens or fixes it, or finds that it stays. */
static void settle(rlt_maxmin *mm, rlt_mm_candidate c, rlt_time now)
{
    uint32_t link = (uint32_t)c;
    const rlt_mm_link *l = &mm->links[link];
    rlt_mm_share *s = &mm->shares[link];
    rlt_mm_claim claim = {left_on(mm, link), l->own_weight + s->open};
    if (s->mark == mm->epoch + HELD && l->own && s->key <= mm->lowest) {
        if (s->open == 0 && divide(claim.left, claim.weight) == s->rate) {
            drop(mm, link);
            return;
        }
        open_link(mm, link);
    }
    uint64_t key = claim.weight ? key_of(mm, claim.left, claim.weight) : mm->lowest;
    if (key == mm->lowest) {
        if (claim.weight || is_full(mm, link))
            claim_flows(mm, link, c, &claim);
        if (!claim.weight) {
            drop(mm, link);
            return;
        }
        key = key_of(mm, claim.left, claim.weight);
    }
    if (s->mark == mm->epoch + HELD && l->own && s->key < key)
        key = s->key; /* where it opens */
    if (key > mm->lowest || mm->candidates[0] < c) {
        candidate_down(mm, s->place, candidate(mm, key, link));
        return;
    }
    drop(mm, link);
    fix_link(mm, link, &claim, now);
}

/* ---- a solve ---- */

static int reserve(rlt_mm_list *list, uint64_t room)
{
    return room <= list->room
               ? 0
               : rlt_grow(&list->items, &list->room, sizeof(uint32_t), room, UINT32_MAX, "flows", NULL);
}

/* Makes room for everything that a solve may list, so that its inner loops cannot fail. Memory that is never
 * written costs nothing. */
static int reserve_all(rlt_maxmin *mm)
{
    int rc = reserve(&mm->component, mm->n_links);
    if (!rc)
        rc = reserve(&mm->queued, mm->n_links);
    if (!rc)
        rc = reserve(&mm->taken, mm->live);
    if (!rc && mm->candidates_room <= mm->n_links)
        rc = rlt_grow(&mm->candidates, &mm->candidates_room, sizeof(*mm->candidates),
                      (uint64_t)mm->n_links + 1, UINT32_MAX, "links", NULL);
    return rc;
}

/* Makes the changed links and the new flows the first candidates. */
static void begin(rlt_maxmin *mm)
{
    next_epoch(mm);
    mm->component.n = mm->queued.n = mm->n_candidates = 0;
    mm->lowest = 0;
    for (uint32_t i = 0; i < mm->touched.n; i++) {
        uint32_t link = mm->touched.items[i];
        if (mm->links[link].n && mm->links[link].touched & RLT_MM_CHANGED)
            reach(mm, link);
    }
    for (uint32_t i = 0; i < mm->started.n; i++) {
        rlt_mm_flow *f = &mm->flows[mm->started.items[i]];
        const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
        for (uint32_t k = 0; k < f->n; k++) /* the link has been reached, since it has changed */
            mm->shares[h[k].link].open += f->weight * rlt_maxmin_times(mm, &h[k]);
    }
    mm->waiting = mm->started.n;
    mm->started.n = mm->queued.n = 0;
    for (uint32_t i = 0; i < mm->component.n; i++)
        queue(mm, mm->component.items[i]);
}

/* Settles candidates until no flow is open and no candidate owns a flow. Then only full links may differ. */
static void settle_all(rlt_maxmin *mm, rlt_time now)
{
    bool looked = false; /* for full links since flows were last open */
    while (mm->n_candidates) {
        uint32_t i = looked ? 0 : mm->n_candidates;
        if (!mm->waiting && !looked)
            for (i = 0; i < mm->n_candidates && !is_full(mm, (uint32_t)mm->candidates[i]);)
                i++;
        if (!mm->waiting && i == mm->n_candidates)
            return;
        looked = !mm->waiting;
        rlt_mm_candidate c = mm->candidates[0];
        mm->lowest = (uint64_t)(c >> 64);
        settle(mm, c, now);
    }
}

static int end(rlt_maxmin *mm, rlt_time now)
{
    int rc = 0;
    for (uint32_t i = 0; i < mm->component.n && !rc; i++) {
        uint32_t link = mm->component.items[i];
        if (!mm->links[link].own)
            set_level(mm, link, INFINITY, now);
        if (mm->links[link].touched)
            rc = rlt__mm_completion(mm, link, rlt__mm_link_next(mm, link, now));
        mm->links[link].touched = 0;
    }
    return rc;
}

/* Gives flows that began alone on their links a rate without filling. The others stay in the list. */
static int start_alone(rlt_maxmin *mm, rlt_time now)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < mm->started.n; i++) {
        uint32_t flow = mm->started.items[i];
        const rlt_mm_hop *h = rlt_maxmin_hops(mm, &mm->flows[flow]);
        bool alone = mm->links[h->link].n == 1;
        int rc = alone ? rlt__mm_try_alone(mm, flow, now, &alone) : 0;
        if (rc)
            return rc;
        for (uint32_t k = 0; alone && k < mm->flows[flow].n; k++)
            mm->links[h[k].link].touched = RLT_MM_NOTED;
        if (!alone)
            mm->started.items[n++] = flow;
    }
    mm->started.n = n;
    return 0;
}

int rlt_maxmin_solve(rlt_maxmin *mm, rlt_time now)
{
    int rc = reserve_all(mm);
    if (!rc)
        rc = start_alone(mm, now);
    if (rc)
        return rc;
    begin(mm);
    settle_all(mm, now);
    rc = end(mm, now);
    for (uint32_t i = 0; i < mm->touched.n; i++) {
        rlt_mm_link *l = &mm->links[mm->touched.items[i]];
        if (l->touched && mm->note_idle && !rc)
            rc = rlt__mm_append(&mm->component, mm->touched.items[i]);
        l->touched = 0;
    }
    mm->touched.n = 0;
    return rc;
}
