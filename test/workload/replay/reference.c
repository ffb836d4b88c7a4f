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
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { CASES = 400, RANKS = 4, RESOURCES = 3, OPS = 240, MOST_DEPS = 4, GROUPS = 3, COMMS = 60 };

typedef struct work {
    rlt_op_kind kind;
    uint32_t rank, resource, comm, peer; /* RLT_NONE: none */
    uint32_t deps[MOST_DEPS], n_deps;
    rlt_time duration, start, end, ready;
    bool begun, ended;
} work;

typedef struct plan {
    uint32_t n_ranks, n, n_comms, n_groups;
    rlt_resource_kind kinds[RANKS][RESOURCES];
    uint32_t members[GROUPS]; /* one bit a rank */
    work ops[OPS];
    uint32_t group_of[COMMS], next_comm[RANKS][GROUPS];
    rlt_time delays[RANKS];
    double compute, host, network, slow[RANKS];
    bool chained;
    uint32_t last[RANKS]; /* communication of each rank, from 1; 0: none */
} plan;

/* ---- a random program ---- */

static uint32_t add(plan *p, dice *d, rlt_op_kind kind, uint32_t rank, uint32_t comm)
{
    work *w = &p->ops[p->n];
    *w = (work){
        .kind = kind, .rank = rank, .comm = comm, .duration = (rlt_time)(1 + roll(d, 1000000)), .start = -1};
    w->resource = below(d, 5) ? below(d, RESOURCES) : RLT_NONE;
    /* One behind the other, or members may wait for each other for ever. */
    if (comm != RLT_NONE && p->chained && p->last[rank])
        w->deps[w->n_deps++] = p->last[rank] - 1;
    if (comm != RLT_NONE)
        p->last[rank] = p->n + 1;
    for (uint32_t i = p->n; i-- > 0 && w->n_deps < MOST_DEPS;)
        if (p->ops[i].rank == rank && below(d, 6) == 0 && (!w->n_deps || w->deps[0] != i))
            w->deps[w->n_deps++] = i;
    return p->n++;
}

static void draw(plan *p, dice *d)
{
    static const double speeds[] = {1, 1, 2, 0.5, 4};
    static const rlt_op_kind works[] = {RLT_OP_COMPUTE, RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST,
                                        RLT_OP_DELAY};
    static const rlt_resource_kind kinds[] = {RLT_RES_STREAM, RLT_RES_HOST, RLT_RES_COPY, RLT_RES_ARRIVAL};
    *p = (plan){.n_ranks = 2 + below(d, RANKS - 1), .n_groups = GROUPS, .chained = below(d, 8) > 0};
    p->compute = speeds[below(d, 5)];
    p->host = speeds[below(d, 5)];
    p->network = speeds[below(d, 5)];
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        p->slow[r] = below(d, 3) ? 1 : 0.5;
        p->delays[r] = below(d, 2) ? (rlt_time)roll(d, 3000000) : 0;
        for (uint32_t k = 0; k < RESOURCES; k++)
            p->kinds[r][k] = k ? kinds[below(d, 4)] : RLT_RES_STREAM;
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t all = (1u << p->n_ranks) - 1;
        do
            p->members[g] = g ? 1 + below(d, all) : all;
        while (__builtin_popcount(p->members[g]) < 2);
    }
    while (p->n + RANKS < OPS && p->n_comms < COMMS) {
        if (below(d, 4)) {
            add(p, d, works[below(d, 5)], below(d, p->n_ranks), RLT_NONE);
            continue;
        }
        if (below(d, 3) == 0) { /* a message */
            uint32_t from = below(d, p->n_ranks), to = (from + 1 + below(d, p->n_ranks - 1)) % p->n_ranks;
            p->ops[add(p, d, RLT_OP_SEND, from, p->n_comms)].peer = to;
            p->ops[add(p, d, RLT_OP_RECV, to, p->n_comms++)].peer = from;
            continue;
        }
        uint32_t g = below(d, GROUPS);
        p->group_of[p->n_comms] = g;
        for (uint32_t r = 0; r < p->n_ranks; r++)
            if (p->members[g] >> r & 1)
                add(p, d, RLT_OP_COLLECTIVE, r, p->n_comms);
        p->n_comms++;
    }
}

static rlt_program *build(const plan *p)
{
    rlt_builder *b = NULL;
    rlt_program *out = NULL;
    rlt_error err = {0};
    static const char *const names[RESOURCES] = {"one", "two", "three"};
    uint32_t resources[RANKS][RESOURCES], groups[GROUPS], index[OPS];
    assert_int_equal(rlt_builder_create(p->n_ranks, &b, &err), 0);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        for (uint32_t k = 0; k < RESOURCES; k++)
            resources[r][k] = rlt_build_resource(b, r, p->kinds[r][k], names[k]);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t ranks[RANKS], n = 0;
        static const char *const labels[] = {"a", "b", "c"};
        for (uint32_t r = 0; r < p->n_ranks; r++)
            if (p->members[g] >> r & 1)
                ranks[n++] = r;
        groups[g] = rlt_build_group(b, labels[g], ranks, n);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        rlt_op_desc o = rlt_op_desc_init(w->kind, w->rank);
        o.resource = w->resource == RLT_NONE ? RLT_NONE : resources[w->rank][w->resource];
        o.duration_ps = w->duration;
        o.timed = w->comm != RLT_NONE;
        o.tag = w->comm;
        if (w->kind == RLT_OP_COLLECTIVE) {
            o.coll = RLT_ALL_REDUCE;
            o.group = groups[p->group_of[w->comm]];
        } else if (w->comm != RLT_NONE) {
            o.peer = w->peer;
        }
        index[i] = rlt_build_op(b, &o);
        for (uint32_t k = 0; k < w->n_deps; k++)
            rlt_build_dep(b, index[i], index[w->deps[k]]);
    }
    if (rlt_builder_finish(b, "test", &out, &err))
        fail_msg("%s: %s", err.where, err.what);
    return out;
}

/* ---- the reference ---- */

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
        assert_int_equal(k.compute_ps + k.exposed_comm_ps + k.host_ps + k.idle_ps, k.end_ps - k.start_ps);
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
        draw(p, &d);
        rlt_program *program = build(p);
        run_reference(p);
        bool whole = true;
        for (uint32_t i = 0; i < p->n; i++)
            whole = whole && p->ops[i].ended;
        assert_int_equal(rlt_placement_identity(t, p->n_ranks, &place, &err), 0);
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        o.placement = &place;
        o.compute_scale = p->compute;
        o.host_scale = p->host;
        o.network_scale = p->network;
        o.rank_compute_scale = p->slow;
        o.rank_delay_ps = p->delays;
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
