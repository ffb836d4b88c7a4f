/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATP against a second model of it (test/support/networks/atp_twin.h): one or two jobs with random members, windows,
 * slots, losses, marks, stragglers, timeouts and times to live. Every account of every job is equal, and the
 * time to the picosecond. Latencies differ, so that hardly ever two packets meet at one instant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/import/import.h"
#include "net/packet/packets.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/networks/atp_twin.h"
#include "test/support/networks/fabric.h"

static void draw_job(dice *d, const twin *t, twin_job *j, const uint32_t *hosts, uint32_t n)
{
    static const rlt_time ttls[] = {0, 0, 0, 3, 12};
    memcpy(j->host, hosts, n * sizeof *hosts);
    j->n = n;
    j->servers = 1 + below(d, n > 4 ? 3 : n > 3 ? 2 : 1);
    j->workers = n - j->servers;
    j->payload = t->n_jobs > 1 && j == &t->jobs[1] ? 1 + below(d, t->jobs[0].payload) : 1 + below(d, 400);
    j->wire = j->payload + below(d, 100);
    j->chunks = below(d, 20) ? 1 + below(d, CHUNKS - 1) : 0;
    j->bytes = (uint64_t)j->chunks * j->payload - (j->chunks ? below(d, j->payload) : 0);
    j->window = 1 + below(d, 12);
    j->start = 1 + below(d, 14);
    j->increase = below(d, 3) ? below(d, 1500) : 0;
    j->aggregators = 1 + below(d, SLOTS);
    j->gap = below(d, 5);
    j->tries = below(d, 6) ? 40 : 1 + below(d, 3);
    j->rto = (rlt_time)(4 + below(d, below(d, 2) ? 12 : 60)) * RLT_US + 1;
    j->ttl = ttls[below(d, 5)] * RLT_US;
    j->leave = below(d, 2);
    j->spine_only = t->leaves && below(d, 4) == 0;
    j->priority = below(d, 3);
    j->begins = below(d, 2) ? (rlt_time)roll(d, 20 * RLT_US) : 0;
    for (uint32_t i = 0; i < n; i++)
        j->late[i] = below(d, 4) ? 0 : (rlt_time)roll(d, 40 * RLT_US);
}

/* Whether the workers of a job are below two leaves at least. */
static bool is_wide(const twin *t, const twin_job *j)
{
    bool wide = !t->leaves;
    for (uint32_t i = 1; i < j->workers; i++)
        wide |= above(t, j->host[i]) != above(t, j->host[0]);
    return wide;
}

static twin draw(dice *d)
{
    static const rlt_slot_sharing sharing[] = {RLT_SHARE_STATIC, RLT_SHARE_DYNAMIC, RLT_SHARE_FIRST_COME};
    static const uint32_t losses[] = {0, 0, 1, 5, 15};
    twin t = {.hosts = 8 + below(d, HOSTS - 7), .leaves = below(d, 2) ? 2 + below(d, 2) : 0};
    uint32_t hosts[HOSTS], used = 0;
    t.n_jobs = 1 + below(d, JOBS);
    t.slots = 1 + below(d, SLOTS);
    t.mark_bytes = below(d, 2) ? 1 + below(d, 800) : 0;
    t.lose_percent = losses[below(d, 5)];
    t.sharing = sharing[below(d, 3)];
    t.preempt = below(d, 2);
    for (uint32_t i = 0; i < NODES; i++)
        t.latency[i] = 300000 + (rlt_time)roll(d, 1700000);
    for (uint32_t i = 0; i < t.hosts; i++) {
        uint32_t k = below(d, i + 1);
        hosts[i] = hosts[k];
        hosts[k] = i;
    }
    for (uint32_t k = 0; k < t.n_jobs; k++) {
        uint32_t most = k + 1 < t.n_jobs ? t.hosts / 2 : t.hosts - used, n = 3 + below(d, most - 2);
        do {
            uint32_t other = used + below(d, t.hosts - used), first = hosts[used];
            hosts[used] = hosts[other];
            hosts[other] = first;
            draw_job(d, &t, &t.jobs[k], hosts + used, n);
        } while (!is_wide(&t, &t.jobs[k]));
        used += n;
    }
    return t;
}

static rlt_topology *build(const twin *t)
{
    char text[8192];
    size_t used = 0;
    rlt_topology *topology = NULL;
    rlt_error err = {0};
    uint32_t nodes = t->hosts + t->leaves + 1;
#define PUT(...) used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__)
    PUT("{\"nodes\": [");
    for (uint32_t i = 0; i < nodes; i++)
        PUT("%s{\"id\": \"n%u\", \"kind\": \"%s\"%s}", i ? ",\n" : "", i,
            i < t->hosts ? "accelerator" : "switch",
            i < t->hosts ? "" : ", \"in_network\": \"reduce+multicast\"");
    PUT("],\n\"links\": [");
    for (uint32_t i = 0; i + 1 < nodes; i++)
        PUT("%s{\"src\": \"n%u\", \"dst\": \"n%u\", \"bandwidth\": \"100Gbps\", \"latency\": \"%lldps\"}",
            i ? ",\n" : "", i, above(t, i), (long long)t->latency[i]);
    PUT("]}");
#undef PUT
    assert_true(used < sizeof text);
    if (rlt_topology_load(text, NULL, &topology, &err))
        fail_msg("%s: %s", err.where, err.what);
    return topology;
}

/* Loses the packets that the twin loses. */
static bool lose(void *ctx, uint32_t number, const rlt_packet *p, uint32_t member)
{
    const twin *t = ctx;
    (void)number;
    (void)member;
    return is_lost(t, rlt_sim_now(t->sim), (enum kind)p->kind, p->src, p->dst, p->key);
}

static rlt_react_request request(const twin_job *j)
{
    char settings[256];
    snprintf(settings, sizeof settings,
             "servers=%u aggregators=%u window=%u start=%u increase=%uB payload=%uB", j->servers,
             j->aggregators, j->window, j->start, j->increase, j->payload);
    size_t used = strlen(settings);
    snprintf(settings + used, sizeof settings - used,
             " header=%uB rto=%lldps gap=%u tries=%u place=%s ttl=%lldps late=%s", j->wire - j->payload,
             (long long)j->rto, j->gap, j->tries, j->spine_only ? "spine" : "all", (long long)j->ttl,
             j->leave ? "leave" : "wait");
    rlt_react_request q = test_request("atp", settings, j->n, j->bytes);
    q.ranks = j->host;
    q.late_ps = j->late;
    q.start_ps = j->begins;
    q.priority = (uint8_t)j->priority;
    return q;
}

static void same(const twin_job *j, const rlt_react_result *r)
{
    const rlt_agg_counts *a = &j->r.switches, *b = &r->switches;
    assert_int_equal(r->time_ps, j->r.time_ps);
    assert_int_equal(r->end_ps, j->r.end_ps);
    assert_int_equal(r->workers, j->workers);
    assert_int_equal(r->servers, j->servers);
    assert_int_equal(r->chunks, j->chunks);
    assert_int_equal(r->window, j->window);
    assert_int_equal(r->slots, j->slots);
    assert_int_equal(r->adders, j->adders);
    assert_int_equal(r->packets, j->r.packets);
    assert_int_equal(r->retransmissions, j->r.retransmissions);
    assert_int_equal(r->timeouts, j->r.timeouts);
    assert_int_equal(r->duplicates, j->r.duplicates);
    assert_int_equal(r->lost, j->r.lost);
    assert_int_equal(r->aggregated, j->r.aggregated);
    assert_int_equal(r->unaggregated, j->r.unaggregated);
    assert_int_equal(r->server_bytes, j->r.server_bytes);
    assert_int_equal(r->left_out, j->r.left_out);
    assert_int_equal(b->packets, a->packets);
    assert_int_equal(b->contributions, a->contributions);
    assert_int_equal(b->completions, a->completions);
    assert_int_equal(b->duplicates, a->duplicates);
    assert_int_equal(b->collisions, a->collisions);
    assert_int_equal(b->foreign, a->foreign);
    assert_int_equal(b->fallbacks, a->fallbacks);
    assert_int_equal(b->resends, a->resends);
    assert_int_equal(b->preemptions, a->preemptions);
    assert_int_equal(b->evictions, a->evictions);
    assert_int_equal(b->partials, a->partials);
}

/* Runs a case in the library. */
static int library_run(twin *t, test_fabric *x, rlt_error *err)
{
    rlt_fabric_config cfg = test_fabric_config();
    *x = (test_fabric){.topology = build(t), .placement = calloc(1, sizeof *x->placement)};
    assert_non_null(x->placement);
    assert_int_equal(rlt_placement_identity(x->topology, t->hosts, x->placement, err), 0);
    cfg.packets.topology = x->topology;
    cfg.packets.ecn_min_bytes = cfg.packets.ecn_max_bytes = t->mark_bytes;
    cfg.packets.ecn_probability = 1;
    cfg.placement = x->placement;
    cfg.aggregator.slots = t->slots;
    cfg.aggregator.sharing = t->sharing;
    cfg.aggregator.jobs = t->n_jobs > 1 ? t->n_jobs : 0;
    cfg.aggregator.preempt = t->preempt;
    cfg.lose = lose;
    cfg.lose_ctx = t;
    assert_int_equal(rlt_fabric_create(&cfg, &x->fabric, err), 0);
    t->sim = rlt_fabric_sim(x->fabric);
    for (uint32_t i = 0; i < t->n_jobs; i++) {
        rlt_react_request q = request(&t->jobs[i]);
        assert_int_equal(test_add(x, &q), i);
    }
    return rlt_fabric_run(x->fabric, err);
}

static void test_twin(void **state)
{
    (void)state;
    enum { CASES = 1200 };
    uint32_t stalls = 0;
    rlt_react_result sum = {0};
    for (uint32_t k = 0; k < CASES; k++) {
        dice d = {.seed = 4711 + k};
        twin t = draw(&d);
        test_fabric x;
        rlt_error err = {0};
        int rc = library_run(&t, &x, &err);
        twin_run(&t);
        assert_int_equal(rc, t.stalled[0] ? RLT_ESTALL : 0);
        assert_string_equal(err.what, t.stalled);
        stalls += rc != 0;
        for (uint32_t i = 0; i < t.n_jobs; i++) {
            rlt_react_result r = rlt_fabric_result(x.fabric, i);
            same(&t.jobs[i], &r);
            sum.left_out += r.left_out;
            rlt_agg_counts_add(&sum.switches, &r.switches);
        }
        test_fabric_close(&x);
    }
    /* The cases go everywhere. */
    assert_true(stalls > CASES / 100 && sum.left_out > CASES);
    assert_true(sum.switches.foreign > CASES && sum.switches.evictions > CASES);
    assert_true(sum.switches.preemptions > 20 && sum.switches.partials > CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
