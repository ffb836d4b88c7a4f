/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Certificates of random recordings, picosecond by picosecond, and estimates of random replays, by relaxing
 * all starts until nothing changes: both written from the headers of workload/replay/whatif.
 */
#include "workload/replay/whatif/certificate.h"

#include <stdio.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/whatif.h"

enum { MOST_RANKS = 3, MOST_OPS = 120, STEPS = 24, RESOURCES = 2, END = 400 };

static rlt_error err;

static const char *const names[] = {"gemm", "void NVSHMEM_put<1>", "x::all2all", "copy"};

typedef struct made {
    rlt_builder *b;
    dice d;
    uint32_t ranks, resources[MOST_RANKS][RESOURCES], group;
    uint32_t ops[MOST_RANKS][MOST_OPS], n[MOST_RANKS],
        last[MOST_RANKS]; /* operations; the last communication */
    bool recorded, named;
} made;

static uint32_t add(made *m, rlt_op_desc *d)
{
    uint32_t r = d->rank, name = below(&m->d, 5);
    bool comm = d->kind >= RLT_OP_COLLECTIVE;
    if (m->named && name < 4)
        d->name = rlt_build_string(m->b, names[name], strlen(names[name]));
    if (m->recorded && below(&m->d, 6)) {
        d->recorded_ps = (rlt_time)below(&m->d, END);
        d->recorded_duration_ps = below(&m->d, 4) ? (rlt_time)below(&m->d, 60) : -1;
    }
    if (!comm && below(&m->d, 3))
        d->resource = m->resources[r][below(&m->d, RESOURCES)];
    uint32_t op = rlt_build_op(m->b, d);
    for (int k = 0; k < 2 && m->n[r] && below(&m->d, 2); k++)
        rlt_build_dep(m->b, op, m->ops[r][below(&m->d, m->n[r])]);
    if (comm && m->last[r] != RLT_NONE) /* one behind the other, or members wait for each other for ever */
        rlt_build_dep(m->b, op, m->last[r]);
    if (comm)
        m->last[r] = op;
    m->ops[r][m->n[r]++] = op;
    return op;
}

static void add_communication(made *m, uint32_t tag)
{
    bool timed = below(&m->d, 2), message = below(&m->d, 2) && m->ranks > 1;
    uint64_t bytes = timed ? 0 : roll(&m->d, 20000);
    uint32_t from = below(&m->d, m->ranks), to = (from + 1) % m->ranks;
    for (uint32_t k = 0; k < (message ? 2 : m->ranks); k++) {
        rlt_op_desc d = rlt_op_desc_init(!message ? RLT_OP_COLLECTIVE
                                         : k      ? RLT_OP_RECV
                                                  : RLT_OP_SEND,
                                         !message ? k
                                         : k      ? to
                                                  : from);
        d.timed = timed;
        d.bytes = bytes;
        d.duration_ps = timed ? (rlt_time)roll(&m->d, m->recorded ? 60 : 9000000) : 0;
        d.coll = RLT_ALL_REDUCE;
        d.group = message ? RLT_NONE : m->group;
        d.peer = !message ? RLT_NONE : k ? from : to;
        d.tag = tag;
        add(m, &d);
    }
}

/* A program of a few ranks. Times of a certificate are small, those of a replay are not. */
static rlt_program *draw(uint64_t seed, bool recorded)
{
    static const rlt_op_kind works[] = {RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_HOST, RLT_OP_DELAY};
    static const char *const labels[] = {"one", "two"};
    made m = {.d = {.seed = seed}, .recorded = recorded};
    rlt_program *p = NULL;
    uint32_t all[MOST_RANKS];
    const uint32_t steps = below(&m.d, 4) ? STEPS : 1 + below(&m.d, 3); /* a few: ranks that do nothing */
    m.ranks = 1 + below(&m.d, MOST_RANKS);
    m.named = below(&m.d, 8);
    assert_int_equal(rlt_builder_create(m.ranks, &m.b, &err), 0);
    for (uint32_t r = 0; r < m.ranks; r++) {
        all[r] = r;
        m.last[r] = RLT_NONE;
        for (uint32_t k = 0; k < RESOURCES; k++)
            m.resources[r][k] = rlt_build_resource(m.b, r, RLT_RES_STREAM, labels[k]);
        if (below(&m.d, 3) == 0)
            rlt_build_rank_recorded(m.b, r, below(&m.d, 4) ? 500 + (rlt_time)below(&m.d, 100) : 0);
    }
    m.group = rlt_build_group(m.b, "", all, m.ranks);
    for (uint32_t s = 0; s < steps; s++) {
        if (below(&m.d, 3) == 0) {
            add_communication(&m, s);
            continue;
        }
        rlt_op_desc d = rlt_op_desc_init(works[below(&m.d, 4)], below(&m.d, m.ranks));
        d.duration_ps = (rlt_time)(recorded ? below(&m.d, 60) : roll(&m.d, below(&m.d, 4) ? 20000000 : 3));
        d.purpose = d.kind == RLT_OP_DELAY && below(&m.d, 2) ? RLT_FOR_DP : RLT_FOR_UNKNOWN;
        add(&m, &d);
    }
    if (rlt_builder_finish(m.b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* ---- certificates ---- */

typedef enum activity { NOTHING, COMPUTES, INSIDE, COMMUNICATES, FIXED, GAP } activity;

static activity what_is(const rlt_program *p, const rlt_op *o)
{
    const char *name = o->name == RLT_NONE ? "" : rlt_program_string(p, o->name);
    switch ((rlt_op_kind)o->kind) {
    case RLT_OP_COMPUTE:
    case RLT_OP_MEMORY:
        return strcmp(name, names[1]) == 0 || strcmp(name, names[2]) == 0 ? INSIDE : COMPUTES;
    case RLT_OP_HOST:
        return NOTHING;
    case RLT_OP_DELAY:
        return o->purpose == RLT_FOR_UNKNOWN ? GAP : NOTHING;
    default:
        return p->comms[o->comm].timed ? FIXED : COMMUNICATES;
    }
}

static rlt_time lasts(const rlt_op *o)
{
    return o->recorded_duration_ps < 0 ? o->duration_ps : o->recorded_duration_ps;
}

static bool lasts_at(const rlt_op *o, rlt_time t)
{
    return o->recorded_ps >= 0 && o->recorded_ps <= t && t < o->recorded_ps + lasts(o);
}

typedef struct figures {
    rlt_time span, comm, exposed, gap, fixed, inside, hidden, lost, by_op[MOST_OPS];
} figures;

/* Adds one moment of a rank. */
static void add_moment(const rlt_program *p, uint32_t rank, rlt_time t, figures *f)
{
    bool is[GAP + 1] = {false};
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++)
        if (lasts_at(&p->ops[i], t))
            is[what_is(p, &p->ops[i])] = true;
    bool comm = is[COMMUNICATES] || is[FIXED], exposed = comm && !is[COMPUTES] && !is[INSIDE];
    bool gap = comm && is[GAP];
    f->comm += comm;
    f->exposed += exposed;
    f->gap += gap;
    f->fixed += is[FIXED];
    f->inside += is[INSIDE];
    f->hidden += gap || is[FIXED] || is[INSIDE];
    f->lost += gap && exposed;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        activity a = what_is(p, &p->ops[i]);
        if (lasts_at(&p->ops[i], t))
            f->by_op[i] += a == FIXED || a == INSIDE || (a == GAP && comm);
    }
}

static void random_recordings(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        rlt_program *p = draw(seed, true);
        rlt_certificate c;
        figures f = {0};
        uint64_t untimed = 0;
        bool recorded = false;
        for (uint32_t r = 0; r < p->n_ranks; r++) {
            rlt_time first = RLT_TIME_MAX, last = 0;
            for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++) {
                const rlt_op *o = &p->ops[i];
                untimed += o->recorded_ps < 0 && lasts(o) > 0;
                recorded = recorded || o->recorded_ps >= 0;
                if (o->recorded_ps < 0 || lasts(o) == 0 || what_is(p, o) == NOTHING)
                    continue;
                first = o->recorded_ps < first ? o->recorded_ps : first;
                last = o->recorded_ps + lasts(o) > last ? o->recorded_ps + lasts(o) : last;
            }
            for (rlt_time t = 0; t < END + 60; t++)
                add_moment(p, r, t, &f);
            f.span += p->rank_recorded_ps[r] >= 0 ? p->rank_recorded_ps[r] : last > first ? last - first : 0;
        }
        const rlt_time n = p->n_ranks;
        if (!recorded)
            f = (figures){0};
        assert_int_equal(rlt_certify(p, &c, &err), 0);
        assert_int_equal(c.recorded, recorded);
        assert_int_equal(c.untimed, untimed);
        assert_int_equal(c.span_ps, f.span / n);
        assert_int_equal(c.comm_ps, f.comm / n);
        assert_int_equal(c.exposed_ps, f.exposed / n);
        assert_int_equal(c.gap_ps, f.gap / n);
        assert_int_equal(c.fixed_ps, f.fixed / n);
        assert_int_equal(c.inside_ps, f.inside / n);
        assert_int_equal(c.hidden_ps, f.hidden / n);
        assert_int_equal(c.lost_ps, f.lost / n);
        for (uint32_t i = 0; i < p->n_ops; i++)
            assert_int_equal(c.by_op[i], f.by_op[i]);
        rlt_certificate_free(&c);
        rlt_program_free(p);
    }
}

/* Most of what was exposed is in gaps, and that is more than a hundredth of the span. */
static void verdicts(void **state)
{
    static const struct {
        rlt_time lost, exposed, span;
        bool fails;
    } rows[] = {{51, 100, 5000, true}, {50, 100, 4000, false}, {51, 100, 5100, false}, {51, 100, 5099, true},
                {0, 0, 0, false},      {1, 1, 99, true},       {50, 99, 1000, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_certificate c = {.lost_ps = rows[i].lost, .exposed_ps = rows[i].exposed, .span_ps = rows[i].span};
        assert_int_equal(rlt_certificate_fails(&c), rows[i].fails);
    }
}

static void sentences(void **state)
{
    static const struct {
        rlt_certificate c;
        const char *text;
    } rows[] = {
        {{.recorded = false}, ""},
        {{.recorded = false, .untimed = 1},
         "none: the trace does not say when its operations ran, so that waits inside their durations "
         "do not show"},
        {{.recorded = true}, "0 ps of the recorded 0 ps (0.0 %) could hide communication"},
        {{.recorded = true, .span_ps = 8000000, .hidden_ps = 2000000, .gap_ps = 1000000, .untimed = 5},
         "2 us of the recorded 8 us (25.0 %) could hide communication, 1 us in gaps"},
        {{.recorded = true,
          .span_ps = 8000000,
          .hidden_ps = 4000000,
          .gap_ps = 1000000,
          .fixed_ps = 2000000,
          .inside_ps = 3000000},
         "4 us of the recorded 8 us (50.0 %) could hide communication, 1 us in gaps, 2 us in communication "
         "of recorded time, 3 us in kernels that communicate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400], cut[400];
        assert_ptr_equal(rlt_certificate_text(&rows[i].c, text, sizeof text), text);
        assert_string_equal(text, rows[i].text);
        for (size_t size = 1; size <= strlen(text) + 1; size++) { /* as much as there is room for */
            memset(cut, 'x', sizeof cut);
            rlt_certificate_text(&rows[i].c, cut, size);
            assert_int_equal(strlen(cut), size - 1);
            assert_memory_equal(cut, text, size - 1);
            assert_int_equal(cut[size], 'x');
        }
    }
}

/* A recording of one operation, from its first moment on. */
static void from_the_beginning(void **state)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_certificate c;
    (void)state;
    assert_int_equal(rlt_builder_create(1, &b, NULL), 0);
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
    d.duration_ps = d.recorded_duration_ps = 5;
    d.recorded_ps = 0;
    assert_int_equal(rlt_build_op(b, &d), 0);
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
    assert_int_equal(rlt_certify(p, &c, &err), 0);
    assert_true(c.recorded && c.untimed == 0 && c.span_ps == 5 && c.hidden_ps == 0);
    rlt_certificate_free(&c);
    rlt_program_free(p);
}

static void kernels_that_communicate(void **state)
{
    static const char *const yes[] = {
        "nvshmem",   "DEEP_EP",    "deepep",    "multimem",   "userbuffers",    "cross_device_reduce",
        "allreduce", "all_reduce", "AllGather", "all_gather", "reducescatter",  "reduce_scatter",
        "alltoall",  "all_to_all", "all2all",   "ncclKernel", "one_shot_push_", "two_shot_x",
        "symm_mem"};
    static const char *const no[] = {"", "gemm", "reduce", "gather", "all", "one_shot", "nccX"};
    char at_end[520];
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(rlt_communicates_inside(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(rlt_communicates_inside(no[i]));
    for (int room = 510; room <= 512; room++) { /* of a long name, the first 511 bytes count */
        memset(at_end, 'x', sizeof at_end);
        memcpy(at_end + room - 4, "NCCL", 5);
        assert_int_equal(rlt_communicates_inside(at_end), room <= 511);
    }
}

/* ---- estimates ---- */

typedef struct estimated {
    const rlt_replay *r;
    const rlt_program *p;
    const rlt_certificate *c;
    rlt_time launch, start[MOST_OPS], end[MOST_OPS], arrived[MOST_OPS];
    uint32_t before[MOST_OPS]; /* the operation that had the resource before, or RLT_NONE */
    rlt_part part;
    int how; /* 0: low, 1: middle, 2: high */
    double speed;
} estimated;

static rlt_time smaller(rlt_time a, rlt_time b)
{
    return a < b ? a : b;
}

/* Returns what depends on the part, as the table of whatif.h has it. */
static rlt_time own(const estimated *e, uint32_t i, rlt_time d)
{
    const rlt_op *o = &e->p->ops[i];
    const rlt_time hidden = e->c ? smaller(d, e->c->by_op[i]) : 0;
    const bool gap = o->kind == RLT_OP_DELAY && o->purpose == RLT_FOR_UNKNOWN;
    const bool folded = o->kind == RLT_OP_DELAY && !gap;
    const bool device = o->kind == RLT_OP_COMPUTE || o->kind == RLT_OP_MEMORY;
    if (e->part == RLT_PART_NETWORK) {
        const rlt_time transfer[] = {0, d - smaller(d, e->launch), d}, other[] = {0, 0, hidden};
        return folded ? transfer[e->how] : other[e->how];
    }
    if (gap)
        return e->how == 2 ? d : 0;
    if (e->part == RLT_PART_HOST)
        return o->kind == RLT_OP_HOST ? d : 0;
    return !device ? 0 : e->how == 0 ? d - hidden : d;
}

static rlt_time transfer(const estimated *e, uint32_t comm, rlt_time d)
{
    const rlt_comm *c = &e->p->comms[comm];
    if (e->part != RLT_PART_NETWORK || d <= 0)
        return 0;
    const rlt_time launch = c->kind == RLT_SEND_RECV ? 0 : smaller(d, e->launch);
    const rlt_time timed[] = {0, d, d};
    const rlt_time sent[] = {smaller(d, rlt_replay_comm(e->r, comm).bound_ps), d - launch, d};
    return c->timed ? timed[e->how] : sent[e->how];
}

static rlt_time faster(const estimated *e, rlt_time d, rlt_time b)
{
    return d - b + (rlt_time)((double)b / e->speed + (e->speed == 1 ? 0 : 0.5));
}

static void end_of(estimated *e, uint32_t i)
{
    const rlt_op *o = &e->p->ops[i];
    rlt_op_result was = rlt_replay_op(e->r, i);
    rlt_time d = was.end_ps - was.start_ps;
    if (o->comm == RLT_NONE) {
        e->end[i] = e->start[i] + faster(e, d, own(e, i, d));
        return;
    }
    rlt_comm_result res = rlt_replay_comm(e->r, o->comm);
    bool receives = e->p->comms[o->comm].kind == RLT_SEND_RECV && o->member == 1;
    d = (receives ? smaller(was.end_ps, res.end_ps) : was.end_ps) - res.last_arrival_ps;
    rlt_time end = e->arrived[o->comm] + faster(e, d, transfer(e, o->comm, d));
    e->end[i] = end > e->start[i] ? end : e->start[i];
}

/* Repeats: everything starts after what it waits for, until nothing changes. */
static rlt_time relaxed(estimated *e)
{
    rlt_time last = 0;
    bool again = true;
    memset(e->end, 0, sizeof e->end);
    memset(e->arrived, 0, sizeof e->arrived);
    for (uint32_t i = 0; i < e->p->n_ops; i++)
        e->start[i] = rlt_replay_rank(e->r, e->p->ops[i].rank).start_ps;
    for (int round = 0; again && round < 1000; round++) {
        again = false;
        for (uint32_t i = 0; i < e->p->n_ops; i++) {
            const rlt_op *o = &e->p->ops[i];
            rlt_time at = e->start[i];
            for (uint32_t k = 0; k < o->n_deps; k++) {
                uint32_t on = e->p->deps[o->first_dep + k];
                at = e->end[on] > at ? e->end[on] : at;
            }
            if (e->before[i] != RLT_NONE)
                at = e->end[e->before[i]] > at ? e->end[e->before[i]] : at;
            rlt_time was = e->end[i];
            e->start[i] = at;
            if (o->comm != RLT_NONE) {
                const rlt_comm *c = &e->p->comms[o->comm];
                if ((c->timed || c->kind != RLT_SEND_RECV || o->member == 0) && at > e->arrived[o->comm])
                    e->arrived[o->comm] = at;
            }
            end_of(e, i);
            again = again || e->end[i] != was;
        }
    }
    assert_false(again);
    for (uint32_t i = 0; i < e->p->n_ops; i++)
        last = e->end[i] > last ? e->end[i] : last;
    return last;
}

/* Whether x had a resource before y. Those that last no time come first. */
static bool before(const estimated *e, uint32_t x, uint32_t y)
{
    rlt_op_result a = rlt_replay_op(e->r, x), b = rlt_replay_op(e->r, y);
    return a.start_ps != b.start_ps ? a.start_ps < b.start_ps
           : a.end_ps != b.end_ps   ? a.end_ps < b.end_ps
                                    : x < y;
}

static void find_order(estimated *e)
{
    for (uint32_t i = 0; i < e->p->n_ops; i++) {
        e->before[i] = RLT_NONE;
        for (uint32_t k = 0; k < e->p->n_ops; k++)
            if (e->p->ops[k].resource == e->p->ops[i].resource && e->p->ops[i].resource != RLT_NONE &&
                before(e, k, i) && (e->before[i] == RLT_NONE || before(e, e->before[i], k)))
                e->before[i] = k;
    }
}

static void compare(estimated *e, rlt_what_if *w, uint64_t seed)
{
    static const double speeds[] = {1, 3, 0.4, 1.0001};
    for (int part = 0; part <= RLT_PART_HOST; part++)
        for (size_t k = 0; k < sizeof speeds / sizeof *speeds; k++) {
            rlt_estimate is = rlt_what_if_estimate(w, (rlt_part)part, speeds[k]);
            rlt_time must[3];
            e->part = (rlt_part)part;
            e->speed = speeds[k];
            for (e->how = 0; e->how < 3; e->how++)
                must[e->how] = relaxed(e);
            assert_true(speeds[k] != 1 || is.ps == rlt_replay_time(e->r));
            bool fast = speeds[k] >= 1;
            if (is.low_ps != must[fast ? 2 : 0] || is.ps != must[1] || is.high_ps != must[fast ? 0 : 2])
                fail_msg("case %llu, part %d, speed %g: %lld, %lld, %lld ps, not %lld, %lld, %lld",
                         (unsigned long long)seed, part, speeds[k], (long long)is.low_ps, (long long)is.ps,
                         (long long)is.high_ps, (long long)must[fast ? 2 : 0], (long long)must[1],
                         (long long)must[fast ? 0 : 2]);
        }
}

static void random_estimates(void **state)
{
    static estimated e;
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:3@2GB/s,500ns", NULL, &t, &err), 0);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        rlt_program *p = draw(seed, false);
        rlt_time delays[MOST_RANKS] = {0, 3000000, 100};
        rlt_replay_options o = rlt_replay_options_default();
        rlt_replay *r = NULL;
        rlt_what_if *w = NULL;
        rlt_certificate c = {.by_op = calloc(p->n_ops + 1, sizeof *c.by_op)};
        dice d = {.seed = seed, .k = 9999};
        o.topology = t;
        o.rank_delay_ps = delays;
        if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
            fail_msg("%s: %s", err.where, err.what);
        for (uint32_t i = 0; i < p->n_ops; i++)
            c.by_op[i] = (rlt_time)roll(&d, 20000000);
        e = (estimated){.r = r, .p = p, .c = seed % 3 ? &c : NULL, .launch = seed % 2 ? 1500000 : 0};
        find_order(&e);
        assert_int_equal(rlt_what_if_create(r, p, e.c, e.launch, &w, &err), 0);
        compare(&e, w, seed);
        rlt_what_if_free(w);
        rlt_replay_free(r);
        rlt_certificate_free(&c);
        rlt_program_free(p);
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_recordings),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(sentences),
        cmocka_unit_test(from_the_beginning),
        cmocka_unit_test(kernels_that_communicate),
        cmocka_unit_test(random_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
