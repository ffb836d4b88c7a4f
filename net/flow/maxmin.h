/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact max-min fair sharing of links by flows, over time. Internal to net/; knows nothing of events or
 * ranks.
 *
 * Symbols: link l has capacity c_l; flow f crosses the links of its path and has rate x_f. Rates are max-min
 * fair if every flow has a bottleneck: a full link on its path on which no other flow is faster. They are
 * found by water filling: let R_l be the flows of link l that have no rate yet; among the links with
 * flows in R_l, the one with the least
 *
 *   level_l = (c_l - sum of the rates already given on l) / |R_l|
 *
 * freezes its flows of R_l at that level. They are its "own" flows. Repeat until every flow has a rate.
 *
 *   Example: link A (10 GB/s) carries flows 1 and 2, link B (8 GB/s) carries flows 2 and 3.
 *     B is lower (8/2 = 4 < 10/2 = 5): flows 2 and 3 get 4. Then A: (10 - 4)/1 = 6: flow 1 gets 6.
 *     When flow 3 ends, A is lower (10/2 = 5 < 8/1 = 8): flows 1 and 2 get 5.
 *
 * Virtual time. All own flows of a link have its level as their rate, so they share a virtual time V_l: the
 * bytes served to each of them. A flow that has r bytes left when it becomes an own flow of l ends when V_l
 * reaches its virtual finish F = V_l + r. The next completion at l is therefore
 *
 *   (lowest F among the own flows - V_l) / level_l
 *
 * from now, whatever happened to the other own flows meanwhile. A change of level touches no flow.
 *
 *   Example: flows 1, 2 and 3 begin with 12, 12 and 4 GB at 6, 4 and 4 GB/s. Flow 3 ends after 1 s. Then
 *   V_A = 6 and flow 2 has 8 GB left: it moves from B to A with F = 6 + 8 = 14. Flow 1 has F = 12. The level
 *   of A is now 5: flow 1 ends after (12 - 6) / 5 = 1.2 s more, and flow 2, then alone, after 2 GB / 8 GB/s.
 *
 * Flows of equal path and equal remaining bytes are merged into one flow with a weight. A flow may take a
 * whole multiple of its rate on a link.
 *
 * Sequence at one instant: drain the flows that end, start those that begin, then solve once. Bytes and times
 * are exact up to the rounding of doubles. A completion is rounded once, to the nearest picosecond (see
 * rlt_maxmin_drain).
 *
 * Flow ids are reused after rlt_maxmin_release. A path names no link twice.
 */
#ifndef RLT_NET_FLOW_MAXMIN_H
#define RLT_NET_FLOW_MAXMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* One link of a flow's path, and the flow's position in the list of that link. */
typedef struct rlt_mm_hop {
    uint32_t link, pos;
} rlt_mm_hop;

typedef struct rlt_mm_flow {
    uint32_t n;          /* number of links on its path */
    uint32_t weight;     /* equal messages that it stands for; each has the level of its bottleneck as rate */
    uint32_t bottleneck; /* link, or RLT_NONE until solved */
    uint32_t user;       /* free for the caller */
    rlt_mm_hop hop[2];   /* the path if n <= 2; else hop[0] = {index into long_hops, size class} */
} rlt_mm_flow;

/* A flow in the list of a link. `other` is a shortcut for the solver's inner loops, if the flow has weight
 * one, a bottleneck, and takes its rate once. For a flow of two links it is the other link; for a longer one
 * whose bottleneck is another link, that bottleneck. Otherwise it is RLT_MM_MANY | the multiple of its rate
 * that the flow takes of this link. */
typedef struct rlt_mm_entry {
    uint32_t flow, other;
} rlt_mm_entry;

/* Load of a link, in one struct so that it is written at once. */
typedef struct rlt_mm_load {
    uint32_t n, own : 31;
    uint32_t exact : 1;          /* the link's rlt_mm_share is valid */
    uint32_t weight, own_weight; /* sums of weight x multiple, over all flows and over own flows */
} rlt_mm_load;

/* One cache line. */
typedef struct rlt_mm_link {
    rlt_mm_entry *flows; /* all flows on it; the first `own` are its own, a binary heap by virtual finish */
    double capacity;     /* bytes a picosecond */
    double served;       /* V: bytes served to each own flow until `at` */
    rlt_time at;
    union {
        rlt_mm_load load;
        struct {
            uint32_t n, own : 31, exact : 1, weight, own_weight;
        };
    };
    uint32_t room;
    uint32_t heap;        /* position in the heap of completions, or RLT_NONE */
    uint32_t touched;     /* flags RLT_MM_CHANGED, ... */
    uint32_t ps_per_byte; /* picoseconds a byte; 0 if not a whole number */
} rlt_mm_link;

/* A rate in units of 2^-RLT_MM_FRACTION bytes a second. Sums of such rates are exact, so that they can be
 * updated and do not depend on the order of the flows. */
typedef __int128 rlt_mm_rate;

/* State of a link that the solver updates instead of looking at all its flows. It is not kept for a link
 * whose only flow is alone on all its links, see rlt__mm_exact. */
typedef struct rlt_mm_share {
    rlt_mm_rate rate;  /* of each own flow */
    rlt_mm_rate given; /* sum of weight x multiple x rate of the flows that have another bottleneck */
    uint64_t key;      /* the level, rounded; a solve sets RLT_MM_NEVER at links without own flows */
    uint32_t open;     /* during a solve: weight x multiple of open flows that are not own flows */
    uint32_t place;    /* during a solve: position in the heap of candidates, or RLT_NONE */
    uint32_t mark;     /* see maxmin_solve.c */
    uint32_t listed;   /* during a solve: already in the list of links to be queued */
    uint32_t waits;    /* during a solve: 1 for a candidate that owned flows when it became one */
} rlt_mm_share;

/* Own flows of a link that cross another link: sum of weight x multiple. */
typedef struct rlt_mm_pair {
    uint32_t link;
    int32_t weight;
} rlt_mm_pair;

typedef struct rlt_mm_paths {
    rlt_mm_pair *items; /* NULL: not kept */
    uint32_t n, room;
    bool tidy; /* one entry a link */
} rlt_mm_paths;

typedef struct rlt_mm_completion {
    rlt_time when;
    uint32_t link;
} rlt_mm_completion;

/* A rounded level in the high half; the kind and number of the link that would have it in the low half. One
 * number, so that a comparison takes no branch. */
typedef unsigned __int128 rlt_mm_candidate;

typedef struct rlt_mm_list {
    uint32_t *items;
    uint32_t n, room;
} rlt_mm_list;

enum {
    RLT_MM_CHANGED = 1, /* its flows or its capacity changed since the last solve */
    RLT_MM_STALE = 2,   /* its next completion must be recomputed */
    RLT_MM_NOTED = 4,   /* its rate changed, but nothing must be solved */
    RLT_MM_CLASSES = 30,
    RLT_MM_WIDE = 16, /* flows with more links than this have their hops in the order of link numbers */
    RLT_MM_FRACTION = 60,
};
#define RLT_MM_MANY  (1u << 31)
#define RLT_MM_NEVER UINT64_MAX

typedef struct rlt_maxmin {
    uint32_t n_links;
    rlt_mm_link *links;
    double *level; /* rate of each own flow of a link, bytes a picosecond; infinite without own flows */
    rlt_mm_share *shares;
    rlt_mm_paths *paths; /* of links with many own flows, or NULL while there are none; see maxmin_paths.c */
    uint64_t *bw_Bps;    /* capacity of each link, as given */
    uint32_t *kind;      /* kind of each link; orders links of equal level: lowest kind, then lowest number */
    bool *loose;         /* links that carry no rounding, see rlt_maxmin_drain */
    rlt_mm_flow *flows;
    double *finish; /* virtual finish of each flow; its size until it has a bottleneck */
    uint32_t n_flows, flow_room, finish_room, free_flow;
    bool has_times;     /* true once a flow takes a multiple of its rate */
    bool drained_times; /* value of has_times when mm->drained was filled */
    uint64_t live;      /* flows not yet drained */
    rlt_mm_hop *long_hops;
    uint32_t n_long, long_room, free_long[RLT_MM_CLASSES];
    rlt_mm_completion *completions; /* heap of links by next completion */
    uint32_t n_completions, completions_room;
    rlt_time latest; /* upper bound of all completions */
    rlt_mm_list touched, started, drained, scratch;
    rlt_mm_list component; /* links that the last solve looked at; with note_idle, all whose rate may have
                              changed */
    rlt_mm_list taken;     /* positions of flows that a link takes from others as own flows */
    rlt_mm_list queued;    /* links to be put into the heap of candidates */
    rlt_mm_candidate *candidates; /* heap of links by the level they would have, see rlt_maxmin_solve */
    uint64_t lowest;              /* rounded level that the solve has come to */
    uint32_t waiting;             /* sum of `waits` of the candidates, and new flows that are open */
    uint32_t n_candidates, candidates_room;
    uint32_t epoch;
    bool note_idle; /* also touch links that become idle, for callers that follow every rate */
} rlt_maxmin;

/* Creates a solver. Capacities are in bytes a second, all > 0. */
int rlt_maxmin_create(uint32_t n_links, const uint64_t *bw_Bps, rlt_maxmin **out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_maxmin_free(rlt_maxmin *mm);
/* Starts a flow of bytes > 0 over n > 0 links. Returns its id; *merged is true if it joined an equal flow
 * that already has this id. RLT_NONE when out of memory. */
uint32_t rlt_maxmin_start(rlt_maxmin *mm, rlt_time now, const uint32_t *links, uint32_t n, uint64_t bytes,
                          bool *merged);
/* As rlt_maxmin_start; the flow takes times[i] > 0 times its rate of links[i]. Also returns RLT_NONE if a
 * link would carry 2^31 messages at once. */
uint32_t rlt_maxmin_start_times(rlt_maxmin *mm, rlt_time now, const uint32_t *links, const uint32_t *times,
                                uint32_t n, uint64_t bytes, bool *merged);
/* Returns true if the path names no link twice. */
bool rlt_maxmin_is_simple(rlt_maxmin *mm, const uint32_t *links, uint32_t n);
/* Gives every flow its max-min rate. RLT_ENOMEM. */
int rlt_maxmin_solve(rlt_maxmin *mm, rlt_time now) RLT_MUST_USE;
/* Takes the flows that end now (`now` = rlt_maxmin_next()) off their links and lists them in mm->drained, in
 * a fixed order. Their paths stay readable until each is released. The bytes that rounding to whole
 * picoseconds added or removed are carried into V of the bottleneck, so that the bytes of a link do not
 * drift. A link in mm->loose carries nothing: a flow may cross several of its kind that are equally full, and
 * which of them owns it depends on their numbers, which differ in a folded network. RLT_ENOMEM. */
int rlt_maxmin_drain(rlt_maxmin *mm, rlt_time now) RLT_MUST_USE;
/* Takes a flow off its links before its end. Its path stays readable until it is released. RLT_ENOMEM. */
int rlt_maxmin_cancel(rlt_maxmin *mm, uint32_t flow) RLT_MUST_USE;
/* Changes the capacity of a link from now on, > 0. The next solve updates the flows. RLT_ENOMEM. */
int rlt_maxmin_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps) RLT_MUST_USE;
/* Returns the bytes not yet served of each message of the flow. */
double rlt_maxmin_remaining(const rlt_maxmin *mm, uint32_t flow, rlt_time now);
/* Returns the sum of the rates on a link, bytes a picosecond. O(flows on it). */
double rlt_maxmin_link_rate(const rlt_maxmin *mm, uint32_t link);

/* Returns the time of the next completion, or -1 when no flow is live. Valid after a solve. */
static inline rlt_time rlt_maxmin_next(const rlt_maxmin *mm)
{
    return mm->n_completions ? mm->completions[0].when : -1;
}

/* Returns true if rates are out of date. */
static inline bool rlt_maxmin_needs_solve(const rlt_maxmin *mm)
{
    return mm->touched.n != 0;
}

/* Returns the multiple of its rate that a flow takes of the link in whose list e is; below, of the link of
 * hop h. */
static inline uint32_t rlt__mm_times(rlt_mm_entry e)
{
    return e.other & RLT_MM_MANY ? e.other & ~RLT_MM_MANY : 1;
}

static inline uint32_t rlt_maxmin_times(const rlt_maxmin *mm, const rlt_mm_hop *h)
{
    return mm->has_times ? rlt__mm_times(mm->links[h->link].flows[h->pos]) : 1;
}

/* Returns the multiple of its rate that a flow in mm->drained took of the hop's link. */
static inline uint32_t rlt_maxmin_drained_times(const rlt_maxmin *mm, const rlt_mm_hop *h)
{
    return mm->drained_times ? h->pos : 1;
}

static inline rlt_mm_hop *rlt_maxmin_hops(const rlt_maxmin *mm, rlt_mm_flow *f)
{
    return f->n <= 2 ? f->hop : mm->long_hops + f->hop[0].link;
}

static inline void rlt_maxmin_release(rlt_maxmin *mm, uint32_t flow)
{
    rlt_mm_flow *f = &mm->flows[flow];
    if (f->n > 2) {
        mm->long_hops[f->hop[0].link].link = mm->free_long[f->hop[0].pos];
        mm->free_long[f->hop[0].pos] = f->hop[0].link;
    }
    f->user = mm->free_flow;
    mm->free_flow = flow;
}

/* Returns the rate of each message of a solved flow, bytes a picosecond. */
static inline double rlt_maxmin_rate(const rlt_maxmin *mm, uint32_t flow)
{
    uint32_t b = mm->flows[flow].bottleneck;
    return b == RLT_NONE ? 0 : mm->level[b];
}

/* Shared by the parts of the solver: maxmin.c (flows and lists), maxmin_store.c (records of flows),
 * maxmin_completions.c (heap), maxmin_solve.c (levels), maxmin_paths.c (where own flows go), maxmin_change.c
 * (links that change, flows cancelled). */
uint32_t rlt__mm_new_record(rlt_maxmin *mm);
int rlt__mm_long_path(rlt_maxmin *mm, uint32_t flow, uint32_t n) RLT_MUST_USE;
void rlt__mm_own_insert(rlt_maxmin *mm, uint32_t link, uint32_t flow);
void rlt__mm_own_remove(rlt_maxmin *mm, uint32_t link, uint32_t flow);
/* Sets the next completion of a link; `when` < 0 removes the link from the heap. */
int rlt__mm_completion(rlt_maxmin *mm, uint32_t link, rlt_time when) RLT_MUST_USE;
/* Takes the links whose completion is due out of the heap and lists them in mm->component. If all are due, as
 * in lockstep traffic, the heap is emptied at once. */
int rlt__mm_take_due(rlt_maxmin *mm, rlt_time now) RLT_MUST_USE;
rlt_time rlt__mm_link_next(const rlt_maxmin *mm, uint32_t link, rlt_time now);
/* Gives a new flow its rate at once if it is alone on its links; *alone says so. */
int rlt__mm_try_alone(rlt_maxmin *mm, uint32_t flow, rlt_time now, bool *alone) RLT_MUST_USE;
void rlt__mm_set_other(rlt_maxmin *mm, uint32_t flow);
/* Takes a flow off the lists of its links. It must no longer be among the own flows of its bottleneck. */
int rlt__mm_unlist(rlt_maxmin *mm, uint32_t flow) RLT_MUST_USE;
/* Marks a link as changed since the last solve; `how` is a flag RLT_MM_CHANGED, .... */
int rlt__mm_touch(rlt_maxmin *mm, uint32_t link, uint32_t how) RLT_MUST_USE;
void rlt__mm_set_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps);
/* Makes mm->shares[link] valid. Call it before the rate or the weight of a flow on the link changes. */
void rlt__mm_make_exact(rlt_maxmin *mm, uint32_t link);

/* Returns where the own flows of a link go, or NULL if they must be looked at. */
const rlt_mm_paths *rlt__mm_paths_of(rlt_maxmin *mm, uint32_t link);
void rlt__mm_paths_change(rlt_maxmin *mm, uint32_t link, uint32_t flow, int32_t messages);
void rlt__mm_paths_free(rlt_maxmin *mm);

/* Call it when messages of a flow become own flows of a link (> 0), or after they no longer are (< 0). */
static inline void rlt__mm_own_changed(rlt_maxmin *mm, uint32_t link, uint32_t flow, int32_t messages)
{
    if (mm->paths)
        rlt__mm_paths_change(mm, link, flow, messages);
}

static inline int rlt__mm_append(rlt_mm_list *list, uint32_t item)
{
    if (list->n == list->room) {
        int rc = rlt_grow(&list->items, &list->room, sizeof(uint32_t), (uint64_t)list->n + 1, UINT32_MAX,
                          "flows", NULL);
        if (rc)
            return rc;
    }
    list->items[list->n++] = item;
    return 0;
}

static inline void rlt__mm_exact(rlt_maxmin *mm, uint32_t link)
{
    if (!mm->links[link].exact)
        rlt__mm_make_exact(mm, link);
}

/* Returns the rate of each own flow of a link that has no other flows. */
static inline rlt_mm_rate rlt__mm_whole(const rlt_maxmin *mm, uint32_t link, uint32_t weight)
{
    return ((rlt_mm_rate)mm->bw_Bps[link] << RLT_MM_FRACTION) / weight;
}

/* Returns bytes a picosecond. Equal rates give equal doubles, on whatever link. */
static inline double rlt__mm_level(rlt_mm_rate rate)
{
    return (double)rate * 0x1p-60 * 1e-12;
}

/* The key of a level `high` x 2^shift, where `high` has at least 41 bits if shift > 0. */
static inline uint64_t rlt__mm_short_key(uint64_t high, int shift)
{
    int drop = high ? 23 - __builtin_clzll(high) : -1;
    if (drop < 0)
        return high;
    return ((uint64_t)(drop + shift + 1) << 39) + (((high >> drop) + 1) >> 1);
}

/*
 * Rounds a level, left / weight, to 40 significant bits. Keys are ordered like levels. Levels that are equal
 * in theory, but were rounded down on different ways, have the same key, and are then ordered by kind and
 * link: which link owns a flow matters to the last picosecond.
 */
static inline uint64_t rlt__mm_key(rlt_mm_rate left, uint32_t weight)
{
    uint64_t high = (uint64_t)(left >> 64);
    int shift = high ? 64 - __builtin_clzll(high) : 0;
    uint64_t level = (uint64_t)(left >> shift) / weight; /* the leading bits of left / weight */
    if (__builtin_expect(shift && level >> 40 == 0, 0)) {
        unsigned __int128 all = (unsigned __int128)left / weight;
        for (shift = 0; all >> 64; shift++)
            all >>= 1;
        level = (uint64_t)all;
    }
    return rlt__mm_short_key(level, shift);
}

/* Returns V of a link at `now`. */
static inline double rlt__mm_served(const rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    const rlt_mm_link *l = &mm->links[link];
    return now == l->at ? l->served : l->served + mm->level[link] * (double)(now - l->at);
}

#endif
