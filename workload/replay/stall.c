/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Explains why a replay stopped with work pending. Every pending operation waits for one other; following
 * these waits ends in a cycle or at an operation that can never happen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"

typedef struct text {
    char *at;
    size_t left;
} text;

static void say(text *t, const char *s)
{
    size_t n = strlen(s);
    if (n >= t->left)
        n = t->left ? t->left - 1 : 0;
    memcpy(t->at, s, n);
    t->at += n;
    t->left -= n;
    if (t->left)
        *t->at = '\0';
}

static void say_op(text *t, const rlt_replay *r, uint32_t index)
{
    const rlt_op *op = &r->program->ops[index];
    char buffer[160];
    const char *name = rlt_program_string(r->program, op->name);
    snprintf(buffer, sizeof buffer, "rank %u '%.80s'", op->rank, name[0] ? name : "(unnamed)");
    say(t, buffer);
}

/* Returns the operation that a pending one waits for, or RLT_NONE with a reason. */
static uint32_t waits_for(const rlt_replay *r, uint32_t index, const char **reason)
{
    const rlt_program *p = r->program;
    const rlt_op *op = &p->ops[index];
    const op_state *st = &r->ops[index];
    if (st->start_ps < 0) {
        for (uint32_t i = 0; i < op->n_deps; i++)
            if (r->ops[p->deps[op->first_dep + i]].end_ps < 0)
                return p->deps[op->first_dep + i];
        if (op->resource != RLT_NONE && r->resources[op->resource].running != RLT_NONE)
            return r->resources[op->resource].running;
        *reason = "could start, but the run ended";
        return RLT_NONE;
    }
    if (op->comm == RLT_NONE) {
        *reason = op->kind == RLT_OP_SEND ? "has no matching receive" : "has no matching send";
        return RLT_NONE;
    }
    const rlt_comm *comm = &p->comms[op->comm];
    uint32_t n = p->group_first[comm->group + 1] - p->group_first[comm->group];
    for (uint32_t m = 0; m < n; m++)
        if (r->ops[p->comm_ops[comm->first_op + m]].start_ps < 0)
            return p->comm_ops[comm->first_op + m];
    *reason = "is under way in the network";
    return RLT_NONE;
}

static uint32_t first_pending(const rlt_replay *r)
{
    for (uint32_t i = 0; i < r->program->n_ops; i++)
        if (r->ops[i].end_ps < 0)
            return i;
    return RLT_NONE;
}

int rlt__replay_stall(const rlt_replay *r, rlt_error *err)
{
    enum { MAX_SHOWN = 12 };
    char buffer[1000] = "", place[96], waits[300];
    text t = {buffer, sizeof buffer};
    uint8_t *seen = calloc((size_t)r->program->n_ops + 1, 1);
    uint32_t op = first_pending(r), shown = 0;
    const char *reason = NULL;
    if (!seen)
        return rlt_nomem(err);
    snprintf(place, sizeof place, "%llu of %u operations pending",
             (unsigned long long)(r->program->n_ops - r->done), r->program->n_ops);
    /* Walks until an operation repeats, then prints from there: the cycle itself, not the way to it. */
    for (;;) {
        uint32_t next = waits_for(r, op, &reason);
        if (next == RLT_NONE || seen[op])
            break;
        seen[op] = 1;
        op = next;
    }
    if (reason) {
        op = first_pending(r);
        reason = NULL;
    }
    uint32_t first = op;
    for (;;) {
        say_op(&t, r, op);
        uint32_t next = waits_for(r, op, &reason);
        if (next == RLT_NONE) {
            say(&t, " ");
            say(&t, reason);
            break;
        }
        say(&t, " waits for ");
        op = next;
        if (op == first) {
            say_op(&t, r, op);
            say(&t, " (a cycle)");
            break;
        }
        if (++shown == MAX_SHOWN) {
            say(&t, "...");
            break;
        }
    }
    free(seen);
    if (r->exec)
        rlt_net_waits(rlt_exec_net(r->exec), buffer, sizeof buffer);
    if (r->fabric && rlt_fabric_waits(r->fabric, waits, sizeof waits))
        return rlt_fail(err, RLT_ESTALL, place, "%s; %s", buffer, waits);
    return rlt_fail(err, RLT_ESTALL, place, "%s", buffer);
}
