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
    refused(b, RLT_ERANGE, "", "rank 5");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_by_rank_and_keeps_order), cmocka_unit_test(names_a_cycle),
        cmocka_unit_test(survives_a_long_chain),         cmocka_unit_test(matches_collectives_by_order),
        cmocka_unit_test(refuses_members_that_disagree), cmocka_unit_test(refuses_bad_groups),
        cmocka_unit_test(assembles_all_to_all_counts),   cmocka_unit_test(matches_messages),
        cmocka_unit_test(keeps_the_first_failure),       cmocka_unit_test(keeps_resources_notes_starts),
        cmocka_unit_test(orders_many_messages),          cmocka_unit_test(dependencies_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
