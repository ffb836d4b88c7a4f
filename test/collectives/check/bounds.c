/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cut and latency bounds against plain ones, which try every set of nodes, and every set of dimensions, as
 * bound.h words it. Groups in any order on small products and on random graphs.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MEMBERS = 16, LINKS = 80, HOSTS = 5, SWITCHES = 3 };

typedef unsigned __int128 wide;

typedef struct world {
    rlt_topology *t;
    rlt_placement where;
    rlt_router *router;
} world;

typedef struct question {
    const world *w;
    rlt_coll_request req;
    uint32_t ranks[MEMBERS];
    bool reduces, multicasts, inside;
} question;

/* A set of nodes: how many members are in it, and what leaves and enters it. */
typedef struct border {
    uint32_t nodes, members;
    uint64_t out, in;
} border;

static bool holds(const question *q, uint32_t set, uint32_t member)
{
    return set >> q->ranks[member] & 1;
}

static border measure(const question *q, uint32_t set)
{
    border b = {.nodes = set};
    for (uint32_t m = 0; m < q->req.n; m++)
        b.members += holds(q, set, m);
    for (uint32_t i = 0; i < rlt_topology_links(q->w->t); i++) {
        rlt_link l = rlt_topology_link(q->w->t, i);
        bool from = set >> l.src & 1, to = set >> l.dst & 1;
        b.out += from && !to ? l.bw_Bps : 0;
        b.in += to && !from ? l.bw_Bps : 0;
    }
    return b;
}

static rlt_time time_of(wide bytes, wide Bps)
{
    return (rlt_time)(bytes * 1000000000000u / Bps);
}

static rlt_time later(rlt_time a, rlt_time b)
{
    return a > b ? a : b;
}

/* What a border that separates members costs at least; all-to-all comes later. */
static rlt_time over(const question *q, border b)
{
    const rlt_coll_request *req = &q->req;
    uint64_t whole = req->bytes;
    wide shares = (wide)(req->bytes / req->n) * b.members;
    switch (req->kind) {
    case RLT_ALL_GATHER:
        return time_of(shares, b.out);
    case RLT_REDUCE_SCATTER:
        return time_of(shares, b.in);
    case RLT_ALL_REDUCE:
        return later(time_of(whole, b.out), time_of(whole, b.in));
    case RLT_BROADCAST:
        return holds(q, b.nodes, req->root) ? time_of(whole, b.out) : 0;
    case RLT_REDUCE:
        return holds(q, b.nodes, req->root) ? time_of(whole, b.in) : 0;
    case RLT_GATHER:
        return holds(q, b.nodes, req->root) ? 0 : time_of(shares, b.out);
    case RLT_SCATTER:
        return holds(q, b.nodes, req->root) ? 0 : time_of(shares, b.in);
    case RLT_SEND_RECV:
        return holds(q, b.nodes, 0) && !holds(q, b.nodes, 1) ? time_of(whole, b.out) : 0;
    default:
        return 0;
    }
}

/* Whether a set has exactly the members in the lower half of a coordinate, or by number (stride 0). */
static bool is_half(const question *q, uint32_t set, uint32_t stride, uint32_t size)
{
    for (uint32_t m = 0; m < q->req.n; m++) {
        bool low = stride ? q->ranks[m] / stride % size < size / 2 : m < q->req.n / 2;
        if (holds(q, set, m) != low)
            return false;
    }
    return true;
}

/* All-to-all between two sides: h members send a piece to each of the others. */
static rlt_time exchange(const question *q, uint32_t h, uint64_t Bps)
{
    return time_of((wide)(q->req.bytes / q->req.n) * h * (q->req.n - h), Bps);
}

static rlt_time between_halves(const question *q, const border *all, uint32_t n)
{
    rlt_time most = 0;
    uint32_t strides[2 * RLT_MAX_DIMS] = {0}, sizes[2 * RLT_MAX_DIMS] = {0}, n_halves = 1, stride = 1;
    for (uint32_t d = 0; rlt_topology_is_product(q->w->t) && d < rlt_topology_dims(q->w->t); d++) {
        uint32_t sub[RLT_MAX_DIMS], subs = rlt_topology_sub_sizes(q->w->t, d, sub);
        for (uint32_t s = 0; s < subs; s++) {
            strides[n_halves] = stride;
            sizes[n_halves++] = sub[s];
            stride *= sub[s];
        }
    }
    for (uint32_t i = 0; i < n_halves; i++) {
        uint64_t least = UINT64_MAX;
        uint32_t inside = 0;
        for (uint32_t k = 0; k < n; k++)
            if (is_half(q, all[k].nodes, strides[i], sizes[i])) {
                least = all[k].out < least ? all[k].out : least;
                inside = all[k].members;
            }
        if (inside)
            most = later(most, exchange(q, inside, least));
    }
    return most;
}

/* Finds the greatest bound over the borders with the least bandwidth for each member inside; there may be several,
 * of which any may be taken. Returns whether `got` can be such a choice. */
static bool over_tightest(const question *q, const border *all, uint32_t n, rlt_time base, rlt_time got)
{
    const border *best[2] = {NULL, NULL};
    rlt_time least = base;
    bool is_one = got == base;
    for (uint32_t w = 0; w < 2; w++) {
        rlt_time lowest = RLT_TIME_MAX;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t bw = w ? all[k].in : all[k].out;
            if (!best[w] ||
                (wide)bw * best[w]->members < (wide)(w ? best[w]->in : best[w]->out) * all[k].members)
                best[w] = &all[k];
        }
        for (uint32_t k = 0; k < n; k++) {
            uint64_t bw = w ? all[k].in : all[k].out;
            if ((wide)bw * best[w]->members != (wide)(w ? best[w]->in : best[w]->out) * all[k].members)
                continue;
            rlt_time t = exchange(q, all[k].members, bw);
            is_one = is_one || t == got;
            lowest = t < lowest ? t : lowest;
        }
        least = later(least, lowest);
    }
    return is_one && got >= least;
}

/* Bytes a second of an accelerator into a dimension; 0 if accelerators differ. */
static uint64_t into(const rlt_topology *t, uint32_t dim)
{
    uint64_t sum[MEMBERS] = {0};
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        if (l.dim == dim && l.src < rlt_topology_accelerators(t))
            sum[l.src] += l.bw_Bps;
    }
    for (uint32_t a = 1; a < rlt_topology_accelerators(t); a++)
        if (sum[a] != sum[0])
            return 0;
    return sum[0];
}

/* Bytes that P groups exchange, the larger of those that leave and enter them. */
static wide exchanged(const question *q, uint32_t parts, bool helped)
{
    wide whole = q->req.bytes, others = whole * (parts - 1);
    uint32_t n = q->req.n;
    switch (q->req.kind) {
    case RLT_ALL_REDUCE:
        return helped && (q->reduces || q->multicasts) ? whole * parts : 2 * others;
    case RLT_ALL_GATHER:
    case RLT_BROADCAST:
    case RLT_REDUCE_SCATTER:
    case RLT_REDUCE:
        return others;
    case RLT_ALL_TO_ALL:
        return (wide)(q->req.bytes / n) * n * (n - n / parts);
    default:
        return 0;
    }
}

static rlt_time between_groups(const question *q)
{
    const rlt_topology *t = q->w->t;
    uint32_t dims = rlt_topology_dims(t), n = rlt_topology_accelerators(t);
    rlt_time most = 0;
    if (!rlt_topology_is_product(t) || q->req.n != n)
        return 0;
    for (uint32_t chosen = 1; chosen < 1u << dims; chosen++) {
        uint32_t parts = 1;
        uint64_t Bps = 0;
        bool known = true, within = chosen & 1; /* the first dimension is the node, if there are more */
        for (uint32_t d = 0; d < dims; d++)
            if (chosen >> d & 1) {
                parts *= rlt_topology_dim(t, d).size;
                Bps += into(t, d);
                known = known && into(t, d);
            }
        if (known)
            most = later(most, time_of(exchanged(q, parts, within || !q->inside), (wide)Bps * n));
    }
    return most;
}

static rlt_time least_latency(const question *q)
{
    rlt_time least = RLT_TIME_MAX;
    for (uint32_t i = 0; i < q->req.n; i++)
        for (uint32_t j = 0; j < q->req.n; j++) {
            rlt_path path;
            if (i == j || (q->req.kind == RLT_SEND_RECV && (i != 0 || j != 1)))
                continue;
            assert_int_equal(rlt_route(q->w->router, q->ranks[i], q->ranks[j], 0, &path), 0);
            least = path.latency_ps < least ? path.latency_ps : least;
        }
    return least;
}

static void check(const question *q, const rlt_bound *b)
{
    static border all[1 << MEMBERS];
    uint32_t n = 0;
    rlt_time cut = between_groups(q);
    assert_in_range(rlt_topology_nodes(q->w->t), 2, MEMBERS);
    for (uint32_t set = 1; set < 1u << rlt_topology_nodes(q->w->t); set++) {
        border edge = measure(q, set);
        if (edge.members == 0 || edge.members == q->req.n)
            continue;
        all[n++] = edge;
        cut = later(cut, over(q, edge));
    }
    if (q->req.kind == RLT_ALL_TO_ALL) {
        cut = later(cut, between_halves(q, all, n));
        assert_true(over_tightest(q, all, n, cut, b->cut_ps));
    } else if (b->cut_ps != cut) {
        fail_msg("%s of %u on %s: %lld ps instead of %lld", rlt_coll_name(q->req.kind), q->req.n,
                 rlt_topology_name(q->w->t), (long long)b->cut_ps, (long long)cut);
    }
    assert_int_equal(b->latency_ps, least_latency(q));
    assert_int_equal(b->time_ps, later(later(b->traffic_ps, b->cut_ps), b->latency_ps));
}

static void draw_question(dice *k, const world *w, question *q)
{
    uint32_t all = rlt_topology_accelerators(w->t);
    *q = (question){.w = w, .reduces = below(k, 2), .multicasts = below(k, 2), .inside = below(k, 2)};
    for (uint32_t i = 0; i < all; i++)
        q->ranks[i] = i;
    for (uint32_t i = all; i > 1 && below(k, 5); i--) {
        uint32_t j = below(k, i), was = q->ranks[j];
        q->ranks[j] = q->ranks[i - 1];
        q->ranks[i - 1] = was;
    }
    q->req = (rlt_coll_request){.kind = (rlt_coll_kind)below(k, RLT_COLL_KINDS),
                                .n = below(k, 2) ? all : 2 + below(k, all - 1),
                                .ranks = q->ranks,
                                .bytes = below(k, 3) ? roll(k, 100000000) : below(k, 12)};
    q->req.root = below(k, q->req.n);
}

/* Compares random requests on one network; then the scales, which only lower a bound by what they round. */
static void on(world *w, dice *k, uint32_t cases)
{
    static question q;
    rlt_error err = {0};
    assert_int_equal(rlt_placement_identity(w->t, rlt_topology_accelerators(w->t), &w->where, &err), 0);
    assert_int_equal(rlt_router_create(w->t, &w->where, RLT_ROUTE_DMODK, &w->router, &err), 0);
    for (uint32_t c = 0; c < cases; c++) {
        rlt_bound b, half, plain;
        draw_question(k, w, &q);
        rlt_plan plan = {.req = q.req, .reduces = q.reduces, .multicasts = q.multicasts, .inside = q.inside};
        assert_int_equal(rlt_plan_bound(&plan, w->router, 1, 1, &b, &err), 0);
        check(&q, &b);
        assert_true(q.req.bytes || (b.cut_ps == 0 && b.traffic_ps == 0));
        bool in_order = true;
        for (uint32_t m = 0; m < q.req.n; m++)
            in_order = in_order && q.ranks[m] == m;
        plan.req.ranks = NULL;
        assert_int_equal(rlt_plan_bound(&plan, w->router, 1, 1, &plain, &err), 0);
        assert_true(!in_order || (plain.traffic_ps == b.traffic_ps && plain.cut_ps == b.cut_ps &&
                                  plain.latency_ps == b.latency_ps && plain.time_ps == b.time_ps));
        plan.req.ranks = q.ranks;
        assert_int_equal(rlt_plan_bound(&plan, w->router, 0.5, 3, &half, &err), 0);
        assert_true(half.cut_ps <= 2 * b.cut_ps + 1 && half.cut_ps >= 2 * b.cut_ps - 1);
        assert_true(half.traffic_ps <= 2 * b.traffic_ps + 1 && half.traffic_ps >= 2 * b.traffic_ps - 1);
        assert_int_equal(half.latency_ps, 3 * b.latency_ps);
    }
    rlt_router_free(w->router);
    rlt_placement_free(&w->where);
    rlt_topology_free(w->t);
}

static void on_products(void **state)
{
    static const char *const texts[] = {"switch:4@50GB/s,500ns*switch:2@9GB/s,700ns",
                                        "ring:4@20GB/s,300ns*switch:2@9GB/s,1us",
                                        "torus:3x3@40GB/s,200ns",
                                        "mesh:6@10GB/s,100ns",
                                        "mesh:2x4@8GB/s,100ns",
                                        "fully-connected:3@90GB/s,1us*ring:3@7GB/s,100ns",
                                        "switch:2@50GB/s,1us*mesh:3@5GB/s,200ns",
                                        "fat-tree:6@10GB/s,300ns,hosts_per_leaf=3,oversubscription=3",
                                        "switch:7@3GB/s,0ns"};
    dice k = {.seed = 61};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        world w;
        rlt_error err = {0};
        if (rlt_topology_load(texts[i], NULL, &w.t, &err) < 0)
            fail_msg("%s: %s", err.where, err.what);
        on(&w, &k, 40);
    }
}

/* Accelerators and switches in a tree whose links differ by direction, and a few more links one way. */
static void on_graphs(void **state)
{
    dice k = {.seed = 67};
    (void)state;
    for (int c = 0; c < 60; c++) {
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        rlt_graph_node nodes[HOSTS + SWITCHES];
        rlt_graph_link links[LINKS];
        uint32_t n_links = 0, n = HOSTS + SWITCHES, more = below(&k, 6);
        for (uint32_t i = 0; i < n; i++)
            nodes[i] = (rlt_graph_node){
                .name = names[i], .kind = i < HOSTS ? RLT_ACCELERATOR : RLT_SWITCH, .forwards = -1};
        for (uint32_t i = 0; i + 1 < n; i++) {
            uint32_t up = i < HOSTS ? HOSTS + below(&k, SWITCHES) : i + 1;
            links[n_links++] = (rlt_graph_link){.src = i, .dst = up};
            links[n_links++] = (rlt_graph_link){.src = up, .dst = i};
        }
        for (uint32_t i = 0; i < more; i++) {
            uint32_t src = below(&k, n);
            links[n_links++] = (rlt_graph_link){.src = src, .dst = (src + 1 + below(&k, n - 1)) % n};
        }
        for (uint32_t i = 0; i < n_links; i++) {
            links[i].bw_Bps = 1000000000 * (1 + roll(&k, 9));
            links[i].latency_ps = (rlt_time)(1000 * (1 + below(&k, 999)));
        }
        rlt_topology_spec spec = {.name = "drawn",
                                  .source = "drawn",
                                  .n_nodes = n,
                                  .n_links = n_links,
                                  .nodes = nodes,
                                  .links = links};
        world w;
        assert_int_equal(rlt_topology_build(&spec, &w.t, NULL), 0);
        on(&w, &k, 12);
    }
}

/* Returns the bound of an all-gather of the first n members, 10 kB each. */
static rlt_bound gathered(const char *text, uint32_t n)
{
    world w;
    rlt_bound b;
    rlt_error err = {0};
    if (rlt_topology_load(text, NULL, &w.t, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_placement_identity(w.t, rlt_topology_accelerators(w.t), &w.where, &err), 0);
    assert_int_equal(rlt_router_create(w.t, &w.where, RLT_ROUTE_DMODK, &w.router, &err), 0);
    rlt_coll_request req = {.kind = RLT_ALL_GATHER, .n = n, .bytes = 10000 * n};
    assert_int_equal(rlt_coll_bound(&req, w.router, 1, 1, &b, &err), 0);
    rlt_router_free(w.router);
    rlt_placement_free(&w.where);
    rlt_topology_free(w.t);
    return b;
}

/* A part of a switch has cuts up to 4096 links, and up to 65 536 links times members: all but one send 10 us each
 * to it. The latency is that of two links, or of the fastest for more than 64 members. */
static void limits(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        bool cut, pairs;
    } rows[] = {
        {"switch:2048@1GB/s,500ns", 16, true, true},   {"switch:2048@1GB/s,500ns", 17, false, true},
        {"switch:2049@1GB/s,500ns", 2, false, true},   {"switch:256@1GB/s,500ns", 128, true, false},
        {"switch:257@1GB/s,500ns", 128, false, false}, {"switch:100@1GB/s,500ns", 64, true, true},
        {"switch:100@1GB/s,500ns", 65, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_bound b = gathered(rows[i].text, rows[i].n);
        assert_int_equal(b.cut_ps, rows[i].cut ? (rows[i].n - 1) * 10 * RLT_US : 0);
        assert_int_equal(b.latency_ps, rows[i].pairs ? RLT_US : 500 * RLT_NS);
    }
    /* dimensions of several latencies; links of a graph, down to 102 ns */
    assert_int_equal(gathered("switch:9@1GB/s,500ns*ring:9@1GB/s,300ns", 81).latency_ps, 300 * RLT_NS);
    assert_int_equal(gathered("switch:9@1GB/s,500ns*ring:9@1GB/s,0ns", 81).latency_ps, 0);
    char text[12000];
    int at = snprintf(text, sizeof text,
                      "{\"nodes\":[{\"id\":\"g\",\"count\":66,\"kind\":\"accelerator\"},"
                      "{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":[");
    for (uint32_t i = 0; i < 66; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s{\"src\":\"g%u\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"%uns\"}",
                       i ? "," : "", i, 167 - i);
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    assert_int_equal(gathered(text, 66).latency_ps, 102 * RLT_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_products),
        cmocka_unit_test(on_graphs),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
