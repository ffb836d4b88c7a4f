/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Axes of a layout on dimensions of a topology. Pinned: ranks that differ in one axis are on accelerators that
 * differ in its dimension only, by the product of the sizes of the axes named before it there. Chosen: the order
 * that is fastest of all orders, each run by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/run_words.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

#define SHAPE "model=transformer:layers=8,hidden=256,heads=8,sequence=128,vocabulary=1000"
#define MODEL SHAPE " accelerator=h100-sxm "
#define CUBE  "topology=switch:4@100GB/s,300ns*ring:2@50GB/s,1us*switch:4@10GB/s,2us "

static uint32_t axis_of(const char *name)
{
    uint32_t a = 0;
    while (strcmp(rlt_axis_name((rlt_axis)a), name) != 0)
        a++;
    return a;
}

static void pinned(void **state)
{
    static const struct {
        const char *words;
        uint32_t tp[2], cp[2], dp[2], pp[2]; /* size, and accelerators from one rank to the next */
    } rows[] = {
        {"layout=tp=4,dp=2,pp=4 map=tp=0,dp=1,pp=2", {4, 1}, {1, 0}, {2, 4}, {4, 8}},
        {"layout=tp=4,pp=2 map=tp=2,pp=1,dp=0", {4, 8}, {1, 0}, {4, 1}, {2, 4}},
        {"layout=tp=2,cp=2,pp=2 map=tp=0,cp=0,pp=1,dp=2", {2, 1}, {2, 2}, {4, 8}, {2, 4}},
        {"layout=tp=2,cp=2,pp=2 map=cp=0,tp=0,pp=1,dp=2", {2, 2}, {2, 1}, {4, 8}, {2, 4}},
        {"layout=tp=2,pp=2 map=pp=2,tp=0,dp=2", {2, 1}, {1, 0}, {2, 16}, {2, 8}},
        {"layout=tp=2,pp=2 map=dp=2,tp=0,pp=2", {2, 1}, {1, 0}, {2, 8}, {2, 16}},
        {"layout=tp=2,pp=2 map=tp=1,pp=0", {2, 4}, {1, 0}, {1, 0}, {2, 1}},
        {"layout=dp=3 map=dp=2", {1, 0}, {1, 0}, {3, 8}, {1, 0}},
    };
    /* an order behind the model gives way to the map */
    static const char *const models[] = {MODEL, "accelerator=h100-sxm " SHAPE ",order=auto"};
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
        const size_t row = i / 2;
        char words[400];
        asked a;
        rlt_error err;
        uint32_t want[RLT_AXES_OF_LAYOUT][2] = {{0}};
        memcpy(want[axis_of("tp")], rows[row].tp, sizeof rows[row].tp);
        memcpy(want[axis_of("cp")], rows[row].cp, sizeof rows[row].cp);
        memcpy(want[axis_of("dp")], rows[row].dp, sizeof rows[row].dp);
        memcpy(want[axis_of("pp")], rows[row].pp, sizeof rows[row].pp);
        snprintf(words, sizeof words, CUBE "%s train=batch=48 any-memory %s", models[i % 2], rows[row].words);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        const rlt_training *t = &a.run.training;
        assert_false(t->order_auto);
        assert_int_equal(a.run.mapping.n, 0);
        const rlt_placement *p = &a.run.setup.placement;
        uint32_t n = 1, axes = 0;
        for (uint32_t x = 0; x < RLT_AXES_OF_LAYOUT; x++) {
            axes |= 1u << t->order[x];
            assert_int_equal(t->size[x], want[x][0]);
            n *= t->size[x];
        }
        assert_int_equal(axes, (1u << RLT_AXES_OF_LAYOUT) - 1);
        assert_int_equal(rlt_training_ranks(t), n);
        assert_int_equal(p->n, n);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t at[RLT_AXES_OF_LAYOUT], accelerator = 0;
            rlt_training_place(t, r, at);
            for (uint32_t x = 0; x < RLT_AXES_OF_LAYOUT; x++)
                accelerator += at[x] * want[x][1];
            assert_int_equal(rlt_placed(p, r), accelerator);
        }
        done(&a);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *words, *what;
    } rows[] = {
        {"layout=tp=2,pp=2 map=tp=3", "has dimensions 0 to 2, not 3"},
        {"layout=tp=2,pp=2 map=tp=x", "tp"},
        {"layout=tp=2,pp=2 map=ep=0", "ep"},
        {"layout=tp=2,pp=2 map=tp=0,tp=1", "tp"},
        {"layout=tp=2,pp=2 map=tp=0,dp=2", "has no dimension: expected one for each axis above 1"},
        {"layout=tp=2,pp=2 map=pp=1,dp=2", "tp: has no dimension: expected one for each axis above 1"},
        {"layout=tp=8,pp=2 map=tp=0,pp=1,dp=2", "tp 8 does not fit dimension 0 of size 4"},
        {"layout=tp=2,dp=8 map=tp=1,dp=0", "dp 8 does not fit dimension 0 of size 4"},
        {"layout=tp=2,dp=3 map=tp=0,dp=0", "dp 3 does not fit the rest of dimension 0 (size 4): 2 are left"},
        {"layout=tp=4,pp=2 map=tp=0,pp=0,dp=2",
         "pp 2 does not fit the rest of dimension 0 (size 4): 1 are left"},
        {"layout=tp=2,pp=3 map=tp=0,pp=0,dp=2",
         "pp 3 does not fit the rest of dimension 0 (size 4): 2 are left"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[300], all[1600];
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, CUBE MODEL "train=batch=48 any-memory %s", rows[i].words);
        int rc = go(&a, words, &err);
        snprintf(all, sizeof all, "%s: %s", err.where, err.what);
        if (rc != RLT_EUSAGE || err.code != RLT_EUSAGE || strncmp(all, "--map", 5) != 0 ||
            !strstr(all, rows[i].what))
            fail_msg("%s: %d: %s", words, rc, all);
        done(&a);
    }
}

static rlt_time time_in(const char *words, const char *order)
{
    char all[400];
    asked a;
    rlt_error err;
    snprintf(all, sizeof all, "%s,order=%s", words, order);
    if (go(&a, all, &err))
        fail_msg("%s: %s: %s", all, err.where, err.what);
    rlt_time time = rlt_replay_time(a.run.replay);
    done(&a);
    return time;
}

/* Every order by itself; those that differ in an axis of size 1 only take the same time. */
static void chosen(void **state)
{
    static const char *const words[] = {
        CUBE MODEL "any-memory train=batch=16 layout=tp=2,dp=4,pp=4",
        CUBE MODEL "any-memory train=batch=32,zero=1 layout=tp=4,dp=8",
        "topology=ring:2@10GB/s,2us*switch:4@100GB/s,300ns " MODEL
        "any-memory train=batch=8 layout=tp=4,pp=2",
    };
    static const char *const axes[] = {"tp", "cp", "dp", "pp"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        asked a;
        rlt_error err;
        char all[400], order[16];
        rlt_time least = RLT_TIME_MAX, first = 0;
        snprintf(all, sizeof all, "%s,order=auto", words[i]);
        if (go(&a, all, &err))
            fail_msg("%s: %s: %s", all, err.where, err.what);
        const rlt_mapping *m = &a.run.mapping;
        for (uint32_t code = 0; code < 256; code++) {
            uint32_t at[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
            if ((1u << at[0] | 1u << at[1] | 1u << at[2] | 1u << at[3]) != 15)
                continue;
            snprintf(order, sizeof order, "%s-%s-%s-%s", axes[at[0]], axes[at[1]], axes[at[2]], axes[at[3]]);
            rlt_time time = time_in(words[i], order);
            least = time < least ? time : least;
            for (uint32_t k = 0; k < m->n; k++) {
                bool same = true;
                for (uint32_t x = 0; x < 4; x++)
                    same = same && m->tried[k].order[x] == axis_of(axes[at[x]]);
                first += same;
                assert_true(!same || m->tried[k].time_ps == time);
            }
        }
        assert_int_equal(first, m->n); /* each of the tried ones was found */
        assert_int_equal(m->n, i == 0 ? 6 : 2);
        assert_int_equal(m->tried[0].time_ps, least);
        assert_int_equal(rlt_replay_time(a.run.replay), least);
        assert_memory_equal(a.run.training.order, m->tried[0].order, sizeof m->tried[0].order);
        for (uint32_t k = 1; k < m->n; k++)
            assert_true(m->tried[k - 1].time_ps <= m->tried[k].time_ps);
        assert_false(m->folded);
        done(&a);
    }
}

/* On one switch many orders take the same time: the first of a sequence that begins with the default order wins. */
static void ties(void **state)
{
    static const char *const words[] = {"layout=tp=2,dp=2,pp=2", "layout=tp=4,dp=2", "layout=cp=2,pp=4",
                                        "layout=dp=8"};
    uint32_t equal = 0;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        asked a;
        rlt_error err;
        char all[400];
        snprintf(all, sizeof all,
                 "topology=switch:8@20GB/s,1us " MODEL "any-memory train=batch=16 %s,order=auto", words[i]);
        if (go(&a, all, &err))
            fail_msg("%s: %s: %s", all, err.where, err.what);
        const rlt_mapping *m = &a.run.mapping;
        for (uint32_t k = 1; k < m->n; k++) {
            const rlt_tried_order *x = &m->tried[k - 1], *y = &m->tried[k];
            uint32_t at = 0;
            while (at < RLT_AXES_OF_LAYOUT - 1 && x->order[at] == y->order[at])
                at++;
            assert_true(x->time_ps < y->time_ps || (x->time_ps == y->time_ps && x->order[at] < y->order[at]));
            equal += x->time_ps == y->time_ps;
        }
        assert_memory_equal(a.run.training.order, m->tried[0].order, sizeof m->tried[0].order);
        done(&a);
        for (int k = 0; k < 3; k++) { /* a folded run tries folded orders */
            snprintf(all, sizeof all,
                     "topology=switch:8@20GB/s,1us " MODEL "any-memory train=batch=16 %s,order=auto%s",
                     words[i],
                     k == 0   ? ""
                     : k == 1 ? " fold"
                              : " fold-stages");
            if (go(&a, all, &err))
                fail_msg("%s: %s: %s", all, err.where, err.what);
            assert_int_equal(a.run.mapping.folded, k > 0);
            done(&a);
        }
    }
    assert_true(equal > 0);
}

/* Orders are compared by the time of one iteration, however many are run. */
static void iterations(void **state)
{
    static const char *const words[] = {
        CUBE MODEL "any-memory train=batch=16,order=auto layout=tp=2,dp=4,pp=4",
        CUBE MODEL "any-memory train=batch=16,order=auto,steps=3 layout=tp=2,dp=4,pp=4"};
    asked a[2];
    rlt_error err = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        if (go(&a[i], words[i], &err))
            fail_msg("%s: %s: %s", words[i], err.where, err.what);
    assert_int_equal(a[0].run.mapping.n, a[1].run.mapping.n);
    for (uint32_t k = 0; k < a[0].run.mapping.n; k++)
        assert_int_equal(a[0].run.mapping.tried[k].time_ps, a[1].run.mapping.tried[k].time_ps);
    assert_true(rlt_replay_time(a[1].run.replay) > 2 * rlt_replay_time(a[0].run.replay));
    done(&a[0]);
    done(&a[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(iterations), cmocka_unit_test(pinned),
                                       cmocka_unit_test(refused), cmocka_unit_test(chosen),
                                       cmocka_unit_test(ties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
