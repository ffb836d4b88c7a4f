/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation fails, for k = 1, 2, ..., while an accelerator is looked for under its other name: that is
 * no name that nobody knows. */
#include "test/support/failing.h"

#include <stdio.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"

static int load(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_accelerator a;
    int rc = rlt_accelerator_load(what, "workload/accelerators", &a, err);
    *result = rc ? 0 : a.memory_bytes;
    return rc;
}

static void other_names(void **state)
{
    (void)state;
    unsigned long failed = test_each_allocation("an accelerator", load, "a100", false);
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
