/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random programs joined into one: every rank, operation, dependency, resource, group, communication and note
 * of each part, behind those of the parts before. Sums beyond the limits are refused.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/join.h"
#include "workload/program/program.h"

enum { CASES = 300, PARTS = 4, RANKS = 4, LINES = 2 };

/* Resources and groups of a program that is built. */
typedef struct parts {
    uint32_t n_ranks, lines[RANKS][LINES], all, some, n_some, last[RANKS];
} parts;

static const char *name(dice *d)
{
    static const char *const names[] = {"", "gemm", "copy", "sum", "a step"};
    return names[below(d, 5)];
}

static void add(rlt_builder *b, dice *d, parts *x, rlt_op_desc o)
{
    const char *text = name(d);
    if (*text)
        o.name = rlt_build_string(b, text, strlen(text));
    if (below(d, 2))
        o.resource = x->lines[o.rank][below(d, LINES)];
    o.step = (uint16_t)below(d, 3);
    o.recorded_ps = (rlt_time)below(d, 1000) - 1;
    uint32_t op = rlt_build_op(b, &o);
    if (x->last[o.rank] != RLT_NONE && below(d, 2))
        rlt_build_dep(b, op, x->last[o.rank]);
    x->last[o.rank] = op;
}

static void add_collective(rlt_builder *b, dice *d, parts *x)
{
    const bool whole = below(d, 2), unequal = below(d, 3) == 0;
    const uint64_t bytes = roll(d, 10000);
    const uint32_t root = below(d, whole ? x->n_ranks : x->n_some);
    for (uint32_t r = 0; r < (whole ? x->n_ranks : x->n_some); r++) {
        uint64_t counts[RANKS], sum = 0;
        rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        for (uint32_t k = 0; k < RANKS; k++)
            counts[k] = below(d, 100);
        for (uint32_t k = 0; k < (whole ? x->n_ranks : x->n_some); k++)
            sum += counts[k];
        o.coll = unequal ? RLT_ALL_TO_ALL : RLT_BROADCAST;
        o.group = whole ? x->all : x->some;
        o.root = unequal ? 0 : root;
        o.bytes = unequal ? sum : bytes;
        o.send_counts = unequal ? counts : NULL;
        add(b, d, x, o);
    }
}

static void add_message(rlt_builder *b, dice *d, parts *x)
{
    uint32_t from = below(d, x->n_ranks), to = below(d, x->n_ranks);
    rlt_op_desc send = rlt_op_desc_init(RLT_OP_SEND, from), receive = rlt_op_desc_init(RLT_OP_RECV, to);
    if (from == to)
        return;
    send.bytes = receive.bytes = below(d, 2) ? 0 : roll(d, 5000);
    send.timed = receive.timed = send.bytes == 0;
    send.duration_ps = receive.duration_ps = send.timed ? 1 + (rlt_time)roll(d, 500) : 0;
    send.peer = to;
    receive.peer = from;
    add(b, d, x, send);
    add(b, d, x, receive);
}

static rlt_program *draw(dice *d)
{
    static const uint32_t ranks[RANKS] = {0, 1, 2, 3};
    static const rlt_op_kind works[] = {RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST, RLT_OP_DELAY};
    parts x = {.n_ranks = 1 + below(d, RANKS)};
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(x.n_ranks, &b, &err), 0);
    for (uint32_t r = 0; r < x.n_ranks; r++) {
        x.last[r] = RLT_NONE;
        for (uint32_t k = 0; k < LINES; k++)
            x.lines[r][k] = rlt_build_resource(b, r, k ? RLT_RES_STREAM : RLT_RES_HOST, name(d));
        rlt_build_rank_start(b, r, r ? (rlt_time)below(d, 90) : 0);
        rlt_build_rank_recorded(b, r, (rlt_time)below(d, 90) - 1);
    }
    x.n_some = 1 + below(d, x.n_ranks);
    if (x.n_ranks > 1) {
        x.all = rlt_build_group(b, below(d, 2) ? "all" : "everyone", ranks, x.n_ranks);
        x.some = rlt_build_group(b, "some", ranks, x.n_some);
    }
    for (uint32_t n = below(d, 30); n > 0; n--) {
        uint32_t what = below(d, x.n_ranks > 1 ? 6 : 4);
        if (what < 4) {
            rlt_op_desc o = rlt_op_desc_init(works[what], below(d, x.n_ranks));
            o.duration_ps = (rlt_time)roll(d, 1000);
            add(b, d, &x, o);
        } else if (what == 4) {
            add_collective(b, d, &x);
        } else {
            add_message(b, d, &x);
        }
    }
    for (uint32_t n = below(d, 3); n > 0; n--)
        rlt_build_note(b, 1 + n, "note %u", n);
    rlt_build_hash(b, roll(d, 1000000));
    if (rlt_builder_finish(b, below(d, 2) ? "one" : "other", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* ---- comparison ---- */

/* What the parts before have. */
typedef struct before {
    uint32_t ranks, ops, deps, resources, groups, members, comms, comm_ops, notes, steps;
} before;

static uint32_t members_of(const rlt_program *p)
{
    return p->n_groups ? p->group_first[p->n_groups] : 0;
}

static void same_name(const rlt_program *p, uint32_t a, const rlt_program *q, uint32_t b)
{
    assert_int_equal(a == RLT_NONE, b == RLT_NONE);
    if (a != RLT_NONE)
        assert_string_equal(rlt_program_string(p, a), rlt_program_string(q, b));
}

/* An index of a part, behind those of the parts before. */
static void behind(uint32_t joined, uint32_t part, uint32_t offset)
{
    assert_int_equal(joined, part == RLT_NONE ? RLT_NONE : part + offset);
}

static void check_ops(const rlt_program *p, const rlt_program *all, const before *at)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *x = &p->ops[i], *y = &all->ops[at->ops + i];
        assert_int_equal(x->duration_ps, y->duration_ps);
        assert_int_equal(x->recorded_ps, y->recorded_ps);
        assert_int_equal(x->recorded_duration_ps, y->recorded_duration_ps);
        behind(y->rank, x->rank, at->ranks);
        behind(y->resource, x->resource, at->resources);
        behind(y->comm, x->comm, at->comms);
        assert_int_equal(x->n_deps, y->n_deps);
        assert_int_equal(x->member, y->member);
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->purpose, y->purpose);
        same_name(p, x->name, all, y->name);
        for (uint32_t k = 0; k < x->n_deps; k++)
            behind(all->deps[y->first_dep + k], p->deps[x->first_dep + k], at->ops);
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        behind(all->rank_first[at->ranks + r], p->rank_first[r], at->ops);
        behind(all->rank_first[at->ranks + r + 1], p->rank_first[r + 1], at->ops);
        assert_int_equal(all->rank_start_ps[at->ranks + r], p->rank_start_ps[r]);
        assert_int_equal(all->rank_recorded_ps[at->ranks + r], p->rank_recorded_ps[r]);
    }
    for (uint32_t i = 0; i < p->n_resources; i++) {
        const rlt_resource *x = &p->resources[i], *y = &all->resources[at->resources + i];
        behind(y->rank, x->rank, at->ranks);
        assert_int_equal(x->kind, y->kind);
        same_name(p, x->name, all, y->name);
    }
}

static void check_comms(const rlt_program *p, const rlt_program *all, const before *at)
{
    for (uint32_t g = 0; g < p->n_groups; g++) {
        behind(all->group_first[at->groups + g], p->group_first[g], at->members);
        behind(all->group_first[at->groups + g + 1], p->group_first[g + 1], at->members);
        same_name(p, p->group_names[g], all, all->group_names[at->groups + g]);
    }
    for (uint32_t i = 0; i < members_of(p); i++)
        behind(all->group_ranks[at->members + i], p->group_ranks[i], at->ranks);
    for (uint32_t c = 0; c < p->n_comms; c++) {
        const rlt_comm *x = &p->comms[c], *y = &all->comms[at->comms + c];
        uint32_t n = p->group_first[x->group + 1] - p->group_first[x->group];
        assert_int_equal(x->kind, y->kind);
        behind(y->group, x->group, at->groups);
        behind(y->first_op, x->first_op, at->comm_ops);
        assert_int_equal(x->root, y->root);
        assert_int_equal(x->sequence, y->sequence);
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->timed, y->timed);
        assert_int_equal(x->counts == NULL, y->counts == NULL);
        if (x->counts)
            assert_true(x->counts != y->counts &&
                        memcmp(x->counts, y->counts, n * n * sizeof *x->counts) == 0);
    }
    for (uint32_t i = 0; i < p->n_comm_ops; i++)
        behind(all->comm_ops[at->comm_ops + i], p->comm_ops[i], at->ops);
    for (uint32_t i = 0; i < p->n_notes; i++) {
        assert_string_equal(p->notes[i].text, all->notes[at->notes + i].text);
        assert_int_equal(p->notes[i].count, all->notes[at->notes + i].count);
    }
}

static void count(before *at, const rlt_program *p)
{
    at->ranks += p->n_ranks;
    at->ops += p->n_ops;
    at->deps += p->n_deps;
    at->resources += p->n_resources;
    at->groups += p->n_groups;
    at->members += members_of(p);
    at->comms += p->n_comms;
    at->comm_ops += p->n_comm_ops;
    at->notes += p->n_notes;
    at->steps = p->n_steps > at->steps ? p->n_steps : at->steps;
}

static void random_programs(void **state)
{
    uint64_t hashes = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_program *list[PARTS], *all = NULL, *other = NULL;
        rlt_error err = {0};
        uint32_t first[PARTS + 1], n = 1 + below(&d, PARTS);
        before at = {0};
        for (uint32_t i = 0; i < n; i++)
            list[i] = draw(&d);
        const rlt_program *const *in = (const rlt_program *const *)list;
        assert_int_equal(rlt_program_join(in, n, &all, first, &err), 0);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(first[i], at.ranks);
            check_ops(list[i], all, &at);
            check_comms(list[i], all, &at);
            count(&at, list[i]);
        }
        assert_int_equal(first[n], at.ranks);
        const before sums = {all->n_ranks,    all->n_ops,   all->n_deps,     all->n_resources, all->n_groups,
                             members_of(all), all->n_comms, all->n_comm_ops, all->n_notes,     all->n_steps};
        assert_memory_equal(&sums, &at, sizeof at);
        assert_string_equal(all->reader, list[0]->reader);
        assert_int_equal(all->n_layers, 0);
        assert_int_equal(rlt_program_join(in + (n > 1), n - (n > 1), &other, first, &err), 0);
        hashes += n > 1 && other->hash == all->hash;
        rlt_program_free(other);
        rlt_program_free(all);
        for (uint32_t i = 0; i < n; i++)
            rlt_program_free(list[i]);
    }
    assert_int_equal(hashes, 0); /* other parts, another hash */
}

/* Sums of numbers alone decide: nothing of these programs is there to be copied. */
static void limits(void **state)
{
    static const rlt_program pairs[] = {
        {.n_ranks = RLT_MAX_RANKS}, {.n_ranks = 1},   {.n_ops = RLT_MAX_OPS},  {.n_ops = 1},
        {.n_deps = UINT32_MAX},     {.n_deps = 1},    {.n_notes = UINT32_MAX}, {.n_notes = 1},
        {.n_comm_ops = UINT32_MAX}, {.n_comm_ops = 1}};
    (void)state;
    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i += 2) {
        uint32_t first[3];
        const rlt_program *const list[] = {&pairs[i], &pairs[i + 1]};
        rlt_program *out = (rlt_program *)(void *)&first; /* nothing is left of it */
        rlt_error err = {0};
        assert_int_equal(rlt_program_join(list, 2, &out, first, &err), RLT_ERANGE);
        assert_string_equal(err.what, "the programs together exceed 268435456 operations or 16777216 ranks");
        assert_null(out);
    }
}

/* The counts of an all-to-all of two, whose group stands behind a large one, are four. */
static void counts_of_a_late_group(void **state)
{
    static uint32_t ranks[3000];
    const uint64_t counts[2] = {3, 4};
    rlt_program *p = NULL, *all = NULL;
    rlt_builder *b;
    uint32_t first[2];
    (void)state;
    for (uint32_t r = 0; r < 3000; r++)
        ranks[r] = r;
    assert_int_equal(rlt_builder_create(3000, &b, NULL), 0);
    (void)rlt_build_group(b, "large", ranks, 3000);
    uint32_t group = rlt_build_group(b, "pair", ranks, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        o.coll = RLT_ALL_TO_ALL;
        o.group = group;
        o.bytes = 7;
        o.send_counts = counts;
        rlt_build_op(b, &o);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    assert_int_equal(rlt_program_join((const rlt_program *const *)&p, 1, &all, first, NULL), 0);
    assert_memory_equal(all->comms[0].counts, p->comms[0].counts, 4 * sizeof *counts);
    rlt_program_free(all);
    rlt_program_free(p);
}

/* Nothing joined is a program without ranks. */
static void nothing(void **state)
{
    rlt_program *out = NULL;
    uint32_t first[1] = {7};
    (void)state;
    assert_int_equal(rlt_program_join(NULL, 0, &out, first, NULL), 0);
    assert_true(first[0] == 0 && out->n_ranks == 0 && out->n_ops == 0 && out->rank_first[0] == 0);
    assert_string_equal(out->reader, "");
    rlt_program_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(limits),
                                       cmocka_unit_test(nothing), cmocka_unit_test(counts_of_a_late_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
