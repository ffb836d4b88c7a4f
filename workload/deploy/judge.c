/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times an execution graph as the reference does, and accounts for memory. */
#include "workload/deploy/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/judge_internal.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

int rlt_judge_create(const rlt_opgraph *g, const rlt_grouping *p, const rlt_cluster *c, rlt_judge **out,
                     rlt_error *err)
{
    *out = NULL;
    rlt_judge *j = calloc(1, sizeof *j);
    if (!j)
        return rlt_nomem(err);
    int rc = rlt__rewriter_make(g, p, c, &j->rewriter, err);
    j->n_resources = c->n_devices + c->n_devices * c->n_devices + c->n_groups * c->n_groups + 1;
    j->free_ps = calloc(j->n_resources, sizeof *j->free_ps);
    j->busy_ps = calloc(c->n_devices, sizeof *j->busy_ps);
    j->makespan_ps = malloc((size_t)g->n_ops * sizeof *j->makespan_ps);
    j->idle_after_ps = malloc((size_t)g->n_ops * sizeof *j->idle_after_ps);
    if (!rc && (!j->free_ps || !j->busy_ps || !j->makespan_ps || !j->idle_after_ps))
        rc = rlt_nomem(err);
    if (rc) {
        rlt_judge_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

void rlt_judge_free(rlt_judge *j)
{
    if (!j)
        return;
    rlt__rewriter_free(&j->rewriter);
    rlt__execution_free(&j->execution);
    free(j->free_ps);
    free(j->busy_ps);
    free(j->makespan_ps);
    free(j->idle_after_ps);
    free(j->times);
    free(j->heap);
    free(j->ready);
    free(j);
}

uint32_t rlt__judge_resource(const rlt_judge *j, const rlt__task *t)
{
    const rlt_cluster *c = j->rewriter.cluster;
    uint32_t d = c->n_devices;
    switch ((rlt__task_kind)t->kind) {
    case RLT__TASK_COMPUTE:
        return t->from;
    case RLT__TASK_ALL_REDUCE:
        return j->n_resources - 1;
    case RLT__TASK_JOIN:
        return t->from;
    case RLT__TASK_TRANSFER:
        break;
    }
    uint32_t a = c->group_of[t->from], b = c->group_of[t->to];
    return a == b ? d + t->from * d + t->to : d + d * d + a * c->n_groups + b;
}

static bool sooner(const rlt_judge *j, const rlt__ending *a, const rlt__ending *b)
{
    (void)j;
    return a->end_ps != b->end_ps ? a->end_ps < b->end_ps : a->task < b->task;
}
RLT_HEAP(endings, rlt__ending, rlt_judge, sooner)

/* Books a task on its resource, behind what was booked before. */
static void book(rlt_judge *j, uint32_t i, rlt_time now, uint32_t *n_heap)
{
    const rlt__task *t = &j->execution.tasks[i];
    rlt_time *free_ps = &j->free_ps[rlt__judge_resource(j, t)], start = *free_ps > now ? *free_ps : now,
             end = rlt_time_add(start, t->time_ps);
    *free_ps = end;
    j->times[i] = (rlt__times){start, end};
    if (t->kind == RLT__TASK_COMPUTE)
        j->busy_ps[t->from] = rlt_time_add(j->busy_ps[t->from], t->time_ps);
    endings_push(j, j->heap, n_heap, (rlt__ending){end, i});
}

static int make_room(rlt_judge *j, rlt_error *err)
{
    uint32_t n = j->execution.n_tasks;
    int rc;
    if ((rc = rlt_grow(&j->times, &j->times_room, sizeof *j->times, (uint64_t)n + 1, UINT32_MAX, "tasks",
                       err)) ||
        (rc =
             rlt_grow(&j->heap, &j->heap_room, sizeof *j->heap, (uint64_t)n + 1, UINT32_MAX, "tasks", err)) ||
        (rc = rlt_grow(&j->ready, &j->ready_room, sizeof *j->ready, (uint64_t)n + 1, UINT32_MAX, "tasks",
                       err)))
        return rc;
    memset(j->free_ps, 0, j->n_resources * sizeof *j->free_ps);
    memset(j->busy_ps, 0, j->rewriter.cluster->n_devices * sizeof *j->busy_ps);
    return 0;
}

/* Adds a task to those that became ready at this instant, in order of their numbers. */
static void add_ready(uint32_t *ready, uint32_t *n, uint32_t task)
{
    uint32_t i = (*n)++;
    for (; i && ready[i - 1] > task; i--)
        ready[i] = ready[i - 1];
    ready[i] = task;
}

/* Non-preemptive list scheduling: tasks are booked in the order in which they become ready. Of tasks that
 * become ready at one instant, the one added first to the execution graph goes first. */
static rlt_time schedule(rlt_judge *j)
{
    rlt__execution *x = &j->execution;
    uint32_t n_heap = 0, n_ready = 0;
    rlt_time now = 0;
    for (uint32_t i = 0; i < x->n_tasks; i++)
        if (x->tasks[i].waits == 0)
            j->ready[n_ready++] = i;
    for (;;) {
        for (uint32_t i = 0; i < n_ready; i++)
            book(j, j->ready[i], now, &n_heap);
        n_ready = 0;
        if (n_heap == 0)
            return now;
        now = j->heap[0].end_ps;
        while (n_heap && j->heap[0].end_ps == now) {
            rlt__ending e = endings_pop(j, j->heap, &n_heap);
            for (uint32_t k = x->next_first[e.task]; k < x->next_first[e.task + 1]; k++)
                if (--x->tasks[x->next[k]].waits == 0)
                    add_ready(j->ready, &n_ready, x->next[k]);
        }
    }
}

/* Compares what devices need with what they have. */
void rlt__judge_weigh(const rlt_judge *j, rlt_verdict *out)
{
    const rlt_cluster *c = j->rewriter.cluster;
    uint64_t most = 0;
    out->worst_device = RLT_NONE;
    for (uint32_t d = 0; d < c->n_devices; d++) {
        uint64_t has = c->groups[c->group_of[d]].memory_bytes, needs = j->execution.bytes[d];
        if (needs <= has)
            continue;
        out->over++;
        if (needs - has > most) {
            most = needs - has;
            out->worst_device = d;
            out->worst_bytes = needs;
        }
    }
}

/* Spans of the operators, and the gaps behind them. */
static void look_back(rlt_judge *j, rlt_feedback *f)
{
    const rlt_opgraph *g = j->rewriter.graph;
    const rlt__execution *x = &j->execution;
    rlt_time *first = j->idle_after_ps; /* starts, until all spans are known */
    for (uint32_t i = 0; i < g->n_ops; i++) {
        first[i] = RLT_TIME_MAX;
        j->makespan_ps[i] = 0;
    }
    for (uint32_t i = 0; i < x->n_tasks; i++) {
        uint32_t op = x->tasks[i].op;
        first[op] = j->times[i].start_ps < first[op] ? j->times[i].start_ps : first[op];
        j->makespan_ps[op] =
            j->times[i].end_ps > j->makespan_ps[op] ? j->times[i].end_ps : j->makespan_ps[op];
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        j->makespan_ps[i] -= first[i];
        j->idle_after_ps[i] = RLT_TIME_MAX;
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        rlt_time end = 0, start = RLT_TIME_MAX;
        for (uint32_t r = 0; r < x->replicas[t->src]; r++)
            end = j->times[x->first_task[t->src] + r].end_ps > end
                      ? j->times[x->first_task[t->src] + r].end_ps
                      : end;
        for (uint32_t r = 0; r < x->replicas[t->dst]; r++)
            start = j->times[x->first_task[t->dst] + r].start_ps < start
                        ? j->times[x->first_task[t->dst] + r].start_ps
                        : start;
        rlt_time gap = start > end ? start - end : 0;
        j->idle_after_ps[t->src] = gap < j->idle_after_ps[t->src] ? gap : j->idle_after_ps[t->src];
    }
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (j->idle_after_ps[i] == RLT_TIME_MAX)
            j->idle_after_ps[i] = 0;
    *f = (rlt_feedback){j->makespan_ps, j->idle_after_ps, j->busy_ps, x->bytes};
}

int rlt__judge_rewrite(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_error *err)
{
    int rc = rlt__rewrite(&j->rewriter, s, &j->execution, err);
    *out = (rlt_verdict){.n_tasks = j->execution.n_tasks};
    if (!rc)
        rlt__judge_weigh(j, out);
    return rc;
}

int rlt_judge_tag(rlt_judge *j, const rlt_strategy *s, rlt_verdict *out, rlt_feedback *feedback,
                  rlt_error *err)
{
    int rc = rlt__judge_rewrite(j, s, out, err);
    if (rc || (rc = make_room(j, err)))
        return rc;
    out->time_ps = schedule(j);
    if (out->time_ps >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, j->rewriter.graph->name,
                        "the strategy takes longer than the clock's range");
    if (feedback)
        look_back(j, feedback);
    return 0;
}

double rlt_deploy_reward(rlt_time baseline_ps, const rlt_verdict *v)
{
    if (v->over)
        return -1;
    double r = (double)baseline_ps / (double)v->time_ps - 1;
    return r > 1 ? sqrt(sqrt(r)) : r;
}
