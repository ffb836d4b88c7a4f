/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One row of an experiment on collectives, from plan to result. Times are closed forms. Of a ring of n ranks:
 * 2(n - 1) messages of B/n bytes, each with its latency. Of SwitchML on a star: packets of 1024 + 82 bytes at 100
 * Gb/s (tau = 88480 ps), links of 1 us, a switch of 500 ns; RTT = 2 tau + 2 x 1 us + 500 ns; C chunks through a
 * window of W that lasts longer than RTT take (C - 1) tau + RTT, else floor((C - 1) / W) RTT more steps.
 */
#include "workload/experiment/coll/one.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/listed.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/ask.h"
#include "test/support/support.h"
#include "workload/experiment/coll/tenants.h"

#define STAR8   "topology=switch:8@100GB/s,500ns network=alpha-beta bytes=8MB algorithm=ring "
#define ADDS    ",in_network=reduce+multicast set=switch_latency=500ns "
#define STAR(n) "topology=switch:" #n "@100Gbps,1us" ADDS

enum { TAU = 88480, RTT = 2 * TAU + 2 * 1000000 + 500000 };
/* 8 ranks: 14 messages of 1 MB at 100 GB/s, over two links of 500 ns. */
enum { RING8_PS = 14 * (10000000 + 1000000) };

typedef struct row {
    test_ask a;
    rlt_coll_one one;
} row;

static void row_open(row *r, const char *text, rlt_time series_ps)
{
    rlt_error err = {0};
    r->one = (rlt_coll_one){.ask = NULL};
    test_ask_open(&r->a, text, false);
    if (rlt_coll_one_open(&r->one, &r->a.ask, 0, series_ps, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
}

static rlt_coll_result *row_run(row *r, const char *text)
{
    rlt_error err = {0};
    row_open(r, text, 0);
    if (rlt_coll_one_simulate(&r->one, NULL, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    assert_true(r->one.result.bound_ps > 0 && r->one.result.bound_ps <= r->one.result.time_ps);
    return &r->one.result;
}

static void row_end(row *r)
{
    rlt_coll_one_end(&r->one);
    assert_null(r->one.ask);
    assert_null(r->one.tenants.list);
    test_ask_free(&r->a);
}

static double real(rlt_value v)
{
    assert_false(v.absent);
    return v.real;
}

static uint64_t count(rlt_value v)
{
    assert_false(v.absent);
    return v.count;
}

static void absent(rlt_value v)
{
    assert_true(v.absent);
}

static void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", got, expected);
}

static rlt_time through(uint64_t chunks, uint64_t window)
{
    if (window * TAU >= RTT)
        return (rlt_time)((chunks - 1) * TAU + RTT);
    return (rlt_time)((chunks - 1) / window * RTT + (chunks - 1) % window * TAU + RTT);
}

/* ---- algorithms ---- */

static void test_ring(void **state)
{
    row r;
    (void)state;
    const rlt_coll_result *got = row_run(&r, STAR8);
    assert_int_equal(got->kind, RLT_ALL_REDUCE);
    assert_string_equal(got->algorithm, "ring");
    assert_string_equal(got->ran, "ring");
    assert_string_equal(got->network, "alpha-beta");
    assert_int_equal(got->bytes, 8000000);
    assert_int_equal(got->ranks, 8);
    assert_int_equal(got->time_ps, RING8_PS);
    near(got->factor, 1.75);
    near(real(got->algbw_GBps), 8e6 / (RING8_PS * 1e-3));
    near(real(got->busbw_GBps), 1.75 * 8e6 / (RING8_PS * 1e-3));
    /* a link is busy for 14 messages of 10 us */
    near(got->busiest.utilization, 140.0 / 154);
    assert_int_equal(got->messages, 14 * 8);
    assert_int_equal(count(got->offered), 14 * 8 * 1000000);
    assert_int_equal(got->simulated, 1);
    assert_int_equal(r.one.run.threads, 1);
    assert_string_equal(r.one.run.unfolded, "");
    assert_int_equal(got->work, got->events + 8);
    absent(got->retransmissions);
    absent(got->fallback);
    absent(got->peak);
    absent(got->mean);
    absent(got->server_bytes);
    absent(got->collided);
    absent(got->fairness);
    assert_int_equal(rlt_usage_link(rlt_coll_one_usage(&r.one), 0).bytes, 14000000);
    rlt_coll_one_drop(&r.one); /* keeps the result */
    assert_int_equal(r.one.result.time_ps, RING8_PS);
    assert_null(r.one.run.exec);
    assert_null(r.one.reqs);
    row_end(&r);
}

/* A member of one lane takes an event for each message that it gets; all begin in one. */
static void test_events(void **state)
{
    row r;
    (void)state;
    assert_int_equal(row_run(&r, STAR8 "no-fold")->events, 14 * 8 + 1);
    row_end(&r);
}

/* What changes neither time nor messages; who is simulated for whom. */
static void test_folds(void **state)
{
    static const struct {
        const char *more;
        uint32_t simulated;
        rlt_time series_ps;
    } cases[] = {{"", 1, 0},        {"verify-fold", 1, 0}, {"check", 1, 0},
                 {"no-fold", 8, 0}, {"", 8, RLT_US},       {"tenants=1", 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        row r;
        rlt_error err = {0};
        snprintf(text, sizeof text, STAR8 "%s", cases[i].more);
        row_open(&r, text, cases[i].series_ps);
        assert_int_equal(rlt_coll_one_simulate(&r.one, NULL, &err), 0);
        assert_int_equal(r.one.result.time_ps, RING8_PS);
        assert_int_equal(r.one.result.messages, 112);
        if (r.one.result.simulated != cases[i].simulated)
            fail_msg("case %zu: %u simulated", i, (unsigned)r.one.result.simulated);
        assert_int_equal(r.one.result.work, r.one.result.events + 8);
        row_end(&r);
    }
    row r;
    row_run(&r, "topology=switch:7@100GB/s,500ns bytes=700kB algorithm=tree ");
    assert_int_equal(r.one.result.simulated, 7);
    assert_true(r.one.run.unfolded[0] != '\0');
    row_end(&r);
}

/* With 2^23 messages or more, uneven blocks are made even: 2 (n - 1) n messages of n blocks. */
static void test_even(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes, planned;
    } cases[] = {
        {"topology=ring:2049@100GB/s,1us bytes=2050B algorithm=ring", 2050, 4098},
        {"topology=ring:2049@100GB/s,1us bytes=4098B algorithm=ring", 4098, 4098},
        {"topology=ring:2049@100GB/s,1us bytes=2050B algorithm=ring no-fold", 2050, 2050},
        {"topology=ring:2049@100GB/s,1us bytes=2050B algorithm=ring network=packet", 2050, 2050},
        {"topology=ring:2048@100GB/s,1us bytes=2050B algorithm=ring", 2050, 2050},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        row r;
        row_open(&r, cases[i].text, 0);
        assert_int_equal(r.one.run.bytes, cases[i].bytes);
        assert_int_equal(r.one.run.plan.req.bytes, cases[i].planned);
        row_end(&r);
    }
}

/* All wait for the last rank; its delay comes on top. */
static void test_straggler(void **state)
{
    row r;
    (void)state;
    row_run(&r, STAR8 "straggler=46us verify-fold");
    assert_int_equal(r.one.result.time_ps, RING8_PS + 46 * RLT_US);
    near(r.one.result.busiest.utilization, 0.7); /* 140 of 200 us */
    row_end(&r);
    row_run(&r, STAR8 "straggler=46us tenants=2 ranks=4");
    /* 2 ranks each: 2 messages of 4 MB */
    assert_int_equal(r.one.tenants.list[0].time_ps, 2 * 41 * RLT_US + 46 * RLT_US);
    assert_int_equal(r.one.tenants.list[1].time_ps, 2 * 41 * RLT_US + 46 * RLT_US);
    row_end(&r);
}

/* Two pairs: {0, 1} over 100 GB/s inside, {2, 4} over 10 GB/s between. */
static void test_tenants(void **state)
{
    enum { FAST_PS = 2 * (40000000 + 1000000), SLOW_PS = 2 * (400000000 + 3000000) };
    const double a = 1.0 / FAST_PS, b = 1.0 / SLOW_PS;
    row r;
    (void)state;
    const rlt_coll_result *got =
        row_run(&r, "topology=switch:2@100GB/s,500ns*switch:4@10GB/s,1500ns network=alpha-beta bytes=8MB "
                    "algorithm=ring group=0,2,1,4 tenants=2 check");
    assert_int_equal(r.one.tenants.n, 2);
    assert_int_equal(r.one.tenants.list[0].time_ps, FAST_PS);
    assert_int_equal(r.one.tenants.list[1].time_ps, SLOW_PS);
    assert_int_equal(got->time_ps, SLOW_PS);
    assert_int_equal(got->ranks, 2);
    assert_int_equal(got->simulated, 4);
    assert_int_equal(got->messages, 8);
    assert_int_equal(got->work, got->events + 4);
    near(got->factor, 1);
    near(real(got->fairness), (a + b) * (a + b) / 2 / (a * a + b * b));
    assert_int_equal(got->bound_ps, r.one.run.tenants[1].bound_ps);
    assert_int_equal(r.one.run.tenants[0].bound_ps, 72727272); /* 2 * 4 MB over both links, 110 GB/s */
    for (int i = 0; i < 2; i++) {
        const rlt_tenant *t = &r.one.tenants.list[i];
        assert_string_equal(t->ran, "ring");
        assert_string_equal(t->why, "");
        absent(t->slots);
        absent(t->fallback);
        absent(t->retransmissions);
        absent(t->server_bytes);
    }
    row_end(&r);
}

/* A time of zero gives no bandwidth; a barrier has one of zero. */
static void test_no_bytes(void **state)
{
    row r;
    rlt_error err = {0};
    (void)state;
    row_open(&r, STAR8 "ranks=1", 0);
    int rc = rlt_coll_one_simulate(&r.one, NULL, &err);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(r.one.result.time_ps, 0);
    absent(r.one.result.algbw_GBps);
    absent(r.one.result.busbw_GBps);
    row_end(&r);
    row_open(&r, STAR8 "collective=barrier algorithm=recursive_doubling", 0);
    assert_int_equal(rlt_coll_one_simulate(&r.one, NULL, &err), 0);
    near(real(r.one.result.algbw_GBps), 0);
    row_end(&r);
}

/* Threads are for packets. */
static void test_threads(void **state)
{
    row r;
    rlt_error err = {0};
    (void)state;
    row_open(&r, STAR8, 0);
    r.a.settings.threads = 2;
    assert_int_equal(rlt_coll_one_simulate(&r.one, NULL, &err), 0);
    assert_string_equal(r.one.run.alone, "only --network packet is simulated in parts");
    assert_int_equal(r.one.run.threads, 1);
    row_end(&r);
    row_open(&r, STAR8, 0);
    assert_int_equal(rlt_coll_one_simulate(&r.one, NULL, &err), 0);
    assert_string_equal(r.one.run.alone, "");
    row_end(&r);
}

/* ---- plans that are wrong ---- */

/* Members 0 and 1 send each other their block; `added`: to what is there. Without `sent` the second only waits. */
static void make_plan(rlt_listed *out, bool added, bool sent)
{
    rlt_listing *l;
    rlt_error err = {0};
    const rlt_listing_head head = {
        .name = "ours", .kind = RLT_ALL_REDUCE, .n = 2, .blocks = 1, .buffers = 1, .result = 0};
    assert_int_equal(rlt_listing_create(&head, &l, &err), 0);
    for (uint32_t m = 0; m < 2; m++) {
        rlt_step step;
        rlt_step_clear(&step);
        if (m == 0 || sent) {
            step.send_to = 1 - m;
            step.send = step.land = (rlt_blocks){.first = 0, .run = 1, .stride = 0, .reps = 1};
            step.reduce = added;
        }
        step.recv_count = 1;
        step.recv_from = 1 - m;
        assert_int_equal(rlt_listing_lane(l, m), 0);
        assert_int_equal(rlt_listing_step(l, m, 0, &step, 0), 0);
    }
    assert_int_equal(rlt_listing_finish(l, out, &err), 0);
}

static int run_plan(bool added, bool sent, bool check, rlt_error *err)
{
    rlt_listed plan;
    row r;
    *err = (rlt_error){0};
    make_plan(&plan, added, sent);
    r.one = (rlt_coll_one){.ask = NULL};
    test_ask_open(&r.a, check ? STAR8 "ranks=2 check" : STAR8 "ranks=2", false);
    r.a.ask.listed[0] = &plan;
    r.a.ask.algorithms[0] = &rlt_custom;
    int rc = rlt_coll_one_open(&r.one, &r.a.ask, 0, 0, err);
    assert_int_equal(rc, 0);
    rc = rlt_coll_one_simulate(&r.one, NULL, err);
    if (!rc) {
        assert_string_equal(r.one.result.algorithm, "ours");
        assert_int_equal(r.one.result.time_ps, 81 * RLT_US); /* 8 MB at 100 GB/s */
    }
    rlt_coll_one_end(&r.one);
    test_ask_free(&r.a);
    rlt_listed_free(&plan);
    return rc;
}

static void test_wrong_plans(void **state)
{
    rlt_error err;
    (void)state;
    assert_int_equal(run_plan(true, true, true, &err), 0);
    assert_int_equal(run_plan(false, true, true, &err), RLT_ECHECK);
    assert_int_equal(run_plan(false, true, false, &err), 0);
    assert_int_equal(run_plan(true, false, false, &err), RLT_ESTALL);
    assert_string_equal(err.where, "all_reduce");
    assert_non_null(strstr(err.what, "stalled: "));
}

/* ---- protocols ---- */

static void test_switchml(void **state)
{
    row r;
    (void)state;
    const rlt_coll_result *got = row_run(&r, STAR(8) "bytes=64KiB algorithm=switchml");
    assert_string_equal(got->algorithm, "switchml");
    assert_string_equal(got->ran, "switchml");
    assert_string_equal(got->network, "packet");
    assert_int_equal(got->bytes, 65536);
    assert_int_equal(got->ranks, 8);
    assert_int_equal(got->time_ps, through(64, 256));
    near(got->factor, 1.75);
    near(real(got->algbw_GBps), 65536.0 / (double)through(64, 256) * 1e3);
    near(real(got->busbw_GBps), 1.75 * 65536.0 / (double)through(64, 256) * 1e3);
    assert_int_equal(got->messages, 8 * 64);
    assert_int_equal(got->simulated, 8);
    assert_int_equal(got->work, got->events);
    assert_int_equal(r.one.react.expected, 8 * 64);
    assert_int_equal(count(got->retransmissions), 0);
    absent(got->offered);
    absent(got->fallback);
    absent(got->server_bytes);
    absent(got->collided);
    absent(got->fairness);
    /* a link carries 64 packets */
    near(got->busiest.utilization, 64.0 * TAU / (double)through(64, 256));
    assert_int_equal(rlt_usage_link(rlt_coll_one_usage(&r.one), got->busiest.link).bytes, 64 * 1106);
    row_end(&r);
}

/* While the last worker is late, the others' chunks fill slots: at most as many as their windows. */
static void test_late_worker(void **state)
{
    row r;
    (void)state;
    const rlt_coll_result *got = row_run(&r, STAR(8) "bytes=64KiB algorithm=switchml straggler=50us");
    assert_int_equal(got->time_ps, 50 * RLT_US + through(64, 256));
    assert_int_equal(count(got->peak), 64);
    assert_true(real(got->mean) > 64 * 50.0e6 / (double)got->time_ps * 0.95);
    assert_true(real(got->mean) < 64);
    row_end(&r);
    /* The last worker, not a server behind it, is late. */
    row_run(&r, STAR(9) "bytes=64KiB algorithm=ps-switch straggler=50us workers=8");
    rlt_time late = r.one.result.time_ps;
    row_end(&r);
    row_run(&r, STAR(9) "bytes=64KiB algorithm=ps-switch workers=8");
    assert_int_equal(late, r.one.result.time_ps + 50 * RLT_US);
    row_end(&r);
}

/* n C packets into the server of which the switch adds half: fallbacks of half of the contributions. */
static void test_server(void **state)
{
    static const struct {
        const char *text;
        double fallback;
        uint64_t server;
    } cases[] = {
        {"set=share=1", 0, 64 * 1106},
        {"set=share=0", 1, 8 * 64 * 1106},
        {"set=share=1 workers=8", 0, 64 * 1106},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        row r;
        snprintf(text, sizeof text, STAR(9) "bytes=64KiB algorithm=ps-switch %s", cases[i].text);
        const rlt_coll_result *got = row_run(&r, text);
        assert_string_equal(got->algorithm, "ps-switch");
        assert_int_equal(got->time_ps,
                         (cases[i].fallback > 0 ? 8 : 1) * 64 * TAU + 3 * TAU + 4 * 1000000 + 2 * 500000);
        near(real(got->fallback), cases[i].fallback);
        assert_int_equal(count(got->server_bytes), cases[i].server);
        near(got->factor, 1.75); /* of 8 workers */
        assert_int_equal(r.one.react.result.servers, 1);
        row_end(&r);
    }
}

static void test_refused(void **state)
{
    static const struct {
        int code;
        const char *text, *where, *what;
    } cases[] = {
        {RLT_ERANGE, STAR(8) "algorithm=ps-switch workers=8", "ps-switch",
         "8 workers and 1 separate server exceed the 8 ranks"},
        {RLT_ERANGE, STAR(8) "algorithm=switchml workers=4 tenants=2", NULL, NULL},
        {RLT_ERANGE, STAR(8) "algorithm=ps-switch workers=4 tenants=2", "ps-switch",
         "4 workers and 1 separate server exceed the 4 ranks of a tenant"},
        {RLT_ETOPOLOGY,
         STAR(8) "algorithm=switchml tenants=2 set=switch.slots=256 set=switch.sharing=first_come",
         "tenant 1", "no slots left"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        test_ask a;
        rlt_coll_one one = {.ask = NULL};
        rlt_error err = {0};
        snprintf(text, sizeof text, "%s bytes=64KiB", cases[i].text);
        test_ask_open(&a, text, false);
        int rc = rlt_coll_one_open(&one, &a.ask, 0, 0, &err);
        if (cases[i].what ? rc == 0 || strncmp(err.where, cases[i].where, strlen(cases[i].where)) != 0 ||
                                !strstr(err.what, cases[i].what)
                          : rc)
            fail_msg("%s: %d: %s: %s", text, rc, err.where, err.what);
        rlt_coll_one_end(&one);
        test_ask_free(&a);
    }
}

/* First come: 256 of 264 slots for the first job, 8 for the second. 128 chunks each. */
static void test_shared_slots(void **state)
{
    const double a = 1.0 / (double)through(128, 256), b = 1.0 / (double)through(128, 8);
    row r;
    (void)state;
    const rlt_coll_result *got = row_run(&r, STAR(16) "bytes=128KiB algorithm=switchml tenants=2 "
                                                      "set=switch.slots=264 set=switch.sharing=first_come");
    assert_int_equal(r.one.react.tenants, 2);
    assert_int_equal(r.one.react.slowest, 1);
    assert_int_equal(r.one.tenants.list[0].time_ps, through(128, 256));
    assert_int_equal(r.one.tenants.list[1].time_ps, through(128, 8));
    assert_int_equal(count(r.one.tenants.list[0].slots), 256);
    assert_int_equal(count(r.one.tenants.list[1].slots), 8);
    assert_int_equal(got->time_ps, through(128, 8));
    assert_int_equal(got->messages, 2 * 8 * 128);
    assert_int_equal(got->simulated, 16);
    near(real(got->fairness), (a + b) * (a + b) / 2 / (a * a + b * b));
    near(real(got->collided), 0);
    for (int i = 0; i < 2; i++) {
        const rlt_tenant *t = &r.one.tenants.list[i];
        assert_string_equal(t->ran, "switchml");
        assert_string_equal(t->why, "");
        assert_int_equal(count(t->retransmissions), 0);
        absent(t->fallback);
        absent(t->server_bytes);
    }
    row_end(&r);
}

/* The second job has no slot: its server gets all contributions. */
static void test_second_server(void **state)
{
    row r;
    (void)state;
    const rlt_coll_result *got =
        row_run(&r, STAR(18) "bytes=128KiB algorithm=ps-switch tenants=2 set=switch.slots=256 "
                             "set=switch.sharing=first_come");
    const rlt_tenant *t = r.one.tenants.list;
    assert_int_equal(t[0].time_ps, 128 * TAU + 3 * TAU + 5000000);
    assert_int_equal(t[1].time_ps, 8 * 128 * TAU + 3 * TAU + 5000000);
    near(real(t[0].fallback), 0);
    near(real(t[1].fallback), 1);
    assert_string_equal(t[0].why, "");
    assert_string_equal(t[1].why, "no slots left");
    assert_int_equal(count(t[0].server_bytes), 128 * 1106);
    assert_int_equal(count(t[1].server_bytes), 8 * 128 * 1106);
    assert_int_equal(count(t[1].slots), 0);
    near(real(got->fallback), 0.5);
    assert_int_equal(count(got->server_bytes), 9 * 128 * 1106);
    assert_int_equal(r.one.react.result.aggregated, 128);
    assert_int_equal(r.one.react.result.unaggregated, 8 * 128);
    row_end(&r);
}

/* Those without slots run as something else, and say why. */
static void test_fallbacks(void **state)
{
    static const struct {
        const char *text, *ran, *why;
    } cases[] = {
        {"set=switch.fallback=host_ring", "host-ring", "sw0.0.0: no slots left"},
        {"set=refused=ring", "host-ring", "sw0.0.0: no slots left"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        row r;
        snprintf(text, sizeof text,
                 STAR(16) "bytes=128KiB algorithm=switchml tenants=2 set=switch.slots=256 "
                          "set=switch.sharing=first_come %s",
                 cases[i].text);
        row_run(&r, text);
        const rlt_tenant *t = r.one.tenants.list;
        assert_string_equal(t[0].ran, "switchml");
        assert_string_equal(t[1].ran, cases[i].ran);
        assert_string_equal(t[0].why, "");
        assert_non_null(strstr(t[1].why, cases[i].why));
        absent(t[1].slots);
        row_end(&r);
    }
    row r; /* one job alone, where no switch adds */
    const rlt_coll_result *got = row_run(&r, "topology=switch:8@100Gbps,1us bytes=64KiB algorithm=switchml "
                                             "set=switch.fallback=host_ring");
    assert_string_equal(got->algorithm, "switchml");
    assert_string_equal(got->ran, "host-ring");
    absent(got->peak);
    absent(got->mean);
    row_end(&r);
}

/* Packets that meet another job's slot, and losses of both jobs. */
static void test_losses(void **state)
{
    row r;
    uint64_t sum = 0;
    (void)state;
    const rlt_coll_result *got =
        row_run(&r, STAR(18) "bytes=128KiB algorithm=atp tenants=2 set=switch.slots=64 "
                             "set=switch.sharing=dynamic set=loss=0.01 set=seed=3");
    double collided = real(got->collided);
    assert_true(collided > 0 && collided < 1);
    for (int i = 0; i < 2; i++) {
        uint64_t again = count(r.one.tenants.list[i].retransmissions);
        assert_true(again > 0);
        sum += again;
    }
    assert_int_equal(count(got->retransmissions), sum);
    row_end(&r);
}

/* Two leaves and a spine of unequal load: the fullest switch is the one with most slots in use. */
static void test_fullest(void **state)
{
    row r;
    (void)state;
    row_run(&r, "topology=fat-tree:8@100Gbps,1us,hosts_per_leaf=4,in_network=reduce+multicast bytes=64KiB "
                "algorithm=switchml straggler=50us");
    assert_non_null(r.one.react.fullest);
    assert_int_equal(r.one.react.peak, 64);
    row_end(&r);
}

/* ---- watches ---- */

typedef struct watched {
    uint64_t calls, done, total;
    uint32_t begun, ended;
    bool stop;
    rlt_sim *sim;
} watched;

static void running(void *ctx, rlt_sim *sim)
{
    watched *w = ctx;
    w->begun += sim != NULL;
    w->ended += sim == NULL;
    w->sim = sim;
}

static void progress(void *ctx, uint64_t done, uint64_t total)
{
    watched *w = ctx;
    assert_true(done > w->done && done <= total);
    w->calls++;
    w->done = done;
    w->total = total;
    if (w->stop)
        rlt_sim_stop(w->sim);
}

static void hold_progress(const char *text, uint64_t total, uint32_t threads)
{
    for (int stop = 0; stop < 2; stop++) {
        row r;
        watched w = {.stop = stop};
        const rlt_watch watch = {.ctx = &w, .running = running, .progress = progress};
        rlt_error err = {0};
        row_open(&r, text, 0);
        r.a.settings.threads = threads;
        int rc = rlt_coll_one_simulate(&r.one, &watch, &err);
        assert_int_equal(rc, stop ? RLT_ECANCELLED : 0);
        assert_int_equal(w.begun, 1);
        assert_int_equal(w.ended, 1);
        assert_null(w.sim);
        assert_int_equal(w.total, total);
        if (stop ? w.calls != 1 : w.calls < 1)
            fail_msg("%s, stop %d: %d calls", text, stop, (int)w.calls);
        row_end(&r);
    }
}

static void test_progress(void **state)
{
    (void)state;
    hold_progress("topology=switch:256@100GB/s,1us network=alpha-beta no-fold algorithm=pairwise "
                  "collective=all_to_all bytes=1MiB",
                  256 * 256, 0); /* a member's steps are estimated as its messages */
    hold_progress(STAR(8) "bytes=2MiB algorithm=switchml", 8 * 2048, 0);
}

/* Bounds need cuts; they are found before. */
static void test_prime(void **state)
{
    static const char *const texts[] = {STAR8, STAR8 "tenants=2", STAR(9) "bytes=64KiB algorithm=ps-switch",
                                        STAR(18) "bytes=64KiB algorithm=ps-switch tenants=2"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        test_ask a;
        rlt_error err = {0};
        test_ask_open(&a, texts[i], false);
        assert_int_equal(rlt_coll_prime(&a.ask, &err), 0);
        test_ask_free(&a);
    }
    test_ask a; /* 9 workers leave no rank for a server */
    rlt_error err = {0};
    test_ask_open(&a, STAR(9) "bytes=64KiB algorithm=ps-switch workers=9", false);
    assert_int_equal(rlt_coll_prime(&a.ask, &err), RLT_ERANGE);
    test_ask_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),          cmocka_unit_test(test_events),
        cmocka_unit_test(test_folds),         cmocka_unit_test(test_even),
        cmocka_unit_test(test_straggler),     cmocka_unit_test(test_tenants),
        cmocka_unit_test(test_no_bytes),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_wrong_plans),   cmocka_unit_test(test_switchml),
        cmocka_unit_test(test_late_worker),   cmocka_unit_test(test_server),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_shared_slots),
        cmocka_unit_test(test_second_server), cmocka_unit_test(test_fallbacks),
        cmocka_unit_test(test_losses),        cmocka_unit_test(test_fullest),
        cmocka_unit_test(test_progress),      cmocka_unit_test(test_prime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
