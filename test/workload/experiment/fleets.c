/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layouts over numbers of accelerators: for goals, deadlines and shares at random, the answer is that of a walk
 * over every layout of every number.
 */
#include "workload/experiment/layouts/fleets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"

enum { SIZES = 7, GOALS = 4, CASES = 60 };

static const uint32_t numbers[SIZES] = {2, 4, 6, 8, 10, 12, 16};
static const search_words space = {
    .topology = "switch:2@200GB/s,300ns*switch:4@20GB/s,2us",
    .model = "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
    .layout = "cp=1,order=tp-cp-dp-pp,sp=on,vp=1,tp=1+2+4,pp=1+2+4",
    .train = "batch=48,microbatch=1+2+4,recompute=none+full,zero=1+3,schedule=1f1b"};
static search_walk walks[SIZES];

static void walk_numbers(void)
{
    for (uint32_t i = 0; i < SIZES; i++) {
        char topology[120];
        search_words w = space;
        if (numbers[i] == 2)
            snprintf(topology, sizeof topology, "switch:2@200GB/s,300ns");
        else
            snprintf(topology, sizeof topology, "switch:2@200GB/s,300ns*switch:%u@20GB/s,2us",
                     numbers[i] / 2);
        w.topology = topology;
        search_all(&w, 0, &walks[i]);
    }
}

static double value(rlt_goal goal, uint32_t ranks, const rlt_layout_point *p)
{
    double time = (double)p->time_ps;
    return goal == RLT_GOAL_TIME     ? time
           : goal == RLT_GOAL_WORK   ? time * ranks
           : goal == RLT_GOAL_MEMORY ? p->memory_bytes
                                     : ranks;
}

typedef struct question {
    rlt_goal goals[2];
    uint32_t n_goals, first, end; /* numbers[first .. end - 1] */
    rlt_time deadline_ps;
    double within;
} question;

static bool counts(const question *q, const rlt_layout_point *p)
{
    return !q->deadline_ps || p->time_ps <= q->deadline_ps;
}

/* Whether no point is better in a goal and as good in the other one. */
static bool is_best(const question *q, double a, double b)
{
    for (uint32_t i = q->first; i < q->end; i++)
        for (uint32_t k = 0; k < walks[i].n; k++) {
            const rlt_layout_point *p = &walks[i].points[k];
            double c = value(q->goals[0], numbers[i], p),
                   d = q->n_goals > 1 ? value(q->goals[1], numbers[i], p) : b;
            if (counts(q, p) && c <= a && d <= b && (c < a || d < b))
                return false;
        }
    return true;
}

/* The least value of a goal on a number of accelerators. */
static double least_on(const question *q, uint32_t i)
{
    double least = INFINITY;
    for (uint32_t k = 0; k < walks[i].n; k++)
        if (counts(q, &walks[i].points[k]))
            least = fmin(least, value(q->goals[0], numbers[i], &walks[i].points[k]));
    return least;
}

/* With one goal: the numbers whose best layout is within the share of the best. */
static uint32_t expected_numbers(const question *q)
{
    double best = INFINITY;
    uint32_t n = 0;
    for (uint32_t i = q->first; i < q->end; i++)
        best = fmin(best, least_on(q, i));
    for (uint32_t i = q->first; i < q->end; i++)
        n += isfinite(best) && least_on(q, i) <= best * (1 + q->within);
    return n;
}

/* With two: the pairs of values that are best. */
static uint32_t expected_pairs(const question *q)
{
    static double seen[SIZES * SEARCH_MOST][2];
    uint32_t n = 0;
    for (uint32_t i = q->first; i < q->end; i++)
        for (uint32_t k = 0; k < walks[i].n; k++) {
            const rlt_layout_point *p = &walks[i].points[k];
            double a = value(q->goals[0], numbers[i], p), b = value(q->goals[1], numbers[i], p);
            uint32_t at = 0;
            if (!counts(q, p) || !is_best(q, a, b))
                continue;
            while (at < n && !(seen[at][0] >= a && seen[at][0] <= a && seen[at][1] >= b && seen[at][1] <= b))
                at++;
            seen[at][0] = a;
            seen[at][1] = b;
            n += at == n;
        }
    return n;
}

static void assert_ends(const question *q, const rlt_fleets *c)
{
    assert_int_equal(c->n, q->end - q->first);
    for (uint32_t i = 0; i < c->n; i++) {
        const rlt_fleet *f = &c->at[i];
        const search_walk *w = &walks[q->first + i];
        rlt_time fastest = w->n ? w->points[0].time_ps : RLT_TIME_MAX;
        assert_int_equal(f->ranks, numbers[q->first + i]);
        assert_true(f->least_ps <= fastest);
        assert_true(w->n ? f->end != RLT_FLEET_AGAINST
                         : f->end == RLT_FLEET_AGAINST || f->end == RLT_FLEET_SKIPPED);
        assert_true(f->end != RLT_FLEET_OPEN && f->end != RLT_FLEET_FULL);
        assert_int_equal(f->why != NULL, f->end == RLT_FLEET_AGAINST);
        if (f->why)
            assert_string_equal(f->why, w->rule);
        if (f->end == RLT_FLEET_FOUND && !c->deadline_ps && c->n_goals == 1 && c->goals[0] == RLT_GOAL_TIME)
            assert_int_equal(f->least_ps, fastest);
        if (q->deadline_ps && fastest > q->deadline_ps && w->n)
            assert_true(f->end == RLT_FLEET_SLOWER || f->end == RLT_FLEET_SKIPPED);
        bool kept = false;
        for (uint32_t k = 0; k < c->n_found; k++)
            kept = kept || c->found[k].fleet == i;
        assert_int_equal(f->layouts != NULL, kept);
    }
}

/* By the first goal, then the second, then the number, then time. */
static bool is_before(const rlt_fleet_layout *a, const rlt_fleet_layout *b)
{
    for (int g = 0; g < 2; g++)
        if (a->value[g] < b->value[g] || a->value[g] > b->value[g])
            return a->value[g] < b->value[g];
    return a->fleet < b->fleet || (a->fleet == b->fleet && a->point.time_ps <= b->point.time_ps);
}

/* Each number that has a layout was searched once, unless memory is a goal. */
static void assert_searches(const rlt_fleets *c)
{
    uint64_t layouts = 0, least = 0;
    bool memory = false;
    for (uint32_t g = 0; g < c->n_goals; g++)
        memory = memory || c->goals[g] == RLT_GOAL_MEMORY;
    for (uint32_t i = 0; i < c->n; i++) {
        least += c->at[i].end == RLT_FLEET_FOUND || c->at[i].end == RLT_FLEET_SLOWER;
        layouts += c->at[i].layouts ? c->at[i].layouts->result.n : 0;
    }
    assert_true(c->searches >= least && (memory || c->searches <= c->n));
    assert_true(c->simulated >= layouts);
}

static void assert_answer(const question *q, const rlt_fleets *c)
{
    assert_true(c->proven);
    assert_searches(c);
    assert_ends(q, c);
    for (uint32_t k = 0; k < c->n_found; k++) {
        const rlt_fleet_layout *f = &c->found[k];
        const rlt_layout_point *p = search_same(&walks[q->first + f->fleet], &f->point);
        assert_non_null(p);
        assert_int_equal(p->time_ps, f->point.time_ps);
        assert_true(counts(q, p));
        for (uint32_t g = 0; g < q->n_goals; g++)
            assert_true(fabs(f->value[g] - value(q->goals[g], numbers[q->first + f->fleet], p)) < 0.5);
        assert_true(!k || is_before(&c->found[k - 1], f));
        if (q->n_goals == 1 && q->goals[0] == RLT_GOAL_TIME)
            for (uint32_t i = 0; i < walks[q->first + f->fleet].n;
                 i++) { /* of equals, that of least memory */
                const rlt_layout_point *other = &walks[q->first + f->fleet].points[i];
                assert_true(other->time_ps != p->time_ps || other->memory_bytes >= p->memory_bytes);
            }
        assert_true(q->n_goals == 1 ? k || is_best(q, f->value[0], 0) : is_best(q, f->value[0], f->value[1]));
    }
    uint32_t want = q->n_goals > 1 ? expected_pairs(q) : expected_numbers(q);
    if (q->n_goals > 1 || q->goals[0] != RLT_GOAL_MEMORY)
        if (c->n_found != want)
            fail_msg("goals %d %d of %u, numbers %u to %u, deadline %lld ps, within %g: %u layouts, not %u",
                     q->goals[0], q->goals[1], q->n_goals, numbers[q->first], numbers[q->end - 1],
                     (long long)q->deadline_ps, q->within, c->n_found, want);
}

static void draw(question *q, dice *d)
{
    *q = (question){.n_goals = 1 + below(d, 2), .first = below(d, 3)};
    q->end = q->first + 2 + below(d, SIZES - q->first - 1);
    q->goals[0] = (rlt_goal)below(d, GOALS);
    q->goals[1] = (rlt_goal)((q->goals[0] + 1 + below(d, GOALS - 1)) % GOALS);
    if (below(d, 2))
        q->deadline_ps = walks[below(d, SIZES)].points[0].time_ps + (rlt_time)below(d, 2);
    if (q->n_goals == 1 && below(d, 2))
        q->within = 0.1 * below(d, 12);
}

static void answers_are_those_of_the_walk(void **state)
{
    (void)state;
    walk_numbers();
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        question q;
        char list[80] = "";
        search_asked a;
        rlt_fleets c = {.n_goals = 0};
        rlt_error err = {0};
        const rlt_layout_search how = {.within = 0};
        draw(&q, &d);
        for (uint32_t i = q.end; i-- > q.first;) /* in any order */
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", *list ? "+" : "", numbers[i]);
        search_ask(&a, &space);
        c.goals[0] = q.goals[0];
        c.goals[1] = q.goals[1];
        c.n_goals = q.n_goals;
        c.deadline_ps = q.deadline_ps;
        c.within = q.within;
        if (rlt_fleets_open(&c, list, &a.settings, &a.args, &err) || rlt_fleets_find(&c, &how, &err))
            fail_msg("case %llu, %s: %s: %s", (unsigned long long)seed, list, err.where, err.what);
        assert_answer(&q, &c);
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
    }
}

static void lists_of_numbers(void **state)
{
    static const struct {
        const char *topology, *list, *train;
        int code;
        const char *text; /* the error, or the numbers */
    } rows[] = {
        {NULL, "4:16", NULL, 0, "4 6 8 10 12 14 16 "},
        {NULL, "3:7", NULL, 0, "4 6 "},
        {NULL, "12+4", NULL, 0, "4 12 "},
        {NULL, NULL, NULL, 0, "8 "},
        {"switch:4@20GB/s,2us", "1:3", NULL, 0, "1 2 3 "},
        {NULL, "5:5", NULL, RLT_EUSAGE, "5:5 has no multiple of the topology's inner 2"},
        {NULL, "7", NULL, RLT_EUSAGE, "7 is no multiple of 2, the topology without its outermost dimension"},
        {NULL, "4+4", NULL, RLT_EUSAGE, "has 4 twice"},
        {NULL, "0:4", NULL, RLT_EUSAGE, "expected a range such as 64:4096 or a list such as 64+128, got '0'"},
        {"switch:4@20GB/s,2us", "16777216", NULL, 0, "16777216 "},
        {NULL, "4:many", NULL, RLT_EUSAGE,
         "expected a range such as 64:4096 or a list such as 64+128, got 'many'"},
        {NULL, "16777217", NULL, RLT_EUSAGE,
         "expected a range such as 64:4096 or a list such as 64+128, got '16777217'"},
        {NULL, "4+123456789012345678901234567", NULL, RLT_EUSAGE,
         "expected a range such as 64:4096 or a list such as 64+128, got '12345678901234567890123'"},
        {NULL, "4", "batch=48,ranks=8", RLT_EUSAGE, "the training has its number of ranks: ranks=8"},
        {"dgx1-v100-8", "8", NULL, RLT_EUSAGE,
         "expected a --topology that ends with a dimension of one size, such as *rail:32@400Gbps,2us"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search_asked a;
        search_words w = space;
        rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1};
        rlt_error err = {0};
        char text[200] = "";
        w.topology = rows[i].topology ? rows[i].topology : space.topology;
        w.train = rows[i].train ? rows[i].train : space.train;
        search_ask(&a, &w);
        int rc = rlt_fleets_open(&c, rows[i].list, &a.settings, &a.args, &err);
        for (uint32_t k = 0; !rc && k < c.n; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", c.at[k].ranks);
        if (rc != rows[i].code || strcmp(rc ? err.what : text, rows[i].text) != 0 ||
            strcmp(err.where, rc ? "--accelerators" : "") != 0)
            fail_msg("row %zu: %d: %s: %s%s", i, rc, err.where, err.what, text);
        assert_true(rc || (c.at[0].topology == NULL) == (rows[i].list == NULL));
        rlt_fleets_close(&c);
        assert_true(!c.at && !c.n && !c.found && !c.n_found && !c.given.space.n); /* may be closed again */
        rlt_parsed_free(&a.args);
    }
}

/* Numbers at random, on networks whose inner dimensions have 1 to 12 accelerators: multiples, in ascending order. */
static void random_numbers(void **state)
{
    static const struct {
        const char *head, *tail, *alone; /* around the size; if that is 1 */
        uint32_t inner, size;
    } networks[] = {{"switch:", "@20GB/s,2us", NULL, 1, 4},
                    {"switch:2@20GB/s,2us*ring:", "@10GB/s,1us", "switch:2@20GB/s,2us", 2, 3},
                    {"ring:3@20GB/s,2us*switch:4@1GB/s,1us*rail:", "@400Gbps,2us",
                     "ring:3@20GB/s,2us*switch:4@1GB/s,1us", 12, 2}};
    uint32_t kinds[4] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        dice d = {.seed = seed};
        uint32_t k = below(&d, 3), n = 0, inner = networks[k].inner, want[16], twice = 0,
                 low = 1 + below(&d, 40);
        uint32_t high = low + below(&d, 40), odd = 0;
        bool range = below(&d, 2);
        char list[120] = "", topology[120], what[200] = "";
        search_asked a;
        search_words w = space;
        rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1};
        rlt_error err = {0};
        high = high - low > 15 * inner ? low + 15 * inner : high;
        for (uint32_t i = low; range && i <= high; i++)
            if (i % inner == 0)
                want[n++] = i;
        if (range)
            snprintf(list, sizeof list, "%u:%u", low, high);
        for (uint32_t i = below(&d, 5) + 1; !range && i-- > 0;) {
            uint32_t one = inner * (1 + below(&d, 12)) + (inner > 1 && below(&d, 20) == 0), at = n;
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", *list ? "+" : "", one);
            odd = odd ? odd : one % inner ? one : 0;
            for (; at > 0 && want[at - 1] > one; at--)
                want[at] = want[at - 1];
            want[at] = one;
            n++;
        }
        for (uint32_t i = n; i-- > 1;)
            twice = want[i] == want[i - 1] ? want[i] : twice;
        if (odd)
            snprintf(what, sizeof what,
                     "%u is no multiple of %u, the topology without its outermost dimension", odd, inner);
        else if (twice)
            snprintf(what, sizeof what, "has %u twice", twice);
        else if (!n)
            snprintf(what, sizeof what, "%s has no multiple of the topology's inner %u", list, inner);
        snprintf(topology, sizeof topology, "%s%u%s", networks[k].head, networks[k].size, networks[k].tail);
        w.topology = topology;
        w.layout = "tp=1";
        search_ask(&a, &w);
        int rc = rlt_fleets_open(&c, list, &a.settings, &a.args, &err);
        if (rc != (*what ? RLT_EUSAGE : 0) || strcmp(err.what, what) != 0)
            fail_msg("%s of %s: %d: %s, not %s", list, topology, rc, err.what, what);
        kinds[odd ? 0 : twice ? 1 : n ? 2 : 3]++;
        for (uint32_t i = 0; !rc && i < n; i++) {
            char text[120];
            assert_int_equal(c.at[i].ranks, want[i]);
            if (want[i] == inner && networks[k].alone)
                snprintf(text, sizeof text, "%s", networks[k].alone);
            else
                snprintf(text, sizeof text, "%s%u%s", networks[k].head, want[i] / inner, networks[k].tail);
            assert_string_equal(c.at[i].topology, text);
        }
        assert_true(rc || c.n == n);
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
    }
    assert_true(kinds[0] && kinds[1] && kinds[2] && kinds[3]);
}

/* What may leave work out has no floor; nor has work that is slowed down below itself. */
static void no_floor(void **state)
{
    static const struct {
        const char *model, *train;
        bool floor;
    } rows[] = {{"transformer:layers=2,hidden=256,heads=4", "batch=48", true},
                {"transformer:layers=2,hidden=256,heads=4,experts=4", "batch=48", false},
                {"transformer:layers=2,hidden=256,heads=4", "batch=48,lora_rank=4", false},
                {"transformer:layers=2,hidden=256,heads=4", "batch=48,slowdown=2", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search_asked a;
        search_words w = space;
        rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1};
        rlt_error err = {0};
        w.model = rows[i].model;
        w.train = rows[i].train;
        w.layout = NULL;
        search_ask(&a, &w);
        if (rlt_fleets_open(&c, NULL, &a.settings, &a.args, &err))
            fail_msg("%s %s: %s: %s", w.model, w.train, err.where, err.what);
        assert_true((c.floor_work > 0) == rows[i].floor);
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
    }
}

static void find_fleets(rlt_fleets *c, search_asked *a, const search_words *w, const char *list)
{
    rlt_error err = {0};
    const rlt_layout_search how = {.within = 0};
    search_ask(a, w);
    if (rlt_fleets_open(c, list, &a->settings, &a->args, &err) || rlt_fleets_find(c, &how, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* More accelerators than the fewest are not searched, with or without a floor. */
static void fewest(void **state)
{
    static const char *const models[] = {"transformer:layers=2,hidden=256,heads=4",
                                         "transformer:layers=2,hidden=256,heads=4,experts=4"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        search_asked a;
        search_words w = space;
        rlt_fleets c = {.goals = {RLT_GOAL_ACCELERATORS}, .n_goals = 1};
        w.model = models[i];
        w.layout = "cp=1,tp=1+2,pp=1,order=tp-cp-dp-pp";
        w.train = "batch=48";
        find_fleets(&c, &a, &w, "4+8");
        assert_int_equal(c.n, 2);
        assert_int_equal(c.searches, 1);
        assert_int_equal(c.at[0].end, RLT_FLEET_FOUND);
        assert_int_equal(c.at[1].end, RLT_FLEET_SKIPPED);
        assert_int_equal(c.n_found, 1);
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
    }
}

/* The only layout there is stays found where less memory is asked for after it. */
static void only_layout(void **state)
{
    search_asked a;
    search_words w = space;
    rlt_fleets c = {.goals = {RLT_GOAL_MEMORY}, .n_goals = 1};
    (void)state;
    w.layout = "cp=1,order=tp-cp-dp-pp,sp=off,vp=1,tp=1,pp=1";
    w.train = "batch=48,microbatch=2,recompute=none,zero=1,schedule=1f1b";
    find_fleets(&c, &a, &w, "4");
    assert_int_equal(c.searches, 2);
    assert_int_equal(c.n_found, 1);
    assert_int_equal(c.at[0].end, RLT_FLEET_FOUND);
    assert_true(c.at[0].layouts->result.total > 0 && c.at[0].layouts->result.total < 2);
    assert_int_equal(c.at[0].layouts->result.n, 1);
    rlt_fleets_close(&c);
    rlt_parsed_free(&a.args);
}

/* The only layout there is does not fit: the fleet is full, not against a rule. */
static void only_layout_is_too_large(void **state)
{
    search_asked a;
    search_words w = space;
    rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1};
    (void)state;
    w.model = "transformer:layers=4,hidden=65536,heads=64";
    w.layout = "cp=1,order=tp-cp-dp-pp,sp=off,vp=1,tp=1,pp=1";
    w.train = "batch=48,microbatch=2,recompute=none,zero=1,schedule=1f1b";
    find_fleets(&c, &a, &w, "4");
    assert_int_equal(c.n_found, 0);
    assert_int_equal(c.at[0].end, RLT_FLEET_FULL);
    rlt_fleets_close(&c);
    rlt_parsed_free(&a.args);
}

static bool stop_after(void *left)
{
    uint32_t *n = left;
    return *n == 0 || --*n == 0;
}

/* Stopped anywhere, what was found is there, and what was not searched is open. A model that fits nowhere leaves all
 * full. */
static void stopped_and_full(void **state)
{
    uint32_t open = 0, found = 0;
    (void)state;
    for (uint32_t k = 0; k < 24; k++) {
        uint32_t left = (2 + k % 2) << k / 2 >> 1; /* 1, 2, 3, 4, 6, 8, 12, ... */
        search_asked a;
        search_words w = space;
        rlt_watch watch = {.ctx = &left, .stopped = stop_after};
        rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1, .within = 10};
        rlt_error err = {0};
        const rlt_layout_search how = {.watch = k ? &watch : NULL};
        if (!k)
            w.model = "transformer:layers=4,hidden=65536,heads=64";
        search_ask(&a, &w);
        assert_int_equal(rlt_fleets_open(&c, "4:8", &a.settings, &a.args, &err), 0);
        int rc = rlt_fleets_find(&c, &how, &err);
        assert_int_equal(rc, k && left == 0 ? RLT_ECANCELLED : 0);
        assert_int_equal(c.proven, rc == 0);
        for (uint32_t i = 0; i < c.n; i++) {
            if (!k)
                assert_true(c.at[i].end == RLT_FLEET_FULL && c.at[i].least_ps == 0 && !c.at[i].layouts &&
                            !c.at[i].why);
            assert_true(rc || c.at[i].end != RLT_FLEET_OPEN);
            open += c.at[i].end == RLT_FLEET_OPEN;
        }
        assert_true(k || (c.n_found == 0 && c.searches == 3 && c.simulated == 0));
        for (uint32_t i = 0; i < c.n_found; i++) {
            const rlt_fleet *f = &c.at[c.found[i].fleet];
            assert_non_null(search_same(&walks[1 + c.found[i].fleet], &c.found[i].point));
            assert_int_equal(f->end, RLT_FLEET_FOUND);
            found += rc != 0;
        }
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
    }
    if (open < 4 || found < 3)
        fail_msg("%u open, %u found", open, found);
}

/* Returns the best share of its peak that any kernel of an accelerator reaches with any of its stacks. */
static double best_share(const char *path, uint32_t *stacks)
{
    static rlt_accelerator a;
    double best = 0;
    assert_int_equal(rlt_accelerator_load(path, "workload/accelerators", &a, &(rlt_error){0}), 0);
    *stacks = a.n_stacks;
    for (uint32_t i = 0; i < a.n_stacks; i++) {
        rlt_roofline f;
        assert_int_equal(rlt_accelerator_roofline(&a, a.stacks[i].name, "fp32", &f, NULL), 0);
        for (int k = 0; k < RLT_WORK_KINDS; k++)
            best = fmax(best, f.most[k]);
    }
    return best;
}

/* With a deadline that nothing meets each number is skipped, and what it takes at least is said: the FLOP of all
 * samples over those of its accelerators at the best efficiency of any of their kernels with any stack, here half of 1
 * TFLOP/s, and all of it. */
static void floors_by_hand(void **state)
{
    static const char *const models[] = {"resnet50", "transformer:layers=2,hidden=256,heads=4,sequence=128",
                                         "transformer:layers=2,hidden=256,heads=4,sequence=128"};
#define PART(matmul, convolution)                                                                              \
    "{\"name\": \"part\", \"source\": \"a test\", \"memory\": \"80GB\", \"bandwidth\": \"1TB/s\", \"peaks\": " \
    "{\"fp32\": \"1TFLOPS\", \"bf16\": \"9TFLOPS\"}, \"kernels\": {\"most\": {\"matmul\": " matmul             \
    ", \"attention\": 0.2, \"convolution\": " convolution                                                      \
    ", \"lookup\": 0.1, \"vector\": 0.1}, \"memory\": 1}}\n"
    static const char *const accelerators[] = {PART("0.3", "0.5"), PART("1", "0.3"), PART("0.5", "0.3")};
    double best[] = {0.5, 1, 0.5}; /* the last one: alone; some stacks are better */
    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[] = "/tmp/ringlet-part-XXXXXX";
        uint32_t stacks;
        test_write_new(path, accelerators[i], strlen(accelerators[i]));
        if (i == 2) {
            double with = best_share(path, &stacks);
            assert_true(stacks > 0 && with > best[i] && with < 1);
            best[i] = with;
        }
        search_asked a;
        rlt_model m;
        rlt_error err = {0};
        rlt_fleets c = {.goals = {RLT_GOAL_TIME}, .n_goals = 1, .deadline_ps = 1};
        double flop = 0;
        assert_int_equal(rlt_model_open(models[i], &m, &err), 0);
        for (uint32_t k = 0; k < m.n_layers; k++) {
            const rlt_model_layer *l = &m.layers[k];
            bool attention =
                l->work == RLT_WORK_ATTENTION; /* its kernel computes again, and half of the square */
            assert_int_equal(l->executed_forward > 0, attention);
            flop +=
                attention ? l->executed_forward + l->executed_backward : l->forward_flop + l->backward_flop;
        }
        rlt_model_free(&m);
        search_begin(&a);
        search_give(&a, "topology", "switch:2@200GB/s,300ns*switch:4@20GB/s,2us");
        search_give(&a, "model", models[i]);
        search_give(&a, "accelerator", path);
        search_give(&a, "layout", "auto");
        search_give(&a, "train", "batch=48,precision=fp32");
        search_finish(&a);
        const rlt_layout_search how = {.within = 0};
        if (rlt_fleets_open(&c, "4+12", &a.settings, &a.args, &err) || rlt_fleets_find(&c, &how, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(c.n, 2);
        assert_int_equal(c.n_found, 0);
        for (uint32_t k = 0; k < 2; k++) {
            double least = flop * 48 / (best[i] * 1e12) * 1e12 / c.at[k].ranks;
            assert_int_equal(c.at[k].end, RLT_FLEET_SKIPPED);
            assert_true(fabs((double)c.at[k].least_ps / least - 1) < 2e-6);
        }
        rlt_fleets_close(&c);
        rlt_parsed_free(&a.args);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_walk),
        cmocka_unit_test(lists_of_numbers),
        cmocka_unit_test(random_numbers),
        cmocka_unit_test(no_floor),
        cmocka_unit_test(fewest),
        cmocka_unit_test(only_layout),
        cmocka_unit_test(only_layout_is_too_large),
        cmocka_unit_test(stopped_and_full),
        cmocka_unit_test(floors_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
