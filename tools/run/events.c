/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operations of a run as events on tracks. */
#include "tools/run/events.h"

#include <stdlib.h>

#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { MAX_LANES = 64 };

/* A folded collective is a delay with a purpose. */
static const char *category(const rlt_op *op)
{
    static const char *const names[] = {"compute", "memory", "host", "delay", "collective", "send", "recv"};
    return names[op->kind == RLT_OP_DELAY && op->purpose ? RLT_OP_COLLECTIVE : op->kind];
}

static int one_op(const rlt_run_sink *sink, const rlt_run *r, uint32_t index, uint32_t track, rlt_error *err)
{
    const rlt_op *op = &r->program->ops[index];
    rlt_op_result t = rlt_replay_op(r->replay, index);
    rlt_run_event e = {.rank = op->rank,
                       .track = track,
                       .category = category(op),
                       .name = rlt_program_string(r->program, op->name),
                       .from_ps = t.start_ps,
                       .to_ps = t.end_ps,
                       .comm = RLT_NONE,
                       .algorithm = ""};
    if (op->kind < RLT_OP_COLLECTIVE)
        return sink->event(sink->ctx, r, &e, err);
    rlt_comm_result c = rlt_replay_comm(r->replay, op->comm);
    const rlt_comm *comm = &r->program->comms[op->comm];
    rlt_run_event wait = e;
    int rc;
    e.comm = wait.comm = op->comm;
    wait.category = "wait";
    wait.to_ps = e.from_ps = c.last_arrival_ps;
    wait.for_rank = r->program->ops[r->program->comm_ops[comm->first_op + c.last_member]].rank;
    if (c.last_arrival_ps > t.start_ps && (rc = sink->event(sink->ctx, r, &wait, err)))
        return rc;
    e.algorithm = c.algorithm ? c.algorithm : "";
    return sink->event(sink->ctx, r, &e, err);
}

typedef struct placed {
    rlt_time start_ps;
    uint32_t op;
} placed;

static int by_start(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Puts communications without a resource on lanes: each goes to the first free lane. */
static int lanes_of_rank(const rlt_run_sink *sink, const rlt_run *r, uint32_t rank, uint64_t *dropped,
                         rlt_error *err)
{
    const rlt_program *p = r->program;
    uint32_t first = p->rank_first[rank], n = p->rank_first[rank + 1] - first, k = 0, used = 0;
    placed *list = malloc(((size_t)n + 1) * sizeof *list);
    rlt_time free_at[MAX_LANES] = {0};
    int rc = 0;
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = first; i < first + n; i++)
        if (p->ops[i].resource == RLT_NONE && rlt_replay_op(r->replay, i).end_ps >= 0)
            list[k++] = (placed){rlt_replay_op(r->replay, i).start_ps, i};
    qsort(list, k, sizeof *list, by_start);
    for (uint32_t i = 0; i < k && !rc; i++) {
        uint32_t lane = 0;
        while (lane < MAX_LANES && free_at[lane] > list[i].start_ps)
            lane++;
        if (lane == MAX_LANES) {
            ++*dropped;
            continue;
        }
        if (lane >= used) {
            char name[32];
            used = lane + 1;
            snprintf(name, sizeof name, "communication %u", lane);
            if ((rc = sink->track(sink->ctx, rank, RLT_LANE_TRACK + lane, name, err)))
                break;
        }
        free_at[lane] = rlt_replay_op(r->replay, list[i].op).end_ps;
        rc = one_op(sink, r, list[i].op, RLT_LANE_TRACK + lane, err);
    }
    free(list);
    return rc;
}

int rlt_run_events(const rlt_run *r, const rlt_run_sink *sink, uint64_t *dropped, rlt_error *err)
{
    const rlt_program *p = r->program;
    int rc = 0;
    *dropped = 0;
    for (uint32_t i = 0; i < p->n_resources && !rc; i++) {
        const char *name = rlt_program_string(p, p->resources[i].name);
        rc = sink->track(sink->ctx, p->resources[i].rank, i + 1, name[0] ? name : "resource", err);
    }
    for (uint32_t i = 0; i < p->n_ops && !rc; i++)
        if (p->ops[i].resource != RLT_NONE && rlt_replay_op(r->replay, i).end_ps >= 0)
            rc = one_op(sink, r, i, p->ops[i].resource + 1, err);
    for (uint32_t i = 0; i < p->n_ranks && !rc; i++)
        rc = lanes_of_rank(sink, r, i, dropped, err);
    return rc;
}
