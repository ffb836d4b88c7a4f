/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replay with reactive protocols on a star of 100 Gb/s, links of 1 us and a switch of 500 ns, packets of 1024
 * + 82 bytes (tau = 88.48 ns). An all-reduce by SwitchML of C chunks takes (C - 1) tau + RTT0 with RTT0 = 2
 * (tau + d) + s. For 4096 chunks this is 365 002 560 ps, the reference value of an independent packet model.
 */
#include "collectives/algorithm.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/traces/reacting.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

static const rlt_time whole = 365002560;

static void finish(fixture *f)
{
    int rc = go(f);
    if (rc)
        fail_msg("%d: %s: %s", rc, f->err.where, f->err.what);
    for (uint32_t i = 0; i < f->p->n_comms; i++) {
        rlt_comm_result c = rlt_replay_comm(f->r, i);
        assert_true(c.end_ps - c.last_arrival_ps >= c.bound_ps && c.bound_ps > 0);
    }
}

/* Builds consecutive all-reduces of this many chunks by the ranks first .. first + n-1, after `compute`. */
static void all_reduces(fixture *f, uint32_t first, uint32_t n, uint32_t times, uint32_t chunks)
{
    uint32_t ranks[WORKERS] = {0};
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = first + i;
    uint32_t group = rlt_build_group(f->b, first ? "second" : "first", ranks, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t stream = rlt_build_resource(f->b, ranks[i], RLT_RES_STREAM, "stream");
        for (uint32_t k = 0; k < times; k++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, ranks[i]);
            d.coll = RLT_ALL_REDUCE;
            d.group = group;
            d.resource = stream;
            d.bytes = (uint64_t)chunks * CHUNK;
            rlt_build_op(f->b, &d);
        }
    }
}

static void golden_time(void **state)
{
    fixture f;
    uint32_t node;
    (void)state;
    assert_int_equal(time_of(4096), whole);
    open_fixture(&f, STAR, "switchml");
    all_reduces(&f, 0, WORKERS, 1, 4096);
    finish(&f);
    assert_int_equal(rlt_replay_time(f.r), whole);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "switchml");
    /* Every link of a worker carries every chunk once each way; the link of the ninth accelerator carries
     * nothing. */
    const rlt_usage *u = rlt_replay_net(f.r)->usage;
    for (uint32_t l = 0; l < rlt_topology_links(f.t); l++) {
        rlt_link e = rlt_topology_link(f.t, l);
        bool idle = e.src == WORKERS || e.dst == WORKERS;
        assert_int_equal(rlt_usage_link(u, l).bytes, idle ? 0 : 4096 * (CHUNK + 82));
    }
    const rlt_aggregator *a = rlt_fabric_switch(rlt_replay_fabric(f.r), 0, &node);
    assert_int_equal(rlt_aggregator_counts(a, RLT_NONE).completions, 4096);
    close_fixture(&f);
}

/* Members that have arrived begin; the delay of the last one delays all (Trio's observation). */
static void late_member(void **state)
{
    fixture f;
    rlt_time late[WORKERS] = {0};
    (void)state;
    open_fixture(&f, STAR, "switchml");
    all_reduces(&f, 0, WORKERS, 1, 4096);
    late[7] = 500 * RLT_US;
    f.o.rank_delay_ps = late;
    finish(&f);
    assert_int_equal(rlt_replay_time(f.r), whole + 500 * RLT_US);
    rlt_comm_result c = rlt_replay_comm(f.r, 0);
    assert_int_equal(c.last_member, 7);
    assert_int_equal(c.end_ps - c.last_arrival_ps, whole);
    close_fixture(&f);
}

/* More collectives than the switch has room for at once: each gives its slots to the next one. Workers end
 * together, so each collective begins where the one before ended. */
static void one_after_the_other(void **state)
{
    enum { TIMES = 300, CHUNKS = 300 };
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    f.aggregator.slots = 256;
    all_reduces(&f, 0, WORKERS, TIMES, CHUNKS);
    finish(&f);
    assert_int_equal(rlt_fabric_jobs(rlt_replay_fabric(f.r)), TIMES);
    assert_int_equal(rlt_replay_time(f.r), TIMES * time_of(CHUNKS));
    close_fixture(&f);
}

/* Both are there at 0: the second begins when the first has ended. */
static void both_at_once(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    uint32_t group = rlt_build_group(f.b, "", (const uint32_t[]){0, 1, 2}, 3);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t k = 0; k < 2; k++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
            d.coll = RLT_ALL_REDUCE;
            d.group = group;
            d.bytes = 10 * CHUNK;
            rlt_build_op(f.b, &d);
        }
    finish(&f);
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(rlt_replay_comm(f.r, k).last_arrival_ps, 0);
        assert_int_equal(rlt_replay_comm(f.r, k).end_ps, (k + 1) * time_of(10));
    }
    close_fixture(&f);
}

/* Two concurrent groups have links of their own; with room for only one, the other is refused. */
static void two_groups(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    all_reduces(&f, 0, 4, 1, 4096);
    all_reduces(&f, 4, 4, 1, 4096);
    finish(&f);
    assert_int_equal(rlt_replay_time(f.r), whole);

    f.aggregator.slots = 256;
    assert_int_equal(go(&f), RLT_EUNSUPPORTED);
    assert_non_null(strstr(f.err.what, "slots"));
    f.o.algorithm_where_able = true;
    finish(&f);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "switchml");
    assert_string_equal(rlt_replay_comm(f.r, 1).algorithm, "ring");
    assert_int_equal(rlt_replay_comm(f.r, 0).end_ps, whole);
    assert_true(rlt_replay_comm(f.r, 1).end_ps > whole);
    close_fixture(&f);
}

/* Rules by size and by group size. A collective that the switch refuses goes to the next rule. */
static void rules(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    f.o.reacting[RLT_ALL_REDUCE] = NULL;
    rlt_algorithm_rule by_size[] = {
        {.kind = RLT_ALL_REDUCE, .algorithm = &rlt_direct},
        {.kind = RLT_ALL_REDUCE, .members = 4, .from_bytes = 1 << 20, .reacting = &f.reacting}};
    f.o.rules = by_size;
    f.o.n_rules = 2;
    all_reduces(&f, 0, 4, 1, 1024);
    all_reduces(&f, 4, 4, 1, 1023);
    finish(&f);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "switchml");
    assert_string_equal(rlt_replay_comm(f.r, 1).algorithm, "direct");
    f.aggregator.width = 3; /* the switch adds up at most three contributions */
    finish(&f);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "direct");
    close_fixture(&f);
}

/* A parameter server on an accelerator that does not train. Its link carries the pushes of all n workers, and
 * nothing is aggregated: C n tau plus the latency (reference: f = 0). */
static void servers_apart(void **state)
{
    enum { CHUNKS = 512 };
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "ps-switch");
    assert_int_equal(rlt_settings_set(f.reacting.protocol, f.reacting.values, "share", "0", &f.err), 0);
    all_reduces(&f, 0, WORKERS, 1, CHUNKS);
    finish(&f);
    assert_int_equal(rlt_replay_time(f.r), (rlt_time)WORKERS * CHUNKS * TAU + 3 * TAU + 4 * D + 2 * S);
    close_fixture(&f);

    open_fixture(&f, "switch:8@100Gbps,1us,in_network=reduce+multicast", "ps-switch");
    all_reduces(&f, 0, WORKERS, 1, CHUNKS);
    assert_int_equal(go(&f), RLT_ERANGE);
    assert_non_null(strstr(f.err.what, "8 of them train"));
    /* It is told, too, behind a rule that does not apply. */
    const rlt_algorithm_rule rules[] = {{.kind = RLT_ALL_REDUCE, .reacting = &f.reacting},
                                        {.kind = RLT_ALL_REDUCE, .algorithm = &rlt_point_to_point}};
    f.o.rules = rules;
    f.o.n_rules = 2;
    assert_int_equal(go(&f), RLT_ERANGE);
    assert_non_null(strstr(f.err.what, "8 of them train"));
    close_fixture(&f);
}

/* One collective at a time on a streaming tree: the second waits for the first, and its lock is not
 * refused. */
static void locks(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "sharp");
    all_reduces(&f, 0, WORKERS, 5, 4096);
    finish(&f);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(rlt_replay_comm(f.r, i).algorithm, "sharp");
    close_fixture(&f);
}

/* Lost packets are retransmitted, beside the packets of a ring on the same links; real sums are checked. */
static void losses(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    f.packet.loss = 0.01;
    f.packet.seed = 7;
    rlt_algorithm_rule ring = {.kind = RLT_ALL_REDUCE, .members = 3, .algorithm = &rlt_ring};
    f.o.rules = &ring;
    f.o.n_rules = 1;
    all_reduces(&f, 0, 5, 3, 1000);
    all_reduces(&f, 5, 3, 3, 1000);
    finish(&f);
    rlt_react_result r = rlt_fabric_result(rlt_replay_fabric(f.r), 0);
    assert_true(r.retransmissions > 0 && r.lost > 0);
    rlt_time first = rlt_replay_time(f.r);
    finish(&f);
    assert_int_equal(rlt_replay_time(f.r), first);

    f.packet.loss = 1;
    assert_int_equal(go(&f), RLT_ESTALL);
    close_fixture(&f);
}

/* A sum that is lost between two switches goes up again when a worker sends its part once more: nobody else
 * could send it. */
static void losses_between_switches(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, "fat-tree:8@100Gbps,1us,hosts_per_leaf=4,in_network=reduce+multicast", "switchml");
    f.packet.loss = 0.01;
    f.packet.seed = 7;
    all_reduces(&f, 0, WORKERS, 1, 1000);
    finish(&f);
    rlt_react_result r = rlt_fabric_result(rlt_replay_fabric(f.r), 0);
    assert_true(r.retransmissions > 0 && r.lost > 0);
    close_fixture(&f);
}

static void needs_packets(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    all_reduces(&f, 0, WORKERS, 1, 16);
    f.o.model = &rlt_net_flow;
    assert_int_equal(go(&f), RLT_EUSAGE);
    close_fixture(&f);
}

/* Reactive protocols bear links that become slower, but none that fails. */
static void links_must_not_fail(void **state)
{
    static const uint32_t links[] = {0};
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        const rlt_link_event event = {.when_ps = 5, .links = links, .n = 1, .factor = fails ? 0 : 0.5};
        fixture f;
        open_fixture(&f, STAR, "switchml");
        all_reduces(&f, 0, WORKERS, 1, 16);
        f.o.link_events = &event;
        f.o.n_link_events = 1;
        assert_int_equal(go(&f), fails ? RLT_EUNSUPPORTED : 0);
        assert_string_equal(f.err.where, fails ? "link events" : "");
        assert_string_equal(
            f.err.what, fails ? "reactive protocols do not change routes: their links must not fail" : "");
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_time),
        cmocka_unit_test(late_member),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(both_at_once),
        cmocka_unit_test(two_groups),
        cmocka_unit_test(rules),
        cmocka_unit_test(servers_apart),
        cmocka_unit_test(locks),
        cmocka_unit_test(losses),
        cmocka_unit_test(losses_between_switches),
        cmocka_unit_test(needs_packets),
        cmocka_unit_test(links_must_not_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
