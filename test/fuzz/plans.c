/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: collectives as plans in files. What is accepted is checked, and what is correct is written and read
 * again. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"
#include "workload/readers/chakra/custom.h"

/* Plans of many members or blocks are correct or not as those of a few are. */
static bool small(const rlt_listed *l)
{
    return (uint64_t)l->n * l->n * l->blocks * (l->lanes ? l->lanes : 1) < 1 << 20;
}

static void use_plan(rlt_listed *l)
{
    rlt_coll_request req = {.kind = l->kind,
                            .n = l->n,
                            .root = l->root,
                            .bytes = l->untracked ? l->bytes : (uint64_t)1 << 20,
                            .listed = l};
    rlt_plan plan = {0};
    rlt_error err = {0};
    int rc = small(l) ? rlt_plan_create(&rlt_custom, &req, &plan, &err) : RLT_ERANGE;
    if (rc == 0) {
        rc = rlt_plan_check(&plan, &err);
        fuzz_judge(rc, &err, NULL);
        for (int f = 0; f < RLT_PLAN_FORMATS; f++) {
            rlt_listed again = {0};
            char *text = NULL;
            size_t n = 0;
            rlt_error why = {0};
            int written = rlt_plan_write(&plan, (rlt_plan_format)f, &text, &n, &why);
            fuzz_judge(written, &why, NULL);
            if (!written)
                fuzz_judge(rlt_plan_parse("again", text, n, NULL, &again, &why), &why, NULL);
            rlt_listed_free(&again);
            free(text);
        }
    } else if (rc != RLT_ERANGE) {
        fuzz_judge(rc, &err, NULL);
    }
    rlt_plan_free(&plan);
}

static void plan(const fuzz_input *in)
{
    static const rlt_goal_hint hint = {RLT_ALL_GATHER, 4096};
    rlt_listed l = {0};
    rlt_error err = {0};
    int rc = rlt_plan_parse("input", in->text, in->n, fuzz_pick(2) ? &hint : NULL, &l, &err);
    fuzz_judge(rc, &err, "input");
    if (rc == 0)
        use_plan(&l);
    rlt_listed_free(&l);
}

static void custom(const fuzz_input *in)
{
    static const rlt_goal_hint hint = {RLT_ALL_REDUCE, 4096};
    const char *path = fuzz_path(in, ".0.et");
    rlt_listed l = {0};
    rlt_error err = {0};
    int rc = rlt_chakra_custom_load(&path, 1, &hint, &l, &err);
    fuzz_judge(rc, &err, NULL);
    if (rc == 0)
        use_plan(&l);
    rlt_listed_free(&l);
}

const fuzz_target fuzz_plans[] = {{"plan-json", .run = plan, .change = fuzz_change_json},
                                  {"plan-msccl", .run = plan},
                                  {"plan-goal", .run = plan, .change = fuzz_change_goal},
                                  {"plan-chakra", .run = custom, .change = fuzz_change_protobuf},
                                  {0}};
