/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Injected faults: duplicated packets, and delayed packets that others overtake. */
#include <string.h>

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { DRAW_TWICE = 0x7a01, DRAW_HELD, DRAW_WAIT };

static void send_later(rlt_fabric *f, const rlt_packet *p, uint64_t k)
{
    const rlt_fabric_config *c = &f->cfg;
    uint32_t i = rlt_pool_get(&f->held);
    if (i == RLT_NONE) {
        rlt_sim_fail(f->sim, RLT_ENOMEM, NULL, "no memory for one more packet");
        return;
    }
    *(rlt_packet *)rlt_pool_at(&f->held, i) = *p;
    uint64_t most = c->hold_ps > 0 ? (uint64_t)c->hold_ps : 1;
    rlt_time wait = (rlt_time)rlt_random_below(c->packets.seed, p->flow, DRAW_WAIT, k, most);
    rlt_sim_post(f->sim, rlt_time_add(rlt_sim_now(f->sim), wait), RLT_START, f->on_held, i);
}

void rlt__fabric_on_held(void *ctx, uint64_t payload)
{
    rlt_fabric *f = ctx;
    rlt_packet p = *(const rlt_packet *)rlt_pool_at(&f->held, (uint32_t)payload);
    rlt_pool_put(&f->held, (uint32_t)payload);
    rlt_packets_send(f->packets, &p);
}

static void send_now_or_later(rlt_fabric *f, const rlt_packet *p, uint64_t k)
{
    if (rlt_random_unit(f->cfg.packets.seed, p->flow, DRAW_HELD, k) < f->cfg.held)
        send_later(f, p, k);
    else
        rlt_packets_send(f->packets, p);
}

void rlt__fabric_disturb(rlt_fabric_job *j, const rlt_packet *p)
{
    rlt_fabric *f = j->fabric;
    uint64_t k = 2 * f->drawn++;
    rlt_packet copy = *p;
    bool twice = rlt_random_unit(f->cfg.packets.seed, p->flow, DRAW_TWICE, k) < f->cfg.twice;
    if (twice && (p->kind & ~(unsigned)RLT_PK_LOST) == RLT_PK_PARTIAL) {
        uint32_t note = rlt_pool_get(&j->notes);
        if (note == RLT_NONE) {
            rlt_sim_fail(f->sim, RLT_ENOMEM, NULL, "no memory for one more packet");
            return;
        }
        memcpy(rlt_pool_at(&j->notes, note), rlt_pool_at(&j->notes, p->aux),
               j->note_words * sizeof(uint64_t));
        copy.aux = note;
    }
    send_now_or_later(f, p, k);
    if (twice)
        send_now_or_later(f, &copy, k + 1);
}
