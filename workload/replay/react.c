/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives of a replay by reactive protocols. They are jobs of a fabric that uses the links of the
 * replay's packet network, so that they meet all other traffic there. The jobs of a group run one after the
 * other, like collectives on one communicator: the slots of one are free for the next.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

/* Without settings of slots, a switch has room for this many concurrent collectives of the first one's
 * size. */
enum { ROOM = 64 };

bool rlt__replay_reacts(const rlt_replay_options *o)
{
    bool reacts = false;
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        reacts |= o->reacting[k] != NULL;
    for (uint32_t i = 0; i < o->n_rules; i++)
        reacts |= o->rules[i].reacting != NULL;
    return reacts;
}

static void on_worker_done(void *ctx, uint64_t cookie, uint32_t worker)
{
    rlt__replay_end_member(ctx, (uint32_t)cookie, worker);
}

/* Called when the last job of a group has released its slots. */
static void on_next(void *ctx, uint64_t payload)
{
    rlt_replay *r = ctx;
    rlt__lane *lane = &r->lanes[payload];
    uint32_t comm = lane->first;
    lane->busy = false;
    /* A waiting collective that falls back to an algorithm is no job: the next one may go on. */
    for (; comm != RLT_NONE && !lane->busy; comm = lane->first) {
        lane->first = r->comms[comm].next;
        rlt__replay_reopen(r, comm);
    }
}

static void on_done(void *ctx, uint64_t cookie)
{
    rlt_replay *r = ctx;
    comm_state *cs = &r->comms[cookie];
    rlt_react_result result = rlt_fabric_result(r->fabric, cs->result.job);
    rlt_error e = {0};
    cs->result.algorithm = result.protocol;
    if (!r->options.no_bounds &&
        rlt_react_bound(&result, &cs->slot->plan.req, rlt__replay_built(r), rlt__replay_fastest(&r->options),
                        &cs->result.bound_ps, &e) < 0)
        rlt__replay_fail(r, &e);
    rlt__replay_drop_plan(r, cs);
    rlt_sim_post(r->sim, rlt_sim_now(r->sim), RLT_COMPLETE, r->on_next, r->program->comms[cookie].group);
}

int rlt__replay_fabric(rlt_replay *r, rlt_error *err)
{
    const rlt_replay_options *o = &r->options;
    rlt_packet_settings set = o->packet ? *o->packet : rlt_packet_default();
    rlt_fabric_config cfg = {
        .packets = rlt_packet_links(&set),
        .host = rlt_net_packets(rlt_exec_net(r->exec)),
        .client = {.ctx = r, .worker_done = on_worker_done, .done = on_done},
        .placement = &r->placement,
    };
    if (!cfg.host)
        return rlt_fail(err, RLT_EUSAGE, "network", "reactive protocols need --network packet, not %s",
                        o->model->name);
    if (o->aggregator)
        cfg.aggregator = *o->aggregator;
    if (cfg.aggregator.slots == 0 && cfg.aggregator.memory_bytes == 0) {
        cfg.aggregator.jobs = ROOM;
        cfg.aggregator.sharing = RLT_SHARE_FIRST_COME;
    }
    r->lanes = malloc(((size_t)r->program->n_groups + 1) * sizeof *r->lanes);
    if (!r->lanes)
        return rlt_nomem(err);
    for (uint32_t g = 0; g < r->program->n_groups; g++)
        r->lanes[g] = (rlt__lane){.first = RLT_NONE};
    int rc = rlt_sim_register(r->sim, r, &(rlt_handler_entry){on_next, &r->on_next}, 1, err);
    if (rc)
        return rc;
    cfg.packets.sim = r->sim;
    cfg.packets.topology = o->topology;
    cfg.aggregator.reemit = rlt_packet_may_lose(&set) ||
                            (set.buffer && !set.pause); /* partial sums may be lost between switches */
    return rlt_fabric_create(&cfg, &r->fabric, err);
}

/* Collects the ranks that take part: the group's ranks, and spare placed ranks as parameter servers. */
static int find_ranks(const rlt_replay *r, const rlt_reacting *reacting, const rlt_coll_request *req,
                      uint32_t **ranks, uint32_t *n, rlt_error *err)
{
    uint32_t servers = rlt_reacting_servers(reacting), spare = r->placement.n - r->program->n_ranks;
    if (servers > spare)
        return rlt_fail(err, RLT_ERANGE, rlt_reactive_name(reacting->protocol),
                        "needs %u separate server%s: %u ranks are placed, and %u of them train", servers,
                        servers == 1 ? "" : "s", r->placement.n, r->program->n_ranks);
    *n = req->n + servers;
    *ranks = malloc(*n * sizeof **ranks);
    if (!*ranks)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < *n; i++)
        (*ranks)[i] = i < req->n ? rlt_member_rank(req, i) : r->program->n_ranks + i - req->n;
    return 0;
}

int rlt__replay_enter(rlt_replay *r, uint32_t comm, const rlt_reacting *reacting, const rlt_coll_request *req,
                      rlt_error *err)
{
    comm_state *cs = &r->comms[comm];
    rlt_react_request q = {.protocol = reacting->protocol,
                           .kind = req->kind,
                           .bytes = req->bytes,
                           .start_ps = rlt_sim_now(r->sim),
                           .arrives = true,
                           .cookie = comm};
    uint32_t *ranks = NULL;
    rlt__lane *lane = &r->lanes[r->program->comms[comm].group];
    rlt_plan *plan = rlt__replay_plan(r, cs);
    if (!plan)
        return rlt_nomem(err);
    plan->req = *req;
    if (lane->busy) {
        if (lane->first == RLT_NONE)
            lane->first = comm;
        else
            r->comms[lane->last].next = comm;
        lane->last = comm;
        cs->waits = true;
        return 0;
    }
    memcpy(q.settings, reacting->values, sizeof q.settings);
    int rc = find_ranks(r, reacting, req, &ranks, &q.n, err);
    q.ranks = ranks;
    if (!rc)
        rc = rlt_fabric_add(r->fabric, &q, &cs->result.job, err);
    free(ranks);
    if (rc)
        return rc;
    lane->busy = true;
    cs->result.algorithm = rlt_reactive_name(reacting->protocol);
    return 0;
}
