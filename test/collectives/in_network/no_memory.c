/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation fails, for each k, while Libra's tables are built, its records read and its hot set found: the result
 * is as it would be, or there is no memory; and all memory is given back.
 */
#include "test/support/failing.h"

#include <string.h>

#include "collectives/in_network/libra/float_tables.h"
#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/libra/workload.h"
#include "sim/base/error.h"
#include "test/support/support.h"

static int build_tables(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_float_tables t;
    int rc = rlt_float_tables_create(what, &t, err);
    *result = rc ? 0 : rlt_float_add(&t, 0x3c00, 0x4000, &(rlt_float_events){0});
    rlt_float_tables_free(&t);
    return rc;
}

static int read_records(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_skew k;
    int rc = rlt_skew_parse(what, strlen(what), "records", &k, err);
    *result = rc ? 0 : k.n;
    rlt_skew_free(&k);
    return rc;
}

static int find_hot_set(const void *what, uint64_t *result, rlt_error *err)
{
    rlt_skew k;
    rlt_hot_set h = {0};
    int rc = rlt_skew_zipf(1.1, 1000, &k, err);
    rc = rc ? rc : rlt_hot_find(&k, what, &h, err);
    *result = rc ? 0 : h.n;
    rlt_hot_free(&h);
    return rc;
}

static void no_memory(void **state)
{
    const rlt_hot_request q = {
        .workers = 2, .updates = 50, .steps = 100, .sampled = 1, .hot = 100, .entry_bytes = 4, .seed = 5};
    unsigned long failed = 0;
    (void)state;
    failed += test_each_allocation("tables", build_tables, &rlt_float16_shape, false);
    failed += test_each_allocation("records", read_records, "7 3\n8 5\n7 4\n", false);
    failed += test_each_allocation("hot set", find_hot_set, &q, false);
    assert_true(!TEST_COUNTED || failed >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
