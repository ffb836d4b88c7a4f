/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's search in closed form. Speeds are integers in MB/s: the library rounds what is left of a link. */
#include "collectives/tuner/search.h"

#include <stddef.h>

#include "collectives/tuner/constants.h"

enum {
    MOST_SPEEDS = 24,
    MOST_NVLS_HEADS = 32,
    MOST_COLLNET_HEADS = 8,
    MAX_CHANNELS = 64,
    MAX_CHANNELS_BEFORE_2_25 = 32
};

typedef struct speeds {
    uint32_t n;
    uint32_t MBps[MOST_SPEEDS]; /* falling */
} speeds;

typedef struct search {
    const rlt_tuner_node *node;
    speeds list;
    uint64_t nvlink, pcie, nic; /* MB/s */
    uint32_t most_channels, cards;
    uint32_t gpu_toll; /* percent of its speed that a channel takes of PCIe */
    bool inter;
} search;

typedef uint32_t (*fitting)(const search *s, uint64_t b, uint32_t channels);

static uint64_t MBps(double GBps)
{
    return (uint64_t)(GBps * 1000 + 0.5);
}

static uint32_t up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static void copy_list(const uint32_t *from, size_t n, speeds *out)
{
    out->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        out->MBps[i] = from[i];
}

#define TAKE(list, out) copy_list(list, sizeof(list) / sizeof *(list), out)

/* Speeds tried inside one node alone. */
static void list_intra(rlt_tuner_arch arch, uint32_t version, speeds *out)
{
    static const uint32_t old[] = {40000, 30000, 20000, 18000, 15000, 12000, 10000,
                                   9000,  7000,  6000,  5000,  4000,  3000};
    static const uint32_t hopper[] = {60000, 50000, 40000, 30000, 24000, 20000,
                                      15000, 12000, 11000, 6000,  3000};
    static const uint32_t hopper_2_18[] = {60000, 40000, 30000, 24000, 20000, 15000, 12000, 6000, 3000};
    static const uint32_t blackwell[] = {90000, 80000, 70000, 60000, 50000, 45000,
                                         40000, 30000, 24000, 20000, 19000, 18000};
    static const uint32_t blackwell_2_25[] = {90000, 80000, 70000, 60000, 50000,
                                              40000, 30000, 24000, 20000, 19000};
    if (arch == RLT_TUNER_BLACKWELL && version >= RLT__V2_25) {
        if (version >= RLT__V2_29)
            TAKE(blackwell, out);
        else
            TAKE(blackwell_2_25, out);
        if (version >= RLT__V2_27 && version < RLT__V2_29)
            out->MBps[out->n++] = 18000;
    } else if (arch >= RLT_TUNER_HOPPER && version < RLT__V2_19) {
        TAKE(hopper_2_18, out);
    } else if (arch >= RLT_TUNER_HOPPER) {
        TAKE(hopper, out);
    } else {
        TAKE(old, out);
    }
}

/* Speeds tried between nodes. */
static void list_inter(rlt_tuner_arch arch, uint32_t version, speeds *out)
{
    static const uint32_t old[] = {48000, 30000, 28000, 24000, 20000, 18000, 15000, 12000, 10000, 9000,
                                   7000,  6000,  5000,  4000,  3000,  2400,  1200,  240,   120};
    static const uint32_t hopper[] = {48000, 45000, 42000, 40000, 30000, 24000, 22000, 20000, 17500,
                                      15000, 12000, 6000,  3000,  2400,  1200,  240,   120};
    static const uint32_t hopper_2_18[] = {48000, 45000, 42000, 40000, 30000, 24000, 15000,
                                           12000, 6000,  3000,  2400,  1200,  240,   120};
    static const uint32_t blackwell[] = {96000, 86000, 80000, 48000, 45100, 42000, 40000, 30000, 24000, 22000,
                                         20000, 17500, 15000, 12000, 6000,  3000,  2400,  1200,  240,   120};
    static const uint32_t blackwell_2_28[] = {96000, 48000, 45100, 42000, 40000, 30000, 24000, 22000, 20000,
                                              17500, 15000, 12000, 6000,  3000,  2400,  1200,  240,   120};
    if (arch == RLT_TUNER_BLACKWELL && version >= RLT__V2_30) {
        TAKE(blackwell, out);
    } else if (arch == RLT_TUNER_BLACKWELL && version >= RLT__V2_28) {
        TAKE(blackwell_2_28, out);
    } else if (arch >= RLT_TUNER_HOPPER && version < RLT__V2_19) {
        TAKE(hopper_2_18, out);
    } else if (arch >= RLT_TUNER_HOPPER) {
        TAKE(hopper, out);
        if (arch == RLT_TUNER_BLACKWELL && version >= RLT__V2_27)
            out->MBps[0] = 47900;
    } else {
        TAKE(old, out);
    }
}

/* Whether C channels of b find ports, cards and PCIe lanes. */
static bool fits_network(const search *s, uint64_t b, uint32_t c)
{
    uint64_t toll = b * s->gpu_toll;
    if (!s->inter)
        return true;
    return b * up(c, s->node->nics) <= s->nic && toll * up(c, s->cards) <= s->pcie * 100 &&
           toll * up(c, s->node->gpus) <= s->pcie * 100;
}

static bool fits_inside(const search *s, uint64_t b, uint32_t c, bool closed)
{
    uint32_t g = s->node->gpus, out = closed ? c : c - c / g;
    if (g == 1)
        return true;
    return s->nvlink ? b * out <= s->nvlink : b * s->gpu_toll * c <= s->pcie * 100;
}

/* Largest number of channels up to `most` that fit; the conditions grow with it. */
static uint32_t fit_rings(const search *s, uint64_t b, uint32_t most)
{
    uint32_t c = 0;
    for (uint32_t next = 1; next <= most; next++)
        if (fits_network(s, b, next) && fits_inside(s, b, next, !s->inter))
            c = next;
    return c;
}

static uint32_t fit_trees(const search *s, uint64_t b, uint32_t most)
{
    return fits_network(s, b, most) && fits_inside(s, b, most, false) ? most : 0;
}

static uint32_t heads_of(const search *s, uint32_t most)
{
    uint32_t g = s->node->gpus, heads = s->inter && s->node->nics < g ? s->node->nics : g;
    return heads < most ? heads : most;
}

static uint32_t fit_nvls(const search *s, uint64_t b, uint32_t most)
{
    uint32_t c = 0;
    for (uint32_t next = 1; next <= most; next++)
        if (b * (next + 1) <= s->nvlink && fits_network(s, b, next))
            c = next;
    return c;
}

/* Each head sends b in all, and every other GPU answers each head with its part of b. */
static uint32_t fit_collnet(const search *s, uint64_t b, uint32_t most)
{
    uint32_t c = most;
    while (c && !(2 * b <= (s->nvlink ? s->nvlink : s->pcie) && fits_network(s, b, c)))
        c--;
    return c;
}

/* Fastest speed that one channel could have. */
static uint32_t start_of(const search *s, uint32_t channels, bool ring)
{
    uint64_t path = s->nic < s->pcie ? s->nic : s->pcie;
    uint64_t total = s->nvlink ? s->nvlink : s->pcie, g = s->node->gpus, i = 0;
    if (!s->inter)
        path = total;
    if (g > 1 && !ring)
        total = total * g / (g - 1);
    while (i + 1 < s->list.n && (s->list.MBps[i] > path || s->list.MBps[i] * channels > total))
        i++;
    return (uint32_t)i;
}

typedef struct found {
    uint32_t channels;
    uint64_t intra, inter; /* MB/s */
    uint32_t at;           /* index among the speeds */
} found;

/* First pass: down the list from `from`. */
static found down(const search *s, fitting fit, uint32_t from, uint32_t least, uint32_t most)
{
    found best = {.at = from};
    uint64_t total = s->nvlink ? s->nvlink : s->pcie;
    bool heads = fit == fit_nvls;
    for (uint32_t i = from; i < s->list.n; i++) {
        uint64_t b = s->list.MBps[i];
        if (best.channels && b * 100 <= best.inter * 49)
            break;
        uint32_t c = fit(s, b, most);
        bool better = c * b > best.channels * best.inter || (heads && c > best.channels);
        if (c >= least && c && better)
            best = (found){.channels = c, .intra = b, .inter = b, .at = i};
        if (best.channels && (best.channels == most || best.channels * best.inter >= total))
            break;
    }
    return best;
}

/* Rings once more: as many channels, at a higher speed. */
static void raise_ring(const search *s, found *ring, uint32_t most)
{
    uint32_t i = 0;
    while (i + 1 < s->list.n && s->list.MBps[i] > ring->inter)
        i++;
    while (i-- > 0) {
        uint64_t b = s->list.MBps[i];
        uint32_t c = fit_rings(s, b, most);
        if (c >= ring->channels && c * b > ring->channels * ring->inter)
            *ring = (found){.channels = c, .intra = b, .inter = b, .at = i};
    }
}

static found find_ring(const search *s)
{
    const rlt_tuner_node *node = s->node;
    uint32_t least = node->split_nvlink ? 2 : 1, most = s->most_channels;
    found ring = down(s, fit_rings, start_of(s, least, true), least, most);
    bool hopper = node->arch >= RLT_TUNER_HOPPER;
    if (ring.inter >= 25000 && !(hopper && ring.inter < 50000 && ring.channels > 4)) {
        uint32_t twice = 2 * ring.channels < most ? 2 * ring.channels : most;
        ring.inter = ring.intra = ring.inter / up(twice, ring.channels);
        ring.channels = twice;
    }
    if (node->version.number >= RLT__V2_20)
        raise_ring(s, &ring, most);
    return ring;
}

/* Trees: raises the speed inside the node while it is less than twice the network's. */
static void raise_intra(const search *s, found *tree)
{
    for (uint32_t i = tree->at; i-- > 0 && tree->intra < 2 * tree->inter;) {
        if (!fits_inside(s, s->list.MBps[i], tree->channels, false))
            return;
        tree->intra = s->list.MBps[i];
    }
}

/* NVLS: raises the speed of the network while it is less than twice that inside. */
static void raise_inter(const search *s, found *nvls)
{
    for (uint32_t i = nvls->at; i-- > 0 && nvls->inter < 2 * nvls->intra;) {
        if (!fits_network(s, s->list.MBps[i], nvls->channels))
            return;
        nvls->inter = s->list.MBps[i];
    }
}

static found find_tree(const search *s, uint32_t channels)
{
    found tree = down(s, fit_trees, start_of(s, channels, false), channels, channels);
    if (tree.channels)
        raise_intra(s, &tree);
    return tree;
}

static found find_nvls(const search *s)
{
    uint32_t most = heads_of(s, MOST_NVLS_HEADS), least = s->inter ? 1 : most;
    found nvls = down(s, fit_nvls, start_of(s, least, false), least, most);
    if (nvls.channels && s->inter && s->node->version.number >= RLT__V2_19)
        raise_inter(s, &nvls);
    return nvls;
}

static found find_collnet(const search *s)
{
    uint32_t most = heads_of(s, MOST_COLLNET_HEADS);
    found net = down(s, fit_collnet, start_of(s, 1, false), 1, most);
    for (uint32_t i = net.at; net.channels && i-- > 0 && net.intra < 2 * net.inter;) {
        if (2 * (uint64_t)s->list.MBps[i] > (s->nvlink ? s->nvlink : s->pcie))
            break;
        net.intra = s->list.MBps[i];
    }
    return net;
}

static rlt_tuner_pattern pattern(const search *s, const found *f)
{
    const rlt_tuner_node *node = s->node;
    rlt_tuner_path inside = node->nvlink_GBps > 0 ? RLT_VIA_NVL : node->path;
    return (rlt_tuner_pattern){.channels = f->channels,
                               .intra_GBps = (double)f->intra / 1000,
                               .inter_GBps = s->inter ? (double)f->inter / 1000 : 0,
                               .intra = node->gpus == 1 ? RLT_VIA_LOC : inside,
                               .inter = s->inter ? node->path : RLT_VIA_LOC};
}

static int check_node(const rlt_tuner_node *n, rlt_error *err)
{
    const double most = 1e6; /* GB/s */
    bool alone = n->nodes == 1;
    if (n->version.rccl || n->arch == RLT_TUNER_MI300X)
        return rlt_fail(err, RLT_EUNSUPPORTED, "search", "RCCL takes its channels from tables, see xgmi.h");
    if (n->nodes < 1 || n->gpus < 1 || n->gpus > 1024 || n->nodes * (uint64_t)n->gpus < 2)
        return rlt_fail(err, RLT_ERANGE, "search", "expected at least two GPUs, and 1024 in a node at most");
    if (!(n->nvlink_GBps >= 0 && n->nvlink_GBps <= most))
        return rlt_fail(err, RLT_ERANGE, "search", "expected an NVLink rate from 0 to %g GB/s", most);
    if ((!alone || n->nvlink_GBps == 0) && !(n->pcie_GBps > 0 && n->pcie_GBps <= most))
        return rlt_fail(err, RLT_ERANGE, "search", "expected a PCIe rate above 0");
    if (!alone && (n->nics < 1 || n->nics > 1024 || !(n->nic_GBps > 0 && n->nic_GBps <= most)))
        return rlt_fail(err, RLT_ERANGE, "search", "expected 1 to 1024 NIC ports with a rate above 0");
    if (!alone && n->card_nics && n->nics % n->card_nics)
        return rlt_fail(err, RLT_ERANGE, "search", "expected the %u ports to fill cards of %u", n->nics,
                        n->card_nics);
    return 0;
}

static void start(const rlt_tuner_node *node, search *s)
{
    uint32_t version = node->version.number;
    uint32_t most = version >= RLT__V2_25 ? MAX_CHANNELS : MAX_CHANNELS_BEFORE_2_25;
    *s = (search){.node = node, .inter = node->nodes > 1};
    if (s->inter)
        list_inter(node->arch, version, &s->list);
    else
        list_intra(node->arch, version, &s->list);
    s->nvlink = MBps(node->nvlink_GBps);
    s->pcie = MBps(node->pcie_GBps);
    s->nic = MBps(node->nic_GBps);
    s->cards = node->card_nics ? node->nics / node->card_nics : node->nics;
    s->most_channels = most / 2;
    s->gpu_toll = node->path == RLT_VIA_PHB && node->cpu == RLT_TUNER_INTEL ? 120 : 100;
}

int rlt_tuner_search(const rlt_tuner_node *node, rlt_tuner_machine *out, rlt_error *err)
{
    search s;
    int rc = check_node(node, err);
    if (rc)
        return rc;
    start(node, &s);
    *out = (rlt_tuner_machine){.version = node->version,
                               .arch = node->arch,
                               .newest = node->arch,
                               .cpu = node->cpu,
                               .nodes = node->nodes,
                               .gpus = node->gpus,
                               .nics = node->nics,
                               .nic_GBps = node->nic_GBps,
                               .plugin_us = node->plugin_us,
                               .nvswitch = node->nvswitch,
                               .multicast = node->multicast,
                               .collnet = node->collnet,
                               .collnet_shares = node->collnet_shares};
    found ring = find_ring(&s);
    if (ring.channels == 0)
        return rlt_fail(err, RLT_ETOPOLOGY, "search", "no channel fits: the slowest tried has %g GB/s",
                        s.list.MBps[s.list.n - 1] / 1000.0);
    found tree = find_tree(&s, ring.channels);
    out->ring = pattern(&s, &ring);
    out->tree = pattern(&s, &tree);
    out->tree.plain = node->gpus == 1 || (s.inter && node->arch >= RLT_TUNER_HOPPER && node->switch_gpus < 2);
    if (node->nvswitch && node->multicast && node->arch >= RLT_TUNER_HOPPER) {
        found nvls = find_nvls(&s);
        out->nvls = pattern(&s, &nvls);
    }
    if (node->collnet && s.inter) {
        found net = find_collnet(&s);
        out->collnet_chain = pattern(&s, &tree);
        out->collnet_direct = pattern(&s, &net);
    }
    return 0;
}

double rlt_tuner_lane_GBps(uint32_t capability)
{
    if (capability >= 100)
        return 40.1;
    if (capability >= 90)
        return 20.6;
    if (capability == 86)
        return 12;
    if (capability >= 70)
        return 20;
    return capability >= 60 ? 18 : 0;
}

double rlt_tuner_ring_bound_GBps(const rlt_tuner_machine *m)
{
    return m->ring.channels * (m->nodes > 1 ? m->ring.inter_GBps : m->ring.intra_GBps);
}
