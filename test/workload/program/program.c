/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs: order, dependencies, cycles, matching, and every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"

static const uint32_t both[] = {0, 1};

static rlt_builder *builder(uint32_t ranks)
{
    rlt_builder *b = NULL;
    assert_int_equal(rlt_builder_create(ranks, &b, NULL), 0);
    return b;
}

static uint32_t named(rlt_builder *b, const char *name)
{
    return rlt_build_string(b, name, strlen(name));
}

static uint32_t compute(rlt_builder *b, uint32_t rank, const char *name, rlt_time duration)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, rank);
    d.name = named(b, name);
    d.duration_ps = duration;
    return rlt_build_op(b, &d);
}

static uint32_t collective(rlt_builder *b, uint32_t rank, const char *name, rlt_coll_kind kind,
                           uint32_t group, uint64_t bytes)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, rank);
    d.name = named(b, name);
    d.coll = kind;
    d.group = group;
    d.bytes = bytes;
    return rlt_build_op(b, &d);
}

static uint32_t message(rlt_builder *b, rlt_op_kind kind, uint32_t rank, uint32_t peer, uint32_t tag,
                        uint64_t bytes)
{
    rlt_op_desc d = rlt_op_desc_init(kind, rank);
    d.name = named(b, kind == RLT_OP_SEND ? "send" : "recv");
    d.peer = peer;
    d.tag = tag;
    d.bytes = bytes;
    return rlt_build_op(b, &d);
}

static rlt_program *finish(rlt_builder *b)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    int rc = rlt_builder_finish(b, "test", &p, &err);
    if (rc < 0)
        print_error("%s: %s\n", err.where, err.what);
    assert_int_equal(rc, 0);
    return p;
}

static void refused(rlt_builder *b, int code, const char *where, const char *what)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), code);
    assert_null(p);
    if (!strstr(err.where, where) || !strstr(err.what, what))
        fail_msg("got '%s: %s'", err.where, err.what);
}

static void sorts_by_rank_and_keeps_order(void **state)
{
    (void)state;
    rlt_builder *b = builder(3);
    uint32_t a = compute(b, 2, "a", 1), c = compute(b, 0, "c", 2), d = compute(b, 2, "d", 3),
             e = compute(b, 0, "e", 4);
    rlt_build_dep(b, a, d); /* forward: a was built first */
    rlt_build_dep(b, e, c);
    rlt_build_dep(b, e, c); /* a repeated dependency counts once */
    rlt_program *p = finish(b);
    assert_int_equal(p->n_ops, 4);
    const uint32_t first[] = {0, 2, 2, 4};
    assert_memory_equal(p->rank_first, first, sizeof first);
    const char *names[] = {"c", "e", "a", "d"};
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(rlt_program_string(p, p->ops[i].name), names[i]);
    assert_int_equal(p->n_deps, 2);
    assert_int_equal(p->ops[0].n_deps, 0);
    assert_int_equal(p->deps[p->ops[1].first_dep], 0);
    assert_int_equal(p->deps[p->ops[2].first_dep], 3);
    assert_int_equal(p->n_steps, 1);
    assert_true(sizeof(rlt_op) <= 56);
    rlt_program_free(p);
}

static void names_a_cycle(void **state)
{
    (void)state;
    rlt_builder *b = builder(2);
    uint32_t x = compute(b, 1, "x", 1), y = compute(b, 1, "y", 1), z = compute(b, 1, "z", 1),
             w = compute(b, 1, "w", 1);
    rlt_build_dep(b, y, x);
    rlt_build_dep(b, y, w);
    rlt_build_dep(b, w, z);
    rlt_build_dep(b, z, y);
    refused(b, RLT_ESCHEMA, "rank 1", "'y' -> 'w' -> 'z' -> 'y'");

    b = builder(1);
    x = compute(b, 0, "alone", 1);
    rlt_build_dep(b, x, x);
    refused(b, RLT_ESCHEMA, "rank 0", "'alone' -> 'alone'");
}

/* A chain of 200000 forward dependencies: no cycle, and no recursion to overflow a stack. */
static void survives_a_long_chain(void **state)
{
    (void)state;
    rlt_builder *b = builder(1);
    uint32_t last = compute(b, 0, "n", 1);
    for (uint32_t i = 1; i < 200000; i++) {
        uint32_t next = compute(b, 0, "n", 1);
        rlt_build_dep(b, last, next);
        last = next;
    }
    rlt_program *p = finish(b);
    assert_int_equal(p->n_deps, 199999);
    rlt_program_free(p);
}

static void matches_collectives_by_order(void **state)
{
    (void)state;
    rlt_builder *b = builder(3);
    const uint32_t some[] = {2, 0};
    uint32_t g = rlt_build_group(b, "tp", some, 2), h = rlt_build_group(b, "dp", some, 2);
    assert_int_not_equal(g, h);
    assert_int_equal(rlt_build_group(b, "tp", some, 2), g);
    collective(b, 0, "r0.first", RLT_ALL_REDUCE, g, 100);
    collective(b, 0, "r0.other", RLT_ALL_GATHER, h, 7);
    collective(b, 0, "r0.second", RLT_REDUCE_SCATTER, g, 200);
    collective(b, 2, "r2.other", RLT_ALL_GATHER, h, 7);
    collective(b, 2, "r2.first", RLT_ALL_REDUCE, g, 100);
    collective(b, 2, "r2.second", RLT_REDUCE_SCATTER, g, 200);
    rlt_program *p = finish(b);
    assert_int_equal(p->n_comms, 3);
    assert_int_equal(p->n_comm_ops, 6);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        const rlt_comm *c = &p->comms[op->comm];
        assert_int_equal(p->comm_ops[c->first_op + op->member], i);
        assert_int_equal(p->group_ranks[p->group_first[c->group] + op->member], op->rank);
        const char *name = rlt_program_string(p, op->name) + 3;
        rlt_coll_kind kind = !strcmp(name, "first")   ? RLT_ALL_REDUCE
                             : !strcmp(name, "other") ? RLT_ALL_GATHER
                                                      : RLT_REDUCE_SCATTER;
        assert_int_equal(c->kind, kind);
        assert_int_equal(c->bytes, kind == RLT_ALL_REDUCE ? 100 : kind == RLT_ALL_GATHER ? 7 : 200);
        assert_int_equal(c->sequence, !strcmp(name, "second"));
        assert_int_equal(op->member, op->rank == 2 ? 0 : 1);
    }
    rlt_program_free(p);
}

static void refuses_members_that_disagree(void **state)
{
    (void)state;
    rlt_builder *b = builder(2);
    uint32_t g = rlt_build_group(b, "0", both, 2);
    collective(b, 0, "a", RLT_ALL_REDUCE, g, 8);
    collective(b, 0, "b", RLT_ALL_REDUCE, g, 8);
    collective(b, 1, "c", RLT_ALL_REDUCE, g, 8);
    collective(b, 1, "d", RLT_ALL_GATHER, g, 8);
    refused(
        b, RLT_ESCHEMA, "rank 1: operation 'd'",
        "rank 1 issues all_gather as its collective 1 of group \"0\", but rank 0 issues all_reduce there ('b')");

    b = builder(2);
    g = rlt_build_group(b, "", both, 2);
    collective(b, 0, "a", RLT_ALL_REDUCE, g, 8);
    collective(b, 1, "c", RLT_ALL_REDUCE, g, 16);
    refused(b, RLT_ESCHEMA, "rank 1: operation 'c'", "16 bytes");

    b = builder(2);
    g = rlt_build_group(b, "0", both, 2);
    collective(b, 0, "a", RLT_ALL_REDUCE, g, 8);
    collective(b, 1, "b", RLT_ALL_REDUCE, g, 8);
    collective(b, 1, "extra", RLT_ALL_REDUCE, g, 8);
    refused(b, RLT_ESCHEMA, "rank 1: operation 'extra'",
            "rank 1 issues 2 collectives on group \"0\", rank 0 only 1");

    b = builder(2);
    g = rlt_build_group(b, "0", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.name = named(b, "bc");
        d.coll = RLT_BROADCAST;
        d.group = g;
        d.root = r;
        rlt_build_op(b, &d);
    }
    refused(b, RLT_ESCHEMA, "rank 1", "root 1");
}

static void refuses_bad_groups(void **state)
{
    (void)state;
    const uint32_t twice[] = {1, 1}, far[] = {0, 5}, swapped[] = {1, 0};
    rlt_builder *b = builder(2);
    assert_int_equal(rlt_build_group(b, "g", twice, 2), RLT_NONE);
    assert_true(rlt_build_failed(b));
    refused(b, RLT_ESCHEMA, "", "rank 1 twice");
    b = builder(2);
    rlt_build_group(b, "g", far, 2);
    refused(b, RLT_ERANGE, "", "names rank 5, but there are only 2 ranks");
    b = builder(1);
    rlt_build_group(b, "g", far, 2);
    refused(b, RLT_ERANGE, "", "names rank 5, but there is only 1 rank");
    b = builder(2);
    rlt_build_group(b, "g", both, 2);
    rlt_build_group(b, "g", swapped, 2);
    refused(b, RLT_ESCHEMA, "", "group \"g\"");
    b = builder(2);
    uint32_t g = rlt_build_group(b, "solo", both + 1, 1);
    collective(b, 0, "stranger", RLT_BARRIER, g, 0);
    refused(b, RLT_ESCHEMA, "stranger", "not a member");
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(0, &b, &err), RLT_ERANGE);
}

/* Rows {1,2} and even 10: member 0 sends 3 and receives 1 + 5; member 1 sends 10 and receives 2 + 5. */
static void assembles_all_to_all_counts(void **state)
{
    (void)state;
    rlt_builder *b = builder(2);
    uint32_t g = rlt_build_group(b, "", both, 2);
    const uint64_t row[] = {1, 2};
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, 0);
    d.coll = RLT_ALL_TO_ALL;
    d.group = g;
    d.bytes = 3;
    d.send_counts = row;
    rlt_build_op(b, &d);
    collective(b, 1, "even", RLT_ALL_TO_ALL, g, 10);
    rlt_program *p = finish(b);
    const uint64_t matrix[] = {1, 2, 5, 5};
    assert_non_null(p->comms[0].counts);
    assert_memory_equal(p->comms[0].counts, matrix, sizeof matrix);
    assert_int_equal(p->comms[0].bytes, 10);
    rlt_program_free(p);
}

static void matches_messages(void **state)
{
    (void)state;
    rlt_builder *b = builder(2);
    message(b, RLT_OP_RECV, 1, 0, 7, 64);
    uint32_t s0 = message(b, RLT_OP_SEND, 0, 1, 7, 64);
    uint32_t s1 = message(b, RLT_OP_SEND, 0, 1, 7, 65);
    message(b, RLT_OP_RECV, 1, 0, 7, 65);
    message(b, RLT_OP_SEND, 1, 0, 7, 9);
    (void)s0;
    (void)s1;
    rlt_program *p = finish(b);
    assert_int_equal(p->n_comms, 2);
    for (uint32_t c = 0; c < 2; c++) {
        const rlt_comm *comm = &p->comms[c];
        assert_int_equal(comm->kind, RLT_SEND_RECV);
        const rlt_op *send = &p->ops[p->comm_ops[comm->first_op]],
                     *recv = &p->ops[p->comm_ops[comm->first_op + 1]];
        assert_int_equal(send->kind, RLT_OP_SEND);
        assert_int_equal(recv->kind, RLT_OP_RECV);
        assert_int_equal(send->rank, 0);
        assert_int_equal(recv->rank, 1);
        assert_int_equal(comm->bytes, 64 + comm->sequence);
        assert_int_equal(p->group_ranks[p->group_first[comm->group]], 0);
        assert_int_equal(p->group_ranks[p->group_first[comm->group] + 1], 1);
    }
    assert_int_equal(p->ops[4].comm, RLT_NONE); /* the send from 1 to 0 */
    assert_int_equal(p->n_notes, 1);
    assert_non_null(strstr(p->notes[0].text, "rank 1 to rank 0"));
    rlt_program_free(p);

    b = builder(2);
    message(b, RLT_OP_SEND, 0, 1, 0, 64);
    message(b, RLT_OP_RECV, 1, 0, 0, 65);
    refused(b, RLT_ESCHEMA, "rank 1: operation 'recv'", "receives 65 bytes");
    b = builder(2);
    message(b, RLT_OP_SEND, 0, 0, 0, 64);
    refused(b, RLT_ESCHEMA, "rank 0", "itself");
}

static void keeps_the_first_failure(void **state)
{
    (void)state;
    rlt_builder *b = builder(2);
    assert_int_equal(compute(b, 9, "far", 1), RLT_NONE);
    assert_int_equal(compute(b, 0, "late", 1), RLT_NONE);
    refused(b, RLT_ERANGE, "", "rank 9");
    b = builder(2);
    uint32_t x = compute(b, 0, "x", 1), y = compute(b, 1, "y", 1);
    rlt_build_dep(b, x, y);
    refused(b, RLT_EUSAGE, "'x'", "rank 1");
    b = builder(1);
    compute(b, 0, "neg", -5);
    refused(b, RLT_ERANGE, "'neg'", "duration");
}

static void keeps_resources_notes_starts(void **state)
{
    (void)state;
    rlt_builder *b = builder(3);
    uint32_t r = rlt_build_resource(b, 1, RLT_RES_STREAM, "stream 7");
    assert_int_equal(rlt_build_resource(b, 1, RLT_RES_STREAM, "stream 7"), r);
    assert_int_not_equal(rlt_build_resource(b, 1, RLT_RES_COPY, "stream 7"), r);
    assert_int_not_equal(rlt_build_resource(b, 2, RLT_RES_STREAM, "stream 7"), r);
    rlt_build_note(b, 2, "ignored %s", "this");
    rlt_build_note(b, 3, "ignored %s", "this");
    rlt_build_rank_start(b, 1, 500);
    rlt_build_rank_start(b, 2, 700);
    rlt_build_rank_recorded(b, 2, 11);
    rlt_program *p = finish(b);
    assert_int_equal(p->n_resources, 3);
    assert_int_equal(p->notes[0].count, 5);
    assert_string_equal(p->notes[0].text, "ignored this");
    const rlt_time start[] = {0, 0, 200};
    assert_memory_equal(p->rank_start_ps, start, sizeof start);
    assert_int_equal(p->rank_recorded_ps[2], 11);
    assert_int_equal(p->rank_recorded_ps[0], -1);
    rlt_program_free(p);
    rlt_program_free(NULL);
    rlt_builder_free(NULL);
}

/* The same dependencies in the order of the operations, backwards, and out of order from the n-th on. */
static void dependencies_in_any_order(void **state)
{
    enum { OPS = 40, DEPS = 300 };
    uint32_t op[DEPS], on[DEPS], seed = 3;
    (void)state;
    for (uint32_t i = 0; i < DEPS; i++) { /* operations ascend; some have none, some have one twice */
        seed = seed * 1664525 + 1013904223;
        op[i] = 1 + i * (OPS - 1) / DEPS;
        on[i] = (seed >> 8) % op[i];
    }
    for (uint32_t ranks = 1; ranks <= 2; ranks++) {
        rlt_program *p[4];
        for (uint32_t way = 0; way < 4; way++) {
            rlt_builder *b = builder(ranks);
            for (uint32_t i = 0; i < OPS; i++)
                for (uint32_t r = ranks; r-- > 0;)
                    compute(b, r, "x", 1);
            for (uint32_t i = 0; i < DEPS; i++) {
                uint32_t k = way == 0 ? i : way == 1 ? DEPS - 1 - i : (i + (way - 1) * 97) % DEPS;
                for (uint32_t r = 0; r < ranks; r++)
                    rlt_build_dep(b, op[k] * ranks + r, on[k] * ranks + r);
            }
            p[way] = finish(b);
            assert_int_equal(p[way]->n_deps, p[0]->n_deps);
            assert_memory_equal(p[way]->deps, p[0]->deps, p[0]->n_deps * sizeof *p[0]->deps);
            assert_memory_equal(p[way]->ops, p[0]->ops, p[0]->n_ops * sizeof *p[0]->ops);
        }
        for (uint32_t i = 0, k = 0; i < OPS; i++) { /* against the list itself */
            const rlt_op *o = &p[0]->ops[i];
            for (uint32_t to = 0, seen = 0; to < OPS; to++, seen = 0) {
                for (k = 0; k < DEPS; k++)
                    seen |= op[k] == i && on[k] == to;
                for (k = 0; seen && k < o->n_deps && p[0]->deps[o->first_dep + k] != to; k++) {
                }
                assert_true(!seen || k < o->n_deps);
            }
        }
        for (uint32_t way = 0; way < 4; way++)
            rlt_program_free(p[way]);
    }
}

/* Sizes that are all different: a wrong match would be refused. */
static void orders_many_messages(void **state)
{
    enum { RANKS = 5000, MESSAGES = 3000 };
    static const uint32_t tags[] = {0, 1, 2047, 2048, 1 << 22, (1 << 22) + 1, UINT32_MAX - 1};
    uint32_t source[MESSAGES], destination[MESSAGES], tag[MESSAGES], seed = 7;
    (void)state;
    rlt_builder *b = builder(RANKS);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        seed = seed * 1664525 + 1013904223;
        source[i] = seed % 5 * 1237;
        destination[i] = (source[i] + 1 + (seed >> 8) % 3 * 2311) % RANKS;
        tag[i] = tags[(seed >> 16) % 7];
        for (rlt_op_kind kind = RLT_OP_SEND; kind <= RLT_OP_RECV; kind++) {
            rlt_op_desc d = rlt_op_desc_init(kind, kind == RLT_OP_SEND ? source[i] : destination[i]);
            d.peer = kind == RLT_OP_SEND ? destination[i] : source[i];
            d.tag = tag[i];
            d.bytes = i;
            d.recorded_ps = (rlt_time)i;
            rlt_build_op(b, &d);
        }
    }
    rlt_program *p = finish(b);
    assert_int_equal(p->n_comms, MESSAGES);
    for (uint32_t i = 1; i < MESSAGES; i++) {
        uint64_t x = p->comms[i - 1].bytes, y = p->comms[i].bytes;
        assert_int_equal(p->ops[p->comm_ops[p->comms[i].first_op]].recorded_ps, y);
        if (source[x] != source[y])
            assert_true(source[x] < source[y]);
        else if (destination[x] != destination[y])
            assert_true(destination[x] < destination[y]);
        else if (tag[x] != tag[y])
            assert_true(tag[x] < tag[y]);
        else
            assert_true(x < y && p->comms[i].sequence == p->comms[i - 1].sequence + 1);
    }
    rlt_program_free(p);
}

/* Members 0 to 3 issue 2, 1, 3 and 3 collectives: the first with most is compared with the one with least.
 * The first operation without a partner is the second of rank 2 on this group. */
static void names_the_first_without_a_partner(void **state)
{
    static const uint32_t all[] = {0, 1, 2, 3}, issued[] = {2, 1, 3, 3};
    static const char *const names[] = {"one", "two", "three"};
    (void)state;
    rlt_builder *b = builder(4);
    uint32_t other = rlt_build_group(b, "other", all, 4), g = rlt_build_group(b, "", all, 4);
    for (uint32_t r = 0; r < 4; r++) {
        compute(b, r, "work", 1);
        collective(b, r, "elsewhere", RLT_BARRIER, other, 0);
        for (uint32_t i = 0; i < issued[r]; i++)
            collective(b, r, names[i], RLT_ALL_REDUCE, g, 8);
    }
    refused(b, RLT_ESCHEMA, "rank 2: operation 'two'",
            "has no partner: rank 2 issues 3 collectives on the group of ranks 0, 1, 2, 3, rank 1 only 1");
}

/* Groups without a label are shown by their first eight ranks. */
static void shows_groups(void **state)
{
    static const uint32_t nine[] = {9, 1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const want[] = {
        "a collective on the group of ranks 9, 1, 2, 3, 4, 5, 6, 7, but rank 0 is not a member",
        "a collective on the group of ranks 9, 1, 2, 3, 4, 5, 6, 7, ... (9), but rank 0 is not a member"};
    (void)state;
    for (uint32_t n = 8; n <= 9; n++) {
        rlt_builder *b = builder(10);
        collective(b, 0, "x", RLT_BARRIER, rlt_build_group(b, "", nine, n), 0);
        refused(b, RLT_ESCHEMA, "rank 0: operation 'x'", want[n - 8]);
    }
    /* a group that ascends is searched: before its first rank, between two, and behind its last */
    static const uint32_t odd[] = {1, 3, 5};
    for (uint32_t r = 0; r <= 6; r += 2) {
        rlt_builder *b = builder(7);
        collective(b, r, "x", RLT_BARRIER, rlt_build_group(b, "odd", odd, 3), 0);
        refused(b, RLT_ESCHEMA, "operation 'x'", "a collective on group \"odd\", but rank");
    }
}

typedef struct wish {
    rlt_coll_kind kind;
    uint64_t bytes;
    uint32_t root;
    bool timed;
    uint16_t step;
} wish;

static rlt_builder *two_wishes(const wish *w)
{
    rlt_builder *b = builder(2);
    uint32_t g = rlt_build_group(b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.name = named(b, r ? "b" : "a");
        d.group = g;
        d.coll = w[r].kind;
        d.bytes = w[r].bytes;
        d.root = w[r].root;
        d.timed = w[r].timed;
        d.duration_ps = 5;
        d.step = w[r].step;
        rlt_build_op(b, &d);
    }
    return b;
}

static void members_disagree_in_one_thing(void **state)
{
    static const struct {
        wish w[2];
        const char *what;
    } cases[] = {
        {{{.kind = RLT_ALL_REDUCE, .bytes = 8}, {.kind = RLT_ALL_REDUCE, .bytes = 16}},
         "issues all_reduce of 16 bytes as its collective 0 of the group of ranks 0, 1, but rank 0 issues "
         "all_reduce of 8 bytes there ('a')"},
        {{{.kind = RLT_BARRIER, .timed = true}, {.kind = RLT_BARRIER}},
         "issues one with bytes as its collective 0 of the group of ranks 0, 1, but rank 0 issues one with a "
         "recorded time there"},
        {{{.kind = RLT_BARRIER}, {.kind = RLT_BARRIER, .timed = true}},
         "issues one with a recorded time as its collective 0 of the group of ranks 0, 1, but rank 0 issues "
         "one with bytes there"},
        {{{.kind = RLT_REDUCE, .bytes = 8, .root = 1}, {.kind = RLT_REDUCE, .bytes = 8}},
         "issues one with root 0 as its collective 0 of the group of ranks 0, 1, but rank 0 issues one with "
         "root 1 there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(two_wishes(cases[i].w), RLT_ESCHEMA, "rank 1: operation 'b'", cases[i].what);
}

/* A scatter has the bytes of its root, a gather the sum of its shares, which are a request over the members.
 * The step is the latest; only a rooted collective has a root; a barrier has no bytes. */
static void takes_the_request_of_its_members(void **state)
{
    static const struct {
        wish w[2];
        uint64_t bytes, shares[2];
        uint32_t root, step;
    } cases[] = {
        {{{RLT_SCATTER, 5, 1, false, 3}, {RLT_SCATTER, 77, 1, false, 2}}, 77, {0, 0}, 1, 3},
        {{{RLT_SCATTER, 5, 0, false, 2}, {RLT_SCATTER, 77, 0, false, 3}}, 5, {0, 0}, 0, 3},
        {{{RLT_GATHER, 62, 1, false, 0}, {RLT_GATHER, 200, 1, false, 0}}, 131, {31, 100}, 1, 0},
        {{{RLT_GATHER, 62, 1, false, 0}, {RLT_GATHER, 62, 1, false, 0}}, 62, {0, 0}, 1, 0},
        {{{RLT_ALL_REDUCE, 9, 1, false, 0}, {RLT_ALL_REDUCE, 9, 0, false, 0}}, 9, {0, 0}, 0, 0},
        {{{RLT_BARRIER, 9, 0, false, 0}, {RLT_BARRIER, 4, 0, false, 0}}, 0, {0, 0}, 0, 0},
        {{{RLT_ALL_REDUCE, 0, 0, true, 1}, {RLT_ALL_REDUCE, 0, 0, true, 1}}, 0, {0, 0}, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_program *p = finish(two_wishes(cases[i].w));
        const rlt_comm *c = p->comms;
        assert_int_equal(c->kind, cases[i].w[0].kind);
        assert_int_equal(c->bytes, cases[i].bytes);
        assert_int_equal(c->root, cases[i].root);
        assert_int_equal(c->step, cases[i].step);
        assert_int_equal(c->timed, cases[i].w[0].timed);
        assert_int_equal(p->ops[0].duration_ps, c->timed ? 5 : 0);
        assert_int_equal(c->counts != NULL, cases[i].shares[0] != 0);
        if (c->counts)
            assert_memory_equal(c->counts, cases[i].shares, sizeof cases[i].shares);
        rlt_program_free(p);
    }
}

static rlt_builder *exchange(const uint64_t rows[2][2])
{
    rlt_builder *b = builder(2);
    uint32_t g = rlt_build_group(b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.name = named(b, "x");
        d.coll = RLT_ALL_TO_ALL;
        d.group = g;
        d.send_counts = rows[r];
        rlt_build_op(b, &d);
    }
    return b;
}

/* The bytes of an all-to-all are the largest buffer; no buffer may have more than 2^63 - 1 bytes. */
static void bounds_all_to_alls(void **state)
{
    static const struct {
        uint64_t rows[2][2];
        uint64_t bytes; /* 0: refused */
        const char *where;
    } cases[] = {
        {{{0, 9}, {0, 9}}, 18, ""},
        {{{9, 0}, {9, 0}}, 18, ""},
        {{{4, 7}, {1, 2}}, 11, ""},
        {{{1, 2}, {4, 7}}, 11, ""},
        {{{INT64_MAX, 0}, {0, 0}}, INT64_MAX, ""},
        {{{INT64_MAX - 1, 0}, {1, 0}}, INT64_MAX, ""},
        {{{1, INT64_MAX - 1}, {0, 0}}, INT64_MAX, ""},
        {{{0, 0}, {(uint64_t)INT64_MAX + 1, 0}}, 0, "rank 1: operation 'x'"},
        {{{INT64_MAX, 0}, {1, 0}}, 0, "rank 1: operation 'x'"},
        {{{INT64_MAX, 1}, {0, 0}}, 0, "rank 0: operation 'x'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_builder *b = exchange(cases[i].rows);
        if (!cases[i].bytes) {
            refused(b, RLT_ERANGE, cases[i].where, "more than 2^63 bytes in one all-to-all");
            continue;
        }
        rlt_program *p = finish(b);
        assert_int_equal(p->comms[0].bytes, cases[i].bytes);
        rlt_program_free(p);
    }
}

/* 16385 members need 16385^2 counts, more than 2^28. A member without a row sends equal shares; the first
 * take the remainder: 11 = 4 + 4 + 3. */
static void rows_of_large_and_uneven_groups(void **state)
{
    enum { MANY = 16385 };
    static const uint64_t want[] = {1, 2, 3, 4, 4, 3, 0, 0, 0};
    (void)state;
    for (uint32_t n = 3; n <= MANY; n += MANY - 3) {
        uint32_t *ranks = malloc(n * sizeof *ranks);
        uint64_t *row = calloc(n, sizeof *row);
        assert_true(ranks && row);
        for (uint32_t r = 0; r < n; r++)
            ranks[r] = r;
        memcpy(row, want, 3 * sizeof *row);
        rlt_builder *b = builder(n);
        uint32_t g = rlt_build_group(b, "", ranks, n);
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, 0);
        d.coll = RLT_ALL_TO_ALL;
        d.group = g;
        d.send_counts = row;
        rlt_build_op(b, &d);
        for (uint32_t r = 1; r < n; r++)
            collective(b, r, "even", RLT_ALL_TO_ALL, g, r == 1 ? 11 : 0);
        if (n == MANY) {
            refused(b, RLT_ERANGE, "", "need more than 268435456 counts");
        } else {
            rlt_program *p = finish(b);
            assert_memory_equal(p->comms[0].counts, want, sizeof want);
            rlt_program_free(p);
        }
        free(ranks);
        free(row);
    }
}

/* Messages in one direction share a group; each (source, destination, tag) counts from 0. */
static void numbers_messages(void **state)
{
    static const struct {
        uint32_t source, tag, sequence, bytes;
    } want[] = {{0, 1, 0, 1}, {0, 1, 1, 2}, {0, 2, 0, 3}, {0, 5, 0, 4}, {0, 5, 1, 5}, {1, 5, 0, 6}};
    (void)state;
    rlt_builder *b = builder(2);
    for (size_t i = 0; i < 6; i++)
        for (rlt_op_kind kind = RLT_OP_SEND; kind <= RLT_OP_RECV; kind++) {
            rlt_op_desc d = rlt_op_desc_init(kind, kind == RLT_OP_SEND ? want[i].source : !want[i].source);
            d.peer = !d.rank;
            d.tag = want[i].tag;
            d.bytes = want[i].bytes;
            d.step = kind == RLT_OP_SEND ? 2 : 3;
            rlt_build_op(b, &d);
        }
    message(b, RLT_OP_SEND, 0, 1, 1, 9);
    message(b, RLT_OP_RECV, 1, 0, 4, 9);
    message(b, RLT_OP_RECV, 1, 0, 4, 9);
    message(b, RLT_OP_RECV, 0, 1, 6, 9);
    rlt_program *p = finish(b);
    assert_int_equal(p->n_comms, 6);
    assert_int_equal(p->n_comm_ops, 12);
    assert_int_equal(p->n_groups, 2);
    for (uint32_t i = 0; i < 6; i++) {
        const rlt_comm *c = &p->comms[i];
        assert_int_equal(c->bytes, want[i].bytes);
        assert_int_equal(c->sequence, want[i].sequence);
        assert_int_equal(c->step, 2);
        assert_int_equal(c->first_op, 2 * i);
        assert_int_equal(p->group_ranks[p->group_first[c->group]], want[i].source);
        for (uint32_t m = 0; m < 2; m++) {
            const rlt_op *op = &p->ops[p->comm_ops[c->first_op + m]];
            assert_int_equal(op->comm, i);
            assert_int_equal(op->member, m);
            assert_int_equal(op->rank, m ? !want[i].source : want[i].source);
        }
    }
    static const struct {
        uint64_t count;
        const char *text;
    } notes[] = {{1, "send from rank 0 to rank 1 with tag 1 has no receive"},
                 {2, "receive from rank 0 at rank 1 with tag 4 has no send"},
                 {1, "receive from rank 1 at rank 0 with tag 6 has no send"}};
    assert_int_equal(p->n_notes, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(p->notes[i].count, notes[i].count);
        assert_string_equal(p->notes[i].text, notes[i].text);
    }
    rlt_program_free(p);
}

/* Both sides of a message record its time, or none does. */
static void times_of_messages(void **state)
{
    static const char *const want[] = {
        "", "rank 0 records the time of the message, but rank 1 only the bytes",
        "rank 1 records the time of the message, but rank 0 only the bytes", ""};
    (void)state;
    for (uint32_t timed = 0; timed < 4; timed++) {
        rlt_builder *b = builder(2);
        for (uint32_t r = 0; r < 2; r++) {
            rlt_op_desc d = rlt_op_desc_init(r ? RLT_OP_RECV : RLT_OP_SEND, r);
            d.name = named(b, r ? "recv" : "send");
            d.peer = !r;
            d.timed = timed >> r & 1;
            d.duration_ps = 7;
            rlt_build_op(b, &d);
        }
        if (want[timed][0]) {
            refused(b, RLT_ESCHEMA, "rank 1: operation 'recv'", want[timed]);
            continue;
        }
        rlt_program *p = finish(b);
        assert_int_equal(p->comms[0].timed, timed == 3);
        assert_int_equal(p->ops[0].duration_ps, timed == 3 ? 7 : 0);
        rlt_program_free(p);
    }
    rlt_builder *b = builder(2);
    message(b, RLT_OP_SEND, 0, 1, 0, 64);
    message(b, RLT_OP_RECV, 1, 0, 0, 65);
    refused(b, RLT_ESCHEMA, "rank 1: operation 'recv'", "receives 65 bytes, but rank 0 sends 64 ('send')");
}

/* A cycle of seven is shown whole, one of eight by its first six. Whoever wants no error gets none, and an
 * error that is there stays. */
static void long_cycles(void **state)
{
    static const char *const want[] = {"cycle: 'a' -> 'b' -> 'c' -> 'd' -> 'e' -> 'f' -> 'g' -> 'a'",
                                       "cycle: 'a' -> 'b' -> 'c' -> 'd' -> 'e' -> 'f' -> ... (8 in all)"};
    (void)state;
    for (uint32_t n = 7; n <= 8; n++)
        for (int way = 0; way < 3; way++) {
            rlt_builder *b = builder(1);
            for (uint32_t i = 0; i < n; i++)
                compute(b, 0, (char[]){(char)('a' + i), 0}, 1);
            for (uint32_t i = 0; i < n; i++)
                rlt_build_dep(b, i, (i + 1) % n);
            rlt_program *p = NULL;
            rlt_error err = {.code = RLT_EIO, .what = "mine"};
            if (way == 0) {
                refused(b, RLT_ESCHEMA, "rank 0: operation 'a'", want[n - 7]);
                continue;
            }
            assert_int_equal(rlt_builder_finish(b, "test", &p, way == 1 ? NULL : &err), RLT_ESCHEMA);
            assert_string_equal(err.what, "mine");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_by_rank_and_keeps_order),
        cmocka_unit_test(long_cycles),
        cmocka_unit_test(names_a_cycle),
        cmocka_unit_test(survives_a_long_chain),
        cmocka_unit_test(matches_collectives_by_order),
        cmocka_unit_test(refuses_members_that_disagree),
        cmocka_unit_test(refuses_bad_groups),
        cmocka_unit_test(assembles_all_to_all_counts),
        cmocka_unit_test(matches_messages),
        cmocka_unit_test(keeps_the_first_failure),
        cmocka_unit_test(keeps_resources_notes_starts),
        cmocka_unit_test(orders_many_messages),
        cmocka_unit_test(dependencies_in_any_order),
        cmocka_unit_test(names_the_first_without_a_partner),
        cmocka_unit_test(shows_groups),
        cmocka_unit_test(members_disagree_in_one_thing),
        cmocka_unit_test(takes_the_request_of_its_members),
        cmocka_unit_test(bounds_all_to_alls),
        cmocka_unit_test(rows_of_large_and_uneven_groups),
        cmocka_unit_test(numbers_messages),
        cmocka_unit_test(times_of_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
