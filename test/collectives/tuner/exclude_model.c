/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second model of the candidates that cannot run: the table of versions in tuner.h and the rules of NCCL's
 * src/graph/tuning.cc, each as one line that says when it holds. Random machines, half of them with a version at which a
 * rule changes, or just below it, get the same reason for each candidate. The first line that holds is the reason.
 */
#include <stdio.h>

#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { CASES = 30000, LEAST = 21801 };

static const char *reason(const rlt_tuner_machine *m, rlt_tuner_kind kind, rlt_tuner_algorithm a,
                          rlt_tuner_protocol p)
{
    const rlt_tuner_pattern *of[] = {&m->tree, &m->ring, &m->collnet_direct, &m->collnet_chain, &m->nvls,
                                     &m->nvls, &m->tree};
    uint32_t v = m->version.number, g = m->gpus;
    bool one_way = kind == RLT_TUNER_BROADCAST || kind == RLT_TUNER_REDUCE;
    bool sum = kind == RLT_TUNER_ALL_REDUCE, shares = !one_way && !sum, several = m->nodes > 1;
    bool ring = a == RLT_TUNER_RING, pat = a == RLT_TUNER_PAT, nvls = a == RLT_TUNER_NVLS;
    bool tree = a == RLT_TUNER_NVLS_TREE, direct = a == RLT_TUNER_COLLNET_DIRECT;
    bool collnet = direct || a == RLT_TUNER_COLLNET_CHAIN, ll128 = p == RLT_TUNER_LL128;
    bool new_gpu = m->arch == RLT_TUNER_HOPPER || m->arch == RLT_TUNER_BLACKWELL;
    bool far_nic = several && of[a]->inter >= (m->arch < RLT_TUNER_HOPPER ? RLT_VIA_P2C : RLT_VIA_PHB);
    const struct {
        bool holds;
        const char *why;
    } rules[] = {
        {one_way && !ring, "broadcast and reduce run on rings alone"},
        {sum && pat, "PAT serves all-gather and reduce-scatter alone"},
        {shares && !ring && !pat && !nvls && !direct, "it serves all-reduce alone"},
        {shares && nvls && v <= 21899, "NVLS serves all-reduce alone before 2.19"},
        {shares && direct && v <= 21999, "CollNet serves all-reduce alone before 2.20"},
        {p != RLT_TUNER_SIMPLE && !ring && a != RLT_TUNER_TREE, "it runs with Simple alone"},
        {pat && v <= 22299, "PAT exists from 2.23 on"},
        {pat && g != 1, "PAT needs one GPU a node"},
        {pat && m->offload, "PAT needs a network that the host drives"},
        {(nvls || tree) && !new_gpu, "NVLS needs Hopper or newer"},
        {(nvls || tree) && !(m->nvswitch && m->multicast), "NVLS needs NVSwitches that add and replicate"},
        {(nvls || tree) && (g == 1 || (g == 2 && v <= 22899)), "NVLS needs more GPUs in a node"},
        {tree && !several, "NVLSTree needs several nodes"},
        {nvls && several && !m->collnet, "NVLS between nodes needs a CollNet plug-in"},
        {nvls && several && shares && v <= 22699,
         "NVLS serves all-gather and reduce-scatter inside a node alone before 2.27"},
        {nvls && shares && g >= 33, "NVLS serves all-gather and reduce-scatter up to 32 GPUs"},
        {(nvls || tree) && m->nvls.channels < 2 && v >= 22800, "NVLS needs two channels"},
        {collnet && !m->collnet, "it needs a CollNet plug-in"},
        {collnet && g >= 9 && (direct || v >= 22800), "CollNet serves nodes of up to 8 GPUs"},
        {direct && !m->nvswitch, "CollNet Direct needs NVSwitches"},
        {(nvls || direct) && several && shares && !m->collnet_shares,
         "the CollNet plug-in offers all-reduce alone"},
        {(nvls || direct) && several && shares && m->collnet_direct.channels < g,
         "not every GPU has a NIC of its own"},
        {of[a]->channels == 0, "the search found no channels"},
        {ll128 && m->version.rccl, "RCCL has LL128 on MI200 alone"},
        {ll128 && m->arch == RLT_TUNER_BLACKWELL && v <= 22499, "LL128 knows Blackwell from 2.25 on"},
        {ll128 && of[a]->intra >= (v <= 21802 ? RLT_VIA_NVB : RLT_VIA_C2C),
         "LL128 needs NVLink inside a node"},
        {ll128 && far_nic && m->arch < RLT_TUNER_HOPPER, "LL128 needs NICs within PXB"},
        {ll128 && far_nic, "LL128 needs NICs within PXN"},
        {ll128 && m->newest != m->arch && !(m->arch >= RLT_TUNER_HOPPER && v >= 23000),
         "LL128 needs GPUs of one kind"},
        {m->version.rccl && !several && a == RLT_TUNER_TREE && p == RLT_TUNER_SIMPLE,
         "RCCL has no tree with Simple inside a node of MI300"},
    };
    if (m->nodes == 1 && g == 1)
        return "one GPU has nobody to talk to";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].holds)
            return rules[i].why;
    return NULL;
}

static rlt_tuner_pattern any_pattern(dice *d)
{
    return (rlt_tuner_pattern){.channels = below(d, 5) ? 1 + below(d, 12) : below(d, 3),
                               .intra_GBps = 40,
                               .inter_GBps = 40,
                               .intra = (rlt_tuner_path)below(d, below(d, 3) ? 3 : RLT_VIAS),
                               .inter = (rlt_tuner_path)below(d, RLT_VIAS)};
}

static rlt_tuner_machine any_machine(dice *d)
{
    static const uint32_t from[] = {21803, 21900, 22000, 22200, 22300, 22500, 22700, 22800, 22900, 23000};
    static const uint32_t gpus[] = {1, 2, 3, 4, 8, 8, 8, 9, 16, 32, 33, 72};
    rlt_tuner_machine m = {.version.number = from[below(d, 10)] - below(d, 2),
                           .arch = (rlt_tuner_arch)below(d, 4),
                           .nodes = 1 + below(d, 3),
                           .gpus = gpus[below(d, 12)],
                           .ring = any_pattern(d),
                           .tree = any_pattern(d),
                           .nvls = any_pattern(d),
                           .collnet_chain = any_pattern(d),
                           .collnet_direct = any_pattern(d),
                           .nvswitch = below(d, 6) > 0,
                           .multicast = below(d, 6) > 0,
                           .collnet = below(d, 6) > 0,
                           .collnet_shares = below(d, 4) > 0,
                           .offload = below(d, 4) == 0};
    if (below(d, 2))
        m.version.number = LEAST + below(d, 23100 - LEAST);
    if (below(d, 8) == 0) {
        m.version.rccl = true;
        m.arch = RLT_TUNER_MI300X;
    }
    if (below(d, 4) == 0)
        m.collnet_direct.channels = m.gpus - below(d, 2);
    m.ring.channels += m.ring.channels == 0;
    m.newest = below(d, 4) || m.version.rccl ? m.arch : RLT_TUNER_BLACKWELL;
    return m;
}

static bool same_words(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void same_reasons(void **state)
{
    (void)state;
    dice d = {.seed = 4};
    for (uint32_t i = 0; i < CASES; i++) {
        rlt_tuner_machine m = any_machine(&d);
        rlt_tuner_kind kind = (rlt_tuner_kind)below(&d, RLT_TUNER_KINDS);
        const rlt_tuner_call call = {.kind = kind, .bytes = 1 << 20};
        for (uint32_t k = 0; k < RLT_TUNER_CANDIDATES; k++) {
            rlt_tuner_algorithm a = (rlt_tuner_algorithm)(k / RLT_TUNER_PROTOCOLS);
            rlt_tuner_protocol p = (rlt_tuner_protocol)(k % RLT_TUNER_PROTOCOLS);
            const char *got = rlt__tuner_excluded(&m, &call, a, p), *want = reason(&m, kind, a, p);
            if (!same_words(got, want))
                fail_msg("case %u, %u, arch %u, %u nodes of %u, kind %u, %s, %s: %s, expected %s", i,
                         m.version.number, m.arch, m.nodes, m.gpus, kind, rlt_tuner_algorithm_name(a),
                         rlt_tuner_protocol_name(p), got ? got : "runs", want ? want : "runs");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
