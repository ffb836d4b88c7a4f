/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random graphs of PipeDream as programs: which rank runs which nodes in which order, messages across the cuts
 * and their gradients, and reductions among copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/text_file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { NODES = 9 };

typedef struct node {
    bool input;
    uint64_t ps[2]; /* forward, backward */
    uint32_t output, parameters, stage;
} node;

typedef struct graph {
    dice d;
    uint32_t n, stages, copies;
    node nodes[NODES];
    bool edge[NODES][NODES]; /* from, to: a later one */
    char text[1 << 14];
    size_t used;
} graph;

static void say_edges(graph *g, bool first)
{
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = 0; k < g->n; k++)
            if (g->edge[i][k] && first == ((i + k) % 3 == 0))
                TEST_SAY(g, "\tnode%u -- node%u\n", i, k);
}

static void draw(graph *g, bool staged)
{
    uint32_t order[NODES];
    g->n = 1 + below(&g->d, NODES);
    g->stages = staged ? 1 + below(&g->d, g->n < 4 ? g->n : 4) : 0;
    g->copies = 1 + below(&g->d, 3);
    for (uint32_t i = 0; i < g->n; i++) {
        node *k = &g->nodes[i];
        *k = (node){.input = below(&g->d, 5) == 0,
                    .output = below(&g->d, 4) ? 1 + below(&g->d, 1000) : 0,
                    .parameters = below(&g->d, 3) ? 1 + below(&g->d, 1000) : 0,
                    .stage = staged ? (i < g->stages ? i : below(&g->d, g->stages)) : 0};
        k->ps[0] = roll(&g->d, 2000000000);
        k->ps[1] = roll(&g->d, 2000000000);
        for (uint32_t to = i + 1; to < g->n; to++)
            g->edge[i][to] = below(&g->d, 3) == 0;
        order[i] = i;
    }
    say_edges(g, true);
    for (uint32_t left = g->n; left > 0; left--) {
        uint32_t at = below(&g->d, left), i = order[at];
        const node *k = &g->nodes[i];
        order[at] = order[left - 1];
        TEST_SAY(g, "node%u -- %s%u -- forward_compute_time=%llu.%09llu, backward_compute_time=%llu.%09llu, ",
                 i, k->input ? "Input" : "Layer", i, (unsigned long long)k->ps[0] / 1000000000,
                 (unsigned long long)k->ps[0] % 1000000000, (unsigned long long)k->ps[1] / 1000000000,
                 (unsigned long long)k->ps[1] % 1000000000);
        TEST_SAY(g, "activation_size=%u, parameter_size=%u", k->output, k->parameters);
        if (staged)
            TEST_SAY(g, " -- stage_id=%u", k->stage);
        TEST_SAY(g, "\n");
    }
    say_edges(g, false);
}

static rlt_program *read_graph(graph *g, uint32_t ranks)
{
    char path[] = "/tmp/ringlet-pipedream-XXXXXX";
    const char *list = path;
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = ranks};
    rlt_program *p = NULL;
    rlt_error err = {0};
    test_write_new(path, g->text, g->used);
    int rc = rlt_reader_pipedream.read(&list, 1, &o, &p, &err);
    unlink(path);
    if (rc)
        fail_msg("%s: %s\n%s", err.where, err.what, g->text);
    assert_true(!*err.where && !*err.what);
    return p;
}

/* The operation of a rank with this kind and name; of messages, the one with this rank; else RLT_NONE. */
static uint32_t find(const rlt_program *p, uint32_t rank, rlt_op_kind kind, const char *what, uint32_t of,
                     const char *word, uint32_t peer)
{
    char name[64];
    uint32_t found = RLT_NONE;
    snprintf(name, sizeof name, "%s %s%u", what, word, of);
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const rlt_op *o = &p->ops[i];
        if (o->kind != kind || strcmp(rlt_program_string(p, o->name), name) != 0)
            continue;
        if (kind == RLT_OP_SEND || kind == RLT_OP_RECV) {
            const rlt_comm *c = &p->comms[o->comm];
            assert_int_equal(o->member, kind == RLT_OP_RECV);
            if (p->ops[p->comm_ops[c->first_op + (kind == RLT_OP_SEND)]].rank != peer)
                continue;
        }
        assert_int_equal(found, RLT_NONE);
        found = i;
    }
    return found;
}

static bool waits(const rlt_program *p, uint32_t op, uint32_t on)
{
    const rlt_op *o = &p->ops[op];
    for (uint32_t k = 0; k < o->n_deps; k++)
        if (p->deps[o->first_dep + k] == on)
            return true;
    return false;
}

/* How the operations of a rank come out: counts of those found, and of what they wait for. */
typedef struct tally {
    uint32_t ops, deps;
} tally;

static void expect_message(const rlt_program *p, uint32_t rank, uint32_t peer, bool sends, const char *what,
                           const graph *g, uint32_t from, uint32_t beside, tally *t)
{
    uint32_t op = find(p, rank, sends ? RLT_OP_SEND : RLT_OP_RECV, what, from, "node", peer);
    assert_int_not_equal(op, RLT_NONE);
    assert_int_equal(p->comms[p->ops[op].comm].bytes, g->nodes[from].output);
    assert_int_equal(p->ops[op].resource, RLT_NONE);
    assert_int_equal(p->ops[op].purpose, RLT_FOR_PP);
    assert_true(sends ? waits(p, op, beside) : waits(p, beside, op));
    t->ops++;
    t->deps++;
}

/* Messages of one node's output to another stage, at a rank of either side. */
static void expect_crossing(const rlt_program *p, const graph *g, uint32_t rank, uint32_t from,
                            uint32_t to_stage, const uint32_t (*ops)[2], tally *t)
{
    uint32_t stage = rank / g->copies, copy = rank % g->copies, first = RLT_NONE;
    uint32_t peer = (stage == to_stage ? g->nodes[from].stage : to_stage) * g->copies + copy;
    bool needed = false;
    for (uint32_t to = 0; to < g->n; to++) {
        if (!g->edge[from][to] || g->nodes[to].stage != to_stage)
            continue;
        needed = true;
        if (stage == to_stage && (first == RLT_NONE || ops[to][0] < ops[first][0]))
            first = to;
    }
    if (!needed || g->nodes[from].output == 0 || g->nodes[from].stage == to_stage)
        return;
    bool gradient = !g->nodes[from].input;
    if (stage == to_stage) {
        expect_message(p, rank, peer, false, "output of", g, from, ops[first][0], t);
        if (gradient)
            expect_message(p, rank, peer, true, "gradient of", g, from, ops[first][1], t);
    } else if (stage == g->nodes[from].stage) {
        expect_message(p, rank, peer, true, "output of", g, from, ops[from][0], t);
        if (gradient)
            expect_message(p, rank, peer, false, "gradient of", g, from, ops[from][1], t);
    }
}

static void expect_reduction(const rlt_program *p, const graph *g, uint32_t rank, uint32_t i, uint32_t after,
                             tally *t)
{
    uint32_t op = find(p, rank, RLT_OP_COLLECTIVE, "parameters of", i, "node", 0);
    if (g->copies < 2 || g->nodes[i].parameters == 0) {
        assert_int_equal(op, RLT_NONE);
        return;
    }
    assert_int_not_equal(op, RLT_NONE);
    const rlt_comm *c = &p->comms[p->ops[op].comm];
    char label[32];
    snprintf(label, sizeof label, "stage %u", g->nodes[i].stage);
    assert_string_equal(rlt_program_string(p, p->group_names[c->group]), label);
    assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], g->copies);
    for (uint32_t k = 0; k < g->copies; k++)
        assert_int_equal(p->group_ranks[p->group_first[c->group] + k], g->nodes[i].stage * g->copies + k);
    assert_int_equal(c->kind, RLT_ALL_REDUCE);
    assert_int_equal(c->bytes, g->nodes[i].parameters);
    assert_int_equal(p->ops[op].purpose, RLT_FOR_DP);
    assert_string_equal(rlt_program_string(p, p->resources[p->ops[op].resource].name), "communication");
    assert_true(waits(p, op, after));
    t->ops++;
    t->deps++;
}

/* Computes follow one another: forward in an order that the edges allow, then backward in the reverse. Fills
 * the operations of each node. */
static void check_computes(const rlt_program *p, const graph *g, uint32_t rank, uint32_t (*ops)[2], tally *t)
{
    static const char *const ways[] = {"forward", "backward"};
    uint32_t last = RLT_NONE, mine = 0;
    for (uint32_t i = 0; i < g->n; i++)
        for (int w = 0; w < 2 && g->nodes[i].stage == rank / g->copies; w++) {
            uint32_t op = ops[i][w] = find(p, rank, RLT_OP_COMPUTE, ways[w], i, "node", 0);
            assert_int_not_equal(op, RLT_NONE);
            assert_int_equal(p->ops[op].duration_ps, g->nodes[i].input ? 0 : g->nodes[i].ps[w]);
            assert_string_equal(rlt_program_string(p, p->resources[p->ops[op].resource].name), "compute");
            mine += w == 1;
        }
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        if (p->ops[i].kind != RLT_OP_COMPUTE)
            continue;
        if (last != RLT_NONE)
            assert_true(waits(p, i, last));
        t->deps += last != RLT_NONE;
        t->ops++;
        last = i;
    }
    assert_int_equal(t->ops, 2 * mine);
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = 0; k < g->n; k++) {
            if (i == k || g->nodes[i].stage != rank / g->copies || g->nodes[k].stage != rank / g->copies)
                continue;
            assert_true(!g->edge[i][k] || ops[i][0] < ops[k][0]);
            assert_true((ops[i][0] < ops[k][0]) == (ops[i][1] > ops[k][1]));
            assert_true(ops[i][0] < ops[k][1]);
        }
}

static void stages(void **state)
{
    static graph g;
    uint64_t hash = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        memset(&g, 0, sizeof g);
        g.d.seed = seed;
        draw(&g, true);
        uint32_t ranks = g.stages * g.copies;
        rlt_program *p = read_graph(&g, g.copies > 1 || seed % 2 ? ranks : 0);
        assert_string_equal(p->reader, "pipedream");
        assert_int_equal(p->n_ranks, ranks);
        assert_int_equal(p->n_layers, g.n);
        assert_true(p->hash != hash);
        hash = p->hash;
        for (uint32_t r = 0; r < ranks; r++) {
            uint32_t ops[NODES][2], deps = 0;
            tally t = {0};
            check_computes(p, &g, r, ops, &t);
            for (uint32_t from = 0; from < g.n; from++)
                for (uint32_t s = 0; s < g.stages; s++)
                    expect_crossing(p, &g, r, from, s, ops, &t);
            for (uint32_t i = 0; i < g.n; i++)
                if (g.nodes[i].stage == r / g.copies)
                    expect_reduction(p, &g, r, i, ops[i][1], &t);
            assert_int_equal(t.ops, p->rank_first[r + 1] - p->rank_first[r]);
            for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++)
                deps += p->ops[i].n_deps;
            assert_int_equal(t.deps, deps);
        }
        rlt_program_free(p);
    }
}

/* Without stages all ranks run all nodes, in whole nanoseconds, and reduce parameters over all ranks. */
static void alike(void **state)
{
    static graph g;
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        memset(&g, 0, sizeof g);
        g.d.seed = seed;
        draw(&g, false);
        uint32_t ranks = g.copies > 1 ? g.copies : 2;
        rlt_program *p = read_graph(&g, g.copies > 1 ? ranks : 0);
        assert_int_equal(p->n_ranks, ranks);
        assert_int_equal(p->n_layers, g.n);
        for (uint32_t r = 0; r < ranks; r++) {
            uint32_t ops[NODES][2], n = 0;
            for (uint32_t i = 0; i < g.n; i++) {
                const node *k = &g.nodes[i];
                const char *word = k->input ? "Input" : "Layer";
                for (int w = 0; w < 2; w++) {
                    uint64_t ns = k->input ? 0 : (k->ps[w] + 500) / 1000;
                    ops[i][w] = find(p, r, RLT_OP_COMPUTE, w ? "input gradient" : "forward", i, word, 0);
                    assert_true((ops[i][w] != RLT_NONE) == (ns > 0));
                    n += ns > 0;
                    if (ns)
                        assert_int_equal(p->ops[ops[i][w]].duration_ps, ns * 1000);
                }
                uint32_t sum = find(p, r, RLT_OP_COLLECTIVE, "weight gradient of", i, word, 0);
                assert_true((sum != RLT_NONE) == (k->parameters > 0));
                n += sum != RLT_NONE;
                if (sum == RLT_NONE)
                    continue;
                const rlt_comm *c = &p->comms[p->ops[sum].comm];
                assert_int_equal(c->bytes, k->parameters);
                assert_int_equal(c->kind, RLT_ALL_REDUCE);
                assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], ranks);
                assert_true(k->input || waits(p, sum, ops[i][1]));
            }
            assert_int_equal(n, p->rank_first[r + 1] - p->rank_first[r]);
            for (uint32_t i = 0; i < g.n; i++)
                for (uint32_t k = 0; k < g.n; k++)
                    if (g.edge[i][k] && !g.nodes[i].input && !g.nodes[k].input)
                        assert_true(ops[i][0] < ops[k][0] && ops[i][1] > ops[k][1]);
        }
        rlt_program_free(p);
    }
}

#define NODE(n)                                                                                              \
    "node" n " -- A -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1"
#define TWO_STAGES NODE("1") " -- stage_id=0\n" NODE("2") " -- stage_id=1\n\tnode1 -- node2\n"

/* A circle is found at one of its nodes, not at one behind it. The first error is kept. */
static void circles(void **state)
{
    static const char text[] =
        NODE("1") "\n" NODE("2") "\n" NODE("3") "\n\tnode2 -- node3\n\tnode3 -- node2\n\tnode1 -- node2\n";
    static const char fine[] = TWO_STAGES;
    static const struct {
        const char *text;
        uint32_t ranks;
        int code;
        const char *where, *what;
    } rows[] = {
        {text, 2, RLT_ESCHEMA, ":2", "the edges form a cycle through this node"},
        {fine, 2, 0, "", ""},
        {fine, 2000, 0, "", ""}, /* 1000 copies */
        {fine, 3, RLT_ESCHEMA, "ringlet", "3 ranks are not a multiple of 2 stages"},
        {fine, 1 << 24, RLT_ERANGE, "ringlet", "2 nodes on 16777216 ranks exceed 67108864 operations"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-pipedream-XXXXXX";
        const char *list = path;
        rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = rows[i].ranks};
        static rlt_program old;
        rlt_program *p = &old;
        rlt_error err = {0};
        test_write_new(path, rows[i].text, strlen(rows[i].text));
        int rc = rlt_reader_pipedream.read(&list, 1, &o, &p, &err);
        unlink(path);
        assert_true(rc ? !p : p->n_ranks == rows[i].ranks);
        if (rc != rows[i].code || !strstr(err.where, rows[i].where) || !strstr(err.what, rows[i].what))
            fail_msg("%zu: %d, %s: %s", i, rc, err.where, err.what);
        rlt_program_free(p);
    }
    rlt_program *p = NULL;
    rlt_error err = {0};
    rlt_read_options o = {.first_step = -1, .last_step = -1};
    assert_int_equal(rlt_reader_pipedream.read(NULL, 0, &o, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "no trace files");
}

/* Ranks that nobody asks for: one for each stage, or as many whole copies as the topology has room for. */
static void ranks(void **state)
{
    static const struct {
        const char *text;
        uint32_t n_dims, dims[2], ranks, assumed;
    } rows[] = {
        {TWO_STAGES, 0, {0}, 2, 2}, {TWO_STAGES, 1, {5}, 4, 0},     {TWO_STAGES, 2, {3, 3}, 8, 0},
        {TWO_STAGES, 1, {2}, 2, 0}, {NODE("1") "\n", 0, {0}, 2, 2}, {NODE("1") "\n", 2, {3, 3}, 9, 0},
        {TWO_STAGES, 1, {4}, 4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-pipedream-XXXXXX";
        const char *list = path;
        rlt_read_options o = {.first_step = -1, .last_step = -1, .n_dims = rows[i].n_dims};
        rlt_program *p = NULL;
        rlt_error err = {0};
        memcpy(o.dims, rows[i].dims, sizeof rows[i].dims);
        test_write_new(path, rows[i].text, strlen(rows[i].text));
        int rc = rlt_reader_pipedream.read(&list, 1, &o, &p, &err);
        unlink(path);
        assert_int_equal(rc, 0);
        assert_int_equal(p->n_ranks, rows[i].ranks);
        assert_int_equal(p->n_notes, rows[i].assumed > 0);
        if (rows[i].assumed) {
            assert_int_equal(p->notes[0].count, rows[i].assumed);
            assert_non_null(strstr(p->notes[0].text, "number of ranks assumed"));
        }
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages),
        cmocka_unit_test(alike),
        cmocka_unit_test(circles),
        cmocka_unit_test(ranks),
    };
    return cmocka_run_group_tests_name("pipedream_drawn", tests, NULL, NULL);
}
