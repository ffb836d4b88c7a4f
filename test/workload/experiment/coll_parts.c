/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation on several threads against the same on one, and with trains of packets against one without,
 * over random networks, settings and collectives: every time, every count and every link's account are
 * equal. */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

enum { CASES = 60, QUIET_CASES = 40, TENANTS = 2 };

/* A random network of up to 36 accelerators: switches, trees, rings, tori and products. */
static void draw_topology(dice *d, char *text, size_t size)
{
    static const char *const speeds[] = {"50GB/s", "37GB/s", "400Gbps", "12.3GB/s"};
    static const char *const delays[] = {"500ns", "1us", "100ns", "17ns"};
    const char *fast = speeds[below(d, 4)], *slow = speeds[below(d, 4)], *wait = delays[below(d, 4)];
    uint32_t n = 2 + below(d, 11), m = 2 + below(d, 3);
    switch (below(d, 6)) {
    case 0:
        snprintf(text, size, "switch:%u@%s,%s", n, fast, wait);
        break;
    case 1:
        snprintf(text, size, "fat-tree:%u@%s,%s,levels=%u,hosts_per_leaf=%u", n * m, fast, wait,
                 2 + below(d, 2), m);
        break;
    case 2:
        snprintf(text, size, "ring:%u@%s,%s", n, fast, wait);
        break;
    case 3:
        snprintf(text, size, "torus:%ux%u@%s,%s", m, 2 + below(d, 3), fast, wait);
        break;
    case 4:
        snprintf(text, size, "ring:%u@%s,%s*switch:%u@%s,500ns", m, fast, wait, n, slow);
        break;
    default:
        snprintf(text, size, "switch:%u@%s,500ns*fully-connected:%u@%s,%s", n, fast, m, slow, wait);
    }
}

static void draw_settings(dice *d, rlt_setup *s)
{
    rlt_packet_settings *p = &s->packet;
    s->routing = below(d, 2) ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
    p->mtu = 500 + below(d, 4000);
    p->ack = 1 + below(d, 4);
    p->cut_through = (int)below(d, 2);
    p->switch_ps = below(d, 2) * 300000;
    p->selective = (int)below(d, 2);
    p->rto_ps = 50 * RLT_US;
    p->seed = below(d, 100);
    p->window = below(d, 3) ? 0 : p->ack + below(d, 20);
    switch (below(d, 5)) {
    case 0:
        p->loss = 0.01;
        break;
    case 1:
        p->buffer = 20000 + below(d, 100000);
        break;
    case 2:
        p->dcqcn = 1;
        p->ecn_min = 2000;
        p->ecn_max = 30000;
        p->ecn_probability = 0.2;
        break;
    case 3:
        p->ack = p->window = 0;
        break;
    default:;
    }
    assert_int_equal(rlt_packet_check(p, NULL), 0);
}

/* A network whose hosts have one link each, of whole picoseconds a byte. */
static void draw_tree(dice *d, char *text, size_t size)
{
    static const char *const speeds[] = {"50GB/s", "400Gbps", "10GB/s"};
    static const char *const delays[] = {"500ns", "100ns", "17ns"};
    const char *fast = speeds[below(d, 3)], *wait = delays[below(d, 3)];
    uint32_t m = 2 + below(d, 3);
    if (below(d, 2))
        snprintf(text, size, "switch:%u@%s,%s", 2 + below(d, 7), fast, wait);
    else
        snprintf(text, size, "fat-tree:%u@%s,%s,levels=2,hosts_per_leaf=%u", m * (2 + below(d, 3)), fast,
                 wait, m);
}

/* Settings under which packets move as trains. */
static void draw_quiet_settings(dice *d, rlt_setup *s)
{
    rlt_packet_settings *p = &s->packet;
    s->routing = below(d, 2) ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
    p->mtu = 500 * (1 + below(d, 6));
    p->header = below(d, 2) * 60;
    p->ack = below(d, 5);
    p->ack_bytes = below(d, 2) ? p->mtu : 64;
    p->switch_ps = below(d, 2) * 300000;
    assert_int_equal(rlt_packet_check(p, NULL), 0);
}

static void hold_equal(const char *what, uint64_t a, uint64_t b)
{
    if (a != b)
        fail_msg("%s: %llu on one thread, %llu on several", what, (unsigned long long)a,
                 (unsigned long long)b);
}

static void hold_runs_equal(const char *name, uint32_t n_links, const rlt_coll_run *one,
                            const rlt_coll_run *many)
{
    const rlt_net *a = rlt_exec_net(one->exec), *b = rlt_exec_net(many->exec);
    char text[400];
    hold_equal(name, (uint64_t)one->time_ps, (uint64_t)many->time_ps);
    for (uint32_t i = 0; i < one->planned; i++)
        hold_equal(name, (uint64_t)one->tenants[i].time_ps, (uint64_t)many->tenants[i].time_ps);
    hold_equal(name, one->events, many->events);
    hold_equal(name, a->messages, b->messages);
    hold_equal(name, a->bytes_offered, b->bytes_offered);
    hold_equal(name, a->bytes_delivered, b->bytes_delivered);
    for (uint32_t i = 0; i < n_links; i++) {
        rlt_link_usage u = rlt_usage_link(a->usage, i), v = rlt_usage_link(b->usage, i);
        rlt_port_counts p, q;
        assert_true(rlt_usage_port(a->usage, i, &p) && rlt_usage_port(b->usage, i, &q));
        snprintf(text, sizeof text, "%s, link %u", name, i);
        hold_equal(text, u.bytes, v.bytes);
        hold_equal(text, u.messages, v.messages);
        hold_equal(text, (uint64_t)u.busy_ps, (uint64_t)v.busy_ps);
        hold_equal(text, (uint64_t)u.active_ps, (uint64_t)v.active_ps);
        hold_equal(text, p.drops + p.losses + p.marks, q.drops + q.losses + q.marks);
        hold_equal(text, p.peak_bytes, q.peak_bytes);
    }
}

/* Runs on a number of threads. Returns its error, or 0. */
static int simulate(rlt_coll_run *run, const rlt_setup *s, const rlt_algorithm *a,
                    const rlt_coll_request *req, uint32_t tenants, uint32_t threads, rlt_error *err)
{
    rlt_coll_how how = {.setup = s, .algorithm = a, .tenants = tenants, .threads = threads};
    int rc = rlt_coll_plan(run, &how, req, err);
    return rc ? rc : rlt_coll_simulate(run, &how, err);
}

/* Holds that a run is equal to one without trains: a window that no flow fills forbids them. */
static void hold_trains(const char *name, const rlt_setup *s, const rlt_algorithm *a,
                        const rlt_coll_request *req, uint32_t tenants, const rlt_coll_run *run)
{
    rlt_setup without = *s;
    rlt_coll_run twin = {0};
    rlt_error err = {0};
    without.packet.window = 1 << 20;
    assert_int_equal(simulate(&twin, &without, a, req, tenants, 1, &err), 0);
    hold_runs_equal(name, rlt_topology_links(s->topology), &twin, run);
    rlt_coll_end(&twin);
}

/* Plans of this algorithm on one thread and on several. Returns false if it does not support the request. */
static bool try_algorithm(const char *name, const rlt_setup *s, const rlt_algorithm *a,
                          const rlt_coll_request *req, uint32_t tenants)
{
    static const uint32_t threads[] = {2, 3, 7};
    rlt_coll_run one = {0};
    rlt_error err = {0};
    int rc = simulate(&one, s, a, req, tenants, 1, &err);
    if (rc && rc != RLT_ESTALL && one.planned == tenants)
        fail_msg("%s: %s", name, err.what);
    if (!rc && s->packet.window == 0 && s->packet.ack)
        hold_trains(name, s, a, req, tenants, &one);
    for (size_t i = 0; i < sizeof threads / sizeof *threads && (!rc || rc == RLT_ESTALL); i++) {
        rlt_coll_run many = {0};
        rlt_error other = {0};
        assert_int_equal(simulate(&many, s, a, req, tenants, threads[i], &other), rc);
        assert_string_equal(other.what, err.what);
        if (!rc) {
            uint32_t most = req->n;
            if (many.threads != (threads[i] < most ? threads[i] : most))
                fail_msg("%s: ran on %u threads: %s", name, many.threads, many.alone);
            hold_runs_equal(name, rlt_topology_links(s->topology), &one, &many);
        }
        rlt_coll_end(&many);
    }
    rlt_coll_end(&one);
    return !rc || rc == RLT_ESTALL;
}

static void draw_case(uint64_t seed, bool quiet)
{
    dice d = {.seed = seed + (quiet ? CASES : 0)};
    char topology[200], name[300];
    test_group g;
    uint32_t tenants = 1 + below(&d, TENANTS);
    (quiet ? draw_tree : draw_topology)(&d, topology, sizeof topology);
    test_group_open(&g, topology, 0);
    rlt_setup s = {.topology = g.t,
                   .placement = g.p,
                   .model = &rlt_net_packet,
                   .endpoint = *rlt_topology_endpoint(g.t),
                   .packet = rlt_packet_default()};
    (quiet ? draw_quiet_settings : draw_settings)(&d, &s);
    rlt_coll_kind kind = below(&d, 2) ? RLT_ALL_TO_ALL : RLT_ALL_REDUCE;
    rlt_coll_request req[TENANTS];
    for (uint32_t i = 0; i < TENANTS; i++)
        req[i] = rlt_group_request(&g.g, kind, 1 + below(&d, quiet ? 400000 : 100000));
    for (bool done = false; !done;) {
        const rlt_algorithm *a = NULL;
        for (uint32_t k = below(&d, 64); !a; k /= 2)
            a = rlt_algorithm_at(k);
        snprintf(name, sizeof name, "case %llu: %s by %s over %s", (unsigned long long)seed,
                 rlt_coll_name(kind), a->name, topology);
        done = (a->kinds >> kind & 1) && try_algorithm(name, &s, a, req, tenants);
    }
    test_group_close(&g);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        draw_case(seed, false);
}

static void trains_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= QUIET_CASES; seed++)
        draw_case(seed, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(trains_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
