/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exchanges with experts. Copies of tokens go to the ranks of their experts and results come back, in both
 * passes. An exchange is the host's time, then the all-to-alls of the dispatcher one after the other, and
 * beside these the time of its messages. With expert_overlap, the part that the dispatcher can hide is on a
 * stream of its own, which is waited for at the end of the pass.
 */
#include <math.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "workload/experts/experts.h"
#include "workload/models/layer.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"
#include "workload/training/work.h"

/* An exchange of a rank: bytes of the all-to-alls, and the time of its messages. */
typedef struct exchange {
    bool per_node;
    double network, inside, messages_ps;
    const char *name;
} exchange;

/* Returns the experts per token of a layer. */
static uint32_t top_k_of(const rlt_model_layer *l)
{
    double k = l->output_elements ? (double)l->ep_elements / (double)l->output_elements : 1;
    return k < 1 ? 1 : k > l->experts ? l->experts : (uint32_t)(k + 0.5);
}

int rlt__plan_experts(rlt_training *t, rlt_error *err)
{
    rlt_expert_group g = {.members = t->ep};
    int rc = rlt_dispatcher_find(t->accelerator->dispatchers, t->accelerator->n_dispatchers, t->dispatcher,
                                 &t->dispatch, err);
    bool even = strcmp(t->routing, "balanced") == 0 && (t->capacity <= 0 || t->capacity >= 1);
    t->load = (rlt_expert_load){.experts = 1, .exchange = 1};
    for (uint32_t i = 0; i < t->model->n_layers && !rc && !even; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        if (l->experts == 0 || l->work != RLT_WORK_MATMUL)
            continue;
        if (g.experts && l->experts != g.experts)
            return rlt_fail(err, RLT_EUNSUPPORTED, "routing",
                            "layers have %u and %u experts: expected balanced", g.experts, l->experts);
        g.experts = l->experts;
        g.top_k = top_k_of(l);
    }
    if (rc || even)
        return rc;
    return g.experts ? rlt_routing_load(t->routing, &g, t->capacity, &t->load, err)
                     : rlt_fail(err, RLT_ESCHEMA, "routing",
                                "%s has no experts: expected balanced, no capacity", t->model->name);
}

bool rlt__sends_per_node(const rlt_training *t)
{
    const rlt_dispatch_algorithm *a =
        rlt_registry_find(rlt_dispatch_algorithms(), t->dispatch.algorithm, NULL, NULL);
    return a && a->per_node;
}

static uint32_t count_of(const rlt__work *w, int group)
{
    return w->members[group] ? w->members[group] : 1;
}

/* Finds what an exchange sends, if each copy of a token takes `copy` bytes in all. */
static exchange find_exchange(rlt__work *w, const rlt_model_layer *l, double bytes)
{
    const rlt_training *t = w->t;
    const rlt_dispatch_algorithm *a =
        rlt_registry_find(rlt_dispatch_algorithms(), t->dispatch.algorithm, NULL, NULL);
    rlt_expert_group g = {
        .experts = l->experts, .top_k = top_k_of(l), .members = t->ep, .token_nodes = t->token_nodes};
    exchange x = {.per_node = a && a->per_node && l->work == RLT_WORK_MATMUL};
    uint32_t node = count_of(w, RLT__GROUP_EP_INSIDE), nodes = t->ep / node;
    double copy = bytes * t->load.exchange / g.top_k;
    if (!x.per_node) {
        x.network = bytes * t->load.exchange;
        return x;
    }
    if (node * count_of(w, RLT__GROUP_EP_ACROSS) != t->ep) {
        rlt_error err = {0};
        rlt_fail(&err, RLT_ESCHEMA, "dispatcher",
                 "expert-parallel groups have unequal parts on nodes of %u ranks", rlt__node(t));
        rlt__work_fail(w, &err);
        return x;
    }
    rlt_dispatch_copies c = rlt_dispatch_copies_of(a, &g, node);
    double elements = bytes / g.top_k / (double)t->element_bytes,
           tokens = t->model->hidden ? elements / t->model->hidden : 0;
    x.network = copy * c.network;
    x.inside = copy * c.inside;
    x.messages_ps = tokens * c.remote * (double)t->dispatch.message_ps * t->load.exchange * sqrt(nodes / 4.0);
    return x;
}

static uint32_t all_to_all(rlt__work *w, uint32_t stream, int group, double bytes, const char *name)
{
    return w->groups[group] == RLT_NONE || bytes < 1
               ? w->last
               : rlt__work_collective(w, stream, group, RLT_ALL_TO_ALL, (uint64_t)(bytes + 0.5), name);
}

/* Adds a share of an exchange on a stream. Returns its last operation, RLT_NONE for none; w->last is as
 * before. */
static uint32_t send(rlt__work *w, const exchange *x, double share, uint32_t stream, uint32_t *messages)
{
    uint32_t before = w->last;
    *messages = RLT_NONE;
    if (x->messages_ps * share >= 1)
        *messages = rlt__work_delay(w, w->experts, rlt_time_of(x->messages_ps * share), RLT_FOR_EP, x->name);
    w->last = all_to_all(w, stream, x->per_node ? RLT__GROUP_EP_ACROSS : RLT__GROUP_EP, x->network * share,
                         x->name);
    w->last = all_to_all(w, stream, RLT__GROUP_EP_INSIDE, x->inside * share, x->name);
    uint32_t end = w->last;
    w->last = before;
    return end == before ? RLT_NONE : end;
}

/* Sends what is exposed, then what is hidden. */
static void start(rlt__work *w, const exchange *x)
{
    const rlt_training *t = w->t;
    double hidden = t->expert_overlap ? t->dispatch.hidden : 0;
    uint32_t messages, op;
    rlt__work_flush(w, w->doing);
    if (t->dispatch.host_ps)
        rlt__work_follow(w, rlt__work_delay(w, w->compute, t->dispatch.host_ps, RLT_FOR_EP, x->name));
    if (hidden < 1) {
        op = send(w, x, 1 - hidden, rlt__work_stream(w), &messages);
        if (op != RLT_NONE)
            rlt__work_follow(w, op);
        w->pending_after = messages;
        if (messages != RLT_NONE)
            rlt__work_flush(w, w->doing);
    }
    if (hidden > 0) {
        op = send(w, x, hidden, w->experts, &messages);
        w->beside = op != RLT_NONE ? op : messages != RLT_NONE ? messages : w->beside;
    }
}

void rlt__work_join_exchanges(rlt__work *w)
{
    if (w->beside == RLT_NONE)
        return;
    rlt__work_flush(w, w->doing);
    w->pending_after = w->beside;
    w->beside = RLT_NONE;
    rlt__work_flush(w, w->doing);
}

void rlt__work_exchange(rlt__work *w, const rlt_model_layer *l, bool combine, bool narrow)
{
    const rlt_training *t = w->t;
    bool apart = t->sequence_parallel || rlt__experts_spread(t);
    double bytes = rlt__work_bytes(w, (double)l->ep_elements) / (apart ? t->size[RLT_AXIS_TP] : 1),
           shared = bytes * rlt_training_etp(t) * t->load.exchange;
    if (combine)
        rlt__work_communicate(w, RLT__GROUP_EXPERT_TP, RLT_REDUCE_SCATTER, shared, "expert reduce-scatter");
    if (w->groups[RLT__GROUP_EP] != RLT_NONE && bytes >= 1) {
        exchange x = find_exchange(w, l, bytes);
        x.name = combine ? "expert combine" : "expert dispatch";
        if (!combine && (t->dispatch_fp8 == RLT_DISPATCH_FP8_BOTH || (narrow && t->dispatch_fp8))) {
            double each = (1 + 4.0 / 128) / t->element_bytes;
            x.network *= each;
            x.inside *= each;
        }
        start(w, &x);
    }
    if (!combine)
        rlt__work_communicate(w, RLT__GROUP_EXPERT_TP, RLT_ALL_GATHER, shared, "expert all-gather");
}

bool rlt__divides_dense(const rlt_model *m, const rlt_model_layer *l)
{
    for (uint32_t i = 0; i < l->n_products; i++) {
        const rlt_model_product *p = &m->products[l->first_product + i];
        if (!p->expert && p->split != RLT_SPLIT_NONE)
            return true;
    }
    return false;
}

void rlt__work_join_parts(rlt__work *w, const rlt_model_layer *l, double bytes)
{
    bool shared = rlt__divides_dense(w->t->model, l), parts = w->t->sequence_parallel;
    if (shared)
        rlt__work_communicate(w, RLT__GROUP_TP, parts ? RLT_REDUCE_SCATTER : RLT_ALL_REDUCE, bytes,
                              parts ? "tp reduce-scatter" : "tp all-reduce");
    if (!parts)
        rlt__work_communicate(w, RLT__GROUP_TP, RLT_ALL_GATHER, bytes, "tp all-gather");
}
