/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Schedules against a plain one, written from schedule.h: the dimensions' order of each chunk, and which operation each
 * dimension serves before another. Random products, patterns, kinds, bytes and chunks; some dimensions are of unknown
 * bandwidth, and some have one member.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/grid.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 900, DIMS = 4, CHUNKS = 12, MEMBERS = 64, PHASES = 2 * DIMS };

typedef struct operation {
    uint32_t dim;
    bool gathers;
    uint64_t bytes; /* that a member sends */
    rlt_time ends_ps;
    uint64_t came; /* its place in the queue */
    bool waits, served;
    uint32_t after; /* chunk * PHASES + phase served before it; RLT_NONE: none */
} operation;

static struct {
    const rlt_grid *g;
    rlt_coll_kind kind;
    bool themis, smallest_first;
    uint32_t n, chunks;
    uint64_t bytes;
    uint32_t order[CHUNKS][DIMS], phases[CHUNKS], at[CHUNKS];
    operation all[CHUNKS][PHASES];
    uint64_t comes;
} c;

static uint64_t bandwidth_of(uint32_t dim)
{
    uint64_t lowest = 0;
    if (c.g->dims[dim].bw_Bps)
        return c.g->dims[dim].bw_Bps;
    for (uint32_t i = 0; i < c.n; i++) {
        uint64_t bw = c.g->dims[i].bw_Bps;
        lowest = bw && (bw < lowest || !lowest) ? bw : lowest;
    }
    return lowest ? lowest : 1000000000;
}

/* Bytes that a member sends when it scatters `bytes` in a dimension. */
static uint64_t scattered(uint32_t dim, uint64_t bytes)
{
    const rlt_grid_dim *d = &c.g->dims[dim];
    uint32_t rounds = 0;
    while (2u << rounds <= d->size)
        rounds++;
    return d->inside == RLT_IN_RECURSIVE ? bytes * rounds : bytes - bytes / d->size;
}

/* Whether the blocks of a set are runs of one length at one distance. */
static bool one_span(const bool *set, uint32_t n)
{
    uint32_t firsts[MEMBERS], lengths[MEMBERS], runs = 0;
    for (uint32_t b = 0; b < n; b++) {
        if (!set[b])
            continue;
        if (b == 0 || !set[b - 1]) {
            firsts[runs] = b;
            lengths[runs++] = 0;
        }
        lengths[runs - 1]++;
    }
    for (uint32_t i = 1; i < runs; i++)
        if (lengths[i] != lengths[0] || firsts[i] - firsts[i - 1] != firsts[1] - firsts[0])
            return false;
    return true;
}

/* Halves need whole runs: free are the innermost dimensions below, and those from the next one on above. Two members
 * would need less; they are treated alike. */
static bool runs_whole(uint32_t dim, const bool *left)
{
    for (uint32_t i = 1; i < c.n; i++)
        if (i != dim && left[i] && !left[i - 1] && i - 1 != dim)
            return false;
    return true;
}

/* Whether member 0's blocks form a span in each step of a scatter in `dim`, with those in `left` to come. */
static bool spans(uint32_t dim, const bool *left)
{
    const rlt_grid_dim *d = &c.g->dims[dim];
    if (d->inside == RLT_IN_HALVING && !runs_whole(dim, left))
        return false;
    for (uint32_t apart = d->inside == RLT_IN_HALVING ? 2 : d->size; apart <= d->size; apart *= 2) {
        bool set[MEMBERS];
        for (uint32_t b = 0; b < c.g->blocks; b++) {
            set[b] = b / d->stride % d->size % apart == 0;
            for (uint32_t i = 0; i < c.n; i++)
                if (i != dim && !left[i] && b / c.g->dims[i].stride % c.g->dims[i].size != 0)
                    set[b] = false;
        }
        if (!one_span(set, c.g->blocks))
            return false;
    }
    return true;
}

static void draw_order(const rlt_time *load, uint64_t bytes, uint32_t *order)
{
    bool left[DIMS], shares = c.kind == RLT_REDUCE_SCATTER || c.kind == RLT_ALL_GATHER;
    uint32_t least = 0, most = 0;
    for (uint32_t i = 0; i < c.n; i++) {
        left[i] = true;
        order[i] = i;
        least = load[i] < load[least] ? i : least;
        most = load[i] > load[most] ? i : most;
    }
    rlt_time alone = rlt_transfer_time(scattered(least, bytes), bandwidth_of(least));
    if (!c.themis || c.kind == RLT_ALL_TO_ALL || load[most] - load[least] < alone / 16)
        return;
    for (uint32_t k = 0; k < c.n; k++) {
        uint32_t best = RLT_NONE;
        for (uint32_t i = 0; i < c.n; i++) {
            if (!left[i] || (best != RLT_NONE && load[i] >= load[best]))
                continue;
            left[i] = false;
            if (!shares || spans(i, left))
                best = i;
            left[i] = true;
        }
        order[k] = best;
        left[best] = false;
    }
}

static void draw_orders(void)
{
    rlt_time load[DIMS] = {0};
    for (uint32_t k = 0; k < c.chunks; k++) {
        uint64_t bytes = c.bytes / c.chunks;
        draw_order(load, bytes, c.order[k]);
        for (uint32_t i = 0; i < c.n; i++) {
            uint32_t d = c.order[k][i];
            load[d] += rlt_transfer_time(scattered(d, bytes), bandwidth_of(d));
            bytes /= c.g->dims[d].digits;
        }
    }
}

static void list_operations(uint32_t k)
{
    uint64_t bytes = c.bytes / c.chunks;
    operation *o = c.all[k];
    bool sums = c.kind == RLT_ALL_REDUCE || c.kind == RLT_BARRIER;
    for (uint32_t i = 0; i < c.n; i++) {
        uint32_t d = c.order[k][i];
        if (c.kind != RLT_ALL_GATHER)
            *o++ = (operation){.dim = d, .bytes = scattered(d, bytes)};
        if (c.kind != RLT_ALL_TO_ALL)
            bytes /= c.g->dims[d].digits;
    }
    for (uint32_t i = c.n; i-- > 0 && (sums || c.kind == RLT_ALL_GATHER);) {
        const rlt_grid_dim *d = &c.g->dims[c.order[k][i]];
        if (d->inside == RLT_IN_RECURSIVE)
            continue;
        *o++ = (operation){.dim = c.order[k][i], .gathers = true, .bytes = bytes * (d->digits - 1)};
        bytes *= d->digits;
    }
    c.phases[k] = (uint32_t)(o - c.all[k]);
}

static void come(uint32_t k)
{
    if (c.at[k] == c.phases[k])
        return;
    c.all[k][c.at[k]].waits = true;
    c.all[k][c.at[k]].came = c.comes++;
}

static rlt_time span_of(const operation *o)
{
    const rlt_grid_dim *d = &c.g->dims[o->dim];
    uint32_t hops = 0;
    if (d->inside == RLT_IN_RING)
        hops = d->size - 1;
    else if (d->inside == RLT_IN_DIRECT)
        hops = 1;
    else
        while (2u << hops <= d->size)
            hops++;
    return rlt_transfer_time(o->bytes, bandwidth_of(o->dim)) + d->hop_ps * hops;
}

/* The next one that a dimension serves; NULL: nobody waits. */
static operation *next_of(uint32_t dim, uint32_t *place)
{
    operation *best = NULL;
    for (uint32_t k = 0; k < c.chunks; k++) {
        operation *o = c.at[k] < c.phases[k] ? &c.all[k][c.at[k]] : NULL;
        if (!o || o->dim != dim || !o->waits)
            continue;
        bool smaller = best && c.smallest_first && o->bytes != best->bytes ? o->bytes < best->bytes
                                                                           : best && o->came < best->came;
        if (!best || smaller) {
            best = o;
            *place = k * PHASES + c.at[k];
        }
    }
    return best;
}

/* All dimensions serve until nobody waits. */
static void serve_all(void)
{
    uint32_t busy[DIMS], before[DIMS];
    rlt_time now = 0;
    for (uint32_t d = 0; d < c.n; d++)
        busy[d] = before[d] = RLT_NONE;
    for (uint32_t k = 0; k < c.chunks; k++)
        come(k);
    for (;;) {
        rlt_time next = RLT_TIME_MAX;
        for (uint32_t d = 0; d < c.n; d++) {
            uint32_t place = RLT_NONE;
            operation *o = busy[d] == RLT_NONE ? next_of(d, &place) : NULL;
            if (o) {
                o->waits = false;
                o->after = before[d];
                o->ends_ps = now + span_of(o);
                busy[d] = before[d] = place;
            }
            if (busy[d] != RLT_NONE) {
                rlt_time ends = c.all[busy[d] / PHASES][busy[d] % PHASES].ends_ps;
                next = ends < next ? ends : next;
            }
        }
        if (next == RLT_TIME_MAX)
            return;
        now = next;
        for (uint32_t d = 0; d < c.n; d++) {
            if (busy[d] == RLT_NONE || c.all[busy[d] / PHASES][busy[d] % PHASES].ends_ps != now)
                continue;
            c.all[busy[d] / PHASES][busy[d] % PHASES].served = true;
            c.at[busy[d] / PHASES]++;
            come(busy[d] / PHASES);
            busy[d] = RLT_NONE;
        }
    }
}

static void compare(uint32_t number)
{
    assert_int_equal(c.g->n_orders, c.chunks);
    for (uint32_t k = 0; k < c.chunks; k++) {
        const rlt_order *o = &c.g->orders[k];
        assert_int_equal(o->n_phases, c.phases[k]);
        for (uint32_t i = 0; i < o->n_phases; i++) {
            const operation *p = &c.all[k][i];
            const rlt_phase *after = NULL;
            uint32_t chunk = RLT_NONE, step = RLT_NONE;
            if (p->after != RLT_NONE) {
                chunk = p->after / PHASES;
                after = &c.g->orders[chunk].phases[p->after % PHASES];
                step = after->first + after->steps - 1;
            }
            if (!p->served || o->phases[i].dim != p->dim || o->phases[i].after_chunk != chunk ||
                (after && o->phases[i].after_step != step))
                fail_msg("case %u, chunk %u: phase %u is in dimension %u after %d, expected %u after %d",
                         number, k, i, o->phases[i].dim, (int)o->phases[i].after_chunk, p->dim, (int)chunk);
        }
    }
}

/* The first step of an operation waits for the last one of the operation before it, of another chunk; in the pipeline, for
 * the same operation of the chunk before. No other step waits for another lane. */
static void waits_at_the_gate(const rlt_plan *plan, bool pipeline)
{
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        uint32_t chunk = lane % plan->chunks;
        const rlt_order *o = &c.g->orders[pipeline ? 0 : chunk];
        for (uint32_t i = 0; i < o->n_phases; i++)
            for (uint32_t k = 0; k < o->phases[i].steps; k++) {
                const rlt_phase *p = &o->phases[i];
                uint32_t after = pipeline ? chunk - 1 : p->after_chunk, step = p->first + p->steps - 1;
                bool waits = k == 0 && after != RLT_NONE && after != chunk;
                rlt_step s;
                rlt_step_clear(&s);
                plan->algorithm->step(plan, plan->req.n - 1, lane, p->first + k, &s);
                assert_int_equal(s.wait_lane, waits ? lane - chunk + after : RLT_NONE);
                assert_true(!waits || s.wait_step == (pipeline ? step : p->after_step));
            }
    }
}

/* Each dimension of several members is measured by its own links: those that its pattern uses, of all. */
static void same_measures(const rlt_coll_request *r)
{
    const rlt_grid_dim *d = c.g->dims;
    for (uint32_t i = 0; i < r->n_dims; i++) {
        if (r->dims[i] == 1)
            continue;
        uint64_t bw = 0;
        rlt_time hop = 0;
        if (r->axes[i] != RLT_NONE) {
            rlt_dim whole = rlt_topology_dim(r->topology, r->axes[i]);
            bool near = strcmp(r->shapes[i], "switch") != 0;
            uint32_t links = strcmp(r->shapes[i], "ring") == 0 ? 2 : near ? whole.size - 1 : 1;
            uint32_t used = d->inside == RLT_IN_DIRECT ? links
                            : d->inside == RLT_IN_RING ? r->params.directions
                                                       : 1;
            bw = whole.bw_Bps / links * (used > links ? links : used);
            hop = near ? whole.latency_ps : 2 * whole.latency_ps;
        }
        assert_int_equal(d->bw_Bps, bw);
        assert_int_equal(d->hop_ps, hop);
        d++;
    }
}

static void draw_net(dice *d, char *net, size_t size)
{
    static const char *const shapes[] = {"switch", "ring", "fully-connected"};
    uint32_t dims = 2 + below(d, DIMS - 1), members = 1, used = 0;
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t n = 2 + below(d, 3);
        n = members * n << (dims - 1 - i) > MEMBERS ? 2 : n;
        members *= n;
        used += (uint32_t)snprintf(net + used, size - used, "%s%s:%u@%uGB/s,%uns", i ? "*" : "",
                                   shapes[below(d, 3)], n, 10 + 10 * below(d, 20), 1 + below(d, 900));
    }
}

/* A dimension of one member, anywhere among the others. */
static void insert_one(rlt_coll_request *r, uint32_t at)
{
    for (uint32_t i = r->n_dims++; i > at; i--) {
        r->dims[i] = r->dims[i - 1];
        r->shapes[i] = r->shapes[i - 1];
        r->axes[i] = r->axes[i - 1];
    }
    r->dims[at] = 1;
}

static void one_case(uint32_t number)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE,     RLT_ALL_REDUCE, RLT_BARRIER,
                                          RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_ALL_TO_ALL};
    static const char *const patterns[] = {NULL, "ring", "direct", "halving_doubling", "recursive_doubling"};
    dice d = {.seed = number};
    char net[300];
    test_group s;
    rlt_plan plan;
    rlt_error err = {0};
    draw_net(&d, net, sizeof net);
    test_group_open(&s, net, 0);
    memset(&c, 0, sizeof c);
    c.kind = kinds[below(&d, 6)];
    rlt_coll_request r = rlt_group_request(&s.g, c.kind, 0);
    r.bytes = c.bytes = c.kind == RLT_BARRIER ? 0 : roll(&d, (uint64_t)1 << (4 + below(&d, 26)));
    c.chunks = r.params.chunks = 1 + below(&d, CHUNKS);
    c.themis = below(&d, 4) > 0;
    bool pipeline = below(&d, 6) == 0;
    r.params.schedule = pipeline ? RLT_PIPELINE : c.themis ? RLT_THEMIS : RLT_BASELINE;
    c.smallest_first = below(&d, 2);
    r.params.order = c.smallest_first ? RLT_SCF : RLT_FIFO;
    r.params.directions = 1 + below(&d, 2);
    if (below(&d, 3) == 0)
        insert_one(&r, below(&d, r.n_dims));
    for (uint32_t i = 0; i < r.n_dims; i++) {
        r.params.patterns[i] = patterns[below(&d, 5)];
        if (below(&d, 8) == 0)
            r.axes[i] = RLT_NONE;
    }
    int rc = rlt_plan_create(&rlt_hierarchical, &r, &plan, &err);
    if (rc && !strstr(err.what, "power of two"))
        fail_msg("case %u: %s: %s", number, err.where, err.what);
    if (!rc) {
        c.g = plan.data;
        c.n = c.g->n_dims;
        waits_at_the_gate(&plan, pipeline);
        if (!pipeline) {
            same_measures(&r);
            draw_orders();
            for (uint32_t k = 0; k < c.chunks; k++)
                list_operations(k);
            serve_all();
            compare(number);
        }
        rlt_plan_free(&plan);
    }
    test_group_close(&s);
}

static void as_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        one_case(i);
}

/* The first of two chunks of b bytes loads two dimensions of two with b/2 at x and b/4 at y. The second would take b/2 at
 * y in the latter, and a sixteenth of that is reached where 2 y/x = 1 + 1/8. */
static void spread_of_a_sixteenth(void **state)
{
    static const struct {
        const char *outer;
        uint32_t first;
    } rows[] = {{"55.8GB/s", 0}, {"56.05GB/s", 0}, {"56.24GB/s", 0}, {"56.26GB/s", 1}, {"56.5GB/s", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char net[100];
        test_group s;
        rlt_plan plan;
        rlt_error err = {0};
        snprintf(net, sizeof net, "switch:2@100GB/s,10ns*switch:2@%s,10ns", rows[i].outer);
        test_group_open(&s, net, 0);
        rlt_coll_request r = rlt_group_request(&s.g, RLT_ALL_REDUCE, 1 << 26);
        r.params.schedule = RLT_THEMIS;
        r.params.chunks = 2;
        assert_int_equal(rlt_plan_create(&rlt_hierarchical, &r, &plan, &err), 0);
        const rlt_grid *g = plan.data;
        assert_int_equal(g->orders[0].phases[0].dim, 0);
        assert_int_equal(g->orders[1].phases[0].dim, rows[i].first);
        rlt_plan_free(&plan);
        test_group_close(&s);
    }
    assert_null(rlt_chunk_order_name(RLT_CHUNK_ORDERS));
    assert_null(rlt_chunk_schedule_name(RLT_CHUNK_SCHEDULES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated), cmocka_unit_test(spread_of_a_sixteenth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
