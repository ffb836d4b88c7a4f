/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ports and packets on links against a second model (test/support/networks/port_model.h). Every packet arrives,
 * leaves, is seen, or is dropped at the same picosecond and place. Every port counts the same, after each
 * step of the client and at the end, and as many events are handled.
 */
#include <math.h>
#include <stdio.h>

#include "net/endpoint/endpoint.h"
#include "net/packet/packets.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/networks/graph.h"
#include "test/support/networks/port_model.h"
#include "test/support/support.h"

enum { CASES = 400 };

typedef struct bench bench;

/* A client of the links: the first one, or the guest. */
typedef struct party {
    bench *b;
    bool guest;
} party;

struct bench {
    const port_case *c;
    rlt_topology *t;
    rlt_sim *sim;
    rlt_packets *net;
    party parties[2];
    uint32_t routes[WALKS];
    port_outcome out;
};

static fate *fate_of(const party *who, const rlt_packet *p)
{
    const port_case *c = who->b->c;
    assert_int_equal(who->guest, (p->flags & RLT_PACKET_GUEST) != 0);
    assert_true(p->data < PACKETS && p->bytes == c->parcels[p->data].bytes && p->key == p->data * 3 &&
                p->aux == p->data * 5 && p->flow == p->data * 7 && p->kind == p->data % 256);
    return &who->b->out.fates[p->data];
}

static void see_end(fate *f, const rlt_packet *p)
{
    f->hop = p->hop;
    f->flags = p->flags & ~(unsigned)RLT_PACKET_UNHEARD;
}

static void on_arrived(void *ctx, const rlt_packet *p)
{
    party *who = ctx;
    fate *f = fate_of(who, p);
    assert_true(f->arrived == -1 && f->dropped == -1);
    f->arrived = rlt_sim_now(who->b->sim);
    see_end(f, p);
}

static bool on_pass(void *ctx, uint32_t node, const rlt_packet *p)
{
    party *who = ctx;
    fate *f = fate_of(who, p);
    assert_true(f->sights < LONGEST);
    f->seen_at[f->sights] = rlt_sim_now(who->b->sim);
    f->seen_by[f->sights++] = node;
    return takes(node, p->data);
}

static void on_dropped(void *ctx, const rlt_packet *p, uint32_t link)
{
    party *who = ctx;
    fate *f = fate_of(who, p);
    assert_true(f->arrived == -1 && f->dropped == -1);
    f->dropped = rlt_sim_now(who->b->sim);
    f->link = link;
    see_end(f, p);
}

static void on_left(void *ctx, const rlt_packet *p)
{
    party *who = ctx;
    fate *f = fate_of(who, p);
    assert_int_equal(f->left, -1);
    f->left = rlt_sim_now(who->b->sim);
}

static void draw_case(port_case *c, uint64_t seed)
{
    dice d = {.seed = seed};
    *c = (port_case){0};
    draw_config(c, &d);
    draw_graph(c, &d);
    draw_walks(c, &d);
    c->guest = below(&d, 3) == 0;
    c->guest_left = c->guest && below(&d, 2);
    if (below(&d, 3) == 0)
        c->cfg.client.left = on_left;
    draw_steps(c, &d);
}

static rlt_topology *build(const port_case *c)
{
    char names[NODES][8];
    rlt_graph_node nodes[NODES];
    rlt_graph_link links[EDGES];
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] = (rlt_graph_node){.name = names[i], .kind = c->kinds[i], .forwards = 1};
    }
    for (uint32_t i = 0; i < EDGES; i++)
        links[i] = (rlt_graph_link){c->edges[i].src, c->edges[i].dst, c->edges[i].bw_Bps,
                                    c->edges[i].latency_ps, NULL};
    return test_graph(nodes, NODES, links, EDGES);
}

static void send(bench *b, uint32_t i)
{
    const parcel *p = &b->c->parcels[i];
    uint32_t n = b->c->lengths[p->walk];
    const uint32_t *walk = b->c->walks[p->walk];
    rlt_packet packet = {.bytes = p->bytes,
                         .src = n ? b->c->edges[walk[0]].src : 0,
                         .dst = n ? b->c->edges[walk[n - 1]].dst : 0,
                         .route = b->routes[p->walk],
                         .hop = (uint16_t)i, /* not the client's to say */
                         .kind = (uint8_t)(i % 256),
                         .flags = p->flags,
                         .flow = i * 7,
                         .key = i * 3,
                         .aux = i * 5,
                         .data = i};
    if (b->c->cfg.pause == RLT_PAUSE_NONE)
        b->out.leaves[i] = rlt_packets_leaves(b->net, packet.route, packet.bytes);
    rlt_packets_send(b->net, &packet);
}

static void on_step(void *ctx, uint64_t i)
{
    bench *b = ctx;
    const step *s = &b->c->steps[i];
    if (s->what == CHANGES)
        assert_int_equal(rlt_packets_link(b->net, s->link, s->bw_Bps), 0);
    if (s->what == SETTLES)
        rlt_packets_settle(b->net);
    for (uint32_t k = s->first; k < s->end; k++)
        send(b, k);
    b->out.under_way[i] = rlt_packets_pending(b->net, NULL, 0);
    b->out.then[i] = rlt_packets_port(b->net, s->link);
}

static void open_bench(bench *b, const port_case *c)
{
    rlt_packets_config cfg = c->cfg;
    rlt_error err = {0};
    *b = (bench){.c = c, .t = build(c), .parties = {{b, false}, {b, true}}};
    assert_int_equal(rlt_sim_create(&b->sim, NULL), 0);
    cfg.sim = b->sim;
    cfg.topology = b->t;
    cfg.client = (rlt_packets_client){&b->parties[0], on_arrived, on_pass, on_dropped, c->cfg.client.left};
    if (rlt_packets_create(&cfg, &b->net, &err))
        fail_msg("%s", err.what);
    if (c->ordered)
        assert_int_equal(rlt_packets_order(b->net), 0);
    rlt_packets_client guest = {&b->parties[1], on_arrived, NULL, on_dropped, c->guest_left ? on_left : NULL};
    if (c->guest)
        rlt_packets_guest(b->net, &guest);
    for (uint32_t i = 0; i < WALKS; i++) {
        b->routes[i] = rlt_packets_route(b->net, c->walks[i], c->lengths[i]);
        assert_int_equal(rlt_packets_first_link(b->net, b->routes[i]),
                         c->lengths[i] ? c->walks[i][0] : RLT_NONE);
    }
    for (uint32_t i = 0; i < PACKETS; i++)
        b->out.fates[i].arrived = b->out.fates[i].left = b->out.fates[i].dropped = -1;
}

static void run_ringlet(bench *b, const port_case *c)
{
    open_bench(b, c);
    int handler = rlt_sim_handler(b->sim, on_step, b);
    assert_true(handler >= 0);
    for (uint32_t i = 0; i < STEPS; i++)
        rlt_sim_post_at(b->sim, c->steps[i].at, RLT_SOLVE,
                        rlt_tag_at(rlt_sim_tag(handler), rlt_packets_place(b->net, 0)), i);
    assert_int_equal(rlt_sim_run(b->sim, RLT_TIME_MAX, NULL), 0);
    for (uint32_t i = 0; i < EDGES; i++)
        b->out.ports[i] = rlt_packets_port(b->net, i);
    rlt_packets_settle(b->net);
    for (uint32_t i = 0; i < EDGES; i++) {
        rlt_link_usage u = rlt_usage_link(rlt_packets_usage(b->net), i);
        b->out.bytes[i] = (double)u.bytes;
        b->out.active[i] = u.active_ps;
        assert_int_equal(u.messages, b->out.ports[i].packets);
    }
    b->out.pending = rlt_packets_pending(b->net, b->out.waits, sizeof b->out.waits);
    b->out.events = rlt_sim_events(b->sim);
}

/* Bytes of a link in each bin of the series. */
static void compare_series(const port_model *m, const bench *b, uint32_t link)
{
    const rlt_usage *u = rlt_packets_usage(b->net);
    rlt_time bin = rlt_usage_bin_ps(u);
    for (uint32_t k = 0; k < rlt_usage_bins(u); k++) {
        double bytes = 0;
        for (uint32_t i = 0; i < m->links[link].counted; i++) {
            const trip *x = &m->links[link].trips[i];
            rlt_time from = k * bin > x->from ? k * bin : x->from;
            rlt_time to = (k + 1) * bin < x->to ? (k + 1) * bin : x->to;
            if (to > from)
                bytes += x->bytes * (double)(to - from) / (double)(x->to - x->from);
        }
        if (fabs(bytes - rlt_usage_bin_bytes(u, link, k)) > 1e-6)
            fail_msg("link %u, bin %u: %g bytes, the model says %g", link, k, rlt_usage_bin_bytes(u, link, k),
                     bytes);
    }
}

static void compare_ports(const rlt_port_counts *a, double peak, const rlt_port_counts *b, const char *where)
{
    if (a->packets != b->packets || a->marks != b->marks || a->drops != b->drops || a->losses != b->losses ||
        a->pauses != b->pauses || a->paused_ps != b->paused_ps)
        fail_msg("%s: %llu %llu %llu %llu %llu %lld, the model says %llu %llu %llu %llu %llu %lld", where,
                 (unsigned long long)b->packets, (unsigned long long)b->marks, (unsigned long long)b->drops,
                 (unsigned long long)b->losses, (unsigned long long)b->pauses, (long long)b->paused_ps,
                 (unsigned long long)a->packets, (unsigned long long)a->marks, (unsigned long long)a->drops,
                 (unsigned long long)a->losses, (unsigned long long)a->pauses, (long long)a->paused_ps);
    if (fabs(peak - (double)b->peak_bytes) > 0.6)
        fail_msg("%s: a queue of up to %llu bytes, the model says %g", where,
                 (unsigned long long)b->peak_bytes, peak);
}

static void compare_fates(const port_model *m, const bench *b)
{
    for (uint32_t i = 0; i < PACKETS; i++) {
        const fate *x = &m->out.fates[i], *y = &b->out.fates[i];
        if (x->arrived != y->arrived || x->left != y->left || x->dropped != y->dropped ||
            x->link != y->link || x->hop != y->hop || x->flags != y->flags || x->sights != y->sights)
            fail_msg("packet %u: %lld %lld %lld, link %u, hop %u, flags %u, seen %u times; the model says "
                     "%lld %lld %lld, %u, %u, %u, %u",
                     i, (long long)y->arrived, (long long)y->left, (long long)y->dropped, y->link, y->hop,
                     y->flags, y->sights, (long long)x->arrived, (long long)x->left, (long long)x->dropped,
                     x->link, x->hop, x->flags, x->sights);
        assert_memory_equal(x->seen_at, y->seen_at, sizeof x->seen_at);
        assert_memory_equal(x->seen_by, y->seen_by, sizeof x->seen_by);
        if (m->c->cfg.pause == RLT_PAUSE_NONE)
            assert_int_equal(m->out.leaves[i], b->out.leaves[i]);
    }
}

static void compare(const port_model *m, const bench *b)
{
    char where[80];
    compare_fates(m, b);
    for (uint32_t i = 0; i < STEPS; i++) {
        snprintf(where, sizeof where, "link %u after step %u", m->c->steps[i].link, i);
        compare_ports(&m->out.then[i], m->out.peaks_then[i], &b->out.then[i], where);
        assert_int_equal(m->out.under_way[i], b->out.under_way[i]);
    }
    for (uint32_t i = 0; i < EDGES; i++) {
        snprintf(where, sizeof where, "link %u", i);
        compare_ports(&m->out.ports[i], m->out.peaks[i], &b->out.ports[i], where);
        assert_int_equal(m->out.active[i], b->out.active[i]);
        /* a byte that has not left as a whole does not count */
        double bytes = m->out.bytes[i], whole = b->out.bytes[i];
        if (whole > bytes + 0.02 || whole < bytes - 1.02)
            fail_msg("%s: %g bytes, the model says %g", where, whole, bytes);
        if (m->c->cfg.series_bin_ps)
            compare_series(m, b, i);
    }
    assert_int_equal(m->out.pending, b->out.pending);
    assert_string_equal(m->out.waits, b->out.waits);
    assert_int_equal(m->out.events, b->out.events);
}

static void close_bench(bench *b)
{
    rlt_packets_free(b->net);
    rlt_sim_free(b->sim);
    rlt_topology_free(b->t);
}

static void random_packets_as_in_the_model(void **state)
{
    (void)state;
    port_model *m = malloc(sizeof *m);
    port_case *c = malloc(sizeof *c);
    bench *b = malloc(sizeof *b);
    uint32_t whole = 0;
    assert_true(m && c && b);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        draw_case(c, seed);
        begin_model(m, c);
        run_model(m);
        if (m->tied)
            continue;
        whole++;
        run_ringlet(b, c);
        compare(m, b);
        close_bench(b);
    }
    print_message("# %u of %u cases to the end\n", whole, CASES);
    assert_true(whole > CASES / 2);
    free(m);
    free(c);
    free(b);
}

static void ignore(void *ctx, const rlt_packet *p)
{
    (void)ctx;
    (void)p;
}

/* Accounts that are closed at time 0 have what had left by then, a byte that takes no time: not what is sent
 * afterwards, nor does a second call take anything from them. */
static void closed_at_time_0(void **state)
{
    (void)state;
    const rlt_graph_node nodes[] = {{.name = "a", .kind = RLT_ACCELERATOR},
                                    {.name = "b", .kind = RLT_ACCELERATOR}};
    const rlt_graph_link links[] = {{0, 1, UINT64_C(10000000000000), 1000, NULL},
                                    {1, 0, UINT64_C(10000000000000), 1000, NULL}};
    bench b = {.t = test_graph(nodes, 2, links, 2)};
    rlt_packets_config cfg = {
        .topology = b.t, .client = {.arrived = ignore}, .bandwidth_scale = 1, .latency_scale = 1};
    const uint32_t way = 0;
    assert_int_equal(rlt_sim_create(&b.sim, NULL), 0);
    cfg.sim = b.sim;
    assert_int_equal(rlt_packets_create(&cfg, &b.net, NULL), 0);
    rlt_packet p = {.bytes = 1, .src = 0, .dst = 1, .route = rlt_packets_route(b.net, &way, 1)};
    rlt_packets_send(b.net, &p);
    rlt_packets_settle(b.net);
    assert_int_equal(rlt_sim_run(b.sim, 1, NULL), 0);
    p.bytes = 1000000;
    rlt_packets_send(b.net, &p);
    rlt_packets_settle(b.net);
    assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, NULL), 0);
    const rlt_link_usage u = rlt_usage_link(rlt_packets_usage(b.net), 0);
    assert_int_equal(u.bytes, 1);
    assert_int_equal(u.active_ps, 0);
    assert_int_equal(u.messages, 2);
    close_bench(&b);
}

/* A packet of 2^32 - 1 bytes: at 1 GB/s, where a byte takes whole picoseconds, and at 7 GB/s. */
static void largest_packet(void **state)
{
    (void)state;
    const rlt_graph_node nodes[] = {{.name = "a", .kind = RLT_ACCELERATOR},
                                    {.name = "b", .kind = RLT_ACCELERATOR}};
    const rlt_graph_link links[] = {{0, 1, 1000000000, 1000, NULL}, {1, 0, 7000000000, 1000, NULL}};
    const rlt_time spans[] = {4294967295000, 613566756429};
    bench b = {.t = test_graph(nodes, 2, links, 2)};
    rlt_packets_config cfg = {
        .topology = b.t, .client = {.arrived = ignore}, .bandwidth_scale = 1, .latency_scale = 1};
    assert_int_equal(rlt_sim_create(&b.sim, NULL), 0);
    cfg.sim = b.sim;
    assert_int_equal(rlt_packets_create(&cfg, &b.net, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t route = rlt_packets_route(b.net, &i, 1);
        const rlt_packet p = {.bytes = UINT32_MAX, .src = i, .dst = 1 - i, .route = route};
        for (rlt_time k = 1; k < 3; k++) {
            assert_int_equal(rlt_packets_leaves(b.net, route, UINT32_MAX), k * spans[i]);
            rlt_packets_send(b.net, &p);
        }
    }
    assert_int_equal(rlt_sim_run(b.sim, RLT_TIME_MAX, NULL), 0);
    assert_int_equal(rlt_sim_now(b.sim), 2 * spans[0] + 1000);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_packets_as_in_the_model),
                                       cmocka_unit_test(closed_at_time_0), cmocka_unit_test(largest_packet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
