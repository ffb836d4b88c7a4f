/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans from and to files. */
#include "tools/coll/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/in_network/reactive.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/coll/coll.h"
#include "workload/readers/chakra/custom.h"
#include "workload/setup/inputs.h"

#define AT(field) .offset = offsetof(rlt_plan_settings, field)
const rlt_option rlt_plan_options[] = {
    {"plan", 0, RLT_PARAM_LIST, "FILE|DIR|PREFIX",
     "Also run the collective that a file spells out, under the name it has there: MSCCL XML, ringlet's "
     "JSON, GOAL, or Chakra traces, one a rank (a folder or a prefix). It is first proven by the symbolic "
     "checker. Without --algorithm, only such plans are run. May be given several times.",
     AT(plans)},
    {"export-plan", 0, RLT_PARAM_TEXT, "FILE",
     "Write the plan of the one collective, size and algorithm asked for to a file; - is standard output, "
     "and then nothing is simulated.",
     AT(export), .unrecorded = true},
    {"as", 0, RLT_PARAM_WORD, "FORMAT",
     "Format of --export-plan: json keeps the plan exactly, msccl has no transfers by the network's own "
     "means, goal has the messages of this size and nothing of what is in them.",
     AT(as), .preset = "json", .words = "json|msccl|goal", .unrecorded = true},
    {0}};
#undef AT

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

/* Whether the plan is one of those that were asked for. */
static int check_plan(const rlt_coll_ask *ask, const rlt_listed *l, const char *spec, rlt_error *err)
{
    const rlt_group *g = l->kind == RLT_SEND_RECV ? &ask->pair : &ask->group;
    bool asked = false;
    for (uint32_t i = 0; i < ask->n_cases; i++)
        asked |= ask->cases[i].kind == l->kind;
    if (!asked)
        return rlt_fail(err, RLT_EUSAGE, spec, "is a plan for %s, and --collective is %s",
                        rlt_coll_name(l->kind), ask->collective);
    if (l->n != g->n)
        return rlt_fail(err, RLT_ETOPOLOGY, spec, "is a plan for %u ranks, and the group has %u", l->n, g->n);
    if (rlt_coll_rooted(l->kind) && l->root != ask->root)
        return rlt_fail(err, RLT_EUSAGE, spec,
                        "has member %u of the group as its root, and --root is member %u", l->root,
                        ask->root);
    if (ask->counts)
        return rlt_fail(err, RLT_EUSAGE, "--counts", "does not go with --plan: blocks of a plan are even");
    if (l->untracked)
        rlt_note(
            "%s says which messages there are, not what is in them: it is checked that each is awaited and "
            "that none waits in a circle, not what comes out",
            spec);
    return 0;
}

int rlt_coll_plans_load(rlt_coll_ask *ask, const rlt_plan_settings *s, uint32_t n_sizes, rlt_error *err)
{
    rlt_goal_hint hint;
    bool single = ask->n_kinds == 1 && n_sizes == 1 && ask->n_cases > 0;
    int rc = 0;
    if (s->plans.n == 0)
        return 0;
    if (s->plans.n > RLT_COLL_PLANS || ask->n_algorithms + s->plans.n > RLT_COLL_ALGORITHMS)
        return rlt_fail(err, RLT_EUSAGE, "--plan", "more than %d plans", RLT_COLL_PLANS);
    bool lent = ask->plans != NULL;
    if (!lent && !(ask->plans = calloc(s->plans.n, sizeof *ask->plans)))
        return rlt_nomem(err);
    if (single)
        hint = (rlt_goal_hint){ask->cases[0].kind, ask->cases[0].bytes};
    for (uint32_t i = 0; i < s->plans.n && !rc; i++) {
        const char *spec = s->plans.items[i];
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

void rlt_coll_plans_free(rlt_coll_ask *ask)
{
    for (uint32_t i = 0; i < ask->n_plans; i++)
        rlt_listed_free(&ask->plans[i]);
    free(ask->plans);
    ask->plans = NULL;
    ask->n_plans = 0;
}

static rlt_plan_format format_of(const char *name)
{
    int f = 0;
    while (f < RLT_PLAN_FORMATS && strcmp(name, rlt_plan_format_name((rlt_plan_format)f)) != 0)
        f++;
    return (rlt_plan_format)f;
}

int rlt_coll_plan_export(const rlt_coll_ask *ask, const rlt_plan_settings *s, rlt_error *err)
{
    rlt_plan plan;
    char *text = NULL;
    size_t length = 0;
    if ((uint64_t)ask->n_cases * ask->n_algorithms != 1)
        return rlt_fail(err, RLT_EUSAGE, "--export-plan",
                        "is for one --collective, one size of --bytes and one --algorithm");
    if (ask->reacting[0])
        return rlt_fail(err, RLT_EUNSUPPORTED, "--export-plan",
                        "%s reacts to what arrives: there is no plan that could be written",
                        rlt_reactive_name(ask->reacting[0]->protocol));
    rlt_coll_request req = rlt_coll_request_of(ask, 0, 0);
    int rc = rlt_plan_create(ask->algorithms[0], &req, &plan, err);
    if (rc)
        return rc;
    rc = rlt_plan_write(&plan, format_of(s->as), &text, &length, err);
    if (!rc)
        rc = rlt_file_write(s->export, text, length, err);
    free(text);
    rlt_plan_free(&plan);
    return rc;
}
