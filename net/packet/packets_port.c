/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates ports and routes of packets, and reads their accounts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/network.h"
#include "net/packet/packets.h"
#include "net/packet/packets_internal.h"
#include "net/packet/parts.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static int check(const rlt_packets_config *c, rlt_error *err)
{
    if (!(c->bandwidth_scale > 0 && c->bandwidth_scale <= 1e9) ||
        !(c->latency_scale >= 0 && c->latency_scale <= 1e9))
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "a scale of bandwidth (%g) or latency (%g) that is not in (0, 1e9]",
                        c->bandwidth_scale, c->latency_scale);
    if (!(c->loss >= 0 && c->loss <= 1) || !(c->ecn_probability >= 0 && c->ecn_probability <= 1))
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "a probability of loss (%g) or of a mark (%g) that is not in [0, 1]", c->loss,
                        c->ecn_probability);
    if (c->ecn_max_bytes < c->ecn_min_bytes)
        return rlt_fail(err, RLT_ERANGE, NULL, "ecn_max is below ecn_min");
    if (c->pause == RLT_PAUSE_CREDIT && c->buffer_bytes == 0)
        return rlt_fail(err, RLT_ERANGE, NULL, "credits need a buffer of a known size");
    if (c->pause == RLT_PAUSE_PFC && c->resume_bytes > c->pause_bytes)
        return rlt_fail(err, RLT_ERANGE, NULL, "resume_at is above pause_at");
    if (c->switch_ps < 0 || c->switch_ps >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, NULL, "a switch latency of %lld ps", (long long)c->switch_ps);
    return 0;
}

static int add_lost(rlt_named_losses *lose, uint32_t link, uint64_t number, rlt_error *err)
{
    if (lose->n == RLT_NAMED_LOSSES)
        return rlt_fail(err, RLT_EUSAGE, "lose", "expected at most %d packets: one on each link of a name",
                        RLT_NAMED_LOSSES);
    lose->items[lose->n].link = link;
    lose->items[lose->n++].number = number;
    return 0;
}

/* Finds the links of the packets to lose: a name may stand for several. */
static int find_lost(const rlt_topology *t, const rlt_named_losses *asked, rlt_named_losses *lose,
                     rlt_error *err)
{
    uint32_t count = rlt_topology_links(t);
    int rc = 0;
    *lose = (rlt_named_losses){0};
    for (uint32_t i = 0; i < asked->n && !rc; i++) {
        uint32_t one = asked->items[i].link, *links = NULL, n = 1;
        const char *name = asked->items[i].name;
        rlt_error why = {0};
        if (name[0] && (rc = rlt_topology_find_links(t, name, &links, &n, &why)))
            return rlt_fail(err, rc == RLT_ENOMEM ? rc : RLT_EUSAGE, "lose", "%s: %s", name, why.what);
        if (!links && one >= count)
            return rlt_fail(err, RLT_EUSAGE, "lose", "%u: there are links 0 to %u", one, count - 1);
        for (uint32_t k = 0; k < n && !rc; k++)
            rc = add_lost(lose, links ? links[k] : one, asked->items[i].number, err);
        free(links);
    }
    return rc;
}

static rlt_time scaled(rlt_time t, double scale)
{
    double x = scale == 1.0 ? (double)t : nearbyint((double)t * scale);
    return scale == 1.0 ? t : x >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)x;
}

static void set_port(rlt__port *p, const rlt_packets_config *c, uint64_t bw_Bps)
{
    uint64_t per_byte = (uint64_t)RLT_S / bw_Bps;
    bool whole = (uint64_t)RLT_S % bw_Bps == 0 && per_byte < (1u << 29);
    p->bw_Bps = bw_Bps;
    p->ps_per_byte = whole ? (uint32_t)per_byte : 0;
    p->memo_bytes = UINT32_MAX;
    p->memo_ps = whole ? 0 : rlt_transfer_time(UINT32_MAX, bw_Bps);
    p->flags &= ~(uint32_t)RLT__PORT_EASY;
    if (whole && !c->cut_through)
        p->flags |= RLT__PORT_EASY;
    p->limit_ps = RLT_TIME_MAX;
    /* Half a byte more, for the rounding of the packets in front. */
    if (c->buffer_bytes && (p->flags & RLT__PORT_INNER))
        p->limit_ps = rlt_time_add(rlt_transfer_time(c->buffer_bytes, bw_Bps),
                                   (rlt_time)((uint64_t)RLT_S / 2 / bw_Bps));
}

static rlt__port port_of(const rlt_packets_config *c, uint32_t id)
{
    rlt_link l = rlt_topology_link(c->topology, id);
    rlt_node_kind from = rlt_topology_node_kind(c->topology, l.src);
    rlt_node_kind to = rlt_topology_node_kind(c->topology, l.dst);
    rlt__port p = {.after_ps = scaled(l.latency_ps, c->latency_scale)};
    p.flags = (from != RLT_ACCELERATOR ? (unsigned)RLT__PORT_INNER : 0u) |
              (to == RLT_SWITCH ? (unsigned)RLT__PORT_TO_SWITCH : 0u) |
              (to == RLT_ACCELERATOR ? (unsigned)RLT__PORT_TO_HOST : 0u);
    if (to == RLT_SWITCH)
        p.after_ps = rlt_time_add(p.after_ps, c->switch_ps);
    set_port(&p, c, rlt__scaled_bw(l.bw_Bps, c->bandwidth_scale));
    return p;
}

double rlt__port_unsent(const rlt_packets *n, uint32_t link, rlt_time now, rlt_time until)
{
    double bw = (double)n->ports[link].bw_Bps, bytes = 0;
    for (uint32_t i = n->stretch ? n->stretch[link] : RLT_NONE; i != RLT_NONE;) {
        const rlt__stretch *s = rlt_pool_at(&n->stretches, i);
        if (s->until <= now)
            break;
        bytes += (double)(until - s->until) * bw;
        until = s->until;
        bw = (double)s->bw_Bps;
        i = s->before;
    }
    return (bytes + (double)(until - now) * bw) / (double)RLT_S;
}

static uint64_t queued_bytes(const rlt__port *p, rlt_time span)
{
    return (uint64_t)nearbyint((double)span * (double)p->bw_Bps / (double)RLT_S);
}

/* The bandwidth of a link is about to change: keeps in bytes what is kept as a time. */
static int keep_bytes(rlt_packets *n, uint32_t link)
{
    rlt__port *p = &n->ports[link];
    rlt_port_counts *c = &n->counts[link];
    uint64_t deepest = queued_bytes(p, p->deepest_ps);
    c->peak_bytes = deepest > c->peak_bytes ? deepest : c->peak_bytes;
    p->deepest_ps = 0;
    if (p->free_ps <= rlt_sim_now(n->cfg.sim))
        return 0;
    uint32_t i = rlt_pool_get(&n->stretches);
    if (!n->stretch) {
        n->stretch = malloc(n->n * sizeof *n->stretch);
        for (uint32_t k = 0; n->stretch && k < n->n; k++)
            n->stretch[k] = RLT_NONE;
    }
    if (i == RLT_NONE || !n->stretch)
        return RLT_ENOMEM;
    *(rlt__stretch *)rlt_pool_at(&n->stretches, i) = (rlt__stretch){p->free_ps, p->bw_Bps, n->stretch[link]};
    n->stretch[link] = i;
    n->plain = false;
    return 0;
}

int rlt_packets_link(rlt_packets *n, uint32_t link, uint64_t bw_Bps)
{
    rlt__port *p = &n->ports[link];
    bool failed = p->flags & RLT__PORT_FAILED;
    int rc = rlt__usage_capacity(n->usage, link, 0, bw_Bps);
    p->flags &= ~(uint32_t)RLT__PORT_FAILED;
    if (!rc && bw_Bps && bw_Bps != p->bw_Bps)
        rc = keep_bytes(n, link);
    if (rc || bw_Bps) {
        if (!rc)
            set_port(p, &n->cfg, bw_Bps);
        return rc;
    }
    p->flags |= RLT__PORT_FAILED;
    p->cuts += !failed;
    if (n->queues)
        rlt__pause_flush(n, link);
    return 0;
}

static int create_ports(rlt_packets *n, rlt_error *err)
{
    size_t room = n->n ? n->n : 1;
    n->ports = calloc(room, sizeof(*n->ports));
    n->counts = calloc(room, sizeof(*n->counts));
    if (!n->ports || !n->counts)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n->n; i++)
        n->ports[i] = port_of(&n->cfg, i);
    return 0;
}

int rlt_packets_create(const rlt_packets_config *cfg, rlt_packets **out, rlt_error *err)
{
    *out = NULL;
    int rc = check(cfg, err);
    if (rc)
        return rc;
    rlt_packets *n = calloc(1, sizeof(*n));
    if (!n)
        return rlt_nomem(err);
    n->cfg = *cfg;
    n->n = rlt_topology_links(cfg->topology);
    n->owner = cfg->part ? cfg->part->parts->owner : NULL;
    n->self = cfg->part ? cfg->part->self : 0;
    rlt_pool_init(&n->slots, sizeof(rlt__slot));
    rlt_pool_init(&n->copies, sizeof(rlt_packet));
    rlt_pool_init(&n->stretches, sizeof(rlt__stretch));
    rc = rlt_usage_create(cfg->topology, cfg->series_bin_ps, &n->usage, err);
    if (!rc) {
        n->usage->bandwidth_scale = cfg->bandwidth_scale;
        n->usage->packets = n;
        rc = find_lost(cfg->topology, &cfg->lose, &n->cfg.lose, err);
    }
    if (!rc)
        rc = create_ports(n, err);
    if (!rc)
        rc = rlt__packets_handlers(n, err);
    if (!rc && cfg->pause != RLT_PAUSE_NONE)
        rc = rlt__pause_create(n, err);
    n->plain = !n->queues && !cfg->buffer_bytes && !cfg->ecn_max_bytes && cfg->loss <= 0 && !cfg->lose.n &&
               !cfg->client.left && !cfg->series_bin_ps && !cfg->links_fail;
    if (rc) {
        rlt_packets_free(n);
        return rc;
    }
    *out = n;
    return 0;
}

void rlt_packets_free(rlt_packets *n)
{
    if (!n)
        return;
    rlt_usage_free(n->usage);
    rlt_pool_free(&n->slots);
    rlt_pool_free(&n->copies);
    rlt_pool_free(&n->stretches);
    free(n->stretch);
    rlt_map_free(&n->known);
    free(n->ports);
    free(n->counts);
    free(n->queues);
    free(n->links);
    free(n->tags);
    free(n->routes);
    free(n);
}

static uint32_t find_route(const rlt_packets *n, uint64_t hash, const uint32_t *links, uint32_t count)
{
    uint32_t i = rlt_map_get(&n->known, hash);
    while (i != RLT_NONE && (n->routes[i].n != count || (count && memcmp(n->links + n->routes[i].first, links,
                                                                         count * sizeof(*links)) != 0)))
        i = n->routes[i].next;
    return i;
}

/* Ports of a switch do not affect each other within an instant, those of an accelerator do. */
static uint32_t place_of(const rlt_packets *n, uint32_t link)
{
    return n->ports[link].flags & RLT__PORT_INNER
               ? link
               : rlt_packets_place(n, rlt_topology_link(n->cfg.topology, link).src);
}

uint32_t rlt_packets_route(rlt_packets *n, const uint32_t *links, uint32_t count)
{
    uint64_t hash = rlt_hash_bytes(links, count * sizeof(*links), count);
    uint32_t i = find_route(n, hash, links, count);
    if (i != RLT_NONE)
        return i;
    for (uint32_t k = 0; k < count; k++)
        if (links[k] >= n->n)
            return RLT_NONE;
    i = n->routes_used;
    if (rlt_grow(&n->routes, &n->routes_room, sizeof(*n->routes), (uint64_t)i + 1, INT32_MAX, "routes",
                 NULL) ||
        rlt_grow(&n->links, &n->links_room, sizeof(*n->links), (uint64_t)n->links_used + count + 1, INT32_MAX,
                 "links of routes", NULL) ||
        rlt_grow(&n->tags, &n->tags_room, sizeof(*n->tags), (uint64_t)n->links_used + count + 1, INT32_MAX,
                 "tags of routes", NULL))
        return RLT_NONE;
    n->routes[i] = (rlt__route){n->links_used, count, rlt_map_get(&n->known, hash), 0};
    if (rlt_map_put(&n->known, hash, i) != 0)
        return RLT_NONE;
    for (uint32_t k = 0; k < count; k++) {
        n->links[n->links_used] = links[k];
        n->tags[n->links_used++] = rlt_tag_at(rlt_sim_tag(n->hop), place_of(n, links[k]));
    }
    if (count)
        n->tags[n->links_used++] =
            rlt_tag_at(rlt_sim_tag(n->hop),
                       rlt_packets_place(n, rlt_topology_link(n->cfg.topology, links[count - 1]).dst));
    n->routes_used++;
    return i;
}

rlt_usage *rlt_packets_usage(rlt_packets *n)
{
    return n->usage;
}

static void settle_port(rlt_packets *n, uint32_t link, rlt_time when, rlt_time free_ps)
{
    rlt_account *a = &n->usage->links[link];
    if (free_ps <= when)
        return;
    /* A byte that is on its way has not been carried: else the link would be busy for longer than the run. */
    uint64_t left = (uint64_t)ceil(rlt__port_unsent(n, link, when, free_ps) - 1e-6);
    a->bytes -= left < a->bytes ? left : a->bytes;
    a->active -= free_ps - when < a->active ? free_ps - when : a->active;
}

void rlt__packets_settle_at(rlt_packets *n, rlt_time when, const rlt_time *free_ps)
{
    for (uint32_t i = 0; i < n->n; i++)
        settle_port(n, i, when, free_ps[i]);
    n->plain = false; /* the accounts are closed */
    rlt__usage_settle(n->usage, when);
}

void rlt_packets_settle(rlt_packets *n)
{
    rlt_time now = rlt_sim_now(n->cfg.sim);
    if (n->usage->horizon >= 0)
        return;
    if (!rlt_sim_more(n->cfg.sim) && n->unheard_ps > now)
        now = n->unheard_ps; /* the run ended with the arrival of a packet */
    for (uint32_t i = 0; i < n->n; i++)
        settle_port(n, i, now, n->ports[i].free_ps);
    n->plain = false; /* the accounts are closed */
    rlt__usage_settle(n->usage, now);
}

rlt_port_counts rlt_packets_port(const rlt_packets *n, uint32_t link)
{
    rlt_port_counts c = n->counts[link];
    c.packets = n->usage->links[link].messages;
    uint64_t peak =
        n->queues ? n->queues[link].deepest : queued_bytes(&n->ports[link], n->ports[link].deepest_ps);
    c.peak_bytes = peak > c.peak_bytes ? peak : c.peak_bytes;
    if (n->queues && n->queues[link].paused)
        c.paused_ps += rlt_sim_now(n->cfg.sim) - n->queues[link].paused_at;
    return c;
}

bool rlt_usage_port(const rlt_usage *u, uint32_t link, rlt_port_counts *out)
{
    if (!u->packets)
        return false;
    *out = rlt_packets_port(u->packets, link);
    return true;
}

uint32_t rlt_packets_first_link(const rlt_packets *n, uint32_t route)
{
    return n->routes[route].n ? n->links[n->routes[route].first] : RLT_NONE;
}

uint64_t rlt_packets_pending(const rlt_packets *n, char *text, size_t size)
{
    if (size)
        text[0] = '\0';
    if (n->live && size && !(n->queues && rlt__pause_names(n, text, size)))
        snprintf(text, size, "%llu packets are under way", (unsigned long long)n->live);
    return n->live;
}
