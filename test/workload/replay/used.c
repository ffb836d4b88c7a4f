/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links for which a replay keeps a state, on random networks, groups and placements: those of the routes between the
 * members of each group, one class each and the rest of a dimension one more, if the network has 64 for each
 * ordered pair and nothing else can use one; else all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/collective.h"
#include "net/fold.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"

enum { RANKS = 5, GROUPS = 3, EACH_PAIR = 64 };

typedef struct drawn {
    uint32_t n_groups, n[GROUPS], ranks[GROUPS][RANKS], pairs;
    uint32_t at[RANKS]; /* accelerators */
} drawn;

typedef enum obstacle { NONE, EVENTS, BACKGROUND, SERIES, ROUTING, PACKETS, SWITCHES, OBSTACLES } obstacle;

static void draw_distinct(dice *d, uint32_t *list, uint32_t n, uint32_t from)
{
    for (uint32_t i = 0; i < n; i++) {
        bool again = true;
        while (again) {
            again = false;
            list[i] = below(d, from);
            for (uint32_t k = 0; k < i; k++)
                again |= list[k] == list[i];
        }
    }
}

static void draw(drawn *x, dice *d)
{
    *x = (drawn){.n_groups = 1 + below(d, GROUPS)};
    for (uint32_t g = 0; g < x->n_groups; g++) {
        x->n[g] = 1 + below(d, RANKS);
        draw_distinct(d, x->ranks[g], x->n[g], RANKS);
        x->pairs += x->n[g] * (x->n[g] - 1);
    }
}

static rlt_program *build(const drawn *x)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(RANKS, &b, &err), 0);
    for (uint32_t g = 0; g < x->n_groups; g++) {
        char label[8];
        snprintf(label, sizeof label, "%u", g);
        uint32_t group = rlt_build_group(b, label, x->ranks[g], x->n[g]);
        for (uint32_t i = 0; i < x->n[g]; i++) {
            rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, x->ranks[g][i]);
            o.coll = RLT_ALL_GATHER;
            o.group = group;
            o.bytes = 6000;
            rlt_build_op(b, &o);
        }
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* Writes a network of about as many links as pay for the pairs. */
static void draw_network(dice *d, const drawn *x, char *text, size_t size, obstacle what)
{
    uint32_t n = EACH_PAIR / 2 * x->pairs + below(d, 3); /* a switch has two links for each accelerator */
    if (what == SWITCHES || below(d, 3))
        snprintf(text, size, "switch:%u@10GB/s,100ns%s", n > 8 ? n - 1 : 8,
                 what == SWITCHES ? ",in_network=reduce" : "");
    else
        snprintf(text, size, "switch:2@100GB/s,50ns*fat-tree:%u@10GB/s,100ns,hosts_per_leaf=4",
                 4 * (2 + below(d, n / 4 + 1)));
}

static void set_obstacle(rlt_replay_options *o, obstacle what)
{
    static const uint32_t link = 0;
    static const rlt_link_event event = {.when_ps = RLT_S, .links = &link, .n = 1, .factor = 1};
    static const rlt_background flow = {.src = 0, .dst = 1, .rate_Bps = 1000000000, .bytes = 1000};
    static rlt_packet_settings packet;
    if (what == EVENTS) {
        o->link_events = &event;
        o->n_link_events = 1;
    } else if (what == BACKGROUND) {
        o->background = &flow;
        o->n_background = 1;
    } else if (what == SERIES) {
        o->series_bin_ps = RLT_MS;
    } else if (what == ROUTING) {
        o->routing = RLT_ROUTE_ECMP;
    } else if (what == PACKETS) {
        packet = rlt_packet_default();
        o->model = &rlt_net_packet;
        o->packet = &packet;
    }
}

/* Marks the links between the members of all groups. Returns how many there are. */
static uint32_t mark(const drawn *x, const rlt_topology *t, const rlt_placement *where, bool *used)
{
    rlt_router *router = NULL;
    rlt_error err = {0};
    uint32_t n = 0;
    assert_int_equal(rlt_router_create(t, where, RLT_ROUTE_DMODK, &router, &err), 0);
    for (uint32_t g = 0; g < x->n_groups; g++)
        for (uint32_t i = 0; i < x->n[g]; i++)
            for (uint32_t k = 0; k < x->n[g]; k++) {
                rlt_path path = {0};
                if (i != k)
                    assert_int_equal(rlt_route(router, x->ranks[g][i], x->ranks[g][k], 0, &path), 0);
                for (uint32_t h = 0; h < path.n; h++) {
                    n += !used[path.links[h]];
                    used[path.links[h]] = true;
                }
            }
    rlt_router_free(router);
    return n;
}

static void assert_fold(const drawn *x, const rlt_topology *t, const rlt_placement *where,
                        const rlt_net_fold *fold)
{
    uint32_t links = rlt_topology_links(t), n, class = 0, rest = 0;
    bool *used = calloc(links, sizeof *used);
    assert_non_null(used);
    n = mark(x, t, where, used);
    for (uint32_t i = 0; i < links; i++) {
        if (used[i]) {
            assert_int_equal(fold->link[class], i);
            assert_int_equal(fold->size[class], 1);
            assert_int_equal(rlt_net_fold_class(fold, i), class);
            class ++;
        } else
            assert_true(rlt_net_fold_class(fold, i) >= n);
    }
    for (uint32_t c = n; c < fold->n_classes; c++)
        rest += fold->size[c];
    assert_int_equal(class, n);
    assert_int_equal(n + rest, links);
    free(used);
}

static void links_that_are_used(void **state)
{
    uint32_t folded = 0, whole = 0, exact = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        dice d = {.seed = seed};
        drawn x;
        char text[96];
        rlt_topology *t = NULL;
        rlt_replay *r = NULL;
        rlt_error err = {0};
        rlt_replay_options o = rlt_replay_options_default();
        obstacle in_the_way = below(&d, 3) ? NONE : (obstacle)below(&d, OBSTACLES);
        draw(&x, &d);
        rlt_program *p = build(&x);
        draw_network(&d, &x, text, sizeof text, in_the_way);
        assert_int_equal(rlt_topology_load(text, NULL, &t, &err), 0);
        draw_distinct(&d, x.at, RANKS, rlt_topology_accelerators(t));
        rlt_placement where = {.n = RANKS, .accelerator = x.at};
        o.topology = t;
        o.placement = &where;
        o.model = below(&d, 2) ? &rlt_net_flow : &rlt_net_alpha_beta;
        o.no_bounds = true;
        set_obstacle(&o, in_the_way);
        if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
            fail_msg("%s: %s", err.where, err.what);
        const rlt_net_fold *fold = rlt_usage_fold(rlt_replay_net(r)->usage);
        bool pays = x.pairs && EACH_PAIR * x.pairs <= rlt_topology_links(t) && in_the_way == NONE;
        if (pays != (fold != NULL))
            fail_msg("case %llu: %u links, %u pairs, obstacle %d", (unsigned long long)seed,
                     rlt_topology_links(t), x.pairs, (int)in_the_way);
        if (fold)
            assert_fold(&x, t, &where, fold);
        folded += fold != NULL;
        whole += !fold && in_the_way == NONE;
        exact += fold && EACH_PAIR * x.pairs == rlt_topology_links(t);
        rlt_replay_free(r);
        rlt_topology_free(t);
        rlt_program_free(p);
    }
    assert_true(folded > 60 && whole > 40 && exact > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_that_are_used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
