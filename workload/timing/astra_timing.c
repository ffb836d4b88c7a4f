/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ASTRA-sim 2.0's analytical back-ends in closed form, in whole nanoseconds.
 *
 * A collective of D bytes is cut into chunks of c = D / splits bytes; the last one is charged like a full
 * one. A chunk passes through phases, each in one dimension. A dimension admits `active chunks` phases at a
 * time, first come first served; its reduce-scatter and all-gather share it. A message of m bytes over h hops
 * takes floor(h latency + m / bandwidth). Links are shared only in the congestion-aware back-end.
 * astra_phase.c has the formulas of the phases.
 *
 * Additions: ASTRA-sim charges a broadcast 1 ns and refuses reduce and barrier. Here a broadcast costs a
 * scatter and an all-gather (an all-reduce without its reductions), a reduce costs an all-reduce, and a
 * barrier costs the smallest all-reduce.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/queue.h"
#include "workload/program/reader.h"
#include "workload/timing/astra_model.h"
#include "workload/timing/astra_system.h"
#include "workload/timing/timing.h"

enum { MAX_PHASES = 2 * RLT_MAX_DIMS };

typedef struct phase {
    uint32_t queue;
    uint64_t ns;
} phase;

static int add_phase(const rlt_astra *a, phase *list, uint32_t *n, const rlt_astra_part *p, rlt_error *err)
{
    list[*n].queue = p->dim;
    return rlt__astra_phase(a, p, &list[(*n)++].ns, err);
}

/* Lists the phases of a chunk: reduce-scatter from the first dimension up, all-gather from the last one
 * down. All of them use the algorithms of the collective's own kind, as in ASTRA-sim. */
static int plan_phases(const rlt_astra *a, int kind, uint64_t chunk, phase *list, uint32_t *n, rlt_error *err)
{
    const uint8_t *algorithm = a->system.implementation[kind].algorithm;
    uint32_t last = a->n_dims - 1;
    bool aware = kind == RLT_ASTRA_ALL_REDUCE && !a->system.baseline;
    int rc = 0;
    *n = 0;
    for (uint32_t d = 0; d <= last && rc == 0 && kind != RLT_ASTRA_ALL_GATHER; d++) {
        rlt_astra_part p = {d, aware && d < last ? RLT_ASTRA_REDUCE_SCATTER : kind, algorithm[d], chunk};
        rc = add_phase(a, list, n, &p, err);
        if (kind == RLT_ASTRA_REDUCE_SCATTER || (aware && d < last))
            chunk /= a->dims[d].size;
    }
    uint32_t down = aware ? last : kind == RLT_ASTRA_ALL_GATHER ? a->n_dims : 0;
    for (uint32_t d = down; d-- > 0 && rc == 0;) {
        rlt_astra_part p = {d, RLT_ASTRA_ALL_GATHER, algorithm[d], chunk};
        rc = add_phase(a, list, n, &p, err);
        if (chunk > INT64_MAX / a->dims[d].size)
            return rlt_fail(err, RLT_ERANGE, "--timing astra", "an all-gather of more than 2^63 bytes");
        chunk *= a->dims[d].size;
    }
    return rc;
}

/* ---- chunks through the dimensions' queues */

typedef struct pipeline {
    const phase *phases;
    uint32_t n_phases, chunks;
    uint64_t active;
    rlt_queue events;  /* index of an event: chunk * n_phases + phase */
    uint32_t *waiting; /* a queue per dimension; phases in all are at most n_phases * chunks */
    uint32_t head[RLT_MAX_DIMS], tail[RLT_MAX_DIMS], base[RLT_MAX_DIMS];
    uint64_t running[RLT_MAX_DIMS];
} pipeline;

static int admit(pipeline *p, uint32_t queue, uint64_t now)
{
    while (p->running[queue] < p->active && p->head[queue] < p->tail[queue]) {
        uint32_t item = p->waiting[p->base[queue] + p->head[queue]++];
        uint64_t end = now + p->phases[item % p->n_phases].ns;
        p->running[queue]++;
        if (end > RLT_ASTRA_MAX_NS)
            return RLT_ERANGE;
        int rc = rlt_queue_push(&p->events, (rlt_entry){.key = end, .index = item});
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int arrive(pipeline *p, uint32_t item, uint64_t now)
{
    uint32_t queue = p->phases[item % p->n_phases].queue;
    p->waiting[p->base[queue] + p->tail[queue]++] = item;
    return admit(p, queue, now);
}

static int run_pipeline(pipeline *p, uint64_t *end)
{
    int rc = 0, error = 0;
    for (uint32_t c = 0; c < p->chunks && rc == 0; c++)
        rc = arrive(p, c * p->n_phases, 0);
    rlt_entry e;
    *end = 0;
    while (rc == 0 && rlt_queue_pop(&p->events, &e, &error)) {
        uint32_t at = e.index % p->n_phases;
        *end = e.key;
        p->running[p->phases[at].queue]--;
        if (at + 1 < p->n_phases)
            rc = arrive(p, e.index + 1, e.key);
        if (rc == 0)
            rc = admit(p, p->phases[at].queue, e.key);
    }
    return rc < 0 ? rc : error;
}

static int pipelined(const rlt_astra *a, const phase *phases, uint32_t n_phases, uint32_t chunks,
                     uint64_t *end, rlt_error *err)
{
    pipeline p = {
        .phases = phases, .n_phases = n_phases, .chunks = chunks, .active = a->system.active_chunks};
    p.waiting = malloc((size_t)n_phases * chunks * sizeof *p.waiting);
    if (!p.waiting)
        return rlt_nomem(err);
    uint32_t base = 0;
    for (uint32_t q = 0; q < RLT_MAX_DIMS; q++) {
        p.base[q] = base;
        for (uint32_t i = 0; i < n_phases; i++)
            base += phases[i].queue == q ? chunks : 0;
    }
    rlt_queue_init(&p.events);
    int rc = run_pipeline(&p, end);
    rlt_queue_free(&p.events);
    free(p.waiting);
    return rc < 0 ? rlt_fail(err, rc, "--timing astra", "%s", rlt_strerror(rc)) : 0;
}

/* ---- a request */

/* Computes the bytes and the number of chunks. For all collectives but all-gather, every NPU and chunk has at
 * least one byte. */
static void cut(const rlt_astra *a, int kind, uint64_t bytes, uint64_t *chunk, uint32_t *chunks)
{
    uint64_t splits = a->system.splits;
    *chunk = bytes / splits;
    if (kind != RLT_ASTRA_ALL_GATHER && *chunk < a->n_ranks) {
        *chunk = a->n_ranks;
        bytes = splits * a->n_ranks;
    }
    if (*chunk == 0)
        *chunk = 1;
    uint64_t n = (bytes + *chunk - 1) / *chunk; /* fewer than 2 splits */
    *chunks = n ? (uint32_t)n : 1;
}

static int collective(const rlt_astra *a, const rlt_coll_request *req, int kind, uint64_t bytes, uint64_t *ns,
                      rlt_error *err)
{
    const rlt_astra_implementation *impl = &a->system.implementation[kind];
    bool group = req->n < a->n_ranks;
    if (impl->custom)
        return rlt__astra_unsupported(
            kind, "custom implementations are not supported; replay their traces as a program", err);
    if (impl->n == 0)
        return rlt__astra_unsupported(kind, "the system file names no algorithm for it", err);
    if (impl->windowed)
        return rlt__astra_unsupported(kind, "direct with a window has no closed form", err);
    if (!impl->one && !group && impl->n < a->n_dims)
        return rlt__astra_unsupported(
            kind, "the system file names fewer algorithms than the network has dimensions", err);
    uint64_t chunk;
    uint32_t chunks, n_phases;
    cut(a, kind, bytes, &chunk, &chunks);
    bool tree = a->n_dims == 1 && impl->algorithm[0] == RLT_ASTRA_TREE;
    if (a->system.shares_links && (group || tree || (impl->one && a->n_dims > 1)))
        return rlt__astra_unsupported(
            kind, "trees, and groups of some of the ranks, have no closed form where links are shared", err);
    if (!a->system.shares_links && (group || impl->one || tree)) {
        rlt_astra_ranks r = {.a = a, .list = req->ranks, .n = req->n};
        return rlt__astra_listed(&r, kind, group && a->n_dims > 1 ? RLT_ASTRA_RING : impl->algorithm[0],
                                 chunk, chunks, ns, err);
    }
    phase list[MAX_PHASES];
    int rc = plan_phases(a, kind, chunk, list, &n_phases, err);
    return rc < 0 ? rc : pipelined(a, list, n_phases, chunks, ns, err);
}

static int request_ns(rlt_astra *a, const rlt_coll_request *req, uint64_t *ns, rlt_error *err)
{
    switch (req->kind) {
    case RLT_ALL_REDUCE:
    case RLT_REDUCE:
        return collective(a, req, RLT_ASTRA_ALL_REDUCE, req->bytes, ns, err);
    case RLT_BARRIER:
        return collective(a, req, RLT_ASTRA_ALL_REDUCE, 0, ns, err);
    case RLT_BROADCAST: {
        rlt_astra free_reductions = *a;
        free_reductions.system.memory_Bps = 0;
        return collective(&free_reductions, req, RLT_ASTRA_ALL_REDUCE, req->bytes, ns, err);
    }
    case RLT_ALL_GATHER:
        return collective(a, req, RLT_ASTRA_ALL_GATHER, req->bytes / req->n, ns, err);
    case RLT_REDUCE_SCATTER:
        return collective(a, req, RLT_ASTRA_REDUCE_SCATTER, req->bytes, ns, err);
    case RLT_ALL_TO_ALL:
        if (req->counts)
            return rlt__astra_unsupported(RLT_ASTRA_ALL_TO_ALL,
                                          "no closed form for bytes that differ between ranks", err);
        return collective(a, req, RLT_ASTRA_ALL_TO_ALL, req->bytes, ns, err);
    case RLT_SEND_RECV:
        *ns = rlt__astra_pair(a, rlt_member_rank(req, 0), rlt_member_rank(req, 1), req->bytes);
        return 0;
    default:
        return rlt_fail(err, RLT_EUNSUPPORTED, "--timing astra", "%s has no closed form on this network",
                        rlt_coll_name(req->kind));
    }
}

static int duration(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err)
{
    rlt_astra *a = (rlt_astra *)(void *)t;
    uint64_t ns = 0;
    *duration_ps = 0;
    if (req->n > a->n_ranks)
        return rlt_fail(err, RLT_ERANGE, "--timing astra",
                        "%" PRIu32 " members exceed the network's %" PRIu32 " ranks", req->n, a->n_ranks);
    for (uint32_t i = 0; i < req->n; i++)
        if (rlt_member_rank(req, i) >= a->n_ranks)
            return rlt_fail(err, RLT_ERANGE, "--timing astra",
                            "rank %" PRIu32 " is outside the network of %" PRIu32 " ranks",
                            rlt_member_rank(req, i), a->n_ranks);
    if (req->n < 2)
        return 0;
    if (req->bytes > ((uint64_t)1 << 56))
        return rlt_fail(err, RLT_ERANGE, "--timing astra", "more than 2^56 bytes");
    int rc = request_ns(a, req, &ns, err);
    if (rc == 0 && ns >= RLT_ASTRA_MAX_NS)
        rc = rlt_fail(err, RLT_ERANGE, "--timing astra",
                      "takes longer than 26 days, the limit of simulated time");
    if (rc == 0)
        *duration_ps = (rlt_time)ns * RLT_NS;
    return rc;
}

static void destroy(rlt_timing *t)
{
    free(t);
}

/* Returns a link of dimension d. Links of a dimension are contiguous, dimensions ascend. */
static rlt_link link_of(const rlt_topology *t, uint32_t d)
{
    uint32_t low = 0, high = rlt_topology_links(t) - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rlt_topology_link(t, middle).dim < d)
            low = middle + 1;
        else
            high = middle;
    }
    return rlt_topology_link(t, low);
}

static int read_dims(const rlt_topology *t, rlt_astra *a, rlt_error *err)
{
    static const char *const shapes[] = {[RLT_ASTRA_SHAPE_RING] = "ring",
                                         [RLT_ASTRA_SHAPE_FULL] = "fully-connected",
                                         [RLT_ASTRA_SHAPE_SWITCH] = "switch"};
    a->n_dims = rlt_topology_dims(t);
    a->n_ranks = rlt_topology_accelerators(t);
    if (!rlt_topology_is_product(t) || a->n_dims == 0 || a->n_dims > RLT_MAX_DIMS)
        return rlt_fail(err, RLT_EUNSUPPORTED, rlt_topology_name(t),
                        "--timing astra needs a product of rings, switches and fully-connected dimensions");
    for (uint32_t d = 0; d < a->n_dims; d++) {
        rlt_dim dim = rlt_topology_dim(t, d);
        rlt_link link = link_of(t, d);
        uint32_t s = 0;
        while (s < sizeof shapes / sizeof *shapes && strcmp(dim.shape, shapes[s]) != 0)
            s++;
        if (s == sizeof shapes / sizeof *shapes)
            return rlt_fail(err, RLT_EUNSUPPORTED, rlt_topology_name(t),
                            "--timing astra supports ring, fully-connected and switch, but dimension %" PRIu32
                            " is a %s",
                            d, dim.shape);
        a->dims[d] = (rlt_astra_dim){.shape = (rlt_astra_shape)s,
                                     .size = dim.size,
                                     .bw_Bps = link.bw_Bps,
                                     .latency_ps = link.latency_ps};
    }
    return 0;
}

int rlt_timing_astra(const char *system_json, bool aware, const rlt_topology *t, rlt_read_options *opts,
                     rlt_timing **out, rlt_error *err)
{
    *out = NULL;
    rlt_astra *a = calloc(1, sizeof *a);
    if (!a)
        return rlt_nomem(err);
    a->timing =
        (rlt_timing){.name = aware ? "astra-aware" : "astra", .duration = duration, .destroy = destroy};
    int rc = rlt__astra_system_load(system_json, &a->system, err);
    a->system.shares_links = aware;
    if (rc == 0)
        rc = read_dims(t, a, err);
    if (rc < 0) {
        free(a);
        return rc;
    }
    if (opts) {
        opts->serial_communication = true; /* ASTRA-sim: one collective in flight per rank */
        if (a->system.roofline) {
            opts->roofline_replaces = true;
            opts->peak_Flops = a->system.peak_Flops;
            opts->memory_Bps = a->system.memory_Bps;
        }
    }
    *out = &a->timing;
    return 0;
}
