/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ASTRA-sim's doubleBinaryTree all-reduce, event by event. Chunks alternate between two trees, each the
 * mirror image of the other. A rank begins its next chunk as soon as it has sent the last of this one. Chunks
 * therefore overlap a little, and ranks end at different times.
 *
 * The n = 2^k ranks are numbered in order. Rank 0 is the root with one child, n/2, whose subtree is a perfect
 * tree over 1 .. n-1. A node i with lowest set bit b has the children i - b/2 and i + b/2; it is a leaf if b
 * = 1. Example: n = 8 has root 0, its child 4, the children 2 and 6 of 4, and the leaves 1, 3, 5, 7.
 *
 * Whole chunks go up and down. A leaf spends the endpoint delay before it sends and after it receives. Every
 * other node spends an endpoint delay and a local reduction on each way, for both children at once.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "workload/timing/astra_model.h"
#include "workload/timing/astra_system.h"

#define MAX_WORK ((uint64_t)400000000)

typedef struct tree {
    const rlt_astra_ranks *r;
    bool mirrored;
    uint64_t chunk, leaf_ns, inner_ns;
    /* time from which each rank is free for this chunk; then, time at which it is done with it */
    uint64_t *start;
    uint64_t *at; /* by node: ready to send up, later arrived from above */
} tree;

static uint32_t position(const tree *t, uint32_t node)
{
    return t->mirrored ? t->r->n - 1 - node : node;
}

static uint64_t price(const tree *t, uint32_t from, uint32_t to)
{
    uint32_t a = position(t, from), b = position(t, to);
    const uint32_t *list = t->r->list;
    return rlt__astra_pair(t->r->a, list ? list[a] : a, list ? list[b] : b, t->chunk);
}

static uint64_t *start_of(const tree *t, uint32_t node)
{
    return &t->start[position(t, node)];
}

/* Returns when a node has processed the data of a child. */
static uint64_t taken(const tree *t, uint32_t node, uint32_t child)
{
    uint64_t arrival = rlt__astra_bound((rlt_astra_wide)t->at[child] + price(t, child, node));
    uint64_t from = arrival > *start_of(t, node) ? arrival : *start_of(t, node);
    return rlt__astra_bound((rlt_astra_wide)from + t->inner_ns);
}

static void run_chunk(tree *t)
{
    uint32_t n = t->r->n;
    for (uint32_t b = 1; b <= n / 2; b *= 2) {
        for (uint32_t i = b; i < n; i += 2 * b) {
            uint64_t left = b > 1 ? taken(t, i, i - b / 2) : *start_of(t, i) + t->leaf_ns;
            uint64_t right = b > 1 ? taken(t, i, i + b / 2) : left;
            t->at[i] = left > right ? left : right;
        }
    }
    *start_of(t, 0) = taken(t, 0, n / 2);
    t->at[n / 2] = rlt__astra_bound((rlt_astra_wide)*start_of(t, 0) + price(t, 0, n / 2));
    for (uint32_t b = n / 2; b > 0; b /= 2) {
        for (uint32_t i = b; i < n; i += 2 * b) {
            uint64_t done = rlt__astra_bound((rlt_astra_wide)t->at[i] + (b > 1 ? t->inner_ns : t->leaf_ns));
            *start_of(t, i) = done;
            for (int side = 0; side < 2 && b > 1; side++) {
                uint32_t child = side ? i + b / 2 : i - b / 2;
                t->at[child] = rlt__astra_bound((rlt_astra_wide)done + price(t, i, child));
            }
        }
    }
}

int rlt__astra_tree(const rlt_astra_ranks *r, uint64_t chunk, uint32_t chunks, uint64_t *end, rlt_error *err)
{
    const rlt_astra *a = r->a;
    uint64_t lanes = a->system.active_chunks < chunks ? a->system.active_chunks : chunks;
    if ((uint64_t)r->n * chunks > MAX_WORK)
        return rlt__astra_unsupported(RLT_ASTRA_ALL_REDUCE, "too many chunks and ranks for doubleBinaryTree",
                                      err);
    uint64_t *times = calloc((size_t)(lanes + 1) * r->n, sizeof *times);
    if (!times)
        return rlt_nomem(err);
    tree t = {.r = r,
              .chunk = chunk,
              .leaf_ns = a->system.endpoint_ns,
              .inner_ns =
                  rlt__astra_bound((rlt_astra_wide)a->system.endpoint_ns + rlt__astra_reduce(a, chunk)),
              .at = times + lanes * r->n};
    *end = 0;
    for (uint32_t c = 0; c < chunks; c++) {
        t.mirrored = c % 2 == 1;
        t.start = times + c % lanes * r->n; /* state left by the chunk `active` places before */
        run_chunk(&t);
    }
    for (uint64_t i = 0; i < lanes * r->n; i++)
        *end = times[i] > *end ? times[i] : *end;
    free(times);
    return 0;
}
