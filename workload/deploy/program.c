/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns an execution graph into a program, and replays it over the cluster's network. */
#include "workload/program/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/judge_internal.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/replay/replay.h"

typedef struct maker {
    const rlt_judge *judge;
    rlt_builder *builder;
    bool tag;
    uint32_t *resource; /* by resource of the judge; network: by device */
    /* Operations of each task: of a transfer the send and the receive; of an all-reduce the first member,
     * whose fellows follow; else one. */
    uint32_t *first, *last;
} maker;

static uint32_t name_of(const maker *m, uint32_t op)
{
    const char *name = m->judge->rewriter.graph->ops[op].name;
    return rlt_build_string(m->builder, name, strlen(name));
}

/* Returns the program's resource for one of the judge's, made when it is first used. */
static uint32_t resource_of(maker *m, uint32_t i)
{
    char name[32];
    if (m->resource[i] != RLT_NONE)
        return m->resource[i];
    snprintf(name, sizeof name, "resource %u", i);
    m->resource[i] = rlt_build_resource(m->builder, m->tag ? 0 : i, RLT_RES_ARRIVAL, name);
    return m->resource[i];
}

static void add_timed(maker *m, uint32_t i)
{
    const rlt__task *t = &m->judge->execution.tasks[i];
    bool works = t->kind == RLT__TASK_COMPUTE;
    rlt_op_desc d = rlt_op_desc_init(works ? RLT_OP_COMPUTE : RLT_OP_DELAY, m->tag ? 0 : t->from);
    d.duration_ps = t->time_ps;
    d.name = name_of(m, t->op);
    d.resource = resource_of(m, rlt__judge_resource(m->judge, t));
    m->first[i] = m->last[i] = rlt_build_op(m->builder, &d);
}

static void add_message(maker *m, uint32_t i)
{
    const rlt__task *t = &m->judge->execution.tasks[i];
    rlt_op_desc send = rlt_op_desc_init(RLT_OP_SEND, t->from), receive = rlt_op_desc_init(RLT_OP_RECV, t->to);
    send.name = receive.name = name_of(m, t->op);
    send.bytes = receive.bytes = t->bytes;
    send.peer = t->to;
    receive.peer = t->from;
    m->first[i] = rlt_build_op(m->builder, &send);
    m->last[i] = rlt_build_op(m->builder, &receive);
}

static void add_collective(maker *m, uint32_t i)
{
    const rlt__task *t = &m->judge->execution.tasks[i];
    uint32_t n;
    const uint32_t *devices = rlt__placement_devices(&m->judge->rewriter, t->from, &n);
    uint32_t group = rlt_build_group(m->builder, "", devices, n);
    for (uint32_t k = 0; k < n; k++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, devices[k]);
        d.name = name_of(m, t->op);
        d.coll = RLT_ALL_REDUCE;
        d.group = group;
        d.bytes = t->bytes;
        uint32_t op = rlt_build_op(m->builder, &d);
        m->first[i] = k ? m->first[i] : op;
    }
}

/* Returns the operation of an all-reduce on a device. */
static uint32_t member_on(const maker *m, uint32_t task, uint32_t device)
{
    const rlt__task *t = &m->judge->execution.tasks[task];
    uint32_t n, k = 0;
    const uint32_t *devices = rlt__placement_devices(&m->judge->rewriter, t->from, &n);
    while (k + 1 < n && devices[k] != device)
        k++;
    return m->first[task] + k;
}

static void connect(maker *m, uint32_t a, uint32_t b)
{
    const rlt__task *x = &m->judge->execution.tasks[a], *y = &m->judge->execution.tasks[b];
    bool from_all = !m->tag && x->kind == RLT__TASK_ALL_REDUCE,
         to_all = !m->tag && y->kind == RLT__TASK_ALL_REDUCE;
    uint32_t on = from_all ? member_on(m, a, y->from) : m->last[a];
    uint32_t op = to_all ? member_on(m, b, x->to) : m->first[b];
    rlt_build_dep(m->builder, op, on);
}

static void add_all(maker *m)
{
    const rlt__execution *x = &m->judge->execution;
    for (uint32_t i = 0; i < x->n_tasks; i++)
        if (m->tag || x->tasks[i].kind == RLT__TASK_COMPUTE || x->tasks[i].kind == RLT__TASK_JOIN)
            add_timed(m, i);
        else if (x->tasks[i].kind == RLT__TASK_TRANSFER)
            add_message(m, i);
        else
            add_collective(m, i);
    for (uint32_t e = 0; e < x->n_edges; e++)
        connect(m, x->edges[2 * e], x->edges[2 * e + 1]);
}

int rlt_judge_program(rlt_judge *j, const rlt_strategy *s, bool tag, rlt_program **out, rlt_error *err)
{
    rlt_verdict v;
    maker m = {.judge = j, .tag = tag};
    int rc = rlt__judge_rewrite(j, s, &v, err);
    *out = NULL;
    if (rc || (rc = rlt_builder_create(tag ? 1 : j->rewriter.cluster->n_devices, &m.builder, err)))
        return rc;
    m.resource = malloc(j->n_resources * sizeof *m.resource);
    m.first = malloc(((size_t)v.n_tasks + 1) * sizeof *m.first);
    m.last = malloc(((size_t)v.n_tasks + 1) * sizeof *m.last);
    if (!m.resource || !m.first || !m.last) {
        rc = rlt_nomem(err);
        rlt_builder_free(m.builder);
    } else {
        for (uint32_t i = 0; i < j->n_resources; i++)
            m.resource[i] = RLT_NONE;
        add_all(&m);
        rlt_build_hash(m.builder, j->rewriter.graph->hash ^ j->rewriter.cluster->hash);
        rc = rlt_builder_finish(m.builder, "deploy", out, err);
    }
    free(m.resource);
    free(m.first);
    free(m.last);
    return rc;
}

int rlt_judge_network(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_error *err)
{
    const rlt_cluster *c = j->rewriter.cluster;
    rlt_program *program = NULL;
    rlt_replay *replay = NULL;
    rlt_replay_options how = rlt_replay_options_default();
    uint32_t rank_of[RLT_MAX_DEVICES];
    rlt_placement placement = {.n = c->n_devices, .accelerator = rank_of};
    int rc;
    if (!c->topology)
        return rlt_fail(err, RLT_EUSAGE, c->name,
                        "the cluster has no topology: only the reference's timing is possible");
    if ((rc = rlt_judge_program(j, s, false, &program, err)))
        return rc;
    *out = (rlt_verdict){.n_tasks = j->execution.n_tasks};
    rlt__judge_weigh(j, out);
    memcpy(rank_of, c->rank_of, sizeof rank_of);
    how.topology = c->topology;
    how.placement = &placement;
    how.endpoint = *rlt_topology_endpoint(c->topology);
    how.no_bounds = true;
    rc = rlt_replay_create(program, &how, &replay, err);
    if (!rc)
        rc = rlt_replay_run(replay, err);
    if (!rc)
        out->time_ps = rlt_replay_time(replay);
    rlt_replay_free(replay);
    rlt_program_free(program);
    return rc;
}
