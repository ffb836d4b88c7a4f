/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every algorithm of the table on small groups: the plan is proved, each step hears as many messages as are sent to it,
 * and names their sender if all are from one member. Only a step that waits for all members of a node, a dimension or
 * the group at once need not. The translations that an algorithm declares lead each member's peers to another's.
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

enum { CASES = 2, GRID_CASES = 4, MEMBERS = 16, PLACES = 1 << 16 };

static const char *const nets[] = {
    "switch:%u@50GB/s,500ns",
    "switch:%u@50GB/s,500ns,in_network=reduce+multicast",
    "switch:2@80GB/s,500ns,in_network=reduce+multicast*switch:%u@20GB/s,1us,in_network=reduce+multicast",
    "ring:3@40GB/s,500ns*fully-connected:%u@20GB/s,1us",
};
enum { NETS = sizeof nets / sizeof *nets };

/* What comes to each step of all members: messages, and their sender; several: RLT_NONE. */
static struct heard {
    uint32_t count, from;
} heard[PLACES];

static uint32_t first_of[4096];

/* Number of a step among those of all members. */
static uint32_t place(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k)
{
    return first_of[member * plan->lanes + lane] + k;
}

static void one_more(uint32_t at, uint32_t from)
{
    heard[at].from = heard[at].count++ && heard[at].from != from ? RLT_NONE : from;
}

/* Numbers all steps, and returns how many there are. */
static uint32_t number_steps(const rlt_plan *plan)
{
    uint32_t all = 0;
    assert_true(plan->req.n * plan->lanes <= 4096);
    for (uint32_t m = 0; m < plan->req.n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++) {
            first_of[m * plan->lanes + l] = all;
            all += plan->algorithm->steps(plan, m, l);
        }
    assert_true(all <= PLACES);
    return all;
}

static rlt_step step_of(const rlt_plan *plan, uint32_t m, uint32_t l, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    plan->algorithm->step(plan, m, l, k, &s);
    return s;
}

static void post(const rlt_plan *plan, uint32_t m, uint32_t l, uint32_t k)
{
    rlt_step s = step_of(plan, m, l, k);
    uint32_t there = (l + s.peer_shift) % plan->lanes;
    if (s.send_to == RLT_NONE)
        return;
    if (!RLT_LANDS_AT_ALL(s.verb)) {
        one_more(place(plan, s.send_to, there, s.peer_step), m);
        return;
    }
    rlt_reach r = rlt_reach_of(plan, m, l, k);
    for (uint32_t i = 0; i < r.n; i++)
        one_more(place(plan, r.first + i * r.stride, there, s.peer_step), m);
}

/* Whether the plan has steps that wait for all of some set of members, which may be one. */
static bool waits_for_sets(const rlt_plan *plan)
{
    static const rlt_algorithm *const always[] = {&rlt_nvls,      &rlt_nvls_tree, &rlt_collnet,
                                                  &rlt_two_level, &rlt_rail,      &rlt_parameter_server};
    const rlt_algorithm *a = plan->algorithm;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (a == always[i])
            return true;
    for (uint32_t d = 0; d < plan->req.n_dims && (a == &rlt_hierarchical || a == &rlt_torus); d++) {
        const char *pattern = plan->req.params.patterns[d];
        bool usual = strcmp(plan->req.shapes[d], "fully-connected") == 0;
        if (plan->req.kind == RLT_ALL_TO_ALL ||
            (pattern ? strcmp(pattern, "direct") == 0 || strcmp(pattern, "nvls") == 0 : usual))
            return true;
    }
    return a == &rlt_direct && plan->req.n == 2;
}

static void senders_named(const rlt_plan *plan, const char *net)
{
    uint32_t all = number_steps(plan);
    memset(heard, 0, sizeof *heard * all);
    for (uint32_t m = 0; m < plan->req.n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++)
            for (uint32_t k = 0; k < plan->algorithm->steps(plan, m, l); k++)
                post(plan, m, l, k);
    for (uint32_t m = 0; m < plan->req.n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++)
            for (uint32_t k = 0; k < plan->algorithm->steps(plan, m, l); k++) {
                rlt_step s = step_of(plan, m, l, k);
                const struct heard *h = &heard[place(plan, m, l, k)];
                uint32_t from = h->count ? h->from : RLT_NONE;
                if (s.recv_count == h->count &&
                    (s.recv_from == from || (s.recv_from == RLT_NONE && waits_for_sets(plan))))
                    continue;
                fail_msg("%s by %s of %u on %s, root %u: member %u lane %u step %u hears %u messages of %d, "
                         "expected %u of %d",
                         rlt_coll_name(plan->req.kind), plan->algorithm->name, plan->req.n, net,
                         plan->req.root, m, l, k, s.recv_count, (int)s.recv_from, h->count, (int)h->from);
            }
}

/* Member with one more in a digit of the translation group; RLT_NONE stays, and so does `n`. */
static uint32_t moved(const rlt_plan *plan, uint32_t member, uint32_t stride, uint32_t size)
{
    uint32_t digit = member / stride % size;
    return member >= plan->req.n ? member : member - digit * stride + (digit + 1) % size * stride;
}

static void peers_move(const rlt_plan *plan, uint32_t stride, uint32_t size)
{
    for (uint32_t m = 0; m < plan->req.n; m++)
        for (uint32_t l = 0; l < plan->lanes; l++) {
            uint32_t to = moved(plan, m, stride, size), n = plan->algorithm->steps(plan, m, l);
            assert_int_equal(plan->algorithm->steps(plan, to, l), n);
            for (uint32_t k = 0; k < n; k++) {
                rlt_step a = step_of(plan, m, l, k), b = step_of(plan, to, l, k);
                assert_int_equal(b.send_to, moved(plan, a.send_to, stride, size));
                assert_int_equal(b.recv_from, moved(plan, a.recv_from, stride, size));
                assert_true(a.recv_count == b.recv_count && a.peer_step == b.peer_step &&
                            a.wait_lane == b.wait_lane && a.wait_step == b.wait_step &&
                            a.nowait == b.nowait && a.verb == b.verb && a.reduce == b.reduce);
            }
        }
}

static void translations_hold(const rlt_plan *plan)
{
    uint32_t sizes[RLT_MAX_TRANSLATIONS], stride = 1;
    uint32_t many = plan->algorithm->symmetry ? plan->algorithm->symmetry(plan, sizes) : 0;
    for (uint32_t i = 0; i < many; stride *= sizes[i++])
        peers_move(plan, stride, sizes[i]);
    assert_true(many == 0 || stride == plan->req.n);
}

static void draw_parameters(dice *d, rlt_coll_request *r)
{
    r->root = below(d, r->n);
    r->bytes = r->kind == RLT_BARRIER ? 0 : roll(d, 5000);
    r->params.channels = below(d, 3);
    r->params.chunks = below(d, 4);
    r->params.directions = below(d, 3);
    r->params.window = below(d, 5);
    r->params.servers = below(d, r->n + 1);
    r->params.schedule = below(d, RLT_CHUNK_SCHEDULES);
    for (uint32_t i = 0; i < r->n_dims; i++)
        r->params.patterns[i] = rlt_pattern_name(below(d, 8)); /* past the last one: none */
}

static void draw_counts(dice *d, const rlt_algorithm *a, rlt_coll_request *r)
{
    static uint64_t counts[MEMBERS * MEMBERS];
    uint32_t n = r->kind == RLT_ALL_TO_ALL ? r->n * r->n : r->n;
    assert_true(r->n <= MEMBERS);
    if (!(a->counted >> r->kind & 1) || below(d, 2))
        return;
    r->counts = counts;
    r->bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        r->bytes += counts[i] = below(d, 3) ? roll(d, 300) : 0;
}

/* Returns whether the algorithm did it. */
static bool one(dice *d, const test_group *s, const rlt_algorithm *a, rlt_coll_kind kind, const char *net)
{
    rlt_coll_request r = rlt_group_request(&s->g, kind, 0);
    rlt_plan plan;
    rlt_error err = {0};
    draw_parameters(d, &r);
    draw_counts(d, a, &r);
    int rc = rlt_plan_create(a, &r, &plan, &err);
    if (rc && r.n == 1 && a != &rlt_nvls && strcmp(a->name, "custom") != 0)
        fail_msg("%s by %s of one member on %s: %s", rlt_coll_name(kind), a->name, net, err.what);
    if (rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY)
        return false;
    if (rc || rlt_plan_check(&plan, &err))
        fail_msg("%s by %s of %u on %s: %s: %s", rlt_coll_name(kind), a->name, r.n, net, err.where, err.what);
    assert_true(plan.buffers > plan.result && plan.blocks > 0 && plan.lanes > 0);
    senders_named(&plan, net);
    translations_hold(&plan);
    rlt_plan_free(&plan);
    return true;
}

static void all_name_their_senders(void **state)
{
    (void)state;
    const rlt_algorithm *a;
    dice d = {.seed = 1};
    uint32_t done = 0;
    for (uint32_t n = 1; n <= 8; n++)
        for (uint32_t i = 0; i < NETS; i++) {
            char net[200];
            test_group s;
            snprintf(net, sizeof net, nets[i], i > 1 && n > 5 ? n - 4 : n);
            test_group_open(&s, net, 0);
            for (uint32_t k = 0; (a = rlt_algorithm_at(k)); k++) {
                uint32_t cases = a == &rlt_hierarchical || a == &rlt_torus ? GRID_CASES : CASES;
                for (uint32_t c = 0; c < cases * RLT_COLL_KINDS && a != &rlt_tacos; c++) {
                    rlt_coll_kind kind = (rlt_coll_kind)(c % RLT_COLL_KINDS);
                    if ((a->kinds >> kind & 1) && (kind != RLT_SEND_RECV || n == 2))
                        done += one(&d, &s, a, kind, net);
                }
            }
            test_group_close(&s);
        }
    print_message("%u plans\n", done);
    assert_true(done > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_name_their_senders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
