/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of chunks over dimensions, and the simulation of the dimensions' queues. */
#include "collectives/algorithms/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/heap.h"
#include "sim/base/time.h"

static const char *const schedules[] = {
    [RLT_PIPELINE] = "pipeline", [RLT_BASELINE] = "baseline", [RLT_THEMIS] = "themis"};
static const char *const orders[] = {[RLT_FIFO] = "fifo", [RLT_SCF] = "scf"};

const char *rlt_chunk_schedule_name(uint32_t i)
{
    return i < RLT_CHUNK_SCHEDULES ? schedules[i] : NULL;
}

const char *rlt_chunk_order_name(uint32_t i)
{
    return i < RLT_CHUNK_ORDERS ? orders[i] : NULL;
}

/* Bytes that a member sends in a dimension when it works on `bytes` there. */
static uint64_t sent(const rlt_grid_dim *d, uint64_t bytes)
{
    if (d->inside == RLT_IN_NVLS)
        return bytes;
    return d->inside == RLT_IN_RECURSIVE ? bytes * d->rounds : bytes - bytes / d->size;
}

/* Bandwidth of a dimension; if unknown, the lowest known one. */
static uint64_t bandwidth(const rlt_grid *g, const rlt_grid_dim *d)
{
    uint64_t lowest = 0;
    for (uint32_t i = 0; i < g->n_dims && !d->bw_Bps; i++)
        if (g->dims[i].bw_Bps && (!lowest || g->dims[i].bw_Bps < lowest))
            lowest = g->dims[i].bw_Bps;
    return d->bw_Bps ? d->bw_Bps : lowest ? lowest : 1000000000u;
}

static rlt_time loads(const rlt_grid *g, uint32_t dim, uint64_t bytes)
{
    const rlt_grid_dim *d = &g->dims[dim];
    return rlt_transfer_time(sent(d, bytes), bandwidth(g, d));
}

static uint32_t least_loaded(const rlt_grid *g, const rlt_time *load, uint32_t left, bool shares)
{
    uint32_t least = RLT_NONE;
    for (uint32_t d = 0; d < g->n_dims; d++)
        if ((left >> d & 1) && (least == RLT_NONE || load[d] < load[least]) &&
            (!shares || rlt_grid_spans(g, d, left & ~(1u << d))))
            least = d;
    return least;
}

static bool lags(const rlt_grid *g, const rlt_time *load, uint64_t bytes)
{
    uint32_t least = least_loaded(g, load, (1u << g->n_dims) - 1, false);
    rlt_time most = 0;
    for (uint32_t d = 0; d < g->n_dims; d++)
        most = load[d] > most ? load[d] : most;
    return most - load[least] >= loads(g, least, bytes) / 16;
}

void rlt_schedule_orders(const rlt_plan *plan, const rlt_grid *g, uint8_t (*out)[RLT_GRID_DIMS])
{
    const rlt_coll_request *req = &plan->req;
    bool shares = req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_ALL_GATHER;
    bool greedy =
        req->params.schedule == RLT_THEMIS && req->kind != RLT_ALL_TO_ALL && !rlt_shares_counted(req);
    rlt_time load[RLT_GRID_DIMS] = {0};
    for (uint32_t c = 0; c < plan->chunks; c++) {
        uint64_t bytes = req->bytes / plan->chunks;
        uint32_t left = (1u << g->n_dims) - 1;
        bool balances = greedy && g->n_dims > 1 && lags(g, load, bytes);
        for (uint32_t i = 0; i < g->n_dims; i++) {
            uint32_t d = balances ? least_loaded(g, load, left, shares) : i;
            out[c][i] = (uint8_t)d;
            left &= ~(1u << d);
        }
        for (uint32_t i = 0; i < g->n_dims; i++) {
            uint32_t d = out[c][i];
            load[d] = rlt_time_add(load[d], loads(g, d, bytes));
            bytes /= g->dims[d].digits;
        }
    }
}

/* One queue per dimension. A queue serves one chunk at a time; waiting chunks are in a heap. */
typedef struct entry {
    uint64_t bytes; /* bytes of the operation; fifo: 0 */
    uint64_t turn;  /* order of arrival */
    uint32_t chunk;
} entry;

typedef struct server {
    entry *heap;
    uint32_t n;
    bool busy;
    entry now;
    rlt_time until_ps;
    uint32_t last, last_step; /* chunk served before, and its last step; RLT_NONE: none */
} server;

typedef struct player {
    const rlt_plan *plan;
    rlt_grid *g;
    server servers[RLT_GRID_DIMS];
    uint32_t *at;    /* current phase of each chunk */
    uint64_t *bytes; /* bytes that each chunk works on before that phase */
    uint64_t turns;
    rlt_time now_ps;
} player;

static bool sooner(const server *s, const entry *a, const entry *b)
{
    (void)s;
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->turn < b->turn;
}

RLT_HEAP(entries, entry, server, sooner)

/* Bytes that a member sends in a phase of a chunk that works on `bytes`. */
static uint64_t operation_bytes(const rlt_grid_dim *d, const rlt_phase *p, uint64_t bytes)
{
    if (p->op == RLT_OP_GATHER)
        return bytes * (d->inside == RLT_IN_NVLS ? d->digits : d->digits - 1);
    return sent(d, bytes);
}

static void come(player *y, uint32_t chunk)
{
    const rlt_order *o = &y->g->orders[chunk];
    if (y->at[chunk] == o->n_phases)
        return;
    const rlt_phase *p = &o->phases[y->at[chunk]];
    uint64_t bytes = operation_bytes(&y->g->dims[p->dim], p, y->bytes[chunk]);
    server *s = &y->servers[p->dim];
    entries_push(s, s->heap, &s->n,
                 (entry){.bytes = y->plan->req.params.order == RLT_SCF ? bytes : 0,
                         .turn = y->turns++,
                         .chunk = chunk});
}

static rlt_time latency(const rlt_grid_dim *d)
{
    rlt_time hops = d->inside == RLT_IN_RING                                 ? d->size - 1
                    : d->inside == RLT_IN_DIRECT || d->inside == RLT_IN_NVLS ? 1
                                                                             : d->rounds;
    return d->hop_ps > RLT_TIME_MAX / hops ? RLT_TIME_MAX : d->hop_ps * hops;
}

static void serve(player *y, uint32_t dim)
{
    server *s = &y->servers[dim];
    const rlt_grid_dim *d = &y->g->dims[dim];
    if (s->busy || s->n == 0)
        return;
    s->now = entries_pop(s, s->heap, &s->n);
    s->busy = true;
    rlt_phase *p = &y->g->orders[s->now.chunk].phases[y->at[s->now.chunk]];
    p->after_chunk = s->last;
    p->after_step = s->last_step;
    s->last = s->now.chunk;
    s->last_step = p->first + p->steps - 1;
    rlt_time alone_ps = rlt_transfer_time(operation_bytes(d, p, y->bytes[s->now.chunk]), bandwidth(y->g, d));
    s->until_ps = rlt_time_add(y->now_ps, rlt_time_add(alone_ps, latency(d)));
}

static void finish(player *y, server *s)
{
    uint32_t chunk = s->now.chunk;
    const rlt_phase *p = &y->g->orders[chunk].phases[y->at[chunk]++];
    const rlt_grid_dim *d = &y->g->dims[p->dim];
    if (p->op == RLT_OP_SCATTER)
        y->bytes[chunk] /= d->digits;
    else if (p->op == RLT_OP_GATHER)
        y->bytes[chunk] *= d->digits;
    s->busy = false;
    come(y, chunk);
}

/* Simulates the queues. At each instant, everything that ends does so before anything begins. */
static void play(player *y)
{
    uint32_t n = y->g->n_dims;
    for (uint32_t c = 0; c < y->plan->chunks; c++)
        come(y, c);
    for (bool busy = true; busy;) {
        rlt_time next_ps = 0;
        busy = false;
        for (uint32_t d = 0; d < n; d++) {
            const server *s = &y->servers[d];
            serve(y, d);
            if (s->busy && (!busy || s->until_ps < next_ps))
                next_ps = s->until_ps;
            busy = busy || s->busy;
        }
        y->now_ps = next_ps;
        for (uint32_t d = 0; d < n && busy; d++)
            if (y->servers[d].busy && y->servers[d].until_ps == y->now_ps)
                finish(y, &y->servers[d]);
    }
}

int rlt_schedule_queues(const rlt_plan *plan, rlt_grid *g, rlt_error *err)
{
    uint32_t chunks = plan->chunks;
    player y = {.plan = plan, .g = g};
    entry *heaps = malloc(sizeof *heaps * chunks * (g->n_dims + 1));
    y.at = calloc(chunks, sizeof *y.at);
    y.bytes = malloc(sizeof *y.bytes * chunks);
    int rc = heaps && y.at && y.bytes ? 0 : rlt_nomem(err);
    for (uint32_t c = 0; c < chunks && !rc; c++) {
        y.bytes[c] = plan->req.bytes / chunks;
        for (uint32_t i = 0; i < g->n_dims && plan->req.kind == RLT_ALL_GATHER; i++)
            y.bytes[c] /= g->dims[i].digits;
    }
    for (uint32_t d = 0; d < g->n_dims; d++)
        y.servers[d] = (server){.heap = heaps + (size_t)d * chunks, .last = RLT_NONE};
    if (!rc)
        play(&y);
    free(heaps);
    free(y.at);
    free(y.bytes);
    return rc;
}
