/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plan that is written and read back is the same plan: it passes the checker, sends as many messages and
 * bytes, and takes the same time to the picosecond. JSON keeps everything, at any size. MSCCL XML and GOAL
 * keep what alpha-beta can distinguish.
 */
#include "net/import/import.h"
#include "test/support/support.h"

#include <stdio.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct outcome {
    rlt_time time_ps;
    uint64_t messages, bytes;
} outcome;

typedef struct place {
    rlt_topology *topology;
    rlt_placement placement;
    rlt_group group;
} place;

static void open_place(const char *topology, uint32_t ranks, place *p)
{
    rlt_error err = {0};
    if (rlt_topology_load(topology, NULL, &p->topology, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    ranks = ranks ? ranks : rlt_topology_accelerators(p->topology);
    assert_int_equal(rlt_placement_identity(p->topology, ranks, &p->placement, &err), 0);
    assert_int_equal(rlt_group_create(p->topology, &p->placement, NULL, ranks, &p->group, &err), 0);
}

static void close_place(place *p)
{
    rlt_group_free(&p->group);
    rlt_placement_free(&p->placement);
    rlt_topology_free(p->topology);
}

static outcome run_plan(const place *p, const rlt_plan *plan, const rlt_net_model *model)
{
    rlt_error err = {0};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    rlt_exec_client client = {0};
    outcome out;
    char text[200];
    assert_int_equal(rlt_router_create(p->topology, &p->placement, RLT_ROUTE_DMODK, &router, &err), 0);
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(p->topology),
                          .bandwidth_scale = 1,
                          .latency_scale = 1};
    assert_int_equal(rlt_exec_create(model, &cfg, &x, &err), 0);
    uint32_t id = rlt_exec_add(x, plan, &client, 0, 0);
    rlt_exec_arrive_all(x, id);
    assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, &err), 0);
    if (rlt_exec_pending(x, text, sizeof text))
        fail_msg("%s", text);
    out = (outcome){rlt_sim_now(sim), rlt_exec_net(x)->messages, rlt_exec_net(x)->bytes_offered};
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_router_free(router);
    return out;
}

static void make_custom(const rlt_plan *like, const rlt_listed *listed, uint64_t bytes, rlt_plan *out)
{
    rlt_error err = {0};
    rlt_coll_request req = like->req;
    req.listed = listed;
    req.bytes = bytes;
    if (rlt_plan_create(&rlt_custom, &req, out, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    if (rlt_plan_check(out, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
}

/* Writes and reads a plan. False if the format cannot express it. */
static bool turn_around(const rlt_plan *plan, rlt_plan_format format, rlt_listed *out)
{
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    int rc = rlt_plan_write(plan, format, &text, &length, &err);
    if (rc == RLT_EUNSUPPORTED)
        return false;
    if (!rc)
        rc = rlt_plan_parse("plan", text, length, NULL, out, &err);
    if (rc)
        fail_msg("%s of %s, %u members, as %s: %s: %s", rlt_coll_name(plan->req.kind), plan->algorithm->name,
                 plan->req.n, rlt_plan_format_name(format), err.where, err.what);
    free(text);
    return true;
}

static void expect_same(const rlt_plan *plan, const char *how, outcome a, outcome b, bool time_too)
{
    if ((time_too && a.time_ps != b.time_ps) || a.bytes != b.bytes)
        fail_msg("%s by %s, %u members, %llu bytes, %s: %lld ps and %llu bytes became %lld ps and %llu bytes",
                 rlt_coll_name(plan->req.kind), plan->algorithm->name, plan->req.n,
                 (unsigned long long)plan->req.bytes, how, (long long)a.time_ps, (unsigned long long)a.bytes,
                 (long long)b.time_ps, (unsigned long long)b.bytes);
}

/*
 * MSCCL splits messages of blocks that are not contiguous, and other messages may come between the pieces.
 * Neither MSCCL nor GOAL orders independent operations. So in all-to-alls over several dimensions, messages
 * that several lanes have ready at one instant may take the port in another order.
 */
static bool keeps_time(const rlt_plan *plan, outcome a, outcome b)
{
    bool pieces = plan->algorithm == &rlt_tree && plan->req.node > 1 && plan->req.node < plan->req.n;
    return a.messages == b.messages && !(plan->req.kind == RLT_ALL_TO_ALL && plan->req.n_dims > 1) && !pieces;
}

typedef struct tally {
    uint32_t tried, kept, exact;
} tally;

/* Tests one plan in one format. */
static void check_format(const place *p, const rlt_plan *plan, rlt_plan_format format, tally *t)
{
    rlt_listed l = {0};
    rlt_plan back;
    t->tried++;
    if (!turn_around(plan, format, &l)) { /* MSCCL has no barrier */
        assert_true(format == RLT_PLAN_MSCCL && plan->req.kind == RLT_BARRIER);
        return;
    }
    t->kept++;
    make_custom(plan, &l, plan->req.bytes, &back);
    outcome a = run_plan(p, plan, &rlt_net_alpha_beta), b = run_plan(p, &back, &rlt_net_alpha_beta);
    t->exact += a.time_ps == b.time_ps;
    expect_same(plan, rlt_plan_format_name(format), a, b, format == RLT_PLAN_JSON || keeps_time(plan, a, b));
    if (format != RLT_PLAN_MSCCL)
        assert_int_equal(a.messages, b.messages);
    if (format == RLT_PLAN_JSON)
        expect_same(plan, "JSON, flow", run_plan(p, plan, &rlt_net_flow), run_plan(p, &back, &rlt_net_flow),
                    true);
    rlt_plan_free(&back);
    rlt_listed_free(&l);
}

static bool make_plan(const place *p, const rlt_algorithm *a, rlt_coll_kind kind, uint64_t bytes,
                      uint32_t lanes, rlt_plan *plan)
{
    rlt_coll_request req = rlt_group_request(&p->group, kind, bytes);
    rlt_error why = {0};
    if (!(a->kinds & 1u << kind))
        return false;
    req.root = kind == RLT_BROADCAST || kind == RLT_REDUCE || kind == RLT_GATHER || kind == RLT_SCATTER;
    req.params.channels = lanes;
    int rc = rlt_plan_create(a, &req, plan, &why);
    if (rc && rc != RLT_EUNSUPPORTED && rc != RLT_ETOPOLOGY)
        fail_msg("%s: %s", why.where, why.what);
    if (!rc && (plan->reduces || plan->multicasts)) { /* needs switches that reduce and multicast */
        rlt_plan_free(plan);
        return false;
    }
    return rc == 0;
}

static const char *const places[] = {"ring:2@50GB/s,500ns", "ring:4@50GB/s,500ns", "switch:6@50GB/s,1us",
                                     "switch:8@50GB/s,1us", "ring:4@200GB/s,500ns*switch:3@50GB/s,500ns"};

static void every_plan(rlt_plan_format format, uint64_t bytes, uint32_t lanes, tally *t)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        place p = {0};
        open_place(places[i], 0, &p);
        for (uint32_t a = 0; rlt_algorithm_at(a); a++) {
            for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
                rlt_plan plan;
                if (kind == RLT_SEND_RECV && p.group.n != 2)
                    continue;
                if (!make_plan(&p, rlt_algorithm_at(a), (rlt_coll_kind)kind, bytes, lanes, &plan))
                    continue;
                check_format(&p, &plan, format, t);
                rlt_plan_free(&plan);
            }
        }
        close_place(&p);
    }
}

/* 1000003 is prime: blocks differ in size. */
static void json_keeps_every_plan(void **state)
{
    (void)state;
    tally t = {0};
    every_plan(RLT_PLAN_JSON, 1 << 20, 0, &t);
    every_plan(RLT_PLAN_JSON, 1000003, 0, &t);
    every_plan(RLT_PLAN_JSON, 1000003, 3, &t);
    assert_int_equal(t.kept, t.tried);
    assert_true(t.kept > 200);
}

static void goal_keeps_the_time(void **state)
{
    (void)state;
    tally t = {0};
    every_plan(RLT_PLAN_GOAL, 3 << 20, 0, &t);
    every_plan(RLT_PLAN_GOAL, 1000003, 0, &t);
    every_plan(RLT_PLAN_GOAL, 3 << 20, 2, &t);
    assert_int_equal(t.kept, t.tried);
}

static void msccl_keeps_the_time(void **state)
{
    (void)state;
    tally t = {0};
    every_plan(RLT_PLAN_MSCCL, 3 << 20, 0, &t);
    every_plan(RLT_PLAN_MSCCL, 3 << 20, 2, &t);
    assert_true(t.exact > t.kept * 9 / 10);
}

/* From file to file: a plan that was read is written again, and stays the same plan. */
static void formats_become_each_other(void **state)
{
    (void)state;
    static const rlt_plan_format way[] = {RLT_PLAN_MSCCL, RLT_PLAN_JSON, RLT_PLAN_MSCCL, RLT_PLAN_JSON,
                                          RLT_PLAN_GOAL,  RLT_PLAN_JSON, RLT_PLAN_GOAL};
    enum { STEPS = sizeof way / sizeof *way };
    place p = {0};
    rlt_plan plans[STEPS + 1];
    rlt_listed listed[STEPS];
    open_place("switch:8@50GB/s,1us", 0, &p);
    assert_true(make_plan(&p, &rlt_halving_doubling, RLT_ALL_REDUCE, 1 << 20, 1, &plans[0]));
    outcome first = run_plan(&p, &plans[0], &rlt_net_alpha_beta);
    for (int i = 0; i < STEPS; i++) {
        assert_true(turn_around(&plans[i], way[i], &listed[i]));
        assert_string_equal(listed[i].name, "halving_doubling");
        make_custom(&plans[i], &listed[i], 1 << 20, &plans[i + 1]);
        expect_same(&plans[i + 1], "on its way", first, run_plan(&p, &plans[i + 1], &rlt_net_alpha_beta),
                    true);
    }
    for (int i = STEPS; i >= 0; i--) {
        rlt_plan_free(&plans[i]);
        if (i > 0)
            rlt_listed_free(&listed[i - 1]);
    }
    close_place(&p);
}

/* Plans that a format cannot express are refused with a reason. */
static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    place p = {0};
    rlt_plan plan, back;
    rlt_listed l;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    open_place("switch:4@50GB/s,1us", 0, &p);
    assert_true(make_plan(&p, &rlt_ring, RLT_ALL_REDUCE, 1 << 20, 0, &plan));
    assert_true(turn_around(&plan, RLT_PLAN_GOAL, &l));
    make_custom(&plan, &l, 1 << 20, &back);
    assert_int_equal(rlt_plan_write(&back, RLT_PLAN_MSCCL, &text, &length, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "lists only messages"));
    rlt_plan_free(&back);
    rlt_listed_free(&l);
    rlt_plan_free(&plan);
    const uint64_t counts[16] = {0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 0, 9, 1, 2, 3, 0};
    rlt_coll_request req = rlt_group_request(&p.group, RLT_ALL_TO_ALL, 64);
    req.counts = counts;
    assert_int_equal(rlt_plan_create(&rlt_direct, &req, &plan, &err), 0);
    assert_int_equal(rlt_plan_write(&plan, RLT_PLAN_JSON, &text, &length, NULL), RLT_EUNSUPPORTED);
    rlt_plan_free(&plan);
    close_place(&p);
}

/* Schedules of LogGOPSim's own generator: the ring and the doublings take their closed-form times. */
static void schedules_of_others_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *file, *topology;
        rlt_coll_kind kind;
        uint64_t bytes;
        rlt_time time_ps;
    } all[] = {
        /* 2 (n - 1) rounds of a chunk of 2^17 bytes over 25 GB/s and 500 ns */
        {"allreduce_ring_n8_d1048576.goal", "ring:8@50GB/s,500ns", RLT_ALL_REDUCE, 1 << 20,
         14 * ((rlt_time)(1 << 17) * 40 + 500000)},
        /* halves, quarters, ... and back over 50 GB/s and two links of 1 us: 15/16 of the bytes, twice */
        {"allreduce_recdoub_n16_d1048576.goal", "switch:16@50GB/s,1us", RLT_ALL_REDUCE, 1 << 20,
         2 * ((rlt_time)(1 << 20) / 16 * 15 * 20 + 4 * 2000000)},
        /* log2(n) rounds of 8 bytes */
        {"dissemination_n16_d8.goal", "switch:16@50GB/s,1us", RLT_BARRIER, 0, 4 * (8 * 20 + 2000000)},
        /* seven sends after one another, the last of them on its way */
        {"linear_alltoall_n8_d262144.goal", "switch:8@50GB/s,1us", RLT_ALL_TO_ALL, 8 << 18,
         7 * (rlt_time)(1 << 18) * 20 + 2000000},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[200];
        snprintf(path, sizeof path, "../shared/data/goal/%s", all[i].file);
        if (access(path, R_OK) != 0) {
            print_message("no %s: not tested\n", path);
            skip();
        }
        place p = {0};
        rlt_listed l;
        rlt_plan plan;
        rlt_error err = {0};
        rlt_goal_hint hint = {all[i].kind, all[i].bytes};
        if (rlt_plan_load(path, &hint, &l, &err))
            fail_msg("%s: %s", err.where, err.what);
        open_place(all[i].topology, 0, &p);
        rlt_coll_request req = rlt_group_request(&p.group, all[i].kind, all[i].bytes);
        req.listed = &l;
        assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), 0);
        assert_int_equal(run_plan(&p, &plan, &rlt_net_alpha_beta).time_ps, all[i].time_ps);
        rlt_plan_free(&plan);
        close_place(&p);
        rlt_listed_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_keeps_every_plan),          cmocka_unit_test(goal_keeps_the_time),
        cmocka_unit_test(msccl_keeps_the_time),           cmocka_unit_test(formats_become_each_other),
        cmocka_unit_test(what_cannot_be_said_is_refused), cmocka_unit_test(schedules_of_others_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
