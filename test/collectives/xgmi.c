/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RCCL's orders of eight fully connected GPUs use all directed links evenly. */
#include "collectives/nodes/xgmi.h"

#include "test/support/support.h"

static uint32_t links[RLT_XGMI_GPUS][RLT_XGMI_GPUS]; /* hops over each */

/* Counts the hops of an order, which must visit each GPU once. */
static void walk(const uint32_t *order, bool closed)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < RLT_XGMI_GPUS; i++) {
        seen |= 1u << order[i];
        if (i)
            links[order[i - 1]][order[i]]++;
    }
    assert_int_equal(seen, 0xff);
    if (closed)
        links[order[RLT_XGMI_GPUS - 1]][order[0]]++;
}

static void even(uint32_t hops)
{
    for (uint32_t a = 0; a < RLT_XGMI_GPUS; a++)
        for (uint32_t b = 0; b < RLT_XGMI_GPUS; b++)
            assert_int_equal(links[a][b], a != b ? hops : 0);
}

static void paths_use_each_link_once(void **state)
{
    const uint32_t(*paths)[RLT_XGMI_GPUS] = rlt_xgmi_paths();
    uint32_t ends = 0;
    (void)state;
    memset(links, 0, sizeof links);
    for (uint32_t k = 0; k < RLT_XGMI_PATHS; k++) {
        assert_int_equal(paths[k][0], k);
        ends |= 1u << paths[k][RLT_XGMI_GPUS - 1];
        walk(paths[k], false);
    }
    assert_int_equal(ends, 0xff);
    even(1);
}

static void rings_use_each_link_twice(void **state)
{
    (void)state;
    memset(links, 0, sizeof links);
    for (uint32_t k = 0; k < RLT_XGMI_RINGS; k++)
        walk(rlt_xgmi_rings()[k], true);
    even(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_use_each_link_once),
        cmocka_unit_test(rings_use_each_link_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
