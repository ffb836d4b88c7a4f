/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layout and bandwidths together, for small spaces at random: the same optimum as every layout of every split,
 * simulated, to the picosecond. NETWORK_SEED draws other cases.
 */
#include "workload/experiment/layouts/network.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/plan/shares.h"

enum { CASES = 16, MOST_LAYOUTS = 4096 };

/* A search, drawn. */
typedef struct drawn {
    char topology[200], model[160], layout[160], train[160];
    search_asked asked;
    rlt_network_budget budget;
    uint32_t n_dims;
    const char *shape[3];
    uint32_t size[3];
} drawn;

/* The best time of each layout, over the splits. */
typedef struct walked {
    rlt_layout_point best[MOST_LAYOUTS];
    uint32_t n, runs;
    rlt_time least_ps;
} walked;

/* Writes the network with bandwidths. */
static void write_network(const drawn *d, const uint64_t bw_Bps[RLT_MAX_DIMS], char *text, size_t size)
{
    int n = 0;
    for (uint32_t i = 0; i < d->n_dims; i++)
        n += snprintf(text + n, size - (size_t)n, "%s%s:%u@%" PRIu64 "B/s,%uns", i ? "*" : "", d->shape[i],
                      d->size[i], bw_Bps[i], 300 * (i + 1));
}

static void draw(drawn *d, dice *r)
{
    static const char *const shapes[] = {"ring", "switch", "fully-connected"};
    static const uint32_t sizes[][3] = {{2, 2, 2}, {4, 2, 0}, {2, 3, 0}, {2, 4, 0}, {8, 0, 0}, {3, 2, 2}};
    static const char *const models[] = {"alpha-beta", "flow"};
    uint32_t k = below(r, sizeof sizes / sizeof *sizes);
    uint64_t given[RLT_MAX_DIMS] = {0};
    *d = (drawn){.n_dims = 0};
    for (uint32_t i = 0; i < 3 && sizes[k][i]; i++) {
        d->size[i] = sizes[k][i];
        d->shape[i] = shapes[below(r, 3)];
        given[i] = 1000000000ULL * (1 + below(r, 100));
        d->n_dims++;
    }
    write_network(d, given, d->topology, sizeof d->topology);
    snprintf(d->model, sizeof d->model, "transformer:layers=%u,hidden=%u,heads=12,vocabulary=%u,sequence=256",
             2 + 2 * below(r, 3), below(r, 2) ? 384 : 1536, 2000 + 6000 * below(r, 4));
    snprintf(d->layout, sizeof d->layout, "cp=1,order=tp-cp-dp-pp+dp-tp-cp-pp,sp=on,vp=1");
    snprintf(d->train, sizeof d->train, "batch=24,microbatch=%s,recompute=none,zero=1%s,schedule=1f1b",
             below(r, 2) ? "1+2+3" : "2+4", below(r, 2) ? "+3" : "");
    search_begin(&d->asked);
    search_give(&d->asked, "topology", d->topology);
    search_give(&d->asked, "network", models[below(r, 2)]);
    search_give(&d->asked, "model", d->model);
    search_give(&d->asked, "accelerator", "a100-80gb");
    search_give(&d->asked, "layout", d->layout);
    search_give(&d->asked, "train", d->train);
    search_finish(&d->asked);
    d->budget = (rlt_network_budget){.setting = "--total", .steps = d->n_dims + 1 + below(r, 6)};
    double total = 1e9 * (20 + 200 * fraction(r));
    bool dollars = below(r, 3) == 0;
    for (uint32_t i = 0; i < d->n_dims; i++)
        d->budget.most_Bps[i] = dollars ? total / (1 + i) : total;
}

/* Simulates every layout on a network. */
static void walk_network(const drawn *d, const uint64_t bw_Bps[RLT_MAX_DIMS], walked *w)
{
    char text[200];
    rlt_error err = {0};
    rlt_layouts l = {0};
    rlt_run_settings s = d->asked.settings;
    const rlt_layout_search all = {.no_bounds = true};
    write_network(d, bw_Bps, text, sizeof text);
    s.sim.topology = text;
    if (rlt_layouts_open(&l, &s, &d->asked.args, &err) || rlt_layouts_find(&l, &all, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    for (uint32_t k = 0; k < l.result.n; k++) {
        const rlt_layout_point *p = &l.result.points[k];
        uint32_t i = 0;
        while (i < w->n && memcmp(w->best[i].at, p->at, sizeof p->at) != 0)
            i++;
        assert_true(i < MOST_LAYOUTS);
        if (i == w->n || p->time_ps < w->best[i].time_ps)
            w->best[i] = *p;
        w->n += i == w->n;
        w->least_ps = p->time_ps < w->least_ps ? p->time_ps : w->least_ps;
        w->runs++;
    }
    rlt_layouts_close(&l);
}

static void walk(const drawn *d, walked *w)
{
    uint32_t steps = d->budget.steps, codes = d->n_dims < 2 ? 1 : d->n_dims < 3 ? steps : steps * steps;
    *w = (walked){.least_ps = RLT_TIME_MAX};
    for (uint32_t code = 0; code < codes; code++) {
        uint32_t at[3] = {code % steps, code / steps, 0}, sum = 0;
        uint64_t bw_Bps[RLT_MAX_DIMS] = {0};
        for (uint32_t i = 0; i + 1 < d->n_dims; i++)
            sum += at[i];
        at[d->n_dims - 1] = sum < steps ? steps - sum : 0;
        bool full = true;
        for (uint32_t i = 0; i < d->n_dims; i++) {
            bw_Bps[i] = (uint64_t)(d->budget.most_Bps[i] * at[i] / steps);
            full = full && at[i] > 0;
        }
        if (full)
            walk_network(d, bw_Bps, w);
    }
}

/* The given network, scaled, counts as one more split of its best layout. */
static void add_given(const rlt_network_plan *p, walked *w)
{
    const rlt_layout_point *given = &p->as_given.layout;
    for (uint32_t i = 0; i < w->n; i++)
        if (memcmp(w->best[i].at, given->at, sizeof given->at) == 0 && given->time_ps < w->best[i].time_ps)
            w->best[i] = *given;
    w->least_ps = given->time_ps < w->least_ps ? given->time_ps : w->least_ps;
}

static void check(const drawn *d, const rlt_network_plan *p, const walked *w, double within)
{
    rlt_time limit = (rlt_time)((double)w->least_ps * (1 + within));
    uint32_t expected = 0, got = 0;
    if (!p->proven || p->n == 0 || p->points[0].layout.time_ps != w->least_ps)
        fail_msg("%s, %s, %s: %lld ps, to the walk %lld; proven %d, %g %% faster with less", d->topology,
                 d->model, d->train, p->n ? (long long)p->points[0].layout.time_ps : 0,
                 (long long)w->least_ps, p->proven, 100 * p->shares.most_faster);
    for (uint32_t i = 0; i < w->n; i++)
        expected += w->best[i].time_ps <= limit;
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = 0;
        while (memcmp(w->best[i].at, p->points[k].layout.at, sizeof w->best[i].at) != 0)
            i++;
        got += p->points[k].layout.time_ps <= limit;
        if (p->points[k].layout.time_ps != w->best[i].time_ps)
            fail_msg("%s: layout %u takes %lld ps, to the walk %lld", d->topology, k,
                     (long long)p->points[k].layout.time_ps, (long long)w->best[i].time_ps);
    }
    if (within > 0 && got != expected)
        fail_msg("%s: %u layouts are within %g, to the walk %u", d->topology, got, within, expected);
}

/* Bandwidths as they are written: in GB/s, without zeros at the end. */
static void assert_text(const drawn *d, const rlt_network_point *p)
{
    char text[300] = "";
    for (uint32_t i = 0; i < d->n_dims; i++) {
        char number[40];
        snprintf(number, sizeof number, "%" PRIu64 ".%09" PRIu64, p->bw_Bps[i] / 1000000000,
                 p->bw_Bps[i] % 1000000000);
        for (size_t n = strlen(number); number[n - 1] == '0' || number[n - 1] == '.'; n--) {
            bool point = number[n - 1] == '.';
            number[n - 1] = '\0';
            if (point)
                break;
        }
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s:%u@%sGB/s,%uns", i ? "*" : "",
                 d->shape[i], d->size[i], number, 300 * (i + 1));
    }
    assert_string_equal(p->topology, text);
}

/* The time of a layout on the network that the point names. */
static rlt_time time_on(const drawn *d, const rlt_network_point *p)
{
    rlt_error err = {0};
    rlt_layouts l = {0};
    rlt_run_settings s = d->asked.settings;
    const rlt_layout_search all = {.no_bounds = true};
    rlt_time time = 0;
    s.sim.topology = p->topology;
    if (rlt_layouts_open(&l, &s, &d->asked.args, &err) || rlt_layouts_find(&l, &all, &err))
        fail_msg("%s: %s: %s", p->topology, err.where, err.what);
    for (uint32_t i = 0; i < l.result.n; i++)
        if (memcmp(l.result.points[i].at, p->layout.at, sizeof p->layout.at) == 0)
            time = l.result.points[i].time_ps;
    rlt_layouts_close(&l);
    return time;
}

/* A split spends the budget in whole steps, at least one in each dimension; only the given one need not. */
static void assert_splits(const drawn *d, const rlt_network_plan *p)
{
    const rlt_network_budget *b = &d->budget;
    for (uint32_t k = 0; k < p->n; k++) {
        const rlt_network_point *one = &p->points[k];
        double steps = 0, exact = 0;
        for (uint32_t i = 0; i < d->n_dims; i++) {
            double some = (double)one->bw_Bps[i] * b->steps / b->most_Bps[i];
            assert_true(some > 0 && some <= b->steps * (1 + 1e-9));
            exact += fabs(some - round(some));
            steps += some;
        }
        bool given = memcmp(one->bw_Bps, p->as_given.bw_Bps, sizeof one->bw_Bps) == 0;
        assert_true(steps > b->steps - 1e-3 && steps <= b->steps + 1e-6 && (given || exact < 1e-3));
        assert_text(d, one);
        assert_true(!k || one->layout.time_ps >= p->points[k - 1].layout.time_ps);
        if (k < 2)
            assert_int_equal(one->layout.time_ps, time_on(d, one));
    }
}

/* The network as it is given spends the whole budget, with the same shares; then its best layout gets its best split. */
static void assert_given(const drawn *d, const rlt_network_plan *p)
{
    double first = 0;
    const char *at = d->topology;
    for (uint32_t i = 0; i < d->n_dims; i++) {
        double given = strtod(strchr(at, '@') + 1, NULL), ratio = (double)p->as_given.bw_Bps[i] / given;
        first = i ? first : ratio;
        assert_true(fabs(ratio / first - 1) < 1e-6);
        at = strchr(at, '@') + 1;
    }
    assert_text(d, &p->as_given);
    assert_text(d, &p->resplit);
    assert_int_equal(p->as_given.layout.time_ps, time_on(d, &p->as_given));
    assert_int_equal(p->resplit.layout.time_ps, time_on(d, &p->resplit));
    assert_true(p->resplit.layout.time_ps <= p->as_given.layout.time_ps);
    assert_memory_equal(p->resplit.layout.at, p->as_given.layout.at, sizeof p->resplit.layout.at);
    assert_true(p->least_ps >= p->points[0].layout.time_ps);
}

static bool stop_after(void *left)
{
    uint64_t *n = left;
    return *n == 0 || --*n == 0;
}

/* Stopped anywhere, what was found is true, and what was left out is not faster than is said. Returns true if that was
 * while layouts were searched on the relaxed network. */
static bool assert_stopped(const drawn *d, const walked *w, uint64_t most, uint64_t left, uint64_t *asked)
{
    const uint64_t all = left;
    rlt_error err = {0};
    rlt_network_plan p = {.n = 0};
    rlt_watch watch = {.ctx = &left, .stopped = stop_after};
    const rlt_layout_search how = {.most = most, .watch = left ? &watch : NULL};
    assert_int_equal(rlt_network_open(&p, &d->budget, &d->asked.settings, &d->asked.args, &err), 0);
    int rc = rlt_network_find(&p, &how, &err);
    assert_true(rc == 0 || rc == RLT_ECANCELLED);
    assert_true(p.proven == (rc == 0));
    assert_int_equal(p.n > 0, p.given.result.n > 0);
    if (p.least_ps > w->least_ps && p.points[0].layout.time_ps > w->least_ps)
        fail_msg("%s: %" PRIu64 " %" PRIu64 ": %u layouts, least %lld ps, to the walk %lld", d->topology,
                 most, left, p.n, (long long)p.least_ps, (long long)w->least_ps);
    for (uint32_t k = 0; k < p.n; k++) {
        assert_text(d, &p.points[k]);
        assert_true(p.points[k].layout.time_ps >= w->least_ps);
        assert_true(!k || p.points[k].layout.time_ps >= p.points[k - 1].layout.time_ps);
    }
    if (p.n)
        assert_int_equal(p.points[0].layout.time_ps, time_on(d, &p.points[0]));
    *asked = all - left;
    bool second = rc && p.relaxed.result.n && p.shares.pairs <= 0;
    assert_true(!second || p.least_ps > 0);
    rlt_network_close(&p);
    assert_true(!p.points && !p.n && !p.settings);
    return second;
}

static void same_as_walk(void **state)
{
    static walked w;
    const char *seed = getenv("NETWORK_SEED");
    dice r = {.seed = seed ? strtoul(seed, NULL, 10) : 51};
    double walks = 0, searched = 0;
    uint32_t in_second = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        static const double shares[] = {0, 0.05};
        drawn d;
        draw(&d, &r);
        walk(&d, &w);
        for (uint32_t k = 0; k < 2; k++) {
            rlt_error err = {0};
            rlt_network_plan p = {.n = 0};
            const rlt_layout_search how = {.within = shares[k]};
            if (rlt_network_open(&p, &d.budget, &d.asked.settings, &d.asked.args, &err) ||
                rlt_network_find(&p, &how, &err))
                fail_msg("%s: %s: %s", d.topology, err.where, err.what);
            if (k == 0)
                add_given(&p, &w);
            check(&d, &p, &w, shares[k]);
            assert_splits(&d, &p);
            if (k == 0 && i % 2)
                assert_given(&d, &p);
            walks += k ? 0 : w.runs;
            searched += k ? 0 : p.given.result.n + p.relaxed.result.n + (double)p.shares.corners;
            rlt_network_close(&p);
        }
        for (uint64_t k = 0, asked, all; i % 4 == 0 && k < 14; k++) {
            if (k == 0)
                assert_stopped(&d, &w, 0, 1u << 30, &all); /* asks as often as it can be stopped */
            else if (k < 4)
                assert_stopped(&d, &w, k * k * k, 0, &asked);
            else
                in_second += assert_stopped(&d, &w, 0, 1 + all * (k - 3) / 11, &asked);
        }
        rlt_parsed_free(&d.asked.args);
    }
    assert_true(in_second > 0);
    print_message("# %g simulations, %g by the walk\n", searched, walks);
}

/* Rows stand in the order of their times, also where the best split is none of the grid's. */
static void rows_in_order(void **state)
{
    dice r = {.seed = 3};
    uint32_t off_grid = 0;
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        drawn d;
        rlt_error err = {0};
        rlt_network_plan p = {.n = 0};
        const rlt_layout_search how = {.within = 0.05};
        draw(&d, &r);
        if (rlt_network_open(&p, &d.budget, &d.asked.settings, &d.asked.args, &err) ||
            rlt_network_find(&p, &how, &err))
            fail_msg("%s: %s: %s", d.topology, err.where, err.what);
        for (uint32_t k = 1; k < p.n; k++)
            assert_true(p.points[k].layout.time_ps >= p.points[k - 1].layout.time_ps);
        off_grid += p.n > 1 && p.points[0].layout.time_ps < p.shares.points[0].time_ps;
        rlt_network_close(&p);
        rlt_parsed_free(&d.asked.args);
    }
    assert_true(off_grid > 0);
}

/* A step buys at least a byte a second of each dimension, and less than 10^18 in all. */
static void budgets(void **state)
{
    static const struct {
        uint32_t steps;
        double most_Bps[2];
        int code;
        const char *what;
    } rows[] = {{2, {1e9, 1e9}, 0, ""},
                {1, {1e9, 1e9}, RLT_EUSAGE, "expected 2 (dimensions) to "},
                {RLT_MAX_STEPS, {1e12, 1e12}, 0, ""},
                {RLT_MAX_STEPS + 1, {1e12, 1e12}, RLT_EUSAGE, "expected 2 (dimensions) to "},
                {4, {1e9, 4}, 0, ""},
                {4, {1e9, 3.9}, RLT_ERANGE, "buys less than 1 byte a second in dimension 2"},
                {4, {1e15, 1e9}, 0, ""},
                {4, {1e9, 1.001e15}, RLT_ERANGE, "buys more than 1 PB/s in dimension 2"}};
    search_asked a;
    const search_words w = {.topology = "switch:2@10GB/s,300ns*ring:2@5GB/s,600ns",
                            .model = "transformer:layers=2,hidden=384,heads=12,sequence=256",
                            .layout = "cp=1,vp=1",
                            .train = "batch=24,microbatch=1"};
    (void)state;
    search_ask(&a, &w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_network_budget budget = {.setting = "--total", .steps = rows[i].steps};
        rlt_network_plan p = {.n = 0};
        rlt_error err = {0};
        memcpy(budget.most_Bps, rows[i].most_Bps, sizeof rows[i].most_Bps);
        int rc = rlt_network_open(&p, &budget, &a.settings, &a.args, &err);
        if (rc != rows[i].code || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        rlt_network_close(&p);
    }
    rlt_parsed_free(&a.args);
}

/* A dimension whose share is less than a byte a second gets one: the others spend nearly all. */
static void slowest_share(void **state)
{
    search_asked a;
    const search_words w = {.topology = "switch:2@1PB/s,300ns*switch:2@1B/s,600ns",
                            .model = "transformer:layers=2,hidden=384,heads=12,sequence=256",
                            .layout = "cp=1,vp=1",
                            .train = "batch=24,microbatch=1"};
    rlt_network_budget budget = {.setting = "--total", .steps = 2, .most_Bps = {1e9, 1e9}};
    rlt_network_plan p = {.n = 0};
    rlt_error err = {0};
    (void)state;
    search_ask(&a, &w);
    if (rlt_network_open(&p, &budget, &a.settings, &a.args, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_true(p.as_given.bw_Bps[0] >= 999999999 && p.as_given.bw_Bps[0] <= 1000000000);
    assert_int_equal(p.as_given.bw_Bps[1], 1);
    rlt_network_close(&p);
    rlt_parsed_free(&a.args);
}

/* Bandwidths can be changed where each dimension is written with one. */
static void networks_that_can_be_split(void **state)
{
#define WRITTEN "--topology must be written out, such as ring:4@200GB/s,500ns*switch:8@50GB/s,2us; "
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"ring:4@200GB/s,500ns*switch:8@50GB/s,2us", NULL},
        {"ring:4@200GB/s*switch:8@50GB/s,2us", NULL},
        {"switch:4@200GB/s,500ns,in_network=on*ring:2@1GB/s,1us,in_network", NULL},
        {"dgx1-v100-8", WRITTEN "'dgx1-v100-8' has no bandwidth to change"},
        {"ring:4@200GB/s,500ns*node", WRITTEN "'node' has no bandwidth to change"},
        {"node*ring:4@200GB/s,500ns", WRITTEN "'node' has no bandwidth to change"},
        {"{\"x\": \"a@b\"}", WRITTEN "'{\"x\": \"a@b\"}' has no bandwidth to change"},
        {"switch:4@200GB/s,500ns,up=2*ring:2@1GB/s,1us",
         "a dimension must have one bandwidth, and 'switch:4@200GB/s,500ns,up=2' has the setting 'up'"},
        {"ring:2@1GB/s,1us*switch:4@2GB/s,500ns,in_network=on,in_networks=2",
         "a dimension must have one bandwidth, and 'switch:4@2GB/s,500ns,in_network=on,in_networks=2' has the "
         "setting 'in_networks'"},
        {"switch:4@2GB/s,500ns,in",
         "a dimension must have one bandwidth, and 'switch:4@2GB/s,500ns,in' has the "
         "setting 'in'"},
        {NULL, "is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_error err = {0};
        int rc = rlt_network_check(rows[i].text, &err);
        if (rc != (rows[i].what ? RLT_EUSAGE : 0) || (rc && strcmp(err.what, rows[i].what) != 0) ||
            (rc && strcmp(err.where, rows[i].text ? "--with-network" : "--topology") != 0))
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_walk), cmocka_unit_test(rows_in_order),
                                       cmocka_unit_test(budgets), cmocka_unit_test(slowest_share),
                                       cmocka_unit_test(networks_that_can_be_split)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
