/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduces of reactive protocols that wait for their group, against a second model: those of a group run in the
 * order of their first arrivals, one after the other, and end a time of their size after the later of their last
 * arrival and the end of the one before. On a star of 100 Gb/s, links of 1 us, a switch of 500 ns and packets of
 * 1024 + 82 bytes, that time is (C - 1) tau + 2 (tau + d) + s for C chunks, with tau = 88.48 ns.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/reacting.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { MOST = 7 };

static void set(rlt_reacting *x, const char *name, const char *value)
{
    rlt_error err = {0};
    if (rlt_settings_set(x->protocol, x->values, name, value, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static void finish(fixture *f)
{
    int rc = go(f);
    if (rc)
        fail_msg("%d: %s: %s", rc, f->err.where, f->err.what);
}

static uint32_t group(fixture *f, uint32_t first, uint32_t n)
{
    uint32_t ranks[WORKERS];
    char label[16];
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = first + i;
    snprintf(label, sizeof label, "from %u", first);
    return rlt_build_group(f->b, label, ranks, n);
}

/* Builds one all-reduce whose members arrive at these times. */
static void all_reduce(fixture *f, uint32_t id, uint32_t first, uint32_t n, uint32_t chunks,
                       const rlt_time *at)
{
    for (uint32_t i = 0; i < n; i++) {
        rlt_op_desc late = rlt_op_desc_init(RLT_OP_DELAY, first + i),
                    d = rlt_op_desc_init(RLT_OP_COLLECTIVE, first + i);
        late.duration_ps = at[i];
        d.coll = RLT_ALL_REDUCE;
        d.group = id;
        d.bytes = (uint64_t)chunks * CHUNK;
        uint32_t before = rlt_build_op(f->b, &late);
        rlt_build_dep(f->b, rlt_build_op(f->b, &d), before);
    }
}

/* ---- queues ---- */

typedef struct job {
    uint32_t chunks, last_member;
    rlt_time first, last, end;
    bool done;
} job;

/* Ends of all jobs of one group. */
static void run_lane(job *jobs, uint32_t n)
{
    rlt_time free_at = 0;
    for (uint32_t k = 0; k < n; k++) {
        job *next = NULL;
        for (uint32_t i = 0; i < n; i++)
            if (!jobs[i].done && (!next || jobs[i].first < next->first))
                next = &jobs[i];
        next->done = true;
        free_at = (next->last > free_at ? next->last : free_at) + time_of(next->chunks);
        next->end = free_at;
    }
}

static void random_queues(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 60; k++) {
        dice t = {.seed = 40 + k};
        fixture f;
        job jobs[2][MOST] = {{{0}}};
        uint32_t lanes = 1 + below(&t, 2), n = lanes == 2 ? 2 + below(&t, 3) : 2 + below(&t, WORKERS - 1);
        uint32_t count[2] = {1 + below(&t, MOST), 1 + below(&t, MOST)}, spread = below(&t, 2), comm = 0;
        open_fixture(&f, STAR, "switchml");
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t id = group(&f, l * 4, n);
            for (uint32_t i = 0; i < count[l]; i++) {
                job *j = &jobs[l][i];
                rlt_time at[WORKERS];
                *j = (job){.chunks = 1 + below(&t, 120), .first = RLT_TIME_MAX, .last = -1};
                rlt_time base = (rlt_time)roll(&t, 40 * RLT_US);
                for (uint32_t m = 0; m < n; m++) {
                    at[m] = base + (spread ? (rlt_time)roll(&t, 8 * RLT_US) : 0);
                    j->first = at[m] < j->first ? at[m] : j->first;
                    j->last_member = at[m] >= j->last ? m : j->last_member;
                    j->last = at[m] > j->last ? at[m] : j->last;
                }
                all_reduce(&f, id, l * 4, n, j->chunks, at);
            }
            run_lane(jobs[l], count[l]);
        }
        finish(&f);
        for (uint32_t l = 0; l < lanes; l++)
            for (uint32_t i = 0; i < count[l]; i++, comm++) {
                rlt_comm_result c = rlt_replay_comm(f.r, comm);
                const job *j = &jobs[l][i];
                if (c.end_ps != j->end)
                    fail_msg("case %u, job %u of group %u ends at %lld ps instead of %lld", k, i, l,
                             (long long)c.end_ps, (long long)j->end);
                assert_true(c.first_arrival_ps == j->first && c.last_arrival_ps == j->last);
                assert_true(!spread || c.last_member == j->last_member);
                assert_string_equal(c.algorithm, "switchml");
                assert_true(c.bound_ps > 0 && c.bound_ps <= time_of(j->chunks));
            }
        assert_int_equal(comm, f.p->n_comms);
        f.o.no_bounds = true;
        rlt_time end = rlt_replay_time(f.r);
        finish(&f);
        assert_int_equal(rlt_replay_time(f.r), end);
        assert_int_equal(rlt_replay_comm(f.r, 0).bound_ps, 0);
        close_fixture(&f);
    }
}

/* ---- room ---- */

/* Without settings a switch holds 64 times the slots of its first job, and each job gets all it asks for, or what
 * is left. With one slot, a chunk takes a round trip. */
static void room_of_a_switch(void **state)
{
    static const char *const windows[][4] = {
        {"16", "256", "256", "256"}, {"16", "500", "507", "5"}, {"16", "500", "508", "5"}};
    static const rlt_time now[WORKERS] = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        rlt_reacting by_size[4];
        rlt_algorithm_rule rules[4];
        open_fixture(&f, STAR, "switchml");
        f.o.aggregator = i ? &f.aggregator : NULL;
        for (uint32_t k = 0; k < 4; k++) {
            open_reacting(&by_size[k], "switchml");
            set(&by_size[k], "window", windows[i][k]);
            rules[k] = (rlt_algorithm_rule){
                .kind = RLT_ALL_REDUCE, .from_bytes = k * 600 * CHUNK, .reacting = &by_size[k]};
            all_reduce(&f, group(&f, 2 * k, 2), 2 * k, 2, 599 + 600 * k, now);
        }
        f.o.reacting[RLT_ALL_REDUCE] = NULL;
        f.o.rules = rules;
        f.o.n_rules = 4;
        int rc = go(&f);
        if (rc != (i == 2 ? RLT_EUNSUPPORTED : 0))
            fail_msg("row %d: %d: %s", i, rc, f.err.what);
        if (!rc) {
            assert_true(rlt_replay_comm(f.r, 0).end_ps >
                        time_of(599)); /* a window shorter than a round trip */
            assert_int_equal(rlt_replay_comm(f.r, 1).end_ps, time_of(1199));
            assert_int_equal(rlt_replay_comm(f.r, 2).end_ps, time_of(1799));
            assert_int_equal(rlt_replay_comm(f.r, 3).end_ps, i ? 2399 * time_of(1) : time_of(2399));
        }
        close_fixture(&f);
    }
}

/* A collective that waited, and is then refused, goes to an algorithm: the next one of its group begins at once.
 * Here the second is refused, for its switch adds up at most three contributions, and the others need no switch. */
static void refused_after_waiting(void **state)
{
    rlt_time at[WORKERS];
    fixture f;
    rlt_reacting apart;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    open_reacting(&apart, "host-ring");
    const rlt_algorithm_rule large = {.kind = RLT_ALL_REDUCE, .from_bytes = 200 * CHUNK, .reacting = &apart};
    f.aggregator.slots = 512;
    f.aggregator.width = 3;
    f.o.rules = &large;
    f.o.n_rules = 1;
    uint32_t id = group(&f, 0, 4);
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t m = 0; m < 4; m++)
            at[m] = 1 + i;
        all_reduce(&f, id, 0, 4, i == 1 || i == 2 ? 100 : 200 + i, at);
    }
    assert_int_equal(go(&f), RLT_ETOPOLOGY);
    assert_non_null(strstr(f.err.what, "more than 3 contributions"));
    f.o.algorithm_where_able = true;
    finish(&f);
    rlt_time end[5];
    for (uint32_t i = 0; i < 5; i++) {
        bool refused = i == 1 || i == 2;
        rlt_comm_result c = rlt_replay_comm(f.r, i);
        end[i] = c.end_ps;
        assert_string_equal(c.algorithm, refused ? "ring" : "host-ring");
        assert_true((c.job == RLT_NONE) == refused);
    }
    assert_int_equal(rlt_fabric_jobs(rlt_replay_fabric(f.r)), 3);
    /* The third job meets the two rings in the network, the others have it to themselves. */
    assert_true(end[3] > end[0] && end[1] > end[0] && end[2] > end[0] && end[4] > end[3]);
    close_fixture(&f);
}

/* Collectives of no bytes and of one member are left to algorithms. */
static void too_small(void **state)
{
    static const rlt_time now[WORKERS] = {0};
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    all_reduce(&f, group(&f, 0, 4), 0, 4, 0, now);
    all_reduce(&f, group(&f, 4, 1), 4, 1, 100, now);
    all_reduce(&f, group(&f, 5, 2), 5, 2, 1, now);
    finish(&f);
    for (uint32_t i = 0; i < 3; i++)
        assert_true((strcmp(rlt_replay_comm(f.r, i).algorithm, "switchml") == 0) == (i == 2));
    assert_int_equal(rlt_fabric_jobs(rlt_replay_fabric(f.r)), 1);
    f.o.until_ps = time_of(1) / 2; /* under way: named, too, and not ended */
    assert_int_equal(go(&f), RLT_ECANCELLED);
    assert_string_equal(rlt_replay_comm(f.r, 2).algorithm, "switchml");
    assert_int_equal(rlt_replay_comm(f.r, 2).end_ps, -1);
    /* Settings of switches make no fabric where nothing reacts. */
    f.o.reacting[RLT_ALL_REDUCE] = NULL;
    f.o.model = &rlt_net_flow;
    f.o.until_ps = RLT_TIME_MAX;
    finish(&f);
    assert_null(rlt_replay_fabric(f.r));
    close_fixture(&f);
}

/* A protocol that the switch refuses may go on without it, under the name of what it then does. */
static void another_name(void **state)
{
    static const rlt_time now[WORKERS] = {0};
    fixture f;
    (void)state;
    open_fixture(&f, STAR, "switchml");
    set(&f.reacting, "refused", "ring");
    f.aggregator.slots = 256;
    all_reduce(&f, group(&f, 0, 4), 0, 4, 300, now);
    all_reduce(&f, group(&f, 4, 4), 4, 4, 300, now);
    finish(&f);
    assert_string_equal(rlt_replay_comm(f.r, 0).algorithm, "switchml");
    assert_string_equal(rlt_replay_comm(f.r, 1).algorithm, "host-ring");
    close_fixture(&f);
}

/* ---- speeds and servers ---- */

/* A network twice as fast halves the times of packets and of links, not that of the switch. */
static void speeds(void **state)
{
    static const rlt_time now[WORKERS] = {0};
    (void)state;
    for (int scale = 1; scale <= 4; scale *= 2) {
        fixture f;
        open_fixture(&f, STAR, "switchml");
        all_reduce(&f, group(&f, 0, 5), 0, 5, 200, now);
        f.o.network_scale = scale;
        finish(&f);
        rlt_time tau = TAU / scale, d = D / scale;
        assert_int_equal(rlt_replay_time(f.r), 199 * tau + 2 * (tau + d) + S);
        close_fixture(&f);
    }
}

/* Ranks that are placed and do not train serve. */
static void servers(void **state)
{
    static const rlt_time now[WORKERS] = {0};
    static const char *const counts[] = {"1", "2", "3"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        char text[100];
        open_fixture(&f, STAR, "atp");
        set(&f.reacting, "servers", counts[i]);
        f.placement.n = WORKERS + (i == 0 ? 0 : 1);
        all_reduce(&f, group(&f, 0, WORKERS), 0, WORKERS, 4, now);
        assert_int_equal(go(&f), RLT_ERANGE);
        snprintf(text, sizeof text, "needs %s separate server%s: %u ranks are placed, and 8 of them train",
                 counts[i], i ? "s" : "", f.placement.n);
        assert_string_equal(f.err.what, text);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_queues),
                                       cmocka_unit_test(room_of_a_switch),
                                       cmocka_unit_test(refused_after_waiting),
                                       cmocka_unit_test(too_small),
                                       cmocka_unit_test(another_name),
                                       cmocka_unit_test(speeds),
                                       cmocka_unit_test(servers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
