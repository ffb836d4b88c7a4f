/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recirculation. A packet with more values than a switch can add in one pass goes through recirculation
 * ports, first in, first out. Each extra pass takes the time of the packet on such a port. With p ports and r
 * extra passes, a packet occupies the ports for r * pass / p and is late by at least r * pass.
 */
#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

bool rlt__fabric_recirculates(rlt_fabric_job *j, rlt_fabric_switch_ *s, const rlt_packet *p)
{
    rlt_fabric *f = j->fabric;
    if (p->kind != RLT_PK_DATA || !(j->more_passes > 0))
        return false;
    uint32_t i = rlt_pool_get(&f->held);
    if (i == RLT_NONE) {
        rlt_sim_fail(f->sim, RLT_ENOMEM, NULL, "no memory for one more packet");
        return true;
    }
    *(rlt_packet *)rlt_pool_at(&f->held, i) = *p;
    rlt_time now = rlt_sim_now(f->sim), rounds = (rlt_time)(j->more_passes * (double)j->pass_ps);
    rlt_time busy = rounds / j->pass_ports, begins = s->passes_free > now ? s->passes_free : now;
    s->passes_free = rlt_time_add(begins, busy);
    rlt_sim_post(f->sim, rlt_time_add(begins, rounds), RLT_START, f->on_pass, i);
    return true;
}

void rlt__fabric_on_pass(void *ctx, uint64_t payload)
{
    rlt_fabric *f = ctx;
    rlt_packet p = *(const rlt_packet *)rlt_pool_at(&f->held, (uint32_t)payload);
    rlt_pool_put(&f->held, (uint32_t)payload);
    if (!f->jobs[p.flow]->closed)
        rlt__fabric_handle(f->jobs[p.flow], &p);
}
