/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "tacos": schedules synthesised for a given network (tacos.h). All-gather and broadcast spread chunks.
 * Reduce-scatter and reduce are the same backwards in time over reversed links. All-reduce is a
 * reduce-scatter followed by an all-gather, chunk by chunk.
 *
 * A member has one lane for each link on which it sends; its steps keep the order of the schedule. It has one
 * lane for each member from which it receives; its steps wait for messages. A step that writes or sends a
 * chunk waits, by wait_lane, for the step that last wrote or sent it.
 */
#include "collectives/synthesis/tacos.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

/* A schedule of a million transfers takes about 100 MB and a second. */
enum { MAX_MEMBERS = 512, MAX_TRANSFERS = 1 << 20, RESTARTS = 32, MAX_PIECES = 64 };
#define PIECE_BYTES ((uint64_t)512 << 10)
#define NO_WAIT     UINT16_MAX

typedef struct move {
    uint32_t peer, peer_step, chunk, wait_step;
    uint16_t peer_lane, wait_lane;
    uint8_t send, reduce; /* 0: a message is awaited */
} move;

/* Step of a member that last wrote or moved a chunk. */
typedef struct touch {
    uint32_t step;
    uint16_t lane;
} touch;

/* Private data of the plan, in one allocation. */
typedef struct schedule {
    /* moves of (member, lane) are moves[first[i] .. first[i + 1]) with i = member * lanes + lane */
    uint32_t *first;
    move *moves;
} schedule;

/* A schedule under construction. */
typedef struct draft {
    rlt_plan *plan;
    rlt_tacos_net net;
    uint32_t chunks, n_reduced, n_sends; /* the first n_reduced sends add up, the others spread */
    uint32_t *owner;                     /* owner of each chunk */
    uint64_t *bytes;
    rlt_tacos_send *sends;
    uint16_t *out_lane, *in_lane; /* lane of each edge at its source and its destination */
    uint32_t *cursor;             /* next move of each (member, lane) */
    touch *last;                  /* last step that touched each (member, chunk) */
    move *moves;                  /* NULL in the counting pass */
    rlt_time time_ps;
} draft;

static bool reduces_first(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER || kind == RLT_REDUCE;
}

static bool spreads(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_ALL_GATHER || kind == RLT_BROADCAST;
}

static bool rooted(rlt_coll_kind kind)
{
    return kind == RLT_BROADCAST || kind == RLT_REDUCE;
}

/* Appends a move. It waits for the step that last touched the chunk at this member; if `touches`, it becomes
 * that step. The counting pass only counts. Returns the move's number in the lane. */
static uint32_t put(draft *d, uint32_t member, uint32_t lane, move v, bool touches)
{
    const schedule *s = d->plan->data;
    size_t at = (size_t)member * d->plan->lanes + lane;
    uint32_t i = d->cursor[at]++;
    touch *last = &d->last[(size_t)member * d->chunks + v.chunk];
    if (!d->moves)
        return 0;
    v.wait_lane = last->lane == lane ? NO_WAIT : last->lane;
    v.wait_step = last->step;
    d->moves[i] = v;
    if (touches)
        *last = (touch){.step = i - s->first[at], .lane = (uint16_t)lane};
    return i - s->first[at];
}

/* Appends both ends of a transfer. The arrivals that write a member's chunk follow each other. It is read
 * when all have come, and overwritten only after it was sent on. Readers of a complete chunk do not wait for
 * each other. */
static void lay_send(draft *d, uint32_t s)
{
    uint32_t e = d->sends[s].edge;
    const rlt_tacos_edge *edge = &d->net.edges[e];
    bool reduce = s < d->n_reduced;
    move arrival = {.peer = edge->src, .chunk = d->sends[s].chunk, .send = 0};
    move leaving = {.peer = edge->dst,
                    .peer_lane = d->in_lane[e],
                    .chunk = d->sends[s].chunk,
                    .send = 1,
                    .reduce = reduce};
    leaving.peer_step = put(d, edge->dst, d->in_lane[e], arrival, true);
    put(d, edge->src, d->out_lane[e], leaving, reduce);
}

static void lay(draft *d)
{
    memset(d->last, 0xff, (size_t)d->net.n * d->chunks * sizeof *d->last); /* lane NO_WAIT */
    for (uint32_t s = 0; s < d->n_sends; s++)
        lay_send(d, s);
}

/* Numbers the lanes: one for all edges of a member that begin with the same link, then one for each edge that
 * enters it. */
static int number_lanes(draft *d, rlt_error *err)
{
    rlt_tacos_net *net = &d->net;
    uint32_t *of_link = malloc(net->n_links * sizeof *of_link), most = 1;
    uint8_t *used = calloc(net->n_edges, 1);
    if (!of_link || !used) {
        free(of_link);
        free(used);
        return rlt_nomem(err);
    }
    memset(of_link, 0xff, net->n_links * sizeof *of_link);
    for (uint32_t s = 0; s < d->n_sends; s++)
        used[d->sends[s].edge] = 1;
    for (uint32_t m = 0; m < net->n; m++) {
        uint32_t lanes = 0;
        for (uint32_t i = net->out_first[m]; i < net->out_first[m + 1]; i++) {
            uint32_t *lane = &of_link[net->path[net->edges[net->out[i]].first]];
            if (!used[net->out[i]])
                continue;
            if (*lane == RLT_NONE)
                *lane = lanes++;
            d->out_lane[net->out[i]] = (uint16_t)*lane;
        }
        for (uint32_t i = net->in_first[m]; i < net->in_first[m + 1]; i++)
            if (used[net->in[i]])
                d->in_lane[net->in[i]] = (uint16_t)lanes++;
        most = lanes > most ? lanes : most;
    }
    free(used);
    free(of_link);
    d->plan->lanes = most; /* at most 2 * MAX_MEMBERS lanes */
    return 0;
}

/* Counts the moves, makes room for them in plan->data, and fills them in. */
static int write_schedule(draft *d, rlt_error *err)
{
    size_t n_lanes = (size_t)d->net.n * d->plan->lanes, total = 0;
    d->cursor = calloc(n_lanes, sizeof *d->cursor);
    if (!d->cursor)
        return rlt_nomem(err);
    lay(d);
    for (size_t i = 0; i < n_lanes; i++)
        total += d->cursor[i];
    schedule *s = malloc(sizeof *s + total * sizeof(move) + (n_lanes + 1) * sizeof(uint32_t));
    if (!s)
        return rlt_nomem(err);
    s->moves = (move *)(void *)(s + 1);
    s->first = (uint32_t *)(void *)(s->moves + total);
    d->plan->data = s;
    uint32_t begin = 0;
    for (size_t i = 0; i < n_lanes; i++) {
        s->first[i] = begin;
        begin += d->cursor[i];
        d->cursor[i] = s->first[i];
    }
    s->first[n_lanes] = begin;
    d->moves = s->moves;
    lay(d);
    return 0;
}

/* Synthesises one phase into sends[at ..]. A reduction is the schedule of the reversed edges, read
 * backwards. */
static int synthesise(draft *d, bool reduce, uint32_t at, rlt_error *err)
{
    const rlt_coll_request *req = &d->plan->req;
    uint32_t n = d->chunks * (req->n - 1);
    rlt_tacos_job job = {.net = &d->net,
                         .reversed = reduce,
                         .chunks = d->chunks,
                         .owner = d->owner,
                         .bytes = d->bytes,
                         .endpoint = req->endpoint ? req->endpoint : rlt_topology_endpoint(req->topology),
                         .restarts = RESTARTS};
    rlt_time time = 0;
    int rc = rlt_tacos_match(&job, d->sends + at, &time, &d->plan->tried, err);
    d->time_ps = rlt_time_add(d->time_ps, time);
    for (uint32_t i = 0; rc == 0 && reduce && i < n / 2; i++) {
        rlt_tacos_send t = d->sends[at + i];
        d->sends[at + i] = d->sends[at + n - 1 - i];
        d->sends[at + n - 1 - i] = t;
    }
    return rc;
}

static int allocate(draft *d, rlt_error *err)
{
    const rlt_coll_request *req = &d->plan->req;
    uint32_t phase = d->chunks * (req->n - 1);
    d->n_reduced = reduces_first(req->kind) ? phase : 0;
    d->n_sends = d->n_reduced + (spreads(req->kind) ? phase : 0);
    d->owner = malloc(d->chunks * sizeof *d->owner);
    d->bytes = malloc(d->chunks * sizeof *d->bytes);
    d->sends = malloc(d->n_sends * sizeof *d->sends);
    d->out_lane = calloc(d->net.n_edges, sizeof *d->out_lane);
    d->in_lane = calloc(d->net.n_edges, sizeof *d->in_lane);
    d->last = malloc((size_t)req->n * d->chunks * sizeof *d->last);
    if (!d->owner || !d->bytes || !d->sends || !d->out_lane || !d->in_lane || !d->last)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < d->chunks; c++) {
        d->owner[c] = rooted(req->kind) ? req->root : c / (d->chunks / req->n);
        d->bytes[c] = req->counts ? req->counts[c] : rlt_part_size(req->bytes, d->chunks, c);
    }
    return 0;
}

static void release(draft *d)
{
    free(d->cursor);
    free(d->last);
    free(d->in_lane);
    free(d->out_lane);
    free(d->sends);
    free(d->bytes);
    free(d->owner);
    rlt_tacos_net_free(&d->net);
}

static int count_chunks(const rlt_coll_request *req, uint32_t *chunks, rlt_error *err)
{
    uint64_t pieces = (req->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    uint64_t usual = !rooted(req->kind) || pieces < 1 ? 1 : pieces > MAX_PIECES ? MAX_PIECES : pieces;
    uint64_t each = req->params.chunks ? req->params.chunks : usual;
    uint64_t all = each * (rooted(req->kind) ? 1 : req->n);
    if (req->n > MAX_MEMBERS)
        return rlt_fail(err, RLT_EUNSUPPORTED, "tacos", "synthesises for at most %d members, not %u",
                        MAX_MEMBERS, req->n);
    if (all * (req->n - 1) > MAX_TRANSFERS)
        return rlt_fail(err, RLT_EUNSUPPORTED, "tacos",
                        "%llu chunks to each of %u others are more than %d transfers; use fewer chunks",
                        (unsigned long long)all, req->n - 1, MAX_TRANSFERS);
    if (req->counts && each > 1)
        return rlt_fail(err, RLT_EUNSUPPORTED, "tacos",
                        "cannot cut shares with counts into chunks; use one chunk");
    *chunks = (uint32_t)all;
    return 0;
}

static int tacos_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    draft d = {.plan = plan};
    if (!req->topology || !req->placement)
        return rlt_fail(err, RLT_EUNSUPPORTED, "tacos", "needs the topology and the placement of the ranks");
    plan->buffers = 1;
    plan->shared = true;
    plan->lanes = 1;
    int rc = count_chunks(req, &d.chunks, err);
    plan->blocks = d.chunks;
    plan->chunks = rooted(req->kind) ? d.chunks : d.chunks / req->n;
    plan->channels = plan->directions = 1;
    if (rc || req->n == 1)
        return rc;
    if ((rc = rlt_tacos_net_create(req, &d.net, err)) == 0 && (rc = allocate(&d, err)) == 0 &&
        (!d.n_reduced || (rc = synthesise(&d, true, 0, err)) == 0) &&
        (d.n_reduced == d.n_sends || (rc = synthesise(&d, false, d.n_reduced, err)) == 0) &&
        (rc = number_lanes(&d, err)) == 0)
        rc = write_schedule(&d, err);
    plan->words[0] = (uint32_t)d.time_ps;
    plan->words[1] = (uint32_t)(d.time_ps >> 32);
    release(&d);
    return rc;
}

rlt_time rlt_tacos_time(const rlt_plan *plan)
{
    return (rlt_time)((uint64_t)plan->words[1] << 32 | plan->words[0]);
}

static uint32_t tacos_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const schedule *s = plan->data;
    size_t i = (size_t)member * plan->lanes + lane;
    return s ? s->first[i + 1] - s->first[i] : 0;
}

static void tacos_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const schedule *s = plan->data;
    const move *m = &s->moves[s->first[(size_t)member * plan->lanes + lane] + k];
    if (m->wait_lane != NO_WAIT) {
        out->wait_lane = m->wait_lane;
        out->wait_step = m->wait_step;
    }
    if (!m->send) {
        out->recv_from = m->peer;
        out->recv_count = 1;
    } else {
        const rlt_coll_request *req = &plan->req;
        out->send_to = m->peer;
        out->peer_step = m->peer_step;
        out->peer_shift = m->peer_lane >= lane ? m->peer_lane - lane : m->peer_lane + plan->lanes - lane;
        out->reduce = m->reduce;
        out->send = out->land = (rlt_blocks){.first = m->chunk, .run = 1, .stride = 0, .reps = 1};
        out->send_bytes =
            req->counts ? req->counts[m->chunk] : rlt_part_size(req->bytes, plan->blocks, m->chunk);
    }
}

static const rlt_param parameters[] = {
    RLT_HAS_CHUNKS("1 per share; broadcast and reduce: pieces of 512 KiB, at most 64"), {0}};

const rlt_algorithm rlt_tacos = {
    .name = "tacos",
    .summary = "synthesised for the network at hand by greedy matching in time, at most 512 members",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER | 1u << RLT_BROADCAST |
             1u << RLT_REDUCE,
    .counted = 1u << RLT_REDUCE_SCATTER | 1u << RLT_ALL_GATHER,
    .plan = tacos_plan,
    .steps = tacos_steps,
    .step = tacos_step,
};
