/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates and bounds by hand, and estimates beside simulations at other speeds. */
#include "workload/replay/whatif/whatif.h"

#include <stdlib.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/traces/random_program.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"

enum { MIB = 1 << 20 };

static rlt_error err;

static rlt_program *finish(rlt_builder *b)
{
    rlt_program *p = NULL;
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* Adds an operation that was recorded for `lasts` from `at` on, after operation `on`. */
static uint32_t add(rlt_builder *b, rlt_op_kind kind, const char *name, rlt_time at, rlt_time lasts,
                    uint32_t on)
{
    rlt_op_desc d = rlt_op_desc_init(kind, 0);
    d.name = rlt_build_string(b, name, strlen(name));
    d.recorded_ps = at;
    d.duration_ps = d.recorded_duration_ps = lasts;
    if (kind == RLT_OP_COLLECTIVE) {
        d.coll = RLT_ALL_REDUCE;
        d.group = rlt_build_group(b, "", &d.rank, 1);
        d.timed = strcmp(name, "recorded") == 0;
        d.bytes = d.timed ? 0 : MIB;
    }
    uint32_t op = rlt_build_op(b, &d);
    if (on != RLT_NONE)
        rlt_build_dep(b, op, on);
    return op;
}

/* The header's example in ms: kernel 0 to 4, collective 4 to 10, next kernel at 11. With the wait known, the
 * gap is 10 to 11 and hides nothing; without, it is 4 to 11 and hides all 6. */
static void gaps(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        rlt_builder *b;
        rlt_certificate c;
        assert_int_equal(rlt_builder_create(1, &b, &err), 0);
        uint32_t first = add(b, RLT_OP_COMPUTE, "gemm", 0, 4 * RLT_MS, RLT_NONE);
        uint32_t comm = add(b, RLT_OP_COLLECTIVE, "nccl", 4 * RLT_MS, 6 * RLT_MS, first);
        uint32_t gap = known ? add(b, RLT_OP_DELAY, "", 10 * RLT_MS, RLT_MS, comm)
                             : add(b, RLT_OP_DELAY, "", 4 * RLT_MS, 7 * RLT_MS, first);
        add(b, RLT_OP_COMPUTE, "next", 11 * RLT_MS, RLT_MS, gap);
        rlt_program *p = finish(b);
        assert_int_equal(rlt_certify(p, &c, &err), 0);
        assert_true(c.recorded);
        assert_int_equal(c.span_ps, 12 * RLT_MS);
        assert_int_equal(c.comm_ps, 6 * RLT_MS);
        assert_int_equal(c.exposed_ps, 6 * RLT_MS);
        assert_int_equal(c.gap_ps, known ? 0 : 6 * RLT_MS);
        assert_int_equal(c.hidden_ps, c.gap_ps);
        assert_int_equal(c.lost_ps, c.gap_ps);
        assert_int_equal(c.by_op[gap], c.gap_ps);
        assert_int_equal(rlt_certificate_fails(&c), !known);
        rlt_certificate_free(&c);
        assert_true(!c.recorded && !c.by_op && c.span_ps == 0);
        rlt_program_free(p);
    }
}

/* Communication of recorded time, a kernel that communicates inside, and an operation without a time. */
static void other_hiding(void **state)
{
    rlt_builder *b;
    rlt_certificate c;
    (void)state;
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    uint32_t kernel = add(b, RLT_OP_COMPUTE, "void NVSHMEM_alltoall<4>()", 0, 2 * RLT_MS, RLT_NONE);
    uint32_t comm = add(b, RLT_OP_COLLECTIVE, "recorded", 2 * RLT_MS, 3 * RLT_MS, kernel);
    add(b, RLT_OP_COMPUTE, "gemm", -1, RLT_MS, comm);
    rlt_program *p = finish(b);
    assert_int_equal(rlt_certify(p, &c, &err), 0);
    assert_int_equal(c.inside_ps, 2 * RLT_MS);
    assert_int_equal(c.fixed_ps, 3 * RLT_MS);
    assert_int_equal(c.hidden_ps, 5 * RLT_MS);
    assert_int_equal(c.by_op[kernel], 2 * RLT_MS);
    assert_int_equal(c.untimed, 1);
    assert_int_equal(c.gap_ps + c.lost_ps, 0);
    assert_false(rlt_certificate_fails(&c));
    rlt_certificate_free(&c);
    rlt_program_free(p);
}

static rlt_replay *replayed(const rlt_program *p, const rlt_topology *t, double network, double compute)
{
    rlt_replay *r = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.network_scale = network;
    o.compute_scale = compute;
    if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
        fail_msg("%s: %s", err.where, err.what);
    return r;
}

/* A gap of 10 us beside communication, then a collective of recorded time that takes 6 us. On a network twice as
 * fast: the gap stays or halves, and so does the collective. */
static void by_hand(void **state)
{
    rlt_builder *b;
    rlt_topology *t = NULL;
    rlt_certificate c;
    rlt_what_if *w = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:2@50GB/s,500ns", NULL, &t, &err), 0);
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    uint32_t gap = add(b, RLT_OP_DELAY, "", 0, 10 * RLT_US, RLT_NONE);
    add(b, RLT_OP_COLLECTIVE, "recorded", 4 * RLT_US, 6 * RLT_US, gap);
    rlt_program *p = finish(b);
    rlt_replay *r = replayed(p, t, 1, 1);
    assert_int_equal(rlt_replay_time(r), 16 * RLT_US);
    assert_int_equal(rlt_certify(p, &c, &err), 0);
    assert_int_equal(rlt_what_if_create(r, p, &c, 0, &w, &err), 0);
    rlt_estimate e = rlt_what_if_estimate(w, RLT_PART_NETWORK, 2);
    assert_int_equal(e.low_ps, (10 - 3 + 3) * RLT_US); /* 6 of the 10 us are hidden */
    assert_int_equal(e.ps, 13 * RLT_US);
    assert_int_equal(e.high_ps, 16 * RLT_US);
    e = rlt_what_if_estimate(w, RLT_PART_NETWORK, 0.5);
    assert_int_equal(e.low_ps, 16 * RLT_US);
    assert_int_equal(e.ps, 22 * RLT_US);
    assert_int_equal(e.high_ps, 28 * RLT_US);
    e = rlt_what_if_estimate(w, RLT_PART_HOST, 2);
    assert_int_equal(e.low_ps, 11 * RLT_US); /* the gap may be the host's */
    assert_int_equal(e.high_ps, 16 * RLT_US);
    rlt_what_if_free(w);
    rlt_certificate_free(&c);
    for (int i = 0; i < 2; i++) { /* nothing is known about the gap: it stays */
        assert_int_equal(rlt_what_if_create(r, p, i ? &c : NULL, 0, &w, &err), 0);
        e = rlt_what_if_estimate(w, RLT_PART_NETWORK, 2);
        assert_int_equal(e.low_ps, 13 * RLT_US);
        assert_int_equal(e.high_ps, 16 * RLT_US);
        rlt_what_if_free(w);
    }
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_topology_free(t);
}

/* The host works for 10 us, then the device for 6 us: each part alone becomes twice as fast. */
static void parts(void **state)
{
    static const struct {
        rlt_part part;
        rlt_time us;
    } rows[] = {{RLT_PART_HOST, 5 + 6}, {RLT_PART_COMPUTE, 10 + 3}, {RLT_PART_NETWORK, 16}};
    rlt_builder *b;
    rlt_topology *t = NULL;
    rlt_what_if *w = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:2@50GB/s,500ns", NULL, &t, &err), 0);
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    uint32_t host = add(b, RLT_OP_HOST, "", 0, 10 * RLT_US, RLT_NONE);
    add(b, RLT_OP_COMPUTE, "gemm", 10 * RLT_US, 6 * RLT_US, host);
    rlt_program *p = finish(b);
    rlt_replay *r = replayed(p, t, 1, 1);
    assert_int_equal(rlt_what_if_create(r, p, NULL, 0, &w, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_estimate e = rlt_what_if_estimate(w, rows[i].part, 2);
        assert_int_equal(e.low_ps, rows[i].us * RLT_US);
        assert_int_equal(e.high_ps, rows[i].us * RLT_US);
    }
    rlt_what_if_free(w);
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_topology_free(t);
}

/* The run ends with the last operation, though it began first; one alone is a run, and none takes no time. */
static void the_first_ends_last(void **state)
{
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("switch:2@50GB/s,500ns", NULL, &t, &err), 0);
    for (rlt_time n = 0; n < 4; n++) {
        rlt_builder *b;
        rlt_what_if *w = NULL;
        assert_int_equal(rlt_builder_create(1, &b, &err), 0);
        if (n)
            add(b, RLT_OP_COMPUTE, "long", 0, 20 * RLT_US, RLT_NONE);
        for (rlt_time i = 1; i < n; i++)
            add(b, RLT_OP_HOST, "", i * RLT_US, RLT_US, RLT_NONE);
        rlt_program *p = finish(b);
        rlt_replay *r = replayed(p, t, 1, 1);
        assert_int_equal(rlt_what_if_create(r, p, NULL, 0, &w, &err), 0);
        rlt_estimate e = rlt_what_if_estimate(w, RLT_PART_COMPUTE, 2);
        assert_int_equal(e.ps, n ? 10 * RLT_US : 0);
        e = rlt_what_if_estimate(w, RLT_PART_HOST, 2);
        assert_int_equal(e.high_ps, n ? 20 * RLT_US : 0);
        rlt_what_if_free(w);
        rlt_replay_free(r);
        rlt_program_free(p);
    }
    rlt_topology_free(t);
}

/* At speed 1 the estimate is the replay. A simulation at another speed lies within the bounds. */
static void simulations(void **state)
{
    static const char *const trace = "traces/transformer-8";
    static const char *const networks[] = {"switch:8@50GB/s,500ns", "ring:8@20GB/s,1us",
                                           "ring:4@20GB/s,1us*switch:2@5GB/s,2us"};
    static const double speeds[] = {4, 2, 0.5, 0.1};
    rlt_read_options o = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    (void)state;
    if (rlt_trace_read(&trace, 1, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        rlt_topology *t = NULL;
        rlt_what_if *w = NULL;
        assert_int_equal(rlt_topology_load(networks[n], NULL, &t, &err), 0);
        rlt_replay *r = replayed(p, t, 1, 1);
        assert_int_equal(rlt_what_if_create(r, p, NULL, 0, &w, &err), 0);
        for (int part = 0; part <= RLT_PART_HOST; part++) {
            rlt_estimate same = rlt_what_if_estimate(w, (rlt_part)part, 1);
            assert_int_equal(same.low_ps, rlt_replay_time(r));
            assert_int_equal(same.high_ps, rlt_replay_time(r));
        }
        for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
            rlt_estimate e = rlt_what_if_estimate(w, RLT_PART_NETWORK, speeds[i]);
            rlt_replay *x = replayed(p, t, speeds[i], 1);
            assert_in_range(rlt_replay_time(x), e.low_ps, e.high_ps);
            assert_in_range(e.ps, e.low_ps, e.high_ps);
            rlt_replay_free(x);
            e = rlt_what_if_estimate(w, RLT_PART_COMPUTE, speeds[i]);
            x = replayed(p, t, 1, speeds[i]);
            /* rounding: half a picosecond for each operation */
            assert_in_range(rlt_replay_time(x), e.low_ps - p->n_ops, e.high_ps + p->n_ops);
            rlt_replay_free(x);
        }
        rlt_what_if_free(w);
        rlt_replay_free(r);
        rlt_topology_free(t);
    }
    rlt_program_free(p);
}

static rlt_time time_of(const plan *p, const rlt_program *program, const rlt_topology *t)
{
    rlt_replay *x = NULL;
    rlt_replay_options o = plan_options(p);
    o.topology = t;
    if (rlt_replay_create(program, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_time time = rlt_replay_time(x);
    rlt_replay_free(x);
    return time;
}

/* Where no two operations share a resource, their order cannot change: the estimate is the simulation, to the rounding
 * of each operation, for recorded communication too. */
static void nothing_to_share(void **state)
{
    static const double speeds[] = {4, 1.7, 1, 0.5, 0.1};
    plan *p = malloc(sizeof *p);
    rlt_topology *t = NULL;
    (void)state;
    assert_non_null(p);
    assert_int_equal(rlt_topology_load("switch:4@1GB/s,500ns", NULL, &t, &err), 0);
    for (uint64_t seed = 0; seed < 60; seed++) {
        dice d = {.seed = seed};
        rlt_what_if *w = NULL;
        rlt_replay *r = NULL;
        plan_draw(p, &d, false);
        rlt_program *program = plan_build(p);
        rlt_replay_options o = plan_options(p);
        o.topology = t;
        assert_int_equal(rlt_replay_create(program, &o, &r, &err), 0);
        assert_int_equal(rlt_replay_run(r, &err), 0);
        assert_int_equal(rlt_what_if_create(r, program, NULL, 0, &w, &err), 0);
        for (int part = 0; part <= RLT_PART_HOST; part++)
            for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
                rlt_estimate e = rlt_what_if_estimate(w, (rlt_part)part, speeds[i]);
                plan other = *p;
                double *scale = part == RLT_PART_NETWORK   ? &other.network
                                : part == RLT_PART_COMPUTE ? &other.compute
                                                           : &other.host;
                *scale *= speeds[i];
                rlt_time is = time_of(&other, program, t);
                assert_true(e.low_ps <= e.ps && e.ps <= e.high_ps);
                if (e.ps > is + p->n || is > e.ps + p->n)
                    fail_msg("case %llu, part %d, speed %g: %lld ps, simulated %lld",
                             (unsigned long long)seed, part, speeds[i], (long long)e.ps, (long long)is);
            }
        rlt_what_if_free(w);
        rlt_replay_free(r);
        rlt_program_free(program);
    }
    rlt_topology_free(t);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps),
        cmocka_unit_test(other_hiding),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(parts),
        cmocka_unit_test(simulations),
        cmocka_unit_test(nothing_to_share),
        cmocka_unit_test(the_first_ends_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
