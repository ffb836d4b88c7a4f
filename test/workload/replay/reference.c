/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays against a plain one, written from workload/program/program.h. Random programs compute, work on hosts,
 * wait, and communicate for recorded times, on streams, in queues and free. Every operation starts and ends at
 * the same picosecond. The times of a rank add up to its span, and the critical path to the run.
 */
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/random_program.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { CASES = 400 };

static rlt_time scaled(const plan *p, const work *w)
{
    double speed = w->kind == RLT_OP_COMPUTE || w->kind == RLT_OP_MEMORY ? p->compute * p->slow[w->rank]
                   : w->kind == RLT_OP_HOST                              ? p->host
                   : w->comm != RLT_NONE                                 ? p->network
                                                                         : 1;
    return (rlt_time)((double)w->duration / speed + 0.5);
}

static bool is_ready(const plan *p, const work *w, rlt_time now)
{
    for (uint32_t k = 0; k < w->n_deps; k++)
        if (!p->ops[w->deps[k]].ended)
            return false;
    return now >= p->delays[w->rank];
}

/* The operation that a free resource takes: the first one built, or the first one ready. */
static uint32_t next_of(const plan *p, uint32_t rank, uint32_t resource)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        if (w->rank != rank || w->resource != resource)
            continue;
        if (w->begun && !w->ended)
            return RLT_NONE;
        if (w->begun || w->ready < 0)
            continue;
        if (best == RLT_NONE ||
            (p->kinds[rank][resource] == RLT_RES_ARRIVAL && w->ready < p->ops[best].ready))
            best = i;
    }
    return best;
}

/* A communication ends a time after all are there. */
static void meet(plan *p, uint32_t comm, rlt_time now)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->ops[i].comm == comm && !p->ops[i].begun)
            return;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->ops[i].comm == comm)
            p->ops[i].end = now + scaled(p, &p->ops[i]);
}

static void begin(plan *p, uint32_t i, rlt_time now)
{
    work *w = &p->ops[i];
    w->begun = true;
    w->start = now;
    if (w->comm == RLT_NONE)
        w->end = now + scaled(p, w);
    else
        meet(p, w->comm, now);
}

static void run_reference(plan *p)
{
    rlt_time now = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        p->ops[i].end = RLT_TIME_MAX;
        p->ops[i].ready = -1;
    }
    for (;;) {
        for (uint32_t i = 0; i < p->n; i++)
            p->ops[i].ended = p->ops[i].ended || p->ops[i].end <= now;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->ops[i].ready < 0 && is_ready(p, &p->ops[i], now))
                p->ops[i].ready = now;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->ops[i].resource == RLT_NONE && p->ops[i].ready == now && !p->ops[i].begun)
                begin(p, i, now);
        for (uint32_t r = 0; r < p->n_ranks; r++)
            for (uint32_t k = 0; k < RESOURCES; k++) {
                uint32_t i = next_of(p, r, k);
                if (i != RLT_NONE)
                    begin(p, i, now);
            }
        rlt_time then = RLT_TIME_MAX;
        for (uint32_t i = 0; i < p->n; i++)
            if (!p->ops[i].ended && p->ops[i].end > now && p->ops[i].end < then)
                then = p->ops[i].end;
        for (uint32_t r = 0; r < p->n_ranks; r++)
            if (p->delays[r] > now && p->delays[r] < then)
                then = p->delays[r];
        if (then == RLT_TIME_MAX)
            return;
        now = then;
    }
}

/* ---- comparison ---- */

/* Of each rank, at every instant: the first that applies of compute, communication (with waiting), host, nothing. */
static void account(const plan *p, uint32_t rank, rlt_time end, rlt_time spent[4])
{
    memset(spent, 0, 4 * sizeof *spent);
    for (rlt_time now = p->delays[rank]; now < end;) {
        rlt_time then = end;
        int state = 3;
        for (uint32_t i = 0; i < p->n; i++) {
            const work *w = &p->ops[i];
            int is = w->kind == RLT_OP_COMPUTE || w->kind == RLT_OP_MEMORY ? 0
                     : w->comm != RLT_NONE                                 ? 1
                     : w->kind == RLT_OP_HOST                              ? 2
                                                                           : 3;
            if (w->rank != rank)
                continue;
            if (w->start <= now && now < w->end && is < state)
                state = is;
            if (w->start > now && w->start < then)
                then = w->start;
            if (w->end > now && w->end < then)
                then = w->end;
        }
        spent[state] += then - now;
        now = then;
    }
}

/* From a rank's arrivals until all members were there, and from then on. */
static void communicate(const plan *p, uint32_t rank, rlt_time *wait, rlt_time *transfer)
{
    *wait = *transfer = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        rlt_time there = w->start;
        if (w->rank != rank || w->comm == RLT_NONE)
            continue;
        for (uint32_t k = 0; k < p->n; k++)
            if (p->ops[k].comm == w->comm && p->ops[k].start > there)
                there = p->ops[k].start;
        *wait += there - w->start;
        *transfer += w->end - there;
    }
}

static void assert_same(const plan *p, const rlt_program *program, const rlt_replay *x, uint64_t seed)
{
    rlt_time end = 0;
    uint32_t at[RANKS];
    for (uint32_t r = 0; r < p->n_ranks; r++)
        at[r] = program->rank_first[r];
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        rlt_op_result o = rlt_replay_op(x, at[w->rank]++);
        if (o.start_ps != w->start || o.end_ps != w->end)
            fail_msg(
                "case %llu, operation %u of rank %u, kind %d: %lld to %lld ps, the reference says %lld to %lld",
                (unsigned long long)seed, i, w->rank, w->kind, (long long)o.start_ps, (long long)o.end_ps,
                (long long)w->start, (long long)w->end);
        end = w->end > end ? w->end : end;
    }
    assert_int_equal(rlt_replay_time(x), end);
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        rlt_rank_result k = rlt_replay_rank(x, r);
        rlt_time last = 0;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->ops[i].rank == r && p->ops[i].end > last)
                last = p->ops[i].end;
        assert_int_equal(k.end_ps, last);
        rlt_time spent[4];
        account(p, r, last, spent);
        assert_int_equal(k.start_ps, p->delays[r]);
        assert_int_equal(k.compute_ps, spent[0]);
        assert_int_equal(k.exposed_comm_ps, spent[1]);
        assert_int_equal(k.host_ps, spent[2]);
        assert_int_equal(k.idle_ps, spent[3]);
        rlt_time wait, transfer;
        communicate(p, r, &wait, &transfer);
        assert_int_equal(k.comm_wait_ps, wait);
        assert_int_equal(k.comm_transfer_ps, transfer);
    }
}

/* Stretches of the critical path touch, from the end to 0, and lie within their operations. */
static void assert_path(const rlt_replay *x)
{
    rlt_path_item *items = NULL;
    uint32_t n;
    rlt_time at = rlt_replay_time(x);
    assert_int_equal(rlt_replay_critical_path(x, &items, &n, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(items[i].end_ps, at);
        assert_true(items[i].begin_ps < at);
        if (items[i].kind != RLT_PATH_START) {
            rlt_op_result o = rlt_replay_op(x, items[i].op);
            assert_true(o.start_ps <= items[i].begin_ps && items[i].end_ps <= o.end_ps);
        }
        at = items[i].begin_ps;
    }
    assert_int_equal(at, 0);
    free(items);
}

static void random_programs_take_the_time_of_the_reference(void **state)
{
    plan *p = malloc(sizeof *p);
    rlt_topology *t = NULL;
    uint32_t stalled = 0;
    (void)state;
    assert_non_null(p);
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,500ns", NULL, &t, NULL), 0);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        rlt_replay *x = NULL;
        rlt_placement place;
        rlt_error err = {0};
        plan_draw(p, &d, true);
        rlt_program *program = plan_build(p);
        run_reference(p);
        bool whole = true;
        for (uint32_t i = 0; i < p->n; i++)
            whole = whole && p->ops[i].ended;
        assert_int_equal(rlt_placement_identity(t, p->n_ranks, &place, &err), 0);
        rlt_replay_options o = plan_options(p);
        o.topology = t;
        o.placement = &place;
        if (rlt_replay_create(program, &o, &x, &err))
            fail_msg("%s: %s", err.where, err.what);
        int rc = rlt_replay_run(x, &err);
        assert_int_equal(rc, whole ? 0 : RLT_ESTALL);
        if (whole) {
            assert_same(p, program, x, seed);
            assert_path(x);
        }
        stalled += !whole;
        rlt_replay_free(x);
        rlt_program_free(program);
        rlt_placement_free(&place);
    }
    print_message("# %u programs: %u stall\n", CASES, stalled);
    assert_true(stalled < CASES / 2);
    rlt_topology_free(t);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_take_the_time_of_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
