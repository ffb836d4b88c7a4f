/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measured noise against the rule of workload/replay/noise.h, on random recordings of several steps: the k-th
 * operation of a name in the steps of a rank has a mean; its new time is that mean times the ratio that any
 * operation of its name had to its own. What was recorded once or took no time, other names and other kinds keep
 * their times.
 */
#include <math.h>
#include <stdio.h>
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

enum { WORKS = 3, STEPS = 4, MOST = 600, NAMES = 4, BY_OPERATION = 0x6e6f6f00 };

static const char *const names[NAMES] = {"a gemm", "gemm b", "copy", NULL};

typedef struct drawn {
    uint32_t rank, step, name, place; /* place: the how-manieth of its name, step and rank */
    rlt_op_kind kind;
    rlt_time ps;
    double mean; /* of its place over the steps; 0: recorded once, or does not vary */
} drawn;

static drawn ops[MOST];
static uint32_t n_ops, n_ranks;

/* Returns whether there are all names. */
static bool draw(dice *d)
{
    static const rlt_op_kind kinds[] = {RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST, RLT_OP_DELAY};
    uint32_t named = below(d, 4); /* 0: none, and all compute in each step; 1: the first one only */
    rlt_time least = below(d, 3) ? 1000 : 0, spread = least ? 1000000 : 1 + below(d, 4);
    n_ops = 0;
    n_ranks = 1 + below(d, WORKS);
    for (uint32_t r = 0; r < n_ranks; r++)
        for (uint32_t s = 0; s < STEPS; s++)
            for (uint32_t k = named ? 10 + below(d, 30) : 12; k > 0; k--) {
                drawn *o = &ops[n_ops++];
                *o = (drawn){r, s, below(d, NAMES), 0, kinds[below(d, 4)], 0, 0};
                if (named == 0 || (named == 1 && n_ops > 1))
                    o->name = NAMES - 1;
                if (named == 0)
                    o->kind = RLT_OP_COMPUTE;
                o->ps = least + (rlt_time)roll(d, (uint64_t)spread);
            }
    return named > 1;
}

static rlt_program *build(void)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    uint32_t last = RLT_NONE;
    assert_int_equal(rlt_builder_create(n_ranks, &b, &err), 0);
    for (uint32_t i = 0; i < n_ops; i++) {
        rlt_op_desc d = rlt_op_desc_init(ops[i].kind, ops[i].rank);
        d.duration_ps = ops[i].ps;
        d.step = (uint16_t)ops[i].step;
        if (names[ops[i].name])
            d.name = rlt_build_string(b, names[ops[i].name], (uint32_t)strlen(names[ops[i].name]));
        uint32_t op = rlt_build_op(b, &d);
        if (i && ops[i].rank == ops[i - 1].rank)
            rlt_build_dep(b, op, last);
        last = op;
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static bool varies(const drawn *o, const char *name, rlt_noise_on on)
{
    bool host = o->kind == RLT_OP_HOST, device = o->kind == RLT_OP_COMPUTE || o->kind == RLT_OP_MEMORY;
    bool chosen = (host && on != RLT_NOISE_ON_COMPUTE) || (device && on != RLT_NOISE_ON_HOST);
    return chosen && (!name[0] || (names[o->name] && strstr(names[o->name], name)));
}

static void find_means(const char *name, rlt_noise_on on)
{
    for (uint32_t i = 0; i < n_ops; i++) {
        drawn *o = &ops[i];
        o->place = 0;
        for (uint32_t k = 0; k < i && varies(o, name, on); k++)
            o->place += ops[k].rank == o->rank && ops[k].step == o->step && ops[k].name == o->name &&
                        varies(&ops[k], name, on);
    }
    for (uint32_t i = 0; i < n_ops; i++) {
        double sum = 0;
        uint32_t n = 0;
        for (uint32_t k = 0; k < n_ops && varies(&ops[i], name, on); k++)
            if (varies(&ops[k], name, on) && ops[k].rank == ops[i].rank && ops[k].name == ops[i].name &&
                ops[k].place == ops[i].place) {
                sum += (double)ops[k].ps;
                n++;
            }
        ops[i].mean = n > 1 ? sum / n : 0;
    }
}

/* The mean of an operation's place times one of all ratios of its name in the order of operations: the number of the
 * stream of its rank for its place in the rank. */
static double time_of(uint32_t i, uint64_t seed)
{
    double ratios[MOST];
    uint32_t n = 0, at = 0;
    for (uint32_t k = 0; k < n_ops; k++) {
        if (ops[k].mean > 0 && ops[k].name == ops[i].name)
            ratios[n++] = (double)ops[k].ps / ops[k].mean;
        at += k < i && ops[k].rank == ops[i].rank;
    }
    return ops[i].mean * ratios[rlt_random_below(seed, ops[i].rank, BY_OPERATION, at, n)];
}

static void measured(void **state)
{
    static const char *const parts[] = {"", "gemm", "b", "copy"};
    static const char *const ons[] = {"compute", "host", "both"};
    rlt_topology *t = NULL;
    uint32_t others = 0, all = 0;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,0ns", NULL, &t, NULL), 0);
    for (uint32_t k = 0; k < 120; k++) {
        dice d = {.seed = 60 + k};
        char text[64];
        rlt_noise noise;
        rlt_error err = {0};
        rlt_replay *x = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        uint32_t on = below(&d, 3), part = draw(&d) ? k % 4 : 0;
        if (ops[n_ops - 1].kind == RLT_OP_COMPUTE && !part && on == 1)
            on = 2; /* something varies */
        snprintf(text, sizeof text, "measured:%s%s%son=%s", part ? "name=" : "", parts[part], part ? "," : "",
                 ons[on]);
        assert_int_equal(rlt_noise_parse(text, &noise, &err), 0);
        assert_int_equal(noise.on, on);
        find_means(parts[part], noise.on);
        rlt_program *p = build();
        o.topology = t;
        o.noise = &noise;
        o.n_noise = 1;
        o.seed = k;
        if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
            fail_msg("%s: %s: %s", text, err.where, err.what);
        for (uint32_t i = 0; i < n_ops; i++) {
            rlt_op_result r = rlt_replay_op(x, i);
            rlt_time took = r.end_ps - r.start_ps;
            double want = ops[i].mean > 0 && ops[i].ps ? time_of(i, k) : (double)ops[i].ps;
            if (fabs((double)took - want) > 0.501)
                fail_msg("case %u, %s: operation %u takes %lld ps, not %f", k, text, i, (long long)took,
                         want);
            others += took != ops[i].ps && ops[i].ps >= 1000;
            all += ops[i].mean > 0 && ops[i].ps >= 1000;
        }
        rlt_replay_free(x);
        rlt_program_free(p);
    }
    assert_true(others > all * 8 / 10); /* its own ratio is one of many */
    rlt_topology_free(t);
}

/* One step shows nothing; nor does a name that is not there. */
static void refused(void **state)
{
    static const char *const rows[][2] = {
        {"measured:name=gemm", "measured needs several recorded steps, but the workload has one"},
        {"measured:name=conv", "no operation that could vary has 'conv' in its name"},
        {"operation:cv=0.5,name=conv", "no operation that could vary has 'conv' in its name"},
    };
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,0ns", NULL, &t, NULL), 0);
    n_ranks = n_ops = 1;
    ops[0] = (drawn){0, 0, 0, 0, RLT_OP_COMPUTE, 1000, 0};
    rlt_program *p = build();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_noise noise;
        rlt_error err = {0};
        rlt_replay *x = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        assert_int_equal(rlt_noise_parse(rows[i][0], &noise, &err), 0);
        o.topology = t;
        o.noise = &noise;
        o.n_noise = 1;
        assert_int_equal(rlt_replay_create(p, &o, &x, &err), RLT_EUSAGE);
        assert_string_equal(err.where, "noise");
        assert_string_equal(err.what, rows[i][1]);
    }
    rlt_program_free(p);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
