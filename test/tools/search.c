/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search methods on problems whose best point is known, and the rules that all methods keep. */
#include "tools/search/search.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "tools/base/interrupt.h"
#include "tools/search/trial.h"

enum { N = 6, OPTIONS = 5, MOST = 5000 };

static rlt_error err;

/* A problem with random costs for each option, and for each pair of options of neighbouring variables. */
typedef struct toy {
    uint64_t seed;
    bool pairs, tight; /* tight: points whose options sum to more than 2 N do not fit */
    uint32_t judged;
    uint16_t seen[MOST][N];
    bool repeats;
    uint32_t stop_after; /* raises SIGINT then; 0: never */
} toy;

static int64_t cost_of(const toy *t, const uint16_t *point)
{
    int64_t cost = 1000;
    for (uint32_t i = 0; i < N; i++) {
        cost += (int64_t)rlt_random_below(t->seed, i, 1, point[i], 100);
        if (t->pairs && i)
            cost += (int64_t)rlt_random_below(t->seed, i, 2, point[i] * 8u + point[i - 1], 300);
    }
    return cost;
}

static double lacks_of(const toy *t, const uint16_t *point)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N; i++)
        sum += point[i];
    return t->tight && sum > 2 * N ? sum - 2 * N : 0;
}

static int judge(void *ctx, uint32_t trial, const uint16_t *point, rlt_judged *out, rlt_error *e)
{
    toy *t = ctx;
    (void)e;
    *out = (rlt_judged){cost_of(t, point), lacks_of(t, point)};
    if (trial == 0 && t->judged < MOST) {
        for (uint32_t i = 0; i < t->judged; i++)
            t->repeats |= memcmp(t->seen[i], point, sizeof t->seen[i]) == 0;
        memcpy(t->seen[t->judged++], point, sizeof t->seen[0]);
    }
    if (t->stop_after && t->judged == t->stop_after)
        (void)raise(SIGINT);
    return 0;
}

static const uint32_t options[N] = {OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS, OPTIONS};
static const uint16_t baseline[N] = {2, 2, 2, 2, 2, 2};

static rlt_search_problem problem(toy *t)
{
    return (rlt_search_problem){.n = N, .options = options, .baseline = baseline, .ctx = t, .judge = judge};
}

static rlt_search_settings settings(const char *method, uint64_t budget)
{
    rlt_search_settings s = {.budget = budget, .seed = 7, .trials = 1, .threads = 1, .polish = 0.5};
    s.method = rlt_search_method_find(method, &err);
    assert_non_null(s.method);
    return s;
}

static rlt_search_result run(toy *t, const rlt_search_settings *s)
{
    rlt_search_result r;
    rlt_search_problem p = problem(t);
    t->judged = 0;
    t->repeats = false;
    if (rlt_search_run(&p, s, &r, &err))
        fail_msg("%s: %s: %s", s->method->name, err.where, err.what);
    return r;
}

/* The best of all points, and of those with one option for all. */
static rlt_judged best_of(const toy *t, bool uniform)
{
    rlt_judged best = {INT64_MAX, 1e9};
    uint32_t all = uniform ? OPTIONS : 15625;
    for (uint32_t k = 0; k < all; k++) {
        uint16_t point[N];
        uint32_t rest = k;
        for (uint32_t i = 0; i < N; i++, rest /= uniform ? 1 : OPTIONS)
            point[i] = (uint16_t)(rest % OPTIONS);
        rlt_judged j = {cost_of(t, point), lacks_of(t, point)};
        best = rlt_judged_better(&j, &best) ? j : best;
    }
    return best;
}

static void formulas(void **state)
{
    rlt_judged base = {1000, 0}, half = {500, 0}, less = {100000, 0}, over = {1, 1}, base_less = {456000, 0};
    (void)state;
    assert_true(fabs(rlt__puct(0.1, 0.2, 9, 2, 45) - 0.52426) < 1e-5);
    assert_true(fabs(rlt_search_reward(&base, &half) - 1) < 1e-12);
    assert_true(fabs(rlt_search_reward(&base_less, &less) - 1.3736) < 1e-4);
    assert_true(rlt_search_reward(&base, &over) == -1);
    assert_true(rlt_judged_better(&half, &base) && !rlt_judged_better(&over, &base));
}

/* What holds for every method on every problem. */
static void rules(void **state)
{
    static toy t;
    const rlt_search_method *m;
    (void)state;
    for (uint32_t i = 0; (m = rlt_search_method_at(i)); i++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            t = (toy){.seed = seed, .pairs = seed % 2, .tight = seed % 3 == 0};
            bool all = strcmp(m->name, "exhaustive") == 0;
            rlt_search_settings s = settings(m->name, all ? 15625 : 400);
            rlt_search_result r = run(&t, &s);
            rlt_judged uniform = best_of(&t, true), best = best_of(&t, false);
            assert_false(t.repeats);
            assert_true(r.judged <= s.budget);
            assert_int_equal(r.baseline.cost, cost_of(&t, baseline));
            assert_int_equal(r.best.cost, cost_of(&t, r.point));
            assert_false(rlt_judged_better(&r.baseline, &r.best));
            assert_false(rlt_judged_better(&r.best, &best));
            bool polished = m->polishes || strcmp(m->name, "portfolio") == 0 ||
                            strcmp(m->name, "descent") == 0 || strcmp(m->name, "uniform") == 0;
            if (polished)
                assert_false(rlt_judged_better(&uniform, &r.best));
            if (all)
                assert_int_equal(r.best.cost, best.cost);
            assert_int_equal(r.curve[0].judged, 1);
            for (uint32_t k = 1; k < r.n_curve; k++)
                assert_true(r.curve[k].judged > r.curve[k - 1].judged &&
                            r.curve[k].cost < r.curve[k - 1].cost);
            assert_int_equal(r.best.lacks > 0 || r.curve[r.n_curve - 1].cost == r.best.cost, 1);
            rlt_search_free(&r);
        }
}

/* Where the choices do not depend on each other, descent is exact: one pass finds the best of each variable. */
static void separable(void **state)
{
    static toy t;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        t = (toy){.seed = seed};
        rlt_search_settings s = settings("descent", 1 + OPTIONS + N * OPTIONS);
        rlt_search_result r = run(&t, &s);
        assert_int_equal(r.best.cost, best_of(&t, false).cost);
        rlt_search_free(&r);
    }
}

/* The portfolio descends first, if its share of the budget allows a pass. */
static void portfolio_descends(void **state)
{
    static toy t;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        t = (toy){.seed = seed};
        rlt_search_settings s = settings("portfolio", 1 + OPTIONS + 3 * N * OPTIONS);
        rlt_search_result r = run(&t, &s);
        assert_int_equal(r.best.cost, best_of(&t, false).cost);
        assert_true(r.curve[r.n_curve - 1].judged <= 1 + OPTIONS + N * OPTIONS);
        rlt_search_free(&r);
    }
}

/* All probability on the best options: each playout decides one more variable. */
static int perfect(void *ctx, uint32_t trial, const uint16_t *point, uint32_t decided, double *probability,
                   rlt_error *e)
{
    const toy *t = ctx;
    int64_t least = INT64_MAX;
    uint32_t best = 0;
    (void)trial;
    (void)point;
    (void)e;
    for (uint32_t o = 0; o < OPTIONS; o++) {
        int64_t c = (int64_t)rlt_random_below(t->seed, decided, 1, o, 100);
        probability[o] = 1e-9;
        if (c < least) {
            least = c;
            best = o;
        }
    }
    probability[best] = 1;
    return 0;
}

static void a_perfect_prior(void **state)
{
    static toy t;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        t = (toy){.seed = seed};
        rlt_search_problem p = problem(&t);
        rlt_search_settings s = settings("mcts", N + 1);
        rlt_search_result r;
        s.polish = 0;
        p.prior = perfect;
        if (rlt_search_run(&p, &s, &r, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(r.best.cost, best_of(&t, false).cost);
        rlt_search_free(&r);
    }
}

/* The result depends on the seed and the trials, not on the threads. */
static void threads(void **state)
{
    static toy t;
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        t = (toy){.seed = seed, .pairs = true};
        rlt_search_settings s = settings("portfolio", 301);
        s.trials = 3;
        s.threads = 1;
        rlt_search_result one = run(&t, &s);
        s.threads = 3;
        rlt_search_result three = run(&t, &s);
        assert_memory_equal(one.point, three.point, N * sizeof *one.point);
        assert_int_equal(one.n_curve, three.n_curve);
        assert_memory_equal(one.curve, three.curve, one.n_curve * sizeof *one.curve);
        assert_int_equal(one.judged, three.judged);
        assert_true(one.judged <= 301);
        rlt_search_free(&one);
        rlt_search_free(&three);
    }
}

static void a_start(void **state)
{
    static toy t = {.seed = 3};
    static const uint16_t start[N] = {0, 1, 2, 3, 4, 0};
    rlt_search_problem p = problem(&t);
    rlt_search_settings s = settings("random", 2);
    rlt_search_result r;
    (void)state;
    p.start = start;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), 0);
    assert_int_equal(t.judged, 2);
    assert_memory_equal(t.seen[1], start, sizeof start);
    rlt_search_free(&r);
}

static bool none(void *ctx, uint32_t variable, uint32_t option)
{
    (void)ctx;
    return variable != 1 || option != baseline[1];
}

static void refused(void **state)
{
    static toy t = {.seed = 1};
    static const uint32_t bad[N] = {OPTIONS, 0, OPTIONS, OPTIONS, OPTIONS, OPTIONS};
    static const uint16_t outside[N] = {OPTIONS, 0, 0, 0, 0, 0};
    rlt_search_problem p = problem(&t);
    rlt_search_settings s = settings("random", 0);
    rlt_search_result r;
    (void)state;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    s.budget = 10;
    p.n = 0;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    p = problem(&t);
    p.options = bad;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    p = problem(&t);
    p.baseline = outside;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    p = problem(&t);
    p.allowed = none;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    p = problem(&t);
    s.polish = 2;
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    s = settings("exhaustive", 100);
    assert_int_equal(rlt_search_run(&p, &s, &r, &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "15625"));
    assert_null(rlt_search_method_find("nonesuch", &err));
}

/* Option 3 means the same as option 1. */
static void three_is_one(void *ctx, uint16_t *point)
{
    (void)ctx;
    for (uint32_t i = 0; i < N; i++)
        point[i] = point[i] == 3 ? 1 : point[i];
}

static void points_that_mean_the_same(void **state)
{
    static toy t;
    const rlt_search_method *m;
    (void)state;
    for (uint32_t i = 0; (m = rlt_search_method_at(i)); i++) {
        t = (toy){.seed = i + 1, .pairs = true};
        rlt_search_problem p = problem(&t);
        rlt_search_settings s = settings(m->name, strcmp(m->name, "exhaustive") == 0 ? 15625 : 400);
        rlt_search_result r;
        p.canonical = three_is_one;
        assert_int_equal(rlt_search_run(&p, &s, &r, &err), 0);
        assert_false(t.repeats);
        for (uint32_t k = 0; k < t.judged; k++)
            for (uint32_t v = 0; v < N; v++)
                assert_true(t.seen[k][v] != 3);
        if (strcmp(m->name, "exhaustive") == 0)
            assert_int_equal(r.judged, 4096);
        rlt_search_free(&r);
    }
}

/* ---- games ---- */

typedef struct game {
    const toy *toy;
    uint32_t roots;
    uint16_t last[N];
} game;

static int learn(void *ctx, const uint16_t *point, uint32_t decided, const double *share, rlt_error *e)
{
    game *g = ctx;
    double sum = 0;
    (void)e;
    assert_int_equal(decided, g->roots++);
    for (uint32_t o = 0; o < OPTIONS; o++) {
        assert_true(share[o] >= 0 && (share[o] > 0 || decided > 0));
        sum += share[o];
    }
    assert_true(fabs(sum - 1) < 1e-12);
    if (decided > 1)
        assert_memory_equal(point, g->last, (decided - 1) * sizeof *point); /* decisions stay */
    for (uint32_t i = decided; decided && i < N; i++)
        assert_int_equal(point[i], point[0]);
    memcpy(g->last, point, sizeof g->last);
    return 0;
}

static void games(void **state)
{
    static toy t;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        t = (toy){.seed = seed};
        game g = {&t, 0, {0}};
        rlt_search_problem p = problem(&t);
        rlt_search_game how = {.seed = seed, .playouts = 100, .decisions = 4, .ctx = &g, .learn = learn};
        assert_int_equal(rlt_search_play(&p, &how, &err), 0);
        assert_int_equal(g.roots, 4);
        how.decisions = 99;
        g.roots = 0;
        assert_int_equal(rlt_search_play(&p, &how, &err), 0);
        assert_int_equal(g.roots, N);
    }
}

/* The last test: Ctrl-C is not taken back. */
static void interrupted(void **state)
{
    static toy t;
    (void)state;
    rlt_interrupt_init();
    t = (toy){.seed = 1, .pairs = true, .stop_after = 50};
    rlt_search_settings s = settings("anneal", 400);
    rlt_search_result r = run(&t, &s);
    assert_true(r.stopped);
    assert_int_equal(r.judged, 50);
    assert_true(r.best.cost <= r.baseline.cost);
    rlt_search_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas),
        cmocka_unit_test(rules),
        cmocka_unit_test(separable),
        cmocka_unit_test(portfolio_descends),
        cmocka_unit_test(a_perfect_prior),
        cmocka_unit_test(threads),
        cmocka_unit_test(a_start),
        cmocka_unit_test(refused),
        cmocka_unit_test(points_that_mean_the_same),
        cmocka_unit_test(games),
        cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
