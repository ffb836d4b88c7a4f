/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operator graphs: what is refused, and where the limits are; graphs of random layers and base groups
 * against plain models, written from opgraph.h; and that each figure of a graph changes its hash.
 */
#include "workload/deploy/opgraph.h"

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/deploy/strategy.h"

#define MOST ((uint64_t)1 << 62)

static rlt_error err;

static rlt_operator simple(uint32_t i, rlt_time time)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    return (rlt_operator){.name = names[i], .kind = "x", .time_ps = time, .forward = i, .together = RLT_NONE};
}

static int build(const rlt_operator *ops, uint32_t n, const rlt_tensor *tensors, uint32_t n_tensors,
                 rlt_opgraph **out)
{
    rlt_opgraph_builder *b = NULL;
    err = (rlt_error){0};
    *out = (rlt_opgraph *)(void *)&err; /* nothing is left of it */
    assert_int_equal(rlt_opgraph_begin("graph", &b, NULL), 0);
    for (uint32_t i = 0; i < n; i++)
        (void)rlt_opgraph_op(b, &ops[i]);
    for (uint32_t i = 0; i < n_tensors; i++)
        rlt_opgraph_tensor(b, &tensors[i]);
    return rlt_opgraph_finish(b, out, &err);
}

/* Four operators in a diamond, one thing of which is changed. */
typedef struct diamond {
    rlt_operator ops[4];
    rlt_tensor tensors[4];
    uint32_t n_ops, n_tensors;
} diamond;

static diamond new_diamond(void)
{
    diamond g = {.n_ops = 4, .n_tensors = 4};
    for (uint32_t i = 0; i < 4; i++) {
        g.ops[i] = simple(i, 10);
        g.tensors[i] = (rlt_tensor){i / 2, i % 2 ? 2 + i / 2 : 1 + i / 2, 100, RLT_TENSOR_BATCHED};
    }
    g.tensors[1].dst = 2;
    g.tensors[2] = (rlt_tensor){1, 3, 100, RLT_TENSOR_BATCHED};
    g.tensors[3] = (rlt_tensor){2, 3, 100, RLT_TENSOR_BATCHED};
    return g;
}

static void expect(const diamond *g, int code, const char *where, const char *what)
{
    rlt_opgraph *out;
    int rc = build(g->ops, g->n_ops, g->tensors, g->n_tensors, &out);
    if (rc != code || (code && (!strstr(err.where, where) || !strstr(err.what, what))))
        fail_msg("%d, expected %d: '%s': '%s', not '%s': '%s'", rc, code, err.where, err.what, where, what);
    if (rc)
        assert_null(out);
    else
        rlt_opgraph_free(out);
}

static void ends_of_tensors(void **state)
{
    diamond g = new_diamond();
    (void)state;
    expect(&g, 0, "", "");
    g.tensors[3].dst = 4;
    expect(&g, RLT_EMALFORMED, "graph", "a tensor from operator 2 to 4, but there are only 4 operators");
    g.tensors[3] = (rlt_tensor){4, 3, 1, 0};
    expect(&g, RLT_EMALFORMED, "graph", "a tensor from operator 4 to 3, but there are only 4 operators");
    g.tensors[3] = (rlt_tensor){2, 2, 1, 0};
    expect(&g, RLT_EMALFORMED, "graph", "operator 'c' feeds itself");
    g.tensors[3] = (rlt_tensor){3, 1, 1, 0};
    expect(&g, RLT_EMALFORMED, "graph", "operator 'b' waits for itself: the graph has a cycle");
    g.n_tensors = 2;
    expect(&g, RLT_EMALFORMED, "graph",
           "operator 'd' is not connected to 'a': expected a graph in one piece");
    g.n_tensors = 0;
    expect(&g, RLT_EMALFORMED, "graph", "operator 'b' is not connected to 'a'");
    g.n_ops = 0;
    expect(&g, RLT_EMALFORMED, "graph", "the graph has no operators");
    g.n_ops = 1;
    expect(&g, 0, "", "");
    g = new_diamond();
    g.ops[2].forward = 3;
    g.ops[2].together = 3;
    expect(&g, 0, "", "");
    g.ops[2].together = 4;
    expect(&g, RLT_EMALFORMED, "graph", "have number 4, where less than 4 is possible: 'c'");
    g.ops[2].together = 0;
    g.ops[2].forward = 4;
    expect(&g, RLT_EMALFORMED, "graph", "operator 'c' belongs to a forward operator that does not exist");
    g = new_diamond();
    g.ops[0].forward = 4;
    expect(&g, RLT_EMALFORMED, "graph", "operator 'a' belongs to a forward operator that does not exist");
    g.ops[0].forward = 3;
    g.ops[3].together = 4;
    expect(&g, RLT_EMALFORMED, "graph", "have number 4, where less than 4 is possible: 'd'");
}

static void limits(void **state)
{
    diamond g = new_diamond();
    (void)state;
    for (int which = 0; which < 2; which++) {
        rlt_time *t = which ? &g.ops[1].launch_ps : &g.ops[1].time_ps;
        static const rlt_time wrong[] = {-1, RLT_TIME_MAX};
        for (int i = 0; i < 2; i++) {
            *t = wrong[i];
            expect(&g, RLT_ERANGE, "b", "a time below 0 or beyond the clock's range");
        }
        *t = 0;
        expect(&g, 0, "", "");
    }
    g = new_diamond(); /* three passes add up to one less than the clock has, then to as many */
    g.ops[1].pass = RLT_OPERATOR_BACKWARD;
    g.ops[2].pass = RLT_OPERATOR_UPDATE;
    g.ops[1].time_ps = RLT_TIME_MAX - 31;
    expect(&g, 0, "", "");
    g.ops[1].time_ps = RLT_TIME_MAX - 30;
    expect(&g, RLT_ERANGE, "graph", "the operators' times sum to more than the clock's range");
    for (int pass = 0; pass < 3; pass++) { /* an update alone is no profile */
        g = new_diamond();
        for (int i = 0; i < 4; i++)
            g.ops[i].time_ps = i == 2 ? 5 : 0;
        g.ops[2].pass = (uint8_t)pass;
        expect(&g, pass == RLT_OPERATOR_UPDATE ? RLT_EMALFORMED : 0, "graph", "no operator has a time");
    }
}

/* Sizes may sum to 2^62 - 1, in operators, in tensors, and together. */
static void sizes(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        diamond g = new_diamond();
        g.ops[1].parameter_bytes = MOST / 2;
        g.ops[2].kept_bytes = MOST / 2 - 401 + (uint64_t)more;
        expect(&g, more ? RLT_ERANGE : 0, "c", "the sizes of the tensors sum to more than 2^62 bytes");
        g.n_tensors = 0;
        g.n_ops = 1;
        g.ops[0].parameter_bytes = MOST - 6 + (uint64_t)more;
        g.ops[0].kept_bytes = 5;
        expect(&g, more ? RLT_ERANGE : 0, "a", "the sizes of the operators sum to more than 2^62 bytes");
        g = new_diamond();
        g.tensors[1].bytes = MOST - 301 + (uint64_t)more;
        expect(&g, more ? RLT_ERANGE : 0, "c", "the sizes of the tensors sum to more than 2^62 bytes");
    }
    static const uint64_t huge[] = {MOST, UINT64_MAX};
    for (int i = 0; i < 6; i++) {
        diamond g = new_diamond();
        *(i % 3 == 0   ? &g.ops[3].parameter_bytes
          : i % 3 == 1 ? &g.ops[3].kept_bytes
                       : &g.tensors[2].bytes) = huge[i / 3];
        g.n_tensors = i % 3 == 2 ? 4 : 3; /* refused before the piece that is missing */
        expect(&g, RLT_ERANGE, i % 3 == 2 ? "b" : "d", "sum to more than 2^62 bytes");
    }
}

/* Sums, by pass, and the order: of those that are ready, the first one. */
static void totals(void **state)
{
    diamond d = new_diamond();
    rlt_opgraph *g;
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        d.ops[i].pass = (uint8_t)(i % 3);
        d.ops[i].time_ps = 1 << (4 * i);
        d.ops[i].parameter_bytes = 1u << i;
    }
    d.tensors[0] = (rlt_tensor){3, 1, 1, 0}; /* 3 before 1, 0 and 1 before 2 */
    d.tensors[1] = (rlt_tensor){0, 2, 2, 0};
    d.tensors[2] = (rlt_tensor){1, 2, 3, 0};
    d.tensors[3] = (rlt_tensor){3, 2, 4, 0};
    assert_int_equal(build(d.ops, 4, d.tensors, 4, &g), 0);
    assert_int_equal(g->forward_ps, 1 + (1 << 12));
    assert_int_equal(g->backward_ps, 1 << 4);
    assert_int_equal(g->update_ps, 1 << 8);
    assert_int_equal(g->parameter_bytes, 1 + 8);
    static const uint32_t order[] = {0, 3, 1, 2}, bytes[] = {2, 3, 1, 4}, out[] = {0, 1, 2, 2, 4},
                          in[] = {0, 0, 1, 4, 4}, into[] = {2, 0, 1, 3};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(g->order[i], order[i]);
        assert_int_equal(g->tensors[i].bytes, bytes[i]);
        assert_int_equal(g->in[i], into[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(g->out_first[i], out[i]);
        assert_int_equal(g->in_first[i], in[i]);
    }
    rlt_opgraph_free(g);
}

/* A name keeps 63 bytes. */
static void names_of_graphs(void **state)
{
    const rlt_operator one = simple(0, 1);
    (void)state;
    for (size_t length = 62; length < 67; length++) {
        char name[80];
        rlt_opgraph_builder *b = NULL;
        rlt_opgraph *g = NULL;
        memset(name, 'n', sizeof name);
        name[length] = '\0';
        assert_int_equal(rlt_opgraph_begin(name, &b, NULL), 0);
        (void)rlt_opgraph_op(b, &one);
        assert_int_equal(rlt_opgraph_finish(b, &g, NULL), 0);
        assert_int_equal(strlen(g->name), length < 63 ? length : 63);
        rlt_opgraph_free(g);
    }
}

static uint64_t hash(const diamond *d)
{
    rlt_opgraph *g;
    if (build(d->ops, d->n_ops, d->tensors, d->n_tensors, &g))
        fail_msg("%s: %s", err.where, err.what);
    uint64_t h = g->hash;
    rlt_opgraph_free(g);
    return h;
}

static void each_figure_counts(void **state)
{
    const diamond like = new_diamond();
    const uint64_t own = hash(&like);
    (void)state;
    assert_int_equal(own, hash(&like));
    for (int i = 0; i < 14; i++) {
        diamond g = like;
        rlt_operator *o = &g.ops[i % 2 ? 3 : 0];
        rlt_tensor *t = &g.tensors[3];
        switch (i / 2) {
        case 0:
            o->time_ps++;
            break;
        case 1:
            o->launch_ps++;
            break;
        case 2:
            o->parameter_bytes++;
            break;
        case 3:
            o->kept_bytes++;
            break;
        case 4:
            *(i % 2 ? &o->forward : &o->together) = 1;
            break;
        case 5:
            i % 2 ? (void)o->pass++ : (void)(o->splittable = true);
            break;
        default:
            *(i % 2 ? &t->src : &t->dst) = i % 2 ? 1 : 1;
            break;
        }
        assert_true(hash(&g) != own);
        g = like;
        if (i == 0)
            t = &g.tensors[3], t->bytes++;
        else if (i == 1)
            t = &g.tensors[3], t->kind = RLT_TENSOR_FULL;
        else if (i == 2)
            g.ops[2].name = "cc";
        else
            continue;
        assert_true(hash(&g) != own);
    }
}

/* ---- layers ---- */

enum { LAYERS = 8 };

static int make_layers(const rlt_layer_node *layers, uint32_t n, const uint32_t *edges, uint32_t n_edges,
                       double speed, rlt_opgraph **out)
{
    rlt_layer_graph l = {"model", 7, layers, n, edges, n_edges};
    rlt_layer_costs costs = {3000, speed};
    err = (rlt_error){0};
    *out = (rlt_opgraph *)(void *)&err;
    return rlt_opgraph_of_layers(&l, &costs, out, &err);
}

static void wrong_layers(void **state)
{
    static rlt_layer_node many[RLT_MAX_OPERATORS / 3 + 1];
    rlt_layer_node two[2] = {{.name = "in", .kind = "x", .forward_ps = 5}, {.name = "out", .kind = "x"}};
    uint32_t edge[2] = {0, 1};
    rlt_opgraph *g;
    (void)state;
    assert_int_equal(make_layers(two, 2, edge, 1, 1, &g), 0);
    rlt_opgraph_free(g);
    static const struct {
        uint32_t n;
        int code;
        const char *what;
    } rows[] = {{0, RLT_EMALFORMED, "the graph has no layers"},
                {RLT_MAX_OPERATORS / 3 + 1, RLT_ERANGE, "349526 layers, where at most 349525 are possible"}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(make_layers(many, rows[i].n, edge, 0, 1, &g), rows[i].code);
        assert_string_equal(err.what, rows[i].what);
        assert_string_equal(err.where, "model");
        assert_null(g);
    }
    for (uint32_t i = 0; i < RLT_MAX_OPERATORS / 3; i++)
        many[i] = (rlt_layer_node){.name = "l", .kind = "x"};
    assert_int_equal(make_layers(many, RLT_MAX_OPERATORS / 3, edge, 0, 1, &g), RLT_EMALFORMED);
    assert_string_equal(err.what, "no operator has a time: expected a profile with compute times");
    for (int i = 0; i < 2; i++) {
        edge[i] = 2;
        assert_int_equal(make_layers(two, 2, edge, 1, 1, &g), RLT_EMALFORMED);
        assert_string_equal(err.what, "an edge names layer 2, but there are only 2");
        edge[i] = (uint32_t)i;
    }
    for (int i = 0; i < 4; i++) {
        rlt_layer_node wrong[2] = {two[0], two[1]};
        *(i % 2 ? &wrong[i / 2].forward_ps : &wrong[i / 2].backward_ps) = -1;
        assert_int_equal(make_layers(wrong, 2, edge, 1, 1, &g), RLT_ERANGE);
        assert_string_equal(err.where, i / 2 ? "out" : "in");
        assert_string_equal(err.what, "a time below 0");
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(make_layers(two, 2, edge, 1, i ? -1 : 0, &g), RLT_EUSAGE);
        assert_string_equal(err.what, "the optimizer needs more than 0 bytes a microsecond");
    }
}

/* Finds the operator of a pass of a layer. */
static uint32_t op_of(const rlt_opgraph *g, uint32_t layer, uint8_t pass)
{
    uint32_t found = RLT_NONE;
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (g->ops[i].forward == layer && g->ops[i].pass == pass) {
            assert_int_equal(found, RLT_NONE);
            found = i;
        }
    return found;
}

/* Takes a tensor from those that are still to be explained. */
static void take(const rlt_opgraph *g, bool *taken, uint32_t src, uint32_t dst, uint64_t bytes, uint8_t kind)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        if (!taken[i] && t->src == src && t->dst == dst && t->bytes == bytes && t->kind == kind) {
            taken[i] = true;
            return;
        }
    }
    fail_msg("no tensor from %u to %u of %llu bytes", src, dst, (unsigned long long)bytes);
}

static void check_operators(const rlt_opgraph *g, const rlt_layer_node *l, uint32_t layer)
{
    static const char *const prefix[] = {"", "backward ", "update "};
    for (uint8_t pass = 0; pass < 3; pass++) {
        uint32_t i = op_of(g, layer, pass);
        bool there = pass == RLT_OPERATOR_FORWARD ||
                     (!l->input && (pass == RLT_OPERATOR_BACKWARD || l->parameter_bytes));
        char name[32];
        assert_int_equal(i != RLT_NONE, there);
        if (!there)
            continue;
        const rlt_operator *o = &g->ops[i];
        bool holds = pass != RLT_OPERATOR_BACKWARD && l->parameter_bytes;
        snprintf(name, sizeof name, "%s%s", prefix[pass], l->name);
        assert_string_equal(o->name, name);
        assert_string_equal(o->kind, l->kind);
        /* 4 bytes of weights take a microsecond. */
        rlt_time time = pass == RLT_OPERATOR_FORWARD    ? (l->input ? 0 : l->forward_ps)
                        : pass == RLT_OPERATOR_BACKWARD ? l->backward_ps
                                                        : (rlt_time)l->parameter_bytes * (rlt_time)RLT_US / 4;
        assert_int_equal(o->time_ps, time);
        assert_int_equal(o->launch_ps, pass == RLT_OPERATOR_UPDATE ? 0 : 3000);
        assert_int_equal(o->parameter_bytes, holds ? l->parameter_bytes : 0);
        assert_int_equal(o->kept_bytes, pass == RLT_OPERATOR_FORWARD ? l->output_bytes : 0);
        assert_int_equal(o->together, holds ? layer : RLT_NONE);
        assert_int_equal(o->splittable, pass != RLT_OPERATOR_UPDATE && !l->unsplittable);
    }
}

static void random_layers(void **state)
{
    static const char *const names[LAYERS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        dice d = {.seed = seed};
        rlt_layer_node l[LAYERS];
        uint32_t edges[4 * LAYERS], n = 2 + below(&d, LAYERS - 1), n_edges = 0;
        bool taken[8 * LAYERS] = {false};
        rlt_opgraph *g;
        for (uint32_t i = 0; i < n; i++) {
            l[i] = (rlt_layer_node){names[i],
                                    "k",
                                    (rlt_time)roll(&d, 900) + 1,
                                    (rlt_time)roll(&d, 900),
                                    roll(&d, 5) * 10,
                                    below(&d, 2) ? 0 : roll(&d, 5000),
                                    !below(&d, i ? 4 : 2),
                                    !below(&d, 3)};
            for (uint32_t k = 0; i && k < 1 + below(&d, 2); k++, n_edges++) {
                edges[2 * n_edges] = below(&d, i);
                edges[2 * n_edges + 1] = i;
            }
        }
        l[n - 1].input = false;
        if (make_layers(l, n, edges, n_edges, 4, &g))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(g->batch, 7);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t forward = op_of(g, i, RLT_OPERATOR_FORWARD), back = op_of(g, i, RLT_OPERATOR_BACKWARD);
            uint32_t update = op_of(g, i, RLT_OPERATOR_UPDATE);
            check_operators(g, &l[i], i);
            assert_int_equal(forward, i);
            if (back != RLT_NONE)
                take(g, taken, forward, back, l[i].output_bytes, RLT_TENSOR_BATCHED);
            if (update != RLT_NONE)
                take(g, taken, back, update, l[i].parameter_bytes, RLT_TENSOR_GRADIENT);
        }
        for (uint32_t e = 0; e < n_edges; e++) {
            uint32_t a = edges[2 * e], b = edges[2 * e + 1];
            uint32_t x = op_of(g, b, RLT_OPERATOR_BACKWARD), y = op_of(g, a, RLT_OPERATOR_BACKWARD);
            take(g, taken, a, b, l[a].output_bytes, RLT_TENSOR_BATCHED);
            if (x != RLT_NONE && y != RLT_NONE)
                take(g, taken, x, y, l[a].output_bytes, RLT_TENSOR_BATCHED);
        }
        for (uint32_t i = 0; i < g->n_tensors; i++)
            assert_true(taken[i]);
        rlt_opgraph_free(g);
    }
}

/* ---- groups ---- */

/* Operators of one group have the least number that reaches them; groups are numbered as they appear. */
static void random_base_groups(void **state)
{
    enum { N = 9 };
    static const char *const names[N] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        dice d = {.seed = seed};
        rlt_operator ops[N];
        rlt_tensor tensors[2 * N];
        uint32_t n = 0, of[N], group[N], groups = 0, found;
        rlt_opgraph *g;
        for (uint32_t i = 0; i < N; i++) {
            of[i] = i;
            ops[i] = (rlt_operator){.name = names[i], .kind = "x", .time_ps = 1, .forward = i};
            ops[i].together = below(&d, 3) ? RLT_NONE : below(&d, N);
            ops[i].pass = i && below(&d, 2) ? RLT_OPERATOR_BACKWARD : RLT_OPERATOR_FORWARD;
            for (uint32_t k = 0; i && k < 1 + below(&d, 2); k++)
                tensors[n++] = (rlt_tensor){below(&d, i), i, 1, (uint8_t)below(&d, 3)};
        }
        if (build(ops, N, tensors, n, &g))
            fail_msg("%s: %s", err.where, err.what);
        for (int again = 0; again < N; again++)
            for (uint32_t i = 0; i < N; i++)
                for (uint32_t k = 0; k < N; k++) {
                    bool one = ops[i].together != RLT_NONE && ops[i].together == ops[k].together, fed = false;
                    for (uint32_t t = 0; t < n; t++)
                        fed = fed || tensors[t].dst == i;
                    for (uint32_t t = 0; t < n && !fed && ops[i].pass == RLT_OPERATOR_FORWARD; t++)
                        one = one || (tensors[t].src == i && tensors[t].dst == k &&
                                      tensors[t].kind == RLT_TENSOR_FULL);
                    if (one)
                        of[i] = of[k] = of[i] < of[k] ? of[i] : of[k];
                }
        assert_int_equal(rlt_opgraph_base_groups(g, group, &found, &err), 0);
        for (uint32_t i = 0; i < N; i++) {
            groups += of[i] == i;
            assert_int_equal(group[i], of[i] == i ? groups - 1 : group[of[i]]);
        }
        assert_int_equal(found, groups);
        rlt_opgraph_free(g);
    }
}

/* Longer ones first, of equal ones the lower number; empty ones are left out, even where others take no
 * time. */
static void groups_in_order(void **state)
{
    static const uint32_t of_op[4] = {3, 5, 1, 3};
    diamond d = new_diamond();
    rlt_opgraph *g;
    rlt_grouping p;
    (void)state;
    d.ops[0].time_ps = d.ops[3].time_ps = 5;
    d.ops[1].time_ps = 0;
    assert_int_equal(build(d.ops, 4, d.tensors, 4, &g), 0);
    assert_int_equal(rlt_grouping_make(g, of_op, 6, &p, &err), 0);
    assert_int_equal(p.n, 3);
    assert_true(p.time_ps[0] == 10 && p.time_ps[1] == 10 && p.time_ps[2] == 0);
    assert_true(p.of_op[0] == 1 && p.of_op[1] == 2 && p.of_op[2] == 0 && p.of_op[3] == 1);
    rlt_grouping_free(&p);
    assert_int_equal(rlt_grouping_make(g, of_op, 5, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "group 5, where less than 5 is possible");
    assert_string_equal(err.where, "b");
    rlt_opgraph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_graphs),
        cmocka_unit_test(ends_of_tensors),
        cmocka_unit_test(limits),
        cmocka_unit_test(sizes),
        cmocka_unit_test(totals),
        cmocka_unit_test(each_figure_counts),
        cmocka_unit_test(wrong_layers),
        cmocka_unit_test(random_layers),
        cmocka_unit_test(random_base_groups),
        cmocka_unit_test(groups_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
