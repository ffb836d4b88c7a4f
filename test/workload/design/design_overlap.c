/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulation of simultaneous collectives on a designed network. It is compared with the whole iteration of
 * all accelerators as a program, replayed on the whole network without folding; with bytes over bandwidth;
 * and with the closed form, which is a lower bound.
 */
#include "net/import/import.h"
#include "test/support/dice.h"
#include "test/support/support.h"

#include <math.h>
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/design/design.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { CASES = 120, SEED = 20250311, CHUNKS = 4, MIB = 1 << 20 };

typedef struct made {
    rlt_design_net net;
    rlt_design_work work;
    rlt_design_loop loop;
    double bw[RLT_MAX_DIMS];
} made;

static rlt_design_layer *add_layer(made *m)
{
    rlt_design_layer *l = rlt_design_work_add(&m->work, NULL);
    assert_non_null(l);
    return l;
}

static rlt_design_run simulate(const made *m)
{
    rlt_design_how how = {.chunks = CHUNKS, .endpoint = rlt_endpoint_default()};
    rlt_design_run run;
    rlt_error err = {0};
    if (rlt_design_simulate(&m->net, &m->work, &m->loop, m->bw, &how, &run, &err))
        fail_msg("%s: %s", err.where, err.what);
    return run;
}

/* ---- the whole iteration as a program ---- */

typedef struct whole {
    const made *m;
    rlt_builder *b;
    uint32_t rank;
} whole;

static uint32_t group_of(const whole *w, rlt_design_over over)
{
    uint32_t model = w->m->work.model, data = w->m->work.data, all = model * data, ranks[256];
    uint32_t n = over == RLT_DESIGN_MODEL ? model : over == RLT_DESIGN_DATA ? data : all, first = 0, by = 1;
    if (over == RLT_DESIGN_MODEL)
        first = w->rank / model * model;
    if (over == RLT_DESIGN_DATA) {
        first = w->rank % model;
        by = model;
    }
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = first + i * by;
    char label[32];
    snprintf(label, sizeof label, "%d of %u", (int)over, first);
    return rlt_build_group(w->b, label, ranks, n);
}

static uint32_t after(const whole *w, const rlt_op_desc *d, uint32_t on)
{
    uint32_t op = rlt_build_op(w->b, d);
    if (on != RLT_NONE)
        rlt_build_dep(w->b, op, on);
    return op;
}

static uint32_t put_compute(const whole *w, double seconds, uint32_t on)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, w->rank);
    d.duration_ps = llround(seconds * 1e12);
    return after(w, &d, on);
}

static uint32_t put_comm(const whole *w, const rlt_design_comm *c, uint32_t on)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, w->rank);
    if (!c->any)
        return on;
    d.coll = c->kind;
    d.bytes = (uint64_t)c->bytes;
    d.group = group_of(w, c->over);
    return after(w, &d, on);
}

static void put_rank(const whole *w)
{
    const rlt_design_work *work = &w->m->work;
    uint32_t last = RLT_NONE;
    for (uint32_t i = 0; i < work->n; i++)
        last = put_comm(w, &work->layers[i].comm[0], put_compute(w, work->layers[i].compute_s[0], last));
    for (uint32_t i = work->n; i-- > 0;) {
        const rlt_design_layer *l = &work->layers[i];
        uint32_t inputs = put_compute(w, l->compute_s[1], last);
        last = put_comm(w, &l->comm[1], inputs);
        uint32_t weights = put_compute(w, l->compute_s[2], w->m->loop.overlap ? inputs : last);
        weights = put_comm(w, &l->comm[2], weights);
        rlt_op_desc both = rlt_op_desc_init(RLT_OP_DELAY, w->rank);
        both.duration_ps = 0;
        uint32_t end = after(w, &both, last);
        rlt_build_dep(w->b, end, weights);
        last = end;
    }
}

static rlt_time replay(const made *m)
{
    char spec[512] = "";
    rlt_topology *t = NULL;
    rlt_program *p = NULL;
    rlt_replay *x = NULL;
    rlt_error err = {0};
    whole w = {.m = m};
    rlt_replay_options o = rlt_replay_options_default();
    for (uint32_t i = 0; i < m->net.n; i++) {
        const rlt_design_dim *d = &m->net.dims[i];
        const char *shape =
            d->block == RLT_BLOCK_RING && d->size == 2 ? "fully-connected" : rlt_block_name(d->block);
        snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "%s%s:%u@%.0fB/s,%ldps%s", i ? "*" : "",
                 shape, d->size, m->bw[i], (long)d->latency_ps,
                 d->in_network ? ",in_network=reduce+multicast" : "");
        o.params.patterns[i] = d->block != RLT_BLOCK_SWITCH ? NULL
                               : d->in_network              ? "nvls"
                                                            : "halving_doubling";
    }
    if (rlt_topology_load(spec, NULL, &t, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    assert_int_equal(rlt_builder_create(m->work.model * m->work.data, &w.b, &err), 0);
    for (; w.rank < m->work.model * m->work.data; w.rank++)
        put_rank(&w);
    if (rlt_builder_finish(w.b, "test", &p, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    o.topology = t;
    o.params.chunks = CHUNKS;
    for (uint32_t k = 0; k < RLT_COLL_KINDS; k++)
        o.algorithm[k] = &rlt_hierarchical;
    if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    rlt_time end = rlt_replay_time(x);
    rlt_replay_free(x);
    rlt_program_free(p);
    rlt_topology_free(t);
    return end;
}

/* ---- random cases ---- */

static void draw_comm(dice *d, bool adds, rlt_design_over over, rlt_design_comm *c)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER,
                                          RLT_ALL_TO_ALL};
    *c = (rlt_design_comm){.any = below(d, 6) > 0,
                           .kind = kinds[adds ? 0 : below(d, 5)],
                           .over = below(d, 4) ? over : (rlt_design_over)below(d, 3),
                           .bytes = (double)MIB * (1 + below(d, 8))};
}

/* Draws a case. Sizes are powers of 2, and bandwidths of links whole numbers. */
static bool draw(uint32_t number, made *m)
{
    dice d = {.seed = SEED, .stream = number};
    bool adds = false;
    *m = (made){.net = {.n = 1 + below(&d, 3)}, .loop = rlt_design_loop_default()};
    m->loop.overlap = true;
    m->work.model = 1;
    for (uint32_t i = 0; i < m->net.n; i++) {
        rlt_design_dim *dim = &m->net.dims[i];
        *dim = (rlt_design_dim){.block = below(&d, 2) ? RLT_BLOCK_SWITCH : (rlt_block)below(&d, RLT_BLOCKS),
                                .size = (m->net.n == 3 ? 2u : 4u) << below(&d, 2),
                                .latency_ps = 1000 * below(&d, 50)};
        dim->in_network = dim->block == RLT_BLOCK_SWITCH && m->net.n == 1 && below(&d, 3) == 0;
        adds = adds || dim->in_network;
        m->bw[i] = 42e6 * (1 + below(&d, 1000));
    }
    rlt_design_levels(&m->net);
    for (uint32_t i = 0; i < m->net.n; i++) { /* at most to the inside of a dimension */
        uint32_t size = m->net.dims[i].size, part = below(&d, 3) ? 2 : 1;
        bool whole_dim = i + 1 < m->net.n && below(&d, 3) == 0;
        m->work.model *= whole_dim ? size : size > part ? part : 1;
        if (!whole_dim)
            break;
    }
    m->work.data = (uint32_t)rlt_design_size(&m->net) / m->work.model;
    for (uint32_t k = 1 + below(&d, 2); k > 0; k--) {
        rlt_design_layer *l = add_layer(m);
        for (uint32_t p = 0; p < 3; p++) {
            l->compute_s[p] = 1e-9 * below(&d, 2000000);
            draw_comm(&d, adds, p == 2 ? RLT_DESIGN_DATA : RLT_DESIGN_MODEL, &l->comm[p]);
        }
        if (below(&d, 2))
            l->compute_s[2] *= 0.01;
    }
    return adds;
}

/* A part of a ring is a line here; the ring algorithm of the whole ring does not apply. */
static bool parts_a_ring(const made *m)
{
    rlt_design_group inner, outer;
    assert_int_equal(rlt_design_map(&m->net, m->work.model, m->work.data, &inner, &outer, NULL), 0);
    for (uint32_t i = 0; i < m->net.n; i++)
        if (m->net.dims[i].block == RLT_BLOCK_RING && inner.size[i] > 1 && outer.size[i] > 1)
            return true;
    return false;
}

/* Without folding, each of many messages is rounded to a picosecond. */
static void is_the_whole_iteration(void **state)
{
    (void)state;
    uint32_t compared = 0, equal = 0, contended = 0, composed = 0, adding = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        made m;
        rlt_design_model model = {0};
        bool adds = draw(i, &m);
        assert_int_equal(rlt_design_model_add(&model, &m.net, &m.work, &m.loop, 1, NULL), 0);
        rlt_design_run run = simulate(&m);
        double least = rlt_design_time(&model, m.bw) * 1e12;
        if ((double)run.time_ps < least * (1 - 1e-9))
            fail_msg("case %u: %lld ps, below the closed form's %.0f", i, (long long)run.time_ps, least);
        composed += run.composed > 0;
        if (!run.composed && !parts_a_ring(&m)) {
            rlt_time all = replay(&m);
            if (fabs((double)(run.time_ps - all)) > 1e-7 * (double)all)
                fail_msg("case %u: %lld ps, the whole iteration %lld, %u contend", i, (long long)run.time_ps,
                         (long long)all, run.contending);
            compared++;
            equal += run.time_ps == all;
            contended += run.contending > 0;
            adding += adds && run.contending > 0;
        }
        rlt_design_model_free(&model);
        rlt_design_work_free(&m.work);
    }
    print_message("%u compared with the whole iteration, %u equal to the ps; %u of them contend, %u in "
                  "switches that add up; %u are composed\n",
                  compared, equal, contended, adding, composed);
    assert_true(compared > CASES / 2 && equal > compared / 2 && contended > CASES / 6 && adding > 1 &&
                composed > 1);
}

/* ---- by hand ---- */

enum { LATENCY_PS = 1000 };

/* Makes switch:8, in which model groups have `model` places, with one layer without compute. */
static made one_switch(uint32_t model, rlt_design_over input, rlt_design_over weight)
{
    made m = {.net = {.n = 1, .dims = {{.block = RLT_BLOCK_SWITCH, .size = 8, .latency_ps = LATENCY_PS}}},
              .work = {.model = model, .data = 8 / model},
              .loop = rlt_design_loop_default(),
              .bw = {10e9}};
    rlt_design_levels(&m.net);
    m.loop.overlap = true;
    rlt_design_layer *l = add_layer(&m);
    l->comm[1] = (rlt_design_comm){true, RLT_ALL_REDUCE, input, 64. * MIB};
    l->comm[2] = (rlt_design_comm){true, RLT_ALL_REDUCE, weight, 32. * MIB};
    return m;
}

/* Ports carry everything that two collectives send at once, 2 (g-1)/g each: no faster, and with all chunks
 * under way hardly slower. */
static void a_port_is_shared(void **state)
{
    (void)state;
    static const struct {
        rlt_design_over input, weight;
        double in, out;
    } rows[] = {{RLT_DESIGN_MODEL, RLT_DESIGN_DATA, 2, 4},
                {RLT_DESIGN_EVERY, RLT_DESIGN_DATA, 8, 4},
                {RLT_DESIGN_MODEL, RLT_DESIGN_EVERY, 2, 8},
                {RLT_DESIGN_DATA, RLT_DESIGN_DATA, 4, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m = one_switch(2, rows[i].input, rows[i].weight);
        double a = 2 * (rows[i].in - 1) / rows[i].in * 64 * MIB,
               b = 2 * (rows[i].out - 1) / rows[i].out * 32 * MIB, s = (a + b) / m.bw[0];
        rlt_design_run run = simulate(&m);
        assert_int_equal(run.contending, 1);
        assert_int_equal(run.composed, 0);
        if ((double)run.time_ps < s * 1e12 || (double)run.time_ps > s * 1.02e12)
            fail_msg("row %zu: %lld ps for %.0f bytes, %.0f at least", i, (long long)run.time_ps, a + b,
                     s * 1e12);
        if (fabs(run.utilization[0] * m.bw[0] * (double)run.time_ps * 1e-12 / (a + b) - 1) > 1e-9)
            fail_msg("row %zu: not the bytes of the law", i);
        rlt_design_work_free(&m.work);
    }
}

/* Two collectives and their pair, once for all equal layers; a layer of other bytes has others. */
static void equal_layers_are_simulated_once(void **state)
{
    (void)state;
    made m = one_switch(2, RLT_DESIGN_MODEL, RLT_DESIGN_DATA);
    const rlt_design_run one = simulate(&m);
    assert_int_equal(one.collectives, 2); /* the first alone, then both */
    for (uint32_t n = 2; n <= 4; n++) {
        rlt_design_layer *l = add_layer(&m);
        memcpy(l->comm, m.work.layers[0].comm, sizeof l->comm);
        const rlt_design_run run = simulate(&m);
        assert_int_equal(run.time_ps, n * one.time_ps);
        assert_int_equal(run.contending, n);
        assert_int_equal(run.collectives, 2);
    }
    m.work.layers[1].comm[2].bytes = 16. * MIB; /* the first is the same */
    assert_int_equal(simulate(&m).collectives, 3);
    m.work.layers[2].comm[1].bytes = 16. * MIB;
    assert_int_equal(simulate(&m).collectives, 5);
    m.work.layers[2].comm[2].bytes = 16. * MIB;
    assert_int_equal(simulate(&m).collectives, 5);
    rlt_design_work_free(&m.work);
}

/* The second begins after the end of the first: each is alone. */
static void one_after_the_other(void **state)
{
    (void)state;
    made m = one_switch(2, RLT_DESIGN_MODEL, RLT_DESIGN_DATA);
    m.loop.overlap = false;
    rlt_time sum = simulate(&m).time_ps;
    m.loop.overlap = true;
    m.work.layers[0].compute_s[2] = 64 * MIB / m.bw[0] + 1e-3;
    rlt_design_run run = simulate(&m);
    assert_int_equal(run.contending, 0);
    m.work.layers[0].comm[1].any = false;
    m.work.layers[0].compute_s[2] = 0;
    rlt_time data = simulate(&m).time_ps;
    assert_int_equal(run.time_ps, llround((64 * MIB / m.bw[0] + 1e-3) * 1e12) + data);
    m.work.layers[0].comm[1].any = true;
    m.work.layers[0].comm[2].any = false;
    assert_int_equal(sum, simulate(&m).time_ps + data);
    rlt_design_work_free(&m.work);
}

/* Collectives that do not contend take the longer of the two: over separate dimensions, or over links inside
 * parts and links across parts. If part of a ring is shared, `composed` counts it. */
static void others_are_the_longer(void **state)
{
    (void)state;
    static const struct {
        uint32_t sizes[2], model, composed;
        rlt_block blocks[2];
    } rows[] = {{{4, 8}, 4, 0, {RLT_BLOCK_RING, RLT_BLOCK_SWITCH}},
                {{8, 4}, 2, 0, {RLT_BLOCK_FULL, RLT_BLOCK_SWITCH}},
                {{8, 4}, 2, 1, {RLT_BLOCK_RING, RLT_BLOCK_SWITCH}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m = one_switch(2, RLT_DESIGN_MODEL, RLT_DESIGN_DATA);
        rlt_design_comm comm[2] = {m.work.layers[0].comm[1], m.work.layers[0].comm[2]};
        rlt_time alone[2];
        m.net.n = 2;
        for (int d = 0; d < 2; d++) {
            m.net.dims[d] = (rlt_design_dim){
                .block = rows[i].blocks[d], .size = rows[i].sizes[d], .latency_ps = LATENCY_PS};
            m.bw[d] = 21e9;
        }
        m.work.model = rows[i].model;
        m.work.data = 32 / rows[i].model;
        rlt_design_run run = simulate(&m);
        assert_int_equal(run.contending, 0);
        assert_int_equal(run.composed, rows[i].composed);
        for (int k = 0; k < 2; k++) {
            m.work.layers[0].comm[1 + k] = comm[k];
            m.work.layers[0].comm[2 - k].any = false;
            alone[k] = simulate(&m).time_ps;
        }
        assert_int_equal(run.time_ps, alone[0] > alone[1] ? alone[0] : alone[1]);
        rlt_design_work_free(&m.work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_whole_iteration), cmocka_unit_test(a_port_is_shared),
        cmocka_unit_test(equal_layers_are_simulated_once), cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(others_are_the_longer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
