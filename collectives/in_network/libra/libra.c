/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libra ("In-network Gradient Aggregation for Speeding up Distributed Sparse Deep Training", arXiv
 * 2205.05243). Workers push sparse updates to parameter servers. The switch adds up the updates of hot
 * parameters; all others go on to the servers. Hot parameters have fixed places in packets and registers, so
 * all workers build the same hot packets, and no hot packet collides with another one of its job.
 *
 * n workers send C chunks each; f is the hot share of the packets. A packet takes tau on a link; d is the
 * latency of a link, s that of the switch. With one server
 *
 *   T = (f + n (1 - f)) C tau + 3 tau + 4 d + 2 s,     and the gain over f = 0 is n / (n (1 - f) + f)
 *
 * Example: n = 8, f = 0.75: the gain is 8 / (2 + 0.75) = 2.9.
 *
 * Chunk i of a step is hot iff floor((i+1) f) - floor(i f) = 1. A server answers a hot chunk once, and the
 * switch multicasts the answer. Steps follow each other. At the beginning of a step a worker computes, and
 * spends `conn_cost` on each of its connections, or waits for the server if that has more.
 *
 * mode=async: nobody waits for others. After `flush` a slot sends its partial sum; servers merge and answer
 * packets as they come. Losses: a chunk without an answer after `rto` is retransmitted past the slots. The
 * slot's partial sum then follows it to the server, which counts every worker once (as in ATP; Libra's paper
 * does not give this detail).
 *
 * This file holds the workers.
 */
#include "collectives/in_network/libra/libra.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/libra/internal.h"
#include "collectives/in_network/reactor.h"
#include "collectives/in_network/window.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "sim/base/param.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { PURPOSE_COMPUTE = 0x4c63, MAX_HOT_SLOTS = 1 << 20 };

static const rlt_param settings[] = {
    [RLT__LIBRA_WINDOW] = {"window", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_WINDOW), .preset = "256",
                           .min = 1, .max = 1 << 18, .help = "chunks of a worker in flight"},
    [RLT__LIBRA_PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(RLT__LIBRA_PAYLOAD), .preset = "1KiB",
                            .min = 1, .max = 1 << 16, .help = "update bytes in a packet"},
    [RLT__LIBRA_HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(RLT__LIBRA_HEADER), .preset = "82B",
                           .max = 4096, .help = "other bytes of a packet, preamble and gap included"},
    [RLT__LIBRA_SHARE] = {"share", .kind = RLT_PARAM_NUMBER, RLT_SLOT(RLT__LIBRA_SHARE), .preset = "0.75",
                          .max = 1, .help = "hot share of the updates, if parameters is 0"},
    [RLT__LIBRA_PARAMETERS] = {"parameters", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_PARAMETERS),
                               .preset = "0", .max = 1e15,
                               .help = "parameters of the model, to find the hot ones; 0: use share"},
    [RLT__LIBRA_ZIPF] = {"zipf", .kind = RLT_PARAM_NUMBER, RLT_SLOT(RLT__LIBRA_ZIPF), .preset = "1.1",
                         .max = 8, .help = "exponent of the parameters' popularity"},
    [RLT__LIBRA_SAMPLE_STEPS] = {"training_steps", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_SAMPLE_STEPS),
                                 .preset = "1000", .min = 1, .max = 1e9, .help = "steps of the training"},
    [RLT__LIBRA_SAMPLED] = {"sampled", .kind = RLT_PARAM_NUMBER, RLT_SLOT(RLT__LIBRA_SAMPLED),
                            .preset = "0.001", .min = 1e-9, .max = 1,
                            .help = "share of the training steps that is sampled to find the hot parameters"},
    [RLT__LIBRA_MEMORY] = {"memory", .kind = RLT_PARAM_SIZE, RLT_SLOT(RLT__LIBRA_MEMORY), .preset = "128KiB",
                           .min = 1, .max = 1e12,
                           .help = "register memory of the switch, which limits the hot parameters"},
    [RLT__LIBRA_ARRAYS] = {"arrays", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_ARRAYS), .preset = "32",
                           .min = 1, .max = RLT_MAX_ARRAYS,
                           .help = "register arrays, each used once per pass"},
    [RLT__LIBRA_ORDER] = {"order", .kind = RLT_PARAM_CHOICE, .words = "heat|random",
                          RLT_SLOT(RLT__LIBRA_ORDER), .preset = "heat",
                          .help = "how hot parameters are placed on the arrays"},
    [RLT__LIBRA_RECIRCULATION] =
        {"recirculation", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_RECIRCULATION), .preset = "0",
         .max = 1024,
         .help = "ports for passes beyond the first, as fast as a worker's link; 0: passes cost nothing"},
    [RLT__LIBRA_ENTRY] = {"entry", .kind = RLT_PARAM_SIZE, RLT_SLOT(RLT__LIBRA_ENTRY), .preset = "4B",
                          .min = 1, .max = 64, .help = "bytes of a hot update"},
    [RLT__LIBRA_COLD_ENTRY] = {"cold_entry", .kind = RLT_PARAM_SIZE, RLT_SLOT(RLT__LIBRA_COLD_ENTRY),
                               .preset = "4B", .min = 1, .max = 256,
                               .help = "bytes of a cold update, its key included"},
    [RLT__LIBRA_SERVERS] = {"servers", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_SERVERS), .preset = "1",
                            .min = 1, .max = 1 << 20,
                            .help = "dedicated parameter servers: the last members"},
    [RLT__LIBRA_MODE] = {"mode", .kind = RLT_PARAM_CHOICE, .words = "sync|async", RLT_SLOT(RLT__LIBRA_MODE),
                         .preset = "sync", .help = "whether workers wait for each other"},
    [RLT__LIBRA_FLUSH] = {"flush", .kind = RLT_PARAM_DURATION, RLT_SLOT(RLT__LIBRA_FLUSH), .preset = "100us",
                          .min = 1, .max = 1e15, .help = "async: age at which a slot sends its partial sum"},
    [RLT__LIBRA_STEPS] = {"steps", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_STEPS), .preset = "1",
                          .min = 1, .max = 1 << 20, .help = "simulated steps, each with all bytes"},
    [RLT__LIBRA_COMPUTE] = {"compute", .kind = RLT_PARAM_DURATION, RLT_SLOT(RLT__LIBRA_COMPUTE),
                            .preset = "0", .max = 1e15, .help = "compute time of a step, before its pushes"},
    [RLT__LIBRA_JITTER] = {"jitter", .kind = RLT_PARAM_NUMBER, RLT_SLOT(RLT__LIBRA_JITTER), .preset = "0",
                           .max = 1000,
                           .help =
                               "random extra compute time, uniform up to this multiple, by worker and step"},
    [RLT__LIBRA_CONN_COST] = {"conn_cost", .kind = RLT_PARAM_DURATION, RLT_SLOT(RLT__LIBRA_CONN_COST),
                              .preset = "0", .max = 1e15,
                              .help = "host time for each active connection in a step"},
    [RLT__LIBRA_RTO] = {"rto", .kind = RLT_PARAM_DURATION, RLT_SLOT(RLT__LIBRA_RTO), .preset = "10ms",
                        .max = 1e15, .help = "timeout before a chunk is retransmitted; 0: never"},
    [RLT__LIBRA_TRIES] = {"tries", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_TRIES), .preset = "1000",
                          .min = 1, .max = 1e9, .help = "retransmissions of a chunk before the job gives up"},
    [RLT__LIBRA_PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine",
                          RLT_SLOT(RLT__LIBRA_PLACE), .preset = "all", .help = "which switches aggregate"},
    [RLT__LIBRA_SEED] = {"seed", .kind = RLT_PARAM_COUNT, RLT_SLOT(RLT__LIBRA_SEED), .preset = "1",
                         .max = 1e15, .help = "seed of samples, jitter and random places"},
    {0}};

static void send(rlt_fabric_job *j, uint32_t worker, rlt_window_place *p, bool again)
{
    const rlt__libra *s = j->state;
    uint32_t slot = rlt__libra_is_hot(s, p->chunk) ? rlt__libra_slot(j, p->chunk) : RLT_NONE;
    rlt_window_wait(&s->window, j, worker, p, rlt_fabric_job_push(j, worker, p->chunk, slot, again));
}

static void send_first(rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    const rlt__libra *s = j->state;
    send(j, worker, rlt_window_take(&s->window, j, worker, chunk), false);
}

static void push(rlt_fabric_job *j, uint32_t worker, uint32_t step)
{
    const rlt__libra *s = j->state;
    s->left[worker] = s->per_step;
    for (uint32_t i = 0; i < j->window && i < s->per_step; i++)
        send_first(j, worker, step * s->per_step + i);
}

/* Number of servers that get packets of a sort, by round robin. */
static uint32_t in_turn(const rlt_fabric_job *j, uint64_t packets)
{
    return packets < j->n_servers ? (uint32_t)packets : j->n_servers;
}

/* Active connections. A worker has one to the switch and one to each server that gets cold packets. A server
 * has one to the switch and one to each worker. */
static uint32_t of_worker(const rlt_fabric_job *j, const rlt_libra_report *r)
{
    return (r->hot_packets > 0) + in_turn(j, r->cold_packets);
}

static uint32_t of_server(const rlt_fabric_job *j, const rlt_libra_report *r)
{
    return (r->hot_packets > 0) + (r->cold_packets > 0) * j->workers;
}

/* Begins a step: computing, then connections. Timers of steps are numbered after those of window places. */
static void begin_step(rlt_fabric_job *j, uint32_t worker, uint32_t step)
{
    const rlt__libra *s = j->state;
    uint32_t own = of_worker(j, &s->report), most = of_server(j, &s->report);
    double more = s->jitter > 0 ? s->jitter * rlt_random_unit(s->seed, worker, PURPOSE_COMPUTE, step) : 0;
    rlt_time wait = rlt_time_add(s->compute, (rlt_time)((double)s->compute * more));
    wait = rlt_time_add(wait, s->connection * (own > most ? own : most));
    if (wait == 0)
        push(j, worker, step);
    else
        rlt_fabric_job_timer(j, rlt_time_add(rlt_sim_now(j->sim), wait),
                             (uint64_t)j->workers * j->window + (uint64_t)step * j->workers + worker);
}

static void libra_begin(rlt_fabric_job *j, uint32_t worker)
{
    begin_step(j, worker, 0);
}

/* Takes an answer. Asynchronous answers reach all workers; one counts for a worker only if it contains the
 * worker's contribution. */
static bool take(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const rlt__libra *s = j->state;
    if (!s->async)
        return rlt_fabric_job_receive(j, worker, p->key, p->data);
    uint32_t *pulled = &s->pulled[(size_t)worker * s->per_step + p->key % s->per_step];
    if (p->data > *pulled)
        *pulled = (uint32_t)p->data;
    return rlt__libra_has(j, s, p->key, worker) &&
           rlt_fabric_job_receive(j, worker, p->key, rlt__libra_whole(j, p->key));
}

static void at_worker(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const rlt__libra *s = j->state;
    uint32_t step = p->key / s->per_step, index = p->key % s->per_step;
    if (!take(j, p, worker))
        return;
    rlt_window_got(&s->window, j, worker, p->key);
    if ((uint64_t)index + j->window < s->per_step)
        send_first(j, worker, p->key + j->window);
    if (--s->left[worker] == 0 && step + 1 < s->report.steps)
        begin_step(j, worker, step + 1);
}

static void libra_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t who)
{
    if (p->kind == RLT_PK_RESULT || p->kind == RLT_PK_ANSWER)
        at_worker(j, p, who);
    else
        rlt__libra_serve(j, p, who);
}

static void libra_timer(rlt_fabric_job *j, uint64_t what)
{
    const rlt__libra *s = j->state;
    uint64_t places = (uint64_t)j->workers * j->window;
    if (what >= places) {
        push(j, (uint32_t)((what - places) % j->workers), (uint32_t)((what - places) / j->workers));
        return;
    }
    uint32_t worker;
    rlt_window_place *p = rlt_window_late(&s->window, j, what, &worker);
    if (p)
        send(j, worker, p, true);
}

static void read_settings(const rlt_fabric_job *j, rlt__libra *s)
{
    s->window.rto = rlt_fabric_job_setting(j, RLT__LIBRA_RTO).t;
    s->window.tries = rlt_fabric_job_setting(j, RLT__LIBRA_TRIES).u;
    s->async = rlt_fabric_job_setting(j, RLT__LIBRA_MODE).u != 0;
    s->flush = rlt_fabric_job_setting(j, RLT__LIBRA_FLUSH).t;
    s->compute = rlt_fabric_job_setting(j, RLT__LIBRA_COMPUTE).t;
    s->jitter = rlt_fabric_job_setting(j, RLT__LIBRA_JITTER).d;
    s->connection = rlt_fabric_job_setting(j, RLT__LIBRA_CONN_COST).t;
    s->seed = rlt_fabric_job_setting(j, RLT__LIBRA_SEED).u;
    s->report.steps = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_STEPS).u;
}

static int make_state(const rlt_fabric_job *j, rlt__libra *s, rlt_error *err)
{
    size_t chunks = (size_t)j->chunks + 1;
    s->left = calloc(j->workers, sizeof *s->left);
    s->chunks = calloc(chunks, sizeof *s->chunks);
    s->seen = calloc(chunks, j->note_words * sizeof *s->seen);
    if (s->async) {
        s->updates = calloc((size_t)s->per_step + 1, sizeof *s->updates);
        s->pulled = calloc((size_t)s->per_step + 1, j->workers * sizeof *s->pulled);
    }
    if (!s->left || !s->chunks || !s->seen || (s->async && (!s->updates || !s->pulled)))
        return rlt_nomem(err);
    for (uint32_t c = 0; c < j->chunks; c++)
        s->chunks[c].replied = -1;
    return rlt_window_create(&s->window, j, err);
}

static uint32_t servers_apart(const rlt_param_value *values)
{
    return (uint32_t)values[RLT__LIBRA_SERVERS].u;
}

static void count_connections(const rlt_fabric_job *j, rlt_libra_report *r)
{
    uint32_t hot = in_turn(j, r->hot_packets), all = in_turn(j, r->hot_packets + r->cold_packets);
    r->server_connections = of_server(j, r);
    r->connections_plain = (uint64_t)j->workers * all;
    r->connections = (uint64_t)j->workers * of_worker(j, r) + hot;
}

/* Number of slots for hot parameters: one for each of their packets. If only a share is given, every hot
 * packet of a step needs its own. */
static uint32_t slots_wanted(const rlt_fabric_job *j, const rlt_libra_report *r)
{
    uint64_t values =
        rlt_fabric_job_setting(j, RLT__LIBRA_PAYLOAD).u / rlt_fabric_job_setting(j, RLT__LIBRA_ENTRY).u;
    uint64_t packets = r->hot ? (r->hot + values - 1) / values : r->hot_packets;
    if (packets > r->hot_packets)
        packets = r->hot_packets;
    return packets < 1 ? 1 : packets > MAX_HOT_SLOTS ? MAX_HOT_SLOTS : (uint32_t)packets;
}

/* A hot packet is sent again in the next step only after its answer. So no more hot packets may be under way
 * than there are slots. */
static void limit_window(rlt_fabric_job *j, const rlt__libra *s)
{
    uint32_t slots = j->result.slots;
    if (slots == 0 || slots >= s->report.hot_packets)
        return;
    double most = floor(slots / s->hot);
    if (most < j->window)
        j->window = (uint32_t)most;
}

/* Sets the cost of passes beyond the first: a recirculation port is as fast as a worker's link. */
static void charge_passes(rlt_fabric_job *j, const rlt__libra *s)
{
    const rlt_reduction *r = j->trees[0].map;
    const rlt_packets_config *p = &j->fabric->cfg.packets;
    uint32_t link = r->links[r->contributors[0].up.first];
    double bw = (double)rlt_topology_link(p->topology, link).bw_Bps * p->bandwidth_scale;
    j->pass_ports = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_RECIRCULATION).u;
    j->more_passes = s->report.passes > 1 ? s->report.passes - 1 : 0;
    j->pass_ps = (rlt_time)(j->wire_bytes * 1e12 / bw + 0.5);
}

static int libra_start(rlt_fabric_job *j, rlt_error *err)
{
    rlt__libra *s = j->state = calloc(1, sizeof *s);
    int rc =
        s ? rlt_fabric_job_serve(j, rlt_fabric_job_setting(j, RLT__LIBRA_SERVERS).u, err) : rlt_nomem(err);
    if (rc)
        return rc;
    read_settings(j, s);
    if ((rc = rlt__libra_plan(j, s, err)) != 0)
        return rc;
    uint64_t payload = rlt_fabric_job_setting(j, RLT__LIBRA_PAYLOAD).u;
    j->chunks = s->per_step * s->report.steps;
    j->mode = RLT_SLOTS_HASH;
    j->wire_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, RLT__LIBRA_HEADER).u);
    j->window = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_WINDOW).u;
    j->ttl_ps = s->async ? s->flush : 0;
    rc = rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, RLT__LIBRA_PLACE).u, 1,
                              slots_wanted(j, &s->report), (uint32_t)payload, err);
    if (rc)
        return rc;
    s->report.register_bytes = s->report.hot_packets ? j->result.slots * payload : 0;
    limit_window(j, s);
    charge_passes(j, s);
    count_connections(j, &s->report);
    return make_state(j, s, err);
}

static void libra_release(rlt_fabric_job *j)
{
    rlt__libra *s = j->state;
    if (!s)
        return;
    rlt_window_free(&s->window);
    free(s->left);
    free(s->chunks);
    free(s->seen);
    free(s->updates);
    free(s->pulled);
}

int rlt_libra_report_of(const rlt_fabric *f, uint32_t job, rlt_libra_report *out, rlt_error *err)
{
    if (job >= f->n_jobs || f->jobs[job]->req.protocol != &rlt_libra)
        return rlt_fail(err, RLT_EUSAGE, "libra", "job %u does not run libra", job);
    const rlt__libra *s = f->jobs[job]->state;
    *out = s->report;
    out->flushes = rlt_fabric_result(f, job).switches.partials;
    out->staleness_mean = s->stale_n ? (double)s->stale_sum / (double)s->stale_n : 0;
    out->staleness_worst = s->stale_worst;
    return 0;
}

const rlt_reactive rlt_libra = {
    .name = "libra",
    .summary = "sparse updates to parameter servers, the hot ones added up in the switch (arXiv 2205.05243)",
    .kinds = 1u << RLT_ALL_REDUCE,
    .can = RLT_REACTS_TO_UPDATES,
    .settings = settings,
    .servers = servers_apart,
    .start = libra_start,
    .begin = libra_begin,
    .packet = libra_packet,
    .timer = libra_timer,
    .server = rlt__libra_server,
    .release = libra_release,
};
