/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Letters between the parts of a network of packets, and the accounts of parts.
 *
 * Routes and flows have numbers of their own in each part. Before its first packet on a route, a part sends
 * the route. A packet carries the number that its flow has in the part of the flow's sender: an answer finds
 * the flow by it at once, data by a table of the flows of each part.
 *
 * The work of all parts ends at a time that is known only when they meet. So a part whose own work has ended
 * notes the bytes that a window queues at its ports. Those after the end of all are taken off the accounts.
 */
#include <stdlib.h>
#include <string.h>

#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/internal.h"
#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/packet/parts.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/windows.h"

typedef enum letter_kind { LETTER_ROUTE, LETTER_PACKET, LETTER_MESSAGE } letter_kind;

/* links[] follow. */
typedef struct letter_route {
    letter_kind kind;
    uint32_t route, n;
} letter_route;

typedef struct letter_packet {
    letter_kind kind;
    uint32_t at; /* its next link, counted from the begin of its route */
    rlt_time then;
    rlt_packet p;
} letter_packet;

typedef struct letter_message {
    letter_kind kind;
    uint32_t flow;
    rlt_message m;
    uint64_t wire_bytes;
    rlt_time delay_ps;
} letter_message;

/* ---- packets ---- */

/* Sends a route to a part that does not know it yet. */
static bool send_route(rlt_packets *n, uint32_t route, uint32_t to)
{
    rlt__route *r = &n->routes[route];
    if (r->sent >> to & 1)
        return true;
    uint32_t bytes = r->n * (uint32_t)sizeof(uint32_t);
    letter_route *l = rlt_windows_letter(n->cfg.part->windows, n->cfg.part->self, to, RLT_TIME_MAX,
                                         (uint32_t)sizeof *l + bytes);
    if (!l)
        return false;
    *l = (letter_route){LETTER_ROUTE, route, r->n};
    memcpy(l + 1, n->links + r->first, bytes);
    r->sent |= UINT64_C(1) << to;
    return true;
}

void rlt__part_send(rlt_packets *n, uint32_t i, uint32_t to, rlt_time then)
{
    const rlt__slot *s = rlt__slot_at(n, i);
    if (send_route(n, s->p.route, to)) {
        letter_packet *l = rlt_windows_letter(n->cfg.part->windows, n->cfg.part->self, to, then, sizeof *l);
        if (l)
            *l = (letter_packet){LETTER_PACKET, s->at - n->routes[s->p.route].first, then, s->p};
    }
    rlt__packet_done(n, i);
}

static void no_memory(rlt_packets *n)
{
    rlt_sim_fail(n->cfg.sim, RLT_ENOMEM, NULL, "no memory for letters of another thread");
}

/* Sets an entry of a growing table whose other entries are RLT_NONE. */
static bool set_number(rlt__numbers *t, uint32_t i, uint32_t value)
{
    uint32_t before = t->room;
    if (i >= before) {
        if (rlt_grow(&t->of, &t->room, sizeof *t->of, (uint64_t)i + 1, UINT32_MAX, "numbers", NULL) != 0)
            return false;
        memset(t->of + before, 0xff, (t->room - before) * sizeof *t->of);
    }
    t->of[i] = value;
    return true;
}

static void take_route(rlt_packets *n, uint32_t from, const letter_route *l)
{
    uint32_t route = rlt_packets_route(n, (const uint32_t *)(const void *)(l + 1), l->n);
    if (route == RLT_NONE || !set_number(&n->known_routes[from], l->route, route))
        no_memory(n);
}

static void take_packet(rlt_packets *n, uint32_t from, const letter_packet *l)
{
    uint32_t i = rlt_pool_get(&n->slots);
    if (i == RLT_NONE) {
        no_memory(n);
        return;
    }
    uint32_t route = n->known_routes[from].of[l->p.route];
    const rlt__route *r = &n->routes[route];
    rlt__slot *s = rlt__slot_at(n, i);
    s->p = l->p;
    s->p.route = route;
    s->at = r->first + l->at;
    s->end = r->first + r->n - ((l->p.flags & RLT_PACKET_UNHEARD) != 0);
    n->live++;
    rlt_sim_post_at(n->cfg.sim, l->then, RLT_COMPLETE, n->tags[s->at], i);
}

/* ---- messages ---- */

bool rlt__part_announce(rlt__packet_net *net, uint32_t flow, const rlt_message *m, uint64_t wire_bytes,
                        rlt_time delay_ps)
{
    const rlt_net_part *part = net->part;
    letter_message *l =
        rlt_windows_letter(part->windows, part->self, part->of_rank[m->dst], RLT_TIME_MAX, sizeof *l);
    if (!l)
        return false;
    *l = (letter_message){LETTER_MESSAGE, flow, *m, wire_bytes, delay_ps};
    l->m.tuning = NULL;
    return true;
}

static void take_message(rlt__packet_net *net, uint32_t from, const letter_message *l)
{
    rlt__numbers *flows = &net->far_flows[from];
    uint32_t flow = l->flow < flows->room ? flows->of[l->flow] : RLT_NONE;
    if (flow == RLT_NONE &&
        (!rlt__flow_make(net, &l->m, l->flow, 0, &flow) || !set_number(flows, l->flow, flow))) {
        no_memory(net->packets);
        return;
    }
    rlt__flow_add(net, flow, &l->m, l->wire_bytes, l->delay_ps);
}

bool rlt__part_is_far(const rlt__packet_net *net, uint32_t route)
{
    const rlt_packets *n = net->packets;
    return n->owner[rlt_tag_place(n->tags[n->routes[route].first + 1])] != n->self;
}

uint32_t rlt__part_flow(const rlt__packet_net *net, const rlt_packet *p)
{
    uint32_t from = net->part->parts->owner[net->first_place + p->src];
    return from == net->part->self ? p->flow : net->far_flows[from].of[p->flow];
}

static void take(void *ctx, uint32_t from, const void *letter)
{
    rlt__packet_net *net = ctx;
    switch (*(const letter_kind *)letter) {
    case LETTER_ROUTE:
        take_route(net->packets, from, letter);
        break;
    case LETTER_PACKET:
        take_packet(net->packets, from, letter);
        break;
    case LETTER_MESSAGE:
        take_message(net, from, letter);
        break;
    }
}

/* ---- accounts ---- */

bool rlt__part_more_notes(rlt_packets *n)
{
    if (rlt_grow(&n->notes, &n->notes_room, sizeof *n->notes, (uint64_t)n->n_notes + 1, UINT32_MAX, "notes",
                 NULL) == 0)
        return true;
    no_memory(n);
    return false;
}

/* Closes the accounts at a time since which `n->notes` may have been taken: undoes these. */
static void settle_at(rlt_packets *n, rlt_time when)
{
    rlt_time *free_ps = malloc((n->n ? (size_t)n->n : 1) * sizeof *free_ps);
    if (!free_ps) {
        no_memory(n);
        return;
    }
    for (uint32_t i = 0; i < n->n; i++)
        free_ps[i] = n->ports[i].free_ps;
    for (uint32_t i = n->n_notes; i-- > 0 && n->notes[i].now > when;) {
        const rlt__note *x = &n->notes[i];
        n->usage->links[x->link].bytes -= x->bytes;
        n->usage->links[x->link].active -= x->span;
        free_ps[x->link] = x->was;
    }
    rlt__packets_settle_at(n, when, free_ps);
    free(free_ps);
}

void rlt_packet_part_ended(rlt_net *net)
{
    ((rlt__packet_net *)net)->packets->notes_charges = true;
}

/* A window begins: the last one's notes are of no use, unless the work had ended within it. */
static void begin(void *ctx, rlt_time ended)
{
    rlt_packets *n = ((rlt__packet_net *)ctx)->packets;
    if (ended >= 0 && n->usage->horizon < 0)
        settle_at(n, ended);
    n->n_notes = 0;
}

void rlt_packet_gather(rlt_net *to, const rlt_net *from)
{
    rlt__packet_net *a = (rlt__packet_net *)to;
    const rlt__packet_net *b = (const rlt__packet_net *)(const void *)from;
    const rlt_packet_parts *parts = b->part->parts;
    for (uint32_t i = 0; i < b->packets->n; i++)
        if (parts->owner[i] == b->part->self) {
            a->packets->ports[i] = b->packets->ports[i];
            a->packets->counts[i] = b->packets->counts[i];
            a->packets->usage->links[i] = b->packets->usage->links[i];
        }
    to->messages += from->messages;
    to->bytes_offered += from->bytes_offered;
    to->bytes_delivered += from->bytes_delivered;
}

int rlt__part_create(rlt__packet_net *net, rlt_error *err)
{
    uint32_t n = net->n_parts = net->part->parts->n;
    net->far_flows = calloc(n, sizeof *net->far_flows);
    net->packets->known_routes = calloc(n, sizeof *net->packets->known_routes);
    if (!net->far_flows || !net->packets->known_routes)
        return rlt_nomem(err);
    rlt_windows_client client = {net, take, begin};
    rlt_windows_listen(net->part->windows, net->part->self, &client);
    return 0;
}

static void free_numbers(rlt__numbers *t, uint32_t n)
{
    for (uint32_t i = 0; t && i < n; i++)
        free(t[i].of);
    free(t);
}

void rlt__part_free(rlt__packet_net *net)
{
    free_numbers(net->far_flows, net->n_parts);
    if (!net->packets)
        return;
    free_numbers(net->packets->known_routes, net->n_parts);
    free(net->packets->notes);
}
