/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results of a replay: times, accounts, and the critical path. The path is found by walking back from the
 * last operation to the cause of each start.
 */
#include <stdlib.h>

#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

rlt_sim *rlt_replay_sim(rlt_replay *r)
{
    return r->sim;
}

rlt_time rlt_replay_time(const rlt_replay *r)
{
    return r->end_ps;
}

uint32_t rlt_replay_iterations(const rlt_replay *r)
{
    return r->program->n_steps;
}

rlt_time rlt_replay_iteration_ps(const rlt_replay *r, uint32_t i)
{
    return r->step_end_ps[i] - (i ? r->step_end_ps[i - 1] : 0);
}

rlt_rank_result rlt_replay_rank(const rlt_replay *r, uint32_t rank)
{
    const rank_state *k = &r->ranks[rank];
    return (rlt_rank_result){
        .start_ps = k->start_ps < 0 ? 0 : k->start_ps,
        .end_ps = k->end_ps,
        .compute_ps = k->spent_ps[RANK_COMPUTE],
        .exposed_comm_ps = k->spent_ps[RANK_COMM],
        .host_ps = k->spent_ps[RANK_HOST],
        .idle_ps = k->spent_ps[RANK_IDLE],
        .comm_ps = k->comm_ps,
        .comm_wait_ps = k->wait_ps,
        .comm_transfer_ps = k->transfer_ps,
    };
}

rlt_comm_result rlt_replay_comm(const rlt_replay *r, uint32_t comm)
{
    return r->comms[comm].result;
}

rlt_op_result rlt_replay_op(const rlt_replay *r, uint32_t op)
{
    const op_state *s = &r->ops[op];
    return (rlt_op_result){.start_ps = s->start_ps, .end_ps = s->end_ps, .cause = s->cause};
}

const rlt_net *rlt_replay_net(const rlt_replay *r)
{
    return r->exec ? rlt_exec_net(r->exec) : NULL;
}

const rlt_fabric *rlt_replay_fabric(const rlt_replay *r)
{
    return r->fabric;
}

uint64_t rlt_replay_done_ops(const rlt_replay *r)
{
    return r->done;
}

static uint32_t last_op(const rlt_replay *r)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = 0; i < r->program->n_ops; i++)
        if (r->ops[i].end_ps >= 0 && (best == RLT_NONE || r->ops[i].end_ps > r->ops[best].end_ps))
            best = i;
    return best;
}

static rlt_path_kind path_kind(const rlt_op *op)
{
    static const rlt_path_kind kinds[RANK_STATES] = {[RANK_COMPUTE] = RLT_PATH_COMPUTE,
                                                     [RANK_COMM] = RLT_PATH_TRANSFER,
                                                     [RANK_HOST] = RLT_PATH_HOST,
                                                     [RANK_IDLE] = RLT_PATH_DELAY};
    return op->purpose == RLT_FOR_OFFLOAD ? RLT_PATH_DELAY : kinds[rlt__replay_state(op)];
}

uint32_t rlt__replay_beginner(const rlt_replay *r, uint32_t op, rlt_time *begin_ps)
{
    const rlt_program *p = r->program;
    uint32_t index = p->ops[op].comm;
    if (index == RLT_NONE || r->ops[op].end_ps <= r->ops[op].start_ps)
        return op;
    const rlt_comm *comm = &p->comms[index];
    const rlt_comm_result *res = &r->comms[index].result;
    bool there = comm->kind == RLT_SEND_RECV && res->end_ps >= 0 && res->end_ps <= r->ops[op].start_ps;
    if (there || res->last_arrival_ps > r->ops[op].end_ps)
        return op;
    *begin_ps = res->last_arrival_ps;
    return p->comm_ops[comm->first_op + res->last_member];
}

int rlt_replay_critical_path(const rlt_replay *r, rlt_path_item **items, uint32_t *n, rlt_error *err)
{
    const rlt_program *p = r->program;
    rlt_path_item *list = NULL;
    uint32_t count = 0, capacity = 0;
    int rc = 0;
    for (uint32_t op = last_op(r); op != RLT_NONE;) {
        rlt_path_item it = {.kind = path_kind(&p->ops[op]),
                            .op = op,
                            .begin_ps = r->ops[op].start_ps,
                            .end_ps = r->ops[op].end_ps};
        uint32_t from = rlt__replay_beginner(r, op, &it.begin_ps);
        rc = rlt_grow(&list, &capacity, sizeof *list, (uint64_t)count + 2, UINT32_MAX, "critical path", err);
        if (rc < 0)
            goto fail;
        list[count++] = it;
        op = r->ops[from].cause;
        if (op == RLT_NONE && it.begin_ps > 0)
            list[count++] =
                (rlt_path_item){.kind = RLT_PATH_START, .op = from, .begin_ps = 0, .end_ps = it.begin_ps};
    }
    *items = list;
    *n = count;
    return 0;
fail:
    free(list);
    return rc;
}
