/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ASTRA-sim collectives over a list of ranks: all dimensions as one (oneRing, ...), or a group smaller than
 * the cluster, which ASTRA-sim turns into a ring of its ranks. A message costs what rlt__astra_pair gives for
 * its ranks.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "workload/timing/astra_model.h"
#include "workload/timing/astra_system.h"

#define MAX_WORK ((uint64_t)400000000) /* limit on steps of the irregular ring walk: seconds */

static uint32_t rank_at(const rlt_astra_ranks *r, uint64_t i)
{
    uint32_t at = (uint32_t)(i % r->n);
    return r->list ? r->list[at] : at;
}

/* Computes the longest message to a partner `stride` further (halving: partners exchange bits). Fails if
 * ranks differ. */
static int stride_ns(const rlt_astra_ranks *r, int kind, bool exchange, uint64_t stride, uint64_t bytes,
                     uint64_t *ns, rlt_error *err)
{
    for (uint32_t i = 0; i < r->n; i++) {
        uint64_t to = exchange ? i ^ stride : i + stride,
                 cost = rlt__astra_pair(r->a, rank_at(r, i), rank_at(r, to), bytes);
        if (i > 0 && cost != *ns)
            return rlt__astra_unsupported(
                kind, "this algorithm has no closed form for ranks at unequal distances; use ring", err);
        *ns = cost;
    }
    return 0;
}

static int listed_halving(const rlt_astra_ranks *r, int kind, uint64_t chunk, rlt_astra_wide *total,
                          rlt_error *err)
{
    const rlt_astra *a = r->a;
    int k = rlt__astra_log2(r->n), rc = 0;
    rlt_astra_wide down = 0, up = 0, reduce = 0, e = a->system.endpoint_ns;
    for (int i = 1; i <= k && rc == 0; i++) {
        uint64_t cost = 0;
        rc = stride_ns(r, kind, true, (uint64_t)1 << (i - 1), chunk >> i, &cost, err);
        down += cost;
        if (rc == 0)
            rc = stride_ns(r, kind, true, (uint64_t)1 << (i - 1), chunk << (i - 1), &cost, err);
        up += cost;
        reduce += i > 1 ? rlt__astra_reduce(a, chunk >> i) : 0;
    }
    if (kind == RLT_ASTRA_ALL_REDUCE)
        *total = 2 * down + reduce + (2 * (uint64_t)k + 1) * e;
    else
        *total = (kind == RLT_ASTRA_ALL_GATHER ? up : down + reduce) + ((uint64_t)k + 1) * e;
    return rc;
}

/* Computes a direct exchange. A phase lasts as long as a rank's farthest message, which must take all ranks
 * equally long. */
static int listed_direct(const rlt_astra_ranks *r, int kind, uint64_t chunk, rlt_astra_wide *total,
                         rlt_error *err)
{
    const rlt_astra *a = r->a;
    uint64_t m = kind == RLT_ASTRA_ALL_GATHER ? chunk : chunk / r->n, e = a->system.endpoint_ns, far = 0;
    if ((uint64_t)r->n * r->n > MAX_WORK)
        return rlt__astra_unsupported(kind, "too many ranks for a direct exchange over all dimensions", err);
    for (uint32_t i = 0; i < r->n; i++) {
        uint64_t own = 0;
        for (uint32_t j = 0; j < r->n; j++) {
            uint64_t cost = i == j ? 0 : rlt__astra_pair(a, rank_at(r, i), rank_at(r, j), m);
            own = cost > own ? cost : own;
        }
        if (i > 0 && own != far)
            return rlt__astra_unsupported(
                kind, "a direct exchange has no closed form for ranks at unequal distances; use ring", err);
        far = own;
    }
    uint64_t reduce =
        kind == RLT_ASTRA_ALL_REDUCE || kind == RLT_ASTRA_REDUCE_SCATTER ? rlt__astra_reduce(a, m) : 0;
    *total = kind == RLT_ASTRA_ALL_REDUCE ? 2 * far + reduce + 3 * e : far + reduce + 2 * e;
    return 0;
}

typedef struct walk {
    uint64_t steps, reducing; /* the first `reducing` steps reduce */
    uint64_t bytes;
} walk;

static walk ring_walk(int kind, uint64_t n, uint64_t chunk)
{
    switch (kind) {
    case RLT_ASTRA_ALL_REDUCE:
        return (walk){2 * (n - 1), n - 1, chunk / n};
    case RLT_ASTRA_REDUCE_SCATTER:
        return (walk){n - 1, n - 1, chunk / n};
    case RLT_ASTRA_ALL_GATHER:
        return (walk){n - 1, 0, chunk};
    default:
        return (walk){n * (n - 1) / 2, 0, chunk / n};
    }
}

/* Walks a ring whose neighbours are unevenly far apart: each rank's time step by step, where a step waits for
 * the step before it. */
static int uneven_ring(const rlt_astra_ranks *r, int kind, const walk *w, uint32_t chunks, uint64_t *end,
                       rlt_error *err)
{
    uint32_t n = r->n;
    if (w->steps * n > MAX_WORK / chunks)
        return rlt__astra_unsupported(kind, "too many ranks at unequal distances", err);
    uint64_t *now = calloc((size_t)n * 3, sizeof *now), *next = now + n, *price = now + 2 * (size_t)n;
    if (!now)
        return rlt_nomem(err);
    uint64_t *block = now, e = r->a->system.endpoint_ns, reduce = rlt__astra_reduce(r->a, w->bytes);
    for (uint32_t i = 0; i < n; i++)
        price[i] = rlt__astra_pair(r->a, rank_at(r, i), rank_at(r, (uint64_t)i + 1), w->bytes);
    for (uint32_t c = 0; c < chunks; c++) {
        for (uint32_t i = 0; i < n; i++)
            now[i] += e;
        for (uint64_t s = 0; s < w->steps; s++) {
            for (uint32_t i = 0; i < n; i++) {
                uint32_t before = i ? i - 1 : n - 1;
                uint64_t arrival = now[before] + price[before];
                next[i] = rlt__astra_bound((rlt_astra_wide)(arrival > now[i] ? arrival : now[i]) + e +
                                           (s < w->reducing ? reduce : 0));
            }
            uint64_t *t = now;
            now = next;
            next = t;
        }
    }
    *end = 0;
    for (uint32_t i = 0; i < n; i++)
        *end = now[i] > *end ? now[i] : *end;
    free(block);
    return 0;
}

/* Computes chunks in rounds of `active` concurrent ones; they never share links. */
static int rounds(const rlt_astra *a, rlt_astra_wide each, uint32_t chunks, uint64_t *end, rlt_error *err)
{
    uint64_t n = (chunks + a->system.active_chunks - 1) / a->system.active_chunks;
    if (each > RLT_ASTRA_MAX_NS / n)
        return rlt_fail(err, RLT_ERANGE, "--timing astra",
                        "takes longer than 26 days, the limit of simulated time");
    *end = n * (uint64_t)each;
    return 0;
}

int rlt__astra_listed(const rlt_astra_ranks *r, int kind, uint8_t algorithm, uint64_t chunk, uint32_t chunks,
                      uint64_t *end, rlt_error *err)
{
    const rlt_astra *a = r->a;
    rlt_astra_wide each = 0;
    int rc = rlt__astra_check(kind, algorithm, r->n, err);
    if (rc < 0)
        return rc;
    if (algorithm == RLT_ASTRA_TREE)
        return rlt__astra_tree(r, chunk, chunks, end, err);
    if (algorithm == RLT_ASTRA_RING) {
        walk w = ring_walk(kind, r->n, chunk);
        uint64_t cost = 0;
        if (stride_ns(r, kind, false, 1, w.bytes, &cost, NULL) < 0)
            return uneven_ring(r, kind, &w,
                               (uint32_t)((chunks + a->system.active_chunks - 1) / a->system.active_chunks),
                               end, err);
        each = (rlt_astra_wide)w.steps * cost + (rlt_astra_wide)w.reducing * rlt__astra_reduce(a, w.bytes) +
               (rlt_astra_wide)(w.steps + 1) * a->system.endpoint_ns;
    } else if (algorithm == RLT_ASTRA_DIRECT) {
        rc = listed_direct(r, kind, chunk, &each, err);
    } else {
        rc = listed_halving(r, kind, chunk, &each, err);
    }
    return rc < 0 ? rc : rounds(a, each, chunks, end, err);
}
