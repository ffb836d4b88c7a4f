/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Execution graphs, their timing and their memory against a plain model, written from opgraph.h,
 * execution.h and judge.h: random operator graphs, clusters and strategies. The model keeps no lists of
 * what a placement has, and writes each way from a producer to a consumer as a line of text; lines are
 * compared as sets.
 */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/small_deployment.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/execution.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/judge_internal.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

enum { CASES = 200, LINES = 6000, LONGEST = 160 };

typedef struct trial {
    test_deployment of;
    double position[TEST_OPS];
    char must[LINES][LONGEST], is[LINES][LONGEST];
    uint32_t n_must, n_is;
} trial;

/* ---- the plain model ---- */

/* Groups in order of their time, with the lower number first: sums, and where each operator stands in it. */
static void check_groups(trial *x)
{
    bool done[TEST_OPS] = {false};
    rlt_time before[TEST_OPS] = {0};
    double of[TEST_OPS];
    for (uint32_t i = 0; i < x->of.n_ops; i++)
        of[i] = -1;
    for (uint32_t i = 0; i < x->of.p.n; i++) {
        rlt_time sum = 0;
        for (uint32_t k = 0; k < x->of.n_ops; k++)
            sum += x->of.of_op[k] == i ? x->of.ops[k].time_ps : 0;
        assert_int_equal(x->of.p.time_ps[i], sum);
        assert_true(i == 0 || sum <= x->of.p.time_ps[i - 1]);
    }
    for (uint32_t k = 0; k < x->of.n_ops; k++) { /* of those whose inputs are there, the first one */
        uint32_t next = 0;
        for (bool waits = true; waits; next += waits) {
            waits = done[next];
            for (uint32_t t = 0; t < x->of.n_tensors; t++)
                waits = waits || (x->of.tensors[t].dst == next && !done[x->of.tensors[t].src]);
        }
        assert_int_equal(x->of.g->order[k], next);
        uint32_t group = x->of.of_op[next], with = x->of.ops[next].together;
        done[next] = true;
        x->position[next] =
            x->of.p.time_ps[group] ? (double)before[group] / (double)x->of.p.time_ps[group] : 0;
        before[group] += x->of.ops[next].time_ps;
        if (with != RLT_NONE && of[with] < 0)
            of[with] = x->position[next];
        if (with != RLT_NONE)
            x->position[next] = of[with];
    }
}

typedef struct place {
    uint32_t devices[TEST_DEVICES], n;
    bool parts;
} place;

static place where(const trial *x, uint32_t op)
{
    rlt_action a = x->of.s.actions[x->of.of_op[op]];
    place p = {.n = 0};
    for (uint32_t d = 0; d < x->of.c.n_devices; d++)
        if (a.placement & 1u << x->of.c.group_of[d])
            p.devices[p.n++] = d;
    if (a.use == RLT_USE_MODEL) {
        uint32_t at = (uint32_t)floor(x->position[op] * p.n);
        p.devices[0] = p.devices[at == p.n ? at - 1 : at]; /* behind all that takes time */
        p.n = 1;
    }
    p.parts = x->of.ops[op].splittable && p.n > 1 && a.use != RLT_USE_DUPLICATE &&
              !(x->of.s.broadcast && x->of.s.broadcast[op]);
    return p;
}

static rlt_time transfer_time(const trial *x, uint32_t a, uint32_t b, uint64_t bytes)
{
    uint32_t i = x->of.c.group_of[a], k = x->of.c.group_of[b];
    uint64_t bw = i == k ? x->of.c.groups[i].intra_Bps : x->of.c.inter_Bps[i][k];
    return 12000000 + (rlt_time)floor((double)bytes * 1e12 / (double)bw + 0.5);
}

#define LINE(x, list, ...)                                                                                   \
    do {                                                                                                     \
        assert_in_range((x)->n_##list, 0, LINES - 1);                                                        \
        snprintf((x)->list[(x)->n_##list++], LONGEST, __VA_ARGS__);                                          \
    } while (0)

/* A task: its name, and where it is. */
typedef struct task {
    const char *name;
    uint32_t device;
} task;

/* A way from one task to another, of the output of an operator. */
static void pass(trial *x, uint32_t op, task from, task to, uint64_t bytes)
{
    if (from.device == to.device)
        LINE(x, must, "%s %u to %s %u", from.name, from.device, to.name, to.device);
    else
        LINE(x, must, "%s %u by %llu of %u, %lld, to %s %u", from.name, from.device,
             (unsigned long long)bytes, op, (long long)transfer_time(x, from.device, to.device, bytes),
             to.name, to.device);
}

static bool has(const place *p, uint32_t device)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->devices[i] == device)
            return true;
    return false;
}

/* The sum of a gradient: one collective, or by way of a server. */
static void reduce(trial *x, const rlt_tensor *t, const place *a, const place *b, const char *from,
                   const char *to)
{
    rlt_action act = x->of.s.actions[x->of.of_op[t->dst]];
    bool same = a->n == b->n && !memcmp(a->devices, b->devices, a->n * sizeof *a->devices);
    if (same && act.use == RLT_USE_ALL_REDUCE) {
        double kb = (double)t->bytes / 1024, bw = (double)rlt_cluster_bottleneck(&x->of.c, act.placement);
        double us = fmax(0.043420241077615454 * kb + 368.2013618677043,
                         0.27766802543921265 * kb + 211.91926070037152) *
                    2810e6 / bw;
        char sum[48];
        snprintf(sum, sizeof sum, "sum of %u, %u, %llu, %.0f", t->src, act.placement,
                 (unsigned long long)t->bytes, us * 10);
        for (uint32_t i = 0; i < a->n; i++)
            LINE(x, must, "%s %u to %s", from, a->devices[i], sum);
        for (uint32_t i = 0; i < b->n; i++)
            LINE(x, must, "%s to %s %u", sum, to, b->devices[i]);
        return;
    }
    uint32_t server = b->devices[t->dst % b->n];
    char join[24];
    snprintf(join, sizeof join, "join of %u", t->src);
    for (uint32_t i = 0; i < a->n; i++)
        pass(x, t->src, (task){from, a->devices[i]}, (task){join, server}, t->bytes);
    for (uint32_t i = 0; i < b->n; i++)
        pass(x, t->src, (task){join, server}, (task){to, b->devices[i]}, t->bytes);
}

static void move(trial *x, const rlt_tensor *t)
{
    place a = where(x, t->src), b = where(x, t->dst);
    bool sliced = b.parts && t->kind == RLT_TENSOR_BATCHED;
    char from[16], to[16];
    snprintf(from, sizeof from, "op %u", t->src);
    snprintf(to, sizeof to, "op %u", t->dst);
    if (a.parts && t->kind == RLT_TENSOR_GRADIENT) {
        reduce(x, t, &a, &b, from, to);
        return;
    }
    for (uint32_t j = 0; j < b.n; j++) {
        const task there = {to, b.devices[j]};
        if (!a.parts) {
            task here = {from, has(&a, there.device) ? there.device : a.devices[0]};
            pass(x, t->src, here, there, sliced ? t->bytes / b.n : t->bytes);
            continue;
        }
        for (uint32_t i = 0; i < a.n; i++) { /* in units of 1 / (a b) of the batch */
            const task here = {from, a.devices[i]};
            uint32_t low = i * b.n > j * a.n ? i * b.n : j * a.n;
            uint32_t high = (i + 1) * b.n < (j + 1) * a.n ? (i + 1) * b.n : (j + 1) * a.n;
            if (!sliced)
                pass(x, t->src, here, there, t->bytes / a.n);
            else if (low < high)
                pass(x, t->src, here, there, t->bytes * (high - low) / (a.n * b.n));
        }
    }
}

/* ---- what is there ---- */

static void name_task(const trial *x, const rlt__execution *e, uint32_t i, char *text, size_t size)
{
    const rlt__task *t = &e->tasks[i];
    (void)x;
    if (t->kind == RLT__TASK_ALL_REDUCE)
        snprintf(text, size, "sum of %u, %u, %llu, %.0f", t->op, t->from, (unsigned long long)t->bytes,
                 (double)t->time_ps / 1e5);
    else
        snprintf(text, size, "%s %u %u", t->kind == RLT__TASK_JOIN ? "join of" : "op", t->op, t->from);
}

/* Lists the ways between tasks that are no transfers. */
static void list_ways(trial *x, const rlt__execution *e)
{
    for (uint32_t k = 0; k < e->n_edges; k++) {
        uint32_t a = e->edges[2 * k], b = e->edges[2 * k + 1], out = 0;
        char from[48], to[48];
        if (e->tasks[a].kind == RLT__TASK_TRANSFER)
            continue;
        name_task(x, e, a, from, sizeof from);
        const rlt__task *t = &e->tasks[b];
        if (t->kind == RLT__TASK_TRANSFER)
            for (uint32_t l = 0; l < e->n_edges; l++)
                if (e->edges[2 * l] == b) {
                    name_task(x, e, e->edges[2 * l + 1], to, sizeof to);
                    assert_int_equal(e->tasks[e->edges[2 * l + 1]].from, t->to);
                    assert_int_equal(e->tasks[a].to, t->from);
                    out++;
                }
        if (t->kind == RLT__TASK_TRANSFER) {
            assert_int_equal(out, 1);
            LINE(x, is, "%s by %llu of %u, %lld, to %s", from, (unsigned long long)t->bytes, t->op,
                 (long long)t->time_ps, to);
        } else {
            name_task(x, e, b, to, sizeof to);
            LINE(x, is, "%s to %s", from, to);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void compare_ways(trial *x, const rlt__execution *e, uint64_t seed)
{
    x->n_must = x->n_is = 0;
    for (uint32_t i = 0; i < x->of.n_tensors; i++)
        move(x, &x->of.tensors[i]);
    list_ways(x, e);
    qsort(x->must, x->n_must, LONGEST, by_text);
    qsort(x->is, x->n_is, LONGEST, by_text);
    for (uint32_t i = 0; i < x->n_must && i < x->n_is; i++)
        if (strcmp(x->must[i], x->is[i]) != 0)
            fail_msg("case %llu: '%s', not '%s'", (unsigned long long)seed, x->is[i], x->must[i]);
    assert_int_equal(x->n_is, x->n_must);
}

static void compare_replicas(const trial *x, const rlt__execution *e)
{
    uint64_t bytes[TEST_DEVICES] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->of.n_ops; i++) {
        place p = where(x, i);
        assert_int_equal(e->replicas[i], p.n);
        for (uint32_t r = 0; r < p.n; r++, n++) {
            const rlt__task *t = &e->tasks[e->first_task[i] + r];
            double factor = x->of.c.groups[x->of.c.group_of[p.devices[r]]].factor;
            double time = (double)x->of.ops[i].time_ps * factor / (p.parts ? p.n : 1);
            assert_int_equal(t->kind, RLT__TASK_COMPUTE);
            assert_int_equal(t->op, i);
            assert_int_equal(t->from, p.devices[r]);
            assert_int_equal(t->to, p.devices[r]);
            assert_true(fabs((double)(t->time_ps - x->of.ops[i].launch_ps) - time) <= 0.5);
            bytes[p.devices[r]] += x->of.ops[i].kept_bytes / (p.parts ? p.n : 1);
            bytes[p.devices[r]] +=
                x->of.ops[i].pass == RLT_OPERATOR_UPDATE ? 4 * x->of.ops[i].parameter_bytes : 0;
        }
    }
    for (uint32_t i = 0; i < e->n_tasks; i++)
        n -= e->tasks[i].kind == RLT__TASK_COMPUTE;
    assert_int_equal(n, 0);
    for (uint32_t d = 0; d < x->of.c.n_devices; d++)
        assert_int_equal(e->bytes[d], bytes[d]);
}

static uint32_t queue_of(const trial *x, const rlt__task *t)
{
    uint32_t a = t->from, b = t->to;
    if (t->kind == RLT__TASK_ALL_REDUCE)
        return 9999;
    if (a == b)
        return a;
    uint32_t i = x->of.c.group_of[a], k = x->of.c.group_of[b];
    return i == k ? 1000 + 50 * a + b : 5000 + 50 * i + k;
}

enum { TASKS = 4000 };

typedef struct times {
    rlt_time start[TASKS], end[TASKS], free_at[10000];
    uint32_t waits[TASKS];
    bool over[TASKS];
} times;

/* Tasks take their queue in the order in which they became ready; of those of one moment, the first one
 * goes first. */
static rlt_time schedule(const trial *x, const rlt__execution *e, times *w)
{
    rlt_time now = 0;
    memset(w, 0, sizeof *w);
    assert_in_range(e->n_tasks, 1, TASKS);
    for (uint32_t k = 0; k < e->n_edges; k++)
        w->waits[e->edges[2 * k + 1]]++;
    for (uint32_t i = 0; i < e->n_tasks; i++)
        w->start[i] = -1;
    for (;;) {
        rlt_time next = RLT_TIME_MAX;
        for (uint32_t i = 0; i < e->n_tasks; i++) {
            if (w->waits[i] || w->start[i] >= 0)
                continue;
            rlt_time *free_at = &w->free_at[queue_of(x, &e->tasks[i])];
            w->start[i] = *free_at > now ? *free_at : now;
            w->end[i] = *free_at = w->start[i] + e->tasks[i].time_ps;
        }
        for (uint32_t i = 0; i < e->n_tasks; i++)
            if (w->start[i] >= 0 && !w->over[i] && w->end[i] < next)
                next = w->end[i];
        if (next == RLT_TIME_MAX)
            return now;
        now = next;
        for (uint32_t i = 0; i < e->n_tasks; i++) {
            if (w->start[i] < 0 || w->over[i] || w->end[i] > now)
                continue;
            w->over[i] = true;
            for (uint32_t k = 0; k < e->n_edges; k++)
                w->waits[e->edges[2 * k + 1]] -= e->edges[2 * k] == i;
        }
    }
}

static void compare_feedback(const trial *x, const rlt__execution *e, const times *w, const rlt_feedback *f)
{
    rlt_time busy[TEST_DEVICES] = {0};
    for (uint32_t i = 0; i < e->n_tasks; i++)
        if (e->tasks[i].kind == RLT__TASK_COMPUTE)
            busy[e->tasks[i].from] += e->tasks[i].time_ps;
    for (uint32_t d = 0; d < x->of.c.n_devices; d++) {
        assert_int_equal(f->busy_ps[d], busy[d]);
        assert_int_equal(f->peak_bytes[d], e->bytes[d]);
    }
    for (uint32_t op = 0; op < x->of.n_ops; op++) {
        rlt_time first = RLT_TIME_MAX, last = 0, own = 0, gap = RLT_TIME_MAX;
        for (uint32_t i = 0; i < e->n_tasks; i++) {
            if (e->tasks[i].op != op)
                continue;
            first = w->start[i] < first ? w->start[i] : first;
            last = w->end[i] > last ? w->end[i] : last;
            if (e->tasks[i].kind == RLT__TASK_COMPUTE)
                own = w->end[i] > own ? w->end[i] : own;
        }
        for (uint32_t t = 0; t < x->of.n_tensors; t++)
            for (uint32_t i = 0; i < e->n_tasks; i++)
                if (x->of.tensors[t].src == op && e->tasks[i].op == x->of.tensors[t].dst &&
                    e->tasks[i].kind == RLT__TASK_COMPUTE && w->start[i] - own < gap)
                    gap = w->start[i] > own ? w->start[i] - own : 0;
        assert_int_equal(f->makespan_ps[op], last - first);
        assert_int_equal(f->idle_after_ps[op], gap == RLT_TIME_MAX ? 0 : gap);
    }
}

static void compare_verdict(const trial *x, const rlt__execution *e, const rlt_verdict *v, rlt_time time)
{
    uint32_t over = 0, worst = RLT_NONE;
    uint64_t most = 0;
    for (uint32_t d = 0; d < x->of.c.n_devices; d++) {
        uint64_t has = x->of.c.groups[x->of.c.group_of[d]].memory_bytes;
        if (e->bytes[d] <= has)
            continue;
        over++;
        if (e->bytes[d] - has > most) {
            worst = d;
            most = e->bytes[d] - has;
        }
    }
    assert_int_equal(v->time_ps, time);
    assert_int_equal(v->n_tasks, e->n_tasks);
    assert_int_equal(v->over, over);
    assert_int_equal(v->worst_device, worst);
    assert_int_equal(v->worst_bytes, over ? e->bytes[worst] : 0);
}

static void random_strategies(void **state)
{
    trial *x = malloc(sizeof *x);
    times *w = malloc(sizeof *w);
    (void)state;
    assert_true(x && w);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_judge *j;
        rlt_verdict v;
        rlt_feedback f;
        test_deployment_draw(&x->of, &d);
        check_groups(x);
        test_deployment_ok(&x->of, rlt_judge_create(x->of.g, &x->of.p, &x->of.c, &j, &x->of.err));
        for (int again = 0; again < 2; again++) { /* a judge keeps nothing of its last strategy */
            test_deployment_ok(&x->of, rlt_judge_tag(j, &x->of.s, &v, &f, &x->of.err));
            compare_replicas(x, &j->execution);
            compare_ways(x, &j->execution, seed);
            rlt_time time = schedule(x, &j->execution, w);
            compare_verdict(x, &j->execution, &v, time);
            compare_feedback(x, &j->execution, w, &f);
            uint32_t group = below(&d, x->of.p.n);
            x->of.s.actions[group].use = (uint8_t)below(&d, RLT_USES);
        }
        rlt_judge_free(j);
        test_deployment_free(&x->of);
    }
    free(w);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_strategies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
