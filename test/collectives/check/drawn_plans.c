/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drawn requests of few members to every algorithm, on networks of one and of several dimensions: each plan
 * is proved, or refused with a reason. Each message is awaited by the step that it names, and what a plan
 * says about its symmetry is tried on each member.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

static const char *const networks[] = {
    "switch:1@50GB/s,500ns",
    "switch:2@50GB/s,500ns",
    "switch:5@50GB/s,500ns",
    "switch:8@50GB/s,500ns",
    "ring:3@100GB/s,700ns",
    "ring:6@100GB/s,700ns",
    "fully-connected:4@60GB/s,300ns",
    "fully-connected:7@60GB/s,300ns",
    "ring:2@40GB/s,500ns*switch:3@20GB/s,1us",
    "ring:4@40GB/s,500ns*ring:2@20GB/s,1us",
    "ring:2@40GB/s,500ns*ring:2@40GB/s,500ns*switch:3@20GB/s,1us",
    "fully-connected:3@40GB/s,500ns*fully-connected:3@20GB/s,1us",
    "switch:4@80GB/s,500ns,in_network=reduce+multicast*switch:1@20GB/s,1us",
    "switch:2@80GB/s,500ns,in_network=reduce+multicast*switch:5@20GB/s,1us,in_network=reduce+multicast",
    "switch:4@80GB/s,500ns,in_network=reduce+multicast*switch:3@20GB/s,1us,in_network=reduce+multicast",
    "switch:3@80GB/s,500ns,in_network=reduce+multicast*switch:4@20GB/s,1us",
    "switch:1@80GB/s,500ns*switch:6@20GB/s,1us,in_network=reduce+multicast",
};
enum { N_NETWORKS = sizeof networks / sizeof *networks, MOST = 16, MANY = 64 };

static rlt_step step_of(const rlt_plan *plan, uint32_t m, uint32_t lane, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, m, lane, k, &s);
    return s;
}

static void draw_parameters(dice *d, rlt_coll_request *r)
{
    r->params.channels = below(d, 2) ? 0 : 1 + below(d, 4);
    r->params.chunks = below(d, 2) ? 0 : 1 + below(d, 5);
    r->params.directions = below(d, 3);
    r->params.window = below(d, 2) ? 0 : 1 + below(d, r->n + 1);
    r->params.servers = below(d, 2) ? 0 : 1 + below(d, r->n);
    r->root = rlt_coll_rooted(r->kind) ? below(d, r->n) : 0;
    static const uint64_t bytes[] = {0, 1, 7, 100003, 5 * 7 * 9 * 2048};
    r->bytes = bytes[below(d, 5)];
}

/* Shares of all sizes, some of them empty. */
static void draw_counts(dice *d, const rlt_algorithm *a, rlt_coll_request *r, uint64_t *counts)
{
    if (!(a->counted >> r->kind & 1) || below(d, 3))
        return;
    r->counts = counts;
    r->bytes = 0;
    for (uint32_t i = 0; i < (r->kind == RLT_ALL_TO_ALL ? r->n * r->n : r->n); i++)
        r->bytes += counts[i] = below(d, 3) ? roll(d, 1000) : 0;
}

/* As many messages arrive at a step as it awaits, from the member that it names if there is one. */
static void same_messages(const rlt_plan *plan)
{
    uint32_t n = plan->req.n;
    int64_t open = 0;
    for (uint32_t i = 0; i < n * plan->lanes; i++)
        for (uint32_t k = 0; k < plan->algorithm->steps(plan, i / plan->lanes, i % plan->lanes); k++) {
            rlt_step s = step_of(plan, i / plan->lanes, i % plan->lanes, k);
            open += s.recv_count;
            if (s.send_to == RLT_NONE || s.verb != RLT_VERB_SEND)
                continue;
            uint32_t lane = (i % plan->lanes + s.peer_shift) % plan->lanes;
            assert_true(s.send_to < n && s.send_to != i / plan->lanes);
            assert_true(s.peer_step < plan->algorithm->steps(plan, s.send_to, lane));
            rlt_step r = step_of(plan, s.send_to, lane, s.peer_step);
            assert_true(r.recv_from == i / plan->lanes || (r.recv_from == RLT_NONE && r.recv_count > 0));
            open--;
        }
    assert_true(open == 0 || plan->reduces || plan->multicasts);
}

static uint32_t moved(uint32_t m, uint32_t by, const uint32_t *sizes, uint32_t n)
{
    uint32_t to = 0, unit = 1;
    for (uint32_t i = 0; i < n; unit *= sizes[i++])
        to += (m / unit + by / unit) % sizes[i] * unit;
    return to;
}

static void same_step(const rlt_step *a, const rlt_step *b, uint32_t by, const uint32_t *sizes, uint32_t n)
{
    assert_int_equal(b->send_to, a->send_to == RLT_NONE ? RLT_NONE : moved(a->send_to, by, sizes, n));
    assert_int_equal(b->recv_from, a->recv_from == RLT_NONE ? RLT_NONE : moved(a->recv_from, by, sizes, n));
    assert_true(a->peer_step == b->peer_step && a->peer_shift == b->peer_shift);
    assert_true(a->send_bytes == b->send_bytes && a->recv_count == b->recv_count && a->nowait == b->nowait);
    assert_true(a->wait_lane == b->wait_lane && (a->wait_lane == RLT_NONE || a->wait_step == b->wait_step));
}

/* Blocks have one size, lanes their own blocks, and nothing is done by the network: a translation maps each
 * member's steps to another's. */
static uint32_t same_when_moved(const rlt_plan *plan)
{
    uint32_t sizes[RLT_MAX_TRANSLATIONS], product = 1, tried = 0;
    uint32_t n = plan->algorithm->symmetry ? plan->algorithm->symmetry(plan, sizes) : 0;
    for (uint32_t i = 0; i < n; i++)
        product *= sizes[i];
    assert_int_equal(product, n ? plan->req.n : 1);
    for (uint32_t by = 1; n && by < plan->req.n; by++, tried++)
        for (uint32_t i = 0; i < plan->req.n * plan->lanes; i++) {
            uint32_t m = i / plan->lanes, other = moved(m, by, sizes, n), lane = i % plan->lanes;
            uint32_t steps = plan->algorithm->steps(plan, m, lane);
            assert_int_equal(plan->algorithm->steps(plan, other, lane), steps);
            for (uint32_t k = 0; k < steps; k++) {
                rlt_step a = step_of(plan, m, lane, k), b = step_of(plan, other, lane, k);
                same_step(&a, &b, by, sizes, n);
            }
        }
    return tried;
}

/* Returns whether the algorithm served the request. */
static bool prove(const rlt_algorithm *a, const rlt_coll_request *r, const char *where, uint32_t *tried)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(a, r, &plan, &err);
    if (rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY) {
        assert_true(err.what[0]);
        return false;
    }
    if (rc || rlt_plan_check(&plan, &err))
        fail_msg("%s by %s on %s, %llu bytes%s, root %u, %u channels, %u chunks, %u directions, "
                 "window %u, %u servers: "
                 "%s: %s",
                 rlt_coll_name(r->kind), a->name, where, (unsigned long long)r->bytes,
                 r->counts ? " with counts" : "", r->root, r->params.channels, r->params.chunks,
                 r->params.directions, r->params.window, r->params.servers, err.where, err.what);
    same_messages(&plan);
    if (!r->counts && r->bytes == 5 * 7 * 9 * 2048 && !plan.reduces && !plan.multicasts && !plan.shared &&
        r->n > 1)
        *tried += same_when_moved(&plan);
    rlt_plan_free(&plan);
    return true;
}

static void drawn_requests(void **state)
{
    (void)state;
    uint64_t counts[MOST * MOST];
    uint32_t served[MANY] = {0}, tried = 0;
    dice d = {.seed = 13};
    for (uint32_t i = 0; i < N_NETWORKS; i++) {
        test_group s;
        test_group_open(&s, networks[i], 0);
        for (uint32_t at = 0; rlt_algorithm_at(at); at++)
            for (uint32_t kind = 0; kind < RLT_COLL_KINDS; kind++)
                for (uint32_t time = 0; time < 4; time++) {
                    const rlt_algorithm *a = rlt_algorithm_at(at);
                    rlt_coll_request r = rlt_group_request(&s.g, (rlt_coll_kind)kind, 0);
                    if (!(a->kinds >> kind & 1) || (kind == RLT_SEND_RECV && r.n != 2))
                        continue;
                    draw_parameters(&d, &r);
                    draw_counts(&d, a, &r, counts);
                    served[at] += prove(a, &r, networks[i], &tried);
                }
        test_group_close(&s);
    }
    for (uint32_t at = 0; rlt_algorithm_at(at); at++)
        assert_true(served[at] > 0 || strcmp(rlt_algorithm_at(at)->name, "custom") == 0);
    assert_true(tried > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_requests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
