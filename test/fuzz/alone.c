/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laws between networks. The yardstick is a network without contention, written here: each message takes the time
 * that it takes alone, whatever else is under way. It has two costs:
 *
 *   bare      latency + b / B, with B the slowest link of the path, which flow and alpha-beta charge a message alone
 *   packets   latency + w / B + the sum over all links but the first of p / B_i: w has the headers of all packets,
 *             p is the largest packet, and B_i the links of the path. No packet train without others takes longer:
 *             follow the last byte back through the switches, each of which waits for a whole packet. The path in
 *             the grid of packets and links has one cell for each packet, and one more for each further link.
 *
 * A message is never faster than alone, in any network. As collectives are sums and maxima of such times, no
 * collective is faster than with bare costs: that holds for all cases.
 *
 * "Flow is not faster than alpha-beta" holds where no two flows have a port in common, and the first link of each path
 * is its slowest: alpha-beta then takes as long as bare costs, and so does flow if no link is shared. It is false
 *   - where a port is shared: it serves whole messages in order of arrival, and the links of flow are shared. A small
 *     message behind a large one waits in alpha-beta, and hardly in flow; if the rest of the collective depends on the
 *     small one, all of it is faster in flow. test/net/network.c has the smallest case, three messages. With equal
 *     sizes it needs a third sender: a message that meets others at its receiver leaves more of its sender's port to
 *     the next one.
 *   - where a flow's receive port is slower than its send port: a small message leaves early, arrives unimpeded before
 *     the large one that was sent first, and holds it up.
 *
 * "Packets take as long as flow but for headers" holds where no two flows have any link in common: the time then
 * lies between bare costs with headers and the cost of packets.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/laws.h"

enum { PAYLOAD = 4096, HEADER = 82, MOST_MESSAGES = 1 << 20 };

typedef enum charge { BARE, HEADERS, PACKETS } charge;

typedef struct one {
    uint64_t tx, rx, flow;
    rlt_time issued, alone;
    rlt_time left; /* RLT_TIME_MAX: not yet known */
} one;

/* A network without contention, or one that watches another. */
typedef struct yard {
    rlt_net_core core; /* only its base is used */
    rlt_net *inner;    /* NULL: without contention */
    rlt_sim *sim;
    rlt_router *router;
    rlt_net_client client;
    int arrival;
    one *all;
    uint32_t n, room;
} yard;

/* What a run is asked, and what it showed. */
static struct {
    charge cost;
    const rlt_net_model *watched;          /* NULL: without contention */
    uint64_t *links, *firsts, *lasts;      /* the flow that uses a link, sends and receives by it; 0: none */
    bool shares_link, shares_port, widens; /* widens: a path whose first link is not its slowest */
    rlt_time packets;                      /* sent in the last run */
    char wrong[160];
} now;

static rlt_time at_rate(uint64_t bytes, uint64_t Bps)
{
    return rlt_transfer_time(bytes, Bps);
}

static uint64_t packets_of(uint64_t bytes)
{
    return bytes ? (bytes + PAYLOAD - 1) / PAYLOAD : 1;
}

static uint64_t wire_bytes(uint64_t bytes, charge c)
{
    return c == BARE ? bytes : bytes + packets_of(bytes) * HEADER;
}

/* Time on the links from the first byte to the last one at the receiver, without latency. */
static rlt_time drain(const yard *y, const rlt_path *p, uint64_t bytes, charge c)
{
    rlt_time t = p->n ? at_rate(wire_bytes(bytes, c), p->bw_Bps) : 0;
    uint64_t packet = (bytes < PAYLOAD ? bytes : PAYLOAD) + HEADER;
    for (uint32_t i = 1; c == PACKETS && i < p->n; i++)
        t += at_rate(packet, rlt_router_link_Bps(y->router, p->links[i])) + 1;
    return c == PACKETS ? t + (rlt_time)packets_of(bytes) : t; /* each packet's end may be rounded up */
}

static void claim(uint64_t *of, uint32_t link, uint64_t flow, bool *shared)
{
    *shared = *shared || (of[link] && of[link] != flow);
    of[link] = flow;
}

/* Notes who uses which links. A flow is a pair of ranks and a channel; one that sends before its last message has left
 * shares links with itself. */
static void claim_path(const yard *y, const rlt_path *p, const one *o)
{
    for (uint32_t i = 0; i < p->n; i++)
        claim(now.links, p->links[i], o->flow, &now.shares_link);
    if (p->n) {
        now.widens = now.widens || rlt_router_link_Bps(y->router, p->links[0]) > p->bw_Bps;
        claim(now.firsts, p->links[0], o->flow, &now.shares_port);
        claim(now.lasts, p->links[p->n - 1], o->flow, &now.shares_port);
    }
    uint32_t i = y->n;
    while (i > 0 && y->all[i - 1].flow != o->flow)
        i--;
    if (i > 0 && y->all[i - 1].left > o->issued)
        now.shares_link = now.shares_port = true;
}

static void on_injected(void *ctx, uint64_t i)
{
    yard *y = ctx;
    y->all[i].left = rlt_sim_now(y->sim);
    y->client.injected(y->client.ctx, y->all[i].tx);
}

static void on_delivered(void *ctx, uint64_t i, uint64_t rx)
{
    yard *y = ctx;
    one o = y->all[i];
    rlt_time took = rlt_sim_now(y->sim) - o.issued;
    (void)rx;
    if (took + 1 < o.alone && !*now.wrong)
        snprintf(now.wrong, sizeof now.wrong, "a message takes %lld ps, alone %lld ps", (long long)took,
                 (long long)o.alone);
    if (o.left == RLT_TIME_MAX)
        y->all[i].left = rlt_sim_now(y->sim);
    y->client.delivered(y->client.ctx, o.tx, o.rx);
}

static void on_arrival(void *ctx, uint64_t i)
{
    on_delivered(ctx, i, 0);
}

static rlt_time send(rlt_net *net, const rlt_message *m)
{
    yard *y = (yard *)net;
    rlt_path path;
    rlt_error err = {0};
    FUZZ_CHECK(rlt_grow(&y->all, &y->room, sizeof *y->all, (uint64_t)y->n + 1, MOST_MESSAGES, "messages",
                        &err) == 0);
    FUZZ_CHECK(rlt_route(y->router, m->src, m->dst, m->route_key, &path) == 0);
    one o = {.tx = m->tx, .rx = m->rx, .issued = rlt_sim_now(y->sim), .left = RLT_TIME_MAX};
    o.flow = 1 + (((uint64_t)m->src << 16 | m->dst) << 32 ^ m->route_key);
    o.alone = path.latency_ps + drain(y, &path, m->bytes, y->inner ? BARE : now.cost);
    if (y->inner)
        claim_path(y, &path, &o);
    y->all[y->n] = o;
    net->messages++;
    now.packets += (rlt_time)packets_of(m->bytes);
    if (y->inner) {
        rlt_message with = *m;
        uint32_t i = y->n++;
        with.tx = with.rx = i;
        rlt_time left = rlt_net_send(y->inner, &with);
        if (left >= 0)
            y->all[i].left = left;
        return left;
    }
    rlt_sim_post(y->sim, o.issued + o.alone, RLT_COMPLETE, y->arrival, y->n++);
    if (path.n == 0)
        return o.issued;
    return o.issued + (now.cost == PACKETS ? drain(y, &path, m->bytes, PACKETS)
                                           : at_rate(wire_bytes(m->bytes, now.cost),
                                                     rlt_router_link_Bps(y->router, path.links[0])));
}

static void destroy(rlt_net *net)
{
    yard *y = (yard *)net;
    if (y->inner)
        rlt_net_free(y->inner);
    else
        rlt_usage_free(y->core.base.usage);
    free(y->all);
    free(y);
}

static void settle(rlt_net *net)
{
    (void)net;
}

static int create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err);
static const rlt_net_model yardstick = {.name = "yardstick",
                                        .summary = "no contention",
                                        .create = create,
                                        .destroy = destroy,
                                        .send = send,
                                        .settle = settle};

static int create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    yard *y = calloc(1, sizeof *y);
    FUZZ_CHECK(y);
    y->core.base = (rlt_net){.model = &yardstick, .unique = true};
    y->sim = cfg->sim;
    y->router = cfg->router;
    y->client = cfg->client;
    y->arrival = rlt_sim_handler(cfg->sim, on_arrival, y);
    FUZZ_CHECK(y->arrival >= 0);
    rlt_net_config inner = *cfg;
    inner.client = (rlt_net_client){.ctx = y, .injected = on_injected, .delivered = on_delivered};
    int rc = now.watched ? now.watched->create(&inner, &y->inner, err)
                         : rlt_usage_create(rlt_router_topology(cfg->router), 0, &y->core.base.usage, err);
    FUZZ_CHECK(rc == 0);
    if (y->inner)
        y->core.base.usage = y->inner->usage;
    *out = &y->core.base;
    return 0;
}

/* ---- cases ---- */

typedef struct alone_case {
    char topology[200], command[600];
    const char *kind, *routing;
    const rlt_algorithm *algorithm;
    uint32_t channels, chunks, root;
    uint64_t bytes;
    bool blocking;
} alone_case;

typedef struct group {
    rlt_topology *t;
    rlt_placement place;
    rlt_group group;
    uint32_t n;
} group;

/* Runs the collective. Returns -1 if the algorithm refuses it. */
static rlt_time time_of(const alone_case *c, const group *g, const rlt_net_model *watched, charge cost)
{
    rlt_packet_settings packet = rlt_packet_default();
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    rlt_plan plan = {0};
    rlt_error err = {0};
    rlt_routing routing;
    rlt_coll_kind kind;
    rlt_time took = -1;
    packet.ack = 0;
    now.watched = watched;
    now.cost = cost;
    now.packets = 0;
    FUZZ_CHECK(rlt_coll_parse(c->kind, &kind, &err) == 0 &&
               rlt_routing_parse(c->routing, &routing, &err) == 0);
    FUZZ_CHECK(rlt_router_create(g->t, &g->place, routing, &router, &err) == 0 &&
               rlt_sim_create(&sim, &err) == 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(g->t),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .packet = &packet};
    cfg.endpoint.injection = c->blocking ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
    FUZZ_CHECK(rlt_exec_create(&yardstick, &cfg, &x, &err) == 0);
    rlt_coll_request req = rlt_group_request(&g->group, kind, c->bytes);
    req.params.channels = c->channels;
    req.params.chunks = c->chunks;
    req.root = c->root;
    if (rlt_plan_create(c->algorithm, &req, &plan, &err) == 0) {
        rlt_exec_client client = {0};
        uint32_t id = rlt_exec_add(x, &plan, &client, 0, 0);
        FUZZ_CHECK(id != RLT_NONE);
        rlt_exec_arrive_all(x, id);
        int rc = rlt_sim_run(sim, RLT_TIME_MAX, &err);
        char text[200];
        if (rc != RLT_EUNSUPPORTED) { /* reductions and multicasts of switches are none of this */
            FUZZ_CHECK(rc == 0 && rlt_exec_pending(x, text, sizeof text) == 0);
            took = rlt_sim_now(sim);
        }
    }
    rlt_plan_free(&plan);
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_router_free(router);
    return took;
}

static void draw(fuzz_draw *d, alone_case *c, uint32_t *ranks)
{
    static const char *const shapes[] = {"ring", "fully-connected", "switch", "mesh", "torus", "fat-tree"};
    static const char *const rates[] = {"100GB/s", "25GB/s", "3GB/s", "400Gbps"};
    static const char *const latencies[] = {"500ns", "0ns", "3ns", "20us"};
    static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast",  "reduce",     "gather",         "scatter"};
    static const char *const routings[] = {"dmodk", "dmodk", "ecmp"};
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 8},
                          bytes[] = {65536, 1 << 20, 1, 7, 1000, 4096, 100001, 0};
    uint32_t dims = 1 + fuzz_below(d, 2), algorithms = 0;
    int n = 0;
    *c = (alone_case){0};
    *ranks = 1;
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t k = FUZZ_WORD(d, sizes);
        k = i && *ranks * k > 24 ? 2 : k;
        *ranks *= k;
        n += snprintf(c->topology + n, sizeof c->topology - (size_t)n, "%s%s:%u@%s,%s", i ? "*" : "",
                      FUZZ_WORD(d, shapes), k, FUZZ_WORD(d, rates), FUZZ_WORD(d, latencies));
    }
    c->kind = FUZZ_WORD(d, kinds);
    while (rlt_algorithm_at(algorithms))
        algorithms++;
    c->algorithm = rlt_algorithm_at(fuzz_below(d, algorithms));
    c->bytes = FUZZ_WORD(d, bytes);
    c->channels = 1 + fuzz_below(d, 4) / 3;
    c->chunks = 1 + fuzz_below(d, 4) / 3;
    c->blocking = fuzz_below(d, 4) == 0;
    c->routing = FUZZ_WORD(d, routings);
    c->root = fuzz_below(d, 3) ? 0 : fuzz_below(d, *ranks);
    snprintf(
        c->command, sizeof c->command,
        "ringlet coll -t '%s' -c %s -a %s -b %lluB --set channels=%u --set chunks=%u --set packet.ack=0 --routing %s "
        "--injection %s --root %u --no-fold",
        c->topology, c->kind, c->algorithm->name, (unsigned long long)c->bytes, c->channels, c->chunks,
        c->routing, c->blocking ? "blocking" : "nic", c->root);
}

static void judge(const alone_case *c, const group *g)
{
    rlt_time bare = time_of(c, g, NULL, BARE), slack = 0;
    if (bare < 0)
        return;
    rlt_time ports = time_of(c, g, &rlt_net_alpha_beta, BARE), flow = time_of(c, g, &rlt_net_flow, BARE),
             packet = time_of(c, g, &rlt_net_packet, BARE);
    slack = 4 * (rlt_time)g->n * g->n + 1; /* roundings along the longest chain of messages */
    if (*now.wrong)
        fuzz_broken(c->command, "%s", now.wrong);
    if (ports + slack < bare || flow + slack < bare || packet + slack < bare)
        fuzz_broken(c->command,
                    "alpha-beta %lld ps, flow %lld ps, packet %lld ps; without contention %lld ps",
                    (long long)ports, (long long)flow, (long long)packet, (long long)bare);
    if (!now.shares_port && !now.widens && ports > bare + slack)
        fuzz_broken(c->command,
                    "no two flows share a port, and alpha-beta takes %lld ps, without contention %lld ps",
                    (long long)ports, (long long)bare);
    if (!now.shares_link && !now.widens && flow > bare + slack)
        fuzz_broken(c->command,
                    "no two flows share a link, and flow takes %lld ps, without contention %lld ps",
                    (long long)flow, (long long)bare);
    if (now.shares_link)
        return;
    rlt_time least = time_of(c, g, NULL, HEADERS), most = time_of(c, g, NULL, PACKETS);
    /* Each packet's time on a link may be rounded: a chain has no more of them than there are. */
    if (packet + slack + now.packets < least || packet > most + slack)
        fuzz_broken(c->command,
                    "no two flows share a link, and packet takes %lld ps, not from %lld ps to %lld ps",
                    (long long)packet, (long long)least, (long long)most);
}

void fuzz_alone(const fuzz_input *in)
{
    fuzz_draw d = fuzz_draws(in);
    alone_case c;
    group g = {0};
    rlt_error err = {0};
    draw(&d, &c, &g.n);
    int rc = rlt_topology_load(c.topology, NULL, &g.t, &err);
    rlt_error_prefix(&err, "topology");
    fuzz_judge(rc, &err, NULL);
    if (rc)
        return;
    g.n = rlt_topology_accelerators(g.t);
    FUZZ_CHECK(rlt_placement_identity(g.t, g.n, &g.place, &err) == 0);
    FUZZ_CHECK(rlt_group_create(g.t, &g.place, NULL, g.n, &g.group, &err) == 0);
    uint32_t links = rlt_topology_links(g.t);
    memset(&now, 0, sizeof now);
    now.links = calloc(3 * (links + 1u), sizeof *now.links);
    FUZZ_CHECK(now.links);
    now.firsts = now.links + links;
    now.lasts = now.firsts + links;
    judge(&c, &g);
    free(now.links);
    rlt_group_free(&g.group);
    rlt_placement_free(&g.place);
    rlt_topology_free(g.t);
}
