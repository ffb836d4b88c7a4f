/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one protocol on a network of leaves. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_FABRIC_H
#define RLT_TEST_SUPPORT_NETWORKS_FABRIC_H

#include "collectives/in_network/reactive.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/networks/leaves.h"

/* The packet model of the reference values: 100 Gb/s, 1 us a link, 500 ns a switch. */
typedef struct test_fabric {
    rlt_topology *topology;
    rlt_placement *placement;
    rlt_fabric *fabric;
} test_fabric;

static inline void test_fabric_close(test_fabric *x)
{
    rlt_fabric_free(x->fabric);
    rlt_placement_free(x->placement);
    free(x->placement);
    rlt_topology_free(x->topology);
}

static inline rlt_fabric_config test_fabric_config(void)
{
    return (rlt_fabric_config){
        .packets = {.switch_ps = 500000, .bandwidth_scale = 1, .latency_scale = 1, .seed = 1}};
}

static inline test_fabric test_fabric_open(const test_leaves *net, rlt_fabric_config cfg)
{
    test_fabric x = {.topology = test_leaves_build(net), .placement = calloc(1, sizeof *x.placement)};
    rlt_error err = {0};
    assert_non_null(x.placement);
    assert_int_equal(rlt_placement_identity(x.topology, net->workers, x.placement, &err), 0);
    cfg.packets.topology = x.topology;
    cfg.placement = x.placement;
    if (rlt_fabric_create(&cfg, &x.fabric, &err))
        fail_msg("%s: %s", err.where, err.what);
    return x;
}

/* Makes a request; settings are written as "window=4 rto=1ms". */
static inline rlt_react_request test_request(const char *protocol, const char *settings, uint32_t n,
                                             uint64_t bytes)
{
    rlt_error err = {0};
    rlt_react_request q = {
        .protocol = rlt_reactive_find(protocol, &err), .kind = RLT_ALL_REDUCE, .n = n, .bytes = bytes};
    char text[256];
    assert_non_null(q.protocol);
    assert_int_equal(rlt_settings_preset(q.protocol, q.settings, &err), 0);
    snprintf(text, sizeof text, "%s", settings);
    for (char *word = text, *next; *word; word = next) {
        next = word + strcspn(word, " ");
        if (*next)
            *next++ = 0;
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = 0;
        if (rlt_settings_set(q.protocol, q.settings, word, value, &err))
            fail_msg("%s: %s", err.where, err.what);
    }
    return q;
}

static inline uint32_t test_add(const test_fabric *x, const rlt_react_request *q)
{
    uint32_t job;
    rlt_error err = {0};
    if (rlt_fabric_add(x->fabric, q, &job, &err))
        fail_msg("%s: %s", err.where, err.what);
    return job;
}

static inline void test_finish(const test_fabric *x)
{
    rlt_error err = {0};
    if (rlt_fabric_run(x->fabric, &err))
        fail_msg("%s: %s", err.where, err.what);
}

#endif
