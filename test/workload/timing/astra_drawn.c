/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random system files, networks and requests under ASTRA-sim's timing. The expectation follows the formulas
 * at the head of astra_phase.c: rings over listed ranks are walked message by message, trees by recursion,
 * and chunks pass through a list of events that is searched for the first one. What has no closed form must
 * be refused.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/program/reader.h"
#include "workload/timing/timing.h"

enum { NONE, RING, DIRECT, HALVING, TREE };
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, KINDS };
enum { MAX_DIMS = 3, MAX_RANKS = 216, MAX_CHUNKS = 64 };

typedef struct dim {
    char shape; /* ring, switch or fully connected */
    uint64_t n, Bps, ps;
} dim;

typedef struct machine {
    dim dims[MAX_DIMS];
    uint32_t n_dims, n_ranks;
    char spec[200];
} machine;

typedef struct setting {
    uint64_t splits, active, delay, memory_Bps;
    bool baseline, aware;
    int algorithm[KINDS][MAX_DIMS], n[KINDS];
    bool one[KINDS];
    char text[1500];
} setting;

typedef struct request {
    uint32_t n, ranks[MAX_RANKS];
    bool listed;
    const machine *m;
    const setting *s;
} request;

static char path[] = "/tmp/ringlet-astra-XXXXXX";

static void draw_machine(dice *d, machine *m)
{
    static const char *const names[] = {"ring", "switch", "fully-connected"};
    size_t at = 0;
    *m = (machine){.n_ranks = 1, .n_dims = 1 + below(d, MAX_DIMS)};
    for (uint32_t i = 0; i < m->n_dims; i++) {
        uint32_t shape = below(d, 3),
                 n = below(d, 3) ? 2u << below(d, m->n_dims == 1 ? 4 : 2) : 2 + below(d, 5);
        m->dims[i] = (dim){.shape = names[shape][0], .n = n};
        m->n_ranks *= n;
        at += (size_t)snprintf(m->spec + at, sizeof m->spec - at, "%s%s:%u@%uGB/s,%uns", i ? "*" : "",
                               names[shape], n, 7 + below(d, 300), below(d, 4) ? below(d, 2000) : 0);
    }
}

/* The links' bandwidth and latency are the topology's. */
static void look_at_links(machine *m, const rlt_topology *t)
{
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        m->dims[l.dim].Bps = l.bw_Bps;
        m->dims[l.dim].ps = (uint64_t)l.latency_ps;
    }
}

static size_t say_algorithms(dice *d, setting *s, uint32_t n_dims, size_t at)
{
    static const char *const keys[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
    static const char *const names[] = {"", "ring", "direct", "halvingDoubling", "doubleBinaryTree"};
    static const char *const ones[] = {"", "oneRing", "oneDirect", "oneHalvingDoubling", "doubleBinaryTree"};
    for (int k = 0; k < KINDS; k++) {
        s->one[k] = below(d, 5) == 0;
        s->n[k] = s->one[k] ? 1 : (int)(n_dims - (below(d, 12) == 0));
        if (s->n[k] == 0)
            continue;
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", \"%s-implementation\": [", keys[k]);
        for (int i = 0; i < s->n[k]; i++) {
            int a = s->algorithm[k][i] =
                s->one[k] ? RING + (int)below(d, 3) : RING + (int)below(d, below(d, 4) ? 3 : 4);
            at += (size_t)snprintf(s->text + at, sizeof s->text - at, "%s\"%s\"", i ? "," : "",
                                   s->one[k] ? ones[a] : names[a]);
        }
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, "]");
    }
    return at;
}

/* Keys with their presets may be missing. */
static void draw_setting(dice *d, setting *s, uint32_t n_dims)
{
    *s = (setting){
        .splits = 1 + below(d, 5), .active = 1, .delay = 10, .baseline = true, .aware = below(d, 3) == 0};
    size_t at = (size_t)snprintf(s->text, sizeof s->text, "{\"preferred-dataset-splits\": %llu",
                                 (unsigned long long)s->splits);
    if (below(d, 2)) {
        s->active = 1 + below(d, 3);
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", \"active-chunks-per-dimension\": %llu",
                               (unsigned long long)s->active);
    }
    if (below(d, 2)) {
        s->delay = below(d, 500);
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", \"endpoint-delay\": %llu",
                               (unsigned long long)s->delay);
    }
    if (below(d, 2)) {
        uint32_t tenths = 1 + below(d, 9999);
        s->memory_Bps = tenths * (uint64_t)100000000;
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", \"local-mem-bw\": %u.%u", tenths / 10,
                               tenths % 10);
    }
    if (below(d, 3)) {
        s->baseline = below(d, 3) == 0;
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, ", \"collective-optimization\": \"%s\"",
                               s->baseline ? "baseline" : "localBWAware");
    }
    at = say_algorithms(d, s, n_dims, at);
    snprintf(s->text + at, sizeof s->text - at, "}");
}

/* floor(h latency + m / bandwidth) */
static uint64_t step(const dim *d, uint64_t h, uint64_t m)
{
    unsigned __int128 whole = (unsigned __int128)h * d->ps * d->Bps + (unsigned __int128)m * 1000000000000u;
    return (uint64_t)(whole / d->Bps / 1000);
}

static uint64_t hops(const dim *d, uint64_t apart)
{
    uint64_t back = d->n - apart % d->n;
    apart %= d->n;
    return d->shape == 's' ? 2 : d->shape == 'f' ? 1 : apart < back ? apart : back;
}

static uint64_t message(const setting *s, const dim *d, uint64_t h, uint64_t m)
{
    return s->aware ? h * step(d, 1, m) : step(d, h, m);
}

static uint64_t reduction(const setting *s, uint64_t m)
{
    return s->memory_Bps ? (uint64_t)((unsigned __int128)m * 1000000000 / s->memory_Bps) * 3 : 0;
}

static int log2_of(uint64_t n)
{
    for (int k = 0; k < 20; k++)
        if (n == 1u << k)
            return k;
    return -1;
}

static bool has_form(int kind, int algorithm, uint64_t n)
{
    if (algorithm == TREE)
        return kind == ALL_REDUCE && log2_of(n) >= 0;
    return algorithm != HALVING || (kind != ALL_TO_ALL && log2_of(n) >= 0);
}

static uint64_t ring_phase(const setting *s, const dim *d, int kind, uint64_t c)
{
    uint64_t n = d->n, m = c / n, e = s->delay, R = reduction(s, m), near = hops(d, 1);
    switch (kind) {
    case ALL_REDUCE:
        return 2 * (n - 1) * message(s, d, near, m) + (n - 1) * R + (2 * n - 1) * e;
    case REDUCE_SCATTER:
        return (n - 1) * (message(s, d, near, m) + R) + n * e;
    case ALL_GATHER:
        return (n - 1) * message(s, d, near, c) + n * e;
    default:
        return n * (n - 1) / 2 * message(s, d, near, m) + (n * (n - 1) / 2 + 1) * e;
    }
}

static uint64_t direct_phase(const setting *s, const dim *d, int kind, uint64_t c)
{
    uint64_t n = d->n, m = kind == ALL_GATHER ? c : c / n, e = s->delay, far = hops(d, n / 2);
    uint64_t once = message(s, d, far, m), R = reduction(s, c / n), early = 0;
    if (s->aware && d->shape == 's')
        once += (n - 2) * step(d, 0, m);
    if (d->shape == 'r' && far > 1 && step(d, 0, m) > step(d, far, 0))
        early = 2 * step(d, 1, 0);
    return kind == ALL_REDUCE       ? 2 * once + R + 3 * e - early
           : kind == REDUCE_SCATTER ? once + R + 2 * e
                                    : once + 2 * e;
}

static uint64_t halving_phase(const setting *s, const dim *d, int kind, uint64_t c)
{
    uint64_t halves = 0, doubles = 0, reduced = 0, k = (uint64_t)log2_of(d->n);
    for (uint64_t i = 1; i <= k; i++) {
        uint64_t h = hops(d, 1u << (i - 1));
        halves += message(s, d, h, c >> i);
        doubles += message(s, d, h, c << (i - 1));
        reduced += i >= 2 ? reduction(s, c >> i) : 0;
    }
    return kind == ALL_REDUCE   ? 2 * halves + reduced + (2 * k + 1) * s->delay
           : kind == ALL_GATHER ? doubles + (k + 1) * s->delay
                                : halves + reduced + (k + 1) * s->delay;
}

/* The time of a chunk in a dimension; false: it has no closed form. kinds: of the collective, whose
 * algorithms count, and of its phase. */
static bool phase(const machine *m, const setting *s, uint32_t i, const int *kinds, uint64_t c, uint64_t *ns)
{
    const dim *d = &m->dims[i];
    int a = s->algorithm[kinds[0]][i], kind = kinds[1];
    if (!has_form(kind, a, d->n) || a == TREE || a == NONE)
        return false;
    if (s->aware &&
        (m->n_dims > 1 || (s->active > 1 && s->splits > 1) || (a != RING && d->shape == 'r' && d->n > 3)))
        return false;
    *ns = a == RING     ? ring_phase(s, d, kind, c)
          : a == DIRECT ? direct_phase(s, d, kind, c)
                        : halving_phase(s, d, kind, c);
    return true;
}

/* Chunks that wait in each dimension, in the order in which they came, and those that are in progress. */
typedef struct pipeline {
    uint32_t waiting[MAX_DIMS][2 * MAX_DIMS * MAX_CHUNKS], first[MAX_DIMS], end[MAX_DIMS], busy[MAX_DIMS];
    uint64_t until[2 * MAX_DIMS * MAX_CHUNKS];
    uint32_t running[2 * MAX_DIMS * MAX_CHUNKS], n; /* in the order in which they began */
} pipeline;

static uint64_t flow(const setting *s, const uint32_t *dims, const uint64_t *ns, uint32_t n_phases,
                     uint32_t chunks)
{
    static pipeline p;
    uint64_t now = 0;
    memset(&p, 0, sizeof p);
    for (uint32_t c = 0; c < chunks; c++)
        p.waiting[dims[0]][p.end[dims[0]]++] = c * n_phases;
    for (;;) {
        for (uint32_t q = 0; q < MAX_DIMS; q++)
            while (p.busy[q] < s->active && p.first[q] < p.end[q]) {
                uint32_t item = p.waiting[q][p.first[q]++];
                p.busy[q]++;
                p.until[p.n] = now + ns[item % n_phases];
                p.running[p.n++] = item;
            }
        if (p.n == 0)
            return now;
        uint32_t next = 0;
        for (uint32_t i = 1; i < p.n; i++)
            next = p.until[i] < p.until[next] ? i : next;
        uint32_t item = p.running[next];
        now = p.until[next];
        p.n--;
        memmove(p.until + next, p.until + next + 1, (p.n - next) * sizeof *p.until);
        memmove(p.running + next, p.running + next + 1, (p.n - next) * sizeof *p.running);
        p.busy[dims[item % n_phases]]--;
        if (item % n_phases + 1 < n_phases) {
            uint32_t q = dims[item % n_phases + 1];
            p.waiting[q][p.end[q]++] = item + 1;
        }
    }
}

/* All dimensions: reduce-scatter upwards, all-gather downwards. */
static bool whole(const machine *m, const setting *s, int kind, uint64_t c, uint32_t chunks, uint64_t *ns)
{
    uint32_t dims[2 * MAX_DIMS], n = 0, last = m->n_dims - 1;
    uint64_t each[2 * MAX_DIMS];
    bool aware = kind == ALL_REDUCE && !s->baseline, all = true;
    for (uint32_t i = 0; i <= last && kind != ALL_GATHER && all; i++) {
        bool scatters = kind == REDUCE_SCATTER || (aware && i < last);
        dims[n] = i;
        all = phase(m, s, i, (int[]){kind, aware && i < last ? REDUCE_SCATTER : kind}, c, &each[n++]);
        c = scatters ? c / m->dims[i].n : c;
    }
    for (uint32_t i = aware ? last : kind == ALL_GATHER ? m->n_dims : 0; i-- > 0 && all;) {
        dims[n] = i;
        all = phase(m, s, i, (int[]){kind, ALL_GATHER}, c, &each[n++]);
        c *= m->dims[i].n;
    }
    *ns = all ? flow(s, dims, each, n, chunks) : 0;
    return all;
}

static uint64_t pair(const request *r, uint64_t i, uint64_t j, uint64_t bytes)
{
    uint64_t from = r->listed ? r->ranks[i % r->n] : i % r->n, to = r->listed ? r->ranks[j % r->n] : j % r->n;
    for (uint32_t d = 0; d < r->m->n_dims; d++) {
        const dim *x = &r->m->dims[d];
        if (from % x->n != to % x->n)
            return message(r->s, x, hops(x, x->n + from % x->n - to % x->n), bytes);
        from /= x->n;
        to /= x->n;
    }
    return 0;
}

/* Each rank's time, step by step. */
static uint64_t walk(const request *r, int kind, uint64_t c, uint64_t rounds)
{
    uint64_t t[MAX_RANKS] = {0}, u[MAX_RANKS], n = r->n, end = 0, m = kind == ALL_GATHER ? c : c / n;
    uint64_t steps = kind == ALL_REDUCE ? 2 * (n - 1) : kind == ALL_TO_ALL ? n * (n - 1) / 2 : n - 1;
    bool reduces = kind == ALL_REDUCE || kind == REDUCE_SCATTER;
    for (uint64_t k = 0; k < rounds; k++) {
        for (uint64_t i = 0; i < n; i++)
            t[i] += r->s->delay;
        for (uint64_t k2 = 0; k2 < steps; k2++) {
            for (uint64_t i = 0; i < n; i++) {
                uint64_t came = t[(i + n - 1) % n] + pair(r, i + n - 1, i, m);
                u[i] = (came > t[i] ? came : t[i]) + r->s->delay +
                       (reduces && k2 < n - 1 ? reduction(r->s, m) : 0);
            }
            memcpy(t, u, sizeof t);
        }
    }
    for (uint64_t i = 0; i < n; i++)
        end = t[i] > end ? t[i] : end;
    return end;
}

/* The farthest message of each rank, which must be the same. */
static bool direct_all(const request *r, int kind, uint64_t c, uint64_t *ns)
{
    uint64_t m = kind == ALL_GATHER ? c : c / r->n, far[MAX_RANKS] = {0}, e = r->s->delay;
    for (uint32_t i = 0; i < r->n; i++) {
        for (uint32_t j = 0; j < r->n; j++)
            far[i] = pair(r, i, j, m) > far[i] ? pair(r, i, j, m) : far[i];
        if (far[i] != far[0])
            return false;
    }
    *ns = kind == ALL_REDUCE ? 2 * far[0] + reduction(r->s, m) + 3 * e
                             : far[0] + (kind == REDUCE_SCATTER ? reduction(r->s, m) : 0) + 2 * e;
    return true;
}

static bool halving_all(const request *r, int kind, uint64_t c, uint64_t *ns)
{
    uint64_t halves = 0, doubles = 0, reduced = 0, k = (uint64_t)log2_of(r->n);
    for (uint64_t i = 1; i <= k; i++) {
        uint64_t b = 1u << (i - 1);
        for (uint32_t j = 1; j < r->n; j++)
            if (pair(r, j, j ^ b, c >> i) != pair(r, 0, b, c >> i) ||
                pair(r, j, j ^ b, c << (i - 1)) != pair(r, 0, b, c << (i - 1)))
                return false;
        halves += pair(r, 0, b, c >> i);
        doubles += pair(r, 0, b, c << (i - 1));
        reduced += i >= 2 ? reduction(r->s, c >> i) : 0;
    }
    *ns = kind == ALL_REDUCE   ? 2 * halves + reduced + (2 * k + 1) * r->s->delay
          : kind == ALL_GATHER ? doubles + (k + 1) * r->s->delay
                               : halves + reduced + (k + 1) * r->s->delay;
    return true;
}

/* A chunk through a tree. free[i]: when the rank at place i is done with the chunk before. */
typedef struct climb {
    const request *r;
    uint64_t *free, c, leaf, inner;
    bool mirrored;
} climb;

static uint32_t place(const climb *x, uint32_t node)
{
    return x->mirrored ? x->r->n - 1 - node : node;
}

static uint64_t between(const climb *x, uint32_t a, uint32_t b)
{
    return pair(x->r, place(x, a), place(x, b), x->c);
}

/* When a node has the sum of its subtree. `half`: the distance of its children; 0: a leaf. */
static uint64_t up(const climb *x, uint32_t node, uint32_t half)
{
    uint64_t own = x->free[place(x, node)], latest = own;
    if (half == 0)
        return own + x->leaf;
    for (int side = -1; side <= 1; side += 2) {
        uint32_t child = side < 0 ? node - half : node + half;
        uint64_t came = up(x, child, half / 2) + between(x, child, node);
        latest = came > latest ? came : latest;
    }
    return latest + x->inner;
}

static void down(const climb *x, uint32_t node, uint32_t half, uint64_t came)
{
    uint64_t done = came + (half ? x->inner : x->leaf);
    if (half) {
        down(x, node - half, half / 2, done + between(x, node, node - half));
        down(x, node + half, half / 2, done + between(x, node, node + half));
    }
    x->free[place(x, node)] = done;
}

static uint64_t trees(const request *r, uint64_t c, uint32_t chunks)
{
    static uint64_t lanes[MAX_CHUNKS][MAX_RANKS];
    uint64_t active = r->s->active < chunks ? r->s->active : chunks, end = 0;
    memset(lanes, 0, sizeof lanes);
    for (uint32_t k = 0; k < chunks; k++) {
        climb x = {r, lanes[k % active], c, r->s->delay, r->s->delay + reduction(r->s, c), k % 2};
        uint32_t top = r->n / 2;
        uint64_t came = up(&x, top, top / 2) + between(&x, top, 0), own = x.free[place(&x, 0)];
        uint64_t root = (came > own ? came : own) + x.inner;
        down(&x, top, top / 2, root + between(&x, 0, top));
        x.free[place(&x, 0)] = root;
    }
    for (uint64_t i = 0; i < active; i++)
        for (uint32_t k = 0; k < r->n; k++)
            end = lanes[i][k] > end ? lanes[i][k] : end;
    return end;
}

/* The time of a request, or false. */
static bool expected(const request *r, int kind, uint64_t bytes, uint64_t *ns)
{
    const setting *s = r->s;
    bool group = r->n < r->m->n_ranks, alone = r->m->n_dims == 1;
    int a = group && !alone ? RING : s->algorithm[kind][0];
    uint64_t c = bytes / s->splits, each = 0;
    if (kind != ALL_GATHER && c < r->m->n_ranks) {
        c = r->m->n_ranks;
        bytes = c * s->splits;
    }
    c = c ? c : 1;
    uint32_t chunks = bytes ? (uint32_t)((bytes + c - 1) / c) : 1;
    if (s->n[kind] == 0 || (!s->one[kind] && !group && s->n[kind] < (int)r->m->n_dims))
        return false;
    if (s->aware && (group || (alone && s->algorithm[kind][0] == TREE) || (s->one[kind] && !alone)))
        return false;
    if (s->aware || !(group || s->one[kind] || (alone && s->algorithm[kind][0] == TREE)))
        return whole(r->m, s, kind, c, chunks, ns);
    uint64_t rounds = (chunks + s->active - 1) / s->active;
    if (!has_form(kind, a, r->n))
        return false;
    if (a == TREE || a == RING) {
        *ns = a == TREE ? trees(r, c, chunks) : walk(r, kind, c, rounds);
        return true;
    }
    bool all = a == DIRECT ? direct_all(r, kind, c, &each) : halving_all(r, kind, c, &each);
    *ns = each * rounds;
    return all;
}

static bool expected_time(const request *r, rlt_coll_kind kind, uint64_t bytes, uint64_t *ns)
{
    setting without = *r->s;
    request other = *r;
    switch (kind) {
    case RLT_ALL_GATHER:
        return expected(r, ALL_GATHER, bytes / r->n, ns);
    case RLT_REDUCE_SCATTER:
        return expected(r, REDUCE_SCATTER, bytes, ns);
    case RLT_ALL_TO_ALL:
        return expected(r, ALL_TO_ALL, bytes, ns);
    case RLT_BROADCAST:
        without.memory_Bps = 0;
        other.s = &without;
        return expected(&other, ALL_REDUCE, bytes, ns);
    case RLT_SEND_RECV:
        *ns = pair(r, 0, 1, bytes);
        return true;
    default:
        return expected(r, ALL_REDUCE, kind == RLT_BARRIER ? 0 : bytes, ns);
    }
}

static void draw_request(dice *d, request *r, rlt_coll_kind kind)
{
    uint32_t all = r->m->n_ranks, n = kind == RLT_SEND_RECV ? 2 : below(d, 3) ? all : 2 + below(d, all - 1);
    r->n = n > 2 && below(d, 3) == 0 ? 1u << (31 - __builtin_clz(n)) : n;
    if (kind == RLT_SEND_RECV)
        r->n = 2;
    r->listed = r->n < all || below(d, 4) == 0;
    uint32_t stride = below(d, 2) ? all / r->n : 1, first = below(d, all - (r->n - 1) * stride);
    bool shuffled = r->listed && below(d, 3) == 0;
    for (uint32_t i = 0; i < r->n; i++)
        r->ranks[i] = first + i * stride;
    for (uint32_t i = r->n - 1; i > 0 && shuffled; i--) {
        uint32_t k = below(d, i + 1), other = r->ranks[k];
        r->ranks[k] = r->ranks[i];
        r->ranks[i] = other;
    }
}

static void times_follow_the_formulas(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_TO_ALL,
                                          RLT_BROADCAST,  RLT_REDUCE,     RLT_BARRIER,        RLT_SEND_RECV};
    dice d = {.seed = 9};
    uint32_t refused = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        static machine m;
        static setting s;
        rlt_topology *t = NULL;
        rlt_timing *timing = NULL;
        rlt_read_options opts = {0};
        rlt_error err = {0};
        draw_machine(&d, &m);
        draw_setting(&d, &s, m.n_dims);
        assert_int_equal(rlt_topology_load(m.spec, NULL, &t, &err), 0);
        look_at_links(&m, t);
        memset(path + sizeof path - 7, 'X', 6);
        test_write_new(path, s.text, strlen(s.text));
        if (rlt_timing_astra(path, s.aware, t, &opts, &timing, &err))
            fail_msg("%s: %s", err.where, err.what);
        unlink(path);
        for (int k = 0; k < 4; k++) {
            rlt_coll_kind kind = kinds[below(&d, sizeof kinds / sizeof *kinds)];
            static request r;
            uint64_t bytes = roll(&d, (uint64_t)1 << below(&d, 34)), ns = 0;
            r = (request){.m = &m, .s = &s};
            draw_request(&d, &r, kind);
            rlt_coll_request req = {
                .kind = kind, .n = r.n, .ranks = r.listed ? r.ranks : NULL, .bytes = bytes};
            rlt_time got = -1;
            bool has = expected_time(&r, kind, bytes, &ns);
            int rc = timing->duration(timing, &req, &got, &err);
            refused += !has;
            if (rc != (has ? 0 : RLT_EUNSUPPORTED) || (has && got != (rlt_time)ns * RLT_NS))
                fail_msg("%s of %u on %s, %llu bytes, %s %s: %d, %lld ns, not %llu", rlt_coll_name(kind), r.n,
                         m.spec, (unsigned long long)bytes, s.aware ? "aware" : "", s.text, rc,
                         (long long)(got / RLT_NS), (unsigned long long)ns);
        }
        rlt_timing_free(timing);
        rlt_topology_free(t);
    }
    assert_true(refused > 1000 && refused < 7000);
}

/* Tries a request under a system file. */
static int try_bound(const char *spec, const char *system, rlt_coll_request req, rlt_time *got,
                     rlt_error *err)
{
    rlt_topology *t = NULL;
    rlt_timing *timing = NULL;
    rlt_read_options opts = {0};
    *err = (rlt_error){0};
    memset(path + sizeof path - 7, 'X', 6);
    test_write_new(path, system, strlen(system));
    assert_int_equal(rlt_topology_load(spec, NULL, &t, err), 0);
    int rc = rlt_timing_astra(path, false, t, &opts, &timing, err);
    if (rc == 0)
        rc = timing->duration(timing, &req, got, err);
    rlt_timing_free(timing);
    rlt_topology_free(t);
    unlink(path);
    return rc;
}

#define SYSTEM(more) "{\"preferred-dataset-splits\": 1, \"endpoint-delay\": 0" more "}"
#define DIRECT_ALL   ", \"all-to-all-implementation\": [\"direct\"]"

/* 2^61 ps are the limit of simulated time: 2 305 843 009 213 693 ns. A message of as many bytes passes a
 * link of 1 GB/s in this time. */
static void times_have_a_limit(void **state)
{
    const uint64_t most = 2305843009213693;
    static const uint32_t outside[] = {0, 4};
    rlt_error err;
    (void)state;
    for (int one = 0; one < 2; one++)
        for (int beyond = -1; beyond <= 1; beyond++) {
            rlt_time got = 0;
            rlt_coll_request req = {.kind = RLT_ALL_TO_ALL, .n = 2, .bytes = 2 * (most + (uint64_t)beyond)};
            int rc = try_bound("fully-connected:2@1GB/s,0ns",
                               one ? SYSTEM(", \"all-to-all-implementation\": [\"oneDirect\"]")
                                   : SYSTEM(DIRECT_ALL),
                               req, &got, &err);
            assert_int_equal(rc, beyond < 0 ? 0 : RLT_ERANGE);
            assert_int_equal(got, beyond < 0 ? (rlt_time)(most - 1) * RLT_NS : 0);
            if (beyond == 0)
                assert_non_null(strstr(err.what, "longer than 26 days"));
        }
    rlt_time got = 0;
    rlt_coll_request req = {.kind = RLT_SEND_RECV, .n = 2, .bytes = (uint64_t)1 << 56};
    assert_int_equal(try_bound("fully-connected:2@1TB/s,0ns", SYSTEM(""), req, &got, &err), 0);
    assert_int_equal(got, (((rlt_time)1 << 56) / 1000) * RLT_NS);
    req.bytes++;
    assert_int_equal(try_bound("fully-connected:2@1TB/s,0ns", SYSTEM(""), req, &got, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "more than 2^56 bytes"));
    req = (rlt_coll_request){.kind = RLT_SEND_RECV, .n = 2, .bytes = 1, .ranks = outside};
    assert_int_equal(try_bound("fully-connected:5@1TB/s,0ns", SYSTEM(""), req, &got, &err), 0);
    assert_int_equal(try_bound("fully-connected:4@1TB/s,0ns", SYSTEM(""), req, &got, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "rank 4 is outside the network of 4 ranks"));
    req = (rlt_coll_request){.kind = RLT_ALL_REDUCE, .n = 5, .bytes = 1};
    assert_int_equal(try_bound("fully-connected:4@1TB/s,0ns", SYSTEM(DIRECT_ALL), req, &got, &err),
                     RLT_ERANGE);
    assert_non_null(strstr(err.what, "5 members exceed the network's 4 ranks"));
}

/* Values of a system file: the last of each that is read, and one beyond. */
static void files_have_limits(void **state)
{
    static const struct {
        const char *key, *last, *next, *says;
    } all[] = {
        {"preferred-dataset-splits", "1048576", "1048577", "1048576"},
        {"preferred-dataset-splits", "1", "0", "at least 1"},
        {"active-chunks-per-dimension", "1048576", "1048577", "1048576"},
        {"active-chunks-per-dimension", "1", "0", "at least 1"},
        {"endpoint-delay", "1000000000", "1000000001", "1000000000"},
        {"local-mem-bw", "9e9", "9.1e9", "from 0 to 9e+09"},
        {"local-mem-bw", "0", "-1", "from 0 to 9e+09"},
        {"peak-perf", "9e6", "9.1e6", "from 0 to 9e+06"},
        {"roofline-enabled", "0", "2", "1"},
        {"roofline-enabled", "false", "1", "needs peak-perf"},
        {"scheduling-policy", "\"EXPLICIT\"", "\"NONE\"", "got 'NONE'"},
        {"scheduling-policy", "\"FIFO\"", "1", "string"},
        {"collective-optimization", "\"localBWAware\"", "\"best\"", "got 'best'"},
        {"all-reduce-implementation", "[\"direct\"]", "[\"directed\"]", "'directed'"},
        {"all-reduce-implementation", "[\"oneRing\"]", "[\"oneRing\", \"ring\"]", "must stand alone"},
        {"all-reduce-implementation", "[\"ring\"]", "[]", "1 to"},
        {"all-reduce-implementation", "[\"ring\"]", "\"ring\"", "a list"},
        {"all-reduce-implementation", "[\"ring\"]", "[1]", "no string"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int next = 0; next < 2; next++) {
            char system[400];
            rlt_error err;
            rlt_time got = -1;
            rlt_coll_request req = {.kind = RLT_SEND_RECV, .n = 2, .bytes = 1000};
            snprintf(system, sizeof system, "{\"%s\": %s%s}", all[i].key, next ? all[i].next : all[i].last,
                     strstr(all[i].key, "splits") ? "" : ", \"preferred-dataset-splits\": 1");
            int rc = try_bound("fully-connected:2@1GB/s,0ns", system, req, &got, &err);
            if ((rc == 0) == next || (next && !strstr(err.what, all[i].says)))
                fail_msg("%s: %d, %s", system, rc, err.what);
            if (!next)
                assert_int_equal(got, 1000 * RLT_NS);
        }
}

/* Work that would take minutes is refused. */
static void work_has_a_limit(void **state)
{
    static const struct {
        const char *spec, *system;
        rlt_coll_request req;
        const char *says;
    } all[] = {
        {"switch:512@1GB/s,0ns",
         "{\"preferred-dataset-splits\": 1048576, \"all-reduce-implementation\": [\"doubleBinaryTree\"]}",
         {.kind = RLT_ALL_REDUCE, .n = 512, .bytes = (uint64_t)1 << 40},
         "too many chunks and ranks"},
        {"switch:32768@1GB/s,0ns",
         "{\"preferred-dataset-splits\": 1, \"all-reduce-implementation\": [\"oneDirect\"]}",
         {.kind = RLT_ALL_REDUCE, .n = 32768, .bytes = (uint64_t)1 << 40},
         "too many ranks for a direct exchange"},
        {"ring:512@1GB/s,1ns",
         "{\"preferred-dataset-splits\": 1048576, \"all-reduce-implementation\": [\"oneRing\"]}",
         {.kind = RLT_ALL_REDUCE, .n = 511, .bytes = (uint64_t)1 << 40},
         "too many ranks at unequal distances"},
        {"switch:2@1GB/s,0ns",
         "{\"preferred-dataset-splits\": 1, \"all-to-all-implementation\": [\"ring\"], "
         "\"all-to-all-implementation-custom\": [\"x\"]}",
         {.kind = RLT_ALL_TO_ALL, .n = 2, .bytes = 1000},
         "custom implementations"},
        {"switch:2@1GB/s,0ns",
         SYSTEM(""),
         {.kind = RLT_ALL_TO_ALL, .n = 2, .bytes = 1000},
         "names no algorithm"},
        {"switch:2@1GB/s,0ns",
         SYSTEM(""),
         {.kind = RLT_GATHER, .n = 2, .bytes = 1000},
         "gather has no closed form"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_error err;
        rlt_time got;
        assert_int_equal(try_bound(all[i].spec, all[i].system, all[i].req, &got, &err), RLT_EUNSUPPORTED);
        if (!strstr(err.what, all[i].says))
            fail_msg("%s: %s", all[i].says, err.what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_follow_the_formulas),
        cmocka_unit_test(times_have_a_limit),
        cmocka_unit_test(files_have_limits),
        cmocka_unit_test(work_has_a_limit),
    };
    return cmocka_run_group_tests_name("astra_drawn", tests, NULL, NULL);
}
