/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Switches that add up inside dimensions of hierarchical collectives: every mix of patterns through the
 * symbolic checker, its verdict on members that fetch too early, and times in closed form.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

static const char *const patterns[] = {"nvls", "ring", "direct", "halving_doubling", "recursive_doubling"};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };
static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER};
static const uint32_t grids[][5] = {{6},       {2, 2},    {4, 3},    {3, 4},       {5, 2},      {2, 3, 2},
                                    {3, 2, 4}, {4, 2, 3}, {2, 1, 5}, {2, 2, 2, 2}, {3, 2, 2, 3}};
enum { N_GRIDS = sizeof grids / sizeof *grids };

/* Mix c of patterns. False if none adds up in the network, or if one halves a size that is not a power of
 * two. */
static bool choose(rlt_coll_request *req, uint32_t c)
{
    bool any = false, shares = req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_ALL_GATHER;
    for (uint32_t d = 0; d < req->n_dims; d++, c /= N_PATTERNS) {
        req->params.patterns[d] = patterns[c % N_PATTERNS];
        any = any || c % N_PATTERNS == 0;
        if (c % N_PATTERNS > 2 && shares && (req->dims[d] & (req->dims[d] - 1)))
            return false;
    }
    return any;
}

static uint32_t mixes(const rlt_coll_request *req)
{
    uint32_t n = 1;
    for (uint32_t d = 0; d < req->n_dims; d++)
        n *= N_PATTERNS;
    return n;
}

static uint32_t proved;

static void check(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err) < 0 || rlt_plan_check(&plan, &err) < 0)
        fail_msg("%s: %s of %u in %u dimensions (%s, %s, ...), %u chunks, %s: %s: %s", a->name,
                 rlt_coll_name(req->kind), req->n, req->n_dims, req->params.patterns[0],
                 req->params.patterns[1] ? req->params.patterns[1] : "-", req->params.chunks,
                 rlt_chunk_schedule_name(req->params.schedule), err.where, err.what);
    rlt_plan_free(&plan);
    proved++;
}

static void every_mix_is_proved(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1000003, 0, 5};
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 4], kinds[i % 4], 0);
        for (uint32_t c = 0; c < mixes(&req); c++) {
            if (!choose(&req, c))
                continue;
            req.bytes = bytes[c % 3];
            req.params.channels = 1 + c % 2;
            req.params.chunks = 1 + 2 * (c / 2 % 2);
            req.params.directions = 1 + c / 3 % 2;
            req.params.schedule = RLT_PIPELINE;
            check(&rlt_hierarchical, &req);
            req.params.schedule = c % 2 ? RLT_THEMIS : RLT_BASELINE;
            req.params.order = c / 2 % 2;
            req.params.chunks = 1 + c % 7;
            check(&rlt_hierarchical, &req);
            req.params.schedule = RLT_PIPELINE;
            req.params.channels = c % 5;
            bool torus = rlt_torus.kinds >> req.kind & 1;
            for (uint32_t d = 0; d < req.n_dims; d++)
                torus = torus && (c % 5 < 3 || !(req.dims[d] & (req.dims[d] - 1)));
            rlt_plan plan;
            if (torus && rlt_plan_create(&rlt_torus, &req, &plan, NULL) == 0) {
                rlt_plan_free(&plan);
                check(&rlt_torus, &req);
            }
        }
    }
    assert_true(proved > 4000);
}

static void counts_are_proved(void **state)
{
    (void)state;
    uint64_t counts[64];
    for (uint32_t i = 0; i < N_GRIDS * 2; i++) {
        rlt_coll_request req = test_grid_request(grids[i / 2], kinds[1 + i % 2], 0);
        for (uint32_t b = 0; b < req.n; b++) {
            counts[b] = b % 5 == 2 ? 0 : (uint64_t)b * b * 37 + 1;
            req.bytes += counts[b];
        }
        req.counts = counts;
        for (uint32_t c = 0; c < mixes(&req); c++) {
            req.params.chunks = 1 + c % 3;
            if (choose(&req, c))
                check(&rlt_hierarchical, &req);
        }
    }
}

/* Correct plans in which member 1 omits or changes one step. */
static uint32_t broken_at;
static void (*breaks)(rlt_step *s);

static void broken_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    rlt_hierarchical.step(plan, member, lane, k, out);
    if (member == 1 && k == broken_at)
        breaks(out);
}

static void silently(rlt_step *s)
{
    s->send_to = RLT_NONE;
}
static void at_once(rlt_step *s)
{
    s->recv_count = 0;
}
static void over_the_sources(rlt_step *s)
{
    s->land_buffer = s->send_buffer;
}
static void another_share(rlt_step *s)
{
    s->send.first = s->land.first = (s->send.first + 1) % 4;
}
static void to_itself(rlt_step *s)
{
    s->verb = RLT_VERB_SEND;
}

/* 2 x 2, a ring, then a switch. Step 0 is the ring, 1 and 2 the announcements, 3 the fetch, 4 the store, 5
 * the ring back. */
static void defects_are_found(void **state)
{
    (void)state;
    static const struct {
        uint32_t at;
        void (*breaks)(rlt_step *s);
        const char *says;
    } rows[] = {
        {1, silently, "waits for 1 messages, but none is sent"},
        {2, at_once, "waits for 0 messages, but 1 are sent"},
        {3, over_the_sources, "holds nothing"},
        {3, another_share, "holds nothing"},
        {3, to_itself, "sends to member 1"},
        {4, at_once, "waits for 0 messages, but 2 are sent"},
        {4, to_itself, "sends to member 4"},
    };
    static const uint32_t grid[] = {2, 2, 0};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_algorithm broken = rlt_hierarchical;
        rlt_coll_request req = test_grid_request(grid, RLT_ALL_REDUCE, 4000);
        rlt_plan plan;
        rlt_error err = {0};
        broken_at = rows[i].at;
        breaks = rows[i].breaks;
        broken.name = "broken";
        broken.step = broken_step;
        req.params.patterns[0] = "ring";
        req.params.patterns[1] = "nvls";
        assert_int_equal(rlt_plan_create(&broken, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_check(&plan, &err), RLT_ECHECK);
        if (!strstr(err.what, rows[i].says))
            fail_msg("row %u: '%s' does not say '%s'", i, err.what, rows[i].says);
        rlt_plan_free(&plan);
    }
}

/* No member announces that its ring sum is complete, so some fetch comes too early. */
static void mute_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    rlt_hierarchical.step(plan, member, lane, k, out);
    if (k == 1)
        out->send_to = RLT_NONE;
    if (k == 2)
        out->recv_count = 0;
}

static void early_fetches_are_found(void **state)
{
    (void)state;
    static const uint32_t grid[] = {2, 2, 0};
    rlt_algorithm mute = rlt_hierarchical;
    rlt_coll_request req = test_grid_request(grid, RLT_ALL_REDUCE, 4000);
    rlt_plan plan;
    rlt_error err = {0};
    mute.step = mute_step;
    req.params.patterns[1] = "nvls";
    assert_int_equal(rlt_plan_create(&mute, &req, &plan, &err), 0);
    assert_int_equal(rlt_plan_check(&plan, &err), RLT_ECHECK);
    assert_non_null(strstr(err.what, "fetch"));
    rlt_plan_free(&plan);
}

enum { L0 = 1000000, L1 = 2000000, BETA0 = 5, BETA1 = 20 };
static const char *const net = "switch:4@200GB/s,500ns,in_network=reduce+multicast*"
                               "switch:8@50GB/s,1us,in_network=reduce+multicast";

static test_run run(const rlt_net_model *model, rlt_injection injection, const char *inner, const char *outer,
                    rlt_coll_kind kind, uint64_t bytes, uint32_t chunks)
{
    test_net n = {.topology = net,
                  .model = model,
                  .injection = injection,
                  .algorithm = "hierarchical",
                  .chunks = chunks,
                  .patterns = {inner, outer}};
    return test_collective(&n, kind, bytes, NULL);
}

/*
 * One chunk in flow, dimension after dimension. A fetch or a store of s bytes takes alpha + s beta. A quarter
 * of the bytes reaches the second dimension. There a fetch waits for an announcement from each member, alpha.
 * A ring takes (g-1) (alpha + s/g beta).
 */
static void one_chunk(void **state)
{
    (void)state;
    const rlt_time s = 32 * 40000;
    for (int rule = 0; rule < 2; rule++) {
        const rlt_net_model *m = &rlt_net_flow;
        rlt_injection by = (rlt_injection)rule;
        rlt_time in = L0 + s * BETA0, out = L1 + s / 4 * BETA1, ring = 7 * (L1 + s / 32 * BETA1),
                 ring_in = 3 * (L0 + s / 4 * BETA0);
        uint64_t bytes = (uint64_t)s;
        assert_int_equal(run(m, by, "nvls", "nvls", RLT_ALL_REDUCE, bytes, 1).time_ps, 2 * (in + out) + L1);
        assert_int_equal(run(m, by, "nvls", "nvls", RLT_REDUCE_SCATTER, bytes, 1).time_ps, in + out + L1);
        assert_int_equal(run(m, by, "nvls", "nvls", RLT_ALL_GATHER, bytes, 1).time_ps, in + out);
        assert_int_equal(run(m, by, "nvls", "ring", RLT_ALL_REDUCE, bytes, 1).time_ps, 2 * (in + ring));
        assert_int_equal(run(m, by, "ring", "nvls", RLT_ALL_REDUCE, bytes, 1).time_ps,
                         2 * (ring_in + out) + L1);
    }
}

/* Many chunks: the bytes of the busiest dimension, (g+1)/g s one way if s bytes reach it. */
static void many_chunks(void **state)
{
    (void)state;
    const uint64_t bytes = (uint64_t)1 << 30;
    for (int m = 0; m < 2; m++) {
        double inner = (double)bytes * 5 / 4 * BETA0, outer = (double)bytes / 4 * 9 / 8 * BETA1;
        const rlt_net_model *model = m ? &rlt_net_flow : &rlt_net_alpha_beta;
        test_run r = run(model, RLT_INJECT_NIC, "nvls", "nvls", RLT_ALL_REDUCE, bytes, 64);
        double busiest = inner > outer ? inner : outer;
        assert_true((double)r.time_ps > busiest);
        if (m)
            assert_true((double)r.time_ps < busiest * 1.05);
        double busy = r.max_utilization * (double)r.time_ps;
        assert_true(busy > busiest - 1 && busy < busiest + 1);
    }
}

static void what_cannot_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        rlt_coll_kind kind;
        const char *says; /* NULL: supported */
    } rows[] = {
        {"switch:4@200GB/s,0ns,in_network=reduce+multicast*switch:8@50GB/s,0ns", RLT_ALL_REDUCE,
         "no switch in dimension 2"},
        {"switch:4@200GB/s,0ns*switch:8@50GB/s,0ns,in_network=reduce", RLT_ALL_REDUCE,
         "can add up and replicate"},
        {"switch:4@200GB/s,0ns*switch:8@50GB/s,0ns,in_network=reduce", RLT_ALL_GATHER, "can replicate"},
        {"switch:4@200GB/s,0ns*switch:8@50GB/s,0ns,in_network=reduce", RLT_REDUCE_SCATTER, NULL},
        {"switch:4@200GB/s,0ns*switch:8@50GB/s,0ns,in_network=reduce+multicast", RLT_BROADCAST,
         "the pattern nvls does not support broadcast"},
        {"switch:4@200GB/s,0ns*switch:8@50GB/s,0ns", RLT_ALL_TO_ALL, NULL},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        rlt_plan plan;
        rlt_error err = {0};
        test_group_open(&s, rows[i].topology, 0);
        rlt_coll_request req = rlt_group_request(&s.g, rows[i].kind, 32000);
        req.params.patterns[1] = "nvls";
        int rc = rlt_plan_create(&rlt_hierarchical, &req, &plan, &err);
        assert_int_equal(rc, rows[i].says ? RLT_EUNSUPPORTED : 0);
        if (rows[i].says && !strstr(err.what, rows[i].says))
            fail_msg("'%s' does not say '%s'", err.what, rows[i].says);
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
}

/* A dimension of one member needs no switch. A group that is not split asks all switches of its network. */
static void where_members_are(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        uint32_t n_dims, dims[2];
        const char *says;
    } rows[] = {
        {"switch:4@9GB/s,0ns*switch:8@5GB/s,0ns,in_network=reduce+multicast", 2, {1, 8}, NULL},
        {"switch:4@9GB/s,0ns*switch:8@5GB/s,0ns,in_network=reduce+multicast", 2, {2, 8}, "in dimension 1 of"},
        {"switch:4@9GB/s,0ns,in_network=reduce+multicast*switch:8@5GB/s,0ns", 2, {1, 8}, "in dimension 2 of"},
        {"switch:4@9GB/s,0ns,in_network=reduce+multicast*switch:8@5GB/s,0ns", 2, {4, 1}, NULL},
        {"switch:8@5GB/s,0ns", 0, {0}, "in dimension 1 of"},
        {"switch:8@5GB/s,0ns,in_network=reduce+multicast", 0, {0}, NULL},
        {"switch:8@5GB/s,0ns", 1, {8}, "in dimension 1 of"},
        {"switch:8@5GB/s,0ns", 1, {1}, NULL},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_group s;
        rlt_plan plan;
        rlt_error err = {0};
        test_group_open(&s, rows[i].topology, 0);
        rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 1, .bytes = 800, .topology = s.g.topology};
        req.n_dims = rows[i].n_dims;
        for (uint32_t d = 0; d < req.n_dims; d++) {
            req.n *= req.dims[d] = rows[i].dims[d];
            req.axes[d] = d;
        }
        req.n = req.n_dims ? req.n : 8;
        req.params.patterns[0] = req.params.patterns[1] = "nvls";
        int rc = rlt_plan_create(&rlt_hierarchical, &req, &plan, &err);
        if (rc != (rows[i].says ? RLT_EUNSUPPORTED : 0) || (rc && !strstr(err.what, rows[i].says)))
            fail_msg("row %u: %d, %s", i, rc, err.what);
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mix_is_proved),
        cmocka_unit_test(counts_are_proved),
        cmocka_unit_test(defects_are_found),
        cmocka_unit_test(early_fetches_are_found),
        cmocka_unit_test(one_chunk),
        cmocka_unit_test(many_chunks),
        cmocka_unit_test(what_cannot_is_refused),
        cmocka_unit_test(where_members_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
