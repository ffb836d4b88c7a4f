/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed forms of designed networks against a second model that knows no shapes: random networks, groups,
 * layers, loops and prices, each term added up as workload/design/design.h writes it. The simulation without
 * overlap is the sum of its parts, each simulated alone. And what is refused, word for word.
 */
#include "test/support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "workload/design/design.h"

enum { LAYERS = 6, KIB = 1024 };

typedef struct made {
    rlt_design_net net;
    rlt_design_work work;
    rlt_design_loop loop;
    uint32_t size[3][RLT_MAX_DIMS]; /* members of a group, by rlt_design_over */
    double bw[RLT_MAX_DIMS], factor;
} made;

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g instead of %.12g", got, want);
}

/* A number of few digits, so that equal ones are met. */
static double some(dice *d, uint32_t n)
{
    return 1 + below(d, n);
}

static void draw_comm(dice *d, rlt_design_comm *c)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL};
    *c = (rlt_design_comm){.any = below(d, 4) > 0,
                           .kind = kinds[below(d, 4)],
                           .over = (rlt_design_over)below(d, 3),
                           .bytes = 100 * KIB * some(d, 4)};
}

/* Draws a network whose model groups have the first dimensions, and perhaps a part of the next one. */
static made draw(dice *d, uint32_t most_dims)
{
    static const uint32_t parts[][3] = {{2, 1, 1}, {3, 1, 1}, {4, 1, 2}, {6, 2, 3}, {8, 2, 4}, {8, 1, 1}};
    made m = {.net = {.n = 1 + below(d, most_dims), .ideal = below(d, 4) == 0}, .factor = some(d, 3) / 2};
    uint32_t inside = below(d, m.net.n + 1);
    m.work.model = m.work.data = 1;
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++) {
        const uint32_t *row = parts[below(d, 6)];
        uint32_t n = i < m.net.n ? row[0] : 1, part = row[1 + below(d, 2)];
        part = i < inside ? n : i > inside || n == 1 ? 1 : part;
        m.size[RLT_DESIGN_MODEL][i] = part;
        m.size[RLT_DESIGN_DATA][i] = n / part;
        m.size[RLT_DESIGN_EVERY][i] = n;
        m.work.model *= part;
        m.work.data *= n / part;
        if (i < m.net.n)
            m.net.dims[i] = (rlt_design_dim){.block = (rlt_block)below(d, RLT_BLOCKS),
                                             .size = n,
                                             .in_network = below(d, 5) == 0,
                                             .latency_ps = 1000 * (rlt_time)below(d, 100)};
        m.bw[i] = 1e9 * some(d, 20);
    }
    rlt_design_levels(&m.net);
    m.loop = (rlt_design_loop){below(d, 2), some(d, 3), some(d, 3), some(d, 3) / 2};
    for (uint32_t k = 1 + below(d, LAYERS); k > 0; k--) {
        rlt_design_layer *l = rlt_design_work_add(&m.work, NULL);
        assert_non_null(l);
        for (uint32_t p = 0; p < 3; p++) {
            l->compute_s[p] = 1e-5 * below(d, 4);
            draw_comm(d, &l->comm[p]);
        }
    }
    return m;
}

/* ---- the second model ---- */

/* Bytes into each dimension, times how much longer its links make them take. */
static void moves(const made *m, const rlt_design_comm *c, double v[RLT_MAX_DIMS])
{
    double s = c->any ? c->bytes : 0;
    for (uint32_t i = 0; i < m->net.n; i++) {
        const rlt_design_dim *dim = &m->net.dims[i];
        double g = m->size[c->over][i], n = dim->size;
        v[i] = s * (g - 1) / g;
        if (c->kind == RLT_ALL_REDUCE)
            v[i] = g > 1 && dim->in_network ? s : 2 * v[i];
        s = c->kind == RLT_ALL_TO_ALL ? s : s / g;
        if (m->net.ideal || g <= 1 || g >= n || dim->block == RLT_BLOCK_SWITCH)
            continue;
        if (dim->block == RLT_BLOCK_FULL)
            v[i] *= (n - 1) / (g - 1);
        else
            v[i] *= c->over == RLT_DESIGN_MODEL ? 2 : n / g;
    }
}

static double seconds(const made *m, const double *bw, const rlt_design_comm *c)
{
    double v[RLT_MAX_DIMS], worst = 0;
    moves(m, c, v);
    for (uint32_t i = 0; i < m->net.n; i++)
        worst = v[i] > 0 ? fmax(worst, v[i] / bw[i]) : worst;
    return worst;
}

static double iteration(const made *m, const double *bw)
{
    double t = 0;
    for (uint32_t i = 0; i < m->work.n; i++) {
        const rlt_design_layer *l = &m->work.layers[i];
        double in = l->compute_s[1] * m->loop.compute_scale,
               weights = l->compute_s[2] * m->loop.compute_scale, in_comm = seconds(m, bw, &l->comm[1]),
               weights_comm = seconds(m, bw, &l->comm[2]);
        t += l->compute_s[0] * m->loop.compute_scale * m->loop.forward_compute;
        t += seconds(m, bw, &l->comm[0]) * m->loop.forward_passes;
        t += m->loop.overlap ? fmax(in + in_comm, in + weights + weights_comm)
                             : in + in_comm + weights + weights_comm;
    }
    return t * m->factor;
}

static double all_compute(const made *m)
{
    double t = 0;
    for (uint32_t i = 0; i < m->work.n; i++) {
        const double *s = m->work.layers[i].compute_s;
        t += s[0] * m->loop.forward_compute + s[1] + s[2];
    }
    return t * m->loop.compute_scale * m->factor;
}

static void add(rlt_design_model *model, const made *m)
{
    rlt_error err = {0};
    if (rlt_design_model_add(model, &m->net, &m->work, &m->loop, m->factor, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* One workload, and two on one network, with bandwidths of their own. */
static void times_are_sums(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 2000; k++) {
        dice d = {.seed = 100 + k};
        made m = draw(&d, 5);
        rlt_design_model model = {0};
        rlt_design_group g[2];
        assert_int_equal(rlt_design_map(&m.net, m.work.model, m.work.data, &g[0], &g[1], NULL), 0);
        assert_memory_equal(g[0].size, m.size[RLT_DESIGN_MODEL], sizeof g[0].size);
        assert_memory_equal(g[1].size, m.size[RLT_DESIGN_DATA], sizeof g[1].size);
        double v[RLT_MAX_DIMS], each[RLT_MAX_DIMS];
        rlt_design_comm c = m.work.layers[0].comm[0];
        made plain = m;
        c.any = plain.net.ideal = true;
        moves(&plain, &c, each);
        assert_int_equal(rlt_design_traffic(&m.net, c.kind, &g[0], c.bytes, v, NULL), 0);
        for (uint32_t i = 0; i < RLT_MAX_DIMS && c.over == RLT_DESIGN_MODEL; i++)
            near(v[i], i < m.net.n ? each[i] : 0);
        add(&model, &m);
        near(rlt_design_time(&model, m.bw), iteration(&m, m.bw));
        near(model.compute_s, all_compute(&m));
        made other = m;
        other.factor = 3;
        other.loop = (rlt_design_loop){!m.loop.overlap, 2, 1, 3};
        add(&model, &other);
        near(rlt_design_time(&model, m.bw), iteration(&m, m.bw) + iteration(&other, m.bw));
        near(model.compute_s, all_compute(&m) + all_compute(&other));
        rlt_design_model_free(&model);
        rlt_design_work_free(&m.work);
    }
}

/* Equal overlapped layers are one choice; those that have no choice are none. */
static void equal_layers_are_counted(void **state)
{
    (void)state;
    made m = {.net = {.n = 1, .dims = {{.block = RLT_BLOCK_SWITCH, .size = 4}}}, .factor = 1};
    m.work.model = 2;
    m.work.data = 2;
    m.loop = rlt_design_loop_default();
    m.loop.overlap = true;
    for (uint32_t i = 0; i < 12; i++) {
        rlt_design_layer *l = rlt_design_work_add(&m.work, NULL);
        assert_non_null(l);
        l->compute_s[i % 2 ? 1 : 2] = i < 4 ? 1e-3 : 2e-3;
        l->comm[1] = (rlt_design_comm){i != 11, RLT_ALL_REDUCE, RLT_DESIGN_MODEL, i < 8 ? 1000 : 2000};
        l->comm[2] = (rlt_design_comm){i < 10, RLT_ALL_REDUCE, RLT_DESIGN_DATA, i < 9 ? 500 : 7000};
    }
    /* 0 2; 1 3; 4 6; 5 7; 8; 10. Not 9: more bytes of one shape last longer than fewer. Not 11. */
    rlt_design_model model = {0};
    add(&model, &m);
    assert_int_equal(model.n_choices, 6);
    for (uint32_t k = 0; k < 4; k++)
        near(model.choices[k].count, 2);
    assert_int_equal(model.n_shapes, 1);
    rlt_design_model_free(&model);
    rlt_design_work_free(&m.work);
}

/* ---- the best split ---- */

/* Whether collectives of different proportions share no dimension, and there is one at least. */
static bool is_simple(const made *m)
{
    double v[3 * LAYERS][RLT_MAX_DIMS], sum[3 * LAYERS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3 * m->work.n; i++) {
        moves(m, &m->work.layers[i / 3].comm[i % 3], v[n]);
        sum[n] = 0;
        for (uint32_t k = 0; k < m->net.n; k++)
            sum[n] += v[n][k];
        n += sum[n] > 0;
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++) {
            bool same = true, meet = false;
            for (uint32_t k = 0; k < m->net.n; k++) {
                same &= fabs(v[a][k] / sum[a] - v[b][k] / sum[b]) < 1e-6;
                meet |= v[a][k] > 0 && v[b][k] > 0;
            }
            if (meet && !same)
                return false;
        }
    return n > 0;
}

static void splits_are_best(void **state)
{
    (void)state;
    uint32_t simple = 0;
    for (uint32_t k = 0; k < 3000; k++) {
        dice d = {.seed = 5000 + k};
        made m = draw(&d, 3);
        rlt_design_model model = {0};
        double bw[RLT_MAX_DIMS], sum = 0;
        m.loop.overlap = false;
        m.work.n = m.work.n > 2 ? 2 : m.work.n;
        add(&model, &m);
        bool found = rlt_design_closed_form(&model, 1e11, bw);
        assert_int_equal(found, is_simple(&m));
        for (uint32_t i = 0; i < RLT_MAX_DIMS && found; i++)
            sum += bw[i];
        for (uint32_t try = 0; try < 20 && found; try++) {
            double other[RLT_MAX_DIMS], total = 0;
            for (uint32_t i = 0; i < m.net.n; i++)
                total += other[i] = some(&d, 100);
            for (uint32_t i = 0; i < m.net.n; i++)
                other[i] *= 1e11 / total;
            assert_true(rlt_design_time(&model, bw) <= rlt_design_time(&model, other) * (1 + 1e-12));
        }
        if (found)
            near(sum, 1e11);
        simple += found;
        rlt_design_model_free(&model);
        rlt_design_work_free(&m.work);
    }
    assert_true(simple > 300);
}

/* ---- cost ---- */

static void costs_are_sums(void **state)
{
    (void)state;
    static const rlt_level levels[] = {RLT_LEVEL_POD, RLT_LEVEL_NODE, RLT_LEVEL_PACKAGE, RLT_LEVEL_CHIPLET};
    for (uint32_t k = 0; k < 2000; k++) {
        dice d = {.seed = 9000 + k};
        made m = draw(&d, 6);
        rlt_design_prices p = {.pairs = below(&d, 2)};
        rlt_design_cost c = {&p, below(&d, 2) ? 1e9 : 1073741824., some(&d, 900), some(&d, 3) - 1, 0, false};
        double rates[RLT_MAX_DIMS], each = c.npu, ports = 1;
        c.radix = below(&d, 3) ? 2 * below(&d, 5) : 0;
        c.rail = below(&d, 2);
        for (uint32_t l = 0; l < RLT_LEVELS; l++) {
            p.link[l] = below(&d, 9);
            p.switch_port[l] = below(&d, 4);
            p.nic[l] = below(&d, 3);
        }
        rlt_design_cost_rates(&c, &m.net, rates);
        for (uint32_t i = 0; i < m.net.n; i++) {
            const rlt_design_dim *dim = &m.net.dims[i];
            uint32_t out = m.net.n - 1 - i, tiers = 1;
            rlt_level level = m.net.n == 2 && i == 0 ? RLT_LEVEL_PACKAGE : levels[out < 4 ? out : 3];
            double tie = c.tie_break * (i + 1), link = p.link[level] + tie;
            ports *= dim->size;
            while (c.radix > 2 && 2 * pow(c.radix / 2, tiers) < (c.rail ? dim->size : ports))
                tiers++;
            assert_int_equal(dim->level, level);
            assert_int_equal(rlt_design_tiers(&c, &m.net, i), tiers);
            double port = p.switch_port[level] > 0 ? p.switch_port[level] + tie : 0;
            double nic = p.nic[level] > 0 ? p.nic[level] + tie : 0, dollars = p.pairs ? link / 2 : link;
            if (dim->block == RLT_BLOCK_SWITCH)
                dollars = tiers * link + (2 * tiers - 1) * port + nic;
            near(rates[i] * c.unit_Bps, dollars);
            each += dollars * m.bw[i] / c.unit_Bps;
        }
        for (uint32_t i = m.net.n; i < RLT_MAX_DIMS; i++)
            near(rates[i], 0);
        near(rlt_design_cost_total(&c, &m.net, m.bw), each * m.work.model * m.work.data);
        rlt_design_work_free(&m.work);
    }
}

/* ---- the simulation, part by part ---- */

static rlt_design_run simulate(const made *m, uint32_t chunks, bool switches)
{
    rlt_design_how how = {.chunks = chunks, .all_switches = switches, .endpoint = rlt_endpoint_default()};
    rlt_design_run run;
    rlt_error err = {0};
    if (rlt_design_simulate(&m->net, &m->work, &m->loop, m->bw, &how, &run, &err))
        fail_msg("%s: %s", err.where, err.what);
    return run;
}

/* One collective alone, without compute. */
static rlt_design_run simulate_one(const made *m, const rlt_design_comm *c, uint32_t chunks, bool switches)
{
    made one = *m;
    rlt_design_layer layer = {.comm = {*c}};
    one.work.layers = &layer;
    one.work.n = 1;
    one.loop = rlt_design_loop_default();
    return simulate(&one, chunks, switches);
}

/* The bytes of ten collectives at most fill 64 chunks, if none are said; 100 KiB are one. */
static uint32_t chunks_for(double bytes)
{
    uint32_t n = (uint32_t)(bytes / (256 * KIB));
    return n < 1 ? 1 : n > 64 ? 64 : n;
}

static void simulations_are_sums(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 200; k++) {
        dice d = {.seed = 700 + k};
        made m = draw(&d, 2);
        uint32_t chunks = below(&d, 4), n = 0;
        bool switches = below(&d, 3) == 0;
        rlt_design_comm seen[3 * LAYERS];
        double sent[RLT_MAX_DIMS] = {0};
        rlt_time time_ps = 0, compute_ps = 0;
        m.loop.overlap = false;
        for (uint32_t i = 0; i < m.net.n; i++)
            m.net.dims[i].in_network &= m.net.dims[i].block == RLT_BLOCK_SWITCH;
        for (uint32_t i = 0; i < 3 * m.work.n; i++) {
            rlt_design_comm *c = &m.work.layers[i / 3].comm[i % 3];
            double forward = i % 3 ? 1 : m.loop.forward_compute, times = i % 3 ? 1 : m.loop.forward_passes;
            c->bytes *= below(&d, 8) ? 1 : 200;
            compute_ps +=
                llround(m.work.layers[i / 3].compute_s[i % 3] * forward * m.loop.compute_scale * 1e12);
            uint32_t members = c->over == RLT_DESIGN_MODEL  ? m.work.model
                               : c->over == RLT_DESIGN_DATA ? m.work.data
                                                            : m.work.model * m.work.data;
            if (!c->any || members == 1)
                continue;
            rlt_design_run one = simulate_one(&m, c, chunks ? chunks : chunks_for(c->bytes), switches);
            time_ps += llround((double)one.time_ps * times);
            for (uint32_t j = 0; j < m.net.n; j++)
                sent[j] += one.utilization[j] * m.bw[j] * (double)one.time_ps * 1e-12 * times;
            uint32_t same = 0;
            while (same < n && (seen[same].kind != c->kind || seen[same].over != c->over ||
                                fabs(seen[same].bytes - c->bytes) > 0.5))
                same++;
            seen[same] = *c;
            n += same == n;
            assert_int_equal(one.compute_ps, 0);
            assert_int_equal(one.collectives, 1);
        }
        rlt_design_run run = simulate(&m, chunks, switches);
        assert_int_equal(run.time_ps, time_ps + compute_ps);
        assert_int_equal(run.compute_ps, compute_ps);
        assert_int_equal(run.collectives, n);
        assert_int_equal(run.contending + run.composed, 0);
        for (uint32_t j = 0; j < m.net.n; j++)
            near(run.utilization[j] * m.bw[j] * (double)run.time_ps * 1e-12, sent[j]);
        rlt_design_work_free(&m.work);
    }
}

/* ---- what is refused ---- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        uint32_t model, data;
        const char *what;
    } rows[] = {
        {2, 3, "2 model-parallel x 3 data-parallel ranks do not equal 24 accelerators"},
        {3, 8, "a group of 3 model ranks does not divide dimension 1 of size 4"},
        {6, 4, "a group of 6 model ranks does not divide dimension 1 of size 4"},
        {4, 6, NULL},
        {8, 3, NULL},
        {12, 2, NULL},
        {1, 24, NULL},
        {24, 1, NULL},
    };
    rlt_design_net net = {
        .n = 2, .dims = {{.block = RLT_BLOCK_SWITCH, .size = 4}, {.block = RLT_BLOCK_RING, .size = 6}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_design_group g, h;
        rlt_error err = {0};
        int rc = rlt_design_map(&net, rows[i].model, rows[i].data, &g, &h, &err);
        assert_int_equal(rc, rows[i].what ? RLT_ERANGE : 0);
        assert_string_equal(err.what, rows[i].what ? rows[i].what : "");
    }
    double v[RLT_MAX_DIMS];
    rlt_error err = {0};
    rlt_design_group all = {{4, 6, 1, 1, 1, 1, 1, 1}};
    assert_int_equal(rlt_design_traffic(&net, RLT_REDUCE, &all, 1, v, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what,
                        "design supports all_reduce, reduce_scatter, all_gather and all_to_all, not reduce");
}

/* 64 proportions fit into a model, and 4096 different layers. */
static void limits(void **state)
{
    (void)state;
    rlt_design_model model = {0};
    rlt_error err = {0};
    for (uint32_t i = 0; i <= RLT_DESIGN_SHAPES; i++) {
        made m = {.net = {.n = 2, .dims = {{.size = 2}, {.size = 2 + i}}}, .factor = 1};
        m.loop = rlt_design_loop_default();
        m.work.model = 2 * (2 + i);
        m.work.data = 1;
        rlt_design_layer *l = rlt_design_work_add(&m.work, NULL);
        l->comm[0] = (rlt_design_comm){true, RLT_ALL_TO_ALL, RLT_DESIGN_EVERY, 1000};
        int rc = rlt_design_model_add(&model, &m.net, &m.work, &m.loop, 1, &err);
        assert_int_equal(rc, i < RLT_DESIGN_SHAPES ? 0 : RLT_ERANGE);
        rlt_design_work_free(&m.work);
    }
    assert_string_equal(err.what, "collectives load the dimensions in more than 64 different proportions");
    rlt_design_model_free(&model);
    made m = {.net = {.n = 1, .dims = {{.size = 4}}}, .factor = 1};
    m.loop = rlt_design_loop_default();
    m.loop.overlap = true;
    m.work.model = 4;
    m.work.data = 1;
    rlt_design_layer *l = rlt_design_work_add(&m.work, NULL);
    l->comm[1] = (rlt_design_comm){true, RLT_ALL_REDUCE, RLT_DESIGN_MODEL, 1000};
    for (uint32_t i = 0; i <= RLT_DESIGN_CHOICES; i++) {
        l->compute_s[1] = 1e-6 * i;
        int rc = rlt_design_model_add(&model, &m.net, &m.work, &m.loop, 1, &err);
        assert_int_equal(rc, i < RLT_DESIGN_CHOICES ? 0 : RLT_ERANGE);
    }
    rlt_design_model_free(&model);
    rlt_design_work_free(&m.work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_sums),  cmocka_unit_test(equal_layers_are_counted),
        cmocka_unit_test(splits_are_best), cmocka_unit_test(costs_are_sums),
        cmocka_unit_test(refusals),        cmocka_unit_test(simulations_are_sums),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
