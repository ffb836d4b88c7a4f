/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k: in readers of topologies, their analysis and export, in folds and trees,
 * and in runs of each network model. The task has the same result, or says that there is no memory; and it gives
 * back all that it took. New memory is filled, so that who reads what was never written is seen. Run from the root.
 */
#include "test/support/failing.h"

#include <malloc.h>
#include <stdio.h>

#include "net/aggregation/tree.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/network.h"
#include "net/node_ports.h"
#include "net/packet/packet.h"
#include "net/packet/parts.h"
#include "net/route.h"
#include "net/topology/cut.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/windows.h"

static uint64_t mix(uint64_t so_far, uint64_t more)
{
    return rlt_hash_bytes(&more, sizeof more, so_far);
}

/* ---- readers, analysis and writers */

/* Takes a text that no name or compact form can be as that of a file. */
static int load(const char *spec, rlt_topology **t, rlt_error *err)
{
    return strchr("\n<[", spec[0]) ? rlt_topology_read("f", spec, strlen(spec), NULL, t, err)
                                   : rlt_topology_load(spec, "topologies", t, err);
}

static int read_one(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_topology *t = NULL;
    int rc = load(what, &t, err);
    *result = rc ? 0 : rlt_topology_hash(t);
    rlt_topology_free(t);
    return rc;
}

static int write_one(const rlt_topology *t, uint64_t *result, rlt_error *err)
{
    static const char *const formats[] = {"json", "graphml", "dot"};
    int rc = 0;
    for (uint32_t i = 0; i < 4 && !rc; i++) {
        char *text = NULL;
        rc = i < 3 ? rlt_topology_export(t, formats[i], &text, err)
                   : rlt_topology_to_infragraph(t, &text, err);
        *result = rc ? 0 : mix(*result, strlen(text));
        free(text);
    }
    return rc;
}

static int analyse_and_write(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_topology *t = NULL;
    rlt_topology_facts facts;
    rlt_cut cut;
    const uint32_t members[] = {0, 1};
    const rlt_cut_question q = {.accelerators = members, .n = 2, .source = RLT_NONE, .sink = RLT_NONE};
    uint32_t *links = NULL, n = 0;
    char name[100];
    int rc = load(what, &t, err);
    if (!rc)
        rc = rlt_topology_analyse(t, &facts, err);
    if (!rc)
        rc = rlt_cut_find(t, &q, &cut, err);
    *result = rc ? 0 : mix(facts.bisection_Bps, cut.bw_Bps);
    if (!rc)
        rc = write_one(t, result, err);
    if (!rc)
        rc = rlt_topology_find_links(t, rlt_topology_node_name(t, 0, name, sizeof name), &links, &n, err);
    free(links);
    if (!rc)
        rc = rlt_topology_scale_links(t, "0", 0.5, err);
    *result = rc ? 0 : mix(*result, rlt_topology_hash(t) + n);
    rlt_topology_free(t);
    return rc;
}

#define GRAPH                                                                                                \
    "{\"nodes\": [{\"id\": \"a\", \"kind\": \"accelerator\"}, {\"id\": \"b\", \"kind\": \"accelerator\"},"   \
    " {\"id\": \"s\", \"kind\": \"switch\", \"in_network\": \"reduce+multicast\"}], \"rings\": [[0, 1]],"    \
    " \"links\": [{\"src\": \"a\", \"dst\": \"s\", \"bandwidth\": \"1GB/s\", \"latency\": \"1us\"},"         \
    " {\"src\": \"b\", \"dst\": \"s\", \"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}],"                    \
    " \"routes\": [{\"src\": \"a\", \"dst\": \"b\", \"via\": [\"s\"]}]}"

static void readers(void **state)
{
    static const char *const specs[] = {
        "ring:3@200GB/s,500ns*switch:2@50GB/s,500ns,nics=1",
        "torus:2x2@200GB/s,500ns*dragonfly:4@50GB/s,500ns,groups=2,routers=2",
        "fat-tree:4@50GB/s,500ns,hosts_per_leaf=2,levels=2",
        "v100-sxm2-4*switch:2@50GB/s,500ns,nics=2",
        GRAPH,
        "<system version=\"1\"><cpu numaid=\"0\" affinity=\"ff\" arch=\"x86_64\" vendor=\"GenuineIntel\""
        " familyid=\"6\" modelid=\"85\"><pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\""
        " link_width=\"16\"><gpu dev=\"0\" sm=\"70\" rank=\"0\"/></pci></cpu></system>",
        ("[{\"gpu\": 0, \"links\": [{\"gpu\": 0, \"link_type\": \"SELF\"}, {\"gpu\": 1, \"link_type\": \"PCIE\"}]},"
         " {\"gpu\": 1, \"links\": [{\"gpu\": 0, \"link_type\": \"PCIE\"}, {\"gpu\": 1, \"link_type\": \"SELF\"}]}]"),
        "\ndevices:\n- name: d\n  components: [{name: x, count: 2, choice: xpu}, {name: c, count: 1, choice: cpu}]\n"
        "  links: [{name: l, physical: {bandwidth: {gigabytes_per_second: 1}, latency: {ns: 1}}}]\n"
        "  edges: [{ep1: {component: x}, ep2: {component: c}, scheme: many2many, link: l}]\n"
        "instances: [{name: i, device: d, count: 1}]\n",
        "test/data/astra/net/Ring4xSwitch4_bw200.0-50.0_lat500.0-500.0.yml",
    };
    unsigned long all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        all += test_each_allocation(specs[i], read_one, specs[i], true);
    assert_true(!TEST_COUNTED || all > 500);
}

static void writers(void **state)
{
    (void)state;
    test_each_allocation("graph", analyse_and_write, GRAPH, true);
    test_each_allocation("product", analyse_and_write, "ring:2@200GB/s,500ns*switch:2@50GB/s,500ns", true);
}

/* ---- traffic */

enum { MOST = 4 };
typedef struct traffic {
    const rlt_topology *t;
    const rlt_net_model *model;
    const char *settings[MOST]; /* of packets: name, value, ... */
    const char *fails;          /* a link that fails at 2 us, and comes back at 30 us; NULL: none */
    rlt_injection injection;
    rlt_time bin_ps;
    rlt_routing routing;
    bool orderly, trees, local;
    uint32_t *links, n; /* those of `fails` */
} traffic;

typedef struct world {
    const traffic *how;
    rlt_net *net;
    uint64_t heard;
} world;

static void injected(void *ctx, uint64_t tx)
{
    (void)ctx, (void)tx;
}

static void delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    world *w = ctx;
    w->heard += tx * 7 + rx;
}

static void on_link(void *ctx, uint64_t up)
{
    world *w = ctx;
    rlt_net_link_event(w->net, w->how->links, w->how->n, up ? 1 : 0);
}

static void post_all(world *w, uint32_t ranks)
{
    for (uint32_t i = 0; i < 3 * ranks; i++) {
        rlt_message m = {.src = i % ranks,
                         .dst = (i + 1 + i / ranks) % ranks,
                         .bytes = 30000 + 7 * i,
                         .route_key = rlt_route_key(i / ranks, 0),
                         .tx = i};
        (void)rlt_net_send(w->net, &m);
    }
    rlt_tree_message m = {.n = ranks, .bytes = 5000, .tx = 100, .all = false};
    if (w->how->trees) {
        (void)w->net->model->reduce_to(w->net, &m);
        (void)w->net->model->multicast(w->net, &m);
    }
}

static int run(world *w, rlt_router *router, rlt_sim *sim, uint64_t *result, rlt_error *err)
{
    rlt_packet_settings packet = rlt_packet_default();
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = rlt_endpoint_default(),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .packet = &packet,
                          .series_bin_ps = w->how->bin_ps,
                          .changes = w->how->fails ? RLT_LINKS_FAIL : RLT_LINKS_STAY,
                          .orderly = w->how->orderly,
                          .local = w->how->local,
                          .client = {w, injected, delivered}};
    cfg.endpoint.injection = w->how->injection;
    for (int i = 0; i < MOST && w->how->settings[i]; i += 2)
        if (rlt_packet_set(&packet, w->how->settings[i], w->how->settings[i + 1], err))
            return RLT_EUSAGE;
    int rc = rlt_packet_check(&packet, err);
    if (!rc)
        rc = w->how->model->create(&cfg, &w->net, err);
    int handler = rc ? -1 : rlt_sim_handler(sim, on_link, w);
    for (uint32_t up = 0; up < 2 && w->how->fails && handler >= 0; up++)
        rlt_sim_post(sim, up ? 30000000 : 2000000, RLT_COMPLETE, handler, up);
    if (rc)
        return rc;
    post_all(w, rlt_router_placement(router)->n);
    rc = rlt_sim_run(sim, RLT_TIME_MAX, err);
    if (!rc)
        rlt_net_settle(w->net);
    *result = rc ? 0 : mix(mix(w->heard, (uint64_t)rlt_sim_now(sim)), w->net->bytes_delivered);
    return rc;
}

static int move(const void *what, uint64_t *result, rlt_error *err)
{
    world w = {.how = what};
    rlt_placement p = {0};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    int rc = rlt_placement_identity(w.how->t, rlt_topology_accelerators(w.how->t), &p, err);
    if (!rc)
        rc = rlt_router_create(w.how->t, &p, w.how->routing, &router, err);
    if (!rc)
        rc = rlt_sim_create(&sim, err);
    if (!rc)
        rc = run(&w, router, sim, result, err);
    rlt_net_free(w.net);
    rlt_sim_free(sim);
    rlt_router_free(router);
    rlt_placement_free(&p);
    return rc;
}

static const char pods[] = "fat-tree:4@5GB/s,500ns,hosts_per_leaf=2,levels=2,in_network=reduce+multicast";
static const char rails[] = "ring:2@20GB/s,500ns*switch:2@5GB/s,500ns";

static void models(void **state)
{
    static const traffic rows[] = {
        {.model = &rlt_net_alpha_beta, .trees = true, .bin_ps = 1000000},
        {.model = &rlt_net_alpha_beta, .orderly = true, .injection = RLT_INJECT_BLOCKING},
        {.model = &rlt_net_alpha_beta, .fails = "0", .routing = RLT_ROUTE_SPRAY},
        {.model = &rlt_net_flow, .trees = true, .bin_ps = 1000000},
        {.model = &rlt_net_flow, .injection = RLT_INJECT_BLOCKING, .routing = RLT_ROUTE_ECMP},
        {.model = &rlt_net_flow, .fails = "acc1", .trees = true},
        {.model = &rlt_net_packet, .bin_ps = 1000000},
        {.model = &rlt_net_packet, .local = true},
        {.model = &rlt_net_packet, .settings = {"loss", "0.02", "transport", "selective"}},
        {.model = &rlt_net_packet, .settings = {"loss", "0.02", "rto", "50us"}},
        {.model = &rlt_net_packet, .settings = {"congestion", "dcqcn", "ecn_min", "5kB"}},
        {.model = &rlt_net_packet, .settings = {"pause", "pfc", "pause_at", "8kB"}},
        {.model = &rlt_net_packet, .settings = {"pause", "credit", "buffer", "20kB"}},
        {.model = &rlt_net_packet, .fails = "acc1", .settings = {"rto", "20us"}},
    };
    unsigned long all = 0;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        traffic one = rows[i / 2];
        rlt_topology *t = NULL;
        char name[40];
        assert_int_equal(rlt_topology_load(i % 2 ? pods : rails, NULL, &t, NULL), 0);
        one.t = t;
        one.trees = one.trees && i % 2;
        if (one.fails)
            assert_int_equal(rlt_topology_find_links(t, one.fails, &one.links, &one.n, NULL), 0);
        snprintf(name, sizeof name, "row %zu", i);
        all += test_each_allocation(name, move, &one, false);
        free(one.links);
        rlt_topology_free(t);
    }
    assert_true(!TEST_COUNTED || all > 500);
}

/* ---- folds, trees and parts */

static int fold(const void *what, uint64_t *result, rlt_error *err)
{
    const rlt_topology *t = what;
    const uint32_t sizes[] = {4, 4}, blocks[] = {0, 1}, used[] = {0, 5};
    rlt_net_fold f;
    int rc = 0;
    for (int i = 0; i < 4 && !rc; i++) {
        f = (rlt_net_fold){0};
        rc = i == 0   ? rlt_net_fold_translations(t, sizes, 2, &f, err)
             : i == 1 ? rlt_net_fold_turns(t, &f, err)
             : i == 2 ? rlt_net_fold_blocks(t, 1, 0, blocks, 2, &f, err)
                      : rlt_net_fold_used(t, used, 2, &f, err);
        *result = mix(*result * (i > 0), rc ? 0 : f.n_classes);
        rlt_net_fold_free(&f);
    }
    return rc;
}

static int tree(const void *what, uint64_t *result, rlt_error *err)
{
    const uint32_t members[] = {0, 1, 2, 3};
    rlt_topology *t = NULL;
    int rc = rlt_topology_load(what, NULL, &t, err);
    if (!rc)
        rc = rlt_reduction_prime(t, err);
    rlt_reduction_request q = {.topology = t, .n = 4, .nodes = members, .root = RLT_NONE, .width = 2};
    rlt_reduction *r = NULL;
    if (!rc)
        rc = rlt_reduction_create(&q, &r, err);
    *result = rc ? 0 : mix(r->n_links, r->n_edges);
    rlt_reduction_free(r);
    rlt_topology_free(t);
    return rc;
}

/* Whose memory is aligned, which is not counted: made once. */
static rlt_windows *windows;

/* Opens the network of each part, and closes them. */
static int open_parts(rlt_net_config cfg, const rlt_packet_parts *parts, rlt_error *err)
{
    rlt_sim *sims[2] = {NULL};
    rlt_net *nets[2] = {NULL};
    rlt_net_part places[2];
    int rc = 0;
    for (uint32_t i = 0; i < 2 && !rc; i++) {
        places[i] = (rlt_net_part){parts, windows, parts->of_rank, i};
        rc = rlt_sim_create(&sims[i], err);
        cfg.sim = sims[i];
        cfg.part = &places[i];
        rc = rc ? rc : rlt_net_packet.create(&cfg, &nets[i], err);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (nets[i])
            rlt_net_free(nets[i]);
        rlt_sim_free(sims[i]);
    }
    return rc;
}

static int deal(const void *what, uint64_t *result, rlt_error *err)
{
    const rlt_topology *t = what;
    rlt_placement p = {0};
    rlt_router *router = NULL;
    rlt_packet_parts parts = {0};
    int rc = rlt_placement_identity(t, rlt_topology_accelerators(t), &p, err);
    if (!rc)
        rc = rlt_router_create(t, &p, RLT_ROUTE_DMODK, &router, err);
    rlt_net_config cfg = {
        .router = router, .endpoint = rlt_endpoint_default(), .bandwidth_scale = 1, .latency_scale = 1};
    if (!rc)
        rc = rlt_packet_deal(&cfg, 2, &parts, err);
    if (!rc)
        rc = open_parts(cfg, &parts, err);
    *result = rc ? 0 : mix(parts.n, (uint64_t)parts.ahead);
    rlt_packet_parts_free(&parts);
    rlt_router_free(router);
    rlt_placement_free(&p);
    return rc;
}

static int machines(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_machines found = {0};
    int rc = rlt_machines_find(what, &found, err);
    *result = rc ? 0 : mix(found.nodes, found.nics);
    return rc;
}

static void plans(void **state)
{
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_load("v100-sxm2-4", "topologies", &t, NULL), 0);
    test_each_allocation("machines", machines, t, false);
    rlt_topology_free(t);
    assert_int_equal(rlt_topology_load("switch:4@20GB/s,500ns*switch:4@5GB/s,500ns", NULL, &t, NULL), 0);
    test_each_allocation("fold", fold, t, false);
    assert_int_equal(rlt_windows_create(2, 500000, &windows, NULL), 0);
    test_each_allocation("deal", deal, t, false);
    rlt_windows_free(windows);
    rlt_topology_free(t);
    test_each_allocation("tree", tree, pods, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers), cmocka_unit_test(writers),
                                       cmocka_unit_test(models), cmocka_unit_test(plans)};
#ifdef M_PERTURB
    mallopt(M_PERTURB, 165);
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
