/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-reduce over nodes with k members each, whose inner links (bandwidth B_i) are faster than the links
 * between nodes (B_nic). Reduce-scatter inside each node: member r receives every k-th chunk from its peers.
 * Switches between the nodes add up these shares, with one tree for each r. All-gather inside. With INA(x)
 * the bytes on the wire for x bytes of payload, T is, up to the latency of one chunk:
 *
 *   phases=apart       (k-1)/k M / B_i + INA(M/k) / B_nic + (k-1)/k M / B_i, one after another
 *   phases=pipelined   max(2 (k-1)/k M / B_i, M / (k B_nic)), chunks follow each other
 *   inside=nvls        The node's switch adds up and replicates: M / B_i each way for phases=apart, and
 *                      max((k+1)/k M / B_i, M / (k B_nic)) for phases=pipelined.
 *
 * Example: k = 8, M = 1 GB, B_i = 400 GB/s, B_nic = 50 GB/s, pipelined: max(4.4, 2.5) ms = 4.4 ms.
 *
 * Switches offer SwitchML's pool of slots, or SHARP's reserved operations at the share `eta` of the link.
 * Nothing is retransmitted: if the network loses packets, or switches refuse, a ring runs instead.
 */
#include <math.h>
#include <stdlib.h>

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { NODE, INSIDE, PHASES, BETWEEN, WINDOW, AHEAD, PAYLOAD, HEADER, INNER, ETA, PLACE, REFUSED };
enum { APART, PIPELINED };
enum { BY_SWITCHML, BY_SHARP };
enum { REFUSED_RING };
enum { BY_MEMBERS, BY_NVLS };
enum { PK_SHARE = RLT_PK_OWN, PK_RESULT_INSIDE, PK_NODE_SUM, PK_STORE };
enum { MAX_NODE = 254 };

static const rlt_param settings[] = {
    [NODE] = {"node", .kind = RLT_PARAM_COUNT, RLT_SLOT(NODE), .preset = "8", .min = 1, .max = MAX_NODE,
              .help = "members per node: consecutive ones"},
    [INSIDE] = {"inside", .kind = RLT_PARAM_CHOICE, .words = "direct|nvls", RLT_SLOT(INSIDE),
                .preset = "direct",
                .help = "members send to each other, or the node's switch adds up and replicates"},
    [PHASES] = {"phases", .kind = RLT_PARAM_CHOICE, .words = "apart|pipelined", RLT_SLOT(PHASES),
                .preset = "pipelined", .help = "phases one after another, or pipelined by chunk"},
    [BETWEEN] = {"between", .kind = RLT_PARAM_CHOICE, .words = "switchml|sharp", RLT_SLOT(BETWEEN),
                 .preset = "switchml", .help = "protocol of the switches between nodes"},
    [WINDOW] = {"window", .kind = RLT_PARAM_COUNT, RLT_SLOT(WINDOW), .preset = "256", .min = 1,
                .max = 1 << 18, .help = "chunks of a member in flight between nodes, and slots of each tree"},
    [AHEAD] = {"ahead", .kind = RLT_PARAM_COUNT, RLT_SLOT(AHEAD), .preset = "4096", .min = 1, .max = 1 << 30,
               .help = "pipelined: chunks that a member sends inside ahead of their results"},
    [PAYLOAD] = {"payload", .kind = RLT_PARAM_SIZE, RLT_SLOT(PAYLOAD), .preset = "1KiB", .min = 1,
                 .max = 1 << 20, .help = "gradient bytes in a packet"},
    [HEADER] = {"header", .kind = RLT_PARAM_SIZE, RLT_SLOT(HEADER), .preset = "82B", .max = 4096,
                .help = "other bytes of a packet between nodes"},
    [INNER] = {"inner", .kind = RLT_PARAM_SIZE, RLT_SLOT(INNER), .preset = "0B", .max = 4096,
               .help = "other bytes of a packet inside a node"},
    [ETA] = {"eta", .kind = RLT_PARAM_NUMBER, RLT_SLOT(ETA), .preset = "0.95", .min = 0.01, .max = 1,
             .help = "between=sharp: share of the link that payload gets"},
    [PLACE] = {"place", .kind = RLT_PARAM_CHOICE, .words = "all|tor|spine", RLT_SLOT(PLACE), .preset = "all",
               .help = "which switches aggregate"},
    [REFUSED] = {"refused", .kind = RLT_PARAM_CHOICE, .words = "ring|fail", RLT_SLOT(REFUSED),
                 .preset = "ring", .help = "if switches refuse the job: a ring between hosts, or an error"},
    {0}};

typedef struct member {
    uint32_t out;   /* next chunk to send to its owner inside the node */
    uint32_t up;    /* own chunks sent between nodes so far */
    uint32_t ready; /* own chunks that have the sum of the node */
    uint32_t own;   /* own chunks received */
    uint32_t done;  /* chunks received */
    bool begun;
} member;

typedef struct inside {
    uint32_t k, nodes, window, ahead, inner_bytes;
    bool apart, nvls;
    member *members;
    uint64_t *sums; /* partial or complete sums, by (node, chunk) */
    uint8_t *count;
    /* nvls: switch of each node; route of each member to it, and back. */
    uint32_t *hub, *to_hub, *from_hub;
} inside;

/* Number of chunks that a member owns: r, r + k, ... */
static uint32_t owned(const rlt_fabric_job *j, const inside *s, uint32_t worker)
{
    uint32_t r = worker % s->k;
    return r < j->chunks ? (j->chunks - r + s->k - 1) / s->k : 0;
}

static bool has(const rlt_fabric_job *j, uint32_t worker, uint32_t chunk)
{
    uint64_t at = (uint64_t)worker * j->chunks + chunk;
    return j->received[at / 64] >> (at % 64) & 1;
}

/* Sends a member's contributions to the owners of their chunks. */
static void send_out(rlt_fabric_job *j, uint32_t worker)
{
    const inside *s = j->state;
    member *m = &s->members[worker];
    uint32_t first = worker - worker % s->k;
    for (; m->begun && m->out < j->chunks; m->out++) {
        uint32_t c = m->out, owner = first + c % s->k;
        if (!s->apart && c >= m->done + s->ahead)
            return;
        if (s->nvls)
            rlt_fabric_job_send_on(j, PK_SHARE, j->nodes[worker], s->hub[worker / s->k], s->to_hub[worker],
                                   s->inner_bytes, c, worker, rlt_contribution(j, c, worker));
        else if (owner != worker)
            rlt_fabric_job_send(j, PK_SHARE, worker, owner, s->inner_bytes, c, 0,
                                rlt_contribution(j, c, worker));
    }
}

static void hand_out(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum)
{
    const inside *s = j->state;
    uint32_t first = worker - worker % s->k;
    if (s->nvls) {
        rlt_fabric_job_send_on(j, PK_STORE, j->nodes[worker], s->hub[worker / s->k], s->to_hub[worker],
                               s->inner_bytes, chunk, worker, sum);
        return;
    }
    for (uint32_t i = 1; i < s->k; i++)
        rlt_fabric_job_send(j, PK_RESULT_INSIDE, worker, first + (worker % s->k + i) % s->k, s->inner_bytes,
                            chunk, 0, sum);
}

/* Records the complete sum at its owner in this node, and sends it to the other members. */
static void complete(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum)
{
    const inside *s = j->state;
    member *m = &s->members[worker];
    if (!rlt_fabric_job_receive(j, worker, chunk, sum))
        return;
    m->own++;
    m->done++;
    s->sums[(uint64_t)(worker / s->k) * j->chunks + chunk] = sum;
    if (!s->apart)
        hand_out(j, worker, chunk, sum);
    for (uint32_t c = worker % s->k; s->apart && m->own == owned(j, s, worker) && c < j->chunks; c += s->k)
        hand_out(j, worker, c, s->sums[(uint64_t)(worker / s->k) * j->chunks + c]);
}

/* Sends the node's sums between nodes, as far as the window allows. */
static void send_up(rlt_fabric_job *j, uint32_t worker)
{
    const inside *s = j->state;
    member *m = &s->members[worker];
    uint32_t mine = owned(j, s, worker), r = worker % s->k;
    if (s->apart && m->ready < mine)
        return;
    for (; m->up < mine; m->up++) {
        uint32_t c = r + m->up * s->k;
        uint64_t at = (uint64_t)(worker / s->k) * j->chunks + c;
        if (s->count[at] < s->k + s->nvls)
            return;
        if (s->nodes == 1)
            complete(j, worker, c, s->sums[at]);
        else if (m->up >= s->window && !has(j, worker, c - s->window * s->k))
            return;
        else
            rlt_fabric_job_contribute_sum(j, worker, c, rlt_fabric_job_slot(j, c), s->sums[at]);
    }
}

static void add(rlt_fabric_job *j, uint32_t owner, uint32_t chunk, uint64_t data)
{
    const inside *s = j->state;
    uint64_t at = (uint64_t)(owner / s->k) * j->chunks + chunk;
    s->sums[at] += data;
    if (++s->count[at] < s->k)
        return;
    if (s->nvls)
        rlt_fabric_job_send_on(j, PK_NODE_SUM, s->hub[owner / s->k], j->nodes[owner], s->from_hub[owner],
                               s->inner_bytes, chunk, owner, s->sums[at]);
    else
        s->members[owner].ready++;
}

/* Handles a packet at a node's switch: adds shares up, multicasts stored sums. */
static void ina_at_switch(rlt_fabric_job *j, const rlt_packet *p)
{
    const inside *s = j->state;
    uint32_t first = p->aux - p->aux % s->k;
    if (p->kind == PK_SHARE) {
        add(j, first + p->key % s->k, p->key, p->data);
        return;
    }
    for (uint32_t i = first; i < first + s->k; i++)
        rlt_fabric_job_send_on(j, PK_RESULT_INSIDE, p->dst, j->nodes[i], s->from_hub[i], s->inner_bytes,
                               p->key, i, p->data);
}

/* Records that the owner of a chunk has the sum of its node. */
static void at_owner(const rlt_fabric_job *j, const rlt_packet *p, uint32_t owner)
{
    const inside *s = j->state;
    s->count[(uint64_t)(owner / s->k) * j->chunks + p->key]++;
    s->members[owner].ready++;
}

static void ina_begin(rlt_fabric_job *j, uint32_t worker)
{
    const inside *s = j->state;
    s->members[worker].begun = true;
    for (uint32_t c = worker % s->k; !s->nvls && c < j->chunks; c += s->k)
        add(j, worker, c, rlt_contribution(j, c, worker));
    send_out(j, worker);
    send_up(j, worker);
}

static void ina_packet(rlt_fabric_job *j, const rlt_packet *p, uint32_t worker)
{
    const inside *s = j->state;
    if (p->kind == PK_SHARE)
        add(j, worker, p->key, p->data);
    else if (p->kind == PK_NODE_SUM)
        at_owner(j, p, worker);
    else if (p->kind != PK_RESULT_INSIDE)
        complete(j, worker, p->key, p->data);
    else if (p->key % s->k != worker % s->k && rlt_fabric_job_receive(j, worker, p->key, p->data))
        s->members[worker].done++;
    send_up(j, worker);
    if (!s->apart)
        send_out(j, worker);
}

/* Route over the link between two nodes; RLT_NONE if they are not neighbours. */
static uint32_t one_link(const rlt_fabric_job *j, uint32_t src, uint32_t dst)
{
    const rlt_topology *t = j->fabric->cfg.packets.topology;
    for (uint32_t l = 0; l < rlt_topology_links(t); l++) {
        rlt_link e = rlt_topology_link(t, l);
        if (e.src == src && e.dst == dst)
            return rlt_packets_route(j->packets, &l, 1);
    }
    return RLT_NONE;
}

static bool is_hub(const rlt_fabric_job *j, const inside *s, uint32_t node, uint32_t hub)
{
    const rlt_topology *t = j->fabric->cfg.packets.topology;
    uint32_t can = rlt_topology_in_network(t, hub), first = node * s->k;
    if (!(can & RLT_CAN_REDUCE) || !(can & RLT_CAN_MULTICAST))
        return false;
    for (uint32_t i = first; i < first + s->k; i++) {
        s->to_hub[i] = one_link(j, j->nodes[i], hub);
        s->from_hub[i] = one_link(j, hub, j->nodes[i]);
        if (s->to_hub[i] == RLT_NONE || s->from_hub[i] == RLT_NONE)
            return false;
    }
    s->hub[node] = hub;
    return true;
}

/* For nvls: finds a switch next to all members of each node that adds up and replicates. */
static int find_hubs(rlt_fabric_job *j, inside *s, rlt_error *err)
{
    const rlt_topology *t = j->fabric->cfg.packets.topology;
    s->hub = malloc(s->nodes * sizeof *s->hub);
    s->to_hub = malloc(j->workers * sizeof *s->to_hub);
    s->from_hub = malloc(j->workers * sizeof *s->from_hub);
    if (!s->hub || !s->to_hub || !s->from_hub)
        return rlt_nomem(err);
    for (uint32_t n = 0; n < s->nodes; n++) {
        bool found = false;
        for (uint32_t l = 0; l < rlt_topology_links(t) && !found; l++) {
            rlt_link e = rlt_topology_link(t, l);
            found = e.src == j->nodes[n * s->k] && is_hub(j, s, n, e.dst);
        }
        if (!found)
            return rlt_fail(err, RLT_ETOPOLOGY, "hierarchical-ina",
                            "inside=nvls: no switch can add up for all %u members of node %u", s->k, n);
    }
    return 0;
}

static int plan_nodes(rlt_fabric_job *j, inside *s, rlt_error *err)
{
    uint64_t payload = rlt_fabric_job_setting(j, PAYLOAD).u, chunks = (j->req.bytes + payload - 1) / payload;
    s->k = (uint32_t)rlt_fabric_job_setting(j, NODE).u;
    if (j->workers % s->k != 0)
        return rlt_fail(err, RLT_ERANGE, "hierarchical-ina", "%u members cannot be divided into nodes of %u",
                        j->workers, s->k);
    s->nodes = j->workers / s->k;
    s->nvls = rlt_fabric_job_setting(j, INSIDE).u == BY_NVLS;
    s->apart = rlt_fabric_job_setting(j, PHASES).u == APART;
    s->ahead = (uint32_t)rlt_fabric_job_setting(j, AHEAD).u;
    s->inner_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, INNER).u);
    if (chunks * s->nodes > UINT32_MAX / 4)
        return rlt_fail(err, RLT_ERANGE, "hierarchical-ina", "too many chunks: %llu",
                        (unsigned long long)chunks);
    j->chunks = (uint32_t)chunks;
    j->wire_bytes = (uint32_t)(payload + rlt_fabric_job_setting(j, HEADER).u);
    if (rlt_fabric_job_setting(j, BETWEEN).u == BY_SHARP)
        j->wire_bytes = (uint32_t)llround((double)payload / rlt_fabric_job_setting(j, ETA).d);
    j->mode = rlt_fabric_job_setting(j, BETWEEN).u == BY_SHARP ? RLT_SLOTS_CREDIT : RLT_SLOTS_POOL;
    j->stride = s->k;
    s->window = (uint32_t)rlt_fabric_job_setting(j, WINDOW).u;
    j->window = s->window * s->k;
    return 0;
}

static int ina_start(rlt_fabric_job *j, rlt_error *err)
{
    rlt_error why = {0};
    inside *s = j->state = calloc(1, sizeof *s);
    int rc = s ? plan_nodes(j, s, err) : rlt_nomem(err);
    if (rc)
        return rc;
    rc = rlt_fabric_job_needs_all(j, &why);
    if (!rc && s->nvls)
        rc = find_hubs(j, s, &why);
    if (!rc && s->nodes > 1)
        rc = rlt_fabric_job_plant(j, (rlt_add_place)rlt_fabric_job_setting(j, PLACE).u, s->k, s->window,
                                  (uint32_t)rlt_fabric_job_setting(j, PAYLOAD).u, &why);
    if (rlt_fabric_job_refused(j, &rc, rlt_fabric_job_setting(j, REFUSED).u == REFUSED_RING, &why, err))
        return rc;
    s->window = j->window / s->k;
    size_t sums = (size_t)s->nodes * j->chunks + 1;
    s->members = calloc(j->workers, sizeof *s->members);
    s->sums = calloc(sums, sizeof *s->sums);
    s->count = calloc(sums, 1);
    return s->members && s->sums && s->count ? 0 : rlt_nomem(err);
}

static void ina_release(rlt_fabric_job *j)
{
    inside *s = j->state;
    if (!s)
        return;
    free(s->members);
    free(s->sums);
    free(s->count);
    free(s->hub);
    free(s->to_hub);
    free(s->from_hub);
}

const rlt_reactive rlt_hierarchical_ina = {
    .name = "hierarchical-ina",
    .summary = "reduce-scatter inside nodes, switches between them, all-gather inside",
    .kinds = 1u << RLT_ALL_REDUCE,
    .settings = settings,
    .start = ina_start,
    .begin = ina_begin,
    .packet = ina_packet,
    .at_switch = ina_at_switch,
    .release = ina_release,
};
