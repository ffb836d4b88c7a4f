/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flow model: messages share every link of their paths max-min fairly. At one instant ending flows are
 * taken off their links, then beginning flows are put on, then rates are computed once.
 *
 * Messages of equal path and size that begin together are one flow of the solver. They form a ring: the flow
 * names the last message, and each message names the next.
 */
#include <stdlib.h>

#include "net/endpoint/endpoint.h"
#include "net/flow/internal.h"
#include "net/flow/maxmin.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/network_tree.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Keeps rare code out of line, so that the fast path saves no registers. */
#define SELDOM __attribute__((noinline))

typedef rlt__flow_msg message;
typedef rlt__flow_memo memo;
typedef rlt__flow_net flow_net;

static inline message *message_at(const flow_net *net, uint32_t i)
{
    return rlt__flow_message(net, i);
}

int rlt__flow_no_memory(flow_net *net)
{
    return rlt_sim_fail(net->core.sim, RLT_ENOMEM, NULL, "no memory for one more flow");
}

/* Moves the drain event to the time `next`; negative: none. */
static SELDOM void wake_then(flow_net *net, rlt_time next)
{
    rlt_sim_cancel(net->core.sim, net->wake);
    net->wake_at = next;
    if (next >= 0)
        net->wake = rlt_sim_at(net->core.sim, next, RLT_COMPLETE, net->drain, 0);
}

static inline void wake(flow_net *net)
{
    rlt_time next = rlt_maxmin_next(net->mm);
    if (next != net->wake_at)
        wake_then(net, next);
}

static SELDOM void solve_soon(flow_net *net)
{
    if (net->solve_pending)
        return;
    net->solve_pending = true;
    rlt_sim_post(net->core.sim, rlt_sim_now(net->core.sim), RLT_SOLVE, net->solve, 0);
}

/* Schedules a solve if rates are out of date, otherwise the next drain. */
static inline void update(flow_net *net)
{
    if (rlt_maxmin_needs_solve(net->mm))
        solve_soon(net);
    else
        wake(net);
}

void rlt__flow_update(flow_net *net)
{
    update(net);
}

static void on_solve(void *ctx, uint64_t payload)
{
    (void)payload;
    flow_net *net = ctx;
    rlt_time now = rlt_sim_now(net->core.sim);
    net->solve_pending = false;
    int rc = rlt_maxmin_solve(net->mm, now);
    rlt_usage *u = net->core.base.usage;
    for (uint32_t i = 0; u->series && i < net->mm->component.n && !rc; i++) {
        uint32_t link = net->mm->component.items[i];
        rc = rlt__usage_rate(u, link, now, rlt_maxmin_link_rate(net->mm, link));
    }
    if (rc)
        rlt__flow_no_memory(net);
    else
        wake(net);
}

static void on_deliver(void *ctx, uint64_t payload)
{
    flow_net *net = ctx;
    uint32_t i = (uint32_t)payload;
    rlt__batch_close(&net->batch);
    for (;;) {
        const message *m = message_at(net, i);
        uint64_t tx = m->tx, rx = m->rx;
        uint32_t next = m->next;
        net->core.base.bytes_delivered += m->bytes;
        rlt_pool_put(&net->messages, i);
        net->core.client.delivered(net->core.client.ctx, tx, rx);
        if (next == RLT_NONE)
            return;
        i = next;
        rlt_sim_also(net->core.sim);
    }
}

/* Schedules the delivery of a message that is on no flow. */
static inline void deliver_at(flow_net *net, uint32_t index, rlt_time then)
{
    message_at(net, index)->next = RLT_NONE;
    if (rlt__batch_takes(&net->batch, net->core.sim, then))
        message_at(net, net->batch.last)->next = index;
    else
        rlt_sim_post(net->core.sim, then, RLT_COMPLETE, net->deliver, index);
    rlt__batch_note(&net->batch, net->core.sim, then, index);
}

static SELDOM void leave_times(flow_net *net, rlt_mm_flow *f, rlt_time now, uint64_t wire_bytes)
{
    const rlt_mm_hop *h = rlt_maxmin_hops(net->mm, f);
    for (uint32_t k = 0; k < f->n; k++)
        rlt__usage_leave(net->core.base.usage, h[k].link, now, wire_bytes,
                         f->weight * rlt_maxmin_drained_times(net->mm, &h[k]));
}

/* Ends a drained flow: closes its accounts, reports the injection of its messages, and schedules their
 * delivery. */
static void drained(flow_net *net, uint32_t flow, rlt_time now)
{
    rlt_mm_flow *f = &net->mm->flows[flow];
    uint32_t last = f->user, i = message_at(net, last)->next;
    const rlt_mm_hop *h = rlt_maxmin_hops(net->mm, f);
    uint64_t wire_bytes = message_at(net, last)->wire_bytes;
    if (net->mm->drained_times)
        leave_times(net, f, now, wire_bytes);
    else
        for (uint32_t k = 0; k < f->n; k++)
            rlt__usage_leave(net->core.base.usage, h[k].link, now, wire_bytes, f->weight);
    rlt_maxmin_release(net->mm, flow);
    for (bool more = true; more;) {
        const message *m = message_at(net, i);
        uint32_t next = m->next;
        uint64_t tx = m->tx;
        deliver_at(net, i, rlt_time_add(now, net->latency_first ? 0 : m->tail_ps));
        more = i != last;
        net->core.client.injected(net->core.client.ctx, tx);
        i = next;
    }
}

static void on_drain(void *ctx, uint64_t payload)
{
    (void)payload;
    flow_net *net = ctx;
    rlt_time now = rlt_sim_now(net->core.sim);
    net->wake_at = -1;
    net->wake = (rlt_event){0};
    if (rlt_maxmin_drain(net->mm, now) != 0) {
        rlt__flow_no_memory(net);
        return;
    }
    for (uint32_t i = 0; i < net->mm->drained.n; i++)
        drained(net, net->mm->drained.items[i], now);
    update(net);
}

/* Adds the message to its flow. */
static inline void belongs(flow_net *net, uint32_t index, uint32_t flow, bool merged)
{
    rlt_mm_flow *f = &net->mm->flows[flow];
    message *m = message_at(net, index);
    if (merged && f->user != RLT_NONE) {
        message *last = message_at(net, f->user);
        m->next = last->next;
        last->next = index;
    } else {
        m->next = index;
    }
    f->user = index;
}

/* Begins a flow for the message, or joins an equal one. */
static inline int start(flow_net *net, uint32_t index, const uint32_t *links, uint32_t n, uint64_t bytes)
{
    rlt_time now = rlt_sim_now(net->core.sim);
    bool merged;
    uint32_t flow = rlt_maxmin_start(net->mm, now, links, n, bytes, &merged);
    if (flow == RLT_NONE)
        return RLT_ENOMEM;
    belongs(net, index, flow, merged);
    for (uint32_t i = 0; i < n; i++)
        rlt__usage_join(net->core.base.usage, links[i], now, 1);
    update(net);
    return 0;
}

/* As start, with a multiple of the rate on each link. */
static SELDOM int start_times(flow_net *net, uint32_t index, const uint32_t *links, const uint32_t *times,
                              uint32_t n)
{
    rlt_time now = rlt_sim_now(net->core.sim);
    bool merged;
    uint32_t flow =
        rlt_maxmin_start_times(net->mm, now, links, times, n, message_at(net, index)->wire_bytes, &merged);
    if (flow == RLT_NONE)
        return RLT_ENOMEM;
    belongs(net, index, flow, merged);
    for (uint32_t i = 0; i < n; i++)
        rlt__usage_join(net->core.base.usage, links[i], now, times[i]);
    update(net);
    return 0;
}

int rlt__flow_start(flow_net *net, uint32_t index)
{
    const rlt_shares *s = &net->core.shares;
    return start_times(net, index, s->links, s->times, s->n);
}

static void on_begin(void *ctx, uint64_t payload)
{
    flow_net *net = ctx;
    uint32_t index = (uint32_t)payload, first = message_at(net, index)->path;
    int rc = rlt__shares_load(&net->core, first);
    rlt__path_drop(&net->core, first);
    if (!rc && net->core.changes && rlt__flow_diverted(net, index))
        return;
    if (!rc)
        rc = rlt__flow_start(net, index);
    if (rc)
        rlt__flow_no_memory(net);
}

/* Begins a batch of messages, each on two links. */
static void on_begin_pairs(void *ctx, uint64_t payload)
{
    flow_net *net = ctx;
    uint32_t i = (uint32_t)payload;
    rlt__batch_close(&net->starting);
    for (;;) {
        const message *m = message_at(net, i);
        uint32_t behind = m->behind, links[2] = {m->links[0], m->links[1]};
        if (start(net, i, links, 2, m->wire_bytes) != 0)
            rlt__flow_no_memory(net);
        if (behind == RLT_NONE)
            return;
        i = behind;
        rlt_sim_also(net->core.sim);
    }
}

/* Delays a message on two links by its latency, which comes first. */
static inline void begin_later(flow_net *net, uint32_t index, const uint32_t *links)
{
    message *m = message_at(net, index);
    rlt_time then = rlt_time_add(rlt_sim_now(net->core.sim), m->tail_ps);
    m->links[0] = links[0];
    m->links[1] = links[1];
    m->behind = RLT_NONE;
    if (rlt__batch_takes(&net->starting, net->core.sim, then))
        message_at(net, net->starting.last)->behind = index;
    else
        rlt_sim_post(net->core.sim, then, RLT_START, net->begin_pairs, index);
    rlt__batch_note(&net->starting, net->core.sim, then, index);
}

/* Sends a message without bytes, or one whose latency comes first. Returns the time of its injection, or
 * -1. */
static SELDOM rlt_time start_later(flow_net *net, uint32_t index, const rlt_shares *s)
{
    message *m = message_at(net, index);
    rlt_time now = rlt_sim_now(net->core.sim), then = rlt_time_add(now, m->tail_ps);
    if (s->n == 0 || m->wire_bytes == 0) {
        for (uint32_t i = 0; i < s->n; i++)
            net->core.base.usage->links[s->links[i]].messages += s->times[i];
        deliver_at(net, index, then);
        return now;
    }
    if (rlt__shares_keep(&net->core, &m->path) != 0)
        rlt__flow_no_memory(net);
    else
        rlt_sim_post(net->core.sim, then, RLT_START, net->begin, index);
    return -1;
}

static inline void fill_in(message *m, const rlt_message *msg, uint64_t wire_bytes, rlt_time tail_ps)
{
    m->tx = msg->tx;
    m->rx = msg->rx;
    m->bytes = msg->bytes;
    m->wire_bytes = wire_bytes;
    m->tail_ps = tail_ps;
}

static SELDOM uint32_t new_message(flow_net *net, const rlt_message *msg, const rlt_leg *leg)
{
    uint32_t index = rlt_pool_get(&net->messages);
    if (index == RLT_NONE)
        rlt__flow_no_memory(net);
    else
        fill_in(message_at(net, index), msg, leg->wire_bytes, leg->tail_ps);
    return index != RLT_NONE && net->core.changes && !rlt__flow_origin(net, index, msg) ? RLT_NONE : index;
}

/* Sends a message in the general case: the latency comes first, the network is folded, or the route crosses a
 * link twice. */
static SELDOM rlt_time send_shares(flow_net *net, const rlt_message *msg, const rlt_leg *leg)
{
    const rlt_shares *s = &net->core.shares;
    if (rlt__net_shares(&net->core, msg, leg->path.links, leg->path.n) != 0)
        return -1;
    uint32_t index = new_message(net, msg, leg);
    if (index == RLT_NONE)
        return -1;
    message_at(net, index)->bytes *= rlt__message_count(msg);
    if (s->n == 0 || leg->wire_bytes == 0 || net->latency_first)
        return start_later(net, index, s);
    if (start_times(net, index, s->links, s->times, s->n) != 0)
        rlt__flow_no_memory(net);
    return -1;
}

static void remember(flow_net *net, const rlt_message *msg, const rlt_leg *leg)
{
    if (net->remembers && leg->path.n == 2)
        net->memos[msg->src] = (memo){.dst = msg->dst,
                                      .links = {leg->path.links[0], leg->path.links[1]},
                                      .key = msg->route_key & net->key_mask,
                                      .tail_ps = leg->tail_ps};
}

static inline bool same_kind(const flow_net *net, const rlt_path *p)
{
    return net->mm->kind[p->links[0]] == net->mm->kind[p->links[1]];
}

/* Marks links of one kind that a route crosses, if there are several: they carry no rounding, see
 * rlt_maxmin_drain. A route of very many kinds is taken to repeat them. The kinds are those of the links of
 * the route, since a class may hold links of two kinds, one for each direction round a ring. */
static SELDOM void loosen(flow_net *net, const rlt_path *p)
{
    enum { KINDS = 8 };
    uint32_t first[KINDS], kinds[KINDS], n = 0;
    const rlt_net_fold *fold = net->core.fold;
    const rlt_topology *t = rlt_router_topology(net->core.router);
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t link = fold ? rlt_net_fold_class(fold, p->links[i]) : p->links[i], k = 0;
        uint32_t kind = fold ? rlt__link_kind(t, p->links[i]) : net->mm->kind[link];
        while (k < n && kinds[k] != kind)
            k++;
        if (k < n)
            net->mm->loose[first[k]] = true;
        if (k < n || n == KINDS) {
            net->mm->loose[link] = true;
        } else {
            first[n] = link;
            kinds[n++] = kind;
        }
    }
}

/* Whether the route of a message is to be looked at, and has not just been for another message. */
static inline bool is_new_route(flow_net *net, const rlt_message *msg, const rlt_path *p)
{
    uint64_t key = msg->route_key & net->key_mask;
    uint32_t i = msg->src % RLT__FLOW_LOOKED;
    if (p->n < 2 || (p->n == 2 && !net->core.fold && !same_kind(net, p)))
        return false;
    if (net->routes_stay && net->looked[i].src == msg->src && net->looked[i].dst == msg->dst &&
        net->looked[i].key == key)
        return false;
    net->looked[i].src = msg->src;
    net->looked[i].dst = msg->dst;
    net->looked[i].key = key;
    return true;
}

/* Sends any message. */
static SELDOM rlt_time send_anyhow(flow_net *net, const rlt_message *msg)
{
    rlt_leg leg;
    if (rlt__net_leg(&net->core, msg, &leg) != 0)
        return -1;
    const rlt_path *p = &leg.path;
    if (is_new_route(net, msg, p))
        loosen(net, p);
    remember(net, msg, &leg);
    if (p->n == 0 || leg.wire_bytes == 0 || net->by_shares ||
        (net->core.may_loop && p->n > 2 && !rlt_maxmin_is_simple(net->mm, p->links, p->n)))
        return send_shares(net, msg, &leg);
    uint32_t index = new_message(net, msg, &leg);
    if (index == RLT_NONE)
        return -1;
    if (start(net, index, p->links, p->n, leg.wire_bytes) != 0)
        rlt__flow_no_memory(net);
    return -1;
}

/* Fast path of send_anyhow: a message that takes the route of its rank's last one. */
static rlt_time send(rlt_net *base, const rlt_message *msg)
{
    flow_net *net = (flow_net *)base;
    if (msg->src >= net->ranks)
        return send_anyhow(net, msg);
    const memo *way = &net->memos[msg->src];
    if (way->dst != msg->dst || way->key != (msg->route_key & net->key_mask) || msg->bytes == 0 ||
        net->messages.free_head == RLT_NONE)
        return send_anyhow(net, msg);
    uint32_t index = rlt_pool_get(&net->messages);
    fill_in(message_at(net, index), msg, msg->bytes, way->tail_ps);
    base->messages++;
    base->bytes_offered += msg->bytes;
    if (net->latency_first)
        begin_later(net, index, way->links);
    else if (start(net, index, way->links, 2, msg->bytes) != 0)
        rlt__flow_no_memory(net);
    return -1;
}

/* Sends a tree-shaped transfer: one flow over all links of the tree. */
static SELDOM rlt_time send_tree(flow_net *net, const rlt_tree_message *tree, bool reduce)
{
    const rlt_shares *s = &net->core.shares;
    rlt_leg leg;
    if (rlt__net_tree(&net->core, tree, reduce, &leg) != 0)
        return -1;
    const rlt_message msg = {.src = RLT_NONE,
                             .bytes = rlt__tree_bytes(tree, reduce),
                             .tx = tree->tx,
                             .rx = tree->rx,
                             .count = tree->count};
    uint32_t index = new_message(net, &msg, &leg);
    if (index == RLT_NONE)
        return -1;
    message_at(net, index)->bytes *= rlt__message_count(&msg);
    for (uint32_t i = 0; i < s->n && !net->core.fold; i++)
        s->times[i] = 1;
    if (net->core.fold && rlt__net_shares(&net->core, &msg, s->links, s->n) != 0)
        return -1;
    if (s->n == 0 || leg.wire_bytes == 0 || net->latency_first)
        return start_later(net, index, s);
    if (start_times(net, index, s->links, s->times, s->n) != 0)
        rlt__flow_no_memory(net);
    return -1;
}

static rlt_time reduce_to(rlt_net *net, const rlt_tree_message *m)
{
    return send_tree((flow_net *)net, m, true);
}

static rlt_time multicast(rlt_net *net, const rlt_tree_message *m)
{
    return send_tree((flow_net *)net, m, false);
}

/* Charges the links of a flow with the bytes that it has carried so far. */
static void count_partial(flow_net *net, uint32_t flow, rlt_time now)
{
    rlt_mm_flow *f = &net->mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(net->mm, f);
    double left = rlt_maxmin_remaining(net->mm, flow, now);
    uint64_t wire_bytes = message_at(net, f->user)->wire_bytes;
    uint64_t bytes = rlt__flow_whole_bytes((double)wire_bytes - left);
    for (uint32_t k = 0; k < f->n; k++)
        net->core.base.usage->links[h[k].link].bytes += bytes * f->weight * rlt_maxmin_times(net->mm, &h[k]);
}

static void settle(rlt_net *base)
{
    flow_net *net = (flow_net *)base;
    rlt_time now = rlt_sim_now(net->core.sim);
    for (uint32_t i = 0; i < net->mm->n_links; i++)
        for (uint32_t k = 0; k < net->mm->links[i].own; k++)
            count_partial(net, net->mm->links[i].flows[k].flow, now);
}

static void destroy(rlt_net *base)
{
    flow_net *net = (flow_net *)base;
    rlt_maxmin_free(net->mm);
    free(net->memos);
    rlt__flow_links_free(net);
    rlt_pool_free(&net->messages);
    rlt__net_fini(&net->core);
    free(net);
}

static int create_memos(flow_net *net, rlt_error *err)
{
    const rlt_net_core *c = &net->core;
    net->ranks = c->fold ? 0 : rlt_router_placement(c->router)->n;
    net->routes_stay = c->changes == RLT_LINKS_STAY && rlt_router_routing(c->router) != RLT_ROUTE_SPRAY;
    net->remembers = net->ranks && c->plain && !c->scaled && net->routes_stay;
    net->key_mask = rlt_router_key_mask(c->router);
    net->memos = malloc((net->ranks ? (size_t)net->ranks : 1) * sizeof(*net->memos));
    if (!net->memos)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < net->ranks; i++)
        net->memos[i].dst = RLT_NONE;
    return 0;
}

static void set_kinds(flow_net *net)
{
    const rlt_topology *t = rlt_router_topology(net->core.router);
    const rlt_net_fold *fold = net->core.fold;
    for (uint32_t i = 0; i < net->mm->n_links; i++)
        net->mm->kind[i] = rlt__link_kind(t, fold ? fold->link[i] : i);
}

static int create(const rlt_net_config *cfg, rlt_net **out, rlt_error *err)
{
    *out = NULL;
    flow_net *net = calloc(1, sizeof(*net));
    uint64_t *bw = NULL;
    if (!net)
        return rlt_nomem(err);
    rlt_pool_init(&net->messages, sizeof(message));
    int rc = rlt__net_init(&net->core, &rlt_net_flow, cfg, &bw, err);
    if (!rc)
        rc = rlt_maxmin_create(net->core.base.usage->n, bw, &net->mm, err);
    free(bw);
    if (!rc)
        set_kinds(net);
    net->latency_first = cfg->endpoint.injection == RLT_INJECT_BLOCKING;
    net->by_shares = cfg->fold || net->latency_first;
    if (!rc)
        rc = create_memos(net, err);
    if (!rc) {
        net->wake_at = -1;
        net->mm->note_idle = cfg->series_bin_ps != 0;
        const rlt_handler_entry handlers[] = {{on_drain, &net->drain},
                                              {on_solve, &net->solve},
                                              {on_begin, &net->begin},
                                              {on_begin_pairs, &net->begin_pairs},
                                              {on_deliver, &net->deliver}};
        rc = rlt_sim_register(cfg->sim, net, handlers, sizeof handlers / sizeof *handlers, err);
    }
    if (!rc && cfg->changes)
        rc = rlt__flow_links_create(net, err);
    if (rc) {
        destroy(&net->core.base);
        return rc;
    }
    *out = &net->core.base;
    return 0;
}

const rlt_net_model rlt_net_flow = {
    .name = "flow",
    .summary = "max-min fair sharing of every link",
    .can = RLT_NET_SHARES_LINKS | RLT_NET_FOLDS,
    .create = create,
    .destroy = destroy,
    .send = send,
    .reduce_to = reduce_to,
    .multicast = multicast,
    .settle = settle,
    .relink = rlt__flow_relink,
    .waits = rlt__flow_waits,
};
