/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The network that a synthesis works on, against a plain one: every pair of members is asked for its route, and
 * reachability is closed step by step. Groups in any order, on products and on random graphs with links one way.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/synthesis/tacos.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MEMBERS = 16, EDGES = MEMBERS * (MEMBERS - 1), HOPS = 12, LINKS = 400, HOSTS = 6, SWITCHES = 3 };

typedef struct edge {
    uint32_t src, dst, hops, link[HOPS]; /* links of the topology */
    uint64_t bw_Bps;
    rlt_time latency_ps;
} edge;

typedef struct model {
    uint32_t n, n_edges;
    edge edges[EDGES];
    bool again; /* all pairs were joined, for want of a way */
} model;

typedef struct world {
    rlt_topology *t;
    rlt_placement where;
    rlt_router *router;
} world;

static bool is_member(const rlt_coll_request *req, uint32_t accelerator)
{
    for (uint32_t m = 0; m < req->n; m++)
        if (rlt_placed(req->placement, rlt_member_rank(req, m)) == accelerator)
            return true;
    return false;
}

/* Finds the route between two members. Returns false if it passes a third one. */
static bool find_edge(const world *w, const rlt_coll_request *req, uint32_t src, uint32_t dst, edge *e)
{
    rlt_path path;
    bool free_way = true;
    assert_int_equal(rlt_route(w->router, rlt_member_rank(req, src), rlt_member_rank(req, dst), 0, &path), 0);
    assert_in_range(path.n, 1, HOPS);
    *e = (edge){.src = src, .dst = dst, .hops = path.n, .bw_Bps = UINT64_MAX};
    for (uint32_t i = 0; i < path.n; i++) {
        rlt_link l = rlt_topology_link(w->t, path.links[i]);
        e->link[i] = path.links[i];
        e->bw_Bps = l.bw_Bps < e->bw_Bps ? l.bw_Bps : e->bw_Bps;
        e->latency_ps += l.latency_ps;
        free_way = free_way && (i + 1 == path.n || !is_member(req, l.dst));
    }
    return free_way;
}

/* Whether a member has an edge that leaves by a port towards switches. */
static bool port_is_taken(const model *m, uint32_t member, uint32_t link)
{
    for (uint32_t i = 0; i < m->n_edges; i++)
        if (m->edges[i].src == member && m->edges[i].hops > 1 && m->edges[i].link[0] == link)
            return true;
    return false;
}

static void join(model *m, const world *w, const rlt_coll_request *req, bool all)
{
    m->n_edges = 0;
    for (uint32_t i = 0; i < req->n; i++)
        for (uint32_t k = 1; k < req->n; k++) {
            edge e;
            if (find_edge(w, req, i, (i + k) % req->n, &e) &&
                (all || e.hops == 1 || !port_is_taken(m, i, e.link[0])))
                m->edges[m->n_edges++] = e;
        }
}

static bool all_reach_all(const model *m)
{
    bool reach[MEMBERS][MEMBERS] = {{false}}, yes = true;
    for (uint32_t i = 0; i < m->n; i++)
        reach[i][i] = true;
    for (uint32_t round = 0; round < m->n; round++)
        for (uint32_t i = 0; i < m->n_edges; i++)
            for (uint32_t from = 0; from < m->n; from++)
                if (reach[from][m->edges[i].src])
                    reach[from][m->edges[i].dst] = true;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < m->n; j++)
            yes = yes && reach[i][j];
    return yes;
}

/* Compares the edges that leave or enter each member, in ascending order. */
static void compare_rows(const rlt_tacos_net *net, const model *m, bool leave, const uint32_t *first,
                         const uint32_t *rows)
{
    uint32_t at = 0;
    for (uint32_t member = 0; member < m->n; member++) {
        assert_int_equal(first[member], at);
        for (uint32_t e = 0; e < m->n_edges; e++)
            if ((leave ? m->edges[e].src : m->edges[e].dst) == member)
                assert_int_equal(rows[at++], e);
    }
    assert_int_equal(first[net->n], at);
    assert_int_equal(at, m->n_edges);
}

/* Compares the links, numbered in order of their first use, and the edges that use each. */
static void compare_links(const rlt_tacos_net *net, const model *m, const rlt_topology *t)
{
    uint32_t known[LINKS], n_known = 0, n_path = 0, at = 0;
    for (uint32_t e = 0; e < m->n_edges; e++)
        for (uint32_t h = 0; h < m->edges[e].hops; h++) {
            uint32_t link = m->edges[e].link[h], i = 0;
            while (i < n_known && known[i] != link)
                i++;
            if (i == n_known)
                known[n_known++] = link;
            assert_int_equal(net->path[n_path++], i);
        }
    assert_int_equal(net->n_links, n_known);
    assert_int_equal(net->n_path, n_path);
    for (uint32_t i = 0; i < n_known; i++) {
        assert_int_equal(net->link_Bps[i], rlt_topology_link(t, known[i]).bw_Bps);
        assert_int_equal(net->user_first[i], at);
        for (uint32_t e = 0; e < m->n_edges; e++)
            for (uint32_t h = 0; h < m->edges[e].hops; h++)
                if (m->edges[e].link[h] == known[i])
                    assert_int_equal(net->user[at++], e);
    }
    assert_int_equal(net->user_first[n_known], at);
}

static void compare(const rlt_tacos_net *net, const model *m, const rlt_topology *t)
{
    uint32_t n_path = 0;
    bool uneven = false;
    assert_int_equal(net->n, m->n);
    assert_int_equal(net->n_edges, m->n_edges);
    for (uint32_t e = 0; e < m->n_edges; e++) {
        const edge *a = &m->edges[e];
        const rlt_tacos_edge *b = &net->edges[e];
        assert_true(a->src == b->src && a->dst == b->dst && a->hops == b->hops && b->first == n_path);
        assert_int_equal(a->bw_Bps, b->bw_Bps);
        assert_int_equal(a->latency_ps, b->latency_ps);
        for (uint32_t i = 0; i < e; i++)
            uneven = uneven || m->edges[i].bw_Bps != a->bw_Bps || m->edges[i].latency_ps != a->latency_ps;
        n_path += a->hops;
    }
    assert_int_equal(net->uneven, uneven);
    compare_links(net, m, t);
    compare_rows(net, m, true, net->out_first, net->out);
    compare_rows(net, m, false, net->in_first, net->in);
}

/* Compares the network of a random group. Returns whether all pairs had to be joined. */
static bool one(dice *k, world *w)
{
    static model m;
    uint32_t ranks[MEMBERS], all = rlt_topology_accelerators(w->t);
    rlt_tacos_net net;
    rlt_error err = {0};
    bool in_order = below(k, 3) == 0;
    for (uint32_t i = 0; i < all; i++)
        ranks[i] = i;
    for (uint32_t i = all; i > 1 && !in_order; i--) {
        uint32_t j = below(k, i), was = ranks[j];
        ranks[j] = ranks[i - 1];
        ranks[i - 1] = was;
    }
    rlt_coll_request req = {.kind = RLT_ALL_GATHER,
                            .n = below(k, 2) ? all : 2 + below(k, all - 1),
                            .ranks = ranks,
                            .topology = w->t,
                            .placement = &w->where};
    m.n = req.n;
    join(&m, w, &req, false);
    m.again = !all_reach_all(&m);
    if (m.again)
        join(&m, w, &req, true);
    assert_true(all_reach_all(&m));
    if (rlt_tacos_net_create(&req, &net, &err))
        fail_msg("%s: %s", err.where, err.what);
    compare(&net, &m, w->t);
    rlt_tacos_net_free(&net);
    assert_true(!net.edges && !net.path && !net.link_Bps && !net.user && !net.out && !net.in);
    return m.again;
}

static void open_world(world *w)
{
    rlt_error err = {0};
    assert_int_equal(rlt_placement_identity(w->t, rlt_topology_accelerators(w->t), &w->where, &err), 0);
    assert_int_equal(rlt_router_create(w->t, &w->where, RLT_ROUTE_DMODK, &w->router, &err), 0);
}

static void close_world(world *w)
{
    rlt_router_free(w->router);
    rlt_placement_free(&w->where);
    rlt_topology_free(w->t);
}

static void on_products(void **state)
{
    static const char *const texts[] = {"ring:5@10GB/s,2us",
                                        "switch:6@50GB/s,500ns",
                                        "mesh:3x4@80GB/s,1us",
                                        "torus:3x4@40GB/s,1us",
                                        "ring:4@200GB/s,1us*switch:3@50GB/s,500ns",
                                        "switch:3@200GB/s,1us*ring:4@50GB/s,500ns",
                                        "switch:4@300GB/s,100ns*rail:4@25GB/s,500ns",
                                        "fat-tree:8@50GB/s,500ns,hosts_per_leaf=2",
                                        "fully-connected:5@40GB/s,300ns",
                                        "dgx1-v100-8"};
    dice k = {.seed = 41};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        world w;
        rlt_error err = {0};
        if (rlt_topology_load(texts[i], "topologies", &w.t, &err) < 0)
            fail_msg("%s: %s", err.where, err.what);
        open_world(&w);
        for (int c = 0; c < 20; c++)
            one(&k, &w);
        close_world(&w);
    }
}

/* Draws accelerators, some of which relay, and switches, with links one way. Returns whether all reach all. */
static bool draw_graph(dice *k, rlt_topology **t)
{
    static char names[HOSTS + SWITCHES][16];
    rlt_graph_node nodes[HOSTS + SWITCHES];
    rlt_graph_link links[HOSTS * (HOSTS + SWITCHES)];
    uint32_t hosts = 3 + below(k, HOSTS - 2), n = hosts + 1 + below(k, SWITCHES), n_links = 0;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] = (rlt_graph_node){.name = names[i],
                                    .kind = i < hosts ? RLT_ACCELERATOR : RLT_SWITCH,
                                    .forwards = (int8_t)(below(k, 3) == 0 ? 1 : -1)};
    }
    uint32_t wanted = 2 * n + below(k, n);
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t src = i < n ? i : below(k, n), dst = i < n ? i : below(k, n);
        if (i < n && below(k, 2)) /* each has a way out and a way in */
            src = (i + 1 + below(k, n - 1)) % n;
        else
            dst = (src + 1 + below(k, n - 1)) % n;
        links[n_links++] = (rlt_graph_link){.src = src,
                                            .dst = dst,
                                            .bw_Bps = 1000000000 * (1 + roll(k, 3)),
                                            .latency_ps = (rlt_time)(RLT_US * (1 + below(k, 2)))};
    }
    rlt_topology_spec spec = {
        .name = "drawn", .source = "drawn", .n_nodes = n, .n_links = n_links, .nodes = nodes, .links = links};
    return rlt_topology_build(&spec, t, NULL) == 0;
}

static void on_graphs(void **state)
{
    dice k = {.seed = 43};
    uint32_t again = 0, built = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        world w;
        if (!draw_graph(&k, &w.t))
            continue;
        open_world(&w);
        built++;
        again += one(&k, &w);
        close_world(&w);
    }
    print_message("%u graphs, %u of them with all pairs\n", built, again);
    assert_true(built > 300 && again > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_products),
        cmocka_unit_test(on_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
