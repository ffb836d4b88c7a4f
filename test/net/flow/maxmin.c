/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The incremental max-min solver compared with a plain full solve after every step, bit by bit, on random
 * graphs, stars, trees and fat trees, and with the definition of max-min fairness. Also: conservation of
 * bytes, and closed forms.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/flow/maxmin.h"
#include "sim/base/random.h"
#include "sim/base/time.h"

enum { RANDOM, STAR, TREE, FAT_TREE, SHAPES };
enum { MAX_LINKS = 24, MAX_FLOWS = 4096, MAX_PATH = MAX_LINKS };

typedef struct flow {
    uint32_t links[MAX_PATH], times[MAX_PATH], n, weight, id, bottleneck;
    uint64_t bytes;
    rlt_time start;
    double rate, fastest, served; /* fastest: highest rate so far, if capacities change */
    int live;
} flow;

typedef struct world {
    rlt_maxmin *mm;
    uint32_t n_links, n_flows;
    uint64_t bw[MAX_LINKS];
    flow flows[MAX_FLOWS];
    rlt_time last;
    uint64_t seed, k;
    int multiplicities; /* flows take up to this multiple of their rate on a link */
    int wide;           /* paths may have up to all links */
    int changes;        /* capacities change, flows are cancelled, and links fail */
    int ties;           /* few capacities and few sizes, so that levels are often equal */
    int kinds;          /* links have kinds */
    int shape;
} world;

static uint64_t below(world *w, uint64_t n)
{
    return rlt_random_below(w->seed, 0, 0, w->k++, n);
}

/* Rounds a level to 40 significant bits. */
static __int128 rounded(__int128 level)
{
    int low = 0;
    while (level >> low >> 40)
        low++;
    return (level + (((__int128)1 << low) >> 1)) >> low << low;
}

/* Finds the link of the least rounded level. Equal ones are ordered by kind, then by number. `least` is the
 * rounded level of the link before. Returns w->n_links when all flows have a rate. */
static uint32_t least_link(const world *w, const __int128 *left, const uint32_t *count, __int128 *least)
{
    uint32_t at = w->n_links;
    __int128 best = 0;
    for (uint32_t l = 0; l < w->n_links; l++) {
        if (!count[l])
            continue;
        __int128 level = rounded(left[l] / count[l]);
        if (level < *least)
            level = *least;
        if (at == w->n_links || level < best || (level == best && w->mm->kind[l] < w->mm->kind[at])) {
            best = level;
            at = l;
        }
    }
    *least = best;
    return at;
}

/* Progressive filling as in the textbook, from scratch, in integers: the link with the least share freezes its
 * flows; repeat. */
static void naive(world *w)
{
    __int128 left[MAX_LINKS], least = 0;
    for (uint32_t l = 0; l < w->n_links; l++)
        left[l] = (__int128)w->bw[l] << 60;
    for (uint32_t f = 0; f < w->n_flows; f++)
        w->flows[f].rate = -1;
    for (;;) {
        uint32_t count[MAX_LINKS] = {0};
        for (uint32_t f = 0; f < w->n_flows; f++)
            for (uint32_t i = 0; w->flows[f].rate < 0 && i < w->flows[f].n; i++)
                count[w->flows[f].links[i]] += w->flows[f].weight * w->flows[f].times[i];
        uint32_t at = least_link(w, left, count, &least);
        if (at == w->n_links)
            return;
        const __int128 share = left[at] / count[at];
        const double rate = (double)share * 0x1p-60 * 1e-12;
        for (uint32_t f = 0; f < w->n_flows; f++) {
            flow *x = &w->flows[f];
            int here = 0;
            for (uint32_t i = 0; i < x->n; i++)
                here |= x->links[i] == at;
            if (x->rate >= 0 || !here)
                continue;
            x->rate = rate;
            x->bottleneck = at;
            for (uint32_t i = 0; i < x->n; i++)
                left[x->links[i]] -= share * (x->weight * x->times[i]);
        }
    }
}

/* What maxmin.h says of a link's sums, and of links without own flows. */
static void check_links(const world *w)
{
    for (uint32_t l = 0; l < w->n_links; l++) {
        const rlt_mm_link *link = &w->mm->links[l];
        uint32_t n = 0, weight = 0, own = 0, own_weight = 0;
        for (uint32_t f = 0; f < w->n_flows; f++)
            for (uint32_t i = 0; w->flows[f].live && i < w->flows[f].n; i++) {
                const flow *x = &w->flows[f];
                bool here = x->links[i] == l, owned = here && w->mm->flows[x->id].bottleneck == l;
                n += here;
                own += owned;
                weight += here ? x->weight * x->times[i] : 0;
                own_weight += owned ? x->weight * x->times[i] : 0;
            }
        assert_true(link->n == n && link->own == own);
        assert_true(link->weight == weight && link->own_weight == own_weight);
        assert_int_equal(isinf(w->mm->level[l]) != 0, own == 0);
        assert_int_equal(link->heap != RLT_NONE, own > 0);
    }
}

static void check_rates(world *w)
{
    naive(w);
    check_links(w);
    double sum[MAX_LINKS] = {0}, top[MAX_LINKS] = {0};
    for (uint32_t f = 0; f < w->n_flows; f++) {
        flow *x = &w->flows[f];
        if (!x->live)
            continue;
        double rate = rlt_maxmin_rate(w->mm, x->id);
        if (rate < x->rate || rate > x->rate)
            fail_msg("seed %llu: flow %u has rate %.17g, the full solve says %.17g",
                     (unsigned long long)w->seed, f, rate, x->rate);
        assert_int_equal(w->mm->flows[x->id].weight, x->weight);
        if (!w->kinds) /* a flow alone on its links is owned by the one with the lowest number */
            assert_int_equal(w->mm->flows[x->id].bottleneck, x->bottleneck);
        for (uint32_t i = 0; i < x->n; i++) {
            sum[x->links[i]] += rate * x->weight * x->times[i];
            top[x->links[i]] = fmax(top[x->links[i]], rate);
        }
    }
    for (uint32_t l = 0; l < w->n_links; l++) {
        assert_true(sum[l] <= (double)w->bw[l] * 1e-12 * (1 + 1e-9));
        assert_true(fabs(rlt_maxmin_link_rate(w->mm, l) - sum[l]) <= 1e-9 * sum[l]);
    }
    /* Definition: each flow has a saturated link on which no other flow is faster. */
    for (uint32_t f = 0; f < w->n_flows; f++) {
        flow *x = &w->flows[f];
        int found = 0;
        for (uint32_t i = 0; x->live && i < x->n; i++) {
            uint32_t l = x->links[i];
            found |= sum[l] >= (double)w->bw[l] * 1e-12 * (1 - 1e-9) && x->rate >= top[l] * (1 - 1e-9);
        }
        assert_true(found || !x->live);
    }
}

/* Serves all flows until `now` at the rates of the full solve. */
static void advance(world *w, rlt_time now)
{
    for (uint32_t f = 0; f < w->n_flows; f++)
        if (w->flows[f].live) {
            flow *x = &w->flows[f];
            x->served += x->rate * (double)(now - w->last);
            x->fastest = w->changes ? fmax(x->fastest, x->rate) : x->rate;
        }
    w->last = now;
}

static uint32_t find(world *w, uint32_t id)
{
    for (uint32_t f = 0; f < w->n_flows; f++)
        if (w->flows[f].live && w->flows[f].id == id)
            return f;
    fail_msg("seed %llu: an unknown flow %u ended", (unsigned long long)w->seed, id);
    return 0;
}

static void drain(world *w, rlt_time now)
{
    assert_int_equal(rlt_maxmin_drain(w->mm, now), 0);
    assert_true(w->mm->drained.n > 0);
    for (uint32_t i = 0; i < w->mm->drained.n; i++) {
        flow *x = &w->flows[find(w, w->mm->drained.items[i])];
        /* A flow ends with its bytes served, within one picosecond of service plus the roundings that its
         * neighbours passed on. One picosecond of a flow that takes k times its rate is k picoseconds of
         * another. */
        double error = fabs(x->served - (double)x->bytes);
        if (error > (3 + w->multiplicities) * x->fastest + 1e-6 * (double)x->bytes)
            fail_msg("seed %llu: a flow of %llu bytes ended %g bytes off (rate %g)",
                     (unsigned long long)w->seed, (unsigned long long)x->bytes, error, x->rate);
        x->live = 0;
        rlt_maxmin_release(w->mm, w->mm->drained.items[i]);
    }
    /* Removes ended flows. */
    uint32_t n = 0;
    for (uint32_t f = 0; f < w->n_flows; f++)
        if (w->flows[f].live)
            w->flows[n++] = w->flows[f];
    w->n_flows = n;
}

/* Links 0 .. 11 go up from a node or leaf, links 12 .. 23 go down to it. */
enum { DOWN = MAX_LINKS / 2 };

/* A path through a binary tree of 13 nodes: link i - 1 goes up from node i. */
static uint32_t tree_path(uint32_t from, uint32_t to, uint32_t *links)
{
    uint32_t n = 0, a = from, b = to;
    while (a != b)
        if (a > b) {
            links[n++] = a - 1;
            a = (a - 1) / 2;
        } else {
            links[n++] = DOWN + b - 1;
            b = (b - 1) / 2;
        }
    return n;
}

/* A path through 3 leaves of 2 hosts and 2 spines: links 6 .. 11 go up from leaf to spine. */
static uint32_t fat_tree_path(uint32_t from, uint32_t to, uint32_t spine, uint32_t *links)
{
    uint32_t n = 0;
    links[n++] = from;
    if (from / 2 != to / 2) {
        links[n++] = 6 + from / 2 * 2 + spine;
        links[n++] = DOWN + 6 + to / 2 * 2 + spine;
    }
    links[n++] = DOWN + to;
    return n;
}

static void random_path(world *w, flow *x)
{
    x->n = 1 + (uint32_t)below(w, w->n_links < 6 ? w->n_links : 6);
    if (below(w, 2) && w->n_links > 1)
        x->n = 2;
    if (w->wide && below(w, 2))
        x->n = 1 + (uint32_t)below(w, w->n_links);
    for (uint32_t i = 0; i < x->n; i++) {
        int again;
        do {
            x->links[i] = (uint32_t)below(w, w->n_links);
            again = 0;
            for (uint32_t k = 0; k < i; k++)
                again |= x->links[k] == x->links[i];
        } while (again);
    }
}

static void path(world *w, flow *x)
{
    uint32_t a = (uint32_t)below(w, 12), b = (uint32_t)below(w, 12);
    if (w->shape == RANDOM)
        random_path(w, x);
    else if (w->shape == STAR)
        x->n = 2, x->links[0] = a, x->links[1] = DOWN + b;
    else if (w->shape == TREE)
        x->n = tree_path(a, a == b ? 12 : b, x->links);
    else
        x->n = fat_tree_path(a % 6, b % 6, (uint32_t)below(w, 2), x->links);
}

static void start(world *w, rlt_time now)
{
    flow x = {.weight = 1, .live = 1, .start = now};
    path(w, &x);
    for (uint32_t i = 0; i < x.n; i++)
        x.times[i] =
            w->multiplicities && below(w, 2) ? 1 + (uint32_t)below(w, (uint64_t)w->multiplicities) : 1;
    x.bytes = !w->ties && below(w, 3) ? 1 + below(w, 1000000) : 1000 * (1 + below(w, 3));
    uint32_t copies = below(w, 8) ? 1 : 1 + (uint32_t)below(w, 4);
    for (uint32_t c = 0; c < copies; c++) {
        bool merged;
        uint32_t id = w->multiplicities
                          ? rlt_maxmin_start_times(w->mm, now, x.links, x.times, x.n, x.bytes, &merged)
                          : rlt_maxmin_start(w->mm, now, x.links, x.n, x.bytes, &merged);
        assert_int_not_equal(id, RLT_NONE);
        if (merged) {
            w->flows[find(w, id)].weight++;
            continue;
        }
        assert_true(w->n_flows < MAX_FLOWS);
        x.id = id;
        w->flows[w->n_flows++] = x;
    }
}

static uint64_t capacity(world *w, uint64_t speeds)
{
    static const uint64_t few[] = {1, 2, 3, 4, 6, 12};
    return w->ties       ? few[below(w, 6)] * 10000000000u
           : speeds == 1 ? 50000000000u
           : speeds == 2 ? (1 + below(w, 4)) * 12500000000u
                         : 1000000 + below(w, 400000000000u);
}

/* Cancels a flow. Its remaining bytes must match the full solve. */
static void cancel(world *w, uint32_t f)
{
    flow *x = &w->flows[f];
    double left = rlt_maxmin_remaining(w->mm, x->id, w->last), error = left - ((double)x->bytes - x->served);
    assert_true(fabs(error) <= (3 + w->multiplicities) * x->fastest + 1e-6 * (double)x->bytes);
    assert_int_equal(rlt_maxmin_cancel(w->mm, x->id), 0);
    rlt_maxmin_release(w->mm, x->id);
    *x = w->flows[--w->n_flows];
}

/* Changes the capacity of a link, cancels a flow, or cancels all flows of a link, as if it failed. */
static void change(world *w)
{
    uint32_t l = (uint32_t)below(w, w->n_links);
    if (below(w, 2)) {
        w->bw[l] = capacity(w, 1 + 2 * (below(w, 3) != 0));
        assert_int_equal(rlt_maxmin_capacity(w->mm, l, w->bw[l]), 0);
    }
    if (!below(w, 6))
        while (w->mm->links[l].n)
            cancel(w, find(w, w->mm->links[l].flows[0].flow));
    else if (w->n_flows && !below(w, 3))
        cancel(w, (uint32_t)below(w, w->n_flows));
}

/* Runs the world that has been set up in *w, and clears it. */
static void run_world(world *w, uint64_t seed)
{
    w->seed = seed;
    w->n_links = w->shape == RANDOM ? 1 + (uint32_t)below(w, MAX_LINKS) : MAX_LINKS;
    w->kinds = seed % 2 != 0;
    uint64_t speeds = 1 + below(w, 3);
    for (uint32_t l = 0; l < w->n_links; l++)
        w->bw[l] = capacity(w, speeds);
    assert_int_equal(rlt_maxmin_create(w->n_links, w->bw, &w->mm, NULL), 0);
    for (uint32_t l = 0; l < w->n_links && w->kinds; l++)
        w->mm->kind[l] = (uint32_t)below(w, 3);
    w->mm->note_idle = below(w, 2);
    uint32_t starts = 1 + (uint32_t)below(w, 60), burst = 1 + (uint32_t)below(w, 12);
    rlt_time now = 0;
    while (starts || w->n_flows) {
        rlt_time next = rlt_maxmin_next(w->mm), arrival = now + (rlt_time)below(w, 4000000);
        assert_true(w->n_flows == 0 ? next == -1 : next >= now);
        int ends = next >= 0 && (!starts || next <= arrival);
        rlt_time at = ends ? next : arrival;
        advance(w, at);
        now = at;
        if (ends)
            drain(w, now);
        if (starts && (!ends || !below(w, 4)))
            for (uint32_t i = (uint32_t)below(w, burst) + 1; i && starts; i--, starts--)
                start(w, now);
        if (w->changes && !below(w, 3))
            change(w);
        assert_int_equal(rlt_maxmin_solve(w->mm, now), 0);
        check_rates(w);
    }
    assert_int_equal(w->mm->live, 0);
    rlt_maxmin_free(w->mm);
    memset(w, 0, sizeof(*w));
}

static void test_random_graphs(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (uint64_t seed = 1; seed <= 3000; seed++)
        run_world(w, seed);
    free(w);
}

/* Trees and folded networks: flows that take a multiple of their rate, and paths of many links. */
static void test_multiplicities(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        w->multiplicities = seed % 3 ? 3 : 1000;
        w->wide = seed % 2 != 0;
        run_world(w, seed);
    }
    for (uint64_t seed = 1; seed <= 500; seed++) {
        w->wide = 1;
        run_world(w, seed);
    }
    free(w);
}

static void test_changes(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        w->changes = 1;
        w->multiplicities = seed % 3 ? 0 : 3;
        w->wide = seed % 4 == 0;
        run_world(w, seed);
    }
    free(w);
}

/* Networks, where most links are full or nearly so, with many equal levels and without. */
static void test_networks(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        w->shape = (int)(seed % SHAPES);
        w->ties = seed / SHAPES % 2 != 0;
        w->changes = seed / SHAPES / 2 % 2 != 0;
        w->multiplicities = w->changes || seed % 3 ? 0 : 3;
        run_world(w, seed);
    }
    free(w);
}

/* A flow that takes k times its rate of a link takes k times as long as one that takes it once. A flow of
 * weight w and multiple k leaves the others as much as w x k flows would. */
static void test_multiplicity_times(void **state)
{
    (void)state;
    const uint64_t bw[3] = {50000000000u, 50000000000u, 200000000000u};
    rlt_maxmin *mm;
    bool merged;
    assert_int_equal(rlt_maxmin_create(3, bw, &mm, NULL), 0);
    uint32_t links[3] = {0, 1, 2}, times[3] = {1, 3, 7}; /* 50/3 of link 1, 200/7 of link 2 */
    uint32_t one = rlt_maxmin_start_times(mm, 0, links, times, 3, 1000, &merged);
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    assert_int_equal(rlt_maxmin_next(mm), 1000 * 3 * 20);
    assert_int_equal(rlt_maxmin_start_times(mm, 0, links, times, 3, 1000, &merged), one);
    assert_true(merged);
    times[1] = 1; /* not equal to the first flow */
    assert_int_not_equal(rlt_maxmin_start_times(mm, 0, links, times, 3, 1000, &merged), one);
    assert_false(merged);
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    /* Link 1 carries 3 + 3 + 1 times the rate, link 2 three times 7 at 4 times the capacity. */
    assert_int_equal(rlt_maxmin_next(mm), 1000 * 7 * 20);
    assert_int_equal(rlt_maxmin_drain(mm, 1000 * 7 * 20), 0);
    assert_int_equal(mm->drained.n, 2);
    assert_int_equal(mm->links[0].weight + mm->links[1].weight + mm->links[2].weight, 0);
    rlt_maxmin_free(mm);
    /* Exact at any size, as an undisturbed transfer of all that the link carries. */
    for (uint64_t bytes = 1; bytes < 20000000000000000u; bytes = bytes * 3 + 1) {
        const uint64_t odd[2] = {70000000001u, 60000000011u};
        assert_int_equal(rlt_maxmin_create(2, odd, &mm, NULL), 0);
        (void)rlt_maxmin_start_times(mm, 0, (uint32_t[]){0, 1}, (uint32_t[]){5, 3}, 2, bytes, &merged);
        assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
        rlt_time end = rlt_transfer_time(5 * bytes, odd[0]);
        assert_int_equal(rlt_maxmin_next(mm), end ? end : 1);
        rlt_maxmin_free(mm);
    }
}

/* Crossbars with all sizes different: the common case of two links, with large components. */
static void test_crossbar(void **state)
{
    (void)state;
    enum { N = 7 };
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->n_links = 2 * N;
    for (uint32_t l = 0; l < w->n_links; l++)
        w->bw[l] = 50000000000u;
    assert_int_equal(rlt_maxmin_create(w->n_links, w->bw, &w->mm, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < N; j++) {
            bool merged;
            flow x = {.links = {i, N + j},
                      .times = {1, 1},
                      .n = 2,
                      .weight = 1,
                      .live = 1,
                      .bytes = 1000000 + (i * N + j) * 7919 % 1000 * 500};
            x.id = rlt_maxmin_start(w->mm, 0, x.links, 2, x.bytes, &merged);
            assert_false(merged);
            w->flows[w->n_flows++] = x;
        }
    assert_int_equal(rlt_maxmin_solve(w->mm, 0), 0);
    check_rates(w);
    while (w->n_flows) {
        rlt_time now = rlt_maxmin_next(w->mm);
        advance(w, now);
        drain(w, now);
        assert_int_equal(rlt_maxmin_solve(w->mm, now), 0);
        check_rates(w);
    }
    rlt_maxmin_free(w->mm);
    free(w);
}

/* k flows of m bytes through one 50 GB/s link end at k * 20 * m ps, all at once. */
static void test_equal_shares(void **state)
{
    (void)state;
    const uint64_t bw[64] = {50000000000u};
    uint64_t caps[64];
    for (int i = 0; i < 64; i++)
        caps[i] = bw[0];
    for (uint32_t k = 1; k <= 63; k++) {
        rlt_maxmin *mm;
        assert_int_equal(rlt_maxmin_create(64, caps, &mm, NULL), 0);
        for (uint32_t i = 0; i < k; i++) {
            bool merged;
            assert_int_not_equal(rlt_maxmin_start(mm, 5, (uint32_t[]){0, 1 + i}, 2, 1048576, &merged),
                                 RLT_NONE);
        }
        assert_int_equal(rlt_maxmin_solve(mm, 5), 0);
        assert_int_equal(rlt_maxmin_next(mm), 5 + (rlt_time)k * 20 * 1048576);
        assert_int_equal(rlt_maxmin_drain(mm, rlt_maxmin_next(mm)), 0);
        assert_int_equal(mm->drained.n, k);
        assert_int_equal(rlt_maxmin_next(mm), -1);
        rlt_maxmin_free(mm);
    }
}

/* Flows of 1, 2, ..., k units start together on one link. When flow i ends, i units have been served to each
 * longer flow, and all shorter flows have ended: 20 * (1 + ... + i + (k - i) * i) ps per byte of a unit. */
static void test_staggered_ends(void **state)
{
    (void)state;
    enum { K = 50 };
    const uint64_t bw = 50000000000u, unit = 1001;
    rlt_maxmin *mm;
    assert_int_equal(rlt_maxmin_create(1, &bw, &mm, NULL), 0);
    for (uint32_t i = K; i > 0; i--) {
        bool merged;
        assert_int_not_equal(rlt_maxmin_start(mm, 0, (uint32_t[]){0}, 1, i * unit, &merged), RLT_NONE);
    }
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    for (uint64_t i = 1; i <= K; i++) {
        rlt_time now = rlt_maxmin_next(mm);
        assert_int_equal(now, 20 * unit * (i * (i + 1) / 2 + (K - i) * i));
        assert_int_equal(rlt_maxmin_drain(mm, now), 0);
        assert_int_equal(mm->drained.n, 1);
        rlt_maxmin_release(mm, mm->drained.items[0]);
        assert_int_equal(rlt_maxmin_solve(mm, now), 0);
    }
    rlt_maxmin_free(mm);
}

/* Flows at odd rates end between picoseconds; the roundings must not add up. A link that is never idle must
 * need bytes / capacity in total: here a new flow follows each that ends, three at a time. */
static void test_no_drift(void **state)
{
    (void)state;
    enum { K = 20000 };
    const uint64_t bw = 314159265358u;
    rlt_maxmin *mm;
    uint64_t bytes = 0;
    uint32_t begun = 0;
    assert_int_equal(rlt_maxmin_create(1, &bw, &mm, NULL), 0);
    rlt_time now = 0;
    do {
        while (mm->live < 3 && begun < K) {
            bool merged;
            uint64_t size = 100 + begun++ * 7919 % 10007;
            bytes += size;
            assert_int_not_equal(rlt_maxmin_start(mm, now, (uint32_t[]){0}, 1, size, &merged), RLT_NONE);
        }
        assert_int_equal(rlt_maxmin_solve(mm, now), 0);
        now = rlt_maxmin_next(mm);
        assert_int_equal(rlt_maxmin_drain(mm, now), 0);
        for (uint32_t i = 0; i < mm->drained.n; i++)
            rlt_maxmin_release(mm, mm->drained.items[i]);
    } while (mm->live || begun < K);
    assert_true(llabs(now - rlt_transfer_time(bytes, bw)) <= 1);
    rlt_maxmin_free(mm);
}

/* 15 and 16 bytes at half of 3 bytes a picosecond: the second lacks a byte after 10 ps, which is a third of a
 * picosecond alone. It ends one later, since the instant has had its ends. */
static void test_ends_after_the_instant(void **state)
{
    (void)state;
    const uint64_t bw = 3000000000000u;
    rlt_maxmin *mm;
    bool merged;
    assert_int_equal(rlt_maxmin_create(1, &bw, &mm, NULL), 0);
    uint32_t shorter = rlt_maxmin_start(mm, 0, (uint32_t[]){0}, 1, 15, &merged);
    uint32_t longer = rlt_maxmin_start(mm, 0, (uint32_t[]){0}, 1, 16, &merged);
    for (rlt_time end = 10; end <= 11; end++) {
        assert_int_equal(rlt_maxmin_solve(mm, end == 10 ? 0 : 10), 0);
        assert_int_equal(rlt_maxmin_next(mm), end);
        assert_int_equal(rlt_maxmin_drain(mm, end), 0);
        assert_int_equal(mm->drained.n, 1);
        assert_int_equal(mm->drained.items[0], end == 10 ? shorter : longer);
    }
    rlt_maxmin_free(mm);
}

/* Neither a distant component nor levels below the change are looked at. */
static void test_locality(void **state)
{
    (void)state;
    const uint64_t bw[5] = {100, 100, 100, 1000, 10};
    rlt_maxmin *mm;
    bool merged;
    assert_int_equal(rlt_maxmin_create(5, bw, &mm, NULL), 0);
    uint32_t slow = rlt_maxmin_start(mm, 0, (uint32_t[]){4, 3}, 2, 1000000, &merged);
    uint32_t slow2 = rlt_maxmin_start(mm, 0, (uint32_t[]){4, 3}, 2, 1000001, &merged);
    rlt_maxmin_start(mm, 0, (uint32_t[]){0, 1}, 2, 1000, &merged);
    rlt_maxmin_start(mm, 0, (uint32_t[]){0, 2}, 2, 1000, &merged);
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    rlt_maxmin_start(mm, 1, (uint32_t[]){3}, 1, 1000, &merged);
    rlt_maxmin_start(mm, 1, (uint32_t[]){3}, 1, 1001, &merged);
    assert_int_equal(rlt_maxmin_solve(mm, 1), 0);
    assert_int_equal(mm->component.n, 1); /* only link 3: links 0..2 are separate, link 4 has a lower level */
    assert_true(fabs(rlt_maxmin_rate(mm, slow) - 5e-12) < 1e-24 &&
                fabs(rlt_maxmin_rate(mm, slow2) - 5e-12) < 1e-24);
    assert_int_equal(mm->links[4].at, 0);
    assert_int_equal(mm->links[0].at, 0);
    rlt_maxmin_free(mm);
}

/* A chain of links, each sharing a flow with the next; every second one is slow. A flow that ends concerns
 * three links, although all are connected and have the same level. */
static void test_chain(void **state)
{
    (void)state;
    enum { N = 1001 };
    static uint64_t bw[N];
    for (uint32_t l = 0; l < N; l++)
        bw[l] = l % 2 ? 50000000000u : 10000000000u;
    rlt_maxmin *mm;
    bool merged;
    assert_int_equal(rlt_maxmin_create(N, bw, &mm, NULL), 0);
    uint32_t first = rlt_maxmin_start(mm, 0, (uint32_t[]){0}, 1, 1000, &merged);
    for (uint32_t l = 0; l + 1 < N; l++)
        rlt_maxmin_start(mm, 0, (uint32_t[]){l, l + 1}, 2, 1000000, &merged);
    assert_int_equal(rlt_maxmin_solve(mm, 0), 0);
    rlt_time now = rlt_maxmin_next(mm);
    assert_int_equal(rlt_maxmin_drain(mm, now), 0);
    assert_int_equal(mm->drained.n, 1);
    assert_int_equal(mm->drained.items[0], first);
    assert_int_equal(rlt_maxmin_solve(mm, now), 0);
    assert_in_range(mm->component.n, 2, 3);
    rlt_maxmin_free(mm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),  cmocka_unit_test(test_crossbar),
        cmocka_unit_test(test_multiplicities), cmocka_unit_test(test_changes),
        cmocka_unit_test(test_networks),       cmocka_unit_test(test_multiplicity_times),
        cmocka_unit_test(test_equal_shares),   cmocka_unit_test(test_staggered_ends),
        cmocka_unit_test(test_no_drift),       cmocka_unit_test(test_locality),
        cmocka_unit_test(test_chain),          cmocka_unit_test(test_ends_after_the_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
