/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Background traffic against a plain count of its messages, written from workload/replay/background.h: they are due
 * at the flow's rate, in turns; two at most leave their source at once. And programs that rest for seconds beside it:
 * those that move again, and those that never do.
 */
#include "workload/replay/background.h"
#include "net/import/import.h"
#include "net/links.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include <stdio.h>

enum { CASES = 300, FLOWS = 3, BYTE_PS = 20, MOST = 4000 };
static const rlt_time latency_ps = 1000000;
static const char network[] =
    "switch:8@50GB/s,500ns"; /* 20 ps a byte, 1 us from accelerator to accelerator */

static uint32_t op(rlt_builder *b, rlt_op_kind kind, uint32_t rank, uint32_t peer, uint64_t bytes,
                   rlt_time duration_ps)
{
    rlt_op_desc d = rlt_op_desc_init(kind, rank);
    d.peer = peer;
    d.bytes = bytes;
    d.duration_ps = duration_ps;
    d.name = rlt_build_string(b, "op", 2);
    return rlt_build_op(b, &d);
}

static rlt_program *computes(rlt_time duration_ps)
{
    rlt_error err = {0};
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    op(b, RLT_OP_COMPUTE, 0, RLT_NONE, 0, duration_ps);
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
    return p;
}

/* Counts the messages that have arrived before `end`, and those that have left, or begun to, before it. Times are odd, so
 * nothing happens at `end`. */
static uint64_t arrived_by(const rlt_background *f, rlt_time end, uint64_t *sent)
{
    const rlt_time gap = (rlt_time)((double)f->bytes * 1e12 / (double)f->rate_Bps + 0.5),
                   leaves = (rlt_time)f->bytes * BYTE_PS, turn = f->on_ps + f->off_ps;
    rlt_time gone[2] = {0, 0}; /* when the last two have left */
    uint64_t n = 0, arrived = 0;
    for (rlt_time due = 0;; n++) {
        rlt_time at = due > gone[0] ? due : gone[0];
        if (at >= end)
            break;
        rlt_time begins = at > gone[1] ? at : gone[1];
        gone[0] = gone[1];
        gone[1] = begins + leaves;
        arrived += gone[1] + latency_ps < end;
        due = at + gap;
        if (f->off_ps && due % turn >= f->on_ps)
            due = due - due % turn + turn;
    }
    *sent = n;
    return arrived;
}

static void messages_are_counted(void **state)
{
    (void)state;
    dice d = {.seed = 1};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    for (int c = 0; c < CASES; c++) {
        rlt_background flows[FLOWS];
        rlt_replay *r = NULL;
        rlt_time end = (rlt_time)(1 + 2 * roll(&d, 100000000));
        uint64_t sent_bytes = 0, arrived_bytes = 0;
        for (
            uint32_t i = 0; i < FLOWS;
            i++) { /* of other sources and to other destinations; in the flow model messages would share a link */
            flows[i] =
                (rlt_background){.src = 1 + 2 * i, .dst = 2 + 2 * i, .bytes = 2 * (500 + roll(&d, 40000))};
            flows[i].rate_Bps = 1000000000ull * (1 + below(&d, c & 1 ? 49 : 120));
            if (below(&d, 2)) {
                flows[i].on_ps = (rlt_time)(2 * (1 + roll(&d, 10000000)));
                flows[i].off_ps = (rlt_time)(2 * (1 + roll(&d, 10000000)));
            }
        }
        rlt_program *p = computes(end);
        rlt_replay_options o = rlt_replay_options_default();
        const rlt_placement all = {.n = 8};
        o.topology = t;
        o.placement = &all;
        o.model = c & 1 ? &rlt_net_flow : &rlt_net_alpha_beta;
        o.background = flows;
        o.n_background = FLOWS;
        if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
            fail_msg("case %d: %s: %s", c, err.where, err.what);
        assert_int_equal(rlt_replay_time(r), end);
        for (uint32_t i = 0; i < FLOWS; i++) {
            uint64_t sent, arrived = arrived_by(&flows[i], end, &sent);
            const rlt_background_result got = rlt_replay_background(r, i);
            if (got.messages != arrived || got.bytes != arrived * flows[i].bytes)
                fail_msg("case %d, flow %u: %llu messages, expected %llu", c, i,
                         (unsigned long long)got.messages, (unsigned long long)arrived);
            sent_bytes += sent * flows[i].bytes;
            arrived_bytes += arrived * flows[i].bytes;
        }
        const rlt_net *net = rlt_replay_net(r);
        assert_int_equal(net->bytes_offered, sent_bytes);
        assert_int_equal(net->bytes_abandoned, sent_bytes - arrived_bytes);
        rlt_replay_free(r);
        rlt_program_free(p);
    }
    rlt_topology_free(t);
}

/* With a time of the endpoint before each message, some that were begun are not in the network at the end: what is abandoned
 * is what the network has taken and not delivered. */
static void accounts_balance(void **state)
{
    (void)state;
    dice d = {.seed = 2};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    uint32_t inside = 0, partly = 0;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    for (int c = 0; c < CASES; c++) {
        const rlt_placement all = {.n = 8};
        const rlt_background flow = {
            .src = 1, .dst = 2, .bytes = 500 + roll(&d, 40000), .rate_Bps = 20000000000};
        rlt_replay *r = NULL;
        rlt_program *p = computes((rlt_time)(1 + roll(&d, 30000000)));
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        o.placement = &all;
        o.model = c & 1 ? &rlt_net_flow : &rlt_net_alpha_beta;
        o.endpoint.message_ps = (rlt_time)roll(&d, 4000000);
        o.endpoint.launch_ps = (rlt_time)roll(&d, 1000000);
        o.background = &flow;
        o.n_background = 1;
        if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
            fail_msg("case %d: %s: %s", c, err.where, err.what);
        const rlt_net *net = rlt_replay_net(r);
        const uint64_t arrived = rlt_replay_background(r, 0).bytes;
        assert_int_equal(net->bytes_delivered + net->bytes_abandoned, net->bytes_offered);
        assert_true(net->bytes_delivered >= arrived);
        assert_int_equal(net->bytes_offered % flow.bytes, 0);
        inside += net->bytes_abandoned > 0;
        partly += net->bytes_abandoned > 0 && net->bytes_delivered > 0;
        rlt_replay_free(r);
        rlt_program_free(p);
    }
    assert_true(inside > 10 && partly > 10);
    rlt_topology_free(t);
}

/* Programs of two ranks. `until`: at that time all links work again, having failed at 0; else they stay as they are. */
typedef struct rest {
    const char *what;
    rlt_op_kind kind; /* rank 0 works so; RLT_OP_SEND: both ranks wait for a message of the other */
    rlt_time works_ps, starts_ps, until_ps;
    uint64_t bytes;  /* of a message to rank 1 */
    rlt_time end_ps; /* -1: never */
} rest;

static rlt_program *program_of(const rest *x)
{
    rlt_error err = {0};
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    assert_int_equal(rlt_builder_create(2, &b, &err), 0);
    if (x->kind == RLT_OP_SEND) {
        for (uint32_t r = 0; r < 2; r++) {
            uint32_t receives = op(b, RLT_OP_RECV, r, 1 - r, 1000, 0);
            rlt_build_dep(b, op(b, RLT_OP_SEND, r, 1 - r, 1000, 0), receives);
        }
    } else {
        uint32_t works = op(b, x->kind, 0, RLT_NONE, 0, x->works_ps);
        rlt_build_dep(b, op(b, RLT_OP_SEND, 0, 1, x->bytes, 0), works);
        op(b, RLT_OP_RECV, 1, 0, x->bytes, 0);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
    return p;
}

static void rests(void **state)
{
    const rlt_time ms = 1000000000;
    const rlt_time s = RLT_S;
    const rest rows[] = {
        {"compute", RLT_OP_COMPUTE, 5 * s, 0, 0, 1000, 5 * s + 20000 + latency_ps},
        {"memory", RLT_OP_MEMORY, 5 * s, 0, 0, 1000, 5 * s + 20000 + latency_ps},
        {"host", RLT_OP_HOST, 5 * s, 0, 0, 1000, 5 * s + 20000 + latency_ps},
        {"gap", RLT_OP_DELAY, 5 * s, 0, 0, 1000, 5 * s + 20000 + latency_ps},
        {"late rank", RLT_OP_COMPUTE, s, 5 * s, 0, 1000, 6 * s + 20000 + latency_ps},
        {"long message", RLT_OP_COMPUTE, ms, 0, 0, 250000000000, 5 * s + ms + latency_ps},
        {"all of them", RLT_OP_COMPUTE, 3 * s, 3 * s, 0, 150000000000, 9 * s + latency_ps},
        {"failed links", RLT_OP_COMPUTE, ms, 0, 5 * s, 1000, 5 * s + 20000 + latency_ps},
        {"links failed for ever", RLT_OP_COMPUTE, ms, 0, -1, 1000, -1},
        {"links failed for ever, after a long compute", RLT_OP_COMPUTE, 3 * s, 0, -1, 1000, -1},
        {"both wait", RLT_OP_SEND, 0, 0, 0, 0, -1},
    };
    static const rlt_background beside = {
        .src = 5, .dst = 6, .rate_Bps = 10000000, .bytes = 100000}; /* 10 ms */
    rlt_error err = {0};
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    /* the links of ranks 0 and 1 */
    uint32_t ports[8], n_ports = 0;
    for (uint32_t l = 0; l < rlt_topology_links(t); l++) {
        rlt_link link = rlt_topology_link(t, l);
        if (link.src < 2 || link.dst < 2)
            ports[n_ports++] = l;
    }
    assert_int_equal(n_ports, 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t with = 0; with < 2; with++) {
            const rest *x = &rows[i];
            const rlt_link_event events[] = {{0, ports, n_ports, 0}, {x->until_ps, ports, n_ports, 1}};
            const rlt_time delays[2] = {x->starts_ps, 0};
            const rlt_placement all = {.n = 8};
            rlt_program *p = program_of(x);
            rlt_replay *r = NULL;
            rlt_error e = {0};
            rlt_replay_options o = rlt_replay_options_default();
            o.topology = t;
            o.placement = &all;
            o.model = &rlt_net_alpha_beta;
            o.rank_delay_ps = delays;
            o.link_events = events;
            o.n_link_events = x->until_ps == 0 ? 0 : x->until_ps < 0 ? 1 : 2;
            o.background = &beside;
            o.n_background = with;
            assert_int_equal(rlt_replay_create(p, &o, &r, &err), 0);
            int rc = rlt_replay_run(r, &e);
            if (rc != (x->end_ps < 0 ? RLT_ESTALL : 0) || (rc == 0 && rlt_replay_time(r) != x->end_ps))
                fail_msg("%s, %u flows: %d %lld: %s", x->what, with, rc, (long long)rlt_replay_time(r),
                         e.what);
            /* One second, looked at every 10 ms, after the last move; compute is looked at once a second. */
            if (with && rc) {
                uint64_t sent = rlt_replay_background(r, 0).messages;
                rlt_time stops = x->works_ps + s;
                assert_in_range(sent, (uint64_t)(stops / (10 * ms)) - 1,
                                (uint64_t)((stops + s) / (10 * ms)) + 1);
            }
            rlt_replay_free(r);
            rlt_program_free(p);
        }
    rlt_topology_free(t);
}

/* Two flows into one port, each with twenty times what it gives: it is full from the first byte on, but for messages
 * that have not arrived, and shared. */
static void flows_get_what_there_is(void **state)
{
    dice d = {.seed = 2};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    const rlt_placement all = {.n = 8};
    const rlt_time end = 3 * RLT_MS;
    (void)state;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    rlt_program *p = computes(end);
    for (uint32_t k = 0; k < 20; k++) {
        uint64_t bytes = 1000 + roll(&d, 100000), got[2] = {0, 0};
        const rlt_background flows[2] = {{.src = 2, .dst = 3, .rate_Bps = (uint64_t)RLT_S, .bytes = bytes},
                                         {.src = 4, .dst = 3, .rate_Bps = (uint64_t)RLT_S, .bytes = bytes}};
        rlt_replay *r = NULL;
        rlt_replay_options o = rlt_replay_options_default();
        o.topology = t;
        o.placement = &all;
        o.background = flows;
        o.n_background = 1 + k % 2;
        assert_int_equal(rlt_replay_create(p, &o, &r, &err), 0);
        assert_int_equal(rlt_replay_run(r, &err), 0);
        for (uint32_t i = 0; i < o.n_background; i++)
            got[i] = rlt_replay_background(r, i).bytes;
        uint64_t most = (uint64_t)(end - latency_ps) / BYTE_PS;
        assert_in_range(got[0] + got[1], most - 2 * o.n_background * bytes, most);
        if (k % 2)
            assert_in_range(got[0] + 2 * bytes, got[1], got[1] + 4 * bytes);
        rlt_replay_free(r);
    }
    rlt_program_free(p);
    rlt_topology_free(t);
}

static void refusals(void **state)
{
    static const rlt_background rows[] = {
        {8, 3, 1, 1, 0, 0}, {2, 8, 1, 1, 0, 0},  {3, 3, 1, 1, 0, 0},  {2, 3, 0, 1, 0, 0},
        {2, 3, 1, 0, 0, 0}, {2, 3, 1, 1, -1, 0}, {2, 3, 1, 1, 0, -1}, {2, 3, 1, 1, 0, 1},
    };
    const rlt_background good[] = {{7, 6, 1, 1, 0, 0}, {6, 7, 1, 1, 1, 0}, {0, 1, 1, 1, 1, 1}};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    const rlt_placement all = {.n = 8};
    (void)state;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    rlt_program *p = computes(1000);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.placement = &all;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_background flows[2] = {good[0], rows[i]};
        rlt_replay *r = NULL;
        char what[200];
        err = (rlt_error){0};
        o.background = flows;
        o.n_background = 2;
        assert_int_equal(rlt_replay_create(p, &o, &r, &err), RLT_ERANGE);
        snprintf(
            what, sizeof what,
            "from rank %u to rank %u: expected two different ranks below 8, a rate and a size above 0, and off only "
            "with on",
            rows[i].src, rows[i].dst);
        assert_string_equal(err.what, what);
        assert_string_equal(err.where, "background flow 1");
    }
    rlt_replay *r = NULL;
    o.background = good;
    o.n_background = 3;
    assert_int_equal(rlt_replay_create(p, &o, &r, &err), 0);
    assert_int_equal(rlt_replay_run(r, &err), 0);
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_are_counted),
                                       cmocka_unit_test(accounts_balance), cmocka_unit_test(rests),
                                       cmocka_unit_test(flows_get_what_there_is), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
