/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of predictions in double precision, written from NCCL's src/graph/tuning.cc at the tags of tuner.h.
 * Random machines of all versions have the same latency, bandwidth and time within what floats round. The constants
 * and the factors by size are tested in versions.c and tuner.c. RCCL in the network by hand.
 */
#include "collectives/tuner/channels.h"
#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"
#include "test/support/dice.h"
#include "test/support/networks/library.h"
#include "test/support/support.h"

enum { CASES = 12000 };

/* One candidate in plain words. */
static struct {
    const rlt_tuner_machine *m;
    rlt_tuner_call call;
    rlt_tuner_algorithm a;
    rlt_tuner_protocol p;
    uint32_t v, arch, size_class;
    double nodes, g, ranks, steps;
    bool sum, one_way, shares;
    rlt__tuner_constants c;
} k;

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double ll_bound(void)
{
    bool amd = k.m->cpu == RLT_TUNER_AMD || (k.m->cpu == RLT_TUNER_MIXED && k.v >= 22400);
    return k.nodes > 1 ? k.c.ll[amd ? RLT_TUNER_AMPERE : RLT_TUNER_VOLTA][k.size_class] : k.c.ll[k.arch][0];
}

/* Speed of a channel of rings, trees and PAT: up to two nodes that inside. */
static double one_channel(const rlt_tuner_pattern *p)
{
    return k.nodes > 2 ? p->inter_GBps : p->intra_GBps;
}

static double ring_bus(void)
{
    double c = k.m->ring.channels, bus = c * one_channel(&k.m->ring), part = 2;
    if (k.v < 22100)
        part = k.nodes == 1 && !k.sum && k.call.kind != RLT_TUNER_REDUCE ? 3 : 4;
    if (k.p == RLT_TUNER_LL)
        bus = least(ll_bound(), bus / part);
    if (k.p == RLT_TUNER_LL128)
        bus = least(bus * (k.g < 2 && k.v < 22300 ? .7 : .92), c * k.c.ring_ll128[k.arch][k.size_class]);
    return bus * k.ranks / k.steps;
}

static double tree_bus(void)
{
    double c = k.m->tree.channels;
    double bus = least(c * one_channel(&k.m->tree) * .92, c * k.c.tree[k.arch][k.size_class]);
    if (k.p == RLT_TUNER_LL)
        bus = least(bus / 3.8, ll_bound());
    if (k.p == RLT_TUNER_LL128)
        bus = least(k.nodes == 1 ? bus * 7 / 9 : bus * 120 / 128, c * k.c.tree_ll128[k.arch][k.size_class]);
    return bus * (k.m->tree.plain && k.v >= 21803 ? .85 : 1) / 2;
}

static double direct_bus(void)
{
    const rlt_tuner_pattern *p = &k.m->collnet_direct;
    double share = k.g / p->channels;
    if (k.shares && k.v >= 22700)
        return k.g * least(p->intra_GBps, p->inter_GBps * .9);
    if (k.shares) /* .95 for one GPU, .85 for eight, and a line between */
        return k.g * p->intra_GBps * (.95 - .1 * (k.g - 1) / 7);
    return p->channels * p->intra_GBps / ((share + 1) / 2) * (k.arch >= RLT_TUNER_HOPPER ? .85 : 1) / 2;
}

static double old_nvls_bus(void)
{
    double intra = k.m->nvls.intra_GBps, inter = k.m->nvls.inter_GBps, c = k.m->nvls.channels, one;
    bool tree = k.a == RLT_TUNER_NVLS_TREE;
    if (k.v < 21900) {
        one = k.nodes > 2 ? inter : intra;
        return c * one * (tree ? .7 * k.nodes / (2 * k.nodes - 2) : k.v < 21803 ? .75 : 5 / 6.);
    }
    if (tree)
        one = least(intra, k.nodes > 2 ? inter / 2 : inter);
    else if (k.shares && k.v >= 22700)
        one = least(intra * (k.g - 1) / k.g, inter * .9);
    else
        one = least(intra, inter);
    return c * one * (k.shares && k.v >= 22300 ? 1 : 5 / 6.);
}

static double nvls_bus(void)
{
    const rlt_tuner_pattern *p = &k.m->nvls;
    double c = p->channels, inside = p->intra_GBps * (k.arch == RLT_TUNER_HOPPER ? .85 : .74) * (c - 1) / c;
    if (k.v < 22800)
        return old_nvls_bus();
    inside *= k.shares ? (k.g - 1) / k.g : 2;
    double one = least(inside, p->inter_GBps);
    if (k.a == RLT_TUNER_NVLS_TREE)
        one =
            least(least(inside, p->inter_GBps * (k.nodes > 2 ? 1 : 2)), k.c.nvls_tree[k.arch][k.size_class]);
    return c * one * (k.shares ? 1 : k.ranks / k.steps);
}

static double bandwidth(void)
{
    switch (k.a) {
    case RLT_TUNER_RING:
        return ring_bus();
    case RLT_TUNER_TREE:
        return tree_bus();
    case RLT_TUNER_COLLNET_DIRECT:
        return direct_bus();
    case RLT_TUNER_COLLNET_CHAIN:
        return k.m->collnet_chain.channels * k.m->collnet_chain.intra_GBps / 2;
    case RLT_TUNER_PAT:
        return k.m->tree.channels * one_channel(&k.m->tree) * (k.v < 22400 ? .85 : .75);
    default:
        return nvls_bus();
    }
}

static double hop_of(uint32_t hardware, rlt_tuner_algorithm a)
{
    bool power = k.m->cpu == RLT_TUNER_POWER && hardware == RLT__ON_PCIE && k.p == RLT_TUNER_SIMPLE;
    return k.c.hop[hardware][power && a == RLT_TUNER_TREE ? RLT_TUNER_RING : a][k.p];
}

static double inside(const rlt_tuner_pattern *p, rlt_tuner_algorithm a)
{
    return hop_of(p->intra == RLT_VIA_NVL ? RLT__ON_NVLINK : RLT__ON_PCIE, a);
}

static double ring_us(double net)
{
    const rlt_tuner_pattern *p = &k.m->ring;
    double hop = inside(p, RLT_TUNER_RING), posting = k.m->cpu == RLT_TUNER_AMD ? 2 : 1,
           between = k.nodes - 1;
    if (k.one_way) {
        rlt_tuner_algorithm a = p->unlike && k.p == RLT_TUNER_SIMPLE ? RLT_TUNER_TREE : RLT_TUNER_RING;
        return (p->unlike ? k.steps : 1) * (k.nodes > 1 ? hop_of(RLT__ON_NETWORK, a) : inside(p, a));
    }
    posting *= k.p == RLT_TUNER_SIMPLE ? 3 : 1;
    if (k.nodes > 1 && hop < posting)
        hop = posting;
    if (k.sum)
        between = k.v < 22300 && k.nodes > 1 ? 2 * k.nodes : 2 * k.nodes - 2;
    return (k.steps - between) * hop + between * net;
}

static double latency(void)
{
    const rlt_tuner_pattern *of[] = {&k.m->tree,          &k.m->ring, &k.m->collnet_direct,
                                     &k.m->collnet_chain, &k.m->nvls, &k.m->nvls,
                                     &k.m->tree};
    double base = k.c.base[k.a][k.p], peers = k.g - 1, log = 0, hop = inside(of[k.a], k.a);
    for (uint32_t n = k.m->nodes; n > 1; n /= 2)
        log++;
    double wire = hop_of(RLT__ON_NETWORK, k.g < 2 && k.v >= 22300 ? RLT_TUNER_TREE : k.a);
    double net = wire + k.m->plugin_us * (k.p == RLT_TUNER_SIMPLE ? 2 : 1);
    switch (k.a) {
    case RLT_TUNER_RING:
        return base + ring_us(net);
    case RLT_TUNER_TREE:
        return base + 2 * peers * hop + 2 * log * net;
    case RLT_TUNER_COLLNET_DIRECT:
        return base + 2 * (peers > 0 ? hop + peers * (k.v < 21900 ? .5 : .4) : 0) + net;
    case RLT_TUNER_COLLNET_CHAIN:
        return base + 2 * peers * hop + net;
    case RLT_TUNER_NVLS:
        if (k.v < 21900)
            return base + (k.nodes > 1 ? wire : 0);
        return hop + (k.nodes > 1 ? net : 0);
    case RLT_TUNER_NVLS_TREE:
        return k.v < 21900 ? base + (2 * k.nodes - 2) * wire : base + hop + 2 * log * net;
    default:
        return base + log * net / 3.5 + k.ranks * 2.8;
    }
}

static void near(const char *what, double got, double want)
{
    double off = got > want ? got - want : want - got;
    if (off > 2e-6 * want)
        fail_msg("%s, %u nodes of %u, arch %u, %u, kind %d, %s, %s, %llu B: %.8g, expected %.8g", what,
                 k.m->nodes, k.m->gpus, k.m->arch, k.v, k.call.kind, rlt_tuner_algorithm_name(k.a),
                 rlt_tuner_protocol_name(k.p), (unsigned long long)k.call.bytes, got, want);
}

static void compare(const rlt_tuner_prediction *p)
{
    double us = latency(), GBps = bandwidth();
    uint64_t bytes = k.call.bytes;
    bool old_cpu = k.m->cpu == RLT_TUNER_ARM || k.m->cpu == RLT_TUNER_POWER;
    if (k.a == RLT_TUNER_TREE && k.sum)
        GBps *= rlt__tree_correction(k.p, bytes, 23);
    if (k.a == RLT_TUNER_NVLS_TREE && k.arch == RLT_TUNER_BLACKWELL && k.v >= 22900 && !old_cpu)
        GBps *= rlt__tree_correction(k.p, bytes, 24);
    if (k.a == RLT_TUNER_RING && k.p == RLT_TUNER_SIMPLE && k.nodes > 1 && k.sum &&
        bytes / (uint64_t)k.ranks / rlt_tuner_channels(k.m) >= 64)
        us *= k.arch == RLT_TUNER_VOLTA ? 1.9 : 1.4;
    near("latency", p->latency_us, us);
    near("bandwidth", p->bandwidth_GBps, GBps);
    bool late = k.call.fp8 && k.a == RLT_TUNER_RING && k.ranks > 8 && k.v >= 22400;
    near("time", p->time_us, (us + (double)bytes / 1000 / GBps) * (late ? 1024 : 1));
}

static rlt_tuner_pattern any_pattern(dice *d)
{
    static const double speeds[] = {1.5, 3, 12, 20, 24, 40, 48, 80, 96};
    static const rlt_tuner_path paths[] = {RLT_VIA_NVL, RLT_VIA_NVL, RLT_VIA_PIX, RLT_VIA_NVB};
    return (rlt_tuner_pattern){.channels = 1 + below(d, below(d, 2) ? 8 : 24),
                               .intra_GBps = speeds[below(d, 9)],
                               .inter_GBps = speeds[below(d, 9)],
                               .intra = paths[below(d, 4)],
                               .inter = RLT_VIA_PIX,
                               .plain = below(d, 2),
                               .unlike = below(d, 2)};
}

static rlt_tuner_machine any_machine(dice *d)
{
    static const uint32_t versions[] = {21801, 21802, 21803, 21806, 21900, 21903, 22000, 22100, 22203, 22300,
                                        22400, 22500, 22602, 22700, 22803, 22807, 22900, 22907, 23000, 23100};
    static const uint32_t gpus[] = {1, 1, 2, 3, 4, 8, 8, 16};
    rlt_tuner_machine m = {.version.number = versions[below(d, 20)],
                           .arch = (rlt_tuner_arch)below(d, 4),
                           .cpu = (rlt_tuner_cpu)below(d, 5),
                           .nodes = 1 + below(d, below(d, 2) ? 4 : 40),
                           .gpus = gpus[below(d, 8)],
                           .channels = below(d, 2) ? 0 : 1 + below(d, 64),
                           .ring = any_pattern(d),
                           .tree = any_pattern(d),
                           .nvls = any_pattern(d),
                           .collnet_chain = any_pattern(d),
                           .collnet_direct = any_pattern(d),
                           .plugin_us = below(d, 2) ? 0 : 1 + below(d, 80),
                           .nvswitch = true,
                           .multicast = true,
                           .collnet = true,
                           .collnet_shares = true};
    m.newest = m.arch;
    if (m.nodes * m.gpus < 2)
        m.nodes = 2;
    return m;
}

static void describe(const rlt_tuner_machine *m, const rlt_tuner_prediction *p)
{
    k.a = p->algorithm;
    k.p = p->protocol;
    k.v = m->version.number;
    k.arch = m->arch == RLT_TUNER_BLACKWELL && k.v < 22500 ? RLT_TUNER_HOPPER : m->arch;
    k.nodes = m->nodes;
    k.g = m->gpus;
    k.ranks = k.nodes * k.g;
    k.size_class = m->nodes > 3 ? 2 : m->nodes - 1;
    k.sum = k.call.kind == RLT_TUNER_ALL_REDUCE;
    k.one_way = k.call.kind == RLT_TUNER_BROADCAST || k.call.kind == RLT_TUNER_REDUCE;
    k.shares = !k.sum && !k.one_way;
    k.steps = k.one_way ? k.ranks : (k.sum ? 2 : 1) * (k.ranks - 1);
    rlt__tuner_constants_of(k.v, &k.c);
}

/* Those that run come by time. Of equal ones the first in the library's order leads. */
static void predictions(void **state)
{
    (void)state;
    dice d = {.seed = 7};
    uint32_t run[RLT_TUNER_ALGORITHMS] = {0}, ties = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_tuner_machine m = any_machine(&d);
        rlt_tuner_prediction all[RLT_TUNER_CANDIDATES];
        k.m = &m;
        k.call = (rlt_tuner_call){.kind = (rlt_tuner_kind)below(&d, RLT_TUNER_KINDS),
                                  .bytes = (1 + roll(&d, 1000)) << below(&d, 26),
                                  .fp8 = below(&d, 4) == 0};
        uint32_t n = rlt_tuner_candidates(&m, &k.call, all);
        for (uint32_t c = 0; c < n; c++) {
            describe(&m, &all[c]);
            compare(&all[c]);
            run[k.a]++;
            if (c == 0 || all[c].time_us > all[c - 1].time_us)
                continue;
            assert_true(all[c].time_us == all[c - 1].time_us);
            assert_true(all[c].algorithm * RLT_TUNER_PROTOCOLS + all[c].protocol >
                        all[c - 1].algorithm * RLT_TUNER_PROTOCOLS + all[c - 1].protocol);
            ties++;
        }
    }
    for (uint32_t a = 0; a < RLT_TUNER_ALGORITHMS; a++)
        assert_true(run[a] > 300);
    print_message("%u equal times\n", ties);
}

/* RCCL in the network, one GPU and two of a node: a hop of .9 us to the only peer, .4 for each peer, 10.5 for the
 * network; over three nodes the speed inside still counts. */
static void rccl_in_the_network(void **state)
{
    (void)state;
    rlt_tuner_pattern p = {.channels = 8, .intra_GBps = 40, .inter_GBps = 20, .intra = RLT_VIA_NVL};
    rlt_tuner_call call = {.kind = RLT_TUNER_ALL_REDUCE, .bytes = 1 << 30};
    for (uint32_t g = 1; g <= 2; g++) {
        rlt_tuner_machine m = {.version = test_version("rccl"),
                               .arch = RLT_TUNER_MI300X,
                               .newest = RLT_TUNER_MI300X,
                               .nodes = 3,
                               .gpus = g,
                               .ring = p,
                               .tree = p,
                               .collnet_chain = p,
                               .collnet_direct = p,
                               .nvswitch = true,
                               .collnet = true};
        rlt_tuner_prediction got = rlt_tuner_predict(&m, &call, RLT_TUNER_COLLNET_DIRECT, RLT_TUNER_SIMPLE);
        double us = 17 + 2 * (g - 1) * (.9 + .4) + 10.5;
        assert_null(got.excluded);
        assert_true(got.latency_us > us - 1e-4 && got.latency_us < us + 1e-4);
        assert_true(got.bandwidth_GBps > 159.999 && got.bandwidth_GBps < 160.001);
        /* rings count 2 N steps between nodes, of 2 (n - 1) in all, which are fewer for lone GPUs */
        got = rlt_tuner_predict(&m, &call, RLT_TUNER_RING, RLT_TUNER_LL);
        us = 12 + (2. * (3 * g - 1) - 6) + 6 * 9.5;
        assert_true(got.latency_us > us - 1e-4 && got.latency_us < us + 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(predictions), cmocka_unit_test(rccl_in_the_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
