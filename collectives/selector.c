/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's choice of algorithm, protocol and channels, and the message costs that follow from it. */
#include "collectives/selector.h"

#include <stdio.h>
#include <string.h>

#include "collectives/library.h"
#include "collectives/tuner/tuner.h"
#include "net/endpoint/internode.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

enum { MILLION = 1000000 };

const rlt_endpoint *rlt_request_endpoint(const rlt_coll_request *req)
{
    const rlt_endpoint *e = req->endpoint;
    if (!e && req->topology)
        e = rlt_topology_endpoint(req->topology);
    return e && e->channels && e->n_protocols && req->n > 1 ? e : NULL;
}

/* Bytes of one message from member to member: one member's share, or the whole buffer. */
static uint64_t message_bytes(const rlt_coll_request *req)
{
    bool whole = req->kind == RLT_BROADCAST || req->kind == RLT_REDUCE || req->kind == RLT_SEND_RECV;
    return whole ? req->bytes : req->bytes / req->n + (req->bytes % req->n != 0);
}

static uint32_t ring_steps(const rlt_coll_request *req)
{
    switch (req->kind) {
    case RLT_ALL_REDUCE:
        return 2 * (req->n - 1);
    case RLT_BROADCAST:
    case RLT_REDUCE:
        return req->n;
    default:
        return req->n - 1;
    }
}

static bool adds(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER || kind == RLT_REDUCE;
}

/* Channels in use. A ring uses one channel for every full channel_bytes. Direct messages to all peers share
 * the endpoint's channels; each takes one channel for every channel_bytes begun. */
static uint32_t channels_of(const rlt_coll_request *req, const rlt_endpoint *e, const rlt_protocol *p)
{
    bool direct = p->serves == RLT_FOR_DIRECT;
    uint64_t bytes = message_bytes(req), most = e->channels, want;
    if (direct && e->peer_channels)
        most = req->kind == RLT_SEND_RECV ? e->peer_channels / 2 : e->peer_channels / req->n;
    want = p->channel_bytes == 0 ? most
           : direct              ? (bytes + p->channel_bytes - 1) / p->channel_bytes
                                 : bytes / p->channel_bytes;
    want = want > most ? most : want;
    return want ? (uint32_t)want : 1;
}

/* Predicted time. For in-switch reduction NCCL counts (members - 1) / members of the bandwidth. */
static rlt_time believed(const rlt_coll_request *req, const rlt_protocol *p)
{
    uint32_t steps = ring_steps(req);
    /* bytes <= 2^48, steps <= 2^25: the product stays below 2^114 */
    unsigned __int128 ps = (unsigned __int128)req->bytes * 1000000000000u / p->tuner_Bps * steps / req->n;
    if (p->serves == RLT_FOR_NVLS)
        ps = ps * req->n / (req->n - 1);
    ps += (unsigned __int128)steps * (uint64_t)p->tuner_step_ps + (uint64_t)p->tuner_base_ps;
    return ps > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)ps;
}

static const char *why_not(const rlt_coll_request *req, const rlt_endpoint *e, uint32_t i)
{
    const rlt_protocol *p = &e->protocols[i];
    /* Like NCCL_PROTO, a protocol that is set applies to collectives, not to direct messages. */
    if (e->protocol >= 0 && e->protocol != (int)i &&
        (p->serves == RLT_FOR_DIRECT) == (e->protocols[e->protocol].serves == RLT_FOR_DIRECT))
        return "another protocol is set";
    if (p->limit_bytes && message_bytes(req) > p->limit_bytes)
        return "messages above its limit";
    if (p->serves == RLT_FOR_NVLS && req->element == 1)
        return "the switch does not add elements of one byte";
    return NULL;
}

/* Appends the candidates of one algorithm, one per protocol that serves it. */
static uint32_t add_candidates(const rlt_coll_request *req, const rlt_endpoint *e, const rlt_algorithm *a,
                               rlt_candidate *out, uint32_t n)
{
    for (uint32_t i = 0; i < e->n_protocols && n < RLT_MAX_CANDIDATES; i++) {
        const rlt_protocol *p = &e->protocols[i];
        if (p->serves != a->served_by)
            continue;
        out[n++] = (rlt_candidate){.algorithm = a,
                                   .protocol = i,
                                   .channels = channels_of(req, e, p),
                                   .estimate_ps = p->tuner_Bps ? believed(req, p) : RLT_TIME_MAX,
                                   .excluded = why_not(req, e, i)};
    }
    return n;
}

/* Moves the allowed candidate with the smallest estimate to the front; the others keep their order. */
static void put_best_first(rlt_candidate *all, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (!all[i].excluded && (all[best].excluded || all[i].estimate_ps < all[best].estimate_ps))
            best = i;
    rlt_candidate first = n ? all[best] : (rlt_candidate){0};
    for (uint32_t i = best; i > 0; i--)
        all[i] = all[i - 1];
    if (n)
        all[0] = first;
}

/* Whether the algorithm can plan the request. Out of memory counts as yes: rlt_plan_create then reports
 * it. */
static bool can_plan(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    int rc = rlt__plan_untuned(a, req, &plan, NULL);
    if (!rc)
        rlt_plan_free(&plan);
    return rc == 0 || rc == RLT_ENOMEM;
}

/* Marks candidates that cannot plan the request, and puts the best first. */
static uint32_t drop_impossible(const rlt_coll_request *req, rlt_candidate *all, uint32_t n)
{
    static const char cannot[] = "this network cannot do it";
    for (uint32_t i = 0; i < n; i++) {
        uint32_t like = 0; /* an earlier candidate of the same algorithm that was planned */
        while (like < i && (all[like].algorithm != all[i].algorithm ||
                            (all[like].excluded && all[like].excluded != cannot)))
            like++;
        if (all[i].excluded)
            continue;
        bool can = like < i ? !all[like].excluded : can_plan(all[i].algorithm, req);
        all[i].excluded = can ? NULL : cannot;
    }
    put_best_first(all, n);
    return n;
}

/* Finds the best protocol for a plan. Algorithms that NCCL has not take its choice for rings. Those that it
 * would not run here take the choice by the endpoint's constants. Returns false if there is none. */
static bool best_protocol(const rlt_plan *plan, const rlt_endpoint *e, rlt_candidate *best)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    rlt_tuner_machine machine;
    rlt_tuner_call call;
    uint32_t n = 0;
    if (rlt__library_knows(&plan->req, e, &machine, &call)) {
        n = rlt__library_candidates(&machine, &call, e, plan->algorithm, all);
        if (n == 0 && plan->algorithm->served_by == RLT_FOR_STEPS)
            n = rlt__library_candidates(&machine, &call, e, &rlt_ring, all);
        put_best_first(all, n);
    }
    if (n == 0 || all[0].excluded)
        n = add_candidates(&plan->req, e, plan->algorithm, all, 0);
    put_best_first(all, n);
    if (n == 0 || all[0].excluded)
        return false;
    *best = all[0];
    return true;
}

uint32_t rlt_candidates(const rlt_coll_request *req, rlt_candidate out[RLT_MAX_CANDIDATES])
{
    const rlt_endpoint *e = rlt_request_endpoint(req);
    const rlt_algorithm *usual = rlt_algorithm_usual(req), *a;
    rlt_tuner_machine machine;
    rlt_tuner_call call;
    uint32_t n = 0;
    if (!e)
        return 0;
    if (rlt__library_knows(req, e, &machine, &call)) {
        n = rlt__library_candidates(&machine, &call, e, NULL, out);
        return drop_impossible(req, out, n);
    }
    n = add_candidates(req, e, usual, out, n);
    for (uint32_t i = 0; usual == &rlt_ring && req->kind == RLT_ALL_REDUCE && (a = rlt_algorithm_at(i)); i++)
        if (a->served_by == RLT_FOR_NVLS && can_plan(a, req))
            n = add_candidates(req, e, a, out, n);
    put_best_first(out, n);
    return n;
}

static rlt_time part_of(rlt_time t, uint32_t ppm)
{
    unsigned __int128 part = (unsigned __int128)(uint64_t)t * ppm / MILLION;
    return part > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)part;
}

/* Bandwidth of member 0 inside its node, or of all its links; 0 if the network is unknown. */
static uint64_t link_Bps(const rlt_coll_request *req)
{
    uint32_t rank = rlt_member_rank(req, 0);
    if (!req->topology || !req->placement || rank >= req->placement->n)
        return 0;
    uint64_t inside = rlt_topology_node(req->topology)->inside_Bps;
    return inside ? inside : rlt_topology_egress_Bps(req->topology, rlt_placed(req->placement, rank));
}

/* Time of the local copy of the member's own share, for buffers out of place. */
static rlt_time copy_of(const rlt_coll_request *req, const rlt_endpoint *e, const rlt_protocol *p,
                        uint32_t channels)
{
    uint64_t own = message_bytes(req), bw = link_Bps(req);
    if (req->kind != RLT_ALL_REDUCE && req->kind != RLT_REDUCE_SCATTER && req->kind != RLT_ALL_GATHER &&
        req->kind != RLT_ALL_TO_ALL)
        return 0;
    if (p->line_bytes && p->serves == RLT_FOR_STEPS)
        return part_of(rlt_protocol_lines(p, own, channels), e->copy_lines_ppm);
    if (!p->line_bytes && p->serves != RLT_FOR_NVLS && bw)
        return part_of(rlt_transfer_time(own, bw), e->copy_ppm);
    return 0;
}

/* Whether the request's members are on several nodes, as far as is known. */
static bool spans_nodes(const rlt_coll_request *req)
{
    return req->topology && req->node != req->n;
}

/* Bytes that NVLS moves in small chunks. NCCL's chunks grow once there are many for each member (its
 * src/enqueue.cc), so this grows with the members. */
static uint64_t small_chunks(const rlt_coll_request *req, const rlt_protocol *p)
{
    return p->fill_bytes < req->bytes / req->n ? p->fill_bytes * req->n : req->bytes;
}

/* Setup time of the kernel, independent of the messages. The times in p are already scaled by the endpoint's
 * clock. */
static rlt_time setup_of(const rlt_coll_request *req, const rlt_endpoint *e, const rlt_protocol *p,
                         uint32_t channels)
{
    bool far = spans_nodes(req) && e->internode.kind != RLT_INTERNODE_NONE;
    uint32_t joined = far && p->serves == RLT_FOR_NVLS && req->node ? req->node : req->n;
    unsigned __int128 members = (unsigned __int128)(uint64_t)p->member_ps * (joined - 1);
    uint64_t bw = link_Bps(req);
    rlt_time t = members > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)members;
    t = rlt_time_add(rlt_time_add(t, p->start_ps), copy_of(req, e, p, channels));
    if (p->serves == RLT_FOR_NVLS && bw && !far)
        t = rlt_time_add(t, part_of(rlt_transfer_time(small_chunks(req, p), bw), p->fill_ppm));
    if (adds(req->kind) && req->element == 1 && e->narrow_Bps)
        t = rlt_time_add(t, rlt_transfer_time(req->bytes / req->n * (req->n - 1), e->narrow_Bps));
    return t;
}

/* Lines that a protocol puts on the wire, by the end of its name: "LL", "P2P-LL", "LL128". */
static rlt_line line_of(const rlt_protocol *p)
{
    size_t n = strlen(p->name);
    if (n >= 2 && strcmp(p->name + n - 2, "LL") == 0)
        return RLT_LINE_LL;
    return n >= 5 && strcmp(p->name + n - 5, "LL128") == 0 ? RLT_LINE_LL128 : RLT_LINE_SIMPLE;
}

/* Without GPU-direct a node passes on its data at the host's rate: messages take its NICs for longer. */
static void pass_host(const rlt_coll_request *req, const rlt_endpoint *e, rlt_internode_step *step)
{
    const rlt_node_facts *f = rlt_topology_node(req->topology);
    unsigned __int128 nics = (unsigned __int128)f->nic_Bps * f->nics, host = e->internode.host_Bps;
    if (host == 0 || nics <= host)
        return;
    /* both below 2^32 millionths: the ratio of rates is cut at 4000 */
    uint64_t ppm = nics / host < 4000 ? (uint64_t)(nics * MILLION / host) : (uint64_t)4000 * MILLION;
    uint64_t whole_ppm = (uint64_t)step->wire_num * MILLION / step->wire_den;
    unsigned __int128 num = (unsigned __int128)whole_ppm * ppm / MILLION;
    step->wire_num = num < UINT32_MAX ? (uint32_t)num : UINT32_MAX;
    step->wire_den = MILLION;
}

/* Whether members pass the data along a chain inside each node, before and after the steps between nodes. */
static bool has_chains(const rlt_plan *plan)
{
    return plan->algorithm->hop == RLT_HOP_TREE && plan->req.kind == RLT_ALL_REDUCE && plan->req.node > 1;
}

/* Sets what a channel moves at once inside the nodes. Messages may be smaller: little data has more lanes
 * than channels, and a tree's pieces stand for lines that threads pass on one by one. Under LL a message
 * takes as long as the lines of its channel, at most one for each thread. Under LL128 the ramp of a tree
 * takes as long as NCCL's chunk. */
static void move_at_once(const rlt_plan *plan, const rlt_candidate *chosen, uint32_t lanes, rlt_tuning *out)
{
    bool chains = has_chains(plan), ring = plan->algorithm->hop == RLT_HOP_RING;
    uint64_t each = plan->req.bytes / (ring ? plan->req.n : 1) / chosen->channels;
    rlt_line line = line_of(&out->protocol);
    if (line == RLT_LINE_LL && (chains || (ring && !rlt_coll_rooted(plan->req.kind))))
        out->line_least = each < out->protocol.line_bytes ? each : out->protocol.line_bytes;
    if (each > chosen->chunk_bytes)
        each = chosen->chunk_bytes;
    if (line == RLT_LINE_LL128 && chains)
        out->ramp_least = each * chosen->channels / lanes;
}

/* Before the first message between nodes the network wakes up, while the kernel sets up and the first chains
 * run. Lengthens the setup by what is left of that time. */
static void wake_network(const rlt_plan *plan, const rlt_endpoint *e, rlt_tuning *out)
{
    rlt_time hop = rlt_tuning_cost(e, out, 0, 0).delay_ps, left = e->internode.launch_ps;
    for (uint32_t i = 1; has_chains(plan) && i < plan->req.node && left > 0; i++)
        left -= hop;
    if (left > out->setup_ps)
        out->setup_ps = left;
}

/* Sets what steps between nodes cost. Lanes are NCCL's channels there. */
static void cost_between(const rlt_plan *plan, const rlt_endpoint *e, const rlt_candidate *chosen,
                         rlt_tuning *out)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t lanes = plan->lanes / (plan->chunks ? plan->chunks : 1);
    if (e->internode.kind == RLT_INTERNODE_NONE || !spans_nodes(req))
        return;
    out->far = true;
    bool ring = plan->algorithm->hop == RLT_HOP_RING && req->node && !rlt_coll_rooted(req->kind);
    rlt_internode_use use = {.hop = plan->algorithm->hop,
                             .line = line_of(&out->protocol),
                             .bytes = req->bytes,
                             .passed = ring ? req->bytes / (req->n / req->node) : req->bytes,
                             .single = req->node == 1};
    out->step = rlt_internode_cost(&e->internode, &use);
    pass_host(req, e, &out->step);
    if (plan->algorithm->hop == RLT_HOP_NVLS_TREE)
        out->protocol.wire_num = (uint32_t)((uint64_t)out->protocol.wire_num * e->nvls_tree_ppm / MILLION);
    if (out->protocol.wire_num < out->protocol.wire_den)
        out->protocol.wire_num = out->protocol.wire_den;
    if (plan->algorithm->hop == RLT_HOP_TREE && req->node > 1)
        out->ramp_ppm = e->ramp_ppm / 1000 * lanes < UINT32_MAX / 1000 ? e->ramp_ppm * lanes : UINT32_MAX;
    if (out->protocol.serves == RLT_FOR_STEPS && lanes) {
        move_at_once(plan, chosen, lanes, out);
        out->channels = out->channels > lanes ? out->channels / lanes : 1;
    }
    wake_network(plan, e, out);
    if (plan->algorithm->hop == RLT_HOP_DIRECT) {
        unsigned __int128 peers = (unsigned __int128)(uint64_t)e->internode.peer_ps * (req->n - req->node);
        out->setup_ps = rlt_time_add(
            out->setup_ps, peers > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)peers);
    }
}

void rlt_tuning_choose(const rlt_plan *plan, const rlt_candidate *chosen, rlt_tuning *out)
{
    const rlt_coll_request *req = &plan->req;
    const rlt_endpoint *e = rlt_request_endpoint(req);
    rlt_candidate best;
    *out = (rlt_tuning){0};
    if (!e)
        return;
    if (!chosen && best_protocol(plan, e, &best))
        chosen = &best;
    if (!chosen)
        return;
    rlt_protocol p = e->protocols[chosen->protocol];
    p.message_ps = rlt_endpoint_kernel(e, p.message_ps);
    p.start_ps = rlt_endpoint_kernel(e, p.start_ps);
    p.member_ps = rlt_endpoint_kernel(e, p.member_ps);
    p.line_ps = rlt_endpoint_kernel(e, p.line_ps);
    *out = (rlt_tuning){.on = true,
                        .protocol = p,
                        .index = chosen->protocol,
                        .channels = chosen->channels,
                        .together = plan->algorithm == &rlt_direct ? req->n - 1 : 1,
                        .setup_ps = setup_of(req, e, &p, chosen->channels)};
    if (adds(req->kind) && e->reduce_lines_ppm)
        out->protocol.line_ps = part_of(p.line_ps, e->reduce_lines_ppm);
    if (p.serves == RLT_FOR_NVLS)
        out->protocol.fill_ppm = 0; /* already part of the setup time */
    cost_between(plan, e, chosen, out);
}

void rlt_candidates_text(const rlt_candidate *all, uint32_t n, const rlt_endpoint *e, char *text, size_t size)
{
    size_t used = 0;
    if (size)
        text[0] = 0;
    for (uint32_t i = 0; i < n && used < size; i++) {
        char time[32];
        const rlt_candidate *c = &all[i];
        if (c->excluded)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s, %s, %u channel%s", used ? "; " : "",
                                 c->algorithm->name, e->protocols[c->protocol].name, c->channels,
                                 c->channels == 1 ? "" : "s");
        if (used < size && c->estimate_ps < RLT_TIME_MAX)
            used += (size_t)snprintf(text + used, size - used, ": %s",
                                     rlt_format_duration(time, sizeof time, c->estimate_ps));
    }
    if (used == 0)
        snprintf(text, size, "no candidate");
}

void rlt_candidate_name(const rlt_candidate *c, const rlt_endpoint *e, char *text, size_t size)
{
    const rlt_protocol *p = &e->protocols[c->protocol];
    bool alone = p->serves != RLT_FOR_STEPS;
    snprintf(text, size, "%s%s%s", c->algorithm->name, alone ? "" : " ", alone ? "" : p->name);
}

void rlt_excluded_text(const rlt_candidate *all, uint32_t n, const rlt_endpoint *e, char *text, size_t size)
{
    size_t used = 0;
    char name[64];
    if (size)
        text[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *why = all[i].excluded;
        uint32_t first = 0;
        while (first < i && !(all[first].excluded && why && strcmp(all[first].excluded, why) == 0))
            first++;
        for (uint32_t k = i; why && first == i && k < n && used < size; k++) {
            if (!all[k].excluded || strcmp(all[k].excluded, why) != 0)
                continue;
            rlt_candidate_name(&all[k], e, name, sizeof name);
            used += (size_t)snprintf(text + used, size - used, "%s%s", k > i ? ", " : used ? "; " : "", name);
        }
        if (why && first == i && used < size)
            used += (size_t)snprintf(text + used, size - used, " (%s)", why);
    }
}

bool rlt_chooser(const rlt_coll_request *req, char *text, size_t size)
{
    const rlt_endpoint *e = rlt_request_endpoint(req);
    rlt_tuner_machine machine;
    rlt_tuner_call call;
    const char *note = NULL;
    if (!e || !rlt__library_knows(req, e, &machine, &call)) {
        snprintf(text, size, "constants of the endpoint");
        return false;
    }
    note = rlt_tuner_version_note(machine.version);
    note = note ? strstr(note, "constants") : NULL;
    if (machine.version.rccl)
        snprintf(text, size, "RCCL%s%s", note ? ", " : "", note ? note : "");
    else
        snprintf(text, size, "NCCL %u.%u%s%s", machine.version.number / 10000,
                 machine.version.number / 100 % 100, note ? ", " : "", note ? note : "");
    return true;
}

int rlt_library_check(const rlt_coll_request *req, rlt_error *err)
{
    char chooser[120];
    if (!req->library || rlt_chooser(req, chooser, sizeof chooser))
        return 0;
    return rlt_fail(err, RLT_EUNSUPPORTED, "auto",
                    "a version of NCCL chooses for reductions, broadcasts and all-gathers over several "
                    "nodes of equal size, if the endpoint states its gpu; RCCL, if that is cdna3");
}
