/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plan of a synthesis against a plain one: the transfers of each phase are asked for again, and laid out as
 * the head of tacos.c words it, with every field of every step compared. What is refused, and why.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "collectives/synthesis/tacos.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MEMBERS = 8, PORTS = 20, STEPS = 400, CHUNKS = 32, SENDS = 2 * CHUNKS * MEMBERS, EDGES = 64 };

/* What a member does, lane by lane, and which step last wrote or sent each chunk. */
typedef struct actor {
    uint32_t lanes, n[PORTS];
    rlt_step step[PORTS][STEPS];
    uint32_t last_lane[CHUNKS], last_step[CHUNKS];
} actor;

typedef struct model {
    const rlt_coll_request *req;
    rlt_tacos_net net;
    uint32_t chunks, lanes, n_sends, n_reduced, owner[CHUNKS], leaves[EDGES], enters[EDGES];
    uint64_t bytes[CHUNKS], tried;
    rlt_tacos_send sends[SENDS];
    rlt_time time_ps;
    actor actors[MEMBERS];
} model;

static bool is_rooted(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

/* Finds the transfers of a phase. A reduction is a spreading backwards, over reversed edges. */
static void find_phase(model *m, bool reduces)
{
    static rlt_tacos_send found[SENDS];
    const rlt_coll_request *req = m->req;
    uint32_t n = m->chunks * (req->n - 1);
    rlt_time time_ps = 0;
    rlt_tacos_job job = {.net = &m->net,
                         .reversed = reduces,
                         .chunks = m->chunks,
                         .owner = m->owner,
                         .bytes = m->bytes,
                         .endpoint = req->endpoint ? req->endpoint : rlt_topology_endpoint(req->topology),
                         .restarts = 32};
    assert_int_equal(rlt_tacos_match(&job, found, &time_ps, &m->tried, NULL), 0);
    for (uint32_t i = 0; i < n; i++)
        m->sends[m->n_sends++] = found[reduces ? n - 1 - i : i];
    m->n_reduced += reduces ? n : 0;
    m->time_ps += time_ps;
}

static void find_sends(model *m)
{
    const rlt_coll_request *req = m->req;
    bool rooted = is_rooted(req->kind);
    uint64_t pieces = (req->bytes + 524287) / 524288, usual = rooted && pieces ? pieces : 1;
    uint64_t each = req->params.chunks ? req->params.chunks : usual;
    m->chunks = (uint32_t)(rooted ? each : each * req->n);
    assert_true(m->chunks <= CHUNKS);
    for (uint32_t c = 0; c < m->chunks; c++) {
        m->owner[c] = rooted ? req->root : (uint32_t)(c / each);
        m->bytes[c] =
            req->counts ? req->counts[c] : req->bytes / m->chunks + (c < req->bytes % m->chunks ? 1 : 0);
    }
    m->n_sends = m->n_reduced = 0;
    m->tried = 0;
    m->time_ps = 0;
    if (req->kind == RLT_ALL_REDUCE || req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_REDUCE)
        find_phase(m, true);
    if (req->kind == RLT_ALL_REDUCE || req->kind == RLT_ALL_GATHER || req->kind == RLT_BROADCAST)
        find_phase(m, false);
}

static bool is_used(const model *m, uint32_t edge)
{
    for (uint32_t i = 0; i < m->n_sends; i++)
        if (m->sends[i].edge == edge)
            return true;
    return false;
}

/* A lane for each link on which the member sends, then one for each edge that enters it. */
static void number_lanes(model *m, uint32_t member)
{
    actor *a = &m->actors[member];
    const rlt_tacos_net *net = &m->net;
    a->lanes = 0;
    for (uint32_t e = 0; e < net->n_edges; e++) {
        uint32_t before = 0;
        if (net->edges[e].src != member || !is_used(m, e))
            continue;
        while (before < e && (net->edges[before].src != member || !is_used(m, before) ||
                              net->path[net->edges[before].first] != net->path[net->edges[e].first]))
            before++;
        m->leaves[e] = before < e ? m->leaves[before] : a->lanes++;
    }
    for (uint32_t e = 0; e < net->n_edges; e++)
        if (net->edges[e].dst == member && is_used(m, e))
            m->enters[e] = a->lanes++;
    assert_true(a->lanes <= PORTS);
    m->lanes = a->lanes > m->lanes ? a->lanes : m->lanes;
}

/* Appends a step, which waits for the last one that wrote or sent the chunk, if in another lane. */
static uint32_t append(actor *a, uint32_t lane, uint32_t chunk, rlt_step s, bool last)
{
    uint32_t k = a->n[lane]++;
    assert_true(k < STEPS);
    if (a->last_lane[chunk] != RLT_NONE && a->last_lane[chunk] != lane) {
        s.wait_lane = a->last_lane[chunk];
        s.wait_step = a->last_step[chunk];
    }
    a->step[lane][k] = s;
    if (last) {
        a->last_lane[chunk] = lane;
        a->last_step[chunk] = k;
    }
    return k;
}

static void lay_out(model *m)
{
    m->lanes = 1;
    for (uint32_t i = 0; i < m->req->n; i++) {
        number_lanes(m, i);
        memset(m->actors[i].n, 0, sizeof m->actors[i].n);
        memset(m->actors[i].last_lane, 0xff, sizeof m->actors[i].last_lane);
    }
    for (uint32_t i = 0; i < m->n_sends; i++) {
        uint32_t e = m->sends[i].edge, c = m->sends[i].chunk;
        uint32_t src = m->net.edges[e].src, dst = m->net.edges[e].dst;
        bool adds = i < m->n_reduced;
        rlt_step comes, goes;
        rlt_step_clear(&comes);
        rlt_step_clear(&goes);
        comes.recv_from = src;
        comes.recv_count = 1;
        goes.send_to = dst;
        goes.peer_step = append(&m->actors[dst], m->enters[e], c, comes, true);
        goes.peer_shift = (m->enters[e] + m->lanes - m->leaves[e]) % m->lanes;
        goes.send_bytes = m->bytes[c];
        goes.reduce = adds;
        goes.send = goes.land = (rlt_blocks){.first = c, .run = 1, .reps = 1};
        append(&m->actors[src], m->leaves[e], c, goes, adds);
    }
}

static bool same_span(rlt_blocks a, rlt_blocks b)
{
    return a.first == b.first && a.run == b.run && a.stride == b.stride && a.reps == b.reps;
}

static void same_step(const rlt_step *a, const rlt_step *b)
{
    assert_int_equal(a->send_to, b->send_to);
    assert_int_equal(a->peer_step, b->peer_step);
    assert_int_equal(a->peer_shift, b->peer_shift);
    assert_int_equal(a->send_bytes, b->send_bytes);
    assert_int_equal(a->recv_from, b->recv_from);
    assert_int_equal(a->recv_count, b->recv_count);
    assert_int_equal(a->wait_lane, b->wait_lane);
    assert_int_equal(a->wait_step, b->wait_step);
    assert_int_equal(a->reduce, b->reduce);
    assert_true(!a->nowait && !a->copy && !a->send_buffer && !a->land_buffer && !a->verb && !a->turn);
    assert_true(same_span(a->send, b->send) && same_span(a->land, b->land));
}

static void compare(const rlt_plan *plan, const model *m)
{
    assert_int_equal(plan->lanes, m->lanes);
    assert_int_equal(plan->blocks, m->chunks);
    assert_int_equal(plan->chunks, is_rooted(m->req->kind) ? m->chunks : m->chunks / m->req->n);
    assert_true(plan->channels == 1 && plan->directions == 1 && plan->buffers == 1 && plan->result == 0);
    assert_true(plan->shared && !plan->untracked && !plan->reduces && !plan->multicasts);
    assert_int_equal(rlt_tacos_time(plan), m->time_ps);
    assert_int_equal(plan->tried, m->tried);
    for (uint32_t i = 0; i < m->req->n; i++)
        for (uint32_t lane = 0; lane < m->lanes; lane++) {
            assert_int_equal(plan->algorithm->steps(plan, i, lane), m->actors[i].n[lane]);
            for (uint32_t k = 0; k < m->actors[i].n[lane]; k++) {
                rlt_step s;
                rlt_step_clear(&s);
                plan->algorithm->step(plan, i, lane, k, &s);
                same_step(&s, &m->actors[i].step[lane][k]);
            }
        }
}

/* Compares the plan of a random request of a group. */
static void one(dice *k, const test_group *s)
{
    static model m;
    static const rlt_coll_kind kinds[] = {RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_REDUCE, RLT_BROADCAST,
                                          RLT_REDUCE};
    uint64_t counts[MEMBERS], sum = 0;
    rlt_plan plan;
    rlt_error err = {0};
    rlt_endpoint endpoint = *rlt_topology_endpoint(s->t);
    rlt_coll_request req = rlt_group_request(&s->g, kinds[below(k, 5)], 0);
    req.params.chunks = below(k, 4);
    req.bytes = below(k, 2) ? roll(k, 400000)
                            : roll(k, is_rooted(req.kind) && !req.params.chunks ? 3u << 20 : 1u << 30);
    if (!is_rooted(req.kind) && req.params.chunks == 3)
        req.params.chunks = 2;
    req.root = below(k, req.n);
    for (uint32_t i = 0; i < req.n; i++)
        sum += counts[i] = roll(k, 100000);
    if ((req.kind == RLT_ALL_GATHER || req.kind == RLT_REDUCE_SCATTER) && req.params.chunks < 2 &&
        below(k, 2)) {
        req.counts = counts;
        req.bytes = sum;
    }
    endpoint.message_ps = below(k, 1000000);
    endpoint.injection = below(k, 2) ? RLT_INJECT_NIC : RLT_INJECT_BLOCKING;
    req.endpoint = below(k, 2) ? &endpoint : NULL;
    m.req = &req;
    assert_int_equal(rlt_tacos_net_create(&req, &m.net, &err), 0);
    assert_true(m.net.n_edges <= EDGES);
    find_sends(&m);
    lay_out(&m);
    if (rlt_plan_create(&rlt_tacos, &req, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    compare(&plan, &m);
    rlt_plan_free(&plan);
    rlt_tacos_net_free(&m.net);
}

static void as_the_plain_one(void **state)
{
    static const char *const networks[] = {"mesh:2x3@80GB/s,1us",
                                           "ring:5@10GB/s,2us",
                                           "fully-connected:5@40GB/s,300ns",
                                           "switch:6@50GB/s,500ns",
                                           "dgx1-v100-8",
                                           "ring:4@200GB/s,1us*switch:2@50GB/s,500ns",
                                           "mesh:3@6GB/s,1us*ring:2@1GB/s,2us",
                                           "switch:2@5GB/s,1us"};
    dice k = {.seed = 47};
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        test_group s;
        test_group_open(&s, networks[i], 0);
        for (int c = 0; c < 40; c++)
            one(&k, &s);
        test_group_close(&s);
    }
}

/* One member has nothing to do. */
static void alone(void **state)
{
    test_group s;
    rlt_plan plan;
    (void)state;
    test_group_open(&s, "ring:3@20GB/s,1us", 1);
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 1000);
    req.params.chunks = 3;
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, NULL), 0);
    assert_true(plan.lanes == 1 && plan.chunks == 3 && plan.blocks == 3);
    assert_true(plan.channels == 1 && plan.directions == 1);
    assert_int_equal(rlt_tacos_time(&plan), 0);
    assert_int_equal(plan.algorithm->steps(&plan, 0, 0), 0);
    rlt_plan_free(&plan);
    test_group_close(&s);
}

/* At most 512 members, 2^20 transfers, and no shares with counts in pieces. */
static void what_is_refused(void **state)
{
    static const struct {
        rlt_coll_kind kind;
        uint32_t n, chunks;
        bool counts;
        const char *why;
    } rows[] = {
        {RLT_ALL_GATHER, 513, 64, true, "synthesises for at most 512 members, not 513"},
        {RLT_ALL_GATHER, 512, 5, true,
         "2560 chunks to each of 511 others are more than 1048576 transfers; use fewer chunks"},
        {RLT_BROADCAST, 258, 4096, false,
         "4096 chunks to each of 257 others are more than 1048576 transfers; use fewer chunks"},
        {RLT_REDUCE_SCATTER, 2, 1 << 19, true, "cannot cut shares with counts into chunks; use one chunk"},
        {RLT_REDUCE_SCATTER, 2, (1 << 19) + 1, true,
         "1048578 chunks to each of 1 others are more than 1048576 transfers; use fewer chunks"},
        {RLT_ALL_GATHER, 2, 2, true, "cannot cut shares with counts into chunks; use one chunk"},
    };
    static uint64_t counts[600];
    test_group s;
    (void)state;
    for (size_t i = 0; i < 600; i++)
        counts[i] = 10;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_plan plan;
        rlt_error err = {0};
        test_group_open(&s, "switch:600@40GB/s,1us", rows[i].n);
        rlt_coll_request req = rlt_group_request(&s.g, rows[i].kind, 10 * rows[i].n);
        req.params.chunks = rows[i].chunks;
        req.counts = rows[i].counts ? counts : NULL;
        assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, &err), RLT_EUNSUPPORTED);
        assert_string_equal(err.where, "tacos");
        assert_string_equal(err.what, rows[i].why);
        req.placement = NULL;
        err = (rlt_error){0};
        assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, &err), RLT_EUNSUPPORTED);
        assert_string_equal(err.what, "needs the topology and the placement of the ranks");
        test_group_close(&s);
    }
}

/* Two ranks on one accelerator have no link between them. */
static void one_accelerator_twice(void **state)
{
    uint32_t on[] = {0, 1, 1};
    test_group s;
    rlt_plan plan;
    rlt_error err = {0};
    (void)state;
    test_group_open(&s, "ring:3@20GB/s,1us", 0);
    rlt_placement twice = {.n = 3, .accelerator = on};
    rlt_coll_request req = rlt_group_request(&s.g, RLT_ALL_REDUCE, 1000);
    req.placement = &twice;
    assert_int_equal(rlt_plan_create(&rlt_tacos, &req, &plan, &err), RLT_ETOPOLOGY);
    assert_string_equal(err.what, "two members share an accelerator");
    test_group_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_plain_one),
        cmocka_unit_test(alone),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(one_accelerator_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
