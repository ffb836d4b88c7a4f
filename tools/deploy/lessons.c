/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lessons: games played, and states copied. */
#include "tools/deploy/lessons.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/policy/policy.h"
#include "tools/search/search.h"

enum { MAX_LESSONS = 1 << 24 };

/* Copies n items to *at, moves it on, and returns the copy. */
static void *put(char **at, const void *from, size_t n, size_t size)
{
    void *to = *at;
    memcpy(to, from, n * size);
    *at += n * size;
    return to;
}

static size_t bytes_of(const rlt_policy_state *s)
{
    size_t doubles =
        (size_t)s->n_ops * RLT_OP_FEATURES + (size_t)s->n_devices * RLT_DEVICE_FEATURES + s->n_actions;
    size_t words = s->n_actions;
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        doubles += (size_t)s->edges[e].n * rlt_policy_edge_features[e];
        words += 2 * (size_t)s->edges[e].n;
    }
    return doubles * sizeof(double) + words * sizeof(uint32_t) + s->n_actions;
}

static int copy(const rlt_policy_state *s, const double *target, rlt_lesson *out, rlt_error *err)
{
    char *at = malloc(bytes_of(s));
    if (!at)
        return rlt_nomem(err);
    *out = (rlt_lesson){.state = *s, .memory = at};
    rlt_policy_state *c = &out->state;
    c->ops = put(&at, s->ops, (size_t)s->n_ops * RLT_OP_FEATURES, sizeof *s->ops);
    c->devices = put(&at, s->devices, (size_t)s->n_devices * RLT_DEVICE_FEATURES, sizeof *s->devices);
    for (int e = 0; e < RLT_EDGE_KINDS; e++)
        c->edges[e].features = put(&at, s->edges[e].features,
                                   (size_t)s->edges[e].n * rlt_policy_edge_features[e], sizeof(double));
    out->target = put(&at, target, s->n_actions, sizeof *target);
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        c->edges[e].src = put(&at, s->edges[e].src, s->edges[e].n, sizeof(uint32_t));
        c->edges[e].dst = put(&at, s->edges[e].dst, s->edges[e].n, sizeof(uint32_t));
    }
    c->placement = put(&at, s->placement, s->n_actions, sizeof *s->placement);
    c->way = put(&at, s->way, s->n_actions, sizeof *s->way);
    return 0;
}

typedef struct game {
    rlt_deployment *deployment;
    rlt_lessons *lessons;
} game;

static int learn(void *ctx, const uint16_t *point, uint32_t decided, const double *share, rlt_error *err)
{
    game *g = ctx;
    rlt_lessons *l = g->lessons;
    const rlt_policy_state *s;
    int rc = rlt_grow(&l->list, &l->room, sizeof *l->list, (uint64_t)l->n + 1, MAX_LESSONS, "lessons", err);
    if (!rc)
        rc = rlt_guide_state(g->deployment, 0, point, decided, &s, err);
    if (!rc && !(rc = copy(s, share, &l->list[l->n], err)))
        l->n++;
    return rc;
}

int rlt_lessons_play(rlt_deployment *d, uint64_t seed, uint64_t playouts, bool guided, rlt_lessons *out,
                     rlt_error *err)
{
    rlt_search_problem p = rlt_deployment_problem(d, false);
    game g = {d, out};
    rlt_search_game how = {.seed = seed, .ctx = &g, .learn = learn};
    how.decisions = (d->grouping->n + 3) / 4;
    how.playouts = playouts;
    p.prior = guided ? p.prior : NULL;
    return rlt_search_play(&p, &how, err);
}

int rlt_lessons_move(rlt_lessons *to, rlt_lessons *from, rlt_error *err)
{
    int rc = rlt_grow(&to->list, &to->room, sizeof *to->list, (uint64_t)to->n + from->n, MAX_LESSONS,
                      "lessons", err);
    if (rc)
        return rc;
    if (from->n)
        memcpy(to->list + to->n, from->list, from->n * sizeof *to->list);
    to->n += from->n;
    from->n = 0;
    return 0;
}

void rlt_lessons_free(rlt_lessons *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        free(l->list[i].memory);
    free(l->list);
    *l = (rlt_lessons){0};
}

double rlt_lesson_entropy(const rlt_lesson *l)
{
    double sum = 0;
    for (uint32_t a = 0; a < l->state.n_actions; a++)
        sum -= l->target[a] > 0 ? l->target[a] * log(l->target[a]) : 0;
    return sum;
}

int rlt_lessons_score(const rlt_lessons *l, uint32_t first, rlt_policy_run *run, rlt_lesson_scores *sums,
                      rlt_error *err)
{
    double log_p[RLT_SEARCH_MAX_OPTIONS];
    int rc = 0;
    for (uint32_t i = first; i < l->n && !rc; i++) {
        const rlt_lesson *x = &l->list[i];
        rc = rlt_policy_evaluate(run, &x->state, log_p, err);
        for (uint32_t a = 0; a < x->state.n_actions && !rc; a++)
            sums->cross_entropy -= x->target[a] * log_p[a];
        sums->least += rlt_lesson_entropy(x);
        sums->uniform += log(x->state.n_actions);
        sums->n++;
    }
    return rc;
}
