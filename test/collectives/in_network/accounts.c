/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts of a job under every protocol: how many workers, servers, chunks and trees it has, when each worker is
 * done, that a finished job gives its slots back, and which requests are refused. Counted by hand: B bytes in
 * packets of P make (B + P - 1) / P chunks.
 */
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/packet/packets.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/networks/fabric.h"

enum { HOSTS = 8, BYTES = 10000 };

/* Calls of the fabric's client. */
typedef struct calls {
    const test_fabric *x;
    uint64_t cookie;
    rlt_time at[HOSTS];
    uint32_t workers[HOSTS], jobs;
    bool early; /* the job was done before one of its workers */
} calls;

static void on_worker(void *ctx, uint64_t cookie, uint32_t worker)
{
    calls *c = ctx;
    assert_int_equal(cookie, c->cookie);
    assert_in_range(worker, 0, HOSTS - 1);
    c->early |= c->jobs > 0;
    c->at[worker] = rlt_sim_now(rlt_fabric_sim(c->x->fabric));
    c->workers[worker]++;
}

static void on_done(void *ctx, uint64_t cookie)
{
    calls *c = ctx;
    assert_int_equal(cookie, c->cookie);
    c->jobs++;
}

/* Hosts below two leaves in turn, and a spine. */
static test_fabric open_net(rlt_fabric_config cfg)
{
    test_leaves net = {.workers = HOSTS,
                       .leaves = 2,
                       .spines = 1,
                       .leaf_can = "reduce+multicast",
                       .spine_can = "reduce+multicast"};
    return test_fabric_open(&net, cfg);
}

typedef struct row {
    const char *protocol, *settings;
    uint32_t workers, servers, chunks, window, slots, adders, levels;
    uint64_t packets; /* that hosts and servers send */
} row;

/* A ring sends each chunk 14 times: 7 until the sum is there, 7 for the others to have it. Behind switches each
 * worker sends it once, and a server answers once for all, or, where no switch replicates, once for each. Nodes
 * of two exchange a chunk, four members send it up, and each tells its peer. A tree of all hosts adds at both
 * leaves and the spine; those of every second host need one leaf. */
static const row rows[] = {
    {"host-ring", "payload=1000B", 8, 0, 10, 1, 0, 0, 0, 140},
    {"host-ring", "payload=999B", 8, 0, 11, 1, 0, 0, 0, 154},
    {"switchml", "window=4 payload=1000B", 8, 0, 10, 4, 4, 3, 2, 80},
    {"switchml", "window=4 payload=1001B", 8, 0, 10, 4, 4, 3, 2, 80},
    {"switchml", "window=7 trees=2 payload=1000B", 8, 0, 10, 6, 3, 6, 2, 80},
    {"switchml", "window=4 payload=1000B exponents=on", 8, 0, 14, 4, 4, 3, 2, 112},
    {"switchml", "window=40 payload=1000B exponents=on", 8, 0, 20, 40, 40, 3, 2, 160},
    {"ps-switch", "window=5 payload=1000B servers=2", 6, 2, 10, 5, 5, 3, 2, 70},
    {"ps-switch", "window=5 payload=1000B servers=2 servers_at=members", 8, 2, 10, 5, 5, 3, 2, 90},
    {"ps-switch", "window=5 payload=1000B answers=server share=0", 7, 1, 10, 5, 0, 0, 0, 140},
    {"atp", "window=6 payload=1000B servers=1 aggregators=12", 7, 1, 10, 6, 12, 3, 2, 80},
    {"sharp", "mode=llt osts=3 payload=1000B", 8, 0, 10, 3, 3, 3, 2, 80},
    {"sharp", "mode=sat stream=9 segment=500B", 8, 0, 20, 9, 9, 3, 2, 160},
    {"hierarchical-ina", "node=2 window=3 payload=1000B", 8, 0, 10, 6, 3, 2, 1, 120},
    {"hierarchical-ina", "node=4 window=5 payload=1000B", 8, 0, 10, 20, 5, 4, 1, 30 + 30 + 20 + 30 + 30},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i];
        calls c = {.cookie = 77 + i};
        rlt_fabric_config cfg = test_fabric_config();
        cfg.client = (rlt_fabric_client){&c, on_worker, on_done};
        test_fabric x = open_net(cfg);
        c.x = &x;
        rlt_react_request q = test_request(w->protocol, w->settings, HOSTS, BYTES);
        rlt_time late[HOSTS] = {[3] = 40 * RLT_US}, last = 0;
        q.cookie = c.cookie;
        q.start_ps = 5 * RLT_US;
        q.late_ps = late;
        uint32_t job = test_add(&x, &q);
        test_finish(&x);
        rlt_react_result r = rlt_fabric_result(x.fabric, job);
        assert_string_equal(r.protocol, w->protocol);
        assert_int_equal(r.workers, w->workers);
        assert_int_equal(r.servers, w->servers);
        assert_int_equal(r.chunks, w->chunks);
        assert_int_equal(r.window, w->window);
        assert_int_equal(r.slots, w->slots);
        assert_int_equal(r.adders, w->adders);
        assert_int_equal(r.levels, w->levels);
        assert_int_equal(r.packets, w->packets);
        assert_null(r.fell_back);
        /* Every worker is done once, after the last one began and two links; the last of them ends the job. */
        for (uint32_t k = 0; k < HOSTS; k++) {
            assert_int_equal(c.workers[k], k < w->workers);
            assert_true(k >= w->workers || c.at[k] >= 47 * RLT_US);
            last = c.at[k] > last ? c.at[k] : last;
        }
        assert_int_equal(c.jobs, 1);
        assert_false(c.early);
        assert_int_equal(r.end_ps, last);
        assert_int_equal(r.time_ps, last - 5 * RLT_US);
        assert_int_equal(rlt_fabric_end(x.fabric), last);
        test_fabric_close(&x);
    }
}

/* Switches with slots for one job: the next job is refused while the first has them, and gets them after it. */
static void test_slots_return(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        calls c = {.cookie = 5};
        rlt_fabric_config cfg = test_fabric_config();
        cfg.aggregator = (rlt_aggregator_config){.slots = 4, .sharing = RLT_SHARE_FIRST_COME};
        if (told)
            cfg.client = (rlt_fabric_client){&c, on_worker, on_done};
        test_fabric x = open_net(cfg);
        c.x = &x;
        rlt_react_request q = test_request("switchml", "window=4 refused=ring", HOSTS, BYTES);
        q.cookie = c.cookie;
        uint32_t first = test_add(&x, &q), second = test_add(&x, &q);
        assert_int_equal(rlt_fabric_result(x.fabric, first).slots, 4);
        assert_int_equal(rlt_fabric_result(x.fabric, second).slots, 0);
        test_finish(&x);
        assert_string_equal(rlt_fabric_result(x.fabric, second).protocol, "host-ring");
        q.start_ps = rlt_fabric_end(x.fabric);
        uint32_t third = test_add(&x, &q);
        test_finish(&x);
        rlt_react_result r = rlt_fabric_result(x.fabric, third);
        assert_string_equal(r.protocol, told ? "switchml" : "host-ring");
        assert_int_equal(r.slots, told ? 4 : 0);
        assert_int_equal(r.adders, told ? 3 : 0);
        /* Counts of switches are kept for a job that gave its slots back. */
        assert_int_equal(rlt_fabric_result(x.fabric, first).switches.packets, 10 * (HOSTS + 2));
        assert_int_equal(rlt_fabric_jobs(x.fabric), 3);
        test_fabric_close(&x);
    }
}

/* Members that never arrive: the message names the first rank that waits, and for what. */
static void test_absent(void **state)
{
    (void)state;
    static const char *const protocols[] = {"sharp", "host-ring", "hierarchical-ina"};
    static const char *const settings[] = {"mode=llt payload=1000B", "payload=1000B", "node=1 payload=1000B"};
    for (uint32_t i = 0; i < 3; i++) {
        test_fabric x = open_net(test_fabric_config());
        rlt_react_request q = test_request(protocols[i], settings[i], 3, BYTES);
        const uint32_t ranks[] = {6, 2, 4};
        rlt_error err = {0};
        char text[200] = "";
        q.ranks = ranks;
        q.arrives = true;
        uint32_t job = test_add(&x, &q);
        rlt_fabric_arrive(x.fabric, job, 0);
        rlt_fabric_arrive(x.fabric, job, 2);
        assert_int_equal(rlt_fabric_run(x.fabric, &err), RLT_ESTALL);
        assert_string_equal(err.where, protocols[i]);
        assert_string_equal(
            err.what, "rank 6 waits for chunk 0 of 10, but no packet is under way (0 packets were lost)");
        assert_true(rlt_fabric_waits(x.fabric, text, sizeof text));
        assert_non_null(strstr(text, "rank 6 waits for chunk 0 of 10"));
        rlt_fabric_arrive(x.fabric, job, 1);
        test_finish(&x);
        assert_false(rlt_fabric_waits(x.fabric, text, sizeof text));
        assert_int_equal(rlt_fabric_result(x.fabric, job).packets, i == 1 ? 40 : 30);
        test_fabric_close(&x);
    }
}

static void refused(const test_fabric *x, const rlt_react_request *q, int status, const char *what)
{
    rlt_error err = {0};
    uint32_t job = 0;
    assert_int_equal(rlt_fabric_add(x->fabric, q, &job, &err), status);
    assert_int_equal(job, RLT_NONE);
    assert_int_equal(rlt_fabric_jobs(x->fabric), 0);
    if (!strstr(err.what, what))
        fail_msg("%s: %s, expected %s", err.where, err.what, what);
}

/* Chunks are numbered with 31 bits at most, and each has a receipt of each worker: limits, and beyond. */
static void test_sizes(void **state)
{
    (void)state;
    static const char *const protocols[] = {"switchml", "ps-switch", "atp", "host-ring", "hierarchical-ina"};
    test_fabric x = open_net(test_fabric_config());
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        rlt_react_request q = test_request(protocols[i], "payload=1B", HOSTS, 0);
        for (uint64_t bytes = UINT64_C(1) << 31; bytes <= UINT64_C(1) << 50; bytes = 2 * bytes + 1) {
            q.bytes = bytes;
            refused(&x, &q, RLT_ERANGE, "chunks");
        }
    }
    test_fabric_close(&x);
}

/* Requests that no fabric takes, and those at the limit. */
static void test_refused(void **state)
{
    (void)state;
    test_fabric x = open_net(test_fabric_config());
    const rlt_react_request good = test_request("switchml", "", HOSTS, BYTES);
    rlt_react_request q = good;
    q.start_ps = -1;
    refused(&x, &q, RLT_ERANGE, "expected a start of at least 0 ps, got -1 ps");
    q = good;
    q.kind = RLT_ALL_GATHER;
    refused(&x, &q, RLT_EUNSUPPORTED, "does not support all_gather");
    q = good;
    q.n = HOSTS + 1;
    refused(&x, &q, RLT_ERANGE, "expected 1 to 8 members, got 9");
    q.n = 0;
    refused(&x, &q, RLT_ERANGE, "expected 1 to 8 members, got 0");
    q = good;
    const uint32_t ranks[] = {4, HOSTS, 1, 1};
    q.ranks = ranks;
    q.n = 2;
    refused(&x, &q, RLT_ERANGE, "rank 8 does not exist; the placement has 8 ranks");
    q.ranks = ranks + 2;
    refused(&x, &q, RLT_ESCHEMA, "rank 1 is named twice");
    q = good;
    const rlt_time late[HOSTS] = {[5] = -1};
    q.late_ps = late;
    refused(&x, &q, RLT_ERANGE, "the delay of rank 5 is negative");
    q = test_request("ps-switch", "servers=8", HOSTS, BYTES);
    refused(&x, &q, RLT_ERANGE, "8 servers among 8 members leave no worker");
    q = test_request("ps-switch", "answers=server share=0.1", HOSTS, BYTES);
    refused(&x, &q, RLT_ESCHEMA, "answers=server needs share=0");
    q = test_request("hierarchical-ina", "node=3", HOSTS, BYTES);
    refused(&x, &q, RLT_ERANGE, "8 members cannot be divided into nodes of 3");

    /* Servers may be workers, too: then all of them. One worker may be left. Nothing to send is done at once. */
    q = test_request("ps-switch", "servers=8 servers_at=members", HOSTS, BYTES);
    uint32_t all = test_add(&x, &q);
    q = test_request("ps-switch", "servers=7", HOSTS, BYTES);
    uint32_t one = test_add(&x, &q);
    q = test_request("host-ring", "", HOSTS, 0);
    q.start_ps = 3 * RLT_US;
    uint32_t empty = test_add(&x, &q);
    test_finish(&x);
    assert_int_equal(rlt_fabric_result(x.fabric, all).servers, 8);
    assert_int_equal(rlt_fabric_result(x.fabric, all).workers, 8);
    assert_int_equal(rlt_fabric_result(x.fabric, one).workers, 1);
    assert_int_equal(rlt_fabric_result(x.fabric, empty).end_ps, 3 * RLT_US);
    assert_int_equal(rlt_fabric_result(x.fabric, empty).time_ps, 0);
    assert_int_equal(rlt_fabric_result(x.fabric, empty).packets, 0);
    test_fabric_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_slots_return),
                                       cmocka_unit_test(test_absent), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
