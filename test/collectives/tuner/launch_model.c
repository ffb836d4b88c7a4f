/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of launches: the channels in use, those of a call, its threads and chunks, from the rules of
 * NCCL's src/enqueue.cc and src/transport/nvls.cc stated as largest and smallest values. Random machines and
 * sizes, many of them at the sizes where a rule begins to hold, have the same ones.
 */
#include <stdio.h>

#include "collectives/tuner/channels.h"
#include "collectives/tuner/tuner.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { KIB = 1024 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

static bool one_way(rlt_tuner_kind kind)
{
    return kind == RLT_TUNER_BROADCAST || kind == RLT_TUNER_REDUCE;
}

/* 16 on Hopper, and on Blackwell before 2.25. Then 32; 24 in a node since 2.27, and between more than two
 * nodes since 2.30 with ports of 400 Gb/s, unless they have 800 Gb/s and more than 8 GPUs. */
static uint32_t on_switch(const rlt_tuner_machine *m)
{
    uint32_t v = m->version.number;
    bool fast = m->nic_GBps >= 48, faster = m->nic_GBps >= 96;
    if (!(m->nvswitch && m->multicast && m->nvls.channels &&
          (m->arch == RLT_TUNER_HOPPER || m->arch == RLT_TUNER_BLACKWELL)))
        return 0;
    if (m->arch == RLT_TUNER_HOPPER || v < 22500)
        return 16;
    if (m->nodes == 1)
        return v >= 22700 ? 24 : 32;
    return v >= 23000 && m->nodes > 2 && fast && !(faster && m->gpus > 8) ? 24 : 32;
}

static uint32_t in_use(const rlt_tuner_machine *m)
{
    uint32_t v = m->version.number, most = v < 22500 ? 32 : 64;
    uint64_t c = m->ring.channels;
    if (m->channels)
        return m->channels;
    if (m->tree.channels && m->tree.channels < c)
        c = m->tree.channels;
    c = least(2 * c, most);
    if (m->collnet && m->gpus > 1 && m->collnet_chain.intra_GBps > m->collnet_chain.inter_GBps)
        c = least(c * 3 / 2, most);
    bool doubles = m->arch == RLT_TUNER_HOPPER || (m->arch == RLT_TUNER_BLACKWELL && v >= 22500);
    if (doubles && m->nodes > 1 && m->ring.intra_GBps > 45 && (v >= 22000 ? c <= 15 : c <= most / 2))
        c *= 2;
    if (v >= 22000 && v < 22800 && on_switch(m) > c)
        c = on_switch(m);
    return (uint32_t)c;
}

static bool is_collnet(rlt_tuner_algorithm a)
{
    return a == RLT_TUNER_COLLNET_DIRECT || a == RLT_TUNER_COLLNET_CHAIN;
}

static bool is_nvls(rlt_tuner_algorithm a)
{
    return a == RLT_TUNER_NVLS || a == RLT_TUNER_NVLS_TREE;
}

static uint64_t thread_bytes(const rlt_tuner_machine *m, rlt_tuner_algorithm a, rlt_tuner_protocol p)
{
    if (is_collnet(a))
        return 512;
    if (p == RLT_TUNER_SIMPLE)
        return 64;
    return p == RLT_TUNER_LL && a == RLT_TUNER_RING ? 8 * m->nodes * m->gpus : 8;
}

/* Bytes from which c channels of CollNet Direct are used, if it began with `most`: half as much for each
 * thread below 24, 12, 6 and 3 channels. */
static uint64_t direct_from(const rlt_tuner_machine *m, uint32_t c, uint32_t most)
{
    uint64_t each = 512;
    for (uint32_t mark = 24; mark >= 3; mark /= 2)
        if (c < mark && mark <= most)
            each /= 2;
    return c * (uint64_t)640 * m->collnet_direct.channels * each;
}

/* Channels and threads before the call is spread. */
static void blocks(const rlt_tuner_machine *m, uint64_t bytes, rlt_tuner_algorithm a, rlt_tuner_protocol p,
                   uint32_t *c, uint32_t *threads)
{
    bool line = a == RLT_TUNER_RING || a == RLT_TUNER_TREE;
    uint32_t most = in_use(m);
    *c = most;
    *threads = line && p != RLT_TUNER_LL128 ? 512 : 640;
    if (a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE && m->ring.intra_GBps * m->ring.channels <= 12)
        *threads = 256;
    if (is_nvls(a)) {
        *c = on_switch(m);
        if (a == RLT_TUNER_NVLS && m->nodes > 1 && m->version.number >= 22900)
            *c = (uint32_t)least(*c, most);
    } else if (a == RLT_TUNER_COLLNET_DIRECT) {
        while (*c > 1 && bytes < direct_from(m, *c, most))
            --*c;
    } else if (a != RLT_TUNER_PAT) {
        uint64_t block = *threads * thread_bytes(m, a, p);
        *c = (uint32_t)least(*c, bytes / block > 1 ? bytes / block : 1);
        while (bytes < *c * *threads * thread_bytes(m, a, p) && *threads % 128 == 0)
            *threads /= 2;
    }
    if (a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE)
        *threads += 32;
    if (a == RLT_TUNER_TREE)
        *threads = 640;
    *threads = *threads < 96 ? 96 : *threads;
}

/* Halves a chunk to no less than half of what is above `floor`, while each channel passes on fewer than
 * `loops`. */
static uint64_t halved(uint64_t chunk, uint64_t bytes, uint64_t channels, double loops, uint64_t floor)
{
    for (; chunk > floor; chunk /= 2)
        if ((double)(bytes / (channels * chunk)) >= loops)
            break;
    return chunk;
}

/* Largest chunks of NVLS and NVLSTree in KiB. */
static void switch_chunks(const rlt_tuner_machine *m, uint64_t *nvls, uint64_t *tree)
{
    bool faster = m->nic_GBps >= 96, near = m->nvls.inter <= RLT_VIA_PXB;
    uint32_t g = m->gpus;
    *nvls = 128;
    *tree = m->nodes < 4 ? 128 : 64;
    if (m->arch != RLT_TUNER_BLACKWELL || m->version.number < 23000 || m->nodes == 1 || m->nic_GBps < 48)
        return;
    if (m->nodes == 2 && g <= 4)
        *nvls = *tree = 256;
    else if (m->nodes == 2)
        *tree = g >= 16 || (g <= 8 && near && !faster) ? 64 : 128;
    else if (faster && g <= 8)
        *nvls = *tree = 256;
    else if (faster)
        *tree = g >= 32 ? 64 : 128;
    else
        *tree = near ? 64 : 128;
}

/* A chunk of `size` where fewer than `loops` of the present one are passed on. */
static void lower(uint64_t *chunk, uint64_t bytes, uint64_t at_once, uint64_t loops, uint64_t size)
{
    if (bytes < loops * at_once * *chunk)
        *chunk = least(*chunk, size);
}

static uint64_t switch_chunk(const rlt_tuner_machine *m, uint64_t bytes, uint32_t channels, bool tree)
{
    static const uint64_t loops[2][3] = {{64, 8, 2}, {16, 4, 1}}, sizes[2][3] = {{64, 32, 16}, {128, 64, 32}};
    uint64_t nvls, most, at_once = (uint64_t)channels * m->nvls.channels;
    switch_chunks(m, &nvls, &most);
    uint64_t chunk = KIB * (tree ? least(nvls, most) : nvls);
    const rlt_tuner_call sum = {.kind = RLT_TUNER_ALL_REDUCE, .bytes = bytes};
    if (!tree && m->nodes > 1 &&
        rlt_tuner_predict(m, &sum, RLT_TUNER_NVLS, RLT_TUNER_SIMPLE).bandwidth_GBps < 150)
        chunk = 32 * KIB;
    for (uint32_t i = 0; i < 3; i++)
        lower(&chunk, bytes, at_once, loops[tree][i], KIB * sizes[tree][i]);
    return chunk;
}

static uint64_t chunk_of(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                         rlt_tuner_protocol p, uint32_t c)
{
    uint64_t steps = a == RLT_TUNER_RING && !one_way(call->kind) ? 4 : 1, bytes = call->bytes, heads = 1;
    uint64_t chunk = p == RLT_TUNER_LL ? 32 * KIB : p == RLT_TUNER_LL128 ? 576000 : 512 * KIB * steps;
    double depth = 1 + 0.1 * m->gpus, g = m->gpus;
    for (uint32_t n = m->nodes; n > 1; n /= 2)
        depth++;
    if (a == RLT_TUNER_COLLNET_CHAIN) {
        chunk = halved(256 * KIB, bytes, c, 64 * g, 128 * KIB);
        chunk = halved(chunk, bytes, c, 8 * g, 64 * KIB);
        return halved(chunk, bytes, c, g, 32 * KIB);
    }
    if (a == RLT_TUNER_COLLNET_DIRECT) {
        heads = (uint64_t)c * m->collnet_direct.channels;
        double levels = m->gpus == 1 ? 1 : 2;
        chunk = halved(chunk, bytes, heads, 64 * levels, 128 * KIB);
        return halved(chunk, bytes, heads, 8 * levels, 32 * KIB);
    }
    if (is_nvls(a))
        return switch_chunk(m, bytes, c, a == RLT_TUNER_NVLS_TREE);
    if (a == RLT_TUNER_PAT)
        for (uint64_t loops = call->kind == RLT_TUNER_ALL_GATHER ? 32 : 16;
             chunk > 64 * KIB && bytes < loops * c * chunk;)
            chunk /= 2;
    if (a == RLT_TUNER_TREE && p == RLT_TUNER_LL128) {
        chunk = halved(chunk, bytes, c, depth * 64 / g, 128 * KIB);
        chunk = halved(chunk, bytes, c, depth * 16 / g, 32 * KIB);
    }
    return chunk;
}

static rlt_tuner_launch model(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                              rlt_tuner_protocol p)
{
    static const uint64_t grain[] = {16, 1920, 512};
    rlt_tuner_launch l;
    blocks(m, call->bytes, a, p, &l.channels, &l.threads);
    if (!is_collnet(a)) {
        uint64_t traffic =
            call->bytes * (call->kind == RLT_TUNER_ALL_REDUCE ? 2 : 1) * (p == RLT_TUNER_LL ? 4 : 1);
        uint64_t cells = up(traffic, 32 * KIB), each = up(traffic, (uint64_t)l.channels * 32 * KIB);
        l.channels = cells ? (uint32_t)up(cells, each) : 1;
    }
    l.chunk_bytes = chunk_of(m, call, a, p, l.channels);
    l.chunk_bytes -= l.chunk_bytes % grain[p];
    bool slices = a == RLT_TUNER_RING && p == RLT_TUNER_SIMPLE && !one_way(call->kind);
    l.slice_bytes = l.chunk_bytes / (slices ? 2 : 1);
    return l;
}

static rlt_tuner_pattern any_pattern(dice *d)
{
    static const double speeds[] = {1.5, 3, 12, 24, 40, 45, 45.1, 48, 80, 96};
    return (rlt_tuner_pattern){.channels = 1 + below(d, below(d, 2) ? 8 : 32),
                               .intra_GBps = speeds[below(d, 10)],
                               .inter_GBps = speeds[below(d, 10)],
                               .intra = RLT_VIA_NVL,
                               .inter = (rlt_tuner_path)(RLT_VIA_PIX + below(d, 5))};
}

static rlt_tuner_machine any_machine(dice *d)
{
    static const uint32_t versions[] = {21801, 21903, 22000, 22203, 22403, 22500,
                                        22602, 22700, 22800, 22900, 23000, 23007};
    static const uint32_t gpus[] = {1, 2, 4, 8, 8, 16, 32, 5};
    static const double ports[] = {25, 47.9, 48, 50, 95.9, 96, 100};
    rlt_tuner_machine m = {.version.number = versions[below(d, 12)],
                           .arch = (rlt_tuner_arch)below(d, 4),
                           .nodes = 1 + below(d, below(d, 2) ? 5 : 40),
                           .gpus = gpus[below(d, 8)],
                           .channels = below(d, 4) ? 0 : 1 + below(d, 64),
                           .ring = any_pattern(d),
                           .tree = any_pattern(d),
                           .nvls = any_pattern(d),
                           .collnet_chain = any_pattern(d),
                           .collnet_direct = any_pattern(d),
                           .nic_GBps = ports[below(d, 7)],
                           .nvswitch = below(d, 6) > 0,
                           .multicast = below(d, 6) > 0,
                           .collnet = below(d, 2)};
    m.newest = m.arch;
    if (m.nodes * m.gpus < 2)
        m.nodes = 2;
    m.tree.channels *= below(d, 4) > 0;
    m.nvls.channels *= below(d, 6) > 0;
    return m;
}

/* A size near a product of the numbers that the rules compare it with. */
static uint64_t any_bytes(dice *d, const rlt_tuner_machine *m, uint32_t c)
{
    static const uint64_t numbers[] = {1, 3, 5, 640, 512, 256};
    uint64_t bytes = (1 + roll(d, 40)) << below(d, 26);
    if (below(d, 2))
        bytes = (below(d, 2) ? c : 1 + roll(d, c)) * numbers[below(d, 6)] << below(d, 22);
    if (below(d, 3) == 0)
        bytes *= below(d, 2) ? m->gpus : m->nodes * m->gpus;
    if (below(d, 3) == 0)
        bytes *= below(d, 2) ? m->nvls.channels + below(d, 2) : m->collnet_direct.channels;
    return bytes ? bytes + below(d, 3) - 1 : 1;
}

/* Returns false if the machine excludes the choice. */
static bool agree(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                  rlt_tuner_protocol p)
{
    if (rlt_tuner_predict(m, call, a, p).excluded)
        return false;
    rlt_tuner_launch want = model(m, call, a, p), got = rlt_tuner_launch_of(m, call, a, p);
    if (got.channels != want.channels || got.threads != want.threads || got.chunk_bytes != want.chunk_bytes ||
        got.slice_bytes != want.slice_bytes)
        fail_msg("%s, %s, kind %d of %llu bytes on %u nodes of %u, arch %u, "
                 "%u: %u x %u, %llu, expected %u x %u, %llu",
                 rlt_tuner_algorithm_name(a), rlt_tuner_protocol_name(p), call->kind,
                 (unsigned long long)call->bytes, m->nodes, m->gpus, m->arch, m->version.number, got.channels,
                 got.threads, (unsigned long long)got.chunk_bytes, want.channels, want.threads,
                 (unsigned long long)want.chunk_bytes);
    return true;
}

static void compare(dice *d, uint32_t *run)
{
    rlt_tuner_machine m = any_machine(d);
    assert_int_equal(rlt_tuner_channels(&m), in_use(&m));
    assert_int_equal(rlt_tuner_nvls_channels(&m), on_switch(&m));
    for (uint32_t i = 0; i < 20; i++) {
        rlt_tuner_algorithm a = (rlt_tuner_algorithm)below(d, RLT_TUNER_ALGORITHMS);
        rlt_tuner_protocol p = (rlt_tuner_protocol)below(d, RLT_TUNER_PROTOCOLS);
        rlt_tuner_call call = {.kind = (rlt_tuner_kind)below(d, RLT_TUNER_KINDS)};
        call.bytes = any_bytes(d, &m, is_nvls(a) && on_switch(&m) ? on_switch(&m) : in_use(&m));
        run[a] += agree(&m, &call, a, p);
    }
}

/* Two small nodes of Blackwell have the largest chunks on their switches, while enough of them are passed on. */
static void largest_switch_chunks(void **state)
{
    dice d = {.seed = 13};
    uint32_t run = 0, largest = 0;
    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        rlt_tuner_machine m = any_machine(&d);
        m.arch = RLT_TUNER_BLACKWELL;
        m.version.number = 23000;
        m.nodes = 2;
        m.gpus = 4;
        m.nic_GBps = 50;
        rlt_tuner_call call = {.kind = RLT_TUNER_ALL_REDUCE,
                               .bytes = (uint64_t)16 * on_switch(&m) * m.nvls.channels * 256 * KIB - i % 2};
        if (!agree(&m, &call, RLT_TUNER_NVLS_TREE, RLT_TUNER_SIMPLE))
            continue;
        run++;
        largest +=
            rlt_tuner_launch_of(&m, &call, RLT_TUNER_NVLS_TREE, RLT_TUNER_SIMPLE).chunk_bytes == 256 * KIB;
    }
    assert_true(run > 100 && largest > run / 4 && largest < run);
}

/* Switches of Blackwell at each size where a rule of their chunks begins. */
static void sizes_of_switch_chunks(void **state)
{
    static const uint32_t gpus[] = {4, 5, 8, 9, 16, 17, 31, 32}, loops[] = {1, 2, 4, 8, 16, 64};
    static const double ports[] = {50, 95.9, 96};
    dice d = {.seed = 14};
    uint32_t run = 0;
    (void)state;
    for (uint32_t i = 0; i < 6000; i++) {
        rlt_tuner_machine m = any_machine(&d);
        m.arch = m.newest = RLT_TUNER_BLACKWELL;
        m.version.number = 23000;
        m.nodes = 2 + below(&d, 3);
        m.gpus = gpus[below(&d, 8)];
        m.nic_GBps = ports[below(&d, 3)];
        m.nvls.inter = (rlt_tuner_path)(RLT_VIA_PIX + below(&d, 3));
        m.nvswitch = m.multicast = true;
        rlt_tuner_algorithm a = below(&d, 2) ? RLT_TUNER_NVLS : RLT_TUNER_NVLS_TREE;
        uint64_t at_once = (uint64_t)on_switch(&m) * m.nvls.channels;
        rlt_tuner_call call = {.kind = RLT_TUNER_ALL_REDUCE,
                               .bytes = loops[below(&d, 6)] * at_once * ((16 * KIB) << below(&d, 5))};
        call.bytes += call.bytes && below(&d, 2) ? (uint64_t)-1 : 0;
        run += call.bytes && agree(&m, &call, a, RLT_TUNER_SIMPLE);
    }
    assert_true(run > 2000);
}

/* Trees with LL128 at each size where their chunks are halved, for the depths of few nodes. */
static void sizes_of_tree_chunks(void **state)
{
    dice d = {.seed = 15};
    uint32_t run = 0;
    (void)state;
    for (uint32_t i = 0; i < 6000; i++) {
        rlt_tuner_machine m = any_machine(&d);
        double depth = 1 + 0.1 * m.gpus, chunk = (double)(576000 >> below(&d, 3));
        for (uint32_t n = m.nodes; n > 1; n /= 2)
            depth++;
        double loops = depth * (below(&d, 2) ? 64 : 16) / m.gpus;
        rlt_tuner_call call = {.kind = RLT_TUNER_ALL_REDUCE};
        call.bytes = (uint64_t)(loops * in_use(&m) * chunk * (0.99 + 0.01 * below(&d, 3)));
        run += call.bytes && agree(&m, &call, RLT_TUNER_TREE, RLT_TUNER_LL128);
    }
    assert_true(run > 1000);
}

static void random_launches(void **state)
{
    (void)state;
    dice d = {.seed = 12};
    uint32_t run[RLT_TUNER_ALGORITHMS] = {0};
    for (uint32_t i = 0; i < 20000; i++)
        compare(&d, run);
    for (uint32_t a = 0; a < RLT_TUNER_ALGORITHMS; a++)
        assert_true(run[a] > 300);
}

/* Each figure of each pattern at its bounds, and beyond them. */
static void bounds_of_patterns(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5 * 13; i++) {
        rlt_tuner_pattern good = {.channels = 8, .intra_GBps = 40, .inter_GBps = 40, .intra = RLT_VIA_NVL};
        rlt_tuner_machine m = {.version.number = 23007, .nodes = 2, .gpus = 8, .ring = good, .tree = good};
        rlt_tuner_pattern *const patterns[] = {&m.ring, &m.tree, &m.nvls, &m.collnet_chain,
                                               &m.collnet_direct};
        rlt_tuner_pattern *p = patterns[i % 5];
        static const char *const names[] = {"ring", "tree", "nvls", "collnet_chain", "collnet_direct"};
        rlt_error err = {0};
        *p = good;
        p->channels = i / 5 == 0 ? 1 << 16 : i / 5 == 1 ? (1 << 16) + 1 : p->channels;
        p->intra_GBps = i / 5 == 2    ? -.1
                        : i / 5 == 3  ? 1000000.5
                        : i / 5 == 4  ? 1e6
                        : i / 5 == 11 ? .5
                                      : p->intra_GBps;
        p->inter_GBps = i / 5 == 5    ? -.1
                        : i / 5 == 6  ? 1000000.5
                        : i / 5 == 7  ? 1e6
                        : i / 5 == 12 ? .5
                                      : p->inter_GBps;
        p->intra = i / 5 == 8 ? RLT_VIAS : p->intra;
        p->inter = i / 5 == 9 ? RLT_VIAS : i / 5 == 10 ? RLT_VIAS - 1 : p->inter;
        bool fits = i / 5 == 0 || i / 5 == 4 || i / 5 == 7 || i / 5 >= 10;
        assert_int_equal(rlt_tuner_check(&m, &err), fits ? 0 : RLT_ERANGE);
        assert_string_equal(err.where, fits ? "" : names[i % 5]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_launches), cmocka_unit_test(largest_switch_chunks),
        cmocka_unit_test(sizes_of_switch_chunks), cmocka_unit_test(sizes_of_tree_chunks),
        cmocka_unit_test(bounds_of_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
