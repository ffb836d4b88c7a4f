/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forecasts of algorithms compared with sums worked out by hand, in numbers that a double holds. A lap of m
 * members is counted as (m - 1) / m of the closed one. K: bytes of a piece, 512 KiB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/forecast/forecast.h"

#include <math.h>
#include <stdbool.h>

#define K (512.0 * 1024)

#define PORT(k, leaf, B, near, far)                                                                          \
    {                                                                                                        \
        RLT_AXIS_PORT, false, k, leaf, B, near, far                                                          \
    }
#define FULL(k, B, near)                                                                                     \
    {                                                                                                        \
        RLT_AXIS_FULL, false, k, 0, B, near, near                                                            \
    }
#define RING(k, B, near)                                                                                     \
    {                                                                                                        \
        RLT_AXIS_RING, false, k, 0, B, near, near                                                            \
    }
#define LINE(k, B, near)                                                                                     \
    {                                                                                                        \
        RLT_AXIS_LINE, false, k, 0, B, near, near                                                            \
    }
#define JOINED(k, B, near)                                                                                   \
    {                                                                                                        \
        RLT_AXIS_RING, true, k, 0, B, near, near                                                             \
    }

typedef struct row {
    rlt_task task;
    rlt_way way;
    double bytes, in, out; /* seconds towards the root, and from it */
} row;

#define BOTH(task, way, bytes, in, out)                                                                      \
    {                                                                                                        \
        RLT_TASK_##task, RLT_WAY_##way, bytes, in, out                                                       \
    }
#define ROW(task, way, bytes, seconds) BOTH(task, way, bytes, seconds, seconds)

static void hold(const rlt_forecast *net, const row *rows, size_t n)
{
    rlt_forecast f = *net;
    for (f.n = 1, f.n_axes = 0; f.axes[f.n_axes].size; f.n_axes++)
        f.n *= f.axes[f.n_axes].size;
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        f.bytes = r->bytes;
        double in = rlt_forecast_s(&f, r->task, r->way, true),
               out = rlt_forecast_s(&f, r->task, r->way, false);
        bool same =
            isinf(r->in) ? isinf(in) && isinf(out) : fabs(in - r->in) < 1e-9 && fabs(out - r->out) < 1e-9;
        if (!same)
            fail_msg("row %zu: %.9g and %.9g instead of %.9g and %.9g", i, in, out, r->in, r->out);
    }
}
#define HOLD(net, ...) hold(net, (const row[]){__VA_ARGS__}, sizeof((const row[]){__VA_ARGS__}) / sizeof(row))

/* Ring of six: 3 s a link, 1 s a message; 5 hops of 4 s. The farthest is 3 links away: 9 + 1 s. */
static void one_ring(void **state)
{
    (void)state;
    rlt_forecast f = {.message_s = 1, .axes = {RING(6, 2, 3)}};
    HOLD(&f, ROW(BARRIER, RING, 0, 2 * 20), ROW(BARRIER, HIERARCHICAL, 0, 2 * 20),
         ROW(BARRIER, DIRECT, 0, 10),
         /* 1 and 2 places on; one step before and one after, for the two that a power of two leaves over */
         ROW(BARRIER, RECURSIVE, 0, 4 + 7 + 2 * 10), ROW(BARRIER, TREE, 0, INFINITY),
         ROW(BARRIER, RINGS, 0, INFINITY),
         /* 5/6 of 12 bytes at 2 B/s */
         ROW(ROOT, RING, 12, 20 + 5),
         /* three of five come over the same link, with two bytes each */
         ROW(ROOT, DIRECT, 12, 10 + 3), ROW(COPY, DIRECT, 12, 10 + 18), ROW(ROOT, TREE, 12, INFINITY),
         ROW(ROOT, RECURSIVE, 12, INFINITY), ROW(COPY, RECURSIVE, 12, INFINITY));
    rlt_forecast five = {.message_s = 1, .axes = {RING(5, 2, 3)}};
    HOLD(&five, ROW(BARRIER, DIRECT, 0, 7), ROW(COPY, DIRECT, 12, 7 + 12)); /* two members a side */
    rlt_forecast pieces = {.message_s = 1, .axes = {RING(6, K, 3)}};
    HOLD(&pieces,
         /* a piece takes 1 s a link: 5 hops and 2 more pieces */
         ROW(COPY, RING, 3 * K, 20 + 5 + 2), ROW(COPY, RING, 2.5 * K, 20 + 5 * 2.5 / 3 + 2 * 2.5 / 3),
         ROW(COPY, RING, K / 2, 20 + 2.5), ROW(COPY, HIERARCHICAL, 3 * K, 20 + 5 + 2),
         ROW(COPY, HIERARCHICAL, K / 2, 20 + 2.5), /* one piece, in one dimension */
         /* two ways round: two pieces each */
         ROW(COPY, RINGS, 4 * K, 20 + 5 + 1), ROW(COPY, RINGS, K, 20 + 2.5));
}

/* Eight ports, leaves of four: 1 s inside a leaf, 10 s between leaves; half a second a message. */
static void one_switch(void **state)
{
    (void)state;
    rlt_forecast f = {.message_s = 0.5, .tree_pieces = 4, .axes = {PORT(8, 4, 2, 1, 10)}};
    double lap = (6 * 1 + 2 * 10 + 8 * 0.5) * 7 / 8;
    HOLD(&f, ROW(BARRIER, RING, 0, 2 * lap), ROW(BARRIER, DIRECT, 0, 10.5),
         ROW(BARRIER, RECURSIVE, 0, 1.5 + 1.5 + 10.5), ROW(ROOT, RING, 16, lap + 7),
         ROW(ROOT, DIRECT, 16, 10.5 + 7), /* seven shares of 2 bytes at one port */
         ROW(COPY, RINGS, 16, INFINITY),
         /* 3 levels; 4 pieces of 2 bytes, of which a port sends both halves */
         ROW(COPY, TREE, 8, 1.5 + 1.5 + 10.5 + 3 + 3));
    rlt_forecast leaf = {.message_s = 0.5, .tree_pieces = 4, .axes = {PORT(6, 6, 2, 1, 10)}};
    HOLD(&leaf, ROW(BARRIER, RING, 0, 2 * 5 * 1.5), ROW(BARRIER, DIRECT, 0, 1.5),
         ROW(COPY, TREE, 8, 3 * 1.5 + 3 + 3));
}

static void one_of_links_to_all(void **state)
{
    (void)state;
    rlt_forecast f = {.message_s = 0.5, .tree_pieces = 4, .axes = {FULL(8, 2, 1)}};
    HOLD(&f, ROW(BARRIER, HIERARCHICAL, 0, 2 * 1.5), ROW(BARRIER, RING, 0, 2 * 7 * 1.5),
         ROW(COPY, DIRECT, 8, 1.5 + 4), ROW(ROOT, DIRECT, 8, 1.5 + 0.5), ROW(COPY, HIERARCHICAL, 8, 1.5 + 4),
         ROW(COPY, TREE, 8, 3 * 1.5 + 3 * 0.5 + 3 * 0.5), /* each half on a link of its own */
         ROW(COPY, RINGS, 12, 7 * 1.5 + 7)); /* three rings, both ways: 2 bytes each, over 7 links */
    rlt_forecast seven = {.message_s = 0.5, .axes = {FULL(7, K, 1)}};
    HOLD(&seven, ROW(COPY, RINGS, 18 * K, 6 * 1.5 + 6 + 2)); /* six lanes of three pieces */
    rlt_forecast two = {.axes = {FULL(2, K, 1)}};
    HOLD(&two, ROW(COPY, RINGS, K, INFINITY));
}

static void lines_and_rings_of_trees(void **state)
{
    (void)state;
    /* 1, 2 and 4 places on; a piece is 1 byte: 0.75 a level, and 1.5 for each later one */
    rlt_forecast ring = {.message_s = 0.5, .tree_pieces = 4, .axes = {RING(8, 1, 1)}};
    HOLD(&ring, ROW(COPY, TREE, 4, 7 + 1.5 + 3 * 0.75 + 3 * 1.5));
    rlt_forecast line = {.message_s = 0.5, .tree_pieces = 4, .axes = {LINE(8, 1, 1)}};
    HOLD(&line, ROW(COPY, TREE, 4, 7 + 1.5 + 3 * 0.75 + 3 * 1.5), ROW(BARRIER, DIRECT, 0, 7.5),
         ROW(COPY, DIRECT, 4, 7.5 + 7 * 4),
         ROW(BARRIER, RING, 0, 2 * (7 * 1 + 7 + 8 * 0.5) * 7 / 8), /* the way back is 7 links */
         ROW(COPY, RINGS, 4, INFINITY));
    /* On lines, a child may be at the end of the line before: 7, 6 and 4 places; and the place before it. */
    rlt_forecast lines = {.message_s = 0.5, .tree_pieces = 4, .axes = {LINE(8, 1, 1), PORT(2, 2, 2, 5, 5)}};
    HOLD(&lines, ROW(COPY, TREE, 4, 17 + 1.5 + 5 + 5.5 + 4 * 0.75 + 3 * 1.5));
    /* Lines on a ring: one place on, and two. */
    rlt_forecast ringed = {.message_s = 0.5, .tree_pieces = 4, .axes = {LINE(8, 1, 1), RING(4, 2, 5)}};
    HOLD(&ringed, ROW(COPY, TREE, 4, 17 + 1.5 + 5 + 5.5 + 10.5 + 5 * 0.75 + 3 * 1.5));
    /* 1 place on the rings; at the place before; 1 place on the ports, which are slow. */
    rlt_forecast rings = {.tree_pieces = 2, .axes = {RING(2, 4, 1), PORT(3, 3, 1, 5, 5)}};
    HOLD(&rings, ROW(COPY, TREE, 4, 1 + 5 + 5 + 5 + 3 * 2 + 2));
}

/* Rings of four (1 s a link), and three of them behind switches (5 s). In natural order every hop moves on a
 * ring, every fourth to the next ring, too. */
static void two_axes(void **state)
{
    (void)state;
    double lap = (12 * 1 + 3 * 5) * 11.0 / 12;
    rlt_forecast f = {.axes = {RING(4, 4, 1), PORT(3, 3, 1, 5, 5)}};
    HOLD(&f, ROW(BARRIER, RING, 0, 2 * lap), ROW(BARRIER, HIERARCHICAL, 0, 2 * (3 + 10)),
         ROW(BARRIER, DIRECT, 0, 2 + 5), ROW(BARRIER, RECURSIVE, 0, 1 + 2 + 5 + 2 * 7),
         ROW(ROOT, RING, 12, lap + 11), /* one ring, whose slowest link has 1 B/s */
         ROW(COPY, RINGS, 12, INFINITY),
         /* In: 8 of 11 over the port of the root, at 1 B/s. Out: the port has 2, a link of the ring 2 * 3. */
         BOTH(COPY, DIRECT, 12, 7 + 12 * 8, 7 + 12 * 2), BOTH(ROOT, DIRECT, 12, 7 + 8, 7 + 2));
    rlt_forecast slow = {.axes = {RING(4, 1, 1), PORT(3, 3, 2, 5, 5)}};
    HOLD(&slow, BOTH(COPY, DIRECT, 12, 7 + 12 * 4, 7 + 12 * 6));
    f.node = 4; /* a ring for each member of a node: four times the bandwidth between nodes */
    HOLD(&f, ROW(ROOT, RING, 12, lap + 11 / 4.0));
    f.node = 12;
    HOLD(&f, ROW(ROOT, RING, 12, lap + 11));
    f.node = 1;
    HOLD(&f, ROW(ROOT, RING, 12, lap + 11));
    /* Pieces of 1 s on the ring, and 2 s between rings. */
    rlt_forecast p = {.axes = {RING(4, K, 1), PORT(3, 3, K / 2, 5, 5)}};
    HOLD(&p,
         /* 9 hops on rings, 2 between them */
         ROW(COPY, RING, 2 * K, lap + 9 + 2 * 2 + 2),
         ROW(COPY, HIERARCHICAL, 8 * K, 3 + 3 + 10 + 2 * 2 + 7 * 2),
         ROW(COPY, HIERARCHICAL, K, 3 + 0.75 + 10 + 1 + 3 * 0.5),               /* four chunks */
         ROW(COPY, HIERARCHICAL, 512 * K, 3 + 3 * 2 + 10 + 2 * 4 + 255 * 4.0)); /* 256 pieces */
    p.node = 4; /* four chains: on the ring, they share a link */
    HOLD(&p, ROW(COPY, RING, 8 * K, lap + 9 + 2 * 2 + 4), ROW(COPY, RING, K, lap + (9 + 2 * 2) / 4.0));
    /* Nodes of two axes: 4 chains share links of both, while the ports have one each. */
    rlt_forecast three = {.node = 4, .axes = {RING(2, K, 0), RING(2, K / 2, 0), PORT(2, 2, K / 4, 0, 0)}};
    HOLD(&three, ROW(COPY, RING, 8 * K, 4 + 2 * 2 + 4 + 8), ROW(ROOT, RING, 8 * K, 8 * 7 / 8.0 / 0.5));
}

/* Eight in a node, linked to each other: RCCL's rings use four times what one of them does. */
static void nodes_of_eight(void **state)
{
    (void)state;
    rlt_forecast f = {.node = 8, .axes = {FULL(8, K, 0), PORT(2, 2, 100 * K, 0, 0)}};
    HOLD(&f, ROW(ROOT, RING, 16 * K, 15 / 4.0),
         /* 14 hops inside, 1 outside; the second piece of eight chains on a quarter of the links */
         ROW(COPY, RING, 16 * K, 14 + 0.01 + 2));
    rlt_forecast four = {.node = 4, .axes = {FULL(4, K, 0), PORT(2, 2, 100 * K, 0, 0)}};
    HOLD(&four, ROW(ROOT, RING, 8 * K, 7), ROW(COPY, RING, 8 * K, 6 + 0.01 + 4));
    rlt_forecast rings = {.node = 8, .axes = {RING(8, K, 0), PORT(2, 2, 100 * K, 0, 0)}};
    HOLD(&rings, ROW(ROOT, RING, 16 * K, 15));
    rlt_forecast one = {.node = 8, .axes = {FULL(8, K, 0)}};
    HOLD(&one, ROW(ROOT, RING, 8 * K, 7));
}

/* A torus is one dimension of several axes; a ring of two has no second way round. */
static void torus(void **state)
{
    (void)state;
    rlt_forecast f = {.message_s = 0, .axes = {RING(4, K, 1), JOINED(3, K, 5)}};
    HOLD(&f, ROW(BARRIER, HIERARCHICAL, 0, 2 * (12 + 15) * 11.0 / 12),
         ROW(COPY, RINGS, 8 * K, 11 + 11 + 1), /* four lanes of two pieces */
         ROW(COPY, HIERARCHICAL, 2 * K, 27 * 11.0 / 12 + 11 + 1));
    rlt_forecast flat = {.axes = {RING(4, K, 1), JOINED(2, K, 1)}};
    HOLD(&flat, ROW(COPY, RINGS, 4 * K, 7 + 7 + 1));
    rlt_forecast most = {.axes = {RING(16, K, 1), JOINED(16, K, 1)}};
    HOLD(&most, ROW(COPY, RINGS, 4 * K, 255 + 255));
    rlt_forecast more = {.axes = {RING(257, K, 1)}};
    HOLD(&more, ROW(COPY, RINGS, 4 * K, INFINITY));
}

/* Nothing to send takes as long as next to nothing: the latencies are left, or there is no form. */
static void no_bytes(void **state)
{
    (void)state;
    const rlt_forecast nets[] = {
        {.n = 6, .n_axes = 1, .message_s = 1, .tree_pieces = 1, .axes = {RING(6, 2, 3)}},
        {.n = 8,
         .n_axes = 2,
         .node = 4,
         .tree_pieces = 3,
         .axes = {FULL(4, K, 1), PORT(2, 2, 100 * K, 2, 3)}},
        {.n = 16,
         .n_axes = 2,
         .node = 8,
         .tree_pieces = 2,
         .axes = {RING(8, K, 1), PORT(2, 1, 100 * K, 2, 3)}},
        {.n = 12, .n_axes = 2, .tree_pieces = 1, .axes = {RING(4, K, 1), JOINED(3, K, 5)}}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int task = RLT_TASK_BARRIER; task <= RLT_TASK_ROOT; task++)
            for (int way = 0; way < RLT_WAYS; way++)
                for (int inwards = 0; inwards < 2; inwards++) {
                    rlt_forecast f = nets[i];
                    double none = rlt_forecast_s(&f, (rlt_task)task, (rlt_way)way, inwards);
                    f.bytes = 1e-12;
                    double little = rlt_forecast_s(&f, (rlt_task)task, (rlt_way)way, inwards);
                    if (isinf(none) ? !isinf(little) : !(fabs(none - little) < 1e-9))
                        fail_msg("net %zu, task %d, way %d: %g and %g s", i, task, way, none, little);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_ring),       cmocka_unit_test(one_switch),
        cmocka_unit_test(two_axes),       cmocka_unit_test(one_of_links_to_all),
        cmocka_unit_test(nodes_of_eight), cmocka_unit_test(lines_and_rings_of_trees),
        cmocka_unit_test(torus),          cmocka_unit_test(no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
