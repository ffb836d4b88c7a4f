/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routers that remember, over networks whose links change: every answer is that of a router which was made
 * for the question, and a route around failed links is a shortest one, found here by relaxing all links as
 * often as there are nodes (net/route.h).
 */
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 120, QUESTIONS = 120, MAX_LINKS = 2048, MAX_NODES = 512, NOBODY = 100000 };

typedef struct trial {
    rlt_topology *t;
    rlt_placement place;
    rlt_routing routing;
    rlt_router *router;
    uint64_t bw[MAX_LINKS];
    bool changed[MAX_LINKS];
    uint32_t n, n_failed;
} trial;

typedef struct length {
    uint32_t links;
    rlt_time latency_ps;
} length;

/* Finds the shortest way over links that work: fewest links, then lowest latency. */
static length shortest(const trial *x, uint32_t from, uint32_t dst)
{
    static length to[MAX_NODES];
    const uint32_t nodes = rlt_topology_nodes(x->t);
    bool again = true;
    for (uint32_t v = 0; v < nodes; v++)
        to[v] = (length){NOBODY, 0};
    to[from] = (length){0, 0};
    while (again) {
        again = false;
        for (uint32_t i = 0; i < x->n; i++) {
            rlt_link l = rlt_topology_link(x->t, i);
            length there = {to[l.src].links + 1, to[l.src].latency_ps + l.latency_ps};
            if (!x->bw[i] || to[l.src].links == NOBODY ||
                (l.src != from && !rlt_topology_forwards(x->t, l.src)))
                continue;
            if (there.links < to[l.dst].links ||
                (there.links == to[l.dst].links && there.latency_ps < to[l.dst].latency_ps)) {
                to[l.dst] = there;
                again = true;
            }
        }
    }
    return to[dst];
}

static rlt_router *fresh(const trial *x, bool changed)
{
    rlt_router *r = NULL;
    assert_int_equal(rlt_router_create(x->t, &x->place, x->routing, &r, NULL), 0);
    for (uint32_t i = 0; changed && i < x->n; i++)
        if (x->changed[i])
            assert_int_equal(rlt_router_set_link(r, i, x->bw[i]), 0);
    return r;
}

/* Checks that links lead from `at` to `dst`, and what they say of themselves. */
static void check_walk(const trial *x, const rlt_path *p, uint32_t at, uint32_t dst)
{
    rlt_time latency = 0;
    uint64_t bw = UINT64_MAX;
    for (uint32_t i = 0; i < p->n; i++) {
        rlt_link l = rlt_topology_link(x->t, p->links[i]);
        assert_int_equal(l.src, at);
        assert_true(x->bw[p->links[i]] > 0);
        bw = x->bw[p->links[i]] < bw ? x->bw[p->links[i]] : bw;
        latency += l.latency_ps;
        at = l.dst;
    }
    assert_int_equal(at, dst);
    assert_int_equal(p->latency_ps, latency);
    assert_int_equal(p->bw_Bps, bw);
}

static void ask(trial *x, uint32_t src, uint32_t dst, uint64_t key)
{
    rlt_path is, must, built;
    rlt_router *other = fresh(x, true), *first = fresh(x, false);
    int rc = rlt_route(x->router, src, dst, key, &is), same = rlt_route(other, src, dst, key, &must);
    uint32_t from = rlt_placed(&x->place, src), to = rlt_placed(&x->place, dst), failed = RLT_NONE;
    assert_int_equal(rc, same);
    assert_int_equal(rlt_route(first, src, dst, key, &built), 0);
    for (uint32_t i = built.n; i-- > 0;)
        failed = x->bw[built.links[i]] ? failed : built.links[i];
    length least = shortest(x, from, to);
    if (least.links == NOBODY) {
        assert_int_equal(rc, RLT_ESTALL);
        assert_int_equal(rlt_router_blocked(x->router), failed);
    } else {
        assert_int_equal(rc, 0);
        check_walk(x, &is, from, to);
        assert_int_equal(is.n, must.n);
        assert_memory_equal(is.links, must.links, is.n * sizeof *is.links);
        if (failed == RLT_NONE) {
            assert_int_equal(is.n, built.n);
            assert_memory_equal(is.links, built.links, is.n * sizeof *is.links);
        } else {
            assert_int_equal(is.n, least.links);
            assert_int_equal(is.latency_ps, least.latency_ps);
        }
    }
    rlt_router_free(other);
    rlt_router_free(first);
}

/* A ladder of switches with parallel links, and hosts on both sides. */
static void draw_graph(trial *x, dice *d)
{
    enum { RUNGS = 6, HOSTS = 8, NODES = HOSTS + 2 * RUNGS };
    static char names[NODES][8];
    rlt_graph_node nodes[NODES];
    rlt_graph_link links[400];
    uint32_t n = 0;
    rlt_error err = {0};
    for (uint32_t v = 0; v < NODES; v++) {
        snprintf(names[v], sizeof names[v], "n%u", v);
        nodes[v] = (rlt_graph_node){
            .name = names[v], .kind = v < HOSTS ? RLT_ACCELERATOR : RLT_SWITCH, .forwards = -1};
    }
    for (uint32_t v = 1; v < NODES; v++) {
        uint32_t to = v < HOSTS ? HOSTS + below(d, 2 * RUNGS) : v < HOSTS + 2 ? HOSTS : v - 2;
        uint32_t other = v < HOSTS ? to : v ^ 1u;
        for (uint32_t k = 0; k < 1 + below(d, 3); k++)
            for (int way = 0; way < 2; way++)
                if (to != v)
                    links[n++] = (rlt_graph_link){way ? to : v, way ? v : to, 1000000000u * (1 + below(d, 3)),
                                                  1000 * (1 + below(d, 2)), NULL};
        for (int way = 0; v >= HOSTS && other < v && other >= HOSTS && way < 2; way++)
            links[n++] = (rlt_graph_link){way ? other : v, way ? v : other, 1000000000, 1000, NULL};
    }
    for (int way = 0; way < 2; way++)
        links[n++] = (rlt_graph_link){way ? HOSTS : 0, way ? 0 : HOSTS, 1000000000, 1000, NULL};
    rlt_topology_spec spec = {.name = "ladder",
                              .source = "test",
                              .endpoint = rlt_endpoint_default(),
                              .n_nodes = NODES,
                              .n_links = n,
                              .nodes = nodes,
                              .links = links};
    if (rlt_topology_build(&spec, &x->t, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static void change(trial *x, dice *d)
{
    uint32_t link = below(d, x->n);
    uint64_t built = rlt_topology_link(x->t, link).bw_Bps;
    uint64_t bw = x->n_failed < 6 && below(d, 2) ? 0 : built * below(d, 5) / 2;
    if (!bw && x->n_failed >= 6)
        bw = built;
    x->n_failed += bw == 0;
    x->n_failed -= x->bw[link] == 0;
    x->bw[link] = bw;
    x->changed[link] = true;
    assert_int_equal(rlt_router_set_link(x->router, link, bw), 0);
    assert_int_equal(rlt_router_link_Bps(x->router, link), bw);
}

static void random_networks(void **state)
{
    static const char *const specs[] = {
        "ring:41@100GB/s,10ns",
        "ring:3@9GB/s,5ns*switch:4@2GB/s,1us",
        "ring:2@9GB/s,5ns*ring:2@2GB/s,1us",
        "fat-tree:8@3GB/s,50ns,hosts_per_leaf=2,spines=3",
        "torus:20@4GB/s,1ns,sizes=4x5",
        "ring:3@9GB/s,5ns*ring:4@2GB/s,1us*switch:2@1GB/s,2us",
        "mesh:2@9GB/s,5ns*switch:3@7GB/s,1ns*ring:3@2GB/s,1us*mesh:2@1GB/s,2us",
        "fat-tree:24@3GB/s,50ns,levels=3,hosts_per_leaf=2,spines=3,leaves_per_pod=3,cores=7",
        "switch:2@9GB/s,3ns*switch:3@6GB/s,7ns,nics=2,pcie=8GB/s*mesh:3@2GB/s,1ns",
        "switch:2@9GB/s,3ns*switch:3@6GB/s,7ns,nics=2,planes=1,pxn=off*switch:2@2GB/s,1ns",
        "switch:4@9GB/s,3ns*rail:3@6GB/s,7ns",
        "ring:2@9GB/s,5ns*mesh:3@7GB/s,1ns*switch:3@6GB/s,7ns,nics=3",
    };
    enum { SPECS = sizeof specs / sizeof *specs };
    static trial x;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t pick = below(&d, 2 * SPECS), where[MAX_NODES], ranks;
        x = (trial){.routing = below(&d, 2) ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK};
        if (pick >= SPECS)
            draw_graph(&x, &d);
        else
            assert_int_equal(rlt_topology_load(specs[pick], NULL, &x.t, NULL), 0);
        for (uint32_t i = 0; pick < SPECS && i < 3 && below(&d, 2);
             i++) { /* built slower or faster than others */
            char link[12];
            snprintf(link, sizeof link, "%u", below(&d, rlt_topology_links(x.t)));
            assert_int_equal(rlt_topology_scale_links(x.t, link, below(&d, 2) ? 0.5 : 2, NULL), 0);
        }
        ranks = rlt_topology_accelerators(x.t);
        for (uint32_t i = 0; i < ranks; i++) /* backwards */
            where[i] = ranks - 1 - i;
        x.place = (rlt_placement){.n = ranks, .accelerator = below(&d, 2) ? where : NULL};
        x.n = rlt_topology_links(x.t);
        assert_in_range(x.n, 1, MAX_LINKS);
        for (uint32_t i = 0; i < x.n; i++)
            x.bw[i] = rlt_topology_link(x.t, i).bw_Bps;
        x.router = fresh(&x, false);
        uint32_t src = 0, dst = 0;
        for (uint32_t i = 0; i < QUESTIONS; i++) {
            if (i > QUESTIONS / 3 && !below(&d, 3))
                change(&x, &d);
            if (below(&d, 2)) { /* or the same pair again */
                src = below(&d, ranks);
                dst = below(&d, ranks);
            }
            ask(&x, src, dst, rlt_route_key(below(&d, 2), below(&d, 3)));
        }
        rlt_router_free(x.router);
        rlt_topology_free(x.t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
