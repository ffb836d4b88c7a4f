/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entry of collectives into the executor, their begin, and the description of stalled ones. */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/executor_internal.h"
#include "collectives/fold.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Makes room for the lanes of a plan in a collective record. Records are reused and keep their room. */
static int reserve(rlt_exec_collective *c, const rlt_plan *plan, uint32_t members, rlt_error *err)
{
    uint64_t need = (uint64_t)members * plan->lanes;
    int rc = rlt_grow(&c->lanes, &c->capacity, sizeof *c->lanes, need, (uint64_t)1 << 31,
                      "lanes of a collective", err);
    if (rc == 0)
        rc = rlt_grow(&c->lanes_left, &c->members_capacity, sizeof *c->lanes_left, members, RLT_MAX_MEMBERS,
                      "members of a collective", err);
    return rc;
}

static uint32_t new_collective(rlt_exec *x, rlt_error *err)
{
    uint32_t id = x->free_head;
    if (id != RLT_NONE) {
        x->free_head = x->all[id].next_free;
        return id;
    }
    if (rlt_grow(&x->all, &x->capacity, sizeof *x->all, (uint64_t)x->n + 1, (uint64_t)1 << 31,
                 "collectives in flight", err) < 0)
        return RLT_NONE;
    memset(&x->all[x->n], 0, sizeof *x->all);
    return x->n++;
}

uint32_t rlt_exec_add(rlt_exec *x, const rlt_plan *plan, const rlt_exec_client *client, uint64_t cookie,
                      int flags)
{
    return rlt_exec_add_folded(x, plan, NULL, client, cookie, flags);
}

static const rlt_exec_client nobody = {0};

uint32_t rlt_exec_add_folded(rlt_exec *x, const rlt_plan *plan, const rlt_fold *fold,
                             const rlt_exec_client *client, uint64_t cookie, int flags)
{
    rlt_error e = {0};
    uint32_t id = new_collective(x, &e), members = fold ? fold->n_classes : plan->req.n;
    if (id == RLT_NONE)
        goto fail;
    rlt_exec_collective *c = &x->all[id];
    if (reserve(c, plan, members, &e) < 0) {
        c->next_free = x->free_head;
        x->free_head = id;
        goto fail;
    }
    c->plan = plan;
    c->client = client ? client : &nobody;
    c->cookie = cookie;
    c->flags = (uint8_t)flags;
    c->fold = fold;
    c->under_way = 0;
    c->folded = fold != NULL;
    c->tuning = plan->tuning.on ? &plan->tuning : NULL;
    c->n_lanes = members * plan->lanes;
    c->orderly = x->orderly && plan->lanes > 1;
    c->direct = fold || c->orderly || flags & RLT_EXEC_EAGER ? 0 : c->n_lanes;
    c->arrived = 0;
    c->members = members;
    c->members_left = x->part ? 0 : members;
    for (uint32_t m = 0; m < members && x->part; m++)
        c->members_left += rlt__exec_has(x, plan, m);
    c->live = c->members_left > 0;
    memset(&c->crowd, 0, sizeof c->crowd);
    for (uint32_t m = 0, i = 0; m < members; m++) {
        for (uint32_t k = 0; k < plan->lanes; k++, i++)
            c->lanes[i] = (rlt_exec_lane){.n_steps = plan->algorithm->steps(plan, fold ? fold->rep[m] : m, k),
                                          .waiters = RLT_NONE,
                                          .member = m,
                                          .number = (uint16_t)k,
                                          .asleep = RLT_LANE_NOT_BEGUN};
    }
    x->pending += c->live;
    return id;
fail:
    rlt_sim_fail(x->sim, e.code, e.where, "%s", e.what);
    return RLT_NONE;
}

void rlt_exec_arrive(rlt_exec *x, uint32_t id, uint32_t member)
{
    rlt_exec_collective *c = &x->all[id];
    bool last = ++c->arrived == c->plan->req.n;
    rlt_time at = rlt_time_add(rlt_sim_now(x->sim), rlt_time_add(x->launch_ps, c->plan->tuning.setup_ps));
    if (last && c->client->begun)
        c->client->begun(c->client->ctx, c->cookie);
    if (c->flags & RLT_EXEC_EAGER)
        rlt_sim_at(x->sim, at, RLT_START, x->on_member_launch, (uint64_t)id << 32 | member);
    else if (last)
        rlt_sim_at(x->sim, at, RLT_START, x->on_launch, id);
}

void rlt_exec_arrive_all(rlt_exec *x, uint32_t id)
{
    rlt_exec_collective *c = &x->all[id];
    uint32_t n = c->plan->req.n;
    for (uint32_t m = 0; m + 1 < n && (c->flags & RLT_EXEC_EAGER); m++)
        rlt_exec_arrive(x, id, m);
    c->arrived = n - 1;
    rlt_exec_arrive(x, id, n - 1);
}

/* Describes which rank a stalled collective waits for. */
static void describe(const rlt_exec_collective *c, char *text, size_t size)
{
    const rlt_plan *plan = c->plan;
    for (uint32_t i = 0; i < c->n_lanes; i++) {
        const rlt_exec_lane *l = &c->lanes[i];
        uint32_t member = i / plan->lanes, number = i % plan->lanes;
        if (c->fold)
            member = c->fold->rep[member];
        if ((l->asleep & (RLT_LANE_DONE | RLT_LANE_NOT_BEGUN)) || l->step >= l->n_steps)
            continue;
        rlt_step s;
        rlt_step_clear(&s);
        plan->algorithm->step(plan, member, number, l->step, &s);
        int n = snprintf(text, size, "%s of %u ranks: rank %u waits in lane %u step %u",
                         rlt_coll_name(plan->req.kind), plan->req.n, rlt_member_rank(&plan->req, member),
                         number, l->step);
        if (n > 0 && (size_t)n < size && s.recv_from != RLT_NONE)
            snprintf(text + n, size - (size_t)n, " for rank %u", rlt_member_rank(&plan->req, s.recv_from));
        return;
    }
    snprintf(text, size, "%s of %u ranks: %u have arrived", rlt_coll_name(plan->req.kind), plan->req.n,
             c->arrived);
}

uint32_t rlt_exec_pending(const rlt_exec *x, char *text, size_t size)
{
    if (size)
        text[0] = '\0';
    for (uint32_t i = 0; i < x->n && size; i++)
        if (x->all[i].live) {
            describe(&x->all[i], text, size);
            break;
        }
    rlt_net_waits(x->net, text, size);
    return x->pending;
}
