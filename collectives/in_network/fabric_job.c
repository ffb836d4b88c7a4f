/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of reactive protocols: sending packets, and the account of received sums. */
#include "collectives/in_network/reactor.h"

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

int rlt_fabric_job_serve(rlt_fabric_job *j, uint64_t servers, rlt_error *err)
{
    const rlt_reactive *r = j->req.protocol;
    bool apart = r->servers && r->servers(j->req.settings) > 0;
    if (servers + apart > j->req.n)
        return rlt_fail(err, RLT_ERANGE, r->name, "%llu servers among %u members leave no worker",
                        (unsigned long long)servers, j->req.n);
    j->n_servers = (uint32_t)servers;
    j->first_server = j->req.n - j->n_servers;
    j->workers = apart ? j->first_server : j->req.n;
    return 0;
}

uint64_t rlt_contribution(const rlt_fabric_job *j, uint32_t chunk, uint32_t worker)
{
    return rlt_mix64(((uint64_t)chunk << 32 | worker) ^ rlt_mix64(j->number + 1));
}

void rlt__fabric_send(rlt_fabric_job *j, rlt_packet *p, uint32_t member)
{
    rlt_fabric *f = j->fabric;
    p->flow = j->number;
    if (f->cfg.host)
        p->flags |= RLT_PACKET_GUEST;
    if (f->cfg.lose && f->cfg.lose(f->cfg.lose_ctx, j->number, p, member))
        p->kind |= RLT_PK_LOST;
    if (f->cfg.twice > 0 || f->cfg.held > 0)
        rlt__fabric_disturb(j, p);
    else
        rlt_packets_send(j->packets, p);
}

uint32_t rlt_fabric_job_hashed_slot(const rlt_fabric_job *j, uint32_t chunk)
{
    uint32_t slots = j->result.slots;
    if (j->fabric->cfg.aggregator.sharing != RLT_SHARE_DYNAMIC && slots >= j->window / j->n_trees)
        return rlt_fabric_job_slot(j, chunk);
    return slots ? rlt_slot_hash(j->number, chunk, 0, slots) : 0;
}

static rlt_time contribute(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot, bool again,
                           uint64_t data)
{
    const rlt_fabric_job_tree *t = &j->trees[chunk % j->n_trees];
    const rlt_reduction *r = t->map;
    uint32_t member = j->stride ? worker / j->stride : worker, child = r->member_child[member];
    const rlt_stop *x = &r->stops[r->member_stop[member]];
    rlt_packet p = {.bytes = j->wire_bytes,
                    .src = j->nodes[worker],
                    .dst = x->node,
                    .route = t->up[x->first_contributor + child],
                    .kind = RLT_PK_DATA,
                    .flags = (uint8_t)(j->packet_flags | (again ? RLT_PACKET_RESEND : 0)),
                    .key = chunk,
                    .aux = RLT_AUX(child, slot),
                    .data = data};
    rlt_time leaves = rlt_packets_leaves(j->packets, p.route, p.bytes);
    j->result.packets++;
    j->result.retransmissions += again;
    rlt__fabric_send(j, &p, worker);
    return leaves;
}

rlt_time rlt_fabric_job_contribute(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                   bool again)
{
    return contribute(j, worker, chunk, slot, again, rlt_contribution(j, chunk, worker));
}

rlt_time rlt_fabric_job_contribute_sum(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot,
                                       uint64_t sum)
{
    return contribute(j, worker, chunk, slot, false, sum);
}

void rlt_fabric_job_reply(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t slot, uint64_t sum)
{
    const rlt_fabric_job_tree *t = &j->trees[chunk % j->n_trees];
    rlt_packet p = {.bytes = j->wire_bytes,
                    .src = j->nodes[j->first_server + server],
                    .dst = t->map->stops[0].node,
                    .route = t->from_server[server],
                    .kind = RLT_PK_REPLY,
                    .flags = j->packet_flags,
                    .key = chunk,
                    .aux = RLT_AUX(0, slot),
                    .data = sum};
    j->result.packets++;
    rlt__fabric_send(j, &p, RLT_NONE);
}

rlt_time rlt_fabric_job_send(rlt_fabric_job *j, uint8_t kind, uint32_t from, uint32_t to, uint32_t bytes,
                             uint32_t chunk, uint32_t aux, uint64_t data)
{
    const uint32_t *ranks = j->req.ranks;
    rlt_path path;
    rlt_packet p = {.bytes = bytes,
                    .src = j->nodes[from],
                    .dst = j->nodes[to],
                    .kind = kind,
                    .key = chunk,
                    .aux = aux,
                    .data = data};
    int rc = rlt_route(j->fabric->router, ranks[from], ranks[to], chunk, &path);
    if (rc) {
        rlt_sim_fail(j->sim, rc, j->req.protocol->name, "no path from rank %u to rank %u", ranks[from],
                     ranks[to]);
        return rlt_sim_now(j->sim);
    }
    if ((p.route = rlt_packets_route(j->packets, path.links, path.n)) == RLT_NONE) {
        rlt_sim_fail(j->sim, RLT_ENOMEM, NULL, "no memory for one more route");
        return rlt_sim_now(j->sim);
    }
    rlt_time leaves = rlt_packets_leaves(j->packets, p.route, bytes);
    j->result.packets++;
    rlt__fabric_send(j, &p, kind == RLT_PK_ANSWER ? to : from);
    return leaves;
}

void rlt_fabric_job_send_on(rlt_fabric_job *j, uint8_t kind, uint32_t src, uint32_t dst, uint32_t route,
                            uint32_t bytes, uint32_t chunk, uint32_t aux, uint64_t data)
{
    rlt_packet p = {.bytes = bytes,
                    .src = src,
                    .dst = dst,
                    .route = route,
                    .kind = kind,
                    .key = chunk,
                    .aux = aux,
                    .data = data};
    j->result.packets++;
    rlt__fabric_send(j, &p, RLT_NONE);
}

static uint64_t expected(rlt_fabric_job *j, uint32_t chunk)
{
    uint64_t *sum = &j->expected[chunk];
    if (*sum == 0)
        for (uint32_t w = 0; w < j->workers; w++)
            *sum += rlt_contribution(j, chunk, w);
    return *sum;
}

bool rlt_fabric_job_receive(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint64_t sum)
{
    if (chunk >= j->chunks || sum != expected(j, chunk)) {
        rlt_sim_fail(j->sim, RLT_ECHECK, j->req.protocol->name,
                     "worker %u got a wrong result for chunk %u; expected the sum of all workers", worker,
                     chunk);
        return false;
    }
    uint64_t at = (uint64_t)worker * j->chunks + chunk, bit = UINT64_C(1) << (at % 64);
    if (j->received[at / 64] & bit) {
        j->result.duplicates++;
        return false;
    }
    j->received[at / 64] |= bit;
    if (--j->lacks[worker] == 0)
        rlt__fabric_worker_done(j, worker);
    if (--j->missing == 0) {
        j->result.end_ps = rlt_sim_now(j->sim);
        j->result.time_ps = j->result.end_ps - j->req.start_ps;
        rlt__fabric_job_done(j);
    }
    return true;
}

void rlt_fabric_job_in_vain(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t tries)
{
    rlt_sim_fail(j->sim, RLT_ESTALL, j->req.protocol->name,
                 "rank %u sent chunk %u %u times without success (%llu packets were lost)",
                 j->req.ranks[worker], chunk, tries, (unsigned long long)j->result.lost);
}

rlt_time rlt_fabric_job_push(rlt_fabric_job *j, uint32_t worker, uint32_t chunk, uint32_t slot, bool again)
{
    if (slot != RLT_NONE)
        return rlt_fabric_job_contribute(j, worker, chunk, slot, again);
    j->result.retransmissions += again;
    return rlt_fabric_job_send(j, RLT_PK_ALONE, worker, j->first_server + rlt_fabric_job_server(j, chunk),
                               j->wire_bytes, chunk, 0, rlt_contribution(j, chunk, worker));
}

bool rlt_fabric_job_lossy(const rlt_fabric_job *j)
{
    const rlt_fabric_config *c = &j->fabric->cfg;
    return c->packets.loss > 0 || c->packets.lose.n || c->lose || c->twice > 0 ||
           (c->packets.buffer_bytes && c->packets.pause == RLT_PAUSE_NONE);
}

int rlt_fabric_job_needs_all(const rlt_fabric_job *j, rlt_error *err)
{
    if (!rlt_fabric_job_lossy(j))
        return 0;
    return rlt_fail(err, RLT_EUNSUPPORTED, j->req.protocol->name,
                    "does not retransmit: expected no loss, and buffers with pauses");
}

void rlt_fabric_job_settle(rlt_fabric_job *j, uint32_t chunk, const uint64_t *bits)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < j->workers; w++) {
        bool in = bits[w / 64] >> (w % 64) & 1;
        sum += in ? rlt_contribution(j, chunk, w) : 0;
        j->result.left_out += !in;
    }
    j->expected[chunk] = sum;
}

rlt_event rlt_fabric_job_timer(rlt_fabric_job *j, rlt_time when, uint64_t what)
{
    return rlt_sim_at(j->sim, when, RLT_START, j->fabric->on_timer, (uint64_t)j->number << 48 | what);
}

const uint64_t *rlt_fabric_job_note(const rlt_fabric_job *j, uint32_t note)
{
    return rlt_pool_at(&j->notes, note);
}

void rlt_fabric_job_take_note(rlt_fabric_job *j, uint32_t note)
{
    rlt_pool_put(&j->notes, note);
}
