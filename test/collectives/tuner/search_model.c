/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of the search for channels: for each speed of a falling list, all numbers of channels are
 * tried against links, ports, cards and lanes. Thousands of random nodes have the same channels, speeds and
 * paths for every pattern.
 */
#include <math.h>
#include <stdio.h>

#include "collectives/tuner/search.h"
#include "collectives/tuner/tuner.h"
#include "net/endpoint/version.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"

static const uint32_t versions[] = {21801, 21803, 21900, 21905, 22000, 22203, 22403, 22500,
                                    22602, 22700, 22800, 22807, 22900, 22907, 23000, 23007};

/* Speeds by architecture, inside a node alone and between nodes, in MB/s; 0 ends a list. */
static const uint32_t old_intra[] = {40000, 30000, 20000, 18000, 15000, 12000, 10000,
                                     9000,  7000,  6000,  5000,  4000,  3000,  0};
static const uint32_t old_inter[] = {48000, 30000, 28000, 24000, 20000, 18000, 15000, 12000, 10000, 9000,
                                     7000,  6000,  5000,  4000,  3000,  2400,  1200,  240,   120,   0};
static const uint32_t sm90_intra[] = {60000, 50000, 40000, 30000, 24000, 20000,
                                      15000, 12000, 11000, 6000,  3000,  0};
static const uint32_t sm90_inter[] = {48000, 45000, 42000, 40000, 30000, 24000, 22000, 20000, 17500,
                                      15000, 12000, 6000,  3000,  2400,  1200,  240,   120,   0};
static const uint32_t sm90_intra_2_18[] = {60000, 40000, 30000, 24000, 20000, 15000, 12000, 6000, 3000, 0};
static const uint32_t sm90_inter_2_18[] = {48000, 45000, 42000, 40000, 30000, 24000, 15000, 12000,
                                           6000,  3000,  2400,  1200,  240,   120,   0};
static const uint32_t sm100_intra_2_25[] = {90000, 80000, 70000, 60000, 50000, 40000,
                                            30000, 24000, 20000, 19000, 0};
static const uint32_t sm100_intra_2_27[] = {90000, 80000, 70000, 60000, 50000, 40000,
                                            30000, 24000, 20000, 19000, 18000, 0};
static const uint32_t sm100_intra_2_29[] = {90000, 80000, 70000, 60000, 50000, 45000, 40000,
                                            30000, 24000, 20000, 19000, 18000, 0};
static const uint32_t sm100_inter_2_27[] = {47900, 45000, 42000, 40000, 30000, 24000, 22000, 20000, 17500,
                                            15000, 12000, 6000,  3000,  2400,  1200,  240,   120,   0};
static const uint32_t sm100_inter_2_28[] = {96000, 48000, 45100, 42000, 40000, 30000, 24000,
                                            22000, 20000, 17500, 15000, 12000, 6000,  3000,
                                            2400,  1200,  240,   120,   0};
static const uint32_t sm100_inter_2_30[] = {96000, 86000, 80000, 48000, 45100, 42000, 40000,
                                            30000, 24000, 22000, 20000, 17500, 15000, 12000,
                                            6000,  3000,  2400,  1200,  240,   120,   0};

typedef struct list {
    rlt_tuner_arch arch;
    uint32_t from; /* first version */
    const uint32_t *intra, *inter;
} list;

/* The last row that fits holds. */
static const list lists[] = {
    {RLT_TUNER_VOLTA, 0, old_intra, old_inter},
    {RLT_TUNER_AMPERE, 0, old_intra, old_inter},
    {RLT_TUNER_HOPPER, 0, sm90_intra_2_18, sm90_inter_2_18},
    {RLT_TUNER_HOPPER, 21900, sm90_intra, sm90_inter},
    {RLT_TUNER_BLACKWELL, 0, sm90_intra_2_18, sm90_inter_2_18},
    {RLT_TUNER_BLACKWELL, 21900, sm90_intra, sm90_inter},
    {RLT_TUNER_BLACKWELL, 22500, sm100_intra_2_25, sm90_inter},
    {RLT_TUNER_BLACKWELL, 22700, sm100_intra_2_27, sm100_inter_2_27},
    {RLT_TUNER_BLACKWELL, 22800, sm100_intra_2_27, sm100_inter_2_28},
    {RLT_TUNER_BLACKWELL, 22900, sm100_intra_2_29, sm100_inter_2_28},
    {RLT_TUNER_BLACKWELL, 23000, sm100_intra_2_29, sm100_inter_2_30},
};

typedef enum sort { RINGS, TREES, HEADS, DIRECT } sort;

typedef struct rig {
    const rlt_tuner_node *n;
    const uint32_t *speed;
    uint32_t speeds, toll; /* percent */
    uint64_t v, p, r;      /* MB/s: NVLink, PCIe, a port */
    bool inter;
} rig;

typedef struct pick {
    uint64_t channels, intra, inter;
    uint32_t at;
} pick;

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

static bool has_ports(const rig *x, uint64_t b, uint64_t c)
{
    uint32_t cards = x->n->nics / (x->n->card_nics ? x->n->card_nics : 1);
    return !x->inter || (up(c, x->n->nics) * b <= x->r && up(c, cards) * b * x->toll <= x->p * 100 &&
                         up(c, x->n->gpus) * b * x->toll <= x->p * 100);
}

static bool has_links(const rig *x, sort s, uint64_t b, uint64_t c)
{
    uint64_t g = x->n->gpus, sends = s == RINGS && !x->inter ? c : c - c / g;
    if (s == HEADS)
        return (c + 1) * b <= x->v;
    if (s == DIRECT)
        return 2 * b <= (x->v ? x->v : x->p);
    return g == 1 || (x->v ? sends * b <= x->v : c * b * x->toll <= x->p * 100);
}

/* Most channels of a speed; trees have `most` or none. */
static uint64_t count(const rig *x, sort s, uint64_t b, uint64_t most)
{
    for (uint64_t c = most; c > 0; c--) {
        if (has_ports(x, b, c) && has_links(x, s, b, c))
            return c;
        if (s == TREES)
            return 0;
    }
    return 0;
}

/* Index of the fastest speed that `c` channels could have; rings come back, so the last GPU sends on, too. */
static uint32_t fastest(const rig *x, sort s, uint64_t c)
{
    uint64_t links = x->v ? x->v : x->p, g = x->n->gpus, way = x->r < x->p ? x->r : x->p;
    uint64_t all = s != RINGS && g > 1 ? links * g / (g - 1) : links;
    for (uint32_t i = 0; i < x->speeds; i++)
        if (x->speed[i] <= (x->inter ? way : links) && x->speed[i] * c <= all)
            return i;
    return x->speeds - 1;
}

static pick first_pass(const rig *x, sort s, uint64_t least, uint64_t most)
{
    uint32_t from = fastest(x, s, s == DIRECT ? 1 : least);
    uint64_t enough = x->v ? x->v : x->p;
    pick best = {.at = from};
    for (uint32_t i = from; i < x->speeds; i++) {
        uint64_t b = x->speed[i], c = count(x, s, b, most);
        if (best.channels && 100 * b <= 49 * best.inter)
            return best;
        if (c && c >= least && (c * b > best.channels * best.inter || (s == HEADS && c > best.channels)))
            best = (pick){c, b, b, i};
        if (best.channels && (best.channels == most || best.channels * best.inter >= enough))
            return best;
    }
    return best;
}

static pick rings_of(const rig *x)
{
    uint64_t most = x->n->version.number < 22500 ? 16 : 32;
    pick ring = first_pass(x, RINGS, x->n->split_nvlink ? 2 : 1, most);
    bool hopper = x->n->arch >= RLT_TUNER_HOPPER;
    if (ring.inter >= 25000 && (!hopper || ring.inter >= 50000 || ring.channels <= 4)) {
        uint64_t before = ring.channels;
        ring.channels = 2 * before > most ? most : 2 * before;
        ring.inter = ring.intra = ring.inter / up(ring.channels, before);
    }
    if (x->n->version.number < 22000)
        return ring;
    uint32_t slower = 0;
    while (slower < x->speeds - 1 && x->speed[slower] > ring.inter)
        slower++;
    for (uint32_t i = slower; i > 0; i--) {
        uint64_t b = x->speed[i - 1], c = count(x, RINGS, b, most);
        if (c >= ring.channels && c * b > ring.channels * ring.inter)
            ring = (pick){c, b, b, i - 1};
    }
    return ring;
}

/* Faster speeds inside the node, up to twice that of the network; the other way round for heads. */
static void raise(const rig *x, sort s, pick *p)
{
    for (uint32_t i = p->at; p->channels && i > 0; i--) {
        uint64_t b = x->speed[i - 1];
        if (s == HEADS ? p->inter >= 2 * p->intra || !has_ports(x, b, p->channels)
                       : p->intra >= 2 * p->inter || !has_links(x, s, b, p->channels))
            return;
        *(s == HEADS ? &p->inter : &p->intra) = b;
    }
}

static void same_pattern(const char *what, const rig *x, const pick *want, const rlt_tuner_pattern *got)
{
    double intra = (double)want->intra / 1000, inter = x->inter ? (double)want->inter / 1000 : 0;
    if (got->channels != want->channels || got->intra_GBps < intra || got->intra_GBps > intra ||
        got->inter_GBps < inter || got->inter_GBps > inter)
        fail_msg(
            "%s, %u nodes of %u, arch %u, %u, NVLink %g, PCIe %g, %u ports of %g: %u channels of %g and %g, "
            "expected %u of %g and %g",
            what, x->n->nodes, x->n->gpus, x->n->arch, x->n->version.number, x->n->nvlink_GBps,
            x->n->pcie_GBps, x->n->nics, x->n->nic_GBps, got->channels, got->intra_GBps, got->inter_GBps,
            (uint32_t)want->channels, intra, inter);
    rlt_tuner_path inside = x->n->gpus == 1 ? RLT_VIA_LOC : x->v ? RLT_VIA_NVL : x->n->path;
    assert_int_equal(got->intra, inside);
    assert_int_equal(got->inter, x->inter ? x->n->path : RLT_VIA_LOC);
    assert_false(got->unlike);
}

static void same_patterns(const rig *x, const rlt_tuner_machine *m, const pick *ring)
{
    static const rlt_tuner_pattern none;
    const rlt_tuner_node *n = x->n;
    bool hopper = n->arch >= RLT_TUNER_HOPPER, heads = n->nvswitch && n->multicast && hopper;
    uint64_t ends = x->inter && n->nics < n->gpus ? n->nics : n->gpus, most = ends < 32 ? ends : 32;
    same_pattern("rings", x, ring, &m->ring);
    pick tree = first_pass(x, TREES, ring->channels, ring->channels);
    raise(x, TREES, &tree);
    same_pattern("trees", x, &tree, &m->tree);
    assert_int_equal(m->tree.plain, n->gpus == 1 || (x->inter && hopper && n->switch_gpus < 2));
    if (heads) {
        pick nvls = first_pass(x, HEADS, x->inter ? 1 : most, most);
        if (x->inter && n->version.number >= 21900)
            raise(x, HEADS, &nvls);
        same_pattern("NVLS", x, &nvls, &m->nvls);
    } else {
        assert_memory_equal(&m->nvls, &none, sizeof none);
    }
    if (n->collnet && x->inter) {
        pick net = first_pass(x, DIRECT, 1, ends < 8 ? ends : 8);
        raise(x, DIRECT, &net);
        same_pattern("direct", x, &net, &m->collnet_direct);
        same_pattern("chain", x, &tree, &m->collnet_chain);
    } else {
        assert_memory_equal(&m->collnet_direct, &none, sizeof none);
        assert_memory_equal(&m->collnet_chain, &none, sizeof none);
    }
}

static double rate(dice *d)
{
    static const double usual[] = {3, 5, 12.5, 12, 24, 25, 48, 50, 96, 100, 0.36, 6};
    return below(d, 3) ? usual[below(d, 12)] : 0.1 + 100 * fraction(d) * fraction(d);
}

static rlt_tuner_node any_node(dice *d)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 8, 8, 16, 72}, lanes[] = {0, 4, 8, 12, 18, 18};
    static const rlt_tuner_path paths[] = {RLT_VIA_PIX, RLT_VIA_PXB, RLT_VIA_PHB, RLT_VIA_SYS, RLT_VIA_PHB};
    rlt_tuner_node n = {.arch = (rlt_tuner_arch)below(d, 4),
                        .cpu = (rlt_tuner_cpu)below(d, 5),
                        .nodes = below(d, 3) ? 1 + below(d, 9) : 1,
                        .gpus = sizes[below(d, 8)],
                        .nvswitch = below(d, 4) > 0,
                        .multicast = below(d, 4) > 0,
                        .path = paths[below(d, 5)],
                        .pcie_GBps = rate(d),
                        .switch_gpus = below(d, 4),
                        .nic_GBps = rate(d),
                        .collnet = below(d, 2),
                        .collnet_shares = below(d, 2),
                        .plugin_us = below(d, 3),
                        .split_nvlink = below(d, 6) == 0};
    static const double lane[] = {20, 20, 20.6, 40.1};
    n.version.number = versions[below(d, 16)];
    n.nvlink_GBps = below(d, 4)   ? lanes[below(d, 6)] * lane[n.arch]
                    : below(d, 3) ? 900 * fraction(d)
                                  : rate(d);
    n.card_nics = below(d, 3) ? 0 : 1 + below(d, 3);
    n.nics = (n.card_nics ? n.card_nics : 1) * (1 + below(d, below(d, 2) ? 9 : 20));
    if (n.nodes * n.gpus < 2)
        n.nodes = 2;
    return n;
}

static void compare(const rlt_tuner_node *n, uint32_t *found)
{
    const list *of = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i].arch == n->arch && lists[i].from <= n->version.number)
            of = &lists[i];
    rig x = {.n = n,
             .speed = n->nodes > 1 ? of->inter : of->intra,
             .toll = n->path == RLT_VIA_PHB && n->cpu == RLT_TUNER_INTEL ? 120 : 100,
             .v = (uint64_t)(n->nvlink_GBps * 1000 + 0.5),
             .p = (uint64_t)(n->pcie_GBps * 1000 + 0.5),
             .r = (uint64_t)(n->nic_GBps * 1000 + 0.5),
             .inter = n->nodes > 1};
    while (x.speed[x.speeds])
        x.speeds++;
    pick ring = rings_of(&x);
    rlt_tuner_machine m;
    rlt_error err = {0};
    memset(&m, 1, sizeof m);
    int rc = rlt_tuner_search(n, &m, &err);
    if (ring.channels == 0) {
        char want[100];
        snprintf(want, sizeof want, "no channel fits: the slowest tried has %g GB/s",
                 x.speed[x.speeds - 1] / 1000.0);
        assert_int_equal(rc, RLT_ETOPOLOGY);
        assert_string_equal(err.what, want);
        return;
    }
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    same_patterns(&x, &m, &ring);
    assert_true(m.version.number == n->version.number && m.arch == n->arch && m.newest == n->arch);
    assert_true(m.cpu == n->cpu && m.nodes == n->nodes && m.gpus == n->gpus && m.nics == n->nics);
    assert_true(m.nvswitch == n->nvswitch && m.multicast == n->multicast && m.collnet == n->collnet);
    assert_true(m.collnet_shares == n->collnet_shares && !m.offload && m.channels == 0);
    double bus = (double)ring.channels * (x.inter ? m.ring.inter_GBps : m.ring.intra_GBps);
    assert_true(fabs(m.plugin_us - n->plugin_us) <= 0 && fabs(m.nic_GBps - n->nic_GBps) <= 0);
    assert_true(fabs(rlt_tuner_ring_bound_GBps(&m) - bus) <= 0);
    ++*found;
}

static void random_nodes(void **state)
{
    (void)state;
    dice d = {.seed = 11};
    uint32_t found = 0;
    for (uint32_t i = 0; i < 30000; i++) {
        rlt_tuner_node n = any_node(&d);
        compare(&n, &found);
    }
    assert_in_range(found, 20000, 29900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
