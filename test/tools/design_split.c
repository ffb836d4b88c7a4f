/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the solver's splits with exhaustive search. Networks, workloads, weights, prices, loops and limits
 * are random; the search tries every split of the total on a grid, and refines the best. No split found may
 * be better than the solver's, and if the solver finds none, the grid must have none.
 */
#include "test/support/dice.h"
#include "test/support/support.h"

#include <math.h>
#include <stdio.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

enum { CASES = 200, SEED = 20240917, STEPS = 20, WALK = 300 };

typedef struct drawn {
    rlt_design_net net;
    rlt_design_work works[3];
    uint32_t n_works;
    rlt_design_model model;
    rlt_limits limits;
    double dollars[RLT_MAX_DIMS], fixed, total;
    rlt_split_problem problem;
    char text[400];
} drawn;

static void draw_net(dice *d, drawn *x)
{
    x->net = (rlt_design_net){.n = 2 + below(d, 2), .ideal = below(d, 2)};
    for (uint32_t i = 0; i < x->net.n; i++) {
        x->net.dims[i] =
            (rlt_design_dim){.block = (rlt_block)below(d, RLT_BLOCKS), .size = 2u << below(d, 3)};
        x->net.dims[i].in_network = x->net.dims[i].block == RLT_BLOCK_SWITCH && below(d, 3) == 0;
    }
    rlt_design_levels(&x->net);
}

static rlt_design_comm draw_comm(dice *d, rlt_design_over over)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER,
                                          RLT_ALL_TO_ALL};
    return (rlt_design_comm){.any = below(d, 4) > 0,
                             .kind = kinds[below(d, 5)],
                             .over = below(d, 5) ? over : RLT_DESIGN_EVERY,
                             .bytes = 1e6 * (1 + 99 * fraction(d))};
}

static void draw_work(dice *d, drawn *x, rlt_design_work *w)
{
    uint64_t ranks = rlt_design_size(&x->net);
    w->model = 1;
    for (uint32_t i = 0; i < x->net.n && below(d, 3); i++) /* group sizes may end inside a dimension */
        w->model *= below(d, 3) ? x->net.dims[i].size : 2;
    while (ranks % w->model)
        w->model /= 2;
    w->data = (uint32_t)(ranks / w->model);
    for (uint32_t k = 1 + below(d, 3); k > 0; k--) {
        rlt_design_layer *l = rlt_design_work_add(w, NULL);
        assert_non_null(l);
        for (uint32_t p = 0; p < 3; p++) {
            l->compute_s[p] = 2e-3 * fraction(d);
            l->comm[p] = draw_comm(d, p == 2 ? RLT_DESIGN_DATA : RLT_DESIGN_MODEL);
        }
    }
}

static void limit(drawn *x, const char *text)
{
    rlt_error err = {0};
    if (rlt_limits_add(&x->limits, text, x->dollars, x->fixed, &err))
        fail_msg("%s: %s", text, err.what);
    snprintf(x->text + strlen(x->text), sizeof x->text - strlen(x->text), ", %s", text);
}

static void draw_limits(dice *d, drawn *x)
{
    x->limits.n_dims = x->net.n;
    for (uint32_t i = 0; i < x->net.n; i++)
        x->limits.level[i] = x->net.dims[i].level;
    assert_int_equal(rlt_limits_total(&x->limits, x->total, NULL), 0);
    for (uint32_t k = below(d, 4); k > 0; k--) {
        char text[96];
        uint32_t i = 1 + below(d, x->net.n), j = 1 + below(d, x->net.n);
        double part = x->total * 1e-9 * fraction(d), mean = 0;
        for (uint32_t n = 0; n < x->net.n; n++)
            mean += x->dollars[n] * x->total / x->net.n;
        if (below(d, 3) == 0)
            snprintf(text, sizeof text, "b%u >= %.3f*b%u", i, i == j ? 0.5 : 2 * fraction(d), j);
        else if (below(d, 3) == 0)
            snprintf(text, sizeof text, "cost <= %.6g", x->fixed + mean * (0.5 + fraction(d)));
        else
            snprintf(text, sizeof text, "b%u %s %.3fGB/s", i, below(d, 2) ? "<=" : ">=", part);
        limit(x, text);
    }
}

static void draw(uint32_t number, drawn *x)
{
    dice d = {.seed = SEED, .stream = number};
    rlt_design_loop loop = rlt_design_loop_default();
    rlt_design_cost cost = {.prices = rlt_design_prices_at(below(&d, 3)),
                            .unit_Bps = 1e9,
                            .npu = below(&d, 2) ? 500 * fraction(&d) : 0};
    *x = (drawn){.n_works = 1 + below(&d, 3), .total = 1e9 * (20 + 280 * fraction(&d))};
    draw_net(&d, x);
    double ranks = (double)rlt_design_size(&x->net);
    rlt_design_cost_rates(&cost, &x->net, x->dollars);
    for (uint32_t i = 0; i < x->net.n; i++)
        x->dollars[i] *= ranks;
    x->fixed = cost.npu * ranks;
    loop.overlap = below(&d, 2);
    loop.forward_passes = 1 + below(&d, 2);
    for (uint32_t i = 0; i < x->n_works; i++) {
        draw_work(&d, x, &x->works[i]);
        rlt_error err = {0};
        if (rlt_design_model_add(&x->model, &x->net, &x->works[i], &loop, 0.1 + fraction(&d), &err))
            fail_msg("case %u: %s", number, err.what);
    }
    x->problem = (rlt_split_problem){.model = &x->model,
                                     .limits = &x->limits,
                                     .goal = below(&d, 2) ? RLT_LEAST_TIME_COST : RLT_LEAST_TIME,
                                     .dollars = x->dollars,
                                     .fixed = x->fixed,
                                     .starts = 24};
    snprintf(x->text, sizeof x->text, "case %u, %u dimensions, %u workloads, %s%s", number, x->net.n,
             x->n_works, x->problem.goal == RLT_LEAST_TIME ? "time" : "time x cost",
             loop.overlap ? ", overlapped" : "");
    draw_limits(&d, x);
}

static void drop(drawn *x)
{
    for (uint32_t i = 0; i < x->n_works; i++)
        rlt_design_work_free(&x->works[i]);
    rlt_design_model_free(&x->model);
}

typedef struct found {
    double bw[RLT_MAX_DIMS], objective;
    uint32_t tried, met;
} found;

static void try(const drawn *x, const double bw[RLT_MAX_DIMS], found *best)
{
    best->tried++;
    if (rlt_limits_violation(&x->limits, bw) > 1e-12)
        return;
    best->met++;
    double f = rlt_split_objective(&x->problem, bw);
    if (f < best->objective) {
        best->objective = f;
        memcpy(best->bw, bw, sizeof best->bw);
    }
}

/* Tries every split into `number` parts, then random steps from the best one, each round smaller. */
static found search(const drawn *x, uint32_t number)
{
    found best = {.objective = INFINITY};
    uint32_t n = x->net.n;
    for (uint32_t i = 1; i < STEPS; i++)
        for (uint32_t k = 1; k < (n == 3 ? STEPS - i : 2); k++) {
            double bw[RLT_MAX_DIMS] = {i, n == 3 ? k : STEPS - i, n == 3 ? STEPS - i - k : 0};
            for (uint32_t j = 0; j < n; j++)
                bw[j] *= x->total / STEPS;
            try(x, bw, &best);
        }
    dice d = {.seed = SEED, .stream = CASES + number};
    for (uint32_t step = 0; step < WALK && best.met; step++) {
        double bw[RLT_MAX_DIMS], by = x->total / STEPS * fraction(&d) * pow(0.97, step);
        uint32_t from = below(&d, n), to = below(&d, n);
        memcpy(bw, best.bw, sizeof bw);
        if (from == to || bw[from] <= by + RLT_LEAST_BPS)
            continue;
        bw[from] -= by;
        bw[to] = 0;
        double others = 0;
        for (uint32_t j = 0; j < n; j++)
            others += bw[j];
        bw[to] = x->total - others;
        try(x, bw, &best);
    }
    return best;
}

static void none_is_better(void **state)
{
    (void)state;
    uint32_t solved = 0, limited = 0, impossible = 0, products = 0;
    if (!rlt_split_available())
        skip();
    for (uint32_t i = 0; i < CASES; i++) {
        drawn x;
        rlt_split s;
        rlt_error err = {0};
        draw(i, &x);
        found best = search(&x, i);
        int rc = rlt_split_solve(&x.problem, &s, &err);
        if (rc == RLT_ECHECK && best.met == 0) {
            impossible++;
        } else if (rc) {
            fail_msg("%s: %s, and %u of %u splits meet them", x.text, err.what, best.met, best.tried);
        } else {
            if (rlt_limits_violation(&x.limits, s.bw) > 1e-7)
                fail_msg("%s: a limit is not met", x.text);
            if (s.objective > best.objective * (1 + 1e-8))
                fail_msg("%s: %.12g at %g/%g/%g GB/s, but %.12g at %g/%g/%g", x.text, s.objective,
                         s.bw[0] / 1e9, s.bw[1] / 1e9, s.bw[2] / 1e9, best.objective, best.bw[0] / 1e9,
                         best.bw[1] / 1e9, best.bw[2] / 1e9);
            solved++;
            limited += x.limits.n > 1;
            products += x.problem.goal == RLT_LEAST_TIME_COST;
        }
        drop(&x);
    }
    print_message("%u solved, %u of them with limits beside the total, %u for time x cost; %u impossible\n",
                  solved, limited, products, impossible);
    assert_true(solved > CASES * 3 / 4 && limited > CASES / 3 && products > CASES / 4 && impossible > 0);
}

/* ---- listed speeds ---- */

enum { LISTED = 80, SPEEDS = 5 };

/* Returns the best of all combinations of listed speeds, each looked at; INFINITY if none meets the limits. */
static double best_combination(const drawn *x, const rlt_design_candidate *c)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < c->combinations; i++) {
        rlt_split_problem p = x->problem;
        rlt_limits l = x->limits;
        rlt_split s = {0};
        uint32_t left = i;
        for (uint32_t d = 0; d < c->net.n; d++) {
            const rlt_nic *nic = c->nic[d];
            if (!nic)
                continue;
            s.bw[d] = nic->rate[left % nic->n];
            left /= nic->n;
            assert_int_equal(rlt_limits_range(&l, d, s.bw[d], s.bw[d], NULL), 0);
        }
        p.limits = &l;
        if (c->listed < c->net.n && rlt_split_solve(&p, &s, NULL))
            continue;
        if (rlt_limits_violation(&x->limits, s.bw) <= 1e-7)
            best = fmin(best, rlt_split_objective(&x->problem, s.bw));
    }
    return best;
}

static void draw_lists(dice *d, const drawn *x, rlt_nic nics[RLT_MAX_DIMS], rlt_design_candidate *c)
{
    for (uint32_t i = 0; i < x->net.n; i++) {
        if (i == 0 && below(d, 2))
            continue; /* its speed is free */
        double rate = x->total * (0.02 + 0.1 * fraction(d));
        for (uint32_t k = 0; k < 1 + below(d, SPEEDS); k++, rate *= 1.1 + fraction(d))
            nics[i].rate[nics[i].n++] = rate;
        c->nic[i] = &nics[i];
        c->listed++;
        c->combinations *= nics[i].n;
    }
}

static void best_of_listed(void **state)
{
    (void)state;
    uint32_t solved = 0, pruned = 0, impossible = 0;
    if (!rlt_split_available())
        skip();
    for (uint32_t i = 0; i < LISTED; i++) {
        dice d = {.seed = SEED + 1, .stream = i};
        drawn x;
        rlt_nic nics[RLT_MAX_DIMS] = {{0}};
        rlt_split s = {0};
        draw(i, &x);
        rlt_design_settings settings = {.total = (uint64_t)x.total};
        rlt_design_setup u = {.s = &settings};
        rlt_design_candidate c = {.u = &u, .net = x.net, .combinations = 1};
        draw_lists(&d, &x, nics, &c);
        x.limits.items[0].equal = c.listed < x.net.n;
        double best = best_combination(&x, &c);
        int rc = rlt_nics_solve(&c, &x.problem, &s, NULL);
        if (isfinite(best) != (rc == 0) || (!rc && fabs(s.objective / best - 1) > 1e-6))
            fail_msg("%s: %.12g, best %.12g, exit %d", x.text, s.objective, best, rc);
        solved += rc == 0;
        impossible += rc == RLT_ECHECK;
        pruned += rc == 0 && s.leaves < c.combinations;
        drop(&x);
    }
    print_message("%u solved, %u of them without looking at each, %u impossible\n", solved, pruned,
                  impossible);
    assert_true(solved > LISTED / 3 && pruned > LISTED / 6 && impossible > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_is_better), cmocka_unit_test(best_of_listed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
