/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links that change under the flow model. First the flows that end at that instant end. Then flows leave
 * failed links, and capacities change. Messages that lost their path continue on another one, with the bytes
 * that they have left. A message without a path stalls; so does a transfer over a tree, which keeps its
 * links.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net/flow/internal.h"
#include "net/flow/maxmin.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

bool rlt__flow_origin(rlt__flow_net *net, uint32_t index, const rlt_message *m)
{
    if (index >= net->origins_room && rlt_grow(&net->origins, &net->origins_room, sizeof(*net->origins),
                                               (uint64_t)index + 1, UINT32_MAX, "messages", NULL)) {
        rlt__flow_no_memory(net);
        return false;
    }
    net->origins[index] = (rlt__origin){m->src, m->dst, m->route_key, RLT_NONE};
    return true;
}

/* Returns the first failed link in core.shares, or RLT_NONE. */
static uint32_t failed_share(const rlt__flow_net *net)
{
    const rlt_shares *s = &net->core.shares;
    for (uint32_t i = 0; i < s->n; i++)
        if (rlt_router_link_Bps(net->core.router, s->links[i]) == 0)
            return s->links[i];
    return RLT_NONE;
}

static void stall(rlt__flow_net *net, uint32_t index, uint32_t blocked)
{
    net->origins[index].blocked = blocked;
    if (rlt__mm_append(&net->stalled, index) != 0)
        rlt__flow_no_memory(net);
}

/* Stalls a transfer over a tree. It keeps its links, which are in core.shares. */
static void stall_tree(rlt__flow_net *net, uint32_t index, uint32_t blocked)
{
    if (rlt__shares_keep(&net->core, &rlt__flow_message(net, index)->path) != 0)
        rlt__flow_no_memory(net); /* the instant is finished before the simulation ends */
    else
        stall(net, index, blocked);
}

/* Finds links for a stalled message and puts them into core.shares. Returns true if it can begin on them;
 * otherwise it is stalled again. */
static bool find_way(rlt__flow_net *net, uint32_t index)
{
    const rlt__origin o = net->origins[index];
    rlt__flow_msg *m = rlt__flow_message(net, index);
    rlt_path path;
    if (o.src == RLT_NONE) {
        if (rlt__shares_load(&net->core, m->path) != 0)
            return rlt__flow_no_memory(net), false;
        uint32_t blocked = failed_share(net);
        if (blocked != RLT_NONE)
            return stall(net, index, blocked), false;
        rlt__path_drop(&net->core, m->path);
        return true;
    }
    int rc = rlt_route(net->core.router, o.src, o.dst, o.key, &path);
    if (rc == RLT_ESTALL)
        return stall(net, index, rlt_router_blocked(net->core.router)), false;
    const rlt_message msg = {.src = o.src, .dst = o.dst};
    if (rc)
        return rlt__net_no_route(&net->core, &msg, rc), false;
    if (!net->latency_first)
        m->tail_ps = rlt_time_add(m->tail_ps, rlt__net_scaled_time(&net->core, path.latency_ps));
    return rlt__net_shares(&net->core, &msg, path.links, path.n) == 0;
}

static void go_on(rlt__flow_net *net, uint32_t index)
{
    if (find_way(net, index) && rlt__flow_start(net, index) != 0)
        rlt__flow_no_memory(net);
}

bool rlt__flow_diverted(rlt__flow_net *net, uint32_t index)
{
    uint32_t blocked = failed_share(net);
    if (blocked == RLT_NONE)
        return false;
    if (net->origins[index].src == RLT_NONE)
        stall_tree(net, index, blocked);
    else
        go_on(net, index);
    return true;
}

/* Returns the bytes that each message of a flow has carried so far; at least one byte is left. */
static uint64_t carried_by(const rlt__flow_net *net, uint32_t flow, rlt_time now)
{
    uint64_t bytes = rlt__flow_message(net, net->mm->flows[flow].user)->wire_bytes;
    uint64_t carried = rlt__flow_whole_bytes((double)bytes - rlt_maxmin_remaining(net->mm, flow, now));
    return carried < bytes ? carried : bytes - 1;
}

/* Copies the links of a flow into core.shares and charges them with the bytes carried. Returns the sum of
 * their latencies. */
static rlt_time leave_links(rlt__flow_net *net, uint32_t flow, uint64_t carried, rlt_time now)
{
    const rlt_topology *t = rlt_router_topology(net->core.router);
    rlt_mm_flow *f = &net->mm->flows[flow];
    const rlt_mm_hop *h = rlt_maxmin_hops(net->mm, f);
    rlt_time latency = 0;
    net->core.shares.n = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t times = rlt_maxmin_times(net->mm, &h[k]);
        rlt__usage_leave(net->core.base.usage, h[k].link, now, carried, f->weight * times);
        if (rlt__shares_push(&net->core, h[k].link, times) != 0)
            rlt__flow_no_memory(net);
        latency += rlt_topology_link(t, h[k].link).latency_ps * (rlt_time)times;
    }
    return latency;
}

/* Takes a flow off its links because link `failed` has failed. Its messages stall. */
static void take_off(rlt__flow_net *net, uint32_t flow, uint32_t failed, rlt_time now)
{
    uint64_t carried = carried_by(net, flow, now);
    rlt_time latency = leave_links(net, flow, carried, now);
    uint32_t last = net->mm->flows[flow].user, i = rlt__flow_message(net, last)->next;
    if (rlt_maxmin_cancel(net->mm, flow) != 0)
        rlt__flow_no_memory(net);
    rlt_maxmin_release(net->mm, flow);
    for (bool more = true; more;) {
        rlt__flow_msg *m = rlt__flow_message(net, i);
        uint32_t next = m->next;
        m->wire_bytes -= carried;
        more = i != last;
        if (net->origins[i].src == RLT_NONE) {
            stall_tree(net, i, failed);
        } else {
            if (!net->latency_first)
                m->tail_ps -= rlt__net_scaled_time(&net->core, latency);
            stall(net, i, failed);
        }
        i = next;
    }
}

/* Returns the bytes that transfers on a link have carried and that are not counted yet. */
static double under_way(const rlt__flow_net *net, uint32_t link, rlt_time now)
{
    const rlt_mm_link *l = &net->mm->links[link];
    double sum = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const rlt_mm_flow *f = &net->mm->flows[l->flows[k].flow];
        double bytes = (double)rlt__flow_message(net, f->user)->wire_bytes;
        sum += (bytes - rlt_maxmin_remaining(net->mm, l->flows[k].flow, now)) *
               (f->weight * rlt__mm_times(l->flows[k]));
    }
    return sum > 0 ? sum : 0;
}

static int change_link(rlt__flow_net *net, uint32_t link, rlt_time now)
{
    uint64_t bw = rlt__net_link_Bps(&net->core, link);
    int rc = rlt__usage_capacity(net->core.base.usage, link, under_way(net, link, now), bw);
    return rc || !bw ? rc : rlt_maxmin_capacity(net->mm, link, bw);
}

static void on_relink(void *ctx, uint64_t payload)
{
    (void)payload;
    rlt__flow_net *net = ctx;
    rlt_time now = rlt_sim_now(net->core.sim);
    const rlt_mm_link *links = net->mm->links;
    int rc = 0;
    net->relink_pending = false;
    for (uint32_t i = 0; i < net->changed.n; i++) {
        uint32_t link = net->changed.items[i];
        while (links[link].n && rlt_router_link_Bps(net->core.router, link) == 0)
            take_off(net, links[link].flows[0].flow, link, now);
    }
    for (uint32_t i = 0; i < net->changed.n && !rc; i++)
        rc = change_link(net, net->changed.items[i], now);
    net->changed.n = 0;
    if (rc)
        rlt__flow_no_memory(net);
    rlt_mm_list list = net->stalled;
    net->stalled = (rlt_mm_list){0};
    for (uint32_t i = 0; i < list.n; i++)
        go_on(net, list.items[i]);
    free(list.items);
    rlt__flow_update(net);
}

void rlt__flow_relink(rlt_net *base, const uint32_t *links, uint32_t n)
{
    rlt__flow_net *net = (rlt__flow_net *)base;
    for (uint32_t i = 0; i < n; i++)
        if (rlt__mm_append(&net->changed, links[i]) != 0)
            rlt__flow_no_memory(net);
    if (!net->relink_pending)
        rlt_sim_post(net->core.sim, rlt_sim_now(net->core.sim), RLT_START, net->relink, 0);
    net->relink_pending = true;
}

uint64_t rlt__flow_waits(const rlt_net *base, char *text, size_t size)
{
    const rlt__flow_net *net = (const rlt__flow_net *)(const void *)base;
    char link[200];
    if (net->stalled.n == 0)
        return 0;
    const rlt__origin *o = &net->origins[net->stalled.items[0]];
    rlt__net_failed_name(&net->core, o->blocked, link, sizeof(link));
    if (o->src == RLT_NONE)
        snprintf(text, size, "%u under way wait, such as one over a tree, for %s", net->stalled.n, link);
    else
        snprintf(text, size, "%u under way wait, such as the message from rank %u to rank %u, for %s",
                 net->stalled.n, o->src, o->dst, link);
    return net->stalled.n;
}

int rlt__flow_links_create(rlt__flow_net *net, rlt_error *err)
{
    return rlt_sim_register(net->core.sim, net, &(rlt_handler_entry){on_relink, &net->relink}, 1, err);
}

void rlt__flow_links_free(rlt__flow_net *net)
{
    free(net->origins);
    free(net->changed.items);
    free(net->stalled.items);
}
