/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet deploy train`: games on random models and clusters, and a policy that learns from them. As in TAG,
 * the first games treat all actions alike, and later ones follow the policy.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/random.h"
#include "sim/base/words.h"
#include "tools/base/file.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/guide.h"
#include "tools/deploy/lessons.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/random.h"
#include "tools/deploy/report.h"
#include "tools/output/report_options.h"
#include "tools/output/sheet.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"

enum { PURPOSE = 0x7ea1d0, LEFT_OUT = 10, SLOTS = 64, WINDOW = 3 };

/* A game: a model on a cluster. */
typedef struct game {
    rlt_deploy_case c;
    rlt_deployment d;
    rlt_guide *guide;
    rlt_lessons lessons;
} game;

typedef struct school {
    const rlt_deploy_settings *settings;
    rlt_deploy_items graphs; /* none: random ones */
    rlt_policy *policy;
    rlt_policy_run *run;
    rlt_adam adam;
    double *gradient;
    uint32_t round;
    uint64_t drawn, steps_done, steps;
    rlt_lessons taught, left_out; /* every LEFT_OUT-th game is left out */
    /* Lessons of the last WINDOW rounds count: older ones come from a weaker policy. */
    uint32_t began[WINDOW][2]; /* by round: lessons taught and left out before it */
    uint32_t first[2];         /* the first that count */
    game slots[SLOTS];
    rlt_progress progress;
} school;

static void end_game(game *g)
{
    rlt_lessons_free(&g->lessons);
    rlt_guide_free(g->guide);
    rlt_deployment_free(&g->d);
    rlt_deploy_unload(&g->c);
    memset(g, 0, sizeof *g);
}

static int prepare(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    school *s = ctx;
    game *g = &s->slots[slot];
    uint32_t k = s->round * s->settings->games + i;
    memset(g, 0, sizeof *g);
    int rc = s->graphs.n ? rlt_deploy_load_graph(s->graphs.text[k % s->graphs.n], s->settings, &g->c, err)
                         : rlt_random_model(s->settings->seed, k, &g->c.graph, err);
    if (!rc)
        rc = rlt_random_cluster(s->settings->seed, k, false, &g->c.cluster, err);
    if (!rc)
        rc = rlt_deploy_group(g->c.graph, s->settings->groups, s->settings->balance, &g->c.grouping,
                              &g->c.cut, err);
    if (!rc)
        rc = rlt_deployment_make(g->c.graph, &g->c.grouping, &g->c.cluster, false, 1, &g->d, err);
    if (!rc)
        rc = rlt_guide_make(&g->d, s->policy, &g->guide, err);
    if (rc)
        end_game(g);
    return rc;
}

static int play(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    school *s = ctx;
    game *g = &s->slots[slot];
    (void)job;
    int rc =
        rlt_lessons_play(&g->d, s->settings->seed + i, s->settings->playouts, s->round > 0, &g->lessons, err);
    if (rc)
        end_game(g);
    return rc;
}

static int take(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    school *s = ctx;
    game *g = &s->slots[slot];
    int rc = rlt_lessons_move(i % LEFT_OUT == LEFT_OUT - 1 ? &s->left_out : &s->taught, &g->lessons, err);
    end_game(g);
    return rc;
}

/* Steps of Adam on lessons drawn at random. The rate falls to a tenth over all rounds. */
static int learn(school *s, rlt_error *err)
{
    const rlt_deploy_settings *o = s->settings;
    double loss;
    int rc = 0;
    for (uint64_t i = 0; i < o->steps && !rc; i++) {
        for (uint32_t k = 0; k < o->minibatch && !rc; k++) {
            uint64_t which = rlt_random_below(o->seed, 0, PURPOSE, s->drawn++, s->taught.n - s->first[0]);
            const rlt_lesson *x = &s->taught.list[s->first[0] + which];
            rc = rlt_policy_gradient(s->run, &x->state, x->target, s->gradient, &loss, err);
        }
        for (uint64_t k = 0; k < rlt_policy_parameters(s->policy) && o->minibatch > 1; k++)
            s->gradient[k] /= o->minibatch;
        s->adam.rate = o->rate * pow(0.1, (double)s->steps_done++ / (double)s->steps);
        rlt_adam_step(&s->adam, s->policy, s->gradient);
        if (rlt_interrupted())
            rc = rlt_fail(err, RLT_ECANCELLED, "deploy train", "stopped on request");
        rlt_progress_update(&s->progress, i + 1, o->steps);
    }
    return rc;
}

static int one_round(school *s, rlt_sheet *sheet, rlt_error *err)
{
    const rlt_deploy_settings *o = s->settings;
    rlt_lesson_scores taught = {0}, left_out = {0};
    rlt_pool_work work = {.n = o->games,
                          .slots = SLOTS,
                          .ctx = s,
                          .prepare = prepare,
                          .run = play,
                          .take = take,
                          .progress = &s->progress};
    uint32_t now[] = {s->taught.n, s->left_out.n};
    memcpy(s->began[s->round % WINDOW], now, sizeof now);
    if (s->round + 1 >= WINDOW)
        memcpy(s->first, s->began[(s->round + 1) % WINDOW], sizeof s->first);
    rlt_progress_start(&s->progress, "playing");
    int rc = rlt_pool_run(&work, rlt_pool_threads(o->jobs), err);
    for (uint32_t i = 0; i < SLOTS; i++) /* games that were not taken, after an error or Ctrl-C */
        end_game(&s->slots[i]);
    rlt_progress_clear();
    rlt_progress_start(&s->progress, "learning");
    if (!rc)
        rc = learn(s, err);
    rlt_progress_clear();
    if (!rc)
        rc = rlt_lessons_score(&s->taught, s->first[0], s->run, &taught, err);
    if (!rc)
        rc = rlt_lessons_score(&s->left_out, s->first[1], s->run, &left_out, err);
    if (rc)
        return rc;
    double n = left_out.n ? left_out.n : 1;
    rlt_value v[RLT_ROUND_COLUMNS] = {rlt_count(s->round + 1),
                                      rlt_count(s->taught.n),
                                      rlt_count(s->left_out.n),
                                      rlt_count(s->steps_done),
                                      rlt_real(taught.n ? taught.cross_entropy / taught.n : 0),
                                      rlt_real(left_out.cross_entropy / n),
                                      rlt_real(left_out.least / n),
                                      rlt_real(left_out.uniform / n)};
    rlt_sheet_row(sheet, v);
    return 0;
}

static int run_rounds(school *s, const rlt_parsed *args, rlt_error *err)
{
    rlt_sheet sheet;
    rlt_report_settings how = {.format = "table"};
    int rc = rlt_sheet_open(&sheet, &how, "deploy train", args, NULL, err);
    if (rc)
        return rc;
    rlt_sheet_heading(&sheet, rlt_deploy_rounds.list, rlt_deploy_rounds.n);
    for (s->round = 0; s->round < s->settings->rounds && !rc; s->round++)
        rc = one_round(s, &sheet, err);
    return rlt_sheet_close(&sheet, rc, "", err);
}

int rlt_deploy_train(const rlt_parsed *args, const rlt_deploy_settings *o, rlt_error *err)
{
    rlt_policy_shape shape = RLT_POLICY_DEFAULT;
    char note[512];
    school *s = calloc(1, sizeof *s);
    if (!s)
        return rlt_nomem(err);
    shape.width = o->width;
    s->settings = o;
    s->steps = o->steps * o->rounds;
    int rc = o->width % 4 ? rlt_fail(err, RLT_EUSAGE, "--width", "expected a multiple of 4, got %u", o->width)
                          : rlt_file_check(o->weights, err);
    if (!rc)
        rc = rlt_deploy_split(o->graph, ',', "--graphs", &s->graphs, err);
    if (!rc)
        rc = rlt_policy_create(&shape, o->seed, &s->policy, err);
    if (!rc)
        rc = rlt_policy_run_create(s->policy, &s->run, err);
    if (!rc)
        rc = rlt_adam_create(s->policy, &s->adam, err);
    if (!rc && !(s->gradient = calloc(rlt_policy_parameters(s->policy), sizeof *s->gradient)))
        rc = rlt_nomem(err);
    if (!rc)
        rc = run_rounds(s, args, err);
    snprintf(
        note, sizeof note,
        "ringlet deploy train --width %u --rounds %u --games %u --playouts %llu --steps %llu --minibatch %u "
        "--rate %g --groups %u --balance %g --seed %llu%s%s",
        o->width, s->round, o->games, (unsigned long long)o->playouts, (unsigned long long)o->steps,
        o->minibatch, o->rate, o->groups, o->balance, (unsigned long long)o->seed,
        o->graph ? " --graphs " : "", o->graph ? o->graph : "");
    if (!rc || rc == RLT_ECANCELLED) {
        int saved = rlt_policy_save(s->policy, o->weights, note, rc ? NULL : err);
        rc = rc ? rc : saved;
    }
    rlt_lessons_free(&s->taught);
    rlt_lessons_free(&s->left_out);
    rlt_adam_free(&s->adam);
    rlt_policy_run_free(s->run);
    rlt_policy_free(s->policy);
    free(s->gradient);
    free(s->graphs.text);
    free(s);
    return rc;
}
