/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of the proofs of a plug-in fails, for k = 1, 2, ...: of an algorithm that refuses larger
 * groups, of a strategy and of a model. The proof says so, or has the same result, and gives back all memory. */
#include "test/support/failing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/registry.h"
#include "test/support/support.h"
#include "workload/models/model.h"
#include "workload/plugin/plugin.h"
#include "workload/training/training.h"

/* Work of zero bytes for two members. */
static int pair_plan(rlt_plan *plan, rlt_error *err)
{
    if (plan->req.n > 2 || plan->req.bytes || plan->req.params.channels)
        return rlt_fail(err, RLT_EUNSUPPORTED, "pair", "is not for this group");
    plan->blocks = 1;
    plan->buffers = 1;
    plan->lanes = 1;
    return 0;
}

static uint32_t pair_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)plan;
    (void)member;
    (void)lane;
    return 1;
}

static void pair_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    (void)k;
    if (member != plan->req.root) {
        out->recv_from = plan->req.root;
        out->recv_count = 1;
        return;
    }
    out->send_to = 1 - member;
    out->send_bytes = rlt_lane_bytes(plan, lane);
    out->send = out->land = rlt_blocks_run(0, 1);
}

static int prove(const void *what, uint64_t *result, rlt_error *err)
{
    char *text = NULL;
    int rc = rlt_plugin_check(what, "/tmp", &text, err);
    *result = rc ? 0 : rlt_hash_bytes(text, strlen(text), 0);
    free(text);
    return rc;
}

static void proofs(void **state)
{
    static const rlt_algorithm pair = {.name = "pair",
                                       .summary = "two members",
                                       .kinds = 1u << RLT_BROADCAST,
                                       .plan = pair_plan,
                                       .steps = pair_steps,
                                       .step = pair_step};
    static const rlt_training_strategy plain = {.name = "plain", .summary = "none", .settings = "zero=1"};
    static const rlt_algorithm *const algorithms[] = {&pair, NULL};
    static const rlt_training_strategy *const strategies[] = {&plain, NULL};
    const rlt_model_family *const families[] = {rlt_registry_find(rlt_model_families(), "dlrm", NULL, NULL),
                                                NULL};
    const rlt_plugin plugins[] = {
        {RLT_PLUGIN_ABI, "pair", "1", "an algorithm", .algorithms = algorithms},
        {RLT_PLUGIN_ABI, "plain", "1", "a strategy", .strategies = strategies},
        {RLT_PLUGIN_ABI, "model", "1", "a model", .families = families},
    };
    (void)state;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        unsigned long n = test_each_allocation(plugins[i].name, prove, &plugins[i], false);
        printf("# %s: %lu allocations failed\n", plugins[i].name, n);
        assert_true(!TEST_COUNTED || n > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(proofs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
