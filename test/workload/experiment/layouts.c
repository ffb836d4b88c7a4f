/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is asked in settings of a run: each point is the run that its settings say, under factors too; the least
 * worst regret, and advice, are those of a walk over all points, simulated one by one.
 */
#include "workload/experiment/layouts/layouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/advice.h"
#include "workload/experiment/layouts/robust.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

static const search_words small = {
    .topology = "switch:4@200GB/s,300ns*switch:2@10GB/s,2us",
    .model = "transformer:layers=4,hidden=384,heads=12,vocabulary=8000,sequence=256",
    .layout = "cp=1,order=tp-cp-dp-pp+dp-tp-cp-pp,sp=on,vp=1",
    .train = "batch=24,microbatch=1+2+3,recompute=none+full,zero=1+3,schedule=1f1b"};

/* ---- points and settings ---- */

static rlt_time time_alone(const search_words *w, double *memory_bytes)
{
    static search_walk one;
    search_all(w, 0, &one);
    assert_int_equal(one.n, 1);
    *memory_bytes = one.points[0].memory_bytes;
    return one.points[0].time_ps;
}

static void assert_settings_say_the_points(const search_words *asked, const search_words *pasted,
                                           uint32_t least)
{
    search_asked a;
    rlt_layouts l;
    rlt_error err = {0};
    const rlt_layout_search all = {.no_bounds = true};
    search_open(&l, &a, asked);
    assert_int_equal(rlt_layouts_ranks(&l), 8);
    assert_int_equal(rlt_layouts_find(&l, &all, &err), 0);
    assert_true(l.result.n >= least);
    for (uint32_t i = 0; i < l.result.n; i += 3) {
        const rlt_layout_point *p = &l.result.points[i];
        search_words w = *pasted;
        char *layout = NULL, *train = NULL;
        double memory;
        rlt_training t;
        assert_int_equal(rlt_layouts_settings(&l, p, &layout, &train, &err), 0);
        w.layout = layout;
        w.train = train;
        assert_int_equal(time_alone(&w, &memory), p->time_ps);
        assert_true(memory >= p->memory_bytes && memory <= p->memory_bytes);
        assert_int_equal(rlt_layouts_training(&l, p, &t, &err), 0);
        assert_int_equal(t.size[RLT_AXIS_TP] * t.size[RLT_AXIS_DP] * t.size[RLT_AXIS_PP], 8);
        free(layout);
        free(train);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

static void settings_say_the_point(void **state)
{
    (void)state;
    assert_settings_say_the_points(&small, &small, 60);
    /* A setting that is no axis stays in its list. dp=auto, and an axis named again, say nothing new. */
    search_words w = small;
    w.layout = "cp=1,dp=auto,tp=1+2+4+8,order=tp-cp-dp-pp,sp=on,vp=1";
    w.train = "batch=24,param_precision=fp32,microbatch=2,recompute=none,zero=1,schedule=1f1b+gpipe";
    assert_settings_say_the_points(&w, &small, 12);
    w.layout = "auto";
    w.train = "batch=24,tp=2,pp=2,cp=1,vp=1,sp=on,microbatch=1,recompute=none,zero=1,schedule=1f1b";
    assert_settings_say_the_points(&w, &small, 1);
}

/* The settings behind a strategy's name come first. Those after the name, and then those of the lists, take their
 * place. */
static void strategies_give_axes(void **state)
{
    static search_walk by_name, by_words;
    static const struct {
        const char *strategy, *train, *words;
    } rows[] = {{"megatron:tp=2,loss=3", "batch=24,microbatch=2,recompute=none",
                 "loss=3,zero=1,schedule=1f1b,batch=24,microbatch=2,recompute=none"},
                {"megatron:zero=0,tp=4", "batch=24,microbatch=2,recompute=none,schedule=gpipe",
                 "loss=6,zero=0,schedule=gpipe,batch=24,microbatch=2,recompute=none"},
                {"megatron:tp=4", "batch=24,microbatch=2,recompute=none,zero=2,loss=5",
                 "loss=5,zero=2,schedule=1f1b,batch=24,microbatch=2,recompute=none"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char train[200];
        search_words w = small;
        w.strategy = rows[i].strategy;
        w.layout = "tp=2,pp=2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
        w.train = rows[i].train;
        search_all(&w, 0, &by_name);
        snprintf(train, sizeof train, "accumulate=4,gradient=4,fragmentation=1.06,context=2GiB,%s",
                 rows[i].words);
        w.strategy = NULL;
        w.train = train;
        search_all(&w, 0, &by_words);
        assert_true(by_name.n == 1 && by_words.n == 1);
        assert_int_equal(by_name.points[0].time_ps, by_words.points[0].time_ps);
        assert_true(fabs(by_name.points[0].memory_bytes - by_words.points[0].memory_bytes) < 1);
    }
    /* Several values are an axis there, too. */
    search_words w = small;
    w.layout = "tp=2,pp=2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
    w.strategy = "megatron:microbatch=1+2";
    w.train = "batch=24,recompute=none";
    search_all(&w, 0, &by_name);
    w.strategy = "megatron";
    w.train = "batch=24,recompute=none,microbatch=1+2";
    search_all(&w, 0, &by_words);
    assert_true(by_name.n == 2 && by_words.n == 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(by_name.points[i].time_ps, by_words.points[i].time_ps);
}

/* The iterations of a training do not count: the time is that of one. */
static void one_iteration(void **state)
{
    static search_walk one, several;
    search_words w = small;
    (void)state;
    w.layout = "tp=2,pp=2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
    w.train = "batch=24,microbatch=2,recompute=none,zero=1,schedule=1f1b";
    search_all(&w, 0, &one);
    w.train = "batch=24,microbatch=2,recompute=none,zero=1,schedule=1f1b,steps=3";
    search_all(&w, 0, &several);
    assert_true(one.n == 1 && several.n == 1);
    assert_int_equal(one.points[0].time_ps, several.points[0].time_ps);
}

static void refused_settings(void **state)
{
    static const struct {
        const char *layout, *train;
        int code;
        const char *where, *what;
    } rows[] = {
        {"cp=1", "microbatch=1", RLT_EUSAGE, "--train", "expected batch=N, the samples of an iteration"},
        {"tp=1,tp=2", "batch=8", RLT_EUSAGE, "tp", "is given twice, as 'tp=1' and as 'tp=2'"},
        {"tp=none", "batch=8", RLT_EUSAGE, "", NULL},
        {"cp=1", "batch=8,microbatch=3+03", RLT_EUSAGE, "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search_asked a;
        rlt_layouts l = {0};
        rlt_error err = {0};
        search_words w = small;
        w.layout = rows[i].layout;
        w.train = rows[i].train;
        search_ask(&a, &w);
        int rc = rlt_layouts_open(&l, &a.settings, &a.args, &err);
        if (rc != rows[i].code || (*rows[i].where && strcmp(err.where, rows[i].where) != 0) ||
            (rows[i].what && !strstr(err.what, rows[i].what)))
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        rlt_layouts_close(&l);
        rlt_parsed_free(&a.args);
    }
}

static void unknown_networks(void **state)
{
    search_asked a;
    rlt_layouts l = {0};
    rlt_error err = {0};
    search_words w = small;
    (void)state;
    w.topology = "swich:4@1GB/s,1us";
    search_ask(&a, &w);
    assert_true(rlt_layouts_open(&l, &a.settings, &a.args, &err) < 0);
    assert_non_null(strstr(err.what, "did you mean 'switch'?"));
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* All ranks at half their speed: as accelerators of half the speed. One rank: no layout is faster than with all at
 * full speed, or slower than with all at half; each is slower than at full speed, since every rank computes. */
static void slow_ranks(void **state)
{
    static const char *const slow[] = {"0:compute=0.5", "1:compute=0.5", "2:compute=0.5", "3:compute=0.5",
                                       "4:compute=0.5", "5:compute=0.5", "6:compute=0.5", "7:compute=0.5"};
    static search_walk plain, half, all, one;
    search_words w = small;
    (void)state;
    search_all(&w, 0, &plain);
    w.compute_scale = "0.5";
    search_all(&w, 0, &half);
    w.compute_scale = NULL;
    memcpy(w.rank_scale, slow, sizeof slow);
    search_all(&w, 0, &all);
    memset(w.rank_scale, 0, sizeof w.rank_scale);
    w.rank_scale[0] = "6:compute=0.5";
    search_all(&w, 0, &one);
    assert_true(plain.n > 20 && half.n == plain.n && all.n == plain.n && one.n == plain.n);
    for (uint32_t i = 0; i < plain.n; i++) {
        const rlt_layout_point *p = &plain.points[i];
        rlt_time least = p->time_ps, most = search_same(&half, p)->time_ps,
                 is = search_same(&one, p)->time_ps;
        assert_int_equal(search_same(&all, p)->time_ps, most);
        assert_true(least < is && is <= most);
    }
}

static void ranks_that_are_refused(void **state)
{
    static const char *const wrong[] = {"7:compute=1.01", "0:compute=1.5", "5:host=0.9", "3:host=1.1"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        search_asked a;
        rlt_layouts l = {0};
        rlt_error err = {0};
        search_words w = small;
        char what[100];
        w.rank_scale[0] = "0:compute=1"; /* not slower: no straggler, and no harm */
        w.rank_scale[1] = wrong[i];
        snprintf(what, sizeof what,
                 "expected the compute of rank %c at 1 or slower: a search has stragglers only", wrong[i][0]);
        search_ask(&a, &w);
        assert_int_equal(rlt_layouts_open(&l, &a.settings, &a.args, &err), RLT_EUSAGE);
        assert_string_equal(err.where, "--rank-scale");
        assert_string_equal(err.what, what);
        rlt_layouts_close(&l);
        rlt_parsed_free(&a.args);
    }
}

/* ---- factors ---- */

static void assert_equal_times(const rlt_layout_result *r, const search_walk *w)
{
    assert_int_equal(r->n, w->n);
    for (uint32_t i = 0; i < r->n; i++) {
        assert_memory_equal(r->points[i].at, w->points[i].at, sizeof w->points[i].at);
        assert_int_equal(r->points[i].time_ps, w->points[i].time_ps);
    }
}

/* A factor multiplies what the settings say. */
static void factors_are_settings(void **state)
{
    static const rlt_layout_factors rows[] = {
        {0.3, 1, 1}, {1, 0.7, 1}, {1, 1, 1.9}, {0.123456789, 1.1, 0.5}, {1, 1, 1}};
    static search_walk walk;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int scaled = 0; scaled < 2; scaled++) {
            search_asked a;
            rlt_layouts as, l = {0};
            rlt_error err = {0};
            search_factored f;
            search_words w = small;
            const rlt_layout_search all = {.no_bounds = true};
            double before = scaled ? 0.8 : 1;
            if (scaled) { /* settings that are scaled already */
                w.dim_scale[0] = "0=0.5";
                w.compute_scale = "0.8";
            }
            search_under(&f, &w, rows[i].bandwidth, before * rows[i].efficiency, rows[i].half_sizes);
            search_all(&f.words, 0, &walk);
            search_open(&as, &a, &w);
            if (rlt_layouts_open_as(&l, &as, &rows[i], &err) || rlt_layouts_find(&l, &all, &err))
                fail_msg("%s: %s", err.where, err.what);
            assert_equal_times(&l.result, &walk);
            assert_ptr_equal(l.asked, as.asked);
            assert_string_equal(l.stated[0], i == 0   ? "dim-scale=1=0.3"
                                             : i == 3 ? "dim-scale=1=0.123457"
                                                      : "");
            rlt_layouts_close(&l);
            rlt_layouts_close(&as);
            rlt_parsed_free(&a.args);
        }
}

/* ---- regret ---- */

enum { CASES = RLT_ROBUST_CASES };

typedef struct regrets {
    uint32_t n_cases;
    double at[CASES][RLT_LAYOUT_FACTORS];
    search_walk walks[CASES];
} regrets;

static void walk_cases(const rlt_layout_ranges *r, regrets *out)
{
    out->n_cases = 0;
    for (uint32_t corner = 0; corner <= 8; corner++) {
        double at[3] = {1, 1, 1};
        bool known = false;
        for (uint32_t k = 0; k < 3 && corner; k++)
            at[k] = (corner - 1) >> k & 1 ? r->high[k] : r->low[k];
        for (uint32_t c = 0; c < out->n_cases; c++)
            known = known || memcmp(out->at[c], at, sizeof at) == 0;
        if (known)
            continue;
        search_factored f;
        search_under(&f, &small, at[0], at[1], at[2]);
        memcpy(out->at[out->n_cases], at, sizeof at);
        search_all(&f.words, 0, &out->walks[out->n_cases++]);
    }
}

static double worst_of(const regrets *r, const rlt_layout_point *p, uint32_t *where)
{
    double worst = -1;
    for (uint32_t c = 0; c < r->n_cases; c++) {
        double one =
            (double)search_same(&r->walks[c], p)->time_ps / (double)r->walks[c].points[0].time_ps - 1;
        if (one > worst) {
            worst = one;
            *where = c;
        }
    }
    return worst;
}

static void assert_robust(const regrets *r, const rlt_robust *found, double within)
{
    double least = INFINITY;
    uint32_t where = 0, expected = 0;
    assert_int_equal(found->n_cases, r->n_cases);
    for (uint32_t c = 0; c < r->n_cases; c++) {
        assert_int_equal(found->cases[c].best.time_ps, r->walks[c].points[0].time_ps);
        assert_memory_equal(&found->cases[c].at, r->at[c], sizeof r->at[c]);
    }
    for (uint32_t i = 0; i < r->walks[0].n; i++)
        least = fmin(least, worst_of(r, &r->walks[0].points[i], &where));
    for (uint32_t i = 0; i < r->walks[0].n; i++)
        expected += worst_of(r, &r->walks[0].points[i], &where) <= least + within;
    assert_int_equal(found->n, expected);
    for (uint32_t i = 0; i < found->n; i++) {
        const rlt_robust_point *p = &found->points[i];
        double worst = worst_of(r, &p->point, &where);
        assert_true(fabs(p->worst - worst) < 1e-12 && (i || fabs(worst - least) < 1e-12));
        assert_int_equal(p->where, where);
        assert_true(!i || p->worst >= found->points[i - 1].worst);
        assert_int_equal(p->point.time_ps, search_same(&r->walks[0], &p->point)->time_ps);
        for (uint32_t c = 0; c < r->n_cases; c++)
            assert_int_equal(p->time_ps[c], search_same(&r->walks[c], &p->point)->time_ps);
    }
    assert_memory_equal(found->nominal.point.at, r->walks[0].points[0].at, sizeof r->walks[0].points[0].at);
    assert_true(fabs(found->nominal.worst - worst_of(r, &r->walks[0].points[0], &where)) < 1e-12);
    assert_true(found->searched < r->n_cases && found->simulated >= r->n_cases);
}

static void regrets_are_those_of_the_walk(void **state)
{
    static const char *const ranges[] = {"bandwidth=0.05:1", "efficiency=0.6:1.2,half_sizes=0.2:4",
                                         "bandwidth=0.1:3,efficiency=1.5",
                                         "bandwidth=0.02:5,efficiency=0.5:2,half_sizes=0.5:8"};
    static regrets r;
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        rlt_layout_ranges range;
        search_asked a;
        rlt_layouts l;
        rlt_error err = {0};
        assert_int_equal(rlt_layout_ranges_parse(ranges[i], &range, &err), 0);
        walk_cases(&range, &r);
        search_open(&l, &a, &small);
        for (int k = 0; k < (i % 2 ? 3 : 2); k++) {
            static const double within[] = {0, 0.04, 10};
            const rlt_layout_search how = {.within = within[k]};
            rlt_robust found;
            if (rlt_robust_find(&l, &range, &how, &found, &err))
                fail_msg("%s: %s", err.where, err.what);
            assert_robust(&r, &found, how.within);
            rlt_robust_free(&found);
        }
        rlt_layouts_close(&l);
        rlt_parsed_free(&a.args);
    }
}

static void ranges_by_name(void **state)
{
    static const char *const wrong[] = {"bandwidth=2:1",     "bandwidth=0:1",  "bandwidth=0.0009",
                                        "efficiency=1:1001", "bandwidth=x",    "bandwidth=1:x",
                                        "bandwidth",         "speed=1",        "half_sizes=-1:1",
                                        "bandwidth=nan",     "bandwidth=1:2:3"};
    rlt_layout_ranges r;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_layout_ranges_parse("bandwidth=0.001:0.5,half_sizes=7", &r, &err), 0);
    const double want[2][3] = {{0.001, 1, 7}, {0.5, 1, 7}};
    for (uint32_t k = 0; k < 3; k++)
        assert_true(fabs(r.low[k] - want[0][k]) < 1e-15 && fabs(r.high[k] - want[1][k]) < 1e-15);
    assert_int_equal(rlt_layout_ranges_parse("efficiency=1000:1000", &r, &err), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (rlt_layout_ranges_parse(wrong[i], &r, &err) != RLT_EUSAGE)
            fail_msg("%s", wrong[i]);
}

/* ---- advice ---- */

static double gain_in(const rlt_layouts_advice *advice, const char *what, bool searched)
{
    for (uint32_t i = 0; i < advice->n_changes; i++)
        if (advice->changes[i].searched == searched &&
            strncmp(advice->changes[i].what, what, strlen(what)) == 0)
            return advice->changes[i].gain;
    return NAN;
}

static void assert_gain(const rlt_layouts_advice *advice, const char *what, bool searched, double want)
{
    double got = gain_in(advice, what, searched);
    if (!(fabs(got - want) < 1e-9))
        fail_msg("%s: a gain of %g, not %g", what, got, want);
}

/* Gain of a point, or of the best one, where other words are asked. */
static double gain_of(const search_words *w, double headroom, const rlt_layout_point *p, bool searched,
                      uint32_t times)
{
    static search_walk walk;
    search_all(w, headroom, &walk);
    const rlt_layout_point *now = searched ? walk.points : search_same(&walk, p);
    return (double)p->time_ps * times / (double)now->time_ps - 1;
}

/* Searches, and asks what all changes would bring. */
static void search_advised(rlt_layouts *l, search_asked *a, const search_words *w, rlt_layouts_advice *advice)
{
    rlt_error err = {0};
    const rlt_layout_search how = {.within = 0.1};
    const rlt_layouts_advise asked = {.changes = true, .searches = true};
    search_open(l, a, w);
    if (rlt_layouts_find(l, &how, &err) ||
        rlt_layouts_advice_find(l, &a->settings, &a->args, &how, &asked, advice, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static void advice_is_simulated(void **state)
{
    search_asked a;
    rlt_layouts l;
    rlt_layouts_advice advice;
    search_words w = small, other;
    (void)state;
    w.layout = "tp=1+2,pp=2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
    w.train = "batch=24,microbatch=1+3,recompute=full,zero=1,schedule=1f1b";
    search_advised(&l, &a, &w, &advice);
    const rlt_layout_point *best = l.result.points;
    other = w;
    other.compute_scale = "1.1";
    assert_gain(&advice, "accelerators 10 % faster", false, gain_of(&other, 0, best, false, 1));
    other = w;
    other.dim_scale[0] = "0=2";
    assert_gain(&advice, "bandwidth of the innermost dimension x 2", false,
                gain_of(&other, 0, best, false, 1));
    other.dim_scale[0] = "1=2";
    assert_gain(&advice, "bandwidth of the outermost dimension x 2", false,
                gain_of(&other, 0, best, false, 1));
    assert_gain(&advice, "bandwidth of the outermost dimension x 2", true, gain_of(&other, 0, best, true, 1));
    other = w;
    other.train = "batch=48,microbatch=1+3,recompute=full,zero=1,schedule=1f1b";
    assert_gain(&advice, "batch x 2", false, gain_of(&other, 0, best, false, 2));
    other.train = "batch=24,microbatch=1+3,recompute=none,zero=1,schedule=1f1b";
    assert_gain(&advice, "nothing computed again", false, gain_of(&other, 0, best, false, 1));
    assert_gain(&advice, "10 % more memory", true, 0);
    assert_true(advice.n_changes == 7 && advice.n_near == 0 && !advice.looked_near);
    for (uint32_t i = 1; i < advice.n_changes; i++)
        assert_true(advice.changes[i].gain <= advice.changes[i - 1].gain);
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* A network of one dimension has one bandwidth to change. */
static void advice_on_one_dimension(void **state)
{
    search_asked a;
    rlt_layouts l;
    rlt_layouts_advice advice;
    search_words w = small, other;
    (void)state;
    w.topology = "switch:8@10GB/s,2us";
    w.layout = "tp=2,pp=2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
    w.train = "batch=24,microbatch=3,recompute=none,zero=1,schedule=1f1b";
    search_advised(&l, &a, &w, &advice);
    const rlt_layout_point *best = l.result.points;
    other = w;
    other.dim_scale[0] = "0=2";
    uint32_t named = 0;
    for (uint32_t i = 0; i < advice.n_changes; i++)
        if (strstr(advice.changes[i].what, "bandwidth")) {
            assert_string_equal(advice.changes[i].what, "bandwidth x 2");
            named += advice.changes[i].searched ? 10 : 1;
        }
    assert_int_equal(named, 11);
    assert_gain(&advice, "bandwidth x 2", false, gain_of(&other, 0, best, false, 1));
    assert_gain(&advice, "bandwidth x 2", true, gain_of(&other, 0, best, true, 1));
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* Settings of "zero=2 or recompute=full", each of which makes a layout fit; a milder value of it does not. */
static void assert_fits_with(const rlt_training *t, const char *list, double room)
{
    char text[96], *rest = text, *word;
    snprintf(text, sizeof text, "%s", list);
    while ((word = strtok_r(rest, " ", &rest))) {
        rlt_training other = *t;
        rlt_error err = {0};
        char *value = strchr(word, '=');
        if (!value) {
            assert_string_equal(word, "or");
            continue;
        }
        *value++ = '\0';
        assert_int_equal(rlt_training_set(&other, word, value, &err), 0);
        assert_int_equal(rlt_training_plan(&other, 8, &err), 0);
        assert_true(rlt_training_fullest(&other, NULL) <= room);
        if (strcmp(word, "microbatch") != 0 || other.microbatch + 1 == t->microbatch)
            continue;
        other = *t;
        other.microbatch = (uint32_t)strtoul(value, NULL, 10) + 1;
        assert_true(rlt_training_plan(&other, 8, &err) != 0 || rlt_training_fullest(&other, NULL) > room);
    }
}

static void assert_near(const search_words *w, double headroom, double reach)
{
    static search_walk more;
    search_asked a;
    rlt_layouts l;
    rlt_error err = {0};
    rlt_layouts_advice advice;
    const rlt_layout_search how = {.headroom = headroom, .within = 0};
    const rlt_layouts_advise asked = {.reach = reach};
    search_open(&l, &a, w);
    if (rlt_layouts_find(&l, &how, &err) ||
        rlt_layouts_advice_find(&l, &a.settings, &a.args, &how, &asked, &advice, &err))
        fail_msg("%s: %s", err.where, err.what);
    double room = (double)l.run.accelerator.memory_bytes * (1 - headroom);
    rlt_time best = l.result.points[0].time_ps;
    search_all(w, 1 - (1 - headroom) * (1 + reach), &more);
    assert_true(advice.looked_near && advice.n_changes == 0);
    /* A search with more memory finds the fastest layout alone, and those as fast. */
    const rlt_layout_point *p = more.points;
    bool faster = p->time_ps < best && p->memory_bytes > room;
    assert_int_equal(advice.n_near > 0, faster);
    for (uint32_t i = 0; i < advice.n_near; i++) {
        rlt_training t;
        const rlt_layouts_near *one = &advice.near[i];
        const rlt_layout_point *same = search_same(&more, &one->point);
        assert_non_null(same);
        assert_int_equal(one->point.time_ps, same->time_ps);
        assert_true(one->point.time_ps < best && (i || one->point.time_ps == p->time_ps));
        assert_true(fabs(one->missing_bytes - (same->memory_bytes - room)) < 1 && one->missing_bytes > 0);
        assert_int_equal(rlt_layouts_training(&l, &one->point, &t, &err), 0);
        assert_fits_with(&t, one->fits_with, room);
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* With a little less memory than a layout needs, it is just out of reach. */
static void what_is_out_of_reach(void **state)
{
    static search_walk walk;
    search_words w = small;
    (void)state;
    w.layout = "tp=1+2,pp=1,cp=1,vp=1,sp=on,order=tp-cp-dp-pp";
    w.train = "batch=96,microbatch=1+2+3+4+6,recompute=none+full,zero=0+1,schedule=1f1b";
    search_all(&w, 0, &walk);
    double most = 85899345920.0;
    for (uint32_t i = 0; i < walk.n; i += 4) {
        search_asked a;
        rlt_layouts l;
        search_open(&l, &a, &w);
        most = (double)l.run.accelerator.memory_bytes;
        rlt_layouts_close(&l);
        rlt_parsed_free(&a.args);
        double room = walk.points[i].memory_bytes * 0.97;
        bool some = false;
        for (uint32_t k = 0; k < walk.n; k++)
            some = some || walk.points[k].memory_bytes <= room;
        if (some) {
            assert_near(&w, 1 - room / most, 0.04);
            assert_near(&w, 1 - room / most, 0.02);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_say_the_point),
        cmocka_unit_test(strategies_give_axes),
        cmocka_unit_test(one_iteration),
        cmocka_unit_test(refused_settings),
        cmocka_unit_test(unknown_networks),
        cmocka_unit_test(slow_ranks),
        cmocka_unit_test(ranks_that_are_refused),
        cmocka_unit_test(factors_are_settings),
        cmocka_unit_test(regrets_are_those_of_the_walk),
        cmocka_unit_test(ranges_by_name),
        cmocka_unit_test(advice_is_simulated),
        cmocka_unit_test(advice_on_one_dimension),
        cmocka_unit_test(what_is_out_of_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
