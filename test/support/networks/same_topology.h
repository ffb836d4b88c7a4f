/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks that two topologies are the same in all that a result or a reader of it sees: names, nodes, links,
 * routes, rings, endpoint, choices. A topology in closed form and the graph that it is written as are the
 * same. Include after cmocka.h.
 */
#ifndef RLT_TEST_SUPPORT_NETWORKS_SAME_TOPOLOGY_H
#define RLT_TEST_SUPPORT_NETWORKS_SAME_TOPOLOGY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/infragraph/infragraph.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

static inline void test_same_row(const rlt_param *p, const void *a, const void *b)
{
    char x[64], y[64];
    assert_string_equal(rlt_param_write(p, a, x, sizeof x), rlt_param_write(p, b, y, sizeof y));
}

/* All that can be set of an endpoint. */
static inline void test_same_endpoint(const rlt_endpoint *a, const rlt_endpoint *b)
{
    assert_int_equal(a->n_protocols, b->n_protocols);
    for (const rlt_param *p = rlt_endpoint_parameters(); p->name; p++)
        test_same_row(p, a, b);
    for (uint32_t i = 0; i < a->n_protocols; i++) {
        assert_string_equal(a->protocols[i].name, b->protocols[i].name);
        for (const rlt_param *p = rlt_protocol_parameters(); p->name; p++)
            test_same_row(p, &a->protocols[i], &b->protocols[i]);
    }
}

static inline void test_same_choices(const rlt_topology *a, const rlt_topology *b)
{
    uint32_t n, n_b;
    const rlt_choice *x = rlt_topology_choices(a, &n), *y = rlt_topology_choices(b, &n_b);
    assert_int_equal(n, n_b);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(x[i].collective, y[i].collective);
        assert_string_equal(x[i].algorithm, y[i].algorithm);
        assert_true(x[i].from_bytes == y[i].from_bytes);
    }
}

static inline void test_same_nodes(const rlt_topology *a, const rlt_topology *b)
{
    char x[256], y[256];
    assert_int_equal(rlt_topology_nodes(a), rlt_topology_nodes(b));
    assert_int_equal(rlt_topology_accelerators(a), rlt_topology_accelerators(b));
    for (uint32_t v = 0; v < rlt_topology_nodes(a); v++) {
        assert_string_equal(rlt_topology_node_name(a, v, x, sizeof x),
                            rlt_topology_node_name(b, v, y, sizeof y));
        assert_int_equal(rlt_topology_node_kind(a, v), rlt_topology_node_kind(b, v));
        assert_int_equal(rlt_topology_forwards(a, v), rlt_topology_forwards(b, v));
        assert_int_equal(rlt_topology_in_network(a, v), rlt_topology_in_network(b, v));
    }
}

/* The static routes of two graphs, in their order, as the ends of their links. */
static inline void test_same_routes(const rlt_frozen_graph *a, const rlt_frozen_graph *b)
{
    assert_int_equal(a->n_routes, b->n_routes);
    for (uint32_t r = 0; r < a->n_routes; r++) {
        uint32_t n = a->route_first[r + 1] - a->route_first[r];
        assert_int_equal(n, b->route_first[r + 1] - b->route_first[r]);
        for (uint32_t i = 0; i < n; i++) {
            const rlt_link *x = &a->links[a->route_links[a->route_first[r] + i]],
                           *y = &b->links[b->route_links[b->route_first[r] + i]];
            assert_true(x->src == y->src && x->dst == y->dst);
        }
    }
}

static inline int test_by_link(const void *a, const void *b)
{
    const rlt_link *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->bw_Bps != y->bw_Bps)
        return x->bw_Bps < y->bw_Bps ? -1 : 1;
    return (x->latency_ps > y->latency_ps) - (x->latency_ps < y->latency_ps);
}

/* Links as a set, in the order of their ends and figures. */
static inline rlt_link *test_sorted_links(const rlt_topology *t)
{
    uint32_t n = rlt_topology_links(t);
    rlt_link *links = calloc(n + 1u, sizeof *links);
    assert_non_null(links);
    for (uint32_t i = 0; i < n; i++)
        links[i] = rlt_topology_link(t, i);
    qsort(links, n, sizeof *links, test_by_link);
    return links;
}

static inline void test_same_links(const rlt_topology *a, const rlt_topology *b)
{
    rlt_link *x = test_sorted_links(a), *y = test_sorted_links(b);
    assert_int_equal(rlt_topology_links(a), rlt_topology_links(b));
    for (uint32_t i = 0; i < rlt_topology_links(a); i++)
        assert_int_equal(test_by_link(&x[i], &y[i]), 0);
    free(x);
    free(y);
}

static inline void test_same_topology(const rlt_topology *a, const rlt_topology *b)
{
    assert_string_equal(rlt_topology_name(a), rlt_topology_name(b));
    assert_string_equal(rlt_topology_source(a), rlt_topology_source(b));
    assert_int_equal(rlt_topology_node_size(a), rlt_topology_node_size(b));
    assert_int_equal(rlt_topology_dims(a), rlt_topology_dims(b));
    for (uint32_t i = 0; i < rlt_topology_dims(a); i++)
        assert_int_equal(rlt_topology_dim(a, i).size, rlt_topology_dim(b, i).size);
    test_same_nodes(a, b);
    test_same_links(a, b);
    assert_int_equal(rlt_topology_rings(a), rlt_topology_rings(b));
    for (uint32_t i = 0; i < rlt_topology_rings(a); i++)
        assert_memory_equal(rlt_topology_ring(a, i), rlt_topology_ring(b, i),
                            rlt_topology_accelerators(a) * sizeof(uint32_t));
    test_same_endpoint(rlt_topology_endpoint(a), rlt_topology_endpoint(b));
    test_same_choices(a, b);
    if (rlt_topology_is_product(a))
        return; /* its routes are computed */
    assert_int_equal(rlt_topology_pxn(a), rlt_topology_pxn(b));
    test_same_routes(&a->graph, &b->graph);
}

/* Writes a topology in a format that is read, too, and reads it. */
static inline rlt_topology *test_through(const rlt_topology *t, const char *format)
{
    rlt_topology *again = NULL;
    rlt_error err = {0};
    char *text = NULL;
    int rc = strcmp(format, "infragraph") == 0 ? rlt_topology_to_infragraph(t, &text, &err)
                                               : rlt_topology_export(t, format, &text, &err);
    if (!rc)
        rc = rlt_topology_read("written", text, strlen(text), NULL, &again, &err);
    if (rc)
        fail_msg("%s of '%s': %s: %s\n%.2000s", format, rlt_topology_name(t), err.where, err.what,
                 text ? text : "");
    free(text);
    return again;
}

/* Import, export, import: the same topology by every format. */
static inline void test_comes_back(const rlt_topology *t)
{
    static const char *const formats[] = {"json", "graphml", "infragraph"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        rlt_topology *once = test_through(t, formats[i]);
        test_same_topology(t, once);
        rlt_topology_free(once);
    }
}

#endif
