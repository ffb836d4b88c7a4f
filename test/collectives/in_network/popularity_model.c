/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Second models of Libra's parts. Recorded counts: random texts, taken apart word by word. The hot set: all
 * sampled updates are drawn again and counted. Places: packets and arrays of random layouts counted again,
 * and the fullest array by the binomial law. What a plan makes of random settings: its packets, connections,
 * law.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/networks/fabric.h"
#include "test/support/text_file.h"

enum { MOST = 64 };

static bool same(double a, double b)
{
    return !(a < b) && !(a > b);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

typedef struct entry {
    uint64_t id, count;
} entry;

typedef struct record {
    entry e[MOST];
    uint32_t n, bad_line; /* 0: none */
} record;

/* Writes 1 to 3 words of a line, or none, and notes what it says. */
static void one_line(dice *d, record *r, uint32_t line, uint32_t *index, char *text, size_t size)
{
    static const char *const blanks[] = {" ", "\t", ",", " , ", "\r"}, *const ends[] = {"", "#", " # 7 8",
                                                                                        "\r"};
    uint32_t words = below(d, 40) == 0 ? 3 : below(d, 4) == 0 ? 0 : 1 + below(d, 2), bad = below(d, 60);
    uint64_t number[3];
    size_t used = 0;
    text[0] = 0;
    if (below(d, 3) == 0)
        used += (size_t)snprintf(text, size, "%s", blanks[below(d, 5)]);
    for (uint32_t i = 0; i < words; i++) {
        number[i] = below(d, 12) ? roll(d, 12) : roll(d, UINT64_C(1) << 40);
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 "%s", i ? blanks[below(d, 5)] : "",
                                 number[i], bad == i ? "x" : "");
    }
    snprintf(text + used, size - used, "%s", ends[below(d, 4)]);
    if (r->bad_line)
        return;
    if (words > 2 || bad < words)
        r->bad_line = line;
    else if (words)
        r->e[r->n++] = (entry){words == 2 ? number[0] : *index, number[words - 1]};
    *index += words > 0;
}

/* Whether entry a stands before b: by falling count, then by rising id. */
static bool before(entry a, entry b)
{
    return a.count > b.count || (a.count == b.count && a.id < b.id);
}

static void add_up(record *r)
{
    record out = {.bad_line = r->bad_line};
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t at = 0;
        while (at < out.n && out.e[at].id != r->e[i].id)
            at++;
        if (at == out.n)
            out.e[out.n++] = (entry){r->e[i].id, 0};
        out.e[at].count += r->e[i].count;
    }
    for (uint32_t i = 0; i < out.n; i++)
        for (uint32_t k = i + 1; k < out.n; k++)
            if (before(out.e[k], out.e[i])) {
                entry swap = out.e[i];
                out.e[i] = out.e[k];
                out.e[k] = swap;
            }
    while (out.n && out.e[out.n - 1].count == 0)
        out.n--;
    *r = out;
}

static void same_record(const rlt_skew *k, const record *r)
{
    double sum = 0;
    assert_int_equal(k->n, r->n);
    for (uint32_t i = 0; i < r->n; i++)
        sum += (double)r->e[i].count;
    assert_true(same(k->sum, sum));
    sum = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        assert_true(same(rlt_skew_coverage(k, i), sum / k->sum));
        sum += (double)r->e[i].count;
        assert_int_equal(k->ids[i], r->e[i].id);
        assert_true(same(k->upto[i], sum));
        assert_true(near(rlt_skew_share(k, i), (double)r->e[i].count / k->sum));
    }
    assert_true(same(rlt_skew_coverage(k, r->n), 1) && same(rlt_skew_coverage(k, r->n + 1), 1));
    assert_true(same(rlt_skew_share(k, r->n), 0));
}

/* The rank of each draw has its share of all draws. */
static void draws_follow(const rlt_skew *k)
{
    enum { N = 4000 };
    uint32_t seen[MOST] = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint64_t rank = rlt_skew_draw(k, 9, 3, i);
        assert_true(rank < k->n);
        seen[rank]++;
    }
    for (uint32_t i = 0; i < k->n; i++) {
        double p = rlt_skew_share(k, i);
        assert_true(fabs(seen[i] - N * p) <= 5 * sqrt(N * p * (1 - p)) + 1);
    }
}

static void texts(void **state)
{
    (void)state;
    dice d = {.seed = 3};
    uint32_t bad = 0, none = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        char text[4096], line[128], where[32];
        size_t used = 0;
        record r = {0};
        uint32_t index = 0, lines = below(&d, 20);
        text[0] = 0;
        for (uint32_t l = 0; l < lines; l++) {
            one_line(&d, &r, l + 1, &index, line, sizeof line);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", line,
                                     l + 1 < lines || below(&d, 2) ? "\n" : "");
        }
        add_up(&r);
        rlt_skew k;
        rlt_error err = {0};
        memset(&k, 1, sizeof k);
        int want = r.bad_line ? RLT_EMALFORMED : r.n ? 0 : RLT_ESCHEMA;
        int rc = rlt_skew_parse(text, used, "f", &k, &err);
        if (rc != want)
            fail_msg("%d, expected %d, of\n%s", rc, want, text);
        snprintf(where, sizeof where, r.bad_line ? "f:%u" : "f", r.bad_line);
        if (rc)
            assert_string_equal(err.where, where);
        else
            same_record(&k, &r);
        if (rc == 0 && i % 16 == 0)
            draws_follow(&k);
        bad += r.bad_line > 0;
        none += rc == RLT_ESCHEMA;
        rlt_skew_free(&k);
        assert_true(!k.ids && !k.upto && !k.n);
    }
    assert_true(bad > 200 && none > 50);
}

/* A file is read as its text; the largest numbers, and one that is too large. */
/* What stands behind the text's length belongs to nobody: digits, blanks, comments, lines. */
static void text_ends_at_its_length(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        uint64_t id, count;
    } rows[] = {{"12", 1, 0, 1},      {"5 ", 1, 0, 5},    {"3 45", 3, 3, 4},
                {"3 4 ", 3, 3, 4},    {"3 4x", 3, 3, 4},  {"7 8 9", 4, 7, 8},
                {"7 8\n99", 4, 7, 8}, {"#\n6,", 3, 0, 6}, {"2\r\n\t,11", 5, 0, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_skew k;
        rlt_error err = {0};
        if (rlt_skew_parse(rows[i].text, rows[i].length, "t", &k, &err))
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
        assert_int_equal(k.n, 1);
        assert_int_equal(k.ids[0], rows[i].id);
        assert_true(same(k.sum, (double)rows[i].count));
        rlt_skew_free(&k);
    }
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/ringlet-counts-XXXXXX";
    const char *text = "18446744073709551609 5\n7 4611686018427387904\n";
    rlt_skew k;
    rlt_error err = {0};
    test_write_new(path, text, strlen(text));
    assert_int_equal(rlt_skew_read(path, &k, &err), 0);
    unlink(path);
    assert_int_equal(k.n, 2);
    assert_true(k.ids[0] == 7 && k.ids[1] == UINT64_C(18446744073709551609) && same(k.upto[0], 0x1p62));
    rlt_skew_free(&k);
    assert_int_equal(rlt_skew_parse("18446744073709551616", 20, "f", &k, NULL), RLT_EMALFORMED);
    assert_int_equal(rlt_skew_zipf(8, 1, &k, &err), 0);
    assert_int_equal(rlt_skew_zipf(0, UINT64_C(1) << 52, &k, &err), 0);
    assert_true(near(k.sum, 0x1p52));
    assert_int_equal(rlt_skew_zipf(0, (UINT64_C(1) << 52) + 1, &k, NULL), RLT_ERANGE);
    assert_int_equal(rlt_skew_zipf(8.001, 10, &k, NULL), RLT_ERANGE);
    assert_true(!k.n && same(k.sum, 0));
}

/* The hot set. */
typedef struct seen {
    uint64_t rank, count;
} seen;

static int by_heat(const void *a, const void *b)
{
    const seen *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->rank < y->rank ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the draws of each worker in turn, all with the same number; what is left over belongs to
 * further ones. */
static uint64_t count_draws(const rlt_skew *k, const rlt_hot_request *q, uint64_t total, seen *out)
{
    uint64_t *draw = malloc((total + 1) * sizeof *draw), n = 0, each = total / q->workers;
    assert_non_null(draw);
    for (uint32_t w = 0; n < total; w++)
        for (uint64_t i = 0; i < each && n < total; i++)
            draw[n++] = rlt_skew_draw(k, q->seed, w, i);
    qsort(draw, n, sizeof *draw, by_number);
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || draw[i] != draw[i - 1])
            out[found++] = (seen){draw[i], 0};
        out[found - 1].count++;
    }
    qsort(out, found, sizeof *out, by_heat);
    free(draw);
    return found;
}

static rlt_skew any_skew(dice *d)
{
    rlt_skew k;
    rlt_error err = {0};
    static const uint64_t sizes[] = {1, 2, 30, 1000, 1 << 18, 1 << 19, UINT64_C(1) << 40};
    if (below(d, 3) == 0) {
        char text[600];
        size_t used = 0;
        for (uint32_t i = 0; i <= below(d, 50); i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u\n", 1 + below(d, 20));
        assert_int_equal(rlt_skew_parse(text, used, "f", &k, &err), 0);
    } else {
        assert_int_equal(rlt_skew_zipf(3 * fraction(d) * fraction(d), sizes[below(d, 7)], &k, &err), 0);
    }
    return k;
}

static void compare_hot(dice *d, seen *found)
{
    rlt_skew k = any_skew(d);
    rlt_hot_request q = {.workers = 1 + below(d, 9),
                         .updates = 1 + roll(d, 200),
                         .steps = 1 + below(d, 50),
                         .sampled = below(d, 3) ? fraction(d) * 0.2 + 1e-6 : 0.125,
                         .hot = below(d, 2) ? 0 : 1 + roll(d, 300),
                         .memory_bytes = roll(d, 5000),
                         .arrays = 1 + below(d, 20),
                         .entry_bytes = 1 + below(d, 12),
                         .seed = roll(d, 1000)};
    uint64_t whole = q.memory_bytes / (q.arrays * (uint64_t)q.entry_bytes) * q.arrays;
    uint64_t wanted = q.hot ? q.hot : whole;
    double all = floor(q.sampled * q.steps * q.workers * (double)q.updates + 0.5);
    uint64_t total = all < q.workers ? q.workers : (uint64_t)all, n = count_draws(&k, &q, total, found);
    uint64_t taken = wanted < n ? wanted : n;
    rlt_hot_set h;
    rlt_error err = {0};
    assert_int_equal(rlt_hot_room(q.memory_bytes, q.arrays, q.entry_bytes), whole);
    if (rlt_hot_find(&k, &q, &h, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(h.counted, total);
    assert_int_equal(h.seen, n);
    assert_int_equal(h.n, taken);
    assert_int_equal(h.memory_bytes, taken * q.entry_bytes);
    double share = 0, touched = 0, alone = 0;
    for (uint64_t i = 0; i < taken; i++) {
        long double p = (long double)rlt_skew_share(&k, found[i].rank), m = (long double)q.updates;
        assert_int_equal(h.ranks[i], found[i].rank);
        share += (double)p;
        touched += (double)(p < 1 ? -expm1l(m * q.workers * log1pl(-p)) : 1);
        alone += (double)(p < 1 ? -expm1l(m * log1pl(-p)) : 1);
    }
    assert_true(near(h.share, share) && near(h.touched, touched) && near(h.touched_alone, alone));
    assert_true(near(h.best, rlt_skew_coverage(&k, wanted)));
    rlt_hot_free(&h);
    rlt_hot_free(&h);
    assert_true(!h.n && !h.ranks && same(h.share, 0));
    rlt_skew_free(&k);
}

static void hot_sets(void **state)
{
    (void)state;
    dice d = {.seed = 4};
    seen *found = malloc(200000 * sizeof *found);
    assert_non_null(found);
    for (uint32_t i = 0; i < 200; i++)
        compare_hot(&d, found);
    free(found);
}

/* Requests at their bounds, and beyond them. */
static void hot_bounds(void **state)
{
    (void)state;
    const rlt_hot_request good = {
        .workers = 1, .updates = 10, .steps = 1, .sampled = 1, .hot = RLT_MAX_HOT, .entry_bytes = 4};
    rlt_skew k;
    rlt_hot_set h;
    rlt_error err = {0};
    assert_int_equal(rlt_skew_zipf(1, 100, &k, &err), 0);
    assert_int_equal(rlt_hot_find(&k, &good, &h, &err), 0);
    assert_true(same(h.best, 1) && h.n == h.seen && h.counted == 10);
    rlt_hot_free(&h);
    for (uint32_t i = 0; i < 8; i++) {
        rlt_hot_request q = good;
        q.workers = i == 0 ? 0 : q.workers;
        q.updates = i == 1 ? 0 : i == 7 ? RLT_MAX_SAMPLED + UINT64_C(1) : q.updates;
        q.steps = i == 2 ? 0 : q.steps;
        q.sampled = i == 3 ? 0 : i == 4 ? 1.0001 : i == 5 ? (double)NAN : q.sampled;
        q.hot += i == 6;
        assert_int_equal(rlt_hot_find(&k, &q, &h, NULL), RLT_ERANGE);
    }
}

/* Places. */
static void compare_layout(dice *d)
{
    uint32_t values = 1 + below(d, below(d, 2) ? 9 : 200), arrays = 1 + below(d, 40), load[40] = {0};
    uint64_t n = roll(d, below(d, 2) ? 30 : 1000), seed = roll(d, 100);
    bool heat = below(d, 2);
    rlt_hot_layout l;
    rlt_error err = {0};
    assert_int_equal(
        rlt_hot_place(n, values, arrays, heat ? RLT_PLACE_HEAT : RLT_PLACE_RANDOM, seed, &l, &err), 0);
    uint64_t packets = 0, entries = 0;
    uint32_t most = 0;
    double sum = 0;
    for (uint64_t first = 0; first < n; first += values, packets++) {
        uint32_t bin[40] = {0}, fullest = 0;
        for (uint64_t i = first; i < n && i < first + values; i++) {
            assert_true(l.array[i] < arrays && (!heat || l.array[i] == i % arrays));
            bin[l.array[i]]++;
            load[l.array[i]]++;
        }
        for (uint32_t a = 0; a < arrays; a++)
            fullest = bin[a] > fullest ? bin[a] : fullest;
        sum += fullest;
        most = fullest > most ? fullest : most;
    }
    for (uint32_t a = 0; a < arrays; a++)
        entries = load[a] > entries ? load[a] : entries;
    assert_true(l.n == n && l.values == values && l.arrays == arrays);
    assert_int_equal(l.packets, packets);
    assert_int_equal(l.entries, entries);
    assert_int_equal(l.passes_most, most);
    assert_true(near(l.passes_mean, packets ? sum / (double)packets : 0));
    rlt_hot_layout_free(&l);
    assert_true(!l.array && !l.n);
}

/* Chance that none of the last `a` arrays gets more than `most` of k values: the first one of them gets i by
 * the binomial law. */
static double none_above(uint32_t k, uint32_t a, uint32_t most)
{
    static double chance[65][65];
    for (uint32_t j = 0; j <= k; j++)
        chance[1][j] = j <= most;
    for (uint32_t b = 2; b <= a; b++)
        for (uint32_t j = 0; j <= k; j++) {
            chance[b][j] = 0;
            for (uint32_t i = 0; i <= j && i <= most; i++)
                chance[b][j] += exp(lgamma(j + 1.0) - lgamma(i + 1.0) - lgamma(j - i + 1.0) - i * log(b) +
                                    (j - i) * log1p(-1.0 / b)) *
                                chance[b - 1][j - i];
        }
    return chance[a][k];
}

static void layouts(void **state)
{
    (void)state;
    static const struct {
        uint32_t values, arrays;
    } rows[] = {{64, 32}, {20, 3}, {33, 16}, {5, 40}, {40, 2}};
    dice d = {.seed = 5};
    for (uint32_t i = 0; i < 500; i++)
        compare_layout(&d);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double mean = 0;
        for (uint32_t most = 0; most < rows[i].values; most++)
            mean += 1 - none_above(rows[i].values, rows[i].arrays, most);
        assert_true(near(rlt_passes_random(rows[i].values, rows[i].arrays), mean));
    }
    /* Two values on A arrays meet in one of A cases; one array takes all in turn. */
    assert_true(near(rlt_passes_random(2, RLT_MAX_ARRAYS), 1 + 1.0 / RLT_MAX_ARRAYS));
    assert_true(same(rlt_passes_random(RLT_MAX_PACKET_VALUES, 1), RLT_MAX_PACKET_VALUES));
    assert_true(same(rlt_passes_random(RLT_MAX_PACKET_VALUES + 1, 1), 0) && same(rlt_passes_random(0, 4), 0));
    assert_true(same(rlt_passes_random(2, RLT_MAX_ARRAYS + 1), 0) && same(rlt_passes_random(2, 0), 0));
    rlt_hot_layout l;
    rlt_error err = {0};
    assert_int_equal(rlt_hot_place(9, RLT_MAX_PACKET_VALUES, RLT_MAX_ARRAYS, RLT_PLACE_HEAT, 1, &l, &err), 0);
    rlt_hot_layout_free(&l);
    assert_int_equal(rlt_hot_place(9, RLT_MAX_PACKET_VALUES + 1, 1, RLT_PLACE_HEAT, 1, &l, NULL), RLT_ERANGE);
    assert_int_equal(rlt_hot_place(9, 1, RLT_MAX_ARRAYS + 1, RLT_PLACE_HEAT, 1, &l, NULL), RLT_ERANGE);
    assert_int_equal(rlt_hot_place(RLT_MAX_HOT + 1, 1, 1, RLT_PLACE_HEAT, 1, &l, NULL), RLT_ERANGE);
    assert_int_equal(rlt_hot_place(RLT_MAX_HOT, 1024, 1, RLT_PLACE_HEAT, 1, &l, &err), 0);
    assert_int_equal(l.packets, RLT_MAX_HOT / 1024);
    rlt_hot_layout_free(&l);
    rlt_recirculation r = rlt_recirculate(1.5, 1000, 3e9);
    assert_true(near(r.packets_per_s, 2e9) && near(r.later_ps, 500));
    r = rlt_recirculate(0, 1000, 3e9);
    assert_true(same(r.packets_per_s, 3e9) && same(r.later_ps, 0));
}

/* Arrays of random places: each gets its part, and another seed gives other ones. */
static void random_places(void **state)
{
    (void)state;
    enum { N = 20000, ARRAYS = 5 };
    rlt_hot_layout a, b;
    rlt_error err = {0};
    uint32_t load[ARRAYS] = {0}, alike = 0;
    assert_int_equal(rlt_hot_place(N, 7, ARRAYS, RLT_PLACE_RANDOM, 1, &a, &err), 0);
    assert_int_equal(rlt_hot_place(N, 7, ARRAYS, RLT_PLACE_RANDOM, 2, &b, &err), 0);
    for (uint32_t i = 0; i < N; i++) {
        load[a.array[i]]++;
        alike += a.array[i] == b.array[i];
    }
    for (uint32_t i = 0; i < ARRAYS; i++)
        assert_true(fabs(load[i] - N / 5.0) < 5 * sqrt(N * 0.16));
    assert_true(fabs(alike - N / 5.0) < 5 * sqrt(N * 0.16));
    rlt_hot_layout_free(&a);
    rlt_hot_layout_free(&b);
}

/* Each packet and each value is touched unless all updates miss it. */
static void touched(void **state)
{
    (void)state;
    dice d = {.seed = 6};
    for (uint32_t i = 0; i < 200; i++) {
        rlt_skew k = any_skew(&d);
        uint64_t ranks[50], updates = roll(&d, 300);
        rlt_hot_set h = {.n = below(&d, 50), .ranks = ranks};
        h.n = h.n < k.n ? h.n : k.n;
        for (uint64_t r = 0; r < h.n; r++)
            ranks[r] = h.n - 1 - r;
        uint32_t values = 1 + below(&d, 20);
        long double packets = 0, parameters = 0, fill;
        for (uint64_t first = 0; first < h.n; first += values) {
            long double p = 0, m = (long double)updates;
            for (uint64_t r = first; r < h.n && r < first + values; r++) {
                long double one = (long double)rlt_skew_share(&k, ranks[r]);
                p += one;
                parameters += one < 1 ? -expm1l(m * log1pl(-one)) : 1;
            }
            packets += p < 1 - 1e-15L ? -expm1l(m * log1pl(-p)) : updates > 0;
        }
        fill = packets > 0 ? parameters / (packets * values) : 0;
        double got = -1, n = rlt_hot_packets_touched(&k, &h, values, updates, &got);
        if (updates) {
            assert_true(near(n, (double)packets) && near(got, (double)fill));
            assert_true(same(rlt_hot_packets_touched(&k, &h, values, updates, NULL), n));
        }
        assert_true(same(rlt_hot_packets_touched(&k, &h, 0, updates, &got), 0) && same(got, 0));
        rlt_skew_free(&k);
    }
}

/* A plan, with its hot share given. */
typedef struct plan {
    uint32_t workers, servers, steps, entry, cold, payload, arrays;
    uint64_t bytes;
    double share;
} plan;

static uint32_t fewer(uint64_t packets, uint32_t servers)
{
    return packets < servers ? (uint32_t)packets : servers;
}

static void compare_plan(const plan *p, const rlt_libra_report *l, const rlt_react_result *r)
{
    uint64_t updates = p->bytes / p->entry, chunks = (p->bytes + p->payload - 1) / p->payload, hot = 0;
    double f = p->share, each = f * p->entry + (1 - f) * p->cold;
    if (p->entry != p->cold) {
        f = f * p->entry / each;
        chunks = (uint64_t)ceil((double)updates * each / p->payload);
    }
    for (uint64_t i = 0; i < chunks; i++)
        hot += floor((double)(i + 1) * f) > floor((double)i * f);
    uint64_t cold = chunks - hot;
    uint32_t values = p->payload / p->entry, n = p->workers;
    assert_true(same(l->share, p->share) && near(l->packet_share, f));
    assert_int_equal(l->updates, updates);
    assert_int_equal(l->hot_packets, hot);
    assert_int_equal(l->cold_packets, cold);
    assert_int_equal(l->parameters + l->hot + l->counted, 0);
    assert_true(near(l->law, n / (n * (1 - f) + f)) && l->steps == p->steps);
    assert_true(near(l->passes_random, rlt_passes_random(values, p->arrays)));
    assert_true(near(l->passes, (values + p->arrays - 1) / p->arrays));
    assert_int_equal(l->register_bytes, hot * p->payload);
    uint32_t to_cold = fewer(cold, p->servers), to_hot = fewer(hot, p->servers);
    assert_int_equal(l->connections, (uint64_t)n * ((hot > 0) + to_cold) + to_hot);
    assert_int_equal(l->connections_plain, (uint64_t)n * fewer(chunks, p->servers));
    assert_int_equal(l->server_connections, (hot > 0) + (cold > 0) * n);
    assert_int_equal(l->incast, chunks == 0 ? 0 : cold ? n : 1);
    assert_int_equal(r->chunks, chunks * p->steps);
    assert_int_equal(r->aggregated, hot * p->steps);
    assert_int_equal(r->unaggregated, cold * n * p->steps);
    assert_int_equal(r->server_bytes, (hot + cold * n) * p->steps * (p->payload + 82));
    assert_int_equal(r->slots, hot ? hot : 1);
    assert_int_equal(r->retransmissions + r->switches.collisions, 0);
    assert_true(same(l->staleness_mean, 0) && l->staleness_worst == 0 && l->flushes == 0);
}

static void plans(void **state)
{
    (void)state;
    dice d = {.seed = 7};
    for (uint32_t i = 0; i < 150; i++) {
        plan p = {.workers = 1 + below(&d, 8), .servers = 1 + below(&d, 4), .steps = 1 + below(&d, 3)};
        p.entry = 1 + below(&d, 8);
        p.cold = below(&d, 2) ? p.entry : 1 + below(&d, 16);
        p.payload = p.entry * (1 + below(&d, 40));
        p.arrays = 1 + below(&d, 12);
        p.bytes = roll(&d, 40) * p.payload + roll(&d, p.payload);
        p.share = below(&d, 3) ? below(&d, 1001) / 1000.0 : below(&d, 5) / 4.0;
        char settings[256];
        snprintf(settings, sizeof settings,
                 "share=%.3f servers=%u steps=%u entry=%uB cold_entry=%uB payload=%uB arrays=%u rto=0",
                 p.share, p.servers, p.steps, p.entry, p.cold, p.payload, p.arrays);
        test_leaves net = {.workers = p.workers + p.servers, .leaf_can = "reduce+multicast"};
        test_fabric x = test_fabric_open(&net, test_fabric_config());
        rlt_react_request q = test_request("libra", settings, net.workers, p.bytes);
        uint32_t job = test_add(&x, &q);
        rlt_libra_report l;
        rlt_error err = {0};
        test_finish(&x);
        assert_int_equal(rlt_libra_report_of(x.fabric, job, &l, &err), 0);
        rlt_react_result r = rlt_fabric_result(x.fabric, job);
        compare_plan(&p, &l, &r);
        test_fabric_close(&x);
    }
}

/* The hot set is sought among recorded counts, or by Zipf's law: the report says what seeking it by hand
 * finds, and what its place takes. Registers are one packet's for each that the hot set fills, or those that
 * a step sends. */
static void compare_found(dice *d, bool recorded)
{
    static const char counts[] = "9\n100\n40\n3\n3\n3\n1\n1\n20\n5\n5\n60\n8\n2\n2\n";
    uint32_t values = 1 + below(d, 6), arrays = 1 + below(d, 4), steps = 1 + below(d, 3);
    bool random = below(d, 2);
    rlt_hot_request q = {.workers = 2 + below(d, 4),
                         .updates = 20 + roll(d, 300),
                         .steps = 1 + below(d, 9),
                         .sampled = 0.5,
                         .memory_bytes = 1 + roll(d, 100),
                         .arrays = arrays,
                         .entry_bytes = 4,
                         .seed = roll(d, 50)};
    rlt_skew k;
    rlt_hot_set h;
    rlt_hot_layout place;
    rlt_error err = {0};
    if (recorded)
        assert_int_equal(rlt_skew_parse(counts, strlen(counts), "f", &k, &err), 0);
    else
        assert_int_equal(rlt_skew_zipf(1.25, 50, &k, &err), 0);
    assert_int_equal(rlt_hot_find(&k, &q, &h, &err), 0);
    uint64_t n = h.n ? h.n : 100 * (uint64_t)values;
    assert_int_equal(
        rlt_hot_place(n, values, arrays, random ? RLT_PLACE_RANDOM : RLT_PLACE_HEAT, q.seed, &place, &err),
        0);
    char settings[256];
    snprintf(settings, sizeof settings,
             "parameters=%u zipf=%s training_steps=%u sampled=0.5 memory=%uB arrays=%u payload=%uB "
             "seed=%u steps=%u "
             "order=%s window=9",
             recorded ? 0 : 50, recorded ? "3" : "1.25", q.steps, (uint32_t)q.memory_bytes, arrays,
             4 * values, (uint32_t)q.seed, steps, random ? "random" : "heat");
    test_leaves net = {.workers = q.workers + 1, .leaf_can = "reduce+multicast"};
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request r = test_request("libra", settings, net.workers, 4 * q.updates);
    r.updates = recorded ? &k : NULL;
    uint32_t job = test_add(&x, &r);
    rlt_libra_report l;
    test_finish(&x);
    assert_int_equal(rlt_libra_report_of(x.fabric, job, &l, &err), 0);
    assert_true(l.parameters == k.n && l.hot == h.n && l.counted == h.counted && l.updates == q.updates);
    assert_true(same(l.share, h.share) && same(l.touched, h.touched) && same(l.packet_share, l.share));
    assert_true(same(l.passes, place.passes_mean) &&
                same(l.passes_random, rlt_passes_random(values, arrays)));
    uint64_t chunks = (q.updates + values - 1) / values, hot = (uint64_t)floor((double)chunks * h.share);
    uint64_t slots = h.n ? (h.n + values - 1) / values : hot;
    slots = slots < hot ? slots : hot;
    assert_true(l.hot_packets == hot && l.hot_packets + l.cold_packets == chunks);
    assert_int_equal(l.register_bytes, hot ? slots * 4 * values : 0);
    /* as many chunks on their way as registers have room for their hot ones */
    rlt_react_result got = rlt_fabric_result(x.fabric, job);
    double window =
        slots && slots < hot && floor((double)slots / h.share) < 9 ? floor((double)slots / h.share) : 9;
    assert_true(same(got.window, window));
    assert_int_equal(got.switches.collisions, 0);
    test_fabric_close(&x);
    rlt_hot_layout_free(&place);
    rlt_hot_free(&h);
    rlt_skew_free(&k);
}

static void found(void **state)
{
    (void)state;
    dice d = {.seed = 8};
    for (uint32_t i = 0; i < 60; i++)
        compare_found(&d, i % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),         cmocka_unit_test(text_ends_at_its_length),
        cmocka_unit_test(files),         cmocka_unit_test(hot_sets),
        cmocka_unit_test(hot_bounds),    cmocka_unit_test(layouts),
        cmocka_unit_test(random_places), cmocka_unit_test(touched),
        cmocka_unit_test(plans),         cmocka_unit_test(found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
