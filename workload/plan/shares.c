/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound over boxes of splits, best first. */
#include "workload/plan/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/watch.h"

enum { MAX_BOXES = 1 << 26 };

typedef struct box {
    rlt_time bound_ps; /* at most the time of each split, if bandwidth does not harm */
    rlt_time time_ps;  /* time on the corner */
    uint32_t item;
    uint16_t lo[RLT_MAX_DIMS], hi[RLT_MAX_DIMS];
} box;

typedef struct search {
    const rlt_share_search *asked;
    rlt_share_result *out;
    box *open;
    uint32_t n_open, room;
    rlt_time best_ps;
    bool *done; /* by item: its best split is known */
} search;

static uint32_t sum_of(const uint16_t x[RLT_MAX_DIMS], uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t d = 0; d < n; d++)
        sum += x[d];
    return sum;
}

/* Takes the smaller of two boxes with equal bounds first, so that a split comes up soon. */
static bool sooner(const search *s, const box *a, const box *b)
{
    uint32_t n = s->asked->n_dims, left = sum_of(a->hi, n), right = sum_of(b->hi, n);
    if (a->bound_ps != b->bound_ps)
        return a->bound_ps < b->bound_ps;
    if (left != right)
        return left < right;
    if (a->item != b->item)
        return a->item < b->item;
    for (uint32_t d = 0; d < n; d++)
        if (a->lo[d] != b->lo[d])
            return a->lo[d] < b->lo[d];
    return false;
}
RLT_HEAP(boxes, box, search, sooner)

/* Gives up what no split of the box reaches. It has some: in the box that was cut each number of steps from
 * lo to hi is reached. */
static void tighten(const search *s, box *b)
{
    uint32_t n = s->asked->n_dims, steps = s->asked->steps, least = sum_of(b->lo, n), most = sum_of(b->hi, n);
    for (uint32_t d = 0; d < n; d++) {
        uint32_t high = steps - (least - b->lo[d]), others = most - b->hi[d];
        uint32_t low = steps > others ? steps - others : 0;
        b->hi[d] = b->hi[d] > high ? (uint16_t)high : b->hi[d];
        b->lo[d] = b->lo[d] < low ? (uint16_t)low : b->lo[d];
    }
}

/* Adds the splits of a box to a count: ways to give out the steps above lo, a dimension after the other. */
static int add_splits(const search *s, const box *b, double *count, rlt_error *err)
{
    uint32_t n = s->asked->n_dims, left = s->asked->steps - sum_of(b->lo, n);
    double *ways = calloc((size_t)left + 1, sizeof *ways), *next = calloc((size_t)left + 1, sizeof *next);
    int rc = ways && next ? 0 : rlt_nomem(err);
    if (!rc)
        ways[0] = 1;
    for (uint32_t d = 0; d < n && !rc; d++) {
        uint32_t most = (uint32_t)b->hi[d] - b->lo[d];
        double window = 0;
        for (uint32_t x = 0; x <= left; x++) {
            window += ways[x] - (x > most ? ways[x - most - 1] : 0);
            next[x] = window;
        }
        double *swap = ways;
        ways = next;
        next = swap;
    }
    if (!rc)
        *count += ways[left];
    free(ways);
    free(next);
    return rc;
}

double rlt_shares_count(uint32_t n_dims, uint32_t steps)
{
    double count = 1;
    for (uint32_t d = 1; d < n_dims; d++) /* (steps - 1) over (n_dims - 1) */
        count = count * (steps - d) / d;
    return steps < n_dims ? 0 : count;
}

/* Returns the bound above which nothing is looked for. */
static double limit_of(const search *s)
{
    return s->asked->within > 0 ? (double)s->best_ps * (1 + s->asked->within)
                                : (double)s->best_ps / (1 + s->asked->gap);
}

/* Judges the corner of a box. `above_ps` is the time of a corner with more bandwidth; 0: none. */
static int judge(search *s, box *b, rlt_time above_ps, rlt_error *err)
{
    rlt_share_result *r = s->out;
    if (rlt_watch_stopped(s->asked->watch) || (s->asked->most && r->corners >= s->asked->most))
        return RLT_ECANCELLED;
    int rc = s->asked->time(s->asked->ctx, b->item, b->hi, &b->time_ps, err);
    if (rc)
        return rc;
    rlt_watch_progress(s->asked->watch, ++r->corners, 0);
    if (b->time_ps < above_ps) {
        double share = 1 - (double)b->time_ps / (double)above_ps;
        r->faster++;
        r->most_faster = share > r->most_faster ? share : r->most_faster;
    }
    b->bound_ps = b->time_ps > b->bound_ps ? b->time_ps : b->bound_ps;
    return 0;
}

static int push(search *s, const box *b, rlt_error *err)
{
    int rc = rlt_grow(&s->open, &s->room, sizeof *s->open, (uint64_t)s->n_open + 1, MAX_BOXES, "boxes", err);
    if (!rc)
        boxes_push(s, s->open, &s->n_open, *b);
    return rc;
}

/* Opens the box of all splits of each item. */
static int begin(search *s, rlt_error *err)
{
    const rlt_share_search *a = s->asked;
    int rc = 0;
    for (uint32_t i = 0; i < a->n_items; i++) {
        box all = {.item = i};
        for (uint32_t d = 0; d < a->n_dims; d++) {
            all.lo[d] = 1;
            all.hi[d] = (uint16_t)(a->steps - a->n_dims + 1);
        }
        if (a->bound_ps && !rc)
            all.bound_ps = all.time_ps = a->bound_ps[i];
        else if (!rc)
            rc = judge(s, &all, 0, err);
        int pushed = push(s, &all, rc ? NULL : err);
        rc = rc ? rc : pushed;
    }
    return rc;
}

/* Puts the two parts of a box in its place. A part that was not judged keeps the bound of the whole. */
static int cut(search *s, const box *b, rlt_error *err)
{
    uint32_t n = s->asked->n_dims, at = 0;
    int rc = 0;
    for (uint32_t d = 1; d < n; d++) /* by hi / lo, without division */
        if ((uint32_t)b->hi[d] * b->lo[at] > (uint32_t)b->hi[at] * b->lo[d])
            at = d;
    /* A box of several splits is wider than one step there: lo <= middle < hi. */
    uint32_t middle = (uint32_t)sqrt((double)b->lo[at] * b->hi[at]);
    for (int high = 0; high < 2; high++) {
        box part = *b;
        if (high)
            part.lo[at] = (uint16_t)(middle + 1);
        else
            part.hi[at] = (uint16_t)middle;
        tighten(s, &part);
        bool same = memcmp(part.hi, b->hi, sizeof part.hi) == 0;
        if (!rc && !same)
            rc = judge(s, &part, b->time_ps, err);
        int pushed = push(s, &part, rc ? NULL : err);
        rc = rc ? rc : pushed;
    }
    return rc;
}

static int take_split(search *s, const box *b, rlt_error *err)
{
    rlt_share_result *r = s->out;
    int rc = rlt_grow(&r->points, &r->room, sizeof *r->points, (uint64_t)r->n + 1, UINT32_MAX, "splits", err);
    if (rc)
        return rc;
    rlt_share_point *p = &r->points[r->n++];
    *p = (rlt_share_point){.item = b->item, .time_ps = b->time_ps};
    memcpy(p->at, b->hi, sizeof p->at);
    r->judged++;
    s->done[b->item] = true;
    s->best_ps = b->time_ps < s->best_ps ? b->time_ps : s->best_ps;
    return 0;
}

static int look(search *s, rlt_error *err)
{
    int rc = begin(s, err);
    while (!rc && s->n_open) {
        box next = boxes_pop(s, s->open, &s->n_open);
        /* an item that is only as fast as the best one counts if all within a share are asked for */
        bool out = s->asked->within > 0 ? (double)next.bound_ps > limit_of(s)
                                        : s->best_ps < RLT_TIME_MAX && (double)next.bound_ps >= limit_of(s);
        if (out) {
            boxes_push(s, s->open, &s->n_open, next);
            break;
        }
        if (s->done[next.item])
            rc = add_splits(s, &next, &s->out->passed, err);
        else if (sum_of(next.hi, s->asked->n_dims) == s->asked->steps)
            rc = take_split(s, &next, err);
        else
            rc = cut(s, &next, err);
    }
    return rc;
}

/* Counts what is left, by whether the item's best split is known. */
static int leave(search *s, rlt_error *err)
{
    rlt_share_result *r = s->out;
    int rc = 0;
    for (uint32_t i = 0; i < s->n_open && !rc; i++) {
        const box *b = &s->open[i];
        bool done = s->done[b->item];
        rc = add_splits(s, b, done ? &r->passed : &r->pruned, err);
        r->least_open_ps = !done && b->bound_ps < r->least_open_ps ? b->bound_ps : r->least_open_ps;
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const rlt_share_point *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

int rlt_shares_find(const rlt_share_search *a, rlt_share_result *out, rlt_error *err)
{
    search s = {.asked = a, .out = out, .best_ps = a->known_ps};
    *out = (rlt_share_result){.least_open_ps = RLT_TIME_MAX};
    if (a->n_dims < 1 || a->n_dims > RLT_MAX_DIMS || a->steps < a->n_dims || a->steps > RLT_MAX_STEPS)
        return rlt_fail(err, RLT_ERANGE, "steps", "expected %u to %d parts of a budget, got %u", a->n_dims,
                        RLT_MAX_STEPS, a->steps);
    out->pairs = rlt_shares_count(a->n_dims, a->steps) * a->n_items;
    s.done = calloc((size_t)a->n_items + 1, sizeof *s.done);
    int rc = s.done ? look(&s, err) : rlt_nomem(err);
    out->proven = rc == 0 && out->faster == 0;
    if (!rc || rc == RLT_ECANCELLED) {
        int counted = leave(&s, rc ? NULL : err);
        rc = counted && !rc ? counted : rc;
    }
    if (out->n)
        qsort(out->points, out->n, sizeof *out->points, by_time);
    free(s.open);
    free(s.done);
    return rc == RLT_ECANCELLED ? rlt_fail(err, rc, NULL, "stopped") : rc;
}

void rlt_share_result_free(rlt_share_result *r)
{
    free(r->points);
    *r = (rlt_share_result){0};
}
