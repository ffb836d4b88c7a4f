/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Candidates that cannot run, and machines that cannot be (NCCL src/graph/tuning.cc, src/enqueue.cc). */
#include <stddef.h>

#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"
#include "sim/base/error.h"

enum { MOST_DIRECT = 8, MOST_SHARED_NVLS = 32, MOST_GPUS = 1 << 16, MOST_NODES = 1 << 20 };

/* Largest figure of a machine that makes sense, GB/s or us. */
static const double most = 1e6;

static bool shares(rlt_tuner_kind kind)
{
    return kind == RLT_TUNER_ALL_GATHER || kind == RLT_TUNER_REDUCE_SCATTER;
}

static const char *wrong_kind(rlt_tuner_kind kind, rlt_tuner_algorithm a, uint32_t version)
{
    if ((kind == RLT_TUNER_BROADCAST || kind == RLT_TUNER_REDUCE) && a != RLT_TUNER_RING)
        return "broadcast and reduce run on rings alone";
    if (kind == RLT_TUNER_ALL_REDUCE && a == RLT_TUNER_PAT)
        return "PAT serves all-gather and reduce-scatter alone";
    if (!shares(kind) || a == RLT_TUNER_RING || a == RLT_TUNER_PAT)
        return NULL;
    if (a != RLT_TUNER_NVLS && a != RLT_TUNER_COLLNET_DIRECT)
        return "it serves all-reduce alone";
    if (a == RLT_TUNER_NVLS && version < RLT__V2_19)
        return "NVLS serves all-reduce alone before 2.19";
    if (a == RLT_TUNER_COLLNET_DIRECT && version < RLT__V2_20)
        return "CollNet serves all-reduce alone before 2.20";
    return NULL;
}

static const char *no_pat(const rlt_tuner_machine *m)
{
    if (m->version.number < RLT__V2_23)
        return "PAT exists from 2.23 on";
    if (m->gpus > 1)
        return "PAT needs one GPU a node";
    return m->offload ? "PAT needs a network that the host drives" : NULL;
}

static const char *no_nvls(const rlt_tuner_machine *m, rlt_tuner_kind kind, rlt_tuner_algorithm a)
{
    uint32_t version = m->version.number;
    if (m->arch < RLT_TUNER_HOPPER || m->arch > RLT_TUNER_BLACKWELL)
        return "NVLS needs Hopper or newer";
    if (!m->nvswitch || !m->multicast)
        return "NVLS needs NVSwitches that add and replicate";
    if (m->gpus < (version < RLT__V2_29 ? 3u : 2u))
        return "NVLS needs more GPUs in a node";
    if (a == RLT_TUNER_NVLS_TREE && m->nodes == 1)
        return "NVLSTree needs several nodes";
    if (a == RLT_TUNER_NVLS && m->nodes > 1 && !m->collnet)
        return "NVLS between nodes needs a CollNet plug-in";
    if (a == RLT_TUNER_NVLS && m->nodes > 1 && shares(kind) && version < RLT__V2_27)
        return "NVLS serves all-gather and reduce-scatter inside a node alone before 2.27";
    if (shares(kind) && m->gpus > MOST_SHARED_NVLS)
        return "NVLS serves all-gather and reduce-scatter up to 32 GPUs";
    if (m->nvls.channels < 2 && version >= RLT__V2_28)
        return "NVLS needs two channels";
    return NULL;
}

static const char *no_collnet(const rlt_tuner_machine *m, rlt_tuner_algorithm a)
{
    if (!m->collnet)
        return "it needs a CollNet plug-in";
    if (m->gpus > MOST_DIRECT && (a == RLT_TUNER_COLLNET_DIRECT || m->version.number >= RLT__V2_28))
        return "CollNet serves nodes of up to 8 GPUs";
    if (a == RLT_TUNER_COLLNET_DIRECT && !m->nvswitch)
        return "CollNet Direct needs NVSwitches";
    return NULL;
}

/* All-gather and reduce-scatter in the network need a head in every GPU. */
static const char *no_heads(const rlt_tuner_machine *m)
{
    if (!m->collnet_shares)
        return "the CollNet plug-in offers all-reduce alone";
    return m->collnet_direct.channels < m->gpus ? "not every GPU has a NIC of its own" : NULL;
}

/* LL128 relies on stores of 128 B that arrive whole. */
static const char *no_ll128(const rlt_tuner_machine *m, const rlt_tuner_pattern *found)
{
    uint32_t version = m->version.number;
    rlt_tuner_path inside = version < RLT__V2_18_3 ? RLT_VIA_NVL : RLT_VIA_NVB;
    bool hopper = m->arch >= RLT_TUNER_HOPPER;
    if (m->version.rccl)
        return "RCCL has LL128 on MI200 alone";
    if (m->arch == RLT_TUNER_BLACKWELL && version < RLT__V2_25)
        return "LL128 knows Blackwell from 2.25 on";
    if (found->intra > inside)
        return "LL128 needs NVLink inside a node";
    if (m->nodes > 1 && found->inter > (hopper ? RLT_VIA_PXN : RLT_VIA_PXB))
        return hopper ? "LL128 needs NICs within PXN" : "LL128 needs NICs within PXB";
    if (m->arch != m->newest && (!hopper || version < RLT__V2_30))
        return "LL128 needs GPUs of one kind";
    return NULL;
}

static const char *wrong_algorithm(const rlt_tuner_machine *m, rlt_tuner_kind kind, rlt_tuner_algorithm a)
{
    switch (a) {
    case RLT_TUNER_PAT:
        return no_pat(m);
    case RLT_TUNER_NVLS:
    case RLT_TUNER_NVLS_TREE:
        return no_nvls(m, kind, a);
    case RLT_TUNER_COLLNET_DIRECT:
    case RLT_TUNER_COLLNET_CHAIN:
        return no_collnet(m, a);
    default:
        return NULL;
    }
}

const char *rlt__tuner_excluded(const rlt_tuner_machine *m, const rlt_tuner_call *call, rlt_tuner_algorithm a,
                                rlt_tuner_protocol p)
{
    const rlt_tuner_pattern *found = rlt__tuner_pattern(m, a);
    bool heads = a == RLT_TUNER_NVLS || a == RLT_TUNER_COLLNET_DIRECT;
    const char *why = wrong_kind(call->kind, a, m->version.number);
    if (m->nodes * m->gpus < 2)
        return "one GPU has nobody to talk to";
    if (!why && p != RLT_TUNER_SIMPLE && a != RLT_TUNER_TREE && a != RLT_TUNER_RING)
        why = "it runs with Simple alone";
    if (!why)
        why = wrong_algorithm(m, call->kind, a);
    if (!why && heads && m->nodes > 1 && shares(call->kind))
        why = no_heads(m);
    if (!why && found->channels == 0)
        why = "the search found no channels";
    if (!why && p == RLT_TUNER_LL128)
        why = no_ll128(m, found);
    if (!why && m->version.rccl && m->nodes == 1 && a == RLT_TUNER_TREE && p == RLT_TUNER_SIMPLE)
        why = "RCCL has no tree with Simple inside a node of MI300";
    return why;
}

static int check_pattern(const rlt_tuner_machine *m, const rlt_tuner_pattern *p, const char *name,
                         rlt_error *err)
{
    if (p->channels > MOST_GPUS || p->intra_GBps < 0 || p->intra_GBps > most || p->inter_GBps < 0 ||
        p->inter_GBps > most || p->intra >= RLT_VIAS || p->inter >= RLT_VIAS)
        return rlt_fail(err, RLT_ERANGE, name, "expected channels up to %d and speeds from 0 to %g GB/s",
                        MOST_GPUS, most);
    if (p->channels && !(p->intra_GBps > 0 && (m->nodes == 1 || p->inter_GBps > 0)))
        return rlt_fail(err, RLT_ERANGE, name, "expected a speed above 0 for its %u channels", p->channels);
    return 0;
}

int rlt_tuner_check(const rlt_tuner_machine *m, rlt_error *err)
{
    const rlt_tuner_pattern *const patterns[] = {&m->ring, &m->tree, &m->nvls, &m->collnet_chain,
                                                 &m->collnet_direct};
    static const char *const names[] = {"ring", "tree", "nvls", "collnet_chain", "collnet_direct"};
    int rc = 0;
    if (m->nodes < 1 || m->nodes > MOST_NODES || m->gpus < 1 || m->gpus > MOST_GPUS)
        return rlt_fail(err, RLT_ERANGE, "machine", "expected 1 to %d nodes of 1 to %d GPUs, got %u of %u",
                        MOST_NODES, MOST_GPUS, m->nodes, m->gpus);
    if (m->version.rccl != (m->arch == RLT_TUNER_MI300X))
        return rlt_fail(err, RLT_EUNSUPPORTED, "machine", "expected %s for %s",
                        m->version.rccl ? "MI300X" : "RCCL", m->version.rccl ? "RCCL" : "MI300X");
    if (m->arch > m->newest)
        return rlt_fail(err, RLT_ERANGE, "machine", "expected the newest GPU to be as new as the oldest");
    if (!(m->plugin_us >= 0 && m->plugin_us <= most))
        return rlt_fail(err, RLT_ERANGE, "plugin", "expected a latency from 0 to %g us", most);
    if (m->ring.channels == 0)
        return rlt_fail(err, RLT_ERANGE, "ring", "expected at least one channel");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && rc == 0; i++)
        rc = check_pattern(m, patterns[i], names[i], err);
    return rc;
}
