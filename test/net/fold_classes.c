/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of links of a folded network, compared with the symmetry that makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/fold.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

static rlt_topology *load(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load(spec, NULL, &t, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return t;
}

/* Every class has as many links as it says, and stands for the lowest. */
static void check_classes(const rlt_topology *t, const rlt_net_fold *f)
{
    uint32_t *size = calloc(f->n_classes, sizeof *size), links = rlt_topology_links(t);
    assert_non_null(size);
    for (uint32_t i = 0; i < links; i++) {
        uint32_t c = rlt_net_fold_class(f, i);
        assert_true(c < f->n_classes);
        if (!size[c]++)
            assert_int_equal(f->link[c], i);
    }
    assert_memory_equal(size, f->size, f->n_classes * sizeof *size);
    free(size);
}

/* A route between two blocks takes links of the same classes as one between two other blocks. */
static void check_routes(rlt_router *r, const rlt_net_fold *f, uint32_t block, const uint32_t *blocks)
{
    for (uint32_t from = 0; from < block; from++)
        for (uint32_t to = 0; to < block; to++) {
            uint32_t classes[2][64], n[2];
            for (uint32_t i = 0; i < 2; i++) {
                rlt_path p;
                uint32_t a = blocks[i] * block + from, b = blocks[i + 1] * block + to;
                assert_int_equal(rlt_route(r, a * 2, b * 2, 0, &p), 0);
                n[i] = p.n;
                for (uint32_t k = 0; k < p.n; k++)
                    classes[i][k] = rlt_net_fold_class(f, p.links[k]);
            }
            assert_int_equal(n[0], n[1]);
            assert_memory_equal(classes[0], classes[1], n[0] * sizeof classes[0][0]);
        }
}

static void test_parts(void **state)
{
    static const char *const trees[] = {
        "switch:2@300GB/s,100ns*fat-tree:32@50GB/s,500ns,hosts_per_leaf=4",
        "switch:2@300GB/s,100ns*fat-tree:32@50GB/s,500ns,levels=3,hosts_per_leaf=2,leaves_per_pod=4",
        "switch:2@300GB/s,100ns*fat-tree:32@50GB/s,500ns,levels=3,hosts_per_leaf=8,cores=9",
        "switch:2@300GB/s,100ns*fat-tree:24@50GB/s,500ns,hosts_per_leaf=6,oversubscription=2",
        "switch:2@300GB/s,100ns*switch:8@50GB/s,500ns"};
    (void)state;
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        rlt_error err = {0};
        rlt_topology *t = NULL;
        rlt_router *r = NULL;
        rlt_net_fold f;
        assert_int_equal(rlt_topology_load(trees[i], NULL, &t, &err), 0);
        rlt_placement place = {.n = rlt_topology_accelerators(t)};
        assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &r, &err), 0);
        uint32_t block = rlt_topology_exchanges(t, 1), all = place.n / 2 / block;
        const uint32_t some[] = {2, 1, 3}, every[] = {0, 1, 2, 3, 4, 5, 6, 7}, links[] = {3, 4, 70};
        assert_int_equal(rlt_net_fold_blocks(t, 1, 0, some, 3, &f, &err), 0);
        check_classes(t, &f);
        check_routes(r, &f, block, some);
        rlt_net_fold_free(&f);
        assert_int_equal(rlt_net_fold_blocks(t, 1, 1, every, all, &f, &err), 0);
        check_classes(t, &f);
        rlt_net_fold_free(&f);
        assert_int_equal(rlt_net_fold_used(t, links, i < 4 ? 3 : 2, &f, &err), 0);
        check_classes(t, &f);
        rlt_net_fold_free(&f);
        rlt_router_free(r);
        rlt_topology_free(t);
    }
}

/* Two links are in one class exactly if they have one key. */
static void check_keys(const rlt_topology *t, const rlt_net_fold *f,
                       uint64_t (*key)(const rlt_topology *, uint32_t))
{
    uint32_t links = rlt_topology_links(t);
    for (uint32_t i = 0; i < links; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_int_equal(key(t, i) == key(t, k), rlt_net_fold_class(f, i) == rlt_net_fold_class(f, k));
}

/* What translations keep: the dimension, the kinds of the ends, and how far the ends are apart along it (in a
 * torus of 3 x 4: along each of its coordinates). */
static uint64_t by_distance(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    uint32_t n = rlt_topology_accelerators(t), d = l.dim, stride = 1;
    uint64_t key = d;
    for (uint32_t i = 0; i < d; i++)
        stride *= rlt_topology_dim(t, i).size;
    if (l.src >= n || l.dst >= n)
        return key * 1000 + (l.src >= n);
    const uint32_t torus[] = {3, 4}, whole[] = {rlt_topology_dim(t, d).size};
    bool grid = strcmp(rlt_topology_dim(t, d).shape, "torus") == 0;
    for (uint32_t i = 0; i < (grid ? 2 : 1); i++) {
        uint32_t size = grid ? torus[i] : whole[0];
        key = key * 100 + (l.dst / stride % size + size - l.src / stride % size) % size;
        stride *= size;
    }
    return key + 500;
}

static void translations_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t n, sizes[4], classes;
        const char *refused;
    } rows[] = {
        {"ring:5@1GB/s,0", 1, {5}, 2, NULL},
        {"switch:4@1GB/s,0*ring:3@1GB/s,0", 2, {4, 3}, 4, NULL},
        {"switch:4@1GB/s,0*ring:3@1GB/s,0", 3, {2, 2, 3}, 4, NULL},
        {"ring:3@1GB/s,0*torus:3x4@1GB/s,0*switch:2@1GB/s,0", 4, {3, 3, 4, 2}, 8, NULL},
        {"fully-connected:4@1GB/s,0*ring:3@1GB/s,0", 2, {4, 3}, 5, NULL},
        {"ring:1@1GB/s,0*ring:3@1GB/s,0*ring:1@1GB/s,0*switch:2@1GB/s,0", 2, {3, 2}, 4, NULL},
        {"ring:4@1GB/s,0", 1, {3}, 0, "the algorithm does not follow the topology's dimension 0"},
        {"ring:4@1GB/s,0", 2, {2, 2}, 0, "the algorithm does not follow the topology's dimension 0"},
        {"ring:4@1GB/s,0", 0, {4}, 0, "the algorithm does not follow the topology's dimension 0"},
        {"ring:4@1GB/s,0*ring:3@1GB/s,0",
         1,
         {4, 3},
         0,
         "the algorithm does not follow the topology's dimension 1"},
        {"switch:4@1GB/s,0", 1, {2, 2}, 0, "the algorithm does not follow the topology's dimension 0"},
        {"switch:4@1GB/s,0", 2, {2, 3}, 0, "the algorithm does not follow the topology's dimension 0"},
        {"ring:4@1GB/s,0", 2, {4, 3}, 0, "the algorithm has more dimensions than the topology"},
        {"ring:4@1GB/s,0*mesh:3@1GB/s,0", 2, {4, 3}, 0, "a mesh dimension is not the same everywhere"},
        {"switch:4@1GB/s,0*switch:3@1GB/s,0,nics=2",
         2,
         {4, 3},
         0,
         "a switch dimension is not the same everywhere"},
        {"{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":\"accelerator\"}],\"links\":["
         "{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}]}",
         1,
         {2},
         0,
         "the topology is a graph, not a product"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = load(rows[i].spec);
        rlt_net_fold f;
        rlt_error err = {0};
        int rc = rlt_net_fold_translations(t, rows[i].sizes, rows[i].n, &f, &err);
        assert_string_equal(err.what, rows[i].refused ? rows[i].refused : "");
        assert_int_equal(rc, rows[i].refused ? RLT_EUNSUPPORTED : 0);
        if (!rc) {
            assert_int_equal(f.n_classes, rows[i].classes);
            check_classes(t, &f);
            check_keys(t, &f, by_distance);
            rlt_net_fold_free(&f);
        } else {
            assert_string_equal(err.where, "fold");
        }
        rlt_topology_free(t);
    }
}

static void changed_links_are_not_folded(void **state)
{
    (void)state;
    rlt_topology *t = load("switch:2@9GB/s,0*ring:3@1GB/s,0");
    const uint32_t sizes[] = {2, 3}, block = 0;
    rlt_net_fold f;
    rlt_error err = {0};
    assert_int_equal(rlt_topology_scale_links(t, "3", 0.5, NULL), 0);
    assert_int_equal(rlt_net_fold_translations(t, sizes, 2, &f, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what, "the bandwidth of some links was changed");
    err = (rlt_error){0};
    assert_int_equal(rlt_net_fold_turns(t, &f, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what, "the bandwidth of some links was changed");
    err = (rlt_error){0};
    assert_int_equal(rlt_net_fold_blocks(t, 1, 0, &block, 1, &f, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what, "dimension 1 has no blocks that can be exchanged");
    rlt_topology_free(t);
    rlt_net_fold_free(NULL);
}

/* A route between two accelerators, and the one between their successors in their nodes, take the same classes. */
static void check_turned_routes(const rlt_topology *t, const rlt_net_fold *f, uint32_t node)
{
    uint32_t n = rlt_topology_accelerators(t);
    rlt_placement place = {.n = n};
    rlt_router *r;
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &r, NULL), 0);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            uint32_t classes[16], k = 0;
            rlt_path p;
            assert_int_equal(rlt_route(r, a, b, 0, &p), 0);
            for (; k < p.n; k++)
                classes[k] = rlt_net_fold_class(f, p.links[k]);
            uint32_t c = a / node * node + (a + 1) % node, d = b / node * node + (b + 1) % node;
            assert_int_equal(rlt_route(r, c, d, 0, &p), 0);
            assert_int_equal(p.n, k);
            for (uint32_t i = 0; i < k; i++)
                assert_int_equal(rlt_net_fold_class(f, p.links[i]), classes[i]);
        }
    rlt_router_free(r);
}

/* A turn of all nodes of n maps a link to n - 1 others: each class has n links. */
static void turns_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t node, links;
        const char *refused;
    } rows[] = {
        {"switch:4@9GB/s,0*switch:3@1GB/s,0", 4, 24 + 24, NULL},
        {"switch:2@9GB/s,0*ring:3@1GB/s,0*ring:5@1GB/s,0", 2, 60 + 60 + 60, NULL},
        {"ring:3@9GB/s,0*torus:3x4@1GB/s,0", 3, 72 + 144, NULL},
        {"fully-connected:4@9GB/s,0*fat-tree:4@1GB/s,0,hosts_per_leaf=2", 4, 48 + 64, NULL},
        {"switch:4@9GB/s,0*rail:6@1GB/s,0,nodes_per_leaf=3", 4, 48 + 48 + 2 * 8 * 3, NULL},
        {"switch:4@9GB/s,0*rail:4@1GB/s,0,pxn=off", 4, 32 + 32 + 2 * 4 * 4, NULL},
        {"switch:4@1GB/s,0", 4, 0, "the nodes cannot be turned"},
        {"mesh:4@9GB/s,0*switch:3@1GB/s,0", 4, 0, "the nodes cannot be turned"},
        {"fat-tree:4@9GB/s,0,hosts_per_leaf=2*switch:3@1GB/s,0", 4, 0, "the nodes cannot be turned"},
        {"switch:4@1GB/s,0*switch:3@1GB/s,0", 4, 0, "the nodes cannot be turned"}, /* as fast: one node */
        {"torus:3x4@9GB/s,0*switch:3@1GB/s,0", 12, 0, "the nodes cannot be turned"},
        {"switch:4@9GB/s,0*switch:3@1GB/s,0,nics=2", 4, 0, "the accelerators of a node share its NICs"},
        {"switch:2@9GB/s,0*switch:2@1GB/s,0*switch:4@1GB/s,0,nics=2", 2, 0,
         "the accelerators of a node share its NICs"},
        {"switch:4@9GB/s,0*rail:4@1GB/s,0,pxn=off,spines=3", 4, 0,
         "the network is not the same for all of a node"},
        {"switch:4@9GB/s,0*fat-tree:4@1GB/s,0,pxn=off,planes=1,hosts_per_leaf=2", 4, 0,
         "the network is not the same for all of a node"},
        {"switch:4@9GB/s,0*rail:4@1GB/s,0,planes=2", 4, 0, "the network is not the same for all of a node"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = load(rows[i].spec);
        rlt_net_fold f;
        rlt_error err = {0};
        int rc = rlt_net_fold_turns(t, &f, &err);
        if (strcmp(err.what, rows[i].refused ? rows[i].refused : "") != 0)
            fail_msg("%s: '%s'", rows[i].spec, err.what);
        assert_int_equal(rc, rows[i].refused ? RLT_EUNSUPPORTED : 0);
        if (!rc) {
            assert_int_equal(rlt_topology_links(t), rows[i].links);
            assert_int_equal(f.n_classes, rows[i].links / rows[i].node);
            for (uint32_t c = 0; c < f.n_classes; c++)
                assert_int_equal(f.size[c], rows[i].node);
            check_classes(t, &f);
            check_turned_routes(t, &f, rows[i].node);
            rlt_net_fold_free(&f);
        } else {
            assert_true(f.size == NULL && f.link == NULL && f.of_link == NULL);
        }
        rlt_topology_free(t);
    }
}

/* The links that a message between two of the blocks takes have classes of their own, and no others do. */
static void blocks_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t dim, beside, n, blocks[3], block, base, stride, own, rest[3];
    } rows[] = {
        /* the example of the header */
        {"fat-tree:16@1GB/s,0,hosts_per_leaf=4", 0, 0, 2, {2, 0}, 4, 0, 1, 16, {32}},
        {"fat-tree:16@1GB/s,0,hosts_per_leaf=4", 0, 9, 1, {3}, 4, 0, 1, 16, {48}},
        /* two groups of 8, one of them: 2 x 16 in dimension 0; a leaf of 4 and 4 spines */
        {"switch:2@1GB/s,0*fat-tree:8@1GB/s,0,hosts_per_leaf=4", 1, 1, 1, {1}, 4, 1, 2, 16, {32, 48}},
        /* accelerator 17 + 6: place 1 of 2, node 3 of 8, third of 3 */
        {"switch:2@1GB/s,0*switch:8@1GB/s,0*ring:3@1GB/s,0", 1, 39, 2, {7, 2}, 1, 33, 2, 2, {96, 92, 96}},
        {"switch:2@1GB/s,0*switch:8@1GB/s,0*ring:3@1GB/s,0", 0, 23, 2, {0, 1}, 1, 22, 1, 2, {92, 96, 96}},
        /* more blocks than a word has bits */
        {"switch:130@1GB/s,0", 0, 0, 3, {129, 64, 63}, 1, 0, 1, 2, {254}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = load(rows[i].spec);
        rlt_placement place = {.n = rlt_topology_accelerators(t)};
        rlt_net_fold f;
        rlt_router *r;
        rlt_error err = {0};
        if (rlt_net_fold_blocks(t, rows[i].dim, rows[i].beside, rows[i].blocks, rows[i].n, &f, &err))
            fail_msg("%s: %s", rows[i].spec, err.what);
        check_classes(t, &f);
        uint32_t n = rlt_topology_dims(t);
        assert_int_equal(f.n_classes, rows[i].own + n);
        for (uint32_t c = 0; c < f.n_classes; c++)
            assert_int_equal(f.size[c], c < rows[i].own ? rows[i].n : rows[i].rest[c - rows[i].own]);
        assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &r, NULL), 0);
        for (uint32_t k = 0; k < rows[i].n; k++)
            for (uint32_t a = 0; a < rows[i].block; a++)
                for (uint32_t b = 0; b < rows[i].block; b++) {
                    rlt_path p;
                    uint32_t first = rows[i].base + rows[i].blocks[k] * rows[i].block * rows[i].stride;
                    uint32_t to = rows[i].base +
                                  (rows[i].blocks[(k + 1) % rows[i].n] * rows[i].block + b) * rows[i].stride;
                    assert_int_equal(rlt_route(r, first + a * rows[i].stride, to, 0, &p), 0);
                    for (uint32_t x = 0; x < p.n; x++)
                        assert_true(rlt_net_fold_class(&f, p.links[x]) < rows[i].own);
                }
        rlt_router_free(r);
        rlt_net_fold_free(&f);
        rlt_topology_free(t);
    }
}

static void blocks_that_cannot_be_exchanged(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t dim;
    } rows[] = {{"ring:4@1GB/s,0", 0},
                {"switch:2@1GB/s,0*mesh:4@1GB/s,0", 1},
                {"switch:4@1GB/s,0*switch:4@1GB/s,0,nics=2", 1},
                {"switch:4@1GB/s,0*rail:4@1GB/s,0,planes=4", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_topology *t = load(rows[i].spec);
        const uint32_t block = 0;
        rlt_net_fold f;
        rlt_error err = {0};
        assert_int_equal(rlt_net_fold_blocks(t, rows[i].dim, 0, &block, 1, &f, &err), RLT_EUNSUPPORTED);
        assert_string_equal(err.what, rows[i].dim ? "dimension 1 has no blocks that can be exchanged"
                                                  : "dimension 0 has no blocks that can be exchanged");
        assert_string_equal(err.where, "fold");
        rlt_topology_free(t);
    }
}

/* Two dimensions of 8 links each. */
static void used_links_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, links[10], rest, first[2], size[2];
    } rows[] = {
        {1, {0}, 2, {1, 8}, {7, 8}},
        {1, {8}, 2, {0, 9}, {8, 7}},
        {3, {0, 1, 15}, 2, {2, 8}, {6, 7}},
        {8, {0, 1, 2, 3, 4, 5, 6, 7}, 1, {8}, {8}},
        {10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10}, 1, {9}, {6}},
        {8, {8, 9, 10, 11, 12, 13, 14, 15}, 1, {0}, {8}},
        {0, {0}, 2, {0, 8}, {8, 8}},
    };
    rlt_topology *t = load("switch:2@1GB/s,0*switch:2@1GB/s,0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_net_fold f;
        assert_int_equal(rlt_net_fold_used(t, rows[i].links, rows[i].n, &f, NULL), 0);
        assert_int_equal(f.n_classes, rows[i].n + rows[i].rest);
        for (uint32_t k = 0; k < rows[i].n; k++) {
            assert_int_equal(rlt_net_fold_class(&f, rows[i].links[k]), k);
            assert_int_equal(f.link[k], rows[i].links[k]);
            assert_int_equal(f.size[k], 1);
        }
        for (uint32_t k = 0; k < rows[i].rest; k++) {
            assert_int_equal(f.link[rows[i].n + k], rows[i].first[k]);
            assert_int_equal(f.size[rows[i].n + k], rows[i].size[k]);
        }
        check_classes(t, &f);
        rlt_net_fold_free(&f);
    }
    rlt_topology_free(t);
}

/* Kinds are counted from dimension to dimension: as many as a shape has classes, or three by the ends. */
static void kinds_of_links(void **state)
{
    (void)state;
    /* 0, 1: switch; 2, 3: ring; 4 .. 6: mesh, whose links all leave accelerators; 7 .. 9: fat tree */
    rlt_topology *t =
        load("switch:4@1GB/s,0*ring:4@1GB/s,0*mesh:3@1GB/s,0*fat-tree:4@1GB/s,0,hosts_per_leaf=2,spines=1");
    uint32_t n = rlt_topology_accelerators(t);
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        static const uint32_t first[] = {0, 2, 4, 7};
        rlt_link l = rlt_topology_link(t, i);
        uint32_t kind = first[l.dim];
        if (l.dim == 0)
            kind += l.src >= n;
        else if (l.dim == 1) /* clockwise first */
            kind += (l.dst / 4 + 4 - l.src / 4) % 4 == 3;
        else if (l.dim == 3)
            kind += l.src < n ? 0 : l.dst < n ? 2 : 1;
        assert_int_equal(rlt__link_kind(t, i), kind);
    }
    rlt_topology_free(t);
    t = load(
        "{\"nodes\":[{\"id\":\"g\",\"count\":2,\"kind\":\"accelerator\"},{\"id\":\"x\",\"count\":2,\"kind\":"
        "\"switch\"}],\"links\":[{\"src\":\"g0\",\"dst\":\"x0\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"x0\",\"dst\":\"x1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"},"
        "{\"src\":\"x1\",\"dst\":\"g1\",\"bandwidth\":\"1GB/s\",\"latency\":\"0\"}]}");
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        assert_int_equal(rlt__link_kind(t, i), l.src < 2 ? 0 : l.dst < 2 ? 2 : 1);
    }
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(translations_by_hand),
        cmocka_unit_test(changed_links_are_not_folded),
        cmocka_unit_test(turns_by_hand),
        cmocka_unit_test(blocks_by_hand),
        cmocka_unit_test(blocks_that_cannot_be_exchanged),
        cmocka_unit_test(used_links_by_hand),
        cmocka_unit_test(kinds_of_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
