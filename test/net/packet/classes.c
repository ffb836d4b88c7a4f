/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links of packets are one class only if their ports counted the same: each count alone tells two links apart. */
#include <stdlib.h>

#include "net/import/import.h"
#include "net/links.h"
#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"

static void nothing(void *ctx, const rlt_packet *p)
{
    (void)ctx, (void)p;
}

static void each_count_makes_a_class(void **state)
{
    (void)state;
    static const rlt_port_counts counts[] = {{0},          {.drops = 1},     {.losses = 1},
                                             {.marks = 1}, {.pauses = 1},    {.paused_ps = 1},
                                             {.drops = 2}, {.peak_bytes = 1}};
    enum { LINKS = 16, CLASSES = sizeof counts / sizeof *counts };
    rlt_topology *t = NULL;
    rlt_sim *sim = NULL;
    rlt_packets *net = NULL;
    rlt_link_class *list;
    uint32_t n;
    assert_int_equal(rlt_topology_load("switch:8@10GB/s,1us", NULL, &t, NULL), 0);
    assert_int_equal(rlt_topology_links(t), LINKS);
    assert_int_equal(rlt_sim_create(&sim, NULL), 0);
    const rlt_packets_config cfg = {.sim = sim,
                                    .topology = t,
                                    .bandwidth_scale = 1,
                                    .latency_scale = 1,
                                    .loss = 0.5, /* so that events are counted */
                                    .client = {.arrived = nothing}};
    assert_int_equal(rlt_packets_create(&cfg, &net, NULL), 0);
    for (uint32_t i = 0; i < LINKS; i++)
        net->counts[i] = counts[i % CLASSES];
    assert_int_equal(rlt_links_list(t, rlt_packets_usage(net), RLT_US, true, &list, &n, NULL), 0);
    assert_int_equal(n, CLASSES);
    for (uint32_t i = 0; i < n; i++) { /* none was busy: in the order of their lowest links */
        assert_int_equal(list[i].first, i);
        assert_int_equal(list[i].count, LINKS / CLASSES);
        assert_int_equal(list[i].port.drops, counts[i].drops);
        assert_int_equal(list[i].port.losses, counts[i].losses);
        assert_int_equal(list[i].port.marks, counts[i].marks);
        assert_int_equal(list[i].port.pauses, counts[i].pauses);
    }
    free(list);
    rlt_packets_free(net);
    rlt_sim_free(sim);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_count_makes_a_class)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
