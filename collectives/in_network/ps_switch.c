/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter servers behind a switch that adds up a share f of the chunks and replicates the answers: the
 * common core of ATP's fallback and of Libra's cold parameters. With n workers, P servers, C chunks of tau
 * each on a link, link latency d and switch latency s:
 *
 *   P = 1:  T = (f + n (1 - f)) C tau + 3 tau + 4 d + 2 s
 *   P > 1:  T = max(1, (f + n (1 - f)) / P) C tau + ...
 *
 * Example: n = 4, f = 1/2, P = 1: the server receives 0.5 + 2 = 2.5 packets per chunk, so T is about 2.5 C
 * tau.
 *
 * Chunk c is aggregated iff floor((c+1) f) - floor(c f) = 1. Servers are the last members; they only serve,
 * or also work (`servers_at`). A retransmitted contribution goes to the server unaggregated, and makes the
 * switch send its partial sum after it (Lao et al.: "ATP: In-network Aggregation for Multi-tenant Learning",
 * NSDI 2021). A server adds contributions that it does not have yet; a sum of all workers replaces
 * everything. It answers a repeated request again.
 */
#include <math.h>
#include <stdlib.h>

#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "collectives/in_network/window.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { WINDOW, PAYLOAD, HEADER, SHARE, SERVERS, SERVERS_AT, ANSWERS, RTO, TRIES, PLACE };
enum { BY_SWITCH, BY_SERVER };

static const rlt_param settings[] = {
    [WINDOW] = {"window", .kind = RLT_PARAM_COUNT, RLT_SLOT(WINDOW), .preset = "256", .min = 1,
                .max = 1 << 18, .help = "chunks of a worker in flight, and slots of the job at each switch"},
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "1KiB", .min = 1,
                 .max = 1 << 20, .help = "gradient bytes in a packet"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "82B", .max = 4096,
                .help = "other bytes of a packet, preamble and gap included"},
    [SHARE] = {"share", .kind = RLT_PARAM_NUMBER, RLT_SLOT(SHARE), .preset = "1", .max = 1,
               .help = "share of the chunks that switches add up"},
    [SERVERS] = {"servers", .kind = RLT_PARAM_COUNT, RLT_SLOT(SERVERS), .preset = "1", .min = 1,
                 .max = 1 << 20, .help = "parameter servers, used by chunks in turn"},
    [SERVERS_AT] = {"servers_at", .kind = RLT_PARAM_CHOICE, .words = "apart|members", RLT_SLOT(SERVERS_AT),
                    .preset = "apart", .help = "the last members: dedicated servers, or also workers"},
    [ANSWERS] = {"answers", .kind = RLT_PARAM_CHOICE, .words = "switch|server", RLT_SLOT(ANSWERS),
                 .preset = "switch", .help = "sender of every worker's copy (server: share must be 0)"},
    [RTO] = {"rto", .kind = RLT_PARAM_DURATION, RLT_SLOT(RTO), .preset = "10ms", .max = 1e15,
             .help = "timeout before a chunk is retransmitted; 0: never"},
    [TRIES] = {"tries", .kind = RLT_PARAM_COUNT, RLT_SLOT(TRIES), .preset = "1000", .min = 1, .max = 1e9,
               .help = "retransmissions of a chunk before the job gives up"},
    [PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine", RLT_SLOT(PLACE), .preset = "all",
               .help = "which switches aggregate"},
    {0}};

/* State of a chunk at its server. */
typedef struct served {
    uint64_t sum;
    rlt_time replied; /* time of the last answer; -1: none yet */
    uint32_t count;
} served;

typedef struct ps {
    rlt_window window;
    served *chunks;
    uint64_t *seen; /* contributors, note_words words per chunk */
    double share;
    uint32_t answers;
} ps;

/* Computed from the index alone, so that the same chunks are aggregated in any order of calls. */
static bool is_added(const ps *s, uint32_t chunk)
{
    return floor((chunk + 1.0) * s->share) > floor(chunk * s->share);
}

/* Round robin, separately over aggregated chunks and over the others. */
static uint32_t ps_server(const rlt_fabric_job *j, uint32_t chunk)
{
    const ps *s = j->state;
    uint32_t added = (uint32_t)floor(chunk * s->share);
    return (is_added(s, chunk) ? added : chunk - added) % j->n_servers;
}

static void send(rlt_fabric_job *j, uint32_t worker, rlt_window_place *p, bool again)
{
    const ps *s = j->state;
    uint32_t slot = is_added(s, p->chunk) ? rlt_fabric_job_hashed_slot(j, p->chunk) : RLT_NONE;
    rlt_window_wait(&s->window, j, worker, p, rlt_fabric_job_push(j, worker, p->chunk, slot, again));
}

static void send_first(rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    const ps *s = j->state;
    send(j, worker, rlt_window_take(&s->window, j, worker, chunk), false);
}

static void ps_begin(rlt_fabric_job *j, uint32_t worker)
{
    for (uint32_t c = 0; c < j->window && c < j->chunks; c++)
        send_first(j, worker, c);
}

static void at_worker(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const ps *s = j->state;
    if (!rlt_fabric_job_receive(j, worker, p->key, p->data))
        return;
    rlt_window_got(&s->window, j, worker, p->key);
    if (p->key + (uint64_t)j->window < j->chunks)
        send_first(j, worker, p->key + j->window);
}

static void answer(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t worker)
{
    const ps *s = j->state;
    rlt_fabric_job_send(j, RLT_PK_ANSWER, j->first_server + server, worker, j->wire_bytes, chunk, 0,
                        s->chunks[chunk].sum);
}

static void answer_all(rlt_fabric_job *j, uint32_t server, uint32_t chunk)
{
    const ps *s = j->state;
    s->chunks[chunk].replied = rlt_sim_now(j->sim);
    if (s->answers == BY_SWITCH) {
        rlt_fabric_job_reply(j, server, chunk, rlt_fabric_job_hashed_slot(j, chunk), s->chunks[chunk].sum);
        return;
    }
    for (uint32_t w = 0; w < j->workers; w++)
        answer(j, server, chunk, w);
}

/* Answers a worker again; all workers if no answer has been sent for long, which also frees slots. */
static void answer_again(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t worker)
{
    const ps *s = j->state;
    if (s->answers == BY_SWITCH &&
        rlt_sim_now(j->sim) >= rlt_time_add(s->chunks[chunk].replied, s->window.rto))
        answer_all(j, server, chunk);
    else
        answer(j, server, chunk, worker);
}

/* Adds a packet with n new contributions. */
static void merge(const rlt_packet *p, served *x, uint32_t n)
{
    x->sum += n ? p->data : 0;
    x->count += n;
}

static void at_server(rlt_fabric_job *j, const rlt_packet *p, uint32_t server)
{
    const ps *s = j->state;
    served *x = &s->chunks[p->key];
    uint64_t *seen = s->seen + (size_t)p->key * j->note_words;
    uint32_t worker = p->kind == RLT_PK_ALONE ? rlt_map_get(&j->member_of, p->src) : RLT_NONE;
    if (x->replied >= 0) {
        if (p->kind == RLT_PK_ALONE)
            answer_again(j, server, p->key, worker);
    } else if (p->kind == RLT_PK_SUM) {
        x->sum = p->data;
        x->count = j->workers;
    } else if (p->kind == RLT_PK_PARTIAL) {
        merge(p, x, rlt_seen_merge(seen, rlt_fabric_job_note(j, p->aux), j->note_words));
    } else {
        merge(p, x, rlt_seen_add(seen, worker));
    }
    if (p->kind == RLT_PK_PARTIAL)
        rlt_fabric_job_take_note(j, p->aux);
    if (x->replied < 0 && x->count == j->workers)
        answer_all(j, server, p->key);
}

static void ps_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t who)
{
    if (p->kind == RLT_PK_RESULT || p->kind == RLT_PK_ANSWER)
        at_worker(j, p, who);
    else
        at_server(j, p, who);
}

static void ps_timer(rlt_fabric_job *j, uint64_t what)
{
    const ps *s = j->state;
    uint32_t worker;
    rlt_window_place *p = rlt_window_late(&s->window, j, what, &worker);
    if (p)
        send(j, worker, p, true);
}

static uint32_t servers_apart(const rlt_param_value *values)
{
    return values[SERVERS_AT].u == 0 ? (uint32_t)values[SERVERS].u : 0;
}

static int make_state(rlt_fabric_job *j, uint64_t chunks, rlt_error *err)
{
    ps *s = j->state;
    s->chunks = calloc((size_t)chunks + 1, sizeof *s->chunks);
    s->seen = calloc((size_t)chunks + 1, j->note_words * sizeof *s->seen);
    if (!s->chunks || !s->seen)
        return rlt_nomem(err);
    for (uint64_t c = 0; c < chunks; c++)
        s->chunks[c].replied = -1;
    return rlt_window_create(&s->window, j, err);
}

static int ps_start(rlt_fabric_job *j, rlt_error *err)
{
    uint64_t payload = rlt_fabric_job_setting(j, PAYLOAD).u, chunks = (j->req.bytes + payload - 1) / payload;
    ps *s = j->state = calloc(1, sizeof *s);
    int rc = s ? rlt_fabric_job_serve(j, rlt_fabric_job_setting(j, SERVERS).u, err) : rlt_nomem(err);
    if (rc)
        return rc;
    s->window.rto = rlt_fabric_job_setting(j, RTO).t;
    s->window.tries = rlt_fabric_job_setting(j, TRIES).u;
    s->share = rlt_fabric_job_setting(j, SHARE).d;
    s->answers = (uint32_t)rlt_fabric_job_setting(j, ANSWERS).u;
    if (chunks > UINT32_MAX / 2)
        return rlt_fail(err, RLT_ERANGE, "ps-switch", "too many chunks: %llu", (unsigned long long)chunks);
    if (s->answers == BY_SERVER && s->share > 0)
        return rlt_fail(err, RLT_ESCHEMA, "ps-switch", "answers=server needs share=0");
    j->chunks = (uint32_t)chunks;
    j->mode = RLT_SLOTS_HASH;
    j->wire_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, HEADER).u);
    j->window = (uint32_t)rlt_fabric_job_setting(j, WINDOW).u;
    if (s->answers == BY_SWITCH)
        rc = rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, PLACE).u, 1, j->window,
                                  (uint32_t)payload, err);
    return rc ? rc : make_state(j, chunks, err);
}

static void ps_release(rlt_fabric_job *j)
{
    ps *s = j->state;
    if (!s)
        return;
    rlt_window_free(&s->window);
    free(s->chunks);
    free(s->seen);
}

const rlt_reactive rlt_ps_switch = {
    .name = "ps-switch",
    .summary = "parameter servers behind a switch that aggregates a share of the chunks",
    .kinds = 1u << RLT_ALL_REDUCE,
    .settings = settings,
    .servers = servers_apart,
    .start = ps_start,
    .begin = ps_begin,
    .packet = ps_packet,
    .timer = ps_timer,
    .server = ps_server,
    .release = ps_release,
};
