/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sufficient factors: the program of a strategy by hand, and its optimum against GLPK and against all
 * solutions of small ones. */
#include "workload/deploy/sfb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#if defined __has_include
#if __has_include(<glpk.h>)
#include <glpk.h>
#define WITH_GLPK
#endif
#endif

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

#define DATA  "../shared/data/pipedream/"
#define GB    1000000000ull
#define B_Bps 2810000000ull
#define ALPHA 1.0

static rlt_error err;

static void ok(int rc)
{
    if (rc)
        fail_msg("%d: %s: %s", rc, err.where, err.what);
}

static rlt_cluster cluster(const uint32_t *devices, uint32_t n)
{
    static const double factors[] = {1, 1.75, 1.5, 1.25};
    rlt_cluster c = {.name = "test", .transfer_ps = 12 * RLT_US, .all_reduce = RLT_ALL_REDUCE_TAG};
    for (uint32_t i = 0; i < n; i++) {
        rlt_device_group g = {
            .name = "gpu", .factor = factors[i], .memory_bytes = 1ull << 40, .intra_Bps = 8 * GB};
        g.n = devices[i];
        ok(rlt_cluster_add(&c, &g, &err));
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            c.inter_Bps[i][k] = B_Bps;
    ok(rlt_cluster_ready(&c, &err));
    return c;
}

/* Two machines with one device each. */
static rlt_cluster pair(void)
{
    return cluster((const uint32_t[]){1, 1}, 2);
}

/* Every operator is a group of its own, all with one action. */
static void decide(const rlt_opgraph *g, rlt_action a, rlt_grouping *p, rlt_strategy *s)
{
    uint32_t *of_op = malloc(g->n_ops * sizeof *of_op);
    for (uint32_t i = 0; i < g->n_ops; i++)
        of_op[i] = i;
    ok(rlt_grouping_make(g, of_op, g->n_ops, p, &err));
    ok(rlt_strategy_uniform(p->n, a, s, &err));
    free(of_op);
}

static rlt_sfb_problem problem_of(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c,
                                  const rlt_strategy *s)
{
    rlt_sfb_problem out;
    ok(rlt_sfb_problem_make(g, p, c, s, ALPHA, &out, &err));
    return out;
}

static int64_t ps(double us)
{
    return (int64_t)nearbyint(us * 1e6);
}

/* Value of a solution, exactly; INT64_MAX if it is not one. */
static int64_t objective(const rlt_sfb_problem *p, const uint8_t *x)
{
    int64_t sum = 0;
    uint8_t *b = calloc(p->n_ops, 1);
    bool allowed = true;
    for (uint32_t e = 0; e < p->n_edges; e++)
        b[p->src[e]] |= x[p->dst[e]] && !x[p->src[e]];
    for (uint32_t i = 0; i < p->n_ops; i++) {
        allowed = allowed && !(x[i] && p->forced[i]);
        sum += (x[i] ? ps(p->cost[i]) : 0) + (b[i] ? ps(p->gather[i]) : 0);
    }
    free(b);
    return allowed ? sum : INT64_MAX;
}

/* Solves a program and checks that the solution has the value that is stated. */
static int64_t solve(const rlt_sfb_problem *p, uint8_t *x)
{
    double value = NAN;
    memset(x, 2, p->n_ops);
    ok(rlt_sfb_solve(p, x, &value, &err));
    for (uint32_t i = 0; i < p->n_ops; i++)
        assert_true(x[i] <= 1);
    assert_true(value <= 0);
    assert_int_equal(objective(p, x), ps(value));
    return ps(value);
}

/* ---- a fully connected layer of vgg16, on two machines ---- */

enum { X, DY, MATMUL, UPDATE, FC_OPS };

/* The weight gradient of fc6 is the product of the layer's input and its output's gradient. */
static rlt_opgraph *fc6(uint64_t batch, rlt_time matmul_ps)
{
    const uint64_t in = 25088, out = 4096, float_bytes = 4;
    const rlt_operator ops[FC_OPS] = {
        [X] = {.name = "x",
               .kind = "Relu",
               .time_ps = RLT_S, /* long: its output is gathered, not computed everywhere */
               .forward = X,
               .together = RLT_NONE,
               .splittable = true},
        [DY] = {.name = "dy",
                .kind = "ReluGrad",
                .time_ps = RLT_S,
                .forward = X,
                .together = RLT_NONE,
                .pass = RLT_OPERATOR_BACKWARD,
                .splittable = true},
        [MATMUL] = {.name = "dw",
                    .kind = "MatMul",
                    .time_ps = matmul_ps,
                    .launch_ps = 8 * RLT_US,
                    .forward = X,
                    .together = RLT_NONE,
                    .pass = RLT_OPERATOR_BACKWARD,
                    .splittable = true},
        [UPDATE] = {.name = "update",
                    .kind = "Adam",
                    .time_ps = RLT_MS,
                    .parameter_bytes = in * out * float_bytes,
                    .forward = X,
                    .together = RLT_NONE,
                    .pass = RLT_OPERATOR_UPDATE},
    };
    const rlt_tensor tensors[] = {{X, DY, 4, RLT_TENSOR_BATCHED},
                                  {X, MATMUL, batch * in * float_bytes, RLT_TENSOR_BATCHED},
                                  {DY, MATMUL, batch * out * float_bytes, RLT_TENSOR_BATCHED},
                                  {MATMUL, UPDATE, in * out * float_bytes, RLT_TENSOR_GRADIENT}};
    rlt_opgraph_builder *b;
    rlt_opgraph *g;
    ok(rlt_opgraph_begin("fc6", &b, &err));
    for (uint32_t i = 0; i < FC_OPS; i++)
        assert_int_equal(rlt_opgraph_op(b, &ops[i]), i);
    for (uint32_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        rlt_opgraph_tensor(b, &tensors[i]);
    ok(rlt_opgraph_finish(b, &g, &err));
    return g;
}

static void near(double a, double b, double error)
{
    if (!(fabs(a - b) <= error))
        fail_msg("%.9g is not %.9g", a, b);
}

/* Returns the value, in microseconds, and what is duplicated. */
static double best_of_fc6(uint64_t batch, const rlt_cluster *c, uint8_t *x, rlt_sfb_problem *p)
{
    rlt_opgraph *g = fc6(batch, 10 * RLT_MS);
    rlt_grouping of;
    rlt_strategy s;
    decide(g, (rlt_action){(1u << c->n_groups) - 1, RLT_USE_ALL_REDUCE}, &of, &s);
    *p = problem_of(g, &of, c, &s);
    int64_t value = solve(p, x);
    rlt_grouping_free(&of);
    rlt_strategy_free(&s);
    rlt_opgraph_free(g);
    return (double)value / 1e6;
}

static void published_costs(void **state)
{
    static const struct {
        uint64_t batch;
        uint32_t devices[2];
        double reduce_ms, gather_ms;
    } rows[] = {{6, {1, 1}, 146.28, 0.125}, {128, {1, 1}, 146.28, 2.66}, {128, {4, 4}, 255.99, 4.65}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_cluster c = cluster(rows[i].devices, 2);
        rlt_sfb_problem p;
        uint8_t x[FC_OPS];
        double m = 2 * rows[i].devices[0], mean = (1 + 1.75) / 2;
        double extra = 10000 / m * (m - 1) * mean + ALPHA;
        double value = best_of_fc6(rows[i].batch, &c, x, &p);
        near((extra - p.cost[MATMUL]) / 1000, rows[i].reduce_ms, 0.005);
        near((p.gather[X] + p.gather[DY]) / 1000, rows[i].gather_ms, rows[i].gather_ms * 0.005);
        near(value, p.cost[MATMUL] + p.gather[X] + p.gather[DY], 3e-6);
        assert_memory_equal(x, ((uint8_t[FC_OPS]){[MATMUL] = 1}), FC_OPS);
        assert_memory_equal(p.forced, ((uint8_t[FC_OPS]){[UPDATE] = 1}), FC_OPS);
        rlt_sfb_problem_free(&p);
    }
}

/* A gather grows with the batch, an all-reduce does not: 4 (25088 + 4096) bytes a sample. */
static void large_batches(void **state)
{
    rlt_cluster c = pair();
    rlt_sfb_problem p;
    uint8_t x[FC_OPS];
    (void)state;
    double sample_us = 0.5 * 4 * (25088 + 4096) / 2810;
    (void)best_of_fc6(1, &c, x, &p);
    uint64_t last = (uint64_t)(-p.cost[MATMUL] / sample_us);
    rlt_sfb_problem_free(&p);
    for (uint64_t batch = 1; batch < UINT64_C(1) << 40; batch *= 8) {
        bool pays = batch <= last;
        assert_true((best_of_fc6(batch, &c, x, &p) < 0) == pays);
        assert_int_equal(x[MATMUL], pays);
        rlt_sfb_problem_free(&p);
    }
    for (uint64_t batch = last; batch <= last + 1; batch++) {
        (void)best_of_fc6(batch, &c, x, &p);
        assert_int_equal(x[MATMUL], batch == last);
        rlt_sfb_problem_free(&p);
    }
}

/* The judge agrees that it pays. */
static void judged(void **state)
{
    rlt_cluster c = pair();
    rlt_opgraph *g = fc6(128, 10 * RLT_MS);
    rlt_grouping of;
    rlt_strategy s;
    rlt_judge *j;
    rlt_verdict before, after;
    (void)state;
    decide(g, (rlt_action){3, RLT_USE_ALL_REDUCE}, &of, &s);
    rlt_sfb_problem p = problem_of(g, &of, &c, &s);
    ok(rlt_judge_create(g, &of, &c, &j, &err));
    ok(rlt_judge_tag(j, &s, &before, NULL, &err));
    s.broadcast = malloc(FC_OPS);
    (void)solve(&p, s.broadcast);
    ok(rlt_judge_tag(j, &s, &after, NULL, &err));
    /* The all-reduce goes; the slower device works 10 ms * 1.75 / 2 longer. It waits for nothing: the other
     * half of its inputs was ready before its own. */
    rlt_time reduce = rlt_cluster_all_reduce(&c, 3, (uint64_t)25088 * 4096 * 4);
    assert_int_equal(before.time_ps - after.time_ps, reduce - 8750 * RLT_US);
    /* What the strategy broadcasts does not change the program. */
    rlt_sfb_problem again = problem_of(g, &of, &c, &s);
    assert_memory_equal(again.cost, p.cost, FC_OPS * sizeof *p.cost);
    assert_int_equal(again.n_edges, p.n_edges);
    rlt_sfb_problem_free(&again);
    rlt_sfb_problem_free(&p);
    rlt_judge_free(j);
    rlt_strategy_free(&s);
    rlt_grouping_free(&of);
    rlt_opgraph_free(g);
}

/* ---- where operators stand ---- */

/* The group of an operator's action, for changing it. */
static rlt_action *action(rlt_strategy *s, const rlt_grouping *of, uint32_t op)
{
    return &s->actions[of->of_op[op]];
}

static void places(void **state)
{
    /* Groups 0 and 1 have 2 devices each, group 2 has one: gathers over 0 and 1 take S / 2810 MB/s * 3/4. */
    rlt_cluster c = cluster((const uint32_t[]){2, 2, 1}, 3);
    rlt_opgraph *g = fc6(128, 10 * RLT_MS);
    rlt_grouping of;
    rlt_strategy s;
    const double gx = 0.75 * 128 * 25088 * 4 / 2810, gdy = 0.75 * 128 * 4096 * 4 / 2810,
                 extra = 7500 * (1 + 1.75) / 2 + ALPHA, saved = 1.5 * 25088 * 4096 * 4 / 2810;
    static const struct {
        uint32_t op;
        rlt_action action;
        bool forced, saved, gathers, pays_more; /* of the product, for its first input */
    } rows[] = {
        {X, {3, RLT_USE_ALL_REDUCE}, false, true, true, false},
        {X, {3, RLT_USE_PS}, false, true, true, false}, /* in parts, but not to be duplicated */
        {X, {3, RLT_USE_DUPLICATE}, false, true, false, false},
        {X, {7, RLT_USE_DUPLICATE}, false, true, false, false}, /* on more devices */
        {X, {1, RLT_USE_DUPLICATE}, false, true, false, true},  /* on only some */
        {X, {3, RLT_USE_MODEL}, false, true, false, true},      /* on one device of the four */
        {X, {7, RLT_USE_ALL_REDUCE}, false, true, false, true}, /* other slices */
        {X, {4, RLT_USE_ALL_REDUCE}, false, true, false, true}, /* on another device */
        {UPDATE, {3, RLT_USE_PS}, false, false, true, false},
        {UPDATE, {1, RLT_USE_ALL_REDUCE}, false, false, true, false},
        {MATMUL, {3, RLT_USE_PS}, true, false, false, false},
        {MATMUL, {3, RLT_USE_MODEL}, true, false, false, false},
        {MATMUL, {3, RLT_USE_DUPLICATE}, true, false, false, false},
        {MATMUL, {4, RLT_USE_ALL_REDUCE}, true, false, false, false}, /* a single device */
    };
    (void)state;
    decide(g, (rlt_action){3, RLT_USE_ALL_REDUCE}, &of, &s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_action *a = action(&s, &of, rows[i].op);
        uint8_t x[FC_OPS];
        *a = rows[i].action;
        rlt_sfb_problem p = problem_of(g, &of, &c, &s);
        assert_int_equal(p.forced[MATMUL], rows[i].forced);
        near(p.gather[X], rows[i].gathers ? gx : p.gather[X] > 0 ? 0.75 * 4 / 2810 : 0, 1e-9);
        if (!rows[i].forced) {
            near(p.gather[DY], gdy, 1e-9);
            near(p.cost[MATMUL], extra - (rows[i].saved ? saved : 0) + (rows[i].pays_more ? gx : 0), 1e-6);
        }
        (void)solve(&p, x);
        assert_int_equal(x[MATMUL], rows[i].saved);
        rlt_sfb_problem_free(&p);
        *a = (rlt_action){3, RLT_USE_ALL_REDUCE};
    }
    rlt_grouping_free(&of);
    rlt_strategy_free(&s);
    rlt_opgraph_free(g);
}

/* ---- programs by hand ---- */

/* Operators 0 to 3, where 0 feeds 1, 2 and 3. */
typedef struct star {
    double cost[4], gather[4];
    uint8_t forced[4];
    uint8_t x[4];
    double value;
} star;

static void by_hand(void **state)
{
    static const star stars[] = {
        /* One gather serves three consumers; each alone would lose. */
        {{50, -10, -10, -10}, {25}, {0}, {0, 1, 1, 1}, -5},
        {{50, -10, -10, 0}, {25}, {0}, {0}, 0},
        /* It is cheaper to duplicate the producer than to gather its output. */
        {{20, -10, -10, -10}, {25}, {0}, {1, 1, 1, 1}, -10},
        {{20, -10, -10, -10}, {25}, {1}, {0, 1, 1, 1}, -5},
        /* A forced operator gains nothing, and needs no gather. */
        {{50, -100, -10, -10}, {25}, {0, 1}, {0}, 0},
        {{-50, -100, -10, -10}, {25}, {1, 1, 1, 1}, {0}, 0},
        /* A tie: nothing is duplicated that gains nothing. */
        {{50, -10, -15, 0}, {25}, {0}, {0}, 0},
        {{50, -10, -15, -1}, {25}, {0}, {0, 1, 1, 1}, -1},
        {{0, 0, -1, 0}, {0}, {0}, {0, 0, 1, 0}, -1},
        /* Without gains there is nothing to do. */
        {{1, 2, 3, 4}, {5, 6, 7, 8}, {0}, {0}, 0},
        {{0}, {0}, {0}, {0}, 0},
        /* Picoseconds count beside an hour. */
        {{7.2e9, -1e-6, -3.6e9, 0}, {3.6e9}, {0}, {0, 1, 1, 0}, -1e-6},
    };
    uint32_t src[] = {0, 0, 0}, dst[] = {1, 2, 3};
    (void)state;
    for (size_t i = 0; i < sizeof stars / sizeof *stars; i++) {
        star s = stars[i];
        uint8_t x[4];
        rlt_sfb_problem p = {4, 3, s.cost, s.gather, s.forced, src, dst};
        double hours = s.cost[0] > 1e9;
        if (hours) {
            double value;
            ok(rlt_sfb_solve(&p, x, &value, &err));
            assert_true(value <= 0 && value > -1); /* rounded to a coarser unit, but not lost */
            continue;
        }
        assert_int_equal(solve(&p, x), ps(s.value));
        assert_memory_equal(x, s.x, 4);
    }
}

static void refusals(void **state)
{
    double cost[] = {1, -1}, gather[] = {1, 1}, value;
    uint8_t forced[2] = {0}, x[2];
    uint32_t src[] = {0}, dst[] = {1};
    const double wrong[] = {NAN, INFINITY, -INFINITY, 1e30};
    rlt_sfb_problem p = {2, 1, cost, gather, forced, src, dst};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (rlt_error){0};
        cost[0] = wrong[i];
        assert_int_equal(rlt_sfb_solve(&p, x, &value, &err), RLT_ERANGE);
    }
    cost[0] = 1;
    gather[1] = -1;
    err = (rlt_error){0};
    assert_int_equal(rlt_sfb_solve(&p, x, &value, &err), RLT_ERANGE);
    gather[1] = 1;
    dst[0] = 2;
    err = (rlt_error){0};
    assert_int_equal(rlt_sfb_solve(&p, x, &value, &err), RLT_EUSAGE);
    rlt_opgraph *g = fc6(1, 1);
    rlt_cluster c = pair();
    rlt_grouping of;
    rlt_strategy s;
    decide(g, (rlt_action){3, RLT_USE_ALL_REDUCE}, &of, &s);
    err = (rlt_error){0};
    assert_int_equal(rlt_sfb_problem_make(g, &of, &c, &s, -1, &p, &err), RLT_EUSAGE);
    assert_int_equal(rlt_sfb_problem_make(g, &of, &c, &s, NAN, &p, &err), RLT_EUSAGE);
    s.n--;
    assert_int_equal(rlt_sfb_problem_make(g, &of, &c, &s, 1, &p, &err), RLT_EUSAGE);
    err = (rlt_error){0};
    rlt_grouping_free(&of);
    rlt_strategy_free(&s);
    rlt_opgraph_free(g);
}

/* ---- random programs ---- */

static uint64_t draw(uint64_t seed, uint32_t i, uint32_t what, uint64_t n)
{
    return rlt_random_below(seed, i, what, 0, n);
}

/* A graph whose operators have inputs from earlier ones, and some an update of their own. */
static rlt_opgraph *random_graph(uint64_t seed, uint32_t n)
{
    rlt_opgraph_builder *b;
    rlt_opgraph *g;
    ok(rlt_opgraph_begin("random", &b, &err));
    for (uint32_t i = 0; i < n; i++) {
        bool update = i > 1 && draw(seed, i, 0, 4) == 0;
        rlt_operator o = {.name = "op",
                          .kind = "x",
                          .time_ps = (rlt_time)draw(seed, i, 1, 50 * (uint64_t)RLT_MS) + 1,
                          .launch_ps = 8 * RLT_US,
                          .forward = i,
                          .together = RLT_NONE,
                          .pass = update ? RLT_OPERATOR_UPDATE : RLT_OPERATOR_FORWARD,
                          .splittable = !update && draw(seed, i, 2, 8) != 0};
        (void)rlt_opgraph_op(b, &o);
        for (uint32_t k = 0; i && k < 1 + draw(seed, i, 3, update ? 1 : 3); k++) {
            uint32_t from = (uint32_t)draw(seed, i, 10 + k, i);
            uint8_t kind = update                           ? RLT_TENSOR_GRADIENT
                           : draw(seed, i, 20 + k, 10) == 0 ? RLT_TENSOR_FULL
                                                            : RLT_TENSOR_BATCHED;
            uint64_t bytes = draw(seed, i, 30 + k, update ? 200000000 : 40000000);
            rlt_opgraph_tensor(b, &(rlt_tensor){from, i, bytes, kind});
        }
    }
    ok(rlt_opgraph_finish(b, &g, &err));
    return g;
}

/* The program of a random strategy, in which all-reduce on all devices is frequent. */
static rlt_sfb_problem random_problem(uint64_t seed, uint32_t n)
{
    rlt_cluster c = cluster((const uint32_t[]){1 + (uint32_t)draw(seed, 0, 50, 4), 2, 1}, 3);
    rlt_opgraph *g = random_graph(seed, n);
    rlt_grouping of;
    rlt_strategy s;
    rlt_action *actions;
    uint32_t n_actions;
    ok(rlt_actions_list(&c, true, &actions, &n_actions, &err));
    decide(g, (rlt_action){7, RLT_USE_ALL_REDUCE}, &of, &s);
    for (uint32_t i = 0; i < s.n; i++)
        if (draw(seed, i, 51, 6) == 0)
            s.actions[i] = actions[draw(seed, i, 52, n_actions)];
    rlt_sfb_problem p = problem_of(g, &of, &c, &s);
    free(actions);
    rlt_grouping_free(&of);
    rlt_strategy_free(&s);
    rlt_opgraph_free(g);
    return p;
}

/* The same constraints with small whole costs, so that many solutions are equal. */
static void redraw_costs(rlt_sfb_problem *p, uint64_t seed)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        p->cost[i] = (double)draw(seed, i, 60, 9) - 5;
        p->gather[i] = (double)draw(seed, i, 61, 6);
        p->forced[i] = draw(seed, i, 62, 5) == 0;
    }
}

/* The optimum over all 2^n solutions, and what all optimal solutions duplicate. */
static int64_t try_all(const rlt_sfb_problem *p, uint8_t *common)
{
    int64_t best = 0;
    uint8_t x[16];
    memset(common, 0, p->n_ops);
    for (uint32_t set = 0; set < 1u << p->n_ops; set++) {
        for (uint32_t i = 0; i < p->n_ops; i++)
            x[i] = set >> i & 1;
        int64_t v = objective(p, x);
        if (v < best) {
            memcpy(common, x, p->n_ops);
            best = v;
        } else if (v == best) {
            for (uint32_t i = 0; i < p->n_ops; i++)
                common[i] &= x[i];
        }
    }
    return best;
}

static void small_programs(void **state)
{
    uint32_t some = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        rlt_sfb_problem p = random_problem(seed, 3 + (uint32_t)draw(seed, 0, 70, 9));
        uint8_t x[16], common[16];
        if (seed % 3)
            redraw_costs(&p, seed);
        assert_int_equal(solve(&p, x), try_all(&p, common));
        assert_memory_equal(x, common, p.n_ops);
        some += memchr(x, 1, p.n_ops) != NULL;
        rlt_sfb_problem_free(&p);
    }
    assert_true(some > 100 && some < 300);
}

/* Another order of the operators is the same program. */
static void permutations(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t n = 5 + (uint32_t)draw(seed, 0, 71, 296);
        rlt_sfb_problem p = random_problem(seed, n), q = random_problem(seed, n);
        uint32_t *at = malloc(n * sizeof *at);
        uint8_t *x = malloc(n), *y = malloc(n);
        redraw_costs(&p, seed);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = (uint32_t)draw(seed, i, 72, i + 1);
            at[i] = at[k];
            at[k] = i;
        }
        for (uint32_t i = 0; i < n; i++) {
            q.cost[at[i]] = p.cost[i];
            q.gather[at[i]] = p.gather[i];
            q.forced[at[i]] = p.forced[i];
        }
        for (uint32_t e = 0; e < p.n_edges; e++) {
            q.src[p.n_edges - 1 - e] = at[p.src[e]];
            q.dst[p.n_edges - 1 - e] = at[p.dst[e]];
        }
        assert_int_equal(solve(&p, x), solve(&q, y));
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(x[i], y[at[i]]);
        free(at);
        free(x);
        free(y);
        rlt_sfb_problem_free(&p);
        rlt_sfb_problem_free(&q);
    }
}

/* ---- GLPK ---- */

#ifdef WITH_GLPK
/* Columns 1 to n are x, n + 1 to 2 n are b; a row for each x_dst - x_src - b_src <= 0. */
static void glpk(const rlt_sfb_problem *p, uint8_t *x)
{
    int n = (int)p->n_ops;
    glp_prob *lp = glp_create_prob();
    glp_set_obj_dir(lp, GLP_MIN);
    glp_add_cols(lp, 2 * n);
    for (int i = 0; i < n; i++) {
        glp_set_col_kind(lp, i + 1, GLP_BV);
        glp_set_col_kind(lp, n + i + 1, GLP_BV);
        if (p->forced[i])
            glp_set_col_bnds(lp, i + 1, GLP_FX, 0, 0);
        glp_set_obj_coef(lp, i + 1, p->cost[i]);
        glp_set_obj_coef(lp, n + i + 1, p->gather[i]);
    }
    if (p->n_edges)
        glp_add_rows(lp, (int)p->n_edges);
    for (uint32_t e = 0; e < p->n_edges; e++) {
        int columns[] = {0, (int)p->dst[e] + 1, (int)p->src[e] + 1, n + (int)p->src[e] + 1};
        double figures[] = {0, 1, -1, -1};
        glp_set_row_bnds(lp, (int)e + 1, GLP_UP, 0, 0);
        glp_set_mat_row(lp, (int)e + 1, 3, columns, figures);
    }
    glp_iocp how;
    glp_init_iocp(&how);
    how.presolve = GLP_ON;
    how.msg_lev = GLP_MSG_OFF;
    assert_int_equal(glp_intopt(lp, &how), 0);
    assert_int_equal(glp_mip_status(lp), GLP_OPT);
    for (int i = 0; i < n; i++)
        x[i] = glp_mip_col_val(lp, i + 1) > 0.5;
    glp_delete_prob(lp);
}

/* Both solutions are judged exactly. Returns true if something is duplicated. */
static bool as_glpk(const rlt_sfb_problem *p)
{
    uint8_t *x = malloc(p->n_ops), *y = malloc(p->n_ops);
    int64_t value = solve(p, x);
    glpk(p, y);
    /* GLPK's tolerance of optimality is 1e-7 of the objective. */
    double error = (double)(objective(p, y) - value);
    if (!(error >= 0 && error <= 1 + 1e-7 * fabs((double)value)))
        fail_msg("%g us, GLPK finds %g us more", (double)value / 1e6, error / 1e6);
    bool some = memchr(x, 1, p->n_ops) != NULL;
    free(x);
    free(y);
    return some;
}

static void random_as_glpk(void **state)
{
    uint32_t some = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        rlt_sfb_problem p = random_problem(seed, 5 + (uint32_t)draw(seed, 0, 73, 296));
        some += as_glpk(&p);
        redraw_costs(&p, seed);
        (void)as_glpk(&p);
        rlt_sfb_problem_free(&p);
    }
    assert_true(some > 100);
}

static void models_as_glpk(void **state)
{
    static const struct {
        const char *file;
        bool some; /* slow links make it pay */
    } models[] = {{"alexnet", true},  {"gnmt", true},          {"resnet18", true},
                  {"resnet50", true}, {"squeezenet1_0", true}, {"vgg16", true}};
    (void)state;
    if (access(DATA "vgg16.graph.txt", R_OK) != 0) {
        print_message("    # SKIP " DATA " is not here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        bool some = false;
        for (uint64_t slower = 1; slower <= 100; slower *= 10) {
            rlt_cluster c = cluster((const uint32_t[]){2, 2}, 2);
            rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
            rlt_opgraph *g;
            rlt_grouping of;
            rlt_strategy s;
            char path[256];
            c.inter_Bps[0][1] = c.inter_Bps[1][0] = B_Bps / slower;
            ok(rlt_cluster_ready(&c, &err));
            snprintf(path, sizeof path, DATA "%s.graph.txt", models[i].file);
            ok(rlt_opgraph_read(path, &o, &g, &err));
            decide(g, (rlt_action){3, RLT_USE_ALL_REDUCE}, &of, &s);
            rlt_sfb_problem p = problem_of(g, &of, &c, &s);
            some |= as_glpk(&p);
            rlt_sfb_problem_free(&p);
            rlt_grouping_free(&of);
            rlt_strategy_free(&s);
            rlt_opgraph_free(g);
        }
        if (some != models[i].some)
            fail_msg("%s: %d", models[i].file, some);
    }
}
#define GLPK_TEST(name, function)                                                                            \
    {                                                                                                        \
        name, function, NULL, NULL, NULL                                                                     \
    }
#else
static void no_glpk(void **state)
{
    (void)state;
    skip();
}
#define GLPK_TEST(name, function)                                                                            \
    {                                                                                                        \
        "needs libglpk-dev: " name, no_glpk, NULL, NULL, NULL                                                \
    }
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_costs),
        cmocka_unit_test(large_batches),
        cmocka_unit_test(judged),
        cmocka_unit_test(places),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(refusals),
        cmocka_unit_test(small_programs),
        cmocka_unit_test(permutations),
        GLPK_TEST("random graphs as GLPK", random_as_glpk),
        GLPK_TEST("published models as GLPK", models_as_glpk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
