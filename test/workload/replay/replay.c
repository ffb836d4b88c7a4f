/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replay of small programs whose times follow by hand: crossbar of 50 GB/s (20 ps per byte) and 500 ns per
 * link. */
#include "workload/replay/replay.h"
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/links.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/timing/timing.h"

enum { MIB = 1 << 20 };

/* All-reduce of 1 MiB by two ranks, ring: two steps of 512 KiB: 2 (524 288 * 20 ps + 1 us). */
static const rlt_time pair_ps = 2 * (524288 * 20 + 1000000);

typedef struct fixture {
    rlt_builder *b;
    rlt_program *p;
    rlt_topology *t;
    rlt_replay_options o;
    rlt_replay *r;
    rlt_error err;
} fixture;

static void open_fixture(fixture *f, uint32_t ranks, const char *net)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(rlt_builder_create(ranks, &f->b, &f->err), 0);
    assert_int_equal(rlt_topology_load(net, NULL, &f->t, &f->err), 0);
    f->o = rlt_replay_options_default();
    f->o.topology = f->t;
}

static void close_fixture(fixture *f)
{
    rlt_replay_free(f->r);
    rlt_program_free(f->p);
    rlt_topology_free(f->t);
}

static int go(fixture *f)
{
    if (!f->p && rlt_builder_finish(f->b, "test", &f->p, &f->err) < 0)
        fail_msg("%s: %s", f->err.where, f->err.what);
    rlt_replay_free(f->r);
    f->r = NULL;
    if (rlt_replay_create(f->p, &f->o, &f->r, &f->err) < 0)
        fail_msg("%s: %s", f->err.where, f->err.what);
    return rlt_replay_run(f->r, &f->err);
}

static uint32_t timed(fixture *f, rlt_op_kind kind, uint32_t rank, uint32_t resource, rlt_time duration,
                      const char *name)
{
    rlt_op_desc d = rlt_op_desc_init(kind, rank);
    d.resource = resource;
    d.duration_ps = duration;
    d.name = rlt_build_string(f->b, name, strlen(name));
    return rlt_build_op(f->b, &d);
}

static uint32_t all_reduce(fixture *f, uint32_t rank, uint32_t group, uint64_t bytes)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, rank);
    d.coll = RLT_ALL_REDUCE;
    d.group = group;
    d.bytes = bytes;
    d.name = rlt_build_string(f->b, "all_reduce", 10);
    return rlt_build_op(f->b, &d);
}

static uint32_t message(fixture *f, rlt_op_kind kind, uint32_t rank, uint32_t peer, uint64_t bytes,
                        uint32_t tag)
{
    rlt_op_desc d = rlt_op_desc_init(kind, rank);
    d.peer = peer;
    d.bytes = bytes;
    d.tag = tag;
    d.name = rlt_build_string(f->b, kind == RLT_OP_SEND ? "send" : "recv", 4);
    return rlt_build_op(f->b, &d);
}

static void check_accounts(const fixture *f)
{
    for (uint32_t i = 0; i < f->p->n_ranks; i++) {
        rlt_rank_result k = rlt_replay_rank(f->r, i);
        assert_int_equal(k.compute_ps + k.exposed_comm_ps + k.host_ps + k.idle_ps, k.end_ps - k.start_ps);
    }
    rlt_path_item *items;
    uint32_t n;
    rlt_error err = {0};
    assert_int_equal(rlt_replay_critical_path(f->r, &items, &n, &err), 0);
    assert_true(n > 0);
    assert_int_equal(items[0].end_ps, rlt_replay_time(f->r));
    assert_int_equal(items[n - 1].begin_ps, 0);
    for (uint32_t i = 0; i + 1 < n; i++)
        assert_int_equal(items[i].begin_ps, items[i + 1].end_ps);
    free(items);
}

/* Two ranks compute 10 and 30 us, then reduce: the early one waits 20 us. */
static void early_rank_waits(void **state)
{
    static const uint32_t both[] = {0, 1};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t s = rlt_build_resource(f.b, r, RLT_RES_STREAM, "stream 7");
        uint32_t c = timed(&f, RLT_OP_COMPUTE, r, s, r ? 30 * RLT_US : 10 * RLT_US, "gemm");
        rlt_build_dep(f.b, all_reduce(&f, r, g, MIB), c);
    }
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), 30 * RLT_US + pair_ps);
    rlt_rank_result early = rlt_replay_rank(f.r, 0), late = rlt_replay_rank(f.r, 1);
    assert_int_equal(early.comm_wait_ps, 20 * RLT_US);
    assert_int_equal(late.comm_wait_ps, 0);
    assert_int_equal(early.comm_transfer_ps, pair_ps);
    assert_int_equal(early.compute_ps, 10 * RLT_US);
    assert_int_equal(early.exposed_comm_ps, 20 * RLT_US + pair_ps);
    assert_int_equal(rlt_replay_comm(f.r, 0).last_member, 1);

    /* Accelerators twice as fast, and a network of a tenth: times follow. */
    f.o.compute_scale = 2;
    f.o.network_scale = 0.1;
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), 15 * RLT_US + 10 * pair_ps);

    /* A straggler. */
    double slow[] = {1, 0.5};
    f.o.compute_scale = f.o.network_scale = 1;
    f.o.rank_compute_scale = slow;
    assert_int_equal(go(&f), 0);
    assert_int_equal(rlt_replay_time(f.r), 60 * RLT_US + pair_ps);
    close_fixture(&f);
}

/* Compute beside a collective hides it; only the rest of the collective is exposed. */
static void overlap_hides_communication(void **state)
{
    static const uint32_t both[] = {0, 1};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t s = rlt_build_resource(f.b, r, RLT_RES_STREAM, "stream 7");
        timed(&f, RLT_OP_COMPUTE, r, s, 5 * RLT_US, "gemm");
        all_reduce(&f, r, g, MIB);
    }
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    rlt_rank_result k = rlt_replay_rank(f.r, 0);
    assert_int_equal(k.end_ps, pair_ps);
    assert_int_equal(k.comm_ps, pair_ps);
    assert_int_equal(k.exposed_comm_ps, pair_ps - 5 * RLT_US);
    close_fixture(&f);
}

/* Two concurrent collectives share the links: both steps of both take twice the serialisation. */
static void collectives_share_links(void **state)
{
    static const uint32_t both[] = {0, 1};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "a", both, 2), h = rlt_build_group(f.b, "b", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        all_reduce(&f, r, g, MIB);
        all_reduce(&f, r, h, MIB);
    }
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), 2 * (2 * 524288 * 20 + 1000000));
    close_fixture(&f);
}

/* A stream runs one operation at a time, in the order built; other resources run beside it. */
static void streams_serialise(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 1, "switch:2@50GB/s,500ns");
    uint32_t s = rlt_build_resource(f.b, 0, RLT_RES_STREAM, "stream 7");
    uint32_t h = rlt_build_resource(f.b, 0, RLT_RES_HOST, "thread 1");
    uint32_t first = timed(&f, RLT_OP_COMPUTE, 0, s, 3 * RLT_US, "a");
    uint32_t second = timed(&f, RLT_OP_COMPUTE, 0, s, 4 * RLT_US, "b");
    uint32_t host = timed(&f, RLT_OP_HOST, 0, h, 10 * RLT_US, "python");
    uint32_t delay = timed(&f, RLT_OP_DELAY, 0, RLT_NONE, 2 * RLT_US, "gap");
    uint32_t none = timed(&f, RLT_OP_COMPUTE, 0, RLT_NONE, 0, "nothing");
    rlt_build_dep(f.b, delay, host);
    rlt_build_dep(f.b, none, delay);
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_op(f.r, first).start_ps, 0);
    assert_int_equal(rlt_replay_op(f.r, second).start_ps, 3 * RLT_US);
    assert_int_equal(rlt_replay_op(f.r, second).cause, first);
    rlt_rank_result k = rlt_replay_rank(f.r, 0);
    assert_int_equal(k.compute_ps, 7 * RLT_US);
    assert_int_equal(k.host_ps, 3 * RLT_US);
    assert_int_equal(k.idle_ps, 2 * RLT_US);
    assert_int_equal(rlt_replay_time(f.r), 12 * RLT_US);
    close_fixture(&f);
}

static void start_offsets(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    for (uint32_t r = 0; r < 2; r++) {
        timed(&f, RLT_OP_HOST, r, rlt_build_resource(f.b, r, RLT_RES_HOST, "thread"), 10 * RLT_US, "step");
        rlt_build_rank_start(f.b, r, 100 * RLT_US + (rlt_time)r * 7 * RLT_US);
    }
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_rank(f.r, 0).end_ps, 10 * RLT_US);
    assert_int_equal(rlt_replay_rank(f.r, 1).start_ps, 7 * RLT_US);
    assert_int_equal(rlt_replay_rank(f.r, 1).end_ps, 17 * RLT_US);
    f.o.no_skew = true;
    assert_int_equal(go(&f), 0);
    assert_int_equal(rlt_replay_time(f.r), 10 * RLT_US);
    rlt_time delay[] = {3 * RLT_US, 0};
    f.o.rank_delay_ps = delay;
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_rank(f.r, 0).start_ps, 3 * RLT_US);
    assert_int_equal(rlt_replay_time(f.r), 13 * RLT_US);
    close_fixture(&f);
}

static void iterations_end_with_their_last_operation(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 1, "switch:2@50GB/s,500ns");
    uint32_t s = rlt_build_resource(f.b, 0, RLT_RES_STREAM, "stream 7");
    for (uint16_t i = 0; i < 3; i++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
        d.resource = s;
        d.step = i;
        d.duration_ps = (i + 1) * RLT_US;
        rlt_build_op(f.b, &d);
    }
    assert_int_equal(go(&f), 0);
    assert_int_equal(rlt_replay_iterations(f.r), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rlt_replay_iteration_ps(f.r, i), (i + 1) * RLT_US);
    close_fixture(&f);
}

static int fixed_duration(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration, rlt_error *err)
{
    (void)t;
    (void)err;
    *duration = (rlt_time)req->bytes * RLT_NS;
    return 0;
}

/* A message of 1 MiB leaves when it is sent and takes 1 048 576 * 20 ps + 1 us; its receive ends no earlier
 * than that, and no earlier than it is posted. */
static void messages_meet(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t c = timed(&f, RLT_OP_COMPUTE, 1, RLT_NONE, 4 * RLT_US, "prepare");
    message(&f, RLT_OP_SEND, 0, 1, MIB, 5);
    rlt_build_dep(f.b, message(&f, RLT_OP_RECV, 1, 0, MIB, 5), c);
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), MIB * 20 + 1000000);
    assert_int_equal(rlt_replay_rank(f.r, 1).comm_wait_ps, 0);
    assert_int_equal(rlt_replay_rank(f.r, 1).comm_transfer_ps, MIB * 20 + 1000000 - 4 * RLT_US);
    f.o.compute_scale = 0.1; /* posted at 40 us: the message is there */
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), 40 * RLT_US);
    assert_int_equal(rlt_replay_comm(f.r, 0).end_ps, MIB * 20 + 1000000);
    assert_int_equal(rlt_replay_rank(f.r, 1).comm_transfer_ps, 0);
    close_fixture(&f);
}

/* The bound of a message is that of its own size: its bytes at 20 ps each, and at least a latency of 1 us. */
static void bounds_of_messages(void **state)
{
    static const uint64_t bytes[] = {MIB, MIB, 700, 2 * MIB, 700, MIB};
    enum { MESSAGES = sizeof bytes / sizeof *bytes };
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    for (uint32_t i = 0; i < MESSAGES; i++)
        for (uint32_t r = 0; r < 2; r++)
            message(&f, r ? RLT_OP_RECV : RLT_OP_SEND, r, 1 - r, bytes[i], i);
    assert_int_equal(go(&f), 0);
    for (uint32_t i = 0; i < MESSAGES; i++)
        assert_int_equal(rlt_replay_comm(f.r, i).bound_ps, bytes[i] == 700 ? 1000000 : bytes[i] * 20);
    close_fixture(&f);
}

/* Collectives of one size in one group have bounds of their own: an all-reduce moves twice what an all-gather does. */
static void bounds_of_collectives(void **state)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    static const rlt_coll_kind kinds[] = {RLT_ALL_GATHER, RLT_ALL_REDUCE, RLT_ALL_GATHER};
    fixture f;
    (void)state;
    open_fixture(&f, 4, "switch:4@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "", all, 4);
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t k = 0, last = RLT_NONE; k < 3; k++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
            d.coll = kinds[k];
            d.group = g;
            d.bytes = 4 * MIB;
            uint32_t op = rlt_build_op(f.b, &d);
            if (last != RLT_NONE)
                rlt_build_dep(f.b, op, last);
            last = op;
        }
    assert_int_equal(go(&f), 0);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(rlt_replay_comm(f.r, k).bound_ps, (rlt_time)(k == 1 ? 6 : 3) * MIB * 20);
    close_fixture(&f);
}

/* Each rank waits to receive before it sends: the run stalls, and the report names the cycle. */
static void deadlock_is_named(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t in = message(&f, RLT_OP_RECV, r, 1 - r, MIB, 0);
        rlt_build_dep(f.b, message(&f, RLT_OP_SEND, r, 1 - r, MIB, 0), in);
    }
    assert_int_equal(go(&f), RLT_ESTALL);
    assert_non_null(strstr(f.err.where, "4 of 4 operations pending"));
    assert_non_null(strstr(f.err.what, "(a cycle)"));
    assert_non_null(strstr(
        f.err.what, "rank 0 'recv' waits for rank 1 'send' waits for rank 1 'recv' waits for rank 0 'send'"));
    close_fixture(&f);
}

/* Both send first and then receive: messages leave without waiting, so there is no cycle. */
static void sends_do_not_wait(void **state)
{
    fixture f;
    (void)state;
    for (int timed_mode = 0; timed_mode < 2; timed_mode++) {
        rlt_timing timing = {.name = "fixed", .duration = fixed_duration};
        open_fixture(&f, 2, "switch:2@50GB/s,500ns");
        for (uint32_t r = 0; r < 2; r++) {
            uint32_t out = message(&f, RLT_OP_SEND, r, 1 - r, 700, 0);
            rlt_build_dep(f.b, message(&f, RLT_OP_RECV, r, 1 - r, 700, 0), out);
        }
        f.o.timing = timed_mode ? &timing : NULL;
        assert_int_equal(go(&f), 0);
        check_accounts(&f);
        assert_int_equal(rlt_replay_time(f.r), timed_mode ? 700 * RLT_NS : 700 * 20 + 1000000);
        close_fixture(&f);
    }
}

static void lonely_send_is_named(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    message(&f, RLT_OP_SEND, 0, 1, MIB, 3);
    assert_int_equal(go(&f), RLT_ESTALL);
    assert_non_null(strstr(f.err.what, "no matching receive"));
    close_fixture(&f);
}

static void time_limit_leaves_partial_results(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, 1, "switch:2@50GB/s,500ns");
    uint32_t s = rlt_build_resource(f.b, 0, RLT_RES_STREAM, "stream 7");
    timed(&f, RLT_OP_COMPUTE, 0, s, 3 * RLT_US, "a");
    timed(&f, RLT_OP_COMPUTE, 0, s, 4 * RLT_US, "b");
    f.o.until_ps = 5 * RLT_US;
    assert_int_equal(go(&f), RLT_ECANCELLED);
    assert_int_equal(rlt_replay_done_ops(f.r), 1);
    rlt_rank_result k = rlt_replay_rank(f.r, 0);
    assert_int_equal(k.end_ps, 5 * RLT_US);
    assert_int_equal(k.compute_ps, 5 * RLT_US);
    close_fixture(&f);
}

/* A rank that has not begun has no span. What takes no time is the end of the run, and its only stretch. */
static void instants(void **state)
{
    static const rlt_time delays[] = {0, 10 * RLT_US};
    rlt_path_item *path = NULL;
    uint32_t n = 0;
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    timed(&f, RLT_OP_COMPUTE, 0, RLT_NONE, 0, "a");
    f.o.rank_delay_ps = delays;
    f.o.until_ps = 5 * RLT_US;
    timed(&f, RLT_OP_COMPUTE, 1, RLT_NONE, RLT_US, "b");
    assert_int_equal(go(&f), RLT_ECANCELLED);
    rlt_rank_result k = rlt_replay_rank(f.r, 1);
    assert_true(k.start_ps == 0 && k.end_ps == 0 && k.compute_ps == 0 && k.idle_ps == 0);
    assert_int_equal(rlt_replay_critical_path(f.r, &path, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_true(path[0].kind == RLT_PATH_COMPUTE && path[0].op == 0 && path[0].begin_ps == 0 &&
                path[0].end_ps == 0);
    free(path);
    close_fixture(&f);
}

static void timing_stands_in_for_the_network(void **state)
{
    static const uint32_t both[] = {0, 1};
    rlt_timing timing = {.name = "fixed", .duration = fixed_duration};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t c = timed(&f, RLT_OP_COMPUTE, r, RLT_NONE, (r + 1) * RLT_US, "gemm");
        rlt_build_dep(f.b, all_reduce(&f, r, g, 700), c);
    }
    f.o.timing = &timing;
    assert_int_equal(go(&f), 0);
    check_accounts(&f);
    assert_int_equal(rlt_replay_time(f.r), 2 * RLT_US + 700 * RLT_NS);
    assert_null(rlt_replay_net(f.r));
    close_fixture(&f);
}

/* A message that takes no time has arrived when it is sent, at 0, and waits for its receive. */
static void messages_of_no_time(void **state)
{
    rlt_timing timing = {.name = "fixed", .duration = fixed_duration};
    (void)state;
    for (int timed_by = 0; timed_by < 2; timed_by++) {
        fixture f;
        open_fixture(&f, 2, "switch:2@50GB/s,0ns");
        uint32_t late = timed(&f, RLT_OP_DELAY, 1, RLT_NONE, 5 * RLT_US, "late");
        message(&f, RLT_OP_SEND, 0, 1, 0, 0);
        uint32_t receive = message(&f, RLT_OP_RECV, 1, 0, 0, 0);
        rlt_build_dep(f.b, receive, late);
        f.o.timing = timed_by ? &timing : NULL;
        assert_int_equal(go(&f), 0);
        check_accounts(&f);
        rlt_comm_result c = rlt_replay_comm(f.r, 0);
        assert_true(c.first_arrival_ps == 0 && c.last_arrival_ps == 0 && c.end_ps == 0 && c.last_member == 0);
        rlt_op_result o = rlt_replay_op(f.r, receive);
        assert_true(o.start_ps == 5 * RLT_US && o.end_ps == 5 * RLT_US);
        assert_int_equal(rlt_replay_op(f.r, 0).end_ps, 0);
        close_fixture(&f);
    }
}

/* The ring cannot do uneven all-to-alls: refused if it was asked for, left to the choice with
 * algorithm_where_able. */
static void algorithm_where_able(void **state)
{
    static const uint32_t both[] = {0, 1};
    static const uint64_t counts[2][2] = {{0, 1000}, {3000, 0}};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    uint32_t g = rlt_build_group(f.b, "", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.coll = RLT_ALL_TO_ALL;
        d.group = g;
        d.bytes = counts[r][1 - r];
        d.send_counts = counts[r];
        rlt_build_op(f.b, &d);
    }
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        f.o.algorithm[k] = &rlt_ring;
    assert_int_equal(go(&f), RLT_EUNSUPPORTED);
    f.o.algorithm_where_able = true;
    f.err = (rlt_error){0};
    assert_int_equal(go(&f), 0);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "direct");
    /* Rules that cannot: the last one tells why, as it does alone. */
    const rlt_algorithm_rule rules[] = {{.kind = RLT_ALL_TO_ALL, .algorithm = &rlt_tree},
                                        {.kind = RLT_ALL_TO_ALL, .algorithm = &rlt_ring}};
    rlt_error told[2];
    f.o.algorithm_where_able = false;
    for (uint32_t alone = 0; alone < 2; alone++) {
        f.o.rules = rules + alone;
        f.o.n_rules = 2 - alone;
        f.err = (rlt_error){0};
        assert_int_equal(go(&f), RLT_EUNSUPPORTED);
        told[alone] = f.err;
    }
    assert_string_equal(told[0].what, told[1].what);
    assert_null(strstr(told[0].what, "tree"));
    f.err = (rlt_error){0};
    f.o.n_rules = 0;
    f.o.algorithm_where_able = true;
    assert_int_equal(go(&f), 0);
    assert_int_equal(rlt_replay_time(f.r), 3000 * 20 + 2 * 500000); /* the larger message */
    check_accounts(&f);
    close_fixture(&f);
}

/* Compute of 10 ms beside a communication of duration c loses c (1 - 1 / 1.5) of its pace, whether the
 * communication begins with it, begins later, or outlasts it. */
static void overlap_slows(void **state)
{
    static const rlt_time compute[] = {10 * RLT_MS, RLT_MS, RLT_US};
    (void)state;
    for (size_t i = 0; i < sizeof compute / sizeof *compute; i++)
        for (int later = 0; later < 2; later++) {
            fixture f;
            static const uint32_t both[] = {0, 1};
            open_fixture(&f, 2, "switch:2@50GB/s,500ns");
            uint32_t g = rlt_build_group(f.b, "", both, 2);
            for (uint32_t r = 0; r < 2; r++) {
                uint32_t device = rlt_build_resource(f.b, r, RLT_RES_STREAM, "device");
                uint32_t other = rlt_build_resource(f.b, r, RLT_RES_STREAM, "other");
                timed(&f, RLT_OP_COMPUTE, r, device, compute[i], "compute");
                uint32_t wait = timed(&f, RLT_OP_DELAY, r, other, later ? RLT_MS / 4 : 0, "wait");
                rlt_build_dep(f.b, all_reduce(&f, r, g, 64 * MIB), wait);
            }
            f.o.overlap_slowdown = 1.5;
            assert_int_equal(go(&f), 0);
            rlt_time begin = later ? RLT_MS / 4 : 0, end = rlt_replay_comm(f.r, 0).end_ps;
            /* Slow from begin to end. */
            rlt_time alone = compute[i] < begin ? compute[i] : begin, left = compute[i] - alone;
            double slow = (double)left * 1.5;
            double expected = slow <= (double)(end - begin) || left == 0
                                  ? (double)alone + slow
                                  : (double)end + (double)left - (double)(end - begin) / 1.5;
            double got = (double)rlt_replay_op(f.r, 0).end_ps;
            if (got < expected - 2 || got > expected + 2)
                fail_msg("ends at %.0f ps, expected %.1f", got, expected);
            check_accounts(&f);
            f.o.overlap_slowdown = 0.5;
            assert_int_equal(rlt_replay_create(f.p, &f.o, &(rlt_replay *){0}, &f.err), RLT_ERANGE);
            close_fixture(&f);
        }
}

/* Fails unless two runs took the same time and used each link alike. Frees the copies. */
static void same_links(const fixture *f, rlt_time end, rlt_link_usage *before, rlt_link_class *classes,
                       uint32_t n)
{
    rlt_error err = {0};
    const rlt_usage *u = rlt_replay_net(f->r)->usage;
    rlt_link_class *now = NULL;
    uint32_t n_now = 0;
    assert_int_equal(rlt_replay_time(f->r), end);
    for (uint32_t i = 0; i < rlt_topology_links(f->t); i++) {
        rlt_link_usage a = rlt_usage_link(u, i), b = before[i];
        if (a.bytes != b.bytes || a.busy_ps != b.busy_ps || a.active_ps != b.active_ps ||
            a.messages != b.messages || a.bw_Bps != b.bw_Bps)
            fail_msg("link %u: %llu and %llu bytes", i, (unsigned long long)b.bytes,
                     (unsigned long long)a.bytes);
    }
    assert_int_equal(rlt_links_list(f->t, u, end, true, &now, &n_now, &err), 0);
    assert_int_equal(n_now, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(now[i].first, classes[i].first);
        assert_int_equal(now[i].count, classes[i].count);
    }
    free(now);
    free(before);
    free(classes);
}

/* Three ranks far apart on a network of thousands of links: the run that keeps a state for the links on
 * their routes is the one that keeps it for all, as it does if a link may change. */
static void few_of_many_links(void **state)
{
    static const uint32_t all[] = {0, 1, 2};
    uint32_t at[] = {0, 9, 21}, link = 0;
    rlt_placement where = {.n = 3, .accelerator = at};
    const rlt_link_event never = {.when_ps = RLT_S, .links = &link, .n = 1, .factor = 1};
    (void)state;
    for (int v = 0; v < 4; v++) {
        fixture f;
        open_fixture(&f, 3, "switch:4@200GB/s,100ns*fat-tree:512@50GB/s,500ns,hosts_per_leaf=2");
        f.o.placement = &where;
        f.o.model = v & 1 ? &rlt_net_flow : &rlt_net_alpha_beta;
        f.o.endpoint.injection = v & 2 ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
        uint32_t g = rlt_build_group(f.b, "", all, 3);
        for (uint32_t r = 0; r < 3; r++)
            all_reduce(&f, r, g, MIB + 1);
        message(&f, RLT_OP_SEND, 0, 1, MIB, 0);
        message(&f, RLT_OP_SEND, 2, 1, MIB + 3, 0);
        message(&f, RLT_OP_RECV, 1, 0, MIB, 0);
        message(&f, RLT_OP_RECV, 1, 2, MIB + 3, 0);
        f.o.link_events = &never;
        f.o.n_link_events = 1;
        assert_int_equal(go(&f), 0);
        assert_null(rlt_usage_fold(rlt_replay_net(f.r)->usage));
        uint32_t links = rlt_topology_links(f.t), n = 0;
        rlt_time end = rlt_replay_time(f.r);
        rlt_link_usage *before = malloc(links * sizeof *before);
        rlt_link_class *classes = NULL;
        assert_non_null(before);
        for (uint32_t i = 0; i < links; i++)
            before[i] = rlt_usage_link(rlt_replay_net(f.r)->usage, i);
        assert_int_equal(rlt_links_list(f.t, rlt_replay_net(f.r)->usage, end, true, &classes, &n, &f.err), 0);
        f.o.n_link_events = 0;
        assert_int_equal(go(&f), 0);
        assert_non_null(rlt_usage_fold(rlt_replay_net(f.r)->usage));
        same_links(&f, end, before, classes, n);
        close_fixture(&f);
    }
}

/* Neither traffic nor link events where no network is simulated; and a replay runs once. */
static void needs_a_network(void **state)
{
    static const uint32_t links[] = {0};
    static const rlt_link_event event = {.when_ps = 5, .links = links, .n = 1, .factor = 0.5};
    static const rlt_background traffic = {.src = 0, .dst = 1, .rate_Bps = 1, .bytes = 1};
    rlt_timing timing = {.name = "fixed", .duration = fixed_duration};
    fixture f;
    (void)state;
    open_fixture(&f, 2, "switch:2@50GB/s,500ns");
    timed(&f, RLT_OP_COMPUTE, 0, RLT_NONE, RLT_US, "gemm");
    assert_int_equal(go(&f), 0);
    assert_int_equal(rlt_replay_run(f.r, &f.err), RLT_EUSAGE);
    assert_string_equal(f.err.where, "replay");
    assert_string_equal(f.err.what, "a replay runs once");
    for (int i = 0; i < 2; i++) {
        rlt_replay *r = NULL;
        f.err = (rlt_error){0};
        f.o.timing = &timing;
        f.o.link_events = &event;
        f.o.background = &traffic;
        f.o.n_link_events = i == 0;
        f.o.n_background = i == 1;
        assert_int_equal(rlt_replay_create(f.p, &f.o, &r, &f.err), RLT_EUSAGE);
        assert_string_equal(f.err.where, i ? "background traffic" : "link events");
        assert_string_equal(f.err.what, i ? "needs a simulated network" : "need a simulated network");
        assert_null(r);
        f.o.timing = NULL; /* with a network both are taken */
        assert_int_equal(rlt_replay_create(f.p, &f.o, &r, &f.err), 0);
        rlt_replay_free(r);
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_of_many_links),
        cmocka_unit_test(early_rank_waits),
        cmocka_unit_test(overlap_slows),
        cmocka_unit_test(overlap_hides_communication),
        cmocka_unit_test(collectives_share_links),
        cmocka_unit_test(streams_serialise),
        cmocka_unit_test(start_offsets),
        cmocka_unit_test(iterations_end_with_their_last_operation),
        cmocka_unit_test(algorithm_where_able),
        cmocka_unit_test(messages_meet),
        cmocka_unit_test(messages_of_no_time),
        cmocka_unit_test(bounds_of_messages),
        cmocka_unit_test(bounds_of_collectives),
        cmocka_unit_test(deadlock_is_named),
        cmocka_unit_test(sends_do_not_wait),
        cmocka_unit_test(lonely_send_is_named),
        cmocka_unit_test(time_limit_leaves_partial_results),
        cmocka_unit_test(instants),
        cmocka_unit_test(timing_stands_in_for_the_network),
        cmocka_unit_test(needs_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
