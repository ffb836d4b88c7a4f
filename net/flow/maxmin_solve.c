/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes levels after a change, by water filling (Bertsekas, Gallager: "Data Networks", 6.5.2), only where
 * the change can have an effect: from the lowest level x0 that it can move, over the links that it can reach.
 *
 * For each touched link l let x_l = level_l (before the change) and, if a flow joined, x_l = min(level_l, c_l
 * / n_l), with capacity c_l and n_l flows after the change. x0 is the least x_l.
 *
 * All rates below x0 stay. A link that a flow left was no bottleneck at a level below its own. A link that a
 * flow joined gives each flow at least c_l / n_l, so it cannot be a bottleneck below that. Filling up to x0
 * therefore goes as before. Above x0, only links count that share a flow of rate >= x0 with a touched link,
 * directly or through a chain of such flows: the component.
 *
 *   Example: link A (10 GB/s) carries flows 1 and 2, link B (8 GB/s) carries flows 2 and 3. Rates are 6, 4
 *   and 4; the levels are 6 and 4. Flow 1 ends: x0 = 6, flows 2 and 3 keep 4, nothing else is looked at.
 *   If flow 3 ends instead, x0 = 4: flows 1 and 2 are open, the component is {A, B}, and both get 5.
 */
#include <math.h>
#include <string.h>

#include "net/flow/maxmin.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* Adds a link to the component, unless it is in it. Marks in this solve: epoch = in the component, epoch + 1
 * = frozen at its new level. The list has room. */
static inline void reach(rlt_maxmin *mm, uint32_t link)
{
    if (mm->levels[link].mark == mm->epoch)
        return;
    mm->levels[link].mark = mm->epoch;
    mm->component.items[mm->component.n++] = link;
}

static void next_epoch(rlt_maxmin *mm)
{
    if (mm->epoch > UINT32_MAX - 4) {
        for (uint32_t i = 0; i < mm->n_links; i++)
            mm->levels[i].mark = 0;
        for (uint32_t i = 0; i < mm->seen_room; i++)
            mm->seen[i] = 0;
        mm->epoch = 0;
    }
    mm->epoch += 2;
}

bool rlt_maxmin_is_simple(rlt_maxmin *mm, const uint32_t *links, uint32_t n)
{
    next_epoch(mm);
    for (uint32_t i = 0; i < n; i++) {
        if (mm->levels[links[i]].mark == mm->epoch)
            return false;
        mm->levels[links[i]].mark = mm->epoch;
    }
    return true;
}

static bool changed(const rlt_mm_link *l)
{
    return l->n && (l->touched & (RLT_MM_LEFT | RLT_MM_JOINED));
}

/* Returns x0, less a margin for the rounding noise of levels that are equal in theory. */
static double floor_level(const rlt_maxmin *mm)
{
    double x = INFINITY;
    for (uint32_t i = 0; i < mm->touched.n; i++) {
        const rlt_mm_link *l = &mm->links[mm->touched.items[i]];
        double level = mm->levels[mm->touched.items[i]].level;
        if (!changed(l))
            continue;
        if (level < x)
            x = level;
        double share = l->capacity / l->weight;
        if ((l->touched & RLT_MM_JOINED) && share < x)
            x = share;
    }
    return x * (1 - 1e-12);
}

/* Contribution of a flow to a link: a rate that stays, or a number of open messages. */
typedef struct rlt_mm_part {
    double kept;
    uint32_t open;
} rlt_mm_part;

/* Looks at a flow that needs its record. If it is open, its links are reached. */
static rlt_mm_part look_at(rlt_maxmin *mm, rlt_mm_entry e, double x0)
{
    rlt_mm_flow *f = &mm->flows[e.flow];
    uint32_t messages = f->weight * (e.other & ~RLT_MM_MANY);
    double rate = f->bottleneck == RLT_NONE ? INFINITY : mm->levels[f->bottleneck].level;
    if (rate < x0)
        return (rlt_mm_part){rate * messages, 0};
    if (f->n > RLT_MM_WIDE) {
        if (mm->seen[e.flow] == mm->epoch)
            return (rlt_mm_part){0, messages};
        mm->seen[e.flow] = mm->epoch;
    }
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++)
        reach(mm, h[i].link);
    return (rlt_mm_part){0, messages};
}

/* Looks at a plain flow, whose rate is the level of `other`. No branch depends on its side of x0, which
 * cannot be predicted. */
static inline rlt_mm_part look_through(rlt_maxmin *mm, uint32_t other, double x0)
{
    const rlt_mm_level *v = &mm->levels[other];
    uint64_t below = -(uint64_t)(v->level < x0), bits;
    rlt_mm_part part = {0, 1 + (uint32_t)below};
    memcpy(&bits, &v->level, sizeof(bits));
    bits &= below;
    memcpy(&part.kept, &bits, sizeof(bits));
    if (__builtin_expect(!below & (v->mark != mm->epoch), 0))
        reach(mm, other);
    return part;
}

/* Splits the flows of a link: some keep a rate below x0, the others are open. Reaches the links of open
 * flows. */
static void open_link(rlt_maxmin *mm, uint32_t link, double x0)
{
    const rlt_mm_link *l = &mm->links[link];
    const rlt_mm_entry *e = l->flows, *own_end = e + l->own, *end = e + l->n;
    double kept[2] = {0, 0}; /* two sums, because each addition waits for the one before */
    uint32_t open = 0;
    rlt_mm_part p, q;
    for (; e < own_end; e++) { /* own flows have this link's level, which is not below x0 */
        if (e->other & RLT_MM_MANY) {
            open += look_at(mm, *e, x0).open;
            continue;
        }
        open++;
        reach(mm, e->other);
    }
    for (; e + 1 < end; e += 2) {
        p = e[0].other & RLT_MM_MANY ? look_at(mm, e[0], x0) : look_through(mm, e[0].other, x0);
        q = e[1].other & RLT_MM_MANY ? look_at(mm, e[1], x0) : look_through(mm, e[1].other, x0);
        kept[0] += p.kept;
        kept[1] += q.kept;
        open += p.open + q.open;
    }
    if (e < end) {
        p = e->other & RLT_MM_MANY ? look_at(mm, *e, x0) : look_through(mm, e->other, x0);
        kept[0] += p.kept;
        open += p.open;
    }
    mm->levels[link].left = l->capacity - (kept[0] + kept[1]);
    mm->levels[link].count = open;
}

/* Collects the component above x0. A link in it may lie below x0 by the rounding noise of equal levels; x0 is
 * then lowered and the search repeated. */
static double open_component(rlt_maxmin *mm, double x0)
{
    bool again;
    do {
        again = false;
        next_epoch(mm);
        mm->component.n = 0;
        for (uint32_t i = 0; i < mm->touched.n; i++)
            if (changed(&mm->links[mm->touched.items[i]]))
                reach(mm, mm->touched.items[i]);
        for (uint32_t i = 0; i < mm->component.n && !again; i++) {
            uint32_t link = mm->component.items[i];
            again = mm->levels[link].level < x0;
            if (again)
                x0 = mm->levels[link].level * (1 - 1e-12);
            else
                open_link(mm, link, x0);
        }
    } while (again);
    return x0;
}

/*
 * Heap of candidates, ordered by (level, kind, link). The stored level may be out of date. Links freeze in
 * ascending order of level, so the share that is left for others only grows: an old level is a lower bound.
 *
 * Levels are compared by 40 of their 52 bits. Levels that are equal in theory, but differ by the noise of
 * sums in another order, must be ordered by kind and link: which link owns a flow matters to the last
 * picosecond.
 */
static inline rlt_mm_candidate candidate(const rlt_maxmin *mm, double level, uint32_t link)
{
    uint64_t bits;
    if (level <= 0)
        level = 0;
    memcpy(&bits, &level, sizeof(bits)); /* bits of positive doubles are ordered like their values */
    bits = (bits + 0x800) & ~(uint64_t)0xfff;
    return (rlt_mm_candidate)bits << 64 | (uint64_t)mm->kind[link] << 32 | link;
}

/* Puts item c at position i or below. Behind the heap stands the largest number. */
static inline void candidate_down(rlt_mm_candidate *a, uint32_t n, uint32_t i, rlt_mm_candidate c)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        child += (uint32_t)(a[child + 1] < a[child]);
        if (a[child] >= c)
            break;
        a[i] = a[child];
        i = child;
    }
    a[i] = c;
}

/* Removes the first item. */
static inline void candidate_pop(rlt_maxmin *mm)
{
    rlt_mm_candidate *a = mm->candidates;
    uint32_t n = --mm->n_candidates;
    rlt_mm_candidate c = a[n];
    a[n] = ~(rlt_mm_candidate)0;
    if (n)
        candidate_down(a, n, 0, c);
}

static void open_candidates(rlt_maxmin *mm)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < mm->component.n; i++) {
        uint32_t link = mm->component.items[i];
        const rlt_mm_level *v = &mm->levels[link];
        if (v->count)
            mm->candidates[n++] = candidate(mm, v->left / v->count, link);
    }
    mm->candidates[n] = ~(rlt_mm_candidate)0;
    for (uint32_t i = n / 2; i-- > 0;)
        candidate_down(mm->candidates, n, i, mm->candidates[i]);
    mm->n_candidates = n;
}

/* Removes the link of the lowest level from the heap and returns it; *level is at least `least`. RLT_NONE if
 * no flow is open. */
static uint32_t next_bottleneck(rlt_maxmin *mm, double least, double *level)
{
    rlt_mm_candidate *a = mm->candidates;
    while (mm->n_candidates) {
        uint32_t link = (uint32_t)a[0];
        const rlt_mm_level *v = &mm->levels[link];
        if (v->count) {
            double now = v->left / v->count;
            rlt_mm_candidate c = candidate(mm, now, link);
            if (c > a[0]) {
                candidate_down(a, mm->n_candidates, 0, c);
                if ((uint32_t)a[0] != link)
                    continue;
            }
            *level = now > least ? now : least; /* below only by noise */
        }
        candidate_pop(mm);
        if (v->count)
            return link;
    }
    return RLT_NONE;
}

/* Freezes a flow that needs its record at `link`, unless it is settled. */
static void freeze_flow(rlt_maxmin *mm, uint32_t link, uint32_t flow, double x)
{
    rlt_mm_flow *f = &mm->flows[flow];
    if (f->bottleneck != RLT_NONE && mm->levels[f->bottleneck].mark != mm->epoch)
        return;
    const rlt_mm_hop *h = rlt_maxmin_hops(mm, f);
    for (uint32_t i = 0; i < f->n; i++)
        if (mm->levels[h[i].link].mark == mm->epoch + 1)
            return;
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t messages = f->weight * rlt_maxmin_times(mm, &h[i]);
        mm->levels[h[i].link].left -= x * messages;
        mm->levels[h[i].link].count -= messages;
    }
    if (f->bottleneck != link)
        mm->moves.items[mm->moves.n++] = flow;
}

/* Gives all open flows of the link the rate x. */
static void freeze(rlt_maxmin *mm, uint32_t link, double x)
{
    const rlt_mm_link *l = &mm->links[link];
    const rlt_mm_entry *e = l->flows, *own_end = e + l->own, *end = e + l->n;
    rlt_mm_level *levels = mm->levels;
    const uint32_t epoch = mm->epoch;
    const double share[2] = {0, x};
    uint32_t *moves = mm->moves.items;
    uint32_t before = mm->moves.n, n_moves = before, waiting = levels[link].count;
    for (; e < end && waiting; e++) {
        if (e->other & RLT_MM_MANY) {
            uint32_t was = levels[link].count;
            mm->moves.n = n_moves;
            freeze_flow(mm, link, e->flow, x);
            n_moves = mm->moves.n;
            waiting -= was - levels[link].count;
            continue;
        }
        /* If the other link is outside the component, it keeps the flow at its level. If it is frozen, it has
         * just given the flow a level. No branches: the case cannot be predicted. */
        rlt_mm_level *v = &levels[e->other];
        uint32_t open = v->mark == epoch;
        v->left -= share[open];
        v->count -= open;
        waiting -= open;
        moves[n_moves] = e->flow;
        n_moves += open & (e >= own_end);
    }
    mm->moves.n = n_moves;
    levels[link].mark = epoch + 1;
    levels[link].left = x;
    if (mm->moves.n != before) {
        mm->groups.items[mm->groups.n++] = link;
        mm->groups.items[mm->groups.n++] = mm->moves.n;
    }
}

/* Advances V to now on links whose level changes, then sets the new level. */
static void set_levels(rlt_maxmin *mm, rlt_time now)
{
    for (uint32_t i = 0; i < mm->component.n; i++) {
        uint32_t link = mm->component.items[i];
        rlt_mm_link *l = &mm->links[link];
        rlt_mm_level *v = &mm->levels[link];
        double level = v->mark == mm->epoch + 1 ? v->left : INFINITY;
        if (level == v->level)
            continue;
        l->served = l->own ? rlt__mm_served(mm, link, now) : 0;
        l->at = now;
        l->touched |= RLT_MM_STALE;
        v->level = level;
    }
}

/* Moves flows to their new bottlenecks with the bytes they have left: F_new = V_new + (F_old - V_old). */
static void move_flows(rlt_maxmin *mm, rlt_time now)
{
    uint32_t i = 0;
    for (uint32_t g = 0; g < mm->groups.n; g += 2) {
        uint32_t link = mm->groups.items[g];
        double served = rlt__mm_served(mm, link, now);
        for (; i < mm->groups.items[g + 1]; i++) {
            uint32_t flow = mm->moves.items[i], old = mm->flows[flow].bottleneck;
            if (old != RLT_NONE) {
                mm->finish[flow] -= rlt__mm_served(mm, old, now);
                rlt__mm_own_remove(mm, old, flow);
                mm->links[old].touched |= RLT_MM_STALE;
            }
            mm->finish[flow] += served;
            mm->flows[flow].bottleneck = link;
            rlt__mm_own_insert(mm, link, flow);
            if (old == RLT_NONE)
                rlt__mm_set_other(mm, flow);
        }
        mm->links[link].touched |= RLT_MM_STALE;
    }
}

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
        rc = reserve(&mm->groups, (uint64_t)mm->n_links * 2);
    if (!rc)
        rc = reserve(&mm->moves, mm->live + 1); /* one more is written before it is known to count */
    if (!rc && mm->candidates_room <= mm->n_links)
        rc = rlt_grow(&mm->candidates, &mm->candidates_room, sizeof(*mm->candidates),
                      (uint64_t)mm->n_links + 1, UINT32_MAX, "links", NULL);
    return rc;
}

static int fill(rlt_maxmin *mm, double x, rlt_time now)
{
    const double least = open_component(mm, x);
    open_candidates(mm);
    mm->moves.n = mm->groups.n = 0;
    for (uint32_t link; (link = next_bottleneck(mm, least, &x)) != RLT_NONE;)
        freeze(mm, link, x);
    set_levels(mm, now);
    move_flows(mm, now);
    int rc = 0;
    for (uint32_t i = 0; i < mm->component.n && !rc; i++) {
        uint32_t link = mm->component.items[i];
        if (mm->links[link].touched)
            rc = rlt__mm_completion(mm, link, rlt__mm_link_next(mm, link, now));
        mm->links[link].touched = 0;
    }
    return rc;
}

/* Gives flows that began alone on their links a rate without filling. */
static int start_alone(rlt_maxmin *mm, rlt_time now)
{
    for (uint32_t i = 0; i < mm->started.n; i++) {
        uint32_t flow = mm->started.items[i];
        const rlt_mm_hop *h = rlt_maxmin_hops(mm, &mm->flows[flow]);
        if (mm->links[h->link].n != 1)
            continue;
        bool alone;
        int rc = rlt__mm_try_alone(mm, flow, now, &alone);
        if (rc)
            return rc;
        for (uint32_t k = 0; alone && k < mm->flows[flow].n; k++)
            mm->links[h[k].link].touched = RLT_MM_NOTED;
    }
    mm->started.n = 0;
    return 0;
}

int rlt_maxmin_solve(rlt_maxmin *mm, rlt_time now)
{
    mm->component.n = 0;
    int rc = reserve_all(mm);
    if (!rc)
        rc = start_alone(mm, now);
    if (rc)
        return rc;
    double x0 = floor_level(mm);
    if (x0 < INFINITY)
        rc = fill(mm, x0, now);
    for (uint32_t i = 0; i < mm->touched.n; i++) {
        rlt_mm_link *l = &mm->links[mm->touched.items[i]];
        if (l->touched && mm->note_idle && !rc)
            rc = rlt__mm_append(&mm->component, mm->touched.items[i]);
        l->touched = 0;
    }
    mm->touched.n = 0;
    return rc;
}
