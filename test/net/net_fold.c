/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A folded network compared with the whole one, for folds made by hand: the same times to the picosecond and
 * the same accounts of every link, in both models and under both injection rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/links.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/build.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static const rlt_net_model *const both[] = {&rlt_net_alpha_beta, &rlt_net_flow};
static const rlt_injection rules[] = {RLT_INJECT_NIC, RLT_INJECT_BLOCKING};

enum { MAX_POSTS = 16, MAX_RANKS = 64 };

/* At time `at`, ranks first .. first + n - 1 send to (rank + shift) % ranks, or all to `to`. */
typedef struct post {
    rlt_time at;
    uint32_t first, n, shift, to;
    uint64_t bytes;
} post;

/* More of a post: the senders are `step` apart, or there are trees instead, each over the next n ranks from `first`
 * on, with its first rank as the root. */
typedef struct more {
    uint32_t trees;
    bool multicast;
    uint32_t step; /* 0: 1 */
} more;

#define EACH RLT_NONE

typedef struct scene {
    const char *topology;
    uint32_t (*class_of)(const rlt_topology *t, uint32_t link); /* class of a link, as any number */
    uint32_t n_posts;
    post posts[MAX_POSTS];
    more more[MAX_POSTS];
    rlt_time until; /* 0: until the end */
    rlt_time bin_ps;
    double bandwidth_scale; /* 0 means 1 */
} scene;

typedef struct world {
    const scene *s;
    rlt_topology *t;
    rlt_placement place;
    rlt_router *router;
    rlt_sim *sim;
    rlt_net *net;
    rlt_net_fold fold;
    uint32_t ranks;
    rlt_time injected[MAX_POSTS], delivered[MAX_POSTS]; /* times of the last message */
    bool folded;
    int rc;
    rlt_error err;
} world;

static void note_injected(void *ctx, uint64_t tx)
{
    world *w = ctx;
    if (rlt_sim_now(w->sim) > w->injected[tx])
        w->injected[tx] = rlt_sim_now(w->sim);
}

static void note_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    world *w = ctx;
    (void)rx;
    w->delivered[tx] = rlt_sim_now(w->sim);
}

static void plant(world *w, const post *p, const more *with, uint64_t i)
{
    for (uint32_t k = 0; k < (w->folded ? 1 : with->trees); k++) {
        uint32_t ranks[MAX_RANKS], root = p->first + k * p->n;
        for (uint32_t r = 0; r < p->n; r++)
            ranks[r] = root + r;
        rlt_tree_message m = {.ranks = ranks,
                              .n = p->n,
                              .root = root,
                              .bytes = p->bytes,
                              .tx = i,
                              .count = w->folded ? with->trees : 1};
        rlt_time injected =
            with->multicast ? w->net->model->multicast(w->net, &m) : w->net->model->reduce_to(w->net, &m);
        if (injected > w->injected[i])
            w->injected[i] = injected;
    }
}

static void on_post(void *ctx, uint64_t i)
{
    world *w = ctx;
    const post *p = &w->s->posts[i];
    const more *with = &w->s->more[i];
    if (with->trees) {
        plant(w, p, with, i);
        return;
    }
    for (uint32_t k = 0; k < (w->folded ? 1 : p->n); k++) {
        uint32_t src = p->first + k * (with->step ? with->step : 1),
                 dst = p->to == EACH ? (src + p->shift) % w->ranks : p->to;
        rlt_message m = {.src = src, .dst = dst, .bytes = p->bytes, .tx = i};
        if (w->folded) {
            m.count = p->n;
            m.fan_in = p->to == EACH ? 1 : p->n;
        }
        rlt_time injected = rlt_net_send(w->net, &m);
        if (injected > w->injected[i])
            w->injected[i] = injected;
    }
}

/* Makes a fold from class numbers; classes are in order of their lowest links. */
static void make_fold(world *w)
{
    uint32_t n = rlt_topology_links(w->t), *number = calloc(n, sizeof *number);
    rlt_net_fold *f = &w->fold;
    f->of_link = calloc(n, sizeof *f->of_link);
    f->size = calloc(n, sizeof *f->size);
    f->link = calloc(n, sizeof *f->link);
    assert_true(number && f->of_link && f->size && f->link);
    f->topology = w->t;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = w->s->class_of(w->t, i), c = 0;
        while (c < f->n_classes && number[c] != x)
            c++;
        if (c == f->n_classes) {
            f->n_classes++;
            number[c] = x;
            f->link[c] = i;
        }
        f->size[c]++;
        f->of_link[i] = c;
    }
    free(number);
}

static void play(world *w, const scene *s, const rlt_net_model *model, rlt_injection rule, bool folded)
{
    *w = (world){.s = s, .folded = folded};
    int rc = rlt_topology_load(s->topology, NULL, &w->t, &w->err);
    if (rc)
        fail_msg("%s", w->err.what);
    w->ranks = rlt_topology_accelerators(w->t);
    assert_int_equal(rlt_placement_identity(w->t, w->ranks, &w->place, NULL), 0);
    assert_int_equal(rlt_router_create(w->t, &w->place, RLT_ROUTE_DMODK, &w->router, NULL), 0);
    assert_int_equal(rlt_sim_create(&w->sim, NULL), 0);
    if (folded)
        make_fold(w);
    rlt_net_config cfg = {.sim = w->sim,
                          .router = w->router,
                          .endpoint = rlt_endpoint_default(),
                          .client = {w, note_injected, note_delivered},
                          .bandwidth_scale = s->bandwidth_scale > 0 ? s->bandwidth_scale : 1,
                          .latency_scale = 1,
                          .series_bin_ps = s->bin_ps,
                          .fold = folded ? &w->fold : NULL};
    cfg.endpoint.injection = rule;
    assert_int_equal(model->create(&cfg, &w->net, &w->err), 0);
    int handler = rlt_sim_handler(w->sim, on_post, w);
    for (uint32_t i = 0; i < s->n_posts; i++)
        rlt_sim_post(w->sim, s->posts[i].at, RLT_START, handler, i);
    w->rc = rlt_sim_run(w->sim, s->until ? s->until : RLT_TIME_MAX, &w->err);
    if (w->rc >= 0)
        rlt_net_settle(w->net);
}

static void end(world *w)
{
    rlt_net_free(w->net);
    rlt_sim_free(w->sim);
    rlt_router_free(w->router);
    rlt_placement_free(&w->place);
    rlt_net_fold_free(&w->fold);
    rlt_topology_free(w->t);
}

static void compare(const world *a, const world *b)
{
    assert_true(a->rc >= 0);
    assert_true(b->rc >= 0);
    for (uint32_t i = 0; i < a->s->n_posts; i++) {
        assert_int_equal(a->delivered[i], b->delivered[i]);
        assert_int_equal(a->injected[i], b->injected[i]);
    }
    assert_int_equal(a->net->messages, b->net->messages);
    assert_int_equal(a->net->bytes_offered, b->net->bytes_offered);
    assert_int_equal(a->net->bytes_delivered, b->net->bytes_delivered);
    assert_int_equal(a->net->bytes_absorbed, b->net->bytes_absorbed);
    assert_int_equal(a->net->bytes_replicated, b->net->bytes_replicated);
    for (uint32_t l = 0; l < rlt_topology_links(a->t); l++) {
        rlt_link_usage x = rlt_usage_link(a->net->usage, l), y = rlt_usage_link(b->net->usage, l);
        assert_int_equal(x.bytes, y.bytes);
        assert_int_equal(x.busy_ps, y.busy_ps);
        assert_int_equal(x.active_ps, y.active_ps);
        assert_int_equal(x.messages, y.messages);
        assert_int_equal(x.bw_Bps, y.bw_Bps);
        assert_int_equal(rlt_usage_bins(a->net->usage), rlt_usage_bins(b->net->usage));
        for (uint32_t k = 0; k < rlt_usage_bins(a->net->usage); k++) {
            double u = rlt_usage_bin_bytes(a->net->usage, l, k), v = rlt_usage_bin_bytes(b->net->usage, l, k);
            assert_true(u - v < 1e-6 * u + 1e-3 && v - u < 1e-6 * u + 1e-3);
        }
    }
}

/* Links that are alike are one class, however many links an account stands for. */
static void compare_classes(const world *a, const world *b)
{
    rlt_link_class *x, *y;
    uint32_t n, m;
    assert_int_equal(rlt_links_list(a->t, a->net->usage, 1000000, true, &x, &n, NULL), 0);
    assert_int_equal(rlt_links_list(b->t, b->net->usage, 1000000, true, &y, &m, NULL), 0);
    assert_int_equal(n, m);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(x[i].first, y[i].first);
        assert_int_equal(x[i].count, y[i].count);
        assert_int_equal(x[i].usage.bytes, y[i].usage.bytes);
    }
    free(x);
    free(y);
}

static void same(const scene *s)
{
    static world whole, folded;
    for (int m = 0; m < 2; m++)
        for (int r = 0; r < 2; r++) {
            play(&whole, s, both[m], rules[r], false);
            play(&folded, s, both[m], rules[r], true);
            compare(&whole, &folded);
            compare_classes(&whole, &folded);
            end(&whole);
            end(&folded);
        }
}

static uint32_t by_direction(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    uint32_t n = rlt_topology_accelerators(t);
    return l.dim * 4 + (l.src < n ? 2u : 0) + (l.dst < n ? 1u : 0);
}

/* Classes of a ring: clockwise and counter-clockwise links. */
static uint32_t by_turn(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    return l.dst == (l.src + 1) % rlt_topology_accelerators(t);
}

/* Puts the links of accelerator 0 into classes of their own. */
static uint32_t by_root(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    return by_direction(t, link) * 3 + (l.src == 0 ? 2u : 0) + (l.dst == 0 ? 1u : 0);
}

/* Links of the accelerators at one place of each node of four are a class. */
static uint32_t by_place(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    uint32_t n = rlt_topology_accelerators(t), end = l.src < n ? l.src : l.dst;
    return by_direction(t, link) * 4 + end % 4;
}

/* Three exchanges at a time over each port, of several sizes; some begin before others end. */
static void test_ring_exchange(void **state)
{
    (void)state;
    scene s = {.topology = "switch:8@50GB/s,500ns",
               .class_of = by_direction,
               .n_posts = 6,
               .posts = {{0, 0, 8, 1, EACH, 1000003},
                         {0, 0, 8, 3, EACH, 1000003},
                         {7, 0, 8, 5, EACH, 777},
                         {9000000, 0, 8, 7, EACH, 2000001},
                         {61234567, 0, 8, 1, EACH, 0},
                         {61234567, 0, 8, 2, EACH, 500}}};
    same(&s);
    s.bin_ps = 1000000;
    same(&s);
    s.bandwidth_scale = 0.7;
    same(&s);
}

/* Leaves with half as many uplinks as hosts: two messages on each. */
static void test_oversubscribed(void **state)
{
    (void)state;
    scene s = {.topology = "fat-tree:16@50GB/s,500ns,hosts_per_leaf=4,oversubscription=2",
               .class_of = by_direction,
               .n_posts = 4,
               .posts = {{0, 0, 16, 4, EACH, 1000003},
                         {1000, 0, 16, 8, EACH, 3000017},
                         {2000, 0, 16, 12, EACH, 50000},
                         {90000000, 0, 16, 4, EACH, 123457}}};
    same(&s);
    s.bin_ps = 700000;
    same(&s);
    s.bin_ps = 0;
    for (s.until = 1; s.until < 300000000; s.until = s.until * 3 + 1)
        same(&s); /* stopped half-way */
}

/* A path takes several links of one class. */
static void test_around_a_ring(void **state)
{
    (void)state;
    scene s = {.topology = "ring:9@100GB/s,500ns",
               .class_of = by_turn,
               .n_posts = 5,
               .posts = {{0, 0, 9, 3, EACH, 1000003},
                         {0, 0, 9, 6, EACH, 1000003},
                         {5, 0, 9, 1, EACH, 444},
                         {500000, 0, 9, 4, EACH, 3000000},
                         {30000000, 0, 9, 2, EACH, 31337}}};
    same(&s);
    for (s.until = 1; s.until < 300000000; s.until = s.until * 3 + 1)
        same(&s);
}

static void test_product(void **state)
{
    (void)state;
    scene s = {
        .topology = "ring:4@100GB/s,500ns*switch:4@25GB/s,1us",
        .class_of = by_direction,
        .n_posts = 3,
        .posts = {{0, 0, 16, 4, EACH, 1000003}, {0, 0, 16, 12, EACH, 999}, {70, 0, 16, 8, EACH, 4242}}};
    same(&s);
}

/* Messages that reach one receiver at once are received one after the other; the last one is reported. */
static void test_fan_in(void **state)
{
    (void)state;
    scene s = {.topology = "switch:9@50GB/s,500ns",
               .class_of = by_root,
               .n_posts = 3,
               .posts = {{0, 1, 8, 0, 0, 1000003}, {0, 1, 8, 0, 0, 17}, {300000000, 1, 8, 0, 0, 4000}}};
    static world whole, folded;
    for (int m = 0; m < 4; m++) {
        s.bin_ps = m < 2 ? 0 : 700000;
        play(&whole, &s, both[m % 2], RLT_INJECT_NIC, false);
        play(&folded, &s, both[m % 2], RLT_INJECT_NIC, true);
        compare(&whole, &folded);
        end(&whole);
        end(&folded);
    }
    s.bin_ps = 0;
    /* Closed form for the last exchange alone: eight times 4000 bytes at 20 ps a byte, and the latency of two
     * links. */
    s.posts[0] = s.posts[2];
    s.n_posts = 1;
    for (int m = 0; m < 2; m++) {
        play(&folded, &s, both[m], RLT_INJECT_NIC, true);
        assert_int_equal(folded.delivered[0], 300000000 + 8 * 4000 * 20 + 1000000);
        assert_int_equal(folded.net->messages, 8);
        assert_int_equal(folded.net->bytes_offered, 8 * 4000);
        end(&folded);
    }
}

/* A tree in each of four nodes, at the same time as messages between them; stopped half-way, too. */
static void test_trees(void **state)
{
    (void)state;
    scene s = {.topology = "switch:4@100GB/s,500ns,in_network=reduce+multicast*switch:4@25GB/s,1us",
               .class_of = by_place,
               .n_posts = 6,
               .posts = {{.at = 0, .n = 4, .bytes = 1000003},
                         {.at = 5, .n = 4, .bytes = 3001},
                         {0, 0, 4, 4, EACH, 400000},
                         {0, 1, 4, 3, EACH, 300000},
                         {.at = 9000000, .n = 4, .bytes = 0},
                         {.at = 30000000, .n = 4, .bytes = 77}},
               .more = {{.trees = 4},
                        {.trees = 4, .multicast = true},
                        {.step = 4},
                        {.step = 4},
                        {.trees = 4},
                        {.trees = 4}}};
    static world whole, folded;
    for (rlt_time until = 0; until < 100000000; until = until * 3 + 1000)
        for (int r = 0; r < 4; r++) {
            s.until = until;
            s.bin_ps = r < 2 ? 0 : 700000;
            play(&whole, &s, &rlt_net_flow, rules[r % 2], false);
            play(&folded, &s, &rlt_net_flow, rules[r % 2], true);
            compare(&whole, &folded);
            end(&whole);
            end(&folded);
        }
}

/* A static route that crosses the cable between two switches forth, back and forth again: twice the bytes on
 * it at once, so half the rate and three times the latency. */
static void test_twice(void **state)
{
    (void)state;
    scene s = {.topology = "{\"nodes\":[{\"id\":\"a\",\"kind\":\"accelerator\"},{\"id\":\"b\",\"kind\":"
                           "\"accelerator\"},{\"id\":\"s\",\"kind\":\"switch\"},{\"id\":\"t\",\"kind\":"
                           "\"switch\"}],\"links\":[{\"src\":\"a\",\"dst\":\"s\",\"bandwidth\":\"50GB/s\","
                           "\"latency\":\"100ns\"},{\"src\":\"s\",\"dst\":\"t\",\"bandwidth\":\"50GB/s\","
                           "\"latency\":\"100ns\"},{\"src\":\"t\",\"dst\":\"b\",\"bandwidth\":\"50GB/s\","
                           "\"latency\":\"100ns\"}],\"routes\":[{\"src\":\"a\",\"dst\":\"b\",\"via\":"
                           "[\"s\",\"t\",\"s\",\"t\"]}]}",
               .n_posts = 2,
               .posts = {{0, 0, 1, 1, EACH, 1000}, {10000000, 0, 1, 1, EACH, 0}}};
    static world w;
    for (int r = 0; r < 2; r++) {
        play(&w, &s, &rlt_net_flow, rules[r], false);
        assert_int_equal(w.rc, 0);
        assert_int_equal(w.delivered[0], 1000 * 40 + 5 * 100000);
        assert_int_equal(w.delivered[1], 10000000 + 5 * 100000);
        uint64_t most = 0, all = 0;
        for (uint32_t i = 0; i < rlt_topology_links(w.t); i++) {
            uint64_t bytes = rlt_usage_link(w.net->usage, i).bytes;
            all += bytes;
            most = bytes > most ? bytes : most;
        }
        assert_int_equal(all, 5000);
        assert_int_equal(most, 2000);
        end(&w);
    }
}

/* Three messages over the eight links of a class: the caller folded wrongly, which is refused. */
static void test_uneven(void **state)
{
    (void)state;
    scene s = {.topology = "switch:8@50GB/s,500ns",
               .class_of = by_direction,
               .n_posts = 1,
               .posts = {{0, 0, 3, 1, EACH, 1000}}};
    static world w;
    for (int m = 0; m < 2; m++) {
        play(&w, &s, both[m], RLT_INJECT_NIC, true);
        assert_int_equal(w.rc, RLT_ETOPOLOGY);
        assert_string_equal(w.err.where, "message from rank 0 to rank 1");
        /* alpha-beta asks for the receive port first, flow for the path's first link */
        assert_string_equal(
            w.err.what, m ? "3 messages do not fall evenly on the 8 links of class 0 of the folded network"
                          : "3 messages do not fall evenly on the 8 links of class 1 of the folded network");
        end(&w);
    }
}

/* Two messages at once leave each port: alpha-beta has no order for them, and flow shares the port. */
static void test_crowded_port(void **state)
{
    (void)state;
    scene s = {.topology = "switch:8@50GB/s,500ns",
               .class_of = by_direction,
               .n_posts = 1,
               .posts = {{0, 0, 16, 1, EACH, 1000}}};
    static world w;
    play(&w, &s, &rlt_net_alpha_beta, RLT_INJECT_NIC, true);
    assert_int_equal(w.rc, RLT_EUNSUPPORTED);
    assert_string_equal(w.err.where, "message from rank 0 to rank 1");
    assert_string_equal(w.err.what, "2 messages are on a send port of the folded network at once");
    end(&w);
    play(&w, &s, &rlt_net_flow, RLT_INJECT_NIC, true);
    assert_int_equal(w.rc, 0);
    assert_int_equal(w.delivered[0], 2 * 1000 * 20 + 2 * 500000);
    assert_int_equal(w.net->bytes_delivered, 16 * 1000);
    end(&w);
}

static uint32_t by_itself(const rlt_topology *t, uint32_t link)
{
    (void)t;
    return link;
}

/* Long paths over classes of one link each: the list of a path is kept in several pieces, of all lengths. */
static void test_long_paths(void **state)
{
    (void)state;
    scene s = {.topology = "ring:22@100GB/s,500ns", .class_of = by_itself, .n_posts = 11};
    for (uint32_t i = 0; i < s.n_posts; i++)
        s.posts[i] =
            (post){.at = i * 1000, .first = 0, .n = 1, .shift = i + 1, .to = EACH, .bytes = 10007 * (i + 1)};
    same(&s);
}

/* Two million links in four classes, one message for a million: nothing grows with the links. */
static void test_large(void **state)
{
    (void)state;
    static world w;
    rlt_error err = {0};
    assert_int_equal(rlt_topology_from_compact("switch:1048576@50GB/s,500ns", NULL, &w.t, &err), 0);
    uint32_t size = 1048576;
    assert_int_equal(rlt_net_fold_translations(w.t, &size, 1, &w.fold, &err), 0);
    assert_int_equal(w.fold.n_classes, 2);
    assert_int_equal(rlt_placement_identity(w.t, size, &w.place, NULL), 0);
    assert_int_equal(rlt_router_create(w.t, &w.place, RLT_ROUTE_DMODK, &w.router, NULL), 0);
    for (int m = 0; m < 2; m++) {
        assert_int_equal(rlt_sim_create(&w.sim, NULL), 0);
        rlt_net_config cfg = {.sim = w.sim,
                              .router = w.router,
                              .endpoint = rlt_endpoint_default(),
                              .client = {&w, note_injected, note_delivered},
                              .bandwidth_scale = 1,
                              .latency_scale = 1,
                              .fold = &w.fold};
        assert_int_equal(both[m]->create(&cfg, &w.net, &err), 0);
        rlt_message msg = {.src = 0, .dst = 1, .bytes = 1000, .count = size};
        rlt_net_send(w.net, &msg);
        assert_int_equal(rlt_sim_run(w.sim, RLT_TIME_MAX, &err), 0);
        rlt_net_settle(w.net);
        assert_int_equal(rlt_sim_now(w.sim), 1000 * 20 + 1000000);
        assert_int_equal(w.net->messages, size);
        assert_int_equal(rlt_usage_link(w.net->usage, 2 * size - 1).bytes, 1000);
        rlt_net_free(w.net);
        rlt_sim_free(w.sim);
    }
    rlt_router_free(w.router);
    rlt_placement_free(&w.place);
    rlt_net_fold_free(&w.fold);
    rlt_topology_free(w.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_exchange), cmocka_unit_test(test_oversubscribed),
        cmocka_unit_test(test_around_a_ring), cmocka_unit_test(test_product),
        cmocka_unit_test(test_fan_in),        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_twice),         cmocka_unit_test(test_large),
        cmocka_unit_test(test_crowded_port),  cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
