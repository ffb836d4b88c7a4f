/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of what a builder takes, from program.h; and joined programs, operation by operation beside their
 * parts (join.h): random programs, whose numbers move on by those of the parts before.
 */
#include "workload/program/program.h"

#include <stdio.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/random_program.h"
#include "workload/program/join.h"

static rlt_error err;

static rlt_builder *begin(void)
{
    rlt_builder *b = NULL;
    err = (rlt_error){0};
    assert_int_equal(rlt_builder_create(2, &b, NULL), 0);
    return b;
}

static rlt_op_desc named(rlt_builder *b, rlt_op_kind kind, rlt_time duration)
{
    rlt_op_desc d = rlt_op_desc_init(kind, 0);
    d.name = rlt_build_string(b, "x", 1);
    d.duration_ps = duration;
    return d;
}

static void refused(rlt_builder *b, int code, const char *where, const char *what)
{
    rlt_program *p = NULL;
    int rc = rlt_builder_finish(b, "test", &p, &err);
    if (rc != code || strcmp(err.where, where) != 0 || strcmp(err.what, what) != 0)
        fail_msg("%d: '%s': '%s', not '%s': '%s'", rc, err.where, err.what, where, what);
    assert_null(p);
}

static rlt_program *taken(rlt_builder *b)
{
    rlt_program *p = NULL;
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static void durations(void **state)
{
    static const struct {
        rlt_time ps;
        const char *what; /* NULL: taken */
    } rows[] = {{0, NULL},
                {RLT_TIME_MAX, NULL},
                {-1, "a duration of -1 ps: expected 0 to 26 days"},
                {RLT_TIME_MAX + 1, "a duration of 2305843009213693953 ps: expected 0 to 26 days"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_builder *b = begin();
        rlt_op_desc d = named(b, RLT_OP_HOST, rows[i].ps);
        d.recorded_ps = d.recorded_duration_ps = i % 2 ? -7 : 7;
        uint32_t op = rlt_build_op(b, &d);
        assert_int_equal(op, rows[i].what ? RLT_NONE : 0);
        if (rows[i].what) {
            refused(b, RLT_ERANGE, "rank 0: operation 'x'", rows[i].what);
            continue;
        }
        rlt_program *p = taken(b);
        assert_int_equal(p->ops[0].duration_ps, rows[i].ps);
        assert_int_equal(p->ops[0].recorded_ps, i % 2 ? -1 : 7);
        assert_int_equal(p->ops[0].recorded_duration_ps, i % 2 ? -1 : 7);
        rlt_program_free(p);
    }
}

/* A resource of the rank, one of another, and the first that does not exist. */
static void resources(void **state)
{
    (void)state;
    for (uint32_t resource = 0; resource < 3; resource++) {
        rlt_builder *b = begin();
        assert_int_equal(rlt_build_resource(b, 0, RLT_RES_STREAM, "own"), 0);
        assert_int_equal(rlt_build_resource(b, 1, RLT_RES_STREAM, "other"), 1);
        rlt_op_desc d = named(b, RLT_OP_COMPUTE, 1);
        d.resource = resource;
        assert_int_equal(rlt_build_op(b, &d), resource ? RLT_NONE : 0);
        if (resource)
            refused(b, RLT_EUSAGE, "rank 0: operation 'x'", "runs on a resource of another rank");
        else
            rlt_program_free(taken(b));
    }
}

static void dependencies(void **state)
{
    static const uint32_t rows[][2] = {{1, 0}, {0, 2}, {2, 0}, {0, 1}};
    static const char *const what[] = {
        NULL, "operation 0 depends on operation 2, but one of the two does not exist",
        "operation 2 depends on operation 0, but one of the two does not exist",
        "depends on an operation of another rank, rank 1"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        rlt_builder *b = begin();
        rlt_op_desc d = named(b, RLT_OP_COMPUTE, 1);
        assert_int_equal(rlt_build_op(b, &d), 0);
        d.rank = i == 3;
        assert_int_equal(rlt_build_op(b, &d), 1);
        rlt_build_dep(b, rows[i][0], rows[i][1]);
        assert_int_equal(rlt_build_failed(b), i > 0);
        if (i)
            refused(b, RLT_EUSAGE, i == 3 ? "rank 0: operation 'x'" : "", what[i]);
        else
            rlt_program_free(taken(b));
    }
}

static void groups(void **state)
{
    static const uint32_t ranks[] = {1, 0}, other[] = {1, 2}, few[] = {1};
    (void)state;
    rlt_builder *b = begin();
    assert_int_equal(rlt_build_group(b, "g", ranks, 2), 0);
    assert_int_equal(rlt_build_group(b, "g", ranks, 2), 0);
    assert_int_equal(rlt_build_group(b, "g", few, 1), RLT_NONE);
    refused(b, RLT_ESCHEMA, "", "group \"g\" has 2 ranks in one place and 1 in another");
    err = (rlt_error){0};
    assert_int_equal(rlt_builder_create(3, &b, NULL), 0);
    assert_int_equal(rlt_build_group(b, "g", ranks, 2), 0);
    assert_int_equal(rlt_build_group(b, "g", other, 2), RLT_NONE);
    refused(b, RLT_ESCHEMA, "", "group \"g\" has rank 0 as its member 1 in one place and rank 2 in another");
    for (uint32_t group = 0; group < 3; group++) { /* the last one, the first that does not exist, and none */
        b = begin();
        assert_int_equal(rlt_build_group(b, "g", ranks, 2), 0);
        rlt_op_desc d = named(b, RLT_OP_COLLECTIVE, 0);
        d.coll = RLT_ALL_REDUCE;
        d.bytes = 8;
        d.group = group < 2 ? group : RLT_NONE;
        assert_int_equal(rlt_build_op(b, &d), group ? RLT_NONE : 0);
        if (group) {
            refused(b, RLT_EUSAGE, "rank 0: operation 'x'", "a collective without a group");
            continue;
        }
        d.rank = 1;
        assert_int_equal(rlt_build_op(b, &d), 1);
        rlt_program_free(taken(b));
    }
}

/* A caller's failure is that of the program, as it is; the first one stays, and no failure is none. */
static void failures_of_callers(void **state)
{
    static const rlt_error none = {0},
                           mine = {.code = RLT_EMALFORMED, .where = "mine:7", .what = "no number"},
                           late = {.code = RLT_EIO, .where = "late", .what = "later"};
    (void)state;
    for (int order = 0; order < 3; order++) {
        rlt_builder *b = begin();
        rlt_build_fail(b, &none);
        assert_false(rlt_build_failed(b));
        if (order == 2)
            rlt_build_dep(b, 0, 1);
        if (order)
            rlt_build_fail(b, &mine);
        assert_int_equal(rlt_build_failed(b), order > 0);
        if (order == 1) {
            rlt_build_dep(b, 0, 1);
            rlt_build_fail(b, &late);
            refused(b, RLT_EMALFORMED, "mine:7", "no number");
        } else if (order == 2) {
            refused(b, RLT_EUSAGE, "",
                    "operation 0 depends on operation 1, but one of the two does not exist");
        } else {
            rlt_program_free(taken(b));
        }
    }
}

/* What waits for a cycle is not in it. Members that issue equally few or equally many collectives: the first counts. */
static void firsts(void **state)
{
    static const uint32_t issued[][3] = {{2, 1, 1}, {1, 1, 2}, {1, 2, 2}, {2, 2, 1}, {1, 2, 1}};
    static const uint32_t more[] = {0, 2, 1, 0, 1}, fewer[] = {1, 0, 0, 2, 0}, all[] = {0, 1, 2};
    (void)state;
    rlt_builder *b = begin();
    for (int i = 0; i < 4; i++) {
        rlt_op_desc d = named(b, RLT_OP_COMPUTE, 1);
        d.name = rlt_build_string(b, &"abcd"[i], 1);
        rlt_build_op(b, &d);
    }
    rlt_build_dep(b, 0, 1);
    rlt_build_dep(b, 1, 3);
    rlt_build_dep(b, 3, 2);
    rlt_build_dep(b, 2, 1);
    refused(b, RLT_ESCHEMA, "rank 0: operation 'b'",
            "operations wait for each other in a cycle: 'b' -> 'd' -> 'c' -> 'b'");
    for (size_t i = 0; i < sizeof issued / sizeof *issued; i++) {
        char where[60], what[160];
        err = (rlt_error){0};
        assert_int_equal(rlt_builder_create(3, &b, NULL), 0);
        uint32_t group = rlt_build_group(b, "g", all, 3);
        for (uint32_t r = 0; r < 3; r++)
            for (uint32_t k = 0; k < issued[i][r]; k++) {
                rlt_op_desc d = named(b, RLT_OP_COLLECTIVE, 0);
                d.rank = r;
                d.coll = RLT_ALL_REDUCE;
                d.group = group;
                d.bytes = 8;
                rlt_build_op(b, &d);
            }
        snprintf(where, sizeof where, "rank %u: operation 'x'", more[i]);
        snprintf(what, sizeof what,
                 "has no partner: rank %u issues 2 collectives on group \"g\", rank %u only 1", more[i],
                 fewer[i]);
        refused(b, RLT_ESCHEMA, where, what);
    }
}

/* Wrong calls for a communication of rank 0 among two ranks, each with the group of both. */
static void wrong_communications(void **state)
{
    static const uint64_t counts[2] = {1, 2};
    static const uint32_t both[2] = {0, 1};
    static const struct {
        rlt_op_kind kind;
        rlt_coll_kind coll;
        uint32_t root, peer;
        bool counted;
        int code;
        const char *what;
    } rows[] = {
        {RLT_OP_COLLECTIVE, RLT_SEND_RECV, 0, 1, false, RLT_EUSAGE, "no such collective: "},
        {RLT_OP_COLLECTIVE, RLT_COLL_KINDS, 0, 1, false, RLT_EUSAGE, "no such collective: "},
        {RLT_OP_COLLECTIVE, RLT_BROADCAST, 2, 1, false, RLT_ESCHEMA,
         "root is member 2, but the group has only 2 members"},
        {RLT_OP_COLLECTIVE, RLT_ALL_REDUCE, 0, 1, true, RLT_EUSAGE,
         "bytes per member are for all_to_all only"},
        {RLT_OP_SEND, RLT_SEND_RECV, 0, 2, false, RLT_ERANGE,
         "the other rank of the message is 2, but there are only 2 ranks"},
        {RLT_OP_RECV, RLT_SEND_RECV, 0, 0, false, RLT_ESCHEMA, "a message from a rank to itself"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char what[120];
        rlt_builder *b = begin();
        rlt_op_desc d = named(b, rows[i].kind, 0);
        d.group = rlt_build_group(b, "g", both, 2);
        d.coll = rows[i].coll;
        d.root = rows[i].root;
        d.peer = rows[i].peer;
        d.bytes = 8;
        d.send_counts = rows[i].counted ? counts : NULL;
        assert_int_equal(rlt_build_op(b, &d), RLT_NONE);
        int n = snprintf(what, sizeof what, "%s", rows[i].what);
        if (i < 2)
            snprintf(what + n, sizeof what - (size_t)n, "%d", (int)rows[i].coll);
        refused(b, rows[i].code, "rank 0: operation 'x'", what);
    }
    rlt_builder *b = begin();
    assert_int_equal(rlt_build_group(b, "g", both, 0), RLT_NONE);
    refused(b, RLT_ESCHEMA, "", "group \"g\" has no ranks");
}

/* Communication lasts as long as the network needs, unless it is timed; a barrier has no bytes. */
static void communication(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        rlt_builder *b = begin();
        rlt_op_desc d = named(b, RLT_OP_COLLECTIVE, 5);
        d.coll = RLT_BARRIER;
        d.timed = timed;
        d.bytes = timed ? 0 : 9;
        d.group = rlt_build_group(b, "", &d.rank, 1);
        (void)rlt_build_op(b, &d);
        rlt_program *p = taken(b);
        assert_int_equal(p->ops[0].duration_ps, timed ? 5 : 0);
        assert_int_equal(p->comms[0].bytes, 0);
        assert_int_equal(p->comms[0].timed, timed);
        rlt_program_free(p);
    }
}

/* An all-to-all in which nothing is sent has no bytes. */
static void nothing_to_send(void **state)
{
    static const uint64_t none[2] = {0, 0};
    static const uint32_t both[2] = {0, 1};
    rlt_builder *b = begin();
    rlt_op_desc d = named(b, RLT_OP_COLLECTIVE, 0);
    (void)state;
    d.coll = RLT_ALL_TO_ALL;
    d.send_counts = none;
    d.group = rlt_build_group(b, "", both, 2);
    for (d.rank = 0; d.rank < 2; d.rank++)
        (void)rlt_build_op(b, &d);
    rlt_program *p = taken(b);
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(p->comms[0].bytes, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(p->comms[0].counts[i], 0);
    rlt_program_free(p);
}

/* A receive without a send comes between a send and its receive, by rank: it is left out, with a note. */
static void unmatched_between(void **state)
{
    static const struct {
        rlt_op_kind kind;
        uint32_t rank, peer;
    } rows[] = {{RLT_OP_SEND, 0, 2}, {RLT_OP_RECV, 1, 0}, {RLT_OP_RECV, 2, 0}};
    rlt_builder *b = NULL;
    (void)state;
    err = (rlt_error){0};
    assert_int_equal(rlt_builder_create(3, &b, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_op_desc d = named(b, rows[i].kind, 0);
        d.rank = rows[i].rank;
        d.peer = rows[i].peer;
        d.bytes = 8;
        (void)rlt_build_op(b, &d);
    }
    rlt_program *p = taken(b);
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(p->n_ops, 3);
    assert_int_equal(p->ops[0].comm, 0);
    assert_int_equal(p->ops[1].comm, RLT_NONE);
    assert_int_equal(p->ops[2].comm, 0);
    assert_int_equal(p->n_notes, 1);
    assert_string_equal(p->notes[0].text, "receive from rank 0 at rank 1 with tag 0 has no send");
    rlt_program_free(p);
}

/* 4096 notes are kept, and their counts grow; a note has 511 bytes, which are printable. */
static void notes(void **state)
{
    char text[600];
    (void)state;
    rlt_builder *b = begin();
    memset(text, 'y', sizeof text);
    text[599] = '\0';
    text[3] = '\n';
    rlt_build_note(b, 3, "%s", text);
    for (int i = 1; i < 4100; i++)
        rlt_build_note(b, 1, "note %d", i);
    rlt_build_note(b, 5, "note %d", 4095);
    rlt_build_note(b, 5, "note %d", 4096);
    rlt_op_desc d = named(b, RLT_OP_COMPUTE, 1);
    (void)rlt_build_op(b, &d);
    rlt_program *p = taken(b);
    assert_int_equal(p->n_notes, 4096);
    assert_int_equal(strlen(p->notes[0].text), 511);
    assert_null(strchr(p->notes[0].text, '\n'));
    assert_int_equal(p->notes[0].count, 3);
    assert_string_equal(p->notes[4095].text, "note 4095");
    assert_int_equal(p->notes[4095].count, 6);
    assert_int_equal(p->notes[4094].count, 1);
    rlt_program_free(p);
}

/* ---- joined programs ---- */

typedef struct offsets {
    uint32_t ranks, ops, resources, groups, comms;
} offsets;

static void same_text(const rlt_program *a, uint32_t i, const rlt_program *b, uint32_t k)
{
    assert_int_equal(i == RLT_NONE, k == RLT_NONE);
    if (i != RLT_NONE)
        assert_string_equal(rlt_program_string(a, i), rlt_program_string(b, k));
}

static void compare_op(const rlt_program *all, const rlt_program *part, uint32_t i, const offsets *by)
{
    const rlt_op *x = &all->ops[by->ops + i], *y = &part->ops[i];
    assert_int_equal(x->duration_ps, y->duration_ps);
    assert_int_equal(x->recorded_ps, y->recorded_ps);
    assert_int_equal(x->recorded_duration_ps, y->recorded_duration_ps);
    assert_int_equal(x->rank, by->ranks + y->rank);
    assert_int_equal(x->resource, y->resource == RLT_NONE ? RLT_NONE : by->resources + y->resource);
    assert_int_equal(x->comm, y->comm == RLT_NONE ? RLT_NONE : by->comms + y->comm);
    assert_int_equal(x->member, y->member);
    assert_int_equal(x->step, y->step);
    assert_int_equal(x->kind, y->kind);
    assert_int_equal(x->purpose, y->purpose);
    assert_int_equal(x->n_deps, y->n_deps);
    for (uint32_t k = 0; k < y->n_deps; k++)
        assert_int_equal(all->deps[x->first_dep + k], by->ops + part->deps[y->first_dep + k]);
    same_text(all, x->name, part, y->name);
}

static void compare_rest(const rlt_program *all, const rlt_program *part, const offsets *by)
{
    for (uint32_t i = 0; i < part->n_resources; i++) {
        const rlt_resource *x = &all->resources[by->resources + i], *y = &part->resources[i];
        assert_int_equal(x->rank, by->ranks + y->rank);
        assert_int_equal(x->kind, y->kind);
        same_text(all, x->name, part, y->name);
    }
    for (uint32_t i = 0; i < part->n_groups; i++) {
        const uint32_t *x = &all->group_first[by->groups + i], *y = &part->group_first[i];
        assert_int_equal(x[1] - x[0], y[1] - y[0]);
        for (uint32_t k = 0; k < y[1] - y[0]; k++)
            assert_int_equal(all->group_ranks[x[0] + k], by->ranks + part->group_ranks[y[0] + k]);
    }
    for (uint32_t i = 0; i < part->n_comms; i++) {
        const rlt_comm *x = &all->comms[by->comms + i], *y = &part->comms[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->group, by->groups + y->group);
        assert_int_equal(x->root, y->root);
        assert_int_equal(x->sequence, y->sequence);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->timed, y->timed);
        for (uint32_t k = 0; k < part->group_first[y->group + 1] - part->group_first[y->group]; k++)
            assert_int_equal(all->comm_ops[x->first_op + k], by->ops + part->comm_ops[y->first_op + k]);
    }
    for (uint32_t r = 0; r < part->n_ranks; r++) {
        assert_int_equal(all->rank_first[by->ranks + r], by->ops + part->rank_first[r]);
        assert_int_equal(all->rank_start_ps[by->ranks + r], part->rank_start_ps[r]);
        assert_int_equal(all->rank_recorded_ps[by->ranks + r], part->rank_recorded_ps[r]);
    }
}

static void joined(void **state)
{
    plan *p = malloc(sizeof *p);
    (void)state;
    assert_non_null(p);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rlt_program *parts[3], *all = NULL;
        uint32_t n = 1 + (uint32_t)(seed % 3), first[4];
        offsets by = {0};
        for (uint32_t k = 0; k < n; k++) {
            dice d = {.seed = 10 * seed + k};
            plan_draw(p, &d, true);
            parts[k] = plan_build(p);
        }
        assert_int_equal(rlt_program_join((const rlt_program *const *)parts, n, &all, first, &err), 0);
        for (uint32_t k = 0; k < n; k++) {
            const rlt_program *one = parts[k];
            assert_int_equal(first[k], by.ranks);
            for (uint32_t i = 0; i < one->n_ops; i++)
                compare_op(all, one, i, &by);
            compare_rest(all, one, &by);
            by = (offsets){by.ranks + one->n_ranks, by.ops + one->n_ops, by.resources + one->n_resources,
                           by.groups + one->n_groups, by.comms + one->n_comms};
        }
        assert_int_equal(first[n], by.ranks);
        assert_int_equal(all->n_ranks, by.ranks);
        assert_int_equal(all->n_ops, by.ops);
        assert_int_equal(all->n_resources, by.resources);
        assert_int_equal(all->n_groups, by.groups);
        assert_int_equal(all->n_comms, by.comms);
        rlt_program_free(all);
        for (uint32_t k = 0; k < n; k++)
            rlt_program_free(parts[k]);
    }
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(resources),
        cmocka_unit_test(dependencies),
        cmocka_unit_test(groups),
        cmocka_unit_test(failures_of_callers),
        cmocka_unit_test(firsts),
        cmocka_unit_test(wrong_communications),
        cmocka_unit_test(nothing_to_send),
        cmocka_unit_test(unmatched_between),
        cmocka_unit_test(communication),
        cmocka_unit_test(notes),
        cmocka_unit_test(joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
