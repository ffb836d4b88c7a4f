/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives over networks against exact times. The closed forms agree with SimGrid 3.32 (S4U, CM02, no TCP
 * window, no cross traffic) and with a hand-written simulator. 20 ps a byte and 500 ns a link. Crossbar: each
 * host has a link up and a link down. Leaf-spine: as many spines as hosts on a leaf, one cable per pair.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "sim/base/time.h"
#include "test/support/support.h"

enum { MIB = 1 << 20 };

static const rlt_net_model *const models[] = {&rlt_net_alpha_beta, &rlt_net_flow};

static char *crossbar(uint32_t n)
{
    static char text[64];
    snprintf(text, sizeof text, "switch:%u@50GB/s,500ns", n);
    return text;
}

static char *leaf_spine(uint32_t n)
{
    static char text[96];
    snprintf(text, sizeof text, "fat-tree:%u@50GB/s,500ns,levels=2,hosts_per_leaf=%u", n,
             n == 16     ? 4u
             : n == 1024 ? 32u
                         : 16u);
    return text;
}

/* T = 2(n-1)(20 m + 1 000 000) ps with m = M / n, for every model and injection rule. */
static void ring_on_crossbar(void **state)
{
    static const struct {
        uint32_t n;
        rlt_time time_ps;
    } rows[] = {{16, 2546582400}, {64, 2768411520}, {256, 3183868800}, {1024, 4727733120}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int m = 0; m < 2; m++)
            for (int inject = 0; inject < 2; inject++) {
                test_net net = {.topology = crossbar(rows[i].n),
                                .model = models[m],
                                .injection = (rlt_injection)inject,
                                .algorithm = "ring"};
                test_run r = test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL);
                assert_int_equal(r.time_ps, rows[i].time_ps);
                assert_int_equal(r.messages, (uint64_t)rows[i].n * 2 * (rows[i].n - 1));
                assert_int_equal(r.offered, 2 * (uint64_t)(rows[i].n - 1) * 64 * MIB);
            }
}

/* Blocking: the slowest hop sets the time of every step. nic: the worst chain of a chunk crosses a leaf
 * border 2 * leaves times. */
static void ring_on_leaf_spine(void **state)
{
    static const struct {
        uint32_t n;
        rlt_time blocking_ps, nic_ps;
    } rows[] = {{16, 2576582400, 2554582400},
                {64, 2894411520, 2776411520},
                {256, 3693868800, 3215868800},
                {1024, 6773733120, 4791733120}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int m = 0; m < 2; m++) {
            test_net net = {.topology = leaf_spine(rows[i].n),
                            .model = models[m],
                            .injection = RLT_INJECT_BLOCKING,
                            .algorithm = "ring"};
            assert_int_equal(test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL).time_ps,
                             rows[i].blocking_ps);
            net.injection = RLT_INJECT_NIC;
            assert_int_equal(test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL).time_ps, rows[i].nic_ps);
        }
}

/* Rounds of one exchange: (n-1)(20 m + 1 000 000) ps on the crossbar, 2 000 000 on the leaf-spine. */
static void all_to_all_in_rounds(void **state)
{
    static const struct {
        uint32_t n;
        rlt_time crossbar_ps, leaf_spine_ps;
    } rows[] = {{64, 1384205760, 1447205760}, {256, 1591934400, 1846934400}, {1024, 2363866560, 3386866560}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int m = 0; m < 2; m++) {
            test_net net = {.topology = crossbar(rows[i].n),
                            .model = models[m],
                            .injection = RLT_INJECT_BLOCKING,
                            .algorithm = "direct",
                            .window = 1};
            assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, 64 * MIB, NULL).time_ps,
                             rows[i].crossbar_ps);
            net.topology = leaf_spine(rows[i].n);
            assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, 64 * MIB, NULL).time_ps,
                             rows[i].leaf_spine_ps);
        }
}

/* All flows at once: 20 (n-1) m + 1 000 000 ps; host links stay the bottleneck under D-mod-k. */
static void all_to_all_burst(void **state)
{
    static const struct {
        uint32_t n;
        uint64_t bytes;
        rlt_time time_ps;
    } rows[] = {{64, 64 * MIB, 1322205760},
                {128, 64 * MIB, 1332691520},
                {256, 64 * MIB, 1337934400},
                {384, 384 * 174762ull, 1339676920},
                {1024, 64 * MIB, 1341866560}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_net net = {.topology = crossbar(rows[i].n), .model = &rlt_net_flow, .algorithm = "direct"};
        assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, rows[i].bytes, NULL).time_ps, rows[i].time_ps);
    }
    /* Blocking flows start after their path's latency, as SimGrid's do, so host links are busy from the first
     * microsecond on. Flows of the nic rule drain at once and then travel: those with 2 us latency end
     * last. */
    for (size_t i = 0; i < 3; i += 2) {
        test_net net = {.topology = leaf_spine(rows[i].n),
                        .model = &rlt_net_flow,
                        .algorithm = "direct",
                        .injection = RLT_INJECT_BLOCKING};
        assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, 64 * MIB, NULL).time_ps, rows[i].time_ps);
        net.injection = RLT_INJECT_NIC;
        assert_int_equal(test_collective(&net, RLT_ALL_TO_ALL, 64 * MIB, NULL).time_ps,
                         rows[i].time_ps + 1000000);
    }
}

/* Sizes with 0..50 % jitter: the bytes of the busiest link at 20 ps each, plus 1 us; to 1 ns. */
static void all_to_all_jittered(void **state)
{
    static const struct {
        uint32_t n;
        rlt_time time_ps;
    } rows[] = {{16, 1627005700}, {32, 1662300600}, {64, 1669157960}, {128, 1678809460}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint32_t n = rows[k].n;
        uint64_t m = 64 * MIB / n, *counts = calloc((size_t)n * n, sizeof *counts);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                if (i != j)
                    counts[i * n + j] =
                        (uint64_t)((double)m * (1.0 + 0.5 * (double)((i * n + j) * 7919ull % 1000) / 1000.0));
        test_net net = {.topology = crossbar(n), .model = &rlt_net_flow, .algorithm = "direct"};
        test_run r = test_collective(&net, RLT_ALL_TO_ALL, 64 * MIB, counts);
        assert_true(llabs(r.time_ps - rows[k].time_ps) <= 1000);
        free(counts);
    }
}

/* Chunks through dimensions: with C chunks the busiest dimension works C times its share, and the others add
 * their fill. For one chunk the phases add up: sum over d of 2(n_d-1)(m_d / B_d + hops * latency). */
static void hierarchical_phases_add_up(void **state)
{
    (void)state;
    /* 4 x 4, 64 MiB: dimension 0 on 16 MiB blocks at 5 ps/B (200 GB/s switch), dimension 1 on 4 MiB blocks at
     * 20 ps/B. */
    rlt_time d0 = 2 * 3 * (16 * (rlt_time)MIB * 5 + 1000000), d1 = 2 * 3 * (4 * (rlt_time)MIB * 20 + 1000000);
    for (int m = 0; m < 2; m++) {
        test_net net = {.topology = "switch:4@200GB/s,500ns*switch:4@50GB/s,500ns",
                        .model = models[m],
                        .algorithm = "hierarchical",
                        .chunks = 1};
        assert_int_equal(test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL).time_ps, d0 + d1);
    }
}

static void hierarchical_chunks_overlap(void **state)
{
    (void)state;
    test_net net = {.topology = "switch:4@200GB/s,500ns*switch:4@50GB/s,500ns",
                    .model = &rlt_net_flow,
                    .algorithm = "hierarchical",
                    .chunks = 1};
    rlt_time one = test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL).time_ps;
    net.chunks = 16;
    rlt_time many = test_collective(&net, RLT_ALL_REDUCE, 64 * MIB, NULL).time_ps;
    /* The busier dimension alone: V_0 / B_0 = 2 * 48 MiB / 200 GB/s = 503 us. */
    rlt_time floor_ps = 2 * 48 * (rlt_time)MIB * 5;
    assert_true(many < one);
    assert_true(many >= floor_ps);
    assert_true((double)many < 1.35 * (double)floor_ps);
}

/* A chain of n members with C pieces: the last piece leaves after C - 1 others and takes n - 1 hops. With p
 * the time of a piece and L the latency: (n-1)(p + L) + (C-1) p. Two dimensions in a row cost the hops of
 * both. */
static void chains_are_pipelined(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_BROADCAST, RLT_REDUCE};
    (void)state;
    rlt_time piece = 512 * 1024 * 20, hop = piece + 1000000; /* 20 ps a byte, two links of 500 ns */
    for (int k = 0; k < 2; k++) {
        test_net net = {
            .topology = "switch:32@50GB/s,500ns", .model = &rlt_net_flow, .algorithm = "hierarchical"};
        assert_int_equal(test_collective(&net, kinds[k], 64 * MIB, NULL).time_ps, 31 * hop + 127 * piece);
        net.topology = "switch:4@50GB/s,500ns*switch:8@50GB/s,500ns";
        rlt_time two = test_collective(&net, kinds[k], 64 * MIB, NULL).time_ps;
        assert_int_equal(two, (3 + 7) * hop + 127 * piece);
    }
}

/* Every collective ends on every network, above its bound and with balanced accounts (asserted by the
 * runner). */
/* Whether an algorithm does its kinds on a network of one dimension, or of several ("*"). */
static bool suits(const rlt_algorithm *a, const char *net)
{
    bool has_nodes = strchr(net, '*') != NULL, adds = strstr(net, "in_network") != NULL;
    if (a == &rlt_two_level || a == &rlt_rail)
        return has_nodes;
    if (a == &rlt_nvls)
        return adds && !has_nodes;
    if (a == &rlt_nvls_tree || a == &rlt_collnet)
        return adds && has_nodes;
    return a != &rlt_rings || !has_nodes; /* some links lead through switches */
}

static void every_collective_everywhere(void **state)
{
    static const char *const nets[] = {
        "ring:5@50GB/s,500ns",
        "switch:7@50GB/s,500ns,in_network=reduce+multicast",
        "fully-connected:6@60GB/s,200ns",
        "ring:2@200GB/s,50ns*fully-connected:4@100GB/s,500ns*switch:3@50GB/s,2us",
        "switch:3@100GB/s,500ns,in_network=reduce+multicast*switch:3@20GB/s,1us,in_network=reduce+multicast",
        "torus:8@300GB/s,100ns,sizes=2x2x2",
        "mesh:6@100GB/s,100ns,sizes=3x2"};
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int kind = 0; kind < RLT_SEND_RECV; kind++)
            for (uint32_t a = 0; rlt_algorithm_at(a); a++)
                for (int m = 0; m < 2; m++)
                    for (int inject = 0; inject < 2; inject++) {
                        const rlt_algorithm *alg = rlt_algorithm_at(a);
                        if (!(alg->kinds >> kind & 1) || !suits(alg, nets[i]))
                            continue;
                        test_net net = {.topology = nets[i],
                                        .model = models[m],
                                        .injection = (rlt_injection)inject,
                                        .algorithm = alg->name};
                        test_run first = test_collective(&net, (rlt_coll_kind)kind,
                                                         kind == RLT_BARRIER ? 0 : 1000003, NULL);
                        test_run again = test_collective(&net, (rlt_coll_kind)kind,
                                                         kind == RLT_BARRIER ? 0 : 1000003, NULL);
                        assert_int_equal(first.time_ps, again.time_ps);
                        assert_int_equal(first.events, again.events);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_on_crossbar),
        cmocka_unit_test(ring_on_leaf_spine),
        cmocka_unit_test(all_to_all_in_rounds),
        cmocka_unit_test(all_to_all_burst),
        cmocka_unit_test(all_to_all_jittered),
        cmocka_unit_test(hierarchical_phases_add_up),
        cmocka_unit_test(hierarchical_chunks_overlap),
        cmocka_unit_test(chains_are_pipelined),
        cmocka_unit_test(every_collective_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
