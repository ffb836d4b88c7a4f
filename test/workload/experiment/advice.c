/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advice on searches at random, whole: each change with its gain, in order, and each layout just out of reach with what
 * would make it fit. Times come from walks over all points under the changed settings.
 */
#include "workload/experiment/layouts/advice.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { CASES = 36, ANY_MEMORY = -1000 };

typedef struct question {
    char layout[120], train[200];
    uint32_t batch, dims; /* dims 0: a graph */
    search_words words;
    rlt_layout_search how;
    rlt_layouts_advise asked;
    double memory; /* of the accelerator */
} question;

static void write_train(const question *q, uint32_t batch, bool none, char *text, size_t size, dice d)
{
    static const char *const microbatches[] = {"1+2+3", "2", "1+2+3+4+6", "4+6"};
    static const char *const zeros[] = {"1", "0+1", "0+1+3", "2"};
    static const char *const recomputes[] = {"full", "none+full", "none", "selective+full"};
    const char *again = recomputes[below(&d, 4)];
    snprintf(text, size, "batch=%u,schedule=1f1b,microbatch=%s,zero=%s,recompute=%s", batch,
             microbatches[below(&d, 4)], zeros[below(&d, 4)], none ? "none" : again);
    (void)q;
}

static void draw(question *q, dice *d)
{
    static const struct {
        const char *text;
        uint32_t dims;
    } networks[] = {{"switch:4@200GB/s,300ns*switch:2@20GB/s,2us", 2},
                    {"switch:8@10GB/s,2us", 1},
                    {"ring:2@50GB/s,300ns*ring:2@20GB/s,2us*switch:2@5GB/s,2us", 3},
                    {"dgx1-v100-8", 0}};
    static const char *const layouts[] = {"tp=1+2,pp=1+2", "tp=1+2+4,pp=1", "tp=2,pp=2+4", "tp=1,pp=1+2"};
    uint32_t network = below(d, 8) % 7 % 4;
    *q = (question){.batch = 24u << below(d, 3), .dims = networks[network].dims};
    snprintf(q->layout, sizeof q->layout, "%s,cp=1,vp=1,sp=on,order=tp-cp-dp-pp", layouts[below(d, 4)]);
    write_train(q, q->batch, false, q->train, sizeof q->train, *d);
    q->words = (search_words){.topology = networks[network].text,
                              .model = "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
                              .layout = q->layout,
                              .train = q->train};
    if (below(d, 3) == 0)
        q->words.compute_scale = "0.5";
    if (q->dims && below(d, 3) == 0)
        q->words.dim_scale[0] = "0=0.5";
    q->asked = (rlt_layouts_advise){.changes = below(d, 4) > 0, .searches = below(d, 2)};
    q->asked.reach = !below(d, 3) ? 0 : below(d, 3) ? 0.05 * (1 + below(d, 6)) : 2;
    q->how.within = 0.4 * below(d, 3);
}

/* Leaves a little less memory than some layout needs, so that something is out of reach. */
static bool draw_headroom(question *q, dice *d)
{
    static search_walk walk;
    search_asked a;
    rlt_layouts l;
    search_open(&l, &a, &q->words);
    q->memory = (double)l.run.accelerator.memory_bytes;
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
    search_all(&q->words, 0, &walk);
    if (!walk.n)
        return false;
    double room = walk.points[below(d, 1 + walk.n / 4)].memory_bytes * (1.001 - 0.02 * below(d, 4));
    q->how.headroom = 1 - room / q->memory;
    search_all(&q->words, q->how.headroom, &walk);
    return walk.n > 0;
}

/* ---- changes ---- */

typedef struct expected {
    rlt_layouts_change changes[RLT_ADVICE_CHANGES];
    uint32_t n;
    rlt_layout_point best; /* without changes */
} expected;

static void expect(expected *e, const char *what, bool searched, const rlt_layout_point *p, uint32_t times)
{
    rlt_layouts_change *c = &e->changes[e->n++];
    assert_true(e->n <= RLT_ADVICE_CHANGES);
    *c = (rlt_layouts_change){.what = what, .searched = searched, .point = *p};
    c->point.time_ps /= times;
    c->gain = (double)e->best.time_ps / (double)c->point.time_ps - 1;
}

/* The same layout under other words, or the fastest there. */
static void expect_under(expected *e, const question *q, const search_words *w, const char *what,
                         bool searched)
{
    static search_walk walk;
    search_all(w, searched ? q->how.headroom : ANY_MEMORY, &walk);
    expect(e, what, searched, searched ? walk.points : search_same(&walk, &e->best), 1);
}

static void expect_bandwidths(expected *e, const question *q, bool searched)
{
    char text[8];
    search_words w = q->words;
    const char **more = &w.dim_scale[w.dim_scale[0] ? 1 : 0];
    if (!q->dims)
        return;
    if (q->dims > 1 && !searched) {
        *more = "0=2";
        expect_under(e, q, &w, "bandwidth of the innermost dimension x 2", false);
    }
    snprintf(text, sizeof text, "%u=2", q->dims - 1);
    *more = text;
    expect_under(e, q, &w, q->dims > 1 ? "bandwidth of the outermost dimension x 2" : "bandwidth x 2",
                 searched);
}

/* The best layout as a training of the search. */
static void plan_best(const question *q, const rlt_layout_point *p, rlt_training *t)
{
    search_asked a;
    rlt_layouts l;
    rlt_error err = {0};
    search_open(&l, &a, &q->words);
    assert_int_equal(rlt_layouts_training(&l, p, t, &err), 0);
    t->model = NULL; /* closed with the search */
    t->accelerator = NULL;
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* The one layout that a training says, with settings that may not be in the space. */
static const rlt_layout_point *only_point(const question *q, const rlt_training *t, uint32_t batch, bool none)
{
    static search_walk walk;
    static const char *const recompute[] = {"none", "selective", "full"};
    char layout[120], train[200];
    search_words w = q->words;
    int again = none                                 ? 0
                : t->recompute == RLT_RECOMPUTE_FULL ? 2
                : t->recompute == RLT_RECOMPUTE_NONE ? 0
                                                     : 1;
    snprintf(layout, sizeof layout, "tp=%u,pp=%u,cp=1,vp=1,sp=on,order=tp-cp-dp-pp", t->size[RLT_AXIS_TP],
             t->size[RLT_AXIS_PP]);
    snprintf(train, sizeof train, "batch=%u,schedule=1f1b,microbatch=%u,zero=%u,recompute=%s", batch,
             t->microbatch, (uint32_t)t->zero, recompute[again]);
    w.layout = layout;
    w.train = train;
    search_all(&w, ANY_MEMORY, &walk);
    return walk.n ? walk.points : NULL;
}

static void expect_changes(expected *e, const question *q)
{
    rlt_training t;
    search_words w = q->words;
    plan_best(q, &e->best, &t);
    w.compute_scale = w.compute_scale ? "0.55" : "1.1";
    expect_under(e, q, &w, "accelerators 10 % faster", false);
    expect_bandwidths(e, q, false);
    if (t.size[RLT_AXIS_PP] > 1)
        expect(e, "batch x 2, time of as many samples", false, only_point(q, &t, 2 * q->batch, false), 2);
    if (t.recompute != RLT_RECOMPUTE_NONE)
        expect(e, "nothing computed again", false, only_point(q, &t, q->batch, true), 1);
    if (q->asked.searches)
        expect_bandwidths(e, q, true);
}

/* Largest gains first; of equals, the first that was asked. */
static void assert_changes(const expected *e, const rlt_layouts_advice *got)
{
    bool taken[RLT_ADVICE_CHANGES] = {false};
    assert_int_equal(got->n_changes, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t most = e->n;
        for (uint32_t k = 0; k < e->n; k++)
            if (!taken[k] && (most == e->n || e->changes[k].gain > e->changes[most].gain))
                most = k;
        taken[most] = true;
        const rlt_layouts_change *want = &e->changes[most], *one = &got->changes[i];
        if (strcmp(one->what, want->what) != 0 || one->point.time_ps != want->point.time_ps)
            fail_msg("%u: %s takes %lld ps, not %s %lld", i, one->what, (long long)one->point.time_ps,
                     want->what, (long long)want->point.time_ps);
        assert_int_equal(one->searched, want->searched);
        assert_true(fabs(one->gain - want->gain) < 1e-12);
        assert_true(fabs(one->point.memory_bytes - want->point.memory_bytes) < 1);
        const rlt_layout_point *layout = want->searched ? &want->point : &e->best;
        assert_memory_equal(one->point.at, layout->at, sizeof layout->at);
    }
}

/* ---- out of reach ---- */

static bool fits(const rlt_training *t, const char *name, const char *value, double room)
{
    rlt_training other = *t;
    rlt_error err = {0};
    return !rlt_training_set(&other, name, value, &err) && !rlt_training_plan(&other, 8, &err) &&
           rlt_training_fullest(&other, NULL) <= room;
}

/* The mildest value of each setting that makes a training fit: "microbatch=1 or zero=2 or recompute=full". */
static void what_fits(const rlt_training *t, double room, char *text, size_t size)
{
    static const char *const names[] = {"microbatch", "zero", "recompute"};
    *text = '\0';
    for (int i = 0; i < 3; i++) {
        char value[20];
        bool found = false;
        uint32_t most = i == 0 ? t->microbatch - 1 : i == 1 ? 3 - (uint32_t)t->zero : 2;
        for (uint32_t k = 1; k <= most && !found; k++) {
            if (i == 2 && (t->recompute == RLT_RECOMPUTE_FULL || (k == 1 && t->recompute)))
                continue;
            if (i < 2)
                snprintf(value, sizeof value, "%u", i ? (uint32_t)t->zero + k : t->microbatch - k);
            else
                snprintf(value, sizeof value, "%s", k == 1 ? "selective" : "full");
            found = fits(t, names[i], value, room);
        }
        size_t used = strlen(text);
        if (found)
            snprintf(text + used, size - used, "%s%s=%s", used ? " or " : "", names[i], value);
    }
}

/* All within the share are there, the fastest first; slower ones that were simulated on the way may follow. Returns how
 * many there are. */
static uint32_t assert_near(const question *q, const rlt_layouts *l, rlt_time best_ps,
                            const rlt_layouts_advice *got)
{
    static search_walk more;
    double room = q->memory * (1 - q->how.headroom);
    uint32_t n = 0;
    search_all(&q->words, 1 - (1 - q->how.headroom) * (1 + q->asked.reach), &more);
    for (uint32_t i = 0; i < more.n && n < got->n_near; i++) {
        const rlt_layout_point *p = &more.points[i];
        const rlt_layouts_near *one = &got->near[n];
        char text[200];
        rlt_training t;
        rlt_error err = {0};
        if (memcmp(one->point.at, p->at, sizeof p->at) != 0) {
            assert_true((double)p->time_ps > (double)more.points[0].time_ps * (1 + q->how.within) ||
                        p->time_ps >= best_ps || p->memory_bytes <= room);
            continue;
        }
        assert_true(p->time_ps < best_ps && p->memory_bytes > room);
        assert_int_equal(one->point.time_ps, p->time_ps);
        assert_true(fabs(one->missing_bytes - (p->memory_bytes - room)) < 1);
        assert_int_equal(rlt_layouts_training(l, p, &t, &err), 0);
        what_fits(&t, room, text, sizeof text);
        assert_string_equal(one->fits_with, text);
        n++;
    }
    assert_int_equal(got->n_near, n);
    assert_true(n <= RLT_ADVICE_NEAR);
    if (more.points[0].time_ps < best_ps)
        assert_true(n > 0);
    return n;
}

static uint32_t assert_advice(const question *q)
{
    static search_walk walk;
    search_asked a;
    rlt_layouts l;
    rlt_layouts_advice got;
    rlt_error err = {0};
    expected e = {.n = 0};
    uint32_t near = 0;
    search_open(&l, &a, &q->words);
    if (rlt_layouts_find(&l, &q->how, &err) ||
        rlt_layouts_advice_find(&l, &a.settings, &a.args, &q->how, &q->asked, &got, &err))
        fail_msg("%s %s: %s: %s", q->layout, q->train, err.where, err.what);
    search_all(&q->words, q->how.headroom, &walk);
    e.best = walk.points[0];
    if (q->asked.changes)
        expect_changes(&e, q);
    bool helps = true;
    if (q->asked.searches) {
        search_all(&q->words, 1 - (1 - q->how.headroom) * 1.1, &walk);
        expect(&e, "10 % more memory", true, walk.points, 1);
        helps = walk.points[0].time_ps < e.best.time_ps || q->asked.reach > 0.1001;
    }
    assert_changes(&e, &got);
    assert_int_equal(got.looked_near, q->asked.reach > 0);
    if (q->asked.reach > 0 && helps)
        near = assert_near(q, &l, e.best.time_ps, &got);
    else
        assert_int_equal(got.n_near, 0);
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
    return near;
}

static void advice_is_that_of_walks(void **state)
{
    uint32_t near = 0, most = 0;
    (void)state;
    /* the first two: more layouts are near than are named; more memory helps, but not the 10 % */
    static const uint64_t first[] = {2024, 4026};
    for (uint64_t c = 0; c < CASES; c++) {
        dice d = {.seed = c < 2 ? first[c] : c};
        question q;
        draw(&q, &d);
        if (!draw_headroom(&q, &d))
            continue;
        uint32_t n = assert_advice(&q);
        near += n > 0;
        most = n > most ? n : most;
    }
    if (near < 3 || most < 3)
        fail_msg("%u searches with layouts out of reach, %u at most", near, most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice_is_that_of_walks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
