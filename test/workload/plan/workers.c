/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search with workers: threads that take the questions of a round in odd orders, answers known from before, a
 * stop in the middle. The result is that of one worker, byte for byte.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/watch.h"
#include "test/support/trainings/layouts.h"
#include "workload/plan/plan.h"

enum { CASES = 200, MOST_WORKERS = 7, MOST_KNOWN = 1 << 16 };

/* Hooks of a search, and what they have seen. */
typedef struct crew {
    uint32_t workers, n, asked, rounds, stop_after;
    uint64_t seed;
    uint32_t *order;
    rlt_layout_outcome *out;
    rlt_layout_answer answer;
    void *job;
    bool stopped;
    struct {
        rlt_layout_task task;
        rlt_layout_outcome outcome;
    } * known;
    uint32_t n_known, forgets; /* forgets: of so many answers known one is not recalled; 0: none is */
} crew;

typedef struct hand {
    crew *of;
    uint32_t worker;
    pthread_t thread;
} hand;

static bool is_stopped(void *ctx)
{
    return ((const crew *)ctx)->stopped;
}

/* A worker takes each workers-th question of a shuffled list. */
static void *work(void *ctx)
{
    const hand *h = ctx;
    crew *c = h->of;
    rlt_watch watch = {.ctx = c, .stopped = is_stopped};
    for (uint32_t i = h->worker; i < c->n; i += c->workers)
        c->answer(c->job, c->order[i], h->worker, &watch, &c->out[c->order[i]]);
    return NULL;
}

static int each(void *ctx, uint32_t n, rlt_layout_outcome *out, rlt_layout_answer answer, void *job,
                rlt_error *err)
{
    crew *c = ctx;
    hand hands[MOST_WORKERS];
    (void)err;
    c->n = n;
    c->out = out;
    c->answer = answer;
    c->job = job;
    c->order = calloc(n, sizeof *c->order);
    assert_non_null(c->order);
    for (uint32_t i = 0; i < n; i++) { /* shuffled */
        uint32_t k = (uint32_t)(rlt_random_u64(c->seed, c->rounds, 0, i) % (i + 1));
        c->order[i] = c->order[k];
        c->order[k] = i;
    }
    if (c->stop_after && c->asked + n > c->stop_after) { /* only some are answered */
        c->n = c->stop_after - c->asked;
        c->stopped = true;
    }
    for (uint32_t w = 0; w < c->workers; w++) {
        hands[w] = (hand){.of = c, .worker = w};
        assert_int_equal(pthread_create(&hands[w].thread, NULL, work, &hands[w]), 0);
    }
    for (uint32_t w = 0; w < c->workers; w++)
        pthread_join(hands[w].thread, NULL);
    c->asked += n;
    c->rounds++;
    free(c->order);
    return c->stopped ? RLT_ECANCELLED : 0;
}

static bool recall(void *ctx, const rlt_layout_task *t, rlt_layout_outcome *out)
{
    crew *c = ctx;
    for (uint32_t i = 0; i < c->n_known; i++)
        if (memcmp(&c->known[i].task, t, sizeof *t) == 0) {
            *out = c->known[i].outcome;
            return !c->forgets || i % c->forgets != 0;
        }
    return false;
}

static int keep(void *ctx, const rlt_layout_task *t, const rlt_layout_outcome *o, rlt_error *err)
{
    crew *c = ctx;
    (void)err;
    assert_true(c->n_known < MOST_KNOWN);
    c->known[c->n_known].task = *t;
    c->known[c->n_known++].outcome = *o;
    return 0;
}

static rlt_layout_search search_of(const layouts *l, uint32_t i)
{
    static const double shares[] = {0, 0.02, 0, 10};
    rlt_layout_search s = {.base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = &l->space};
    s.within = shares[i % 4];
    s.gap = i % 4 == 2 ? 0.05 : 0;
    s.visit = i % 5 ? 0 : i + 1;
    return s;
}

static rlt_layout_result find(const layouts *l, uint32_t i, const rlt_layout_hooks *hooks, int expected)
{
    rlt_error err = {0};
    rlt_layout_result r;
    rlt_layout_search s = search_of(l, i);
    s.hooks = hooks;
    int rc = rlt_layout_find(&s, &r, &err);
    if (rc != expected)
        fail_msg("%s: %d, %s: %s", layouts_name(l, i, "workers"), rc, err.where, err.what);
    return r;
}

static bool same(double a, double b)
{
    return a <= b && a >= b;
}

static void check_same(const layouts *l, uint32_t i, const rlt_layout_result *a, const rlt_layout_result *b,
                       const char *what)
{
    bool equal = a->n == b->n && a->bounded == b->bounded && same(a->total, b->total) &&
                 same(a->repeated, b->repeated) && same(a->against_rules, b->against_rules) &&
                 same(a->out_of_memory, b->out_of_memory) && same(a->pruned, b->pruned) &&
                 a->n_reasons == b->n_reasons && a->proven == b->proven &&
                 a->least_pruned_ps == b->least_pruned_ps && same(a->least_bytes, b->least_bytes) &&
                 memcmp(a->nearest.at, b->nearest.at, sizeof a->nearest.at) == 0;
    for (uint32_t k = 0; k < a->n && equal; k++) {
        const rlt_layout_point *p = &a->points[k], *q = &b->points[k];
        equal = memcmp(p->at, q->at, sizeof p->at) == 0 && p->time_ps == q->time_ps &&
                p->bound_ps == q->bound_ps && same(p->memory_bytes, q->memory_bytes);
    }
    for (uint32_t k = 0; k < a->n_reasons && equal; k++)
        equal = strcmp(a->reasons[k].what, b->reasons[k].what) == 0 &&
                same(a->reasons[k].points, b->reasons[k].points);
    if (!equal)
        fail_msg("%s: %u simulated, %u with one worker; %llu bounds, %llu", layouts_name(l, i, what), a->n,
                 b->n, (unsigned long long)a->bounded, (unsigned long long)b->bounded);
}

static void draw_case(layouts *l, dice *r)
{
    layouts_draw(l, r);
    if (below(r, 2)) /* some layouts are out of memory */
        l->f.accelerator.memory_bytes = (uint64_t)(1 + below(r, 8)) << 30;
}

static void any_number_of_workers(void **state)
{
    static const uint32_t workers[] = {1, 2, 3, MOST_WORKERS};
    dice r = {.seed = 5};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        draw_case(&l, &r);
        rlt_layout_result one = find(&l, i, NULL, 0);
        for (uint32_t k = 0; k < 4; k++) {
            crew c = {.workers = workers[k], .seed = i};
            rlt_layout_hooks h = {.ctx = &c, .workers = c.workers, .each = each};
            rlt_layout_result many = find(&l, i, &h, 0);
            check_same(&l, i, &many, &one, "workers");
            rlt_layout_result_free(&many);
        }
        rlt_layout_result_free(&one);
        layouts_free(&l);
    }
}

/* Stops after some answers. Each point is counted, and the answers kept lead to the same result. */
static void stopped_and_gone_on(void **state)
{
    dice r = {.seed = 6};
    uint32_t stopped = 0;
    crew c = {.workers = 2};
    (void)state;
    c.known = calloc(MOST_KNOWN, sizeof *c.known);
    assert_non_null(c.known);
    for (uint32_t i = 0; i < CASES; i++) {
        layouts l;
        draw_case(&l, &r);
        crew all = {.workers = 1, .seed = i};
        rlt_layout_hooks counting = {.ctx = &all, .workers = 1, .each = each};
        rlt_layout_result one = find(&l, i, &counting, 0);
        c = (crew){.workers = 2, .seed = i, .known = c.known, .stop_after = 1 + below(&r, all.asked)};
        rlt_layout_hooks h = {.ctx = &c, .workers = 2, .each = each, .recall = recall, .keep = keep};
        bool stops = c.stop_after < all.asked;
        rlt_layout_result part = find(&l, i, &h, stops ? RLT_ECANCELLED : 0);
        double sum = part.repeated + part.against_rules + part.out_of_memory + part.pruned + part.n;
        if (!same(sum, part.total) || part.proven == stops)
            fail_msg("%s: %g of %g points are counted", layouts_name(&l, i, "stopped"), sum, part.total);
        rlt_layout_result_free(&part);
        stopped += stops;
        uint32_t before = c.n_known;
        c = (crew){.workers = 2, .seed = i, .known = c.known, .n_known = before, .forgets = i % 3};
        rlt_layout_result rest = find(&l, i, &h, 0);
        check_same(&l, i, &rest, &one, "gone on");
        if (!c.forgets && c.asked + before != all.asked)
            fail_msg("%s: %u answers before, %u after, %u in all", layouts_name(&l, i, "gone on"), before,
                     c.asked, all.asked);
        rlt_layout_result_free(&rest);
        rlt_layout_result_free(&one);
        layouts_free(&l);
    }
    free(c.known);
    printf("# %u of %d searches were stopped\n", stopped, CASES);
    assert_true(stopped > CASES / 2);
}

/* The error is that of the first question that fails, whoever answers it. */
static void first_error(void **state)
{
    dice r = {.seed = 7};
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        layouts l;
        char expected[1024] = "";
        layouts_draw(&l, &r);
        for (uint32_t workers = 1; workers <= 3; workers++) {
            crew c = {.workers = workers, .seed = i};
            rlt_layout_hooks h = {.ctx = &c, .workers = workers, .each = each};
            rlt_layout_search s = search_of(&l, 0);
            rlt_layout_result result;
            rlt_error err = {0};
            s.hooks = &h;
            s.wrong = 1.5; /* bounds are too high */
            int rc = rlt_layout_find(&s, &result, &err);
            assert_true(rc == 0 || rc == RLT_ECHECK);
            if (workers == 1)
                snprintf(expected, sizeof expected, "%s", err.what);
            assert_string_equal(err.what, expected);
            rlt_layout_result_free(&result);
        }
        layouts_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_workers),
                                       cmocka_unit_test(stopped_and_gone_on), cmocka_unit_test(first_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
