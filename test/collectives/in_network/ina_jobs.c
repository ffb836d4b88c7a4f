/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several jobs on shared switches. 10 000 random schedules over small cases: two to eight jobs, slots for
 * some of them, every kind of slot sharing, priorities, stragglers, losses up to 5 %, duplicated and
 * reordered packets. Every contribution is a different number. So a sum that lacks one, or has one twice, is
 * wrong, and the run fails. A job that does not end fails it, too. Then: what falls back adds up, shares are
 * fair, and nothing at all gets through.
 */
#include <math.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/networks/fabric.h"

enum { SCHEDULES = 10000, MAX_JOBS = 8, HOSTS = 12 };

static test_fabric nets[2];

static int open_nets(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        test_leaves net = {.workers = HOSTS,
                           .leaves = 2 * i,
                           .spines = 1,
                           .leaf_can = "reduce+multicast",
                           .spine_can = "reduce+multicast"};
        nets[i] = test_fabric_open(&net, test_fabric_config());
    }
    return 0;
}

static int close_nets(void **state)
{
    (void)state;
    test_fabric_close(&nets[0]);
    test_fabric_close(&nets[1]);
    return 0;
}

/* Events of the jobs of a schedule. */
typedef struct tally {
    uint64_t jobs, lost, retransmissions, fallbacks, collisions, evictions, preemptions, rings, duplicates;
    uint64_t partials, unaggregated, left_out;
} tally;

/* Members of a job: a random choice of hosts, in random order. */
static uint32_t pick(dice *d, uint32_t least, uint32_t ranks[HOSTS])
{
    uint32_t n = least + below(d, 4);
    for (uint32_t i = 0; i < HOSTS; i++)
        ranks[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i + below(d, HOSTS - i), other = ranks[at];
        ranks[at] = ranks[i];
        ranks[i] = other;
    }
    return n;
}

static rlt_react_request make(dice *d, int family, uint32_t n)
{
    static const char *const hashed[] = {
        "window=8 start=8 aggregators=16 rto=60us gap=3",
        "window=4 start=1 aggregators=8 rto=60us gap=1 ttl=8us",
        "window=16 start=4 aggregators=4 rto=40us gap=0",
        "window=8 start=8 aggregators=16 rto=60us servers=2",
        "window=8 start=8 aggregators=16 rto=80us ttl=15us late=leave",
    };
    static const char *const pooled[] = {"window=8 rto=40us refused=ring", "window=1 rto=40us refused=ring",
                                         "window=6 rto=60us trees=2 refused=ring"};
    static const char *const reserved[] = {"mode=llt osts=4", "mode=sat stream=8",
                                           "mode=auto threshold=2KiB"};
    uint64_t bytes = 1 + below(d, 6000);
    if (family == 0 && below(d, 4) == 0)
        return test_request("ps-switch", "window=8 rto=60us share=0.7 payload=248B", n, bytes);
    if (family == 0)
        return test_request("atp", hashed[below(d, 5)], n, bytes);
    if (family == 1)
        return test_request("switchml", pooled[below(d, 3)], n, 4 * bytes);
    return test_request("sharp", reserved[below(d, 3)], n, 4 * bytes);
}

static void schedule(uint64_t seed, tally *t)
{
    dice d = {.seed = seed};
    const test_fabric *net = &nets[below(&d, 2)];
    int family = (int)below(&d, 8);
    family = family < 5 ? 0 : family < 7 ? 1 : 2;
    rlt_fabric_config cfg = test_fabric_config();
    uint32_t jobs = 2 + below(&d, MAX_JOBS - 1), job[MAX_JOBS];
    cfg.packets.topology = net->topology;
    cfg.placement = net->placement;
    cfg.packets.seed = seed;
    if (family != 2 || below(&d, 2)) {
        cfg.packets.loss = below(&d, 6) * 0.01;
        cfg.twice = below(&d, 3) * 0.02;
        cfg.held = below(&d, 3) * 0.05;
        cfg.hold_ps = 30 * RLT_US;
    }
    cfg.aggregator.slots = 8 + below(&d, 32);
    cfg.aggregator.sharing = (rlt_slot_sharing)below(&d, family ? 1 : 3);
    if (family && below(&d, 2))
        cfg.aggregator.sharing = RLT_SHARE_FIRST_COME;
    cfg.aggregator.jobs = jobs;
    cfg.aggregator.preempt = below(&d, 2);
    cfg.aggregator.reemit = true;
    rlt_fabric *f = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_fabric_create(&cfg, &f, &err), 0);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t ranks[HOSTS], n = pick(&d, 3, ranks);
        rlt_time late[HOSTS] = {0};
        rlt_react_request q = make(&d, family, n);
        q.ranks = ranks;
        q.start_ps = below(&d, 50) * RLT_US;
        q.priority = (uint8_t)below(&d, 3);
        late[below(&d, n)] = below(&d, 100) * RLT_US;
        q.late_ps = late;
        if (rlt_fabric_add(f, &q, &job[i], &err))
            fail_msg("schedule %llu, job %u: %s: %s", (unsigned long long)seed, i, err.where, err.what);
    }
    if (rlt_fabric_run(f, &err))
        fail_msg("schedule %llu: %s: %s", (unsigned long long)seed, err.where, err.what);
    for (uint32_t i = 0; i < jobs; i++) {
        rlt_react_result r = rlt_fabric_result(f, job[i]);
        const rlt_agg_counts *c = &r.switches;
        assert_true(r.chunks > 0 && r.time_ps > 0 && r.end_ps <= rlt_fabric_end(f));
        /* A packet is aggregated, or a duplicate, or forwarded, or refused: nothing else. */
        assert_true(c->contributions <= c->packets);
        assert_true(c->packets <=
                    c->contributions + c->duplicates + c->fallbacks + c->resends + c->stale + c->refused);
        t->jobs++;
        t->lost += r.lost;
        t->retransmissions += r.retransmissions;
        t->fallbacks += c->fallbacks;
        t->collisions += c->collisions;
        t->evictions += c->evictions;
        t->preemptions += c->preemptions;
        t->duplicates += c->duplicates;
        t->partials += c->partials;
        t->unaggregated += r.unaggregated;
        t->left_out += r.left_out;
        t->rings += r.fallback[0] != 0;
    }
    rlt_fabric_free(f);
}

static void test_schedules(void **state)
{
    (void)state;
    tally t = {0};
    for (uint64_t i = 0; i < SCHEDULES; i++)
        schedule(i, &t);
    print_message("%.0f jobs: %.0f lost, %.0f sent again, %.0f collided, %.0f fell back, %.0f evicted, "
                  "%.0f preempted, %.0f timed out, %.0f left out, %.0f rings\n",
                  (double)t.jobs, (double)t.lost, (double)t.retransmissions, (double)t.collisions,
                  (double)t.fallbacks, (double)t.evictions, (double)t.preemptions, (double)t.partials,
                  (double)t.left_out, (double)t.rings);
    /* Every kind of fault has occurred. */
    assert_true(t.jobs > 4 * SCHEDULES && t.lost > SCHEDULES && t.retransmissions > SCHEDULES);
    assert_true(t.collisions > SCHEDULES && t.evictions > SCHEDULES && t.preemptions > 1000);
    assert_true(t.duplicates > 1000 && t.partials > 1000 && t.left_out > 100 && t.rings > 1000);
}

/* Four ATP jobs of the same size on one switch, with one kind of slot sharing: no losses. */
typedef struct shared {
    rlt_react_result r[MAX_JOBS];
    double fairness, mean_us;
    rlt_time end;
} shared;

enum { WORKERS = 4, CHUNKS = 1500, PAYLOAD = 248, WIRE = 308 };

static shared share(rlt_slot_sharing sharing, uint32_t jobs, uint32_t slots)
{
    shared s = {0};
    uint32_t job[MAX_JOBS];
    test_leaves net = {.workers = jobs * (WORKERS + 1), .leaf_can = "reduce+multicast"};
    rlt_fabric_config cfg = test_fabric_config();
    cfg.aggregator.slots = slots;
    cfg.aggregator.sharing = sharing;
    cfg.aggregator.jobs = jobs;
    test_fabric f = test_fabric_open(&net, cfg);
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t ranks[WORKERS + 1];
        for (uint32_t k = 0; k <= WORKERS; k++)
            ranks[k] = i * (WORKERS + 1) + k;
        rlt_react_request q = test_request("atp", "aggregators=200", WORKERS + 1, CHUNKS * PAYLOAD);
        q.ranks = ranks;
        job[i] = test_add(&f, &q);
    }
    test_finish(&f);
    double sum = 0, squares = 0;
    uint64_t into_servers = 0, told = 0;
    for (uint32_t i = 0; i < jobs; i++) {
        s.r[i] = rlt_fabric_result(f.fabric, job[i]);
        double rate = 1 / (double)s.r[i].time_ps;
        sum += rate;
        squares += rate * rate;
        s.mean_us += (double)s.r[i].time_ps / 1e6 / jobs;
        told += s.r[i].server_bytes;
    }
    s.end = rlt_fabric_end(f.fabric);
    s.fairness = rlt_fabric_fairness(f.fabric);
    assert_true(fabs(s.fairness - sum * sum / (jobs * squares)) < 1e-9);
    /* The links to the servers carried as many bytes as the jobs report, and were not busy beyond the run. */
    const rlt_usage *usage = rlt_packets_usage(rlt_fabric_packets(f.fabric));
    for (uint32_t l = 0; l < rlt_topology_links(f.topology); l++)
        if (rlt_topology_link(f.topology, l).dst % (WORKERS + 1) == WORKERS &&
            rlt_topology_link(f.topology, l).dst < net.workers) {
            into_servers += rlt_usage_link(usage, l).bytes;
            assert_true(rlt_usage_link(usage, l).busy_ps <= s.end);
        }
    assert_int_equal(into_servers, told);
    test_fabric_close(&f);
    return s;
}

static void test_shares(void **state)
{
    (void)state;
    for (uint32_t jobs = 2; jobs <= MAX_JOBS; jobs++)
        for (int sharing = 0; sharing < 3; sharing++) {
            /* Slots for the windows of half the jobs. */
            shared s = share((rlt_slot_sharing)sharing, jobs, jobs * 100);
            uint64_t fallbacks = 0, without = 0;
            for (uint32_t i = 0; i < jobs; i++) {
                const rlt_react_result *r = &s.r[i];
                const rlt_agg_counts *c = &r->switches;
                /* Each packet was aggregated or forwarded. */
                assert_int_equal(c->packets, c->contributions + c->fallbacks + c->resends);
                assert_int_equal(c->packets, (uint64_t)CHUNKS * WORKERS + r->retransmissions);
                assert_int_equal(r->unaggregated, c->fallbacks + c->resends);
                assert_int_equal(r->server_bytes, (r->aggregated + r->unaggregated + c->evictions) * WIRE);
                fallbacks += c->fallbacks;
                without += r->slots == 0;
                if (r->slots == 0)
                    assert_int_equal(c->fallbacks, CHUNKS * WORKERS);
                /* The server's port needs at least n (1 - f) + f times C tau. */
                double busy = (double)(r->aggregated + r->unaggregated) * WIRE * 80;
                assert_true((double)r->time_ps >= busy);
            }
            assert_true(fallbacks > 0);
            assert_int_equal(without, sharing == RLT_SHARE_FIRST_COME ? jobs - (jobs * 100 + 199) / 200 : 0);
            if (sharing != RLT_SHARE_FIRST_COME)
                assert_true(s.fairness > 0.95);
            if (jobs == 4 || jobs == 8)
                print_message("%u jobs, slots for half, %s: mean %.1f us, last %.1f us, Jain %.3f, fallback "
                              "%.3f\n",
                              jobs,
                              sharing == RLT_SHARE_STATIC    ? "static"
                              : sharing == RLT_SHARE_DYNAMIC ? "dynamic"
                                                             : "first-come",
                              s.mean_us, (double)s.end / 1e6, s.fairness,
                              (double)fallbacks / (jobs * CHUNKS * WORKERS));
        }
}

/* The same seed repeats the run; another seed gives another run. */
static void test_repeats(void **state)
{
    (void)state;
    tally a = {0}, b = {0}, c = {0};
    for (uint64_t i = 0; i < 50; i++) {
        schedule(20000 + i, &a);
        schedule(20000 + i, &b);
        schedule(30000 + i, &c);
    }
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
}

/* No packet arrives: every protocol ends soon with a named stall. */
static void test_nothing(void **state)
{
    (void)state;
    static const char *const protocols[] = {"atp", "switchml", "ps-switch", "host-ring", "sharp"};
    static const char *const settings[] = {"tries=20", "tries=20 rto=1ms", "tries=20 rto=1ms", "tries=20",
                                           ""};
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t k = 0; k < 2; k++) {
            rlt_fabric_config cfg = test_fabric_config();
            rlt_fabric *f = NULL;
            rlt_error err = {0};
            uint32_t job;
            cfg.packets.topology = nets[k].topology;
            cfg.placement = nets[k].placement;
            cfg.packets.loss = 1;
            assert_int_equal(rlt_fabric_create(&cfg, &f, &err), 0);
            rlt_react_request q = test_request(protocols[i], settings[i], 5, 1 << 16);
            assert_int_equal(rlt_fabric_add(f, &q, &job, &err), 0);
            assert_int_equal(rlt_fabric_run(f, &err), RLT_ESTALL);
            assert_string_equal(err.where, i < 4 ? protocols[i] : "host-ring");
            assert_non_null(strstr(err.what, "chunk 0"));
            assert_true(rlt_sim_now(rlt_fabric_sim(f)) < 300 * RLT_MS);
            rlt_fabric_free(f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, open_nets, close_nets);
}
