/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SwitchML (A. Sapio et al.: "Scaling Distributed Machine Learning with In-Network Aggregation", NSDI 2021).
 * Every worker streams its gradient in chunks to slots of the switches of its tree. A result is the credit
 * for the chunk one window later, which uses the same slot in its other version. An unanswered chunk is
 * retransmitted.
 *
 * M bytes are C = ceil(M / payload) chunks. A packet takes tau = (payload + header) / B on a link of
 * bandwidth B. W is the window, L the number of switch levels, s the latency of a switch, d that of a link.
 * Then
 *
 *   RTT = 2 L tau + 2 L d + (2 L - 1) s
 *   W tau >= RTT:  T = (C - 1) tau + RTT
 *   else           T = floor((C - 1) / W) RTT + ((C - 1) mod W) tau + RTT
 *
 * Example: 100 Gb/s, payload 1024 B, header 82 B: tau = 88.48 ns. With L = 1, d = 500 ns, s = 0: RTT = 1177
 * ns, so a window of 14 chunks fills the link.
 *
 * With `exponents`, one window of packets is sent ahead; it carries only the exponents that scale the first
 * data. Later exponents travel with the data before them. The last chunk is padded to a full packet.
 */
#include <stdlib.h>

#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "collectives/in_network/window.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/sim.h"

enum { WINDOW, PAYLOAD, HEADER, RTO, BACKOFF, TRIES, PLACE, TREES, EXPONENTS, REFUSED };

static const rlt_param settings[] = {
    [WINDOW] = {"window", .kind = RLT_PARAM_COUNT, RLT_SLOT(WINDOW), .preset = "256", .min = 1,
                .max = 1 << 18, .help = "chunks of a worker in flight, and slots of the job at each switch"},
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "1KiB", .min = 1,
                 .max = 1 << 20, .help = "gradient bytes in a packet"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "82B", .max = 4096,
                .help = "other bytes of a packet, preamble and gap included"},
    [RTO] = {"rto", .kind = RLT_PARAM_DURATION, RLT_SLOT(RTO), .preset = "10ms", .max = 1e15,
             .help = "timeout before a chunk is retransmitted; 0: never"},
    [BACKOFF] = {"backoff", .kind = RLT_PARAM_COUNT, RLT_SLOT(BACKOFF), .preset = "100", .max = 1e9,
                 .help = "retransmissions of a chunk before its timeout doubles; 0: never"},
    [TRIES] = {"tries", .kind = RLT_PARAM_COUNT, RLT_SLOT(TRIES), .preset = "1000", .min = 1, .max = 1e9,
               .help = "retransmissions of a chunk before the job gives up"},
    [PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine", RLT_SLOT(PLACE), .preset = "all",
               .help = "which switches aggregate"},
    [TREES] = {"trees", .kind = RLT_PARAM_COUNT, RLT_SLOT(TREES), .preset = "1", .min = 1, .max = 64,
               .help = "number of trees, used by chunks in turn"},
    [EXPONENTS] = {"exponents", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_SLOT(EXPONENTS),
                   .preset = "off", .help = "whether a first window of packets agrees on the scale"},
    [REFUSED] = {"refused", .kind = RLT_PARAM_CHOICE, .words = "fail|ring", RLT_SLOT(REFUSED),
                 .preset = "fail", .help = "if switches refuse the job: an error, or a ring between hosts"},
    {0}};

/* Sends a chunk for the first time. */
static void send(rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    const rlt_window *w = j->state;
    rlt_window_wait(w, j, worker, rlt_window_take(w, j, worker, chunk),
                    rlt_fabric_job_contribute(j, worker, chunk, rlt_fabric_job_slot(j, chunk), false));
}

static void switchml_begin(rlt_fabric_job *j, uint32_t worker)
{
    for (uint32_t c = 0; c < j->window && c < j->chunks; c++)
        send(j, worker, c);
}

static void switchml_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    if (!rlt_fabric_job_receive(j, worker, p->key, p->data))
        return;
    rlt_window_got(j->state, j, worker, p->key);
    if (p->key + (uint64_t)j->window < j->chunks)
        send(j, worker, p->key + j->window);
}

static void switchml_timer(rlt_fabric_job *j, uint64_t what)
{
    const rlt_window *w = j->state;
    uint32_t worker;
    rlt_window_place *p = rlt_window_late(w, j, what, &worker);
    if (p)
        rlt_window_wait(
            w, j, worker, p,
            rlt_fabric_job_contribute(j, worker, p->chunk, rlt_fabric_job_slot(j, p->chunk), true));
}

static int plan_chunks(rlt_fabric_job *j, uint64_t payload, rlt_error *err)
{
    uint64_t chunks = (j->req.bytes + payload - 1) / payload, ahead = 0;
    if (rlt_fabric_job_setting(j, EXPONENTS).u)
        ahead = chunks < j->window ? chunks : j->window;
    if (chunks + ahead > UINT32_MAX / 2)
        return rlt_fail(err, RLT_ERANGE, "switchml", "%llu bytes make too many chunks of %llu bytes",
                        (unsigned long long)j->req.bytes, (unsigned long long)payload);
    j->chunks = (uint32_t)(chunks + ahead);
    return 0;
}

static int switchml_start(rlt_fabric_job *j, rlt_error *err)
{
    uint64_t payload = rlt_fabric_job_setting(j, PAYLOAD).u;
    uint32_t trees = (uint32_t)rlt_fabric_job_setting(j, TREES).u,
             window = (uint32_t)rlt_fabric_job_setting(j, WINDOW).u;
    rlt_error why = {0};
    rlt_window *w = j->state = calloc(1, sizeof *w);
    if (!w)
        return rlt_nomem(err);
    w->rto = rlt_fabric_job_setting(j, RTO).t;
    w->backoff = rlt_fabric_job_setting(j, BACKOFF).u;
    w->tries = rlt_fabric_job_setting(j, TRIES).u;
    j->mode = RLT_SLOTS_POOL;
    j->wire_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, HEADER).u);
    j->window = window < trees ? trees : window - window % trees;
    int rc = rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, PLACE).u, trees,
                                  j->window / trees, (uint32_t)payload, &why);
    if (rlt_fabric_job_refused(j, &rc, rlt_fabric_job_setting(j, REFUSED).u != 0, &why, err))
        return rc;
    rc = plan_chunks(j, payload, err);
    return rc ? rc : rlt_window_create(w, j, err);
}

static void switchml_release(rlt_fabric_job *j)
{
    if (j->state)
        rlt_window_free(j->state);
}

const rlt_reactive rlt_switchml = {
    .name = "switchml",
    .summary = "windows of chunks through slots of aggregating switches, with retransmission (NSDI 2021)",
    .kinds = 1u << RLT_ALL_REDUCE,
    .settings = settings,
    .start = switchml_start,
    .begin = switchml_begin,
    .packet = switchml_packet,
    .timer = switchml_timer,
    .release = switchml_release,
};
