/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes, NICs and routes of random machines against a plain model, written from net/node_ports.h and
 * net/node_routes.h: pieces are found by joining neighbours until nothing changes, distances by relaxing
 * all links as often as there are vertices.
 */
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/node_ports.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 300, MOST = 64, CABLES = 160, NOBODY = 1000 };

typedef struct machine {
    char names[MOST][8];
    rlt_graph_node nodes[MOST];
    rlt_graph_link links[CABLES];
    uint32_t n, n_links, accelerators, size;
    rlt_pxn pxn;
    /* the model */
    uint32_t piece[MOST], of[MOST], port[MOST], place[MOST], number[MOST], n_nics;
    bool inside[MOST], outside[MOST];
    uint32_t src, dst, via[MOST], n_via; /* a route that the file states, if src != dst */
} machine;

/* A shortest way has the fewest links, and of these the lowest latency. NOBODY links: there is none. */
typedef struct length {
    uint32_t links;
    rlt_time latency_ps;
} length;

/* ---- random machines ---- */

static uint32_t add_node(machine *m, rlt_node_kind kind, const char *name)
{
    uint32_t v = m->n++;
    assert_in_range(v, 0, MOST - 1);
    snprintf(m->names[v], sizeof m->names[v], "%s%u", name, v);
    m->nodes[v] = (rlt_graph_node){.name = m->names[v], .kind = kind, .forwards = -1};
    return v;
}

static void add_cable(machine *m, dice *d, uint32_t a, uint32_t b)
{
    uint64_t bw = 1000000000 * (1 + (uint64_t)below(d, 2));
    rlt_time latency = 1000 * (1 + below(d, 3));
    assert_in_range(m->n_links, 0, CABLES - 2);
    m->links[m->n_links++] = (rlt_graph_link){a, b, bw, latency, NULL};
    m->links[m->n_links++] = (rlt_graph_link){b, a, bw, latency, NULL};
}

/* Inside a node: a tree of CPUs and PCIe switches, perhaps a switch between its accelerators, and NICs. */
static void draw_node(machine *m, dice *d, uint32_t first, const uint32_t *leaves, uint32_t n_leaves,
                      bool nics)
{
    uint32_t inner[4], n_inner = 1 + below(d, 4), own = below(d, 3), n_nics = nics ? 1 + below(d, 3) : 0;
    for (uint32_t i = 0; i < n_inner; i++) {
        inner[i] = add_node(m, below(d, 2) ? RLT_CPU : RLT_PCIE, "p");
        if (i)
            add_cable(m, d, inner[i], inner[below(d, i)]);
    }
    for (uint32_t a = 0; a < m->size; a++) /* then there would be two ways inside, and none is nearest */
        own = own == 1 && m->nodes[first + a].forwards == 1 ? 0 : own;
    uint32_t joined = own == 1 ? add_node(m, RLT_SWITCH, "x") : NOBODY;
    for (uint32_t a = 0; a < m->size; a++) {
        if (own != 2 || nics)
            add_cable(m, d, first + a, inner[below(d, n_inner)]);
        if (joined != NOBODY)
            add_cable(m, d, first + a, joined);
        if (!nics)
            add_cable(m, d, first + a, leaves[below(d, n_leaves)]);
    }
    for (uint32_t i = 0; i < n_nics; i++) {
        uint32_t nic = add_node(m, RLT_NIC, "n");
        add_cable(m, d, nic, below(d, 5) ? inner[below(d, n_inner)] : first + below(d, m->size));
        add_cable(m, d, nic, leaves[below(d, n_leaves)]);
        if (!below(d, 4))
            add_cable(m, d, nic, leaves[below(d, n_leaves)]);
        if (below(d, 4)) /* most have no plug with a name of its own, which leads nowhere, or on */
            continue;
        uint32_t plug = add_node(m, RLT_SWITCH, "s");
        if (below(d, 2))
            m->links[m->n_links++] =
                (rlt_graph_link){plug, leaves[below(d, n_leaves)], 1000000000, 1000, NULL};
        add_cable(m, d, nic, plug);
    }
}

/* Numbers all but the accelerators anew. */
static void shuffle(machine *m, dice *d)
{
    uint32_t to[MOST];
    rlt_graph_node old[MOST];
    memcpy(old, m->nodes, sizeof old);
    for (uint32_t v = 0; v < m->n; v++)
        to[v] = v;
    for (uint32_t v = m->n; v-- > m->accelerators + 1;) {
        uint32_t w = m->accelerators + below(d, v + 1 - m->accelerators), kept = to[v];
        to[v] = to[w];
        to[w] = kept;
    }
    for (uint32_t v = 0; v < m->n; v++)
        m->nodes[to[v]] = old[v];
    for (uint32_t i = 0; i < m->n_links; i++) {
        m->links[i].src = to[m->links[i].src];
        m->links[i].dst = to[m->links[i].dst];
    }
}

static void draw(machine *m, dice *d)
{
    uint32_t nodes = 2 + below(d, 2), n_leaves = 1 + below(d, 3), leaves[3], nics = below(d, 4),
             forward = below(d, 2);
    *m = (machine){.size = 1 + below(d, 4), .pxn = below(d, 2) ? RLT_PXN_ON : RLT_PXN_OFF};
    m->accelerators = nodes * m->size;
    for (uint32_t a = 0; a < m->accelerators; a++) {
        add_node(m, RLT_ACCELERATOR, "g");
        m->nodes[a].forwards = forward && !below(d, 4) ? 1 : -1;
    }
    for (uint32_t i = 0; i < n_leaves; i++)
        leaves[i] = add_node(m, RLT_SWITCH, "l");
    for (uint32_t k = 0; k < nodes; k++)
        draw_node(m, d, k * m->size, leaves, n_leaves, nics != 0);
    bool planes = n_leaves > 1 && !below(d, 3);
    for (uint32_t i = 1; i < n_leaves && !planes; i++)
        add_cable(m, d, leaves[i], leaves[below(d, i)]);
    shuffle(m, d);
}

/* ---- the model ---- */

static bool is_port(const machine *m, uint32_t v)
{
    return m->nodes[v].kind == RLT_ACCELERATOR || m->nodes[v].kind == RLT_NIC;
}

/* Adds node k to those that touch something: one, or NOBODY + 1 for several. */
static void also(uint32_t *of, uint32_t k)
{
    *of = *of == NOBODY || *of == k ? k : NOBODY + 1;
}

static void find_owners(machine *m)
{
    uint32_t touched[MOST];
    for (uint32_t v = 0; v < m->n; v++) {
        m->piece[v] = v;
        touched[v] = NOBODY;
    }
    for (uint32_t again = 0; again < m->n; again++) /* the lowest number of a piece spreads */
        for (uint32_t i = 0; i < m->n_links; i++) {
            uint32_t a = m->links[i].src, b = m->links[i].dst;
            uint32_t least = m->piece[a] < m->piece[b] ? m->piece[a] : m->piece[b];
            if (!is_port(m, a) && !is_port(m, b))
                m->piece[a] = m->piece[b] = least;
        }
    for (uint32_t i = 0; i < m->n_links; i++)
        if (m->links[i].src < m->accelerators && !is_port(m, m->links[i].dst))
            also(&touched[m->piece[m->links[i].dst]], m->links[i].src / m->size);
    for (uint32_t v = 0; v < m->n; v++)
        m->of[v] = v < m->accelerators                 ? v / m->size
                   : is_port(m, v)                     ? NOBODY
                   : touched[m->piece[v]] > NOBODY - 1 ? NOBODY
                                                       : touched[m->piece[v]];
    for (uint32_t v = m->accelerators; v < m->n; v++) {
        uint32_t nic = NOBODY;
        for (uint32_t i = 0; m->nodes[v].kind == RLT_NIC && i < m->n_links; i++) {
            uint32_t w = m->links[i].dst;
            if (m->links[i].src == v && m->nodes[w].kind != RLT_NIC && m->of[w] < NOBODY)
                also(&nic, m->of[w]);
        }
        if (m->nodes[v].kind == RLT_NIC)
            m->of[v] = nic < NOBODY ? nic : NOBODY;
    }
    for (uint32_t v = 0; v < m->n; v++) {
        bool relays = v >= m->accelerators || m->nodes[v].forwards == 1;
        m->inside[v] = relays && m->of[v] < NOBODY && m->nodes[v].kind != RLT_NIC;
        m->outside[v] = relays && m->of[v] == NOBODY;
    }
}

/* Finds the shortest ways from `from` over vertices that relay (NULL: all that forward). */
static void measure(const machine *m, uint32_t from, const bool *relay, length *to)
{
    for (uint32_t v = 0; v < m->n; v++)
        to[v] = (length){NOBODY, 0};
    to[from] = (length){0, 0};
    for (uint32_t again = 0; again < m->n; again++)
        for (uint32_t i = 0; i < m->n_links; i++) {
            uint32_t a = m->links[i].src, b = m->links[i].dst;
            bool on = relay ? relay[a] : a >= m->accelerators || m->nodes[a].forwards == 1;
            length there = {to[a].links + 1, to[a].latency_ps + m->links[i].latency_ps};
            if (to[a].links == NOBODY || (a != from && !on))
                continue;
            if (there.links < to[b].links ||
                (there.links == to[b].links && there.latency_ps < to[b].latency_ps))
                to[b] = there;
        }
}

/* How far a NIC of its node is from accelerator a: links, and 1000 more behind a CPU. The inside is a
 * tree. */
static uint32_t far_away(const machine *m, uint32_t a, uint32_t nic)
{
    length all[MOST], without[MOST];
    bool no_cpu[MOST], own[MOST];
    for (uint32_t v = 0; v < m->n; v++) {
        own[v] = m->inside[v] && m->of[v] == m->of[a];
        no_cpu[v] = own[v] && m->nodes[v].kind != RLT_CPU;
    }
    measure(m, a, own, all);
    measure(m, a, no_cpu, without);
    if (all[nic].links == NOBODY)
        return NOBODY * NOBODY;
    return all[nic].links + (without[nic].links == all[nic].links ? 0 : NOBODY);
}

static void find_ports(machine *m)
{
    uint32_t taken[MOST] = {0}, nics[MOST] = {0}, place[MOST] = {0};
    for (uint32_t v = m->accelerators; v < m->n; v++)
        if (m->nodes[v].kind == RLT_NIC && m->of[v] < NOBODY)
            place[v] = nics[m->of[v]]++;
    m->n_nics = nics[0];
    for (uint32_t a = 0; a < m->accelerators; a++) {
        uint32_t best = NOBODY, least = NOBODY * NOBODY;
        for (uint32_t v = m->accelerators; v < m->n; v++) {
            if (m->nodes[v].kind != RLT_NIC || m->of[v] != m->of[a])
                continue;
            uint32_t far = far_away(m, a, v);
            if (far < least || (far == least && best < NOBODY && taken[v] < taken[best])) {
                best = v;
                least = far;
            }
        }
        m->port[a] = best == NOBODY ? a : best;
        m->place[a] = best == NOBODY ? a % m->size : place[best];
        taken[m->port[a]]++;
    }
}

static uint32_t leaf_of(const machine *m, uint32_t port)
{
    uint32_t leaf = NOBODY;
    for (uint32_t i = 0; i < m->n_links; i++)
        if (m->links[i].src == port && m->outside[m->links[i].dst] && m->links[i].dst < leaf)
            leaf = m->links[i].dst;
    return leaf;
}

/* The number of a port: how many others of its piece are at lower leaves, or at this one and lower
 * themselves. */
static void number_ports(machine *m)
{
    for (uint32_t a = 0; a < m->accelerators; a++) {
        uint32_t leaf = leaf_of(m, m->port[a]);
        bool before[MOST] = {false};
        for (uint32_t b = 0; b < m->accelerators; b++) {
            uint32_t other = leaf_of(m, m->port[b]);
            bool one_piece =
                leaf == NOBODY || other == NOBODY ? leaf == other : m->piece[leaf] == m->piece[other];
            if (one_piece && (other < leaf || (other == leaf && m->port[b] < m->port[a])))
                before[m->port[b]] = true;
        }
        m->number[a] = 0;
        for (uint32_t v = 0; v < m->n; v++)
            m->number[a] += before[v];
    }
}

static length join(length a, length b)
{
    if (a.links >= NOBODY || b.links >= NOBODY)
        return (length){NOBODY, 0};
    return (length){a.links + b.links, a.latency_ps + b.latency_ps};
}

static length way(const machine *m, uint32_t a, uint32_t b, const bool *relay)
{
    length to[MOST];
    measure(m, a, relay, to);
    return to[b];
}

static length move_inside(const machine *m, uint32_t a, uint32_t b)
{
    length l = way(m, a, b, m->inside);
    return l.links == NOBODY ? way(m, a, b, NULL) : l;
}

static length cross(const machine *m, uint32_t a, uint32_t b)
{
    length l = join(move_inside(m, a, m->port[a]), way(m, m->port[a], m->port[b], m->outside));
    return join(l, move_inside(m, m->port[b], b));
}

static length route(const machine *m, uint32_t a, uint32_t b)
{
    uint32_t relay = a - a % m->size + b % m->size;
    if (relay == b)
        return move_inside(m, a, b);
    length l = {NOBODY, 0};
    if (m->pxn == RLT_PXN_OFF || m->place[a] == m->place[b])
        l = cross(m, a, b);
    if (l.links == NOBODY && relay != a)
        l = join(move_inside(m, a, relay), cross(m, relay, b));
    return l.links == NOBODY ? way(m, a, b, NULL) : l;
}

/* The bandwidth from a port into the network, without what leads nowhere. */
static uint64_t rate(const machine *m, uint32_t port)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->n_links; i++) {
        uint32_t w = m->links[i].dst;
        bool on = false;
        for (uint32_t k = 0; k < m->n_links; k++)
            on = on || (m->links[k].src == w && m->links[k].dst != port);
        if (m->links[i].src == port && m->of[w] != m->of[port] && on)
            sum += m->links[i].bw_Bps;
    }
    return sum;
}

/* States one of the shortest routes between two accelerators of two nodes, which is often not the one by
 * their ports. */
static void state_route(machine *m, dice *d)
{
    length to[MOST];
    m->src = below(d, m->accelerators);
    m->dst = below(d, m->accelerators);
    measure(m, m->src, NULL, to);
    if (m->src / m->size == m->dst / m->size || to[m->dst].links == NOBODY) {
        m->dst = m->src;
        return;
    }
    m->n_via = to[m->dst].links - 1;
    uint32_t at = m->dst;
    for (uint32_t k = m->n_via; k-- > 0;)
        for (uint32_t i = 0; i < m->n_links; i++) {
            uint32_t v = m->links[i].src;
            bool on = v >= m->accelerators || m->nodes[v].forwards == 1;
            if (m->links[i].dst == at && to[v].links == k + 1 && on) {
                m->via[k] = at = v;
                break;
            }
        }
}

/* ---- comparison ---- */

static void compare_ports(const machine *m, const rlt_topology *t)
{
    rlt_node_ports p;
    rlt_machines found;
    uint64_t same = rate(m, m->port[0]);
    assert_int_equal(rlt_node_ports_create(t, &p, NULL), 0);
    assert_int_equal(p.node, m->size);
    assert_int_equal(p.n_nics, m->n_nics);
    for (uint32_t v = 0; v < m->n; v++) {
        assert_int_equal(p.of[v], m->of[v] < NOBODY ? m->of[v] : RLT_NONE);
        assert_int_equal(p.inside[v], m->inside[v]);
        assert_int_equal(p.outside[v], m->outside[v]);
    }
    for (uint32_t a = 0; a < m->accelerators; a++) {
        assert_int_equal(p.port[a], m->port[a]);
        assert_int_equal(p.place[a], m->place[a]);
        assert_int_equal(p.number[a], m->number[a]);
        same = rate(m, m->port[a]) == same ? same : 0;
    }
    rlt_node_ports_free(&p);
    assert_int_equal(rlt_machines_find(t, &found, NULL), 0);
    assert_int_equal(found.nodes, m->accelerators / m->size);
    assert_int_equal(found.accelerators, m->size);
    assert_int_equal(found.nics, m->n_nics ? m->n_nics : m->size);
    assert_int_equal(found.nic_Bps, same);
    assert_int_equal(found.planes, 0);
    assert_int_equal(found.pxn, m->pxn);
}

static void compare_routes(const machine *m, const rlt_topology *t)
{
    rlt_placement place;
    rlt_router *router;
    rlt_path p;
    assert_int_equal(rlt_placement_identity(t, m->accelerators, &place, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, NULL), 0);
    for (uint32_t a = 0; a < m->accelerators; a++)
        for (uint32_t b = 0; b < m->accelerators; b++) {
            length must = a == b ? (length){0, 0} : route(m, a, b);
            uint32_t at = a;
            rlt_time latency = 0;
            assert_int_equal(rlt_route(router, a, b, 0, &p), 0);
            for (uint32_t i = 0; i < p.n; i++) {
                rlt_link l = rlt_topology_link(t, p.links[i]);
                assert_int_equal(l.src, at);
                at = l.dst;
                latency += l.latency_ps;
            }
            assert_int_equal(at, b);
            assert_int_equal(latency, p.latency_ps);
            if (a != b && a == m->src && b == m->dst) {
                assert_int_equal(p.n, m->n_via + 1);
                for (uint32_t i = 0; i < m->n_via; i++)
                    assert_int_equal(rlt_topology_link(t, p.links[i]).dst, m->via[i]);
                continue;
            }
            assert_int_equal(p.n, must.links);
            assert_int_equal(p.latency_ps, must.latency_ps);
        }
    rlt_router_free(router);
    rlt_placement_free(&place);
}

static void random_machines(void **state)
{
    machine *m = malloc(sizeof *m);
    uint32_t compared = 0;
    (void)state;
    assert_non_null(m);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_topology *t = NULL;
        rlt_error err = {0};
        draw(m, &d);
        state_route(m, &d);
        rlt_static_route stated = {.src = m->src, .dst = m->dst, .n = m->n_via, .via = m->via};
        rlt_topology_spec spec = {.name = "machines",
                                  .source = "test",
                                  .endpoint = rlt_endpoint_default(),
                                  .node_size = m->size,
                                  .pxn = m->pxn,
                                  .n_nodes = m->n,
                                  .n_links = m->n_links,
                                  .nodes = m->nodes,
                                  .n_routes = m->src != m->dst,
                                  .links = m->links,
                                  .routes = &stated};
        if (rlt_topology_build(&spec, &t, &err)) /* planes that nothing joins */
            continue;
        compared++;
        find_owners(m);
        find_ports(m);
        number_ports(m);
        compare_ports(m, t);
        compare_routes(m, t);
        rlt_topology_free(t);
    }
    assert_true(compared > CASES / 2);
    free(m);
}

/* A node ends before the first dimension with NICs, or with less than half the bandwidth. Without NICs,
 * each of its accelerators has a port; without planes, each port has a network of its own
 * (net/topology/ports.h). */
static void machines_of_products(void **state)
{
    static const struct {
        const char *spec;
        rlt_machines must;
    } rows[] = {
        {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns", {4, 8, 8, 25000000000, 8, RLT_PXN_ON}},
        {"switch:8@300GB/s,1ns*switch:4@25GB/s,10ns,nics=4", {4, 8, 4, 25000000000, 4, RLT_PXN_ON}},
        {"switch:8@300GB/s,1ns*switch:2@24GB/s,10ns,nics=4,planes=2,pxn=off",
         {2, 8, 4, 24000000000, 2, RLT_PXN_OFF}},
        {"switch:4@300GB/s,1ns*switch:2@200GB/s,1ns*switch:3@20GB/s,1ns",
         {3, 8, 8, 20000000000, 8, RLT_PXN_ON}},
        {"switch:4@300GB/s,1ns*switch:3@20GB/s,1ns*switch:2@9GB/s,1ns",
         {6, 4, 4, 20000000000, 4, RLT_PXN_ON}},
        {"ring:4@20GB/s,1ns", {1, 4, 0, 0, 0, RLT_PXN_UNSTATED}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = NULL;
        rlt_machines is;
        assert_int_equal(rlt_topology_load(rows[i].spec, NULL, &t, NULL), 0);
        assert_int_equal(rlt_machines_find(t, &is, NULL), 0);
        assert_int_equal(is.nodes, rows[i].must.nodes);
        assert_int_equal(is.accelerators, rows[i].must.accelerators);
        assert_int_equal(is.nics, rows[i].must.nics);
        assert_int_equal(is.nic_Bps, rows[i].must.nic_Bps);
        assert_int_equal(is.planes, rows[i].must.planes);
        assert_int_equal(is.pxn, rlt_topology_pxn(t));
        rlt_topology_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_machines),
                                       cmocka_unit_test(machines_of_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
