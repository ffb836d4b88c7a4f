/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random programs rescaled, against the rules of rescale.h: what each new rank does, with whom it communicates,
 * and how many bytes. Ranks lie in three dimensions: blocks, members of the rescaled groups, places inside.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/program/rescale.h"

enum { CASES = 600, OLD = 27, NEW = 64, BLOCKS = 3, MEMBERS = 4, INSIDE = 3, ROUNDS = 14 };
enum { WORLD, SCALED, PLACE, KINDS };

typedef struct trial {
    dice d;
    uint32_t blocks, n, inside, after, ranks; /* n: members before */
    uint32_t old[BLOCKS][MEMBERS][INSIDE];
    uint32_t block_of[OLD], member_of[OLD], inside_of[OLD];
    uint32_t last[OLD]; /* operation of each rank; RLT_NONE: none yet */
    bool root_goes;     /* a root is among the members that are removed */
    /* New ranks: which of the old ones they repeat, and as which member. */
    uint32_t number[BLOCKS][INSIDE][NEW], repeats[NEW], member[NEW], n_new;
    rlt_program *p, *q;
} trial;

static void draw_layout(trial *x)
{
    dice *d = &x->d;
    uint32_t name[OLD], next = 0;
    x->blocks = 1 + below(d, BLOCKS);
    x->n = 2 + below(d, MEMBERS - 1);
    x->inside = 1 + below(d, x->n == MEMBERS ? 2 : INSIDE);
    x->ranks = x->blocks * x->n * x->inside;
    x->after = 2 + below(d, 5);
    for (uint32_t i = 0; i < x->ranks; i++)
        name[i] = i;
    for (uint32_t i = below(d, 2) ? x->ranks : 0; i-- > 1;) { /* anywhere */
        uint32_t k = below(d, i + 1), kept = name[i];
        name[i] = name[k];
        name[k] = kept;
    }
    for (uint32_t o = 0; o < x->blocks; o++)
        for (uint32_t j = 0; j < x->n; j++)
            for (uint32_t i = 0; i < x->inside; i++) {
                uint32_t r = x->old[o][j][i] = name[next++];
                x->block_of[r] = o;
                x->member_of[r] = j;
                x->inside_of[r] = i;
            }
}

/* The ranks of a group of a kind: its number k, its label. Returns how many; 0: there is no such group. */
static uint32_t group_of(const trial *x, uint32_t kind, uint32_t k, uint32_t *ranks, char label[16])
{
    uint32_t n = 0;
    if (kind == WORLD) {
        snprintf(label, 16, "all");
        while (n < x->ranks) {
            ranks[n] = n;
            n++;
        }
        return k ? 0 : n;
    }
    snprintf(label, 16, kind == SCALED ? "dp %u" : "tp %u", k);
    if (kind == SCALED && k < x->blocks * x->inside)
        for (uint32_t j = 0; j < x->n; j++)
            ranks[n++] = x->old[k / x->inside][j][k % x->inside];
    if (kind == PLACE && k < x->blocks * x->n && x->inside > 1)
        for (uint32_t i = 0; i < x->inside; i++)
            ranks[n++] = x->old[k / x->n][k % x->n][i];
    return n;
}

static void add(trial *x, rlt_builder *b, rlt_op_desc o)
{
    static const char *const names[] = {"", "gemm", "sum", "copy"};
    const char *name = names[below(&x->d, 4)];
    if (*name)
        o.name = rlt_build_string(b, name, strlen(name));
    if (below(&x->d, 2))
        o.resource = rlt_build_resource(b, o.rank, below(&x->d, 2) ? RLT_RES_STREAM : RLT_RES_HOST,
                                        below(&x->d, 2) ? "one" : "two");
    o.step = (uint16_t)below(&x->d, 2);
    o.recorded_ps = (rlt_time)below(&x->d, 100) - 1;
    o.recorded_duration_ps = (rlt_time)below(&x->d, 100) - 1;
    uint32_t op = rlt_build_op(b, &o);
    if (x->last[o.rank] != RLT_NONE && below(&x->d, 3))
        rlt_build_dep(b, op, x->last[o.rank]);
    x->last[o.rank] = op;
}

/* A collective on every group of a kind, or on one. */
static void add_collectives(trial *x, rlt_builder *b, uint32_t kind)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_BROADCAST,
                                          RLT_ALL_TO_ALL, RLT_GATHER,     RLT_REDUCE};
    uint32_t ranks[OLD], n, what = below(&x->d, 6), chosen = below(&x->d, 2) ? below(&x->d, 4) : RLT_NONE;
    bool timed = below(&x->d, 5) == 0, unequal = !timed && below(&x->d, 2);
    char label[16];
    for (uint32_t k = 0; (n = group_of(x, kind, k, ranks, label)); k++) {
        uint64_t counts[OLD], bytes = timed ? 0 : 1 + roll(&x->d, 100000);
        uint32_t root = rlt_coll_rooted(kinds[what]) ? below(&x->d, n) : 0;
        uint32_t group = rlt_build_group(b, label, ranks, n);
        for (uint32_t m = 0; m < n && (chosen == RLT_NONE || chosen == k); m++) {
            rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, ranks[m]);
            o.coll = kinds[what];
            o.group = group;
            o.root = root;
            o.bytes = bytes;
            o.timed = timed;
            o.duration_ps = timed ? 1 + (rlt_time)below(&x->d, 100) : 0;
            if (unequal && o.coll == RLT_GATHER)
                o.bytes = n * (uint64_t)below(&x->d, 1000);
            if (unequal && o.coll == RLT_ALL_TO_ALL) {
                o.bytes = 0;
                for (uint32_t to = 0; to < n; to++)
                    o.bytes += counts[to] = below(&x->d, 1000);
                o.send_counts = counts;
            }
            add(x, b, o);
            x->root_goes |= kind != PLACE && rlt_coll_rooted(o.coll) && x->member_of[ranks[root]] >= x->after;
        }
    }
}

static void add_message(trial *x, rlt_builder *b)
{
    uint32_t j = below(&x->d, x->n), from = x->old[below(&x->d, x->blocks)][j][below(&x->d, x->inside)],
             to = x->old[below(&x->d, x->blocks)][j][below(&x->d, x->inside)];
    rlt_op_desc send = rlt_op_desc_init(RLT_OP_SEND, from), receive = rlt_op_desc_init(RLT_OP_RECV, to);
    send.peer = to;
    receive.peer = from;
    send.tag = receive.tag = below(&x->d, 3);
    send.bytes = receive.bytes = roll(&x->d, 5000);
    if (from == to)
        return;
    add(x, b, send);
    add(x, b, receive);
}

static void draw(trial *x)
{
    rlt_builder *b;
    rlt_error err = {0};
    draw_layout(x);
    x->root_goes = false;
    assert_int_equal(rlt_builder_create(x->ranks, &b, &err), 0);
    for (uint32_t r = 0; r < x->ranks; r++) {
        x->last[r] = RLT_NONE;
        rlt_build_rank_start(b, r, (rlt_time)below(&x->d, 90));
    }
    add_collectives(x, b, SCALED);
    for (uint32_t k = 0; k < x->blocks * x->inside; k++) { /* so that every rank is in one of them */
        uint32_t ranks[OLD];
        char label[16];
        uint32_t n = group_of(x, SCALED, k, ranks, label), group = rlt_build_group(b, label, ranks, n);
        for (uint32_t m = 0; m < n; m++) {
            rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, ranks[m]);
            o.coll = RLT_ALL_REDUCE;
            o.group = group;
            o.bytes = 8;
            add(x, b, o);
        }
    }
    for (uint32_t round = below(&x->d, ROUNDS); round > 0; round--) {
        uint32_t what = below(&x->d, 6);
        if (what < KINDS) {
            add_collectives(x, b, what);
        } else if (what == KINDS) {
            add_message(x, b);
        } else {
            rlt_op_desc o =
                rlt_op_desc_init(what == 4 ? RLT_OP_COMPUTE : RLT_OP_HOST, below(&x->d, x->ranks));
            o.duration_ps = (rlt_time)roll(&x->d, 1000);
            add(x, b, o);
        }
    }
    rlt_build_note(b, 3, "a note");
    rlt_build_layers(b, 5);
    if (rlt_builder_finish(b, "drawn", &x->p, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* ---- the model ---- */

/* The distance between members, if it is the same everywhere and divides the ranks into blocks; or 0. */
static uint32_t distance(const trial *x)
{
    uint32_t d = x->old[0][1][0] - x->old[0][0][0];
    if (x->old[0][1][0] < x->old[0][0][0] || x->ranks % (d * x->n))
        return 0;
    for (uint32_t o = 0; o < x->blocks; o++)
        for (uint32_t j = 0; j < x->n; j++)
            for (uint32_t i = 0; i < x->inside; i++)
                if (x->old[o][j][i] != x->old[o][0][i] + j * d || x->old[o][0][i] % (d * x->n) >= d)
                    return 0;
    return d;
}

static void number_ranks(trial *x)
{
    uint32_t d = distance(x), next = 0;
    x->n_new = x->blocks * x->inside * x->after;
    for (uint32_t copy = 0; copy * x->n < x->after; copy++)
        for (uint32_t r = 0; r < x->ranks; r++) {
            uint32_t o = x->block_of[r], i = x->inside_of[r], j = copy * x->n + x->member_of[r];
            if (j >= x->after)
                continue;
            uint32_t first = x->old[o][0][i];
            uint32_t q = d ? (first / (d * x->n) * x->after + j) * d + first % d : next++;
            x->number[o][i][j] = q;
            x->repeats[q] = r;
            x->member[q] = j;
        }
}

typedef struct list {
    uint32_t rank[NEW], old[NEW], n; /* old: member of the old group */
} list;

/* The new ranks of an old group, seen by new member j of the rescaled groups. */
static list members(const trial *x, const uint32_t *ranks, uint32_t n, bool grows, uint32_t j)
{
    list l = {.n = 0};
    bool ascend = true;
    for (uint32_t copy = 0; grows && copy * x->n < x->after; copy++)
        for (uint32_t m = 0; m < n; m++) {
            uint32_t r = ranks[m], to = copy * x->n + x->member_of[r];
            if (to < x->after) {
                l.old[l.n] = m;
                l.rank[l.n++] = x->number[x->block_of[r]][x->inside_of[r]][to];
            }
        }
    for (uint32_t m = 0; m < n && !grows; m++) {
        l.old[l.n] = m;
        l.rank[l.n++] = x->number[x->block_of[ranks[m]]][x->inside_of[ranks[m]]][j];
    }
    for (uint32_t m = 1; m < n; m++)
        ascend = ascend && ranks[m - 1] < ranks[m];
    for (uint32_t a = 0; a < l.n && grows && ascend; a++)
        for (uint32_t b = a + 1; b < l.n; b++)
            if (l.rank[b] < l.rank[a]) {
                uint32_t rank = l.rank[a], old = l.old[a];
                l.rank[a] = l.rank[b];
                l.old[a] = l.old[b];
                l.rank[b] = rank;
                l.old[b] = old;
            }
    return l;
}

/* Which copy of its old member a new member is, of how many. */
static uint32_t copy_of(const trial *x, const list *l, uint32_t m, uint32_t *copies)
{
    *copies = 0;
    for (uint32_t k = 0; k < l->n; k++)
        *copies += l->old[k] == l->old[m];
    return *copies > 1 ? x->member[l->rank[m]] / x->n : 0;
}

static uint64_t share(const trial *x, const list *l, uint32_t m, uint64_t bytes)
{
    uint32_t copies, copy = copy_of(x, l, m, &copies);
    return bytes / copies + (copy < bytes % copies);
}

/* ---- comparison ---- */

static void check_comm(const trial *x, uint32_t op, uint32_t new_op)
{
    const rlt_op *a = &x->p->ops[op], *b = &x->q->ops[new_op];
    const rlt_comm *c = &x->p->comms[a->comm], *e = &x->q->comms[b->comm];
    const char *label = rlt_program_string(x->p, x->p->group_names[c->group]);
    const uint32_t *ranks = x->p->group_ranks + x->p->group_first[c->group];
    uint32_t n = x->p->group_first[c->group + 1] - x->p->group_first[c->group], root = 0, copies;
    bool grows = c->kind != RLT_SEND_RECV && label[0] != 't';
    const list l = members(x, ranks, n, grows, x->member[b->rank]);
    assert_int_equal(c->kind, e->kind);
    assert_int_equal(c->timed, e->timed);
    assert_int_equal(x->q->group_first[e->group + 1] - x->q->group_first[e->group], l.n);
    for (uint32_t m = 0; m < l.n; m++)
        assert_int_equal(x->q->group_ranks[x->q->group_first[e->group] + m], l.rank[m]);
    assert_int_equal(l.rank[b->member], b->rank);
    assert_int_equal(x->q->comm_ops[e->first_op + b->member], new_op);
    for (uint32_t m = l.n; m-- > 0;)
        if (rlt_coll_rooted(c->kind) && l.old[m] == c->root && copy_of(x, &l, m, &copies) == 0)
            root = m;
    assert_int_equal(e->root, root);
    if (!c->counts)
        assert_int_equal(c->bytes, e->bytes);
    for (uint32_t from = 0; c->counts && from < l.n; from++)
        for (uint32_t to = 0; c->kind == RLT_ALL_TO_ALL && to < l.n; to++)
            assert_int_equal(e->counts ? e->counts[from * l.n + to] : e->bytes / l.n,
                             share(x, &l, to, c->counts[l.old[from] * n + l.old[to]]));
    for (uint32_t m = 0; c->counts && c->kind != RLT_ALL_TO_ALL && m < l.n; m++)
        assert_int_equal(e->counts ? e->counts[m] : e->bytes / l.n, share(x, &l, m, c->counts[l.old[m]]));
    if (c->kind == RLT_SEND_RECV)
        return;
    char want[48];
    if (grows || x->member[b->rank] < x->n)
        snprintf(want, sizeof want, "%s", label);
    else
        snprintf(want, sizeof want, "%s / dp %u", label, x->member[b->rank]);
    assert_string_equal(rlt_program_string(x->q, x->q->group_names[e->group]), want);
}

static void check_op(const trial *x, uint32_t op, uint32_t new_op, uint32_t rank)
{
    const rlt_op *a = &x->p->ops[op], *b = &x->q->ops[new_op];
    assert_int_equal(b->rank, rank);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->duration_ps, b->duration_ps);
    assert_int_equal(a->recorded_ps, b->recorded_ps);
    assert_int_equal(a->recorded_duration_ps, b->recorded_duration_ps);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->purpose, b->purpose);
    assert_int_equal(a->name == RLT_NONE, b->name == RLT_NONE);
    if (a->name != RLT_NONE)
        assert_string_equal(rlt_program_string(x->p, a->name), rlt_program_string(x->q, b->name));
    assert_int_equal(a->resource == RLT_NONE, b->resource == RLT_NONE);
    if (a->resource != RLT_NONE) {
        const rlt_resource *r = &x->p->resources[a->resource], *s = &x->q->resources[b->resource];
        assert_int_equal(r->kind, s->kind);
        assert_int_equal(s->rank, rank);
        assert_string_equal(rlt_program_string(x->p, r->name), rlt_program_string(x->q, s->name));
    }
    assert_int_equal(a->n_deps, b->n_deps);
    for (uint32_t k = 0; k < a->n_deps; k++)
        assert_int_equal(x->p->deps[a->first_dep + k] - op, x->q->deps[b->first_dep + k] - new_op);
    assert_int_equal(a->comm == RLT_NONE, b->comm == RLT_NONE);
    if (a->comm != RLT_NONE)
        check_comm(x, op, new_op);
}

static void check(const trial *x)
{
    rlt_time earliest = RLT_TIME_MAX;
    char note[200];
    assert_int_equal(x->q->n_ranks, x->n_new);
    for (uint32_t r = 0; r < x->n_new; r++)
        if (x->p->rank_start_ps[x->repeats[r]] < earliest)
            earliest = x->p->rank_start_ps[x->repeats[r]];
    for (uint32_t r = 0; r < x->n_new; r++) {
        uint32_t from = x->p->rank_first[x->repeats[r]], to = x->q->rank_first[r],
                 n = x->p->rank_first[x->repeats[r] + 1] - from;
        assert_int_equal(x->q->rank_first[r + 1] - to, n);
        assert_int_equal(x->q->rank_start_ps[r], x->p->rank_start_ps[x->repeats[r]] - earliest);
        for (uint32_t k = 0; k < n; k++)
            check_op(x, from + k, to + k, r);
    }
    assert_int_equal(x->q->n_layers, 5);
    assert_int_not_equal(x->q->hash, x->p->hash);
    assert_string_equal(x->q->reader, "drawn");
    assert_int_equal(x->q->n_notes, 2);
    assert_string_equal(x->q->notes[0].text, "a note");
    assert_int_equal(x->q->notes[0].count, 3);
    snprintf(
        note, sizeof note,
        "rank after rescaling groups 'dp' from %u to %u members: member k repeats the work of member k mod "
        "%u; collectives keep their bytes",
        x->n, x->after, x->n);
    assert_string_equal(x->q->notes[1].text, note);
    assert_int_equal(x->q->notes[1].count, x->n_new);
}

static void random_programs(void **state)
{
    static trial x;
    uint32_t refused = 0, even = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        rlt_error err = {0};
        x = (trial){.d = {.seed = seed}};
        draw(&x);
        number_ranks(&x);
        even += distance(&x) > 0;
        int rc = rlt_program_rescale(x.p, "dp", x.after, &x.q, &err);
        if (rc != (x.root_goes ? RLT_EUNSUPPORTED : 0))
            fail_msg("case %llu: %d: %s", (unsigned long long)seed, rc, err.what);
        refused += rc != 0;
        if (!rc)
            check(&x);
        rlt_program_free(x.p);
        rlt_program_free(x.q);
    }
    print_message("# %u of %u at even distances, %u refused\n", even, CASES, refused);
    assert_true(even > CASES / 4 && even < CASES && refused < CASES / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
