/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of a join and of a rescaling fails, for k = 1, 2, ...: it says so, and gives back all memory. */
#include "test/support/failing.h"

#include <stdint.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/program/join.h"
#include "workload/program/program.h"
#include "workload/program/rescale.h"

/* Two ranks that exchange unequal shares. */
static rlt_program *exchange(void)
{
    static const uint32_t both[] = {0, 1};
    static const uint64_t counts[] = {3, 4};
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    assert_int_equal(rlt_builder_create(2, &b, NULL), 0);
    uint32_t group = rlt_build_group(b, "dp", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc o = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        o.name = rlt_build_string(b, "exchange", 8);
        o.resource = rlt_build_resource(b, r, RLT_RES_STREAM, "stream");
        o.coll = RLT_ALL_TO_ALL;
        o.group = group;
        o.bytes = 7;
        o.send_counts = counts;
        rlt_build_op(b, &o);
    }
    rlt_build_note(b, 1, "a note");
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    return p;
}

static int join(const void *what, uint64_t *result, rlt_error *err)
{
    const rlt_program *const parts[] = {what, what};
    rlt_program *all = NULL;
    uint32_t first[3];
    int rc = rlt_program_join(parts, 2, &all, first, err);
    *result = rc ? 0 : all->hash;
    rlt_program_free(all);
    return rc;
}

static int rescale(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_program *out = NULL;
    int rc = rlt_program_rescale(what, "dp", 5, &out, err);
    *result = rc ? 0 : out->hash;
    rlt_program_free(out);
    return rc;
}

static void programs(void **state)
{
    rlt_program *p = exchange();
    (void)state;
    unsigned long n = test_each_allocation("join", join, p, false);
    n += test_each_allocation("rescale", rescale, p, false);
    printf("# %lu allocations failed\n", n);
    assert_true(!TEST_COUNTED || n > 40);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
