/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of a message, a local reduction and a chunk's phase in one dimension in ASTRA-sim's analytical
 * back-ends. n: ranks; c: bytes of a chunk; m = c / n; e: endpoint delay; step(m): time of a message; R(m):
 * time of a reduction; q = n(n-1)/2; n = 2^k for halving-doubling.
 *
 *   ring     all-reduce      2 (n-1) step(m) + (n-1) R(m) + (2n-1) e
 *            reduce-scatter  (n-1) (step(m) + R(m)) + n e
 *            all-gather      (n-1) step(c) + n e
 *            all-to-all      q step(m) + (q+1) e
 *   direct   all-reduce      2 step(m) + R(m) + 3 e
 *            reduce-scatter  step(m) + R(m) + 2 e
 *            all-gather      step(c) + 2 e
 *            all-to-all      step(m) + 2 e
 *            each over the farthest distance
 *   halving- all-reduce      2 sum(i=1..k) step(c/2^i) + sum(i=2..k) R(c/2^i) + (2k+1) e
 *   doubling the others      its halves
 *            over the distances 1, 2, 4, ...
 *
 * Congestion-unaware, over h hops: step(m) = floor(h latency + m / bandwidth). Congestion-aware, if messages
 * do not meet: step(m) = h floor(latency + m / bandwidth), stored and forwarded. In a direct exchange through
 * a switch, n - 2 messages precede the last one, each for floor(m / bandwidth). Example: a ring of n = 4, c =
 * 4000 bytes, 1 byte/ns, latency 500 ns, e = 10 ns, R = 0: step(1000) = 1500 ns, and an all-reduce takes 6 *
 * 1500 + 7 * 10 = 9070 ns.
 */
#include "sim/base/error.h"
#include "workload/timing/astra_model.h"
#include "workload/timing/astra_system.h"

/* Returns floor(hops * latency + m / bandwidth) in nanoseconds, exactly. */
static uint64_t step_ns(const rlt_astra_dim *d, uint64_t hops, uint64_t bytes)
{
    rlt_astra_wide ps_times_bw =
        (rlt_astra_wide)hops * (uint64_t)d->latency_ps * d->bw_Bps + (rlt_astra_wide)bytes * 1000000000000u;
    rlt_astra_wide ns = ps_times_bw / ((rlt_astra_wide)1000 * d->bw_Bps);
    return rlt__astra_bound(ns);
}

static uint64_t hops(const rlt_astra_dim *d, uint64_t distance)
{
    if (d->shape == RLT_ASTRA_SHAPE_SWITCH)
        return 2;
    if (d->shape == RLT_ASTRA_SHAPE_FULL)
        return 1;
    distance %= d->size;
    return distance < d->size - distance ? distance : d->size - distance;
}

static uint64_t message_ns(const rlt_astra *a, const rlt_astra_dim *d, uint64_t h, uint64_t bytes)
{
    return a->system.shares_links ? rlt__astra_bound((rlt_astra_wide)h * step_ns(d, 1, bytes))
                                  : step_ns(d, h, bytes);
}

/* Returns the time of one direct exchange. `far`: hops of the farthest message. */
static uint64_t direct_step(const rlt_astra *a, const rlt_astra_dim *d, uint64_t far, uint64_t bytes)
{
    rlt_astra_wide queue = 0;
    if (a->system.shares_links && d->shape == RLT_ASTRA_SHAPE_SWITCH)
        queue = (rlt_astra_wide)(d->size - 2) * step_ns(d, 0, bytes);
    return rlt__astra_bound(queue + message_ns(a, d, far, bytes));
}

uint64_t rlt__astra_reduce(const rlt_astra *a, uint64_t bytes)
{
    if (a->system.memory_Bps == 0)
        return 0;
    return rlt__astra_bound((rlt_astra_wide)bytes * 1000000000u / a->system.memory_Bps * 3);
}

uint64_t rlt__astra_pair(const rlt_astra *a, uint32_t from, uint32_t to, uint64_t bytes)
{
    for (uint32_t d = 0; d < a->n_dims; d++) {
        uint32_t size = a->dims[d].size, x = from % size, y = to % size;
        if (x != y)
            return message_ns(a, &a->dims[d], hops(&a->dims[d], x > y ? x - y : y - x), bytes);
        from /= size;
        to /= size;
    }
    return 0;
}

int rlt__astra_log2(uint64_t n)
{
    return n && (n & (n - 1)) == 0 ? 63 - __builtin_clzll(n) : -1;
}

/* Returns the time by which two phases overlap. If the farthest messages of a direct exchange spread over a
 * ring, ASTRA-sim begins the second phase before the last messages of the first one matter: measured 2
 * latencies less, as soon as serialisation hides them. */
static uint64_t direct_overlap(const rlt_astra_dim *d, uint64_t far, uint64_t bytes)
{
    uint64_t latency = step_ns(d, far, 0), serial = step_ns(d, 0, bytes);
    return d->shape == RLT_ASTRA_SHAPE_RING && far > 1 && serial > latency ? 2 * step_ns(d, 1, 0) : 0;
}

static rlt_astra_wide ring_ns(const rlt_astra *a, const rlt_astra_dim *d, int kind, uint64_t chunk)
{
    uint64_t m = chunk / d->size;
    rlt_astra_wide n = d->size, e = a->system.endpoint_ns, step = message_ns(a, d, hops(d, 1), m),
                   q = n * (n - 1) / 2;
    switch (kind) {
    case RLT_ASTRA_ALL_REDUCE:
        return 2 * (n - 1) * step + (n - 1) * rlt__astra_reduce(a, m) + (2 * n - 1) * e;
    case RLT_ASTRA_REDUCE_SCATTER:
        return (n - 1) * (step + rlt__astra_reduce(a, m)) + n * e;
    case RLT_ASTRA_ALL_GATHER:
        return (n - 1) * message_ns(a, d, hops(d, 1), chunk) + n * e;
    default:
        return q * step + (q + 1) * e;
    }
}

static rlt_astra_wide direct_ns(const rlt_astra *a, const rlt_astra_dim *d, int kind, uint64_t chunk)
{
    uint64_t m = chunk / d->size, far = hops(d, d->size / 2);
    rlt_astra_wide e = a->system.endpoint_ns, once = direct_step(a, d, far, m);
    switch (kind) {
    case RLT_ASTRA_ALL_REDUCE:
        return 2 * once + rlt__astra_reduce(a, m) + 3 * e - direct_overlap(d, far, m);
    case RLT_ASTRA_REDUCE_SCATTER:
        return once + rlt__astra_reduce(a, m) + 2 * e;
    case RLT_ASTRA_ALL_GATHER:
        return direct_step(a, d, far, chunk) + 2 * e;
    default:
        return once + 2 * e;
    }
}

/* Charges one reduction less than the algorithm has, as ASTRA-sim does. */
static rlt_astra_wide halving_ns(const rlt_astra *a, const rlt_astra_dim *d, int kind, uint64_t chunk, int k)
{
    rlt_astra_wide down = 0, up = 0, reduce = 0, e = a->system.endpoint_ns;
    for (int i = 1; i <= k; i++) {
        uint64_t far = hops(d, (uint64_t)1 << (i - 1));
        down += message_ns(a, d, far, chunk >> i);
        up += message_ns(a, d, far, chunk << (i - 1));
        reduce += i > 1 ? rlt__astra_reduce(a, chunk >> i) : 0;
    }
    if (kind == RLT_ASTRA_ALL_REDUCE)
        return 2 * down + reduce + (2 * (uint64_t)k + 1) * e;
    return (kind == RLT_ASTRA_ALL_GATHER ? up : down + reduce) + ((uint64_t)k + 1) * e;
}

static const char *const kind_names[RLT_ASTRA_KINDS] = {"all-reduce", "all-gather", "reduce-scatter",
                                                        "all-to-all"};

int rlt__astra_unsupported(int kind, const char *why, rlt_error *err)
{
    return rlt_fail(err, RLT_EUNSUPPORTED, "--timing astra", "%s: %s", kind_names[kind], why);
}

int rlt__astra_check(int kind, uint8_t algorithm, uint64_t n, rlt_error *err)
{
    if (algorithm == RLT_ASTRA_TREE && kind != RLT_ASTRA_ALL_REDUCE)
        return rlt__astra_unsupported(kind, "doubleBinaryTree is for all-reduce only", err);
    if (algorithm == RLT_ASTRA_TREE && rlt__astra_log2(n) < 0)
        return rlt__astra_unsupported(
            kind, "doubleBinaryTree needs a power of two of ranks (ASTRA-sim crashes)", err);
    if (algorithm == RLT_ASTRA_HALVING_DOUBLING && kind == RLT_ASTRA_ALL_TO_ALL)
        return rlt__astra_unsupported(kind, "halvingDoubling has no all-to-all; use ring or direct", err);
    if (algorithm == RLT_ASTRA_HALVING_DOUBLING && rlt__astra_log2(n) < 0)
        return rlt__astra_unsupported(
            kind, "halvingDoubling needs a power of two of ranks (ASTRA-sim never finishes)", err);
    return 0;
}

/* Refuses cases without a closed form: on a ring, messages of more than one hop meet, and concurrent chunks
 * share links. */
static int check_shared(const rlt_astra *a, const rlt_astra_dim *d, int kind, uint8_t algorithm,
                        rlt_error *err)
{
    if (a->n_dims > 1)
        return rlt__astra_unsupported(kind, "the congestion-aware back-end supports one dimension only", err);
    if (a->system.active_chunks > 1 && a->system.splits > 1)
        return rlt__astra_unsupported(
            kind, "chunks that share links have no closed form; use one active chunk", err);
    if (algorithm != RLT_ASTRA_RING && d->shape == RLT_ASTRA_SHAPE_RING && d->size > 3)
        return rlt__astra_unsupported(
            kind, "messages that share the links of a ring have no closed form; use ring", err);
    return 0;
}

int rlt__astra_phase(const rlt_astra *a, const rlt_astra_part *p, uint64_t *ns, rlt_error *err)
{
    const rlt_astra_dim *d = &a->dims[p->dim];
    int rc = rlt__astra_check(p->kind, p->algorithm, d->size, err);
    if (rc == 0 && a->system.shares_links)
        rc = check_shared(a, d, p->kind, p->algorithm, err);
    if (rc < 0)
        return rc;
    if (p->algorithm == RLT_ASTRA_TREE)
        return rlt__astra_unsupported(
            p->kind, "doubleBinaryTree in one of several dimensions has no closed form", err);
    if (p->algorithm == RLT_ASTRA_RING)
        *ns = rlt__astra_bound(ring_ns(a, d, p->kind, p->chunk));
    else if (p->algorithm == RLT_ASTRA_DIRECT)
        *ns = rlt__astra_bound(direct_ns(a, d, p->kind, p->chunk));
    else
        *ns = rlt__astra_bound(halving_ns(a, d, p->kind, p->chunk, rlt__astra_log2(d->size)));
    return 0;
}
