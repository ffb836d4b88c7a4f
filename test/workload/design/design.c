/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closed forms of designed networks (traffic, groups, cost, time), and their simulation. */
#include "test/support/support.h"

#include <math.h>

#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/design/design.h"

static rlt_design_net net_of(uint32_t n, const uint32_t *sizes, const rlt_block *blocks)
{
    rlt_design_net net = {.n = n};
    for (uint32_t i = 0; i < n; i++)
        net.dims[i] = (rlt_design_dim){.block = blocks[i], .size = sizes[i]};
    rlt_design_levels(&net);
    return net;
}

static const uint32_t sizes_1024[] = {2, 8, 8, 8};
static const rlt_block switches[] = {RLT_BLOCK_SWITCH, RLT_BLOCK_SWITCH, RLT_BLOCK_SWITCH, RLT_BLOCK_SWITCH};
static const rlt_block mixed[] = {RLT_BLOCK_RING, RLT_BLOCK_FULL, RLT_BLOCK_RING, RLT_BLOCK_SWITCH};
static const rlt_design_group whole = {{2, 8, 8, 8, 1, 1, 1, 1}};

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.12g instead of %.12g", got, want);
}

/* The total is that of a flat ring, spread over dimensions as published for m = 1. */
static void all_reduce_moves(void **state)
{
    (void)state;
    static const double want[] = {1, 0.875, 0.109375, 0.013671875};
    rlt_design_net net = net_of(4, sizes_1024, mixed);
    double v[RLT_MAX_DIMS], sum = 0;
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_REDUCE, &whole, 1, v, NULL), 0);
    for (int i = 0; i < 4; i++) {
        near(v[i], want[i], 1e-15);
        sum += v[i];
    }
    near(sum, 2 * (1 - 1. / 1024), 1e-15);
}

/* An all-reduce is a reduce-scatter and an all-gather. An all-to-all sends equally much into equal
 * dimensions. */
static void collectives_add_up(void **state)
{
    (void)state;
    rlt_design_net net = net_of(4, sizes_1024, mixed);
    double both[RLT_MAX_DIMS], scatter[RLT_MAX_DIMS], gather[RLT_MAX_DIMS], all[RLT_MAX_DIMS];
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_REDUCE, &whole, 4096, both, NULL), 0);
    assert_int_equal(rlt_design_traffic(&net, RLT_REDUCE_SCATTER, &whole, 4096, scatter, NULL), 0);
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_GATHER, &whole, 4096, gather, NULL), 0);
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_TO_ALL, &whole, 4096, all, NULL), 0);
    for (int i = 0; i < 4; i++) {
        near(both[i], scatter[i] + gather[i], 1e-15);
        near(all[i], i == 0 ? 2048 : 3584, 1e-15);
    }
    /* The outermost gathers first: a share of 4 bytes, seven of them. */
    near(gather[3], 28, 1e-15);
    rlt_error err = {0};
    assert_int_equal(rlt_design_traffic(&net, RLT_BROADCAST, &whole, 1, all, &err), RLT_EUNSUPPORTED);
}

/* Aggregating switches take the bytes that reach them once; the dimensions above get as much as without. */
static void switches_add(void **state)
{
    (void)state;
    rlt_design_net net = net_of(4, sizes_1024, switches);
    double plain[RLT_MAX_DIMS], v[RLT_MAX_DIMS];
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_REDUCE, &whole, 1, plain, NULL), 0);
    net.dims[3].in_network = true;
    assert_int_equal(rlt_design_traffic(&net, RLT_ALL_REDUCE, &whole, 1, v, NULL), 0);
    near(v[3], 1. / 128, 1e-15);
    for (int i = 0; i < 3; i++)
        near(v[i], plain[i], 1e-15);
}

static void groups_fill(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {4, 8, 4, 32};
    static const uint32_t inner[] = {4, 4, 1, 1}, outer[] = {1, 2, 4, 32};
    rlt_design_net net = net_of(4, sizes, mixed);
    rlt_design_group g, h;
    rlt_error err = {0};
    assert_int_equal(rlt_design_map(&net, 16, 256, &g, &h, &err), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(g.size[i], inner[i]);
        assert_int_equal(h.size[i], outer[i]);
    }
    assert_int_equal(rlt_design_map(&net, 16, 128, &g, &h, &err), RLT_ERANGE);
    assert_int_equal(rlt_design_map(&net, 3, 4096 / 3, &g, &h, NULL), RLT_ERANGE);
}

/* Dollars per accelerator for 1 GB/s in every dimension, by the published tables. */
static void prices_are_published(void **state)
{
    (void)state;
    static const double want[2][4] = {{2, 4, 4, 57.4}, {1, 2, 2, 57.4}};
    rlt_design_net net = net_of(4, sizes_1024, mixed);
    for (uint32_t k = 0; k < 2; k++) {
        double c[RLT_MAX_DIMS];
        rlt_design_cost cost = {.prices = rlt_design_prices_at(k), .unit_Bps = 1e9};
        rlt_design_cost_rates(&cost, &net, c);
        for (int i = 0; i < 4; i++)
            near(c[i] * 1e9, want[k][i], 1e-12);
    }
}

/* A Clos of t tiers has 2 (r/2)^t ports. */
static void tiers(void **state)
{
    (void)state;
    static const struct {
        uint32_t ports, tiers;
    } rows[] = {{8, 1}, {9, 2}, {32, 2}, {33, 3}, {128, 3}, {129, 4}};
    rlt_design_cost cost = {.radix = 8, .rail = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_design_net net = net_of(1, &rows[i].ports, switches);
        assert_int_equal(rlt_design_tiers(&cost, &net, 0), rows[i].tiers);
    }
}

typedef struct made {
    rlt_design_net net;
    rlt_design_work work;
    rlt_design_model model;
    rlt_design_loop loop;
} made;

/* Makes 10 ms per pass, all-reduces over model groups of 16, gradients over data groups of 64. */
static void make(made *m, const rlt_block *blocks, bool overlap)
{
    *m = (made){.net = net_of(4, sizes_1024, blocks), .loop = rlt_design_loop_default()};
    m->loop.overlap = overlap;
    m->work.model = 16;
    m->work.data = 64;
    rlt_design_layer *l = rlt_design_work_add(&m->work, NULL);
    assert_non_null(l);
    *l = (rlt_design_layer){.compute_s = {0.01, 0.01, 0.01},
                            .comm = {{true, RLT_ALL_REDUCE, RLT_DESIGN_MODEL, 1 << 28},
                                     {true, RLT_ALL_REDUCE, RLT_DESIGN_MODEL, 1 << 28},
                                     {true, RLT_ALL_REDUCE, RLT_DESIGN_DATA, 1 << 28}}};
    assert_int_equal(rlt_design_model_add(&m->model, &m->net, &m->work, &m->loop, 1, NULL), 0);
}

static void drop(made *m)
{
    rlt_design_model_free(&m->model);
    rlt_design_work_free(&m->work);
}

/* By hand: over 2 x 8 2^28 (1, 7/8), over 8 x 8 2^28 (7/4, 7/32). */
static void time_by_hand(void **state)
{
    (void)state;
    static const double bw[RLT_MAX_DIMS] = {100e9, 50e9, 50e9, 5e9};
    double m = 1 << 28, inner = m * 0.875 / 50e9, outer = m * (7. / 32) / 5e9;
    made x;
    make(&x, mixed, false);
    near(rlt_design_time(&x.model, bw), 0.03 + 2 * inner + outer, 1e-12);
    drop(&x);
    make(&x, mixed, true);
    near(rlt_design_time(&x.model, bw), 0.02 + inner + fmax(inner, 0.01 + outer), 1e-12);
    drop(&x);
}

/* The closed form beats all neighbouring splits. */
static void closed_form_is_best(void **state)
{
    (void)state;
    double bw[RLT_MAX_DIMS];
    made x;
    make(&x, mixed, false);
    assert_true(rlt_design_closed_form(&x.model, 1e11, bw));
    double best = rlt_design_time(&x.model, bw), sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += bw[i];
        for (int k = 0; k < 4; k++) {
            double other[RLT_MAX_DIMS];
            memcpy(other, bw, sizeof other);
            other[i] -= bw[i] * 0.01;
            other[k] += bw[i] * 0.01;
            assert_true(i == k || rlt_design_time(&x.model, other) > best);
        }
    }
    near(sum, 1e11, 1e-12);
    drop(&x);
}

/* Simulated pipelines fill and drain: more chunks come closer to the closed form, from above. Bytes are
 * equal. */
static void simulation_approaches(void **state)
{
    (void)state;
    static const double bw[RLT_MAX_DIMS] = {40e9, 30e9, 20e9, 5e9};
    static const uint32_t chunks[] = {16, 64, 256};
    made x;
    make(&x, mixed, false);
    double model = rlt_design_time(&x.model, bw), before = INFINITY;
    for (int k = 0; k < 3; k++) {
        rlt_design_how how = {.chunks = chunks[k], .endpoint = rlt_endpoint_default()};
        rlt_design_run run;
        rlt_error err = {0};
        if (rlt_design_simulate(&x.net, &x.work, &x.loop, bw, &how, &run, &err))
            fail_msg("%s: %s", err.where, err.what);
        double s = (double)run.time_ps * 1e-12;
        assert_true(s > model * (1 - 1e-9) && s < before);
        before = s;
        assert_int_equal(run.compute_ps, 30000000000);
        assert_int_equal(run.collectives, 2);
        near(run.utilization[0] * bw[0] * s, 2 * (double)(1 << 28), 1e-9);
        near(run.utilization[3] * bw[3] * s, (1 << 28) * 7. / 32, 1e-9);
    }
    near(before, model, 0.01);
    drop(&x);
}

/* Parts of dimensions have the links between their members, in the closed form and in the simulation. */
static void parts_of_dimensions(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {16, 8, 16};
    static const rlt_block blocks[][3] = {{RLT_BLOCK_RING, RLT_BLOCK_SWITCH, RLT_BLOCK_SWITCH},
                                          {RLT_BLOCK_SWITCH, RLT_BLOCK_FULL, RLT_BLOCK_SWITCH},
                                          {RLT_BLOCK_SWITCH, RLT_BLOCK_RING, RLT_BLOCK_SWITCH}};
    static const uint32_t models[] = {8, 64, 64};
    static const double bw[RLT_MAX_DIMS] = {40e9, 10e9, 40e9};
    for (int k = 0; k < 3; k++) {
        made x = {.net = net_of(3, sizes, blocks[k]), .loop = rlt_design_loop_default()};
        x.work.model = models[k];
        x.work.data = 2048 / models[k];
        rlt_design_layer *l = rlt_design_work_add(&x.work, NULL);
        assert_non_null(l);
        l->comm[0] = (rlt_design_comm){true, RLT_ALL_REDUCE, RLT_DESIGN_MODEL, 1 << 30};
        l->comm[2] = (rlt_design_comm){k > 0, RLT_ALL_REDUCE, RLT_DESIGN_DATA, 1 << 30};
        rlt_design_run run;
        rlt_design_how how = {.chunks = 256, .endpoint = rlt_endpoint_default()};
        assert_int_equal(rlt_design_model_add(&x.model, &x.net, &x.work, &x.loop, 1, NULL), 0);
        assert_int_equal(rlt_design_simulate(&x.net, &x.work, &x.loop, bw, &how, &run, NULL), 0);
        near((double)run.time_ps * 1e-12, rlt_design_time(&x.model, bw), 0.03);
        drop(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_moves),      cmocka_unit_test(collectives_add_up),
        cmocka_unit_test(switches_add),          cmocka_unit_test(groups_fill),
        cmocka_unit_test(prices_are_published),  cmocka_unit_test(tiers),
        cmocka_unit_test(time_by_hand),          cmocka_unit_test(closed_form_is_best),
        cmocka_unit_test(simulation_approaches), cmocka_unit_test(parts_of_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
