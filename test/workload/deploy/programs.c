/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of random deployments, operation by operation: what each task of the execution graph becomes, on
 * which rank, and what it waits for, as judge.h and execution.h say. A deployment that was written as JSON
 * is the same program when it is read as a trace.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/trainings/small_deployment.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/judge_internal.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

enum { CASES = 150, MAX_TASKS = 4000 };

typedef struct trial {
    test_deployment of;
    rlt_judge *j;
    bool tag;
    rlt_program *p;
    /* Operation of a task on a device; of a transfer, the send on its first device and the receive on its
     * last. */
    uint32_t op[MAX_TASKS][TEST_DEVICES];
} trial;

static bool takes_part(const trial *x, const rlt__task *t, uint32_t device)
{
    if (x->tag)
        return device == 0;
    if (t->kind == RLT__TASK_ALL_REDUCE)
        return (t->from & 1u << x->of.c.group_of[device]) != 0;
    return device == t->from || device == t->to;
}

/* On every rank operations stand in the order of their tasks. */
static void number_operations(trial *x)
{
    const rlt__execution *e = &x->j->execution;
    uint32_t ranks = x->tag ? 1 : x->of.c.n_devices;
    assert_in_range(e->n_tasks, 1, MAX_TASKS);
    assert_int_equal(x->p->n_ranks, ranks);
    for (uint32_t d = 0; d < ranks; d++) {
        uint32_t next = x->p->rank_first[d];
        for (uint32_t i = 0; i < e->n_tasks; i++)
            x->op[i][d] = takes_part(x, &e->tasks[i], d) ? next++ : RLT_NONE;
        assert_int_equal(next, x->p->rank_first[d + 1]);
    }
}

static void check_message(const trial *x, const rlt__task *t, uint32_t task, const rlt_op *o)
{
    const rlt_comm *c = &x->p->comms[o->comm];
    assert_int_equal(o->kind, o->rank == t->from ? RLT_OP_SEND : RLT_OP_RECV);
    assert_int_equal(c->kind, RLT_SEND_RECV);
    assert_int_equal(c->bytes, t->bytes);
    assert_int_equal(x->p->comm_ops[c->first_op], x->op[task][t->from]);
    assert_int_equal(x->p->comm_ops[c->first_op + 1], x->op[task][t->to]);
}

static void check_sum(const trial *x, const rlt__task *t, uint32_t task, const rlt_op *o)
{
    const rlt_comm *c = &x->p->comms[o->comm];
    uint32_t n = 0;
    assert_int_equal(o->kind, RLT_OP_COLLECTIVE);
    assert_int_equal(c->kind, RLT_ALL_REDUCE);
    assert_int_equal(c->bytes, t->bytes);
    for (uint32_t d = 0; d < x->of.c.n_devices; d++)
        if (x->op[task][d] != RLT_NONE) {
            assert_int_equal(x->p->group_ranks[x->p->group_first[c->group] + n], d);
            assert_int_equal(x->p->comm_ops[c->first_op + n++], x->op[task][d]);
        }
    assert_int_equal(x->p->group_first[c->group + 1] - x->p->group_first[c->group], n);
}

static void check_operation(const trial *x, uint32_t task, const rlt_op *o)
{
    const rlt__task *t = &x->j->execution.tasks[task];
    assert_string_equal(rlt_program_string(x->p, o->name), x->of.ops[t->op].name);
    if (!x->tag && t->kind == RLT__TASK_TRANSFER) {
        check_message(x, t, task, o);
        return;
    }
    if (!x->tag && t->kind == RLT__TASK_ALL_REDUCE) {
        check_sum(x, t, task, o);
        return;
    }
    assert_int_equal(o->kind, t->kind == RLT__TASK_COMPUTE ? RLT_OP_COMPUTE : RLT_OP_DELAY);
    assert_int_equal(o->duration_ps, t->time_ps);
    assert_in_range(o->resource, 0, x->p->n_resources - 1);
    assert_int_equal(x->p->resources[o->resource].kind, RLT_RES_ARRIVAL);
    assert_int_equal(x->p->resources[o->resource].rank, o->rank);
}

/* Two tasks share a queue if they run on one device, over one link, or are both collectives. */
static bool one_queue(const trial *x, const rlt__task *a, const rlt__task *b)
{
    const uint32_t *group = x->of.c.group_of;
    bool moves = a->kind == RLT__TASK_TRANSFER, sums = a->kind == RLT__TASK_ALL_REDUCE;
    if (moves != (b->kind == RLT__TASK_TRANSFER) || sums != (b->kind == RLT__TASK_ALL_REDUCE))
        return false;
    if (sums)
        return true;
    bool apart = group[a->from] != group[a->to];
    if (moves && apart)
        return group[a->from] == group[b->from] && group[a->to] == group[b->to];
    return a->from == b->from && a->to == b->to;
}

/* Queues of the operations that take time of their own are as many as the program has, and each task has its
 * own. */
static void check_queues(const trial *x)
{
    const rlt__execution *e = &x->j->execution;
    uint32_t queues = 0;
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const rlt__task *t = &e->tasks[i];
        uint32_t rank = x->tag ? 0 : t->from;
        bool waits = t->kind == RLT__TASK_COMPUTE || t->kind == RLT__TASK_JOIN, first = true;
        if (!x->tag && !waits)
            continue;
        for (uint32_t k = 0; k < i; k++) {
            bool counts =
                x->tag || e->tasks[k].kind == RLT__TASK_COMPUTE || e->tasks[k].kind == RLT__TASK_JOIN;
            if (!counts)
                continue;
            bool one = x->p->ops[x->op[i][rank]].resource ==
                       x->p->ops[x->op[k][x->tag ? 0 : e->tasks[k].from]].resource;
            assert_int_equal(one, one_queue(x, t, &e->tasks[k]));
            first = first && !one;
        }
        queues += first;
    }
    assert_int_equal(x->p->n_resources, queues);
}

/* What an operation waits for: the receive of a message, or the sum's operation on the device of the task that
 * follows. Two tensors may make one task wait for another twice. */
static void check_dependencies(const trial *x)
{
    const rlt__execution *e = &x->j->execution;
    uint32_t n = 0, (*seen)[2] = malloc((e->n_edges + 1) * sizeof *seen);
    assert_non_null(seen);
    for (uint32_t k = 0; k < e->n_edges; k++) {
        const rlt__task *a = &e->tasks[e->edges[2 * k]], *b = &e->tasks[e->edges[2 * k + 1]];
        uint32_t device = x->tag ? 0 : b->kind == RLT__TASK_ALL_REDUCE ? a->to : b->from;
        uint32_t on = x->op[e->edges[2 * k]][device], op = x->op[e->edges[2 * k + 1]][device], same = 0;
        const rlt_op *o = &x->p->ops[op];
        bool found = false;
        for (uint32_t i = 0; i < o->n_deps; i++)
            found = found || x->p->deps[o->first_dep + i] == on;
        if (!found)
            fail_msg("a task of %s does not wait for one of %s", x->of.ops[b->op].name,
                     x->of.ops[a->op].name);
        while (same < n && (seen[same][0] != op || seen[same][1] != on))
            same++;
        seen[same][0] = op;
        seen[same][1] = on;
        n += same == n;
    }
    assert_int_equal(x->p->n_deps, n);
    free(seen);
}

/* Writes the deployment as `ringlet deploy` does, and reads it: all of it, its one step, but no other. */
static rlt_program *written_and_read(test_deployment *x, bool step)
{
    char path[] = "/tmp/ringlet-programs-XXXXXX";
    const char *paths[] = {path};
    rlt_read_options o = {.first_step = -1, .last_step = 1};
    rlt_program *p = NULL;
    rlt_jw w;
    size_t length;
    rlt_jw_init(&w, true);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "command", "deploy");
    rlt_jw_object(&w, "strategy");
    rlt_strategy_members(&w, x->g, &x->c, &x->p, &x->s);
    rlt_jw_end_object(&w);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    assert_non_null(text);
    test_write_new(path, text, length);
    assert_int_equal(rlt_trace_read(paths, 1, &o, &p, &x->err), RLT_ERANGE);
    assert_string_equal(x->err.what, "expected steps within the recorded 0:0, got 0:1");
    o.last_step = step ? 0 : -1;
    test_deployment_ok(x, rlt_trace_read(paths, 1, &o, &p, &x->err));
    unlink(path);
    free(text);
    return p;
}

static void same_operation(const rlt_program *p, const rlt_program *q, uint32_t i)
{
    const rlt_op *a = &p->ops[i], *b = &q->ops[i];
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->duration_ps, b->duration_ps);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->resource, b->resource);
    assert_int_equal(a->comm, b->comm);
    assert_int_equal(a->member, b->member);
    assert_string_equal(rlt_program_string(p, a->name), rlt_program_string(q, b->name));
    assert_int_equal(a->n_deps, b->n_deps);
    assert_memory_equal(p->deps + a->first_dep, q->deps + b->first_dep, a->n_deps * sizeof *p->deps);
}

static void same_program(const rlt_program *p, const rlt_program *q)
{
    assert_int_equal(p->n_ranks, q->n_ranks);
    assert_int_equal(p->n_ops, q->n_ops);
    assert_int_equal(p->n_comms, q->n_comms);
    for (uint32_t i = 0; i < p->n_ops; i++)
        same_operation(p, q, i);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        assert_int_equal(p->comms[i].kind, q->comms[i].kind);
        assert_int_equal(p->comms[i].bytes, q->comms[i].bytes);
    }
}

static void random_deployments(void **state)
{
    trial *x = malloc(sizeof *x);
    (void)state;
    assert_non_null(x);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        test_deployment_draw(&x->of, &d);
        x->tag = seed % 3 == 0;
        test_deployment_ok(&x->of, rlt_judge_create(x->of.g, &x->of.p, &x->of.c, &x->j, &x->of.err));
        test_deployment_ok(&x->of, rlt_judge_program(x->j, &x->of.s, x->tag, &x->p, &x->of.err));
        assert_string_equal(x->p->reader, "deploy");
        number_operations(x);
        for (uint32_t i = 0; i < x->j->execution.n_tasks; i++)
            for (uint32_t r = 0; r < x->p->n_ranks; r++)
                if (x->op[i][r] != RLT_NONE)
                    check_operation(x, i, &x->p->ops[x->op[i][r]]);
        check_queues(x);
        check_dependencies(x);
        if (!x->tag) {
            rlt_program *q = written_and_read(&x->of, seed % 2);
            same_program(x->p, q);
            rlt_program_free(q);
        }
        rlt_program_free(x->p);
        rlt_judge_free(x->j);
        test_deployment_free(&x->of);
    }
    free(x);
}

/* Over the network: the time of the program's replay on the accelerators of the devices, and the memory that the
 * reference's timing says. */
static void over_networks(void **state)
{
    static const char *const networks[] = {"ring:12@2GB/s,1us", "switch:4@3GB/s,500ns*ring:3@1GB/s,2us",
                                           "switch:6@1GB/s,1us*switch:2@500MB/s,3us"};
    trial *x = malloc(sizeof *x);
    uint32_t over = 0, fit = 0;
    (void)state;
    assert_non_null(x);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = 1000 + seed};
        rlt_verdict got = {.time_ps = -7, .over = 77, .worst_device = 7, .worst_bytes = 7}, tag;
        uint32_t places[12], n = 12;
        test_deployment_draw(&x->of, &d);
        rlt_cluster *c = &x->of.c;
        test_deployment_ok(&x->of, rlt_topology_load(networks[seed % 3], NULL, &c->topology, &x->of.err));
        for (uint32_t i = 0; i < n; i++)
            places[i] = i;
        for (uint32_t i = 0; i < c->n_devices; i++) { /* any accelerators */
            uint32_t k = below(&d, n);
            c->rank_of[i] = places[k];
            places[k] = places[--n];
        }
        for (uint32_t i = 0; i < c->n_groups && seed % 4 == 0; i++)
            c->groups[i].memory_bytes = 20000000000;
        test_deployment_ok(&x->of, rlt_judge_create(x->of.g, &x->of.p, c, &x->j, &x->of.err));
        test_deployment_ok(&x->of, rlt_judge_tag(x->j, &x->of.s, &tag, NULL, &x->of.err));
        test_deployment_ok(&x->of, rlt_judge_network(x->j, &x->of.s, &got, &x->of.err));
        test_deployment_ok(&x->of, rlt_judge_program(x->j, &x->of.s, false, &x->p, &x->of.err));
        rlt_replay_options how = rlt_replay_options_default();
        rlt_placement where = {.n = c->n_devices, .accelerator = c->rank_of};
        rlt_replay *replay = NULL;
        how.topology = c->topology;
        how.placement = &where;
        how.endpoint = *rlt_topology_endpoint(c->topology);
        test_deployment_ok(&x->of, rlt_replay_create(x->p, &how, &replay, &x->of.err));
        test_deployment_ok(&x->of, rlt_replay_run(replay, &x->of.err));
        assert_int_equal(got.time_ps, rlt_replay_time(replay));
        assert_int_equal(got.n_tasks, tag.n_tasks);
        assert_int_equal(got.over, tag.over);
        assert_int_equal(got.worst_device, tag.worst_device);
        assert_int_equal(got.worst_bytes, tag.worst_bytes);
        over += got.over > 0;
        fit += got.over == 0;
        rlt_replay_free(replay);
        rlt_program_free(x->p);
        rlt_judge_free(x->j);
        test_deployment_free(&x->of);
        rlt_cluster_free(c);
    }
    assert_true(over > 10 && fit > 10);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_deployments), cmocka_unit_test(over_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
