/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classes of random groups in the timing alone, two by two: they are one if and only if their grids are, and members are
 * in one block of a dimension in both groups or in neither, each at the same place of its block. Where blocks cannot be
 * exchanged, coordinates are the same. Kind, root and bytes do not matter.
 */
#include <string.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

enum { GROUPS = 60, MEMBERS = 4, MOST = 96 };

typedef struct drawn {
    rlt_group group;
    rlt_coll_request req;
    uint32_t ranks[MEMBERS], at[MEMBERS]; /* at: accelerators */
    uint32_t class;
} drawn;

/* Members near each other, so that groups often look alike. */
static void draw(dice *d, drawn *x, const rlt_topology *t, const rlt_placement *where)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_TO_ALL, RLT_BROADCAST};
    uint32_t n = 2 + below(d, MEMBERS - 1), strides[] = {1, 2, 3, 4, 8}, all = where->n;
    uint32_t first = below(d, all), stride = strides[below(d, 5)];
    rlt_error err = {0};
    for (uint32_t i = 0; i < n; i++) {
        bool again = true;
        for (uint32_t tries = 0; again; tries++) {
            x->ranks[i] =
                tries || below(d, 3) == 0 ? (first + below(d, 12)) % all : (first + i * stride) % all;
            again = false;
            for (uint32_t k = 0; k < i; k++)
                again |= x->ranks[k] == x->ranks[i];
        }
        x->at[i] = where->accelerator[x->ranks[i]];
    }
    assert_int_equal(rlt_group_create(t, where, x->ranks, n, &x->group, &err), 0);
    x->req = rlt_group_request(&x->group, kinds[below(d, 3)], 1 + below(d, 1000));
    x->req.root = below(d, n);
}

static bool same_grid(const rlt_coll_request *a, const rlt_coll_request *b)
{
    bool same = a->n == b->n && a->node == b->node && a->n_dims == b->n_dims;
    for (uint32_t d = 0; same && d < a->n_dims; d++)
        same = a->dims[d] == b->dims[d] && a->axes[d] == b->axes[d] && a->shapes[d] == b->shapes[d];
    return same;
}

static bool alike(const rlt_topology *t, rlt_routing routing, const drawn *a, const drawn *b)
{
    uint32_t stride = 1, dims = rlt_topology_dims(t);
    for (uint32_t d = 0; d < dims; stride *= rlt_topology_dim(t, d++).size) {
        uint32_t size = rlt_topology_dim(t, d).size, block = rlt_topology_exchanges(t, d);
        bool free = block == 1 || (block && routing == RLT_ROUTE_DMODK);
        for (uint32_t i = 0; i < a->req.n; i++) {
            uint32_t x = a->at[i] / stride % size, y = b->at[i] / stride % size;
            if (free ? x % block != y % block : x != y)
                return false;
            for (uint32_t k = 0; free && k < i; k++)
                if ((a->at[k] / stride % size / block == x / block) !=
                    (b->at[k] / stride % size / block == y / block))
                    return false;
        }
    }
    return true;
}

static void compare(const drawn *list, const rlt_topology *t, rlt_routing routing, uint32_t of[2])
{
    for (uint32_t i = 0; i < GROUPS; i++)
        for (uint32_t k = 0; k < i; k++) {
            const drawn *a = &list[i], *b = &list[k];
            bool one = same_grid(&a->req, &b->req) && alike(t, routing, a, b);
            of[one]++;
            if (one != (a->class == b->class))
                fail_msg("%s, %s: groups %u and %u are%s one", rlt_topology_name(t),
                         rlt_routing_name(routing), i, k, one ? "" : " not");
        }
}

static void random_groups(void **state)
{
    static const char *const networks[] = {
        "switch:4@300GB/s,500ns*rail:8@50GB/s,2us",
        "switch:4@300GB/s,500ns*switch:6@50GB/s,2us",
        "switch:2@300GB/s,500ns*fat-tree:12@50GB/s,2us,hosts_per_leaf=4",
        "switch:2@300GB/s,500ns*fat-tree:24@50GB/s,2us,levels=3,hosts_per_leaf=2,leaves_per_pod=3",
        "ring:4@300GB/s,500ns*switch:6@50GB/s,2us",
        "switch:2@300GB/s,500ns*switch:3@50GB/s,2us*switch:4@25GB/s,2us",
    };
    static drawn list[GROUPS];
    uint32_t of[2] = {0, 0};
    (void)state;
    for (uint32_t c = 0; c < 48; c++) {
        dice d = {.seed = c};
        rlt_error err = {0};
        rlt_topology *t = NULL;
        rlt_timing *timing = NULL;
        uint32_t at[MOST];
        rlt_replay_options o = rlt_replay_options_default();
        assert_int_equal(rlt_topology_load(networks[c % 6], NULL, &t, &err), 0);
        rlt_placement where = {.n = rlt_topology_accelerators(t), .accelerator = at};
        for (uint32_t i = 0; i < where.n; i++) {
            uint32_t k = c / 6 % 2 ? below(&d, i + 1) : i;
            at[i] = at[k];
            at[k] = i;
        }
        o.topology = t;
        o.endpoint = *rlt_topology_endpoint(t);
        o.routing = c / 12 % 2 ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK;
        o.placement = c / 6 % 2 || c >= 24 ? &where : NULL;
        assert_int_equal(rlt_timing_alone(&o, &timing, &err), 0);
        for (uint32_t i = 0; i < GROUPS; i++) {
            draw(&d, &list[i], t, &where);
            assert_int_equal(timing->classify(timing, &list[i].req, &list[i].class, &err), 0);
        }
        compare(list, t, o.routing, of);
        for (uint32_t i = 0; i < GROUPS; i++)
            rlt_group_free(&list[i].group);
        rlt_timing_free(timing);
        rlt_topology_free(t);
    }
    print_message("# %u pairs of one class, %u of two\n", of[1], of[0]);
    assert_true(of[1] > 1500 && of[0] > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
