/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random programs: ranks that compute, work on hosts, wait, and communicate for recorded times, on streams, in
 * queues and free, with dependencies, speeds and delays. A test has a plain replay of its own.
 */
#ifndef RLT_TEST_SUPPORT_TRACES_RANDOM_PROGRAM_H
#define RLT_TEST_SUPPORT_TRACES_RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { RANKS = 4, RESOURCES = 3, OPS = 240, MOST_DEPS = 4, GROUPS = 3, COMMS = 60 };

typedef struct work {
    rlt_op_kind kind;
    uint32_t rank, resource, comm, peer; /* RLT_NONE: none */
    uint32_t deps[MOST_DEPS], n_deps;
    rlt_time duration, start, end, ready;
    uint64_t bytes; /* of communication; 0: of recorded time */
    rlt_purpose purpose;
    uint16_t step;
    bool begun, ended;
} work;

typedef struct plan {
    uint32_t n_ranks, n, n_comms, n_groups;
    rlt_resource_kind kinds[RANKS][RESOURCES];
    uint32_t members[GROUPS]; /* one bit a rank */
    work ops[OPS];
    uint32_t group_of[COMMS];
    rlt_time delays[RANKS];
    double compute, host, network, slow[RANKS];
    bool chained, crowded; /* communication in one order; operations share resources */
    uint32_t last[RANKS];  /* communication of each rank, from 1; 0: none */
} plan;

static inline uint32_t plan_add(plan *p, dice *d, rlt_op_kind kind, uint32_t rank, uint32_t comm)
{
    work *w = &p->ops[p->n];
    *w = (work){
        .kind = kind, .rank = rank, .comm = comm, .duration = (rlt_time)(1 + roll(d, 1000000)), .start = -1};
    w->resource = p->crowded && below(d, 5) ? below(d, RESOURCES) : RLT_NONE;
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

/* Draws a program and the speeds of its parts. */
static inline void plan_draw(plan *p, dice *d, bool crowded)
{
    static const double speeds[] = {1, 1, 2, 0.5, 4};
    static const rlt_op_kind works[] = {RLT_OP_COMPUTE, RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST,
                                        RLT_OP_DELAY};
    static const rlt_resource_kind kinds[] = {RLT_RES_STREAM, RLT_RES_HOST, RLT_RES_COPY, RLT_RES_ARRIVAL};
    *p = (plan){.n_ranks = 2 + below(d, RANKS - 1),
                .n_groups = GROUPS,
                .chained = !crowded || below(d, 8) > 0,
                .crowded = crowded};
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
            plan_add(p, d, works[below(d, 5)], below(d, p->n_ranks), RLT_NONE);
            continue;
        }
        if (below(d, 3) == 0) { /* a message */
            uint32_t from = below(d, p->n_ranks), to = (from + 1 + below(d, p->n_ranks - 1)) % p->n_ranks;
            p->ops[plan_add(p, d, RLT_OP_SEND, from, p->n_comms)].peer = to;
            p->ops[plan_add(p, d, RLT_OP_RECV, to, p->n_comms++)].peer = from;
            continue;
        }
        uint32_t g = below(d, GROUPS);
        p->group_of[p->n_comms] = g;
        for (uint32_t r = 0; r < p->n_ranks; r++)
            if (p->members[g] >> r & 1)
                plan_add(p, d, RLT_OP_COLLECTIVE, r, p->n_comms);
        p->n_comms++;
    }
}

static inline rlt_program *plan_build(const plan *p)
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
        o.timed = w->comm != RLT_NONE && !w->bytes;
        o.duration_ps = w->comm == RLT_NONE || o.timed ? w->duration : 0;
        o.bytes = w->bytes;
        o.tag = w->comm;
        o.purpose = w->purpose;
        o.step = w->step;
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

/* Options with the speeds and delays of a plan, which they borrow. */
static inline rlt_replay_options plan_options(const plan *p)
{
    rlt_replay_options o = rlt_replay_options_default();
    o.compute_scale = p->compute;
    o.host_scale = p->host;
    o.network_scale = p->network;
    o.rank_compute_scale = p->slow;
    o.rank_delay_ps = p->delays;
    return o;
}

#endif
