/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Monte-Carlo tree search as in TAG. A node has decided the first variables; the others copy the first one,
 * so that every node is a complete point. A playout walks down by PUCT to a node that it has not visited,
 * gives it children with the prior of the policy, judges the node's own point, and adds the reward to all
 * nodes on its way.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/search/search.h"
#include "tools/search/trial.h"

enum { MAX_NODES = 1 << 28 };

typedef struct node {
    double q, p;
    uint64_t visits;
    uint32_t first_child, n_children; /* n_children 0: not expanded */
    uint16_t option;
} node;

typedef struct tree {
    rlt_trial *trial;
    node *nodes;
    uint32_t n, room;
    uint32_t root, depth; /* playouts begin here, with `depth` variables decided */
    uint32_t *path;       /* nodes of a playout, from the root */
    uint16_t *point;
    double *prior; /* of all options of a variable */
} tree;

static int expand(tree *t, uint32_t at, uint32_t decided, rlt_error *err)
{
    const rlt_search_problem *p = t->trial->problem;
    uint32_t options = p->options[decided], n = 0;
    int rc =
        rlt_grow(&t->nodes, &t->room, sizeof *t->nodes, (uint64_t)t->n + options, MAX_NODES, "nodes", err);
    if (rc)
        return rc;
    if (p->prior && (rc = p->prior(p->ctx, t->trial->number, t->point, decided, t->prior, err)))
        return rc;
    for (uint32_t o = 0; o < options; o++)
        if (rlt__trial_allowed(t->trial, decided, o))
            t->nodes[t->n + n++] = (node){.option = (uint16_t)o, .p = p->prior ? t->prior[o] : 0};
    for (uint32_t i = n; i > 1; i--) { /* ties go to the first child: shuffle once */
        uint32_t k = (uint32_t)rlt__trial_random(t->trial, i);
        node keep = t->nodes[t->n + i - 1];
        t->nodes[t->n + i - 1] = t->nodes[t->n + k];
        t->nodes[t->n + k] = keep;
    }
    for (uint32_t i = 0; i < n && !p->prior; i++)
        t->nodes[t->n + i].p = 1.0 / n;
    t->nodes[at].first_child = t->n;
    t->nodes[at].n_children = n;
    t->n += n;
    return 0;
}

static uint32_t choose(const tree *t, const node *parent)
{
    uint32_t best = parent->first_child;
    double most = -1e300;
    for (uint32_t i = 0; i < parent->n_children; i++) {
        const node *c = &t->nodes[parent->first_child + i];
        double value = rlt__puct(c->q, c->p, parent->visits, c->visits, parent->n_children);
        if (value > most) {
            most = value;
            best = parent->first_child + i;
        }
    }
    return best;
}

/* The point of a node: what is decided, and copies of the first decision. */
static void complete(tree *t, uint32_t decided)
{
    const rlt_search_problem *p = t->trial->problem;
    if (decided == 0)
        memcpy(t->point, p->baseline, p->n * sizeof *t->point);
    for (uint32_t i = decided; decided && i < p->n; i++)
        t->point[i] = rlt__trial_allowed(t->trial, i, t->point[0]) ? t->point[0] : p->baseline[i];
}

static int playout(tree *t, rlt_error *err)
{
    uint32_t decided = t->depth, at = t->root, length = 0;
    rlt_judged j;
    t->path[length++] = at;
    while (t->nodes[at].n_children) {
        at = choose(t, &t->nodes[at]);
        t->path[length++] = at;
        t->point[decided++] = t->nodes[at].option;
    }
    complete(t, decided);
    int rc = rlt__trial_judge(t->trial, t->point, &j, err);
    if (!rc && decided < t->trial->problem->n)
        rc = expand(t, at, decided, err);
    double r = rc ? 0 : rlt_search_reward(&t->trial->found[0], &j);
    for (uint32_t i = 0; i < length && !rc; i++) {
        node *x = &t->nodes[t->path[i]];
        x->visits++;
        x->q += (r - x->q) / (double)x->visits;
    }
    return rc;
}

static int plant(tree *t, rlt_trial *trial, rlt_error *err)
{
    uint32_t n = trial->problem->n;
    *t = (tree){.trial = trial,
                .path = malloc(((size_t)n + 1) * sizeof *t->path),
                .point = malloc(n * sizeof *t->point),
                .prior = malloc(rlt__trial_most_options(trial) * sizeof *t->prior)};
    if (!t->path || !t->point || !t->prior)
        return rlt_nomem(err);
    int rc = rlt_grow(&t->nodes, &t->room, sizeof *t->nodes, 1, MAX_NODES, "nodes", err);
    if (!rc)
        t->nodes[t->n++] = (node){0};
    return rc;
}

static void fell(tree *t)
{
    free(t->nodes);
    free(t->path);
    free(t->point);
    free(t->prior);
}

static int run(rlt_trial *trial, rlt_error *err)
{
    tree t;
    int rc = plant(&t, trial, err);
    while (!rc)
        rc = playout(&t, err);
    fell(&t);
    return rc;
}

/* Hands out the shares of visits of the root's children, and moves the root to one of them. */
static int decide(tree *t, const rlt_search_game *g, rlt_error *err)
{
    const node *root = &t->nodes[t->root];
    uint32_t next = root->first_child;
    double sum = 0, drawn;
    memset(t->prior, 0, t->trial->problem->options[t->depth] * sizeof *t->prior);
    for (uint32_t i = 0; i < root->n_children; i++)
        sum += (double)t->nodes[root->first_child + i].visits;
    for (uint32_t i = 0; i < root->n_children; i++) {
        const node *c = &t->nodes[root->first_child + i];
        t->prior[c->option] = (double)c->visits / sum;
    }
    complete(t, t->depth);
    int rc = g->learn(g->ctx, t->point, t->depth, t->prior, err);
    drawn = rlt__trial_unit(t->trial) * sum;
    for (uint32_t i = 0; i < root->n_children && drawn >= 0; i++) {
        next = root->first_child + i;
        drawn -= (double)t->nodes[next].visits;
    }
    t->point[t->depth++] = t->nodes[next].option;
    t->root = next;
    return rc;
}

int rlt_search_play(const rlt_search_problem *p, const rlt_search_game *g, rlt_error *err)
{
    rlt_trial trial = {.problem = p, .seed = g->seed, .limit = UINT64_MAX};
    rlt_judged j;
    tree t = {0};
    int rc = plant(&t, &trial, err);
    if (!rc)
        rc = rlt__trial_judge(&trial, p->baseline, &j, err);
    while (!rc && t.depth < g->decisions && t.depth < p->n) {
        trial.idle = 0;
        while (!rc && (t.nodes[t.root].visits < g->playouts || !t.nodes[t.root].n_children))
            rc = playout(&t, err);
        if (!rc)
            rc = decide(&t, g, err);
    }
    fell(&t);
    rlt__trial_free(&trial);
    return rc == 1 ? rlt_fail(err, RLT_ECANCELLED, "search", "stopped on request") : rc;
}

const rlt_search_method rlt__search_mcts = {
    "mcts", "Monte-Carlo tree search, with the prior of a policy if there is one", run, true};
