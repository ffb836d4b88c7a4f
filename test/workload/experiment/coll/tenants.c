/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tenants share, in one row: the counts of their switches, and slots. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "test/support/ask.h"
#include "test/support/support.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"
#include "workload/experiment/coll/react.h"
#include "workload/experiment/coll/tenants.h"

#define STAR16 "topology=switch:16@100Gbps,1us,in_network=reduce+multicast set=switch_latency=500ns "
#define TWO_TREES                                                                                            \
    "topology=fat-tree:8@100Gbps,1us,hosts_per_leaf=4,in_network=reduce+multicast bytes=64KiB "              \
    "algorithm=switchml set=switchml.trees=2 set=switch.slots=96"

typedef struct row {
    test_ask a;
    rlt_coll_one one;
} row;

static const rlt_coll_result *row_run(row *r, const char *text)
{
    rlt_error err = {0};
    r->one = (rlt_coll_one){.ask = NULL};
    test_ask_open(&r->a, text, false);
    if (rlt_coll_one_open(&r->one, &r->a.ask, 0, 0, &err) || rlt_coll_one_simulate(&r->one, NULL, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    return &r->one.result;
}

static void row_end(row *r)
{
    rlt_coll_one_end(&r->one);
    test_ask_free(&r->a);
}

/* Switches count for all tenants together. A hash spreads the slots, so that jobs meet in them. */
static void test_sums(void **state)
{
    row r;
    (void)state;
    const rlt_coll_result *got = row_run(&r, STAR16 "bytes=128KiB algorithm=switchml tenants=2");
    const rlt_react_run *run = &r.one.react;
    for (int i = 0; i < 2; i++)
        assert_int_equal(run->results[i].switches.packets, 8 * 128);
    assert_int_equal(run->result.switches.packets, 2 * 8 * 128);
    assert_int_equal(run->result.switches.contributions, 2 * 8 * 128);
    assert_int_equal(run->result.switches.completions, 2 * 128);
    assert_true(got->collided.real == 0 && !got->collided.absent);
    row_end(&r);
    got = row_run(&r, STAR16 "bytes=128KiB algorithm=atp tenants=2 set=atp.window=64 "
                             "set=switch.slots=64 set=switch.sharing=dynamic");
    run = &r.one.react;
    uint64_t packets = 0, foreign = 0;
    for (int i = 0; i < 2; i++) {
        packets += run->results[i].switches.packets;
        foreign += run->results[i].switches.foreign;
    }
    assert_true(foreign > 0);
    assert_false(got->collided.absent);
    assert_true(got->collided.real == (double)foreign / (double)packets);
    row_end(&r);
}

/* One tenant is none: its trees share the slots as those of a job without tenants do. */
static void test_one_tenant(void **state)
{
    static const char *const texts[] = {TWO_TREES, TWO_TREES " tenants=1"};
    rlt_coll_result got[2];
    row r;
    (void)state;
    for (int i = 0; i < 2; i++) {
        got[i] = *row_run(&r, texts[i]);
        assert_int_equal(r.one.react.results[0].slots, 96);
        row_end(&r);
    }
    assert_int_equal(got[0].time_ps, got[1].time_ps);
    assert_int_equal(got[0].messages, got[1].messages);
    assert_int_equal(got[0].events, got[1].events);
}

/* A list that is freed is empty, and can be freed again. */
static void test_freed(void **state)
{
    rlt_tenants t = {.list = calloc(2, sizeof *t.list), .n = 2};
    (void)state;
    rlt_tenants_free(&t);
    assert_true(!t.list && t.n == 0);
    rlt_tenants_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_one_tenant),
        cmocka_unit_test(test_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
