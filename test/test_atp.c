/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATP: what a window bounds, collisions against their law, what goes to servers, marks and losses, and slots
 * that do not wait for whom is late. Packets of 248 + 60 bytes at 100 Gb/s (tau = 24.64 ns), links of 1 us,
 * switches of 500 ns.
 */
#include <math.h>

#include "test/fabric.h"

enum { TAU = 24640, D = 1000000, S = 500000, P = 248, WIRE = 308 };

static test_leaves hosts(uint32_t n)
{
    return (test_leaves){.workers = n, .leaf_can = "reduce+multicast"};
}

static rlt_react_result run(uint32_t n, const char *settings, uint32_t chunks)
{
    test_leaves net = hosts(n);
    test_fabric x = test_fabric_open(&net, test_fabric_config());
    rlt_react_request q = test_request("atp", settings, n, (uint64_t)chunks * P);
    uint32_t job = test_add(&x, &q);
    test_finish(&x);
    rlt_react_result r = rlt_fabric_result(x.fabric, job);
    test_fabric_close(&x);
    return r;
}

/* A slot stays for a round trip to the server: RTT = 4 tau + 4 d + 2 s; window x payload / RTT bounds. */
static void test_window(void **state)
{
    (void)state;
    const rlt_time rtt = 4 * TAU + 4 * D + 2 * S;
    /* One at a time: exactly C RTT. Everything is added up but what hashes onto nothing else: A is large. */
    rlt_react_result r = run(9, "window=1", 200);
    assert_int_equal(r.time_ps, 200 * rtt);
    assert_int_equal(r.aggregated, 200);
    assert_int_equal(r.unaggregated, 0);
    assert_int_equal(r.switches.contributions, 8 * 200);
    /* Places of one window may hash onto each other: a few rounds until each has its own. */
    r = run(9, "window=64", 6400);
    assert_true(r.time_ps >= 99 * rtt + 63 * TAU);
    assert_true((double)r.time_ps < 1.15 * 100 * (double)rtt);
    assert_true(r.unaggregated < 8 * 64);
    assert_int_equal(r.unaggregated, r.switches.fallbacks + r.switches.resends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
