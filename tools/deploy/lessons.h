/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of a search with the shares of its visits: what the policy learns from. */
#ifndef RLT_TOOLS_DEPLOY_LESSONS_H
#define RLT_TOOLS_DEPLOY_LESSONS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/policy/policy.h"

/* A state with arrays of its own, and what to answer. */
typedef struct rlt_lesson {
    rlt_policy_state state;
    double *target; /* one number for each action, with sum 1 */
    void *memory;
} rlt_lesson;

typedef struct rlt_lessons {
    rlt_lesson *list;
    uint32_t n, room;
} rlt_lessons;

/*
 * Plays a game as TAG does, and adds a lesson for each decision: those for the first quarter of the groups.
 * Before a decision the root has `playouts` visits; the target is their shares. `guided`: the search follows
 * the policy of the deployment's guide; else all actions are alike. The deployment must have a guide in
 * either case: it knows the features.
 */
int rlt_lessons_play(rlt_deployment *d, uint64_t seed, uint64_t playouts, bool guided, rlt_lessons *out,
                     rlt_error *err) RLT_MUST_USE;
/* Moves the lessons of `from` to the end of `to`. */
int rlt_lessons_move(rlt_lessons *to, rlt_lessons *from, rlt_error *err) RLT_MUST_USE;
void rlt_lessons_free(rlt_lessons *l);
/* Entropy of the target: no cross-entropy is less. */
double rlt_lesson_entropy(const rlt_lesson *l);
/* Sums over lessons, in nats. */
typedef struct rlt_lesson_scores {
    double cross_entropy; /* of a policy with the targets */
    double least;         /* the least possible: entropy of the targets */
    double uniform;       /* cross-entropy if all actions are alike */
    uint32_t n;
} rlt_lesson_scores;
/* Adds the scores of the lessons from `first` on. */
int rlt_lessons_score(const rlt_lessons *l, uint32_t first, rlt_policy_run *run, rlt_lesson_scores *sums,
                      rlt_error *err) RLT_MUST_USE;

#endif
