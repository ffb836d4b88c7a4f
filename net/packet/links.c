/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links that change under the packet model. The receiver misses the packets that a failed link lost, as after
 * any loss. Flows take new routes; flows without a route in either direction wait.
 */
#include "net/network.h"
#include "net/network_internal.h"
#include "net/packet/internal.h"
#include "net/packet/packets.h"
#include "sim/base/time.h"
#include "sim/sim.h"

static void take_routes(rlt__packet_net *net, uint32_t index)
{
    rlt__flow *f = &net->flows[index];
    bool was_blocked = f->blocked != RLT_NONE;
    f->blocked = RLT_NONE;
    net->sources[f->port].head = RLT_NONE; /* all flows leave their rounds */
    f->in_round = false;
    if (!rlt__flow_take_route(net, f) || !rlt__flow_take_back(net, f))
        return;
    if (was_blocked) { /* the timeout of a lost packet counts from now */
        f->progress_ps = rlt_sim_now(net->core.sim);
        f->tries = 0;
        if (!f->armed && f->acked < f->sent)
            rlt__repair_arm(net, index);
    }
}

void rlt__packet_relink(rlt_net *base, const uint32_t *links, uint32_t n)
{
    rlt__packet_net *net = (rlt__packet_net *)base;
    for (uint32_t i = 0; i < n; i++)
        if (rlt_packets_link(net->packets, links[i], rlt__net_link_Bps(&net->core, links[i])) != 0)
            rlt__packet_no_memory(net);
    if (net->core.changes != RLT_LINKS_FAIL)
        return;
    for (uint32_t i = 0; i < net->n_flows; i++)
        take_routes(net, i);
    for (uint32_t i = 0; i < net->n_flows; i++)
        rlt__flow_offer(net, i);
}
