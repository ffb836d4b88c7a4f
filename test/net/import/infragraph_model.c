/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machines in InfraGraph at random, read a second time by plain rules: parts at the ends go, parts that join two links
 * become one link, outermost ports are NICs. Every node, its kind, and every link is the same.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/imported.h"
#include "test/support/networks/same_topology.h"

enum { MOST = 16, ALL = 2 * MOST, XPU = 0, NIC, SWITCH, CPU, PORT, CUSTOM, MEMORY, CHOICES };
#define GB UINT64_C(1000000000)

static const char *const words[] = {"xpu", "nic", "switch", "cpu", "port", "custom", "memory"};
static const uint64_t link_GBps[] = {10, 20, 40};
static const int link_ns[] = {100, 30, 7};

typedef struct edge {
    uint32_t a, b, link;
} edge;

typedef struct machine {
    uint32_t parts, copies, n; /* n: of all copies */
    int choice[ALL];
    edge edges[200];
    uint32_t n_edges, inside; /* of one copy; those between copies follow */
    /* What is left: */
    bool gone[ALL], small[ALL], nic[ALL];
    uint32_t cut, folded;
    uint64_t bw_Bps[ALL][ALL]; /* 0: no link */
    rlt_time latency_ps[ALL][ALL];
} machine;

static bool joined(const machine *m, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < m->n_edges; i++)
        if ((m->edges[i].a == a && m->edges[i].b == b) || (m->edges[i].a == b && m->edges[i].b == a))
            return true;
    return false;
}

static void join(machine *m, dice *d, uint32_t a, uint32_t b)
{
    if (a != b && !joined(m, a, b))
        m->edges[m->n_edges++] = (edge){a, b, below(d, 3)};
}

/* Draws a tree of parts with some more edges, to which the accelerators are joined; and edges between two copies. */
static void draw(machine *m, dice *d)
{
    *m = (machine){.copies = 1 + below(d, 2)};
    uint32_t xpus = 1 + below(d, 3), parts = 2 + below(d, MOST - 5), more = below(d, 3);
    m->parts = xpus + parts;
    m->n = m->copies * m->parts;
    for (uint32_t i = 0; i < m->parts; i++)
        for (uint32_t c = 0; c < m->copies; c++)
            m->choice[c * m->parts + i] = c ? m->choice[i] : i < xpus ? XPU : 1 + (int)below(d, CHOICES - 1);
    bool apart = below(d, 3) == 0; /* parts that only accelerators join */
    for (uint32_t i = xpus + 1; i < m->parts; i++)
        join(m, d, i,
             apart && below(d, 3) == 0 ? below(d, xpus)
             : below(d, 3)             ? i - 1
                                       : xpus + below(d, i - xpus));
    if (apart)
        join(m, d, below(d, xpus), xpus);
    for (uint32_t k = below(d, 3) ? 0 : below(d, 3); k > 0; k--)
        join(m, d, below(d, xpus), below(d, xpus));
    for (; more > 0; more--)
        join(m, d, xpus + below(d, parts), xpus + below(d, parts));
    for (uint32_t i = 0; i < xpus; i++)
        for (uint32_t k = 1 + (below(d, 3) == 0); k > 0; k--)
            join(m, d, i, xpus + below(d, parts));
    m->inside = m->n_edges;
    for (uint32_t c = 1; c < m->copies; c++)
        for (uint32_t i = 0; i < m->inside; i++) {
            edge e = m->edges[i];
            m->edges[m->n_edges++] = (edge){e.a + c * m->parts, e.b + c * m->parts, e.link};
        }
    for (uint32_t k = m->copies > 1 ? 1 + below(d, 3) : 0; k > 0; k--)
        join(m, d, xpus + below(d, parts), m->parts + xpus + below(d, parts));
}

static void write_graph(const machine *m, char *text, size_t size)
{
    size_t used = 0;
#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    PUT("devices:\n- name: d\n  components:\n");
    for (uint32_t i = 0; i < m->parts; i++)
        PUT("  - {name: c%u, count: 1, choice: %s%s}\n", i, words[m->choice[i]],
            m->choice[i] == CUSTOM ? ", custom: {type: slot}" : "");
    for (int outside = 0; outside < 2; outside++) {
        PUT("%slinks:\n", outside ? "" : "  ");
        for (int k = 0; k < 3; k++)
            PUT("%s- {name: l%d, physical: {bandwidth: {gigabytes_per_second: %d}, latency: {ns: %d}}}\n",
                outside ? "" : "  ", k, (int)link_GBps[k], link_ns[k]);
        if (!outside) {
            PUT("  edges:\n");
            for (uint32_t i = 0; i < m->inside; i++)
                PUT("  - {ep1: {component: c%u}, ep2: {component: c%u}, scheme: one2one, link: l%u}\n",
                    m->edges[i].a, m->edges[i].b, m->edges[i].link);
            PUT("instances: [{name: i, device: d, count: %u}]\n", m->copies);
        }
    }
    if (m->copies > 1)
        PUT("edges:\n");
    for (uint32_t i = m->copies * m->inside; i < m->n_edges; i++)
        PUT("- {ep1: {instance: 'i[0]', component: c%u}, ep2: {instance: 'i[1]', component: c%u}, scheme: "
            "one2one, link: l%u}\n",
            m->edges[i].a, m->edges[i].b - m->parts, m->edges[i].link);
#undef PUT
    assert_true(used < size);
}

static uint32_t degree(const machine *m, uint32_t v)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < m->n; w++)
        count += m->bw_Bps[v][w] > 0;
    return count;
}

static void set(machine *m, uint32_t a, uint32_t b, uint64_t bw_Bps, rlt_time latency_ps)
{
    m->bw_Bps[a][b] = m->bw_Bps[b][a] = bw_Bps;
    m->latency_ps[a][b] = m->latency_ps[b][a] = latency_ps;
}

/* Returns true if an adapter is behind a port: the first part on the way in that does not just join two links. */
static bool is_behind_nic(const machine *m, uint32_t port, uint32_t in)
{
    uint32_t from = port;
    while (m->small[in] && degree(m, in) == 2) {
        uint32_t next = 0;
        while (!m->bw_Bps[in][next] || next == from)
            next++;
        from = in;
        in = next;
        if (in == port)
            break;
    }
    return m->choice[in] == NIC;
}

static void find_nics(machine *m)
{
    bool linked = m->copies > 1;
    for (uint32_t v = 0; v < m->n; v++) {
        uint32_t in = RLT_NONE;
        bool outer = !linked && degree(m, v) == 1;
        for (uint32_t i = 0; i < m->n_edges; i++)
            if (m->edges[i].a == v || m->edges[i].b == v) {
                uint32_t other = m->edges[i].a == v ? m->edges[i].b : m->edges[i].a;
                outer = outer || other / m->parts != v / m->parts;
                in = other / m->parts == v / m->parts ? other : in; /* the last one */
            }
        m->nic[v] = m->choice[v] == PORT && outer && !(in != RLT_NONE && is_behind_nic(m, v, in));
        m->small[v] = m->small[v] && !m->nic[v];
    }
}

static void reduce(machine *m)
{
    for (uint32_t i = 0; i < m->n_edges; i++)
        set(m, m->edges[i].a, m->edges[i].b, link_GBps[m->edges[i].link] * GB,
            link_ns[m->edges[i].link] * (rlt_time)1000);
    for (uint32_t v = 0; v < m->n; v++)
        m->small[v] = m->choice[v] >= PORT;
    find_nics(m);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t v = 0; v < m->n; v++)
            if (m->small[v] && degree(m, v) == 1) {
                for (uint32_t w = 0; w < m->n; w++)
                    set(m, v, w, 0, 0);
                m->gone[v] = more = true;
                m->cut++;
            }
    }
    for (uint32_t v = 0; v < m->n; v++) {
        uint32_t a = 0, b;
        if (!m->small[v] || degree(m, v) != 2)
            continue;
        while (!m->bw_Bps[v][a])
            a++;
        for (b = a + 1; !m->bw_Bps[v][b];)
            b++;
        if (m->bw_Bps[a][b])
            continue;
        uint64_t x = m->bw_Bps[v][a], y = m->bw_Bps[v][b];
        set(m, a, b, x < y ? x : y, m->latency_ps[v][a] + m->latency_ps[v][b]);
        set(m, v, a, 0, 0);
        set(m, v, b, 0, 0);
        m->gone[v] = true;
        m->folded++;
    }
}

/* Returns true if accelerators must relay: not all are linked, and no other parts that hang together join them all. */
static bool must_relay(const machine *m)
{
    uint32_t xpus = 0, pairs = 0, group[ALL], most = 0;
    for (uint32_t v = 0; v < m->n; v++) {
        group[v] = v;
        xpus += m->choice[v] == XPU;
        for (uint32_t w = 0; w < v; w++)
            pairs += m->choice[v] == XPU && m->choice[w] == XPU && m->bw_Bps[v][w];
    }
    for (uint32_t round = 0; round < m->n; round++)
        for (uint32_t v = 0; v < m->n; v++)
            for (uint32_t w = 0; w < m->n; w++)
                if (m->bw_Bps[v][w] && m->choice[v] != XPU && m->choice[w] != XPU)
                    group[v] = group[v] < group[w] ? group[v] : group[w];
    for (uint32_t g = 0; g < m->n; g++) {
        bool near[ALL] = {false};
        uint32_t count = 0;
        for (uint32_t v = 0; v < m->n; v++)
            for (uint32_t w = 0; w < m->n; w++)
                near[w] = near[w] || (group[v] == g && m->choice[v] != XPU && m->bw_Bps[v][w]);
        for (uint32_t w = 0; w < m->n; w++)
            count += near[w] && m->choice[w] == XPU;
        most = count > most ? count : most;
    }
    return pairs < xpus * (xpus - 1) / 2 && most < xpus;
}

static uint32_t node_of(const machine *m, const rlt_topology *t, uint32_t v)
{
    char name[32];
    snprintf(name, sizeof name, "i.%u.c%u.0", v / m->parts, v % m->parts);
    return rlt_topology_find_node(t, name);
}

static void assert_same(const machine *m, const rlt_topology *t, uint64_t seed)
{
    static const rlt_node_kind kinds[] = {RLT_ACCELERATOR, RLT_NIC,  RLT_SWITCH, RLT_CPU,
                                          RLT_PCIE,        RLT_PCIE, RLT_PCIE};
    uint32_t nodes = 0, links = 0, at[ALL];
    for (uint32_t v = 0; v < m->n; v++) {
        at[v] = node_of(m, t, v);
        if ((at[v] == RLT_NONE) != m->gone[v])
            fail_msg("graph %llu: part %u is%s there", (unsigned long long)seed, v, m->gone[v] ? "" : " not");
        nodes += !m->gone[v];
        if (!m->gone[v])
            assert_int_equal(rlt_topology_node_kind(t, at[v]), m->nic[v] ? RLT_NIC : kinds[m->choice[v]]);
        for (uint32_t w = 0; w < m->n; w++)
            links += m->bw_Bps[v][w] > 0;
    }
    for (uint32_t v = 0; v < m->n; v++)
        if (m->choice[v] == XPU)
            assert_int_equal(rlt_topology_forwards(t, at[v]), must_relay(m));
    assert_int_equal(rlt_topology_nodes(t), nodes);
    assert_int_equal(rlt_topology_links(t), links);
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        uint32_t a = 0, b = 0;
        while (at[a] != l.src)
            a++;
        while (at[b] != l.dst)
            b++;
        if (m->bw_Bps[a][b] != l.bw_Bps || m->latency_ps[a][b] != l.latency_ps)
            fail_msg("graph %llu: %u to %u: %.0f B/s, %lld ps", (unsigned long long)seed, a, b,
                     (double)l.bw_Bps, (long long)l.latency_ps);
    }
}

/* Returns the pairs of accelerators that have no link, and a third one that has links to both. */
static uint32_t pairs_by_a_third(const machine *m)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = 0; b < a; b++) {
            bool third = false;
            for (uint32_t c = 0; c < m->n; c++)
                third = third || (m->choice[c] == XPU && m->bw_Bps[a][c] && m->bw_Bps[b][c]);
            count += third && m->choice[a] == XPU && m->choice[b] == XPU && !m->bw_Bps[a][b];
        }
    return count;
}

static void assert_said(const machine *m, const rlt_topology *t)
{
    char said[160];
    snprintf(said, sizeof said, "InfraGraph of %u vertices and %u edges (", m->n, m->n_edges);
    assert_memory_equal(rlt_topology_source(t), said, strlen(said));
    snprintf(said, sizeof said,
             " %u parts that join two links are folded into one link, %u at the end of one are left out.",
             m->folded, m->cut);
    assert_int_equal(strstr(rlt_topology_source(t), m->folded || m->cut ? said : "folded") != NULL,
                     m->folded || m->cut);
    assert_int_equal(strstr(rlt_topology_source(t), " Accelerators relay, since nothing else joins") != NULL,
                     must_relay(m));
    uint32_t pairs = must_relay(m) ? 0 : pairs_by_a_third(m);
    snprintf(said, sizeof said, " %u pairs of accelerators without a link go through a third", pairs);
    assert_int_equal(strstr(rlt_topology_source(t), pairs ? said : "through a third") != NULL, pairs > 0);
}

static void machines_at_random(void **state)
{
    static char text[1 << 14];
    static machine m;
    uint32_t read = 0, folded = 0, nics = 0, relays = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        dice d = {.seed = seed};
        rlt_topology *t = NULL;
        rlt_error err = {0};
        draw(&m, &d);
        write_graph(&m, text, sizeof text);
        reduce(&m);
        if (rlt_topology_read("f", text, strlen(text), NULL, &t, &err)) {
            if (!strstr(err.what, "cannot reach")) /* accelerators that would have to relay */
                fail_msg("graph %llu: %s: %s", (unsigned long long)seed, err.where, err.what);
            continue;
        }
        assert_same(&m, t, seed);
        assert_said(&m, t);
        relays += must_relay(&m);
        if (seed % 4 == 0)
            test_comes_back(t); /* written, and read again */
        for (uint32_t v = 0; v < m.n; v++) {
            nics += m.nic[v];
            folded += m.gone[v];
        }
        read++;
        rlt_topology_free(t);
    }
    assert_true(read > 1200 && folded > 1000 && nics > 200 && relays > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(machines_at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
