/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHARP (R. Graham et al., COMHPC 2016; streaming: ISC 2020). A group reserves its tree when it is created.
 *
 * Low latency (LLT): each switch offers outstanding operations (OSTs) of one payload each. Longer requests
 * are cut into C payloads, which are pipelined through the W OSTs of the group. With tau, d, s and L as in
 * switchml.c:
 *
 *   T = 2 host + floor((C - 1) / W) RTT + ((C - 1) mod W) tau + RTT
 *   RTT = 2 L tau + 2 L d + (2 L - 1) s + L add;  throughput <= W payload / RTT
 *
 * Streaming (SAT): the switches of the tree, or their ports, are locked, and segments stream at the share
 * `eta` of the link. Requests above `threshold` stream. SHARP may be refused: no tree, no OSTs, a lock of
 * another job, a network that loses packets. Then a ring between the hosts runs instead, and the result gives
 * the reason.
 *
 * `host` is paid twice per collective, to post and to complete. `add` is paid in every switch on the way up.
 * Both are fitted to one published pair: 8 B over 128 hosts take 6.01 us between hosts and 2.83 us with SHARP
 * (COMHPC 2016). Links have 25 ns, switches 90 ns.
 *
 * `generation` gives payload and OSTs. Switch-IB 2: 256 B (SHARP manual), and 3 OSTs, which is fitted to
 * 4096 B over the same hosts, 14.48 us: (14.48 - 0.60) us / RTT = 6 rounds for 16 payloads. It does not
 * stream. Quantum: 1 KiB and 8 OSTs, as its logs show (NVIDIA/nccl issues 1219, 1460); the manual allows
 * 2 KiB.
 */
#include <math.h>
#include <stdlib.h>

#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { MODE, THRESHOLD, OSTS, PAYLOAD, HEADER, SEGMENT, ETA, STREAM, HOST, ADD, PLACE, REFUSED, GENERATION };
enum { MODE_AUTO, MODE_LLT, MODE_SAT };
enum { REFUSED_RING };

/* Payload and OSTs of a switch generation, and whether it streams. */
static const struct generation {
    uint32_t payload, osts;
    bool streams;
} generations[] = {{1024, 8, true}, {256, 3, false}};
#define GENERATIONS "quantum|switch-ib2"

static const rlt_param settings[] = {
    [MODE] = {"mode", .kind = RLT_PARAM_CHOICE, .words = "auto|llt|sat", RLT_SLOT(MODE), .preset = "auto",
              .help = "low-latency trees (llt), streaming trees (sat), or by size"},
    [THRESHOLD] = {"threshold", .kind = RLT_PARAM_SIZE, RLT_SLOT(THRESHOLD), .preset = "4KiB", .max = 1e18,
                   .help = "larger requests stream"},
    [OSTS] = {"osts", .kind = RLT_PARAM_COUNT, RLT_SLOT(OSTS), .preset = "0", .max = 1 << 16,
              .help = "outstanding operations of the group at each switch; 0: the generation's"},
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "0B", .max = 1 << 20,
                 .help = "bytes in an operation; 0: the generation's"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "58B", .max = 4096,
                .help = "other bytes of a packet"},
    [SEGMENT] = {"segment", .kind = RLT_PARAM_SIZE, RLT_SLOT(SEGMENT), .preset = "4KiB", .min = 1,
                 .max = 1 << 20, .help = "bytes in a packet of a stream"},
    [ETA] = {"eta", .kind = RLT_PARAM_NUMBER, RLT_SLOT(ETA), .preset = "0.95", .min = 0.01, .max = 1,
             .help = "share of the link that a stream gets"},
    [STREAM] = {"stream", .kind = RLT_PARAM_COUNT, RLT_SLOT(STREAM), .preset = "256", .min = 1,
                .max = 1 << 18, .help = "segments in flight"},
    [HOST] = {"host", .kind = RLT_PARAM_DURATION, RLT_SLOT(HOST), .preset = "302ns", .max = 1e15,
              .help = "host time to post a collective, and again to complete it"},
    [ADD] = {"add", .kind = RLT_PARAM_DURATION, RLT_SLOT(ADD), .preset = "917ns", .max = 1e15,
             .help = "time to add up in a switch, beyond its latency"},
    [PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine", RLT_SLOT(PLACE), .preset = "all",
               .help = "which switches aggregate"},
    [REFUSED] = {"refused", .kind = RLT_PARAM_CHOICE, .words = "ring|fail", RLT_SLOT(REFUSED),
                 .preset = "ring", .help = "if switches refuse the group: a ring between hosts, or an error"},
    [GENERATION] = {"generation", .kind = RLT_PARAM_CHOICE, .words = GENERATIONS, RLT_SLOT(GENERATION),
                    .preset = "quantum",
                    .help = "payload and operations: 1 KiB and 8, or 256 B and 3 without streams"},
    {0}};

/* A result that waits for the time `add` of its switches. */
typedef struct arrival {
    uint32_t chunk;
    uint64_t sum;
} arrival;

typedef struct sharp {
    arrival *arrivals; /* `window` entries per worker */
    rlt_time before, after;
} sharp;

static void send(rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    rlt_fabric_job_contribute(j, worker, chunk, rlt_fabric_job_slot(j, chunk), false);
}

static void begin(rlt_fabric_job *j, uint32_t worker)
{
    for (uint32_t c = 0; c < j->window && c < j->chunks; c++)
        send(j, worker, c);
}

/* Delays the first packets by the time to post and to complete. */
static void sharp_begin(rlt_fabric_job *j, uint32_t worker)
{
    const sharp *s = j->state;
    if (s->before > 0)
        rlt_fabric_job_timer(j, rlt_time_add(rlt_sim_now(j->sim), s->before),
                             (uint64_t)j->workers * j->window + worker);
    else
        begin(j, worker);
}

static void take(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum)
{
    if (rlt_fabric_job_receive(j, worker, chunk, sum) && chunk + (uint64_t)j->window < j->chunks)
        send(j, worker, chunk + j->window);
}

static void sharp_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const sharp *s = j->state;
    uint64_t at = (uint64_t)worker * j->window + p->key % j->window;
    if (s->after == 0) {
        take(j, worker, p->key, p->data);
        return;
    }
    s->arrivals[at] = (arrival){p->key, p->data};
    rlt_fabric_job_timer(j, rlt_time_add(rlt_sim_now(j->sim), s->after), at);
}

static void sharp_timer(rlt_fabric_job *j, uint64_t what)
{
    const sharp *s = j->state;
    uint64_t places = (uint64_t)j->workers * j->window;
    if (what >= places)
        begin(j, (uint32_t)(what - places));
    else
        take(j, (uint32_t)(what / j->window), s->arrivals[what].chunk, s->arrivals[what].sum);
}

static int reserve(rlt_fabric_job *j, rlt_error *err)
{
    const struct generation *g = &generations[rlt_fabric_job_setting(j, GENERATION).u];
    uint64_t mode = rlt_fabric_job_setting(j, MODE).u, payload = rlt_fabric_job_setting(j, PAYLOAD).u;
    uint64_t bytes = j->req.bytes, osts = rlt_fabric_job_setting(j, OSTS).u;
    if (mode == MODE_SAT && !g->streams)
        return rlt_fail(err, RLT_EUNSUPPORTED, "sharp",
                        "mode=sat: this generation of switches does not stream");
    payload = payload ? payload : g->payload;
    j->mode = RLT_SLOTS_CREDIT;
    j->streaming = g->streams && (mode == MODE_SAT ||
                                  (mode == MODE_AUTO && bytes > rlt_fabric_job_setting(j, THRESHOLD).u));
    uint64_t data = j->streaming ? rlt_fabric_job_setting(j, SEGMENT).u : payload;
    uint64_t chunks = bytes ? (bytes + data - 1) / data : 1;
    if (chunks > UINT32_MAX / 2)
        return rlt_fail(err, RLT_ERANGE, "sharp", "too many segments: %llu", (unsigned long long)chunks);
    if (j->streaming)
        j->wire_bytes = (uint32_t)llround((double)data / rlt_fabric_job_setting(j, ETA).d);
    else
        j->wire_bytes = (uint32_t)((bytes < data ? bytes : data) + rlt_fabric_job_setting(j, HEADER).u);
    if (j->wire_bytes == 0)
        j->wire_bytes = 1;
    j->chunks = (uint32_t)chunks;
    j->window = (uint32_t)(j->streaming ? rlt_fabric_job_setting(j, STREAM).u : osts ? osts : g->osts);
    /* A stream passes through the switch, which keeps no operation of a payload. */
    return rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, PLACE).u, 1, j->window,
                                (uint32_t)payload, err);
}

static int sharp_start(rlt_fabric_job *j, rlt_error *err)
{
    rlt_error why = {0};
    sharp *s = j->state = calloc(1, sizeof *s);
    if (!s)
        return rlt_nomem(err);
    int rc = rlt_fabric_job_needs_all(j, &why);
    if (!rc)
        rc = reserve(j, &why);
    if (rlt_fabric_job_refused(j, &rc, rlt_fabric_job_setting(j, REFUSED).u == REFUSED_RING, &why, err))
        return rc;
    s->before = 2 * rlt_fabric_job_setting(j, HOST).t;
    s->after = j->result.levels * rlt_fabric_job_setting(j, ADD).t;
    s->arrivals = calloc((size_t)j->workers * j->window, sizeof *s->arrivals);
    return s->arrivals ? 0 : rlt_nomem(err);
}

static void sharp_release(rlt_fabric_job *j)
{
    sharp *s = j->state;
    if (s)
        free(s->arrivals);
}

const rlt_reactive rlt_sharp = {
    .name = "sharp",
    .summary = "reserved trees in switches, low-latency or streaming under a lock; a ring if refused",
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_BARRIER,
    .settings = settings,
    .start = sharp_start,
    .begin = sharp_begin,
    .packet = sharp_packet,
    .timer = sharp_timer,
    .release = sharp_release,
};
