/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What operators of random traces wait for, their gradients and the joints between pieces, against sets of
 * operations that are worked out one by one from the rules in trace.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"

enum { CASES = 3000, MAX_OPS = 28, STREAMS = 3, RESOURCES = STREAMS + 1, NONE = -1 };

typedef struct trial {
    rlt_trace_maker m;
    rlt_trace_node nodes[MAX_OPS];
    uint32_t order[MAX_OPS], last[RESOURCES], slot[RESOURCES], stamp[RESOURCES], n;
    /* The model, with sets of operations as bits: what each one hands to those that wait for it; edges by the
     * operation that they lead to; reductions for which work waits, and those for which an update waits. */
    uint32_t hands[MAX_OPS], into[MAX_OPS], held_up, of_update[MAX_OPS];
    int front[STREAMS], reached[STREAMS][STREAMS];
} trial;

/* *small: the bytes of the one collective that has few. */
static rlt_op_desc describe(rlt_builder *b, dice *d, const uint32_t *resources, bool recording,
                            uint64_t *small)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER};
    static const char *const names[] = {"gemm", "backward", "backward", "step", "forward"};
    const char *name = names[below(d, 5)];
    uint32_t what = below(d, recording ? 8 : 7);
    rlt_op_desc o = rlt_op_desc_init(what < 4    ? RLT_OP_COMPUTE
                                     : what == 4 ? RLT_OP_DELAY
                                     : what < 7  ? RLT_OP_COLLECTIVE
                                                 : RLT_OP_HOST,
                                     0);
    o.duration_ps = 1000 * (1 + (rlt_time)below(d, 5));
    o.step = below(d, 12) == 0;
    o.name = rlt_build_string(b, name, strlen(name));
    if (what < 4 && below(d, 6))
        o.resource = resources[below(d, STREAMS)];
    if (what == 7)
        o.resource = resources[STREAMS];
    if (o.kind == RLT_OP_COLLECTIVE) {
        const uint32_t self = 0;
        o.coll = kinds[below(d, 3)];
        o.group = rlt_build_group(b, "", &self, 1);
        o.bytes = below(d, 6) ? roll(d, UINT64_C(1) << 40) : below(d, 2) ? 0 : *small;
        *small = o.bytes == *small ? 0 : *small;
    }
    return o;
}

static rlt_program *draw(trial *x, dice *d)
{
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_error err = {0};
    uint32_t resources[RESOURCES], rank[MAX_OPS];
    uint64_t small = 1 + below(d, 3);
    bool recording = below(d, 2);
    x->n = 2 + below(d, MAX_OPS - 1);
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        char name[16];
        snprintf(name, sizeof name, "line %u", i);
        resources[i] = rlt_build_resource(b, 0, i < STREAMS ? RLT_RES_STREAM : RLT_RES_HOST, name);
        assert_int_equal(resources[i], i);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        rlt_op_desc o = describe(b, d, resources, recording, &small);
        assert_int_equal(rlt_build_op(b, &o), i);
        rank[i] = below(d, 4) ? i : below(d, MAX_OPS); /* who may wait for whom */
    }
    for (uint32_t i = 0; i < 2 * x->n; i++) {
        uint32_t a = below(d, x->n), c = below(d, x->n);
        if (rank[a] > rank[c])
            rlt_build_dep(b, a, c);
    }
    if (rlt_builder_finish(b, "drawn", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ops, x->n);
    return p;
}

/* ---- the model ---- */

static bool is_in(uint32_t set, uint32_t i)
{
    return set >> i & 1;
}

static bool works(const trial *x, uint32_t i)
{
    return x->nodes[i].role == RLT_TRACE_DEVICE && (x->m.updates || x->nodes[i].pass != RLT_OPERATOR_UPDATE);
}

static bool reduces(const trial *x, uint32_t i)
{
    const rlt_op *o = &x->m.p->ops[i];
    if (o->kind != RLT_OP_COLLECTIVE || o->step != x->m.step || x->m.updates)
        return false;
    rlt_coll_kind kind = x->m.p->comms[o->comm].kind;
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER;
}

/* The stream in whose order device work of a recording stands. */
static int line_of(const trial *x, uint32_t i)
{
    uint32_t r = x->m.p->ops[i].resource;
    return x->m.recording && x->nodes[i].role == RLT_TRACE_DEVICE && r != RLT_NONE ? (int)r : NONE;
}

/* Leaves the last one of each stream in a set. */
static uint32_t last_of_streams(const trial *x, uint32_t set)
{
    uint32_t left = set;
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < x->n; k++)
            if (is_in(set, i) && is_in(set, k) && line_of(x, i) != NONE && line_of(x, i) == line_of(x, k) &&
                x->nodes[i].place < x->nodes[k].place)
                left &= ~(1u << i);
    return left;
}

static uint32_t waits_for(const trial *x, uint32_t i)
{
    const rlt_op *o = &x->m.p->ops[i];
    uint32_t set = 0;
    for (uint32_t d = 0; d < o->n_deps; d++) {
        uint32_t on = x->m.p->deps[o->first_dep + d];
        if (x->m.p->ops[on].step == x->m.step)
            set |= works(x, on) ? 1u << on : x->hands[on];
    }
    if (works(x, i) && line_of(x, i) != NONE && x->front[line_of(x, i)] != NONE)
        set |= 1u << x->front[line_of(x, i)];
    return last_of_streams(x, set);
}

/* Edges into work. A stream that has waited for a place of another has waited for all before it. */
static void work_waits(trial *x, uint32_t i, uint32_t set)
{
    int own = line_of(x, i);
    for (uint32_t on = 0; on < x->n; on++) {
        int other = is_in(set, on) ? line_of(x, on) : NONE;
        if (!is_in(set, on))
            continue;
        if (reduces(x, on)) {
            x->held_up |= 1u << on;
            continue;
        }
        if (own != NONE && other != NONE && own != other) {
            if (x->reached[own][other] >= (int)x->nodes[on].place)
                continue;
            x->reached[own][other] = (int)x->nodes[on].place;
        }
        x->into[i] |= 1u << on;
    }
    if (own != NONE)
        x->front[own] = (int)i;
}

static void find_edges(trial *x)
{
    memset(x->hands, 0, sizeof x->hands);
    memset(x->into, 0, sizeof x->into);
    memset(x->of_update, 0, sizeof x->of_update);
    x->held_up = 0;
    for (uint32_t s = 0; s < STREAMS; s++) {
        x->front[s] = NONE;
        for (uint32_t other = 0; other < STREAMS; other++)
            x->reached[s][other] = NONE;
    }
    for (uint32_t k = 0; k < x->n; k++) {
        uint32_t i = x->order[k], set = waits_for(x, i);
        if (x->m.p->ops[i].step != x->m.step)
            continue;
        if (works(x, i)) {
            work_waits(x, i, set);
            continue;
        }
        for (uint32_t on = 0; on < x->n && x->nodes[i].role == RLT_TRACE_DEVICE; on++)
            if (is_in(set, on) && reduces(x, on)) { /* an update hides the reductions before it */
                x->of_update[i] |= 1u << on;
                set &= ~(1u << on);
            }
        x->hands[i] = set | (reduces(x, i) && !x->m.recording ? 1u << i : 0);
    }
}

/* ---- comparison ---- */

static void check_edges(const trial *x)
{
    uint32_t into[MAX_OPS] = {0};
    for (uint32_t e = 0; e < x->m.n_edges; e++) {
        uint32_t from = x->m.edges[e].from, to = x->m.edges[e].to;
        assert_true(from < x->n && to < x->n);
        assert_false(is_in(into[to], from)); /* once */
        into[to] |= 1u << from;
    }
    for (uint32_t i = 0; i < x->n; i++)
        if (into[i] != x->into[i])
            fail_msg("operation %u waits for %x, not for %x", i, into[i], x->into[i]);
}

/* Takes a gradient of so many bytes, or one more, off the list. Returns how many bytes more it has. */
static uint64_t take(rlt_trace_gradient *list, uint32_t *n, uint32_t producer, uint32_t update,
                     uint64_t bytes)
{
    for (uint32_t i = 0; i < *n; i++) {
        const rlt_trace_gradient g = list[i];
        if (g.producer == producer && g.update == update && (g.bytes == bytes || g.bytes == bytes + 1)) {
            list[i] = list[--*n];
            return g.bytes - bytes;
        }
    }
    if (bytes) /* one of no bytes is left out */
        fail_msg("no gradient of operation %u, updated by %u, of %llu bytes", producer, update,
                 (unsigned long long)bytes);
    return 0;
}

/* The operation of the update that alone waits for a reduction. */
static uint32_t update_of(const trial *x, uint32_t reduction)
{
    uint32_t n = 0, found = RLT_NONE;
    for (uint32_t i = 0; i < x->n; i++)
        if (is_in(x->of_update[i], reduction)) {
            n++;
            found = i;
        }
    return n == 1 ? found : RLT_NONE;
}

static uint32_t producers_of(const trial *x, uint32_t i)
{
    uint32_t set = 0, before = RLT_NONE, last = RLT_NONE;
    for (uint32_t on = 0; on < x->n; on++) {
        if (!works(x, on))
            continue;
        if (is_in(x->hands[i], on) && x->nodes[on].pass == RLT_OPERATOR_BACKWARD) {
            set |= 1u << on;
            last = last == RLT_NONE || x->nodes[on].place > x->nodes[last].place ? on : last;
        }
        if (x->nodes[on].place < x->nodes[i].place &&
            (before == RLT_NONE || x->nodes[on].place > x->nodes[before].place))
            before = on;
    }
    if (!x->m.recording)
        return set;
    if (!set && before != RLT_NONE && x->nodes[before].pass == RLT_OPERATOR_BACKWARD)
        return 1u << before; /* the work launched before it */
    return set ? 1u << last : 0;
}

static void check_gradients(const trial *x)
{
    uint32_t left = x->m.n_gradients;
    uint64_t other = 0, other_bytes = 0, sum = 0;
    rlt_trace_gradient *list = malloc((left + 1) * sizeof *list);
    assert_non_null(list);
    if (left)
        memcpy(list, x->m.gradients, left * sizeof *list);
    for (uint32_t i = 0; i < x->n; i++) {
        const rlt_op *o = &x->m.p->ops[i];
        if (o->kind != RLT_OP_COLLECTIVE || o->step != x->m.step)
            continue;
        uint64_t bytes = x->m.p->comms[o->comm].bytes;
        uint32_t set = reduces(x, i) ? producers_of(x, i) : 0, n = (uint32_t)__builtin_popcount(set);
        if (!set || !bytes || is_in(x->held_up, i)) {
            other++;
            other_bytes += bytes;
            continue;
        }
        uint64_t more = 0;
        for (uint32_t on = 0; on < x->n; on++)
            if (is_in(set, on))
                more += take(list, &left, on, update_of(x, i), bytes / n);
        assert_int_equal(more, bytes % n);
        sum += bytes;
    }
    assert_int_equal(x->m.bytes, sum);
    assert_int_equal(left, 0);
    assert_int_equal(x->m.other, other);
    assert_int_equal(x->m.other_bytes, other_bytes);
    free(list);
}

/* Marks what a set of operations reaches over edges, in either direction. */
static uint32_t piece_of(const uint32_t *into, uint32_t n, uint32_t set)
{
    for (uint32_t round = 0; round < n; round++)
        for (uint32_t i = 0; i < n; i++) {
            set |= is_in(set, i) ? into[i] : 0;
            set |= into[i] & set ? 1u << i : 0;
        }
    return set;
}

/* Each operator that no edges join to the one before it waits for it. */
static void check_joints(trial *x)
{
    uint32_t before = RLT_NONE, joined = 0;
    assert_int_equal(rlt__trace_join(&x->m), 0);
    for (uint32_t k = 0; k < x->n; k++) {
        uint32_t i = x->order[k];
        if (!works(x, i))
            continue;
        if (before != RLT_NONE && !is_in(piece_of(x->into, x->n, 1u << before), i)) {
            x->into[i] |= 1u << before;
            joined++;
        }
        before = i;
    }
    check_edges(x);
    assert_int_equal(x->m.joined, joined);
}

static void check(trial *x, uint32_t *gradients, uint32_t *joints)
{
    for (uint32_t r = 0; r < RESOURCES; r++)
        x->last[r] = x->slot[r] = x->stamp[r] = 77; /* anything */
    if (rlt__trace_step(&x->m, "t"))
        return;
    assert_int_equal(rlt__trace_order(&x->m), 0);
    rlt__trace_passes(&x->m);
    assert_int_equal(rlt__trace_edges(&x->m), 0);
    find_edges(x);
    check_edges(x);
    for (uint32_t i = 0; i < x->n; i++)
        assert_int_equal(reduces(x, i), x->nodes[i].role == RLT_TRACE_GRADIENT);
    assert_int_equal(rlt__trace_gradients(&x->m), 0);
    check_gradients(x);
    *gradients += x->m.n_gradients;
    if (x->m.n_gradients == 0) { /* updates are work like any other */
        x->m.updates = true;
        assert_int_equal(rlt__trace_edges(&x->m), 0);
        find_edges(x);
        check_edges(x);
    }
    check_joints(x);
    *joints += x->m.joined;
}

static void random_traces(void **state)
{
    static trial x;
    uint32_t gradients = 0, joints = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_graph_options options = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_error err = {0};
        rlt_program *p = draw(&x, &d);
        x.m = (rlt_trace_maker){.p = p,
                                .options = &options,
                                .err = &err,
                                .nodes = x.nodes,
                                .order = x.order,
                                .last = x.last,
                                .slot = x.slot,
                                .stamp = x.stamp};
        check(&x, &gradients, &joints);
        free(x.m.items);
        free(x.m.met);
        free(x.m.edges);
        free(x.m.gradients);
        rlt_map_free(&x.m.seen);
        rlt_program_free(p);
    }
    print_message("# %u gradients, %u joints\n", gradients, joints);
    assert_true(gradients > CASES / 2 && joints > CASES);
}

/* Gradients sum to 2^62 bytes at most. */
static void most_bytes(void **state)
{
    static const uint64_t half = UINT64_C(1) << 61;
    static trial x;
    (void)state;
    for (uint64_t more = 0; more < 2; more++) {
        rlt_builder *b;
        rlt_program *p = NULL;
        rlt_error err = {0};
        rlt_graph_options options = RLT_GRAPH_OPTIONS_DEFAULT;
        const uint32_t self = 0;
        assert_int_equal(rlt_builder_create(1, &b, &err), 0);
        rlt_op_desc work = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
        work.duration_ps = 1000;
        work.name = rlt_build_string(b, "backward", 8);
        assert_int_equal(rlt_build_op(b, &work), 0);
        for (uint32_t i = 1; i <= 2; i++) {
            rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, 0);
            o.coll = RLT_ALL_REDUCE;
            o.group = rlt_build_group(b, "", &self, 1);
            o.bytes = half + (i == 2 ? more : 0);
            o.name = rlt_build_string(b, "last", i == 2 ? 4 : 0);
            assert_int_equal(rlt_build_op(b, &o), i);
            rlt_build_dep(b, i, 0);
        }
        if (rlt_builder_finish(b, "large", &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        x.m = (rlt_trace_maker){.p = p,
                                .options = &options,
                                .err = &err,
                                .nodes = x.nodes,
                                .order = x.order,
                                .last = x.last,
                                .slot = x.slot,
                                .stamp = x.stamp};
        assert_int_equal(rlt__trace_step(&x.m, "t"), 0);
        assert_int_equal(rlt__trace_order(&x.m), 0);
        rlt__trace_passes(&x.m);
        assert_int_equal(rlt__trace_edges(&x.m), 0);
        assert_int_equal(rlt__trace_gradients(&x.m), more ? RLT_ERANGE : 0);
        assert_int_equal(x.m.bytes, more ? half : 2 * half);
        if (more)
            assert_string_equal(err.where, "last");
        free(x.m.items);
        free(x.m.met);
        free(x.m.edges);
        free(x.m.gradients);
        rlt_map_free(&x.m.seen);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces), cmocka_unit_test(most_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
