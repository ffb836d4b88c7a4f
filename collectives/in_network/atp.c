/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATP (C. Lao et al.: "ATP: In-network Aggregation for Multi-tenant Learning", NSDI 2021).
 *
 * Aggregators. A place in a worker's window uses the aggregator hash(job, place, round) mod A. A packet whose
 * aggregator is taken by another chunk goes to the parameter server unaggregated, with the collision bit set.
 * The answer then names the aggregator of the next round for the place's next chunk. Complete sums go to the
 * server, too; its answer frees the aggregator on the way back to all workers. With x of A aggregators taken
 * at random, a chunk collides with probability 1 - (1 - 1/A)^x. Example: x = 700, A = 2800: 22 %.
 *
 * Window. It has 1 to `window` packets. After as many results as it has packets, it is halved if one of them
 * was marked (ECN), else it grows by `increase`. A chunk is retransmitted after `gap` results of later chunks
 * per server, and all missing chunks after a timeout. A retransmission evicts the switch's partial sum to the
 * server, which counts every worker once. With priorities on a switch that preempts, this is ESA (arXiv
 * 2201.06398).
 *
 * Stragglers. With `ttl`, a switch sends a partial sum to the server after that time. With `late` = "leave"
 * the server answers with the partial sum, which becomes the sum of the chunk (Trio, Canary).
 *
 * This file holds the workers, collectives/in_network/atp_server.c the servers.
 */
#include "collectives/in_network/atp.h"

#include <stdlib.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "sim/base/param.h"

enum {
    SERVERS,
    AGGREGATORS,
    WINDOW,
    START,
    INCREASE,
    PAYLOAD,
    HEADER,
    RTO,
    GAP,
    TRIES,
    PLACE,
    TTL,
    LATE,
};

static const rlt_param settings[] = {
    [SERVERS] = {"servers", .kind = RLT_PARAM_COUNT, RLT_SLOT(SERVERS), .preset = "1", .min = 1,
                 .max = 1 << 16, .help = "dedicated parameter servers: the last members"},
    [AGGREGATORS] = {"aggregators", .kind = RLT_PARAM_COUNT, RLT_SLOT(AGGREGATORS), .preset = "2800",
                     .min = 1, .max = 1 << 20, .help = "aggregators that the job requests at each switch"},
    [WINDOW] = {"window", .kind = RLT_PARAM_COUNT, RLT_SLOT(WINDOW), .preset = "100", .min = 1,
                .max = 1 << 16, .help = "largest window, in packets"},
    [START] = {"start", .kind = RLT_PARAM_COUNT, RLT_SLOT(START), .preset = "100", .min = 1, .max = 1 << 16,
               .help = "first window, in packets"},
    [INCREASE] = {"increase", .kind = RLT_PARAM_SIZE, RLT_SLOT(INCREASE), .preset = "1500B", .max = 1 << 20,
                  .help = "growth of the window after a window without marks"},
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "248B", .min = 1,
                 .max = 1 << 20, .help = "gradient bytes in a packet"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "60B", .max = 4096,
                .help = "other bytes of a packet"},
    [RTO] = {"rto", .kind = RLT_PARAM_DURATION, RLT_SLOT(RTO), .preset = "200us", .min = 1, .max = 1e15,
             .help = "timeout before missing chunks are retransmitted; doubles, up to 64-fold"},
    [GAP] = {"gap", .kind = RLT_PARAM_COUNT, RLT_SLOT(GAP), .preset = "3", .max = 1 << 16,
             .help = "results of later chunks before a missing one is retransmitted; 0: never"},
    [TRIES] = {"tries", .kind = RLT_PARAM_COUNT, RLT_SLOT(TRIES), .preset = "100", .min = 1, .max = 1e6,
               .help = "consecutive timeouts before the job gives up"},
    [PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine", RLT_SLOT(PLACE), .preset = "all",
               .help = "which switches aggregate"},
    [TTL] = {"ttl", .kind = RLT_PARAM_DURATION, RLT_SLOT(TTL), .preset = "0", .max = 1e15,
             .help = "age at which a switch sends a partial sum to the server; 0: never"},
    [LATE] = {"late", .kind = RLT_PARAM_CHOICE, .words = "wait|leave", RLT_SLOT(LATE), .preset = "wait",
              .help = "server at a partial sum: waits for the stragglers, or leaves them out"},
    {0}};

static bool has(const rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    uint64_t at = (uint64_t)worker * j->chunks + chunk;
    return j->received[at / 64] >> (at % 64) & 1;
}

static uint32_t in_packets(const rlt_fabric_job *j, const rlt__atp_worker *w)
{
    uint64_t n = w->cwnd / j->wire_bytes;
    return n < 1 ? 1 : n < j->window ? (uint32_t)n : j->window;
}

static void send(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, bool again)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    rlt_time leaves = rlt_fabric_job_contribute(j, worker, chunk, rlt__atp_slot(j, chunk), again);
    if (leaves > w->heard)
        w->heard = leaves;
}

/* Sends what the window has room for. A place is free once its previous chunk has its result. */
static void fill(rlt_fabric_job *j, uint32_t worker)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    uint32_t room = in_packets(j, w);
    for (; w->next < j->chunks; w->next++) {
        if (has(j, worker, w->next))
            continue;
        if (w->flying >= room || (w->next >= j->window && !has(j, worker, w->next - j->window)))
            return;
        w->flying++;
        send(j, worker, w->next, false);
    }
}

static void arm(rlt_fabric_job *j, uint32_t worker)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    rlt_time rto = s->rto << (w->silent < 6 ? w->silent : 6);
    w->timer = rlt_fabric_job_timer(j, rlt_time_add(w->heard, rto), worker);
}

static void atp_begin(rlt_fabric_job *j, uint32_t worker)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    w->begun = true;
    w->heard = rlt_sim_now(j->sim);
    w->cwnd = s->start * j->wire_bytes;
    w->left = in_packets(j, w);
    fill(j, worker);
    if (w->base < j->chunks)
        arm(j, worker);
}

static void adapt(const rlt_fabric_job *j, rlt__atp_worker *w, bool marked)
{
    const rlt__atp *s = j->state;
    w->marked |= marked;
    if (w->left > 1) {
        w->left--;
        return;
    }
    uint64_t most = (uint64_t)j->window * j->wire_bytes;
    w->cwnd = w->marked ? w->cwnd / 2 : w->cwnd + s->increase;
    if (w->cwnd < j->wire_bytes)
        w->cwnd = j->wire_bytes;
    if (w->cwnd > most)
        w->cwnd = most;
    w->marked = false;
    w->left = in_packets(j, w);
}

/* Updates the oldest missing chunk, and retransmits it if enough later chunks have their results. */
static void find_gap(rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    if (chunk == w->base) {
        w->gaps = 0;
        while (w->base < j->chunks && has(j, worker, w->base))
            w->base++;
    } else if (w->base < w->next && ++w->gaps == s->gap * j->n_servers) {
        send(j, worker, w->base, true);
    }
}

static void at_worker(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    if (!rlt_fabric_job_receive(j, worker, p->key, p->data))
        return;
    w->silent = 0;
    if (rlt_sim_now(j->sim) > w->heard)
        w->heard = rlt_sim_now(j->sim);
    w->flying -= p->key < w->next;
    find_gap(j, worker, p->key);
    if (!w->begun)
        return;
    adapt(j, w, (p->flags & RLT_PACKET_CE) || (s->said[p->key] & RLT__ATP_MARKED));
    fill(j, worker);
    if (w->base == j->chunks)
        rlt_sim_cancel(j->sim, w->timer);
}

static void atp_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t who)
{
    if (p->kind == RLT_PK_RESULT || p->kind == RLT_PK_ANSWER)
        at_worker(j, p, who);
    else
        rlt__atp_serve(j, p, who);
}

/* Timeout: halves the window and retransmits the oldest missing chunks. */
static void again(rlt_fabric_job *j, uint32_t worker)
{
    const rlt__atp *s = j->state;
    rlt__atp_worker *w = &s->workers[worker];
    j->result.timeouts++;
    if (++w->silent > s->tries) {
        rlt_sim_fail(
            j->sim, RLT_ESTALL, "atp",
            "rank %u got no answer for chunk %u after %u consecutive timeouts (%llu packets were lost)",
            j->req.ranks[worker], w->base, w->silent, (unsigned long long)j->result.lost);
        return;
    }
    w->cwnd /= 2;
    w->gaps = 0;
    uint32_t room = in_packets(j, w);
    for (uint32_t c = w->base; c < w->next && room > 0; c++)
        if (!has(j, worker, c)) {
            send(j, worker, c, true);
            room--;
        }
    w->heard = rlt_sim_now(j->sim) > w->heard ? rlt_sim_now(j->sim) : w->heard;
    fill(j, worker);
}

static void atp_timer(rlt_fabric_job *j, uint64_t what)
{
    const rlt__atp *s = j->state;
    if (what >= j->workers) {
        rlt__atp_expire(j, (uint32_t)(what - j->workers));
        return;
    }
    uint32_t worker = (uint32_t)what;
    const rlt__atp_worker *w = &s->workers[worker];
    rlt_time silence = rlt_sim_now(j->sim) - w->heard;
    if (silence >= s->rto << (w->silent < 6 ? w->silent : 6))
        again(j, worker);
    if (w->silent <= s->tries)
        arm(j, worker);
}

static uint32_t servers_apart(const rlt_param_value *values)
{
    return (uint32_t)values[SERVERS].u;
}

static int atp_start(rlt_fabric_job *j, rlt_error *err)
{
    uint64_t payload = rlt_fabric_job_setting(j, PAYLOAD).u, chunks = (j->req.bytes + payload - 1) / payload;
    rlt__atp *s = j->state = calloc(1, sizeof *s);
    int rc = s ? rlt_fabric_job_serve(j, rlt_fabric_job_setting(j, SERVERS).u, err) : rlt_nomem(err);
    if (rc)
        return rc;
    if (chunks > UINT32_MAX / 2)
        return rlt_fail(err, RLT_ERANGE, "atp", "too many chunks: %llu", (unsigned long long)chunks);
    s->start = rlt_fabric_job_setting(j, START).u;
    s->increase = rlt_fabric_job_setting(j, INCREASE).u;
    s->rto = rlt_fabric_job_setting(j, RTO).t;
    s->gap = (uint32_t)rlt_fabric_job_setting(j, GAP).u;
    s->tries = (uint32_t)rlt_fabric_job_setting(j, TRIES).u;
    s->leave = rlt_fabric_job_setting(j, LATE).u != 0;
    j->chunks = (uint32_t)chunks;
    j->mode = RLT_SLOTS_HASH;
    j->wire_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, HEADER).u);
    j->window = (uint32_t)rlt_fabric_job_setting(j, WINDOW).u;
    j->packet_flags = RLT_PACKET_ECT;
    j->ttl_ps = rlt_fabric_job_setting(j, TTL).t;
    rc = rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, PLACE).u, 1,
                              (uint32_t)rlt_fabric_job_setting(j, AGGREGATORS).u, (uint32_t)payload, err);
    if (!rc)
        rc = rlt__atp_open(j, err);
    if (rc)
        return rc;
    s->workers = calloc(j->workers, sizeof *s->workers);
    return s->workers ? 0 : rlt_nomem(err);
}

static void atp_release(rlt_fabric_job *j)
{
    rlt__atp *s = j->state;
    if (!s)
        return;
    free(s->workers);
    rlt__atp_close(s);
}

const rlt_reactive rlt_atp = {
    .name = "atp",
    .summary = "hashed aggregators shared by jobs; collisions fall back to parameter servers (NSDI 2021)",
    .kinds = 1u << RLT_ALL_REDUCE,
    .settings = settings,
    .servers = servers_apart,
    .start = atp_start,
    .begin = atp_begin,
    .packet = atp_packet,
    .timer = atp_timer,
    .release = atp_release,
};
