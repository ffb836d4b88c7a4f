/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies that readers make of descriptions, compared by the names of their nodes. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_IMPORTED_H
#define RLT_TEST_SUPPORT_NETWORKS_IMPORTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static inline rlt_topology *test_import_with(const char *text, const rlt_import *import)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_read("f", text, strlen(text), import, &t, &err) != 0)
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static inline rlt_topology *test_import(const char *text)
{
    return test_import_with(text, NULL);
}

static inline void test_import_wrong(const char *text, const char *where, const char *what)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_read("f", text, strlen(text), NULL, &t, &err);
    if (rc >= 0 || strcmp(err.where, where) != 0 || !strstr(err.what, what))
        fail_msg("expected %s: %s\ngot %d %s: %s\nfor %s", where, what, rc, err.where, err.what, text);
    assert_null(t);
}

/* A text at a limit is read; one behind it is refused. */
static inline void test_import_up_to(bool limit, const char *text, const char *where, const char *what)
{
    if (limit)
        rlt_topology_free(test_import(text));
    else
        test_import_wrong(text, where, what);
}

/* Reads a copy that ends where the text does, so that sanitizers see what is read behind it. */
static inline int test_import_exactly(const char *text, rlt_topology **out, rlt_error *err)
{
    size_t n = strlen(text);
    char *copy = malloc(n);
    assert_non_null(copy);
    memcpy(copy, text, n);
    int rc = rlt_topology_read("f", copy, n, NULL, out, err);
    free(copy);
    return rc;
}

static inline void test_expect_ring(const rlt_topology *t, uint32_t i, const uint32_t *expected)
{
    assert_true(i < rlt_topology_rings(t));
    assert_memory_equal(rlt_topology_ring(t, i), expected, rlt_topology_accelerators(t) * sizeof *expected);
}

static inline uint32_t test_node(const rlt_topology *t, const char *name)
{
    uint32_t v = rlt_topology_find_node(t, name);
    if (v == UINT32_MAX)
        fail_msg("no node '%s'", name);
    return v;
}

/* Returns the bandwidth of the links from a to b; there may be only one. */
static inline uint64_t test_between(const rlt_topology *t, const char *a, const char *b)
{
    uint32_t src = test_node(t, a), dst = test_node(t, b), n = 0;
    uint64_t bw = 0;
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        if (l.src == src && l.dst == dst) {
            bw += l.bw_Bps;
            n++;
        }
    }
    assert_true(n <= 1);
    return bw;
}

static inline void test_both_ways(const rlt_topology *t, const char *a, const char *b, uint64_t bw)
{
    if (test_between(t, a, b) != bw || test_between(t, b, a) != bw)
        fail_msg("%s to %s: %.3g and %.3g B/s", a, b, (double)test_between(t, a, b),
                 (double)test_between(t, b, a));
}

/* Checks the nodes on a route, such as "gpu0 gpu2 gpu3". */
static inline void test_import_route(const rlt_topology *t, uint32_t src, uint32_t dst, rlt_time latency,
                                     const char *expected)
{
    rlt_placement place = {0};
    rlt_router *router = NULL;
    rlt_path path;
    char text[512], name[128];
    assert_int_equal(rlt_placement_identity(t, rlt_topology_accelerators(t), &place, NULL), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, NULL), 0);
    assert_int_equal(rlt_route(router, src, dst, 0, &path), 0);
    snprintf(text, sizeof text, "%s", rlt_topology_node_name(t, src, name, sizeof name));
    for (uint32_t i = 0; i < path.n; i++) {
        rlt_topology_node_name(t, rlt_topology_link(t, path.links[i]).dst, name, sizeof name);
        strncat(text, " > ", sizeof text - strlen(text) - 1);
        strncat(text, name, sizeof text - strlen(text) - 1);
    }
    assert_string_equal(text, expected);
    assert_true(path.latency_ps == latency);
    rlt_router_free(router);
    rlt_placement_free(&place);
}

#endif
