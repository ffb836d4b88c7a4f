/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of `ringlet deploy`: those of tools/search, and tag. */
#include <string.h>

#include "sim/base/error.h"
#include "tools/deploy/deploy.h"
#include "tools/search/search.h"

static const char tag[] = "tag"; /* mcts, guided by the policy */

const char *rlt_deploy_method_at(uint32_t i)
{
    const rlt_search_method *m = i ? rlt_search_method_at(i - 1) : NULL;
    return i == 0 ? tag : m ? m->name : NULL;
}

int rlt_deploy_method_find(const char *name, const rlt_search_method **out, bool *guided, rlt_error *err)
{
    *guided = strcmp(name, tag) == 0;
    *out = rlt_search_method_find(*guided ? "mcts" : name, err);
    return *out ? 0 : RLT_EUSAGE;
}
