/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Algorithms over several dimensions: every pattern in every dimension through the symbolic checker, the
 * refusals of the patterns, and times on product networks in closed form.
 */
#include "net/import/import.h"
#include "test/support/support.h"

#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static const char *const patterns[] = {"ring", "direct", "halving_doubling", "recursive_doubling"};
static const rlt_coll_kind symmetric[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER};
static const rlt_coll_kind rooted[] = {RLT_BROADCAST, RLT_REDUCE, RLT_GATHER, RLT_SCATTER};
/* Sizes of dimensions, terminated by 0. */
static const uint32_t grids[][5] = {{6},       {8},       {2, 2},       {4, 3},       {3, 4},
                                    {5, 2},    {6, 2},    {2, 6},       {2, 3, 2},    {3, 2, 4},
                                    {4, 2, 3}, {2, 1, 5}, {2, 2, 2, 2}, {3, 2, 2, 3}, {2, 4, 2, 2}};
enum { N_GRIDS = sizeof grids / sizeof grids[0] };

static bool power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Whether a pattern that halves its data meets a dimension that does not halve. */
static bool cannot_halve(const rlt_coll_request *req)
{
    for (uint32_t d = 0; d < req->n_dims; d++) {
        if (req->params.patterns[d] && strstr(req->params.patterns[d], "doubling") &&
            !power_of_two(req->dims[d]))
            return true;
    }
    return false;
}

static const char *describe(const rlt_coll_request *req)
{
    static char text[400];
    int used = snprintf(text, sizeof text, "%s of %llu bytes, root %u, %u channels, %u chunks, %u directions",
                        rlt_coll_name(req->kind), (unsigned long long)req->bytes, req->root,
                        req->params.channels, req->params.chunks, req->params.directions);
    for (uint32_t d = 0; d < req->n_dims; d++)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %u %s", req->dims[d],
                         req->params.patterns[d] ? req->params.patterns[d] : "by shape");
    return text;
}

static void check(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err) < 0 || rlt_plan_check(&plan, &err) < 0)
        fail_msg("%s, %s: %s: %s", a->name, describe(req), err.where, err.what);
    rlt_plan_free(&plan);
}

static void refused(const rlt_algorithm *a, const rlt_coll_request *req, int code, const char *word)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(a, req, &plan, &err);
    if (rc != code || !strstr(err.what, word))
        fail_msg("%s, %s: %d instead of %d: %s", a->name, describe(req), rc, code, err.what);
    rlt_plan_free(&plan);
}

/* Pattern d of combination c. */
static void choose(rlt_coll_request *req, uint32_t c)
{
    for (uint32_t d = 0; d < req->n_dims; d++, c /= 4)
        req->params.patterns[d] = patterns[c % 4];
}

static uint32_t combinations(const rlt_coll_request *req)
{
    return 1u << 2 * req->n_dims;
}

static void all_patterns_pass(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1000003, 0, 5};
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 4], symmetric[i % 4], 0);
        bool shares = req.kind == RLT_REDUCE_SCATTER || req.kind == RLT_ALL_GATHER;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            req.bytes = bytes[c % 3];
            req.params.channels = 1 + c % 2;
            req.params.chunks = 1 + 2 * (c / 2 % 2);
            req.params.directions = 1 + (c / 3) % 2;
            if (shares && cannot_halve(&req))
                refused(&rlt_hierarchical, &req, RLT_EUNSUPPORTED, "power of two");
            else
                check(&rlt_hierarchical, &req);
        }
    }
}

static void all_roots_pass(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 4], rooted[i % 4], 1000003);
        bool shares = req.kind == RLT_GATHER || req.kind == RLT_SCATTER;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            req.root = c * 7 % req.n;
            req.params.chunks = 1 + 2 * (c % 2);
            req.params.directions = 1 + c / 2 % 2;
            if (shares && cannot_halve(&req))
                refused(&rlt_hierarchical, &req, RLT_EUNSUPPORTED, "power of two");
            else
                check(&rlt_hierarchical, &req);
        }
    }
}

/* Shares of given sizes, some of them empty. */
static void counts_pass(void **state)
{
    (void)state;
    static const rlt_coll_kind kinds[] = {RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_GATHER, RLT_SCATTER};
    uint64_t counts[64];
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 4], kinds[i % 4], 0);
        for (uint32_t b = 0; b < req.n; b++) {
            counts[b] = b % 5 == 2 ? 0 : (uint64_t)b * b * 37 + 1;
            req.bytes += counts[b];
        }
        req.counts = counts;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            if (cannot_halve(&req))
                continue;
            req.root = c % req.n;
            req.params.chunks = 1 + c % 3;
            req.params.directions = 1 + c / 2 % 2;
            check(&rlt_hierarchical, &req);
        }
    }
}

/* A group of a topology, kept for the plans that borrow it. */
typedef struct site {
    rlt_topology *topology;
    rlt_placement placement;
    rlt_group group;
} site;

static rlt_coll_request open_site(site *s, const char *topology, const uint32_t *ranks, uint32_t n,
                                  rlt_coll_kind kind, uint64_t bytes)
{
    rlt_error err = {0};
    *s = (site){0};
    if (rlt_topology_load(topology, NULL, &s->topology, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    uint32_t all = rlt_topology_accelerators(s->topology);
    assert_int_equal(rlt_placement_identity(s->topology, all, &s->placement, &err), 0);
    assert_int_equal(rlt_group_create(s->topology, &s->placement, ranks, n ? n : all, &s->group, &err), 0);
    return rlt_group_request(&s->group, kind, bytes);
}

static void close_site(site *s)
{
    rlt_group_free(&s->group);
    rlt_placement_free(&s->placement);
    rlt_topology_free(s->topology);
}

static void tori_pass(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_GRIDS * 3; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 3], symmetric[i % 3], i % 2 ? 1000003 : 7);
        for (uint32_t c = 0; c < 64; c++) {
            choose(&req, c * 37 % combinations(&req));
            req.params.channels = c % 5; /* 0: one per dimension */
            req.params.chunks = 1 + c % 3;
            req.params.directions = 1 + c / 2 % 2;
            if (cannot_halve(&req))
                refused(&rlt_torus, &req, RLT_EUNSUPPORTED, "power of two");
            else
                check(&rlt_torus, &req);
        }
    }
    static const char *const nets[] = {"torus:24@300GB/s,500ns,sizes=2x3x4*switch:2@50GB/s,1us",
                                       "switch:2@200GB/s,1us*mesh:12@300GB/s,500ns,sizes=4x3"};
    for (uint32_t i = 0; i < 6; i++) {
        site s;
        rlt_coll_request req = open_site(&s, nets[i % 2], NULL, 0, symmetric[i / 2], 1000003);
        rlt_plan plan;
        assert_int_equal(rlt_plan_create(&rlt_torus, &req, &plan, NULL), 0);
        assert_int_equal(plan.channels, i % 2 ? 3 : 4);
        rlt_plan_free(&plan);
        check(&rlt_torus, &req);
        close_site(&s);
    }
}

/* Every member sends the same to each of its six neighbours: 2 (1 - 1/n) M / 6. */
static void tori_use_all_links(void **state)
{
    (void)state;
    enum { N = 64 };
    site s;
    rlt_coll_request req =
        open_site(&s, "torus:64@300GB/s,500ns,sizes=4x4x4", NULL, 0, RLT_ALL_REDUCE, 6 * N * 1000);
    rlt_plan plan;
    assert_int_equal(rlt_plan_create(&rlt_torus, &req, &plan, NULL), 0);
    for (uint32_t m = 0; m < N; m += 7) {
        uint64_t to[N] = {0};
        for (uint32_t lane = 0; lane < plan.lanes; lane++) {
            for (uint32_t k = 0; k < plan.algorithm->steps(&plan, m, lane); k++) {
                rlt_step step;
                rlt_step_clear(&step);
                plan.algorithm->step(&plan, m, lane, k, &step);
                to[step.send_to] += step.send_bytes;
            }
        }
        for (uint32_t d = 1; d < N; d *= 4) {
            uint32_t x = m / d % 4;
            assert_int_equal(to[m - x * d + (x + 1) % 4 * d], 2 * (N - 1) * 1000);
            assert_int_equal(to[m - x * d + (x + 3) % 4 * d], 2 * (N - 1) * 1000);
        }
    }
    rlt_plan_free(&plan);
    close_site(&s);
}

/* Asserts the time under both models and both injection rules. */
static void takes(rlt_time expected, const test_net *on, rlt_coll_kind kind, uint64_t bytes)
{
    for (int i = 0; i < 4; i++) {
        test_net net = *on;
        net.model = i / 2 ? &rlt_net_flow : &rlt_net_alpha_beta;
        net.injection = (rlt_injection)(i % 2);
        rlt_time t = test_collective(&net, kind, bytes, NULL).time_ps;
        if (t != expected)
            fail_msg("%s by %s (%s, %s) on %s, %s, rule %d: %lld ps, expected %lld", rlt_coll_name(kind),
                     net.algorithm, net.patterns[0] ? net.patterns[0] : "-",
                     net.patterns[1] ? net.patterns[1] : "-", net.topology, net.model->name, i % 2,
                     (long long)t, (long long)expected);
    }
}

static rlt_time log2_of(uint32_t n)
{
    rlt_time rounds = 0;
    while (1u << rounds < n)
        rounds++;
    return rounds;
}

/*
 * Time of one dimension of g members on s bytes each way, with alpha and beta of a path. Ring: (g-1) (alpha +
 * s/g beta). Direct: alpha + (g-1)/g s beta. Halving or doubling: log2(g) alpha + (g-1)/g s beta. Recursive
 * doubling, both ways in one: log2(g) (alpha + s beta).
 */
static rlt_time one_way(uint32_t pattern, uint32_t g, rlt_time s, rlt_time alpha, rlt_time beta)
{
    rlt_time share = (g - 1) * (s / g) * beta;
    return pattern == 0 ? (g - 1) * alpha + share : pattern == 1 ? alpha + share : log2_of(g) * alpha + share;
}

static void patterns_add_up(void **state)
{
    (void)state;
    enum { G0 = 4, G1 = 8 };
    const rlt_time alpha[2] = {1000000, 2000000}, beta[2] = {5, 20}, bytes = G0 * G1 * 40000;
    for (uint32_t c = 0; c < 16; c++) {
        test_net net = {.topology = "switch:4@200GB/s,500ns*switch:8@50GB/s,1us",
                        .algorithm = "hierarchical",
                        .chunks = 1,
                        .patterns = {patterns[c % 4], patterns[c / 4]}};
        rlt_time s = bytes, total = 0, half = 0;
        for (uint32_t d = 0; d < 2; d++) {
            uint32_t p = d ? c / 4 : c % 4, g = d ? G1 : G0;
            if (p == 3) {
                total += log2_of(g) * (alpha[d] + s * beta[d]);
                continue;
            }
            total += 2 * one_way(p, g, s, alpha[d], beta[d]);
            half += one_way(p, g, s, alpha[d], beta[d]);
            s /= g;
        }
        takes(total, &net, RLT_ALL_REDUCE, (uint64_t)bytes);
        if (c % 4 == 3 || c / 4 == 3)
            continue;
        takes(half, &net, RLT_REDUCE_SCATTER, (uint64_t)bytes);
        takes(half, &net, RLT_ALL_GATHER, (uint64_t)bytes);
    }
}

/* The third of three members sends its bytes to the first, which meanwhile receives half a vector from the
 * second: 4 alpha + 7/2 M beta, as R. Thakur et al. give it for the algorithm of that name. */
static void remainders_fold(void **state)
{
    (void)state;
    test_net net = {
        .topology = "switch:3@50GB/s,500ns", .algorithm = "hierarchical", .patterns = {"halving_doubling"}};
    for (rlt_time half = 1; half < 1 << 20; half = 7 * half + 3)
        takes(4 * 1000000 + 7 * half * 20, &net, RLT_ALL_REDUCE, (uint64_t)(2 * half));
}

/* 2 sum over q of (g-1) (alpha + M / (2 D g^(q+1)) beta) on D rings of g members, as a torus or as a product
 * of rings. */
static void tori_in_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t g, dims;
    } rows[] = {{"torus:9@200GB/s,500ns,sizes=3x3", 3, 2},
                {"torus:25@200GB/s,500ns,sizes=5x5", 5, 2},
                {"torus:64@300GB/s,500ns,sizes=4x4x4", 4, 3},
                {"ring:4@100GB/s,500ns*ring:4@100GB/s,500ns", 4, 2},
                {"ring:3@100GB/s,500ns*torus:9@200GB/s,500ns,sizes=3x3", 3, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_time part = 1000, half = 0;
        for (uint32_t d = 0; d < rows[i].dims; d++)
            part *= rows[i].g;
        uint64_t bytes = (uint64_t)part * 2 * rows[i].dims;
        for (uint32_t q = 0; q < rows[i].dims; q++) {
            part /= rows[i].g;
            half += (rows[i].g - 1) * (500000 + part * 20);
        }
        test_net net = {.topology = rows[i].topology, .algorithm = "torus"};
        takes(2 * half, &net, RLT_ALL_REDUCE, bytes);
        takes(half, &net, RLT_REDUCE_SCATTER, bytes);
        takes(half, &net, RLT_ALL_GATHER, bytes);
    }
}

/* All six links of a chip of a TPU block are busy: within 1 % of the bound. One dimension after another
 * reaches less than half of it. */
static void tori_reach_the_bound(void **state)
{
    (void)state;
    test_net net = {
        .topology = "torus:64@300GB/s,500ns,sizes=4x4x4", .model = &rlt_net_flow, .algorithm = "torus"};
    const uint64_t bytes = 256u << 20;
    test_run torus = test_collective(&net, RLT_ALL_REDUCE, bytes, NULL);
    assert_true((double)torus.time_ps < 1.01 * (double)torus.bound_ps);
    assert_true(torus.max_utilization > 0.99);
    net.algorithm = "hierarchical";
    assert_true(test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps > 2 * torus.bound_ps);
    net.topology = "ring:4@100GB/s,500ns*ring:4@100GB/s,500ns*ring:4@100GB/s,500ns";
    assert_true(test_collective(&net, RLT_ALL_REDUCE, bytes, NULL).time_ps > 2 * torus.bound_ps);
}

static void nodes_pass(void **state)
{
    (void)state;
    uint64_t counts[36 * 36];
    for (uint32_t i = 0; i < 2 * N_GRIDS; i++) {
        const rlt_algorithm *a = i % 2 ? &rlt_rail : &rlt_two_level;
        rlt_coll_request req = test_grid_request(grids[i / 2], RLT_ALL_TO_ALL, 1000003);
        if (req.n_dims == 1) {
            refused(a, &req, RLT_ETOPOLOGY, "two dimensions");
            continue;
        }
        for (uint32_t c = 0; c < 4; c++) {
            req.params.channels = 1 + c % 2;
            req.params.chunks = 1 + c / 2 * 2;
            check(a, &req);
            for (uint32_t k = 0; k < req.n * req.n; k++)
                counts[k] = k % 5 == 0 ? 0 : (uint64_t)k * k * 37;
            req.counts = counts;
            check(a, &req);
            req.counts = NULL;
        }
    }
    rlt_coll_request alone = {.kind = RLT_ALL_TO_ALL, .n = 1, .bytes = 10};
    check(&rlt_two_level, &alone);
    check(&rlt_rail, &alone);
}

/* Messages and bytes inside nodes of L members and between N nodes: index 0 and 1. */
typedef struct traffic {
    uint64_t messages[2], bytes[2];
} traffic;

static traffic count(const rlt_algorithm *a, const rlt_coll_request *req)
{
    traffic t = {{0, 0}, {0, 0}};
    rlt_plan plan;
    assert_int_equal(rlt_plan_create(a, req, &plan, NULL), 0);
    for (uint32_t m = 0; m < req->n; m++) {
        for (uint32_t k = 0; k < a->steps(&plan, m, 0); k++) {
            rlt_step step;
            rlt_step_clear(&step);
            a->step(&plan, m, 0, k, &step);
            if (step.send_to == RLT_NONE)
                continue;
            uint32_t between = step.send_to / req->dims[0] != m / req->dims[0];
            assert_true(!between || a == &rlt_direct ||
                        step.send_to % req->dims[0] == m % req->dims[0]); /* a rail */
            t.messages[between]++;
            t.bytes[between] += step.send_bytes;
        }
    }
    rlt_plan_free(&plan);
    return t;
}

/* Between nodes, L times fewer messages than direct, with the same bytes. Data for another member's rail
 * moves inside the node once more. */
static void messages_between_nodes(void **state)
{
    (void)state;
    for (uint64_t l = 2; l <= 6; l++) {
        for (uint64_t n = 2; n <= 6; n++) {
            const uint64_t share = 1000, all = l * n;
            rlt_coll_request req = {.kind = RLT_ALL_TO_ALL,
                                    .n = (uint32_t)all,
                                    .bytes = all * share,
                                    .n_dims = 2,
                                    .dims = {(uint32_t)l, (uint32_t)n}};
            traffic direct = count(&rlt_direct, &req), two = count(&rlt_two_level, &req),
                    rail = count(&rlt_rail, &req);
            assert_int_equal(direct.messages[1], all * (n - 1) * l);
            assert_int_equal(two.messages[1], all * (n - 1));
            assert_int_equal(rail.messages[1], all * (n - 1));
            assert_int_equal(two.messages[0], all * (l - 1));
            assert_int_equal(rail.messages[0], all * (l - 1) * n);
            for (int i = 0; i < 3; i++)
                assert_int_equal((i == 0 ? direct : i == 1 ? two : rail).bytes[1], all * (n - 1) * l * share);
            assert_int_equal(two.bytes[0], all * (l - 1) * n * share);
            assert_int_equal(rail.bytes[0], all * (l - 1) * n * share);
            assert_int_equal(direct.bytes[0], all * (l - 1) * share);
        }
    }
}

/* two_level: inside, then between. rail: only the first node's share comes before the rails run without a
 * break. */
static void rails_in_closed_form(void **state)
{
    (void)state;
    test_net net = {.topology = "switch:4@200GB/s,500ns*switch:5@50GB/s,1us"};
    const rlt_time l = 4, n = 5, share = 300000, between = (n - 1) * l * share * 20 + 2000000;
    net.algorithm = "two_level";
    takes((l - 1) * n * share * 5 + 1000000 + between, &net, RLT_ALL_TO_ALL, (uint64_t)(l * n * share));
    net.algorithm = "rail";
    takes((l - 1) * share * 5 + 1000000 + between, &net, RLT_ALL_TO_ALL, (uint64_t)(l * n * share));
}

/* Patterns are given by dimension of the topology; a group may lie in only some of them. */
static void groups_know_their_dimensions(void **state)
{
    (void)state;
    static const char *const by_dimension[RLT_MAX_DIMS] = {"ring", "direct", "halving_doubling"};
    static const uint32_t across[] = {1, 5, 9, 13, 17, 21, 25, 29}, odd[] = {0, 1, 6};
    site s;
    rlt_coll_request req = open_site(&s, "switch:4@200GB/s,500ns*switch:4@50GB/s,1us*switch:2@50GB/s,1us",
                                     across, 8, RLT_ALL_REDUCE, 1000);
    assert_int_equal(req.n_dims, 2);
    rlt_request_patterns(&req, by_dimension);
    assert_string_equal(req.params.patterns[0], "direct");
    assert_string_equal(req.params.patterns[1], "halving_doubling");
    close_site(&s);
    req = open_site(&s, "switch:4@200GB/s,500ns*switch:4@50GB/s,1us", odd, 3, RLT_ALL_REDUCE, 1000);
    rlt_request_patterns(&req, by_dimension);
    assert_null(req.params.patterns[0]);
    close_site(&s);
    req = test_grid_request(grids[0], RLT_ALL_REDUCE, 10);
    req.params.patterns[0] = "rnig";
    refused(&rlt_hierarchical, &req, RLT_ESCHEMA, "halving_doubling");
}

static void sub_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t d, count, sizes[3];
    } rows[] = {{"switch:2@1GB/s,1us*torus:24@1GB/s,1us,sizes=4x3x2", 1, 3, {4, 3, 2}},
                {"mesh:6@1GB/s,1us,sizes=3x2", 0, 2, {3, 2}},
                {"torus:6@1GB/s,1us", 0, 1, {6}},
                {"torus:1@1GB/s,1us*ring:7@1GB/s,1us", 0, 1, {1}},
                {"torus:1@1GB/s,1us*ring:7@1GB/s,1us", 1, 1, {7}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = NULL;
        uint32_t sizes[RLT_MAX_DIMS] = {0};
        assert_int_equal(rlt_topology_load(rows[i].topology, NULL, &t, NULL), 0);
        assert_int_equal(rlt_topology_sub_sizes(t, rows[i].d, sizes), rows[i].count);
        assert_memory_equal(sizes, rows[i].sizes, sizeof rows[i].sizes);
        rlt_topology_free(t);
    }
}

/* Member m moved by `by` along the dimensions of a symmetry. */
static uint32_t moved(uint32_t m, uint32_t by, const uint32_t *sizes, uint32_t n)
{
    uint32_t to = 0, stride = 1;
    for (uint32_t i = 0; i < n; i++) {
        to += (m / stride % sizes[i] + by / stride % sizes[i]) % sizes[i] * stride;
        stride *= sizes[i];
    }
    return to;
}

static rlt_step step_of(const rlt_plan *plan, uint32_t m, uint32_t lane, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, m, lane, k, &s);
    return s;
}

/* Moved members do the same with moved peers, as far as a network can tell. */
static void same_when_moved(const rlt_plan *plan, uint32_t by, const uint32_t *sizes, uint32_t n)
{
    for (uint32_t i = 0; i < plan->req.n * plan->lanes; i++) {
        uint32_t m = i / plan->lanes, lane = i % plan->lanes, other = moved(m, by, sizes, n);
        uint32_t steps = plan->algorithm->steps(plan, m, lane);
        assert_int_equal(plan->algorithm->steps(plan, other, lane), steps);
        for (uint32_t k = 0; k < steps; k++) {
            rlt_step a = step_of(plan, m, lane, k), b = step_of(plan, other, lane, k);
            assert_int_equal(b.send_to, a.send_to == RLT_NONE ? RLT_NONE : moved(a.send_to, by, sizes, n));
            assert_int_equal(b.recv_from,
                             a.recv_from == RLT_NONE ? RLT_NONE : moved(a.recv_from, by, sizes, n));
            assert_int_equal(b.peer_step, a.peer_step);
            assert_int_equal(b.send_bytes, a.send_bytes);
            assert_int_equal(b.recv_count, a.recv_count);
            assert_int_equal(b.nowait, a.nowait);
            assert_int_equal(b.wait_lane, a.wait_lane);
            assert_int_equal(b.wait_step, a.wait_step);
        }
    }
}

static void symmetries_hold(void **state)
{
    (void)state;
    static const rlt_algorithm *const algorithms[] = {&rlt_hierarchical, &rlt_torus, &rlt_two_level,
                                                      &rlt_rail};
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL,
                                          RLT_BROADCAST};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < N_GRIDS * 4 * 5; i++) {
        const rlt_algorithm *a = algorithms[i / 5 % 4];
        rlt_coll_request req = test_grid_request(grids[i / 20], kinds[i % 5], 0);
        req.bytes = 1000ull * req.n;
        for (uint32_t c = 0; c < 16 && (a->kinds >> req.kind & 1); c++) {
            rlt_plan plan;
            uint32_t sizes[RLT_MAX_TRANSLATIONS], product = 1;
            choose(&req, c * 37 % combinations(&req));
            if (rlt_plan_create(a, &req, &plan, NULL) < 0)
                continue;
            uint32_t n = a->symmetry(&plan, sizes);
            assert_true(n <= RLT_MAX_TRANSLATIONS && (req.kind != RLT_BROADCAST || n == 0));
            for (uint32_t s = 0; s < n; s++)
                product *= sizes[s];
            assert_int_equal(product, n ? req.n : 1);
            for (uint32_t by = 1; n && by < req.n; by++, tried++)
                same_when_moved(&plan, by, sizes, n);
            rlt_plan_free(&plan);
        }
    }
    assert_true(tried > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_patterns_pass),
        cmocka_unit_test(all_roots_pass),
        cmocka_unit_test(counts_pass),
        cmocka_unit_test(tori_pass),
        cmocka_unit_test(tori_use_all_links),
        cmocka_unit_test(patterns_add_up),
        cmocka_unit_test(remainders_fold),
        cmocka_unit_test(tori_in_closed_form),
        cmocka_unit_test(tori_reach_the_bound),
        cmocka_unit_test(nodes_pass),
        cmocka_unit_test(messages_between_nodes),
        cmocka_unit_test(rails_in_closed_form),
        cmocka_unit_test(groups_know_their_dimensions),
        cmocka_unit_test(sub_sizes),
        cmocka_unit_test(symmetries_hold),
    };
    return cmocka_run_group_tests_name("multidim", tests, NULL, NULL);
}
