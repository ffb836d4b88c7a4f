/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays against a plain one, written from workload/program/program.h. Random programs compute, work on hosts,
 * wait, and communicate for recorded times or for those of a timing mode, on streams, in queues and free. Every
 * operation starts and ends at the same picosecond, for a cause that ended then. Ranks, communications and
 * iterations have the same times. The times of a rank add up to its span, and the critical path to the run. Programs
 * that stall report the same waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/random_program.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

enum { CASES = 400, STEPS = 4 };

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

/* Of the timing mode that stands in for the network. */
static rlt_time carried(uint64_t bytes, uint32_t n)
{
    return (rlt_time)(bytes * 40 + 1000 * n);
}

/* A communication ends a time after all are there; a message of known bytes, after it was sent, but not before it
 * is received. */
static void meet(plan *p, uint32_t comm, rlt_time now)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        if (w->comm != comm)
            continue;
        if (!w->begun && !(w->bytes && w->kind == RLT_OP_RECV))
            return;
        n++;
    }
    rlt_time sent = now;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->ops[i].comm == comm && p->ops[i].bytes && p->ops[i].kind == RLT_OP_SEND)
            sent = p->ops[i].start;
    for (uint32_t i = 0; i < p->n; i++) {
        work *w = &p->ops[i];
        if (w->comm != comm || !w->begun || w->end < RLT_TIME_MAX)
            continue;
        w->end = w->bytes ? sent + carried(w->bytes, n) : now + scaled(p, w);
        if (w->end < now)
            w->end = now;
    }
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
            if (!p->ops[i].ended && p->ops[i].end < then) /* perhaps now: a message that was there */
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
            if (p->ops[k].comm == w->comm && p->ops[k].start > there &&
                !(w->bytes && p->ops[k].kind == RLT_OP_RECV))
                there = p->ops[k].start;
        *wait += there - w->start;
        *transfer += w->end - there;
    }
}

/* Operations begin and end as in the reference, as far as it comes; and for a cause: one that it depends on, or the
 * last one on its resource, and that ended then. Without a cause, its rank began then. */
static void assert_operations(const plan *p, const rlt_program *program, const rlt_replay *x, uint64_t seed)
{
    uint32_t at[RANKS], index[OPS], done = 0;
    for (uint32_t r = 0; r < p->n_ranks; r++)
        at[r] = program->rank_first[r];
    for (uint32_t i = 0; i < p->n; i++)
        index[i] = at[p->ops[i].rank]++;
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        rlt_op_result o = rlt_replay_op(x, index[i]);
        if (o.start_ps != w->start || o.end_ps != (w->ended ? w->end : -1))
            fail_msg(
                "case %llu, operation %u of rank %u, kind %d: %lld to %lld ps, the reference says %lld to %lld",
                (unsigned long long)seed, i, w->rank, w->kind, (long long)o.start_ps, (long long)o.end_ps,
                (long long)w->start, (long long)w->end);
        done += w->ended;
        if (!w->begun)
            continue;
        bool known = o.cause == RLT_NONE && w->start == p->delays[w->rank];
        for (uint32_t k = 0; k < w->n_deps; k++)
            known |= o.cause == index[w->deps[k]] && p->ops[w->deps[k]].end == w->start;
        for (uint32_t k = 0; k < p->n && w->resource != RLT_NONE; k++)
            known |= o.cause == index[k] && p->ops[k].rank == w->rank && p->ops[k].resource == w->resource &&
                     p->ops[k].end == w->start && w->ready < w->start;
        assert_true(known);
    }
    assert_int_equal(rlt_replay_done_ops(x), done);
}

/* Of each communication: when it began and ended, and who came last, the lowest of those that came together. */
static void assert_communications(const plan *p, const rlt_program *program, const rlt_replay *x)
{
    uint32_t at[RANKS];
    for (uint32_t r = 0; r < p->n_ranks; r++)
        at[r] = program->rank_first[r];
    rlt_comm_result want[COMMS] = {{0}};
    uint32_t members[COMMS] = {0}, comm_of[COMMS] = {0};
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        uint32_t op = at[w->rank]++;
        if (w->comm == RLT_NONE)
            continue;
        rlt_comm_result *c = &want[w->comm];
        comm_of[w->comm] = program->ops[op].comm;
        bool first = members[w->comm] == 0, leaves = !(w->bytes && w->kind == RLT_OP_RECV);
        if (first || w->start < c->first_arrival_ps)
            c->first_arrival_ps = w->start;
        if (first || (leaves && w->start > c->last_arrival_ps)) {
            c->last_arrival_ps = w->start;
            c->last_member = members[w->comm];
        }
        /* a message has arrived when its sender ends, or both have ended */
        if (leaves && (first || w->end > c->end_ps))
            c->end_ps = w->end;
        c->algorithm = w->bytes ? "affine" : "recorded";
        members[w->comm]++;
    }
    for (uint32_t k = 0; k < p->n_comms; k++) {
        rlt_comm_result c = rlt_replay_comm(x, comm_of[k]);
        assert_int_equal(c.first_arrival_ps, want[k].first_arrival_ps);
        assert_int_equal(c.last_arrival_ps, want[k].last_arrival_ps);
        assert_int_equal(c.end_ps, want[k].end_ps);
        assert_int_equal(c.last_member, want[k].last_member);
        assert_string_equal(c.algorithm, want[k].algorithm);
        assert_true(c.bound_ps == 0 && c.job == RLT_NONE);
    }
}

/* Iterations end with their last operation. */
static void assert_iterations(const plan *p, const rlt_replay *x)
{
    rlt_time end[STEPS] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const work *w = &p->ops[i];
        n = w->step >= n ? w->step + 1u : n;
        end[w->step] = w->end > end[w->step] ? w->end : end[w->step];
    }
    assert_int_equal(rlt_replay_iterations(x), n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(rlt_replay_iteration_ps(x, i), end[i] - (i ? end[i - 1] : 0));
}

/* The time in which some communication of a rank was under way. */
static rlt_time communicating(const plan *p, uint32_t rank)
{
    rlt_time sum = 0, at = 0;
    for (;;) { /* the first one that reaches beyond what is counted */
        rlt_time from = RLT_TIME_MAX, to = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            const work *w = &p->ops[i];
            rlt_time begin = w->start > at ? w->start : at;
            if (w->rank != rank || w->comm == RLT_NONE || w->end <= begin || begin >= from)
                continue;
            from = begin;
            to = w->end;
        }
        if (from == RLT_TIME_MAX)
            return sum;
        sum += to - from;
        at = to;
    }
}

static void assert_same(const plan *p, const rlt_replay *x)
{
    rlt_time end = 0;
    for (uint32_t i = 0; i < p->n; i++)
        end = p->ops[i].end > end ? p->ops[i].end : end;
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
        assert_int_equal(k.comm_ps, communicating(p, r));
    }
}

/* Stretches of the critical path touch, from the end to 0. A transfer begins when its last member arrived, or
 * its message was sent; what communicates for no time, and all other work, when it starts. */
static void assert_path(const rlt_program *program, const rlt_replay *x)
{
    rlt_path_item *items = NULL;
    uint32_t n;
    rlt_time at = rlt_replay_time(x);
    assert_int_equal(rlt_replay_critical_path(x, &items, &n, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(items[i].end_ps, at);
        assert_true(items[i].begin_ps < at || (items[i].begin_ps == at && items[i].kind != RLT_PATH_START));
        if (items[i].kind != RLT_PATH_START) {
            const rlt_op *op = &program->ops[items[i].op];
            rlt_path_kind kind = op->comm != RLT_NONE       ? RLT_PATH_TRANSFER
                                 : op->kind == RLT_OP_HOST  ? RLT_PATH_HOST
                                 : op->kind == RLT_OP_DELAY ? RLT_PATH_DELAY
                                                            : RLT_PATH_COMPUTE;
            assert_int_equal(items[i].kind, kind);
            rlt_op_result o = rlt_replay_op(x, items[i].op);
            rlt_time begin = o.start_ps;
            if (op->comm != RLT_NONE && o.end_ps > o.start_ps)
                begin = rlt_replay_comm(x, op->comm).last_arrival_ps;
            assert_int_equal(items[i].begin_ps, begin);
            assert_int_equal(items[i].end_ps, o.end_ps);
        }
        at = items[i].begin_ps;
    }
    assert_int_equal(at, 0);
    free(items);
}

/* What an operation that has not ended waits for: what it depends on, what holds its resource, or the first member of
 * its communication that is not there. */
static uint32_t waited_for(const plan *p, uint32_t i)
{
    const work *w = &p->ops[i];
    uint32_t first = RLT_NONE;
    for (uint32_t k = 0; k < w->n_deps && !w->begun; k++)
        if (!p->ops[w->deps[k]].ended && (first == RLT_NONE || w->deps[k] < first))
            first = w->deps[k];
    if (first != RLT_NONE)
        return first;
    for (uint32_t k = 0; k < p->n; k++) {
        const work *other = &p->ops[k];
        bool holds =
            other->begun && !other->ended && other->rank == w->rank && other->resource == w->resource;
        if (w->begun ? other->comm == w->comm && !other->begun : w->resource != RLT_NONE && holds)
            return k;
    }
    return RLT_NONE;
}

static size_t say_rank(char *text, size_t size, const plan *p, uint32_t op)
{
    return (size_t)snprintf(text, size, "rank %u '(unnamed)'", p->ops[op].rank);
}

/* The report names the cycle to which the waits of the first pending operation lead, from where they enter it, or
 * the first twelve waits of it. */
static void assert_report(const plan *p, const rlt_error *err)
{
    uint32_t at = RLT_NONE, pending = 0, shown = 0;
    bool seen[OPS] = {false};
    char text[1000], place[60];
    for (uint32_t i = 0; i < p->n; i++) {
        pending += !p->ops[i].ended;
        if (!p->ops[i].ended && (at == RLT_NONE || p->ops[i].rank < p->ops[at].rank))
            at = i;
    }
    snprintf(place, sizeof place, "%u of %u operations pending", pending, p->n);
    assert_string_equal(err->where, place);
    for (; !seen[at]; at = waited_for(p, at)) {
        seen[at] = true;
        assert_true(waited_for(p, at) != RLT_NONE);
    }
    size_t used = say_rank(text, sizeof text, p, at);
    uint32_t op = at;
    do {
        op = waited_for(p, op);
        used += (size_t)snprintf(text + used, sizeof text - used, " waits for ");
        if (++shown == 12 && op != at) {
            snprintf(text + used, sizeof text - used, "...");
            break;
        }
        used += say_rank(text + used, sizeof text - used, p, op);
        if (op == at)
            snprintf(text + used, sizeof text - used, " (a cycle)");
    } while (op != at);
    assert_string_equal(err->what, text);
}

static int affine(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err)
{
    (void)t;
    (void)err;
    *duration_ps = carried(req->bytes, req->n);
    return 0;
}

/* Gives bytes to some communications, and steps to all operations. */
static void draw_sizes(plan *p, dice *d)
{
    uint64_t bytes[COMMS];
    uint32_t steps = 1 + below(d, STEPS), share = below(d, 3), least = below(d, 6);
    for (uint32_t r = 0; r < p->n_ranks && !least; r++)
        p->delays[r] = 1;
    for (uint32_t k = 0; k < p->n_comms; k++)
        bytes[k] = below(d, 2) < share ? 1 + roll(d, 20000) : 0;
    for (uint32_t i = 0; i < p->n; i++) {
        p->ops[i].step = (uint16_t)(i * steps / p->n);
        p->ops[i].bytes = p->ops[i].comm == RLT_NONE ? 0 : bytes[p->ops[i].comm];
    }
}

static void random_programs_take_the_time_of_the_reference(void **state)
{
    plan *p = malloc(sizeof *p);
    rlt_topology *t = NULL;
    rlt_timing timing = {.name = "affine", .duration = affine};
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
        draw_sizes(p, &d);
        rlt_program *program = plan_build(p);
        run_reference(p);
        bool whole = true;
        for (uint32_t i = 0; i < p->n; i++)
            whole = whole && p->ops[i].ended;
        assert_int_equal(rlt_placement_identity(t, p->n_ranks, &place, &err), 0);
        rlt_replay_options o = plan_options(p);
        o.topology = t;
        o.placement = &place;
        o.timing = &timing;
        if (rlt_replay_create(program, &o, &x, &err))
            fail_msg("%s: %s", err.where, err.what);
        int rc = rlt_replay_run(x, &err);
        assert_int_equal(rc, whole ? 0 : RLT_ESTALL);
        assert_operations(p, program, x, seed);
        if (!whole)
            assert_report(p, &err);
        if (whole) {
            assert_same(p, x);
            assert_communications(p, program, x);
            assert_iterations(p, x);
            assert_path(program, x);
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
