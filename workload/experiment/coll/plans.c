/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enters plans from files as algorithms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/watch.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/load.h"
#include "workload/readers/chakra/custom.h"
#include "workload/setup/inputs.h"

enum { MAX_PLANS = 8 };

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int load(const char *spec, const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err)
{
    struct stat st;
    bool there = stat(spec, &st) == 0;
    if (there && !S_ISDIR(st.st_mode) && !ends_with(spec, ".et"))
        return rlt_plan_load(spec, hint, out, err);
    if (!there && (ends_with(spec, ".xml") || ends_with(spec, ".json") || ends_with(spec, ".goal")))
        return rlt_fail(err, RLT_EIO, spec, "no such file");
    return rlt_chakra_custom_load(&spec, 1, hint, out, err);
}

static void note_untracked(const rlt_coll_ask *ask, const char *spec)
{
    char text[4400];
    if (!ask->watch || !ask->watch->note)
        return;
    snprintf(
        text, sizeof text,
        "%s lists messages, but not their contents: ringlet checks that every message is received and that "
        "no operations wait in a cycle, but it cannot check the result",
        spec);
    ask->watch->note(ask->watch->ctx, text);
}

/* Checks that the plan is for a collective and a group that were asked for. */
static int check_plan(const rlt_coll_ask *ask, const rlt_listed *l, const char *spec, rlt_error *err)
{
    const rlt_group *g = l->kind == RLT_SEND_RECV ? &ask->pair : &ask->group;
    bool asked = false;
    for (uint32_t i = 0; i < ask->n_cases; i++)
        asked |= ask->cases[i].kind == l->kind;
    if (!asked)
        return rlt_fail(err, RLT_EUSAGE, spec, "is a plan for %s, but --collective is %s",
                        rlt_coll_name(l->kind), ask->settings->collective);
    if (l->n != g->n)
        return rlt_fail(err, RLT_ETOPOLOGY, spec, "is a plan for %u ranks, but the group has %u", l->n, g->n);
    if (rlt_coll_rooted(l->kind) && l->root != ask->root)
        return rlt_fail(err, RLT_EUSAGE, spec,
                        "the plan's root is member %u of the group, but --root is member %u", l->root,
                        ask->root);
    if (ask->counts)
        return rlt_fail(err, RLT_EUSAGE, "--counts",
                        "does not go with --plan: all blocks of a plan have the same size");
    if (l->untracked)
        note_untracked(ask, spec);
    return 0;
}

int rlt__coll_plans(rlt_coll_ask *ask, rlt_error *err)
{
    const rlt_texts *given = &ask->settings->plans;
    rlt_goal_hint hint;
    bool single = ask->n_kinds == 1 && ask->n_sizes == 1 && ask->n_cases > 0;
    int rc = 0;
    if (given->n == 0)
        return 0;
    if (given->n > MAX_PLANS || ask->n_algorithms + given->n > RLT_COLL_ALGORITHMS)
        return rlt_fail(err, RLT_EUSAGE, "--plan", "expected at most %d plans", MAX_PLANS);
    bool lent = ask->plans != NULL;
    if (!lent && !(ask->plans = calloc(given->n, sizeof *ask->plans)))
        return rlt_nomem(err);
    if (single)
        hint = (rlt_goal_hint){ask->cases[0].kind, ask->cases[0].bytes};
    for (uint32_t i = 0; i < given->n && !rc; i++) {
        const char *spec = given->items[i];
        struct stat st;
        if (!lent) {
            rc = load(spec, single ? &hint : NULL, &ask->plans[i], err);
            ask->n_plans += rc == 0;
        }
        if (!rc)
            rc = check_plan(ask, &ask->plans[i], spec, err);
        if (!rc && !lent && stat(spec, &st) == 0 && S_ISREG(st.st_mode))
            rc = rlt_inputs_add_file(&ask->setup.inputs, "plan", spec, err);
        ask->listed[ask->n_algorithms] = &ask->plans[i];
        ask->algorithms[ask->n_algorithms++] = &rlt_custom;
    }
    return rc;
}
