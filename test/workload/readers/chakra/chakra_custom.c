/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Custom collectives as Chakra traces, written by hand, and those of ASTRA-sim's examples if they are
 * available. The ring must take the time of a ring.
 */
#include "net/import/import.h"
#include "test/support/support.h"
#include "test/support/traces/chakra.h"

#include "collectives/algorithm.h"
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
#include "sim/text/protowire.h"
#include "workload/readers/chakra/custom.h"
#include "workload/readers/chakra/node.h"

static int load(const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err)
{
    char prefix[256];
    const char *spec = path_of("c", prefix, sizeof prefix);
    *err = (rlt_error){0};
    return rlt_chakra_custom_load(&spec, 1, hint, out, err);
}

static void message_node(file *f, uint64_t id, bool send, uint64_t peer, uint64_t bytes)
{
    head(f, id, send ? "s" : "r", send ? RLT_CHAKRA_SEND : RLT_CHAKRA_RECV);
    number(f, "comm_size", RLT_CHAKRA_INT64, bytes);
    number(f, send ? "comm_dst" : "comm_src", RLT_CHAKRA_INT32, peer);
    number(f, "comm_tag", RLT_CHAKRA_INT32, 0);
}

typedef struct damage {
    uint64_t recv_bytes;
    bool no_recv, collective, bad_dep, circle;
    uint64_t far_dep;
    const char *where, *what;
} damage;

/* Rank 0 sends to rank 1, which adds and sends back. */
static void write_pair(const damage *d, const char *xml)
{
    file f;
    for (uint32_t r = 0; r < 2; r++) {
        begin(&f);
        if (xml && r == 0) { /* the metadata again, with a second attribute: those of rank 0 count */
            rlt_pb_out v = {0}, a = {0};
            f.out.length = 0;
            rlt__pb_put_bytes(&v, RLT_CHAKRA_STRING, xml, strlen(xml));
            rlt__pb_put_bytes(&a, 1, "input_file", 10);
            rlt__pb_put_raw(&a, v.data, v.length);
            rlt__pb_put_bytes(&f.node, 2, a.data, a.length);
            message(&f);
            rlt__pb_out_free(&v);
            rlt__pb_out_free(&a);
        }
        message_node(&f, 0, r == 0, 1 - r, r == 0 ? 4000 : d->recv_bytes);
        if (d->circle && r == 0)
            dep(&f, 2);
        message(&f);
        work(&f, 1, "sum", 7, false);
        dep(&f, d->bad_dep && r == 1 ? 77 : r == 1 ? d->far_dep : 0);
        message(&f);
        if (d->collective && r == 1)
            collective(&f, 2, 0, 4000, NULL);
        else if (!(d->no_recv && r == 0)) {
            message_node(&f, 2, r == 1, 1 - r, 4000);
            dep(&f, 1);
            message(&f);
        }
        end(&f, r == 0 ? "c.0.et" : "c.1.et");
    }
}

static void messages_without_data_are_taken(void **state)
{
    (void)state;
    static const damage sound = {.recv_bytes = 4000};
    rlt_goal_hint hint = {RLT_ALL_REDUCE, 4000};
    rlt_listed l;
    rlt_error err;
    clean();
    write_pair(&sound, NULL);
    assert_int_equal(load(NULL, &l, &err), RLT_EUNSUPPORTED);
    if (load(&hint, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_true(l.untracked);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.bytes, 4000);
    rlt_listed_free(&l);
}

static void damage_is_named(void **state)
{
    (void)state;
    static const damage all[] = {
        {.recv_bytes = 3999, .where = "c: node 0", .what = "receives 3999 bytes, but rank 0 sends 4000"},
        {.recv_bytes = 4000, .no_recv = true, .where = "c: node 2", .what = "no operation receives"},
        {.recv_bytes = 4000, .collective = true, .where = "c.1.et: node 2", .what = "consists of COMM_SEND"},
        {.recv_bytes = 4000, .bad_dep = true, .where = "c.1.et: node 1", .what = "not in the file"},
        {.recv_bytes = 4000,
         .far_dep = UINT32_MAX,
         .where = "c.1.et: node 1",
         .what = "depends on a node that is not in the file"},
        {.recv_bytes = 4000,
         .circle = true,
         .where = "c: node ",
         .what = "this operation requires itself through other operations"},
    };
    rlt_goal_hint hint = {RLT_ALL_REDUCE, 4000};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_listed l;
        rlt_error err;
        clean();
        write_pair(&all[i], NULL);
        assert_true(load(&hint, &l, &err) < 0);
        if (!strstr(err.where, all[i].where) || !strstr(err.what, all[i].what))
            fail_msg("got '%s: %s'", err.where, err.what);
    }
}

#define STEP(s, type)                                                                                        \
    "<step s=\"" s "\" type=\"" type "\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\"/>"
#define PAIR(last)                                                                                           \
    "<algo name=\"pair\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">"                 \
    "<gpu id=\"0\" i_chunks=\"1\"><tb id=\"0\" send=\"1\" recv=\"1\">" STEP("0", "s")                        \
        STEP("1", "r") "</tb></gpu><gpu id=\"1\" i_chunks=\"1\"><tb id=\"0\" send=\"0\" recv=\"0\">" STEP(   \
            "0", "rrc") STEP("1", "s") last "</tb></gpu></algo>"

/* With the XML that they were made from, the data are tracked, and the nodes must agree with that plan. */
static void the_plan_in_the_metadata_counts(void **state)
{
    (void)state;
    static const damage sound = {.recv_bytes = 4000};
    rlt_listed l;
    rlt_error err;
    clean();
    write_pair(&sound, PAIR(""));
    if (load(NULL, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_false(l.untracked);
    assert_int_equal(l.kind, RLT_ALL_REDUCE);
    rlt_listed_free(&l);
    write_pair(&sound, "<algo name=\"p\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"broadcast\" inplace=\"1\">"
                       "<gpu id=\"0\" i_chunks=\"1\"><tb id=\"0\" send=\"1\">" STEP(
                           "0", "s") "</tb></gpu>"
                                     "<gpu id=\"1\" i_chunks=\"1\"><tb id=\"0\" recv=\"0\">" STEP(
                                         "0", "r") "</tb></gpu></algo>");
    assert_int_equal(load(NULL, &l, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "more messages than the plan"));
    write_pair(&sound, PAIR("<step"));
    assert_int_equal(load(NULL, &l, &err), RLT_EMALFORMED);
    assert_non_null(strstr(err.where, "(metadata input_file):1:"));
}

#define ASTRA "../shared/data/chakra/astra_custom_collectives/custom_ring_allreduce_8npus_1MB"

/* 2 (n-1) rounds of a chunk over a link of 25 GB/s (a rank's 50 GB/s in two directions) and 500 ns. */
static void the_ring_takes_the_time_of_a_ring(void **state)
{
    (void)state;
    const char *spec = ASTRA;
    rlt_error err = {0};
    rlt_listed l;
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_plan plan;
    if (access(ASTRA, R_OK) != 0) {
        print_message("no " ASTRA ": not tested\n");
        skip();
    }
    if (rlt_chakra_custom_load(&spec, 1, NULL, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_false(l.untracked);
    assert_int_equal(rlt_topology_load("ring:8@50GB/s,500ns", NULL, &t, &err), 0);
    assert_int_equal(rlt_placement_identity(t, 8, &place, &err), 0);
    rlt_coll_request req = {.kind = RLT_ALL_REDUCE, .n = 8, .bytes = 1 << 20, .listed = &l};
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), 0);
    const rlt_net_model *models[] = {&rlt_net_alpha_beta, &rlt_net_flow};
    for (int i = 0; i < 2; i++) {
        rlt_router *router = NULL;
        rlt_sim *sim = NULL;
        rlt_exec *x = NULL;
        rlt_exec_client client = {0};
        assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, &err), 0);
        assert_int_equal(rlt_sim_create(&sim, &err), 0);
        rlt_net_config cfg = {.sim = sim,
                              .router = router,
                              .endpoint = *rlt_topology_endpoint(t),
                              .bandwidth_scale = 1,
                              .latency_scale = 1};
        assert_int_equal(rlt_exec_create(models[i], &cfg, &x, &err), 0);
        rlt_exec_arrive_all(x, rlt_exec_add(x, &plan, &client, 0, 0));
        assert_int_equal(rlt_sim_run(sim, RLT_TIME_MAX, &err), 0);
        assert_int_equal(rlt_sim_now(sim), 14 * ((rlt_time)(1 << 17) * 40 + 500000));
        rlt_exec_free(x);
        rlt_sim_free(sim);
        rlt_router_free(router);
    }
    rlt_plan_free(&plan);
    rlt_placement_free(&place);
    rlt_topology_free(t);
    rlt_listed_free(&l);
}

static int open_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int close_directory(void **state)
{
    (void)state;
    clean();
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_without_data_are_taken),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(the_plan_in_the_metadata_counts),
        cmocka_unit_test(the_ring_takes_the_time_of_a_ring),
    };
    return cmocka_run_group_tests(tests, open_directory, close_directory);
}
