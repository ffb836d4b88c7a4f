/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact max-min fair sharing of links by flows, over time. Internal to
 * net/; knows nothing of events or ranks.
 *
 * A link that is saturated by the flows it limits is their bottleneck. All these flows (its "own" flows) have
 * one rate, the link's level, so they share a virtual time V: the bytes served to each of them. A flow ends
 * when V reaches the flow's virtual finish. The next completion at a link is therefore
 *   (lowest finish - V) / level
 * away, whatever happened to the link's other flows meanwhile, and a change of level touches no flow. Flows
 * of equal path and remaining bytes are merged into one flow with a weight. A flow may take a whole multiple
 * of its rate on a link.
 *
 * Sequence at one instant: drain what ends, start what begins, then solve once. Bytes and times are exact up
 * to the rounding of doubles; a completion is rounded once, to the nearest picosecond (see rlt_maxmin_drain).
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

/* One link of a flow's path, and where the flow stands in that link's list. */
typedef struct rlt_mm_hop {
    uint32_t link, pos;
} rlt_mm_hop;

typedef struct rlt_mm_flow {
    uint32_t n;          /* links of its path */
    uint32_t weight;     /* equal messages it stands for; each has the link's level as its rate */
    uint32_t bottleneck; /* link, or RLT_NONE until solved */
    uint32_t user;       /* the caller's */
    rlt_mm_hop hop[2];   /* the path if n <= 2; else hop[0] = {index into long_hops, size class} */
} rlt_mm_flow;

/* A flow in a link's list. `other` is the other link of a flow of two links and weight one that has a
 * bottleneck and takes its rate of each: the solver's inner loops then need not look at the flow. Else it is
 * RLT_MM_MANY | how many times its rate the flow takes of this link. */
typedef struct rlt_mm_entry {
    uint32_t flow, other;
} rlt_mm_entry;

/* What is on a link: written at once where a flow comes alone or goes. */
typedef struct rlt_mm_load {
    uint32_t n, own;
    uint32_t weight, own_weight; /* sums over flows, over own flows, of weight x times */
} rlt_mm_load;

/* One cache line. */
typedef struct rlt_mm_link {
    rlt_mm_entry *flows; /* the first `own` are its own, a binary heap by virtual finish */
    double capacity;     /* bytes a picosecond */
    double served;       /* V: bytes served to each own flow up to `at` */
    rlt_time at;
    union {
        rlt_mm_load load;
        struct {
            uint32_t n, own, weight, own_weight;
        };
    };
    uint32_t room;
    uint32_t heap;        /* place in the heap of completions, or RLT_NONE */
    uint32_t touched;     /* RLT_MM_LEFT | ... */
    uint32_t ps_per_byte; /* 0: not a whole number */
} rlt_mm_link;

/* What the solver's inner loops read of a link. */
typedef struct rlt_mm_level {
    double level; /* bytes a picosecond of each own flow; infinite without own flows */
    double left;  /* scratch: capacity not yet given away; the new level once frozen */
    uint32_t count, mark;
} rlt_mm_level;

typedef struct rlt_mm_completion {
    rlt_time when;
    uint32_t link;
} rlt_mm_completion;

/* A level and, in the low half, the kind and number of the link that would have it. One number, so that
 * comparing takes no branch. */
typedef unsigned __int128 rlt_mm_candidate;

typedef struct rlt_mm_list {
    uint32_t *items;
    uint32_t n, room;
} rlt_mm_list;

enum {
    RLT_MM_LEFT = 1,   /* a flow left the link since the last solve */
    RLT_MM_JOINED = 2, /* a flow joined */
    RLT_MM_STALE = 4,  /* its next completion must be computed again */
    RLT_MM_NOTED = 8,  /* its rate changed, but there is nothing to solve */
    RLT_MM_CLASSES = 30,
    RLT_MM_WIDE = 16, /* hops of flows of more links are in the order of links */
};
#define RLT_MM_MANY (1u << 31)

typedef struct rlt_maxmin {
    uint32_t n_links;
    rlt_mm_link *links;
    rlt_mm_level *levels;
    uint64_t *bw_Bps; /* of each link, as given */
    uint32_t *kind;   /* of each link: of links of equal level the lowest kind, then number, comes first */
    rlt_mm_flow *flows;
    double *finish; /* virtual finish of each flow; its size while it has no bottleneck */
    uint32_t n_flows, flow_room, finish_room, free_flow;
    uint32_t *seen; /* epoch in which a wide flow's links were all reached */
    uint32_t seen_room;
    bool has_times;     /* a flow has taken more than once its rate of a link */
    bool drained_times; /* so it had when mm->drained was filled */
    uint64_t live;      /* flows not yet drained */
    rlt_mm_hop *long_hops;
    uint32_t n_long, long_room, free_long[RLT_MM_CLASSES];
    rlt_mm_completion *completions; /* heap of links by next completion */
    uint32_t n_completions, completions_room;
    rlt_time latest; /* none of them is later */
    rlt_mm_list touched, started, drained, scratch;
    rlt_mm_list component; /* links of the last solve; with note_idle, all whose rate may have changed */
    rlt_mm_list moves;     /* flows that change their bottleneck, grouped by the new one */
    rlt_mm_list groups;    /* pairs: new bottleneck, end of its group in moves */
    rlt_mm_candidate *candidates; /* heap of links by the level they would have, see rlt_maxmin_solve */
    uint32_t n_candidates, candidates_room;
    uint32_t epoch;
    bool note_idle; /* also touch links that fall idle (someone follows every change of a rate) */
} rlt_maxmin;

/* Capacities in bytes a second, all > 0. */
int rlt_maxmin_create(uint32_t n_links, const uint64_t *bw_Bps, rlt_maxmin **out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_maxmin_free(rlt_maxmin *mm);
/* A flow of bytes > 0 over n > 0 links begins now. Its id; *merged tells that it joined an equal flow that
 * has this id already. RLT_NONE when out of memory. */
uint32_t rlt_maxmin_start(rlt_maxmin *mm, rlt_time now, const uint32_t *links, uint32_t n, uint64_t bytes,
                          bool *merged);
/* The same, taking times[i] > 0 times the flow's rate of links[i]. RLT_NONE also when a link would carry 2^31
 * messages at once. */
uint32_t rlt_maxmin_start_times(rlt_maxmin *mm, rlt_time now, const uint32_t *links, const uint32_t *times,
                                uint32_t n, uint64_t bytes, bool *merged);
/* True if the path names no link twice. */
bool rlt_maxmin_is_simple(rlt_maxmin *mm, const uint32_t *links, uint32_t n);
/* Gives every flow its rate. RLT_ENOMEM. */
int rlt_maxmin_solve(rlt_maxmin *mm, rlt_time now) RLT_MUST_USE;
/* Takes the flows that end now (`now` = rlt_maxmin_next()) off their links; mm->drained lists them in a fixed
 * order. Their paths stay readable until each is released. What rounding to whole picoseconds gave or took is
 * carried into the bottleneck's V, so that a link's bytes do not drift. RLT_ENOMEM. */
int rlt_maxmin_drain(rlt_maxmin *mm, rlt_time now) RLT_MUST_USE;
/* Takes a flow off its links before its end; its path stays readable until it is released. RLT_ENOMEM. */
int rlt_maxmin_cancel(rlt_maxmin *mm, uint32_t flow) RLT_MUST_USE;
/* From now on the link has this capacity, > 0; the next solve sees to its flows. RLT_ENOMEM. */
int rlt_maxmin_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps) RLT_MUST_USE;
/* Bytes of each of the flow's messages not yet served. */
double rlt_maxmin_remaining(const rlt_maxmin *mm, uint32_t flow, rlt_time now);
/* Sum of the rates on a link, bytes a picosecond. O(flows on it). */
double rlt_maxmin_link_rate(const rlt_maxmin *mm, uint32_t link);

/* Time of the next completion, or -1 when no flow is live. Valid after a solve. */
static inline rlt_time rlt_maxmin_next(const rlt_maxmin *mm)
{
    return mm->n_completions ? mm->completions[0].when : -1;
}

/* True if rates are out of date. */
static inline bool rlt_maxmin_needs_solve(const rlt_maxmin *mm)
{
    return mm->touched.n != 0;
}

/* How many times its rate the flow takes of the link whose entry that is, or of a hop's. */
static inline uint32_t rlt__mm_times(rlt_mm_entry e)
{
    return e.other & RLT_MM_MANY ? e.other & ~RLT_MM_MANY : 1;
}

static inline uint32_t rlt_maxmin_times(const rlt_maxmin *mm, const rlt_mm_hop *h)
{
    return mm->has_times ? rlt__mm_times(mm->links[h->link].flows[h->pos]) : 1;
}

/* How many times its rate a flow in mm->drained took of the hop's link. */
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

/* Rate of each message of a solved flow, bytes a picosecond. */
static inline double rlt_maxmin_rate(const rlt_maxmin *mm, uint32_t flow)
{
    uint32_t b = mm->flows[flow].bottleneck;
    return b == RLT_NONE ? 0 : mm->levels[b].level;
}

/* Between the parts of the solver: maxmin.c (flows, lists), maxmin_store.c (records of flows),
 * maxmin_completions.c, maxmin_solve.c (levels) and maxmin_change.c (flows and links that change). */
uint32_t rlt__mm_new_record(rlt_maxmin *mm);
int rlt__mm_long_path(rlt_maxmin *mm, uint32_t flow, uint32_t n) RLT_MUST_USE;
void rlt__mm_own_insert(rlt_maxmin *mm, uint32_t link, uint32_t flow);
void rlt__mm_own_remove(rlt_maxmin *mm, uint32_t link, uint32_t flow);
/* Sets a link's next completion, or takes it out of the heap (when < 0). */
int rlt__mm_completion(rlt_maxmin *mm, uint32_t link, rlt_time when) RLT_MUST_USE;
rlt_time rlt__mm_link_next(const rlt_maxmin *mm, uint32_t link, rlt_time now);
/* If nothing else uses the links of a new flow: gives it its rate at once. */
int rlt__mm_try_alone(rlt_maxmin *mm, uint32_t flow, rlt_time now, bool *alone) RLT_MUST_USE;
void rlt__mm_set_other(rlt_maxmin *mm, uint32_t flow);
/* Takes a flow, no longer among its bottleneck's own, off its links. */
int rlt__mm_unlist(rlt_maxmin *mm, uint32_t flow) RLT_MUST_USE;
/* The link has changed as `how` says since the last solve. */
int rlt__mm_touch(rlt_maxmin *mm, uint32_t link, uint32_t how) RLT_MUST_USE;
void rlt__mm_set_capacity(rlt_maxmin *mm, uint32_t link, uint64_t bw_Bps);

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

/* V of a link now. */
static inline double rlt__mm_served(const rlt_maxmin *mm, uint32_t link, rlt_time now)
{
    const rlt_mm_link *l = &mm->links[link];
    return now == l->at ? l->served : l->served + mm->levels[link].level * (double)(now - l->at);
}

#endif
