/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search of splits against a walk over all of them, for items whose times fall with bandwidth, at random. */
#include "workload/plan/shares.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 400, ITEMS = 12, TERMS = 4 };

/* An item takes a fixed time, and for each term the longest of bytes / bandwidth over the dimensions. */
typedef struct item {
    double fixed, bytes[TERMS][4];
} item;

typedef struct pool {
    item items[ITEMS];
    uint32_t n, dims, steps;
    uint64_t calls;
    uint32_t slower_from; /* planted: an item is slower with at least so many steps in dimension 0; 0: none */
} pool;

static int time_of(void *ctx, uint32_t i, const uint16_t at[RLT_MAX_DIMS], rlt_time *time_ps, rlt_error *err)
{
    pool *p = ctx;
    double sum = p->items[i].fixed;
    (void)err;
    p->calls++;
    for (int t = 0; t < TERMS; t++) {
        double most = 0;
        for (uint32_t d = 0; d < p->dims; d++) {
            double x = p->items[i].bytes[t][d] / at[d];
            most = x > most ? x : most;
        }
        sum += most;
    }
    if (p->slower_from && at[0] >= p->slower_from)
        sum *= 20;
    *time_ps = (rlt_time)(sum * 1e6);
    return 0;
}

static pool draw(dice *r)
{
    pool p = {.n = 1 + below(r, ITEMS), .dims = 1 + below(r, 4)};
    p.steps = p.dims + below(r, p.dims == 4 ? 12 : 24);
    for (uint32_t i = 0; i < p.n; i++) {
        p.items[i].fixed = 1 + fraction(r);
        for (int t = 0; t < TERMS; t++)
            for (uint32_t d = 0; d < p.dims; d++)
                p.items[i].bytes[t][d] = below(r, 2) ? fraction(r) * p.steps / 4 : 0;
    }
    return p;
}

/* Walks all splits; returns how many there are. */
static double walk(pool *p, rlt_time best[ITEMS])
{
    uint16_t at[RLT_MAX_DIMS] = {0};
    double n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        best[i] = RLT_TIME_MAX;
    for (uint32_t code = 0, codes = 1; code < codes; code++) {
        uint32_t left = p->steps, rest = code;
        codes = 1;
        for (uint32_t d = 0; d + 1 < p->dims; d++) {
            codes *= p->steps;
            at[d] = (uint16_t)(rest % p->steps);
            rest /= p->steps;
            left = at[d] && left > at[d] ? left - at[d] : 0;
        }
        at[p->dims - 1] = (uint16_t)left;
        n += left > 0;
        for (uint32_t i = 0; i < p->n && left > 0; i++) {
            rlt_time t;
            assert_int_equal(time_of(p, i, at, &t, NULL), 0);
            best[i] = t < best[i] ? t : best[i];
        }
    }
    return n;
}

static rlt_time least_of(const pool *p, const rlt_time best[ITEMS])
{
    rlt_time least = RLT_TIME_MAX;
    for (uint32_t i = 0; i < p->n; i++)
        least = best[i] < least ? best[i] : least;
    return least;
}

static rlt_share_search search_of(pool *p)
{
    return (rlt_share_search){.n_dims = p->dims,
                              .steps = p->steps,
                              .n_items = p->n,
                              .time = time_of,
                              .ctx = p,
                              .known_ps = RLT_TIME_MAX};
}

static void check_counts(const rlt_share_result *r, double pairs)
{
    double sum = r->judged + r->pruned + r->passed;
    if (sum < pairs || sum > pairs || r->pairs < pairs || r->pairs > pairs)
        fail_msg("%g + %g + %g pairs are not %g", r->judged, r->pruned, r->passed, pairs);
}

/* All items within a share of the best are found, with the times of the walk. */
static void check_within(pool *p, const rlt_time best[ITEMS], double pairs, double within)
{
    rlt_error err = {0};
    rlt_share_result r;
    rlt_share_search s = search_of(p);
    rlt_time limit = (rlt_time)((double)least_of(p, best) * (1 + within));
    uint32_t expected = 0;
    s.within = within;
    assert_int_equal(rlt_shares_find(&s, &r, &err), 0);
    assert_true(r.proven && r.faster == 0);
    for (uint32_t i = 0; i < p->n; i++)
        expected += best[i] <= limit;
    assert_true(r.n >= (within > 0 ? expected : 1));
    for (uint32_t k = 0; k < r.n; k++) {
        rlt_time t;
        uint32_t sum = 0;
        for (uint32_t d = 0; d < p->dims; d++)
            sum += r.points[k].at[d];
        assert_int_equal(sum, p->steps);
        assert_int_equal(time_of(p, r.points[k].item, r.points[k].at, &t, &err), 0);
        assert_int_equal(t, r.points[k].time_ps);
        assert_int_equal(t, best[r.points[k].item]);
        assert_true(k == 0 || r.points[k - 1].time_ps <= t);
    }
    assert_int_equal(r.points[0].time_ps, least_of(p, best));
    assert_true(r.least_open_ps >= (within > 0 ? limit : r.points[0].time_ps));
    check_counts(&r, pairs);
    rlt_share_result_free(&r);
}

static void same_as_walk(void **state)
{
    dice r = {.seed = 41};
    uint64_t walked = 0, judged = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_time best[ITEMS];
        pool p = draw(&r);
        double splits = walk(&p, best);
        assert_true(splits >= rlt_shares_count(p.dims, p.steps) &&
                    splits <= rlt_shares_count(p.dims, p.steps));
        walked += p.calls;
        p.calls = 0;
        check_within(&p, best, splits * p.n, 0);
        judged += p.calls;
        check_within(&p, best, splits * p.n, 0.1);
    }
    print_message("# %llu times judged, %llu by the walk\n", (unsigned long long)judged,
                  (unsigned long long)walked);
    assert_true(judged * 4 < walked);
}

/* A search that is stopped, or need not be exact, says how far it is. */
static void partly(void **state)
{
    dice r = {.seed = 42};
    uint32_t stopped = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_error err = {0};
        rlt_time best[ITEMS];
        rlt_share_result found;
        pool p = draw(&r);
        double pairs = walk(&p, best) * p.n;
        rlt_share_search s = search_of(&p);
        s.most = 1 + below(&r, 20);
        int rc = rlt_shares_find(&s, &found, &err);
        assert_true(rc == 0 || (rc == RLT_ECANCELLED && !found.proven));
        stopped += rc != 0;
        check_counts(&found, pairs);
        assert_true(found.corners <= s.most);
        assert_true(rc == 0 || found.least_open_ps <= least_of(&p, best));
        rlt_share_result_free(&found);
        s.most = 0;
        s.gap = 0.1;
        s.known_ps = (rlt_time)((double)least_of(&p, best) * (1 + 0.2 * fraction(&r)));
        assert_int_equal(rlt_shares_find(&s, &found, &err), 0);
        rlt_time reached = found.n ? found.points[0].time_ps : s.known_ps;
        reached = reached < s.known_ps ? reached : s.known_ps;
        assert_true((double)reached <= (double)least_of(&p, best) * 1.1 + 1);
        check_counts(&found, pairs);
        rlt_share_result_free(&found);
    }
    assert_true(stopped > CASES / 4);
}

/* An item that more bandwidth makes slower is noticed, and nothing is proven then. */
static void slower_with_more(void **state)
{
    dice r = {.seed = 43};
    uint32_t noticed = 0, cases = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_error err = {0};
        rlt_share_result found;
        pool p = draw(&r);
        rlt_share_search s = search_of(&p);
        if (p.dims < 2 || p.steps < 8)
            continue;
        p.slower_from = p.steps / 2;
        assert_int_equal(rlt_shares_find(&s, &found, &err), 0);
        assert_true(found.proven == (found.faster == 0) && found.most_faster < 0.96);
        noticed += found.faster > 0;
        cases++;
        rlt_share_result_free(&found);
    }
    assert_true(noticed * 10 > cases * 9);
}

static void wrong_steps(void **state)
{
    static const uint32_t wrong[][2] = {{0, 4}, {3, 2}, {9, 64}, {2, RLT_MAX_STEPS + 1}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_error err = {0};
        rlt_share_result found;
        pool p = {.n = 1, .dims = wrong[i][0], .steps = wrong[i][1]};
        rlt_share_search s = search_of(&p);
        assert_int_equal(rlt_shares_find(&s, &found, &err), RLT_ERANGE);
        assert_string_equal(err.where, "steps");
        rlt_share_result_free(&found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_walk),
        cmocka_unit_test(partly),
        cmocka_unit_test(slower_with_more),
        cmocka_unit_test(wrong_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
