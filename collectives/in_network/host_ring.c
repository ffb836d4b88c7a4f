/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ring all-reduce packet by packet, for jobs without aggregating switches. Chunk c starts at worker c mod n.
 * Each worker adds its contribution and passes the chunk on. After n - 1 hops the sum is complete and goes
 * round once more. Every host sends 2 (n - 1) / n of the chunks, so for large M
 *
 *   T -> 2 (n - 1) / n * M / B',  B' = B payload / (payload + header)
 *
 * Example: n = 4, M = 1 GB, B = 12.5 GB/s, payload 1024 B, header 82 B: B' = 11.57 GB/s, T = 130 ms.
 *
 * If packets can be lost, the receiver acknowledges each one, and the sender retransmits it after `rto`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { PAYLOAD, HEADER, RTO, TRIES };
enum { PK_REDUCE = RLT_PK_OWN, PK_GATHER, PK_ACK_REDUCE, PK_ACK_GATHER };
enum { ACK_BYTES = 64, ACKED = 0x80, MAX_TRIES = 120 };

static const rlt_param settings[] = {
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "1KiB", .min = 1,
                 .max = 1 << 20, .help = "gradient bytes in a packet"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "82B", .max = 4096,
                .help = "other bytes of a packet, preamble and gap included"},
    [RTO] = {"rto", .kind = RLT_PARAM_DURATION, RLT_SLOT(RTO), .preset = "1ms", .min = 1, .max = 1e15,
             .help = "timeout before a packet is retransmitted, if packets can be lost"},
    [TRIES] = {"tries", .kind = RLT_PARAM_COUNT, RLT_SLOT(TRIES), .preset = "100", .min = 1, .max = MAX_TRIES,
               .help = "retransmissions of a packet before the job gives up"},
    {0}};

/* A packet that arrived before its worker began. */
typedef struct early {
    uint32_t worker, chunk;
    uint64_t data;
} early;

typedef struct ring {
    bool lossy;
    bool *begun;
    uint8_t *sent; /* lossy: number of transmissions by (worker, chunk, reduce or gather); or ACKED */
    early *early;
    uint32_t n_early, early_room;
} ring;

static uint32_t distance(const rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    return (worker + j->workers - chunk % j->workers) % j->workers;
}

static uint64_t entry(const rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint8_t kind)
{
    return ((uint64_t)worker * j->chunks + chunk) * 2 + (kind == PK_GATHER);
}

/* Sends a chunk to the next worker and, if packets can be lost, starts its timer. */
static void send(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint8_t kind, uint64_t data)
{
    const ring *s = j->state;
    uint64_t e = entry(j, worker, chunk, kind);
    rlt_time leaves =
        rlt_fabric_job_send(j, kind, worker, (worker + 1) % j->workers, j->wire_bytes, chunk, worker, data);
    if (!s->lossy)
        return;
    s->sent[e]++;
    rlt_fabric_job_timer(j, rlt_time_add(leaves, rlt_fabric_job_setting(j, RTO).t), e);
}

static void hand_on(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum)
{
    /* The next worker has the sum already if the chunk became complete there. */
    bool first = rlt_fabric_job_receive(j, worker, chunk, sum);
    if (first && j->workers > 1 && distance(j, worker, chunk) != j->workers - 2)
        send(j, worker, chunk, PK_GATHER, sum);
}

static void add(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t data)
{
    const ring *s = j->state;
    uint32_t d = distance(j, worker, chunk);
    if (s->lossy && d + 1 < j->workers && s->sent[entry(j, worker, chunk, PK_REDUCE)])
        return;
    data += rlt_contribution(j, chunk, worker);
    if (d + 1 < j->workers)
        send(j, worker, chunk, PK_REDUCE, data);
    else
        hand_on(j, worker, chunk, data);
}

static void ring_begin(rlt_fabric_job *j, uint32_t worker)
{
    const ring *s = j->state;
    s->begun[worker] = true;
    for (uint32_t c = worker; c < j->chunks; c += j->workers)
        add(j, worker, c, 0);
    for (uint32_t i = 0; i < s->n_early; i++)
        if (s->early[i].worker == worker)
            add(j, worker, s->early[i].chunk, s->early[i].data);
}

static void keep(rlt_fabric_job *j, uint32_t worker, const rlt_packet *p)
{
    ring *s = j->state;
    int rc = rlt_grow(&s->early, &s->early_room, sizeof *s->early, (uint64_t)s->n_early + 1, UINT32_MAX,
                      "packets", NULL);
    if (rc)
        rlt_sim_fail(j->sim, rc, NULL, "no memory for one more packet");
    else
        s->early[s->n_early++] = (early){worker, p->key, p->data};
}

static void ring_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const ring *s = j->state;
    if (p->kind == PK_ACK_REDUCE || p->kind == PK_ACK_GATHER) {
        s->sent[entry(j, worker, p->key, (uint8_t)(p->kind - PK_ACK_REDUCE + PK_REDUCE))] |= ACKED;
        return;
    }
    if (s->lossy)
        rlt_fabric_job_send(j, (uint8_t)(p->kind - PK_REDUCE + PK_ACK_REDUCE), worker, p->aux, ACK_BYTES,
                            p->key, 0, 0);
    if (p->kind == PK_GATHER)
        hand_on(j, worker, p->key, p->data);
    else if (s->begun[worker])
        add(j, worker, p->key, p->data);
    else
        keep(j, worker, p);
}

/* Recomputes the partial sum that a worker sent for a chunk. */
static uint64_t sum_until(const rlt_fabric_job *j, uint32_t worker, uint32_t chunk, bool whole)
{
    uint64_t sum = 0;
    uint32_t n = whole ? j->workers : distance(j, worker, chunk) + 1;
    for (uint32_t i = 0; i < n; i++)
        sum += rlt_contribution(j, chunk, (chunk + i) % j->workers);
    return sum;
}

static void ring_timer(rlt_fabric_job *j, uint64_t what)
{
    const ring *s = j->state;
    uint32_t worker = (uint32_t)(what / 2 / j->chunks), chunk = (uint32_t)(what / 2 % j->chunks);
    if (s->sent[what] & ACKED)
        return;
    j->result.timeouts++;
    if (s->sent[what] > rlt_fabric_job_setting(j, TRIES).u) {
        rlt_fabric_job_in_vain(j, worker, chunk, s->sent[what]);
        return;
    }
    j->result.retransmissions++;
    send(j, worker, chunk, what & 1 ? PK_GATHER : PK_REDUCE, sum_until(j, worker, chunk, what & 1));
}

static int fall_back(rlt_fabric_job *j, const rlt_error *why, rlt_error *err)
{
    snprintf(j->result.fallback, sizeof j->result.fallback, "%.40s%s%.70s", why->where,
             why->where[0] ? ": " : "", why->what);
    if (j->req.protocol->release)
        j->req.protocol->release(j);
    free(j->state);
    j->state = NULL;
    rlt__fabric_uproot(j);
    j->n_trees = 1;
    j->streaming = false;
    j->stride = 0;
    j->packet_flags = 0;
    j->result.slots = j->result.adders = j->result.levels = 0;
    j->req.protocol = &rlt_host_ring;
    int rc = rlt_settings_preset(&rlt_host_ring, j->req.settings, err);
    return rc ? rc : rlt_host_ring.start(j, err);
}

bool rlt_fabric_job_refused(rlt_fabric_job *j, int *rc, bool instead, const rlt_error *why, rlt_error *err)
{
    if (*rc == 0)
        return false;
    if ((*rc == RLT_EUNSUPPORTED || *rc == RLT_ETOPOLOGY) && instead)
        *rc = fall_back(j, why, err);
    else if (err)
        *err = *why;
    return true;
}

static int ring_start(rlt_fabric_job *j, rlt_error *err)
{
    uint64_t payload = rlt_fabric_job_setting(j, PAYLOAD).u, chunks = (j->req.bytes + payload - 1) / payload;
    ring *s = j->state = calloc(1, sizeof *s);
    if (!s)
        return rlt_nomem(err);
    if (j->req.kind == RLT_BARRIER)
        chunks = j->workers;
    if (chunks > UINT32_MAX / 2 || chunks * j->workers > (uint64_t)1 << 34)
        return rlt_fail(err, RLT_ERANGE, "host-ring", "too many chunks: %llu", (unsigned long long)chunks);
    s->lossy = rlt_fabric_job_lossy(j);
    uint64_t data = j->req.bytes < payload ? j->req.bytes : payload;
    j->wire_bytes = (uint32_t)(data + rlt_fabric_job_setting(j, HEADER).u);
    if (j->wire_bytes == 0)
        j->wire_bytes = 1;
    j->chunks = (uint32_t)chunks;
    j->window = 1;
    s->begun = calloc(j->workers, sizeof *s->begun);
    if (s->lossy)
        s->sent = calloc((size_t)(chunks * j->workers) + 1, 2);
    return s->begun && (s->sent || !s->lossy) ? 0 : rlt_nomem(err);
}

static void ring_release(rlt_fabric_job *j)
{
    ring *s = j->state;
    if (!s)
        return;
    free(s->begun);
    free(s->sent);
    free(s->early);
}

const rlt_reactive rlt_host_ring = {
    .name = "host-ring",
    .summary = "ring all-reduce packet by packet, the fallback if switches refuse",
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_BARRIER,
    .settings = settings,
    .start = ring_start,
    .begin = ring_begin,
    .packet = ring_packet,
    .timer = ring_timer,
    .release = ring_release,
};
