/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy as a guide of the search: turns a state of the search into the features of TAG, and asks the
 * policy for the probabilities of the actions.
 */
#ifndef RLT_TOOLS_DEPLOY_GUIDE_H
#define RLT_TOOLS_DEPLOY_GUIDE_H

#include <stdint.h>

#include "sim/base/error.h"
#include "tools/deploy/deploy.h"
#include "tools/deploy/policy/policy.h"

typedef struct rlt_guide rlt_guide;

/* Makes a guide for a deployment, and enters it there. The policy is borrowed. */
int rlt_guide_make(rlt_deployment *d, const rlt_policy *p, rlt_guide **out, rlt_error *err) RLT_MUST_USE;
/* Loads weights: a file, or the name of shipped ones; NULL: "tag.weights". */
int rlt_guide_policy(const char *weights, rlt_policy **out, rlt_error *err) RLT_MUST_USE;
void rlt_guide_free(rlt_guide *g);
/* The features of a state; the arrays belong to the trial until its next call. */
int rlt_guide_state(rlt_deployment *d, uint32_t trial, const uint16_t *point, uint32_t decided,
                    const rlt_policy_state **out, rlt_error *err) RLT_MUST_USE;
/* The prior of tools/search; its context is the deployment. */
int rlt_guide_prior(void *deployment, uint32_t trial, const uint16_t *point, uint32_t decided,
                    double *probability, rlt_error *err) RLT_MUST_USE;

#endif
