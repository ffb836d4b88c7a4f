/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random nodes, compared with what the headers say of them: a graph as a dimension of a product (its routes, and the
 * NIC of each accelerator), and the shapes seen in direct links that need not lead both ways.
 */
#include <stdio.h>
#include <string.h>

#include "net/topology/build.h"
#include "net/topology/part.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 400, MOST_NODES = 16, MOST_LINKS = 120 };

typedef struct machine {
    char names[MOST_NODES][12];
    rlt_graph_node nodes[MOST_NODES];
    rlt_graph_link links[MOST_LINKS];
    rlt_topology_spec spec;
    uint32_t first[RLT_SWITCH + 2]; /* nodes of each kind, one kind after the other */
} machine;

static void add_link(machine *m, uint32_t a, uint32_t b, rlt_time latency_ps)
{
    assert_true(m->spec.n_links < MOST_LINKS);
    m->links[m->spec.n_links++] =
        (rlt_graph_link){.src = a, .dst = b, .bw_Bps = 1000000000, .latency_ps = latency_ps};
}

static void join(machine *m, dice *d, uint32_t a, uint32_t b)
{
    rlt_time there = 1 + below(d, 3);
    add_link(m, a, b, there);
    add_link(m, b, a, below(d, 3) ? there : 1 + below(d, 3));
}

static uint32_t one_of(const machine *m, dice *d, rlt_node_kind kind)
{
    return m->first[kind] + below(d, m->first[kind + 1] - m->first[kind]);
}

/* Accelerators and NICs at PCIe switches or CPUs, which are joined; some accelerators have links of their own. */
static void draw_machine(machine *m, dice *d)
{
    const uint32_t n[] = {[RLT_ACCELERATOR] = 1 + below(d, 5),
                          [RLT_NIC] = below(d, 4),
                          [RLT_PCIE] = 1 + below(d, 3),
                          [RLT_CPU] = 1 + below(d, 2),
                          [RLT_SWITCH] = 0};
    *m = (machine){.spec = {.name = "machine"}};
    for (uint32_t kind = 0; kind <= RLT_SWITCH; kind++) {
        m->first[kind] = m->spec.n_nodes;
        for (uint32_t i = 0; i < n[kind]; i++, m->spec.n_nodes++) {
            snprintf(m->names[m->spec.n_nodes], sizeof *m->names, "n%u", m->spec.n_nodes);
            m->nodes[m->spec.n_nodes] = (rlt_graph_node){.name = m->names[m->spec.n_nodes],
                                                         .kind = (rlt_node_kind)kind,
                                                         .forwards = below(d, 8) ? -1 : 1};
        }
    }
    m->first[RLT_SWITCH + 1] = m->spec.n_nodes;
    for (uint32_t i = m->first[RLT_CPU] + 1; i < m->first[RLT_CPU + 1]; i++)
        join(m, d, i - 1, i);
    for (uint32_t i = m->first[RLT_PCIE]; i < m->first[RLT_PCIE + 1]; i++)
        join(m, d, i, i == m->first[RLT_PCIE] || below(d, 2) ? one_of(m, d, RLT_CPU) : i - 1);
    for (uint32_t i = 0; i < m->first[RLT_NIC + 1]; i++)
        for (uint32_t k = 0; k < 1 + below(d, 2); k++)
            join(m, d, i, one_of(m, d, below(d, 4) ? RLT_PCIE : RLT_CPU));
    for (uint32_t i = 1; i < n[RLT_ACCELERATOR]; i++)
        if (below(d, 2))
            join(m, d, i, below(d, i));
    m->spec.nodes = m->nodes;
    m->spec.links = m->links;
}

/* Fewest links from a node to each, and the least latency of so many; RLT_NONE: no way. */
static void distances_from(const rlt_topology *t, uint32_t src, uint32_t *hops, rlt_time *latency)
{
    uint32_t nodes = rlt_topology_nodes(t);
    for (uint32_t v = 0; v < nodes; v++)
        hops[v] = v == src ? 0 : RLT_NONE;
    latency[src] = 0;
    for (uint32_t k = 0; k < nodes; k++)
        for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
            rlt_link l = rlt_topology_link(t, i);
            if (hops[l.src] != k || (l.src != src && !rlt_topology_forwards(t, l.src)))
                continue;
            rlt_time then = latency[l.src] + l.latency_ps;
            if (hops[l.dst] == RLT_NONE || (hops[l.dst] == k + 1 && then < latency[l.dst]))
                latency[l.dst] = then;
            if (hops[l.dst] == RLT_NONE)
                hops[l.dst] = k + 1;
        }
}

typedef struct route_facts {
    uint32_t n;
    rlt_time latency_ps;
    bool crosses_cpu;
} route_facts;

/* Follows a route, which is one of the shortest. */
static route_facts follow(const rlt_part *p, uint32_t a, uint32_t b)
{
    const rlt_topology *t = p->graph;
    uint32_t hops[MOST_NODES], n, at = a < p->n ? a : p->nic[a - p->n], end = b < p->n ? b : p->nic[b - p->n];
    rlt_time latency[MOST_NODES];
    const uint32_t *links = rlt_part_route(p, a, b, &n);
    route_facts f = {.n = n};
    distances_from(t, at, hops, latency);
    for (uint32_t i = 0; i < n; i++) {
        rlt_link l = rlt_topology_link(t, links[i]);
        assert_int_equal(l.src, at);
        at = l.dst;
        f.latency_ps += l.latency_ps;
        f.crosses_cpu = f.crosses_cpu || (at != end && rlt_topology_node_kind(t, at) == RLT_CPU);
    }
    assert_int_equal(n, hops[end] == RLT_NONE ? 0 : hops[end]);
    if (n) {
        assert_int_equal(at, end);
        assert_int_equal(f.latency_ps, latency[end]);
    }
    return f;
}

/* Whether a route to a NIC is better than another: there is one, not through a CPU, fewer links. */
static int compare_ways(const route_facts *x, const route_facts *y)
{
    if ((x->n == 0) != (y->n == 0))
        return x->n ? -1 : 1;
    if (x->crosses_cpu != y->crosses_cpu)
        return y->crosses_cpu ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static uint32_t check_part(const rlt_part *p)
{
    uint32_t taken[MOST_NODES] = {0}, through_cpu = 0, max_hops = 0, n_nics = 0;
    rlt_time max_ps = 0;
    for (uint32_t v = 0; v < rlt_topology_nodes(p->graph); v++)
        if (rlt_topology_node_kind(p->graph, v) == RLT_NIC)
            assert_int_equal(p->nic[n_nics++], v);
    assert_int_equal(p->n, rlt_topology_accelerators(p->graph));
    assert_int_equal(p->n_nics, n_nics);
    for (uint32_t a = 0; a < p->n + n_nics; a++) {
        uint32_t best = p->n;
        for (uint32_t b = 0; b < p->n + n_nics; b++) {
            route_facts f = follow(p, a, b), least = follow(p, a, b < p->n ? b : best);
            int order = compare_ways(&f, &least);
            if (b >= p->n && (order < 0 || (order == 0 && taken[b] < taken[best])))
                best = b;
            if (a < p->n && b < p->n) {
                max_hops = f.n > max_hops ? f.n : max_hops;
                max_ps = f.latency_ps > max_ps ? f.latency_ps : max_ps;
            }
        }
        if (a >= p->n || !n_nics)
            continue;
        route_facts f = follow(p, a, best);
        taken[best]++;
        assert_int_equal(p->nic_of[a], best - p->n);
        max_hops = f.n > max_hops ? f.n : max_hops;
        max_ps = f.latency_ps > max_ps ? f.latency_ps : max_ps;
        through_cpu += f.crosses_cpu;
    }
    assert_int_equal(p->max_hops, max_hops);
    assert_int_equal(p->max_ps, max_ps);
    return through_cpu;
}

static void parts_of_products(void **state)
{
    (void)state;
    static machine m;
    uint32_t through_cpu = 0, made = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_topology *t = NULL;
        rlt_part *p = NULL;
        rlt_error err = {0};
        draw_machine(&m, &d);
        if (rlt_topology_build(&m.spec, &t, &err))
            continue; /* an accelerator is not reached */
        int rc = rlt_part_create(t, "here", &p, &err);
        if (rc)
            fail_msg("case %u: %s", (unsigned)seed, err.what);
        through_cpu += check_part(p);
        made++;
        rlt_part_free(p);
    }
    assert_true(made > CASES / 2);
    assert_in_range(through_cpu, 50, 3 * CASES);
}

/* ---- shapes ---- */

/* Names a shape by the links between accelerators, of which has[a][b] are from a to b. */
static const char *shape_of(uint32_t n, bool has[5][5])
{
    bool complete = n > 1, ring = n > 3;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            bool beside = b == (a + 1) % n || a == (b + 1) % n;
            complete = complete && (a == b || has[a][b]);
            ring = ring && (a == b || has[a][b] == beside);
        }
    return complete ? "fully-connected" : ring ? "ring" : "graph";
}

/* All accelerators are at a switch, and have links to each other, of which one or two are missing or too many. */
static void shapes_of_one_way_links(void **state)
{
    (void)state;
    static machine m;
    uint32_t counted[3] = {0};
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 1 + below(&d, 5);
        bool has[5][5] = {{false}}, round = below(&d, 2);
        rlt_topology *t = NULL;
        rlt_error err = {0};
        m = (machine){.spec = {.name = "machine", .n_nodes = n + 1, .nodes = m.nodes, .links = m.links}};
        for (uint32_t a = 0; a <= n; a++) {
            snprintf(m.names[a], sizeof *m.names, "n%u", a);
            m.nodes[a] = (rlt_graph_node){
                .name = m.names[a], .kind = a < n ? RLT_ACCELERATOR : RLT_SWITCH, .forwards = -1};
            if (a < n)
                join(&m, &d, a, n);
            for (uint32_t b = 0; a < n && b < n; b++)
                has[a][b] = a != b && (!round || b == (a + 1) % n || a == (b + 1) % n);
        }
        for (uint32_t i = below(&d, 3), a = below(&d, n), b = below(&d, n); i && a != b;
             i--, b = below(&d, n))
            has[a][b] = !has[a][b];
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++)
                for (uint32_t k = 0; has[a][b] && k < 1 + below(&d, 2); k++)
                    add_link(&m, a, b, 1);
        if (rlt_topology_build(&m.spec, &t, &err))
            fail_msg("case %u: %s", (unsigned)seed, err.what);
        const char *is = rlt_topology_dim(t, 0).shape, *must = shape_of(n, has);
        if (strcmp(is, must) != 0)
            fail_msg("case %u: %s, not %s", (unsigned)seed, is, must);
        counted[must[0] == 'f' ? 0 : must[0] == 'r' ? 1 : 2]++;
        rlt_topology_free(t);
    }
    assert_true(counted[0] > 30 && counted[1] > 30 && counted[2] > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_of_products),
                                       cmocka_unit_test(shapes_of_one_way_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
