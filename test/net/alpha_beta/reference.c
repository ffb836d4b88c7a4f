/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The alpha-beta model against a plain one, written from net/network.h and net/README.md: random messages
 * and trees that begin at random times, over products and over random trees of switches. Compared are the
 * times, the bytes, messages, busy and active time of every link, its time series, and the totals; of some
 * runs only what was carried when they were stopped. The paths are those of another router
 * (test/net/route.c).
 */
#include <math.h>
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/networks/graph.h"
#include "test/support/support.h"

enum { CASES = 400, MOST = 40, MAX_LINKS = 128, MAX_NODES = 64, BINS = 64, HOSTS = 6, SWITCHES = 4 };

typedef enum kind { MESSAGE, REDUCE, MULTICAST, ALL } kind;

typedef struct transfer {
    kind kind;
    rlt_time at;
    uint32_t src, dst, n, ranks[HOSTS];
    uint64_t bytes, key, rx;
    rlt_time injected, delivered;
} transfer;

/* What is known of a link at the end: spans of the transfers that it carried, and those at its receive
 * port. */
typedef struct account {
    double bytes, bin[BINS];
    uint64_t messages;
    rlt_time spans[2 * MOST][2], received;
    uint32_t n_spans, n_received;
    bool late; /* something is still being received when the run is stopped */
} account;

typedef struct trial {
    rlt_topology *t;
    rlt_placement place;
    rlt_router *router, *other;
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_config cfg;
    transfer all[MOST];
    uint32_t n, ranks;
    rlt_time begin, stop, tx_free[MAX_LINKS], rx_free[MAX_LINKS], bin_ps;
    account links[MAX_LINKS];
    rlt_net_totals sum;
    bool trees, refused;
} trial;

/* ---- the plain model ---- */

static rlt_time latest(rlt_time a, rlt_time b)
{
    return a > b ? a : b;
}

static uint64_t speed(const trial *x, uint32_t link)
{
    return (uint64_t)((double)rlt_topology_link(x->t, link).bw_Bps * x->cfg.bandwidth_scale);
}

static rlt_time time_at(uint64_t bytes, uint64_t bw_Bps)
{
    return (rlt_time)(((unsigned __int128)bytes * 1000000000000 + bw_Bps / 2) / bw_Bps);
}

static rlt_time scaled(const trial *x, rlt_time t)
{
    return (rlt_time)((double)t * x->cfg.latency_scale);
}

static rlt_time delay(const trial *x, uint64_t bytes)
{
    const rlt_endpoint *e = &x->cfg.endpoint;
    return scaled(x, e->message_ps + (rlt_time)(bytes * e->byte_fs / 1000));
}

static void fill_bins(trial *x, account *a, uint64_t bytes, rlt_time from, rlt_time to)
{
    if (!x->bin_ps || !bytes)
        return;
    for (uint32_t k = 0; k < BINS; k++) {
        rlt_time lo = latest(from, k * x->bin_ps), hi = (k + 1) * x->bin_ps < to ? (k + 1) * x->bin_ps : to;
        if (from == to ? from / x->bin_ps == k : hi > lo)
            a->bin[k] += from == to ? (double)bytes : (double)bytes * (double)(hi - lo) / (double)(to - from);
    }
}

/* A link carries a transfer from `start` on. */
static void carry(trial *x, uint32_t link, uint64_t bytes, rlt_time start, rlt_time issued)
{
    account *a = &x->links[link];
    rlt_time end = start + time_at(bytes, speed(x, link));
    fill_bins(x, a, bytes, start, end);
    if (issued > x->stop)
        return;
    a->spans[a->n_spans][0] = start;
    a->spans[a->n_spans++][1] = end;
    a->messages += end <= x->stop;
    a->bytes += end <= x->stop ? (double)bytes
                : start >= x->stop
                    ? 0
                    : nearbyint((double)bytes * (double)(x->stop - start) / (double)(end - start));
}

/* The receive port of a link takes what arrives at `then`, behind what it has. Returns when it has it. */
static rlt_time receive(trial *x, uint32_t link, uint64_t bytes, rlt_time then, bool charged)
{
    account *a = &x->links[link];
    rlt_time takes = time_at(bytes, speed(x, link)), end = latest(then, x->rx_free[link] + takes);
    x->rx_free[link] = end;
    if (charged || then > x->stop)
        return end;
    fill_bins(x, a, bytes, end - takes, end);
    a->bytes += (double)bytes;
    a->messages++;
    a->n_received++;
    a->received += takes;
    a->late = a->late || end > x->stop;
    return end;
}

typedef struct way {
    uint32_t links[2 * MAX_LINKS],
        role[2 * MAX_LINKS]; /* 1: leaves a sender, 2: enters a receiver, 0: inner */
    uint32_t n;
    rlt_time arrives, latency_ps;
    uint64_t bw_Bps;
    bool single;
} way;

static void use(trial *x, way *w, uint32_t link, uint32_t role)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->links[i] == link)
            return;
    w->links[w->n] = link;
    w->role[w->n++] = role;
    w->bw_Bps = speed(x, link) < w->bw_Bps ? speed(x, link) : w->bw_Bps;
}

static rlt_time lasts(const trial *x, uint32_t link)
{
    return rlt_topology_link(x->t, link).latency_ps;
}

static void find_way(trial *x, const transfer *f, way *w)
{
    rlt_path p;
    assert_int_equal(rlt_route(x->other, f->src, f->dst, f->key, &p), 0);
    for (uint32_t i = 0; i < p.n; i++) {
        use(x, w, p.links[i], i == 0 ? 1 : i + 1 == p.n ? 2 : 0);
        w->latency_ps += lasts(x, p.links[i]);
    }
    w->single = p.n == 1;
}

/* The union of the routes to the root, turned round for a multicast, both ways for a sum for all; and
 * the part of the root itself to the first switch that can do it. Returns false if a node where paths
 * meet cannot. */
static bool find_tree(trial *x, const transfer *f, way *w)
{
    uint32_t inputs[MAX_NODES] = {0}, in[MAX_NODES], can = 0;
    bool used[MAX_LINKS] = {false}, root_sends = false;
    rlt_time up[2] = {0, 0};
    memset(in, 0xff, sizeof in);
    can |= f->kind != MULTICAST ? RLT_CAN_REDUCE : 0;
    can |= f->kind != REDUCE ? RLT_CAN_MULTICAST : 0;
    for (uint32_t r = 0; r < f->n; r++) {
        rlt_path p;
        rlt_time sum[2] = {0, 0};
        assert_int_equal(rlt_route(x->other, f->ranks[r], f->dst, f->key, &p), 0);
        root_sends = root_sends || p.n == 0;
        for (uint32_t i = 0; i < p.n; i++) {
            uint32_t link = p.links[i], back = rlt_topology_reverse(x->t, link);
            uint32_t role = i == 0 ? 1 : i + 1 == p.n ? 2 : 0, turned = i == 0 ? 2 : i + 1 == p.n ? 1 : 0;
            rlt_link l = rlt_topology_link(x->t, link);
            inputs[l.src] += i == 0;
            inputs[l.dst] += !used[link];
            in[l.dst] = link;
            used[link] = true;
            sum[0] += lasts(x, link);
            sum[1] += lasts(x, back);
            if (f->kind != MULTICAST)
                use(x, w, link, role);
            if (f->kind != REDUCE)
                use(x, w, back, turned);
        }
        up[0] = latest(up[0], sum[0]);
        up[1] = latest(up[1], sum[1]);
    }
    for (uint32_t v = 0; v < rlt_topology_nodes(x->t); v++)
        if (inputs[v] > 1 && (rlt_topology_in_network(x->t, v) & can) != can)
            return false;
    w->latency_ps = f->kind == MULTICAST ? up[1] : up[0];
    if (!root_sends || !w->n)
        return true;
    rlt_time there = 0, here = 0;
    for (uint32_t v = f->dst; v == f->dst || (rlt_topology_in_network(x->t, v) & can) != can;) {
        if (in[v] == RLT_NONE)
            return false;
        uint32_t link = in[v], back = rlt_topology_reverse(x->t, link);
        use(x, w, link, v == f->dst ? 2 : 0);
        use(x, w, back, v == f->dst ? 1 : 0);
        there += lasts(x, back);
        here += lasts(x, link);
        v = rlt_topology_link(x->t, link).src;
    }
    if (f->kind == ALL) /* up to the switch from the farthest, the root perhaps, and down */
        w->latency_ps = latest(up[0] - here, there) + latest(up[1] - there, here);
    else
        w->latency_ps = latest(w->latency_ps, there + here);
    return true;
}

static void count(trial *x, const transfer *f)
{
    uint64_t others = f->kind == MESSAGE ? 0 : f->bytes * (f->n - 1);
    bool adds = f->kind == REDUCE || f->kind == ALL, copies = f->kind == MULTICAST || f->kind == ALL;
    x->sum.messages += adds ? f->n : 1;
    x->sum.bytes_offered += f->bytes + (adds ? others : 0);
    x->sum.bytes_absorbed += adds ? others : 0;
    x->sum.bytes_replicated += copies ? others : 0;
    if (f->delivered <= x->stop)
        x->sum.bytes_delivered += f->bytes + (copies ? others : 0);
}

static void begin_plain(trial *x, transfer *f, way *w)
{
    rlt_time last = f->at;
    *w = (way){.bw_Bps = UINT64_MAX};
    if (f->kind == MESSAGE)
        find_way(x, f, w);
    else if (!find_tree(x, f, w))
        x->refused = f->at <= x->stop;
    f->injected = f->at;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t link = w->links[i];
        if (w->role[i] != 1)
            continue;
        rlt_time start = latest(f->at, x->tx_free[link]);
        carry(x, link, f->bytes, start, f->at);
        x->tx_free[link] = start + time_at(f->bytes, speed(x, link));
        f->injected = latest(f->injected, x->tx_free[link]);
        last = latest(last, start);
    }
    for (uint32_t i = 0; i < w->n; i++)
        if (w->role[i] == 0)
            carry(x, w->links[i], f->bytes, last, f->at);
    w->arrives = last + scaled(x, w->latency_ps) + delay(x, f->bytes);
    w->arrives += w->n ? time_at(f->bytes, w->bw_Bps) : 0;
}

/* Runs the plain model. Messages are served by arrival, then by `rx` or in the order of issue. */
static void run_plain(trial *x)
{
    static way ways[MOST];
    bool done[MOST] = {false};
    for (uint32_t i = 0; i < x->n && !x->refused; i++)
        begin_plain(x, &x->all[i], &ways[i]);
    for (uint32_t k = 0; k < x->n && !x->refused; k++) {
        uint32_t next = MOST;
        for (uint32_t i = 0; i < x->n; i++)
            if (!done[i] &&
                (next == MOST || ways[i].arrives < ways[next].arrives ||
                 (x->cfg.orderly && ways[i].arrives == ways[next].arrives && x->all[i].rx < x->all[next].rx)))
                next = i;
        const way *w = &ways[next];
        transfer *f = &x->all[next];
        done[next] = true;
        f->delivered = w->arrives;
        for (uint32_t i = 0; i < w->n; i++)
            if (w->role[i] == 2 || w->single)
                f->delivered = latest(f->delivered, receive(x, w->links[i], f->bytes, w->arrives, w->single));
        if (f->at <= x->stop)
            count(x, f);
    }
}

/* ---- ringlet ---- */

static void issue(void *ctx, uint64_t i)
{
    trial *x = ctx;
    const transfer *f = &x->all[i];
    const rlt_net_model *model = x->net->model;
    rlt_time then;
    if (f->kind == MESSAGE) {
        rlt_message m = {
            .src = f->src, .dst = f->dst, .bytes = f->bytes, .route_key = f->key, .tx = i, .rx = f->rx};
        then = rlt_net_send(x->net, &m);
        assert_true(x->refused || then == f->injected);
        return;
    }
    bool all = f->n == x->ranks; /* then they are 0 .. n-1 */
    rlt_tree_message m = {.ranks = all ? NULL : f->ranks,
                          .n = f->n,
                          .root = f->dst,
                          .bytes = f->bytes,
                          .route_key = f->key,
                          .tx = i,
                          .rx = f->rx,
                          .all = f->kind == ALL};
    then = f->kind == MULTICAST ? model->multicast(x->net, &m) : model->reduce_to(x->net, &m);
    assert_true(x->refused || then == f->injected);
}

static void never(void *ctx, uint64_t tx)
{
    (void)ctx;
    fail_msg("transfer %u was injected later", (unsigned)tx);
}

static void delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    trial *x = ctx;
    transfer *f = &x->all[tx];
    assert_int_equal(rx, f->rx);
    if (!x->refused && rlt_sim_now(x->sim) != f->delivered)
        fail_msg("transfer %u from %u to %u (kind %d, %u ranks): delivered at %lld, not at %lld",
                 (unsigned)tx, f->src, f->dst, (int)f->kind, f->n, (long long)rlt_sim_now(x->sim),
                 (long long)f->delivered);
    f->delivered = -1;
}

static rlt_time present(const account *a, rlt_time stop)
{
    rlt_time sum = 0, until = 0;
    for (;;) { /* the next interval after `until` */
        uint32_t next = a->n_spans;
        for (uint32_t i = 0; i < a->n_spans; i++)
            if (a->spans[i][1] > until && (next == a->n_spans || a->spans[i][0] < a->spans[next][0]))
                next = i;
        if (next == a->n_spans || latest(until, a->spans[next][0]) >= stop)
            return sum;
        rlt_time end = a->spans[next][1] < stop ? a->spans[next][1] : stop;
        sum += end - latest(until, a->spans[next][0]);
        until = a->spans[next][1];
    }
}

static void compare(trial *x, uint64_t seed)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->all[i].delivered != -1 && x->all[i].delivered <= x->stop)
            fail_msg("case %llu: transfer %u was not delivered", (unsigned long long)seed, i);
    for (uint32_t i = 0; i < rlt_topology_links(x->t); i++) {
        rlt_link_usage u = rlt_usage_link(x->net->usage, i);
        const account *a = &x->links[i];
        if (a->late)
            continue;
        if (u.bytes != (uint64_t)a->bytes || u.messages != a->messages ||
            u.busy_ps != time_at(u.bytes, speed(x, i)) || u.bw_Bps != speed(x, i))
            fail_msg("case %llu, link %u: %llu B of %llu messages, not %g of %llu", (unsigned long long)seed,
                     i, (unsigned long long)u.bytes, (unsigned long long)u.messages, a->bytes,
                     (unsigned long long)a->messages);
        if (!a->n_received || !a->n_spans)
            assert_int_equal(u.active_ps, a->n_received ? a->received : present(a, x->stop));
        for (uint32_t k = 0; x->bin_ps && k < BINS; k++)
            assert_true(fabs(rlt_usage_bin_bytes(x->net->usage, i, k) - a->bin[k]) < 1e-3);
    }
    assert_int_equal(x->net->messages, x->sum.messages);
    assert_int_equal(x->net->bytes_offered, x->sum.bytes_offered);
    assert_int_equal(x->net->bytes_delivered, x->sum.bytes_delivered);
    assert_int_equal(x->net->bytes_absorbed, x->sum.bytes_absorbed);
    assert_int_equal(x->net->bytes_replicated, x->sum.bytes_replicated);
}

static void run_ringlet(trial *x, uint64_t seed)
{
    rlt_error err = {0};
    assert_int_equal(rlt_sim_create(&x->sim, NULL), 0);
    x->cfg.sim = x->sim;
    x->cfg.router = x->router;
    x->cfg.client = (rlt_net_client){x, never, delivered};
    x->cfg.series_bin_ps = x->bin_ps;
    if (rlt_net_alpha_beta.create(&x->cfg, &x->net, &err))
        fail_msg("%s", err.what);
    int handler = rlt_sim_handler(x->sim, issue, x);
    for (uint32_t i = 0; i < x->n; i++)
        rlt_sim_post(x->sim, x->all[i].at, RLT_START, handler, i);
    int rc = rlt_sim_run(x->sim, x->stop, &err);
    assert_int_equal(rc, x->refused ? RLT_EUNSUPPORTED : 0);
    if (!x->refused) {
        rlt_net_settle(x->net);
        compare(x, seed);
    }
    rlt_net_free(x->net);
    rlt_sim_free(x->sim);
}

/* ---- random cases ---- */

/* Hosts and switches in a tree. Even numbers, so that half of them is one, too. */
static void draw_tree(trial *x, dice *d)
{
    enum { NODES = HOSTS + SWITCHES };
    static const uint64_t speeds[] = {1000000000, 2000000000, 4000000000, 3000000014};
    char names[NODES][8];
    rlt_graph_node nodes[NODES];
    rlt_graph_link links[4 * NODES];
    uint32_t n = 0, gifted = below(d, 4); /* most cases can add up and replicate everywhere */
    for (uint32_t v = 0; v < NODES; v++) {
        snprintf(names[v], sizeof names[v], "n%u", v);
        uint32_t can = gifted ? RLT_CAN_REDUCE | RLT_CAN_MULTICAST : below(d, 4);
        nodes[v] = (rlt_graph_node){.name = names[v], .kind = RLT_ACCELERATOR, .forwards = -1};
        if (v >= HOSTS)
            nodes[v] = (rlt_graph_node){
                .name = names[v], .kind = RLT_SWITCH, .forwards = -1, .in_network = (uint8_t)can};
        if (v == HOSTS)
            continue;
        uint32_t up = HOSTS + (v < HOSTS ? below(d, SWITCHES) : below(d, v - HOSTS));
        bool even = below(d, 2);
        links[n] = (rlt_graph_link){v, up, speeds[below(d, 4)], 2 * below(d, 500000), NULL};
        links[n + 1] = (rlt_graph_link){up, v, speeds[below(d, 4)], 2 * below(d, 500000), NULL};
        if (even)
            links[n + 1].bw_Bps = links[n].bw_Bps;
        n += 2;
        for (uint32_t k = 0; v < HOSTS && !x->trees && k < 2; k++, n++) /* a second cable */
            links[n] = links[n - 2];
    }
    x->t = test_graph(nodes, NODES, links, n);
}

/* A transfer, often to the destination that its sender had before. */
static void draw_transfer(trial *x, dice *d, uint32_t i)
{
    transfer *f = &x->all[i];
    static const uint64_t sizes[] = {0, 1, 1000, 50000};
    *f = (transfer){.kind = x->trees && !below(d, 3) ? 1 + below(d, 3) : MESSAGE,
                    .at = (i ? x->all[i - 1].at : x->begin) + (below(d, 3) ? 0 : 2 * below(d, 20000000)),
                    .src = below(d, x->ranks),
                    .dst = below(d, x->ranks),
                    .bytes = below(d, 2) ? sizes[below(d, 4)] : 2 * below(d, 20000),
                    .key = rlt_route_key(below(d, 2), below(d, 2)),
                    .rx = (i * 7 + 3) % MOST};
    for (uint32_t k = i; k-- > 0 && below(d, 8);)
        if (f->kind == MESSAGE && x->all[k].kind == MESSAGE && x->all[k].src == f->src) {
            f->dst = x->all[k].dst;
            break;
        }
    if (f->kind == MESSAGE)
        return;
    uint32_t most = x->ranks < HOSTS ? x->ranks : HOSTS, first = below(d, most);
    f->n = 1 + below(d, most);
    for (uint32_t k = 0; k < f->n; k++)
        f->ranks[k] = f->n == x->ranks ? k : (first + k) % most;
    if (f->kind == ALL) /* the root is one of the ranks */
        f->dst = f->ranks[below(d, f->n)];
}

static void draw(trial *x, dice *d)
{
    static const char *const specs[] = {"switch:4@1GB/s,700ns,in_network=reduce+multicast",
                                        "ring:5@4GB/s,100ns",
                                        "fat-tree:6@3GB/s,50ns,hosts_per_leaf=2,spines=2,in_network=reduce",
                                        "switch:2@8GB/s,10ns*ring:3@2GB/s,1us"};
    static const double scales[] = {1, 1, 2, 0.5};
    uint32_t pick = below(d, 8), hashed = below(d, 2);
    rlt_error err = {0};
    *x = (trial){.stop = RLT_TIME_MAX - 1, .begin = below(d, 2) ? 0 : 2 * (rlt_time)roll(d, 10000000000)};
    x->cfg.orderly = below(d, 2);
    x->trees = !x->cfg.orderly && !hashed && pick != 1 && pick != 3;
    if (pick >= 4)
        draw_tree(x, d);
    else if (rlt_topology_load(specs[pick], NULL, &x->t, &err))
        fail_msg("%s: %s", err.where, err.what);
    x->ranks = rlt_topology_accelerators(x->t);
    assert_in_range(rlt_topology_links(x->t), 1, MAX_LINKS);
    assert_in_range(rlt_topology_nodes(x->t), 1, MAX_NODES);
    assert_int_equal(rlt_placement_identity(x->t, x->ranks, &x->place, NULL), 0);
    rlt_routing routing = hashed ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
    assert_int_equal(rlt_router_create(x->t, &x->place, routing, &x->router, NULL), 0);
    assert_int_equal(rlt_router_create(x->t, &x->place, routing, &x->other, NULL), 0);
    x->cfg.endpoint = rlt_endpoint_default();
    x->cfg.bandwidth_scale = scales[below(d, 4)];
    x->cfg.latency_scale = scales[below(d, 4)];
    x->cfg.endpoint.message_ps = below(d, 2) ? 0 : 2 * below(d, 300000);
    x->cfg.endpoint.byte_fs = below(d, 2) ? 0 : 2000;
    x->bin_ps = x->begin || below(d, 2) ? 0 : 20 * RLT_US;
    x->n = 1 + below(d, MOST);
    for (uint32_t i = 0; i < x->n; i++)
        draw_transfer(x, d, i);
    if (!x->bin_ps && !below(d, 3))
        x->stop = x->begin + (rlt_time)roll(d, (uint64_t)(x->all[x->n - 1].at - x->begin + 20 * RLT_US));
}

static void random_transfers(void **state)
{
    trial *x = malloc(sizeof *x);
    uint32_t refused = 0;
    (void)state;
    assert_non_null(x);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        draw(x, &d);
        run_plain(x);
        run_ringlet(x, seed);
        refused += x->refused;
        rlt_router_free(x->router);
        rlt_router_free(x->other);
        rlt_placement_free(&x->place);
        rlt_topology_free(x->t);
    }
    assert_in_range(refused, 10, CASES / 3);
    free(x);
}

static void ignored(void *ctx, uint64_t tx, uint64_t rx)
{
    (void)ctx, (void)tx, (void)rx;
}

/* After a first message of a rank the way to its destination is known. A time that has no room in 63
 * bits is refused all the same: 2^62 bytes of 1 ns each. */
static void too_long(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        trial x = {.cfg = {.endpoint = rlt_endpoint_default(), .bandwidth_scale = 1, .latency_scale = 1}};
        rlt_error err = {0};
        assert_int_equal(rlt_topology_load("switch:2@1GB/s,0", NULL, &x.t, NULL), 0);
        assert_int_equal(rlt_placement_identity(x.t, 2, &x.place, NULL), 0);
        assert_int_equal(rlt_router_create(x.t, &x.place, RLT_ROUTE_DMODK, &x.router, NULL), 0);
        assert_int_equal(rlt_sim_create(&x.sim, NULL), 0);
        x.cfg.sim = x.sim;
        x.cfg.router = x.router;
        x.cfg.client = (rlt_net_client){&x, never, ignored};
        assert_int_equal(rlt_net_alpha_beta.create(&x.cfg, &x.net, NULL), 0);
        if (known)
            assert_int_equal(rlt_net_send(x.net, &(rlt_message){.src = 0, .dst = 1, .bytes = 8}), 8000);
        (void)rlt_net_send(x.net, &(rlt_message){.src = 0, .dst = 1, .bytes = (uint64_t)1 << 62});
        assert_int_equal(rlt_sim_run(x.sim, RLT_TIME_MAX, &err), RLT_ERANGE);
        rlt_net_free(x.net);
        rlt_sim_free(x.sim);
        rlt_router_free(x.router);
        rlt_placement_free(&x.place);
        rlt_topology_free(x.t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_transfers), cmocka_unit_test(too_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
