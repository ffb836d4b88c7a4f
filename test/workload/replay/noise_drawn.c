/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random lists of noise against the rules of workload/replay/noise.h, draw by draw: factors multiply, and each is a
 * number of the stream of its place in the list and its rank, counted by step or by operation. A seed gives the same
 * factors in every version.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"

enum { LIST = 4, RANKS = 4, STEPS = 9, MOST = 200, BY_STEP = 0x6e6f6900, BY_OPERATION = 0x6e6f6f00 };

static uint32_t draw_list(dice *d, rlt_noise *list, bool operations)
{
    uint32_t n = below(d, LIST + 1);
    for (uint32_t i = 0; i < n; i++) {
        static const rlt_noise_kind kinds[] = {RLT_NOISE_LOGNORMAL, RLT_NOISE_MARKOV, RLT_NOISE_OPERATION};
        list[i] = (rlt_noise){.kind = kinds[below(d, operations ? 3 : 2)],
                              .on = (rlt_noise_on)below(d, 3),
                              .cv = 0.05 * (1 + below(d, 20)),
                              .slow = 0.5 + below(d, 6),
                              .enter = below(d, 4) ? 0.1 * (1 + below(d, 9)) : 1,
                              .leave = below(d, 4) ? 0.1 * (1 + below(d, 9)) : 1};
        if (list[i].kind == RLT_NOISE_OPERATION && below(d, 2))
            strcpy(list[i].name, "gemm");
    }
    return n;
}

static bool acts_on(const rlt_noise *n, bool host)
{
    return n->on == RLT_NOISE_ON_BOTH || n->on == (host ? RLT_NOISE_ON_HOST : RLT_NOISE_ON_COMPUTE);
}

/* Whether a rank is slow in a step. Number 0 of its stream is for the start, number k + 1 for what follows step k. */
static bool is_slow(const rlt_noise *n, uint64_t seed, uint32_t rank, uint32_t place, uint32_t step)
{
    if (step == 0)
        return rlt_random_unit(seed, rank, BY_STEP + place, 0) < n->enter / (n->enter + n->leave);
    bool was = is_slow(n, seed, rank, place, step - 1);
    double changes = was ? n->leave : n->enter;
    return rlt_random_unit(seed, rank, BY_STEP + place, step) < changes ? !was : was;
}

static double factor_of(const rlt_noise *list, uint32_t n, bool host, uint64_t seed, uint32_t rank,
                        uint32_t step)
{
    double f = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!acts_on(&list[i], host))
            continue;
        if (list[i].kind == RLT_NOISE_LOGNORMAL)
            f *= rlt_random_lognormal(seed, rank, BY_STEP + i, step, list[i].cv);
        else if (list[i].kind == RLT_NOISE_MARKOV && is_slow(&list[i], seed, rank, i, step))
            f *= list[i].slow;
    }
    return f;
}

static void factors(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        dice d = {.seed = seed};
        rlt_noise list[LIST];
        double f[RANKS * STEPS];
        uint32_t n = draw_list(&d, list, true), ranks = 1 + below(&d, RANKS), steps = 1 + below(&d, STEPS);
        bool host = below(&d, 2);
        for (int i = 0; i < RANKS * STEPS; i++)
            f[i] = 1;
        rlt_noise_fill(list, n, host, seed, ranks, steps, f);
        for (uint32_t i = 0; i < RANKS * STEPS; i++) {
            double want = i < ranks * steps ? factor_of(list, n, host, seed, i / steps, i % steps) : 1;
            if (f[i] != want)
                fail_msg("case %llu: %.17g at %u, not %.17g", (unsigned long long)seed, f[i], i, want);
        }
    }
}

/* A rank whose number is the probability itself does not change: 0 is below any, 1 never drawn. */
static void bounds(void **state)
{
    uint32_t met = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double start = rlt_random_unit(seed, 0, BY_STEP, 0), next = rlt_random_unit(seed, 0, BY_STEP, 1);
        rlt_noise n = {.kind = RLT_NOISE_MARKOV, .slow = 2, .enter = start / (1 - start), .leave = 1};
        double f[2] = {1, 1};
        if (n.enter > 1 || n.enter / (n.enter + 1) != start)
            continue;
        rlt_noise_fill(&n, 1, false, seed, 1, 1, f);
        assert_true(f[0] == 1);
        met++;
        n = (rlt_noise){.kind = RLT_NOISE_MARKOV, .slow = 2, .enter = next, .leave = next};
        f[0] = 1;
        rlt_noise_fill(&n, 1, false, seed, 1, 2, f);
        assert_true(f[0] == (start < 0.5 ? 2 : 1) && f[1] == f[0]);
    }
    assert_true(met > 20);
}

typedef struct drawn {
    rlt_op_kind kind;
    uint32_t rank, step;
    const char *name; /* NULL: none */
} drawn;

static rlt_program *build(const drawn *ops, uint32_t n, rlt_time each_ps)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(RANKS, &b, &err), 0);
    for (uint32_t i = 0; i < n; i++) {
        rlt_op_desc o = rlt_op_desc_init(ops[i].kind, ops[i].rank);
        o.duration_ps = each_ps;
        o.step = (uint16_t)ops[i].step;
        if (ops[i].name)
            o.name = rlt_build_string(b, ops[i].name, (uint32_t)strlen(ops[i].name));
        rlt_build_op(b, &o);
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* By rank, and in a rank by step. */
static uint32_t draw_ops(dice *d, drawn *ops)
{
    static const rlt_op_kind kinds[] = {RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST, RLT_OP_DELAY};
    static const char *const names[] = {NULL, "a gemm", "gemm b", "gem", "copy"};
    uint32_t n = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t s = 0; s < 3; s++)
            for (uint32_t k = 1 + below(d, 12); k > 0; k--)
                ops[n++] = (drawn){kinds[below(d, 4)], r, s, names[below(d, 5)]};
    return n;
}

/* Whether noise by operation acts on an operation. */
static bool varies(const rlt_noise *n, const drawn *o)
{
    return o->kind != RLT_OP_DELAY && acts_on(n, o->kind == RLT_OP_HOST) &&
           (!n->name[0] || (o->name && strstr(o->name, n->name)));
}

/* Returns false if some noise by operation has nothing to act on. */
static bool has_all(const rlt_noise *list, uint32_t n_list, const drawn *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n_list; i++) {
        bool any = list[i].kind != RLT_NOISE_OPERATION;
        for (uint32_t k = 0; k < n; k++)
            any |= varies(&list[i], &ops[k]);
        if (!any)
            return false;
    }
    return true;
}

static double factor_of_op(const rlt_noise *list, uint32_t n_list, uint64_t seed, const drawn *o,
                           uint32_t place)
{
    if (o->kind == RLT_OP_DELAY)
        return 1;
    double f = factor_of(list, n_list, o->kind == RLT_OP_HOST, seed, o->rank, o->step);
    for (uint32_t i = 0; i < n_list; i++)
        if (list[i].kind == RLT_NOISE_OPERATION && varies(&list[i], o))
            f *= rlt_random_lognormal(seed, o->rank, BY_OPERATION + i, place, list[i].cv);
    return f;
}

static void replayed(void **state)
{
    enum { EACH = 100000 };
    uint32_t ran = 0, refused = 0;
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,0ns", NULL, &t, NULL), 0);
    for (uint64_t seed = 0; seed < 300; seed++) {
        dice d = {.seed = 1000 + seed};
        rlt_noise list[LIST];
        drawn ops[MOST];
        uint32_t n = draw_ops(&d, ops), place = 0;
        rlt_replay *x = NULL;
        rlt_error err = {0};
        rlt_replay_options o = rlt_replay_options_default();
        for (uint32_t i = 0; i < n && seed % 2; i++) /* no host: noise on hosts by step changes nothing */
            ops[i].kind = ops[i].kind == RLT_OP_HOST ? RLT_OP_MEMORY : ops[i].kind;
        rlt_program *p = build(ops, n, EACH);
        o.topology = t;
        o.noise = list;
        o.n_noise = draw_list(&d, list, true);
        o.seed = seed;
        int rc = rlt_replay_create(p, &o, &x, &err);
        assert_int_equal(rc, has_all(list, o.n_noise, ops, n) ? 0 : RLT_EUSAGE);
        if (!rc)
            assert_int_equal(rlt_replay_run(x, &err), 0);
        for (uint32_t i = 0; i < n && !rc; i++) {
            place = i && ops[i].rank == ops[i - 1].rank ? place + 1 : 0;
            rlt_op_result r = rlt_replay_op(x, i);
            double want = EACH * factor_of_op(list, o.n_noise, seed, &ops[i], place);
            if (fabs((double)(r.end_ps - r.start_ps) - want) > 0.501)
                fail_msg("case %llu: operation %u takes %lld ps, not %f", (unsigned long long)seed, i,
                         (long long)(r.end_ps - r.start_ps), want);
        }
        ran += !rc;
        refused += rc != 0;
        rlt_replay_free(x);
        rlt_program_free(p);
    }
    assert_true(ran > 200 && refused > 10);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors), cmocka_unit_test(bounds),
                                       cmocka_unit_test(replayed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
