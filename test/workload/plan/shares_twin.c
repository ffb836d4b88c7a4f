/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search of splits against a second one that lists the splits of each box one by one: all that it finds and
 * counts, in whatever way it ends, for items with few different times at random. And each allocation fails.
 */
#include "workload/plan/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/failing.h"
#include "test/support/support.h"

enum { CASES = 1200, ITEMS = 6, DIMS = RLT_MAX_DIMS, MOST = 4096 };

/* A case: the search that is asked, and what happens to it. */
typedef struct asked {
    rlt_share_search s;
    uint64_t seed, calls, fails_at, stops_at; /* fails_at: this call of the judge fails; 0: none */
    uint32_t coarse;                          /* times are whole multiples */
    bool wild;                                /* some splits are slower with more bandwidth */
    rlt_time bounds[ITEMS];
    uint64_t seen, seen_total;
} asked;

static int time_of(void *ctx, uint32_t item, const uint16_t at[RLT_MAX_DIMS], rlt_time *time_ps,
                   rlt_error *err)
{
    asked *a = ctx;
    double sum = 10 + 3.0 * (double)rlt_random_below(a->seed, 0, 0, item, 4);
    uint64_t key = item;
    if (++a->calls == a->fails_at)
        return rlt_fail(err, RLT_ERANGE, "judge", "fails");
    for (uint32_t d = 0; d < a->s.n_dims; d++) {
        sum += (double)rlt_random_below(a->seed, 1 + d, 0, item, 9) * a->s.steps / at[d];
        key = key * 64 + at[d];
    }
    if (a->wild && rlt_random_below(a->seed, 9, 0, key, 5) == 0)
        sum *= 1.5;
    *time_ps = (rlt_time)(sum / a->coarse) * a->coarse * 100;
    return 0;
}

static void see(void *ctx, uint64_t done, uint64_t total)
{
    asked *a = ctx;
    a->seen = done;
    a->seen_total += total;
}

static bool stops(void *ctx)
{
    const asked *a = ctx;
    return a->stops_at && a->calls >= a->stops_at;
}

typedef struct box {
    uint32_t item;
    uint16_t lo[DIMS], hi[DIMS];
    rlt_time bound_ps, time_ps;
} box;

typedef struct twin {
    asked *a;
    box open[MOST];
    uint32_t n;
    bool known[ITEMS];
    rlt_time best_ps;
    rlt_share_result r;
    rlt_share_point points[ITEMS];
} twin;

/* Lists the splits of a box by an odometer; `least` and `most` get the range of each dimension in them. */
static uint32_t list(const asked *a, const box *b, uint16_t least[DIMS], uint16_t most[DIMS])
{
    uint32_t n = a->s.n_dims, count = 0;
    uint16_t at[DIMS];
    memcpy(at, b->lo, sizeof at);
    for (;;) {
        uint32_t sum = 0, d = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += at[k];
        if (sum == a->s.steps) {
            for (uint32_t k = 0; k < n; k++) {
                least[k] = !count || at[k] < least[k] ? at[k] : least[k];
                most[k] = !count || at[k] > most[k] ? at[k] : most[k];
            }
            count++;
        }
        while (d < n && at[d] == b->hi[d]) {
            at[d] = b->lo[d];
            d++;
        }
        if (d == n)
            return count;
        at[d]++;
    }
}

static uint32_t sum_of(const twin *t, const uint16_t *x)
{
    uint32_t sum = 0;
    for (uint32_t d = 0; d < t->a->s.n_dims; d++)
        sum += x[d];
    return sum;
}

/* Of two boxes: the lesser bound, the smaller corner, the first item, the one that begins first. */
static int order(const twin *t, const box *a, const box *b)
{
    if (a->bound_ps != b->bound_ps)
        return a->bound_ps < b->bound_ps ? -1 : 1;
    if (sum_of(t, a->hi) != sum_of(t, b->hi))
        return sum_of(t, a->hi) < sum_of(t, b->hi) ? -1 : 1;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    for (uint32_t d = 0; d < t->a->s.n_dims; d++)
        if (a->lo[d] != b->lo[d])
            return a->lo[d] < b->lo[d] ? -1 : 1;
    return 0;
}

static int judge(twin *t, box *b, rlt_time above_ps)
{
    asked *a = t->a;
    rlt_error err = {0};
    uint16_t at[RLT_MAX_DIMS] = {0};
    if (stops(a) || (a->s.most && t->r.corners >= a->s.most))
        return RLT_ECANCELLED;
    memcpy(at, b->hi, sizeof b->hi);
    int rc = time_of(a, b->item, at, &b->time_ps, &err);
    if (rc)
        return rc;
    t->r.corners++;
    if (b->time_ps < above_ps) {
        t->r.faster++;
        t->r.most_faster = fmax(t->r.most_faster, 1 - (double)b->time_ps / (double)above_ps);
    }
    b->bound_ps = b->time_ps > b->bound_ps ? b->time_ps : b->bound_ps;
    return 0;
}

static void put(twin *t, const box *b)
{
    assert_true(t->n < MOST);
    t->open[t->n++] = *b;
}

static int open_items(twin *t)
{
    const rlt_share_search *s = &t->a->s;
    int rc = 0;
    for (uint32_t i = 0; i < s->n_items; i++) {
        box b = {.item = i};
        for (uint32_t d = 0; d < s->n_dims; d++) {
            b.lo[d] = 1;
            b.hi[d] = (uint16_t)(s->steps - s->n_dims + 1);
        }
        if (s->bound_ps)
            b.bound_ps = b.time_ps = s->bound_ps[i];
        else if (!rc)
            rc = judge(t, &b, 0);
        put(t, &b);
    }
    return rc;
}

static int cut(twin *t, const box *b)
{
    uint32_t at = 0;
    int rc = 0;
    for (uint32_t d = 1; d < t->a->s.n_dims; d++)
        if (b->hi[d] * b->lo[at] > b->hi[at] * b->lo[d])
            at = d;
    uint16_t middle = b->lo[at];
    while ((middle + 1) * (middle + 1) <= b->hi[at] * b->lo[at])
        middle++;
    for (int k = 0; k < 2; k++) {
        box part = *b;
        uint16_t least[DIMS] = {0}, most[DIMS] = {0};
        if (k)
            part.lo[at] = (uint16_t)(middle + 1);
        else
            part.hi[at] = middle;
        if (!list(t->a, &part, least, most))
            continue;
        memcpy(part.lo, least, sizeof least);
        memcpy(part.hi, most, sizeof most);
        if (!rc && memcmp(part.hi, b->hi, sizeof part.hi) != 0)
            rc = judge(t, &part, b->time_ps);
        put(t, &part);
    }
    return rc;
}

static bool ends(const twin *t, rlt_time bound_ps)
{
    const rlt_share_search *s = &t->a->s;
    double best = (double)t->best_ps, bound = (double)bound_ps;
    if (s->within > 0)
        return bound > best * (1 + s->within);
    return t->best_ps < RLT_TIME_MAX && bound >= best / (1 + s->gap);
}

static int go(twin *t)
{
    int rc = open_items(t);
    while (!rc && t->n) {
        uint32_t k = 0;
        uint16_t least[DIMS], most[DIMS];
        for (uint32_t i = 1; i < t->n; i++)
            k = order(t, &t->open[i], &t->open[k]) < 0 ? i : k;
        box b = t->open[k];
        if (ends(t, b.bound_ps))
            break;
        t->open[k] = t->open[--t->n];
        if (t->known[b.item]) {
            t->r.passed += list(t->a, &b, least, most);
        } else if (sum_of(t, b.hi) == t->a->s.steps) {
            rlt_share_point *p = &t->points[t->r.n++];
            *p = (rlt_share_point){.item = b.item, .time_ps = b.time_ps};
            memcpy(p->at, b.hi, sizeof b.hi);
            t->known[b.item] = true;
            t->r.judged++;
            t->best_ps = b.time_ps < t->best_ps ? b.time_ps : t->best_ps;
        } else {
            rc = cut(t, &b);
        }
    }
    return rc;
}

static void sort(twin *t)
{
    for (uint32_t i = 1; i < t->r.n; i++)
        for (uint32_t k = i; k > 0; k--) {
            rlt_share_point *a = &t->points[k - 1], *b = &t->points[k], swap = *a;
            if (a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->item < b->item))
                break;
            *a = *b;
            *b = swap;
        }
}

/* Does all that the search does. What is left is counted unless the judge failed. */
static int find(asked *a, twin *t)
{
    memset(t, 0, sizeof *t);
    t->a = a;
    t->best_ps = a->s.known_ps;
    t->r.least_open_ps = RLT_TIME_MAX;
    a->calls = 0;
    int rc = go(t);
    for (uint32_t i = 0; i < t->n && (!rc || rc == RLT_ECANCELLED); i++) {
        uint16_t least[DIMS], most[DIMS];
        const box *b = &t->open[i];
        *(t->known[b->item] ? &t->r.passed : &t->r.pruned) += list(a, b, least, most);
        if (!t->known[b->item] && b->bound_ps < t->r.least_open_ps)
            t->r.least_open_ps = b->bound_ps;
    }
    box all = {.item = 0};
    uint16_t least[DIMS], most[DIMS];
    for (uint32_t d = 0; d < a->s.n_dims; d++) {
        all.lo[d] = 1;
        all.hi[d] = (uint16_t)(a->s.steps - a->s.n_dims + 1);
    }
    t->r.pairs = (double)list(a, &all, least, most) * a->s.n_items;
    t->r.proven = !rc && !t->r.faster;
    sort(t);
    return rc;
}

static asked draw(dice *d)
{
    static const uint32_t most_steps[] = {20, 24, 16, 9, 4, 3, 2, 3};
    static const double shares[] = {0, 0, 1, 0.05, 0.3};
    static const uint32_t coarse[] = {1, 5, 9, 45};
    asked a = {.seed = roll(d, 1 << 30), .coarse = coarse[below(d, 4)], .wild = below(d, 3) == 0};
    a.s.n_dims = 1 + below(d, below(d, 8) ? 4 : DIMS);
    a.s.steps = a.s.n_dims + below(d, most_steps[a.s.n_dims - 1]);
    a.s.n_items = below(d, ITEMS + 1);
    a.s.time = time_of;
    a.s.known_ps = below(d, 4) ? RLT_TIME_MAX : 1000 + (rlt_time)roll(d, 6000);
    a.s.within = shares[below(d, 5)];
    a.s.gap = shares[below(d, 5)];
    if (below(d, 4) == 0)
        a.s.most = 1 + below(d, 30);
    if (below(d, 6) == 0)
        a.stops_at = 1 + below(d, 30);
    if (below(d, 8) == 0)
        a.fails_at = 1 + below(d, 20);
    return a;
}

/* Gives the times of the items' first corners, as a caller may. */
static void give_bounds(asked *a)
{
    rlt_error err = {0};
    uint16_t at[RLT_MAX_DIMS] = {0};
    for (uint32_t d = 0; d < a->s.n_dims; d++)
        at[d] = (uint16_t)(a->s.steps - a->s.n_dims + 1);
    uint64_t fails_at = a->fails_at;
    a->fails_at = 0;
    for (uint32_t i = 0; i < a->s.n_items; i++)
        assert_int_equal(time_of(a, i, at, &a->bounds[i], &err), 0);
    a->fails_at = fails_at;
    a->s.bound_ps = a->bounds;
}

static void compare(const rlt_share_result *r, const twin *t, int rc)
{
    const rlt_share_result *e = &t->r;
    bool left = !rc || rc == RLT_ECANCELLED;
    assert_true(r->n == e->n && r->corners == e->corners && r->faster == e->faster);
    assert_true(r->proven == e->proven && r->most_faster == e->most_faster && r->pairs == e->pairs);
    assert_true(r->judged == e->judged && r->passed == e->passed && r->pruned == e->pruned);
    assert_int_equal(r->least_open_ps, e->least_open_ps);
    assert_true(!left || r->judged + r->passed + r->pruned == r->pairs);
    for (uint32_t i = 0; i < r->n; i++) {
        assert_int_equal(r->points[i].item, t->points[i].item);
        assert_int_equal(r->points[i].time_ps, t->points[i].time_ps);
        assert_memory_equal(r->points[i].at, t->points[i].at, sizeof t->points[i].at);
    }
}

static void same_as_twin(void **state)
{
    static twin t;
    dice d = {.seed = 5};
    uint32_t ends[3] = {0}, found = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_error err = {0};
        rlt_share_result r;
        asked a = draw(&d);
        a.s.ctx = &a;
        if (below(&d, 3) == 0)
            give_bounds(&a);
        int expected = find(&a, &t);
        rlt_watch watch = {.ctx = &a, .progress = see, .stopped = stops};
        a.s.watch = &watch;
        a.calls = 0;
        assert_int_equal(rlt_shares_find(&a.s, &r, &err), expected);
        compare(&r, &t, expected);
        assert_true(a.seen == r.corners && a.seen_total == 0);
        assert_true(expected != RLT_ECANCELLED || strcmp(err.what, "stopped") == 0);
        assert_true(expected != RLT_ERANGE || strcmp(err.where, "judge") == 0);
        ends[expected == 0 ? 0 : expected == RLT_ECANCELLED ? 1 : 2]++;
        found += r.n;
        rlt_share_result_free(&r);
        assert_true(!r.points && !r.n);
    }
    print_message("# %u ended, %u were stopped, %u failed; %u splits\n", ends[0], ends[1], ends[2], found);
    assert_true(ends[0] > CASES / 3 && ends[1] > CASES / 20 && ends[2] > CASES / 30 && found > CASES / 2);
}

/* The example of the header: 8 steps, 2 dimensions, first cut at 2. */
static void by_hand(void **state)
{
    static twin t;
    asked a = {.s = {.n_dims = 2, .steps = 8, .n_items = 1, .time = time_of}};
    box b = {.lo = {1, 1}, .hi = {7, 7}, .time_ps = 1};
    (void)state;
    a.coarse = 1;
    t.a = &a;
    assert_int_equal(cut(&t, &b), 0);
    assert_true(t.n == 2 && t.open[0].hi[0] == 2 && t.open[0].hi[1] == 7);
    assert_true(t.open[1].hi[0] == 7 && t.open[1].hi[1] == 5);
    assert_true(rlt_shares_count(2, 8) == 7 && rlt_shares_count(1, 5) == 1 && rlt_shares_count(4, 4) == 1);
    assert_true(rlt_shares_count(4, 3) == 0 && rlt_shares_count(3, 10) == 36);
}

static int longest_time(void *ctx, uint32_t item, const uint16_t at[RLT_MAX_DIMS], rlt_time *time_ps,
                        rlt_error *err)
{
    (void)ctx, (void)item, (void)at, (void)err;
    *time_ps = RLT_TIME_MAX - 1;
    return 0;
}

/* Without a known time nothing is too slow. */
static void slowest(void **state)
{
    rlt_error err = {0};
    rlt_share_result r;
    rlt_share_search s = {.n_dims = 2, .steps = 4, .n_items = 1, .time = longest_time};
    (void)state;
    s.known_ps = RLT_TIME_MAX;
    s.gap = 1;
    assert_int_equal(rlt_shares_find(&s, &r, &err), 0);
    assert_true(r.n == 1 && r.points[0].time_ps == RLT_TIME_MAX - 1 && r.judged + r.passed == r.pairs);
    rlt_share_result_free(&r);
}

/* The least and the most that may be asked for, and one beyond. */
static void edges(void **state)
{
    static const struct {
        uint32_t dims, steps;
        const char *what;
    } cases[] = {{0, 4, "expected 0 to 4096 parts of a budget, got 4"},
                 {1, 1, NULL},
                 {3, 2, "expected 3 to 4096 parts of a budget, got 2"},
                 {RLT_MAX_DIMS, RLT_MAX_DIMS, NULL},
                 {RLT_MAX_DIMS + 1, 64, "expected 9 to 4096 parts of a budget, got 64"},
                 {1, RLT_MAX_STEPS, NULL},
                 {1, RLT_MAX_STEPS + 1, "expected 1 to 4096 parts of a budget, got 4097"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_error err = {0};
        rlt_share_result r;
        asked a = {.s = {.n_dims = cases[i].dims, .steps = cases[i].steps, .n_items = 1}, .coarse = 1};
        a.s.time = time_of;
        a.s.ctx = &a;
        a.s.known_ps = RLT_TIME_MAX;
        int rc = rlt_shares_find(&a.s, &r, &err);
        assert_int_equal(rc, cases[i].what ? RLT_ERANGE : 0);
        if (cases[i].what)
            assert_string_equal(err.what, cases[i].what);
        else
            assert_true(r.n == 1 && r.pairs == 1 && r.judged == 1 && r.least_open_ps == RLT_TIME_MAX);
        assert_true(cases[i].what || r.points[0].at[0] == cases[i].steps - cases[i].dims + 1);
        rlt_share_result_free(&r);
    }
}

static int fastest(const void *what, uint64_t *result, rlt_error *err)
{
    asked a = *(const asked *)what;
    rlt_share_result r;
    a.s.ctx = &a;
    int rc = rlt_shares_find(&a.s, &r, err);
    if (rc == RLT_ECANCELLED && a.s.most)
        rc = 0;
    else if (rc == 0)
        assert_true(r.judged + r.passed + r.pruned == r.pairs);
    assert_true(!rc || err->code == rc);
    *result = rc ? 0 : r.corners;
    rlt_share_result_free(&r);
    return rc;
}

static void each_allocation(void **state)
{
    unsigned long failed = 0;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        asked a = {.s = {.n_dims = 3, .steps = 12, .n_items = 4, .time = time_of}, .seed = i, .coarse = 10};
        a.s.known_ps = RLT_TIME_MAX;
        a.s.within = i % 2 ? 0.3 : 0;
        a.s.most = i / 2 ? 20 : 0;
        failed += test_each_allocation("splits", fastest, &a, false);
    }
    assert_true(!TEST_COUNTED || failed > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_twin), cmocka_unit_test(by_hand),         cmocka_unit_test(slowest),
        cmocka_unit_test(edges),        cmocka_unit_test(each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
