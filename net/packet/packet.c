/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet model: messages become packets of flows, which take turns at the ports of their sources. A
 * source gives a port one packet at a time, when the previous one has left, so that answers and other flows
 * get in between.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/dcqcn.h"
#include "net/packet/internal.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

void rlt__packet_no_memory(rlt__packet_net *net)
{
    rlt_sim_fail(net->core.sim, RLT_ENOMEM, NULL, "no memory for one more packet or message");
}

static inline rlt_tag at_node(const rlt__packet_net *net, int handler, uint32_t node)
{
    return rlt_tag_at(rlt_sim_tag(handler), net->first_place + node);
}

/* ---- sending ---- */

/* Finds a route between two ranks for packets of a flow. Returns false if the flow is blocked, or on failure,
 * which has gone to rlt_sim_fail. */
static bool find_route(rlt__packet_net *net, rlt__flow *f, uint32_t src, uint32_t dst, uint32_t *route)
{
    rlt_path path;
    int rc = rlt_route(net->core.router, src, dst, f->key, &path);
    if (rc == RLT_ESTALL) {
        f->blocked = rlt_router_blocked(net->core.router);
        return false;
    }
    if (rc) {
        rlt__net_no_route(&net->core, &(rlt_message){.src = src, .dst = dst}, rc);
        return false;
    }
    uint32_t found = rlt_packets_route(net->packets, path.links, path.n);
    if (found == RLT_NONE || path.n == 0) {
        rlt__packet_no_memory(net);
        return false;
    }
    *route = found;
    return true;
}

bool rlt__flow_take_route(rlt__packet_net *net, rlt__flow *f)
{
    if (!find_route(net, f, f->src, f->dst, &f->route))
        return false;
    f->port = rlt_packets_first_link(net->packets, f->route);
    f->far = net->part && rlt__part_is_far(net, f->route);
    return true;
}

bool rlt__flow_take_back(rlt__packet_net *net, rlt__flow *f)
{
    if (!net->set.ack && !net->set.dcqcn)
        return true;
    if (!find_route(net, f, f->dst, f->src, &f->back))
        return false;
    f->back_port = rlt_packets_first_link(net->packets, f->back);
    return true;
}

static inline bool has_work(const rlt__packet_net *net, const rlt__flow *f)
{
    if (f->blocked != RLT_NONE)
        return false;
    return f->holes != RLT_NONE ||
           (f->next < f->end && (net->set.window == 0 || f->next - f->acked < net->set.window));
}

uint32_t rlt__flow_payload(rlt__packet_net *net, rlt__flow *f, uint64_t packet, bool *last, uint64_t *tx)
{
    uint32_t i = f->sending;
    if (i == RLT_NONE || packet < rlt__message_at(net, i)->first)
        i = f->head;
    while (packet >= rlt__message_at(net, i)->end)
        i = rlt__message_at(net, i)->next;
    f->sending = i;
    const rlt__flow_message *m = rlt__message_at(net, i);
    *last = packet + 1 == m->end;
    *tx = m->tx;
    return *last ? (uint32_t)m->tail_bytes : (uint32_t)net->set.mtu;
}

void rlt__flow_drop_head(rlt__packet_net *net, rlt__flow *f)
{
    uint32_t i = f->head, next = rlt__message_at(net, i)->next;
    if (f->sending == i)
        f->sending = next;
    f->head = next;
    if (next == RLT_NONE)
        f->tail = RLT_NONE;
    rlt_pool_put(&net->messages, i);
}

/* Puts the next packet of a flow on its port. Returns false if there is none. */
static bool send_one(rlt__packet_net *net, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    rlt_packet p = {.kind = RLT__DATA, .flow = index};
    if (f->blocked != RLT_NONE)
        return false;
    if (f->holes == RLT_NONE || !rlt__repair_next(net, f, &p.data, &p.kind)) {
        if (!has_work(net, f))
            return false;
        p.data = f->next++;
    }
    bool last;
    uint64_t tx;
    rlt__source *source = &net->sources[f->port];
    p.bytes = rlt__flow_payload(net, f, p.data, &last, &tx) + (uint32_t)net->set.header;
    p.src = f->src_node;
    p.dst = f->dst_node;
    p.route = f->route;
    p.flags = net->set.dcqcn ? RLT_PACKET_ECT : 0;
    p.key = last;
    if (last && net->set.ack == 0 && !rlt__is_own(net, f->dst))
        rlt__flow_drop_head(net, f); /* the receiver's part has its own copy */
    if (p.data < f->sent) {
        p.flags |= RLT_PACKET_RESEND;
    } else {
        f->sent = p.data + 1;
        source->tells = last;
        source->tx = tx;
    }
    source->busy = true;
    rlt_time now = rlt_sim_now(net->core.sim);
    if (net->set.dcqcn)
        f->pace_ps = rlt_time_add(now, rlt__dcqcn_sends(&f->rate, now, p.bytes));
    if (!net->back_pressure)
        rlt_sim_post_at(net->core.sim, rlt_packets_leaves(net->packets, p.route, p.bytes), RLT_SOLVE,
                        source->tag, f->port);
    if (!net->reliable && !f->armed) {
        f->progress_ps = now;
        rlt__repair_arm(net, index);
    }
    if (f->sprayed && !rlt__flow_take_route(net, f) && f->blocked == RLT_NONE)
        return true;
    rlt_packets_send(net->packets, &p);
    return true;
}

/* Serves a free port: the next flow sends. */
static void serve(rlt__packet_net *net, uint32_t port)
{
    rlt__source *s = &net->sources[port];
    while (s->head != RLT_NONE) {
        uint32_t i = s->head;
        s->head = net->flows[i].turn;
        net->flows[i].in_round = false;
        if (send_one(net, i)) {
            rlt__flow_offer(net, i);
            return;
        }
    }
}

void rlt__flow_offer(rlt__packet_net *net, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    if (net->quiet) {
        rlt__flow_offer_quietly(net, index);
        return;
    }
    if (f->in_round || !has_work(net, f))
        return;
    if (f->pace_ps > rlt_sim_now(net->core.sim)) {
        if (!f->paced)
            rlt_sim_post_at(net->core.sim, f->pace_ps, RLT_COMPLETE, at_node(net, net->pace, f->src_node),
                            index);
        f->paced = true;
        return;
    }
    rlt__source *s = &net->sources[f->port];
    rlt__join_round(net, s, index);
    if (!s->busy)
        serve(net, f->port);
}

static void on_pace(void *ctx, uint64_t payload)
{
    rlt__packet_net *net = ctx;
    net->flows[payload].paced = false;
    rlt__flow_offer(net, (uint32_t)payload);
}

/* Handles the departure of a data packet from its port. */
static void on_free_port(void *ctx, uint64_t payload)
{
    rlt__packet_net *net = ctx;
    rlt__source *s = &net->sources[payload];
    bool tells = s->tells;
    uint64_t tx = s->tx;
    s->busy = s->tells = false;
    serve(net, (uint32_t)payload);
    if (tells)
        net->core.client.injected(net->core.client.ctx, tx);
}

static void on_left(void *ctx, const rlt_packet *p)
{
    rlt__packet_net *net = ctx;
    if (p->kind <= RLT__DATA_ASKS)
        on_free_port(ctx, rlt_packets_first_link(net->packets, p->route));
}

/* ---- receiving ---- */

static void deliver(rlt__packet_net *net, const rlt__late *m)
{
    net->core.base.bytes_delivered += m->bytes;
    net->core.client.delivered(net->core.client.ctx, m->tx, m->rx);
}

static void on_deliver(void *ctx, uint64_t payload)
{
    rlt__packet_net *net = ctx;
    rlt__late m = *(const rlt__late *)rlt_pool_at(&net->late, (uint32_t)payload);
    rlt_pool_put(&net->late, (uint32_t)payload);
    deliver(net, &m);
}

/* Delivers a message to `node` after a delay. */
static void deliver_after(rlt__packet_net *net, rlt__late m, uint32_t node, rlt_time delay)
{
    uint32_t i = rlt_pool_get(&net->late);
    if (i == RLT_NONE) {
        rlt__packet_no_memory(net);
        return;
    }
    *(rlt__late *)rlt_pool_at(&net->late, i) = m;
    rlt_sim_post_at(net->core.sim, rlt_time_add(rlt_sim_now(net->core.sim), delay), RLT_COMPLETE,
                    at_node(net, net->deliver, node), i);
}

void rlt__flow_received(rlt__packet_net *net, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    while (f->receiving != RLT_NONE && f->expected >= f->receiving_end) {
        const rlt__flow_message *m = rlt__message_at(net, f->receiving);
        rlt__late done = {m->bytes, m->tx, m->rx};
        rlt_time delay = m->delay_ps;
        f->receiving = m->next;
        f->receiving_end = m->next != RLT_NONE ? rlt__message_at(net, m->next)->end : 0;
        if (net->set.ack == 0 || net->quiet || !rlt__is_own(net, f->src))
            rlt__flow_drop_head(net, f);
        if (delay)
            deliver_after(net, done, f->dst_node, delay);
        else
            deliver(net, &done);
        f = &net->flows[index]; /* flows may have moved: the client may have begun others */
    }
}

/* rlt__flow_answer(), known to the compiler as the way of most packets. */
static inline __attribute__((always_inline)) void reply(rlt__packet_net *net, uint32_t index,
                                                        rlt_packet answer)
{
    rlt__flow *f = &net->flows[index];
    if (rlt__source_lags(&net->sources[f->back_port]))
        rlt__source_catch_up(net, &net->sources[f->back_port]);
    answer.bytes = (uint32_t)net->set.ack_bytes;
    answer.flags = net->quiet ? RLT_PACKET_UNHEARD : 0;
    answer.src = f->dst_node;
    answer.dst = f->src_node;
    answer.route = f->back;
    answer.flow = f->number;
    answer.data = f->expected;
    f->answered = f->expected;
    rlt_packets_send(net->packets, &answer);
}

void rlt__flow_answer(rlt__packet_net *net, uint32_t index, rlt_packet answer)
{
    reply(net, index, answer);
}

static inline void receive(rlt__packet_net *net, const rlt_packet *p)
{
    rlt__flow *f = &net->flows[p->flow];
    if (__builtin_expect((p->flags & RLT_PACKET_CE) != 0, 0) &&
        rlt__dcqcn_tells(&f->rate, rlt_sim_now(net->core.sim))) {
        uint64_t answered = f->answered;
        rlt__flow_answer(net, p->flow, (rlt_packet){.kind = RLT__CNP});
        f->answered = answered;
    }
    if (net->quiet) { /* all packets before it have arrived */
        f->expected = f->high = p->data;
    } else if (p->data != f->expected || f->high > f->expected || p->kind != RLT__DATA) {
        rlt__repair_data(net, p->flow, p);
        return;
    }
    f->expected++;
    f->high = f->expected;
    f->asked = false;
    if (net->set.ack && (p->key || f->expected - f->answered >= net->set.ack))
        reply(net, p->flow, (rlt_packet){.kind = RLT__ACK});
    if (f->expected == f->receiving_end)
        rlt__flow_received(net, p->flow);
}

/* Everything before `packet` has arrived: delivers complete messages. */
static void arrived_before(rlt__packet_net *net, uint32_t index, uint64_t packet)
{
    rlt__flow *f = &net->flows[index];
    if (packet <= f->acked || net->quiet)
        return;
    f->acked = packet;
    if (f->next < packet)
        f->next = packet;
    f->tries = 0;
    f->progress_ps = rlt_sim_now(net->core.sim);
    while (f->head != RLT_NONE && rlt__message_at(net, f->head)->end <= packet)
        rlt__flow_drop_head(net, f);
    rlt__flow_offer(net, index);
}

static void on_arrived(void *ctx, const rlt_packet *p)
{
    rlt__packet_net *net = ctx;
    rlt_packet found;
    if (net->part && p->kind <= RLT__DATA_ASKS) {
        found = *p;
        found.flow = rlt__part_flow(net, p);
        p = &found;
    }
    switch (p->kind) {
    case RLT__ACK:
        arrived_before(net, p->flow, p->data);
        break;
    case RLT__ACK_ALL:
        arrived_before(net, p->flow, p->data);
        rlt__repair_ack_all(net, p->flow);
        break;
    case RLT__NAK:
        arrived_before(net, p->flow, p->data);
        rlt__repair_nak(net, p->flow, p);
        break;
    case RLT__CNP:
        rlt__dcqcn_cut(&net->flows[p->flow].rate, rlt_sim_now(net->core.sim));
        break;
    default:
        receive(net, p);
    }
}

/* ---- messages ---- */

bool rlt__flow_make(rlt__packet_net *net, const rlt_message *m, uint32_t number, uint64_t line_Bps,
                    uint32_t *out)
{
    if (rlt_grow(&net->flows, &net->flows_room, sizeof(*net->flows), (uint64_t)net->n_flows + 1, INT32_MAX,
                 "flows", NULL)) {
        rlt__packet_no_memory(net);
        return false;
    }
    const rlt_placement *place = rlt_router_placement(net->core.router);
    rlt__flow *f = &net->flows[net->n_flows];
    *f = (rlt__flow){.src = m->src,
                     .dst = m->dst,
                     .key = m->route_key,
                     .src_node = rlt_placed(place, m->src),
                     .dst_node = rlt_placed(place, m->dst),
                     .number = number,
                     .turn = RLT_NONE,
                     .head = RLT_NONE,
                     .tail = RLT_NONE,
                     .sending = RLT_NONE,
                     .receiving = RLT_NONE,
                     .holes = RLT_NONE,
                     .last_hole = RLT_NONE,
                     .blocked = RLT_NONE,
                     .sprayed = net->spray};
    rlt__dcqcn_init(&f->rate, line_Bps);
    /* A blocked flow waits like any other. */
    bool found = !rlt__is_own(net, m->src) || rlt__flow_take_route(net, f);
    found = found && (!rlt__is_own(net, m->dst) || rlt__flow_take_back(net, f));
    if (!found && f->blocked == RLT_NONE)
        return false;
    f->whole = (rlt_packet){.bytes = (uint32_t)(net->set.mtu + net->set.header),
                            .src = f->src_node,
                            .dst = f->dst_node,
                            .route = f->route,
                            .kind = RLT__DATA,
                            .flow = net->n_flows};
    *out = net->n_flows++;
    return true;
}

/* Returns the flow of a message, created for its first one. RLT_NONE on failure, which has gone to
 * rlt_sim_fail. */
static uint32_t flow_of(rlt__packet_net *net, const rlt_message *m, uint64_t line_Bps)
{
    uint32_t i = net->last[m->src];
    if (i != RLT_NONE && net->flows[i].dst == m->dst && net->flows[i].key == m->route_key)
        return i;
    uint64_t hash = rlt_mix64(rlt_mix64((uint64_t)m->src << 32 | m->dst) + m->route_key);
    uint32_t first = rlt_map_get(&net->by_hash, hash);
    for (i = first; i != RLT_NONE; i = net->flows[i].same_hash)
        if (net->flows[i].src == m->src && net->flows[i].dst == m->dst && net->flows[i].key == m->route_key)
            break;
    if (i == RLT_NONE) {
        if (!rlt__flow_make(net, m, net->n_flows, line_Bps, &i))
            return RLT_NONE;
        net->flows[i].same_hash = first;
        if (rlt_map_put(&net->by_hash, hash, i) != 0) {
            rlt__packet_no_memory(net);
            return RLT_NONE;
        }
    }
    net->last[m->src] = i;
    return i;
}

static inline bool add_message(rlt__packet_net *net, uint32_t flow, const rlt_message *msg,
                               uint64_t wire_bytes, rlt_time delay_ps)
{
    uint32_t i = rlt_pool_get(&net->messages);
    if (i == RLT_NONE) {
        rlt__packet_no_memory(net);
        return false;
    }
    rlt__flow *f = &net->flows[flow];
    rlt__flow_message *m = rlt__message_at(net, i);
    uint64_t mtu = net->set.mtu, n = wire_bytes ? (wire_bytes - 1) / mtu + 1 : 1;
    *m = (rlt__flow_message){.first = f->end,
                             .end = f->end + n,
                             .bytes = msg->bytes,
                             .tail_bytes = wire_bytes - (n - 1) * mtu,
                             .tx = msg->tx,
                             .rx = msg->rx,
                             .delay_ps = delay_ps,
                             .next = RLT_NONE};
    if (f->acked == f->end) /* it was at rest until now */
        f->progress_ps = rlt_sim_now(net->core.sim);
    f->end += n;
    if (f->tail != RLT_NONE)
        rlt__message_at(net, f->tail)->next = i;
    else
        f->head = i;
    f->tail = i;
    if (f->receiving == RLT_NONE) {
        f->receiving = i;
        f->receiving_end = m->end;
    }
    return true;
}

bool rlt__flow_add(rlt__packet_net *net, uint32_t flow, const rlt_message *msg, uint64_t wire_bytes,
                   rlt_time delay_ps)
{
    return add_message(net, flow, msg, wire_bytes, delay_ps);
}

static rlt_time send(rlt_net *base, const rlt_message *m)
{
    rlt__packet_net *net = (rlt__packet_net *)base;
    rlt_leg leg;
    if (rlt__net_leg(&net->core, m, &leg) != 0)
        return -1;
    if (leg.path.n == 0) {
        uint32_t node = rlt_placed(rlt_router_placement(net->core.router), m->dst);
        deliver_after(net, (rlt__late){m->bytes, m->tx, m->rx}, node, leg.tail_ps);
        return rlt_sim_now(net->core.sim);
    }
    uint32_t flow = flow_of(net, m, leg.path.bw_Bps);
    rlt_time delay_ps = leg.tail_ps - rlt__net_scaled_time(&net->core, leg.path.latency_ps);
    if (flow == RLT_NONE || !add_message(net, flow, m, leg.wire_bytes, delay_ps) ||
        (!rlt__is_own(net, m->dst) && !rlt__part_announce(net, flow, m, leg.wire_bytes, delay_ps)))
        return -1;
    rlt__flow_offer(net, flow);
    return -1;
}

/* ---- the model ---- */

static void settle(rlt_net *base)
{
    rlt__packet_net *net = (rlt__packet_net *)base;
    rlt__trains_end(net);
    rlt_packets_settle(net->packets);
}

static void put_wait(const rlt__packet_net *net, const rlt__flow *f, const char *under_way, char *text,
                     size_t size)
{
    char link[200];
    if (f->blocked != RLT_NONE)
        rlt__net_failed_name(&net->core, f->blocked, link, sizeof(link));
    snprintf(text, size, "packet %llu of the flow from rank %u to rank %u has not arrived; %s%s",
             (unsigned long long)f->expected, f->src, f->dst, f->blocked != RLT_NONE ? "it waits for " : "",
             f->blocked != RLT_NONE ? link : under_way);
}

static uint64_t waits(const rlt_net *base, char *text, size_t size)
{
    const rlt__packet_net *net = (const rlt__packet_net *)base;
    uint64_t n = 0;
    char under_way[400];
    if (size)
        text[0] = '\0';
    rlt_packets_pending(net->packets, under_way, sizeof(under_way));
    for (uint32_t i = 0; i < net->n_flows; i++) {
        const rlt__flow *f = &net->flows[i];
        if (f->expected == f->end)
            continue;
        if (n++ == 0 && size)
            put_wait(net, f, under_way, text, size);
    }
    return n;
}

static void destroy(rlt_net *base)
{
    rlt__packet_net *net = (rlt__packet_net *)base;
    for (uint32_t i = 0; i < net->n_flows; i++)
        free(net->flows[i].seen);
    free(net->flows);
    free(net->sources);
    free(net->last);
    rlt_map_free(&net->by_hash);
    rlt_pool_free(&net->messages);
    rlt_pool_free(&net->holes);
    rlt_pool_free(&net->late);
    rlt__part_free(net);
    if (net->packets)
        base->usage = NULL; /* owned by the packets */
    rlt_packets_free(net->packets);
    rlt__net_fini(&net->core);
    free(net);
}

static int create_packets(rlt__packet_net *net, const rlt_net_config *cfg, rlt_error *err)
{
    rlt_packets_config c = rlt_packet_links(&net->set);
    c.sim = cfg->sim;
    c.topology = rlt_router_topology(cfg->router);
    c.bandwidth_scale = cfg->bandwidth_scale;
    c.latency_scale = cfg->latency_scale;
    c.series_bin_ps = cfg->series_bin_ps;
    c.links_fail = cfg->changes == RLT_LINKS_FAIL;
    c.part = cfg->part;
    c.client =
        (rlt_packets_client){.ctx = net, .arrived = on_arrived, .left = net->back_pressure ? on_left : NULL};
    int rc = rlt_packets_create(&c, &net->packets, err);
    if (rc)
        return rc;
    rlt_usage_free(net->core.base.usage);
    net->core.base.usage = rlt_packets_usage(net->packets);
    net->first_place = rlt_packets_place(net->packets, 0);
    if (!net->back_pressure && rlt_packets_order(net->packets) != 0)
        return rlt_nomem(err);
    return 0;
}

static int create_tables(rlt__packet_net *net, const rlt_net_config *cfg, rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(cfg->router);
    uint32_t links = rlt_topology_links(t);
    uint32_t ranks = rlt_router_placement(cfg->router)->n;
    net->sources = calloc(links ? links : 1, sizeof(*net->sources));
    net->last = malloc((ranks ? (size_t)ranks : 1) * sizeof(*net->last));
    if (!net->sources || !net->last)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < ranks; i++)
        net->last[i] = RLT_NONE;
    const rlt_handler_entry handlers[] = {{net->quiet ? rlt__source_free : on_free_port, &net->free_port},
                                          {on_pace, &net->pace},
                                          {rlt__repair_timeout, &net->timeout},
                                          {on_deliver, &net->deliver}};
    int rc = rlt_sim_register(cfg->sim, net, handlers, sizeof handlers / sizeof *handlers, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < links; i++) {
        net->sources[i].head = RLT_NONE;
        net->sources[i].tag = at_node(net, net->free_port, rlt_topology_link(t, i).src);
    }
    return net->quiet && cfg->local && cfg->changes == RLT_LINKS_STAY ? rlt__trains_create(net, err) : 0;
}

static int create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    *out = NULL;
    if (cfg->fold)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "the packet model cannot be folded");
    rlt__packet_net *net = calloc(1, sizeof(*net));
    uint64_t *bw = NULL;
    if (!net)
        return rlt_nomem(err);
    rlt_pool_init(&net->messages, sizeof(rlt__flow_message));
    rlt_pool_init(&net->holes, sizeof(rlt__hole));
    rlt_pool_init(&net->late, sizeof(rlt__late));
    net->part = cfg->part;
    net->set = cfg->packet ? *cfg->packet : rlt_packet_default();
    int rc = rlt_packet_check(&net->set, err);
    net->back_pressure = net->set.pause != RLT_PAUSE_NONE;
    net->reliable = !rlt_packet_may_lose(&net->set) && cfg->changes != RLT_LINKS_FAIL &&
                    (net->set.buffer == 0 || net->back_pressure);
    net->spray = rlt_router_routing(cfg->router) == RLT_ROUTE_SPRAY;
    net->quiet = net->reliable && !net->back_pressure && !net->spray && !net->set.window && !net->set.dcqcn;
    net->selective = net->set.selective || net->spray;
    if (!rc && cfg->changes == RLT_LINKS_FAIL && net->set.ack == 0)
        rc = rlt_fail(err, RLT_EUSAGE, "ack",
                      "packets on links that fail are lost: they need acknowledgements");
    if (!rc)
        rc = rlt__net_init(&net->core, &rlt_net_packet, cfg, &bw, err);
    free(bw);
    net->core.base.unique = true;
    if (!rc)
        rc = create_packets(net, cfg, err);
    if (!rc)
        rc = create_tables(net, cfg, err);
    if (!rc && net->part)
        rc = rlt__part_create(net, err);
    if (rc) {
        destroy(&net->core.base);
        return rc;
    }
    *out = &net->core.base;
    return 0;
}

rlt_packets *rlt_net_packets(rlt_net *net)
{
    if (net->model != &rlt_net_packet)
        return NULL;
    rlt__trains_end((rlt__packet_net *)net); /* the caller may send by the same ports */
    return ((rlt__packet_net *)net)->packets;
}

const rlt_net_model rlt_net_packet = {
    .name = "packet",
    .summary = "packets through queues of ports, with acknowledgements, losses, marks and pauses",
    .can = RLT_NET_SHARES_LINKS | RLT_NET_PACKETS,
    .create = create,
    .destroy = destroy,
    .send = send,
    .settle = settle,
    .relink = rlt__packet_relink,
    .waits = waits,
};
