/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Background traffic as workload/replay/background.h promises it: flows with more room than they need send
 * when a clock says so, message by message, in turns of on and off; a flow with less gets what the network
 * gives. It changes nothing for a program on other links, does not keep a stalled one alive, and is refused
 * word for word. The time of a message is that of the same message of a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"

enum { PORTS = 10, FLOWS = 4, PS_PER_BYTE = 10 };

static rlt_topology *topology;
static rlt_placement placement;

static void open_network(void)
{
    rlt_error err = {0};
    assert_int_equal(rlt_topology_load("switch:10@100GB/s,500ns", NULL, &topology, &err), 0);
    assert_int_equal(rlt_placement_identity(topology, PORTS, &placement, &err), 0);
}

static void close_network(void)
{
    rlt_placement_free(&placement);
    rlt_topology_free(topology);
}

/* Rank 0 computes for a time; then, if there are bytes, it sends them to rank 1. */
static rlt_program *program_of(rlt_time compute_ps, uint64_t bytes)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(2, &b, &err), 0);
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
    d.duration_ps = compute_ps;
    uint32_t first = rlt_build_op(b, &d);
    for (uint32_t i = 0; i < 2 && bytes; i++) {
        d = rlt_op_desc_init(i ? RLT_OP_RECV : RLT_OP_SEND, i);
        d.peer = 1 - i;
        d.bytes = bytes;
        uint32_t op = rlt_build_op(b, &d);
        if (!i)
            rlt_build_dep(b, op, first);
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static rlt_replay *open_run(const rlt_program *p, const rlt_background *flows, uint32_t n, rlt_error *err)
{
    rlt_replay_options o = rlt_replay_options_default();
    rlt_replay *x = NULL;
    o.topology = topology;
    o.placement = &placement;
    o.background = flows;
    o.n_background = n;
    *err = (rlt_error){0};
    int rc = rlt_replay_create(p, &o, &x, err);
    assert_int_equal(rc != 0, err->code != 0);
    return rc ? NULL : x;
}

/* Runs a program and notes what has arrived. Returns when it ended. */
static rlt_time run(const rlt_program *p, const rlt_background *flows, uint32_t n, rlt_background_result *out)
{
    rlt_error err;
    rlt_replay *x = open_run(p, flows, n, &err);
    if (!x || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_time end = rlt_replay_time(x);
    for (uint32_t i = 0; i < n; i++)
        out[i] = rlt_replay_background(x, i);
    rlt_replay_free(x);
    return end;
}

static rlt_time message_ps(uint64_t bytes)
{
    rlt_program *p = program_of(1, bytes);
    rlt_time took = run(p, NULL, 0, NULL) - 1;
    rlt_program_free(p);
    return took;
}

/* Messages that have arrived by `end`: a clock ticks each time that a message takes at the rate; a tick in a
 * time of silence waits for the next turn. */
static uint64_t arrived(const rlt_background *f, rlt_time end)
{
    rlt_time took = message_ps(f->bytes), each = (rlt_time)(f->bytes * (uint64_t)RLT_S / f->rate_Bps);
    uint64_t n = 0;
    for (rlt_time t = 0; t + took <= end; n++) {
        t += each;
        rlt_time turn = f->on_ps + f->off_ps, begin = 0;
        while (f->off_ps && begin + turn <= t)
            begin += turn;
        if (f->off_ps && t - begin >= f->on_ps)
            t = begin + turn;
    }
    return n;
}

static void flows_keep_their_clocks(void **state)
{
    (void)state;
    open_network();
    for (uint32_t k = 0; k < 60; k++) {
        dice d = {.seed = 90 + k};
        rlt_background flows[FLOWS];
        rlt_background_result got[FLOWS];
        uint32_t n = 1 + below(&d, FLOWS);
        for (uint32_t i = 0; i < n; i++) {
            /* rates that give whole picoseconds, and take a tenth of the link at most */
            flows[i] = (rlt_background){.src = 2 + 2 * i, .dst = 3 + 2 * i, .bytes = 100 + below(&d, 100000)};
            flows[i].rate_Bps = (uint64_t)RLT_S / (PS_PER_BYTE * 10 << below(&d, 3));
            if (below(&d, 2)) {
                flows[i].on_ps = 1 + (rlt_time)roll(&d, 300 * RLT_US);
                flows[i].off_ps = (rlt_time)roll(&d, 300 * RLT_US);
            }
        }
        rlt_time compute = 1 + (rlt_time)roll(&d, 3 * RLT_MS);
        uint64_t bytes = below(&d, 2) ? 1 + below(&d, 1 << 20) : 0;
        rlt_program *p = program_of(compute, bytes);
        rlt_time end = run(p, flows, n, got);
        assert_int_equal(end, compute + (bytes ? message_ps(bytes) : 0));
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(got[i].messages, arrived(&flows[i], end));
            assert_int_equal(got[i].bytes, got[i].messages * flows[i].bytes);
        }
        rlt_program_free(p);
    }
    close_network();
}

/* Ten times what the link gives: the link is full from the first byte on, but for two messages that have not
 * arrived. Two such flows into one port share it. */
static void flows_get_what_there_is(void **state)
{
    (void)state;
    open_network();
    for (uint32_t k = 0; k < 20; k++) {
        dice d = {.seed = 300 + k};
        uint64_t bytes = 1000 + below(&d, 100000);
        rlt_background flows[2] = {{.src = 2, .dst = 3, .rate_Bps = (uint64_t)RLT_S, .bytes = bytes},
                                   {.src = 4, .dst = 3, .rate_Bps = (uint64_t)RLT_S, .bytes = bytes}};
        rlt_background_result got[2] = {{0}};
        uint32_t n = 1 + below(&d, 2);
        rlt_time end = 3 * RLT_MS, late = message_ps(bytes) - (rlt_time)bytes * PS_PER_BYTE;
        rlt_program *p = program_of(end, 0);
        assert_int_equal(run(p, flows, n, got), end);
        uint64_t most = (uint64_t)(end - late) / PS_PER_BYTE, all = got[0].bytes + got[1].bytes;
        assert_true(all <= most + 1 && all + 2 * n * bytes >= most);
        assert_true(n == 1 ||
                    (got[0].bytes <= got[1].bytes + 2 * bytes && got[1].bytes <= got[0].bytes + 2 * bytes));
        assert_int_equal(got[0].bytes, got[0].messages * bytes);
        rlt_program_free(p);
    }
    close_network();
}

/* Each of two ranks begins with the collective with which the other one ends; something else was over at once. */
static rlt_program *never_ends(void)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    const uint32_t ranks[] = {0, 1};
    assert_int_equal(rlt_builder_create(2, &b, &err), 0);
    rlt_op_desc over = rlt_op_desc_init(RLT_OP_DELAY, 0);
    over.duration_ps = 0;
    rlt_build_op(b, &over);
    uint32_t groups[2] = {rlt_build_group(b, "one", ranks, 2), rlt_build_group(b, "two", ranks, 2)};
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = 0, last = RLT_NONE; i < 2; i++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
            d.coll = RLT_ALL_REDUCE;
            d.bytes = 1000;
            d.group = groups[r ? 1 - i : i];
            uint32_t op = rlt_build_op(b, &d);
            if (last != RLT_NONE)
                rlt_build_dep(b, op, last);
            last = op;
        }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static void a_stall_stays_one(void **state)
{
    const rlt_background flow = {.src = 2, .dst = 3, .rate_Bps = 1000000, .bytes = 1000};
    (void)state;
    open_network();
    rlt_program *p = never_ends();
    for (uint32_t n = 0; n < 2; n++) {
        rlt_error err;
        rlt_replay *x = open_run(p, &flow, n, &err);
        assert_non_null(x);
        assert_int_equal(rlt_replay_run(x, &err), RLT_ESTALL);
        rlt_replay_free(x);
    }
    rlt_program_free(p);
    /* But one that computes for five seconds, and five more after a message, is none. */
    rlt_background_result got;
    p = program_of(5 * RLT_S, 1000);
    assert_int_equal(run(p, &flow, 1, &got), 5 * RLT_S + message_ps(1000));
    assert_int_equal(got.messages, 5001); /* one a millisecond, from 0 on; the last is just on its way */
    rlt_program_free(p);
    close_network();
}

static void refusals(void **state)
{
    static const rlt_background rows[] = {
        {10, 3, 1, 1, 0, 0}, {2, 10, 1, 1, 0, 0}, {3, 3, 1, 1, 0, 0},  {2, 3, 0, 1, 0, 0},
        {2, 3, 1, 0, 0, 0},  {2, 3, 1, 1, -1, 0}, {2, 3, 1, 1, 0, -1}, {2, 3, 1, 1, 0, 1},
    };
    const rlt_background good[] = {{9, 8, 1, 1, 0, 0}, {8, 9, 1, 1, 1, 0}, {0, 1, 1, 1, 1, 1}};
    rlt_error err;
    (void)state;
    open_network();
    rlt_program *p = program_of(1000, 1000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_background flows[2] = {good[0], rows[i]};
        char what[200];
        assert_null(open_run(p, flows, 2, &err));
        snprintf(what, sizeof what,
                 "from rank %u to rank %u: expected two different ranks below 10, a rate and a size above 0, "
                 "and off only with on",
                 rows[i].src, rows[i].dst);
        assert_int_equal(err.code, RLT_ERANGE);
        assert_string_equal(err.what, what);
        assert_string_equal(err.where, "background flow 1");
    }
    rlt_background_result got[3];
    (void)run(p, good, 3, got);
    rlt_program_free(p);
    close_network();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_keep_their_clocks),
        cmocka_unit_test(flows_get_what_there_is),
        cmocka_unit_test(a_stall_stays_one),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
