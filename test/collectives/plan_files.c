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

/* Broadcast of a block from rank 0 to rank 1, in JSON and in GOAL. */
static const char json[] = "{\"format\": \"ringlet-plan\", \"version\": 1, \"name\": \"x\",\n"
                           " \"collective\": \"broadcast\", \"ranks\": 2, \"lanes\": 1,\n"
                           " \"blocks\": 2, \"blocks_of\": \"all\", \"buffers\": 1, \"result\": 0,\n"
                           " \"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                           "  {\"to\": 1, \"step\": 0, \"send\": [0, 2]}]},\n"
                           "  {\"rank\": 1, \"lane\": 0, \"steps\": [\n"
                           "  {\"receives\": 1, \"from\": 0}]}]}\n";
static const char goal[] = "/* by\n hand */\n"
                           "num_ranks 2\n"
                           "rank 0 {\n"
                           "a: calc 0\n"
                           "b: send 64b to 1 tag 5 // comment\n"
                           "b requires a\n"
                           "}\n"
                           "rank 1 {\n"
                           "c: recv 64b from 0 tag 5 cpu 0\n"
                           "}\n";

/* At the bounds: the most bytes, the last root, the largest tag and places within a node. */
static const char described[] = "/* ringlet plan: x collective broadcast root 1 bytes 281474976710656 */\n"
                                "num_ranks 2\n"
                                "rank 0 {\n"
                                "l0: recv 281474976710656b from 1 tag 4294967294 cpu 65535 nic 65535\n"
                                "}\n"
                                "rank 1 { l0: send 281474976710656b to 0 tag 4294967294 }\n";

typedef struct damage {
    const char *base, *from, *to;
    unsigned line;
    const char *says;
} damage;

static void damage_is_named(void **state)
{
    (void)state;
    static const damage all[] = {
        {json, "\"version\": 1", "\"version\": 2", 1, "version 2"},
        {json, "ringlet-plan", "ringlet-plane", 1, "expected \"ringlet-plan\""},
        {json, "broadcast", "broadside", 2, "broadside"},
        {json, "\"ranks\": 2", "\"ranks\": 0", 1, "not a plan"},
        {json, "\"ranks\": 2", "\"ranks\": 99999999999", 2, "99999999999"},
        {json, "\"blocks\": 2", "\"blocks\": -2", 3, "-2"},
        {json, "\"all\"", "\"every\"", 3, "expected \"lane\""},
        {json, "\"to\"", "\"two\"", 5, "two"},
        {json, "\"to\": 1", "\"to\": 2", 5, "2"},
        {json, "\"to\": 1", "\"to\": 0", 5, "sends to member 0"},
        {json, "\"step\": 0", "\"step\": 1", 5, "which has 1"},
        {json, "\"send\": [0, 2]", "\"copy\": true", 5, "is missing"},
        {json, "[0, 2]", "[0, 2, 1]", 5, "1, 2 or 4"},
        {json, "[0, 2]", "[0, 4294967294, 1, 4294967294]", 5, "blocks"},
        {json, "[0, 2]", "[0, 1]", 7, "block 1 of the result is empty"},
        {json, "\"receives\": 1, ", "", 7, "waits for 0 messages, but 1"},
        {json, "\"from\": 0", "\"from\": 1", 7, "waits for member 1, but gets a message from member 0"},
        {json, "\"from\": 0", "\"after\": [0, 0]", 7, "deadlock"},
        {json, "\"rank\": 1", "\"rank\": 0", 6, "given twice"},
        {json, "]}]}\n", "]}]", 7, ""},
        {json, "\"ranks\": 2", "\"ranks\": 65537", 2, "from 0 to 65536, got 65537"},
        {json, "\"lanes\": 1", "\"lanes\": 0", 1, "0 lanes"},
        {json, "\"blocks\": 2", "\"blocks\": 0", 1, "0 blocks"},
        {json, "\"buffers\": 1", "\"buffers\": 256", 3, "from 0 to 255, got 256"},
        {json, "\"result\": 0", "\"result\": 1", 1, "result 1 of 1 buffers"},
        {json, "\"lanes\": 1", "\"lanes\": 1, \"root\": 2", 1, "root 2"},
        {json, "\"all\"", "\"all\", \"bytes\": 5", 3, "only a plan"},
        {json, "\"all\"", "\"untracked\"", 1, "bytes"},
        {json, "\"from\": 0", "\"from\": 2", 7, "from 0 to 1, got 2"},
        {json, "\"receives\": 1", "\"receives\": 65536", 7, "from 0 to 65535, got 65536"},
        {json, "\"from\": 0", "\"after\": [1, 0]", 7, "expected lane 0 to 0, got 1"},
        {json, "\"from\": 0", "\"after\": [0]", 7, "a list of 2 to 2 numbers"},
        {json, "\"from\": 0", "\"after\": 0", 7, "a list of 2 to 2 numbers"},
        {json, "[0, 2]", "[0, 2], \"verb\": \"move\"", 5, "got \"move\""},
        {json, "[0, 2]", "[0, 2], \"lane\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"buffer\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"into\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"land\": [0]", 5, "sends 1 x 2 blocks, but they land as 1 x 1"},
        {json, "[0, 2]", "[2, 2]", 5, "1 x 2 blocks from block 2 on do not fit in a lane of 2 blocks"},
        {json, "[0, 2]", "[0, 3]", 5, "1 x 3 blocks from block 0"},
        {json, "[0, 2]", "[0, 0]", 5, "1 x 0 blocks from block 0"},
        {json, "[0, 2]", "[0, 1, 1, 3]", 5, "3 x 1 blocks from block 0"},
        {json, "[0, 2]", "[]", 5, "a list of 1 to 4 numbers"},
        {json, "[0, 2]", "[0, 1, 1, 2, 1]", 5, "a list of 1 to 4 numbers"},
        {json, "\"step\": 0, ", "", 5, "step"},
        {json, "{\"receives\": 1, \"from\": 0}", "7", 7, "expected a step as an object"},
        {json, "\"rank\": 1", "\"rank\": 2", 6, "from 0 to 1, got 2"},
        {json, "1, \"lane\": 0", "1, \"lane\": 1", 6, "from 0 to 0, got 1"},
        {json, "[{\"rank\": 0", "[7, {\"rank\": 0", 4, "expected an object with rank"},
        {goal, "num_ranks 2", "num_ranks 0", 3, "num_ranks 0"},
        {goal, "num_ranks 2", "num_ranks 2000000", 3, "above"},
        {goal, "calc 0", "calc 5", 5, "expected calc 0"},
        {goal, "send 64b", "sent 64b", 6, "expected send, recv or calc"},
        {goal, "send 64b", "send 63b", 10, "receives 64 bytes, but rank 0 sends 63 on line 6"},
        {goal, "send 64b", "send 99999999999999999999b", 6, "above"},
        {goal, "to 1", "to 2", 6, "above 1"},
        {goal, "to 1", "to 0", 6, "itself"},
        {goal, "tag 5 //", "tag 6 //", 6, "no operation receives"},
        {goal, "b requires a", "b requires d", 7, "no operation has the label 'd'"},
        {goal, "b requires a", "a requires b\nb requires a", 6, "requires itself"},
        {goal, "b requires a", "b irequires b", 6, "requires itself"},
        {goal, "rank 1 {", "rank 0 {", 9, "given twice"},
        {goal, "c: recv 64b from 0 tag 5 cpu 0\n", "", 6, "no operation receives"},
        {goal, "c: recv", "c: calc 0 c: recv", 10, "given twice"},
        {goal, "hand */", "hand", 1, "without an end"},
        {goal, "cpu 0\n}\n", "cpu 0\n", 11, "the end"},
        {goal, "tag 5 //", "tag 4294967295 //", 6, "above 4294967294"},
        {goal, "cpu 0", "cpu 65536", 10, "above 65535"},
        {goal, "cpu 0", "nic 65536", 10, "above 65535"},
        {goal, "send 64b", "send 281474976710657b", 6, "above 281474976710656"},
        {goal, "from 0", "to 0", 10, "expected 'from', got 'to'"},
        {goal, "to 1", "from 1", 6, "expected 'to', got 'from'"},
        {goal, "from 0", "from 1", 10, "receives from itself"},
        {goal, "b requires a", "b needs a", 7, "expected ':' or 'requires'"},
        {goal, "num_ranks", "ranks", 3, "expected 'num_ranks', got 'ranks'"},
        {goal, "rank 1 {", "rank 2 {", 9, "above 1"},
        {described, "656", "657", 1, "281474976710657 bytes are too many"},
        {described, "broadcast", "broadside", 1, "broadside"},
        {described, "bytes", "size", 1, "expected 'ringlet plan: NAME"},
        {described, "root 1", "root 2", 1, "root 2 is not a rank; expected 0 to 1"},
    };
    rlt_goal_hint hint = {RLT_SEND_RECV, 64};
    rlt_listed l;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const damage *d = &all[i];
        char text[2048], where[32];
        rlt_error err = {0};
        if (rlt_plan_parse("f", d->base, strlen(d->base), &hint, &l, &err))
            fail_msg("%s: %s", err.where, err.what);
        rlt_listed_free(&l);
        const char *at = strstr(d->base, d->from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - d->base), d->base, d->to, at + strlen(d->from));
        snprintf(where, sizeof where, "f:%u", d->line);
        if (rlt_plan_parse("f", text, strlen(text), &hint, &l, &err) == 0)
            fail_msg("'%s' for '%s' is not refused", d->to, d->from);
        size_t n = strlen(where);
        if (strncmp(err.where, where, n) != 0 || (err.where[n] >= '0' && err.where[n] <= '9') ||
            !strstr(err.what, d->says) || strchr(err.what, '\n'))
            fail_msg("'%s' for '%s': %s: %s", d->to, d->from, err.where, err.what);
    }
}

/* Two blocks apart, twice; the second message lands in the other buffer and is copied from there. */
static const char canonical[] = "{\n  \"format\": \"ringlet-plan\",\n  \"version\": 1,\n  \"name\": \"x\",\n"
                                "  \"collective\": \"broadcast\",\n  \"ranks\": 2,\n  \"root\": 0,\n"
                                "  \"lanes\": 1,\n  \"blocks\": 4,\n  \"blocks_of\": \"all\",\n"
                                "  \"buffers\": 2,\n  \"result\": 0,\n  \"programs\": [\n"
                                "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                                "      {\"to\": 1, \"step\": 0, \"send\": [0, 1, 2, 2]},\n"
                                "      {\"to\": 1, \"step\": 1, \"send\": [1, 1, 2, 2], \"land\": [0, 2], "
                                "\"into\": 1}]},\n"
                                "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n"
                                "      {\"receives\": 1, \"from\": 0},\n"
                                "      {\"receives\": 1, \"from\": 0},\n"
                                "      {\"send\": [0, 2], \"land\": [1, 1, 2, 2], \"buffer\": 1, "
                                "\"copy\": true}]}]\n}\n";

/* The plan of a text on two members. */
static void read_plan(const place *p, const char *from, rlt_listed *l, rlt_plan *plan)
{
    rlt_error err = {0};
    rlt_coll_request req = rlt_group_request(&p->group, RLT_BROADCAST, 1 << 20);
    req.listed = l;
    if (rlt_plan_parse("f", from, strlen(from), NULL, l, &err) < 0 ||
        rlt_plan_create(&rlt_custom, &req, plan, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
}

/* A text in the form that the writer gives comes back byte for byte: no key is said without need. */
static void json_says_no_more_than_needed(void **state)
{
    (void)state;
    place p = {0};
    rlt_listed l;
    rlt_plan plan;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    open_place("switch:2@50GB/s,1us", 0, &p);
    read_plan(&p, canonical, &l, &plan);
    assert_int_equal(rlt_plan_write(&plan, RLT_PLAN_JSON, &text, &length, &err), 0);
    assert_string_equal(text, canonical);
    assert_int_equal(length, strlen(canonical));
    free(text);
    rlt_plan_free(&plan);
    rlt_listed_free(&l);
    close_place(&p);
}

/* The first message is for the second step. A connection of MSCCL keeps the order of its messages. */
static void msccl_refuses_messages_that_overtake(void **state)
{
    (void)state;
    static const char crossed[] =
        "{\"format\": \"ringlet-plan\", \"version\": 1, \"name\": \"x\", \"collective\": \"broadcast\", "
        "\"ranks\": 2, \"lanes\": 1, \"blocks\": 2, \"blocks_of\": \"all\", \"buffers\": 1, \"result\": 0, "
        "\"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [{\"to\": 1, \"step\": 1, \"send\": [0]}, "
        "{\"to\": 1, \"step\": 0, \"send\": [1]}]}, {\"rank\": 1, \"lane\": 0, \"steps\": ["
        "{\"receives\": 1, \"from\": 0}, {\"receives\": 1, \"from\": 0}]}]}";
    place p = {0};
    rlt_listed l;
    rlt_plan plan;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    open_place("switch:2@50GB/s,1us", 0, &p);
    read_plan(&p, crossed, &l, &plan);
    assert_int_equal(rlt_plan_write(&plan, RLT_PLAN_MSCCL, &text, &length, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "member 1 does not receive in the order in which member 0 sends"));
    rlt_plan_free(&plan);
    rlt_listed_free(&l);
    close_place(&p);
}

/* Any bytes are either refused with a place, or are a plan that passes. No leak, no overrun. */
static void mutations_do_no_harm(void **state)
{
    (void)state;
    static const char *const words[] = {"-1", "0", "4294967296", "{", "}", "\"", "]", "requires", ":", "b: "};
    rlt_goal_hint hint = {RLT_SEND_RECV, 64};
    uint64_t seed = 7;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        const char *from = i % 2 ? json : goal;
        char text[1024];
        size_t n = strlen(from);
        memcpy(text, from, n + 1);
        for (uint32_t k = 0; k < 1 + i % 4; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % n, m;
            const char *w = words[(seed >> 20) % (sizeof words / sizeof *words)];
            m = strlen(w);
            if (seed >> 40 & 1) {
                memmove(text + at, text + at + 1, n - at - 1);
                n--;
            } else if (at + m < n)
                memcpy(text + at, w, m);
        }
        rlt_listed l;
        rlt_error err = {0};
        if (rlt_plan_parse("plan", text, n, &hint, &l, &err)) {
            refused++;
            assert_memory_equal(err.where, "plan", 4);
            assert_null(strchr(err.what, '\n'));
        } else
            rlt_listed_free(&l);
    }
    assert_true(refused > 2000);
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
        cmocka_unit_test(json_keeps_every_plan),
        cmocka_unit_test(goal_keeps_the_time),
        cmocka_unit_test(msccl_keeps_the_time),
        cmocka_unit_test(formats_become_each_other),
        cmocka_unit_test(what_cannot_be_said_is_refused),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(json_says_no_more_than_needed),
        cmocka_unit_test(msccl_refuses_messages_that_overtake),
        cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(schedules_of_others_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
