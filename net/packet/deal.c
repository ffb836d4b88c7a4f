/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deals the places of a network to parts. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "net/packet/parts.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/windows.h"

/* FAR: the distance of a node not reached yet. NOWHERE, MIXED: the part of a node that no link leaves, or
 * that links of several parts leave. */
enum { FAR = UINT8_MAX, NOWHERE = UINT8_MAX - 1, MIXED = UINT8_MAX };

/* Returns why the network cannot be in parts, or NULL. */
static const char *objection(const rlt_net_config *cfg, const rlt_packet_settings *s)
{
    const rlt_topology *t = rlt_router_topology(cfg->router);
    if (cfg->endpoint.injection == RLT_INJECT_BLOCKING)
        return "with blocking injection a sender learns of a delivery at once";
    if (s->pause != RLT_PAUSE_NONE)
        return "under back-pressure the ports of a switch depend on each other at once";
    if (rlt_router_routing(cfg->router) == RLT_ROUTE_SPRAY)
        return "sprayed packets of all senders share their turns";
    if (cfg->changes != RLT_LINKS_STAY)
        return "a link that changes does so for all at once";
    if (cfg->series_bin_ps)
        return "a series over time has bins of one width for all links";
    if ((uint64_t)rlt_topology_links(t) + rlt_topology_nodes(t) > (uint64_t)1 << RLT_PLACE_BITS)
        return "it has more than 8 million links and nodes";
    return NULL;
}

/* Deals the accelerators that have ranks equally; others go with their neighbours. */
static int deal_hosts(const rlt_topology *t, const rlt_placement *place, rlt_packet_parts *out, uint8_t *home,
                      uint8_t *level)
{
    uint32_t n = rlt_topology_accelerators(t), used = 0, seen = 0;
    uint8_t *has_rank = calloc(n ? n : 1, 1);
    if (!has_rank)
        return RLT_ENOMEM;
    for (uint32_t r = 0; r < place->n; r++) {
        used += !has_rank[rlt_placed(place, r)];
        has_rank[rlt_placed(place, r)] = 1;
    }
    out->n = out->n < used ? out->n : used;
    for (uint32_t a = 0; a < n; a++) {
        uint64_t k = seen < used ? seen : used - 1;
        home[a] = (uint8_t)(k * out->n / used);
        level[a] = 0;
        seen += has_rank[a];
    }
    for (uint32_t r = 0; r < place->n; r++)
        out->of_rank[r] = home[rlt_placed(place, r)];
    free(has_rank);
    return 0;
}

/* Gives each other node a distance from the hosts, and the home of a neighbour that is nearer to them. */
static void spread_homes(const rlt_topology *t, uint8_t *home, uint8_t *level)
{
    uint32_t links = rlt_topology_links(t);
    bool more = true;
    for (uint8_t distance = 0; more && distance + 1 < FAR; distance++) {
        more = false;
        for (uint32_t i = 0; i < links; i++) {
            rlt_link l = rlt_topology_link(t, i);
            for (int way = 0; way < 2; way++) {
                uint32_t near = way ? l.dst : l.src, next = way ? l.src : l.dst;
                if (level[near] != distance || level[next] != FAR)
                    continue;
                level[next] = (uint8_t)(distance + 1);
                home[next] = home[near];
                more = true;
            }
        }
    }
}

static void deal_ports(const rlt_topology *t, rlt_packet_parts *out, const uint8_t *home,
                       const uint8_t *level)
{
    uint32_t links = rlt_topology_links(t);
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        bool by_end = rlt_topology_node_kind(t, l.src) != RLT_ACCELERATOR && level[l.dst] < level[l.src];
        out->owner[i] = home[by_end ? l.dst : l.src];
    }
    memcpy(out->owner + links, home, rlt_topology_nodes(t));
}

/* Finds, by node, the part of all that a packet can come to there, or MIXED. */
static void find_ways(const rlt_topology *t, const rlt_packet_parts *out, uint8_t *ways)
{
    uint32_t links = rlt_topology_links(t), nodes = rlt_topology_nodes(t);
    for (uint32_t i = 0; i < nodes; i++)
        ways[i] = rlt_topology_node_kind(t, i) == RLT_ACCELERATOR ? out->owner[links + i] : NOWHERE;
    for (uint32_t i = 0; i < links; i++) {
        uint8_t *at = &ways[rlt_topology_link(t, i).src];
        *at = *at == NOWHERE || *at == out->owner[i] ? out->owner[i] : MIXED;
    }
}

/* Finds the least time of a packet from its start on a link to what another part has behind that link. */
static void find_ahead(const rlt_net_config *cfg, rlt_time switch_ps, const uint8_t *ways,
                       rlt_packet_parts *out)
{
    const rlt_topology *t = rlt_router_topology(cfg->router);
    uint32_t links = rlt_topology_links(t);
    out->ahead = RLT_TIME_MAX - 1;
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        rlt_time time = rlt__scaled_time(l.latency_ps, cfg->latency_scale);
        if (rlt_topology_node_kind(t, l.dst) == RLT_SWITCH)
            time = rlt_time_add(time, switch_ps);
        if (ways[l.dst] != out->owner[i] && time < out->ahead)
            out->ahead = time;
    }
}

static int deal(const rlt_net_config *cfg, const rlt_packet_settings *s, rlt_packet_parts *out,
                rlt_error *err)
{
    const rlt_topology *t = rlt_router_topology(cfg->router);
    const rlt_placement *place = rlt_router_placement(cfg->router);
    uint32_t links = rlt_topology_links(t), nodes = rlt_topology_nodes(t);
    uint8_t *home = calloc(2, nodes), *level = home + nodes;
    out->owner = malloc((size_t)links + nodes);
    out->of_rank = malloc(place->n);
    int rc = !home || !out->owner || !out->of_rank ? RLT_ENOMEM : 0;
    if (!rc) {
        memset(level, FAR, nodes);
        rc = deal_hosts(t, place, out, home, level);
    }
    if (rc) {
        free(home);
        return rlt_nomem(err);
    }
    spread_homes(t, home, level);
    deal_ports(t, out, home, level);
    find_ways(t, out, level);
    find_ahead(cfg, s->switch_ps, level, out);
    free(home);
    if (out->n < 2)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "it has only one rank");
    if (out->ahead == 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "links without latency leave threads no time to work alone");
    return 0;
}

int rlt_packet_deal(const rlt_net_config *cfg, uint32_t n, rlt_packet_parts *out, rlt_error *err)
{
    rlt_packet_settings s = cfg->packet ? *cfg->packet : rlt_packet_default();
    const char *why = objection(cfg, &s);
    if (why)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "%s", why);
    out->n = n < RLT_MAX_PARTS ? n : RLT_MAX_PARTS;
    return deal(cfg, &s, out, err);
}

void rlt_packet_parts_free(rlt_packet_parts *p)
{
    free(p->owner);
    free(p->of_rank);
    *p = (rlt_packet_parts){0};
}
