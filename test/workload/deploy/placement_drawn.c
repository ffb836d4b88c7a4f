/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random graphs of dnn-partitioning against a plain model, written from the head of placement.c: operator
 * graphs, in which updates and weights are found, and layer graphs, whose backward edges are turned round. The
 * model knows who feeds whom from a list of edges, which it walks for each question.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/support.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 300, MAX_NODES = 16, MAX_EDGES = 60, NONE = 99 };

#define LARGEST ((uint64_t)INT64_MAX) /* id and colour */

typedef struct node {
    uint32_t color; /* NONE: none */
    uint64_t id, ps, size;
    bool backward, named;
    uint32_t mate; /* layer graphs: of the other pass; NONE: alone */
} node;

typedef struct edge {
    uint32_t src, dst;
    uint64_t bytes;
} edge;

typedef struct drawn {
    dice d;
    bool layers;
    node nodes[MAX_NODES];
    edge edges[MAX_EDGES];
    uint32_t n, m;
    char text[1 << 14];
    size_t used;
    rlt_tensor must[2 * MAX_EDGES]; /* tensors that are still to be found */
    uint32_t n_must;
} drawn;

/* ---- random files ---- */

static uint32_t add_node(drawn *x, bool backward)
{
    node *k = &x->nodes[x->n];
    *k = (node){.id = below(&x->d, 5) ? 7 * x->n + below(&x->d, 7) : LARGEST - x->n,
                .color = below(&x->d, 2) ? below(&x->d, 4) : NONE,
                .ps = below(&x->d, 4) ? 1000 * roll(&x->d, 3000000) : 0,
                .size = roll(&x->d, 1000),
                .backward = backward,
                .named = below(&x->d, 3) == 0,
                .mate = NONE};
    return x->n++;
}

static bool has_edge(const drawn *x, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < x->m; i++)
        if (x->edges[i].src == src && x->edges[i].dst == dst)
            return true;
    return false;
}

static void add_edge(drawn *x, uint32_t src, uint32_t dst, uint64_t bytes)
{
    assert_in_range(x->m, 0, MAX_EDGES - 1);
    if (!has_edge(x, src, dst))
        x->edges[x->m++] = (edge){src, dst, bytes};
}

/* Sources, work, backward work, and what may be updates: they have a source and a gradient, or almost. */
static void draw_operators(drawn *x)
{
    uint32_t sources = 1 + below(&x->d, 3), work = 1 + below(&x->d, 3), back = below(&x->d, 4), from;
    for (uint32_t i = 0; i < sources; i++)
        add_node(x, false);
    for (uint32_t i = 0; i < work; i++) {
        from = add_node(x, false);
        for (uint32_t k = i ? 1 : 0; k < sources; k++) /* the first one has all, so that all is one graph */
            if (i == 0 || below(&x->d, 2))
                add_edge(x, k, from, roll(&x->d, 3));
        add_edge(x, i ? sources + below(&x->d, i) : 0, from, roll(&x->d, 1000));
    }
    for (uint32_t i = 0; i < back; i++) {
        from = add_node(x, true);
        add_edge(x, below(&x->d, from), from, roll(&x->d, 1000));
        if (i == 0)
            add_edge(x, sources, from, roll(&x->d, 1000));
        add_edge(x, below(&x->d, from), from, roll(&x->d, 1000));
    }
    for (uint32_t i = below(&x->d, 5), before = x->n; back && i < 4; i++) {
        uint64_t bytes = roll(&x->d, 1000);
        uint32_t to = add_node(x, true),
                 weight = below(&x->d, 4) ? below(&x->d, sources) : below(&x->d, before);
        uint32_t gradient = below(&x->d, 4) ? before - 1 - below(&x->d, back) : below(&x->d, before);
        bool turned = below(&x->d, 2);
        add_edge(x, turned ? weight : gradient, to, bytes);
        add_edge(x, turned ? gradient : weight, to, below(&x->d, 4) ? bytes : bytes + 1);
        if (below(&x->d, 5) == 0)
            add_edge(x, below(&x->d, before), to, bytes);
    }
}

/* Forward layers, of which all but some have a backward one; backward edges in either direction. */
static void draw_layers(drawn *x)
{
    uint32_t n = 1 + below(&x->d, MAX_NODES / 2), alone = below(&x->d, n < 3 ? n : 3);
    for (uint32_t i = 0; i < n; i++) {
        add_node(x, false);
        x->nodes[i].color = i < alone && below(&x->d, 2) ? NONE : 3 + 2 * i;
        for (uint32_t k = 0; i && k < 1 + below(&x->d, 2); k++)
            add_edge(x, below(&x->d, i), i, roll(&x->d, 1000));
    }
    for (uint32_t i = alone; i < n; i++) {
        uint32_t b = add_node(x, true);
        x->nodes[b].color = x->nodes[i].color;
        x->nodes[b].mate = i;
        x->nodes[i].mate = b;
    }
    for (uint32_t i = 0, forward = x->m; i < forward; i++) {
        uint32_t a = x->nodes[x->edges[i].src].mate, b = x->nodes[x->edges[i].dst].mate;
        if (a == NONE || b == NONE || below(&x->d, 6) == 0)
            continue;
        bool turned = below(&x->d, 3) == 0;
        add_edge(x, turned ? b : a, turned ? a : b, roll(&x->d, 1000));
    }
}

static void write_file(drawn *x)
{
    static const char *const flags[2][2] = {{"0", "false"}, {"1", "true"}};
    x->used = 0;
    TEST_SAY(x, " {\"maxFPGAs\": 2, \"nodes\": [");
    for (uint32_t i = 0; i < x->n; i++) {
        const node *k = &x->nodes[i];
        TEST_SAY(x, "%s{\"id\": %llu, \"fpgaLatency\": %.6f, \"isBackwardNode\": %s, \"size\": %llu",
                 i ? "," : "", (unsigned long long)k->id, (double)k->ps / 1e9,
                 flags[k->backward][below(&x->d, 2)], (unsigned long long)k->size);
        if (k->color != NONE)
            TEST_SAY(x, ", \"colorClass\": %llu", (unsigned long long)(k->color == 3 ? LARGEST : k->color));
        if (k->named)
            TEST_SAY(x, ", \"name\": \"layer %u\"", i);
        TEST_SAY(x, "}");
    }
    TEST_SAY(x, "], \"edges\": [");
    for (uint32_t i = 0; i < x->m; i++)
        TEST_SAY(x, "%s{\"sourceId\": %llu, \"destId\": %llu, \"cost\": 0.5, \"size\": %llu}", i ? "," : "",
                 (unsigned long long)x->nodes[x->edges[i].src].id,
                 (unsigned long long)x->nodes[x->edges[i].dst].id, (unsigned long long)x->edges[i].bytes);
    TEST_SAY(x, "]}");
}

/* ---- the plain model ---- */

static uint32_t edges_of(const drawn *x, uint32_t i, bool in)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->m; k++)
        n += (in ? x->edges[k].dst : x->edges[k].src) == i;
    return n;
}

/* The weight that a node updates; NONE: it is no update. */
static uint32_t updated(const drawn *x, uint32_t i)
{
    uint32_t weight = NONE, gradient = NONE;
    uint64_t bytes[2] = {0};
    if (x->layers || !x->nodes[i].backward || edges_of(x, i, false) != 0 || edges_of(x, i, true) != 2)
        return NONE;
    for (uint32_t k = 0; k < x->m; k++) {
        const edge *e = &x->edges[k];
        if (e->dst != i)
            continue;
        if (x->nodes[e->src].backward) {
            gradient = e->src;
            bytes[0] = e->bytes;
        } else if (edges_of(x, e->src, true) == 0) {
            weight = e->src;
            bytes[1] = e->bytes;
        }
    }
    return weight != NONE && gradient != NONE && bytes[0] == bytes[1] ? weight : NONE;
}

static bool is_weight(const drawn *x, uint32_t i)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (updated(x, k) == i)
            return true;
    return false;
}

/* Bytes of a layer's outputs; of a layer that feeds nobody, those of the backward edges into its mate. */
static uint64_t output_of(const drawn *x, uint32_t i)
{
    uint64_t most = 0;
    bool feeds = edges_of(x, i, false) > 0;
    for (uint32_t k = 0; k < x->m; k++) {
        const edge *e = &x->edges[k];
        bool counts = feeds ? e->src == i
                            : e->dst == x->nodes[i].mate && x->nodes[e->src].backward &&
                                  has_edge(x, x->nodes[e->src].mate, i);
        most = counts && e->bytes > most ? e->bytes : most;
    }
    return most;
}

static uint64_t weights_of(const drawn *x, uint32_t i)
{
    const node *k = &x->nodes[i];
    if (!x->layers)
        return is_weight(x, i) ? k->size : updated(x, i) != NONE ? x->nodes[updated(x, i)].size : 0;
    return !k->backward && k->mate != NONE && k->ps && k->size > output_of(x, i) ? k->size - output_of(x, i)
                                                                                 : 0;
}

static uint32_t first_of_color(const drawn *x, uint32_t i)
{
    for (uint32_t k = 0; k <= i && x->nodes[i].color != NONE; k++)
        if (x->nodes[k].color == x->nodes[i].color)
            return k;
    return RLT_NONE;
}

static void check_operator(const drawn *x, const rlt_opgraph *g, uint32_t i)
{
    const rlt_operator *o = &g->ops[i];
    const node *k = &x->nodes[i];
    uint32_t of = updated(x, i);
    bool weight = is_weight(x, i), update = of != NONE;
    char name[32];
    if (k->named)
        snprintf(name, sizeof name, "layer %u", i);
    else
        snprintf(name, sizeof name, "node%llu", (unsigned long long)k->id);
    assert_string_equal(o->name, name);
    assert_string_equal(o->kind, weight ? "Weight" : update ? "Update" : "Operator");
    assert_int_equal(o->time_ps, k->ps);
    assert_int_equal(o->launch_ps, k->ps && !update ? 8 * RLT_US : 0);
    assert_int_equal(o->parameter_bytes, weights_of(x, i));
    if (x->layers)
        assert_int_equal(o->kept_bytes, k->backward ? 0 : k->size - weights_of(x, i));
    else
        assert_int_equal(o->kept_bytes, weight || update ? 0 : k->size);
    assert_int_equal(o->forward, update ? of : x->layers && k->backward ? k->mate : i);
    assert_int_equal(o->together, first_of_color(x, i));
    assert_int_equal(o->pass, update        ? RLT_OPERATOR_UPDATE
                              : k->backward ? RLT_OPERATOR_BACKWARD
                                            : RLT_OPERATOR_FORWARD);
    assert_int_equal(o->splittable, !weight && !update);
}

static void expect(drawn *x, uint32_t src, uint32_t dst, uint64_t bytes, uint8_t kind)
{
    x->must[x->n_must++] = (rlt_tensor){src, dst, bytes, kind};
}

static void expect_edges(drawn *x)
{
    for (uint32_t i = 0; i < x->m; i++) {
        const edge *e = &x->edges[i];
        uint32_t a = x->nodes[e->src].mate, b = x->nodes[e->dst].mate, with = NONE;
        for (uint32_t k = 0; k < x->m && x->layers && x->nodes[e->src].backward; k++)
            if (x->edges[k].src == a && x->edges[k].dst == b)
                with = k;
        if (with != NONE)
            expect(x, e->dst, e->src, x->edges[with].bytes, RLT_TENSOR_BATCHED);
        else
            expect(x, e->src, e->dst, e->bytes,
                   is_weight(x, e->src)         ? RLT_TENSOR_FULL
                   : updated(x, e->dst) != NONE ? RLT_TENSOR_GRADIENT
                                                : RLT_TENSOR_BATCHED);
    }
}

/* Layers get what the file leaves out. Returns the number of updates. */
static uint32_t expect_layers(drawn *x, const rlt_opgraph *g)
{
    uint32_t updates = 0;
    for (uint32_t i = 0; i < x->n && x->layers; i++) {
        uint64_t weights = weights_of(x, i);
        char name[40];
        if (x->nodes[i].backward || x->nodes[i].mate == NONE)
            continue;
        expect(x, i, x->nodes[i].mate, output_of(x, i), RLT_TENSOR_BATCHED);
        if (weights == 0)
            continue;
        const rlt_operator *u = &g->ops[x->n + updates];
        expect(x, x->nodes[i].mate, x->n + updates++, weights, RLT_TENSOR_GRADIENT);
        snprintf(name, sizeof name, "update %s", g->ops[i].name);
        assert_string_equal(u->name, name);
        assert_string_equal(u->kind, "Update");
        assert_int_equal(u->time_ps, (rlt_time)nearbyint((double)weights / 4e5 * 1e6));
        assert_int_equal(u->launch_ps, 0);
        assert_int_equal(u->parameter_bytes, weights);
        assert_int_equal(u->kept_bytes, 0);
        assert_int_equal(u->forward, i);
        assert_int_equal(u->together, first_of_color(x, i));
        assert_int_equal(u->pass, RLT_OPERATOR_UPDATE);
        assert_false(u->splittable);
    }
    return updates;
}

static void check(drawn *x, const rlt_opgraph *g)
{
    x->n_must = 0;
    expect_edges(x);
    uint32_t updates = expect_layers(x, g);
    assert_int_equal(g->n_ops, x->n + updates);
    for (uint32_t i = 0; i < x->n; i++)
        check_operator(x, g, i);
    assert_int_equal(g->n_tensors, x->n_must);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        uint32_t k = 0;
        while (k < x->n_must && (x->must[k].src != t->src || x->must[k].dst != t->dst ||
                                 x->must[k].bytes != t->bytes || x->must[k].kind != t->kind))
            k++;
        if (k == x->n_must)
            fail_msg("tensor %u to %u of %llu, %u\n%s", t->src, t->dst, (unsigned long long)t->bytes, t->kind,
                     x->text);
        x->must[k] = x->must[--x->n_must];
    }
}

static void random_graphs(void **state)
{
    static drawn x;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_opgraph *g = NULL;
        rlt_error err = {0};
        x.d = (dice){.seed = seed};
        x.layers = seed % 2;
        x.n = x.m = 0;
        if (x.layers)
            draw_layers(&x);
        else
            draw_operators(&x);
        x.nodes[0].ps += 1000; /* no graph is without any time */
        write_file(&x);
        o.batch = 5;
        if (rlt__graph_placement.read("dir/net.x.json", x.text, x.used, &o, &g, &err))
            fail_msg("case %llu: %s: %s\n%s", (unsigned long long)seed, err.where, err.what, x.text);
        assert_string_equal(g->name, "net");
        assert_int_equal(g->batch, 5);
        check(&x, g);
        rlt_opgraph_free(g);
    }
}

/* A file is known from the end of its first fpgaLatency on, and only if it begins with a brace. */
static void known_files(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } all[] = {{"{\"fpgaLatency\"", true},
               {" \t\r\n{\"nodes\": [{\"id\": 1, \"fpgaLatency\"", true},
               {"[\"fpgaLatency\"", false},
               {"x{\"fpgaLatency\"", false},
               {"{\"fpgaLatencies\"", false},
               {"{\"cpuLatency\"", false},
               {" ", false}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t n = 0; n <= strlen(all[i].text); n++) {
            char *own = malloc(n + 1); /* a head ends with a zero */
            assert_non_null(own);
            memcpy(own, all[i].text, n);
            own[n] = '\0';
            assert_int_equal(rlt__graph_placement.probe(own, n), all[i].is && n == strlen(all[i].text));
            free(own);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs), cmocka_unit_test(known_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
