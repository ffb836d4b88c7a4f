/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound, best first, in rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/plan/internal.h"
#include "workload/plan/plan.h"

/* Nodes of a round, points to simulate among them (in the first round that has any, and later), and questions
 * that are asked at once. They do not depend on the number of workers. */
enum { MAX_NODES = 1 << 28, ROUND = 32, FIRST = 4, SIMULATIONS = 16, QUESTIONS = 1024 };

typedef struct node {
    rlt_time bound_ps;
    uint64_t turn; /* in tests: a random order among nodes */
    double memory_bytes;
    uint16_t level, at[RLT_LAYOUT_AXES];
    bool communicates; /* kernels, or a point: the bound has communication */
} node;

/* Questions asked at once, each with the node that its answer makes. */
typedef struct batch {
    node nodes[QUESTIONS];
    rlt_layout_task tasks[QUESTIONS];
    rlt_layout_outcome outcomes[QUESTIONS], answers[QUESTIONS]; /* answers: to the questions not recalled */
    uint32_t n, asked[QUESTIONS], n_asked;
} batch;

typedef struct tree {
    const rlt_layout_search *plan;
    const rlt_layout_space *space;
    rlt_layout_result *out;
    rlt__search *workers;
    node *open;
    uint32_t n_open, room, points_room;
    rlt_time best_ps;
    batch *batch;
} tree;

static int compare_values(const rlt_layout_space *s, const uint16_t *a, const uint16_t *b)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Nodes of the least bound first; among them partial points, so that all points of a bound are known before
 * the next bound is taken. */
static bool sooner(const tree *s, const node *a, const node *b)
{
    if (a->turn != b->turn)
        return a->turn < b->turn;
    if (a->bound_ps != b->bound_ps)
        return a->bound_ps < b->bound_ps;
    if (a->level != b->level)
        return a->level < b->level;
    return compare_values(s->space, a->at, b->at) < 0;
}
RLT_HEAP(nodes, node, tree, sooner)

static int push(tree *s, node one, rlt_error *err)
{
    int rc = rlt_grow(&s->open, &s->room, sizeof *s->open, (uint64_t)s->n_open + 1, MAX_NODES,
                      "layouts under way", err);
    if (rc)
        return rc;
    if (s->plan->visit)
        one.turn = rlt_random_u64(s->plan->visit, 0, 0, s->out->bounded);
    nodes_push(s, s->open, &s->n_open, one);
    s->out->bounded++;
    return 0;
}

/* Returns the number of points of a partial point. */
static double points_below(const rlt_layout_space *s, rlt_layout_level level)
{
    double n = 1;
    for (uint32_t i = s->known[level]; i < s->n; i++)
        n *= s->axes[i].n;
    return n;
}

static void against_rule(tree *s, const rlt_layout_outcome *why, double points)
{
    rlt_layout_result *r = s->out;
    uint32_t i = 0;
    r->against_rules += points;
    while (i < r->n_reasons && strncmp(r->reasons[i].where, why->where, sizeof r->reasons[i].where - 1) != 0)
        i++;
    if (i == RLT_LAYOUT_REASONS)
        return;
    rlt_layout_reason *reason = &r->reasons[i];
    if (i == r->n_reasons) {
        r->n_reasons++;
        *reason = (rlt_layout_reason){.points = 0};
        snprintf(reason->where, sizeof reason->where, "%.23s", why->where);
        snprintf(reason->what, sizeof reason->what, "%.255s", why->what);
    }
    reason->points += points;
}

static void out_of_memory(tree *s, const node *n, double needs)
{
    rlt_layout_point *nearest = &s->out->nearest;
    rlt_layout_level level = (rlt_layout_level)n->level;
    s->out->out_of_memory += points_below(s->space, level);
    if (s->out->least_bytes <= 0 || needs < s->out->least_bytes)
        s->out->least_bytes = needs;
    if (level < RLT_LAYOUT_STAGES || (nearest->memory_bytes > 0 && nearest->memory_bytes <= needs))
        return;
    *nearest = (rlt_layout_point){.memory_bytes = needs};
    memcpy(nearest->at, n->at, sizeof nearest->at);
}

/* Counts points that are left as they are. */
static void leave(tree *s, double points, rlt_time bound_ps)
{
    s->out->pruned += points;
    s->out->below_mark += bound_ps < s->plan->mark_ps ? points : 0;
    s->out->least_pruned_ps = bound_ps < s->out->least_pruned_ps ? bound_ps : s->out->least_pruned_ps;
}

static void leave_node(tree *s, const node *n)
{
    leave(s, points_below(s->space, (rlt_layout_level)n->level), n->bound_ps);
}

/* Fails with the values of a point whose bound is above its time. */
static int refuse_bound(const tree *s, const rlt_layout_point *p, rlt_error *err)
{
    char values[200] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < s->space->n && length < sizeof values; i++)
        length += (size_t)snprintf(values + length, sizeof values - length, "%s%s=%s", i ? "," : "",
                                   s->space->axes[i].name, s->space->axes[i].values[p->at[i]]);
    return rlt_fail(err, RLT_ECHECK, "bound", "%lld ps is above the simulated %lld ps: %s",
                    (long long)p->bound_ps, (long long)p->time_ps, values);
}

static int add_point(tree *s, const node *n, rlt_time time_ps, rlt_error *err)
{
    rlt_layout_result *r = s->out;
    rlt_layout_point p = {.bound_ps = n->bound_ps, .time_ps = time_ps, .memory_bytes = n->memory_bytes};
    memcpy(p.at, n->at, sizeof p.at);
    int rc = time_ps < p.bound_ps ? refuse_bound(s, &p, err) : 0;
    if (!rc)
        rc = rlt_grow(&r->points, &s->points_room, sizeof *r->points, (uint64_t)r->n + 1, MAX_NODES, "points",
                      err);
    if (rc)
        return rc;
    r->points[r->n++] = p;
    s->best_ps = time_ps < s->best_ps ? time_ps : s->best_ps;
    return 0;
}

static int apply(tree *s, const rlt_layout_task *t, const node *n, const rlt_layout_outcome *o,
                 rlt_error *err)
{
    node one = *n;
    switch (o->state) {
    case RLT_LAYOUT_AGAINST_RULE:
        against_rule(s, o, points_below(s->space, t->level));
        return 0;
    case RLT_LAYOUT_REPEATED:
        s->out->repeated += points_below(s->space, t->level);
        return 0;
    case RLT_LAYOUT_OUT_OF_MEMORY:
        out_of_memory(s, n, o->memory_bytes);
        return 0;
    case RLT_LAYOUT_OPEN:
        if (t->what == RLT_LAYOUT_SIMULATE)
            return add_point(s, n, o->ps, err);
        if (t->what == RLT_LAYOUT_CONSIDER && t->level < RLT_LAYOUT_POINT)
            one.memory_bytes = o->memory_bytes;
        one.communicates = t->what == RLT_LAYOUT_BOUND;
        one.bound_ps = o->ps > n->bound_ps ? o->ps : n->bound_ps;
        return push(s, one, err);
    case RLT_LAYOUT_UNANSWERED:
        return RLT_ECANCELLED;
    default:
        return rlt_fail(err, o->code, o->where, "%s", o->what);
    }
}

static void answer(void *job, uint32_t i, uint32_t worker, const rlt_watch *watch, rlt_layout_outcome *out)
{
    tree *s = job;
    rlt__search_answer(&s->workers[worker], &s->batch->tasks[s->batch->asked[i]], watch, out);
}

static int one_by_one(tree *s)
{
    batch *b = s->batch;
    for (uint32_t i = 0; i < b->n_asked; i++) {
        if (rlt_watch_stopped(s->plan->watch))
            return RLT_ECANCELLED;
        answer(s, i, 0, s->plan->watch, &b->answers[i]);
        if (b->answers[i].state == RLT_LAYOUT_FAILED)
            break;
    }
    return 0;
}

/* Finds the outcomes of a batch: those known from before, and the answers to the rest. */
static int ask(tree *s, rlt_error *err)
{
    const rlt_layout_hooks *h = s->plan->hooks;
    batch *b = s->batch;
    b->n_asked = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        if (h && h->recall && h->recall(h->ctx, &b->tasks[i], &b->outcomes[i]))
            continue;
        b->answers[b->n_asked].state = RLT_LAYOUT_UNANSWERED;
        b->asked[b->n_asked++] = i;
    }
    if (!b->n_asked)
        return 0;
    int rc = h && h->each ? h->each(h->ctx, b->n_asked, b->answers, answer, s, err) : one_by_one(s);
    for (uint32_t i = 0; i < b->n_asked; i++) {
        uint32_t at = b->asked[i];
        b->outcomes[at] = b->answers[i];
        if ((rc && rc != RLT_ECANCELLED) || !h || !h->keep || b->answers[i].state == RLT_LAYOUT_UNANSWERED)
            continue;
        int kept = h->keep(h->ctx, &b->tasks[at], &b->answers[i], err);
        rc = kept ? kept : rc;
    }
    return rc;
}

/* Asks all questions listed, and applies the answers in their order. */
static int flush(tree *s, rlt_error *err)
{
    batch *b = s->batch;
    int rc = b->n ? ask(s, err) : 0;
    bool failed = rc && rc != RLT_ECANCELLED;
    for (uint32_t i = 0; i < b->n && !failed; i++) {
        int applied = apply(s, &b->tasks[i], &b->nodes[i], &b->outcomes[i], err);
        failed = applied && applied != RLT_ECANCELLED;
        if (applied) {
            rc = applied;
            leave_node(s, &b->nodes[i]);
        }
    }
    b->n = 0;
    return rc;
}

/* Lists a question. `n` is the node that the answer will make, with the bound known so far. */
static int list(tree *s, const node *n, rlt_layout_question what, rlt_error *err)
{
    batch *b = s->batch;
    int rc = b->n == QUESTIONS ? flush(s, err) : 0;
    if (rc)
        return rc;
    b->nodes[b->n] = *n;
    b->tasks[b->n] = (rlt_layout_task){.what = what, .level = (rlt_layout_level)n->level};
    memcpy(b->tasks[b->n].at, n->at, sizeof n->at);
    b->n++;
    return 0;
}

/* Lists the parts of a partial point at a level. */
static int list_parts(tree *s, const node *from, rlt_layout_level level, rlt_error *err)
{
    const rlt_layout_space *space = s->space;
    uint32_t begin = level ? space->known[level - 1] : 0, end = space->known[level];
    node one = *from;
    double left = level ? points_below(space, (rlt_layout_level)(level - 1)) : rlt_layout_size(space);
    one.level = (uint16_t)level;
    memset(one.at + begin, 0, sizeof one.at - begin * sizeof *one.at);
    for (;;) {
        uint32_t i = end;
        int rc = list(s, &one, RLT_LAYOUT_CONSIDER, err);
        if (rc) {
            leave(s, left, from->bound_ps);
            return rc;
        }
        left -= points_below(space, level);
        while (i-- > begin && ++one.at[i] == space->axes[i].n)
            one.at[i] = 0;
        if (i + 1 == begin || begin == end)
            return 0;
    }
}

/* Returns the bound above which nothing is looked for. */
static rlt_time limit_of(const tree *s)
{
    rlt_time most = s->plan->limit_ps ? s->plan->limit_ps : RLT_TIME_MAX;
    if (s->plan->until_ps)
        return s->plan->until_ps < most ? s->plan->until_ps : most;
    if (s->best_ps == RLT_TIME_MAX)
        return most;
    double share = s->plan->within > 0 ? 1 + s->plan->within : 1 / (1 + s->plan->gap);
    double limit = (double)s->best_ps * share;
    if (limit >= (double)most)
        return most;
    return share > 1 || share < 1 ? (rlt_time)limit : s->best_ps;
}

static rlt_layout_question next_question(const tree *s, const node *n)
{
    if (n->level == RLT_LAYOUT_KERNELS && !n->communicates && !s->plan->no_bounds && !s->workers[0].two_ways)
        return RLT_LAYOUT_BOUND;
    if (n->level < RLT_LAYOUT_POINT)
        return RLT_LAYOUT_CONSIDER;
    return n->communicates || s->plan->no_bounds ? RLT_LAYOUT_SIMULATE : RLT_LAYOUT_BOUND;
}

/* Takes the nodes of the next round. */
static uint32_t take(tree *s, node *round)
{
    rlt_time limit = limit_of(s);
    uint64_t most = s->plan->most ? s->plan->most - s->out->n : UINT64_MAX;
    uint32_t n = 0, simulations = 0;
    uint32_t wanted = s->out->n ? SIMULATIONS : FIRST;
    most = most < wanted ? most : wanted;
    while (n < ROUND && s->n_open) {
        node next = nodes_pop(s, s->open, &s->n_open);
        bool beyond = next.bound_ps > limit;
        if (beyond && s->plan->visit) { /* others may still be below */
            leave_node(s, &next);
            continue;
        }
        bool simulates = next_question(s, &next) == RLT_LAYOUT_SIMULATE;
        if (beyond || (simulates && simulations == most)) {
            nodes_push(s, s->open, &s->n_open, next);
            break;
        }
        simulations += simulates;
        round[n++] = next;
    }
    return n;
}

/* Replaces the nodes of a round: partial points by their parts, points by what was found about them. */
static int advance(tree *s, const node *round, uint32_t n, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        rlt_layout_question what = next_question(s, &round[i]);
        if (rc)
            leave_node(s, &round[i]);
        else if (what == RLT_LAYOUT_CONSIDER)
            rc = list_parts(s, &round[i], (rlt_layout_level)(round[i].level + 1), err);
        else if ((rc = list(s, &round[i], what, err)))
            leave_node(s, &round[i]);
    }
    int flushed = flush(s, err);
    return rc ? rc : flushed;
}

static void show(const tree *s)
{
    const rlt_layout_hooks *h = s->plan->hooks;
    rlt_watch_progress(s->plan->watch, s->out->n, 0);
    if (h && h->seen)
        h->seen(h->ctx, s->out->n, s->best_ps, s->n_open ? s->open[0].bound_ps : RLT_TIME_MAX);
}

static int look(tree *s, rlt_error *err)
{
    node root = {.bound_ps = 0}, round[ROUND];
    int rc = list_parts(s, &root, RLT_LAYOUT_SIZES, err);
    int flushed = flush(s, err);
    rc = rc ? rc : flushed;
    while (!rc && s->n_open) {
        if (rlt_watch_stopped(s->plan->watch) || (s->plan->most && s->out->n >= s->plan->most))
            return RLT_ECANCELLED;
        uint32_t n = take(s, round);
        if (!n)
            return 0;
        rc = advance(s, round, n, err);
        show(s);
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const rlt_layout_point *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    for (int i = 0; i < RLT_LAYOUT_AXES; i++)
        if (x->at[i] != y->at[i])
            return x->at[i] < y->at[i] ? -1 : 1;
    return 0;
}

static int hire(tree *s, uint32_t n, rlt_error *err)
{
    s->workers = calloc(n, sizeof *s->workers);
    s->batch = malloc(sizeof *s->batch);
    if (!s->workers || !s->batch)
        return rlt_nomem(err);
    s->batch->n = 0;
    for (uint32_t i = 0; i < n; i++)
        rlt__search_begin(&s->workers[i], s->plan);
    return rlt__search_alone(&s->workers[0], err); /* trouble with timing is said first */
}

int rlt_layout_find(const rlt_layout_search *p, rlt_layout_result *out, rlt_error *err)
{
    tree s = {.plan = p, .space = p->space, .out = out, .best_ps = RLT_TIME_MAX};
    uint32_t workers = p->hooks && p->hooks->each ? p->hooks->workers : 1;
    *out = (rlt_layout_result){.least_pruned_ps = RLT_TIME_MAX, .total = rlt_layout_size(p->space)};
    int rc = hire(&s, workers, err);
    if (!rc)
        rc = look(&s, err);
    out->proven = rc == 0;
    for (uint32_t i = 0; i < s.n_open; i++)
        leave_node(&s, &s.open[i]);
    if (out->n)
        qsort(out->points, out->n, sizeof *out->points, by_time);
    for (uint32_t i = 0; s.workers && i < workers; i++)
        rlt__search_free(&s.workers[i]);
    free(s.workers);
    free(s.batch);
    free(s.open);
    return rc == RLT_ECANCELLED ? rlt_fail(err, rc, NULL, "stopped") : rc;
}

void rlt_layout_result_free(rlt_layout_result *r)
{
    free(r->points);
    *r = (rlt_layout_result){0};
}
