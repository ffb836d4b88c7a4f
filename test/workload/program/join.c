/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several programs on one network, and background traffic: closed forms on shared and on separate links. */
#include <stdio.h>

#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"
#include "test/support/trainings/transformer.h"
#include "workload/program/join.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/parts.h"
#include "workload/replay/replay.h"

enum { BYTES = 100000000 };

/* Four hosts in two pairs that share one cable. */
static const char dumbbell[] =
    "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"},"
    "{\"id\":\"c\",\"kind\":\"accelerator\"},{\"id\":\"d\",\"kind\":\"accelerator\"},"
    "{\"id\":\"s\",\"kind\":\"switch\"},{\"id\":\"t\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"a\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"b\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"c\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"d\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"},"
    "{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\",\"latency\":\"100ns\"}]}";

/* Builds `steps` times a millisecond of work, then BYTES from rank 0 to rank 1. */
static rlt_program *sender(uint32_t steps, const char *name)
{
    rlt_builder *b;
    rlt_program *p;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(2, &b, &err), 0);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t last = RLT_NONE, stream = rlt_build_resource(b, r, RLT_RES_STREAM, name);
        for (uint32_t k = 0; k < steps; k++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, r);
            d.duration_ps = RLT_MS;
            d.resource = stream;
            d.step = (uint16_t)k;
            d.name = rlt_build_string(b, name, strlen(name));
            uint32_t work = rlt_build_op(b, &d);
            d = rlt_op_desc_init(r ? RLT_OP_RECV : RLT_OP_SEND, r);
            d.peer = 1 - r;
            d.bytes = BYTES;
            d.tag = k;
            d.step = (uint16_t)k;
            uint32_t message = rlt_build_op(b, &d);
            if (last != RLT_NONE)
                rlt_build_dep(b, work, last);
            rlt_build_dep(b, message, work);
            last = message;
        }
    }
    rlt_build_note(b, 1, "made by %s", name);
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

typedef struct ran {
    rlt_topology *t;
    rlt_replay *r;
    rlt_error err;
    int rc;
} ran;

static ran run(const rlt_program *p, const char *network, uint32_t *accelerators, uint32_t n,
               const rlt_background *background, uint32_t n_background, const rlt_link_event *event)
{
    ran x = {0};
    rlt_replay_options o = rlt_replay_options_default();
    static rlt_placement place;
    int rc = rlt_topology_load(network, NULL, &x.t, &x.err);
    assert_int_equal(rc, 0);
    place = (rlt_placement){.n = n, .accelerator = accelerators};
    o.topology = x.t;
    o.placement = &place;
    o.background = background;
    o.n_background = n_background;
    o.link_events = event;
    o.n_link_events = event ? 1 : 0;
    if (rlt_replay_create(p, &o, &x.r, &x.err))
        fail_msg("%s: %s", x.err.where, x.err.what);
    x.rc = rlt_replay_run(x.r, &x.err);
    return x;
}

static void check_balance(const ran *x)
{
    const rlt_net *net = rlt_replay_net(x->r);
    assert_int_equal(net->bytes_offered + net->bytes_replicated,
                     net->bytes_delivered + net->bytes_absorbed + net->bytes_abandoned);
}

static void end(ran *x)
{
    rlt_replay_free(x->r);
    rlt_topology_free(x->t);
}

/* Two equal jobs across one cable: each step has 1 ms of work, then twice the time of a transfer alone. On
 * pairs of their own, neither job affects the other. */
static void test_two_jobs(void **state)
{
    (void)state;
    const rlt_time alone = 20 * (rlt_time)BYTES, latency = 300 * RLT_NS;
    rlt_program *one = sender(3, "one"), *two = sender(3, "two"), *both;
    const rlt_program *parts[] = {one, two};
    uint32_t first[3];
    rlt_error err = {0};
    assert_int_equal(rlt_program_join(parts, 2, &both, first, &err), 0);
    assert_true(first[0] == 0 && first[1] == 2 && first[2] == 4);
    assert_int_equal(both->n_ranks, 4);
    assert_int_equal(both->n_ops, one->n_ops + two->n_ops);
    assert_string_equal(rlt_program_string(both, both->ops[both->rank_first[2]].name), "two");
    assert_string_equal(both->notes[1].text, "made by two");
    assert_int_not_equal(both->hash, one->hash);
    rlt_program_free(one);
    rlt_program_free(two); /* copies */

    uint32_t across[] = {0, 2, 1, 3}, pairs[] = {0, 1, 2, 3};
    for (int shared = 0; shared < 2; shared++) {
        ran x = run(both, dumbbell, shared ? across : pairs, 4, NULL, 0, NULL);
        assert_int_equal(x.rc, 0);
        /* The sender continues when its last byte has left. */
        const rlt_time late = shared ? latency : 200 * RLT_NS, step = RLT_MS + (shared ? 2 * alone : alone);
        for (uint32_t i = 0; i < 2; i++) {
            rlt_part_result p;
            assert_int_equal(rlt_part_result_of(both, x.r, first[i], first[i + 1], &p, &err), 0);
            assert_int_equal(p.n_steps, 3);
            for (int k = 0; k < 3; k++)
                assert_int_equal(p.step_ps[k], step + (k ? 0 : late));
            assert_int_equal(p.end_ps, 3 * step + late);
            assert_true(p.last_rank >= first[i] && p.last_rank < first[i + 1]);
            free(p.step_ps);
        }
        check_balance(&x);
        end(&x);
    }
    rlt_program_free(both);
}

/* Jobs of different kinds and lengths on separate links end as they would alone, to the picosecond. */
static void test_apart(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_program *parts[3], *all;
    uint32_t first[4], apart[12];
    rlt_time alone[3];
    for (uint32_t i = 0; i < 3; i++) {
        parts[i] = test_transformer(4, 2 + i, 1 + i);
        ran x = run(parts[i], "switch:4@50GB/s,500ns", NULL, 4, NULL, 0, NULL);
        alone[i] = rlt_replay_time(x.r);
        end(&x);
    }
    assert_int_equal(rlt_program_join((const rlt_program *const *)parts, 3, &all, first, &err), 0);
    /* Accelerators of one switch share nothing with those of another; in reverse order as well. */
    for (uint32_t i = 0; i < 12; i++)
        apart[i] = 11 - i;
    ran x = run(all, "switch:12@50GB/s,500ns", apart, 12, NULL, 0, NULL);
    assert_int_equal(x.rc, 0);
    assert_int_equal(rlt_replay_iterations(x.r), 3);
    for (uint32_t i = 0; i < 3; i++) {
        rlt_part_result p;
        assert_int_equal(rlt_part_result_of(all, x.r, first[i], first[i + 1], &p, &err), 0);
        assert_int_equal(p.end_ps, alone[i]);
        assert_int_equal(p.n_steps, 1 + i);
        free(p.step_ps);
        rlt_program_free(parts[i]);
    }
    end(&x);
    rlt_program_free(all);
}

/* A joined all-to-all keeps its counts. A join of joins is valid. */
static void test_counts(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_program *p, *two, *three;
    rlt_builder *b;
    const uint32_t ranks[3] = {0, 1, 2};
    assert_int_equal(rlt_builder_create(3, &b, &err), 0);
    uint32_t g = rlt_build_group(b, "", ranks, 3);
    for (uint32_t r = 0; r < 3; r++) {
        const uint64_t counts[3] = {r * 1000, 5 + r, 700};
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.coll = RLT_ALL_TO_ALL;
        d.group = g;
        d.bytes = counts[0] + counts[1] + counts[2];
        d.send_counts = counts;
        rlt_build_op(b, &d);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
    const rlt_program *parts[2] = {p, p};
    uint32_t first[3];
    assert_int_equal(rlt_program_join(parts, 2, &two, first, &err), 0);
    parts[0] = two;
    assert_int_equal(rlt_program_join(parts, 2, &three, first, &err), 0);
    assert_int_equal(three->n_comms, 3);
    for (uint32_t c = 0; c < 3; c++) {
        assert_memory_equal(three->comms[c].counts, p->comms[0].counts, 9 * sizeof(uint64_t));
        uint32_t group = three->comms[c].group;
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(three->group_ranks[three->group_first[group] + k], 3 * c + k);
    }
    ran x = run(three, "switch:9@50GB/s,500ns", NULL, 9, NULL, 0, NULL);
    ran y = run(p, "switch:3@50GB/s,500ns", NULL, 3, NULL, 0, NULL);
    assert_int_equal(rlt_replay_time(x.r), rlt_replay_time(y.r));
    end(&x);
    end(&y);
    rlt_program_free(p);
    rlt_program_free(two);
    rlt_program_free(three);
}

/* A background flow across the cable. Below its fair share it takes its rate from the program; above, the
 * program keeps half. The flow ends with the program, and no rank's accounts contain it. */
static void test_background(void **state)
{
    (void)state;
    rlt_program *p = sender(1, "one");
    uint32_t across[] = {0, 2, 1, 3};
    const struct {
        uint64_t rate;
        double share; /* of the cable, for the program */
    } rows[] = {{10000000000u, 0.8}, {25000000000u, 0.5}, {45000000000u, 0.5}};
    for (int i = 0; i < 3; i++) {
        /* Small messages come close to a fluid. */
        const rlt_background flow = {.src = 2, .dst = 3, .rate_Bps = rows[i].rate, .bytes = 1000};
        ran x = run(p, dumbbell, across, 4, &flow, 1, NULL);
        assert_int_equal(x.rc, 0);
        double want = RLT_MS + 20 * BYTES / rows[i].share + 300 * RLT_NS, got = (double)rlt_replay_time(x.r);
        /* A flow that gets less than its rate has two messages under way, hence two shares of three. */
        if (rows[i].rate <= 25000000000u)
            assert_true(got > want * 0.99 && got < want * 1.01);
        else
            assert_true(got > want && got <= RLT_MS + 20.0 * BYTES * 3 * 1.001 + 300 * RLT_NS);
        assert_int_equal(rlt_sim_now(rlt_replay_sim(x.r)), rlt_replay_time(x.r));
        rlt_background_result k = rlt_replay_background(x.r, 0);
        assert_int_equal(k.bytes, k.messages * 1000);
        double asked = (double)rows[i].rate * got * 1e-12;
        assert_true((double)k.bytes <= asked + 2000);
        if (rows[i].rate <= 25000000000u)
            assert_true((double)k.bytes > asked * 0.98);
        rlt_rank_result rank = rlt_replay_rank(x.r, 0);
        assert_int_equal(rank.compute_ps, RLT_MS);
        check_balance(&x);
        assert_true(rlt_replay_net(x.r)->bytes_abandoned <= 2000 + 300 * 50); /* and 300 ns of latency */
        end(&x);
    }
    /* On another link it has no effect, to the picosecond. */
    const rlt_background flow = {.src = 3, .dst = 2, .rate_Bps = 50000000000u, .bytes = 12345};
    ran x = run(p, dumbbell, across, 4, &flow, 1, NULL);
    assert_int_equal(rlt_replay_time(x.r), RLT_MS + 20 * (rlt_time)BYTES + 300 * RLT_NS);
    end(&x);
    rlt_program_free(p);
}

/* On for 1 ms of 4: on average a quarter of its rate. */
static void test_on_off(void **state)
{
    (void)state;
    rlt_program *p = sender(8, "one");
    uint32_t across[] = {0, 2, 1, 3};
    const rlt_background flow = {
        .src = 3, .dst = 2, .rate_Bps = 10000000000u, .bytes = 10000, .on_ps = RLT_MS, .off_ps = 3 * RLT_MS};
    ran x = run(p, dumbbell, across, 4, &flow, 1, NULL);
    rlt_time all = rlt_replay_time(x.r); /* 24 ms: six periods */
    assert_true(all > 24 * RLT_MS && all < 25 * RLT_MS);
    rlt_background_result k = rlt_replay_background(x.r, 0);
    assert_true(k.bytes >= 6 * 10000000 && k.bytes <= 6 * 10000000 + 30000);
    end(&x);
    rlt_program_free(p);
}

/* Background traffic does not keep a stalled run alive. */
static void test_stall(void **state)
{
    (void)state;
    rlt_program *p = sender(1, "one");
    uint32_t across[] = {0, 2, 1, 3};
    const rlt_background flow = {.src = 3, .dst = 1, .rate_Bps = 10000000000u, .bytes = 10000000};
    const uint32_t links[] = {0};
    const rlt_link_event event = {.when_ps = 2 * RLT_MS, .links = links, .n = 1, .factor = 0};
    ran x = run(p, dumbbell, across, 4, &flow, 1, &event);
    assert_int_equal(x.rc, RLT_ESTALL);
    assert_non_null(strstr(x.err.what, "which has failed"));
    end(&x);
    /* A long transfer is no stall. */
    const rlt_background slow = {.src = 2, .dst = 3, .rate_Bps = 1000000000u, .bytes = 10000000};
    const rlt_link_event slower = {.when_ps = 0, .links = links, .n = 1, .factor = 0.0005};
    ran y = run(p, dumbbell, across, 4, &slow, 1, &slower);
    assert_int_equal(y.rc, 0);
    assert_int_equal(rlt_replay_time(y.r), RLT_MS + 40000 * (rlt_time)BYTES + 300 * RLT_NS); /* 4 s */
    assert_true(rlt_replay_background(y.r, 0).messages >= 399);
    end(&y);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_jobs),   cmocka_unit_test(test_apart),  cmocka_unit_test(test_counts),
        cmocka_unit_test(test_background), cmocka_unit_test(test_on_off), cmocka_unit_test(test_stall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
