/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans from files as algorithms of `ringlet coll`, and plans to files: --plan, --export-plan, --as. */
#ifndef RLT_TOOLS_COLL_PLAN_H
#define RLT_TOOLS_COLL_PLAN_H

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"

struct rlt_coll_ask;

typedef struct rlt_plan_settings {
    rlt_texts plans;
    const char *export, *as;
} rlt_plan_settings;
extern const rlt_option rlt_plan_options[]; /* offsets in rlt_plan_settings */

enum { RLT_COLL_PLANS = 8 };

/* Reads the plans and enters them as algorithms beside those that are there; each must be for one of the
 * collectives asked for, and for as many ranks as the group has. `sizes`: what the user asked for. To be
 * freed by rlt_coll_plans_free. Plans that are there already are taken instead, and are their owner's. */
int rlt_coll_plans_load(struct rlt_coll_ask *ask, const rlt_plan_settings *s, uint32_t n_sizes,
                        rlt_error *err) RLT_MUST_USE;
void rlt_coll_plans_free(struct rlt_coll_ask *ask);
/* Writes the only plan asked for. RLT_EUSAGE if there are several. */
int rlt_coll_plan_export(const struct rlt_coll_ask *ask, const rlt_plan_settings *s,
                         rlt_error *err) RLT_MUST_USE;

#endif
